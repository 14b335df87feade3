//! Chunks of an array as they lie in two of its dimensions: the plane that is looked at. Size or ratio as
//! brightness, what the file lacks hatched, a click or the arrows tell of one.

use std::sync::Arc;

use egui::{
    Color32, ColorImage, Key as Press, Rect, Sense, Stroke, StrokeKind, TextureOptions, Ui, WidgetInfo, vec2,
};
use gander::bytes::display;
use gander::data::content::Block;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::super::Key;
use super::super::details::Known;
use super::{Sum, total};
use crate::gui::texture::Texture;
use crate::gui::theme::{self, Theme, space};
use crate::gui::views::Mappings;

/// The most boxes each way; more chunks share them.
const SIDE: usize = 256;
/// The most points that the picture is high, and that a box is wide.
const HIGH: f32 = 300.0;
const LARGEST: f32 = 26.0;

/// What brightness means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Measure {
    #[default]
    Size,
    Ratio,
}

/// The state of the picture.
#[derive(Default)]
pub(super) struct ChunkMap {
    measure: Measure,
    chosen: Option<(usize, usize)>,
    cells: Slot<(Key, Plane), Cells>,
    texture: Option<(Arc<Cells>, Measure, bool, Texture)>,
}

/// Two dimensions of a grid of chunks, and where the others stand.
#[derive(Clone, Debug, PartialEq)]
struct Plane {
    rows: usize,
    columns: usize,
    at: Vec<u64>,
}

/// The chunks of a plane, added up to boxes.
struct Cells {
    down: usize,
    across: usize,
    /// Chunks each way in one box.
    share: (u64, u64),
    list: Vec<Sum>,
    most: u64,
    ratio: f64,
    all: Sum,
    plane: Plane,
}

/// Whether chunks lie in two dimensions or more.
pub(super) fn fits(known: &Known) -> bool {
    let grid = &known.layout.grid;
    let product = grid.iter().try_fold(1u64, |product, &len| product.checked_mul(len));
    grid.iter().filter(|&&len| len > 1).count() >= 2 && product == Some(known.layout.blocks.len() as u64)
}

impl Plane {
    /// The plane of the view, else of the last two dimensions with chunks side by side.
    fn of(known: &Known, mappings: &Mappings) -> Self {
        let grid = &known.layout.grid;
        let (shape, chunks) = known.chunks.clone().unwrap_or_default();
        let long: Vec<usize> = (0..grid.len()).filter(|&axis| grid[axis] > 1).collect();
        let usual = match long[..] {
            [.., rows, columns] => (rows, columns),
            _ => (0, grid.len().saturating_sub(1)),
        };
        let Some((rows, columns, at)) = mappings.plane(&shape).filter(|(_, _, at)| at.len() == grid.len())
        else {
            return Plane { rows: usual.0, columns: usual.1, at: vec![0; grid.len()] };
        };
        let chunk = |axis: usize| at[axis] / chunks.get(axis).copied().unwrap_or(1).max(1);
        let still = |axis: usize| axis != rows && axis != columns;
        let at = |axis: usize| if still(axis) { chunk(axis).min(grid[axis] - 1) } else { 0 };
        Plane { rows, columns, at: (0..grid.len()).map(at).collect() }
    }

    /// The number of a chunk in C order.
    fn index(&self, grid: &[u64], row: u64, column: u64) -> u64 {
        grid.iter().enumerate().fold(0, |flat, (axis, len)| {
            let at = match axis {
                axis if axis == self.rows => row,
                axis if axis == self.columns => column,
                axis => self.at[axis],
            };
            flat * len + at
        })
    }
}

