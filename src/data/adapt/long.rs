//! Arrays as one long table: a row an element in C order, a column for each dimension and one for each array.
//!
//! The column of a dimension has its coordinates, times as times, where the file has some; else indices.

use super::{Interpreted, arrow_of};
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cf::Times;
use crate::data::content::array::Axis;
use crate::data::content::table::{batch, cut, joined};
use crate::data::content::{Array, Rows, Table};
use crate::data::region::{Region, runs};
use arrow::array::{
    ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of the rows that one step of a scan has, about.
const STEP: u64 = 16 << 20;
/// The most bytes of a step that is made larger, so that a row of chunks is read once.
const CHUNKED: u64 = 64 << 20;
/// The most coordinates along one dimension that are held in memory; of longer ones indices are given.
const COORDINATES: u64 = 1 << 27;

/// Arrays of one shape as a table of a row an element.
pub struct LongTable {
    shape: Vec<u64>,
    rows: u64,
    axes: Vec<Along>,
    arrays: Vec<Arc<dyn Array>>,
    /// For each column behind those of the dimensions: the array, and the field of its records.
    values: Vec<(usize, Option<usize>)>,
    schema: SchemaRef,
    /// Rows that are read best at once, and bytes of a row, about.
    slab: u64,
    width: u64,
}

/// What stands in the column of a dimension.
enum Along {
    Index,
    Even { start: f64, step: f64, times: Option<Times> },
    Values { array: Arc<dyn Array>, read: OnceLock<ArrayRef> },
}

impl Along {
    /// The coordinates of an axis of this length: those that are given, else those that its array knows.
    fn of(axis: &Axis, len: u64, given: Option<&Arc<dyn Array>>) -> Along {
        let fits = |array: &&Arc<dyn Array>| {
            array.shape() == [len] && len <= COORDINATES && arrow_of(array.dtype()).is_some()
        };
        if let Some(array) = axis.coordinate.as_ref().or(given).filter(fits) {
            let array = Interpreted::dated(array.clone(), axis.times.clone());
            return Along::Values { array, read: OnceLock::new() };
        }
        match axis.regular {
            Some((start, step)) => {
                Along::Even { start, step, times: axis.times.clone().filter(Times::is_usual) }
            }
            None => Along::Index,
        }
    }

    fn field(&self, name: &str) -> Field {
        match self {
            Along::Index => Field::new(name, DataType::Int64, false),
            Along::Even { times: None, .. } => Field::new(name, DataType::Float64, false),
            Along::Even { times: Some(times), .. } => {
                let zone = times.offset().map(Arc::from);
                Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, zone), true)
            }
            Along::Values { array, .. } => {
                let of = arrow_of(array.dtype()).map_or(DataType::Null, |(of, _)| of);
                Field::new(name, of, true)
            }
        }
    }

    /// The cells of these places along the dimension.
    fn cells(&self, task: &Task, places: Vec<u64>) -> Result<ArrayRef> {
        Ok(match self {
            Along::Index => Arc::new(Int64Array::from_iter_values(places.into_iter().map(|n| n as i64))),
            Along::Even { start, step, times } => {
                let values = places.into_iter().map(|n| start + step * n as f64);
                match times {
                    None => Arc::new(Float64Array::from_iter_values(values)),
                    Some(times) => {
                        let micros = values.map(|value| times.unix_micros(value));
                        let column = micros.collect::<TimestampMicrosecondArray>();
                        Arc::new(column.with_timezone_opt(times.offset()))
                    }
                }
            }
            Along::Values { array, read } => {
                let all = match read.get() {
                    Some(all) => all.clone(),
                    None => {
                        let all = array.column(task, &Region::all(array.shape()))?;
                        read.get_or_init(|| all).clone()
                    }
                };
                arrow::compute::take(all.as_ref(), &UInt64Array::from(places), None)?
            }
        })
    }
}

