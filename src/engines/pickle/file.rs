//! A file of pickles as a tree: one of them as the value that it makes, several as a group of them.

use super::machine::Pickle;
use super::names::{Report, examined};
use super::resolve::Resolver;
use super::tree::node_of;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::{Listing, Node, page_of};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Pickles of one file that are listed.
const PICKLES: usize = 1 << 20;

/// Makes who knows what the values of a file become.
pub type Knows = Arc<dyn Fn() -> Box<dyn Resolver> + Send + Sync>;

/// The pickles in a source, one after the other, as a node: with what all of them would import beside it.
///
/// # Errors
/// `Cancelled`, those of reading, and `Malformed` where there is nothing of a pickle.
pub fn open(task: &Task, source: &Source, knows: &Knows) -> Result<Node> {
    let len = source.len(task)?;
    let bytes = source.read(task, 0..len)?;
    let mut found = Found { report: Report::default(), spans: Vec::new(), first: None, rest: None };
    found.find(task, source, &bytes)?;
    let Found { mut report, spans, first, rest } = found;
    let first = first.ok_or_else(|| Error::malformed("a pickle: there is no opcode").at(0))?;
    if first.persistent() > 0 && !knows().knows_persistent() {
        let many = first.persistent();
        let why = format!("it asks the program that loads it for {many} objects by their ids");
        report.incomplete(Error::unsupported(why));
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
        let follow = display::bytes(len.saturating_sub(rest));
        node = node.remark(format!("{follow} that are no pickle follow at byte {rest}"));
    }
    Ok(node.python(report))
}

/// What is in a file.
struct Found {
    report: Report,
    spans: Vec<Range<usize>>,
    first: Option<Pickle>,
    /// Where what is none begins.
    rest: Option<u64>,
}

impl Found {
    fn find(&mut self, task: &Task, source: &Source, bytes: &Bytes) -> Result<()> {
        let mut at = 0;
        while self.first.is_none() || at < bytes.len() {
            if self.spans.len() >= PICKLES {
                let why = format!("{PICKLES} pickles were looked into; more follow");
                self.report.incomplete(Error::limit(why).at(at as u64));
                return Ok(());
            }
            let pickle = Pickle::read_in(task, bytes, at, source.clone(), 0)?;
            let (whole, end) = (pickle.root().is_some(), pickle.end());
            let first = self.first.is_none();
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
