//! What stands where in this frame.

use std::ops::Range;

use egui::emath::GuiRounding as _;
use egui::{Pos2, Rect, Ui, pos2};

use super::model::GridModel;
use super::{Grid, Place, row_height};
use crate::gui::theme::{mono_font, size, space};

/// How many lines a wrapped row has.
pub(super) const WRAPPED_LINES: usize = 4;
/// Fetched on either side of what is in sight, so that slow scrolling finds it there.
const MARGIN_COLUMNS: usize = 4;

/// The width of a column for values of so many characters.
pub(super) fn width_of(characters: f32, advance: f32) -> f32 {
    (characters * advance + 2.0 * space::CELL).ceil()
}

/// A column in sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Its place in the order.
    pub(super) position: usize,
    /// The model's column.
    pub(super) column: usize,
    /// Left edge.
    pub(super) left: f32,
    /// Width.
    pub(super) width: f32,
    /// Whether it is in the frozen part.
    pub(super) frozen: bool,
}

impl Shown {
    pub(super) fn right(&self) -> f32 {
        self.left + self.width
    }
}

/// The geometry of a frame.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// All column heads.
    pub(super) head: Rect,
    /// Above the row labels.
    pub(super) corner: Rect,
    /// The row labels.
    pub(super) gutter: Rect,
    /// The cells.
    pub(super) body: Rect,
    /// The tracks of the bars, if there is something to scroll.
    pub(super) row_bar: Option<Rect>,
    pub(super) column_bar: Option<Rect>,
    /// Where the frozen part ends.
    pub(super) frozen_right: f32,
    pub(super) row_height: f32,
    /// How many rows fit.
    pub(super) page: f32,
    pub(super) first_row: u64,
    pub(super) end_row: u64,
    /// Frozen columns first.
    pub(super) columns: Vec<Shown>,
    fraction: f32,
    pixels: f32,
}

impl View {
    /// Works out the geometry, and keeps the scroll position within it.
    pub(super) fn new(grid: &mut Grid, ui: &Ui, outer: Rect, model: &dyn GridModel) -> Self {
        let pixels = ui.pixels_per_point();
        let row_height = row_height(grid.wrap()).round_to_pixels(pixels);
        let head_height = size::ROW + 4.0 + grid.header_extra;
        let gutter = gutter_width(grid, ui, model);
        let full = outer.height() - head_height;
        let frozen = grid.columns.frozen_width();
        let wide = f64::from(outer.width() - gutter - frozen);
        // Each bar takes room from what the other one scrolls.
        let rows_height = grid.rows as f64 * f64::from(row_height);
        let columns_width = grid.columns.scroll_width();
        let bar = f64::from(size::SCROLL_BAR);
        let mut row_bar = rows_height > f64::from(full);
        let column_bar = columns_width > if row_bar { wide - bar } else { wide };
        row_bar |= column_bar && rows_height > f64::from(full) - bar;

        let right = outer.right() - if row_bar { size::SCROLL_BAR } else { 0.0 };
        let bottom = outer.bottom() - if column_bar { size::SCROLL_BAR } else { 0.0 };
        let edge = pos2(outer.left() + gutter, outer.top() + head_height).round_to_pixels(pixels);
        let body = Rect::from_min_max(edge, pos2(right.max(edge.x), bottom.max(edge.y)));
        let head = Rect::from_min_max(pos2(edge.x, outer.top()), pos2(body.right(), edge.y));
        let mut view = Self {
            head,
            corner: Rect::from_min_max(outer.min, edge),
            gutter: Rect::from_min_max(pos2(outer.left(), edge.y), pos2(edge.x, body.bottom())),
            body,
            row_bar: row_bar.then(|| Rect::from_min_max(pos2(right, edge.y), pos2(outer.right(), bottom))),
            column_bar: column_bar
                .then(|| Rect::from_min_max(pos2(edge.x, bottom), pos2(right, outer.bottom()))),
            // However many columns are frozen, some of the others stay reachable.
            frozen_right: edge.x + frozen.min(body.width() * 0.7).max(0.0),
            row_height,
            page: body.height() / row_height,
            first_row: 0,
            end_row: 0,
            columns: Vec::new(),
            fraction: 0.0,
            pixels,
        };
        view.place_rows(grid);
        view.place_columns(grid);
        view
    }

    fn place_rows(&mut self, grid: &mut Grid) {
        grid.top = grid.top.clamped(grid.rows, self.page);
        self.first_row = grid.top.row;
        self.fraction = grid.top.fraction;
        let seen = (self.page + self.fraction).ceil().max(0.0) as u64;
        self.end_row = self.first_row.saturating_add(seen).min(grid.rows);
    }

    fn place_columns(&mut self, grid: &mut Grid) {
        let columns = &grid.columns;
        let (frozen, count) = (columns.frozen(), columns.len());
        grid.left.index = grid.left.index.clamp(frozen.min(count), count.saturating_sub(1).max(frozen));
        let distance = grid.scrolled();
        grid.scroll_columns_to(distance, self);
        let columns = &grid.columns;
        let mut left = self.body.left();
        for position in 0..frozen {
            let width = columns.width(position);
            if let Some(column) = columns.column(position)
                && left < self.frozen_right
            {
                self.columns.push(Shown { position, column, left, width, frozen: true });
            }
            left += width;
        }
        let mut position = grid.left.index;
        let mut left = self.frozen_right - grid.left.fraction * columns.width(position);
        while left < self.body.right() && position < count {
            let width = columns.width(position);
            if let Some(column) = columns.column(position) {
                let edge = left.round_to_pixels(self.pixels);
                self.columns.push(Shown { position, column, left: edge, width, frozen: false });
            }
            left += width;
            position += 1;
        }
    }

