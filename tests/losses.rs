//! Every node of every fixture × every writer that takes it: what differs between the source and what was
//! written, when both are opened, was named in the loss report, and what the report names differs.
//!
//! A difference is one of kind, type, shape, values, columns (names, types, nullability), attributes, names of
//! dimensions, coordinates along them, what stored numbers stand for. A loss that depends on values, which a
//! plan does not read, is marked so ([`Loss::possible`]) and need not come true.

use super::roundtrip::{REPRESENTED, is_asked, is_read, respelled};
use arrow::array::AsArray;
use gander::bytes::display;
use gander::convert::{self, Consent, Item, Selection, TARGETS, Target};
use gander::data::adapt::{ArrayTable, ImageArray, Typed};
use gander::data::cell;
use gander::data::content::{Array, Content, Table};
use gander::data::dtype::DType;
use gander::data::format::{Attributes, Loss, LossKind, Options};
use gander::data::node::{Node, Value};
use gander::data::open::{self, Document};
use gander::data::region::Region;
use gander::{ErrorKind, Task};
use rayon::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files above this size are left to other tests; how many there are is counted.
const LARGEST: u64 = 1 << 20;
/// Elements of which all values are compared; of larger arrays only the rest of what is known is.
const COMPARED: u64 = 1 << 16;

/// The most nodes of a file that are written.
const MOST_NODES: usize = 16;

/// What can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Missing,
    Kind,
    Type,
    Nullable,
    Shape,
    Values,
    Columns,
    Dimensions,
    Coordinates,
    Meaning,
    ValueNames,
    Attribute,
}

