//! Workbooks: Excel's XLSX and XLSM (<https://learn.microsoft.com/en-us/openspecs/office_standards/ms-xlsx/>), XLSB
//! and XLS, OpenDocument's ODS (<https://docs.oasis-open.org/office/OpenDocument/v1.3/>). Each sheet is a table,
//! read when somebody looks into it: values as they were stored, formulas by their last result.

mod biff;
mod book;
mod cfb;
mod code;
mod ods;
mod ooxml;
mod package;
mod parts;
mod sheet;
mod value;
mod xls;
mod xlsb;
mod xml;

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::{Listing, Node};
use crate::data::sniff::special::{self, Document};
use crate::data::sniff::{Head, Magic, Match};
use book::Book;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["xlsx", "xlsm", "xlsb", "xls", "ods", "xltx", "xltm", "xlam", "xlt", "xla", "ots"],
    mime: &[
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.ms-excel",
        "application/vnd.oasis.opendocument.spreadsheet",
    ],
    magic: &[Magic::at(0, cfb::MAGIC)],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table],
    ..Format::new("xlsx", "Excel workbook", open)
};

/// How a workbook is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// Parts in a ZIP archive: XLSX and XLSB.
    Package,
    /// Records, in a compound file or alone.
    Xls,
    /// An OpenDocument.
    Ods,
}

fn framing(head: &Head) -> Option<Framing> {
    if head.starts_with(cfb::MAGIC) {
        // The directory may lie beyond the head; then what is there of it tells.
        let names = [&b"W\0o\0r\0k\0b\0o\0o\0k\0"[..], b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0"];
        let found = || names.iter().any(|name| memchr::memmem::find(&head.first, name).is_some());
        let [new, old] = xls::STREAMS;
        let streams = [new, old, xls::ENCRYPTED];
        let listed = cfb::lists(&head.first, &streams).unwrap_or_else(found);
        return (listed || head.has_extension(FORMAT.extensions)).then_some(Framing::Xls);
    }
    if xls::begins(&head.first) {
        return Some(Framing::Xls);
    }
    match special::zip_document(head)? {
        Document::Xlsx | Document::Xlsb => Some(Framing::Package),
        Document::Ods => Some(Framing::Ods),
        _ => None,
    }
}

fn sniff(head: &Head) -> Match {
    if framing(head).is_some() { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let framing =
        framing(opening.head).ok_or_else(|| Error::malformed("workbook: neither ZIP nor compound file"))?;
    let book = Arc::new(Mutex::new(Book::open(task, source, framing)?));
    let mut root = Node::new(source.name(), "workbook");
    let sheets = book.lock().sheets().to_vec();
    for (name, value) in book.lock().properties() {
        root = root.attribute(name, value);
    }
    let hidden = sheets.iter().filter(|sheet| sheet.hidden).count();
    if hidden > 0 {
        root = root.remark(format!("{} hidden", display::plural(hidden as u64, "sheet")));
    }
    let children = sheets.into_iter().enumerate().map(|(number, sheet)| {
        let mut node = Node::new(&sheet.name, sheet.kind.label());
        if sheet.hidden {
            node = node.read_as("hidden", "yes");
        }
        if !sheet.kind.has_cells() {
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
