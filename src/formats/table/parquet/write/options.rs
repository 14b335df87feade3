//! The options of the writer, and what they make of its properties.

use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options};
use crate::engines::parquet_write::leaves;
use arrow::datatypes::{DataType, Schema};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type as Physical, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};

pub(super) const COMPRESSION: OptionSpec = OptionSpec::new("compression", "How pages are compressed")
    .one_of("zstd", &["zstd", "snappy", "lz4", "gzip", "brotli", "none"]);
pub(super) const LEVEL: OptionSpec =
    OptionSpec::new("level", "The compression level: zstd 1 to 22, gzip 0 to 9, brotli 0 to 11");
pub(super) const ROW_GROUP: OptionSpec =
    OptionSpec::new("row_group_rows", "The most rows of a row group").default("1048576");
pub(super) const ROW_GROUP_BYTES: OptionSpec =
    OptionSpec::new("row_group_bytes", "The bytes of a row group, encoded, after which a new one begins")
        .default("134217728");
pub(super) const PAGE_BYTES: OptionSpec =
    OptionSpec::new("page_bytes", "The bytes of a data page, encoded, after which a new one begins")
        .default("1048576");
pub(super) const PAGE_ROWS: OptionSpec =
    OptionSpec::new("page_rows", "The most rows of a data page").default("20000");
pub(super) const DICTIONARY: OptionSpec =
    OptionSpec::new("dictionary", "Whether repeated values are stored once").one_of("yes", &["yes", "no"]);
pub(super) const ENCODING: OptionSpec = OptionSpec::new(
    "encoding",
    "How values are stored that no dictionary has: plain, as differences, floats by the places of their bytes; \
     the last two take columns out of dictionaries",
)
.one_of("auto", &["auto", "plain", "delta", "byte_stream_split"]);
pub(super) const VERSION: OptionSpec = OptionSpec::new(
    "version",
    "1.0: data pages that every reader knows; 2.6: data pages of version 2, and differences where there is no dictionary",
)
.one_of("1.0", &["1.0", "2.6"]);
pub(super) const STATISTICS: OptionSpec = OptionSpec::new(
    "statistics",
    "Smallest and largest values and nulls: of pages (in the page index), of column chunks only, none",
)
.one_of("page", &["page", "chunk", "none"]);
pub(super) const BLOOM: OptionSpec =
    OptionSpec::new("bloom_filter", "Columns that get a Bloom filter, by name with commas between, or all");
pub(super) const BLOOM_FPP: OptionSpec = OptionSpec::new(
    "bloom_filter_fpp",
    "The share of values not in a row group that its Bloom filter lets pass",
)
.default("0.01");
pub(super) const BLOOM_NDV: OptionSpec = OptionSpec::new(
    "bloom_filter_ndv",
    "The most different values of a row group that a Bloom filter is made for; without it as many as rows",
);
pub(super) const SORTED: OptionSpec = OptionSpec::new(
    "sorted_by",
    "Columns that the rows are sorted by, which readers are told and which is checked: a, b desc, c nulls first; \
     nulls stand last where nothing is said",
);
pub(super) const PARTITION: OptionSpec = OptionSpec::new(
    "partition_by",
    "Columns whose values name folders (key=value), by name with commas between: a folder of files is written",
);
pub(super) const SPLIT_ROWS: OptionSpec = OptionSpec::new(
    "split_rows",
    "The most rows of a file: a folder of files part-00000.parquet … is written",
);
pub(super) const SPLIT_BYTES: OptionSpec = OptionSpec::new(
    "split_bytes",
    "The bytes of a file after which a new one begins, about: a folder of files part-00000.parquet … is written",
);

/// The number that an option is set to, where it is set.
pub(super) fn number_if_set(options: &Options, spec: &OptionSpec) -> Result<Option<u64>> {
    match options.get(spec.name).unwrap_or_default() {
        "" => Ok(None),
        _ => options.number(spec, "it is no number above 0", |&n: &u64| n > 0).map(Some),
    }
}

