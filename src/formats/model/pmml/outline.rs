//! The outline of a document, found by one pass: where the elements of models, segments, lists and trees lie, and what
//! attributes they have. Rows of lists are only counted, with the columns that they have; of what lies in other elements
//! nothing is kept.

use super::Text;
use super::skip;
use super::terms::{self, Role};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Reader;
use crate::bytes::task::Task;
use crate::data::infer::Guess;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

/// How deep elements may lie.
pub(super) const DEPTH: usize = 4_096;
/// The most elements of an outline, the most pieces of lists, and the most bytes of attributes that are kept.
const ENTRIES: usize = 1 << 20;
const PIECES: usize = 1 << 20;
const KEPT: usize = 64 << 20;
/// The most attributes of an element.
const ATTRIBUTES: usize = 256;
/// The most columns of a list.
const COLUMNS: usize = 2_000;
/// Bytes of a piece of a list.
const PIECE: u64 = 512 << 10;
/// Rows by which the types of columns are told.
const SAMPLE: u64 = 200;
/// The longest tag or text.
const LONGEST: usize = 64 << 20;
/// Elements between two looks at the task.
const CHECK: u64 = 4_096;

/// What a document holds.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The elements, the root first.
    pub(super) entries: Vec<Entry>,
    /// The document type, as it stands there: it may declare entities.
    pub(super) doctype: String,
    /// What is wrong.
    pub(super) problem: Option<Error>,
}

/// An element of the outline, or a list of rows.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Its name, without a prefix; of a list that of its rows.
    pub(super) name: String,
    /// Its attributes, without those of namespaces.
    pub(super) attributes: Vec<(String, String)>,
    /// Its bytes.
    pub(super) span: Range<u64>,
    /// The elements and lists in it.
    pub(super) below: Vec<u32>,
    /// The lists among them: a few.
    lists: Vec<u32>,
    /// The rows, of a list.
    pub(super) rows: Option<Rows>,
    /// Whether it is parsed as a whole.
    pub(super) is_part: bool,
}

/// Rows of a list.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// How many there are.
    pub(super) count: u64,
    /// Where they lie, together.
    pub(super) pieces: Vec<Piece>,
    /// Their columns.
    pub(super) columns: Vec<Column>,
    /// The columns by their origins.
    places: HashMap<Origin, usize>,
    /// The last one that was found, since rows are alike.
    last: usize,
    /// Whether there were more columns than are kept.
    pub(super) is_cut: bool,
}

/// Rows that stand together.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The number of the first one.
    pub(super) first: u64,
    /// Their bytes.
    pub(super) span: Range<u64>,
}

/// Where the cells of a column come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// The name of the row's element.
    Element,
    /// An attribute.
    Attribute(String),
    /// Elements in it (see [`terms::column`]).
    Parts(String),
    /// Its text.
    Text,
}

/// A column of a list.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) origin: Origin,
    pub(super) guess: Guess,
}

impl Rows {
    /// The column of an origin, which is made where there is none.
    fn column(&mut self, origin: Origin) -> Option<usize> {
        let next = self.last.wrapping_add(1);
        let known = if self.columns.get(next).is_some_and(|column| column.origin == origin) {
            Some(next)
        } else {
            self.places.get(&origin).copied()
        };
        if let Some(known) = known {
            self.last = known;
            return Some(known);
        }
        if self.columns.len() >= COLUMNS {
            self.is_cut = true;
            return None;
        }
        self.last = self.columns.len();
        self.places.insert(origin.clone(), self.last);
        self.columns.push(Column { origin, guess: Guess::new() });
        Some(self.last)
    }

    fn see(&mut self, column: Option<usize>, cell: &str) {
        if self.count <= SAMPLE
            && let Some(column) = column.and_then(|column| self.columns.get_mut(column))
        {
            column.guess.see(cell);
        }
    }
}

/// A reader that gives so many bytes and no more until it is told to go on: a single text cannot fill the memory.
pub(super) struct Bounded {
    inner: Reader,
    left: usize,
}

impl Bounded {
    /// From byte `at` of a text.
    pub(super) fn new(task: &Task, text: &Text, at: u64) -> Result<Self> {
        let mut inner = text.source.reader(task);
        inner.seek(SeekFrom::Start(at))?;
        Ok(Bounded { inner, left: LONGEST })
    }

