//! The view of an array: a heat map, numbers, an image, lines, a histogram of one slice of it, and the
//! dimension mapper that chooses the slice.
//!
//! - [`mapping`] and [`dims`]: which axes are rows and columns, where the others stand;
//! - [`slice`] and [`values`]: a slice as a plane of elements, read by windows, and what is known of it;
//! - [`layer`], [`pictured`], [`marks`], [`color`]: slices as pictures; [`options`]: their toolbar;
//! - [`numbers`], [`lines`], [`histogram`]: the other modes; [`probe`]: one element.
//!
//! Nothing here reads: slots of [`gander::jobs`] are asked with what is in sight, and what they have is
//! drawn.

pub(super) mod color;
pub(super) mod dims;
pub(super) mod histogram;
mod hunt;
pub(super) mod layer;
mod lines;
pub(super) mod mapping;
mod marks;
mod numbers;
pub(super) mod options;
pub(super) mod pictured;
mod plotting;
mod probe;
pub(super) mod slice;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;

use egui::{Rect, Ui, UiBuilder, pos2};
use gander::content::Array;
use gander::display;
use gander::dtype::DType;
use gander::format::Data;
use serde_json::{Value, json};

use self::color::{Choice, Photo};
use self::dims::Dims;
use self::histogram::Histogram;
use self::hunt::{Ended, Hunt, Prey};
use self::layer::Style;
use self::lines::Lines;
use self::mapping::{Mapping, likely_channels};
use self::numbers::Numbers;
use self::pictured::{Look, Pictured};
use self::slice::{Slice, Sliced};
use self::values::Odd;
use super::{Action, Request, Target, View, ViewCx};
use crate::gui::theme;

/// How an array is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Numbers,
    Heat,
    Image,
    Line,
    Histogram,
}

impl Mode {
    const ALL: [(Mode, &str); 5] = [
        (Mode::Numbers, "Numbers"),
        (Mode::Heat, "Heat map"),
        (Mode::Image, "Image"),
        (Mode::Line, "Line"),
        (Mode::Histogram, "Histogram"),
    ];

    fn word(self) -> &'static str {
        Mode::ALL.iter().find(|(mode, _)| *mode == self).map_or("", |(_, word)| word)
    }

    fn named(word: &str) -> Option<Mode> {
        Mode::ALL.iter().find(|(_, w)| *w == word).map(|(mode, _)| *mode)
    }

    /// What a person most likely wants to see first.
    fn usual(array: &dyn Array) -> Mode {
        let (dtype, shape) = (array.dtype(), array.shape());
        let axes = shape.iter().filter(|&&len| len > 1).count();
        if !values::drawable(dtype) || axes == 0 || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_))
        {
            return Mode::Numbers;
        }
        let picture = likely_channels(shape).is_some() && matches!(dtype, DType::U8 | DType::U16);
        match axes {
            _ if picture => Mode::Image,
            1 => Mode::Line,
            _ => Mode::Heat,
        }
    }
}

/// The view of `array`, the content of `target`.
pub(crate) fn make(target: &Target, array: &Arc<dyn Array>) -> Box<dyn View> {
    Box::new(ArrayView::new(target, array))
}

/// See the module.
struct ArrayView {
    array: Arc<dyn Array>,
    mode: Mode,
    mapping: Mapping,
    dims: Dims,
    choice: Choice,
    photo: Photo,
    heat: Pictured,
    image: Pictured,
    numbers: Numbers,
    lines: Lines,
    histogram: Histogram,
    hunt: Hunt,
    /// Whether the mapping is settled: by the session, or by arrays of this shape seen before.
    settled: bool,
    name: String,
}

impl ArrayView {
    fn new(target: &Target, array: &Arc<dyn Array>) -> Self {
        let shape = array.shape();
        ArrayView {
            array: array.clone(),
            mode: Mode::usual(&**array),
            mapping: Mapping::new(shape),
            dims: Dims::of(&target.node, shape.len()),
            choice: Choice::default(),
            photo: Photo::default(),
            heat: Pictured::default(),
            image: Pictured::default(),
            numbers: Numbers::new(target.title()),
            lines: Lines::default(),
            histogram: Histogram::default(),
            hunt: Hunt::default(),
            settled: false,
            name: target.title().to_owned(),
        }
    }

    fn drawable(&self) -> bool {
        values::drawable(self.array.dtype())
    }

    fn is_image(&self) -> bool {
        self.mode == Mode::Image
    }

    fn slice(&self) -> Slice {
        self.mapping.slice(self.is_image())
    }

