//! XLS ([MS-XLS]): the records of a workbook in a stream of a compound file, or alone in a file before Excel 5.
//! What is about all sheets comes first, then the records of each sheet from the place that is given there.
//!
//! Specification: <https://learn.microsoft.com/openspecs/office_file_formats/ms-xls/>; for the versions before
//! Excel 97 <https://www.openoffice.org/sc/excelfileformat.pdf>.

use super::biff::{Record, Shared, Texts, Version, records};
use super::book::{Directory, NAMES, Sheet, SheetKind, Workbook};
use super::code::Formats;
use super::sheet::{Area, Gathered, SharedTexts, absolute};
use super::value::{Epoch, Value};
use super::xlsb::{error, rk};
use crate::bytes::archive::compound;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;

/// The most bytes of a workbook that are held.
const MOST_BYTES: u64 = limits::CHUNK;
/// The stream of a workbook in a compound file: of Excel 97 and later, else of Excel 5.
pub(super) const STREAMS: [&str; 2] = ["Workbook", "Book"];
/// The stream of a package that is encrypted.
pub(super) const ENCRYPTED: &str = "EncryptedPackage";
/// The begin of a workbook or a sheet, of Excel 5 and later; the end.
const BOF: u16 = 0x0809;
const EOF: u16 = 0x000a;

/// An open workbook.
pub(super) struct XlsWorkbook {
    stream: Vec<u8>,
    texts: Texts,
    directory: Directory,
    /// Where the records of each sheet begin.
    places: Vec<usize>,
    epoch: Epoch,
    formats: Formats,
    /// Read with the first sheet.
    shared: Option<Vec<String>>,
}

/// What is noted while the records about all sheets are read.
#[derive(Default)]
struct Notes {
    /// How many number formats there were, which have no numbers of their own before Excel 4.
    formats: u32,
    names: Vec<(String, Vec<u8>)>,
    /// The first sheet of each reference to sheets.
    references: Vec<u16>,
}

impl XlsWorkbook {
    /// The workbook in `source`.
    ///
    /// # Errors
    /// `Unsupported` where it is encrypted, `Malformed` where there is none.
    pub(super) fn open(task: &Task, source: &Source) -> Result<XlsWorkbook> {
        let len = limits::check(source.len(task)?, MOST_BYTES, "an XLS workbook")? as u64;
        let bytes = source.read(task, 0..len)?;
        let stream =
            if bytes.starts_with(compound::MAGIC) { unframed(task, &bytes)? } else { bytes.to_vec() };
        let begin = records(&stream).next().and_then(|record| begin(&record));
        let Some((version, is_sheet)) = begin else {
            return Err(Error::malformed("XLS: the workbook does not begin with its version").at(0));
        };
        let texts = Texts { version, encoding: Some(encoding_rs::WINDOWS_1252) };
        let mut book = XlsWorkbook {
            stream,
            texts,
            directory: Directory::default(),
            places: Vec::new(),
            epoch: Epoch::default(),
            formats: Formats::default(),
            shared: None,
        };
        if is_sheet {
            // A workbook of one sheet, whose records are the workbook's too.
            let name = "Sheet 1".to_owned();
            book.directory.sheet(Sheet { name, kind: SheetKind::Work, hidden: false })?;
            book.places.push(0);
        }
        book.globals(task)?;
        Ok(book)
    }

    /// Reads what is about all sheets.
    fn globals(&mut self, task: &Task) -> Result<()> {
        let stream = std::mem::take(&mut self.stream);
        let mut notes = Notes::default();
        let mut read = Ok(());
        for record in records(&stream).skip(1) {
            read = task.check().and_then(|()| self.global(&record, &mut notes));
            if read.is_err() || record.kind == EOF {
                break;
            }
        }
        self.stream = stream;
        let Notes { names, references, .. } = notes;
        for (name, tokens) in names {
            let place = self.reference(&tokens, &references);
            self.directory.name(name, place)?;
        }
        self.formats = std::mem::take(&mut self.formats).done();
        read
    }

