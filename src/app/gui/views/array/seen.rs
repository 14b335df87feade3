//! The array as it is seen: one field of structured elements, and what stored values stand for instead of
//! what is stored. Both are arrays again, so that every mode shows them without knowing.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Fields};
use gander::bytes::error::{Error, Result};
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::adapt::{NullRule, cell_bytes, column_dtype};
use gander::data::content::array::{Axis, MissingRegion, Scaling};
use gander::data::content::{Array, ArrayFacts, array};
use gander::data::dtype::{DType, Variable};
use gander::data::node::Node;
use gander::data::region::{Region, Span};
use serde_json::{Value, json};

use super::meaning::Meaning;

/// What of an array is seen.
pub(super) struct Lens {
    whole: Arc<dyn Array>,
    node: Arc<Node>,
    /// The fields of structured elements.
    pub(super) fields: Vec<FieldPath>,
    /// The one that is seen alone.
    pub(super) field: Option<usize>,
    /// What stored values stand for, if that is another number.
    pub(super) scaling: Option<Scaling>,
    /// Whether they are seen as they are stored all the same.
    pub(super) stored: bool,
}

impl Lens {
    /// Scaled values, and of structured elements all fields.
    pub(super) fn new(array: &Arc<dyn Array>, node: &Arc<Node>) -> Self {
        let scaling = array.facts().scaling.filter(|_| array.dtype().is_real());
        let fields = fields(array.dtype());
        // Integers that f64 cannot hold stay as they are, unless somebody wants the missing ones marked.
        let exact = matches!(array.dtype(), DType::I64 | DType::U64);
        let stored = exact && scaling.as_ref().is_some_and(is_plain);
        Lens { whole: array.clone(), node: node.clone(), fields, field: None, scaling, stored }
    }

    /// The field that is seen alone.
    pub(super) fn chosen(&self) -> Option<&FieldPath> {
        self.fields.get(self.field?)
    }

    /// The array, or the field, as it is stored.
    pub(super) fn stored_array(&self) -> Arc<dyn Array> {
        match self.chosen() {
            Some(field) => Arc::new(OfField::new(self.whole.clone(), field.clone())),
            None => self.whole.clone(),
        }
    }

    /// The array as it is seen.
    pub(super) fn array(&self) -> Arc<dyn Array> {
        let array = self.stored_array();
        match self.scaling.clone().filter(|_| !self.stored) {
            Some(scaling) => match Scaled::new(array.clone(), scaling) {
                Some(scaled) => Arc::new(scaled),
                None => array,
            },
            None => array,
        }
    }

    /// What its indices and values mean. The unit is that of what is meant, not of what is stored.
    pub(super) fn meaning(&self, array: &dyn Array) -> Meaning {
        let mut facts = array.facts();
        let Some(scaling) = &self.scaling else {
            return Meaning::of(&self.node, facts, array.shape().len());
        };
        if self.stored && !is_plain(scaling) {
            facts.unit = None;
        }
        let mut meaning = Meaning::of(&self.node, facts, array.shape().len());
        meaning.whole = !self.stored && is_plain(scaling) && !self.whole.dtype().is_float();
        meaning
    }

    /// For the session.
    pub(super) fn keep(&self) -> Value {
        json!({ "field": self.chosen().map(|field| &field.name), "stored": self.stored })
    }

    /// What [`Lens::keep`] gave; true if the array is seen otherwise now.
    pub(super) fn restore(&mut self, kept: &Value) -> bool {
        let before = (self.field, self.stored);
        let name = kept.get("field").and_then(Value::as_str);
        self.field = name.and_then(|name| self.fields.iter().position(|field| field.name == name));
        self.stored = kept.get("stored").and_then(Value::as_bool).unwrap_or(self.stored);
        before != (self.field, self.stored)
    }
}

/// Whether values stay the numbers that are stored, and only missing ones are marked.
fn is_plain(scaling: &Scaling) -> bool {
    (scaling.scale, scaling.offset) == (1.0, 0.0)
}

