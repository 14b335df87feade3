//! A text of any length: where its rows begin is worked out by a job, only the rows in sight are laid out, and what is
//! searched for is found by a job. A short text is one label, as anywhere else.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use egui::accesskit::Role;
use egui::{Key, Label, Layout, Modifiers, Rect, ScrollArea, TextEdit, Ui, UiBuilder};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::keys::{self, Keys};
use super::list::{List, ListShown};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// How a long text is scrolled by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scroll {
    Lines(i64),
    Pages(i64),
    First,
    Last,
}

/// The keys of long texts.
pub(crate) static KEYS: &[Keys<Scroll>] = &[Keys::new(
    "Up, Down, Page Up, Page Down, Home, End",
    "Scroll a long text",
    &[
        (Modifiers::NONE, Key::ArrowUp, Scroll::Lines(-1)),
        (Modifiers::NONE, Key::ArrowDown, Scroll::Lines(1)),
        (Modifiers::NONE, Key::PageUp, Scroll::Pages(-1)),
        (Modifiers::NONE, Key::PageDown, Scroll::Pages(1)),
        (Modifiers::NONE, Key::Home, Scroll::First),
        (Modifiers::NONE, Key::End, Scroll::Last),
    ],
)];

/// Texts of at most so many bytes are one label.
const LABEL: usize = 16 << 10;
/// The rows of texts of at most so many bytes are worked out at once.
const SOON: usize = 64 << 10;
/// The height of a row.
const ROW: f32 = 18.0;
/// Rows are worked out anew where the width changes by so many points.
const WIDTHS: f32 = 8.0;
/// A row has at most so many characters, however narrow they are.
const LETTERS: usize = 2_000;
/// Bytes between two looks at whether a job is still wanted.
const STEP: usize = 1 << 20;
/// More matches are not looked for.
const MATCHES: usize = 1_000_000;

/// The state of a text on screen.
#[derive(Default)]
pub(crate) struct LongText {
    text: Option<Arc<str>>,
    /// Counts up with each text.
    version: u64,
    slot: Slot<Wanted, Rows>,
    /// The rows that were drawn last.
    rows: Option<Arc<Rows>>,
    list: List,
    find: Find,
    /// A byte that is to come into sight.
    reveal: Option<usize>,
    /// How many bytes were laid out in the last frame.
    laid_out: usize,
}

/// Rows of which text, and how wide.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    version: u64,
    width: f32,
}

/// Where the rows of a text begin.
struct Rows {
    wanted: Wanted,
    starts: Vec<usize>,
}

/// What is searched for, and where it was found.
#[derive(Default)]
struct Find {
    text: String,
    slot: Slot<(u64, String), Found>,
    /// Which of the matches is the current one.
    at: usize,
    /// The first match of the newest search was brought into sight.
    shown: bool,
}

#[derive(Default)]
struct Found {
    places: Vec<Range<usize>>,
    /// Whether there may be more.
    more: bool,
}

