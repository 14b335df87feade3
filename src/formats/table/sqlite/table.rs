//! A table or view by row range. Rows of a table come in the order of its row numbers (of its primary key,
//! where it has none): a sparse index of keys, made by the count, finds any of them without OFFSET. Where
//! pages are damaged, the index is made from the pages themselves ([`btree`]), and rows are read in the
//! stretches between the damaged places.

use super::btree::{self, Damaged, Mark};
use super::columns::{Builder, Column, Seen};
use super::database::{Database, quoted};
use super::place::{self, HeldPart, Stored};
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::TableFacts;
use crate::data::content::table::{Columns, Rows, Table, batch, cut};
use crate::data::location::{BytePlace, Location, Owner};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use parking_lot::Mutex;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use std::ops::Range;
use std::sync::Arc;

/// Rows between two keys of the index.
pub(super) const STEP: u64 = 4_096;
/// Rows that are looked at for types.
const SAMPLE: u64 = 200;
/// Damaged places that the inspector names.
const NAMED: usize = 100;

/// How rows are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// By the row number, under one of its names that no column has taken.
    RowId(&'static str),
    /// By the primary key's columns (WITHOUT ROWID).
    Columns(Vec<String>),
    /// By their order alone: views, virtual tables.
    None,
}

/// What the schema says of a table.
pub(super) struct TableSchema {
    /// Its name.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) key: Key,
    /// The first page of its tree, where that can be walked in the order of its rows.
    pub(super) root: Option<u32>,
}

/// How much of a table is looked at when it is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing but what the schema says.
    Schema,
    /// The first rows.
    First,
    /// The first rows, and whether its pages are sound.
    Pages,
}

/// A table or view.
pub(super) struct SqlTable {
    database: Arc<Database>,
    /// Its name in quotes.
    name: String,
    /// The same as it is.
    plain_name: String,
    columns: Vec<Column>,
    fields: Columns,
    key: Key,
    root: Option<u32>,
    known: Mutex<Known>,
}

/// What is known of its rows.
#[derive(Default)]
struct Known {
    /// The first and the last row number.
    ends: Option<(i64, i64)>,
    /// These could not be found.
    endless: bool,
    total: Option<u64>,
    /// Row numbers follow one another without a gap.
    dense: bool,
    /// The index: the first row, every STEP-th at least, and each behind a damaged place.
    marks: Vec<Mark>,
    /// What cannot be read; `None` where nobody looked.
    damage: Option<Arc<[Damaged]>>,
}

impl Known {
    /// The last mark up to a row, and the end of the stretch of readable rows that it stands in.
    fn mark(&self, row: u64) -> Option<(&Mark, u64)> {
        let behind = self.marks.partition_point(|mark| mark.row <= row);
        let mark = self.marks.get(behind.checked_sub(1)?)?;
        let next = self.marks.get(behind..)?.iter().find(|mark| mark.begins);
        Some((mark, next.map_or(u64::MAX, |next| next.row)))
    }
}

impl SqlTable {
    /// Looks at the first rows, for the types of columns.
    pub(super) fn open(
        task: &Task,
        database: Arc<Database>,
        told: TableSchema,
        look: Look,
    ) -> Result<SqlTable> {
        let mut table = SqlTable {
            database,
            name: quoted(&told.name),
            plain_name: told.name,
            columns: told.columns,
            fields: Arc::new(Schema::empty()).into(),
            key: told.key,
            root: told.root,
            known: Mutex::default(),
        };
        if look == Look::Pages {
            table.find_damage(task)?;
        }
        let mut seen = vec![Seen::nothing(); table.columns.len()];
        if look != Look::Schema {
            // What cannot be read says so when its rows are asked for.
            drop(table.sample(task, &mut seen).unless_cancelled()?);
        }
        if let (Key::RowId(rowid), name) = (&table.key, &table.name) {
            let found = table.database.with(task, |db| ends(db, name, rowid)).unless_cancelled()?;
            let mut known = table.known.lock();
            known.endless = found.is_err();
            known.ends = found.unwrap_or(None);
        }
        table.fields = table.columns.iter().zip(&seen).map(|(column, seen)| column.field(seen)).collect();
        Ok(table)
    }

    /// What of it cannot be read, as far as that is known.
    pub(super) fn problem(&self) -> Option<Error> {
        self.known.lock().damage.as_ref().and_then(|damage| btree::problem(damage))
    }

