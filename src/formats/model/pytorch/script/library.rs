//! What the graphs of a module are made from: its code, parsed file by file when a name of it comes up, its objects and
//! its constants, which are pickles.

use super::super::archive::Container;
use super::super::rebuild::{self, What};
use super::super::values;
use super::constant::Constant;
use super::parse;
use super::syntax::{Class, Code, Expression, Function, Name};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::graph::{Dimension, Value as Described};
use crate::engines::pickle::{Id, Object, Pickle, Value, Values};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most bytes of code that are parsed. Large models have some megabytes.
const CODE: u64 = 32 << 20;
/// How deep objects are looked into for the weights that they hold.
const PACKED: usize = 5;
/// The most weights of an object that is none of the program's.
const WEIGHTS: usize = 8;

/// A program.
pub(super) struct Library {
    container: Container,
    values: Values,
    constants: Option<Values>,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    known: HashMap<String, Option<Arc<File>>>,
    /// Bytes that were parsed.
    parsed: u64,
    /// What is wrong with the code, the first of it.
    problem: Option<Error>,
}

/// A file of code, with what it defines by name.
struct File {
    code: Code,
    classes: HashMap<Name, usize>,
    functions: HashMap<Name, usize>,
    /// By class: its methods and its fields.
    parts: Vec<[HashMap<Name, usize>; 2]>,
    assigned: HashSet<Name>,
}

/// Where a class is defined.
#[derive(Clone)]
pub(super) struct ClassOf {
    file: Arc<File>,
    number: usize,
}

impl ClassOf {
    pub(super) fn class(&self) -> Option<&Class> {
        self.file.code.classes.get(self.number)
    }

    /// A method by its name.
    pub(super) fn method(&self, name: &str) -> Option<Arc<Function>> {
        let [methods, _] = self.file.parts.get(self.number)?;
        self.class()?.methods.get(*methods.get(name)?).cloned()
    }

    /// The place and the type of a field by its name.
    pub(super) fn field(&self, name: &str) -> Option<(usize, &Expression)> {
        let [_, fields] = self.file.parts.get(self.number)?;
        let place = *fields.get(name)?;
        self.class()?.fields.get(place).map(|(_, of)| (place, of))
    }

    /// Whether code of the file assigns to an attribute of this name.
    pub(super) fn assigns(&self, name: &str) -> bool {
        self.file.assigned.contains(name)
    }
}

/// A pickle of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Store {
    /// The module.
    Data,
    /// The constants.
    Constants,
}

impl Library {
    pub(super) fn new(container: Container, values: Values, constants: Option<Values>) -> Self {
        Library { container, values, constants, files: Mutex::default() }
    }

    /// What was wrong with code that was looked for.
    pub(super) fn problem(&self) -> Option<Error> {
        self.files.lock().problem.clone()
    }

    pub(super) fn pickle(&self, store: Store) -> Option<&Pickle> {
        match store {
            Store::Data => Some(self.values.pickle()),
            Store::Constants => self.constants.as_ref().map(Values::pickle),
        }
    }

    /// The value of a constant by its number, and its path in the document.
    pub(super) fn constant(&self, number: usize) -> Option<(Id, String)> {
        let pickle = self.constants.as_ref()?.pickle();
        let id = pickle.tuple(pickle.root()?)?.get(number).copied()?;
        Some((id, format!("constants/{number}")))
    }

    /// The file of a module: `__torch__.torch.nn` is `code/__torch__/torch/nn.py`.
    fn file(&self, task: &Task, module: &str) -> Result<Option<Arc<File>>> {
        if let Some(known) = self.files.lock().known.get(module) {
            return Ok(known.clone());
        }
        let name = format!("code/{}.py", module.replace('.', "/"));
        let file = match self.container.member(&name) {
            Some(member) => match self.read(task, &name, member.size).unless_cancelled()? {
                Ok(file) => Some(Arc::new(file)),
                Err(error) => {
                    self.files.lock().problem.get_or_insert(error.in_node(&name));
                    None
                }
            },
            None => None,
        };
        self.files.lock().known.insert(module.to_owned(), file.clone());
        Ok(file)
    }

    fn read(&self, task: &Task, name: &str, size: u64) -> Result<File> {
        let all = self.files.lock().parsed.saturating_add(size);
        limits::check(all, CODE, "the code of the graphs")?;
        self.files.lock().parsed = all;
        let bytes = self.container.bytes(task, name)?;
        let code = parse::parse(task, &String::from_utf8_lossy(&bytes))?;
        let classes = code.classes.iter().enumerate().map(|(n, class)| (class.name.clone(), n)).collect();
        let functions =
            code.functions.iter().enumerate().map(|(n, function)| (function.name.clone(), n)).collect();
        let parts = code.classes.iter().map(|class| {
            let methods = class.methods.iter().map(|method| method.name.clone()).zip(0..).collect();
            [methods, class.fields.iter().map(|(name, _)| name.clone()).zip(0..).collect()]
        });
        let parts = parts.collect();
        let assigned = code.assigned.iter().cloned().collect();
        Ok(File { code, classes, functions, parts, assigned })
    }

