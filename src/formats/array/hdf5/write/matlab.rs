//! Writes MAT-files of version 7.3: HDF5 behind a header in a user block, with MATLAB's classes as attributes. Arrays
//! lie by columns, so that their dimensions stand in the file from the last to the first; groups are structs; texts are
//! cells of characters, which lie in `#refs#`, each text once.
//! <https://www.mathworks.com/help/matlab/import_export/mat-file-versions.html>; the layout is that of MATLAB's own
//! files, as its readers describe it, <https://github.com/skjerns/mat7.3> among them.

use super::attributes;
use super::library::{Creation, Dataset, Described, File, Reference, Storage, Type};
use super::settings::{AUTO, LEVEL, NULLS, SHUFFLE, Settings};
use super::{ROWS, by_library, chunks, one_piece, types};
use crate::bytes::error::{Error, Result};
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind, Table};
use crate::data::dtype::{DType, TimeBase};
use crate::data::format::{
    Attributes, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note,
};
use crate::data::node::Value;
use crate::data::region::{Region, pieces};
use crate::data::scan::{array_bytes, scan};
use crate::engines::matlab::free_name;
use crate::engines::netcdf::Version;
use crate::engines::netcdf::cells::{Nulls, Numbers, numbers};
use crate::engines::netcdf::types::{self as kept_types, Change, Number, Stored};
use crate::engines::variables::{Reversed, Values, Variable, Variables, plain, texts};
use arrow::array::RecordBatch;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::SeekFrom;
use std::sync::Arc;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How numbers are compressed").one_of("gzip", &["gzip", "none"]);
const ONED: OptionSpec = OptionSpec::new(
    "oned_as",
    "Whether an array of one dimension becomes a row or a column; columns of tables are columns",
)
.one_of("row", &["row", "column"]);

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    options: &[COMPRESSION, LEVEL, SHUFFLE, ONED, NULLS],
    check,
    ..Writer::new(&[Kind::Array, Kind::Table], losses, write)
};

/// Bytes before the HDF5 part.
const USER_BLOCK: u64 = 512;
/// Where texts lie that cells refer to.
const REFERRED: &str = "#refs#";
/// The most different texts that are known at once, and the bytes of those.
const KNOWN: (usize, usize) = (1 << 20, 64 << 20);
/// The most fields whose names a struct lists: attributes end at 64 KB.
const FIELDS: usize = 3000;
/// MATLAB's own attributes, which are made anew.
const OWN: [&str; 6] = [
    "MATLAB_class",
    "MATLAB_int_decode",
    "MATLAB_empty",
    "MATLAB_fields",
    "MATLAB_sparse",
    "MATLAB_object_decode",
];

/// A variable or field.
struct Kept {
    path: String,
    stored: Stored,
    source: Variable,
}

/// Everything in the file.
#[derive(Default)]
struct Model {
    variables: Vec<Kept>,
    /// Structs by path, with the names of their fields and their attributes.
    structs: BTreeMap<String, (Vec<String>, Attributes)>,
    attributes: Attributes,
    losses: Vec<Loss>,
}

/// How elements are kept; `None` for those that have no value.
fn stored(dtype: &DType) -> Option<Stored> {
    let number =
        |dtype: &DType, change| Some(Stored::Number(Number { dtype: dtype.clone(), change, inner: None }));
    match dtype {
        DType::Bool => number(&DType::U8, Change::Same),
        DType::C64 | DType::C128 => number(dtype, Change::Same),
        DType::C32 => number(&DType::C64, Change::Halves),
        DType::Bytes(size) if *size > 0 => Some(Stored::Text),
        other => kept_types::stored(other, Version::Four),
    }
}

/// MATLAB's class of numbers.
fn class(source: &DType, number: &Number) -> &'static str {
    match &number.dtype {
        _ if *source == DType::Bool => "logical",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::F32 | DType::C64 => "single",
        _ => "double",
    }
}

/// The names that were given.
#[derive(Default)]
struct Naming {
    taken: HashMap<String, HashSet<String>>,
    groups: BTreeMap<Vec<String>, String>,
}

