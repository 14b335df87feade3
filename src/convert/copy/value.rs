//! One value of a copy, and how JSON, Python and SQL write it.

use crate::data::cell;
use crate::data::cell::without_padding;
use crate::data::dtype::{DType, TimeBase, TimeUnit};
use arrow::array::Array;
use arrow::datatypes::DataType;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// What a value is, for the forms that tell numbers from texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueKind {
    /// true or false.
    Bool,
    /// An integer or a decimal.
    Number,
    /// A float.
    Float,
    /// A moment, as NumPy reads it too.
    Date,
    /// A list or a record: its text is JSON.
    Nested,
    /// Anything else.
    #[default]
    Text,
}

/// One value of a copy.
#[derive(Clone, Debug, Default)]
pub struct CopyValue {
    kind: ValueKind,
    /// `None` where it is missing.
    pub(super) text: Option<String>,
    /// How Python writes it, where kind and text do not tell.
    python: Option<String>,
}

impl CopyValue {
    /// A value with this text; without one it is missing.
    pub fn new(kind: ValueKind, text: Option<String>) -> Self {
        CopyValue { kind, text, python: None }
    }

    /// A cell of a table.
    pub(super) fn of(array: &dyn Array, row: usize) -> Self {
        let kind = match array.data_type() {
            DataType::Boolean => ValueKind::Bool,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => ValueKind::Float,
            kind if kind.is_numeric() => ValueKind::Number,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => ValueKind::Date,
            // What a union holds may be any text.
            DataType::Union(_, _) => ValueKind::Text,
            kind if kind.is_nested() => ValueKind::Nested,
            _ => ValueKind::Text,
        };
        CopyValue::new(kind, cell::text(array, row))
    }

    /// An element of an array.
    pub(super) fn element(dtype: &DType, bytes: &[u8]) -> Self {
        let (kind, python) = match dtype {
            DType::Bool => (ValueKind::Bool, None),
            DType::C32 => (ValueKind::Text, complex(&DType::F16, bytes)),
            DType::C64 => (ValueKind::Text, complex(&DType::F32, bytes)),
            DType::C128 => (ValueKind::Text, complex(&DType::F64, bytes)),
            // More digits than a float of Python has.
            DType::Long(_) => {
                (ValueKind::Float, Some(format!("np.longdouble({})", literal(&cell::element(dtype, bytes)))))
            }
            _ if dtype.is_float() => (ValueKind::Float, None),
            _ if dtype.is_real() => (ValueKind::Number, None),
            DType::DateTime(unit) => (ValueKind::Date, moment(dtype, unit, bytes)),
            DType::TimeDelta(unit) => (ValueKind::Text, counted("timedelta64", unit, bytes)),
            DType::Bytes(_) | DType::Void(_) => (ValueKind::Text, Some(bytes_literal(bytes))),
            DType::Struct(_) => (ValueKind::Nested, None),
            _ => (ValueKind::Text, None),
        };
        CopyValue { kind, text: Some(cell::element(dtype, bytes)), python }
    }

    /// A field of an element that is an array itself.
    pub(super) fn part(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Self {
        let text = cell::nested(dtype, shape, bytes).map(|json| json.to_string());
        CopyValue { kind: ValueKind::Nested, text, python: listed(dtype, shape, bytes) }
    }

    /// Numbers and truth values as JSON has them, all else as its text.
    pub(super) fn json(&self) -> Json {
        let Some(text) = &self.text else { return Json::Null };
        match self.kind {
            ValueKind::Bool => Json::Bool(text == "true"),
            ValueKind::Number | ValueKind::Float | ValueKind::Nested => {
                serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone()))
            }
            ValueKind::Date | ValueKind::Text => Json::String(text.clone()),
        }
    }

    pub(super) fn python(&self) -> String {
        let Some(text) = &self.text else {
            return if self.kind == ValueKind::Float { "np.nan".to_owned() } else { "None".to_owned() };
        };
        if let Some(python) = &self.python {
            return python.clone();
        }
        match self.kind {
            ValueKind::Bool => if text == "true" { "True" } else { "False" }.to_owned(),
            ValueKind::Number | ValueKind::Float => match text.as_str() {
                "nan" => "np.nan".to_owned(),
                "inf" => "np.inf".to_owned(),
                "-inf" => "-np.inf".to_owned(),
                _ => text.clone(),
            },
            ValueKind::Date => format!("np.datetime64({})", literal(text.trim_end_matches('Z'))),
            ValueKind::Nested | ValueKind::Text => literal(text),
        }
    }

    /// `"name" = value`, as SQL wants it.
    pub(super) fn condition(&self, name: &str) -> String {
        let name = quoted(name);
        let Some(text) = &self.text else { return format!("{name} IS NULL") };
        let value = match self.kind {
            ValueKind::Bool => text.to_uppercase(),
            ValueKind::Number | ValueKind::Float if !matches!(text.as_str(), "nan" | "inf" | "-inf") => {
                text.clone()
            }
            _ => format!("'{}'", text.replace('\'', "''")),
        };
        format!("{name} = {value}")
    }
}

