//! A slice as numbers, on the grid: rows down, columns across; of structured elements in one dimension
//! the fields are the columns. Elements without a fixed size ([`super::texts`]) stand there as texts.

use std::ops::Range;
use std::sync::Arc;

use egui::{Context, Ui};
use gander::bytes::display::{self, brief};
use gander::bytes::error::Error;
use gander::convert::copy::{self, CopyFormat, CopyRequest};
use gander::data::axes::AxisCoordinates;
use gander::data::cell;
use gander::data::content::Array;
use gander::data::dtype::{DType, Field};
use gander::data::numbers::{ComplexPart, bit_fields, bits, element_text, has_numbers, numbers};
use gander::data::plane::{Slice, Window};
use gander::data::region::Span;
use gander::data::stats::{self, ArrayStats};
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::{Deserialize, Serialize};

use super::super::ViewCx;
use super::super::references::ReferenceResolver;
use super::blocks::{Block, Key, Values};
use super::loader::{Loader, SliceKey};
use super::probe;
use super::texts;
use crate::gui::commands::Action;
use crate::gui::grid::Layout;
use crate::gui::grid::{Cell, CellAt, CellKind, ColumnHead, Grid, GridModel, GridRows, Side};
use crate::gui::icons::Icon;
use crate::gui::node_menu;
use crate::gui::target::{BytesOf, StoredValue};
use crate::gui::ui::{RowPosition, drop_down};

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Notation {
    /// As few digits as read back to the same value.
    #[default]
    Shortest,
    /// Four digits behind the point.
    Fixed,
    /// With an exponent.
    Scientific,
    /// The bits alone.
    Bits,
}

impl Notation {
    const ALL: [(Notation, &str); 4] = [
        (Notation::Shortest, "shortest"),
        (Notation::Fixed, "fixed"),
        (Notation::Scientific, "scientific"),
        (Notation::Bits, "bits"),
    ];

    fn word(self) -> &'static str {
        Notation::ALL.iter().find(|(notation, _)| *notation == self).map_or("", |(_, word)| word)
    }
}

/// An array as a grid of numbers.
pub(crate) struct Numbers {
    pub(crate) grid: Grid,
    notation: Notation,
    /// The bits beside the value.
    bits: bool,
    blocks: Loader<Key, Block>,
    /// Whether what is shown looks old.
    late: bool,
    copied: Slot<u64, String>,
    copying: u64,
    copy: Option<CopyRequest>,
    sums: Slot<(Slice, Window), ArrayStats>,
    follow: ReferenceResolver,
}

impl Numbers {
    pub(crate) fn new(name: &str) -> Self {
        Numbers {
            grid: Grid::new(name),
            notation: Notation::Shortest,
            bits: false,
            blocks: Loader::default(),
            late: false,
            copied: Slot::default(),
            copying: 0,
            copy: None,
            sums: Slot::default(),
            follow: ReferenceResolver::default(),
        }
    }

    /// Forgets what was read: the array is another one now.
    pub(crate) fn clear(&mut self) {
        self.follow.stop();
        self.blocks.clear();
        self.copied.clear();
        self.sums.clear();
        self.copy = None;
        self.grid.forget_suggested_widths();
    }

    /// Whether this slice is on the screen.
    pub(crate) fn shows(&self, slice: &Slice) -> bool {
        self.blocks.shown() == Some(&upright(slice))
    }

    /// The options in the toolbar.
    pub(crate) fn toolbar(&mut self, ui: &mut Ui, array: &dyn Array) {
        let (dtype, quantised) = (array.dtype(), array.quantised().is_some());
        if !dtype.is_real() && !dtype.is_complex() {
            return;
        }
        drop_down(ui, self.notation.word(), "Notation", |ui| {
            for (notation, word) in Notation::ALL {
                if ui.selectable_label(self.notation == notation, word).clicked() {
                    self.notation = notation;
                    self.grid.forget_suggested_widths();
                }
            }
            ui.separator();
            let words = if quantised { "Bits and scale beside the value" } else { "Bits beside the value" };
            if ui.checkbox(&mut self.bits, words).changed() {
                self.grid.forget_suggested_widths();
            }
        });
    }

