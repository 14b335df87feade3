//! Three planes through an array of three dimensions or more, with one cross-hair: the slice, and the two
//! planes through the cross-hair that hold the depth axis. A drag in one moves the others.

use std::sync::Arc;

use egui::{Align, DragValue, Label, Layout, Rect, Sense, Ui, UiBuilder, pos2, vec2};
use gander::data::axes::{AxisCoordinates, AxisKind, PlaneHeadings};
use gander::data::content::Array;
use gander::data::numbers::{ComplexPart, is_nan};
use gander::data::plane::color::{ColorRange, HeatMapSpec, RenderSpec};
use gander::data::plane::{Mapping, Orientation, Slice};
use gander::data::region::Span;
use serde::{Deserialize, Serialize};

use super::super::{ViewCx, Zoom};
use super::options;
use super::overlays;
use super::probe::{self, Probe};
use super::slice_image::{ShownSlice, SliceImage, SliceImageState};
use super::upright::{Upright, upright_menu, upright_words};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::drop_down;

/// Three planes of a volume that cross in one element.
#[derive(Default)]
pub(crate) struct Volume {
    /// The axis that is neither rows nor columns of the slice.
    depth: Option<usize>,
    panes: [SliceImage; 3],
    /// The plane that had the keys last.
    keyed: usize,
    probe: Probe,
}

/// What is shown.
pub(crate) struct Shown<'a> {
    pub(crate) array: &'a Arc<dyn Array>,
    pub(crate) choice: HeatMapSpec,
    pub(crate) title: &'a str,
    pub(crate) coordinates: &'a AxisCoordinates,
    pub(crate) upright: Upright,
}

/// Whether there are three axes to cut through.
pub(crate) fn fits(shape: &[u64]) -> bool {
    shape.iter().filter(|&&len| len > 1).count() >= 3
}

impl Volume {
    /// The depth axis: the one that was chosen, else the last that could be, first of those through places.
    fn depth(&self, mapping: &Mapping, coordinates: &AxisCoordinates) -> Option<usize> {
        let others = mapping.others(false);
        let long = |axis: &usize| mapping.shape()[*axis] > 1;
        let place =
            |axis: &usize| long(axis) && coordinates.kinds().get(*axis).is_some_and(|kind| kind.is_place());
        let chosen = self.depth.filter(|axis| others.contains(axis));
        let last = |fits: &dyn Fn(&usize) -> bool| others.iter().copied().rfind(|axis| fits(axis));
        chosen.or_else(|| last(&place)).or_else(|| last(&long)).or(others.last().copied())
    }

    /// The planes: rows and columns, rows and depth, depth and columns. Those of a body stand upright: from feet to head
    /// they go up, not across.
    fn planes(
        &self,
        mapping: &Mapping,
        coordinates: &AxisCoordinates,
        upright: Upright,
    ) -> Option<[Slice; 3]> {
        let (rows, columns, depth) = (mapping.rows()?, mapping.columns()?, self.depth(mapping, coordinates)?);
        let shape = mapping.shape();
        let plane = |down: usize, across: usize| {
            let span = |(axis, &len): (usize, &u64)| match axis == down || axis == across || len == 0 {
                true => Span::all(len),
                false => Span::range(mapping.position(axis), 1),
            };
            let spans = shape.iter().enumerate().map(span).collect();
            Slice { spans, rows: Some(down), columns: Some(across), channels: None }
        };
        let kind = |axis: usize| match coordinates.kinds().get(axis) {
            Some(AxisKind::Z) => 2,
            Some(AxisKind::Y) => 1,
            _ => 0,
        };
        let body = coordinates.is_body(shape) && !upright.as_stored;
        let turned = |down: usize, across: usize| match body && kind(across) > kind(down) {
            true => plane(across, down),
            false => plane(down, across),
        };
        Some([plane(rows, columns), turned(rows, depth), turned(depth, columns)])
    }

