//! Arrays that no file holds: with facts, with elements of any length, huge ones in chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::DataType;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cf::Times;
use gander::data::content::array::{Axis, MissingRegion, Scaling};
use gander::data::content::{Array, ArrayFacts};
use gander::data::dtype::{DType, Variable};
use gander::data::region::{Region, Span};

use super::plain;

/// An array that says this of itself.
pub(super) struct Described {
    pub(super) array: Arc<dyn Array>,
    pub(super) facts: ArrayFacts,
}

impl Array for Described {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.array.read(task, region, out)
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// Temperatures, 60 times, 36 latitudes, 72 longitudes, packed into 16 bits; one value is missing.
pub(super) fn temperature() -> Arc<dyn Array> {
    let (times, lats, lons) = (60u64, 36u64, 72u64);
    let mut bytes = Vec::new();
    for t in 0..times {
        for y in 0..lats {
            for x in 0..lons {
                let warm = 30.0 - (y as f64 - 17.5).abs() * 2.5;
                let wave = ((x + 2 * t) as f64 / 6.0).sin() * 4.0;
                let stored = if (t, y, x) == (17, 3, 5) { -32768 } else { ((warm + wave) * 100.0) as i16 };
                bytes.extend(stored.to_le_bytes());
            }
        }
    }
    let array = plain(DType::I16, &[times, lats, lons], bytes);
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let lat: Vec<f32> = (0..lats).map(|n| -87.5 + 5.0 * n as f32).collect();
    let axis = |name: &str, unit: &str| Axis {
        name: name.to_owned(),
        unit: Some(unit.to_owned()),
        ..Axis::default()
    };
    let days = "days since 1950-01-01";
    let axes = vec![
        Axis { regular: Some((0.0, 1.0)), times: Times::parse(days, ""), ..axis("time", days) },
        Axis { coordinate: Some(plain(DType::F32, &[lats], floats(&lat))), ..axis("lat", "degrees_north") },
        Axis { regular: Some((0.0, 5.0)), ..axis("lon", "degrees_east") },
    ];
    let scaling = Scaling { scale: 0.01, offset: 273.15, fill: vec![-32768.0], valid: None };
    let facts =
        ArrayFacts { axes, unit: Some("K".to_owned()), scaling: Some(scaling), ..ArrayFacts::default() };
    Arc::new(Described { array, facts })
}

/// Classes of land with their names.
pub(super) fn classes() -> Arc<dyn Array> {
    let array = plain(DType::U8, &[6, 8], (0..48).map(|n| n % 4).collect());
    let names = ["water", "forest", "town", "ice"];
    let value_names = names.iter().enumerate().map(|(n, name)| (n as i64, (*name).to_owned())).collect();
    Arc::new(Described { array, facts: ArrayFacts { value_names, ..ArrayFacts::default() } })
}

/// Texts of any length: `r, c`, or paths of nodes.
pub(super) struct Words {
    dtype: DType,
    shape: Vec<u64>,
    prefix: &'static str,
}

impl Words {
    #[allow(clippy::new_ret_no_self)]
    pub(super) fn new(shape: &[u64], prefix: &'static str, reference: bool) -> Arc<dyn Array> {
        let word = if reference { "reference" } else { "str" }.to_owned();
        let kind = Variable { word, arrow: DataType::Utf8, reference };
        Arc::new(Words { dtype: DType::Variable(Arc::new(kind)), shape: shape.to_vec(), prefix })
    }
}

impl Array for Words {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::unsupported("texts have no bytes"))
    }

    fn column(&self, _task: &Task, region: &Region) -> Result<ArrayRef> {
        let mut list = vec![String::new()];
        for span in &region.0 {
            let along = |above: String| {
                (0..span.count).map(move |n| {
                    let gap = if above.is_empty() { "" } else { "." };
                    format!("{above}{gap}{}", span.index(n))
                })
            };
            list = list.into_iter().flat_map(along).collect();
        }
        // One of seven is missing.
        let sum = |at: &str| at.split('.').filter_map(|n| n.parse::<u64>().ok()).sum::<u64>();
        let word = |at: String| (sum(&at) % 7 != 6).then(|| format!("{}{at}", self.prefix));
        Ok(Arc::new(list.into_iter().map(word).collect::<StringArray>()))
    }
}

/// An array of which some indices of the first axis cannot be read.
pub(super) struct Torn {
    pub(super) array: Arc<dyn Array>,
    pub(super) lost: std::ops::Range<u64>,
}

impl Array for Torn {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::unsupported("the filter LZMA"))
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        self.array.read(task, region, out)?;
        let lost = (0..region.0[0].count).filter(|&n| self.lost.contains(&region.0[0].index(n)));
        let gap = |n: u64| {
            let rest = region.0[1..].iter().map(|span| Span::all(span.count));
            let part = Region([Span::range(n, 1)].into_iter().chain(rest).collect());
            MissingRegion { part, error: Error::unsupported("the filter LZMA") }
        };
        Ok(lost.map(gap).collect())
    }
}

/// A huge plane in square chunks, each of which takes a while to decode; some are broken.
pub(super) struct Vast {
    pub(super) shape: Vec<u64>,
    pub(super) chunk: u64,
    pub(super) delay: Duration,
    /// Chunks that were decoded.
    pub(super) decoded: Arc<AtomicUsize>,
    pub(super) broken: Vec<Vec<u64>>,
}

impl Vast {
    pub(super) fn new(side: u64, chunk: u64, delay: Duration) -> Self {
        let decoded = Arc::default();
        Vast { shape: vec![side, side], chunk, delay, decoded, broken: Vec::new() }
    }

    fn decode(&self, task: &Task, index: &[u64]) -> Result<()> {
        task.check()?;
        self.decoded.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.delay);
        match self.broken.iter().any(|broken| broken == index) {
            true => Err(Error::malformed(format!("chunk {index:?}: its checksum is wrong"))),
            false => Ok(()),
        }
    }

    fn chunks(&self, span: &Span) -> Vec<u64> {
        let mut list: Vec<u64> = (0..span.count).map(|n| span.index(n) / self.chunk).collect();
        list.dedup();
        list
    }
}

impl Array for Vast {
    fn dtype(&self) -> &DType {
        &DType::F32
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let mut chunks = vec![Vec::new()];
        for span in &region.0 {
            let list = self.chunks(span);
            let along = |above: Vec<u64>| {
                list.clone().into_iter().map(move |n| above.iter().copied().chain([n]).collect::<Vec<u64>>())
            };
            chunks = chunks.into_iter().flat_map(along).collect();
        }
        chunks.iter().try_for_each(|index| self.decode(task, index))?;
        let (rows, columns) = match region.0[..] {
            [rows, columns] => (rows, columns),
            [columns] => (Span::range(0, 1), columns),
            _ => return Err(Error::bug("one or two dimensions")),
        };
        let mut out = out.as_chunks_mut::<4>().0.iter_mut();
        let side = self.shape[0] as f32;
        for row in 0..rows.count {
            let y = rows.index(row) as f32 / side;
            for column in 0..columns.count {
                let x = columns.index(column) as f32 / side;
                let value = (x * 25.0).sin() * (y * 18.0).cos() + x;
                if let Some(to) = out.next() {
                    *to = value.to_le_bytes();
                }
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let chunks = self.shape.iter().map(|_| self.chunk).collect();
        ArrayFacts { chunks: Some(chunks), ..ArrayFacts::default() }
    }
}
