//! The map of a file's blocks — row groups, chunks, shards — as small boxes: the brighter, the more bytes.
//! Chunks of an array stand as they lie in the plane that is looked at ([`chunks`]).
//!
//! A file may have a million blocks: a job adds them up to as many boxes as there is room for.

mod chunks;

use std::sync::Arc;

use egui::{Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::content::{Block, Layout};
use gander::jobs::{JobSpec, Jobs, Slot};

use self::chunks::ChunkMap;
use super::Key;
use super::details::Known;
use crate::gui::theme::{self, Theme, space};
use crate::gui::views::Mappings;

/// The most boxes; more blocks share them.
const BOXES: usize = 480;

/// The state of the map.
#[derive(Default)]
pub(super) struct Map {
    of: Option<Key>,
    chosen: Option<usize>,
    boxes: Slot<Key, Boxes>,
    chunks: ChunkMap,
}

/// Some blocks together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    name: String,
    /// The number of the first block, and how many.
    index: u64,
    blocks: u64,
    /// The first row or element, and how many.
    first: u64,
    count: u64,
    stored: u64,
    raw: u64,
    missing: u64,
}

impl Sum {
    fn of(index: usize, blocks: &[Block]) -> Self {
        let mut sum = Sum { index: index as u64, ..Sum::default() };
        blocks.iter().for_each(|block| sum.add(block));
        if let [one] = blocks {
            sum.name.clone_from(&one.name);
        }
        sum
    }

    fn add(&mut self, block: &Block) {
        if self.blocks == 0 {
            self.first = block.first;
        }
        self.blocks += 1;
        self.count = self.count.saturating_add(block.count);
        self.stored = self.stored.saturating_add(block.stored);
        self.raw = self.raw.saturating_add(block.raw);
        self.missing += u64::from(block.missing);
    }

    /// The size, and how much smaller that is than decoded.
    fn bytes(&self) -> String {
        match self.ratio() {
            Some(ratio) => format!("{} · {ratio:.1}×", display::bytes(self.stored)),
            None => display::bytes(self.stored),
        }
    }

    fn ratio(&self) -> Option<f64> {
        (self.raw > 0 && self.stored > 0).then(|| self.raw as f64 / self.stored as f64)
    }
}

/// All blocks in at most [`BOXES`] boxes.
struct Boxes {
    list: Vec<Sum>,
    all: Sum,
    most: u64,
}

impl Boxes {
    fn of(layout: &Layout) -> Self {
        let share = layout.blocks.len().div_ceil(BOXES).max(1);
        let parts = layout.blocks.chunks(share).enumerate();
        let list: Vec<Sum> = parts.map(|(n, part)| Sum::of(n * share, part)).collect();
        let most = list.iter().map(|sum| sum.stored).max().unwrap_or(0).max(1);
        let mut all = Sum::of(0, &layout.blocks);
        all.name.clear();
        Boxes { list, all, most }
    }
}

