//! A database: read-only connections with defensive settings (<https://www.sqlite.org/security.html>), and its
//! errors in our words.

use super::pages::{self, Pages};
use super::vfs::{self, Files, Registered};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, ffi};
use std::sync::Arc;

/// Connections that are kept open.
const KEPT: usize = 4;
/// Steps of SQLite's machine between two looks at the task.
const STEPS: i32 = 10_000;
/// The largest value, in bytes.
const VALUE: i32 = 1 << 30;

/// A database. Its connections are lent to one reader at a time.
pub(super) struct Database {
    source: Source,
    wal: Option<Source>,
    /// How long the file would be with all pages that its header promises, where it is cut off.
    promised: Option<u64>,
    idle: Mutex<Vec<Lent>>,
}

/// A connection and the files below it.
struct Lent {
    connection: Connection,
    files: Arc<Files>,
    _name: Registered,
}

impl Database {
    /// The database in `source`, with the write-ahead log beside it, if there is one.
    pub(super) fn open(task: &Task, source: &Source, header: &[u8]) -> Result<Database> {
        let wal = beside(task, source, "-wal");
        let promised = pages::stated_count(header).zip(pages::page_size(header));
        let promised = promised.map(|(count, size)| u64::from(count) * u64::from(size));
        let promised =
            promised.filter(|&bytes| wal.is_none() && source.known_len().is_some_and(|len| len < bytes));
        Ok(Database { source: source.clone(), wal, promised, idle: Mutex::default() })
    }

    /// How long the file would be if it were whole; `None` where it is, as far as its header says.
    pub(super) fn promised(&self) -> Option<u64> {
        self.promised
    }

    /// The pages, for a look of our own.
    pub(super) fn pages(&self, task: &Task) -> Result<Pages> {
        Pages::open(task, &self.source, self.wal.as_ref())
    }

    /// Whether a write-ahead log is read along.
    pub(super) fn wal(&self) -> Option<&Source> {
        self.wal.as_ref()
    }

    /// Works with a connection. Stops when the task is cancelled.
    pub(super) fn with<T>(
        &self,
        task: &Task,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        task.check()?;
        let mut lent = match self.idle.lock().pop() {
            Some(lent) => lent,
            None => self.connect(task)?,
        };
        lent.files.lend(task);
        let watched = task.clone();
        let stop = Some(move || watched.is_cancelled());
        lent.connection.progress_handler(STEPS, stop).map_err(|error| of(&error))?;
        let result = work(&lent.connection).map_err(|error| {
            let reading = lent.files.error();
            reading.unwrap_or_else(|| if task.is_cancelled() { Error::cancelled() } else { of(&error) })
        });
        let mut idle = self.idle.lock();
        if idle.len() < KEPT {
            idle.push(lent);
        }
        result
    }

    fn connect(&self, task: &Task) -> Result<Lent> {
        let files = Arc::new(Files::new(task, self.source.clone(), self.wal.clone(), self.promised));
        let name = Registered::new(files.clone());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags_and_vfs(name.path(), flags, vfs::name())
            .map_err(|error| of(&error))?;
        guard(&connection).map_err(|error| files.error().unwrap_or_else(|| of(&error)))?;
        Ok(Lent { connection, files, _name: name })
    }
}

/// A file beside the database that is not empty.
fn beside(task: &Task, source: &Source, ending: &str) -> Option<Source> {
    source.path()?;
    let found = source.sibling(task, &format!("{}{ending}", source.name())).ok()?;
    (!found.is_folder() && found.known_len().is_some_and(|len| len > 0)).then_some(found)
}

/// Whether a rollback journal lies beside: a transaction was not finished.
pub(super) fn has_journal(task: &Task, source: &Source) -> bool {
    let journal = beside(task, source, "-journal");
    journal.is_some_and(|journal| {
        let magic = journal.read_up_to(task, 0, 8);
        magic.is_ok_and(|magic| magic.as_ref() == b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
    })
}

fn guard(connection: &Connection) -> rusqlite::Result<()> {
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(setting, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    // Exclusive means that a write-ahead log's index is kept in memory. Nothing may be written to disk.
    connection.execute_batch(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA query_only=ON; \
         PRAGMA cell_size_check=ON; PRAGMA cache_size=-16000;",
    )
}

/// An error of SQLite in our words.
pub(super) fn of(error: &rusqlite::Error) -> Error {
    let words = match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            let words = message.clone().unwrap_or_else(|| failure.to_string());
            return match failure.extended_code & 0xff {
                ffi::SQLITE_INTERRUPT => Error::cancelled(),
                ffi::SQLITE_NOMEM | ffi::SQLITE_TOOBIG => Error::limit(format!("SQLite: {words}")),
                ffi::SQLITE_IOERR => Error::io(format!("SQLite: {words}")),
                ffi::SQLITE_ERROR | ffi::SQLITE_AUTH => Error::unsupported(format!("SQLite: {words}")),
                _ => Error::malformed(format!("database: {words}")),
            };
        }
        other => other.to_string(),
    };
    Error::malformed(format!("database: {words}"))
}

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
