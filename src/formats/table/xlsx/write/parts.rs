//! The parts of a workbook beside its cells: what the package holds (ECMA-376 part 2), the list of sheets, the styles,
//! and what stands around the rows of a sheet (part 1, sections 18.2, 18.8 and 18.3.1.99).

use super::super::sheet::{absolute, words};
use std::fmt::Write;

/// A sheet, as the workbook lists it.
pub(super) struct Sheet {
    pub(super) name: String,
    /// Its rows, the header among them.
    pub(super) rows: u64,
    /// Characters of each column.
    pub(super) widths: Vec<u32>,
}

impl Sheet {
    /// The row and the column of its last cell.
    fn last(&self) -> (u32, u32) {
        let column = (self.widths.len() as u32).saturating_sub(1);
        (u32::try_from(self.rows.max(1) - 1).unwrap_or(u32::MAX), column)
    }
}

/// How sheets look.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Whether the first row stays in sight.
    pub(super) freeze: bool,
    /// Whether it has buttons to filter by.
    pub(super) filter: bool,
}

/// The styles of cells, by their places in [`STYLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    General = 0,
    Date = 1,
    Seconds = 2,
    Millis = 3,
    Clock = 4,
    ClockMillis = 5,
    Span = 6,
    Header = 7,
}

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const DECLARED: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Number formats, fonts, and a style a kind of cell.
const STYLES: &str = r##"<numFmts count="6"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/><numFmt numFmtId="166" formatCode="yyyy\-mm\-dd\ hh:mm:ss.000"/><numFmt numFmtId="167" formatCode="hh:mm:ss"/><numFmt numFmtId="168" formatCode="hh:mm:ss.000"/><numFmt numFmtId="169" formatCode="[h]:mm:ss.000"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="8"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="166" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="167" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="168" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="169" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>"##;

/// The parts that stand before the sheets, with their names.
pub(super) fn package(sheets: &[&Sheet], look: Look) -> Vec<(&'static str, String)> {
    let each = |one: &dyn Fn(usize) -> String| (1..=sheets.len()).map(one).collect::<String>();
    let types = each(&|n| {
        format!(
            "<Override PartName=\"/xl/worksheets/sheet{n}.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/>"
        )
    });
    let content = format!(
        "{DECLARED}<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/><Override PartName=\"/xl/styles.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml\"/>{types}</Types>"
    );
    let root = format!(
        "{DECLARED}<Relationships xmlns=\"{RELATIONS}\"><Relationship Id=\"rId1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
    );
    let listed = each(&|n| {
        format!(
            "<Relationship Id=\"rId{n}\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet{n}.xml\"/>"
        )
    });
    let styles = sheets.len() + 1;
    let relations = format!(
        "{DECLARED}<Relationships xmlns=\"{RELATIONS}\">{listed}<Relationship Id=\"rId{styles}\" Type=\"{OFFICE}/styles\" Target=\"styles.xml\"/></Relationships>"
    );
    vec![
        ("[Content_Types].xml", content),
        ("_rels/.rels", root),
        ("xl/workbook.xml", workbook(sheets, look)),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/styles.xml", format!("{DECLARED}<styleSheet xmlns=\"{MAIN}\">{STYLES}</styleSheet>")),
    ]
}

/// The list of sheets, and the ranges that are filtered.
fn workbook(sheets: &[&Sheet], look: Look) -> String {
    let mut out = format!(
        "{DECLARED}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><bookViews><workbookView/></bookViews><sheets>"
    );
    for (n, sheet) in sheets.iter().enumerate() {
        let (name, n) = (attribute(&sheet.name), n + 1);
        let _ = write!(out, "<sheet name=\"{name}\" sheetId=\"{n}\" r:id=\"rId{n}\"/>");
    }
    out += "</sheets>";
    if look.filter {
        out += "<definedNames>";
        for (n, sheet) in sheets.iter().enumerate() {
            let range = format!(
                "'{}'!{}:{}",
                sheet.name.replace('\'', "''"),
                absolute((0, 0)),
                absolute(sheet.last())
            );
            let range = attribute(&range);
            let _ = write!(
                out,
                "<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"{n}\" hidden=\"1\">{range}</definedName>"
            );
        }
        out += "</definedNames>";
    }
    out + "</workbook>"
}

/// What stands before the rows of a sheet.
pub(super) fn begin(sheet: &Sheet, look: Look, first: bool) -> String {
    let (last, chosen) = (words(sheet.last()), if first { " tabSelected=\"1\"" } else { "" });
    let mut out = format!(
        "{DECLARED}<worksheet xmlns=\"{MAIN}\"><dimension ref=\"A1:{last}\"/><sheetViews><sheetView{chosen} workbookViewId=\"0\""
    );
    out += match look.freeze {
        true => {
            "><pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews>"
        }
        false => "/></sheetViews>",
    };
    out += "<sheetFormatPr defaultRowHeight=\"15\"/><cols>";
    for (n, width) in sheet.widths.iter().enumerate() {
        let n = n + 1;
        let _ = write!(out, "<col min=\"{n}\" max=\"{n}\" width=\"{width}\" customWidth=\"1\"/>");
    }
    out + "</cols><sheetData>"
}

/// What stands behind them.
pub(super) fn end(sheet: &Sheet, look: Look) -> String {
    let filter = match look.filter {
        true => format!("<autoFilter ref=\"A1:{}\"/>", words(sheet.last())),
        false => String::new(),
    };
    format!("</sheetData>{filter}</worksheet>")
}

/// A text between quotes or tags.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
