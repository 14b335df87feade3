//! The stack machine with inert values.
//!
//! Where Python would stop — something is taken from an empty stack, a place of the memo is empty — the fault
//! is noted and the walk goes on with an opaque value, so that no name behind it is overlooked.

use super::frame::Frame;
use super::huge::broken;
use super::opcode::{Op, Opcodes, Span};
use super::piece::Piecewise;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// The most values of one pickle: each takes up to 32 bytes of memory.
pub(super) const VALUES: usize = 1 << 24;
/// Steps between looks at the task.
const STEPS: usize = 1 << 16;

/// A value's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(super) u32);

/// An inert value. Texts and bytes stay in the pickle; [`Pickle`] gives them.
#[derive(Clone, Debug)]
pub enum Value {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A larger one: where its digits or its bytes lie.
    Large(Piece),
    /// A float.
    Float(f64),
    /// A text; [`Pickle::text`] gives it.
    Text(Piece),
    /// Bytes, also those of Python 2's `str` that are no ASCII; [`Pickle::bytes`] gives them.
    Bytes(Piece),
    /// A `bytearray`.
    ByteArray(Piece),
    /// A list.
    List(Vec<Id>),
    /// A tuple.
    Tuple(Vec<Id>),
    /// A dict, in the order of writing.
    Dict(Vec<(Id, Id)>),
    /// A set.
    Set(Vec<Id>),
    /// A frozenset.
    FrozenSet(Vec<Id>),
    /// Something of a module: its number among [`Pickle::globals`].
    Global(u32),
    /// What a call or a class would make.
    Object(Box<Object>),
    /// What a persistent id stands for.
    Persistent(Id),
    /// A number of Python's registry of extensions.
    Extension(u32),
    /// A value that is made elsewhere in a huge pickle, at this byte, and is large or holds this one: the name of its
    /// type as far as its opcode says it.
    Elsewhere(u64, &'static str),
    /// Nobody knows: it was taken from where nothing was, or lies outside of the pickle.
    Opaque,
}

/// An object that would be made.
#[derive(Clone, Debug)]
pub struct Object {
    /// What would be called, or whose instance it would be.
    pub class: Id,
    /// The arguments, as a tuple mostly.
    pub arguments: Id,
    /// Named arguments.
    pub named: Option<Id>,
    /// What it would be filled with afterwards; the last one where there are several.
    pub state: Option<Id>,
    /// What would be appended.
    pub items: Vec<Id>,
    /// What would be set by keys.
    pub pairs: Vec<(Id, Id)>,
}

/// Where a text or bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Piece(pub(super) Place);

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In the pickle.
    Here(Span),
    /// Unescaped, among the pieces that are kept.
    Kept(u32),
}

/// A pickle that was walked through.
pub struct Pickle {
    pub(super) bytes: Bytes,
    pub(super) values: Vec<Value>,
    kept: Vec<Box<[u8]>>,
    globals: Vec<(String, String)>,
    pub(super) root: Option<Id>,
    /// Where it ends in the bytes.
    end: usize,
    pub(super) fault: Option<Error>,
    pub(super) facts: Facts,
}

/// What is known of a pickle beside its values.
#[derive(Default)]
pub(super) struct Facts {
    /// The file that it lies in, and where in it.
    pub(super) source: Option<(Source, u64)>,
    /// Texts of Python 2 that are no ASCII.
    pub(super) old_texts: HashSet<Id>,
    /// Instances of Python 2's old classes.
    pub(super) instances: HashSet<Id>,
    /// What stands behind joblib's wrappers.
    pub(super) inlined: HashMap<Id, Inlined>,
    /// Places where what was imported is changed rather than called.
    pub(super) tampered: Vec<Id>,
    /// How many persistent ids it asks for, and how many buffers from outside.
    pub(super) persistent: u64,
    pub(super) buffers: u64,
    /// Its number, where it says one.
    pub(super) protocol: Option<u8>,
    pub(super) opcodes: u64,
    /// The lowest value of the stack where there was no end.
    pub(super) rest: Option<Id>,
    /// Where an opcode lies across the end of a frame, or a frame begins within another.
    pub(super) torn: Option<usize>,
    /// The number of the first item of the root, which is a part of a list.
    pub(super) base: u64,
}

