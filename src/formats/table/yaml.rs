//! YAML documents: trees of mappings, sequences and scalars; a sequence of mappings is a table as well.
//! <https://yaml.org/spec/1.2.2/>
//!
//! A text of up to 64 MiB is parsed as a whole by [`yaml`](crate::engines::yaml), which says how scalars are read; longer
//! ones are texts. What is wrong is said with its line and column; what stands before is shown, and the text as well.

mod rows;
#[cfg(test)]
mod tests;

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::{Listing, Node, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::{PlainText, encoding};
use crate::engines::yaml::{LONGEST, Place, Value, Yaml};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["yaml", "yml"],
    mime: &["application/yaml", "text/yaml"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table, Kind::Text],
    ..Format::new("yaml", "YAML", open)
};

/// Characters of a scalar that stand in the tree.
const SHOWN: usize = 240;
/// Where aliases make a text larger than this many values, they are not followed.
const FOLLOWED: u64 = 1 << 17;

fn sniff(head: &Head) -> Match {
    let named = !head.is_folder && head.has_extension(FORMAT.extensions);
    if named && encoding::is_plausible(&head.first) { Match::Yes } else { Match::No }
}

/// The text of a source, decoded.
fn text(task: &Task, source: &Source) -> Result<String> {
    let len = limits::check(source.len(task)?, LONGEST, "YAML: the text")?;
    let bytes = source.read_up_to(task, 0, len)?;
    let found = encoding::detect(&bytes);
    let (view, start, charset) = encoding::ascii_view(source, found)?;
    let all = match view.known_len() == Some(len as u64) && start <= bytes.len() as u64 {
        true => bytes.slice(start as usize..),
        false => view.read_up_to(task, start, len.saturating_mul(2).saturating_add(16))?,
    };
    Ok(encoding::decode(charset, &all).into_owned())
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let found = encoding::detect(&opening.head.first);
    let plain = || Content::Text(Arc::new(PlainText::new(source.clone(), found.encoding)));
    if source.len(task)? > LONGEST {
        let remark = "it is too long to be parsed as YAML and is shown as text";
        return Ok(Node::new(source.name(), "text").content(plain()).remark(remark));
    }
    let (yaml, problem) = Yaml::load(task, &text(task, source)?)?;
    let follows = !yaml.is_larger_than(FOLLOWED.max(yaml.len() as u64));
    let tree = Tree { yaml: Arc::new(yaml), follows };
    let mut root = match tree.yaml.documents.as_slice() {
        [] => Node::new(source.name(), "nothing").content(plain()),
        [one] => tree.node(source.name(), *one, 0),
        all => {
            let below = Below { tree: tree.clone(), place: None, depth: 0 };
            let mut root = Node::new(source.name(), "stream").lazy(below);
            root.length = Some(all.len() as u64);
            root
        }
    };
    root.reader.push(("scalars".to_owned(), "YAML 1.1, as PyYAML reads them".into()));
    if !follows {
        root.remarks.push("its aliases stand for very many values and are not followed".to_owned());
    }
    if problem.is_some() {
        root.content = Some(plain());
        root.problem = problem;
    } else if let [one] = tree.yaml.documents.as_slice()
        && follows
        && let Some(table) = rows::table(task, &tree.yaml, *one)?
    {
        root.content = Some(Content::Table(Arc::new(table)));
        root.children_are_parts = true;
    }
    Ok(root)
}

/// The values of a text.
#[derive(Clone)]
struct Tree {
    yaml: Arc<Yaml>,
    /// Whether aliases are followed.
    follows: bool,
}

impl Tree {
    /// A value as a node.
    fn node(&self, name: &str, place: Place, depth: usize) -> Node {
        let Some(item) = self.yaml.item(place) else { return Node::new(name, "nothing") };
        let is_alias = self.yaml.is_alias(place);
        let mut node = match &item.value {
            Value::Alias(_) => return Node::new(name, "alias"),
            Value::Scalar(..) => return self.scalar(name, place, item.tag.as_deref()),
            Value::Sequence(all) => sized(Node::new(name, "sequence"), all.len()),
            Value::Mapping(all) => sized(Node::new(name, "mapping"), all.len()),
        };
        if let Some(tag) = &item.tag {
            node.type_name = Some(tag.as_str().into());
        }
        if is_alias && !self.follows || depth >= limits::DEPTH {
            return node.value(format!("the value of line {}", item.line));
        }
        if node.length == Some(0) {
            return node;
        }
        node.lazy(Below { tree: self.clone(), place: Some(place), depth })
    }

    fn scalar(&self, name: &str, place: Place, tag: Option<&str>) -> Node {
        let Some(scalar) = self.yaml.scalar(place) else { return Node::new(name, "nothing") };
        let mut node = Node::new(name, scalar.word());
        node.type_name = tag.map(Into::into);
        let text = scalar.text();
        let shown: String = text.chars().take(SHOWN).collect();
        if shown.len() == text.len() {
            return node.value(text);
        }
        let whole = PlainText::new(Source::memory("value", text), encoding_rs::UTF_8);
        node.value(format!("{shown}…")).content(Content::Text(Arc::new(whole)))
    }
}

fn sized(mut node: Node, length: usize) -> Node {
    node.length = Some(length as u64);
    node
}

/// The values in a container; of none, the documents.
struct Below {
    tree: Tree,
    place: Option<Place>,
    depth: usize,
}

impl Below {
    fn child(&self, n: u64) -> Option<Node> {
        let n = usize::try_from(n).ok()?;
        let (yaml, depth) = (&self.tree.yaml, self.depth + 1);
        let Some(place) = self.place else {
            return Some(self.tree.node(&n.to_string(), *yaml.documents.get(n)?, depth));
        };
        match &yaml.item(place)?.value {
            Value::Sequence(all) => Some(self.tree.node(&n.to_string(), *all.get(n)?, depth)),
            Value::Mapping(all) => {
                let (key, value) = all.get(n)?;
                Some(self.tree.node(&yaml.key(*key), *value, depth))
            }
            Value::Scalar(..) | Value::Alias(_) => None,
        }
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        let Some(place) = self.place else { return Some(self.tree.yaml.documents.len() as u64) };
        Some(match &self.tree.yaml.item(place)?.value {
            Value::Sequence(all) => all.len() as u64,
            Value::Mapping(all) => all.len() as u64,
            Value::Scalar(..) | Value::Alias(_) => 0,
        })
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.child(n).map(Arc::new)))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        task.check()?;
        let count = self.count().unwrap_or(0);
        let Some(Value::Mapping(all)) =
            self.place.and_then(|place| self.tree.yaml.item(place)).map(|item| &item.value)
        else {
            let number = name.parse::<u64>().ok().filter(|n| *n < count && n.to_string() == name);
            return Ok(number.and_then(|n| self.child(n)).map(Arc::new));
        };
        let found = all.iter().position(|(key, _)| self.tree.yaml.key(*key) == name);
        Ok(found.and_then(|n| self.child(n as u64)).map(Arc::new))
    }
}
