//! Elements as numbers of one type, f64: what pictures, lines and searches are made of. Exact values are texts, by
//! [`crate::data::cell`].

use crate::data::cell;
use crate::data::dtype::DType;

/// What of a complex number is drawn. Real numbers are themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComplexPart {
    /// The distance from zero.
    #[default]
    Magnitude,
    /// The angle, −π to π.
    Phase,
    /// The real part.
    Real,
    /// The imaginary part.
    Imaginary,
}

impl ComplexPart {
    /// All of them, with their words.
    pub const ALL: [(ComplexPart, &str); 4] = [
        (ComplexPart::Magnitude, "amplitude"),
        (ComplexPart::Phase, "phase"),
        (ComplexPart::Real, "real"),
        (ComplexPart::Imaginary, "imaginary"),
    ];

    /// The word in menus and sessions.
    pub fn word(self) -> &'static str {
        ComplexPart::ALL.iter().find(|(part, _)| *part == self).map_or("", |(_, word)| word)
    }

    fn of(self, real: f64, imaginary: f64) -> f64 {
        match self {
            ComplexPart::Magnitude => real.hypot(imaginary),
            ComplexPart::Phase => imaginary.atan2(real),
            ComplexPart::Real => real,
            ComplexPart::Imaginary => imaginary,
        }
    }
}

/// Whether elements can be drawn as colours and lines: numbers, complex numbers, times.
pub fn has_numbers(dtype: &DType) -> bool {
    dtype.is_real() || dtype.is_complex() || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_))
}

/// Elements as numbers; not-a-time is NaN.
pub fn numbers(dtype: &DType, part: ComplexPart, raw: &[u8]) -> Vec<f64> {
    let mut out = Vec::with_capacity(raw.len() / (dtype.size().max(1) as usize));
    match dtype {
        DType::C32 => {
            let wide = |bytes| half::f16::from_le_bytes(bytes).to_f64();
            let pairs = raw.as_chunks::<2>().0.as_chunks::<2>().0.iter();
            out.extend(pairs.map(|&[real, imaginary]| part.of(wide(real), wide(imaginary))));
        }
        DType::C64 => {
            out.extend(raw.as_chunks::<4>().0.as_chunks::<2>().0.iter().map(|&[real, imaginary]| {
                part.of(f32::from_le_bytes(real).into(), f32::from_le_bytes(imaginary).into())
            }))
        }
        DType::C128 => {
            out.extend(
                raw.as_chunks::<8>().0.as_chunks::<2>().0.iter().map(|&[real, imaginary]| {
                    part.of(f64::from_le_bytes(real), f64::from_le_bytes(imaginary))
                }),
            )
        }
        DType::DateTime(_) | DType::TimeDelta(_) => {
            let count = |&bytes: &[u8; 8]| match i64::from_le_bytes(bytes) {
                i64::MIN => f64::NAN,
                count => count as f64,
            };
            out.extend(raw.as_chunks::<8>().0.iter().map(count));
        }
        _ => dtype.decode(raw, &mut out),
    }
    out
}

/// How an element is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NonFinite {
    /// Not a number.
    Nan,
    /// +Inf.
    PositiveInfinity,
    /// −Inf.
    NegativeInfinity,
}

impl NonFinite {
    /// All of them.
    pub const ALL: [NonFinite; 3] =
        [NonFinite::Nan, NonFinite::PositiveInfinity, NonFinite::NegativeInfinity];

    /// The word on the screen.
    pub fn word(self) -> &'static str {
        match self {
            NonFinite::Nan => "NaN",
            NonFinite::PositiveInfinity => "+Inf",
            NonFinite::NegativeInfinity => "−Inf",
        }
    }

    /// How a number is not finite, if it is not.
    pub fn of(value: f64) -> Option<NonFinite> {
        if value.is_finite() {
            None
        } else if value.is_nan() {
            Some(NonFinite::Nan)
        } else {
            Some(if value > 0.0 { NonFinite::PositiveInfinity } else { NonFinite::NegativeInfinity })
        }
    }
}

/// The bits of an element as one hexadecimal number, of a complex one as two, for types that have such.
pub fn bits(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let part = match dtype {
        DType::C32 => DType::F16,
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        _ => return bits_of_one(dtype, bytes),
    };
    let (real, imaginary) = bytes.split_at_checked(part.size() as usize)?;
    Some(format!("{} {}", bits_of_one(&part, real)?, bits_of_one(&part, imaginary)?))
}

fn bits_of_one(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let numeric = dtype.is_real() || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_));
    // What elements of a block are delivered as is stored nowhere.
    if !numeric || bytes.is_empty() || matches!(dtype, DType::Blocks(_)) {
        return None;
    }
    let digits = (dtype.bits() as usize).div_ceil(4);
    let text: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("0x{}", text.get(text.len().saturating_sub(digits)..)?))
}

