//! Any content to any writer that accepts its kind.
//!
//! A few cells go through [`copy`] as text instead.
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

pub mod batch;
pub mod copy;
mod destination;
mod items;
mod layout;
mod look;
mod metadata;
pub mod output;
pub mod recipe;
mod targets;
mod values;
mod verify;

use destination::Destination;
pub use items::{Around, Item, NamedFiles, Selection, gather, unread};
pub use layout::{LAYOUT, has_layouts};
pub use targets::{TARGETS, Target};
pub use values::{CAST, DTYPE, VALUES, is_choice};
pub use verify::{Check, VERIFIED};

use crate::bytes::display;
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{
    ArrayImage, ArrayTable, Columns, ImageArray, NullRule, TableArray, TableView, TextColumn, TypeMismatch,
    Typed, arrow_of, column_dtype, is_json, text_dtype,
};
use crate::data::content::{Array, Content, Image, Kind, Table};
use crate::data::format::{
    ArrayPictures, CHANNELS, Data, Loss, LossKind, Metadata, Options, Payload, Sink, WriteTo, loss, note,
    unturned,
};
use crate::data::scan::array_bytes;
use crate::engines::samples::FILES;
use arrow::datatypes::{DataType, Field};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

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
    /// Whether arrays become tables of a row an element.
    long: bool,
    nulls: NullRule,
    /// What would change or get lost.
    pub losses: Vec<Loss>,
    /// What was looked for, and is not there.
    unfounded: Vec<Loss>,
    /// What would be written: names and types of columns or arrays.
    pub outline: Vec<(String, String)>,
    /// Rows of a table, as far as is known.
    pub rows: Option<crate::data::content::Rows>,
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
    /// The columns of each item that did not keep their inferred types.
    type_overrides: Overrides,
}

/// The targets to which these items can be written, in the order of [`TARGETS`].
pub fn targets(items: &[Item]) -> Vec<&'static Target> {
    TARGETS
        .iter()
        .copied()
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
    let mut options = target.settled(options)?;
    let long = layout::is_long(target, &mut options);
    let drawn = items::drawn(items, target);
    let items = drawn.as_deref().unwrap_or(items);
    let items = items.iter().map(|item| items::select(item, selection)).collect::<Result<Vec<_>>>()?;
    values::check(&items, target, &options)?;
    layout::check(&items, long)?;
    let mut plan = Plan {
        items,
        target,
        options,
        long,
        nulls: NullRule::default(),
        losses: Vec::new(),
        unfounded: Vec::new(),
        outline: Vec::new(),
        rows: None,
        bytes: None,
    };
    let built = plan.build(None, &BTreeMap::new())?;
    plan.losses = built.losses;
    match &built.payload.data {
        Data::Table(table) => {
            plan.outline = table.described();
            plan.rows = Some(table.rows());
        }
        Data::Tables(tables) => {
            let line = |table: &Arc<dyn Table>| {
                format!("{} rows × {} columns", table.rows(), table.schema().fields().len())
            };
            plan.outline = tables.iter().map(|(name, table)| (name.clone(), line(table))).collect();
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
        Data::Graph(graph) => {
            plan.outline = vec![("graph".to_owned(), display::plural(graph.nodes().len() as u64, "node"))];
        }
        Data::Bytes(source) => {
            plan.outline = vec![("bytes".to_owned(), source.name().to_owned())];
            plan.bytes = source.known_len();
        }
    }
    Ok(plan)
}

/// What is given to the writer, and what is lost on the way to it.
struct Built {
    payload: Payload,
    losses: Vec<Loss>,
    /// Tables of which text columns are read as types, by the place of their item.
    typed: BTreeMap<usize, Arc<Typed>>,
}

/// The columns of each item that are read as other types than were inferred.
type Overrides = BTreeMap<usize, BTreeMap<usize, TypeMismatch>>;

/// The most columns of several tables together: of each something may have to be said.
const COLUMNS: usize = 100_000;

/// The names of things that are told where there are too many.
const NAMED: usize = 4;

