//! Nodes of a huge pickle: of its large values the children are found by a [walk](super::child_scan) over the opcodes, and
//! small values made whole, many neighbours in one run.

use super::child_scan::{Part, Parts, Piece};
use super::file::Knows;
use super::huge::{Feed, HugePickle};
use super::machine::Value;
use super::opcode::{Op, Opcodes};
use super::span_stack::Made;
use super::tree::{DEEP, Values, node_of};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::node::{Children, Listing, Node};
use std::ops::Range;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Opcodes of a value that is made whole.
const SMALL: u64 = 1 << 14;
/// Opcodes of neighbours that are made in one run.
const TOGETHER: u64 = 1 << 16;
/// Values that are made of what an object is made with.
const SHELL: usize = 1 << 16;
/// Bytes that are gone over for children that are wanted at once.
const SOON: u64 = 4 << 20;
/// Libraries whose objects are more than what they hold: they are made whole, as far as that goes.
const WHOLE: [&str; 4] = ["numpy", "pandas", "scipy", "joblib"];

/// What nodes of a huge pickle are made with.
#[derive(Clone)]
pub(super) struct Maker {
    pub(super) huge: Arc<HugePickle>,
    pub(super) knows: Knows,
    /// Opcodes of a value that is made whole.
    small: u64,
}

impl Maker {
    pub(super) fn new(huge: Arc<HugePickle>, knows: Knows) -> Maker {
        Maker { huge, knows, small: SMALL }
    }

