//! Columns and schemas, in Arrow's own stream format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.
//! Arrow's reader checks what it reads; what it would allocate on a mere word of the stream is refused before.

use super::{In, Out, Wire, wrong};
use crate::bytes::error::{Error, Result};
use crate::bytes::guard;
use ::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use ::arrow::buffer::Buffer;
use ::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use ::arrow::ipc::reader::StreamDecoder;
use ::arrow::ipc::writer::StreamWriter;
use std::sync::Arc;

/// Streams begin at such places, so that the columns can be views of what was received.
const ALIGNED: usize = 64;

/// A stream of one schema and perhaps a batch.
fn put_stream(schema: &Schema, batch: Option<&RecordBatch>, out: &mut Out<'_>) {
    let at = out.bytes.len();
    // The length, and room up to where the stream may begin.
    out.bytes.extend_from_slice(&[0; 8]);
    let start = out.bytes.len().next_multiple_of(ALIGNED);
    out.bytes.resize(start, 0);
    let written = StreamWriter::try_new(&mut out.bytes, schema).and_then(|mut writer| {
        batch.map_or(Ok(()), |batch| writer.write(batch))?;
        writer.finish()
    });
    if let Err(error) = written {
        out.fail(error.into());
    }
    let len = (out.bytes.len() - start) as u64;
    if let Some(place) = out.bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

/// Reads such a stream: its schema, and its batch where it has one.
fn take_stream(from: &mut In<'_>) -> Result<(SchemaRef, Option<RecordBatch>)> {
    let len = usize::read(from)?;
    let whole = from.whole.clone();
    let place = |from: &In<'_>, whole: &Buffer| whole.len().checked_sub(from.rest.len());
    let (mut buffer, bytes) = match whole.as_ref().and_then(|whole| Some((whole, place(from, whole)?))) {
        Some((whole, at)) => {
            let start = at.next_multiple_of(ALIGNED);
            from.take(start - at)?;
            let bytes = from.take(len)?;
            (whole.slice_with_length(start, len), bytes)
        }
        None => return Err(Error::bug("columns outside of an answer")),
    };
    check(bytes)?;
    let mut decoder = StreamDecoder::new();
    let mut read = None;
    guard::catch_decoder_panic("the reader's answer", || {
        while !buffer.is_empty() {
            if let Some(batch) = decoder.decode(&mut buffer)?
                && read.replace(batch).is_some()
            {
                return Err(wrong("several batches where one was asked for"));
            }
        }
        Ok(decoder.finish()?)
    })
    .map_err(|error| wrong(error.what()))?;
    let schema = decoder.schema().ok_or_else(|| wrong("columns without a schema"))?;
    Ok((schema, read))
}

/// Whether the messages of a stream lie in it, and nothing in them is compressed: what that would become is only said.
fn check(mut stream: &[u8]) -> Result<()> {
    use ::arrow::ipc::{MessageHeader, root_as_message};
    let number = |bytes: &[u8]| Some(u32::from_le_bytes(*bytes.first_chunk()?));
    loop {
        let cut = || wrong("columns that end too early");
        if stream.is_empty() {
            return Ok(());
        }
        if number(stream) != Some(u32::MAX) {
            return Err(wrong("columns in no message"));
        }
        let len = stream.get(4..).and_then(number).ok_or_else(cut)? as usize;
        if len == 0 {
            return Ok(());
        }
        let metadata = stream.get(8..).and_then(|rest| rest.get(..len)).ok_or_else(cut)?;
        let message = root_as_message(metadata).map_err(|_| wrong("columns in no message"))?;
        let compressed = match message.header_type() {
            MessageHeader::RecordBatch => {
                message.header_as_record_batch().is_some_and(|batch| batch.compression().is_some())
            }
            MessageHeader::DictionaryBatch => message
                .header_as_dictionary_batch()
                .and_then(|batch| batch.data())
                .is_some_and(|batch| batch.compression().is_some()),
            _ => false,
        };
        if compressed {
            return Err(wrong("columns that are compressed"));
        }
        let body = usize::try_from(message.bodyLength()).map_err(|_| cut())?;
        let end = (8 + len).checked_add(body).ok_or_else(cut)?;
        stream = stream.get(end..).ok_or_else(cut)?;
    }
}

impl Wire for SchemaRef {
    fn put(&self, out: &mut Out<'_>) {
        put_stream(self, None, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        take_stream(from).map(|(schema, _)| schema)
    }
}

impl Wire for RecordBatch {
    fn put(&self, out: &mut Out<'_>) {
        put_stream(&self.schema(), Some(self), out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        take_stream(from)?.1.ok_or_else(|| wrong("no columns"))
    }
}

impl Wire for ArrayRef {
    fn put(&self, out: &mut Out<'_>) {
        let schema = Arc::new(Schema::new(vec![Field::new("", self.data_type().clone(), true)]));
        let options = RecordBatchOptions::new().with_row_count(Some(self.len()));
        match RecordBatch::try_new_with_options(schema, vec![self.clone()], &options) {
            Ok(batch) => batch.put(out),
            Err(error) => out.fail(error.into()),
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        RecordBatch::read(from)?.columns().first().cloned().ok_or_else(|| wrong("no column"))
    }
}

pub(super) fn put_type(data_type: &DataType, out: &mut Out<'_>) {
    put_stream(&Schema::new(vec![Field::new("", data_type.clone(), true)]), None, out);
}

pub(super) fn take_type(from: &mut In<'_>) -> Result<DataType> {
    let (schema, _) = take_stream(from)?;
    schema.fields().first().map(|field| field.data_type().clone()).ok_or_else(|| wrong("no type"))
}

/// Whether a batch is one of these columns of a table, and not of more rows than were asked for.
///
/// # Errors
/// `Crashed` where it is not.
pub(in crate::worker) fn check_batch(
    batch: &RecordBatch,
    schema: &Schema,
    columns: &[usize],
    most: u64,
) -> Result<()> {
    let fits = |(column, n): (&ArrayRef, &usize)| {
        schema.fields().get(*n).is_some_and(|field| field.data_type() == column.data_type())
    };
    let right = batch.num_columns() == columns.len() && batch.columns().iter().zip(columns).all(fits);
    match right && batch.num_rows() as u64 <= most {
        true => Ok(()),
        false => Err(wrong("other columns or more rows than were asked for")),
    }
}