impl LongTable {
    /// The arrays, which are of one shape, with their names. `scales` are coordinates by the name of their dimension, for
    /// axes that do not know theirs.
    ///
    /// # Errors
    /// `Unsupported` for elements without bytes; `Bug` for arrays of different shapes; `Malformed` for more elements
    /// than can be counted.
    pub fn new(
        arrays: Vec<(String, Arc<dyn Array>)>,
        scales: &BTreeMap<String, Arc<dyn Array>>,
    ) -> Result<Self> {
        let Some((_, first)) = arrays.first() else { return Err(Error::bug("a table of no arrays")) };
        let shape = first.shape().to_vec();
        let rows = limits::elements(&shape)?;
        let known = first.facts().axes;
        let mut names = Names::default();
        let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        let values: HashSet<String> = arrays.iter().map(|(name, _)| last(name)).collect();
        let (mut axes, mut fields) = (Vec::new(), Vec::new());
        for (n, &len) in shape.iter().enumerate() {
            let axis = known.get(n).filter(|_| known.len() == shape.len()).cloned().unwrap_or_default();
            let along = Along::of(&axis, len, scales.get(&axis.name));
            let name = last(&axis.name);
            let name = match (name.is_empty(), &along) {
                (true, _) => format!("dim_{n}"),
                // The coordinates themselves: their own values have the name.
                (false, Along::Index) if values.contains(&name) => format!("{name}_index"),
                (false, _) => name,
            };
            fields.push(along.field(&names.unique(name)));
            axes.push(along);
        }
        let mut columns = Vec::new();
        let alone = arrays.len() == 1;
        for (number, (name, array)) in arrays.iter().enumerate() {
            if array.shape() != shape {
                let shapes = format!("{} and {}", display::shape(array.shape()), display::shape(&shape));
                return Err(Error::bug(format!("one table of arrays of shape {shapes}")));
            }
            let Some((of, _)) = arrow_of(array.dtype()) else {
                return Err(Error::unsupported(format!("{name}: its elements have no bytes")));
            };
            let name = if name.is_empty() { "value" } else { name.as_str() };
            match of {
                DataType::Struct(members) if array.dtype().record().is_some() => {
                    for (field, member) in members.iter().enumerate() {
                        let own = member.name();
                        let name = if alone { own.clone() } else { format!("{name}.{own}") };
                        fields.push(member.as_ref().clone().with_name(names.unique(name)));
                        columns.push((number, Some(field)));
                    }
                }
                of => {
                    fields.push(Field::new(names.unique(name.to_owned()), of, true));
                    columns.push((number, None));
                }
            }
        }
        let arrays: Vec<Arc<dyn Array>> = arrays.into_iter().map(|(_, array)| array).collect();
        let width =
            arrays.iter().map(|array| array.dtype().size().max(8)).sum::<u64>() + 8 * axes.len() as u64;
        let slab = slab(&shape, width, &arrays);
        Ok(LongTable {
            shape,
            rows,
            axes,
            arrays,
            values: columns,
            schema: Arc::new(Schema::new(fields)),
            slab,
            width,
        })
    }

    /// The places along a dimension of these rows.
    fn places(&self, axis: usize, rows: &Range<u64>) -> Vec<u64> {
        let len = self.shape.get(axis).copied().unwrap_or(1).max(1);
        let inner: u64 = self.shape.iter().skip(axis + 1).product::<u64>().max(1);
        let mut out = Vec::with_capacity((rows.end - rows.start) as usize);
        let (mut place, mut left) = ((rows.start / inner) % len, inner - rows.start % inner);
        let mut more = rows.end - rows.start;
        while more > 0 {
            let count = left.min(more);
            out.resize(out.len() + count as usize, place);
            more -= count;
            left = inner;
            place = (place + 1) % len;
        }
        out
    }
}

