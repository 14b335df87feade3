//! Text columns as the types that their reader inferred ([`Table::inferred`]).
//!
//! The guess was made on a sample. A cell that does not fit is never dropped or bent: the read fails, the
//! column is noted with the next wider type that this cell fits — text at last — and the caller starts
//! again ([`Typed::mismatches`]).

use super::{ColumnMap, MappedTable, TableView, nested};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ColumnStatistics, Table};
use crate::data::infer::cells::{self, float, stamp};
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column whose guess did not hold: what it is read as instead, and the cell that showed it.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeMismatch {
    /// The wider type.
    pub wider: DataType,
    /// The cell.
    pub cell: String,
}

/// What a text column is read as.
enum Kind {
    /// Values of a type.
    Values(DataType),
    /// Lists or objects as JSON, which stays text and is marked as Arrow's extension type `arrow.json`.
    Json,
}

impl Kind {
    /// Values of a type; texts stay as they are.
    fn values(found: &DataType) -> Option<Kind> {
        (*found != DataType::Utf8).then(|| Kind::Values(found.clone()))
    }
}

/// Whether a column's texts are JSON (Arrow's extension type `arrow.json`).
pub fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == "arrow.json")
}

const EXTENSION: &str = "ARROW:extension:name";

/// A table whose text columns are read as the types that were inferred.
pub type Typed = MappedTable<Strict>;

/// What columns are read as, where that is not their text, and those of which a cell did not fit.
pub struct Strict {
    kinds: Vec<Option<Kind>>,
    mismatches: Mutex<BTreeMap<usize, TypeMismatch>>,
}

impl Typed {
    /// `inner` with its inferred types; `type_overrides` says which columns get another one. Lists and objects stay
    /// JSON.
    pub fn strict(inner: Arc<dyn Table>, type_overrides: &BTreeMap<usize, TypeMismatch>) -> Self {
        Typed::of(inner, type_overrides, false)
    }

    /// The same with lists and objects as Arrow's lists and structs, where the sample found one type for them.
    pub fn nested(inner: Arc<dyn Table>, type_overrides: &BTreeMap<usize, TypeMismatch>) -> Self {
        Typed::of(inner, type_overrides, true)
    }

    fn of(inner: Arc<dyn Table>, type_overrides: &BTreeMap<usize, TypeMismatch>, deep: bool) -> Self {
        let mut kinds = Vec::new();
        let mut fields = Vec::new();
        for (index, field) in inner.schema().fields().iter().enumerate() {
            let mut metadata = field.metadata().clone();
            let kind = match (type_overrides.get(&index), inner.inferred(index)) {
                (Some(mismatch), _) => Kind::values(&mismatch.wider),
                (None, Some(found)) if found.is_nested() && !(deep && nested::is_built(found)) => {
                    Some(Kind::Json)
                }
                (None, found) => found.and_then(Kind::values),
            };
            let data_type = match &kind {
                Some(Kind::Values(data_type)) => data_type.clone(),
                _ => field.data_type().clone(),
            };
            if matches!(kind, Some(Kind::Json)) {
                metadata.insert(EXTENSION.to_owned(), "arrow.json".to_owned());
                metadata.insert("ARROW:extension:metadata".to_owned(), String::new());
            }
            let typed = field.as_ref().clone().with_data_type(data_type).with_metadata(metadata);
            fields.push(typed.with_nullable(field.is_nullable() || kind.is_some()));
            kinds.push(kind);
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, inner.schema().metadata().clone()));
        MappedTable::new(inner, schema, Strict { kinds, mismatches: Mutex::default() })
    }

    /// The columns whose cells did not fit in the reads so far.
    pub fn mismatches(&self) -> BTreeMap<usize, TypeMismatch> {
        self.map.mismatches.lock().clone()
    }

    /// Reads all rows only to see what does not fit, in every column.
    pub fn try_all(&self, task: &Task) -> Result<()> {
        let columns: Vec<usize> =
            self.map.kinds.iter().enumerate().filter(|(_, kind)| kind.is_some()).map(|(c, _)| c).collect();
        let view = TableView::new(self.inner.clone(), 0..u64::MAX, columns.clone())?;
        let look = |batch: RecordBatch| {
            let mut arrays = batch.columns().iter().zip(&columns);
            arrays.try_for_each(|(array, &column)| self.map.column(array, column).map(drop))
        };
        crate::data::scan::scan(task, &view, look, |()| Ok(())).map(drop)
    }
}