impl Aspect {
    /// The kinds of losses that say it.
    fn is_said_by(self, kind: LossKind) -> bool {
        use LossKind as K;
        match self {
            Aspect::Missing | Aspect::Kind | Aspect::Shape => matches!(kind, K::Type | K::Name | K::Metadata),
            Aspect::Type => matches!(kind, K::Type | K::Nesting | K::Zone | K::Scale),
            Aspect::Nullable => matches!(kind, K::Type | K::Null | K::Scale),
            Aspect::Values => {
                matches!(kind, K::Type | K::Null | K::Nan | K::Zone | K::Precision | K::Nesting | K::Scale)
            }
            Aspect::Columns => matches!(kind, K::Name | K::Type),
            Aspect::Dimensions => matches!(kind, K::Name | K::Type),
            Aspect::ValueNames => matches!(kind, K::Name),
            Aspect::Coordinates => matches!(kind, K::Scale),
            Aspect::Meaning => matches!(kind, K::Scale | K::Metadata),
            Aspect::Attribute => matches!(kind, K::Attribute | K::Metadata | K::Scale),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    path: String,
    subject: String,
    aspect: Aspect,
    /// The two sides, for the message.
    words: String,
}

/// A column of a table, or all elements of an array.
#[derive(Clone)]
struct Column {
    name: String,
    word: String,
    nullable: bool,
    cells: Option<Vec<Option<String>>>,
}

/// One object, as far as it is compared.
struct Object {
    kind: &'static str,
    shape: Vec<u64>,
    /// The type of an array's elements, in words and exactly.
    dtype: Option<String>,
    exact: Option<DType>,
    columns: Vec<Column>,
    dimensions: Vec<String>,
    coordinates: Vec<(String, Option<Vec<Option<String>>>)>,
    meaning: Option<String>,
    value_names: Vec<(i64, String)>,
    attributes: Attributes,
}

fn cells(array: &dyn Array) -> Option<Vec<Option<String>>> {
    let region = Region::all(array.shape());
    if region.elements().ok()? > COMPARED {
        return None;
    }
    let column = array.column(&Task::new(), &region).ok()?;
    Some((0..column.len()).map(|row| cell::text(column.as_ref(), row)).collect())
}

fn columns_of(table: &dyn Table) -> Vec<Column> {
    let task = Task::new();
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let rows = table.count(&task).ok().filter(|rows| rows * (all.len() as u64).max(1) <= COMPARED * 8);
    let batch = rows.and_then(|rows| table.read(&task, 0..rows, &all).ok());
    let column = |(n, field): (usize, &Arc<arrow::datatypes::Field>)| Column {
        name: field.name().clone(),
        word: display::arrow_type(table.column_type(n)),
        nullable: field.is_nullable(),
        cells: batch.as_ref().map(|batch| {
            (0..batch.num_rows()).map(|row| cell::text(batch.column(n).as_ref(), row)).collect()
        }),
    };
    table.schema().fields().iter().enumerate().map(column).collect()
}

/// The words for inferred types; and times as they are written, with their offsets.
fn inferred(columns: &mut [Column], raw: &dyn Table) {
    for (column, raw) in columns.iter_mut().zip(columns_of(raw)) {
        if column.word.starts_with("timestamp") && column.word.contains("tz=") {
            column.cells = raw.cells;
        }
        column.word = raw.word;
    }
}

impl Object {
    fn of(item: &Item, attributes: Attributes) -> Option<Self> {
        let mut object = Object {
            kind: item.content.kind().word(),
            shape: Vec::new(),
            dtype: None,
            exact: None,
            columns: Vec::new(),
            dimensions: Vec::new(),
            coordinates: Vec::new(),
            meaning: None,
            value_names: Vec::new(),
            attributes,
        };
        match &item.content {
            Content::Table(table) => {
                let raw = table.clone();
                let table: Arc<dyn Table> = match table.is_inferred() {
                    true => {
                        let first = Typed::strict(table.clone(), &BTreeMap::new());
                        first.try_all(&Task::new()).ok()?;
                        Arc::new(Typed::strict(table.clone(), &first.mismatches()))
                    }
                    false => table.clone(),
                };
                object.columns = columns_of(table.as_ref());
                if !Arc::ptr_eq(&raw, &table) {
                    inferred(&mut object.columns, raw.as_ref());
                }
                object.shape = vec![table.count(&Task::new()).ok()?];
            }
            Content::Array(array) => object.array(array),
            Content::Image(image) => {
                let samples: Arc<dyn Array> = Arc::new(ImageArray::new(image.clone()));
                object.array(&samples);
                let turned = |(name, value): &&(String, String)| {
                    name.contains("rientation") && !value.starts_with('1')
                };
                let info = image.info();
                let number = info.orientation.filter(|number| *number != 1).map(|number| number.to_string());
                let detail =
                    info.details.iter().find(turned).map(|turned| turned.1.chars().take(1).collect());
                object.meaning = number.or(detail);
            }
            Content::Text(_) | Content::Graph(_) | Content::Bytes(_) => return None,
        }
        Some(object)
    }

    fn array(&mut self, array: &Arc<dyn Array>) {
        let facts = array.facts();
        self.shape = array.shape().to_vec();
        self.dtype = Some(array.dtype().to_string());
        self.exact = Some(array.dtype().clone());
        let whole = Column {
            name: String::new(),
            word: array.dtype().to_string(),
            nullable: false,
            cells: cells(array.as_ref()),
        };
        self.columns = vec![whole];
        if facts.axes.len() == self.shape.len() {
            self.dimensions = facts.axes.iter().map(|axis| axis.name.clone()).collect();
        }
        if self.dimensions.iter().all(String::is_empty) {
            self.dimensions.clear();
        }
        for axis in &facts.axes {
            let values = axis.coordinate.as_ref().map(|array| cells(array.as_ref()));
            let regular = axis.regular.map(|regular| Some(vec![Some(format!("{regular:?}"))]));
            if let Some(values) = values.or(regular) {
                self.coordinates.push((axis.name.clone(), values));
            }
        }
        // As float32, which is what most scales are stored as.
        let words = |s: gander::data::content::array::Scaling| {
            format!("{} {} {:?} {:?}", s.scale as f32, s.offset as f32, s.fill, s.valid)
        };
        self.meaning = facts.scaling.filter(|_| array.dtype().is_real()).map(words);
        self.value_names = facts.value_names;
    }
}

/// The Arrow word for the type of an array's elements, where there is one for the same.
fn arrow_word(dtype: &str) -> &str {
    match dtype {
        "float16" => "halffloat",
        "float32" => "float",
        "float64" => "double",
        "str" => "string",
        "bytes" => "binary",
        other => other,
    }
}

/// Whether two types are the same, in the words of arrays or of tables.
fn same_type(from: &str, to: &str) -> bool {
    // The name of a list's items is nobody's.
    let (from, to) = (from.replace("<element: ", "<item: "), to.replace("<element: ", "<item: "));
    let (from, to) = (from.as_str(), to.as_str());
    let is_text =
        |word: &str| word == "str" || word == "string" || word == "large_string" || word == "string_view";
    from == to || arrow_word(from) == arrow_word(to) || is_text(from) && is_text(to)
}

/// Whether two attributes say the same; a float32 may be spelled as the double that it is.
fn same_value(from: &Attributes, name: &str, a: &Value, to: &Attributes, b: &Value) -> bool {
    fn same(a: &Json, b: &Json) -> bool {
        match (a, b) {
            // Readers of pairs of texts show JSON as what it is.
            (Json::String(text), Json::Object(_) | Json::Array(_)) => {
                serde_json::from_str(text).is_ok_and(|json: Json| json == *b)
            }
            (Json::Number(x), Json::Number(y)) => {
                x.as_f64() == y.as_f64() && (x.as_i64() == y.as_i64() || x.is_f64() || y.is_f64())
            }
            (Json::Array(x), Json::Array(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b))
            }
            // One value is that value, as NetCDF has it.
            (Json::Array(x), one) | (one, Json::Array(x)) if x.len() == 1 => same(&x[0], one),
            _ => a == b,
        }
    }
    // xarray's spelling of a missing float in Zarr.
    let number = |list: &Attributes| gander::data::cf::numbers(&list.list, name);
    let missing = name == "_FillValue"
        && !number(from).is_empty()
        && number(from)
            .iter()
            .zip(number(to))
            .all(|(x, y)| x.to_bits() == y.to_bits() || *x as f32 == y as f32);
    missing || same(&from.exact(name, a), &to.exact(name, b))
}

/// What differs between two objects.
fn differences(path: &str, from: &Object, to: &Object, out: &mut Vec<Difference>) {
    let mut add = |subject: &str, aspect: Aspect, words: String| {
        out.push(Difference { path: path.to_owned(), subject: subject.to_owned(), aspect, words });
    };
    if from.kind != to.kind {
        add("", Aspect::Kind, format!("{} → {}", from.kind, to.kind));
    }
    if from.shape != to.shape {
        add("", Aspect::Shape, format!("{:?} → {:?}", from.shape, to.shape));
    }
    compare_columns(from, to, &mut add);
    if let (Some(a), Some(b)) = (&from.exact, &to.exact)
        && a != b
    {
        add("", Aspect::Type, format!("{a:?} → {b:?}"));
    }
    if from.dimensions != to.dimensions {
        add("", Aspect::Dimensions, format!("{:?} → {:?}", from.dimensions, to.dimensions));
    }
    for (name, values) in &from.coordinates {
        // Without groups names stand behind those of their groups.
        let is_it =
            |other: &str| other == name || other.rsplit_once("__").is_some_and(|(_, last)| last == name);
        let there = to.coordinates.iter().find(|(other, _)| is_it(other));
        if there.is_none_or(|(_, other)| other != values) {
            add("", Aspect::Coordinates, name.clone());
        }
    }
    if from.meaning != to.meaning {
        add("", Aspect::Meaning, format!("{:?} → {:?}", from.meaning, to.meaning));
    }
    if from.value_names != to.value_names {
        add("", Aspect::ValueNames, format!("{:?} → {:?}", from.value_names, to.value_names));
    }
    let mut seen = BTreeSet::new();
    for (name, value) in &from.attributes.list {
        let first = seen.insert(name);
        match to.attributes.get(name) {
            Some(other) if first && same_value(&from.attributes, name, value, &to.attributes, other) => {}
            Some(_) if !first => add(name, Aspect::Attribute, "it stands twice".to_owned()),
            Some(other) => add(name, Aspect::Attribute, format!("{value:?} → {other:?}")),
            None => add(name, Aspect::Attribute, format!("{value:?} is gone")),
        }
    }
    for (name, value) in &to.attributes.list {
        if from.attributes.get(name).is_none() {
            add(name, Aspect::Attribute, format!("{value:?} is new"));
        }
    }
}

fn compare_columns(from: &Object, to: &Object, add: &mut dyn FnMut(&str, Aspect, String)) {
    // An array that became a table, or the other way round: all values in one row after the other.
    if (from.dtype.is_some()) != (to.dtype.is_some()) {
        let (array, table) = if from.dtype.is_some() { (from, to) } else { (to, from) };
        let dtype = array.dtype.as_deref().unwrap_or_default();
        if table.columns.iter().any(|column| !same_type(dtype, &column.word)) {
            add(
                "",
                Aspect::Type,
                format!(
                    "{dtype} and {:?}",
                    table.columns.iter().map(|c| c.word.as_str()).collect::<Vec<_>>()
                ),
            );
        }
        let rows = table.columns.first().and_then(|c| c.cells.as_ref()).map_or(0, Vec::len);
        let all = (0..rows).flat_map(|row| {
            table
                .columns
                .iter()
                .map(move |c| c.cells.as_ref().and_then(|cells| cells.get(row).cloned().flatten()))
        });
        if let Some(cells) = array.columns.first().and_then(|column| column.cells.as_ref())
            && !all.eq(cells.iter().cloned())
        {
            add("", Aspect::Values, "the elements".to_owned());
        }
        return;
    }
    let names = |object: &Object| object.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    if names(from) != names(to) {
        add("", Aspect::Columns, format!("{:?} → {:?}", names(from), names(to)));
    }
    for (n, column) in from.columns.iter().enumerate() {
        // One of several of the same name is at its place, whatever it is called there.
        let is_one_of_many = from.columns.len() == to.columns.len()
            && from.columns.iter().filter(|other| other.name == column.name).count() > 1;
        let same = to.columns.get(n).filter(|other| is_one_of_many || other.name == column.name);
        let Some(other) = same.or_else(|| to.columns.iter().find(|other| other.name == column.name)) else {
            add(&column.name, Aspect::Missing, "the column is gone".to_owned());
            continue;
        };
        if !same_type(&column.word, &other.word) {
            add(&column.name, Aspect::Type, format!("{} → {}", column.word, other.word));
        }
        if column.nullable != other.nullable {
            add(&column.name, Aspect::Nullable, format!("{} → {}", column.nullable, other.nullable));
        }
        if let (Some(a), Some(b)) = (&column.cells, &other.cells) {
            let at = a
                .iter()
                .zip(b)
                .position(|(a, b)| a != b && !super::roundtrip::same_json(a.as_deref(), b.as_deref()));
            if a.len() != b.len() || at.is_some() {
                let pair = at.map(|at| (a[at].clone(), b[at].clone()));
                add(&column.name, Aspect::Values, format!("{pair:?}"));
            }
        }
    }
}

/// The attributes of an item that is all there is, with those of what it lies in.
fn with_above(item: &Item) -> Attributes {
    let mut all = Attributes::default();
    all.list.extend(item.attributes.list.iter().cloned());
    all.types.extend(item.attributes.types.clone());
    for (_, own) in &item.around.groups {
        for (name, value) in &own.list {
            if all.get(name).is_none() {
                all.list.push((name.clone(), value.clone()));
                all.types.extend(own.types.get(name).map(|dtype| (name.clone(), dtype.clone())));
            }
        }
    }
    all
}

/// Arrays that are the columns of one table.
fn joined(back: &[Item]) -> Option<Object> {
    let mut whole: Option<Object> = None;
    for item in back {
        let Content::Array(array) = &item.content else { return None };
        let name = item.name.rsplit('/').next().unwrap_or(&item.name);
        let table = ArrayTable::new(name, array.clone()).ok();
        let columns = table.map(|table| columns_of(&table)).filter(|columns| columns.len() == 1);
        let column = match columns.as_deref() {
            Some([only]) => Column { name: item.name.clone(), ..only.clone() },
            _ => Column {
                name: item.name.clone(),
                word: array.dtype().to_string(),
                nullable: false,
                cells: None,
            },
        };
        match &mut whole {
            Some(whole) => whole.columns.push(column),
            None => {
                let mut object = Object::of(item, with_above(item))?;
                (object.dtype, object.columns) = (None, vec![column]);
                object.dimensions.clear();
                object.shape.truncate(1);
                whole = Some(object);
            }
        }
    }
    whole
}

/// All differences between what was converted and what was written.
/// What differs, and whether there was anything to compare.
fn compare(items: &[Item], target: &Target, losses: &[&Loss], back: &[Item]) -> (Vec<Difference>, bool) {
    let mut out = Vec::new();
    let mut is_compared = false;
    // Long lists among a model's metadata are shown as arrays too.
    let is_source = |name: &str| items.iter().any(|from| from.name == name);
    let is_data =
        |item: &&Item| target.id != "gguf" || !item.name.starts_with("metadata/") || is_source(&item.name);
    let back: Vec<Item> = back.iter().filter(is_data).cloned().collect();
    let back = back.as_slice();
    if let [from] = items {
        let is_table = matches!(from.content, Content::Table(_));
        let to = match back {
            [only]
                if !(is_table
                    && only.content.kind().word() == "array"
                    && target.writer.many
                    && target.id != "hdf5") =>
            {
                Object::of(only, with_above(only))
            }
            several => joined(several),
        };
        if let (Some(from), Some(to)) = (Object::of(from, with_above(from)), to) {
            differences("", &from, &to, &mut out);
            is_compared = true;
        }
        around(items, back, target, losses, &mut out);
        return (out, is_compared);
    }
    for from in items {
        let renamed = losses
            .iter()
            .find(|loss| loss.path == from.name && loss.subject.is_empty() && loss.called.is_some());
        let called = renamed.and_then(|loss| loss.called.as_ref());
        let mut to = back.iter().find(|to| to.name == *called.unwrap_or(&from.name));
        if let Some(called) = called.filter(|_| to.is_some()) {
            let (path, words) = (from.name.clone(), format!("it is called {called:?}"));
            out.push(Difference { path, subject: String::new(), aspect: Aspect::Columns, words });
        } else if to.is_none() && REPRESENTED.contains(&target.id) {
            let is_named = |to: &&Item| respelled(&to.name) == respelled(&from.name);
            to = back.iter().find(is_named);
            let words = format!("it is called {:?}", to.map(|to| &to.name));
            let path = from.name.clone();
            out.extend(to.map(|_| Difference {
                path,
                subject: String::new(),
                aspect: Aspect::Columns,
                words,
            }));
        }
        let found = match to {
            Some(to) => Object::of(to, to.attributes.clone()),
            None => {
                let is_flat = target.id == "netcdf3";
                let below = |item: &&Item| {
                    let rest = item.name.strip_prefix(&from.name);
                    rest.is_some_and(|rest| rest.starts_with(['/', '.']) || is_flat && rest.starts_with("__"))
                };
                let columns: Vec<Item> = back
                    .iter()
                    .filter(below)
                    .map(|item| {
                        let name =
                            item.name[from.name.len()..].trim_start_matches(['/', '.', '_']).to_owned();
                        Item { name, ..item.clone() }
                    })
                    .collect();
                let group = back
                    .first()
                    .and_then(|item| item.around.groups.iter().find(|(name, _)| *name == from.name));
                joined(&columns).map(|object| Object {
                    attributes: group.map(|(_, own)| own.clone()).unwrap_or_default(),
                    ..object
                })
            }
        };
        match (Object::of(from, from.attributes.clone()), found) {
            (Some(from_object), Some(to)) => {
                differences(&from.name, &from_object, &to, &mut out);
                is_compared = true;
            }
            (Some(_), None) => out.push(Difference {
                path: from.name.clone(),
                subject: String::new(),
                aspect: Aspect::Missing,
                words: "it is gone".to_owned(),
            }),
            (None, _) => {}
        }
    }
    around(items, back, target, losses, &mut out);
    (out, is_compared)
}

/// What differs in what lies around the items.
fn around(items: &[Item], back: &[Item], target: &Target, losses: &[&Loss], out: &mut Vec<Difference>) {
    let Some(from) = items.first().map(|item| &item.around) else { return };
    let mut gone = |path: &str, subject: &str, aspect: Aspect, words: String| {
        out.push(Difference { path: path.to_owned(), subject: subject.to_owned(), aspect, words });
    };
    for (name, label, _) in &from.left_out {
        gone(name, "", Aspect::Missing, format!("a {label}"));
    }
    // Values that are no content are among the metadata, or nowhere.
    let metadata = back.first().and_then(|item| item.around.groups.first());
    for (name, label, _) in &from.values {
        let own = back.first().and_then(|item| item.attributes.get(name));
        if own.or_else(|| metadata.and_then(|(_, root)| root.get(name))).is_none() {
            gone(name, "", Aspect::Missing, format!("a {label}"));
        }
    }
    let mut names = BTreeSet::new();
    for item in back {
        if let Content::Array(array) = &item.content {
            names.extend(array.facts().axes.into_iter().map(|axis| axis.name));
        }
    }
    if target.id == "netcdf3" {
        // Behind the names of their groups.
        names.extend(names.clone().iter().filter_map(|name| Some(name.rsplit_once("__")?.1.to_owned())));
    }
    // That dimensions have no names is said of every array.
    for (name, _) in from.dimensions.iter().filter(|_| target.id != "mat73") {
        if !names.contains(name.rsplit('/').next().unwrap_or(name)) {
            gone(name, "", Aspect::Dimensions, "the dimension".to_owned());
        }
    }
    let is_below = |name: &str, group: &str| {
        let rest = name.strip_prefix(group);
        rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric() && c != '_'))
    };
    let to = back.first().map(|item| item.around.clone()).unwrap_or_default();
    let is_there = |name: &String| {
        let group = to.groups.iter().any(|(other, _)| other == name);
        group || to.left_out.iter().any(|(other, ..)| other == name)
    };
    if let [only] = items {
        for (name, _) in
            from.groups.iter().filter(|(name, _)| !name.is_empty() && !is_below(&only.name, name))
        {
            if !is_there(name) {
                gone(name, "", Aspect::Missing, "the group".to_owned());
            }
        }
        return;
    }
    for (name, own) in &from.groups {
        // What is said of its name tells where its attributes are.
        let called = losses.iter().filter(|loss| loss.path == *name && loss.subject.is_empty());
        let called = called.filter_map(|loss| loss.called.as_ref()).next();
        let is_found =
            |called: &&String| is_there(called) || back.iter().any(|item| is_below(&item.name, called));
        let called = called.filter(is_found);
        if let Some(called) = called {
            gone(name, "", Aspect::Columns, format!("it is called {called}"));
        }
        let is_group = |other: &String| match called {
            Some(called) => other == called,
            None => other == name || REPRESENTED.contains(&target.id) && respelled(other) == respelled(name),
        };
        let there = to.groups.iter().find(|(other, _)| is_group(other)).map(|(_, own)| own);
        let is_implied = items.iter().any(|item| is_below(&item.name, name));
        if called.is_none() && !is_there(name) && !name.is_empty() && !is_implied {
            gone(name, "", Aspect::Missing, "the group".to_owned());
        }
        for (key, value) in &own.list {
            let other = there.and_then(|there| Some((there, there.get(key)?)));
            if other.is_none_or(|(there, other)| !same_value(own, key, value, there, other)) {
                gone(
                    name,
                    key,
                    Aspect::Attribute,
                    format!("{value:?} → {:?}", other.map(|(_, other)| other)),
                );
            }
        }
    }
    // Names that metadata in one place are told apart by.
    if let Some((_, root)) = to.groups.first().filter(|(name, _)| name.is_empty()) {
        let own = from.groups.first().map(|(_, own)| own.clone()).unwrap_or_default();
        for (name, value) in root.list.iter().filter(|(name, _)| own.get(name).is_none()) {
            let owner = items
                .iter()
                .map(|item| item.name.as_str())
                .chain(from.groups.iter().map(|(name, _)| name.as_str()));
            let path = owner
                .filter(|owner| !owner.is_empty() && name.starts_with(&format!("{owner}.")))
                .max_by_key(|owner| owner.len());
            gone(path.unwrap_or_default(), name, Aspect::Attribute, format!("{value:?} is new"));
        }
    }
}

