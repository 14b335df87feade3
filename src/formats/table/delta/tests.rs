use super::*;
use crate::Source;
use crate::format::Options;
use crate::open::{Document, open_source};

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/delta/{name}", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    open_source(&task, &Source::open(&task, path.as_ref()).unwrap(), &Options::default()).unwrap()
}

fn rows(document: &Document, node: &str) -> u64 {
    let task = Task::new();
    let node = document.root.find(&task, node).unwrap().unwrap();
    let Some(Content::Table(table)) = &node.content else { panic!("{:?}", node.problem) };
    table.count(&task).unwrap()
}
