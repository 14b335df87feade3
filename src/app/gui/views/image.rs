//! The view of an image: its pixels as they are, zoomed, turned, channel by channel, with window and
//! level; frames with a slider; a histogram.
//!
//! A frame is decoded once by a job and then is an array of `frames × height × width × channels` in
//! memory ([`frame`]), so that everything else is the picture of an array.

mod frame;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use egui::{Rect, Ui, UiBuilder, pos2};
use gander::content::{Array, Image};
use gander::display;
use gander::jobs::Slot;
use serde_json::{Value, json};

use self::frame::Frame;
use super::array::color::{Choice, Photo, Range};
use super::array::dims::Dims;
use super::array::histogram::Histogram;
use super::array::layer::Style;
use super::array::mapping::Mapping;
use super::array::meaning::Meaning;
use super::array::options;
use super::array::pictured::{Look, Pictured};
use super::array::slice::Slice;
use super::{Request, Target, View, ViewCx};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, space};

/// The axis of the channels; before it come frame, row and column.
const CHANNELS: usize = 3;

/// What the options and the zoom need beside the modes, in points.
const ROOM: f32 = 400.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Image,
    Histogram,
}

const MODES: [(Mode, &str); 2] = [(Mode::Image, "Image"), (Mode::Histogram, "Histogram")];

/// The view of `image`, the content of `target`.
pub(crate) fn make(target: &Target, image: &Arc<dyn Image>) -> Box<dyn View> {
    Box::new(ImageView::new(target.title(), image))
}

/// See the module.
struct ImageView {
    image: Arc<dyn Image>,
    name: String,
    mode: Mode,
    /// Over the shape of the frame in sight.
    mapping: Mapping,
    dims: Dims,
    photo: Photo,
    pictured: Pictured,
    histogram: Histogram,
    frames: Slot<u64, Frame>,
}

impl ImageView {
    fn new(name: &str, image: &Arc<dyn Image>) -> Self {
        let info = image.info();
        let shape = [info.frames.max(1), info.height, info.width, u64::from(info.channels.max(1))];
        let meaning = Meaning::named(["frame", "row", "column", "channel"].map(str::to_owned));
        ImageView {
            image: image.clone(),
            name: name.to_owned(),
            mode: Mode::Image,
            mapping: Mapping::picture(&shape),
            dims: Dims::new(meaning),
            photo: Photo { opaque: !info.alpha, ..Photo::default() },
            pictured: Pictured::default(),
            histogram: Histogram::of_image(),
            frames: Slot::default(),
        }
    }

    fn number(&self) -> u64 {
        self.mapping.position(0)
    }

    /// The frame in sight, or the one before it while it is decoded.
    fn frame(&mut self, cx: &ViewCx<'_>) -> Result<Option<Arc<Frame>>, gander::error::Error> {
        let (image, number) = (self.image.clone(), self.number());
        let title = format!("decoding {}", self.name);
        let shown = self.frames.get(cx.jobs, &number, &title, move |task| Frame::read(image, task, number));
        if let Some(error) = shown.error {
            return Err(error);
        }
        if let Some(frame) = &shown.value
            && shown.fresh
            && self.mapping.shape() != frame.shape()
        {
            // A page of another size than the first.
            self.mapping = Mapping::picture(frame.shape());
            self.mapping.set_position(0, number);
        }
        Ok(shown.value)
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let frame = match self.frame(cx) {
            Ok(frame) => frame,
            Err(error) => {
                let title = if error.is_cancelled() {
                    "The decoding was stopped"
                } else {
                    "This image could not be decoded"
                };
                theme::empty_state(ui, Icon::Problem, title, &error.to_string());
                ui.vertical_centered(|ui| {
                    if theme::button(ui, "Try again").clicked() {
                        self.frames.clear();
                    }
                });
                return;
            }
        };
        let Some(frame) = frame else {
            let id = ui.unique_id().with("pending");
            theme::pending(ui, id, "Decoding the image…");
            return;
        };
        let mut mapping = Mapping::picture(frame.shape());
        mapping.set_position(0, frame.number());
        let slice = mapping.slice(true);
        let hidden = usize::from(frame.shape()[0] == 1);
        let title = self.name.clone();
        let array: Arc<dyn Array> = frame;
        match self.mode {
            Mode::Image => {
                let style = Style::Photo(self.photo);
                let meaning = &Meaning::default();
                let (title, cross) = (title.as_str(), None);
                // The array is one frame: it has no other slices.
                let neighbours = false;
                let look =
                    Look { array: &array, slice: &slice, style, title, hidden, meaning, cross, neighbours };
                self.pictured.ui(ui, cx, &look);
            }
            Mode::Histogram => self.bars(ui, cx, &array, &slice),
        }
    }

