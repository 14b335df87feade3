//! Nodes of values: scalars with their text, containers with children that are listed by pages.

use super::{notebook, tables};
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::json::token as text;
use crate::data::node::{Findings, Listing, Node, NodeStatistics};
use crate::engines::delimited::PlainText;
use crate::engines::json::late_fields::LateFields;
use crate::engines::json::{Child, Document, Kind, Walk, check};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes that are gone over for the children that are shown at once.
const SOON: u64 = 16 << 20;
/// Bytes of a scalar's text that stand in the tree.
const SHOWN: usize = 240;

/// What is found in a document after it was opened: by its index, by reads of rows, by the statistics of all of it.
pub(super) struct DocumentFacts {
    pub(super) document: Arc<Document>,
    /// The bytes that this is about.
    pub(super) range: Range<u64>,
    pub(super) met: Arc<LateFields>,
    /// What is wrong, and remarks, once all was looked at.
    pub(super) whole: OnceLock<(Option<Error>, Vec<String>)>,
}

impl Findings for DocumentFacts {
    fn problem(&self) -> Option<Error> {
        let whole = self.whole.get().and_then(|(problem, _)| problem.clone());
        whole.or_else(|| self.document.problem_in(self.range.clone()))
    }

    fn remarks(&self) -> Vec<String> {
        let whole = self.whole.get().map_or(Vec::new(), |(_, remarks)| remarks.clone());
        whole.into_iter().chain(self.met.remarks("element")).collect()
    }
}

/// The root's node: as every other one, and as the table or notebook that the document is; and what is odd
/// about its rows, as they are read.
pub(super) fn root(task: &Task, document: &Arc<Document>, value: Child) -> Result<(Node, Arc<LateFields>)> {
    let (start, kind) = (value.span.start, value.kind);
    let mut root = of(document, "", value);
    if kind == Kind::Object && notebook::is_one(task, document, start)? {
        let below = Below { notebook: true, ..Below::new(document.clone(), start, kind) };
        root.label = "notebook";
        return Ok((root.lazy(below).content(notebook::whole(document, start)?), Arc::default()));
    }
    let mut met = Arc::default();
    if let Some(found) = tables::of_root(task, document, start, kind)? {
        root.content = Some(found.content);
        (root.remarks, met) = (found.remarks, found.met);
        root.children_are_parts = kind == Kind::Array;
        root = root.lazy(Below { plain: true, ..Below::new(document.clone(), start, kind) });
    }
    Ok((root, met))
}

/// The node of a value.
pub(super) fn of(document: &Arc<Document>, name: &str, value: Child) -> Node {
    let mut node = Node::new(name, value.kind.word());
    if !document.is_foreign() {
        node.span = Some(value.span.clone());
    }
    let (start, kind) = (value.span.start, value.kind);
    if kind.is_container() {
        let whole = Whole { document: document.clone(), start, told: None };
        let len = value.span.end - value.span.start;
        node = node.statistics(whole).lazy(Below { len, ..Below::new(document.clone(), start, kind) });
    } else {
        scalar(document, &mut node, &value);
    }
    node.problem = value.problem;
    node
}

fn scalar(document: &Arc<Document>, node: &mut Node, value: &Child) {
    let (mut shown, whole) = value.value(SHOWN);
    if !whole {
        let len = value.span.end - value.span.start;
        shown.push_str(&format!("… ({})", display::bytes(len)));
        // Behind the cut one there is a way to all of it.
        if let Some(source) = whole_string(document, value) {
            node.content = Some(Content::Text(Arc::new(PlainText::new(source, encoding_rs::UTF_8))));
        }
    }
    node.value = Some(shown);
}

/// The text of a long scalar, to be read by ranges.
fn whole_string(document: &Arc<Document>, value: &Child) -> Option<Source> {
    let source = document.source();
    if value.kind != Kind::String {
        return source.member("value", value.span.clone()).ok();
    }
    let inner = value.span.start + 1..value.span.end.saturating_sub(1).max(value.span.start + 1);
    if value.text.len() as u64 == value.span.end - value.span.start && !value.text.contains(&b'\\') {
        return source.member("value", inner).ok();
    }
    let raw = source.clone();
    made(source, "value", move |task| {
        limits::check(inner.end - inner.start, limits::CHUNK, "the text of a string")?;
        Ok(text::unescape(&raw.read(task, inner.clone())?).0.into_owned())
    })
    .ok()
}

