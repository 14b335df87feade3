//! HDF5: groups and datasets in one file, by the HDF5 File Format Specification 4.0
//! (<https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html>). A reader of its own, without the
//! C library: every size and address of a file is checked, one broken object never hides its neighbours.
//!
//! | part | what it reads |
//! |---|---|
//! | `superblock`, `file` | where the file starts, the sizes of its addresses; checked reads |
//! | `object`, `shared` | object headers and their messages, wherever they lie |
//! | `message`, `datatype` | shapes, layouts, filters, fill values; types of elements |
//! | `heap`, `global`, `fractal`, `btree2` | names; values of any length; dense storage and its indexes |
//! | `links`, `attribute` | the links of groups, the attributes of objects, of every kind of storage |
//! | `book`, `tree` | paths; nodes by pages, links followed, circles ended |
//! | `data` | the values of datasets |
//! | `second` | libhdf5, where it has filters as plugins that Gander lacks |
//! | `axes`, `conventions` | dimension scales, NetCDF-4, NeXus, PyTables, AnnData, Keras |
//! | `variables` | names of NetCDF-4's variables that are not those of their links |
//! | `nexus` | the dataset that a NeXus file begins with |
//! | `matlab` | MATLAB's classes in files of version 7.3 |
//! | `frames` | data frames whose columns are datasets |

pub mod attribute;
pub mod axes;
pub mod btree2;
pub mod conventions;
pub mod data;
pub mod datatype;
pub mod file;
pub mod file_index;
pub mod fractal;
pub mod global;
pub mod heap;
pub mod links;
mod matlab;
mod members;
pub mod message;
mod nexus;
pub mod object;
mod pickled;
mod second;
pub mod shared;
pub mod superblock;
pub mod tree;
mod variables;
pub mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{FIRST, Head, Match};
use conventions::Flavour;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["h5", "hdf5", "hdf", "he5", "h5ad", "loom"],
    mime: &["application/x-hdf5", "application/x-hdf"],
    magic: &[crate::data::sniff::Magic::at(0, superblock::SIGNATURE)],
    sniff: Some(sniff),
    reads: &[Kind::Array, Kind::Table],
    targets: &[Target::new("hdf5", "HDF5", &["h5", "hdf5"], &write::WRITER)],
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
    let book = file_index::FileIndex::open(opening.task, opening.source, Flavour::Plain)?;
    tree::root(opening.task, &book)
}

/// MATLAB's MAT-files of version 7.3: HDF5 behind a header that stands in the user block.
/// <https://www.mathworks.com/help/matlab/import_export/mat-file-versions.html>
pub static MATLAB: Format = Format {
    extensions: &["mat"],
    mime: &["application/x-matlab-data"],
    sniff: Some(sniff_matlab),
    reads: &[Kind::Array, Kind::Text],
    targets: &[Target::new("mat73", "MATLAB 7.3 MAT-file", &["mat"], &write::MATLAB)],
    ..Format::new("mat73", "MATLAB 7.3 MAT-file", open)
};

/// HDF5 that is called so, or has MATLAB's header and no other name that says HDF5.
fn sniff_matlab(head: &Head) -> Match {
    let says = || {
        head.has_extension(MATLAB.extensions)
            || matlab::is_header(&head.first) && !head.has_extension(FORMAT.extensions)
    };
    if !head.is_folder && has_superblock(head) && says() { Match::Yes } else { Match::No }
}

/// NetCDF-4: HDF5 with dimension scales, written by the NetCDF library and those that follow it.
/// <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html>
pub static NETCDF4: Format = Format {
    extensions: &["nc", "nc4"],
    mime: &["application/x-netcdf4"],
    magic: &[crate::data::sniff::Magic::at(0, superblock::SIGNATURE)],
    sniff: Some(sniff_netcdf),
    reads: &[Kind::Array, Kind::Table],
    targets: &[Target::new("netcdf4", "NetCDF-4", &["nc", "nc4"], &write::NETCDF4)],
    ..Format::new("netcdf4", "NetCDF-4", open_netcdf)
};

/// HDF5 that is called so, or says so near its start, where the root group's attributes usually lie.
fn sniff_netcdf(head: &Head) -> Match {
    let says = || {
        head.has_extension(NETCDF4.extensions)
            || memchr::memmem::find(&head.first, b"_NCProperties").is_some()
    };
    if !head.is_folder && has_superblock(head) && says() { Match::Yes } else { Match::No }
}

fn open_netcdf(opening: &Opening) -> Result<Node> {
    let book = file_index::FileIndex::open(opening.task, opening.source, Flavour::NetCdf)?;
    tree::root(opening.task, &book)
}
