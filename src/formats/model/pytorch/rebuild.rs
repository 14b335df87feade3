//! What a pickle says of a tensor: the call that would rebuild it, read and not made.
//! <https://github.com/pytorch/pytorch/blob/main/torch/_utils.py>

use super::types::{self, Kind};
use crate::bytes::error::{Error, Result};
use crate::engines::pickle::{Id, Object, Pickle, Value};

/// Calls in calls: a parameter of a subclass of a tensor.
const CALLS: usize = 8;

/// A tensor as a pickle describes it.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    /// Where its elements are.
    pub(super) what: What,
    /// Whether it is a parameter of a module.
    pub(super) is_parameter: bool,
    /// Whether gradients are computed for it.
    pub(super) requires_grad: bool,
    /// Its class, where that is another one than PyTorch's own.
    pub(super) class: Option<Id>,
    /// The attributes that it has beside its elements.
    pub(super) state: Option<Id>,
}

/// Where the elements of a tensor are.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// In a storage, at regular distances.
    Strided(Strided),
    /// In other tensors: stored values and their places.
    Sparse(Sparse),
    /// In one tensor after the other: `[values, sizes, strides, offsets]`.
    Nested([Id; 4]),
    /// In tensors of its own by name: the values of all and where each one begins.
    Jagged(Id),
    /// In an array of NumPy, with the type that they are to have.
    Numpy(Id),
    /// Nowhere: only its type and shape are known.
    Nowhere { kind: Kind, shape: Vec<u64>, why: &'static str },
}

/// Elements in a storage, at regular distances.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    pub(super) storage: Storage,
    pub(super) kind: Kind,
    /// Elements of the storage before the first one.
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    /// Elements of the storage from one to the next along each dimension.
    pub(super) strides: Vec<u64>,
    pub(super) quantiser: Option<Quantiser>,
    /// Its values are the complex conjugates of what is stored.
    pub(super) conjugate: bool,
    /// Its values are the negatives of what is stored.
    pub(super) negative: bool,
}

/// A storage: bytes that tensors share.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// The name by which the container has it.
    pub(super) key: String,
    /// `torch.FloatStorage`.
    pub(super) label: &'static str,
    /// The type of its elements; bytes where it has none.
    pub(super) kind: Kind,
    /// How many elements.
    pub(super) elements: u64,
    /// Where it was: `cpu`, `cuda:0`.
    pub(super) location: String,
    /// Elements of the storage with the key before the first one of this view.
    pub(super) start: u64,
}

/// What quantised elements stand for: `(stored − zero point) × scale`.
#[derive(Clone, Debug)]
pub(super) enum Quantiser {
    /// One scale and zero point for all.
    Tensor { scale: f64, zero: f64 },
    /// Tensors with one of each for each index along an axis.
    Channel { scales: Id, zeros: Id, axis: u64 },
}

/// A sparse tensor.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    /// `torch.sparse_coo`.
    pub(super) layout: String,
    /// Its parts by name: `indices`, `values`; `crow_indices`, `col_indices`, `values`.
    pub(super) parts: Vec<(&'static str, Id)>,
    pub(super) shape: Vec<u64>,
}

/// The tensor that a value is; `None` where it is none.
pub(super) fn tensor(pickle: &Pickle, id: Id) -> Option<Result<Tensor>> {
    of(pickle, id, 0)
}

fn of(pickle: &Pickle, id: Id, depth: usize) -> Option<Result<Tensor>> {
    let Value::Object(object) = pickle.value(id) else { return None };
    let arguments = pickle.tuple(object.arguments)?;
    let mut made = call(pickle, object.class, arguments, depth)?;
    if let (Ok(tensor), Some(state)) = (&mut made, object.state) {
        tensor.state.get_or_insert(state);
    }
    Some(made)
}

