//! Dates in the patterns of Java's `SimpleDateFormat`, as far as they are digits and texts: `yyyy-MM-dd'T'HH:mm:ss`.
//! <https://docs.oracle.com/javase/8/docs/api/java/text/SimpleDateFormat.html>

use chrono::{NaiveDate, NaiveDateTime};

/// A pattern that can be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// A letter and how often it stands.
    Digits(char, usize),
    Text(String),
}

impl Pattern {
    /// Reads a pattern; `None` where it has letters that stand for anything but digits.
    pub(super) fn new(pattern: &str) -> Option<Pattern> {
        let (mut parts, mut chars) = (Vec::new(), pattern.chars().peekable());
        while let Some(char) = chars.next() {
            if char == '\'' {
                let mut text = String::new();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        other => text.push(other),
                    }
                }
                parts.push(Part::Text(if text.is_empty() { "'".to_owned() } else { text }));
            } else if char.is_ascii_alphabetic() {
                let mut count = 1;
                while chars.next_if_eq(&char).is_some() {
                    count += 1;
                }
                let is_number = "yMdHmsS".contains(char) && (char != 'M' || count < 3);
                parts.push(is_number.then_some(Part::Digits(char, count))?);
            } else {
                parts.push(Part::Text(char.to_string()));
            }
        }
        Some(Pattern(parts))
    }

    /// Milliseconds since 1970 of a date in this pattern.
    pub(super) fn read(&self, text: &str) -> Option<i64> {
        let (mut rest, mut year, mut numbers) = (text.trim(), 1970_i32, [1_u32, 1, 0, 0, 0, 0]);
        for (n, part) in self.0.iter().enumerate() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Digits(letter, count) => {
                    // Where digits follow digits the pattern says how many.
                    let is_tight = matches!(self.0.get(n + 1), Some(Part::Digits(..)));
                    let there = rest.bytes().take_while(u8::is_ascii_digit).count();
                    let taken = if is_tight { there.min(*count) } else { there };
                    let (digits, after) = rest.split_at_checked(taken)?;
                    let number: u32 = digits.parse().ok()?;
                    rest = after;
                    let place = match letter {
                        'y' => {
                            year = i32::try_from(number).ok()?;
                            if *count == 2 && taken == 2 {
                                year += if year < 70 { 2000 } else { 1900 };
                            }
                            continue;
                        }
                        'M' => 0,
                        'd' => 1,
                        'H' => 2,
                        'm' => 3,
                        's' => 4,
                        _ => 5,
                    };
                    *numbers.get_mut(place)? = number;
                }
            }
        }
        let [month, day, hour, minute, second, milli] = numbers;
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        let time: NaiveDateTime = date.and_hms_milli_opt(hour, minute, second, milli)?;
        rest.is_empty().then(|| time.and_utc().timestamp_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_by_their_patterns() {
        let read = |pattern: &str, text: &str| Pattern::new(pattern).and_then(|pattern| pattern.read(text));
        assert_eq!(read("yyyy-MM-dd'T'HH:mm:ss", "2001-04-03T12:12:12"), Some(986_299_932_000));
        assert_eq!(read("yyyy-MM-dd", "1969-12-31"), Some(-86_400_000));
        assert_eq!(read("ddMMyyyy HH.mm", "03042001 12.12"), Some(986_299_920_000));
        assert_eq!(read("d/M/yy", "3/4/01"), Some(986_256_000_000));
        assert_eq!(read("yyyy-MM-dd HH:mm:ss.SSS", "1970-01-01 00:00:01.250"), Some(1_250));
        for (pattern, text) in [
            ("yyyy-MM-dd", "2001-13-01"),
            ("yyyy-MM-dd", "2001-1"),
            ("dd MMM yyyy", "1 Jan 2001"),
            ("yyyy", "2001x"),
            ("'x", "x"),
        ] {
            assert_eq!(read(pattern, text), None, "{pattern} {text}");
        }
    }
}
