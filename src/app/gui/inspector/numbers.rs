//! Statistics as the inspector shows them, made by jobs: from a sample at first, then from everything.

use std::time::Instant;

use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::sample::Picked;
use gander::data::content::{Array, Image, Table};
use gander::data::stats::{
    self, ArrayStats, Binning, ChannelStats, ColumnStats, Distinct, Histogram, histograms,
};

use gander::bytes::display::short_number as short;

/// Rows of a sample.
const ROWS: u64 = 20_480;
/// Elements of a sample of an array.
const ELEMENTS: u64 = 1 << 18;
const BINS: usize = 40;

/// Statistics, ready to draw.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Whether everything was looked at.
    pub(super) exact: bool,
    /// How it was made: `sampled`, `exact · from 1.2 s scan`.
    pub(super) note: String,
    pub(super) lines: Vec<(&'static str, String)>,
    pub(super) histogram: Option<Histogram>,
    /// What could not be read, in words.
    pub(super) unread: Option<String>,
}

impl Numbers {
    fn line(&mut self, name: &'static str, value: impl Into<String>) {
        self.lines.push((name, value.into()));
    }

    fn done(mut self, exact: bool, started: Instant) -> Self {
        self.exact = exact;
        let seconds = started.elapsed().as_secs_f32();
        self.note = match exact {
            false => "sampled".to_owned(),
            true if seconds < 0.1 => "exact".to_owned(),
            true => format!("exact · from {seconds:.1} s scan"),
        };
        self
    }
}

/// Of a sample of a column.
pub(super) fn column_sample(table: &dyn Table, task: &Task, column: usize) -> Result<Numbers> {
    let started = Instant::now();
    // Of what is not counted yet only the beginning is near.
    let picked = match table.rows().exact() {
        Some(_) => Picked::sample(table, task, ROWS)?,
        None => Picked::new(table, std::iter::once(0..table.rows().number().clamp(1, ROWS)).collect()),
    };
    let whole = table.rows().exact().is_some_and(|rows| rows <= picked.len());
    let mut numbers = of_column(&picked, task, column)?;
    if !whole && let Some(line) = numbers.lines.first_mut() {
        line.1 = format!("{} of {}", line.1, table.rows());
        // The sum of a sample says nothing.
        numbers.lines.retain(|line| line.0 != "sum");
    }
    let mut numbers = numbers.done(whole, started);
    if table.rows().exact().is_none() {
        numbers.note = "of the first rows".to_owned();
    }
    Ok(numbers)
}

/// Of a whole column: one pass for the values, one for the histogram.
pub(super) fn column_exact(table: &dyn Table, task: &Task, column: usize) -> Result<Numbers> {
    let started = Instant::now();
    Ok(of_column(table, task, column)?.done(true, started))
}

fn of_column(table: &dyn Table, task: &Task, column: usize) -> Result<Numbers> {
    let mut found = stats::table(table, task, &[column])?;
    let histogram = histograms(table, task, &[column], &found, Binning::AtMost(BINS))?.pop().flatten();
    let stats = found.columns.pop().unwrap_or_else(|| Ok(ColumnStats::default()))?;
    let mut numbers = Numbers::default();
    numbers.line("rows", display::count(found.rows));
    let share = stats.nulls as f64 / found.rows.max(1) as f64;
    let share = if stats.nulls > 0 { format!(" ({:.1} %)", share * 100.0) } else { String::new() };
    numbers.line("null", format!("{}{share}", display::count(stats.nulls)));
    match stats.distinct {
        Some(Distinct::Exactly(count)) => numbers.line("distinct", display::count(count)),
        Some(Distinct::AtLeast(count)) => numbers.line("distinct", format!("> {}", display::count(count))),
        Some(Distinct::About(count)) => numbers.line("distinct", format!("≈ {}", display::count(count))),
        None => {}
    }
    if stats.nan > 0 {
        numbers.line("NaN", display::count(stats.nan));
    }
    if stats.inf > 0 {
        numbers.line("infinite", display::count(stats.inf));
    }
    if stats.unfit > 0 {
        numbers.line("do not fit the type", display::count(stats.unfit));
    }
    for (name, value) in [("min", stats.min), ("max", stats.max)] {
        if let Some(value) = value {
            numbers.line(name, value);
        }
    }
    if let Some(mean) = stats.mean {
        numbers.line("mean", short(mean));
    }
    if let Some(sum) = stats.sum {
        numbers.line("sum", short(sum));
    }
    numbers.histogram = histogram.transpose()?;
    Ok(numbers)
}