/// The names in a list with commas between; names that have commas themselves are found too.
pub(super) fn names<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
    if known.contains(&text) {
        return vec![text];
    }
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// The place of a column, or a sentence with those that there are.
pub(super) fn column(schema: &Schema, option: &str, name: &str) -> Result<usize> {
    schema.fields().iter().position(|field| field.name() == name).ok_or_else(|| {
        let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).take(20).collect();
        Error::unsupported(format!(
            "{option}={name}: there is no such column; there are {}",
            known.join(", ")
        ))
    })
}

fn compression(options: &Options) -> Result<Compression> {
    let level = options.get(LEVEL.name).unwrap_or_default();
    let number = |default: i32| match level {
        "" => Ok(default),
        _ => options.number(&LEVEL, "it is no number", |_: &i32| true),
    };
    let wrong = |e: parquet::errors::ParquetError| Error::unsupported(format!("level={level}: {e}"));
    let unsigned = |n: i32| u32::try_from(n).map_err(|_| Error::unsupported(format!("level={n}: below 0")));
    Ok(match options.choice(&COMPRESSION)? {
        "zstd" => Compression::ZSTD(ZstdLevel::try_new(number(3)?).map_err(wrong)?),
        "gzip" => Compression::GZIP(GzipLevel::try_new(unsigned(number(6)?)?).map_err(wrong)?),
        "brotli" => Compression::BROTLI(BrotliLevel::try_new(unsigned(number(5)?)?).map_err(wrong)?),
        "snappy" => Compression::SNAPPY,
        "lz4" => Compression::LZ4_RAW,
        _ => Compression::UNCOMPRESSED,
    })
}

