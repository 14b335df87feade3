//! Mouse, wheel and keys.

use egui::{CursorIcon, Event, EventFilter, PointerButton, Pos2, Response, Sense, Ui};

use super::keys::Command;
use super::menu::asks_head_menu;
use super::model::GridModel;
use super::selection::{Kind, Step};
use super::view::View;
use super::{Drag, Grid, GridResponse, HeaderClick, Place, Selection, Target};
use crate::gui::theme::size;
use crate::gui::ui::{RowPosition, ScrollBar, Scrolled};
use gander::convert::copy::{CopyFormat, CopyRequest};

/// How near to a column's right edge the pointer takes hold of it.
const EDGE: f32 = 4.0;

/// By how much a key makes a column wider or narrower, in points.
const RESIZE: f32 = 16.0;

impl Grid {
    /// Takes all input of a frame; the view is that of the frame before it.
    pub(super) fn take_input(
        &mut self,
        ui: &mut Ui,
        id: egui::Id,
        view: &View,
        model: &dyn GridModel,
    ) -> GridResponse {
        let quiet = Sense::CLICK | Sense::DRAG;
        let gutter = ui.interact(view.gutter, id.with("rows"), quiet);
        let corner = ui.interact(view.corner, id.with("corner"), Sense::CLICK);
        let head = ui.interact(view.head, id.with("head"), quiet);
        let body = ui.interact(view.body, id.with("cells"), Sense::click_and_drag());
        if std::mem::take(&mut self.focus) {
            body.request_focus();
        }
        let mut result = GridResponse::new(body.clone());
        self.bars(ui, id, view);
        self.wheel(ui, view);
        if corner.clicked_by(PointerButton::Primary) && self.rows > 0 {
            self.select_all();
            body.request_focus();
        }
        self.take_head(ui, &head, view, model, &mut result);
        self.take_gutter(ui, &gutter, &body, view);
        self.take_body(ui, &body, view, &mut result);
        if body.has_focus() {
            let filter =
                EventFilter { horizontal_arrows: true, vertical_arrows: true, escape: true, tab: false };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(body.id, filter));
            self.keys(ui, view, model, &mut result);
        }
        if !ui.input(|input| input.pointer.any_down()) {
            self.drag = None;
        }
        let hover = body.hover_pos().filter(|_| body.contains_pointer());
        result.hovered = hover.and_then(|at| view.hit(at)).and_then(|place| self.cell_at(place));
        result
    }

    fn bars(&mut self, ui: &Ui, id: egui::Id, view: &View) {
        if let Some(track) = view.row_bar {
            let part = self.top.part(self.rows, view.page);
            let seen = f64::from(view.page) / self.rows.max(1) as f64;
            let bar = ScrollBar { track, vertical: true, part, seen, name: "Rows" };
            match bar.ui(ui, id.with("row bar"), &mut self.grab[0]).0 {
                Scrolled::No => {}
                Scrolled::To(part) => self.top = RowPosition::at_part(part, self.rows, view.page),
                Scrolled::Page(way) => self.scroll_pages(way, view),
            }
        }
        if let Some(track) = view.column_bar {
            let room = f64::from(view.scroll_room());
            let all = self.columns.scroll_width();
            let part = (self.scrolled() / (all - room).max(1.0)).clamp(0.0, 1.0);
            let bar = ScrollBar { track, vertical: false, part, seen: room / all.max(1.0), name: "Columns" };
            match bar.ui(ui, id.with("column bar"), &mut self.grab[1]).0 {
                Scrolled::No => {}
                Scrolled::To(part) => self.scroll_columns_to(part * (all - room), view),
                Scrolled::Page(way) => {
                    self.scroll_columns_to(self.scrolled() + f64::from(way) * room, view);
                }
            }
        }
    }

    fn scroll_pages(&mut self, way: i8, view: &View) {
        let page = f64::from((view.page.floor() - 1.0).max(1.0));
        self.top = self.top.scroll(f64::from(way) * page, self.rows, view.page);
    }

    fn wheel(&mut self, ui: &Ui, view: &View) {
        let all = view.corner.union(view.head).union(view.gutter).union(view.body);
        if !ui.rect_contains_pointer(all) {
            return;
        }
        let delta = ui.input(|input| input.smooth_scroll_delta());
        if delta.y != 0.0 && view.row_bar.is_some() {
            let rows = -f64::from(delta.y) / f64::from(view.row_height);
            self.top = self.top.scroll(rows, self.rows, view.page);
            ui.input_mut(|input| input.smooth_scroll_delta.y = 0.0);
        }
        if delta.x != 0.0 && view.column_bar.is_some() {
            self.scroll_columns_to(self.scrolled() - f64::from(delta.x), view);
            ui.input_mut(|input| input.smooth_scroll_delta.x = 0.0);
        }
    }

    pub(super) fn select_all(&mut self) {
        let mut selection = self.selection.unwrap_or_default();
        selection.kind = Kind::All;
        self.selection = Some(selection);
    }

    fn take_body(&mut self, ui: &Ui, body: &Response, view: &View, result: &mut GridResponse) {
        let (pressed, shift, at) = ui.input(|input| {
            let pressed = input.pointer.primary_pressed();
            (pressed, input.modifiers.shift, input.pointer.interact_pos())
        });
        let hit = at.and_then(|at| view.hit(at));
        if pressed && body.is_pointer_button_down_on() {
            body.request_focus();
            if let Some(place) = hit {
                self.pick(place, shift);
                self.drag = Some(Drag::Cells);
            }
        }
        if self.drag == Some(Drag::Cells)
            && body.dragged_by(PointerButton::Primary)
            && let Some(at) = at
        {
            self.drag_over(ui, at, view, |selection, place| selection.move_to(place, true));
        }
        if body.double_clicked_by(PointerButton::Primary)
            && let Some(place) = hit
        {
            result.activated = self.cell_at(place);
        }
        let right = body.secondary_clicked() || body.long_touched();
        if right && let Some(place) = body.interact_pointer_pos().and_then(|at| view.hit(at)) {
            let inside = self.selection.is_some_and(|selection| {
                selection.rows(self.rows).contains(&place.row)
                    && selection.positions(self.columns.len()).contains(&place.position)
            });
            if !inside {
                self.pick(place, false);
            }
            body.request_focus();
            self.target = self.cell_at(place).map(Target::Cell);
            self.menu_by_key = false;
        }
    }

    fn pick(&mut self, place: Place, extend: bool) {
        match &mut self.selection {
            Some(selection) if extend => selection.move_to(place, true),
            other => *other = Some(Selection::cell(place)),
        }
    }

    /// Extends the selection to the pointer, and scrolls while it is beyond the edge.
    fn drag_over(&mut self, ui: &Ui, at: Pos2, view: &View, extend: impl FnOnce(&mut Selection, Place)) {
        let beyond = |low: f32, high: f32, at: f32| {
            if at < low { at - low } else { (at - high).max(0.0) }
        };
        let speed = ui.input(|input| input.stable_dt).min(0.1) * 12.0;
        let down = beyond(view.body.top(), view.body.bottom(), at.y);
        let right = beyond(view.frozen_right.min(at.x.max(view.body.left())), view.body.right(), at.x);
        if down != 0.0 {
            let rows = f64::from(down * speed / view.row_height);
            self.top = self.top.scroll(rows, self.rows, view.page);
        }
        if right != 0.0 && self.drag == Some(Drag::Cells) {
            self.scroll_columns_to(self.scrolled() + f64::from(right * speed), view);
        }
        if down != 0.0 || right != 0.0 {
            ui.ctx().request_repaint();
        }
        if let (Some(place), Some(selection)) = (view.nearest(at), &mut self.selection) {
            extend(selection, place);
        }
    }

    fn take_gutter(&mut self, ui: &Ui, gutter: &Response, body: &Response, view: &View) {
        let (pressed, shift, at) = ui.input(|input| {
            let pressed = input.pointer.primary_pressed();
            (pressed, input.modifiers.shift, input.pointer.interact_pos())
        });
        let Some(at) = at else { return };
        if pressed
            && gutter.is_pointer_button_down_on()
            && let Some(row) = view.row_at(at.y)
        {
            body.request_focus();
            let start = Selection::cell(Place { row, position: self.left.index });
            self.selection.get_or_insert(start).pick_row(row, shift);
            self.drag = Some(Drag::Rows);
        }
        if self.drag == Some(Drag::Rows) && gutter.dragged_by(PointerButton::Primary) {
            self.drag_over(ui, at, view, |selection, place| selection.pick_row(place.row, true));
        }
    }

    /// The column whose right edge is near a point of the heads.
    fn edge_at(&self, view: &View, at: Pos2) -> Option<(usize, f32)> {
        // From the right, so that a narrow column can be opened again.
        let near = view.columns.iter().rev().find(|shown| {
            let clip = view.clip(shown, view.head);
            clip.width() > 0.0 && (shown.right() - at.x).abs() <= EDGE && clip.right() + EDGE >= shown.right()
        });
        near.map(|shown| (shown.column, shown.width))
    }

    fn take_head(
        &mut self,
        ui: &Ui,
        head: &Response,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        let (origin, at, shift) = ui.input(|input| {
            (input.pointer.press_origin(), input.pointer.interact_pos(), input.modifiers.shift)
        });
        let Some(at) = at else { return };
        let edge = self.edge_at(view, at);
        if matches!(self.drag, Some(Drag::Resize { .. })) || (head.hovered() && edge.is_some()) {
            ui.ctx().set_cursor_icon(CursorIcon::ResizeColumn);
        }
        if head.drag_started_by(PointerButton::Primary)
            && let Some(origin) = origin
        {
            self.drag = match self.edge_at(view, origin) {
                Some((column, width)) => Some(Drag::Resize { column, width }),
                None => view.column_at(origin.x).map(|shown| Drag::Reorder { position: shown.position }),
            };
        }
        match self.drag {
            Some(Drag::Resize { column, width }) => {
                // In the frame of the release there is no origin any more.
                if let Some(origin) = origin {
                    self.columns.set_width(column, width + at.x - origin.x);
                }
            }
            Some(Drag::Reorder { position }) if head.drag_stopped() => {
                if let Some(before) = self.drop_place(view, at)
                    && before != position
                    && before != position + 1
                {
                    self.columns.move_to(position, before);
                    self.selection = None;
                }
            }
            _ => {}
        }
        if head.double_clicked_by(PointerButton::Primary)
            && let Some((column, _)) = edge
        {
            self.auto_fit(ui, view, model, &[column]);
        } else if head.clicked_by(PointerButton::Primary)
            && edge.is_none()
            && let Some(shown) = view.column_at(at.x)
        {
            // The sort mark at the right sorts; elsewhere a click selects the column too.
            let sorted = model.column(shown.column).sort.is_some();
            let on_sort = sorted && at.x > shown.right() - size::ROW && at.y < view.head.top() + size::ROW;
            result.header_clicked = Some(HeaderClick { column: shown.column, shift });
            if !on_sort {
                self.pick_column(shown.position, shift);
                result.response.request_focus();
            }
        } else if asks_head_menu(ui, head)
            && let Some(shown) = view.column_at(at.x)
        {
            self.target = Some(Target::Head(shown.column));
        }
    }

    fn pick_column(&mut self, position: usize, extend: bool) {
        let start = Selection::cell(Place { row: self.top.row, position });
        self.selection.get_or_insert(start).pick_column(position, extend);
    }

    /// Before which position a dragged column would land.
    pub(super) fn drop_place(&self, view: &View, at: Pos2) -> Option<usize> {
        let shown = view.column_at(at.x.min(view.columns_right() - 1.0).max(view.body.left()))?;
        Some(if at.x > shown.left + shown.width / 2.0 { shown.position + 1 } else { shown.position })
    }

    fn keys(&mut self, ui: &Ui, view: &View, model: &dyn GridModel, result: &mut GridResponse) {
        if egui::Popup::is_any_open(ui.ctx()) {
            return;
        }
        let mut commands = Vec::new();
        let single = self.selection.is_none_or(|selection| selection == Selection::cell(selection.cursor));
        ui.input_mut(|input| {
            input.events.retain(|event| {
                // With nothing to give up here, Escape means something to the owner.
                let command = Command::of(event).filter(|&command| command != Command::Collapse || !single);
                commands.extend(command);
                command.is_none()
            });
            // With Alt the letter comes as a text, too.
            if !commands.is_empty() && input.modifiers.alt {
                input.events.retain(|event| !matches!(event, Event::Text(_)));
            }
        });
        for command in commands {
            self.obey(ui, command, view, model, result);
        }
    }

    fn obey(
        &mut self,
        ui: &Ui,
        command: Command,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        if self.rows == 0 || self.columns.len() == 0 {
            return;
        }
        match command {
            Command::Step(step, extend) => self.step(step, extend, view),
            Command::Activate => result.activated = self.cursor(),
            Command::Copy { headers } => result.copy = self.copy_request(CopyFormat::Tsv, headers),
            Command::SelectAll => self.select_all(),
            Command::SelectRow => {
                if let Some(selection) = &mut self.selection {
                    selection.kind = Kind::Rows;
                }
            }
            Command::SelectColumn => {
                if let Some(selection) = &mut self.selection {
                    selection.kind = Kind::Columns;
                }
            }
            Command::Collapse => {
                if let Some(selection) = &mut self.selection {
                    *selection = Selection::cell(selection.cursor);
                }
            }
            Command::Menu => {
                if let Some(cell) = self.cursor() {
                    self.target = Some(Target::Cell(cell));
                    self.menu_by_key = true;
                    let menu = egui::Popup::default_response_id(&result.response);
                    egui::Popup::open_id(ui.ctx(), menu);
                }
            }
            of_column => self.obey_for_column(ui, of_column, view, model, result),
        }
    }

    /// Does what concerns the column of the cursor; without a cursor that of the first column in sight.
    fn obey_for_column(
        &mut self,
        ui: &Ui,
        command: Command,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        let first =
            || Place { row: self.top.row, position: view.columns.first().map_or(0, |shown| shown.position) };
        let place = self.selection.map_or_else(first, |selection| selection.cursor);
        let Some(column) = self.columns.column(place.position) else { return };
        self.selection.get_or_insert(Selection::cell(place));
        match command {
            Command::ColumnMenu => {
                // What is out of sight comes into sight, so that the menu has a place to stand.
                self.reveal(place, view);
                self.target = Some(Target::Head(column));
                self.menu_by_key = true;
                let head = ui.scope_id().with("head");
                if let Some(head) = ui.ctx().read_response(head) {
                    egui::Popup::open_id(ui.ctx(), egui::Popup::default_response_id(&head));
                }
            }
            Command::Sort { more } => result.header_clicked = Some(HeaderClick { column, shift: more }),
            Command::Resize(way) => {
                let width = self.columns.width(place.position) + f32::from(way) * RESIZE;
                self.columns.set_width(column, width);
                self.reveal(place, view);
            }
            Command::Fit { all } => {
                let columns = match all {
                    true => view.columns.iter().map(|shown| shown.column).collect(),
                    false => vec![column],
                };
                self.auto_fit(ui, view, model, &columns);
            }
            Command::Move(way) => {
                let position = place.position;
                let before = if way > 0 { position + 2 } else { position.saturating_sub(1) };
                if before <= self.columns.len() && before != position {
                    self.columns.move_to(position, before);
                    self.follow_column(place.row, column, view);
                }
            }
            Command::Freeze => {
                let is_frozen = self.columns.is_frozen(column);
                self.set_frozen(column, !is_frozen);
                self.follow_column(place.row, column, view);
            }
            Command::Hide => {
                self.hide(&[column]);
                let last = self.columns.len().saturating_sub(1);
                let place = Place { position: place.position.min(last), ..place };
                self.selection = Some(Selection::cell(place));
            }
            Command::ShowHidden => {
                self.show_all();
                self.follow_column(place.row, column, view);
            }
            _ => {}
        }
        ui.ctx().request_repaint();
    }

    /// The cursor goes with a column that stands elsewhere now.
    fn follow_column(&mut self, row: u64, column: usize, view: &View) {
        if let Some(position) = self.columns.position(column) {
            let place = Place { row, position };
            self.selection = Some(Selection::cell(place));
            self.reveal(place, view);
        }
    }

    fn step(&mut self, step: Step, extend: bool, view: &View) {
        let page = (view.page.floor() as u64).saturating_sub(1).max(1);
        let (rows, positions) = (self.rows, self.columns.len());
        let Some(mut selection) = self.selection else {
            // Without a cursor the first arrow key puts one on the first cell in sight, and Home
            // and End mean the first and the last row, as in any list.
            let here =
                Place { row: self.top.row, position: view.columns.first().map_or(0, |shown| shown.position) };
            let place = match step {
                Step::Up | Step::Down | Step::Left | Step::Right => here,
                Step::FirstColumn => Step::FirstRow.from(here, rows, positions, page),
                Step::LastColumn => Step::LastRow.from(here, rows, positions, page),
                _ => step.from(here, rows, positions, page),
            };
            self.selection = Some(Selection::cell(place));
            self.reveal(place, view);
            return;
        };
        let place = step.from(selection.cursor, rows, positions, page);
        selection.move_to(place, extend);
        self.selection = Some(selection);
        match step {
            // The view moves with the cursor, which keeps its place on screen.
            Step::PageUp => self.scroll_pages(-1, view),
            Step::PageDown => self.scroll_pages(1, view),
            _ => {}
        }
        self.reveal(place, view);
    }

    /// What a copy of the selection would hold.
    pub(super) fn copy_request(&self, format: CopyFormat, headers: bool) -> Option<CopyRequest> {
        let (rows, columns) = self.selected()?;
        (!rows.is_empty() && !columns.is_empty()).then_some(CopyRequest { rows, columns, headers, format })
    }
}
