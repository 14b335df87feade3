//! Arrays: elements of one type in n dimensions, read by region in C order, little-endian.

mod plain;

pub use plain::{Plain, packed_bytes};

use super::Layout;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::axes::Heading;
use crate::data::cf::Times;
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::quantised::Quantised;
use crate::data::region::Region;
use crate::data::stats::passes::ArrayPasses;
use arrow::array::ArrayRef;
use std::ops::Range;
use std::sync::Arc;

/// An array. `read` is the only access to values.
pub trait Array: Send + Sync {
    /// The type of one element.
    fn dtype(&self) -> &DType;

    /// The length of each dimension, slowest first; empty for a scalar.
    fn shape(&self) -> &[u64];

    /// Fills `out` with the elements of `region`, in C order, little-endian, without gaps; `out` is
    /// exactly `region.elements() × dtype.size()` bytes long.
    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()>;

    /// The element that all of `region` is, where it is known without reading that nothing of it is stored: a
    /// pass over a large array with few chunks need not go through what is not there.
    fn unstored(&self, _task: &Task, _region: &Region) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// The regions of which the file holds something, apart from each other, where that is known without reading
    /// values: all other elements are equal, and a pass counts them without going through them. May read an index.
    fn stored(&self, _task: &Task) -> Result<Option<Stored>> {
        Ok(None)
    }

    /// The bytes that hold its elements, where they lie in one piece of a source: the source, and where in it.
    fn storage(&self) -> Option<(Source, Range<u64>)> {
        None
    }

    /// Where in the bytes of its file the element at `index` lies, which is inside of the shape; `None` where that is not
    /// told. May read an index of chunks.
    ///
    /// # Errors
    /// What reading that gives.
    fn location(&self, _task: &Task, _index: &[u64]) -> Result<Option<Location>> {
        Ok(None)
    }

    /// What of this array a byte belongs to; `None` where it is none of its bytes, or that is not told.
    ///
    /// # Errors
    /// What reading an index gives.
    fn owner(&self, _task: &Task, _byte: &BytePlace) -> Result<Option<Owner>> {
        Ok(None)
    }

    /// The bytes of a source that are what [`read`](Array::read) delivers of all of it, in that order and all of them.
    fn verbatim(&self) -> Option<(Source, Range<u64>)> {
        None
    }

    /// What is known of its storage without reading values.
    fn facts(&self) -> ArrayFacts {
        ArrayFacts::default()
    }

    /// The elements of `region` as an Arrow column, one row an element in C order: the way to elements of
    /// [`DType::Variable`], whose `read` gives no bytes. Others are converted as [`adapt::column`] does.
    ///
    /// # Errors
    /// As `read`; `Limit` for more than [`limits::READ`] bytes.
    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        column_of_bytes(self, task, region)
    }

    /// As `read`, but a part of the file that cannot be read leaves its elements at the fill value (or zero)
    /// and is listed, so that its neighbours can be shown.
    ///
    /// # Errors
    /// `Cancelled`, and what concerns all of it; for arrays without parts all that `read` gives.
    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        self.read(task, region, out)?;
        Ok(Vec::new())
    }

    /// Its blocks in the file. May read an index of chunks, so it takes a task.
    fn layout(&self, _task: &Task) -> Result<Layout> {
        Ok(Layout::default())
    }

    /// Access to elements as they are stored, where those are integers of few bits that share scales.
    fn quantised(&self) -> Option<&dyn Quantised> {
        None
    }

    /// The bytes that the checksum of its statistics goes over, where those are not the elements as `read` gives them:
    /// the stored blocks of a quantised array.
    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        None
    }

    /// Passes over all of it that are made elsewhere, where its elements are read; `None` where that is here.
    fn passes(&self) -> Option<&dyn ArrayPasses> {
        None
    }

    /// Decodes the chunks of `region` into the cache, where there is one: what a view will probably ask for
    /// next. Failures are not reported; the read that follows does.
    fn prefetch(&self, _task: &Task, _region: &Region) {}
}

