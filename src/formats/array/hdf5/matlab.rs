//! MATLAB's own classes in HDF5, as MAT-files of version 7.3 hold them: characters, logical values, complex
//! numbers, cells, structs and sparse matrices, told by attributes (`MATLAB_class` and others). What cells and
//! arrays of structs hold lies in the group `#refs#` and is referred to.
//! <https://www.mathworks.com/help/matlab/import_export/mat-file-versions.html>; the layout is described by its
//! readers only, <https://github.com/skjerns/mat7.3> among them.
//!
//! Arrays keep the file's order of dimensions, as HDF5's tools show them: MATLAB's first is the last here. Paths
//! of cells and structs, and sparse matrices, are those of MATLAB, as in version 5.

use super::attribute;
use super::data::{self, Opened};
use super::datatype::{Class, Datatype, Fixed, Order, Reference};
use super::file::File;
use super::file_index::FileIndex;
use super::links::{Link, Links, Target};
use super::object::{Dataset, Object};
use super::tree::{self, Above};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le_unsigned;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::grouped::{self, Members};
use crate::data::node::{Children, Listing, Node, Value};
use crate::data::region::Region;
use crate::engines::delimited::PlainText;
use crate::engines::matlab;
use bytes::Bytes;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The classes that are shown by their own word; others are objects.
const CLASSES: [&str; 17] = [
    "double",
    "single",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "logical",
    "char",
    "cell",
    "struct",
    "function_handle",
    "table",
    "string",
];

/// How a MAT-file begins.
const HEADER: &[u8] = b"MATLAB 7.3 MAT-file";

/// The class that an object has in MATLAB.
fn class_of(attributes: &[(String, Value)]) -> Option<String> {
    cf::text(attributes, "MATLAB_class")
}

/// MATLAB's word for an object with these attributes.
pub(super) fn label(attributes: &[(String, Value)]) -> Option<&'static str> {
    let class = class_of(attributes)?;
    if attributes.iter().any(|(name, _)| name == "MATLAB_sparse") {
        return Some("sparse");
    }
    Some(CLASSES.into_iter().find(|known| *known == class).unwrap_or("object"))
}

/// The names of a struct's fields, which MATLAB writes letter by letter; other attributes as they are.
pub(super) fn spelled(name: &str, value: Value) -> Value {
    let word = |letters: &Json| -> Option<String> { letters.as_array()?.iter().map(Json::as_str).collect() };
    match &value {
        Value::Json(Json::Array(list)) if name == "MATLAB_fields" => {
            let words: Option<Vec<String>> = list.iter().map(word).collect();
            words.map_or(value, |words| Json::from(words).into())
        }
        _ => value,
    }
}

/// Whether these are the first bytes of a MAT-file.
pub(super) fn is_header(first: &[u8]) -> bool {
    first.starts_with(HEADER)
}

/// Gives the root of a MAT-file its header, and puts the objects that are only referred to behind all others.
/// Whether it is one.
///
/// # Errors
/// Only a cancellation.
pub(super) fn root(task: &Task, file: &File, node: &mut Node) -> Result<bool> {
    let first = file.source().read_up_to(task, 0, 116).unless_cancelled()?.unwrap_or_default();
    if !is_header(&first) || file.superblock().start == 0 {
        return Ok(false);
    }
    let text = String::from_utf8_lossy(&first);
    node.reader.push(("header".to_owned(), text.trim_matches(['\0', ' ']).into()));
    node.remarks.push("arrays have their dimensions in the file's order, the reverse of MATLAB's".to_owned());
    if let Children::Lazy(inner) = &node.children {
        let first = inner.page(task, 0..2).unless_cancelled()?.unwrap_or_default();
        let hidden = first.iter().take_while(|child| child.name.starts_with('#')).count() as u64;
        if hidden > 0 {
            node.children = Children::Lazy(Arc::new(Last { inner: inner.clone(), hidden }));
        }
    }
    Ok(true)
}

