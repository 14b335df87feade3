//! The view of an array: a heat map, numbers, an image, lines, a histogram of one slice of it, and the
//! dimension mapper that chooses the slice.
//!
//! What of it is the library's: the slice and its windows, summaries, lines and search ([`gander::data::plane`]), what
//! indices stand for ([`gander::data::axes`]), fields and scaled values ([`gander::data::adapt`]). In here:
//! - [`dims`]: the dimension mapper; [`field_view`]: which field, stored or scaled; [`prefetcher`]: slices that will come
//!   next; [`coalescer`]: those before the newest; [`search`]: the way to the next NaN;
//! - [`layer`], [`slice_image`], [`overlays`], [`strips`]: slices as pictures; [`options`]: their toolbar;
//! - [`numbers`] with [`blocks`] and [`texts`], [`lines`], [`histogram`], [`volume`]: the other modes; [`probe`]: one
//!   element.
//!
//! Nothing here reads: slots of [`gander::jobs`] are asked with what is in sight, and what they have is
//! drawn.

mod blocks;
mod coalescer;
mod cursor;
pub(super) mod dims;
mod field_view;
pub(super) mod histogram;
pub(crate) mod keys;
pub(super) mod layer;
pub(super) mod lines;
mod link;
mod loader;
mod numbers;
pub(super) mod options;
mod overlays;
pub(crate) mod plotting;
mod prefetcher;
mod probe;
mod ruler;
mod search;
pub(super) mod slice_image;
mod strips;
#[cfg(test)]
mod tests;
mod texts;
pub(super) mod upright;
mod volume;
mod whole;

use std::sync::Arc;

use egui::{Key, Rect, Ui, UiBuilder, pos2};
use gander::bytes::display;
use gander::convert::Selection;
use gander::data::axes::AxisCoordinates;
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::format::Data;
use gander::data::numbers::{ComplexPart, NonFinite, has_numbers};
use gander::data::plane::color::{ColorMap, ColorRange, HeatMapSpec, ImageSpec, RenderSpec};
use gander::data::plane::{Mapping, PaintedSlice, Role, Slice};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::dims::Dims;
use self::field_view::{FieldState, FieldView};
use self::histogram::{Histogram, HistogramState};
use self::keys::ArrayCommand;
use self::lines::{Lines, LinesState};
pub(crate) use self::link::Linked;
use self::numbers::{Numbers, NumbersState};
use self::search::Search;
use self::slice_image::{ShownSlice, SliceImage, SliceImageState};
use self::upright::Upright;
use self::volume::{Volume, VolumeState};
use self::whole::WholeRange;
use super::{
    Request, Target, View, ViewCommand, ViewCx, ZOOM_FIT, ZOOM_IN, ZOOM_OUT, Zoom, labels, restored, run,
    saved,
};
use crate::gui::commands::{ALT, Label};
use crate::gui::icons::Icon;
use crate::gui::settings::{ArrayStart, Preferences};
use crate::gui::target::{Repeat, StoredValue};
use crate::gui::theme;
use crate::gui::ui::keys as key_tables;

/// How an array is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Numbers,
    Heat,
    Image,
    Line,
    Histogram,
    Volume,
}

/// How arrays of a shape are looked at, whichever they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlaneSettings {
    pub(crate) mapping: Mapping,
    pub(crate) mode: Mode,
    /// The colours, where somebody chose them.
    pub(crate) choice: Option<HeatMapSpec>,
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ArrayState {
    mode: Option<Mode>,
    mapping: Option<Mapping>,
    choice: HeatMapSpec,
    heat: SliceImageState,
    image: SliceImageState,
    numbers: NumbersState,
    lines: LinesState,
    histogram: HistogramState,
    volume: VolumeState,
    crossed: bool,
    field: FieldState,
    rate: Option<f64>,
    photo: ImageSpec,
    upright: Upright,
}

impl Mode {
    const ALL: [(Mode, &str); 6] = [
        (Mode::Numbers, "Numbers"),
        (Mode::Heat, "Heat map"),
        (Mode::Image, "Image"),
        (Mode::Line, "Line"),
        (Mode::Histogram, "Histogram"),
        (Mode::Volume, "Volume"),
    ];