fn is_said(difference: &Difference, loss: &Loss) -> bool {
    // A column that is an array of its own is called so.
    let Difference { path, subject, .. } = difference;
    let own = [subject.clone(), format!("{path}.{subject}"), format!("{path}/{subject}")];
    let own = !subject.is_empty() && own.contains(&loss.path);
    // Of a table that is gone, each column that is left out is named.
    let part = difference.aspect == Aspect::Missing
        && loss.path.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']));
    let path = own || part || loss.path.is_empty() || path.is_empty() || loss.path == *path;
    let subject =
        loss.subject.is_empty() || loss.subject == difference.subject || difference.subject.is_empty();
    path && subject && difference.aspect.is_said_by(loss.kind)
}

/// What came of one node and one writer.
#[derive(Default)]
struct Outcome {
    written: usize,
    refused: usize,
    differences: usize,
    losses: usize,
    /// Losses that depend on values, and did not come true.
    untrue: usize,
    wrong: Vec<String>,
}

fn check(items: &[Item], target: &'static Target, out: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let task = Task::new();
    let Ok(plan) = convert::plan(items, target, &Options::default(), &Selection::default()) else {
        outcome.refused = 1;
        return outcome;
    };
    let done = match plan.run(&task, out, Consent { overwrite: true, lose: true }) {
        Ok(done) => done,
        Err(error) => {
            // What the target cannot hold, and what cannot be read; the writer's own failures are faults.
            if matches!(error.kind(), ErrorKind::Io | ErrorKind::Bug) {
                outcome.wrong.push(format!("it failed: {error}"));
            }
            outcome.refused = 1;
            return outcome;
        }
    };
    let mut reading = Options::default();
    match target.id {
        "tsv" => reading.set("delimiter", "tab"),
        "csv" => reading.set("delimiter", "comma"),
        _ => {}
    }
    let expected = match target.id {
        "tsv" => "csv",
        "arrow-stream" => "arrow",
        "zarr-zip" => "zarr",
        "parquet-hf" => "parquet",
        "pgm" | "pam" | "pfm" => "ppm",
        id => id,
    };
    // Texts may say too little to be told from plain text, and nothing at all is no file of any format.
    let back = gander::open(&task, out, &reading).ok().filter(|back| back.format.id == expected);
    let Some(back) = back.and_then(|back| convert::gather(&task, &back.source, &back.root, "").ok()) else {
        outcome.refused = 1;
        return outcome;
    };
    outcome.written = 1;
    let losses: Vec<&Loss> = plan.losses.iter().chain(&done.notes).collect();
    let (differences, is_compared) = compare(items, target, &losses, &back);
    outcome.differences = differences.len();
    outcome.losses = losses.len();
    for difference in &differences {
        if !losses.iter().any(|loss| is_said(difference, loss)) {
            outcome.wrong.push(format!("not reported: {difference:?}"));
        }
    }
    // Of an array that is gone, and of a column that became a part of another one, nothing else can be seen.
    let is_gone = |loss: &Loss| {
        let is_it = |d: &Difference| {
            let is_subject = !d.subject.is_empty() && d.subject == loss.subject;
            let is_path = !d.path.is_empty() && d.path == loss.path && loss.subject.is_empty();
            d.aspect == Aspect::Missing && (is_subject || is_path)
        };
        differences.iter().any(is_it)
    };
    for loss in losses {
        if !is_gone(loss) && !differences.iter().any(|difference| is_said(difference, loss)) {
            // What cannot be read cannot be seen to be missing.
            match loss.possible || !is_compared || loss.kind == LossKind::Missing {
                true => outcome.untrue += 1,
                false => outcome.wrong.push(format!("no difference: {loss:?}")),
            }
        }
    }
    outcome
}

