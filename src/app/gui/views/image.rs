//! The view of an image: its pixels as they are, zoomed, turned, channel by channel, with window and
//! level; frames with a slider; a histogram.
//!
//! A frame is decoded once by a job and then is an array of `frames × height × width × channels` in
//! memory ([`FrameArray`]), so that everything else is the picture of an array. Frames that go through several axes
//! (time, channels, depth) have a slider for each.

mod composite;
mod strip;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use egui::{Key, Rect, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::data::adapt::{Composite, FrameArray, Managed, Overview};
use gander::data::axes::{AxisCoordinates, PlaneHeadings};
use gander::data::content::array::Axis;
use gander::data::content::{Array, Image, ImageInfo};
use gander::data::format::Data;
use gander::data::plane::color::{ColorMap, ColorRange, HeatMapSpec, ImageSpec, RenderSpec};
use gander::data::plane::{Mapping, Orientation, PaintedSlice, Slice};
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::array::dims::{self, Dims};
use super::array::histogram::{Histogram, HistogramState};
use super::array::keys::{self, ArrayCommand};
use super::array::options;
use super::array::slice_image::{ShownSlice, SliceImage, SliceImageState};
use super::array::upright::Upright;
use super::{
    Request, Target, View, ViewCommand, ViewCx, ZOOM_FIT, ZOOM_IN, ZOOM_OUT, Zoom, labels, restored, run,
    saved,
};
use crate::gui::commands::{ALT, Label};
use crate::gui::icons::Icon;
use crate::gui::settings::{ImageStart, Preferences};
use crate::gui::theme::{self, space};
use crate::gui::ui::keys as key_tables;
use composite::Channels;

/// The last axes of a frame: row, column, channel.
const SIDES: usize = 3;

/// What the options that every picture has and the zoom need beside the modes, in points.
const ROOM: f32 = 460.0;

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

/// What a decoded frame is kept under.
#[derive(Clone, Copy, PartialEq)]
struct FrameKey {
    number: u64,
    /// Whether its colours are those of sRGB.
    managed: bool,
    /// Whether it has smaller versions that were made here.
    has_levels: bool,
    /// The composite of channels that it is; zero for none.
    composite: u64,
}

/// The view of an image: its frames, how they are drawn, and its histogram.
struct ImageView {
    image: Arc<dyn Image>,
    name: String,
    mode: Mode,
    /// Over the shape of the frame in sight.
    mapping: Mapping,
    dims: Dims,
    photo: ImageSpec,
    pictured: SliceImage,
    histogram: Histogram,
    frames: Slot<FrameKey, FrameArray>,
    /// Smaller versions of a frame that has none in the file, by its number.
    overview: Slot<u64, Overview>,
    /// The frame that was drawn last, by where it lies in memory: planes of another one with its number are not its.
    drawn: Option<(u64, usize)>,
    /// What the profile is called that colours are converted by, where it changes any.
    profile: Option<String>,
    /// Colours are shown as they are stored, whatever the profile says.
    unmanaged: bool,
    /// Channels that frames go through.
    channels: Channels,
    /// What indices stand for where channels are laid over each other: the one of the frame is not named. `None` where
    /// there are no channels.
    composite_coordinates: Option<AxisCoordinates>,
    /// The colours of one channel, where they are not grey.
    false_colours: Option<ColorMap>,
    /// The frame that was asked for last: the one after it is decoded from where the decoder stands.
    asked: Option<u64>,
    /// Small pictures of a video.
    strip: strip::Strip,
    /// The right way up as the file says it, or as stored.
    upright: Upright,
    /// The pace that the file said last: frames play at it until somebody chooses another.
    pace: Option<f64>,
}

impl ImageView {
    fn new(name: &str, image: &Arc<dyn Image>) -> Self {
        let info = image.info();
        let coordinates = coordinates_of(info, None);
        let shape = FrameArray::shape_of(info, info.height, info.width, info.channels);
        let mut mapping = Mapping::picture(&shape);
        // The middle of a body: its first slice is mostly empty.
        for axis in (0..shape.len() - SIDES).filter(|axis| coordinates.is_space(*axis)) {
            mapping.set_position(axis, shape[axis] / 2);
        }
        ImageView {
            image: image.clone(),
            name: name.to_owned(),
            mode: Mode::Image,
            mapping,
            dims: Dims::new(coordinates),
            photo: ImageSpec { opaque: !info.alpha, window: info.window, ..ImageSpec::default() },
            pictured: SliceImage::default(),
            histogram: Histogram::of_image(),
            frames: Slot::default(),
            overview: Slot::default(),
            drawn: None,
            profile: Managed::named(info),
            unmanaged: false,
            composite_coordinates: Composite::axis(info).map(|axis| coordinates_of(info, Some(axis))),
            channels: Channels::new(info),
            false_colours: None,
            asked: None,
            strip: strip::Strip::default(),
            upright: Upright { asked: asked(info), ..Upright::default() },
            pace: info.frame_times.first().map(|_| dims::RATE),
        }
    }

