//! Numbers of one type as those of another: rounded once, to the nearest, of ties to the even one. Whole numbers that do
//! not fit become the nearest that does, floats infinite; NaN becomes zero among whole numbers.

use super::DType;
use super::with_integer;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// What a cast does to values of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// All values are kept.
    Exact,
    /// Digits are rounded.
    Rounded,
    /// Digits are rounded, and there are values beyond what the type has.
    Cut,
}

/// The numbers that a type has.
struct Numbers {
    /// Significant bits, the exponents of the largest and of the smallest bit.
    digits: i32,
    most: i32,
    least: i32,
    float: bool,
    signed: bool,
}

impl Numbers {
    fn of(dtype: &DType) -> Option<Numbers> {
        let whole = |bits: i32, signed| Numbers { digits: bits, most: bits, least: 0, float: false, signed };
        let float = |digits, most, least| Numbers { digits, most, least, float: true, signed: true };
        Some(match dtype {
            DType::Bool => whole(1, false),
            DType::I8 => whole(7, true),
            DType::I16 => whole(15, true),
            DType::I32 => whole(31, true),
            DType::I64 => whole(63, true),
            DType::U8 => whole(8, false),
            DType::U16 => whole(16, false),
            DType::U32 => whole(32, false),
            DType::U64 => whole(64, false),
            DType::F16 => float(11, 16, -24),
            DType::BF16 => float(8, 128, -133),
            DType::F32 | DType::Blocks(_) => float(24, 128, -149),
            DType::F64 => float(53, 1024, -1074),
            DType::Long(_) => float(64, 16_384, -16_445),
            DType::Mini(kind) => {
                let (_, exponent, mantissa) = kind.fields();
                // Wide enough for any bias that there is.
                match exponent {
                    8 => float(1, 128, -127),
                    _ => float(mantissa as i32 + 1, 16, -24),
                }
            }
            _ => return None,
        })
    }
}

impl DType {
    /// What values of this type lose as those of `to`; `None` where one of them is no number.
    pub fn fit(&self, to: &DType) -> Option<Fit> {
        let (from, into) = (Numbers::of(self)?, Numbers::of(to)?);
        if self == to {
            return Some(Fit::Exact);
        }
        let signs = into.signed || !from.signed;
        Some(match (from.float, into.float) {
            (true, false) => Fit::Cut,
            _ if from.most > into.most || !signs => Fit::Cut,
            _ if from.digits > into.digits || from.least < into.least => Fit::Rounded,
            _ => Fit::Exact,
        })
    }

    /// Delivered elements of this type as those of `to`, into `out`, which has room for as many. Whether both are types
    /// of numbers that it knows.
    pub fn cast(&self, to: &DType, raw: &[u8], out: &mut [u8]) -> bool {
        match (self, to) {
            (from, to) if from == to => {
                out.iter_mut().zip(raw).for_each(|(to, from)| *to = *from);
                true
            }
            (DType::F32 | DType::Blocks(_), DType::F32) => DType::F32.cast(to, raw, out),
            (DType::F32 | DType::Blocks(_), DType::F16 | DType::BF16) => {
                of_f32(to, raw, out);
                true
            }
            (DType::BF16, DType::F32) => {
                let each = out.as_chunks_mut::<4>().0.iter_mut().zip(raw.as_chunks::<2>().0);
                each.for_each(|(to, &[low, high])| *to = [0, 0, low, high]);
                true
            }
            (DType::I64 | DType::U64, _) => self.cast_whole(to, raw, out),
            _ => {
                let mut values = Vec::with_capacity(raw.len() / self.size().max(1) as usize);
                self.decode(raw, &mut values);
                of_f64(to, &values, out)
            }
        }
    }

