//! What indices and values of an array stand for: the names, units and coordinates of its axes, the unit of its values,
//! the names of enumerated ones. Coordinates (CF's coordinate variables, dimension scales of HDF5) are read once, by
//! [`AxisCoordinates::read`]; everything else answers from memory.

mod heading;
mod kind;
mod uneven;

pub use heading::{Heading, PlaneHeadings};
pub use kind::AxisKind;
pub use uneven::{LinePositions, UnevenCoordinates};

use self::kind::{Described, kinds, same_unit, short_unit};
use self::uneven::even_step;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::cf::Times;
use crate::data::content::array::{Axis, Scaling, World};
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::DType;
use crate::data::node::{Node, Value};
use crate::data::numbers::{ComplexPart, element_text, has_numbers, numbers};
use crate::data::plane::Slice;
use crate::data::region::Region;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Longer coordinates are not read: 16 MB of f64.
const NUMBERS: u64 = 2 << 20;
/// Longer coordinates of texts are not read.
const TEXTS: u64 = 200_000;

/// What indices and values of one array stand for.
#[derive(Default)]
pub struct AxisCoordinates {
    axes: Vec<Dimension>,
    /// What goes through each axis, by its name and unit.
    kinds: Vec<AxisKind>,
    /// What whole indices stand for.
    world: Option<Arc<dyn World>>,
    /// The unit of the values.
    pub unit: Option<String>,
    /// How values are read that count time from a date.
    times: Option<Times>,
    names: HashMap<i64, String>,
    /// Whether values are whole numbers although their type is a float: integers of which some are missing.
    pub whole: bool,
}

#[derive(Default)]
struct Dimension {
    name: String,
    unit: Option<String>,
    times: Option<Times>,
    regular: Option<(f64, f64)>,
    heading: Option<Heading>,
    coordinate: Option<Arc<dyn Array>>,
    read: OnceLock<Coordinate>,
}

/// Coordinates in memory.
enum Coordinate {
    Texts(Vec<String>),
    Values {
        dtype: DType,
        size: usize,
        raw: Vec<u8>,
        scaling: Option<Scaling>,
        /// Those that rise or fall unevenly.
        uneven: Option<Arc<UnevenCoordinates>>,
        /// The step of those that do it evenly.
        step: Option<f64>,
        /// Whether the last is more than the first, where they differ.
        rising: Option<bool>,
    },
}

impl AxisCoordinates {
    /// What an array's facts say, or else what the node's attributes say as xarray and Zarr write them.
    pub fn of(node: &Node, facts: ArrayFacts, rank: usize) -> Self {
        let mut coordinates = AxisCoordinates {
            world: facts.world,
            unit: facts.unit.filter(|unit| !unit.trim().is_empty() && unit != "1"),
            times: facts.times,
            names: facts.value_names.into_iter().collect(),
            ..AxisCoordinates::default()
        };
        if facts.axes.len() == rank {
            coordinates.axes = facts.axes.into_iter().map(Dimension::of).collect();
        }
        if coordinates.axes.iter().all(|axis| axis.name.is_empty()) {
            for (n, name) in names_of(node, rank).into_iter().enumerate() {
                match coordinates.axes.get_mut(n) {
                    Some(axis) => axis.name = name,
                    None => coordinates.axes.push(Dimension { name, ..Dimension::default() }),
                }
            }
        }
        coordinates.settled()
    }

    /// What these axes say, and nothing else.
    pub fn of_axes(axes: Vec<Axis>) -> Self {
        AxisCoordinates { axes: axes.into_iter().map(Dimension::of).collect(), ..AxisCoordinates::default() }
            .settled()
    }

    fn settled(mut self) -> Self {
        self.kinds = kinds(&self.axes.iter().map(Dimension::described).collect::<Vec<_>>());
        self
    }

    /// What the axes go through.
    pub fn kinds(&self) -> &[AxisKind] {
        &self.kinds
    }