    /// Which way round its planes are drawn, where one of them tells it.
    pub(crate) fn facing(
        &self,
        mapping: &Mapping,
        coordinates: &AxisCoordinates,
        upright: Upright,
    ) -> PlaneHeadings {
        let planes = self.planes(mapping, coordinates, upright);
        let all = planes.iter().flatten().map(|slice| coordinates.facing(slice));
        all.max_by_key(|facing| (facing.is_sided(), facing.is_known())).unwrap_or_default()
    }

    /// The planes as they are drawn, that which had the keys last first: which axes, the slice, its colours and its turn.
    pub(crate) fn drawn(
        &self,
        mapping: &Mapping,
        coordinates: &AxisCoordinates,
        upright: Upright,
        choice: HeatMapSpec,
    ) -> Vec<(String, Slice, RenderSpec, Orientation)> {
        let Some(planes) = self.planes(mapping, coordinates, upright) else { return Vec::new() };
        let style = RenderSpec::HeatMap(self.common(&planes, choice));
        let name = |axis: Option<usize>| axis.map_or_else(String::new, |axis| coordinates.name(axis));
        let mut drawn: Vec<_> = planes
            .into_iter()
            .zip(&self.panes)
            .map(|(slice, pane)| {
                let words = format!("{} × {}", name(slice.rows), name(slice.columns));
                (words, slice, style, pane.camera.orientation())
            })
            .collect();
        drawn.rotate_left(self.keyed);
        drawn
    }

    /// What the colours are chosen by, of the slice.
    pub(crate) fn first(&self) -> &SliceImage {
        &self.panes[0]
    }

    /// Whether the slice is on the screen.
    pub(crate) fn shows(&self, mapping: &Mapping, coordinates: &AxisCoordinates) -> bool {
        self.planes(mapping, coordinates, Upright::default())
            .is_none_or(|planes| self.panes[0].shows(&planes[0]))
    }

    /// Which axis is the depth.
    pub(crate) fn toolbar(&mut self, ui: &mut Ui, mapping: &Mapping, coordinates: &AxisCoordinates) {
        let Some(depth) = self.depth(mapping, coordinates) else { return };
        let others: Vec<usize> =
            mapping.others(false).into_iter().filter(|&axis| mapping.shape()[axis] > 1).collect();
        if others.len() < 2 {
            return;
        }
        drop_down(ui, &coordinates.name(depth), "Depth", |ui| {
            for axis in others {
                if ui.selectable_label(axis == depth, coordinates.name(axis)).clicked() {
                    self.depth = Some(axis);
                    ui.close();
                }
            }
        });
    }