/// A text that is made from `source` at the first read.
pub(super) fn made(
    source: &Source,
    name: &str,
    make: impl Fn(&Task) -> Result<String> + Send + Sync + 'static,
) -> Result<Source> {
    source.stream(name, Arc::new(GeneratedText { make, text: OnceLock::new() }))
}

struct GeneratedText<F> {
    make: F,
    text: OnceLock<Bytes>,
}

impl<F: Fn(&Task) -> Result<String> + Send + Sync> GeneratedText<F> {
    fn text(&self, task: &Task) -> Result<&Bytes> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let text = Bytes::from((self.make)(task)?);
        Ok(self.text.get_or_init(|| text))
    }
}

impl<F: Fn(&Task) -> Result<String> + Send + Sync> ReadAt for GeneratedText<F> {
    fn known_len(&self) -> Option<u64> {
        self.text.get().map(|text| text.len() as u64)
    }

    fn len(&self, task: &Task) -> Result<u64> {
        Ok(self.text(task)?.len() as u64)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let text = self.text(task)?;
        let rest = usize::try_from(offset).ok().and_then(|at| text.get(at..)).unwrap_or_default();
        let n = rest.len().min(out.len());
        if let (Some(out), Some(rest)) = (out.get_mut(..n), rest.get(..n)) {
            out.copy_from_slice(rest);
        }
        Ok(n)
    }
}

/// What one pass over a value tells.
pub(super) struct Whole {
    pub(super) document: Arc<Document>,
    pub(super) start: u64,
    /// Where what it finds is told.
    pub(super) told: Option<Arc<DocumentFacts>>,
}

impl NodeStatistics for Whole {
    fn kind(&self) -> &'static str {
        "json"
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        let source = self.document.source();
        task.set_total(source.known_len().unwrap_or(0).saturating_sub(self.start));
        let summary = check::check(task, &self.document, self.start)?;
        if let Some(told) = &self.told {
            let remarks = super::unusual(task, &self.document, &summary);
            told.whole.get_or_init(|| (summary.problem.clone(), remarks));
        }
        if let Some(problem) = summary.problem {
            return Err(problem);
        }
        let mut facts = vec![("top", summary.top.map_or("nothing", Kind::word).into())];
        if summary.top.is_some_and(Kind::is_container) {
            facts.push(("length", summary.length.into()));
        }
        facts.push(("values", summary.values.into()));
        facts.push(("depth", summary.depth.into()));
        if summary.replaced > 0 {
            facts.push(("replaced", summary.replaced.into()));
        }
        for unusual in summary.unusual {
            facts.push((unusual.what, unusual.count.into()));
        }
        Ok(facts)
    }
}

/// The children of a container.
pub(super) struct Below {
    pub(super) document: Arc<Document>,
    pub(super) start: u64,
    kind: Kind,
    /// It was resolved, or is not to be.
    pub(super) plain: bool,
    /// The root of a notebook.
    pub(super) notebook: bool,
    /// The bytes that it takes at most.
    len: u64,
    count: Mutex<Option<u64>>,
}

impl Below {
    pub(super) fn new(document: Arc<Document>, start: u64, kind: Kind) -> Below {
        Below { document, start, kind, plain: false, notebook: false, len: u64::MAX, count: Mutex::new(None) }
    }

    fn node(&self, task: &Task, child: Child) -> Result<Node> {
        let name = child.name.clone().unwrap_or_else(|| child.index.to_string());
        if self.notebook && name == "cells" && child.kind == Kind::Array {
            return Ok(notebook::cells(task, &self.document, child));
        }
        Ok(of(&self.document, &name, child))
    }