    /// Gives so many bytes again.
    pub(super) fn go_on(&mut self) {
        self.left = LONGEST;
    }
}

impl Read for Bounded {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.left == 0 {
            return Err(std::io::Error::other(format!("a tag or a text of more than {LONGEST} bytes")));
        }
        let left = self.left;
        let bytes = self.inner.fill_buf()?;
        Ok(bytes.get(..left).unwrap_or(bytes))
    }

    /// May be more than what was looked at.
    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
        let to = self.inner.position().saturating_add(amount as u64);
        // A step to a place of the text cannot fail.
        let _ = self.inner.seek(SeekFrom::Start(to));
    }
}

/// The attributes of a tag, without those of namespaces, as far as they are right.
pub(super) fn attributes(tag: &BytesStart<'_>) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for attribute in tag.attributes() {
        // Whether one is there twice is looked up among all before it.
        if found.len() >= ATTRIBUTES {
            return Err(Error::limit(format!("{}: more than {ATTRIBUTES} attributes", tag.name().as_ref())));
        }
        let attribute =
            attribute.map_err(|error| Error::malformed(format!("{}: {error}", tag.name().as_ref())))?;
        let name = attribute.key.as_ref();
        if name != "xmlns" && !name.starts_with("xmlns:") {
            found.push((name.to_owned(), unescaped(&attribute.value)));
        }
    }
    Ok(found)
}

/// A text with what its references to characters stand for; others stay as they stand.
pub(super) fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    match quick_xml::escape::unescape(text) {
        Ok(plain) => plain.into_owned(),
        Err(_) => text.to_owned(),
    }
}

/// What an open element is.
#[derive(Clone, Copy, Debug)]
enum Open {
    Container(u32),
    Part(u32),
    Row(u32),
    Cell(u32, Option<usize>),
    Inside,
}

struct Walk {
    outline: Outline,
    open: Vec<Open>,
    kept: usize,
    pieces: usize,
    elements: u64,
}

/// The outline of a text.
///
/// # Errors
/// `Cancelled`, and those of reading its first bytes; what is wrong further on is the outline's problem.
pub(super) fn outline(task: &Task, text: &Text) -> Result<Outline> {
    let mut reader = quick_xml::Reader::from_reader(Bounded::new(task, text, text.start)?);
    reader.config_mut().check_end_names = true;
    reader.config_mut().expand_empty_elements = true;
    let mut walk = Walk { outline: Outline::default(), open: Vec::new(), kept: 0, pieces: 0, elements: 0 };
    let mut buffer = Vec::new();
    if let Some(len) = text.source.known_len() {
        task.set_total(len);
    }
    loop {
        let before = text.start.saturating_add(reader.buffer_position());
        buffer.clear();
        reader.get_mut().go_on();
        let event = reader.read_event_into(&mut buffer);
        // The reader hides that the work was cancelled.
        if walk.elements.is_multiple_of(CHECK) || event.is_err() {
            task.check()?;
            task.reached(before);
        }
        let is_start = matches!(event, Ok(Event::Start(_)));
        let taken = match event {
            Ok(Event::Eof) => break,
            Ok(event) => walk.take(&event, before),
            Err(error) => {
                let at = text.start.saturating_add(reader.error_position());
                Err(Error::malformed(format!("XML: {error}")).at(at))
            }
        };
        let after = text.start.saturating_add(reader.buffer_position());
        match taken {
            Ok(true) => walk.close(after),
            Ok(false) if is_start && walk.is_in_part() => {
                let behind = walk.part_end(task, text, after)?;
                let step = usize::try_from(behind.saturating_sub(after)).unwrap_or(0);
                reader.stream().consume(step);
            }
            Ok(false) => {}
            Err(error) => {
                walk.outline.problem = Some(error);
                break;
            }
        }
    }
    let end = text.start.saturating_add(reader.buffer_position());
    Ok(walk.finish(end))
}

impl Walk {
    /// Whether the innermost element is one that the outline does not look into.
    fn is_in_part(&self) -> bool {
        matches!(self.open.last(), Some(Open::Part(_)))
    }