    /// Draws the planes into all that is left of `ui`, and moves the cross-hair.
    pub(crate) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &Shown<'_>, mapping: &mut Mapping) {
        let (Some(planes), false) =
            (self.planes(mapping, shown.coordinates, shown.upright), mapping.shape().contains(&0))
        else {
            theme::empty_state(ui, Icon::Volume, "No volume", "Three axes with elements are needed.");
            return;
        };
        let common = self.common(&planes, shown.choice);
        let style = RenderSpec::HeatMap(common);
        let outer = ui.available_rect_before_wrap();
        let theme = Theme::of(ui);
        let middle = outer.center().round();
        let quarters = [
            Rect::from_min_max(outer.min, middle),
            Rect::from_min_max(pos2(middle.x, outer.top()), pos2(outer.right(), middle.y)),
            Rect::from_min_max(pos2(outer.left(), middle.y), pos2(middle.x, outer.bottom())),
        ];
        let before = mapping.clone();
        for (n, (slice, quarter)) in planes.iter().zip(quarters).enumerate() {
            let place = |axis: Option<usize>| axis.map_or(0, |axis| before.position(axis));
            let cross = Some([place(slice.columns), place(slice.rows)]);
            let mut child = ui.new_child(UiBuilder::new().max_rect(quarter).id_salt(("plane", n)));
            child.shrink_clip_rect(quarter);
            heading(&mut child, slice, shown.coordinates, &before);
            let (array, title, coordinates) = (shown.array, shown.title, shown.coordinates);
            let (worded, neighbours, upright) = (0..slice.spans.len(), true, shown.upright);
            let shown_slice =
                ShownSlice { array, slice, style, title, worded, coordinates, cross, neighbours, upright };
            self.panes[n].ui(&mut child, cx, &shown_slice);
            if self.panes[n].has_focus(ui) {
                self.keyed = n;
            }
            if let Some([column, row]) = self.panes[n].picked() {
                for (axis, at) in [(slice.columns, column), (slice.rows, row)] {
                    axis.into_iter().for_each(|axis| mapping.set_position(axis, at));
                }
            }
        }
        ui.painter().hline(outer.x_range(), middle.y, theme.hairline());
        ui.painter().vline(middle.x, outer.y_range(), theme.hairline());
        let place = Rect::from_min_max(middle, outer.max).shrink(space::S3);
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("place"));
        child.shrink_clip_rect(place);
        self.place(&mut child, cx, shown, mapping);
        if let Some(summary) = self.panes[0].known(&planes[0], common.part) {
            let unit = shown.coordinates.unit.as_deref().filter(|_| common.part != ComplexPart::Phase);
            overlays::level_bar(&mut child, &common.scale(&summary), unit.unwrap_or(""));
        }
    }

    /// The colours of all three: they cover what is known of any of them.
    fn common(&self, planes: &[Slice; 3], choice: HeatMapSpec) -> HeatMapSpec {
        if matches!(choice.range, ColorRange::Hand(..)) || choice.part == ComplexPart::Phase {
            return choice;
        }
        let known = self.panes.iter().zip(planes).filter_map(|(pane, slice)| pane.known(slice, choice.part));
        let ends = known.filter(|summary| summary.range.is_some()).map(|summary| choice.scale(&summary));
        let all = ends.map(|scale| (scale.low, scale.high)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let range = all.map_or(choice.range, |(low, high)| ColorRange::Hand(low, high));
        HeatMapSpec { range, ..choice }
    }

    /// Where the cross-hair stands, and the value there.
    fn place(&self, ui: &mut Ui, cx: &ViewCx<'_>, shown: &Shown<'_>, mapping: &mut Mapping) {
        let theme = Theme::of(ui);
        ui.spacing_mut().item_spacing.y = 1.0;
        theme::section_head(ui, "Cross-hair", None);
        ui.add_space(space::S1);
        let shape = mapping.shape().to_vec();
        let index: Vec<u64> = (0..shape.len()).map(|axis| mapping.position(axis)).collect();
        for (axis, &len) in shape.iter().enumerate().filter(|(_, len)| **len > 1) {
            let name = shown.coordinates.name(axis);
            let row = vec2(ui.available_width(), size::ROW);
            ui.allocate_ui_with_layout(row, Layout::left_to_right(Align::Center), |ui| {
                let name_room = (ui.available_width() * 0.3).min(90.0);
                let (place, _) = ui.allocate_exact_size(vec2(name_room, size::ROW), Sense::hover());
                let layout = Layout::left_to_right(Align::Center);
                let mut cell = ui.new_child(UiBuilder::new().max_rect(place).layout(layout).id_salt(axis));
                cell.add(Label::new(theme::dim(theme, &name)).truncate());
                let mut at = index[axis];
                let response = ui.add(DragValue::new(&mut at).range(0..=len - 1).speed(0.2));
                response.widget_info(|| {
                    let mut info = egui::WidgetInfo::drag_value(true, at as f64);
                    info.label = Some(format!("Cross-hair along {name}"));
                    info
                });
                mapping.set_position(axis, at);
                let words = shown.coordinates.coordinate_with_unit(axis, at);
                let words = words.map_or(format!("/ {len}"), |words| format!("/ {len}   {words}"));
                ui.add(Label::new(theme::mono(words).color(theme.dim)).truncate());
            });
        }
        ui.add_space(space::S2);
        let dtype = shown.array.dtype();
        let bytes = self.probe.get(cx.jobs, shown.array, &index);
        let value = bytes.map(|bytes| {
            let text = shown.coordinates.value(dtype, &bytes, shown.coordinates.text(dtype, &bytes));
            (text, is_nan(dtype, &bytes))
        });
        let (text, nan) = value.unwrap_or_else(|| ("…".to_owned(), false));
        let words = format!("{}{} =", shown.title, probe::place(&index));
        ui.add(Label::new(theme::dim(theme, words)).truncate());
        let color = if nan { theme.bad } else { theme.text };
        ui.add(Label::new(theme::mono(text).size(size::TEXT_MONO + 4.0).color(color)).truncate());
    }

    /// The right end of the mapper's bar: all in sight, the shape of the cells.
    pub(crate) fn zoom_bar(&mut self, ui: &mut Ui, facing: PlaneHeadings, upright: &mut Upright) {
        if theme::icon_button(ui, Icon::Fit, "All in sight").clicked() {
            self.panes.iter_mut().for_each(|pane| pane.camera.fit = true);
        }
        // One plane of cells that are not square is enough to choose.
        let sides = self.panes.iter().map(|pane| pane.camera.sides).find(|sides| sides[0] != sides[1]);
        let chosen = options::cells_menu(ui, self.panes[0].camera.cells, sides.unwrap_or([1.0; 2]));
        if let Some(cells) = chosen {
            self.panes.iter_mut().for_each(|pane| pane.camera.choose(cells));
        }
        if facing.is_known() {
            upright_menu(ui, facing, upright);
            upright_words(ui, facing, *upright, 0.0);
        }
    }

    /// Zooms the plane that had the keys last, at first the slice.
    pub(crate) fn zoom(&mut self, zoom: Zoom) -> bool {
        if zoom == Zoom::Fit {
            return self.panes.iter_mut().map(|pane| pane.zoom(zoom)).filter(|done| *done).count() > 0;
        }
        self.panes[self.keyed].zoom(zoom)
    }

    /// Whether one of the planes has the keys.
    pub(crate) fn has_focus(&self, ui: &Ui) -> bool {
        self.panes.iter().any(|pane| pane.has_focus(ui))
    }

    /// Stops every job.
    pub(crate) fn stop(&mut self) {
        self.panes.iter_mut().for_each(SliceImage::stop);
    }

    /// Forgets what was read: the array is another one now.
    pub(crate) fn clear(&mut self) {
        self.panes.iter_mut().for_each(SliceImage::clear);
        self.probe = Probe::default();
    }

    /// For the session.
    pub(crate) fn state(&self) -> VolumeState {
        VolumeState { depth: self.depth, planes: self.panes.iter().map(SliceImage::state).collect() }
    }

    /// What [`Volume::state`] gave.
    pub(crate) fn restore(&mut self, state: &VolumeState) {
        self.depth = state.depth;
        self.panes.iter_mut().zip(&state.planes).for_each(|(pane, state)| pane.restore(state));
    }
}

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeState {
    depth: Option<usize>,
    planes: Vec<SliceImageState>,
}

