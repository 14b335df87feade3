//! Several tables of one schema, one after the other, as one table: the parts of a dataset, files that
//! were dropped together.
//!
//! Parts are opened when their rows are needed, or when somebody wants to know what their headers say ([`Table::look`]);
//! [`SEEN`] of them are opened at once, in parallel, for the columns. Only so many of the process stay open. A part
//! whose columns differ but fit — another order, a wider type, a column missing — is read as the common schema says;
//! one that does not fit is left out. Both are said. A value that the common type would round is an error, and fields
//! that a part of JSON has no column for are looked for among its rests. Parts of which metadata says how many
//! rows they have ([`known`]) are not opened before that.
//!
//! Whoever looks for some values asks which parts may have them ([`Table::parts`]), takes those alone
//! ([`Table::only`]), and of these the row groups that may have them ([`Table::row_ranges`]).

mod exact;
pub mod partition;
mod pruning;
mod rest;
mod unify;

#[cfg(test)]
mod tests;

use crate::bytes::cache::{Budget, Cache};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, cut, filled_step, project, stacked, wide_step};
use crate::data::content::{Block, ColumnStatistics, Layout, RowRanges, Rows, Table, TableFacts};
use crate::data::location::{BytePlace, Location, Owner};
use arrow::array::{ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use parking_lot::{Mutex, RwLock};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use unify::Difference;

/// Up to so many parts are all opened at once for their columns,
const WHOLE: usize = 1_000;
/// and of more so many: the first ones, and others from all over the rest with the last, since columns change as time
/// goes on.
const SEEN: usize = 64;
/// How many of the rest are opened together.
const STEP: usize = 64;
/// How many parts of a table stay open: each holds a file.
const OPEN: usize = 256;
/// How many parts of all tables stay open. A process may have about a thousand files.
static PARTS: Budget = Budget::new(512);
/// How many problems and differences of parts are told.
const SAID: usize = 20;
/// Of parts that are known, these are opened at once, for what their headers say.
const LOOKED: usize = 16;
/// The most suspect ones of them that are opened at once.
const SUSPECT: usize = 1_000;

/// Opens a part.
pub type Opener = Box<dyn Fn(&Task) -> Result<Arc<dyn Table>> + Send + Sync>;

/// One of the tables.
pub struct Part {
    /// Its name, for layouts and errors.
    pub name: String,
    /// Its size in bytes, 0 where unknown.
    pub bytes: u64,
    /// Opens it.
    pub open: Opener,
    /// For each constant column, an array of its one value.
    pub constants: Vec<ArrayRef>,
    /// How many rows metadata says that it has.
    pub rows: Option<Rows>,
    /// What metadata says of a column's values.
    pub bounds: Option<BoundsOf>,
}

/// Gives the bounds of a column (by its place) as metadata has them, of one range; `None` where it does not.
pub type BoundsOf = Box<dyn Fn(usize) -> Option<ColumnStatistics> + Send + Sync>;

impl Part {
    /// A part of which nothing is known before it is opened.
    pub fn new(name: impl Into<String>, bytes: u64, open: Opener) -> Part {
        Part { name: name.into(), bytes, open, constants: Vec::new(), rows: None, bounds: None }
    }
}

/// Which columns a table of parts has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Those of the first part.
    First,
    /// Those of all parts that are opened at once.
    Seen,
    /// Those of all parts: every one is opened at once.
    All,
}

/// What [`tables`] gives.
pub struct Joined {
    /// The one table.
    pub table: Arc<dyn Table>,
    /// How parts differ, a sentence each.
    pub differences: Vec<String>,
    /// How many parts are in the table, as far as they were opened.
    pub fitting: usize,
    /// How many parts were opened.
    pub opened: usize,
    /// Whether some part has columns that are not in the table.
    pub hides: bool,
    /// Whether the parts have so little in common that they may be tables of their own: of the columns of all
    /// some part has less than most, and no part has all.
    pub scattered: bool,
}

