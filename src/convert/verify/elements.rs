//! Arrays and bytes against each other, from end to end in C order.

use super::Outcome;
use super::cells::same_text;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::adapt::ArrayView;
use crate::data::cell;
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::region::{Pieces, Region, pieces};
use arrow::array::{Array as _, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use std::sync::Arc;

/// Bytes that are read of each side at once.
const PIECE: u64 = 8 << 20;
/// Elements that are compared as texts at once.
const TEXTS: u64 = 65_536;

/// Two arrays.
pub(super) fn compare(task: &Task, from: &Arc<dyn Array>, to: &Arc<dyn Array>) -> Result<Outcome> {
    let sides = |array: &Arc<dyn Array>| -> Vec<u64> {
        array.shape().iter().copied().filter(|side| *side != 1).collect()
    };
    if sides(from) != sides(to) {
        let words = |array: &Arc<dyn Array>| crate::bytes::display::shape(array.shape());
        return Ok(Outcome::Differs(format!("its shape is {}, not {}", words(to), words(from))));
    }
    let as_bytes = from.dtype() == to.dtype() || is_opaque(from.dtype(), to.dtype());
    if as_bytes && !from.dtype().is_variable() {
        return by_bytes(task, from, to);
    }
    by_texts(task, from, to)
}

/// An array or a picture, and the picture that was read back: grey may be three channels of the same there.
pub(super) fn of_pictures(task: &Task, from: &Arc<dyn Array>, to: &Arc<dyn Array>) -> Result<Outcome> {
    let (Some((3, sides)), true) = (to.shape().split_last(), from.shape().len() < to.shape().len()) else {
        return compare(task, from, to);
    };
    if from.shape() != sides {
        return compare(task, from, to);
    }
    let mut outcome = Outcome::Equal(0);
    for channel in 0..3 {
        let spelled = format!("{}{channel}", ":, ".repeat(sides.len()));
        let one: Arc<dyn Array> = Arc::new(ArrayView::parse(to.clone(), &spelled)?);
        outcome = compare(task, from, &one)?;
        if matches!(outcome, Outcome::Differs(_)) {
            break;
        }
    }
    Ok(outcome)
}

/// Whether one holds the bytes of the other without saying what they are: NumPy has no name for bfloat16.
fn is_opaque(from: &DType, to: &DType) -> bool {
    matches!(to, DType::Void(_) | DType::U8 | DType::U16)
        && from.size() == to.size()
        && matches!(from, DType::BF16 | DType::C32 | DType::Mini(_))
}

/// Elements one after the other.
struct Elements<'a> {
    array: &'a dyn Array,
    pieces: Pieces,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Elements<'a> {
    fn new(array: &'a dyn Array) -> Self {
        let most = (PIECE / array.dtype().size().max(1)).max(1);
        Elements { array, pieces: pieces(array.shape(), most), buffer: Vec::new(), at: 0 }
    }

    /// The next bytes that are there; none at the end.
    fn filled(&mut self, task: &Task) -> Result<&[u8]> {
        while self.at >= self.buffer.len() {
            let Some(region) = self.pieces.next() else { return Ok(&[]) };
            let size = limits::bytes(&region.shape(), self.array.dtype().size())?;
            self.buffer.resize(limits::check(size, limits::CHUNK, "a part of the array")?, 0);
            self.array.read(task, &region, &mut self.buffer)?;
            self.at = 0;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }
}

fn by_bytes(task: &Task, from: &Arc<dyn Array>, to: &Arc<dyn Array>) -> Result<Outcome> {
    let size = from.dtype().size().max(1);
    task.set_total(limits::bytes(from.shape(), size)?);
    let (mut left, mut right) = (Elements::new(from.as_ref()), Elements::new(to.as_ref()));
    let mut at = 0u64;
    loop {
        let (ours, theirs) =
            rayon::join(|| left.filled(task).map(<[u8]>::len), || right.filled(task).map(<[u8]>::len));
        let len = ours?.min(theirs?);
        if len == 0 {
            return Ok(Outcome::Equal(at / size));
        }
        let a = left.buffer.get(left.at..left.at + len).unwrap_or_default();
        let b = right.buffer.get(right.at..right.at + len).unwrap_or_default();
        if a != b {
            let byte = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or_default() as u64;
            return Ok(Outcome::Differs(place((at + byte) / size, from.shape())));
        }
        left.at += len;
        right.at += len;
        at += len as u64;
        task.advance(len as u64)?;
    }
}

/// The same of a source of bytes that holds nothing but the elements.
pub(super) fn with_bytes(task: &Task, from: &dyn Array, source: &Source) -> Result<Outcome> {
    if from.dtype().is_variable() {
        return Ok(Outcome::Differs("its elements have no size of their own".to_owned()));
    }
    let size = from.dtype().size().max(1);
    let mut elements = Elements::new(from);
    let mut at = 0u64;
    loop {
        let bytes = elements.filled(task)?;
        if bytes.is_empty() {
            break;
        }
        let there = source.read_up_to(task, at, bytes.len())?;
        if there != bytes {
            return Ok(Outcome::Differs(place(at / size, from.shape())));
        }
        at += bytes.len() as u64;
        let len = bytes.len();
        elements.at += len;
        task.advance(len as u64)?;
    }
    match source.len(task)? == at {
        true => Ok(Outcome::Equal(at / size)),
        false => Ok(Outcome::Differs(format!("the file goes on behind its {at} bytes"))),
    }
}

/// Two sources of bytes.
pub(super) fn bytes(task: &Task, from: &Source, to: &Source) -> Result<Outcome> {
    let (mut at, total) = (0u64, to.len(task)?);
    loop {
        let (a, b) = (from.read_up_to(task, at, PIECE as usize)?, to.read_up_to(task, at, PIECE as usize)?);
        if a != b {
            return Ok(Outcome::Differs(format!("the bytes from {at} on differ")));
        }
        if a.is_empty() || at + a.len() as u64 >= total {
            return Ok(Outcome::Equal(total));
        }
        at += a.len() as u64;
        task.advance(a.len() as u64)?;
    }
}

/// Elements of other types by what they say.
fn by_texts(task: &Task, from: &Arc<dyn Array>, to: &Arc<dyn Array>) -> Result<Outcome> {
    let elements = limits::elements(from.shape())?;
    task.set_total(elements);
    let regions = pieces(from.shape(), TEXTS).zip(pieces(to.shape(), TEXTS));
    let mut at = 0u64;
    for (region, other) in regions {
        let (a, b) = (from.column(task, &region)?, to.column(task, &other)?);
        if a.len() != b.len() {
            // Sides of one move where a piece ends.
            return whole_texts(task, from, to);
        }
        let rows = if are_same_numbers(&a, &b) { 0 } else { a.len() };
        for row in 0..rows {
            let (left, right) = (cell::text(a.as_ref(), row), cell::text(b.as_ref(), row));
            if !same_text(left.as_deref(), right.as_deref()) {
                return Ok(Outcome::Differs(place(at + row as u64, from.shape())));
            }
        }
        at += a.len() as u64;
        task.advance(a.len() as u64)?;
    }
    Ok(Outcome::Equal(elements))
}

/// Whether both are the same numbers, bit by bit as float64, of types that all fit in it. Others may be equal all the
/// same: as texts.
fn are_same_numbers(a: &ArrayRef, b: &ArrayRef) -> bool {
    let fits = |array: &ArrayRef| {
        use DataType::{Float16, Float32, Float64, Int8, Int16, Int32, UInt8, UInt16, UInt32};
        let is_number = matches!(
            array.data_type(),
            Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 | Float16 | Float32 | Float64
        );
        is_number && array.null_count() == 0
    };
    if !fits(a) || !fits(b) {
        return false;
    }
    let (Ok(a), Ok(b)) = (cast(a, &DataType::Float64), cast(b, &DataType::Float64)) else { return false };
    let (a, b) = (a.as_primitive::<Float64Type>().values(), b.as_primitive::<Float64Type>().values());
    a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// The same of small arrays that are cut differently.
fn whole_texts(task: &Task, from: &Arc<dyn Array>, to: &Arc<dyn Array>) -> Result<Outcome> {
    let (a, b) = (from.column(task, &Region::all(from.shape()))?, to.column(task, &Region::all(to.shape()))?);
    let differs = (0..a.len().max(b.len())).find(|row| {
        *row >= a.len()
            || *row >= b.len()
            || !same_text(cell::text(a.as_ref(), *row).as_deref(), cell::text(b.as_ref(), *row).as_deref())
    });
    Ok(match differs {
        None => Outcome::Equal(a.len() as u64),
        Some(row) => Outcome::Differs(place(row as u64, from.shape())),
    })
}

/// Where the first difference is.
fn place(element: u64, shape: &[u64]) -> String {
    let index: Vec<String> = strides::unravel(element, shape).into_iter().map(|at| at.to_string()).collect();
    format!("the element at [{}] is another one", index.join(", "))
}
