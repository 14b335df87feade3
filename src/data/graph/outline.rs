//! The outline of a graph: the tree of groups (modules, name scopes) that its nodes lie in.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Graph, Operation};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

mod constants;
mod derived;
#[cfg(test)]
mod tests;

/// The most groups inside one another: what lies deeper is in the last of them.
const DEEPEST: usize = 64;

/// The number of a group in its outline; [`GroupId::TOP`] is the graph itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub(super) u32);

impl GroupId {
    /// The graph as a whole, which holds all groups and is no box.
    pub const TOP: GroupId = GroupId(0);

    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A group of nodes.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name: the last part of its path, or several parts where it stands for a chain of groups that hold nothing
    /// but each other (`encoder/layer`). Empty at the top.
    pub name: Arc<str>,
    /// The whole path: `bert/encoder/layer`. Equal in two outlines of one graph for what is the same group.
    pub path: Arc<str>,
    /// The group around it; `None` at the top.
    pub parent: Option<GroupId>,
    /// The groups in it, by the first of their nodes.
    pub children: Vec<GroupId>,
    /// The numbers of the nodes that lie in it and in none of its groups.
    pub nodes: Vec<u32>,
    /// How many nodes lie in it and in the groups below.
    pub nodes_below: u64,
    /// Elements of the weights that those nodes take. A weight that several nodes take counts for each.
    pub parameters_below: u64,
    /// How many groups are around it: 0 at the top.
    pub depth: u32,
}

/// The tree of groups.
#[derive(Clone, Debug)]
pub struct Outline {
    groups: Vec<Group>,
    /// By node: the group that it lies in.
    of_node: Vec<GroupId>,
    /// Whether the groups were concluded from names of weights.
    is_derived: bool,
    /// By node: whether it is no box; empty where all are.
    hidden: Vec<bool>,
}