/// Several tables as one, with the columns of the first; `constants` are columns that each part has one value of (its
/// partition). All are opened.
///
/// # Errors
/// What the parts give, if none of them can be opened.
pub fn tables(task: &Task, parts: Vec<Part>, constants: Vec<FieldRef>) -> Result<Joined> {
    let seen = (0..parts.len()).collect();
    of_seen(task, parts, seen, constants, false)
}

/// Several tables as one, with the columns that are asked for. The column for what has no other is there in any case,
/// if one of the opened parts has it.
///
/// # Errors
/// What the parts give, if none of them can be opened.
pub fn join(task: &Task, parts: Vec<Part>, constants: Vec<FieldRef>, wanted: Wanted) -> Result<Joined> {
    let seen = if wanted == Wanted::All { (0..parts.len()).collect() } else { sample(parts.len()) };
    of_seen(task, parts, seen, constants, wanted != Wanted::First)
}

/// The numbers of those of `count` parts that are opened at once, in order.
fn sample(count: usize) -> Vec<usize> {
    if count <= WHOLE {
        return (0..count).collect();
    }
    let (first, others) = (SEEN / 2, SEEN - SEEN / 2);
    (0..first).chain((1..=others).map(|n| first - 1 + (count - first) * n / others)).collect()
}

/// The table of parts of which those of `seen` are opened at once.
fn of_seen(
    task: &Task,
    parts: Vec<Part>,
    seen: Vec<usize>,
    constants: Vec<FieldRef>,
    union: bool,
) -> Result<Joined> {
    task.set_total(seen.len() as u64);
    let all_seen = seen.len() == parts.len();
    let open_one = |&number: &usize| -> Result<Result<Arc<dyn Table>>> {
        task.advance(1)?;
        let part = parts.get(number).ok_or_else(|| Error::bug("a part that is not there"))?;
        open(task, part).unless_cancelled()
    };
    let first: Vec<_> = seen.par_iter().map(open_one).collect::<Result<_>>()?;
    let schemas: Vec<Columns> = first.iter().flatten().map(|table| Columns::of(table.as_ref())).collect();
    let Some(base) = schemas.first() else {
        return Err(first
            .into_iter()
            .find_map(Result::err)
            .unwrap_or_else(|| Error::malformed("dataset: it has no parts")));
    };
    let more = unify::additional(base, &schemas, union);
    let wide = base.and(more);
    let schema = unify::schema(&wide, &schemas, &constants, all_seen);
    let own = project(&schema.schema, &(0..base.schema.fields().len()).collect::<Vec<_>>())?;
    let scattered = unify::is_scattered(&wide, &schemas);
    let shared = Shared::new(schema, base.clone(), own, &constants, parts);
    let joined = joined(&shared, seen.into_iter().zip(first).collect()).of(shared);
    Ok(Joined { scattered, ..joined })
}

/// Several tables of the columns `schema`, whose parts all give just these columns. A few of them are opened,
/// and those that are `suspect`.
///
/// # Errors
/// Only that the work was cancelled: a part that cannot be opened later says so when its rows are read.
pub fn known(
    task: &Task,
    schema: &SchemaRef,
    parts: Vec<Part>,
    suspect: impl Fn(usize) -> bool,
) -> Result<Joined> {
    let shared = Shared::new(schema.clone().into(), schema.clone().into(), schema.clone(), &[], parts);
    let chosen: Vec<usize> =
        (0..shared.entries.len()).filter(|&n| n < LOOKED || suspect(n)).take(SUSPECT).collect();
    let look = |&number: &usize| {
        open(task, &shared.entry(number)?.part).unless_cancelled().map(|opened| (number, opened))
    };
    let first: Vec<_> = chosen.par_iter().map(look).collect::<Result<_>>()?;
    let joined = joined(&shared, first);
    for entry in shared.entries.iter().filter(|entry| entry.summary.get().is_none()) {
        let Some(rows) = entry.part.rows else { continue };
        let columns = (0..schema.fields().len()).map(|n| Origin::Own(n, false)).collect();
        let stated =
            Summary { rows, columns: Some(columns), groups: None, codecs: Vec::new(), problem: None };
        let _ = entry.summary.set(stated);
    }
    Ok(joined.of(shared))
}