    fn word(self) -> &'static str {
        Mode::ALL.iter().find(|(mode, _)| *mode == self).map_or("", |(_, word)| word)
    }

    /// What a person most likely wants to see first.
    fn usual(array: &dyn Array, mapping: &Mapping, coordinates: &AxisCoordinates) -> Mode {
        let (dtype, shape) = (array.dtype(), array.shape());
        let axes = shape.iter().filter(|&&len| len > 1).count();
        if !has_numbers(dtype) || axes == 0 || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_)) {
            return Mode::Numbers;
        }
        let picture = mapping.channels().is_some() && matches!(dtype, DType::U8 | DType::U16);
        match axes {
            _ if picture => Mode::Image,
            _ if coordinates.is_body(shape) => Mode::Volume,
            1 => Mode::Line,
            _ => Mode::Heat,
        }
    }
}

/// The view of `array`, the content of `target`.
pub(crate) fn make(target: &Target, array: &Arc<dyn Array>) -> Box<dyn View> {
    Box::new(ArrayView::new(target, array))
}

/// The view of an array in one of several modes, and the slice that all of them show.
struct ArrayView {
    /// What is seen: the array, a field of it, its scaled values.
    array: Arc<dyn Array>,
    field_view: FieldView,
    mode: Mode,
    mapping: Mapping,
    dims: Dims,
    choice: HeatMapSpec,
    /// The colours that nobody chose.
    first: HeatMapSpec,
    /// The black and white that the file asks for, of the values that are seen.
    window: Option<(f64, f64)>,
    /// The colours that heat maps begin with, and those with zero in the middle.
    maps: (ColorMap, ColorMap),
    photo: ImageSpec,
    heat: SliceImage,
    image: SliceImage,
    numbers: Numbers,
    lines: Lines,
    histogram: Histogram,
    volume: Volume,
    /// Whether the cross-hair of the volume stands somewhere.
    crossed: bool,
    search: Search,
    /// The framed element, whichever mode frames it, and the mode that it was framed in.
    cursor: Option<Vec<u64>>,
    framed_in: Mode,
    /// Whether it goes with other views, and what they last had in common.
    is_linked: bool,
    link_seen: Option<Linked>,
    whole: WholeRange,
    /// Whether the mapping is settled: by the session, or by arrays of this shape seen before.
    settled: bool,
    name: String,
    /// Which way round planes are drawn.
    upright: Upright,
    /// What an earlier session said of radiologists, until it is told to the others.
    radiological: Option<bool>,
}

/// The first mapping of an array: the plane that its axes suggest, at the beginning of what goes by time or number,
/// in the middle of a body in space, whose first slice is mostly empty.
fn first_look(shape: &[u64], coordinates: &AxisCoordinates) -> Mapping {
    let mut mapping = Mapping::meant(shape, coordinates.kinds());
    for axis in mapping.others(false).into_iter().filter(|axis| coordinates.is_space(*axis)) {
        mapping.set_position(axis, shape[axis] / 2);
    }
    mapping
}

impl ArrayView {
    fn new(target: &Target, array: &Arc<dyn Array>) -> Self {
        let field_view = FieldView::new(array, &target.node);
        let array = field_view.array();
        let coordinates = field_view.coordinates(&*array);
        let mapping = first_look(array.shape(), &coordinates);
        let mut view = ArrayView {
            mode: Mode::usual(&*array, &mapping, &coordinates),
            mapping,
            dims: Dims::new(coordinates),
            choice: HeatMapSpec::default(),
            first: HeatMapSpec::default(),
            window: field_view::window(&*array),
            maps: (ColorMap::default(), ColorMap::default()),
            photo: ImageSpec::default(),
            heat: SliceImage::default(),
            image: SliceImage::default(),
            numbers: Numbers::new(target.title()),
            lines: Lines::default(),
            histogram: Histogram::default(),
            volume: Volume::default(),
            crossed: false,
            search: Search::default(),
            cursor: None,
            framed_in: Mode::default(),
            is_linked: false,
            link_seen: None,
            whole: WholeRange::default(),
            settled: false,
            name: target.title().to_owned(),
            upright: Upright::default(),
            radiological: None,
            field_view,
            array,
        };
        view.begin(ColorMap::default());
        view
    }

