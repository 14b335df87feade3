//! XLSX, XLSM and templates: SpreadsheetML parts in a package (ECMA-376 part 1, section 18). The workbook names
//! its sheets, each is a part; texts stand once in a part that all share, number formats in another.

use super::code::Formats;
use super::parts::{Encoding, List, Shared};
use super::sheet::{Area, Gathered, SharedTexts};
use super::value::{Epoch, Value};
use super::xml::{Token, Xml, gather, local_attribute};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use quick_xml::events::BytesStart;

/// The encoding of the parts in XML.
pub(super) struct Ooxml;

impl Encoding for Ooxml {
    const SHEET: &'static str = ".worksheet+xml";
    const STYLES: (&'static str, &'static str) = ("spreadsheetml.styles+xml", "styles.xml");
    const TEXTS: (&'static str, &'static str) = ("spreadsheetml.sharedstrings+xml", "sharedStrings.xml");

    fn workbook(task: &Task, part: &Source, list: &mut List) -> Result<bool> {
        let mut xml = Xml::open_header(task, part)?;
        let mut is_workbook = false;
        loop {
            match xml.next()? {
                Token::Open(tag) => match tag.local_name().as_ref() {
                    "workbook" => is_workbook = true,
                    "workbookPr" if local_attribute(&tag, "date1904").is_some_and(|is| is_true(&is)) => {
                        list.epoch = Epoch::Y1904;
                    }
                    "sheet" => {
                        // `id` has a prefix, and `sheetId` is another attribute.
                        let id = local_attribute(&tag, "id").unwrap_or_default();
                        let name = local_attribute(&tag, "name").unwrap_or_default().into_owned();
                        let state = local_attribute(&tag, "state").unwrap_or_default().to_lowercase();
                        list.sheet::<Self>(task, &id, name, state.contains("hidden"))?;
                    }
                    "definedName" => {
                        let name = local_attribute(&tag, "name").unwrap_or_default().into_owned();
                        let place = xml.text()?;
                        list.directory.name(name, place)?;
                    }
                    _ => {}
                },
                Token::End => return Ok(is_workbook),
                _ => {}
            }
        }
    }

    fn formats(task: &Task, part: &Source) -> Result<Formats> {
        formats(&mut Xml::open_header(task, part)?)
    }

    fn texts(task: &Task, part: &Source, texts: &mut SharedTexts) -> Result<()> {
        shared_texts(task, &mut Xml::open(task, part)?, texts)
    }

    fn cells(task: &Task, part: &Source, shared: &Shared, out: &mut Gathered) -> Result<()> {
        Cells { xml: Xml::open(task, part)?, shared, row: 0, column: 0 }.read(task, out)
    }
}

/// The number formats in the part of the styles.
fn formats(xml: &mut Xml) -> Result<Formats> {
    let (mut formats, mut in_cells, mut in_codes) = (Formats::default(), false, false);
    loop {
        match xml.next()? {
            Token::Open(tag) => match tag.local_name().as_ref() {
                "cellXfs" => in_cells = true,
                "numFmts" => in_codes = true,
                // Those of conditional formats stand elsewhere, with numbers of their own.
                "numFmt" if in_codes => {
                    let code = local_attribute(&tag, "formatCode");
                    if let Some((id, code)) = number(&tag, "numFmtId").zip(code) {
                        formats.code(id, code.into_owned());
                    }
                }
                "xf" if in_cells => formats.style(number(&tag, "numFmtId").unwrap_or(0)),
                _ => {}
            },
            Token::Close(tag) => match tag.local_name().as_ref() {
                "cellXfs" => in_cells = false,
                "numFmts" => in_codes = false,
                _ => {}
            },
            Token::End => return Ok(formats.done()),
            _ => {}
        }
    }
}

fn number(tag: &BytesStart<'_>, name: &str) -> Option<u32> {
    local_attribute(tag, name)?.trim().parse().ok()
}

fn is_true(text: &str) -> bool {
    matches!(text.trim(), "1" | "true" | "on")
}

/// The shared texts.
fn shared_texts(task: &Task, xml: &mut Xml, texts: &mut SharedTexts) -> Result<()> {
    loop {
        match xml.next()? {
            Token::Open(tag) if tag.local_name().as_ref() == "si" => texts.push(task, rich(xml)?)?,
            Token::End => return Ok(()),
            _ => {}
        }
    }
}