/// What the items become, before it is one payload.
#[derive(Default)]
struct Parts {
    tables: Vec<(String, Arc<dyn Table>)>,
    /// Columns of all of them.
    columns: usize,
    arrays: Vec<(String, Arc<dyn Array>)>,
    /// Arrays that become long tables, several of them one.
    long: Vec<(String, Arc<dyn Array>)>,
    /// A picture or bytes, which stand alone.
    other: Option<Data>,
    /// The items that are not left out.
    written: Vec<Item>,
    typed: BTreeMap<usize, Arc<Typed>>,
}

impl Plan {
    /// Whether values would be lost, which wants consent.
    pub fn is_lossy(&self) -> bool {
        self.losses.iter().any(|loss| loss.serious)
    }

    /// The payload. With a task, rows are counted where that is needed; without one an estimate does.
    fn build(&self, task: Option<&Task>, overrides: &Overrides) -> Result<Built> {
        let mut losses = Vec::new();
        let mut parts = Parts::default();
        let none = BTreeMap::new();
        let items = self.items.iter().enumerate();
        for (n, item) in items.filter(|(_, item)| !self.is_attribute(item)) {
            self.add(task, n, item, overrides.get(&n).unwrap_or(&none), &mut parts, &mut losses)?;
        }
        let mut written = std::mem::take(&mut parts.written);
        let mut typed = std::mem::take(&mut parts.typed);
        let data = self.together(parts, &mut losses)?;
        // Only tables are given other types: what becomes arrays has no place for text.
        if self.items.len() > 1 && matches!(data, Data::Arrays(_)) {
            typed.clear();
        }
        if !self.accepts(data.kind()) {
            return Err(Error::unsupported(format!(
                "{} cannot hold a {}",
                self.target.name,
                data.kind().word()
            )));
        }
        let is_one = self.is_one(&data, &written);
        let gone = self.left_out(&data);
        written.retain(|item| !gone.contains(&item.name));
        metadata::around(&self.items, self.target, is_one, &mut losses);
        metadata::scales(&written, self.target, self.long, &mut losses);
        let metadata::AttributesByNode { whole, parts } =
            metadata::placed((&self.items, &written), self.target, is_one, &mut losses);
        losses.retain(|loss| !metadata::is_of_any(loss, &gone));
        let framework = self.items.first().and_then(|item| item.around.framework);
        let payload = Payload { data, attributes: whole, parts, framework };
        (self.target.writer.check)(&payload)?;
        losses.extend((self.target.writer.losses)(&payload, &self.options));
        Ok(Built { payload, losses, typed })
    }

    /// Whether what is written has no name of its own. The columns of a table have no attributes; those of the table are
    /// those of the whole.
    fn is_one(&self, data: &Data, written: &[Item]) -> bool {
        match data {
            Data::Arrays(arrays) => {
                matches!(written, [only] if arrays.iter().all(|(name, _)| *name != only.name))
                    || !self.target.writer.many && self.target.writer.metadata != Metadata::Tree
            }
            Data::Tables(_) => false,
            Data::Table(_) | Data::Image(_) | Data::Graph(_) | Data::Bytes(_) => true,
        }
    }

    /// Whether an item is an attribute of what it lies in, and is written as such.
    fn is_attribute(&self, item: &Item) -> bool {
        let is_kept = self.target.writer.metadata == Metadata::Values && !item.around.groups.is_empty();
        item.shows_attributes && is_kept
    }

    /// The names of those that the writer leaves out, of which nothing more is to be said.
    fn left_out(&self, data: &Data) -> BTreeSet<String> {
        let is_out = |loss: &Loss| loss.serious && loss.kind == LossKind::Type && loss.subject.is_empty();
        let of_values = (self.target.writer.losses)(&Payload::plain(data.clone()), &self.options);
        let gone = of_values.into_iter().filter(|loss| is_out(loss) && !loss.path.is_empty());
        gone.map(|loss| loss.path).collect()
    }

