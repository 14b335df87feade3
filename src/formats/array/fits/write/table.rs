//! Tables as binary tables. What their header has to say — how long texts are, what means null, how large the heap is — is
//! found by reading once before, where the columns are such that it is to be found.

use super::cards::{Cards, ascii};
use super::cells::{Layout, Rows};
use super::column::{Cell, Column, Element};
use super::measure::{Measured, is_open};
use super::unit::Data;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{Cast, TableView};
use crate::data::content::Table;
use crate::data::format::{Attributes, Loss, LossKind, loss, note};
use crate::data::scan::scan;
use crate::engines::headers::json;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

/// The most columns of a table.
const COLUMNS: usize = 999;
/// Texts of up to so many bytes stand in the rows, whatever room that takes.
const SHORT: u64 = 64;

/// Characters of a text in one card, which a name has to fit into.
const NAME: usize = 68;

/// How texts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strings {
    Auto,
    Fixed,
    Variable,
}

/// A table on its way.
pub(super) struct Plan {
    /// With columns of the types that are written.
    table: Arc<dyn Table>,
    columns: Vec<Column>,
    /// The names in the file.
    names: Vec<String>,
    /// Whether null cells are possible.
    nullable: Vec<bool>,
    units: Vec<Option<String>>,
    strings: Strings,
    pub losses: Vec<Loss>,
}

/// What is known once a table was measured.
pub(super) struct Settled {
    layouts: Vec<Layout>,
    forms: Vec<String>,
    rows: u64,
    row: usize,
    heap: u64,
}

impl Plan {
    /// What becomes of a table.
    ///
    /// # Errors
    /// `Unsupported` for more columns than FITS has, or none.
    pub(super) fn new(table: &Arc<dyn Table>, strings: Strings) -> Result<Self> {
        let fields = table.schema().fields().clone();
        if fields.is_empty() || fields.len() > COLUMNS {
            let what = format!("a table of {} columns: FITS has 1 to {COLUMNS}", fields.len());
            return Err(Error::unsupported(what));
        }
        let columns: Vec<Column> = fields.iter().map(|field| Column::plan(field)).collect();
        let of = |n: usize| table.statistics(n).and_then(|found| found.null_count());
        let nulls: Vec<Option<u64>> = (0..fields.len()).map(of).collect();
        let nullable: Vec<bool> = fields
            .iter()
            .zip(&nulls)
            .map(|(field, nulls)| field.is_nullable() && *nulls != Some(0))
            .collect();
        let facts = table.facts().columns;
        let unit = |n: usize| {
            let lines = facts.get(n)?;
            lines.iter().find(|(name, _)| name == "unit").map(|(_, unit)| unit.clone())
        };
        let mut losses = Vec::new();
        let mut names = Vec::new();
        let mut taken = HashSet::new();
        for (n, field) in fields.iter().enumerate() {
            let name = named(field.name(), n, &mut taken);
            if name != *field.name() {
                let renamed = note(LossKind::Name, format!("it is called {name}")).called(&name);
                losses.push(renamed.of(field.name()));
            }
            names.push(name);
            if let Some(column) = columns.get(n) {
                losses.extend(column.losses.iter().cloned());
                if nullable.get(n) == Some(&true) {
                    losses.extend(wider_loss(&column.cell).map(|loss| loss.of(field.name())));
                    let known = nulls.get(n).copied().flatten();
                    losses.extend(null_loss(&column.cell, known).map(|loss| loss.of(field.name())));
                }
                if column.cell == Cell::Text {
                    let what = "blanks at the end of texts are lost; others than ASCII are written as UTF-8";
                    losses.push(note(LossKind::Type, what).of(field.name()).if_any());
                }
            }
        }
        if fields.iter().any(|field| !field.is_nullable()) {
            losses.push(note(LossKind::Null, "FITS does not say that a column has no nulls"));
        }
        let targets: Vec<Option<DataType>> = fields
            .iter()
            .zip(&columns)
            .map(|(field, column)| Some(column.data_type.clone()).filter(|to| to != field.data_type()))
            .collect();
        let units = (0..fields.len()).map(unit).collect();
        let table: Arc<dyn Table> = match targets.iter().any(Option::is_some) {
            true => Arc::new(Cast::cast(table.clone(), targets)),
            false => table.clone(),
        };
        Ok(Plan { table, columns, names, nullable, units, strings, losses })
    }

