//! The norms of rows and columns as strips beside a heat map: at the right those of what runs down the screen, above it
//! those of what runs across. A pixel under which several rows lie shows the greatest of their norms.

use std::ops::Range;
use std::sync::Arc;

use egui::epaint::Mesh;
use egui::{Align2, Color32, Rect, Response, Sense, Shape, StrokeKind, Ui, pos2, vec2};
use gander::bytes::display::brief;
use gander::bytes::error::Error;
use gander::data::content::Array;
use gander::data::numbers::NonFinite;
use gander::data::plane::Slice;
use gander::data::plane::color::non_finite_color;
use gander::data::stats::{Profile, norms};
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::theme::{self, Theme, picture_color, space};
use crate::gui::ui::canvas::Viewport;

/// How far the longest bar reaches.
const LONGEST: f32 = 28.0;
/// What a strip takes beside the picture.
pub(super) const ROOM: f32 = LONGEST + space::S2;

/// Norms of a slice, ready to draw.
struct Profiles {
    rows: Profile,
    columns: Profile,
    /// The greatest finite of each.
    most: [f64; 2],
}

/// The strips of one picture.
#[derive(Default)]
pub(super) struct Strips {
    pub(super) shown: bool,
    norms: Slot<Slice, Profiles>,
}

/// What the strips are of.
pub(super) struct Wanted<'a> {
    pub(super) array: &'a Arc<dyn Array>,
    pub(super) slice: &'a Slice,
    pub(super) title: &'a str,
}

impl Strips {
    /// Shows them, or not any more; what was stopped begins anew.
    pub(super) fn show(&mut self, shown: bool) {
        if self.shown != shown {
            self.shown = shown;
            self.norms.clear();
        }
    }

    pub(super) fn stop(&self) {
        self.norms.cancel();
    }

    pub(super) fn clear(&self) {
        self.norms.clear();
    }

    /// Asks for the norms and draws what is there. What is under the pointer is answered in words.
    pub(super) fn ui(
        &self,
        ui: &mut Ui,
        jobs: &Jobs,
        sight: &Viewport,
        wanted: &Wanted<'_>,
    ) -> Option<String> {
        let (array, slice) = (wanted.array.clone(), wanted.slice.clone());
        let spec = JobSpec::scan(format!("norms of {}", wanted.title));
        let state = self.norms.get(jobs, wanted.slice, spec, move |task| {
            let found = norms(&*array, task, &slice)?;
            let (rows, columns) = (Profile::new(found.rows), Profile::new(found.columns));
            let most = [&columns, &rows].map(|profile| profile.greatest_finite().unwrap_or(0.0));
            Ok(Profiles { rows, columns, most })
        });
        let picture = sight.picture();
        if picture.width() < 1.0 || picture.height() < 1.0 {
            return None;
        }
        let places = [
            Rect::from_min_max(
                pos2(picture.left(), picture.top() - ROOM),
                pos2(picture.right(), picture.top() - space::S1),
            ),
            Rect::from_min_max(
                pos2(picture.right() + space::S1, picture.top()),
                pos2(picture.right() + ROOM, picture.bottom()),
            ),
        ];
        let mut words = None;
        for (down, place) in places.into_iter().enumerate() {
            let response = ui.interact(place, ui.scope_id().with(("norms", down)), Sense::hover());
            let is_of_rows = (down == 1) == sight.upright();
            response.widget_info(|| {
                let name = if is_of_rows { "Norms of the rows" } else { "Norms of the columns" };
                egui::WidgetInfo::labeled(egui::Role::Image, true, name)
            });
            match (state.ready(), &state.error) {
                (Some(found), _) => {
                    let strip = Strip { sight, place, down: down == 1, is_of_rows, found: &found };
                    strip.draw(ui);
                    words = strip.answer(response, wanted.slice).or(words);
                }
                (None, error) => waiting(ui, place, response, error.as_ref(), state.progress()),
            }
        }
        words
    }
}

/// What stands in the place of a strip that is not there.
fn waiting(ui: &Ui, place: Rect, response: Response, error: Option<&Error>, progress: Option<f32>) {
    let theme = Theme::of(ui);
    ui.painter().rect_filled(place, 0.0, theme.bg3);
    let Some(error) = error else {
        ui.ctx().request_repaint_after_secs(0.1);
        let text = theme::percent(progress);
        let font = theme::small_font();
        ui.painter_at(place).text(place.center(), Align2::CENTER_CENTER, text.trim(), font, theme.dim);
        return;
    };
    ui.painter().rect_stroke(place, 0.0, egui::Stroke::new(1.0, theme.bad), StrokeKind::Inside);
    response.on_hover_text(format!("No norms: {error}"));
}