/// The elements of an array that joblib wrote behind the opcodes which make its wrapper.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inlined {
    /// As bytes.
    Bytes(Span),
    /// As a pickle of its own.
    Value(Id),
}

pub(super) struct Machine {
    pub(super) pickle: Pickle,
    pub(super) stack: Vec<Id>,
    pub(super) marks: Vec<usize>,
    pub(super) memo: HashMap<u64, Id>,
    known: HashMap<(String, String), u32>,
    /// It runs in a pickle within the pickle.
    pub(super) nested: bool,
    /// It does what `pickle.load` does: bytes behind joblib's wrappers are opcodes, and it ends at the first fault.
    pub(super) literal: bool,
    /// The most values that it makes.
    pub(super) most: usize,
    /// It runs a piece of a huge pickle.
    pub(super) piece: Option<Piecewise>,
}

impl Pickle {
    /// Walks through the pickle at `start` of `bytes`, up to its end mark.
    ///
    /// # Errors
    /// `Cancelled`. What is wrong with the pickle itself is its [`Pickle::fault`].
    pub fn read(task: &Task, bytes: &Bytes, start: usize) -> Result<Pickle> {
        let mut machine = Machine::new(bytes, start);
        machine.run(task, start)?;
        Ok(machine.pickle)
    }

    /// The same of bytes that are the part of `source` from `base` on: arrays in it are parts of the source then.
    ///
    /// # Errors
    /// As [`Pickle::read`].
    pub fn read_in(task: &Task, bytes: &Bytes, start: usize, source: Source, base: u64) -> Result<Pickle> {
        let mut pickle = Self::read(task, bytes, start)?;
        pickle.facts.source = Some((source, base));
        Ok(pickle)
    }

    /// The protocol that it says it has.
    pub fn protocol(&self) -> Option<u8> {
        self.facts.protocol
    }

    /// How many opcodes it has.
    pub fn opcodes(&self) -> u64 {
        self.facts.opcodes
    }

    /// How many of its values are kept by whoever wrote it: persistent ids.
    pub fn persistent(&self) -> u64 {
        self.facts.persistent
    }

    /// How many of its buffers were handed over beside it (protocol 5) and are not in it.
    pub fn outside(&self) -> u64 {
        self.facts.buffers
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All its values, in the order of making.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..self.values.len() as u32).map(Id)
    }

    /// Where bytes of the pickle lie in its file; `None` for those that were made from it.
    pub(super) fn place(&self, part: &[u8]) -> Option<u64> {
        let at = (part.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        (at.checked_add(part.len())? <= self.bytes.len()).then_some(at as u64)
    }

    /// The value that the pickle makes; `None` where it has no end.
    pub fn root(&self) -> Option<Id> {
        self.root
    }

    /// What lay lowest on the stack where it broke off: most of what it would have made.
    pub fn rest(&self) -> Option<Id> {
        self.facts.rest
    }

    /// A value.
    pub fn value(&self, id: Id) -> &Value {
        self.values.get(id.0 as usize).unwrap_or(&Value::Opaque)
    }

    /// The value that a run made, which is forgotten.
    pub(super) fn take_root(&mut self) -> Option<Id> {
        self.root.take()
    }

    /// Module and name of everything that would be imported, each once, in the order of asking.
    pub fn globals(&self) -> &[(String, String)] {
        &self.globals
    }

    /// Module and name of what `id` is, where it is one of them.
    pub fn global(&self, id: Id) -> Option<(&str, &str)> {
        let Value::Global(n) = self.value(id) else { return None };
        self.globals.get(*n as usize).map(|(module, name)| (module.as_str(), name.as_str()))
    }

    /// Whether `id` is one of these names of a module whose old or new name is `module`.
    pub fn is(&self, id: Id, modules: &[&str], name: &str) -> bool {
        self.global(id).is_some_and(|(m, n)| modules.contains(&m) && n == name)
    }

    /// The bytes of a piece.
    pub fn bytes(&self, piece: Piece) -> &[u8] {
        match piece.0 {
            Place::Here(span) => span.of(&self.bytes),
            Place::Kept(n) => self.kept.get(n as usize).map_or(&[], |kept| kept),
        }
    }

    /// The same, owned but not copied where they lie in the pickle.
    pub fn shared(&self, piece: Piece) -> Bytes {
        match piece.0 {
            Place::Here(span) => self.bytes.slice(span.start as usize..span.end as usize),
            Place::Kept(_) => Bytes::copy_from_slice(self.bytes(piece)),
        }
    }

    /// The text of a value that is one.
    pub fn text(&self, id: Id) -> Option<&str> {
        match self.value(id) {
            Value::Text(piece) => std::str::from_utf8(self.bytes(*piece)).ok(),
            _ => None,
        }
    }

    /// Where the pickle ends: behind its end mark, or where the walk stopped.
    pub fn end(&self) -> usize {
        self.end
    }

    /// What is wrong with it.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }
}

