//! A file of pickles as a tree: one of them as the value that it makes, several as a group of them.

use super::deferred::{Below, DeferredFindings, OPCODES, Others};
use super::huge::HugePickle;
use super::large::Maker;
use super::machine::Pickle;
use super::names::{Report, examined};
use super::resolve::Resolver;
use super::tree::node_of;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::{Children, Findings, Listing, Node, page_of};
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Pickles of one file that are listed.
pub(super) const PICKLES: usize = 1 << 20;
/// Bytes of a file that is walked through when it is opened.
const LARGE: u64 = 1 << 20;

/// Makes who knows what the values of a file become.
pub type Knows = Arc<dyn Fn() -> Box<dyn Resolver> + Send + Sync>;

/// The pickles in a source, one after the other, as a node: with what all of them would import beside it.
///
/// # Errors
/// `Cancelled`, those of reading, and `Malformed` where there is nothing of a pickle.
pub fn open(task: &Task, source: &Source, knows: &Knows) -> Result<Node> {
    let len = source.len(task)?;
    let bytes = source.read(task, 0..len)?;
    if len > LARGE
        && let Some(node) = large(task, source, &bytes, knows)?
    {
        return Ok(node);
    }
    let mut found =
        Found { report: Report::default(), spans: Vec::new(), first: None, rest: None, more: None };
    found.find(task, source, &bytes)?;
    if let Some(at) = found.more {
        return Ok(very_many(source, &bytes, knows, found, at));
    }
    let Found { mut report, spans, first, rest, .. } = found;
    let first = first.ok_or_else(|| Error::malformed("a pickle: there is no opcode").at(0))?;
    if first.persistent() > 0 && !knows().knows_persistent() {
        report.incomplete(asks(first.persistent()));
    }
    let protocol = first.protocol().map_or_else(|| "0 or 1".to_owned(), |protocol| protocol.to_string());
    let opcodes = first.opcodes();
    let mut node = match spans.len() {
        0 | 1 => node_of(task, source.name(), first, knows())?,
        count => {
            let several =
                Several { source: source.clone(), bytes: bytes.clone(), spans, knows: knows.clone() };
            let mut node = Node::new(source.name(), "file").lazy(several);
            node.length = Some(count as u64);
            node.read_as("pickles", serde_json::Value::from(count))
        }
    };
    node = node.read_as("protocol", protocol).read_as("opcodes", serde_json::Value::from(opcodes));
    if let Some(rest) = rest {
        node = node.remark(follows(len, rest));
    }
    Ok(node.python(report))
}

/// What stands behind the last pickle.
pub(super) fn follows(len: u64, rest: u64) -> String {
    let follow = display::bytes(len.saturating_sub(rest));
    format!("{follow} that are no pickle follow at byte {rest}")
}

/// The node of a file that begins with a huge pickle; `None` where it does not, or that is none to be shown by parts.
fn large(task: &Task, source: &Source, bytes: &Bytes, knows: &Knows) -> Result<Option<Node>> {
    let huge = HugePickle::new(source, bytes, 0);
    if huge.glance(task, OPCODES)? {
        return Ok(None);
    }
    let maker = Maker::new(huge.clone(), knows.clone());
    let Some(mut node) = maker.root(task, source.name())? else { return Ok(None) };
    if let Some([0x80, protocol]) = bytes.get(..2) {
        node = node.read_as("protocol", protocol.to_string());
    }
    let deferred = DeferredFindings {
        source: source.clone(),
        bytes: bytes.clone(),
        knows: knows.clone(),
        first: Some(huge),
        search: Mutex::default(),
        found: Mutex::default(),
    };
    let first = match node.children {
        Children::Lazy(first) => Some(first),
        _ => None,
    };
    node.children = Children::None;
    Ok(Some(later(node, first, deferred)))
}