    /// The same of whole numbers that a float64 may not have.
    fn cast_whole(&self, to: &DType, raw: &[u8], out: &mut [u8]) -> bool {
        let mut values: Vec<i128> = Vec::with_capacity(raw.len() / 8);
        self.integers(raw, |value| values.push(value));
        with_integer!(to, T => {
            let each = out.as_chunks_mut::<{ size_of::<T>() }>().0.iter_mut().zip(&values);
            each.for_each(|(to, &v)| *to = (v.clamp(T::MIN.into(), T::MAX.into()) as T).to_le_bytes());
        }, _ => match to {
            DType::F64 => put(out, &values, |v| (v as f64).to_le_bytes()),
            DType::F32 => put(out, &values, |v| (v as f32).to_le_bytes()),
            DType::F16 => put(out, &values, |v| f16::from_f32(odd_of_whole(v)).to_le_bytes()),
            DType::BF16 => put(out, &values, |v| bf16::from_f32(odd_of_whole(v)).to_le_bytes()),
            DType::Bool => put(out, &values, |v| [u8::from(v != 0)]),
            _ => return false,
        });
        true
    }
}

fn put<V: Copy, const N: usize>(out: &mut [u8], values: &[V], make: impl Fn(V) -> [u8; N]) {
    out.as_chunks_mut::<N>().0.iter_mut().zip(values).for_each(|(to, &v)| *to = make(v));
}

/// float32 as halves of either kind.
fn of_f32(to: &DType, raw: &[u8], out: &mut [u8]) {
    const STEP: usize = 1024;
    for (raw, out) in raw.chunks(STEP * 4).zip(out.chunks_mut(STEP * 2)) {
        let mut values = [0f32; STEP];
        let count = raw.len() / 4;
        values.iter_mut().zip(raw.as_chunks::<4>().0).for_each(|(v, b)| *v = f32::from_le_bytes(*b));
        let values = values.get(..count).unwrap_or_default();
        if *to == DType::BF16 {
            put(out, values, |v| bf16::from_f32(v).to_le_bytes());
            continue;
        }
        let mut halves = [f16::ZERO; STEP];
        if let Some(halves) = halves.get_mut(..count) {
            halves.convert_from_f32_slice(values);
            put(out, halves, f16::to_le_bytes);
        }
    }
}

fn of_f64(to: &DType, values: &[f64], out: &mut [u8]) -> bool {
    with_integer!(to, T => {
        let each = out.as_chunks_mut::<{ size_of::<T>() }>().0.iter_mut().zip(values);
        each.for_each(|(to, v)| *to = (v.round_ties_even() as T).to_le_bytes());
    }, _ => match to {
        DType::F64 => put(out, values, f64::to_le_bytes),
        DType::F32 => put(out, values, |v| (v as f32).to_le_bytes()),
        DType::F16 => put(out, values, |v| f16::from_f32(odd(v)).to_le_bytes()),
        DType::BF16 => put(out, values, |v| bf16::from_f32(odd(v)).to_le_bytes()),
        DType::Bool => put(out, values, |v| [u8::from(v != 0.0)]),
        _ => return false,
    });
    true
}

/// The float32 that is next to a number which is none, and has an odd last bit: what is rounded on from there is rounded
/// as the number itself would be.
fn odd(value: f64) -> f32 {
    let near = value as f32;
    let (size, near_size) = (value.abs(), f64::from(near).abs());
    if near_size == size || value.is_nan() || near.is_infinite() {
        return near;
    }
    towards(near, near_size > size)
}

/// The same of a whole number.
fn odd_of_whole(value: i128) -> f32 {
    let near = value as f32;
    let back = near as i128;
    if back == value { near } else { towards(near, back.unsigned_abs() > value.unsigned_abs()) }
}

