//! A table filtered and sorted, as a table: which of its rows, in which order. Row numbers of the table are
//! kept, so that a view can show them.
//!
//! The engine finds the rows. Where their values are small they come with the answer; where they are
//! large (pictures, long texts, very many columns) only the numbers do, and values are read from the
//! table when they are looked at.

use super::clauses::clauses;
use super::diagnostic::Failure;
use super::filter::{Filter, Sort};
use super::plan::Only;
use super::result::QueryResult;
use super::{Engine, provider};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::content::table::{batch, cut, joined, project};
use crate::data::content::{ColumnStatistics, RowRanges, Rows, Table, TableFacts};
use crate::data::location::Location;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, FieldRef, Int64Type, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// The column of row numbers, named so that no column is called alike.
pub(super) const ROW: &str = "\u{1}row";
/// A row up to this many bytes comes with the answer.
const SMALL: u64 = 4 << 10;
/// Tables up to this many columns do.
const NARROW: usize = 256;
/// The rows that tell how large rows are.
const SAMPLE: u64 = 256;

/// Rows of a table, in an order.
pub struct Filtered {
    table: Arc<dyn Table>,
    answer: Arc<QueryResult>,
    schema: SchemaRef,
    /// Whether the answer has the values too, in front of the row numbers.
    whole: bool,
    /// Whether no row is left out.
    all: bool,
}

/// The rows of `table` that a filter lets through, sorted. Starts at once and grows while it runs.
///
/// # Errors
/// A mistake in the filter's own expression or in a key, with its place in [`clauses`]; what reading the table
/// gives.
pub fn filtered(
    engine: &Engine,
    task: &Task,
    table: &Arc<dyn Table>,
    filter: &Filter,
    sort: &[Sort],
) -> Result<Filtered, Failure> {
    // A text format's columns are asked as the types that they were guessed to be, and shown as they stand.
    let guesses = engine.catalog.guesses(table);
    let typed = table.is_inferred().then(|| Arc::new(Typed::strict(table.clone(), &guesses.lock())));
    let asked: Arc<dyn Table> = match &typed {
        Some(typed) => Arc::new(RawAndTyped::new(table.clone(), typed.clone())),
        None => table.clone(),
    };
    let schema = provider::plain_schema(asked.schema());
    let own = table.schema().fields().len();
    let whole = is_small(task, table.as_ref())?;
    let shown = if typed.is_some() { own..2 * own } else { 0..own };
    let names: Vec<String> = match whole {
        true => shown.map(|i| super::quoted(schema.field(i).name())).collect(),
        false => Vec::new(),
    };
    let columns: Vec<String> = names.into_iter().chain([super::quoted(ROW)]).collect();
    let head = format!("SELECT {}\nFROM \"table\"\n", columns.join(", "));
    let mut sql = format!("{head}{}", clauses(filter, sort, &schema));
    if !sort.is_empty() {
        // Rows that are alike stay in the table's order.
        sql = format!("{sql}, {} ASC", super::quoted(ROW));
    }
    let only = Only { table: &asked, row: Some(ROW) };
    let answer = engine.start_over(task, &sql, only, typed.map(|typed| (guesses, typed)));
    // A person knows of the conditions and keys only.
    let answer = answer.map_err(|failure| failure.behind(&head))?;
    let all = filter.is_empty();
    Ok(Filtered {
        table: table.clone(),
        answer: Arc::new(answer),
        schema: table.schema().clone(),
        whole,
        all,
    })
}

fn is_small(task: &Task, table: &dyn Table) -> Result<bool> {
    let columns = table.schema().fields().len();
    if columns > NARROW {
        return Ok(false);
    }
    let all: Vec<usize> = (0..columns).collect();
    let few = table.read(task, 0..SAMPLE, &all)?;
    let bytes: usize = few
        .columns()
        .iter()
        .map(|c| c.to_data().get_slice_memory_size().unwrap_or(usize::MAX >> 8))
        .fold(0, usize::saturating_add);
    Ok(bytes as u64 / few.num_rows().max(1) as u64 <= SMALL)
}

/// A table's columns as the types that were guessed, and behind them the same columns as they stand.
struct RawAndTyped {
    plain: Arc<dyn Table>,
    typed: Arc<Typed>,
    schema: SchemaRef,
}

impl RawAndTyped {
    fn new(plain: Arc<dyn Table>, typed: Arc<Typed>) -> Self {
        let names = provider::plain_schema(plain.schema());
        let own = plain.schema().fields().iter().zip(names.fields());
        let own = own.map(|(f, n)| Arc::new(f.as_ref().clone().with_name(format!("\u{1}{}", n.name()))));
        let fields: Vec<FieldRef> = typed.schema().fields().iter().cloned().chain(own).collect();
        RawAndTyped { plain, typed, schema: Arc::new(Schema::new(fields)) }
    }
}

