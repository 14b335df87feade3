//! What headers keep of attributes and dimensions: a header is made before anything is written, read again, and what it
//! says is compared with what there was. For writers of formats whose headers have places of their own for such.

use crate::data::content::ArrayFacts;
use crate::data::content::array::Axis;
use crate::data::format::{Attributes, Loss, LossKind, note};
use crate::data::node::Value;
use serde_json::Value as Json;

/// How many names a sentence has.
const NAMED: usize = 6;

/// Some names, and whether there are more.
pub fn names<S: AsRef<str>>(list: &[S]) -> String {
    let shown: Vec<&str> = list.iter().map(AsRef::as_ref).take(NAMED).collect();
    let more = list.len() - shown.len();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Whether two values say the same, whichever way their numbers are spelled.
pub fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => {
            x.as_f64() == y.as_f64() && (x.as_i64() == y.as_i64() || x.is_f64() || y.is_f64())
        }
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b)),
        _ => a == b,
    }
}

/// A value as JSON.
pub fn json(value: &Value) -> Json {
    match value {
        Value::Text(text) => Json::from(text.as_str()),
        Value::Json(json) => json.clone(),
    }
}

/// What becomes of attributes in a header.
#[derive(Debug, Default)]
pub struct Kept {
    /// Those that are not in it.
    pub gone: Vec<String>,
    /// Those that say something else there, and what.
    pub changed: Vec<(String, Json)>,
    /// Those that are only there.
    pub new: Vec<String>,
}

/// Compares attributes with what a header says.
pub fn kept(from: &Attributes, header: &[(String, Value)]) -> Kept {
    let mut kept = Kept::default();
    for (name, value) in &from.list {
        match header.iter().find(|(other, _)| other == name) {
            None => kept.gone.push(name.clone()),
            Some((_, other)) => {
                let other = json(other);
                if !same(&from.exact(name, value), &other) {
                    kept.changed.push((name.clone(), other));
                }
            }
        }
    }
    let is_new = |(name, _): &&(String, Value)| from.get(name).is_none();
    kept.new = header.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
    kept
}

/// What is said of attributes that a header of `format` has no place for, or spells otherwise.
pub fn attribute_losses(kept: &Kept, format: &str, path: &str, losses: &mut Vec<Loss>) {
    if !kept.gone.is_empty() {
        let what = format!("{format} has no place for its attributes ({})", names(&kept.gone));
        losses.push(note(LossKind::Attribute, what).at(path));
    }
    for (name, value) in &kept.changed {
        let mut spelled = value.to_string();
        if let Some((at, _)) = spelled.char_indices().nth(60) {
            spelled.truncate(at);
            spelled.push('…');
        }
        losses.push(note(LossKind::Attribute, format!("it becomes {spelled}")).at(path).of(name));
    }
}

/// What is said of dimensions of an array of `rank` whose header says `to` of them.
pub fn axis_losses(facts: &ArrayFacts, rank: usize, to: &[Axis], path: &str, losses: &mut Vec<Loss>) {
    let named = |axes: &[Axis]| -> Vec<String> {
        let all: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
        if all.iter().all(String::is_empty) { Vec::new() } else { all }
    };
    let known = if facts.axes.len() == rank { facts.axes.as_slice() } else { &[] };
    let (from, there) = (named(known), named(to));
    if from != there {
        let what = match there.is_empty() {
            true => format!("the names of its dimensions are not kept ({})", names(&from)),
            false => format!("its dimensions are called {}", names(&there)),
        };
        losses.push(note(LossKind::Name, what).at(path));
    }
    let is_gone = |axis: &&Axis| {
        let has = axis.coordinate.is_some() || axis.regular.is_some();
        let same = |other: &Axis| other.name == axis.name && other.regular == axis.regular;
        has && (axis.coordinate.is_some() || !to.iter().any(same))
    };
    let gone: Vec<String> = facts.axes.iter().filter(is_gone).map(|axis| axis.name.clone()).collect();
    if !gone.is_empty() {
        let what =
            format!("the coordinates along its dimensions are not kept as they are ({})", names(&gone));
        losses.push(note(LossKind::Scale, what).at(path));
    }
    if !facts.value_names.is_empty() {
        let some: Vec<&str> = facts.value_names.iter().map(|(_, name)| name.as_str()).collect();
        losses.push(
            note(LossKind::Name, format!("the names of its values are not kept ({})", names(&some))).at(path),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn attributes_are_compared_with_what_a_header_says() {
        let list = |all: &[(&str, Json)]| -> Vec<(String, Value)> {
            all.iter().map(|(name, value)| ((*name).to_owned(), Value::Json(value.clone()))).collect()
        };
        let from = Attributes::from(list(&[("a", json!(1)), ("b", json!([1.5])), ("c", json!("x"))]));
        let kept = kept(&from, &list(&[("a", json!(1.0)), ("b", json!("[1.5]")), ("d", json!(true))]));
        assert_eq!(
            (kept.gone.as_slice(), kept.new.as_slice()),
            (&["c".to_owned()][..], &["d".to_owned()][..])
        );
        assert_eq!(kept.changed, [("b".to_owned(), json!("[1.5]"))]);
        let mut losses = Vec::new();
        attribute_losses(&kept, "FITS", "p", &mut losses);
        assert_eq!(losses.len(), 2);
    }
}
