//! A database of a file as a container of records: its pairs of keys and values in the order of the keys.

use super::layout::Db;
use super::page::{Environment, Piece};
use super::tree::{Entry, Tree};
use super::values::{Kind, datum_node};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::records::container::{self, Container, Each, Problems, Record};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Records that are read between two looks at the task.
const CHECK: usize = 1_024;

/// The database.
pub(super) struct Store {
    /// Its pages.
    pub(super) tree: Tree,
    /// The number of the transaction that all of it is of.
    pub(super) txn: u64,
    /// How many databases it lies in.
    pub(super) level: u8,
    /// What its values are.
    pub(super) kind: Kind,
    problems: Arc<Problems>,
}

impl Store {
    /// The database that a record says.
    pub(super) fn new(environment: &Arc<Environment>, db: Db, txn: u64, level: u8) -> Store {
        let problems: Arc<Problems> = Arc::default();
        let tree = Tree::new(environment, db, db.is(Db::DUP_SORT), problems.clone());
        Store { tree, txn, level, kind: Kind::Bytes, problems }
    }

    /// The file.
    pub(super) fn environment(&self) -> &Arc<Environment> {
        &self.tree.environment
    }

    /// Whether a key may have several values.
    pub(super) fn is_dup(&self) -> bool {
        self.tree.db.is(Db::DUP_SORT)
    }

    /// Fails where another transaction was written since the database was opened: its pages may be used anew.
    ///
    /// # Errors
    /// `Io` then; those of reading.
    pub(super) fn unchanged(&self, task: &Task) -> Result<()> {
        match self.environment().snapshot(task)?.meta.txn == self.txn {
            true => Ok(()),
            false => Err(Error::io("LMDB: another program wrote to the database; it is to be opened again")),
        }
    }

    /// The entries of a range.
    ///
    /// # Errors
    /// As [`Tree::entries`]; `Io` where the file was written to.
    pub(super) fn entries(&self, task: &Task, range: Range<u64>) -> Result<Vec<Entry>> {
        let found = self.tree.entries(task, range);
        self.unchanged(task)?;
        found
    }

    /// A key as the integer of a machine.
    pub(super) fn integer(&self, key: &[u8]) -> Option<u64> {
        let big = self.environment().layout.big;
        match key.len() {
            4 => ordered::<u32>(big, key, 0).map(u64::from),
            8 => ordered(big, key, 0),
            _ => None,
        }
    }

    /// The keys that a name may stand for.
    fn keys_of(&self, task: &Task, name: &str) -> Result<Vec<Bytes>> {
        let mut keys = Vec::new();
        if self.tree.db.is(Db::INTEGER_KEY)
            && let Ok(number) = name.parse::<u64>()
        {
            let size = self.tree.entries(task, 0..1)?.first().map_or(8, |entry| entry.key.len());
            let mut bytes = number.to_le_bytes().to_vec();
            bytes.truncate(size);
            if self.environment().layout.big {
                bytes.reverse();
            }
            keys.push(bytes.into());
        }
        let digits = name.strip_prefix("0x").filter(|digits| digits.len() % 2 == 0).map(str::as_bytes);
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        if let Some(bytes) = digits.and_then(|digits| digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>())
        {
            keys.push(bytes.into());
        }
        keys.push(Bytes::copy_from_slice(name.as_bytes()));
        Ok(keys)
    }

    fn record(&self, entry: Entry) -> Record {
        let Piece { span, .. } = entry.value;
        Record { number: entry.number, len: span.end - span.start, key: Some(entry.key), span }
    }
}

impl Container for Store {
    fn source(&self) -> &Source {
        &self.environment().source
    }

    fn formats(&self) -> Formats {
        crate::formats::ALL
    }

    /// As the file says, until all leaves were counted.
    fn rows(&self) -> Rows {
        match self.tree.known() {
            (rows, true) => Rows::Exact(rows),
            _ => Rows::Exact(self.tree.db.entries),
        }
    }

    fn measure(&self, _task: &Task) -> Result<u64> {
        Ok(self.rows().number())
    }

    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>> {
        let entries = self.entries(task, range)?;
        Ok(entries.into_iter().map(|entry| self.record(entry)).collect())
    }

    fn read(&self, task: &Task, records: &[Record], each: &mut Each<'_>) -> Result<()> {
        let environment = self.environment();
        let size = environment.page;
        let (mut page, mut bytes) = (u64::MAX, Bytes::new());
        self.unchanged(task)?;
        for (n, record) in records.iter().enumerate() {
            if n.is_multiple_of(CHECK) || record.len > 1 << 20 {
                task.check()?;
            }
            let span = &record.span;
            let here = span.start - span.start % size;
            if span.is_empty() {
                each(record, Ok(&[]))?;
                continue;
            }
            if span.end > environment.len {
                each(record, Err(Error::malformed("LMDB: a value cannot be found").at(environment.len)))?;
                continue;
            }
            if span.end <= here + size {
                // Many values lie on one page.
                if page != here {
                    bytes = environment.source.read_up_to(task, here, size as usize)?;
                    page = here;
                }
                let range = (span.start - here) as usize..(span.end - here) as usize;
                each(record, Ok(bytes.get(range).unwrap_or_default()))?;
                continue;
            }
            let read = limits::check(record.len, limits::CHUNK, "a value")
                .and_then(|_| environment.source.read(task, span.clone()));
            match read.unless_cancelled()? {
                Ok(bytes) => each(record, Ok(&bytes))?,
                Err(error) => each(record, Err(error))?,
            }
        }
        self.unchanged(task)
    }

    fn average(&self) -> u64 {
        let [_, leaves, large] = self.tree.db.pages;
        let bytes = leaves.saturating_add(large).saturating_mul(self.environment().page);
        bytes.min(self.environment().len) / self.tree.db.entries.max(1)
    }

    fn problems(&self) -> &Arc<Problems> {
        &self.problems
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn name(&self, record: &Record) -> String {
        let key = record.key.as_deref().unwrap_or_default();
        let integer = if self.tree.db.is(Db::INTEGER_KEY) { self.integer(key) } else { None };
        let name = integer.map_or_else(|| container::key_text(key), |number| number.to_string());
        // Values of one key are told apart by their numbers.
        if self.is_dup() { format!("{name} ({})", record.number) } else { name }
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Record>> {
        let number = if self.is_dup() {
            name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")?.1.parse::<u64>().ok())
        } else {
            let mut number = None;
            for key in self.keys_of(task, name)? {
                number = number.or(self.tree.number_of(task, &key)?);
            }
            number
        };
        let Some(number) = number else { return Ok(None) };
        let record = self.records(task, number..number.saturating_add(1))?.pop();
        Ok(record.filter(|record| self.name(record) == name))
    }

    fn node(&self, task: &Task, record: &Record) -> Result<Node> {
        let may_be_database = record.len == self.environment().layout.record() as u64 && !self.is_dup();
        if may_be_database
            && let Some(Entry { db: Some(db), .. }) =
                self.entries(task, record.number..record.number.saturating_add(1))?.pop()
        {
            return super::database(
                task,
                self.environment(),
                self.txn,
                self.name(record),
                db,
                self.level + 1,
            );
        }
        let payload = container::payload(self, task, record)?;
        if self.kind == Kind::Datum
            && let Some(source) = &payload.source
            && let Some(node) = datum_node(task, source, &self.name(record))?
        {
            return Ok(node);
        }
        payload.open(task, self.formats(), self.name(record))
    }
}
