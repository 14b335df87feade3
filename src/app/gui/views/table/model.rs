//! The table as the grid asks for it: from the pages that are in memory.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use gander::bytes::display;
use gander::data::adapt::LenientTyped;
use gander::data::content::{Rows, Table};
use gander::jobs::Jobs;
use gander::query::{Condition, Order, Test};

use super::column_summaries::{Click, ColumnSummaries};
use super::find;
use super::pages::{self, Pages, Text};
use super::row_filter::{Numbers, RowFilter};
use crate::gui::grid::{Cell, CellAt, CellKind, ColumnHead, Grid, GridModel, GridRows, Side};
use crate::gui::icons::Icon;
use crate::gui::number_format::{self, NumberFormat};
use crate::gui::timings;
use crate::gui::views::gallery::Page;

/// A table on a grid: its rows in memory, and where it is scrolled to.
pub(super) struct Sheet {
    pub(super) table: Arc<dyn Table>,
    /// The same with the types that were inferred for texts.
    pub(super) values: Arc<dyn Table>,
    pub(super) pages: Pages,
    pub(super) heads: ColumnSummaries,
    pub(super) grid: Grid,
    pub(super) labels: Labels,
    /// The numbers that the rows have in the whole table, where this is a part of it.
    pub(super) numbers: Option<Numbers>,
    /// How many rows the whole table has then.
    pub(super) whole: u64,
    /// The columns as queries call them.
    pub(super) names: Vec<String>,
    /// How each column looks.
    looks: Vec<(CellKind, Side)>,
    small: OnceCell<bool>,
    /// The file, or the first rows that came, said how wide columns are.
    pub(super) widths_came: bool,
    /// Pictures are known to stand in cells, so that their columns are wider.
    pub(super) has_pictures: bool,
    /// What the first rows that came in sight say of columns.
    measured: HashMap<usize, Measured>,
    /// The column from which on numbers were computed in doubles: what their last bits lost is not shown.
    pub(super) computed_from: Option<usize>,
    /// How numbers of columns are written, where somebody chose that.
    pub(super) formats: BTreeMap<usize, NumberFormat>,
    /// How those of the other columns are written.
    pub(super) usual_format: NumberFormat,
    /// What stands below the heads instead of pictures: the totals of groups, as far as they are there.
    pub(super) totals: Option<Vec<Option<String>>>,
    /// What was last asked for.
    pub(super) seen: (Range<u64>, Vec<usize>),
}

/// What some cells of a column say of all: widths in digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Measured {
    /// What shows them well.
    usual: f32,
    /// What shows the longest one in full.
    full: f32,
    /// The most digits behind a point.
    behind: u8,
}

/// Longer texts are cut where there is no room to spare.
const TEXT: f32 = 34.0;
/// The same for words that are all of one length, as keys are: a UUID that is cut is none.
const KEY: f32 = 44.0;
/// No column gets more for one long text, in digits.
const LONGEST: f32 = 200.0;
/// The room of a picture beside a text in a low row, in digits: one that is half as wide again as it is high.
const PICTURE: f32 = 6.0;
/// Of numbers with more digits behind the point the points do not stand below each other.
const ALIGNED: usize = 18;

/// Up to so many column chunks, what a file says of all its columns is gathered at once.
const LOOKED_UP: u64 = 4_096;

/// Characters of a type that are looked at for the head of a column.
const TYPE: usize = 200;

/// The same table with values of the types that were inferred for texts; itself where there are none.
fn values_of(table: &Arc<dyn Table>) -> Arc<dyn Table> {
    match table.is_inferred() {
        true => Arc::new(LenientTyped::lenient(table.clone())),
        false => table.clone(),
    }
}

/// What stands before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// Their numbers from this one on.
    From(u64),
    /// How far they are from the end.
    FromEnd,
}

