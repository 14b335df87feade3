//! The view of a text: line numbers, any number of lines, wrapped or not; find, select, copy. Of a long line a
//! part is drawn; the others are a step away, and the reader shows all of it.

mod find;
mod lines;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use egui::text::CCursor;
use egui::{Align2, CursorIcon, EventFilter, Galley, Key, Pos2, Rect, Sense, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::data::content::Text;
use gander::data::content::text::Line;
use gander::data::format::Format;
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{Step, TEXT_KEYS, TextCommand};
use super::{Request, Target, View, ViewCommand, ViewCx, labels, restored, run, saved};
use crate::gui::commands::{ALT, Action, Label};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_font, size, space};
use crate::gui::ui::{RowPosition, ScrollBar, Scrolled, drop_down, keys, spoken_line};
use find::Find;
use lines::{Lines, Marks, Place};

/// The height of a line that is not wrapped, in points.
const LINE: f32 = 18.0;
/// A narrower bar does not count the lines.
const NARROW: f32 = 420.0;
/// Files up to this size are counted without being asked.
const COUNTED: u64 = 8 << 30;
/// The most lines that are copied.
const COPIED: u64 = 2_000_000;

/// The option of readers of texts.
const ENCODING: &str = "encoding";
/// Encodings that are offered: UTF-32, and some that <https://encoding.spec.whatwg.org/> names.
const ENCODINGS: [&str; 15] = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "utf-32le",
    "utf-32be",
    "windows-1252",
    "iso-8859-2",
    "iso-8859-15",
    "windows-1251",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "gb18030",
    "big5",
    "euc-kr",
];

/// The view of `text`, the content of `target`.
pub(crate) fn make(target: &Target, text: &Arc<dyn Text>) -> Box<dyn View> {
    Box::new(TextView::new(target.title(), text.clone()))
}

/// A line in sight.
struct Shown {
    line: u64,
    place: Rect,
    galley: Arc<Galley>,
}

struct TextView {
    name: String,
    text: Arc<dyn Text>,
    lines: Lines,
    top: RowPosition,
    grab: Option<f32>,
    side_grab: Option<f32>,
    /// How far it is scrolled to the right, in points, and the widest line seen.
    left: f32,
    widest: f32,
    wrap: bool,
    anchor: Place,
    cursor: Place,
    find: Find,
    count: Slot<(), ()>,
    copying: Option<(Place, Place, Slot<(), String>)>,
    /// A line that is read for the reader.
    reading: Option<(u64, Slot<(), Line>)>,
    /// A stretch to go to, and one to bring into sight once its line is in memory.
    go_to: Option<(Place, Place)>,
    reveal: Option<(Place, Place)>,
    page: f32,
    /// How wide a line may be before it is wrapped.
    width: f32,
    /// The lines in sight, with the parts of lines that are.
    seen: Range<u64>,
    share: f64,
    /// How much of the last line fits, where that is wrapped and higher than the view.
    last: f32,
}

impl TextView {
    fn new(name: &str, text: Arc<dyn Text>) -> Self {
        TextView {
            name: name.to_owned(),
            lines: Lines::new(text.clone(), name),
            text,
            top: RowPosition::default(),
            grab: None,
            side_grab: None,
            left: 0.0,
            widest: 0.0,
            wrap: false,
            anchor: Place::default(),
            cursor: Place::default(),
            find: Find::default(),
            count: Slot::default(),
            copying: None,
            reading: None,
            go_to: None,
            reveal: None,
            page: 1.0,
            width: f32::INFINITY,
            seen: 0..0,
            share: 1.0,
            last: 1.0,
        }
    }

    /// How many lines can be scrolled over.
    fn total(&self) -> u64 {
        self.text.lines().number().max(self.lines.known())
    }

    /// The lines that count as a page for scrolling: wrapped ones have no fixed height, so the last one may
    /// go up to the top, or beyond it until its own end is in sight.
    fn scroll_page(&self) -> f32 {
        if self.wrap { self.last } else { self.page }
    }

    /// Counts the lines in the background, as far as that is near.
    fn start_count(&mut self, cx: &ViewCx<'_>) {
        let near = self.text.source().known_len().is_none_or(|bytes| bytes <= COUNTED);
        if self.text.lines().exact().is_some() || !near {
            return;
        }
        let text = self.text.clone();
        let title = format!("counting lines of {}", self.name);
        // What it finds stays with the text; an error shows where the line is read.
        self.count.get(cx.jobs, &(), JobSpec::scan(title), move |task| text.count(task).map(drop));
    }