    /// The number of the frame at which the sliders stand.
    fn number(&self) -> u64 {
        let frames = self.mapping.shape().iter().take(self.mapping.shape().len() - SIDES);
        frames.enumerate().fold(0, |number, (axis, len)| number * len + self.mapping.position(axis))
    }

    /// What the frame in sight is kept under.
    fn key(&self) -> FrameKey {
        let number = self.number();
        let has_levels = self.overview.peek(&number).ready().is_some();
        let managed = self.profile.is_some() && !self.unmanaged;
        FrameKey { number, managed, has_levels, composite: self.composite() }
    }

    /// What the composite is known by that is drawn; zero for a frame alone. A histogram counts what the file holds.
    fn composite(&self) -> u64 {
        if self.mode == Mode::Histogram { 0 } else { self.channels.key() }
    }

    /// Makes smaller versions of a frame that is too large to be gone through for each look at it, once it was seen.
    fn reduce(&self, cx: &ViewCx<'_>) {
        let (number, image) = (self.number(), self.image.clone());
        let (slice, _) = self.style(self.mapping.slice(true));
        if !Overview::is_needed(image.info()) || !self.pictured.has_overview(&slice) {
            return;
        }
        let title = format!("making an overview of {}", self.name);
        let make = move |task: &gander::Task| Overview::new(image, task, number);
        self.overview.get(cx.jobs, &number, JobSpec::once(title), make);
    }

    /// The channel that is shown alone, by its number; `None` where several make colours.
    fn single(&self) -> Option<u64> {
        match (self.sides()[2], self.photo.channel) {
            _ if self.composite() > 0 => None,
            (0 | 1, _) => Some(0),
            (_, chosen) => chosen.map(|channel| channel as u64),
        }
    }

    /// Rows, columns and channels of the frame in sight.
    fn sides(&self) -> [u64; SIDES] {
        self.mapping.shape().last_chunk().copied().unwrap_or_default()
    }

    /// The frames in words: how many, or how many along each axis.
    fn frames_words(&self) -> String {
        let info = self.image.info();
        if info.frame_axes.is_empty() {
            return display::plural(info.frames, "frame");
        }
        let long = self.mapping.others(true).into_iter().filter(|&axis| self.mapping.shape()[axis] > 1);
        let words =
            long.map(|axis| format!("{} × {}", self.mapping.shape()[axis], self.dims.coordinates.name(axis)));
        let mut words: Vec<String> = words.collect();
        words.extend(self.channel_name());
        words.join(" · ")
    }

    /// The keys that step through frames and play them.
    fn frame_keys(&mut self, ui: &Ui) {
        if ui.ctx().text_edit_focused() {
            return;
        }
        let free = self.pictured.has_focus(ui) || ui.memory(|memory| memory.focused().is_none());
        let mut pressed = key_tables::pressed(ui, keys::SLICE_KEYS);
        pressed.extend(key_tables::pressed(ui, keys::PLAY_KEYS).into_iter().filter(|_| free));
        for command in pressed {
            match command {
                ArrayCommand::Step(by) => self.dims.step(&mut self.mapping, true, by),
                ArrayCommand::Play => self.dims.toggle_play(ui, &self.mapping, true),
                ArrayCommand::Transpose | ArrayCommand::NextNan(_) => {}
            }
        }
    }

    /// What the channel is called that is shown alone.
    fn channel_name(&self) -> Option<String> {
        let info = self.image.info();
        let channel = info.frame_channels.get(Composite::channel_of(info, self.number())?)?;
        Some(channel.name.clone()).filter(|name| !name.is_empty() && self.composite() == 0)
    }

