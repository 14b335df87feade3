//! The nodes of a run: its values by kind and tag, and by step where they are pictures, recordings or tensors.

use super::event::{Blob, Data};
use super::hparams;
use super::kind::{Kind, Which};
use super::log::{About, Log, Member, Place, Series};
use super::table::{EventTable, NamedLog};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use crate::data::node::{Listing, Node, NodeStatistics, page_of};
use crate::engines::tensorflow::tensor::Tensor;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use std::ops::Range;
use std::sync::Arc;

/// The path of the scalars below the root of a file.
const START: &str = "/scalars";

/// The tree of one run below `root`.
pub(super) fn of_run(mut root: Node, log: &Arc<Log>) -> Node {
    let state = log.now();
    let said = |name: &str, value: &Option<String>| Some((name.to_owned(), value.clone()?.into()));
    root.attributes.extend(said("file_version", &state.version));
    root.attributes.extend(said("writer", &state.writer));
    if let Some(time) = state.times.and_then(|(first, _)| super::time(first)) {
        root.attributes.push(("first_event".to_owned(), time.into()));
    }
    // Curves are what people look for in a run.
    root.start = state.tags(Kind::Scalars).next().map(|_| START.to_owned());
    drop(state);
    root.lazy(Kinds { log: log.clone() }).findings(log.clone()).statistics(Payloads { log: log.clone() })
}

/// What stands below a run.
struct Kinds {
    log: Arc<Log>,
}

impl Kinds {
    /// What is known now, in order.
    fn nodes(&self) -> Vec<Arc<Node>> {
        let mut nodes: Vec<Node> = Kind::ALL
            .into_iter()
            .filter(|kind| self.has(*kind))
            .map(|kind| of_kind(&self.log, kind))
            .collect();
        let (hparams, graphs, metadata, tags) = {
            let state = self.log.now();
            let has = |list: &Vec<Member>| !list.is_empty();
            let tags = state.all().next().is_some();
            (!state.hparams.is_empty(), has(&state.graphs), has(&state.run_metadata), tags)
        };
        if hparams {
            let log = self.log.clone();
            nodes.push(Node::deferred("hparams", "hyper-parameters", move |task| {
                log.finish(task)?;
                hparams::node(&log.now().hparams)
            }));
        }
        if graphs {
            nodes.push(Node::new("graphs", "graphs").lazy(Members { log: self.log.clone(), of_run: false }));
        }
        if metadata {
            let members = Members { log: self.log.clone(), of_run: true };
            nodes.push(Node::new("run_metadata", "run metadata").lazy(members));
        }
        if tags {
            let log = self.log.clone();
            nodes.push(Node::new("tags", "tags").deferred_leaf(move |task| tags_of(task, &log)));
        }
        let records = EventTable::of(&self.log, Which::Records);
        nodes.push(Node::new("events", "records").content(Content::Table(Arc::new(records))));
        nodes.into_iter().map(Arc::new).collect()
    }

    fn has(&self, kind: Kind) -> bool {
        self.log.now().tags(kind).next().is_some()
    }
}