/// Of a whole array, as far as it can be read.
pub(super) fn array_exact(array: &dyn Array, task: &Task) -> Result<Numbers> {
    let started = Instant::now();
    let stats = stats::readable(array, task, bins(array))?;
    let mut numbers = of_array(array, &stats);
    if stats.unread.is_none() {
        numbers.line("CRC-32", format!("{:08x}", stats.crc32));
    }
    Ok(numbers.done(true, started))
}

/// Of a sample of an array: runs of elements at several places.
pub(super) fn array_sample(array: &dyn Array, task: &Task) -> Result<Numbers> {
    let started = Instant::now();
    let stats = stats::sampled(array, task, 16, ELEMENTS / 16, bins(array))?;
    let mut numbers = of_array(array, &stats);
    if let (Some(count), Ok(all)) = (numbers.lines.first_mut(), limits::elements(array.shape())) {
        count.1 = format!("{} of {}", count.1, display::count(all));
    }
    // The sum of a sample says nothing.
    numbers.lines.retain(|line| !line.0.starts_with("sum"));
    Ok(numbers.done(false, started))
}

/// Complex numbers have no order in which bins could stand.
fn bins(array: &dyn Array) -> Option<usize> {
    (!array.dtype().is_complex()).then_some(BINS)
}

fn of_array(array: &dyn Array, stats: &ArrayStats) -> Numbers {
    let dtype = array.dtype();
    let mut numbers = Numbers::default();
    numbers.line("count", display::count(stats.count));
    let names = match (dtype.is_complex(), stats.scaled.is_some()) {
        (true, _) => ["min (real)", "max (real)"],
        (_, true) => ["min (stored)", "max (stored)"],
        _ => ["min", "max"],
    };
    for (name, value) in names.into_iter().zip([&stats.min, &stats.max]) {
        if let Some(value) = value {
            numbers.line(name, value.as_str());
        }
    }
    if let Some((real, imaginary)) = stats.complex_sum {
        let text =
            |by: f64| format!("{} {} {}j", short(real / by), sign(imaginary), short(imaginary.abs() / by));
        let finite = stats.count - stats.nan - stats.inf;
        if finite > 0 {
            numbers.line("mean", text(finite as f64));
        }
        numbers.line("sum", text(1.0));
    } else {
        let names = match stats.scaled.is_some() {
            true => ["mean (stored)", "std (stored)", "sum (stored)"],
            false => ["mean", "std", "sum"],
        };
        for (name, value) in names.into_iter().zip([stats.mean, stats.std, stats.sum]) {
            if let Some(value) = value {
                numbers.line(name, short(value));
            }
        }
    }
    numbers.line("zeros", display::count(stats.zeros));
    if dtype.is_float() || dtype.is_complex() {
        numbers.line("NaN", display::count(stats.nan));
        numbers.line("infinite", display::count(stats.inf));
    }
    // What is stored comes first, since the histogram is of that.
    if let Some(scaled) = stats.scaled {
        for (name, value) in
            [("scaled min", scaled.min), ("scaled max", scaled.max), ("scaled mean", scaled.mean)]
        {
            if let Some(value) = value {
                numbers.line(name, short(value));
            }
        }
        if scaled.missing > 0 {
            numbers.line("missing", display::count(scaled.missing));
        }
    }
    numbers.histogram.clone_from(&stats.histogram);
    numbers.unread = stats.unread.as_ref().map(ToString::to_string);
    numbers
}

fn sign(value: f64) -> char {
    if value.is_sign_negative() { '-' } else { '+' }
}

