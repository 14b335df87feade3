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

/// A shape as `60000×28×28`; a scalar as `scalar`.
pub fn shape(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// One or many: `1 row`, `2,000 rows`.
pub fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", count(n)) }
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
    use arrow::datatypes::{DataType as D, IntervalUnit, TimeUnit};
    let unit = |u: &TimeUnit| match u {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let field = |f: &arrow::datatypes::Field| {
        let null = if f.is_nullable() { "" } else { " not null" };
        format!("{}: {}{null}", f.name(), arrow_type(f.data_type()))
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
        D::List(f) => format!("list<{}>", field(f)),
        D::LargeList(f) => format!("large_list<{}>", field(f)),
        D::ListView(f) => format!("list_view<{}>", field(f)),
        D::LargeListView(f) => format!("large_list_view<{}>", field(f)),
        D::FixedSizeList(f, n) => format!("fixed_size_list<{}>[{n}]", field(f)),
        D::Struct(fields) => {
            format!("struct<{}>", fields.iter().map(|f| field(f)).collect::<Vec<_>>().join(", "))
        }
        D::Map(entries, _) => match entries.data_type() {
            D::Struct(pair) if let [key, value] = &pair[..] => {
                format!("map<{}, {}>", arrow_type(key.data_type()), arrow_type(value.data_type()))
            }
            other => format!("map<{}>", arrow_type(other)),
        },
        D::Dictionary(key, value) => {
            format!("dictionary<values={}, indices={}, ordered=0>", arrow_type(value), arrow_type(key))
        }
        D::RunEndEncoded(ends, values) => {
            format!(
                "run_end_encoded<run_ends: {}, values: {}>",
                arrow_type(ends.data_type()),
                arrow_type(values.data_type())
            )
        }
        D::Union(fields, mode) => {
            let kind = if matches!(mode, arrow::datatypes::UnionMode::Dense) { "dense" } else { "sparse" };
            let items: Vec<String> = fields.iter().map(|(id, f)| format!("{}={id}", field(f))).collect();
            format!("{kind}_union<{}>", items.join(", "))
        }
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
        assert_eq!((short_number(1e6), short_number(123_456.789)), ("1000000".into(), "123456.8".into()));
    }
}
