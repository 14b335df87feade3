//! What stands in the text of operations: words, types, attributes, the names of locations.

use crate::data::content::graph::{Attribute, Operation};
use std::collections::HashMap;

/// Characters of an attribute that are kept: constants are long.
const KEPT: usize = 400;

/// What the words of a pretty form are called in the generic one.
pub(super) fn said(node: &mut Operation, operator: &str, words: Vec<String>, symbol: Option<String>) {
    let mut words = words.into_iter();
    let mut add = |name: &str, text: Option<String>| {
        if let Some(text) = text.filter(|_| !node.attributes.iter().any(|(known, _)| &**known == name)) {
            node.attributes.push((name.into(), Attribute::Text(text)));
        }
    };
    match operator {
        "constant" => add("value", words.next()),
        "compare" => {
            add("comparison_direction", words.next());
            add("compare_type", words.next());
        }
        "reduce" => add("body", words.by_ref().find(|word| word.contains('.'))),
        "custom_call" => add("call_target_name", symbol.clone()),
        "call" => add("callee", symbol.clone()),
        _ => add("symbol", symbol.clone()),
    }
    let rest: Vec<String> = words.filter(|word| !["across", "applies"].contains(&word.as_str())).collect();
    if !rest.is_empty() {
        node.attributes.push(("keywords".into(), Attribute::Texts(rest)));
    }
    if operator == "call"
        && let Some(symbol) = symbol
    {
        let name = if symbol == "main" { String::new() } else { format!("{}/{symbol}", super::FUNCTIONS) };
        node.function = Some(name.into());
    }
}

/// What a region is to its operation.
pub(super) fn region_name(operator: &str, n: usize, count: usize) -> String {
    match (operator, n) {
        ("while", 0) => "cond".to_owned(),
        ("while", 1) => "body".to_owned(),
        ("if", 0) => "then".to_owned(),
        ("if", 1) => "else".to_owned(),
        ("case", n) => format!("branch {n}"),
        _ if count == 1 => "body".to_owned(),
        (_, n) => format!("region {n}"),
    }
}

/// The types of so many results: those behind an arrow, or the last ones of a list.
pub(super) fn result_types(types: &str, count: usize) -> Vec<&str> {
    if count == 0 {
        return Vec::new();
    }
    let (list, is_exact) = match arrow(types) {
        Some(at) => (types.get(at..).unwrap_or_default().trim(), true),
        None => (types.trim(), false),
    };
    let list = list.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(list);
    let mut all = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                all.push(list.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(list.get(start..).unwrap_or_default().trim());
    if is_exact || all.len() <= count {
        return all;
    }
    all.split_off(all.len() - count)
}

/// Behind the arrow of a function's type, outside of brackets.
fn arrow(types: &str) -> Option<usize> {
    let bytes = types.as_bytes();
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate() {
        let is_arrow = at > 0 && bytes.get(at - 1) == Some(&b'-');
        match byte {
            b'>' if is_arrow && depth == 0 => return Some(at + 1),
            b'>' if is_arrow => {}
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// An attribute as a number or a list of them where it is one, else as its text.
pub(super) fn attribute(text: &str) -> Attribute {
    let plain = text.trim();
    if let Some(text) =
        plain.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|text| !text.contains('"'))
    {
        return Attribute::Text(short(text));
    }
    let number = plain.split(" : ").next().unwrap_or(plain);
    if let Ok(value) = number.parse() {
        return Attribute::Int(value);
    }
    if number.contains(['.', 'e'])
        && let Ok(value) = number.parse::<f64>()
    {
        return Attribute::Float(value);
    }
    let list = plain.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let list = list.or_else(|| {
        let inner = plain.strip_prefix("array<")?.strip_suffix('>')?;
        Some(inner.split_once(':').map_or("", |(_, items)| items))
    });
    if let Some(items) = list.filter(|items| !items.trim().is_empty() && items.len() < KEPT) {
        let ints: Option<Vec<i64>> = items.split(',').map(|item| item.trim().parse().ok()).collect();
        if let Some(ints) = ints {
            return Attribute::Ints(ints);
        }
    }
    Attribute::Text(short(plain))
}

/// A text, its beginning where it is long.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(KEPT) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(super) fn unquoted(text: &str) -> String {
    text.trim_matches('"').to_owned()
}

/// The names of locations: lines of `#loc1 = loc("name"(#loc2))`.
pub(super) fn locations(text: &str) -> HashMap<&str, &str> {
    let line = |line: &'_ str| -> Option<(usize, usize)> { Some((line.find(" = loc(")?, 7)) };
    let mut known = HashMap::new();
    for whole in text.lines().filter(|line| line.starts_with("#loc")) {
        if let Some((at, len)) = line(whole)
            && let (Some(name), Some(value)) = (whole.get(..at), whole.get(at + len..))
            && let Some(place) = place(value)
        {
            known.insert(name, place);
        }
    }
    known
}

/// The name that a location begins with; a place in a file is none.
pub(super) fn place(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?;
    let (name, rest) = inner.split_once('"')?;
    (!rest.starts_with(':')).then_some(name)
}
