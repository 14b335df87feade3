//! XML documents: trees of elements with their attributes and texts; elements of one name that follow each other are a table
//! as well. <https://www.w3.org/TR/xml/>
//!
//! A document of up to 64 MiB is parsed as a whole by [`xml`], which says what becomes of entities; what is wrong with it is
//! said with its line and column, what stands before that is shown, and the text as well. Of a longer one the elements in
//! its root are found one after the other, as far as somebody asks, and each is parsed when somebody looks into it.

mod records;
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
use crate::engines::xml::{self, Element, LONGEST};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["xml"],
    mime: &["application/xml", "text/xml"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table, Kind::Text],
    ..Format::new("xml", "XML", open)
};

/// Characters of a text that stand in the tree.
const SHOWN: usize = 240;

fn sniff(head: &Head) -> Match {
    if head.is_folder || !encoding::is_plausible(&head.first) {
        return Match::No;
    }
    let text = xml::decoded(&head.first);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let named = head.has_extension(FORMAT.extensions) && text.starts_with('<');
    // A declaration is nothing else's beginning.
    let declared = text.starts_with("<?xml ") && text.contains("?>");
    if named || declared { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = source.len(task)?;
    if len > LONGEST {
        return records::open(task, source);
    }
    let bytes = source.read(task, 0..len)?;
    let (charset, _) = xml::encoding(&bytes);
    let found = xml::parse(task, &xml::decoded(&bytes))?;
    let plain = || Content::Text(Arc::new(PlainText::new(source.clone(), charset)));
    let Some(root) = found.root else {
        let node = Node::new(source.name(), "nothing").content(plain());
        return Ok(match found.problem {
            Some(problem) => node.problem(problem),
            None => node,
        });
    };
    let root = Arc::new(root);
    let tree = Tree { root: root.clone(), path: Arc::default() };
    let mut node = tree.node(source.name(), &root);
    node.reader.insert(0, ("root".to_owned(), root.name.as_str().into()));
    if charset != encoding_rs::UTF_8 {
        node.reader.insert(0, ("encoding".to_owned(), charset.name().into()));
    }
    if found.kept > 0 {
        let count = crate::bytes::display::plural(found.kept, "reference");
        node.remarks.push(format!(
            "{count} to entities that are declared elsewhere, or made of others, stay as they stand in the text"
        ));
    }
    if let Some(problem) = found.problem {
        return Ok(node.problem(problem).content(plain()));
    }
    if let Some(table) = rows::of_document(task, &root)? {
        node.content = Some(Content::Table(Arc::new(table)));
    }
    Ok(node)
}

/// An element of a document in memory.
#[derive(Clone)]
struct Tree {
    root: Arc<Element>,
    /// The numbers of the elements on the way to it.
    path: Arc<[u32]>,
}

impl Tree {
    fn element(&self) -> Option<&Element> {
        self.path.iter().try_fold(self.root.as_ref(), |element, n| element.children.get(*n as usize))
    }

    /// The node of its element.
    fn node(self, name: &str, element: &Element) -> Node {
        let mut node = Node::new(name, "element");
        node.attributes =
            element.attributes.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let text = &element.text;
        if !text.is_empty() {
            let shown: String = text.chars().take(SHOWN).collect();
            if shown.len() < text.len() {
                let whole = PlainText::new(Source::memory("text", text.clone()), encoding_rs::UTF_8);
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

    fn child(&self, n: usize, name: &str) -> Option<Node> {
        let element = self.element()?.children.get(n)?;
        let path: Vec<u32> = self.path.iter().copied().chain([u32::try_from(n).ok()?]).collect();
        Some(Tree { root: self.root.clone(), path: path.into() }.node(name, element))
    }
}

/// The names of elements beside each other: those of which there are several with their number, from 1 on, as XPath has it.
fn names(children: &[Element]) -> Vec<String> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for child in children {
        counts.entry(child.name.as_str()).or_default().0 += 1;
    }
    let name = |child: &Element| match counts.get_mut(child.name.as_str()) {
        Some((all, seen)) if *all > 1 => {
            *seen += 1;
            format!("{}[{seen}]", child.name)
        }
        _ => child.name.clone(),
    };
    children.iter().map(name).collect()
}

impl Listing for Tree {
    fn count(&self) -> Option<u64> {
        self.element().map(|element| element.children.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let names = self.element().map_or(Vec::new(), |element| names(&element.children));
        let end = range.start.saturating_add(limits::LISTED).min(range.end);
        page_of(task, range.start..end, self.count(), |n| {
            let n = n as usize;
            Ok(names.get(n).and_then(|name| self.child(n, name)).map(Arc::new))
        })
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        task.check()?;
        let Some(element) = self.element() else { return Ok(None) };
        let numbered = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        let numbered = numbered.and_then(|(name, n)| Some((name, n.parse::<usize>().ok()?.checked_sub(1)?)));
        let (plain, nth) = numbered.unwrap_or((name, 0));
        let mut all = element.children.iter().enumerate().filter(|(_, child)| child.name == plain);
        let found = all.nth(nth).map(|(n, _)| n);
        Ok(found.and_then(|n| self.child(n, name)).map(Arc::new))
    }

    fn boundaries(&self) -> &'static [char] {
        &['/']
    }
}
