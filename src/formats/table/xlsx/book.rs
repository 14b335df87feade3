//! A workbook, whatever its format: its sheets, and the cells of each.

use super::package::Package;
use super::sheet::Gathered;
use super::{Framing, ods, ooxml, parts, xls, xlsb};
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::{Node, Value};

/// What a sheet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SheetKind {
    /// Cells.
    Work,
    /// Cells with commands of Excel 4.
    Macro,
    /// The controls of a window.
    Dialog,
    /// A chart alone.
    Chart,
    /// A Visual Basic module.
    Module,
}

impl SheetKind {
    /// The kind that the type of a relationship names.
    pub(super) fn of_relation(kind: &str) -> SheetKind {
        match kind {
            "chartsheet" => SheetKind::Chart,
            "dialogsheet" => SheetKind::Dialog,
            "xlMacrosheet" | "xlIntlMacrosheet" => SheetKind::Macro,
            _ => SheetKind::Work,
        }
    }

    /// The label of its node.
    pub(super) fn label(self) -> &'static str {
        match self {
            SheetKind::Work => "sheet",
            SheetKind::Macro => "macro sheet",
            SheetKind::Dialog => "dialog sheet",
            SheetKind::Chart => "chart sheet",
            SheetKind::Module => "VBA module",
        }
    }

    /// Whether it has cells.
    pub(super) fn has_cells(self) -> bool {
        matches!(self, SheetKind::Work | SheetKind::Macro | SheetKind::Dialog)
    }
}

/// A sheet, as the workbook lists it.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub(super) name: String,
    pub(super) kind: SheetKind,
    pub(super) hidden: bool,
}

/// The most sheets of a workbook; its records have 16 bits for their numbers.
const SHEETS: usize = 1 << 16;
/// How many names of ranges are kept; some workbooks have very many, which nobody looks at.
pub(super) const NAMES: usize = 100;

/// What a workbook lists: its sheets, and names of ranges.
#[derive(Default)]
pub(super) struct Directory {
    sheets: Vec<Sheet>,
    names: Vec<(String, String)>,
    bytes: u64,
}

impl Directory {
    /// The sheets, in their order.
    pub(super) fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    /// The first names of ranges, with what each stands for.
    pub(super) fn names(&self) -> &[(String, String)] {
        &self.names
    }

    /// Adds a sheet.
    ///
    /// # Errors
    /// `Limit` where there are too many.
    pub(super) fn sheet(&mut self, sheet: Sheet) -> Result<()> {
        if self.sheets.len() >= SHEETS {
            let most = display::count(SHEETS as u64);
            return Err(Error::limit(format!("workbook: it has more than {most} sheets")));
        }
        self.hold(sheet.name.len())?;
        self.sheets.push(sheet);
        Ok(())
    }

    /// Adds a name of a range.
    ///
    /// # Errors
    /// `Limit` where they take too much.
    pub(super) fn name(&mut self, name: String, place: String) -> Result<()> {
        if self.names.len() < NAMES {
            self.hold(name.len() + place.len())?;
            self.names.push((name, place));
        }
        Ok(())
    }

    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        limits::check(self.bytes, limits::HEADER, "the names of sheets and ranges").map(drop)
    }
}

/// A reader of one format.
pub(super) trait Workbook: Send {
    /// What it lists.
    fn directory(&self) -> &Directory;

    /// Reads the cells of the sheet of this number.
    ///
    /// # Errors
    /// What is wrong with the sheet; cells before that place are in `out`.
    fn cells(&mut self, task: &Task, number: usize, out: &mut Gathered) -> Result<()>;
}

/// An open workbook.
pub(super) struct SharedWorkbook {
    book: Box<dyn Workbook>,
    /// Whether the first row of a sheet has the names of the columns, where somebody says so.
    header: Option<bool>,
}

impl SharedWorkbook {
    /// The workbook in `source`, whose sheets begin with the names of the columns or do not where `header` is known.
    pub(super) fn open(
        task: &Task,
        source: &Source,
        framing: Framing,
        header: Option<bool>,
    ) -> Result<SharedWorkbook> {
        let book = match framing {
            Framing::Package => packaged(task, source)?,
            Framing::Xls => Box::new(xls::XlsWorkbook::open(task, source)?),
            Framing::Ods => Box::new(ods::OdsWorkbook::open(task, Package::open(task, source)?)?),
        };
        Ok(SharedWorkbook { book, header })
    }

    /// The sheets, in their order.
    pub(super) fn sheets(&self) -> &[Sheet] {
        self.book.directory().sheets()
    }

    /// What the workbook says of itself: names of ranges.
    pub(super) fn properties(&self) -> Vec<(String, Value)> {
        let line = |(name, place): &(String, String)| (format!("name {name}"), Value::Text(place.clone()));
        self.book.directory().names().iter().map(line).collect()
    }

    /// The sheet of this number as a node.
    pub(super) fn sheet(&mut self, task: &Task, number: usize) -> Result<Node> {
        let kind = self.sheets().get(number).map(|sheet| sheet.kind);
        let kind = kind.ok_or_else(|| Error::bug("a sheet that is not there was asked for"))?;
        let mut gathered = Gathered::default();
        let read = self.book.cells(task, number, &mut gathered).unless_cancelled()?;
        let mut node = gathered.node(task, self.header)?;
        node.label = kind.label();
        // The rows before the place that cannot be read are there.
        node.problem = read.err().or(node.problem);
        Ok(node)
    }
}

/// The workbook of a package: in XML or in binary records, which its first byte tells.
fn packaged(task: &Task, source: &Source) -> Result<Box<dyn Workbook>> {
    let package = Package::open(task, source)?;
    let part = package.workbook(task)?;
    if package.is_encrypted() {
        return Err(Error::unsupported("the workbook is encrypted with a password"));
    }
    let head = package.part(task, &part)?.map(|source| source.read_up_to(task, 0, 2)).transpose()?;
    match head.as_deref() {
        // BrtBeginBook.
        Some([0x83, 0x01]) => {
            Ok(Box::new(parts::PackageWorkbook::<xlsb::Binary>::open(task, package, part)?))
        }
        _ => Ok(Box::new(parts::PackageWorkbook::<ooxml::Ooxml>::open(task, package, part)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_limits() {
        let mut directory = Directory::default();
        for n in 0..200 {
            directory.name(n.to_string(), "A1".to_owned()).unwrap();
        }
        assert_eq!(directory.names().len(), NAMES);
        let sheet = || Sheet { name: String::new(), kind: SheetKind::Work, hidden: false };
        let error = (0..=SHEETS).find_map(|_| directory.sheet(sheet()).err());
        assert_eq!(error.unwrap().kind(), crate::ErrorKind::Limit);
        assert_eq!(directory.sheets().len(), SHEETS);
        let mut directory = Directory::default();
        let long = "a".repeat(30 << 20);
        let error = (0..9).find_map(|_| directory.name(long.clone(), String::new()).err());
        assert_eq!(error.unwrap().kind(), crate::ErrorKind::Limit);
    }
}
