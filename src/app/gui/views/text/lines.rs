//! The lines of a text that are in memory, read in pages by a job, and how a line is drawn.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Color32, Galley, Ui};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Text;
use gander::data::content::text::{LONGEST, Line};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::find::Pattern;
use crate::gui::theme::{Theme, mono_font};

/// Lines of a page.
const PAGE: u64 = 128;
/// Bytes that are kept.
const LIMIT: usize = 48 << 20;
/// Of a longer line so many characters are drawn at a time, in one row.
const ROW: usize = 4000;
/// The same where lines are wrapped: all of what is in memory of a line.
const WRAPPED: usize = LONGEST;
/// Of a longer line nothing behind so many bytes is drawn or found.
pub(super) const REACHED: usize = 32 << 20;
/// The most bytes of a line that are read in full in a dialog.
const READ: usize = 16 << 20;
/// The most bytes that are copied.
pub(super) const COPIED: usize = 256 << 20;
/// Stands before what is drawn of a line where that is not its beginning.
const BEFORE: &str = "… ";
/// Stands behind what is drawn of a line where that is not its end.
const BEHIND: &str = " … [the line goes on]";
/// Characters before the one for which a later part of a line is drawn.
const AROUND: usize = 1000;

/// A place in a text: a line, and a character in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) character: usize,
}

/// What is marked in lines.
pub(super) struct Marks<'a> {
    pub(super) selection: Option<(Place, Place)>,
    pub(super) found: Option<&'a Pattern>,
}

/// The part of a line that is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// The character of the line with which it begins.
    pub(super) start: usize,
    /// One beyond its last character.
    pub(super) end: usize,
    /// Whether the line goes on behind it.
    pub(super) more: bool,
}

impl Piece<'_> {
    fn before(&self) -> &'static str {
        if self.start > 0 { BEFORE } else { "" }
    }

    /// The character of the line that stands at this index of what is drawn.
    pub(super) fn character(&self, index: usize) -> usize {
        (self.start + index.saturating_sub(self.before().chars().count())).min(self.end)
    }

    /// Where a character of the line stands in what is drawn.
    pub(super) fn index(&self, character: usize) -> usize {
        self.before().chars().count() + self.within(character)
    }

    fn within(&self, character: usize) -> usize {
        character.clamp(self.start, self.end) - self.start
    }
}

/// A later part of a long line, which is drawn instead of its beginning.
struct Later {
    line: u64,
    start: usize,
    /// Its text, and whether the line goes on behind it, once they are there.
    text: Option<Arc<(String, bool)>>,
}

/// How a stretch of a line is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Plain,
    Found,
    Selected,
}

struct Page {
    lines: Vec<Line>,
    bytes: usize,
    used: u64,
}

/// The lines in memory.
pub(super) struct Lines {
    text: Arc<dyn Text>,
    name: String,
    pages: HashMap<u64, Page>,
    bytes: usize,
    frame: u64,
    /// Lines, and how many the text had when they were read. That is no part of the key: while lines are
    /// counted it changes with each frame, and the job would be begun anew each time.
    slot: Slot<Range<u64>, (u64, Vec<Line>)>,
    error: Option<Error>,
    later: Option<Later>,
    later_slot: Slot<(u64, usize), (String, bool)>,
    /// How many characters of a line are drawn at a time.
    most: usize,
    /// One beyond the last line that was read.
    known: u64,
    /// The text had so many lines when a page turned out to be short.
    short_of: Option<u64>,
}

impl Lines {
    pub(super) fn new(text: Arc<dyn Text>, name: &str) -> Self {
        Lines {
            text,
            name: name.to_owned(),
            pages: HashMap::new(),
            bytes: 0,
            frame: 0,
            slot: Slot::default(),
            error: None,
            later: None,
            later_slot: Slot::default(),
            most: ROW,
            known: 0,
            short_of: None,
        }
    }

    pub(super) fn known(&self) -> u64 {
        self.known
    }

    /// Why the lines in sight could not be read.
    pub(super) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether lines are wrapped: then more of a long one is drawn at a time.
    pub(super) fn set_wrap(&mut self, wrap: bool) {
        self.most = if wrap { WRAPPED } else { ROW };
    }

