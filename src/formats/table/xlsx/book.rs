//! A workbook behind calamine: its sheets, and the cells of each. What a file demands is checked before
//! calamine, which holds shared strings (and all of XLS and ODS) in memory, gets to see it.

use super::sheet::Gathered;
use super::{Dress, cfb, ods, xls};
use crate::container::zip::Archive;
use crate::display;
use crate::error::{Error, Result};
use crate::limits;
use crate::node::{Node, Value};
use crate::open::distrusted;
use crate::source::Source;
use crate::task::Task;
use calamine::{Data, DataRef, Dimensions, Ods, Reader as _, SheetType, SheetVisible, Xls, Xlsb, Xlsx};
use parking_lot::Mutex;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// The most that is held in memory of one workbook, inflated.
const HELD: u64 = limits::CHUNK;
/// Cells between two looks at the task.
const CELLS: u64 = 4_096;

/// Which sheets there are.
pub(super) struct SheetFacts {
    pub(super) name: String,
    pub(super) label: &'static str,
    pub(super) hidden: bool,
}

enum Kind {
    Xlsx(Box<Xlsx<Input>>),
    Xlsb(Box<Xlsb<Input>>),
    Xls(Box<Xls<Input>>),
    Ods(Box<Ods<Input>>),
}

/// An open workbook.
pub(super) struct Book {
    kind: Kind,
    task: Arc<Mutex<Task>>,
}

impl Book {
    pub(super) fn open(task: &Task, source: &Source, dress: Dress) -> Result<Book> {
        check(task, source, dress)?;
        let current = Arc::new(Mutex::new(task.clone()));
        let input = Input {
            source: source.clone(),
            task: current.clone(),
            at: 0,
            buffer: Default::default(),
            base: 0,
        };
        let kind = distrusted("the workbook", || {
            Ok(match dress {
                Dress::Xlsx => Kind::Xlsx(Box::new(Xlsx::new(input).map_err(|e| failed(task, &e))?)),
                Dress::Xlsb => Kind::Xlsb(Box::new(Xlsb::new(input).map_err(|e| failed(task, &e))?)),
                Dress::Xls => Kind::Xls(Box::new(Xls::new(input).map_err(|e| failed(task, &e))?)),
                Dress::Ods => Kind::Ods(Box::new(Ods::new(input).map_err(|e| failed(task, &e))?)),
            })
        })?;
        Ok(Book { kind, task: current })
    }

    /// The sheets, in their order.
    pub(super) fn sheets(&self) -> Vec<SheetFacts> {
        let sheets = match &self.kind {
            Kind::Xlsx(book) => book.sheets_metadata(),
            Kind::Xlsb(book) => book.sheets_metadata(),
            Kind::Xls(book) => book.sheets_metadata(),
            Kind::Ods(book) => book.sheets_metadata(),
        };
        let facts = |sheet: &calamine::Sheet| SheetFacts {
            name: sheet.name.clone(),
            label: match sheet.typ {
                SheetType::WorkSheet => "sheet",
                SheetType::DialogSheet => "dialog sheet",
                SheetType::MacroSheet => "macro sheet",
                SheetType::ChartSheet => "chart sheet",
                SheetType::Vba => "VBA module",
            },
            hidden: sheet.visible != SheetVisible::Visible,
        };
        sheets.iter().map(facts).collect()
    }

    /// What the workbook says of itself: names of ranges.
    pub(super) fn properties(&self) -> Vec<(String, Value)> {
        let names = match &self.kind {
            Kind::Xlsx(book) => book.defined_names(),
            Kind::Xlsb(book) => book.defined_names(),
            Kind::Xls(book) => book.defined_names(),
            Kind::Ods(book) => book.defined_names(),
        };
        let line = |(name, place): &(String, String)| (format!("name {name}"), Value::Text(place.clone()));
        names.iter().take(100).map(line).collect()
    }

    /// The sheet of this number as a node.
    pub(super) fn sheet(&mut self, task: &Task, number: usize) -> Result<Node> {
        *self.task.lock() = task.clone();
        let facts = self.sheets();
        let sheet = facts.get(number).ok_or_else(|| Error::bug("a sheet that is not there was asked for"))?;
        let mut gathered = Gathered::default();
        let read = distrusted("the sheet", || self.cells(task, &sheet.name, &mut gathered));
        if let Err(error) = &read
            && error.is_cancelled()
        {
            return Err(error.clone());
        }
        let mut node = gathered.node(task)?;
        // The rows before the place that cannot be read are there.
        node.problem = read.err();
        let merged = distrusted("the merged cells", || Ok(self.merged(&sheet.name))).unwrap_or_default();
        if let Some(first) = merged.first() {
            let ranges: Vec<String> = merged.iter().take(50).map(range).collect();
            let count = display::plural(merged.len() as u64, "range");
            node.remarks.push(format!(
                "{count} of merged cells: the value stands in the first cell of each ({} …)",
                range(first)
            ));
            node = node.read_as("merged cells", ranges.join(", "));
        }
        Ok(node)
    }

