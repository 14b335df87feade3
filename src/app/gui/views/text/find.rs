//! Finding in a text: by a job, from the selection on, around the end; with or without case.

use std::ops::Range;
use std::sync::Arc;

use egui::{Key, TextEdit, Ui};
use gander::content::Text;
use gander::error::Result;
use gander::jobs::Slot;
use gander::task::Task;

use super::lines::Place;
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme;
use crate::gui::views::ViewCx;

/// Lines that are read at a time.
const STEP: u64 = 4096;

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

/// The state of the field.
#[derive(Default)]
pub(super) struct Find {
    text: String,
    case: bool,
    focus: bool,
    pattern: Option<Pattern>,
    asked: Option<Asked>,
    slot: Slot<Asked, Option<(Place, Place)>>,
}

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
        text: &Arc<Text>,
        from: Place,
    ) -> Option<(Place, Place)> {
        let edit = TextEdit::singleline(&mut self.text)
            .hint_text("Find")
            .desired_width(150.0)
            .margin(egui::Margin::symmetric(8, 5));
        let field = ui.add(edit);
        if std::mem::take(&mut self.focus) {
            field.request_focus();
        }
        let case = ui.selectable_label(self.case, "Aa").on_hover_text("Tell capitals from small letters");
        self.case ^= case.clicked();
        if field.changed() || case.clicked() {
            self.pattern = (!self.text.is_empty()).then(|| Pattern::new(&self.text, self.case));
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let back = entered && ui.input(|input| input.modifiers.shift);
        let previous = theme::icon_button(ui, Icon::ArrowUp, "Find previous (Shift+Enter)").clicked();
        let next = theme::icon_button(ui, Icon::ArrowDown, "Find next (Enter)").clicked();
        if entered {
            field.request_focus();
        }
        if (entered || previous || next)
            && let Some(pattern) = &self.pattern
        {
            self.asked = Some((pattern.clone(), from, !(back || previous)));
            self.slot.clear();
        }
        self.take(ui, cx, text)
    }

    fn take(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, text: &Arc<Text>) -> Option<(Place, Place)> {
        let asked = self.asked.clone()?;
        let (from, wanted) = (text.clone(), asked.clone());
        let shown = self.slot.get(cx.jobs, &asked, "finding text", move |task| find(&from, task, &wanted));
        if shown.pending.is_some() {
            if theme::icon_button(ui, Icon::Stop, "Stop finding").clicked() {
                self.slot.cancel();
            }
            return None;
        }
        self.asked = None;
        match (shown.value.filter(|_| shown.fresh), shown.error) {
            (Some(found), _) => {
                if found.is_none() {
                    cx.actions.push(Action::Notice(format!("{} is not in this text", self.text)));
                }
                *found
            }
            (None, Some(error)) => {
                cx.actions.push(Action::Notice(error.message()));
                None
            }
            (None, None) => None,
        }
    }
}

fn find(text: &Text, task: &Task, asked: &Asked) -> Result<Option<(Place, Place)>> {
    let (pattern, from, forward) = asked;
    let total = text.lines().number();
    task.expect(total);
    let found = if *forward {
        let rest = ahead(text, task, pattern, from.line, u64::MAX, Some(*from))?;
        match rest {
            None => ahead(text, task, pattern, 0, from.line + 1, None)?,
            found => found,
        }
    } else {
        match behind(text, task, pattern, 0, *from)? {
            None => {
                let end = Place { line: text.count(task)?, character: 0 };
                behind(text, task, pattern, from.line, end)?
            }
            found => found,
        }
    };
    Ok(found
        .map(|(line, range)| (Place { line, character: range.start }, Place { line, character: range.end })))
}

type Hit = Option<(u64, Range<usize>)>;

/// The first place in the lines from `start` to `end`, behind `after`.
fn ahead(
    text: &Text,
    task: &Task,
    pattern: &Pattern,
    start: u64,
    end: u64,
    after: Option<Place>,
) -> Result<Hit> {
    let mut at = start;
    while at < end {
        let to = at.saturating_add(STEP).min(end);
        let lines = text.read(task, at..to)?;
        for (index, line) in lines.iter().enumerate() {
            let number = at + index as u64;
            let later = |range: &Range<usize>| {
                after.is_none_or(|after| Place { line: number, character: range.start } > after)
            };
            if let Some(range) = pattern.all(line).into_iter().find(later) {
                return Ok(Some((number, range)));
            }
        }
        task.advance(lines.len() as u64)?;
        if (lines.len() as u64) < to - at {
            break;
        }
        at = to;
    }
    Ok(None)
}

/// The last place before `before`, down to the line `start`.
fn behind(text: &Text, task: &Task, pattern: &Pattern, start: u64, before: Place) -> Result<Hit> {
    let mut end = before.line.saturating_add(1);
    while end > start {
        let at = end.saturating_sub(STEP).max(start);
        let lines = text.read(task, at..end)?;
        for (index, line) in lines.iter().enumerate().rev() {
            let number = at + index as u64;
            let earlier = |range: &Range<usize>| Place { line: number, character: range.start } < before;
            if let Some(range) = pattern.all(line).into_iter().rev().find(earlier) {
                return Ok(Some((number, range)));
            }
        }
        task.advance(end - at)?;
        end = at;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let pattern = Pattern::new("ÄB", false);
        assert_eq!(pattern.all("xäb-Äbx"), [1..3, 4..6]);
        assert!(Pattern::new("ÄB", true).all("äb").is_empty());
        assert!(Pattern::new("", false).all("abc").is_empty());
    }
}