    /// Channels, window and level, turns.
    fn options(&mut self, ui: &mut Ui) {
        let depth = self.mapping.shape().get(CHANNELS).copied().unwrap_or(1) as usize;
        if depth > 1 {
            options::channel_menu(ui, &mut self.photo, depth);
        }
        if self.mode == Mode::Histogram {
            self.histogram.toolbar(ui);
            return;
        }
        if let Some(frame) = self.frames.peek(&self.number()).value {
            let known = self.pictured.known(&self.mapping.slice(true), Default::default());
            options::window_menu(ui, &mut self.photo, frame.dtype(), known.as_deref());
        }
        options::turns(ui, &mut self.pictured.camera);
    }

    /// The histogram of the channels that are shown; a drag sets black and white.
    fn bars(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, array: &Arc<dyn Array>, slice: &Slice) {
        let mut slice = slice.clone();
        if let Some(channel) = self.photo.channel
            && let Some(span) = slice.spans.get_mut(CHANNELS)
        {
            *span = gander::region::Span::range((channel as u64).min(span.count.saturating_sub(1)), 1);
        }
        let range = self.photo.window.map_or(Range::MinMax, |(low, high)| Range::Hand(low, high));
        let mut choice = Choice { range, ..Choice::default() };
        self.histogram.ui(ui, cx, array, &slice, &mut choice);
        self.photo.window = match choice.range {
            Range::Hand(low, high) => Some((low, high)),
            _ => None,
        };
    }
}

impl Drop for ImageView {
    /// A tab that was closed needs nothing decoded.
    fn drop(&mut self) {
        self.frames.cancel();
        self.pictured.stop();
        self.histogram.stop();
    }
}

impl View for ImageView {
    fn toolbar(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.x = space::S2;
        theme::segmented(ui, "View", &mut self.mode, &MODES);
        if ui.available_width() < ROOM {
            options::folded(ui, |ui| self.options(ui));
        } else {
            self.options(ui);
        }
        if self.mode == Mode::Image {
            options::zoom(ui, &mut self.pictured, &self.mapping.slice(true), false);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let info = self.image.info();
        let frames = if info.frames > 1 {
            format!(" · {}", display::plural(info.frames, "frame"))
        } else {
            String::new()
        };
        let (width, height) = (self.mapping.shape()[2], self.mapping.shape()[1]);
        let channels = display::plural(u64::from(info.channels), "channel");
        cx.status.facts = format!("{width} × {height} · {channels} · {} bits{frames}", info.bits);
        let rest = ui.available_rect_before_wrap();
        let many = info.frames > 1;
        let height =
            if many { Dims::sliders_height(&self.mapping, true).min(rest.height() / 2.0) } else { 0.0 };
        let split = rest.bottom() - height;
        if many {
            let place = Rect::from_min_max(pos2(rest.left(), split), rest.max);
            let ready =
                self.frames.peek(&self.number()).fresh && self.pictured.shows(&self.mapping.slice(true));
            self.dims.sliders(ui, place, &mut self.mapping, true, ready);
        }
        let place = Rect::from_min_max(rest.min, pos2(rest.right(), split));
        let mut body = ui.new_child(UiBuilder::new().max_rect(place).id_salt("image"));
        body.shrink_clip_rect(place);
        self.body(&mut body, cx);
    }

    fn request(&mut self, request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::ZoomIn | Request::ZoomOut | Request::ZoomFit => self.pictured.request(request),
            Request::GoTo(text) => {
                let text = text.trim().trim_start_matches([':', '[']).trim_end_matches(']');
                let numbers: Option<Vec<u64>> =
                    text.split(',').map(|part| part.trim().parse().ok()).collect();
                let shape = self.mapping.shape();
                match numbers.as_deref() {
                    Some(&[frame]) if frame < shape[0] => self.mapping.set_position(0, frame),
                    Some(&[row, column]) if row < shape[1] && column < shape[2] => {
                        self.pictured.go_to(row, column)
                    }
                    _ => return false,
                }
                true
            }
            _ => false,
        }
    }

    fn keep(&self) -> Value {
        json!({
            "frame": self.number(), "picture": self.pictured.keep(), "channel": self.photo.channel,
            "window": self.photo.window.map(|(low, high)| [low, high]),
            "histogram": self.histogram.keep(), "bars": self.mode == Mode::Histogram,
        })
    }

    fn restore(&mut self, kept: &Value) {
        let part = |name: &str| kept.get(name).unwrap_or(&Value::Null);
        self.mapping.set_position(0, part("frame").as_u64().unwrap_or(0));
        self.pictured.restore(part("picture"));
        self.histogram.restore(part("histogram"));
        let channels = u64::from(self.image.info().channels);
        self.photo.channel = part("channel").as_u64().filter(|&n| n < channels).map(|n| n as usize);
        let end = |n: usize| part("window").get(n).and_then(Value::as_f64).filter(|n| n.is_finite());
        self.photo.window = end(0).zip(end(1));
        self.mode = if part("bars") == &Value::Bool(true) { Mode::Histogram } else { Mode::Image };
    }
}
