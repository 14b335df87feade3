//! What a pickle of PyTorch holds as nodes: tensors as slices of their storages, modules by their parts, dicts of
//! tensors whose names have dots as a tree of modules; everything else as the pickle has it.

use super::array::{self, Made, PerChannel};
use super::rebuild::{self, Quantiser, Sparse, Storage, Strided, Tensor, What};
use super::sparse;
use super::storage::Stores;
use super::survey::Users;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{Array, read};
use crate::data::node::{Listing, Node, page_of};
use crate::data::region::Region;
use crate::engines::modules::{self, Leaf};
use crate::engines::pickle::{Id, Ndarray, Numpy, Object, Pickle, Resolved, Resolver, Value, Values};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

const TENSOR: &str = "torch.Tensor";
const PARAMETER: &str = "torch.nn.Parameter";
const MODULE: &str = "module";
const ORDERED: &str = "collections.OrderedDict";
/// The most entries of a dict that are looked at for tensors.
const ENTRIES: usize = 1 << 20;

/// Knows PyTorch's tensors, storages and modules.
#[derive(Clone)]
pub(super) struct Torch {
    pub(super) stores: Arc<Stores>,
    /// The tensors in each storage.
    pub(super) users: Arc<HashMap<String, Users>>,
}

impl Resolver for Torch {
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved>> {
        Numpy.resolve(pickle, id, name)
    }

    fn node(&self, values: &Values, id: Id, name: &str) -> Option<Node> {
        let pickle = values.pickle();
        match pickle.value(id) {
            Value::Persistent(_) if rebuild::is_storage(pickle, id) => Some(self.storage(pickle, id, name)),
            Value::Persistent(key) => self.named(pickle, *key, name),
            Value::Dict(_) => state_dict(values, id, name),
            Value::Object(object) => {
                if let Some(tensor) = rebuild::tensor(pickle, id) {
                    return Some(self.tensor(values, name, tensor));
                }
                if let Some(inner) = tagged(pickle, object) {
                    return Some(values.below(inner, name));
                }
                module(values, object, name).or_else(|| state_dict(values, id, name))
            }
            _ => None,
        }
    }
}

impl Torch {
    /// A tensor.
    fn tensor(&self, values: &Values, name: &str, tensor: Result<Tensor>) -> Node {
        let tensor = match tensor {
            Ok(tensor) => tensor,
            Err(error) => return Node::new(name, TENSOR).problem(error),
        };
        let pickle = values.pickle();
        let mut node = Node::new(name, if tensor.is_parameter { PARAMETER } else { TENSOR });
        if let Some(class) = tensor.class {
            node = node.read_as("type", class_name(pickle, class));
        }
        let mut parts: Vec<(String, Id)> = Vec::new();
        match &tensor.what {
            What::Strided(strided) => {
                node = self.strided(node, &tensor, strided);
                if let Some(Quantiser::Channel { scales, zeros, axis }) = strided.quantiser {
                    return self.channels(values, node, scales, zeros, axis);
                }
            }
            What::Sparse(sparse) => {
                parts.extend(sparse.parts.iter().map(|(name, id)| ((*name).to_owned(), *id)));
                match self.sparse(pickle, sparse) {
                    Ok(array) => node = node.content(Content::Array(Arc::new(array))),
                    Err(error) => node.problem = Some(error),
                }
                node = node.read_as("layout", sparse.layout.clone());
            }
            What::Jagged(fields) => {
                node = node.read_as("layout", "jagged");
                let fields = named_entries(pickle, &state_entries(pickle, *fields));
                // What it has beside them is made of them again.
                let fields = fields.into_iter().filter(|(_, id)| !is_nothing(pickle, *id)).collect();
                return match values.deeper() {
                    Some(values) => node.lazy(Fields { values, fields }),
                    None => node,
                };
            }
            What::Nested(ids) => return self.nested(pickle, node, *ids),
            What::Numpy(id) => match Ndarray::of(pickle, *id).map(|array| array.plain(name)) {
                Some(Ok(plain)) => node = node.content(Content::Array(Arc::new(plain))),
                Some(Err(error)) => node.problem = Some(error),
                None => node.problem = Some(Error::malformed("tensor: its data are no array of NumPy")),
            },
            What::Nowhere { kind, shape, why } => {
                node = node.read_as("dtype", kind.name()).read_as("shape", format!("{shape:?}")).remark(*why);
            }
        }
        if let Some(state) = tensor.state {
            let state = named_entries(pickle, &state_entries(pickle, state));
            parts.extend(state.into_iter().filter(|(name, _)| !is_mark(name)));
        }
        match values.deeper().filter(|_| !parts.is_empty()) {
            Some(values) => node.lazy(Fields { values, fields: parts }),
            None => node,
        }
    }

