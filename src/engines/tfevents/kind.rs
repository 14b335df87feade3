//! The kinds of values: what the plugins of TensorBoard show, and the rows of their tables.

use super::event::{self, Blob, Data, Event, Metadata, Value};
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::data::curves::histograms::HistogramColumns;
use crate::data::curves::{CurveColumns, Presentation};
use crate::engines::tensorflow::tensor::Tensor;
use arrow::array::{ArrayBuilder, ArrayRef, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// A kind of values, in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Scalars,
    Histograms,
    Images,
    Audio,
    Text,
    Tensors,
    HParams,
}

use DataType::{Float64, Int64, Utf8};

/// A column: its name and type, and whether it may be null.
type Column = (&'static str, DataType, bool);

const SCALARS: &[Column] = &[
    ("tag", Utf8, false),
    ("step", Int64, false),
    ("wall_time", Float64, false),
    ("relative_time", Float64, false),
    ("value", Float64, true),
];
const HISTOGRAMS: &[Column] = &[
    ("step", Int64, false),
    ("wall_time", Float64, false),
    ("left", Float64, false),
    ("right", Float64, false),
    ("count", Float64, false),
];
const IMAGES: &[Column] = &[
    ("step", Int64, false),
    ("wall_time", Float64, false),
    ("width", Int64, true),
    ("height", Int64, true),
    ("bytes", Int64, false),
];
const AUDIO: &[Column] = &[
    ("step", Int64, false),
    ("wall_time", Float64, false),
    ("sample_rate", Float64, true),
    ("channels", Int64, true),
    ("frames", Int64, true),
    ("label", Utf8, true),
    ("bytes", Int64, false),
];
const TEXT: &[Column] =
    &[("step", Int64, false), ("wall_time", Float64, false), ("index", Int64, false), ("text", Utf8, false)];
const TENSORS: &[Column] = &[
    ("step", Int64, false),
    ("wall_time", Float64, false),
    ("dtype", Utf8, true),
    ("shape", Utf8, true),
    ("bytes", Int64, true),
];

impl Kind {
    /// How many kinds there are.
    pub(super) const COUNT: usize = 7;
    /// Those that are listed by tag.
    pub(super) const ALL: [Kind; 6] =
        [Kind::Scalars, Kind::Histograms, Kind::Images, Kind::Audio, Kind::Text, Kind::Tensors];

    /// The name of its node.
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Scalars => "scalars",
            Kind::Histograms => "histograms",
            Kind::Images => "images",
            Kind::Audio => "audio",
            Kind::Text => "text",
            Kind::Tensors => "tensors",
            Kind::HParams => "hparams",
        }
    }

    /// The kind that a plugin shows.
    pub(super) fn of_plugin(metadata: Option<&Metadata>) -> Kind {
        let Some(metadata) = metadata else { return Kind::Tensors };
        match metadata.plugin {
            b"scalars" => Kind::Scalars,
            b"histograms" => Kind::Histograms,
            b"images" => Kind::Images,
            b"audio" => Kind::Audio,
            b"text" => Kind::Text,
            b"hparams" => Kind::HParams,
            b"" if metadata.class == 1 => Kind::Scalars,
            _ => Kind::Tensors,
        }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            Kind::Scalars => SCALARS,
            Kind::Histograms => HISTOGRAMS,
            Kind::Images => IMAGES,
            Kind::Audio => AUDIO,
            Kind::Text => TEXT,
            Kind::Tensors | Kind::HParams => TENSORS,
        }
    }

    /// How many rows a value has.
    pub(super) fn rows(self, value: &Value) -> u64 {
        let tensor = |part| Tensor::parse(part).ok();
        let counted = match (self, value.data) {
            (Kind::Scalars | Kind::Tensors, _) => return 1,
            (Kind::Histograms, Data::Histogram(part)) => event::histogram(part).ok().map(|all| all.len()),
            (Kind::Histograms, Data::Tensor(part)) => {
                tensor(part).and_then(|tensor| event::histogram_tensor(&tensor).ok()).map(|all| all.len())
            }
            (Kind::Images | Kind::Audio, _) => Some(self.blobs(value).len()),
            (Kind::Text, Data::Tensor(part)) => tensor(part).map(|tensor| tensor.strings().len()),
            _ => None,
        };
        counted.unwrap_or(0) as u64
    }

    /// The pictures or recordings of a value.
    pub(super) fn blobs<'a>(self, value: &Value<'a>) -> Vec<Blob<'a>> {
        let tensor = |part| Tensor::parse(part).ok();
        match (self, value.data) {
            (Kind::Images, Data::Image(part)) => Blob::image(part).into_iter().collect(),
            (Kind::Audio, Data::Audio(part)) => Blob::audio(part).into_iter().collect(),
            (Kind::Images, Data::Tensor(part)) => tensor(part).map_or_else(Vec::new, |t| Blob::images(&t)),
            (Kind::Audio, Data::Tensor(part)) => tensor(part).map_or_else(Vec::new, |t| Blob::recordings(&t)),
            _ => Vec::new(),
        }
    }
}

