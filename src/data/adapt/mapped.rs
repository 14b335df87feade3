//! Arrays and tables that are others with other elements, cells or facts at the same places: what is known of the one
//! underneath is known of them, too, as far as it still holds.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{self, MissingRegion, Scaling, Stored};
use crate::data::content::table::{Columns, batch};
use crate::data::content::{Array, ArrayFacts, ColumnStatistics, Layout, RowRanges, Rows, Table, TableFacts};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::Region;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, SchemaRef};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Elements of the one type, as bytes, made to those of the other.
type Convert = dyn Fn(&[u8], &mut [u8]) -> Result<()> + Send + Sync;

/// An array of the same shape as another one, each of whose elements is made of that one's at the same place.
pub struct MappedArray {
    inner: Arc<dyn Array>,
    dtype: DType,
    pub(super) facts: ArrayFacts,
    /// `None` where the bytes are the same.
    convert: Option<Box<Convert>>,
}

impl MappedArray {
    /// `inner` with other facts, and its bytes as elements of `dtype`, which has as many.
    pub fn new(inner: Arc<dyn Array>, dtype: DType, change: impl FnOnce(&mut ArrayFacts)) -> Self {
        let mut facts = inner.facts();
        change(&mut facts);
        MappedArray { inner, dtype, facts, convert: None }
    }

    /// With elements that `convert` makes of those of the inner array: as many, little-endian, in the same order.
    pub fn converted(self, convert: impl Fn(&[u8], &mut [u8]) -> Result<()> + Send + Sync + 'static) -> Self {
        MappedArray { convert: Some(Box::new(convert)), ..self }
    }

    /// What stored values of a real type stand for, as floats of the type `dtype`: NaN for missing ones.
    pub fn scaled(inner: Arc<dyn Array>, scaling: Scaling, dtype: DType) -> Self {
        let (stored, float) = (inner.dtype().clone(), dtype.clone());
        let change =
            |facts: &mut ArrayFacts| (facts.scaling, facts.bytes_stored, facts.word) = (None, None, None);
        MappedArray::new(inner, dtype, change).converted(move |raw, out| {
            let mut values = Vec::with_capacity(raw.len() / stored.size().max(1) as usize);
            stored.decode(raw, &mut values);
            values.iter_mut().for_each(|value| *value = scaling.apply(*value));
            float.encode(&values, out);
            Ok(())
        })
    }

    /// The same numbers as elements of the type `dtype` (see [`DType::cast`]); `None` where one of the types has no numbers.
    pub fn cast(inner: Arc<dyn Array>, dtype: DType) -> Option<Self> {
        let from = inner.dtype().clone();
        from.fit(&dtype)?;
        let to = dtype.clone();
        let change = |facts: &mut ArrayFacts| (facts.bytes_stored, facts.word) = (None, None);
        Some(MappedArray::new(inner, dtype, change).converted(
            move |raw, out| match from.cast(&to, raw, out) {
                true => Ok(()),
                false => Err(Error::bug(format!("{from} as {to}"))),
            },
        ))
    }

    /// One element of the inner array as one of this one.
    fn element(&self, element: Vec<u8>) -> Result<Vec<u8>> {
        let Some(convert) = &self.convert else { return Ok(element) };
        let mut out = vec![0; self.dtype.size() as usize];
        convert(&element, &mut out)?;
        Ok(out)
    }

    /// Whether columns of the inner array are columns of this one.
    fn is_same(&self) -> bool {
        self.convert.is_none() && self.dtype == *self.inner.dtype()
    }
}

/// What stored values stand for, with no more digits than these are worth, as xarray chooses; `None` for an array that
/// holds no real numbers.
pub fn scaled(array: Arc<dyn Array>, scaling: Scaling) -> Option<MappedArray> {
    let stored = array.dtype();
    if !stored.is_real() {
        return None;
    }
    let few = stored.size() <= 2 || *stored == DType::F32;
    Some(MappedArray::scaled(array, scaling, if few { DType::F32 } else { DType::F64 }))
}