/// Of the first frame of an image, the channels side by side.
pub(super) fn image_exact(image: &dyn Image, task: &Task) -> Result<Numbers> {
    let started = Instant::now();
    let stats = stats::image(image, task)?;
    let mut numbers = Numbers::default();
    let info = image.info();
    numbers.line("pixels", display::count(info.width.saturating_mul(info.height)));
    let of: [(&str, fn(&ChannelStats) -> Option<f64>); 3] =
        [("min", |channel| channel.min), ("max", |channel| channel.max), ("mean", |channel| channel.mean)];
    for (name, value) in of {
        let values: Vec<String> = stats.channels.iter().filter_map(value).map(short).collect();
        if !values.is_empty() {
            numbers.line(name, values.join(", "));
        }
    }
    numbers.line("CRC-32", format!("{:08x}", stats.crc32));
    numbers.line("CRC-32 as RGB", format!("{:08x}", stats.crc32_rgb));
    Ok(numbers.done(true, started))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use gander::bytes::source::Source;
    use gander::data::content::array::{Plain, Scaling};
    use gander::data::content::table::MemoryTable;
    use gander::data::content::{ArrayFacts, Content};
    use gander::data::dtype::DType;

    use super::*;

    fn line<'a>(numbers: &'a Numbers, name: &str) -> Option<&'a str> {
        numbers.lines.iter().find(|line| line.0 == name).map(|line| line.1.as_str())
    }

    fn plain(dtype: DType, bytes: Vec<u8>) -> Plain {
        let count = bytes.len() as u64 / dtype.size();
        Plain::new(Source::memory("a", bytes), 0, dtype, vec![count]).unwrap()
    }

    #[test]
    fn scaled_values_are_sampled_too_and_named() {
        let stored = (0..1000).map(|n| if n % 2 == 0 { -99i16 } else { 10 });
        let scaling = Scaling { scale: 0.5, offset: 1.0, fill: vec![-99.0], valid: None };
        let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
        let array = plain(DType::I16, stored.flat_map(i16::to_le_bytes).collect()).with_facts(facts);
        for (numbers, exact) in
            [(array_sample(&array, &Task::new()), false), (array_exact(&array, &Task::new()), true)]
        {
            let numbers = numbers.unwrap();
            assert_eq!(numbers.exact, exact);
            assert_eq!((line(&numbers, "min (stored)"), line(&numbers, "min")), (Some("-99"), None));
            assert_eq!((line(&numbers, "scaled min"), line(&numbers, "scaled max")), (Some("6"), Some("6")));
            assert_eq!(line(&numbers, "sum (stored)").is_some(), exact);
        }
    }

    #[test]
    fn complex_numbers_have_statistics() {
        let parts = [1.0f32, -2.0, 3.0, 6.0, f32::NAN, 0.0];
        let array = plain(DType::C64, parts.iter().flat_map(|part| part.to_le_bytes()).collect());
        let exact = array_exact(&array, &Task::new()).unwrap();
        assert_eq!((line(&exact, "count"), line(&exact, "NaN")), (Some("3"), Some("1")));
        assert_eq!((line(&exact, "min (real)"), line(&exact, "max (real)")), (Some("1.0"), Some("3.0")));
        assert_eq!((line(&exact, "mean"), line(&exact, "sum")), (Some("2 + 2j"), Some("4 + 4j")));
        let sample = array_sample(&array, &Task::new()).unwrap();
        assert_eq!((line(&sample, "count"), line(&sample, "mean")), (Some("3 of 3"), Some("2 + 2j")));
        assert!(exact.histogram.is_none() && line(&sample, "sum").is_none());
    }

    #[test]
    fn an_image_has_statistics_of_its_channels() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tiff/rgb_8.tif");
        let document = gander::open(&Task::new(), std::path::Path::new(path), &Default::default()).unwrap();
        let Some(Content::Image(image)) = &document.root.content else { panic!("no image") };
        let numbers = image_exact(&**image, &Task::new()).unwrap();
        let stats = stats::image(&**image, &Task::new()).unwrap();
        let least: Vec<String> = stats.channels.iter().map(|channel| short(channel.min.unwrap())).collect();
        assert_eq!(line(&numbers, "min"), Some(least.join(", ").as_str()));
        assert_eq!(least.len(), 3);
        assert!(line(&numbers, "CRC-32").is_some());
    }

    #[test]
    fn a_small_column_is_exact_at_once() {
        let values: ArrayRef = Arc::new(Int64Array::from((0..100).map(Some).collect::<Vec<_>>()));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("x", values)]).unwrap());
        let sample = column_sample(&table, &Task::new(), 0).unwrap();
        let exact = column_exact(&table, &Task::new(), 0).unwrap();
        assert!(sample.exact && exact.exact);
        for numbers in [sample, exact] {
            assert!(numbers.lines.contains(&("mean", "49.5".to_owned())), "{:?}", numbers.lines);
            assert_eq!(numbers.histogram.unwrap().counts.iter().sum::<u64>(), 100);
        }
    }
}