/// A float32 that is even, moved to its neighbour; one that is odd.
fn towards(near: f32, to_zero: bool) -> f32 {
    match near.to_bits() {
        odd if odd & 1 == 1 => near,
        even if to_zero => f32::from_bits(even - 1),
        even => f32::from_bits(even + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dtype::Mini;
    use proptest::prelude::*;

    fn cast(from: &DType, to: &DType, raw: &[u8]) -> Vec<u8> {
        let count = raw.len() / from.size() as usize;
        let mut out = vec![0; count * to.size() as usize];
        assert!(from.cast(to, raw, &mut out), "{from} to {to}");
        out
    }

    #[test]
    fn values_are_rounded_once_and_ties_to_even() {
        let halves = |v: f64| cast(&DType::F64, &DType::F16, &v.to_le_bytes());
        // Just over the middle of two halves, and just below what float32 can tell from it.
        let middle = 1.0 + 2f64.powi(-11);
        assert_eq!(halves(middle), f16::from_f32(1.0).to_le_bytes());
        assert_eq!(halves(middle + 2f64.powi(-40)), f16::from_f32(1.0 + 2f32.powi(-10)).to_le_bytes());
        assert_eq!(halves(65_519.999), f16::MAX.to_le_bytes());
        assert_eq!(halves(65_520.0), f16::INFINITY.to_le_bytes());
        assert_eq!(halves(2f64.powi(-25) + 2f64.powi(-60)), f16::from_bits(1).to_le_bytes());
        let brain = |v: i64| cast(&DType::I64, &DType::BF16, &v.to_le_bytes());
        assert_eq!(
            brain((1 << 62) + (1 << 54) + 1),
            bf16::from_f32(2f32.powi(62) + 2f32.powi(55)).to_le_bytes()
        );
        assert_eq!(brain((1 << 62) + (1 << 54)), bf16::from_f32(2f32.powi(62)).to_le_bytes());
        let bytes = |v: f32| cast(&DType::F32, &DType::I8, &v.to_le_bytes())[0] as i8;
        assert_eq!([0.5, 1.5, -2.5, 300.0, f32::NAN].map(bytes), [0, 2, -2, 127, 0]);
        assert_eq!(cast(&DType::I64, &DType::U8, &(-5i64).to_le_bytes()), [0]);
    }

    #[test]
    fn what_is_said_to_be_exact_is() {
        let numbers = [
            DType::Bool,
            DType::I8,
            DType::U8,
            DType::I16,
            DType::U16,
            DType::I32,
            DType::U32,
            DType::I64,
            DType::U64,
            DType::F16,
            DType::BF16,
            DType::F32,
            DType::F64,
        ];
        let minis = Mini::ALL.map(DType::Mini);
        for from in numbers.iter().chain(&minis) {
            for to in &numbers {
                let raw: Vec<u8> = match from {
                    DType::Bool => vec![0, 1],
                    DType::Mini(kind) => (0..1u32 << kind.bits()).map(|n| n as u8).collect(),
                    _ => (0..64 * from.size()).map(|n| (n.wrapping_mul(37) ^ n >> 3) as u8).collect(),
                };
                let there = cast(from, to, &raw);
                if from.fit(to) == Some(Fit::Exact) {
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    from.decode(&raw, &mut a);
                    to.decode(&there, &mut b);
                    assert!(a.iter().zip(&b).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{from} {to}");
                }
            }
        }
        let fit = |from: DType, to: DType| from.fit(&to).unwrap();
        assert_eq!(fit(DType::F32, DType::BF16), Fit::Rounded);
        assert_eq!(fit(DType::F32, DType::F16), Fit::Cut);
        assert_eq!(fit(DType::BF16, DType::F16), Fit::Cut);
        assert_eq!(fit(DType::F16, DType::BF16), Fit::Rounded);
        assert_eq!(fit(DType::I64, DType::F64), Fit::Rounded);
        assert_eq!(DType::Str(1).fit(&DType::F32), None);
    }

    proptest! {
        #[test]
        fn casts_of_float32_are_those_of_half(bits in prop::collection::vec(any::<u32>(), 1..3000)) {
            let raw: Vec<u8> = bits.iter().flat_map(|b| b.to_le_bytes()).collect();
            let wide = cast(&DType::F32, &DType::F64, &raw);
            for to in [DType::F16, DType::BF16] {
                let (direct, by_f64) = (cast(&DType::F32, &to, &raw), cast(&DType::F64, &to, &wide));
                for (n, bits) in bits.iter().enumerate() {
                    let is_nan = f32::from_bits(*bits).is_nan();
                    prop_assert!(is_nan || direct[2 * n..2 * n + 2] == by_f64[2 * n..2 * n + 2]);
                }
            }
        }
    }
}
