//! Elements as nodes: numbers and characters are arrays, cells and structs are read when somebody looks.

use super::blob::Blob;
use super::data::{Chars, Coding, Numbers, Stored};
use super::element::{Class, MATRIX, Matrix, Tag, stored, text};
use super::sparse::{Sparse, WHOLE};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::DType;
use crate::data::node::{Children, Node, Value};
use crate::engines::matlab;
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::sync::Arc;

/// What elements inside each other share.
#[derive(Clone)]
pub(super) struct Context {
    pub blob: Blob,
    pub big: bool,
    /// How many elements this one lies in.
    pub depth: usize,
}

/// The node of a variable: the matrix element with this tag.
pub(super) fn variable(task: &Task, context: &Context, tag: &Tag) -> Result<Node> {
    let source = context.blob.source()?;
    let Some(matrix) = Matrix::read(task, &source, context.big, tag)? else {
        return empty();
    };
    let mut node = Node::new(&matrix.name, matrix.class.word());
    if matrix.global {
        node.remarks.push("global".to_owned());
    }
    if let Err(error) = fill(task, context, &source, &matrix, &mut node).unless_cancelled()? {
        node.problem = Some(error);
    }
    Ok(node)
}

/// The node of a compressed variable.
pub(super) fn packed(task: &Task, context: &Context, blob: Blob) -> Result<Node> {
    let context = Context { blob, ..context.clone() };
    let tag = Tag::read(task, &context.blob.source()?, context.big, 0, u64::MAX)?;
    variable(task, &context, &tag)
}

/// MATLAB's `[]`.
fn empty() -> Result<Node> {
    let nothing = Plain::new(Source::memory("", Vec::new()), 0, DType::F64, vec![0, 0])?;
    Ok(Node::new("", "double").content(Content::Array(Arc::new(nothing))))
}

/// Gives a node its content or its children.
fn fill(task: &Task, context: &Context, source: &Source, matrix: &Matrix, node: &mut Node) -> Result<()> {
    match matrix.class {
        Class::Number(_) => {
            let (array, problem) = numbers(task, context, source, matrix)?;
            (node.content, node.problem) = (Some(Content::Array(array)), problem);
        }
        Class::Char => node.content = Some(Content::Array(characters(task, context, source, matrix)?)),
        Class::Sparse => sparse(task, context, source, matrix, node)?,
        Class::Cell => {
            node.reader.push(shape_attribute(matrix));
            node.separator = "";
            let items = Items::new(context, matrix, matrix.rest, matrix.elements()?)?;
            node.children =
                matlab::cells(matrix.shape.clone(), move |task, name, n| items.node(task, name, n));
        }
        Class::Struct | Class::Object => fields(task, context, source, matrix, node)?,
        Class::Function => {
            node.separator = ".";
            let items = Items::new(context, matrix, matrix.rest, 1)?;
            let names = ["function".to_owned()].into();
            node.children = matlab::fields(names, move |task, name, n| items.node(task, name, n));
        }
        Class::Opaque => opaque(task, context, source, matrix, node)?,
    }
    Ok(())
}

fn shape_attribute(matrix: &Matrix) -> (String, Value) {
    ("size".to_owned(), Json::from(matrix.shape.clone()).into())
}

/// The numbers of the element at `at`, and where the next element begins.
fn numbers_at(task: &Task, context: &Context, source: &Source, at: u64, end: u64) -> Result<(Stored, u64)> {
    let tag = Tag::read(task, source, context.big, at, end)?;
    let Some(dtype) = stored(tag.kind) else {
        let what = format!("array: its values are an element of type {}, which holds no numbers", tag.kind);
        return Err(Error::malformed(what).at(at));
    };
    let bytes = tag.bytes.min(end.saturating_sub(tag.at));
    let count = bytes / dtype.size();
    let stored = Stored { blob: context.blob.clone(), big: context.big, dtype, at: tag.at, count };
    Ok((stored, tag.end))
}

