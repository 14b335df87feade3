//! How tabs look and what clicks on them do.

use egui::{
    Align2, Color32, FontId, Id, PointerButton, Response, Role, Sense, Stroke, Ui, Visuals, WidgetInfo,
    WidgetText, pos2, vec2,
};
use egui_tiles::{Behavior, SimplificationOptions, TabState, TileId, Tiles, UiResponse};

use super::{Pane, TabsCx};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::views::Status;

/// The tabs' behaviour in one frame.
pub(super) struct Behaviour<'a> {
    pub(super) cx: TabsCx<'a>,
    pub(super) active: Option<TileId>,
    pub(super) close: Vec<TileId>,
}

/// The most that a tab's name takes, in points.
const WIDEST: f32 = 220.0;

impl Behavior<Pane> for Behaviour<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, tile_id: TileId, pane: &mut Pane) -> UiResponse {
        let rect = ui.max_rect();
        let pressed = ui.input(|input| input.pointer.any_pressed());
        if pressed && ui.rect_contains_pointer(rect) {
            self.active = Some(tile_id);
        }
        let active = self.active == Some(tile_id);
        let before = self.cx.status.clone();
        *self.cx.status = Status::default();
        pane.ui(ui, &mut self.cx, active);
        if !active {
            *self.cx.status = before;
        }
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane.title().into()
    }

    fn tab_ui(
        &mut self,
        tiles: &mut Tiles<Pane>,
        ui: &mut Ui,
        id: Id,
        tile_id: TileId,
        state: &TabState,
    ) -> Response {
        let theme = Theme::of(ui);
        let (title, preview) = match tiles.get_pane(&tile_id) {
            Some(pane) => (pane.title().to_owned(), pane.preview),
            None => ("group".to_owned(), false),
        };
        let font = if preview { theme::italic_font() } else { theme::body_font() };
        let active = self.active == Some(tile_id);
        let color = if state.active { theme.text } else { theme.dim };
        let mut job = egui::text::LayoutJob::simple_singleline(title.clone(), font, color);
        job.wrap = egui::text::TextWrapping::truncate_at_width(WIDEST);
        let galley = ui.painter().layout_job(job);
        let width = galley.size().x + space::S3 + 2.0 + space::S2 + 16.0 + space::S2;
        let (_, rect) = ui.allocate_space(vec2(width, ui.available_height()));
        let response = ui.interact(rect, id, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::selected(Role::Tab, true, state.active, &title));
        if response.clicked() || response.drag_started() {
            self.active = Some(tile_id);
        }
        if let Some(egui_tiles::Tile::Pane(pane)) = tiles.get_mut(tile_id) {
            pane.preview &= !response.double_clicked();
            if response.clicked() {
                pane.grab = super::pane::Grab::Now;
            }
        }
        if ui.is_rect_visible(rect) && !state.is_being_dragged {
            let fill = if state.active { theme.bg2 } else { theme.bg1 };
            ui.painter().rect_filled(rect, 0.0, fill);
            ui.painter().vline(rect.right() - 0.5, rect.y_range(), theme.hairline());
            if state.active {
                let line = if active { theme.accent } else { theme.faint };
                let top = egui::Rect::from_min_size(rect.min, vec2(rect.width() - 1.0, 2.0));
                ui.painter().rect_filled(top, 0.0, line);
            } else {
                ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, theme.hairline());
            }
            let at = pos2(rect.left() + space::S3 + 2.0, (rect.center().y - galley.size().y / 2.0).round());
            ui.painter().galley(at, galley, color);
            self.cross(ui, rect, tile_id, &title, response.hovered() || state.active);
        }
        if response.clicked_by(PointerButton::Middle) {
            self.close.push(tile_id);
        }
        response.context_menu(|ui| self.menu(ui, tiles, tile_id));
        match self.tip(tiles, tile_id) {
            Some(tip) => response.on_hover_text(tip),
            None => response,
        }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        size::BAR
    }

    fn tab_bar_color(&self, visuals: &Visuals) -> Color32 {
        of(visuals).bg1
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        1.0
    }

    fn tab_bar_hline_stroke(&self, visuals: &Visuals) -> Stroke {
        of(visuals).hairline()
    }

    fn resize_stroke(&self, style: &egui::Style, state: egui_tiles::ResizeState) -> Stroke {
        let theme = of(&style.visuals);
        match state {
            egui_tiles::ResizeState::Idle => theme.hairline(),
            _ => Stroke::new(2.0, theme.accent),
        }
    }

    fn drag_preview_stroke(&self, visuals: &Visuals) -> Stroke {
        Stroke::new(1.0, of(visuals).accent)
    }

    fn drag_preview_color(&self, visuals: &Visuals) -> Color32 {
        of(visuals).accent.gamma_multiply(0.15)
    }

    fn min_size(&self) -> f32 {
        160.0
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }
}

fn of(visuals: &Visuals) -> &'static Theme {
    if visuals.dark_mode { Theme::dark() } else { Theme::light() }
}

impl Behaviour<'_> {
    /// Where the nodes of a tab lie; `None` where it has none.
    fn tip(&self, tiles: &Tiles<Pane>, tile_id: TileId) -> Option<String> {
        let nodes = tiles.get_pane(&tile_id)?.content().nodes().iter();
        let lines = nodes.filter_map(|node| {
            let file = self.cx.files.get(node.file)?.path.display().to_string();
            Some(if node.path.is_empty() { file } else { format!("{file}#{}", node.path) })
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn menu(&mut self, ui: &mut Ui, tiles: &mut Tiles<Pane>, tile_id: TileId) {
        ui.spacing_mut().button_padding.x = space::S2;
        if ui.button(theme::icon_text(Icon::Pin, "Keep tab")).clicked() {
            if let Some(egui_tiles::Tile::Pane(pane)) = tiles.get_mut(tile_id) {
                pane.preview = false;
            }
            ui.close();
        }
        if ui.button(theme::icon_text(Icon::Close, "Close")).clicked() {
            self.close.push(tile_id);
            ui.close();
        }
        if ui.button(theme::icon_text(Icon::Close, "Close the other tabs")).clicked() {
            let all = tiles.iter().filter(|(_, tile)| matches!(tile, egui_tiles::Tile::Pane(_)));
            self.close.extend(all.map(|(id, _)| *id).filter(|id| *id != tile_id));
            ui.close();
        }
        if let Some(tip) = self.tip(tiles, tile_id)
            && ui.button(theme::icon_text(Icon::Copy, "Copy path")).clicked()
        {
            self.cx.actions.push(crate::gui::commands::Action::Copy(tip));
            ui.close();
        }
    }

    /// The cross at the right of a tab.
    fn cross(&mut self, ui: &Ui, tab: egui::Rect, tile_id: TileId, title: &str, strong: bool) {
        let theme = Theme::of(ui);
        let center = pos2(tab.right() - space::S2 - 9.0, tab.center().y);
        let rect = egui::Rect::from_center_size(center, vec2(18.0, 18.0));
        let response = ui.interact(rect, ui.scope_id().with(("close", tile_id)), Sense::click());
        let spoken = format!("Close {title}");
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
        if response.hovered() {
            ui.painter().rect_filled(rect, size::CORNER, theme.bg3);
        }
        let color = if response.hovered() {
            theme.text
        } else if strong {
            theme.dim
        } else {
            theme.faint
        };
        let font = FontId::new(11.0, theme::icon_family());
        ui.painter().text(center, Align2::CENTER_CENTER, Icon::Close, font, color);
        if response.clicked() {
            self.close.push(tile_id);
        }
    }
}