    /// Stops every job.
    pub(crate) fn stop(&mut self) {
        self.blocks.stop();
        self.copied.cancel();
        self.sums.cancel();
        self.follow.stop();
    }

    /// Draws the grid into all that is left of `ui`.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        array: &Arc<dyn Array>,
        slice: &Slice,
        coordinates: &AxisCoordinates,
    ) {
        if self.late {
            ui.multiply_opacity(0.5);
        }
        let slice = upright(slice);
        let mut model = Model {
            ctx: ui.ctx().clone(),
            late: false,
            array,
            slice: &slice,
            jobs: cx.jobs,
            blocks: &mut self.blocks,
            heads: heads(array.dtype(), &slice),
            notation: self.notation,
            bits: self.bits,
            coordinates,
            title: format!("reading {}", cx.title()),
            block: None,
            old: None,
            window: None,
            error: None,
            bytes: None,
        };
        let response = self.grid.ui(ui, &mut model);
        if let (Some([row, column]), Some(target)) = (model.bytes, cx.target) {
            let value = StoredValue::element(array, slice.index(row, column));
            cx.actions.push(Action::ShowBytes(BytesOf { node: target.place(), value, decoded: false }));
        }
        if let Some(CellAt { row, column }) = response.hovered.or(response.cursor) {
            cx.status.under = format!("{}{}", cx.title(), model.status(row, column));
        }
        if let Some(path) = response
            .hovered
            .filter(|_| response.response.clicked_by(egui::PointerButton::Primary))
            .and_then(|at| model.path(at))
        {
            self.follow.start(path);
        }
        if let Some(at) = response.activated {
            match model.path(at) {
                Some(path) => self.follow.start(path),
                None => {
                    let place = model.place(at.row, at.column);
                    let (title, text) = (format!("{}{place}", cx.title()), model.whole(at.row, at.column));
                    // A member of a record, or a list, may hold a reference too.
                    let texts = array.dtype().is_variable();
                    if !texts || !self.follow.try_text(&title, &text) {
                        cx.actions.push(Action::Read(title, text));
                    }
                }
            }
        }
        let (window, late) = (model.window, model.late);
        self.late = late && self.blocks.shown().is_some();
        if let Some(window) = window {
            let (wanted, there) = ((slice.clone(), window), self.blocks.shown() == Some(&slice));
            self.blocks.read_ahead(cx.jobs, array, &wanted, window, there, |key, array, task| {
                Block::read(array, task, key.0.clone(), key.1)
            });
        }
        if let Some(target) = cx.target {
            self.follow.ui(cx.jobs, target, cx.actions);
        }
        if let Some(request) = response.copy {
            self.start_copy(cx, request);
        }
        cx.actions.extend(response.copy_name.map(Action::Copy));
        self.finish_copy(cx, array, &slice);
        self.sum(cx, array, &slice);
    }

    fn start_copy(&mut self, cx: &mut ViewCx<'_>, request: CopyRequest) {
        let cells = (request.rows.end - request.rows.start).saturating_mul(request.columns.len() as u64);
        if cells > copy::CELLS {
            let most = display::count(copy::CELLS);
            let words = format!(
                "{} cells are too many for the clipboard (at most {most}). Export them instead.",
                display::count(cells)
            );
            cx.actions.push(Action::Notice(words));
            return;
        }
        self.copying += 1;
        self.copy = Some(request);
    }

    /// Reads what is to be copied in a job and gives it to the clipboard when it is there.
    fn finish_copy(&mut self, cx: &mut ViewCx<'_>, array: &Arc<dyn Array>, slice: &Slice) {
        let Some(request) = self.copy.clone() else { return };
        let (array, slice) = (array.clone(), slice.clone());
        let shown = self.copied.get(cx.jobs, &self.copying, JobSpec::once("copying"), move |task| {
            copy::elements(&*array, task, &slice, &request)
        });
        if let Some(text) = shown.ready() {
            cx.actions.push(Action::Copy((*text).clone()));
            self.copy = None;
        } else if let Some(error) = shown.error {
            cx.actions.push(Action::Notice(format!("Nothing was copied: {error}")));
            self.copy = None;
        }
    }

    /// Count, sum, mean, least and largest of the selection.
    fn sum(&self, cx: &mut ViewCx<'_>, array: &Arc<dyn Array>, slice: &Slice) {
        let Some(selection) = self.grid.selection().filter(|_| array.dtype().is_real()) else { return };
        let rows = selection.rows(slice.height());
        let positions = selection.positions(usize::try_from(slice.width()).unwrap_or(usize::MAX));
        let columns = self.grid.columns_at(positions.start..positions.end.min(positions.start + 1));
        let width = (positions.end - positions.start) as u64;
        let height = rows.end.saturating_sub(rows.start);
        let (Some(&first), true) = (columns.first(), height.saturating_mul(width) > 1) else { return };
        let columns = Span::range(first as u64, width.min(slice.width().saturating_sub(first as u64)));
        let window = Window { rows: Span::range(rows.start, height), columns };
        let part = slice.part(&window);
        let array = array.clone();
        let shown = self.sums.get(
            cx.jobs,
            &(slice.clone(), window),
            JobSpec::scan("summing the selection"),
            move |task| stats::readable(&part.view(array), task, None),
        );
        cx.status.facts = match shown.ready() {
            Some(stats) => {
                let number = |value: Option<f64>| value.map_or("–".to_owned(), brief);
                let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
                let unread = stats.unread.as_ref().map_or(String::new(), |unread| format!(" · {unread}"));
                format!(
                    "{} cells · sum {} · mean {} · min {} · max {}{unread}",
                    display::count(stats.count),
                    number(stats.sum),
                    number(stats.mean),
                    text(&stats.min),
                    text(&stats.max)
                )
            }
            None => {
                let state = shown.error.map_or_else(|| "summing…".to_owned(), |error| error.message());
                format!("{} cells · {state}", display::count(window.elements()))
            }
        };
    }

    /// Goes to an element of the slice.
    pub(crate) fn go_to(&mut self, slice: &Slice, row: u64, column: u64) {
        let (row, column) = if upright(slice).rows == slice.rows { (row, column) } else { (column, row) };
        self.grid.scroll_to(row, usize::try_from(column).ok());
        self.grid.request_focus();
    }

    /// Frames an element of the slice, and takes no keys for it.
    pub(crate) fn mark(&mut self, slice: &Slice, row: u64, column: u64) {
        let (row, column) = if upright(slice).rows == slice.rows { (row, column) } else { (column, row) };
        self.grid.scroll_to(row, usize::try_from(column).ok());
    }

    /// Row and column of the framed element of the slice.
    pub(crate) fn cursor(&self, slice: &Slice) -> Option<[u64; 2]> {
        let CellAt { row, column } = self.grid.cursor()?;
        let column = column as u64;
        Some(if upright(slice).rows == slice.rows { [row, column] } else { [column, row] })
    }

    /// For the session.
    pub(crate) fn state(&self) -> NumbersState {
        NumbersState {
            notation: self.notation,
            bits: self.bits,
            layout: Some(self.grid.layout().clone()),
            row: self.grid.row_position().row,
            column: self.grid.column_position().index,
        }
    }

    /// What [`Numbers::state`] gave.
    pub(crate) fn restore(&mut self, state: NumbersState) {
        (self.notation, self.bits) = (state.notation, state.bits);
        if let Some(layout) = state.layout {
            self.grid.set_layout(layout);
        }
        let left = crate::gui::grid::ColumnPosition { index: state.column, fraction: 0.0 };
        self.grid.set_position(RowPosition { row: state.row, fraction: 0.0 }, left);
    }
}

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NumbersState {
    notation: Notation,
    bits: bool,
    layout: Option<Layout>,
    row: u64,
    column: usize,
}

