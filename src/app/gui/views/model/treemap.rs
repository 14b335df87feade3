//! Where the parameters are: groups of tensors as rectangles in rectangles, their areas the parameters, their colours any
//! column.

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Align2, Color32, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::parameters::Parameters;
use gander::data::parameters::groups::{Grouping, Groups};
use gander::data::parameters::treemap::{Area, Tile, tiles};
use gander::data::stats::tensor::TensorStats;
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::commands::Where;
use crate::gui::theme::{self, Theme, mono_small_font, size, small_font, space};
use crate::gui::ui::{drop_down, paint_elided};

/// The most tiles.
const MOST: usize = 4_000;
/// While passes run the ends of the colours are worked out again so often.
const AGAIN: Duration = Duration::from_millis(500);
/// Models of more tensors have no treemap: it would be dust.
const TENSORS: usize = 100_000;

/// What the colours say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Coloured {
    #[default]
    Std,
    Mean,
    Largest,
    Norm,
    Zeros,
    NotFinite,
    Dtype,
}

impl Coloured {
    const ALL: [Coloured; 7] = [
        Coloured::Std,
        Coloured::Mean,
        Coloured::Largest,
        Coloured::Norm,
        Coloured::Zeros,
        Coloured::NotFinite,
        Coloured::Dtype,
    ];

    fn words(self) -> &'static str {
        match self {
            Coloured::Std => "std",
            Coloured::Mean => "mean",
            Coloured::Largest => "largest magnitude",
            Coloured::Norm => "norm",
            Coloured::Zeros => "share of zeros",
            Coloured::NotFinite => "NaN and ±Inf",
            Coloured::Dtype => "dtype",
        }
    }

    /// The number that a colour stands for; `None` for a dtype, and where there is none.
    fn value(self, stats: &TensorStats) -> Option<f64> {
        match self {
            Coloured::Std => stats.std,
            Coloured::Mean => stats.mean,
            Coloured::Largest => stats.max.zip(stats.min).map(|(max, min)| max.abs().max(min.abs())),
            Coloured::Norm => stats.norm,
            Coloured::Zeros => Some(stats.zeros as f64 / stats.count.max(1) as f64),
            Coloured::NotFinite => Some((stats.nan + stats.infinite) as f64),
            Coloured::Dtype => None,
        }
    }
}

/// What tiles are made for: tensors (by address), path, width and height.
type Key = (usize, String, [u32; 2]);

/// Groups of tensors, and where they lie.
struct Tiles {
    groups: Groups,
    tiles: Vec<Tile>,
}

/// The state of the treemap.
#[derive(Default)]
pub(super) struct Treemap {
    coloured: Coloured,
    made: Slot<Key, Tiles>,
    /// Those that are shown, until others are made.
    tiles: Option<Arc<Tiles>>,
    /// The ends of the colours, and of how many passes and what.
    ends: Option<(usize, Coloured, (f64, f64), Instant)>,
    hovered: Option<usize>,
}

impl Treemap {
    /// What is under the pointer, in words.
    pub(super) fn under(&self, parameters: &Parameters) -> Option<String> {
        let row = self.tiles.as_ref()?.groups.rows().get(self.hovered?)?;
        let name = row.tensor.and_then(|n| parameters.tensors().get(n)).map_or(&row.name, |one| &one.path);
        let share = row.parameters as f64 / parameters.total().max(1) as f64 * 100.0;
        Some(format!("{name} · {} parameters · {share:.2} %", display::short_count(row.parameters)))
    }

