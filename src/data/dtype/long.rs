//! `long double` of C, as NumPy stores it: x87's 80 bits (sign, 15 bits of exponent, 64 of mantissa with
//! its leading one spelled out) in 10, 12 or 16 bytes, or IEEE 754's binary128. Values are told in the
//! fewest digits that read back to the same bits.

use std::cmp::Ordering;

/// The kind of a long double.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Long {
    /// x87 in so many bytes (10, 12 or 16), of which the ones behind the tenth mean nothing.
    X87(u32),
    /// IEEE 754 binary128.
    Quad,
}

/// A finite value: ± mantissa × 2^exponent.
struct Parts {
    negative: bool,
    mantissa: u128,
    exponent: i32,
    /// Whether the value below lies at half the distance of the one above.
    is_power: bool,
}

/// What the bits of a value say.
enum Value {
    Nan,
    Infinite(bool),
    Finite(Parts),
}

impl Long {
    /// Bytes of one element.
    pub fn size(self) -> u32 {
        match self {
            Long::X87(bytes) => bytes,
            Long::Quad => 16,
        }
    }

    /// NumPy's name, which counts the bytes.
    pub fn name(self) -> String {
        format!("float{}", self.size() * 8)
    }

    /// Which kind the first elements of an array of 16 bytes each look like: x87's leading one makes
    /// them tell apart.
    pub fn guess(sample: &[u8]) -> Long {
        let elements = sample.as_chunks::<16>().0;
        let is_x87 = |b: &[u8; 16]| {
            let (exponent, leading) = (u16::from_le_bytes([b[8], b[9]]) & 0x7fff, b[7] >> 7);
            (exponent != 0) == (leading == 1)
        };
        // Quads that are small whole numbers have zeros where x87 has everything.
        let short = elements.iter().all(|b| b[..10].iter().all(|&byte| byte == 0));
        let quad = elements.iter().any(|b| !is_x87(b)) || short && elements.iter().any(|b| b[14..] != [0, 0]);
        if quad { Long::Quad } else { Long::X87(16) }
    }

    fn value(self, bytes: &[u8]) -> Option<Value> {
        let (word, mantissa, bits) = match self {
            Long::X87(_) => {
                let mantissa = u64::from_le_bytes(*bytes.first_chunk()?);
                (u16::from_le_bytes([*bytes.get(8)?, *bytes.get(9)?]), u128::from(mantissa), 63)
            }
            Long::Quad => {
                let all = u128::from_le_bytes(*bytes.first_chunk()?);
                ((all >> 112) as u16, all & ((1 << 112) - 1), 112)
            }
        };
        let (negative, power) = (word >> 15 == 1, i32::from(word & 0x7fff));
        let fraction = mantissa & ((1 << bits) - 1);
        if power == 0x7fff {
            return Some(if fraction == 0 { Value::Infinite(negative) } else { Value::Nan });
        }
        let explicit = self != Long::Quad;
        if explicit && power > 0 && mantissa >> 63 == 0 {
            // Patterns that no processor since the 387 makes or takes.
            return Some(Value::Nan);
        }
        let mantissa = if explicit || power == 0 { mantissa } else { mantissa | 1 << bits };
        let exponent = power.max(1) - 16383 - bits;
        Some(Value::Finite(Parts { negative, mantissa, exponent, is_power: fraction == 0 && power > 1 }))
    }

    /// The nearest f64; NaN for what is too short.
    pub fn to_f64(self, bytes: &[u8]) -> f64 {
        match self.value(bytes) {
            None | Some(Value::Nan) => f64::NAN,
            Some(Value::Infinite(negative)) => {
                if negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
            Some(Value::Finite(parts)) => {
                // In two steps, since the powers reach beyond those of an f64.
                let half = parts.exponent / 2;
                let value = parts.mantissa as f64 * 2f64.powi(half) * 2f64.powi(parts.exponent - half);
                if parts.negative { -value } else { value }
            }
        }
    }

    /// The value in the fewest digits that read back to it.
    pub fn text(self, bytes: &[u8]) -> Option<String> {
        Some(match self.value(bytes)? {
            Value::Nan => "nan".to_owned(),
            Value::Infinite(negative) => if negative { "-inf" } else { "inf" }.to_owned(),
            Value::Finite(parts) => {
                let sign = if parts.negative { "-" } else { "" };
                let (digits, point) = digits(&parts);
                format!("{sign}{}", layout(&digits, point))
            }
        })
    }
}

/// Digits and the place of the point, as Rust writes an f64: with an exponent from 1e16 on and below 1e-4.
fn layout(digits: &str, point: i32) -> String {
    if digits.is_empty() {
        return "0.0".to_owned();
    }
    let count = digits.len() as i32;
    if !(-3..=16).contains(&point) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        return format!("{first}{rest}e{}", point - 1);
    }
    match point {
        p if p <= 0 => format!("0.{}{digits}", "0".repeat(-p as usize)),
        p if p >= count => format!("{digits}{}.0", "0".repeat((p - count) as usize)),
        p => {
            let (whole, rest) = digits.split_at(p as usize);
            format!("{whole}.{rest}")
        }
    }
}