/// A tensor of a call with these arguments; `None` where it makes something else.
fn call(pickle: &Pickle, function: Id, arguments: &[Id], depth: usize) -> Option<Result<Tensor>> {
    let (module, name) = pickle.global(function)?;
    if depth > CALLS {
        return Some(Err(Error::limit(format!("a tensor that is wrapped more than {CALLS} times"))));
    }
    let wrong = || Error::malformed(format!("tensor: the arguments of {name} are not those that it takes"));
    Some(match (module, name) {
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2" | "_rebuild_tensor_v3") => {
            strided(pickle, name, arguments)
        }
        ("torch._utils", "_rebuild_qtensor") => {
            quantised(pickle, arguments).and_then(|t| t.ok_or_else(wrong))
        }
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
            parameter(pickle, arguments, depth)
        }
        // Before `_rebuild_parameter`: the class itself, called with its data.
        ("torch.nn.parameter", "Parameter" | "Buffer") | ("torch.autograd.variable", "Variable") => {
            match arguments.first().and_then(|data| of(pickle, *data, depth + 1))? {
                Ok(tensor) => Ok(Tensor { is_parameter: name == "Parameter", ..tensor }),
                Err(error) => Err(error),
            }
        }
        ("torch._utils", "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor") => {
            sparse(pickle, arguments).ok_or_else(wrong)
        }
        ("torch._utils", "_rebuild_nested_tensor") => {
            let parts = arguments.first_chunk::<4>().ok_or_else(wrong);
            parts.map(|parts| Tensor::new(What::Nested(*parts)))
        }
        ("torch.nested._internal.nested_tensor", "_rebuild_njt") => {
            arguments.first().map(|parts| Tensor::new(What::Jagged(*parts))).ok_or_else(wrong)
        }
        ("torch._utils", "_rebuild_meta_tensor_no_storage") => meta(pickle, arguments).ok_or_else(wrong),
        ("torch._utils", "_rebuild_wrapper_subclass") => wrapper(pickle, arguments).ok_or_else(wrong),
        ("torch._utils", "_rebuild_device_tensor_from_numpy" | "_rebuild_xla_tensor") => {
            arguments.first().map(|array| Tensor::new(What::Numpy(*array))).ok_or_else(wrong)
        }
        ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor") => {
            arguments.first().and_then(|data| of(pickle, *data, depth + 1)).unwrap_or_else(|| Err(wrong()))
        }
        ("torch._tensor", "_rebuild_from_type" | "_rebuild_from_type_v2") => {
            return subclass(pickle, arguments, depth);
        }
        _ => return None,
    })
}

impl Tensor {
    pub(super) fn new(what: What) -> Tensor {
        Tensor { what, is_parameter: false, requires_grad: false, class: None, state: None }
    }
}

/// `_rebuild_tensor(storage, offset, size, stride, requires_grad, hooks, metadata)`; the third version has the type of
/// the elements before the metadata.
fn strided(pickle: &Pickle, name: &str, arguments: &[Id]) -> Result<Tensor> {
    let [storage, offset, shape, strides, rest @ ..] = arguments else {
        return Err(Error::malformed(format!("tensor: {name} has {} arguments", arguments.len())));
    };
    let storage = Storage::of(pickle, *storage)?;
    let mut kind = storage.kind.clone();
    let mut rest = rest;
    if name == "_rebuild_tensor_v3" {
        let dtype = rest.get(2).ok_or_else(|| Error::malformed("tensor: its type of elements is missing"))?;
        kind = self::kind(pickle, *dtype)?;
        rest = rest.get(1..).unwrap_or_default();
    }
    let flag = |name: &str| {
        let Some(Value::Dict(entries)) = rest.get(2).map(|id| pickle.value(*id)) else { return false };
        let found = entries.iter().find(|(key, _)| pickle.text(*key) == Some(name));
        found.is_some_and(|(_, value)| truth(pickle, *value))
    };
    let requires_grad = match name {
        "_rebuild_tensor_v3" => arguments.get(4),
        _ => rest.first(),
    };
    let requires_grad = requires_grad.is_some_and(|id| truth(pickle, *id));
    let strided = Strided {
        offset: number(pickle, *offset).ok_or_else(|| not_numbers("storage offset"))?,
        shape: numbers(pickle, *shape).ok_or_else(|| not_numbers("shape"))?,
        strides: numbers(pickle, *strides).ok_or_else(|| not_numbers("strides"))?,
        quantiser: None,
        conjugate: flag("conj"),
        negative: flag("neg"),
        kind,
        storage,
    };
    Ok(Tensor { requires_grad, ..Tensor::new(What::Strided(strided)) })
}

