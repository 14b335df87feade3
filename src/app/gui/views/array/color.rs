//! From numbers to colours: colour maps, scales, ranges, and what is not finite.

use egui::{Color32, ColorImage};
use serde_json::{Value, json};

use super::values::{Odd, Part, Plane, Survey, numbers};
use crate::gui::theme::{PICTURE_NAN, PICTURE_NEGATIVE_INFINITY, PICTURE_POSITIVE_INFINITY};

/// A colour map, by its place in [`MAPS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Map(usize);

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

impl Map {
    /// All of them, viridis first.
    pub(crate) fn all() -> impl Iterator<Item = Map> {
        (0..MAPS.len()).map(Map)
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Map> {
        MAPS.iter().position(|map| map.0 == name).map(Map)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        MAPS[self.0].0
    }

    /// Whether it has a middle that means zero.
    pub(crate) fn diverges(self) -> bool {
        MAPS[self.0].2
    }

    /// What it is good for, in a word or two. All but the last two groups can be told apart by the
    /// colour-blind.
    pub(crate) fn group(self) -> &'static str {
        match self.name() {
            "sinebow" => "round, for angles",
            "turbo" => "hard to read for some eyes",
            _ if self.diverges() => "diverging from zero",
            _ => "even",
        }
    }

    /// The colour at `t`, 0 to 1.
    pub(crate) fn at(self, t: f64) -> Color32 {
        let (_, gradient, _, backwards) = MAPS[self.0];
        let color = gradient.eval_continuous(if backwards { 1.0 - t } else { t });
        Color32::from_rgb(color.r, color.g, color.b)
    }

    /// 256 colours from end to end.
    fn table(self) -> [Color32; 256] {
        std::array::from_fn(|n| self.at(n as f64 / 255.0))
    }
}

/// How values are spread over the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Curve {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm; what is not positive takes the lowest colour.
    Log,
    /// By their logarithm on both sides of zero, evenly near it.
    Symlog,
}

impl Curve {
    /// All of them, with their words.
    pub(crate) const ALL: [(Curve, &str); 3] =
        [(Curve::Linear, "linear"), (Curve::Log, "log"), (Curve::Symlog, "symlog")];

    /// The word in menus and sessions.
    pub(crate) fn word(self) -> &'static str {
        Curve::ALL.iter().find(|(curve, _)| *curve == self).map_or("", |(_, word)| word)
    }
}

/// Which values the colours cover.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Range {
    /// From the smallest to the largest.
    #[default]
    MinMax,
    /// Without this share (in percent) at either end.
    Percent(f64),
    /// As given.
    Hand(f64, f64),
}

impl Range {
    /// A few words for the button.
    pub(crate) fn words(self) -> String {
        match self {
            Range::MinMax => "min–max".to_owned(),
            Range::Percent(share) => format!("{share}–{} %", 100.0 - share),
            Range::Hand(low, high) => format!("{} – {}", brief(low), brief(high)),
        }
    }
}

/// How a heat map is coloured: what a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Choice {
    /// The colours.
    pub(crate) map: Map,
    /// Their spread.
    pub(crate) curve: Curve,
    /// What they cover.
    pub(crate) range: Range,
    /// Whether zero lies in the middle.
    pub(crate) centred: bool,
    /// What of complex numbers is drawn.
    pub(crate) part: Part,
}

impl Choice {
    /// The scale for values of which this is known.
    pub(crate) fn scale(&self, survey: &Survey) -> Scale {
        let (mut low, mut high) = match self.range {
            // Angles go round: their ends are the same wherever the data ends.
            Range::MinMax | Range::Percent(_) if self.part == Part::Phase => {
                let pi = std::f64::consts::PI;
                return Scale { map: self.map, curve: Curve::Linear, low: -pi, high: pi };
            }
            Range::MinMax => survey.range.unwrap_or((0.0, 1.0)),
            Range::Percent(share) => {
                let share = share / 100.0;
                let ends = survey.percentile(share).zip(survey.percentile(1.0 - share));
                ends.filter(|(low, high)| low < high).or(survey.range).unwrap_or((0.0, 1.0))
            }
            Range::Hand(low, high) => (low.min(high), low.max(high)),
        };
        if self.centred && self.curve != Curve::Log {
            high = low.abs().max(high.abs());
            low = -high;
        }
        if self.curve == Curve::Log && low <= 0.0 {
            low = survey.positive.filter(|least| *least < high).unwrap_or(high / 1e6);
        }
        Scale { map: self.map, curve: self.curve, low, high }
    }

