//! Finding bytes: typed as hexadecimal or as text, looked for by a job from the cursor on or back, around the ends.

use std::ops::Range;

use egui::{Key, TextEdit, Ui};
use gander::bytes::error::Result;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::jobs::{JobSpec, Slot};
use memchr::memmem;

use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme;
use crate::gui::ui::keys;
use crate::gui::views::ViewCx;
use crate::gui::views::keys::FOUND_KEYS;

/// Bytes that are looked at in one step.
const STEP: usize = 4 << 20;
/// The width of the buttons beside the field.
const BUTTONS: f32 = 124.0;

/// What is looked for: the bytes, from where, and whether forward.
type Asked = (Vec<u8>, u64, bool);

/// The state of the field.
#[derive(Default)]
pub(super) struct Find {
    text: String,
    focus: bool,
    asked: Option<Asked>,
    slot: Slot<Asked, Option<u64>>,
}

impl Find {
    /// Puts the cursor into the field.
    pub(super) fn focus(&mut self) {
        self.focus = true;
    }

    /// Draws the field; where something was found.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        source: &Source,
        selected: Range<u64>,
        len: Option<u64>,
    ) -> Option<Range<u64>> {
        let edit = TextEdit::singleline(&mut self.text)
            .hint_text("Find: ff d8 or text")
            .desired_width((ui.available_width() - BUTTONS).clamp(60.0, 150.0))
            .id(ui.make_persistent_id("find bytes"))
            .margin(egui::Margin::symmetric(8, 5));
        let field =
            ui.add(edit).on_hover_text("Hexadecimal digits, or text (in quotes if it looks like digits)");
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find bytes"));
        if std::mem::take(&mut self.focus) {
            field.request_focus();
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let back = entered && ui.input(|input| input.modifiers.shift);
        let pressed = if cx.active { keys::taken(ui, FOUND_KEYS) } else { Vec::new() };
        let previous = theme::icon_button(ui, Icon::ArrowUp, "Find previous (Shift+F3)").clicked();
        let next = theme::icon_button(ui, Icon::ArrowDown, "Find next (F3)").clicked();
        if entered {
            field.request_focus();
        }
        if (entered || previous || next || !pressed.is_empty()) && !self.text.is_empty() {
            let forward = !(back || previous || pressed.contains(&false));
            let from = if forward { selected.end } else { selected.start };
            self.asked = Some((needle(&self.text), from, forward));
            self.slot.clear();
        }
        let asked = self.asked.clone()?;
        let (from, wanted) = (source.clone(), asked.clone());
        let shown = self.slot.get(cx.jobs, &asked, JobSpec::scan("finding bytes"), move |task| {
            let (needle, at, forward) = &wanted;
            match forward {
                true => find(task, &from, needle, *at, len),
                false => find_back(task, &from, needle, *at, len),
            }
        });
        if shown.pending.is_some() {
            if theme::icon_button(ui, Icon::Stop, "Stop finding").clicked() {
                self.slot.cancel();
            }
            return None;
        }
        self.asked = None;
        match (shown.ready(), shown.error) {
            (Some(found), _) => match *found {
                Some(at) => return Some(at..at + asked.0.len() as u64),
                None => cx.actions.push(Action::Notice(format!("{} is not in these bytes", self.text))),
            },
            (None, Some(error)) => cx.actions.push(Action::Notice(error.message())),
            (None, None) => {}
        }
        None
    }
}

/// The bytes that a text means: hexadecimal digits in pairs, else its UTF-8.
fn needle(text: &str) -> Vec<u8> {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return quoted.as_bytes().to_vec();
    }
    let digits: String = text.strip_prefix("0x").unwrap_or(text).split_whitespace().collect();
    let hex = !digits.is_empty()
        && digits.len().is_multiple_of(2)
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex {
        return text.as_bytes().to_vec();
    }
    (0..digits.len()).step_by(2).filter_map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

/// The first place of `needle` from `from` on, else from the start.
fn find(task: &Task, source: &Source, needle: &[u8], from: u64, len: Option<u64>) -> Result<Option<u64>> {
    let len = match len {
        Some(len) => len,
        None => source.len(task)?,
    };
    task.set_total(len);
    let finder = memmem::Finder::new(needle);
    let overlap = needle.len().saturating_sub(1) as u64;
    let ranges = [from.min(len)..len, 0..from.saturating_add(overlap).min(len)];
    for range in ranges {
        let mut at = range.start;
        while at < range.end {
            let most = (range.end - at).min(STEP as u64);
            let bytes = source.read(task, at..at + most)?;
            if let Some(found) = finder.find(&bytes) {
                return Ok(Some(at + found as u64));
            }
            task.advance(most)?;
            at = if at + most >= range.end { range.end } else { at + most - overlap.min(most - 1) };
        }
    }
    Ok(None)
}

/// The last place of `needle` before `from`, else the last one of all.
fn find_back(
    task: &Task,
    source: &Source,
    needle: &[u8],
    from: u64,
    len: Option<u64>,
) -> Result<Option<u64>> {
    let len = match len {
        Some(len) => len,
        None => source.len(task)?,
    };
    task.set_total(len);
    let finder = memmem::FinderRev::new(needle);
    let overlap = needle.len().saturating_sub(1) as u64;
    // A place before `from` may end behind it.
    for range in [0..from.saturating_add(overlap).min(len), from.min(len)..len] {
        let mut end = range.end;
        while end > range.start {
            let start = end.saturating_sub(STEP as u64).max(range.start);
            if let Some(found) = finder.rfind(&source.read(task, start..end)?) {
                return Ok(Some(start + found as u64));
            }
            task.advance(end - start)?;
            end = if start == range.start { start } else { (start + overlap).min(end - 1) };
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_backwards_across_steps_and_around_the_beginning() {
        let mut bytes = vec![0u8; 2 * STEP + 100];
        let places = [STEP as u64 - 2, 2 * STEP as u64 + 90];
        for at in places {
            bytes[at as usize..at as usize + 4].copy_from_slice(b"PAR1");
        }
        let source = Source::memory("b", bytes);
        let (task, len) = (Task::new(), source.known_len());
        let back = |from| find_back(&task, &source, b"PAR1", from, len).unwrap();
        assert_eq!(back(places[1]), Some(places[0]));
        assert_eq!(back(places[1] + 1), Some(places[1]), "it ends behind the cursor");
        assert_eq!(back(places[0]), Some(places[1]));
        assert_eq!(find_back(&task, &source, b"none", 7, len).unwrap(), None);
    }

    #[test]
    fn a_needle_is_hex_or_text() {
        assert_eq!(needle("ff d8"), [0xff, 0xd8]);
        assert_eq!(needle("0xFFD8"), [0xff, 0xd8]);
        assert_eq!(needle("\"abcd\""), b"abcd");
        assert_eq!(needle("PAR1x"), b"PAR1x");
    }

    #[test]
    fn found_across_steps_and_around_the_end() {
        let mut bytes = vec![0u8; STEP + 100];
        bytes[STEP - 2..STEP + 2].copy_from_slice(b"PAR1");
        let source = Source::memory("b", bytes);
        let task = Task::new();
        let at = STEP as u64 - 2;
        assert_eq!(find(&task, &source, b"PAR1", 0, source.known_len()).unwrap(), Some(at));
        assert_eq!(find(&task, &source, b"PAR1", at + 1, source.known_len()).unwrap(), Some(at));
        assert_eq!(find(&task, &source, b"none", 0, source.known_len()).unwrap(), None);
    }
}
