//! The header of an array as NumPy writes it: in NPY files, and in the members of NPZ archives.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use crate::bytes::error::{Error, Result};
use crate::data::dtype::{DType, TimeBase, TimeUnit};
use crate::data::format::{Loss, LossKind, note};

/// The losses of one array, which is called `name`, or of its field `subject`.
pub fn losses_of(name: &str, subject: &str, dtype: &DType, losses: &mut Vec<Loss>) {
    let what = match dtype {
        DType::BF16 => "NumPy has no bfloat16: its 2 bytes are kept as void".to_owned(),
        DType::C32 => "NumPy has no complex32: its 4 bytes are kept as void".to_owned(),
        DType::Mini(kind) => format!("NumPy has no {}: each element is kept as a void byte", kind.name()),
        DType::Blocks(_) => format!("NumPy has no {dtype}: its values become float32, exactly"),
        DType::Struct(record) => {
            for field in &record.fields {
                losses_of(name, &field.name, &field.dtype, losses);
            }
            return;
        }
        _ => return,
    };
    losses.push(note(LossKind::Type, what).at(name).of(subject));
}

/// Everything before the elements.
pub fn header(dtype: &DType, shape: &[u64]) -> Result<Vec<u8>> {
    let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = match sides.as_slice() {
        [one] => format!("({one},)"),
        sides => format!("({})", sides.join(", ")),
    };
    let mut dict =
        format!("{{'descr': {}, 'fortran_order': False, 'shape': {shape}, }}", descr(dtype)?).into_bytes();
    // Version 3 is UTF-8; versions 1 and 2 are Latin-1 and differ in the length's size.
    let version = if !dict.is_ascii() { 3 } else { 1 + u8::from(dict.len() > 65_000) };
    let before = if version == 1 { 10 } else { 12 };
    // NumPy pads to 64 bytes so that the elements can be mapped; the last byte is a line end.
    let padding = 64 - (before + dict.len() + 1) % 64;
    dict.extend(std::iter::repeat_n(b' ', padding % 64));
    dict.push(b'\n');
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    match version {
        1 => out.extend((dict.len() as u16).to_le_bytes()),
        _ => {
            let len = u32::try_from(dict.len()).map_err(|_| Error::limit("an NPY header over 4 GB"))?;
            out.extend(len.to_le_bytes());
        }
    }
    out.extend(dict);
    Ok(out)
}

/// A type without fields as NumPy's type string, `<f4`; for types that NumPy has not the opaque bytes of the same size.
///
/// # Errors
/// `Unsupported` for types with fields and for those without a fixed size.
pub fn typestr(dtype: &DType) -> Result<String> {
    let time = |letter: char, unit: &TimeUnit| match (unit.count, unit.base) {
        (_, TimeBase::Generic) => format!("<{letter}8"),
        (1, base) => format!("<{letter}8[{}]", base.word()),
        (count, base) => format!("<{letter}8[{count}{}]", base.word()),
    };
    Ok(match dtype {
        DType::Bool => "|b1".into(),
        DType::I8 => "|i1".into(),
        DType::I16 => "<i2".into(),
        DType::I32 => "<i4".into(),
        DType::I64 => "<i8".into(),
        DType::U8 => "|u1".into(),
        DType::U16 => "<u2".into(),
        DType::U32 => "<u4".into(),
        DType::U64 => "<u8".into(),
        DType::F16 => "<f2".into(),
        DType::F32 | DType::Blocks(_) => "<f4".into(),
        DType::F64 => "<f8".into(),
        DType::Long(kind) => format!("<f{}", kind.size()),
        DType::BF16 => "|V2".into(),
        DType::Mini(_) => "|V1".into(),
        // NumPy has none of halves.
        DType::C32 => "|V4".into(),
        DType::C64 => "<c8".into(),
        DType::C128 => "<c16".into(),
        DType::Bytes(n) => format!("|S{n}"),
        DType::Str(n) => format!("<U{n}"),
        DType::Void(n) => format!("|V{n}"),
        DType::DateTime(unit) => time('M', unit),
        DType::TimeDelta(unit) => time('m', unit),
        DType::Variable(kind) => {
            return Err(Error::unsupported(format!(
                "npy: elements of type {} have no fixed size",
                kind.word
            )));
        }
        DType::Struct(_) => return Err(Error::bug("a type string of fields")),
    })
}

/// A type as NumPy describes it: a Python literal of its type string or of a list of its fields.
///
/// # Errors
/// `Unsupported` for types without a fixed size and for fields that overlap.
pub fn descr(dtype: &DType) -> Result<String> {
    let Some(record) = dtype.record() else { return Ok(format!("'{}'", typestr(dtype)?)) };
    let (mut items, mut at) = (Vec::new(), 0);
    for field in &record.fields {
        let gap = field.offset.checked_sub(at).ok_or_else(|| {
            Error::unsupported(format!("field {:?} overlaps the one before it", field.name))
        })?;
        if gap > 0 {
            items.push(format!("('', '|V{gap}')"));
        }
        let shape: String = field.shape.iter().map(|side| format!("{side}, ")).collect();
        let shape = if field.shape.is_empty() { String::new() } else { format!(", ({shape})") };
        items.push(format!("({}, {}{shape})", quoted(&field.name), descr(&field.dtype)?));
        at = field.offset + field.bytes()?;
    }
    if record.size > at {
        items.push(format!("('', '|V{}')", record.size - at));
    }
    Ok(format!("[{}]", items.join(", ")))
}

/// A Python str literal.
fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 32 || c as u32 == 127 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
