//! What the plugin *hparams* keeps: an experiment, and the beginning and the end of sessions with their values.
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/hparams/plugin_data.proto>,
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/hparams/api.proto>

use crate::bytes::error::Result;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::node::Node;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep values nest.
const DEPTH: u32 = 32;

/// What is known of an experiment and a session.
#[derive(Default)]
struct Session {
    /// Names and texts: group, user, times, status.
    facts: Vec<(&'static str, String)>,
    values: BTreeMap<String, Json>,
    /// Name, display name, description, type and domain of each hyper-parameter.
    infos: Vec<[String; 5]>,
    /// Group, tag, display name, description and data set of each metric.
    metrics: Vec<[String; 5]>,
}

impl Session {
    /// Reads the messages of a run.
    fn read(messages: &[(String, Vec<u8>)]) -> Result<Session> {
        let mut session = Session::default();
        for (_, message) in messages {
            for field in Part::decoded(message).fields() {
                let Field { number, value, .. } = field?;
                match number {
                    2 => session.experiment(value.part())?,
                    3 => session.start(value.part())?,
                    4 => session.end(value.part())?,
                    _ => {}
                }
            }
        }
        Ok(session)
    }

    fn fact(&mut self, name: &'static str, text: String) {
        if !text.is_empty() {
            self.facts.push((name, text));
        }
    }

    fn time(&mut self, name: &'static str, value: Wire) {
        let time = value.double().and_then(super::time);
        self.fact(name, time.unwrap_or_default());
    }

    fn experiment(&mut self, part: Part) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => self.fact("description", value.text()),
                2 => self.fact("user", value.text()),
                3 => self.time("time_created", value),
                4 => self.infos.push(info(value.part())?),
                5 => self.metrics.push(metric(value.part())?),
                6 => self.fact("experiment", value.text()),
                _ => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, part: Part) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => {
                    let (mut name, mut json) = (String::new(), Json::Null);
                    for field in value.fields() {
                        let Field { number, value, .. } = field?;
                        match number {
                            1 => name = value.text(),
                            2 => json = any(value.part(), 0)?,
                            _ => {}
                        }
                    }
                    self.values.insert(name, json);
                }
                2 => self.fact("model_uri", value.text()),
                3 => self.fact("monitor_url", value.text()),
                4 => self.fact("group_name", value.text()),
                5 => self.time("start_time", value),
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, part: Part) -> Result<()> {
        let mut status = 0;
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => status = value.uint(),
                2 => self.time("end_time", value),
                _ => {}
            }
        }
        let word = ["unknown", "success", "failure", "running"].get(status as usize);
        self.fact("status", word.map_or_else(|| status.to_string(), |word| (*word).to_owned()));
        Ok(())
    }
}

/// A `google.protobuf.Value` as JSON. <https://protobuf.dev/reference/protobuf/google.protobuf/#value>
fn any(part: Part, depth: u32) -> Result<Json> {
    let mut json = Json::Null;
    if depth > DEPTH {
        return Ok(json);
    }
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        json = match number {
            2 => value.double().map_or(Json::Null, number_json),
            3 => Json::from(value.text()),
            4 => Json::from(value.uint() != 0),
            5 => {
                let mut object = serde_json::Map::new();
                for entry in value.fields().flatten().filter(|field| field.number == 1) {
                    let (mut name, mut inner) = (String::new(), Json::Null);
                    for field in entry.value.fields().flatten() {
                        match field.number {
                            1 => name = field.value.text(),
                            2 => inner = any(field.value.part(), depth + 1)?,
                            _ => {}
                        }
                    }
                    object.insert(name, inner);
                }
                Json::Object(object)
            }
            6 => Json::Array(list(value.part(), depth + 1)?),
            _ => Json::Null,
        };
    }
    Ok(json)
}

/// A `google.protobuf.ListValue`.
fn list(part: Part, depth: u32) -> Result<Vec<Json>> {
    let values = part.fields().flatten().filter(|field| field.number == 1);
    values.map(|field| any(field.value.part(), depth)).collect()
}

/// A number, which JSON has not all of.
fn number_json(number: f64) -> Json {
    let json = serde_json::Number::from_f64(number).map(Json::Number);
    json.unwrap_or_else(|| Json::from(crate::data::cell::float64(number)))
}

/// An `HParamInfo`.
fn info(part: Part) -> Result<[String; 5]> {
    let mut info: [String; 5] = Default::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => info[0] = value.text(),
            2 => info[1] = value.text(),
            3 => info[2] = value.text(),
            4 => {
                let word = ["", "string", "bool", "float64"].get(value.uint() as usize);
                info[3] = word.map_or_else(|| value.uint().to_string(), |word| (*word).to_owned());
            }
            5 => info[4] = Json::Array(list(value.part(), 0)?).to_string(),
            6 => {
                let side = |number: u32| value.fields().flatten().find(|field| field.number == number);
                let side = |number| side(number).and_then(|field| field.value.double()).unwrap_or(0.0);
                info[4] = format!("{} to {}", side(1), side(2));
            }
            _ => {}
        }
    }
    Ok(info)
}

