//! Bytes and the permission to read them: files, mapped or streamed; what lies compressed or archived in them; what they
//! may demand. Nothing here knows what bytes mean.
//!
//! | room | what is in it |
//! |---|---|
//! | [`source`] | the only place that opens and maps files; identity checks; the guard against shrinking files |
//! | [`codec`], [`stream`] | compression, filters and checksums of blocks; compressed streams, indexed for random access |
//! | [`archive`] | ZIP and TAR: members as sources |
//! | [`cache`] | decoded blocks that a second look finds again, in one budget for the process |
//! | `system` | what each system does in a way of its own: who a file is, reads at a place, names as bytes |
//! | `starter` | the thread that starts other programs |
//! | [`strides`] | elements of a size in n dimensions: numbers of cells, copies from one order of axes into another |
//! | [`guard`] | a panic in a reader or a decoder is an error |
//! | [`task`] | permission to block, progress, a stop |
//! | [`limits`], [`error`], [`display`] | what a file may demand; the one error; numbers for people |
//! | [`numbers`] | little- and big-endian numbers among bytes, and those in groups of seven bits |

pub mod archive;
pub mod cache;
pub mod codec;
pub mod display;
pub mod error;
pub mod file_cache;
pub mod guard;
pub mod limits;
pub mod numbers;
pub mod source;
pub(crate) mod starter;
pub mod stream;
pub mod strides;
pub(crate) mod system;
pub mod task;

/// The entry of a table that has one for every byte.
#[inline]
#[allow(clippy::indexing_slicing, reason = "a byte is less than 256")]
pub fn entry<T>(table: &[T; 256], byte: u8) -> &T {
    &table[usize::from(byte)]
}
