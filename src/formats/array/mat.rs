//! MATLAB's MAT-files of versions 4, 5, 6 and 7: variables one after the other, numbers in column-major order.
//! <https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf>. Version 7 compresses each variable
//! with zlib; version 7.3 is HDF5 and read as that.
//!
//! Opening reads the header of each variable. What is inside cells and structs is read when somebody looks
//! into them, and a compressed variable is inflated as far as somebody reads. Paths are written as in MATLAB:
//! `s.field`, `c{3}`, `s(2).field`.

mod blob;
mod data;
mod element;
mod sparse;
mod tree;
mod v4;
mod write;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use blob::{Blob, Packs};
use element::Tag;
use tree::Context;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["mat"],
    mime: &["application/x-matlab-data"],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    targets: &[Target::new("mat", "MATLAB MAT-file", &["mat"], &write::WRITER)],
    ..Format::new("mat", "MATLAB MAT-file", open)
};

/// Where version and byte order stand, and where the variables begin.
const HEADER: u64 = 128;

fn sniff(head: &Head) -> Match {
    let start = &head.first;
    match (start.get(124..126), start.get(126..128)) {
        (Some([0, 1]), Some(b"IM")) | (Some([1, 0]), Some(b"MI")) => Match::Yes,
        // Version 7.3, which the reader of HDF5 finds by its own magic.
        (Some([0, 2]), Some(b"IM")) | (Some([2, 0]), Some(b"MI")) => Match::No,
        _ if start.starts_with(b"MATLAB 5.0 MAT-file") => Match::Yes,
        _ if v4::Head::parse(start).is_some() => Match::Maybe,
        _ => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    if v4::Head::parse(&opening.head.first).is_some() {
        return v4::open(opening);
    }
    let (task, source) = (opening.task, opening.source);
    let header = source.read_up_to(task, 0, HEADER as usize)?;
    let big = match header.get(126..128) {
        Some(b"IM") => false,
        Some(b"MI") => true,
        Some(_) => {
            return Err(Error::malformed("MAT-file: its mark of the byte order is neither IM nor MI").at(126));
        }
        None => return Err(Error::malformed("MAT-file: it ends within its header").at(header.len() as u64)),
    };
    let mut root = Node::new("", "file").separator("");
    let text = String::from_utf8_lossy(header.get(..116).unwrap_or_default());
    let text = text.trim_matches(['\0', ' ']);
    if !text.is_empty() {
        root = root.read_as("header", text);
    }
    let packs = Packs::new(source.clone());
    let context = Context { blob: Blob::File(source.clone()), big, depth: 0 };
    let len = source.len(task)?;
    let mut children: Vec<Node> = Vec::new();
    let mut at = HEADER;
    while at < len {
        task.check()?;
        if children.len() as u64 >= limits::LISTED {
            root.remarks
                .push(format!("more variables follow at byte {at}; the first {} are listed", limits::LISTED));
            break;
        }
        let tag = match Tag::read(task, source, big, at, len).unless_cancelled()? {
            Ok(tag) => tag,
            Err(error) => {
                root.problem = Some(error);
                break;
            }
        };
        let node = if tag.kind == element::COMPRESSED {
            tree::packed(task, &context, packs.blob(tag.at))
        } else {
            tree::variable(task, &context, &tag)
        };
        let mut node =
            node.unless_cancelled()?.unwrap_or_else(|error| Node::new("", "variable").problem(error.at(at)));
        if node.name.is_empty() {
            node.name = match node.problem {
                Some(_) => format!("variable {}", children.len() + 1),
                // What objects and function handles refer to; the name is SciPy's.
                None => "__function_workspace__".to_owned(),
            };
        }
        node.span = Some(at..tag.end.min(len));
        if tag.end > len {
            let what = format!(
                "variable {:?}: {} of its {} bytes are there; the file may be cut off",
                node.name,
                len.saturating_sub(tag.at),
                tag.bytes
            );
            root.problem.get_or_insert(Error::malformed(what).at(at));
        }
        children.push(node);
        at = tag.end;
    }
    tree::number_twins(&mut children);
    Ok(root.listed(children))
}

#[cfg(test)]
mod tests;
