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
pub mod shared;
pub mod superblock;