type Read = (Arc<dyn Array>, Option<Error>);

fn numbers(task: &Task, context: &Context, source: &Source, matrix: &Matrix) -> Result<Read> {
    let (mut real, next) = numbers_at(task, context, source, matrix.rest, matrix.end)?;
    let mut shape = matrix.shape.clone();
    if let Some(len) = source.known_len() {
        real.count = real.count.min(len.saturating_sub(real.at) / real.dtype.size());
    }
    let problem = shorten(&mut shape, real.count, real.at)?;
    let mut dtype = match matrix.class.dtype() {
        _ if matrix.logical => DType::Bool,
        dtype => dtype,
    };
    let mut imaginary = None;
    // Of a cut array the other half is not there.
    if matrix.complex && problem.is_none() {
        let (other, _) = numbers_at(task, context, source, next, matrix.end)?;
        if other.count < real.count {
            let what = format!("array: {} imaginary parts for {} real ones", other.count, real.count);
            return Err(Error::malformed(what).at(other.at));
        }
        imaginary = Some(other);
        dtype = if dtype == DType::F32 { DType::C64 } else { DType::C128 };
    }
    Ok((Arc::new(Numbers { real, imaginary, dtype, shape, facts: ArrayFacts::default() }), problem))
}

/// Cuts the slowest dimension down to what `count` elements fill.
pub(super) fn shorten(shape: &mut [u64], count: u64, at: u64) -> Result<Option<Error>> {
    let need = limits::elements(shape)?;
    if count >= need {
        return Ok(None);
    }
    let what = format!("array: {count} of {need} numbers are there; the file may be cut off");
    let error = Error::malformed(what).at(at);
    let Some((last, inner)) = shape.split_last_mut() else { return Err(error) };
    let whole = count.checked_div(limits::elements(inner)?).unwrap_or(0);
    if whole == 0 {
        return Err(error);
    }
    *last = whole;
    Ok(Some(error))
}

fn characters(task: &Task, context: &Context, source: &Source, matrix: &Matrix) -> Result<Arc<dyn Array>> {
    let total = matrix.elements()?;
    let tag = Tag::read(task, source, context.big, matrix.rest, matrix.end);
    // An empty text may have no data at all.
    let tag = match tag {
        Err(error) if error.is_cancelled() || total > 0 => return Err(error),
        other => other.ok(),
    };
    let Some(tag) = tag.filter(|_| total > 0) else {
        if matrix.shape.iter().any(|side| *side > limits::LISTED) {
            let what = format!("text: an empty one of shape {:?}", matrix.shape);
            return Err(Error::limit(what).at(matrix.rest));
        }
        let nothing = Source::memory("", Vec::new());
        let blob = Blob::File(nothing);
        let stored = Stored { blob, big: false, dtype: DType::U8, at: 0, count: 0 };
        return Ok(Arc::new(Chars::new(stored, Coding::Numbers, matrix.shape.clone())));
    };
    let (stored, _) = numbers_at(task, context, source, matrix.rest, matrix.end)?;
    let coding = if tag.kind == 16 { Coding::Utf8 } else { Coding::Numbers };
    // A character takes a byte at least, in any coding.
    if stored.count < total {
        let what = format!("text: {} of {total} characters are there", stored.count);
        return Err(Error::malformed(what).at(stored.at));
    }
    Ok(Arc::new(Chars::new(stored, coding, matrix.shape.clone())))
}