    /// The node of the whole pickle; `None` where it is none that can be shown by parts.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn root(&self, task: &Task, name: &str) -> Result<Option<Node>> {
        if self.huge.index.read().disorder {
            return Ok(None);
        }
        let Some((made, made_at)) = self.guessed() else { return Ok(None) };
        let start = self.huge.start;
        let mut piece = Piece { start, end: u64::MAX, memo: 0, ops: u64::MAX, made, made_at };
        if made == Made::Object {
            let Some(made_at) = self.made_at(task, piece)? else { return Ok(None) };
            piece.made_at = Some(made_at);
        }
        self.large(task, piece, name, 0)
    }

    /// What the whole pickle makes, by its first opcode and its last ones, and where the opcode is that makes it.
    fn guessed(&self) -> Option<(Made, Option<u64>)> {
        let bytes = &self.huge.bytes;
        let mut opcodes = Opcodes { bytes, at: self.huge.start as usize };
        let first = loop {
            match opcodes.next().ok()? {
                Op::Nothing | Op::Frame(_) => {}
                op => break op,
            }
        };
        // In protocol 0 so begins an empty list, an empty dict.
        let second = if first == Op::Mark { opcodes.next().ok()? } else { first };
        let (end, behind) = match bytes.get(bytes.len().saturating_sub(8)..)? {
            [.., last, 0x94, b'.'] => (*last, 3),
            [.., last, b'q', _, b'.'] => (*last, 4),
            [.., last, b'r', _, _, _, _, b'.'] => (*last, 7),
            [.., last, b'.'] => (*last, 2),
            _ => (0, 0),
        };
        let made = match (first, end) {
            (_, 0x85..=0x87) => {
                return Some((Made::TupleOf(end - 0x84), Some((bytes.len() - behind) as u64)));
            }
            (Op::EmptyList, _) => Made::List,
            (Op::EmptyDict, _) => Made::Dict,
            (Op::EmptySet, _) => Made::Set,
            (Op::Mark, _) if second == Op::List => Made::List,
            (Op::Mark, _) if second == Op::Dict => Made::Dict,
            (Op::Mark, 0x91) => Made::FrozenSet,
            (Op::Mark, _) => Made::Tuple,
            (Op::Global(..) | Op::Text(_), _) => Made::Object,
            _ => return None,
        };
        Some((made, None))
    }

    /// Where the opcode is that makes an object, if that is near.
    fn made_at(&self, task: &Task, piece: Piece) -> Result<Option<u64>> {
        let parts = Parts::new(self.huge.clone(), piece);
        let (mut walk, mut feed, mut out) = (parts.before(0), Feed::default(), Vec::new());
        for _ in 0..SHELL {
            parts.step(task, &mut walk, &mut feed, &mut out)?;
            if walk.made_at().is_some() || walk.done {
                break;
            }
        }
        Ok(walk.made_at())
    }

    /// The node of a large value; `None` where it cannot be shown by parts.
    fn large(&self, task: &Task, piece: Piece, name: &str, depth: usize) -> Result<Option<Node>> {
        let mut node = match piece.made {
            Made::Object => match self.shell(task, piece, name)? {
                Some(node) => node,
                None => return Ok(None),
            },
            Made::List | Made::Dict | Made::Set | Made::Tuple | Made::FrozenSet | Made::TupleOf(_) => {
                Node::new(name, piece.made.word())
            }
            _ => return Ok(None),
        };
        if depth >= DEEP {
            return Ok(Some(node.remark(format!("values more than {DEEP} deep are not opened"))));
        }
        let first = std::mem::replace(&mut node.children, Children::None);
        let first = match first {
            Children::Lazy(list) => list.page(task, 0..limits::LISTED)?,
            _ => Vec::new(),
        };
        let parts = Parts::new(self.huge.clone(), piece);
        Ok(Some(node.lazy(Below { maker: self.clone(), parts, first, depth })))
    }

    /// The node of an object without what fills it; `None` where that is not enough to say what it is.
    fn shell(&self, task: &Task, piece: Piece, name: &str) -> Result<Option<Node>> {
        let Some(made_at) = piece.made_at else { return Ok(None) };
        let pickle = self.huge.value(task, piece.start..made_at.saturating_add(1), piece.memo, SHELL)?;
        let Some(root) = pickle.root().filter(|_| pickle.len() < SHELL) else { return Ok(None) };
        let Value::Object(object) = pickle.value(root) else { return Ok(None) };
        let class = pickle.global(pickle.rebuilt(object).unwrap_or(object.class));
        let whole = class.is_none_or(|(module, _)| WHOLE.iter().any(|library| module.starts_with(library)));
        if whole {
            return Ok(None);
        }
        let mut node = node_of(task, name, pickle, (self.knows)())?;
        (node.value, node.length, node.problem) = (None, None, None);
        node.reader.retain(|(word, _)| word != "length");
        Ok(Some(node))
    }

    /// The node of a value of any size.
    fn node(&self, task: &Task, piece: Piece, name: &str, depth: usize) -> Result<Node> {
        if piece.ops > self.small
            && let Some(node) = self.large(task, piece, name, depth)?
        {
            return Ok(node);
        }
        if piece.end == u64::MAX {
            return Ok(Node::new(name, "object"));
        }
        let maker = self.clone();
        let whole = move |task: &Task, name: &str| {
            let range = piece.start..piece.end;
            let pickle = maker.huge.value(task, range, piece.memo, super::machine::VALUES)?;
            node_of(task, name, pickle, (maker.knows)())
        };
        if piece.ops <= self.small {
            return whole(task, name);
        }
        Ok(Node::deferred(name, "object", move |task| whole(task, "")))
    }
}

/// What a large value holds.
struct Below {
    maker: Maker,
    parts: Parts,
    /// What stands before: the arguments of an object.
    first: Vec<Arc<Node>>,
    depth: usize,
}

impl Below {
    fn before(&self) -> u64 {
        self.first.len() as u64
    }