    /// What is drawn of a line, if it is in memory.
    pub(super) fn piece(&self, line: u64) -> Option<Piece<'_>> {
        let (text, start, more) = match &self.later {
            Some(later) if later.line == line => {
                let (text, more) = later.text.as_deref()?;
                (text.as_str(), later.start, *more)
            }
            _ => {
                let line = self.pages.get(&(line / PAGE))?.lines.get((line % PAGE) as usize)?;
                (line.text.as_str(), 0, line.left_out > 0)
            }
        };
        let cut = text.char_indices().nth(self.most).map(|(at, _)| at);
        let text = &text[..cut.unwrap_or(text.len())];
        let more = more || cut.is_some();
        Some(Piece { text, start, end: start + text.chars().count(), more })
    }

    pub(super) fn is_there(&self, line: u64) -> bool {
        self.piece(line).is_some()
    }

    /// Whether only a part of the line is drawn.
    pub(super) fn is_long(&self, line: u64) -> bool {
        self.later.as_ref().is_some_and(|later| later.line == line)
            || self.piece(line).is_some_and(|piece| piece.more)
    }

    /// One beyond the last character of a line that can be selected; of a long line its end, wherever that is.
    pub(super) fn characters(&self, line: u64) -> usize {
        self.piece(line).map_or(0, |piece| if piece.more { usize::MAX } else { piece.end })
    }

    /// Draws the part of a long line in which a character lies.
    pub(super) fn turn_to(&mut self, place: Place) {
        self.begin_at(place.line, place.character.saturating_sub(AROUND));
    }

    /// Draws the next or the previous part of a long line; false where there is none.
    pub(super) fn step(&mut self, line: u64, on: bool) -> bool {
        let Some(piece) = self.piece(line) else { return false };
        let (start, end, more) = (piece.start, piece.end, piece.more);
        let there = if on { more && end > start } else { start > 0 };
        if there {
            self.begin_at(line, if on { end } else { start.saturating_sub(self.most) });
        }
        there
    }

    fn begin_at(&mut self, line: u64, start: usize) {
        self.later = (start > 0).then_some(Later { line, start, text: None });
    }

    /// Reads the later part of a line that is to be drawn.
    fn want_later(&mut self, jobs: &Jobs) {
        let Some(later) = self.later.as_mut().filter(|later| later.text.is_none()) else { return };
        let (text, line, start) = (self.text.clone(), later.line, later.start);
        let title = format!("a line of {}", self.name);
        let shown = self.later_slot.get(jobs, &(line, start), JobSpec::view(title), move |task| {
            part(text.as_ref(), task, line, start)
        });
        later.text = shown.ready();
        self.error = shown.error.clone().or(self.error.take());
    }

    /// Reads what is missing of these lines.
    pub(super) fn want(&mut self, jobs: &Jobs, lines: Range<u64>) {
        self.error = None;
        self.want_pages(jobs, lines);
        self.want_later(jobs);
    }

    fn want_pages(&mut self, jobs: &Jobs, lines: Range<u64>) {
        self.frame += 1;
        let total = self.text.lines();
        let end = total.exact().map_or(lines.end.max(1), |exact| lines.end.min(exact));
        let mut missing: Option<Range<u64>> = None;
        for number in lines.start / PAGE..end.div_ceil(PAGE) {
            let there = self.pages.get_mut(&number).is_some_and(|page| {
                page.used = self.frame;
                let expected = total.number().saturating_sub(number * PAGE).min(PAGE);
                page.lines.len() as u64 >= expected || self.short_of == Some(total.number())
            });
            if !there {
                missing = Some(missing.map_or(number, |m| m.start)..number + 1);
            }
        }
        let Some(missing) = missing else { return };
        let (text, wanted) = (self.text.clone(), missing.clone());
        let title = format!("lines of {}", self.name);
        let shown = self.slot.get(jobs, &missing, JobSpec::view(title), move |task| {
            let total = text.lines().number();
            Ok((total, text.beginnings(task, wanted.start * PAGE..wanted.end * PAGE)?))
        });
        self.error = shown.error.clone();
        if let Some(read) = shown.ready() {
            self.keep(missing, &read.1, read.0);
            // What had fewer lines than there are by now is read anew.
            self.slot.clear();
        }
    }

    fn keep(&mut self, pages: Range<u64>, read: &[Line], total: u64) {
        for (at, number) in pages.enumerate() {
            let start = (at * PAGE as usize).min(read.len());
            let end = (start + PAGE as usize).min(read.len());
            let lines = read[start..end].to_vec();
            if (lines.len() as u64) < PAGE {
                self.short_of = Some(total);
            }
            if !lines.is_empty() {
                self.known = self.known.max(number * PAGE + lines.len() as u64);
            }
            let bytes = lines.iter().map(|line| line.text.len() + 32).sum();
            self.bytes += bytes;
            if let Some(old) = self.pages.insert(number, Page { lines, bytes, used: self.frame }) {
                self.bytes -= old.bytes;
            }
        }
        if self.bytes > LIMIT {
            let mut ages: Vec<(u64, u64)> =
                self.pages.iter().map(|(page, kept)| (kept.used, *page)).collect();
            ages.sort_unstable();
            for (used, page) in ages {
                if self.bytes <= LIMIT / 2 || used >= self.frame {
                    break;
                }
                self.bytes -= self.pages.remove(&page).map_or(0, |kept| kept.bytes);
            }
        }
    }

    /// A line laid out with its marks.
    pub(super) fn galley(
        &self,
        ui: &Ui,
        theme: &Theme,
        line: u64,
        width: f32,
        marks: &Marks<'_>,
    ) -> Arc<Galley> {
        let mut job = LayoutJob::default();
        let format = |color: Color32, background: Color32| TextFormat {
            font_id: mono_font(),
            color,
            background,
            ..Default::default()
        };
        if let Some(piece) = self.piece(line) {
            let text = drawn(piece.text);
            let chosen = marks.selection.map_or(0..0, |(from, to)| selected(line, from, to, usize::MAX));
            let chosen = piece.within(chosen.start)..piece.within(chosen.end);
            let found = marks.found.map_or(Vec::new(), |pattern| pattern.all(&text));
            if piece.start > 0 {
                job.append(piece.before(), 0.0, format(theme.dim, Color32::TRANSPARENT));
            }
            for (part, mark) in marked(&text, &chosen, &found) {
                let background = match mark {
                    Mark::Plain => Color32::TRANSPARENT,
                    Mark::Found => theme.found(),
                    Mark::Selected => theme.selection,
                };
                job.append(part, 0.0, format(theme.text, background));
            }
            if piece.more {
                job.append(BEHIND, 0.0, format(theme.dim, Color32::TRANSPARENT));
            }
        }
        if job.is_empty() {
            job.append("", 0.0, format(theme.text, Color32::TRANSPARENT));
        }
        job.break_on_newline = false;
        job.wrap = TextWrapping { max_width: width, break_anywhere: true, ..Default::default() };
        ui.painter().layout_job(job)
    }
}