/// What [`Joined`] has besides its table.
struct Findings {
    differences: Vec<String>,
    hides: bool,
    fitting: usize,
    opened: usize,
}

/// Notes the parts that were opened.
fn joined(shared: &Shared, first: Vec<(usize, Result<Arc<dyn Table>>)>) -> Findings {
    let opened = first.len();
    let (mut differences, mut hides, mut fitting) = (Vec::new(), false, 0);
    for (number, table) in first {
        if let Some(difference) = shared.summarise(number, table) {
            hides |= difference.hides;
            differences.push(difference.text);
        }
        let summary = shared.entries.get(number).and_then(|entry| entry.summary.get());
        fitting += usize::from(summary.is_some_and(|summary| summary.columns.is_some()));
    }
    Findings { differences, hides, fitting, opened }
}

impl Findings {
    /// The table of all parts.
    fn of(self, shared: Shared) -> Joined {
        let all = (0..shared.entries.len()).collect();
        let table = Arc::new(Concat::new(Arc::new(shared), all));
        let Findings { differences, hides, fitting, opened } = self;
        Joined { table, differences, hides, fitting, opened, scattered: false }
    }
}

/// For each column of `schema`, which constant it is, if it is one.
fn constant_places(schema: &Schema, constants: &[FieldRef]) -> Vec<Option<usize>> {
    schema.fields().iter().map(|field| constants.iter().position(|c| c.name() == field.name())).collect()
}

fn open(task: &Task, part: &Part) -> Result<Arc<dyn Table>> {
    task.check()?;
    (part.open)(task).map_err(|e| e.in_file(&part.name))
}

/// Where a column's values come from in one part.
#[derive(Clone)]
enum Origin {
    /// This column of the part; whether its type has to be changed.
    Own(usize, bool),
    /// A field of the objects in this column of the part, the one for what has no other.
    Field(usize),
    /// This column of the part, the one for what has no other: what is left without such fields.
    Rest(usize),
    /// The same value in all rows: a constant of this number.
    Constant(usize),
    /// The part does not have it.
    Missing,
}

/// What is known of a part once it was open.
struct Summary {
    rows: Rows,
    /// Where each column comes from; `None` where the part is left out.
    columns: Option<Vec<Origin>>,
    groups: Option<u64>,
    codecs: Vec<String>,
    problem: Option<String>,
}

struct Entry {
    part: Part,
    summary: OnceLock<Summary>,
}

/// All parts, and what is known of them: shared by the tables of some of them.
struct Shared {
    columns: Columns,
    /// The first part's columns as they are in the file.
    base: Columns,
    /// The common schema without the constants that are no columns of the parts.
    own: SchemaRef,
    constants: Vec<Option<usize>>,
    entries: Vec<Entry>,
    cached: Cache<usize, Arc<dyn Table>>,
    /// How parts differ that were opened later, the first of it.
    late: Mutex<Vec<String>>,
}

struct Concat {
    shared: Arc<Shared>,
    /// The numbers of the parts that are in this table.
    members: Vec<usize>,
    /// The first row of each part whose place is certain, and the end of the last of them.
    starts: RwLock<Vec<u64>>,
}

impl Shared {
    fn new(
        columns: Columns,
        base: Columns,
        own: SchemaRef,
        constants: &[FieldRef],
        parts: Vec<Part>,
    ) -> Self {
        let constants = constant_places(&columns.schema, constants);
        let entries = parts.into_iter().map(|part| Entry { part, summary: OnceLock::new() }).collect();
        Shared {
            columns,
            base,
            own,
            constants,
            entries,
            cached: Cache::within(&PARTS, OPEN),
            late: Mutex::default(),
        }
    }

    fn entry(&self, number: usize) -> Result<&Entry> {
        self.entries.get(number).ok_or_else(|| Error::bug("a part that is not there"))
    }