/// The shortest digits, and where the point stands: the value is 0.DIGITS × 10^point. The free-format
/// algorithm of Steele and White, as Dybvig and Burger state it ("Printing Floating-Point Numbers Quickly
/// and Accurately", 1996), in whole numbers of any length.
fn digits(parts: &Parts) -> (String, i32) {
    if parts.mantissa == 0 {
        return (String::new(), 0);
    }
    let even = parts.mantissa.is_multiple_of(2);
    let up = parts.exponent.max(0) as u32;
    let down = (-parts.exponent).max(0) as u32;
    // The value is r / s; the neighbours are reached at half of `above` and `below` (all doubled once).
    let narrow = u32::from(parts.is_power);
    let mut r = Big::new(parts.mantissa).shifted(up + 1 + narrow);
    let mut s = Big::new(1).shifted(down + 1 + narrow);
    let mut above = Big::new(1).shifted(up + narrow);
    let mut below = Big::new(1).shifted(up);
    let bits = 128 - parts.mantissa.leading_zeros() as i32;
    let mut point = (f64::from(bits - 1 + parts.exponent) * std::f64::consts::LOG10_2).ceil() as i32;
    for _ in 0..point.unsigned_abs() {
        match point > 0 {
            true => s.times(10),
            false => [&mut r, &mut above, &mut below].into_iter().for_each(|n| n.times(10)),
        }
    }
    let over = |r: &Big, above: &Big, s: &Big| match r.plus(above).cmp(s) {
        Ordering::Equal => even,
        other => other == Ordering::Greater,
    };
    while over(&r, &above, &s) {
        s.times(10);
        point += 1;
    }
    let mut out = String::new();
    loop {
        [&mut r, &mut above, &mut below].into_iter().for_each(|n| n.times(10));
        let mut digit = 0;
        while r >= s {
            r = r.minus(&s);
            digit += 1;
        }
        let low = match r.cmp(&below) {
            Ordering::Equal => even,
            other => other == Ordering::Less,
        };
        let high = over(&r, &above, &s);
        if !low && !high {
            // The estimate of the point may be one too high.
            if digit == 0 && out.is_empty() {
                point -= 1;
            } else {
                out.push(char::from(b'0' + digit));
            }
            continue;
        }
        let nearer = r.plus(&r) >= s;
        digit += u8::from(if low && high { nearer } else { high });
        out.push(char::from(b'0' + digit));
        return (out, point);
    }
}

/// A whole number of any length, the lowest 32 bits first, without zeros at the top.
#[derive(Clone, PartialEq, Eq)]
struct Big(Vec<u32>);

