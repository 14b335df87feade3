//! The map of a file's blocks — row groups, chunks, shards — as small boxes: the brighter, the more bytes.

use egui::{Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use gander::content::{Block, Layout};
use gander::display;

use super::Key;
use super::details::Known;
use crate::gui::theme::{self, Theme, space};

/// The most boxes; more blocks share them.
const BOXES: usize = 480;

/// The state of the map.
#[derive(Default)]
pub(super) struct Map {
    of: Option<Key>,
    chosen: Option<usize>,
}

impl Map {
    pub(super) fn ui(&mut self, ui: &mut Ui, key: &Key, known: &Known) {
        let theme = Theme::of(ui);
        if self.of.as_ref().is_none_or(|of| (of.0, of.1) != (key.0, key.1)) {
            self.chosen = None;
        }
        self.of = Some(key.clone());
        let layout = &known.layout;
        let count = layout.blocks.len();
        let unit = if layout.unit.is_empty() { "block" } else { layout.unit };
        theme::section_head(ui, &format!("Layout · {}", display::plural(count as u64, unit)), None);
        ui.add_space(space::S2);
        let share = count.div_ceil(BOXES).max(1);
        let boxes = count.div_ceil(share);
        let side = if boxes <= 40 {
            vec2(24.0, 17.0)
        } else if boxes <= 160 {
            vec2(15.0, 12.0)
        } else {
            vec2(9.0, 9.0)
        };
        let gap = if boxes <= 40 { 3.0 } else { 2.0 };
        let across = ((ui.available_width() + gap) / (side.x + gap)).floor().max(1.0) as usize;
        let high = boxes.div_ceil(across) as f32 * (side.y + gap);
        let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), high), Sense::click());
        response
            .widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, format!("Map of {count} blocks")));
        let place = |index: usize| {
            let at = vec2((index % across) as f32 * (side.x + gap), (index / across) as f32 * (side.y + gap));
            Rect::from_min_size(area.min + at, side)
        };
        let blocks = |index: usize| &layout.blocks[index * share..((index + 1) * share).min(count)];
        let most = (0..boxes).map(|index| stored(blocks(index))).max().unwrap_or(1).max(1);
        let hovered = response.hover_pos().and_then(|at| (0..boxes).find(|&index| place(index).contains(at)));
        if response.clicked() {
            self.chosen = hovered;
        }
        for index in 0..boxes {
            let part = blocks(index);
            let marked = hovered.or(self.chosen) == Some(index);
            draw(ui, theme, place(index), part, stored(part) as f32 / most as f32, marked);
        }
        let words = match hovered.or(self.chosen).filter(|index| *index < boxes) {
            Some(index) => words(layout, index * share, blocks(index), unit),
            None => total(layout),
        };
        ui.add_space(space::S1);
        ui.add(egui::Label::new(theme::dim(theme, words)).wrap());
    }
}

fn stored(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.stored).fold(0, u64::saturating_add)
}

fn draw(ui: &Ui, theme: &Theme, place: Rect, blocks: &[Block], strength: f32, marked: bool) {
    if blocks.iter().any(|block| block.missing) {
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
fn words(layout: &Layout, first: usize, blocks: &[Block], unit: &str) -> String {
    let mut words = Vec::new();
    match blocks {
        [one] if !one.name.is_empty() => words.push(one.name.clone()),
        [_] => words.push(format!("{unit} {}", display::count(first as u64))),
        many => words.push(format!(
            "{unit}s {}–{}",
            display::count(first as u64),
            display::count((first + many.len() - 1) as u64)
        )),
    }
    let count: u64 = blocks.iter().map(|block| block.count).fold(0, u64::saturating_add);
    let start = blocks.first().map_or(0, |block| block.first);
    if count > 0 {
        let what = if layout.unit.contains("row") || layout.unit.contains("batch") { "rows " } else { "" };
        words.push(format!("{what}{}–{}", display::count(start), display::count(start + count - 1)));
    }
    if blocks.iter().all(|block| block.missing) {
        words.push("missing in the file".to_owned());
    } else {
        words.push(bytes(blocks));
    }
    words.join(" · ")
}

fn total(layout: &Layout) -> String {
    let missing = layout.blocks.iter().filter(|block| block.missing).count() as u64;
    let mut words = bytes(&layout.blocks);
    if missing > 0 {
        words += &format!(" · {} missing", display::count(missing));
    }
    words
}

/// The size, and how much smaller that is than decoded.
fn bytes(blocks: &[Block]) -> String {
    let stored = stored(blocks);
    let raw = blocks.iter().map(|block| block.raw).fold(0, u64::saturating_add);
    if raw > 0 && stored > 0 {
        return format!("{} · {:.1}×", display::bytes(stored), raw as f64 / stored as f64);
    }
    display::bytes(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_says_what_it_holds() {
        let block = |first, stored| Block { first, count: 1000, stored, raw: 3 * stored, ..Block::default() };
        let layout =
            Layout { unit: "row group", blocks: vec![block(0, 100), block(1000, 200)], ..Layout::default() };
        assert_eq!(
            words(&layout, 1, &layout.blocks[1..], "row group"),
            "row group 1 · rows 1,000–1,999 · 200 B · 3.0×"
        );
        assert_eq!(total(&layout), "300 B · 3.0×");
    }
}