/// The bits of a float of up to 16 bits by what they are: `0|11111111|1000000`, sign, exponent, mantissa; without the sign
/// where the type has none.
pub fn bit_fields(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let (sign, exponent, mantissa) = match dtype {
        DType::F16 => (1, 5, 10),
        DType::BF16 => (1, 8, 7),
        DType::Mini(kind) => kind.fields(),
        _ => return None,
    };
    if bytes.len() as u64 != dtype.size() {
        return None;
    }
    let pattern = match *bytes {
        [low] => u32::from(low),
        [low, high] => u32::from(u16::from_le_bytes([low, high])),
        _ => return None,
    };
    let part = |shift: u32, bits: u32| {
        let value = pattern >> shift & ((1 << bits) - 1);
        (bits > 0).then(|| format!("{value:0width$b}", width = bits as usize))
    };
    let parts = [part(exponent + mantissa, sign), part(mantissa, exponent), part(0, mantissa)];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("|"))
}

/// Whether an element is NaN (or not-a-time).
pub fn is_nan(dtype: &DType, bytes: &[u8]) -> bool {
    has_numbers(dtype)
        && numbers(dtype, ComplexPart::Real, bytes)
            .iter()
            .chain(&numbers(dtype, ComplexPart::Imaginary, bytes))
            .any(|n| n.is_nan())
}

/// The value as text, NaN in capitals as people know it.
pub fn element_text(dtype: &DType, bytes: &[u8]) -> String {
    let text = cell::element(dtype, bytes);
    match text.as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "+Inf".to_owned(),
        "-inf" => "−Inf".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_and_times_are_numbers_too() {
        let raw: Vec<u8> = [3.0f32, 4.0, 0.0, -1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(numbers(&DType::C64, ComplexPart::Magnitude, &raw), [5.0, 1.0]);
        assert_eq!(numbers(&DType::C64, ComplexPart::Imaginary, &raw), [4.0, -1.0]);
        let unit = crate::data::dtype::TimeUnit { count: 1, base: crate::data::dtype::TimeBase::Day };
        let raw: Vec<u8> = [i64::MIN, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
        let times = numbers(&DType::DateTime(unit), ComplexPart::Real, &raw);
        assert!(times[0].is_nan() && times[1] == 5.0);
    }

    #[test]
    fn bits_of_small_floats_are_sign_exponent_and_mantissa() {
        use crate::data::dtype::Mini;
        let of = |dtype, bytes: &[u8]| bit_fields(&dtype, bytes);
        assert_eq!(of(DType::BF16, &[0xc0, 0x7f]).as_deref(), Some("0|11111111|1000000"));
        assert_eq!(of(DType::F16, &[0x00, 0xbc]).as_deref(), Some("1|01111|0000000000"));
        assert_eq!(of(DType::Mini(Mini::F4E2M1), &[0x0d]).as_deref(), Some("1|10|1"));
        assert_eq!(of(DType::Mini(Mini::F6E3M2), &[0x25]).as_deref(), Some("1|001|01"));
        assert_eq!(of(DType::Mini(Mini::F8E8M0), &[0x7f]).as_deref(), Some("01111111"));
        assert_eq!((of(DType::F32, &[0; 4]), of(DType::F16, &[0])), (None, None));
        for kind in Mini::ALL {
            let (sign, exponent, mantissa) = kind.fields();
            assert_eq!(sign + exponent + mantissa, kind.bits(), "{kind:?}");
        }
    }

    #[test]
    fn bits_are_as_wide_as_the_type() {
        assert_eq!(bits(&DType::BF16, &[0xc0, 0x7f]).as_deref(), Some("0x7fc0"));
        assert_eq!(bits(&DType::Mini(crate::data::dtype::Mini::F4E2M1), &[0x07]).as_deref(), Some("0x7"));
        assert_eq!(bits(&DType::U8, &[9]).as_deref(), Some("0x09"));
        assert_eq!(bits(&DType::Str(1), &[1, 0, 0, 0]), None);
        let complex: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|part| part.to_le_bytes()).collect();
        assert_eq!(bits(&DType::C64, &complex).as_deref(), Some("0x3f800000 0xc0000000"));
        assert_eq!(bits(&DType::C64, &[]), None);
        assert!(is_nan(&DType::BF16, &[0xc0, 0x7f]) && !is_nan(&DType::U8, &[9]));
        assert_eq!(element_text(&DType::F32, &f32::NEG_INFINITY.to_le_bytes()), "−Inf");
    }
}