fn join(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

impl Naming {
    /// The path of something of this name in a group, that nothing else has.
    fn free(&mut self, model: &mut Model, above: &[String], name: &str) -> String {
        let group = self.group(model, above);
        let own = free_name(self.taken.entry(group.clone()).or_default(), name);
        if let Some((fields, _)) = model.structs.get_mut(&group) {
            fields.push(own.clone());
        }
        join(&group, &own)
    }

    fn group(&mut self, model: &mut Model, path: &[String]) -> String {
        let Some((name, above)) = path.split_last() else { return String::new() };
        if let Some(known) = self.groups.get(path) {
            return known.clone();
        }
        let own = self.free(model, above, name);
        self.groups.insert(path.to_vec(), own.clone());
        model.structs.entry(own.clone()).or_default();
        own
    }
}

impl Model {
    fn of(payload: &Payload, rows: u64, options: &Options) -> Self {
        let all = Variables::of(payload, rows);
        let mut model =
            Model { losses: all.losses.clone(), attributes: all.attributes.clone(), ..Model::default() };
        let is_table = payload.table().is_ok();
        let alone = all.list.len() == 1 && !is_table;
        let mut naming = Naming::default();
        for (path, item, own) in &all.groups {
            let made = naming.group(&mut model, path);
            if made != path.join("/") {
                let what = format!("it is called {made} in the file");
                model.losses.push(note(LossKind::Name, what).at(item).called(&made));
            }
            model.own_attributes(item, own);
            if let Some((_, kept)) = model.structs.get_mut(&made) {
                *kept = own.clone();
            }
        }
        // Texts are no arrays to who reads the file again.
        let is_seen = !all.list.iter().any(|variable| matches!(stored(&variable.dtype), Some(Stored::Text)));
        if is_table {
            let said =
                note(LossKind::Type, "each column becomes a variable of its own, with a row for each of its");
            model.losses.push(if is_seen { said } else { said.if_any() });
        }
        model.own_attributes("", &all.attributes);
        for variable in all.list {
            let Some(stored) = stored(&variable.dtype) else {
                let what = format!("MATLAB has no {}: it is left out", variable.dtype);
                model.losses.push(variable.say(loss(LossKind::Type, what)));
                continue;
            };
            let (name, above) = match variable.path.split_last() {
                Some((name, above)) => (name.clone(), above.to_vec()),
                None => continue,
            };
            let path = naming.free(&mut model, &above, &name);
            if path != variable.path.join("/") {
                let renamed = note(LossKind::Name, format!("it is called {path} in the file")).called(&path);
                let said = variable.say(renamed);
                let is_hidden = alone || variable.is_part() && (!is_table || !is_seen);
                model.losses.push(if is_hidden { said.if_any() } else { said });
            }
            model.own_attributes(&variable.item, &variable.attributes);
            model.losses.extend(told(&variable, &stored, options, is_seen));
            model.variables.push(Kept { path, stored, source: variable });
        }
        model
    }

    /// What is said of attributes that are MATLAB's own.
    fn own_attributes(&mut self, item: &str, attributes: &Attributes) {
        for (name, _) in attributes.list.iter().filter(|(name, _)| OWN.contains(&name.as_str())) {
            let what = "it is written as the class in MATLAB is now";
            self.losses.push(note(LossKind::Attribute, what).at(item).of(name).if_any());
        }
        let mut kept = attributes.clone();
        kept.remove(&OWN);
        attributes::losses(item, &kept, &mut self.losses);
    }
}

/// What is lost of a variable.
fn told(variable: &Variable, stored: &Stored, options: &Options, is_seen: bool) -> Vec<Loss> {
    let (dtype, is_part) = (&variable.dtype, variable.is_part());
    let is_text = *stored == Stored::Text;
    let mut all = Vec::new();
    let mut say = |loss: Loss, is_sure: bool| {
        let loss = variable.say(loss);
        all.push(if is_sure { loss } else { loss.if_any() });
    };
    match stored {
        Stored::Text if variable.shape.is_empty() => {
            say(note(LossKind::Type, "text becomes characters"), false)
        }
        Stored::Text => {
            let is_one = matches!(dtype, DType::Str(_) | DType::Bytes(_));
            let from = if is_one { "text".to_owned() } else { dtype.to_string() };
            say(
                note(LossKind::Type, format!("{from} becomes a cell array of characters")),
                !is_part && is_seen,
            );
        }
        Stored::Number(_) => {
            for loss in kept_types::told(dtype, stored, Version::Four, is_part) {
                // Truth values and complex numbers are there.
                if *dtype != DType::Bool && !dtype.is_complex() {
                    say(loss.clone(), !loss.possible && is_seen);
                }
            }
            if *dtype == DType::C32 {
                say(note(LossKind::Type, "complex32 becomes complex64, exactly"), is_seen);
            }
        }
    }
    if !is_part && !is_text {
        let reversed: Vec<u64> = variable.shape.iter().rev().copied().collect();
        let what = "its dimensions stand in the file from the last to the first, and are two at least, as MATLAB has them";
        let is_moved = variable.shape.len() < 2 || reversed != variable.shape;
        say(note(LossKind::Type, what), is_moved);
    }
    if variable.nullable {
        match options.get(NULLS.name) == Some("fill") {
            true => say(loss(LossKind::Null, "null cells become empty text, zero or NaN"), false),
            false => say(
                note(LossKind::Null, "a null cell, if there is one, is NaN or stops the conversion"),
                false,
            ),
        }
    }
    if let (Values::Array(array), false) = (&variable.values, is_part) {
        let facts = array.facts();
        let names: Vec<&str> =
            variable.axes.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        if !names.is_empty() {
            say(
                note(
                    LossKind::Name,
                    format!("the names of its dimensions are not kept ({})", names.join(", ")),
                ),
                !is_text,
            );
        }
        if facts.axes.iter().any(|axis| axis.coordinate.is_some() || axis.regular.is_some()) {
            let what = "MATLAB's arrays do not say which others are the coordinates along their dimensions";
            say(note(LossKind::Scale, what), !is_text);
        }
        if facts.scaling.is_some() && dtype.is_real() {
            let what = "stored numbers are written; MATLAB does not read the attributes that say what they stand for (values=shown writes that)";
            say(loss(LossKind::Scale, what), !is_text);
        }
        if !facts.value_names.is_empty() {
            say(note(LossKind::Name, "the names of its values are not kept"), true);
        }
    }
    let is_new = !is_part && !is_text && variable.attributes.get("MATLAB_class").is_none();
    let class = note(LossKind::Attribute, "attributes say its class in MATLAB").at(&variable.item);
    all.push(if is_new { class } else { class.if_any() });
    all
}

fn known_rows(payload: &Payload) -> u64 {
    payload.table().map_or(0, |table| table.rows().number())
}

fn check(payload: &Payload) -> Result<()> {
    match Model::of(payload, known_rows(payload), &Options::default()).variables.is_empty() {
        true => Err(Error::unsupported("MATLAB has no class for any of it")),
        false => Ok(()),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    Model::of(payload, known_rows(payload), options).losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let settings = Settings::of(options)?;
    let is_row = options.choice(&ONED)? == "row";
    sink.flush()?;
    let Some(path) = sink.path() else {
        return Err(Error::unsupported(
            "MAT-files of version 7.3 are written to files only: HDF5's library wants one",
        ));
    };
    let table = payload.table().ok();
    let rows = table.map_or(Ok(0), |table| table.count(task))?;
    let model = Model::of(payload, rows, options);
    if model.variables.is_empty() {
        return Err(Error::unsupported("MATLAB has no class for any of it"));
    }
    let file = File::create(path, &Creation { user_block: USER_BLOCK, ..Creation::default() })?;
    put_attributes(&file, &model.attributes, &DType::U8)?;
    for (path, (fields, own)) in &model.structs {
        let group = file.group(path)?;
        mark(&group, "struct")?;
        if !fields.is_empty() && fields.len() <= FIELDS {
            letters(&group, fields)?;
        }
        put_attributes(&group, own, &DType::U8)?;
    }
    let mut made = Made { file, settings, is_row, known: HashMap::new(), bytes: 0, count: 0 };
    let arrays = model.variables.iter().filter_map(|kept| match &kept.source.values {
        Values::Array(array) => array_bytes(array.as_ref()).ok(),
        _ => None,
    });
    task.set_total(arrays.fold(0, u64::saturating_add));
    for kept in &model.variables {
        if !matches!(kept.source.values, Values::Column(_)) {
            task.set_message(kept.path.clone());
            made.variable(task, kept).map_err(|e| e.in_node(&kept.source.item))?;
        }
    }
    if let Some(table) = table {
        made.columns(task, table.as_ref(), &model.variables)?;
    }
    made.file.finish()?;
    sink.seek(SeekFrom::Start(0))?;
    sink.write_all(&header())?;
    Ok(sink.flush()?)
}

/// The user block: text, the version and the byte order.
fn header() -> Vec<u8> {
    let text = format!(
        "MATLAB 7.3 MAT-file, Platform: GLNXA64, Created by: gander {} HDF5 schema 1.00 .",
        env!("CARGO_PKG_VERSION")
    );
    let mut out = text.into_bytes();
    out.resize(116, b' ');
    out.resize(124, 0);
    out.extend([0, 2, b'I', b'M']);
    out.resize(USER_BLOCK as usize, 0);
    out
}

/// Says the class of an object.
fn mark(object: &dyn Described, class: &str) -> Result<()> {
    // SAFETY: a type without places in memory.
    unsafe { object.attribute("MATLAB_class", &Type::text(class.len(), false)?, None, class.as_bytes()) }
}

/// The names of a struct's fields, letter by letter.
fn letters(object: &dyn Described, fields: &[String]) -> Result<()> {
    let mut places = Vec::with_capacity(fields.len() * 16);
    for field in fields {
        places.extend(field.len().to_ne_bytes());
        places.extend((field.as_ptr() as usize).to_ne_bytes());
    }
    let datatype = Type::text(1, false)?.list()?;
    // SAFETY: each element says how many letters of the name there are, which lives until the end of the call.
    unsafe {
        let held = fields.iter().map(|field| field.len() as u64).sum();
        object.attribute_of("MATLAB_fields", &datatype, &[fields.len() as u64], (&places, held))
    }
}

/// A number that MATLAB reads back as something else: 1 for truth values, 2 for characters.
fn decode(object: &dyn Described, as_what: i32) -> Result<()> {
    attributes::numbers_of(object, "MATLAB_int_decode", &[as_what], false)
}

fn put_attributes(object: &dyn Described, attributes: &Attributes, dtype: &DType) -> Result<()> {
    let mut kept = attributes.clone();
    kept.remove(&OWN);
    attributes::write(object, &kept, dtype)
}

/// The file while variables are written to it.
struct Made {
    file: File,
    settings: Settings,
    is_row: bool,
    /// Texts that are there already.
    known: HashMap<String, Reference>,
    bytes: usize,
    count: u64,
}

impl Made {
    /// The sides of a variable in the order of the file, the reverse of MATLAB's.
    fn sides(&self, shape: &[u64], is_column: bool) -> Vec<u64> {
        match shape {
            [] => vec![1, 1],
            [len] if self.is_row && !is_column => vec![*len, 1],
            [len] => vec![1, *len],
            many => many.iter().rev().copied().collect(),
        }
    }

    fn variable(&mut self, task: &Task, kept: &Kept) -> Result<()> {
        let is_column = kept.source.is_part();
        let dataset = match &kept.stored {
            Stored::Number(number) => self.numbers(task, kept, number, is_column)?,
            _ if kept.source.shape.contains(&0) => {
                self.empty(&kept.path, &self.sides(&kept.source.shape, is_column), "cell")?
            }
            _ if kept.source.shape.is_empty() => {
                let cells = kept.source.values.cells(task, &Region(Vec::new()))?;
                let text = texts(&cells, self.settings.fill)?.pop().unwrap_or_default();
                self.characters(&kept.path, &text)?
            }
            _ => self.cells(task, kept, is_column)?,
        };
        put_attributes(&dataset, &kept.source.attributes, &kept.source.dtype)?;
        unit(&dataset, kept)
    }

    /// Numbers, truth values, complex numbers.
    fn numbers(&self, task: &Task, kept: &Kept, number: &Number, is_column: bool) -> Result<Dataset> {
        let array: Arc<dyn Array> =
            Arc::new(Numbers::new(&kept.source, number, Nulls::plain(self.settings.fill)));
        let class = class(&kept.source.dtype, number);
        let sides = self.sides(array.shape(), is_column);
        if sides.contains(&0) {
            return self.empty(&kept.path, &sides, class);
        }
        let array: Arc<dyn Array> = match array.shape().len() {
            0 | 1 => Arc::new(Flat { inner: array, shape: sides.clone() }),
            _ => Arc::new(Reversed::new(array)),
        };
        let datatype = datatype(&number.dtype)?;
        let storage = Storage { whole: true, ..self.settings.storage(&sides, number.dtype.size(), AUTO)? };
        let dataset = self.file.dataset(&kept.path, &datatype, &sides, &storage)?;
        match &storage.chunk {
            Some(chunk) => chunks(task, &dataset, array.as_ref(), chunk, &storage)?,
            None => one_piece(task, &dataset, &datatype, array.as_ref())?,
        }
        described(&dataset, class)?;
        Ok(dataset)
    }

    /// An array of nothing: its sides, in MATLAB's order.
    fn empty(&self, path: &str, sides: &[u64], class: &str) -> Result<Dataset> {
        let bytes: Vec<u8> = sides.iter().rev().flat_map(|side| side.to_le_bytes()).collect();
        let (datatype, shape) = (Type::integer(8, false)?, [sides.len() as u64]);
        let dataset = self.file.dataset(path, &datatype, &shape, &Storage::default())?;
        // SAFETY: a type without places in memory.
        unsafe { dataset.write(&datatype, &[0], &shape, &bytes)? };
        described(&dataset, class)?;
        // SAFETY: as above.
        unsafe { dataset.attribute("MATLAB_empty", &Type::integer(1, false)?, None, &[1])? };
        Ok(dataset)
    }

    /// A row of characters.
    fn characters(&self, path: &str, text: &str) -> Result<Dataset> {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        if units.is_empty() {
            return self.empty(path, &[0, 0], "char");
        }
        let (datatype, shape) = (Type::integer(2, false)?, [units.len() as u64 / 2, 1]);
        let dataset = self.file.dataset(path, &datatype, &shape, &Storage::default())?;
        // SAFETY: a type without places in memory.
        unsafe { dataset.write(&datatype, &[0, 0], &shape, &units)? };
        described(&dataset, "char")?;
        Ok(dataset)
    }

    /// What refers to a text; it is written where it is not there yet.
    fn text(&mut self, text: &str) -> Result<Reference> {
        if let Some(known) = self.known.get(text) {
            return Ok(*known);
        }
        let path = format!("{REFERRED}/t{}", self.count);
        self.count += 1;
        self.characters(&path, text)?;
        let reference = self.file.reference(&path)?;
        if self.known.len() < KNOWN.0 && self.bytes + text.len() <= KNOWN.1 {
            self.bytes += text.len();
            self.known.insert(text.to_owned(), reference);
        }
        Ok(reference)
    }

    fn references(&mut self, texts: &[String]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(texts.len() * size_of::<Reference>());
        for text in texts {
            out.extend(self.text(text)?.to_ne_bytes());
        }
        Ok(out)
    }

    /// A dataset of cells.
    fn cell_dataset(&self, path: &str, sides: &[u64]) -> Result<(Dataset, Type)> {
        self.file.group(REFERRED)?;
        let datatype = Type::reference()?;
        let storage = by_library(self.settings.storage(sides, 8, ROWS * 16)?);
        let dataset = self.file.dataset(path, &datatype, sides, &storage)?;
        mark(&dataset, "cell")?;
        Ok((dataset, datatype))
    }

    /// Texts as cells of characters.
    fn cells(&mut self, task: &Task, kept: &Kept, is_column: bool) -> Result<Dataset> {
        let shape = &kept.source.shape;
        let sides = self.sides(shape, is_column);
        let (dataset, datatype) = self.cell_dataset(&kept.path, &sides)?;
        for region in pieces(shape, ROWS * 4) {
            task.check()?;
            let texts = texts(&kept.source.values.cells(task, &region)?, self.settings.fill)?;
            let bytes = self.references(&texts)?;
            let (start, count) = match shape.len() {
                1 => self.line(is_column, region.start(), region.shape()),
                _ => {
                    let turned = |list: Vec<u64>| list.into_iter().rev().collect::<Vec<_>>();
                    (turned(region.start()), turned(region.shape()))
                }
            };
            let axes: Vec<usize> = (0..count.len()).rev().collect();
            let size = size_of::<Reference>();
            let moved = strides::to_c_order(&count, &axes, size as u64).filter(|_| shape.len() > 1);
            let bytes = match moved {
                Some(axes) => {
                    let mut out = vec![0; bytes.len()];
                    strides::copy(&bytes, &mut out, &axes, size);
                    out
                }
                None => bytes,
            };
            // SAFETY: a reference is a number, no place in memory.
            unsafe { dataset.write(&datatype, &start, &count, &bytes)? };
        }
        Ok(dataset)
    }

    /// A part of one dimension in the two of the file.
    fn line(&self, is_column: bool, start: Vec<u64>, count: Vec<u64>) -> (Vec<u64>, Vec<u64>) {
        let (at, len) = (start.first().copied().unwrap_or(0), count.first().copied().unwrap_or(0));
        match self.is_row && !is_column {
            true => (vec![at, 0], vec![len, 1]),
            false => (vec![0, at], vec![1, len]),
        }
    }

    /// The columns of a table, written side by side.
    fn columns(&mut self, task: &Task, table: &dyn Table, variables: &[Kept]) -> Result<()> {
        let mut datasets = Vec::new();
        for kept in variables {
            let mut shape = kept.source.shape.clone();
            if let Stored::Number(number) = &kept.stored {
                shape.extend(number.inner);
            }
            let sides = self.sides(&shape, true);
            let made = match &kept.stored {
                Stored::Number(number) if sides.contains(&0) => {
                    (self.empty(&kept.path, &sides, class(&kept.source.dtype, number))?, None)
                }
                Stored::Number(number) => {
                    let datatype = datatype(&number.dtype)?;
                    let storage = by_library(self.settings.storage(&sides, number.dtype.size(), AUTO)?);
                    let dataset = self.file.dataset(&kept.path, &datatype, &sides, &storage)?;
                    described(&dataset, class(&kept.source.dtype, number))?;
                    (dataset, Some(datatype))
                }
                _ if sides.contains(&0) => (self.empty(&kept.path, &sides, "cell")?, None),
                _ => {
                    let (dataset, datatype) = self.cell_dataset(&kept.path, &sides)?;
                    (dataset, Some(datatype))
                }
            };
            unit(&made.0, kept)?;
            datasets.push((made, sides));
        }
        let fill = self.settings.fill;
        let encode = |batch: RecordBatch| -> Result<(u64, Vec<Cells>)> {
            let all = variables.iter().map(|kept| encoded(&batch, kept, fill)).collect::<Result<_>>()?;
            Ok((batch.num_rows() as u64, all))
        };
        let mut at = 0u64;
        let made = &mut *self;
        scan(task, table, encode, |(count, parts)| {
            for (part, ((dataset, datatype), sides)) in parts.into_iter().zip(&datasets) {
                let Some(datatype) = datatype else { continue };
                let (mut start, mut part_sides) = (vec![0; sides.len()], sides.clone());
                if let (Some(start), Some(side)) = (start.last_mut(), part_sides.last_mut()) {
                    (*start, *side) = (at, count);
                }
                let bytes = match part {
                    Cells::Texts(texts) => made.references(&texts)?,
                    Cells::Numbers(bytes) => turned(bytes, &part_sides, datatype.size()),
                };
                // SAFETY: numbers and references, no places in memory.
                unsafe { dataset.write(datatype, &start, &part_sides, &bytes)? };
            }
            at += count;
            Ok(())
        })?;
        Ok(())
    }
}

/// The cells of a column on their way.
enum Cells {
    Numbers(Vec<u8>),
    Texts(Vec<String>),
}

fn encoded(batch: &RecordBatch, kept: &Kept, fill: bool) -> Result<Cells> {
    let Values::Column(n) = kept.source.values else { return Err(Error::bug("no column")) };
    let column = batch.columns().get(n).ok_or_else(|| Error::bug("a column that is not there"))?;
    let column = plain(column)?;
    let made = match &kept.stored {
        Stored::Number(number) => {
            numbers(&column, &kept.source.dtype, number, &Nulls::plain(fill)).map(Cells::Numbers)
        }
        _ => texts(&column, fill).map(Cells::Texts),
    };
    made.map_err(|e| e.in_node(&format!("column {:?}", kept.source.part)))
}

/// Rows of cells of several numbers with the last dimension first: `sides` are those of the file.
fn turned(bytes: Vec<u8>, sides: &[u64], size: usize) -> Vec<u8> {
    let axes: Vec<usize> = (0..sides.len()).rev().collect();
    match strides::to_c_order(sides, &axes, size as u64) {
        Some(axes) => {
            let mut out = vec![0; bytes.len()];
            strides::copy(&bytes, &mut out, &axes, size);
            out
        }
        None => bytes,
    }
}

/// The type of MATLAB's numbers: complex ones have members of its own names.
fn datatype(dtype: &DType) -> Result<Type> {
    let part = match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => return types::of(other)?.ok_or_else(|| Error::bug("a class of MATLAB that HDF5 has not")),
    };
    let (size, one) = (part.size() as usize, || types::of(&part)?.ok_or_else(|| Error::bug("a float")));
    Type::record(2 * size, &[("real".to_owned(), 0, one()?), ("imag".to_owned(), size, one()?)])
}

/// Says the class of a dataset.
fn described(dataset: &Dataset, class: &str) -> Result<()> {
    mark(dataset, class)?;
    match class {
        "logical" => decode(dataset, 1),
        "char" => decode(dataset, 2),
        _ => Ok(()),
    }
}

/// The unit of counts of time, for readers that look.
fn unit(dataset: &Dataset, kept: &Kept) -> Result<()> {
    let (DType::DateTime(unit) | DType::TimeDelta(unit)) = &kept.source.dtype else { return Ok(()) };
    let is_date = matches!(kept.source.dtype, DType::DateTime(_));
    let word = kept_types::unit(*unit, is_date).filter(|_| unit.base != TimeBase::Generic);
    let Some(word) = word.filter(|_| kept.source.attributes.get("units").is_none()) else { return Ok(()) };
    let text = if is_date { format!("{word} since 1970-01-01") } else { word.to_owned() };
    let own = Attributes::from(vec![("units".to_owned(), Value::Text(text))]);
    attributes::write(dataset, &own, &DType::I64)
}

/// An array of no or one dimension with the two that MATLAB has at least.
struct Flat {
    inner: Arc<dyn Array>,
    shape: Vec<u64>,
}

impl Array for Flat {
    fn dtype(&self) -> &DType {
        self.inner.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let spans = region.0.iter().zip(&self.shape);
        let inner = match self.inner.shape() {
            [] => Vec::new(),
            // The other side is one element long.
            [len] => spans.filter(|(_, side)| **side == *len).map(|(span, _)| *span).take(1).collect(),
            _ => return Err(Error::bug("an array of several dimensions as one of one")),
        };
        self.inner.read(task, &Region(inner), out)
    }
}
