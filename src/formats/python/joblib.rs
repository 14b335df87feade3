//! joblib's files: a pickle in which arrays are stored as they are in memory, behind the opcodes that make a wrapper
//! for each; before version 0.10 in files beside the pickle (`model.pkl_01.npy`, compressed `model.pkl_01.npy.z`), or
//! compressed as a whole behind the letters `ZF` and a length. All else that compresses a file is a wrapper like any
//! other.
//! <https://github.com/joblib/joblib/blob/main/joblib/numpy_pickle.py>,
//! <https://github.com/joblib/joblib/blob/main/joblib/numpy_pickle_compat.py>

use crate::bytes::codec::inflater::Inflater;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::stream::{Frames, Spooled};
use crate::bytes::task::Task;
use crate::data::adapt::ArrayTable;
use crate::data::content::array::Plain;
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{self, Head, Magic, Match};
use crate::engines::pickle::{self, Id, Pickle, Resolved, Resolver, Side, Values};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["joblib", "pkl"],
    mime: &["application/x-joblib"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Array, Kind::Table, Kind::Bytes],
    ..Format::new("joblib", "joblib", open)
};

/// The letters before a file that is compressed as a whole,
const ZFILE: Magic = Magic::at(0, b"ZF0x");
/// and the characters of the length behind them.
const LENGTH: usize = 19;
/// Bytes of the magic without the length's first ones.
const LETTERS: usize = 2;

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    if ZFILE.matches(head) && length(&head.first).is_some() {
        return Match::Yes;
    }
    let beginning = pickle::beginning(&head.first, head.len, head.last.last().copied());
    let named = head.has_extension(&["joblib"]);
    if beginning.joblib || named && (beginning.sure || beginning.likely) { Match::Yes } else { Match::No }
}

/// The length that a compressed file says it has, and where its data begin. Python 2 wrote an `L` behind it, versions
/// before 0.8.4 another space.
fn length(first: &[u8]) -> Option<(u64, u64)> {
    let digits = std::str::from_utf8(first.get(LETTERS..LETTERS + LENGTH)?).ok()?.trim_end();
    let digits = digits.strip_prefix("0x")?.trim_end_matches('L');
    let length = u64::from_str_radix(digits, 16).ok()?;
    let start = LETTERS + LENGTH;
    Some((length, (start + usize::from(first.get(start) == Some(&b' '))) as u64))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let beside = source.clone();
    let knows: pickle::Knows = Arc::new(move || Box::new(Beside(beside.clone())));
    if !ZFILE.matches(opening.head) {
        return pickle::open(task, source, &knows);
    }
    let (said, inner) = inflated(source, &opening.head.first)?;
    let inner = source.decompressed(source.name(), Arc::new(inner))?;
    let there = inner.len(task)?;
    let first = inner.read_up_to(task, 0, sniff::FIRST)?;
    let beginning = pickle::beginning(&first, Some(there), None);
    let mut node = match beginning.sure || beginning.likely {
        true => pickle::open(task, &inner, &knows)?,
        // The elements of an array whose type and shape stand in the pickle beside it.
        false => Node::new(source.name(), "elements").content(Content::Bytes(inner)),
    };
    node.reader.insert(0, ("compression".to_owned(), "zlib (joblib ZF)".into()));
    node.span = None;
    if there != said && node.problem.is_none() {
        let what = format!("ZF header: it says {said} bytes, {there} are there");
        node.problem = Some(Error::malformed(what).at(LETTERS as u64));
    }
    Ok(node)
}

/// The length that is said, and what is in a compressed file.
fn inflated(source: &Source, first: &[u8]) -> Result<(u64, Spooled)> {
    let (said, start) =
        length(first).ok_or_else(|| Error::malformed("ZF header: its length is no number").at(2))?;
    let codec = || -> Result<Box<dyn crate::bytes::stream::Codec>> {
        Ok(Box::new(Frames::new(Inflater::new(true)?)))
    };
    Ok((said, Spooled::new(source.clone(), start, Box::new(codec)).deflated()))
}

/// Arrays in files beside the pickle.
struct Beside(Source);

impl Resolver for Beside {
    fn resolve(&self, _: &Pickle, _: Id, _: &str) -> Option<Result<Resolved>> {
        None
    }

    fn node(&self, values: &Values, id: Id, name: &str) -> Option<Node> {
        let side = values.pickle().side(id)?;
        let source = self.0.clone();
        let node = Node::new(name, "numpy.ndarray");
        Some(node.deferred_leaf(move |task| array(task, &source, &side)))
    }

    fn knows_persistent(&self) -> bool {
        false
    }
}

/// The array in a file beside the pickle.
fn array(task: &Task, beside: &Source, side: &Side) -> Result<Node> {
    match side {
        Side::Npy(file) => {
            let source = beside.sibling(task, file)?;
            let document = crate::formats::ALL.open_source(task, &source, &Options::default())?;
            let mut node = (*document.root).clone();
            node.label = "numpy.ndarray";
            let records = match &node.content {
                Some(Content::Array(array))
                    if matches!(array.dtype(), DType::Struct(_)) && array.shape().len() == 1 =>
                {
                    Some(array.clone())
                }
                _ => None,
            };
            if let Some(array) = records {
                node.content = Some(Content::Table(Arc::new(ArrayTable::new("", array)?)));
            }
            Ok(node.read_as("file", file.as_str()))
        }
        Side::Compressed { file, described, shape, fortran } => {
            let source = beside.sibling(task, file)?;
            let first = source.read_up_to(task, 0, LETTERS + LENGTH + 1)?;
            let (said, inner) = inflated(&source, &first)?;
            let inner = source.decompressed(file.as_str(), Arc::new(inner))?;
            if inner.len(task)? != said {
                return Err(Error::malformed("ZF header: its length is not that of the data").at(2));
            }
            let plain = Plain::new(inner, 0, described.dtype.clone(), shape.clone())?
                .fortran(*fortran)
                .byte_order(described.order.clone());
            let content = Content::Array(Arc::new(plain));
            Ok(Node::new("", "numpy.ndarray").content(content).read_as("file", file.as_str()))
        }
    }
}
