//! Tensors in groups that fold, as rows of a grid. What passes over them told comes in as it is known.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{RichText, Ui};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::convert::copy::{CopyFormat, CopyRequest, CopyValue, CopyWriter, ValueKind};
use gander::data::health::Finding;
use gander::data::parameters::Parameters;
use gander::data::parameters::groups::{Grouping, Groups, Row, Summary};
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::{Deserialize, Serialize};

use super::compare::Reference;
use super::{Listed, Target, target_of};
use crate::gui::commands::Action;
use crate::gui::grid::{Cell, CellKind, ColumnHead, Decoration, Grid, GridModel, GridRows, Side, SortMark};
use crate::gui::icons::Icon;
use crate::gui::node_menu;
use crate::gui::theme::{self, Theme};

/// Which tensors are rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Kept {
    #[default]
    All,
    /// With NaN or infinite elements.
    NotFinite,
    /// With something that was found.
    Found,
}

impl Kept {
    pub(super) const ALL: [Kept; 3] = [Kept::All, Kept::NotFinite, Kept::Found];

    pub(super) fn words(self) -> &'static str {
        match self {
            Kept::All => "All tensors",
            Kept::NotFinite => "With NaN or ±Inf",
            Kept::Found => "With findings",
        }
    }
}

/// The columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Tensor,
    Dtype,
    Shape,
    Parameters,
    Bytes,
    Share,
    Min,
    Max,
    Mean,
    Std,
    Norm,
    Values,
    Nan,
    Infinite,
    Zeros,
    File,
    Offset,
}

const COLUMNS: [Column; 17] = [
    Column::Tensor,
    Column::Dtype,
    Column::Shape,
    Column::Parameters,
    Column::Bytes,
    Column::Share,
    Column::Mean,
    Column::Std,
    Column::Values,
    Column::Nan,
    Column::Infinite,
    Column::Zeros,
    Column::Min,
    Column::Max,
    Column::Norm,
    Column::File,
    Column::Offset,
];

impl Column {
    fn word(self) -> &'static str {
        match self {
            Column::Tensor => "tensor",
            Column::Dtype => "dtype",
            Column::Shape => "shape",
            Column::Parameters => "parameters",
            Column::Bytes => "bytes",
            Column::Share => "share",
            Column::Min => "min",
            Column::Max => "max",
            Column::Mean => "mean",
            Column::Std => "std",
            Column::Norm => "norm",
            Column::Values => "values",
            Column::Nan => "NaN",
            Column::Infinite => "±Inf",
            Column::Zeros => "zeros",
            Column::File => "file",
            Column::Offset => "offset",
        }
    }

    /// In characters.
    fn width(self) -> f32 {
        match self {
            Column::Tensor => 28.0,
            Column::Dtype | Column::Values | Column::Bytes | Column::Offset | Column::Zeros => 9.0,
            Column::Shape => 12.0,
            Column::Share => 14.0,
            Column::Parameters => 10.0,
            Column::Min | Column::Max | Column::Mean | Column::Std | Column::Norm => 9.0,
            Column::Nan | Column::Infinite => 5.0,
            Column::File => 24.0,
        }
    }

    fn is_number(self) -> bool {
        !matches!(self, Column::Tensor | Column::Dtype | Column::Shape | Column::Values | Column::File)
    }

    /// Whether only a pass over the elements tells it.
    fn is_scanned(self) -> bool {
        matches!(
            self,
            Column::Min
                | Column::Max
                | Column::Mean
                | Column::Std
                | Column::Norm
                | Column::Values
                | Column::Nan
                | Column::Infinite
                | Column::Zeros
        )
    }
}

/// Groups of at most so many rows are arranged at once, more by a job.
const SOON: usize = 5_000;
/// Rows that are open at first.
const OPEN: usize = 60;
/// What is known of groups is summed up again so often.
const AGAIN: Duration = Duration::from_millis(150);

/// What the rows are arranged for.
#[derive(Clone, PartialEq)]
struct Key {
    grouping: Grouping,
    below: String,
    /// Changes with what is open.
    folds: u64,
    sort: Option<(usize, bool)>,
    find: String,
    kept: Kept,
    /// How many passes were made when it mattered.
    passes: usize,
    /// How many findings there are when it matters.
    found: usize,
}

