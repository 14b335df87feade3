//! What of a large file of pickles is found later than it is opened: what follows a huge pickle, those behind the first
//! ones of very many, and what all of them would import.

use super::file::{Knows, PICKLES, asks, follows, many};
use super::huge::HugePickle;
use super::large::Maker;
use super::machine::Pickle;
use super::names::{Report, Verdict};
use super::tree::node_of;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::{Findings, Listing, Node, page_of};
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Opcodes of a pickle that is walked through when it is looked at; larger ones are made by parts.
pub(super) const OPCODES: u64 = 1 << 19;

/// A large file of pickles.
pub(super) struct DeferredFindings {
    pub(super) source: Source,
    pub(super) bytes: Bytes,
    pub(super) knows: Knows,
    /// The first pickle, where that is huge: its values are shown.
    pub(super) first: Option<Arc<HugePickle>>,
    /// The others: held by who looks for more of them, and what is known for who does not wait.
    pub(super) search: Mutex<()>,
    pub(super) found: Mutex<Others>,
}

/// Pickles one after the other, as far as they were found.
#[derive(Clone, Default)]
pub(super) struct Others {
    pub(super) report: Report,
    pub(super) spans: Vec<Range<u64>>,
    /// Where the next one begins; `None` before the first one's end is known.
    pub(super) at: Option<u64>,
    /// There are no more.
    pub(super) done: bool,
    /// Where what is no pickle begins.
    pub(super) rest: Option<u64>,
    pub(super) persistent: u64,
}

impl DeferredFindings {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Finds so many of the other pickles, or all there are.
    fn reach(&self, task: &Task, count: u64) -> Result<()> {
        let known = || {
            let found = self.found.lock();
            found.done || found.spans.len() as u64 >= count
        };
        if known() {
            return Ok(());
        }
        let _search = self.search.lock();
        task.set_total(self.len());
        if let Some(first) = self.first.as_ref().filter(|_| self.found.lock().at.is_none()) {
            while !first.told().done {
                let at = first.told().at;
                first.ensure(task, at.saturating_add(super::huge::TURN))?;
                task.reached(at);
            }
            let told = first.told();
            let mut found = self.found.lock();
            (found.at, found.done) = (Some(told.at), !told.whole);
        }
        while !known() {
            self.next(task)?;
        }
        Ok(())
    }

    /// Finds the next pickle.
    fn next(&self, task: &Task) -> Result<()> {
        let at = self.found.lock().at.unwrap_or(0);
        if at >= self.len() {
            self.found.lock().done = true;
            return Ok(());
        }
        let huge = HugePickle::new(&self.source, &self.bytes, at);
        huge.ensure(task, u64::MAX)?;
        let told = huge.told();
        task.reached(told.at);
        let mut found = self.found.lock();
        if found.spans.len() >= PICKLES {
            found.report.incomplete(many(at));
            found.done = true;
            return Ok(());
        }
        if told.whole || !told.report.globals.is_empty() {
            found.report.merge(Report::clone(&told.report));
        }
        found.persistent = found.persistent.saturating_add(told.persistent);
        match told.whole {
            true => found.spans.push(at..told.at),
            false => (found.rest, found.done) = (Some(at), true),
        }
        found.at = Some(told.at);
        Ok(())
    }

    /// The node of one of the other pickles.
    fn other(&self, task: &Task, n: u64) -> Result<Option<Arc<Node>>> {
        let span = self.found.lock().spans.get(usize::try_from(n).unwrap_or(usize::MAX)).cloned();
        let Some(span) = span else { return Ok(None) };
        let name = if self.first.is_some() { format!("pickle {}", n + 1) } else { n.to_string() };
        limits::check(span.end - span.start, u64::MAX, "a pickle")?;
        let bytes = self.bytes.slice(..span.end as usize);
        let huge = HugePickle::new(&self.source, &bytes, span.start);
        if !huge.glance(task, OPCODES)?
            && let Some(node) = Maker::new(huge, self.knows.clone()).root(task, &name)?
        {
            return Ok(Some(Arc::new(node.span(span))));
        }
        let pickle = Pickle::read_in(task, &bytes, span.start as usize, self.source.clone(), 0)?;
        Ok(Some(Arc::new(node_of(task, &name, pickle, (self.knows)())?.span(span))))
    }
}

