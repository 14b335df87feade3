//! Arrays as tables: as they lie (one dimension a column, two rows and columns), or long, a row an element with the
//! coordinates of its dimensions beside it. Arrays along the same dimensions become one long table.

use super::{Item, Target};
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::data::adapt::{LongTable, arrow_of};
use crate::data::content::{Array, Content, Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, loss, note};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How arrays become tables, for every target that holds tables and no arrays.
pub const LAYOUT: OptionSpec = OptionSpec::new(
    "layout",
    "How an array becomes a table: wide: one of two dimensions with its rows and columns; long: a row an element, with a column a dimension (its coordinates, else indices) and one an array along the same dimensions",
)
.one_of("wide", &["wide", "long"]);

/// Whether a target has the option.
pub(super) fn is_known(target: &Target) -> bool {
    target.writer.accepts.contains(&Kind::Table) && !target.writer.accepts.contains(&Kind::Array)
}

/// Whether any of these is an array that can become a table of either layout.
pub fn has_layouts(items: &[Item], target: &Target) -> bool {
    is_known(target) && items.iter().any(|item| matches!(item.content, Content::Array(_)))
}

/// Whether long tables are asked for. The option is taken out: a writer may have one of this name for something else.
pub(super) fn is_long(target: &Target, options: &mut Options) -> bool {
    let value = options.get(LAYOUT.name).filter(|value| is_known(target) && LAYOUT.values.contains(value));
    let (is_set, is_long) = (value.is_some(), value == Some("long"));
    if is_set {
        options.0.remove(LAYOUT.name);
    }
    is_long
}

/// Refuses long tables where there is no array.
pub(super) fn check(items: &[Item], long: bool) -> Result<()> {
    let any = items.iter().any(|item| matches!(item.content, Content::Array(_)));
    match long && !any {
        true => Err(Error::unsupported("layout=long: it is for arrays, and there is none")),
        false => Ok(()),
    }
}

/// An array with its name.
type Named = (String, Arc<dyn Array>);

/// What the arrays become: a table for those along the same dimensions each. Arrays that are the coordinates of a dimension of others are
/// columns of these.
///
/// # Errors
/// Those of [`LongTable::new`]; `Unsupported` where there would be several tables and the target holds one.
pub(super) fn tables(
    arrays: Vec<Named>,
    many: bool,
    losses: &mut Vec<Loss>,
) -> Result<Vec<(String, Arc<dyn Table>)>> {
    let (scales, rest) = scales(arrays);
    for (name, _) in scales.values() {
        let what = "it becomes the column of the dimension that has its name";
        losses.push(note(LossKind::Type, what).at(name));
    }
    let mut groups: Vec<(Vec<(String, u64)>, Vec<Named>)> = Vec::new();
    for (name, array) in rest {
        if arrow_of(array.dtype()).is_none() {
            losses.push(loss(LossKind::Type, "it is left out: its elements have no bytes").at(&name));
            continue;
        }
        let key: Vec<(String, u64)> =
            dimensions(array.as_ref()).into_iter().zip(array.shape().iter().copied()).collect();
        say(&name, array.as_ref(), losses);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push((name, array)),
            None => groups.push((key, vec![(name, array)])),
        }
    }
    if groups.len() > 1 && !many {
        let along = |(key, group): &(Vec<(String, u64)>, Vec<Named>)| {
            let sides: Vec<u64> = key.iter().map(|(_, side)| *side).collect();
            let first = group.first().map_or("", |(name, _)| name.as_str());
            format!("{first} is {}", display::shape(&sides))
        };
        let all: Vec<String> = groups.iter().take(4).map(along).collect();
        let what = format!(
            "arrays along different dimensions are no one table ({}); name some of them",
            all.join(", ")
        );
        return Err(Error::unsupported(what));
    }
    let scales: BTreeMap<String, Arc<dyn Array>> =
        scales.into_iter().map(|(dimension, (_, array))| (dimension, array)).collect();
    let made = groups.into_iter().map(|(key, group)| {
        let name = match group.as_slice() {
            [(only, _)] => only.clone(),
            [(first, _), ..] if key.iter().any(|(name, _)| name.is_empty()) || key.is_empty() => {
                first.clone()
            }
            _ => key.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("_"),
        };
        Ok((name, Arc::new(LongTable::new(group, &scales)?) as Arc<dyn Table>))
    });
    made.collect()
}

/// What is said of an array that becomes a long table, or a part of one.
fn say(name: &str, array: &dyn Array, losses: &mut Vec<Loss>) {
    let shape = display::shape(array.shape());
    losses.push(
        note(LossKind::Type, format!("the array of shape {shape} becomes a table of a row an element"))
            .at(name),
    );
    losses.extend(
        arrow_of(array.dtype()).and_then(|(_, what)| what).map(|what| note(LossKind::Type, what).at(name)),
    );
    for field in array.dtype().record().into_iter().flat_map(|record| &record.fields) {
        let what = arrow_of(&field.dtype).and_then(|(_, what)| what);
        losses.extend(what.map(|what| note(LossKind::Type, what).at(name).of(&field.name)));
    }
}

/// The names of an array's dimensions; empty ones where they have none.
fn dimensions(array: &dyn Array) -> Vec<String> {
    let (axes, rank) = (array.facts().axes, array.shape().len());
    match axes.len() == rank {
        true => axes.into_iter().map(|axis| axis.name).collect(),
        false => vec![String::new(); rank],
    }
}

/// The arrays that are the coordinates of a dimension of others, by its name, and all others.
fn scales(arrays: Vec<Named>) -> (BTreeMap<String, Named>, Vec<Named>) {
    let all: Vec<(Vec<String>, Vec<u64>)> =
        arrays.iter().map(|(_, array)| (dimensions(array.as_ref()), array.shape().to_vec())).collect();
    let is_scale = |n: usize, name: &str| -> Option<String> {
        let (own, shape) = all.get(n)?;
        let last = name.rsplit('/').next().unwrap_or(name);
        let [side] = shape.as_slice() else { return None };
        // A dimension of its own name, or none at all beside others of that name.
        let may_be = own.first().is_some_and(|own| own == last || own.is_empty());
        let others = all.iter().enumerate().filter(|(other, _)| *other != n);
        let used = others
            .flat_map(|(_, (names, sides))| names.iter().zip(sides))
            .any(|(name, other)| name == last && other == side);
        (may_be && used).then(|| last.to_owned())
    };
    let (mut scales, mut rest) = (BTreeMap::new(), Vec::new());
    for (n, (name, array)) in arrays.into_iter().enumerate() {
        match is_scale(n, &name).filter(|dimension| !scales.contains_key(dimension)) {
            Some(dimension) => drop(scales.insert(dimension, (name, array))),
            None => rest.push((name, array)),
        }
    }
    (scales, rest)
}