/// The rows that are seen.
struct Arranged {
    groups: Arc<Groups>,
    order: Vec<usize>,
}

/// What was done with the rows.
#[derive(Default)]
pub(super) struct RowActions {
    pub(super) opened: Option<usize>,
    pub(super) under: Option<String>,
    pub(super) copied: Vec<String>,
    pub(super) compared: Option<Compared>,
}

/// What a menu asks of comparisons: the number of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Others are to be compared with it.
    With(usize),
    /// It is to be compared.
    Itself(usize),
}

/// What the rows are drawn with.
pub(super) struct RowsCx<'a> {
    pub(super) listed: &'a Listed,
    pub(super) of: Option<&'a Target>,
    pub(super) title: &'a str,
    /// Whether what is not known yet comes.
    pub(super) runs: bool,
    /// What others are compared with.
    pub(super) reference: Option<&'a Reference>,
    pub(super) actions: &'a mut Vec<Action>,
}

/// The state of the rows.
pub(super) struct Rows {
    grid: Grid,
    groups: Option<((usize, Grouping), Arc<Groups>)>,
    making: Slot<(usize, Grouping), Groups>,
    open: HashSet<usize>,
    folds: u64,
    sort: Option<(usize, bool)>,
    arranged: Option<(Key, Arc<Arranged>)>,
    arranging: Slot<Key, Arranged>,
    summaries: Arc<Vec<Summary>>,
    summed: Option<(usize, Instant)>,
    summing: Slot<(usize, usize), Vec<Summary>>,
    /// The groups and the number of passes for which sums are being made.
    summing_for: Option<(usize, usize)>,
    found: Arc<HashSet<usize>>,
    found_of: usize,
}

impl Default for Rows {
    fn default() -> Self {
        Rows {
            grid: Grid::new("Parameters"),
            groups: None,
            making: Slot::default(),
            open: HashSet::new(),
            folds: 0,
            sort: None,
            arranged: None,
            arranging: Slot::default(),
            summaries: Arc::default(),
            summed: None,
            summing: Slot::default(),
            summing_for: None,
            found: Arc::default(),
            found_of: usize::MAX,
        }
    }
}

impl Rows {
    pub(super) fn open_all(&mut self) {
        if let Some((_, groups)) = &self.groups {
            self.open = (0..groups.rows().len()).collect();
            self.folds += 1;
        }
    }

    pub(super) fn close_all(&mut self) {
        self.open.clear();
        self.folds += 1;
    }

    /// Brings rows and sums up to date, as far as that is done at once.
    pub(super) fn update(
        &mut self,
        jobs: &Jobs,
        listed: &Arc<Listed>,
        grouping: Grouping,
        below: &str,
        (find, kept): (&str, Kept),
        findings: &[Finding],
    ) {
        let Some(groups) = self.groups(jobs, listed, grouping, below) else { return };
        self.sum(jobs, listed, &groups);
        if self.found_of != findings.len() {
            let paths: HashSet<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
            let tensors = listed.parameters.tensors().iter().enumerate();
            let found = tensors.filter(|(_, tensor)| paths.contains(tensor.path.as_str())).map(|(n, _)| n);
            self.found = Arc::new(found.collect());
            self.found_of = findings.len();
        }
        let sorted = self.sort.and_then(|(column, _)| COLUMNS.get(column)).is_some_and(|c| c.is_scanned());
        let passes = self.summed.map_or(0, |(passes, _)| passes);
        let key = Key {
            grouping,
            below: below.to_owned(),
            folds: self.folds,
            sort: self.sort,
            find: find.to_lowercase(),
            kept,
            passes: if sorted || kept == Kept::NotFinite { passes } else { 0 },
            found: if kept == Kept::Found { self.found.len() } else { 0 },
        };
        if self.arranged.as_ref().is_some_and(|(known, _)| *known == key) {
            return;
        }
        let order = Order {
            open: self.open.clone(),
            summaries: self.summaries.clone(),
            found: self.found.clone(),
            parameters: listed.parameters.clone(),
        };
        if groups.rows().len() <= SOON {
            let made = order.arranged(None, groups, &key);
            self.arranged = made.ok().map(|made| (key, Arc::new(made)));
            return;
        }
        let wanted = key.clone();
        let shown = self.arranging.get(jobs, &key, JobSpec::view("sorting tensors"), move |task| {
            order.arranged(Some(task), groups, &wanted)
        });
        if let Some(made) = shown.ready() {
            self.arranged = Some((key, made));
        }
    }

