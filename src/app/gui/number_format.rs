//! How the numbers of a column are written on the grid: as they are stored, or rounded, grouped, with exponents. The
//! text of a cell, which has all digits, is what is rounded; status bar, copies and the value in full keep it.

use serde::{Deserialize, Serialize};

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NumberFormat {
    /// With all the digits that they have.
    #[default]
    Exact,
    /// The same with a comma after every three digits before the point.
    Thousands,
    /// Rounded to so many digits behind the point.
    Digits(u8),
    /// One digit before the point, four behind it, and an exponent.
    Scientific,
}

/// Digits that are written out around the point; larger and smaller numbers have exponents.
const WRITTEN: i64 = 40;
/// Digits behind the point of numbers with exponents.
const MANTISSA: usize = 4;

impl NumberFormat {
    /// Those that a menu offers.
    pub(crate) const ALL: [NumberFormat; 8] = [
        NumberFormat::Exact,
        NumberFormat::Thousands,
        NumberFormat::Digits(0),
        NumberFormat::Digits(1),
        NumberFormat::Digits(2),
        NumberFormat::Digits(3),
        NumberFormat::Digits(6),
        NumberFormat::Scientific,
    ];

    /// What the menu calls it.
    pub(crate) fn words(self) -> String {
        match self {
            NumberFormat::Exact => "Exact, as stored".to_owned(),
            NumberFormat::Thousands => "Thousands  1,234,567.8".to_owned(),
            NumberFormat::Digits(0) => "Whole  1235".to_owned(),
            NumberFormat::Digits(digits) => {
                format!(
                    "{}  {:.*}",
                    gander::bytes::display::plural(u64::from(digits), "digit"),
                    usize::from(digits),
                    1234.5678
                )
            }
            NumberFormat::Scientific => "Scientific  1.2346e3".to_owned(),
        }
    }

    /// A number in this format; `None` where the text is no number, or stays as it is.
    pub(crate) fn apply(self, text: &str) -> Option<String> {
        let number = Number::of(text)?;
        match self {
            NumberFormat::Exact => None,
            NumberFormat::Scientific => Some(number.scientific()),
            NumberFormat::Digits(_) if number.point > WRITTEN => Some(number.scientific()),
            NumberFormat::Digits(digits) => {
                Some(number.rounded(i64::from(digits)).plain(usize::from(digits)))
            }
            NumberFormat::Thousands if number.point.abs() > WRITTEN => None,
            NumberFormat::Thousands => {
                let behind = (number.digits.len() as i64 - number.point).max(0);
                Some(grouped(&number.plain(behind as usize)))
            }
        }
    }
}

/// How many digits a number has behind its point; `None` where it has an exponent or is none.
pub(crate) fn digits_behind_point(text: &str) -> Option<usize> {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    (!whole.is_empty() && is_plain(whole) && is_plain(behind)).then_some(behind.len())
}

/// A number by its digits.
struct Number {
    is_negative: bool,
    /// Without zeros at the beginning, unless it is zero.
    digits: Vec<u8>,
    /// How many of them stand before the point; may be negative, or more than there are.
    point: i64,
}