impl Sheet {
    pub(super) fn new(table: Arc<dyn Table>, name: &str, labels: Labels) -> Self {
        let looks = (0..table.schema().fields().len()).map(|n| pages::look(table.column_type(n))).collect();
        let mut grid = Grid::new(name);
        grid.header_extra = super::column_summaries::HEIGHT;
        Sheet {
            pages: Pages::new(table.clone(), name),
            heads: ColumnSummaries::default(),
            grid,
            values: values_of(&table),
            names: gander::query::column_names(table.schema()),
            table,
            labels,
            numbers: None,
            whole: 0,
            looks,
            small: OnceCell::new(),
            widths_came: false,
            has_pictures: false,
            measured: HashMap::new(),
            computed_from: None,
            formats: BTreeMap::new(),
            usual_format: NumberFormat::Exact,
            totals: None,
            seen: (0..0, Vec::new()),
        }
    }

    /// Whether the footer is small.
    fn is_small(&self) -> bool {
        *self.small.get_or_init(|| {
            let groups = self.table.facts().row_groups.unwrap_or(1);
            groups.saturating_mul(self.columns() as u64) <= LOOKED_UP
        })
    }

    /// Gathers what the file says of columns: of all where that is little, so that the widths of columns are
    /// settled before they come in sight.
    pub(super) fn want_stored(&mut self, jobs: &Jobs, columns: &[usize]) {
        let all: Vec<usize>;
        let wanted = match self.is_small() {
            true => {
                all = (0..self.columns()).collect();
                all.as_slice()
            }
            false => columns,
        };
        let came = self.heads.want_stored(jobs, &self.table, wanted);
        self.widths_came |= came && self.is_small();
    }

    /// How wide a column should be, in characters, and how wide its longest known value is: its integers in full
    /// where the file says how long they are, else as the first rows are.
    fn widths(&self, column: usize) -> (Option<f32>, Option<f32>) {
        let Some(field) = self.table.schema().fields().get(column) else { return (None, None) };
        let stored = self.heads.stored(column).filter(|_| field.data_type().is_integer() && self.is_small());
        let ends = stored.iter().flat_map(|stored| [stored.min_text(), stored.max_text()]).flatten();
        let ends = ends.map(|text| text.len() as f32 + 3.0).fold(0.0, f32::max);
        match self.measured.get(&column) {
            Some(measured) => (Some(measured.usual.max(ends)), Some(measured.full)),
            None => (Some(pages::likely_width(self.table.column_type(column)).max(ends)), None),
        }
    }

    /// Writes numbers as another sheet does; of the same columns also points below each other as there.
    pub(super) fn follow(&mut self, old: &Sheet, are_same: bool) {
        self.formats.clone_from(&old.formats);
        if are_same {
            self.measured.clone_from(&old.measured);
        }
    }

    /// Looks at the first cells that are there of columns that came in sight.
    pub(super) fn measure(&mut self, rows: &Range<u64>, columns: &[usize]) {
        for &column in columns {
            if self.measured.contains_key(&column) {
                continue;
            }
            let Some(texts) = self.pages.texts(rows, column) else { continue };
            let Some((kind, side)) = self.looks.get(column) else { continue };
            let is_number = *side == Side::Right;
            let mut found = Measured { full: 4.0, ..Measured::default() };
            let mut before: f32 = 0.0;
            let mut lengths = HashSet::new();
            for text in texts {
                let Text::Value(text) = text else { continue };
                let computed = if is_number { self.computed(column, text) } else { None };
                let text = computed.as_deref().unwrap_or(text);
                lengths.insert(if text.contains(char::is_whitespace) { None } else { Some(text.len()) });
                found.full = found.full.max(match kind {
                    CellKind::Text => pages::text_width(text),
                    _ => text.chars().count().min(300) as f32,
                });
                if is_number && let Some(behind) = number_format::digits_behind_point(text) {
                    found.behind = found.behind.max(behind.min(ALIGNED) as u8);
                    before = before.max((text.len() - behind) as f32);
                }
            }
            // One more, as others may be a little longer.
            found.full = found.full.max(before + f32::from(found.behind)).min(LONGEST) + 1.0;
            let is_key = lengths.len() == 1 && !lengths.contains(&None);
            found.usual = match (is_number, is_key) {
                (true, _) => found.full,
                (false, true) => found.full.min(KEY),
                (false, false) => found.full.min(TEXT),
            };
            self.measured.insert(column, found);
            self.widths_came = true;
        }
    }