/// The schema of these columns, behind that of the run where there are several.
fn schema(columns: &[Column], with_run: bool) -> SchemaRef {
    let run = with_run.then(|| Field::new("run", Utf8, false));
    let field = |(name, kind, nullable): &Column| Field::new(*name, kind.clone(), *nullable);
    Arc::new(Schema::new(run.into_iter().chain(columns.iter().map(field)).collect::<Vec<_>>()))
}

/// Cells of one column that are being gathered.
enum Cells {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

/// Rows that are being gathered.
pub(super) struct Gathered {
    cells: Vec<Cells>,
    /// The column that the next cell belongs to.
    next: usize,
    /// Bytes of the texts.
    texts: u64,
}

impl Gathered {
    fn new(schema: &Schema) -> Self {
        let cells = |field: &Arc<Field>| match field.data_type() {
            Int64 => Cells::Int(Int64Builder::new()),
            Float64 => Cells::Float(Float64Builder::new()),
            _ => Cells::Text(StringBuilder::new()),
        };
        Gathered { cells: schema.fields().iter().map(cells).collect(), next: 0, texts: 0 }
    }

    fn cell(&mut self) -> Option<&mut Cells> {
        let count = self.cells.len().max(1);
        let next = self.next;
        self.next = (next + 1) % count;
        self.cells.get_mut(next)
    }

    fn int(&mut self, value: Option<i64>) -> &mut Self {
        if let Some(Cells::Int(cells)) = self.cell() {
            cells.append_option(value);
        }
        self
    }

    fn float(&mut self, value: Option<f64>) -> &mut Self {
        if let Some(Cells::Float(cells)) = self.cell() {
            cells.append_option(value);
        }
        self
    }

    fn text(&mut self, value: Option<&str>) -> &mut Self {
        self.texts += value.map_or(0, str::len) as u64;
        if let Some(Cells::Text(cells)) = self.cell() {
            cells.append_option(value);
        }
        self
    }

    /// Whether it is not more than one read may give.
    pub(super) fn check(&self) -> Result<()> {
        limits::check(self.texts, limits::READ, "these rows").map(drop)
    }

    fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.text(Some(&String::from_utf8_lossy(value)))
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        match self.cells.first() {
            Some(Cells::Int(cells)) => cells.len(),
            Some(Cells::Float(cells)) => cells.len(),
            Some(Cells::Text(cells)) => cells.len(),
            None => 0,
        }
    }

    /// The columns.
    pub(super) fn finish(self) -> Vec<ArrayRef> {
        let finish = |cells| -> ArrayRef {
            match cells {
                Cells::Int(mut cells) => Arc::new(cells.finish()),
                Cells::Float(mut cells) => Arc::new(cells.finish()),
                Cells::Text(mut cells) => Arc::new(cells.finish()),
            }
        };
        self.cells.into_iter().map(finish).collect()
    }
}

/// Which rows a table has.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Which {
    /// The scalars of all tags.
    Scalars,
    /// The values of one tag.
    Tag(Kind, String),
    /// The records.
    Records,
}

const RECORDS: &[Column] = &[
    ("offset", Int64, false),
    ("bytes", Int64, false),
    ("wall_time", Float64, true),
    ("step", Int64, true),
    ("what", Utf8, true),
    ("values", Int64, true),
    ("tags", Utf8, true),
    ("message", Utf8, true),
];

impl Which {
    pub(super) fn schema(&self, with_run: bool) -> SchemaRef {
        schema(
            match self {
                Which::Scalars => SCALARS,
                Which::Tag(kind, _) => kind.columns(),
                Which::Records => RECORDS,
            },
            with_run,
        )
    }

    /// What the columns of the table are where it is more than rows.
    pub(super) fn presentation(&self, with_run: bool) -> Option<Presentation> {
        let behind = usize::from(with_run);
        // As `SCALARS` and `HISTOGRAMS` have them.
        match self {
            Which::Scalars | Which::Tag(Kind::Scalars, _) => Some(Presentation::Curves(CurveColumns::Rows {
                run: with_run.then_some(0),
                tag: Some(behind),
                step: behind + 1,
                wall_time: Some(behind + 2),
                relative_time: Some(behind + 3),
                value: behind + 4,
            })),
            Which::Tag(Kind::Histograms, _) => {
                let (left, right, count) = (behind + 2, behind + 3, behind + 4);
                Some(Presentation::Histograms(HistogramColumns { step: behind, left, right, count }))
            }
            _ => None,
        }
    }

