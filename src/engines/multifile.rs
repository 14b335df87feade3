//! Tables whose rows lie in many files: several tables as one ([`mod@concat`]), and those whose schema and list of files
//! stand in metadata ([`lake`]).

pub mod concat;
pub mod lake;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::format::{Formats, Options};
use crate::data::guard;
use crate::data::node::Node;
use crate::data::open::{Document, table_of};
use concat::{Part, partition};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens several files or folders as one table, one after the other in the order given (files that were
/// dropped together). Their columns must be the same, or fit; how they differ stands in the remarks. What their
/// folders say (`year=2024`) are columns too.
///
/// # Errors
/// `Unsupported` where one of them is no table or fits nothing of the first; else what opening gives.
pub fn together(formats: Formats, task: &Task, paths: &[PathBuf]) -> Result<Document> {
    let [first, ..] = paths else { return Err(Error::bug("no files were given")) };
    let mut parts = Vec::new();
    let mut keys: Vec<partition::Keys> = Vec::new();
    let mut sizes = Vec::new();
    for path in paths {
        let source = Source::open(task, path)?;
        sizes.push(source.known_len().unwrap_or(0));
        keys.push(if source.is_folder() {
            partition::of_path(&path.join("*"))
        } else {
            partition::of_path(path)
        });
    }
    let columns = partition::columns(keys.iter());
    for ((path, bytes), keys) in paths.iter().zip(sizes).zip(&keys) {
        let place = path.clone();
        let make = move |task: &Task| table_of(&formats.open(task, &place, &Options::default())?);
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let constants = partition::constants(keys, &columns);
        parts.push(Part { constants, ..Part::new(name, bytes, Box::new(make)) });
    }
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let joined = concat::tables(task, parts, columns)?;
    if joined.fitting < joined.opened {
        let why = joined.differences.join("; ");
        return Err(Error::unsupported(format!("these files are not one table: {why}")));
    }
    let source = Source::open(task, first)?;
    let title = format!("{} and {} more", source.name(), names.len() - 1);
    let child = |(path, name): (&PathBuf, &String)| {
        let path = path.clone();
        formats.nested(name.as_str(), "file", Options::default(), move |task| Source::open(task, &path))
    };
    let children = paths.iter().zip(&names).map(child).collect();
    let mut root = Node::new(title, "files").content(Content::Table(joined.table)).listed(children).parts();
    root.remarks = joined.differences;
    let root = guard::node(root);
    let format = formats.by_id("dataset").ok_or_else(|| Error::bug("there is no format for datasets"))?;
    Ok(Document {
        source,
        format,
        root: Arc::new(root),
        remarks: Vec::new(),
        broken_promise: false,
        options: Options::default(),
    })
}