/// A node with what is found later.
fn later(mut node: Node, first: Option<Arc<dyn Listing>>, deferred: DeferredFindings) -> Node {
    let deferred = Arc::new(deferred);
    node.security = deferred.security();
    node.lazy(Below { first, deferred: deferred.clone() }).findings(deferred)
}

/// A pickle asks whoever loads it for objects that it does not hold.
pub(super) fn asks(many: u64) -> Error {
    Error::unsupported(format!("it asks the program that loads it for {many} objects by their ids"))
}

pub(super) fn many(at: u64) -> Error {
    Error::limit(format!("{PICKLES} pickles were looked into; more follow")).at(at)
}

/// What is in a file.
struct Found {
    report: Report,
    spans: Vec<Range<usize>>,
    first: Option<Pickle>,
    /// Where what is none begins.
    rest: Option<u64>,
    /// Where those begin that were not looked at, after so many opcodes.
    more: Option<u64>,
}

/// The node of a file of very many pickles, the first of which were found.
fn very_many(source: &Source, bytes: &Bytes, knows: &Knows, found: Found, at: u64) -> Node {
    let first = found.first.as_ref();
    let protocol = first.and_then(Pickle::protocol).map_or_else(|| "0 or 1".to_owned(), |n| n.to_string());
    let others = Others {
        report: found.report,
        spans: found.spans.iter().map(|span| span.start as u64..span.end as u64).collect(),
        at: Some(at),
        persistent: first.map_or(0, Pickle::persistent),
        ..Others::default()
    };
    let deferred = DeferredFindings {
        source: source.clone(),
        bytes: bytes.clone(),
        knows: knows.clone(),
        first: None,
        search: Mutex::default(),
        found: Mutex::new(others),
    };
    later(Node::new(source.name(), "file").read_as("protocol", protocol), None, deferred)
}

impl Found {
    fn find(&mut self, task: &Task, source: &Source, bytes: &Bytes) -> Result<()> {
        let (mut at, mut opcodes) = (0, 0);
        while self.first.is_none() || at < bytes.len() {
            if opcodes > OPCODES && bytes.len() as u64 > LARGE {
                self.more = Some(at as u64);
                return Ok(());
            }
            if self.spans.len() >= PICKLES {
                self.report.incomplete(many(at as u64));
                return Ok(());
            }
            let pickle = Pickle::read_in(task, bytes, at, source.clone(), 0)?;
            let (whole, end) = (pickle.root().is_some(), pickle.end());
            let first = self.first.is_none();
            opcodes += pickle.opcodes();
            if first || whole || !pickle.globals().is_empty() {
                self.report.merge(examined(task, &pickle, at, 0)?);
            }
            if first || whole {
                self.spans.push(at..end);
            } else {
                self.rest = Some(at as u64);
                // Zeros fill up a page; anything else could be for another reader.
                if bytes.get(at..).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) {
                    let why = "what follows the last pickle is none and was not looked into";
                    self.report.incomplete(Error::malformed(why).at(at as u64));
                }
            }
            if first {
                self.first = Some(pickle);
            }
            if !whole {
                return Ok(());
            }
            at = end;
        }
        Ok(())
    }
}

/// Pickles one after the other, as children.
struct Several {
    source: Source,
    bytes: Bytes,
    spans: Vec<Range<usize>>,
    knows: Knows,
}

impl Listing for Several {
    fn count(&self) -> Option<u64> {
        Some(self.spans.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| {
            let Some(span) = self.spans.get(usize::try_from(n).unwrap_or(usize::MAX)) else {
                return Ok(None);
            };
            limits::check(span.len() as u64, u64::MAX, "a pickle")?;
            let pickle = Pickle::read_in(task, &self.bytes, span.start, self.source.clone(), 0)?;
            let node = node_of(task, &n.to_string(), pickle, (self.knows)())?;
            Ok(Some(Arc::new(node.span(span.start as u64..span.end as u64))))
        })
    }
}