    /// How long a line over so many columns and rows of a slice is, and in which unit, where both axes have even steps in
    /// one unit.
    pub fn distance(&self, slice: &Slice, columns: u64, rows: u64) -> Option<(f64, &str)> {
        let (down, across) = (self.axes.get(slice.rows?)?, self.axes.get(slice.columns?)?);
        let unit = down.unit.as_deref().zip(across.unit.as_deref());
        let unit = unit.filter(|(a, b)| same_unit(a, b)).map(|(unit, _)| unit)?;
        let height = down.step()? * slice.step(slice.rows) as f64 * rows as f64;
        let width = across.step()? * slice.step(slice.columns) as f64 * columns as f64;
        Some((height.hypot(width), unit))
    }

    /// Width and height of an element of a slice beside each other, the larger 1, where its axes have even steps
    /// in one unit.
    pub fn proportions(&self, slice: &Slice) -> Option<[f64; 2]> {
        /// Longer elements would be threads.
        const LONGEST: f64 = 100.0;
        /// Less is what rounding leaves.
        const EQUAL: f64 = 1.005;
        let (down, across) = (slice.rows?, slice.columns?);
        let places = [down, across].map(|axis| self.kinds.get(axis).is_some_and(|kind| kind.is_place()));
        let (rows, columns) = (self.axes.get(down)?, self.axes.get(across)?);
        let one_unit = match (&rows.unit, &columns.unit) {
            (Some(a), Some(b)) => same_unit(a, b),
            // Without units places go by the same one.
            (None, None) => places == [true, true],
            _ => false,
        };
        if !one_unit || rows.times.is_some() || columns.times.is_some() {
            return None;
        }
        let height = rows.step()? * slice.step(slice.rows) as f64;
        let width = columns.step()? * slice.step(slice.columns) as f64;
        let (smaller, larger) = (width.min(height), width.max(height));
        if larger < smaller * EQUAL {
            return Some([1.0; 2]);
        }
        (larger <= smaller * LONGEST).then_some([width / larger, height / larger])
    }

    /// Which way round a slice is drawn the right way up, as far as that is known (yet): where its axes lead by the
    /// format, or latitude and longitude by their coordinates.
    pub fn facing(&self, slice: &Slice) -> PlaneHeadings {
        let heading = |axis: Option<usize>| {
            let (dimension, kind) = (self.axes.get(axis?)?, *self.kinds.get(axis?)?);
            dimension.heading.or_else(|| dimension.on_a_map(kind))
        };
        PlaneHeadings { rows: heading(slice.rows), columns: heading(slice.columns) }
    }

    /// The axes that lead along the three directions of a body.
    pub fn is_body(&self, shape: &[u64]) -> bool {
        let long = self.axes.iter().zip(shape).filter(|(_, len)| **len > 1);
        let directions = long.filter_map(|(axis, _)| axis.heading?.direction());
        directions.collect::<std::collections::BTreeSet<_>>().len() == 3
    }

    /// The axes whose coordinates lie in an array, which is to be read.
    pub fn stored(&self) -> impl Iterator<Item = usize> {
        self.axes.iter().enumerate().filter(|(_, axis)| axis.coordinate.is_some()).map(|(n, _)| n)
    }