/// What of an array the file holds, and what all the rest is.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The regions that are there; no two have an element in common.
    pub regions: Vec<Region>,
    /// Any other element, as [`Array::read`] delivers it; `None` for elements without a fixed size.
    pub element: Option<Vec<u8>>,
    /// Any other element of [`DType::Variable`]: a column of one row; `None` for null.
    pub row: Option<ArrayRef>,
}

impl Stored {
    /// How many elements the regions have.
    pub fn elements(&self) -> u64 {
        let count = |region: &Region| region.elements().unwrap_or(u64::MAX);
        self.regions.iter().fold(0u64, |all, region| all.saturating_add(count(region)))
    }
}

/// A part of what was read that could not be read.
#[derive(Clone, Debug)]
pub struct MissingRegion {
    /// Where it lies in the result: indices of the region that was asked for, not of the array.
    pub part: Region,
    /// Why.
    pub error: Error,
}

/// What is known of an array's storage.
#[derive(Clone, Debug, Default)]
pub struct ArrayFacts {
    /// The word for the type of the elements, where the format has its own and it says more than theirs: `qint8`.
    pub word: Option<&'static str>,
    /// The shape of one chunk, where the array is chunked.
    pub chunks: Option<Vec<u64>>,
    /// Compression codecs and filters, in the order of writing.
    pub codecs: Vec<String>,
    /// The stored byte order, where it matters.
    pub byte_order: Option<&'static str>,
    /// Bytes in the file.
    pub bytes_stored: Option<u64>,
    /// Whether elements of less than a byte count as a byte each in its checksum, as the format's own library has them.
    pub byte_each: bool,
    /// Further lines for the inspector: name and value (`order`, `file`, `offset`).
    pub details: Vec<(String, String)>,
    /// The unit of the values, as the file spells it (`K`, `m s-1`).
    pub unit: Option<String>,
    /// How values are read where they count time from a date.
    pub times: Option<Times>,
    /// What each dimension is: one a dimension, or empty where nothing is known.
    pub axes: Vec<Axis>,
    /// What whole indices stand for, where the axes cannot tell it one by one.
    pub world: Option<Arc<dyn World>>,
    /// What stored values mean, where that is another number.
    pub scaling: Option<Scaling>,
    /// The values that are black and white, where the file says how it asks to be seen: of what stored values mean.
    pub window: Option<(f64, f64)>,
    /// The names of values, for enumerations and flags.
    pub value_names: Vec<(i64, String)>,
    /// What is known of it as a sound: its shape is frames by channels then.
    pub sound: Option<Sound>,
}

/// What is known of an array that is a sound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sound {
    /// How the file codes samples: `pcm_s16le`, `flac`, `mp3`.
    pub codec: String,
    /// Frames a second.
    pub rate: u32,
    /// Bits of a sample in the file; `None` for codecs that have no such number.
    pub bits: Option<u32>,
    /// Integers reach from `-2^(full - 1)` to `2^(full - 1) - 1`; floats from -1 to 1, whatever this says.
    pub full: u32,
    /// Its parts that have a title, as [`Chapter::in_order`] has them.
    pub chapters: Arc<[Chapter]>,
}

/// A part of a sound or film that has a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chapter {
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds, where that is known.
    pub end: Option<f64>,
    /// What it is called; may be empty.
    pub title: String,
}

impl Chapter {
    /// Chapters in the order of time. One that does not say when it ends ends where the next one begins.
    pub fn in_order(mut list: Vec<Chapter>) -> Arc<[Chapter]> {
        list.sort_by(|a, b| a.start.total_cmp(&b.start));
        let next: Vec<f64> = list.iter().skip(1).map(|chapter| chapter.start).collect();
        for (chapter, next) in list.iter_mut().zip(next) {
            chapter.end.get_or_insert(next);
        }
        list.into()
    }
}

impl ArrayFacts {
    /// The name of the type of the elements: the format's own word where it has one.
    pub fn type_name(&self, dtype: &DType) -> String {
        self.word.map_or_else(|| dtype.to_string(), str::to_owned)
    }
}