    /// Looks for damaged pages, once; whether this was that time and there are any. Rows are counted anew
    /// then: those that can be read.
    fn find_damage(&self, task: &Task) -> Result<bool> {
        let columns = match (&self.key, self.known.lock().damage.is_some()) {
            (Key::None, _) | (_, true) => return Ok(false),
            (Key::RowId(_), false) => None,
            (Key::Columns(names), false) => Some(names.len()),
        };
        let Some(root) = self.root else { return Ok(false) };
        let pages = self.database.pages(task)?;
        let found = btree::walk(task, &pages, root, columns)?;
        let mut known = self.known.lock();
        let damaged = !found.damage.is_empty();
        if damaged {
            (known.total, known.dense, known.marks) = (Some(found.rows), false, found.marks);
        }
        known.damage = Some(found.damage.into());
        Ok(damaged)
    }

    /// Does `work`; once more where it met a damaged page that nobody knew of.
    fn around<T>(&self, task: &Task, work: impl Fn() -> Result<T>) -> Result<T> {
        match work() {
            Err(error) if error.kind() == ErrorKind::Malformed && self.find_damage(task)? => work(),
            other => other,
        }
    }

    /// Sees the first rows.
    fn sample(&self, task: &Task, seen: &mut [Seen]) -> Result<()> {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        let (names, name) = (names.join(", "), &self.name);
        let total = self.known.lock().total;
        let queries = match total {
            Some(total) => self.queries(&(0..total.min(SAMPLE)), &names),
            None => vec![(format!("SELECT {names} FROM {name} LIMIT {SAMPLE}"), Vec::new())],
        };
        self.database.with(task, |db| {
            for (sql, values) in &queries {
                let mut statement = db.prepare(sql)?;
                let mut rows = statement.query(params_from_iter(values))?;
                while let Some(row) = rows.next()? {
                    for (at, seen) in seen.iter_mut().enumerate() {
                        seen.see(row.get_ref(at)?);
                    }
                }
            }
            Ok(())
        })
    }

    fn select(&self, columns: &[usize]) -> Result<String> {
        let mut names = Vec::new();
        for &column in columns {
            let known = self.columns.get(column);
            let known = known.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            names.push(quoted(&known.name));
        }
        if names.is_empty() {
            names.push("1".to_owned());
        }
        Ok(names.join(", "))
    }