/// One dimension goes down the grid, not across.
fn upright(slice: &Slice) -> Slice {
    let mut slice = slice.clone();
    slice.channels = None;
    if slice.rows.is_none() {
        std::mem::swap(&mut slice.rows, &mut slice.columns);
    }
    slice
}

/// The head of a column that is a field.
struct Head {
    name: String,
    type_text: String,
    side: Side,
    width: f32,
    /// The field of bytes; of texts there is none.
    field: Option<Field>,
}

/// The fields, where they are the columns.
fn heads(dtype: &DType, slice: &Slice) -> Vec<Head> {
    match dtype {
        DType::Struct(record) if slice.width() <= 1 => record.fields.iter().map(Head::of).collect(),
        DType::Variable(kind) if slice.width() <= 1 => {
            let head = |(name, type_text, side)| Head { name, type_text, side, width: 20.0, field: None };
            texts::fields(kind).into_iter().map(head).collect()
        }
        _ => Vec::new(),
    }
}

impl Head {
    fn of(field: &Field) -> Self {
        let one = field.shape.is_empty();
        let mut type_text = field.dtype.to_string();
        if !one {
            type_text = format!("{type_text} {}", display::shape(&field.shape));
        }
        Head {
            name: field.name.clone(),
            type_text,
            side: if has_numbers(&field.dtype) && one { Side::Right } else { Side::Left },
            width: if one { likely_width(&field.dtype) } else { 30.0 },
            field: Some(field.clone()),
        }
    }
}