impl Listing for Kinds {
    fn count(&self) -> Option<u64> {
        let ended = self.log.now().ended;
        ended.then(|| self.nodes().len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.log.finish(task)?;
        let nodes = self.nodes();
        page_of(task, range, Some(nodes.len() as u64), |n| Ok(nodes.get(n as usize).cloned()))
    }

    fn at_least(&self) -> u64 {
        self.nodes().len() as u64
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let ended = self.log.now().ended;
        let nodes = self.nodes();
        Ok((page_of(task, range, Some(nodes.len() as u64), |n| Ok(nodes.get(n as usize).cloned()))?, ended))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.log.finish(task)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let find = || self.nodes().into_iter().find(|node| node.name == name);
        if let Some(node) = find() {
            return Ok(Some(node));
        }
        // Below one of its nodes, as a rule: whole paths are asked for first.
        if name.contains(['/', '.']) {
            return Ok(None);
        }
        self.log.finish(task)?;
        Ok(find())
    }
}

/// The tags of one kind; of scalars a table of them all as well.
fn of_kind(log: &Arc<Log>, kind: Kind) -> Node {
    let node = Node::new(kind.word(), "tags").lazy(Tags { log: log.clone(), kind });
    match kind {
        Kind::Scalars => {
            let table = EventTable::of(log, Which::Scalars);
            node.content(Content::Table(Arc::new(table)))
                .presented(Which::Scalars.presentation(false))
                .parts()
        }
        _ => node,
    }
}

/// The tags of one kind of values.
struct Tags {
    log: Arc<Log>,
    kind: Kind,
}

impl Listing for Tags {
    fn count(&self) -> Option<u64> {
        let state = self.log.now();
        state.ended.then(|| state.tags(self.kind).count() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.log.finish(task)?;
        Ok(self.soon(task, range)?.0)
    }

    fn at_least(&self) -> u64 {
        self.log.now().tags(self.kind).count() as u64
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let ended = self.log.now().ended;
        let state = self.log.now();
        let about = |(tag, series): (&String, &Series)| (tag.clone(), series.about.clone());
        let known: Vec<(String, Arc<About>)> = {
            let start = usize::try_from(range.start).unwrap_or(usize::MAX);
            let most = (range.end.saturating_sub(range.start)).min(crate::bytes::limits::LISTED) as usize;
            state.tags(self.kind).skip(start).take(most).map(about).collect()
        };
        drop(state);
        task.check()?;
        let node = |(tag, about): (String, Arc<About>)| Arc::new(of_tag(&self.log, self.kind, &tag, &about));
        let page = known.into_iter().map(node).collect();
        Ok((page, ended))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.log.finish(task)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let find = || self.log.now().of(self.kind, name).map(|series| series.about.clone());
        let mut found = find();
        if found.is_none() {
            self.log.finish(task)?;
            found = find();
        }
        Ok(found.map(|about| Arc::new(of_tag(&self.log, self.kind, name, &about))))
    }
}

/// The values of one tag: a table, and what it has for each step.
fn of_tag(log: &Arc<Log>, kind: Kind, tag: &str, about: &About) -> Node {
    let which = Which::Tag(kind, tag.to_owned());
    let presentation = which.presentation(false);
    let table: Arc<dyn Table> = Arc::new(EventTable::of(log, which));
    let node = Node::new(tag, "tag").content(Content::Table(table)).presented(presentation);
    let mut node = described(node, about);
    if matches!(kind, Kind::Images | Kind::Audio | Kind::Tensors) {
        node = node.lazy(Steps { log: log.clone(), kind, tag: tag.to_owned() });
    }
    node
}

/// With what its first value says of a tag.
fn described(mut node: Node, about: &About) -> Node {
    let said = [
        ("plugin", &about.plugin),
        ("display_name", &about.display_name),
        ("description", &about.description),
    ];
    for (name, text) in said.into_iter().filter(|(_, text)| !text.is_empty()) {
        node = node.attribute(name, text.as_str());
    }
    node
}

/// The pictures, recordings or tensors of a tag, by step.
struct Steps {
    log: Arc<Log>,
    kind: Kind,
    tag: String,
}

impl Steps {
    fn rows(&self) -> (u64, bool) {
        let state = self.log.now();
        (state.of(self.kind, &self.tag).map_or(0, |series| series.marks.rows), state.ended)
    }

    /// The children `range`, which are known.
    fn known(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let mark = self.log.now().of(self.kind, &self.tag).map(|series| series.marks.before(range.start));
        let Some((mut row, place)) = mark else { return Ok(Vec::new()) };
        let mut nodes = Vec::new();
        self.log.each(task, place, |record| {
            let Some(event) = record.event() else { return Ok(true) };
            for (kind, value) in record.values(&event) {
                if kind != self.kind || String::from_utf8_lossy(value.tag) != self.tag {
                    continue;
                }
                for n in 0..kind.rows(&value) {
                    if range.contains(&row) {
                        let name =
                            if n == 0 { event.step.to_string() } else { format!("{}.{n}", event.step) };
                        let node = match kind {
                            Kind::Tensors => tensor(name, record.source, &value.data),
                            _ => self.blob(name, record.source, kind.blobs(&value).get(n as usize)),
                        };
                        nodes.push(Arc::new(node));
                    }
                    row += 1;
                }
            }
            Ok(row < range.end)
        })?;
        Ok(nodes)
    }

