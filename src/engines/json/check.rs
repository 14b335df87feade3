//! One pass over everything: counts values and levels, and says what is wrong, what is unusual, and where.
//!
//! Values are counted as a parser that keeps one value a name sees them: of members with the same name in an
//! object the last counts, and how many were passed over is told beside.

use super::index::Document;
use super::walk::{Kind, Space, quoted, shown, space};
use super::window::Window;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::json::token::{self as text, Word};
use std::hash::Hasher;

/// The deepest nesting that is followed.
const DEEPEST: usize = 4 << 20;
/// Members of one object among which equal names are looked for.
const MEMBERS: usize = 4 << 20;

/// What stands in a document.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The kind of the value at the top.
    pub top: Option<Kind>,
    /// Its children: elements, or different names.
    pub length: u64,
    /// Values of every kind, the top included.
    pub values: u64,
    /// Levels: 1 for a scalar.
    pub depth: u64,
    /// Members that a later one of the same name replaces.
    pub replaced: u64,
    /// What breaks the text or is not allowed in it: the first thing.
    pub problem: Option<Error>,
    /// Whether that is that the text ends within a value.
    pub ends_early: bool,
    /// What is no JSON but read: each kind once, how often and where first.
    pub unusual: Vec<Unusual>,
}

/// Something that readers of plain JSON refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusual {
    /// In words.
    pub what: &'static str,
    /// How often.
    pub count: u64,
    /// The byte of the first one.
    pub at: u64,
}

/// Goes over the value at `start` and, where that is the document's beginning, what follows it; `Err` only for
/// what keeps the bytes from being read.
pub fn check(task: &Task, document: &Document, start: u64) -> Result<Summary> {
    let mut check = Check {
        document,
        window: Window::new(task, document.source(), start),
        summary: Summary::default(),
        stack: Vec::new(),
        members: Vec::new(),
        whole: start == document.start(),
        told: 0,
    };
    match check.run() {
        Ok(()) => {}
        Err(CheckEnd::Read(error)) => return Err(error),
        Err(CheckEnd::Broken { what, at, ends }) => {
            check.summary.ends_early = ends && check.summary.problem.is_none();
            check.summary.problem.get_or_insert_with(|| document.malformed(task, &what, at));
            check.close_all();
        }
    }
    Ok(check.summary)
}

enum CheckEnd {
    /// The bytes cannot be read.
    Read(Error),
    /// The text breaks here, or `ends` within a value.
    Broken { what: String, at: u64, ends: bool },
}

impl From<Error> for CheckEnd {
    fn from(error: Error) -> Self {
        CheckEnd::Read(error)
    }
}

type Done = std::result::Result<(), CheckEnd>;

/// A container that is open.
struct Level {
    object: bool,
    children: u64,
    /// Where its members begin among all that are open.
    members: usize,
}

struct Check<'a> {
    document: &'a Document,
    window: Window<'a>,
    summary: Summary,
    stack: Vec<Level>,
    /// Hash of a member's name, and how many values were counted before it.
    members: Vec<(u64, u64)>,
    whole: bool,
    told: u64,
}