    /// Notes what an opened part is; gives how it differs.
    fn summarise(&self, number: usize, table: Result<Arc<dyn Table>>) -> Option<Difference> {
        let entry = self.entries.get(number)?;
        let name = &entry.part.name;
        let none = Summary {
            rows: Rows::Exact(0),
            columns: None,
            groups: Some(0),
            codecs: Vec::new(),
            problem: None,
        };
        let (summary, difference) = match table {
            Err(error) => {
                let text = format!("{name} is left out: {}", error.message());
                (Summary { problem: Some(text.clone()), ..none }, Some(Difference { text, hides: false }))
            }
            Ok(table) => {
                let theirs = Columns::of(table.as_ref());
                let columns = self.origins(&theirs);
                let common = &self.columns.schema;
                let difference = unify::difference(&self.base, &theirs, common, columns.is_some());
                let named = |of: Difference| Difference {
                    text: format!("schema differs: {name}: {}", of.text),
                    ..of
                };
                let difference = difference.map(named);
                let facts = table.facts();
                let rows = if columns.is_some() { table.rows() } else { Rows::Exact(0) };
                self.cached.put(number, table.clone(), 1);
                let groups = facts.row_groups;
                let problem =
                    columns.is_none().then(|| difference.as_ref().map_or("", |of| &of.text).to_owned());
                (Summary { rows, columns, groups, codecs: facts.codecs, problem }, difference)
            }
        };
        // Another may have opened it meanwhile, and told how it differs.
        entry.summary.set(summary).ok().and(difference)
    }

    /// Where a part's columns are; `None` where they do not fit.
    fn origins(&self, theirs: &Columns) -> Option<Vec<Origin>> {
        let mut taken = vec![false; theirs.schema.fields().len()];
        let mut found = 0usize;
        let mut origins = Vec::with_capacity(self.columns.schema.fields().len());
        for (n, field) in self.columns.schema.fields().iter().enumerate() {
            if let Some(constant) = self.constants.get(n).copied().flatten() {
                origins.push(Origin::Constant(constant));
                continue;
            }
            let place = unify::find(&theirs.schema, field.name(), n, &taken);
            let Some(place) = place else {
                origins.push(rest::source(theirs, field).map_or(Origin::Missing, Origin::Field));
                continue;
            };
            *taken.get_mut(place)? = true;
            let own = theirs.schema.field(place);
            let same = own.data_type() == field.data_type();
            if !same && unify::types(field.data_type(), own.data_type()).is_none() {
                return None;
            }
            found += 1;
            origins.push(match rest::is_rest(theirs, place) {
                true => Origin::Rest(place),
                false => Origin::Own(place, !same),
            });
        }
        // A table that shares less than half of the columns is another table.
        let own = self.constants.iter().take(self.own.fields().len()).filter(|c| c.is_none()).count();
        (found * 2 >= own).then_some(origins)
    }

    /// A part, open.
    fn table(&self, task: &Task, number: usize) -> Result<Arc<dyn Table>> {
        if let Some(table) = self.cached.get(&number) {
            return Ok(table);
        }
        let entry = self.entry(number)?;
        let table = open(task, &entry.part)?;
        if let (Some(Rows::Exact(said)), Some(rows)) = (entry.part.rows, table.rows().exact())
            && said != rows
            && entry.summary.get().is_some_and(|summary| summary.rows == Rows::Exact(said))
        {
            let words = format!("it has {rows} rows, the table's metadata says {said}");
            return Err(Error::malformed(words).in_file(&entry.part.name));
        }
        self.cached.put(number, table.clone(), 1);
        Ok(table)
    }

