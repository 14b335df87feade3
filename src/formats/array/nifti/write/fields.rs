//! The fields of a header, from attributes by the names that the reader gives them and from what is known of the array.

use super::space::{Space, numbers};
use crate::bytes::error::Result;
use crate::data::cf;
use crate::data::content::Array;
use crate::data::format::Attributes;
use crate::engines::headers::json;
use serde_json::Value as Json;

/// Where values begin behind the header and the four bytes that say there are no extensions.
const FIRST: usize = 352;
const SECOND: usize = 544;

/// What a header says, whatever its version.
pub(super) struct Fields {
    shape: Vec<u64>,
    code: i16,
    bits: i16,
    slope: f64,
    intercept: f64,
    units: u8,
    intent: i32,
    space: Space,
    descrip: String,
    aux_file: String,
    intent_name: String,
    numbers: Vec<(&'static str, f64)>,
}

/// The numbers that go from attributes into fields as they are.
const NUMBERS: [&str; 10] = [
    "cal_min",
    "cal_max",
    "intent_p1",
    "intent_p2",
    "intent_p3",
    "slice_duration",
    "slice_start",
    "slice_end",
    "slice_code",
    "dim_info",
];

/// A number among attributes.
pub(super) fn number(attributes: &Attributes, name: &str) -> Option<f64> {
    cf::numbers(&attributes.list, name).first().copied()
}

/// A text among attributes.
pub(super) fn text(attributes: &Attributes, name: &str) -> Option<String> {
    match json(attributes.get(name)?) {
        Json::String(text) => Some(text),
        _ => None,
    }
}

impl Fields {
    pub(super) fn new(attributes: &Attributes, array: &dyn Array, code: i16) -> Result<Self> {
        let shape = if array.shape().is_empty() { vec![1] } else { array.shape().to_vec() };
        let facts = array.facts();
        let scaling = facts.scaling.as_ref().filter(|scaling| !scaling.is_identity());
        let text = |name: &str| text(attributes, name).unwrap_or_default();
        // `2003: RGB vector`
        let intent = text("intent").split(':').next().and_then(|code| code.trim().parse().ok());
        let found = NUMBERS.iter().filter_map(|&name| Some((name, number(attributes, name)?)));
        Ok(Fields {
            code,
            bits: i16::try_from(array.dtype().size() * 8).unwrap_or(0),
            // A slope of zero says that there is none.
            slope: scaling.map_or(0.0, |scaling| scaling.scale),
            intercept: scaling.map_or(0.0, |scaling| scaling.offset),
            units: units(attributes, &facts.axes),
            intent: intent.unwrap_or(0),
            space: Space::new(attributes, &facts.axes, &shape),
            descrip: text("descrip"),
            aux_file: text("aux_file"),
            intent_name: text("intent_name"),
            numbers: found.collect(),
            shape,
        })
    }

    fn number(&self, name: &str) -> f64 {
        self.numbers.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
    }

    /// The header of NIfTI-1 and the bytes behind it.
    pub(super) fn first(&self) -> Vec<u8> {
        let mut out = Bytes(vec![0; FIRST]);
        out.put(0, &348i32.to_le_bytes());
        let short = |value: f64| (value as i16).to_le_bytes();
        out.put(39, &[self.number("dim_info") as u8]);
        out.put(40, &(self.shape.len() as i16).to_le_bytes());
        for n in 0..7 {
            let side = self.shape.get(n).copied().unwrap_or(1);
            out.put(42 + 2 * n, &(side as i16).to_le_bytes());
        }
        for (n, name) in ["intent_p1", "intent_p2", "intent_p3"].into_iter().enumerate() {
            out.float(56 + 4 * n, self.number(name));
        }
        out.put(68, &(self.intent as i16).to_le_bytes());
        out.put(70, &self.code.to_le_bytes());
        out.put(72, &self.bits.to_le_bytes());
        out.put(74, &short(self.number("slice_start")));
        for (n, zoom) in self.space.zooms.iter().enumerate() {
            out.float(76 + 4 * n, *zoom);
        }
        out.float(108, FIRST as f64);
        out.float(112, self.slope);
        out.float(116, self.intercept);
        out.put(120, &short(self.number("slice_end")));
        out.put(122, &[self.number("slice_code") as u8, self.units]);
        out.float(124, self.number("cal_max"));
        out.float(128, self.number("cal_min"));
        out.float(132, self.number("slice_duration"));
        out.float(136, self.space.time_offset);
        out.text(148, 80, &self.descrip);
        out.text(228, 24, &self.aux_file);
        out.put(252, &(self.space.qform_code as i16).to_le_bytes());
        out.put(254, &(self.space.sform_code as i16).to_le_bytes());
        for (n, value) in self.space.turn.iter().chain(&self.space.shift).enumerate() {
            out.float(256 + 4 * n, *value);
        }
        for (n, value) in self.space.sform.iter().flatten().enumerate() {
            out.float(280 + 4 * n, *value);
        }
        out.text(328, 16, &self.intent_name);
        out.put(344, b"n+1\0");
        out.0
    }

