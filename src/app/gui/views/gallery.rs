//! The rows of a table that has pictures, sounds or arrays, as small pictures with labels: as many rows as there are, of
//! which only those in sight are read. A mode of the view of a table.
//!
//! - `thumbs`: the pictures that are in memory; `tile`: how one looks, with its boxes, key points and mask;
//! - `bar`: what is shown, and how large; `selected`: which rows are selected.

mod bar;
mod selected;
#[cfg(test)]
mod tests;
mod thumbs;
mod tile;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use egui::{EventFilter, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::content::Table;
use gander::data::media::{BoxFormat, LabelColumn, Media, MediaColumn, Place};
use gander::data::node::Value;
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::{Deserialize, Serialize};

use super::keys::{GALLERY_COLLAPSE, GALLERY_KEYS, GalleryCommand, Step};
use super::{Target, ViewCx};
use crate::gui::grid::Decoration;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{RowPosition, ScrollBar, Scrolled, keys};
pub(super) use bar::Asked;
use selected::SelectedRows;
use thumbs::{ThumbRequest, Thumbs};

/// The smallest and the largest picture, in points.
const SIDES: std::ops::RangeInclusive<f32> = 56.0..=360.0;
/// The height of pictures in cells, in points.
const CELL: f32 = 64.0;
/// Between two pictures.
const GAP: f32 = 14.0;
/// The line below a picture, and the space below that.
const LINE: f32 = 20.0;
const BELOW: f32 = 14.0;
/// The height of a picture for its width.
const PROPORTION: f32 = 0.88;
/// How many rows the first step of a search for the next of a class reads, and the most: the next row may be it.
const FIRST_STEP: u64 = 64;
const STEP: u64 = 65_536;

/// What is shown of each row, as a session keeps it. Columns are kept by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct GalleryState {
    column: String,
    label: String,
    caption: String,
    side: f32,
    /// Whether small pictures are kept on disk.
    keep: bool,
    hide_boxes: bool,
    hide_mask: bool,
    hide_points: bool,
    boxes: Option<BoxFormat>,
    /// The numbers of rows in the table itself.
    pub(super) flags: BTreeSet<u64>,
    first: u64,
}

impl Default for GalleryState {
    fn default() -> Self {
        GalleryState {
            column: String::new(),
            label: String::new(),
            caption: String::new(),
            side: 124.0,
            keep: false,
            hide_boxes: false,
            hide_mask: false,
            hide_points: false,
            boxes: None,
            flags: BTreeSet::new(),
            first: 0,
        }
    }
}

/// The rows that are shown: all of a table, or those that a filter lets through.
pub(super) struct ShownRows<'a> {
    pub(super) table: &'a Arc<dyn Table>,
    /// What stands for a row: its number in the whole table.
    pub(super) label: &'a dyn Fn(u64) -> String,
    /// That number, where it is known by now.
    pub(super) number: &'a dyn Fn(u64) -> Option<u64>,
}

/// What was done in the gallery.
#[derive(Default)]
pub(super) struct GalleryAction {
    /// Show this row as a form.
    pub(super) record: Option<u64>,
    /// Open the payload of this row in a tab.
    pub(super) open: Option<u64>,
    /// Show rows of this class alone: the column, and the row that has it.
    pub(super) class: Option<(usize, u64)>,
    /// The rows in sight.
    pub(super) sight: Range<u64>,
}

/// What the table has of media, and where its files lie.
struct Found {
    media: Arc<Media>,
    place: Place,
}

/// The state of the gallery.
#[derive(Default)]
pub(super) struct Page {
    pub(super) state: GalleryState,
    found: Slot<usize, Found>,
    /// What was found.
    known: Option<Arc<Found>>,
    thumbs: Thumbs,
    /// Those for cells of the grid.
    cells: Thumbs,
    top: RowPosition,
    columns: u64,
    grab: Option<f32>,
    cursor: Option<u64>,
    anchor: u64,
    selected: SelectedRows,
    /// A row to bring into sight.
    reveal: Option<u64>,
    /// The search for the next of a class, from a row on.
    next: Option<(u64, Slot<(), Option<u64>>)>,
}

