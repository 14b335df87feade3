//! What a file of named variables holds of a payload: arrays as they are; the fields of records and the columns of a
//! table each as a variable of its own. For writers whose formats have no records, or whose readers do not take them.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{FieldArray, FieldPath, column_dtype};
use crate::data::cell;
use crate::data::content::{Array, array};
use crate::data::dtype::{DType, Variable as Elements};
use crate::data::format::{Attributes, Data, Loss, LossKind, Payload, loss, note};
use crate::data::region::Region;
use arrow::array::{Array as _, ArrayRef, AsArray, StringArray};
use arrow::compute::{cast, is_null, nullif};
use arrow::datatypes::{DataType, Fields};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most fields of records of fixed size that are told apart.
const FIELDS: usize = 500;

/// Where the values of a variable come from.
#[derive(Clone)]
pub enum Values {
    /// An array that delivers bytes.
    Array(Arc<dyn Array>),
    /// An array whose elements come as Arrow columns, and the fields that lead to the value in each.
    Cells(Arc<dyn Array>, Vec<usize>),
    /// The cells of this column of the payload's table.
    Column(usize),
}

impl Values {
    /// The cells of a region of the elements, where they come as columns: without dictionaries and runs.
    ///
    /// # Errors
    /// Those of reading; `Bug` for what delivers bytes.
    pub fn cells(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        match self {
            Values::Array(array) => match array.dtype() {
                DType::Bytes(_) => Ok(characters(&array.column(task, region)?)),
                _ => plain(&array.column(task, region)?),
            },
            Values::Cells(array, place) => field(array.column(task, region)?, place),
            Values::Column(_) => Err(Error::bug("a column of a table asked for by region")),
        }
    }
}

/// Fixed bytes as text: UTF-8, or Latin-1 where they are none.
fn characters(column: &ArrayRef) -> ArrayRef {
    let text = |row: usize| {
        let bytes = cell::binary(column.as_ref(), row)?;
        Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        })
    };
    Arc::new((0..column.len()).map(text).collect::<StringArray>())
}

/// One field of a column of records; it is null where its record is.
fn field(mut column: ArrayRef, place: &[usize]) -> Result<ArrayRef> {
    for &n in place {
        let record = column.as_struct_opt().ok_or_else(|| Error::bug("a record that is none"))?;
        let inner = record.columns().get(n).ok_or_else(|| Error::bug("a field that is not there"))?;
        column = match record.null_count() {
            0 => inner.clone(),
            _ => nullif(&plain(inner)?, &is_null(record)?)?,
        };
    }
    plain(&column)
}

/// A column with its values in it, not behind keys or runs.
///
/// # Errors
/// Those of Arrow's cast.
pub fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values)?,
        DataType::RunEndEncoded(_, values) => cast(column, values.data_type())?,
        _ => column.clone(),
    })
}

/// One variable.
#[derive(Clone)]
pub struct Variable {
    /// The groups that it lies in, and its name.
    pub path: Vec<String>,
    /// Its values.
    pub values: Values,
    /// The type of its elements; [`DType::Variable`] where they have no fixed size.
    pub dtype: DType,
    /// The length of each dimension; with those of the cells of a column.
    pub shape: Vec<u64>,
    /// The name of each dimension; empty for one without.
    pub axes: Vec<String>,
    /// Its attributes.
    pub attributes: Attributes,
    /// What it is called where losses are told: the array or table.
    pub item: String,
    /// The field or column; empty for a whole array.
    pub part: String,
    /// Whether there may be nulls.
    pub nullable: bool,
}

impl Variable {
    /// A loss that is of this variable.
    pub fn say(&self, loss: Loss) -> Loss {
        loss.at(&self.item).of(&self.part)
    }

    /// Whether it is a column of a table or a field of records.
    pub fn is_part(&self) -> bool {
        !self.part.is_empty() || matches!(self.values, Values::Column(_))
    }