    fn selection(&self) -> Option<(Place, Place)> {
        (self.anchor != self.cursor).then(|| (self.anchor.min(self.cursor), self.anchor.max(self.cursor)))
    }

    fn galley(&self, ui: &Ui, line: u64) -> Arc<Galley> {
        let marks = Marks { selection: self.selection(), found: self.find.pattern() };
        self.lines.galley(ui, Theme::of(ui), line, self.width, &marks)
    }

    fn height(&self, galley: &Galley) -> f32 {
        if self.wrap { galley.size().y.max(LINE) } else { LINE }
    }

    /// Lays out the lines in sight.
    fn lay_out(&mut self, ui: &Ui, body: Rect) -> Vec<Shown> {
        let mut shown = Vec::new();
        let total = self.total();
        let mut line = self.top.row;
        let mut y = body.top();
        self.share = 0.0;
        while y < body.bottom() && line < total {
            let galley = self.galley(ui, line);
            let height = self.height(&galley);
            if shown.is_empty() {
                y -= self.top.fraction * height;
            }
            self.widest = self.widest.max(galley.size().x);
            let place = Rect::from_min_size(pos2(body.left() - self.left, y), vec2(body.width(), height));
            self.share += f64::from((place.bottom().min(body.bottom()) - y.max(body.top())) / height);
            if line + 1 == total {
                self.last = (body.height() / height).min(1.0);
            }
            shown.push(Shown { line, place, galley });
            y += height;
            line += 1;
        }
        self.seen = self.top.row..line;
        shown
    }

    /// Scrolls by points, line by line: wrapped, each has its own height.
    fn scroll_by(&mut self, ui: &Ui, points: f32) {
        self.reveal = None;
        let (total, page) = (self.total(), self.scroll_page());
        if !self.wrap {
            self.top = self.top.scroll(f64::from(points / LINE), total, page);
            return;
        }
        let height = |line: u64| self.height(&self.galley(ui, line));
        let (mut line, mut high) = (self.top.row, height(self.top.row));
        let mut at = self.top.fraction * high + points;
        while at < 0.0 && line > 0 {
            line -= 1;
            high = height(line);
            at += high;
        }
        while at >= high && line + 1 < total {
            line += 1;
            at -= high;
            high = height(line);
        }
        let fraction = (at / high).clamp(0.0, 0.999_999);
        self.top = RowPosition { row: line, fraction }.clamped(total, page);
    }

    /// Brings what was found into sight once its line is in memory: down to it, and across to it.
    fn take_reveal(&mut self, ui: &Ui, body: Rect) {
        let Some((from, to)) = self.reveal else { return };
        let Some(piece) = self.lines.piece(from.line) else { return };
        if from.character < piece.start || (from.character >= piece.end && piece.more) {
            self.lines.turn_to(from);
            return;
        }
        let (start, end) = (piece.index(from.character), piece.index(to.character));
        self.reveal = None;
        let galley = self.galley(ui, from.line);
        let start = galley.pos_from_cursor(CCursor::new(start));
        let end = galley.pos_from_cursor(CCursor::new(end));
        if self.wrap {
            let above = (start.top() - body.height() / 3.0).max(0.0) / self.height(&galley);
            let top = RowPosition { row: from.line, fraction: above.min(0.999_999) };
            // How far the last line goes up is known once it was laid out.
            self.last = if from.line + 1 == self.total() { 0.0 } else { self.last };
            self.top = top.clamped(self.total(), self.scroll_page());
        } else {
            self.left = across(self.left, body.width(), start.left(), end.right());
        }
    }

    fn scroll(&mut self, ui: &Ui, area: Rect) {
        if !ui.rect_contains_pointer(area) {
            return;
        }
        let delta = ui.input(|input| input.smooth_scroll_delta());
        if delta.y != 0.0 {
            self.scroll_by(ui, -delta.y);
        }
        if delta.x != 0.0 && !self.wrap {
            self.left -= delta.x;
        }
    }

