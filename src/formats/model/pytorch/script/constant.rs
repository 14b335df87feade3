//! Values that a program has from the beginning: numbers, texts, lists of them.

use super::super::values::tagged;
use super::syntax::Expression;
use crate::data::content::graph::Attribute;
use crate::engines::pickle::{Id, Pickle, Value};
use std::fmt;
use std::sync::Arc;

/// How deep lists of a pickle are looked into, and how many items are kept of each.
const DEPTH: usize = 8;
const ITEMS: usize = 1 << 12;

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    List(Arc<[Constant]>),
    Tuple(Arc<[Constant]>),
    /// Anything else, as it is written.
    Other(Arc<str>),
}

impl Constant {
    /// What a value of a pickle is, where it is one of these.
    pub(super) fn of(pickle: &Pickle, id: Id, depth: usize) -> Option<Constant> {
        if depth > DEPTH {
            return Some(Constant::Other("…".into()));
        }
        let items = |items: &[Id]| -> Option<Arc<[Constant]>> {
            if items.len() > ITEMS {
                return None;
            }
            items.iter().map(|item| Constant::of(pickle, *item, depth + 1)).collect()
        };
        Some(match pickle.value(id) {
            Value::None => Constant::None,
            Value::Bool(value) => Constant::Bool(*value),
            Value::Int(value) => Constant::Int(*value),
            Value::Float(value) => Constant::Float(*value),
            Value::Text(_) => Constant::Text(pickle.text(id)?.into()),
            Value::List(list) => Constant::List(items(list)?),
            Value::Tuple(list) => Constant::Tuple(items(list)?),
            Value::Object(object) => return Constant::of(pickle, tagged(pickle, object)?, depth + 1),
            Value::Dict(_) => Constant::Other(pickle.brief(id, 200).into()),
            _ => return None,
        })
    }

    /// What a literal is.
    pub(super) fn literal(expression: &Expression) -> Option<Constant> {
        Some(match expression {
            Expression::None => Constant::None,
            Expression::Bool(value) => Constant::Bool(*value),
            Expression::Int(value) => Constant::Int(*value),
            Expression::Float(value) => Constant::Float(*value),
            Expression::Number(text) => Constant::Other(text.clone()),
            Expression::Text(text) => Constant::Text(text.clone()),
            _ => return None,
        })
    }

    /// It as an attribute of a node.
    pub(super) fn attribute(&self) -> Attribute {
        match self {
            Constant::Int(value) => Attribute::Int(*value),
            Constant::Float(value) => Attribute::Float(*value),
            Constant::Text(text) => Attribute::Text(text.to_string()),
            Constant::List(items) | Constant::Tuple(items) if !items.is_empty() => {
                let ints = items.iter().map(|item| match item {
                    Constant::Int(value) => Some(*value),
                    _ => None,
                });
                if let Some(ints) = ints.collect() {
                    return Attribute::Ints(ints);
                }
                let floats = items.iter().map(|item| match item {
                    Constant::Float(value) => Some(*value),
                    _ => None,
                });
                if let Some(floats) = floats.collect() {
                    return Attribute::Floats(floats);
                }
                let texts = items.iter().map(|item| match item {
                    Constant::Text(text) => Some(text.to_string()),
                    _ => None,
                });
                let texts: Option<Vec<String>> = texts.collect();
                texts.map_or_else(|| Attribute::Text(self.to_string()), Attribute::Texts)
            }
            other => Attribute::Text(other.to_string()),
        }
    }
}

/// As Python writes it.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Constant]| {
            items
                .iter()
                .enumerate()
                .try_for_each(|(n, item)| write!(f, "{}{item}", if n == 0 { "" } else { ", " }))
        };
        match self {
            Constant::None => f.write_str("None"),
            Constant::Bool(true) => f.write_str("True"),
            Constant::Bool(false) => f.write_str("False"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Float(value) => write!(f, "{value}"),
            Constant::Text(text) => write!(f, "{text:?}"),
            Constant::Other(text) => f.write_str(text),
            Constant::List(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Constant::Tuple(items) => {
                f.write_str("(")?;
                list(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}
