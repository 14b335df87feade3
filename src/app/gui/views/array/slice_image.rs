//! A slice as a picture: the heat map and the image mode. Layers are asked for and drawn here, the
//! pointer is answered, non-finite values are marked; colour bar and numbers are in [`super::overlays`].

use std::ops::Range;
use std::sync::Arc;

use egui::{Rect, Sense, Ui, UiBuilder, Vec2, pos2, vec2};
use gander::bytes::display::brief;
use gander::bytes::error::Error;
use gander::data::axes::AxisCoordinates;
use gander::data::content::Array;
use gander::data::numbers::{ComplexPart, NonFinite, bit_fields, bits, is_nan};
use gander::data::plane::color::{RenderSpec, usual_window};
use gander::data::plane::{Plane, Slice, ValueSummary, Window};
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};

use super::super::{ViewCx, Zoom};
use super::coalescer::Coalescer;
use super::keys::{FRAME_KEYS, FrameCommand};
use super::layer::{Layer, Planes, Wanted};
use super::overlays;
use super::prefetcher::{Next, Prefetcher};
use super::probe::{self, Probe, StoredProbe};
use super::ruler;
use super::strips::{self, Strips};
use super::upright::Upright;
use crate::gui::icons::Icon;
use crate::gui::node_menu;
use crate::gui::theme::{self, Severity, Theme, size, space};
use crate::gui::timings;
use crate::gui::ui::canvas::{self, Camera, Viewport};
use crate::gui::ui::keys;

/// Samples each way of the overview.
const OVERVIEW: u64 = 1024;
/// Slices up to here are looked at whole without being asked, in bytes.
const SUMMARISED: u64 = 64 << 20;
/// The largest element when all is in sight, in points.
const LARGEST_FITTED: f64 = 64.0;

/// A picture with less room has no rulers.
const RULED: Vec2 = vec2(140.0, 116.0);

/// A slice of two axes as a picture that is zoomed and moved, with what stands over it.
#[derive(Default)]
pub(crate) struct SliceImage {
    pub(crate) camera: Camera,
    /// Whether the distance from the framed element to the pointer is shown.
    pub(crate) ruler: bool,
    planes: Planes,
    /// The overview, and what is in sight.
    layers: [Layer; 2],
    ahead: Prefetcher,
    coalescer: Coalescer<Slice>,
    summary: Slot<(Slice, ComplexPart), ValueSummary>,
    /// The slice of which every element is to be looked at, however large it is.
    summary_asked: Option<Slice>,
    probe: Probe,
    stored: StoredProbe,
    strips: Strips,
    /// The framed element: column and row of the plane.
    cursor: Option<[u64; 2]>,
    /// An element to bring into sight.
    go_to: Option<[u64; 2]>,
    last: Option<Viewport>,
    /// Pixels of a point.
    pixels: f32,
    /// What was last known, so that the colour bar stands still while slices change.
    before: Option<Arc<ValueSummary>>,
    /// Where the cross-hair was put in this frame: column and row of the plane.
    picked: Option<[u64; 2]>,
    /// The widget, once it was drawn.
    id: Option<egui::Id>,
    /// Whether it takes the keys in the next frame.
    take_keys: bool,
}

/// What a picture is of.
pub(crate) struct ShownSlice<'a> {
    pub(crate) array: &'a Arc<dyn Array>,
    pub(crate) slice: &'a Slice,
    pub(crate) style: RenderSpec,
    pub(crate) title: &'a str,
    /// The axes that are worth a word: not the frame or channel of an image that has but one.
    pub(crate) worded: Range<usize>,
    /// What indices and values mean.
    pub(crate) coordinates: &'a AxisCoordinates,
    /// Where the cross-hair stands, column and row, if there is one: then a drag moves it.
    pub(crate) cross: Option<[u64; 2]>,
    /// Whether the array holds the slices beside this one too, which are then read ahead.
    pub(crate) neighbours: bool,
    /// Which way round it is drawn.
    pub(crate) upright: Upright,
}

/// What of a slice is there.
struct Got {
    plane: Option<Arc<Plane>>,
    /// The plane that holds what is in sight, one by one.
    whole: Option<Arc<Plane>>,
    drawn: bool,
    error: Option<Error>,
}