    /// Adds what an item becomes, and what that loses. `type_overrides` are those of its columns.
    fn add(
        &self,
        task: Option<&Task>,
        number: usize,
        item: &Item,
        type_overrides: &BTreeMap<usize, TypeMismatch>,
        parts: &mut Parts,
        losses: &mut Vec<Loss>,
    ) -> Result<()> {
        if let Some(problem) = &item.problem {
            let what = format!("not all of it can be read: {}", problem.message());
            let name = if self.items.len() > 1 { item.name.as_str() } else { "" };
            losses.push(loss(LossKind::Missing, what).at(name));
        }
        let mut chosen = values::chosen(item, self.target, &self.options, losses);
        let content = match self.with_files(&chosen, losses) {
            Content::Array(array) if self.long => {
                parts.long.push((item.name.clone(), array));
                parts.written.push(chosen);
                return Ok(());
            }
            Content::Table(table) if !self.target.writer.texts && table.is_inferred() => {
                let all = Arc::new(Typed::strict(table.clone(), type_overrides));
                let first = losses.len();
                self.typed_notes(table.as_ref(), all.as_ref(), losses);
                if self.items.len() > 1 {
                    losses.iter_mut().skip(first).for_each(|loss| loss.path.clone_from(&item.name));
                }
                parts.typed.insert(number, all.clone());
                Content::Table(all)
            }
            other => other,
        };
        let several = self.items.len() > 1;
        let fits = |data: Data| {
            // A table alone is looked at together with what is around it.
            if several && matches!(data, Data::Table(_)) {
                (self.target.writer.check)(&Payload::plain(data.clone()))?;
            }
            Ok(data)
        };
        let adapted = match self.adapted(task, &item.name, content, losses).and_then(fits) {
            // One thing that does not fit never hides its neighbours.
            Err(error) if several && error.kind() == ErrorKind::Unsupported => {
                let what = format!("it is left out: {}", error.what());
                losses.push(loss(LossKind::Type, what).at(&item.name));
                parts.typed.remove(&number);
                return Ok(());
            }
            adapted => adapted?,
        };
        match adapted {
            Data::Arrays(more) => {
                parts.arrays.extend(values::cast(&mut chosen, more, &self.options, losses));
            }
            Data::Table(_) | Data::Tables(_) if several && !self.target.writer.many => {
                return Err(self.no_several());
            }
            Data::Table(table) => {
                parts.columns += table.schema().fields().len();
                if several && parts.columns > COLUMNS {
                    let most = display::count(COLUMNS as u64);
                    let what =
                        format!("these tables have more than {most} columns together; name some of them");
                    return Err(Error::unsupported(what));
                }
                parts.tables.push((item.name.clone(), table));
            }
            Data::Tables(more) => parts.tables.extend(more),
            other @ (Data::Image(_) | Data::Graph(_) | Data::Bytes(_)) if !several => {
                parts.other = Some(other);
            }
            Data::Image(_) | Data::Graph(_) | Data::Bytes(_) => return Err(self.no_several()),
        }
        parts.written.push(chosen);
        Ok(())
    }

    /// Everything as what one file holds.
    fn together(&self, parts: Parts, losses: &mut Vec<Loss>) -> Result<Data> {
        let Parts { mut tables, arrays, long, other, .. } = parts;
        let many = self.target.writer.many;
        let mut alone = self.items.len() == 1;
        if !long.is_empty() {
            let made = layout::tables(long, many, losses)?;
            // What several arrays become together is as much one table as what one of them does.
            alone |= made.len() == 1 && tables.is_empty();
            tables.extend(made);
        }
        match (tables.len(), arrays.len(), other) {
            (0, 0, Some(other)) => Ok(other),
            // A file of metadata alone, as those of a vocabulary are.
            (0, 0, None) if self.items.iter().any(|item| self.is_attribute(item)) => Ok(Data::Arrays(arrays)),
            (0, 0, None) => Err(Error::unsupported("nothing is left to write")),
            (1, 0, None) if alone => tables
                .pop()
                .map(|(_, table)| Data::Table(table))
                .ok_or_else(|| Error::bug("a table that was counted is gone")),
            (_, 0, None) if many => Ok(Data::Tables(tables)),
            (0, 1, None) => Ok(Data::Arrays(arrays)),
            (0, _, None) if many => Ok(Data::Arrays(arrays)),
            _ => Err(self.no_several()),
        }
    }

