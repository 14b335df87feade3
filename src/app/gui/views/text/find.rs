//! Finding in a text: by a job, from the selection on, around the end; with or without case.

use std::ops::Range;
use std::sync::Arc;

use egui::{Key, TextEdit, Ui};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Text;
use gander::jobs::{JobSpec, Slot};

use super::lines::{Place, REACHED};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme;
use crate::gui::ui::keys;
use crate::gui::views::ViewCx;
use crate::gui::views::keys::FOUND_KEYS;

/// Lines that are read at a time on the way back.
const STEP: u64 = 4096;

/// The widths of the field, and of the buttons beside it.
const LEAST: f32 = 80.0;
const MOST: f32 = 166.0;
const BUTTONS: f32 = 126.0;

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    characters: Vec<char>,
    case: bool,
}

impl Pattern {
    fn new(text: &str, case: bool) -> Self {
        Pattern { characters: text.chars().map(|c| folded(c, case)).collect(), case }
    }

    /// Every place in a line, in characters.
    pub(super) fn all(&self, line: &str) -> Vec<Range<usize>> {
        let characters: Vec<char> = line.chars().map(|c| folded(c, self.case)).collect();
        let len = self.characters.len();
        if len == 0 || len > characters.len() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut at = 0;
        while at + len <= characters.len() {
            if characters[at..at + len] == self.characters[..] {
                found.push(at..at + len);
                at += len;
            } else {
                at += 1;
            }
        }
        found
    }
}

/// One character for one, so that places in the folded text are places in the text.
fn folded(character: char, case: bool) -> char {
    if case { character } else { character.to_lowercase().next().unwrap_or(character) }
}

/// A question: what, from where, and which way.
type Asked = (Pattern, Place, bool);

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    place: Option<(Place, Place)>,
    /// The end of a very long line was not looked at.
    cut: bool,
}

/// The state of the field.
#[derive(Default)]
pub(super) struct Find {
    text: String,
    case: bool,
    focus: bool,
    pattern: Option<Pattern>,
    asked: Option<Asked>,
    slot: Slot<Asked, Found>,
    /// What was looked for last, and all places of it.
    counted: Option<Pattern>,
    count: Slot<Pattern, Count>,
}

/// All places of what is looked for, as far as they are kept.
#[derive(Clone, Debug, Default, PartialEq)]
struct Count {
    places: Vec<Place>,
    total: u64,
}

/// So many places are kept.
const PLACES: usize = 100_000;

impl Find {
    /// Puts the cursor into the field.
    pub(super) fn focus(&mut self) {
        self.focus = true;
    }

