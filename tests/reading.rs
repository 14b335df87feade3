//! Reads of a document what there is, a bounded part of each node: for tests over files, and for the fuzz targets, which
//! include this file.

use gander::bytes::limits;
use gander::data::content::{Content, Rect};
use gander::data::node::Node;
use gander::{Document, Error, Task};
use std::sync::Arc;

/// Reads everything that a document holds, a bounded part of each node; the errors on the way.
pub(crate) fn read_all(document: &Document) -> Result<Vec<Error>, Error> {
    let task = Task::new();
    let mut errors = Vec::new();
    gander::data::open::walk(&task, &document.root, "", 8, &mut |node, _, _| {
        errors.extend(node.problem.clone());
        let by_program = document.format.id == "avif";
        if let Err(error) = gander::bytes::guard::guarded(|| read_node(&task, node, by_program)) {
            errors.push(error);
        }
        Ok(true)
    })?;
    Ok(errors)
}

fn read_node(task: &Task, node: &Arc<Node>, by_program: bool) -> Result<(), Error> {
    match &node.content {
        None => {}
        Some(Content::Table(table)) => {
            let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
            let rows = table.count(task)?.min(1_000);
            table.read(task, 0..rows, &columns)?;
            table.tail(task, 3, &columns)?;
        }
        Some(Content::Array(array)) => {
            for piece in gander::data::region::pieces(array.shape(), 10_000).take(3) {
                if array.dtype().is_variable() {
                    array.column(task, &piece)?;
                } else {
                    gander::data::content::array::read(array.as_ref(), task, &piece)?;
                }
            }
        }
        Some(Content::Image(image)) => {
            let info = image.info();
            limits::check(info.width.saturating_mul(info.height), 16 << 20, "a fixture's pixels")?;
            // Frames of videos are decoded by a program that need not be there; its tests stand beside it.
            if by_program || info.video.is_some() {
                return Ok(());
            }
            image.read(task, 0, 0, Rect::all(info.width, info.height))?;
        }
        Some(Content::Text(text)) => drop(text.read(task, 0..1_000)?),
        Some(Content::Graph(graph)) => drop(gander::data::adapt::graph::nodes(graph)?),
        Some(Content::Bytes(source)) => drop(source.read_up_to(task, 0, 4096)?),
    }
    Ok(())
}
