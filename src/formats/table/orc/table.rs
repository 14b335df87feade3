//! A file as a table: rows in blocks of a stripe, each column decoded on its own.
//!
//! A column can only be read from front to back, so where a read ended, and at every few blocks on the way
//! to a far row, its state is kept: the next read goes on from there.

use super::column::{Column, Place};
use super::rle::Booleans;
use super::schema::{self, Columns, Kind, Plan};
use super::statistics::stored;
use super::tail::{self, StreamKind, Stripe, StripeFooter, Tail};
use super::time;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut, joined};
use crate::data::content::{Block, ColumnStatistics, Layout, Rows, Table, TableFacts};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Schema, SchemaRef, TimeUnit};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rows of one block: what is decoded together and kept.
pub(super) const BLOCK: u64 = 8192;
/// Bytes of decoded columns that are cached.
const CACHED: usize = 64 << 20;
/// Bytes of columns' states and dictionaries that are cached.
const STATES: usize = 64 << 20;
/// Footers of stripes that are cached, in bytes.
const FOOTERS: usize = 16 << 20;
/// On the way to a far row, a state is kept every so many rows.
const STATION: u64 = 16 * BLOCK;
/// The most rows that a byte of a stripe can hold: a run of 1040 equal booleans takes two bytes, and
/// Zstandard, which gives most, makes 32,768 bytes of one.
const MOST: u64 = 520 << 15;
/// Blocks that one step of a scan covers, at most,
const STEP: u64 = 8;
/// and about how many cells.
const CELLS: u64 = 4 << 20;

/// The rows of a file.
pub(super) struct OrcTable {
    source: Source,
    pub(super) tail: Tail,
    schema: SchemaRef,
    columns: Columns,
    /// The first row of each stripe, and the number of all rows.
    starts: Vec<u64>,
    decoded: Cache<(u64, usize), ArrayRef>,
    /// By stripe, column and the stripe's row that is next.
    states: Cache<(usize, usize, u64), State>,
    /// For each column, the furthest row of a stripe that a state was kept at: none is looked for beyond it.
    furthest: Vec<AtomicU64>,
    /// For each column, whether decimals of it were rounded.
    rounded: Vec<Arc<AtomicBool>>,
    footers: Cache<usize, Arc<StripeFooter>>,
    /// What a user should know.
    pub(super) remarks: Vec<String>,
}

/// A column between two blocks.
#[derive(Clone)]
struct State {
    /// Whether the rows themselves are there, where the root is a struct that may be null.
    root: Option<Booleans>,
    column: Column,
    /// The stripe's row that is next.
    row: u64,
}

impl State {
    fn parent(&mut self, count: usize) -> Result<Option<NullBuffer>> {
        let read = self.root.as_mut().map(|root| root.read(count)).transpose()?;
        Ok(read.map(NullBuffer::new))
    }

    fn read(&mut self, count: u64) -> Result<ArrayRef> {
        let parent = self.parent(count as usize)?;
        let array = self.column.read(count as usize, parent.as_ref())?;
        self.row += count;
        Ok(array)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let parent = self.parent(count as usize)?;
        self.column.skip(count as usize, parent.as_ref())?;
        self.row += count;
        Ok(())
    }

    /// Whether nothing is stored for the column.
    fn is_hollow(&self) -> bool {
        self.root.is_none() && self.column.is_hollow()
    }

    fn set_task(&mut self, task: &Task) {
        if let Some(root) = &mut self.root {
            root.bytes.stream.set_task(task);
        }
        self.column.set_task(task);
    }
}

/// A block: its stripe, its first row, and how many it has.
type At = (usize, u64, u64);