/// One dimension of an array: its name and what its indices stand for.
#[derive(Clone, Default)]
pub struct Axis {
    /// The dimension's name (`time`, `lat`, `c`); empty where it has none.
    pub name: String,
    /// The unit of its coordinates.
    pub unit: Option<String>,
    /// The values along it: one dimension, as long as the axis. Text, numbers or counts of time.
    pub coordinate: Option<Arc<dyn Array>>,
    /// Coordinates that are a start and a step, where no array holds them.
    pub regular: Option<(f64, f64)>,
    /// How the coordinates are read where they count time from a date.
    pub times: Option<Times>,
    /// Where growing indices lead, where the format says it: to the right of a body, up the picture.
    pub heading: Option<Heading>,
}

impl std::fmt::Debug for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Axis").field("name", &self.name).field("unit", &self.unit).finish_non_exhaustive()
    }
}

/// What whole indices stand for where no axis tells it alone: places on the sky in a projection.
pub trait World: Send + Sync + std::fmt::Debug {
    /// Name, value and unit of each coordinate of an element; none where the projection does not reach.
    fn at(&self, index: &[u64]) -> Vec<(String, f64, String)>;
}

/// Stored values stand for `stored × scale + offset`, except those that stand for nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The factor; 1 where there is none.
    pub scale: f64,
    /// What is added; 0 where there is nothing.
    pub offset: f64,
    /// Stored values that mean *missing* (`_FillValue`, `missing_value`, `BLANK`).
    pub fill: Vec<f64>,
    /// Stored values outside of it mean *missing* (`valid_min`, `valid_max`, `valid_range`).
    pub valid: Option<(f64, f64)>,
}

impl Scaling {
    /// What a stored value stands for; NaN for a missing one.
    pub fn apply(&self, stored: f64) -> f64 {
        let outside = self.valid.is_some_and(|(low, high)| stored < low || stored > high);
        if outside || self.fill.contains(&stored) { f64::NAN } else { stored * self.scale + self.offset }
    }

    /// Whether values stay the numbers that are stored, and only missing ones are marked.
    pub fn is_identity(&self) -> bool {
        (self.scale, self.offset) == (1.0, 0.0)
    }
}

/// `stored × 0.01; plus 273.15; -32768 missing`.
impl std::fmt::Display for Scaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |value: f64| crate::data::cell::float64(value).trim_end_matches(".0").to_owned();
        let mut words = Vec::new();
        if self.scale != 1.0 {
            words.push(format!("stored × {}", number(self.scale)));
        }
        if self.offset != 0.0 {
            words.push(format!("plus {}", number(self.offset)));
        }
        if !self.fill.is_empty() {
            let fill: Vec<String> = self.fill.iter().take(4).map(|value| number(*value)).collect();
            words.push(format!("{} missing", fill.join(", ")));
        }
        if let Some((low, high)) = self.valid {
            words.push(format!("valid {} to {}", number(low), number(high)));
        }
        f.write_str(&words.join("; "))
    }
}

/// [`Array::column`] for elements that `read` gives.
///
/// # Errors
/// As `read`; `Limit` for more than [`limits::READ`] bytes.
pub fn column_of_bytes<A: Array + ?Sized>(array: &A, task: &Task, region: &Region) -> Result<ArrayRef> {
    let mut out = buffer(array, region)?;
    array.read(task, region, &mut out)?;
    adapt::column(array.dtype(), &[], &out, limits::check(region.elements()?, u64::MAX, "this part")?)
}

/// Reads `region` with [`Array::read_lenient`] into a fresh buffer of at most [`limits::READ`] bytes.
pub fn read_lenient(
    array: &dyn Array,
    task: &Task,
    region: &Region,
) -> Result<(Vec<u8>, Vec<MissingRegion>)> {
    let mut out = buffer(array, region)?;
    let gaps = array.read_lenient(task, region, &mut out)?;
    Ok((out, gaps))
}

/// Reads `region` into a fresh buffer of at most [`limits::READ`] bytes.
pub fn read(array: &dyn Array, task: &Task, region: &Region) -> Result<Vec<u8>> {
    let mut out = buffer(array, region)?;
    array.read(task, region, &mut out)?;
    Ok(out)
}

/// Room for the elements of `region`.
fn buffer<A: Array + ?Sized>(array: &A, region: &Region) -> Result<Vec<u8>> {
    region.check(array.shape())?;
    let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
    limits::zeroed(limits::check(bytes, limits::READ, "this part of the array")?, "the array")
}