    /// A number of this column as it is written where it was computed; `None` where it stays as it is.
    pub(super) fn computed(&self, column: usize, text: &str) -> Option<String> {
        let is_computed = self.computed_from.is_some_and(|first| column >= first)
            && self.table.column_type(column).is_floating();
        let number: f64 = if is_computed { text.parse().ok()? } else { return None };
        number.is_finite().then(|| gander::bytes::display::computed_number(number))
    }

    /// A cell as it is drawn: numbers in the format of the column, points below each other.
    pub(super) fn drawn(&self, row: u64, column: usize) -> Cell<'_> {
        let mut cell = self.cell(row, column);
        if cell.kind != CellKind::Number {
            return cell;
        }
        let format = self.formats.get(&column).copied().unwrap_or(self.usual_format);
        if format == NumberFormat::Exact
            && let Some(text) = self.computed(column, &cell.text)
        {
            cell.text = Cow::Owned(text);
        }
        if format == NumberFormat::Exact || format == NumberFormat::Thousands {
            let most = self.measured.get(&column).map_or(0, |measured| usize::from(measured.behind));
            let behind = if most > 0 { number_format::digits_behind_point(&cell.text) } else { None };
            // The point itself takes room too.
            let own = behind.map(|behind| behind + usize::from(behind > 0));
            cell.pad = own.map_or(0, |own| (most + 1).saturating_sub(own) as u8);
        }
        if let Some(text) = format.apply(&cell.text) {
            cell.text = Cow::Owned(text);
        }
        cell
    }

    /// How many columns.
    pub(super) fn columns(&self) -> usize {
        self.looks.len()
    }

    /// The name of a column.
    pub(super) fn column_name(&self, column: usize) -> &str {
        self.table.schema().fields().get(column).map_or("", |field| field.name())
    }

    /// A cell, as far as it is in memory.
    pub(super) fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        match self.looks.get(column) {
            Some((kind, _)) => self.pages.cell(row, column, kind),
            None => Cell::pending(),
        }
    }

    /// The number of a row as its label has it.
    pub(super) fn label(&self, row: u64) -> String {
        if let Some(numbers) = &self.numbers {
            return numbers.get(row).map_or("…".to_owned(), display::count);
        }
        match self.labels {
            Labels::From(first) => display::count(first.saturating_add(row)),
            Labels::FromEnd => {
                let back = self.table.rows().number().saturating_sub(row);
                format!("end − {}", display::count(back))
            }
        }
    }
}

impl Sheet {
    /// The condition that a click in a picture of a column's values asks for.
    pub(super) fn asked(&self, column: usize, click: Click) -> Option<Condition> {
        match click {
            Click::Range(low, high, last) => self.within(column, low, high, last),
            Click::Integers(low, high) => self.among(column, low, high),
            Click::Value(text) => self.equal(column, &Cell::new(CellKind::Text, text)),
        }
    }

    /// The condition that a column has the value of a cell, where that is in memory and can be asked.
    pub(super) fn like(&self, row: u64, column: usize) -> Option<Condition> {
        self.equal(column, &self.cell(row, column))
    }

    /// The condition that a column has the value of this cell, where that can be asked.
    fn equal(&self, column: usize, cell: &Cell<'_>) -> Option<Condition> {
        let name = self.names.get(column)?.clone();
        let test = match &cell.kind {
            CellKind::Null => Test::Null,
            CellKind::Nan if cell.text.to_lowercase().contains("nan") => Test::Nan,
            CellKind::Pending | CellKind::Failed(_) | CellKind::Nested => return None,
            _ if cell.text.len() >= pages::SHOWN => return None,
            _ => Test::Equals(cell.text.clone().into_owned()),
        };
        Some(Condition::new(name, test))
    }

