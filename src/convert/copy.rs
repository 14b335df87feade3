//! Cells as text for other programs: tab-separated, CSV, JSON, Markdown, a NumPy literal, a SQL condition. Tables,
//! slices of arrays, and lists of anything are written by the same [`CopyWriter`].

mod elements;
mod value;
mod writer;

pub use elements::elements;
pub use value::{CopyValue, ValueKind};
pub use writer::CopyWriter;

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::LenientTyped;
use crate::data::content::Table;
use crate::data::content::table::project;
use std::ops::Range;
use std::sync::Arc;

/// The most cells that are copied.
pub const CELLS: u64 = 2_000_000;
/// The most bytes of text.
const BYTES: usize = 256 << 20;
/// Rows that are read at a time.
const STEP: u64 = 4096;

/// In which form cells are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Tab-separated, for spreadsheets.
    Tsv,
    /// Comma-separated, quoted where needed.
    Csv,
    /// An array of objects.
    Json,
    /// A table in Markdown.
    Markdown,
    /// A NumPy array literal.
    NumPy,
    /// A condition for a SQL query.
    SqlWhere,
}

impl CopyFormat {
    /// Every form, in the order of the menu.
    pub const ALL: [CopyFormat; 6] =
        [Self::Tsv, Self::Csv, Self::Json, Self::Markdown, Self::NumPy, Self::SqlWhere];
    /// Those for what has no columns that a query could name.
    pub const UNNAMED: &[CopyFormat] = &[Self::Tsv, Self::Csv, Self::Json, Self::Markdown, Self::NumPy];

    /// Whether it is made of the texts of a file: others tell numbers from texts.
    pub fn is_text(self) -> bool {
        matches!(self, CopyFormat::Tsv | CopyFormat::Csv | CopyFormat::Markdown)
    }

    /// Its name, as in a menu.
    pub fn name(self) -> &'static str {
        match self {
            CopyFormat::Tsv => "Tab-separated",
            CopyFormat::Csv => "CSV",
            CopyFormat::Json => "JSON",
            CopyFormat::Markdown => "Markdown table",
            CopyFormat::NumPy => "NumPy array",
            CopyFormat::SqlWhere => "SQL WHERE",
        }
    }
}

/// What is to be copied: a block of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRequest {
    /// The rows.
    pub rows: Range<u64>,
    /// The columns, in the order of the copy.
    pub columns: Vec<usize>,
    /// Whether the column names come first.
    pub headers: bool,
    /// In which form.
    pub format: CopyFormat,
}

/// A copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The text.
    pub text: String,
    /// Cells of a text format that do not fit the type that was inferred for their column: null in the forms that tell
    /// numbers from texts.
    pub unfit: u64,
}