fn not_numbers(what: &str) -> Error {
    Error::malformed(format!("tensor: its {what} is not of whole numbers from zero on"))
}

/// `_rebuild_qtensor(storage, offset, size, stride, quantiser, requires_grad, hooks)`.
fn quantised(pickle: &Pickle, arguments: &[Id]) -> Result<Option<Tensor>> {
    let [storage, offset, shape, strides, quantiser, ..] = *arguments else { return Ok(None) };
    let mut tensor = strided(pickle, "_rebuild_qtensor", &[storage, offset, shape, strides])?;
    let Some([scheme, rest @ ..]) = pickle.tuple(quantiser) else { return Ok(None) };
    let scheme = pickle.global(*scheme).map_or("", |(_, name)| name);
    let quantiser = match (scheme, rest) {
        ("per_tensor_affine" | "per_tensor_symmetric", [scale, zero, ..]) => {
            let (Some(scale), Some(zero)) = (float(pickle, *scale), float(pickle, *zero)) else {
                return Ok(None);
            };
            Quantiser::Tensor { scale, zero }
        }
        (
            "per_channel_affine" | "per_channel_symmetric" | "per_channel_affine_float_qparams",
            [scales, zeros, axis, ..],
        ) => {
            let Some(axis) = number(pickle, *axis) else { return Ok(None) };
            Quantiser::Channel { scales: *scales, zeros: *zeros, axis }
        }
        _ => return Ok(None),
    };
    tensor.requires_grad = arguments.get(5).is_some_and(|id| truth(pickle, *id));
    if let What::Strided(strided) = &mut tensor.what {
        strided.quantiser = Some(quantiser);
    }
    Ok(Some(tensor))
}

/// `_rebuild_parameter(data, requires_grad, hooks)`, with a state behind it where it has one.
fn parameter(pickle: &Pickle, arguments: &[Id], depth: usize) -> Result<Tensor> {
    let wrong = || Error::malformed("tensor: the data of a parameter are no tensor");
    let data = arguments.first().and_then(|data| of(pickle, *data, depth + 1)).ok_or_else(wrong)??;
    let requires_grad = arguments.get(1).is_some_and(|id| truth(pickle, *id));
    let state = arguments.get(3).copied().or(data.state);
    Ok(Tensor { is_parameter: true, requires_grad, state, ..data })
}

/// `_rebuild_sparse_tensor(layout, (indices, values, size, …))`, or places of rows or columns before the others.
fn sparse(pickle: &Pickle, arguments: &[Id]) -> Option<Tensor> {
    let [layout, data, ..] = arguments else { return None };
    let layout = layout_name(pickle, *layout)?;
    let data = pickle.tuple(*data)?;
    let (parts, shape): (Vec<_>, _) = match (layout.as_str(), data) {
        ("torch.sparse_coo", [indices, values, shape, ..]) => {
            (vec![("indices", *indices), ("values", *values)], shape)
        }
        ("torch.sparse_csr" | "torch.sparse_bsr", [rows, columns, values, shape, ..]) => {
            (vec![("crow_indices", *rows), ("col_indices", *columns), ("values", *values)], shape)
        }
        ("torch.sparse_csc" | "torch.sparse_bsc", [columns, rows, values, shape, ..]) => {
            (vec![("ccol_indices", *columns), ("row_indices", *rows), ("values", *values)], shape)
        }
        _ => return None,
    };
    let shape = numbers(pickle, *shape)?;
    Some(Tensor::new(What::Sparse(Sparse { layout, parts, shape })))
}

