//! Version 4: for each variable twenty bytes — type, rows, columns, whether complex, length of the name —
//! the name and the numbers. There is no magic.

use super::blob::Blob;
use super::data::{Chars, Coding, Numbers, Stored};
use super::sparse::Triples;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::{be, le, ordered};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::DType;
use crate::data::format::Opening;
use crate::data::node::Node;
use std::sync::Arc;

/// Longer names are none.
const NAME: u32 = 256;

/// The head of a variable.
pub(super) struct Head {
    big: bool,
    dtype: DType,
    kind: Kind,
    rows: u32,
    columns: u32,
    complex: bool,
    name: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Full,
    Text,
    Sparse,
}

impl Head {
    /// Reads the twenty bytes; `None` where they are no head.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        // The thousands tell the byte order: 0 is little-endian, 1 is big-endian.
        let (little, large) = (le::<u32>(bytes, 0)?, be::<u32>(bytes, 0)?);
        let (big, kind) = match (little, large) {
            (kind, _) if kind < 1000 => (false, kind),
            (_, kind @ 1000..2000) => (true, kind - 1000),
            _ => return None,
        };
        let dtype = match kind / 10 {
            0 => DType::F64,
            1 => DType::F32,
            2 => DType::I32,
            3 => DType::I16,
            4 => DType::U16,
            5 => DType::U8,
            _ => return None,
        };
        let kind = match kind % 10 {
            0 => Kind::Full,
            1 => Kind::Text,
            2 => Kind::Sparse,
            _ => return None,
        };
        let word = |at: usize| ordered::<u32>(big, bytes, at);
        let (rows, columns, complex, name) = (word(4)?, word(8)?, word(12)?, word(16)?);
        let ends = (1..=NAME).contains(&name) && bytes.get(19 + name as usize).is_none_or(|b| *b == 0);
        let good = rows <= i32::MAX as u32 && columns <= i32::MAX as u32 && complex <= 1 && ends;
        good.then_some(Head { big, dtype, kind, rows, columns, complex: complex == 1, name })
    }
}

/// Opens a file of variables.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = source.len(task)?;
    let mut root = Node::new("", "file").separator("").read_as("version", "4");
    let mut children = Vec::new();
    let mut at = 0;
    while at < len {
        task.check()?;
        let (node, next) = match variable(task, source, at, len) {
            Ok(found) => found,
            Err(error) if error.is_cancelled() || children.is_empty() => return Err(error),
            Err(error) => {
                root.problem = Some(error);
                break;
            }
        };
        if next > len {
            root.problem.clone_from(&node.problem);
        }
        children.push(node);
        at = next;
        if children.len() as u64 >= limits::LISTED && at < len {
            root.remarks.push(format!("more variables follow at byte {at}"));
            break;
        }
    }
    super::tree::number_twins(&mut children);
    Ok(root.listed(children))
}

/// The variable at `at`, and where the next one begins.
fn variable(task: &Task, source: &Source, at: u64, len: u64) -> Result<(Node, u64)> {
    let bytes = source.read_up_to(task, at, 20 + NAME as usize)?;
    let head = Head::parse(&bytes)
        .ok_or_else(|| Error::malformed("variable: its head is none of MATLAB 4").at(at))?;
    let name = bytes.get(20..20 + head.name as usize).unwrap_or_default();
    let data = at + 20 + u64::from(head.name);
    let shape = vec![u64::from(head.rows), u64::from(head.columns)];
    let count = limits::elements(&shape)?;
    let part = limits::bytes(&[count], head.dtype.size())?;
    let end = part.checked_mul(1 + u64::from(head.complex)).and_then(|bytes| bytes.checked_add(data));
    let end = end.ok_or_else(|| Error::malformed("variable: its size overflows 64 bits").at(at))?;
    let label = match head.kind {
        Kind::Full => "matrix",
        Kind::Text => "char",
        Kind::Sparse => "sparse",
    };
    let mut node = Node::new(super::element::text(name), label);
    node.span = Some(at..end.min(len));
    let blob = Blob::File(source.clone());
    let real = Stored { blob, big: head.big, dtype: head.dtype.clone(), at: data, count };
    let stored = real.clone();
    match content(&head, real, shape, len.saturating_sub(data)) {
        Ok((array, problem)) => (node.content, node.problem) = (Some(Content::Array(array)), problem),
        Err(error) => node.problem = Some(error),
    }
    if head.kind == Kind::Sparse {
        node = if node.problem.is_none() {
            sparse(task, node, stored, (head.rows.into(), head.columns.into()))?
        } else {
            node.remark(TRIPLES)
        };
    }
    Ok((node, end))
}

/// What the numbers of a sparse matrix are.
const TRIPLES: &str = "sparse: each row is a row, a column and a value; the last one holds the shape";

