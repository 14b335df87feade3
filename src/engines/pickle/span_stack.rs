//! The stack machine without values: of each value on the stack only where it begins. A pickle's opcodes are in the
//! order in which values are put together, so a value is one piece of the file, from its first opcode to the one before
//! its neighbour's; what a huge pickle holds is found by going over the opcodes, and made when somebody looks.

use super::opcode::Op;

/// Values and marks on the stack that are kept; of more the lowest are forgotten.
const KEPT: usize = 1 << 20;

/// The global of which nothing is known, among the numbers of names.
pub(super) const NAMELESS: u32 = u32::MAX;

/// What kind of opcode made a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// A number, a text, bytes: one opcode, and nothing is added to it.
    Plain,
    /// Taken from the memo.
    Got,
    /// Something of a module.
    Global,
    /// A call, an instance.
    Object,
    List,
    Dict,
    Set,
    /// Of everything since a mark.
    Tuple,
    FrozenSet,
    /// Of the last one, two or three values.
    TupleOf(u8),
    /// It was not seen: it lies below where the walk began, or was forgotten.
    Unknown,
}

impl Made {
    /// The name of the type that is sure.
    pub(super) fn word(self) -> &'static str {
        match self {
            Made::List => "list",
            Made::Dict => "dict",
            Made::Set => "set",
            Made::Tuple | Made::TupleOf(_) => "tuple",
            Made::FrozenSet => "frozenset",
            _ => "object",
        }
    }
}

/// A value on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Where its first opcode is.
    pub(super) start: u64,
    /// Where the opcode is that made it of what lay on the stack.
    pub(super) made_at: u64,
    /// Places of the memo that were filled when it began.
    pub(super) memo: u64,
    /// Opcodes before it.
    pub(super) ops: u64,
    pub(super) made: Made,
    /// Of a global its number, of an object that of its class; of what was taken from the memo the place.
    pub(super) tag: u32,
}

/// A mark: how many values lay on the stack, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marked {
    pub(super) depth: usize,
    pub(super) at: u64,
    pub(super) memo: u64,
    pub(super) ops: u64,
}

/// The stack, as far as a walk over the opcodes knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanStack {
    pub(super) stack: Vec<Entry>,
    pub(super) marks: Vec<Marked>,
    /// Places of the memo that were filled so far.
    pub(super) memo: u64,
    /// The number of the first of them.
    pub(super) first: Option<u64>,
    /// A place of the memo was filled that is not the next one.
    pub(super) disorder: bool,
    pub(super) ops: u64,
    /// What Python could not follow first, and where.
    pub(super) wrong: Option<(&'static str, u64)>,
    /// Values were forgotten that lay low on the stack.
    forgot: bool,
}

impl SpanStack {
    /// A walk that begins in the midst of a pickle.
    pub(super) fn within(memo: u64, first: u64) -> SpanStack {
        SpanStack { memo, first: Some(first), ..SpanStack::default() }
    }

    /// Whether something has to be forgotten before more is kept.
    pub(super) fn is_full(&self) -> bool {
        self.stack.len() >= KEPT || self.marks.len() >= KEPT
    }

    /// The place of the memo that is filled next.
    fn next_place(&self) -> u64 {
        self.memo.saturating_add(self.first.unwrap_or(0))
    }

    fn push(&mut self, at: u64, made: Made, tag: u32) {
        let (memo, ops) = (self.memo, self.ops);
        self.add(Entry { start: at, made_at: at, memo, ops, made, tag });
    }

    fn add(&mut self, entry: Entry) {
        if self.stack.len() >= KEPT {
            let half = self.stack.len() / 2;
            self.stack.drain(..half);
            self.marks.iter_mut().for_each(|mark| mark.depth = mark.depth.saturating_sub(half));
            self.forgot = true;
        }
        self.stack.push(entry);
    }

    pub(super) fn err(&mut self, what: &'static str, at: u64) {
        if !self.forgot {
            self.wrong.get_or_insert((what, at));
        }
    }

    fn floor(&self) -> usize {
        self.marks.last().map_or(0, |mark| mark.depth)
    }

    fn unknown(&self, at: u64) -> Entry {
        let (memo, ops) = (self.memo, self.ops);
        Entry { start: at, made_at: at, memo, ops, made: Made::Unknown, tag: NAMELESS }
    }

    fn pop(&mut self, at: u64) -> Entry {
        if self.stack.len() > self.floor()
            && let Some(entry) = self.stack.pop()
        {
            return entry;
        }
        self.err("takes a value from its empty stack", at);
        self.unknown(at)
    }

    /// The n-th value from the top that may be taken.
    pub(super) fn top(&self, n: usize) -> Option<Entry> {
        let at = self.stack.len().checked_sub(n + 1).filter(|at| *at >= self.floor())?;
        self.stack.get(at).copied()
    }

    fn look(&mut self, at: u64) {
        if self.top(0).is_none() {
            self.err("looks at a value on its empty stack", at);
            let entry = self.unknown(at);
            self.add(entry);
        }
    }

    /// Drops everything above the last mark, and the mark; what it was, and the lowest value above it.
    fn since_mark(&mut self, at: u64) -> (Option<Marked>, Option<Entry>) {
        match self.marks.pop() {
            Some(mark) => {
                let lowest = self.stack.get(mark.depth).copied();
                self.stack.truncate(mark.depth);
                (Some(mark), lowest)
            }
            None => {
                self.err("looks for a mark that is not there", at);
                let lowest = self.stack.first().copied();
                self.stack.clear();
                (None, lowest)
            }
        }
    }

