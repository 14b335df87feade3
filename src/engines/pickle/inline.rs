//! joblib's arrays. Its pickles hold a wrapper in place of each array, and behind the opcode that fills the wrapper
//! stand the array's elements as they are in memory, or a pickle of their own for Python objects; then the opcodes go on.
//! <https://github.com/joblib/joblib/blob/main/joblib/numpy_pickle.py>
//!
//! Who loads such a file with `pickle.load` reads the elements as opcodes. So that none hides there, the names that they
//! would ask for then are found too ([`hidden`]).

use super::machine::{Id, Inlined, Machine, Object, Pickle, Value};
use super::opcode::Span;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::dtype::numpy::Described;
use bytes::Bytes;

/// The class of the wrapper, and its whole name.
pub(super) const CLASS: &str = "NumpyArrayWrapper";
pub(super) const WRAPPER: &str = "joblib.numpy_pickle.NumpyArrayWrapper";
/// Modules that the wrapper is in.
pub(super) const JOBLIB: [&str; 2] = ["joblib.numpy_pickle", "sklearn.externals.joblib.numpy_pickle"];

impl Pickle {
    /// The object that is a wrapper of joblib around an array.
    pub(super) fn wrapper(&self, id: Id) -> Option<&Object> {
        let Value::Object(object) = self.value(id) else { return None };
        self.is(object.class, &JOBLIB, CLASS).then_some(object)
    }

    /// Whether joblib's class of wrappers stands anywhere but as the class of an object that is made without arguments and
    /// filled at once: made by another way, joblib takes it for a wrapper, and bytes behind it for elements, where nothing else does.
    pub(super) fn has_hidden_wrappers(&self) -> bool {
        let is = |id: &Id| self.is(*id, &JOBLIB, CLASS);
        if !self.globals().iter().any(|(module, name)| name == CLASS && JOBLIB.contains(&module.as_str())) {
            return false;
        }
        let any = |ids: &[Id]| ids.iter().any(is);
        let any_pair = |pairs: &[(Id, Id)]| pairs.iter().any(|(key, value)| is(key) || is(value));
        self.ids().any(|id| match self.value(id) {
            Value::List(ids) | Value::Tuple(ids) | Value::Set(ids) | Value::FrozenSet(ids) => any(ids),
            Value::Dict(pairs) => any_pair(pairs),
            Value::Persistent(id) => is(id),
            Value::Object(object) => {
                let beside = [object.named, object.state].into_iter().flatten().any(|id| is(&id));
                let plainly =
                    self.tuple(object.arguments).is_some_and(<[Id]>::is_empty) && object.named.is_none();
                is(&object.class) && (!plainly || object.state.is_none() && self.fault().is_none())
                    || beside
                    || any(&object.items)
                    || any_pair(&object.pairs)
            }
            _ => false,
        })
    }

    /// An entry of a dict by its name.
    pub(super) fn entry(&self, dict: Id, name: &str) -> Option<Id> {
        let Value::Dict(entries) = self.value(dict) else { return None };
        entries.iter().find(|(key, _)| self.text(*key) == Some(name)).map(|(_, value)| *value)
    }
}

impl Machine {
    /// Behind a `BUILD` that ends at `at`: takes the elements of an array, where what was filled is joblib's wrapper.
    /// Where to go on.
    pub(super) fn inline(&mut self, task: &Task, at: usize) -> Result<usize> {
        let Some(&id) = self.stack.last() else { return Ok(at) };
        if self.literal || self.nested {
            return Ok(at);
        }
        let Some(state) = self.pickle.wrapper(id).and_then(|object| object.state) else { return Ok(at) };
        let of = |name| self.pickle.entry(state, name);
        let (Some(dtype), Some(shape)) = (of("dtype"), of("shape")) else {
            self.wrong("has an array of joblib's whose fields are not where joblib puts them", at);
            return Ok(at);
        };
        let (Some(described), Some(shape)) = (self.pickle.described(dtype), self.pickle.shape(shape)) else {
            self.wrong("has an array of joblib's whose type or shape is not understood", at);
            return Ok(at);
        };
        if described.object {
            return self.nested(task, id, at);
        }
        // Whatever is not `None` there, joblib takes a byte with the count of those to be passed.
        let aligned =
            of("numpy_array_alignment_bytes").is_some_and(|id| !matches!(self.pickle.value(id), Value::None));
        let start = match (aligned, self.pickle.bytes.get(at)) {
            (true, Some(&padding)) => at.saturating_add(1).saturating_add(usize::from(padding)),
            _ => at,
        };
        let len =
            limits::bytes(&shape, described.dtype.size()).ok().and_then(|len| usize::try_from(len).ok());
        let all = self.pickle.bytes.len();
        let end = len.and_then(|len| start.checked_add(len)).filter(|&end| end <= all).unwrap_or_else(|| {
            self.wrong("ends before the elements of an array do; it may be cut off", at);
            all
        });
        let span = Span { start: start.min(all) as u64, end: end as u64 };
        self.pickle.facts.inlined.insert(id, Inlined::Bytes(span));
        Ok(end)
    }

