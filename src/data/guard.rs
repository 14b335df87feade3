//! The guard: whatever a reader does with a file's bytes, a panic in it ends as an error with its place.
//!
//! It stands at one depth: where a format hands out what it made. [`node`] is called on the root that a format's
//! `open` returns; it puts a guard around the content, the children and whatever else of the node reads, and the
//! children that come out of a guarded list are guarded themselves. So every read, list, count, statistics and layout of
//! a [`Document`](crate::Document) passes through here, whoever asks: a view, a command, a query, a writer.
//!
//! What other people's decoders do on broken bytes is [`catch_decoder_panic`] where it is called: there a panic is the file's
//! fault and no mistake of Gander.

mod contents;

use crate::bytes::error::Result;
use crate::bytes::guard::{guarded, known};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::location::{BytePlace, Location};
use crate::data::node::{Children, Listing, Node, NodeStatistics, Places, Timeline, Version, Versions};
use contents::{GuardedArray, GuardedImage, GuardedTable, GuardedText};
use std::ops::Range;
use std::sync::Arc;

/// The node with a guard around everything of it that reads.
pub fn node(mut node: Node) -> Node {
    if node.guarded {
        return node;
    }
    node.guarded = true;
    node.content = node.content.map(content);
    node.children = match node.children {
        Children::None => Children::None,
        Children::Listed(list) => {
            let list = Arc::try_unwrap(list).unwrap_or_else(|shared| shared.as_ref().clone());
            Children::Listed(Arc::new(list.into_iter().map(shared).collect()))
        }
        Children::Lazy(list) => Children::Lazy(Arc::new(GuardedListing(list))),
    };
    node.statistics =
        node.statistics.map(|statistics| Arc::new(GuardedStatistics(statistics)) as Arc<dyn NodeStatistics>);
    node.places = node.places.map(|places| Arc::new(GuardedPlaces(places)) as Arc<dyn Places>);
    node.timeline = node
        .timeline
        .map(|timeline| Timeline { versions: Arc::new(GuardedVersions(timeline.versions)), at: timeline.at });
    node
}

/// The same of a node that others may have, too.
pub fn shared(shared: Arc<Node>) -> Arc<Node> {
    if shared.guarded {
        return shared;
    }
    Arc::new(node(Arc::try_unwrap(shared).unwrap_or_else(|shared| shared.as_ref().clone())))
}

/// Content with a guard around it.
pub fn content(content: Content) -> Content {
    match content {
        Content::Table(table) => Content::Table(GuardedTable::around(table)),
        Content::Array(array) => Content::Array(GuardedArray::around(array)),
        Content::Image(image) => Content::Image(Arc::new(GuardedImage(image))),
        Content::Text(text) => Content::Text(Arc::new(GuardedText(text))),
        // Nothing in it reads.
        Content::Graph(graph) => Content::Graph(graph),
        // `Source` guards the streams that it is made of.
        Content::Bytes(source) => Content::Bytes(source),
    }
}

struct GuardedListing(Arc<dyn Listing>);

impl Listing for GuardedListing {
    fn count(&self) -> Option<u64> {
        known(None, || self.0.count())
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(guarded(|| self.0.page(task, range))?.into_iter().map(shared).collect())
    }

    fn at_least(&self) -> u64 {
        known(0, || self.0.at_least())
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let (nodes, whole) = guarded(|| self.0.soon(task, range))?;
        Ok((nodes.into_iter().map(shared).collect(), whole))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        guarded(|| self.0.measure(task))
    }

    fn boundaries(&self) -> &'static [char] {
        self.0.boundaries()
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        Ok(guarded(|| self.0.resolve(task))?.map(shared))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(guarded(|| self.0.find(task, name))?.map(shared))
    }
}

struct GuardedStatistics(Arc<dyn NodeStatistics>);

impl NodeStatistics for GuardedStatistics {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        guarded(|| self.0.statistics(task))
    }
}

struct GuardedPlaces(Arc<dyn Places>);

impl Places for GuardedPlaces {
    fn location(&self, task: &Task) -> Result<Option<Location>> {
        guarded(|| self.0.location(task))
    }

    fn is_member(&self) -> bool {
        self.0.is_member()
    }

    fn attribute(&self, task: &Task, name: &str) -> Result<Option<Location>> {
        guarded(|| self.0.attribute(task, name))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<(String, Location)>> {
        guarded(|| self.0.owner(task, byte))
    }
}

struct GuardedVersions(Arc<dyn Versions>);

impl Versions for GuardedVersions {
    fn count(&self) -> usize {
        known(0, || self.0.count())
    }

    fn current(&self) -> Option<usize> {
        known(None, || self.0.current())
    }

    fn name(&self, n: usize) -> String {
        known(String::new(), || self.0.name(n))
    }

    fn about(&self, task: &Task, n: usize) -> Result<Version> {
        guarded(|| self.0.about(task, n))
    }
}

#[cfg(test)]
mod tests;
