//! XLSB: the package of XLSX with binary records in its parts ([MS-XLSB]). A record is its kind and its length in
//! groups of seven bits, and its bytes (section 2.1.4).
//!
//! Specification: <https://learn.microsoft.com/openspecs/office_file_formats/ms-xlsb/>

use super::book::{NAMES, Sheet};
use super::code::Formats;
use super::parts::{Encoding, List, Shared};
use super::sheet::{Area, Gathered, SharedTexts, absolute, words};
use super::value::{Epoch, Value};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use std::io::Read;

/// The most bytes of one record.
const RECORD: u64 = 64 << 20;

/// The encoding of the parts in binary records.
pub(super) struct Binary;

impl Encoding for Binary {
    const SHEET: &'static str = "ms-excel.worksheet";
    const STYLES: (&'static str, &'static str) = ("ms-excel.styles", "styles.bin");
    const TEXTS: (&'static str, &'static str) = ("ms-excel.sharedstrings", "sharedStrings.bin");

    fn workbook(task: &Task, part: &Source, list: &mut List) -> Result<bool> {
        let mut records = Records::header(task, part);
        // Which sheets references from names lead to.
        let (mut places, mut names): (Vec<(u32, u32)>, Vec<(String, Vec<u8>)>) = (Vec::new(), Vec::new());
        while let Some(kind) = records.next()? {
            let bytes = records.bytes.as_slice();
            match kind {
                // BrtWbProp.
                153 if le::<u32>(bytes, 0).unwrap_or(0) & 1 != 0 => list.epoch = Epoch::Y1904,
                // BrtBundleSh.
                156 => sheet(task, bytes, list)?,
                // BrtExternSheet: a list of books with a first and a last sheet each.
                362 => {
                    let all = bytes.get(4..).unwrap_or_default().chunks_exact(12);
                    places = all
                        .map(|one| (le::<u32>(one, 4).unwrap_or(0), le::<u32>(one, 8).unwrap_or(0)))
                        .collect();
                }
                // BrtName.
                39 if names.len() < NAMES => {
                    let Some((name, used)) = wide(bytes.get(9..).unwrap_or_default()) else { continue };
                    let len = le::<u32>(bytes, 9 + used).unwrap_or(0) as usize;
                    let tokens = bytes.get(13 + used..).and_then(|rest| rest.get(..len)).unwrap_or_default();
                    names.push((name, tokens.to_vec()));
                }
                _ => {}
            }
        }
        for (name, tokens) in names {
            let place = reference(list.directory.sheets(), &tokens, &places);
            list.directory.name(name, place)?;
        }
        Ok(true)
    }

    fn formats(task: &Task, part: &Source) -> Result<Formats> {
        formats(&mut Records::header(task, part))
    }

