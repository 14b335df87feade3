//! Tables: AnnData's data frames, one array a column
//! (<https://anndata.readthedocs.io/en/latest/fileformat-prose.html#dataframes>), and pandas' fixed ones
//! (`HDFStore.put`, columns of one type together in a block).

use super::{Found, Members};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt::StoredRows;
use crate::data::cell;
use crate::data::cf;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Rows, Table, TableFacts};
use crate::data::node::Value;
use crate::data::region::{Region, Span};
use arrow::array::{Array as _, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit};
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most columns of such a table.
const COLUMNS: usize = 10_000;
/// The most categories of a column.
const CATEGORIES: u64 = 10_000_000;

/// A table of datasets.
pub(super) struct Frame {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: u64,
    format: &'static str,
    /// The arrays that the rows are read from, each once.
    held: Vec<(Arc<dyn Array>, StoredRows)>,
}

/// Where one column comes from.
enum Column {
    /// All of a dataset of one dimension.
    Whole(Arc<dyn Array>),
    /// A column of a dataset of two.
    Part(Arc<dyn Array>, u64),
    /// Numbers of categories; -1 is missing.
    Categories(Categories),
    /// Values and which of them are missing.
    Masked(Arc<dyn Array>, Arc<dyn Array>),
    /// Counts of a time unit since 1970.
    Times(Box<Column>, DataType),
}

struct Categories {
    codes: Arc<dyn Array>,
    values: Arc<dyn Array>,
    read: OnceLock<ArrayRef>,
}

/// Finds what belongs to one group.
struct Reader<'a> {
    task: &'a Task,
    members: &'a dyn Members,
}

/// The table that a group is, and what there is to remark; `None` where it is none.
///
/// # Errors
/// Where it says that it is one and none of its columns can be found.
pub(super) fn of(
    task: &Task,
    members: &dyn Members,
    attributes: &[(String, Value)],
) -> Result<Option<(Frame, Vec<String>)>> {
    let reader = Reader { task, members };
    let text = |name: &str| cf::text(attributes, name);
    if text("encoding-type").as_deref() == Some("dataframe") {
        reader.anndata(attributes).map(Some)
    } else if text("pandas_type").as_deref() == Some("frame") && reader.has_blocks()? {
        reader.pandas(attributes).map(Some)
    } else {
        Ok(None)
    }
}