/// The properties of a file of these columns.
pub(super) fn properties(
    pairs: Vec<KeyValue>,
    schema: &Schema,
    sorting: Option<Vec<SortingColumn>>,
    options: &Options,
) -> Result<WriterProperties> {
    let version = match options.choice(&VERSION)? {
        "2.6" => WriterVersion::PARQUET_2_0,
        _ => WriterVersion::PARQUET_1_0,
    };
    let statistics = match options.choice(&STATISTICS)? {
        "none" => EnabledStatistics::None,
        "chunk" => EnabledStatistics::Chunk,
        _ => EnabledStatistics::Page,
    };
    let above = |spec: &OptionSpec| options.number(spec, "it is no number above 0", |&n: &usize| n > 0);
    let builder = WriterProperties::builder()
        .set_compression(compression(options)?)
        .set_dictionary_enabled(options.choice(&DICTIONARY)? == "yes")
        .set_writer_version(version)
        .set_statistics_enabled(statistics)
        .set_data_page_size_limit(above(&PAGE_BYTES)?)
        .set_data_page_row_count_limit(above(&PAGE_ROWS)?)
        .set_sorting_columns(sorting)
        .set_created_by(format!("gander {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(pairs).filter(|pairs| !pairs.is_empty()));
    let builder = encodings(builder, schema, options)?;
    Ok(bloom_filters(builder, schema, options)?.build())
}

/// The encodings that are asked for, for those columns that they are for.
fn encodings(
    mut builder: WriterPropertiesBuilder,
    schema: &Schema,
    options: &Options,
) -> Result<WriterPropertiesBuilder> {
    let asked = options.choice(&ENCODING)?;
    if asked == "auto" && !schema.fields().iter().any(|field| has_dictionary(field.data_type())) {
        return Ok(builder);
    }
    let leaves = ArrowSchemaConverter::new().convert(schema)?;
    for (n, leaf) in leaves.columns().iter().enumerate() {
        let root = schema.fields().get(leaves.get_column_root_idx(n));
        // PyArrow makes dictionaries of these again, which it does of plain values only.
        if root.is_some_and(|field| has_dictionary(field.data_type())) {
            builder = builder.set_column_encoding(leaf.path().clone(), Encoding::PLAIN);
            continue;
        }
        // Properties go by names: two columns of one name, whose types may differ, have none of their own.
        if leaves.columns().iter().filter(|other| other.path() == leaf.path()).count() > 1 {
            continue;
        }
        let encoding = match (asked, leaf.physical_type()) {
            ("delta", Physical::INT32 | Physical::INT64) => Encoding::DELTA_BINARY_PACKED,
            ("delta", Physical::BYTE_ARRAY) => Encoding::DELTA_BYTE_ARRAY,
            ("byte_stream_split", Physical::FLOAT | Physical::DOUBLE) => Encoding::BYTE_STREAM_SPLIT,
            ("plain", _) => Encoding::PLAIN,
            _ => continue,
        };
        builder = builder.set_column_encoding(leaf.path().clone(), encoding);
        if asked != "plain" {
            builder = builder.set_column_dictionary_enabled(leaf.path().clone(), false);
        }
    }
    Ok(builder)
}

/// Whether a type has dictionaries in it.
fn has_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, _) => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_dictionary(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}

fn bloom_filters(
    mut builder: WriterPropertiesBuilder,
    schema: &Schema,
    options: &Options,
) -> Result<WriterPropertiesBuilder> {
    let asked = options.get(BLOOM.name).unwrap_or_default();
    if asked.is_empty() {
        return Ok(builder);
    }
    let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let all = asked == "all" && !known.contains(&"all");
    let wanted = names(asked, &known);
    if !all {
        wanted.iter().try_for_each(|name| column(schema, BLOOM.name, name).map(drop))?;
    }
    let fpp = options.number(&BLOOM_FPP, "it is no number between 0 and 1", |&p: &f64| p > 0.0 && p < 1.0)?;
    let rows = options.number(&ROW_GROUP, "it is no number above 0", |&n: &u64| n > 0)?;
    let ndv = number_if_set(options, &BLOOM_NDV)?.unwrap_or(rows);
    let leaves = ArrowSchemaConverter::new().convert(schema)?;
    for leaf in leaves.columns() {
        let root = leaf.path().parts().first().map_or("", String::as_str);
        // Of two values no filter is made.
        if leaf.physical_type() != Physical::BOOLEAN && (all || wanted.contains(&root)) {
            builder = builder
                .set_column_bloom_filter_enabled(leaf.path().clone(), true)
                .set_column_bloom_filter_fpp(leaf.path().clone(), fpp)
                .set_column_bloom_filter_max_ndv(leaf.path().clone(), ndv);
        }
    }
    Ok(builder)
}

/// One column that rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SortKey {
    /// Its place.
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// The columns that the rows are said to be sorted by.
pub(super) fn sort_keys(schema: &Schema, options: &Options) -> Result<Vec<SortKey>> {
    let asked = options.get(SORTED.name).unwrap_or_default();
    let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let key = |text: &str| {
        let (mut name, mut descending, mut nulls_first) = (text, false, false);
        if !known.contains(&name) {
            let lower = |name: &str| name.to_lowercase();
            for (word, first) in [(" nulls first", true), (" nulls last", false)] {
                if lower(name).ends_with(word) {
                    nulls_first = first;
                    name = name.get(..name.len() - word.len()).unwrap_or_default().trim();
                }
            }
            for (word, down) in [(" desc", true), (" asc", false)] {
                if lower(name).ends_with(word) {
                    descending = down;
                    name = name.get(..name.len() - word.len()).unwrap_or_default().trim();
                }
            }
            if let Some(rest) = name.strip_prefix('-').filter(|_| !known.contains(&name)) {
                (name, descending) = (rest, true);
            }
        }
        let column = column(schema, SORTED.name, name)?;
        let data_type = schema.field(column).data_type();
        if data_type.is_nested() && !matches!(data_type, DataType::Dictionary(_, _)) {
            return Err(Error::unsupported(format!("{}={name}: what is nested has no order", SORTED.name)));
        }
        Ok(SortKey { column, descending, nulls_first })
    };
    names(asked, &known).into_iter().map(key).collect()
}

/// The same as Parquet's metadata say it: by the numbers of its columns.
pub(super) fn sorting(schema: &Schema, keys: &[SortKey]) -> Option<Vec<SortingColumn>> {
    let leaf = |column: usize| -> usize {
        schema.fields().iter().take(column).map(|field| leaves(field.data_type())).sum()
    };
    let one = |key: &SortKey| SortingColumn {
        column_idx: leaf(key.column) as i32,
        descending: key.descending,
        nulls_first: key.nulls_first,
    };
    (!keys.is_empty()).then(|| keys.iter().map(one).collect())
}