    /// The header of NIfTI-2 and the bytes behind it.
    pub(super) fn second(&self) -> Vec<u8> {
        let mut out = Bytes(vec![0; SECOND]);
        out.put(0, &540i32.to_le_bytes());
        out.put(4, b"n+2\0\r\n\x1a\n");
        out.put(12, &self.code.to_le_bytes());
        out.put(14, &self.bits.to_le_bytes());
        out.put(16, &(self.shape.len() as i64).to_le_bytes());
        for n in 0..7 {
            let side = self.shape.get(n).copied().unwrap_or(1);
            out.put(24 + 8 * n, &(side as i64).to_le_bytes());
        }
        for (n, name) in ["intent_p1", "intent_p2", "intent_p3"].into_iter().enumerate() {
            out.double(80 + 8 * n, self.number(name));
        }
        for (n, zoom) in self.space.zooms.iter().enumerate() {
            out.double(104 + 8 * n, *zoom);
        }
        out.put(168, &(SECOND as i64).to_le_bytes());
        let doubles = [
            self.slope,
            self.intercept,
            self.number("cal_max"),
            self.number("cal_min"),
            self.number("slice_duration"),
            self.space.time_offset,
        ];
        for (n, value) in doubles.into_iter().enumerate() {
            out.double(176 + 8 * n, value);
        }
        out.put(224, &(self.number("slice_start") as i64).to_le_bytes());
        out.put(232, &(self.number("slice_end") as i64).to_le_bytes());
        out.text(240, 80, &self.descrip);
        out.text(320, 24, &self.aux_file);
        out.put(344, &self.space.qform_code.to_le_bytes());
        out.put(348, &self.space.sform_code.to_le_bytes());
        for (n, value) in self.space.turn.iter().chain(&self.space.shift).enumerate() {
            out.double(352 + 8 * n, *value);
        }
        for (n, value) in self.space.sform.iter().flatten().enumerate() {
            out.double(400 + 8 * n, *value);
        }
        out.put(496, &(self.number("slice_code") as i32).to_le_bytes());
        out.put(500, &i32::from(self.units).to_le_bytes());
        out.put(504, &self.intent.to_le_bytes());
        out.text(508, 16, &self.intent_name);
        out.put(524, &[self.number("dim_info") as u8]);
        out.0
    }
}

/// The code of the units of space and time: of attributes, else of the axes.
fn units(attributes: &Attributes, axes: &[crate::data::content::array::Axis]) -> u8 {
    let of_axis = |n: usize| axes.get(n).and_then(|axis| axis.unit.clone());
    let space = text(attributes, "unit of space").or_else(|| {
        let first = of_axis(0)?;
        (1..axes.len().min(3)).all(|n| of_axis(n).as_ref() == Some(&first)).then_some(first)
    });
    let time = text(attributes, "unit of time").or_else(|| of_axis(3));
    let space = match space.as_deref() {
        Some("m") => 1,
        Some("mm") => 2,
        Some("µm" | "μm" | "um" | "micrometer" | "micron") => 3,
        _ => 0,
    };
    let time = match time.as_deref() {
        Some("s") => 8,
        Some("ms") => 16,
        Some("µs" | "μs" | "us") => 24,
        Some("Hz") => 32,
        Some("ppm") => 40,
        Some("rad/s") => 48,
        _ => 0,
    };
    space | time
}

/// A header that is being filled.
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn float(&mut self, at: usize, value: f64) {
        self.put(at, &(value as f32).to_le_bytes());
    }

    fn double(&mut self, at: usize, value: f64) {
        self.put(at, &value.to_le_bytes());
    }

    /// A text in `len` bytes, cut at a character where it is longer.
    fn text(&mut self, at: usize, len: usize, text: &str) {
        let mut fits = text.len().min(len - 1);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.put(at, text.as_bytes().get(..fits).unwrap_or_default());
    }
}

/// Whether attributes hold a list of so many numbers.
pub(super) fn list(attributes: &Attributes, name: &str, len: usize) -> Option<Vec<f64>> {
    Some(numbers(&json(attributes.get(name)?))).filter(|numbers| numbers.len() == len)
}
