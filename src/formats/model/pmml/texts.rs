//! Predicates and expressions as people write them: `age ≥ 18 and job in {a, b}`, `ln(x) / 2`.
//! <https://dmg.org/pmml/v4-4-1/TreeModel.html#xsdElement_CompoundPredicate>,
//! <https://dmg.org/pmml/v4-4-1/Transformations.html>

use super::terms::{is_expression, is_predicate};
use crate::engines::xml::Element;

/// A predicate.
pub(super) fn predicate(element: &Element) -> String {
    let of = |name: &str| element.attribute(name).unwrap_or_default();
    match element.local_name() {
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        "SimplePredicate" => simple(of("field"), of("operator"), of("value")),
        "SimpleSetPredicate" => {
            let word = if of("booleanOperator") == "isNotIn" { "not in" } else { "in" };
            let items = element.child("Array").map_or(Vec::new(), |array| items(&array.text));
            format!("{} {word} {{{}}}", of("field"), items.join(", "))
        }
        "CompoundPredicate" => {
            let word = match of("booleanOperator") {
                "surrogate" => "else",
                word => word,
            };
            let parts = element.children.iter().filter(|child| is_predicate(child.local_name()));
            let parts: Vec<String> = parts
                .map(|part| match part.local_name() {
                    "CompoundPredicate" => format!("({})", predicate(part)),
                    _ => predicate(part),
                })
                .collect();
            parts.join(&format!(" {word} "))
        }
        name => name.to_owned(),
    }
}

/// A text as long as it can stand in a drawing.
pub(super) fn short(text: &str) -> String {
    /// Characters of it.
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A comparison.
pub(super) fn simple(field: &str, operator: &str, value: &str) -> String {
    let sign = match operator {
        "equal" => "=",
        "notEqual" => "≠",
        "lessThan" => "<",
        "lessOrEqual" => "≤",
        "greaterThan" => ">",
        "greaterOrEqual" => "≥",
        "isMissing" => return format!("{field} is missing"),
        "isNotMissing" => return format!("{field} is not missing"),
        other => other,
    };
    format!("{field} {sign} {value}")
}

/// The items of an array: between white space, or in quotes.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            continue;
        }
        let mut item = String::new();
        if letter == '"' {
            while let Some(next) = letters.next() {
                match next {
                    '\\' => item.extend(letters.next()),
                    '"' => break,
                    next => item.push(next),
                }
            }
        } else {
            item.push(letter);
            while let Some(next) = letters.next_if(|next| !next.is_whitespace()) {
                item.push(next);
            }
        }
        items.push(item);
    }
    items
}

/// An expression.
pub(super) fn expression(element: &Element) -> String {
    let of = |name: &str| element.attribute(name).unwrap_or_default();
    let inner = || element.children.iter().filter(|child| is_expression(child.local_name()));
    match element.local_name() {
        "FieldRef" => of("field").to_owned(),
        "Constant" => element.text.trim().to_owned(),
        "NormDiscrete" => format!("({} = {})", of("field"), of("value")),
        "NormContinuous" => format!("norm({})", of("field")),
        "Discretize" => format!("discretize({})", of("field")),
        "Lag" => format!("lag({}, {})", of("field"), element.attribute("n").unwrap_or("1")),
        "Aggregate" => format!("{}({})", of("function"), of("field")),
        "TextIndex" => format!("textIndex({})", of("textField")),
        "MapValues" => {
            let fields = element.all("FieldColumnPair").filter_map(|pair| pair.attribute("field"));
            format!("map({})", fields.collect::<Vec<_>>().join(", "))
        }
        "Apply" => {
            let parts: Vec<String> = inner().map(expression).collect();
            match (of("function"), parts.as_slice()) {
                (sign @ ("+" | "-" | "*" | "/"), [a, b]) => format!("({a} {sign} {b})"),
                (function, parts) => format!("{function}({})", parts.join(", ")),
            }
        }
        "DerivedField" => inner().next().map(expression).unwrap_or_default(),
        name => name.to_owned(),
    }
}

/// What elements of one column of a row say, as the text of a cell.
pub(super) fn cell(elements: &[&Element]) -> Option<String> {
    match elements {
        [] => None,
        [one] => Some(match said(one) {
            serde_json::Value::String(text) => text,
            json => json.to_string(),
        }),
        several => Some(serde_json::Value::Array(several.iter().map(|one| said(one)).collect()).to_string()),
    }
}

/// What one element says: a text, or its JSON.
fn said(element: &Element) -> serde_json::Value {
    let name = element.local_name();
    let of = |name: &str| element.attribute(name);
    if is_predicate(name) {
        return predicate(element).into();
    }
    if is_expression(name)
        || name == "DerivedField" && element.children.iter().any(|c| is_expression(c.local_name()))
    {
        return expression(element).into();
    }
    match name {
        "Value" if element.children.is_empty() => {
            let value = of("displayValue").map_or(of("value").unwrap_or_default().to_owned(), |shown| {
                format!("{} ({shown})", of("value").unwrap_or_default())
            });
            match of("property") {
                Some(property) if property != "valid" => format!("{value} [{property}]").into(),
                _ => value.into(),
            }
        }
        "Interval" => interval(element).into(),
        "ItemRef" => of("itemRef").unwrap_or_default().into(),
        "Array" => element.text.trim().into(),
        _ => element.json(),
    }
}

/// An interval: `[0, 1)`.
fn interval(element: &Element) -> String {
    let (open, close) = match element.attribute("closure") {
        Some("openClosed") => ('(', ']'),
        Some("closedOpen") => ('[', ')'),
        Some("closedClosed") => ('[', ']'),
        _ => ('(', ')'),
    };
    let left = element.attribute("leftMargin").unwrap_or("-∞");
    let right = element.attribute("rightMargin").unwrap_or("∞");
    format!("{open}{left}, {right}{close}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::task::Task;

    fn parsed(text: &str) -> Element {
        crate::engines::xml::parse(&Task::new(), text).unwrap().root.unwrap()
    }

    #[test]
    fn predicates_and_expressions_are_read() {
        let text = "<CompoundPredicate booleanOperator='and'><SimplePredicate field='a' operator='lessOrEqual' value='2'/>\
                    <CompoundPredicate booleanOperator='surrogate'><SimpleSetPredicate field='b' booleanOperator='isIn'>\
                    <Array n='2' type='string'>x \"y \\\"z\"</Array></SimpleSetPredicate><True/></CompoundPredicate></CompoundPredicate>";
        assert_eq!(predicate(&parsed(text)), "a ≤ 2 and (b in {x, y \"z} else true)");
        let text = "<Apply function='/'><Apply function='ln'><FieldRef field='x'/></Apply><Constant>2</Constant></Apply>";
        assert_eq!(expression(&parsed(text)), "(ln(x) / 2)");
        let interval = parsed("<Interval closure='closedOpen' leftMargin='0'/>");
        assert_eq!(cell(&[&interval]).unwrap(), "[0, ∞)");
        assert_eq!(
            cell(&[&interval, &parsed("<Value value='3' property='missing'/>")]).unwrap(),
            r#"["[0, ∞)","3 [missing]"]"#
        );
    }
}
