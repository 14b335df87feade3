//! What a footer says besides the schema: codecs, encodings, types as stored, statistics, row groups.

use crate::data::content::{Block, ColumnStatistics, Layout, TableFacts};
use arrow::array::Array;
use arrow::datatypes::{DataType, Field};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{Compression, LogicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::schema::types::ColumnDescriptor;

/// The most column chunks that facts are gathered from; of larger files the first row groups speak.
const CHUNKS: usize = 1 << 20;

/// Facts of the whole file; `roots` are the top-level fields of the columns.
pub(super) fn facts(metadata: &ParquetMetaData, roots: &[usize]) -> TableFacts {
    let file = metadata.file_metadata();
    let descr = file.schema_descr();
    let groups = metadata.row_groups();
    let seen = groups.len().min((CHUNKS / descr.num_columns().max(1)).max(1));
    let chunks = |leaf: usize| groups.iter().take(seen).filter_map(move |g| g.columns().get(leaf));
    let mut codecs: Vec<String> = Vec::new();
    let mut fields: Vec<Vec<usize>> = vec![Vec::new(); descr.root_schema().get_fields().len()];
    for leaf in 0..descr.num_columns() {
        if let Some(list) = fields.get_mut(descr.get_column_root_idx(leaf)) {
            list.push(leaf);
        }
        for chunk in chunks(leaf) {
            let codec = codec(chunk.compression());
            if codec != "none" && !codecs.iter().any(|c| c == codec) {
                codecs.push(codec.to_owned());
            }
        }
    }
    let mut details = Vec::new();
    if let Some(by) = file.created_by() {
        details.push(("created by".to_owned(), by.to_owned()));
    }
    details.push(("format version".to_owned(), file.version().to_string()));
    let has_index =
        groups.iter().flat_map(|g| g.columns()).next().is_some_and(|c| c.offset_index_offset().is_some());
    details.push(("page index".to_owned(), if has_index { "yes" } else { "no" }.to_owned()));
    let columns = roots
        .iter()
        .map(|&root| {
            let leaves = fields.get(root).map_or(&[][..], Vec::as_slice);
            leaves
                .iter()
                .flat_map(|&leaf| lines(&descr.column(leaf), leaves.len() > 1, chunks(leaf)))
                .collect()
        })
        .collect();
    TableFacts { row_groups: Some(groups.len() as u64), codecs, details, columns }
}

/// Lines for one leaf of a column; `nested` ones carry their path.
fn lines<'a>(
    descr: &ColumnDescriptor,
    nested: bool,
    chunks: impl Iterator<Item = &'a ColumnChunkMetaData>,
) -> Vec<(String, String)> {
    let (mut encodings, mut codecs) = (Vec::<String>::new(), Vec::<String>::new());
    let (mut stored, mut raw, mut bloom) = (0i64, 0i64, false);
    for chunk in chunks {
        for encoding in chunk.encodings() {
            note(&mut encodings, &encoding.to_string().to_lowercase());
        }
        note(&mut codecs, codec(chunk.compression()));
        stored = stored.saturating_add(chunk.compressed_size());
        raw = raw.saturating_add(chunk.uncompressed_size());
        bloom |= chunk.bloom_filter_offset().is_some();
    }
    let prefix = if nested { format!("{} ", descr.path().string()) } else { String::new() };
    let mut lines = vec![(format!("{prefix}physical type"), physical(descr))];
    if let Some(logical) = logical(descr) {
        lines.push((format!("{prefix}logical type"), logical));
    }
    lines.push((format!("{prefix}encodings"), encodings.join(", ")));
    lines.push((format!("{prefix}codec"), codecs.join(", ")));
    let size = |n: i64| crate::bytes::display::bytes(n.max(0) as u64);
    lines.push((format!("{prefix}size"), format!("{} stored, {} raw", size(stored), size(raw))));
    if bloom {
        lines.push((format!("{prefix}Bloom filter"), "yes".to_owned()));
    }
    lines
}

fn note(list: &mut Vec<String>, word: &str) {
    if !list.iter().any(|w| w == word) {
        list.push(word.to_owned());
    }
}

fn physical(descr: &ColumnDescriptor) -> String {
    let name = descr.physical_type().to_string().to_lowercase();
    if descr.type_length() > 0 { format!("{name}[{}]", descr.type_length()) } else { name }
}

