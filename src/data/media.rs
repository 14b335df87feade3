//! Pictures, sounds and arrays in the cells of tables: which columns hold them, what else of a row says something about
//! them — its class, a caption, boxes, key points, masks — and a cell as the file that it is.
//!
//! A column holds media if most of its first values do, told by their content as any file is told. What the library
//! `datasets` writes into the schema of Parquet and Arrow files is believed before that
//! (<https://huggingface.co/docs/datasets/about_dataset_features>).
//!
//! - [`features`]: what `datasets` says of columns; [`regions`]: boxes and key points of a row, as numbers in cells;
//! - [`shapes`]: polygons and masks of runs, painted as a layer of colours;
//! - [`payload`]: a cell as bytes, as an array or as the file that its text names; [`mod@thumbnail`]: that as a small picture;
//!   [`store`]: small pictures that are kept on disk.

pub mod features;
pub mod payload;
pub mod regions;
pub mod shapes;
pub mod store;
#[cfg(test)]
mod tests;
pub mod thumbnail;

pub use payload::{Payload, Place};
pub use regions::{BoxFormat, Boxes, KeyPoints};
pub use store::ThumbnailStore;
pub use thumbnail::{Picture, Preview, thumbnail};

use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::read_each;
use crate::data::content::{Kind, Table};
use crate::data::format::Formats;
use crate::data::node::Value;
use crate::data::sniff::{self, Head};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, SchemaRef};
use features::Feature;
use std::ops::Range;
use std::sync::Arc;

/// Columns that are looked at, from the first on.
const COLUMNS: usize = 256;
/// Rows whose values are looked at.
const ROWS: u64 = 8;
/// Rows that are read at once have about so many bytes at most, told by the first one.
const BYTES: usize = 16 << 20;
/// Rows that are looked at where the first ones hold nothing.
const SPREAD: u64 = 32;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// Encoded pictures.
    Image,
    /// Recordings.
    Sound,
    /// Arrays: NPY files, lists of lists of numbers.
    Array,
    /// JSON documents.
    Json,
    /// Pickled Python objects.
    Pickle,
}

impl MediaKind {
    /// Whether values are seen at a glance.
    pub fn is_seen(self) -> bool {
        matches!(self, MediaKind::Image | MediaKind::Sound | MediaKind::Array)
    }

    /// The word on screen.
    pub fn word(self) -> &'static str {
        match self {
            MediaKind::Image => "images",
            MediaKind::Sound => "sounds",
            MediaKind::Array => "arrays",
            MediaKind::Json => "JSON",
            MediaKind::Pickle => "pickles",
        }
    }
}

/// How a cell holds its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Its bytes are the file.
    Bytes,
    /// A struct with the bytes of the file, its path, or both: the places of these fields.
    Struct {
        /// The field with the bytes.
        bytes: Option<usize>,
        /// The field with the path.
        path: Option<usize>,
    },
    /// Its text names a file in the folder of the table's own file, or below.
    Path,
    /// Its numbers are the elements of an array.
    Elements,
}

/// A column of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaColumn {
    /// Its index.
    pub column: usize,
    /// What its values are.
    pub kind: MediaKind,
    /// How they are held.
    pub held: Held,
}

/// A column that says what is on a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelColumn {
    /// Its index.
    pub column: usize,
    /// What the numbers mean, from 0 on; empty where the values stand for themselves.
    pub names: Arc<[String]>,
}

impl LabelColumn {
    /// The label of a cell; `None` for null. A number without a name is itself, and so is −1, by which `datasets` says
    /// that there is no label.
    pub fn text(&self, array: &dyn Array, row: usize) -> Option<String> {
        let text = crate::data::cell::shown(array, row)?;
        let name = text.parse().ok().and_then(|n: usize| self.names.get(n));
        Some(name.cloned().unwrap_or(text))
    }
}

/// What a table has of media.
#[derive(Clone, Debug, Default)]
pub struct Media {
    /// The columns, those that are seen at a glance first.
    pub columns: Vec<MediaColumn>,
    /// The columns that may say what is on a picture, the likeliest first.
    pub labels: Vec<LabelColumn>,
    /// Columns of texts that are no paths.
    pub captions: Vec<usize>,
    /// Where boxes are.
    pub boxes: Option<Boxes>,
    /// Where key points are.
    pub key_points: Option<KeyPoints>,
    /// The column of masks, by its place in `columns`: pictures to be laid over those of another column.
    pub mask: Option<usize>,
}

impl Media {
    /// The columns that can be looked at as pictures.
    pub fn seen(&self) -> impl Iterator<Item = &MediaColumn> {
        self.columns.iter().filter(|column| column.kind.is_seen())
    }