    /// Goes to a frame by its number, to a pixel of this frame, or to a pixel by its full index.
    fn go_to(&mut self, numbers: &[u64]) -> bool {
        let (shape, [height, width, _]) = (self.mapping.shape().to_vec(), self.sides());
        let still = shape.len() - SIDES;
        match *numbers {
            [frame] if frame < self.image.info().frames.max(1) => self.mapping = standing(&shape, frame),
            [row, column] if row < height && column < width => self.pictured.go_to(row, column),
            [ref frame @ .., row, column]
                if frame.len() == still && numbers.iter().zip(&shape).all(|(at, len)| at < len) =>
            {
                frame.iter().enumerate().for_each(|(axis, &at)| self.mapping.set_position(axis, at));
                self.pictured.go_to(row, column);
            }
            _ => return false,
        }
        true
    }

    /// Frames stand as long as the file says. Where it says nothing, a tenth of a second, as browsers have it.
    fn keep_pace(&mut self) {
        const USUAL: u32 = 100;
        let Some(pace) = self.pace.filter(|pace| *pace == self.dims.rate()) else {
            self.pace = None;
            return;
        };
        let time = self.image.info().frame_times.get(self.number() as usize).copied().unwrap_or(USUAL);
        let time = if time < 20 { USUAL } else { time };
        let wanted = 1000.0 / f64::from(time);
        if wanted != pace {
            self.dims.set_rate(wanted);
            self.pace = Some(self.dims.rate());
        }
    }

    /// The frame in sight, or the one before it while it is decoded.
    fn frame(&mut self, cx: &ViewCx<'_>) -> Result<Option<Arc<FrameArray>>, gander::bytes::error::Error> {
        let (image, wanted) = (self.image.clone(), self.key());
        let FrameKey { number, managed, composite, .. } = wanted;
        let laid = (composite > 0).then(|| self.channels.maker());
        // It is of one frame, that is of one channel.
        let overview = self.overview.peek(&number).ready().filter(|_| composite == 0);
        let title = format!("decoding {}", self.name);
        // After a jump the key frame is shown until the frame itself is there.
        let follows = self.asked.is_some_and(|asked| asked == number || asked + 1 == number);
        let key = if follows { None } else { key_before(self.image.info(), number) };
        self.asked = Some(number);
        let shown = self.frames.ask(
            cx.jobs,
            &wanted,
            || JobSpec::once(title),
            move |task, partial| {
                let image: Arc<dyn Image> = match overview {
                    Some(overview) => overview,
                    None => image,
                };
                let image: Arc<dyn Image> = match managed {
                    true => Arc::new(Managed::new(image)?),
                    false => image,
                };
                let image = match laid {
                    Some(laid) => laid(image)?,
                    None => image,
                };
                if let Some(key) = key {
                    partial.show(FrameArray::read(image.clone(), task, key)?);
                }
                FrameArray::read(image, task, number)
            },
        );
        if let Some(error) = shown.error {
            return if self.channels.give_up() { Ok(None) } else { Err(error) };
        }
        if let Some(partial) = &shown.partial {
            return Ok(Some(partial.clone()));
        }
        if let Some(frame) = &shown.value
            && shown.fresh
            && self.mapping.shape() != frame.shape()
        {
            // A page of another size than the first.
            self.mapping = standing(frame.shape(), number);
        }
        Ok(shown.value)
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.channels.follow(Composite::channel_of(self.image.info(), self.number()));
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
        let drawn = (frame.number(), Arc::as_ptr(&frame) as usize);
        if self.drawn.is_some_and(|before| before.0 == drawn.0 && before.1 != drawn.1) {
            self.pictured.clear();
            self.histogram.clear();
        }
        self.drawn = Some(drawn);
        self.reduce(cx);
        let slice = standing(frame.shape(), frame.number()).slice(true);
        let (shape, leading) = (frame.shape(), frame.shape().len() - SIDES);
        let first = if shape[..leading].iter().all(|&len| len == 1) { leading } else { 0 };
        let last = if slice.depth() == 1 { shape.len() - 1 } else { shape.len() };
        let title = self.name.clone();
        let array: Arc<dyn Array> = frame;
        match self.mode {
            Mode::Image => {
                let (slice, style) = self.style(slice);
                let together = self.composite_coordinates.as_ref().filter(|_| self.composite() > 0);
                let coordinates = together.unwrap_or(&self.dims.coordinates);
                let (title, cross) = (title.as_str(), None);
                // The array is one frame: it has no other slices.
                let (worded, neighbours) = (first..last, false);
                let look = ShownSlice {
                    array: &array,
                    slice: &slice,
                    style,
                    title,
                    worded,
                    coordinates,
                    cross,
                    neighbours,
                    upright: self.upright,
                };
                self.pictured.ui(ui, cx, &look);
            }
            Mode::Histogram => self.bars(ui, cx, &array, &slice),
        }
    }

