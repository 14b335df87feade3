//! What plain scalars are, as YAML 1.1 and PyYAML have it: <https://yaml.org/type/>,
//! <https://github.com/yaml/pyyaml/blob/main/lib/yaml/resolver.py>

use crate::data::cell::float64;
use regex::Regex;
use std::sync::LazyLock;

/// A scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// `~`, `null`, nothing.
    Null,
    /// `true`, `yes`, `on` and their like.
    Bool(bool),
    /// An integer in decimal digits.
    Int(String),
    /// A number.
    Float(f64),
    /// A date, or a time.
    Timestamp(String),
    /// Bytes, in base 64.
    Binary(String),
    /// Anything else.
    Text(String),
}

type Pattern = LazyLock<Option<Regex>>;

static INT: Pattern = LazyLock::new(|| {
    Regex::new(r"^[-+]?(0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)$").ok()
});
static FLOAT: Pattern = LazyLock::new(|| {
    let plain = r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?";
    let sixty = r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*";
    Regex::new(&format!(r"^({plain}|{sixty}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")).ok()
});
static TIME: Pattern = LazyLock::new(|| {
    let time =
        r"([Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?";
    Regex::new(&format!(r"^([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|[0-9]{{4}}-[0-9][0-9]?-[0-9][0-9]?{time})$"))
        .ok()
});

fn fits(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl Scalar {
    /// A scalar by its text, by whether it stood there without quotes, and by its tag.
    pub(super) fn of(text: &str, plain: bool, tag: Option<&str>) -> Scalar {
        let as_text = || Scalar::Text(text.to_owned());
        match tag {
            Some("!!str" | "!") => as_text(),
            Some("!!binary") => Scalar::Binary(text.split_whitespace().collect()),
            Some("!!float") => float(text).or_else(|| text.parse().ok()).map_or_else(as_text, Scalar::Float),
            Some("!!int") => int(text).map_or_else(as_text, Scalar::Int),
            Some("!!bool") => bool(text).map_or_else(as_text, Scalar::Bool),
            Some("!!null") => Scalar::Null,
            Some("!!timestamp") => Scalar::Timestamp(text.to_owned()),
            Some(_) => as_text(),
            None if plain => Scalar::plain(text),
            None => as_text(),
        }
    }

    fn plain(text: &str) -> Scalar {
        if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            return Scalar::Null;
        }
        if let Some(value) = bool(text) {
            return Scalar::Bool(value);
        }
        let is_numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        if !is_numeric || text.len() > 4_096 {
            return Scalar::Text(text.to_owned());
        }
        if let Some(value) = Some(text).filter(|text| fits(&INT, text)).and_then(int) {
            return Scalar::Int(value);
        }
        if let Some(value) = Some(text).filter(|text| fits(&FLOAT, text)).and_then(float) {
            return Scalar::Float(value);
        }
        if fits(&TIME, text) {
            return Scalar::Timestamp(text.to_owned());
        }
        Scalar::Text(text.to_owned())
    }

    /// The word for its type.
    pub fn word(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::Timestamp(_) => "timestamp",
            Scalar::Binary(_) => "binary",
            Scalar::Text(_) => "str",
        }
    }

    /// Its value as text; `null` for null.
    pub fn text(&self) -> String {
        match self {
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Float(value) => float64(*value),
            Scalar::Int(text) | Scalar::Timestamp(text) | Scalar::Binary(text) | Scalar::Text(text) => {
                text.clone()
            }
        }
    }

    /// As JSON; numbers that JSON has not are texts.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Scalar::Null => serde_json::Value::Null,
            Scalar::Bool(value) => (*value).into(),
            Scalar::Int(digits) => match digits.parse::<i64>() {
                Ok(value) => value.into(),
                Err(_) => digits.clone().into(),
            },
            Scalar::Float(value) if value.is_finite() => (*value).into(),
            other => other.text().into(),
        }
    }
}

fn bool(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Sign and rest.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// An integer in decimal digits.
fn int(text: &str) -> Option<String> {
    let text = text.replace('_', "");
    let (negative, digits) = signed(&text);
    let value = if let Some(digits) = digits.strip_prefix("0b") {
        i128::from_str_radix(digits, 2).ok()
    } else if let Some(digits) = digits.strip_prefix("0x") {
        i128::from_str_radix(digits, 16).ok()
    } else if digits.contains(':') {
        digits.split(':').try_fold(0_i128, |sum, part| sum.checked_mul(60)?.checked_add(part.parse().ok()?))
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8).ok()
    } else if digits.len() > 38 && digits.bytes().all(|b| b.is_ascii_digit()) {
        // Longer than any integer here, but written in decimal already.
        return Some(if negative { format!("-{digits}") } else { digits.to_owned() });
    } else {
        digits.parse().ok()
    }?;
    Some(if negative { (-value).to_string() } else { value.to_string() })
}

fn float(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_lowercase();
    let (negative, digits) = signed(&text);
    let value = match digits {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ if digits.contains(':') => {
            digits.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))?
        }
        _ => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}
