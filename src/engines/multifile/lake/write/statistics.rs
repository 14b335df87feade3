//! What is known of the values of a data file that is being written, column by column: how many there are, how many
//! are null or NaN, the smallest and the largest. Members of structs are columns of their own; what is in lists and
//! maps is not looked at.

use crate::bytes::error::Result;
use crate::engines::multifile::lake::FIELD_ID;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    StringArray, make_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{
    concat, max, max_binary, max_boolean, max_fixed_size_binary, max_string, min, min_binary, min_boolean,
    min_fixed_size_binary, min_string,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Field, Fields, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use std::sync::Arc;

/// What is known of one column, or of one member of structs.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its name in the file, behind those of the structs around it.
    pub path: Vec<String>,
    /// The number of its field, where fields have one.
    pub id: Option<i32>,
    /// Its type.
    pub data_type: DataType,
    /// How many values it has, nulls too.
    pub values: u64,
    /// How many of them are null.
    pub nulls: u64,
    /// How many of them are NaN.
    pub nans: u64,
    /// The smallest and the largest that is neither null nor NaN: arrays of one value.
    pub ends: Option<(ArrayRef, ArrayRef)>,
    places: Vec<usize>,
}

impl Leaf {
    /// Those of the columns of a file.
    pub fn all(fields: &Fields) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        gather(fields, &[], &[], &mut leaves);
        leaves
    }

    /// Whether its values are lists or maps.
    pub fn is_nested(&self) -> bool {
        self.data_type.is_nested()
    }

    /// Takes the values of more rows.
    ///
    /// # Errors
    /// Those of Arrow.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(array) = self.array(batch)? else { return Ok(()) };
        self.values += array.len() as u64;
        self.nulls += array.null_count() as u64;
        let (ends, nans) = ends(&array);
        self.nans += nans;
        self.ends = match (self.ends.take(), ends) {
            (Some(one), Some(other)) => {
                let both = concat(&[one.0.as_ref(), one.1.as_ref(), other.0.as_ref(), other.1.as_ref()])?;
                self::ends(&both).0
            }
            (one, other) => one.or(other),
        };
        Ok(())
    }

    /// Its values, which are null where a struct around them is.
    fn array(&self, batch: &RecordBatch) -> Result<Option<ArrayRef>> {
        let Some((first, inner)) = self.places.split_first() else { return Ok(None) };
        let Some(mut array) = batch.columns().get(*first).cloned() else { return Ok(None) };
        for place in inner {
            let Some(member) = array.as_struct_opt().and_then(|all| all.columns().get(*place)) else {
                return Ok(None);
            };
            let nulls = NullBuffer::union(array.nulls(), member.nulls());
            array = make_array(member.to_data().into_builder().nulls(nulls).build()?);
        }
        Ok(Some(array))
    }
}

fn gather(fields: &Fields, path: &[String], places: &[usize], leaves: &mut Vec<Leaf>) {
    for (place, field) in fields.iter().enumerate() {
        let (path, places) = ([path, &[field.name().clone()]].concat(), [places, &[place]].concat());
        match field.data_type() {
            DataType::Struct(members) => gather(members, &path, &places, leaves),
            data_type => leaves.push(Leaf {
                path,
                id: id(field),
                data_type: data_type.clone(),
                values: 0,
                nulls: 0,
                nans: 0,
                ends: None,
                places,
            }),
        }
    }
}

/// The number of a field.
pub fn id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

type Ends = Option<(ArrayRef, ArrayRef)>;

/// The smallest and the largest value that is neither null nor NaN, as arrays of one value, and how many are NaN.
pub fn ends(array: &ArrayRef) -> (Ends, u64) {
    fn both<A: Array + 'static>(of: impl Fn(bool) -> Option<A>) -> Ends {
        Some((Arc::new(of(false)?), Arc::new(of(true)?)))
    }
    macro_rules! primitive {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>();
            let one =
                |value| PrimitiveArray::<$t>::from_value(value, 1).with_data_type(array.data_type().clone());
            both(|last| Some(one(if last { max(values) } else { min(values) }?)))
        }};
    }
    let found = match array.data_type() {
        DataType::Float32 => return floats::<Float32Type>(array.as_primitive(), |value| value.is_nan()),
        DataType::Float64 => return floats::<Float64Type>(array.as_primitive(), |value| value.is_nan()),
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            both(|last| {
                Some(StringArray::from(vec![if last { max_string(values) } else { min_string(values) }?]))
            })
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            both(|last| {
                Some(BinaryArray::from(vec![if last { max_binary(values) } else { min_binary(values) }?]))
            })
        }
        DataType::FixedSizeBinary(size) => {
            let values = array.as_fixed_size_binary();
            both(|last| {
                let value = if last { max_fixed_size_binary(values) } else { min_fixed_size_binary(values) }?;
                FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(value)].into_iter(), *size).ok()
            })
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            both(|last| {
                Some(BooleanArray::from(vec![if last { max_boolean(values) } else { min_boolean(values) }?]))
            })
        }
        DataType::Int8 => primitive!(Int8Type),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::Date32 => primitive!(Date32Type),
        DataType::Time64(TimeUnit::Microsecond) => primitive!(Time64MicrosecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive!(TimestampMicrosecondType),
        DataType::Decimal128(_, _) => primitive!(Decimal128Type),
        _ => None,
    };
    (found, 0)
}

/// Floats without NaN; zeros are counted as both of them: which sign the file's have does not matter then.
fn floats<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, is_nan: fn(T::Native) -> bool) -> (Ends, u64) {
    let mut nans = 0;
    let mut ends: Option<(T::Native, T::Native)> = None;
    for value in values.iter().flatten() {
        if is_nan(value) {
            nans += 1;
            continue;
        }
        ends = Some(match ends {
            None => (value, value),
            Some((low, high)) => {
                (if value < low { value } else { low }, if value > high { value } else { high })
            }
        });
    }
    let one = |value: T::Native| Arc::new(PrimitiveArray::<T>::from_value(value, 1)) as ArrayRef;
    (ends.map(|(low, high)| (one(low), one(high))), nans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cell;
    use arrow::array::{Float64Array, Int32Array, StructArray};

    #[test]
    fn values_are_counted_and_their_ends_found() {
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a")]));
        let float: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(2.0), None]));
        let inner: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), Some(-1), Some(2)]));
        let fields = Fields::from(vec![Field::new("n", DataType::Int32, true)]);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let nested: ArrayRef = Arc::new(StructArray::new(fields, vec![inner], Some(nulls)));
        let batch = RecordBatch::try_from_iter([("t", text), ("f", float), ("s", nested)]).unwrap();
        let mut leaves = Leaf::all(batch.schema().fields());
        for leaf in &mut leaves {
            leaf.add(&batch).unwrap();
            leaf.add(&batch.slice(1, 2)).unwrap();
        }
        let shown = |leaf: &Leaf| {
            let (low, high) = leaf.ends.as_ref().unwrap();
            let text = |array: &ArrayRef| cell::text(array.as_ref(), 0).unwrap();
            (leaf.path.join("."), leaf.values, leaf.nulls, leaf.nans, text(low), text(high))
        };
        let expected = [("t", 5, 2, 0, "a", "b"), ("f", 5, 2, 1, "2.0", "2.0"), ("s.n", 5, 2, 0, "2", "3")];
        let expected = expected.map(|(p, v, n, m, a, b)| (p.to_owned(), v, n, m, a.to_owned(), b.to_owned()));
        assert_eq!(leaves.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}
