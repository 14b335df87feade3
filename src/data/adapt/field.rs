//! One field of structured elements as an array of its own.

use super::{NullRule, cell_bytes, column_dtype};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{Axis, MissingRegion, Stored};
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::{DType, Variable};
use crate::data::location::Location;
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Fields};
use std::sync::Arc;

/// Fields that are listed, with those inside them.
const FIELDS: usize = 500;

/// A field of structured elements, perhaps inside another one.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldPath {
    /// `position.x`.
    pub name: String,
    /// The type of its values, or of their elements.
    pub dtype: DType,
    /// The shape of its values.
    pub shape: Vec<u64>,
    place: Place,
}

impl FieldPath {
    /// The fields of a type, at most 500: of a record in a record its own, where there is one of it an element.
    pub fn all(dtype: &DType) -> Vec<FieldPath> {
        fn add(list: &mut Vec<FieldPath>, dtype: &DType, above: &str, offset: u64) {
            let Some(record) = dtype.record() else { return };
            for field in &record.fields {
                if list.len() >= FIELDS {
                    return;
                }
                let name =
                    if above.is_empty() { field.name.clone() } else { format!("{above}.{}", field.name) };
                let offset = offset.saturating_add(field.offset);
                if field.dtype.record().is_some() && field.shape.is_empty() {
                    add(list, &field.dtype, &name, offset);
                } else {
                    let (dtype, shape) = (field.dtype.clone(), field.shape.clone());
                    list.push(FieldPath { name, dtype, shape, place: Place::Byte(offset) });
                }
            }
        }
        let mut list = Vec::new();
        match dtype {
            DType::Variable(kind) => {
                if let DataType::Struct(fields) = &kind.arrow {
                    column_fields(&mut list, fields, "", &[]);
                }
            }
            _ => add(&mut list, dtype, "", 0),
        }
        list
    }
}

/// Where a field lies in an element.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// From this byte on.
    Byte(u64),
    /// In the columns of columns with these numbers: elements without a fixed size.
    Column(Vec<usize>),
}

/// The fields of records that come as columns: of a record in a record its own.
fn column_fields(list: &mut Vec<FieldPath>, fields: &Fields, above: &str, place: &[usize]) {
    for (n, field) in fields.iter().enumerate() {
        if list.len() >= FIELDS {
            return;
        }
        let name = if above.is_empty() { field.name().clone() } else { format!("{above}.{}", field.name()) };
        let place = [place, &[n][..]].concat();
        if let DataType::Struct(inner) = field.data_type() {
            column_fields(list, inner, &name, &place);
            continue;
        }
        let (dtype, shape) = column_dtype(field.data_type()).unwrap_or_else(|| {
            let text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
            let word = if text { "str" } else { "object" }.to_owned();
            let kind = Variable { word, arrow: field.data_type().clone(), reference: false };
            (DType::Variable(Arc::new(kind)), Vec::new())
        });
        list.push(FieldPath { name, dtype, shape, place: Place::Column(place) });
    }
}

/// One field of an array of structured elements; the field's own dimensions come last.
pub struct FieldArray {
    array: Arc<dyn Array>,
    field: FieldPath,
    shape: Vec<u64>,
}

impl FieldArray {
    /// The field of this array.
    pub fn new(array: Arc<dyn Array>, field: FieldPath) -> Self {
        let shape = array.shape().iter().chain(&field.shape).copied().collect();
        FieldArray { array, field, shape }
    }

    fn outer(&self, region: &Region) -> Region {
        Region(region.0.iter().take(self.array.shape().len()).copied().collect())
    }

    /// The field of elements that come as columns.
    fn column_at(&self, task: &Task, region: &Region, place: &[usize]) -> Result<ArrayRef> {
        self.inside(self.array.column(task, &self.outer(region))?, place)
    }

    /// The field in a column of elements.
    fn inside(&self, mut column: ArrayRef, place: &[usize]) -> Result<ArrayRef> {
        for &n in place {
            let inner = column.as_struct_opt().and_then(|record| record.columns().get(n)).cloned();
            column = inner.ok_or_else(|| Error::bug(format!("array: {} is no field", self.field.name)))?;
        }
        Ok(column)
    }

    /// The bytes of the field in a column of it. There is no null in an array: it is shown as NaN, or as zero.
    fn cells(&self, column: &ArrayRef) -> Result<Vec<u8>> {
        let nulls = NullRule::default();
        nulls.fill(true);
        cell_bytes(column, &self.field.dtype, &nulls)
    }

    /// The element that all elements of the field in one element are.
    fn of_element(&self, element: &[u8]) -> Option<Vec<u8>> {
        let Place::Byte(start) = self.field.place else { return None };
        let len = limits::bytes(&self.field.shape, self.field.dtype.size()).ok()?;
        self.same(element.get(start as usize..start.checked_add(len)? as usize)?.to_vec())
    }

