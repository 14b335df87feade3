//! OpenDocument spreadsheets (ODF 1.3 part 3, section 9): all sheets stand in one part, `content.xml`. Rows and
//! cells that are alike are written once, with the number of times that they come.
//!
//! Only elements that the format names are looked at: between them may be white space.

use super::book::{Directory, Sheet, SheetKind, Workbook};
use super::package::Package;
use super::sheet::Gathered;
use super::value::Value;
use super::xml::{Token, Xml, attribute, gather, unescaped};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use quick_xml::events::BytesStart;
use std::collections::HashSet;

/// The part of all sheets.
const CONTENT: &str = "content.xml";
/// The most cells that are unfolded.
const MOST: u64 = 20 << 20;
/// The most spaces that one element stands for.
const SPACES: usize = 1 << 16;
/// The most styles of hidden sheets.
const STYLES: usize = 1 << 16;

/// An open workbook.
pub(super) struct OdsWorkbook {
    package: Package,
    directory: Directory,
}

impl OdsWorkbook {
    /// The workbook of a package.
    pub(super) fn open(task: &Task, package: Package) -> Result<OdsWorkbook> {
        if encrypted(task, &package)? {
            return Err(Error::unsupported("the workbook is encrypted with a password"));
        }
        let mut book = OdsWorkbook { package, directory: Directory::default() };
        let mut xml = content(task, &book.package)?;
        // Styles of sheets stand before the sheets.
        let (mut style, mut unseen) = (None, HashSet::new());
        let mut nested = 0;
        loop {
            match xml.next()? {
                Token::Open(tag) => match tag.name().as_ref() {
                    "table:table" if nested == 0 => {
                        nested = 1;
                        let of = attribute(&tag, "table:style-name");
                        book.directory.sheet(Sheet {
                            name: attribute(&tag, "table:name").unwrap_or_default().into_owned(),
                            kind: SheetKind::Work,
                            hidden: of.is_some_and(|of| unseen.contains(of.as_ref())),
                        })?;
                        task.check()?;
                    }
                    "table:table" => nested += 1,
                    "style:style" => style = attribute(&tag, "style:name").map(|name| name.into_owned()),
                    "style:table-properties" => {
                        let is_unseen = attribute(&tag, "table:display").is_some_and(|is| is == "false");
                        let is_kept = is_unseen && unseen.len() < STYLES;
                        unseen.extend(style.take().filter(|_| is_kept));
                    }
                    "table:named-range" => book.name(&tag, "table:cell-range-address")?,
                    "table:named-expression" => book.name(&tag, "table:expression")?,
                    _ => {}
                },
                Token::Close(tag) if tag.name().as_ref() == "table:table" => nested -= 1,
                Token::End => return Ok(book),
                _ => {}
            }
        }
    }

    fn name(&mut self, tag: &BytesStart<'_>, place: &str) -> Result<()> {
        let name = attribute(tag, "table:name").unwrap_or_default().into_owned();
        self.directory.name(name, attribute(tag, place).unwrap_or_default().into_owned())
    }
}

/// Whether the manifest says how to decrypt the sheets.
fn encrypted(task: &Task, package: &Package) -> Result<bool> {
    let Some(mut xml) = package.header(task, "META-INF/manifest.xml")? else { return Ok(false) };
    let mut is_content = false;
    loop {
        match xml.next()? {
            Token::Open(tag) => match tag.local_name().as_ref() {
                "file-entry" => {
                    let path = attribute(&tag, "manifest:full-path").unwrap_or_default();
                    is_content = path == CONTENT || path == "encrypted-package";
                }
                "encryption-data" if is_content => return Ok(true),
                _ => {}
            },
            Token::End => return Ok(false),
            _ => {}
        }
    }
}

fn content(task: &Task, package: &Package) -> Result<Xml> {
    let missing = || Error::malformed(format!("ODS: there is no part {CONTENT:?}"));
    package.xml(task, CONTENT)?.ok_or_else(missing)
}