fn files(skipped: &AtomicUsize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let name = entry.file_name().to_string_lossy().into_owned();
            if meta.is_dir() && (name.ends_with(".zarr") || name.ends_with(".n5")) {
                files.push(path);
            } else if meta.is_dir() && name != "malformed" {
                folders.push(path);
            } else if meta.is_file() && !name.ends_with(".py") && !name.ends_with("golden.txt") {
                if meta.len() <= LARGEST {
                    files.push(path);
                } else {
                    skipped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
    files.retain(|path| is_asked(path));
    files.sort();
    files
}

/// The whole and each of its nodes that has content.
fn nodes(document: &Document) -> Vec<(String, Vec<Item>)> {
    let (task, root) = (Task::new(), &document.root);
    let mut all = Vec::new();
    let mut add = |node: &Arc<Node>, path: &str| {
        if let Ok(items) = convert::gather(&task, &document.source, node, path) {
            // Files that are put in are another test's part.
            let items: Vec<Item> = items.into_iter().map(|item| Item { files: None, ..item }).collect();
            let opaque = |item: &Item| matches!(item.content, Content::Bytes(_) | Content::Text(_));
            if !items.iter().any(opaque) {
                all.push((path.to_owned(), items));
            }
        }
    };
    add(root, "");
    let _ = open::walk(&task, root, "", 8, &mut |node, path, level| {
        if level > 0 && node.content.is_some() {
            add(node, path);
        }
        Ok(true)
    });
    // Of files with many nodes those at equal distances: the others are like them.
    let step = all.len().div_ceil(MOST_NODES).max(1);
    all.into_iter().step_by(step).collect()
}

#[test]
fn the_loss_report_tells_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let skipped = AtomicUsize::new(0);
    let made: Vec<(String, &'static str, Outcome)> = files(&skipped)
        .par_iter()
        .enumerate()
        .flat_map(|(number, path)| {
            let Ok(document) = gander::open(&Task::new(), path, &Options::default()) else {
                return Vec::new();
            };
            let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
            let mut out = Vec::new();
            for (n, (node, items)) in nodes(&document).into_iter().enumerate() {
                for target in TARGETS.iter().filter(|target| target.id != "raw" && is_read(target)) {
                    let file = folder.path().join(format!("{number}-{n}.{}", target.extensions[0]));
                    out.push((format!("{name}#{node}"), target.id, check(&items, target, &file)));
                    let _ = if file.is_dir() {
                        std::fs::remove_dir_all(&file)
                    } else {
                        std::fs::remove_file(&file)
                    };
                }
            }
            out
        })
        .collect();
    let mut totals: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (node, id, outcome) in &made {
        let total = totals.entry(id).or_default();
        let parts = [outcome.written, outcome.refused, outcome.differences, outcome.losses, outcome.untrue];
        total.iter_mut().zip(parts).for_each(|(total, part)| *total += part);
        wrong.extend(outcome.wrong.iter().map(|words| format!("{node} as {id}: {words}")));
    }
    println!("written, refused, differences, losses, possible ones that did not come true:\n{totals:#?}");
    println!("{} files over {LARGEST} bytes left out", skipped.load(Ordering::Relaxed));
    assert!(wrong.is_empty(), "{} untrue:\n{}", wrong.len(), wrong.join("\n"));
    for target in TARGETS.iter().filter(|target| target.id != "raw" && is_read(target)) {
        let total = totals.get(target.id).copied().unwrap_or_default();
        assert!(
            total[0] > 20 && total[2] > 0 && total[3] > 0,
            "{}: too little was compared: {total:?}",
            target.id
        );
    }
}

fn opened(path: &Path) -> Vec<Item> {
    let document = gander::open(&Task::new(), path, &Options::default()).unwrap();
    convert::gather(&Task::new(), &document.source, &document.root, "").unwrap()
}

fn written(items: &[Item], id: &str, set: &[(&str, &str)], selection: &Selection, out: &Path) -> Vec<Loss> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let plan = convert::plan(items, Target::by_id(id).unwrap(), &options, selection).unwrap();
    plan.run(&Task::new(), out, Consent { overwrite: true, lose: true }).unwrap();
    plan.losses
}

fn climate() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/showcase/climate.nc"))
}