    /// The parts `range`; the number of the first, and whether all of them were found that there are.
    fn found(&self, task: &Task, range: Range<u64>, most: u64) -> Result<(Vec<Part>, bool)> {
        let mut walk = self.parts.before(range.start);
        let (mut feed, mut out, mut at) = (Feed::default(), Vec::new(), walk.passed);
        let far = walk.at.saturating_add(most);
        while !walk.done && walk.passed < range.end && walk.at < far {
            self.parts.step(task, &mut walk, &mut feed, &mut out)?;
            // What lies before is passed.
            let skip = (range.start.saturating_sub(at) as usize).min(out.len());
            if skip > 0 {
                out.drain(..skip);
                at += skip as u64;
            }
        }
        self.parts.keep(&walk);
        let all = walk.done || walk.passed >= range.end;
        if !all && walk.passed + self.before() >= range.start {
            // What is in the making is shown as far as it is there.
            let mut pending = self.parts.pending(&walk, walk.at);
            if let Some(Part::Item(last) | Part::Entry(_, last)) = pending.last_mut() {
                (last.end, last.ops) = (u64::MAX, u64::MAX);
                last.made_at = last.made_at.filter(|_| last.made == Made::Object);
            }
            out.extend(pending);
        }
        out.truncate(range.end.saturating_sub(range.start.max(at)) as usize);
        Ok((out, all))
    }

    /// The nodes of parts, the first of which has this number.
    fn nodes(&self, task: &Task, first: u64, parts: &[Part]) -> Result<Vec<Arc<Node>>> {
        let mut nodes = Vec::with_capacity(parts.len());
        let mut rest = parts;
        while let Some(part) = rest.first() {
            task.check()?;
            let number = first + nodes.len() as u64;
            let count = together(rest, self.maker.small);
            if let Some(run) = rest.get(..count).filter(|run| !run.is_empty())
                && let Some(made) = self.run(task, run, number)?
            {
                nodes.extend(made.into_iter().map(Arc::new));
                rest = rest.get(count..).unwrap_or_default();
                continue;
            }
            let one = self.one(task, part, number).unless_cancelled()?;
            let one = one.unwrap_or_else(|error| Node::new(number.to_string(), "object").problem(error));
            nodes.push(Arc::new(one));
            rest = rest.get(1..).unwrap_or_default();
        }
        Ok(nodes)
    }

    /// Neighbours made in one run; `None` where it does not make what it should.
    fn run(&self, task: &Task, parts: &[Part], number: u64) -> Result<Option<Vec<Node>>> {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(None) };
        let (from, memo) = (first.first().start, first.first().memo);
        let pairs = matches!(first, Part::Entry(..));
        let huge = &self.maker.huge;
        let mut machine = huge.run(task, from..last.last().end, memo, super::machine::VALUES)?;
        if machine.stack.len() != parts.len() * (1 + usize::from(pairs)) || machine.pickle.fault().is_some() {
            return Ok(None);
        }
        machine.take_all(pairs, number);
        let values = Values::new(task, machine.pickle, (self.maker.knows)())?;
        Ok(Some(values.parts(self.depth)))
    }

    fn one(&self, task: &Task, part: &Part, number: u64) -> Result<Node> {
        let (name, piece) = match part {
            Part::Item(piece) => (number.to_string(), piece),
            Part::State(piece) => ("state".to_owned(), piece),
            Part::Entry(key, piece) => {
                let key = self.maker.huge.value(task, key.start..key.end, key.memo, SHELL)?;
                (key.root().map_or_else(String::new, |root| key.key(root)), piece)
            }
        };
        self.maker.node(task, *piece, &name, self.depth + 1)
    }

    fn pages(&self, task: &Task, range: Range<u64>, most: u64) -> Result<(Vec<Arc<Node>>, bool)> {
        let before = self.before();
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        let from = |n: u64| (n.min(before)) as usize;
        let mut nodes = self.first.get(from(range.start)..from(end)).unwrap_or_default().to_vec();
        let wanted = range.start.max(before) - before..end.max(before) - before;
        if wanted.is_empty() {
            return Ok((nodes, true));
        }
        let (parts, all) = self.found(task, wanted.clone(), most)?;
        nodes.extend(self.nodes(task, wanted.start, &parts)?);
        Ok((nodes, all))
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        let (seen, all) = self.parts.seen();
        all.then(|| seen + self.before())
    }

    fn at_least(&self) -> u64 {
        self.parts.seen().0 + self.before()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(self.pages(task, range, u64::MAX)?.0)
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        self.pages(task, range, SOON)
    }

    fn measure(&self, task: &Task) -> Result<()> {
        let (mut walk, mut feed, mut out) = (self.parts.before(u64::MAX), Feed::default(), Vec::new());
        task.set_total(self.maker.huge.len());
        while !walk.done {
            self.parts.step(task, &mut walk, &mut feed, &mut out)?;
            if !out.is_empty() {
                out.clear();
                self.parts.keep(&walk);
                task.reached(walk.at);
            }
        }
        self.parts.keep(&walk);
        Ok(())
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let numbered = matches!(self.parts.piece.made, Made::List | Made::Tuple | Made::TupleOf(_));
        if numbered {
            // `01` is not the name of a child.
            let Some(index) = name.parse::<u64>().ok().filter(|index| index.to_string() == name) else {
                return Ok(None);
            };
            return Ok(self.page(task, index..index.saturating_add(1))?.into_iter().next());
        }
        if let Some(found) = self.first.iter().find(|node| node.name == name) {
            return Ok(Some(found.clone()));
        }
        let (mut walk, mut feed, mut out) = (self.parts.before(0), Feed::default(), Vec::new());
        while !walk.done {
            let number = walk.passed;
            self.parts.step(task, &mut walk, &mut feed, &mut out)?;
            for (part, number) in out.drain(..).zip(number..) {
                if self.named(task, &part, number, name)? {
                    let node = self.one(task, &part, number)?;
                    return Ok(Some(Arc::new(node)));
                }
            }
        }
        self.parts.keep(&walk);
        Ok(None)
    }
}

