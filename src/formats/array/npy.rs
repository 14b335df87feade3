//! NPY: one NumPy array. A magic, a version, the length of a header, the header — a Python dict
//! literal with `descr`, `fortran_order`, `shape` — and the elements.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>
//!
//! The header is parsed by [`literal`](crate::data::dtype::numpy::literal), which knows literals only; arrays of Python objects hold a
//! pickle, which is never loaded: [`pickle`](crate::engines::pickle) tells what is in it and what it would run. Files to which `np.save` was called several times
//! hold several arrays, one after the other.

pub mod folder;
mod objects;
pub mod write;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le_unsigned;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Kind};
use crate::data::dtype::numpy::literal::{self, Literal, Value};
use crate::data::dtype::numpy::{self, Described};
use crate::data::dtype::{ByteOrder, DType, Long};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::Magic;
use std::sync::Arc;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["npy"],
    mime: &["application/x-numpy"],
    magic: &[Magic::at(0, MAGIC)],
    reads: &[Kind::Array, Kind::Bytes],
    targets: &[
        Target::new("npy", "NumPy array", &["npy"], &write::WRITER),
        Target::new("npy-folder", "Folder of NumPy arrays", &["npyfolder"], &folder::WRITER),
    ],
    ..Format::new("npy", "NumPy array", open)
};

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let (first, mut end) = array(task, source, 0)?;
    let mut arrays = vec![first];
    let mut remark = None;
    while let Some(at) = end {
        let Some(left) = source.known_len().and_then(|len| len.checked_sub(at)).filter(|&left| left > 0)
        else {
            break;
        };
        // What follows in a stream would have to be inflated to be seen.
        let another = source.is_random_access() && source.read_up_to(task, at, MAGIC.len())? == MAGIC;
        if !another {
            remark = Some(format!("{left} bytes follow the array at byte {at}"));
            break;
        }
        if arrays.len() as u64 >= limits::LISTED {
            remark =
                Some(format!("more arrays follow at byte {at}; the first {} are listed", limits::LISTED));
            break;
        }
        match array(task, source, at).unless_cancelled()? {
            Ok((node, next)) => {
                arrays.push(node);
                end = next;
            }
            Err(error) => {
                arrays.push(Node::new("", "array").problem(error));
                break;
            }
        }
    }
    let mut root = match arrays.len() {
        1 => arrays.remove(0),
        _ => {
            arrays.iter_mut().enumerate().for_each(|(n, node)| node.name = n.to_string());
            Node::new("", "file").separator("").listed(arrays)
        }
    };
    root.remarks.extend(remark);
    Ok(root)
}

/// What a header says.
struct Header {
    version: (u8, u8),
    /// Where the elements begin.
    data: u64,
    described: Described,
    /// The type as the header spells it.
    fortran: bool,
    shape: Vec<u64>,
    remarks: Vec<String>,
}

/// The array at `start` of `source`, and where it ends; `None` if that is unknown or beyond the file.
fn array(task: &Task, source: &Source, start: u64) -> Result<(Node, Option<u64>)> {
    let mut header = header(task, source, start)?;
    if header.described.object {
        return Ok((objects::node(task, source, header)?, None));
    }
    if header.described.dtype == DType::Long(Long::X87(16)) && header.described.order != ByteOrder::Big {
        // The one type that only its elements tell; a kilobyte of them is enough.
        let sample = source.read_up_to(task, header.data, 1024)?;
        header.described.dtype = DType::Long(Long::guess(&sample));
    }
    let bytes = limits::bytes(&header.shape, header.described.dtype.size()).map_err(|e| e.at(header.data))?;
    let end = header.data.checked_add(bytes);
    let dtype = header.described.dtype.clone();
    let (mut plain, problem) =
        Plain::within(source.clone(), header.data, dtype, header.shape, header.fortran)?;
    let mut node = Node::new("", "array");
    let stored = plain.facts().bytes_stored.unwrap_or(0);
    node.span = Some(header.data..header.data.saturating_add(stored));
    let end = end.filter(|_| problem.is_none());
    node.problem = problem;
    node.remarks = header.remarks.iter().chain(&header.described.remarks).cloned().collect();
    let (major, minor) = header.version;
    plain = plain.byte_order(header.described.order).detail("NPY version", format!("{major}.{minor}"));
    // What NumPy keeps beside the names of fields, other formats have no place for but attributes.
    for (name, title) in &header.described.titles {
        node = node.attribute(format!("title of {name}"), title.clone());
    }
    Ok((node.content(Content::Array(Arc::new(plain))), end))
}