    fn bars(&mut self, ui: &Ui, area: Rect, body: Rect) {
        let (total, page) = (self.total(), self.scroll_page());
        let track = Rect::from_min_max(pos2(area.right() - size::SCROLL_BAR, area.top()), area.max);
        let seen = self.share / total.max(1) as f64;
        let bar = ScrollBar { track, vertical: true, part: self.top.part(total, page), seen, name: "Lines" };
        match bar.ui(ui, ui.scope_id().with("lines bar"), &mut self.grab).0 {
            Scrolled::No => {}
            Scrolled::To(part) => self.top = RowPosition::at_part(part, total, page),
            Scrolled::Page(way) => self.scroll_by(ui, f32::from(way) * self.far()),
        }
        let most = if self.wrap { 0.0 } else { (self.widest + space::S6 - body.width()).max(0.0) };
        self.left = self.left.clamp(0.0, most);
        if most <= 0.0 {
            return;
        }
        let track = Rect::from_min_max(
            pos2(body.left(), area.bottom() - size::SCROLL_BAR),
            pos2(body.right(), area.bottom()),
        );
        let seen = f64::from(body.width() / (body.width() + most));
        let bar =
            ScrollBar { track, vertical: false, part: f64::from(self.left / most), seen, name: "Columns" };
        match bar.ui(ui, ui.scope_id().with("side bar"), &mut self.side_grab).0 {
            Scrolled::No => {}
            Scrolled::To(part) => self.left = part as f32 * most,
            Scrolled::Page(way) => self.left += f32::from(way) * body.width() * 0.9,
        }
    }

    fn place_at(&self, shown: &[Shown], at: Pos2) -> Option<Place> {
        let last = shown.last()?;
        let found = shown.iter().find(|line| at.y < line.place.bottom()).unwrap_or(last);
        let top = found.place.top() + text_top(&found.galley, found.place.height(), self.wrap);
        let cursor = found.galley.cursor_from_pos(at - pos2(found.place.left(), top));
        let piece = self.lines.piece(found.line);
        Some(Place {
            line: found.line,
            character: piece.map_or(0, |piece| piece.character(cursor.index.into())),
        })
    }

    fn mouse(&mut self, ui: &Ui, response: &egui::Response, shown: &[Shown]) {
        if response.hovered() {
            ui.ctx().set_cursor_icon(CursorIcon::Text);
        }
        let shift = ui.input(|input| input.modifiers.shift);
        let pointer = response.interact_pointer_pos();
        if (response.drag_started() || response.clicked())
            && let Some(at) = ui.input(|input| input.pointer.press_origin()).or(pointer)
            && let Some(place) = self.place_at(shown, at)
        {
            response.request_focus();
            if !shift {
                self.anchor = place;
            }
            self.cursor = place;
        }
        if response.dragged()
            && let Some(place) = pointer.and_then(|at| self.place_at(shown, at))
        {
            self.cursor = place;
            let at = pointer.unwrap_or_default();
            let way = if at.y < response.rect.top() {
                -1.0
            } else if at.y > response.rect.bottom() {
                1.0
            } else {
                0.0
            };
            if way != 0.0 {
                self.scroll_by(ui, way * LINE);
                ui.ctx().request_repaint();
            }
        }
        if response.double_clicked() {
            self.select_word();
        }
        if response.triple_clicked() {
            let line = self.cursor.line;
            self.anchor = Place { line, character: 0 };
            self.cursor = Place { line, character: self.lines.characters(line) };
        }
    }

    fn select_word(&mut self) {
        let Some(piece) = self.lines.piece(self.cursor.line) else { return };
        let first = piece.start;
        let characters: Vec<char> = piece.text.chars().collect();
        let word = |index: usize| characters.get(index).is_some_and(|c| c.is_alphanumeric() || *c == '_');
        let at = self.cursor.character.clamp(first, piece.end) - first;
        let (mut start, mut end) = (at, at);
        while start > 0 && word(start - 1) {
            start -= 1;
        }
        while word(end) {
            end += 1;
        }
        self.anchor.character = first + start;
        self.cursor.character = first + end;
    }

    /// How far a page goes, in points.
    fn far(&self) -> f32 {
        (self.page.floor() - 1.0).max(1.0) * LINE
    }