    /// The modes that show something of this array.
    fn modes(&self) -> Vec<(Mode, &'static str)> {
        let volume = volume::fits(self.array.shape());
        Mode::ALL.into_iter().filter(|(mode, _)| volume || *mode != Mode::Volume).collect()
    }

    /// Shows it in another way; false where its elements cannot be drawn like that.
    fn show_as(&mut self, mode: Mode) -> bool {
        let can = self.drawable() && self.modes().iter().any(|(one, _)| *one == mode);
        if can {
            self.mode = mode;
        }
        can
    }

    fn zoom(&mut self, zoom: Zoom, cx: &ViewCx<'_>) -> bool {
        self.settle(cx);
        match self.mode {
            Mode::Heat => self.heat.zoom(zoom),
            Mode::Image => self.image.zoom(zoom),
            Mode::Volume => self.volume.zoom(zoom),
            Mode::Line if zoom == Zoom::Fit => {
                self.lines.fit();
                true
            }
            Mode::Line | Mode::Numbers | Mode::Histogram => false,
        }
    }

    /// Whether the numbers have any options.
    fn has_options(&self) -> bool {
        let dtype = self.array.dtype();
        dtype.is_real()
            || dtype.is_complex()
            || !self.field_view.fields.is_empty()
            || self.field_view.scaling.is_some()
    }

    /// Shows one field of structured elements, or all of them.
    fn choose_field(&mut self, field: Option<usize>) {
        if self.field_view.field != field {
            self.field_view.field = field;
            self.look_anew();
            self.mode = match field {
                Some(_) => Mode::usual(&*self.array, &self.mapping, &self.dims.coordinates),
                None => Mode::Numbers,
            };
        }
    }

    /// Shows what is stored, or what that stands for.
    fn choose_stored(&mut self, stored: bool) {
        if self.field_view.stored != stored {
            self.field_view.stored = stored;
            self.look_anew();
        }
    }

    /// The array behind the modes is another one now.
    fn look_anew(&mut self) {
        self.stop();
        self.array = self.field_view.array();
        self.window = field_view::window(&*self.array);
        let coordinates = self.field_view.coordinates(&*self.array);
        if self.mapping.shape() != self.array.shape() {
            self.mapping = first_look(self.array.shape(), &coordinates);
        }
        let rate = self.dims.rate();
        self.dims = Dims::new(coordinates);
        self.dims.set_rate(rate);
        self.heat.clear();
        self.image.clear();
        self.numbers.clear();
        self.lines.clear();
        self.histogram.clear();
        self.volume.clear();
        self.whole.clear();
        if self.choice == self.first {
            self.begin(self.maps.0);
        } else if let ColorRange::Hand(..) = self.choice.range {
            self.choice.range = self.first_range();
        }
    }

    /// The colours that nobody chose: this map, or those that the file asks for.
    fn begin(&mut self, usual: ColorMap) {
        let grey = ColorMap::named("grey").filter(|_| self.window.is_some());
        self.choice.map = grey.unwrap_or(usual);
        self.choice.range = self.first_range();
        self.first = self.choice;
    }

    fn first_range(&self) -> ColorRange {
        self.window.map_or(ColorRange::MinMax, |(low, high)| ColorRange::Hand(low, high))
    }

    /// Lines are to run along this axis.
    fn line_along(&mut self, axis: usize) {
        self.mapping.assign(Role::Columns, axis);
        self.lines.across();
    }

    fn stop(&mut self) {
        self.dims.stop();
        self.heat.stop();
        self.image.stop();
        self.numbers.stop();
        self.lines.stop();
        self.histogram.stop();
        self.volume.stop();
        self.search.stop();
        self.whole.stop();
    }

    fn drawable(&self) -> bool {
        has_numbers(self.array.dtype())
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
        let Some(look) = cx.workspace.mappings.get(shape) else { return };
        self.mapping.clone_from(&look.mapping);
        if !self.drawable() {
            return;
        }
        self.mode = look.mode;
        self.choice = look.choice.unwrap_or(self.choice);
        if let ColorRange::Hand(..) = self.choice.range {
            // A range by hand belongs to the array for which it was set.
            self.choice.range = self.first_range();
        }
        self.hold();
    }

