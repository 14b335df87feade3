//! What values become that are more than plain data: what a persistent id stands for, what a class makes of its
//! arguments and state. The pickle does not say; the library that wrote it does.
//! <https://docs.python.org/3/library/pickle.html#persistence-of-external-objects>

use super::machine::{Id, Pickle, Value};
use super::ndarray::Ndarray;
use crate::bytes::error::Result;
use crate::data::content::Content;
use std::sync::Arc;

/// Knows the classes and the persistent ids of a library. Nothing is called: it reads what a call would be given.
pub trait Resolver: Send + Sync {
    /// What the value `id` becomes: an [`Object`](super::Object) with its class, arguments and state, a
    /// [`Value::Persistent`] with its id, or a name. `None` where it is none that is known; it is shown as it is then,
    /// and so it is after an error, which is told. `name` is for what is made.
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved>>;
}

/// What a value became.
pub struct Resolved {
    /// The label of its node: `numpy.ndarray`.
    pub label: &'static str,
    /// What it holds.
    pub content: Content,
}

/// NumPy's arrays: `_reconstruct` with its state, and `_frombuffer`.
pub struct Numpy;

impl Resolver for Numpy {
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved>> {
        let array = Ndarray::of(pickle, id)?.plain(name);
        let resolved = |plain| Resolved { label: "numpy.ndarray", content: Content::Array(Arc::new(plain)) };
        Some(array.map(resolved))
    }
}

impl Value {
    /// Whether a resolver is asked what it becomes.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Value::Object(_) | Value::Persistent(_) | Value::Global(_) | Value::Extension(_))
    }
}