    fn keys(&mut self, ui: &Ui) {
        let (total, far) = (self.total(), self.far());
        for command in keys::pressed(ui, TEXT_KEYS) {
            match command {
                TextCommand::Scroll(step) => match step {
                    Step::Down => self.scroll_by(ui, LINE),
                    Step::Up => self.scroll_by(ui, -LINE),
                    Step::Right => self.left += 40.0,
                    Step::Left => self.left -= 40.0,
                    Step::PageDown => self.scroll_by(ui, far),
                    Step::PageUp => self.scroll_by(ui, -far),
                    Step::First => self.top = RowPosition::default(),
                    Step::Last => self.top = RowPosition::last(total, self.scroll_page()),
                    Step::RowStart => self.left = 0.0,
                    Step::RowEnd => self.left = self.widest,
                },
                TextCommand::SelectAll => {
                    self.anchor = Place::default();
                    self.cursor = Place { line: total.saturating_sub(1), character: usize::MAX };
                }
                TextCommand::Copy => self.copy(),
                TextCommand::Collapse => self.anchor = self.cursor,
            }
        }
    }

    fn copy(&mut self) {
        if let Some((from, to)) = self.selection() {
            self.copying = Some((from, to, Slot::default()));
        }
    }

    fn take_copy(&mut self, cx: &mut ViewCx<'_>) {
        let Some((from, to, slot)) = &self.copying else { return };
        if to.line - from.line > COPIED {
            let most = display::count(COPIED);
            cx.actions
                .push(Action::Notice(format!("More than {most} lines are selected. Export them instead")));
            self.copying = None;
            return;
        }
        let (text, from, to) = (self.text.clone(), *from, *to);
        let shown = slot.get(cx.jobs, &(), JobSpec::once("copying text"), move |task| {
            lines::copied(text.as_ref(), task, from, to, lines::COPIED)
        });
        match (shown.ready(), shown.error) {
            (Some(text), _) => cx.actions.push(Action::Copy((*text).clone())),
            (None, Some(error)) => cx.actions.push(Action::Notice(error.message())),
            (None, None) => return,
        }
        self.copying = None;
    }

    /// The long line that the buttons are about: the cursor's, else the first in sight.
    fn long(&self) -> Option<u64> {
        let near = [self.cursor.line, self.seen.start];
        near.into_iter().find(|line| self.seen.contains(line) && self.lines.is_long(*line))
    }

    /// The ways to the rest of a line of which a part is drawn.
    fn long_line(&mut self, ui: &mut Ui) {
        let Some(line) = self.long() else { return };
        let back = theme::icon_button(ui, Icon::CaretLeft, "Previous part of the long line").clicked();
        let on = theme::icon_button(ui, Icon::CaretRight, "Next part of the long line").clicked();
        if (back || on) && self.lines.step(line, on) {
            self.top = RowPosition { row: line, fraction: 0.0 };
            self.left = 0.0;
            self.reveal = None;
        }
        if theme::icon_button(ui, Icon::Document, "Read the whole line").clicked() {
            self.reading = Some((line, Slot::default()));
        }
    }

    fn take_reading(&mut self, cx: &mut ViewCx<'_>) {
        let Some((line, slot)) = &self.reading else { return };
        let (text, line) = (self.text.clone(), *line);
        let shown = slot.get(cx.jobs, &(), JobSpec::once("reading a line"), move |task| {
            lines::whole(text.as_ref(), task, line)
        });
        match (shown.ready(), shown.error) {
            (Some(read), _) => {
                let title = format!("{}: line {}", self.name, display::count(line + 1));
                cx.actions.push(Action::Read(title, read.text.clone()));
                if read.left_out > 0 {
                    let bytes = gander::bytes::display::bytes(read.left_out);
                    cx.actions.push(Action::Notice(format!("{bytes} more of this line are not shown")));
                }
            }
            (None, Some(error)) => cx.actions.push(Action::Notice(error.message())),
            (None, None) => return,
        }
        self.reading = None;
    }

    /// What stands at the left of the status bar.
    fn say(&self, cx: &mut ViewCx<'_>) {
        let line = display::count(self.cursor.line + 1);
        cx.status.under = match self.cursor.character {
            usize::MAX => format!("the end of line {line}"),
            character => format!("line {line}, column {}", character + 1),
        };
        let part = self.long().and_then(|line| Some((line, self.lines.piece(line)?)));
        cx.status.facts = match (self.selection(), part) {
            (Some((from, to)), _) => {
                format!("{} selected", gander::bytes::display::plural(to.line - from.line + 1, "line"))
            }
            (None, Some((line, piece))) => {
                let (from, to) = (display::count(piece.start as u64 + 1), display::count(piece.end as u64));
                format!("characters {from}–{to} of line {}", display::count(line + 1))
            }
            (None, None) => {
                self.text.source().known_len().map_or(String::new(), gander::bytes::display::bytes)
            }
        };
    }

