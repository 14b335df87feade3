//! Any content to any writer that accepts its kind.
//!
//! A conversion is planned first — what it would write, what it would lose — and then run: streamed into
//! a temporary file that takes the target's name at the end, whole or not at all, never over a source, and
//! over another file only by consent.
//!
//! ```text
//! nodes ─ gather ─▶ items ─ plan(target, options, selection) ─▶ Plan: losses, outline, size
//!                                                                │ run(task, path, consent)
//!                                                                ▼ Done: bytes, notes
//! ```

use crate::adapt::{
    ArrayImage, ArrayTable, ArrayView, Columns, ImageArray, Misfit, NullRule, TableArray, TableView, Typed,
    arrow_of, column_dtype, is_json, is_picture,
};
use crate::content::{Array, Content, Kind, Table};
use crate::display;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Data, Loss, OptionSpec, Options, Payload, Writer};
use crate::formats::FORMATS;
use crate::node::{Node, Value};
use crate::output::Output;
use crate::task::Task;
use crate::write::{self, array_bytes, loss, note};
use crate::{limits, open, output, sniff};
use arrow::datatypes::DataType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A file type that can be written: a writer and what is set for it from the start.
pub struct Target {
    /// The short name on the command line.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// File name endings that mean it, the usual one first.
    pub extensions: &'static [&'static str],
    /// The writer.
    pub writer: &'static Writer,
    /// Options that this type has set.
    pub presets: &'static [(&'static str, &'static str)],
    /// Whether the result is a folder of files, which takes what the writer would put into a ZIP archive.
    pub folder: bool,
}

/// Every file type that can be written.
pub static TARGETS: &[Target] = &[
    target("parquet", "Parquet", &["parquet", "pq"], &write::parquet::WRITER, &[]),
    target("arrow", "Arrow IPC file", &["arrow", "feather", "ipc"], &write::arrow::WRITER, &[]),
    target(
        "arrow-stream",
        "Arrow IPC stream",
        &["arrows"],
        &write::arrow::WRITER,
        &[("container", "stream")],
    ),
    target("csv", "CSV", &["csv"], &write::csv::WRITER, &[]),
    target("tsv", "TSV", &["tsv", "tab"], &write::csv::WRITER, &[("delimiter", "tab")]),
    target("jsonl", "JSON Lines", &["jsonl", "ndjson"], &write::jsonl::WRITER, &[]),
    target("json", "JSON", &["json"], &write::jsonl::ARRAY, &[]),
    target("npy", "NumPy array", &["npy"], &write::npy::WRITER, &[]),
    target("hdf5", "HDF5", &["h5", "hdf5"], &write::hdf5::WRITER, &[]),
    target("npz", "NumPy archive", &["npz"], &write::npz::WRITER, &[]),
    target("safetensors", "safetensors", &["safetensors"], &write::safetensors::WRITER, &[]),
    Target { folder: true, ..target("zarr", "Zarr", &["zarr"], &write::zarr::WRITER, &[]) },
    target("zarr-zip", "Zarr in a ZIP archive", &["zarr.zip"], &write::zarr::WRITER, &[]),
    target("png", "PNG", &["png"], &write::png::WRITER, &[]),
    target("raw", "Raw bytes", &["bin", "raw", "dat"], &write::raw::WRITER, &[]),
];

const fn target(
    id: &'static str,
    name: &'static str,
    extensions: &'static [&'static str],
    writer: &'static Writer,
    presets: &'static [(&'static str, &'static str)],
) -> Target {
    Target { id, name, extensions, writer, presets, folder: false }
}