/// One strip in one frame.
struct Strip<'a> {
    sight: &'a Viewport,
    place: Rect,
    /// Whether it stands beside the picture, not above it.
    down: bool,
    is_of_rows: bool,
    found: &'a Profiles,
}

impl Strip<'_> {
    fn profile(&self) -> &Profile {
        if self.is_of_rows { &self.found.rows } else { &self.found.columns }
    }

    /// The rows (or columns) that lie between two places along the strip.
    fn lines(&self, from: f32, to: f32) -> Range<u64> {
        let middle = self.sight.picture().center();
        let axis = usize::from(self.is_of_rows);
        let at = |along: f32| {
            let at = if self.down { pos2(middle.x, along) } else { pos2(along, middle.y) };
            self.sight.to_plane(at)[axis].clamp(0.0, self.sight.size[axis])
        };
        let (a, b) = (at(from), at(to));
        let (low, high) = (a.min(b), a.max(b));
        let last = (self.sight.size[axis] as u64).saturating_sub(1);
        let start = (low.floor() as u64).min(last);
        start..(high.floor() as u64).max(start + 1)
    }

    /// A bar for each pixel; magenta over the whole width where a norm is no number.
    fn draw(&self, ui: &Ui) {
        let theme = Theme::of(ui);
        let most = self.found.most[usize::from(self.is_of_rows)];
        let (begin, end) = if self.down {
            (self.place.top(), self.place.bottom())
        } else {
            (self.place.left(), self.place.right())
        };
        let step = 1.0 / ui.pixels_per_point();
        let mut mesh = Mesh::default();
        let mut at = begin;
        while at < end {
            let to = (at + step).min(end);
            let value = self.profile().greatest(self.lines(at, to)).unwrap_or(0.0);
            let (share, color) = bar(value, most, theme.accent);
            let long = share * (LONGEST - space::S1);
            if long > 0.0 {
                let bar = if self.down {
                    Rect::from_min_max(pos2(self.place.left(), at), pos2(self.place.left() + long, to))
                } else {
                    Rect::from_min_max(pos2(at, self.place.bottom() - long), pos2(to, self.place.bottom()))
                };
                mesh.add_colored_rect(bar, color);
            }
            at = to.max(at + step * 0.5);
        }
        let painter = ui.painter();
        painter.rect_filled(self.place, 0.0, theme.bg1);
        painter.add(Shape::mesh(mesh));
        let line = theme.hairline();
        if self.down {
            painter.vline(self.place.left(), self.place.y_range(), line);
        } else {
            painter.hline(self.place.x_range(), self.place.bottom(), line);
        }
    }

    /// Index and norm of what is under the pointer.
    fn answer(&self, response: Response, slice: &Slice) -> Option<String> {
        let at = response.hover_pos()?;
        let along = if self.down { at.y } else { at.x };
        let lines = self.lines(along - 0.5, along + 0.5);
        let norm = self.profile().greatest(lines.clone())?;
        let axis = if self.is_of_rows { slice.rows } else { slice.columns };
        let (first, last) = (slice.along(axis, lines.start), slice.along(axis, lines.end - 1));
        let (one, many) = if self.is_of_rows { ("row", "rows") } else { ("column", "columns") };
        let norm = if norm.is_nan() { "NaN".to_owned() } else { brief(norm) };
        let words = match first == last {
            true => format!("{one} {first}: norm {norm}"),
            false => format!("{many} {first} to {last}: greatest norm {norm}"),
        };
        response.on_hover_text_at_pointer(&words);
        Some(words)
    }
}

/// How long a bar is, 0 to 1, and its colour.
fn bar(value: f64, most: f64, usual: Color32) -> (f32, Color32) {
    match NonFinite::of(value) {
        Some(kind) => (1.0, picture_color(non_finite_color(kind, 0))),
        None if most > 0.0 => ((value / most) as f32, usual),
        None => (0.0, usual),
    }
}

/// What is left of a place for a picture with strips beside it.
pub(super) fn beside(rect: Rect) -> Rect {
    let rest =
        Rect::from_min_max(pos2(rect.left(), rect.top() + ROOM), pos2(rect.right() - ROOM, rect.bottom()));
    Rect::from_min_size(rest.min, rest.size().max(vec2(2.0, 2.0)))
}
