//! What TensorFlow's files have in common: its messages, the graphs and functions in them, and the tables that hold the
//! tensors of checkpoints.
//! <https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/framework>,
//! <https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/protobuf>
//!
//! | part | holds |
//! |---|---|
//! | [`messages`] | GraphDef, FunctionDef, MetaGraphDef, as far as they are shown |
//! | [`build`] | the graph that they describe |
//! | [`tensor`], [`arrays`], [`types`] | tensors in messages |
//! | [`table`], [`bundle`], [`slices`] | checkpoints |
//! | [`objects`] | the objects of Python that a model was made of |
//! | [`restored`] | which variable is which tensor of the checkpoint |
//! | [`document`] | all of it as a tree |

pub mod arrays;
pub mod attribute;
pub mod build;
pub mod bundle;
pub mod constants;
pub mod document;
pub mod messages;
pub mod objects;
pub mod restored;
pub mod schema;
pub mod slices;
pub mod table;
pub mod tensor;
pub mod types;

#[cfg(test)]
mod tests;
