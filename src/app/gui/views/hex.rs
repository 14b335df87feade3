//! The view of bytes: offsets, hexadecimal and characters; the value under the cursor as every number
//! type in both byte orders; go to an offset, find bytes, select and copy. Any length.

mod belongs;
mod find;
mod marks;
mod row;
mod values;

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use egui::{EventFilter, Rect, RichText, ScrollArea, Sense, Ui, UiBuilder, pos2};
use gander::bytes::source::Source;
use gander::data::format::Data;
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{HEX_KEYS, HexCommand, Step};
use super::{Request, Target, View, ViewCommand, ViewCx, labels, restored, run, saved};
use crate::gui::commands::{Action, CommandId, Label};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::{List, keys, spoken_line};
use belongs::Belongs;
use find::Find;
pub(crate) use marks::{Mark, Paint};
use row::{Columns, Marked};
pub(crate) use row::{HEIGHT, ROW, plain_row};

/// Bytes that are read at a time.
const PAGE: u64 = 16 << 10;
/// Pages that are kept.
const PAGES: usize = 512;
/// The most bytes that are copied.
const COPIED: u64 = 16 << 20;
/// The width of the values beside the bytes.
const SIDE: f32 = 376.0;
/// Their height where they stand below.
const BELOW: f32 = 200.0;

/// The view of `source`, the content of `target`.
pub(crate) fn make(target: &Target, source: &Source) -> Box<dyn View> {
    Box::new(HexView::new(target.title(), source.clone()))
}

/// In which form bytes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Hex,
    Text,
    Python,
}

type Copying = Option<(Range<u64>, Form, Slot<(), String>)>;

/// The view of bytes.
pub(super) struct HexView {
    name: String,
    source: Source,
    /// Bytes in a row: fewer where it is narrow.
    row: u64,
    len: Option<u64>,
    len_slot: Slot<(), u64>,
    /// Why the length of a stream is not known, where it was asked for.
    unmeasured: Option<gander::Error>,
    pages: HashMap<u64, (Bytes, u64)>,
    slot: Slot<Range<u64>, Bytes>,
    failed: Option<(Range<u64>, gander::Error)>,
    frame: u64,
    list: List,
    page_rows: u64,
    anchor: u64,
    cursor: u64,
    dragging: bool,
    find: Find,
    copying: Copying,
    values: bool,
    focus: bool,
    /// Fields that are painted.
    marks: Vec<Mark>,
    belongs: Belongs,
}

impl HexView {
    /// The bytes of `source`.
    pub(super) fn new(name: &str, source: Source) -> Self {
        HexView {
            name: name.to_owned(),
            row: ROW,
            len: source.known_len(),
            source,
            len_slot: Slot::default(),
            unmeasured: None,
            pages: HashMap::new(),
            slot: Slot::default(),
            failed: None,
            frame: 0,
            list: List::default(),
            page_rows: 1,
            anchor: 0,
            cursor: 0,
            dragging: false,
            find: Find::default(),
            copying: None,
            values: true,
            focus: false,
            marks: Vec::new(),
            belongs: Belongs::default(),
        }
    }

    /// Paints these fields, and goes to the first that matters.
    pub(super) fn paint(&mut self, marks: Vec<Mark>) {
        if let Some(first) = marks::first(&marks) {
            // Not selected: that would cover the paint.
            self.go_to(first.start);
        }
        self.marks = marks;
    }

    fn selected(&self) -> Range<u64> {
        self.anchor.min(self.cursor)..self.anchor.max(self.cursor).saturating_add(1)
    }

    /// The bytes from `start`, as far as they are in memory; at most `most`.
    fn bytes(&self, start: u64, most: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(most);
        while out.len() < most {
            let at = start + out.len() as u64;
            let Some((page, _)) = self.pages.get(&(at / PAGE)) else { break };
            let Some(part) = page.get((at % PAGE) as usize..).filter(|part| !part.is_empty()) else { break };
            out.extend_from_slice(&part[..part.len().min(most - out.len())]);
        }
        out
    }