impl OrcTable {
    pub(super) fn open(task: &Task, source: &Source) -> Result<OrcTable> {
        let tail = tail::read(task, source, source.len(task)?)?;
        let mut wide = Vec::new();
        let columns = schema::columns(&tail, &mut |id| {
            let unit = time::unit(task, source, &tail, id)?;
            if unit == TimeUnit::Microsecond {
                wide.push(id);
            }
            Ok(unit)
        })?;
        let has = |(plan, field): (&Plan, &arrow::datatypes::Field)| {
            wide.iter().any(|id| holds(plan, *id)).then(|| {
                let name = field.name();
                format!(
                    "column {name:?} has times before 1677 or after 2262, which nanoseconds do not reach: they \
                     are read in microseconds, finer digits are left off"
                )
            })
        };
        let mut remarks: Vec<String> = columns.plans.iter().zip(&columns.fields).filter_map(has).collect();
        let unscaled =
            columns.plans.iter().zip(&columns.fields).filter(|(plan, _)| has_unscaled(&tail, plan));
        remarks.extend(unscaled.map(|(_, field)| {
            format!(
                "column {:?} has decimals without a stated scale (Hive 0.11): they are read with {} digits after the \
                 point, finer ones are rounded",
                field.name(),
                schema::HIVE_SCALE
            )
        }));
        let mut starts = vec![0u64];
        let hollow = columns.plans.iter().all(is_hollow);
        for stripe in &tail.stripes {
            if !hollow && stripe.rows > stripe.data.saturating_mul(MOST) {
                let Stripe { offset, rows, data, .. } = stripe;
                let what = format!("ORC footer: the stripe at {offset} claims {rows} rows in {data} bytes");
                return Err(Error::malformed(what));
            }
            let rows = starts.last().copied().unwrap_or(0).checked_add(stripe.rows);
            let rows = rows.filter(|&rows| rows <= i64::MAX as u64);
            starts.push(rows.ok_or_else(|| Error::malformed("ORC footer: its rows are beyond 63 bits"))?);
        }
        Ok(OrcTable {
            source: source.clone(),
            schema: Arc::new(Schema::new(columns.fields.clone())),
            furthest: columns.plans.iter().map(|_| AtomicU64::new(0)).collect(),
            rounded: columns.plans.iter().map(|_| Arc::default()).collect(),
            tail,
            columns,
            starts,
            decoded: Cache::new(CACHED),
            states: Cache::new(STATES),
            footers: Cache::new(FOOTERS),
            remarks,
        })
    }

    fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The blocks that the rows lie in.
    fn blocks(&self, rows: &Range<u64>) -> Vec<At> {
        let mut found = Vec::new();
        let mut at = rows.start;
        while at < rows.end {
            let stripe = self.starts.partition_point(|&start| start <= at).saturating_sub(1);
            let (Some(&start), Some(&end)) = (self.starts.get(stripe), self.starts.get(stripe + 1)) else {
                break;
            };
            let first = start + (at - start) / BLOCK * BLOCK;
            let count = BLOCK.min(end - first);
            found.push((stripe, first, count));
            at = first + count;
        }
        found
    }

    fn stripe(&self, number: usize) -> Result<&Stripe> {
        self.tail.stripes.get(number).ok_or_else(|| Error::bug("no such stripe"))
    }

    fn footer(&self, task: &Task, number: usize) -> Result<Arc<StripeFooter>> {
        if let Some(footer) = self.footers.get(&number) {
            return Ok(footer);
        }
        let footer = Arc::new(self.tail.stripe_footer(task, &self.source, self.stripe(number)?)?);
        let bytes = footer.streams.len() * 32 + footer.encodings.len() * 8 + 64;
        self.footers.put(number, footer.clone(), bytes);
        Ok(footer)
    }

    /// A column's state at or before a row of a stripe.
    fn state(&self, task: &Task, stripe: usize, column: usize, row: u64) -> Result<State> {
        let furthest = self.furthest.get(column).map_or(0, |row| row.load(Ordering::Relaxed));
        let stations = (0..=row.min(furthest) / STATION).rev().map(|n| n * STATION);
        let found =
            std::iter::once(row).chain(stations).find_map(|at| self.states.get(&(stripe, column, at)));
        if let Some(mut state) = found {
            state.set_task(task);
            return Ok(state);
        }
        let footer = self.footer(task, stripe)?;
        let plan = self.columns.plans.get(column).ok_or_else(|| Error::bug("no such column"))?;
        let rounded = self.rounded.get(column).ok_or_else(|| Error::bug("no such column"))?;
        let place = Place { task, source: &self.source, tail: &self.tail, footer: &footer, rounded };
        let root = if self.columns.in_struct { place.root() } else { None };
        let state = State { root, column: place.column(plan)?, row: 0 };
        // A dictionary in it is read once.
        self.keep(stripe, column, &state);
        Ok(state)
    }

