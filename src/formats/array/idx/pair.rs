//! Pictures with their labels: `train-images-idx3-ubyte` and `train-labels-idx1-ubyte` beside each other, as MNIST and its
//! successors have them; a folder of such pairs as a table for each.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Array, Content, Kind, Table};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::pictures::{Labels, Pictures};
use crate::formats::ALL;
use std::path::Path;
use std::sync::Arc;

/// The descriptor.
pub static SET: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Array, Kind::Group],
    ..Format::new("idx_set", "MNIST", open)
};

/// The file of labels beside one of pictures, whatever it is compressed by; `None` for other names.
fn labels_of(name: &str) -> Option<String> {
    let at = name.rfind("images")?;
    let (before, rest) = (name.get(..at)?, name.get(at + "images".len()..)?);
    let rest = rest.replacen("idx3", "idx1", 1);
    rest.contains("idx1").then(|| format!("{before}labels{rest}"))
}

/// What the pairs of a folder are called: the names of the pictures, and of the labels.
fn pairs(head: &Head) -> Vec<(String, String)> {
    let has = |name: &str| head.entries.iter().any(|entry| entry.name == name && !entry.is_folder);
    // A file may be there as it is and compressed: once is enough.
    let is_packed_twin = |name: &str| name.strip_suffix(".gz").is_some_and(has);
    let pair = |name: &str| {
        let labels = labels_of(name).filter(|_| !is_packed_twin(name))?;
        has(&labels).then(|| (name.to_owned(), labels))
    };
    head.entries.iter().filter_map(|entry| pair(&entry.name)).collect()
}

fn sniff(head: &Head) -> Match {
    if head.is_folder && !pairs(head).is_empty() { Match::Yes } else { Match::No }
}

fn array(task: &Task, path: &Path) -> Result<Arc<dyn Array>> {
    match &ALL.open(task, path, &Options::default())?.root.content {
        Some(Content::Array(array)) => Ok(array.clone()),
        _ => Err(Error::unsupported("it is no array").in_file(path.display())),
    }
}

/// A pair as a table.
pub(super) fn table(images: Arc<dyn Array>, labels: Arc<dyn Array>) -> Result<Arc<dyn Table>> {
    let labels = Labels { name: "label".to_owned(), values: labels, classes: Vec::new() };
    Ok(Arc::new(Pictures::new(images, vec![labels])?))
}

/// The table of pictures with the labels that lie beside them; `None` where there are none.
///
/// # Errors
/// `Cancelled`.
pub(super) fn beside(task: &Task, source: &Source, images: &Arc<dyn Array>) -> Result<Option<Node>> {
    let Some(name) = labels_of(source.name()) else { return Ok(None) };
    let mut found = None;
    for name in [name.clone(), format!("{name}.gz")] {
        if let Ok(file) = source.sibling(task, &name).unless_cancelled()? {
            found = Some(file);
            break;
        }
    }
    let Some(file) = found else { return Ok(None) };
    let opened = ALL.open_source(task, &file, &Options::default()).unless_cancelled()?;
    let Ok(document) = opened else { return Ok(None) };
    let Some(Content::Array(labels)) = &document.root.content else { return Ok(None) };
    let Ok(table) = table(images.clone(), labels.clone()) else { return Ok(None) };
    let node = Pictures::described(Node::new("samples", "pictures with labels"), &*table);
    Ok(Some(node.content(Content::Table(table))))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let mut nodes = Vec::new();
    for (images, labels) in pairs(opening.head) {
        let stem = images.split("images").next().unwrap_or_default().trim_end_matches(['-', '_', '.']);
        let name = match stem {
            "" => "samples",
            // The ten thousand that MNIST is tested with.
            "t10k" => "test",
            stem => stem,
        };
        let nested = |file: &str, label| {
            let path = root.join(file);
            ALL.nested(file, label, Options::default(), move |task| Source::open(task, &path))
        };
        let node =
            Node::new(name, "split").listed(vec![nested(&images, "images"), nested(&labels, "labels")]);
        let both = array(task, &root.join(&images))
            .and_then(|images| Ok((images, array(task, &root.join(&labels))?)));
        let made = both.and_then(|(images, labels)| {
            let differ = images.shape().first() != labels.shape().first();
            Ok((table(images, labels)?, differ))
        });
        nodes.push(match made.unless_cancelled()? {
            Ok((table, differ)) => {
                let node = Pictures::described(node, &*table).content(Content::Table(table)).parts();
                let what = "there are not as many labels as pictures; the rest of one of them is left out";
                if differ { node.remark(what) } else { node }
            }
            Err(error) => node.problem(error),
        });
    }
    match <[Node; 1]>::try_from(nodes) {
        Ok([only]) => Ok(Node { name: folder.name().to_owned(), ..only }),
        Err(nodes) => Ok(Node::new(folder.name(), "data set").listed(nodes)),
    }
}
