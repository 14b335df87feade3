//! A graph cut into levels: what each open group holds, with ports where edges cross its border.

use super::super::outline::{GroupId, Outline};
use super::Item;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Graph, ValueId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Source {
    Node(u32),
    Input(ValueId),
}

/// A box of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Local {
    Item(Item),
    /// Where what a source outside makes comes in, and whether it is control.
    In(Source, bool),
    /// Where what a source inside makes goes out.
    Out(Source, bool),
}

/// An edge of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LocalEdge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The port where it leaves an open group.
    pub(super) from_port: Option<Source>,
    /// The port where it enters an open group.
    pub(super) to_port: Option<Source>,
    pub(super) is_control: bool,
}

impl LocalEdge {
    /// A number that edges of one source, which can share a line, have in common.
    pub(super) fn trunk(&self) -> u64 {
        let port = match self.from_port {
            None => 0,
            Some(Source::Node(node)) => 1 + (u64::from(node) << 1),
            Some(Source::Input(value)) => 2 + ((value.index() as u64) << 1),
        };
        (port << 1) | u64::from(self.is_control)
    }
}

/// What one open group holds.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) group: GroupId,
    pub(super) boxes: Vec<Local>,
    pub(super) edges: Vec<LocalEdge>,
    /// The open groups below it, in their order.
    pub(super) open_below: Vec<GroupId>,
    /// The number of the level around it.
    parent: usize,
    depth: u32,
    by_box: HashMap<Local, u32>,
    by_edge: HashMap<LocalEdge, u32>,
}

impl Level {
    /// The number of a box.
    pub(super) fn find(&self, local: &Local) -> Option<u32> {
        self.by_box.get(local).copied()
    }

    fn add(&mut self, local: Local) -> u32 {
        let next = self.boxes.len() as u32;
        let number = *self.by_box.entry(local).or_insert(next);
        if number == next {
            self.boxes.push(local);
        }
        number
    }

    fn edge(&mut self, edge: LocalEdge) -> u32 {
        let next = self.edges.len() as u32;
        let number = *self.by_edge.entry(edge).or_insert(next);
        if number == next {
            self.edges.push(edge);
        }
        number
    }
}

/// A line from box to box, through the borders of groups.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) from: Item,
    pub(super) to: Item,
    pub(super) values: Vec<ValueId>,
    pub(super) is_control: bool,
    /// Level and edge, from the beginning to the end.
    pub(super) parts: Vec<(u32, u32)>,
}

/// All levels; the first is the top, and each stands after the one around it.
#[derive(Debug, Default)]
pub(super) struct Levels {
    pub(super) all: Vec<Level>,
    pub(super) lines: Vec<Line>,
    /// By group: its level, where it and all around it are open.
    by_group: Vec<Option<u32>>,
    /// By group: the outermost closed one of it and those around it.
    closed: Vec<Option<GroupId>>,
    by_line: HashMap<(Item, Item, bool), u32>,
    seen: HashSet<(u32, ValueId)>,
}

impl Levels {
    pub(super) fn of(
        task: &Task,
        graph: &Graph,
        outline: &Outline,
        open: &BTreeSet<GroupId>,
    ) -> Result<Self> {
        let mut levels = Levels::default();
        levels.groups(outline, open);
        let inputs: HashSet<ValueId> = graph.inputs.iter().copied().collect();
        for value in &graph.inputs {
            if graph.value(*value).is_some_and(|value| value.weight.is_none()) {
                levels.item(outline, Item::Input(*value));
            }
        }
        for number in 0..graph.nodes().len() as u32 {
            task.check()?;
            if outline.is_hidden(number) {
                continue;
            }
            let item = levels.seen_as(outline, number);
            levels.item(outline, item);
        }
        for value in &graph.outputs {
            levels.item(outline, Item::Output(*value));
        }
        let source = |value: ValueId| match graph.producer(value) {
            Some(node) => (!outline.is_hidden(node as u32)).then_some(Source::Node(node as u32)),
            None => (inputs.contains(&value) && graph.value(value)?.weight.is_none())
                .then_some(Source::Input(value)),
        };
        for (number, node) in graph.nodes().iter().enumerate() {
            task.check()?;
            if outline.is_hidden(number as u32) {
                continue;
            }
            let to = levels.seen_as(outline, number as u32);
            for port in &node.inputs {
                let Some(value) = port.value else { continue };
                let Some(source) = source(value) else { continue };
                levels.connect(outline, source, to, value, port.is_control);
            }
        }
        for value in &graph.outputs {
            if let Some(source) = source(*value) {
                levels.connect(outline, source, Item::Output(*value), *value, false);
            }
        }
        Ok(levels)
    }

