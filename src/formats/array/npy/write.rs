//! Writes NPY: a magic, a version, a Python dict literal, the elements.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, put, put_elements};
use crate::engines::numpy::{header, losses_of};

/// How several columns of a table become one array.
pub const LAYOUT: OptionSpec = OptionSpec::new(
    "layout",
    "Columns of a table: a matrix where all are of one type, or records with their names",
)
.one_of("auto", &["auto", "records"]);

/// The writer.
pub const WRITER: Writer = Writer {
    options: &[LAYOUT],
    plain: true,
    streams: true,
    check: |payload| payload.array().and_then(|array| header(array.dtype(), array.shape())).map(drop),
    records: |options| options.get(LAYOUT.name) == Some("records"),
    ..Writer::new(&[Kind::Array], losses, write)
};

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    if let Ok(array) = payload.array() {
        losses_of("", "", array.dtype(), &mut losses);
    }
    losses
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let array = payload.array()?;
    task.set_total(array_bytes(array.as_ref())?);
    header_and_elements(task, array.as_ref(), sink)
}

/// Writes one file.
pub(super) fn header_and_elements(task: &Task, array: &dyn Array, sink: &mut dyn Sink) -> Result<()> {
    put(sink, &header(array.dtype(), array.shape())?)?;
    put_elements(task, array, sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::data::content::Content;
    use crate::data::content::array::{Plain, read};
    use crate::data::dtype::{DType, Field, Record, TimeBase, TimeUnit};
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
        write(&task, &payload, &Options::default(), &mut out).unwrap();
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
