//! A tab of a strip of tabs: those of the window, and those of the results of a query.

use egui::{Align2, FontId, Id, PointerButton, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::elided;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// The most that a tab's name takes, in points.
const WIDEST: f32 = 220.0;
/// What a tab's name has in the narrowest strip, in points.
const LEAST: f32 = 40.0;
/// The room of a mark before the name, in points.
const MARK: f32 = 20.0;
/// The side of the cross, in points.
const CROSS: f32 = 18.0;

/// What a tab looks like.
pub(crate) struct TabLook<'a> {
    /// Its name.
    pub(crate) title: &'a str,
    /// What a screen reader says of it.
    pub(crate) spoken: &'a str,
    /// The font of the name.
    pub(crate) font: FontId,
    /// The colour of name and mark.
    pub(crate) color: egui::Color32,
    /// A mark before the name.
    pub(crate) mark: Option<Icon>,
    /// Whether what it stands for is shown.
    pub(crate) is_chosen: bool,
    /// Whether keys go to what it stands for.
    pub(crate) is_active: bool,
    /// Whether it is drawn: not while it hangs at the pointer.
    pub(crate) is_drawn: bool,
}

impl TabLook<'_> {
    /// Draws the tab as high as `ui`, with a cross; its response, and whether it is to be closed, by the cross or the
    /// middle button.
    pub(crate) fn ui(&self, ui: &mut Ui, id: Id, sense: Sense) -> (Response, bool) {
        let theme = Theme::of(ui);
        let lead = if self.mark.is_some() { MARK } else { 0.0 };
        let around = lead + space::S3 + 2.0 + space::S2 + 16.0 + space::S2;
        // In a narrow strip one tab is in sight as a whole, its cross with it.
        let widest = (ui.clip_rect().width() - around - space::S2).clamp(LEAST, WIDEST);
        let galley = elided(ui.painter(), self.title, self.font.clone(), self.color, widest);
        let width = around + galley.size().x;
        let (_, rect) = ui.allocate_space(vec2(width, ui.available_height()));
        let response = ui.interact(rect, id, sense);
        response.widget_info(|| WidgetInfo::selected(Role::Tab, true, self.is_chosen, self.spoken));
        let mut close = response.clicked_by(PointerButton::Middle);
        if !self.is_drawn || !ui.is_rect_visible(rect) {
            return (response, close);
        }
        ui.painter().rect_filled(rect, 0.0, if self.is_chosen { theme.bg2 } else { theme.bg1 });
        ui.painter().vline(rect.right() - 0.5, rect.y_range(), theme.hairline());
        if self.is_chosen {
            let line = if self.is_active { theme.accent } else { theme.faint };
            let top = Rect::from_min_size(rect.min, vec2(rect.width() - 1.0, 2.0));
            ui.painter().rect_filled(top, 0.0, line);
        } else {
            ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, theme.hairline());
        }
        let mut at = pos2(rect.left() + space::S3 + 2.0, rect.center().y);
        if let Some(mark) = self.mark {
            let font = FontId::new(size::TEXT, theme::icon_family());
            ui.painter().text(at, Align2::LEFT_CENTER, mark.glyph(), font, self.color);
            at.x += lead;
        }
        at.y = (at.y - galley.size().y / 2.0).round();
        ui.painter().galley(at, galley, self.color);
        close |= self.cross(ui, rect, id.with("close"), response.hovered() || self.is_chosen);
        (response, close)
    }

    /// The cross at the right; whether it was clicked.
    fn cross(&self, ui: &Ui, tab: Rect, id: Id, is_strong: bool) -> bool {
        let theme = Theme::of(ui);
        let center = pos2(tab.right() - space::S2 - CROSS / 2.0, tab.center().y);
        let rect = Rect::from_center_size(center, vec2(CROSS, CROSS));
        let response = ui.interact(rect, id, Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Close {}", self.title)));
        if response.hovered() {
            ui.painter().rect_filled(rect, size::CORNER, theme.bg3);
        }
        let color = match (response.hovered(), is_strong) {
            (true, _) => theme.text,
            (false, true) => theme.dim,
            (false, false) => theme.faint,
        };
        let font = FontId::new(size::TEXT_SMALL, theme::icon_family());
        ui.painter().text(center, Align2::CENTER_CENTER, Icon::Close, font, color);
        response.clicked()
    }
}