impl LongText {
    /// Draws `text` into all that is left of `ui`: a short one as one label that wraps and can be selected.
    pub(crate) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, text: &Arc<str>) {
        self.take(text);
        if text.len() > LABEL {
            self.rows_ui(ui, jobs);
            return;
        }
        self.laid_out = text.len();
        let color = Theme::of(ui).text;
        ScrollArea::vertical().id_salt(self.version).auto_shrink(false).show(ui, |ui| {
            ui.add(Label::new(theme::mono(&**text).color(color)).wrap().selectable(true));
        });
    }

    /// The same in rows, however short it is; what was searched for stands out.
    pub(crate) fn rows_ui_of(&mut self, ui: &mut Ui, jobs: &Jobs, text: &Arc<str>) {
        self.take(text);
        self.rows_ui(ui, jobs);
    }

    /// How many bytes were laid out in the last frame.
    #[cfg(test)]
    pub(crate) fn laid_out(&self) -> usize {
        self.laid_out
    }

    /// How many rows it has, as far as that is known.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.starts.len())
    }

    /// Shows another text from its beginning.
    fn take(&mut self, text: &Arc<str>) {
        if self.text.as_ref().is_some_and(|known| Arc::ptr_eq(known, text)) {
            return;
        }
        self.text = Some(text.clone());
        self.version += 1;
        self.rows = None;
        self.reveal = None;
        self.list.scroll_to(0);
        self.find.anew();
    }

    fn rows_ui(&mut self, ui: &mut Ui, jobs: &Jobs) {
        self.laid_out = 0;
        let Some(text) = self.text.clone() else { return };
        let room = ui.available_width() - size::SCROLL_BAR - space::S1;
        let wanted = Wanted { version: self.version, width: (room / WIDTHS).floor().max(1.0) * WIDTHS };
        self.want(ui, jobs, &text, wanted);
        let Some(rows) = self.rows.clone() else {
            theme::pending(ui, ui.unique_id().with(("text", self.version)), "laying out the text …");
            return;
        };
        if let Some(byte) = self.reveal.take() {
            self.list.reveal(rows.row_of(byte) as u64);
        }
        let theme = Theme::of(ui);
        let found = self.find.found(self.version);
        let current = found.as_ref().and_then(|found| found.places.get(self.find.at)).cloned();
        let mut laid_out = 0;
        let shown = self.list.ui(ui, "Text", rows.starts.len() as u64, ROW, |ui, place, row| {
            let range = rows.range(row as usize, text.len());
            let line = text.get(range.clone()).unwrap_or_default();
            if let Some(found) = &found
                && found.touches(&range)
            {
                let strong = current.as_ref().is_some_and(|at| at.start < range.end && range.start < at.end);
                let fill = if strong { theme.selection } else { theme.selected_cell() };
                ui.painter().rect_filled(place, 2.0, fill);
            }
            laid_out += range.len();
            let line = line.trim_end_matches(['\n', '\r']);
            draw(ui, place, row, line);
            let id = ui.scope_id().with(("spoken", row));
            super::spoken_line(ui, place, id, Role::Paragraph, &format!("Row {}", row + 1), || {
                line.to_owned()
            });
        });
        self.laid_out = laid_out;
        ui.ctx().accesskit_node_builder(shown.response.id, |node| {
            node.set_role(Role::Document);
            node.set_label("Long text");
        });
        self.keys(ui, &shown, rows.starts.len() as u64);
    }

    /// Scrolls by keys while it has the keyboard.
    fn keys(&mut self, ui: &Ui, shown: &ListShown, rows: u64) {
        if !shown.response.has_focus() {
            return;
        }
        let filter = egui::EventFilter { vertical_arrows: true, ..Default::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(shown.response.id, filter));
        let (top, page, last) = (self.list.top(), shown.page.max(1), rows.saturating_sub(1));
        for scroll in keys::pressed(ui, KEYS) {
            let to = match scroll {
                Scroll::Lines(by) => top.saturating_add_signed(by),
                Scroll::Pages(by) => top.saturating_add_signed(by * i64::try_from(page).unwrap_or(1)),
                Scroll::First => 0,
                Scroll::Last => last,
            };
            self.list.scroll_to(to.min(last));
            ui.ctx().request_repaint();
        }
    }

    /// Asks for the rows of this width; those of another one stay until they are there.
    fn want(&mut self, ui: &Ui, jobs: &Jobs, text: &Arc<str>, wanted: Wanted) {
        if self.rows.as_ref().is_some_and(|rows| rows.wanted == wanted) {
            return;
        }
        let mut width = letters(ui.ctx());
        let come = match text.len() <= SOON {
            true => broken(None, text, wanted.width, &mut width).ok(),
            false => None,
        };
        let come = come.map(|starts| Arc::new(Rows { wanted, starts })).or_else(|| {
            let text = text.clone();
            let shown = self.slot.get(jobs, &wanted, JobSpec::view("laying out a text"), move |task| {
                Ok(Rows { wanted, starts: broken(Some(task), &text, wanted.width, &mut width)? })
            });
            shown.ready()
        });
        let Some(come) = come else { return };
        // What stands at the top stays there.
        if let Some(old) = self.rows.replace(come.clone()) {
            let byte = old.starts.get(self.list.top() as usize).copied().unwrap_or(0);
            self.list.scroll_to(come.row_of(byte) as u64);
        }
    }

    /// Draws the field for a search, the ways to the matches and their number.
    pub(crate) fn find_ui(&mut self, ui: &mut Ui, jobs: &Jobs) {
        let theme = Theme::of(ui);
        let edit =
            TextEdit::singleline(&mut self.find.text).hint_text("Search in the text").desired_width(240.0);
        let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
        edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search in the text"));
        if edit.changed() {
            self.find.anew();
        }
        let enter = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if enter {
            edit.request_focus();
        }
        let back = theme::icon_button(ui, Icon::CaretUp, "Previous").clicked();
        let on = theme::icon_button(ui, Icon::CaretDown, "Next").clicked() || enter;
        let Some(text) = self.text.clone().filter(|_| !self.find.text.is_empty()) else { return };
        let (key, wanted) = ((self.version, self.find.text.clone()), self.find.text.clone());
        let shown = self
            .find
            .slot
            .get(jobs, &key, JobSpec::scan("searching in a text"), move |task| search(task, &text, &wanted));
        let Some(found) = shown.ready() else {
            let failed = shown.error.is_some();
            ui.label(theme::dim(theme, if failed { "the search was stopped" } else { "searching …" }));
            return;
        };
        let count = found.places.len();
        let first = !std::mem::replace(&mut self.find.shown, true);
        if count > 0 && (back || on || first) {
            self.find.at = match (first, back) {
                (true, _) => 0,
                (_, true) => (self.find.at + count - 1) % count,
                (_, false) => (self.find.at + 1) % count,
            };
            self.reveal = found.places.get(self.find.at).map(|place| place.start);
        }
        let words = match (count, found.more) {
            (0, _) => "not found".to_owned(),
            (count, more) => {
                let of = if more { "the first " } else { "" };
                format!("{} of {of}{}", display::count(self.find.at as u64 + 1), display::count(count as u64))
            }
        };
        ui.label(theme::dim(theme, words));
    }
}

