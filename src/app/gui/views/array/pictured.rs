//! A slice as a picture: the heat map and the image mode. Layers are asked for and drawn here, the
//! pointer is answered, odd values are marked; colour bar and numbers are in [`super::marks`].

use std::sync::Arc;

use egui::{Key, Rect, Sense, Ui, UiBuilder, pos2, vec2};
use gander::content::Array;
use gander::error::Error;
use gander::jobs::Slot;
use serde_json::{Value, json};

use super::super::canvas::{self, Camera, Sight};
use super::super::{Request, ViewCx};
use super::color::usual_window;
use super::layer::{Layer, Style, Wanted};
use super::marks;
use super::probe::{self, Probe};
use super::slice::{Slice, Window};
use super::values::{Odd, Part, Plane, Survey};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, size, space};

/// Samples each way of the first overview.
const COARSE: u64 = 64;
/// Samples each way of the second one.
const OVERVIEW: u64 = 1024;
/// Slices up to here are looked at whole without being asked, in bytes.
const SURVEYED: u64 = 64 << 20;
/// The largest element when all is in sight, in points.
const LARGEST_FITTED: f64 = 64.0;

/// See the module.
#[derive(Default)]
pub(crate) struct Pictured {
    pub(crate) camera: Camera,
    layers: [Layer; 3],
    survey: Slot<(Slice, Part), Survey>,
    /// The slice of which every element is to be looked at, however large it is.
    survey_asked: Option<Slice>,
    probe: Probe,
    /// The framed element: column and row of the plane.
    cursor: Option<[u64; 2]>,
    /// An element to bring into sight.
    go_to: Option<[u64; 2]>,
    last: Option<Sight>,
    /// Pixels of a point.
    pixels: f32,
    /// Since when nothing of the slice is there, in the time of the frames.
    waiting: Option<f64>,
    /// What was last known, so that the colour bar stands still while slices change.
    before: Option<Arc<Survey>>,
}

/// What a picture is of.
pub(crate) struct Look<'a> {
    pub(crate) array: &'a Arc<dyn Array>,
    pub(crate) slice: &'a Slice,
    pub(crate) style: Style,
    pub(crate) title: &'a str,
    /// Leading axes that are not worth a word: the frame of an image that has but one.
    pub(crate) hidden: usize,
}

/// What of a slice is there.
struct Got {
    plane: Option<Arc<Plane>>,
    /// The plane that holds what is in sight, one by one.
    whole: Option<Arc<Plane>>,
    drawn: bool,
    ready: bool,
    error: Option<Error>,
}

impl Pictured {
    /// What is known of the slice: every element if that was looked at, else the samples of the
    /// finest overview. None while nothing is there.
    pub(crate) fn survey(&self, slice: &Slice, part: Part) -> Option<Arc<Survey>> {
        let whole = self.survey.peek(&(slice.clone(), part));
        whole.value.filter(|_| whole.fresh)
    }

    /// What the colours are chosen by.
    pub(crate) fn known(&self, slice: &Slice, part: Part) -> Option<Arc<Survey>> {
        if let Some(survey) = self.survey(slice, part) {
            return Some(survey);
        }
        let rough = self.layers[1].of(slice).or_else(|| self.layers[0].of(slice))?;
        Some(rough.survey.clone())
    }

    /// Whether something of this slice is on the screen.
    pub(crate) fn shows(&self, slice: &Slice) -> bool {
        slice.is_empty() || self.layers.iter().any(|layer| layer.of(slice).is_some())
    }

    /// Looks at every element of this slice, however large it is.
    pub(crate) fn scan(&mut self, slice: &Slice) {
        self.survey_asked = Some(slice.clone());
    }

    /// Whether that is being done.
    pub(crate) fn scanning(&self, slice: &Slice) -> bool {
        self.survey_asked.as_ref() == Some(slice)
    }

    /// Stops every job: nobody looks any more.
    pub(crate) fn stop(&mut self) {
        self.layers.iter().for_each(Layer::stop);
        self.survey.cancel();
    }

    /// Whether a slice is so small that every element is looked at anyway.
    pub(crate) fn unasked(&self, array: &Arc<dyn Array>, slice: &Slice) -> bool {
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        slice.all().elements().saturating_mul(size) <= SURVEYED
    }

    fn ask_survey(&self, cx: &ViewCx<'_>, look: &Look<'_>) {
        let slice = look.slice;
        if !self.unasked(look.array, slice) && !self.scanning(slice) {
            return;
        }
        let (array, slice, part) = (look.array.clone(), slice.clone(), look.style.part());
        let title = format!("scanning {}", look.title);
        let key = (slice.clone(), part);
        self.survey.get(cx.jobs, &key, &title, move |task| Survey::take(&*array, task, &slice, part));
    }