impl Table for RawAndTyped {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.plain.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let own = self.plain.schema().fields().len();
        let (first, second): (Vec<usize>, Vec<usize>) = columns.iter().partition(|&&c| c < own);
        let second: Vec<usize> = second.into_iter().map(|c| c - own).collect();
        let count = |batch: &RecordBatch| batch.num_rows();
        let typed = self.typed.read(task, rows.clone(), &first)?;
        let mut rows_there = count(&typed);
        let mut plain = None;
        if !second.is_empty() {
            let read = self.plain.read(task, rows, &second)?;
            rows_there = count(&read);
            plain = Some(read);
        }
        let (mut typed, mut plain) = (typed.columns().iter(), plain.iter().flat_map(RecordBatch::columns));
        let next = |&c: &usize| if c < own { typed.next().cloned() } else { plain.next().cloned() };
        let arrays: Vec<ArrayRef> = columns.iter().filter_map(next).collect();
        batch(&self.schema, columns, arrays, rows_there)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.plain.count(task)
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.plain.scan_step(at)
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], parts: &[bool]) -> Result<Option<RowRanges>> {
        let found = self.typed.row_ranges(task, &self.own(columns), parts)?;
        Ok(found.map(|found| self.known(found, columns)))
    }

    fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
        self.typed.parts(&self.own(columns)).map(|found| self.known(found, columns))
    }
}

impl RawAndTyped {
    /// The typed ones among `columns`.
    fn own(&self, columns: &[usize]) -> Vec<usize> {
        let own = self.plain.schema().fields().len();
        columns.iter().copied().filter(|&column| column < own).collect()
    }

    /// What is known of the typed ones of `columns`, and nothing of the others.
    fn known(&self, found: RowRanges, columns: &[usize]) -> RowRanges {
        let own = self.plain.schema().fields().len();
        let (rows, mut typed) = (found.rows, found.columns.into_iter());
        let one = |&column: &usize| {
            let known = if column < own { typed.next() } else { None };
            known.unwrap_or_else(|| {
                ColumnStatistics::unknown(self.schema.field(column).data_type(), rows.len())
            })
        };
        let columns = columns.iter().map(one).collect();
        RowRanges { rows, columns }
    }
}

impl Filtered {
    /// Whether it failed because a guessed type did not hold: the same filter, asked again, has a wider one.
    pub fn again(&self) -> bool {
        matches!(self.answer.ended(), Some(Err(error)) if !error.is_cancelled()) && self.answer.widen()
    }

    /// The query behind it: its time, its progress, its end.
    pub fn answer(&self) -> &Arc<QueryResult> {
        &self.answer
    }

    /// The numbers in the table of the rows `rows` of this one.
    ///
    /// # Errors
    /// What reading the answer gives.
    pub fn numbers(&self, task: &Task, rows: Range<u64>) -> Result<Vec<u64>> {
        let column = self.answer.schema().fields().len().saturating_sub(1);
        let read = self.answer.read(task, rows, &[column])?;
        let numbers = read.columns().first().and_then(|c| c.as_primitive_opt::<Int64Type>());
        let numbers: &Int64Array = numbers.ok_or_else(|| Error::bug("row numbers are no numbers"))?;
        Ok(numbers.values().iter().map(|&n| n.max(0) as u64).collect())
    }

    /// The rows of these numbers from the table itself: runs of neighbours in one read each.
    fn gather(&self, task: &Task, numbers: &[u64], columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut place = vec![0u32; numbers.len()];
        let mut order: Vec<(u64, &mut u32)> = numbers.iter().copied().zip(&mut place).collect();
        order.sort_by_key(|(n, _)| *n);
        // Rows that stand near each other are read together, those between them too.
        let mut runs: Vec<(Range<u64>, u64)> = Vec::new();
        let mut read_rows = 0u64;
        for (n, place) in order {
            match runs.last_mut() {
                Some((run, first)) if n < run.end.saturating_add(64) => {
                    run.end = run.end.max(n + 1);
                    *place = (*first + (n - run.start)) as u32;
                    read_rows = *first + (run.end - run.start);
                }
                _ => {
                    runs.push((n..n + 1, read_rows));
                    *place = read_rows as u32;
                    read_rows += 1;
                }
            }
        }
        let mut parts: Vec<Vec<ArrayRef>> = columns.iter().map(|_| Vec::new()).collect();
        for (run, _) in &runs {
            task.check()?;
            let read = self.table.read(task, run.clone(), columns)?;
            if read.num_rows() as u64 != run.end - run.start {
                return Err(Error::malformed(format!("table: row {} could not be read", run.end - 1)));
            }
            parts.iter_mut().zip(read.columns()).for_each(|(part, column)| part.push(column.clone()));
        }
        let indices = UInt32Array::from(place);
        let mut out = Vec::with_capacity(columns.len());
        for (parts, &column) in parts.iter().zip(columns) {
            let joined = joined(parts, self.schema.field(column).data_type())?;
            out.push(arrow::compute::take(&joined, &indices, None)?);
        }
        Ok(out)
    }
}