impl Workbook for OdsWorkbook {
    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn cells(&mut self, task: &Task, number: usize, out: &mut Gathered) -> Result<()> {
        let mut xml = content(task, &self.package)?;
        let mut before = 0;
        loop {
            match xml.next()? {
                Token::Open(tag) if tag.name().as_ref() == "table:table" => {
                    if before == number {
                        return Rows::default().read(task, &mut xml, out);
                    }
                    before += 1;
                    xml.skip()?;
                    task.check()?;
                }
                Token::End => return Err(Error::malformed("ODS: it ends before this sheet")),
                _ => {}
            }
        }
    }
}

/// The rows of a sheet.
#[derive(Default)]
struct Rows {
    /// Of the row that is read: its number, how many are like it, its next column and its cells.
    row: u32,
    repeated: u32,
    column: u32,
    cells: Vec<(u32, u32, Value)>,
    /// Bytes of these cells, and of their texts.
    bytes: u64,
    texts: u64,
    /// All cells so far.
    count: u64,
}

impl Rows {
    /// Reads the table that was opened.
    fn read(&mut self, task: &Task, xml: &mut Xml, out: &mut Gathered) -> Result<()> {
        loop {
            match xml.next()? {
                Token::Open(tag) => match tag.name().as_ref() {
                    "table:table-row" => {
                        self.repeated = repeated(&tag, "table:number-rows-repeated");
                        self.column = 0;
                    }
                    "table:table-cell" | "table:covered-table-cell" => {
                        let head = Head::of(&tag);
                        self.cell(xml, head, out)?;
                        out.tick(task)?;
                    }
                    "table:table-row-group" | "table:table-rows" | "table:table-header-rows" => {}
                    // Shapes, forms, columns and what is said of the source.
                    _ => xml.skip()?,
                },
                Token::Close(tag) => match tag.name().as_ref() {
                    "table:table-row" => self.row(task, out)?,
                    "table:table" => return Ok(()),
                    _ => {}
                },
                Token::End => return Err(Error::malformed("ODS: it ends within a sheet")),
                _ => {}
            }
        }
    }

    fn cell(&mut self, xml: &mut Xml, head: Head, out: &mut Gathered) -> Result<()> {
        let text = paragraphs(xml)?;
        let (formula, repeated) = (head.formula, head.repeated);
        let value = head.value(text);
        out.formula(formula, value.is_none());
        if let Some(value) = value {
            self.texts += value.text_len() as u64;
            self.bytes += (size_of::<(u32, u32, Value)>() + value.text_len()) as u64;
            // A row is taken when it ends: what waits until then takes memory as well.
            out.room(self.bytes, self.texts)?;
            self.cells.push((self.column, repeated, value));
        }
        self.column = self.column.saturating_add(repeated);
        Ok(())
    }

    /// Takes the row as often as it comes.
    fn row(&mut self, task: &Task, out: &mut Gathered) -> Result<()> {
        let filled: u64 = self.cells.iter().map(|(_, repeated, _)| u64::from(*repeated)).sum();
        self.count = self.count.saturating_add(filled.saturating_mul(u64::from(self.repeated)));
        if self.count > MOST {
            let words = format!("the sheet has {} cells, the limit is {MOST}", self.count);
            return Err(Error::limit(words));
        }
        let end = self.row.saturating_add(self.repeated);
        if !self.cells.is_empty() {
            for row in self.row..end {
                for (column, repeated, value) in &self.cells {
                    for column in *column..column.saturating_add(*repeated) {
                        out.push((row, column), value.clone());
                        out.tick(task)?;
                    }
                }
            }
        }
        self.row = end;
        (self.bytes, self.texts) = (0, 0);
        self.cells.clear();
        Ok(())
    }
}

fn repeated(tag: &BytesStart<'_>, name: &str) -> u32 {
    attribute(tag, name).and_then(|text| text.trim().parse().ok()).unwrap_or(1)
}

/// What a cell says of itself in its attributes (section 19.385 and those on values).
#[derive(Default)]
struct Head {
    repeated: u32,
    formula: bool,
    of: String,
    /// That the text is the name of an error; LibreOffice's.
    error: bool,
    value: Option<String>,
    text: Option<String>,
    date: Option<String>,
    time: Option<String>,
    boolean: Option<String>,
}