    /// Elements in a storage.
    fn strided(&self, mut node: Node, tensor: &Tensor, strided: &Strided) -> Node {
        if self.stores.is_left_out(&strided.storage.key) {
            let shape = format!("{:?}", strided.shape);
            let node = node.read_as("dtype", strided.kind.name()).read_as("shape", shape);
            return node.remark("an example of an input: its type and shape were kept, its values were not");
        }
        let mut more = Vec::new();
        if let Some(names) = self.users.get(&strided.storage.key).and_then(Users::shared) {
            more.push(("storage shared by".to_owned(), names));
        }
        if tensor.is_parameter || tensor.requires_grad {
            more.push(("requires grad".to_owned(), tensor.requires_grad.to_string()));
        }
        match array::strided(&self.stores, strided, more) {
            Ok(Made { array, problem, span }) => {
                node.problem = problem;
                node.span = span;
                node.content(Content::Array(array))
            }
            Err(error) => node.problem(error),
        }
    }

    /// The array of a part of a tensor.
    fn array(&self, pickle: &Pickle, id: Id) -> Result<Arc<dyn Array>> {
        match rebuild::tensor(pickle, id) {
            Some(Ok(Tensor { what: What::Strided(strided), .. })) => {
                Ok(array::strided(&self.stores, &strided, Vec::new())?.array)
            }
            Some(Err(error)) => Err(error),
            _ => Err(Error::malformed("tensor: a part of it is no tensor")),
        }
    }

    fn sparse(&self, pickle: &Pickle, sparse: &Sparse) -> Result<sparse::Sparse> {
        let part = |n: usize| {
            let part = sparse.parts.get(n).ok_or_else(|| Error::bug("a part of a sparse tensor"));
            part.and_then(|(name, id)| self.array(pickle, *id).map_err(|error| error.of(name)))
        };
        let shape = sparse.shape.clone();
        match sparse.parts.len() {
            2 => sparse::Sparse::coordinates(part(0)?, part(1)?, shape),
            _ => sparse::Sparse::compressed(&sparse.layout, [part(0)?, part(1)?, part(2)?], shape),
        }
    }

    /// With what elements stand for whose scales differ along an axis, and with these scales.
    fn channels(&self, values: &Values, mut node: Node, scales: Id, zeros: Id, axis: u64) -> Node {
        let pickle = values.pickle();
        let Some(Content::Array(stored)) = &node.content else { return node };
        let parts = self.array(pickle, scales).and_then(|s| Ok((s, self.array(pickle, zeros)?)));
        let made = parts.and_then(|(scales, zeros)| {
            let wrong = || Error::malformed("tensor: its scales and zero points do not fit its shape");
            PerChannel::new(stored.clone(), scales, zeros, axis).ok_or_else(wrong)
        });
        let mut children = Vec::new();
        match made {
            Ok(array) => {
                let array = Content::Array(Arc::new(array));
                children.push(Node::new("dequantised", TENSOR).content(array));
            }
            Err(error) => node.problem = node.problem.or(Some(error)),
        }
        children.extend([values.below(scales, "scales"), values.below(zeros, "zero_points")]);
        node.listed(children)
    }

    /// One tensor after the other.
    fn nested(&self, pickle: &Pickle, mut node: Node, [buffer, sizes, strides, offsets]: [Id; 4]) -> Node {
        let parts = || -> Result<Nested> {
            let Some(Ok(Tensor { what: What::Strided(buffer), .. })) = rebuild::tensor(pickle, buffer) else {
                return Err(Error::malformed("nested tensor: its values are no tensor"));
            };
            let [sizes, strides, offsets] =
                [self.array(pickle, sizes)?, self.array(pickle, strides)?, self.array(pickle, offsets)?];
            let fits = sizes.shape().len() == 2
                && sizes.shape() == strides.shape()
                && sizes.shape().first() == offsets.shape().first();
            match fits {
                true => Ok(Nested { torch: self.clone(), buffer, sizes, strides, offsets }),
                false => Err(Error::malformed("nested tensor: its sizes and strides do not fit")),
            }
        };
        node = node.read_as("layout", "nested");
        match parts() {
            Ok(parts) => node.read_as("dtype", parts.buffer.kind.name()).lazy(parts),
            Err(error) => node.problem(error),
        }
    }