impl Findings for DeferredFindings {
    fn problem(&self) -> Option<Error> {
        let dangerous = self.security().and_then(|report| report.problem("Python objects"));
        dangerous.or_else(|| self.first.as_ref()?.told().fault)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(report) = self.security().filter(|report| report.verdict == Verdict::Unusual) {
            let fault = report.fault.as_ref().filter(|_| report.suspects.is_empty());
            remarks.push(fault.map_or_else(|| report.sentence(), Error::message));
        }
        let (count, rest) = {
            let found = self.found.lock();
            (found.spans.len(), found.rest)
        };
        if count > 0 && self.first.is_some() {
            let what = if count == 1 {
                "another pickle follows".to_owned()
            } else {
                format!("{count} more pickles follow")
            };
            remarks.push(format!("{what}, listed behind what is in the first one"));
        }
        remarks.extend(rest.map(|rest| follows(self.len(), rest)));
        remarks
    }

    fn security(&self) -> Option<Arc<Report>> {
        let told = self.first.as_ref().map(|first| first.told());
        let mut report = told.as_ref().map_or_else(Report::default, |told| Report::clone(&told.report));
        let found = self.found.lock();
        report.merge(found.report.clone());
        let persistent = found.persistent.saturating_add(told.map_or(0, |told| told.persistent));
        if persistent > 0 && !(self.knows)().knows_persistent() {
            report.incomplete(asks(persistent));
        }
        if !found.done {
            report.incomplete(Error::limit("not all of it was looked into yet"));
        }
        Some(Arc::new(report))
    }

    fn finish(&self, task: &Task) -> Result<()> {
        self.reach(task, u64::MAX)
    }
}

/// What a large file of pickles holds: the values of a huge one, then the other pickles. They are counted when all of
/// the file was gone over: so whoever asks how many there are gets to know what they would import.
pub(super) struct Below {
    pub(super) first: Option<Arc<dyn Listing>>,
    pub(super) deferred: Arc<DeferredFindings>,
}

impl Below {
    /// How many values of the first pickle stand before the others; `None` where it is not known.
    fn before(&self) -> Option<u64> {
        self.first.as_ref().map_or(Some(0), |first| first.count())
    }

    /// The other pickles in a range of all children.
    fn others(&self, task: &Task, range: &Range<u64>, before: u64) -> Result<Vec<Arc<Node>>> {
        let wanted = range.start.max(before) - before..range.end.max(before) - before;
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let end = wanted.end.min(wanted.start.saturating_add(limits::LISTED));
        self.deferred.reach(task, end)?;
        let count = self.deferred.found.lock().spans.len() as u64;
        page_of(task, wanted.start..end, Some(count), |n| self.deferred.other(task, n))
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        let found = self.deferred.found.lock();
        let others = found.done.then_some(found.spans.len() as u64)?;
        self.before()?.checked_add(others)
    }

    fn at_least(&self) -> u64 {
        let first = self.first.as_ref().map_or(0, |first| first.at_least());
        first.saturating_add(self.deferred.found.lock().spans.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let mut nodes = match &self.first {
            Some(first) => first.page(task, range.clone())?,
            None => Vec::new(),
        };
        // All of the first one was seen where its page is not full.
        if let Some(before) = self.before().filter(|before| *before < range.end) {
            nodes.extend(self.others(task, &range, before)?);
        }
        Ok(nodes)
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        match &self.first {
            Some(first) => {
                let (nodes, whole) = first.soon(task, range.clone())?;
                // The others may follow.
                Ok((nodes, whole && self.before().is_none_or(|before| before >= range.end)))
            }
            None => {
                let there = self.deferred.found.lock().spans.len() as u64;
                let soon = range.start..range.end.min(there);
                Ok((self.others(task, &soon, 0)?, soon.end >= range.end || self.count().is_some()))
            }
        }
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.deferred.finish(task)?;
        self.first.as_ref().map_or(Ok(()), |first| first.measure(task))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        if let Some(first) = &self.first
            && let Some(found) = first.find(task, name)?
        {
            return Ok(Some(found));
        }
        let number = match &self.first {
            Some(_) => {
                name.strip_prefix("pickle ").and_then(|number| number.parse::<u64>().ok()?.checked_sub(1))
            }
            None => name.parse::<u64>().ok().filter(|number| number.to_string() == name),
        };
        let Some(number) = number else { return Ok(None) };
        self.deferred.reach(task, number.saturating_add(1))?;
        self.deferred.other(task, number)
    }
}
