//! One element: its exact value as text and its bits, read by a job when nothing has it in memory.

use std::sync::Arc;

use gander::data::cell;
use gander::data::content::{Array, array};
use gander::data::dtype::DType;
use gander::data::region::{Region, Span};
use gander::jobs::{Jobs, Slot};

use super::values::Part;
use super::values::numbers;

/// Reads the element that was asked for last.
#[derive(Default)]
pub(crate) struct Probe(Slot<Vec<u64>, Vec<u8>>);

impl Probe {
    /// The bytes of an element, if they are there by now.
    pub(crate) fn get(&self, jobs: &Jobs, array: &Arc<dyn Array>, index: &[u64]) -> Option<Arc<Vec<u8>>> {
        let (key, array, at) = (index.to_vec(), array.clone(), index.to_vec());
        let shown = self.0.get(jobs, &key, "one element", move |task| {
            let region = Region(at.iter().map(|&at| Span::range(at, 1)).collect());
            array::read(&*array, task, &region)
        });
        shown.value.filter(|_| shown.fresh)
    }
}

/// The bits of an element as one hexadecimal number, of a complex one as two, for types that have such.
pub(crate) fn bits(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let part = match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        _ => return bits_of_one(dtype, bytes),
    };
    let (real, imaginary) = bytes.split_at_checked(part.size() as usize)?;
    Some(format!("{} {}", bits_of_one(&part, real)?, bits_of_one(&part, imaginary)?))
}

fn bits_of_one(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let numeric = dtype.is_real() || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_));
    if !numeric || bytes.is_empty() {
        return None;
    }
    let digits = (dtype.bits() as usize).div_ceil(4);
    let text: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("0x{}", &text[text.len().saturating_sub(digits)..]))
}

/// Whether an element is NaN (or not-a-time).
pub(crate) fn is_nan(dtype: &DType, bytes: &[u8]) -> bool {
    super::values::drawable(dtype)
        && numbers(dtype, Part::Real, bytes)
            .iter()
            .chain(&numbers(dtype, Part::Imaginary, bytes))
            .any(|n| n.is_nan())
}

/// The value as text, NaN in capitals as people know it.
pub(crate) fn text(dtype: &DType, bytes: &[u8]) -> String {
    let text = cell::element(dtype, bytes);
    match text.as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "+Inf".to_owned(),
        "-inf" => "−Inf".to_owned(),
        _ => text,
    }
}

/// `[3, 17]`.
pub(crate) fn place(index: &[u64]) -> String {
    let numbers: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use gander::data::dtype::Mini;

    use super::*;

    #[test]
    fn bits_are_as_wide_as_the_type() {
        assert_eq!(bits(&DType::BF16, &[0xc0, 0x7f]).as_deref(), Some("0x7fc0"));
        assert_eq!(bits(&DType::Mini(Mini::F4E2M1), &[0x07]).as_deref(), Some("0x7"));
        assert_eq!(bits(&DType::U8, &[9]).as_deref(), Some("0x09"));
        assert_eq!(bits(&DType::Str(1), &[1, 0, 0, 0]), None);
        let complex: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|part| part.to_le_bytes()).collect();
        assert_eq!(bits(&DType::C64, &complex).as_deref(), Some("0x3f800000 0xc0000000"));
        assert_eq!(bits(&DType::C64, &[]), None);
        assert!(is_nan(&DType::BF16, &[0xc0, 0x7f]) && !is_nan(&DType::U8, &[9]));
        assert_eq!(text(&DType::F32, &f32::NEG_INFINITY.to_le_bytes()), "−Inf");
    }
}
