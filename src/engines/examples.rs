//! `tf.train.Example` and `tf.train.SequenceExample`: records whose fields are features — lists of integers, of floats or
//! of bytes, by name — as TensorFlow's data sets have them.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/example.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto>
//!
//! Nothing says which features the records of a file have. A [`Survey`] of some of them tells it: a feature is a column,
//! of single values where every record that was looked at has exactly one, else of lists. What a record further on has
//! beyond that — another feature, another kind of list, two values instead of one, bytes that are no text — is no value
//! of those columns and is never made to look like one: the cell is null, and the feature stands as it is in the column
//! [`REST`], in the JSON that Protocol Buffers have for such messages.

mod build;
mod columns;
mod node;
mod survey;
#[cfg(test)]
mod tests;
mod wire;

pub use crate::engines::json::record::REST;
pub use columns::{ExampleColumns, Hints};
pub use node::record_node;
pub use survey::Survey;
pub use wire::{Kind, Message};