    fn global(&mut self, record: &Record<'_>, notes: &mut Notes) -> Result<()> {
        let bytes = record.bytes;
        match record.kind {
            // FilePass.
            0x002f => return Err(Error::unsupported("the workbook is encrypted with a password")),
            // CodePage.
            0x0042 => self.texts.encoding = Texts::code_page(le::<u16>(bytes, 0).unwrap_or(1252)),
            // Date1904.
            0x0022 if le::<u16>(bytes, 0) == Some(1) => self.epoch = Epoch::Y1904,
            // BoundSheet8.
            0x0085 => self.sheet(bytes)?,
            // XF: of Excel 2, 3, 4, and of later ones.
            0x0043 => self.formats.style(u32::from(bytes.get(2).copied().unwrap_or(0) & 0x3f)),
            0x0243 | 0x0443 => self.formats.style(u32::from(bytes.get(1).copied().unwrap_or(0))),
            0x00e0 => self.formats.style(le::<u16>(bytes, 2).map_or(0, u32::from)),
            // Format.
            0x001e | 0x041e => {
                let (id, code) = self.format(record, notes.formats);
                self.formats.code(id, code);
                notes.formats += 1;
            }
            // Lbl: a name, whose formula stands at its end.
            0x0018 if self.texts.version >= Version::Biff5 && notes.names.len() < NAMES => {
                let (letters, len) = (bytes.get(3).copied().unwrap_or(0), le::<u16>(bytes, 4).unwrap_or(0));
                let name = self.texts.read(bytes.get(14..).unwrap_or_default(), usize::from(letters));
                let is_built_in = bytes.first().is_some_and(|flags| flags & 0x20 != 0);
                let name = name.chars().next().filter(|_| is_built_in).map_or(name, built_in);
                let tokens = bytes.get(bytes.len().saturating_sub(usize::from(len))..).unwrap_or_default();
                notes.names.push((name, tokens.to_vec()));
            }
            // ExternSheet.
            0x0017 if self.texts.version == Version::Biff8 => {
                let all = bytes.get(2..).unwrap_or_default().chunks_exact(6);
                notes.references.extend(all.map(|one| le::<u16>(one, 2).unwrap_or(u16::MAX)));
            }
            _ => {}
        }
        Ok(())
    }

    fn sheet(&mut self, bytes: &[u8]) -> Result<()> {
        let (Some(place), Some(letters)) = (le::<u32>(bytes, 0), bytes.get(6)) else { return Ok(()) };
        let name = self.texts.read(bytes.get(7..).unwrap_or_default(), usize::from(*letters));
        let kind = match bytes.get(5) {
            Some(1) => SheetKind::Macro,
            Some(2) => SheetKind::Chart,
            Some(6) => SheetKind::Module,
            _ => SheetKind::Work,
        };
        let hidden = bytes.get(4).is_some_and(|state| state & 3 != 0);
        self.directory.sheet(Sheet { name: name.replace('\0', ""), kind, hidden })?;
        self.places.push(place as usize);
        Ok(())
    }

    /// A number format: its number and its code.
    fn format(&self, record: &Record<'_>, before: u32) -> (u32, String) {
        let bytes = record.bytes;
        let rest = |from| bytes.get(from..).unwrap_or_default();
        let len = |at| usize::from(bytes.get(at).copied().unwrap_or(0));
        match self.texts.version {
            // Those of Excel 4 have two bytes before them.
            Version::Biff2 | Version::Biff34 if record.kind == 0x001e => {
                (before, self.texts.read(rest(1), len(0)))
            }
            Version::Biff2 | Version::Biff34 => (before, self.texts.read(rest(3), len(2))),
            Version::Biff5 => (le::<u16>(bytes, 0).map_or(0, u32::from), self.texts.read(rest(3), len(2))),
            Version::Biff8 => {
                let letters = usize::from(le::<u16>(bytes, 2).unwrap_or(0));
                (le::<u16>(bytes, 0).map_or(0, u32::from), self.texts.read(rest(4), letters))
            }
        }
    }