    /// Arrays of the same shape are looked at in the same way.
    fn settle(&mut self, cx: &ViewCx<'_>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let shape = self.array.shape();
        let Some(kept) = cx.mappings.get(shape) else { return };
        if let Some(mapping) = Mapping::restore(shape, kept.get("mapping").unwrap_or(&Value::Null)) {
            self.mapping = mapping;
        }
        if !self.drawable() {
            return;
        }
        if let Some(mode) = kept.get("mode").and_then(Value::as_str).and_then(Mode::named) {
            self.mode = mode;
        }
        self.choice = Choice::restore(kept.get("choice").unwrap_or(&Value::Null));
        if let color::Range::Hand(..) = self.choice.range {
            // A range by hand belongs to the array for which it was set.
            self.choice.range = color::Range::MinMax;
        }
    }

    fn share(&self, cx: &mut ViewCx<'_>) {
        let kept = json!({
            "mapping": self.mapping.keep(), "mode": self.mode.word(), "choice": self.choice.keep(),
        });
        if cx.mappings.get(self.array.shape()) != Some(&kept) {
            cx.mappings.set(self.array.shape(), kept);
        }
    }

    /// The right end of the mapper's bar: how coarse, how large.
    fn zoom_bar(&mut self, ui: &mut Ui) {
        let slice = self.mapping.slice(self.mode == Mode::Image);
        let pictured = match self.mode {
            Mode::Heat => &mut self.heat,
            Mode::Image => &mut self.image,
            _ => return,
        };
        options::zoom(ui, pictured, &slice);
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (array, slice) = (self.array.clone(), self.slice());
        let title = self.name.clone();
        let style = match self.mode {
            Mode::Image => Style::Photo(self.photo),
            _ => Style::Heat(self.choice),
        };
        let look = Look { array: &array, slice: &slice, style, title: &title, hidden: 0 };
        match self.mode {
            Mode::Heat => self.heat.ui(ui, cx, &look),
            Mode::Image => self.image.ui(ui, cx, &look),
            Mode::Numbers => self.numbers.ui(ui, cx, &array, &slice),
            Mode::Line => self.lines.ui(ui, cx, &array, &slice, self.choice.part),
            Mode::Histogram => self.histogram.ui(ui, cx, &array, &slice, &mut self.choice),
        }
    }

    /// Whether a playing slider may go on: the picture of this step is there.
    fn ready(&self, slice: &Slice) -> bool {
        match self.mode {
            Mode::Heat => self.heat.shows(slice),
            Mode::Image => self.image.shows(slice),
            _ => true,
        }
    }

    /// Goes to the next NaN or Inf: in this slice, then in the others.
    fn next_odd(&mut self, kind: Odd, forward: bool) {
        let slice = self.mapping.slice(false);
        let more = self.mapping.others(false).iter().any(|&axis| self.mapping.shape()[axis] > 1);
        if !self.heat.next_odd(&slice, self.choice.part, kind, forward, !more) && more {
            let mapping = self.mapping.clone();
            self.hunt.start(Prey { mapping, part: self.choice.part, kind, forward });
        }
    }

    /// Goes where a hunt ended.
    fn end_hunt(&mut self, cx: &mut ViewCx<'_>) {
        let array = self.array.clone();
        match self.hunt.poll(cx.jobs, &array, &self.name) {
            Some(Ended::Found(index)) => _ = self.go_to(&index),
            Some(Ended::Nothing(kind)) => {
                cx.actions.push(Action::Notice(format!("No other slice has a {}.", kind.word())));
            }
            Some(Ended::Failed(error)) if !error.is_cancelled() => {
                cx.actions.push(Action::Notice(format!("The search ended early: {error}")));
            }
            Some(Ended::Failed(_)) | None => {}
        }
    }

    fn go_to(&mut self, index: &[u64]) -> bool {
        let image = self.is_image();
        let Some([row, column]) = self.mapping.reveal(index, image) else { return false };
        self.show_place(row, column);
        true
    }

    fn show_place(&mut self, row: u64, column: u64) {
        let slice = self.slice();
        match self.mode {
            Mode::Heat | Mode::Histogram => {
                self.mode = Mode::Heat;
                self.heat.go_to(row, column);
            }
            Mode::Image => self.image.go_to(row, column),
            Mode::Line => self.lines.go_to(row, column),
            Mode::Numbers => self.numbers.go_to(&slice, row, column),
        }
    }

    /// `17`: a row; `3, 17`: an element of the slice; as many numbers as axes: an element.
    fn go_to_text(&mut self, text: &str) -> bool {
        let text = text.trim().trim_start_matches([':', '[']).trim_end_matches(']');
        let numbers: Option<Vec<u64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
        let (Some(numbers), slice) = (numbers, self.slice()) else { return false };
        if numbers.len() == self.array.shape().len() {
            return self.go_to(&numbers);
        }
        let (row, column) = match numbers[..] {
            [row] => (row, 0),
            [row, column] => (row, column),
            _ => return false,
        };
        let inside = row < slice.height() && column < slice.width();
        if inside {
            self.show_place(row, column);
        }
        inside
    }
}

