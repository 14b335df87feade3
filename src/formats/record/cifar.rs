//! CIFAR-10 and CIFAR-100 in their binary version: records of one or two bytes of labels and a picture of 32 × 32 pixels,
//! red, green and blue as planes. <https://www.cs.toronto.edu/~kriz/cifar.html>
//!
//! The files have no header: they are told by their names and sizes, and by labels that are none beyond the last class. The
//! names of the classes lie beside them.

mod set;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::pictures::{Labels, Pictures};
use std::sync::Arc;

pub use set::SET;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["bin"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Array],
    ..Format::new("cifar", "CIFAR binary", open)
};

/// Pixels of a side, and bytes of a picture.
const SIDE: u64 = 32;
const PICTURE: u64 = 3 * SIDE * SIDE;
/// The largest file of names that is read, in bytes.
const NAMES: usize = 1 << 16;

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// One label of ten.
    Ten,
    /// One of twenty, then one of a hundred.
    Hundred,
}

impl Layout {
    /// The labels before each picture: the column, the number of classes, and the file with their names.
    fn labels(self) -> &'static [(&'static str, u8, &'static str)] {
        match self {
            Layout::Ten => &[("label", 10, "batches.meta.txt")],
            Layout::Hundred => {
                &[("coarse_label", 20, "coarse_label_names.txt"), ("fine_label", 100, "fine_label_names.txt")]
            }
        }
    }

    /// Bytes of a record.
    fn record(self) -> u64 {
        PICTURE + self.labels().len() as u64
    }

    /// What the name says.
    fn named(name: &str) -> Option<Layout> {
        let name = name.strip_suffix(".bin")?;
        let batch =
            name.strip_prefix("data_batch_").filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        match name {
            "test_batch" => Some(Layout::Ten),
            _ if batch.is_some_and(|rest| !rest.is_empty()) => Some(Layout::Ten),
            "train" | "test" => Some(Layout::Hundred),
            _ => None,
        }
    }

    /// Whether the labels of these first records are those of classes.
    fn fits(self, first: &[u8]) -> bool {
        let records = first.chunks(self.record() as usize);
        let fits = |record: &[u8]| {
            let labels = self.labels().iter().zip(record);
            labels.into_iter().all(|((_, classes, _), label)| label < classes)
        };
        !first.is_empty() && records.into_iter().all(fits)
    }

    /// The one that a file has.
    fn of(name: &str, len: Option<u64>, first: &[u8]) -> Option<Layout> {
        let whole = |layout: &Layout| len.is_none_or(|len| len % layout.record() == 0);
        let named = Layout::named(name).filter(|layout| layout.fits(first));
        // The name of the larger set says little: its size has to fit, too.
        let sure = named.filter(|layout| *layout == Layout::Ten || whole(layout));
        let other = || {
            let is_binary = name.ends_with(".bin") && len.is_some_and(|len| len > 0);
            let mut both = [Layout::Ten, Layout::Hundred].into_iter();
            both.find(|layout| {
                is_binary && whole(layout) && layout.fits(first) && first.len() as u64 > PICTURE
            })
        };
        sure.or_else(other)
    }
}

fn sniff(head: &Head) -> Match {
    let found = !head.is_folder && Layout::of(&head.name, head.len, &head.first).is_some();
    if found { Match::Yes } else { Match::No }
}

/// The names of classes, a line each; none where there is no such file.
fn classes(task: &Task, source: &Source, name: &str) -> Result<Vec<String>> {
    let Ok(file) = source.sibling(task, name).unless_cancelled()? else { return Ok(Vec::new()) };
    let Ok(bytes) = file.read_up_to(task, 0, NAMES).unless_cancelled()? else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// A file of records.
struct Batch {
    images: Arc<dyn Array>,
    labels: Vec<Labels>,
    problem: Option<Error>,
}

impl Batch {
    /// # Errors
    /// `Malformed` where there is not one whole record; what reading gives.
    fn open(task: &Task, source: &Source, layout: Layout) -> Result<Batch> {
        let (len, record) = (source.len(task)?, layout.record());
        let (count, rest) = (len / record, len % record);
        let cut = || {
            Error::malformed(format!("CIFAR: the last record has {rest} of {record} bytes")).at(len - rest)
        };
        if count == 0 {
            return Err(cut());
        }
        let before = layout.labels().len() as u64;
        let strides = vec![record, SIDE, 1, SIDE * SIDE];
        let images = Plain::strided(source.clone(), before, DType::U8, vec![count, SIDE, SIDE, 3], strides)?;
        let mut labels = Vec::new();
        for (place, (name, _, file)) in (0..).zip(layout.labels()) {
            let values = Plain::strided(source.clone(), place, DType::U8, vec![count], vec![record])?;
            let classes = classes(task, source, file)?;
            labels.push(Labels { name: (*name).to_owned(), values: Arc::new(values), classes });
        }
        Ok(Batch { images: Arc::new(images), labels, problem: (rest > 0).then(cut) })
    }

    fn table(&self) -> Result<Pictures> {
        Pictures::new(self.images.clone(), self.labels.clone())
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let found = Layout::of(&opening.head.name, opening.head.len, &opening.head.first);
    let layout = found.ok_or_else(|| Error::other_format(""))?;
    let batch = Batch::open(task, source, layout)?;
    let array = |name: &str, array: Arc<dyn Array>| Node::new(name, "array").content(Content::Array(array));
    let mut children = vec![array("images", batch.images.clone())];
    children.extend(batch.labels.iter().map(|of| array(&format!("{}s", of.name), of.values.clone())));
    let mut node = Node::new(source.name(), "file").listed(children).parts();
    node.problem = batch.problem.clone();
    let table = batch.table()?;
    Ok(Pictures::described(node, &table).content(Content::Table(Arc::new(table))))
}