impl Map {
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        key: &Key,
        known: &Arc<Known>,
        mappings: &Mappings,
    ) {
        if self.of.as_ref().is_none_or(|of| (of.0, of.1) != (key.0, key.1)) {
            self.chosen = None;
        }
        self.of = Some(key.clone());
        let unit = if known.layout.unit.is_empty() { "block" } else { known.layout.unit };
        let count = known.layout.blocks.len() as u64;
        theme::section_head(ui, &format!("Layout · {}", display::plural(count, unit)), None);
        ui.add_space(space::S2);
        if chunks::fits(known) {
            self.chunks.ui(ui, jobs, key, known, mappings);
            return;
        }
        let layout = known.clone();
        let shown = self.boxes.get(jobs, key, JobSpec::view(""), move |_| Ok(Boxes::of(&layout.layout)));
        if let Some(boxes) = shown.ready() {
            self.boxes(ui, &boxes, unit);
        }
    }

    fn boxes(&mut self, ui: &mut Ui, boxes: &Boxes, unit: &str) {
        let count = boxes.list.len();
        let side = if count <= 40 {
            vec2(24.0, 17.0)
        } else if count <= 160 {
            vec2(15.0, 12.0)
        } else {
            vec2(9.0, 9.0)
        };
        let gap = if count <= 40 { 3.0 } else { 2.0 };
        let across = ((ui.available_width() + gap) / (side.x + gap)).floor().max(1.0) as usize;
        let high = count.div_ceil(across) as f32 * (side.y + gap);
        let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), high), Sense::click());
        let spoken = format!("Map of {} blocks", boxes.all.blocks);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, &spoken));
        let place = |index: usize| {
            let at = vec2((index % across) as f32 * (side.x + gap), (index / across) as f32 * (side.y + gap));
            Rect::from_min_size(area.min + at, side)
        };
        let hovered = response.hover_pos().and_then(|at| (0..count).find(|&index| place(index).contains(at)));
        if response.clicked() {
            self.chosen = hovered;
        }
        let marked = hovered.or(self.chosen);
        let theme = Theme::of(ui);
        for (index, sum) in boxes.list.iter().enumerate() {
            draw(ui, theme, place(index), sum, sum.stored as f32 / boxes.most as f32, marked == Some(index));
        }
        let words = match marked.and_then(|index| boxes.list.get(index)) {
            Some(sum) => words(sum, unit),
            None => total(&boxes.all),
        };
        ui.add_space(space::S1);
        ui.add(egui::Label::new(theme::dim(theme, words)).wrap());
    }
}

fn draw(ui: &Ui, theme: &Theme, place: Rect, sum: &Sum, strength: f32, marked: bool) {
    if sum.missing > 0 {
        ui.painter().rect_filled(place, 2.0, theme.bg1);
        ui.painter().rect_stroke(place, 2.0, Stroke::new(1.0, theme.bad), StrokeKind::Inside);
        let corner = pos2(place.right() - 2.0, place.top() + 2.0);
        let other = pos2(place.left() + 2.0, place.bottom() - 2.0);
        ui.painter().line_segment([other, corner], Stroke::new(1.0, theme.bad));
    } else {
        let color = theme.bg1.lerp_to_gamma(theme.accent, 0.3 + 0.5 * strength);
        ui.painter().rect_filled(place, 2.0, if marked { theme.accent } else { color });
    }
    if marked {
        ui.painter().rect_stroke(place, 2.0, Stroke::new(1.5, theme.text), StrokeKind::Outside);
    }
}

/// Words on one box.
fn words(sum: &Sum, unit: &str) -> String {
    let mut words = Vec::new();
    if !sum.name.is_empty() {
        words.push(sum.name.clone());
    } else if sum.blocks == 1 {
        words.push(format!("{unit} {}", display::count(sum.index)));
    } else {
        let last = display::count((sum.index + sum.blocks).saturating_sub(1));
        words.push(format!("{unit}s {}–{last}", display::count(sum.index)));
    }
    if sum.count > 0 {
        let what = if unit.contains("row") || unit.contains("batch") { "rows " } else { "" };
        let last = sum.first.saturating_add(sum.count - 1);
        words.push(format!("{what}{}–{}", display::count(sum.first), display::count(last)));
    }
    if sum.missing == sum.blocks {
        words.push("missing in the file".to_owned());
    } else {
        words.push(sum.bytes());
    }
    words.join(" · ")
}

fn total(all: &Sum) -> String {
    let mut words = all.bytes();
    if all.missing > 0 {
        words += &format!(" · {} missing", display::count(all.missing));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_says_what_it_holds() {
        let block = |first, stored| Block { first, count: 1000, stored, raw: 3 * stored, ..Block::default() };
        let blocks = vec![block(0, 100), block(1000, 200)];
        let layout = Layout { unit: "row group", blocks, ..Layout::default() };
        let boxes = Boxes::of(&layout);
        assert_eq!(words(&boxes.list[1], "row group"), "row group 1 · rows 1,000–1,999 · 200 B · 3.0×");
        assert_eq!(total(&boxes.all), "300 B · 3.0×");
        // More blocks than boxes share them.
        let layout = Layout { unit: "chunk", blocks: vec![block(0, 1); 1000], ..Layout::default() };
        let boxes = Boxes::of(&layout);
        assert_eq!((boxes.list.len(), boxes.list[1].blocks, boxes.most), (334, 3, 3));
    }
}