    /// What a name of one cell or one range stands for (section 2.5.198.84); other formulas are not spelled.
    fn reference(&self, tokens: &[u8], references: &[u16]) -> String {
        let text = || -> Option<String> {
            let first = references.get(usize::from(le::<u16>(tokens, 1)?))?;
            let sheet = &self.directory.sheets().get(usize::from(*first))?.name;
            let number = |at| le::<u16>(tokens, at).map(u32::from);
            let cell = |row, column| Some(absolute((number(row)?, number(column)? & 0xff)));
            match (tokens.first()?, tokens.len()) {
                (0x3a | 0x5a | 0x7a, 7) => Some(format!("{sheet}!{}", cell(3, 5)?)),
                (0x3b | 0x5b | 0x7b, 11) => Some(format!("{sheet}!{}:{}", cell(3, 7)?, cell(5, 9)?)),
                _ => None,
            }
        };
        text().unwrap_or_else(|| "a formula".to_owned())
    }

    /// Reads the texts that all sheets share.
    fn share(&mut self, task: &Task) -> Result<()> {
        if self.shared.is_some() {
            return Ok(());
        }
        let mut texts = SharedTexts::default();
        let about = records(&self.stream).take_while(|record| record.kind != EOF);
        for record in about.filter(|record| record.kind == 0x00fc) {
            let mut shared = Shared::new(&record);
            while let Some(text) = shared.next() {
                texts.push(task, text)?;
            }
        }
        self.shared = Some(texts.all);
        Ok(())
    }
}

/// The stream of the workbook in a compound file.
fn unframed(task: &Task, bytes: &[u8]) -> Result<Vec<u8>> {
    if let Some(stream) = compound::stream(task, bytes, &STREAMS)? {
        return Ok(stream);
    }
    if compound::stream(task, bytes, &[ENCRYPTED])?.is_some() {
        return Err(Error::unsupported("the workbook is encrypted with a password"));
    }
    Err(Error::malformed("XLS: the compound file has no stream of a workbook"))
}

/// The version that the first record says, and whether it begins a sheet rather than a workbook.
fn begin(record: &Record<'_>) -> Option<(Version, bool)> {
    let version = match record.kind {
        0x0009 => Version::Biff2,
        0x0209 | 0x0409 => Version::Biff34,
        BOF if le::<u16>(record.bytes, 0) == Some(0x0500) => Version::Biff5,
        BOF => Version::Biff8,
        _ => return None,
    };
    Some((version, le::<u16>(record.bytes, 2) == Some(0x0010)))
}

/// Whether bytes begin with the version of a workbook or a sheet that is in no compound file.
pub(super) fn begins(head: &[u8]) -> bool {
    let Some(record) = records(head).next() else { return false };
    let of = le::<u16>(record.bytes, 2);
    let is_known = match (record.kind, record.bytes.len()) {
        (0x0009, 4..=6) | (0x0209 | 0x0409, 6) => of == Some(0x0010),
        (BOF, 8 | 16) => matches!(of, Some(0x0005 | 0x0010)),
        _ => false,
    };
    is_known && begin(&record).is_some()
}

/// The names that every workbook may have (section 2.5.114).
fn built_in(code: char) -> String {
    let names = [
        "Consolidate_Area",
        "Auto_Open",
        "Auto_Close",
        "Extract",
        "Database",
        "Criteria",
        "Print_Area",
        "Print_Titles",
        "Recorder",
        "Data_Form",
        "Auto_Activate",
        "Auto_Deactivate",
        "Sheet_Title",
        "_FilterDatabase",
    ];
    names.get(code as usize).map_or_else(|| code.to_string(), |name| format!("_xlnm.{name}"))
}