impl Head {
    fn of(tag: &BytesStart<'_>) -> Head {
        let mut head = Head { repeated: 1, ..Head::default() };
        for one in tag.attributes().with_checks(false).flatten() {
            let value = unescaped(one.value);
            match one.key.as_ref() {
                "table:number-columns-repeated" => head.repeated = value.trim().parse().unwrap_or(1),
                "table:formula" => head.formula = true,
                "office:value-type" | "table:value-type" => head.of = value.into_owned(),
                "calcext:value-type" => head.error = value == "error",
                "office:value" | "table:value" => head.value = Some(value.into_owned()),
                "office:string-value" | "table:string-value" => head.text = Some(value.into_owned()),
                "office:date-value" | "table:date-value" => head.date = Some(value.into_owned()),
                "office:time-value" | "table:time-value" => head.time = Some(value.into_owned()),
                "office:boolean-value" | "table:boolean-value" => head.boolean = Some(value.into_owned()),
                _ => {}
            }
        }
        head
    }

    /// The value, where the cell shows `text`.
    fn value(self, text: Option<String>) -> Option<Value> {
        if self.error {
            return text.filter(|text| !text.is_empty()).map(Value::Error);
        }
        let stored = match self.of.as_str() {
            "float" | "percentage" | "currency" => self.value.map(|value| match value.trim().parse() {
                Ok(number) => Value::Number(number),
                Err(_) => Value::Text(value),
            }),
            "date" => self.date.as_deref().map(Value::iso),
            "time" => self.time.as_deref().map(time),
            "boolean" => self.boolean.map(|is| Value::Bool(is.trim().eq_ignore_ascii_case("true"))),
            "string" => self.text.filter(|text| !text.is_empty()).map(Value::Text),
            _ => None,
        };
        stored.or_else(|| text.map(Value::Text))
    }
}

/// A time: of a day where it is shorter than one. Both are written as durations.
fn time(text: &str) -> Value {
    match Value::iso(text) {
        Value::Span(millis) => u32::try_from(millis).ok().map_or(Value::Span(millis), |short| {
            let nanos = short % 1000 * 1_000_000;
            let clock = chrono::NaiveTime::from_num_seconds_from_midnight_opt(short / 1000, nanos);
            clock.map_or(Value::Span(millis), Value::Clock)
        }),
        other => other,
    }
}