/// Fields that are offered, with those inside them.
const FIELDS: usize = 500;

/// A field of structured elements, perhaps inside another one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldPath {
    /// `position.x`.
    pub(super) name: String,
    pub(super) dtype: DType,
    /// The shape of its values.
    pub(super) shape: Vec<u64>,
    place: Place,
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

/// The fields of a type: of a record in a record its own, where there is one of it an element.
pub(super) fn fields(dtype: &DType) -> Vec<FieldPath> {
    fn add(list: &mut Vec<FieldPath>, dtype: &DType, above: &str, offset: u64) {
        let Some(record) = dtype.record() else { return };
        for field in &record.fields {
            if list.len() >= FIELDS {
                return;
            }
            let name = if above.is_empty() { field.name.clone() } else { format!("{above}.{}", field.name) };
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

/// One field of an array of structured elements; the field's own dimensions come last.
pub(super) struct OfField {
    array: Arc<dyn Array>,
    field: FieldPath,
    shape: Vec<u64>,
}

impl OfField {
    /// The field of this array.
    pub(super) fn new(array: Arc<dyn Array>, field: FieldPath) -> Self {
        let shape = array.shape().iter().chain(&field.shape).copied().collect();
        OfField { array, field, shape }
    }

    fn outer(&self, region: &Region) -> Region {
        Region(region.0.iter().take(self.array.shape().len()).copied().collect())
    }

    /// The field of elements that come as columns.
    fn column_at(&self, task: &Task, region: &Region, place: &[usize]) -> Result<ArrayRef> {
        let mut column = self.array.column(task, &self.outer(region))?;
        for &n in place {
            let inner = column.as_struct_opt().and_then(|record| record.columns().get(n)).cloned();
            column = inner.ok_or_else(|| Error::bug(format!("array: {} is no field", self.field.name)))?;
        }
        Ok(column)
    }

    /// Whole elements, or of those that come as columns the field alone.
    fn raw(&self, task: &Task, region: &Region) -> Result<Vec<u8>> {
        match &self.field.place {
            Place::Byte(_) => array::read(&*self.array, task, &self.outer(region)),
            Place::Column(_) if self.field.dtype.is_variable() => Err(Error::unsupported(format!(
                "bytes of {}, whose elements have no fixed size",
                self.field.dtype
            ))),
            Place::Column(place) => {
                // There is no null in an array: it is shown as NaN, or as zero.
                let nulls = NullRule::default();
                nulls.fill(true);
                cell_bytes(&self.column_at(task, region, place)?, &self.field.dtype, &nulls)
            }
        }
    }

    /// Copies the field out of what [`OfField::raw`] gave.
    fn take(&self, region: &Region, raw: &[u8], out: &mut [u8]) {
        let size = self.field.dtype.size() as usize;
        let places = places(&self.field.shape, &region.0[self.array.shape().len()..]);
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

impl Array for OfField {
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
        let (raw, mut gaps) = lenient(&*self.array, task, &self.outer(region))?;
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

/// What stored values stand for; NaN for missing ones.
pub(super) struct Scaled {
    array: Arc<dyn Array>,
    scaling: Scaling,
    dtype: DType,
}

impl Scaled {
    /// The values of this array, if it has a scaling and holds real numbers.
    pub(super) fn new(array: Arc<dyn Array>, scaling: Scaling) -> Option<Self> {
        let stored = array.dtype();
        if !stored.is_real() {
            return None;
        }
        // As xarray chooses: no more digits than the stored ones are worth.
        let few = matches!(
            stored,
            DType::Bool
                | DType::I8
                | DType::U8
                | DType::I16
                | DType::U16
                | DType::F16
                | DType::BF16
                | DType::F32
        );
        let few = few || matches!(stored, DType::Mini(_));
        let dtype = if few { DType::F32 } else { DType::F64 };
        Some(Scaled { array, scaling, dtype })
    }

    fn apply(&self, raw: &[u8], out: &mut [u8]) {
        let mut values = Vec::with_capacity(raw.len() / self.array.dtype().size().max(1) as usize);
        self.array.dtype().decode(raw, &mut values);
        let values = values.into_iter().map(|stored| self.scaling.apply(stored));
        match self.dtype {
            DType::F32 => {
                for (to, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                    *to = (value as f32).to_le_bytes();
                }
            }
            _ => {
                for (to, value) in out.as_chunks_mut::<8>().0.iter_mut().zip(values) {
                    *to = value.to_le_bytes();
                }
            }
        }
    }
}

/// Reads a region, with the parts that could not be read.
fn lenient(array: &dyn Array, task: &Task, region: &Region) -> Result<(Vec<u8>, Vec<MissingRegion>)> {
    let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
    let mut raw = limits::zeroed(limits::check(bytes, limits::READ, "this part of the array")?, "the array")?;
    let gaps = array.read_lenient(task, region, &mut raw)?;
    Ok((raw, gaps))
}

impl Array for Scaled {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let raw = array::read(&*self.array, task, region)?;
        self.apply(&raw, out);
        Ok(())
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let (raw, gaps) = lenient(&*self.array, task, region)?;
        self.apply(&raw, out);
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        ArrayFacts { scaling: None, bytes_stored: None, ..self.array.facts() }
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.array.prefetch(task, region);
    }
}

/// The words for a scaling: `× 0.01 + 273.15, −32768 is missing`.
pub(super) fn words(scaling: &Scaling) -> String {
    let number = |value: f64| gander::data::cell::float64(value).trim_end_matches(".0").to_owned();
    let mut words = Vec::new();
    if scaling.scale != 1.0 {
        words.push(format!("stored × {}", number(scaling.scale)));
    }
    if scaling.offset != 0.0 {
        words.push(format!("plus {}", number(scaling.offset)));
    }
    if !scaling.fill.is_empty() {
        let fill: Vec<String> = scaling.fill.iter().take(4).map(|value| number(*value)).collect();
        words.push(format!("{} missing", fill.join(", ")));
    }
    if let Some((low, high)) = scaling.valid {
        words.push(format!("valid {} to {}", number(low), number(high)));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::Plain;
    use gander::data::dtype::{Field, Record};

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
        let list = fields(&dtype);
        let names: Vec<&str> = list.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["id", "m", "p.x", "p.y"]);
        let bytes: Vec<u8> = (0..24).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, dtype, vec![3]).unwrap());
        let all = |field: usize, spans: Vec<Span>| {
            let array = OfField::new(array.clone(), list[field].clone());
            array::read(&array, &Task::new(), &Region(spans)).unwrap()
        };
        assert_eq!(all(3, vec![Span::all(3)]), [7, 15, 23]);
        assert_eq!(all(1, vec![Span::range(1, 2), Span::all(2), Span::range(1, 1)]), [11, 13, 19, 21]);
        assert_eq!(OfField::new(array.clone(), list[1].clone()).shape(), [3, 2, 2]);
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
        let list = fields(array.dtype());
        let names: Vec<&str> = list.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["n", "p.pair", "p.word"]);
        let of = |n: usize| OfField::new(array.clone(), list[n].clone());
        let numbers = |array: &OfField, spans: Vec<Span>| -> Vec<i32> {
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

    #[test]
    fn stored_values_become_what_they_mean() {
        let bytes: Vec<u8> = [100i16, -1, 27315].iter().flat_map(|v| v.to_le_bytes()).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::I16, vec![3]).unwrap());
        let scaling = Scaling { scale: 0.01, offset: 0.0, fill: vec![-1.0], valid: None };
        assert_eq!(words(&scaling), "stored × 0.01; -1 missing");
        let scaled = Scaled::new(array, scaling).unwrap();
        let raw = array::read(&scaled, &Task::new(), &Region::all(&[3])).unwrap();
        let values: Vec<f32> = raw.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert!(values[0] == 1.0 && values[1].is_nan() && values[2] == 273.15);
    }
}