    /// The condition that a column is one of the integers from `low` to `high`, or the date or time that such a number
    /// stands for.
    fn among(&self, column: usize, low: i128, high: i128) -> Option<Condition> {
        let name = self.names.get(column)?.clone();
        let data_type = self.values.schema().fields().get(column)?.data_type().clone();
        let text = |value: i128| gander::data::stats::summary::integer_text(value, &data_type);
        let test = Test::Between { low: Some(text(low)), high: Some(text(high)), closed: true };
        Some(Condition::new(name, test))
    }

    /// The condition that a column lies between two numbers of its histogram; the upper one counts if
    /// `closed`.
    fn within(&self, column: usize, low: f64, high: f64, closed: bool) -> Option<Condition> {
        let name = self.names.get(column)?.clone();
        let data_type = self.values.schema().fields().get(column)?.data_type().clone();
        let whole = data_type.is_integer() || data_type.is_temporal();
        let text = |value: f64| match whole {
            true => {
                let number: ArrayRef = Arc::new(Int64Array::from(vec![value as i64]));
                let narrow = match data_type {
                    DataType::Date32 | DataType::Time32(_) => cast(&number, &DataType::Int32).ok()?,
                    _ => number,
                };
                gander::data::cell::text(cast(&narrow, &data_type).ok()?.as_ref(), 0)
            }
            false => Some(gander::data::cell::float64(value)),
        };
        let (low, high) = match (whole, closed) {
            (true, true) => (low.ceil(), high.floor()),
            (true, false) => (low.ceil(), high.ceil()),
            _ => neat(low, high, closed),
        };
        let test = Test::Between { low: Some(text(low)?), high: Some(text(high)?), closed };
        Some(Condition::new(name, test))
    }
}

/// The edges of a bar with as many digits as tell it from its neighbours. Those of two bars that meet are
/// the same; the last one holds the greatest value.
fn neat(low: f64, high: f64, last: bool) -> (f64, f64) {
    let digits = 2.0 - (high - low).abs().log10().floor();
    if low >= high || !(-15.0..=15.0).contains(&digits) {
        return (low, high);
    }
    let digits = digits as i32;
    let scale = 10f64.powi(digits);
    let short = |value: f64| {
        let text = format!("{:.*}", digits.max(0) as usize, value / scale);
        text.parse().unwrap_or(value)
    };
    let upper = if last { (high * scale).ceil() } else { (high * scale).floor() };
    (short((low * scale).floor()), short(upper))
}

/// How sure the number of rows is, in the grid's words.
pub(super) fn rows(rows: Rows) -> GridRows {
    match rows {
        Rows::Exact(rows) => GridRows::Exact(rows),
        Rows::AtLeast(rows) => GridRows::AtLeast(rows),
        Rows::About { rows, known } => GridRows::About(rows.max(known)),
    }
}

/// A sheet while it is drawn.
pub(super) struct Model<'a> {
    pub(super) sheet: &'a mut Sheet,
    pub(super) jobs: &'a Jobs,
    pub(super) row_filter: &'a mut RowFilter,
    /// What is looked for, written small: it is marked.
    pub(super) wanted: Option<&'a str>,
    /// What has pictures for cells.
    pub(super) gallery: &'a Page,
    /// A cell whose file is to be opened.
    pub(super) opened: &'a mut Option<CellAt>,
    /// A cell whose bytes are to be shown.
    pub(super) bytes: &'a mut Option<CellAt>,
}