impl Page {
    /// Looks by a job what the table has of media, once. False where it cannot have any.
    pub(super) fn look(&mut self, jobs: &Jobs, target: &Target, table: &Arc<dyn Table>, name: &str) -> bool {
        let place = Place::of_node(&target.document.source, &target.path, &target.node);
        let folder = target.document.source.path().is_some();
        if self.known.is_some() || !gander::data::media::may_hold(table.as_ref(), folder) {
            return self.known.is_some();
        }
        let (of, attributes) = (table.clone(), target.node.attributes.clone());
        let attributes: Vec<(String, Value)> = attributes;
        let title = format!("looking for media in {name}");
        let shown = self.found.get(jobs, &0, JobSpec::view(title), move |task| {
            let media =
                gander::data::media::find(task, gander::formats::ALL, of.as_ref(), &attributes, &place)?;
            Ok(Found { media: Arc::new(media), place })
        });
        self.known = shown.ready();
        true
    }

    /// Makes small pictures for the cells of the first column of pictures in the rows and columns in sight.
    pub(super) fn want_cells(
        &mut self,
        ui: &Ui,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        (rows, columns): &(Range<u64>, Vec<usize>),
    ) {
        let Some(found) = self.known.clone() else { return };
        let Some(ask) = self.ask(table.as_ref(), ui.pixels_per_point()) else { return };
        if !columns.contains(&ask.column.column) {
            return;
        }
        let side = (CELL * ui.pixels_per_point()).ceil() as u32;
        let ask = ThumbRequest {
            label: None,
            caption: None,
            boxes: None,
            key_points: None,
            mask: None,
            side,
            ..ask
        };
        self.cells.want(ui.ctx(), jobs, table, &ask, &found.place, rows.clone());
    }

    /// Whether the cells of a column hold files or arrays, or name files, as far as that is known.
    pub(super) fn holds_media(&self, column: usize) -> bool {
        self.known.as_ref().is_some_and(|found| found.media.column(column).is_some())
    }

    /// Whether the cells of a column have pictures beside their texts.
    pub(super) fn is_pictured(&self, table: &dyn Table, column: usize) -> bool {
        self.column(table).is_some_and(|pictured| pictured.column == column)
    }

    /// The picture of a cell, as far as it is in memory.
    pub(super) fn cell_picture(&self, table: &Arc<dyn Table>, row: u64, column: usize) -> Option<Decoration> {
        let (of, ask) = self.cells.look()?;
        if ask.column.column != column || !Arc::ptr_eq(of, table) {
            return None;
        }
        let picture = self.cells.get(row)?.picture.as_ref()?;
        let (texture, _) = picture.tiles().next()?;
        let size = picture.size();
        Some(Decoration::Picture { texture, proportion: size.x / size.y.max(1.0) })
    }

    /// Whether there is something to be seen.
    pub(super) fn is_there(&self) -> bool {
        self.known.as_ref().is_some_and(|found| found.media.seen().next().is_some())
    }

    /// The row with the cursor.
    pub(super) fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    /// Puts the cursor on a row.
    pub(super) fn go_to(&mut self, row: u64) {
        (self.cursor, self.anchor) = (Some(row), row);
        self.selected = SelectedRows::only(row..row + 1);
        self.reveal = Some(row);
    }

    /// Other rows are shown from now on.
    pub(super) fn forget(&mut self) {
        (self.cursor, self.next) = (None, None);
        self.selected = SelectedRows::default();
        self.top = RowPosition::default();
    }

    /// The rows that are selected, where they are more than one.
    pub(super) fn selected(&self) -> Option<Vec<u64>> {
        /// More are no selection by hand.
        const MOST: u64 = 10_000_000;
        let count = self.selected.count();
        (count > 1 && count <= MOST).then(|| self.selected.rows().collect())
    }

    /// The column whose payloads are shown.
    pub(super) fn column(&self, table: &dyn Table) -> Option<MediaColumn> {
        let media = &self.known.as_ref()?.media;
        let named = |column: &&MediaColumn| name(table, column.column) == self.state.column;
        let usual = || {
            let masks = media.mask.and_then(|at| media.columns.get(at));
            media.seen().find(|column| Some(*column) != masks)
        };
        media.seen().find(named).or_else(usual).cloned()
    }

    fn label(&self, table: &dyn Table) -> Option<LabelColumn> {
        let media = &self.known.as_ref()?.media;
        let wanted = self.state.label.as_str();
        if wanted == bar::NONE {
            return None;
        }
        let known = media.labels.iter().find(|label| name(table, label.column) == wanted);
        let other = || {
            let column = table.schema().fields().iter().position(|field| field.name() == wanted)?;
            Some(LabelColumn { column, names: Arc::default() })
        };
        known.cloned().or_else(other).or_else(|| media.labels.first().cloned())
    }

