//! The way to the node that a reference names: `/group/x`, a part of it as `/group/x[2:5, 1:3]`, an attribute of
//! it as `/group/x@units`.

use std::sync::Arc;

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::node::Node;
use gander::data::region::Region;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{Request, Target};
use crate::gui::commands::{Action, Where};

/// What follows references to other nodes: finds them by a job and shows what was found.
#[derive(Default)]
pub(crate) struct ReferenceResolver {
    reference: Option<String>,
    /// What is read instead where there is no such node: a title and a text.
    otherwise: Option<(String, String)>,
    found: Slot<String, Option<Found>>,
}

/// Where a reference leads.
struct Found {
    path: String,
    node: Arc<Node>,
    /// The part of the node, in brackets; empty for all of it.
    part: String,
}

impl ReferenceResolver {
    /// Looks for the node that a reference names; lists of references are written as JSON, and the first one
    /// is followed.
    pub(crate) fn start(&mut self, reference: String) {
        let first = serde_json::from_str::<Vec<String>>(&reference).ok();
        let first = first.and_then(|list| list.into_iter().next());
        self.found.clear();
        (self.reference, self.otherwise) = (Some(first.unwrap_or(reference)), None);
    }

    /// The same for a text that may be a reference: where it names no node it is read in full. False where it
    /// does not look like one.
    pub(crate) fn try_text(&mut self, title: &str, text: &str) -> bool {
        let Some(reference) = alone(text) else { return false };
        self.start(reference);
        self.otherwise = Some((title.to_owned(), text.to_owned()));
        true
    }

    /// Stops.
    pub(crate) fn stop(&self) {
        self.found.cancel();
    }

    /// Shows the node once it is found.
    pub(crate) fn ui(&mut self, jobs: &Jobs, target: &Target, actions: &mut Vec<Action>) {
        let Some(reference) = self.reference.clone() else { return };
        let (root, wanted) = (target.document.root.clone(), reference.clone());
        let title = format!("looking for {reference}");
        let shown =
            self.found.get(jobs, &reference, JobSpec::once(title), move |task| find(&root, task, &wanted));
        match (shown.ready(), shown.error, self.otherwise.take()) {
            (Some(found), _, otherwise) => match (&*found, otherwise) {
                (Some(found), _) => found.show(target, actions),
                (None, Some((title, text))) => actions.push(Action::Read(title, text)),
                (None, None) => {
                    actions.push(Action::Notice(format!("There is no node {reference:?} in this file.")));
                }
            },
            (None, Some(error), _) => {
                actions.push(Action::Notice(format!("{reference:?} was not found: {error}")));
            }
            (None, None, otherwise) => {
                self.otherwise = otherwise;
                return;
            }
        }
        self.reference = None;
    }
}

impl Found {
    fn show(&self, target: &Target, actions: &mut Vec<Action>) {
        let Target { file, document, .. } = target.clone();
        let to = Target { file, document, path: self.path.clone(), node: self.node.clone() };
        actions.push(Action::Show(to, Where::Preview));
        if let Some(Content::Array(array)) = &self.node.content
            && !self.part.is_empty()
            && Region::parse(&self.part, array.shape()).is_ok()
        {
            actions.push(Action::Ask(Request::GoTo(self.part.clone())));
        }
    }
}

/// What a text may mean, the likeliest first: names may hold brackets and at-signs themselves.
fn readings(reference: &str) -> Vec<(&str, &str)> {
    let part = reference.rfind('[').filter(|_| reference.ends_with(']'));
    let attribute = reference.rfind('@');
    let mut all = vec![(reference, "")];
    all.extend(part.map(|at| reference.split_at(at)));
    all.extend(attribute.map(|at| (&reference[..at], "")));
    all
}

fn find(root: &Arc<Node>, task: &Task, reference: &str) -> Result<Option<Found>> {
    for (path, part) in readings(reference) {
        let node = match root.find(task, path)? {
            None => root.find(task, path.strip_prefix('/').unwrap_or(path))?,
            found => found,
        };
        if let Some(node) = node {
            return Ok(Some(Found { path: path.to_owned(), node, part: part.to_owned() }));
        }
    }
    Ok(None)
}

/// A text that looks like a reference, or the only one of a list.
fn alone(text: &str) -> Option<String> {
    if looks_like_one(text) {
        return Some(text.to_owned());
    }
    let list = serde_json::from_str::<Vec<String>>(text).ok()?;
    let [one] = &list[..] else { return None };
    looks_like_one(one).then(|| one.clone())
}

/// Whether a text looks like a reference: a path from the root.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.len() > 1 && text.len() < 4096 && text.starts_with('/') && !text.contains('\n')
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::Plain;
    use gander::data::dtype::DType;

    use super::*;

    fn root() -> Arc<Node> {
        let plain = Plain::new(Source::memory("a", vec![0; 24]), 0, DType::U8, vec![4, 6]).unwrap();
        let array = Node::new("y", "array").content(Content::Array(Arc::new(plain)));
        let odd = Node::new("b[1]", "array");
        let group = Node::new("grp", "group").separator("/").listed(vec![array, odd]);
        Arc::new(Node::new("f", "file").separator("/").listed(vec![group]))
    }

    #[test]
    fn parts_and_attributes_lead_to_their_node() {
        let found = |reference: &str| {
            let found = find(&root(), &Task::new(), reference).unwrap()?;
            Some((found.path, found.node.name.clone(), found.part))
        };
        let of =
            |path: &str, name: &str, part: &str| Some((path.to_owned(), name.to_owned(), part.to_owned()));
        assert_eq!(found("/grp/y"), of("/grp/y", "y", ""));
        assert_eq!(found("/grp/y[2:5, 1:3]"), of("/grp/y", "y", "[2:5, 1:3]"));
        assert_eq!(found("/grp/y@units"), of("/grp/y", "y", ""));
        assert_eq!(found("/grp/b[1]"), of("/grp/b[1]", "b[1]", ""));
        assert_eq!(found("/grp/z[2:5]"), None);
    }

    #[test]
    fn a_part_of_an_array_is_gone_to() {
        let plain = Plain::new(Source::memory("a", vec![0]), 0, DType::U8, vec![1]).unwrap();
        let target = super::super::harness::target("a", Content::Array(Arc::new(plain)));
        let shown = |reference: &str| {
            let mut actions = Vec::new();
            find(&root(), &Task::new(), reference).unwrap().unwrap().show(&target, &mut actions);
            actions.into_iter().find_map(|action| match action {
                Action::Ask(Request::GoTo(text)) => Some(text),
                _ => None,
            })
        };
        assert_eq!(shown("/grp/y[1:3, 2:4]").as_deref(), Some("[1:3, 2:4]"));
        assert_eq!(shown("/grp/y[3 points from 1, 2]"), None);
        assert_eq!(shown("/grp/y"), None);
    }

    #[test]
    fn only_paths_look_like_references() {
        assert_eq!(alone("/x").as_deref(), Some("/x"));
        assert_eq!(alone("[\"/x\"]").as_deref(), Some("/x"));
        assert_eq!(alone("[\"/x\",\"/y\"]"), None);
        assert_eq!((alone("/"), alone("x/y"), alone("12")), (None, None, None));
    }
}
