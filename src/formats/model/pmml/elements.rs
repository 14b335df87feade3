//! Elements that are no lists, as a tree: their attributes, texts, and what predicates and expressions say.

use super::terms;
use super::texts;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::node::{Listing, Node, page_of};
use crate::engines::delimited::PlainText;
use crate::engines::xml::Element;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Characters of a text that stand in the tree.
const SHOWN: usize = 240;

/// An element in memory.
#[derive(Clone)]
struct Tree {
    root: Arc<Element>,
    /// The numbers of the elements on the way to it.
    path: Arc<[u32]>,
}

/// The names of elements beside each other: those of which there are several with their number, from 1 on, as XPath has it.
pub(super) fn numbered<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    names.clone().for_each(|name| counts.entry(name).or_default().0 += 1);
    let name = |name: &str| match counts.get_mut(name) {
        Some((all, seen)) if *all > 1 => {
            *seen += 1;
            format!("{name}[{seen}]")
        }
        _ => name.to_owned(),
    };
    names.map(name).collect()
}

/// A node for an element of this name.
pub(super) fn labelled(name: &str, element: &str) -> Node {
    let label = terms::label(element);
    let mut node = Node::new(name, label);
    if label != element {
        node.type_name = Some(element.into());
    }
    node
}

/// What an element says, and what lies in it. Attributes are only those of the elements in it where `is_known`.
pub(super) fn node(name: &str, element: Element, is_known: bool) -> Node {
    let root = Arc::new(element);
    let mut node = Tree { root: root.clone(), path: Arc::default() }.node(name, &root);
    if is_known {
        node.attributes.clear();
    }
    node
}

impl Tree {
    fn element(&self) -> Option<&Element> {
        self.path.iter().try_fold(self.root.as_ref(), |element, n| element.children.get(*n as usize))
    }

    fn node(self, name: &str, element: &Element) -> Node {
        let kind = element.local_name();
        let mut node = labelled(name, kind);
        node.attributes =
            element.attributes.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let is_said = terms::is_predicate(kind) || terms::is_expression(kind) || kind == "DerivedField";
        let text = if is_said { texts::cell(&[element]).unwrap_or_default() } else { element.text.clone() };
        if !text.is_empty() {
            let shown: String = text.chars().take(SHOWN).collect();
            if shown.len() < text.len() {
                let whole = PlainText::new(Source::memory("text", text), encoding_rs::UTF_8);
                node = node.content(Content::Text(Arc::new(whole))).value(format!("{shown}…"));
            } else {
                node = node.value(shown);
            }
        }
        if element.children.is_empty() {
            return node;
        }
        node.length = Some(element.children.len() as u64);
        node.lazy(self)
    }
}

impl Listing for Tree {
    fn count(&self) -> Option<u64> {
        self.element().map(|element| element.children.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let Some(element) = self.element() else { return Ok(Vec::new()) };
        let names = numbered(element.children.iter().map(Element::local_name));
        page_of(task, range, self.count(), |n| {
            let (Some(name), Some(child)) = (names.get(n as usize), element.children.get(n as usize)) else {
                return Ok(None);
            };
            let path: Vec<u32> = self.path.iter().copied().chain([n as u32]).collect();
            Ok(Some(Arc::new(Tree { root: self.root.clone(), path: path.into() }.node(name, child))))
        })
    }

    fn boundaries(&self) -> &'static [char] {
        &['/']
    }
}
