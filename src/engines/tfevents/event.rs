//! The messages of an event file: `Event`, `Summary.Value` and what values are made of.
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto>,
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/summary.proto>

use crate::bytes::error::Result;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use crate::engines::tensorflow::tensor::Tensor;

/// One record of an event file.
pub(super) struct Event<'a> {
    /// Seconds since 1970.
    pub(super) wall_time: f64,
    pub(super) step: i64,
    pub(super) what: What<'a>,
}

/// What an event tells; the last field holds where several are set.
#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    Nothing,
    FileVersion(Part<'a>),
    Graph(Part<'a>),
    Summary(Part<'a>),
    LogMessage(Part<'a>),
    SessionLog(Part<'a>),
    RunMetadata(Part<'a>),
    MetaGraph(Part<'a>),
}

impl<'a> Event<'a> {
    /// Reads the outer fields of an event.
    pub(super) fn parse(record: Part<'a>) -> Result<(Event<'a>, Option<Part<'a>>)> {
        let mut event = Event { wall_time: 0.0, step: 0, what: What::Nothing };
        let mut writer = None;
        for field in record.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => event.wall_time = value.double().unwrap_or(0.0),
                (2, Wire::Varint(step)) => event.step = step as i64,
                (3, Wire::Bytes(part)) => event.what = What::FileVersion(part),
                (4, Wire::Bytes(part)) => event.what = What::Graph(part),
                (5, Wire::Bytes(part)) => event.what = What::Summary(part),
                (6, Wire::Bytes(part)) => event.what = What::LogMessage(part),
                (7, Wire::Bytes(part)) => event.what = What::SessionLog(part),
                (8, Wire::Bytes(part)) => event.what = What::RunMetadata(part),
                (9, Wire::Bytes(part)) => event.what = What::MetaGraph(part),
                (10, Wire::Bytes(part)) => writer = Some(part),
                _ => {}
            }
        }
        Ok((event, writer))
    }

    /// The values of a summary, in order; those of any other event are none. The first error is the last item.
    pub(super) fn values(&self) -> impl Iterator<Item = Result<Value<'a>>> + use<'a> {
        let summary = match self.what {
            What::Summary(summary) => summary,
            _ => Part::decoded(&[]),
        };
        summary.fields().filter_map(|field| match field {
            Ok(Field { number: 1, value: Wire::Bytes(part), .. }) => Some(Value::parse(part)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

impl What<'_> {
    /// The name of the field in the schema.
    pub(super) fn word(self) -> &'static str {
        match self {
            What::Nothing => "",
            What::FileVersion(_) => "file_version",
            What::Graph(_) => "graph_def",
            What::Summary(_) => "summary",
            What::LogMessage(_) => "log_message",
            What::SessionLog(_) => "session_log",
            What::RunMetadata(_) => "tagged_run_metadata",
            What::MetaGraph(_) => "meta_graph_def",
        }
    }
}

impl What<'_> {
    /// The words of a version, a message, or the state of a session.
    pub(super) fn message(self) -> Option<String> {
        let text = |part: Part, number: u32| {
            let found = part.fields().flatten().find(|field| field.number == number);
            found.map(|field| field.value.text()).filter(|text| !text.is_empty())
        };
        match self {
            What::FileVersion(part) => Some(String::from_utf8_lossy(part.bytes()).into_owned()),
            What::LogMessage(part) => text(part, 2),
            What::SessionLog(part) => {
                let status = part.fields().flatten().find(|field| field.number == 1);
                let status = status.map_or(0, |field| field.value.uint());
                let word = ["session", "session start", "session stop", "checkpoint"].get(status as usize);
                let more = [text(part, 2), text(part, 3)];
                let words = word.map(|word| (*word).to_owned()).into_iter().chain(more.into_iter().flatten());
                Some(words.collect::<Vec<_>>().join(" "))
            }
            _ => None,
        }
    }
}

/// A value of a summary.
pub(super) struct Value<'a> {
    pub(super) tag: &'a [u8],
    pub(super) metadata: Option<Metadata<'a>>,
    pub(super) data: Data<'a>,
}

/// The data of a value, in the form that the file has: TensorFlow 1 has a field for each kind, TensorFlow 2
/// writes tensors and names the plugin that shows them.
#[derive(Clone, Copy)]
pub(super) enum Data<'a> {
    Nothing,
    Simple(f32),
    Image(Part<'a>),
    Histogram(Part<'a>),
    Audio(Part<'a>),
    Tensor(Part<'a>),
}

/// What is said of a tag, as a rule with its first value only.
#[derive(Clone, Copy)]
pub(super) struct Metadata<'a> {
    pub(super) plugin: &'a [u8],
    pub(super) content: Part<'a>,
    pub(super) display_name: &'a [u8],
    pub(super) description: &'a [u8],
    /// 1 for scalars, 2 for tensors, 3 for sequences of blobs.
    pub(super) class: u64,
}

impl<'a> Value<'a> {
    fn parse(part: Part<'a>) -> Result<Value<'a>> {
        let mut value = Value { tag: &[], metadata: None, data: Data::Nothing };
        for field in part.fields() {
            let Field { number, value: wire, .. } = field?;
            match (number, wire) {
                (1, Wire::Bytes(tag)) => value.tag = tag.bytes(),
                (2, Wire::Fixed32(bytes)) => value.data = Data::Simple(f32::from_le_bytes(bytes)),
                (4, Wire::Bytes(part)) => value.data = Data::Image(part),
                (5, Wire::Bytes(part)) => value.data = Data::Histogram(part),
                (6, Wire::Bytes(part)) => value.data = Data::Audio(part),
                (8, Wire::Bytes(part)) => value.data = Data::Tensor(part),
                (9, Wire::Bytes(part)) => value.metadata = Some(Metadata::parse(part)?),
                _ => {}
            }
        }
        Ok(value)
    }
}

impl<'a> Metadata<'a> {
    fn parse(part: Part<'a>) -> Result<Metadata<'a>> {
        let nothing = Part::decoded(&[]);
        let mut metadata =
            Metadata { plugin: &[], content: nothing, display_name: &[], description: &[], class: 0 };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, Wire::Bytes(plugin)) => {
                    for field in plugin.fields() {
                        let Field { number, value, .. } = field?;
                        match (number, value) {
                            (1, Wire::Bytes(name)) => metadata.plugin = name.bytes(),
                            (2, Wire::Bytes(content)) => metadata.content = content,
                            _ => {}
                        }
                    }
                }
                (2, Wire::Bytes(name)) => metadata.display_name = name.bytes(),
                (3, Wire::Bytes(text)) => metadata.description = text.bytes(),
                (4, class) => metadata.class = class.uint(),
                _ => {}
            }
        }
        Ok(metadata)
    }
}

/// The buckets of a histogram: left edge, right edge, count.
pub(super) type Buckets = Vec<[f64; 3]>;

/// Doubles of a repeated field, packed or not.
fn doubles(value: Wire, to: &mut Vec<f64>) {
    match value {
        Wire::Fixed64(bytes) => to.push(f64::from_le_bytes(bytes)),
        Wire::Bytes(part) => {
            to.extend(part.bytes().as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        }
        _ => {}
    }
}

/// The buckets of a `HistogramProto`. As TensorBoard shows them: empty ones at both ends are left out, and the
/// outermost edges are the least and the largest value.
pub(super) fn histogram(part: Part) -> Result<Buckets> {
    let (mut min, mut max) = (0.0, 0.0);
    let (mut limits, mut counts) = (Vec::new(), Vec::new());
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => min = value.double().unwrap_or(0.0),
            2 => max = value.double().unwrap_or(0.0),
            6 => doubles(value, &mut limits),
            7 => doubles(value, &mut counts),
            _ => {}
        }
    }
    let start = counts.iter().position(|count| *count > 0.0);
    let end = counts.iter().rposition(|count| *count > 0.0);
    let (Some(start), Some(end)) = (start, end) else { return Ok(Vec::new()) };
    let limit = |n: usize| limits.get(n).copied().unwrap_or(f64::NAN);
    let bucket = |(n, count): (usize, &f64)| {
        let left = if n == start { min } else { limit(n.wrapping_sub(1)) };
        let right = if n == end { max } else { limit(n) };
        [left, right, *count]
    };
    Ok(counts.iter().enumerate().take(end + 1).skip(start).map(bucket).collect())
}

/// The buckets of a tensor of the histogram plugin: rows of left edge, right edge, count.
pub(super) fn histogram_tensor(tensor: &Tensor) -> Result<Buckets> {
    let values = tensor.numbers()?;
    Ok(values.as_chunks::<3>().0.to_vec())
}

/// A picture or recording as it lies encoded in the file.
#[derive(Clone, Copy)]
pub(super) struct Blob<'a> {
    pub(super) bytes: Part<'a>,
    /// Width and height of a picture, channels and frames of a recording.
    pub(super) sides: [Option<i64>; 2],
    /// Samples a second of a recording.
    pub(super) rate: Option<f64>,
    /// The media type, or a word for the label.
    pub(super) word: &'a [u8],
}

impl<'a> Blob<'a> {
    /// A `Summary.Image`.
    pub(super) fn image(part: Part<'a>) -> Result<Blob<'a>> {
        let mut blob = Blob { bytes: Part::decoded(&[]), sides: [None; 2], rate: None, word: &[] };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => blob.sides[1] = Some(i64::from(value.uint() as i32)),
                (2, value) => blob.sides[0] = Some(i64::from(value.uint() as i32)),
                (4, Wire::Bytes(bytes)) => blob.bytes = bytes,
                _ => {}
            }
        }
        Ok(blob)
    }

    /// A `Summary.Audio`.
    pub(super) fn audio(part: Part<'a>) -> Result<Blob<'a>> {
        let mut blob = Blob { bytes: Part::decoded(&[]), sides: [None; 2], rate: None, word: &[] };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, Wire::Fixed32(rate)) => blob.rate = Some(f64::from(f32::from_le_bytes(rate))),
                (2, value) => blob.sides[0] = Some(value.uint() as i64),
                (3, value) => blob.sides[1] = Some(value.uint() as i64),
                (4, Wire::Bytes(bytes)) => blob.bytes = bytes,
                (5, Wire::Bytes(word)) => blob.word = word.bytes(),
                _ => {}
            }
        }
        Ok(blob)
    }

    /// The pictures of a tensor of the image plugin: width and height as texts, then the pictures.
    pub(super) fn images(tensor: &Tensor<'a>) -> Vec<Blob<'a>> {
        let number = |part: &Part| std::str::from_utf8(part.bytes()).ok()?.trim().parse::<i64>().ok();
        let side = |n: usize| tensor.strings().get(n).and_then(number);
        let sides = [side(0), side(1)];
        let blob = |bytes: &Part<'a>| Blob { bytes: *bytes, sides, rate: None, word: &[] };
        tensor.strings().iter().skip(2).map(blob).collect()
    }

    /// The recordings of a tensor of the audio plugin: alone, or each followed by a label.
    pub(super) fn recordings(tensor: &Tensor<'a>) -> Vec<Blob<'a>> {
        let blob = |bytes: Part<'a>, word| Blob { bytes, sides: [None; 2], rate: None, word };
        let strings = tensor.strings();
        match tensor.shape.last() {
            Some(2) if tensor.shape.len() == 2 => {
                strings.as_chunks::<2>().0.iter().map(|[bytes, label]| blob(*bytes, label.bytes())).collect()
            }
            _ => strings.iter().map(|bytes| blob(*bytes, &[])).collect(),
        }
    }
}