impl GridModel for Model<'_> {
    fn rows(&self) -> GridRows {
        rows(self.sheet.table.rows())
    }

    fn columns(&self) -> usize {
        self.sheet.columns()
    }

    fn column(&self, index: usize) -> ColumnHead<'_> {
        let schema = self.sheet.table.schema();
        let Some(field) = schema.fields().get(index) else { return ColumnHead::default() };
        let side = self.sheet.looks.get(index).map_or(Side::Left, |(_, side)| *side);
        let (width, full_width) = self.sheet.widths(index);
        let beside = if self.gallery.is_pictured(self.sheet.table.as_ref(), index) { PICTURE } else { 0.0 };
        let (width, full_width) = (width.map(|width| width + beside), full_width.map(|width| width + beside));
        ColumnHead {
            name: Cow::Borrowed(field.name()),
            type_text: Cow::Owned(short_type(&gander::bytes::display::short_arrow_type(
                self.sheet.table.column_type(index),
                TYPE,
            ))),
            side,
            width,
            full_width,
            remark: None,
            sort: self.sheet.names.get(index).and_then(|name| self.row_filter.mark(name)),
        }
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let mut cell = self.sheet.drawn(row, column);
        if let Some(wanted) = self.wanted {
            cell.marked = find::marks(&crate::gui::grid::line_text(&cell.text), wanted);
        }
        match self.gallery.cell_picture(&self.sheet.table, row, column) {
            Some(picture) => cell.with(picture),
            _ => cell,
        }
    }

    fn want(&mut self, rows: Range<u64>, columns: &[usize]) {
        let sheet = &mut *self.sheet;
        sheet.pages.want(self.jobs, rows.clone(), columns);
        sheet.measure(&rows, columns);
        sheet.want_stored(self.jobs, columns);
        if let Some(numbers) = &mut sheet.numbers {
            numbers.want(self.jobs, &rows);
        }
        if sheet.pages.pending().is_none() {
            timings::drawn();
            // Pictures in the heads wait until the cells are there.
            if sheet.totals.is_none() {
                sheet.heads.want(self.jobs, &sheet.values, columns);
            }
        }
        sheet.seen = (rows, columns.to_vec());
    }

    fn row_label(&self, row: u64) -> Cow<'_, str> {
        Cow::Owned(self.sheet.label(row))
    }

    fn widest_label(&self) -> usize {
        self.sheet.numbers.as_ref().map_or(0, |_| display::count(self.sheet.whole).len())
    }

    fn header_ui(&mut self, ui: &mut egui::Ui, column: usize) {
        if let Some(totals) = &self.sheet.totals {
            let side = self.sheet.looks.get(column).map_or(Side::Left, |(_, side)| *side);
            super::column_summaries::total(ui, totals, column, side);
            return;
        }
        let stored = self.sheet.heads.stored(column).and_then(|stored| stored.null_count());
        let share = match (stored, self.sheet.table.rows().exact()) {
            (Some(nulls), Some(rows)) if rows > 0 => Some(nulls as f64 / rows as f64),
            _ => None,
        };
        let name = self.sheet.column_name(column);
        let Some(click) = self.sheet.heads.ui(ui, column, name, share) else { return };
        let condition = self.sheet.asked(column, click);
        let more = ui.input(|input| input.modifiers.command || input.modifiers.shift);
        condition.into_iter().for_each(|condition| self.row_filter.pick(condition, more));
    }

    fn header_menu(&mut self, ui: &mut egui::Ui, column: usize) {
        let Some(name) = self.sheet.names.get(column).cloned() else { return };
        let at = ui.min_rect();
        if menu_row(ui, Icon::Filter, "Filter…") {
            self.row_filter.begin(column, egui::Rect::from_min_size(at.min, egui::Vec2::ZERO));
        }
        let more = ui.input(|input| input.modifiers.shift);
        let orders = [
            ("Sort ascending", Icon::ArrowUp, Some(Order::Ascending)),
            ("Sort descending", Icon::ArrowDown, Some(Order::Descending)),
            ("Do not sort by this", Icon::Close, None),
        ];
        for (words, icon, order) in orders {
            if (order.is_some() || self.row_filter.mark(&name).is_some()) && menu_row(ui, icon, words) {
                self.row_filter.set_order(&name, order, more || order.is_none());
            }
        }
        for (words, test) in [("Only nulls", Test::Null), ("Without nulls", Test::NotNull)] {
            if menu_row(ui, Icon::Filter, words) {
                self.row_filter.add(Condition::new(name.clone(), test));
            }
        }
        if self.sheet.heads.can_be_exact(column) && menu_row(ui, Icon::Statistics, "Summarize all rows") {
            self.sheet.heads.ask_exact(column);
        }
        if self.sheet.looks.get(column).is_some_and(|(kind, _)| *kind == CellKind::Number) {
            number_menu(ui, &mut self.sheet.formats, self.sheet.usual_format, column);
        }
        ui.separator();
    }

    fn empty(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self.empty_offer() {
            Some(_) => "No rows fit the filter",
            None => self.rows().none(),
        })
    }

    fn empty_offer(&self) -> Option<&str> {
        let all_are_known = self.sheet.table.rows().exact().is_some();
        (all_are_known && self.row_filter.filters()).then_some("Clear filter")
    }

    fn cell_menu(&mut self, ui: &mut egui::Ui, row: u64, column: usize) {
        if self.gallery.holds_media(column) && menu_row(ui, Icon::File, "Open what it holds") {
            *self.opened = Some(CellAt { row, column });
        }
        if menu_row(ui, Icon::Binary, "Show bytes") {
            *self.bytes = Some(CellAt { row, column });
        }
        let cell = self.sheet.cell(row, column);
        let Some(same) = self.sheet.equal(column, &cell) else { return };
        let other = match &same.test {
            Test::Equals(text) => Test::Differs(text.clone()),
            Test::Null => Test::NotNull,
            _ => Test::NotNan,
        };
        let other = Condition::new(same.column.clone(), other);
        for (words, condition) in [("Only rows like this", same), ("Without rows like this", other)] {
            if menu_row(ui, Icon::Filter, words) {
                self.row_filter.add(condition);
            }
        }
        ui.separator();
    }
}

