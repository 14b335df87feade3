//! A column of texts or bytes of any length as an array of such elements.

use super::columns::NullRule;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Table};
use crate::data::dtype::{DType, Variable};
use crate::data::region::Region;
use crate::data::scan::read_rows;
use arrow::array::{Array as _, ArrayRef, AsArray, BinaryArray, StringArray, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The elements that hold texts or bytes of an Arrow type; `None` for other types.
pub fn text_dtype(data_type: &DataType) -> Option<DType> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(DType::text()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let (word, reference) = ("bytes".to_owned(), false);
            Some(DType::Variable(Arc::new(Variable { word, arrow: DataType::Binary, reference })))
        }
        DataType::Dictionary(_, values) => text_dtype(values),
        DataType::RunEndEncoded(_, values) => text_dtype(values.data_type()),
        _ => None,
    }
}

/// Whether the cells of a type are texts of any length, in any of Arrow's forms.
pub fn is_text(data_type: &DataType) -> bool {
    text_dtype(data_type) == Some(DType::text())
}

/// The first column of a table as an array in one dimension.
pub struct TextColumn {
    table: Arc<dyn Table>,
    dtype: DType,
    arrow: DataType,
    shape: Vec<u64>,
    nulls: NullRule,
}

impl TextColumn {
    /// The `rows` rows of a table's first column; null cells are an error or, by consent, empty.
    ///
    /// # Errors
    /// `Unsupported` for a column of something else.
    pub fn new(table: Arc<dyn Table>, rows: u64, nulls: NullRule) -> Result<Self> {
        let field = table.schema().fields().first().cloned();
        let dtype = field.and_then(|field| text_dtype(field.data_type()));
        let dtype = dtype.ok_or_else(|| Error::unsupported("a column that is neither text nor bytes"))?;
        let DType::Variable(kind) = &dtype else { return Err(Error::bug("texts with a size")) };
        Ok(TextColumn { table, arrow: kind.arrow.clone(), dtype, shape: vec![rows], nulls })
    }
}

impl Array for TextColumn {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::bug("bytes of elements without a size"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        region.check(&self.shape)?;
        let Some(rows) = region.0.first() else { return Err(Error::bug("a column without rows")) };
        let batch = read_rows(self.table.as_ref(), task, rows.start..rows.end(), &[0])?;
        let cells = batch.columns().first().ok_or_else(|| Error::bug("a batch without its column"))?;
        let mut cells = cast(cells, &self.arrow)?;
        let found = cells.logical_null_count();
        if found > 0 && !self.nulls.fills() {
            let name =
                self.table.schema().fields().first().map_or("", |field| field.name().as_str()).to_owned();
            let what = "null cells, which an array cannot hold; with consent to losses they become empty";
            return Err(Error::unsupported(format!("{found} {what}")).in_node(&format!("column {name:?}")));
        }
        if found > 0 {
            cells = match cells.as_string_opt::<i32>() {
                Some(texts) => {
                    Arc::new(texts.iter().map(|text| Some(text.unwrap_or_default())).collect::<StringArray>())
                }
                None => {
                    let bytes = cells.as_binary::<i32>();
                    Arc::new(
                        bytes.iter().map(|bytes| Some(bytes.unwrap_or_default())).collect::<BinaryArray>(),
                    )
                }
            };
        }
        if rows.step == 1 {
            return Ok(cells);
        }
        let wanted = UInt64Array::from_iter_values((0..rows.count).map(|n| n * rows.step));
        Ok(take(&cells, &wanted, None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use crate::data::region::Span;
    use arrow::array::{RecordBatch, StringViewArray};

    #[test]
    fn texts_with_nulls_want_consent() {
        let column: ArrayRef =
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("größe"), Some("")]));
        let table = Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("t", column)]).unwrap()));
        let rule = NullRule::default();
        let array = TextColumn::new(table, 4, rule.clone()).unwrap();
        assert_eq!((array.dtype(), array.shape()), (&DType::text(), &[4][..]));
        let texts = |region: Region| -> Result<Vec<Option<String>>> {
            let column = array.column(&Task::new(), &region)?;
            Ok(column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
        };
        let all = || Region::all(&[4]);
        assert!(texts(all()).unwrap_err().to_string().contains("1 null cells"));
        let some = Region(vec![Span { start: 0, count: 2, step: 3 }]);
        assert!(texts(Region(vec![Span::range(2, 2)])).is_ok());
        rule.fill(true);
        assert_eq!(texts(all()).unwrap(), ["a", "", "größe", ""].map(|text| Some(text.to_owned())));
        assert_eq!(texts(some).unwrap(), ["a", ""].map(|text| Some(text.to_owned())));
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        let table = Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("n", numbers)]).unwrap()));
        assert!(TextColumn::new(table, 1, rule).is_err());
    }
}