    /// A pickle within the pickle, with a stack and a memo of its own.
    fn nested(&mut self, task: &Task, id: Id, at: usize) -> Result<usize> {
        let give_back = self.set_aside();
        self.nested = true;
        let done = self.run(task, at);
        self.nested = false;
        let root = self.pickle.take_root();
        give_back(self);
        done?;
        let end = self.pickle.end();
        match root {
            Some(root) => drop(self.pickle.facts.inlined.insert(id, Inlined::Value(root))),
            None => self.wrong("has an array of Python objects without an end", at),
        }
        Ok(end)
    }
}

/// Module and name of what a pickle with joblib's arrays asks for where the elements are taken for opcodes, up to the
/// first step that Python could not take.
///
/// # Errors
/// `Cancelled`.
pub(super) fn hidden(task: &Task, pickle: &Pickle, start: usize) -> Result<Vec<(String, String)>> {
    if pickle.facts.inlined.is_empty() {
        return Ok(Vec::new());
    }
    let (mut found, _) = literal(task, &pickle.bytes, start, super::machine::VALUES)?;
    found.retain(|global| !pickle.globals().contains(global));
    Ok(found)
}

/// All names that `pickle.load` would ask for, up to the first step that Python could not take or the most values that
/// are looked at, and whether it was these.
///
/// # Errors
/// `Cancelled`.
pub(super) fn literal(
    task: &Task,
    bytes: &Bytes,
    start: usize,
    most: usize,
) -> Result<(Vec<(String, String)>, bool)> {
    let mut machine = Machine::new(bytes, start);
    machine.literal = true;
    machine.most = most;
    machine.run(task, start)?;
    let cut = machine.pickle.values.len() >= most;
    // Anything can be a name to Python; what the noise of an array spells is none.
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'?'))
    };
    let mut found = machine.pickle.globals().to_vec();
    found.retain(|global| word(&global.0) && word(&global.1));
    Ok((found, cut))
}

/// An array that joblib before version 0.10 wrote into a file beside the pickle.
#[derive(Clone, Debug)]
pub enum Side {
    /// A file of NumPy's format.
    Npy(String),
    /// A compressed file of the elements; type and shape stand in the pickle.
    Compressed {
        /// Its name.
        file: String,
        /// The type of its elements.
        described: Described,
        /// The shape.
        shape: Vec<u64>,
        /// Whether they are in Fortran order.
        fortran: bool,
    },
}

impl Pickle {
    /// The array beside the pickle that a wrapper of joblib names.
    pub fn side(&self, id: Id) -> Option<Side> {
        let Value::Object(object) = self.value(id) else { return None };
        let (module, name) = self.global(object.class)?;
        let state = object.state.filter(|_| module.contains("joblib."))?;
        let file = self.text(self.entry(state, "filename")?)?.to_owned();
        match name {
            "NDArrayWrapper" => Some(Side::Npy(file)),
            "ZNDArrayWrapper" => {
                let parts = self.tuple(self.entry(state, "state")?)?;
                let [shape, dtype, fortran] = *parts.last_chunk::<3>()?;
                let fortran = matches!(self.value(fortran), Value::Bool(true) | Value::Int(1));
                Some(Side::Compressed {
                    file,
                    described: self.described(dtype)?,
                    shape: self.shape(shape)?,
                    fortran,
                })
            }
            _ => None,
        }
    }
}