impl Below {
    /// Whether this is the name of a part.
    fn named(&self, task: &Task, part: &Part, number: u64, name: &str) -> Result<bool> {
        let key = match part {
            Part::Item(_) => return Ok(number.to_string() == name),
            Part::State(_) => return Ok(name == "state"),
            Part::Entry(key, _) => key,
        };
        let huge = &self.maker.huge;
        let bytes = huge.bytes.get(key.start as usize..key.end as usize).unwrap_or_default();
        // A text stands there as it is; of everything else the name is made.
        if matches!(bytes, [b'X' | 0x8c | 0x8d, ..]) && memchr::memmem::find(bytes, name.as_bytes()).is_none()
        {
            return Ok(false);
        }
        let key = huge.value(task, key.start..key.end, key.memo, SHELL)?;
        Ok(key.root().is_some_and(|root| key.key(root) == name))
    }
}

impl Part {
    fn first(&self) -> &Piece {
        match self {
            Part::Item(piece) | Part::Entry(piece, _) | Part::State(piece) => piece,
        }
    }

    fn last(&self) -> &Piece {
        match self {
            Part::Item(piece) | Part::Entry(_, piece) | Part::State(piece) => piece,
        }
    }

    fn ops(&self) -> u64 {
        match self {
            Part::Item(piece) | Part::State(piece) => piece.ops,
            Part::Entry(key, piece) => key.ops.saturating_add(piece.ops),
        }
    }
}

/// How many of the first parts are small and follow each other without anything between.
fn together(parts: &[Part], small: u64) -> usize {
    let (mut count, mut ops) = (0, 0u64);
    let mut before: Option<&Part> = None;
    for part in parts {
        let like = before.is_none_or(|before| {
            let pairs = matches!(before, Part::Entry(..)) == matches!(part, Part::Entry(..));
            pairs && before.last().end == part.first().start
        });
        ops = ops.saturating_add(part.ops());
        if part.ops() > small || ops > TOGETHER || !like || matches!(part, Part::State(_)) {
            break;
        }
        (before, count) = (Some(part), count + 1);
    }
    count
}