/// The characters of a line that are selected.
fn selected(line: u64, from: Place, to: Place, count: usize) -> Range<usize> {
    if line < from.line || line > to.line {
        return 0..0;
    }
    let start = if line == from.line { from.character.min(count) } else { 0 };
    let end = if line == to.line { to.character.min(count) } else { count };
    start..end.max(start)
}

/// A text in stretches that are marked alike; `selected` and `found`, which stands in order, in characters.
fn marked<'a>(text: &'a str, selected: &Range<usize>, found: &[Range<usize>]) -> Vec<(&'a str, Mark)> {
    let mut out = Vec::new();
    let mut found = found.iter().peekable();
    let (mut begin, mut last) = (0, Mark::Plain);
    for (index, (at, _)) in text.char_indices().enumerate() {
        while found.next_if(|range| range.end <= index).is_some() {}
        let mark = if selected.contains(&index) {
            Mark::Selected
        } else if found.peek().is_some_and(|range| range.contains(&index)) {
            Mark::Found
        } else {
            Mark::Plain
        };
        if mark != last && at > begin {
            out.push((&text[begin..at], last));
            begin = at;
        }
        last = mark;
    }
    if begin < text.len() {
        out.push((&text[begin..], last));
    }
    out
}

/// A text as it is drawn: each character stays one character.
fn drawn(text: &str) -> String {
    let plain = |character: char| match character {
        '\t' => '\t',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other if other.is_control() => '\u{fffd}',
        other => other,
    };
    text.chars().map(plain).collect()
}

/// The characters of a line from `start` on that are drawn at most, and whether it goes on behind them.
fn part(text: &dyn Text, task: &Task, line: u64, start: usize) -> Result<(String, bool)> {
    // A character has four bytes at most.
    let longest = start.saturating_add(WRAPPED + 1).saturating_mul(4).min(REACHED);
    let mut found = (String::new(), false);
    text.each(task, line, longest, &mut |_, line| {
        let mut characters = line.text.chars().skip(start);
        found.0 = characters.by_ref().take(WRAPPED).collect();
        found.1 = characters.next().is_some() || line.left_out > 0;
        Ok(false)
    })?;
    Ok(found)
}

