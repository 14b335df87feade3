//! SQLite databases (<https://www.sqlite.org/fileformat2.html>): tables and views by row range, with their
//! indexes, triggers and SQL; read-only in every sense — a write-ahead log is read along, nothing is written
//! anywhere (see [`vfs`]). Databases inside archives open the same way.

mod btree;
mod columns;
mod database;
mod pages;
mod place;
mod table;
mod vfs;
mod write;

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::numbers::be;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Node, Value};
use crate::data::sniff::{Head, Magic, Match};
use columns::Column;
use database::{Database, quoted};
use rusqlite::Connection;
use std::collections::HashMap;
use std::sync::Arc;
use table::{Key, Look, SqlTable, TableSchema};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["sqlite", "sqlite3", "db", "db3", "s3db", "sl3", "mbtiles", "gpkg"],
    mime: &["application/vnd.sqlite3", "application/x-sqlite3"],
    magic: &[Magic::at(0, MAGIC)],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table],
    targets: &[Target::new("sqlite", "SQLite", &["sqlite", "sqlite3", "db"], &write::WRITER)],
    ..Format::new("sqlite", "SQLite", open)
};

const MAGIC: &[u8] = b"SQLite format 3\0";
/// More tables than these are opened without a look at their rows.
const LOOKED: usize = 200;
/// A database up to this many bytes is checked page by page when it is opened.
const CHECKED: u64 = 16 << 20;

fn sniff(head: &Head) -> Match {
    if head.starts_with(MAGIC) { Match::Yes } else { Match::No }
}

/// A row of the schema.
struct Object {
    kind: String,
    name: String,
    table: String,
    /// The first page of its tree; 0 where it has none.
    root: i64,
    sql: String,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let header = source.read_up_to(task, 0, 100)?;
    check_header(&header, source.known_len())?;
    let database = Arc::new(Database::open(task, source, &header)?);
    let objects = database.with(task, schema)?;
    let mut root = Node::new(source.name(), "database");
    root.reader = attributes(task, &database, &header);
    let mut children = Vec::new();
    let is_table = |object: &&Object| matches!(object.kind.as_str(), "table" | "view");
    let tables: Vec<&Object> = objects.iter().filter(is_table).collect();
    let small = source.known_len().is_some_and(|len| len <= CHECKED);
    let look = match (tables.len() <= LOOKED, small) {
        (false, _) => Look::Schema,
        (true, false) => Look::First,
        (true, true) => Look::Pages,
    };
    for object in &tables {
        task.check()?;
        children.push(node(task, &database, object, &objects, look)?);
    }
    if let Some(wal) = database.wal() {
        let bytes = wal.known_len().map_or(String::new(), display::bytes);
        root = root.remark(format!("changes in the write-ahead log beside it ({bytes}) are read along"));
    }
    if database::has_journal(task, source) {
        root = root
            .remark("a rollback journal lies beside it: a change was not finished, and is not undone here");
    }
    if let Some(promised) = database.promised() {
        let len = source.known_len().unwrap_or(0);
        let words = format!("file: it has {len} of the {promised} bytes that its header says");
        root.problem = Some(Error::malformed(words).at(len));
    } else if small {
        root.problem = damage(task, &database, &tables)?;
    }
    Ok(root.listed(children))
}

/// What SQLite itself would only call "not a database".
fn check_header(header: &[u8], len: Option<u64>) -> Result<()> {
    if header.len() != 100 {
        let len = header.len();
        return Err(Error::malformed(format!("header: it has {len} of 100 bytes")).at(len as u64));
    }
    let Some(page) = pages::page_size(header) else {
        let stored = be::<u16>(header, 16).map_or(0, usize::from);
        return Err(Error::malformed(format!("header: a page size of {stored}")).at(16));
    };
    if len.is_some_and(|len| len < u64::from(page)) {
        return Err(Error::malformed("file: it is shorter than one page").at(100));
    }
    Ok(())
}

fn schema(db: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut statement =
        db.prepare("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema ORDER BY rowid")?;
    let text = |row: &rusqlite::Row<'_>, at: usize| -> rusqlite::Result<String> {
        Ok(match row.get_ref(at)? {
            rusqlite::types::ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        })
    };
    let rows = statement.query_map([], |row| {
        let root = row.get::<_, Option<i64>>(4).ok().flatten().unwrap_or(0);
        let (kind, name, table, sql) = (text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?);
        Ok(Object { kind, name, table, root, sql })
    })?;
    rows.collect()
}