    fn keep(&self, stripe: usize, column: usize, state: &State) {
        // Such a state is made anywhere at no cost.
        if state.is_hollow() {
            return;
        }
        if let Some(furthest) = self.furthest.get(column) {
            furthest.fetch_max(state.row, Ordering::Relaxed);
        }
        let mut state = state.clone();
        let bytes = state.column.memory();
        self.states.put((stripe, column, state.row), state, bytes);
    }

    /// Goes to a row of the stripe.
    fn reach(&self, task: &Task, stripe: usize, column: usize, state: &mut State, row: u64) -> Result<()> {
        if state.is_hollow() {
            state.row = state.row.max(row);
        }
        while state.row < row {
            task.check()?;
            state.skip(BLOCK.min(row - state.row))?;
            if state.row.is_multiple_of(STATION) {
                self.keep(stripe, column, state);
            }
        }
        Ok(())
    }

    /// One column of the rows `rows`, by the blocks that they lie in.
    fn column(&self, task: &Task, column: usize, rows: &Range<u64>, blocks: &[At]) -> Result<Vec<ArrayRef>> {
        let mut out = Vec::with_capacity(blocks.len());
        let mut live: Option<(usize, State)> = None;
        let mut bytes = 0u64;
        for &(stripe, first, count) in blocks {
            task.check()?;
            let wanted = rows.start.max(first) - first..rows.end.min(first + count).saturating_sub(first);
            let (skipped, len) = (wanted.start as usize, (wanted.end - wanted.start) as usize);
            let part = match self.decoded.get(&(first, column)) {
                Some(array) => array.slice(skipped, len),
                None => {
                    let row = first - self.starts.get(stripe).copied().unwrap_or(0);
                    let mut state = match live.take().filter(|(of, state)| *of == stripe && state.row <= row)
                    {
                        Some((_, state)) => state,
                        None => self.state(task, stripe, column, row)?,
                    };
                    self.reach(task, stripe, column, &mut state, row)?;
                    match state.read(count) {
                        Ok(array) => {
                            self.decoded.put((first, column), array.clone(), array.get_array_memory_size());
                            live = Some((stripe, state));
                            array.slice(skipped, len)
                        }
                        // The rows that are asked for may be fewer and have shorter values.
                        Err(error) if error.kind() == ErrorKind::Limit && (len as u64) < count => {
                            self.alone(task, stripe, column, row + wanted.start..row + wanted.end)?
                        }
                        Err(error) => return Err(error),
                    }
                }
            };
            bytes = bytes.saturating_add(part.to_data().get_slice_memory_size()? as u64);
            limits::check(bytes, limits::READ, "this part of the column")?;
            out.push(part);
        }
        if let Some((stripe, state)) = live {
            self.keep(stripe, column, &state);
        }
        Ok(out)
    }

    /// These rows of a stripe, without the others of their block.
    fn alone(&self, task: &Task, stripe: usize, column: usize, rows: Range<u64>) -> Result<ArrayRef> {
        let mut state = self.state(task, stripe, column, rows.start)?;
        self.reach(task, stripe, column, &mut state, rows.start)?;
        state.read(rows.end - rows.start)
    }

    /// The rows `rows` of a column, which are there.
    fn rows_of(&self, task: &Task, column: usize, rows: &Range<u64>, blocks: &[At]) -> Result<ArrayRef> {
        let field = self.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
        let read = self.column(task, column, rows, blocks).map_err(|e| {
            let at = blocks.first().and_then(|(stripe, ..)| self.tail.stripes.get(*stripe));
            let e = e.of("ORC stripe").in_node(&format!("column {:?}", field.name()));
            at.map_or(e.clone(), |stripe| e.at(stripe.offset))
        })?;
        joined(&read, field.data_type())
    }
}