impl Reader<'_> {
    /// Whether anything of pandas' layout is there: a table that was written with the attributes of its source has columns.
    fn has_blocks(&self) -> Result<bool> {
        Ok(self.find("axis0")?.is_some() || self.find("block0_items")?.is_some())
    }

    fn find(&self, path: &str) -> Result<Option<Found>> {
        self.members.find(self.task, path)
    }

    fn array(&self, path: &str) -> Result<Arc<dyn Array>> {
        super::array(self.task, self.members, "data frame", path)
    }

    /// A column of AnnData's: a dataset, or a group of codes and categories or of values and a mask.
    fn encoded(&self, name: &str) -> Result<Column> {
        let missing = || Error::malformed(format!("data frame: it has no column {name:?}"));
        let found = self.find(name)?.ok_or_else(missing)?;
        let encoding = cf::text(&found.attributes, "encoding-type").unwrap_or_default();
        if let Some(array) = found.array {
            // Before version 0.2.0 codes named the dataset of their categories by a reference.
            return match cf::text(&found.attributes, "categories") {
                Some(path) if path.starts_with('/') => {
                    Ok(Column::Categories(Categories::new(array, self.array(&path)?)))
                }
                _ => Ok(Column::Whole(array)),
            };
        }
        let part = |part: &str| self.array(&format!("{name}/{part}"));
        match encoding.as_str() {
            "categorical" => Ok(Column::Categories(Categories::new(part("codes")?, part("categories")?))),
            "nullable-integer" | "nullable-boolean" | "nullable-string-array" => {
                Ok(Column::Masked(part("values")?, part("mask")?))
            }
            other => Err(Error::unsupported(format!("a column {name:?} of encoding {other:?}"))),
        }
    }

    fn anndata(&self, attributes: &[(String, Value)]) -> Result<(Frame, Vec<String>)> {
        let index = cf::text(attributes, "_index").unwrap_or_else(|| "_index".to_owned());
        let mut names = vec![index];
        let order = attributes.iter().find(|(name, _)| name == "column-order").map(|(_, value)| value);
        match order {
            Some(Value::Json(Json::Array(list))) => {
                names.extend(list.iter().filter_map(Json::as_str).map(str::to_owned));
            }
            Some(Value::Text(one)) => names.push(one.clone()),
            _ => {}
        }
        limits::check(names.len() as u64, COLUMNS as u64, "columns of a data frame")?;
        let columns = names.into_iter().map(|name| (self.encoded(&name), name));
        Frame::new(self.task, columns.map(|(column, name)| (name, column)).collect(), "AnnData data frame")
    }

    /// The texts of a dataset of names.
    fn texts(&self, path: &str) -> Result<Vec<String>> {
        let array = self.array(path)?;
        limits::check(limits::elements(array.shape())?, COLUMNS as u64, "names of columns")?;
        let column = array.column(self.task, &Region::all(array.shape()))?;
        Ok((0..column.len()).map(|row| cell::text(column.as_ref(), row).unwrap_or_default()).collect())
    }

    fn pandas(&self, attributes: &[(String, Value)]) -> Result<(Frame, Vec<String>)> {
        let blocks = cf::numbers(attributes, "nblocks").first().copied().unwrap_or(0.0).min(COLUMNS as f64);
        let mut found: Vec<(String, Result<Column>)> = Vec::new();
        for block in 0..blocks as u64 {
            let names = self.texts(&format!("block{block}_items"))?;
            let path = format!("block{block}_values");
            let Some(values) = self.find(&path)? else { continue };
            // Blocks of Python objects are one pickle, which is not a column.
            let Some(array) = values.array.filter(|array| array.shape().len() == 2) else { continue };
            let times = cf::text(&values.attributes, "value_type").and_then(|kind| time(&kind));
            for (n, name) in names.into_iter().enumerate() {
                found.push((name, Ok(timed(Column::Part(array.clone(), n as u64), times.clone()))));
            }
        }
        let order = self.texts("axis0")?;
        found.sort_by_key(|(name, _)| order.iter().position(|known| known == name));
        if let Some(index) = self.find("axis1")?
            && let Some(array) = index.array
        {
            let times = cf::text(&index.attributes, "kind").and_then(|kind| time(&kind));
            found.insert(0, ("index".to_owned(), Ok(timed(Column::Whole(array), times))));
        }
        Frame::new(self.task, found, "pandas data frame")
    }
}

/// Arrow's type of pandas' word for times.
fn time(kind: &str) -> Option<DataType> {
    let unit = match kind {
        "datetime64" | "datetime64[ns]" => TimeUnit::Nanosecond,
        "datetime64[us]" => TimeUnit::Microsecond,
        "datetime64[ms]" => TimeUnit::Millisecond,
        "datetime64[s]" => TimeUnit::Second,
        _ => return None,
    };
    Some(DataType::Timestamp(unit, None))
}

fn timed(column: Column, times: Option<DataType>) -> Column {
    match times {
        Some(times) => Column::Times(Box::new(column), times),
        None => column,
    }
}

impl Categories {
    fn new(codes: Arc<dyn Array>, values: Arc<dyn Array>) -> Self {
        Categories { codes, values, read: OnceLock::new() }
    }

    fn values(&self, task: &Task) -> Result<ArrayRef> {
        if let Some(values) = self.read.get() {
            return Ok(values.clone());
        }
        limits::check(limits::elements(self.values.shape())?, CATEGORIES, "categories of a column")?;
        let values = self.values.column(task, &Region::all(self.values.shape()))?;
        Ok(self.read.get_or_init(|| values).clone())
    }
}

impl Column {
    fn rows(&self) -> Option<u64> {
        match self {
            Column::Whole(array) | Column::Masked(array, _) => match array.shape() {
                [rows] => Some(*rows),
                _ => None,
            },
            Column::Categories(categories) => categories.codes.shape().first().copied(),
            Column::Part(array, column) => match array.shape() {
                [rows, columns] if column < columns => Some(*rows),
                _ => None,
            },
            Column::Times(inner, _) => inner.rows(),
        }
    }

    /// The arrays that its rows are read from.
    fn arrays(&self) -> Vec<&Arc<dyn Array>> {
        match self {
            Column::Whole(array) | Column::Part(array, _) => vec![array],
            Column::Categories(categories) => vec![&categories.codes],
            Column::Masked(values, mask) => vec![values, mask],
            Column::Times(inner, _) => inner.arrays(),
        }
    }

