//! Shelves: Python's objects by name in a database of keys and bytes (`shelve`), and the databases themselves (`dbm`),
//! by whatever library wrote them.
//! <https://docs.python.org/3/library/shelve.html>, <https://docs.python.org/3/library/dbm.html>
//!
//! | part | what it reads |
//! |---|---|
//! | `dumb` | `dbm.dumb`: a text of keys and places, and a file of values beside it |
//! | `gdbm` | GNU dbm: buckets of places in one file |
//! | `berkeley` | Berkeley DB's hash tables, which `dbm.ndbm` writes on Linux |
//! | `sqlite` | `dbm.sqlite3`: a table of keys and values |
//! | `store` | the folder that IPython's `%store` keeps, a pickle a file |

mod berkeley;
mod dumb;
mod gdbm;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;

pub use store::FORMAT as STORE;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::{Listing, Node, NodeStatistics, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::pickle::{self, Report};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["shelve", "shelf", "dir", "gdbm", "sqlite_dbm", "pag"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Bytes],
    ..Format::new("shelve", "Python shelf (dbm)", open)
};

/// The most entries of a database.
const ENTRIES: u64 = 16 << 20;
/// Bytes of a key, and of values that are looked at for names when the file is opened.
const KEY: u64 = 16 << 20;
const LOOKED_AT: u64 = 16 << 20;
/// Values that are looked at then.
const VALUES: usize = 10_000;

/// Where a value lies.
#[derive(Clone, Debug)]
enum Place {
    /// In one piece.
    At(Range<u64>),
    /// On pages that follow each other, from this one on; so many bytes in all.
    Pages(u64, u64),
    /// In this row of a table.
    Row(u64),
}

/// A key and where its value lies.
#[derive(Clone, Debug)]
struct Entry {
    key: Bytes,
    value: Place,
}

/// Gives out values.
trait Values: Send + Sync {
    /// The bytes of a value.
    fn value(&self, task: &Task, place: &Place) -> Result<Source>;
}

/// A database that was read as far as its keys.
struct Database {
    /// What wrote it.
    library: &'static str,
    entries: Vec<Entry>,
    values: Box<dyn Values>,
    problem: Option<Error>,
}

fn sniff(head: &Head) -> Match {
    let sure = !head.is_folder
        && (gdbm::is(&head.first) || berkeley::is(&head.first) || dumb::is(head) || sqlite::is(head));
    if sure { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source, first) = (opening.task, opening.source, &opening.head.first);
    let database = if gdbm::is(first) {
        gdbm::read(task, source)?
    } else if berkeley::is(first) {
        berkeley::read(task, source)?
    } else if sqlite::is(opening.head) {
        sqlite::read(task, source)?
    } else {
        dumb::read(task, source)?
    };
    node(task, source.name(), database)
}

/// The entries as a tree: one child each, in the order in which they stand in the file.
fn node(task: &Task, name: &str, database: Database) -> Result<Node> {
    let shared = Arc::new(database);
    let mut node = Node::new(name, "dbm").read_as("library", shared.library);
    node.length = Some(shared.entries.len() as u64);
    node.problem.clone_from(&shared.problem);
    let report = report(task, &shared)?;
    node = node.statistics(Statistics(shared.clone())).lazy(Below(shared));
    Ok(match report {
        Some(report) => node.python(report),
        None => node,
    })
}

/// What the values that are pickles would import; `None` where none is.
fn report(task: &Task, database: &Database) -> Result<Option<Report>> {
    let (mut report, mut bytes) = (None::<Report>, 0u64);
    for (n, entry) in database.entries.iter().enumerate() {
        if n >= VALUES || bytes > LOOKED_AT {
            let what = format!("the first {n} of {} values were looked into", database.entries.len());
            report.get_or_insert_default().incomplete(Error::limit(what));
            break;
        }
        let read = database.values.value(task, &entry.value).and_then(|source| {
            let len = source.len(task)?;
            let first = source.read_up_to(task, 0, 1 << 10)?;
            let beginning = pickle::beginning(&first, Some(len), None);
            if !(beginning.sure || beginning.likely && first.first() == Some(&0x80)) {
                return Ok(None);
            }
            source.read(task, 0..limits::check(len, LOOKED_AT, "a value")? as u64).map(Some)
        });
        match read.unless_cancelled()? {
            Ok(None) => {}
            Ok(Some(value)) => {
                bytes += value.len() as u64;
                report.get_or_insert_default().merge(pickle::examine(task, &value)?);
            }
            Err(error) => report.get_or_insert_default().incomplete(error),
        }
    }
    Ok(report)
}

/// A key as a name.
fn name(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => text.to_owned(),
        Err(_) => key.escape_ascii().to_string(),
    }
}

/// The entries as children.
struct Below(Arc<Database>);

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.0.entries.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| {
            let entry = usize::try_from(n).ok().and_then(|n| self.0.entries.get(n));
            let Some(Entry { key, value }) = entry else { return Ok(None) };
            let (database, value) = (self.0.clone(), value.clone());
            let empty = matches!(&value, Place::At(range) if range.is_empty());
            let name = name(key);
            if empty {
                return Ok(Some(Arc::new(Node::new(name, "value").remark("it is empty (0 bytes)"))));
            }
            let make = move |task: &Task| database.values.value(task, &value);
            Ok(Some(Arc::new(crate::formats::ALL.nested(name, "value", Options::default(), make))))
        })
    }
}

/// All entries in the order of their keys.
struct Statistics(Arc<Database>);

impl NodeStatistics for Statistics {
    fn kind(&self) -> &'static str {
        "records"
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        let mut order: Vec<&Entry> = self.0.entries.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0u64);
        task.set_total(order.len() as u64);
        for entry in &order {
            task.advance(1)?;
            crc.update(&entry.key);
            crc.update(&[0]);
            let source = self.0.values.value(task, &entry.value)?;
            let len = source.len(task)?;
            for start in (0..len).step_by(1 << 20) {
                task.check()?;
                crc.update(&source.read(task, start..len.min(start + (1 << 20)))?);
            }
            bytes = bytes.saturating_add(len);
        }
        Ok(vec![("records", order.len().into()), ("bytes", bytes.into()), ("crc32", crc.finalize().into())])
    }
}

/// Values in pieces of a file.
struct Pieces(Source);

impl Values for Pieces {
    fn value(&self, _task: &Task, place: &Place) -> Result<Source> {
        match place {
            Place::At(range) => self.0.member("value", range.clone()),
            _ => Err(Error::bug("a value that lies in no piece")),
        }
    }
}
