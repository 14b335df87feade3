//! Attributes, dimensions and groups on their way: which of them belong to what is written, and what is said of
//! those that the target has no place for.

use super::{Item, Target};
use crate::bytes::display;
use crate::data::cf;
use crate::data::content::Content;
use crate::data::dtype::DType;
use crate::data::format::{Attributes, Loss, LossKind, Metadata};
use crate::data::format::{loss, note};
use crate::data::node::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How many names a sentence has.
const NAMED: usize = 6;

/// Some names, and whether there are more.
fn names(list: &[String]) -> String {
    let shown: Vec<&str> = list.iter().map(String::as_str).take(NAMED).collect();
    let more = list.len() - shown.len();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn names_of(attributes: &Attributes) -> String {
    names(&attributes.list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
}

/// The attributes of the whole, and of each array and group by its name.
#[derive(Default)]
pub(super) struct AttributesByNode {
    pub(super) whole: Attributes,
    pub(super) parts: BTreeMap<String, Attributes>,
}

/// Where the attributes of all items and of what they lie in go; `items` are those of them that are written. `is_one`:
/// they become one thing without a name of its own in the target (a table, a picture, the columns of a table).
pub(super) fn placed(
    (all, items): (&[Item], &[Item]),
    target: &Target,
    is_one: bool,
    losses: &mut Vec<Loss>,
) -> AttributesByNode {
    let mut placed = AttributesByNode::default();
    let keeps = target.writer.metadata;
    for around in arounds(all) {
        for (name, attributes) in &around.groups {
            if name.is_empty() || is_one {
                join(&mut placed.whole, name, attributes.clone(), losses);
            } else {
                join(placed.parts.entry(name.clone()).or_default(), name, attributes.clone(), losses);
            }
        }
        if has_pairs(target) {
            let values = around.values.iter().map(|(name, _, value)| (name.clone(), value.clone().into()));
            join(&mut placed.whole, "", values.collect::<Vec<_>>().into(), losses);
        }
    }
    for item in items {
        let own = item.attributes.clone();
        match is_one {
            // What is nearest to the values goes first.
            true => {
                let whole = std::mem::replace(&mut placed.whole, once(&item.name, own, losses));
                join(&mut placed.whole, "", whole, losses);
            }
            false if keeps == Metadata::Tree || !own.list.is_empty() => {
                join(placed.parts.entry(item.name.clone()).or_default(), &item.name, own, losses);
            }
            false => {}
        }
    }
    match keeps {
        Metadata::Tree | Metadata::Header | Metadata::Own => {}
        Metadata::Texts | Metadata::Values => as_pairs(&mut placed, keeps, losses),
        Metadata::None => dropped(&mut placed, losses),
    }
    placed
}

/// Whether the target has metadata of the whole, and no groups for more.
fn has_pairs(target: &Target) -> bool {
    matches!(target.writer.metadata, Metadata::Texts | Metadata::Values)
}

/// What surrounds the items, each once.
fn arounds(items: &[Item]) -> Vec<&Arc<super::Around>> {
    let mut all: Vec<&Arc<super::Around>> = Vec::new();
    for item in items {
        if !all.iter().any(|known| Arc::ptr_eq(known, &item.around)) {
            all.push(&item.around);
        }
    }
    all
}

/// Attributes of which no two have the same name.
fn once(path: &str, attributes: Attributes, losses: &mut Vec<Loss>) -> Attributes {
    let mut own = Attributes::default();
    join(&mut own, path, attributes, losses);
    own
}

fn join(to: &mut Attributes, path: &str, from: Attributes, losses: &mut Vec<Loss>) {
    let clashes: BTreeSet<String> = to.join(from).into_iter().collect();
    for name in clashes {
        let what = "several attributes have this name: the first is kept";
        losses.push(note(LossKind::Attribute, what).at(path).of(name));
    }
}

/// Pairs hold the attributes of the whole, and those of the parts under longer names.
fn as_pairs(placed: &mut AttributesByNode, keeps: Metadata, losses: &mut Vec<Loss>) {
    let mut moved = Attributes::default();
    for (name, own) in std::mem::take(&mut placed.parts) {
        if own.list.is_empty() {
            continue;
        }
        let what =
            format!("its attributes are kept in the file's metadata, behind its name ({})", names_of(&own));
        losses.push(note(LossKind::Attribute, what).at(&name));
        let longer = |key: &String| format!("{name}.{key}");
        moved.list.extend(own.list.iter().map(|(key, value)| (longer(key), value.clone())));
        moved.types.extend(own.types.iter().map(|(key, dtype)| (longer(key), dtype.clone())));
        moved.encoded.extend(own.encoded.iter().map(|(key, place)| (longer(key), place.clone())));
    }
    if keeps == Metadata::Values {
        return join(&mut placed.whole, "", moved, losses);
    }
    let typed = placed.whole.list.iter().filter(|(_, value)| is_typed(value));
    let (nested, numbers): (Vec<_>, Vec<_>) = typed.partition(|(_, value)| is_nested(value));
    let list = |of: Vec<&(String, Value)>| of.into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if !numbers.is_empty() {
        let what = format!("numbers in the metadata are kept as text ({})", names(&list(numbers)));
        losses.push(note(LossKind::Metadata, what));
    }
    if !nested.is_empty() {
        let what =
            format!("lists and objects in the metadata are kept as JSON text ({})", names(&list(nested)));
        losses.push(note(LossKind::Metadata, what).if_any());
    }
    join(&mut placed.whole, "", moved, losses);
}

fn is_typed(value: &Value) -> bool {
    matches!(value, Value::Json(json) if !json.is_string())
}

fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Json(json) if json.is_array() || json.is_object())
}