    /// A table with the files that it names, where the target takes payloads and the options do not keep the paths.
    fn with_files(&self, item: &Item, losses: &mut Vec<Loss>) -> Content {
        let takes = self.target.options().iter().any(|spec| spec.name == FILES.name);
        let embeds = takes && self.options.get(FILES.name).unwrap_or(FILES.default) == FILES.default;
        let (Content::Table(table), Some(files), true) = (&item.content, &item.files, embeds) else {
            return item.content.clone();
        };
        let Some(embedded) = files.embed(table) else { return item.content.clone() };
        for name in &files.columns {
            let what = "the files that its paths name are put in; one that is not there stops the conversion";
            losses.push(note(LossKind::Type, what).at(&item.name).of(name));
        }
        Content::Table(Arc::new(embedded))
    }

    fn no_several(&self) -> Error {
        // Those that hold the kind of the first one.
        let kind = self.items.first().map(|item| item.content.kind());
        let takes = |t: &&&Target| t.writer.many && kind.is_none_or(|kind| t.writer.accepts.contains(&kind));
        let many: Vec<&str> = TARGETS.iter().filter(takes).map(|t| t.id).collect();
        let names: Vec<&str> = self.items.iter().take(NAMED).map(|item| item.name.as_str()).collect();
        let more = if self.items.len() > NAMED { ", …" } else { "" };
        let what = format!(
            "{} holds one thing, and these are {} ({}{more}): name one of them, or write one of {}, which hold several",
            self.target.name,
            display::count(self.items.len() as u64),
            names.join(", "),
            many.join(", ")
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
        let kind = content.kind();
        let adapted = match content {
            Content::Table(table) => self.of_table(task, name, table, losses)?,
            Content::Array(array) => self.of_array(name, array, losses)?,
            Content::Image(image) => self.of_image(name, image, losses),
            Content::Text(text) => self.accepts(Kind::Bytes).then(|| Data::Bytes(text.source().clone())),
            Content::Graph(graph) if self.accepts(Kind::Graph) => Some(Data::Graph(graph)),
            Content::Graph(graph) => {
                self.of_table(task, name, crate::data::adapt::graph::nodes(&graph)?, losses)?
            }
            Content::Bytes(source) => self.accepts(Kind::Bytes).then_some(Data::Bytes(source)),
        };
        let (target, kind) = (self.target.name, kind.word());
        adapted.ok_or_else(|| Error::unsupported(format!("{target} cannot hold a {kind} ({name})")))
    }

    fn accepts(&self, kind: Kind) -> bool {
        self.target.writer.accepts.contains(&kind)
    }

    /// A table as itself, as an array of records, or its columns as arrays; `None` where the writer takes none of them.
    fn of_table(
        &self,
        task: Option<&Task>,
        name: &str,
        table: Arc<dyn Table>,
        losses: &mut Vec<Loss>,
    ) -> Result<Option<Data>> {
        let many = self.target.writer.many;
        let rows = || match task {
            Some(task) => table.count(task),
            None => Ok(table.rows().number()),
        };
        // Several things in one file: each table is an array of records.
        if self.accepts(Kind::Table) && self.accepts(Kind::Array) && many && self.items.len() > 1 {
            let rows = rows()?;
            return Ok(Some(one(name, Arc::new(TableArray::new(table, rows)))));
        }
        if self.accepts(Kind::Table) {
            return Ok(Some(Data::Table(table)));
        }
        if !self.accepts(Kind::Array) || self.accepts(Kind::Bytes) {
            return Ok(None);
        }
        let rows = rows()?;
        let becomes = if many { "each column becomes an array" } else { "the table becomes an array" };
        losses.push(note(LossKind::Type, becomes).at(name));
        Ok(Some(Data::Arrays(self.columns(name, table, rows, losses)?)))
    }

    /// An array as itself, as a picture or as a table; `None` where the writer takes none of them.
    fn of_array(&self, name: &str, array: Arc<dyn Array>, losses: &mut Vec<Loss>) -> Result<Option<Data>> {
        if self.accepts(Kind::Array) {
            return Ok(Some(one(name, array)));
        }
        if self.accepts(Kind::Image) {
            let writer = self.target.writer;
            let takes = ArrayPictures {
                frames: writer.pictures.frames || writer.write.is_folder(&self.options),
                ..writer.pictures
            };
            let channels = self.options.get(CHANNELS.name).unwrap_or(CHANNELS.default);
            let image = ArrayImage::of(array, takes, channels)?;
            let what = match image.info().frames {
                1 => "the array becomes a picture".to_owned(),
                frames => format!("the array becomes {} pictures", display::count(frames)),
            };
            losses.push(note(LossKind::Type, what).at(name));
            return Ok(Some(Data::Image(Arc::new(image))));
        }
        if !self.accepts(Kind::Table) {
            return Ok(None);
        }
        if let Some((_, Some(what))) = arrow_of(array.dtype()) {
            losses.push(note(LossKind::Type, what).at(name));
        }
        if let Some(record) = array.dtype().record() {
            for field in &record.fields {
                let what = arrow_of(&field.dtype).and_then(|(_, what)| what);
                losses.extend(what.map(|what| note(LossKind::Type, what).at(name).of(&field.name)));
            }
        }
        let what = format!("the array of shape {} becomes a table", display::shape(array.shape()));
        losses.push(note(LossKind::Type, what).at(name));
        let hint = |error: Error| match error.kind() {
            ErrorKind::Unsupported => {
                Error::unsupported(format!("{}; layout=long makes a row of each element", error.what()))
            }
            _ => error,
        };
        Ok(Some(Data::Table(Arc::new(ArrayTable::new(name, array).map_err(hint)?))))
    }

    /// A picture as itself or as an array; `None` where the writer takes neither.
    fn of_image(&self, name: &str, image: Arc<dyn Image>, losses: &mut Vec<Loss>) -> Option<Data> {
        if self.accepts(Kind::Image) {
            return Some(Data::Image(image));
        }
        self.accepts(Kind::Array).then(|| {
            losses.push(note(LossKind::Type, "the picture becomes an array of samples").at(name));
            losses.extend(unturned(image.info()).map(|loss| loss.at(name)));
            one(name, Arc::new(ImageArray::new(image)))
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
        let is_text = |data_type: &DataType| self.target.writer.variable && text_dtype(data_type).is_some();
        for (index, field) in all.fields().iter().enumerate() {
            let word = display::arrow_type(field.data_type());
            if column_dtype(field.data_type()).is_none() && !is_text(field.data_type()) {
                let what = format!("an array cannot hold {word}: the column is left out");
                losses.push(loss(LossKind::Type, what).at(name).of(field.name()));
                continue;
            }
            kept.push(index);
            let nulls = table.statistics(index).and_then(|s| s.null_count());
            losses.extend(column_losses(field, nulls).into_iter().map(|loss| loss.at(name).of(field.name())));
        }
        if kept.is_empty() {
            return Err(Error::unsupported("none of the columns has values of a fixed size"));
        }
        let view = |columns: Vec<usize>| -> Result<Arc<dyn Table>> {
            Ok(Arc::new(TableView::new(table.clone(), 0..u64::MAX, columns)?))
        };
        if self.target.writer.many {
            let each = kept.into_iter().map(|index| {
                let (one, nulls) = (view(vec![index])?, self.nulls.clone());
                let column: Arc<dyn Array> = match is_text(all.field(index).data_type()) {
                    true => Arc::new(TextColumn::new(one, rows, nulls)?),
                    false => Arc::new(Columns::new(one, rows, false, nulls)?),
                };
                let own = all.field(index).name().clone();
                let apart = if self.target.writer.metadata == Metadata::Tree { '/' } else { '.' };
                let name = if self.items.len() > 1 { format!("{name}{apart}{own}") } else { own };
                Ok((name, column))
            });
            return each.collect();
        }
        let records = (self.target.writer.records)(&self.options);
        let together = Columns::new(view(kept)?, rows, records, self.nulls.clone())?;
        if together.dtype().record().is_none() {
            let what = "the names of the columns are not kept (layout=records keeps them)";
            losses.push(note(LossKind::Name, what));
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
        if let Some(bytes) = self.bytes.filter(|_| self.target.writer.plain) {
            output::check_space(path, bytes)?;
        }
        let output = Destination::create(self.target, &self.options, path, consent.overwrite)?;
        self.fill(task, output, consent)
    }

    /// Adds to what is there already: all of it, or nothing. Whoever reads it meanwhile sees what was there before.
    ///
    /// # Errors
    /// As those of [`run`](Plan::run); `Unsupported` where the target does not add, and where what is there has other
    /// columns; `Io` where nothing is there.
    pub fn append(&self, task: &Task, path: &Path, consent: Consent) -> Result<Done> {
        let Some(append) = self.target.writer.append else {
            let able = TARGETS.iter().filter(|t| t.writer.append.is_some()).map(|t| t.name);
            let able = able.collect::<Vec<_>>().join(", ");
            let what = format!("nothing is added to {}; there is adding to: {able}", self.target.name);
            return Err(Error::unsupported(what));
        };
        refuse(&self.losses, consent)?;
        let output = output::Addition::open(task, path, append.known)?;
        self.fill(task, Destination::Addition(output, append.write), consent)
    }

    /// Writes everything to `output`, and makes it be there.
    fn fill(&self, task: &Task, mut output: Destination, consent: Consent) -> Result<Done> {
        self.nulls.fill(consent.lose);
        let mut overrides = Overrides::new();
        let mut notes;
        loop {
            let built = self.build(Some(task), &overrides)?;
            notes = self.notes(&overrides);
            let is_known = |loss: &Loss| self.losses.contains(loss) || self.unfounded.contains(loss);
            let now: Vec<Loss> = built.losses.into_iter().filter(|loss| !is_known(loss)).collect();
            refuse(&now, consent)?;
            let write = || output.write(task, &built.payload, &self.options);
            let error = match crate::bytes::guard::guarded(write) {
                Ok(()) => break,
                Err(error) => error,
            };
            let unfit = built.typed.values().any(|typed| !typed.mismatches().is_empty());
            if !unfit || error.is_cancelled() {
                return Err(error);
            }
            overrides = self.settle(task, overrides)?;
            output.restart()?;
        }
        task.set_message("writing to the disk");
        Ok(Done { bytes: output.commit()?, notes, type_overrides: overrides })
    }

    /// Writes to a pipe: only what comes from front to back, and as it is written. All cells of columns of inferred types
    /// are read before, since nothing can be taken back.
    ///
    /// # Errors
    /// As [`Plan::run`]; `Unsupported` where the target goes back in its file, or is a folder.
    pub fn stream(&self, task: &Task, sink: &mut dyn Sink, consent: Consent) -> Result<Done> {
        let write = match self.target.writer.write {
            WriteTo::File(write) | WriteTo::Either { file: write, .. }
                if self.target.writer.streams && !self.target.writer.write.is_folder(&self.options) =>
            {
                write
            }
            _ => {
                let what = format!("{} cannot be written to a pipe: name a file", self.target.name);
                return Err(Error::unsupported(what));
            }
        };
        refuse(&self.losses, consent)?;
        self.nulls.fill(consent.lose);
        let type_overrides = match self.build(Some(task), &Overrides::new())?.typed.is_empty() {
            false => self.settle(task, Overrides::new())?,
            true => Overrides::new(),
        };
        let built = self.build(Some(task), &type_overrides)?;
        let now: Vec<Loss> = built.losses.into_iter().filter(|loss| !self.losses.contains(loss)).collect();
        refuse(&now, consent)?;
        crate::bytes::guard::guarded(|| write(task, &built.payload, &self.options, sink))?;
        sink.flush()?;
        Ok(Done { bytes: 0, notes: self.notes(&type_overrides), type_overrides })
    }

    /// Reads everything until no cell is found that does not fit its column's type.
    fn settle(&self, task: &Task, mut overrides: Overrides) -> Result<Overrides> {
        loop {
            task.set_message("checking the types of all cells");
            let mut any = false;
            for (item, typed) in self.build(Some(task), &overrides)?.typed {
                typed.try_all(task)?;
                let found = typed.mismatches();
                any |= !found.is_empty();
                overrides.entry(item).or_default().extend(found);
            }
            if !any {
                task.set_message("");
                return Ok(overrides);
            }
        }
    }

    /// What is said of text columns that are read as types.
    fn typed_notes(&self, texts: &dyn Table, typed: &dyn Table, losses: &mut Vec<Loss>) {
        let mut any = false;
        for (text, field) in texts.schema().fields().iter().zip(typed.schema().fields()) {
            any |= text.data_type() != field.data_type();
            if matches!(field.data_type(), DataType::Timestamp(_, Some(_))) {
                let what = "times are kept in UTC; the offsets in which they are written are not";
                losses.push(note(LossKind::Zone, what).of(field.name()));
            }
            let is_table = self.target.writer.accepts.contains(&Kind::Table);
            if is_json(field) && is_table && !matches!(self.target.id, "jsonl" | "json") {
                let what = "lists and objects are kept as JSON text";
                losses.push(note(LossKind::Nesting, what).of(field.name()).if_any());
            }
        }
        if any {
            let what =
                "cells become values of the inferred types; empty cells, NA, null and None become nulls";
            losses.push(note(LossKind::Null, what).if_any());
        }
    }

    /// What is said of columns that did not keep their inferred type.
    fn notes(&self, overrides: &Overrides) -> Vec<Loss> {
        let of_item = |(item, found): (&usize, &BTreeMap<usize, TypeMismatch>)| {
            let Some(Item { name, content: Content::Table(table), .. }) = self.items.get(*item) else {
                return Vec::new();
            };
            let path = if self.items.len() > 1 { name.as_str() } else { "" };
            let say = |(index, mismatch): (&usize, &TypeMismatch)| {
                let column = table.schema().fields().get(*index).map_or("", |field| field.name().as_str());
                let shown: String = mismatch.cell.chars().take(40).collect();
                let wider = display::arrow_type(&mismatch.wider);
                let what =
                    format!("the cell {shown:?} does not fit the inferred type; the column is {wider}");
                note(LossKind::Type, what).at(path).of(column)
            };
            found.iter().map(say).collect()
        };
        overrides.iter().flat_map(of_item).collect()
    }
}

/// What is said of a column that becomes an array, which has so many null cells as far as that is known.
fn column_losses(field: &Field, nulls: Option<u64>) -> Vec<Loss> {
    let mut losses = Vec::new();
    let data_type = field.data_type();
    let text = text_dtype(data_type).is_some();
    match nulls {
        Some(0) => {}
        Some(nulls) => losses.push(match (data_type.is_temporal(), text) {
            // Which is how arrays say null.
            (true, _) => note(LossKind::Null, format!("its {nulls} null cells become not-a-time")).if_any(),
            (_, true) => loss(LossKind::Null, format!("its {nulls} null cells become empty")),
            _ => loss(LossKind::Null, format!("its {nulls} null cells become NaN or zero")),
        }),
        None if field.is_nullable() => {
            let what = "a null cell, if there is one, stops the conversion";
            losses.push(note(LossKind::Null, what).if_any());
        }
        None => {}
    }
    if matches!(data_type, DataType::Timestamp(_, Some(_))) {
        losses.push(note(LossKind::Zone, "times are kept in UTC, without their zone"));
    }
    let is_plain =
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary);
    if text && !is_plain {
        let what = format!("{} becomes texts or bytes of any length", display::arrow_type(data_type));
        losses.push(note(LossKind::Type, what));
    }
    losses
}

/// One array of a name.
fn one(name: &str, array: Arc<dyn Array>) -> Data {
    Data::Arrays(vec![(name.to_owned(), array)])
}

/// The refusal of serious losses without consent.
fn refuse(losses: &[Loss], consent: Consent) -> Result<()> {
    let serious: Vec<String> = losses.iter().filter(|loss| loss.serious).map(ToString::to_string).collect();
    if serious.is_empty() || consent.lose {
        return Ok(());
    }
    Err(Error::unsupported(format!("values would be lost: {}", serious.join("; "))))
}
