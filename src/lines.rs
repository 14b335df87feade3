//! Lines and records of text: where they end, how many there are, and where the n-th one begins.
//!
//! Neutral ground between text, CSV and JSON Lines: a byte scanner that knows quotes ([`scan`]), a
//! sparse index that is built on all cores ([`index`]), and encodings ([`encoding`]).

pub mod encoding;
pub mod index;
pub mod scan;

pub use index::Index;
pub use scan::Rules;