/// Children of which the first ones, `#refs#` and `#subsystem#`, stand last.
struct Last {
    inner: Arc<dyn Listing>,
    hidden: u64,
}

impl Listing for Last {
    fn boundaries(&self) -> &'static [char] {
        self.inner.boundaries()
    }

    fn count(&self) -> Option<u64> {
        self.inner.count()
    }

    fn at_least(&self) -> u64 {
        self.inner.at_least()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        let mut page = self
            .inner
            .page(task, range.start.saturating_add(self.hidden)..end.saturating_add(self.hidden))?;
        let got = range.start.saturating_add(page.len() as u64);
        // Where the others end; known now, since they were read to there.
        let others = self.inner.count().map(|count| count.saturating_sub(self.hidden));
        let others = others.unwrap_or(if page.is_empty() { u64::MAX } else { got });
        if got < end && range.start.max(others) < end && others < u64::MAX {
            let from = range.start.max(others) - others;
            page.extend(self.inner.page(task, from.min(self.hidden)..(end - others).min(self.hidden))?);
        }
        Ok(page)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        self.inner.find(task, name)
    }
}

/// What MATLAB says of a dataset.
pub(super) struct MatlabAttributes {
    class: String,
    /// It is empty, and holds the lengths of its dimensions.
    empty: bool,
    /// It refers to an object of `#subsystem#`.
    object: bool,
}

impl MatlabAttributes {
    /// From its attributes; `None` where they are none of MATLAB's.
    pub(super) fn of(attributes: &[(String, Value)]) -> Option<Self> {
        let number = |name: &str| cf::numbers(attributes, name).first().copied();
        let class = class_of(attributes)?;
        let empty = number("MATLAB_empty").is_some_and(|empty| empty != 0.0);
        Some(MatlabAttributes { class, empty, object: number("MATLAB_object_decode") == Some(3.0) })
    }

    /// Whether the dataset refers to what its cells hold.
    pub(super) fn has_cells(&self, dataset: &Dataset) -> bool {
        self.class == "cell" && is_reference(dataset)
    }

    /// Gives a node the content that an opened dataset has in MATLAB.
    ///
    /// # Errors
    /// Where it is empty and the lengths of its dimensions cannot be read.
    pub(super) fn fill(
        &self,
        task: &Task,
        file: &File,
        array: Arc<dyn Array>,
        node: &mut Node,
    ) -> Result<()> {
        if self.empty {
            return self.fill_empty(task, &array, node);
        }
        if self.object {
            let class = &self.class;
            node.remarks.push(format!("an object of class {class}; its values lie in #subsystem#"));
        }
        if self.class == "char"
            && array.dtype().is_real()
            && let Ok(source) = file.source().stream("text", Arc::new(Chars::new(array.clone())))
        {
            let size = sides(&matlab_order(array.shape()));
            node.reader.push(("size".to_owned(), size));
            node.content = Some(Content::Text(Arc::new(PlainText::new(source, encoding_rs::UTF_8))));
            return Ok(());
        }
        let dtype = match array.dtype() {
            DType::U8 | DType::I8 if self.class == "logical" => DType::Bool,
            other => other.clone(),
        };
        let size: Vec<String> = matlab_order(array.shape()).iter().map(u64::to_string).collect();
        node.content = Some(Content::Array(data::with_type(array, dtype, |facts| {
            facts.details.push(("size in MATLAB".to_owned(), size.join(" × ")));
        })));
        Ok(())
    }

