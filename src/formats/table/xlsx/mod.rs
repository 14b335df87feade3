//! Workbooks: Excel's XLSX and XLSM (<https://learn.microsoft.com/en-us/openspecs/office_standards/ms-xlsx/>), XLSB
//! and XLS, OpenDocument's ODS (<https://docs.oasis-open.org/office/OpenDocument/v1.3/>). Each sheet is a table,
//! read when somebody looks into it: values as they were stored, formulas by their last result.

mod book;
mod cfb;
mod ods;
mod sheet;
mod xls;

use crate::container::special;
use crate::content::Kind;
use crate::display;
use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::{Listing, Node};
use crate::sniff::{Head, Magic, Match};
use crate::task::Task;
use book::Book;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["xlsx", "xlsm", "xlsb", "xls", "ods", "xltx", "xltm"],
    mime: &[
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.ms-excel",
        "application/vnd.oasis.opendocument.spreadsheet",
    ],
    magic: &[Magic::at(0, OLE)],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table],
    ..Format::new("xlsx", "Excel workbook", open)
};

/// What compound files begin with: XLS, but old Word documents and others too.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Which format a workbook is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dress {
    Xlsx,
    Xlsb,
    Xls,
    Ods,
}

fn dress(head: &Head) -> Option<Dress> {
    if head.starts_with(OLE) {
        // The stream of an XLS is named so, in UTF-16; the directory may lie beyond the head.
        let name = b"W\0o\0r\0k\0b\0o\0o\0k\0";
        let listed = memchr::memmem::find(&head.first, name).is_some();
        return (listed || head.has_extension(&["xls", "xlt", "xla"])).then_some(Dress::Xls);
    }
    match special::zip_document(head)? {
        "an Excel workbook (XLSX)" => Some(Dress::Xlsx),
        "an Excel binary workbook (XLSB)" => Some(Dress::Xlsb),
        "an OpenDocument spreadsheet (ODS)" => Some(Dress::Ods),
        _ => None,
    }
}

fn sniff(head: &Head) -> Match {
    if dress(head).is_some() { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let dress =
        dress(opening.head).ok_or_else(|| Error::malformed("workbook: neither ZIP nor compound file"))?;
    let book = Arc::new(Mutex::new(Book::open(task, source, dress)?));
    let mut root = Node::new(source.name(), "workbook");
    let sheets = book.lock().sheets();
    for (name, value) in book.lock().properties() {
        root = root.attribute(name, value);
    }
    let hidden = sheets.iter().filter(|sheet| sheet.hidden).count();
    if hidden > 0 {
        root = root.remark(format!("{} hidden", display::plural(hidden as u64, "sheet")));
    }
    let children = sheets.into_iter().enumerate().map(|(number, sheet)| {
        let mut node = Node::new(&sheet.name, sheet.label);
        if sheet.hidden {
            node = node.read_as("hidden", "yes");
        }
        if sheet.label != "sheet" {
            return node;
        }
        node.lazy(Sheet { book: book.clone(), number, opened: Mutex::new(None) })
    });
    let children = children.collect();
    Ok(root.listed(children))
}

/// A sheet that is read when somebody looks into it.
struct Sheet {
    book: Arc<Mutex<Book>>,
    number: usize,
    opened: Mutex<Option<Arc<Node>>>,
}

impl Listing for Sheet {
    fn count(&self) -> Option<u64> {
        Some(0)
    }

    fn page(&self, _task: &Task, _range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(Vec::new())
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        let mut opened = self.opened.lock();
        if let Some(node) = &*opened {
            return Ok(Some(node.clone()));
        }
        let node = Arc::new(self.book.lock().sheet(task, self.number)?);
        *opened = Some(node.clone());
        Ok(Some(node))
    }
}

#[cfg(test)]
mod tests;