    /// Reads the pages of `rows` that are not there.
    fn want(&mut self, cx: &ViewCx<'_>, rows: &Range<u64>) {
        self.frame += 1;
        let len = self.len.unwrap_or(u64::MAX);
        let pages = rows.start * self.row / PAGE..(rows.end.saturating_mul(self.row)).min(len).div_ceil(PAGE);
        let mut missing: Option<Range<u64>> = None;
        for number in pages {
            match self.pages.get_mut(&number) {
                Some((_, used)) => *used = self.frame,
                None => missing = Some(missing.map_or(number, |m| m.start)..number + 1),
            }
        }
        let Some(missing) = missing else { return };
        let (source, wanted) = (self.source.clone(), missing.clone());
        let title = format!("bytes of {}", self.name);
        let shown = self.slot.get(cx.jobs, &missing, JobSpec::view(title), move |task| {
            let most = (wanted.end - wanted.start) * PAGE;
            // A copy: pages of a mapped file would stay in this process.
            let bytes = source.read_up_to(task, wanted.start * PAGE, most as usize)?;
            Ok(Bytes::copy_from_slice(&bytes))
        });
        self.failed = shown.error.clone().map(|error| (missing.clone(), error));
        if let Some(bytes) = shown.ready() {
            for (at, number) in missing.enumerate() {
                let start = (at * PAGE as usize).min(bytes.len());
                let end = (start + PAGE as usize).min(bytes.len());
                self.pages.insert(number, (bytes.slice(start..end), self.frame));
            }
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.pages.len() <= PAGES {
            return;
        }
        let mut ages: Vec<(u64, u64)> = self.pages.iter().map(|(page, (_, used))| (*used, *page)).collect();
        ages.sort_unstable();
        for (used, page) in ages.into_iter().take(PAGES / 2) {
            if used < self.frame {
                self.pages.remove(&page);
            }
        }
    }

    /// The length: at once, or from a job that reads a stream through.
    fn measure(&mut self, cx: &ViewCx<'_>) {
        if self.len.is_some() {
            return;
        }
        let source = self.source.clone();
        let title = format!("measuring {}", self.name);
        let shown = self.len_slot.get(cx.jobs, &(), JobSpec::once(title), move |task| source.len(task));
        self.len = shown.ready().map(|len| *len);
        self.unmeasured = shown.error;
    }

    /// Says why only the beginning of a stream can be looked at.
    fn unmeasured_line(&mut self, ui: &mut Ui) {
        let Some(error) = &self.unmeasured else { return };
        if error.is_cancelled() {
            if theme::cancelled_line(ui) {
                self.len_slot.clear();
            }
        } else {
            let theme = Theme::of(ui);
            ui.label(
                RichText::new(format!("What follows cannot be read: {}", error.message())).color(theme.bad),
            );
        }
    }

    fn go_to(&mut self, offset: u64) {
        let last = self.len.map_or(offset, |len| len.saturating_sub(1));
        self.cursor = offset.min(last);
        self.anchor = self.cursor;
        // With a few rows above it.
        self.list.reveal((self.cursor / self.row).saturating_sub(4));
        self.list.scroll_to((self.cursor / self.row).saturating_sub(4));
        self.focus = true;
    }

    fn keys(&mut self, ui: &Ui) {
        let last = self.len.unwrap_or(1).saturating_sub(1);
        let far = self.page_rows.saturating_mul(self.row);
        for command in keys::pressed(ui, HEX_KEYS) {
            let (step, selects) = match command {
                HexCommand::Step(step, selects) => (step, selects),
                HexCommand::SelectAll => {
                    (self.anchor, self.cursor) = (0, last);
                    continue;
                }
                HexCommand::Copy => {
                    self.copy(Form::Hex);
                    continue;
                }
            };
            let at = self.cursor;
            let to = match step {
                Step::Left => at.saturating_sub(1),
                Step::Right => at.saturating_add(1),
                Step::Up => at.checked_sub(self.row).unwrap_or(at),
                Step::Down => at.checked_add(self.row).filter(|to| *to <= last).unwrap_or(at),
                Step::PageUp => at.saturating_sub(far),
                Step::PageDown => at.saturating_add(far),
                Step::RowStart => at / self.row * self.row,
                Step::RowEnd => at / self.row * self.row + self.row - 1,
                Step::First => 0,
                Step::Last => last,
            };
            self.cursor = to.min(last);
            if !selects {
                self.anchor = self.cursor;
            }
            self.list.reveal(self.cursor / self.row);
        }
    }

    fn copy(&mut self, form: Form) {
        self.copying = Some((self.selected(), form, Slot::default()));
    }

    /// Copies what is selected; false where there are no bytes.
    fn copies(&mut self, form: Form) -> bool {
        let any = self.len != Some(0);
        if any {
            self.copy(form);
        }
        any
    }

    fn take_copy(&mut self, cx: &mut ViewCx<'_>) {
        let Some((range, form, slot)) = &self.copying else { return };
        let bytes = range.end - range.start;
        if bytes > COPIED {
            let most = gander::bytes::display::bytes(COPIED);
            cx.actions.push(Action::Notice(format!("More than {most} are selected. Export them instead")));
            self.copying = None;
            return;
        }
        let (source, range, form) = (self.source.clone(), range.clone(), *form);
        let shown = slot.get(cx.jobs, &(), JobSpec::once("copying bytes"), move |task| {
            let bytes = source.read_up_to(task, range.start, (range.end - range.start) as usize)?;
            Ok(written(&bytes, form))
        });
        match (shown.ready(), shown.error) {
            (Some(text), _) => cx.actions.push(Action::Copy((*text).clone())),
            (None, Some(error)) => cx.actions.push(Action::Notice(error.message())),
            (None, None) => return,
        }
        self.copying = None;
    }

    /// Takes so many bytes in a row. The cursor stays in sight, else what is at the top stays there.
    fn set_row(&mut self, across: u64) {
        let before = std::mem::replace(&mut self.row, across);
        if before == across {
            return;
        }
        let (top, at) = (self.list.top(), self.cursor / before);
        let is_seen = (top..top.saturating_add(self.page_rows.max(8))).contains(&at);
        let first = if is_seen { self.cursor } else { top.saturating_mul(before) };
        let above = if is_seen { at.saturating_sub(top) } else { 0 };
        self.list.scroll_to((first / across).saturating_sub(above));
        self.list.reveal(first / across);
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, place: Rect) {
        let theme = Theme::of(ui);
        let len = self.len.unwrap_or_else(|| self.known_so_far());
        let mut columns = Columns::new(ui, len, ROW);
        if columns.width() + theme::size::SCROLL_BAR > place.width() {
            columns = Columns::new(ui, len, ROW / 2);
        }
        let across = columns.across;
        self.set_row(across);
        let head = Rect::from_min_max(place.min, pos2(place.right(), place.top() + HEIGHT + 4.0));
        columns.head(ui, head, theme);
        let rows_place = Rect::from_min_max(pos2(place.left(), head.bottom()), place.max);
        let mut child = ui.new_child(UiBuilder::new().max_rect(rows_place).id_salt("bytes"));
        let rows = len.div_ceil(self.row);
        let selected = self.selected();
        let mut list = std::mem::take(&mut self.list);
        let (this, cursor) = (&*self, self.cursor);
        let shown = list.ui(&mut child, "Bytes", rows, HEIGHT, |ui, place, row| {
            let start = row * across;
            let bytes = this.bytes(start, across.min(len - start) as usize);
            columns.row(
                ui,
                place,
                start,
                &bytes,
                &Marked { selected: &selected, cursor, marks: &this.marks },
            );
            let id = ui.scope_id().with(("row", row));
            spoken_line(ui, place, id, egui::accesskit::Role::ListItem, &format!("{start:08x}"), || {
                row::spoken(&bytes)
            });
        });
        self.list = list;
        self.page_rows = shown.page;
        ui.ctx().accesskit_node_builder(shown.response.id, |node| {
            node.set_role(egui::accesskit::Role::List);
            node.set_label(format!("Bytes of {}", self.name));
            node.set_value(self.spoken_cursor());
        });
        let margin = shown.page;
        let wanted = shown.rows.start.saturating_sub(margin)..shown.rows.end.saturating_add(margin).min(rows);
        self.want(cx, &wanted);
        self.mouse(ui, &shown.response, &columns, rows_place, shown.rows.start);
        self.focus_and_keys(ui, cx, &shown.response);
    }

    /// Where the cursor is, its byte, and how many are selected.
    fn spoken_cursor(&self) -> String {
        let byte = self.bytes(self.cursor, 1).first().map_or(String::new(), |byte| format!(": {byte:02x}"));
        let selected = self.selected();
        match selected.end.saturating_sub(selected.start) {
            0 | 1 => format!("{:08x}{byte}", self.cursor),
            many => format!("{:08x}{byte}, {many} bytes selected", self.cursor),
        }
    }

    /// How many bytes are known of a stream that was not measured.
    fn known_so_far(&self) -> u64 {
        let ends = self.pages.iter().map(|(page, (bytes, _))| page * PAGE + bytes.len() as u64);
        ends.max().unwrap_or(0).max(ROW)
    }

    fn focus_and_keys(&mut self, ui: &Ui, cx: &ViewCx<'_>, response: &egui::Response) {
        if cx.focus || cx.active && std::mem::take(&mut self.focus) {
            response.request_focus();
        }
        if response.has_focus() {
            let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
            self.keys(ui);
        }
        response.context_menu(|ui| {
            for (form, words) in [
                (Form::Hex, "Copy as hex"),
                (Form::Text, "Copy as text"),
                (Form::Python, "Copy as Python bytes"),
            ] {
                if ui.button(words).clicked() {
                    self.copy(form);
                    ui.close();
                }
            }
        });
    }

    fn mouse(&mut self, ui: &Ui, response: &egui::Response, columns: &Columns, place: Rect, first: u64) {
        let (down, pressed, origin, at, shift) = ui.input(|input| {
            let pointer = &input.pointer;
            let origin = pointer.press_origin();
            (
                pointer.primary_down(),
                pointer.primary_pressed(),
                origin,
                pointer.interact_pos(),
                input.modifiers.shift,
            )
        });
        let fraction = self.list.fraction();
        let byte_at = |at: egui::Pos2| {
            let row = first + (((at.y - place.top()) / HEIGHT + fraction).max(0.0)) as u64;
            columns.byte_at(at.x - place.left()).map(|byte| row * self.row + byte)
        };
        let last = self.len.unwrap_or(1).saturating_sub(1);
        let bar = place.right() - theme::size::SCROLL_BAR;
        let starts = |at: &egui::Pos2| place.contains(*at) && at.x < bar;
        if pressed && response.contains_pointer() && origin.is_some_and(|at| starts(&at)) {
            response.request_focus();
            if let Some(byte) = origin.and_then(byte_at) {
                self.dragging = true;
                self.cursor = byte.min(last);
                if !shift {
                    self.anchor = self.cursor;
                }
            }
        }
        if !down {
            self.dragging = false;
        } else if self.dragging
            && !pressed
            && let Some(at) = at
        {
            if let Some(byte) = byte_at(at.clamp(place.min, place.max)) {
                self.cursor = byte.min(last);
            }
            if !place.contains(at) {
                self.list.reveal(self.cursor / self.row + u64::from(at.y > place.bottom()));
                ui.ctx().request_repaint();
            }
        }
    }

    /// The places of the bytes and of the values: beside them, or below where it is narrow.
    fn places(&self, area: Rect) -> (Rect, Option<Rect>) {
        if !self.values || area.height() < 2.0 * BELOW {
            return (area, None);
        }
        if area.width() > 594.0 + SIDE {
            let edge = area.right() - SIDE;
            let main = Rect::from_min_max(area.min, pos2(edge, area.bottom()));
            return (main, Some(Rect::from_min_max(pos2(edge, area.top()), area.max)));
        }
        let edge = area.bottom() - BELOW;
        let main = Rect::from_min_max(area.min, pos2(area.right(), edge));
        (main, Some(Rect::from_min_max(pos2(area.left(), edge), area.max)))
    }

    fn side(&self, ui: &mut Ui, place: Rect, told: Option<&belongs::Told>, actions: &mut Vec<Action>) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(place, 0.0, theme.bg1);
        ui.painter().vline(place.left(), place.y_range(), theme.hairline());
        ui.painter().hline(place.x_range(), place.top(), theme.hairline());
        let inner = place.shrink2(egui::vec2(space::S3, space::S2));
        let mut ui = ui.new_child(UiBuilder::new().max_rect(inner).id_salt("values"));
        ui.shrink_clip_rect(place);
        let start = self.selected().start;
        let bytes = self.bytes(start, 64);
        ScrollArea::vertical().auto_shrink(false).show(&mut ui, |ui| {
            if let Some(told) = told {
                belongs::ui(ui, told, actions);
            }
            values::ui(ui, start, &bytes);
        });
    }
}