/// A complex number of Python; its parts may be no numbers, which `1+nanj` cannot say.
fn complex(part: &DType, bytes: &[u8]) -> Option<String> {
    let (real, imaginary) = bytes.split_at_checked(bytes.len() / 2)?;
    let (real, imaginary) =
        (CopyValue::element(part, real).python(), CopyValue::element(part, imaginary).python());
    Some(format!("complex({real}, {imaginary})"))
}

/// A moment as `np.datetime64` reads it: as text where that is a date, else as its count.
fn moment(dtype: &DType, unit: &TimeUnit, bytes: &[u8]) -> Option<String> {
    let text = cell::element(dtype, bytes);
    let year = text.chars().take_while(char::is_ascii_digit).count();
    let is_date = year == 4 && matches!(text.as_bytes().get(4), None | Some(b'-'));
    if is_date && unit.base != TimeBase::Generic {
        return Some(format!("np.datetime64({})", literal(&text)));
    }
    counted("datetime64", unit, bytes)
}

/// A count of a unit of time.
fn counted(word: &str, unit: &TimeUnit, bytes: &[u8]) -> Option<String> {
    let count = i64::from_le_bytes(bytes.try_into().ok()?);
    let step = match (unit.count, unit.base) {
        _ if count == i64::MIN => return Some(format!("np.{word}('NaT')")),
        (_, TimeBase::Generic) => String::new(),
        (1, base) => format!(", '{}'", base.word()),
        (many, base) => format!(", '{many}{}'", base.word()),
    };
    Some(format!("np.{word}({count}{step})"))
}

/// Bytes of Python, without the zeros that pad them.
fn bytes_literal(bytes: &[u8]) -> String {
    let mut out = String::from("b'");
    for &byte in without_padding(bytes) {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('\'');
    out
}

/// Elements as nested lists of Python.
fn listed(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Option<String> {
    let Some((&len, rest)) = shape.split_first() else {
        return Some(CopyValue::element(dtype, bytes).python());
    };
    let size = bytes.len().checked_div(usize::try_from(len).ok()?).filter(|size| *size > 0)?;
    let parts: Option<Vec<String>> = bytes.chunks_exact(size).map(|part| listed(dtype, rest, part)).collect();
    Some(format!("[{}]", parts?.join(", ")))
}

/// The type of a NumPy array with such elements, as Python names it; `None` where NumPy finds it itself.
pub(super) fn numpy_dtype(dtype: &DType) -> Option<String> {
    Some(match dtype {
        DType::BF16 | DType::Mini(_) => format!("ml_dtypes.{dtype}"),
        DType::Long(_) => "np.longdouble".to_owned(),
        DType::Blocks(_) => "'float32'".to_owned(),
        DType::Str(n) => format!("'U{}'", (*n).max(1)),
        DType::Bytes(n) => format!("'S{}'", (*n).max(1)),
        DType::Void(n) => format!("'V{}'", (*n).max(1)),
        DType::Struct(_) | DType::Variable(_) => return None,
        other => format!("'{other}'"),
    })
}

/// The type of an array of records with these fields (name, type, shape); `None` where one has none.
pub(super) fn numpy_record(fields: &[(&str, &DType, &[u64])]) -> Option<String> {
    let field = |(name, dtype, shape): &(&str, &DType, &[u64])| {
        let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
        let shape = if shape.is_empty() { String::new() } else { format!(", ({sides})") };
        Some(format!("({}, {}{shape})", literal(name), numpy_dtype(dtype)?))
    };
    let fields: Option<Vec<String>> = fields.iter().map(field).collect();
    Some(format!("[{}]", fields?.join(", ")))
}

/// A text in double quotes, as CSV and SQL have it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A string literal of Python.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_python_that_runs() {
        let python = |dtype: DType, bytes: &[u8]| CopyValue::element(&dtype, bytes).python();
        assert_eq!(python(DType::Bool, &[1]), "True");
        assert_eq!(python(DType::F32, &f32::NAN.to_le_bytes()), "np.nan");
        assert_eq!(python(DType::F64, &f64::NEG_INFINITY.to_le_bytes()), "-np.inf");
        let parts = [1.5f32, f32::INFINITY].map(f32::to_le_bytes).concat();
        assert_eq!(python(DType::C64, &parts), "complex(1.5, np.inf)");
        let day = TimeUnit { count: 1, base: TimeBase::Day };
        assert_eq!(python(DType::DateTime(day), &1i64.to_le_bytes()), "np.datetime64('1970-01-02')");
        assert_eq!(python(DType::DateTime(day), &i64::MIN.to_le_bytes()), "np.datetime64('NaT')");
        assert_eq!(
            python(DType::DateTime(day), &i64::MAX.to_le_bytes()),
            format!("np.datetime64({}, 'D')", i64::MAX)
        );
        let steps = TimeUnit { count: 25, base: TimeBase::Second };
        assert_eq!(python(DType::TimeDelta(steps), &3i64.to_le_bytes()), "np.timedelta64(3, '25s')");
        assert_eq!(python(DType::Bytes(4), b"a'\xff\0"), "b'a\\'\\xff'");
        assert_eq!(CopyValue::part(&DType::U8, &[2, 1], &[3, 4]).python(), "[[3], [4]]");
    }
}