    /// The encoding, where it can be said: what the text is read as.
    fn encoding_menu(&self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let shown = self.text.encoding();
        let has_encoding = |format: &&Format| format.options.iter().any(|spec| spec.name == ENCODING);
        let Some(target) = cx.target else { return };
        if target.reader().filter(has_encoding).is_none() {
            let words = theme::dim(Theme::of(ui), shown);
            ui.label(words).on_hover_text("The encoding of the text");
            return;
        }
        let mut options = target.options();
        let before = options.get(ENCODING).map(str::to_owned);
        drop_down(ui, &shown, "The encoding of the text", |ui| {
            let mut chosen = before.clone();
            ui.selectable_value(&mut chosen, None, "As found");
            for name in ENCODINGS {
                ui.selectable_value(&mut chosen, Some(name.to_owned()), name);
            }
            if chosen != before {
                match chosen {
                    Some(name) => options.set(ENCODING, name),
                    None => drop(options.0.remove(ENCODING)),
                }
                cx.actions.push(Action::Reopen(target.file, target.with_options(options)));
                ui.close();
            }
        });
    }

    fn paint(&self, ui: &Ui, gutter: Rect, body: Rect, shown: &[Shown]) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(gutter, 0.0, theme.bg1);
        ui.painter().vline(gutter.right() - 0.5, gutter.y_range(), theme.hairline());
        let painter = ui.painter().with_clip_rect(body);
        let numbers = ui.painter().with_clip_rect(gutter);
        for line in shown {
            let at = pos2(gutter.right() - space::CELL, line.place.top() + LINE / 2.0);
            let here = line.line == self.cursor.line;
            let color = if here { theme.text } else { theme.dim };
            numbers.text(at, Align2::RIGHT_CENTER, display::count(line.line + 1), mono_font(), color);
            if !self.lines.is_there(line.line) {
                let bar = Rect::from_min_size(pos2(body.left(), line.place.top() + 6.0), vec2(160.0, 6.0));
                painter.rect_filled(bar, 3.0, theme.bg3);
                continue;
            }
            let top = line.place.top() + text_top(&line.galley, line.place.height(), self.wrap);
            painter.galley(pos2(line.place.left(), top), line.galley.clone(), theme.text);
            let id = ui.scope_id().with(("line", line.line));
            let name = format!("Line {}", display::count(line.line + 1));
            spoken_line(ui, line.place.intersect(body), id, egui::accesskit::Role::Paragraph, &name, || {
                line.galley.text().to_owned()
            });
        }
    }

    fn content(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, area: Rect) {
        let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&mono_font(), '0'));
        let digits = display::count(self.total()).len().max(4) as f32;
        let edge = area.left() + digits * advance + 2.0 * space::CELL;
        let gutter = Rect::from_min_max(area.min, pos2(edge, area.bottom()));
        let low = area.bottom() - if self.wrap { 0.0 } else { size::SCROLL_BAR };
        let body = Rect::from_min_max(
            pos2(edge + space::S2, area.top()),
            pos2(area.right() - size::SCROLL_BAR, low),
        );
        self.page = (body.height() / LINE).max(1.0);
        self.width = if self.wrap { body.width() } else { f32::INFINITY };
        self.lines.set_wrap(self.wrap);
        if let Some(stretch) = self.go_to.take() {
            let line = stretch.0.line.min(self.total().saturating_sub(1));
            let above = (self.page / 3.0).floor() as u64;
            self.top = RowPosition { row: line.saturating_sub(above), fraction: 0.0 };
            self.reveal = Some(stretch);
        }
        self.take_reveal(ui, body);
        self.top = self.top.clamped(self.total(), self.scroll_page());
        let id = ui.scope_id().with("text");
        let response = ui.interact(body, id, Sense::click_and_drag());
        if cx.focus {
            response.request_focus();
        }
        if response.has_focus() {
            // Escape lets go of what is selected first, and then of the keyboard.
            let escape = self.selection().is_some();
            let filter =
                EventFilter { horizontal_arrows: true, vertical_arrows: true, escape, ..Default::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
            self.keys(ui);
        }
        let shown = self.lay_out(ui, body);
        self.mouse(ui, &response, &shown);
        self.scroll(ui, area);
        let rows = self.top.row..self.top.row + shown.len().max(1) as u64 + self.page as u64;
        self.lines.want(cx.jobs, rows.start.saturating_sub(self.page as u64)..rows.end);
        self.paint(ui, gutter, body, &shown);
        self.bars(ui, area, body);
        response.context_menu(|ui| {
            if ui.add_enabled(self.selection().is_some(), egui::Button::new("Copy")).clicked() {
                self.copy();
                ui.close();
            }
        });
        let name = self.name.clone();
        ui.ctx().accesskit_node_builder(id, |node| {
            node.set_role(egui::accesskit::Role::Document);
            node.set_label(name);
        });
    }
}