    /// A picture, which is a file inside the file, or the bytes of a recording.
    fn blob(&self, name: String, source: &Source, blob: Option<&Blob>) -> Node {
        let span = blob.map_or(0..0, |blob| blob.bytes.span());
        let label = if self.kind == Kind::Images { "image" } else { "audio" };
        if self.kind == Kind::Audio {
            let node = Node::new(name.as_str(), label);
            return match source.member(name, span) {
                Ok(bytes) => node.content(Content::Bytes(bytes)),
                Err(error) => node.problem(error),
            };
        }
        let (source, member) = (source.clone(), name.clone());
        let make = move |_: &Task| source.member(member.as_str(), span.clone());
        self.log.formats.nested(name, label, Options::default(), make)
    }
}

impl Listing for Steps {
    fn count(&self) -> Option<u64> {
        let (rows, ended) = self.rows();
        ended.then_some(rows)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(crate::bytes::limits::LISTED));
        self.log.until(task, |state| state.of(self.kind, &self.tag).is_some_and(|s| s.marks.rows >= end))?;
        let end = end.min(self.rows().0);
        if range.start >= end { Ok(Vec::new()) } else { self.known(task, range.start..end) }
    }

    fn at_least(&self) -> u64 {
        self.rows().0
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.log.finish(task)
    }
}

/// A tensor as an array, one of texts as a table.
fn tensor(name: String, source: &Source, data: &Data) -> Node {
    let Data::Tensor(part) = data else { return Node::new(name, "tensor") };
    match Tensor::parse(*part) {
        Ok(tensor) => of_tensor(name, source, &tensor),
        Err(error) => Node::new(name, "tensor").problem(error),
    }
}

/// The same of a tensor that was parsed.
pub(super) fn of_tensor(name: String, source: &Source, tensor: &Tensor) -> Node {
    let node = Node::new(name, "tensor");
    if tensor.is_text() {
        let texts = tensor.strings().iter().map(|part| String::from_utf8_lossy(part.bytes()).into_owned());
        let texts: StringArray = texts.map(Some).collect();
        let index: Int64Array = (0..tensor.strings().len() as i64).map(Some).collect();
        let columns: Vec<(&str, ArrayRef)> =
            vec![("index", Arc::new(index) as ArrayRef), ("text", Arc::new(texts))];
        return match RecordBatch::try_from_iter(columns) {
            Ok(batch) => node.content(Content::Table(Arc::new(MemoryTable::new(batch)))),
            Err(error) => node.problem(error.into()),
        };
    }
    match tensor.array(source) {
        Ok(array) => node.content(Content::Array(Arc::new(array))),
        Err(error) => node.problem(error),
    }
}

/// Graphs and metadata of runs of them, as bytes.
struct Members {
    log: Arc<Log>,
    of_run: bool,
}

impl Members {
    fn nodes(&self) -> Result<Vec<Arc<Node>>> {
        let members = {
            let state = self.log.now();
            if self.of_run { state.run_metadata.clone() } else { state.graphs.clone() }
        };
        let node = |member: Member| {
            let mut node =
                Node::new(member.name.as_str(), "message").attribute("step", member.step.to_string());
            if let Some(time) = super::time(member.wall_time) {
                node = node.attribute("time", time);
            }
            if let Some(source) = self.log.files.get(member.file) {
                let bytes = source.member(format!("{}.pb", member.name), member.span.clone())?;
                node = node.content(Content::Bytes(bytes));
            }
            Ok(Arc::new(node))
        };
        members.into_iter().map(node).collect()
    }
}

impl Listing for Members {
    fn count(&self) -> Option<u64> {
        let state = self.log.now();
        let list = if self.of_run { &state.run_metadata } else { &state.graphs };
        state.ended.then_some(list.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.log.finish(task)?;
        let nodes = self.nodes()?;
        page_of(task, range, Some(nodes.len() as u64), |n| Ok(nodes.get(n as usize).cloned()))
    }
}

/// What is known of each tag, as a table.
fn tags_of(task: &Task, log: &Log) -> Result<Node> {
    log.finish(task)?;
    let state = log.now();
    let series: Vec<_> = state.all().collect();
    let text = |of: &dyn Fn(&(Kind, String), &Series) -> String| -> ArrayRef {
        let cells = series.iter().map(|(key, series)| Some(of(key, series)).filter(|text| !text.is_empty()));
        Arc::new(cells.collect::<StringArray>())
    };
    let number = |of: &dyn Fn(&Series) -> i64| -> ArrayRef {
        Arc::new(series.iter().map(|(_, series)| Some(of(series))).collect::<Int64Array>())
    };
    let columns = vec![
        ("tag", text(&|(_, tag), _| tag.clone())),
        ("kind", text(&|(kind, _), _| kind.word().to_owned())),
        ("plugin", text(&|_, series| series.about.plugin.clone())),
        ("values", number(&|series| series.values as i64)),
        ("first_step", number(&|series| series.steps.0)),
        ("last_step", number(&|series| series.steps.1)),
        ("display_name", text(&|_, series| series.about.display_name.clone())),
        ("description", text(&|_, series| series.about.description.clone())),
    ];
    let table = MemoryTable::new(RecordBatch::try_from_iter(columns)?);
    Ok(Node::new("tags", "tags").content(Content::Table(Arc::new(table))))
}

/// All records as bytes.
struct Payloads {
    log: Arc<Log>,
}

impl NodeStatistics for Payloads {
    fn kind(&self) -> &'static str {
        "records"
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        self.log.finish(task)?;
        let (mut records, mut bytes, mut crc32) = (0_u64, 0_u64, crc32fast::Hasher::new());
        self.log.each(task, Place::default(), |record| {
            records += 1;
            bytes += record.part.bytes().len() as u64;
            crc32.update(record.part.bytes());
            Ok(true)
        })?;
        Ok(vec![("records", records.into()), ("bytes", bytes.into()), ("crc32", crc32.finalize().into())])
    }
}

/// The tree of several runs below `root`: their scalars together, and each of them.
pub(super) fn of_runs(mut root: Node, runs: Vec<NamedLog>) -> Node {
    let table = EventTable::new(runs.clone(), Which::Scalars, true);
    let scalars = Node::new("scalars", "tags")
        .lazy(Compared { runs: runs.clone() })
        .content(Content::Table(Arc::new(table)))
        .presented(Which::Scalars.presentation(true))
        .parts();
    let all = runs.clone();
    let hparams = Node::new("hparams", "hyper-parameters").deferred_leaf(move |task| {
        let mut sessions = Vec::new();
        for run in &all {
            run.log.finish(task)?;
            sessions.push((run.name.clone(), run.log.now().hparams.clone()));
        }
        hparams::compared(&sessions)
    });
    let each = runs.iter().map(|run| of_run(Node::new(run.name.as_str(), "run"), &run.log)).collect();
    let runs = Node::new("runs", "runs").listed(each);
    root.start = Some(START.to_owned());
    root.listed(vec![scalars, hparams, runs])
}

/// The scalars of several runs, by tag.
struct Compared {
    runs: Vec<NamedLog>,
}

impl Compared {
    fn tags(&self) -> Vec<String> {
        let mut tags = std::collections::BTreeSet::new();
        for run in &self.runs {
            tags.extend(run.log.now().tags(Kind::Scalars).map(|(tag, _)| tag.clone()));
        }
        tags.into_iter().collect()
    }

    fn node(&self, tag: &str) -> Arc<Node> {
        let has = |run: &&NamedLog| run.log.now().of(Kind::Scalars, tag).is_some();
        let runs = self.runs.iter().filter(has).cloned().collect();
        let which = Which::Tag(Kind::Scalars, tag.to_owned());
        let presentation = which.presentation(true);
        let table = Arc::new(EventTable::new(runs, which, true));
        Arc::new(Node::new(tag, "tag").content(Content::Table(table)).presented(presentation))
    }
}

impl Listing for Compared {
    fn count(&self) -> Option<u64> {
        let ended = self.runs.iter().all(|run| run.log.now().ended);
        ended.then(|| self.tags().len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.measure(task)?;
        let tags = self.tags();
        page_of(task, range, Some(tags.len() as u64), |n| Ok(tags.get(n as usize).map(|tag| self.node(tag))))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.runs.iter().try_for_each(|run| run.log.finish(task))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        self.measure(task)?;
        let has = self.runs.iter().any(|run| run.log.now().of(Kind::Scalars, name).is_some());
        Ok(has.then(|| self.node(name)))
    }
}
