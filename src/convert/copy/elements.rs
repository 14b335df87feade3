//! Elements of a slice of an array as text.

use super::value::{CopyValue, numpy_dtype, numpy_record};
use super::{CopyRequest, CopyWriter, check};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::dtype::{DType, Field};
use crate::data::plane::{Slice, Window};
use crate::data::region::Span;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::DataType;

/// Elements of a slice, rows down and columns across. Of structured elements in one column the fields are the columns.
///
/// # Errors
/// `Limit` where it is too much for a clipboard; what the array says, also of a part that cannot be read.
pub fn elements(array: &dyn Array, task: &Task, slice: &Slice, request: &CopyRequest) -> Result<String> {
    check(request)?;
    let names = field_names(array.dtype(), slice);
    let across = |column: usize| if names.is_some() { 0 } else { column as u64 };
    let first = request.columns.iter().map(|&column| across(column)).min().unwrap_or(0);
    let end = request.columns.iter().map(|&column| across(column) + 1).max().unwrap_or(0);
    let window = Window {
        rows: Span::range(request.rows.start, request.rows.end.saturating_sub(request.rows.start)),
        columns: Span::range(first, end - first),
    };
    let block = Block::read(array, task, slice, &window, names.is_some())?;
    let name = |column: usize| match names.as_ref().and_then(|names| names.get(column)) {
        Some(name) => name.clone(),
        None => slice.along(slice.columns, column as u64).to_string(),
    };
    let out = CopyWriter::new(request, request.columns.iter().map(|&column| name(column)).collect());
    let mut out = match &names {
        None => out.of_elements(numpy_dtype(array.dtype())),
        Some(_) => out.of_records(block.record_type(&request.columns)),
    };
    for row in request.rows.clone() {
        task.check()?;
        let value = |&column: &usize| block.value(window.find(row, across(column))?, column);
        let values: Vec<CopyValue> =
            request.columns.iter().map(|column| value(column).unwrap_or_default()).collect();
        out.row(&values);
    }
    Ok(out.end())
}

/// The names of the fields, where these are the columns.
fn field_names(dtype: &DType, slice: &Slice) -> Option<Vec<String>> {
    let names: Vec<String> = match dtype {
        _ if slice.width() > 1 => return None,
        DType::Struct(record) => record.fields.iter().map(|field| field.name.clone()).collect(),
        DType::Variable(kind) => match &kind.arrow {
            DataType::Struct(fields) => fields.iter().map(|field| field.name().clone()).collect(),
            _ => return None,
        },
        _ => return None,
    };
    (!names.is_empty()).then_some(names)
}

/// Elements that were read.
enum Block<'a> {
    /// Elements of a fixed size.
    Bytes { dtype: &'a DType, raw: Vec<u8>, by_fields: bool },
    /// A column of cells each field, or one.
    Columns(Vec<ArrayRef>),
}

impl<'a> Block<'a> {
    fn read(
        array: &'a dyn Array,
        task: &Task,
        slice: &Slice,
        window: &Window,
        by_fields: bool,
    ) -> Result<Self> {
        let dtype = array.dtype();
        if dtype.is_variable() {
            let column = slice.column(array, task, window)?;
            return Ok(Block::Columns(match column.as_struct_opt().filter(|_| by_fields) {
                Some(record) => record.columns().to_vec(),
                None => vec![column],
            }));
        }
        let (raw, gaps) = slice.read_lenient(array, task, window)?;
        match gaps.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(Block::Bytes { dtype, raw, by_fields }),
        }
    }

    /// The n-th element of the window, or a field of it.
    fn value(&self, n: usize, column: usize) -> Option<CopyValue> {
        let (dtype, raw, by_fields) = match self {
            Block::Columns(columns) => {
                let cells = if columns.len() > 1 { columns.get(column)? } else { columns.first()? };
                return (n < cells.len()).then(|| CopyValue::of(&**cells, n));
            }
            Block::Bytes { dtype, raw, by_fields } => (*dtype, raw, *by_fields),
        };
        let size = dtype.size().max(1) as usize;
        let bytes = raw.get(n * size..n * size + size)?;
        let Some(field) = self.field(column).filter(|_| by_fields) else {
            return Some(CopyValue::element(dtype, bytes));
        };
        let start = field.offset as usize;
        let bytes = bytes.get(start..start + field.bytes().ok()? as usize)?;
        Some(match field.shape.is_empty() {
            true => CopyValue::element(&field.dtype, bytes),
            false => CopyValue::part(&field.dtype, &field.shape, bytes),
        })
    }

    fn field(&self, column: usize) -> Option<&Field> {
        match self {
            Block::Bytes { dtype, .. } => dtype.record()?.fields.get(column),
            Block::Columns(_) => None,
        }
    }

    /// The type of records with these of their fields, as NumPy has it.
    fn record_type(&self, columns: &[usize]) -> Option<String> {
        let field = |column: &usize| {
            let field = self.field(*column)?;
            Some((field.name.as_str(), &field.dtype, field.shape.as_slice()))
        };
        let fields: Option<Vec<_>> = columns.iter().map(field).collect();
        numpy_record(&fields?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::convert::copy::CopyFormat;
    use crate::data::content::array::Plain;
    use crate::data::dtype::Record;
    use std::sync::Arc;

    fn copied(array: &dyn Array, columns: usize, format: CopyFormat) -> String {
        let rows = array.shape()[0];
        let slice = Slice { spans: vec![Span::all(rows)], rows: Some(0), columns: None, channels: None };
        let request = CopyRequest { rows: 0..rows, columns: (0..columns).collect(), headers: true, format };
        elements(array, &Task::new(), &slice, &request).unwrap()
    }

    #[test]
    fn copies_are_read_as_what_was_copied() {
        let values = [1.5f32, f32::NAN, f32::NEG_INFINITY].map(f32::to_le_bytes).concat();
        let array = Plain::new(Source::memory("a", values), 0, DType::F32, vec![3]).unwrap();
        assert_eq!(copied(&array, 1, CopyFormat::NumPy), "np.array([1.5, np.nan, -np.inf], dtype='float32')");
        let field =
            |name: &str, dtype, offset| Field { name: name.to_owned(), dtype, shape: Vec::new(), offset };
        let record =
            Record { fields: vec![field("a|b", DType::U8, 0), field("ok", DType::Bool, 1)], size: 2 };
        let (dtype, bytes) = (DType::Struct(Arc::new(record)), vec![7u8, 1, 8, 0]);
        let array = Plain::new(Source::memory("a", bytes), 0, dtype, vec![2]).unwrap();
        assert_eq!(
            copied(&array, 2, CopyFormat::NumPy),
            "np.array([(7, True),\n          (8, False)], dtype=[('a|b', 'uint8'), ('ok', 'bool')])"
        );
        assert_eq!(
            copied(&array, 2, CopyFormat::Markdown),
            "| a\\|b | ok |\n| --- | --- |\n| 7 | true |\n| 8 | false |\n"
        );
        assert_eq!(
            copied(&array, 2, CopyFormat::SqlWhere),
            "WHERE (\"a|b\" = 7 AND \"ok\" = TRUE)\n   OR (\"a|b\" = 8 AND \"ok\" = FALSE)"
        );
    }
}
