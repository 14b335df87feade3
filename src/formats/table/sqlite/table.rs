//! A table or view by row range. Rows of a table come in the order of its row numbers (of its primary key,
//! where it has none): a sparse index of keys, made by the count, finds any of them without OFFSET.

use super::columns::{Builder, Column, Seen};
use super::database::{Database, quoted};
use crate::content::TableFacts;
use crate::content::table::{Rows, Table, batch};
use crate::error::{Error, Result};
use crate::limits;
use crate::task::Task;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use parking_lot::Mutex;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::ops::Range;
use std::sync::Arc;

/// Rows between two keys of the index.
const STEP: u64 = 4_096;
/// Rows that are looked at for types.
const SAMPLE: usize = 200;

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

/// A table or view.
pub(super) struct SqlTable {
    database: Arc<Database>,
    /// Its name in quotes.
    name: String,
    columns: Vec<Column>,
    schema: SchemaRef,
    key: Key,
    known: Mutex<Known>,
}

/// What is known of its rows.
#[derive(Default)]
struct Known {
    /// The first and the last row number.
    ends: Option<(i64, i64)>,
    total: Option<u64>,
    /// Row numbers follow one another without a gap.
    dense: bool,
    /// The key of every STEP-th row.
    keys: Vec<Vec<Value>>,
}

impl SqlTable {
    /// Looks at the first rows, for the types of columns.
    pub(super) fn open(
        task: &Task,
        database: Arc<Database>,
        name: &str,
        columns: Vec<Column>,
        key: Key,
        look: bool,
    ) -> Result<SqlTable> {
        let mut seen = vec![Seen::nothing(); columns.len()];
        let mut known = Known::default();
        let name = quoted(name);
        if look {
            // What cannot be read says so when its rows are asked for.
            let looked = database.with(task, |db| sample(db, &name, &columns, &mut seen));
            if let Err(error) = looked
                && error.is_cancelled()
            {
                return Err(error);
            }
        }
        if let Key::RowId(rowid) = key {
            known.ends = database.with(task, |db| ends(db, &name, rowid)).ok().flatten();
        }
        let fields: Vec<_> = columns.iter().zip(&seen).map(|(column, seen)| column.field(seen)).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(SqlTable { database, name, columns, schema, key, known: Mutex::new(known) })
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

    /// The statement for `rows`, and its parameters.
    fn query(&self, rows: &Range<u64>, columns: &[usize]) -> Result<(String, Vec<Value>)> {
        let (select, name) = (self.select(columns)?, &self.name);
        let most = i64::try_from(rows.end - rows.start).unwrap_or(i64::MAX);
        let known = self.known.lock();
        let (from, begin) = match (&self.key, known.ends) {
            (Key::RowId(_), Some((first, _))) if known.dense || known.total.is_none() => {
                let at = first.saturating_add(i64::try_from(rows.start).unwrap_or(i64::MAX));
                (vec![Value::Integer(at)], rows.start)
            }
            _ => {
                let mark = (rows.start / STEP).min((known.keys.len() as u64).saturating_sub(1));
                match known.keys.get(mark as usize) {
                    Some(key) => (key.clone(), mark * STEP),
                    None => (Vec::new(), 0),
                }
            }
        };
        let skip = i64::try_from(rows.start - begin.min(rows.start)).unwrap_or(i64::MAX);
        let mut sql = format!("SELECT {select} FROM {name}");
        let mut values = from;
        if let Some(order) = self.order() {
            if !values.is_empty() {
                let marks = vec!["?"; values.len()].join(", ");
                sql.push_str(&format!(" WHERE ({order}) >= ({marks})"));
            }
            sql.push_str(&format!(" ORDER BY {order}"));
        }
        sql.push_str(" LIMIT ? OFFSET ?");
        values.extend([Value::Integer(most), Value::Integer(skip)]);
        Ok((sql, values))
    }

    fn rows_of(&self, task: &Task, sql: &str, values: &[Value], columns: &[usize]) -> Result<RecordBatch> {
        let mut builders: Vec<Builder> = Vec::new();
        for &column in columns {
            let field = self.schema.fields().get(column);
            let field = field.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            builders.push(Builder::new(field.data_type()));
        }
        let mut count = 0usize;
        let mut over = None;
        let (read, bytes) = (&mut count, &mut over);
        let result = self.database.with(task, |db| {
            let mut statement = db.prepare(sql)?;
            let mut found = statement.query(params_from_iter(values))?;
            let mut total = 0u64;
            while let Some(row) = found.next()? {
                for (at, builder) in builders.iter_mut().enumerate() {
                    total += builder.push(row.get_ref(at)?);
                }
                *read += 1;
                if let Err(error) = limits::check(total.saturating_mul(2), limits::READ - 1, "these rows") {
                    *bytes = Some(error);
                    break;
                }
            }
            Ok(())
        });
        match (result, over) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => {
                let arrays = builders.into_iter().map(Builder::finish).collect();
                batch(&self.schema, columns, arrays, count)
            }
            (Err(error), None) => Err(error.in_node(&self.name)),
        }
    }

