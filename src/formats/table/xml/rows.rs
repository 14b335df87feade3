//! Elements of one name as rows: a column for each of their attributes and for each name of the elements in them.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, MemoryTable};
use crate::data::infer::Guess;
use crate::engines::xml::Element;
use arrow::array::{ArrayRef, StringBuilder};
use std::collections::HashMap;
use std::sync::Arc;

/// The most columns.
const COLUMNS: usize = 2_000;
/// Elements that hold nothing but one other are gone through so deep.
const DEEP: usize = 8;

/// Where the cells of a column come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// An attribute.
    Attribute(String),
    /// Elements of a name.
    Child(String),
    /// The text of the element itself.
    Text,
}

/// The columns of elements.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    origins: Vec<Origin>,
    pub(super) columns: Columns,
}

impl Shape {
    /// The columns of these elements; `None` where they have little in common.
    pub(super) fn of<'a>(task: &Task, elements: impl Iterator<Item = &'a Element>) -> Result<Option<Shape>> {
        let mut places: HashMap<Origin, usize> = HashMap::new();
        let mut found: Vec<(Origin, Guess)> = Vec::new();
        let (mut filled, mut count) = (0_usize, 0_usize);
        for element in elements {
            task.check()?;
            count += 1;
            for origin in origins(element) {
                let n = *places.entry(origin.clone()).or_insert(found.len());
                if n == found.len() {
                    found.push((origin.clone(), Guess::new()));
                }
                filled += 1;
                if let Some((_, guess)) = found.get_mut(n)
                    && let Some(cell) = cell(element, &origin)
                {
                    guess.see(&cell);
                }
            }
            if found.len() > COLUMNS {
                return Ok(None);
            }
        }
        // Half of the cells are there.
        if found.is_empty() || filled * 2 < found.len() * count {
            return Ok(None);
        }
        let is_taken = |name: &str| {
            found.iter().any(|(origin, _)| matches!(origin, Origin::Child(child) if child == name))
        };
        let name = |origin: &Origin| match origin {
            Origin::Attribute(name) if is_taken(name) => format!("@{name}"),
            Origin::Attribute(name) | Origin::Child(name) => name.clone(),
            Origin::Text => "#text".to_owned(),
        };
        let columns =
            found.iter().map(|(origin, guess)| Columns::text(name(origin), guess.data_type())).collect();
        Ok(Some(Shape { origins: found.into_iter().map(|(origin, _)| origin).collect(), columns }))
    }

    /// Some of the columns of elements; of what is no element, nulls.
    pub(super) fn arrays<'a>(
        &self,
        columns: &[usize],
        elements: impl Iterator<Item = Option<&'a Element>> + Clone,
    ) -> Vec<ArrayRef> {
        let column = |n: &usize| -> ArrayRef {
            let origin = self.origins.get(*n);
            let mut made = StringBuilder::new();
            for element in elements.clone() {
                made.append_option(element.zip(origin).and_then(|(element, origin)| cell(element, origin)));
            }
            Arc::new(made.finish())
        };
        columns.iter().map(column).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.origins.len()
    }
}

/// What an element has, each once.
fn origins(element: &Element) -> Vec<Origin> {
    let mut origins: Vec<Origin> =
        element.attributes.iter().map(|(name, _)| Origin::Attribute(name.clone())).collect();
    for child in &element.children {
        let origin = Origin::Child(child.name.clone());
        if origins.len() > COLUMNS {
            break;
        }
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    if !element.text.is_empty() {
        origins.push(Origin::Text);
    }
    origins
}

/// A cell: a text; JSON of what is more than that.
fn cell(element: &Element, origin: &Origin) -> Option<String> {
    match origin {
        Origin::Attribute(name) => element.attribute(name).map(str::to_owned),
        Origin::Text => Some(element.text.clone()).filter(|text| !text.is_empty()),
        Origin::Child(name) => {
            let mut all = element.children.iter().filter(|child| child.name == *name);
            let (first, second) = (all.next()?, all.next());
            match second {
                None if first.is_leaf() => Some(first.text.clone()),
                None => Some(first.json().to_string()),
                Some(second) => {
                    let all = [first, second].into_iter().chain(all).map(Element::json).collect();
                    Some(serde_json::Value::Array(all).to_string())
                }
            }
        }
    }
}

/// The elements that are the rows of a document: those in its root, or in the only element of that, if they have one name
/// but for a few.
fn of_root(root: &Element) -> Option<Vec<&Element>> {
    let mut holder = root;
    for _ in 0..DEEP {
        match holder.children.as_slice() {
            [one] if !one.children.is_empty() => holder = one,
            _ => break,
        }
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    holder.children.iter().for_each(|child| *counts.entry(child.name.as_str()).or_default() += 1);
    let (name, count) = counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)))?;
    let is_table = count > 1 && count * 10 >= holder.children.len() * 8;
    is_table.then(|| holder.children.iter().filter(|child| child.name == name).collect())
}

/// The table that a document is.
pub(super) fn of_document(task: &Task, root: &Element) -> Result<Option<MemoryTable>> {
    let Some(rows) = of_root(root) else { return Ok(None) };
    let Some(shape) = Shape::of(task, rows.iter().copied())? else { return Ok(None) };
    let all: Vec<usize> = (0..shape.len()).collect();
    let arrays = shape.arrays(&all, rows.iter().map(|row| Some(*row)));
    Ok(Some(MemoryTable::of(shape.columns, arrays)?))
}