    /// Draws the picture into all that is left of `ui`.
    pub(crate) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, look: &Look<'_>) {
        let outer = ui.available_rect_before_wrap();
        ui.painter().rect_filled(outer, 0.0, Theme::of(ui).bg2);
        if look.slice.is_empty() {
            theme::empty_state(ui, Icon::Array, "No elements", "An axis of this array has the length 0.");
            return;
        }
        let heat = matches!(look.style, Style::Heat(_));
        let rect = frame(ui, outer, look.slice, heat);
        let id = ui.unique_id().with("picture");
        let response = ui.interact(rect, id, Sense::click_and_drag());
        let plane = [look.slice.width() as f64, look.slice.height() as f64];
        self.aim(rect, plane);
        let sight = self.camera.sight(rect, plane);
        self.camera.input(ui, &response, &sight);
        self.aim(rect, plane);
        let sight = self.camera.sight(rect, plane);
        self.last = Some(sight);
        self.pixels = ui.pixels_per_point();
        if response.clicked() || response.dragged() {
            response.request_focus();
        }
        self.ask_survey(cx, look);
        let got = self.draw(ui, cx, look, &sight);
        self.answer(ui, cx, look, &sight, &response, &got);
        describe(ui, &response, look, self.cursor);
        self.furniture(ui, look, &sight, &got, heat, outer);
        self.say_state(ui, rect, &got);
    }

    /// Fits the picture if it is to be fitted, and goes where it was sent.
    fn aim(&mut self, rect: Rect, plane: [f64; 2]) {
        if self.camera.fit {
            self.camera.fit_into(rect, plane, LARGEST_FITTED);
        }
        if let Some([column, row]) = self.go_to.take() {
            self.camera.look_at(plane, column as f64, row as f64, 10.0);
            self.cursor = Some([column, row]);
        }
    }

    /// Asks for the layers and draws what is there.
    fn draw(&mut self, ui: &Ui, cx: &ViewCx<'_>, look: &Look<'_>, sight: &Sight) -> Got {
        let slice = look.slice;
        let picture = sight.picture();
        match look.style {
            Style::Photo(photo) if !photo.opaque && (slice.depth() == 2 || slice.depth() == 4) => {
                canvas::checkerboard(ui, picture)
            }
            _ => _ = ui.painter_at(sight.rect).rect_filled(picture, 0.0, Theme::of(ui).bg3),
        }
        let survey = self.survey(slice, look.style.part());
        let overview = slice.coarse(OVERVIEW);
        let mut windows = [None, Some(overview), None];
        // A small slice is as fast to read whole.
        if overview.elements() > 4 * COARSE * COARSE {
            windows[0] = Some(slice.coarse(COARSE));
        }
        let [columns, rows] = sight.fine(ui.pixels_per_point());
        if columns.step < overview.columns.step || rows.step < overview.rows.step {
            windows[2] = Some(Window { rows, columns });
        }
        let mut got = Got { plane: None, whole: None, drawn: false, ready: false, error: None };
        self.draw_old(ui, sight, slice);
        let mut wait = false;
        let title = format!("reading {}", look.title);
        for (layer, window) in self.layers.iter_mut().zip(windows) {
            let Some(window) = window.filter(|_| !wait) else { continue };
            let survey = survey.as_deref();
            let (array, style) = (look.array, &look.style);
            let wanted = Wanted { array, title: &title, slice, window, style, survey };
            let state = layer.update(ui, cx.jobs, &wanted);
            got.drawn |= layer.draw(ui, sight, slice);
            got.ready = state.ready;
            got.error = got.error.or(state.error);
            if let Some(plane) = &state.plane {
                let exact = plane.window.rows.step == 1 && plane.window.columns.step == 1;
                got.whole = exact.then(|| plane.clone()).or(got.whole);
            }
            // The fine overview of a slice that nobody stays at is not worth a job.
            wait = !state.ready && !layer.of(slice).is_some();
            got.plane = state.plane.or(got.plane);
        }
        if got.drawn {
            self.waiting = None;
        }
        got
    }

    /// The slice before stays until there is something of the new one, so that a playing slider does
    /// not flicker.
    fn draw_old(&mut self, ui: &Ui, sight: &Sight, slice: &Slice) {
        const PATIENCE: f64 = 0.25;
        if self.shows(slice) {
            self.waiting = None;
            return;
        }
        let now = ui.input(|input| input.time);
        let since = *self.waiting.get_or_insert(now);
        let left = PATIENCE - (now - since);
        self.layers[1].draw_old(ui, sight, left <= 0.0);
        if left > 0.0 {
            ui.ctx().request_repaint_after_secs(left as f32);
        }
    }

    /// Answers the pointer and the keys.
    fn answer(
        &mut self,
        ui: &Ui,
        cx: &mut ViewCx<'_>,
        look: &Look<'_>,
        sight: &Sight,
        response: &egui::Response,
        got: &Got,
    ) {
        let hovered = response.hover_pos().and_then(|at| sight.element(at));
        if response.clicked() {
            self.cursor = hovered;
        }
        if response.has_focus() {
            self.keys(ui, sight);
        }
        let Some([column, row]) = hovered.or(self.cursor) else { return };
        if column >= look.slice.width() || row >= look.slice.height() {
            self.cursor = None;
            return;
        }
        let index = look.slice.index(row, column);
        let words = match look.slice.depth() {
            1 => self.value(cx, look, &index, row, column, got),
            _ => marks::pixel(got.whole.as_deref(), row, column),
        };
        let shown = match (&look.slice.channels, look.slice.depth()) {
            (Some(axis), depth) if depth > 1 => marks::with_colon(&index, *axis, look.hidden),
            _ => probe::place(index.get(look.hidden..).unwrap_or_default()),
        };
        let value = words.as_ref().map_or("…", |(value, _, _)| value.as_str());
        cx.status.under = format!("{}{shown} = {value}", look.title);
        if hovered.is_some() && !response.dragged() {
            marks::tip(response, look.array.dtype(), &shown, words.as_ref());
        }
    }

    /// The value of an element as text, its bits, and whether it is NaN.
    fn value(
        &self,
        cx: &ViewCx<'_>,
        look: &Look<'_>,
        index: &[u64],
        row: u64,
        column: u64,
        got: &Got,
    ) -> Option<(String, String, bool)> {
        let dtype = look.array.dtype();
        let say = |bytes: &[u8]| {
            let bits = probe::bits(dtype, bytes).unwrap_or_default();
            (probe::text(dtype, bytes), bits, probe::is_nan(dtype, bytes))
        };
        let there = [&got.whole, &got.plane].into_iter().flatten().find_map(|p| p.element(row, column));
        match there {
            Some(bytes) => Some(say(bytes)),
            None => self.probe.get(cx.jobs, look.array, index).map(|bytes| say(&bytes)),
        }
    }

    /// The arrows move the framed element.
    fn keys(&mut self, ui: &Ui, sight: &Sight) {
        let Some([column, row]) = self.cursor else { return };
        let (mut x, mut y) = (column as i128, row as i128);
        ui.input(|input| {
            let far = if input.modifiers.shift { 10 } else { 1 };
            x += far
                * (i128::from(input.key_pressed(Key::ArrowRight))
                    - i128::from(input.key_pressed(Key::ArrowLeft)));
            y += far
                * (i128::from(input.key_pressed(Key::ArrowDown))
                    - i128::from(input.key_pressed(Key::ArrowUp)));
        });
        let to = [(x, 0), (y, 1)].map(|(n, axis)| n.clamp(0, sight.size[axis] as i128 - 1) as u64);
        if to == [column, row] {
            return;
        }
        self.cursor = Some(to);
        let visible = sight.visible();
        if !visible[0].contains(&to[0]) || !visible[1].contains(&to[1]) {
            self.camera.look_at(sight.size, to[0] as f64, to[1] as f64, 0.0);
        }
    }

    /// Rulers, marks, colour bar: what stands on and around the picture.
    fn furniture(&mut self, ui: &Ui, look: &Look<'_>, sight: &Sight, got: &Got, heat: bool, outer: Rect) {
        let slice = look.slice;
        let known = self.known(slice, look.style.part());
        if known.is_none()
            && let (Style::Heat(choice), Some(survey)) = (&look.style, &self.before)
        {
            marks::color_bar(ui, sight, outer, &choice.scale(survey), survey);
        }
        if let (Style::Heat(choice), Some(survey)) = (&look.style, known) {
            self.before = Some(survey.clone());
            let scale = choice.scale(&survey);
            marks::odd_places(ui, sight, &survey);
            if let Some(plane) = &got.whole {
                marks::numbers_in_cells(ui, sight, plane, &scale, choice.part);
            }
            marks::color_bar(ui, sight, outer, &scale, &survey);
        }
        if let (Style::Photo(photo), Some(plane)) = (&look.style, &got.whole) {
            let window = photo.window.unwrap_or_else(|| usual_window(&plane.dtype, &plane.survey));
            marks::samples_in_cells(ui, sight, plane, window);
        }
        if let Some([column, row]) = self.cursor {
            marks::frame(ui, sight, column, row);
        }
        if heat {
            let label = |rows: bool, n: u64| slice.along(if rows { slice.rows } else { slice.columns }, n);
            canvas::rulers(ui, sight, outer.left() + space::S1, label);
        }
    }

    /// Says what is awaited and what went wrong.
    fn say_state(&mut self, ui: &mut Ui, rect: Rect, got: &Got) {
        let id = ui.unique_id().with("pending");
        if let Some(error) = got.error.as_ref().filter(|error| !error.is_cancelled()) {
            if failed(ui, rect, error, got.drawn) {
                self.layers.iter_mut().for_each(Layer::clear);
                self.survey.clear();
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
        let percent = if percent >= 10.0 {
            format!("{percent:.0} %")
        } else {
            format!("{} %", super::color::brief(percent))
        };
        let overview = slice.coarse(OVERVIEW);
        let fine =
            zoom[0] * (overview.columns.step as f64) > 1.5 || zoom[1] * (overview.rows.step as f64) > 1.5;
        let coarse = overview.columns.step.max(overview.rows.step);
        if coarse > 1 && !fine { format!("overview 1:{coarse} · {percent}") } else { percent }
    }

    /// Goes to the next place of such a value in this slice, in the order of rows. False where there is
    /// none in this direction; with `round` it starts again at the other end.
    pub(crate) fn next_odd(
        &mut self,
        slice: &Slice,
        part: Part,
        kind: Odd,
        forward: bool,
        round: bool,
    ) -> bool {
        let Some(survey) = self.survey(slice, part) else { return false };
        let of_kind = survey.places.iter().filter(|place| place.2 == kind);
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

    /// Frames an element and brings it into sight.
    pub(crate) fn go_to(&mut self, row: u64, column: u64) {
        self.go_to = Some([column, row]);
    }

    /// Zooms.
    pub(crate) fn request(&mut self, request: &Request) -> bool {
        let Some(sight) = self.last else { return false };
        let middle = sight.rect.center();
        match request {
            Request::ZoomIn => self.camera.zoom_by(&sight, 1.25, middle),
            Request::ZoomOut => self.camera.zoom_by(&sight, 0.8, middle),
            Request::ZoomFit => self.camera.fit = true,
            _ => return false,
        }
        true
    }

    /// One element is one pixel of the screen.
    pub(crate) fn life_size(&mut self) {
        self.camera.zoom_to(1.0 / f64::from(self.pixels.max(0.1)));
    }

    /// For the session.
    pub(crate) fn keep(&self) -> Value {
        json!({ "camera": self.camera.keep(), "cursor": self.cursor })
    }

    /// What [`Pictured::keep`] gave.
    pub(crate) fn restore(&mut self, kept: &Value) {
        self.camera = Camera::restore(kept.get("camera").unwrap_or(&Value::Null));
        let at = |n: usize| kept.get("cursor")?.get(n)?.as_u64();
        self.cursor = at(0).zip(at(1)).map(|(column, row)| [column, row]);
    }
}

/// Where the picture may be: rulers stand left of and below it, the colour bar at its right.
fn frame(ui: &Ui, outer: Rect, slice: &Slice, heat: bool) -> Rect {
    if !heat {
        return outer.shrink(space::S3);
    }
    let last = slice.along(slice.rows, slice.height().saturating_sub(1));
    let left = outer.left() + canvas::ruler_width(ui, last) + space::S2;
    let bar = if outer.width() > 300.0 { marks::BAR_ROOM } else { space::S3 };
    let rect = Rect::from_min_max(
        pos2(left, outer.top() + space::S3),
        pos2(outer.right() - bar, outer.bottom() - size::ROW),
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
        let lines = [(words.as_str(), Some("Try again"))];
        return theme::problem_banner(&mut child, Severity::Problem, "A part could not be read", &lines)
            .go
            .is_some();
    }
    let mut child = ui.new_child(UiBuilder::new().max_rect(rect).id_salt("failed"));
    theme::empty_state(&mut child, Icon::Problem, "This slice could not be read", &words);
    let place =
        Rect::from_center_size(pos2(rect.center().x, rect.center().y + 70.0), vec2(100.0, size::CONTROL));
    let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("again"));
    child.vertical_centered(|ui| theme::button(ui, "Try again").clicked()).inner
}

/// What a screen reader says of the picture.
fn describe(ui: &Ui, response: &egui::Response, look: &Look<'_>, cursor: Option<[u64; 2]>) {
    let kind = if matches!(look.style, Style::Heat(_)) { "Heat map" } else { "Image" };
    let size = format!("{} rows, {} columns", look.slice.height(), look.slice.width());
    let at = cursor.map_or(String::new(), |[column, row]| {
        format!(", at {}", probe::place(&look.slice.index(row, column)))
    });
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Image,
            ui.is_enabled(),
            format!("{kind} of {}: {size}{at}", look.title),
        )
    });
}
