//! LMDB, the Lightning Memory-Mapped Database: pairs of keys and values in B+ trees of pages, in named databases. Much of
//! vision's training data lies in such stores.
//! <http://www.lmdb.tech/doc/>; the layout is that of `mdb.c` in <https://git.openldap.org/openldap/openldap>, version 1 of
//! it in LMDB 0.9, version 3 in LMDB 1.0.
//!
//! The file is read by ranges, as every other one: no lock file is made or looked at, nothing is written, no address in it
//! is followed unchecked. A read is of one transaction: where the meta pages say another one afterwards, it fails and says
//! so.
//!
//! | part | what it does |
//! |---|---|
//! | `layout` | widths and byte orders; meta pages, records of databases |
//! | `page` | pages and what lies on them |
//! | `cursor`, `tree` | leaves one after the other; entries by number and by key |
//! | `store` | a database as a container of records |
//! | `columns`, `values` | columns of keys and values; what values are by convention |
//! | `maps` | columns of values that are maps of MessagePack |
//! | `write`, `build` | a table as entries; a store made of entries in order |
//! | `samples` | `image-000000001`, `label-000000001`, `num-samples`: entries that are rows together |

mod build;
mod columns;
mod cursor;
mod layout;
mod maps;
mod page;
mod samples;
mod store;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod write;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Growth, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind as ContentKind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Children, Node};
use crate::data::sniff::{Head, Match};
use crate::engines::records::container::{self, Container, RecordTable, key_text};
use columns::EntryColumns;
use layout::{Db, Layout};
use maps::MapColumns;
use page::Environment;
use samples::Samples;
use std::sync::Arc;
use store::Store;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Live,
    extensions: &["mdb", "lmdb"],
    sniff: Some(sniff),
    targets: &[Target::new("lmdb", "LMDB", &["mdb", "lmdb"], &write::WRITER)],
    reads: &[
        ContentKind::Group,
        ContentKind::Table,
        ContentKind::Array,
        ContentKind::Image,
        ContentKind::Bytes,
    ],
    ..Format::new("lmdb", "LMDB", open)
};

/// The name of the file in a folder.
const DATA: &str = "data.mdb";
/// Entries that are looked through for named databases when the file is opened.
const LOOKED_AT: u64 = 10_000;
/// So many databases are looked into when the file is opened.
const AT_ONCE: usize = 64;
/// How deep databases may lie in each other.
const NESTED: u8 = 8;

fn sniff(head: &Head) -> Match {
    let is = match head.is_folder {
        true => {
            let is_there = head.entries.iter().any(|entry| entry.name == DATA && !entry.is_folder);
            is_there && head.entries.iter().all(|entry| !entry.is_folder)
        }
        false => Layout::find(&head.first).is_some(),
    };
    if is { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if !source.is_folder() {
        return file(task, source, source.name());
    }
    let data = source.child(task, DATA)?;
    data.grows(FORMAT.growth)?;
    if Layout::find(&data.read_up_to(task, 0, 1 << 17)?).is_none() {
        return Err(Error::other_format(""));
    }
    let mut node = file(task, &data, source.name())?;
    node.growing = Some(data);
    let others = source.entries(task)?.into_iter().map(|entry| entry.name);
    let others: Vec<String> = others.filter(|name| name != DATA && name != "lock.mdb").take(9).collect();
    if !others.is_empty() {
        node.remarks.push(format!("beside the store lie {}", others.join(", ")));
    }
    Ok(node)
}

/// The file as a node.
fn file(task: &Task, source: &Source, name: &str) -> Result<Node> {
    let environment = Arc::new(Environment::open(task, source)?);
    let snapshot = environment.snapshot(task)?;
    let (meta, layout) = (snapshot.meta, environment.layout);
    let mut root = root(task, &environment, meta.txn, name, meta.main)?;
    let about: [(&str, String); 5] = [
        ("version", layout.version.to_string()),
        ("page size", meta.page.to_string()),
        ("byte order", if layout.big { "big" } else { "little" }.to_owned()),
        ("word size", if layout.wide { "64 bit" } else { "32 bit" }.to_owned()),
        ("transaction", meta.txn.to_string()),
    ];
    let about = about.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    root.reader.splice(0..0, about);
    root.problem = snapshot.problem.or(root.problem);
    Ok(root)
}

/// The unnamed database: the table that it is, or the named databases that lie in it.
fn root(task: &Task, environment: &Arc<Environment>, txn: u64, name: &str, main: Db) -> Result<Node> {
    let store = Store::new(environment, main, txn, 0);
    let is_seen = main.entries <= LOOKED_AT;
    let looked_at = if is_seen { store.entries(task, 0..LOOKED_AT)? } else { Vec::new() };
    let databases = looked_at.iter().filter(|entry| entry.db.is_some()).count();
    if databases == 0 {
        return database(task, environment, txn, name.to_owned(), main, 0);
    }
    let mut children = Vec::new();
    if databases < looked_at.len() {
        children.push(database(task, environment, txn, "(main)".to_owned(), main, 0)?);
    }
    for entry in looked_at {
        let Some(db) = entry.db else { continue };
        // Version 3 keeps the zero behind a name.
        let key = entry.key.strip_suffix(b"\0").filter(|_| environment.layout.version == 3);
        let name = key_text(key.unwrap_or(&entry.key));
        children.push(match databases {
            0..=AT_ONCE => database(task, environment, txn, name, db, 1)?,
            _ => {
                let (environment, own) = (environment.clone(), name.clone());
                Node::deferred(name, "database", move |task| {
                    database(task, &environment, txn, own.clone(), db, 1)
                })
            }
        });
    }
    let root = Node::new(name, "store").listed(children);
    Ok(root.findings(store.problems().clone()))
}

/// A database as a node: a table, and its entries as children.
fn database(
    task: &Task,
    environment: &Arc<Environment>,
    txn: u64,
    name: String,
    db: Db,
    level: u8,
) -> Result<Node> {
    let mut node = Node::new(name, "database");
    if let Err(error) = environment.check_db(&db) {
        return Ok(node.problem(error));
    }
    if level > NESTED {
        return Ok(node.problem(Error::limit(format!("databases more than {NESTED} deep in each other"))));
    }
    node.reader.push(("entries".to_owned(), db.entries.to_string().into()));
    node.reader.push(("depth".to_owned(), db.depth.to_string().into()));
    if db.flags != 0 {
        node.reader.push(("flags".to_owned(), db.flag_names().join(", ").into()));
    }
    let mut store = Store::new(environment, db, txn, level);
    // Of a small one all is known at once, and what is wrong with it.
    store.tree.extend(task, LOOKED_AT)?;
    let found = values::look(task, &store)?;
    store.kind = found.kind;
    if let Some(word) = found.word {
        node.reader.push(("values".to_owned(), word.into()));
    }
    let store = Arc::new(store);
    let mut node = container::node(node, &store);
    if let Some(report) = found.report {
        node = node.python(report);
    }
    if !matches!(store.rows().exact(), Some(rows) if rows > 0) {
        node.children = Children::None;
    }
    if let Some(samples) = Samples::find(task, &store)? {
        node.reader.push(("layout".to_owned(), "samples of numbered keys".into()));
        return Ok(node.content(Content::Table(Arc::new(samples))));
    }
    if store.kind == values::Kind::Maps
        && let Some(columns) = MapColumns::find(task, &store, found.keys)?
    {
        return Ok(node.content(Content::Table(Arc::new(RecordTable::new(store, columns)))));
    }
    let columns = EntryColumns::new(&store, found.keys);
    Ok(node.content(Content::Table(Arc::new(RecordTable::new(store, columns)))))
}
