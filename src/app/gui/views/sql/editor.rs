//! The text of statements: its colours, the numbers of its lines, names that complete a word.

use std::ops::Range;

use egui::text::{CCursor, CCursorRange};
use egui::{
    Align2, Area, Frame, Id, Key, Modifiers, Order, Rect, ScrollArea, Sense, TextEdit, Ui, pos2, vec2,
};
use gander::query::{Registered, statement_at, statements};

use super::code;
use super::complete::{self, Choice, What, Word};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_font, mono_small_font, size, small_font, space};
use crate::gui::ui::paint_elided;

/// The room for the numbers of lines.
const GUTTER: f32 = 40.0;
/// The width of the list of names.
const LIST: f32 = 320.0;

/// How many frames typing is news.
const FRESH: u8 = 3;

/// The names that are offered at a word.
struct Offer {
    word: Word,
    choices: Vec<Choice>,
    at: usize,
}

/// The state of the editor.
#[derive(Default)]
pub(super) struct Editor {
    pub(super) text: String,
    /// The bytes where the cursor stands, and those that are selected.
    cursor: usize,
    selected: Range<usize>,
    offer: Option<Offer>,
    /// For so many frames more something was just typed.
    fresh: u8,
    /// The cursor is to go there, and the keyboard to the text.
    go: Option<usize>,
    focused: bool,
    /// Of the field, once it was drawn.
    id: Option<egui::Id>,
}

impl Editor {
    /// Puts the cursor at a byte of the text.
    pub(super) fn go_to(&mut self, at: usize) {
        self.go = Some(at);
    }

    /// Writes another text.
    pub(super) fn replace(&mut self, text: String) {
        self.go = Some(text.len());
        self.text = text;
        self.offer = None;
    }

    /// Offers nothing more at the word that was typed last.
    pub(super) fn close_offer(&mut self) {
        self.offer = None;
        self.fresh = 0;
    }