    fn groups(
        &mut self,
        jobs: &Jobs,
        listed: &Arc<Listed>,
        grouping: Grouping,
        below: &str,
    ) -> Option<Arc<Groups>> {
        let key = (Arc::as_ptr(listed) as usize, grouping);
        if let Some((known, groups)) = &self.groups
            && *known == key
        {
            return Some(groups.clone());
        }
        let (tensors, path) = (listed.clone(), below.to_owned());
        let groups = match listed.parameters.tensors().len() <= SOON {
            true => Arc::new(Groups::new(tensors.parameters.tensors(), grouping, &path)),
            false => {
                let spec = JobSpec::view("grouping tensors");
                let shown = self.making.get(jobs, &key, spec, move |_| {
                    Ok(Groups::new(tensors.parameters.tensors(), grouping, &path))
                });
                shown.ready()?
            }
        };
        self.open = groups.opened(OPEN).into_iter().collect();
        self.folds += 1;
        self.summed = None;
        self.summaries = Arc::new(vec![Summary::default(); groups.rows().len()]);
        self.groups = Some((key, groups.clone()));
        Some(groups)
    }

    /// Sums up what is known, where more is known than before.
    fn sum(&mut self, jobs: &Jobs, listed: &Arc<Listed>, groups: &Arc<Groups>) {
        let passes = listed.parameters.passes();
        let is_late = |(known, at): (usize, Instant)| {
            known != passes && (at.elapsed() >= AGAIN || passes == listed.parameters.tensors().len())
        };
        if passes == 0 || !self.summed.is_none_or(is_late) {
            return;
        }
        if groups.rows().len() <= SOON {
            self.summaries = Arc::new(groups.summaries(&listed.parameters));
            self.summed = Some((passes, Instant::now()));
            return;
        }
        // Passes go on while sums are made: what was asked for is waited for.
        let key = *self.summing_for.get_or_insert((Arc::as_ptr(groups) as usize, passes));
        let (of, all) = (listed.clone(), groups.clone());
        let spec = JobSpec::view("summing up groups");
        let shown = self.summing.get(jobs, &key, spec, move |_| Ok(all.summaries(&of.parameters)));
        if let Some(made) = shown.ready() {
            if key.0 == Arc::as_ptr(groups) as usize {
                self.summaries = made;
                self.summed = Some((key.1, Instant::now()));
            }
            self.summing_for = None;
        }
    }

    /// Draws the rows into all that is left of `ui`.
    pub(super) fn ui(&mut self, ui: &mut Ui, cx: RowsCx<'_>) -> RowActions {
        let Some((_, arranged)) = self.arranged.clone() else {
            theme::pending(ui, ui.scope_id().with("grouping"), "Grouping…");
            return RowActions::default();
        };
        let mut model = Sheet {
            groups: &arranged.groups,
            order: &arranged.order,
            open: &self.open,
            filtered: self.arranged.as_ref().is_some_and(|(key, _)| key.is_filtered()),
            summaries: &self.summaries,
            parameters: &cx.listed.parameters,
            sort: self.sort,
            of: cx.of,
            runs: cx.runs,
            reference: cx.reference,
            compared: None,
            actions: cx.actions,
        };
        self.grid.name = format!("Parameters of {}", cx.title);
        let response = self.grid.ui(ui, &mut model);
        let mut did = RowActions { compared: model.compared, ..RowActions::default() };
        did.copied.extend(response.copy.as_ref().map(|request| model.copy(request)));
        did.copied.extend(response.copy_name.clone());
        let under = response.hovered.or(response.cursor);
        did.under = under.and_then(|at| model.row(at.row)).map(|(_, row)| model.path(row));
        let clicked = response.response.clicked().then_some(response.hovered).flatten();
        let toggled = match (clicked, response.activated) {
            (Some(at), _) if at.column == 0 => model.row(at.row),
            // A double click on a name was two clicks.
            (_, Some(at)) if at.column != 0 || clicked.is_none() => model.row(at.row),
            _ => None,
        };
        let group = toggled.filter(|(_, row)| row.tensor.is_none()).map(|(at, _)| at);
        let activated = response.activated.and_then(|at| model.row(at.row));
        did.opened = activated.and_then(|(_, row)| row.tensor);
        if let Some(at) = group.filter(|_| !model.filtered) {
            if !self.open.remove(&at) {
                self.open.insert(at);
            }
            self.folds += 1;
            ui.ctx().request_repaint();
        }
        if let Some(click) = response.header_clicked {
            self.sort = match self.sort {
                Some((column, true)) if column == click.column => Some((column, false)),
                Some((column, false)) if column == click.column => None,
                // The largest numbers first.
                _ => Some((click.column, COLUMNS.get(click.column).is_some_and(|c| c.is_number()))),
            };
            ui.ctx().request_repaint();
        }
        did
    }
}