    /// The width in which columns scroll.
    pub(super) fn scroll_room(&self) -> f32 {
        (self.body.right() - self.frozen_right).max(0.0)
    }

    /// The upper edge of a row in sight.
    pub(super) fn row_top(&self, row: u64) -> f32 {
        let rows = row.saturating_sub(self.first_row) as f32 - self.fraction;
        (self.body.top() + rows * self.row_height).round_to_pixels(self.pixels)
    }

    /// The part of the body in which a column may draw.
    pub(super) fn clip(&self, shown: &Shown, area: Rect) -> Rect {
        let (low, high) = if shown.frozen {
            (self.body.left(), self.frozen_right)
        } else {
            (self.frozen_right, self.body.right())
        };
        Rect::from_min_max(
            pos2(shown.left.max(low), area.top()),
            pos2(shown.right().min(high).max(low), area.bottom()),
        )
    }

    /// The rectangle of a cell in sight, cut where it leaves the body.
    pub(super) fn cell(&self, shown: &Shown, row: u64) -> Rect {
        let top = self.row_top(row);
        Rect::from_min_max(pos2(shown.left, top), pos2(shown.right(), top + self.row_height))
            .intersect(self.clip(shown, self.body))
    }

    /// Where the last column in sight ends.
    pub(super) fn columns_right(&self) -> f32 {
        let ends = self.columns.iter().map(Shown::right);
        ends.fold(self.body.left(), f32::max).min(self.body.right())
    }

    pub(super) fn shown(&self, position: usize) -> Option<&Shown> {
        self.columns.iter().find(|shown| shown.position == position)
    }

    /// The column at a horizontal place.
    pub(super) fn column_at(&self, x: f32) -> Option<&Shown> {
        self.columns.iter().find(|shown| {
            let clip = self.clip(shown, self.body);
            clip.width() > 0.0 && (clip.left()..clip.right()).contains(&x)
        })
    }

    /// The row at a height, if there is one.
    pub(super) fn row_at(&self, y: f32) -> Option<u64> {
        let rows = (y - self.body.top()) / self.row_height + self.fraction;
        let row = self.first_row.saturating_add(rows.max(0.0) as u64);
        (rows >= 0.0 && row < self.end_row).then_some(row)
    }

    /// The cell under a point of the body.
    pub(super) fn hit(&self, at: Pos2) -> Option<Place> {
        let place = Place { row: self.row_at(at.y)?, position: self.column_at(at.x)?.position };
        self.body.contains(at).then_some(place)
    }

    /// The cell nearest to a point anywhere.
    pub(super) fn nearest(&self, at: Pos2) -> Option<Place> {
        let last = self.end_row.checked_sub(1)?;
        let row = if at.y < self.body.top() { self.first_row } else { self.row_at(at.y).unwrap_or(last) };
        let x = at.x.min(self.body.right() - 1.0).max(self.body.left());
        let shown = self.column_at(x).or_else(|| self.columns.last())?;
        Some(Place { row, position: shown.position })
    }

    /// The rows in sight and a page on either side.
    pub(super) fn wanted_rows(&self, grid: &Grid) -> Range<u64> {
        let page = self.page.ceil().max(0.0) as u64;
        self.first_row.saturating_sub(page)..self.end_row.saturating_add(page).min(grid.rows)
    }

    /// The model's columns in sight and a few on either side.
    pub(super) fn wanted_columns(&self, grid: &Grid) -> Vec<usize> {
        let frozen = grid.columns.frozen();
        let scrolling = || self.columns.iter().filter(|shown| !shown.frozen).map(|shown| shown.position);
        let mut wanted = grid.columns.columns_at(0..frozen);
        if let (Some(first), Some(last)) = (scrolling().next(), scrolling().next_back()) {
            let from = first.saturating_sub(MARGIN_COLUMNS).max(frozen);
            let end = last.saturating_add(1 + MARGIN_COLUMNS).min(grid.columns.len());
            wanted.extend(grid.columns.columns_at(from..end));
        }
        wanted
    }
}

/// Wide enough for the labels of the rows in sight and of the last row; it only grows, so that
/// scrolling does not shift the cells.
pub(super) fn gutter_width(grid: &mut Grid, ui: &Ui, model: &dyn GridModel) -> f32 {
    if grid.rows > 0 {
        let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&mono_font(), '0'));
        for row in [grid.top.row.min(grid.rows - 1), grid.rows - 1] {
            let characters = model.row_label(row).chars().count().max(model.widest_label());
            // Rows without labels need no room for them.
            let characters = if characters == 0 { 0 } else { characters.clamp(3, 32) };
            grid.gutter = grid.gutter.max(width_of(characters as f32, advance));
        }
    }
    grid.gutter = grid.gutter.max(width_of(model.row_head().chars().count() as f32, 8.0));
    grid.gutter
}
