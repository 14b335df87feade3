//! Folders of pictures by class, as torchvision's and Hugging Face's `ImageFolder` read them: `goose/1.jpg`, or
//! `train/goose/1.jpg` with a folder for each split; with `metadata.csv`, `metadata.jsonl` or `metadata.parquet`, whose
//! column `file_name` names the pictures, the columns of that.
//! <https://huggingface.co/docs/datasets/image_dataset#imagefolder>,
//! <https://docs.pytorch.org/vision/main/generated/torchvision.datasets.ImageFolder.html>
//!
//! Whether a folder is one is told by a look at a few names of a few of its folders: all of these have pictures and little
//! else. The pictures are listed folder by folder as far as rows are asked for; none is opened.

mod layout;
mod metadata;
#[cfg(test)]
mod tests;

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Entry, Source};
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, Options, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::annotations::folder::Pictures;
use crate::engines::annotations::{Column, ImageTable};
use crate::engines::samples::folder;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group, Kind::Image],
    targets: &[Target::new("image-folder", "Image folder", &["imagefolder"], &folder::WRITER)],
    ..Format::new("image_folder", "Folder of images", open)
};

/// Pictures that are listed when the folder is opened.
const FIRST: u64 = 20_000;

/// What may be, from the names in the folder itself: `open` looks into its folders.
fn sniff(head: &Head) -> Match {
    if head.is_folder && layout::may_be(&head.entries) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let entries = &opening.head.entries;
    let Some(found) = layout::find(task, source, entries)? else { return Err(Error::other_format("")) };
    let mut root = Node::new(source.name(), "images");
    let table: Arc<dyn Table> = match metadata::table(task, source, &found)? {
        Some(table) => table,
        // Pictures side by side say nothing by themselves.
        None if found.is_flat() => return Err(Error::other_format("")),
        None => {
            let mut columns = vec![Column::Image];
            columns.extend(found.has_labels().then_some(Column::Label));
            columns.extend(found.has_splits().then_some(Column::Split));
            let classes: Vec<String> = found.classes().into_iter().map(str::to_owned).collect();
            if found.has_labels() {
                root.reader.push(("classes".to_owned(), display::count(classes.len() as u64).into()));
            }
            let pictures = Pictures::new(source.clone(), found.places);
            pictures.list(task, FIRST)?;
            Arc::new(ImageTable::new(Arc::new(pictures), columns, Vec::new(), "xyxy").classes(&classes))
        }
    };
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    Ok(root.content(Content::Table(table)).listed(shown.map(|entry| node(source, entry)).collect()))
}

/// An entry, opened when somebody looks into it.
fn node(source: &Source, entry: &Entry) -> Node {
    let (source, name) = (source.clone(), entry.name.clone());
    let label = if entry.is_folder { "folder" } else { "file" };
    crate::formats::ALL
        .nested(entry.name.as_str(), label, Options::default(), move |task| source.child(task, &name))
}