impl Got {
    /// The bytes of an element of the slice, where a plane holds them.
    fn element(&self, row: u64, column: u64) -> Option<&[u8]> {
        [&self.whole, &self.plane].into_iter().flatten().find_map(|plane| plane.element(row, column))
    }
}

impl SliceImage {
    /// What is known of every element of the slice, if all were looked at.
    pub(crate) fn summary(&self, slice: &Slice, part: ComplexPart) -> Option<Arc<ValueSummary>> {
        let overview = self.layers[0].of(slice).filter(|plane| plane.summary.exact);
        if let Some(plane) = overview {
            return Some(plane.summary.clone());
        }
        let whole = self.summary.peek(&(slice.clone(), part));
        whole.ready()
    }

    /// Whether the overview of a slice is there as a whole.
    pub(crate) fn has_overview(&self, slice: &Slice) -> bool {
        self.layers[0].has(slice, &slice.coarse(OVERVIEW))
    }

    /// What the colours are chosen by: every element, or else the samples of the overview.
    pub(crate) fn known(&self, slice: &Slice, part: ComplexPart) -> Option<Arc<ValueSummary>> {
        self.summary(slice, part).or_else(|| Some(self.layers[0].of(slice)?.summary.clone()))
    }

    /// How much of the overview of a slice was read, 0 to 1.
    fn share(&self, slice: &Slice) -> f32 {
        self.layers[0].of(slice).map_or(1.0, |plane| plane.share)
    }

    /// Whether something of this slice is on the screen.
    pub(crate) fn shows(&self, slice: &Slice) -> bool {
        slice.is_empty() || self.layers.iter().any(|layer| layer.of(slice).is_some())
    }

    /// Looks at every element of this slice, however large it is.
    pub(crate) fn scan(&mut self, slice: &Slice) {
        self.summary.clear();
        self.summary_asked = Some(slice.clone());
    }

    /// Whether that is being done.
    pub(crate) fn scanning(&self, slice: &Slice) -> bool {
        self.summary_asked.as_ref() == Some(slice)
    }

    /// Stops every job: nobody looks any more.
    pub(crate) fn stop(&mut self) {
        self.layers.iter().for_each(Layer::stop);
        self.summary.cancel();
        self.strips.stop();
        self.ahead.stop();
    }

    /// Forgets what was read: the array is another one now.
    pub(crate) fn clear(&mut self) {
        self.stop();
        self.layers.iter_mut().for_each(Layer::clear);
        self.summary.clear();
        self.strips.clear();
        (self.probe, self.stored) = (Probe::default(), StoredProbe::default());
        (self.before, self.summary_asked) = (None, None);
        self.coalescer = Coalescer::default();
        self.planes = Planes::default();
    }

    /// Where the cross-hair was put in this frame: column and row.
    pub(crate) fn picked(&mut self) -> Option<[u64; 2]> {
        self.picked.take()
    }

    /// The full index of the framed element; of the one in the middle, if none is framed.
    pub(crate) fn framed(&self, slice: &Slice) -> Option<Vec<u64>> {
        let [column, row] = self.cursor.unwrap_or([slice.width() / 2, slice.height() / 2]);
        (column < slice.width() && row < slice.height()).then(|| slice.index(row, column))
    }

    /// The framed element: column and row of the plane.
    pub(crate) fn cursor(&self) -> Option<[u64; 2]> {
        self.cursor
    }

    /// Whether it has the keys.
    pub(crate) fn has_focus(&self, ui: &Ui) -> bool {
        self.id.is_some_and(|id| ui.memory(|memory| memory.has_focus(id)))
    }

    /// Whether a slice is so small that every element is looked at anyway.
    pub(crate) fn unasked(&self, array: &Arc<dyn Array>, slice: &Slice) -> bool {
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        slice.all().elements().saturating_mul(size) <= SUMMARISED
    }

    fn ask_summary(&mut self, cx: &ViewCx<'_>, shown_slice: &ShownSlice<'_>, slice: &Slice) {
        // An overview of every element has told it already.
        if slice.coarse(OVERVIEW) == slice.all() && slice.depth() == 1 {
            return;
        }
        if !self.unasked(shown_slice.array, slice) && !self.scanning(slice) {
            return;
        }
        let (array, slice, part) = (shown_slice.array.clone(), slice.clone(), shown_slice.style.part());
        let title = format!("scanning {}", shown_slice.title);
        let key = (slice.clone(), part);
        let shown = self.summary.get(cx.jobs, &key, JobSpec::scan(title), move |task| {
            ValueSummary::take(&*array, task, &slice, part)
        });
        if shown.error.is_some_and(|error| error.is_cancelled()) {
            // It can be asked for again.
            self.summary_asked = None;
        }
    }