    /// The children `range`; what breaks the text is the last node. With `soon`, only up to the first one
    /// whose end is far; false where more may follow.
    fn collect(&self, task: &Task, range: Range<u64>, soon: bool) -> Result<(Vec<Arc<Node>>, bool)> {
        let mut walk = Walk::new(task, &self.document, self.start, range.start)?;
        let most =
            if soon { walk.place().max(self.document.frontier().0).saturating_add(SOON) } else { u64::MAX };
        walk = if soon { walk.nearby() } else { walk };
        let (mut nodes, mut names) = (Vec::new(), HashSet::new());
        while walk.position() < range.end {
            if walk.place() > most {
                return Ok((nodes, false));
            }
            let at = walk.position();
            match walk.next() {
                Ok(Some(child)) if child.index < range.start => {}
                Ok(Some(child)) => {
                    let twice = child.name.as_ref().is_some_and(|name| !names.insert(name.clone()));
                    let mut node = self.node(task, child)?;
                    if twice {
                        node.remarks.push("another member of this object has the same name".to_owned());
                    }
                    if walk.is_far() {
                        node.span = None;
                        nodes.push(Arc::new(node));
                        return Ok((nodes, false));
                    }
                    nodes.push(Arc::new(node));
                }
                Ok(None) => {
                    *self.count.lock() = Some(at);
                    break;
                }
                Err(error) if error.is_cancelled() || error.kind() == crate::bytes::error::ErrorKind::Io => {
                    return Err(error);
                }
                Err(error) => {
                    if at >= range.start {
                        nodes.push(Arc::new(broken(error)));
                    }
                    *self.count.lock() = Some(at + 1);
                    break;
                }
            }
        }
        Ok((nodes, true))
    }

    fn cut(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED.max(1)));
        // The index counts commas: only a walk knows of a text that breaks.
        range.start..self.count.lock().map_or(end, |count| end.min(count)).max(range.start)
    }
}

/// The node that stands where the text breaks.
fn broken(error: Error) -> Node {
    Node::new("✗", "broken").problem(error)
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        self.count.lock().or_else(|| self.document.children(self.start).0)
    }

    fn at_least(&self) -> u64 {
        self.document.children(self.start).1
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        self.collect(task, self.cut(&range), true)
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.document.finish(task, self.start)?;
        if self.document.lost(self.start).is_some() && self.count.lock().is_none() {
            // What breaks the text is the last child.
            let (mark, _) = self.document.last_mark(self.start);
            self.collect(task, mark.child..u64::MAX, false)?;
        }
        Ok(())
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(self.collect(task, self.cut(&range), false)?.0)
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        if self.plain || self.kind != Kind::Array {
            return Ok(None);
        }
        let Some(found) = tables::of_array(task, &self.document, self.start, self.len)? else {
            return Ok(None);
        };
        let below = Below { plain: true, ..Below::new(self.document.clone(), self.start, self.kind) };
        let document = self.document.clone();
        let whole = Whole { document: document.clone(), start: self.start, told: None };
        let range = self.start..self.start.saturating_add(self.len);
        let told = DocumentFacts { document, range, met: found.met, whole: OnceLock::new() };
        let node = Node::new("", self.kind.word()).content(found.content);
        let mut node = node.lazy(below).parts().statistics(whole);
        node.remarks = found.remarks;
        Ok(Some(Arc::new(node.findings(Arc::new(told)))))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        if self.kind == Kind::Array {
            // `01` is not the name of a child.
            let Some(index) = name.parse::<u64>().ok().filter(|index| index.to_string() == name) else {
                return Ok(None);
            };
            return Ok(self.page(task, index..index.saturating_add(1))?.into_iter().next());
        }
        let mut walk = Walk::new(task, &self.document, self.start, 0)?;
        loop {
            match walk.next().unless_cancelled()? {
                Ok(Some(child)) if child.name.as_deref() == Some(name) => {
                    return Ok(Some(Arc::new(self.node(task, child)?)));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                // What stands behind a break cannot be found.
                Err(_) => return Ok(None),
            }
        }
    }
}