/// Facts of the database as a whole.
fn attributes(task: &Task, database: &Database, header: &[u8]) -> Vec<(String, Value)> {
    let mut attributes = Vec::new();
    let pragmas = ["page_size", "page_count", "encoding", "application_id", "user_version", "freelist_count"];
    for name in pragmas {
        let value = database.with(task, |db| {
            db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0))
        });
        let value = match value {
            Ok(rusqlite::types::Value::Integer(value)) => Value::Json(value.into()),
            Ok(rusqlite::types::Value::Text(value)) => Value::Text(value),
            _ => continue,
        };
        attributes.push((name.to_owned(), value));
    }
    let mode = if header.get(18) == Some(&2) { "wal" } else { "rollback" };
    attributes.push(("journal".to_owned(), mode.into()));
    if let Some(version) = be::<u32>(header, 96)
        && version > 0
    {
        let parts = format!("{}.{}.{}", version / 1_000_000, version / 1_000 % 1_000, version % 1_000);
        attributes.push(("written by SQLite".to_owned(), parts.into()));
    }
    attributes
}

/// What rows are selected from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// A table that SQLite stores.
    Table,
    /// A table that a module makes.
    Virtual,
    /// A stored query.
    View,
}

impl Relation {
    fn label(self) -> &'static str {
        match self {
            Relation::Table => "table",
            Relation::Virtual => "virtual table",
            Relation::View => "view",
        }
    }
}

/// The node of a table or view; why it cannot be read is its problem.
fn node(task: &Task, database: &Arc<Database>, object: &Object, all: &[Object], look: Look) -> Result<Node> {
    let is_virtual = object.sql.trim_start().to_uppercase().starts_with("CREATE VIRTUAL");
    let relation = match (object.kind.as_str(), is_virtual) {
        ("view", _) => Relation::View,
        (_, true) => Relation::Virtual,
        _ => Relation::Table,
    };
    let mut node = Node::new(&object.name, relation.label()).read_as("sql", object.sql.as_str());
    let read = database.with(task, |db| {
        let (columns, key) = described(db, object, relation)?;
        let in_order = !matches!(key, Key::Columns(_)) || is_ascending(db, &object.name)?;
        Ok((columns, key, foreign_keys(db, &object.name)?, in_order))
    });
    let opened = read.and_then(|(columns, key, foreign, in_order)| {
        for (from, to) in foreign {
            node.reader.push((format!("foreign key {from}"), to.into()));
        }
        if let Key::Columns(names) = &key {
            node.reader.push(("primary key, in place of row numbers".to_owned(), names.join(", ").into()));
        }
        let root = u32::try_from(object.root).ok().filter(|&root| root > 0);
        let told = TableSchema { name: object.name.clone(), columns, key, root: root.filter(|_| in_order) };
        SqlTable::open(task, database.clone(), told, look)
    });
    match opened.unless_cancelled()? {
        Ok(table) => {
            node.problem = table.problem();
            node.content = Some(Content::Table(Arc::new(table)));
        }
        Err(error) => node.problem = Some(error),
    }
    let below =
        all.iter().filter(|o| matches!(o.kind.as_str(), "index" | "trigger") && o.table == object.name);
    let below: Vec<Node> = below.map(|o| part(task, database, o)).collect();
    Ok(if below.is_empty() { node } else { node.listed(below) })
}

/// An index or a trigger.
fn part(task: &Task, database: &Database, object: &Object) -> Node {
    if object.kind == "trigger" {
        return Node::new(&object.name, "trigger").attribute("sql", object.sql.as_str());
    }
    let mut node = Node::new(&object.name, "index");
    let sql = format!("PRAGMA index_info({})", quoted(&object.name));
    let columns = database.with(task, |db| {
        let mut statement = db.prepare(&sql)?;
        let names = statement.query_map([], |row| row.get::<_, Option<String>>(2))?;
        names.collect::<rusqlite::Result<Vec<_>>>()
    });
    if let Ok(columns) = columns {
        let names: Vec<String> =
            columns.into_iter().map(|name| name.unwrap_or("(expression)".into())).collect();
        node = node.attribute("columns", names.join(", "));
    }
    if !object.sql.is_empty() {
        node = node.attribute("sql", object.sql.as_str());
    }
    node
}