impl Workbook for XlsWorkbook {
    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn cells(&mut self, task: &Task, number: usize, out: &mut Gathered) -> Result<()> {
        self.share(task)?;
        let place = self.places.get(number).copied().unwrap_or(usize::MAX);
        let missing = || {
            let words =
                format!("XLS: the sheet should begin at byte {place} of the workbook, where none does");
            Error::malformed(words)
        };
        let records_of = records(self.stream.get(place..).ok_or_else(missing)?);
        let mut cells = Cells { book: self, pending: None };
        let mut depth = 0u32;
        for record in records_of {
            match record.kind {
                _ if depth == 0 => {
                    begin(&record).ok_or_else(missing)?;
                    depth = 1;
                }
                // Charts within the sheet.
                BOF => depth += 1,
                EOF if depth == 1 => return Ok(()),
                EOF => depth -= 1,
                _ if depth == 1 => {
                    cells.take(&record, out);
                    out.tick(task)?;
                }
                _ => {}
            }
        }
        if depth == 0 { Err(missing()) } else { Err(Error::malformed("XLS: the sheet is cut off")) }
    }
}

/// The cells of a sheet.
struct Cells<'a> {
    book: &'a XlsWorkbook,
    /// The cell of a formula whose text comes in a record of its own.
    pending: Option<(u32, u32)>,
}

impl Cells<'_> {
    fn take(&mut self, record: &Record<'_>, out: &mut Gathered) {
        let bytes = record.bytes;
        match record.kind {
            // String: the text of the formula before it.
            0x0207 | 0x0007 => {
                if let Some(place) = self.pending.take() {
                    self.push(place, Value::Text(self.result(record)), out);
                }
            }
            // MulRk: from a first to a last column.
            0x00bd => {
                let (Some(row), Some(first)) = (le::<u16>(bytes, 0), le::<u16>(bytes, 2)) else { return };
                let all = bytes.get(4..).unwrap_or_default().chunks_exact(6);
                for (column, one) in (u32::from(first)..).zip(all) {
                    let (style, number) = (le::<u16>(one, 0).unwrap_or(0), le::<u32>(one, 2).unwrap_or(0));
                    self.push((u32::from(row), column), self.number(rk(number), usize::from(style)), out);
                }
            }
            // MergeCells.
            0x00e5 => {
                for one in bytes.get(2..).unwrap_or_default().chunks_exact(8) {
                    let [top, bottom, left, right] =
                        [0, 2, 4, 6].map(|at| le::<u16>(one, at).map_or(0, u32::from));
                    out.merged(Some(Area { start: (top, left), end: (bottom, right) }));
                }
            }
            0x0002..=0x0006 if self.book.texts.version == Version::Biff2 => self.old(record, out),
            0x0203..=0x0206 | 0x0006 | 0x0406 | 0x027e | 0x00fd | 0x00d6 => {
                let (Some(row), Some(column)) = (le::<u16>(bytes, 0), le::<u16>(bytes, 2)) else { return };
                let style = usize::from(le::<u16>(bytes, 4).unwrap_or(0));
                let rest = bytes.get(6..).unwrap_or_default();
                self.cell(record.kind, (u32::from(row), u32::from(column)), style, rest, out);
            }
            _ => {}
        }
    }

    /// A cell of Excel 2, whose style is three bytes.
    fn old(&mut self, record: &Record<'_>, out: &mut Gathered) {
        let bytes = record.bytes;
        let (Some(row), Some(column)) = (le::<u16>(bytes, 0), le::<u16>(bytes, 2)) else { return };
        let place = (u32::from(row), u32::from(column));
        let style = usize::from(bytes.get(4).copied().unwrap_or(0) & 0x3f);
        let rest = bytes.get(7..).unwrap_or_default();
        match record.kind {
            0x0002 => {
                if let Some(number) = le::<u16>(rest, 0) {
                    self.push(place, self.number(f64::from(number), style), out);
                }
            }
            0x0004 => {
                let (letters, text) = rest.split_first().unwrap_or((&0, &[]));
                self.push(place, Value::Text(self.book.texts.read(text, usize::from(*letters))), out);
            }
            0x0006 => self.cell(0x0006, place, style, rest, out),
            kind => self.cell(kind | 0x0200, place, style, rest, out),
        }
    }

    /// A cell, from its value on.
    fn cell(&mut self, kind: u16, place: (u32, u32), style: usize, rest: &[u8], out: &mut Gathered) {
        let value = match kind {
            0x0203 => le::<f64>(rest, 0).map(|number| self.number(number, style)),
            0x027e => le::<u32>(rest, 0).map(|number| self.number(rk(number), style)),
            0x0205 => rest.first().map(|value| boolean(*value, rest.get(1) == Some(&1))),
            // Label, RString.
            0x0204 | 0x00d6 => {
                let letters = le::<u16>(rest, 0).map_or(0, usize::from);
                Some(Value::Text(self.book.texts.read(rest.get(2..).unwrap_or_default(), letters)))
            }
            0x00fd => {
                let at = le::<u32>(rest, 0).unwrap_or(u32::MAX) as usize;
                let text = self.book.shared.as_ref().and_then(|all| all.get(at));
                if text.is_none() {
                    let place = super::sheet::words(place);
                    out.problem(Error::malformed(format!("cell {place}: there is no shared text {at}")));
                }
                text.map(|text| Value::Text(text.clone()))
            }
            _ => return self.formula(place, style, rest, out),
        };
        if let Some(value) = value {
            self.push(place, value, out);
        }
    }

    /// A formula: its last result (section 2.5.133).
    fn formula(&mut self, place: (u32, u32), style: usize, rest: &[u8], out: &mut Gathered) {
        out.formula(true, false);
        self.pending = None;
        let special = le::<u16>(rest, 6) == Some(u16::MAX);
        let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
        let value = match byte(0) {
            _ if !special => le::<f64>(rest, 0).map(|number| self.number(number, style)),
            0 => {
                self.pending = Some(place);
                None
            }
            1 => Some(boolean(byte(2), false)),
            2 => Some(boolean(byte(2), true)),
            _ => None,
        };
        if let Some(value) = value {
            self.push(place, value, out);
        }
    }

    /// The text of a formula's result.
    fn result(&self, record: &Record<'_>) -> String {
        let texts = &self.book.texts;
        if texts.version == Version::Biff8 {
            return Shared::alone(record).next().unwrap_or_default();
        }
        let size = if record.kind == 0x0007 { 1 } else { 2 };
        let low = record.bytes.first().map_or(0, |byte| usize::from(*byte));
        let letters = if size == 1 { low } else { le::<u16>(record.bytes, 0).map_or(0, usize::from) };
        texts.read(record.bytes.get(size..).unwrap_or_default(), letters)
    }

    fn number(&self, stored: f64, style: usize) -> Value {
        Value::number(stored, self.book.formats.class(style, stored), self.book.epoch)
    }

    fn push(&self, place: (u32, u32), value: Value, out: &mut Gathered) {
        out.push(place, value);
    }
}