    /// What is marked in the lines in sight.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// Draws the field; what was found.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        text: &Arc<dyn Text>,
        from: Place,
    ) -> Option<(Place, Place)> {
        // The keys do what the buttons do, where there is no room for these.
        let buttons = ui.available_width() >= LEAST + BUTTONS;
        let left = ui.available_width() - if buttons { BUTTONS } else { 0.0 };
        let width = left.clamp(LEAST, MOST) - 16.0;
        let edit = TextEdit::singleline(&mut self.text)
            .id(ui.make_persistent_id("find"))
            .hint_text("Find")
            .desired_width(width)
            .margin(egui::Margin::symmetric(8, 5));
        let field = ui.add(edit);
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find in the text"));
        if std::mem::take(&mut self.focus) {
            field.request_focus();
        }
        let case = buttons
            && ui
                .selectable_label(self.case, "Aa")
                .on_hover_text("Tell capitals from small letters")
                .clicked();
        self.case ^= case;
        if field.changed() || case {
            self.pattern = (!self.text.is_empty()).then(|| Pattern::new(&self.text, self.case));
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let back = entered && ui.input(|input| input.modifiers.shift);
        let pressed = if cx.active { keys::taken(ui, FOUND_KEYS) } else { Vec::new() };
        let button = |ui: &mut Ui, icon, words| buttons && theme::icon_button(ui, icon, words).clicked();
        let previous = button(ui, Icon::ArrowUp, "Find previous (Shift+F3)") || pressed.contains(&false);
        let next = button(ui, Icon::ArrowDown, "Find next (F3)") || pressed.contains(&true);
        if entered {
            field.request_focus();
        }
        if (entered || previous || next)
            && let Some(pattern) = &self.pattern
        {
            self.asked = Some((pattern.clone(), from, !(back || previous)));
            self.counted = Some(pattern.clone());
            self.slot.clear();
        }
        let found = self.take(ui, cx, text);
        self.say_count(ui, cx, text, found.map_or(from, |(start, _)| start));
        found
    }

    /// `3 of 57`: which of all places stands at the cursor.
    fn say_count(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, text: &Arc<dyn Text>, at: Place) {
        let Some(pattern) = self.counted.clone().filter(|pattern| self.pattern.as_ref() == Some(pattern))
        else {
            return;
        };
        let (from, wanted) = (text.clone(), pattern.clone());
        let shown =
            self.count.get(cx.jobs, &pattern, JobSpec::scan("counting what was found"), move |task| {
                count(from.as_ref(), task, &wanted)
            });
        let words = match shown.ready() {
            Some(count) => count.words(at),
            None if shown.runs() => "…".to_owned(),
            None => return,
        };
        if ui.available_width() > 7.0 * words.chars().count() as f32 {
            ui.label(theme::dim(theme::Theme::of(ui), words));
        }
    }

    fn take(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, text: &Arc<dyn Text>) -> Option<(Place, Place)> {
        let asked = self.asked.clone()?;
        let (from, wanted) = (text.clone(), asked.clone());
        let shown = self.slot.get(cx.jobs, &asked, JobSpec::scan("finding text"), move |task| {
            find(from.as_ref(), task, &wanted)
        });
        if shown.pending.is_some() {
            if theme::icon_button(ui, Icon::Stop, "Stop finding").clicked() {
                self.slot.cancel();
            }
            return None;
        }
        self.asked = None;
        match (shown.ready(), shown.error) {
            (Some(found), _) => {
                if found.place.is_none() {
                    let words = format!("{} is not in this text", self.text);
                    let most = gander::bytes::display::bytes(REACHED as u64);
                    cx.actions.push(Action::Notice(match found.cut {
                        true => format!("{words}, as far as the first {most} of each line go"),
                        false => words,
                    }));
                }
                found.place
            }
            (None, Some(error)) => {
                cx.actions.push(Action::Notice(error.message()));
                None
            }
            (None, None) => None,
        }
    }
}

impl Count {
    fn words(&self, at: Place) -> String {
        let total = gander::bytes::display::count(self.total);
        match self.places.binary_search(&at) {
            Ok(n) => format!("{} of {total}", gander::bytes::display::count(n as u64 + 1)),
            Err(_) => format!("{total} found"),
        }
    }
}

/// Goes through all of a text.
fn count(text: &dyn Text, task: &Task, pattern: &Pattern) -> Result<Count> {
    task.set_total(text.lines().number());
    let mut count = Count::default();
    text.each(task, 0, REACHED, &mut |number, line| {
        for range in pattern.all(&line.text) {
            count.total += 1;
            if count.places.len() < PLACES {
                count.places.push(Place { line: number, character: range.start });
            }
        }
        task.advance(1)?;
        Ok(true)
    })?;
    Ok(count)
}

fn find(text: &dyn Text, task: &Task, asked: &Asked) -> Result<Found> {
    let (pattern, from, forward) = asked;
    let total = text.lines().number();
    task.set_total(total);
    let mut cut = false;
    let found = if *forward {
        match ahead(text, task, pattern, from.line..u64::MAX, Some(*from), &mut cut)? {
            None => ahead(text, task, pattern, 0..from.line + 1, None, &mut cut)?,
            found => found,
        }
    } else {
        match behind(text, task, pattern, 0, *from, &mut cut)? {
            None => {
                let end = Place { line: text.count(task)?, character: 0 };
                behind(text, task, pattern, from.line, end, &mut cut)?
            }
            found => found,
        }
    };
    let place = found
        .map(|(line, range)| (Place { line, character: range.start }, Place { line, character: range.end }));
    Ok(Found { place, cut })
}

