//! Data elements: tags, value representations and where their values lie (PS3.5, section 7), and their values as text.
//!
//! Only headers are walked. A sequence is walked through to find its end where that is not written, and its items are
//! read when somebody looks into it.

use super::text::Repertoire;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Group and element.
pub(super) type Tag = (u16, u16);

/// What begins an item of a sequence, or a fragment of encapsulated pixels,
pub(super) const ITEM: Tag = (0xfffe, 0xe000);
/// ends an item whose length is not written,
const ITEM_END: Tag = (0xfffe, 0xe00d);
/// and ends a sequence whose length is not written.
pub(super) const SEQUENCE_END: Tag = (0xfffe, 0xe0dd);
/// The length that says that an end is marked instead.
const UNDEFINED: u32 = u32::MAX;
/// Elements that are walked in one file, those of nested sequences included.
const ELEMENTS: usize = 4_000_000;
/// Elements of one data set that are listed.
const LISTED: usize = 20_000;
/// Sequences may lie so deep in each other.
const DEPTH: usize = 64;
/// Bytes of a value that are shown.
const SHOWN: u64 = 4_096;

/// Tag, representation and keyword of the elements of PS3.6; `x` stands for any digit.
const DICTIONARY: &str = include_str!("elements.tsv");
/// Names of unique identifiers.
const UIDS: &str = include_str!("uids.tsv");

static BY_TAG: LazyLock<HashMap<&str, (&str, &str)>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let mut fields = line.split('\t');
        Some((fields.next()?, (fields.next()?, fields.next()?)))
    };
    DICTIONARY.lines().filter_map(line).collect()
});

static BY_UID: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| UIDS.lines().filter_map(|line| line.split_once('\t')).collect());

/// The name of a transfer syntax or of a class of objects.
pub(super) fn name_of_uid(uid: &str) -> Option<&'static str> {
    BY_UID.get(uid).copied()
}

/// The representation and the keyword of a tag.
fn known(tag: Tag) -> Option<(&'static str, &'static str)> {
    let hex = format!("{:04x}{:04x}", tag.0, tag.1);
    if let Some(found) = BY_TAG.get(hex.as_str()) {
        return Some(*found);
    }
    // Groups of overlays and curves repeat: 60xx, 50xx.
    let repeated = hex.get(..2).zip(hex.get(4..)).map(|(group, element)| format!("{group}xx{element}"));
    repeated.and_then(|hex| BY_TAG.get(hex.as_str()).copied())
}

/// The name of an element: its tag, and its keyword where it has one.
pub(super) fn name(tag: Tag) -> String {
    let number = format!("({:04X},{:04X})", tag.0, tag.1);
    match known(tag) {
        Some((_, keyword)) => format!("{number} {keyword}"),
        None if tag.1 == 0 => format!("{number} GroupLength"),
        None if tag.0 % 2 == 1 && (0x10..=0xff).contains(&tag.1) => format!("{number} PrivateCreator"),
        None => number,
    }
}

/// How elements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coding {
    /// Whether representations are written.
    pub(super) explicit: bool,
    pub(super) big: bool,
}

impl Coding {
    pub(super) const EXPLICIT: Coding = Coding { explicit: true, big: false };
    pub(super) const IMPLICIT: Coding = Coding { explicit: false, big: false };

    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        crate::bytes::numbers::ordered(self.big, bytes, at)
    }

    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        crate::bytes::numbers::ordered(self.big, bytes, at)
    }

    fn tag(self, bytes: &[u8]) -> Option<Tag> {
        Some((self.u16(bytes, 0)?, self.u16(bytes, 2)?))
    }
}

/// An element of a data set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    pub(super) tag: Tag,
    pub(super) vr: [u8; 2],
    /// Where its value lies; the end is within the file.
    pub(super) value: Range<u64>,
    /// Whether its end is marked, not written as a length.
    pub(super) delimited: bool,
    /// Whether its items are written without representations although the others are not.
    pub(super) coding: Coding,
}

impl Element {
    pub(super) fn is_sequence(&self) -> bool {
        self.vr == *b"SQ"
    }
}