    /// The columns that rows are ordered by, in quotes.
    fn order(&self) -> Option<String> {
        match &self.key {
            Key::RowId(name) => Some((*name).to_owned()),
            Key::Columns(names) => Some(names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
            Key::None => None,
        }
    }

    /// The statements for `rows`, one for each stretch of readable ones, and their parameters.
    fn queries(&self, rows: &Range<u64>, select: &str) -> Vec<(String, Vec<Value>)> {
        let known = self.known.lock();
        let mut queries = Vec::new();
        let mut at = rows.start;
        loop {
            let (from, begin, end) = match (&self.key, known.ends, known.mark(at)) {
                (Key::RowId(_), Some((first, _)), _) if known.dense || known.total.is_none() => {
                    let first = first.saturating_add(i64::try_from(at).unwrap_or(i64::MAX));
                    (vec![Value::Integer(first)], at, rows.end)
                }
                (_, _, Some((mark, end))) => (mark.key.clone(), mark.row, end.min(rows.end)),
                _ => (Vec::new(), 0, rows.end),
            };
            queries.push(self.query(select, from, end.saturating_sub(at), at - begin.min(at)));
            at = end;
            if at >= rows.end {
                return queries;
            }
        }
    }

    /// The statement for `count` rows after the `skip` ones from a key on.
    fn query(&self, select: &str, from: Vec<Value>, count: u64, skip: u64) -> (String, Vec<Value>) {
        let mut sql = format!("SELECT {select} FROM {}", self.name);
        let mut values = from;
        if let Some(order) = self.order() {
            if !values.is_empty() {
                let marks = vec!["?"; values.len()].join(", ");
                sql.push_str(&format!(" WHERE ({order}) >= ({marks})"));
            }
            sql.push_str(&format!(" ORDER BY {order}"));
        }
        sql.push_str(" LIMIT ? OFFSET ?");
        let number = |n: u64| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        values.extend([number(count), number(skip)]);
        (sql, values)
    }

    fn rows_of(
        &self,
        task: &Task,
        queries: &[(String, Vec<Value>)],
        columns: &[usize],
    ) -> Result<RecordBatch> {
        let mut builders: Vec<Builder> = Vec::new();
        for &column in columns {
            let field = self.fields.schema.fields().get(column);
            let field = field.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            builders.push(Builder::new(field.data_type()));
        }
        let mut count = 0usize;
        let mut over = None;
        let (read, bytes) = (&mut count, &mut over);
        let result = self.database.with(task, |db| {
            let mut total = 0u64;
            for (sql, values) in queries {
                let mut statement = db.prepare(sql)?;
                let mut found = statement.query(params_from_iter(values))?;
                while let Some(row) = found.next()? {
                    for (at, builder) in builders.iter_mut().enumerate() {
                        total += builder.push(row.get_ref(at)?);
                    }
                    *read += 1;
                    if let Err(error) = limits::check(total.saturating_mul(2), limits::READ - 1, "these rows")
                    {
                        *bytes = Some(error);
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        match (result, over) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => {
                let arrays = builders.into_iter().map(Builder::finish).collect();
                batch(&self.fields.schema, columns, arrays, count)
            }
            (Err(error), None) => Err(error.in_node(&self.name)),
        }
    }

    /// Counts the rows and notes their keys.
    fn index(&self, task: &Task) -> Result<u64> {
        let ends = self.known.lock().ends;
        let name = &self.name;
        let Some(order) = self.order() else {
            let total = self.counted(task)?;
            self.known.lock().total = Some(total);
            return Ok(total);
        };
        if let (Key::RowId(_), Some((first, last))) = (&self.key, ends)
            && let Ok(total) = self.counted(task)
            && i128::from(total) == i128::from(last) - i128::from(first) + 1
        {
            let mut known = self.known.lock();
            (known.total, known.dense) = (Some(total), true);
            return Ok(total);
        }
        // An index of the database's own may have rows that the table has lost.
        let sql = format!("SELECT {order} FROM {name} NOT INDEXED ORDER BY {order}");
        let (mut total, mut marks) = (0u64, Vec::new());
        self.database
            .with(task, |db| {
                let mut statement = db.prepare(&sql)?;
                let width = statement.column_count();
                let mut found = statement.query([])?;
                while let Some(row) = found.next()? {
                    if total.is_multiple_of(STEP) {
                        let key = (0..width).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?;
                        marks.push(Mark { row: total, key, begins: false });
                    }
                    total += 1;
                }
                Ok(())
            })
            .map_err(|error| error.in_node(name))?;
        let mut known = self.known.lock();
        (known.total, known.marks) = (Some(total), marks);
        Ok(total)
    }

    /// What SQLite itself counts.
    fn counted(&self, task: &Task) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", self.name);
        let total: i64 = self.database.with(task, |db| db.query_row(&sql, [], |row| row.get(0)))?;
        Ok(total as u64)
    }
}

impl SqlTable {
    /// The column whose value has this number in records.
    fn column_of(&self, task: &Task, value: usize) -> Result<Option<usize>> {
        for (at, column) in self.columns.iter().enumerate() {
            let stored = place::stored(task, &self.database, &self.plain_name, &column.name)?;
            if matches!(stored, Some(Stored::Value(number)) if number == value) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The row, as [`Table::read`] counts, of a row number.
    fn row_of(&self, task: &Task, id: i64) -> Result<u64> {
        let (from, before) = {
            let known = self.known.lock();
            if let Some((first, _)) = known.ends.filter(|_| known.dense || known.total.is_none()) {
                return Ok(u64::try_from(i128::from(id) - i128::from(first)).unwrap_or(0));
            }
            let number = |mark: &Mark| match mark.key.first() {
                Some(Value::Integer(number)) => *number,
                _ => i64::MAX,
            };
            let behind = known.marks.partition_point(|mark| number(mark) <= id);
            match behind.checked_sub(1).and_then(|n| known.marks.get(n)) {
                Some(mark) => (number(mark), mark.row),
                None => (i64::MIN, 0),
            }
        };
        let Key::RowId(rowid) = &self.key else { return Ok(0) };
        let sql = format!("SELECT count(*) FROM {} WHERE {rowid} >= ? AND {rowid} < ?", self.name);
        let count: i64 = self.database.with(task, |db| db.query_row(&sql, [from, id], |row| row.get(0)))?;
        Ok(before.saturating_add(u64::try_from(count).unwrap_or(0)))
    }
}

/// The first and the last row number.
fn ends(db: &Connection, name: &str, rowid: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let one = |end: &str| -> rusqlite::Result<Option<i64>> {
        db.query_row(&format!("SELECT {end}({rowid}) FROM {name}"), [], |row| row.get(0))
    };
    Ok(one("min")?.zip(one("max")?))
}

impl Table for SqlTable {
    fn schema(&self) -> &SchemaRef {
        &self.fields.schema
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.fields.inferred(column)
    }

    fn rows(&self) -> Rows {
        let known = self.known.lock();
        match (known.total, known.ends, &self.key) {
            (Some(total), ..) => Rows::Exact(total),
            (None, None, Key::RowId(_)) if !known.endless => Rows::Exact(0),
            (None, Some((first, last)), _) => {
                let span = (i128::from(last) - i128::from(first) + 1).clamp(1, i128::from(u64::MAX));
                Rows::About { rows: span as u64, known: 1 }
            }
            _ => Rows::AtLeast(0),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let select = self.select(columns)?;
        self.around(task, || {
            let total = self.known.lock().total;
            let rows = cut(&rows, total.unwrap_or(u64::MAX));
            let queries = if rows.is_empty() { Vec::new() } else { self.queries(&rows, &select) };
            self.rows_of(task, &queries, columns)
        })
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.around(task, || match self.rows().exact() {
            Some(total) => Ok(total),
            None => self.index(task),
        })
    }

    /// The last rows come from the end, without a count.
    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let total = self.rows().exact();
        let (Key::RowId(order), None) = (&self.key, total) else {
            let total = self.count(task)?;
            let first = total.saturating_sub(count);
            return Ok((Some(first), self.read(task, first..total, columns)?));
        };
        let (select, name) = (self.select(columns)?, &self.name);
        let inner = format!("SELECT {order} AS at FROM {name} ORDER BY {order} DESC LIMIT ?");
        let sql = format!(
            "SELECT {select} FROM {name} WHERE {order} >= (SELECT min(at) FROM ({inner})) ORDER BY {order}"
        );
        let most = Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
        match self.rows_of(task, &[(sql, vec![most])], columns) {
            Err(error) if error.kind() == ErrorKind::Malformed && self.find_damage(task)? => {
                self.tail(task, count, columns)
            }
            other => Ok((None, other?)),
        }
    }

    /// Of tables with row numbers.
    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let (Key::RowId(rowid), Some(root), Some(known)) = (&self.key, self.root, self.columns.get(column))
        else {
            return Ok(None);
        };
        let stored = match known.row_number {
            true => Some(Stored::RowNumber),
            false => place::stored(task, &self.database, &self.plain_name, &known.name)?,
        };
        let Some(stored) = stored else { return Ok(None) };
        // Until all are counted rows are taken to follow one another without a gap.
        self.count(task)?;
        let queries = self.queries(&(row..row.saturating_add(1)), rowid);
        let Some((sql, values)) = queries.into_iter().next() else { return Ok(None) };
        let number =
            |db: &Connection| db.query_row(&sql, params_from_iter(&values), |row| row.get(0)).optional();
        let Some(id) = self.database.with(task, number)? else { return Ok(None) };
        place::location(task, self.database.pages(task)?, root, id, &stored)
    }

    /// Of tables with row numbers.
    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let (Key::RowId(_), Some(root)) = (&self.key, self.root) else { return Ok(None) };
        let pages = self.database.pages(task)?;
        let Some(held) = place::owner(task, &pages, root, byte)? else { return Ok(None) };
        self.count(task)?;
        let row = self.row_of(task, held.id)?;
        let (column, exact) = match held.part {
            HeldPart::RowNumber => (self.columns.iter().position(|column| column.row_number), true),
            HeldPart::Value(value, own) => (self.column_of(task, value)?, own),
            HeldPart::None => (None, false),
        };
        Ok(Some(Owner::of_row(held.page, row, column, exact && column.is_some())))
    }

    fn scan_step(&self, _at: u64) -> u64 {
        16_384
    }

    fn facts(&self) -> TableFacts {
        let line = |column: &Column| {
            let declared = if column.declared.is_empty() { "none" } else { &column.declared };
            vec![("declared type".to_owned(), declared.to_owned())]
        };
        let damage = self.known.lock().damage.clone();
        let named = damage.iter().flat_map(|damage| damage.iter()).take(NAMED);
        let details = named.map(|damaged| ("damaged".to_owned(), damaged.words.clone())).collect();
        TableFacts { columns: self.columns.iter().map(line).collect(), details, ..TableFacts::default() }
    }
}
