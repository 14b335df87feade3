//! The lines of a text that are in memory, read in pages by a job, and how a line is drawn.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Color32, Galley, Ui};
use gander::content::Text;
use gander::error::{Error, Result};
use gander::jobs::{Jobs, Slot};
use gander::task::Task;

use super::find::Pattern;
use crate::gui::theme::{Theme, mono_font};

/// Lines of a page.
const PAGE: u64 = 128;
/// Bytes that are kept.
const LIMIT: usize = 48 << 20;
/// Of a longer line only so many characters are drawn.
pub(super) const DRAWN: usize = 4000;
/// The most bytes that are copied.
const COPIED: usize = 256 << 20;

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

struct Page {
    lines: Vec<String>,
    bytes: usize,
    used: u64,
}

/// The lines in memory.
pub(super) struct Lines {
    text: Arc<Text>,
    name: String,
    pages: HashMap<u64, Page>,
    bytes: usize,
    frame: u64,
    /// Lines, and how many the text had when they were read. That is no part of the key: while lines are
    /// counted it changes with each frame, and the job would be begun anew each time.
    slot: Slot<Range<u64>, (u64, Vec<String>)>,
    error: Option<Error>,
    /// One beyond the last line that was read.
    known: u64,
    /// The text had so many lines when a page turned out to be short.
    short_of: Option<u64>,
}

impl Lines {
    pub(super) fn new(text: Arc<Text>, name: &str) -> Self {
        Lines {
            text,
            name: name.to_owned(),
            pages: HashMap::new(),
            bytes: 0,
            frame: 0,
            slot: Slot::default(),
            error: None,
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

    pub(super) fn cancel(&self) {
        self.slot.cancel();
    }

    pub(super) fn line(&self, line: u64) -> Option<&str> {
        self.pages.get(&(line / PAGE))?.lines.get((line % PAGE) as usize).map(String::as_str)
    }

    pub(super) fn is_there(&self, line: u64) -> bool {
        self.line(line).is_some()
    }

    /// How many characters of a line are drawn.
    pub(super) fn characters(&self, line: u64) -> usize {
        self.line(line).map_or(0, |text| text.chars().take(DRAWN).count())
    }

    /// Reads what is missing of these lines.
    pub(super) fn want(&mut self, jobs: &Jobs, lines: Range<u64>) {
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
        self.error = None;
        let Some(missing) = missing else { return };
        let (text, wanted) = (self.text.clone(), missing.clone());
        let title = format!("lines of {}", self.name);
        let shown = self.slot.get(jobs, &missing, &title, move |task| {
            let total = text.lines().number();
            Ok((total, text.read(task, wanted.start * PAGE..wanted.end * PAGE)?))
        });
        self.error = shown.error.filter(|error| !error.is_cancelled());
        if let Some(read) = shown.value.filter(|_| shown.fresh) {
            self.keep(missing, &read.1, read.0);
            // What had fewer lines than there are by now is read anew.
            self.slot.clear();
        }
    }

    fn keep(&mut self, pages: Range<u64>, read: &[String], total: u64) {
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
            let bytes = lines.iter().map(|line| line.len() + 24).sum();
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
        let text = drawn(self.line(line).unwrap_or_default());
        let mut job = LayoutJob::default();
        let characters: Vec<char> = text.chars().collect();
        let selected = marks.selection.map_or(0..0, |(from, to)| selected(line, from, to, characters.len()));
        let found = marks.found.map_or(Vec::new(), |pattern| pattern.all(&text));
        let back = |index: usize| {
            if selected.contains(&index) {
                theme.selection
            } else if found.iter().any(|range| range.contains(&index)) {
                theme.tint(theme.warn).lerp_to_gamma(theme.warn, 0.25)
            } else {
                Color32::TRANSPARENT
            }
        };
        let mut start = 0;
        while start < characters.len() {
            let background = back(start);
            let mut end = start + 1;
            while end < characters.len() && back(end) == background {
                end += 1;
            }
            let part: String = characters[start..end].iter().collect();
            let format =
                TextFormat { font_id: mono_font(), color: theme.text, background, ..Default::default() };
            job.append(&part, 0.0, format);
            start = end;
        }
        if characters.is_empty() {
            job.append("", 0.0, TextFormat { font_id: mono_font(), ..Default::default() });
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

/// A line as it is drawn: each character stays one character.
pub(super) fn drawn(line: &str) -> String {
    let mut out = String::with_capacity(line.len().min(DRAWN));
    let mut characters = line.chars();
    for character in characters.by_ref().take(DRAWN) {
        out.push(match character {
            '\t' => '\t',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            other if other.is_control() => '\u{fffd}',
            other => other,
        });
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The text from one place to another, read anew: the lines in memory may be cut.
pub(super) fn copied(text: &Text, task: &Task, from: Place, to: Place) -> Result<String> {
    const STEP: u64 = 4096;
    let mut out = String::new();
    let mut at = from.line;
    task.expect(to.line - from.line + 1);
    while at <= to.line {
        let end = (at + STEP).min(to.line + 1);
        let lines = text.read(task, at..end)?;
        for (index, line) in lines.iter().enumerate() {
            let number = at + index as u64;
            let count = line.chars().count();
            // A long line is selected to its end where its last drawn character is.
            let to = if to.character >= DRAWN { Place { character: usize::MAX, ..to } } else { to };
            let range = selected(number, from, to, count);
            out.extend(line.chars().skip(range.start).take(range.end - range.start));
            if number < to.line {
                out.push('\n');
            }
        }
        if out.len() > COPIED {
            return Err(Error::limit(format!("more than {COPIED} bytes to copy. Export them instead")));
        }
        if lines.is_empty() {
            break;
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(drawn(&"x".repeat(DRAWN + 1)).chars().count(), DRAWN + 1);
    }
}