    /// Writes something at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        let mut at = self.cursor.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        self.text.insert_str(at, text);
        self.go = Some(at + text.len());
    }

    /// The statements to run: those of the selection, or all.
    pub(super) fn wanted(&self) -> Vec<Range<usize>> {
        let part = self.selected.clone();
        match self.text.get(part.clone()).filter(|text| !text.trim().is_empty()) {
            Some(text) => {
                statements(text).into_iter().map(|r| r.start + part.start..r.end + part.start).collect()
            }
            None => statements(&self.text),
        }
    }

    /// The statement at the cursor.
    pub(super) fn here(&self) -> Option<Range<usize>> {
        statement_at(&self.text, self.cursor)
    }

    /// The field of the statements, once it was drawn.
    pub(super) fn id(&self) -> Option<egui::Id> {
        self.id
    }

    /// Draws the text into all that is left of `ui`; what is `wrong` is underlined. `active` for the tab
    /// that has the keyboard.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        known: &[Registered],
        wrong: Option<Range<usize>>,
        active: bool,
    ) {
        let area = ui.available_rect_before_wrap();
        let id = ui.make_persistent_id("statement");
        self.id = Some(id);
        let focused = ui.memory(|memory| memory.has_focus(id));
        let taken = self.keys(ui, focused);
        let underlined = wrong.clone();
        let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, width: f32| {
            let job = code::highlighted(text.as_str(), Theme::of(ui), underlined.clone(), width);
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        let margin = egui::Margin { left: GUTTER as i8 + 8, right: 10, top: 8, bottom: 8 };
        let output = ScrollArea::vertical()
            .id_salt("statement")
            .auto_shrink(false)
            .show(ui, |ui| {
                let field = TextEdit::multiline(&mut self.text)
                    .id(id)
                    .font(mono_font())
                    .code_editor()
                    .frame(Frame::NONE.inner_margin(margin))
                    .hint_text("SELECT …")
                    .desired_width(f32::INFINITY)
                    .min_size(vec2(0.0, area.height() - 2.0))
                    .layouter(&mut layouter)
                    .show(ui);
                self.gutter(ui, &field, area, wrong.as_ref());
                field
            })
            .inner;
        output.response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::MultilineTextInput, true, "SQL statements")
        });
        if !std::mem::replace(&mut self.focused, true) && active {
            output.response.request_focus();
        }
        let escaped =
            self.offer.is_some() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
        // Escape closes the list and takes the keyboard away; it belongs to the text still.
        if self.offer.is_some() && !output.response.has_focus() && escaped {
            output.response.request_focus();
            self.offer = None;
        }
        let moved = self.follow(&output);
        let asked = focused && ui.input_mut(|i| i.consume_key(Modifiers::CTRL, Key::Space));
        if output.response.changed() || asked {
            self.look(known);
            self.fresh = FRESH;
        } else if moved {
            // What is typed may move the cursor a frame later; else the list goes with its word.
            let word = self.offer.as_ref().map(|offer| offer.word.start);
            if word.is_some() || self.fresh > 0 {
                self.look(known);
            }
            let same = self.offer.as_ref().map(|offer| offer.word.start) == word;
            if !same && self.fresh == 0 {
                self.offer = None;
            }
        } else if ui.memory(|memory| memory.focused().is_some_and(|other| other != id)) && !self.pointed(ui) {
            self.offer = None;
        }
        self.fresh = self.fresh.saturating_sub(1);
        let clicked = self.list(ui, &output);
        if let Some(choice) = taken.or(clicked) {
            self.complete(choice);
        }
        self.put_cursor(ui, id, output.state);
    }

    /// The keys of the list of names, before the text sees them; a choice that is taken.
    fn keys(&mut self, ui: &Ui, focused: bool) -> Option<usize> {
        let offer = self.offer.as_mut().filter(|_| focused)?;
        let last = offer.choices.len().saturating_sub(1);
        let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if pressed(Key::ArrowDown) {
            offer.at = if offer.at == last { 0 } else { offer.at + 1 };
        }
        if pressed(Key::ArrowUp) {
            offer.at = if offer.at == 0 { last } else { offer.at - 1 };
        }
        (pressed(Key::Tab) || pressed(Key::Enter)).then_some(offer.at)
    }

    /// Takes where the cursor is; whether it went elsewhere.
    fn follow(&mut self, output: &egui::text_edit::TextEditOutput) -> bool {
        let Some(range) = output.cursor_range else { return false };
        let byte = |index: usize| self.text.char_indices().nth(index).map_or(self.text.len(), |(at, _)| at);
        let chars = range.as_sorted_char_range();
        let cursor = byte(range.primary.index.0);
        self.selected = byte(chars.start.0)..byte(chars.end.0);
        std::mem::replace(&mut self.cursor, cursor) != cursor
    }

    /// Looks for names that complete the word at the cursor.
    fn look(&mut self, known: &[Registered]) {
        self.offer = None;
        let Some(word) = complete::word_before(&self.text, self.cursor) else { return };
        let statement = self.here().filter(|range| range.contains(&word.start) || range.end == word.start);
        let statement = statement.unwrap_or(0..self.text.len());
        let choices = complete::choices(&self.text, statement, &word, known);
        if !choices.is_empty() {
            self.offer = Some(Offer { word, choices, at: 0 });
        }
    }

    /// Whether the pointer is over the list.
    fn pointed(&self, ui: &Ui) -> bool {
        let id = list_id(ui);
        let Some(rect) = ui.memory(|memory| memory.area_rect(id)) else { return false };
        self.offer.is_some() && ui.input(|i| i.pointer.interact_pos()).is_some_and(|at| rect.contains(at))
    }

    /// Writes a name for the word.
    fn complete(&mut self, at: usize) {
        let Some(offer) = self.offer.take() else { return };
        let Some(choice) = offer.choices.get(at) else { return };
        let end = offer.word.start + offer.word.text.len();
        if self.text.get(offer.word.start..end) == Some(offer.word.text.as_str()) {
            self.text.replace_range(offer.word.start..end, &choice.text);
            self.go = Some(offer.word.start + choice.text.len());
        }
    }

    fn put_cursor(&mut self, ui: &Ui, id: Id, mut state: egui::text_edit::TextEditState) {
        let Some(at) = self.go.take() else { return };
        let place = self.text.get(..at).map_or(0, |before| before.chars().count());
        state.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(place))));
        state.store(ui.ctx(), id);
        self.cursor = at;
        self.selected = at..at;
        ui.memory_mut(|memory| memory.request_focus(id));
        ui.ctx().request_repaint();
    }

    /// The numbers of the lines, a mark beside the statement at the cursor, one at the line that is wrong.
    fn gutter(
        &self,
        ui: &Ui,
        output: &egui::text_edit::TextEditOutput,
        area: Rect,
        wrong: Option<&Range<usize>>,
    ) {
        let theme = Theme::of(ui);
        let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
        let strip = Rect::from_min_size(area.min, vec2(GUTTER, area.height()));
        painter.rect_filled(strip, 0.0, theme.bg1);
        painter.vline(strip.right() + 0.5, strip.y_range(), theme.hairline());
        let origin = output.galley_pos;
        let line_of = |byte: usize| self.text.get(..byte).map_or(0, |before| before.matches('\n').count());
        let bad = wrong.map(|range| line_of(range.start));
        let several = statements(&self.text).len() > 1;
        let here = self.here().filter(|_| several).map(|range| line_of(range.start)..=line_of(range.end));
        let (mut line, mut begins) = (0, true);
        for row in &output.galley.rows {
            let rect = row.rect().translate(origin.to_vec2());
            if here.as_ref().is_some_and(|lines| lines.contains(&line)) {
                let mark = Rect::from_min_max(
                    pos2(strip.right() - 2.0, rect.top()),
                    pos2(strip.right(), rect.bottom()),
                );
                painter.rect_filled(mark, 0.0, theme.accent);
            }
            if begins {
                let color = if bad == Some(line) { theme.bad } else { theme.faint };
                let at = pos2(strip.right() - 8.0, rect.center().y);
                painter.text(at, Align2::RIGHT_CENTER, (line + 1).to_string(), mono_small_font(), color);
                if bad == Some(line) {
                    painter.circle_filled(pos2(strip.left() + 7.0, rect.center().y), 3.0, theme.bad);
                }
            }
            begins = row.ends_with_newline;
            line += usize::from(begins);
        }
    }

    /// The names below the cursor; one that was clicked.
    fn list(&self, ui: &Ui, output: &egui::text_edit::TextEditOutput) -> Option<usize> {
        let offer = self.offer.as_ref()?;
        let theme = Theme::of(ui);
        let place = self.text.get(..offer.word.start).map_or(0, |before| before.chars().count());
        let caret = output.galley.pos_from_cursor(CCursor::new(place)).translate(output.galley_pos.to_vec2());
        let mut clicked = None;
        let area =
            Area::new(list_id(ui)).order(Order::Foreground).fixed_pos(caret.left_bottom() + vec2(-26.0, 3.0));
        area.constrain(true).show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).inner_margin(space::S1).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.set_width(LIST);
                for (n, choice) in offer.choices.iter().enumerate() {
                    if row(ui, theme, choice, n == offer.at) {
                        clicked = Some(n);
                    }
                }
                ui.add_space(2.0);
                let words = egui::RichText::new("Tab or Enter writes it · Esc closes").font(small_font());
                ui.label(words.color(theme.dim));
            });
        });
        clicked
    }
}