fn dropped(placed: &mut AttributesByNode, losses: &mut Vec<Loss>) {
    let whole = std::mem::take(&mut placed.whole);
    if !whole.list.is_empty() {
        let what = format!("the metadata are not kept ({})", names_of(&whole));
        losses.push(note(LossKind::Metadata, what));
    }
    for (name, own) in std::mem::take(&mut placed.parts) {
        if !own.list.is_empty() {
            let what = format!("its attributes are not kept ({})", names_of(&own));
            losses.push(note(LossKind::Attribute, what).at(name));
        }
    }
}

/// What is said of what lies around the items: other nodes, dimensions without values.
pub(super) fn around(items: &[Item], target: &Target, is_one: bool, losses: &mut Vec<Loss>) {
    let known: BTreeSet<String> = items.iter().flat_map(dimensions).collect();
    // Characters may become texts, which lie along one dimension less.
    let is_text = |item: &&Item| matches!(&item.content, Content::Array(array) if matches!(array.dtype(), DType::Bytes(_)));
    let sure: BTreeSet<String> = items.iter().filter(|item| !is_text(item)).flat_map(dimensions).collect();
    let is_header = target.writer.metadata == Metadata::Header;
    let item_names: BTreeSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
    for around in arounds(items) {
        let gone = |label: &str| {
            format!("{} is no table, array or picture: it is left out", display::article(label))
        };
        for (name, label, has_value) in &around.left_out {
            let made = match has_value {
                true => loss(LossKind::Type, gone(label)),
                false => note(
                    LossKind::Type,
                    format!("{} without values of its own is left out", display::article(label)),
                ),
            };
            losses.push(made.at(name));
        }
        for (name, label, _) in &around.values {
            let made = match has_pairs(target) {
                true => {
                    let what =
                        format!("{} is no array: it is kept in the file's metadata", display::article(label));
                    note(LossKind::Metadata, what)
                }
                false => loss(LossKind::Type, gone(label)),
            };
            losses.push(made.at(name));
        }
        for (name, len) in &around.dimensions {
            let last = name.rsplit('/').next().unwrap_or(name);
            let is_kept = known.contains(last);
            if target.writer.metadata != Metadata::Tree || !sure.contains(last) {
                let what = format!("the dimension of {len} without values is left out");
                let made = note(LossKind::Name, what).at(name);
                let has_place = is_header || target.writer.metadata == Metadata::Tree;
                losses.push(if is_kept && has_place { made.if_any() } else { made });
            }
        }
        if target.writer.metadata != Metadata::Tree || is_one {
            // What begins with the name of a group stands behind it in order.
            let empty = |name: &String| {
                let behind = item_names.range(name.as_str()..);
                !behind.take_while(|item| item.starts_with(name.as_str())).any(|item| is_below(item, name))
            };
            for (name, _) in around.groups.iter().filter(|(name, _)| !name.is_empty() && empty(name)) {
                // Headers have a group of their own, which the file begins with.
                let made = note(LossKind::Metadata, "a group without values is left out").at(name);
                losses.push(if is_header { made.if_any() } else { made });
            }
        }
    }
}