    /// The slice to be made now: the one that is wanted, or the one before it while it comes.
    fn pursue(&mut self, ui: &Ui, wanted: &Slice) -> Slice {
        let alike = |asked: &Slice| (asked.height(), asked.width()) == (wanted.height(), wanted.width());
        let mut coalescer = std::mem::take(&mut self.coalescer);
        let slice = coalescer.next(ui.ctx(), wanted, alike, |asked| self.shows(asked));
        self.coalescer = coalescer;
        slice
    }

    /// Draws the picture into all that is left of `ui`.
    pub(crate) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown_slice: &ShownSlice<'_>) {
        let outer = ui.available_rect_before_wrap();
        ui.painter().rect_filled(outer, 0.0, Theme::of(ui).bg2);
        if shown_slice.slice.is_empty() {
            theme::empty_state(ui, Icon::Array, "No elements", "An axis of this array has the length 0.");
            return;
        }
        let heat = matches!(shown_slice.style, RenderSpec::HeatMap(_));
        let placed = |axis: Option<usize>| axis.is_some_and(|axis| shown_slice.coordinates.is_placed(axis));
        let ruled = heat || placed(shown_slice.slice.rows) || placed(shown_slice.slice.columns);
        // Where rulers would leave nothing of the picture, it has all the room.
        let ruled = ruled && outer.width() >= RULED.x && outer.height() >= RULED.y;
        let mut rect = if ruled { frame(ui, outer, shown_slice, heat) } else { outer.shrink(space::S3) };
        let norms = heat && self.strips.shown && shown_slice.cross.is_none();
        if norms {
            rect = strips::beside(rect);
        }
        let id = ui.scope_id().with("picture");
        self.id = Some(id);
        let response = ui.interact(rect, id, Sense::click_and_drag());
        let plane = [shown_slice.slice.width() as f64, shown_slice.slice.height() as f64];
        let facing = shown_slice.coordinates.facing(shown_slice.slice);
        self.camera.set_base(shown_slice.upright.orientation(facing), plane);
        self.camera.set_sides(shown_slice.coordinates.proportions(shown_slice.slice).unwrap_or([1.0; 2]));
        self.camera.keep_shape(!heat);
        self.aim(rect, plane);
        let sight = self.camera.sight(rect, plane);
        self.camera.input(ui, &response, &sight, shown_slice.cross.is_none());
        self.aim(rect, plane);
        let sight = self.camera.sight(rect, plane);
        self.last = Some(sight);
        self.pixels = ui.pixels_per_point();
        if response.clicked() || response.dragged() || std::mem::take(&mut self.take_keys) {
            response.request_focus();
        }
        if let Some(cross) = shown_slice.cross {
            self.cursor = Some(cross);
        }
        let slice = self.pursue(ui, shown_slice.slice);
        let got = self.draw(ui, cx, shown_slice, &slice, &sight);
        self.ask_summary(cx, shown_slice, &slice);
        self.read_ahead(cx, shown_slice);
        self.answer(ui, cx, shown_slice, &sight, &response, &got);
        describe(ui, &response, shown_slice, self.cursor);
        node_menu::picture(&response, true, cx.actions);
        let beside = if norms { strips::ROOM } else { 0.0 };
        self.furniture(ui, shown_slice, &sight, &got, ruled, outer, beside);
        if let (true, Some(from), Some(pointer)) = (self.ruler, self.cursor, response.hover_pos()) {
            ruler::draw(ui, &sight, &slice, shown_slice.coordinates, from, pointer);
        }
        if norms {
            let wanted = strips::Wanted { array: shown_slice.array, slice: &slice, title: shown_slice.title };
            if let Some(words) = self.strips.ui(ui, cx.jobs, &sight, &wanted) {
                cx.status.under = format!("{}  {words}", shown_slice.title);
            }
        }
        self.say_state(ui, rect, &got);
    }

    /// Fits the picture if it is to be fitted, and goes where it was sent.
    fn aim(&mut self, rect: Rect, plane: [f64; 2]) {
        if self.camera.fit {
            self.camera.fit_into(rect, plane, LARGEST_FITTED);
        }
        if let Some([column, row]) = self.go_to.take() {
            const LARGE: f64 = 10.0;
            let sight = self.camera.sight(rect, plane);
            let visible = sight.visible();
            let seen = visible[0].contains(&column) && visible[1].contains(&row);
            // What is in sight and large enough is framed where it stands.
            if !seen || sight.zoom()[0].min(sight.zoom()[1]) < LARGE {
                self.camera.look_at(plane, column as f64, row as f64, LARGE);
            }
            self.cursor = Some([column, row]);
        }
    }

    /// Asks for the layers and draws what is there.
    fn draw(
        &mut self,
        ui: &Ui,
        cx: &ViewCx<'_>,
        shown_slice: &ShownSlice<'_>,
        slice: &Slice,
        sight: &Viewport,
    ) -> Got {
        let picture = sight.picture();
        match shown_slice.style {
            RenderSpec::Image(photo) if !photo.opaque && (slice.depth() == 2 || slice.depth() == 4) => {
                canvas::checkerboard(ui, picture)
            }
            _ => _ = ui.painter_at(sight.rect).rect_filled(picture, 0.0, Theme::of(ui).bg3),
        }
        let summary = self.summary(slice, shown_slice.style.part());
        let overview = slice.coarse(OVERVIEW);
        let mut windows = [Some(overview), None];
        let [columns, rows] = sight.fine(ui.pixels_per_point());
        if columns.step < overview.columns.step || rows.step < overview.rows.step {
            windows[1] = Some(Window { rows, columns });
        }
        let mut got = Got { plane: None, whole: None, drawn: false, error: None };
        self.draw_old(ui, sight, slice);
        let title = format!("reading {}", shown_slice.title);
        let mut first = true;
        for (layer, window) in self.layers.iter_mut().zip(windows) {
            // What is in sight is not worth a job while nothing of the slice is there.
            let Some(window) = window.filter(|_| std::mem::take(&mut first) || got.drawn) else { continue };
            let key = (slice.clone(), window, shown_slice.style.part());
            let wanted = Wanted {
                array: shown_slice.array,
                title: &title,
                key,
                planes: &self.planes,
                style: &shown_slice.style,
                summary: summary.as_ref(),
            };
            let state = layer.update(ui, cx.jobs, &wanted);
            got.drawn |= layer.draw(ui, sight, slice);
            if got.drawn {
                timings::drawn();
            }
            got.error = got.error.or(state.error);
            if let Some(plane) = state.plane.filter(|plane| plane.slice == *shown_slice.slice) {
                let exact = plane.window.rows.step == 1 && plane.window.columns.step == 1;
                got.whole = exact.then(|| plane.clone()).or(got.whole);
                got.plane = Some(plane);
            }
        }
        if got.drawn {
            self.coalescer.arrived();
        }
        got
    }

    /// Reads the slices that will probably come next, once this one is there.
    fn read_ahead(&mut self, cx: &ViewCx<'_>, shown_slice: &ShownSlice<'_>) {
        if !shown_slice.neighbours {
            return;
        }
        let window = shown_slice.slice.coarse(OVERVIEW);
        let there = self.layers[0].has(shown_slice.slice, &window);
        let next = Next {
            planes: &self.planes,
            array: shown_slice.array,
            slice: shown_slice.slice,
            window,
            part: shown_slice.style.part(),
        };
        self.ahead.follow(cx.jobs, &next, there);
    }

    /// The slice before stays until there is something of the new one, so that a playing slider does
    /// not flicker.
    fn draw_old(&mut self, ui: &Ui, sight: &Viewport, slice: &Slice) {
        let there = self.shows(slice);
        let late = self.coalescer.is_late(ui.ctx(), there);
        if !there {
            self.layers[0].draw_old(ui, sight, late);
        }
    }

    /// Answers the pointer and the keys.
    fn answer(
        &mut self,
        ui: &Ui,
        cx: &mut ViewCx<'_>,
        shown_slice: &ShownSlice<'_>,
        sight: &Viewport,
        response: &egui::Response,
        got: &Got,
    ) {
        let hovered = response.hover_pos().and_then(|at| sight.element(at));
        // Space and Enter are no clicks: they belong to the sliders.
        if response.clicked_by(egui::PointerButton::Primary) {
            self.cursor = hovered;
        }
        if shown_slice.cross.is_some() {
            let at = response.interact_pointer_pos().filter(|_| response.dragged() || response.clicked());
            self.picked = at.and_then(|at| sight.nearest(at)).or(self.picked);
        }
        if response.has_focus() {
            let before = self.cursor;
            self.keys(ui, sight);
            if shown_slice.cross.is_some() && self.cursor != before {
                self.picked = self.cursor;
            }
        }
        let Some([column, row]) = hovered.or(self.cursor) else { return };
        if column >= shown_slice.slice.width() || row >= shown_slice.slice.height() {
            self.cursor = None;
            return;
        }
        // Of several pictures with one cross-hair only the one under the pointer speaks.
        if shown_slice.cross.is_some() && hovered.is_none() {
            return;
        }
        let index = shown_slice.slice.index(row, column);
        let words = match shown_slice.slice.depth() {
            1 => self.value(cx, shown_slice, &index, row, column, got),
            _ => overlays::pixel(got.whole.as_deref(), row, column),
        };
        let shown = match (&shown_slice.slice.channels, shown_slice.slice.depth()) {
            (Some(axis), depth) if depth > 1 => overlays::with_colon(&index, *axis, shown_slice.worded.start),
            _ => probe::place(index.get(shown_slice.worded.clone()).unwrap_or_default()),
        };
        let value = words.as_ref().map_or("…", |(value, _, _)| value.as_str());
        let lines = shown_slice.coordinates.lines(&index);
        let place = if lines.is_empty() { String::new() } else { format!("  ·  {}", lines.join("  ")) };
        let stored = match shown_slice.slice.depth() {
            1 => self.stored_words(cx, shown_slice, &index, row, column, got),
            _ => Vec::new(),
        };
        let first = stored.first().map(|line| format!("  {line}")).unwrap_or_default();
        cx.status.under = format!("{}{shown} = {value}{first}{place}", shown_slice.title);
        if hovered.is_some() && !response.dragged() {
            overlays::tip(response, shown_slice.array.dtype(), &shown, words.as_ref(), &lines, &stored);
        }
    }

    /// The value of an element as text, its bits, and whether it is NaN.
    fn value(
        &self,
        cx: &ViewCx<'_>,
        shown_slice: &ShownSlice<'_>,
        index: &[u64],
        row: u64,
        column: u64,
        got: &Got,
    ) -> Option<(String, String, bool)> {
        let dtype = shown_slice.array.dtype();
        let say = |bytes: &[u8]| {
            let bits = bits(dtype, bytes).unwrap_or_default();
            let text =
                shown_slice.coordinates.value(dtype, bytes, shown_slice.coordinates.text(dtype, bytes));
            (text, bits, is_nan(dtype, bytes))
        };
        let there = got.element(row, column);
        match there {
            Some(bytes) => Some(say(bytes)),
            None => self.probe.get(cx.jobs, shown_slice.array, index).map(|bytes| say(&bytes)),
        }
    }

    /// What is stored for an element, beside its value: sign, exponent and mantissa of small floats; of quantised arrays
    /// bits, level, scale and block.
    fn stored_words(
        &self,
        cx: &ViewCx<'_>,
        shown_slice: &ShownSlice<'_>,
        index: &[u64],
        row: u64,
        column: u64,
        got: &Got,
    ) -> Vec<String> {
        let dtype = shown_slice.array.dtype();
        let there = got.element(row, column);
        let fields = match there {
            Some(bytes) => bit_fields(dtype, bytes),
            // The probe that has its value has its bytes too.
            None if dtype.is_float() && dtype.bits() <= 16 => {
                self.probe.get(cx.jobs, shown_slice.array, index).and_then(|bytes| bit_fields(dtype, &bytes))
            }
            None => None,
        };
        match fields {
            Some(fields) => vec![fields],
            None => self.stored.get(cx.jobs, shown_slice.array, index),
        }
    }

    /// The arrows move the framed element.
    fn keys(&mut self, ui: &Ui, sight: &Viewport) {
        let visible = sight.visible();
        let before = self.cursor;
        for command in keys::pressed(ui, FRAME_KEYS) {
            self.cursor = Some(self.moved(command, sight));
        }
        let Some(to) = self.cursor.filter(|_| self.cursor != before) else { return };
        if !visible[0].contains(&to[0]) || !visible[1].contains(&to[1]) {
            self.camera.look_at(sight.size, to[0] as f64, to[1] as f64, 0.0);
        }
    }

    /// Where a key brings the frame. The first one frames what is in the middle.
    fn moved(&self, command: FrameCommand, sight: &Viewport) -> [u64; 2] {
        let last = [0, 1].map(|n| (sight.size[n] as u64).saturating_sub(1));
        let visible = sight.visible();
        let middle = [0, 1].map(|n: usize| visible[n].start + (visible[n].end - visible[n].start) / 2);
        let at = match (self.cursor, command) {
            (None, FrameCommand::Move(_)) => return [0, 1].map(|n| middle[n].min(last[n])),
            (at, _) => at.unwrap_or(middle),
        };
        let to = match command {
            // As it is seen, whichever way round the plane is drawn.
            FrameCommand::Move(by) => {
                let step = self.camera.orientation().step(by);
                [0, 1].map(|n| at[n].saturating_add_signed(step[n]))
            }
            FrameCommand::RowEnd(end) => [if end { last[0] } else { 0 }, at[1]],
            FrameCommand::End(end) => last.map(|last| if end { last } else { 0 }),
        };
        [0, 1].map(|n| to[n].min(last[n]))
    }

    /// Rulers, marks, colour bar: what stands on and around the picture, with so much room at its right for strips.
    #[allow(clippy::too_many_arguments, reason = "one place draws all that there may be")]
    fn furniture(
        &mut self,
        ui: &Ui,
        shown_slice: &ShownSlice<'_>,
        sight: &Viewport,
        got: &Got,
        ruled: bool,
        outer: Rect,
        beside: f32,
    ) {
        let slice = shown_slice.slice;
        if matches!(shown_slice.style, RenderSpec::Image(_)) {
            overlays::border(ui, sight);
        }
        let known = self.known(slice, shown_slice.style.part());
        if known.is_none()
            && let (RenderSpec::HeatMap(choice), Some(summary)) = (&shown_slice.style, &self.before)
        {
            overlays::color_bar(ui, sight, outer, beside, &choice.scale(summary), summary);
        }
        if let (RenderSpec::HeatMap(choice), Some(summary)) = (&shown_slice.style, known) {
            self.before = Some(summary.clone());
            let scale = choice.scale(&summary);
            overlays::non_finite_places(ui, sight, &summary);
            if let Some(plane) = &got.whole {
                overlays::numbers_in_cells(ui, sight, plane, &scale, choice.part, shown_slice.coordinates);
            }
            overlays::color_bar(ui, sight, outer, beside, &scale, &summary);
            if let Some(unit) =
                shown_slice.coordinates.unit.as_deref().filter(|_| choice.part != ComplexPart::Phase)
            {
                overlays::unit_of_bar(ui, sight, outer, beside, unit);
            }
        }
        if let (RenderSpec::Image(photo), Some(plane)) = (&shown_slice.style, &got.whole) {
            let window = photo.window.unwrap_or_else(|| usual_window(&plane.dtype, &plane.summary));
            overlays::samples_in_cells(ui, sight, plane, window);
        }
        if let Some([column, row]) = shown_slice.cross.filter(|_| got.drawn) {
            overlays::cross_hair(ui, sight, column, row);
        } else if let Some([column, row]) = self.cursor.filter(|_| shown_slice.cross.is_none()) {
            overlays::frame(ui, sight, column, row);
        }
        if ruled {
            let label = |rows: bool, n: u64| ruler_label(shown_slice, rows, n);
            canvas::rulers(ui, sight, outer.left() + space::S1, label);
            overlays::axis_titles(ui, shown_slice, sight, outer, self.camera.orientation());
        }
        let facing = shown_slice.coordinates.facing(slice);
        overlays::edges(ui, sight, facing.letters(self.camera.orientation()));
    }

    /// Says what is awaited and what went wrong.
    fn say_state(&mut self, ui: &mut Ui, rect: Rect, got: &Got) {
        let id = ui.unique_id().with("pending");
        if let Some(error) = got.error.as_ref() {
            if failed(ui, rect, error, got.drawn) {
                self.layers.iter_mut().for_each(Layer::clear);
                self.summary.clear();
            }
        } else if !got.drawn {
            let mut child = ui.new_child(UiBuilder::new().max_rect(rect).id_salt("pending"));
            theme::pending(&mut child, id, "Reading this slice…");
        }
    }

    /// How coarse and how large the picture is: `overview 1:4 · 12 %`.
    pub(crate) fn zoom_words(&self, slice: &Slice) -> String {
        let Some(sight) = &self.last else { return String::new() };
        let zoom = sight.zoom();
        let percent = zoom[0].max(zoom[1]) * f64::from(self.pixels) * 100.0;
        let percent =
            if percent >= 10.0 { format!("{percent:.0} %") } else { format!("{} %", brief(percent)) };
        let overview = slice.coarse(OVERVIEW);
        let fine =
            zoom[0] * (overview.columns.step as f64) > 1.5 || zoom[1] * (overview.rows.step as f64) > 1.5;
        let coarse = overview.columns.step.max(overview.rows.step);
        let share = self.share(slice);
        let coarse = if coarse > 1 && !fine { format!("overview 1:{coarse} · ") } else { String::new() };
        match share < 1.0 {
            true => format!("{coarse}{:.0} % read", share * 100.0),
            false => format!("{coarse}{percent}"),
        }
    }

    /// Goes to the next place of such a value in this slice, in the order of rows. False where there is
    /// none in this direction; with `round` it starts again at the other end.
    pub(crate) fn next_non_finite(
        &mut self,
        slice: &Slice,
        part: ComplexPart,
        kind: NonFinite,
        forward: bool,
        round: bool,
    ) -> bool {
        let Some(summary) = self.summary(slice, part) else { return false };
        let of_kind = summary.places.iter().filter(|place| place.2 == kind);
        let places: Vec<(u64, u64)> = of_kind.map(|place| (place.0, place.1)).collect();
        let from = self.cursor.map(|[column, row]| (row, column));
        let (first, last) = (places.first(), places.last());
        let found = match (from, forward) {
            (None, true) => first,
            (None, false) => last,
            (Some(from), true) => places.iter().find(|place| **place > from).or(first.filter(|_| round)),
            (Some(from), false) => places.iter().rfind(|place| **place < from).or(last.filter(|_| round)),
        };
        if let Some(&(row, column)) = found {
            self.go_to = Some([column, row]);
        }
        found.is_some()
    }

    /// Frames an element and brings it into sight; then the arrows move the frame.
    pub(crate) fn go_to(&mut self, row: u64, column: u64) {
        self.go_to = Some([column, row]);
        self.take_keys = true;
    }

    /// Frames an element where it stands.
    pub(crate) fn mark(&mut self, row: u64, column: u64) {
        self.cursor = Some([column, row]);
    }

    /// Zooms; false where nothing was drawn yet.
    pub(crate) fn zoom(&mut self, zoom: Zoom) -> bool {
        let Some(sight) = self.last else { return false };
        let middle = sight.rect.center();
        match zoom {
            Zoom::In => self.camera.zoom_by(&sight, 1.25, middle),
            Zoom::Out => self.camera.zoom_by(&sight, 0.8, middle),
            Zoom::Fit => self.camera.fit = true,
        }
        true
    }

    /// One element is one pixel of the screen.
    pub(crate) fn life_size(&mut self) {
        self.camera.zoom_to(1.0 / f64::from(self.pixels.max(0.1)));
    }

    /// For the session.
    pub(crate) fn state(&self) -> SliceImageState {
        SliceImageState { camera: self.camera, cursor: self.cursor, norms: self.strips.shown }
    }

    /// What [`SliceImage::state`] gave.
    pub(crate) fn restore(&mut self, state: &SliceImageState) {
        self.camera = state.camera.checked();
        self.cursor = state.cursor;
        self.strips.show(state.norms);
    }

    /// Whether the norms of rows and columns stand beside it.
    pub(crate) fn shows_norms(&self) -> bool {
        self.strips.shown
    }

    /// Shows the norms of rows and columns beside it, or not any more.
    pub(crate) fn show_norms(&mut self, shown: bool) {
        self.strips.show(shown);
    }
}

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SliceImageState {
    camera: Camera,
    cursor: Option<[u64; 2]>,
    norms: bool,
}

