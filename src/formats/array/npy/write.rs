//! Writes NPY: a magic, a version, a Python dict literal, the elements.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::dtype::{DType, TimeBase, TimeUnit};
use crate::data::format::note;
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements, put};

/// How several columns of a table become one array; read by [`crate::convert`].
pub const LAYOUT: OptionSpec = OptionSpec {
    name: "layout",
    help: "Columns of a table: a matrix where all are of one type, or records with their names",
    values: &["auto", "records"],
    default: "auto",
};

/// The writer.
pub const WRITER: Writer = Writer {
    accepts: &[Kind::Array],
    many: false,
    metadata: Metadata::None,
    scales: false,
    texts: false,
    options: &[LAYOUT],
    losses,
    write,
};

/// The losses of one array, which is called `name`, or of its field `subject`.
pub(crate) fn losses_of(name: &str, subject: &str, dtype: &DType, losses: &mut Vec<Loss>) {
    let what = match dtype {
        DType::BF16 => "NumPy has no bfloat16: its 2 bytes are kept as void".to_owned(),
        DType::Mini(kind) => format!("NumPy has no {}: each element is kept as a void byte", kind.name()),
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

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    if let Ok(array) = payload.array() {
        losses_of("", "", array.dtype(), &mut losses);
    }
    losses
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let array = payload.array()?;
    task.expect(array_bytes(array.as_ref())?);
    put(sink, &header(array.dtype(), array.shape())?)?;
    elements(task, array.as_ref(), &mut |bytes| put(sink, bytes))
}

/// Everything before the elements.
pub(crate) fn header(dtype: &DType, shape: &[u64]) -> Result<Vec<u8>> {
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

/// A type as NumPy describes it.
fn descr(dtype: &DType) -> Result<String> {
    let time = |letter: char, unit: &TimeUnit| match (unit.count, unit.base) {
        (_, TimeBase::Generic) => format!("'<{letter}8'"),
        (1, base) => format!("'<{letter}8[{}]'", base.word()),
        (count, base) => format!("'<{letter}8[{count}{}]'", base.word()),
    };
    Ok(match dtype {
        DType::Bool => "'|b1'".into(),
        DType::I8 => "'|i1'".into(),
        DType::I16 => "'<i2'".into(),
        DType::I32 => "'<i4'".into(),
        DType::I64 => "'<i8'".into(),
        DType::U8 => "'|u1'".into(),
        DType::U16 => "'<u2'".into(),
        DType::U32 => "'<u4'".into(),
        DType::U64 => "'<u8'".into(),
        DType::F16 => "'<f2'".into(),
        DType::F32 => "'<f4'".into(),
        DType::F64 => "'<f8'".into(),
        DType::Long(kind) => format!("'<f{}'", kind.size()),
        DType::BF16 => "'|V2'".into(),
        DType::Mini(_) => "'|V1'".into(),
        DType::C64 => "'<c8'".into(),
        DType::C128 => "'<c16'".into(),
        DType::Bytes(n) => format!("'|S{n}'"),
        DType::Str(n) => format!("'<U{n}'"),
        DType::Void(n) => format!("'|V{n}'"),
        DType::DateTime(unit) => time('M', unit),
        DType::TimeDelta(unit) => time('m', unit),
        DType::Variable(kind) => {
            return Err(Error::unsupported(format!(
                "npy: elements of type {} have no fixed size",
                kind.word
            )));
        }
        DType::Struct(record) => {
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
            format!("[{}]", items.join(", "))
        }
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::data::content::array::{Plain, read};
    use crate::data::content::{Array, Content};
    use crate::data::dtype::{Field, Record};
    use crate::data::format::Data;
    use crate::data::region::Region;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Writes an array, opens what was written.
    fn there_and_back(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Arc<dyn Array> {
        let task = Task::new();
        let plain =
            Plain::new(Source::memory("a", bytes.to_vec()), 0, dtype.clone(), shape.to_vec()).unwrap();
        let arrays: Vec<(String, Arc<dyn Array>)> = vec![("a".to_owned(), Arc::new(plain))];
        let payload = Payload::plain(Data::Arrays(arrays));
        let mut out = std::io::Cursor::new(Vec::new());
        (WRITER.write)(&task, &payload, &Options::default(), &mut out).unwrap();
        let source = Source::memory("a.npy", out.into_inner());
        let document = crate::formats::open_source(&task, &source, &Options::default()).unwrap();
        assert_eq!(document.format.id, "npy");
        match &document.root.content {
            Some(Content::Array(array)) => array.clone(),
            _ => panic!("no array"),
        }
    }

    fn leaf() -> impl Strategy<Value = DType> {
        let unit = (1u32..30, prop::sample::select(vec![TimeBase::Day, TimeBase::Nano, TimeBase::Year]));
        prop_oneof![
            prop::sample::select(vec![
                DType::Bool,
                DType::I8,
                DType::U16,
                DType::I32,
                DType::U64,
                DType::F16
            ]),
            prop::sample::select(vec![DType::F32, DType::F64, DType::C64, DType::C128]),
            (1u32..5).prop_map(DType::Bytes),
            (1u32..4).prop_map(DType::Str),
            (1u32..5).prop_map(DType::Void),
            unit.prop_map(|(count, base)| DType::DateTime(TimeUnit { count, base })),
        ]
    }

    fn any_dtype() -> impl Strategy<Value = DType> {
        let field = (leaf(), prop::collection::vec(1u64..3, 0..2), 0u64..3);
        let record = prop::collection::vec(field, 1..4).prop_map(|parts| {
            let mut record = Record { fields: vec![], size: 0 };
            for (n, (dtype, shape, gap)) in parts.into_iter().enumerate() {
                let name = ["x", "it's \\ a\nname", "größe"][n % 3].to_owned();
                let field = Field { name, dtype, shape, offset: record.size + gap };
                record.size = field.offset + field.bytes().unwrap();
                record.fields.push(field);
            }
            DType::Struct(Arc::new(record))
        });
        prop_oneof![leaf(), record]
    }

    proptest! {
        #[test]
        fn any_array_reads_back_equal(dtype in any_dtype(), shape in prop::collection::vec(0u64..4, 0..4), seed: u8) {
            let len = dtype.size() * shape.iter().product::<u64>();
            let bytes: Vec<u8> = (0..len).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed) & 0x7f).collect();
            let array = there_and_back(&dtype, &shape, &bytes);
            prop_assert_eq!((array.dtype(), array.shape()), (&dtype, shape.as_slice()));
            prop_assert_eq!(read(array.as_ref(), &Task::new(), &Region::all(&shape)).unwrap(), bytes);
        }
    }

    #[test]
    fn the_header_is_numpys_own() {
        let bytes = header(&DType::F32, &[3]).unwrap();
        assert_eq!(bytes.len() % 64, 0);
        assert!(bytes.starts_with(
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
        ));
        assert_eq!(bytes.last(), Some(&b'\n'));
    }
}
