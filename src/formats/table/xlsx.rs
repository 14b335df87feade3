//! Workbooks: Excel's XLSX and XLSM (<https://learn.microsoft.com/en-us/openspecs/office_standards/ms-xlsx/>), XLSB
//! and XLS, OpenDocument's ODS (<https://docs.oasis-open.org/office/OpenDocument/v1.3/>). Each sheet is a table,
//! read when somebody looks into it: values as they were stored, formulas by their last result.

mod biff;
mod book;
mod code;
mod ods;
mod ooxml;
mod package;
mod parts;
mod sheet;
mod value;
mod write;
mod xls;
mod xlsb;
mod xml;

use crate::bytes::archive::compound::MAGIC;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, OptionSpec, Target};
use crate::data::node::Node;
use crate::data::sniff::zip::Document;
use crate::data::sniff::{Head, Magic, Match, compound};
use book::SharedWorkbook;
use parking_lot::Mutex;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["xlsx", "xlsm", "xlsb", "xls", "ods", "xltx", "xltm", "xlam", "xlt", "xla", "ots"],
    mime: &[
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.ms-excel",
        "application/vnd.oasis.opendocument.spreadsheet",
    ],
    magic: &[Magic::at(0, MAGIC)],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table],
    options: &[HEADER],
    targets: &[Target::new("xlsx", "Excel workbook", &["xlsx"], &write::WRITER)],
    ..Format::new("xlsx", "Excel workbook", open)
};

/// Header or not.
const HEADER: OptionSpec = OptionSpec::new("header", "whether the first row of a sheet names the columns")
    .one_of("auto", &["auto", "yes", "no"]);

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
    if let Some(document) = head.compound() {
        let is_workbook = matches!(document, compound::Document::Workbook | compound::Document::Encrypted);
        return (is_workbook || head.has_extension(FORMAT.extensions)).then_some(Framing::Xls);
    }
    if xls::begins(&head.first) {
        return Some(Framing::Xls);
    }
    match head.zip()?.document? {
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
    let header = match opening.options.choice(&HEADER)? {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    let book = Arc::new(Mutex::new(SharedWorkbook::open(task, source, framing, header)?));
    let mut root = Node::new(source.name(), "workbook");
    let sheets = book.lock().sheets().to_vec();
    for (name, value) in book.lock().properties() {
        root = root.attribute(name, value);
    }
    let hidden = sheets.iter().filter(|sheet| sheet.hidden).count();
    if hidden > 0 {
        root = root.remark(format!("{} hidden", display::plural(hidden as u64, "sheet")));
    }
    let first = sheets.iter().position(|sheet| sheet.kind.has_cells() && !sheet.hidden);
    let children = sheets.into_iter().enumerate().map(|(number, sheet)| {
        let mut node = Node::new(&sheet.name, sheet.kind.label());
        if sheet.hidden {
            node = node.read_as("hidden", "yes");
        }
        if !sheet.kind.has_cells() {
            return node;
        }
        let book = book.clone();
        node.deferred_leaf(move |task| book.lock().sheet(task, number))
    });
    let children: Vec<Node> = children.collect();
    // Rows at once: the first sheet that a person would see.
    root.start = first.and_then(|at| children.get(at)).map(|sheet| root.child_path("", sheet));
    Ok(root.listed(children))
}

#[cfg(test)]
mod tests;