    /// For the session.
    pub(crate) fn keep(&self) -> Value {
        let range = match self.range {
            Range::MinMax => Value::Null,
            Range::Percent(share) => json!(share),
            Range::Hand(low, high) => json!([low, high]),
        };
        json!({
            "map": self.map.name(), "curve": self.curve.word(), "range": range,
            "centred": self.centred, "part": self.part.word(),
        })
    }

    /// What [`Choice::keep`] gave; what is not understood is left as usual.
    pub(crate) fn restore(kept: &Value) -> Self {
        let word = |name: &str| kept.get(name).and_then(Value::as_str).unwrap_or("");
        let curve = Curve::ALL.iter().find(|(_, w)| *w == word("curve")).map(|(curve, _)| *curve);
        let part = Part::ALL.iter().find(|(_, w)| *w == word("part")).map(|(part, _)| *part);
        let number = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|n| n.is_finite());
        let range = match kept.get("range") {
            Some(Value::Array(ends)) => match (number(ends.first()), number(ends.get(1))) {
                (Some(low), Some(high)) => Range::Hand(low, high),
                _ => Range::MinMax,
            },
            other => number(other).map_or(Range::MinMax, |share| Range::Percent(share.clamp(0.0, 49.0))),
        };
        Choice {
            map: Map::named(word("map")).unwrap_or_default(),
            curve: curve.unwrap_or_default(),
            range,
            centred: kept.get("centred").and_then(Value::as_bool).unwrap_or(false),
            part: part.unwrap_or_default(),
        }
    }
}

/// Values to colours, worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    map: Map,
    curve: Curve,
    /// The value of the first colour.
    pub(crate) low: f64,
    /// The value of the last colour.
    pub(crate) high: f64,
}

impl Scale {
    /// A value on the curve.
    fn bend(&self, value: f64) -> f64 {
        match self.curve {
            // Halved, so that the distance of the ends of f64 does not overflow.
            Curve::Linear => value * 0.5,
            Curve::Log => value.max(f64::MIN_POSITIVE).ln(),
            Curve::Symlog => value.signum() * (value.abs() / self.threshold()).ln_1p(),
        }
    }

    /// Below it, symlog is about linear.
    fn threshold(&self) -> f64 {
        (self.low.abs().max(self.high.abs()) / 1e3).max(f64::MIN_POSITIVE)
    }

    /// Where a finite value lies, 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        if high > low { ((self.bend(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The value at a place.
    pub(crate) fn value(&self, place: f64) -> f64 {
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        let bent = low + (high - low) * place;
        match self.curve {
            Curve::Linear => bent * 2.0,
            Curve::Log => bent.exp(),
            Curve::Symlog => bent.signum() * bent.abs().exp_m1() * self.threshold(),
        }
    }

    /// The colour at a place.
    pub(crate) fn color(&self, place: f64) -> Color32 {
        self.map.at(place)
    }

    /// The picture of a plane's first channel.
    pub(crate) fn paint(&self, plane: &Plane, part: Part) -> ColorImage {
        let table = self.map.table();
        let (low, high) = (self.bend(self.low), self.bend(self.high));
        let slope = if high > low { 255.0 / (high - low) } else { 0.0 };
        let flat = if high > low { 0.5 } else { 128.0 };
        let values = numbers(&plane.dtype, part, &plane.raw);
        let width = plane.window.columns.count as usize;
        let color = |(n, &value): (usize, &f64)| match Odd::of(value) {
            // A float to integer cast saturates.
            None => table[usize::from(((self.bend(value) - low) * slope + flat) as u8)],
            Some(odd) => odd_color(odd, n % width.max(1) + n / width.max(1)),
        };
        let pixels = values.iter().step_by(plane.channels.max(1)).enumerate().map(color).collect();
        ColorImage::new([width, plane.window.rows.count as usize], pixels)
    }
}

/// The colour of what is not finite; −Inf is black with a lighter hatch on every third diagonal.
pub(crate) fn odd_color(odd: Odd, diagonal: usize) -> Color32 {
    match odd {
        Odd::Nan => PICTURE_NAN,
        Odd::Plus => PICTURE_POSITIVE_INFINITY,
        Odd::Minus if diagonal % 3 == 2 => Color32::from_gray(70),
        Odd::Minus => PICTURE_NEGATIVE_INFINITY,
    }
}