fn sparse(task: &Task, context: &Context, source: &Source, matrix: &Matrix, node: &mut Node) -> Result<()> {
    let (rows, next) = numbers_at(task, context, source, matrix.rest, matrix.end)?;
    let (starts, next) = numbers_at(task, context, source, next, matrix.end)?;
    let values = Tag::read(task, source, context.big, next, matrix.end)?;
    let (mut real, next) = numbers_at(task, context, source, next, matrix.end)?;
    if matrix.logical && values.bytes == rows.count {
        // MATLAB writes bytes here and calls them doubles.
        (real.dtype, real.count) = (DType::U8, values.bytes);
    }
    let mut imaginary = None;
    if matrix.complex {
        imaginary = Some(numbers_at(task, context, source, next, matrix.end)?.0);
    }
    node.reader.push(shape_attribute(matrix));
    node.separator = ".";
    // SciPy's names of the three.
    let parts = [("indices", &rows), ("indptr", &starts), ("data", &real)];
    let mut children = Vec::new();
    for (name, stored) in parts.into_iter().chain(imaginary.iter().map(|part| ("imaginary", part))) {
        let (dtype, shape) = (stored.dtype.clone(), vec![stored.count]);
        let facts = ArrayFacts::default();
        let part = Numbers { real: stored.clone(), imaginary: None, dtype, shape, facts };
        children.push(Arc::new(Node::new(name, "numbers").content(Content::Array(Arc::new(part)))));
    }
    node.children = Children::Listed(Arc::new(children));
    if let [_, columns] = *matrix.shape.as_slice() {
        if starts.count <= columns {
            let what = format!("sparse array: {} starts of {columns} columns", starts.count);
            return Err(Error::malformed(what).at(starts.at));
        }
        if matrix.elements()? > WHOLE {
            node.remarks.push("too large to be shown with its zeros; its parts are listed".to_owned());
            return Ok(());
        }
        let dtype = match matrix.complex {
            true => DType::C128,
            false if matrix.logical => DType::Bool,
            false => DType::F64,
        };
        let shape = matrix.shape.clone();
        let whole = Sparse { rows, starts, real, imaginary, dtype, shape };
        node.content = Some(Content::Array(Arc::new(whole)));
    }
    Ok(())
}

/// A struct, an array of structs, or an object of the old kind, which is a struct with a class.
fn fields(task: &Task, context: &Context, source: &Source, matrix: &Matrix, node: &mut Node) -> Result<()> {
    let mut at = matrix.rest;
    if matrix.class == Class::Object {
        let class = Tag::read(task, source, context.big, at, matrix.end)?;
        node.reader
            .push(("class".to_owned(), text(&class.data(task, source, 4096, "a class's name")?).into()));
        at = class.end;
    }
    let width = Tag::read(task, source, context.big, at, matrix.end)?;
    let bytes = width.data(task, source, 8, "the length of field names")?;
    let length = ordered::<u32>(context.big, &bytes, 0).unwrap_or(0) as usize;
    let list = Tag::read(task, source, context.big, width.end, matrix.end)?;
    let bytes = list.data(task, source, 16 << 20, "the names of fields")?;
    if length == 0 && !bytes.is_empty() {
        return Err(Error::malformed("struct: its field names have no length").at(width.at));
    }
    let mut names: Vec<String> = bytes.chunks_exact(length.max(1)).map(text).collect();
    unique(&mut names);
    let count = matrix.elements()?;
    let items = limits::bytes(&[count], names.len() as u64)?;
    let items = Items::new(context, matrix, list.end, items)?;
    if count == 1 {
        node.separator = ".";
        node.children = matlab::fields(names.into(), move |task, name, n| items.node(task, name, n));
        return Ok(());
    }
    node.reader.push(shape_attribute(matrix));
    node.reader.push(("fields".to_owned(), Json::from(names.clone()).into()));
    node.separator = "";
    let width = names.len() as u64;
    node.children = matlab::structs(matrix.shape.clone(), names.into(), move |task, name, n, field| {
        items.node(task, name, n * width + field)
    });
    Ok(())
}