    fn cells(&mut self, task: &Task, name: &str, out: &mut Gathered) -> Result<()> {
        let mut count = 0u64;
        let mut tick = |out: &Gathered| {
            count += 1;
            if count.is_multiple_of(CELLS) {
                task.check()?;
                limits::check(out.bytes(), HELD, "the cells of this sheet")?;
            }
            Ok::<(), Error>(())
        };
        match &mut self.kind {
            Kind::Xlsx(book) => {
                let mut cells = book.worksheet_cells_reader(name).map_err(|e| failed(task, &e))?;
                while let Some(cell) = cells.next_cell_with_formula().map_err(|e| failed(task, &e))? {
                    tick(out)?;
                    let empty = matches!(cell.value, DataRef::Empty);
                    out.formula(cell.formula.is_some_and(|formula| !formula.is_empty()), empty);
                    out.push(cell.pos, cell.value.into());
                }
            }
            Kind::Xlsb(book) => {
                let mut cells = book.worksheet_cells_reader(name).map_err(|e| failed(task, &e))?;
                while let Some(cell) = cells.next_cell().map_err(|e| failed(task, &e))? {
                    tick(out)?;
                    out.push(cell.get_position(), cell.get_value().clone().into());
                }
            }
            Kind::Xls(book) => {
                let range = book.worksheet_range(name).map_err(|e| failed(task, &e))?;
                dense(&range, out, &mut tick)?;
            }
            Kind::Ods(book) => {
                let range = book.worksheet_range(name).map_err(|e| failed(task, &e))?;
                dense(&range, out, &mut tick)?;
            }
        }
        Ok(())
    }

    fn merged(&mut self, name: &str) -> Vec<Dimensions> {
        match &mut self.kind {
            Kind::Xlsx(book) => book.merge_cells_by_sheet_name(name).unwrap_or_default(),
            Kind::Xls(book) => book.merge_cells_by_sheet_name(name).unwrap_or_default(),
            Kind::Xlsb(_) | Kind::Ods(_) => Vec::new(),
        }
    }
}

fn dense(
    range: &calamine::Range<Data>,
    out: &mut Gathered,
    tick: &mut impl FnMut(&Gathered) -> Result<()>,
) -> Result<()> {
    let (first_row, first_column) = range.start().unwrap_or_default();
    for (row, column, value) in range.used_cells() {
        tick(out)?;
        let place = (first_row.saturating_add(row as u32), first_column.saturating_add(column as u32));
        out.push(place, value.clone());
    }
    Ok(())
}

/// What a ZIP holds must be within limits as it is, whatever its directory says: members that calamine reads
/// whole are inflated once to know.
fn check(task: &Task, source: &Source, dress: Dress) -> Result<()> {
    if dress == Dress::Xls {
        limits::check(source.len(task)?, HELD, "an XLS workbook")?;
        return xls::check(task, &cfb::workbook(task, source)?, HELD);
    }
    let archive = Archive::open(task, source)?;
    if let Some(problem) = archive.problem {
        return Err(problem);
    }
    for member in archive.members.iter() {
        let sheet = member.name.starts_with("xl/worksheets/") || member.name.starts_with("xl/media/");
        if member.is_folder() || sheet {
            // Sheets are streamed.
            continue;
        }
        limits::check(member.size, HELD, &format!("member {:?}", member.name))?;
        // Deflate gives at most 1032 bytes for one: small members cannot hold more than they may.
        if member.stored.saturating_mul(limits::RATIO) > HELD {
            archive.verify(task, member)?;
        }
        if dress == Dress::Ods && member.name == "content.xml" {
            ods::check(task, &archive.read(task, member)?)?;
        }
    }
    Ok(())
}

/// `A1:C3`.
fn range(range: &Dimensions) -> String {
    format!("{}:{}", place(range.start), place(range.end))
}

fn place((row, column): (u32, u32)) -> String {
    let (mut letters, mut rest) = (Vec::new(), u64::from(column) + 1);
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + (rest % 26) as u8));
        rest /= 26;
    }
    format!("{}{}", letters.iter().rev().collect::<String>(), u64::from(row) + 1)
}

/// calamine's error in our words.
fn failed(task: &Task, error: &dyn std::error::Error) -> Error {
    if task.is_cancelled() {
        return Error::cancelled();
    }
    let words = error.to_string();
    if words.to_lowercase().contains("password") {
        return Error::unsupported("the workbook is encrypted with a password");
    }
    Error::malformed(format!("workbook: {words}"))
}

/// The bytes, read on behalf of whoever looks at the workbook now.
struct Input {
    source: Source,
    task: Arc<Mutex<Task>>,
    at: u64,
    buffer: bytes::Bytes,
    base: u64,
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let ahead = |input: &Input| {
            let skip = usize::try_from(input.at.checked_sub(input.base)?).ok()?;
            input.buffer.get(skip..).filter(|rest| !rest.is_empty()).map(<[u8]>::len)
        };
        if ahead(self).is_none() {
            let task = self.task.lock().clone();
            self.buffer = self.source.read_up_to(&task, self.at, 64 << 10)?;
            self.base = self.at;
        }
        let skip = (self.at - self.base) as usize;
        let rest = self.buffer.get(skip..).unwrap_or_default();
        let n = rest.len().min(out.len());
        if let (Some(out), Some(rest)) = (out.get_mut(..n), rest.get(..n)) {
            out.copy_from_slice(rest);
        }
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let task = self.task.lock().clone();
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.source.len(&task)?.checked_add_signed(by),
        };
        self.at = target.ok_or_else(|| std::io::Error::other("a place before the beginning"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_letters() {
        assert_eq!(
            (place((0, 0)), place((9, 25)), place((0, 26))),
            ("A1".into(), "Z10".into(), "AA1".into())
        );
        assert_eq!(place((1_048_575, 16_383)), "XFD1048576");
    }
}