    fn fill_empty(&self, task: &Task, array: &Arc<dyn Array>, node: &mut Node) -> Result<()> {
        limits::check(limits::elements(array.shape())?, 1024, "the dimensions of an empty array")?;
        let mut numbers = Vec::new();
        array.dtype().decode(&read(array.as_ref(), task, &Region::all(array.shape()))?, &mut numbers);
        let size: Vec<u64> = numbers.iter().map(|side| *side as u64).collect();
        node.reader.push(("size".to_owned(), sides(&size)));
        let nothing = Source::memory("empty", Vec::new());
        match self.class.as_str() {
            "cell" | "struct" => {}
            "char" => {
                node.content = Some(Content::Text(Arc::new(PlainText::new(nothing, encoding_rs::UTF_8))))
            }
            class => {
                let plain = Plain::new(nothing, 0, dtype_of(class), matlab_order(&size))?;
                node.content = Some(Content::Array(Arc::new(plain)));
            }
        }
        Ok(())
    }
}

/// The type of the elements of a class of numbers.
fn dtype_of(class: &str) -> DType {
    match class {
        "single" => DType::F32,
        "int8" => DType::I8,
        "uint8" => DType::U8,
        "int16" => DType::I16,
        "uint16" => DType::U16,
        "int32" => DType::I32,
        "uint32" => DType::U32,
        "int64" => DType::I64,
        "uint64" => DType::U64,
        "logical" => DType::Bool,
        _ => DType::F64,
    }
}

/// The lengths of dimensions from one order into the other.
fn matlab_order(shape: &[u64]) -> Vec<u64> {
    shape.iter().rev().copied().collect()
}

fn sides(size: &[u64]) -> Value {
    Json::from(size.to_vec()).into()
}

fn is_reference(dataset: &Dataset) -> bool {
    dataset.datatype.class == Class::Reference(Reference::Object)
}

/// MATLAB's complex numbers are records of `real` and `imag`: they get the names that HDF5's other writers use.
pub(super) fn rename_parts(dataset: &mut Dataset) {
    let Class::Compound(members) = &dataset.datatype.class else { return };
    let [real, imaginary] = members.as_slice() else { return };
    if (real.name.as_str(), imaginary.name.as_str()) != ("real", "imag") {
        return;
    }
    let mut members = members.to_vec();
    for (member, name) in members.iter_mut().zip(["r", "i"]) {
        name.clone_into(&mut member.name);
    }
    let class = Class::Compound(Arc::new(members));
    dataset.datatype = Arc::new(Datatype { size: dataset.datatype.size, class });
}

/// The bytes of characters as text, one line for each row of MATLAB's.
struct Chars {
    array: Arc<dyn Array>,
    text: OnceLock<Bytes>,
}

impl Chars {
    fn new(array: Arc<dyn Array>) -> Self {
        Chars { array, text: OnceLock::new() }
    }

    fn text(&self, task: &Task) -> Result<&Bytes> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let (dtype, shape) = (self.array.dtype(), self.array.shape());
        let bytes = limits::bytes(shape, dtype.size().max(8))?;
        limits::check(bytes, limits::CHUNK, "this text")?;
        let mut codes = Vec::new();
        dtype.decode(&read(self.array.as_ref(), task, &Region::all(shape))?, &mut codes);
        // Rows are the last dimension here, the characters of one the dimension before it.
        let (rows, length) = match shape {
            [] => (1, 1),
            [length] => (1, *length),
            [.., length, rows] => (*rows, *length),
        };
        let (rows, length) = (rows.max(1) as usize, length as usize);
        let mut lines = Vec::new();
        for page in codes.chunks(rows.saturating_mul(length).max(1)) {
            for row in 0..rows {
                task.check()?;
                lines.push(line(page.iter().skip(row).step_by(rows).copied(), dtype.size()));
            }
        }
        let text = Bytes::from(lines.join("\n"));
        Ok(self.text.get_or_init(|| text))
    }
}