    /// BrtSSTItem.
    fn texts(task: &Task, part: &Source, texts: &mut SharedTexts) -> Result<()> {
        let mut records = Records::new(task, part);
        while let Some(kind) = records.next()? {
            if kind == 19 {
                let text = records.bytes.get(1..).and_then(wide).map(|(text, _)| text);
                texts.push(task, text.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn cells(task: &Task, part: &Source, shared: &Shared, out: &mut Gathered) -> Result<()> {
        Cells { shared, row: 0, column: 0 }.read(task, part, out)
    }
}

fn sheet(task: &Task, bytes: &[u8], list: &mut List) -> Result<()> {
    // Four bytes more stand before the names in files of the first version.
    let names = |at: usize| {
        let rest = bytes.get(at..)?;
        let (id, used) = wide(rest)?;
        Some((id, wide(rest.get(used..)?)?.0))
    };
    let known = [8, 12].into_iter().filter_map(names).find(|(id, _)| list.relation(id).is_some());
    if let Some((id, name)) = known.or_else(|| names(8)) {
        list.sheet::<Binary>(task, &id, name, le::<u32>(bytes, 0).is_some_and(|state| state != 0))?;
    }
    Ok(())
}

/// What a name of one cell or one range stands for (section 2.5.97.88); other formulas are not spelled.
fn reference(sheets: &[Sheet], tokens: &[u8], places: &[(u32, u32)]) -> String {
    let text = || -> Option<String> {
        let (first, _) = places.get(usize::from(le::<u16>(tokens, 1)?))?;
        let sheet = &sheets.get(*first as usize)?.name;
        let cell = |row: usize, column: usize| {
            Some(absolute((le::<u32>(tokens, row)?, u32::from(le::<u16>(tokens, column)? & 0x3fff))))
        };
        match (tokens.first()?, tokens.len()) {
            (0x3a | 0x5a | 0x7a, 9) => Some(format!("{sheet}!{}", cell(3, 7)?)),
            (0x3b | 0x5b | 0x7b, 15) => Some(format!("{sheet}!{}:{}", cell(3, 11)?, cell(7, 13)?)),
            _ => None,
        }
    };
    text().unwrap_or_else(|| "a formula".to_owned())
}

/// The records of a part.
struct Records {
    reader: Reader,
    bytes: Vec<u8>,
    /// How long the part may be.
    most: u64,
}

impl Records {
    fn new(task: &Task, source: &Source) -> Records {
        Records { reader: source.reader(task), bytes: Vec::new(), most: u64::MAX }
    }

    /// The records of a part whose content is kept.
    fn header(task: &Task, source: &Source) -> Records {
        Records { most: limits::HEADER, ..Records::new(task, source) }
    }

    /// The kind of the next record, whose bytes are there then; `None` at the end.
    fn next(&mut self) -> Result<Option<u16>> {
        let at = self.reader.position();
        limits::check(at, self.most, "this part")?;
        let cut = || Error::malformed("XLSB: a record is cut off").at(at);
        let Some(low) = self.byte()? else { return Ok(None) };
        let mut kind = u16::from(low);
        if low & 0x80 != 0 {
            kind = u16::from(low & 0x7f) | u16::from(self.byte()?.ok_or_else(cut)? & 0x7f) << 7;
        }
        let mut len = 0u64;
        for group in 0..4 {
            let byte = self.byte()?.ok_or_else(cut)?;
            len |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                break;
            }
        }
        limits::check(len, RECORD, "a record")?;
        self.bytes.clear();
        let read = (&mut self.reader).take(len).read_to_end(&mut self.bytes)?;
        if (read as u64) < len { Err(cut()) } else { Ok(Some(kind)) }
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        let mut one = [0];
        Ok((self.reader.read(&mut one)? == 1).then_some(one[0]))
    }
}

/// Number formats: BrtFmt, and BrtXF between BrtBeginCellXFs and BrtEndCellXFs.
fn formats(records: &mut Records) -> Result<Formats> {
    let (mut formats, mut in_cells) = (Formats::default(), false);
    while let Some(kind) = records.next()? {
        let bytes = records.bytes.as_slice();
        match kind {
            617 => in_cells = true,
            618 => in_cells = false,
            44 => {
                if let (Some(id), Some((code, _))) = (le::<u16>(bytes, 0), bytes.get(2..).and_then(wide)) {
                    formats.code(u32::from(id), code);
                }
            }
            47 if in_cells => formats.style(le::<u16>(bytes, 2).map_or(0, u32::from)),
            _ => {}
        }
    }
    Ok(formats.done())
}

/// The cells of a sheet.
struct Cells<'a> {
    shared: &'a Shared,
    row: u32,
    /// Of the next cell that does not say it.
    column: u32,
}

impl Cells<'_> {
    fn read(&mut self, task: &Task, source: &Source, out: &mut Gathered) -> Result<()> {
        let mut records = Records::new(task, source);
        while let Some(kind) = records.next()? {
            let bytes = records.bytes.as_slice();
            match kind {
                // BrtRowHdr.
                0 => (self.row, self.column) = (le::<u32>(bytes, 0).unwrap_or(self.row), 0),
                1..=11 | 62 => {
                    self.column = le::<u32>(bytes, 0).unwrap_or(self.column);
                    let short = bytes.get(4..).unwrap_or_default();
                    self.cell(kind, short, out);
                    out.tick(task)?;
                }
                // The same without a column, which is the next one; without formulas.
                12..=18 => {
                    self.cell(kind - 11, bytes, out);
                    out.tick(task)?;
                }
                // BrtMergeCell.
                176 => out.merged(area(bytes)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A cell, from its style on.
    fn cell(&mut self, kind: u16, bytes: &[u8], out: &mut Gathered) {
        let style = le::<u32>(bytes, 0).unwrap_or(0) & 0xff_ffff;
        let rest = bytes.get(4..).unwrap_or_default();
        let number =
            |value| Value::number(value, self.shared.formats.class(style as usize, value), self.shared.epoch);
        let value = match kind {
            2 => le::<u32>(rest, 0).map(|word| number(rk(word))),
            3 | 11 => rest.first().map(|code| Value::Error(error(*code))),
            4 | 10 => rest.first().map(|byte| Value::Bool(*byte != 0)),
            5 | 9 => le(rest, 0).map(number),
            6 | 8 => wide(rest).map(|(text, _)| Value::Text(text)),
            // With runs, of which a byte tells first.
            62 => rest.get(1..).and_then(wide).map(|(text, _)| Value::Text(text)),
            7 => {
                let at = le::<u32>(rest, 0).unwrap_or(u32::MAX) as usize;
                let text = self.shared.texts.get(at).map(|text| Value::Text(text.clone()));
                if text.is_none() {
                    let place = words((self.row, self.column));
                    out.problem(Error::malformed(format!("cell {place}: there is no shared text {at}")));
                }
                text
            }
            _ => None,
        };
        let is_empty = |value: &Value| matches!(value, Value::Text(text) if text.is_empty());
        out.formula((8..=11).contains(&kind), value.is_none());
        if let Some(value) = value.filter(|value| kind != 8 || !is_empty(value)) {
            out.push((self.row, self.column), value);
        }
        self.column = self.column.saturating_add(1);
    }
}

fn area(bytes: &[u8]) -> Option<Area> {
    let [top, bottom, left, right] = [0, 4, 8, 12].map(|at| le::<u32>(bytes, at));
    Some(Area { start: (top?, left?), end: (bottom?, right?) })
}

/// A number in 30 bits: an integer or the upper part of a double, perhaps of a hundredfold (section 2.5.122).
pub(super) fn rk(word: u32) -> f64 {
    let value =
        if word & 2 != 0 { f64::from(word as i32 >> 2) } else { f64::from_bits(u64::from(word & !3) << 32) };
    if word & 1 != 0 { value / 100.0 } else { value }
}

/// The name of an error by its number (section 2.5.97.2).
pub(super) fn error(code: u8) -> String {
    match code {
        0x00 => "#NULL!",
        0x07 => "#DIV/0!",
        0x0f => "#VALUE!",
        0x17 => "#REF!",
        0x1d => "#NAME?",
        0x24 => "#NUM!",
        0x2a => "#N/A",
        0x2b => "#GETTING_DATA",
        code => return format!("#error {code}"),
    }
    .to_owned()
}

/// A text in UTF-16 behind its length (section 2.5.168), and the bytes that it takes. No text has the length
/// 2³² − 1.
fn wide(bytes: &[u8]) -> Option<(String, usize)> {
    let len = match le::<u32>(bytes, 0)? {
        u32::MAX => 0,
        len => (len as usize).checked_mul(2)?,
    };
    let raw = bytes.get(4..)?.get(..len)?;
    let units = raw.chunks_exact(2).filter_map(|two| le::<u16>(two, 0));
    Some((char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}')).collect(), 4 + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_thirty_bits() {
        assert_eq!(rk(0x3ff0_0000), 1.0);
        assert_eq!(rk(0x3ff0_0001), 0.01);
        assert_eq!(rk((12_345 << 2) | 3), 123.45);
        assert_eq!(rk((-7i32 as u32) << 2 | 2), -7.0);
    }

    #[test]
    fn cells_of_all_kinds() {
        let texts = vec!["shared".to_owned()];
        let shared = Shared { texts, formats: Formats::default(), epoch: Epoch::Y1900 };
        let mut cells = Cells { shared: &shared, row: 0, column: 0 };
        let record = |kind: u8, bytes: &[u8]| [&[kind, bytes.len() as u8][..], bytes].concat();
        let cell = |kind, column: u8, rest: &[u8]| {
            record(kind, &[&[column, 0, 0, 0, 0, 0, 0, 0][..], rest].concat())
        };
        let bytes = [
            record(0, &[2, 0, 0, 0]),
            cell(2, 1, &[0, 0, 0xf0, 0x3f]),
            // The next one, of the short kind.
            record(13, &[0, 0, 0, 0, 14, 0, 0, 0]),
            cell(6, 3, &[1, 0, 0, 0, b'a', 0]),
            cell(7, 4, &[0, 0, 0, 0]),
            cell(7, 5, &[9, 0, 0, 0]),
            cell(11, 6, &[0x2a]),
            cell(62, 7, &[0, 1, 0, 0, 0, b'b', 0]),
        ]
        .concat();
        let (task, mut out) = (Task::new(), Gathered::default());
        cells.read(&task, &Source::memory("sheet", bytes), &mut out).unwrap();
        let node = out.node(&task, None).unwrap();
        assert!(node.problem.unwrap().to_string().contains("cell F3: there is no shared text 9"));
        let Some(crate::data::content::Content::Table(table)) = node.content else { panic!() };
        let batch = table.read(&task, 0..1, &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        let shown = |column: usize| crate::data::cell::text(batch.column(column), 0).unwrap_or_default();
        assert_eq!((0..7).map(shown).collect::<Vec<_>>().join("¦"), "1¦3¦a¦shared¦¦#N/A¦b");
    }
}