/// Rows of whole parts of the array: as many of its last dimensions as a step has room for, or a row of chunks.
fn slab(shape: &[u64], width: u64, arrays: &[Arc<dyn Array>]) -> u64 {
    let below =
        |axis: usize| shape.iter().skip(axis).fold(1u64, |all, side| all.saturating_mul(*side)).max(1);
    let fits = |rows: u64, most: u64| rows.saturating_mul(width.max(1)) <= most;
    let chunks = arrays.iter().filter_map(|array| array.facts().chunks).map(|chunks| {
        let mut sides = chunks.into_iter().enumerate().filter(|(_, side)| *side > 1);
        sides.next().map_or(1, |(axis, side)| side.saturating_mul(below(axis + 1)))
    });
    let chunked = chunks.max().unwrap_or(1);
    let plain = (0..=shape.len()).map(below).find(|rows| fits(*rows, STEP)).unwrap_or(1);
    if chunked > plain && fits(chunked, CHUNKED) { chunked } else { plain }
}

/// Names of columns, each once.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn unique(&mut self, name: String) -> String {
        let mut unique = name.clone();
        for n in 2u64.. {
            if self.0.insert(unique.clone()) {
                break;
            }
            unique = format!("{name}_{n}");
        }
        unique
    }
}

impl Table for LongTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.rows);
        let count = limits::check(rows.end - rows.start, limits::READ / 8, "these rows")?;
        let regions = runs(&self.shape, rows.clone());
        // Fields of the same records are read together.
        let mut read: Vec<Option<ArrayRef>> = vec![None; self.arrays.len()];
        let mut out = Vec::with_capacity(columns.len());
        for &column in columns {
            task.check()?;
            if let Some(along) = self.axes.get(column) {
                out.push(along.cells(task, self.places(column, &rows))?);
                continue;
            }
            let wanted = self.values.get(column - self.axes.len()).copied();
            let (number, field) =
                wanted.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            let (Some(array), Some(slot)) = (self.arrays.get(number), read.get_mut(number)) else {
                return Err(Error::bug("a column of no array"));
            };
            let elements = match slot {
                Some(known) => known.clone(),
                None => {
                    let parts = regions.iter().map(|region| array.column(task, region));
                    let parts: Vec<ArrayRef> = parts.collect::<Result<_>>()?;
                    let of = arrow_of(array.dtype()).map_or(DataType::Null, |(of, _)| of);
                    slot.insert(joined(&parts, &of)?).clone()
                }
            };
            out.push(match field {
                None => elements,
                Some(field) => {
                    let found = elements.as_struct_opt().and_then(|records| records.columns().get(field));
                    found.cloned().ok_or_else(|| Error::bug("no such field of the records"))?
                }
            });
        }
        batch(&self.schema, columns, out, count)
    }

    fn scan_step(&self, at: u64) -> u64 {
        let most = (STEP / self.width.max(1)).clamp(1, 1 << 20).max(self.slab);
        let step = (most / self.slab).max(1) * self.slab;
        step - at % self.slab
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::cell;
    use crate::data::content::ArrayFacts;
    use crate::data::content::array::Plain;
    use crate::data::dtype::{DType, Field, Record};
    use proptest::prelude::*;

    fn plain(dtype: DType, bytes: Vec<u8>, shape: &[u64], facts: ArrayFacts) -> Arc<dyn Array> {
        let plain = Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap();
        Arc::new(plain.with_facts(facts))
    }

    fn cells(table: &LongTable, rows: Range<u64>) -> Vec<Vec<String>> {
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let batch = table.read(&Task::new(), rows, &columns).unwrap();
        let cell = |row| batch.columns().iter().map(move |c| cell::text(c.as_ref(), row).unwrap_or_default());
        (0..batch.num_rows()).map(|row| cell(row).collect()).collect()
    }

    #[test]
    fn an_element_is_a_row_with_its_coordinates() {
        let days: Vec<u8> = [0i32, 31].iter().flat_map(|n| n.to_le_bytes()).collect();
        let lat: Vec<u8> = [-0.5f32, 0.1, 7.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        let times = Times::parse("days since 2000-01-01", "");
        let time = Axis {
            name: "time".into(),
            coordinate: Some(plain(DType::I32, days, &[2], ArrayFacts::default())),
            times,
            ..Axis::default()
        };
        let lat = Axis {
            name: "lat".into(),
            coordinate: Some(plain(DType::F32, lat, &[3], ArrayFacts::default())),
            ..Axis::default()
        };
        let level = Axis { name: "level".into(), regular: Some((10.0, 2.5)), ..Axis::default() };
        let facts = ArrayFacts { axes: vec![time, lat, level], ..ArrayFacts::default() };
        let a = plain(DType::U8, (0..12).collect(), &[2, 3, 2], facts.clone());
        let b = plain(DType::I8, (100..112).collect(), &[2, 3, 2], facts);
        let table = LongTable::new(vec![("a".into(), a), ("g/b".into(), b)], &BTreeMap::new()).unwrap();
        let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!((names, table.rows()), (vec!["time", "lat", "level", "a", "g/b"], Rows::Exact(12)));
        let all = cells(&table, 0..99);
        assert_eq!(all[0], ["2000-01-01T00:00:00", "-0.5", "10.0", "0", "100"]);
        assert_eq!(all[9], ["2000-02-01T00:00:00", "0.1", "12.5", "9", "109"]);
        assert_eq!(cells(&table, 9..10)[0], all[9]);
    }

    #[test]
    fn records_are_columns_and_scalars_one_row() {
        let bytes: Vec<u8> = (0..4u8).flat_map(|n| [n, 0, n + 50]).collect();
        let field = |name: &str, dtype, offset| Field { name: name.into(), dtype, shape: vec![], offset };
        let fields = vec![field("x", DType::U16, 0), field("y", DType::U8, 2)];
        let record = DType::Struct(Arc::new(Record { fields, size: 3 }));
        let table = LongTable::new(
            vec![("r".into(), plain(record, bytes, &[2, 2], ArrayFacts::default()))],
            &BTreeMap::new(),
        );
        assert_eq!(cells(&table.unwrap(), 2..3)[0], ["1", "0", "2", "52"]);
        let one = plain(DType::U8, vec![7], &[], ArrayFacts::default());
        let table = LongTable::new(vec![("s".into(), one)], &BTreeMap::new()).unwrap();
        assert_eq!((cells(&table, 0..9), table.scan_step(0)), (vec![vec!["7".to_owned()]], 1 << 20));
    }

    #[test]
    fn a_coordinate_keeps_its_own_values() {
        let axis = Axis { name: "lat".into(), ..Axis::default() };
        let lat =
            plain(DType::U8, vec![5, 6], &[2], ArrayFacts { axes: vec![axis], ..ArrayFacts::default() });
        let table = LongTable::new(vec![("lat".into(), lat)], &BTreeMap::new()).unwrap();
        let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["lat_index", "lat"]);
        assert_eq!(cells(&table, 1..2)[0], ["1", "6"]);
    }

    proptest! {
        #[test]
        fn any_rows_are_those_of_the_whole(shape in prop::collection::vec(1u64..5, 0..4), cuts in prop::collection::vec(0u64..64, 2)) {
            let count = shape.iter().product::<u64>();
            let array = plain(DType::U8, (0..count as u8).collect(), &shape, ArrayFacts::default());
            let table = LongTable::new(vec![("a".into(), array)], &BTreeMap::new()).unwrap();
            let all = cells(&table, 0..count);
            for (n, row) in all.iter().enumerate() {
                let index = row[..shape.len()].iter().zip(&shape).fold(0, |at, (i, side)| at * side + i.parse::<u64>().unwrap());
                prop_assert_eq!(index, n as u64);
                prop_assert_eq!(&row[shape.len()], &n.to_string());
            }
            let (a, b) = (cuts[0].min(cuts[1]).min(count), cuts[0].max(cuts[1]).min(count));
            prop_assert_eq!(cells(&table, a..b), all[a as usize..b as usize].to_vec());
        }
    }
}
