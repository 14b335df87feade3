//! How tabs look and what clicks on them do.

use std::collections::HashMap;

use egui::{Color32, Id, Response, Sense, Stroke, Ui, Visuals, WidgetText};
use egui_tiles::{Behavior, SimplificationOptions, TabState, TileId, Tiles, UiResponse};

use super::widget_states::WidgetStates;
use super::{Pane, TabsCx};
use crate::gui::commands::{self, Action, CommandId, Where};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::TabLook;
use crate::gui::views::Status;

/// The tabs' behaviour in one frame.
pub(super) struct Behaviour<'a> {
    pub(super) cx: TabsCx<'a>,
    pub(super) active: Option<TileId>,
    pub(super) close: Vec<TileId>,
    /// The words of tabs that others have too, with what tells them apart.
    pub(super) distinct: HashMap<TileId, String>,
    pub(super) states: &'a mut WidgetStates,
}

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
        let (ctx, cx) = (ui.ctx().clone(), &mut self.cx);
        self.states.of_tab(&ctx, pane.number(), || pane.ui(ui, cx, active));
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
        let title = self.distinct.get(&tile_id).cloned().unwrap_or(title);
        let look = TabLook {
            title: &title,
            spoken: &title,
            font: if preview { theme::italic_font() } else { theme::body_font() },
            color: if state.active { theme.text } else { theme.dim },
            mark: None,
            is_chosen: state.active,
            is_active: self.active == Some(tile_id),
            is_drawn: !state.is_being_dragged,
        };
        let (response, close) = look.ui(ui, id, Sense::click_and_drag());
        if response.clicked() || response.drag_started() {
            self.active = Some(tile_id);
        }
        if let Some(egui_tiles::Tile::Pane(pane)) = tiles.get_mut(tile_id) {
            pane.preview &= !response.double_clicked();
            if response.clicked() {
                pane.focus_request = super::pane::FocusRequest::Now;
            }
        }
        if close {
            self.close.push(tile_id);
        }
        if state.active {
            reveal_once(ui, &response, tile_id);
        }
        response.context_menu(|ui| self.menu(ui, tiles, tile_id));
        match self.tip(tiles, tile_id) {
            Some(tip) => response.on_hover_text(tip),
            None => response,
        }
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<Pane>,
        ui: &mut Ui,
        _tile_id: TileId,
        tabs: &egui_tiles::Tabs,
        _scroll_offset: &mut f32,
    ) {
        let target = tabs.active.and_then(|id| tiles.get_pane(&id)).and_then(|pane| pane.target().cloned());
        ui.add_space(space::S1);
        ui.add_enabled_ui(target.is_some(), |ui| {
            let tip = commands::get(CommandId::Split).label.tip(ui.ctx());
            if theme::icon_button(ui, Icon::SplitRight, &tip).clicked()
                && let Some(target) = target
            {
                self.cx.actions.push(Action::Show(target, Where::Side));
            }
        });
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

/// Scrolls the strip to a tab when it has become the active one: afterwards whoever scrolls it is left alone.
fn reveal_once(ui: &Ui, tab: &Response, tile_id: TileId) {
    let id = ui.scope_id().with("revealed");
    let before = ui.data_mut(|data| data.get_temp_mut_or_default::<Option<TileId>>(id).replace(tile_id));
    if before != Some(tile_id) {
        // At once: the strip takes its offset anew in each frame, which would end a movement.
        tab.scroll_to_me_animation(None, egui::style::ScrollAnimation::none());
    }
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
        let target = tiles.get_pane(&tile_id).and_then(|pane| pane.target().cloned());
        if let Some(target) = target
            && ui.button(theme::icon_text(Icon::SplitRight, "Split to the side")).clicked()
        {
            self.cx.actions.push(Action::Show(target, Where::Side));
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
            self.cx.actions.push(Action::Copy(tip));
            ui.close();
        }
    }
}