/// The data behind the grid in one frame.
struct Model<'a> {
    array: &'a Arc<dyn Array>,
    slice: &'a Slice,
    jobs: &'a Jobs,
    ctx: Context,
    blocks: &'a mut Loader<Key, Block>,
    /// Whether what is shown looks old.
    late: bool,
    heads: Vec<Head>,
    notation: Notation,
    bits: bool,
    coordinates: &'a AxisCoordinates,
    title: String,
    /// Elements of the slice.
    block: Option<Arc<Block>>,
    /// What stood there before, and stays until these come.
    old: Option<Arc<Block>>,
    /// The window that is wanted.
    window: Option<Window>,
    error: Option<Error>,
    /// The element of the slice whose bytes are to be shown.
    bytes: Option<[u64; 2]>,
}

impl Model<'_> {
    /// The column of the plane behind a column of the grid.
    fn across(&self, column: usize) -> u64 {
        if self.heads.is_empty() { column as u64 } else { 0 }
    }

    /// `[3, 17]["x"]`.
    fn place(&self, row: u64, column: usize) -> String {
        let place = probe::place(&self.slice.index(row, self.across(column)));
        match self.heads.get(column) {
            Some(head) => format!("{place}[{:?}]", head.name),
            None => place,
        }
    }

    /// The place, the value, its bits, and what its indices stand for.
    fn status(&self, row: u64, column: usize) -> String {
        let place = self.place(row, column);
        let block = self.block.as_deref();
        let text = block.and_then(|block| self.cell_of(block, row, column));
        let text = text.map_or_else(|| "…".to_owned(), |cell| cell.text.into_owned());
        let bytes = block.and_then(|block| self.bytes(block, row, column)).filter(|_| self.heads.is_empty());
        let dtype = self.array.dtype();
        let bits = self.bits_words(row, column, bytes);
        let text = bytes.map_or(text.clone(), |bytes| self.coordinates.value(dtype, bytes, self.text(bytes)));
        let lines = self.coordinates.lines(&self.slice.index(row, self.across(column))).join("  ");
        let lines = if lines.is_empty() { lines } else { format!("  ·  {lines}") };
        format!("{place} = {text}  {bits}").trim_end().to_owned() + &lines
    }

    /// The bits of an element: as a number, of small floats by what they are too; of a quantised one with its scale.
    fn bits_words(&self, row: u64, column: usize, bytes: Option<&[u8]>) -> String {
        let (dtype, block) = (self.array.dtype(), self.block.as_deref());
        let stored = block.and_then(|block| block.stored(row, self.across(column)));
        if let Some((quant, code)) = stored.filter(|_| self.heads.is_empty()) {
            return probe::quant_words(quant, *code);
        }
        let Some(bytes) = bytes else { return String::new() };
        let words = [bits(dtype, bytes), bit_fields(dtype, bytes)];
        words.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    /// The value in full.
    fn whole(&self, row: u64, column: usize) -> String {
        match self.block.as_ref().map(|block| (&block.values, &block.window)) {
            Some((Values::Texts(texts), window)) => {
                let field = (!self.heads.is_empty()).then_some(column);
                let at = window.find(row, self.across(column));
                at.and_then(|at| texts.whole(at, field)).unwrap_or_else(|| "null".to_owned())
            }
            Some(_) => self.cell(row, column).text.into_owned(),
            None => String::new(),
        }
    }

    /// The path of the node that an element refers to.
    fn path(&self, at: CellAt) -> Option<String> {
        let DType::Variable(kind) = self.array.dtype() else { return None };
        let path = kind.reference.then(|| self.whole(at.row, at.column))?;
        (!path.is_empty() && path != "null").then_some(path)
    }

    /// The bytes of an element, or of a field of it, if they are in memory.
    fn bytes<'b>(&self, block: &'b Block, row: u64, column: usize) -> Option<&'b [u8]> {
        let Values::Bytes(raw) = &block.values else { return None };
        let size = usize::try_from(self.array.dtype().size()).ok()?;
        let at = block.window.find(row, self.across(column))?.checked_mul(size)?;
        let element = raw.get(at..at.checked_add(size)?)?;
        let Some(field) = self.heads.get(column).and_then(|head| head.field.as_ref()) else {
            return Some(element);
        };
        let start = usize::try_from(field.offset).ok()?;
        element.get(start..start.checked_add(usize::try_from(field.bytes().ok()?).ok()?)?)
    }

    /// A text, if it is in memory.
    fn text_cell<'b>(&self, block: &'b Block, row: u64, column: usize) -> Option<Cell<'b>> {
        let Values::Texts(texts) = &block.values else { return None };
        let field = (!self.heads.is_empty()).then_some(column);
        texts.cell(block.window.find(row, self.across(column))?, field)
    }

    /// An element, or a field of it, as it stands in a block.
    fn cell_of<'b>(&self, block: &'b Block, row: u64, column: usize) -> Option<Cell<'b>> {
        if let Some(cell) = self.text_cell(block, row, column) {
            return Some(cell);
        }
        if let Some(error) = block.gap(row, self.across(column)) {
            return Some(Cell::failed(error.to_string()));
        }
        let bytes = self.bytes(block, row, column)?;
        if let Some(field) = self.heads.get(column).and_then(|head| head.field.as_ref()) {
            return Some(self.field_cell(field, bytes));
        }
        let mut text = match self.coordinates.value_words(self.array.dtype(), bytes) {
            Some(name) => format!("{}  {name}", self.text(bytes)),
            None => self.text(bytes),
        };
        if let Some((quant, code)) = block.stored(row, self.across(column)).filter(|_| self.bits) {
            let bits = code.map_or_else(|| brief(quant.level.into()), |code| code.to_string());
            text = format!("{text}  {bits} × {}{}", brief(quant.scale.into()), probe::offset_words(quant));
        }
        Some(Cell::new(kind_of(self.array.dtype(), bytes), text))
    }

    fn text(&self, bytes: &[u8]) -> String {
        let dtype = self.array.dtype();
        let text = match self.notation {
            Notation::Bits => bits(dtype, bytes),
            Notation::Fixed | Notation::Scientific if *dtype != DType::Bool => self.digits(bytes),
            _ => None,
        };
        let text = text.unwrap_or_else(|| self.coordinates.text(dtype, bytes));
        match bits(dtype, bytes).filter(|_| self.bits && self.notation != Notation::Bits) {
            Some(bits) => format!("{text}  {bits}"),
            None => text,
        }
    }

    /// A finite number with the digits that were asked for; of a complex one, both parts.
    fn digits(&self, bytes: &[u8]) -> Option<String> {
        let dtype = self.array.dtype();
        let part = |part| numbers(dtype, part, bytes).first().copied().filter(|v| v.is_finite());
        let text = |value: f64| match self.notation {
            Notation::Scientific => format!("{value:.6e}"),
            _ => format!("{value:.4}"),
        };
        if dtype.is_complex() {
            let (real, imaginary) = (part(ComplexPart::Real)?, part(ComplexPart::Imaginary)?);
            let sign = if imaginary.is_sign_negative() { '-' } else { '+' };
            return Some(format!("{}{sign}{}j", text(real), text(imaginary.abs())));
        }
        let value = part(ComplexPart::Real).filter(|_| dtype.is_real())?;
        let whole = self.notation == Notation::Fixed && !dtype.is_float();
        Some(if whole { element_text(dtype, bytes) } else { text(value) })
    }

    fn field_cell(&self, field: &Field, bytes: &[u8]) -> Cell<'static> {
        if field.shape.is_empty() {
            let kind = kind_of(&field.dtype, bytes);
            return Cell::new(kind, cell::element(&field.dtype, bytes));
        }
        let json = cell::nested(&field.dtype, &field.shape, bytes);
        Cell::new(CellKind::Nested, json.map_or("?".to_owned(), |json| json.to_string()))
    }
}

