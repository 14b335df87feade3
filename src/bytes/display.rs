//! Numbers and names as people read them: counts, sizes, natural order. (How *values* of data are
//! written is in [`crate::data::cell`].)

use std::cmp::Ordering;

/// `1204000` as `1,204,000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `20_000_000` as `20.0 M`; exact below ten thousand.
pub fn short_count(n: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    if n < 10_000 {
        return count(n);
    }
    let value = n as f64;
    for (size, unit) in UNITS {
        if value >= size * 0.9995 {
            let scaled = value / size;
            return if scaled < 99.95 {
                format!("{scaled:.1} {unit}")
            } else {
                format!("{scaled:.0} {unit}")
            };
        }
    }
    count(n)
}

/// Bytes in decimal units, three significant digits: `612 MB`, `1.80 GB`.
pub fn bytes(n: u64) -> String {
    const LARGER: [&str; 5] = ["MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = "kB";
    for larger in LARGER {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

/// A number in few characters, for colour bars and axes.
pub fn brief(value: f64) -> String {
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

/// A number of at most seven digits.
pub fn short_number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return format!("{value:.0}");
    }
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{value:.4e}");
    }
    let digits = (6 - size.max(1.0).log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number that was computed in doubles, such as a sum: the shortest that is right to 15 digits, so that what the
/// last bits lost is not shown (`0.3`, not `0.30000000000000004`).
pub fn computed_number(value: f64) -> String {
    let short: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    match short.abs() {
        size if size == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite() => short.to_string(),
        _ => format!("{short:e}"),
    }
}

/// A shape as `60000×28×28`; a scalar as `scalar`.
pub fn shape(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// `-1204000` as `−1,204,000`.
pub fn signed(n: i64) -> String {
    let sign = if n < 0 { "−" } else { "" };
    format!("{sign}{}", count(n.unsigned_abs()))
}

/// A word behind its article: `a table`, `an int`.
pub fn article(word: &str) -> String {
    let is_vowel = word.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
    format!("{} {word}", if is_vowel { "an" } else { "a" })
}

/// One or many: `1 row`, `2,000 rows`.
pub fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", count(n)) }
}

/// The beginning of a text that a file wrote, as one line that is harmless to look at: what is no letter but moves, hides
/// or turns around those beside it (controls, marks of direction, characters without width) is drawn as U+FFFD.
pub fn harmless(text: &str, most: usize) -> String {
    let drawn = |c: char| match c {
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => '\u{fffd}',
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => {
            '\u{fffd}'
        }
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut letters = text.chars().map(drawn);
    let mut shown: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Compares names as people order them: runs of digits by their value, so `layer.2` comes before
/// `layer.10`; equal values by fewer leading zeros; letters by case only when nothing else differs.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    loop {
        match (x.first(), y.first()) {
            (None, None) => return a.cmp(b),
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(p), Some(q)) if p.is_ascii_digit() && q.is_ascii_digit() => {
                let (n, rest_x) = digits(x);
                let (m, rest_y) = digits(y);
                let by_value = n.len().cmp(&m.len()).then_with(|| n.cmp(m));
                if by_value != Ordering::Equal {
                    return by_value;
                }
                (x, y) = (rest_x, rest_y);
            }
            (Some(p), Some(q)) => {
                let by_letter = p.to_ascii_lowercase().cmp(&q.to_ascii_lowercase());
                if by_letter != Ordering::Equal {
                    return by_letter;
                }
                (x, y) = (x.get(1..).unwrap_or_default(), y.get(1..).unwrap_or_default());
            }
        }
    }
}

/// The digits at the start without leading zeros, and what follows them.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (mut run, rest) = text.split_at(end);
    while let [b'0', significant @ ..] = run {
        run = significant;
    }
    (run, rest)
}

/// An Arrow type in Arrow's words (`int64`, `double`, `list<item: string>`, `timestamp[us, tz=UTC]`).
pub fn arrow_type(data_type: &arrow::datatypes::DataType) -> String {
    let mut out = String::new();
    write_type(&mut out, data_type, usize::MAX);
    out
}

/// The beginning of [`arrow_type`]: of at most `most` characters, with `…` where it goes on. A struct may have a hundred
/// thousand fields; this costs no more than what is shown.
pub fn short_arrow_type(data_type: &arrow::datatypes::DataType, most: usize) -> String {
    let mut out = String::new();
    // A character has at most four bytes, and the one behind the last says that it goes on.
    write_type(&mut out, data_type, most.saturating_add(1).saturating_mul(4));
    if let Some((end, _)) = out.char_indices().nth(most) {
        out.truncate(end);
        out.push('…');
    }
    out
}

/// Writes a type; fields of structs and unions end where there are `most` bytes.
fn write_type(out: &mut String, data_type: &arrow::datatypes::DataType, most: usize) {
    use arrow::datatypes::{DataType as D, Field};
    if out.len() >= most {
        return;
    }
    let field = |out: &mut String, f: &Field| {
        out.push_str(f.name());
        out.push_str(": ");
        write_type(out, f.data_type(), most);
        out.push_str(if f.is_nullable() { "" } else { " not null" });
    };
    let list = |out: &mut String, word: &str, f: &Field, end: &str| {
        out.push_str(word);
        out.push('<');
        field(out, f);
        out.push('>');
        out.push_str(end);
    };
    let words = match data_type {
        D::List(f) => return list(out, "list", f, ""),
        D::LargeList(f) => return list(out, "large_list", f, ""),
        D::ListView(f) => return list(out, "list_view", f, ""),
        D::LargeListView(f) => return list(out, "large_list_view", f, ""),
        D::FixedSizeList(f, n) => return list(out, "fixed_size_list", f, &format!("[{n}]")),
        D::Struct(fields) => {
            out.push_str("struct<");
            for (n, f) in fields.iter().enumerate() {
                if out.len() >= most {
                    break;
                }
                out.push_str(if n > 0 { ", " } else { "" });
                field(out, f);
            }
            ">".into()
        }
        D::Map(entries, _) => {
            out.push_str("map<");
            match entries.data_type() {
                D::Struct(pair) if let [key, value] = &pair[..] => {
                    write_type(out, key.data_type(), most);
                    out.push_str(", ");
                    write_type(out, value.data_type(), most);
                }
                other => write_type(out, other, most),
            }
            ">".into()
        }
        D::Dictionary(key, value) => {
            out.push_str("dictionary<values=");
            write_type(out, value, most);
            out.push_str(", indices=");
            write_type(out, key, most);
            ", ordered=0>".into()
        }
        D::RunEndEncoded(ends, values) => {
            out.push_str("run_end_encoded<run_ends: ");
            write_type(out, ends.data_type(), most);
            out.push_str(", values: ");
            write_type(out, values.data_type(), most);
            ">".into()
        }
        D::Union(fields, mode) => {
            let dense = matches!(mode, arrow::datatypes::UnionMode::Dense);
            out.push_str(if dense { "dense_union<" } else { "sparse_union<" });
            for (n, (id, f)) in fields.iter().enumerate() {
                if out.len() >= most {
                    break;
                }
                out.push_str(if n > 0 { ", " } else { "" });
                field(out, f);
                out.push_str(&format!("={id}"));
            }
            ">".into()
        }
        other => flat_type(other),
    };
    out.push_str(&words);
}

/// A type without others in it.
fn flat_type(data_type: &arrow::datatypes::DataType) -> String {
    use arrow::datatypes::{DataType as D, IntervalUnit, TimeUnit};
    let unit = |u: &TimeUnit| match u {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        D::Null => "null".into(),
        D::Boolean => "bool".into(),
        D::Float16 => "halffloat".into(),
        D::Float32 => "float".into(),
        D::Float64 => "double".into(),
        D::Utf8 => "string".into(),
        D::LargeUtf8 => "large_string".into(),
        D::Utf8View => "string_view".into(),
        D::Binary => "binary".into(),
        D::LargeBinary => "large_binary".into(),
        D::BinaryView => "binary_view".into(),
        D::FixedSizeBinary(n) => format!("fixed_size_binary[{n}]"),
        D::Date32 => "date32[day]".into(),
        D::Date64 => "date64[ms]".into(),
        D::Time32(u) => format!("time32[{}]", unit(u)),
        D::Time64(u) => format!("time64[{}]", unit(u)),
        D::Timestamp(u, None) => format!("timestamp[{}]", unit(u)),
        D::Timestamp(u, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit(u)),
        D::Duration(u) => format!("duration[{}]", unit(u)),
        D::Interval(IntervalUnit::YearMonth) => "month_interval".into(),
        D::Interval(IntervalUnit::DayTime) => "day_time_interval".into(),
        D::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".into(),
        D::Decimal32(p, s) => format!("decimal32({p}, {s})"),
        D::Decimal64(p, s) => format!("decimal64({p}, {s})"),
        D::Decimal128(p, s) => format!("decimal128({p}, {s})"),
        D::Decimal256(p, s) => format!("decimal256({p}, {s})"),
        other => other.to_string().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(1_204_000), "1,204,000");
        assert_eq!(count(999), "999");
        assert_eq!(short_count(20_000_000), "20.0 M");
        assert_eq!(short_count(999_999), "1.0 M");
        assert_eq!(bytes(612_000_000), "612 MB");
        assert_eq!(bytes(1_800_000_000), "1.80 GB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
    }

    #[test]
    fn the_beginning_of_a_type_costs_no_more_than_it_is_long() {
        use arrow::datatypes::{DataType as D, Field};
        let fields = (0..100_000).map(|n| Field::new(format!("f{n}"), D::Int64, n > 0));
        let wide = D::Struct(fields.collect::<Vec<_>>().into());
        assert_eq!(short_arrow_type(&wide, 20), "struct<f0: int64 not…");
        let mut out = String::new();
        write_type(&mut out, &wide, 100);
        assert!(out.len() < 150, "{} bytes were written", out.len());
        let small = D::Map(
            Field::new(
                "e",
                D::Struct(vec![Field::new("k", D::Utf8, false), Field::new("v", wide, true)].into()),
                false,
            )
            .into(),
            false,
        );
        assert_eq!(short_arrow_type(&small, 30), "map<string, struct<f0: int64 n…");
        let list = D::FixedSizeList(Field::new("item", D::Float32, true).into(), 3);
        assert_eq!(arrow_type(&list), "fixed_size_list<item: float>[3]");
        assert_eq!(short_arrow_type(&list, 31), arrow_type(&list));
        let dictionary = D::Dictionary(D::Int8.into(), D::Utf8.into());
        assert_eq!(arrow_type(&dictionary), "dictionary<values=string, indices=int8, ordered=0>");
    }

    #[test]
    fn digits_order_by_value() {
        let mut names = ["layer.10", "layer.2", "layer.02", "Layer.3", "layer"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["layer", "layer.02", "layer.2", "Layer.3", "layer.10"]);
    }

    #[test]
    fn numbers_are_brief() {
        for (value, text) in
            [(0.0, "0"), (0.2134, "0.2134"), (-0.5, "-0.5"), (1234.5, "1234"), (1e-9, "1e-9"), (3e7, "3e7")]
        {
            assert_eq!(brief(value), text);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (short_number(16.073), short_number(0.1 + 0.2), short_number(1.27e-5)),
            ("16.073".into(), "0.3".into(), "1.2700e-5".into())
        );
        let computed = [0.1 + 0.2, 1.1 * 3.0, 28_693.949_300_000_01, 1e300 / 3.0, -0.5, 1e15 + 0.3];
        let texts = ["0.3", "3.3", "28693.9493", "3.33333333333333e299", "-0.5", "1000000000000000"];
        assert_eq!(computed.map(computed_number), texts);
        assert_eq!((short_number(1e6), short_number(123_456.789)), ("1000000".into(), "123456.8".into()));
    }
}
