//! Writes Avro object container files: blocks of rows, each compressed on its own, encoded in parallel
//! (specification, *Object Container Files*).

use super::blocks::Codec;
use super::encode::Encoder;
use super::schema::is_uuid;
use super::stored::{Names, schema_of, stored};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::Cast;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::scan::{put, scan};
use crate::engines::avro;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef};
use flate2::write::DeflateEncoder;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

const CODEC: OptionSpec = OptionSpec::new("codec", "How blocks are compressed")
    .one_of("deflate", &["deflate", "zstandard", "snappy", "bzip2", "null"]);
const LEVEL: OptionSpec =
    OptionSpec::new("level", "The compression level: deflate 0 to 9, zstandard 1 to 22, bzip2 1 to 9");
const BLOCK: OptionSpec =
    OptionSpec::new("block_bytes", "Bytes of a block before it is compressed, about").default("262144");
const NAME: OptionSpec = OptionSpec::new("name", "The name of the record that a row is").default("row");

/// The writer.
pub(super) const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    streams: true,
    options: &[CODEC, LEVEL, BLOCK, NAME],
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let fields = table.schema().fields();
    let mut losses = Vec::new();
    for field in fields {
        let stored = stored(field.data_type());
        for (kind, what) in &stored.lost {
            let loss = loss(*kind, *what).of(field.name());
            losses.push(if *kind == LossKind::Precision { loss.if_any() } else { loss });
        }
        let is_text = stored.lost.iter().any(|(kind, _)| *kind == LossKind::Type);
        // What a reader gives back is not the same type, though the same values.
        if !is_text && (&stored.data_type != field.data_type() || is_extended(field)) {
            let what = format!("it is read as {}", crate::bytes::display::arrow_type(&stored.data_type));
            let note = note(LossKind::Type, what).of(field.name());
            // Of texts, lists and structs it may be the names of types and of members only.
            losses.push(if is_other(field.data_type(), &stored.data_type) { note } else { note.if_any() });
        }
    }
    for (field, name) in fields.iter().zip(Names::of(fields.iter().map(|field| field.name().as_str())).0) {
        if *field.name() != name {
            let what = format!("it is called {name}");
            losses.push(loss(LossKind::Name, what).of(field.name()).called(name));
        }
    }
    for field in fields.iter().filter(|field| renames_members(field.data_type())) {
        let what = "names of members become letters, digits and underscores";
        losses.push(loss(LossKind::Name, what).of(field.name()));
    }
    if fields.iter().any(|field| *field.data_type() == DataType::Null && !field.is_nullable()) {
        losses.push(note(LossKind::Null, "columns of nothing but nulls may have nulls").if_any());
    }
    if Names::of([options.get(NAME.name).unwrap_or(NAME.default)]).0.first().map(String::as_str)
        != Some(options.get(NAME.name).unwrap_or(NAME.default))
    {
        losses.push(loss(LossKind::Name, "the name of the record becomes letters, digits and underscores"));
    }
    losses
}

/// Whether values of one type are words for values of another one.
fn is_other(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match from {
        D::LargeUtf8 | D::Utf8View | D::LargeBinary | D::BinaryView | D::Timestamp(_, Some(_)) => false,
        D::Dictionary(_, _) | D::RunEndEncoded(_, _) => false,
        D::Decimal32(_, _) | D::Decimal64(_, _) | D::Decimal256(_, _) => false,
        _ => !from.is_nested() && from != to,
    }
}

/// Whether its metadata say that it is more than its type, which Avro does not keep.
fn is_extended(field: &FieldRef) -> bool {
    !field.metadata().is_empty() && !is_uuid(field)
}

/// Whether members of structs in it have names that Avro has not.
fn renames_members(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            let names = Names::of(fields.iter().map(|field| field.name().as_str()));
            let differ = fields.iter().zip(&names.0).any(|(field, name)| field.name() != name);
            differ || fields.iter().any(|field| renames_members(field.data_type()))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => renames_members(item.data_type()),
        _ => false,
    }
}

/// How blocks are written.
struct BlockStyle {
    codec: Codec,
    level: Option<u32>,
    size: usize,
    sync: [u8; 16],
}