    /// Whether attributes are those of a table of the same columns, so that what they say of columns holds.
    pub(super) fn is_described(&self, attributes: &Attributes) -> bool {
        let name = |n: usize| attributes.get(&format!("TTYPE{}", n + 1)).map(json);
        self.names.iter().enumerate().all(|(n, own)| name(n) == Some(Json::from(own.as_str())))
            && attributes.get(&format!("TTYPE{}", self.names.len() + 1)).is_none()
    }

    /// Reads what is to be known before.
    ///
    /// # Errors
    /// Those of reading; `Unsupported` where no number is left for null.
    pub(super) fn settle(&self, task: &Task) -> Result<Settled> {
        let rows = self.table.count(task)?;
        let is_open = |n: &usize| {
            let nullable = self.nullable.get(*n) == Some(&true);
            self.columns.get(*n).is_some_and(|column| is_open(column, nullable))
        };
        let open: Vec<usize> = (0..self.columns.len()).filter(is_open).collect();
        let mut measured = vec![Measured::default(); self.columns.len()];
        if !open.is_empty() {
            task.set_message("measuring texts, lists and nulls");
            let view = TableView::new(self.table.clone(), 0..rows, open.clone())?;
            let of = |batch: RecordBatch| -> Result<Vec<Measured>> {
                let columns = open.iter().filter_map(|n| self.columns.get(*n));
                batch
                    .columns()
                    .iter()
                    .zip(columns)
                    .map(|(cells, column)| Measured::of(column, cells))
                    .collect()
            };
            scan(task, &view, of, |parts| {
                for (n, part) in open.iter().zip(parts) {
                    if let Some(all) = measured.get_mut(*n) {
                        all.join(part);
                    }
                }
                Ok(())
            })?;
            task.set_message("");
        }
        self.laid_out(rows, &measured)
    }

    /// Where everything lies.
    fn laid_out(&self, rows: u64, measured: &[Measured]) -> Result<Settled> {
        let in_heap = |column: &Column, found: &Measured| match column.cell {
            Cell::Fixed(..) => false,
            Cell::List(_) | Cell::Binary => true,
            Cell::Text => match self.strings {
                Strings::Fixed => false,
                Strings::Variable => true,
                // Others than ASCII are read from fields of one width by more programs.
                Strings::Auto if found.is_wide => false,
                // Where most of the room would be blanks.
                Strings::Auto => {
                    let fixed = found.longest.saturating_mul(rows);
                    found.longest > SHORT && fixed / 2 > found.total.saturating_add(rows.saturating_mul(8))
                }
            },
        };
        let pairs = || self.columns.iter().zip(measured);
        let heap = pairs()
            .filter(|(column, found)| in_heap(column, found))
            .fold(0u64, |total, (column, found)| total.saturating_add(heap_bytes(&column.cell, found)));
        let is_wide = heap > i32::MAX as u64;
        let (mut layouts, mut forms, mut row) = (Vec::new(), Vec::new(), 0usize);
        for ((column, found), name) in pairs().zip(&self.names) {
            let heaped = in_heap(column, found);
            let cell = without_offset(&column.cell, found);
            let (form, width) = form(&cell, found, heaped.then_some(is_wide))?;
            let null = match &cell {
                Cell::Fixed(element, _) | Cell::List(element) if cell == column.cell => found.null(element),
                // Which none of the narrower type is.
                Cell::Fixed(element, _) | Cell::List(element) => Ok(element.range().map(|(low, _)| low)),
                _ => Ok(None),
            };
            let null = null.map_err(|error| error.in_node(&format!("column {name:?}")))?;
            layouts.push(Layout { cell, offset: row, width, in_heap: heaped, null });
            forms.push(form);
            row = row.saturating_add(width);
        }
        Ok(Settled { layouts, forms, rows, row, heap })
    }