/// The text of characters that are numbers of `size` bytes: UTF-16, or wider.
fn line(codes: impl Iterator<Item = f64>, size: u64) -> String {
    if size <= 2 {
        let units = codes.map(|code| code as u16);
        return char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    }
    codes.map(|code| char::from_u32(code as u32).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

impl ReadAt for Chars {
    fn known_len(&self) -> Option<u64> {
        self.text.get().map(|text| text.len() as u64)
    }

    fn len(&self, task: &Task) -> Result<u64> {
        self.text(task).map(|text| text.len() as u64)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let text = self.text(task)?;
        let rest = usize::try_from(offset).ok().and_then(|offset| text.get(offset..)).unwrap_or_default();
        let count = rest.len().min(out.len());
        for (to, from) in out.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }
}

/// The addresses in a dataset of references, read when the first is wanted.
struct Places {
    array: Arc<dyn Array>,
    read: OnceLock<Vec<u64>>,
}

impl Places {
    /// Those of a dataset that [`is_reference`].
    fn open(task: &Task, book: &Arc<FileIndex>, dataset: &Dataset) -> Result<Self> {
        let size = dataset.datatype.size;
        let precision = u16::try_from(size.saturating_mul(8).min(64)).unwrap_or(64);
        let fixed = Fixed { order: Order::Little, signed: false, offset: 0, precision };
        let datatype = Arc::new(Datatype { size, class: Class::Fixed(fixed) });
        let numbers = Dataset { datatype, ..dataset.clone() };
        let Opened { array, problem } = data::open(task, book.file(), &numbers, book.names())?;
        problem.map_or(Ok(()), Err)?;
        limits::check(limits::bytes(array.shape(), 8)?, limits::HEADER, "references")?;
        Ok(Places { array, read: OnceLock::new() })
    }

    /// The address at a place in MATLAB's order, which is the file's.
    fn get(&self, task: &Task, index: u64) -> Result<u64> {
        let all = match self.read.get() {
            Some(all) => all,
            None => {
                let bytes = read(self.array.as_ref(), task, &Region::all(self.array.shape()))?;
                let size = self.array.dtype().size().max(1) as usize;
                let all = bytes.chunks_exact(size).map(le_unsigned).collect();
                self.read.get_or_init(|| all)
            }
        };
        Ok(usize::try_from(index).ok().and_then(|index| all.get(index).copied()).unwrap_or(0))
    }
}

/// Where referred objects are shown.
struct Inside {
    book: Arc<FileIndex>,
    above: Arc<Above>,
}

impl Inside {
    fn node(&self, task: &Task, name: String, address: u64) -> Result<Node> {
        if address == 0 {
            return Ok(Node::new(name, "double").remark("it refers to nothing"));
        }
        tree::referred(task, &self.book, &self.above, &name, address)
    }
}

/// Gives a node the cells that its dataset refers to.
///
/// # Errors
/// Where the references cannot be found.
pub(super) fn cells(
    task: &Task,
    book: &Arc<FileIndex>,
    above: Option<Arc<Above>>,
    dataset: &Dataset,
    node: &mut Node,
) -> Result<()> {
    let places = Places::open(task, book, dataset)?;
    let shape = matlab_order(&dataset.space.dims);
    node.reader.push(("size".to_owned(), sides(&shape)));
    node.separator = "";
    // Without groups above there is no way down: it leads back.
    if let Some(above) = above {
        let inside = Inside { book: book.clone(), above };
        node.children =
            matlab::cells(shape, move |task, name, n| inside.node(task, name, places.get(task, n)?));
    }
    Ok(())
}

/// Gives the node of a group that is an array of structs its structs. Whether it is one.
///
/// # Errors
/// Only a cancellation: what is none stays a group.
pub(super) fn structs(
    task: &Task,
    book: &Arc<FileIndex>,
    above: &Arc<Above>,
    links: &Links,
    node: &mut Node,
) -> Result<bool> {
    if class_of(&node.attributes).as_deref() != Some("struct") {
        return Ok(false);
    }
    let (mut names, mut fields, mut shape) = (Vec::new(), Vec::new(), None);
    let listed = links.page(task, 0..limits::LISTED).unless_cancelled()?.unwrap_or_default();
    for link in listed {
        match field(task, book, &link).unless_cancelled()? {
            Ok(Some((places, dims))) if shape.as_ref().is_none_or(|shape| *shape == dims) => {
                shape = Some(dims);
                names.push(link.name.to_string());
                fields.push(places);
            }
            _ => return Ok(false),
        }
    }
    let Some(dims) = shape else { return Ok(false) };
    let shape = matlab_order(&dims);
    node.reader.push(("size".to_owned(), sides(&shape)));
    node.reader.push(("fields".to_owned(), Json::from(names.clone()).into()));
    node.separator = "";
    let inside = Inside { book: book.clone(), above: above.clone() };
    node.children = matlab::structs(shape, names.into(), move |task, name, n, field| {
        let places: Option<&Places> = fields.get(field as usize);
        let places = places.ok_or_else(|| Error::bug("a field that is not there"))?;
        inside.node(task, name, places.get(task, n)?)
    });
    Ok(true)
}

/// The references of a field of an array of structs: they have no class of their own.
fn field(task: &Task, book: &Arc<FileIndex>, link: &Link) -> Result<Option<(Places, Vec<u64>)>> {
    let Target::Hard(address) = link.target else { return Ok(None) };
    let file = book.file();
    let object = Object::read(file, task, address)?;
    let (attributes, _) = attribute::all(file, task, &object)?;
    if attributes.iter().any(|attribute| attribute.name == "MATLAB_class") {
        return Ok(None);
    }
    let dataset = object.dataset(file, task)?;
    if !is_reference(&dataset) {
        return Ok(None);
    }
    Ok(Some((Places::open(task, book, &dataset)?, dataset.space.dims)))
}

/// The matrix of a group that holds a sparse one: `data` and `ir` for the stored elements, in `jc` where each
/// column begins. `None` where it is none.
///
/// # Errors
/// Where it says that it is one and its parts are missing or do not fit.
pub(super) fn sparse(
    task: &Task,
    members: &dyn Members,
    attributes: &[(String, Value)],
) -> Result<Option<Content>> {
    let Some(rows) = cf::numbers(attributes, "MATLAB_sparse").first().copied() else { return Ok(None) };
    if !(0.0..9e15).contains(&rows) {
        return Err(Error::malformed(format!("sparse array: it has {rows} rows")));
    }
    let class = class_of(attributes).unwrap_or_default();
    // A matrix of zeros has neither.
    let empty = |dtype: DType| -> Result<Arc<dyn Array>> {
        Ok(Arc::new(Plain::new(Source::memory("empty", Vec::new()), 0, dtype, vec![0])?))
    };
    let part = |name: &str| Ok::<_, Error>(members.find(task, name)?.and_then(|found| found.array));
    let starts = part("jc")?.ok_or_else(|| Error::malformed("sparse array: it has no array \"jc\""))?;
    let values = part("data")?.map_or_else(|| empty(dtype_of(&class)), Ok)?;
    let places = part("ir")?.map_or_else(|| empty(DType::U64), Ok)?;
    let logical = class == "logical" && matches!(values.dtype(), DType::U8 | DType::I8);
    let values = if logical { data::with_type(values, DType::Bool, |_| {}) } else { values };
    grouped::by_columns(rows as u64, values, places, starts).map(|matrix| Some(Content::Array(matrix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use crate::formats::array::testing::{array, node, texts};

    fn opened() -> Document {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/mat73/whole.mat");
        crate::open(&Task::new(), std::path::Path::new(path), &Options::default()).unwrap()
    }

    fn words(node: &Node) -> String {
        let Some(Content::Text(text)) = &node.content else { panic!("{} is no text", node.name) };
        text.read(&Task::new(), 0..10).unwrap().join("|")
    }

    fn names(node: &Node) -> Vec<String> {
        node.child_page(&Task::new(), 0..100).unwrap().iter().map(|child| child.name.clone()).collect()
    }

    #[test]
    fn what_is_referred_to_stands_last() {
        let file = opened();
        assert_eq!((file.format.id, file.remarks.len()), ("mat73", 0));
        let all = names(&file.root);
        assert_eq!((all[0].as_str(), all.last().unwrap().as_str()), ("cell", "#refs#"));
        let paged: Vec<String> = (0..all.len() as u64)
            .flat_map(|n| file.root.child_page(&Task::new(), n..n + 1).unwrap())
            .map(|child| child.name.clone())
            .collect();
        assert_eq!(paged, all);
        assert!(file.root.reader[0].1.to_string().starts_with("MATLAB 7.3 MAT-file, Platform"));
    }

    #[test]
    fn classes_are_those_of_matlab() {
        let file = opened();
        let numbers = array(&file, "/numbers");
        assert_eq!((numbers.shape(), node(&file, "/numbers").label), ([5, 4].as_slice(), "double"));
        assert!(numbers.facts().details.contains(&("size in MATLAB".to_owned(), "4 × 5".to_owned())));
        assert_eq!(texts(&*array(&file, "/flags"), ":, 0"), ["true", "false", "true"]);
        assert_eq!(texts(&*array(&file, "/complex"), ":, 0"), ["1.0+2.0j", "3.0-0.5j"]);
        assert_eq!(words(&node(&file, "/text")), "Größe 東京");
        assert_eq!(words(&node(&file, "/rows")), "abc|de ");
        assert_eq!(array(&file, "/none").shape(), [3, 0]);
        assert_eq!(words(&node(&file, "/no_text")), "");
        let when = node(&file, "/when");
        assert!(when.label == "object" && when.remarks[0].contains("datetime"));
    }

    #[test]
    fn cells_and_structs_hold_what_they_refer_to() {
        let file = opened();
        assert_eq!(names(&node(&file, "/cell")), ["{1,1}", "{2,1}", "{1,2}", "{2,2}"]);
        assert_eq!(texts(&*array(&file, "/cell{1,1}"), ":, 0"), ["1.0"]);
        assert_eq!(words(&node(&file, "/cell{1,2}")), "word");
        assert_eq!(words(&node(&file, "/cell{2,1}{1}")), "deep");
        assert_eq!(array(&file, "/cell{2,2}").shape(), [0, 0]);
        assert_eq!(words(&node(&file, "/one/name")), "first");
        assert_eq!(names(&node(&file, "/many")), ["(1)", "(2)"]);
        assert_eq!(words(&node(&file, "/many(2).name")), "row 1");
        assert_eq!(texts(&*array(&file, "/many(2).value"), ":, 0"), ["1.0", "1.5"]);
        let fields = node(&file, "/one");
        let fields = fields.attributes.iter().find(|(name, _)| name == "MATLAB_fields").unwrap();
        assert_eq!(fields.1.to_string(), r#"["name","value"]"#);
    }

    #[test]
    fn a_cell_that_holds_itself_ends() {
        let file = opened();
        let inner = node(&file, "/loop{1}{1}");
        assert!(inner.remarks.iter().any(|remark| remark.contains("leads back")), "{:?}", inner.remarks);
        assert!(!inner.has_children());
    }

    #[test]
    fn sparse_matrices_are_shown_with_their_zeros() {
        let file = opened();
        let matrix = array(&file, "/sparse");
        assert_eq!((matrix.shape(), node(&file, "/sparse").label), ([4, 3].as_slice(), "sparse"));
        assert_eq!(texts(&*matrix, "1:, 0:3:2"), ["0.0", "2.0", "0.0", "0.0", "0.0", "4.0"]);
        assert_eq!(texts(&*array(&file, "/sparse_bits"), ":, :"), ["false", "true", "true", "false"]);
        assert_eq!(texts(&*array(&file, "/sparse_complex"), "1, :"), ["0.0+0.0j", "1.0-2.0j"]);
        assert_eq!(texts(&*array(&file, "/sparse_zeros"), "2, :"), ["0.0", "0.0"]);
    }
}