    /// What another array or an older session brought fits this one.
    fn hold(&mut self) {
        if !self.array.dtype().is_complex() {
            self.choice.part = Default::default();
        }
        if self.mode == Mode::Volume && !volume::fits(self.array.shape()) {
            self.mode = Mode::usual(&*self.array, &self.mapping, &self.dims.coordinates);
        }
    }

    /// All views look at bodies from the same side.
    fn agree(&mut self, cx: &mut ViewCx<'_>) {
        if let Some(radiological) = self.radiological.take() {
            cx.workspace.radiological = radiological;
        }
        self.upright.radiological = cx.workspace.radiological;
        self.is_linked = cx.workspace.link;
    }

    fn share(&self, cx: &mut ViewCx<'_>) {
        // What a file asks for is its own.
        let choice = Some(self.choice).filter(|choice| *choice != self.first);
        let is_same = |look: &PlaneSettings| {
            look.mapping == self.mapping && look.mode == self.mode && look.choice == choice
        };
        if !cx.workspace.mappings.get(self.array.shape()).is_some_and(is_same) {
            let look = PlaneSettings { mapping: self.mapping.clone(), mode: self.mode, choice };
            cx.workspace.mappings.set(self.array.shape(), look);
        }
    }

    /// The right end of the mapper's bar: how coarse, how large.
    fn zoom_bar(&mut self, ui: &mut Ui, coordinates: &AxisCoordinates) {
        let slice = self.mapping.slice(self.mode == Mode::Image);
        let pictured = match self.mode {
            Mode::Heat => &mut self.heat,
            Mode::Image => &mut self.image,
            Mode::Volume => {
                let facing = self.volume.facing(&self.mapping, coordinates, self.upright);
                return self.volume.zoom_bar(ui, facing, &mut self.upright);
            }
            _ => return,
        };
        let facing = coordinates.facing(&slice);
        options::zoom(ui, pictured, &slice, self.mode == Mode::Heat, facing, &mut self.upright);
        options::link(ui, &mut self.is_linked);
    }

    /// Whether it is known which way round what is shown stands upright.
    fn is_facing(&self) -> bool {
        let pictured = matches!(self.mode, Mode::Heat | Mode::Image | Mode::Volume);
        pictured && self.dims.coordinates.facing(&self.slice()).is_known()
    }

    /// The colours: those of the whole array where these were chosen and are known.
    fn colors(&self) -> HeatMapSpec {
        self.whole.applied(self.choice)
    }

    /// How a plane becomes a picture.
    fn style(&self) -> RenderSpec {
        match self.mode {
            Mode::Image => RenderSpec::Image(self.whole.applied_to_image(self.photo, self.array.dtype())),
            _ => RenderSpec::HeatMap(self.colors()),
        }
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (array, slice) = (self.array.clone(), self.slice());
        let title = self.name.as_str();
        let style = self.style();
        let coordinates: &AxisCoordinates = &self.dims.coordinates;
        let (worded, cross, neighbours, upright) = (0..slice.spans.len(), None, true, self.upright);
        let look = ShownSlice {
            array: &array,
            slice: &slice,
            style,
            title,
            worded,
            coordinates,
            cross,
            neighbours,
            upright,
        };
        match self.mode {
            Mode::Heat => self.heat.ui(ui, cx, &look),
            Mode::Image => self.image.ui(ui, cx, &look),
            Mode::Numbers => self.numbers.ui(ui, cx, &array, &slice, coordinates),
            Mode::Line => self.lines.ui(ui, cx, &array, &slice, self.choice.part, coordinates),
            Mode::Histogram => self.histogram.ui(ui, cx, &array, &slice, &mut self.choice),
            Mode::Volume => {
                if !std::mem::replace(&mut self.crossed, true) {
                    self.heat.framed(&slice).into_iter().for_each(|index| {
                        index.iter().enumerate().for_each(|(axis, &at)| self.mapping.set_position(axis, at));
                    });
                }
                let shown =
                    volume::Shown { array: &array, choice: self.colors(), title, coordinates, upright };
                self.volume.ui(ui, cx, &shown, &mut self.mapping);
            }
        }
    }