    /// What would be written of an empty table of these columns: for what a plan says of the header.
    pub(super) fn outline(&self) -> Result<Settled> {
        self.laid_out(self.table.rows().number(), &vec![Measured::default(); self.columns.len()])
    }

    /// The cards of the table; units of columns where the attributes say none.
    pub(super) fn cards(&self, settled: &Settled, with_units: bool) -> Cards {
        let mut cards = Cards::default();
        cards.say("XTENSION", "BINTABLE", "binary table");
        cards.say("BITPIX", 8, "");
        cards.say("NAXIS", 2, "");
        cards.say("NAXIS1", settled.row as u64, "bytes of a row");
        cards.say("NAXIS2", settled.rows, "rows");
        cards.say("PCOUNT", settled.heap, "bytes of the heap");
        cards.say("GCOUNT", 1, "");
        cards.say("TFIELDS", self.columns.len() as u64, "columns");
        for (n, (layout, form)) in settled.layouts.iter().zip(&settled.forms).enumerate() {
            let key = |prefix: &str| format!("{prefix}{}", n + 1);
            cards.say(&key("TTYPE"), self.names.get(n).map_or("", String::as_str), "");
            cards.say(&key("TFORM"), form.as_str(), "");
            if let Cell::Fixed(_, shape) = &layout.cell
                && !shape.is_empty()
            {
                let sides: Vec<String> = shape.iter().rev().map(u64::to_string).collect();
                cards.say(&key("TDIM"), format!("({})", sides.join(",")), "");
            }
            let (Cell::Fixed(element, _) | Cell::List(element)) = &layout.cell else {
                self.unit(n, with_units, &mut cards);
                continue;
            };
            if let Some(zero) = element.zero() {
                cards.say(&key("TSCAL"), 1, "");
                cards.say(&key("TZERO"), serde_json::from_str::<Json>(zero).unwrap_or(Json::Null), "");
            }
            if let Some(null) = layout.null.and_then(|null| i64::try_from(element.stored(null)).ok()) {
                cards.say(&key("TNULL"), null, "stored value that is null");
            }
            self.unit(n, with_units, &mut cards);
        }
        cards
    }

    fn unit(&self, n: usize, with_units: bool, cards: &mut Cards) {
        if let (true, Some(Some(unit))) = (with_units, self.units.get(n)) {
            cards.say(&format!("TUNIT{}", n + 1), ascii(unit), "");
        }
    }

    /// Writes all rows, and the heap behind them.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub(super) fn put(&self, task: &Task, settled: &Settled, data: &mut Data<'_>) -> Result<()> {
        let Settled { layouts, row, .. } = settled;
        let fixed = settled.rows.checked_mul(*row as u64);
        let fixed = fixed.ok_or_else(|| Error::limit(format!("{} rows of {row} bytes", settled.rows)))?;
        let encode = |batch: RecordBatch| Rows::new(batch.columns(), layouts, batch.num_rows(), *row);
        let (mut at, mut heap) = (0u64, 0u64);
        scan(task, self.table.as_ref(), encode, |mut rows: Rows| {
            rows.move_heap(heap, layouts, *row);
            data.seek(at * *row as u64)?;
            data.put(&rows.bytes)?;
            at += rows.count;
            if !rows.heap.is_empty() {
                data.seek(fixed + heap)?;
                data.put(&rows.heap)?;
                heap += rows.heap.len() as u64;
            }
            Ok(())
        })?;
        match heap == settled.heap && at == settled.rows {
            true => Ok(()),
            false => Err(Error::malformed("table: it is another one than when it was measured")),
        }
    }
}

/// A cell as it is written: integers with an offset in a wider type where there are nulls.
fn without_offset(cell: &Cell, found: &Measured) -> Cell {
    match cell {
        Cell::Fixed(element, shape) if found.nulls => {
            Cell::Fixed(element.wider().unwrap_or_else(|| element.clone()), shape.clone())
        }
        Cell::List(element) if found.nulls => Cell::List(element.wider().unwrap_or_else(|| element.clone())),
        other => other.clone(),
    }
}