impl Key {
    /// Whether groups are open for what was found in them.
    fn is_filtered(&self) -> bool {
        !self.find.is_empty() || self.kept != Kept::All
    }
}

/// All that the order of rows depends on.
struct Order {
    open: HashSet<usize>,
    summaries: Arc<Vec<Summary>>,
    found: Arc<HashSet<usize>>,
    parameters: Parameters,
}

impl Order {
    fn arranged(&self, task: Option<&Task>, groups: Arc<Groups>, key: &Key) -> Result<Arranged> {
        task.map_or(Ok(()), Task::check)?;
        let filtered = key.is_filtered();
        let keeps = |n: usize| {
            let named = key.find.is_empty()
                || self
                    .parameters
                    .tensors()
                    .get(n)
                    .is_some_and(|tensor| tensor.path.to_lowercase().contains(&key.find));
            named
                && match key.kept {
                    Kept::All => true,
                    Kept::Found => self.found.contains(&n),
                    Kept::NotFinite => {
                        matches!(self.parameters.known(n), Some(Ok(stats)) if stats.nan + stats.infinite > 0)
                    }
                }
        };
        let rows = groups.rows();
        let compare = |a: usize, b: usize| {
            let (Some((column, descending)), Some(one), Some(other)) = (key.sort, rows.get(a), rows.get(b))
            else {
                return Ordering::Equal;
            };
            let column = COLUMNS.get(column).copied().unwrap_or(Column::Tensor);
            let order = self.compare(column, (a, one), (b, other));
            if descending { order.reverse() } else { order }
        };
        let order = groups.arranged(&|row| filtered || self.open.contains(&row), &keeps, &compare);
        Ok(Arranged { groups, order })
    }

    fn compare(&self, column: Column, (a, one): (usize, &Row), (b, other): (usize, &Row)) -> Ordering {
        let text = |row: &Row| {
            let tensor = row.tensor.and_then(|n| self.parameters.tensors().get(n));
            tensor.map(|tensor| match column {
                Column::Dtype => tensor.array.dtype().to_string(),
                Column::Shape => format!("{:?}", tensor.array.shape()),
                _ => tensor.array.storage().map_or_else(String::new, |(source, _)| source.name().to_owned()),
            })
        };
        let number = |at: usize| -> Option<f64> {
            let summary = self.summaries.get(at)?;
            match column {
                Column::Min => summary.min,
                Column::Max => summary.max,
                Column::Mean => summary.mean(),
                Column::Std | Column::Values => summary.std(),
                Column::Norm => summary.norm(),
                Column::Nan => Some(summary.nan as f64),
                Column::Infinite => Some(summary.infinite as f64),
                _ => Some(summary.zeros as f64),
            }
        };
        match column {
            Column::Tensor => display::natural_order(&one.name, &other.name),
            Column::Dtype | Column::Shape | Column::File => text(one).cmp(&text(other)),
            Column::Parameters | Column::Share => one.parameters.cmp(&other.parameters),
            Column::Bytes => one.bytes.cmp(&other.bytes),
            Column::Offset => offset(&self.parameters, one).cmp(&offset(&self.parameters, other)),
            _ => number(a).unwrap_or(f64::NEG_INFINITY).total_cmp(&number(b).unwrap_or(f64::NEG_INFINITY)),
        }
    }
}

/// Where a tensor begins in its file.
fn offset(parameters: &Parameters, row: &Row) -> Option<u64> {
    parameters.tensors().get(row.tensor?)?.array.storage().map(|(_, range)| range.start)
}