impl Target {
    /// The target of this id.
    pub fn by_id(id: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.id == id)
    }

    /// The target that a file name means.
    pub fn of_path(path: &Path) -> Option<&'static Target> {
        let name = path.file_name()?.to_str()?;
        TARGETS.iter().find(|target| sniff::has_extension(name, target.extensions))
    }

    /// Its options, in the order of a dialog.
    pub fn options(&self) -> &'static [OptionSpec] {
        self.writer.options
    }

    /// What an option holds if nobody sets it.
    pub fn default_of(&self, spec: &OptionSpec) -> &'static str {
        self.presets.iter().find(|(name, _)| *name == spec.name).map_or(spec.default, |(_, value)| value)
    }

    /// The kinds of content that it takes, those among them that are adapted first.
    pub fn takes(&self) -> Vec<Kind> {
        let accepts = |kind: Kind| self.writer.accepts.contains(&kind);
        let all = [Kind::Table, Kind::Array, Kind::Image, Kind::Text, Kind::Bytes];
        let fits = |kind: &Kind| match kind {
            Kind::Table => accepts(Kind::Table) || accepts(Kind::Array) && !accepts(Kind::Bytes),
            Kind::Array => accepts(Kind::Array) || accepts(Kind::Table) || accepts(Kind::Image),
            Kind::Image => accepts(Kind::Image) || accepts(Kind::Array),
            Kind::Text | Kind::Bytes => accepts(Kind::Bytes),
            Kind::Group => false,
        };
        all.into_iter().filter(fits).collect()
    }

    /// Whether the writer has these options, and those of their values that it lists.
    ///
    /// # Errors
    /// `Unsupported`, with what it has.
    pub fn check(&self, options: &Options) -> Result<()> {
        self.settled(options).map(drop)
    }

    /// `options` with the presets; an error for a name or value that the writer has not.
    fn settled(&self, options: &Options) -> Result<Options> {
        let mut all = options.clone();
        for (name, value) in self.presets {
            if all.get(name).is_none() {
                all.set(name, *value);
            }
        }
        for name in all.0.keys() {
            let Some(spec) = self.options().iter().find(|spec| spec.name == name) else {
                let names: Vec<&str> = self.options().iter().map(|spec| spec.name).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let what = format!("{name}: {} has no option of this name; it has {has}", self.name);
                return Err(Error::unsupported(what));
            };
            all.choice(spec)?;
        }
        Ok(all)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.id)
    }
}

/// One thing to convert.
#[derive(Clone)]
pub struct Item {
    /// What it is called in a file of several (an array's name, a tensor's path).
    pub name: String,
    /// The content.
    pub content: Content,
    /// Its metadata.
    pub attributes: Vec<(String, Value)>,
}

/// What the node at `path` of its document gives to convert: its content, or everything that has content
/// below it, with names relative to it.
///
/// # Errors
/// The node's problem if it has no content; `Unsupported` for an empty group.
pub fn gather(task: &Task, node: &Arc<Node>, path: &str) -> Result<Vec<Item>> {
    let node = node.resolved(task)?;
    if let Some(content) = &node.content {
        // A whole file is called by its stem, a node by its path.
        let name = match path.trim_start_matches('/') {
            "" => node.name.rsplit_once('.').map_or(node.name.as_str(), |(stem, _)| stem),
            path => path,
        };
        return Ok(vec![Item {
            name: name.to_owned(),
            content: content.clone(),
            attributes: own_attributes(&node),
        }]);
    }
    let mut items: Vec<Item> = Vec::new();
    open::walk_all(task, &node, "", limits::DEPTH, &mut |below, path, _| {
        if let Some(problem) = below.problem.as_ref().filter(|_| below.content.is_none()) {
            return Err(problem.clone().in_node(path));
        }
        if let Some(content) = &below.content {
            let name = path.strip_prefix(node.separator).unwrap_or(path).to_owned();
            items.push(Item { name, content: content.clone(), attributes: own_attributes(below) });
        }
        // A tensor may have tensors below it; the parts of a table or a picture are its own.
        let whole = !matches!(below.content, None | Some(Content::Array(_)));
        // Said before a million files are opened for nothing.
        if !whole && below.child_count().is_some_and(|count| count > limits::WALKED) {
            let most = display::count(limits::WALKED);
            return Err(Error::limit(format!("{path:?} has more than {most} parts; name one of them")));
        }
        Ok(!whole)
    })?;
    if items.is_empty() {
        return Err(node
            .problem
            .clone()
            .unwrap_or_else(|| Error::unsupported("there is nothing in it to convert")));
    }
    // The metadata of a whole go with its parts; those of one part of several get its name in front.
    let several = items.len() > 1;
    let mut all = own_attributes(&node);
    for item in &mut items {
        for (name, value) in std::mem::take(&mut item.attributes) {
            all.push((if several { format!("{}.{name}", item.name) } else { name }, value));
        }
    }
    if let Some(first) = items.first_mut() {
        first.attributes = all;
    }
    Ok(items)
}

/// A node's attributes without the word that opening a nested file adds: which format it is.
fn own_attributes(node: &Node) -> Vec<(String, Value)> {
    let added = |name: &str, value: &Value| {
        name == "format" && matches!(value, Value::Text(text) if FORMATS.iter().any(|f| f.name == text))
    };
    node.attributes.iter().filter(|(name, value)| !added(name, value)).cloned().collect()
}

