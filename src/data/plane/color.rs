//! Planes as pictures: colour maps, scales, ranges, window and level, and what is not finite. A picture is RGBA with 8
//! bits a sample, not premultiplied.

use super::{Plane, ValueSummary};
use crate::bytes::display::brief;
use crate::bytes::entry;
use crate::data::content::{Array, Pixels, Sample};
use crate::data::dtype::DType;
use crate::data::numbers::{ComplexPart, NonFinite, numbers};
use serde::{Deserialize, Serialize};

/// A colour map, viridis by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub struct ColorMap(usize);

impl From<String> for ColorMap {
    /// The map of this name; viridis where there is none.
    fn from(name: String) -> Self {
        ColorMap::named(&name).unwrap_or_default()
    }
}

impl From<ColorMap> for &'static str {
    fn from(map: ColorMap) -> Self {
        map.name()
    }
}

/// Name, colours, whether it diverges from a middle, whether it runs backwards.
const MAPS: [(&str, colorous::Gradient, bool, bool); 14] = [
    ("viridis", colorous::VIRIDIS, false, false),
    ("cividis", colorous::CIVIDIS, false, false),
    ("inferno", colorous::INFERNO, false, false),
    ("magma", colorous::MAGMA, false, false),
    ("plasma", colorous::PLASMA, false, false),
    ("cubehelix", colorous::CUBEHELIX, false, false),
    ("grey", colorous::GREYS, false, true),
    ("blues", colorous::BLUES, false, false),
    ("blue–red", colorous::RED_BLUE, true, true),
    ("green–purple", colorous::PURPLE_GREEN, true, true),
    ("purple–orange", colorous::PURPLE_ORANGE, true, true),
    ("brown–teal", colorous::BROWN_GREEN, true, false),
    ("sinebow", colorous::SINEBOW, false, false),
    ("turbo", colorous::TURBO, false, false),
];

impl ColorMap {
    /// All of them, viridis first.
    pub fn all() -> impl Iterator<Item = ColorMap> {
        (0..MAPS.len()).map(ColorMap)
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<ColorMap> {
        MAPS.iter().position(|map| map.0 == name).map(ColorMap)
    }

    #[allow(clippy::indexing_slicing, reason = "only places in the list are made into colour maps")]
    fn facts(self) -> (&'static str, colorous::Gradient, bool, bool) {
        MAPS[self.0]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Whether it has a middle that means zero.
    pub fn diverges(self) -> bool {
        self.facts().2
    }

    /// What it is good for, in a word or two. All but the last two groups can be told apart by the
    /// colour-blind.
    pub fn group(self) -> &'static str {
        match self.name() {
            "sinebow" => "round, for angles",
            "turbo" => "hard to read for some eyes",
            _ if self.diverges() => "diverging from zero",
            _ => "even",
        }
    }

    /// The colour at `t`, 0 to 1.
    pub fn at(self, t: f64) -> [u8; 3] {
        let (_, gradient, _, backwards) = self.facts();
        let color = gradient.eval_continuous(if backwards { 1.0 - t } else { t });
        [color.r, color.g, color.b]
    }

    /// 256 colours from end to end.
    fn table(self) -> [[u8; 4]; 256] {
        std::array::from_fn(|n| opaque(self.at(n as f64 / 255.0)))
    }
}

/// How values are spread over the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm; what is not positive takes the lowest colour.
    Log,
    /// By their logarithm on both sides of zero, evenly near it.
    Symlog,
}

impl Norm {
    /// All of them, with their words.
    pub const ALL: [(Norm, &str); 3] =
        [(Norm::Linear, "linear"), (Norm::Log, "log"), (Norm::Symlog, "symlog")];

    /// The word in menus and sessions.
    pub fn word(self) -> &'static str {
        Norm::ALL.iter().find(|(norm, _)| *norm == self).map_or("", |(_, word)| word)
    }
}