/// Cells of a table. Columns whose types were inferred are copied as the texts that they are in the file, or as values
/// by the forms that tell these from texts.
///
/// # Errors
/// `Limit` where it is too much for a clipboard; those of the table.
pub fn table(table: &Arc<dyn Table>, task: &Task, request: &CopyRequest) -> Result<Copied> {
    check(request)?;
    task.set_total(request.rows.end.saturating_sub(request.rows.start));
    let schema = project(table.schema(), &request.columns)?;
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let typed = LenientTyped::lenient(table.clone());
    let table: &dyn Table = if request.format.is_text() { &**table } else { &typed };
    let mut out = CopyWriter::new(request, names);
    let mut at = request.rows.start;
    while at < request.rows.end {
        let end = at.saturating_add(STEP).min(request.rows.end);
        let batch = table.read(task, at..end, &request.columns)?;
        if batch.num_rows() == 0 {
            break;
        }
        for row in 0..batch.num_rows() {
            let values: Vec<CopyValue> =
                batch.columns().iter().map(|array| CopyValue::of(&**array, row)).collect();
            out.row(&values);
            if out.len() > BYTES {
                return Err(Error::limit(format!("more than {BYTES} bytes to copy. Export them instead")));
            }
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(Copied { text: out.end(), unfit: typed.unfit() })
}

/// Whether a clipboard takes so many cells.
fn check(request: &CopyRequest) -> Result<()> {
    let rows = request.rows.end.saturating_sub(request.rows.start);
    let cells = rows.saturating_mul(request.columns.len() as u64);
    if cells > CELLS {
        let (cells, most) = (display::count(cells), display::count(CELLS));
        return Err(Error::limit(format!("{cells} cells to copy; at most {most}. Export them instead")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::value::{numpy_dtype, numpy_record};
    use super::*;
    use crate::data::content::table::{Columns, MemoryTable};
    use crate::data::dtype::DType;
    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use arrow::datatypes::DataType;

    fn copied_of(table: MemoryTable, request: &CopyRequest) -> Copied {
        let table: Arc<dyn Table> = Arc::new(table);
        super::table(&table, &Task::new(), request).unwrap()
    }

    fn copied(format: CopyFormat, headers: bool) -> String {
        let batch = RecordBatch::try_from_iter([
            ("x", Arc::new(Float64Array::from(vec![Some(1.5), None])) as ArrayRef),
            ("a|b", Arc::new(StringArray::from(vec![Some("it's, \"so\""), Some("")]))),
        ])
        .unwrap();
        let request = CopyRequest { rows: 0..2, columns: vec![0, 1], headers, format };
        copied_of(MemoryTable::new(batch), &request).text
    }

    #[test]
    fn every_form_quotes_as_its_readers_expect() {
        assert_eq!(copied(CopyFormat::Tsv, true), "x\ta|b\n1.5\t\"it's, \"\"so\"\"\"\n\t\n");
        assert_eq!(copied(CopyFormat::Csv, true), "x,a|b\n1.5,\"it's, \"\"so\"\"\"\n,\"\"\n");
        assert_eq!(
            copied(CopyFormat::Markdown, true),
            "| x | a\\|b |\n| --- | --- |\n| 1.5 | it's, \"so\" |\n|  |  |\n"
        );
        let json: serde_json::Value = serde_json::from_str(&copied(CopyFormat::Json, true)).unwrap();
        assert_eq!(json[0]["x"].to_string(), "1.5");
        assert!(json[1]["x"].is_null());
        assert_eq!(
            copied(CopyFormat::NumPy, false),
            "np.array([[1.5, 'it\\'s, \"so\"'],\n          [np.nan, '']])"
        );
        let sql = copied(CopyFormat::SqlWhere, false);
        assert_eq!(
            sql,
            "WHERE (\"x\" = 1.5 AND \"a|b\" = 'it''s, \"so\"')\n   OR (\"x\" IS NULL AND \"a|b\" = '')"
        );
    }

    #[test]
    fn columns_of_an_array_are_lists() {
        let written = |format, names: &[&str], rows: &[&[u8]], dtype: DType| {
            let request = CopyRequest {
                rows: 0..rows.len() as u64,
                columns: (0..names.len()).collect(),
                headers: true,
                format,
            };
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let mut out = CopyWriter::new(&request, names).of_elements(numpy_dtype(&dtype));
            for row in rows {
                let items: Vec<CopyValue> =
                    row.iter().map(|byte| CopyValue::element(&dtype, &[*byte])).collect();
                out.row(&items);
            }
            out.end()
        };
        let one: [&[u8]; 3] = [&[1], &[2], &[3]];
        assert_eq!(
            written(CopyFormat::NumPy, &["value"], &one, DType::U8),
            "np.array([1, 2, 3], dtype='uint8')"
        );
        assert_eq!(written(CopyFormat::Json, &["value"], &one, DType::U8), "[1, 2, 3]\n");
        let two: [&[u8]; 2] = [&[0, 1], &[1, 0]];
        assert_eq!(
            written(CopyFormat::NumPy, &["0", "1"], &two, DType::Bool),
            "np.array([[False, True],\n          [True, False]], dtype='bool')"
        );
        assert_eq!(
            written(CopyFormat::Json, &["0", "1"], &two, DType::Bool),
            "[\n  [false,true],\n  [true,false]\n]\n"
        );
        let record = numpy_record(&[("x", &DType::F32, &[]), ("y", &DType::BF16, &[3])]);
        assert_eq!(record.as_deref(), Some("[('x', 'float32'), ('y', ml_dtypes.bfloat16, (3, ))]"));
    }

    #[test]
    fn more_than_a_clipboard_takes_is_refused_before_reading() {
        let batch =
            RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]).unwrap();
        let request =
            CopyRequest { rows: 0..u64::MAX, columns: vec![0], headers: false, format: CopyFormat::Tsv };
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
        assert!(super::table(&table, &Task::new(), &request).is_err());
    }

    #[test]
    fn cells_that_do_not_fit_their_type_are_counted() {
        let cells: ArrayRef = Arc::new(StringArray::from(vec!["1", "x", ""]));
        let copied = |format| {
            let request = CopyRequest { rows: 0..3, columns: vec![0], headers: false, format };
            let columns = std::iter::once(Columns::text("n", DataType::Int64)).collect();
            copied_of(MemoryTable::of(columns, vec![cells.clone()]).unwrap(), &request)
        };
        let json = copied(CopyFormat::Json);
        let read: serde_json::Value = serde_json::from_str(&json.text).unwrap();
        assert_eq!((json.unfit, read[0]["n"].to_string().as_str(), read[1]["n"].is_null()), (1, "1", true));
        let text = copied(CopyFormat::Csv);
        assert_eq!((text.unfit, text.text.as_str()), (0, "n\n1\nx\n\"\"\n"));
    }
}