/// Which part of the items is converted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Rows of a table.
    pub rows: Option<Range<u64>>,
    /// Columns of a table, by name, in this order.
    pub columns: Option<Vec<String>>,
    /// Elements of an array or a picture, in NumPy's notation.
    pub slice: Option<String>,
}

/// What the user agrees to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consent {
    /// Replacing a file that is there.
    pub overwrite: bool,
    /// Losing what the plan names as serious losses.
    pub lose: bool,
}

/// A conversion before it is run.
pub struct Plan {
    items: Vec<Item>,
    target: &'static Target,
    options: Options,
    nulls: NullRule,
    /// What would change or get lost.
    pub losses: Vec<Loss>,
    /// What would be written: names and types of columns or arrays.
    pub outline: Vec<(String, String)>,
    /// Rows of a table, as far as is known.
    pub rows: Option<crate::content::Rows>,
    /// Bytes of the data before compression, where that is known without reading.
    pub bytes: Option<u64>,
}

/// What a conversion wrote.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Bytes of the file.
    pub bytes: u64,
    /// What came up while it was written (columns that became text).
    pub notes: Vec<Loss>,
}

/// The targets to which these items can be written, in the order of [`TARGETS`].
pub fn targets(items: &[Item]) -> Vec<&'static Target> {
    TARGETS
        .iter()
        .filter(|target| plan(items, target, &Options::default(), &Selection::default()).is_ok())
        .collect()
}

/// Plans a conversion; looks at types and names only and reads nothing.
///
/// # Errors
/// `Unsupported` where the target cannot take the items, and for options and selections that do not fit.
pub fn plan(
    items: &[Item],
    target: &'static Target,
    options: &Options,
    selection: &Selection,
) -> Result<Plan> {
    let options = target.settled(options)?;
    let items = items.iter().map(|item| select(item, selection)).collect::<Result<Vec<_>>>()?;
    let mut plan = Plan {
        items,
        target,
        options,
        nulls: NullRule::default(),
        losses: Vec::new(),
        outline: Vec::new(),
        rows: None,
        bytes: None,
    };
    let built = plan.build(None, &BTreeMap::new())?;
    plan.losses = built.losses;
    match &built.payload.data {
        Data::Table(table) => {
            let fields = table.schema().fields();
            plan.outline = fields.iter().map(|f| (f.name().clone(), display::column_type(f))).collect();
            plan.rows = Some(table.rows());
        }
        Data::Arrays(arrays) => {
            let line =
                |array: &Arc<dyn Array>| format!("{} {}", array.dtype(), display::shape(array.shape()));
            plan.outline = arrays.iter().map(|(name, array)| (name.clone(), line(array))).collect();
            plan.bytes = arrays.iter().map(|(_, array)| array_bytes(array.as_ref()).ok()).sum();
        }
        Data::Image(image) => {
            let info = image.info();
            let size = format!("{} × {}, {} channels", info.width, info.height, info.channels);
            plan.outline = vec![("image".to_owned(), size)];
        }
        Data::Bytes(source) => {
            plan.outline = vec![("bytes".to_owned(), source.name().to_owned())];
            plan.bytes = source.known_len();
        }
    }
    Ok(plan)
}

/// The part of an item that was selected.
fn select(item: &Item, selection: &Selection) -> Result<Item> {
    let no = |option: &str, kind: Kind| {
        Err(Error::unsupported(format!("--{option} does not go with {} ({})", kind.word(), item.name)))
    };
    let kind = item.content.kind();
    if kind != Kind::Table && (selection.rows.is_some() || selection.columns.is_some()) {
        return no(if selection.rows.is_some() { "rows" } else { "columns" }, kind);
    }
    let content = match (&item.content, &selection.slice) {
        (Content::Table(table), None) => {
            let fields = table.schema().fields();
            let columns = match &selection.columns {
                None => (0..fields.len()).collect(),
                Some(names) => {
                    names.iter().map(|name| column(table.as_ref(), name)).collect::<Result<Vec<_>>>()?
                }
            };
            let rows = selection.rows.clone().unwrap_or(0..u64::MAX);
            if selection.rows.is_none() && selection.columns.is_none() {
                item.content.clone()
            } else {
                Content::Table(Arc::new(TableView::new(table.clone(), rows, columns)?))
            }
        }
        (other, None) => other.clone(),
        (Content::Array(array), Some(slice)) => {
            Content::Array(Arc::new(ArrayView::parse(array.clone(), slice)?))
        }
        (Content::Image(image), Some(slice)) => {
            let array = Arc::new(ImageArray::new(image.clone()));
            Content::Array(Arc::new(ArrayView::parse(array, slice)?))
        }
        (_, Some(_)) => return no("slice", kind),
    };
    Ok(Item { content, ..item.clone() })
}