/// Which values the colours cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorRange {
    /// From the smallest to the largest.
    #[default]
    MinMax,
    /// Without this share (in percent) at either end.
    Percent(f64),
    /// As given.
    Hand(f64, f64),
}

impl ColorRange {
    /// A few words for the button.
    pub fn words(self) -> String {
        match self {
            ColorRange::MinMax => "min–max".to_owned(),
            ColorRange::Percent(share) => format!("{share}–{} %", 100.0 - share),
            ColorRange::Hand(low, high) => format!("{} – {}", brief(low), brief(high)),
        }
    }
}

/// Of what the range of the colours is taken, where it is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RangeScope {
    /// Of the slice that is shown.
    #[default]
    Slice,
    /// Of the whole array, so that colours mean the same in every slice.
    Array,
}

/// How a heat map is coloured: what a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatMapSpec {
    /// The colours.
    pub map: ColorMap,
    /// Their spread.
    pub norm: Norm,
    /// What they cover.
    pub range: ColorRange,
    /// Of what.
    pub scope: RangeScope,
    /// Whether zero lies in the middle.
    pub centred: bool,
    /// What of complex numbers is drawn.
    pub part: ComplexPart,
}

impl HeatMapSpec {
    /// The scale for values of which this is known.
    pub fn scale(&self, summary: &ValueSummary) -> ColorScale {
        let (mut low, mut high) = match self.range {
            // Angles go round: their ends are the same wherever the data ends.
            ColorRange::MinMax | ColorRange::Percent(_) if self.part == ComplexPart::Phase => {
                let pi = std::f64::consts::PI;
                return ColorScale { map: self.map, norm: Norm::Linear, low: -pi, high: pi };
            }
            ColorRange::MinMax => summary.range.unwrap_or((0.0, 1.0)),
            ColorRange::Percent(share) => {
                let share = share / 100.0;
                let ends = summary.percentile(share).zip(summary.percentile(1.0 - share));
                ends.filter(|(low, high)| low < high).or(summary.range).unwrap_or((0.0, 1.0))
            }
            ColorRange::Hand(low, high) => (low.min(high), low.max(high)),
        };
        if self.centred && self.norm != Norm::Log {
            high = low.abs().max(high.abs());
            low = -high;
        }
        if self.norm == Norm::Log && low <= 0.0 {
            low = summary.positive.filter(|least| *least < high).unwrap_or(high / 1e6);
        }
        ColorScale { map: self.map, norm: self.norm, low, high }
    }

    /// This one with the range that values of which this is known have.
    pub fn fixed(self, summary: &ValueSummary) -> Self {
        match self.range {
            ColorRange::MinMax | ColorRange::Percent(_) if self.part != ComplexPart::Phase => {
                let scale = self.scale(summary);
                HeatMapSpec { range: ColorRange::Hand(scale.low, scale.high), ..self }
            }
            _ => self,
        }
    }

    /// This one, read from outside, with nothing in it that no person could choose.
    pub fn checked(mut self) -> Self {
        self.range = match self.range {
            ColorRange::Percent(share) if share.is_finite() => ColorRange::Percent(share.clamp(0.0, 49.0)),
            ColorRange::Hand(low, high) if low.is_finite() && high.is_finite() => ColorRange::Hand(low, high),
            _ => ColorRange::MinMax,
        };
        self
    }
}

/// Values to colours, worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColorScale {
    map: ColorMap,
    norm: Norm,
    /// The value of the first colour.
    pub low: f64,
    /// The value of the last colour.
    pub high: f64,
}

impl ColorScale {
    /// A value on the norm.
    fn bend(&self, value: f64) -> f64 {
        match self.norm {
            // Halved, so that the distance of the ends of f64 does not overflow.
            Norm::Linear => value * 0.5,
            Norm::Log => value.max(f64::MIN_POSITIVE).ln(),
            Norm::Symlog => value.signum() * (value.abs() / self.threshold()).ln_1p(),
        }
    }