fn list_id(ui: &Ui) -> Id {
    ui.make_persistent_id("names")
}

/// A name that is offered; whether it was clicked.
fn row(ui: &mut Ui, theme: &Theme, choice: &Choice, chosen: bool) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(LIST, size::ROW - 2.0), Sense::click());
    let (icon, word, color) = match choice.what {
        What::Column => (Icon::Columns, "column", theme.text),
        What::Table => (Icon::Table, "table", theme.text),
        What::Function => (Icon::Function, "function", theme.warn),
        What::Keyword => (Icon::Query, "keyword", theme.accent),
    };
    let spoken = format!("{}, {word} {}", choice.text, choice.note);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, chosen, spoken.trim()));
    if chosen || response.hovered() {
        let fill = if chosen { theme.selection } else { theme.bg3 };
        ui.painter().rect_filled(rect, size::CORNER, fill);
    }
    let middle = rect.center().y;
    let glyph = egui::FontId::new(size::TEXT, theme::icon_family());
    ui.painter().text(pos2(rect.left() + 6.0, middle), Align2::LEFT_CENTER, icon.glyph(), glyph, theme.dim);
    let text = ui.painter().text(
        pos2(rect.left() + 26.0, middle),
        Align2::LEFT_CENTER,
        &choice.text,
        mono_font(),
        color,
    );
    let (at, room) = (pos2(rect.right() - 6.0, middle), rect.right() - text.right() - 20.0);
    paint_elided(ui.painter(), at, Align2::RIGHT_CENTER, &choice.note, small_font(), theme.dim, room);
    response.clicked()
}