/// The text of the element that was opened last: of its runs, without what says how to pronounce it.
fn rich(xml: &mut Xml) -> Result<String> {
    let (mut text, mut within, mut phonetic) = (String::new(), false, None);
    xml.inside(|depth, token| {
        match token {
            Token::Open(tag) => match tag.local_name().as_ref() {
                "t" => within = phonetic.is_none(),
                "rPh" => phonetic = phonetic.or(Some(depth)),
                _ => {}
            },
            Token::Close(tag) => {
                within &= tag.local_name().as_ref() != "t";
                // An element closes at the depth of the one around it.
                phonetic = phonetic.filter(|opened| depth >= *opened);
            }
            Token::Text(piece) if within => gather(&mut text, piece)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(unescaped(text))
}

/// A text whose control characters are not written as `_x000D_` (section 22.9.2.19).
fn unescaped(text: String) -> String {
    if !text.contains("_x") {
        return text;
    }
    let unit = |rest: &str| {
        let digits = rest.strip_prefix("_x")?.get(..5)?.strip_suffix('_')?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let (mut out, mut units, mut rest) = (String::with_capacity(text.len()), Vec::new(), text.as_str());
    while let Some(letter) = rest.chars().next() {
        if let Some(unit) = unit(rest) {
            units.push(unit);
            rest = rest.get(7..).unwrap_or_default();
            continue;
        }
        out.push_str(&String::from_utf16_lossy(&std::mem::take(&mut units)));
        out.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    out.push_str(&String::from_utf16_lossy(&units));
    out
}

/// The cells of a sheet.
struct Cells<'a> {
    xml: Xml,
    shared: &'a Shared,
    /// Where the next cell is that does not say it.
    row: u32,
    column: u32,
}

/// What a cell says of itself before its value.
struct Head {
    of: Of,
    style: usize,
}

/// The type of a cell (section 18.18.11).
#[derive(Clone, Copy)]
enum Of {
    Number,
    Shared,
    Text,
    Bool,
    Error,
    Date,
}

impl Head {
    /// Reads the attributes of a cell, and where it is if it says so.
    fn of(tag: &BytesStart<'_>, row: &mut u32, column: &mut u32) -> Head {
        let mut head = Head { of: Of::Number, style: 0 };
        for one in tag.attributes().with_checks(false).flatten() {
            match one.key.as_ref() {
                "r" => {
                    if let Some(place) = super::sheet::place(&one.value) {
                        (*row, *column) = place;
                    }
                }
                "s" => head.style = one.value.trim().parse().unwrap_or(0),
                "t" => {
                    head.of = match one.value.trim() {
                        "s" => Of::Shared,
                        "str" | "inlineStr" => Of::Text,
                        "b" => Of::Bool,
                        "e" => Of::Error,
                        "d" => Of::Date,
                        _ => Of::Number,
                    }
                }
                _ => {}
            }
        }
        head
    }
}

impl Cells<'_> {
    fn read(&mut self, task: &Task, out: &mut Gathered) -> Result<()> {
        // Other elements that are called `row` and `c` stand outside.
        let mut in_data = false;
        loop {
            match self.xml.next()? {
                Token::Open(tag) => match tag.local_name().as_ref() {
                    "sheetData" => in_data = true,
                    "row" if in_data => {
                        self.row = number(&tag, "r").map_or(self.row, |row| row.saturating_sub(1));
                        self.column = 0;
                    }
                    "c" if in_data => {
                        let head = Head::of(&tag, &mut self.row, &mut self.column);
                        self.cell(task, head, out)?;
                    }
                    "pane" if number(&tag, "ySplit") == Some(1) => {
                        let state = local_attribute(&tag, "state").unwrap_or_default();
                        if state.trim().starts_with("frozen") {
                            out.freeze();
                        }
                    }
                    "mergeCell" => {
                        out.merged(local_attribute(&tag, "ref").and_then(|place| Area::parse(&place)));
                    }
                    _ => {}
                },
                Token::Close(tag) => match tag.local_name().as_ref() {
                    "row" if in_data => self.row = self.row.saturating_add(1),
                    "sheetData" => in_data = false,
                    _ => {}
                },
                Token::End => return Ok(()),
                _ => {}
            }
        }
    }

    fn cell(&mut self, task: &Task, head: Head, out: &mut Gathered) -> Result<()> {
        let (mut stored, mut inline, mut formula) = (None, None, false);
        loop {
            match self.xml.next()? {
                Token::Open(tag) => match tag.local_name().as_ref() {
                    "v" => stored = Some(self.xml.text()?),
                    "is" => inline = Some(rich(&mut self.xml)?),
                    "f" => {
                        formula = true;
                        self.xml.skip()?;
                    }
                    _ => self.xml.skip()?,
                },
                Token::Close(_) => break,
                Token::End => return Err(Error::malformed("XML: it ends within a cell")),
                _ => {}
            }
        }
        let value = match (stored, inline) {
            (Some(stored), _) => self.value(stored, &head, out),
            (None, inline) => inline.map(Value::Text),
        };
        out.formula(formula, value.is_none() && !matches!(head.of, Of::Text));
        if let Some(value) = value {
            out.push((self.row, self.column), value);
        }
        self.column = self.column.saturating_add(1);
        out.tick(task)
    }

    fn value(&self, stored: String, head: &Head, out: &mut Gathered) -> Option<Value> {
        let plain = stored.trim();
        if plain.is_empty() && !matches!(head.of, Of::Text) {
            return None;
        }
        Some(match head.of {
            Of::Text if stored.is_empty() => return None,
            Of::Text => Value::Text(unescaped(stored)),
            Of::Shared => match plain.parse::<usize>().ok().and_then(|at| self.shared.texts.get(at)) {
                Some(text) => Value::Text(text.clone()),
                None => {
                    let place = super::sheet::words((self.row, self.column));
                    let words = format!("cell {place}: there is no shared text {plain:?}");
                    out.problem(Error::malformed(words));
                    return None;
                }
            },
            Of::Bool => match plain {
                "0" | "false" | "FALSE" => Value::Bool(false),
                "1" | "true" | "TRUE" => Value::Bool(true),
                _ => Value::Text(stored),
            },
            Of::Error => Value::Error(plain.to_owned()),
            Of::Date => Value::iso(plain),
            Of::Number => match plain.parse::<f64>() {
                Ok(number) => {
                    Value::number(number, self.shared.formats.class(head.style, number), self.shared.epoch)
                }
                Err(_) => Value::Text(stored),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::formats::table::xlsx::code::Class;

    fn xml(text: &str) -> Xml {
        Xml::open(&Task::new(), &Source::memory("part.xml", text.to_owned())).unwrap()
    }

    #[test]
    fn texts_have_runs_and_escapes() {
        let text = |inner: &str| {
            let mut texts = SharedTexts::default();
            shared_texts(&Task::new(), &mut xml(&format!("<sst><si>{inner}</si></sst>")), &mut texts)
                .unwrap();
            texts.all.into_iter().next().unwrap()
        };
        assert_eq!(text("<t>a b</t>"), "a b");
        assert_eq!(text("<r><rPr><b/></rPr><t xml:space='preserve'> a</t></r> <r><t>b</t></r>"), " ab");
        let spoken = "<t>東</t><rPh sb='0' eb='1'><t>ヒガシ</t></rPh><phoneticPr fontId='1'/>";
        assert_eq!(text(spoken), "東");
        assert_eq!(text("<rPh><t>x</t></rPh><r><t>a</t></r><rPh><t>y</t></rPh><r><t>b</t></r>"), "ab");
        assert_eq!(text("<t>a_x000D_b_x005F_x000D_c_xD83D__xDE00__x_</t>"), "a\rb_x000D_c😀_x_");
        assert_eq!(text("<t/>"), "");
    }

    #[test]
    fn texts_of_many_pieces_have_a_limit() {
        let run = format!("<r><t>{}</t></r>", "a".repeat(1 << 20));
        let mut texts = SharedTexts::default();
        let mut part = xml(&format!("<sst><si>{}</si></sst>", run.repeat(65)));
        let error = shared_texts(&Task::new(), &mut part, &mut texts).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn formats_of_conditions_are_not_those_of_cells() {
        let styles = "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='yyyy'/></numFmts><cellStyleXfs>\
            <xf numFmtId='14'/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/><xf numFmtId='164'/>\
            </cellXfs><dxfs><dxf><numFmt numFmtId='14' formatCode='0.0%'/></dxf></dxfs></styleSheet>";
        let formats = formats(&mut xml(styles)).unwrap();
        let classes = [0, 1, 2, 3].map(|style| formats.class(style, 45_000.0));
        assert_eq!(classes, [Class::Number, Class::Date, Class::Date, Class::Number]);
    }
}