fn column(table: &dyn Table, name: &str) -> Result<usize> {
    let found = table.schema().fields().iter().position(|field| field.name() == name);
    found.ok_or_else(|| Error::unsupported(format!("there is no column {name:?}")))
}

/// What is given to the writer, and what is lost on the way to it.
struct Built {
    payload: Payload,
    losses: Vec<Loss>,
    typed: Option<Arc<Typed>>,
}

impl Plan {
    /// Whether values would be lost, which wants consent.
    pub fn is_lossy(&self) -> bool {
        self.losses.iter().any(|loss| loss.serious)
    }

    /// The payload. With a task, rows are counted where that is needed; without one an estimate does.
    fn build(&self, task: Option<&Task>, widened: &BTreeMap<usize, Misfit>) -> Result<Built> {
        let mut losses = Vec::new();
        let mut typed = None;
        let mut attributes = Vec::new();
        let accepts = self.target.writer.accepts;
        let mut arrays = Vec::new();
        let mut data = None;
        for item in &self.items {
            attributes.extend(item.attributes.iter().cloned());
            let content = match &item.content {
                Content::Table(table) if !self.target.writer.texts && Typed::applies(table.as_ref()) => {
                    // Only one table is ever widened: several go to arrays, where text has no place.
                    let all = Arc::new(Typed::new(table.clone(), widened));
                    self.typed_notes(table.as_ref(), all.as_ref(), &mut losses);
                    typed = Some(all.clone());
                    Content::Table(all)
                }
                other => other.clone(),
            };
            let adapted = match self.adapted(task, &item.name, content, &mut losses) {
                // One thing that does not fit never hides its neighbours.
                Err(error) if self.items.len() > 1 && error.kind() == ErrorKind::Unsupported => {
                    losses.push(loss(&item.name, format!("it is left out: {}", error.message())));
                    continue;
                }
                adapted => adapted?,
            };
            match adapted {
                Data::Arrays(more) => arrays.extend(more),
                other if data.is_none() && self.items.len() == 1 => data = Some(other),
                _ => return Err(self.no_several()),
            }
        }
        if arrays.len() > 1 && !self.target.writer.many {
            return Err(self.no_several());
        }
        if self.items.len() > 1 && typed.is_some() {
            typed = None;
        }
        let data = match data {
            Some(data) => data,
            None if arrays.is_empty() => return Err(Error::unsupported("nothing is left to write")),
            None => Data::Arrays(arrays),
        };
        if !accepts.contains(&data.kind()) {
            return Err(Error::unsupported(format!(
                "{} cannot hold a {}",
                self.target.name,
                data.kind().word()
            )));
        }
        let payload = Payload { data, attributes };
        losses.extend((self.target.writer.losses)(&payload, &self.options));
        Ok(Built { payload, losses, typed })
    }

    fn no_several(&self) -> Error {
        let many: Vec<&str> = TARGETS.iter().filter(|t| t.writer.many).map(|t| t.id).collect();
        let what = format!(
            "{} holds one thing, several were given; {} hold several",
            self.target.name,
            many.join(" and ")
        );
        Error::unsupported(what)
    }