/// Walks the elements of a file.
pub(super) struct Walk<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
    len: u64,
    walked: usize,
    /// Why the walk ended before the end, if it did.
    pub(super) problem: Option<Error>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(task: &'a Task, source: &'a Source) -> Result<Self> {
        Ok(Walk { task, source, len: source.len(task)?, walked: 0, problem: None })
    }

    /// The elements from `at` to `end`, or to the mark of an item's end, and where they end. `until` is asked before
    /// each whether the walk is to stop.
    pub(super) fn elements(
        &mut self,
        range: Range<u64>,
        coding: Coding,
        until: &dyn Fn(Tag) -> bool,
    ) -> Result<(Vec<Element>, u64)> {
        let mut found = Vec::new();
        let end = self.each(range, coding, 0, &mut |element| {
            if until(element.tag) {
                return false;
            }
            if found.len() < LISTED {
                found.push(element.clone());
            }
            true
        })?;
        Ok((found, end))
    }

    /// Calls `visit` with each element; where the elements end.
    fn each(
        &mut self,
        range: Range<u64>,
        coding: Coding,
        depth: usize,
        visit: &mut dyn FnMut(&Element) -> bool,
    ) -> Result<u64> {
        let (mut at, end) = (range.start, range.end.min(self.len));
        while at < end && self.problem.is_none() {
            let Some((element, next)) = self.element(at, end, coding, depth)? else { return Ok(end) };
            if element.tag == ITEM_END {
                return Ok(next);
            }
            if element.tag == SEQUENCE_END {
                return Ok(at);
            }
            if !visit(&element) {
                // What is wrong with an element that is another's is not told here.
                self.problem = None;
                return Ok(at);
            }
            at = next;
        }
        Ok(at)
    }

    /// The element at `at`, and where the next one is; `None` for what is too short for one.
    fn element(&mut self, at: u64, end: u64, coding: Coding, depth: usize) -> Result<Option<(Element, u64)>> {
        self.count()?;
        let head = self.source.read_up_to(self.task, at, 12)?;
        let (Some(tag), Some(mut len)) = (coding.tag(&head), coding.u32(&head, 4)) else {
            // Some writers pad the end with zeros.
            if head.iter().any(|byte| *byte != 0) {
                self.cut(at, "an element begins and does not end");
            }
            return Ok(None);
        };
        // Zeros up to the end are no elements.
        if tag == (0, 0) && len == 0 && head.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (mut vr, mut start) = (implied(tag), at + 8);
        let written = head.get(4..6).filter(|vr| vr.iter().all(u8::is_ascii_uppercase));
        // Delimiters have no representation, and some writers mix both ways.
        if let Some(&[a, b]) = written.filter(|_| coding.explicit && tag.0 != 0xfffe) {
            vr = [a, b];
            if has_long_length(vr) {
                let Some(long) = coding.u32(&head, 8) else {
                    self.cut(at, "an element begins and does not end");
                    return Ok(None);
                };
                (len, start) = (long, at + 12);
            } else {
                len = coding.u16(&head, 6).unwrap_or(0).into();
            }
        }
        let is_pixels = matches!(tag, (0x7fe0, 8..=0x10));
        let mut element = Element { tag, vr, value: start..start, delimited: false, coding };
        if len == UNDEFINED && tag.0 != 0xfffe {
            element.delimited = true;
            if is_pixels && vr != *b"SQ" {
                // Fragments; who reads pixels walks them.
                element.value.end = end;
                let next = self.fragments_end(start, end, coding)?;
                element.value.end = next;
                return Ok(Some((element, next)));
            }
            // An unknown representation of a marked length is a sequence without representations (CP-246).
            if vr == *b"UN" {
                element.coding = Coding::IMPLICIT;
            }
            element.vr = *b"SQ";
            let next = self.sequence_end(start, end, element.coding, depth)?;
            element.value.end = next;
            return Ok(Some((element, next)));
        }
        let len = if len == UNDEFINED { 0 } else { u64::from(len) };
        let value_end = start.saturating_add(len);
        if value_end > end {
            self.cut(
                start,
                &format!("{} says {len} bytes, {} are there", name(tag), end.saturating_sub(start)),
            );
        }
        element.value.end = value_end.min(end).max(start);
        let next = element.value.end;
        Ok(Some((element, next)))
    }

    fn count(&mut self) -> Result<()> {
        self.walked += 1;
        if self.walked.is_multiple_of(4_096) {
            self.task.check()?;
        }
        match self.walked > ELEMENTS {
            true => Err(Error::limit(format!("DICOM: more than {ELEMENTS} data elements"))),
            false => Ok(()),
        }
    }

    fn cut(&mut self, at: u64, what: &str) {
        let what = format!("DICOM: {what}; the file may be cut off");
        let problem = Error::malformed(what).with_defect(crate::bytes::error::Defect::Truncated).at(at);
        self.problem.get_or_insert(problem);
    }

    /// The items of a sequence: where their elements lie.
    pub(super) fn items(&mut self, element: &Element) -> Result<Vec<Range<u64>>> {
        let mut found = Vec::new();
        let range = element.value.clone();
        self.walk_items(range, element.coding, 0, &mut |item| {
            if found.len() < limits::LISTED as usize {
                found.push(item);
            }
        })?;
        Ok(found)
    }

    /// Behind the end of a sequence whose end is marked.
    fn sequence_end(&mut self, at: u64, end: u64, coding: Coding, depth: usize) -> Result<u64> {
        self.walk_items(at..end, coding, depth, &mut |_| {})
    }

    fn walk_items(
        &mut self,
        range: Range<u64>,
        coding: Coding,
        depth: usize,
        visit: &mut dyn FnMut(Range<u64>),
    ) -> Result<u64> {
        if depth >= DEPTH {
            return Err(Error::limit(format!("DICOM: sequences more than {DEPTH} deep in each other"))
                .at(range.start));
        }
        let (mut at, end) = (range.start, range.end.min(self.len));
        while at + 8 <= end && self.problem.is_none() {
            self.count()?;
            let head = self.source.read_up_to(self.task, at, 8)?;
            let (tag, len) = (coding.tag(&head), coding.u32(&head, 4).unwrap_or(0));
            match tag {
                Some(SEQUENCE_END) => return Ok(at + 8),
                Some(ITEM) if len == UNDEFINED => {
                    let next = self.each(at + 8..end, coding, depth + 1, &mut |_| true)?;
                    visit(at + 8..next);
                    at = next;
                }
                Some(ITEM) => {
                    let next = (at + 8).saturating_add(len.into());
                    if next > end {
                        self.cut(at, &format!("an item says {len} bytes, {} are there", end - at - 8));
                    }
                    visit(at + 8..next.min(end));
                    at = next.min(end);
                }
                _ => {
                    let what = "DICOM: something else stands where an item of a sequence should";
                    self.problem.get_or_insert(Error::malformed(what).at(at));
                }
            }
        }
        Ok(at.min(end))
    }

    /// Behind the end of encapsulated pixels.
    fn fragments_end(&mut self, start: u64, end: u64, coding: Coding) -> Result<u64> {
        let mut at = start;
        while at + 8 <= end {
            self.count()?;
            let head = self.source.read_up_to(self.task, at, 8)?;
            match coding.tag(&head) {
                Some(ITEM) => at = (at + 8).saturating_add(coding.u32(&head, 4).unwrap_or(0).into()),
                Some(SEQUENCE_END) => return Ok(at + 8),
                _ => break,
            }
        }
        self.cut(at.min(end), "the fragments of its pixels have no end");
        Ok(at.min(end))
    }

    /// The bytes of a value, up to so many.
    pub(super) fn bytes(&self, element: &Element, most: u64) -> Result<bytes::Bytes> {
        let len = element.value.end - element.value.start;
        self.source.read_up_to(self.task, element.value.start, len.min(most) as usize)
    }

    /// Whole numbers of a value: of its representation, or of its text.
    pub(super) fn numbers(&self, element: &Element) -> Result<Vec<f64>> {
        let bytes = self.bytes(element, limits::HEADER)?;
        let c = element.coding;
        let each = |size: usize, number: &dyn Fn(&[u8]) -> Option<f64>| {
            bytes.chunks_exact(size).filter_map(number).collect::<Vec<f64>>()
        };
        Ok(match &element.vr {
            b"US" | b"OW" => each(2, &|b| c.u16(b, 0).map(f64::from)),
            b"SS" => each(2, &|b| c.u16(b, 0).map(|n| f64::from(n as i16))),
            b"UL" | b"OL" => each(4, &|b| c.u32(b, 0).map(f64::from)),
            b"SL" => each(4, &|b| c.u32(b, 0).map(|n| f64::from(n as i32))),
            b"FL" | b"OF" => each(4, &|b| c.u32(b, 0).map(|n| f64::from(f32::from_bits(n)))),
            b"FD" | b"OD" => each(8, &|b| wide(c, b).map(f64::from_bits)),
            b"UV" | b"OV" => each(8, &|b| wide(c, b).map(|n| n as f64)),
            b"IS" | b"DS" => {
                let text = String::from_utf8_lossy(&bytes);
                text.split('\\').filter_map(|part| part.trim_matches([' ', '\0']).parse().ok()).collect()
            }
            _ => Vec::new(),
        })
    }

    /// A value in words.
    pub(super) fn words(&self, element: &Element, repertoire: &Repertoire) -> Result<String> {
        let len = element.value.end - element.value.start;
        let bytes = self.bytes(element, SHOWN)?;
        let c = element.coding;
        let list = |size: usize, word: &dyn Fn(&[u8]) -> Option<String>| {
            let words: Vec<String> = bytes.chunks_exact(size).filter_map(word).collect();
            words.join("\\")
        };
        let mut text = match &element.vr {
            b"US" => list(2, &|b| c.u16(b, 0).map(|n| n.to_string())),
            b"SS" => list(2, &|b| c.u16(b, 0).map(|n| (n as i16).to_string())),
            b"UL" => list(4, &|b| c.u32(b, 0).map(|n| n.to_string())),
            b"SL" => list(4, &|b| c.u32(b, 0).map(|n| (n as i32).to_string())),
            b"FL" => list(4, &|b| c.u32(b, 0).map(|n| cell::float32(f32::from_bits(n)))),
            b"FD" => list(8, &|b| wide(c, b).map(|n| cell::float64(f64::from_bits(n)))),
            b"UV" => list(8, &|b| wide(c, b).map(|n| n.to_string())),
            b"SV" => list(8, &|b| wide(c, b).map(|n| (n as i64).to_string())),
            b"AT" => list(4, &|b| c.tag(b).map(|tag| format!("({:04X},{:04X})", tag.0, tag.1))),
            b"OB" | b"OW" | b"OL" | b"OV" | b"OF" | b"OD" | b"UN" => {
                let text = std::str::from_utf8(&bytes).unwrap_or_default().trim_end_matches([' ', '\0']);
                let is_text = element.vr == *b"UN"
                    && !text.is_empty()
                    && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
                if is_text {
                    return Ok(text.to_owned());
                }
                return Ok(match len {
                    0 => String::new(),
                    1..=16 => cell::hex(&bytes),
                    len => format!("{len} bytes"),
                });
            }
            b"UI" => {
                let uid = String::from_utf8_lossy(&bytes).trim_end_matches([' ', '\0']).to_owned();
                match name_of_uid(&uid) {
                    Some(name) => return Ok(format!("{uid} ({name})")),
                    None => uid,
                }
            }
            vr => {
                repertoire.decode(&bytes, matches!(vr, b"PN" | b"LO" | b"SH" | b"LT" | b"ST" | b"UC" | b"UT"))
            }
        };
        if len > SHOWN {
            text.push_str(&format!("… ({len} bytes)"));
        }
        Ok(text)
    }
}