type Hit = Option<(u64, Range<usize>)>;

/// The first place in these lines, behind `after`. `cut` is set where a line is too long to be read to its end.
fn ahead(
    text: &dyn Text,
    task: &Task,
    pattern: &Pattern,
    lines: Range<u64>,
    after: Option<Place>,
    cut: &mut bool,
) -> Result<Hit> {
    let mut hit = None;
    if lines.is_empty() {
        return Ok(hit);
    }
    text.each(task, lines.start, REACHED, &mut |number, line| {
        *cut |= line.left_out > 0;
        let later = |range: &Range<usize>| {
            after.is_none_or(|after| Place { line: number, character: range.start } > after)
        };
        hit = pattern.all(&line.text).into_iter().find(later).map(|range| (number, range));
        task.advance(1)?;
        Ok(hit.is_none() && number + 1 < lines.end)
    })?;
    Ok(hit)
}

/// The last place before `before`, down to the line `start`.
fn behind(
    text: &dyn Text,
    task: &Task,
    pattern: &Pattern,
    start: u64,
    before: Place,
    cut: &mut bool,
) -> Result<Hit> {
    let mut end = before.line.saturating_add(1);
    while end > start {
        let at = end.saturating_sub(STEP).max(start);
        let mut hit = None;
        text.each(task, at, REACHED, &mut |number, line| {
            *cut |= line.left_out > 0;
            let earlier = |range: &Range<usize>| Place { line: number, character: range.start } < before;
            if let Some(range) = pattern.all(&line.text).into_iter().rev().find(earlier) {
                hit = Some((number, range));
            }
            Ok(number + 1 < end)
        })?;
        if hit.is_some() {
            return Ok(hit);
        }
        task.advance(end - at)?;
        end = at;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gander::engines::delimited::PlainText;

    #[test]
    fn places_are_counted_in_characters() {
        let pattern = Pattern::new("ÄB", false);
        assert_eq!(pattern.all("xäb-Äbx"), [1..3, 4..6]);
        assert!(Pattern::new("ÄB", true).all("äb").is_empty());
        assert!(Pattern::new("", false).all("abc").is_empty());
    }

    #[test]
    fn all_places_are_counted() {
        let source = gander::bytes::source::Source::memory("t", "ab ab\nx\nAB".to_owned());
        let (text, task) = (PlainText::new(source, encoding_rs::UTF_8), Task::new());
        let count = count(&text, &task, &Pattern::new("ab", false)).unwrap();
        let at = |line, character| count.words(Place { line, character });
        assert_eq!((at(0, 0), at(0, 3), at(2, 0)), ("1 of 3".into(), "2 of 3".into(), "3 of 3".into()));
        assert_eq!(at(1, 0), "3 found");
    }

    #[test]
    fn what_lies_deep_in_a_long_line_is_found() {
        let line = format!("{}needle{}needle", "x".repeat(200_000), "x".repeat(100_000));
        let source = gander::bytes::source::Source::memory("t", format!("first\n{line}\nlast needle"));
        let (text, task) = (PlainText::new(source, encoding_rs::UTF_8), Task::new());
        let place = |line, character| Place { line, character };
        let at = |from: Place, forward: bool| {
            let found = find(&text, &task, &(Pattern::new("Needle", false), from, forward)).unwrap();
            assert!(!found.cut);
            found.place.unwrap().0
        };
        assert_eq!(at(place(0, 0), true), place(1, 200_000));
        assert_eq!(at(place(1, 200_000), true), place(1, 300_006));
        assert_eq!(at(place(1, 300_006), true), place(2, 5));
        assert_eq!(at(place(2, 5), true), place(1, 200_000), "around the end");
        assert_eq!(at(place(2, 5), false), place(1, 300_006));
        assert_eq!(at(place(1, 200_000), false), place(2, 5), "around the beginning");
        let missing = (Pattern::new("the line goes on", false), place(0, 0), true);
        assert_eq!(find(&text, &task, &missing).unwrap(), Found::default());
    }
}