impl Strict {
    /// One column typed; where a cell does not fit, it is noted and `None`.
    fn column(&self, array: &ArrayRef, column: usize) -> Result<Option<ArrayRef>> {
        let Some(Some(kind)) = self.kinds.get(column) else { return Ok(Some(array.clone())) };
        let text =
            if *array.data_type() == DataType::Utf8 { array.clone() } else { cast(array, &DataType::Utf8)? };
        let text = text.as_string::<i32>();
        let target = match kind {
            Kind::Values(target) => target,
            Kind::Json => {
                let Some(cell) = text.iter().flatten().find(|cell| !cell.is_empty() && !is_nested(cell))
                else {
                    return Ok(Some(array.clone()));
                };
                let mismatch = TypeMismatch { wider: DataType::Utf8, cell: cell.to_owned() };
                self.mismatches.lock().entry(column).or_insert(mismatch);
                return Ok(None);
            }
        };
        let mut wider = target.clone();
        if let Some(known) = self.mismatches.lock().get(&column) {
            wider.clone_from(&known.wider);
        }
        let mut first = None;
        loop {
            match parse(text, &wider) {
                Ok(array) if first.is_none() && wider == *target => return Ok(Some(array)),
                Ok(_) => break,
                Err(cell) => {
                    wider = next(&wider, cell);
                    first.get_or_insert_with(|| cell.to_owned());
                }
            }
        }
        if let Some(cell) = first {
            let mut mismatches = self.mismatches.lock();
            let entry = mismatches.entry(column).or_insert(TypeMismatch { wider: wider.clone(), cell });
            entry.wider = wider;
        }
        Ok(None)
    }
}

impl ColumnMap for Strict {
    fn changes(&self, column: usize) -> bool {
        self.kinds.get(column).is_some_and(Option::is_some)
    }

    fn map(&self, cells: &ArrayRef, column: usize, field: &Field) -> Result<ArrayRef> {
        self.column(cells, column)?.ok_or_else(|| {
            let name = field.name();
            Error::unsupported(format!("column {name:?}: a cell does not fit the inferred type"))
        })
    }

    fn known(&self, found: ColumnStatistics, field: &Field) -> ColumnStatistics {
        ColumnStatistics::unknown(field.data_type(), found.min.len())
    }
}

/// Whether a cell is a JSON list or object.
fn is_nested(cell: &str) -> bool {
    cell.starts_with(['[', '{']) && serde_json::from_str::<&RawValue>(cell).is_ok()
}

/// What to try when `cell` is not of type `now`; text at last.
fn next(now: &DataType, cell: &str) -> DataType {
    match now {
        DataType::Int64 if float(cell).is_some() => DataType::Float64,
        DataType::Date32 if stamp(cell, false, 1_000).is_some() => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) if stamp(cell, zone.is_some(), 1).is_some() => {
            DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())
        }
        _ => DataType::Utf8,
    }
}