    /// Reads the coordinates of an axis into memory, once.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read(&self, task: &Task, axis: usize) -> Result<()> {
        let Some(axis) = self.axes.get(axis) else { return Ok(()) };
        if let Some(array) = axis.coordinate.as_ref().filter(|_| axis.read.get().is_none()) {
            // Whoever came first has read the same.
            axis.read.set(Coordinate::read(&**array, task)?).ok();
        }
        Ok(())
    }

    /// The name of an axis, or its number.
    pub fn name(&self, axis: usize) -> String {
        let name = self.axes.get(axis).map(|axis| axis.name.as_str()).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("axis {axis}"), short_name)
    }

    /// Whether an axis has a name of its own.
    pub fn is_named(&self, axis: usize) -> bool {
        self.axes.get(axis).is_some_and(|axis| !axis.name.is_empty())
    }

    /// Whether an axis goes through a body in space: it leads along a direction of a body, or its unit is a small length,
    /// as microscopes and scanners have.
    pub fn is_space(&self, axis: usize) -> bool {
        const UNITS: [&str; 12] = [
            "mm",
            "um",
            "µm",
            "μm",
            "nm",
            "cm",
            "millimeter",
            "millimetre",
            "micrometer",
            "micron",
            "nanometer",
            "angstrom",
        ];
        let Some(axis) = self.axes.get(axis) else { return false };
        let is_short = axis.unit.as_deref().is_some_and(|unit| UNITS.contains(&unit.trim()));
        is_short || axis.heading.is_some_and(|heading| heading.direction().is_some())
    }

    /// Whether the indices of an axis stand for something.
    pub fn is_placed(&self, axis: usize) -> bool {
        self.axes.get(axis).is_some_and(Dimension::is_placed)
    }

    /// The name of an axis with the unit of its coordinates: `lat (degrees_north)`. Where there is a unit but no
    /// coordinate, what stands along it are indices.
    pub fn title(&self, axis: usize) -> String {
        let name = self.name(axis);
        match self.axes.get(axis).and_then(Dimension::plain_unit) {
            Some(unit) if self.is_placed(axis) => format!("{name} ({unit})"),
            Some(_) => format!("{name} (index)"),
            None => name,
        }
    }

    /// What an index of an axis stands for, as text without its unit; `None` where that is not known (yet).
    pub fn coordinate(&self, axis: usize, index: u64) -> Option<String> {
        self.axes.get(axis)?.text(index)
    }

    /// The coordinates of an axis that are known and not even.
    pub fn uneven(&self, axis: usize) -> Option<Arc<UnevenCoordinates>> {
        match self.axes.get(axis)?.read.get()? {
            Coordinate::Values { uneven, .. } => uneven.clone(),
            Coordinate::Texts(_) => None,
        }
    }

    /// A place between the coordinates of an axis as text, in the digits that `step` tells apart.
    pub fn place(&self, axis: usize, value: f64, step: f64) -> String {
        let Some(dimension) = self.axes.get(axis) else { return String::new() };
        if let Some(text) = dimension.times.as_ref().and_then(|times| times.text(value)) {
            return text;
        }
        let dtype = dimension.coordinate.as_ref().map(|array| array.dtype());
        if let Some(dtype @ (DType::DateTime(_) | DType::TimeDelta(_))) = dtype {
            return cell::element(dtype, &(value.round() as i64).to_le_bytes());
        }
        let digits = if step > 0.0 { (-step.log10().floor()).clamp(0.0, 12.0) as usize } else { 6 };
        decimals(value, digits)
    }

    /// The same with its unit: `45 degrees_north`.
    pub fn coordinate_with_unit(&self, axis: usize, index: u64) -> Option<String> {
        let dimension = self.axes.get(axis)?;
        let text = dimension.text(index)?;
        Some(dimension.plain_unit().map_or(text.clone(), |unit| format!("{text} {unit}")))
    }

    /// A line for each axis of which an index means something: `time 1950-01-18`.
    pub fn lines(&self, index: &[u64]) -> Vec<String> {
        let line = |(axis, &at): (usize, &u64)| {
            let text = self.coordinate_with_unit(axis, at)?;
            Some(format!("{} {text}", self.name(axis)))
        };
        let world = self.world.iter().flat_map(|world| world.at(index));
        let place = world.map(|(name, value, unit)| format!("{name} {} {unit}", decimals(value, 6)));
        index.iter().enumerate().filter_map(line).chain(place).collect()
    }

    /// The name of a value, where values have names.
    pub fn value_name(&self, dtype: &DType, bytes: &[u8]) -> Option<&str> {
        if self.names.is_empty() || !dtype.is_real() {
            return None;
        }
        let value =
            numbers(dtype, ComplexPart::Real, bytes).first().copied().filter(|value| value.fract() == 0.0)?;
        self.names.get(&(value as i64)).map(String::as_str)
    }

    /// What stands beside a value: its name, or the date that it counts to.
    pub fn value_words(&self, dtype: &DType, bytes: &[u8]) -> Option<String> {
        if let Some(name) = self.value_name(dtype, bytes) {
            return Some(name.to_owned());
        }
        let times = self.times.as_ref().filter(|_| dtype.is_real())?;
        times.text(numbers(dtype, ComplexPart::Real, bytes).first().copied()?)
    }

    /// Whether something stands beside values.
    pub fn has_value_words(&self) -> bool {
        !self.names.is_empty() || self.times.is_some()
    }

    /// The date that a number stands for, where values count time.
    pub fn date(&self, dtype: &DType, value: f64) -> Option<String> {
        match dtype {
            DType::DateTime(_) | DType::TimeDelta(_) => {
                Some(cell::element(dtype, &(value.round() as i64).to_le_bytes()))
            }
            _ => self.times.as_ref()?.text(value),
        }
    }

    /// The value as text.
    pub fn text(&self, dtype: &DType, bytes: &[u8]) -> String {
        let text = element_text(dtype, bytes);
        if self.whole { trimmed(text) } else { text }
    }

    /// A value with its name and unit: `3 (forest)`, `281.4 K`.
    pub fn value(&self, dtype: &DType, bytes: &[u8], text: String) -> String {
        let text = match self.value_words(dtype, bytes) {
            Some(words) => format!("{text} ({words})"),
            None => text,
        };
        match self.unit.as_ref().filter(|_| self.times.is_none()) {
            Some(unit) if dtype.is_real() || dtype.is_complex() => format!("{text} {unit}"),
            _ => text,
        }
    }
}