impl Array for MappedArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        match &self.convert {
            None => self.inner.read(task, region, out),
            Some(convert) => convert(&array::read(self.inner.as_ref(), task, region)?, out),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let Some(convert) = &self.convert else { return self.inner.read_lenient(task, region, out) };
        let (raw, gaps) = array::read_lenient(self.inner.as_ref(), task, region)?;
        convert(&raw, out)?;
        Ok(gaps)
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        self.inner.location(task, index)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.inner.owner(task, byte)
    }

    fn verbatim(&self) -> Option<(Source, Range<u64>)> {
        if self.convert.is_none() { self.inner.verbatim() } else { None }
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        self.inner.unstored(task, region)?.map(|element| self.element(element)).transpose()
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        let Some(Stored { regions, element, row }) = self.inner.stored(task)? else { return Ok(None) };
        let element = element.map(|element| self.element(element)).transpose()?;
        Ok(Some(Stored { regions, element, row: row.filter(|_| self.is_same()) }))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        match self.is_same() {
            true => self.inner.column(task, region),
            false => array::column_of_bytes(self, task, region),
        }
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        self.inner.layout(task)
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.inner.prefetch(task, region);
    }
}

/// What the cells of some columns of a table are made to.
pub trait ColumnMap: Send + Sync {
    /// Whether the cells of a column are other ones; else it is left as it is.
    fn changes(&self, column: usize) -> bool;

    /// Cells of a column that changes as those of its new field.
    ///
    /// # Errors
    /// What keeps a cell from being one.
    fn map(&self, cells: &ArrayRef, column: usize, field: &Field) -> Result<ArrayRef>;

    /// What still holds of a column that changes of what is known of the one underneath.
    fn known(&self, found: ColumnStatistics, field: &Field) -> ColumnStatistics {
        found.read_as(field.data_type())
    }
}

/// A table of the same rows and as many columns as another one, some of which have other cells.
pub struct MappedTable<M> {
    pub(super) inner: Arc<dyn Table>,
    columns: Columns,
    pub(super) map: Arc<M>,
}

impl<M: ColumnMap> MappedTable<M> {
    /// The columns of `inner` as `map` makes them; `schema` has their new fields.
    pub fn new(inner: Arc<dyn Table>, schema: SchemaRef, map: M) -> Self {
        let kept = |column: usize| inner.inferred(column).filter(|_| !map.changes(column)).cloned();
        let columns = Columns::new((0..schema.fields().len()).map(kept), schema);
        MappedTable { inner, columns, map: Arc::new(map) }
    }

    fn batch(&self, task: &Task, read: &RecordBatch, columns: &[usize]) -> Result<RecordBatch> {
        let one = |(cells, &column): (&ArrayRef, &usize)| {
            task.check()?;
            match self.columns.schema.fields().get(column) {
                Some(field) if self.map.changes(column) => self.map.map(cells, column, field),
                _ => Ok(cells.clone()),
            }
        };
        let arrays = read.columns().iter().zip(columns).map(one).collect::<Result<_>>()?;
        batch(&self.columns.schema, columns, arrays, read.num_rows())
    }

    fn known(&self, found: ColumnStatistics, column: usize) -> ColumnStatistics {
        match self.columns.schema.fields().get(column) {
            Some(field) if self.map.changes(column) => self.map.known(found, field),
            _ => found,
        }
    }

    fn ranges(&self, RowRanges { rows, columns: found }: RowRanges, columns: &[usize]) -> RowRanges {
        let columns = found.into_iter().zip(columns).map(|(found, &column)| self.known(found, column));
        RowRanges { rows, columns: columns.collect() }
    }
}