/// Bytes as text of a form.
fn written(bytes: &[u8], form: Form) -> String {
    use std::fmt::Write as _;
    match form {
        Form::Hex => {
            let mut out = String::with_capacity(bytes.len() * 3);
            for (index, byte) in bytes.iter().enumerate() {
                let _ = write!(out, "{}{byte:02x}", if index > 0 { " " } else { "" });
            }
            out
        }
        Form::Text => String::from_utf8_lossy(bytes).into_owned(),
        Form::Python => {
            let mut out = String::from("b'");
            for &byte in bytes {
                match byte {
                    b'\'' | b'\\' => {
                        out.push('\\');
                        out.push(char::from(byte));
                    }
                    0x20..0x7f => out.push(char::from(byte)),
                    _ => {
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
            }
            out.push('\'');
            out
        }
    }
}

/// An offset as a person types it: `0x1f40`, `1f40h`, or decimal with separators.
fn offset_of(text: &str) -> Option<u64> {
    let text: String = text.chars().filter(|c| !matches!(c, '_' | ',' | ' ')).collect();
    let lower = text.to_lowercase();
    if let Some(hex) = lower.strip_prefix("0x").or_else(|| lower.strip_suffix('h')) {
        return u64::from_str_radix(hex, 16).ok();
    }
    lower.parse().ok().or_else(|| u64::from_str_radix(&lower, 16).ok())
}

/// What the palette offers beside what is on the toolbar.
const COMMANDS: &[ViewCommand<HexView>] = &[
    ViewCommand::new(Label::new("Copy bytes as hex", Icon::Copy), |view, _| view.copies(Form::Hex)),
    ViewCommand::new(Label::new("Copy bytes as text", Icon::Copy), |view, _| view.copies(Form::Text)),
    ViewCommand::new(Label::new("Copy bytes as Python", Icon::Copy), |view, _| view.copies(Form::Python)),
    ViewCommand::new(Label::new("Values of the bytes, or not", Icon::Sidebar), |view, _| {
        view.values ^= true;
        true
    }),
];

impl View for HexView {
    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = Theme::of(ui);
        match self.len {
            Some(len) => ui.label(theme::dim(theme, gander::bytes::display::plural(len, "byte"))),
            None => ui.label(RichText::new("length not known yet").color(theme.warn)),
        };
        let words = if self.values { "Hide values" } else { "Show values" };
        if theme::icon_button(ui, Icon::Sidebar, words).clicked() {
            self.values = !self.values;
        }
        // Bytes inside another file have no layout of their own that could be remembered.
        if self.source.path().is_some() && theme::icon_button(ui, Icon::Array, "Open as raw array…").clicked()
        {
            cx.actions.push(Action::Do(CommandId::OpenRaw));
        }
        if let Some(found) = self.find.ui(ui, cx, &self.source, self.selected(), self.len) {
            self.go_to(found.start);
            self.anchor = found.start;
            self.cursor = found.end.saturating_sub(1).max(found.start);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = Theme::of(ui);
        self.measure(cx);
        let area = ui.available_rect_before_wrap();
        ui.allocate_rect(area, Sense::hover());
        if self.len == Some(0) {
            theme::empty_state(ui, Icon::Binary, "No bytes", "");
            return;
        }
        let (mut main, side) = self.places(area);
        let told = self.belongs.get(cx, &self.source, self.cursor);
        let told = told.as_deref().and_then(Option::as_ref);
        if !self.marks.is_empty() {
            let line = Rect::from_min_max(pos2(main.left(), main.bottom() - marks::LEGEND), main.max);
            let mut child = ui.new_child(UiBuilder::new().max_rect(line).id_salt("legend"));
            if let Some(range) = marks::legend(&mut child, line, &self.marks) {
                self.go_to(range.start);
            }
            main.max.y = line.top();
        }
        if let Some((_, error)) = &self.failed {
            let line = Rect::from_min_max(pos2(main.left(), main.bottom() - 30.0), main.max);
            ui.painter().rect_filled(line, 0.0, theme.tint(theme.bad));
            let mut child = ui.new_child(UiBuilder::new().max_rect(line.shrink(5.0)).id_salt("failed"));
            child.add(egui::Label::new(RichText::new(error.to_string()).color(theme.bad)).truncate());
            main.max.y = line.top();
        }
        if self.unmeasured.is_some() {
            let line = Rect::from_min_max(pos2(main.left(), main.bottom() - 30.0), main.max);
            let mut child = ui.new_child(UiBuilder::new().max_rect(line.shrink(5.0)).id_salt("unmeasured"));
            self.unmeasured_line(&mut child);
            main.max.y = line.top();
        }
        let mut child = ui.new_child(UiBuilder::new().max_rect(main).id_salt("hex"));
        child.shrink_clip_rect(main);
        self.body(&mut child, cx, main);
        if let Some(place) = side {
            self.side(ui, place, told, cx.actions);
        }
        self.take_copy(cx);
        let byte = self.bytes(self.cursor, 1).first().copied();
        let at = format!("byte {} (0x{:x})", gander::bytes::display::count(self.cursor), self.cursor);
        cx.status.under = byte.map_or(at.clone(), |byte| format!("{at} = 0x{byte:02x} = {byte}"));
        if let Some(told) = told {
            cx.status.under.push_str(&format!(" · {}", told.words));
        }
        let selected = self.selected();
        cx.status.facts = match selected.end - selected.start {
            0 | 1 => self.len.map_or(String::new(), gander::bytes::display::bytes),
            many => format!("{} selected", gander::bytes::display::plural(many, "byte")),
        };
    }

    fn request(&mut self, request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::GoTo(text) => match offset_of(text) {
                Some(offset) => {
                    self.go_to(offset);
                    true
                }
                None => false,
            },
            Request::Find => {
                self.find.focus();
                true
            }
            _ => false,
        }
    }

    fn export(&self) -> Option<(String, Data)> {
        let range = self.selected();
        let many = range.end - range.start > 1;
        let part = many.then(|| self.source.member(self.name.clone(), range).ok()).flatten()?;
        Some(("the selected bytes".to_owned(), Data::Bytes(part)))
    }

    fn save(&self) -> Value {
        saved(&HexState { cursor: Some(self.cursor), values: Some(self.values) })
    }

    fn restore(&mut self, kept: &Value) {
        let state: HexState = restored(kept);
        if let Some(cursor) = state.cursor {
            self.go_to(cursor);
        }
        self.values = state.values.unwrap_or(true);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct HexState {
    cursor: Option<u64>,
    values: Option<bool>,
}

#[cfg(test)]
mod tests {
    use egui::accesskit::Role;
    use egui::{Event, Key, Modifiers, pos2};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::data::content::Content;

    use super::*;
    use crate::gui::views::harness::{ViewHarness, bench, check_keys, click, settle};

    /// 4096 bytes: the n-th is n modulo 251, and there is a text at 3000.
    fn show() -> Harness<'static, ViewHarness> {
        let mut bytes: Vec<u8> = (0..4096u32).map(|n| (n % 251) as u8).collect();
        bytes[3000..3006].copy_from_slice(b"needle");
        let mut harness = bench("data.bin", Content::Bytes(Source::memory("data.bin", bytes)));
        settle(&mut harness);
        harness
    }

    fn under(harness: &Harness<'_, ViewHarness>) -> String {
        harness.state().status.under.clone()
    }

    fn said(harness: &Harness<'_, ViewHarness>, line: &str) -> bool {
        harness.query_all_by_role_and_label(Role::Button, line).next().is_some()
    }

    #[test]
    fn an_offset_is_gone_to_and_its_values_are_told() {
        let mut harness = show();
        harness.get_by_label("4,096 bytes");
        assert!(harness.state_mut().ask(&Request::GoTo("0x100".to_owned())));
        settle(&mut harness);
        // 256 modulo 251 is 5.
        assert_eq!(under(&harness), "byte 256 (0x100) = 0x05 = 5");
        for line in ["uint8: 5", "uint16, little-endian: 1541", "int32, little-endian: 134678021"] {
            assert!(said(&harness, line), "{line}");
        }
        // The same in the other byte order.
        assert!(said(&harness, "uint16, big-endian: 1286"));
        // Beyond the end is the last one; what is no offset is refused.
        assert!(harness.state_mut().ask(&Request::GoTo("999999".to_owned())));
        settle(&mut harness);
        assert!(under(&harness).starts_with("byte 4,095 "), "{}", under(&harness));
        assert!(!harness.state_mut().ask(&Request::GoTo("row".to_owned())));
        harness.get_by_label("Hide values").click();
        settle(&mut harness);
        assert!(!said(&harness, "uint8: 79") && harness.query_by_label("Show values").is_some());
    }

    #[test]
    fn what_is_found_is_selected() {
        let mut harness = show();
        for (text, place) in [("needle", "byte 3,005 (0xbbd)"), ("fa 00 01", "byte 252 (0xfc)")] {
            assert!(harness.state_mut().ask(&Request::GoTo("0".to_owned())));
            settle(&mut harness);
            assert!(harness.state_mut().ask(&Request::Find));
            settle(&mut harness);
            harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
            harness.event(Event::Text(text.to_owned()));
            settle(&mut harness);
            harness.key_press(Key::Enter);
            settle(&mut harness);
            assert!(under(&harness).starts_with(place), "{text}: {}", under(&harness));
            let bytes = if text == "needle" { 6 } else { 3 };
            assert_eq!(harness.state().status.facts, format!("{bytes} bytes selected"));
        }
        harness.get_by_role_and_label(Role::TextInput, "Find bytes");
        harness.get_by_label("Find next (F3)").click();
        settle(&mut harness);
        // On to the next place with the same bytes, by keys to the one behind it, and back.
        assert!(under(&harness).starts_with("byte 503 "), "{}", under(&harness));
        for (modifiers, place) in [(Modifiers::NONE, 754), (Modifiers::SHIFT, 503), (Modifiers::SHIFT, 252)] {
            harness.key_press_modifiers(modifiers, Key::F3);
            settle(&mut harness);
            assert!(under(&harness).starts_with(&format!("byte {place} ")), "{}", under(&harness));
        }
    }

    #[test]
    fn a_selection_is_made_by_keys_and_mouse_and_copied() {
        let mut harness = show();
        click(&mut harness, pos2(200.0, 150.0));
        settle(&mut harness);
        let first = under(&harness);
        assert!(first.starts_with("byte "), "{first}");
        harness.key_press_modifiers(Modifiers::COMMAND, Key::Home);
        settle(&mut harness);
        assert!(under(&harness).starts_with("byte 0 "), "{}", under(&harness));
        for _ in 0..3 {
            harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
            settle(&mut harness);
        }
        assert_eq!(harness.state().status.facts, "4 bytes selected");
        harness.event(Event::Copy);
        settle(&mut harness);
        let copied = |action: &Action| matches!(action, Action::Copy(text) if text == "00 01 02 03");
        assert!(harness.state().actions.iter().any(copied));
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        settle(&mut harness);
        assert_eq!(harness.state().status.facts, "4,096 bytes selected");
        // What is exported is the selection.
        assert!(harness.state().view.export().is_some_and(|(words, _)| words == "the selected bytes"));
    }

    #[test]
    fn every_key_of_bytes_works_and_no_other() {
        let mut harness = show();
        let state = |harness: &Harness<'_, ViewHarness>| {
            let status = &harness.state().status;
            format!("{} {} {}", status.under, status.facts, harness.state().actions.len())
        };
        let stand = |harness: &mut Harness<'_, ViewHarness>| {
            assert!(harness.state_mut().ask(&Request::GoTo("1234".to_owned())));
            settle(harness);
        };
        let table: Vec<_> = keys::shortcuts(HEX_KEYS);
        check_keys(&mut harness, &table, stand, state);
    }

    #[test]
    fn offsets_are_read_as_people_write_them() {
        assert_eq!(offset_of("0x1F40"), Some(8000));
        assert_eq!(offset_of("1f40h"), Some(8000));
        assert_eq!(
            (offset_of("8_000"), offset_of("8,000"), offset_of("ff")),
            (Some(8000), Some(8000), Some(255))
        );
        assert_eq!(offset_of("row"), None);
    }

    #[test]
    fn bytes_are_written_in_each_form() {
        assert_eq!(written(&[0, 255], Form::Hex), "00 ff");
        assert_eq!(written(b"a'\n", Form::Python), "b'a\\'\\x0a'");
    }
}
