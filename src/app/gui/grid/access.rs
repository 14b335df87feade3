//! The grid for screen readers and for programs that drive the window: a grid with its true number of
//! rows and columns, in it the heads and the rows in sight with their cells.

use egui::accesskit::{Action, Role, SortDirection};
use egui::{Id, Rect, Sense, Ui, UiBuilder, pos2};

use super::model::{Cell, CellKind, GridModel};
use super::paint::drawn_text;
use super::view::View;
use super::{Grid, GridResponse, HeaderClick, Place, Selection};

/// What is read out for a cell.
fn spoken(cell: &Cell<'_>) -> String {
    match &cell.kind {
        CellKind::Pending => "loading".to_owned(),
        CellKind::Failed(message) => format!("failed: {message}"),
        CellKind::Null => "null".to_owned(),
        _ => drawn_text(&cell.text, true),
    }
}

impl Grid {
    /// Writes the nodes, if anything listens, and takes what it asks for.
    pub(super) fn describe(
        &mut self,
        ui: &mut Ui,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        let id = result.response.id;
        let positions = self.columns.len();
        let active = ui.ctx().accesskit_node_builder(id, |node| {
            node.set_role(Role::Grid);
            node.set_label(self.name.as_str());
            node.set_row_count(usize::try_from(self.rows).unwrap_or(usize::MAX));
            node.set_column_count(positions);
        });
        if active.is_none() {
            return;
        }
        if let Some(cell) = self.cursor() {
            let cursor = id.with((cell.row, cell.column)).accesskit_id();
            let place = self.selection.map(|selection| selection.cursor).unwrap_or_default();
            // The node exists only while the cell is in sight.
            if (view.first_row..view.end_row).contains(&place.row) && view.shown(place.position).is_some() {
                ui.ctx().accesskit_node_builder(id, |node| node.set_active_descendant(cursor));
            }
        }
        self.describe_heads(ui, id, view, model, result);
        let mut asked = None;
        for row in view.first_row..view.end_row {
            self.describe_row(ui, id, view, model, row, &mut asked);
        }
        if let Some(place) = asked {
            self.selection = Some(Selection::cell(place));
            self.reveal(place, view);
            ui.ctx().request_repaint();
        }
    }

    fn describe_heads(
        &mut self,
        ui: &mut Ui,
        id: Id,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        let builder = UiBuilder::new().max_rect(view.head).id_salt("heads").accessibility_parent(id);
        let heads = ui.new_child(builder);
        ui.ctx().accesskit_node_builder(heads.unique_id(), |node| node.set_role(Role::Row));
        for shown in &view.columns {
            let node_id = id.with(("head", shown.column));
            let head = model.column(shown.column);
            heads.interact(view.clip(shown, view.head), node_id, Sense::hover());
            ui.ctx().accesskit_node_builder(node_id, |node| {
                node.set_role(Role::ColumnHeader);
                node.set_label(drawn_text(&head.name, false));
                node.set_column_index(shown.position);
                let mut words = drawn_text(&head.type_text, false);
                if let Some(remark) = &head.remark {
                    words.push_str(", ");
                    words.push_str(remark);
                }
                node.set_description(words);
                if let Some(sort) = head.sort {
                    let direction =
                        if sort.descending { SortDirection::Descending } else { SortDirection::Ascending };
                    node.set_sort_direction(direction);
                }
                node.set_bounds(bounds(view.clip(shown, view.head)));
                node.add_action(Action::Click);
            });
            if ui.input(|input| input.has_accesskit_action_request(node_id, Action::Click)) {
                result.header_clicked = Some(HeaderClick { column: shown.column, shift: false });
            }
        }
    }

    fn describe_row(
        &self,
        ui: &mut Ui,
        id: Id,
        view: &View,
        model: &dyn GridModel,
        row: u64,
        asked: &mut Option<Place>,
    ) {
        let top = view.row_top(row);
        let rect = Rect::from_min_max(
            pos2(view.gutter.left(), top.max(view.body.top())),
            pos2(view.body.right(), (top + view.row_height).min(view.body.bottom())),
        );
        let builder = UiBuilder::new().max_rect(rect).id_salt(("row", row)).accessibility_parent(id);
        let line = ui.new_child(builder);
        let label = model.row_label(row);
        let index = usize::try_from(row).unwrap_or(usize::MAX);
        ui.ctx().accesskit_node_builder(line.unique_id(), |node| {
            node.set_role(Role::Row);
            node.set_label(format!("{} {label}", model.row_head()));
            node.set_row_index(index);
            node.set_bounds(bounds(rect));
        });
        let selected = self.selection.filter(|selection| selection.rows(self.rows).contains(&row));
        let positions = selected.map(|selection| selection.positions(self.columns.len()));
        for shown in &view.columns {
            let cell_id = id.with((row, shown.column));
            let cell = view.cell(shown, row);
            line.interact(cell, cell_id, Sense::hover());
            ui.ctx().accesskit_node_builder(cell_id, |node| {
                node.set_role(Role::GridCell);
                node.set_label(format!("{}, {label}", drawn_text(&model.column(shown.column).name, false)));
                node.set_value(spoken(&model.cell(row, shown.column)));
                node.set_row_index(index);
                node.set_column_index(shown.position);
                node.set_bounds(bounds(cell));
                node.set_selected(positions.as_ref().is_some_and(|range| range.contains(&shown.position)));
                node.add_action(Action::Click);
            });
            if ui.input(|input| input.has_accesskit_action_request(cell_id, Action::Click)) {
                *asked = Some(Place { row, position: shown.position });
            }
        }
    }
}

fn bounds(rect: Rect) -> egui::accesskit::Rect {
    egui::accesskit::Rect {
        x0: rect.min.x.into(),
        y0: rect.min.y.into(),
        x1: rect.max.x.into(),
        y1: rect.max.y.into(),
    }
}