impl Cells {
    fn of(known: &Known, plane: Plane) -> Self {
        let grid = &known.layout.grid;
        let (rows, columns) = (grid[plane.rows], grid[plane.columns]);
        let share = (rows.div_ceil(SIDE as u64).max(1), columns.div_ceil(SIDE as u64).max(1));
        let (down, across) = (rows.div_ceil(share.0) as usize, columns.div_ceil(share.1) as usize);
        let mut list = vec![Sum::default(); down * across];
        let mut all = Sum::default();
        for row in 0..rows {
            for column in 0..columns {
                let index = plane.index(grid, row, column);
                let Some(block): Option<&Block> = known.layout.blocks.get(index as usize) else { continue };
                let cell = (row / share.0) as usize * across + (column / share.1) as usize;
                list[cell].add(block);
                all.add(block);
                if list[cell].blocks == 1 {
                    list[cell].index = index;
                    list[cell].name.clone_from(&block.name);
                }
            }
        }
        let most = list.iter().map(|sum| sum.stored).max().unwrap_or(0).max(1);
        let ratio = list.iter().filter_map(Sum::ratio).fold(1.0, f64::max);
        Cells { down, across, share, list, most, ratio, all, plane }
    }

    /// How bright a box is, 0 to 1.
    fn strength(&self, sum: &Sum, measure: Measure) -> f32 {
        match measure {
            Measure::Size => sum.stored as f32 / self.most as f32,
            Measure::Ratio => (sum.ratio().unwrap_or(0.0) / self.ratio) as f32,
        }
    }

    fn image(&self, theme: &Theme, measure: Measure) -> ColorImage {
        let color = |(n, sum): (usize, &Sum)| -> Color32 {
            if sum.missing == sum.blocks {
                let diagonal = (n % self.across + n / self.across).is_multiple_of(2);
                return theme.bg1.lerp_to_gamma(theme.bad, if diagonal { 0.45 } else { 0.25 });
            }
            theme.bg1.lerp_to_gamma(theme.accent, 0.2 + 0.75 * self.strength(sum, measure))
        };
        let pixels = self.list.iter().enumerate().map(color).collect();
        ColorImage::new([self.across, self.down], pixels)
    }

    /// `chunk [3, 7] · 300–399 × 700–799 · 12 kB · 3.1×`.
    fn words(&self, known: &Known, row: usize, column: usize) -> String {
        let Some(sum) = self.list.get(row * self.across + column) else { return String::new() };
        let grid = &known.layout.grid;
        let first = (row as u64 * self.share.0, column as u64 * self.share.1);
        let place: Vec<String> = (0..grid.len())
            .map(|axis| match axis {
                axis if axis == self.plane.rows => first.0.to_string(),
                axis if axis == self.plane.columns => first.1.to_string(),
                axis => self.plane.at[axis].to_string(),
            })
            .collect();
        let mut words = match sum.blocks {
            1 => vec![format!("chunk [{}]", place.join(", "))],
            many => vec![format!("{} from [{}] on", display::plural(many, "chunk"), place.join(", "))],
        };
        if let Some((shape, chunks)) = &known.chunks
            && shape.len() == grid.len()
        {
            let range = |axis: usize, at: u64, many: u64| {
                let start = at.saturating_mul(chunks[axis]);
                let end = start.saturating_add(chunks[axis].saturating_mul(many)).min(shape[axis]);
                format!("{start}–{}", end.saturating_sub(1))
            };
            let rows = range(self.plane.rows, first.0, self.share.0);
            words.push(format!("{rows} × {}", range(self.plane.columns, first.1, self.share.1)));
        }
        match sum.missing {
            0 => words.push(sum.bytes()),
            all if all == sum.blocks => words.push("missing in the file: fill value".to_owned()),
            some => words.push(format!("{} · {some} missing", sum.bytes())),
        }
        words.join(" · ")
    }
}