#[test]
fn a_tree_keeps_its_attributes_dimensions_and_scales_where_they_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let items = opened(&climate());
    for (id, ending) in [("hdf5", "h5"), ("zarr", "zarr")] {
        let out = folder.path().join(format!("climate.{ending}"));
        let losses = written(&items, id, &[], &Selection::default(), &out);
        assert!(losses.is_empty(), "{losses:?}");
        let back = opened(&out);
        assert_eq!(back.len(), items.len());
        let tas = back.iter().find(|item| item.name == "tas").unwrap();
        assert_eq!(tas.attributes.get("units"), Some(&Value::from("K")));
        let Content::Array(array) = &tas.content else { panic!("no array") };
        let facts = array.facts();
        let names: Vec<&str> = facts.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["time", "lat", "lon"], "{id}");
        assert!(facts.axes.iter().all(|axis| axis.coordinate.is_some()), "{id}");
        assert_eq!(facts.scaling.map(|s| (s.scale, s.offset, s.fill)), Some((0.01, 273.15, vec![-32768.0])));
        assert!(back[0].around.groups[0].1.get("Conventions").is_some(), "{id}");
    }
    // Without groups all of it is named.
    let losses = written(&items, "npz", &[], &Selection::default(), &folder.path().join("climate.npz"));
    let of_tas = |kind: LossKind| losses.iter().any(|loss| loss.path == "tas" && loss.kind == kind);
    for kind in [LossKind::Attribute, LossKind::Name, LossKind::Scale] {
        assert!(of_tas(kind), "{kind:?} of {losses:?}");
    }
    assert!(losses.iter().any(|loss| loss.serious && loss.kind == LossKind::Scale), "{losses:?}");
}