    /// Which groups are levels.
    fn groups(&mut self, outline: &Outline, open: &BTreeSet<GroupId>) {
        for (number, group) in outline.groups().iter().enumerate() {
            let id = GroupId(number as u32);
            let above = group.parent.and_then(|parent| self.closed.get(parent.index()).copied().flatten());
            let closed = above.or_else(|| (id != GroupId::TOP && !open.contains(&id)).then_some(id));
            self.closed.push(closed);
            let level = closed.is_none().then_some(self.all.len() as u32);
            self.by_group.push(level);
            if level.is_none() {
                continue;
            }
            let parent = group.parent.and_then(|parent| self.level_of(parent)).unwrap_or(0);
            self.all.push(Level { group: id, parent, depth: group.depth, ..Level::default() });
            let mut above = group.parent;
            while let Some(id) = above {
                if let Some(level) = self.level_of(id).and_then(|level| self.all.get_mut(level)) {
                    level.open_below.push(GroupId(number as u32));
                }
                above = outline.group(id).and_then(|group| group.parent);
            }
        }
    }

    /// The number of the level of an open group.
    pub(super) fn level_of(&self, group: GroupId) -> Option<usize> {
        self.by_group.get(group.index()).copied().flatten().map(|level| level as usize)
    }

    /// What a node is seen as: itself, or the closed group around it.
    fn seen_as(&self, outline: &Outline, node: u32) -> Item {
        let closed = self.closed.get(outline.group_of(node).index()).copied().flatten();
        closed.map_or(Item::Node(node), Item::Group)
    }

    /// The number of the level that an item lies in.
    fn level(&self, outline: &Outline, item: Item) -> usize {
        let group = match item {
            Item::Node(node) => Some(outline.group_of(node)),
            Item::Group(id) => outline.group(id).and_then(|group| group.parent),
            Item::Input(_) | Item::Output(_) => None,
        };
        group.and_then(|group| self.level_of(group)).unwrap_or(0)
    }

    /// The number of an item in its level, with its level; it is added there, as are the groups around it.
    fn item(&mut self, outline: &Outline, item: Item) -> (usize, u32) {
        let number = self.level(outline, item);
        let (mut at, mut is_new, mut result) = (number, false, 0);
        if let Some(level) = self.all.get_mut(number) {
            let before = level.boxes.len();
            result = level.add(Local::Item(item));
            is_new = before == 0;
        }
        while is_new && at > 0 {
            let Some(level) = self.all.get(at) else { break };
            let (group, parent) = (level.group, level.parent);
            let Some(above) = self.all.get_mut(parent) else { break };
            is_new = above.boxes.is_empty();
            above.add(Local::Item(Item::Group(group)));
            at = parent;
        }
        (number, result)
    }

    /// Adds an edge, level by level.
    fn connect(&mut self, outline: &Outline, source: Source, to: Item, value: ValueId, is_control: bool) {
        let from = match source {
            Source::Node(node) => self.seen_as(outline, node),
            Source::Input(value) => Item::Input(value),
        };
        if from == to && matches!(from, Item::Group(_)) {
            return;
        }
        let key = (from, to, is_control);
        if let Some(line) = self.by_line.get(&key).copied() {
            if self.seen.insert((line, value))
                && let Some(line) = self.lines.get_mut(line as usize)
            {
                line.values.push(value);
            }
            return;
        }
        let number = self.lines.len() as u32;
        let parts = self.parts(outline, source, from, to, is_control);
        self.by_line.insert(key, number);
        self.seen.insert((number, value));
        self.lines.push(Line { from, to, values: vec![value], is_control, parts });
    }

    fn parts(
        &mut self,
        outline: &Outline,
        source: Source,
        from: Item,
        to: Item,
        is_control: bool,
    ) -> Vec<(u32, u32)> {
        let (mut from_level, mut from) = self.item(outline, from);
        let (mut to_level, mut to) = self.item(outline, to);
        let (mut from_port, mut to_port) = (None, None);
        let (mut parts, mut end) = (Vec::new(), Vec::new());
        while from_level != to_level {
            let depth = |level: usize| self.all.get(level).map_or(0, |level| level.depth);
            let is_out = depth(from_level) >= depth(to_level);
            let at = if is_out { from_level } else { to_level };
            let Some(level) = self.all.get_mut(at) else { break };
            let (group, parent) = (level.group, level.parent);
            if is_out {
                let port = level.add(Local::Out(source, is_control));
                let edge = LocalEdge { from, to: port, from_port, to_port: None, is_control };
                parts.push((at as u32, level.edge(edge)));
                from_port = Some(source);
            } else {
                let port = level.add(Local::In(source, is_control));
                let edge = LocalEdge { from: port, to, from_port: None, to_port, is_control };
                end.push((at as u32, level.edge(edge)));
                to_port = Some(source);
            }
            let Some(above) = self.all.get_mut(parent) else { break };
            let number = above.add(Local::Item(Item::Group(group)));
            if is_out {
                (from_level, from) = (parent, number);
            } else {
                (to_level, to) = (parent, number);
            }
        }
        if let Some(level) = self.all.get_mut(from_level) {
            let edge = LocalEdge { from, to, from_port, to_port, is_control };
            parts.push((from_level as u32, level.edge(edge)));
        }
        parts.extend(end.into_iter().rev());
        parts
    }
}
