//! The bodies of a graph's nodes (branches, loops) as nodes of a document: a group with a node for each of them, which has
//! those of its own below it.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::Graph;
use crate::data::node::{Children, Listing, Node, page_of};
use std::ops::Range;
use std::sync::Arc;

/// The name of the group.
pub const SUBGRAPHS: &str = "subgraphs";

/// The group of the bodies of a graph's nodes, each called after its node and its attribute; `None` where there are none.
pub fn node(graph: &Arc<Graph>) -> Option<Node> {
    let all = graph.nodes().iter().enumerate();
    let places: Vec<(usize, usize)> =
        all.flat_map(|(n, node)| (0..node.subgraphs.len()).map(move |body| (n, body))).collect();
    if places.is_empty() {
        return None;
    }
    Some(Node::new(SUBGRAPHS, "group").lazy(Bodies { graph: graph.clone(), places }))
}

/// The bodies of a graph's nodes.
struct Bodies {
    graph: Arc<Graph>,
    /// The node and which of its bodies.
    places: Vec<(usize, usize)>,
}

impl Bodies {
    fn child(&self, at: usize) -> Option<Arc<Node>> {
        let (n, body) = *self.places.get(at)?;
        let node = self.graph.nodes().get(n)?;
        let (name, graph) = node.subgraphs.get(body)?;
        let own = if node.name.is_empty() { format!("{} {n}", node.operator) } else { node.name.to_string() };
        let mut child = Node::new(format!("{own}.{name}"), "subgraph").content(Content::Graph(graph.clone()));
        if let Some(group) = self::node(graph) {
            child.children = Children::Listed(Arc::new(vec![Arc::new(group)]));
        }
        Some(Arc::new(child))
    }
}

impl Listing for Bodies {
    fn count(&self) -> Option<u64> {
        Some(self.places.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |at| Ok(self.child(at as usize)))
    }
}