#[test]
fn tables_hold_what_is_shown_unless_what_is_stored_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let items: Vec<Item> = opened(&climate()).into_iter().filter(|item| item.name == "tas").collect();
    let Content::Array(array) = &items[0].content else { panic!("no array") };
    let scaling = array.facts().scaling.unwrap();
    let selection = Selection { slice: Some("0".to_owned()), ..Selection::default() };
    let raw = gander::data::adapt::ArrayView::parse(array.clone(), "0").unwrap();
    let stored = cells(&raw).unwrap();
    let out = folder.path().join("out.parquet");
    for (values, is_shown) in [(None, true), (Some("shown"), true), (Some("stored"), false)] {
        let set: Vec<(&str, &str)> = values.map(|values| ("values", values)).into_iter().collect();
        let losses = written(&items, "parquet", &set, &selection, &out);
        assert!(losses.iter().any(|loss| loss.kind == LossKind::Scale), "{losses:?}");
        let back = opened(&out);
        let Content::Table(table) = &back[0].content else { panic!("no table") };
        let columns = columns_of(table.as_ref());
        let width = columns.len();
        for (n, stored) in stored.iter().enumerate() {
            let cell = columns[n % width].cells.as_ref().unwrap()[n / width].clone();
            let number: f64 = stored.as_ref().unwrap().parse().unwrap();
            let meant = Some(scaling.apply(number)).filter(|value| !value.is_nan()).map(cell::float64);
            assert_eq!(cell, if is_shown { meant } else { stored.clone() }, "{values:?}, element {n}");
        }
        assert_eq!(back[0].attributes.get("scale_factor").is_some(), !is_shown);
    }
}