impl Find {
    /// Searches again, from the first match on.
    fn anew(&mut self) {
        (self.at, self.shown) = (0, false);
    }

    fn found(&self, version: u64) -> Option<Arc<Found>> {
        let shown = self.slot.peek(&(version, self.text.clone()));
        shown.ready().filter(|_| !self.text.is_empty())
    }
}

impl Found {
    /// Whether a match lies, even partly, in a place.
    fn touches(&self, place: &Range<usize>) -> bool {
        let first = self.places.partition_point(|found| found.end <= place.start);
        self.places.get(first).is_some_and(|found| found.start < place.end)
    }
}

impl Rows {
    /// The row in which a byte stands.
    fn row_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The bytes of a row, with the end of its line.
    fn range(&self, row: usize, end: usize) -> Range<usize> {
        let start = self.starts.get(row).copied().unwrap_or(end);
        start..self.starts.get(row + 1).copied().unwrap_or(end).max(start)
    }
}

/// A row as text that can be selected.
fn draw(ui: &mut Ui, place: Rect, row: u64, line: &str) {
    let color = Theme::of(ui).text;
    let builder = UiBuilder::new()
        .max_rect(place)
        .id_salt(("row", row))
        .layout(Layout::left_to_right(egui::Align::Center));
    let mut child = ui.new_child(builder);
    child.add(Label::new(theme::mono(line).color(color)).extend().selectable(true));
}

/// How wide letters are; each is asked for once.
fn letters(ctx: &egui::Context) -> impl FnMut(char) -> f32 + Send + use<> {
    let (context, font) = (ctx.clone(), theme::mono_font());
    let mut few = [f32::NAN; 128];
    let mut known: HashMap<char, f32> = HashMap::new();
    move |letter| {
        let ask = || context.fonts_mut(|fonts| fonts.glyph_width(&font, letter));
        match few.get_mut(letter as usize) {
            Some(width) if width.is_nan() => {
                *width = ask();
                *width
            }
            Some(width) => *width,
            None => *known.entry(letter).or_insert_with(ask),
        }
    }
}

/// Where rows begin so that none is wider than `room`; each line of the text begins one. `task` is that of the job, which a
/// short text does without.
fn broken(
    task: Option<&Task>,
    text: &str,
    room: f32,
    mut width: impl FnMut(char) -> f32,
) -> Result<Vec<usize>> {
    let mut starts = vec![0];
    let (mut start, mut used, mut letters, mut looked) = (0, 0.0, 0, 0);
    for (at, letter) in text.char_indices() {
        if at - looked >= STEP {
            task.map_or(Ok(()), Task::check)?;
            looked = at;
        }
        if letter == '\n' {
            (start, used, letters) = (at + 1, 0.0, 0);
            starts.push(start);
            continue;
        }
        let wide = if letter == '\r' { 0.0 } else { width(letter) };
        if at > start && (used + wide > room || letters >= LETTERS) {
            (start, used, letters) = (at, 0.0, 0);
            starts.push(start);
        }
        used += wide;
        letters += 1;
    }
    Ok(starts)
}

/// Where `wanted` stands, whatever the case of its letters.
fn search(task: &Task, text: &str, wanted: &str) -> Result<Found> {
    let mut found = Found::default();
    let pattern = regex::RegexBuilder::new(&regex::escape(wanted)).case_insensitive(true).build();
    // A text that is too long to be searched for is not in there either.
    let Ok(pattern) = pattern else { return Ok(found) };
    let mut start = 0;
    while start < text.len() {
        task.check()?;
        // What is searched for lies within a line.
        let enough = text.as_bytes().get((start + STEP).min(text.len())..).unwrap_or_default();
        let end = memchr::memchr(b'\n', enough).map_or(text.len(), |at| start + STEP + at + 1);
        let end = window_end(text, start, end, wanted);
        let part = text.get(start..end).unwrap_or_default();
        for (n, place) in pattern.find_iter(part).enumerate() {
            if n % 4096 == 0 {
                task.check()?;
            }
            if found.places.len() >= MATCHES {
                found.more = true;
                return Ok(found);
            }
            found.places.push(start + place.start()..start + place.end());
        }
        // What begins at the end of a part of a line is found in the next one.
        let cut = end < text.len() && !part.ends_with('\n');
        let begun = found.places.last().map_or(start, |place| place.end).max(start);
        start =
            if cut { text.floor_char_boundary(end - overlap(wanted)).max(begun).max(start + 1) } else { end };
        start = text.ceil_char_boundary(start);
    }
    Ok(found)
}