/// Whether a name is that of something in the group `group`.
fn is_below(name: &str, group: &str) -> bool {
    let rest = name.strip_prefix(group);
    rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric() && c != '_'))
}

/// The names of an item's dimensions.
fn dimensions(item: &Item) -> Vec<String> {
    let Content::Array(array) = &item.content else { return Vec::new() };
    let axes = array.facts().axes;
    if axes.len() != array.shape().len() {
        return Vec::new();
    }
    axes.into_iter().map(|axis| axis.name).filter(|name| !name.is_empty()).collect()
}

/// What is said of the dimensions of arrays, and of the coordinates along them; in long tables these are columns.
pub(super) fn scales(items: &[Item], target: &Target, long: bool, losses: &mut Vec<Loss>) {
    if target.writer.metadata == Metadata::Header {
        return;
    }
    let is_tree = target.writer.metadata == Metadata::Tree;
    let by_name = ByName::of(items);
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for item in items {
        let Content::Array(array) = &item.content else { continue };
        let facts = array.facts();
        // Time and channels are the dimensions of any sound.
        if target.writer.sounds && facts.sound.is_some() {
            continue;
        }
        let own = dimensions(item);
        if !is_tree && !long && !own.is_empty() {
            let what = format!("the names of its dimensions are not kept ({})", names(&own));
            losses.push(note(LossKind::Name, what).at(&item.name));
        }
        let others = cf::text(&item.attributes.list, "coordinates").unwrap_or_default();
        let (mut gone, mut listed) = (Vec::new(), false);
        for (axis, len) in facts.axes.iter().zip(array.shape()) {
            let known = std::iter::once(axis.name.as_str()).chain(others.split_whitespace());
            let scale = known.filter(|_| is_tree).find_map(|name| by_name.beside(&item.name, name, *len));
            used.extend(scale);
            if scale.is_none()
                && axis.name != last(&item.name)
                && (axis.coordinate.is_some() || axis.regular.is_some())
            {
                listed |= axis.coordinate.is_some();
                gone.push(axis.name.clone());
            }
        }
        if !gone.is_empty() && !long {
            let what = format!("the coordinates along its dimensions are not in it ({})", names(&gone));
            // Equal distances may stand in attributes, which readers of the format know.
            let possible = is_tree && !listed;
            losses.push(Loss { possible, ..note(LossKind::Scale, what).at(&item.name) });
        }
        let flags = item.attributes.get("flag_meanings").is_some() && is_tree;
        if !facts.value_names.is_empty() && !flags {
            let some: Vec<String> = facts.value_names.iter().map(|(_, name)| name.clone()).collect();
            let what = format!("the names of its values are not kept ({})", names(&some));
            losses.push(note(LossKind::Name, what).at(&item.name));
        }
    }
    for item in items.iter().filter(|item| used.contains(item.name.as_str())) {
        if dimensions(item).is_empty() && target.writer.scales {
            let what = "it becomes the scale of the dimension that has its name";
            losses.push(note(LossKind::Name, what).at(&item.name));
        }
    }
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The items by name, with the lengths of their first dimensions.
struct ByName<'a>(HashMap<&'a str, Vec<u64>>);

impl<'a> ByName<'a> {
    fn of(items: &'a [Item]) -> Self {
        let mut all: HashMap<&str, Vec<u64>> = HashMap::new();
        for item in items {
            if let Content::Array(array) = &item.content {
                all.entry(&item.name).or_default().extend(array.shape().first());
            }
        }
        ByName(all)
    }

    /// The array of a name and length that the array at `path` finds: beside it, or beside a group above.
    fn beside(&self, path: &str, name: &str, len: u64) -> Option<&'a str> {
        let mut group = path;
        loop {
            group = group.rsplit_once('/').map_or("", |(group, _)| group);
            let wanted = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
            match self.0.get_key_value(wanted.as_str()) {
                Some((found, lens)) if wanted != path && lens.contains(&len) => return Some(found),
                _ if group.is_empty() => return None,
                _ => {}
            }
        }
    }
}

/// Whether the metadata of a table's columns or of an array are of no interest, since it is left out.
pub(super) fn is_of_any(loss: &Loss, gone: &BTreeSet<String>) -> bool {
    let Loss { path, subject, .. } = loss;
    let column = [format!("{path}.{subject}"), format!("{path}/{subject}")];
    gone.contains(path)
        || !subject.is_empty() && (gone.contains(subject) || column.iter().any(|name| gone.contains(name)))
}