    /// What is drawn of a frame, and how: colours, or one channel by a map of false ones.
    fn style(&self, mut slice: Slice) -> (Slice, RenderSpec) {
        let (Some(map), Some(channel)) = (self.false_colours, self.single()) else {
            let photo = match self.composite() {
                0 => self.photo,
                // Its samples are shares of colours already.
                _ => ImageSpec { opaque: true, ..ImageSpec::default() },
            };
            return (slice, RenderSpec::Image(photo));
        };
        if let Some(span) = slice.spans.last_mut() {
            *span = gander::data::region::Span::range(channel.min(span.count.saturating_sub(1)), 1);
        }
        let range = self.photo.window.map_or(ColorRange::MinMax, |(low, high)| ColorRange::Hand(low, high));
        (slice, RenderSpec::HeatMap(HeatMapSpec { map, range, ..HeatMapSpec::default() }))
    }

    /// What all options and the zoom need beside the modes, in points.
    fn room(&self) -> f32 {
        let channels = if self.channels.are_there() {
            90.0 + 120.0 * f32::from(u8::from(self.channels.are_together()))
        } else {
            0.0
        };
        let profile = if self.profile.is_some() { 100.0 } else { 0.0 };
        let upright = if self.upright.asked == Orientation::default() { 0.0 } else { 70.0 };
        let colours = if self.single().is_some() { 90.0 } else { 0.0 };
        ROOM + channels + profile + upright + colours
    }

    /// Channels, window and level, turns.
    fn options(&mut self, ui: &mut Ui) {
        self.channels.toolbar(ui);
        let is_composite = self.composite() > 0;
        let depth = self.sides()[2] as usize;
        if depth > 1 && !is_composite {
            options::channel_menu(ui, &mut self.photo, depth);
        }
        if self.mode == Mode::Histogram {
            self.histogram.toolbar(ui);
            return;
        }
        if self.single().is_some() {
            options::false_colours(ui, &mut self.false_colours);
        }
        if let Some(frame) = self.frames.peek(&self.key()).value.filter(|_| !is_composite) {
            let known = self.pictured.known(&self.mapping.slice(true), Default::default());
            options::window_menu(ui, &mut self.photo, frame.dtype(), known.as_deref(), None);
        }
        if self.upright.asked != Orientation::default() {
            let words = "Turned as the file says, or as its pixels are stored";
            let chosen = !self.upright.as_stored;
            let button = ui.selectable_label(chosen, theme::dim(theme::Theme::of(ui), "Upright"));
            self.upright.as_stored ^= button.on_hover_text(words).clicked();
        }
        let ruler = ui.selectable_label(self.pictured.ruler, theme::dim(theme::Theme::of(ui), "Ruler"));
        let words = "The distance from the pixel that is framed by a click to the one under the pointer";
        self.pictured.ruler ^= ruler.on_hover_text(words).clicked();
        if let Some(profile) = &self.profile {
            let words = format!("Colours converted from {profile} to sRGB, or as its pixels are stored");
            let button =
                ui.selectable_label(!self.unmanaged, theme::dim(theme::Theme::of(ui), "Colour profile"));
            self.unmanaged ^= button.on_hover_text(words).clicked();
        }
        options::turns(ui, &mut self.pictured.camera);
    }

