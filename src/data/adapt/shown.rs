//! An array as what its stored numbers stand for: scaled, dated, and without those that mean *missing*.

use super::{MappedArray, arrow_of, column};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cf::Times;
use crate::data::content::array::{self, Scaling, Stored};
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::{DType, Variable};
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::Region;
use arrow::array::{Array as _, ArrayRef, Float64Array, TimestampMicrosecondArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, TimeUnit};
use std::sync::Arc;

/// What the elements of an array stand for.
pub struct Interpreted {
    array: Arc<dyn Array>,
    scaling: Option<Scaling>,
    times: Option<Times>,
    dtype: DType,
}

impl Interpreted {
    /// For a table: a column of numbers or times in which missing ones are null. `None` where stored values
    /// stand for themselves.
    pub fn nullable(array: Arc<dyn Array>) -> Option<Self> {
        let (scaling, times) = meaning(array.as_ref());
        Self::of(array, scaling, times)
    }

    /// Coordinates for a table: the array itself where stored values stand for themselves. `times` is how they are read
    /// where the array does not say it.
    pub fn dated(array: Arc<dyn Array>, times: Option<Times>) -> Arc<dyn Array> {
        let (scaling, own) = meaning(array.as_ref());
        let is_real = array.dtype().is_real() && *array.dtype() != DType::Bool;
        let times = own.or(times.filter(|times| is_real && times.is_usual()));
        Self::of(array.clone(), scaling, times).map_or(array, |shown| Arc::new(shown))
    }

    fn of(array: Arc<dyn Array>, scaling: Option<Scaling>, times: Option<Times>) -> Option<Self> {
        let arrow = match (&scaling, &times) {
            (_, Some(times)) => DataType::Timestamp(TimeUnit::Microsecond, times.offset().map(Arc::from)),
            (Some(scaling), None) if scaling.is_identity() => arrow_of(array.dtype())?.0,
            (Some(_), None) => DataType::Float64,
            (None, None) => return None,
        };
        let word = crate::bytes::display::arrow_type(&arrow);
        let variable = Variable { word, arrow, reference: false };
        Some(Interpreted { array, scaling, times, dtype: DType::Variable(Arc::new(variable)) })
    }

    /// For an array: float64 in which missing ones are NaN. `None` where there is no scaling.
    pub fn floats(array: Arc<dyn Array>) -> Option<MappedArray> {
        let scaling = meaning(array.as_ref()).0?;
        let mut floats = MappedArray::scaled(array, scaling, DType::F64);
        floats.facts = facts(floats.facts);
        Some(floats)
    }

    /// `count` stored elements as a column of what they stand for.
    fn meant(&self, raw: &[u8], count: usize) -> Result<ArrayRef> {
        let mut stored = Vec::with_capacity(count);
        self.array.dtype().decode(raw, &mut stored);
        let apply = |value: &f64| self.scaling.as_ref().map_or(*value, |scaling| scaling.apply(*value));
        if let Some(times) = &self.times {
            let micros = stored.iter().map(|value| times.unix_micros(apply(value)));
            let column = micros.collect::<TimestampMicrosecondArray>();
            return Ok(Arc::new(column.with_timezone_opt(times.offset())));
        }
        // NaN that is stored is a value, not a missing one.
        let nulls =
            NullBuffer::from_iter(stored.iter().map(|value| value.is_nan() || !apply(value).is_nan()));
        if self.scaling.as_ref().is_none_or(Scaling::is_identity) {
            let column = column(self.array.dtype(), &[], raw, count)?;
            return Ok(make_array(column.to_data().into_builder().nulls(Some(nulls)).build()?));
        }
        let values: Vec<f64> = stored.iter().map(apply).collect();
        Ok(Arc::new(Float64Array::new(values.into(), Some(nulls))))
    }
}

/// The scaling, and the times that can be told in the usual calendar.
fn meaning(array: &dyn Array) -> (Option<Scaling>, Option<Times>) {
    let facts = array.facts();
    let is_real = array.dtype().is_real() && *array.dtype() != DType::Bool;
    (facts.scaling.filter(|_| is_real), facts.times.filter(|times| is_real && times.is_usual()))
}