impl Number {
    fn of(text: &str) -> Option<Number> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(m, e)| (m, Some(e)));
        let exponent: i64 = exponent.map_or(Some(0), |exponent| exponent.parse().ok())?;
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(behind.bytes()).collect();
        if digits.is_empty() || exponent.abs() > 1_000_000 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count().min(digits.len() - 1);
        let is_zero = digits.iter().all(|digit| *digit == b'0');
        let point = if is_zero { 1 } else { whole.len() as i64 + exponent - zeros as i64 };
        Some(Number { is_negative, digits: digits[zeros..].to_vec(), point })
    }

    /// Rounded to so many digits behind the point, of two that are as near away from zero.
    fn rounded(mut self, behind: i64) -> Number {
        let kept = self.point + behind;
        if kept < 0 {
            return Number { digits: vec![b'0'], point: 1, ..self };
        }
        let kept = kept as usize;
        let Some(next) = self.digits.get(kept).copied() else { return self };
        self.digits.truncate(kept);
        if next >= b'5' {
            let nines = self.digits.iter().rev().take_while(|digit| **digit == b'9').count();
            let at = self.digits.len() - nines;
            self.digits[at..].fill(b'0');
            match at.checked_sub(1) {
                Some(last) => self.digits[last] += 1,
                None => {
                    self.digits.insert(0, b'1');
                    self.point += 1;
                }
            }
        }
        if self.digits.is_empty() {
            (self.digits, self.point) = (vec![b'0'], 1);
        }
        self
    }

    /// With so many digits behind the point.
    fn plain(&self, behind: usize) -> String {
        let digit = |at: i64| {
            usize::try_from(at).ok().and_then(|at| self.digits.get(at)).map_or('0', |d| char::from(*d))
        };
        let whole: String = (self.point.min(0)..self.point.max(1)).filter(|at| *at >= 0).map(digit).collect();
        let whole = if self.point <= 0 { "0".to_owned() } else { whole };
        let part: String = (self.point..self.point + behind as i64).map(digit).collect();
        let is_zero = whole.bytes().chain(part.bytes()).all(|digit| digit == b'0');
        let sign = if self.is_negative && !is_zero { "-" } else { "" };
        if behind == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }

    fn scientific(self) -> String {
        let (sign, point) = (if self.is_negative { "-" } else { "" }, self.point);
        let short = Number { is_negative: false, point: 1, digits: self.digits }.rounded(MANTISSA as i64);
        // 9.99996 became 10.
        let exponent = point - 1 + (short.point - 1);
        let short = Number { point: 1, ..short };
        format!("{sign}{}e{exponent}", short.plain(MANTISSA))
    }
}

/// A comma after every three digits before the point.
fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, behind) = rest.split_once('.').map_or((rest, None), |(whole, behind)| (whole, Some(behind)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(behind) = behind {
        out.push('.');
        out.push_str(behind);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: NumberFormat, text: &str) -> String {
        format.apply(text).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn numbers_are_rounded_by_their_digits() {
        let digits = |digits: u8, text: &str| written(NumberFormat::Digits(digits), text);
        assert_eq!(digits(2, "16.495"), "16.50");
        assert_eq!(digits(2, "-0.004"), "0.00");
        assert_eq!(digits(2, "-0.005"), "-0.01");
        assert_eq!(digits(0, "0.5"), "1");
        assert_eq!(digits(0, "99.5"), "100");
        assert_eq!(digits(3, "7"), "7.000");
        assert_eq!(digits(2, "1.5e-7"), "0.00");
        assert_eq!(digits(2, "1.5e3"), "1500.00");
        assert_eq!(digits(1, "123456789012345678901234567890.25"), "123456789012345678901234567890.3");
        assert_eq!(digits(2, "1e300"), "1.0000e300");
        assert_eq!(digits(2, "0"), "0.00");
        assert_eq!((digits(2, "nan"), digits(2, "")), ("nan".into(), "".into()));
    }

    #[test]
    fn numbers_are_grouped_and_written_with_exponents() {
        let thousands = |text: &str| written(NumberFormat::Thousands, text);
        assert_eq!(thousands("1234567.25"), "1,234,567.25");
        assert_eq!(thousands("-123"), "-123");
        assert_eq!(thousands("18446744073709551615"), "18,446,744,073,709,551,615");
        assert_eq!(thousands("1.5e6"), "1,500,000");
        assert_eq!(thousands("1e300"), "1e300");
        assert_eq!(thousands("0.5"), "0.5");
        let scientific = |text: &str| written(NumberFormat::Scientific, text);
        assert_eq!(scientific("16.49"), "1.6490e1");
        assert_eq!(scientific("-0.00012345678"), "-1.2346e-4");
        assert_eq!(scientific("9.99999"), "1.0000e1");
        assert_eq!(scientific("0"), "0.0000e0");
        assert_eq!(written(NumberFormat::Exact, "0.1"), "0.1");
    }

    #[test]
    fn digits_behind_a_point() {
        let behind = digits_behind_point;
        assert_eq!(
            (behind("7.25"), behind("-7"), behind("1e5"), behind("nan"), behind("")),
            (Some(2), Some(0), None, None, None)
        );
    }
}