    /// Counts the rows and notes their keys.
    fn index(&self, task: &Task) -> Result<Known> {
        let ends = self.known.lock().ends;
        let (name, mut known) = (&self.name, Known { ends, ..Known::default() });
        let Some(order) = self.order() else {
            let sql = format!("SELECT count(*) FROM {name}");
            let total: i64 = self.database.with(task, |db| db.query_row(&sql, [], |row| row.get(0)))?;
            known.total = Some(total as u64);
            return Ok(known);
        };
        if let (Key::RowId(_), Some((first, last))) = (&self.key, ends) {
            let sql = format!("SELECT count(*) FROM {name}");
            let counted: Result<i64> =
                self.database.with(task, |db| db.query_row(&sql, [], |row| row.get(0)));
            let span = i128::from(last) - i128::from(first) + 1;
            if let Ok(total) = counted
                && i128::from(total) == span
            {
                known.total = Some(total as u64);
                known.dense = true;
                return Ok(known);
            }
        }
        let sql = format!("SELECT {order} FROM {name} ORDER BY {order}");
        let mut total = 0u64;
        let keys = &mut known.keys;
        let counted = self.database.with(task, |db| {
            let mut statement = db.prepare(&sql)?;
            let width = statement.column_count();
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                if total.is_multiple_of(STEP) {
                    let key: rusqlite::Result<Vec<Value>> = (0..width).map(|at| row.get(at)).collect();
                    keys.push(key?);
                }
                total += 1;
            }
            Ok(())
        });
        match counted {
            // The rows before a damaged page are there.
            Err(error) if total == 0 || error.is_cancelled() => Err(error.in_node(name)),
            _ => {
                known.total = Some(total);
                Ok(known)
            }
        }
    }
}

fn sample(db: &Connection, name: &str, columns: &[Column], seen: &mut [Seen]) -> rusqlite::Result<()> {
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let mut statement = db.prepare(&format!("SELECT {} FROM {name} LIMIT {SAMPLE}", names.join(", ")))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (at, seen) in seen.iter_mut().enumerate() {
            seen.see(row.get_ref(at)?);
        }
    }
    Ok(())
}

fn ends(db: &Connection, name: &str, rowid: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let one = |end: &str| -> rusqlite::Result<Option<i64>> {
        db.query_row(&format!("SELECT {end}({rowid}) FROM {name}"), [], |row| row.get(0))
    };
    Ok(one("min")?.zip(one("max")?))
}

impl Table for SqlTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        let known = self.known.lock();
        match (known.total, known.ends, &self.key) {
            (Some(total), ..) => Rows::Exact(total),
            (None, None, Key::RowId(_)) => Rows::Exact(0),
            (None, Some((first, last)), _) => {
                let span = (i128::from(last) - i128::from(first) + 1).clamp(1, i128::from(u64::MAX));
                Rows::About { rows: span as u64, known: 1 }
            }
            _ => Rows::AtLeast(0),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = rows.start..rows.end.max(rows.start);
        let (sql, values) = self.query(&rows, columns)?;
        self.rows_of(task, &sql, &values, columns)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        if let Some(total) = self.rows().exact() {
            return Ok(total);
        }
        let found = self.index(task)?;
        let total = found.total.unwrap_or(0);
        *self.known.lock() = found;
        Ok(total)
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
        Ok((None, self.rows_of(task, &sql, &[most], columns)?))
    }

    fn scan_step(&self, _at: u64) -> u64 {
        16_384
    }

    fn facts(&self) -> TableFacts {
        let line = |column: &Column| {
            let declared = if column.declared.is_empty() { "none" } else { &column.declared };
            vec![("declared type".to_owned(), declared.to_owned())]
        };
        TableFacts { columns: self.columns.iter().map(line).collect(), ..TableFacts::default() }
    }
}