    /// The keys of the view as a whole: of sliders, not-a-numbers, modes.
    fn keys(&mut self, ui: &Ui, cx: &ViewCx<'_>) {
        if !cx.active || ui.ctx().text_edit_focused() {
            return;
        }
        // Letters and the space bar mean other things where a grid or a button has the keys.
        let picture = self.heat.has_focus(ui) || self.image.has_focus(ui) || self.volume.has_focus(ui);
        let free = picture || ui.memory(|memory| memory.focused().is_none());
        let image = self.is_image();
        let mut pressed = key_tables::pressed(ui, keys::SLICE_KEYS);
        for table in [keys::PLAY_KEYS, keys::ARRAY_KEYS] {
            pressed.extend(key_tables::pressed(ui, table).into_iter().filter(|_| free));
        }
        for command in pressed {
            match command {
                ArrayCommand::Step(by) => self.dims.step(&mut self.mapping, image, by),
                ArrayCommand::Play => self.dims.toggle_play(ui, &self.mapping, image),
                ArrayCommand::Transpose => self.mapping.transpose(),
                ArrayCommand::NextNan(forward) => {
                    self.next(NonFinite::Nan.into(), forward);
                }
            }
        }
    }

    /// Whether a playing slider may go on: the picture of this step is there.
    fn ready(&self, slice: &Slice) -> bool {
        if slice.is_empty() {
            return true;
        }
        match self.mode {
            Mode::Heat => self.heat.shows(slice),
            Mode::Image => self.image.shows(slice),
            Mode::Volume => self.volume.shows(&self.mapping, &self.dims.coordinates),
            Mode::Numbers => self.numbers.shows(slice),
            Mode::Line => self.lines.shows(slice),
            Mode::Histogram => self.histogram.shows(slice),
        }
    }
}

const COMMANDS: &[ViewCommand<ArrayView>] = &[
    ViewCommand::new(Label::new("Show numbers", Icon::Hash).keys(ALT, Key::Num1), |view, _| {
        view.show_as(Mode::Numbers)
    }),
    ViewCommand::new(Label::new("Show as heat map", Icon::Array).keys(ALT, Key::Num2), |view, _| {
        view.show_as(Mode::Heat)
    }),
    ViewCommand::new(Label::new("Show as image", Icon::Image).keys(ALT, Key::Num3), |view, _| {
        view.show_as(Mode::Image)
    }),
    ViewCommand::new(Label::new("Show as lines", Icon::LineChart).keys(ALT, Key::Num4), |view, _| {
        view.show_as(Mode::Line)
    }),
    ViewCommand::new(Label::new("Show histogram", Icon::Histogram).keys(ALT, Key::Num5), |view, _| {
        view.show_as(Mode::Histogram)
    }),
    ViewCommand::new(Label::new("Show as volume", Icon::Volume).keys(ALT, Key::Num6), |view, _| {
        view.show_as(Mode::Volume)
    }),
    ViewCommand::new(Label::new("Swap rows and columns", Icon::Swap).apart(), |view, _| {
        view.mapping.transpose();
        true
    }),
    ViewCommand::new(Label::new("Next NaN", Icon::CaretRight), |view, _| {
        view.next(NonFinite::Nan.into(), true)
    }),
    ViewCommand::new(Label::new("Previous NaN", Icon::CaretLeft), |view, _| {
        view.next(NonFinite::Nan.into(), false)
    }),
    ViewCommand::new(Label::new("Next infinity", Icon::CaretRight), |view, _| {
        view.next(NonFinite::PositiveInfinity.into(), true)
    }),
    ViewCommand::new(Label::new("Next negative infinity", Icon::CaretRight), |view, _| {
        view.next(NonFinite::NegativeInfinity.into(), true)
    }),
    ViewCommand::new(Label::new("Next missing value", Icon::CaretRight), |view, _| {
        view.missing().is_some_and(|missing| view.next(missing, true))
    }),
    ViewCommand::new(Label::new("Right way up, or as stored", Icon::FlipVertical), |view, _| {
        let known = view.is_facing();
        view.upright.as_stored ^= known;
        known
    }),
    ViewCommand::new(Label::new("Radiological or neurological sides", Icon::FlipHorizontal), |view, cx| {
        let known = view.dims.coordinates.is_body(view.array.shape());
        cx.workspace.radiological ^= known;
        known
    }),
    ViewCommand::new(Label::new("Link views of the same shape", Icon::SplitRight), |_, cx| {
        cx.workspace.link ^= true;
        true
    }),
    ViewCommand::new(Label::new("Norms of rows and columns", Icon::Histogram), |view, _| {
        let can = view.mode == Mode::Heat;
        if can {
            view.heat.show_norms(!view.heat.shows_norms());
        }
        can
    }),
    ViewCommand::new(ZOOM_IN, |view, cx| view.zoom(Zoom::In, cx)),
    ViewCommand::new(ZOOM_OUT, |view, cx| view.zoom(Zoom::Out, cx)),
    ViewCommand::new(ZOOM_FIT, |view, cx| view.zoom(Zoom::Fit, cx)),
];

