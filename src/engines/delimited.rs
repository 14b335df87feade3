//! Lines and records of text: where they end, how many there are, and where the n-th one begins.
//!
//! Neutral ground between text, CSV, JSON Lines and other tables of lines: a byte scanner that knows quotes ([`scan`]), a
//! sparse index that is built on all cores ([`index`], [`ordered`]), finding a record's begin anywhere in a file
//! ([`resync`]), rows by range ([`paged`]) and as a table ([`mod@table`]), encodings ([`encoding`]), columns of
//! cells ([`texts`]), and text as it is written ([`output`]). What the cells of a column fit is found by [`crate::data::infer`].

pub mod encoding;
pub mod index;
pub mod ordered;
pub mod output;
pub mod paged;
mod plain_text;
pub mod resync;
pub mod scan;
pub mod table;
pub mod texts;

pub use index::Index;
pub use paged::{Paged, Records, Step};
pub use plain_text::PlainText;
pub use scan::{Ends, Rules};
pub use table::{Gather, RecordSchema, TextTable};