impl<M: ColumnMap + 'static> Table for MappedTable<M> {
    fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    fn rows(&self) -> Rows {
        self.inner.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.batch(task, &self.inner.read(task, rows, columns)?, columns)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.columns.inferred(column)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.inner.count(task)
    }

    fn read_headers(&self, task: &Task, most: usize) -> Result<()> {
        self.inner.read_headers(task, most)
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, read) = self.inner.tail(task, count, columns)?;
        Ok((first, self.batch(task, &read, columns)?))
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.inner.scan_step(at)
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        self.inner.equal_rows(task, at)
    }

    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        self.inner.sample(task, most)
    }

    fn facts(&self) -> TableFacts {
        self.inner.facts()
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        Some(self.known(self.inner.statistics(column)?, column)).filter(ColumnStatistics::is_known)
    }

    fn layout(&self) -> Layout {
        self.inner.layout()
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], parts: &[bool]) -> Result<Option<RowRanges>> {
        Ok(self.inner.row_ranges(task, columns, parts)?.map(|found| self.ranges(found, columns)))
    }

    fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
        Some(self.ranges(self.inner.parts(columns)?, columns))
    }

    fn with_parts(&self, parts: &[bool]) -> Option<Arc<dyn Table>> {
        let (inner, map) = (self.inner.with_parts(parts)?, self.map.clone());
        Some(Arc::new(MappedTable { inner, columns: self.columns.clone(), map }))
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        self.inner.location(task, row, column)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.inner.owner(task, byte)
    }

    fn native(&self) -> Option<Box<dyn Any + Send>> {
        // What its format reads would be the columns as they were.
        let changes = (0..self.columns.schema.fields().len()).any(|column| self.map.changes(column));
        if changes || self.columns.schema != *self.inner.schema() { None } else { self.inner.native() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::adapt::{
        ArrayView, Cast, FieldArray, FieldPath, Interpreted, LenientTyped, TableView, Typed,
    };
    use crate::data::content::array::Plain;
    use crate::data::content::table::MemoryTable;
    use crate::data::region::{Span, pieces};
    use arrow::array::{Int64Array, StringArray};
    use std::collections::BTreeMap;

    #[test]
    fn stored_values_become_what_they_mean() {
        let bytes: Vec<u8> = [100i16, -1, 27315].iter().flat_map(|v| v.to_le_bytes()).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::I16, vec![3]).unwrap());
        let scaling = Scaling { scale: 0.01, offset: 0.0, fill: vec![-1.0], valid: None };
        assert_eq!(scaling.to_string(), "stored × 0.01; -1 missing");
        let scaled = super::scaled(array, scaling).unwrap();
        let raw = array::read(&scaled, &Task::new(), &Region::all(&[3])).unwrap();
        let values: Vec<f32> = raw.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert!(values[0] == 1.0 && values[1].is_nan() && values[2] == 273.15);
    }

    /// Elements of which the file holds those in some regions; all others are alike.
    struct Few(Plain, Vec<Region>, Vec<u8>);

    impl Array for Few {
        fn dtype(&self) -> &DType {
            self.0.dtype()
        }
        fn shape(&self) -> &[u64] {
            self.0.shape()
        }
        fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
            self.0.read(task, region, out)
        }
        fn unstored(&self, _: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
            Ok((region.elements()? == 0).then(|| self.2.clone()))
        }
        fn stored(&self, _: &Task) -> Result<Option<Stored>> {
            Ok(Some(Stored { regions: self.1.clone(), element: Some(self.2.clone()), row: None }))
        }
        fn facts(&self) -> ArrayFacts {
            self.0.facts()
        }
    }

    /// Six rows of five `element`s; those in `2..4, 1..4` are zeros.
    fn few(dtype: DType, element: &[u8], facts: ArrayFacts) -> Arc<dyn Array> {
        let there = Region(vec![Span::range(2, 2), Span::range(1, 3)]);
        let place = |n: usize| (2..4).contains(&(n / 5)) && (1..4).contains(&(n % 5));
        let bytes = (0..30).flat_map(|n| if place(n) { vec![0; element.len()] } else { element.to_vec() });
        let source = Source::memory("few", bytes.collect::<Vec<u8>>());
        let plain = Plain::new(source, 0, dtype, vec![6, 5]).unwrap().with_facts(facts);
        Arc::new(Few(plain, vec![there], element.to_vec()))
    }

    /// Whether all elements that lie in no stored region are the one that is told, and some lie in one.
    fn is_told(array: &dyn Array) {
        let (task, shape) = (Task::new(), array.shape().to_vec());
        let stored = array.stored(&task).unwrap().unwrap();
        assert!(stored.elements() > 0);
        for at in pieces(&shape, 1) {
            let holds = |region: &&Region| {
                let mut spans = region.0.iter().zip(&at.0);
                spans.all(|(there, at)| (there.start..there.end()).contains(&at.start))
            };
            match stored.regions.iter().filter(holds).count() {
                0 if array.dtype().is_variable() => {
                    let text = |column: &ArrayRef| crate::data::cell::text(column.as_ref(), 0);
                    assert_eq!(text(&array.column(&task, &at).unwrap()), text(stored.row.as_ref().unwrap()));
                }
                0 => assert_eq!(Some(array::read(array, &task, &at).unwrap()), stored.element, "{at:?}"),
                regions => assert_eq!(regions, 1),
            }
        }
        if !array.dtype().is_variable() {
            let nothing = Region(shape.iter().map(|_| Span::range(0, 0)).collect());
            assert_eq!(array.unstored(&task, &nothing).unwrap(), stored.element);
        }
    }

    #[test]
    fn what_is_stored_is_known_through_every_adapter() {
        let scaling = Scaling { scale: 2.0, offset: 1.0, fill: vec![0.0], valid: None };
        let facts = ArrayFacts { scaling: Some(scaling.clone()), ..ArrayFacts::default() };
        let numbers = few(DType::I16, &7i16.to_le_bytes(), facts);
        is_told(&super::scaled(numbers.clone(), scaling).unwrap());
        is_told(&Interpreted::nullable(numbers.clone()).unwrap());
        is_told(&MappedArray::new(numbers.clone(), DType::U16, |_| {}));
        for slice in ["", "3", "1:, ::2", "1::2, 3", "2:5, 2:3"] {
            is_told(&ArrayView::parse(numbers.clone(), slice).unwrap());
        }
        let field = |name: &str, shape: &[u64], offset| crate::data::dtype::Field {
            name: name.to_owned(),
            dtype: DType::U8,
            shape: shape.to_vec(),
            offset,
        };
        let fields = vec![field("one", &[], 0), field("same", &[2], 1), field("other", &[2], 2)];
        let record = DType::Struct(Arc::new(crate::data::dtype::Record { fields, size: 4 }));
        let records = few(record, &[7, 8, 8, 9], ArrayFacts::default());
        let fields = FieldPath::all(records.dtype());
        let of = |n: usize| FieldArray::new(records.clone(), fields[n].clone());
        is_told(&of(0));
        is_told(&of(1));
        assert!(of(2).stored(&Task::new()).unwrap().is_none(), "its elements differ in one record");
    }

    /// A table that says something of everything.
    struct Known(MemoryTable);

    impl Known {
        fn ranges(columns: &[usize]) -> RowRanges {
            let one = |column: &usize| {
                let value: ArrayRef = match column {
                    0 => Arc::new(Int64Array::from(vec![5])),
                    _ => Arc::new(StringArray::from(vec!["5"])),
                };
                ColumnStatistics::constant(&value, &[3]).unwrap()
            };
            RowRanges { rows: std::iter::once(0..3).collect(), columns: columns.iter().map(one).collect() }
        }
    }

    impl Table for Known {
        fn schema(&self) -> &SchemaRef {
            self.0.schema()
        }
        fn rows(&self) -> Rows {
            Rows::About { rows: 4, known: 3 }
        }
        fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            self.0.read(task, rows, columns)
        }
        fn inferred(&self, column: usize) -> Option<&DataType> {
            self.0.inferred(column)
        }
        fn count(&self, _: &Task) -> Result<u64> {
            Ok(3)
        }
        fn read_headers(&self, _: &Task, _: usize) -> Result<()> {
            Err(Error::cancelled())
        }
        fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
            Ok((None, self.0.read(task, 0..count, columns)?))
        }
        fn scan_step(&self, _: u64) -> u64 {
            2
        }
        fn equal_rows(&self, _: &Task, at: u64) -> Result<u64> {
            Ok(3 - at)
        }
        fn sample(&self, _: &Task, _: u64) -> Result<Vec<Range<u64>>> {
            Ok(vec![0..1, 2..3])
        }
        fn facts(&self) -> TableFacts {
            TableFacts { row_groups: Some(7), ..TableFacts::default() }
        }
        fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
            Known::ranges(&[column]).columns.pop()
        }
        fn layout(&self) -> Layout {
            Layout { unit: "known", ..Layout::default() }
        }
        fn row_ranges(&self, _: &Task, columns: &[usize], _: &[bool]) -> Result<Option<RowRanges>> {
            Ok(Some(Known::ranges(columns)))
        }
        fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
            Some(Known::ranges(columns))
        }
        fn with_parts(&self, parts: &[bool]) -> Option<Arc<dyn Table>> {
            parts.contains(&true).then(|| known())
        }
        fn native(&self) -> Option<Box<dyn Any + Send>> {
            Some(Box::new(()))
        }
    }

    /// Two columns of fives, the second as texts.
    fn known() -> Arc<dyn Table> {
        let columns = [(Field::new("n", DataType::Int64, true), None), Columns::text("t", DataType::Int64)];
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![5; 3]));
        let values = vec![numbers, Arc::new(StringArray::from(vec!["5"; 3]))];
        Arc::new(Known(MemoryTable::of(columns.into_iter().collect(), values).unwrap()))
    }

    #[test]
    fn what_is_known_of_a_table_is_known_through_every_adapter() {
        let task = Task::new();
        let view = TableView::new(known(), 0..u64::MAX, vec![0, 1]).unwrap();
        let tables: [(Arc<dyn Table>, bool); 5] = [
            (Arc::new(Cast::cast(known(), vec![None, Some(DataType::LargeUtf8)])), true),
            (Arc::new(Cast::cast(known(), vec![None, None])), true),
            (Arc::new(Typed::strict(known(), &BTreeMap::new())), false),
            (Arc::new(LenientTyped::lenient(known())), false),
            (Arc::new(view), true),
        ];
        for (n, (table, is_text_known)) in tables.iter().enumerate() {
            assert_eq!((table.rows(), table.count(&task).unwrap()), (known().rows(), 3));
            assert!(table.read_headers(&task, 1).unwrap_err().is_cancelled());
            assert_eq!((table.scan_step(0), table.equal_rows(&task, 1).unwrap()), (2, 2));
            assert_eq!(table.sample(&task, 1).unwrap(), [0..1, 2..3]);
            assert_eq!((table.facts().row_groups, table.layout().unit), (Some(7), "known"));
            let least = |found: Option<ColumnStatistics>| found.and_then(|found| found.min_text());
            assert_eq!(least(table.statistics(0)).as_deref(), Some("5"));
            assert_eq!(least(table.statistics(1)).is_some(), *is_text_known);
            assert_eq!(table.read(&task, 0..9, &[1, 0]).unwrap().num_rows(), 3);
            if n < 4 {
                assert_eq!(table.tail(&task, 1, &[1]).unwrap().0, None);
                for found in [table.row_ranges(&task, &[1, 0], &[]).unwrap(), table.parts(&[1, 0])] {
                    let [text, number] = found.unwrap().columns.try_into().unwrap();
                    assert_eq!(
                        (least(Some(number)).as_deref(), least(Some(text)).is_some()),
                        (Some("5"), *is_text_known)
                    );
                }
                let (one, none) = (table.with_parts(&[true]).unwrap(), table.with_parts(&[false]));
                assert!(one.schema() == table.schema() && none.is_none());
            }
            assert_eq!(table.native().is_some(), n == 1, "what its format reads is this table");
            assert_eq!(table.inferred(1).is_some(), n == 1 || n == 4);
        }
        let cut = TableView::new(known(), 1..2, vec![1]).unwrap();
        assert_eq!((cut.equal_rows(&task, 0).unwrap(), cut.layout().unit), (1, ""));
    }
}