    /// The column of this index.
    pub fn column(&self, index: usize) -> Option<&MediaColumn> {
        self.columns.iter().find(|column| column.column == index)
    }
}

/// Whether a table of this schema may have media at all; says so without a look at values. Texts may name files only where
/// the table lies in a folder.
pub fn may_hold(table: &dyn Table, in_folder: bool) -> bool {
    let holds = |held: Held| held != Held::Path || in_folder;
    table.schema().fields().iter().take(COLUMNS).any(|field| held(field, None).is_some_and(holds))
}

/// How the values of a column would hold media, by its type; `None` where they cannot.
pub fn held(field: &Field, feature: Option<&Feature>) -> Option<Held> {
    match field.data_type() {
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Utf8 | DataType::LargeUtf8 => Some(Held::Path),
            _ => None,
        },
        kind if is_binary(kind) => Some(Held::Bytes),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Held::Path),
        DataType::Struct(fields) => {
            let bytes =
                fields.iter().position(|field| is_binary(field.data_type()) && field.name() == "bytes");
            let bytes = bytes.or_else(|| fields.iter().position(|field| is_binary(field.data_type())));
            let path = fields.iter().position(|field| {
                let text =
                    matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
                text && matches!(field.name().as_str(), "path" | "filename" | "file_name" | "uri" | "url")
            });
            (bytes.is_some() || path.is_some()).then_some(Held::Struct { bytes, path })
        }
        kind => {
            let (depth, numbers) = payload::nesting(kind);
            let stated = matches!(feature, Some(Feature::Array(_))) || is_tensor(field);
            (numbers && (depth > 1 || stated && depth > 0)).then_some(Held::Elements)
        }
    }
}

fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

/// Whether a column is declared as one of tensors of one shape
/// (<https://arrow.apache.org/docs/format/CanonicalExtensions.html#fixed-shape-tensor>).
fn is_tensor(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.fixed_shape_tensor")
}

/// Finds what a table has of media. `attributes` are those of its node, `place` is where the files lie that its texts may
/// name. Reads a few rows of the columns that may hold such values.
///
/// # Errors
/// `Cancelled`; what keeps the table from being read at all. A column that cannot be read holds nothing.
pub fn find(
    task: &Task,
    formats: Formats,
    table: &dyn Table,
    attributes: &[(String, Value)],
    place: &Place,
) -> Result<Media> {
    let said = features::of(table.schema(), attributes);
    let fields = table.schema().fields();
    let feature = |n: usize| fields.get(n).and_then(|field| features::named(&said, field.name()));
    let candidates: Vec<(usize, Held)> =
        (0..fields.len().min(COLUMNS)).filter_map(|n| Some((n, held(fields.get(n)?, feature(n))?))).collect();
    let mut media = Media::default();
    let columns: Vec<usize> = (0..fields.len().min(COLUMNS)).collect();
    let boxes = regions::Candidates::of(fields);
    let mut wanted: Vec<usize> = candidates.iter().map(|(column, _)| *column).collect();
    wanted.extend(boxes.columns().filter(|column| !candidates.iter().any(|(known, _)| known == column)));
    let sample = Sample::read(task, table, &wanted)?;
    let mut sizes = Vec::new();
    for (column, held) in candidates {
        task.check()?;
        if boxes.columns().any(|other| other == column) && held == Held::Elements {
            continue;
        }
        let Some(array) = sample.column(column) else { continue };
        let one = MediaColumn { column, kind: MediaKind::Array, held };
        let (kind, seen) = kind(task, formats, &one, array, feature(column), place)?;
        if sizes.is_empty() {
            sizes = seen;
        }
        match kind {
            Some(kind) => media.columns.push(MediaColumn { kind, ..one }),
            None if one.held == Held::Path => media.captions.push(column),
            None => {}
        }
    }
    media.columns.sort_by_key(|column| !column.kind.is_seen());
    media.mask = mask(&media.columns, fields.iter().map(|field| field.name().as_str()).collect());
    let free = |column: &usize| media.column(*column).is_none();
    media.labels = labels(fields, &feature, columns.into_iter().filter(free));
    (media.boxes, media.key_points) = boxes.settle(&said, |column| sample.column(column), &sizes);
    Ok(media)
}

/// The first rows of some columns, and where these hold nothing, of rows further on.
struct Sample {
    columns: Vec<(usize, ArrayRef)>,
}