/// An object of a class that MATLAB keeps elsewhere: its class is named, its reference shown.
fn opaque(task: &Task, context: &Context, source: &Source, matrix: &Matrix, node: &mut Node) -> Result<()> {
    let system = Tag::read(task, source, context.big, matrix.rest, matrix.end)?;
    let class = Tag::read(task, source, context.big, system.end, matrix.end)?;
    let system_name = text(&system.data(task, source, 4096, "a type system's name")?);
    let class_name = text(&class.data(task, source, 4096, "a class's name")?);
    node.remarks
        .push(format!("an object of class {class_name} ({system_name}); its values lie in the workspace"));
    node.reader.push(("class".to_owned(), class_name.into()));
    node.reader.push(("type system".to_owned(), system_name.into()));
    node.separator = ".";
    let items = Items::new(context, matrix, class.end, 1)?;
    let names = ["reference".to_owned()].into();
    node.children = matlab::fields(names, move |task, name, n| items.node(task, name, n));
    Ok(())
}

/// Numbers the second and further ones of a name: `x (2)`.
fn unique(names: &mut [String]) {
    let mut seen = std::collections::HashMap::new();
    for name in names {
        let times: &mut u32 = seen.entry(name.clone()).or_insert(0);
        *times += 1;
        if *times > 1 {
            *name = format!("{name} ({times})");
        }
    }
}

/// The same for variables.
pub(super) fn number_twins(nodes: &mut [Node]) {
    let mut names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    unique(&mut names);
    nodes.iter_mut().zip(names).for_each(|(node, name)| node.name = name);
}

/// Elements that follow each other inside another one.
struct Items {
    context: Context,
    end: u64,
    /// Where the first ones begin, as far as somebody looked, and where the next one does.
    begins: Mutex<(Vec<u64>, u64)>,
}

impl Items {
    fn new(context: &Context, matrix: &Matrix, first: u64, count: u64) -> Result<Self> {
        let depth = context.depth + 1;
        if depth > limits::DEPTH {
            let what = format!("array: cells and structs lie more than {} deep", limits::DEPTH);
            return Err(Error::limit(what).at(first));
        }
        // Each element has a tag.
        if count > matrix.end.saturating_sub(first) / 8 {
            let what =
                format!("array: its {} bytes cannot hold {count} elements", matrix.end.saturating_sub(first));
            return Err(Error::malformed(what).at(first));
        }
        let context = Context { depth, ..context.clone() };
        Ok(Items { context, end: matrix.end, begins: Mutex::new((Vec::new(), first)) })
    }

    /// The node of an element. One that cannot be read is a node with a problem.
    fn node(&self, task: &Task, name: String, index: u64) -> Result<Node> {
        let read = || {
            let source = self.context.blob.source()?;
            let at = self.begin(task, &source, index)?;
            let tag = Tag::read(task, &source, self.context.big, at, self.end)?;
            if tag.kind == MATRIX {
                return variable(task, &self.context, &tag);
            }
            // Bare numbers in a cell: no writer that is known makes them.
            let (stored, _) = numbers_at(task, &self.context, &source, at, self.end)?;
            let (dtype, shape, facts) = (stored.dtype.clone(), vec![stored.count], ArrayFacts::default());
            let array = Numbers { real: stored, imaginary: None, dtype, shape, facts };
            Ok(Node::new("", "numbers").content(Content::Array(Arc::new(array))))
        };
        let node = read().unless_cancelled()?;
        Ok(Node { name, ..node.unwrap_or_else(|error| Node::new("", "element").problem(error)) })
    }

    /// Where an element begins: those before it have to be walked over.
    fn begin(&self, task: &Task, source: &Source, index: u64) -> Result<u64> {
        let mut begins = self.begins.lock();
        let (known, next) = &mut *begins;
        while known.len() as u64 <= index {
            task.check()?;
            let tag = Tag::read(task, source, self.context.big, *next, self.end)?;
            known.push(*next);
            *next = tag.end;
        }
        let at = usize::try_from(index).ok().and_then(|index| known.get(index).copied());
        at.ok_or_else(|| Error::bug("an element has no place"))
    }
}