    /// The class of a qualified name: `__torch__.torch.nn.modules.conv.Conv2d`.
    pub(super) fn class(&self, task: &Task, name: &str) -> Result<Option<ClassOf>> {
        let Some((module, last)) = name.rsplit_once('.') else { return Ok(None) };
        let file = self.file(task, module)?;
        Ok(file.and_then(|file| file.classes.get(last).copied().map(|number| ClassOf { file, number })))
    }

    /// The function of a qualified name.
    pub(super) fn function(&self, task: &Task, name: &str) -> Result<Option<Arc<Function>>> {
        let Some((module, last)) = name.rsplit_once('.') else { return Ok(None) };
        let file = self.file(task, module)?;
        Ok(file.and_then(|file| file.code.functions.get(*file.functions.get(last)?).cloned()))
    }

    /// What a value of a pickle is to a program.
    pub(super) fn stored(&self, store: Store, id: Id) -> Stored {
        let Some(pickle) = self.pickle(store) else { return Stored::Other };
        stored(pickle, id, 0)
    }

    /// The attributes of an object by their names.
    pub(super) fn attributes(&self, store: Store, id: Id) -> HashMap<String, Id> {
        let Some(pickle) = self.pickle(store) else { return HashMap::new() };
        let Value::Object(object) = pickle.value(id) else { return HashMap::new() };
        let entries = object.state.and_then(|state| values::entries(pickle, state)).unwrap_or_default();
        entries.iter().filter_map(|(key, value)| Some((pickle.text(*key)?.to_owned(), *value))).collect()
    }

    /// The tensors in an object whose class is none of the program's: the packed weights of a quantised layer. With each
    /// what is said of it; they have no paths of their own.
    pub(super) fn packed(&self, store: Store, id: Id) -> Vec<Described> {
        let mut found = Vec::new();
        if let Some(pickle) = self.pickle(store) {
            packed(pickle, id, 0, &mut found);
        }
        found
    }
}

/// What a value of a pickle is.
pub(super) enum Stored {
    Tensor(Box<Described>),
    /// An object, with the qualified name of its class.
    Object(String),
    Constant(Constant),
    Other,
}

fn stored(pickle: &Pickle, id: Id, depth: usize) -> Stored {
    if let Some(tensor) = rebuild::tensor(pickle, id) {
        let described = tensor.ok().map(|tensor| described(&tensor.what)).unwrap_or_default();
        return Stored::Tensor(Box::new(described));
    }
    let Value::Object(object) = pickle.value(id) else {
        return Constant::of(pickle, id, 0).map_or(Stored::Other, Stored::Constant);
    };
    if let Some(inner) = values::tagged(pickle, object).filter(|_| depth < PACKED) {
        return stored(pickle, inner, depth + 1);
    }
    class_of(pickle, object).map_or(Stored::Other, Stored::Object)
}

/// The qualified name of the class of an object.
fn class_of(pickle: &Pickle, object: &Object) -> Option<String> {
    let (module, name) = pickle.global(rebuild::class(pickle, object))?;
    Some(format!("{module}.{name}"))
}

/// Type, shape and elements of a tensor.
fn described(what: &What) -> Described {
    let (kind, shape) = match what {
        What::Strided(strided) => (Some(strided.kind.name()), Some(&strided.shape)),
        What::Nowhere { kind, shape, .. } => (Some(kind.name()), Some(shape)),
        What::Sparse(sparse) => (None, Some(&sparse.shape)),
        _ => (None, None),
    };
    Described {
        dtype: kind.map(Into::into),
        elements: shape.and_then(|shape| limits::elements(shape).ok()),
        shape: shape.map(|shape| shape.iter().map(|length| Dimension::Fixed(*length)).collect()),
        ..Described::default()
    }
}

fn packed(pickle: &Pickle, id: Id, depth: usize, found: &mut Vec<Described>) {
    if depth > PACKED || found.len() >= WEIGHTS {
        return;
    }
    if let Some(tensor) = rebuild::tensor(pickle, id) {
        found.extend(tensor.ok().map(|tensor| described(&tensor.what)));
        return;
    }
    match pickle.value(id) {
        Value::List(items) | Value::Tuple(items) => {
            for item in items.iter().take(WEIGHTS) {
                packed(pickle, *item, depth + 1, found);
            }
        }
        Value::Object(object) => {
            for part in [Some(object.arguments), object.state].into_iter().flatten() {
                packed(pickle, part, depth + 1, found);
            }
        }
        _ => {}
    }
}