    /// How many dimensions the array has whose elements (or the table whose cells) these are.
    pub fn outer(&self) -> usize {
        match &self.values {
            Values::Array(_) => self.shape.len(),
            Values::Cells(array, _) => array.shape().len(),
            Values::Column(_) => 1,
        }
    }
}

/// All variables of a payload.
#[derive(Default)]
pub struct Variables {
    /// In the order of the payload.
    pub list: Vec<Variable>,
    /// Groups with attributes, and those without anything in them: path, name in the payload, attributes.
    pub groups: Vec<(Vec<String>, String, Attributes)>,
    /// The attributes of the whole.
    pub attributes: Attributes,
    /// What is lost in making them.
    pub losses: Vec<Loss>,
}

/// The parts of a name that is a path.
fn parts(name: &str) -> Vec<String> {
    let parts = name.split('/').filter(|part| !part.is_empty() && *part != ".");
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    if parts.is_empty() { vec!["data".to_owned()] } else { parts }
}

impl Variables {
    /// The variables of a payload; a table of it has so many `rows`.
    pub fn of(payload: &Payload, rows: u64) -> Self {
        let mut all = Variables { attributes: payload.attributes.clone(), ..Variables::default() };
        match &payload.data {
            Data::Arrays(arrays) => {
                let names: BTreeSet<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
                for (name, own) in &payload.parts {
                    if !names.contains(name.as_str()) && !name.is_empty() {
                        all.groups.push((parts(name), name.clone(), own.clone()));
                    }
                }
                for (name, array) in arrays {
                    let own = payload.parts.get(name).cloned().unwrap_or_default();
                    all.array(name, array, own, arrays.len() == 1);
                }
            }
            Data::Table(table) => {
                for (n, field) in table.schema().fields().iter().enumerate() {
                    let (dtype, cell) = elements(field.data_type());
                    let mut axes = vec!["row".to_owned()];
                    axes.resize(cell.len() + 1, String::new());
                    let name = if field.name().is_empty() { "column" } else { field.name() };
                    all.list.push(Variable {
                        path: vec![name.to_owned()],
                        values: Values::Column(n),
                        dtype,
                        shape: std::iter::once(rows).chain(cell).collect(),
                        axes,
                        attributes: Attributes::default(),
                        item: String::new(),
                        part: field.name().clone(),
                        nullable: field.is_nullable(),
                    });
                }
            }
            _ => {}
        }
        all
    }

    fn array(&mut self, name: &str, array: &Arc<dyn Array>, attributes: Attributes, alone: bool) {
        let fields = fields_of(array);
        let axes = axes(array.as_ref());
        let Some(fields) = fields else {
            let (values, dtype, cell) = match array.dtype() {
                DType::Variable(kind) => {
                    let (dtype, cell) = elements(&kind.arrow);
                    // References and objects are texts that say what they are.
                    let is_own = dtype.is_variable() && cell.is_empty();
                    let dtype = if is_own { array.dtype().clone() } else { dtype };
                    (Values::Cells(array.clone(), Vec::new()), dtype, cell)
                }
                other => (Values::Array(array.clone()), other.clone(), Vec::new()),
            };
            let nullable = matches!(values, Values::Cells(..));
            let shape: Vec<u64> = array.shape().iter().copied().chain(cell).collect();
            let axes = named(axes, shape.len());
            let (path, item, part) = (parts(name), name.to_owned(), String::new());
            self.list.push(Variable { path, values, dtype, shape, axes, attributes, item, part, nullable });
            return;
        };
        let what = "each field of its records becomes an array of its own";
        self.losses.push(note(LossKind::Type, what).at(name));
        if fields.len() < count_of(array.dtype()) {
            let what = format!("only the first {} fields of its records are written", fields.len());
            self.losses.push(loss(LossKind::Type, what).at(name));
        }
        // The fields of the only array are all that there is.
        let above = if alone { Vec::new() } else { parts(name) };
        match alone {
            true => drop(self.attributes.join(attributes)),
            false => self.groups.push((above.clone(), name.to_owned(), attributes)),
        }
        for field in fields {
            let (path, axes) = ([above.as_slice(), std::slice::from_ref(&field.name)].concat(), axes.clone());
            self.list.push(Variable {
                path,
                axes: named(axes, field.shape.len()),
                values: field.values,
                dtype: field.dtype,
                shape: field.shape,
                attributes: Attributes::default(),
                item: name.to_owned(),
                part: field.name,
                nullable: field.nullable,
            });
        }
    }
}