    /// Below it, symlog is about linear.
    fn threshold(&self) -> f64 {
        (self.low.abs().max(self.high.abs()) / 1e3).max(f64::MIN_POSITIVE)
    }

    /// Where a finite value lies, 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        if high > low { ((self.bend(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The value at a place.
    pub fn value(&self, place: f64) -> f64 {
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        let bent = low + (high - low) * place;
        match self.norm {
            Norm::Linear => bent * 2.0,
            Norm::Log => bent.exp(),
            Norm::Symlog => bent.signum() * bent.abs().exp_m1() * self.threshold(),
        }
    }

    /// The colour at a place.
    pub fn color(&self, place: f64) -> [u8; 3] {
        self.map.at(place)
    }

    /// The picture of a plane's first channel.
    fn paint(&self, plane: &Plane, part: ComplexPart) -> Vec<[u8; 4]> {
        let table = self.map.table();
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        let slope = if high > low { 255.0 / (high - low) } else { 0.0 };
        let flat = if high > low { 0.5 } else { 128.0 };
        let values = numbers(&plane.dtype, part, &plane.raw);
        let width = plane.window.columns.count as usize;
        let color = |(n, &value): (usize, &f64)| match NonFinite::of(value) {
            // A float to integer cast saturates.
            None => *entry(&table, ((self.bend(value) - low) * slope + flat) as u8),
            Some(kind) => opaque(non_finite_color(kind, n % width.max(1) + n / width.max(1))),
        };
        values.iter().step_by(plane.channels.max(1)).enumerate().map(color).collect()
    }
}

/// The colour of what is not finite; −Inf is black with a lighter hatch on every third diagonal.
pub fn non_finite_color(kind: NonFinite, diagonal: usize) -> [u8; 3] {
    match kind {
        NonFinite::Nan => [0xff, 0x2b, 0xd6],
        NonFinite::PositiveInfinity => [255; 3],
        NonFinite::NegativeInfinity if diagonal % 3 == 2 => [70; 3],
        NonFinite::NegativeInfinity => [0; 3],
    }
}

fn opaque([red, green, blue]: [u8; 3]) -> [u8; 4] {
    [red, green, blue, 255]
}

/// How an image is made of channels: what a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageSpec {
    /// One channel alone, in grey.
    pub channel: Option<usize>,
    /// Black and white; by the type where nothing is set.
    pub window: Option<(f64, f64)>,
    /// Of what they are taken where nothing is set.
    pub scope: RangeScope,
    /// Two or four channels have no alpha among them.
    pub opaque: bool,
}

/// The black and the white of samples of this type, of which this is known.
pub fn usual_window(dtype: &DType, summary: &ValueSummary) -> (f64, f64) {
    let (low, high) = summary.range.unwrap_or((0.0, 1.0));
    match dtype {
        DType::Bool => (0.0, 1.0),
        // Masks and sensors of fewer bits would be black on the whole range of the type.
        DType::U8 if high > 40.0 => (0.0, 255.0),
        DType::U16 if high >= 16384.0 => (0.0, 65535.0),
        _ if dtype.is_float() && low >= 0.0 && high <= 1.0 => (0.0, 1.0),
        _ if dtype.is_float() && low >= -1.0 && high <= 1.0 => (-1.0, 1.0),
        _ if low < high => (low, high),
        _ => (low.min(0.0), high.max(1.0)),
    }
}

impl ImageSpec {
    /// This one with the black and white of samples of this type, of which this is known, where nothing is set.
    pub fn fixed(self, dtype: &DType, summary: &ValueSummary) -> Self {
        ImageSpec { window: self.window.or_else(|| Some(usual_window(dtype, summary))), ..self }
    }

    /// This one, read from outside, with nothing in it that no person could choose.
    pub fn checked(self) -> Self {
        let window = self.window.filter(|(low, high)| low.is_finite() && high.is_finite());
        ImageSpec { window, opaque: false, ..self }
    }
}

