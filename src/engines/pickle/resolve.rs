//! What values become that are more than plain data: what a persistent id stands for, what a class makes of its
//! arguments and state. The pickle does not say; the library that wrote it does.
//! <https://docs.python.org/3/library/pickle.html#persistence-of-external-objects>

use super::machine::{Id, Pickle, Value};
use super::tree::Values;
use crate::bytes::error::Result;
use crate::data::content::Content;
use crate::data::node::Node;

/// Knows the classes and the persistent ids of a library. Nothing is called: it reads what a call would be given.
pub trait Resolver: Send + Sync {
    /// What the value `id` becomes: an [`Object`](super::Object) with its class, arguments and state, a
    /// [`Value::Persistent`] with its id, or a name. `None` where it is none that is known; it is shown as it is then,
    /// and so it is after an error, which is told. `name` is for what is made.
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved>>;

    /// The whole node of a value of any kind, where it is another one than its type and what it holds would make: a
    /// dict whose names are those of modules. Asked before [`Resolver::resolve`]; `values` makes the nodes below it.
    fn node(&self, _values: &Values, _id: Id, _name: &str) -> Option<Node> {
        None
    }

    /// Whether it knows what persistent ids stand for; who loads a file without knowing it asks somebody else for
    /// objects of any kind.
    fn knows_persistent(&self) -> bool {
        true
    }
}

impl Resolver for Box<dyn Resolver> {
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved>> {
        (**self).resolve(pickle, id, name)
    }

    fn node(&self, values: &Values, id: Id, name: &str) -> Option<Node> {
        (**self).node(values, id, name)
    }

    fn knows_persistent(&self) -> bool {
        (**self).knows_persistent()
    }
}

/// What a value became.
pub struct Resolved {
    /// The label of its node: `numpy.ndarray`.
    pub label: &'static str,
    /// What it holds.
    pub content: Content,
}

/// Nothing beyond what every pickle's values are: Python's own, NumPy's, SciPy's and pandas' objects.
pub struct Numpy;

impl Resolver for Numpy {
    fn resolve(&self, _pickle: &Pickle, _id: Id, _name: &str) -> Option<Result<Resolved>> {
        None
    }

    fn knows_persistent(&self) -> bool {
        false
    }
}

impl Value {
    /// Whether a resolver is asked what it becomes.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Value::Object(_) | Value::Persistent(_) | Value::Global(_) | Value::Extension(_))
    }
}