#[test]
fn pictures_hold_what_is_stored() {
    use gander::data::content::array::{ArrayFacts, Plain, Scaling};
    let scaling = Scaling { scale: 0.5, offset: 0.0, fill: Vec::new(), valid: None };
    let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
    let plain =
        Plain::new(gander::Source::memory("a", (0..12).collect::<Vec<u8>>()), 0, DType::U8, vec![3, 4])
            .unwrap();
    let item = Item::new("a", Content::Array(Arc::new(plain.with_facts(facts))), Attributes::default());
    let plan = |values: &str| {
        let mut options = Options::default();
        options.set("values", values);
        let target = Target::by_id("png").unwrap();
        gander::convert::plan(std::slice::from_ref(&item), target, &options, &Selection::default())
    };
    let plan_of_stored = plan("stored").unwrap();
    assert!(plan_of_stored.losses.iter().any(|loss| loss.kind == LossKind::Scale && !loss.serious));
    let refused = plan("shown").err().unwrap().to_string();
    assert!(refused.contains("the stored ones are written"), "{refused}");
}

#[test]
fn what_a_reader_says_is_no_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let people = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/showcase/people.csv"));
    let document = gander::open(&Task::new(), people, &Options::default()).unwrap();
    assert!(document.root.reader.iter().any(|(name, _)| name == "delimiter"));
    assert!(document.root.attributes.is_empty());
    let out = folder.path().join("people.parquet");
    written(&opened(people), "parquet", &[], &Selection::default(), &out);
    assert!(opened(&out)[0].attributes.list.is_empty());
}