    fn ask(&self, table: &dyn Table, pixels: f32) -> Option<ThumbRequest> {
        let media = &self.known.as_ref()?.media;
        let column = self.column(table)?;
        let caption = table.schema().fields().iter().position(|field| *field.name() == self.state.caption);
        let mut boxes = media.boxes.clone().filter(|_| !self.state.hide_boxes);
        if let (Some(boxes), Some(format)) = (&mut boxes, self.state.boxes) {
            boxes.format = format;
        }
        let mask = media.mask.and_then(|at| media.columns.get(at));
        // A few sizes, so that a drag of the slider does not decode everything again and again.
        let wanted = (self.state.side * pixels).ceil() as u32;
        let side =
            [64, 96, 128, 192, 256, 384, 512, 768].into_iter().find(|side| *side >= wanted).unwrap_or(1024);
        Some(ThumbRequest {
            label: self.label(table),
            caption: caption.filter(|_| !self.state.caption.is_empty()),
            boxes,
            key_points: media.key_points.filter(|_| !self.state.hide_points),
            mask: mask.filter(|mask| **mask != column && !self.state.hide_mask).cloned(),
            column,
            side,
            keep: self.state.keep,
        })
    }

    /// Draws it into all that is left of `ui`, and takes its input.
    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, rows: &ShownRows<'_>) -> GalleryAction {
        let outer = ui.available_rect_before_wrap();
        ui.painter().rect_filled(outer, 0.0, Theme::of(ui).bg2);
        let Some(ask) = self.ask(rows.table.as_ref(), ui.pixels_per_point()) else {
            self.nothing(ui);
            return GalleryAction::default();
        };
        let count = rows.table.rows().number();
        if count == 0 {
            let words = if rows.table.rows().exact().is_some() { "No rows" } else { "No rows yet" };
            theme::empty_state(ui, Icon::Module, words, "");
            return GalleryAction::default();
        }
        self.cursor = self.cursor.map(|row| row.min(count - 1));
        let view = self.geometry(outer, count, ask.caption.is_some());
        let mut child = ui.new_child(UiBuilder::new().max_rect(outer).id_salt("gallery"));
        child.shrink_clip_rect(outer);
        let mut done = GalleryAction::default();
        self.scroll(&child, &view);
        self.keys(&child, cx, &view, rows, &mut done);
        if let Some(row) = self.reveal.take() {
            self.top = self.top.reveal(row / view.columns, view.lines, view.page);
        }
        done.sight = self.sight(&view);
        if let Some(found) = self.known.clone() {
            let context = child.ctx().clone();
            self.thumbs.want(&context, cx.jobs, rows.table, &ask, &found.place, done.sight.clone());
        }
        self.tiles(&mut child, &view, rows, &ask, &mut done);
        self.state.first = self.top.row * view.columns;
        self.take_next(cx);
        self.say(cx, rows, &ask);
        done
    }

    fn nothing(&self, ui: &mut Ui) {
        match &self.known {
            None => theme::pending(ui, ui.scope_id().with("media"), "Looking for pictures…"),
            Some(_) => theme::empty_state(
                ui,
                Icon::Module,
                "Nothing to see",
                "No column of this table holds pictures, sounds or arrays.",
            ),
        }
    }

    /// What stands where; the same record stays on top when there is room for more or fewer beside it.
    fn geometry(&mut self, outer: Rect, rows: u64, caption: bool) -> Geometry {
        let side = self.state.side.clamp(*SIDES.start(), *SIDES.end());
        let room = outer.width() - 2.0 * space::S3 - size::SCROLL_BAR + GAP;
        let columns = ((room / (side + GAP)).floor().max(1.0)) as u64;
        let lines = if caption { 2.0 } else { 1.0 };
        let cell = vec2(side, (side * PROPORTION).round() + lines * LINE);
        let height = cell.y + BELOW;
        if std::mem::replace(&mut self.columns, columns) != columns {
            let fraction = self.top.fraction;
            self.top = RowPosition { row: self.state.first / columns, fraction };
        }
        let body = Rect::from_min_max(outer.min, pos2(outer.right() - size::SCROLL_BAR, outer.bottom()));
        // The space above the first line scrolls with it.
        Geometry {
            body,
            outer,
            columns,
            cell,
            height,
            rows,
            lines: rows.div_ceil(columns),
            page: body.height() / height,
        }
    }

    fn scroll(&mut self, ui: &Ui, view: &Geometry) {
        if ui.rect_contains_pointer(view.outer) {
            let delta = ui.input(|input| input.smooth_scroll_delta().y);
            if delta != 0.0 {
                self.top = self.top.scroll(-f64::from(delta / view.height), view.lines, view.page);
                ui.input_mut(|input| input.smooth_scroll_delta.y = 0.0);
            }
        }
        self.top = self.top.clamped(view.lines, view.page);
        if view.lines as f64 <= f64::from(view.page) {
            return;
        }
        let track = Rect::from_min_max(pos2(view.body.right(), view.outer.top()), view.outer.max);
        let bar = ScrollBar {
            track,
            vertical: true,
            part: self.top.part(view.lines, view.page),
            seen: f64::from(view.page) / view.lines.max(1) as f64,
            name: "Scroll bar",
        };
        match bar.ui(ui, ui.scope_id().with("bar"), &mut self.grab).0 {
            Scrolled::No => {}
            Scrolled::To(part) => self.top = RowPosition::at_part(part, view.lines, view.page),
            Scrolled::Page(way) => {
                let by = f64::from(way) * f64::from((view.page.floor() - 1.0).max(1.0));
                self.top = self.top.scroll(by, view.lines, view.page);
            }
        }
    }

    /// The rows in sight.
    fn sight(&self, view: &Geometry) -> Range<u64> {
        let lines = (view.page + self.top.fraction).ceil().max(0.0) as u64;
        let first = self.top.row.saturating_mul(view.columns).min(view.rows);
        let end = self.top.row.saturating_add(lines).saturating_mul(view.columns);
        first..end.min(view.rows)
    }

    fn tiles(
        &mut self,
        ui: &mut Ui,
        view: &Geometry,
        rows: &ShownRows<'_>,
        ask: &ThumbRequest,
        done: &mut GalleryAction,
    ) {
        let focus = ui.memory(|memory| memory.focused());
        for row in done.sight.clone() {
            let place = view.place(row, self.top);
            if place.bottom() < view.body.top() || place.top() > view.body.bottom() {
                continue;
            }
            let response = ui.interact(place, ui.scope_id().with(("row", row)), Sense::click());
            let label = (rows.label)(row);
            let thumb = self.thumbs.get(row);
            let spoken = match thumb.and_then(|thumb| thumb.label.as_ref()) {
                Some(class) => format!("Record {label}: {class}"),
                None => format!("Record {label}"),
            };
            let flagged = (rows.number)(row).is_some_and(|number| self.state.flags.contains(&number));
            let chosen = self.selected.has(row) || self.cursor == Some(row);
            response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, chosen, &spoken));
            let look = tile::TileStyle {
                label: &label,
                cursor: self.cursor == Some(row),
                selected: self.selected.has(row) && self.selected.count() > 1,
                hovered: response.hovered(),
                flagged,
                focused: focus.is_none_or(|id| id == response.id),
                caption: ask.caption.is_some(),
            };
            tile::paint(ui, place, thumb, &look);
            self.clicked(ui, &response, row, rows, ask, done);
        }
    }

    fn clicked(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        row: u64,
        rows: &ShownRows<'_>,
        ask: &ThumbRequest,
        done: &mut GalleryAction,
    ) {
        let modifiers = ui.input(|input| input.modifiers);
        if response.double_clicked() {
            done.open = Some(row);
        } else if response.clicked() {
            self.choose(row, modifiers.shift, modifiers.command);
        }
        if response.secondary_clicked() && !self.selected.has(row) {
            self.choose(row, false, false);
        }
        response.context_menu(|ui| {
            let mut line = |icon, words: &str| {
                let response = ui.add(egui::Button::new(theme::icon_text(icon, words)));
                response.widget_info(|| WidgetInfo::labeled(Role::Button, true, words));
                if response.clicked() {
                    ui.close();
                }
                response.clicked()
            };
            if line(Icon::OpenOutside, "Open in a tab") {
                done.open = Some(row);
            }
            if line(Icon::Form, "Show the record") {
                done.record = Some(row);
            }
            if line(Icon::Tag, "Flag, or not any more") {
                self.flag(rows);
            }
            if let Some(label) = &ask.label {
                if line(Icon::Filter, "Only records of this class") {
                    done.class = Some((label.column, row));
                }
                if line(Icon::CaretRight, "Next of this class") {
                    self.look_for_next(rows.table.as_ref(), row);
                }
            }
        });
    }

    /// A row is chosen: alone, all from the last one to it, or besides others.
    fn choose(&mut self, row: u64, range: bool, more: bool) {
        match (range, more) {
            (true, more) => {
                let rows = self.anchor.min(row)..self.anchor.max(row) + 1;
                if !more {
                    self.selected = SelectedRows::default();
                }
                self.selected.add(rows);
            }
            (false, true) => {
                if self.selected.is_empty() {
                    self.selected =
                        self.cursor.map_or_else(SelectedRows::default, |at| SelectedRows::only(at..at + 1));
                }
                self.selected.toggle(row);
                self.anchor = row;
            }
            (false, false) => {
                self.selected = SelectedRows::only(row..row + 1);
                self.anchor = row;
            }
        }
        self.cursor = Some(row);
    }

    /// Flags what is selected; where all of it is flagged, not any more. False where nothing is.
    pub(super) fn flag(&mut self, rows: &ShownRows<'_>) -> bool {
        let cursor = self.cursor.into_iter();
        let wanted: Vec<u64> = match self.selected.count() {
            0 | 1 => cursor.collect(),
            _ => self.selected.rows().take(1_000_000).collect(),
        };
        let numbers: BTreeSet<u64> = wanted.into_iter().filter_map(|row| (rows.number)(row)).collect();
        if numbers.is_empty() {
            return false;
        }
        if numbers.iter().all(|number| self.state.flags.contains(number)) {
            self.state.flags.retain(|flag| !numbers.contains(flag));
        } else {
            self.state.flags.extend(numbers);
        }
        true
    }

    /// Arrows, pages, ends; Enter, F, N.
    fn keys(
        &mut self,
        ui: &Ui,
        cx: &ViewCx<'_>,
        view: &Geometry,
        rows: &ShownRows<'_>,
        done: &mut GalleryAction,
    ) {
        let own = ui.memory(|memory| memory.focused()).is_none_or(|id| {
            let last = self.cursor.map(|row| ui.scope_id().with(("row", row)));
            last == Some(id)
        });
        if !cx.active || !own {
            return;
        }
        if let Some(id) = ui.memory(|memory| memory.focused()) {
            let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        }
        let (columns, last) = (view.columns, view.rows - 1);
        let page = (view.page.floor() as u64).max(1).saturating_mul(columns);
        for command in keys::taken(ui, GALLERY_KEYS) {
            match command {
                GalleryCommand::Step(step, selects) => {
                    let at = self.cursor.unwrap_or(0);
                    let to = match step {
                        Step::Right => at.saturating_add(1),
                        Step::Left => at.saturating_sub(1),
                        Step::Down if at + columns <= last => at + columns,
                        Step::Down if at / columns < last / columns => last,
                        Step::Down => at,
                        Step::Up => at.checked_sub(columns).unwrap_or(at),
                        Step::PageDown => at.saturating_add(page),
                        Step::PageUp => at.saturating_sub(page),
                        Step::RowStart | Step::First => 0,
                        Step::RowEnd | Step::Last => last,
                    };
                    let ends = matches!(step, Step::First | Step::Last);
                    let to = if self.cursor.is_none() && !ends { 0 } else { to.min(last) };
                    self.choose(to, selects, false);
                    self.reveal = Some(to);
                    ui.memory_mut(|memory| memory.stop_text_input());
                }
                GalleryCommand::Open => done.record = self.cursor,
                GalleryCommand::Flag => _ = self.flag(rows),
                GalleryCommand::NextOfClass => {
                    if let Some(row) = self.cursor {
                        self.look_for_next(rows.table.as_ref(), row);
                    }
                }
                GalleryCommand::SelectAll => self.selected = SelectedRows::only(0..view.rows),
            }
        }
        let several = !self.selected.is_empty() && self.selected.count() > 1;
        if several && !keys::taken(ui, GALLERY_COLLAPSE).is_empty() {
            self.selected =
                self.cursor.map_or_else(SelectedRows::default, |at| SelectedRows::only(at..at + 1));
        }
    }

    /// Looks for the next row of the class of this one.
    pub(super) fn look_for_next(&mut self, table: &dyn Table, from: u64) -> bool {
        let there = self.label(table).is_some();
        if there {
            self.next = Some((from, Slot::default()));
        }
        there
    }

    fn take_next(&mut self, cx: &mut ViewCx<'_>) {
        let Some((from, slot)) = &self.next else { return };
        let shown = slot.peek(&());
        match shown.answer() {
            Some(Ok(found)) => {
                match *found {
                    Some(row) => self.go_to(row),
                    None => {
                        let words = "There is no other record of this class behind it";
                        cx.actions.push(super::Action::Notice(words.to_owned()));
                    }
                }
                self.next = None;
            }
            Some(Err(error)) => {
                cx.actions.push(super::Action::Notice(error.message()));
                self.next = None;
            }
            None => {
                let from = *from;
                self.start_next(cx.jobs, from);
            }
        }
    }

    fn start_next(&self, jobs: &Jobs, from: u64) {
        let (Some((_, slot)), Some((table, ask))) = (&self.next, self.thumbs.look()) else { return };
        let (table, label) = (table.clone(), ask.label.clone());
        slot.get(jobs, &(), JobSpec::once("looking for the next of this class"), move |task| {
            let Some(label) = label else { return Ok(None) };
            let read = |rows: Range<u64>| table.read(task, rows, &[label.column]);
            let text = |array: &arrow::array::ArrayRef, row| gander::data::cell::shown(array.as_ref(), row);
            let first = read(from..from + 1)?;
            let wanted =
                first.columns().first().filter(|array| !array.is_empty()).and_then(|array| text(array, 0));
            let (mut at, mut step) = (from + 1, FIRST_STEP);
            loop {
                task.check()?;
                let batch = read(at..at + step.min(table.scan_step(at).max(1)))?;
                step = (step * 2).min(STEP);
                let Some(array) = batch.columns().first().filter(|array| !array.is_empty()) else {
                    return Ok(None);
                };
                if let Some(row) = (0..array.len()).find(|row| text(array, *row) == wanted) {
                    return Ok(Some(at + row as u64));
                }
                at += array.len() as u64;
            }
        });
    }

    /// What stands at the left of the status bar.
    fn say(&self, cx: &mut ViewCx<'_>, rows: &ShownRows<'_>, ask: &ThumbRequest) {
        if let Some(row) = self.cursor {
            let mut words = format!("record {}", (rows.label)(row));
            if let Some(thumb) = self.thumbs.get(row) {
                let size = (thumb.bytes > 0).then(|| display::bytes(thumb.bytes));
                let parts = [thumb.label.clone(), Some(thumb.words.clone()), size];
                parts.into_iter().flatten().for_each(|part| words += &format!(" · {part}"));
            }
            cx.status.under = words;
        }
        let whole = format!(
            "{} of {}",
            ask.column.kind.word(),
            display::plural(rows.table.rows().number(), "record")
        );
        cx.status.facts = match self.selected.count() {
            0 | 1 => whole,
            count => format!("{} selected", display::count(count)),
        };
    }
}

/// Whether a key was pressed, alone or with Shift, and whether with Shift.
/// The name of a column.
fn name(table: &dyn Table, column: usize) -> &str {
    table.schema().fields().get(column).map_or("", |field| field.name())
}

/// What stands where in this frame.
struct Geometry {
    /// Where pictures are.
    body: Rect,
    outer: Rect,
    /// Pictures in a line.
    columns: u64,
    /// A picture with the line below it.
    cell: egui::Vec2,
    /// From one line of pictures to the next.
    height: f32,
    rows: u64,
    lines: u64,
    /// How many lines fit.
    page: f32,
}

impl Geometry {
    /// The place of a row.
    fn place(&self, row: u64, top: RowPosition) -> Rect {
        let (line, column) = (row / self.columns, row % self.columns);
        let y = (line.saturating_sub(top.row) as f32 - top.fraction) * self.height;
        let x = column as f32 * (self.cell.x + GAP);
        let min = self.body.min + vec2(space::S3 + x, BELOW - 4.0 + y);
        Rect::from_min_size(pos2(min.x.round(), min.y.round()), self.cell)
    }
}