/// How far to scroll to the right for a stretch to be in sight: not at all where it is, else so that there is
/// something to be seen before it.
fn across(left: f32, width: f32, start: f32, end: f32) -> f32 {
    if start >= left && end <= left + width {
        left
    } else if end <= width {
        0.0
    } else {
        (start - width / 3.0).max(0.0)
    }
}

/// A line that is not wrapped stands in the middle of its row.
fn text_top(galley: &Galley, height: f32, wrap: bool) -> f32 {
    if wrap {
        (LINE - galley.rows.first().map_or(LINE, |row| row.height())) / 2.0
    } else {
        (height - galley.size().y) / 2.0
    }
}

const COMMANDS: &[ViewCommand<TextView>] =
    &[ViewCommand::new(Label::new("Wrap long lines, or not", Icon::Wrap).keys(ALT, Key::W), |view, _| {
        view.wrap = !view.wrap;
        true
    })];

impl View for TextView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = Theme::of(ui);
        let lines = self.text.lines();
        let words = format!("{lines} lines");
        let color = if lines.exact().is_some() { theme.dim } else { theme.warn };
        // Where there is no room the inspector says it alone.
        if ui.max_rect().width() >= NARROW {
            ui.label(egui::RichText::new(words).color(color));
        }
        self.encoding_menu(ui, cx);
        let words = if self.wrap { "Do not wrap lines" } else { "Wrap long lines" };
        if theme::icon_button(ui, Icon::Wrap, words).clicked() {
            self.wrap = !self.wrap;
            self.left = 0.0;
        }
        self.long_line(ui);
        let from = self.selection().map_or(Place { line: self.top.row, character: 0 }, |(from, _)| from);
        if let Some((start, end)) = self.find.ui(ui, cx, &self.text, from) {
            (self.anchor, self.cursor) = (start, end);
            self.go_to = Some((start, end));
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = Theme::of(ui);
        self.start_count(cx);
        let area = ui.available_rect_before_wrap();
        ui.allocate_rect(area, Sense::hover());
        let mut main = area;
        if let Some(error) = self.lines.error() {
            let line = Rect::from_min_max(pos2(area.left(), area.bottom() - 30.0), area.max);
            ui.painter().rect_filled(line, 0.0, theme.tint(theme.bad));
            let mut child = ui.new_child(UiBuilder::new().max_rect(line.shrink(5.0)).id_salt("failed"));
            child.add(egui::Label::new(egui::RichText::new(error.to_string()).color(theme.bad)).truncate());
            main.max.y = line.top();
        }
        if self.text.lines().exact() == Some(0) {
            theme::empty_state(ui, Icon::Document, "No lines", "");
            return;
        }
        let mut child = ui.new_child(UiBuilder::new().max_rect(main).id_salt("content"));
        child.shrink_clip_rect(main);
        self.content(&mut child, cx, main);
        self.take_copy(cx);
        self.take_reading(cx);
        self.say(cx);
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn request(&mut self, request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::GoTo(text) => {
                let digits: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
                let Ok(line) = digits.parse::<u64>() else { return false };
                let line = line.saturating_sub(1);
                self.cursor = Place { line, character: 0 };
                self.anchor = self.cursor;
                self.go_to = Some((self.cursor, self.cursor));
                true
            }
            Request::Find => {
                self.find.focus();
                true
            }
            _ => false,
        }
    }

    fn save(&self) -> Value {
        saved(&TextState { top: Some(self.top), wrap: self.wrap })
    }

    fn restore(&mut self, kept: &Value) {
        let state: TextState = restored(kept);
        self.top = state.top.unwrap_or(self.top);
        self.wrap = state.wrap;
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TextState {
    top: Option<RowPosition>,
    wrap: bool,
}