    /// A value of everything since the last mark.
    fn gather(&mut self, at: u64, made: Made, tag: impl Fn(Option<Entry>) -> u32) {
        let (mark, lowest) = self.since_mark(at);
        let tag = tag(lowest);
        let entry = match mark {
            Some(Marked { at: start, memo, ops, .. }) => Entry { start, made_at: at, memo, ops, made, tag },
            None => Entry { made, tag, ..self.unknown(at) },
        };
        self.add(entry);
    }

    /// A value made of the `count` last ones; it begins where the first of them does.
    fn merge(&mut self, at: u64, count: u8, made: Made) {
        let mut first = self.unknown(at);
        for _ in 0..count {
            first = self.pop(at);
        }
        let known = first.made != Made::Unknown;
        let tag = if first.made == Made::Global && made == Made::Object { first.tag } else { NAMELESS };
        let made = if known { made } else { Made::Unknown };
        self.add(Entry { made_at: at, made, tag, ..first });
    }

    fn put(&mut self, place: u64) {
        let first = *self.first.get_or_insert(if place <= 1 { place } else { 0 });
        if place == first.saturating_add(self.memo) {
            self.memo += 1;
        } else {
            self.disorder = true;
        }
    }

    /// One step. `tag` is the number of the global that the opcode names or takes from the memo; where that is not
    /// known, it is `None`.
    pub(super) fn step(&mut self, op: &Op, at: u64, tag: Option<u32>) {
        match op {
            Op::Stop | Op::Nothing | Op::Frame(_) => {}
            Op::Mark => self.mark(at),
            Op::Pop => match self.marks.last() {
                Some(mark) if mark.depth == self.stack.len() => drop(self.marks.pop()),
                _ => drop(self.pop(at)),
            },
            Op::PopMark => drop(self.since_mark(at)),
            Op::Dup => {
                self.look(at);
                let tag = self.top(0).filter(|entry| entry.made == Made::Global).map(|entry| entry.tag);
                self.push(at, tag.map_or(Made::Unknown, |_| Made::Global), tag.unwrap_or(NAMELESS));
            }
            Op::EmptyList => self.push(at, Made::List, NAMELESS),
            Op::EmptyDict => self.push(at, Made::Dict, NAMELESS),
            Op::EmptySet => self.push(at, Made::Set, NAMELESS),
            Op::List => self.gather(at, Made::List, |_| NAMELESS),
            Op::Tuple => self.gather(at, Made::Tuple, |_| NAMELESS),
            Op::Dict => self.gather(at, Made::Dict, |_| NAMELESS),
            Op::FrozenSet => self.gather(at, Made::FrozenSet, |_| NAMELESS),
            Op::TupleOf(count) => self.merge(at, *count, Made::TupleOf(*count)),
            Op::Append | Op::Build => {
                self.pop(at);
                self.look(at);
            }
            Op::SetItem => {
                self.pop(at);
                self.pop(at);
                self.look(at);
            }
            Op::Appends | Op::AddItems | Op::SetItems => {
                self.since_mark(at);
                self.look(at);
            }
            other => self.named(other, at, tag),
        }
        self.ops += 1;
    }

    /// Names, objects, and the memo.
    fn named(&mut self, op: &Op, at: u64, tag: Option<u32>) {
        match op {
            Op::Global(..) => self.push(at, Made::Global, tag.unwrap_or(NAMELESS)),
            Op::StackGlobal => {
                self.merge(at, 2, Made::Global);
                if let Some(last) = self.stack.last_mut() {
                    last.tag = tag.unwrap_or(NAMELESS);
                }
            }
            Op::Inst(..) => self.gather(at, Made::Object, |_| tag.unwrap_or(NAMELESS)),
            Op::Obj => self.gather(at, Made::Object, |lowest| {
                lowest.filter(|entry| entry.made == Made::Global).map_or(NAMELESS, |entry| entry.tag)
            }),
            Op::Reduce | Op::NewObj => self.merge(at, 2, Made::Object),
            Op::NewObjEx => self.merge(at, 3, Made::Object),
            Op::PersistentOnStack => self.merge(at, 1, Made::Plain),
            Op::Get(place) => {
                let first = self.first.unwrap_or(0);
                if *place < first || *place >= self.next_place() && !self.disorder {
                    self.err("takes a value from an empty place of its memo", at);
                }
                match tag {
                    Some(tag) => self.push(at, Made::Global, tag),
                    None => self.push(at, Made::Got, u32::try_from(*place).unwrap_or(NAMELESS)),
                }
            }
            Op::Put(place) => {
                self.look(at);
                self.put(*place);
            }
            Op::Memoize => {
                self.look(at);
                self.put(self.memo);
            }
            _ => self.push(at, Made::Plain, NAMELESS),
        }
    }

    fn mark(&mut self, at: u64) {
        if self.marks.len() >= KEPT {
            let half = self.marks.len() / 2;
            self.marks.drain(..half);
            self.forgot = true;
        }
        let (depth, memo, ops) = (self.stack.len(), self.memo, self.ops);
        self.marks.push(Marked { depth, at, memo, ops });
    }

    /// The place of the memo that this opcode fills.
    pub(super) fn place(&self, op: &Op) -> Option<u64> {
        match op {
            Op::Put(place) => Some(*place),
            Op::Memoize => Some(self.memo),
            _ => None,
        }
    }
}