    /// The one element that these are, if they are.
    fn same(&self, mut elements: Vec<u8>) -> Option<Vec<u8>> {
        let size = self.field.dtype.size() as usize;
        let first = elements.get(..size)?;
        let same = size > 0 && elements.chunks_exact(size).all(|element| element == first);
        elements.truncate(size);
        same.then_some(elements)
    }

    /// Whole elements, or of those that come as columns the field alone.
    fn raw(&self, task: &Task, region: &Region) -> Result<Vec<u8>> {
        match &self.field.place {
            Place::Byte(_) => array::read(&*self.array, task, &self.outer(region)),
            Place::Column(_) if self.field.dtype.is_variable() => Err(Error::unsupported(format!(
                "bytes of {}, whose elements have no fixed size",
                self.field.dtype
            ))),
            Place::Column(place) => self.cells(&self.column_at(task, region, place)?),
        }
    }

    /// Copies the field out of what [`FieldArray::raw`] gave.
    fn take(&self, region: &Region, raw: &[u8], out: &mut [u8]) {
        let size = self.field.dtype.size() as usize;
        let places = places(&self.field.shape, region.0.get(self.array.shape().len()..).unwrap_or_default());
        let alone = size.saturating_mul(self.field.shape.iter().product::<u64>() as usize);
        let (element, start) = match self.field.place {
            Place::Byte(start) => ((self.array.dtype().size() as usize).max(1), start as usize),
            Place::Column(_) => (alone.max(1), 0),
        };
        let mut out = out.chunks_exact_mut(size.max(1));
        for element in raw.chunks_exact(element) {
            for &place in &places {
                let at = start + place * size;
                if let (Some(to), Some(from)) = (out.next(), element.get(at..at + size)) {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}

impl Array for FieldArray {
    fn dtype(&self) -> &DType {
        &self.field.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        // Elements without a fixed size have no bytes: that is an error, not nothing.
        if out.is_empty() && !self.field.dtype.is_variable() {
            return Ok(());
        }
        region.check(&self.shape)?;
        let raw = self.raw(task, region)?;
        self.take(region, &raw, out);
        Ok(())
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        let Some(element) = self.array.unstored(task, &self.outer(region))? else { return Ok(None) };
        Ok(self.of_element(&element))
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        let Some(Stored { mut regions, element, row }) = self.array.stored(task)? else { return Ok(None) };
        for region in &mut regions {
            region.0.extend(self.field.shape.iter().map(|&side| Span::all(side)));
        }
        let (element, row) = match (&self.field.place, row) {
            (Place::Byte(_), _) => (element.and_then(|element| self.of_element(&element)), None),
            (Place::Column(place), Some(row)) => {
                let row = self.inside(row, place)?;
                match self.field.dtype.is_variable() {
                    true => (None, Some(row)),
                    false => (self.same(self.cells(&row)?), None),
                }
            }
            (Place::Column(_), None) => (None, None),
        };
        Ok(Some(Stored { regions, element, row }).filter(|s| s.element.is_some() || s.row.is_some()))
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        let rank = self.array.shape().len();
        let Some(location) = self.array.location(task, index.get(..rank).unwrap_or_default())? else {
            return Ok(None);
        };
        let start = match &self.field.place {
            Place::Byte(start) => *start,
            Place::Column(place) => match place.as_slice() {
                [n] if self.field.shape.is_empty() => {
                    return location.nth_field(*n).map(|field| field.followed(task)).transpose();
                }
                _ => return Ok(Some(location.of_unit())),
            },
        };
        let inside = index.get(rank..).unwrap_or_default();
        let at = strides::ravel(inside, &self.field.shape).saturating_mul(self.field.dtype.size());
        let field =
            start.saturating_add(at)..start.saturating_add(at).saturating_add(self.field.dtype.size());
        Ok(Some(location.field(self.array.dtype().size(), field)))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        match &self.field.place {
            Place::Column(place) if self.field.dtype.is_variable() => self.column_at(task, region, place),
            _ => array::column_of_bytes(self, task, region),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        if out.is_empty() {
            return Ok(Vec::new());
        }
        if let Place::Column(_) = self.field.place {
            self.read(task, region, out)?;
            return Ok(Vec::new());
        }
        region.check(&self.shape)?;
        let (raw, mut gaps) = array::read_lenient(&*self.array, task, &self.outer(region))?;
        self.take(region, &raw, out);
        for gap in &mut gaps {
            let inner = region.0.iter().skip(gap.part.0.len()).map(|span| Span::all(span.count));
            gap.part.0.extend(inner.collect::<Vec<_>>());
        }
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.array.facts();
        let mut axes = std::mem::take(&mut facts.axes);
        if !axes.is_empty() {
            axes.extend(self.field.shape.iter().map(|_| Axis::default()));
        }
        let chunks = facts.chunks.map(|chunks| chunks.iter().chain(&self.field.shape).copied().collect());
        ArrayFacts { axes, chunks, codecs: facts.codecs, ..ArrayFacts::default() }
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.array.prefetch(task, &self.outer(region));
    }
}

/// The places in a field's value, in elements, of a region of it, in C order.
fn places(shape: &[u64], spans: &[Span]) -> Vec<usize> {
    let mut places = vec![0usize];
    for (&len, span) in shape.iter().zip(spans) {
        let along = |at: usize| (0..span.count).map(move |n| at * len as usize + span.index(n) as usize);
        places = places.into_iter().flat_map(along).collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::{Field, Record};

    use super::*;

    #[test]
    fn a_field_is_an_array_of_its_own() {
        let field = |name: &str, dtype, shape: &[u64], offset| Field {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            offset,
        };
        let point =
            Record { fields: vec![field("x", DType::U8, &[], 0), field("y", DType::U8, &[], 1)], size: 2 };
        let point = DType::Struct(Arc::new(point));
        let fields_of = vec![
            field("id", DType::U16, &[], 0),
            field("m", DType::U8, &[2, 2], 2),
            field("p", point, &[], 6),
        ];
        let dtype = DType::Struct(Arc::new(Record { fields: fields_of, size: 8 }));
        let list = FieldPath::all(&dtype);
        let names: Vec<&str> = list.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["id", "m", "p.x", "p.y"]);
        let bytes: Vec<u8> = (0..24).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, dtype, vec![3]).unwrap());
        let all = |field: usize, spans: Vec<Span>| {
            let array = FieldArray::new(array.clone(), list[field].clone());
            array::read(&array, &Task::new(), &Region(spans)).unwrap()
        };
        assert_eq!(all(3, vec![Span::all(3)]), [7, 15, 23]);
        assert_eq!(all(1, vec![Span::range(1, 2), Span::all(2), Span::range(1, 1)]), [11, 13, 19, 21]);
        assert_eq!(FieldArray::new(array.clone(), list[1].clone()).shape(), [3, 2, 2]);
    }

    /// `a[i, j] = {"n": 10 i + j, "p": {"pair": [n, -n], "word": "w<n>"}}`, two rows of three.
    struct Rows(DType);

    impl Rows {
        fn fields(numbers: &[i32]) -> arrow::array::StructArray {
            use arrow::array::{FixedSizeListArray, Int32Array, StringArray, StructArray};
            let item = Arc::new(arrow::datatypes::Field::new("item", DataType::Int32, true));
            let both: Int32Array = numbers.iter().flat_map(|&n| [n, -n]).collect::<Vec<i32>>().into();
            let pairs: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, Arc::new(both), None));
            let words: ArrayRef =
                Arc::new(numbers.iter().map(|n| Some(format!("w{n}"))).collect::<StringArray>());
            let ids: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
            let inner = StructArray::try_from(vec![("pair", pairs), ("word", words)]).unwrap();
            StructArray::try_from(vec![("n", ids), ("p", Arc::new(inner) as ArrayRef)]).unwrap()
        }
    }

    impl Array for Rows {
        fn dtype(&self) -> &DType {
            &self.0
        }

        fn shape(&self) -> &[u64] {
            &[2, 3]
        }

        fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
            Err(Error::unsupported("records of texts have no bytes"))
        }

        fn column(&self, _: &Task, region: &Region) -> Result<ArrayRef> {
            let (rows, columns) = (region.0[0], region.0[1]);
            let row = |i| (0..columns.count).map(move |j| (10 * rows.index(i) + columns.index(j)) as i32);
            Ok(Arc::new(Rows::fields(&(0..rows.count).flat_map(row).collect::<Vec<i32>>())))
        }
    }