/// Whether there are decimals in the tree whose type states neither precision nor scale.
fn has_unscaled(tail: &Tail, plan: &Plan) -> bool {
    let is_unscaled = || tail.types.get(plan.id as usize).is_some_and(|of| of.precision == 0);
    (plan.kind == Kind::Decimal && is_unscaled())
        || plan.children.iter().any(|child| has_unscaled(tail, child))
}

/// Whether type `id` is in the tree.
fn holds(plan: &Plan, id: u32) -> bool {
    plan.id == id || plan.children.iter().any(|child| holds(child, id))
}

/// Whether a type has no values of its own, so that nothing says how many rows there are.
fn is_hollow(plan: &Plan) -> bool {
    plan.kind == Kind::Struct && plan.children.iter().all(is_hollow)
}

impl Table for OrcTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.total())
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let rows = cut(&rows, self.total());
        let count = (rows.end - rows.start) as usize;
        if columns.is_empty() {
            return batch(&self.schema, columns, Vec::new(), count);
        }
        let blocks = self.blocks(&rows);
        // Of several errors the first column's is told.
        let one = |&column: &usize| self.rows_of(task, column, &rows, &blocks);
        let read: Vec<Result<ArrayRef>> = columns.par_iter().map(one).collect();
        batch(&self.schema, columns, read.into_iter().collect::<Result<_>>()?, count)
    }

    fn scan_step(&self, at: u64) -> u64 {
        // To the end of a block, so that none is decoded twice.
        let end = self.blocks(&(at..at + 1)).first().map_or(at + BLOCK, |(_, first, count)| first + count);
        let blocks = (CELLS / self.schema.fields().len().max(1) as u64 / BLOCK).clamp(1, STEP);
        end - at + BLOCK * (blocks - 1)
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        if !self.columns.plans.iter().all(is_hollow) || at >= self.total() {
            return Ok(0);
        }
        let stripe = self.starts.partition_point(|&start| start <= at).saturating_sub(1);
        // What is broken is said when it is read.
        let Ok(footer) = self.footer(task, stripe).unless_cancelled()? else { return Ok(0) };
        let has_nulls = footer.streams.iter().any(|(kind, ..)| *kind == StreamKind::Present);
        let end = self.starts.get(stripe + 1).copied().unwrap_or(at);
        Ok(if has_nulls { 0 } else { end.saturating_sub(at) })
    }

    fn facts(&self) -> TableFacts {
        let mut details = Vec::new();
        if let Some(software) = &self.tail.software {
            details.push(("software version".to_owned(), software.clone()));
        }
        let fields = self.schema.fields().iter().zip(&self.rounded);
        for (field, _) in fields.filter(|(_, rounded)| rounded.load(Ordering::Relaxed)) {
            let what = format!("decimals of column {:?}, to the scale of their type", field.name());
            details.push(("rounded".to_owned(), what));
        }
        TableFacts {
            row_groups: Some(self.tail.stripes.len() as u64),
            codecs: vec![self.tail.packing.codec.name().to_owned()],
            details,
            ..TableFacts::default()
        }
    }

    fn layout(&self) -> Layout {
        let block = |(stripe, &first): (&Stripe, &u64)| Block {
            first,
            count: stripe.rows,
            stored: [stripe.index, stripe.data, stripe.footer].into_iter().fold(0, u64::saturating_add),
            ..Block::default()
        };
        let blocks = self.tail.stripes.iter().zip(&self.starts).map(block).collect();
        Layout { unit: "stripe", blocks, ..Layout::default() }
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        let id = self.columns.plans.get(column)?.id;
        let found = self.tail.statistics.get(id as usize)?;
        let dtype: &DataType = self.schema.fields().get(column)?.data_type();
        Some(stored(found, self.total(), dtype))
    }
}