    /// A storage by itself.
    fn storage(&self, pickle: &Pickle, id: Id, name: &str) -> Node {
        let storage = match Storage::of(pickle, id) {
            Ok(storage) => storage,
            Err(error) => return Node::new(name, "storage").problem(error),
        };
        let node = Node::new(name, storage.label).read_as("storage", self.stores.name(&storage.key));
        match array::whole(&self.stores, &storage.key, &storage.kind, storage.elements) {
            Ok(plain) => {
                let problem = plain.missing();
                Node { problem, ..node.content(Content::Array(Arc::new(plain))) }
            }
            Err(error) => node.problem(error),
        }
    }

    /// A tensor or a storage of the oldest container, which has them by their numbers.
    fn named(&self, pickle: &Pickle, key: Id, name: &str) -> Option<Node> {
        let key = rebuild::key_of(pickle, key)?;
        Some(match self.stores.tensors.get(&key)? {
            Ok(strided) => {
                let tensor = Tensor::new(What::Strided(strided.clone()));
                self.strided(Node::new(name, TENSOR), &tensor, strided)
            }
            Err(error) => Node::new(name, TENSOR).problem(error.clone()),
        })
    }
}

/// Whether an attribute of a tensor is one of those that `torch.compile` leaves on it.
fn is_mark(name: &str) -> bool {
    name.starts_with("_dynamo_") || matches!(name, "_specialize_on" | "_has_dynamo_dim_marking")
}

/// What a tag of TorchScript's is on: `restore_type_tag(value, type)`, `build_intlist([…])`.
pub(super) fn tagged(pickle: &Pickle, object: &Object) -> Option<Id> {
    let (module, _) = pickle.global(object.class)?;
    let first = || pickle.tuple(object.arguments)?.first().copied();
    if module == "torch.jit._pickle" { first() } else { None }
}

/// The name of a class.
fn class_name(pickle: &Pickle, class: Id) -> String {
    pickle.global(class).map_or_else(|| "?".to_owned(), |(module, name)| format!("{module}.{name}"))
}

/// The entries of a dict, also of an ordered one as Python 2 writes it: called with a list of pairs.
pub(super) fn entries(pickle: &Pickle, id: Id) -> Option<Vec<(Id, Id)>> {
    match pickle.value(id) {
        Value::Dict(entries) => Some(entries.clone()),
        Value::Object(object) if pickle.is(object.class, &["collections"], "OrderedDict") => {
            if !object.pairs.is_empty() {
                return Some(object.pairs.clone());
            }
            let listed = pickle.tuple(object.arguments).and_then(|arguments| arguments.first());
            let Some(Value::List(pairs)) = listed.map(|id| pickle.value(*id)) else {
                return Some(Vec::new());
            };
            let pair = |id: &Id| match pickle.value(*id) {
                Value::List(pair) | Value::Tuple(pair) => pair.first_chunk::<2>().map(|[a, b]| (*a, *b)),
                _ => None,
            };
            pairs.iter().map(pair).collect()
        }
        _ => None,
    }
}

/// The attributes of a state: a dict, or a pair of one and of the values of slots.
fn state_entries(pickle: &Pickle, state: Id) -> Vec<(Id, Id)> {
    let parts = match pickle.value(state) {
        Value::Tuple(parts) => parts.clone(),
        _ => vec![state],
    };
    parts.into_iter().filter_map(|part| entries(pickle, part)).flatten().collect()
}

/// Entries by their names; of those that come twice the last one, as in Python.
fn named_entries(pickle: &Pickle, entries: &[(Id, Id)]) -> Vec<(String, Id)> {
    const SHOWN: usize = 1000;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut named: Vec<(String, Id)> = Vec::with_capacity(entries.len());
    for (key, value) in entries.iter().take(ENTRIES) {
        let name = pickle.brief(*key, SHOWN);
        match places.get(&name).and_then(|n| named.get_mut(*n)) {
            Some(earlier) => earlier.1 = *value,
            None => {
                places.insert(name.clone(), named.len());
                named.push((name, *value));
            }
        }
    }
    named
}