/// Reads magic, version and header at `start`.
fn header(task: &Task, source: &Source, start: u64) -> Result<Header> {
    let head = source.read_up_to(task, start, 12)?;
    let (Some(&major), Some(&minor), true) = (head.get(6), head.get(7), head.starts_with(MAGIC)) else {
        return Err(Error::malformed("NPY: it ends within its magic and version").at(start));
    };
    let (length, begin) = match (major, head.get(8..12)) {
        (1, _) => (head.get(8..10).map(le_unsigned), 10),
        (2 | 3, Some(b)) => (Some(le_unsigned(b)), 12),
        (2 | 3, None) => (None, 12),
        _ => {
            let what = format!("NPY version {major}.{minor}; versions 1 to 3 are known");
            return Err(Error::unsupported(what).at(start + 6));
        }
    };
    let Some(length) = length else {
        return Err(Error::malformed("NPY: it ends within the length of its header").at(start + 8));
    };
    let begin = start + begin;
    let len = limits::check(length, limits::HEADER, "the NPY header").map_err(|e| e.at(start + 8))?;
    let bytes = source.read_up_to(task, begin, len)?;
    if bytes.len() < len {
        let what = format!("NPY header: it should have {len} bytes, {} are there", bytes.len());
        return Err(Error::malformed(what).at(start + 8));
    }
    // Before version 3 headers are Latin-1.
    let text = match major {
        3 => std::str::from_utf8(&bytes).map(str::to_owned).map_err(|error| {
            Error::malformed("header: it is not UTF-8").at(begin + error.valid_up_to() as u64)
        })?,
        _ => bytes.iter().map(|&b| char::from(b)).collect(),
    };
    let literal = literal::parse(&text, begin)?;
    fields(literal, (major, minor), begin + length)
}

/// The three entries of the header's dict.
fn fields(literal: Literal, version: (u8, u8), data: u64) -> Result<Header> {
    let wrong = |what: String, at: u64| Error::malformed(format!("header: {what}")).at(at);
    let at = literal.at;
    let Value::Dict(entries) = literal.value else {
        return Err(wrong(format!("it is {}, not a dict", literal.value.kind()), at));
    };
    let (mut descr, mut fortran, mut sides, mut remarks) = (None, None, None, Vec::new());
    for (key, value) in entries {
        let slot = match &key.value {
            Value::Str(name) if name == "descr" => &mut descr,
            Value::Str(name) if name == "fortran_order" => &mut fortran,
            Value::Str(name) if name == "shape" => &mut sides,
            Value::Str(name) => {
                return Err(wrong(format!("it has an entry {name:?}, which NPY does not know"), key.at));
            }
            other => return Err(wrong(format!("a key is {}, not a str", other.kind()), key.at)),
        };
        if slot.replace(value).is_some() {
            remarks.push(format!("the header has {:?} twice; the last one holds", key.value.text()));
        }
    }
    let missing = |name: &str| wrong(format!("it has no {name}"), at);
    let descr = descr.ok_or_else(|| missing("descr"))?;
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    let sides = sides.ok_or_else(|| missing("shape"))?;
    let Value::Bool(is_fortran) = fortran.value else {
        return Err(wrong(format!("fortran_order is {}, not a bool", fortran.value.kind()), fortran.at));
    };
    let shape = match &sides.value {
        Value::Tuple(_) => numpy::shape(&sides)?,
        other => return Err(wrong(format!("shape is {}, not a tuple", other.kind()), sides.at)),
    };
    limits::elements(&shape).map_err(|error| error.at(sides.at))?;
    Ok(Header { version, data, described: numpy::describe(&descr)?, fortran: is_fortran, shape, remarks })
}