impl Sample {
    fn read(task: &Task, table: &dyn Table, wanted: &[usize]) -> Result<Sample> {
        let first = table.read(task, 0..1, wanted).unless_cancelled()?;
        let bytes = first.map_or(BYTES, |batch| {
            let size = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(BYTES);
            batch.columns().iter().map(size).sum()
        });
        let rows = (BYTES / bytes.max(1)).clamp(1, ROWS as usize) as u64;
        let mut columns = Vec::new();
        let one = read_each(table, task, 0..rows, wanted)?;
        for (&column, array) in wanted.iter().zip(one) {
            let Ok(array) = array else { continue };
            let array = match array.null_count() == array.len() && rows == ROWS {
                true => Sample::further(task, table, column)?.unwrap_or(array),
                false => array,
            };
            columns.push((column, array));
        }
        Ok(Sample { columns })
    }

    /// Values of a column whose first ones are null.
    fn further(task: &Task, table: &dyn Table, column: usize) -> Result<Option<ArrayRef>> {
        let ranges: Vec<Range<u64>> = table.sample(task, SPREAD)?;
        for range in ranges.into_iter().take(SPREAD as usize) {
            let Ok(batch) = table.read(task, range, &[column]).unless_cancelled()? else { return Ok(None) };
            if let Some(array) = batch.columns().first().filter(|array| array.null_count() < array.len()) {
                return Ok(Some(array.clone()));
            }
        }
        Ok(None)
    }

    fn column(&self, column: usize) -> Option<&ArrayRef> {
        self.columns.iter().find(|(known, _)| *known == column).map(|(_, array)| array)
    }
}

/// Width and height of the picture in a row of the sample.
pub(crate) type Sizes = Vec<Option<(u64, u64)>>;

/// What most values of a column are, and the sizes of those that are pictures.
fn kind(
    task: &Task,
    formats: Formats,
    column: &MediaColumn,
    array: &ArrayRef,
    feature: Option<&Feature>,
    place: &Place,
) -> Result<(Option<MediaKind>, Sizes)> {
    let stated = match feature {
        Some(Feature::Image) => Some(MediaKind::Image),
        Some(Feature::Audio) => Some(MediaKind::Sound),
        Some(Feature::Array(_)) => Some(MediaKind::Array),
        _ => None,
    };
    let (mut kinds, mut sizes, mut there) = (Vec::new(), Sizes::new(), 0);
    for row in 0..array.len() {
        task.check()?;
        let payload = payload::payload(task, column, array.as_ref(), row, place).unless_cancelled()?;
        let there_is = !array.is_null(row);
        there += usize::from(there_is);
        let found = match payload {
            Ok(Some(Payload::File(source))) => Some(told(task, formats, &source)?),
            Ok(Some(Payload::Array(array))) if is_seen_as_array(array.shape(), stated.is_some()) => {
                Some((Some(MediaKind::Array), None))
            }
            _ => None,
        };
        sizes.push(found.and_then(|(_, size)| size));
        kinds.extend(found.and_then(|(kind, _)| kind));
        // A text that names no file is mostly no path in the next rows either.
        if column.held == Held::Path && kinds.is_empty() && there > 2 {
            break;
        }
    }
    if stated.is_some() {
        return Ok((stated, sizes));
    }
    let count = |kind: MediaKind| kinds.iter().filter(|other| **other == kind).count();
    let most = kinds.iter().copied().max_by_key(|kind| count(*kind));
    Ok((most.filter(|kind| count(*kind) * 2 > there), sizes))
}

/// Whether a list of lists is worth a picture, where nobody says that it is an array.
fn is_seen_as_array(shape: &[u64], stated: bool) -> bool {
    stated || shape.len() > 1 && shape.iter().rev().take(2).all(|side| *side > 4)
}

/// What a file is by its content, and the size of a picture.
fn told(task: &Task, formats: Formats, source: &Source) -> Result<(Option<MediaKind>, Option<(u64, u64)>)> {
    if source.known_len() == Some(0) {
        return Ok((None, None));
    }
    let Ok(head) = Head::read(task, source, formats).unless_cancelled()? else { return Ok((None, None)) };
    if sound(&head.first).is_some() {
        return Ok((Some(MediaKind::Sound), None));
    }
    let Some(verdict) = sniff::detect(&head, formats, &[]) else { return Ok((None, None)) };
    let format = verdict.format;
    let reads = |kind: Kind| format.reads.contains(&kind);
    if reads(Kind::Image) {
        let size = thumbnail::size(task, formats, source)?;
        return Ok((Some(MediaKind::Image), size));
    }
    let kind = match format.id {
        _ if format.takes_any => None,
        "pickle" | "joblib" => Some(MediaKind::Pickle),
        "json" => Some(MediaKind::Json),
        _ if reads(Kind::Array) && !format.magic.is_empty() => Some(MediaKind::Array),
        _ => None,
    };
    Ok((kind, None))
}