impl ChunkMap {
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        key: &Key,
        known: &Arc<Known>,
        mappings: &Mappings,
    ) {
        let plane = Plane::of(known, mappings);
        let (of, wanted) = (known.clone(), plane.clone());
        let shown = self
            .cells
            .get(jobs, &(key.clone(), plane), JobSpec::view(""), move |_| Ok(Cells::of(&of, wanted)));
        // The plane before stays until this one is there, if it is of the same array.
        let Some(cells) =
            shown.value.filter(|cells| shown.fresh || cells.plane.at.len() == known.layout.grid.len())
        else {
            return;
        };
        let theme = Theme::of(ui);
        ui.horizontal(|ui| {
            let options = [(Measure::Size, "Size"), (Measure::Ratio, "Ratio")];
            theme::segmented(ui, "Brightness of chunks", &mut self.measure, &options);
        });
        ui.add_space(space::S2);
        let width = ui.available_width();
        let side = (width / cells.across as f32).min(LARGEST);
        let high = (side * cells.down as f32).min(HIGH).max((cells.down as f32).min(HIGH));
        let size = vec2(side * cells.across as f32, high);
        let (area, response) = ui.allocate_exact_size(size, Sense::click());
        self.paint(ui, theme, area, &cells);
        self.lines(ui, theme, area, &cells);
        let hovered = response.hover_pos().map(|at| {
            let part = (at - area.min) / area.size();
            let place = |part: f32, count: usize| ((part * count as f32) as usize).min(count - 1);
            (place(part.y, cells.down), place(part.x, cells.across))
        });
        if response.clicked() {
            self.chosen = hovered;
            response.request_focus();
        }
        if response.has_focus() {
            self.keys(ui, &cells);
        }
        let marked =
            hovered.or(self.chosen).filter(|(row, column)| *row < cells.down && *column < cells.across);
        let words = match marked {
            Some((row, column)) => {
                let cell = vec2(area.width() / cells.across as f32, area.height() / cells.down as f32);
                let at = area.min + vec2(column as f32 * cell.x, row as f32 * cell.y);
                let mark = Rect::from_min_size(at, cell).expand(0.5);
                ui.painter().rect_stroke(mark, 0.0, Stroke::new(1.5, theme.text), StrokeKind::Outside);
                cells.words(known, row, column)
            }
            None => total(&cells.all),
        };
        let spoken = format!("Map of {} × {} chunks: {words}", cells.down, cells.across);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, &spoken));
        ui.add_space(space::S1);
        ui.add(egui::Label::new(theme::dim(theme, words)).wrap());
        let still: Vec<String> = known
            .layout
            .grid
            .iter()
            .enumerate()
            .filter_map(|(axis, len)| {
                let shown = axis == cells.plane.rows || axis == cells.plane.columns;
                (!shown && *len > 1).then(|| format!("axis {axis}: chunk {} of {len}", cells.plane.at[axis]))
            })
            .collect();
        if !still.is_empty() {
            ui.add(egui::Label::new(theme::dim(theme, still.join(" · "))).wrap());
        }
    }

    /// Draws the picture, which is painted anew only when it changed.
    fn paint(&mut self, ui: &Ui, theme: &Theme, area: Rect, cells: &Arc<Cells>) {
        let same = |(of, measure, dark, _): &(Arc<Cells>, Measure, bool, Texture)| {
            Arc::ptr_eq(of, cells) && *measure == self.measure && *dark == theme.dark
        };
        if !self.texture.as_ref().is_some_and(same) {
            let image = Arc::new(cells.image(theme, self.measure));
            let texture = Texture::new(ui.ctx(), "chunks", &image, TextureOptions::NEAREST);
            self.texture = Some((cells.clone(), self.measure, theme.dark, texture));
        }
        if let Some((.., texture)) = &self.texture {
            texture.paint(ui.painter(), area);
        }
    }

    /// Hairlines between boxes that are large enough.
    fn lines(&self, ui: &Ui, theme: &Theme, area: Rect, cells: &Cells) {
        let stroke = Stroke::new(1.0, theme.bg1);
        for (count, long, across) in [(cells.across, area.width(), true), (cells.down, area.height(), false)]
        {
            let step = long / count as f32;
            if step < 5.0 {
                continue;
            }
            for n in 1..count {
                let at = n as f32 * step;
                match across {
                    true => ui.painter().vline(area.left() + at, area.y_range(), stroke),
                    false => ui.painter().hline(area.x_range(), area.top() + at, stroke),
                };
            }
        }
    }

    fn keys(&mut self, ui: &Ui, cells: &Cells) {
        let (row, column) = self.chosen.unwrap_or((0, 0));
        ui.input(|input| {
            let by = |more: Press, less: Press, at: usize, count: usize| {
                let to = at as i64 + i64::from(input.key_pressed(more)) - i64::from(input.key_pressed(less));
                to.clamp(0, count as i64 - 1) as usize
            };
            let to = (
                by(Press::ArrowDown, Press::ArrowUp, row, cells.down),
                by(Press::ArrowRight, Press::ArrowLeft, column, cells.across),
            );
            if to != (row, column) {
                self.chosen = Some(to);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::gui::views::Subject;
    use crate::gui::views::array::{Mode, PlaneSettings};
    use gander::data::plane::Mapping;

    /// Two planes of 3 × 600 chunks; the second of the second plane is missing.
    fn known() -> Known {
        let grid = vec![2u64, 3, 600];
        let blocks = (0..3600u64)
            .map(|n| Block {
                stored: 10 + n % 600,
                raw: 2000,
                missing: n == 1801,
                count: 1,
                ..Block::default()
            })
            .collect();
        let layout = gander::data::content::Layout { unit: "chunk", blocks, grid };
        Known::of_layout(layout, vec![20, 30, 6000], vec![10, 10, 10])
    }

    #[test]
    fn a_plane_of_chunks_is_added_up() {
        let known = known();
        let plane = Plane { rows: 1, columns: 2, at: vec![1, 0, 0] };
        assert_eq!(plane.index(&known.layout.grid, 0, 1), 1801);
        assert!(fits(&known));
        let cells = Cells::of(&known, plane);
        assert_eq!((cells.down, cells.across, cells.share), (3, 200, (1, 3)));
        assert_eq!((cells.all.missing, cells.all.blocks), (1, 1800));
        let words = cells.words(&known, 0, 0);
        assert_eq!(words, "3 chunks from [1, 0, 0] on · 0–9 × 0–29 · 33 B · 181.8× · 1 missing");
        let usual = Plane::of(&known, &Mappings::default());
        assert_eq!((usual.rows, usual.columns), (1, 2));
    }

    #[test]
    fn the_map_follows_the_view_and_tells_of_a_chunk() {
        let (known, jobs) = (Arc::new(known()), Jobs::new(|| {}));
        let key: Key = (1, 1, Subject::Node);
        let mut mappings = Mappings::default();
        let shape = [20, 30, 6000];
        let mut mapping = Mapping::new(&shape);
        mapping.parse(":, :, 5990").unwrap();
        let look = PlaneSettings { mapping, mode: Mode::default(), choice: None };
        mappings.set(&shape, look);
        let mut map = ChunkMap::default();
        let mut harness = Harness::builder()
            .with_size(vec2(304.0, 300.0))
            .with_context_setup(theme::apply)
            .build_ui(move |ui| map.ui(ui, &jobs, &key, &known, &mappings));
        for _ in 0..100 {
            harness.step();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        harness.get_by_label_contains("axis 2: chunk 599 of 600");
        let rect = harness.get_by_label_contains("Map of 2 × 3 chunks").rect();
        harness.hover_at(rect.max - vec2(2.0, 2.0));
        harness.run();
        let words = "chunk [1, 2, 599] · 10–19 × 20–29 · 609 B · 3.3×";
        harness.get_by_label(&format!("Map of 2 × 3 chunks: {words}"));
        harness.get_by_label("Ratio").click();
        harness.run();
    }
}