impl Table for Filtered {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.answer.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.answer.rows().number());
        let count = (rows.end - rows.start) as usize;
        let wanted = project(&self.schema, columns)?;
        let arrays = if self.whole {
            let read = self.answer.read(task, rows, columns)?;
            let back = |(array, field): (&ArrayRef, &arrow::datatypes::FieldRef)| match array.data_type()
                == field.data_type()
            {
                true => Ok(array.clone()),
                false => arrow::compute::cast(array, field.data_type()),
            };
            read.columns().iter().zip(wanted.fields()).map(back).collect::<Result<_, _>>()?
        } else {
            let numbers = self.numbers(task, rows)?;
            self.gather(task, &numbers, columns)?
        };
        batch(&self.schema, columns, arrays, count)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.table.inferred(column)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.answer.count(task)
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let number = self.numbers(task, row..row.saturating_add(1))?.into_iter().next();
        number.map_or(Ok(None), |number| self.table.location(task, number, column))
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.answer.scan_step(at).min(if self.whole { u64::MAX } else { 1_024 })
    }

    /// Chosen by the numbers that rows have in the table, not by their places here.
    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        let rows = match self.rows() {
            Rows::Exact(rows) if rows > most => rows,
            // Of what is not all there yet, and may be sorted, only the first rows are near.
            rows => return Ok(std::iter::once(0..rows.known().min(most)).collect()),
        };
        // Of a table that is only sorted the rows that stand for it anyway.
        let own = match (self.all, self.table.rows()) {
            (true, Rows::Exact(_)) => Some(self.table.sample(task, most)?),
            (true, _) => Some(crate::data::content::sample::spread(rows, most)),
            (false, _) => None,
        };
        let share = ((u128::from(most) << 64) / u128::from(rows.max(1))).min(u128::from(u64::MAX)) as u64;
        let wanted = |number: u64| match &own {
            Some(ranges) => {
                let at = ranges.partition_point(|range| range.end <= number);
                ranges.get(at).is_some_and(|range| range.contains(&number))
            }
            None => crate::data::content::sample::mixed(number) < share,
        };
        let (mut picked, mut at): (Vec<Range<u64>>, u64) = (Vec::new(), 0);
        while at < rows {
            task.check()?;
            let end = at.saturating_add(self.answer.scan_step(at).max(1)).min(rows);
            for (row, number) in (at..end).zip(self.numbers(task, at..end)?) {
                match picked.last_mut() {
                    _ if !wanted(number) => {}
                    Some(last) if last.end == row => last.end = row + 1,
                    _ => picked.push(row..row + 1),
                }
            }
            at = end;
        }
        Ok(picked)
    }

    fn facts(&self) -> TableFacts {
        let mut facts = self.table.facts();
        facts.row_groups = None;
        facts
    }
}

/// The filter that lets rows through in which some cell of these columns shows `text`, whatever the case: as
/// [`crate::data::cell::shown`] writes it, lists and structs too. Binary columns are not looked at.
pub fn containing(table: &dyn Table, columns: &[usize], text: &str) -> Filter {
    let names = provider::plain_schema(table.schema());
    // Of a text format's cells the text is asked, as it stands.
    let own = if table.is_inferred() { "\u{1}" } else { "" };
    let expression = showing(&names, columns, text, own);
    Filter { conditions: Vec::new(), expression }
}

/// The same condition as any statement over the table may have it; `schema` is that of [`super::pivot::typed`].
pub fn containing_sql(schema: &Schema, columns: &[usize], text: &str) -> String {
    showing(schema, columns, text, "")
}

fn showing(schema: &Schema, columns: &[usize], text: &str, own: &str) -> String {
    let wanted = super::text_literal(&text.to_lowercase());
    let one = |&column: &usize| {
        let field = schema.fields().get(column)?;
        let name = super::quoted(&format!("{own}{}", field.name()));
        let cell = match field.data_type() {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Null => return None,
            DataType::FixedSizeBinary(_) => return None,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => name,
            DataType::Dictionary(_, values) if **values == DataType::Utf8 => {
                format!("CAST({name} AS VARCHAR)")
            }
            // The engine writes them like we do.
            kind if kind.is_integer() || *kind == DataType::Boolean => format!("CAST({name} AS VARCHAR)"),
            _ => format!("{}({name})", super::cell_text::NAME),
        };
        Some(format!("contains(lower({cell}), {wanted})"))
    };
    let parts: Vec<String> = columns.iter().filter_map(one).collect();
    if parts.is_empty() { "FALSE".to_owned() } else { parts.join("\nOR ") }
}