    /// How far what is in a part may be passed over, whose start tag ends at `at`.
    fn part_end(&self, task: &Task, text: &Text, at: u64) -> Result<u64> {
        // An empty element has no end tag.
        let last = text.source.read(task, at.saturating_sub(2)..at)?;
        if last.as_ref() == b"/>" {
            return Ok(at);
        }
        let end = skip::end_tag(task, &text.source, at, DEPTH.saturating_sub(self.open.len()))?;
        Ok(end.unwrap_or(at))
    }

    /// Takes an event that begins at `at`; true where an element is to be closed behind it.
    fn take(&mut self, event: &Event<'_>, at: u64) -> Result<bool> {
        match event {
            Event::Start(tag) => self.start(tag, at).map(|()| false),
            Event::End(_) => Ok(true),
            Event::Text(text) => {
                let text: &str = text.as_ref();
                self.text(text);
                Ok(false)
            }
            Event::DocType(text) => {
                let text: &str = text.as_ref();
                if (text.len() as u64) < limits::CHUNK >> 14 {
                    self.outline.doctype = format!("<!DOCTYPE {text}>");
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    fn text(&mut self, text: &str) {
        let (at, column) = match self.open.last() {
            Some(Open::Cell(at, column)) => (*at, *column),
            Some(Open::Row(at)) if !text.trim().is_empty() => (*at, None),
            _ => return,
        };
        let Some(rows) = self.outline.entries.get_mut(at as usize).and_then(|entry| entry.rows.as_mut())
        else {
            return;
        };
        let column =
            if matches!(self.open.last(), Some(Open::Row(_))) { rows.column(Origin::Text) } else { column };
        rows.see(column, text);
    }

    fn start(&mut self, tag: &BytesStart<'_>, at: u64) -> Result<()> {
        self.elements += 1;
        if self.open.len() >= DEPTH {
            return Err(Error::limit(format!("XML: elements more than {DEPTH} deep")).at(at));
        }
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let next = match self.open.last().copied() {
            None if !self.outline.entries.is_empty() => {
                return Err(Error::malformed("XML: a second element stands behind the first one").at(at));
            }
            None if name != "PMML" => {
                return Err(Error::malformed(format!("the root element is {name:?}, not PMML")).at(at));
            }
            None => Open::Container(self.entry(name, tag, at, None)?),
            Some(Open::Container(parent)) => self.within(parent, name, tag, at)?,
            Some(Open::Row(list)) => {
                let row = self.outline.entries.get_mut(list as usize);
                let kind = row.as_ref().map_or("", |entry| entry.name.as_str());
                let column = terms::column(kind, name);
                let rows = row.and_then(|entry| entry.rows.as_mut());
                Open::Cell(list, rows.and_then(|rows| rows.column(Origin::Parts(column))))
            }
            Some(Open::Part(_) | Open::Cell(..) | Open::Inside) => Open::Inside,
        };
        self.open.push(next);
        Ok(())
    }

    /// An element in an element of the outline.
    fn within(&mut self, parent: u32, name: &str, tag: &BytesStart<'_>, at: u64) -> Result<Open> {
        let holder = self.outline.entries.get(parent as usize).map_or("", |entry| entry.name.as_str());
        match terms::role(holder, name) {
            Role::Container => Ok(Open::Container(self.entry(name, tag, at, Some(parent))?)),
            Role::Part => {
                let number = self.entry(name, tag, at, Some(parent))?;
                if let Some(entry) = self.outline.entries.get_mut(number as usize) {
                    entry.is_part = true;
                }
                Ok(Open::Part(number))
            }
            Role::Row(list) => {
                let number = self.list(parent, list)?;
                self.row(number, name, tag, at)?;
                Ok(Open::Row(number))
            }
        }
    }

    /// The list of this name in an element, which is made where there is none yet.
    fn list(&mut self, parent: u32, name: &'static str) -> Result<u32> {
        let entries = &self.outline.entries;
        let lists = entries.get(parent as usize).map_or(&[][..], |entry| &entry.lists);
        let is_it = |number: &&u32| entries.get(**number as usize).is_some_and(|entry| entry.name == name);
        if let Some(known) = lists.iter().find(is_it) {
            return Ok(*known);
        }
        let rows = Some(Rows::default());
        let number = self.push(Entry { name: name.to_owned(), rows, ..Entry::default() }, Some(parent))?;
        if let Some(parent) = self.outline.entries.get_mut(parent as usize) {
            parent.lists.push(number);
        }
        Ok(number)
    }

    fn row(&mut self, list: u32, name: &str, tag: &BytesStart<'_>, at: u64) -> Result<()> {
        if self.pieces >= PIECES {
            return Err(Error::limit(format!("lists of more than {PIECES} pieces")).at(at));
        }
        let Some(entry) = self.outline.entries.get_mut(list as usize) else { return Ok(()) };
        let is_mixed = entry.name == terms::MIXED;
        let Some(rows) = entry.rows.as_mut() else { return Ok(()) };
        // Rows with something else between them do not stand together.
        let follows = rows.pieces.last().is_some_and(|piece| {
            piece.span.end.saturating_sub(piece.span.start) < PIECE && entry.span.end == piece.span.end
        });
        let is_gap = rows.pieces.last().is_some_and(|piece| at.saturating_sub(piece.span.end) > 4_096);
        if !follows || is_gap {
            rows.pieces.push(Piece { first: rows.count, span: at..at });
            self.pieces += 1;
        }
        rows.count += 1;
        if is_mixed {
            rows.last = usize::MAX;
            let column = rows.column(Origin::Element);
            rows.see(column, name);
        } else {
            rows.last = usize::MAX;
        }
        for attribute in attributes(tag).map_err(|error| error.at(at))? {
            let column = rows.column(Origin::Attribute(attribute.0));
            rows.see(column, &attribute.1);
        }
        Ok(())
    }

    fn entry(&mut self, name: &str, tag: &BytesStart<'_>, at: u64, parent: Option<u32>) -> Result<u32> {
        let attributes = attributes(tag).map_err(|error| error.at(at))?;
        self.kept += attributes.iter().map(|(name, value)| name.len() + value.len() + 48).sum::<usize>();
        if self.kept > KEPT {
            return Err(Error::limit(format!("attributes of models of more than {KEPT} bytes")).at(at));
        }
        self.push(Entry { name: name.to_owned(), attributes, span: at..at, ..Entry::default() }, parent)
    }

    fn push(&mut self, entry: Entry, parent: Option<u32>) -> Result<u32> {
        let number = self.outline.entries.len();
        if number >= ENTRIES {
            return Err(Error::limit(format!("a document of more than {ENTRIES} parts")).at(entry.span.start));
        }
        self.outline.entries.push(entry);
        let number = number as u32;
        if let Some(above) = parent.and_then(|parent| self.outline.entries.get_mut(parent as usize)) {
            above.below.push(number);
        }
        Ok(number)
    }

    /// Closes the innermost element, which ends at `end`.
    fn close(&mut self, end: u64) {
        let Some(open) = self.open.pop() else { return };
        let (Open::Container(number) | Open::Part(number) | Open::Row(number)) = open else { return };
        let Some(entry) = self.outline.entries.get_mut(number as usize) else { return };
        entry.span.end = end;
        if let Some(piece) = entry.rows.as_mut().and_then(|rows| rows.pieces.last_mut()) {
            piece.span.end = end;
        }
    }

    fn finish(mut self, end: u64) -> Outline {
        let inner = self.open.iter().rev().find_map(|open| match open {
            Open::Container(number) | Open::Part(number) | Open::Row(number) => Some(*number),
            _ => None,
        });
        if let Some(entry) = inner.and_then(|number| self.outline.entries.get(number as usize))
            && self.outline.problem.is_none()
        {
            let what = format!("XML: it ends within the element {:?}", entry.name);
            self.outline.problem = Some(Error::malformed(what).at(entry.span.start));
        }
        // A row that is cut off is none; other elements are shown as far as they go.
        while let Some(open) = self.open.pop() {
            match open {
                Open::Row(number) => self.drop_row(number),
                Open::Container(number) | Open::Part(number) => {
                    if let Some(entry) = self.outline.entries.get_mut(number as usize) {
                        entry.span.end = end.max(entry.span.start);
                    }
                }
                Open::Cell(..) | Open::Inside => {}
            }
        }
        self.outline
    }

    fn drop_row(&mut self, number: u32) {
        let rows = self.outline.entries.get_mut(number as usize).and_then(|entry| entry.rows.as_mut());
        let Some(rows) = rows else { return };
        rows.count = rows.count.saturating_sub(1);
        if rows.pieces.last().is_some_and(|piece| piece.first >= rows.count) {
            rows.pieces.pop();
        }
    }
}