/// A line as far as it is read in full in a dialog.
pub(super) fn whole(text: &dyn Text, task: &Task, line: u64) -> Result<Line> {
    let mut found = Line::default();
    text.each(task, line, READ, &mut |_, line| {
        found = line;
        Ok(false)
    })?;
    Ok(found)
}

/// The text from one place to another, at most `most` bytes, read anew: the lines in memory may be cut.
///
/// # Errors
/// `Limit` where it is more: half of what was selected is never copied.
pub(super) fn copied(text: &dyn Text, task: &Task, from: Place, to: Place, most: usize) -> Result<String> {
    let too_much = || {
        let most = gander::bytes::display::bytes(most as u64);
        Error::limit(format!("more than {most} to copy. Export them instead"))
    };
    let mut out = String::new();
    task.set_total(to.line - from.line + 1);
    text.each(task, from.line, most, &mut |number, line| {
        let range = selected(number, from, to, usize::MAX);
        out.extend(line.text.chars().skip(range.start).take(range.end - range.start));
        let ends_in_it = range.end <= line.text.chars().count();
        if out.len() > most || (line.left_out > 0 && !ends_in_it) {
            return Err(too_much());
        }
        if number < to.line {
            out.push('\n');
        }
        task.advance(1)?;
        Ok(number < to.line)
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gander::engines::delimited::PlainText;

    #[test]
    fn a_selection_covers_parts_of_its_first_and_last_line() {
        let (from, to) = (Place { line: 2, character: 3 }, Place { line: 4, character: 1 });
        assert_eq!(selected(1, from, to, 9), 0..0);
        assert_eq!(selected(2, from, to, 9), 3..9);
        assert_eq!(selected(3, from, to, 9), 0..9);
        assert_eq!(selected(4, from, to, 9), 0..1);
    }

    #[test]
    fn lines_are_drawn_without_tricks() {
        assert_eq!(drawn("a\u{202e}b\0"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn marks_part_a_text() {
        let parts = marked("äbcdef", &(1..3), &[0..2, 4..5]);
        let marks = [Mark::Found, Mark::Selected, Mark::Plain, Mark::Found, Mark::Plain];
        assert_eq!(parts, ["ä", "bc", "d", "e", "f"].into_iter().zip(marks).collect::<Vec<_>>());
        assert!(marked("", &(0..0), &[]).is_empty());
    }

    fn long() -> PlainText {
        // 300,000 characters in 600,000 bytes, between two short lines.
        let text = format!("one\n{}\nthree", "é".repeat(300_000));
        PlainText::new(gander::bytes::source::Source::memory("t", text), encoding_rs::UTF_8)
    }

    #[test]
    fn all_of_a_long_line_is_copied_and_nothing_else() {
        let (text, task) = (long(), Task::new());
        let place = |line, character| Place { line, character };
        let whole = copied(&text, &task, place(0, 1), place(2, 2), COPIED).unwrap();
        assert_eq!(whole, format!("ne\n{}\nth", "é".repeat(300_000)));
        let stretch = copied(&text, &task, place(1, 5), place(1, 200_000), COPIED).unwrap();
        assert_eq!(stretch.chars().count(), 199_995);
        // What is too much is refused as a whole, and what is not far into such a line is not.
        assert!(copied(&text, &task, place(1, 0), place(1, usize::MAX), 1 << 16).is_err());
        assert_eq!(copied(&text, &task, place(1, 0), place(1, 2), 1 << 16).unwrap(), "éé");
    }

    #[test]
    fn every_part_of_a_long_line_can_be_had() {
        let (text, task) = (long(), Task::new());
        assert_eq!(part(&text, &task, 1, 299_990).unwrap(), ("é".repeat(10), false));
        let (middle, more) = part(&text, &task, 1, 100_000).unwrap();
        assert_eq!((middle.chars().count(), more), (WRAPPED, true));
        assert_eq!(super::whole(&text, &task, 1).unwrap().text.chars().count(), 300_000);
        let piece = Piece { text: "cde", start: 2, end: 5, more: true };
        assert_eq!((piece.index(3), piece.character(3), piece.character(99)), (3, 3, 5));
    }
}