/// What kind of recording begins like this.
pub fn sound(first: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| first.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    Some(match first {
        _ if (at(0, b"RIFF") || at(0, b"RF64")) && at(8, b"WAVE") => "WAV",
        _ if at(0, b"fLaC") => "FLAC",
        _ if at(0, b"OggS") => "Ogg",
        _ if at(0, b"ID3") => "MP3",
        _ if at(0, b"FORM") && at(8, b"AIF") => "AIFF",
        _ if at(0, b".snd") => "AU",
        _ if at(4, b"ftypM4A") => "M4A",
        // A frame of MPEG audio: 11 ones, a version and a layer, a bit rate and a sampling rate that there are.
        [0xff, b, c, ..]
            if b & 0xe6 == 0xe2 && b & 0x18 != 0x08 && c >> 4 != 15 && c >> 4 != 0 && c & 12 != 12 =>
        {
            "MP3"
        }
        _ => return None,
    })
}

/// The parts of a name: `image/class/label` has three.
fn parts(name: &str) -> Vec<String> {
    name.to_lowercase().split(['/', '.', ' ', '-']).map(str::to_owned).collect()
}

/// The column of masks among several of pictures.
fn mask(columns: &[MediaColumn], names: Vec<&str>) -> Option<usize> {
    const WORDS: [&str; 6] = ["mask", "segmentation", "annotation", "seg", "semantic", "segment"];
    let pictures = || columns.iter().enumerate().filter(|(_, column)| column.kind == MediaKind::Image);
    if pictures().count() < 2 {
        return None;
    }
    let is_mask = |column: &MediaColumn| {
        names.get(column.column).is_some_and(|name| {
            let parts = parts(name);
            parts.iter().any(|part| part.split('_').any(|word| WORDS.contains(&word)))
        })
    };
    pictures().find(|(_, column)| is_mask(column)).map(|(at, _)| at)
}

/// The columns that may say what is on a picture, the likeliest first, as far as a schema and the attributes of the
/// table's node tell it.
pub fn labels_of(schema: &SchemaRef, attributes: &[(String, Value)]) -> Vec<LabelColumn> {
    let said = features::of(schema, attributes);
    let fields = schema.fields();
    let feature = |n: usize| fields.get(n).and_then(|field| features::named(&said, field.name()));
    labels(fields, &feature, 0..fields.len().min(COLUMNS))
}

/// The columns that may say what is on a picture, the likeliest first.
fn labels<'a>(
    fields: &arrow::datatypes::Fields,
    feature: &impl Fn(usize) -> Option<&'a Feature>,
    columns: impl Iterator<Item = usize>,
) -> Vec<LabelColumn> {
    const WORDS: [&str; 11] = [
        "label",
        "class",
        "category",
        "target",
        "y",
        "cls",
        "labels",
        "fine_label",
        "text",
        "class_name",
        "digit",
    ];
    let mut found: Vec<(u32, LabelColumn)> = Vec::new();
    for column in columns {
        let Some(field) = fields.get(column) else { continue };
        if let Some(Feature::ClassLabel(names)) = feature(column) {
            found.push((0, LabelColumn { column, names: names.clone() }));
            continue;
        }
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            kind => kind,
        };
        let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        if !is_text && !kind.is_integer() && *kind != DataType::Boolean {
            continue;
        }
        if let Some(names) = features::classes_of(field) {
            // Texts stand for themselves.
            let names = if is_text { Arc::default() } else { names };
            found.push((1, LabelColumn { column, names }));
            continue;
        }
        let parts = parts(field.name());
        let Some(last) = parts.last() else { continue };
        let place = WORDS.iter().position(|word| word == last);
        let within = parts.iter().any(|part| ["label", "class", "category"].contains(&part.as_str()));
        let ends = ["_label", "_class", "_category", "_id"].iter().any(|end| last.ends_with(end))
            && ["label", "class", "category"].iter().any(|word| last.contains(word));
        // A column `text` alone is a caption; in `class/text` it is the name of the class.
        let rank = match place {
            Some(_) if last == "text" && !within => continue,
            Some(at) => 10 + at as u32 - if is_text && within { 9 } else { 0 },
            None if ends || within => 40,
            None => continue,
        };
        found.push((rank, LabelColumn { column, names: Arc::default() }));
    }
    found.sort_by_key(|(rank, label)| (*rank, label.column));
    found.into_iter().map(|(_, label)| label).collect()
}