/// Bytes that two parts of one line share: letters of another case may have more bytes.
fn overlap(wanted: &str) -> usize {
    wanted.len().saturating_mul(4)
}

/// Where a part of a text ends that is searched in one piece: a long line is searched in several.
fn window_end(text: &str, start: usize, end: usize, wanted: &str) -> usize {
    let most = STEP.saturating_mul(8).max(overlap(wanted).saturating_mul(4));
    if end - start <= most { end } else { text.floor_char_boundary(start + most) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn all_of_a_long_line_stands_in_some_row() {
        let text = "äöü東京abc\n\nxy\r\n";
        let width = |letter: char| if letter > '\u{3000}' { 2.0 } else { 1.0 };
        let rows = |room| {
            let starts = broken(None, text, room, width).unwrap();
            let rows = Rows { wanted: Wanted { version: 1, width: room }, starts };
            let rows: Vec<String> =
                (0..rows.starts.len()).map(|row| text[rows.range(row, text.len())].to_owned()).collect();
            assert_eq!(rows.concat(), text);
            rows
        };
        assert_eq!(rows(4.0), ["äöü", "東京", "abc\n", "\n", "xy\r\n", ""]);
        // Where nothing fits there is still a letter in each row.
        assert_eq!(rows(0.5).len(), 13);
        let narrow = "\u{301}".repeat(3 * LETTERS);
        assert_eq!(broken(None, &narrow, 4.0, |_| 0.0).unwrap().len(), 3);
    }

    #[test]
    fn matches_are_found_in_every_line_and_case() {
        let long = format!("{}Äpfel\n{}äPFEL\n.", "x\n".repeat(STEP), "y".repeat(3 * STEP));
        let found = search(&Task::new(), &long, "äpfel").unwrap();
        let texts: Vec<&str> = found.places.iter().map(|place| &long[place.clone()]).collect();
        assert_eq!(texts, ["Äpfel", "äPFEL"]);
        assert_eq!(search(&Task::new(), &long, ".").unwrap().places.len(), 1);
        let at = found.places[1].clone();
        assert!(found.touches(&(at.start + 1..at.end)) && !found.touches(&(at.end..at.end + 9)));
    }

    struct Shown {
        text: Arc<str>,
        long: LongText,
        jobs: Jobs,
    }

    fn harness(text: String) -> Harness<'static, Shown> {
        let shown = Shown { text: text.into(), long: LongText::default(), jobs: Jobs::new(|| {}) };
        Harness::builder()
            .with_size(egui::vec2(600.0, 400.0))
            .with_context_setup(theme::apply)
            .allow_missing_glyphs()
            .build_ui_state(
                |ui, shown: &mut Shown| {
                    ui.horizontal(|ui| shown.long.find_ui(ui, &shown.jobs));
                    shown.long.ui(ui, &shown.jobs, &shown.text);
                },
                shown,
            )
    }

    fn until(harness: &mut Harness<'_, Shown>, done: impl Fn(&Harness<'_, Shown>) -> bool) {
        let started = Instant::now();
        while !done(harness) {
            assert!(started.elapsed() < Duration::from_secs(60), "it does not come");
            harness.step();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn of_twenty_megabytes_only_what_is_in_sight_is_laid_out() {
        let words = "lorem ipsum dolor ".repeat(1_100_000);
        let mut harness = harness(format!("the beginning {words} the needle at the end"));
        until(&mut harness, |harness| harness.query_by_label_contains("the beginning").is_some());
        assert!(harness.state().long.rows() > 100_000);
        harness.get_by_label("Search in the text").focus();
        harness.step();
        harness.get_by_label("Search in the text").type_text("NEEDLE");
        until(&mut harness, |harness| harness.query_by_label("1 of 1").is_some());
        (0..3).for_each(|_| harness.step());
        assert!(harness.query_by_label_contains("at the end").is_some());
        let most = harness.state().long.laid_out();
        assert!((100..8_000).contains(&most), "{most} bytes were laid out in one frame");
    }

    #[test]
    fn a_short_text_is_one_label() {
        let mut harness = harness("one\ntwo".to_owned());
        harness.step();
        assert!(harness.query_by_label("one\ntwo").is_some());
    }
}