/// The rows as the grid sees them.
struct Sheet<'a> {
    groups: &'a Groups,
    order: &'a [usize],
    open: &'a HashSet<usize>,
    filtered: bool,
    summaries: &'a [Summary],
    parameters: &'a Parameters,
    sort: Option<(usize, bool)>,
    of: Option<&'a Target>,
    /// Whether what is not known yet comes.
    runs: bool,
    reference: Option<&'a Reference>,
    compared: Option<Compared>,
    actions: &'a mut Vec<Action>,
}

impl Sheet<'_> {
    fn row(&self, row: u64) -> Option<(usize, &Row)> {
        let at = *self.order.get(usize::try_from(row).ok()?)?;
        Some((at, self.groups.rows().get(at)?))
    }

    fn path(&self, row: &Row) -> String {
        let tensor = row.tensor.and_then(|n| self.parameters.tensors().get(n));
        tensor.map_or_else(
            || format!("{} · {}", row.name, display::plural(row.tensors, "tensor")),
            |tensor| tensor.path.clone(),
        )
    }

    /// A number from the passes, as text; `None` where it is not known.
    fn scanned(&self, at: usize, column: Column) -> Option<String> {
        let summary = self.summaries.get(at).filter(|summary| summary.scanned > 0)?;
        let number = |value: Option<f64>| value.map(display::brief).unwrap_or_default();
        Some(match column {
            Column::Min => number(summary.min),
            Column::Max => number(summary.max),
            Column::Mean => number(summary.mean()),
            Column::Std => number(summary.std()),
            Column::Norm => number(summary.norm()),
            Column::Nan => display::count(summary.nan),
            Column::Infinite => display::count(summary.infinite),
            _ => display::count(summary.zeros),
        })
    }

    fn scanned_cell(&self, at: usize, row: &Row, column: Column) -> Cell<'_> {
        let known = row.tensor.and_then(|n| self.parameters.known(n));
        if let (Some(Err(error)), Column::Values) = (&known, column) {
            return Cell::failed(error.to_string());
        }
        if column == Column::Values {
            return match known {
                Some(Ok(stats)) => {
                    let bins = stats
                        .distribution
                        .as_ref()
                        .map(|distribution| distribution.bins.iter().map(|count| *count as f32).collect());
                    Cell::default().with(Decoration::Distribution(bins.unwrap_or_default()))
                }
                None if row.tensor.is_some() && self.runs => Cell::pending(),
                _ => Cell::default(),
            };
        }
        match self.scanned(at, column) {
            Some(text) => {
                let is_bad = matches!(column, Column::Nan | Column::Infinite) && text != "0";
                let cell = Cell::new(CellKind::Number, text);
                if is_bad { cell.with(Decoration::Alarm) } else { cell }
            }
            None if self.runs && known.is_none() => Cell::pending(),
            None => Cell::default(),
        }
    }

    fn plain(&self, row: &Row, column: Column) -> Option<String> {
        let tensor = row.tensor.and_then(|n| self.parameters.tensors().get(n));
        match column {
            Column::Tensor => Some(row.name.clone()),
            Column::Dtype => tensor.map(|tensor| tensor.array.dtype().to_string()),
            Column::Shape => tensor.map(|tensor| display::shape(tensor.array.shape())),
            Column::Parameters => Some(display::short_count(row.parameters)),
            Column::Bytes => Some(display::bytes(row.bytes)),
            Column::Share => {
                let share = row.parameters as f64 / self.parameters.total().max(1) as f64;
                Some(format!("{:.2} %", share * 100.0))
            }
            Column::File => tensor.and_then(|tensor| Some(tensor.array.storage()?.0.name().to_owned())),
            Column::Offset => offset(self.parameters, row).map(|offset| format!("{offset:#x}")),
            _ => None,
        }
    }

    fn item(&self, at: usize, row: &Row, column: Column, as_shown: bool) -> CopyValue {
        let text = if column.is_scanned() { self.scanned(at, column) } else { self.plain(row, column) };
        let number = match column {
            Column::Parameters => Some(row.parameters.to_string()),
            Column::Bytes => Some(row.bytes.to_string()),
            Column::Offset => offset(self.parameters, row).map(|offset| offset.to_string()),
            _ => text.clone().map(|text| text.replace(',', "")),
        };
        match column {
            Column::Tensor => CopyValue::new(ValueKind::Text, Some(self.path(row))),
            _ if as_shown || !column.is_number() || column == Column::Share => {
                CopyValue::new(ValueKind::Text, text)
            }
            _ => CopyValue::new(ValueKind::Number, number.filter(|number| !number.is_empty())),
        }
    }

    /// The selected cells as text.
    fn copy(&self, request: &CopyRequest) -> String {
        let as_shown = request.format.is_text();
        let columns: Vec<Column> = request.columns.iter().filter_map(|n| COLUMNS.get(*n).copied()).collect();
        let heads = columns.iter().map(|column| column.word().to_owned()).collect();
        let mut out = CopyWriter::new(request, heads);
        for row in request.rows.clone() {
            let Some((at, row)) = self.row(row) else { break };
            let items: Vec<CopyValue> =
                columns.iter().map(|column| self.item(at, row, *column, as_shown)).collect();
            out.row(&items);
        }
        out.end()
    }
}