/// A logical type as the schemas of the field write it: `decimal(8, 2)`, `timestamp(us, UTC)`.
fn logical_words(logical: &LogicalType) -> String {
    use parquet::basic::TimeUnit;
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "ms",
        TimeUnit::MICROS => "us",
        TimeUnit::NANOS => "ns",
    };
    let zone = |utc: bool| if utc { "UTC" } else { "local" };
    match logical {
        LogicalType::Decimal(of) => format!("decimal({}, {})", of.precision, of.scale),
        LogicalType::Timestamp(of) => {
            format!("timestamp({}, {})", unit(&of.unit), zone(of.is_adjusted_to_u_t_c))
        }
        LogicalType::Time(of) => format!("time({}, {})", unit(&of.unit), zone(of.is_adjusted_to_u_t_c)),
        LogicalType::Integer(of) => format!("{}int{}", if of.is_signed { "" } else { "u" }, of.bit_width),
        other => {
            // What stands in brackets is the library's way to write it.
            let words = format!("{other:?}");
            words.split(['(', ' ', '{']).next().unwrap_or_default().to_lowercase()
        }
    }
}

fn logical(descr: &ColumnDescriptor) -> Option<String> {
    use parquet::basic::ConvertedType;
    if let Some(logical) = descr.logical_type_ref() {
        return Some(logical_words(logical));
    }
    match descr.converted_type() {
        ConvertedType::NONE => None,
        converted => Some(converted.to_string().to_lowercase()),
    }
}

/// A codec's name in the words of the field.
fn codec(compression: Compression) -> &'static str {
    match compression {
        Compression::UNCOMPRESSED => "none",
        Compression::SNAPPY => "snappy",
        Compression::GZIP(_) => "gzip",
        Compression::LZO => "lzo",
        Compression::BROTLI(_) => "brotli",
        Compression::LZ4 => "lz4",
        Compression::ZSTD(_) => "zstd",
        Compression::LZ4_RAW => "lz4_raw",
    }
}

/// The statistics of one flat column over all row groups; `None` where the file has none or the column is nested.
pub(super) fn statistics(metadata: &ParquetMetaData, field: &Field, root: usize) -> Option<ColumnStatistics> {
    let rows: Vec<Option<u64>> =
        metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok()).collect();
    let merged = row_groups(metadata, field, root)?.merged(&rows);
    merged.is_known().then_some(merged)
}

/// The statistics of one flat column in each row group.
fn row_groups(metadata: &ParquetMetaData, field: &Field, root: usize) -> Option<ColumnStatistics> {
    let descr = metadata.file_metadata().schema_descr();
    let mut leaves = (0..descr.num_columns()).filter(|&leaf| descr.get_column_root_idx(leaf) == root);
    let (leaf, None) = (leaves.next()?, leaves.next()) else { return None };
    if field.data_type().is_nested() {
        return None;
    }
    let groups = || metadata.row_groups().iter();
    let converter = StatisticsConverter::from_column_index(leaf, field, descr).ok()?;
    let converter = converter.with_missing_null_counts_as_zero(false);
    let (min, max) = (converter.row_group_mins(groups()).ok()?, converter.row_group_maxes(groups()).ok()?);
    let nulls = converter.row_group_null_counts(groups()).ok()?;
    let mut found = ColumnStatistics::new(min, max, nulls);
    let each = || groups().map(|g| g.columns().get(leaf).and_then(ColumnChunkMetaData::statistics));
    found.exact = each().flatten().all(|s| s.min_is_exact() && s.max_is_exact());
    found.distinct = match metadata.num_row_groups() {
        1 => each().flatten().find_map(|only| only.distinct_count_opt()),
        _ => None,
    };
    (found.min.len() == metadata.num_row_groups()).then_some(found)
}

/// The row groups.
pub(super) fn layout(metadata: &ParquetMetaData, starts: &[u64]) -> Layout {
    let blocks = metadata.row_groups().iter().zip(starts).map(|(group, &first)| Block {
        name: String::new(),
        first,
        count: group.num_rows().max(0) as u64,
        stored: group
            .columns()
            .iter()
            .map(|c| c.compressed_size().max(0) as u64)
            .fold(0, u64::saturating_add),
        raw: group.total_byte_size().max(0) as u64,
        missing: false,
    });
    Layout { unit: "row group", blocks: blocks.collect(), ..Layout::default() }
}

/// The statistics of a column in each row group, for whoever looks for some values only. Nothing is known of floats,
/// whose statistics leave NaN out.
pub(super) fn ranges(metadata: &ParquetMetaData, field: &Field, root: usize) -> ColumnStatistics {
    let plain = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let found = crate::bytes::guard::catch_decoder_panic("statistics", || {
        Ok(row_groups(metadata, field, root).filter(|_| !plain.is_floating()))
    });
    let unknown = || ColumnStatistics::unknown(field.data_type(), metadata.num_row_groups());
    found.ok().flatten().map_or_else(unknown, |found| found.read_as(field.data_type()))
}