/// The names of an array's dimensions; empty where none has one.
fn axes(array: &dyn Array) -> Vec<String> {
    let axes = array.facts().axes;
    match axes.len() == array.shape().len() {
        true => axes.into_iter().map(|axis| axis.name).collect(),
        false => Vec::new(),
    }
}

/// So many names, the last of them empty where there are fewer.
fn named(mut axes: Vec<String>, rank: usize) -> Vec<String> {
    axes.resize(rank, String::new());
    axes
}

/// The elements that cells of an Arrow type are, and the shape of one cell.
fn elements(data_type: &DataType) -> (DType, Vec<u64>) {
    column_dtype(data_type).unwrap_or_else(|| {
        let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let word = if is_text { "str" } else { "object" }.to_owned();
        let kind = Elements { word, arrow: data_type.clone(), reference: false };
        (DType::Variable(Arc::new(kind)), Vec::new())
    })
}

/// A field of records as a variable.
struct Part {
    name: String,
    values: Values,
    dtype: DType,
    shape: Vec<u64>,
    nullable: bool,
}

/// The fields of an array of records; `None` for other elements.
fn fields_of(array: &Arc<dyn Array>) -> Option<Vec<Part>> {
    let mut found = Vec::new();
    match array.dtype() {
        DType::Variable(kind) => match &kind.arrow {
            DataType::Struct(fields) if !fields.is_empty() => columns(array, fields, "", &[], &mut found),
            _ => return None,
        },
        DType::Struct(record) if !record.fields.is_empty() => bytes_of(array, "", &mut found),
        _ => return None,
    }
    Some(found)
}

/// The fields of records that come as columns; of a record in a record its own.
fn columns(array: &Arc<dyn Array>, fields: &Fields, above: &str, place: &[usize], found: &mut Vec<Part>) {
    for (n, field) in fields.iter().enumerate() {
        let name = if above.is_empty() { field.name().clone() } else { format!("{above}.{}", field.name()) };
        let place = [place, &[n][..]].concat();
        match field.data_type() {
            DataType::Struct(inner) if !inner.is_empty() => columns(array, inner, &name, &place, found),
            other => {
                let (dtype, cell) = elements(other);
                let shape = array.shape().iter().copied().chain(cell).collect();
                let values = Values::Cells(array.clone(), place);
                found.push(Part { name, values, dtype, shape, nullable: field.is_nullable() });
            }
        }
    }
}

/// The fields of records of fixed size; of several records in a record each field over all of them.
fn bytes_of(array: &Arc<dyn Array>, above: &str, found: &mut Vec<Part>) {
    for path in FieldPath::all(array.dtype()) {
        let name = if above.is_empty() { path.name.clone() } else { format!("{above}.{}", path.name) };
        let field: Arc<dyn Array> = Arc::new(FieldArray::new(array.clone(), path));
        if field.dtype().record().is_some_and(|record| !record.fields.is_empty()) && found.len() < FIELDS {
            bytes_of(&field, &name, found);
            continue;
        }
        let (dtype, shape) = (field.dtype().clone(), field.shape().to_vec());
        found.push(Part { name, values: Values::Array(field), dtype, shape, nullable: false });
    }
}

/// How many fields there are, with those inside them.
fn count_of(dtype: &DType) -> usize {
    dtype
        .record()
        .filter(|record| !record.fields.is_empty())
        .map_or(1, |record| record.fields.iter().map(|field| count_of(&field.dtype)).sum())
}