/// A truth value, or an error by its number.
fn boolean(value: u8, is_error: bool) -> Value {
    if is_error { Value::Error(error(value)) } else { Value::Bool(value != 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Content;

    fn record(kind: u16, bytes: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(bytes.len() as u16).to_le_bytes(), bytes].concat()
    }

    /// A record of a cell in the first row.
    fn cell(kind: u16, column: u8, rest: &[u8]) -> Vec<u8> {
        record(kind, &[&[0, 0, column, 0, 0, 0][..], rest].concat())
    }

    /// A workbook of one sheet with these records, which are of the version `version`.
    fn workbook(version: u16, about: &[Vec<u8>], sheet: &[Vec<u8>]) -> Vec<u8> {
        let begin =
            |of: u16| record(BOF, &[version.to_le_bytes(), of.to_le_bytes(), [0; 2], [0; 2]].concat());
        let name: &[u8] = if version == 0x0600 { b"\x01\0s" } else { b"\x01s" };
        let bound = |place: u32| record(0x85, &[&place.to_le_bytes()[..], &[0; 2], name].concat());
        let about = about.concat();
        let place = begin(5).len() + about.len() + bound(0).len() + 4;
        [begin(5), about, bound(place as u32), record(EOF, &[]), begin(16), sheet.concat(), record(EOF, &[])]
            .concat()
    }

    fn shown(bytes: Vec<u8>) -> Result<String> {
        let task = Task::new();
        let mut book = XlsWorkbook::open(&task, &Source::memory("a.xls", bytes))?;
        let mut out = Gathered::default();
        book.cells(&task, 0, &mut out)?;
        let node = out.node(&task, None)?;
        let Some(Content::Table(table)) = node.content else { return Ok(String::new()) };
        let all: Vec<usize> = (0..table.schema().fields().len()).collect();
        let batch = table.read(&task, 0..9, &all)?;
        let cell = |column: &arrow::array::ArrayRef| crate::data::cell::text(column, 0).unwrap_or("∅".into());
        Ok(batch.columns().iter().map(cell).collect::<Vec<_>>().join("¦"))
    }

    #[test]
    fn cells_of_all_kinds() {
        let float = |value: f64| value.to_le_bytes().to_vec();
        let shared = [&[0u8; 8][..], b"\x02\0\0hi"].concat();
        let formats = [
            record(0x041e, b"\xa4\0\x05\0\0[h]:m"),
            record(0xe0, &[0; 4]),
            record(0xe0, b"\0\0\xa4\0"),
            record(0xfc, &shared),
        ];
        let formula = |column, result: &[u8; 8]| cell(6, column, &[&result[..], &[0; 8]].concat());
        let sheet = [
            cell(0x0203, 0, &float(1.5)),
            record(0xbd, b"\0\0\x01\0\0\0\x1a\0\0\0\0\0\x2a\0\0\0\x02\0"),
            cell(0x0205, 3, b"\x2a\x01"),
            cell(0x00fd, 4, &[0; 4]),
            cell(0x0204, 5, b"\x03\0\x01m\0p\0g\0"),
            formula(6, b"\0\0\0\0\0\0\xff\xff"),
            record(0x0207, b"\x04\0\0ab"),
            record(0x003c, b"\x01c\0d\0"),
            formula(7, b"\x01\0\x01\0\0\0\xff\xff"),
            record(0x0203, &[&b"\0\0\x08\0\x01\0"[..], &float(4.5)].concat()),
        ];
        let expected = "1.5¦6¦10¦#N/A¦hi¦mpg¦abcd¦true¦388800s";
        assert_eq!(shown(workbook(0x0600, &formats, &sheet)).unwrap(), expected);
    }

    #[test]
    fn texts_of_older_versions() {
        let page = |page: u16| record(0x42, &page.to_le_bytes());
        let label = cell(0x0204, 0, b"\x02\0\xcf\xf0");
        assert_eq!(shown(workbook(0x0500, &[page(1251)], &[label])).unwrap(), "Пр");
        let label = cell(0x0204, 0, b"\x06\0m\0p\0g\0");
        assert_eq!(shown(workbook(0x0500, &[page(1200)], &[label])).unwrap(), "mpg");
    }

    #[test]
    fn a_sheet_of_excel_2_stands_alone() {
        let sheet = [
            record(0x0009, &[2, 0, 0x10, 0]),
            record(0x0002, b"\0\0\0\0\0\0\0\x07\0"),
            record(0x0004, b"\0\0\x01\0\0\0\0\x02hi"),
            record(0x0003, &[&b"\0\0\x02\0\0\0\0"[..], &2.5f64.to_le_bytes()].concat()),
            record(0x0005, b"\0\0\x03\0\0\0\0\x01\0"),
            record(EOF, &[]),
        ];
        assert_eq!(shown(sheet.concat()).unwrap(), "7¦hi¦2.5¦true");
    }

    #[test]
    fn what_is_encrypted_or_missing_is_said() {
        let error = shown(workbook(0x0600, &[record(0x2f, &[0; 6])], &[])).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Unsupported);
        let mut bytes = workbook(0x0600, &[], &[cell(0x0203, 0, &[0; 8])]);
        bytes.truncate(bytes.len() - 4);
        assert!(shown(bytes).unwrap_err().to_string().contains("cut off"));
        assert!(shown(b"\0\0\0\0".to_vec()).is_err());
    }
}