    #[test]
    fn records_with_texts_have_fields_too() {
        use arrow::array::Array as _;
        let arrow = Rows::fields(&[]).data_type().clone();
        let kind = Variable { word: "object".to_owned(), arrow, reference: false };
        let array: Arc<dyn Array> = Arc::new(Rows(DType::Variable(Arc::new(kind))));
        let list = FieldPath::all(array.dtype());
        let names: Vec<&str> = list.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["n", "p.pair", "p.word"]);
        let of = |n: usize| FieldArray::new(array.clone(), list[n].clone());
        let numbers = |array: &FieldArray, spans: Vec<Span>| -> Vec<i32> {
            let raw = array::read(array, &Task::new(), &Region(spans)).unwrap();
            raw.as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b)).collect()
        };
        assert_eq!((of(0).dtype(), of(0).shape()), (&DType::I32, &[2, 3][..]));
        assert_eq!(numbers(&of(0), vec![Span::all(2), Span::range(1, 2)]), [1, 2, 11, 12]);
        assert_eq!(of(1).shape(), [2, 3, 2]);
        let spans = vec![Span::range(1, 1), Span::range(0, 2), Span::range(1, 1)];
        assert_eq!(numbers(&of(1), spans), [-10, -11]);
        let words = of(2).column(&Task::new(), &Region(vec![Span::range(1, 1), Span::all(3)])).unwrap();
        assert_eq!(words.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["w10", "w11", "w12"]);
        assert!(array::read(&of(2), &Task::new(), &Region::all(&[2, 3])).is_err());
    }
}