/// The node of a sparse matrix: the matrix with its zeros, and below it the triples that are stored.
fn sparse(task: &Task, mut node: Node, stored: Stored, sides: (u64, u64)) -> Result<Node> {
    let triples = Node { content: node.content.take(), ..Node::new("triples", "numbers") };
    node = node.separator(".").listed(vec![triples.remark(TRIPLES)]);
    match Triples::new(task, stored, sides).unless_cancelled()? {
        Ok(matrix) if matrix.is_small() => Ok(node.content(Content::Array(Arc::new(matrix)))),
        Ok(matrix) => {
            let size = serde_json::Value::from(matrix.shape().to_vec());
            Ok(node
                .read_as("size", size)
                .remark("too large to be shown with its zeros; its parts are listed"))
        }
        Err(error) => Ok(node.problem(error)),
    }
}

type Read = (Arc<dyn Array>, Option<Error>);

fn content(head: &Head, mut real: Stored, mut shape: Vec<u64>, there: u64) -> Result<Read> {
    let size = head.dtype.size();
    let problem = super::tree::shorten(&mut shape, there / size, real.at)?;
    if head.kind == Kind::Text && problem.is_none() {
        return Ok((Arc::new(Chars::new(real, Coding::Numbers, shape)), None));
    }
    let mut imaginary = None;
    let mut dtype = head.dtype.clone();
    if head.complex && problem.is_none() {
        let at = real.at + real.count * size;
        if real.count * size * 2 > there {
            return Err(Error::malformed("variable: its imaginary parts are cut off").at(at));
        }
        imaginary = Some(Stored { at, ..real.clone() });
        dtype = if dtype == DType::F32 { DType::C64 } else { DType::C128 };
    }
    real.count = limits::elements(&shape)?;
    Ok((Arc::new(Numbers { real, imaginary, dtype, shape, facts: ArrayFacts::default() }), problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u32, name: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [kind, 2, 3, 0, name].iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.extend_from_slice(b"ab\0");
        bytes
    }

    #[test]
    fn heads_are_told_from_other_bytes() {
        assert!(Head::parse(&head(0, 3)).is_some_and(|h| !h.big && h.dtype == DType::F64));
        assert!(Head::parse(&head(51, 3)).is_some_and(|h| h.kind == Kind::Text));
        assert!(Head::parse(&head(1030u32.swap_bytes(), 3u32.swap_bytes())).is_some_and(|h| h.big));
        assert!(Head::parse(&head(63, 3)).is_none());
        assert!(Head::parse(&head(0, 2)).is_none(), "the name has no end");
        assert!(Head::parse(b"MATL").is_none());
    }

    #[test]
    fn a_sparse_matrix_is_shown_with_its_zeros() {
        let file = |numbers: &[f64], rows: u32| {
            let columns = numbers.len() as u32 / rows;
            let mut bytes: Vec<u8> = [2, rows, columns, 0, 2].iter().flat_map(|w| w.to_le_bytes()).collect();
            bytes.extend_from_slice(b"s\0");
            bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
            let source = Source::memory("a.mat", bytes);
            crate::formats::open_source(&Task::new(), &source, &Default::default()).unwrap()
        };
        use crate::formats::array::testing::{array, node, texts};
        // (1, 2) is 5, (3, 1) is 6, (3, 2) is 7; not in the order of columns.
        let rows = [1.0, 3.0, 3.0, 3.0, 2.0, 1.0, 2.0, 2.0, 5.0, 6.0, 7.0, 0.0];
        let document = file(&rows, 4);
        let matrix = array(&document, "s");
        assert_eq!(matrix.shape(), [3, 2]);
        assert_eq!(texts(&*matrix, ":, :"), ["0.0", "5.0", "0.0", "0.0", "6.0", "7.0"]);
        assert_eq!(texts(&*matrix, "2, 1:"), ["7.0"]);
        assert_eq!(array(&document, "s.triples").shape(), [4, 3]);
        let complex = file(&[1.0, 1.0, 1.0, 2.0, 5.0, 0.0, -1.0, 0.0], 2);
        assert_eq!(texts(&*array(&complex, "s"), ":, :"), ["5.0-1.0j", "0.0+0.0j"]);
        // A shape that is none, a place outside of it.
        let broken = file(&[1.0, -3.0, 1.0, 2.0, 5.0, 0.0], 2);
        assert!(node(&broken, "s").problem.is_some() && array(&broken, "s.triples").shape() == [2, 3]);
        let outside = file(&[9.0, 3.0, 1.0, 2.0, 5.0, 0.0], 2);
        let matrix = array(&outside, "s");
        let region = crate::data::region::Region::all(matrix.shape());
        let error = crate::data::content::array::read(&*matrix, &Task::new(), &region).unwrap_err();
        assert!(error.message().contains("(9, 1)"), "{error}");
    }
}
