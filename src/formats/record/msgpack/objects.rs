//! Values that follow each other — the objects of a stream, the elements of an array, the pairs of a map — found without
//! decoding them, and given out by number.

use super::tree;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::msgpack::{text, token};
use crate::engines::records::container::{Container, Each, Framed, Problems, Record, RecordFraming};
use crate::engines::records::{Frame, Framing, Window};
use std::ops::Range;
use std::sync::Arc;

/// Values in frames: so many values each.
pub(super) struct Values {
    /// Two for the pairs of a map.
    each: u8,
}

impl Framing for Values {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        if window.get(at, 1)?.is_empty() {
            return Ok(None);
        }
        let mut end = at;
        for _ in 0..self.each {
            end = token::skip_all(window, end)?;
        }
        Ok(Some(Frame { span: at..end, records: 1, end }))
    }

    fn resume(&self, _window: &mut Window, _at: u64) -> Result<Option<u64>> {
        Ok(None)
    }
}

impl RecordFraming for Values {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        _scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        let len = limits::check(frame.end.saturating_sub(frame.start), limits::CHUNK, "an object")?;
        let bytes = window.get(frame.start, len)?;
        if bytes.len() < len { Err(token::ends(frame.start)) } else { Ok(bytes) }
    }
}

/// The values.
pub(super) struct Objects {
    framed: Framed<Values>,
    /// How many there are, where that is said.
    count: Option<u64>,
    is_map: bool,
    depth: usize,
}

impl Objects {
    /// The objects of a stream.
    pub(super) fn stream(source: Source) -> Objects {
        let framed = Framed::new(source, crate::formats::ALL, Values { each: 1 }, 0);
        Objects { framed, count: None, is_map: false, depth: 0 }
    }

    /// The values of a container whose first one begins at `start`; of a map, pairs.
    pub(super) fn of(source: Source, start: u64, count: u64, is_map: bool, depth: usize) -> Objects {
        let each = if is_map { 2 } else { 1 };
        let framed = Framed::new(source, crate::formats::ALL, Values { each }, start);
        Objects { framed, count: Some(count), is_map, depth }
    }

    /// The names and the places of the values of some pairs, or of elements.
    fn named(&self, task: &Task, record: &Record) -> Result<(String, u64)> {
        if !self.is_map {
            return Ok((record.number.to_string(), record.span.start));
        }
        let mut window = Window::new(task, self.source());
        let value = token::skip_all(&mut window, record.span.start)?;
        Ok((text::key(&mut window, record.span.start..value)?, value))
    }

    /// A record as a node, which is made at once: only its head is read.
    pub(super) fn value(&self, task: &Task, record: &Record) -> Result<Node> {
        let (name, at) = self.named(task, record)?;
        tree::node(task, self.source(), &name, at, record.span.end, self.depth + 1)
    }
}

impl Container for Objects {
    fn source(&self) -> &Source {
        self.framed.source()
    }

    fn formats(&self) -> Formats {
        self.framed.formats()
    }

    fn rows(&self) -> Rows {
        match (self.framed.rows(), self.count) {
            // Broken off before.
            (Rows::Exact(rows), Some(count)) => Rows::Exact(rows.min(count)),
            (_, Some(count)) => Rows::Exact(count),
            (rows, None) => rows,
        }
    }

    fn measure(&self, task: &Task) -> Result<u64> {
        if let Some(count) = self.rows().exact() {
            return Ok(count);
        }
        self.framed.measure(task)
    }

    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>> {
        let end = range.end.min(self.count.unwrap_or(u64::MAX));
        if range.start >= end {
            return Ok(Vec::new());
        }
        self.framed.records(task, range.start..end)
    }

    fn read(&self, task: &Task, records: &[Record], each: &mut Each<'_>) -> Result<()> {
        self.framed.read(task, records, each)
    }

    fn average(&self) -> u64 {
        self.framed.average()
    }

    fn problems(&self) -> &Arc<Problems> {
        self.framed.problems()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Record>> {
        if !self.is_map {
            let number = name.parse::<u64>().ok().filter(|number| number.to_string() == name);
            let Some(number) = number else { return Ok(None) };
            return Ok(self.records(task, number..number.saturating_add(1))?.pop());
        }
        let mut at = 0;
        loop {
            let found = self.records(task, at..at + limits::LISTED)?;
            let Some(last) = found.last() else { return Ok(None) };
            at = last.number + 1;
            for record in found {
                if self.named(task, &record)?.0 == name {
                    return Ok(Some(record));
                }
            }
        }
    }

    fn node(&self, task: &Task, record: &Record) -> Result<Node> {
        match self.value(task, record) {
            Ok(node) => Ok(node),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => Ok(Node::new(record.number.to_string(), "value").problem(error)),
        }
    }
}

/// The values of a container as children.
pub(super) struct Below(pub(super) Arc<Objects>);

impl crate::data::node::Listing for Below {
    fn count(&self) -> Option<u64> {
        self.0.rows().exact()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        let records = self.0.records(task, range.start..end)?;
        records.iter().map(|record| self.0.node(task, record).map(Arc::new)).collect()
    }

    fn at_least(&self) -> u64 {
        self.0.rows().known()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let found = self.0.find(task, name)?;
        found.map(|record| self.0.node(task, &record).map(Arc::new)).transpose()
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.0.measure(task).map(drop)
    }
}