impl GridModel for Model<'_> {
    fn cell_menu(&mut self, ui: &mut Ui, row: u64, column: usize) {
        if node_menu::item(ui, Icon::Binary, "Show bytes") {
            self.bytes = Some([row, column as u64]);
        }
        ui.separator();
    }

    fn rows(&self) -> GridRows {
        GridRows::Exact(self.slice.height())
    }

    fn columns(&self) -> usize {
        match self.heads.len() {
            0 => usize::try_from(self.slice.width()).unwrap_or(usize::MAX),
            fields => fields,
        }
    }

    fn column(&self, index: usize) -> ColumnHead<'_> {
        if let Some(head) = self.heads.get(index) {
            return ColumnHead {
                name: head.name.as_str().into(),
                width: Some(head.width),
                type_text: head.type_text.as_str().into(),
                side: head.side,
                ..Default::default()
            };
        }
        let side = if has_numbers(self.array.dtype()) { Side::Right } else { Side::Left };
        let (name, type_text) = match self.slice.columns {
            None => ("value".to_owned(), self.array.dtype().to_string()),
            Some(axis) => {
                let at = self.slice.along(Some(axis), index as u64);
                (at.to_string(), self.coordinates.coordinate_with_unit(axis, at).unwrap_or_default())
            }
        };
        ColumnHead {
            name: name.into(),
            type_text: type_text.into(),
            side,
            width: Some(self.default_width()),
            ..Default::default()
        }
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        if let Some(cell) = self.block.as_deref().and_then(|block| self.cell_of(block, row, column)) {
            return cell;
        }
        if let Some(error) = &self.error {
            return Cell::failed(error.to_string());
        }
        let old = self.old.as_deref().and_then(|block| self.cell_of(block, row, column));
        old.unwrap_or_else(Cell::pending)
    }

    fn want(&mut self, rows: Range<u64>, columns: &[usize]) {
        /// Wanted in whole blocks, so that slow scrolling asks rarely.
        const ROWS: u64 = 64;
        const COLUMNS: u64 = 16;
        let (height, width) = (self.slice.height(), self.slice.width());
        if height == 0 || width == 0 {
            return;
        }
        let (mut first, mut end) = (0, 1);
        if self.heads.is_empty() {
            first = columns.iter().min().map_or(0, |&c| c as u64) / COLUMNS * COLUMNS;
            end = columns.iter().max().map_or(1, |&c| c as u64 + 1).div_ceil(COLUMNS) * COLUMNS;
            // Columns that were moved far apart: those in sight first.
            end = end.min(first + 1024).min(width);
        }
        let top = rows.start / ROWS * ROWS;
        let bottom = (rows.end.div_ceil(ROWS) * ROWS).min(height);
        let window = Window {
            rows: Span::range(top, bottom.saturating_sub(top)),
            columns: Span::range(first, end.saturating_sub(first)),
        };
        let (wanted, array) = ((self.slice.clone(), window), self.array.clone());
        let loaded = self.blocks.want(
            &self.ctx,
            self.jobs,
            &wanted,
            JobSpec::view(self.title.clone()),
            move |key, task, _| Block::read(&*array, task, key.0.clone(), key.1),
        );
        let block = loaded.value();
        self.block = block.clone().filter(|block| block.slice == *self.slice);
        self.old = block.filter(|block| wanted.is_alike(&(block.slice.clone(), window)));
        self.error = loaded.state.error.filter(|_| loaded.is_wanted);
        self.late = loaded.is_late;
        self.window = Some(window);
    }

    fn row_label(&self, row: u64) -> std::borrow::Cow<'_, str> {
        let at = self.slice.along(self.slice.rows, row);
        match self.slice.rows.and_then(|axis| self.coordinates.coordinate(axis, at)) {
            Some(stands) => format!("{at}  {stands}").into(),
            None => at.to_string().into(),
        }
    }

    fn row_head(&self) -> &str {
        ""
    }

    fn copy_formats(&self) -> &[CopyFormat] {
        if self.heads.is_empty() { CopyFormat::UNNAMED } else { &CopyFormat::ALL }
    }

    fn empty(&self) -> std::borrow::Cow<'_, str> {
        "No elements".into()
    }

    fn default_width(&self) -> f32 {
        let dtype = self.array.dtype();
        let width = dtype.bits() as f32 / 4.0 + if dtype.is_complex() { 8.0 } else { 4.0 };
        let beside = match self.bits {
            true if self.array.quantised().is_some() => 26.0,
            true if bits(dtype, &[0; 16]).is_some() => width,
            _ => 0.0,
        };
        match self.notation {
            Notation::Bits => width,
            Notation::Scientific => 14.0 + beside,
            _ if self.coordinates.has_value_words() => likely_width(dtype) + beside + 14.0,
            _ => likely_width(dtype) + beside,
        }
    }
}