    /// The columns `columns` of some rows of one part.
    fn piece(
        &self,
        task: &Task,
        number: usize,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Result<Vec<ArrayRef>> {
        let entry = self.entry(number)?;
        let named = |e: Error| e.in_file(&entry.part.name);
        let summary = entry.summary.get().ok_or_else(|| Error::bug("a part that was never open"))?;
        let origins = summary.columns.as_ref().ok_or_else(|| Error::bug("a part that is left out"))?;
        let needed = places(origins, columns);
        let table = self.table(task, number)?;
        let read = table.read(task, rows.clone(), &needed).map_err(named)?;
        let count = if needed.is_empty() {
            rows.end.min(table.rows().number()).saturating_sub(rows.start) as usize
        } else {
            read.num_rows()
        };
        let held = |own: usize| -> Result<ArrayRef> {
            let at = needed.iter().position(|n| *n == own);
            let array = at.and_then(|at| read.columns().get(at)).cloned();
            array.ok_or_else(|| Error::bug("a column that was not read"))
        };
        let rests =
            rest::columns(&self.columns.schema, table.schema(), origins, columns, held).map_err(named)?;
        let one = |&column: &usize| -> Result<ArrayRef> {
            let field =
                self.columns.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
            if let Some(array) = rests.get(&column) {
                return exact::fitted(array, field);
            }
            match origins.get(column) {
                Some(Origin::Own(own, false)) => held(*own),
                Some(Origin::Own(own, true) | Origin::Rest(own)) => exact::fitted(&held(*own)?, field),
                Some(Origin::Constant(n)) => {
                    let value = entry.part.constants.get(*n).ok_or_else(|| Error::bug("no such constant"))?;
                    Ok(arrow::compute::take(value, &UInt32Array::from(vec![0; count]), None)?)
                }
                _ => Ok(new_null_array(field.data_type(), count)),
            }
        };
        columns.iter().map(|column| one(column).map_err(named)).collect()
    }
}

/// The columns of a part that `columns` of the common schema come from.
fn places(origins: &[Origin], columns: &[usize]) -> Vec<usize> {
    let mut places = Vec::new();
    for &column in columns {
        if let Some(Origin::Own(place, _) | Origin::Field(place) | Origin::Rest(place)) = origins.get(column)
            && !places.contains(place)
        {
            places.push(*place);
        }
    }
    places
}

impl Concat {
    fn new(shared: Arc<Shared>, members: Vec<usize>) -> Self {
        let concat = Concat { shared, members, starts: RwLock::new(vec![0]) };
        concat.extend_exact();
        concat
    }

    /// The part that stands at a place of this table.
    fn entry(&self, place: usize) -> Option<&Entry> {
        self.shared.entries.get(*self.members.get(place)?)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.members.iter().filter_map(|&number| self.shared.entries.get(number))
    }

    /// The part at a place, open.
    fn table(&self, task: &Task, place: usize) -> Result<Arc<dyn Table>> {
        let number = self.members.get(place).ok_or_else(|| Error::bug("a part that is not there"))?;
        self.shared.table(task, *number)
    }

    /// The parts at and after a place that were never open.
    fn closed(&self, from: usize) -> impl Iterator<Item = usize> {
        let is_closed = |number: &usize| {
            self.shared.entries.get(*number).is_some_and(|entry| entry.summary.get().is_none())
        };
        self.members.get(from..).unwrap_or_default().iter().copied().filter(is_closed)
    }

    /// Opens the next parts, so that their summaries are there.
    fn open_more(&self, task: &Task, from: usize) -> Result<()> {
        let next: Vec<usize> = self.closed(from).take(STEP).collect();
        let one = |&number: &usize| {
            let opened = open(task, &self.shared.entry(number)?.part).unless_cancelled();
            opened.map(|opened| self.shared.summarise(number, opened))
        };
        let differences: Vec<Option<Difference>> = next.par_iter().map(one).collect::<Result<_>>()?;
        let mut late = self.shared.late.lock();
        let room = SAID.saturating_sub(late.len());
        late.extend(differences.into_iter().flatten().map(|of| of.text).take(room));
        drop(late);
        self.extend_exact();
        Ok(())
    }

    /// Adds the parts to the certain ones whose rows are certain.
    fn extend_exact(&self) {
        let mut starts = self.starts.write();
        while let Some(summary) = self.entry(starts.len() - 1).and_then(|e| e.summary.get()) {
            let Some(rows) = summary.rows.exact() else { break };
            let end = starts.last().copied().unwrap_or(0).saturating_add(rows);
            starts.push(end);
        }
    }

    /// Notes where a part ends, unless another did.
    fn certain(&self, place: usize, end: u64) {
        let mut starts = self.starts.write();
        if starts.len() == place + 1 {
            starts.push(end);
        }
    }