    /// The histogram of the channels that are shown; a drag sets black and white.
    fn bars(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, array: &Arc<dyn Array>, slice: &Slice) {
        let mut slice = slice.clone();
        if let Some(channel) = self.photo.channel
            && let Some(span) = slice.spans.last_mut()
        {
            *span = gander::data::region::Span::range((channel as u64).min(span.count.saturating_sub(1)), 1);
        }
        let range = self.photo.window.map_or(ColorRange::MinMax, |(low, high)| ColorRange::Hand(low, high));
        let mut choice = HeatMapSpec { range, ..HeatMapSpec::default() };
        self.histogram.ui(ui, cx, array, &slice, &mut choice);
        self.photo.window = match choice.range {
            ColorRange::Hand(low, high) => Some((low, high)),
            _ => None,
        };
    }
}

/// The key frame from which another frame of a video is decoded; `None` for a key frame itself, and for pictures.
fn key_before(info: &ImageInfo, frame: u64) -> Option<u64> {
    let keys = &info.video.as_ref()?.keys;
    let after = keys.partition_point(|key| *key <= frame);
    keys.get(after.checked_sub(1)?).copied().filter(|key| *key != frame)
}

/// The turn that the file asks for.
fn asked(info: &ImageInfo) -> Orientation {
    info.orientation.map(Orientation::of_exif).unwrap_or_default()
}

/// What frames, rows and columns stand for; of the axis `nameless` only what it is called.
fn coordinates_of(info: &ImageInfo, nameless: Option<usize>) -> AxisCoordinates {
    let named = |name: &str, axis: &Axis| {
        let name = if axis.name.is_empty() { name.to_owned() } else { axis.name.clone() };
        Axis { name, ..axis.clone() }
    };
    let [rows, columns] = &info.sides;
    let frames = FrameArray::axes(info).into_iter().enumerate().map(|(n, (_, axis))| match nameless {
        Some(at) if at == n => Axis { name: axis.name, ..Axis::default() },
        _ => axis,
    });
    let sides = [named("row", rows), named("column", columns), named("channel", &Axis::default())];
    AxisCoordinates::of_axes(frames.chain(sides).collect())
}

/// The mapping of frames of this shape that stands at the one of this number.
fn standing(shape: &[u64], number: u64) -> Mapping {
    let mut mapping = Mapping::picture(shape);
    let mut rest = number;
    for axis in (0..shape.len() - SIDES).rev() {
        let len = shape[axis].max(1);
        mapping.set_position(axis, rest % len);
        rest /= len;
    }
    mapping
}

const COMMANDS: &[ViewCommand<ImageView>] = &[
    ViewCommand::new(Label::new("Show image", Icon::Image).keys(ALT, Key::Num1), |view, _| {
        view.mode = Mode::Image;
        true
    }),
    ViewCommand::new(Label::new("Show histogram", Icon::Histogram).keys(ALT, Key::Num2), |view, _| {
        view.mode = Mode::Histogram;
        true
    }),
    ViewCommand::new(Label::new("Right way up, or as stored", Icon::FlipVertical), |view, _| {
        view.upright.as_stored ^= true;
        view.upright.asked != Orientation::default()
    }),
    ViewCommand::new(Label::new("Measure distances, or not", Icon::Image), |view, _| {
        view.pictured.ruler ^= true;
        true
    }),
    ViewCommand::new(Label::new("Lay channels over each other, or not", Icon::Image), |view, _| {
        view.channels.choose(!view.channels.are_together());
        view.channels.are_there()
    }),
    ViewCommand::new(Label::new("Apply the colour profile, or not", Icon::Image), |view, _| {
        view.unmanaged ^= true;
        view.profile.is_some()
    }),
    ViewCommand::new(ZOOM_IN, |view, _| view.pictured.zoom(Zoom::In)),
    ViewCommand::new(ZOOM_OUT, |view, _| view.pictured.zoom(Zoom::Out)),
    ViewCommand::new(ZOOM_FIT, |view, _| view.pictured.zoom(Zoom::Fit)),
];

impl View for ImageView {
    fn toolbar(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.x = space::S2;
        theme::segmented(ui, "View", &mut self.mode, &MODES);
        if ui.available_width() < self.room() {
            options::folded(ui, |ui| self.options(ui));
        } else {
            self.options(ui);
        }
        if self.mode == Mode::Image {
            let slice = self.mapping.slice(true);
            options::zoom(ui, &mut self.pictured, &slice, false, PlaneHeadings::default(), &mut self.upright);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.dims.load(cx.jobs);
        let info = self.image.info();
        let frames = if info.frames > 1 { format!(" · {}", self.frames_words()) } else { String::new() };
        let [height, width, _] = self.sides();
        // Where frames go through channels, what each pixel of a frame has is something else.
        let is_each = Composite::channel_of(info, 0).is_some();
        let channels = display::plural(u64::from(info.channels), if is_each { "sample" } else { "channel" });
        cx.status.facts = match &info.video {
            Some(video) => {
                let at = video.times.get(self.number() as usize).copied().unwrap_or(0.0);
                let pace = video.fps.map_or(String::new(), |fps| format!(" · {fps:.2} frames/s"));
                let key = if video.keys.binary_search(&self.number()).is_ok() { " · key frame" } else { "" };
                format!("{width} × {height} · {}{pace}{frames} · {at:.3} s{key}", video.codec)
            }
            None => format!("{width} × {height} · {channels} · {} bits{frames}", info.bits),
        };
        let rest = ui.available_rect_before_wrap();
        let many = info.frames > 1;
        if many && cx.active {
            self.frame_keys(ui);
        }
        let height =
            if many { Dims::sliders_height(&self.mapping, true).min(rest.height() / 2.0) } else { 0.0 };
        let split = rest.bottom() - height;
        if many {
            let place = Rect::from_min_max(pos2(rest.left(), split), rest.max);
            self.dims.sliders(ui, place, &mut self.mapping, true);
        }
        let mut split = split;
        if strip::has_strip(self.image.as_ref()) && rest.height() > strip::HEIGHT * 4.0 {
            split -= strip::HEIGHT + space::S1;
            let place = Rect::from_min_size(pos2(rest.left(), split), vec2(rest.width(), strip::HEIGHT));
            // After the first frame, which is waited for.
            if self.frames.peek(&self.key()).fresh {
                let image = self.image.clone();
                if let Some(frame) = self.strip.ui(ui, place, &image, cx.jobs, self.number()) {
                    self.go_to(&[frame]);
                }
            }
        }
        let place = Rect::from_min_max(rest.min, pos2(rest.right(), split));
        let mut body = ui.new_child(UiBuilder::new().max_rect(place).id_salt("image"));
        body.shrink_clip_rect(place);
        self.body(&mut body, cx);
        if many {
            let there = self.frames.peek(&self.key()).fresh;
            self.keep_pace();
            let ready = there && self.pictured.shows(&self.mapping.slice(true));
            self.dims.play(ui, &mut self.mapping, true, ready);
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn request(&mut self, request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::GoTo(text) => {
                let text = text.trim().trim_start_matches([':', '[']).trim_end_matches(']');
                let numbers: Option<Vec<u64>> =
                    text.split(',').map(|part| part.trim().parse().ok()).collect();
                numbers.is_some_and(|numbers| self.go_to(&numbers))
            }
            _ => false,
        }
    }

    fn is_drawing(&self) -> bool {
        true
    }

    fn pictures(&self) -> Vec<(String, Data)> {
        let Some(frame) = self.frames.peek(&self.key()).value.filter(|_| self.mode == Mode::Image) else {
            return Vec::new();
        };
        let (slice, style) = self.style(standing(frame.shape(), frame.number()).slice(true));
        let picture = PaintedSlice::new(frame, slice, style);
        let picture = picture.seen(self.pictured.camera.orientation());
        vec![("the picture as shown, one pixel an element".to_owned(), Data::Image(Arc::new(picture)))]
    }

    fn save(&self) -> Value {
        saved(&ImageState {
            frame: self.number(),
            picture: self.pictured.state(),
            photo: self.photo,
            histogram: self.histogram.state(),
            bars: self.mode == Mode::Histogram,
            as_stored: self.upright.as_stored,
            unmanaged: self.unmanaged,
            false_colours: self.false_colours,
            together: self.channels.kept(),
        })
    }

    fn prefer(&mut self, preferences: &Preferences) {
        self.mode = match preferences.image {
            ImageStart::Image => Mode::Image,
            ImageStart::Histogram => Mode::Histogram,
        };
    }

    fn restore(&mut self, kept: &Value) {
        let state: ImageState = restored(kept);
        if state.frame < self.image.info().frames {
            self.mapping = standing(self.mapping.shape(), state.frame);
        }
        self.pictured.restore(&state.picture);
        self.histogram.restore(&state.histogram);
        let channels = self.image.info().channels as usize;
        self.photo.channel = state.photo.channel.filter(|channel| *channel < channels);
        self.photo.window = state.photo.window.or(self.image.info().window);
        self.upright.as_stored = state.as_stored;
        self.unmanaged = state.unmanaged;
        self.false_colours = state.false_colours;
        self.channels.restore(state.together);
        self.mode = if state.bars { Mode::Histogram } else { Mode::Image };
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ImageState {
    frame: u64,
    picture: SliceImageState,
    photo: ImageSpec,
    histogram: HistogramState,
    bars: bool,
    as_stored: bool,
    unmanaged: bool,
    false_colours: Option<ColorMap>,
    together: Option<bool>,
}