/// A dict of tensors whose names have dots, as a tree of modules; `None` for other dicts.
fn state_dict(values: &Values, id: Id, name: &str) -> Option<Node> {
    let pickle = values.pickle();
    let (label, state) = match pickle.value(id) {
        Value::Dict(_) => ("dict", None),
        Value::Object(object) if object.items.is_empty() => (ORDERED, object.state),
        _ => return None,
    };
    let entries = entries(pickle, id)?;
    let dotted = |key: &Id| pickle.text(*key).is_some_and(|key| key.contains('.'));
    let is_state = entries.len() <= ENTRIES
        && entries.iter().any(|(key, _)| dotted(key))
        && entries.iter().all(|(key, _)| pickle.text(*key).is_some())
        && tensors(pickle, &entries) * 2 >= entries.len();
    let was_called = label == ORDERED
        && matches!(pickle.value(id), Value::Object(object) if object.pairs.is_empty())
        && !entries.is_empty();
    let below = values.deeper()?;
    let after = state.map(|state| state_entries(pickle, state)).unwrap_or_default();
    let after = named_entries(pickle, &after);
    let named = named_entries(pickle, &entries);
    let node = Node::new(name, label).read_as("length", serde_json::Value::from(named.len()));
    if !is_state {
        let fields = named.into_iter().chain(after).collect();
        return was_called.then(|| node.lazy(Fields { values: below, fields }));
    }
    let taken: HashSet<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let after = after.iter().filter(|(name, _)| !taken.contains(name.as_str()));
    let after = after.map(|(name, id)| Arc::new(below.below(*id, name))).collect();
    let leaves = named.into_iter().map(|(name, id)| Entry::new(below.clone(), name, id));
    let tree = modules::tree(node, leaves.collect(), after);
    Some(if values.is_root() && name.is_empty() { tree } else { tree.separator("/") })
}

/// How many of these values are tensors.
fn tensors(pickle: &Pickle, entries: &[(Id, Id)]) -> usize {
    entries.iter().filter(|(_, value)| rebuild::tensor(pickle, *value).is_some()).count()
}

/// An entry of a dict of tensors, under its name.
pub(super) struct Entry {
    name: String,
    what: Result<(Values, Id)>,
}

impl Entry {
    pub(super) fn new(values: Values, name: String, id: Id) -> Entry {
        Entry { name, what: Ok((values, id)) }
    }

    /// One that should be there and is not.
    pub(super) fn absent(name: String, why: Error) -> Entry {
        Entry { name, what: Err(why) }
    }
}

impl Leaf for Entry {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        match &self.what {
            Ok((values, id)) => values.below(*id, name),
            Err(why) => Node::new(name, TENSOR).problem(why.clone()),
        }
    }
}

/// The entries of the dict of tensors that a pickle is, where it is one or holds it under the name that trainers give
/// it; each with its full name.
pub(super) fn state(pickle: &Pickle) -> Option<Vec<(String, Id)>> {
    let root = pickle.root()?;
    let all = entries(pickle, root)?;
    let inner = all.iter().find(|(key, _)| pickle.text(*key) == Some("state_dict"));
    let all = match inner.and_then(|(_, value)| entries(pickle, *value)) {
        Some(inner) => inner,
        None => all,
    };
    let all = all.into_iter().filter(|(key, _)| pickle.text(*key).is_some()).collect::<Vec<_>>();
    Some(named_entries(pickle, &all))
}

/// A module by its parts; `None` for what is none. Its parameters, buffers and modules come first, as
/// `Module.state_dict` has them, then what else it has.
fn module(values: &Values, object: &Object, name: &str) -> Option<Node> {
    let pickle = values.pickle();
    let state = object.state?;
    let fields = entries(pickle, state)?;
    let field = |name: &str| fields.iter().find(|(key, _)| pickle.text(*key) == Some(name));
    let class = rebuild::class(pickle, object);
    let (package, _) = pickle.global(class)?;
    let is_script = package == "__torch__" || package.starts_with("__torch__.");
    const PARTS: [&str; 3] = ["_parameters", "_buffers", "_modules"];
    if !is_script && !PARTS.iter().all(|part| field(part).is_some()) {
        return None;
    }
    let mut all = Vec::new();
    let mut rest = Vec::new();
    for (key, value) in &fields {
        match pickle.text(*key) {
            Some(key) if !is_script && PARTS.contains(&key) => {}
            Some(key) if key.starts_with('_') && is_nothing(pickle, *value) => {}
            _ if is_script && is_part(pickle, *value) => all.push((*key, *value)),
            _ => rest.push((*key, *value)),
        }
    }
    if !is_script {
        let parts = PARTS.iter().filter_map(|part| field(part));
        all.extend(parts.filter_map(|(_, part)| entries(pickle, *part)).flatten());
    }
    all.extend(rest);
    let mut node = Node::new(name, MODULE).read_as("type", class_name(pickle, class));
    if let Value::Persistent(of) = pickle.value(object.class)
        && let Some([_, _, file, ..]) = pickle.tuple(*of)
        && let Some(file) = pickle.text(*file)
    {
        node = node.read_as("source file", file);
    }
    let Some(below) = values.deeper() else {
        return Some(node.remark("modules so deep are not opened"));
    };
    let separator = if values.is_root() && name.is_empty() { "" } else { "/" };
    let fields = named_entries(pickle, &all);
    Some(node.separator(separator).lazy(Fields { values: below, fields }))
}