/// The formats of the numbers of a column.
fn number_menu(
    ui: &mut egui::Ui,
    formats: &mut BTreeMap<usize, NumberFormat>,
    usual: NumberFormat,
    column: usize,
) {
    let now = formats.get(&column).copied().unwrap_or(usual);
    ui.menu_button(crate::gui::theme::icon_text(Icon::Ruler, "Number format"), |ui| {
        for format in NumberFormat::ALL {
            if ui.selectable_label(format == now, format.words()).clicked() {
                match format {
                    format if format == usual => drop(formats.remove(&column)),
                    format => drop(formats.insert(column, format)),
                }
                ui.close();
            }
        }
    });
}

/// A row of a context menu.
fn menu_row(ui: &mut egui::Ui, icon: Icon, words: &str) -> bool {
    let response = ui.add(egui::Button::new(crate::gui::theme::icon_text(icon, words)));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, words));
    if response.clicked() {
        ui.close();
    }
    response.clicked()
}

/// A type for the head of a column: dictionaries by their values, long ones cut.
fn short_type(text: &str) -> String {
    let text = match text.strip_prefix("dictionary<values=").and_then(|rest| rest.split_once(", indices")) {
        Some((values, _)) => format!("dict<{values}>"),
        None => text.to_owned(),
    };
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(28).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::neat;

    #[test]
    fn edges_of_bars_are_short_and_meet() {
        assert_eq!(neat(19.535000000000004, 23.67125, false), (19.53, 23.67));
        assert_eq!(neat(23.67125, 27.8075, true), (23.67, 27.81));
        assert_eq!(neat(0.00012345, 0.00052345, false), (0.000123, 0.000523));
        assert_eq!(neat(1234567.0, 2345678.0, false), (1230000.0, 2340000.0));
        assert_eq!(neat(1.0, 1.0, true), (1.0, 1.0));
    }
}