    fn read(&self, task: &Task, rows: &Range<u64>) -> Result<ArrayRef> {
        let span = Span::range(rows.start, rows.end - rows.start);
        match self {
            Column::Whole(array) => array.column(task, &Region(vec![span])),
            Column::Part(array, column) => array.column(task, &Region(vec![span, Span::range(*column, 1)])),
            Column::Categories(categories) => {
                let codes = categories.codes.column(task, &Region(vec![span]))?;
                let codes = arrow::compute::cast(&codes, &DataType::Int64)?;
                let values = categories.values(task)?;
                // Codes outside of the categories, -1 first of all, are missing values.
                let most = values.len() as i64;
                let known = codes.as_primitive::<Int64Type>().iter();
                let known: arrow::array::Int64Array =
                    known.map(|code| code.filter(|code| (0..most).contains(code))).collect();
                Ok(arrow::compute::take(values.as_ref(), &known, None)?)
            }
            Column::Masked(values, mask) => {
                let values = values.column(task, &Region(vec![span]))?;
                let mask = mask.column(task, &Region(vec![span]))?;
                let mask: BooleanArray =
                    arrow::compute::cast(&mask, &DataType::Boolean)?.as_boolean().clone();
                Ok(arrow::compute::nullif(values.as_ref(), &mask)?)
            }
            Column::Times(inner, kind) => {
                let values = arrow::compute::cast(&inner.read(task, rows)?, &DataType::Int64)?;
                Ok(arrow::compute::cast(&values, kind)?)
            }
        }
    }
}

impl Frame {
    /// A table of these columns; those that cannot be read, or are not as long as the first, are left out and
    /// remarked.
    fn new(
        task: &Task,
        all: Vec<(String, Result<Column>)>,
        format: &'static str,
    ) -> Result<(Self, Vec<String>)> {
        let (mut rows, mut columns, mut remarks) = (None, Vec::new(), Vec::new());
        let mut fields = Vec::with_capacity(all.len());
        let mut first = None;
        for (name, column) in all {
            let fits = column.and_then(|column| {
                let here = column.rows();
                if here.is_none() || rows.is_some_and(|rows| Some(rows) != here) {
                    return Err(Error::malformed(format!(
                        "data frame: column {name:?} is not as long as others"
                    )));
                }
                // Of no rows only the type is read.
                let kind = column.read(task, &(0..0))?.data_type().clone();
                Ok((column, kind, here))
            });
            match fits.unless_cancelled()? {
                Ok((column, kind, here)) => {
                    rows = here;
                    fields.push(Field::new(name, kind, true));
                    columns.push(column);
                }
                Err(error) => {
                    remarks.push(format!("column {name:?} is left out: {}", error.message()));
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if columns.is_empty() => Err(error),
            _ => {
                let schema = Arc::new(Schema::new(fields));
                let mut held: Vec<(Arc<dyn Array>, StoredRows)> = Vec::new();
                for array in columns.iter().flat_map(Column::arrays) {
                    if !held.iter().any(|(known, _)| Arc::ptr_eq(known, array)) {
                        held.push((array.clone(), StoredRows::default()));
                    }
                }
                Ok((Frame { schema, columns, rows: rows.unwrap_or(0), format, held }, remarks))
            }
        }
    }
}

impl Table for Frame {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<arrow::array::RecordBatch> {
        let rows = cut(&rows, self.rows);
        let column = |n: &usize| {
            task.check()?;
            let column =
                self.columns.get(*n).ok_or_else(|| Error::bug(format!("column {n} was asked for")))?;
            column.read(task, &rows)
        };
        let arrays = columns.iter().map(column).collect::<Result<_>>()?;
        batch(&self.schema, columns, arrays, (rows.end - rows.start) as usize)
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        let mut least = u64::MAX;
        for (array, held) in &self.held {
            least = least.min(held.equal_rows(task, array.as_ref(), at)?);
            if least == 0 {
                break;
            }
        }
        Ok(if self.held.is_empty() { 0 } else { least })
    }

    fn facts(&self) -> TableFacts {
        TableFacts { details: vec![("layout".to_owned(), self.format.to_owned())], ..TableFacts::default() }
    }
}