impl Check<'_> {
    fn run(&mut self) -> Done {
        self.space()?;
        if self.window.peek()?.is_none() {
            return self.broken("there is no value, only white space");
        }
        self.value()?;
        while !self.stack.is_empty() {
            self.behind_value()?;
        }
        if self.whole {
            self.space()?;
            if let Some(byte) = self.window.peek()? {
                return self.broken(&format!("{} stands behind the end", shown(byte)));
            }
        }
        Ok(())
    }

    /// What follows a value (or an opening bracket) in a container, up to the next value or the end.
    fn behind_value(&mut self) -> Done {
        let Some(level) = self.stack.last() else { return Ok(()) };
        let (object, first) = (level.object, level.children == 0);
        let closing = if object { b'}' } else { b']' };
        self.space()?;
        let mut byte = self.window.peek()?;
        let mut comma = None;
        if byte == Some(b',') && !first {
            comma = Some(self.window.place());
            self.window.skip(1);
            self.space()?;
            byte = self.window.peek()?;
        }
        match byte {
            Some(byte) if byte == closing => {
                if let Some(at) = comma {
                    self.unusual("a comma before a closing bracket", at);
                }
                self.window.skip(1);
                self.close();
                Ok(())
            }
            Some(byte) if !first && comma.is_none() => {
                self.broken(&format!("',' or {:?} is expected, not {}", char::from(closing), shown(byte)))
            }
            Some(_) => {
                if object {
                    self.name()?;
                }
                self.value()
            }
            None => {
                let what = if object { "an object" } else { "an array" };
                self.ends(&format!("the text ends inside {what}; it may be cut off"), self.window.place())
            }
        }
    }

    fn name(&mut self) -> Done {
        match self.window.peek()? {
            Some(b'"') => {}
            Some(byte) => return self.broken(&format!("a name in quotes is expected, not {}", shown(byte))),
            None => return self.ends("the text ends where a name is expected", self.window.place()),
        }
        let hash = self.string(true)?;
        self.space()?;
        match self.window.peek()? {
            Some(b':') => self.window.skip(1),
            Some(byte) => return self.broken(&format!("':' is expected behind a name, not {}", shown(byte))),
            None => return self.ends("the text ends behind a name; it may be cut off", self.window.place()),
        }
        let begun = self.stack.last().map_or(0, |level| level.members);
        if self.members.len() - begun.min(self.members.len()) < MEMBERS {
            self.members.push((hash, self.summary.values));
        }
        self.space()
    }

    fn value(&mut self) -> Done {
        self.summary.values += 1;
        if let Some(level) = self.stack.last_mut() {
            level.children += 1;
        }
        self.summary.depth = self.summary.depth.max(self.stack.len() as u64 + 1);
        if self.summary.values & 0xffff == 0 {
            self.progress()?;
        }
        let place = self.window.place();
        let kind = match self.window.peek()? {
            Some(byte @ (b'{' | b'[')) => {
                if self.stack.len() >= DEEPEST {
                    return Err(CheckEnd::Read(Error::limit(format!("more than {DEEPEST} levels of JSON"))));
                }
                self.window.skip(1);
                let object = byte == b'{';
                self.stack.push(Level { object, children: 0, members: self.members.len() });
                if object { Kind::Object } else { Kind::Array }
            }
            Some(b'"') => {
                self.string(false)?;
                Kind::String
            }
            _ => self.word(place)?,
        };
        self.summary.top.get_or_insert(kind);
        Ok(())
    }

    fn word(&mut self, place: u64) -> std::result::Result<Kind, CheckEnd> {
        let mut len = text::word(self.window.rest());
        while len == self.window.rest().len() && !self.window.is_last() && self.window.more()? {
            len += text::word(self.window.rest().get(len..).unwrap_or_default());
        }
        let word = self.window.rest().get(..len).unwrap_or_default();
        let kind = match text::classify(word) {
            Word::Plain(kind) => kind,
            Word::NotFinite => {
                self.unusual("NaN or Infinity", place);
                Kind::Number
            }
            Word::Odd => {
                let words = format!("{} is no number of JSON", quoted(word, None));
                self.wrong(&words, place);
                Kind::Number
            }
            Word::No => {
                let next = self.window.rest().first().copied();
                let words = format!("a value is expected, not {}", quoted(word, next));
                // Not a value after all.
                self.summary.values -= 1;
                if let Some(level) = self.stack.last_mut() {
                    level.children -= 1;
                }
                return Err(CheckEnd::Broken { what: words, at: place, ends: false });
            }
        };
        self.window.skip(len);
        Ok(kind)
    }

    /// Goes over a string; the hash of its text where that is asked for.
    fn string(&mut self, hashed: bool) -> std::result::Result<u64, CheckEnd> {
        let place = self.window.place();
        let mut hasher = std::hash::DefaultHasher::new();
        if let Some(len) = text::string(self.window.rest()) {
            let raw = self.window.rest().get(1..len - 1).unwrap_or_default();
            let plain =
                simdutf8::basic::from_utf8(raw).is_ok() && raw.iter().all(|&b| b >= 0x20 && b != b'\\');
            let mut fault = None;
            match plain {
                true if hashed => hasher.write(raw),
                true => {}
                false => {
                    let (name, found) = text::unescape(raw);
                    fault = found;
                    hasher.write(name.as_bytes());
                }
            }
            self.window.skip(len);
            if let Some(fault) = fault {
                self.wrong(fault.what, place + 1 + fault.at as u64);
            }
            return Ok(hasher.finish());
        }
        self.long_string(place, &mut hasher)?;
        Ok(hasher.finish())
    }

    /// A string that does not end in what is here: piece by piece.
    fn long_string(&mut self, place: u64, hasher: &mut impl Hasher) -> Done {
        self.window.skip(1);
        loop {
            let (len, ended) = piece(self.window.rest(), self.window.is_last());
            let (text, fault) = text::unescape(self.window.rest().get(..len).unwrap_or_default());
            hasher.write(text.as_bytes());
            let from = self.window.place();
            if let Some(fault) = fault {
                self.wrong(fault.what, from + fault.at as u64);
            }
            self.window.skip(len);
            if ended {
                self.window.skip(1);
                return Ok(());
            }
            self.progress()?;
            if !self.window.more()? {
                return self.ends("the text ends inside a string; it may be cut off", place);
            }
        }
    }

    fn space(&mut self) -> Done {
        match space(&mut self.window)? {
            Space::Plain => Ok(()),
            Space::Comment(at) => {
                self.unusual("a comment", at);
                Ok(())
            }
            Space::Open(at) => self.ends("the text ends inside a comment", at),
        }
    }

    /// The innermost container ends.
    fn close(&mut self) {
        let Some(level) = self.stack.pop() else { return };
        let mut length = level.children;
        if level.object {
            let members = self.members.get(level.members..).unwrap_or_default();
            let replaced = replaced(members, self.summary.values);
            if replaced.0 > 0 {
                length -= replaced.0;
                self.summary.values -= replaced.1;
                self.summary.replaced += replaced.0;
            }
            self.members.truncate(level.members);
        }
        if self.stack.is_empty() {
            self.summary.length = length;
        }
    }

    fn close_all(&mut self) {
        while !self.stack.is_empty() {
            self.close();
        }
    }

    fn broken(&self, what: &str) -> Done {
        Err(CheckEnd::Broken { what: what.to_owned(), at: self.window.place(), ends: false })
    }

    fn ends(&self, what: &str, at: u64) -> Done {
        Err(CheckEnd::Broken { what: what.to_owned(), at, ends: true })
    }

    /// Something that is wrong but hides nothing.
    fn wrong(&mut self, what: &str, at: u64) {
        if self.summary.problem.is_none() {
            self.summary.problem = Some(self.document.malformed(self.window.task(), what, at));
        }
    }

    fn unusual(&mut self, what: &'static str, at: u64) {
        match self.summary.unusual.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += 1,
            None => self.summary.unusual.push(Unusual { what, count: 1, at }),
        }
    }

    fn progress(&mut self) -> Result<()> {
        let place = self.window.place();
        let task = self.window.task();
        task.advance(place.saturating_sub(self.told))?;
        self.told = place;
        Ok(())
    }
}