/// A number with so many digits behind the point at most.
fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A name that a slider or menu has room for.
fn short_name(name: &str) -> String {
    const MOST: usize = 40;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

/// The names of the axes in a node's attributes.
fn names_of(node: &Node, rank: usize) -> Vec<String> {
    const KEYS: [&str; 3] = ["_ARRAY_DIMENSIONS", "dimension_names", "DIMENSION_LABELS"];
    let list = node.attributes.iter().chain(&node.reserved).filter(|(key, _)| KEYS.contains(&key.as_str()));
    let names = list.filter_map(|(_, value)| match value {
        Value::Json(json) => json.as_array().cloned(),
        Value::Text(text) => serde_json::from_str(text).ok(),
    });
    let words = |list: Vec<serde_json::Value>| -> Vec<String> {
        list.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
    };
    names.map(words).find(|names| names.len() == rank).unwrap_or_default()
}

impl Dimension {
    fn of(axis: Axis) -> Self {
        let short = |array: &Arc<dyn Array>| {
            let most = if has_numbers(array.dtype()) { NUMBERS } else { TEXTS };
            matches!(array.shape(), [len] if *len <= most)
        };
        Dimension {
            name: axis.name,
            unit: axis.unit.filter(|unit| !unit.trim().is_empty()),
            times: axis.times,
            regular: axis.regular,
            heading: axis.heading,
            coordinate: axis.coordinate.filter(short),
            read: OnceLock::new(),
        }
    }

    fn described(&self) -> Described<'_> {
        Described {
            name: &self.name,
            unit: self.unit.as_deref(),
            dated: self.times.is_some(),
            direction: self.heading.and_then(Heading::direction),
        }
    }

    /// The unit, where it is one of the numbers that are shown: not of dates.
    fn plain_unit(&self) -> Option<&str> {
        self.unit.as_deref().filter(|_| self.times.is_none()).map(short_unit)
    }

    fn is_placed(&self) -> bool {
        self.regular.is_some() || self.coordinate.is_some()
    }

    /// Where it leads on a map: latitude and longitude, northing and easting, by whether their coordinates grow.
    fn on_a_map(&self, kind: AxisKind) -> Option<Heading> {
        let (name, unit) = (self.name.to_ascii_lowercase(), self.unit.as_deref().unwrap_or_default());
        // Models of the weather store places in two dimensions, and their rows go north.
        match name.strip_suffix("_stag").unwrap_or(&name) {
            "south_north" => return Some(Heading::North),
            "west_east" => return Some(Heading::East),
            _ => {}
        }
        let length = matches!(short_unit(unit), "m" | "km");
        // An axis `y` in metres is one of a map only where its places are a coordinate variable, as CF has them.
        let projected =
            length && self.coordinate.is_some() && matches!(name.as_str(), "x" | "y" | "xc" | "yc");
        let named =
            matches!(name.as_str(), "lat" | "latitude" | "lon" | "longitude" | "northing" | "easting")
                || matches!(name.as_str(), "rlat" | "rlon");
        if !(projected || named || kind::is_degrees_of_earth(unit)) {
            return None;
        }
        Some(match (kind, self.rising()?) {
            (AxisKind::Y, true) => Heading::North,
            (AxisKind::Y, false) => Heading::South,
            (AxisKind::X, true) => Heading::East,
            (AxisKind::X, false) => Heading::West,
            _ => return None,
        })
    }

    /// Whether coordinates grow with the index, where that is known.
    fn rising(&self) -> Option<bool> {
        if self.coordinate.is_some() {
            return match self.read.get()? {
                Coordinate::Values { rising, .. } => *rising,
                Coordinate::Texts(_) => None,
            };
        }
        self.regular
            .map(|(_, step)| step)
            .filter(|step| step.is_finite() && *step != 0.0)
            .map(|step| step > 0.0)
    }

    /// The distance between neighbours, where it is the same all along.
    fn step(&self) -> Option<f64> {
        if self.coordinate.is_some() {
            return match self.read.get()? {
                Coordinate::Values { step, .. } => *step,
                Coordinate::Texts(_) => None,
            };
        }
        self.regular.map(|(_, step)| step.abs()).filter(|step| step.is_finite() && *step > 0.0)
    }

    fn text(&self, index: u64) -> Option<String> {
        let written = |value: f64| match &self.times {
            Some(times) => times.text(value).unwrap_or_else(|| plain(value)),
            None => plain(value),
        };
        if self.coordinate.is_some() {
            return match self.read.get()? {
                Coordinate::Texts(texts) => texts.get(index as usize).cloned(),
                Coordinate::Values { dtype, size, raw, scaling, .. } => {
                    let at = usize::try_from(index).ok()?.checked_mul(*size)?;
                    let bytes = raw.get(at..at.checked_add(*size)?)?;
                    if self.times.is_none() && scaling.is_none() {
                        return Some(trimmed(cell::element(dtype, bytes)));
                    }
                    let value = numbers(dtype, ComplexPart::Real, bytes).first().copied()?;
                    Some(written(scaling.as_ref().map_or(value, |scaling| scaling.apply(value))))
                }
            };
        }
        let (start, step) = self.regular?;
        Some(written(start + step * index as f64))
    }
}