impl BlockStyle {
    fn of(options: &Options) -> Result<Self> {
        let codec = Codec::parse(options.choice(&CODEC)?.as_bytes())?;
        let range = match codec {
            Codec::Deflate => 0..=9,
            Codec::Zstandard => 1..=22,
            Codec::Bzip2 => 1..=9,
            _ => 0..=0,
        };
        let level = match options.get(LEVEL.name).unwrap_or_default() {
            "" => None,
            _ => {
                let what = format!("{} has levels from {} to {}", codec.word(), range.start(), range.end());
                Some(options.number(&LEVEL, &what, |level: &u32| range.contains(level))?)
            }
        };
        let size =
            options.number(&BLOCK, "it is no number from 1 to 1 GiB", |n| (1..=1 << 30).contains(n))?;
        Ok(BlockStyle { codec, level, size, sync: [0; 16] })
    }

    fn compressed(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        Ok(match self.codec {
            Codec::Null => bytes.to_vec(),
            Codec::Deflate => {
                let level = self.level.map_or_else(flate2::Compression::default, flate2::Compression::new);
                let mut out = DeflateEncoder::new(Vec::new(), level);
                out.write_all(bytes)?;
                out.finish()?
            }
            Codec::Bzip2 => {
                let level = self.level.map_or_else(bzip2::Compression::default, bzip2::Compression::new);
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), level);
                out.write_all(bytes)?;
                out.finish()?
            }
            Codec::Zstandard => zstd::bulk::compress(bytes, self.level.map_or(0, |level| level as i32))?,
            Codec::Snappy => {
                let mut out = snap::raw::Encoder::new()
                    .compress_vec(bytes)
                    .map_err(|error| Error::limit(format!("Avro: {error}")))?;
                out.extend(crc32fast::hash(bytes).to_be_bytes());
                out
            }
            Codec::Xz => return Err(Error::unsupported("Avro with the codec xz is not written")),
        })
    }

    /// Appends rows as blocks.
    fn blocks(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let encoders: Vec<Encoder<'_>> = batch
            .columns()
            .iter()
            .zip(batch.schema_ref().fields())
            .map(|(column, field)| Encoder::new(column.as_ref(), field.is_nullable()))
            .collect::<Result<_>>()?;
        let (mut out, mut rows, mut count) = (Vec::new(), Vec::new(), 0);
        for row in 0..batch.num_rows() {
            encoders.iter().for_each(|encoder| encoder.encode(row, &mut rows));
            count += 1;
            if rows.len() >= self.size || row + 1 == batch.num_rows() {
                avro::block(count, &self.compressed(&rows)?, &self.sync, &mut out);
                rows.clear();
                count = 0;
            }
        }
        Ok(out)
    }
}

/// What stands before the blocks, and the mark that stands behind each.
fn header(payload: &Payload, table: &dyn Table, options: &Options, codec: Codec) -> (Vec<u8>, [u8; 16]) {
    let fields = table.schema().fields();
    let name = options.get(NAME.name).unwrap_or(NAME.default);
    let schema = schema_of(name, fields);
    let mut pairs = vec![
        ("avro.schema".to_owned(), json!(schema).to_string()),
        ("avro.codec".to_owned(), codec.word().to_owned()),
    ];
    let attributes = payload.attributes.list.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let metadata = table.schema().metadata().iter().map(|(name, value)| (name.clone(), value.clone()));
    for (name, value) in attributes.chain(metadata) {
        if !name.starts_with("avro.") && !pairs.iter().any(|(known, _)| *known == name) {
            pairs.push((name, value));
        }
    }
    avro::head(&pairs)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let targets: Vec<Option<DataType>> = table
        .schema()
        .fields()
        .iter()
        .map(|field| Some(stored(field.data_type()).data_type).filter(|to| to != field.data_type()))
        .collect();
    let table: Arc<dyn Table> = match targets.iter().any(Option::is_some) {
        true => Arc::new(Cast::cast(table.clone(), targets)),
        false => table.clone(),
    };
    let mut style = BlockStyle::of(options)?;
    let (head, sync) = header(payload, table.as_ref(), options, style.codec);
    style.sync = sync;
    put(sink, &head)?;
    scan(task, table.as_ref(), |batch| style.blocks(&batch), |bytes| put(sink, &bytes)).map(drop)
}