impl Drop for ArrayView {
    /// A tab that was closed needs nothing read.
    fn drop(&mut self) {
        self.heat.stop();
        self.image.stop();
        self.numbers.stop();
        self.lines.stop();
        self.histogram.stop();
        self.hunt.stop();
    }
}

impl View for ArrayView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.settle(cx);
        options::toolbar(self, ui);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.settle(cx);
        self.end_hunt(cx);
        let (dtype, shape) = (self.array.dtype(), self.array.shape());
        let bytes =
            gander::limits::bytes(shape, 1).unwrap_or(u64::MAX).saturating_mul(dtype.bits()).div_ceil(8);
        cx.status.facts = format!("{} {dtype} · {}", display::shape(shape), display::bytes(bytes));
        let image = self.is_image();
        let mut mapping = self.mapping.clone();
        let mut dims = std::mem::take(&mut self.dims);
        dims.bar(ui, &mut mapping, image, |ui| self.zoom_bar(ui));
        let rest = ui.available_rect_before_wrap();
        let height = Dims::sliders_height(&mapping, image).min(rest.height() / 2.0);
        let split = rest.bottom() - height;
        if height > 0.0 {
            let place = Rect::from_min_max(pos2(rest.left(), split), rest.max);
            let ready = self.ready(&self.slice());
            dims.sliders(ui, place, &mut mapping, image, ready);
        }
        self.dims = dims;
        self.mapping = mapping;
        let place = Rect::from_min_max(rest.min, pos2(rest.right(), split));
        let mut body = ui.new_child(UiBuilder::new().max_rect(place).id_salt(("body", self.mode.word())));
        body.shrink_clip_rect(place);
        body.painter().rect_filled(place, 0.0, theme::Theme::of(&body).bg2);
        self.body(&mut body, cx);
        self.share(cx);
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        self.settle(cx);
        match request {
            Request::GoTo(text) => self.go_to_text(text),
            Request::Element(index) => self.go_to(index),
            Request::ZoomIn | Request::ZoomOut | Request::ZoomFit => match self.mode {
                Mode::Heat => self.heat.request(request),
                Mode::Image => self.image.request(request),
                Mode::Line if *request == Request::ZoomFit => {
                    self.lines.fit();
                    true
                }
                _ => false,
            },
            Request::Find | Request::Column(_) => false,
        }
    }

    fn export(&self) -> Option<(String, Data)> {
        let slice = self.slice();
        let whole = slice.spans.iter().zip(self.array.shape()).all(|(span, &len)| span.count == len);
        if whole {
            return None;
        }
        let words = format!("the slice [{}]", self.mapping.text(self.is_image()));
        let sliced: Arc<dyn Array> = Arc::new(Sliced::new(self.array.clone(), &slice));
        Some((words, Data::Arrays(vec![(self.name.clone(), sliced)])))
    }

    fn keep(&self) -> Value {
        json!({
            "mode": self.mode.word(), "mapping": self.mapping.keep(), "choice": self.choice.keep(),
            "heat": self.heat.keep(), "image": self.image.keep(), "numbers": self.numbers.keep(),
            "lines": self.lines.keep(), "histogram": self.histogram.keep(),
            "photo": { "channel": self.photo.channel, "window": self.photo.window.map(|(a, b)| [a, b]) },
        })
    }

    fn restore(&mut self, kept: &Value) {
        let part = |name: &str| kept.get(name).unwrap_or(&Value::Null);
        if let Some(mapping) = Mapping::restore(self.array.shape(), part("mapping")) {
            self.mapping = mapping;
            self.settled = true;
        }
        if let Some(mode) = part("mode").as_str().and_then(Mode::named)
            && (self.drawable() || mode == Mode::Numbers)
        {
            self.mode = mode;
        }
        self.choice = Choice::restore(part("choice"));
        self.heat.restore(part("heat"));
        self.image.restore(part("image"));
        self.numbers.restore(part("numbers"));
        self.lines.restore(part("lines"));
        self.histogram.restore(part("histogram"));
        let photo = part("photo");
        let end = |n: usize| photo.get("window")?.get(n)?.as_f64().filter(|n| n.is_finite());
        self.photo = Photo {
            opaque: false,
            channel: photo.get("channel").and_then(Value::as_u64).map(|n| n as usize),
            window: end(0).zip(end(1)),
        };
    }
}