/// Which plane it is: `lat × lon`, and where the third axis stands.
fn heading(ui: &mut Ui, slice: &Slice, coordinates: &AxisCoordinates, mapping: &Mapping) {
    let theme = Theme::of(ui);
    let name = |axis: Option<usize>| axis.map_or(String::new(), |axis| coordinates.name(axis));
    let mut words = format!("{} × {}", name(slice.rows), name(slice.columns));
    let still = |axis: &usize| {
        let shown = [slice.rows, slice.columns].contains(&Some(*axis));
        !shown && mapping.shape()[*axis] > 1
    };
    for axis in (0..mapping.shape().len()).filter(still) {
        let at = mapping.position(axis);
        let stands =
            coordinates.coordinate_with_unit(axis, at).map_or(String::new(), |words| format!(": {words}"));
        words += &format!("   {} = {at}{stands}", coordinates.name(axis));
    }
    let area = ui.available_rect_before_wrap();
    let row = Rect::from_min_size(
        area.min + vec2(space::S3, space::S1),
        vec2(area.width() - 2.0 * space::S3, 18.0),
    );
    let mut child = ui.new_child(UiBuilder::new().max_rect(row).id_salt("head"));
    child.add(Label::new(theme::dim(theme, words)).truncate());
    ui.allocate_rect(Rect::from_min_size(area.min, vec2(area.width(), 22.0)), egui::Sense::hover());
}
