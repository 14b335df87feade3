//! Chapters of a sound: their titles stand above the pictures where they begin, and a click goes there.

use egui::{Align2, Rect, Sense, Stroke, Ui, WidgetInfo, pos2};
use gander::data::content::array::Chapter;

use super::AudioView;
use crate::gui::theme::{self, Theme, space};

/// Height of the titles, in points.
pub(super) const CHAPTERS: f32 = 20.0;
/// A title that has less room is not written, in points.
const NARROW: f32 = 24.0;

/// Parts of a sound: the frames of each, and its title.
pub(super) struct Chapters(Vec<(std::ops::Range<u64>, String)>);

impl Chapters {
    /// Those of a sound, which are in the order of time; one that has no end lasts to that of the sound.
    pub(super) fn new(list: &[Chapter], rate: f64, frames: u64) -> Self {
        let frame = |seconds: f64| ((seconds.max(0.0) * rate).round() as u64).min(frames);
        let chapter = |chapter: &Chapter| {
            let start = frame(chapter.start);
            let end = chapter.end.map_or(frames, frame);
            (start..end.max(start), chapter.title.clone())
        };
        Chapters(list.iter().map(chapter).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first frame of the chapter that is `by` chapters behind the one at a frame.
    fn beside(&self, frame: u64, by: i64) -> Option<u64> {
        let begun = self.0.partition_point(|(range, _)| range.start <= frame) as i64;
        let n = usize::try_from(begun - 1 + by).ok()?;
        self.0.get(n).map(|(range, _)| range.start)
    }
}

impl AudioView {
    /// The cursor goes to a chapter behind or before the one that it is in.
    pub(super) fn chapter(&mut self, by: i64) -> bool {
        let at = self.cursor.unwrap_or(0);
        let Some(frame) = self.chapters.beside(at, by) else { return false };
        self.go(frame);
        if !self.sight.contains(&(frame as f64)) {
            let length = self.sight.end - self.sight.start;
            self.see(frame as f64..frame as f64 + length);
        }
        true
    }

    /// The titles above the pictures, and lines through them where chapters begin.
    pub(super) fn draw_chapters(&mut self, ui: &Ui, pictures: Rect) {
        if self.chapters.is_empty() {
            return;
        }
        let theme = Theme::of(ui);
        let line = Rect::from_min_max(
            pos2(pictures.left(), pictures.top() - CHAPTERS),
            pos2(pictures.right(), pictures.top() - 2.0),
        );
        let mut clicked = None;
        let mut drawn = f32::NEG_INFINITY;
        // Those before what is in sight are passed over.
        let first = self.chapters.0.partition_point(|(range, _)| (range.end as f64) <= self.sight.start);
        for (n, (range, title)) in self.chapters.0.iter().enumerate().skip(first) {
            if range.start as f64 > self.sight.end {
                break;
            }
            let left = self.place_of(line, range.start as f64);
            let right = self.place_of(line, range.end as f64).min(line.right());
            // Of those that begin at the same place, one is drawn.
            if left - drawn < 1.0 {
                continue;
            }
            drawn = left;
            let place =
                Rect::from_min_max(pos2(left.max(line.left()), line.top()), pos2(right, line.bottom()));
            if left >= line.left() {
                let stroke = Stroke::new(1.0, theme.warn);
                ui.painter().vline(left, line.top()..=pictures.bottom(), stroke);
            }
            if place.width() < NARROW {
                continue;
            }
            let response = ui.interact(place, ui.scope_id().with(("chapter", n)), Sense::click());
            response
                .widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("chapter {title}")));
            let color = if response.hovered() { theme.text } else { theme.dim };
            let painter = ui.painter().with_clip_rect(place.shrink2(egui::vec2(space::S1, 0.0)));
            let at = pos2(place.left() + space::S1, place.center().y);
            painter.text(at, Align2::LEFT_CENTER, title, theme::small_font(), color);
            if response.on_hover_text(format!("{title}\n{}", self.clock(range.start as f64))).clicked() {
                clicked = Some(range.start);
            }
        }
        if let Some(frame) = clicked {
            self.go(frame);
        }
    }
}