/// `_get_layout("torch.sparse_csr")`, or the layout by its name.
fn layout_name(pickle: &Pickle, id: Id) -> Option<String> {
    if let Some((module, name)) = pickle.global(id) {
        return Some(format!("{module}.{name}"));
    }
    let Value::Object(object) = pickle.value(id) else { return None };
    let first = pickle.tuple(object.arguments)?.first()?;
    pickle.text(*first).map(str::to_owned)
}

/// `_rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad)`.
fn meta(pickle: &Pickle, arguments: &[Id]) -> Option<Tensor> {
    let [dtype, shape, ..] = arguments else { return None };
    let (kind, shape) = (kind(pickle, *dtype).ok()?, numbers(pickle, *shape)?);
    let why = "it was on the meta device: it has a type and a shape, and no bytes";
    let requires_grad = arguments.get(3).is_some_and(|id| truth(pickle, *id));
    Some(Tensor { requires_grad, ..Tensor::new(What::Nowhere { kind, shape, why }) })
}

/// `_rebuild_wrapper_subclass(class, dtype, size, stride, offset, layout, device, requires_grad)`.
fn wrapper(pickle: &Pickle, arguments: &[Id]) -> Option<Tensor> {
    let [class, dtype, shape, ..] = arguments else { return None };
    let (kind, shape) = (kind(pickle, *dtype).ok()?, numbers(pickle, *shape)?);
    let why = "a subclass of a tensor without elements of its own: what it wraps is among its attributes";
    let requires_grad = arguments.get(7).is_some_and(|id| truth(pickle, *id));
    let tensor = Tensor::new(What::Nowhere { kind, shape, why });
    Some(Tensor { class: Some(*class), requires_grad, ..tensor })
}

/// `_rebuild_from_type_v2(function, class, arguments, state)`: what the function makes, as another class.
fn subclass(pickle: &Pickle, arguments: &[Id], depth: usize) -> Option<Result<Tensor>> {
    let [function, class, inner, rest @ ..] = arguments else { return None };
    let mut made = call(pickle, *function, pickle.tuple(*inner)?, depth + 1)?;
    if let Ok(tensor) = &mut made {
        let own = pickle.is(*class, &["torch", "torch._tensor"], "Tensor");
        let parameter = pickle.is(*class, &["torch.nn.parameter"], "Parameter");
        tensor.class = tensor.class.or_else(|| (!own && !parameter).then_some(*class));
        tensor.state = rest.first().copied().filter(|state| !is_empty(pickle, *state)).or(tensor.state);
        tensor.is_parameter |= parameter || has_flag(pickle, tensor.state, "_is_param");
    }
    Some(made)
}

/// Whether a state has this entry, and it is true.
fn has_flag(pickle: &Pickle, state: Option<Id>, name: &str) -> bool {
    let Some(Value::Dict(entries)) = state.map(|id| pickle.value(id)) else { return false };
    entries.iter().any(|(key, value)| pickle.text(*key) == Some(name) && truth(pickle, *value))
}

fn is_empty(pickle: &Pickle, id: Id) -> bool {
    match pickle.value(id) {
        Value::None => true,
        Value::Dict(entries) => entries.is_empty(),
        _ => false,
    }
}