/// The picture of a plane of channels: one or two are grey (with alpha), three or more colours.
fn paint_image(plane: &Plane, spec: ImageSpec, window: (f64, f64)) -> Vec<[u8; 4]> {
    let values = numbers(&plane.dtype, ComplexPart::Magnitude, &plane.raw);
    let slope = if window.1 > window.0 { 255.0 / (window.1 - window.0) } else { 0.0 };
    let byte = |value: f64| ((value - window.0) * slope + 0.5) as u8;
    let channels = plane.channels.max(1);
    let color = |pixel: &[f64]| {
        if let Some(kind) = pixel.iter().find_map(|&value| NonFinite::of(value)) {
            return opaque(non_finite_color(kind, 0));
        }
        let at = |n: usize| byte(pixel.get(n).copied().unwrap_or(window.0));
        match (spec.channel, channels) {
            (Some(channel), _) => opaque([at(channel); 3]),
            (None, 1) => opaque([at(0); 3]),
            (None, 2) if spec.opaque => opaque([at(0); 3]),
            (None, 2) => [at(0), at(0), at(0), at(1)],
            (None, 4) if !spec.opaque => [at(0), at(1), at(2), at(3)],
            (None, _) => opaque([at(0), at(1), at(2)]),
        }
    };
    values.chunks_exact(channels).map(color).collect()
}

/// How a plane is made into a picture: what a person chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RenderSpec {
    /// By a colour map.
    HeatMap(HeatMapSpec),
    /// As an image.
    Image(ImageSpec),
}

impl RenderSpec {
    /// What of complex numbers is drawn.
    pub fn part(&self) -> ComplexPart {
        match self {
            RenderSpec::HeatMap(spec) => spec.part,
            RenderSpec::Image(_) => ComplexPart::Magnitude,
        }
    }

    /// The rendering of values of which this is known.
    pub fn resolve(&self, array: &dyn Array, summary: &ValueSummary) -> Rendering {
        match self {
            RenderSpec::HeatMap(spec) => Rendering::HeatMap(spec.scale(summary), spec.part),
            RenderSpec::Image(spec) => {
                let window = spec.window.unwrap_or_else(|| usual_window(array.dtype(), summary));
                Rendering::Image(*spec, window)
            }
        }
    }
}

/// How a plane is made into a picture, worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rendering {
    /// By a scale.
    HeatMap(ColorScale, ComplexPart),
    /// As an image with its black and white.
    Image(ImageSpec, (f64, f64)),
}