    /// One content as something that the writer accepts.
    fn adapted(
        &self,
        task: Option<&Task>,
        name: &str,
        content: Content,
        losses: &mut Vec<Loss>,
    ) -> Result<Data> {
        let accepts = |kind: Kind| self.target.writer.accepts.contains(&kind);
        let one = |array: Arc<dyn Array>| Data::Arrays(vec![(name.to_owned(), array)]);
        Ok(match content {
            // Several things in one file: each table is an array of records.
            Content::Table(table)
                if accepts(Kind::Table)
                    && accepts(Kind::Array)
                    && self.target.writer.many
                    && self.items.len() > 1 =>
            {
                let rows = match task {
                    Some(task) => table.count(task)?,
                    None => table.rows().number(),
                };
                one(Arc::new(TableArray::new(table, rows)))
            }
            Content::Table(table) if accepts(Kind::Table) => Data::Table(table),
            Content::Table(table) if accepts(Kind::Array) && !accepts(Kind::Bytes) => {
                let rows = match task {
                    Some(task) => table.count(task)?,
                    None => table.rows().number(),
                };
                Data::Arrays(self.columns(name, table, rows, losses)?)
            }
            Content::Array(array) if accepts(Kind::Array) => one(array),
            Content::Array(array) if accepts(Kind::Image) => {
                if !is_picture(array.dtype(), array.shape()) && array.shape().first() == Some(&1) {
                    // A picture that lies alone in a batch.
                    let first = ArrayView::parse(array, "0")?;
                    return Ok(Data::Image(Arc::new(ArrayImage::new(Arc::new(first))?)));
                }
                Data::Image(Arc::new(ArrayImage::new(array)?))
            }
            Content::Array(array) if accepts(Kind::Table) => {
                if let Some((_, Some(what))) = arrow_of(array.dtype()) {
                    losses.push(note(name, what));
                }
                if let Some(record) = array.dtype().record() {
                    for field in &record.fields {
                        let what = arrow_of(&field.dtype).and_then(|(_, what)| what);
                        losses.extend(what.map(|what| note(&field.name, what)));
                    }
                }
                Data::Table(Arc::new(ArrayTable::new(name, array)?))
            }
            Content::Image(image) if accepts(Kind::Image) => Data::Image(image),
            Content::Image(image) if accepts(Kind::Array) => one(Arc::new(ImageArray::new(image))),
            Content::Text(text) if accepts(Kind::Bytes) => Data::Bytes(text.source().clone()),
            Content::Bytes(source) if accepts(Kind::Bytes) => Data::Bytes(source),
            other => {
                let kind = other.kind().word();
                return Err(Error::unsupported(format!(
                    "{} cannot hold a {kind} ({name})",
                    self.target.name
                )));
            }
        })
    }

    /// The columns of a table as one array, or each as its own where the target holds several.
    fn columns(
        &self,
        name: &str,
        table: Arc<dyn Table>,
        rows: u64,
        losses: &mut Vec<Loss>,
    ) -> Result<Vec<(String, Arc<dyn Array>)>> {
        let mut kept = Vec::new();
        let all = table.schema().clone();
        for (index, field) in all.fields().iter().enumerate() {
            let word = display::arrow_type(field.data_type());
            if column_dtype(field.data_type()).is_none() {
                losses
                    .push(loss(field.name(), format!("an array cannot hold {word}: the column is left out")));
                continue;
            }
            kept.push(index);
            match table.statistics(index).and_then(|s| s.nulls) {
                Some(0) => {}
                Some(nulls) => {
                    losses.push(loss(
                        field.name(),
                        format!("its {nulls} null cells become NaN, not-a-time or zero"),
                    ));
                }
                None if field.is_nullable() => {
                    losses.push(note(field.name(), "a null cell, if there is one, stops the conversion"));
                }
                None => {}
            }
            if matches!(field.data_type(), DataType::Timestamp(_, Some(_))) {
                losses.push(note(field.name(), "times are kept in UTC, without their zone"));
            }
        }
        if kept.is_empty() {
            return Err(Error::unsupported("none of the columns has values of a fixed size"));
        }
        let view = |columns: Vec<usize>| -> Result<Arc<dyn Table>> {
            Ok(Arc::new(TableView::new(table.clone(), 0..u64::MAX, columns)?))
        };
        if self.target.writer.many {
            let each = kept.into_iter().map(|index| {
                let column = Columns::new(view(vec![index])?, rows, false, self.nulls.clone())?;
                let own = all.field(index).name().clone();
                let name = if self.items.len() > 1 { format!("{name}.{own}") } else { own };
                Ok((name, Arc::new(column) as Arc<dyn Array>))
            });
            return each.collect();
        }
        let records = self.options.get(write::npy::LAYOUT.name) == Some("records");
        let together = Columns::new(view(kept)?, rows, records, self.nulls.clone())?;
        if together.dtype().record().is_none() {
            losses.push(note("", "the names of the columns are not kept (layout=records keeps them)"));
        }
        Ok(vec![(name.to_owned(), Arc::new(together))])
    }