/// Whether a field of a scripted module is a tensor or a module.
fn is_part(pickle: &Pickle, id: Id) -> bool {
    let Value::Object(object) = pickle.value(id) else { return false };
    let script = |(module, _): (&str, &str)| module == "__torch__" || module.starts_with("__torch__.");
    rebuild::tensor(pickle, id).is_some() || pickle.global(object.class).is_some_and(script)
}

/// Whether a field that is no part of a module's interface says nothing: an empty dict of hooks.
fn is_nothing(pickle: &Pickle, id: Id) -> bool {
    match pickle.value(id) {
        Value::None | Value::Bool(_) => true,
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => items.is_empty(),
        Value::Object(object) if pickle.is(object.class, &["__builtin__", "builtins"], "set") => {
            let first = pickle.tuple(object.arguments).and_then(|arguments| arguments.first());
            first.is_none_or(|id| matches!(pickle.value(*id), Value::List(items) if items.is_empty()))
        }
        _ => entries(pickle, id).is_some_and(|entries| entries.is_empty()),
    }
}

/// Values by their names.
struct Fields {
    values: Values,
    fields: Vec<(String, Id)>,
}

impl Fields {
    fn child(&self, name: &str, id: Id) -> Arc<Node> {
        let node = self.values.below(id, name);
        // Names of modules in modules are joined by dots.
        Arc::new(if node.label == MODULE { node.separator(".") } else { node })
    }
}

impl Listing for Fields {
    fn count(&self) -> Option<u64> {
        Some(self.fields.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| {
            Ok(self.fields.get(n as usize).map(|(name, id)| self.child(name, *id)))
        })
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        Ok(found.map(|(name, id)| self.child(name, *id)))
    }
}

/// The tensors in a nested one.
struct Nested {
    torch: Torch,
    /// All values, one tensor after the other.
    buffer: Strided,
    /// A row for each tensor: its shape, its strides.
    sizes: Arc<dyn Array>,
    strides: Arc<dyn Array>,
    offsets: Arc<dyn Array>,
}

impl Nested {
    /// Row `n` of an array of whole numbers; of one dimension the n-th.
    fn row(task: &Task, array: &dyn Array, n: u64) -> Result<Vec<u64>> {
        let mut region = Region::all(array.shape());
        if let Some(first) = region.0.first_mut() {
            (first.start, first.count) = (n, 1);
        }
        let bytes = read(array, task, &region)?;
        let mut numbers = Vec::new();
        let whole = array.dtype().integers(&bytes, |value| numbers.push(u64::try_from(value).ok()));
        let numbers = numbers.into_iter().collect::<Option<Vec<u64>>>().filter(|_| whole);
        numbers.ok_or_else(|| Error::malformed("nested tensor: a size that is no whole number"))
    }

    fn part(&self, task: &Task, n: u64) -> Result<Node> {
        let offset = Self::row(task, self.offsets.as_ref(), n)?.first().copied().unwrap_or(0);
        let strided = Strided {
            shape: Self::row(task, self.sizes.as_ref(), n)?,
            strides: Self::row(task, self.strides.as_ref(), n)?,
            offset: self.buffer.offset.saturating_add(offset),
            ..self.buffer.clone()
        };
        let tensor = Tensor::new(What::Strided(strided.clone()));
        Ok(self.torch.strided(Node::new(n.to_string(), TENSOR), &tensor, &strided))
    }
}

impl Listing for Nested {
    fn count(&self) -> Option<u64> {
        self.sizes.shape().first().copied()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| match self.part(task, n) {
            Ok(node) => Ok(Some(Arc::new(node))),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => Ok(Some(Arc::new(Node::new(n.to_string(), TENSOR).problem(error)))),
        })
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let n = name.parse::<u64>().ok().filter(|n| self.count().is_some_and(|count| *n < count));
        Ok(n.map(|n| self.page(task, n..n + 1)).transpose()?.and_then(|page| page.into_iter().next()))
    }
}
