//! What else of a node reads: its children, what is found of it, where it lies, its statistics and its versions.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::location::{BytePlace, Location};
use crate::data::node::{Findings, Listing, Node, NodeStatistics, Places, Version, Versions};
use crate::data::security::Report;
use crate::worker::calls::Call;
use crate::worker::link::Handle;
use crate::worker::objects::State;
use crate::worker::wire::{In, Out, Wire, wrong};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Children that are all there, listed by pages all the same: there are too many to be sent at once.
pub(in crate::worker) struct Listed(pub(in crate::worker) Arc<Vec<Arc<Node>>>);

impl Listing for Listed {
    fn count(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn page(&self, _task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(self.0.len() as u64).min(range.start.saturating_add(limits::LISTED));
        let start = range.start.min(end);
        Ok(self.0.get(start as usize..end as usize).unwrap_or_default().to_vec())
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.0.iter().find(|node| node.name == name).cloned())
    }
}

/// Children in a worker.
pub(in crate::worker) struct RemoteListing {
    handle: Arc<Handle>,
    boundaries: &'static [char],
}

impl RemoteListing {
    pub(in crate::worker) fn describe(list: &dyn Listing, out: &mut Out<'_>) {
        list.boundaries().to_vec().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        Ok(RemoteListing { handle, boundaries: boundaries(Vec::read(from)?)? })
    }
}

/// Such characters, which are kept for as long as the process lives: formats have few of them.
fn boundaries(characters: Vec<char>) -> Result<&'static [char]> {
    /// Lists of them, and characters in a list.
    const MOST: usize = 64;
    static KNOWN: Mutex<Vec<&'static [char]>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock();
    if let Some(same) = known.iter().find(|list| **list == characters.as_slice()) {
        return Ok(same);
    }
    if known.len() >= MOST || characters.len() > MOST {
        return Err(wrong("too many kinds of paths"));
    }
    let list: &'static [char] = Box::leak(characters.into_boxed_slice());
    known.push(list);
    Ok(list)
}

impl Listing for RemoteListing {
    fn count(&self) -> Option<u64> {
        match self.handle.state() {
            State::Children { count, .. } => count,
            _ => None,
        }
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let most = range.end.saturating_sub(range.start);
        let page: Vec<Arc<Node>> = self.handle.call(task, &Call::ListingPage { range })?;
        match page.len() as u64 <= most {
            true => Ok(page),
            false => Err(wrong("more children than were asked for")),
        }
    }

    fn at_least(&self) -> u64 {
        match self.handle.state() {
            State::Children { at_least, .. } => at_least,
            _ => 0,
        }
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let most = range.end.saturating_sub(range.start);
        let (page, whole): (Vec<Arc<Node>>, bool) = self.handle.call(task, &Call::ListingSoon { range })?;
        match page.len() as u64 <= most {
            true => Ok((page, whole)),
            false => Err(wrong("more children than were asked for")),
        }
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.handle.call(task, &Call::ListingMeasure)
    }

    fn boundaries(&self) -> &'static [char] {
        self.boundaries
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        self.handle.call(task, &Call::ListingResolve)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        self.handle.call(task, &Call::ListingFind { name: name.to_owned() })
    }
}

/// What is found in a worker.
pub(in crate::worker) struct RemoteFindings(Arc<Handle>);

impl RemoteFindings {
    pub(in crate::worker) fn describe(_findings: &dyn Findings, _out: &mut Out<'_>) {}

    pub(in crate::worker) fn described(handle: Arc<Handle>, _from: &mut In<'_>) -> Result<Self> {
        Ok(RemoteFindings(handle))
    }
}

impl Findings for RemoteFindings {
    fn problem(&self) -> Option<Error> {
        match self.0.state() {
            State::Found { problem, .. } => problem,
            _ => None,
        }
    }

    fn remarks(&self) -> Vec<String> {
        match self.0.state() {
            State::Found { remarks, .. } => remarks,
            _ => Vec::new(),
        }
    }

    fn security(&self) -> Option<Arc<Report>> {
        match self.0.state() {
            State::Found { security, .. } => security,
            _ => None,
        }
    }

    fn finish(&self, task: &Task) -> Result<()> {
        self.0.call(task, &Call::FindingsFinish)
    }
}

/// Where something lies, as a worker knows it.
pub(in crate::worker) struct RemotePlaces {
    handle: Arc<Handle>,
    is_member: bool,
}

impl RemotePlaces {
    pub(in crate::worker) fn describe(places: &dyn Places, out: &mut Out<'_>) {
        places.is_member().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        Ok(RemotePlaces { handle, is_member: bool::read(from)? })
    }
}

impl Places for RemotePlaces {
    fn location(&self, task: &Task) -> Result<Option<Location>> {
        self.handle.call(task, &Call::PlacesLocation)
    }

    fn is_member(&self) -> bool {
        self.is_member
    }

    fn attribute(&self, task: &Task, name: &str) -> Result<Option<Location>> {
        self.handle.call(task, &Call::PlacesAttribute { name: name.to_owned() })
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<(String, Location)>> {
        self.handle.call(task, &Call::PlacesOwner { byte: self.handle.link().place(byte) })
    }
}

/// Statistics that a worker makes.
pub(in crate::worker) struct RemoteStatistics {
    handle: Arc<Handle>,
    kind: &'static str,
}

impl RemoteStatistics {
    pub(in crate::worker) fn describe(statistics: &dyn NodeStatistics, out: &mut Out<'_>) {
        statistics.kind().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        Ok(RemoteStatistics { handle, kind: Wire::read(from)? })
    }
}

impl NodeStatistics for RemoteStatistics {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        self.handle.call(task, &Call::StatisticsAll)
    }
}

/// States over time, in a worker.
pub(in crate::worker) struct RemoteVersions {
    handle: Arc<Handle>,
    count: usize,
    current: Option<usize>,
    names: Mutex<HashMap<usize, String>>,
}

impl RemoteVersions {
    pub(in crate::worker) fn describe(versions: &dyn Versions, out: &mut Out<'_>) {
        versions.count().put(out);
        versions.current().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        let (count, current) = Wire::read(from)?;
        Ok(RemoteVersions { handle, count, current, names: Mutex::default() })
    }
}

impl Versions for RemoteVersions {
    fn count(&self) -> usize {
        self.count
    }

    fn current(&self) -> Option<usize> {
        self.current
    }

    fn name(&self, n: usize) -> String {
        if let Some(name) = self.names.lock().get(&n) {
            return name.clone();
        }
        let name: String = self.handle.known(String::new(), &Call::VersionsName { n });
        if !name.is_empty() {
            self.names.lock().insert(n, name.clone());
        }
        name
    }

    fn about(&self, task: &Task, n: usize) -> Result<Version> {
        self.handle.call(task, &Call::VersionsAbout { n })
    }
}