/// A number in few characters, for colour bars and axes.
pub(crate) fn brief(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    if !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        return text.replace(".00e", "e");
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How an image is made of channels: what a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Photo {
    /// One channel alone, in grey.
    pub(crate) channel: Option<usize>,
    /// Black and white; by the type where nothing is set.
    pub(crate) window: Option<(f64, f64)>,
    /// Two or four channels have no alpha among them.
    pub(crate) opaque: bool,
}

/// The black and the white of samples of this type, of which this is known.
pub(crate) fn usual_window(dtype: &gander::data::dtype::DType, survey: &Survey) -> (f64, f64) {
    use gander::data::dtype::DType;
    let (low, high) = survey.range.unwrap_or((0.0, 1.0));
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

/// The picture of a plane of channels: one or two are grey (with alpha), three or more colours.
pub(crate) fn photograph(plane: &Plane, photo: Photo, window: (f64, f64)) -> ColorImage {
    let values = numbers(&plane.dtype, Part::Magnitude, &plane.raw);
    let slope = if window.1 > window.0 { 255.0 / (window.1 - window.0) } else { 0.0 };
    let byte = |value: f64| ((value - window.0) * slope + 0.5) as u8;
    let channels = plane.channels.max(1);
    let color = |pixel: &[f64]| {
        if let Some(odd) = pixel.iter().find_map(|&value| Odd::of(value)) {
            return odd_color(odd, 0);
        }
        let at = |n: usize| byte(pixel.get(n).copied().unwrap_or(window.0));
        match (photo.channel, channels) {
            (Some(channel), _) => Color32::from_gray(at(channel)),
            (None, 1) => Color32::from_gray(at(0)),
            (None, 2) if photo.opaque => Color32::from_gray(at(0)),
            (None, 2) => Color32::from_rgba_unmultiplied(at(0), at(0), at(0), at(1)),
            (None, 4) if !photo.opaque => Color32::from_rgba_unmultiplied(at(0), at(1), at(2), at(3)),
            (None, _) => Color32::from_rgb(at(0), at(1), at(2)),
        }
    };
    let pixels = values.chunks_exact(channels).map(color).collect();
    let size = [plane.window.columns.count as usize, plane.window.rows.count as usize];
    ColorImage::new(size, pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey() -> Survey {
        let sample: Vec<f64> = (-100..=300).map(f64::from).collect();
        Survey { range: Some((-100.0, 300.0)), positive: Some(1.0), sample, ..Survey::default() }
    }

    #[test]
    fn ranges_and_scales() {
        let choice = |curve, range, centred| Choice { curve, range, centred, ..Choice::default() };
        let scale = choice(Curve::Linear, Range::MinMax, false).scale(&survey());
        assert_eq!((scale.place(-100.0), scale.place(100.0), scale.place(999.0)), (0.0, 0.5, 1.0));
        let scale = choice(Curve::Linear, Range::Percent(25.0), false).scale(&survey());
        assert_eq!((scale.low, scale.high), (0.0, 200.0));
        let scale = choice(Curve::Linear, Range::MinMax, true).scale(&survey());
        assert_eq!((scale.low, scale.high, scale.place(0.0)), (-300.0, 300.0, 0.5));
        let scale = choice(Curve::Log, Range::MinMax, false).scale(&survey());
        assert_eq!((scale.low, scale.place(-5.0)), (1.0, 0.0));
        assert!((scale.place(300f64.sqrt()) - 0.5).abs() < 1e-9);
        let scale = choice(Curve::Symlog, Range::Hand(-2.0, 2.0), false).scale(&survey());
        for value in [-2.0, -0.01, 0.0, 0.5, 2.0] {
            assert!((scale.value(scale.place(value)) - value).abs() < 1e-9);
        }
        // A constant slice has one colour in the middle.
        let scale = choice(Curve::Linear, Range::Hand(3.0, 3.0), false).scale(&survey());
        assert_eq!(scale.place(3.0), 0.5);
    }

    #[test]
    fn a_choice_survives_the_session() {
        let choice = Choice {
            map: Map::named("blue–red").unwrap(),
            curve: Curve::Symlog,
            range: Range::Hand(-1.5, 2.0),
            centred: true,
            part: Part::Phase,
        };
        assert_eq!(Choice::restore(&choice.keep()), choice);
        assert_eq!(Choice::restore(&Value::Null), Choice::default());
    }

    #[test]
    fn numbers_are_brief() {
        for (value, text) in
            [(0.0, "0"), (0.2134, "0.2134"), (-0.5, "-0.5"), (1234.5, "1234"), (1e-9, "1e-9"), (3e7, "3e7")]
        {
            assert_eq!(brief(value), text);
        }
    }
}
