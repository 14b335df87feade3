//! Elements of an array as text for the clipboard.

use super::super::super::table::copy::{self, Item, Kind, Out};
use super::*;

/// The selection as text.
pub(super) fn copy_text(
    array: &dyn Array,
    task: &Task,
    slice: &Slice,
    request: &CopyRequest,
) -> Result<String> {
    let dtype = array.dtype();
    let size = dtype.size().max(1) as usize;
    let heads = heads(dtype, slice);
    let across = |column: usize| if heads.is_empty() { column as u64 } else { 0 };
    let first = request.columns.iter().map(|&c| across(c)).min().unwrap_or(0);
    let end = request.columns.iter().map(|&c| across(c) + 1).max().unwrap_or(0);
    let window = Window {
        rows: Span::range(request.rows.start, request.rows.end - request.rows.start),
        columns: Span::range(first, end - first),
    };
    let block = Block::read(array, task, slice.clone(), window)?;
    if let Some((_, error)) = block.gaps.first() {
        return Err(error.clone());
    }
    let item = |row: u64, column: usize| -> Option<Item> {
        let at = window.find(row, across(column))?;
        let field = (!heads.is_empty()).then_some(column);
        let raw = match &block.values {
            Values::Texts(texts) => {
                let kind = texts.cell(at, field).map_or(Kind::Text, |cell| copied_as(&cell.kind));
                return Some(Item::new(kind, texts.whole(at, field)));
            }
            Values::Bytes(raw) => raw,
        };
        let bytes = raw.get(at * size..at * size + size)?;
        let Some(field) = heads.get(column).and_then(|head| head.field.as_ref()) else {
            return Some(Item::element(dtype, bytes));
        };
        let start = field.offset as usize;
        let bytes = bytes.get(start..start + field.bytes().ok()? as usize)?;
        Some(match field.shape.is_empty() {
            true => Item::element(&field.dtype, bytes),
            false => Item::part(&field.dtype, &field.shape, bytes),
        })
    };
    let name = |column: usize| match heads.get(column) {
        Some(head) => head.name.clone(),
        None => slice.along(slice.columns, column as u64).to_string(),
    };
    let out = Out::new(request, request.columns.iter().map(|&column| name(column)).collect());
    let mut out = match heads.is_empty() {
        true => out.of_elements(copy::numpy_dtype(dtype)),
        false => out.of_records(record_type(&heads, &request.columns)),
    };
    out.begin();
    for row in request.rows.clone() {
        task.check()?;
        let items: Vec<Item> =
            request.columns.iter().map(|&column| item(row, column).unwrap_or_default()).collect();
        out.row(&items);
    }
    Ok(out.end())
}

/// The type of records with these of their fields, as NumPy has it.
fn record_type(heads: &[Head], columns: &[usize]) -> Option<String> {
    let field = |column: &usize| {
        let field = heads.get(*column)?.field.as_ref()?;
        Some((field.name.as_str(), &field.dtype, field.shape.as_slice()))
    };
    let fields: Option<Vec<_>> = columns.iter().map(field).collect();
    copy::numpy_record(&fields?)
}

/// How a text on the grid is copied.
fn copied_as(kind: &CellKind) -> Kind {
    match kind {
        CellKind::Bool => Kind::Bool,
        CellKind::Number | CellKind::Nan => Kind::Number,
        CellKind::Nested => Kind::Nested,
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::Plain;
    use gander::data::dtype::Record;

    use super::*;

    fn copied(array: &dyn Array, columns: usize, format: CopyFormat) -> String {
        let rows = array.shape()[0];
        let slice = Slice { spans: vec![Span::all(rows)], rows: None, columns: Some(0), channels: None };
        let request = CopyRequest { rows: 0..rows, columns: (0..columns).collect(), headers: true, format };
        copy_text(array, &Task::new(), &upright(&slice), &request).unwrap()
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
