//! HDF5: groups and datasets in one file, by the HDF5 File Format Specification 4.0
//! (<https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html>). A reader of its own, without the
//! C library: every size and address of a file is checked, one broken object never hides its neighbours.
//!
//! | part | what it reads |
//! |---|---|
//! | `superblock`, `file` | where the file starts, the sizes of its addresses; checked reads |
//! | `object`, `shared` | object headers and their messages, wherever they lie |
//! | `message`, `datatype` | shapes, layouts, filters, fill values; types of elements |
//! | `heap`, `global` | names; values of any length |
//! | `data` | the values of datasets |
//! | `second` | libhdf5, where it has filters as plugins that Gander lacks |

pub mod attribute;
pub mod book;
pub mod btree2;
pub mod checksum;
pub mod data;
pub mod datatype;
pub mod file;
pub mod fractal;
pub mod global;
pub mod heap;
pub mod links;
pub mod message;
pub mod object;
mod second;
pub mod shared;
pub mod superblock;
pub mod tree;

use crate::content::Kind;
use crate::error::Result;
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{FIRST, Head, Match};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["h5", "hdf5", "hdf", "he5", "h5ad", "loom"],
    mime: &["application/x-hdf5", "application/x-hdf"],
    magic: &[crate::sniff::Magic::at(0, superblock::SIGNATURE)],
    sniff: Some(sniff),
    reads: &[Kind::Array, Kind::Table],
    writer: Some(crate::write::hdf5::WRITER),
    ..Format::new("hdf5", "HDF5", open)
};

/// Whether a superblock stands at one of its places.
fn has_superblock(head: &Head) -> bool {
    let mut places = std::iter::once(0).chain((9..).map(|n| 1usize << n).take_while(|at| *at < FIRST));
    places.any(|at| head.first.get(at..).is_some_and(|rest| rest.starts_with(superblock::SIGNATURE)))
}

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        Match::No
    } else if has_superblock(head) {
        Match::Yes
    } else if head.len.is_some_and(|len| len > FIRST as u64) && !head.is_text() {
        // The user block may be larger than the head.
        Match::Maybe
    } else {
        Match::No
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let book = book::Book::open(opening.task, opening.source)?;
    tree::root(opening.task, &book)
}