impl GridModel for Sheet<'_> {
    fn rows(&self) -> GridRows {
        GridRows::Exact(self.order.len() as u64)
    }

    fn columns(&self) -> usize {
        COLUMNS.len()
    }

    fn column(&self, index: usize) -> ColumnHead<'_> {
        let column = COLUMNS.get(index).copied().unwrap_or(Column::Tensor);
        let sort = self.sort.filter(|(sorted, _)| *sorted == index);
        ColumnHead {
            name: column.word().into(),
            side: if column.is_number() { Side::Right } else { Side::Left },
            width: Some(column.width()),
            sort: sort.map(|(_, descending)| SortMark { descending, rank: 1 }),
            ..ColumnHead::default()
        }
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let (Some((at, row)), Some(column)) = (self.row(row), COLUMNS.get(column).copied()) else {
            return Cell::pending();
        };
        if column.is_scanned() {
            return self.scanned_cell(at, row, column);
        }
        let text = self.plain(row, column).unwrap_or_default();
        match column {
            Column::Tensor => {
                let is_open = self.filtered || self.open.contains(&at);
                let open = row.tensor.is_none().then_some(is_open);
                Cell::new(CellKind::Nested, text).with(Decoration::Level { depth: row.depth, open })
            }
            Column::Share => {
                let share = row.parameters as f64 / self.parameters.total().max(1) as f64;
                Cell::new(CellKind::Number, text).with(Decoration::Share(share as f32))
            }
            column if column.is_number() => Cell::new(CellKind::Number, text),
            _ => Cell::new(CellKind::Nested, text),
        }
    }

    fn want(&mut self, _rows: Range<u64>, _columns: &[usize]) {}

    fn row_label(&self, _row: u64) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn row_head(&self) -> &str {
        ""
    }

    fn empty(&self) -> Cow<'_, str> {
        "No tensor fits".into()
    }

    fn copy_formats(&self) -> &[CopyFormat] {
        CopyFormat::UNNAMED
    }

    fn cell_menu(&mut self, ui: &mut Ui, row: u64, _column: usize) {
        let Some((_, row)) = self.row(row) else { return };
        let (words, number) = (self.path(row), row.tensor);
        let parameters = self.parameters;
        let tensor = number.and_then(|n| parameters.tensors().get(n));
        let target = self.of.zip(tensor).map(|(of, tensor)| target_of(of, tensor));
        let theme = Theme::of(ui);
        ui.label(RichText::new(words).font(theme::mono_small_font()).color(theme.dim));
        ui.separator();
        if let Some(target) = target {
            node_menu::ui(ui, &target, self.actions);
            ui.separator();
        }
        let Some((n, tensor)) = number.zip(tensor) else { return };
        let fits = |reference: &&Reference| reference.array.shape() == tensor.array.shape();
        if let Some(reference) = self.reference.filter(fits) {
            let words = format!("Compare with {}", reference.name);
            if node_menu::item(ui, Icon::Swap, &words) {
                self.compared = Some(Compared::Itself(n));
            }
        }
        if node_menu::item(ui, Icon::Pin, "Compare others with this") {
            self.compared = Some(Compared::With(n));
        }
        ui.separator();
    }
}