fn wide(coding: Coding, bytes: &[u8]) -> Option<u64> {
    crate::bytes::numbers::ordered(coding.big, bytes, 0)
}

/// Whether an explicit element has its length in 32 bits behind two reserved bytes (PS3.5, table 7.1-1).
fn has_long_length(vr: [u8; 2]) -> bool {
    matches!(
        &vr,
        b"OB" | b"OD" | b"OF" | b"OL" | b"OV" | b"OW" | b"SQ" | b"SV" | b"UC" | b"UN" | b"UR" | b"UT" | b"UV"
    )
}

/// The representation of an element that does not write it.
fn implied(tag: Tag) -> [u8; 2] {
    if tag.1 == 0 {
        return *b"UL";
    }
    if let Some((vr, _)) = known(tag) {
        return vr.as_bytes().first_chunk().copied().unwrap_or(*b"UN");
    }
    if tag.0 % 2 == 1 && (0x10..=0xff).contains(&tag.1) { *b"LO" } else { *b"UN" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_names() {
        assert_eq!(name((0x0010, 0x0010)), "(0010,0010) PatientName");
        assert_eq!(name((0x6002, 0x3000)), "(6002,3000) OverlayData");
        assert_eq!(name((0x0009, 0x0010)), "(0009,0010) PrivateCreator");
        assert_eq!(name((0x0009, 0x1001)), "(0009,1001)");
        assert_eq!(implied((0x7fe0, 0x0010)), *b"OW");
        assert_eq!(name_of_uid("1.2.840.10008.1.2.5"), Some("RLE Lossless"));
    }

    #[test]
    fn sequences_that_nest_without_end_are_an_error() {
        let mut bytes = Vec::new();
        for _ in 0..1_000 {
            bytes.extend(*b"\x08\x00\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff");
        }
        let (task, source) = (Task::new(), Source::memory("deep", bytes));
        let mut walk = Walk::new(&task, &source).unwrap();
        let end = source.len(&task).unwrap();
        let error = walk.elements(0..end, Coding::EXPLICIT, &|_| false).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit, "{error}");
    }
}