impl View for ArrayView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.settle(cx);
        self.agree(cx);
        options::toolbar(self, ui);
        cx.workspace.radiological = self.upright.radiological;
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.settle(cx);
        self.agree(cx);
        self.end_search(cx);
        self.dims.load(cx.jobs);
        self.keys(ui, cx);
        let (dtype, shape) = (self.array.dtype(), self.array.shape());
        let bytes = gander::bytes::limits::bytes(shape, 1)
            .unwrap_or(u64::MAX)
            .saturating_mul(dtype.bits())
            .div_ceil(8);
        cx.status.facts = match dtype.is_variable() {
            true => format!("{} {dtype}", display::shape(shape)),
            false => format!("{} {dtype} · {}", display::shape(shape), display::bytes(bytes)),
        };
        let image = self.is_image();
        let mut mapping = self.mapping.clone();
        let mut dims = std::mem::take(&mut self.dims);
        let coordinates = dims.coordinates.clone();
        dims.bar(ui, &mut mapping, image, |ui| self.zoom_bar(ui, &coordinates));
        let rest = ui.available_rect_before_wrap();
        let height = Dims::sliders_height(&mapping, image).min(rest.height() / 2.0);
        let split = rest.bottom() - height;
        if height > 0.0 {
            let place = Rect::from_min_max(pos2(rest.left(), split), rest.max);
            dims.sliders(ui, place, &mut mapping, image);
        }
        self.dims = dims;
        self.mapping = mapping;
        let place = Rect::from_min_max(rest.min, pos2(rest.right(), split));
        let mut body = ui.new_child(UiBuilder::new().max_rect(place).id_salt(("body", self.mode.word())));
        body.shrink_clip_rect(place);
        body.painter().rect_filled(place, 0.0, theme::Theme::of(&body).bg2);
        let scope = match self.mode {
            Mode::Image => (self.photo.scope, ComplexPart::Magnitude),
            _ => (self.choice.scope, self.choice.part),
        };
        self.whole.update(cx, &self.array, scope, &self.name);
        self.carry_cursor();
        self.body(&mut body, cx);
        self.keep_cursor();
        let ready = self.ready(&self.slice());
        self.dims.play(ui, &mut self.mapping, image, ready);
        (cx.workspace.radiological, cx.workspace.link) = (self.upright.radiological, self.is_linked);
        self.link(ui, cx);
        self.share(cx);
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        self.settle(cx);
        match request {
            Request::GoTo(text) => self.go_to_text(text),
            Request::Element(index) => self.go_to(index),
            Request::Find | Request::Column(_) | Request::Filter(..) => false,
        }
    }

    fn value(&self) -> Option<StoredValue> {
        let index = self.framed().or_else(|| self.cursor.clone())?;
        Some(StoredValue::element(&self.array, index))
    }

    fn export(&self) -> Option<(String, Data)> {
        let slice = self.slice();
        let whole = slice.spans.iter().zip(self.array.shape()).all(|(span, &len)| span.count == len);
        let field = self.field_view.chosen();
        if whole && field.is_none() {
            return None;
        }
        let mut words = format!("the slice [{}]", self.mapping.text(self.is_image()));
        if let Some(field) = field {
            words = format!("the field {} of {words}", field.name);
        }
        // What is stored is written, with what it stands for beside it where the format can say so.
        let sliced: Arc<dyn Array> = Arc::new(slice.view(self.field_view.stored_array()));
        Some((words, Data::Arrays(vec![(self.name.clone(), sliced)])))
    }

    fn repeat(&self) -> Option<Repeat> {
        let slice = self.mapping.text(self.is_image());
        let is_plain = self.field_view.chosen().is_none();
        is_plain.then(|| Repeat::Selection(Selection { slice: Some(slice), ..Selection::default() }))
    }

    fn is_drawing(&self) -> bool {
        self.mode != Mode::Numbers
    }

    fn pictures(&self) -> Vec<(String, Data)> {
        if self.slice().is_empty() || self.array.dtype().is_variable() {
            return Vec::new();
        }
        let turn = |pictured: &SliceImage| pictured.camera.orientation();
        let of = |words: &str, turn| vec![(words.to_owned(), self.slice(), self.style(), turn)];
        let drawn = match self.mode {
            Mode::Heat => of("the heat map", turn(&self.heat)),
            Mode::Image => of("the picture", turn(&self.image)),
            Mode::Volume => {
                let coordinates = &self.dims.coordinates;
                let planes = self.volume.drawn(&self.mapping, coordinates, self.upright, self.colors());
                planes
                    .into_iter()
                    .map(|(axes, slice, style, turn)| (format!("the plane {axes}"), slice, style, turn))
                    .collect()
            }
            Mode::Numbers | Mode::Line | Mode::Histogram => Vec::new(),
        };
        let picture = |(words, slice, style, turn)| {
            let picture = PaintedSlice::new(self.array.clone(), slice, style).seen(turn);
            (format!("{words}, one pixel an element"), Data::Image(Arc::new(picture)))
        };
        drawn.into_iter().map(picture).collect()
    }

    fn save(&self) -> Value {
        saved(&ArrayState {
            mode: Some(self.mode),
            mapping: Some(self.mapping.clone()),
            choice: self.choice,
            heat: self.heat.state(),
            image: self.image.state(),
            numbers: self.numbers.state(),
            lines: self.lines.state(),
            histogram: self.histogram.state(),
            volume: self.volume.state(),
            crossed: self.crossed,
            field: self.field_view.state(),
            rate: Some(self.dims.rate()),
            photo: self.photo,
            upright: self.upright,
        })
    }

    fn prefer(&mut self, preferences: &Preferences) {
        self.begin(preferences.sequential);
        self.maps = (preferences.sequential, preferences.diverging);
        let mode = match preferences.array {
            ArrayStart::Usual => return,
            ArrayStart::Numbers => Mode::Numbers,
            ArrayStart::Heat => Mode::Heat,
            ArrayStart::Image => Mode::Image,
            ArrayStart::Line => Mode::Line,
            ArrayStart::Histogram => Mode::Histogram,
        };
        // What cannot be drawn like that stays as it is.
        self.show_as(mode);
    }

    fn restore(&mut self, kept: &Value) {
        let state: ArrayState = restored(kept);
        if self.field_view.restore(&state.field) {
            self.look_anew();
        }
        if let Some(rate) = state.rate {
            self.dims.set_rate(rate);
        }
        if let Some(mapping) = state.mapping.and_then(|mapping| mapping.checked(self.array.shape())) {
            self.mapping = mapping;
            self.settled = true;
        }
        if let Some(mode) = state.mode.filter(|mode| self.drawable() || *mode == Mode::Numbers) {
            self.mode = mode;
        }
        self.framed_in = self.mode;
        self.choice = state.choice.checked();
        self.heat.restore(&state.heat);
        self.image.restore(&state.image);
        self.numbers.restore(state.numbers);
        self.lines.restore(&state.lines);
        self.histogram.restore(&state.histogram);
        self.volume.restore(&state.volume);
        self.crossed = state.crossed;
        self.upright = state.upright;
        self.radiological = state.upright.radiological.then_some(true);
        self.hold();
        self.photo = state.photo.checked();
    }
}
