//! MessagePack: JSON's values and a few more as bytes.
//! <https://github.com/msgpack/msgpack/blob/master/spec.md>
//!
//! | room | what is in it |
//! |---|---|
//! | [`token`] | what a value begins with, and where it ends |
//! | [`text`] | keys as names, scalars for people, anything as JSON |
//! | [`columns`] | objects of a container as rows, a column for each key that maps have in common |
//! | [`write`](mod@write) | cells of a table as values |

pub mod columns;
pub mod text;
pub mod token;
pub mod write;

pub use columns::ObjectColumns;
pub use token::Token;