/// All cells as `target`; the first one that does not fit is the error.
fn parse<'a>(text: &'a StringArray, target: &DataType) -> Result<ArrayRef, &'a str> {
    match target {
        DataType::List(_) | DataType::Struct(_) => nested::array(text, target),
        _ => cells::column(text, target, Err),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cell;
    use crate::data::content::table::{Columns, MemoryTable};

    fn table(inferred: &DataType, cells: &[&str]) -> Arc<dyn Table> {
        let array: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
        let columns = std::iter::once(Columns::text("x", inferred.clone())).collect();
        Arc::new(MemoryTable::of(columns, vec![array]).unwrap())
    }

    const MICROS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    fn texts(inferred: DataType, cells: &[&str]) -> Vec<Option<String>> {
        let typed = Typed::strict(table(&inferred, cells), &BTreeMap::new());
        let batch = typed.read(&Task::new(), 0..99, &[0]).unwrap();
        (0..batch.num_rows()).map(|row| cell::text(batch.column(0).as_ref(), row)).collect()
    }

    #[test]
    fn cells_become_what_was_inferred() {
        let some = |t: &str| Some(t.to_owned());
        assert_eq!(
            texts(DataType::Int64, &["9223372036854775807", "", "NA", " -5 "])[..2],
            [some("9223372036854775807"), None]
        );
        assert_eq!(
            texts(DataType::Float64, &["0.1", "nan", "null", "1e300"]),
            [some("0.1"), some("nan"), None, some("1e300")]
        );
        assert_eq!(texts(DataType::Boolean, &["TRUE", "false"]), [some("true"), some("false")]);
        assert_eq!(
            texts(DataType::Date32, &["1969-12-31", "2024/02/29"]),
            [some("1969-12-31"), some("2024-02-29")]
        );
        assert_eq!(
            texts(MICROS, &["2024-01-31 12:00", "1969-12-31T23:59:59.5"])[1],
            some("1969-12-31T23:59:59.500")
        );
        let stamp = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        let zoned = texts(stamp, &["2024-01-31T12:00:00+01:30", "2024-01-31T12:00:00Z"]);
        assert_eq!(zoned[0], some("2024-01-31T10:30:00+00:00"));
    }

    #[test]
    fn what_does_not_fit_makes_the_column_wider_and_nothing_else() {
        for (inferred, cell, wider) in [
            (DataType::Int64, "0.5", DataType::Float64),
            (DataType::Int64, "9007199254740993.5", DataType::Float64),
            (DataType::Int64, "x", DataType::Utf8),
            (DataType::Int64, "007", DataType::Utf8),
            (DataType::Float64, "9007199254740993", DataType::Utf8),
            (DataType::Float64, "18446744073709551617", DataType::Utf8),
            (DataType::Boolean, "1", DataType::Utf8),
            (DataType::Date32, "2024-01-31T00:00:01", MICROS),
            (DataType::Date32, "2023-02-29", DataType::Utf8),
            (MICROS, "2024-01-31T00:00:00.000000001", DataType::Timestamp(TimeUnit::Nanosecond, None)),
            (MICROS, "2024-01-31T00:00:00Z", DataType::Utf8),
        ] {
            let typed = Typed::strict(table(&inferred, &["", cell]), &BTreeMap::new());
            assert!(typed.read(&Task::new(), 0..9, &[0]).is_err(), "{inferred} {cell}");
            assert_eq!(typed.mismatches()[&0], TypeMismatch { wider, cell: cell.to_owned() }, "{inferred}");
            let again = Typed::strict(table(&inferred, &["", cell]), &typed.mismatches());
            assert_eq!(again.read(&Task::new(), 0..9, &[0]).unwrap().num_rows(), 2);
        }
    }

    #[test]
    fn lists_and_objects_stay_json_and_are_marked() {
        let list = DataType::new_list(DataType::Int64, true);
        let object = DataType::Struct(vec![Field::new("a", DataType::Utf8, true)].into());
        let typed = Typed::strict(table(&list, &["[1, 2]", "", "{}"]), &BTreeMap::new());
        assert!(is_json(typed.schema().field(0)));
        assert_eq!(typed.read(&Task::new(), 0..9, &[0]).unwrap().num_rows(), 3);
        let mixed = Typed::strict(table(&object, &["{}", "[1"]), &BTreeMap::new());
        assert!(mixed.read(&Task::new(), 0..9, &[0]).is_err());
        assert!(!is_json(Typed::strict(table(&object, &[]), &mixed.mismatches()).schema().field(0)));
    }

    #[test]
    fn an_integer_that_a_float_cannot_hold_forces_text() {
        let typed = Typed::strict(table(&DataType::Int64, &["9007199254740993", "0.5"]), &BTreeMap::new());
        typed.try_all(&Task::new()).unwrap();
        assert_eq!(typed.mismatches()[&0].wider, DataType::Utf8);
    }
}