/// The paragraphs in the cell that was opened, a line each, without its notes and shapes; `None` where it has
/// none.
fn paragraphs(xml: &mut Xml) -> Result<Option<String>> {
    let (mut all, mut count) = (String::new(), 0usize);
    // Around which depth something is left out, and in which a paragraph is.
    let (mut left_out, mut within) = (None, None);
    xml.inside(|depth, token| {
        match token {
            Token::Open(tag) if left_out.is_none() => match tag.name().as_ref() {
                "text:p" | "text:h" if within.is_none() => {
                    within = Some(depth);
                    count += 1;
                    if count > 1 {
                        gather(&mut all, "\n")?;
                    }
                }
                "text:s" if within.is_some() => {
                    let spaces = repeated(tag, "text:c") as usize;
                    gather(&mut all, &" ".repeat(spaces.min(SPACES)))?;
                }
                "text:tab" if within.is_some() => gather(&mut all, "\t")?,
                "text:line-break" if within.is_some() => gather(&mut all, "\n")?,
                "office:annotation" | "table:table" | "text:ruby-text" | "svg:title" | "svg:desc" => {
                    left_out = Some(depth);
                }
                // A shape on the sheet, not one in the text.
                name if within.is_none() && name.starts_with("draw:") => left_out = Some(depth),
                _ => {}
            },
            Token::Close(_) => {
                // An element closes at the depth of the one around it.
                left_out = left_out.filter(|opened| depth >= *opened);
                within = within.filter(|opened| depth >= *opened);
            }
            Token::Text(text) if within.is_some() && left_out.is_none() => push(&mut all, text)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((count > 0).then_some(all))
}

/// Appends a text. A line end in it, with what is around it, stands for one space (section 6.1.2): it comes of
/// how the XML was laid out.
fn push(all: &mut String, text: &str) -> Result<()> {
    if !text.contains(['\n', '\r']) {
        return gather(all, text);
    }
    let mut lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).peekable();
    let is_begin = all.is_empty() || all.ends_with(['\n', ' ']);
    if text.starts_with(char::is_whitespace) && !is_begin && lines.peek().is_some() {
        gather(all, " ")?;
    }
    gather(all, &lines.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;

    fn shown(rows: &str) -> Result<String> {
        let (task, mut out) = (Task::new(), Gathered::default());
        let source = Source::memory(CONTENT, format!("<table:table>{rows}</table:table>"));
        let mut xml = Xml::open(&task, &source)?;
        xml.next()?;
        Rows::default().read(&task, &mut xml, &mut out)?;
        let node = out.node(&task, None)?;
        let Some(crate::data::content::Content::Table(table)) = node.content else {
            return Ok(String::new());
        };
        let all: Vec<usize> = (0..table.schema().fields().len()).collect();
        let batch = table.read(&task, 0..99, &all)?;
        let cell =
            |column: &arrow::array::ArrayRef, row| crate::data::cell::text(column, row).unwrap_or("∅".into());
        let row = |row| batch.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>().join("¦");
        Ok((0..batch.num_rows()).map(row).collect::<Vec<_>>().join("⏎"))
    }

    fn row(rows: u64, columns: u64, value: &str) -> String {
        format!(
            "<table:table-row table:number-rows-repeated=\"{rows}\">\n <table:table-cell \
             table:number-columns-repeated=\"{columns}\"{value}/>\n</table:table-row>\n"
        )
    }

    #[test]
    fn cells_that_hold_something_are_counted() {
        let number = " office:value-type=\"float\" office:value=\"1\"";
        assert_eq!(shown(&row(1_048_576, 16_384, "")).unwrap(), "");
        assert_eq!(shown(&(row(3, 9, "") + &row(2, 3, number))).unwrap(), "1¦1¦1⏎1¦1¦1");
        for (rows, columns) in [(1_048_576, 16_384), (u64::from(u32::MAX), u64::from(u32::MAX))] {
            let error = shown(&row(rows, columns, number)).unwrap_err();
            assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit, "{error}");
        }
    }

    #[test]
    fn white_space_stands_between_elements() {
        let cells = "\n  <table:table-row>\n    <table:table-cell office:value-type='string'>\n      \
            <text:p>a  b<text:s text:c='2'/>c</text:p>\n      <text:p>d<text:span>e</text:span>\n  f</text:p>\n    \
            </table:table-cell>\n    <!-- ? -->\n    <table:covered-table-cell/>\n    \
            <table:table-cell office:value-type='time' office:time-value='PT49H30M00S'>\n <text:p>49:30</text:p>\n\
            </table:table-cell>\n <table:table-cell office:value-type='float' office:value='1.5'>\n\
            <office:annotation>\n<text:p>a note</text:p>\n</office:annotation>\n<text:p>1,5</text:p></table:table-cell>\n\
            <table:table-cell calcext:value-type='error' office:value-type='string' office:string-value=''>\n\
            <text:p>#N/A</text:p></table:table-cell>\n  </table:table-row>\n";
        assert_eq!(shown(cells).unwrap(), "a  b  c\nde f¦∅¦178200s¦1.5¦#N/A");
    }

    #[test]
    fn spaces_have_a_limit() {
        let cell = |spaces: usize| {
            let spaces = "<text:s text:c='65536'/>".repeat(spaces);
            let cell = format!("<table:table-cell><text:p>{spaces}</text:p></table:table-cell>");
            shown(&format!("<table:table-row>{cell}</table:table-row>"))
        };
        assert_eq!(cell(2).unwrap().len(), 1 << 17);
        assert_eq!(cell(1_100).unwrap_err().kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn groups_and_shapes_are_no_cells() {
        let cells = "<office:forms><form:x/></office:forms><table:shapes><draw:frame><draw:text-box><text:p>no\
            </text:p></draw:text-box></draw:frame></table:shapes><table:table-row-group><table:table-header-rows>\
            <table:table-row><table:table-cell office:value-type='string'><draw:frame><text:p>no</text:p></draw:frame>\
            <text:p>yes</text:p></table:table-cell></table:table-row></table:table-header-rows>\
            </table:table-row-group><table:table-row><table:table-cell office:value-type='boolean' \
            office:boolean-value='true'/></table:table-row>";
        assert_eq!(shown(cells).unwrap(), "true");
    }
}