    /// Makes sure that the places of the rows before `end` are certain. No lock is held while parts are opened or
    /// counted: that is shared by threads, one of which may read this table itself.
    fn reach(&self, task: &Task, end: u64) -> Result<()> {
        let certain = || {
            let starts = self.starts.read();
            (starts.len() - 1, starts.last().copied().unwrap_or(0))
        };
        loop {
            task.check()?;
            let (next, known) = certain();
            if next >= self.members.len() || known >= end {
                return Ok(());
            }
            let Some(entry) = self.entry(next) else { return Ok(()) };
            if entry.summary.get().is_none() {
                self.open_more(task, next)?;
                continue;
            }
            let table = self.table(task, next)?;
            if let Rows::About { known: inside, .. } | Rows::AtLeast(inside) = table.rows()
                && known.saturating_add(inside) >= end
            {
                return Ok(());
            }
            let rows = table.count(task).map_err(|e| e.in_file(&entry.part.name))?;
            self.certain(next, known.saturating_add(rows));
            self.extend_exact();
        }
    }

    /// The places of the parts that the rows lie in, with the rows of each.
    fn pieces(&self, rows: &Range<u64>) -> Vec<(usize, Range<u64>)> {
        let starts = self.starts.read();
        let mut found = Vec::new();
        let first = starts.partition_point(|&start| start <= rows.start).saturating_sub(1);
        for place in first..self.members.len() {
            let Some(&start) = starts.get(place) else { break };
            if start >= rows.end {
                break;
            }
            let end = starts.get(place + 1).copied().unwrap_or(u64::MAX).min(rows.end);
            let part = rows.start.max(start) - start..end.saturating_sub(start);
            if !part.is_empty() {
                found.push((place, part));
            }
        }
        found
    }
}

impl Table for Concat {
    fn schema(&self) -> &SchemaRef {
        &self.shared.columns.schema
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.shared.columns.inferred(column)
    }

    fn rows(&self) -> Rows {
        let (certain, mut known) = {
            let starts = self.starts.read();
            (starts.len() - 1, starts.last().copied().unwrap_or(0))
        };
        if certain >= self.members.len() {
            return Rows::Exact(known);
        }
        let mut rows = known;
        let mut inside = Some(());
        for (&number, entry) in self.members.iter().zip(self.entries()).skip(certain) {
            let Some(summary) = entry.summary.get() else { return Rows::AtLeast(known) };
            let now = self.shared.cached.peek(&number).filter(|_| summary.columns.is_some());
            let theirs = now.map_or(summary.rows, |table| table.rows());
            rows = rows.saturating_add(theirs.number());
            if inside.take().is_some() {
                known = known.saturating_add(match theirs {
                    Rows::About { known, .. } => known,
                    other => other.number(),
                });
            }
        }
        Rows::About { rows: rows.max(known), known }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        self.reach(task, rows.end)?;
        let rows = cut(&rows, self.rows().number());
        let pieces = if rows.is_empty() { Vec::new() } else { self.pieces(&rows) };
        let read: Vec<Vec<ArrayRef>> = pieces
            .par_iter()
            .map(|(place, rows)| {
                let number =
                    self.members.get(*place).ok_or_else(|| Error::bug("a part that is not there"))?;
                self.shared.piece(task, *number, rows.clone(), columns)
            })
            .collect::<Result<_>>()?;
        stacked(&self.shared.columns.schema, columns, &read, (rows.end - rows.start) as usize)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.reach(task, u64::MAX)?;
        Ok(self.rows().number())
    }

    fn read_headers(&self, task: &Task, most: usize) -> Result<()> {
        let closed = self.closed(0).take(most.saturating_add(1)).count();
        if closed > most {
            return Ok(());
        }
        task.set_total(closed as u64);
        let mut left = closed;
        while left > 0 {
            self.open_more(task, 0)?;
            let now = self.closed(0).count();
            task.advance(left.saturating_sub(now) as u64)?;
            left = now;
        }
        Ok(())
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        self.reach(task, row.saturating_add(1))?;
        let pieces = self.pieces(&(row..row.saturating_add(1)));
        let Some((place, rows)) = pieces.first() else { return Ok(None) };
        let Some(&number) = self.members.get(*place) else { return Ok(None) };
        let entry = self.shared.entry(number)?;
        let table = self.shared.table(task, number)?;
        let origins = entry.summary.get().and_then(|summary| summary.columns.as_ref());
        match origins.and_then(|origins| origins.get(column)) {
            Some(Origin::Own(own, _)) => {
                table.location(task, rows.start, *own).map_err(|e| e.in_file(&entry.part.name))
            }
            _ => Ok(None),
        }
    }