    pub(super) fn gathered(schema: &Schema) -> Gathered {
        Gathered::new(schema)
    }

    /// Whether a value of this kind and tag has rows in the table.
    pub(super) fn has(&self, kind: Kind, tag: &[u8]) -> bool {
        match self {
            Which::Scalars => kind == Kind::Scalars,
            Which::Tag(of, name) => {
                kind == *of && (name.as_bytes() == tag || *name == String::from_utf8_lossy(tag))
            }
            Which::Records => false,
        }
    }
}

/// Where rows come from: the name of the run, if there are several, and when it began.
pub(super) struct Origin<'a> {
    pub(super) run: Option<&'a str>,
    pub(super) start: f64,
}

impl Origin<'_> {
    fn begin<'g>(&self, rows: &'g mut Gathered) -> &'g mut Gathered {
        match self.run {
            Some(run) => rows.text(Some(run)),
            None => rows,
        }
    }

    /// The row of a record.
    pub(super) fn record(&self, span: std::ops::Range<u64>, event: Option<&Event>, rows: &mut Gathered) {
        let values: Option<Vec<Value>> = event.map(|event| event.values().map_while(Result::ok).collect());
        let mut tags: Vec<_> = values.iter().flatten().map(|v| String::from_utf8_lossy(v.tag)).collect();
        tags.truncate(10);
        let count = values.as_ref().map(|values| values.len() as i64);
        let tags = (!tags.is_empty()).then(|| tags.join(", "));
        self.begin(rows)
            .int(Some(span.start as i64))
            .int(Some((span.end - span.start) as i64))
            .float(event.map(|event| event.wall_time))
            .int(event.map(|event| event.step))
            .text(event.map(|event| event.what.word()))
            .int(count)
            .text(tags.as_deref())
            .text(event.and_then(|event| event.what.message()).as_deref());
    }

    /// The rows `wanted` of those that a value has.
    pub(super) fn value(
        &self,
        kind: Kind,
        event: &Event,
        value: &Value,
        wanted: std::ops::Range<u64>,
        rows: &mut Gathered,
    ) -> Result<()> {
        let (skip, take) = (wanted.start as usize, (wanted.end - wanted.start) as usize);
        let time = event.wall_time;
        match kind {
            Kind::Scalars => {
                self.begin(rows).bytes(value.tag).int(Some(event.step)).float(Some(time));
                rows.float(Some(time - self.start)).float(scalar(value));
            }
            Kind::Histograms => {
                let buckets = match value.data {
                    Data::Histogram(part) => event::histogram(part)?,
                    Data::Tensor(part) => event::histogram_tensor(&Tensor::parse(part)?)?,
                    _ => Vec::new(),
                };
                for [left, right, count] in buckets.into_iter().skip(skip).take(take) {
                    self.begin(rows).int(Some(event.step)).float(Some(time));
                    rows.float(Some(left)).float(Some(right)).float(Some(count));
                }
            }
            Kind::Images | Kind::Audio => {
                for blob in kind.blobs(value).into_iter().skip(skip).take(take) {
                    let bytes = Some(blob.bytes.bytes().len() as i64);
                    self.begin(rows).int(Some(event.step)).float(Some(time));
                    if kind == Kind::Audio {
                        rows.float(blob.rate);
                    }
                    rows.int(blob.sides[0]).int(blob.sides[1]);
                    if kind == Kind::Audio {
                        rows.text(Some(&*String::from_utf8_lossy(blob.word)).filter(|word| !word.is_empty()));
                    }
                    rows.int(bytes);
                }
            }
            Kind::Text => {
                let Data::Tensor(part) = value.data else { return Ok(()) };
                let tensor = Tensor::parse(part)?;
                for (index, text) in tensor.strings().iter().enumerate().skip(skip).take(take) {
                    self.begin(rows).int(Some(event.step)).float(Some(time));
                    rows.int(Some(index as i64)).bytes(text.bytes());
                }
            }
            Kind::Tensors | Kind::HParams => {
                let tensor = match value.data {
                    Data::Tensor(part) => Tensor::parse(part).ok(),
                    _ => None,
                };
                let shape = tensor.as_ref().map(|tensor| crate::bytes::display::shape(&tensor.shape));
                self.begin(rows).int(Some(event.step)).float(Some(time));
                rows.text(tensor.as_ref().map(Tensor::type_word).as_deref());
                rows.text(shape.as_deref()).int(tensor.map(|tensor| tensor.stored() as i64));
            }
        }
        Ok(())
    }
}

/// The number of a scalar; `None` where its tensor holds none.
fn scalar(value: &Value) -> Option<f64> {
    match value.data {
        Data::Simple(value) => Some(f64::from(value)),
        Data::Tensor(part) => Tensor::parse(part).ok()?.first(),
        _ => None,
    }
}