    /// Writes the file: whole and under its name, or not at all.
    ///
    /// # Errors
    /// Those of reading and writing; `Unsupported` where values would be lost without consent; `Io` where
    /// the file exists and replacing it was not agreed to, or is a source.
    pub fn run(&self, task: &Task, path: &Path, consent: Consent) -> Result<Done> {
        refuse(&self.losses, consent)?;
        // These two write the data as they are, so what is needed is known.
        if let Some(bytes) = self.bytes.filter(|_| matches!(self.target.id, "npy" | "raw")) {
            output::check_space(path, bytes)?;
        }
        self.nulls.fill(consent.lose);
        let mut output = Out::create(self.target, path, consent.overwrite)?;
        let mut widened = BTreeMap::new();
        let mut notes;
        loop {
            let built = self.build(Some(task), &widened)?;
            notes = self.notes(&widened);
            let now: Vec<Loss> =
                built.losses.into_iter().filter(|loss| !self.losses.contains(loss)).collect();
            refuse(&now, consent)?;
            let write = || output.write(self.target, task, &built.payload, &self.options);
            let error = match open::guarded(write) {
                Ok(()) => break,
                Err(error) => error,
            };
            match built.typed.filter(|typed| !typed.misfits().is_empty() && !error.is_cancelled()) {
                Some(_) => widened = self.settle(task, widened)?,
                None => return Err(error),
            }
            output.restart()?;
        }
        task.say("writing to the disk");
        Ok(Done { bytes: output.commit()?, notes })
    }

    /// Reads everything until no cell is found that does not fit its column's type.
    fn settle(&self, task: &Task, mut widened: BTreeMap<usize, Misfit>) -> Result<BTreeMap<usize, Misfit>> {
        loop {
            task.say("checking the types of all cells");
            let Some(typed) = self.build(Some(task), &widened)?.typed else { return Ok(widened) };
            typed.try_all(task)?;
            let found = typed.misfits();
            if found.is_empty() {
                task.say("");
                return Ok(widened);
            }
            widened.extend(found);
        }
    }

    /// What is said of text columns that are read as types.
    fn typed_notes(&self, texts: &dyn Table, typed: &dyn Table, losses: &mut Vec<Loss>) {
        let mut any = false;
        for (text, field) in texts.schema().fields().iter().zip(typed.schema().fields()) {
            any |= text.data_type() != field.data_type();
            if matches!(field.data_type(), DataType::Timestamp(_, Some(_))) {
                let what = "times are kept in UTC; the offsets in which they are written are not";
                losses.push(note(field.name(), what));
            }
            if is_json(field) && !matches!(self.target.id, "jsonl" | "json") {
                losses.push(note(field.name(), "lists and objects are kept as JSON text"));
            }
        }
        if any {
            let what =
                "cells become values of the inferred types; empty cells, NA, null and None become nulls";
            losses.push(note("", what));
        }
    }

    /// What is said of columns that did not keep their inferred type.
    fn notes(&self, widened: &BTreeMap<usize, Misfit>) -> Vec<Loss> {
        let Some(Content::Table(table)) = self.items.first().map(|item| &item.content) else {
            return Vec::new();
        };
        let say = |(index, misfit): (&usize, &Misfit)| {
            let name = table.schema().fields().get(*index).map_or("", |field| field.name().as_str());
            let shown: String = misfit.cell.chars().take(40).collect();
            let wider = display::arrow_type(&misfit.wider);
            note(name, format!("the cell {shown:?} does not fit the inferred type; the column is {wider}"))
        };
        widened.iter().map(say).collect()
    }
}

/// Where a conversion writes to.
enum Out {
    File(Output),
    Folder(output::Folder),
}

impl Out {
    fn create(target: &Target, path: &Path, overwrite: bool) -> Result<Self> {
        match target.folder {
            true => output::Folder::create(path).map(Out::Folder),
            false => Output::create(path, overwrite).map(Out::File),
        }
    }

    fn write(&mut self, target: &Target, task: &Task, payload: &Payload, options: &Options) -> Result<()> {
        match self {
            Out::File(file) => (target.writer.write)(task, payload, options, file),
            Out::Folder(folder) => write::zarr::write_keys(task, payload, options, folder),
        }
    }

    fn restart(&mut self) -> Result<()> {
        match self {
            Out::File(file) => file.restart(),
            Out::Folder(folder) => folder.restart(),
        }
    }

    fn commit(self) -> Result<u64> {
        match self {
            Out::File(file) => file.commit(),
            Out::Folder(folder) => folder.commit(),
        }
    }
}

/// The refusal of serious losses without consent.
fn refuse(losses: &[Loss], consent: Consent) -> Result<()> {
    let serious: Vec<String> = losses.iter().filter(|loss| loss.serious).map(ToString::to_string).collect();
    if serious.is_empty() || consent.lose {
        return Ok(());
    }
    Err(Error::unsupported(format!("values would be lost: {}", serious.join("; "))))
}