/// How wide values of a type are likely to be, in characters.
fn likely_width(dtype: &DType) -> f32 {
    match dtype {
        DType::Bool => 5.0,
        DType::I8 | DType::U8 => 4.0,
        DType::I16 | DType::U16 => 6.0,
        DType::F16 | DType::BF16 | DType::Mini(_) => 9.0,
        DType::I32 | DType::U32 | DType::F32 | DType::Blocks(_) => 13.0,
        DType::F64 | DType::I64 | DType::U64 => 20.0,
        DType::C32 => 18.0,
        DType::C64 => 24.0,
        DType::C128 => 42.0,
        DType::Long(_) => 28.0,
        DType::Str(n) | DType::Bytes(n) => (*n as f32).clamp(6.0, 40.0),
        DType::Void(n) => (*n as f32 * 2.0 + 2.0).clamp(6.0, 40.0),
        DType::DateTime(_) => 24.0,
        DType::TimeDelta(_) => 14.0,
        DType::Variable(_) => 22.0,
        DType::Struct(_) => 40.0,
    }
}

fn kind_of(dtype: &DType, bytes: &[u8]) -> CellKind {
    match dtype {
        DType::Bool => CellKind::Bool,
        DType::Bytes(_) | DType::Str(_) | DType::Variable(_) => CellKind::Text,
        DType::Void(_) => CellKind::Binary,
        DType::Struct(_) => CellKind::Nested,
        DType::DateTime(_) | DType::TimeDelta(_) => CellKind::Time,
        _ if (dtype.is_float() || dtype.is_complex())
            && numbers(dtype, ComplexPart::Magnitude, bytes).iter().any(|v| !v.is_finite()) =>
        {
            CellKind::Nan
        }
        _ => CellKind::Number,
    }
}