/// A `MetricInfo`.
fn metric(part: Part) -> Result<[String; 5]> {
    let mut metric: [String; 5] = Default::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => {
                for field in value.fields() {
                    let Field { number, value, .. } = field?;
                    match number {
                        1 => metric[0] = value.text(),
                        2 => metric[1] = value.text(),
                        _ => {}
                    }
                }
            }
            3 => metric[2] = value.text(),
            4 => metric[3] = value.text(),
            5 => {
                let word = ["", "training", "validation"].get(value.uint() as usize);
                metric[4] = word.map_or_else(|| value.uint().to_string(), |word| (*word).to_owned());
            }
            _ => {}
        }
    }
    Ok(metric)
}

/// A value as a cell.
fn cell(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        // Shortest: 0.001, not 1.0e-3; whole numbers with their point, since all are doubles.
        Json::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), crate::data::cell::float64)
        }
        other => other.to_string(),
    }
}

/// A table of texts.
fn texts<const N: usize>(names: [&str; N], rows: &[[String; N]]) -> Result<Content> {
    let column = |(n, name): (usize, &str)| {
        let cells = rows.iter().map(|row| row.get(n).filter(|text| !text.is_empty()).cloned());
        (name.to_owned(), Arc::new(cells.collect::<StringArray>()) as ArrayRef)
    };
    let batch = RecordBatch::try_from_iter(names.into_iter().enumerate().map(column))?;
    Ok(Content::Table(Arc::new(MemoryTable::new(batch))))
}

/// The hyper-parameters of one run: a table of names and values, and what is said of them and of the metrics.
pub(super) fn node(messages: &[(String, Vec<u8>)]) -> Result<Node> {
    let session = Session::read(messages)?;
    let kind = |value: &Json| match value {
        Json::Number(_) => "float64",
        Json::Bool(_) => "bool",
        Json::String(_) => "string",
        _ => "other",
    };
    let rows: Vec<[String; 3]> = session
        .values
        .iter()
        .map(|(name, value)| [name.clone(), kind(value).to_owned(), cell(value)])
        .collect();
    let mut node = Node::new("hparams", "hyper-parameters").content(texts(["name", "type", "value"], &rows)?);
    for (name, text) in session.facts {
        node = node.attribute(name, text);
    }
    let mut children = Vec::new();
    if !session.infos.is_empty() {
        let names = ["name", "display_name", "description", "type", "domain"];
        children.push(Node::new("definitions", "table").content(texts(names, &session.infos)?));
    }
    if !session.metrics.is_empty() {
        let names = ["group", "tag", "display_name", "description", "dataset"];
        children.push(Node::new("metrics", "table").content(texts(names, &session.metrics)?));
    }
    Ok(if children.is_empty() { node } else { node.listed(children) })
}

/// The hyper-parameters of several runs: a row each, a column for each name.
pub(super) fn compared(runs: &[(String, Vec<(String, Vec<u8>)>)]) -> Result<Node> {
    let mut sessions = Vec::new();
    for (name, messages) in runs.iter().filter(|(_, messages)| !messages.is_empty()) {
        sessions.push((name, Session::read(messages)?));
    }
    let names: std::collections::BTreeSet<&String> =
        sessions.iter().flat_map(|(_, session)| session.values.keys()).collect();
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let run = sessions.iter().map(|(name, _)| Some(name.as_str()));
    columns.push(("run".to_owned(), Arc::new(run.collect::<StringArray>())));
    for fact in ["status", "start_time", "end_time"] {
        let cell = |(_, session): &(&String, Session)| {
            session.facts.iter().find(|(name, _)| *name == fact).map(|(_, text)| text.clone())
        };
        let cells: Vec<Option<String>> = sessions.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            columns.push((fact.to_owned(), Arc::new(StringArray::from(cells))));
        }
    }
    for name in names {
        let values: Vec<Option<&Json>> =
            sessions.iter().map(|(_, session)| session.values.get(name)).collect();
        columns.push((name.clone(), column(&values)));
    }
    let batch = RecordBatch::try_from_iter(columns)?;
    let node = Node::new("hparams", "hyper-parameters");
    Ok(node.content(Content::Table(Arc::new(MemoryTable::new(batch)))))
}

/// A column of the type that all of these values have, else of texts.
fn column(values: &[Option<&Json>]) -> ArrayRef {
    let are = |is: fn(&Json) -> bool| values.iter().flatten().all(|value| is(value));
    if are(Json::is_number) {
        return Arc::new(values.iter().map(|value| value.and_then(Json::as_f64)).collect::<Float64Array>());
    }
    if are(Json::is_boolean) {
        return Arc::new(values.iter().map(|value| value.and_then(Json::as_bool)).collect::<BooleanArray>());
    }
    Arc::new(values.iter().map(|value| value.map(cell)).collect::<StringArray>())
}