/// What stands at a row (or column) of the plane: its coordinate, or its index in the array.
fn ruler_label(shown_slice: &ShownSlice<'_>, rows: bool, n: u64) -> String {
    const MOST: usize = 20;
    const NUMBER: usize = 8;
    let axis = if rows { shown_slice.slice.rows } else { shown_slice.slice.columns };
    let index = shown_slice.slice.along(axis, n);
    match axis.and_then(|axis| shown_slice.coordinates.coordinate(axis, index)) {
        // All digits are under the pointer; here they would take the picture's room.
        Some(text) if text.len() > NUMBER && text.parse::<f64>().is_ok() => text.parse().map_or(text, brief),
        Some(text) if text.chars().count() > MOST => text.chars().take(MOST - 1).chain(['…']).collect(),
        Some(text) => text,
        None => index.to_string(),
    }
}

/// Where the picture may be: rulers stand left of and below it, the colour bar at its right.
fn frame(ui: &Ui, outer: Rect, shown_slice: &ShownSlice<'_>, heat: bool) -> Rect {
    let slice = shown_slice.slice;
    let named = |axis: Option<usize>| axis.is_some_and(|axis| shown_slice.coordinates.is_named(axis));
    let (named, last) = (named(slice.rows) || named(slice.columns), slice.height().saturating_sub(1));
    // The longest of a few labels: they are not all asked for in each frame.
    let labels = [0, last / 2, last].map(|n| ruler_label(shown_slice, true, n).chars().count());
    let left = outer.left() + canvas::ruler_width(ui, labels.into_iter().max().unwrap_or(1)) + space::S2;
    // Of several pictures in the same colours each is too small for a bar of its own.
    let bar = if heat && outer.width() > 300.0 && shown_slice.cross.is_none() {
        overlays::BAR_ROOM
    } else {
        space::S3
    };
    let (above, below) = if named { (22.0, size::ROW + 14.0) } else { (space::S3, size::ROW) };
    let rect = Rect::from_min_max(
        pos2(left, outer.top() + above),
        pos2(outer.right() - bar, outer.bottom() - below),
    );
    // Two points at least, so that nothing divides by zero in a tiny tab.
    Rect::from_min_size(rect.min, rect.size().max(vec2(2.0, 2.0)))
}