impl Storage {
    /// The storage that a persistent id stands for: `("storage", class, key, location, elements)`, in the old container
    /// with a view behind it: `(key, offset, elements)`.
    pub(super) fn of(pickle: &Pickle, id: Id) -> Result<Storage> {
        let wrong = |what: &str| Error::malformed(format!("tensor: its storage {what}"));
        let Value::Persistent(of) = pickle.value(id) else { return Err(wrong("is no persistent id")) };
        let parts = pickle.tuple(*of).ok_or_else(|| wrong("is none of PyTorch's"))?;
        let [word, class, key, location, elements, rest @ ..] = parts else {
            return Err(wrong(&format!("is described by {} values", parts.len())));
        };
        if pickle.text(*word) != Some("storage") {
            return Err(wrong("is called otherwise"));
        }
        let name = pickle.global(*class).map_or("?", |(_, name)| name);
        let (label, kind) = types::of_storage(name)
            .ok_or_else(|| Error::unsupported(format!("tensors in a storage of the type {name:?}")))?;
        let elements = number(pickle, *elements).ok_or_else(|| wrong("has no number of elements"))?;
        let mut storage = Storage {
            key: key_of(pickle, *key).ok_or_else(|| wrong("has no key"))?,
            location: pickle.text(*location).unwrap_or("?").to_owned(),
            start: 0,
            label,
            kind,
            elements,
        };
        if let Some([_, offset, count]) = rest.first().and_then(|view| pickle.tuple(*view)) {
            storage.start = number(pickle, *offset).ok_or_else(|| wrong("is a view without an offset"))?;
            storage.elements = number(pickle, *count).ok_or_else(|| wrong("is a view without a length"))?;
        }
        Ok(storage)
    }

    /// The elements of the storage that has the key: of a view more than its own are needed.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.elements)
    }
}

/// Whether a persistent id is that of a storage, rather than of a class and its source.
pub(super) fn is_storage(pickle: &Pickle, id: Id) -> bool {
    let Value::Persistent(of) = pickle.value(id) else { return false };
    let word = pickle.tuple(*of).and_then(|parts| parts.first());
    word.is_some_and(|word| pickle.text(*word) == Some("storage"))
}

/// The class of an object: the old container keeps the source of a module's class beside it, in a persistent id.
pub(super) fn class(pickle: &Pickle, object: &Object) -> Id {
    let Value::Persistent(of) = pickle.value(object.class) else { return object.class };
    match pickle.tuple(*of) {
        Some([word, class, ..]) if pickle.text(*word) == Some("module") => *class,
        _ => object.class,
    }
}

/// A key: a text, in the oldest files also a number.
pub(super) fn key_of(pickle: &Pickle, id: Id) -> Option<String> {
    match pickle.value(id) {
        Value::Text(_) => pickle.text(id).map(str::to_owned),
        Value::Int(number) => Some(number.to_string()),
        Value::Large(piece) => Some(String::from_utf8_lossy(pickle.bytes(*piece)).into_owned()),
        _ => None,
    }
}

/// The type of `torch.float32`.
pub(super) fn kind(pickle: &Pickle, id: Id) -> Result<Kind> {
    let name = pickle.global(id).filter(|(module, _)| *module == "torch").map(|(_, name)| name);
    let name = name.ok_or_else(|| Error::malformed("tensor: its type of elements is none of PyTorch's"))?;
    types::named(name).ok_or_else(|| Error::unsupported(format!("tensors of the type {name:?}")))
}

pub(super) fn truth(pickle: &Pickle, id: Id) -> bool {
    matches!(pickle.value(id), Value::Bool(true) | Value::Int(1))
}

pub(super) fn number(pickle: &Pickle, id: Id) -> Option<u64> {
    match pickle.value(id) {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn float(pickle: &Pickle, id: Id) -> Option<f64> {
    match pickle.value(id) {
        Value::Float(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    }
}

/// Whole numbers from zero on: of a tuple, a list, or a `torch.Size`.
pub(super) fn numbers(pickle: &Pickle, id: Id) -> Option<Vec<u64>> {
    let items = match pickle.value(id) {
        Value::Tuple(items) | Value::List(items) => items,
        Value::Object(object) if pickle.is(object.class, &["torch", "torch._C"], "Size") => {
            match pickle.tuple(object.arguments)? {
                [inner] => match pickle.value(*inner) {
                    Value::Tuple(items) | Value::List(items) => items,
                    _ => return None,
                },
                _ => return None,
            }
        }
        _ => return None,
    };
    items.iter().map(|item| number(pickle, *item)).collect()
}