/// A number in the digits it needs; sums of a start and steps carry noise in the last ones.
fn plain(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    trimmed(cell::float64(rounded))
}

fn trimmed(text: String) -> String {
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

impl Coordinate {
    fn read(coordinate: &dyn Array, task: &Task) -> Result<Self> {
        let (dtype, region) = (coordinate.dtype(), Region::all(coordinate.shape()));
        if let DType::Variable(_) = dtype {
            let column = coordinate.column(task, &region)?;
            let text = |row| cell::text(&*column, row).unwrap_or_default();
            return Ok(Coordinate::Texts(
                (0..column.len()).map(text).map(|text| short_name(&text)).collect(),
            ));
        }
        let raw = array::read(coordinate, task, &region)?;
        let size = dtype.size() as usize;
        let scaling = coordinate.facts().scaling;
        let mut values =
            if has_numbers(dtype) { numbers(dtype, ComplexPart::Real, &raw) } else { Vec::new() };
        if let Some(scaling) = &scaling {
            values.iter_mut().for_each(|value| *value = scaling.apply(*value));
        }
        let (uneven, step) = (UnevenCoordinates::of(&values).map(Arc::new), even_step(&values));
        let ends = values.first().zip(values.last()).and_then(|(first, last)| last.partial_cmp(first));
        let rising = ends.filter(|order| order.is_ne()).map(|order| order.is_gt());
        Ok(Coordinate::Values { dtype: dtype.clone(), size, raw, scaling, uneven, step, rising })
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::region::Span;

    use super::*;

    #[test]
    fn indices_and_values_have_words() {
        let axis = Axis {
            name: "time".to_owned(),
            unit: Some("days since 1950-01-01".to_owned()),
            regular: Some((0.0, 17.0)),
            times: Times::parse("days since 1950-01-01", ""),
            ..Axis::default()
        };
        let raw: Vec<u8> = [-45.5f32, 0.1].iter().flat_map(|v| v.to_le_bytes()).collect();
        let lat = Plain::new(Source::memory("lat", raw), 0, DType::F32, vec![2]).unwrap();
        let lat = Axis {
            name: "lat".to_owned(),
            unit: Some("degrees_north".to_owned()),
            coordinate: Some(Arc::new(lat)),
            ..Axis::default()
        };
        let facts = ArrayFacts {
            axes: vec![axis, lat],
            unit: Some("K".to_owned()),
            value_names: vec![(3, "forest".to_owned())],
            ..ArrayFacts::default()
        };
        let coordinates = AxisCoordinates::of(&Node::new("a", "array"), facts, 2);
        assert_eq!((coordinates.coordinate(1, 0), coordinates.stored().collect::<Vec<_>>()), (None, vec![1]));
        coordinates.read(&Task::new(), 1).unwrap();
        assert_eq!(coordinates.lines(&[1, 0]), ["time 1950-01-18", "lat -45.5 degrees_north"]);
        assert_eq!(coordinates.coordinate(1, 1).as_deref(), Some("0.1"));
        assert_eq!(
            (coordinates.title(0).as_str(), coordinates.title(1).as_str()),
            ("time", "lat (degrees_north)")
        );
        assert_eq!(coordinates.value(&DType::U8, &[3], "3".to_owned()), "3 (forest) K");
        // A unit without coordinates: what stands along such an axis are indices.
        let sky = Axis { name: "RA".to_owned(), unit: Some("deg".to_owned()), ..Axis::default() };
        assert_eq!(AxisCoordinates::of_axes(vec![sky]).title(0), "RA (index)");
        assert_eq!(coordinates.coordinate(1, 2), None);
        let times = Times::parse("hours since 2000-01-01", "");
        let unit = Some("hours since 2000-01-01".to_owned());
        let coordinates = AxisCoordinates::of(
            &Node::new("t", "array"),
            ArrayFacts { times, unit, ..Default::default() },
            1,
        );
        assert_eq!(coordinates.value(&DType::U8, &[48], "48".to_owned()), "48 (2000-01-03)");
    }

    #[test]
    fn proportions_are_of_steps_in_one_unit() {
        let axis = |name: &str, unit: &str, step: f64| Axis {
            name: name.to_owned(),
            unit: Some(unit.to_owned()).filter(|unit| !unit.is_empty()),
            regular: Some((10.0, step)),
            ..Axis::default()
        };
        let of = |rows: Axis, columns: Axis, step: u64| {
            let spans = vec![Span { start: 0, count: 4, step }, Span::all(8)];
            let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
            AxisCoordinates::of_axes(vec![rows, columns]).proportions(&slice)
        };
        assert_eq!(of(axis("z", "mm", -5.0), axis("x", "mm", 1.0), 1), Some([0.2, 1.0]));
        let spans = vec![Span { start: 0, count: 4, step: 2 }, Span::all(8)];
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let far = |rows: Axis, columns: Axis| {
            let axes = AxisCoordinates::of_axes(vec![rows, columns]);
            axes.distance(&slice, 3, 2).map(|(length, unit)| (length, unit.to_owned()))
        };
        // Two rows of 2 × 0.5 mm down, three columns of 1.5 mm across.
        let expected = Some((2f64.hypot(4.5), "mm".to_owned()));
        assert_eq!(far(axis("z", "mm", -0.5), axis("x", "mm", 1.5)), expected);
        assert_eq!(far(axis("z", "mm", 1.0), axis("x", "s", 1.0)), None);
        assert_eq!(of(axis("z", "mm", 5.0), axis("x", "mm", 1.0), 2), Some([0.1, 1.0]));
        assert_eq!(of(axis("a", "degrees_north", 1.0), axis("b", "degrees_east", 2.0), 1), Some([1.0, 0.5]));
        assert_eq!(of(axis("y", "", 2.0), axis("x", "", 2.001), 1), Some([1.0; 2]));
        assert_eq!(of(axis("a", "", 2.0), axis("b", "", 4.0), 1), None);
        assert_eq!(of(axis("z", "m", 5.0), axis("x", "mm", 1.0), 1), None);
        assert_eq!(of(axis("z", "mm", 500.0), axis("x", "mm", 1.0), 1), None);
        assert_eq!(of(axis("z", "mm", 0.0), axis("x", "mm", 1.0), 1), None);
    }

    #[test]
    fn maps_have_north_up_and_bodies_are_none() {
        let axis = |name: &str, unit: &str, step: f64| Axis {
            name: name.to_owned(),
            unit: Some(unit.to_owned()),
            regular: Some((10.0, step)),
            ..Axis::default()
        };
        let facing = |rows: Axis, columns: Axis| {
            let spans = vec![Span::all(4), Span::all(8)];
            let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
            let facing = AxisCoordinates::of_axes(vec![rows, columns]).facing(&slice);
            (facing.rows, facing.columns)
        };
        let (north, east) = (Some(Heading::North), Some(Heading::East));
        assert_eq!(
            facing(axis("lat", "degrees_north", 1.0), axis("lon", "degrees_east", 1.0)),
            (north, east)
        );
        let south = facing(axis("latitude", "degrees", -1.0), axis("x", "degrees_east", -1.0));
        assert_eq!(south, (Some(Heading::South), Some(Heading::West)));
        assert_eq!(facing(axis("south_north", "", 1.0), axis("west_east", "", 1.0)), (north, east));
        // Microscopes count rows from the top; so do axes in metres that no variable stands behind.
        assert_eq!(facing(axis("y", "micrometer", 1.0), axis("x", "micrometer", 1.0)), (None, None));
        assert_eq!(facing(axis("y", "m", 1.0), axis("x", "m", 1.0)), (None, None));
        let places: Vec<u8> = [5.0f64, 4.0, 3.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let places = Plain::new(Source::memory("y", places), 0, DType::F64, vec![4]).unwrap();
        let y = Axis { coordinate: Some(Arc::new(places)), regular: None, ..axis("y", "km", 1.0) };
        let coordinates = AxisCoordinates::of_axes(vec![y]);
        let slice = Slice { spans: vec![Span::all(4)], rows: Some(0), columns: None, channels: None };
        assert!(!coordinates.facing(&slice).is_known(), "it is not read yet");
        coordinates.read(&Task::new(), 0).unwrap();
        assert_eq!(coordinates.facing(&slice).rows, Some(Heading::South));
    }

    #[test]
    fn names_come_from_attributes_where_the_facts_have_none() {
        let node = Node::new("a", "array").attribute("_ARRAY_DIMENSIONS", "[\"y\", \"x\"]");
        let coordinates = AxisCoordinates::of(&node, ArrayFacts::default(), 2);
        assert_eq!((coordinates.name(1).as_str(), coordinates.is_named(0)), ("x", true));
        assert_eq!(AxisCoordinates::of(&node, ArrayFacts::default(), 3).name(2), "axis 2");
        assert_eq!(plain(0.1 + 0.2), "0.3");
    }
}