/// The columns of a table or view, and how its rows are found.
fn described(db: &Connection, object: &Object, relation: Relation) -> rusqlite::Result<(Vec<Column>, Key)> {
    struct DeclaredColumn {
        declared: String,
        needed: bool,
        key: i64,
    }
    let mut told: HashMap<String, DeclaredColumn> = HashMap::new();
    let mut statement = db.prepare(&format!("PRAGMA table_xinfo({})", quoted(&object.name)))?;
    let rows = statement.query_map([], |row| {
        let declared = row.get::<_, Option<String>>(2)?.unwrap_or_default();
        Ok((row.get::<_, String>(1)?, DeclaredColumn { declared, needed: row.get(3)?, key: row.get(5)? }))
    })?;
    for row in rows {
        let (name, column) = row?;
        told.insert(name, column);
    }
    let (without_rowid, strict) = flags(db, &object.name)?;
    let statement = db.prepare(&format!("SELECT * FROM {}", quoted(&object.name)))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut primary: Vec<(i64, &String)> =
        names.iter().filter_map(|name| told.get(name).filter(|t| t.key > 0).map(|t| (t.key, name))).collect();
    primary.sort_unstable();
    let taken = |rowid: &str| names.iter().any(|name| name.eq_ignore_ascii_case(rowid));
    let free = ["rowid", "_rowid_", "oid"].into_iter().find(|rowid| !taken(rowid));
    let key = match (relation, without_rowid, free) {
        (Relation::Table, true, _) => Key::Columns(primary.iter().map(|(_, name)| (*name).clone()).collect()),
        (Relation::Table, false, Some(rowid)) => Key::RowId(rowid),
        _ => Key::None,
    };
    // An INTEGER PRIMARY KEY is the row number itself.
    let alone = primary.len() == 1 && !without_rowid && relation == Relation::Table;
    let column = |name: &String| {
        let told = told.get(name);
        let declared = told.map(|told| told.declared.clone()).unwrap_or_default();
        let row_number =
            alone && told.is_some_and(|told| told.key > 0) && declared.eq_ignore_ascii_case("INTEGER");
        let nullable = !row_number && !told.is_some_and(|told| told.needed);
        Column { name: name.clone(), declared, nullable, row_number, strict }
    };
    Ok((names.iter().map(column).collect(), key))
}

/// Whether a table is WITHOUT ROWID and whether it is STRICT.
fn flags(db: &Connection, name: &str) -> rusqlite::Result<(bool, bool)> {
    let mut statement =
        db.prepare("SELECT wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?")?;
    let mut rows = statement.query([name])?;
    match rows.next()? {
        Some(row) => Ok((row.get(0)?, row.get(1)?)),
        None => Ok((false, false)),
    }
}

/// Whether no column of a table's primary key is stored from large to small.
fn is_ascending(db: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM pragma_index_list(?) AS list, pragma_index_xinfo(list.name) AS part \
               WHERE list.origin = 'pk' AND part.key = 1 AND part.desc = 1";
    db.query_row(sql, [name], |row| row.get::<_, i64>(0)).map(|count| count == 0)
}

/// The columns that point to other tables, and where to.
fn foreign_keys(db: &Connection, name: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = db.prepare(&format!("PRAGMA foreign_key_list({})", quoted(name)))?;
    let rows = statement.query_map([], |row| {
        let (table, from, to): (String, String, Option<String>) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok((from, to.map_or(table.clone(), |to| format!("{table}.{to}"))))
    })?;
    rows.collect()
}

/// What is damaged, page by page, in SQLite's words; where the check itself cannot go on, table by table.
fn damage(task: &Task, database: &Database, tables: &[&Object]) -> Result<Option<Error>> {
    let check = |sql: &str| -> Result<Vec<String>> {
        let found = database.with(task, |db| {
            let mut statement = db.prepare(sql)?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.collect::<rusqlite::Result<Vec<String>>>()
        });
        match found.unless_cancelled()? {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            Err(error) => Ok(vec![error.message()]),
        }
    };
    let mut lines = check("PRAGMA quick_check(8)")?;
    if !lines.is_empty() && !lines.iter().any(|line| line.contains("page")) {
        for table in tables {
            let found = check(&format!("PRAGMA quick_check({})", quoted(&table.name)))?;
            lines.extend(found.into_iter().map(|line| format!("table {}: {line}", table.name)));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let words = lines.join("; ").replace("*** in database main ***\n", "").replace('\n', "; ");
    Ok(Some(Error::malformed(format!("pages: {words}"))))
}

#[cfg(test)]
mod tests;