    /// Of the parts that are open.
    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        for (place, number) in self.members.iter().enumerate() {
            task.check()?;
            let Some(table) = self.shared.cached.peek(number) else { continue };
            let Some(mut owner) = table.owner(task, byte)? else { continue };
            let Some(&start) = self.starts.read().get(place) else { return Ok(None) };
            let entry = self.shared.entry(*number)?;
            let origins = entry.summary.get().and_then(|summary| summary.columns.as_ref());
            let here = |own: usize| {
                origins?.iter().position(|origin| matches!(origin, Origin::Own(n, _) if *n == own))
            };
            owner.cell = owner.cell.map(|(row, column)| (start.saturating_add(row), column.and_then(here)));
            return Ok(Some(owner));
        }
        Ok(None)
    }

    fn scan_step(&self, at: u64) -> u64 {
        // Of a part that is not open nothing else is known.
        let usual = wide_step(self.schema()).min(65_536);
        let found = self.pieces(&(at..at.saturating_add(1)));
        let Some((place, rows)) = found.first() else { return usual };
        let left = {
            let starts = self.starts.read();
            starts.get(place + 1).map_or(u64::MAX, |end| end.saturating_sub(at))
        };
        match self.members.get(*place).and_then(|number| self.shared.cached.peek(number)) {
            Some(table) => table.scan_step(rows.start).min(left).min(filled_step(self.schema())).max(1),
            None => left.clamp(1, usual),
        }
    }

    fn facts(&self) -> TableFacts {
        let summaries = || self.entries().map(|entry| entry.summary.get());
        let row_groups = summaries().map(|s| s.and_then(|s| s.groups)).sum::<Option<u64>>();
        let mut codecs: Vec<String> = Vec::new();
        for codec in summaries().flatten().flat_map(|s| &s.codecs) {
            if !codecs.contains(codec) {
                codecs.push(codec.clone());
            }
        }
        let mut details = vec![("parts".to_owned(), crate::bytes::display::count(self.members.len() as u64))];
        let out = summaries().flatten().filter(|s| s.columns.is_none()).count();
        if out > 0 {
            details.push(("parts left out".to_owned(), crate::bytes::display::count(out as u64)));
        }
        for problem in summaries().flatten().filter_map(|s| s.problem.as_ref()).take(SAID) {
            details.push(("left out".to_owned(), problem.clone()));
        }
        let late = self.shared.late.lock();
        details.extend(late.iter().map(|difference| ("met later".to_owned(), difference.clone())));
        TableFacts { row_groups, codecs, details, columns: Vec::new() }
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        pruning::statistics(self, column)
    }

    fn layout(&self) -> Layout {
        let starts = self.starts.read();
        let block = |(n, entry): (usize, &Entry)| {
            let first = starts.get(n).or(starts.last()).copied().unwrap_or(0);
            let end = starts.get(n + 1).copied();
            let count =
                end.map_or_else(|| entry.summary.get().map_or(0, |s| s.rows.number()), |end| end - first);
            let missing = entry.summary.get().is_some_and(|s| s.columns.is_none());
            Block { name: entry.part.name.clone(), first, count, stored: entry.part.bytes, raw: 0, missing }
        };
        Layout { unit: "part", blocks: self.entries().enumerate().map(block).collect(), ..Layout::default() }
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], parts: &[bool]) -> Result<Option<RowRanges>> {
        pruning::row_ranges(self, task, columns, parts).map(Some)
    }

    fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
        Some(pruning::parts(self, columns))
    }

    fn with_parts(&self, parts: &[bool]) -> Option<Arc<dyn Table>> {
        let chosen = self.members.iter().zip(parts).filter(|(_, keep)| **keep).map(|(number, _)| *number);
        Some(Arc::new(Concat::new(self.shared.clone(), chosen.collect())))
    }
}