impl Big {
    fn new(value: u128) -> Self {
        Big((0..4).map(|n| (value >> (32 * n)) as u32).collect()).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn shifted(&self, bits: u32) -> Self {
        let mut out = vec![0; (bits / 32) as usize];
        let mut carry = 0u64;
        for &word in &self.0 {
            let wide = u64::from(word) << (bits % 32) | carry;
            out.push(wide as u32);
            carry = wide >> 32;
        }
        out.push(carry as u32);
        Big(out).trimmed()
    }

    fn times(&mut self, factor: u32) {
        let mut carry = 0u64;
        for word in &mut self.0 {
            let wide = u64::from(*word) * u64::from(factor) + carry;
            *word = wide as u32;
            carry = wide >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn plus(&self, other: &Big) -> Big {
        let count = self.0.len().max(other.0.len());
        let mut out = Vec::with_capacity(count + 1);
        let mut carry = 0u64;
        for n in 0..count {
            let at = |big: &Big| u64::from(big.0.get(n).copied().unwrap_or(0));
            let wide = at(self) + at(other) + carry;
            out.push(wide as u32);
            carry = wide >> 32;
        }
        out.push(carry as u32);
        Big(out).trimmed()
    }

    /// The difference; `other` is not larger.
    fn minus(&self, other: &Big) -> Big {
        let mut out = Vec::with_capacity(self.0.len());
        let mut borrow = 0i64;
        for (n, &word) in self.0.iter().enumerate() {
            let wide = i64::from(word) - i64::from(other.0.get(n).copied().unwrap_or(0)) - borrow;
            out.push(wide as u32);
            borrow = i64::from(wide < 0);
        }
        Big(out).trimmed()
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An f64 as x87 has it.
    fn x87(value: f64) -> [u8; 16] {
        let bits = value.to_bits();
        let (power, fraction) = ((bits >> 52 & 0x7ff) as u16, bits & ((1 << 52) - 1));
        let (power, mantissa) = match (power, fraction) {
            (0, 0) => (0, 0),
            (0, _) => {
                let up = fraction.leading_zeros();
                (16383 - 1022 - (up as u16 - 11), fraction << up)
            }
            (0x7ff, _) => (0x7fff, 1 << 63 | fraction << 11),
            _ => (power + 16383 - 1023, 1 << 63 | fraction << 11),
        };
        let mut out = [0xAA; 16];
        out[..8].copy_from_slice(&mantissa.to_le_bytes());
        out[8..10].copy_from_slice(&(power | ((bits >> 63) as u16) << 15).to_le_bytes());
        out
    }

    #[test]
    fn values_at_their_corners() {
        let long = Long::X87(16);
        for (value, text) in
            [(1.0, "1.0"), (-2.5, "-2.5"), (0.0, "0.0"), (1e22, "1e22"), (123456.0, "123456.0"), (0.5, "0.5")]
        {
            assert_eq!(long.text(&x87(value)).unwrap(), text);
        }
        // NumPy's own texts of np.longdouble("0.1"), the largest and the smallest number.
        let mut tenth = [0u8; 16];
        tenth[..10].copy_from_slice(&[0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xfb, 0x3f]);
        assert_eq!(long.text(&tenth).unwrap(), "0.1");
        let most = [255, 255, 255, 255, 255, 255, 255, 255, 0xfe, 0x7f];
        assert_eq!(long.text(&most).unwrap(), "1.189731495357231765e4932");
        let least = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(long.text(&least).unwrap(), "4e-4951");
        let quad_one = 0x3fffu128 << 112;
        assert_eq!(Long::Quad.text(&quad_one.to_le_bytes()).unwrap(), "1.0");
        assert_eq!(
            Long::Quad.text(&(quad_one + 1).to_le_bytes()).unwrap(),
            "1.0000000000000000000000000000000002"
        );
        assert_eq!(Long::Quad.to_f64(&(0xc000u128 << 112 | 1 << 111).to_le_bytes()), -3.0);
    }

    #[test]
    fn the_two_kinds_tell_apart() {
        let ours: Vec<u8> = [0.0, 1.0, 2.0, 1.0 / 3.0].into_iter().flat_map(x87).collect();
        assert_eq!(Long::guess(&ours), Long::X87(16));
        let quads: Vec<u8> =
            [0u128, 0x3fff << 112, 0x3ffd_5555 << 96].into_iter().flat_map(u128::to_le_bytes).collect();
        assert_eq!(Long::guess(&quads), Long::Quad);
        let wholes: Vec<u8> = [0u128, 0x3fff << 112].into_iter().flat_map(u128::to_le_bytes).collect();
        assert_eq!(Long::guess(&wholes), Long::Quad);
        assert_eq!(Long::guess(&[0; 64]), Long::X87(16));
    }

    proptest! {
        #[test]
        fn every_f64_goes_through(bits: u64) {
            let value = f64::from_bits(bits);
            let long = Long::X87(16);
            let back = long.to_f64(&x87(value));
            prop_assert!(back == value || value.is_nan() && back.is_nan(), "{} {}", value, back);
            let read: f64 = long.text(&x87(value)).unwrap().parse().unwrap();
            prop_assert!(read == value || value.is_nan() && read.is_nan(), "{} {}", value, read);
        }
    }
}