    /// Draws it into all that is left of `ui`; the tensor that was clicked, and where it is to be shown.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        parameters: &Parameters,
        below: &str,
    ) -> Option<(usize, Where)> {
        let theme = Theme::of(ui);
        let outer = ui.available_rect_before_wrap();
        ui.painter().rect_filled(outer, 0.0, theme.bg1);
        ui.painter().hline(outer.x_range(), outer.top(), theme.hairline());
        if parameters.tensors().len() > TENSORS {
            ui.add_space(space::S3);
            ui.label(theme::dim(theme, "  Too many tensors for a treemap"));
            return None;
        }
        ui.add_space(space::S1);
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            ui.label(theme::dim(theme, "Size: parameters · colour:"));
            drop_down(ui, self.coloured.words(), "What the colours of the treemap say", |ui| {
                for one in Coloured::ALL {
                    ui.radio_value(&mut self.coloured, one, one.words());
                }
            });
        });
        let area = Rect::from_min_max(
            ui.cursor().min + vec2(space::S2, 2.0),
            outer.max - vec2(space::S2, space::S2),
        );
        if area.width() < 20.0 || area.height() < 12.0 {
            return None;
        }
        let of = parameters.tensors().as_ptr() as usize;
        let key = (of, below.to_owned(), [area.width() as u32, area.height() as u32]);
        let (size, tensors, path) = (area.size(), parameters.clone(), below.to_owned());
        let shown = self.made.get(jobs, &key, JobSpec::view("laying out the treemap"), move |_| {
            let groups = Groups::new(tensors.tensors(), Grouping::Module, &path);
            let tiles = tiles(&groups, [0.0, 0.0, size.x, size.y], MOST);
            Ok(Tiles { groups, tiles })
        });
        self.tiles = shown.value.or(self.tiles.take());
        let made = self.tiles.clone()?;
        let (groups, tiles) = (&made.groups, made.tiles.as_slice());
        let ends = self.ends(parameters);
        let response = ui.allocate_rect(area, Sense::click());
        let at = response.hover_pos().map(|at| at - area.min.to_vec2());
        let inside = |tile: &&Tile| at.is_some_and(|at| rect_of(tile.area).contains(at));
        // What lies in a tile comes after it.
        self.hovered = tiles.iter().rev().find(inside).map(|tile| tile.row);
        let painter = ui.painter().with_clip_rect(area);
        for tile in tiles {
            let place = rect_of(tile.area).translate(area.min.to_vec2());
            self.paint(&painter, theme, groups, parameters, ends, tile, place);
        }
        described(&response, groups, parameters);
        let clicked = response.clicked() || response.middle_clicked();
        let row = self.hovered.filter(|_| clicked).and_then(|row| groups.rows().get(row))?;
        Some((row.tensor?, if response.middle_clicked() { Where::Side } else { Where::Kept }))
    }

    /// The numbers that the darkest and the brightest colour stand for: of all tensors but a few at either end.
    fn ends(&mut self, parameters: &Parameters) -> (f64, f64) {
        let passes = parameters.passes();
        if let Some((known, coloured, ends, since)) = self.ends
            && coloured == self.coloured
            && (known == passes || passes < parameters.tensors().len() && since.elapsed() < AGAIN)
        {
            return ends;
        }
        let known = (0..parameters.tensors().len()).filter_map(|n| parameters.known(n)?.ok());
        let mut values: Vec<f64> = known.filter_map(|stats| self.coloured.value(&stats)).collect();
        values.sort_by(f64::total_cmp);
        let few = values.len() / 50;
        let low = values.get(few).copied().unwrap_or_default();
        let high = values.get(values.len().saturating_sub(1 + few)).copied().unwrap_or_default();
        self.ends = Some((passes, self.coloured, (low, high), Instant::now()));
        (low, high)
    }

    #[allow(clippy::too_many_arguments, reason = "all that a tile's look depends on")]
    fn paint(
        &self,
        painter: &egui::Painter,
        theme: &Theme,
        groups: &Groups,
        parameters: &Parameters,
        ends: (f64, f64),
        tile: &Tile,
        place: Rect,
    ) {
        let Some(row) = groups.rows().get(tile.row) else { return };
        if !tile.divided {
            let filled = place.shrink(0.5);
            let color = row.tensor.map_or(theme.bg3, |n| self.color(theme, parameters, ends, n));
            painter.rect_filled(filled, 0.0, color);
        }
        if self.hovered == Some(tile.row) {
            let stroke = egui::Stroke::new(1.5, theme.accent);
            painter.rect_stroke(place, 0.0, stroke, egui::StrokeKind::Inside);
        }
        let head = if tile.divided { tile.head } else { place.height().min(size::ROW) };
        if head >= 13.0 && place.width() > 34.0 {
            let at = pos2(place.left() + 4.0, place.top() + head / 2.0);
            let font = if tile.divided { small_font() } else { mono_small_font() };
            let color = if tile.divided { theme.dim } else { theme.text };
            paint_elided(painter, at, Align2::LEFT_CENTER, &row.name, font, color, place.width() - 8.0);
        }
    }

    /// The colour of a tensor.
    fn color(&self, theme: &Theme, parameters: &Parameters, ends: (f64, f64), n: usize) -> Color32 {
        if self.coloured == Coloured::Dtype {
            let name = parameters.tensors().get(n).map(|tensor| tensor.array.dtype().to_string());
            let number =
                name.iter().flat_map(|name| name.bytes()).fold(0usize, |sum, byte| sum * 31 + byte as usize);
            return theme.category(number).gamma_multiply(0.6);
        }
        let Some(Ok(stats)) = parameters.known(n) else { return theme.bg3 };
        if stats.nan + stats.infinite > 0 {
            return theme.bad;
        }
        let Some(value) = self.coloured.value(&stats) else { return theme.bg3 };
        let part = if ends.1 > ends.0 { (value - ends.0) / (ends.1 - ends.0) } else { 0.5 };
        theme.bg3.lerp_to_gamma(theme.accent, 0.15 + 0.65 * part.clamp(0.0, 1.0) as f32)
    }
}

fn rect_of([x, y, width, height]: Area) -> Rect {
    Rect::from_min_size(pos2(x, y), vec2(width, height))
}

/// What a screen reader says of it.
fn described(response: &Response, groups: &Groups, parameters: &Parameters) {
    let largest = groups.children(None).iter().filter_map(|row| groups.rows().get(*row));
    let largest = largest.max_by_key(|row| row.parameters).map(|row| row.name.clone()).unwrap_or_default();
    let count = display::plural(parameters.tensors().len() as u64, "tensor");
    let words = format!("Treemap of {count}, the largest part is {largest}");
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &words));
}
