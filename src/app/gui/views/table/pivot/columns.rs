//! The columns of the table, to be dragged into the wells or put there by a click.

use arrow::datatypes::{DataType, Schema, SchemaRef};
use egui::{Align2, Popup, Rect, Role, ScrollArea, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};
use gander::jobs::Jobs;
use gander::query::pivot::Pivot;

use super::super::column_search::ColumnSearch;
use super::arrange::{self, Carried, Dragged, Well};
use super::wells::{icon_of, row};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, mono_small_font, size, space};
use crate::gui::ui::paint_elided;

/// Draws the list; a column that is to be put into a well.
pub(super) fn ui(
    ui: &mut Ui,
    jobs: &Jobs,
    schema: &SchemaRef,
    pivot: &Pivot,
    (find, named): (&mut String, &mut ColumnSearch),
) -> Option<(usize, Well)> {
    let area = ui.max_rect();
    let top = Rect::from_min_size(area.min, vec2(area.width(), size::BAR + 4.0));
    let mut child = ui.new_child(UiBuilder::new().max_rect(top.shrink2(vec2(space::S2, 6.0))));
    let field = egui::TextEdit::singleline(find).hint_text("Find a column").desired_width(f32::INFINITY);
    let field = child.add(field.margin(egui::Margin::symmetric(8, 5)));
    field.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Find a column to group by"));
    let found = named.get(jobs, schema, find);
    let rest = Rect::from_min_max(pos2(area.left(), top.bottom()), area.max);
    let mut list = ui.new_child(UiBuilder::new().max_rect(rest).id_salt("list"));
    list.shrink_clip_rect(rest);
    list.spacing_mut().item_spacing.y = 0.0;
    let Some(found) = found else {
        theme::pending(&mut list, ui.scope_id().with("named"), "searching …");
        return None;
    };
    if found.len() == 0 {
        theme::empty_state(&mut list, Icon::Columns, "No such column", "");
        return None;
    }
    let mut put = None;
    ScrollArea::vertical().id_salt("pivot columns").auto_shrink(false).show_rows(
        &mut list,
        size::ROW,
        found.len(),
        |ui, range| {
            for index in range.filter_map(|row| found.get(row)) {
                put = column(ui, schema, pivot, index).map(|well| (index, well)).or(put);
            }
        },
    );
    put
}

/// One column; the well that it is to be put into.
fn column(ui: &mut Ui, schema: &Schema, pivot: &Pivot, index: usize) -> Option<Well> {
    let theme = Theme::of(ui);
    let field = schema.fields().get(index)?;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let response = ui.interact(rect, ui.scope_id().with(("column", index)), Sense::click_and_drag());
    let spoken = format!("Group by {}", field.name());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    if response.drag_started() {
        Dragged::begin(ui.ctx(), pivot, Carried::Column(index));
    }
    let open = Popup::is_id_open(ui.ctx(), Popup::default_response_id(&response));
    if response.hovered() || response.has_focus() || open {
        ui.painter().rect_filled(rect, 0.0, theme.bg3);
    }
    if response.has_focus() {
        let frame = egui::Stroke::new(1.0, theme.accent);
        ui.painter().rect_stroke(rect, size::CORNER, frame, egui::StrokeKind::Inside);
    }
    let used = uses(pivot, field.name());
    let icon = egui::FontId::new(size::TEXT, theme::icon_family());
    let at = pos2(rect.left() + space::S3, rect.center().y);
    let tint = if used { theme.accent } else { theme.dim };
    ui.painter().text(at, Align2::LEFT_CENTER, icon_for(field.data_type()).glyph(), icon, tint);
    let kind = gander::bytes::display::short_arrow_type(field.data_type(), 400);
    let mut short: String = kind.chars().take(12).collect();
    if kind.chars().nth(12).is_some() {
        short.push('…');
    }
    let wide = rect.width() > 150.0;
    let type_galley = ui.painter().layout_no_wrap(short, mono_small_font(), theme.faint);
    let right = rect.right() - space::S2 - if wide { type_galley.size().x } else { 0.0 };
    let (at, room) = (pos2(rect.left() + 34.0, rect.center().y), right - rect.left() - 34.0 - space::S1);
    paint_elided(ui.painter(), at, Align2::LEFT_CENTER, field.name(), body_font(), theme.text, room);
    if wide {
        let at = pos2(right, rect.center().y - type_galley.size().y / 2.0);
        ui.painter().galley(at, type_galley, theme.faint);
    }
    let mut put = None;
    Popup::menu(&response).width(170.0).show(|ui| {
        for well in Well::ALL {
            if arrange::fits(pivot, schema, Carried::Column(index), well)
                && row(ui, icon_of(well), &format!("Add to {}", well.words().to_lowercase()))
            {
                put = Some(well);
            }
        }
    });
    response.on_hover_text(format!("{}  {kind}\nDrag it into a well, or click", field.name()));
    put
}

/// Whether a column stands in a well.
fn uses(pivot: &Pivot, name: &str) -> bool {
    let keys = pivot.rows.iter().chain(&pivot.across).any(|key| key.column == name);
    keys || pivot.values.iter().any(|measure| measure.column.as_deref() == Some(name))
}

fn icon_for(data_type: &DataType) -> Icon {
    match data_type {
        DataType::Dictionary(_, values) => icon_for(values),
        DataType::Boolean => Icon::Toggle,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Icon::TextColumn,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Icon::Binary
        }
        kind if kind.is_numeric() => Icon::Hash,
        kind if kind.is_temporal() => Icon::Calendar,
        DataType::Struct(_) | DataType::Map(..) => Icon::Json,
        _ => Icon::List,
    }
}