/// Bytes of the heap that a column takes.
fn heap_bytes(cell: &Cell, found: &Measured) -> u64 {
    match (cell, without_offset(cell, found)) {
        (Cell::List(narrow), Cell::List(wide)) => {
            found.total / (narrow.size().max(1) as u64) * wide.size() as u64
        }
        _ => found.total,
    }
}

/// The form of a column (`TFORMn`), and its bytes in a row.
fn form(cell: &Cell, found: &Measured, heap: Option<bool>) -> Result<(String, usize)> {
    let letter = match cell {
        Cell::Fixed(element, shape) => {
            let count = crate::bytes::limits::elements(shape)?;
            let bytes = crate::bytes::limits::bytes(shape, element.size() as u64)?;
            let bytes = crate::bytes::limits::check(bytes, crate::bytes::limits::CHUNK, "a cell")?;
            return Ok((format!("{count}{}", element.letter()), bytes));
        }
        Cell::List(element) => element.letter(),
        Cell::Binary => Element::Number(crate::data::dtype::DType::U8).letter(),
        Cell::Text => 'A',
    };
    Ok(match heap {
        Some(true) => (format!("1Q{letter}({})", found.longest), 16),
        Some(false) => (format!("1P{letter}({})", found.longest), 8),
        None => (format!("{}{letter}", found.longest.max(1)), found.longest.max(1) as usize),
    })
}

/// What is said of integers that are written in a wider type where there are nulls.
fn wider_loss(cell: &Cell) -> Option<Loss> {
    let (Cell::Fixed(element, _) | Cell::List(element)) = cell else { return None };
    let (Element::Number(from), Element::Number(to)) = (element, element.wider()?) else { return None };
    Some(note(LossKind::Type, format!("{from} becomes {to} where there are nulls")).if_any())
}

/// What becomes of null cells; `known` is how many there are.
fn null_loss(cell: &Cell, known: Option<u64>) -> Option<Loss> {
    let becomes = match cell {
        Cell::Fixed(element, shape) if shape.is_empty() => match element {
            Element::Logical => return None,
            other if other.range().is_some() => return None,
            _ => "NaN",
        },
        Cell::Fixed(..) => "lists of null or NaN",
        Cell::List(_) | Cell::Binary => "empty lists",
        Cell::Text => "empty texts",
    };
    Some(match known {
        Some(nulls) => loss(LossKind::Null, format!("its {nulls} null cells become {becomes}")),
        None => note(LossKind::Null, format!("null cells become {becomes}")).if_any(),
    })
}

/// The name of a column: of ASCII, without blanks around it, within one card, and not that of another one.
fn named(name: &str, n: usize, taken: &mut HashSet<String>) -> String {
    let name: String = name.chars().map(|c| if (' '..='~').contains(&c) { c } else { '_' }).collect();
    let base = match name.trim() {
        "" => format!("col{}", n + 1),
        name => cut(name, NAME),
    };
    let mut found = base.clone();
    let mut times = 2u64;
    while !taken.insert(found.clone()) {
        let end = format!("_{times}");
        found = format!("{}{end}", cut(&base, NAME - end.len()));
        times += 1;
    }
    found
}

/// The first characters of a name that take so many in a card, where a quote takes two.
fn cut(name: &str, most: usize) -> String {
    let mut left = most;
    let fits = |c: &char| {
        let width = if *c == '\'' { 2 } else { 1 };
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    name.chars().take_while(fits).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_a_card_and_stay_apart() {
        let mut taken = HashSet::new();
        let mut of = |name: &str, n: usize| named(name, n, &mut taken);
        assert_eq!([of("a", 0), of("a", 1), of(" größe ", 2), of("", 3)], ["a", "a_2", "gr__e", "col4"]);
        let long = "it's ".repeat(20);
        let (first, second) = (of(&long, 4), of(&long, 5));
        assert!(first.replace('\'', "''").len() <= NAME && second.replace('\'', "''").len() <= NAME);
        assert!(first != second, "{first} {second}");
    }
}
