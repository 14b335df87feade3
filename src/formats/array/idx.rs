//! IDX: one array, as MNIST and the data sets after it have them (`train-images-idx3-ubyte`). Two zero bytes, a code of
//! the type of the elements, the number of dimensions, the length of each in 32 bits, the elements; all of it
//! big-endian. <https://yann.lecun.com/exdb/mnist/>
//!
//! Two zeros and a code are a weak sign, and the usual names have no extension. So a file is one where its length is
//! what the header says, or where the header can be one and the name says so; then it may be cut off or too long.

mod pair;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Kind};
use crate::data::dtype::{DType, swap_bytes};
use crate::data::format::{Format, Opening, Options, Payload, Sink, Target, Writer};
use crate::data::node::Node;
use crate::data::scan::{array_bytes, elements, put};
use crate::data::sniff::{Head, Magic, Match};
use std::sync::Arc;

pub use pair::SET;

/// The types of elements with their codes.
const TYPES: [(u8, DType); 6] = [
    (0x08, DType::U8),
    (0x09, DType::I8),
    (0x0b, DType::I16),
    (0x0c, DType::I32),
    (0x0d, DType::F32),
    (0x0e, DType::F64),
];

/// The descriptor. `.idx` is no extension of it: other formats have indices of that name.
pub static FORMAT: Format = Format {
    extensions: &["idx3-ubyte", "idx1-ubyte", "idx2-int"],
    magic: &[
        Magic::at(0, &[0, 0, 0x08]),
        Magic::at(0, &[0, 0, 0x09]),
        Magic::at(0, &[0, 0, 0x0b]),
        Magic::at(0, &[0, 0, 0x0c]),
        Magic::at(0, &[0, 0, 0x0d]),
        Magic::at(0, &[0, 0, 0x0e]),
    ],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    targets: &[Target::new("idx", "IDX array (MNIST)", &["idx", "idx3-ubyte", "idx1-ubyte"], &WRITER)],
    ..Format::new("idx", "IDX array (MNIST)", open)
};

/// The writer.
const WRITER: Writer = Writer {
    plain: true,
    check: |payload| payload.array().and_then(|array| header(array.dtype(), array.shape())).map(drop),
    ..Writer::new(&[Kind::Array], |_, _| Vec::new(), write)
};

fn sniff(head: &Head) -> Match {
    let begins = FORMAT.magic.iter().any(|magic| magic.matches(head));
    let fits = |header: Header| match head.len {
        Some(len) => header.end == len,
        // Of a stream that was not read to its end.
        None => header.end > head.first.len() as u64,
    };
    match begins && (is_named(&head.name) || Header::parse(&head.first).is_ok_and(fits)) {
        true => Match::Yes,
        false => Match::No,
    }
}

/// Whether a name ends as those of MNIST (`-idx3-ubyte`, `.idx1-ubyte`, `-idx2-int`), or in `.idx`.
fn is_named(name: &str) -> bool {
    let name = name.to_lowercase();
    let Some((before, kind)) = name.rsplit_once("idx") else { return false };
    let rank = kind.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_rank = rank.len() < kind.len() && rank.starts_with('-');
    before.ends_with('.') && kind.is_empty() || before.ends_with(['-', '.', '_']) && has_rank
}

/// What a header says.
struct Header {
    dtype: DType,
    shape: Vec<u64>,
    /// Where the elements begin,
    data: u64,
    /// and where they end.
    end: u64,
}

impl Header {
    /// The header at the start of a file; the longest one has 1,024 bytes.
    fn parse(first: &[u8]) -> Result<Self> {
        let wrong = |what: String, at: u64| Error::malformed(format!("IDX: {what}")).at(at);
        let Some((&[0, 0, code, rank], rest)) = first.split_first_chunk::<4>() else {
            let what = "it does not begin with two zeros, a type and a number of dimensions";
            return Err(wrong(what.to_owned(), 0));
        };
        let known = TYPES.into_iter().find(|known| known.0 == code);
        let (_, dtype) = known.ok_or_else(|| wrong(format!("there is no type 0x{code:02x}"), 2))?;
        if rank == 0 {
            return Err(wrong("it has no dimensions".to_owned(), 3));
        }
        let sides = rest.get(..usize::from(rank) * 4);
        let sides =
            sides.ok_or_else(|| wrong(format!("it ends within the lengths of {rank} dimensions"), 4))?;
        let shape: Vec<u64> =
            sides.as_chunks().0.iter().map(|side| u64::from(u32::from_be_bytes(*side))).collect();
        let data = 4 + sides.len() as u64;
        let bytes = limits::bytes(&shape, dtype.size()).map_err(|error| error.at(4))?;
        let end = data.checked_add(bytes);
        let end = end.ok_or_else(|| wrong(format!("shape {shape:?}: its bytes overflow 64 bits"), 4))?;
        Ok(Header { dtype, shape, data, end })
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let source = opening.source;
    let Header { dtype, shape, data, end } = Header::parse(&opening.head.first)?;
    let (plain, problem) = Plain::within(source.clone(), data, dtype, shape, false)?;
    let mut node = Node::new("", "array");
    let len = source.known_len().unwrap_or(end);
    if len > end {
        node.remarks.push(format!("{} bytes follow the array at byte {end}", len - end));
    }
    node.problem = problem;
    node.span = Some(data..end.min(len));
    let array: Arc<dyn Array> = Arc::new(plain.big_endian(true));
    if let Some(samples) = pair::beside(opening.task, source, &array)? {
        node = node.listed(vec![samples]);
    }
    Ok(node.content(Content::Array(array)))
}

/// Everything before the elements of an array.
///
/// # Errors
/// `Unsupported` for types and shapes that IDX has not.
fn header(dtype: &DType, shape: &[u64]) -> Result<Vec<u8>> {
    let Some((code, _)) = TYPES.iter().find(|known| known.1 == *dtype) else {
        let all: Vec<String> = TYPES.iter().map(|known| known.1.to_string()).collect();
        return Err(Error::unsupported(format!("IDX has no {dtype}; it has {}", all.join(", "))));
    };
    let rank = u8::try_from(shape.len()).ok().filter(|rank| *rank > 0);
    let rank = rank.ok_or_else(|| {
        Error::unsupported(format!("an array of {} dimensions; IDX has 1 to 255", shape.len()))
    })?;
    let mut out = vec![0, 0, *code, rank];
    for side in shape {
        let side = u32::try_from(*side).map_err(|_| {
            Error::unsupported(format!("a side of {side}; the longest of IDX is {}", u32::MAX))
        })?;
        out.extend(side.to_be_bytes());
    }
    Ok(out)
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let array = payload.array()?;
    put(sink, &header(array.dtype(), array.shape())?)?;
    task.set_total(array_bytes(array.as_ref())?);
    let mut big = Vec::new();
    elements(task, array.as_ref(), &mut |bytes| {
        big.clear();
        big.extend_from_slice(bytes);
        swap_bytes(&mut big, array.dtype().swap_unit());
        put(sink, &big)
    })
}

#[cfg(test)]
mod tests;