/// What is known of the elements of an array still holds of what they stand for.
fn facts(facts: ArrayFacts) -> ArrayFacts {
    let ArrayFacts { axes, unit, window, value_names, .. } = facts;
    ArrayFacts { axes, unit, window, value_names, ..ArrayFacts::default() }
}

impl Array for Interpreted {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
        Err(Error::bug("bytes of values that may be null"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let raw = array::read(self.array.as_ref(), task, region)?;
        self.meant(&raw, limits::check(region.elements()?, u64::MAX, "this part")?)
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        let Some(Stored { regions, element, .. }) = self.array.stored(task)? else { return Ok(None) };
        let row = element.map(|element| self.meant(&element, 1)).transpose()?;
        Ok(Some(Stored { regions, element: None, row }))
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        self.array.location(task, index)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.array.owner(task, byte)
    }

    fn facts(&self) -> ArrayFacts {
        facts(self.array.facts())
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.array.prefetch(task, region);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::adapt::ArrayTable;
    use crate::data::cell;
    use crate::data::content::Table;
    use crate::data::content::array::Plain;

    fn made(facts: ArrayFacts, shape: &[u64], values: &[i16]) -> Arc<dyn Array> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let plain = Plain::new(Source::memory("a", bytes), 0, DType::I16, shape.to_vec()).unwrap();
        Arc::new(plain.with_facts(facts))
    }

    fn cells(array: Interpreted, columns: usize) -> Vec<Option<String>> {
        let table = ArrayTable::new("t", Arc::new(array)).unwrap();
        let columns: Vec<usize> = (0..columns).collect();
        let batch = table.read(&Task::new(), 0..9, &columns).unwrap();
        let row = |row| batch.columns().iter().map(move |column| cell::text(column.as_ref(), row));
        (0..batch.num_rows()).flat_map(row).collect()
    }

    #[test]
    fn missing_ones_are_null_and_others_are_scaled() {
        let scaling = Scaling { scale: 0.5, offset: 10.0, fill: vec![-1.0], valid: Some((-9.0, 100.0)) };
        let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
        let array = made(facts, &[2, 2], &[4, -1, 101, 7]);
        let texts = cells(Interpreted::nullable(array.clone()).unwrap(), 2);
        assert_eq!(texts, [Some("12.0".to_owned()), None, None, Some("13.5".to_owned())]);
        let floats = Interpreted::floats(array).unwrap();
        let bytes = array::read(&floats, &Task::new(), &Region::all(&[2, 2])).unwrap();
        let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        assert!(values[0] == 12.0 && values[1].is_nan() && values[3] == 13.5);
    }

    #[test]
    fn integers_stay_integers_where_only_the_missing_are_marked() {
        let scaling = Scaling { scale: 1.0, offset: 0.0, fill: vec![-1.0], valid: None };
        let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
        let shown = Interpreted::nullable(made(facts, &[2], &[4, -1])).unwrap();
        assert_eq!(shown.dtype().to_string(), "int16");
        assert_eq!(cells(shown, 1), [Some("4".to_owned()), None]);
        assert!(Interpreted::nullable(made(ArrayFacts::default(), &[1], &[4])).is_none());
    }

    #[test]
    fn counts_of_time_are_dates() {
        let times = Times::parse("hours since 2000-01-01 12:00", "");
        let facts = ArrayFacts { times, ..ArrayFacts::default() };
        let texts = cells(Interpreted::nullable(made(facts, &[2], &[0, 36])).unwrap(), 1);
        assert_eq!(texts[0].as_deref(), Some("2000-01-01T12:00:00"));
        assert_eq!(texts[1].as_deref(), Some("2000-01-03T00:00:00"));
        let other =
            ArrayFacts { times: Times::parse("days since 2000-01-01", "360_day"), ..ArrayFacts::default() };
        assert!(Interpreted::nullable(made(other, &[1], &[1])).is_none());
    }
}
