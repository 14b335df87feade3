//! What a cell shows beside its text: the fold of a group, a share as a bar, a distribution or a picture in little.

use egui::{Align2, Color32, FontId, Painter, Rect, pos2, vec2};

use super::model::Decoration;
use crate::gui::icons::Icon;
use crate::gui::theme::{Theme, icon_family, size, space};

/// The step of a level.
const STEP: f32 = 12.0;
/// Room for the mark of a fold.
const FOLD: f32 = 14.0;
/// The width of a bar beside a number.
const BAR: f32 = 36.0;
/// Its height.
const BAR_HEIGHT: f32 = 7.0;
/// The height of a distribution.
const HEIGHT: f32 = 14.0;
/// The most that a picture takes of the width of a cell.
const PICTURE: f32 = 96.0;

/// Above and below a picture in a low row, together.
const LOW_MARGIN: f32 = 4.0;

/// The room that it takes beside the text.
pub(super) fn width(decoration: &Decoration) -> f32 {
    match decoration {
        Decoration::Level { depth, .. } => *depth as f32 * STEP + FOLD,
        Decoration::Share(_) => BAR + space::S1,
        Decoration::Distribution(_) | Decoration::Alarm => 0.0,
        Decoration::Picture { .. } => PICTURE + space::S2,
    }
}

/// Paints it; what is left of the cell for the text, and the colour of that where it is not the usual one.
pub(super) fn paint(
    painter: &Painter,
    theme: &Theme,
    inner: Rect,
    decoration: &Decoration,
) -> (Rect, Option<Color32>) {
    let middle = inner.top() + size::ROW / 2.0;
    match decoration {
        Decoration::Level { depth, open } => {
            // However deep it is, some of the name stays in sight.
            let left = inner.left() + (*depth as f32 * STEP).min(inner.width() * 0.5);
            if let Some(open) = open {
                let glyph = if *open { Icon::CaretDown } else { Icon::CaretRight };
                let font = FontId::new(size::TEXT_SMALL, icon_family());
                painter.text(pos2(left, middle), Align2::LEFT_CENTER, glyph.glyph(), font, theme.dim);
            }
            (Rect::from_min_max(pos2(left + FOLD, inner.top()), inner.max), open.map(|_| theme.text))
        }
        Decoration::Share(share) => {
            let width = BAR.min(inner.width() * 0.4);
            let bar =
                Rect::from_min_size(pos2(inner.left(), middle - BAR_HEIGHT / 2.0), vec2(width, BAR_HEIGHT));
            painter.rect_filled(bar, 1.0, theme.bg3);
            let filled = vec2((width * share.clamp(0.0, 1.0)).max(1.0), BAR_HEIGHT);
            painter.rect_filled(Rect::from_min_size(bar.min, filled), 1.0, theme.accent.gamma_multiply(0.75));
            (Rect::from_min_max(pos2(bar.right() + space::S1, inner.top()), inner.max), None)
        }
        Decoration::Distribution(bins) => {
            let most = bins.iter().copied().fold(0.0, f32::max);
            if most > 0.0 {
                let step = inner.width() / bins.len() as f32;
                let foot = middle + HEIGHT / 2.0;
                for (n, bin) in bins.iter().enumerate().filter(|(_, bin)| **bin > 0.0) {
                    let left = inner.left() + n as f32 * step;
                    let top = foot - (HEIGHT * bin / most).max(1.0);
                    let right = left + (step - 0.5).max(1.0);
                    let bar = Rect::from_min_max(pos2(left, top), pos2(right, foot));
                    painter.rect_filled(bar, 0.0, theme.accent.gamma_multiply(0.75));
                }
            }
            (Rect::from_min_max(inner.right_top(), inner.max), None)
        }
        Decoration::Alarm => (inner, Some(theme.bad)),
        Decoration::Picture { texture, proportion } => {
            // In a low row it fills nearly all of the height.
            let margin = if inner.height() < 1.5 * size::ROW { LOW_MARGIN } else { space::S2 };
            let room = vec2(PICTURE.min(inner.width()), (inner.height() - margin).max(1.0));
            let height = room.y.min(room.x / proportion.max(0.01));
            let shown = vec2((height * proportion).max(1.0), height.max(1.0));
            let at = pos2(inner.left(), inner.center().y - shown.y / 2.0);
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            painter.image(*texture, Rect::from_min_size(at, shown), whole, Color32::WHITE);
            (Rect::from_min_max(pos2(inner.left() + shown.x + space::S2, inner.top()), inner.max), None)
        }
    }
}