/// How many of these bytes of a string can be looked at alone, and whether it ends behind them: neither an
/// escape nor a character is torn apart.
fn piece(rest: &[u8], last: bool) -> (usize, bool) {
    let (mut at, mut escape) = (0, None);
    while let Some(found) = memchr::memchr2(b'"', b'\\', rest.get(at..).unwrap_or_default()) {
        at += found;
        if rest.get(at) == Some(&b'"') {
            return (at, true);
        }
        escape = Some(at);
        at += 2;
    }
    let whole = rest.len();
    match escape {
        _ if last => (whole, false),
        Some(begin) if begin + 12 > whole => (begin, false),
        _ => {
            let torn = rest.iter().rev().take(3).position(|&b| b >= 0xc0);
            (whole - torn.map_or(0, |n| n + 1), false)
        }
    }
}

/// How many members are replaced by a later one of the same name, and how many values are in them. `values` is
/// the count at the object's end.
fn replaced(members: &[(u64, u64)], values: u64) -> (u64, u64) {
    let unique = match members {
        [] | [_] => true,
        few if few.len() <= 8 => {
            few.iter().enumerate().all(|(n, a)| few.iter().skip(n + 1).all(|b| a.0 != b.0))
        }
        many => {
            let mut hashes: Vec<u64> = many.iter().map(|member| member.0).collect();
            hashes.sort_unstable();
            hashes.iter().zip(hashes.iter().skip(1)).all(|(a, b)| a != b)
        }
    };
    if unique {
        return (0, 0);
    }
    let mut seen = std::collections::HashSet::new();
    let (mut count, mut inside, mut end) = (0, 0, values);
    for &(hash, before) in members.iter().rev() {
        if !seen.insert(hash) {
            count += 1;
            inside += end - before;
        }
        end = before;
    }
    (count, inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use proptest::prelude::*;

    fn of(bytes: &[u8]) -> Summary {
        let task = Task::new();
        let document = Document::new(&task, &Source::memory("t", bytes.to_vec())).unwrap();
        check(&task, &document, document.start()).unwrap()
    }

    fn problem(text: &str) -> String {
        of(text.as_bytes()).problem.map_or(String::new(), |p| p.to_string())
    }

    #[test]
    fn counts_of_values_and_levels() {
        let count = |text: &str| {
            let s = of(text.as_bytes());
            assert!(s.problem.is_none(), "{text}: {:?}", s.problem);
            (s.top.unwrap().word(), s.length, s.values, s.depth, s.replaced)
        };
        assert_eq!(count("{\"a\": [1, {\"b\": null}], \"c\": \"x\"}"), ("object", 2, 6, 4, 0));
        assert_eq!(count(" \"x\" "), ("string", 0, 1, 1, 0));
        assert_eq!(count("[]"), ("array", 0, 1, 1, 0));
        assert_eq!(count("{\"a\": [1, 2], \"\\u0061\": 2, \"b\": 0}"), ("object", 2, 3, 3, 1));
        assert_eq!(
            count(&format!("[{}]", vec!["[7]"; 100_000].join(","))),
            ("array", 100_000, 200_001, 3, 0)
        );
    }

    #[test]
    fn problems_and_what_is_unusual() {
        assert_eq!(
            problem("[1] x"),
            "malformed JSON: 'x' stands behind the end, in line 1, column 5 (at byte 4)"
        );
        assert_eq!(
            problem("  \n"),
            "malformed JSON: there is no value, only white space, in line 2, column 1 (at byte 3)"
        );
        assert_eq!(
            problem("[1,\n \"é\", 012]"),
            "malformed JSON: \"012\" is no number of JSON, in line 2, column 7 (at byte 11)"
        );
        assert!(problem("[\"\n\"]").contains("a control character stands in a string"));
        assert!(problem("[1}").contains("',' or ']' is expected, not '}'"));
        assert!(problem(&"[".repeat(200_000)).contains("ends inside an array"));
        let s = of(b"[NaN, // c\n -Infinity, 1,]");
        assert!(s.problem.is_none());
        let names: Vec<_> = s.unusual.iter().map(|u| (u.what, u.count, u.at)).collect();
        let comma = ("a comma before a closing bracket", 1, 24);
        assert_eq!(names, [("NaN or Infinity", 2, 1), ("a comment", 1, 6), comma]);
    }

    #[test]
    fn long_strings_go_by_pieces() {
        let text = format!("[\"{}\\\\\\\"{}\", 2]", "é\\\"".repeat(400_000), "\\u00e9".repeat(200_000));
        let s = of(text.as_bytes());
        assert_eq!((s.values, s.length, s.problem), (3, 2, None));
        assert!(problem(&format!("[\"{}", "x".repeat(2 << 20))).contains("ends inside a string"));
        assert!(problem(&format!("[\"{}\u{1}\"]", "x".repeat(2 << 20))).contains("control character"));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_summary(bytes in prop::collection::vec(prop::sample::select(b"\"\\{}[],:/* \n1-a\xc3u0tn".to_vec()), 0..200)) {
            let ours = of(&bytes);
            let serde = serde_json::from_slice::<Loose>(&bytes).is_ok();
            if serde && simdutf8::basic::from_utf8(&bytes).is_ok() {
                prop_assert!(ours.problem.is_none(), "{:?}", ours.problem);
            } else if ours.problem.is_none() {
                // Read by us and not by serde_json: only with what is unusual, or half pairs.
                prop_assert!(!ours.unusual.is_empty() || bytes.contains(&b'u'), "{}", String::from_utf8_lossy(&bytes));
            }
        }
    }

    /// Any value, nothing kept.
    type Loose = serde::de::IgnoredAny;
}