#[test]
fn text_does_not_keep_which_nan_it_was_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let nans = [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0001u64];
    let bytes: Vec<u8> = nans.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let source = folder.path().join("nan.raw.npy");
    let array =
        gander::data::content::array::Plain::new(gander::Source::memory("a", bytes), 0, DType::F64, vec![2]);
    let item = Item::new("x", Content::Array(Arc::new(array.unwrap())), Attributes::default());
    assert!(written(&[item], "npy", &[], &Selection::default(), &source).is_empty());
    let patterns = |path: &Path| -> BTreeSet<u64> {
        let items = opened(path);
        let Content::Table(table) = &items[0].content else { panic!("no table") };
        let batch = table.read(&Task::new(), 0..2, &[0]).unwrap();
        // Texts are read as numbers only where somebody asks for it.
        let column = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Float64).unwrap();
        let numbers = column.as_primitive::<arrow::datatypes::Float64Type>();
        numbers.values().iter().map(|value| value.to_bits()).collect()
    };
    for (id, is_kept) in [("parquet", true), ("csv", false), ("jsonl", false)] {
        let out = folder.path().join(format!("nan.{id}"));
        let losses = written(&opened(&source), id, &[], &Selection::default(), &out);
        assert_eq!(patterns(&out).len(), if is_kept { 2 } else { 1 }, "{id}");
        assert_eq!(losses.iter().any(|loss| loss.kind == LossKind::Nan), !is_kept, "{id}: {losses:?}");
    }
}