impl Outline {
    /// The outline of a graph by [`Operation::group`]; where no node has a group, by the modules of the weights
    /// (`layer1.0.conv1.weight`) as far as these are one after the other in the graph.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn of(task: &Task, graph: &Graph) -> Result<Self> {
        let nodes = graph.nodes();
        if nodes.iter().all(|node| node.group.is_empty()) {
            let paths = derived::paths(task, graph)?;
            let mut outline =
                Outline::by(task, graph, |number, _| paths.get(number).map_or("", AsRef::as_ref))?;
            outline.is_derived = outline.groups.len() > 1;
            return Ok(outline);
        }
        Outline::by(task, graph, |_, node| &node.group)
    }

    fn by<'a>(task: &Task, graph: &'a Graph, path: impl Fn(usize, &'a Operation) -> &'a str) -> Result<Self> {
        let mut raw = vec![Group::default()];
        let mut known: HashMap<(u32, Arc<str>), u32> = HashMap::new();
        let mut of_node = Vec::with_capacity(graph.nodes().len());
        let mut last = ("", 0);
        for (number, node) in graph.nodes().iter().enumerate() {
            task.check()?;
            let path = path(number, node);
            if path != last.0 || number == 0 {
                last = (path, find(&mut raw, &mut known, path));
            }
            of_node.push(GroupId(last.1));
            let parameters = graph.parameters(node);
            if let Some(group) = raw.get_mut(last.1 as usize) {
                group.nodes.push(number as u32);
                group.nodes_below += 1;
                group.parameters_below = group.parameters_below.saturating_add(parameters);
            }
        }
        // Groups are made after those around them.
        for number in (1..raw.len()).rev() {
            let Some(group) = raw.get(number) else { continue };
            let (nodes, parameters, parent) = (group.nodes_below, group.parameters_below, group.parent);
            if let Some(parent) = parent.and_then(|parent| raw.get_mut(parent.index())) {
                parent.nodes_below += nodes;
                parent.parameters_below = parent.parameters_below.saturating_add(parameters);
            }
        }
        Ok(Outline { of_node, groups: raw, is_derived: false, hidden: Vec::new() }.without_chains())
    }

    /// Groups of nothing but one group are one with it.
    fn without_chains(self) -> Self {
        let mut kept = vec![Group::default()];
        // By old number: the new one.
        let mut renamed = vec![GroupId::TOP; self.groups.len()];
        // By old number: the names of those above it that are one with it.
        let mut before: Vec<Option<Arc<str>>> = vec![None; self.groups.len()];
        for (number, group) in self.groups.iter().enumerate() {
            let parent = group.parent.map(|parent| renamed.get(parent.index()).copied().unwrap_or_default());
            let above = before.get_mut(number).and_then(Option::take);
            let name =
                above.map_or_else(|| group.name.clone(), |above| format!("{above}/{}", group.name).into());
            let only = match group.children.as_slice() {
                [only] if number > 0 && group.nodes.is_empty() => Some(*only),
                _ => None,
            };
            if let Some(only) = only {
                if let (Some(place), Some(parent)) = (renamed.get_mut(number), parent) {
                    *place = parent;
                }
                if let Some(place) = before.get_mut(only.index()) {
                    *place = Some(name);
                }
                continue;
            }
            let id = if number == 0 { GroupId::TOP } else { GroupId(kept.len() as u32) };
            let depth =
                parent.and_then(|parent| kept.get(parent.index())).map_or(0, |parent| parent.depth + 1);
            if let Some(place) = renamed.get_mut(number) {
                *place = id;
            }
            let made = Group { name, parent, children: Vec::new(), depth, ..group.clone() };
            match (number, kept.first_mut()) {
                (0, Some(top)) => *top = made,
                _ => kept.push(made),
            }
            if let Some(parent) = parent.and_then(|parent| kept.get_mut(parent.index())) {
                parent.children.push(id);
            }
        }
        let new = |id: &GroupId| renamed.get(id.index()).copied().unwrap_or_default();
        Outline {
            of_node: self.of_node.iter().map(new).collect(),
            groups: kept,
            is_derived: self.is_derived,
            hidden: self.hidden,
        }
    }

    /// The same without groups of one node: that lies in the group around it.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn without_lone(self, task: &Task, graph: &Graph) -> Result<Self> {
        let path = |number: usize, _: &Operation| {
            let mut id = self.group_of(number as u32);
            while let Some(group) = self.group(id).filter(|group| group.nodes_below == 1)
                && let Some(parent) = group.parent
            {
                id = parent;
            }
            self.group(id).map_or("", |group| group.path.as_ref())
        };
        let mut outline = Outline::by(task, graph, path)?;
        outline.is_derived = self.is_derived && outline.groups.len() > 1;
        Ok(outline)
    }

    /// The same without boxes for nodes that make constants: those that take nothing but weights, and are not all there
    /// is. What they make is as good as a weight.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn without_constants(mut self, task: &Task, graph: &Graph) -> Result<Self> {
        let found = constants::find(task, graph)?;
        if found.iter().any(|is| !is) {
            self.hidden = found;
        }
        Ok(self)
    }

    /// Whether [`Outline::without_constants`] leaves out any node of a graph.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn has_constants(task: &Task, graph: &Graph) -> Result<bool> {
        let found = constants::find(task, graph)?;
        Ok(found.contains(&true) && found.contains(&false))
    }

    /// Whether a node is no box.
    pub fn is_hidden(&self, node: u32) -> bool {
        self.hidden.get(node as usize).copied().unwrap_or(false)
    }

    /// How many nodes are no boxes.
    pub fn hidden(&self) -> u64 {
        self.hidden.iter().filter(|is| **is).count() as u64
    }

    /// All groups; the first is the top, and each stands after the one around it.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group of a number.
    pub fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id.index())
    }

    /// The group that a node lies in.
    pub fn group_of(&self, node: u32) -> GroupId {
        self.of_node.get(node as usize).copied().unwrap_or_default()
    }

    /// The group of a whole path.
    pub fn find(&self, path: &str) -> Option<GroupId> {
        let at = self.groups.iter().position(|group| group.path.as_ref() == path)?;
        Some(GroupId(at as u32))
    }

    /// Whether the file has no groups and these were concluded from the names of weights.
    pub fn is_derived(&self) -> bool {
        self.is_derived
    }

    /// The groups around a group, itself first, without the top.
    pub fn ancestors(&self, id: GroupId) -> impl Iterator<Item = GroupId> {
        std::iter::successors(Some(id), |id| self.group(*id)?.parent).filter(|id| *id != GroupId::TOP)
    }

    /// All groups, to open everything.
    pub fn all(&self) -> BTreeSet<GroupId> {
        (1..self.groups.len() as u32).map(GroupId).collect()
    }

    /// Which groups to open so that a node is in sight, added to those that are open.
    pub fn reveal(&self, node: u32, open: &mut BTreeSet<GroupId>) {
        open.extend(self.ancestors(self.group_of(node)));
    }

    /// Which groups to open at first so that at most about `most` boxes are in sight: level by level, the group with the
    /// fewest boxes first, as long as there is space. A group that is alone is opened in any case.
    pub fn first_open(&self, most: usize) -> BTreeSet<GroupId> {
        let mut open = BTreeSet::new();
        let Some(top) = self.group(GroupId::TOP) else { return open };
        let size = |group: &Group| group.children.len() + group.nodes.len();
        let mut in_sight = size(top);
        let mut level = top.children.clone();
        while !level.is_empty() {
            let mut next = Vec::new();
            let mut groups: Vec<_> = level.iter().filter_map(|id| Some((*id, self.group(*id)?))).collect();
            groups.sort_by_key(|(id, group)| (size(group), *id));
            for (id, group) in groups {
                // The box of an open group still takes its head.
                if in_sight + size(group) > most && in_sight > 1 {
                    continue;
                }
                in_sight += size(group);
                open.insert(id);
                next.extend_from_slice(&group.children);
            }
            level = next;
        }
        open
    }
}

/// The number of the group of a path, which is made where there is none yet, with those around it.
fn find(groups: &mut Vec<Group>, known: &mut HashMap<(u32, Arc<str>), u32>, path: &str) -> u32 {
    let mut at = 0;
    for (depth, part) in path.split('/').take(DEEPEST).enumerate() {
        let end = part.as_ptr() as usize - path.as_ptr() as usize + part.len();
        if part.is_empty() {
            continue;
        }
        let name: Arc<str> = part.into();
        at = *known.entry((at, name.clone())).or_insert_with(|| {
            let id = groups.len() as u32;
            if let Some(parent) = groups.get_mut(at as usize) {
                parent.children.push(GroupId(id));
            }
            let path = path.get(..end).unwrap_or(path).trim_start_matches('/').into();
            let parent = Some(GroupId(at));
            groups.push(Group { name, path, parent, depth: depth as u32 + 1, ..Group::default() });
            id
        });
    }
    at
}