/// Texts of a column, one for each cell: of lists and structs their JSON, of nulls that are to be filled an empty one.
///
/// # Errors
/// `Unsupported` for nulls, unless they are to be filled.
pub fn texts(column: &ArrayRef, fill: bool) -> Result<Vec<String>> {
    let nulls = column.logical_null_count();
    if nulls > 0 && !fill {
        return Err(refused(nulls));
    }
    Ok((0..column.len()).map(|row| cell::shown(column.as_ref(), row).unwrap_or_default()).collect())
}

/// The refusal of null cells.
pub fn refused(nulls: usize) -> Error {
    let cells = display::plural(nulls as u64, "null cell");
    Error::unsupported(format!(
        "{cells}: the format has none; with the option nulls=fill they become empty text, zero or NaN"
    ))
}

/// An array that has the dimensions of another one in the opposite order, as MATLAB and Fortran count them.
pub struct Reversed {
    inner: Arc<dyn Array>,
    shape: Vec<u64>,
}

impl Reversed {
    /// The same elements with the last dimension first.
    pub fn new(inner: Arc<dyn Array>) -> Self {
        let shape = inner.shape().iter().rev().copied().collect();
        Reversed { inner, shape }
    }
}

impl Array for Reversed {
    fn dtype(&self) -> &DType {
        self.inner.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let inner = Region(region.0.iter().rev().copied().collect());
        let bytes = array::read(self.inner.as_ref(), task, &inner)?;
        let shape = region.shape();
        let axes: Vec<usize> = (0..shape.len()).rev().collect();
        match crate::bytes::strides::to_c_order(&shape, &axes, self.dtype().size()) {
            Some(axes) => crate::bytes::strides::copy(&bytes, out, &axes, self.dtype().size() as usize),
            None => out.copy_from_slice(&bytes),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::{Plain, read};
    use crate::data::dtype::{Field, Record};

    #[test]
    fn fields_are_variables_of_their_own() {
        let field =
            |name: &str, dtype, shape: Vec<u64>, offset| Field { name: name.into(), dtype, shape, offset };
        let inner =
            DType::Struct(Arc::new(Record { fields: vec![field("x", DType::I16, vec![], 0)], size: 2 }));
        let record =
            Record { fields: vec![field("a", DType::U8, vec![], 0), field("b", inner, vec![2], 1)], size: 5 };
        let plain = Plain::new(
            Source::memory("a", (0..10).collect::<Vec<u8>>()),
            0,
            DType::Struct(Arc::new(record)),
            vec![2],
        );
        let payload = Payload::plain(Data::Arrays(vec![("r".to_owned(), Arc::new(plain.unwrap()))]));
        let all = Variables::of(&payload, 0);
        let names: Vec<&str> = all.list.iter().map(|v| v.path[0].as_str()).collect();
        assert_eq!((names, all.losses.len()), (vec!["a", "b.x"], 1));
        assert_eq!(all.list[1].shape, [2, 2]);
        let Values::Array(array) = &all.list[1].values else { panic!("no array") };
        assert_eq!(
            read(array.as_ref(), &Task::new(), &Region::all(&[2, 2])).unwrap(),
            [1, 2, 3, 4, 6, 7, 8, 9]
        );
    }

    #[test]
    fn reversed_dimensions_move_the_elements() {
        let plain =
            Plain::new(Source::memory("a", (0..6).collect::<Vec<u8>>()), 0, DType::U8, vec![2, 3]).unwrap();
        let turned = Reversed::new(Arc::new(plain));
        assert_eq!(turned.shape(), [3, 2]);
        assert_eq!(read(&turned, &Task::new(), &Region::all(&[3, 2])).unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(read(&turned, &Task::new(), &Region::parse("1:, 1", &[3, 2]).unwrap().0).unwrap(), [4, 5]);
    }
}
