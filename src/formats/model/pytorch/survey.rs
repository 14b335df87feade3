//! What a pickle has of storages, and which tensors lie in the same one: one walk over its values when it is opened.

use super::rebuild::{self, Storage, What};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::engines::pickle::{Id, Pickle, Value};
use std::collections::{HashMap, HashSet};

/// The most values that are looked at: of what lies beyond no sharing is told.
const MOST: usize = 1 << 21;
/// Names that are kept of the tensors in one storage.
const NAMES: usize = 6;
/// Characters of a key in such a name.
const KEY: usize = 100;
/// Values between looks at the task.
const STEPS: usize = 1 << 14;

/// What was found.
#[derive(Default)]
pub(super) struct Survey {
    /// The storages, in the order of the pickle, each once; of several views the one that reaches farthest.
    pub(super) storages: Vec<Storage>,
    /// Of each storage with several tensors, their names.
    pub(super) users: HashMap<String, Users>,
    /// How many tensors there are.
    pub(super) tensors: u64,
}

/// The tensors in one storage.
#[derive(Clone, Default)]
pub(super) struct Users {
    names: Vec<String>,
    count: usize,
}

impl Users {
    /// Their names, where there are several.
    pub(super) fn shared(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (self.count > 1).then(|| format!("{}{more}", self.names.join(", ")))
    }
}

/// One step on the way to a value.
#[derive(Clone, Copy)]
enum Step {
    Key(Id),
    Index(usize),
    /// A part of a call, which has no name.
    Part,
}

struct Walk<'a> {
    pickle: &'a Pickle,
    survey: Survey,
    /// The places of storages in the survey, by their keys.
    known: HashMap<String, usize>,
    /// Where each value on the way came from, and by which step.
    trail: Vec<(usize, Step)>,
    stack: Vec<(Id, usize)>,
    seen: HashSet<Id>,
}

/// Walks over all values that the whole holds.
///
/// # Errors
/// `Cancelled`.
pub(super) fn survey(task: &Task, pickle: &Pickle) -> Result<Survey> {
    let mut walk = Walk {
        pickle,
        survey: Survey::default(),
        known: HashMap::new(),
        trail: vec![(0, Step::Part)],
        stack: pickle.root().map(|root| (root, 0)).into_iter().collect(),
        seen: HashSet::new(),
    };
    while let Some((id, trail)) = walk.stack.pop() {
        if walk.trail.len().is_multiple_of(STEPS) {
            task.check()?;
        }
        if walk.trail.len() > MOST {
            break;
        }
        walk.value(id, trail);
    }
    Ok(walk.survey)
}

impl Walk<'_> {
    fn value(&mut self, id: Id, trail: usize) {
        if self.tensor(id, trail) || !self.seen.insert(id) {
            return;
        }
        let pickle = self.pickle;
        match pickle.value(id) {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
                self.items(items, trail);
            }
            Value::Dict(entries) => self.entries(entries, trail),
            Value::Object(object) => {
                for part in [Some(object.arguments), object.named, object.state].into_iter().flatten() {
                    self.push(part, trail, Step::Part);
                }
                self.items(&object.items, trail);
                self.entries(&object.pairs, trail);
            }
            Value::Persistent(_) if rebuild::is_storage(pickle, id) => {
                if let Ok(storage) = Storage::of(pickle, id) {
                    self.storage(storage);
                }
            }
            _ => {}
        }
    }

    /// Notes a tensor under its name, also one that has several.
    fn tensor(&mut self, id: Id, trail: usize) -> bool {
        let Some(Ok(tensor)) = rebuild::tensor(self.pickle, id) else { return false };
        self.survey.tensors += 1;
        let What::Strided(strided) = tensor.what else { return false };
        if self.seen.insert(id)
            && let Value::Object(object) = self.pickle.value(id)
        {
            // What a tensor is made of may be tensors again: scales, attributes.
            for part in [Some(object.arguments), object.state].into_iter().flatten() {
                self.push(part, trail, Step::Part);
            }
        }
        let name = self.name(trail);
        let users = self.survey.users.entry(strided.storage.key.clone()).or_default();
        // A parameter holds the tensor that its data are.
        if !users.names.contains(&name) {
            users.count += 1;
            if users.names.len() < NAMES {
                users.names.push(name);
            }
        }
        self.storage(strided.storage);
        true
    }

    fn storage(&mut self, storage: Storage) {
        match self.known.get(&storage.key).and_then(|n| self.survey.storages.get_mut(*n)) {
            Some(known) if known.end() < storage.end() => *known = storage,
            Some(_) => {}
            None => {
                self.known.insert(storage.key.clone(), self.survey.storages.len());
                self.survey.storages.push(storage);
            }
        }
    }

    fn items(&mut self, items: &[Id], trail: usize) {
        for (n, item) in items.iter().enumerate().rev() {
            self.push(*item, trail, Step::Index(n));
        }
    }

    fn entries(&mut self, entries: &[(Id, Id)], trail: usize) {
        for (key, value) in entries.iter().rev() {
            self.push(*value, trail, Step::Key(*key));
        }
    }

    fn push(&mut self, id: Id, trail: usize, step: Step) {
        let plain = matches!(
            self.pickle.value(id),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::Bytes(_)
        );
        if !plain && self.trail.len() <= MOST {
            self.stack.push((id, self.trail.len()));
            self.trail.push((trail, step));
        }
    }

    /// The keys on the way to a value.
    fn name(&self, mut trail: usize) -> String {
        let mut parts = Vec::new();
        while let Some((before, step)) = self.trail.get(trail).filter(|_| trail > 0 && parts.len() < 32) {
            match step {
                Step::Key(key) => parts.push(self.pickle.brief(*key, KEY)),
                Step::Index(n) => parts.push(n.to_string()),
                Step::Part => {}
            }
            trail = *before;
        }
        parts.reverse();
        // What a module keeps its parts in is no part of their names.
        parts.retain(|part| !matches!(part.as_str(), "_parameters" | "_buffers" | "_modules"));
        parts.join("/")
    }
}