impl Value {
    /// The text of a str.
    fn text(&self) -> &str {
        match self {
            Value::Str(text) => text,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;
    use crate::data::content::array::read;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use crate::data::region::Region;
    use crate::engines::pickle::Verdict;
    use crate::formats::open_source;
    use arrow::array::Array as _;
    use proptest::prelude::*;
    use std::path::Path;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/");

    fn opened(name: &str) -> Result<Document> {
        crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}.npy")), &Options::default())
    }

    fn values(document: &Document) -> Vec<u8> {
        let Some(Content::Array(array)) = &document.root.content else { panic!("{:?}", document.source) };
        read(&**array, &Task::new(), &Region::all(array.shape())).unwrap()
    }

    fn dtype(name: &str) -> String {
        match &opened(name).unwrap().root.content {
            Some(Content::Array(array)) => array.dtype().to_string(),
            _ => panic!("{name}"),
        }
    }

    #[test]
    fn every_fixture_opens_and_reads() {
        let mut count = 0;
        for entry in std::fs::read_dir(FIXTURES).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(".npy") else { continue };
            let document = opened(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(document.root.problem.is_none(), "{name}");
            if name.starts_with("object") {
                assert!(document.root.security.is_some(), "{name}");
            } else {
                values(&document);
            }
            count += 1;
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn objects_are_shown_and_never_loaded() {
        let task = Task::new();
        let texts = |name: &str| -> Vec<Option<String>> {
            let document = opened(name).unwrap();
            assert_eq!(
                document.root.security.as_ref().map(|report| report.verdict),
                Some(Verdict::Safe),
                "{name}"
            );
            let Some(Content::Array(array)) = &document.root.content else { panic!("{name}") };
            let column = array.column(&task, &Region::all(array.shape())).unwrap();
            (0..column.len()).map(|row| crate::data::cell::text(&*column, row)).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts("object"), [some("{'a': 1}"), some("[1, 2, 'x']"), None, some("3.5")]);
        assert_eq!(texts("object_in_struct"), [some("(1, 'one')"), some("(2, None)")]);
        // An array whose only element would be what os.system gives.
        let header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n";
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(b"\x80\x04]\x8c\x02os\x8c\x06system\x93\x8c\x05quack\x85Ra.");
        let source = Source::memory("evil.npy", bytes);
        let root = open_source(&task, &source, &Options::default()).unwrap().root;
        assert_eq!(root.security.as_ref().map(|report| report.verdict), Some(Verdict::Dangerous));
        assert!(
            root.problem.as_ref().is_some_and(|problem| problem.message().contains("os.system: dangerous"))
        );
        let Some(Content::Array(array)) = &root.content else { panic!() };
        let column = array.column(&task, &Region::all(&[1])).unwrap();
        assert_eq!(crate::data::cell::text(&*column, 0).as_deref(), Some("os.system('quack')"));
    }

    #[test]
    fn titles_of_fields_are_attributes() {
        let root = opened("struct_titles").unwrap().root;
        let all: Vec<String> =
            root.attributes.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(all, ["title of x: A title", "title of y: Another"]);
    }

    #[test]
    fn types_have_numpys_names() {
        assert_eq!(dtype("datetime_25s"), "datetime64[25s]");
        assert_eq!(dtype("datetime_generic"), "datetime64");
        assert_eq!(dtype("timedelta_D"), "timedelta64[D]");
        assert_eq!(dtype("dtype_longdouble"), "float128");
        assert_eq!(dtype("bytes_S4"), "bytes[4]");
        assert_eq!(dtype("struct_aligned"), "struct<a: int8, b: float64, c: int16>");
        assert_eq!(dtype("struct_titles"), "struct<x: float32, y: float32>");
        assert_eq!(dtype("version_3_unicode_fields"), "struct<température: float32, 名前: str>");
    }

    #[test]
    fn orders_are_undone() {
        assert_eq!(values(&opened("struct_mixed_orders").unwrap()), [1, 0, 2, 1, 3, 0, 4, 3]);
        assert_eq!(values(&opened("struct_big_endian").unwrap())[..4], [1, 0, 0, 0]);
        assert_eq!(values(&opened("dtype_be_i2").unwrap()), values(&opened("dtype_i2").unwrap()));
        assert_eq!(values(&opened("str_U5_be").unwrap())[..4], [b'g', 0, 0, 0]);
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let error = opened("malformed/shape_negative").err().unwrap();
        assert!(error.message().starts_with("malformed header: shape is negative"), "{error}");
        assert_eq!(error.offset(), Some(61));
        let cut = opened("malformed/cut_in_data").unwrap();
        assert!(cut.root.problem.is_some());
        assert_eq!(values(&cut).len() % 4, 0);
        assert_eq!(opened("malformed/version_9").err().unwrap().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn every_malformed_file_says_so() {
        let mut quiet = Vec::new();
        for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(Result::unwrap) {
            let document = match crate::open(&Task::new(), &entry.path(), &Options::default()) {
                Ok(document) => document,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Bug, "{error}");
                    continue;
                }
            };
            if document.root.problem.is_none() && document.root.remarks.is_empty() {
                quiet.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        quiet.sort();
        // Odd, but right: an empty array with huge sides, parentheses around everything.
        assert_eq!(quiet, ["shape_huge_times_zero.npy"]);
    }

    #[test]
    fn arrays_saved_one_after_the_other_are_all_there() {
        let one = std::fs::read(format!("{FIXTURES}shape_0d.npy")).unwrap();
        let source = Source::memory("two.npy", [one.clone(), one].concat());
        let document = open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert_eq!(document.root.child_count(), Some(2));
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(at in 0usize..120, value: u8, cut in 0usize..130) {
            for name in ["struct_nested", "shape_3d_fortran"] {
                let mut bytes = std::fs::read(format!("{FIXTURES}{name}.npy")).unwrap();
                bytes[at] = value;
                bytes.truncate(bytes.len() - cut);
                if let Ok(document) = open_source(&Task::new(), &Source::memory("x.npy", bytes), &Options::default())
                    && let Some(Content::Array(_)) = document.root.content {
                    values(&document);
                }
            }
        }
    }
}