/// Says why a slice could not be read; true for *Try again*.
fn failed(ui: &mut Ui, rect: Rect, error: &Error, drawn: bool) -> bool {
    let words = error.to_string();
    if drawn {
        let width = rect.width().min(560.0);
        let place = Rect::from_min_size(rect.min, vec2(width, 80.0));
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("failed"));
        if error.is_cancelled() {
            let lines = [("Not all of it was read.", Some("Run again"))];
            return theme::problem_banner(&mut child, Severity::Info, "Cancelled", &lines).go.is_some();
        }
        let lines = [(words.as_str(), Some("Try again"))];
        return theme::problem_banner(&mut child, Severity::Problem, "A part could not be read", &lines)
            .go
            .is_some();
    }
    let mut child = ui.new_child(UiBuilder::new().max_rect(rect).id_salt("failed"));
    if error.is_cancelled() {
        return theme::cancelled(&mut child, "");
    }
    theme::empty_state(&mut child, Icon::Problem, "This slice could not be read", &words);
    let place =
        Rect::from_center_size(pos2(rect.center().x, rect.center().y + 70.0), vec2(100.0, size::CONTROL));
    let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("again"));
    child.vertical_centered(|ui| theme::button(ui, "Try again").clicked()).inner
}

/// What a screen reader says of the picture.
fn describe(ui: &Ui, response: &egui::Response, shown_slice: &ShownSlice<'_>, cursor: Option<[u64; 2]>) {
    let kind = if matches!(shown_slice.style, RenderSpec::HeatMap(_)) { "Heat map" } else { "Image" };
    let size = format!("{} rows, {} columns", shown_slice.slice.height(), shown_slice.slice.width());
    let at = cursor.map_or(String::new(), |[column, row]| {
        format!(", at {}", probe::place(&shown_slice.slice.index(row, column)))
    });
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Image,
            ui.is_enabled(),
            format!("{kind} of {}: {size}{at}", shown_slice.title),
        )
    });
}