impl Machine {
    pub(super) fn new(bytes: &Bytes, start: usize) -> Self {
        let pickle = Pickle {
            bytes: bytes.clone(),
            values: Vec::new(),
            kept: Vec::new(),
            globals: Vec::new(),
            root: None,
            end: start,
            fault: None,
            facts: Facts::default(),
        };
        Machine {
            pickle,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            known: HashMap::new(),
            nested: false,
            literal: false,
            most: VALUES,
            piece: None,
        }
    }

    /// Runs from `start` to the end mark, or to where it cannot go on.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn run(&mut self, task: &Task, start: usize) -> Result<()> {
        let bytes = self.pickle.bytes.clone();
        let mut opcodes = Opcodes { bytes: &bytes, at: start };
        if let Some([0x80, protocol]) = bytes.get(start..start.saturating_add(2)) {
            self.pickle.facts.protocol.get_or_insert(*protocol);
        }
        let mut frame = Frame::default();
        for step in 0usize.. {
            if step % STEPS == 0 {
                task.check()?;
            }
            if self.literal && self.pickle.fault.is_some() {
                return Ok(());
            }
            let at = opcodes.at;
            self.pickle.end = at;
            self.pickle.facts.opcodes += 1;
            if self.piece.as_ref().is_some_and(|piece| at >= piece.until) {
                return Ok(());
            }
            if self.pickle.values.len() >= self.most {
                let error = Error::limit(format!("a pickle of more than {} values", self.most)).at(at as u64);
                self.pickle.fault.get_or_insert(error);
                self.pickle.facts.rest = self.unfinished();
                return Ok(());
            }
            match opcodes.next() {
                Ok(Op::Stop) => {
                    self.pickle.end = opcodes.at;
                    let root = self.pop(at);
                    self.pickle.root = Some(root);
                    return Ok(());
                }
                Ok(op) if frame.is_torn(&op, at as u64, opcodes.at as u64) => {
                    self.pickle.facts.torn.get_or_insert(at);
                    self.step(op, at);
                }
                Ok(op @ Op::Build) => {
                    self.step(op, at);
                    opcodes.at = self.inline(task, opcodes.at)?;
                }
                Ok(Op::Get(place)) if self.piece.is_some() && !self.memo.contains_key(&place) => {
                    self.fetch(task, place, at)?;
                }
                Ok(op) => self.step(op, at),
                Err(end) => {
                    self.pickle.fault.get_or_insert(broken(end, at as u64));
                    self.pickle.facts.rest = self.unfinished();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One step. `at` is the opcode's place, for what is wrong.
    fn step(&mut self, op: Op, at: usize) {
        let here = |span| Piece(Place::Here(span));
        match op {
            Op::Stop | Op::Nothing | Op::Frame(_) => {}
            Op::Mark => self.marks.push(self.stack.len()),
            Op::Pop => self.drop_last(at),
            Op::PopMark => drop(self.since_mark(at)),
            Op::Dup => {
                let last = self.last(at);
                self.stack.push(last);
            }
            Op::None => self.push(Value::None),
            Op::Bool(value) => self.push(Value::Bool(value)),
            Op::Int(value) => self.push(Value::Int(value)),
            Op::Digits(span) => self.digits(span),
            Op::Long(span) => self.long(span),
            Op::Float(value) => self.push(Value::Float(value)),
            Op::Text(span) => self.push(Value::Text(here(span))),
            Op::Escaped(span) => {
                let text = super::text::unescape_unicode(span.of(&self.pickle.bytes));
                self.keep(text.into_bytes(), Value::Text);
            }
            Op::Quoted(span) => {
                let bytes = super::text::unquote(span.of(&self.pickle.bytes));
                let kind = if bytes.is_ascii() { Value::Text } else { Value::Bytes };
                self.old(!bytes.is_ascii());
                self.keep(bytes, kind);
            }
            Op::OldText(span) if span.of(&self.pickle.bytes).is_ascii() => self.push(Value::Text(here(span))),
            Op::OldText(span) => {
                self.old(true);
                self.push(Value::Bytes(here(span)));
            }
            Op::Bytes(span) => self.push(Value::Bytes(here(span))),
            Op::ByteArray(span) => self.push(Value::ByteArray(here(span))),
            Op::NextBuffer => {
                self.pickle.facts.buffers += 1;
                self.push(Value::Opaque);
            }
            Op::Opaque => self.push(Value::Opaque),
            Op::Get(place) => match self.memo.get(&place) {
                Some(&id) => self.stack.push(id),
                None => {
                    self.wrong("takes a value from an empty place of its memo", at);
                    self.push(Value::Opaque);
                }
            },
            Op::Put(place) => self.put(place, at),
            Op::Memoize => self.put(self.next_place(), at),
            other => self.build(other, at),
        }
    }

    /// Containers.
    fn build(&mut self, op: Op, at: usize) {
        match op {
            Op::EmptyList => self.push(Value::List(Vec::new())),
            Op::EmptyTuple => self.push(Value::Tuple(Vec::new())),
            Op::EmptyDict => self.push(Value::Dict(Vec::new())),
            Op::EmptySet => self.push(Value::Set(Vec::new())),
            Op::List => {
                let items = self.since_mark(at);
                self.push(Value::List(items));
            }
            Op::Tuple => {
                let items = self.since_mark(at);
                self.push(Value::Tuple(items));
            }
            Op::FrozenSet => {
                let items = self.since_mark(at);
                self.push(Value::FrozenSet(items));
            }
            Op::Dict => {
                let items = self.since_mark(at);
                self.push(Value::Dict(pairs(&items)));
            }
            Op::TupleOf(count) => {
                let mut items: Vec<Id> = (0..count).map(|_| self.pop(at)).collect();
                items.reverse();
                self.push(Value::Tuple(items));
            }
            Op::Append => {
                let item = self.pop(at);
                self.extend(vec![item], at);
            }
            Op::Appends | Op::AddItems => {
                let items = self.since_mark(at);
                self.extend(items, at);
            }
            Op::SetItem => {
                let (value, key) = (self.pop(at), self.pop(at));
                self.set(&[key, value], at);
            }
            Op::SetItems => {
                let items = self.since_mark(at);
                self.set(&items, at);
            }
            other => self.object(other, at),
        }
    }

    /// Names, calls and instances.
    fn object(&mut self, op: Op, at: usize) {
        let text =
            |machine: &Self, span: Span| String::from_utf8_lossy(span.of(&machine.pickle.bytes)).into_owned();
        match op {
            Op::Global(module, name) => {
                let (module, name) = (text(self, module), text(self, name));
                self.global(module, name);
            }
            Op::StackGlobal => {
                let (name, module) = (self.pop(at), self.pop(at));
                // What is no text is put together while loading: nobody knows what it is.
                let word = |id| self.pickle.text(id).unwrap_or("?").to_owned();
                let (module, name) = (word(module), word(name));
                self.global(module, name);
            }
            Op::Inst(module, name) => {
                let (module, name) = (text(self, module), text(self, name));
                let arguments = self.since_mark(at);
                self.global(module, name);
                let class = self.pop(at);
                self.made(class, Value::Tuple(arguments));
            }
            Op::Obj => {
                let mut items = self.since_mark(at);
                let class = match items.is_empty() {
                    true => self.add(Value::Opaque),
                    false => items.remove(0),
                };
                self.made(class, Value::Tuple(items));
            }
            Op::Reduce | Op::NewObj => {
                let (arguments, class) = (self.pop(at), self.pop(at));
                self.push_object(class, arguments, None);
            }
            Op::NewObjEx => {
                let (named, arguments, class) = (self.pop(at), self.pop(at), self.pop(at));
                self.push_object(class, arguments, Some(named));
            }
            Op::Build => {
                let state = self.pop(at);
                let target = self.last(at);
                if let Some(same) = self.pickle.given_back(target) {
                    self.tampered(same);
                }
                match self.pickle.values.get_mut(target.0 as usize) {
                    Some(Value::Object(object)) => object.state = Some(state),
                    Some(Value::Global(_)) => self.tampered(target),
                    _ => {}
                }
            }
            Op::Persistent(span) => {
                let id = self.add(Value::Text(Piece(Place::Here(span))));
                self.pickle.facts.persistent += 1;
                self.push(Value::Persistent(id));
            }
            Op::PersistentOnStack => {
                let id = self.pop(at);
                self.pickle.facts.persistent += 1;
                self.push(Value::Persistent(id));
            }
            Op::Extension(code) => {
                self.name("copyreg".to_owned(), format!("extension {code}"));
                self.push(Value::Extension(code));
            }
            _ => {}
        }
    }

    fn made(&mut self, class: Id, arguments: Value) {
        let arguments = self.add(arguments);
        self.push_object(class, arguments, None);
        if let Some(&id) = self.stack.last() {
            self.pickle.facts.instances.insert(id);
        }
    }

    /// The value that is added next is a text of Python 2 which is no ASCII.
    fn old(&mut self, is: bool) {
        if is {
            self.pickle.facts.old_texts.insert(Id(self.pickle.values.len() as u32));
        }
    }

    /// What was imported is changed in place.
    fn tampered(&mut self, id: Id) {
        if self.pickle.facts.tampered.len() < STEPS {
            self.pickle.facts.tampered.push(id);
        }
    }

    fn push_object(&mut self, class: Id, arguments: Id, named: Option<Id>) {
        let (items, pairs) = (Vec::new(), Vec::new());
        self.push(Value::Object(Box::new(Object { class, arguments, named, state: None, items, pairs })));
    }

    fn global(&mut self, module: String, name: String) {
        let number = self.name(module, name);
        self.push(Value::Global(number));
    }

    fn name(&mut self, module: String, name: String) -> u32 {
        let next = self.pickle.globals.len() as u32;
        let number = *self.known.entry((module.clone(), name.clone())).or_insert(next);
        if number == next {
            self.pickle.globals.push((module, name));
        }
        number
    }

    pub(super) fn wrong(&mut self, what: &str, at: usize) {
        self.pickle
            .fault
            .get_or_insert_with(|| Error::malformed(format!("a pickle that {what}")).at(at as u64));
    }

    pub(super) fn add(&mut self, value: Value) -> Id {
        self.pickle.values.push(value);
        Id(self.pickle.values.len() as u32 - 1)
    }

    pub(super) fn push(&mut self, value: Value) {
        let id = self.add(value);
        self.stack.push(id);
    }

    fn keep(&mut self, bytes: Vec<u8>, kind: fn(Piece) -> Value) {
        self.pickle.kept.push(bytes.into());
        let piece = Piece(Place::Kept(self.pickle.kept.len() as u32 - 1));
        self.push(kind(piece));
    }

    /// What was being made: the lowest value of the stack, with what lay above it and belongs to it as far as that is a
    /// list's items or a dict's entries.
    fn unfinished(&mut self) -> Option<Id> {
        let root = *self.stack.first()?;
        if self.marks.first() == Some(&1) && !self.nested {
            let above = self.stack.get(1..self.marks.get(1).copied().unwrap_or(self.stack.len()))?.to_vec();
            match self.pickle.values.get_mut(root.0 as usize) {
                Some(Value::List(items) | Value::Set(items)) => items.extend(above),
                Some(Value::Dict(entries)) => entries.extend(pairs(&above)),
                _ => {}
            }
        }
        Some(root)
    }

    /// The lowest place of the stack that may be taken: what lies below the last mark may not.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    pub(super) fn pop(&mut self, at: usize) -> Id {
        if self.stack.len() > self.floor()
            && let Some(id) = self.stack.pop()
        {
            return id;
        }
        self.wrong("takes a value from its empty stack", at);
        self.add(Value::Opaque)
    }

    /// `POP` takes a mark where one lies on top.
    fn drop_last(&mut self, at: usize) {
        match self.marks.last() {
            Some(&mark) if mark == self.stack.len() => drop(self.marks.pop()),
            _ => drop(self.pop(at)),
        }
    }

    pub(super) fn last(&mut self, at: usize) -> Id {
        if self.stack.len() > self.floor()
            && let Some(&id) = self.stack.last()
        {
            return id;
        }
        self.wrong("looks at a value on its empty stack", at);
        let id = self.add(Value::Opaque);
        self.stack.push(id);
        id
    }

    /// Everything above the last mark, which goes with it.
    fn since_mark(&mut self, at: usize) -> Vec<Id> {
        match self.marks.pop() {
            Some(mark) => self.stack.split_off(mark.min(self.stack.len())),
            None => {
                self.wrong("looks for a mark that is not there", at);
                std::mem::take(&mut self.stack)
            }
        }
    }

    fn extend(&mut self, new: Vec<Id>, at: usize) {
        let target = self.last(at);
        match self.pickle.values.get_mut(target.0 as usize) {
            Some(Value::List(items) | Value::Set(items)) => items.extend(new),
            Some(Value::Object(object)) => object.items.extend(new),
            Some(Value::Global(_)) => self.tampered(target),
            _ => {}
        }
    }

    fn set(&mut self, new: &[Id], at: usize) {
        let target = self.last(at);
        match self.pickle.values.get_mut(target.0 as usize) {
            Some(Value::Dict(entries)) => entries.extend(pairs(new)),
            Some(Value::Object(object)) => object.pairs.extend(pairs(new)),
            Some(Value::Global(_)) => self.tampered(target),
            _ => {}
        }
    }

    /// Digits that did not fit, with or without an `L`.
    fn digits(&mut self, span: Span) {
        let text = span.of(&self.pickle.bytes);
        let number = text.strip_suffix(b"L").unwrap_or(text);
        let short = std::str::from_utf8(number).ok().and_then(|text| text.trim().parse().ok());
        match short {
            Some(number) => self.push(Value::Int(number)),
            None => {
                let digits = number.strip_prefix(b"-").unwrap_or(number);
                let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                let number = number.to_vec();
                match is_number {
                    true => self.keep(number, Value::Large),
                    false => self.push(Value::Opaque),
                }
            }
        }
    }

    fn long(&mut self, span: Span) {
        let bytes = span.of(&self.pickle.bytes);
        match short(bytes) {
            Some(number) => self.push(Value::Int(number)),
            None => {
                let digits = super::text::decimal(bytes).into_bytes();
                self.keep(digits, Value::Large);
            }
        }
    }
}

/// Two's complement of up to eight bytes.
fn short(bytes: &[u8]) -> Option<i64> {
    let mut all = match bytes.last() {
        Some(last) if last & 0x80 != 0 => [0xff; 8],
        _ => [0; 8],
    };
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(all))
}

pub(super) fn pairs(items: &[Id]) -> Vec<(Id, Id)> {
    items.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value)).collect()
}