impl Rendering {
    /// The picture of a plane, RGBA. What could not be read is striped.
    pub fn paint(&self, plane: &Plane) -> Pixels {
        let mut pixels = match self {
            Rendering::HeatMap(scale, part) => scale.paint(plane, *part),
            Rendering::Image(spec, window) => paint_image(plane, *spec, *window),
        };
        let width = plane.window.columns.count as usize;
        for hole in &plane.holes {
            let (left, right) = (hole.columns.start as usize, hole.columns.end() as usize);
            for row in hole.rows.start as usize..hole.rows.end() as usize {
                for column in left..right {
                    let striped = (row + column) % 6 < 2;
                    if let Some(pixel) = pixels.get_mut(row * width + column) {
                        *pixel = if striped { [128, 128, 128, 255] } else { [0; 4] };
                    }
                }
            }
        }
        Pixels {
            width: plane.window.columns.count,
            height: plane.window.rows.count,
            channels: 4,
            sample: Sample::U8,
            alpha: true,
            data: pixels.into_flattened(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::plane::{Slice, Window};
    use crate::data::region::Span;

    fn summary() -> ValueSummary {
        let sample: Vec<f64> = (-100..=300).map(f64::from).collect();
        ValueSummary { range: Some((-100.0, 300.0)), positive: Some(1.0), sample, ..ValueSummary::default() }
    }

    #[test]
    fn ranges_and_scales() {
        let choice = |norm, range, centred| HeatMapSpec { norm, range, centred, ..HeatMapSpec::default() };
        let scale = choice(Norm::Linear, ColorRange::MinMax, false).scale(&summary());
        assert_eq!((scale.place(-100.0), scale.place(100.0), scale.place(999.0)), (0.0, 0.5, 1.0));
        let scale = choice(Norm::Linear, ColorRange::Percent(25.0), false).scale(&summary());
        assert_eq!((scale.low, scale.high), (0.0, 200.0));
        let scale = choice(Norm::Linear, ColorRange::MinMax, true).scale(&summary());
        assert_eq!((scale.low, scale.high, scale.place(0.0)), (-300.0, 300.0, 0.5));
        let scale = choice(Norm::Log, ColorRange::MinMax, false).scale(&summary());
        assert_eq!((scale.low, scale.place(-5.0)), (1.0, 0.0));
        assert!((scale.place(300f64.sqrt()) - 0.5).abs() < 1e-9);
        let scale = choice(Norm::Symlog, ColorRange::Hand(-2.0, 2.0), false).scale(&summary());
        for value in [-2.0, -0.01, 0.0, 0.5, 2.0] {
            assert!((scale.value(scale.place(value)) - value).abs() < 1e-9);
        }
        // A constant slice has one colour in the middle.
        let scale = choice(Norm::Linear, ColorRange::Hand(3.0, 3.0), false).scale(&summary());
        assert_eq!(scale.place(3.0), 0.5);
    }

    #[test]
    fn a_choice_survives_the_session() {
        let choice = HeatMapSpec {
            map: ColorMap::named("blue–red").unwrap(),
            norm: Norm::Symlog,
            range: ColorRange::Hand(-1.5, 2.0),
            centred: true,
            part: ComplexPart::Phase,
            scope: RangeScope::default(),
        };
        let kept = serde_json::to_value(choice).unwrap();
        assert_eq!(serde_json::from_value::<HeatMapSpec>(kept).unwrap().checked(), choice);
        let wild = HeatMapSpec { range: ColorRange::Percent(80.0), ..choice };
        assert_eq!(wild.checked().range, ColorRange::Percent(49.0));
    }

    #[test]
    fn a_picture_shows_values_and_what_is_none() {
        let values =
            [0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5].map(f64::to_le_bytes).concat();
        let slice = Slice {
            spans: vec![Span::all(2), Span::all(3)],
            rows: Some(0),
            columns: Some(1),
            channels: None,
        };
        let known = ValueSummary { range: Some((0.0, 1.0)), ..ValueSummary::default() };
        let mut plane = Plane::new(&slice, slice.all(), &DType::F64, values, known.clone());
        plane.holes.push(Window { rows: Span::range(1, 1), columns: Span::range(2, 1) });
        let array = crate::data::content::array::Plain::new(
            crate::Source::memory("a", vec![0; 48]),
            0,
            DType::F64,
            vec![2, 3],
        )
        .unwrap();
        let grey = HeatMapSpec { map: ColorMap::named("grey").unwrap(), ..HeatMapSpec::default() };
        let pixels = RenderSpec::HeatMap(grey).resolve(&array, &known).paint(&plane);
        let at = |n: usize| &pixels.data[4 * n..4 * n + 4];
        assert_eq!((pixels.width, pixels.height, pixels.data.len()), (3, 2, 24));
        assert_eq!((at(0), at(1)), (&[0, 0, 0, 255][..], &[255; 4][..]));
        assert_eq!((at(2), at(3)), (&[0xff, 0x2b, 0xd6, 255][..], &[255; 4][..]));
        // Minus infinity, and a sample that could not be read.
        assert_eq!((at(4), at(5)), (&[70, 70, 70, 255][..], &[0; 4][..]));
        let image = RenderSpec::Image(ImageSpec::default()).resolve(&array, &known).paint(&plane);
        assert_eq!((image.data[4], image.data[0]), (255, 0));
    }
}
