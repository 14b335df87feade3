//! Values that are held more than once, and values that hold themselves. A tree would show them at each place, and
//! what they hold below each of them: a list of two references to a list of two references is soon larger than any
//! memory. So each has a home, the place where a walk from the root meets it first; elsewhere it is opened only where
//! little lies below it.

use super::machine::{Id, Pickle, Value};
use super::view::Run;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use std::collections::HashMap;

/// Values below a shared one, up to which it is shown at each of its places.
const SMALL: u32 = 1000;
/// Steps between looks at the task.
const STEPS: usize = 1 << 16;

/// What is known of values that are held more than once.
#[derive(Default)]
pub(super) struct Shared {
    met: HashMap<Id, Met>,
}

/// A value on the way down, and what it holds.
struct Open<'a> {
    id: Id,
    runs: Vec<Run<'a>>,
    /// The child that comes next.
    next: u64,
    /// Values below it as far as they were counted.
    weight: u32,
}

impl<'a> Open<'a> {
    fn new(pickle: &'a Pickle, id: Id) -> Self {
        Open { id, runs: pickle.view(id).runs, next: 0, weight: 1 }
    }
}

/// A value that is held more than once.
struct Met {
    /// Where it was met first.
    home: (Id, u64),
    /// So many values lie below it; `None` while it is being walked through: who meets it then lies in it.
    weight: Option<u32>,
    again: bool,
    holds_itself: bool,
}

impl Shared {
    /// Walks through all that lies below the root of a pickle, if any of it is held more than once.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn of(task: &Task, pickle: &Pickle) -> Result<Shared> {
        let (Some(root), often) = (pickle.root().or_else(|| pickle.rest()), often(task, pickle)?) else {
            return Ok(Shared::default());
        };
        if !often.iter().any(|word| *word != 0) {
            return Ok(Shared::default());
        }
        let is_shared = |id: Id| id == root || is_set(&often, id);
        let mut met: HashMap<Id, Met> = HashMap::new();
        met.insert(root, Met { home: (root, u64::MAX), weight: None, again: false, holds_itself: false });
        let mut way = vec![Open::new(pickle, root)];
        let mut steps = 0usize;
        while let Some(open) = way.last_mut() {
            steps += 1;
            if steps.is_multiple_of(STEPS) {
                task.check()?;
            }
            let at = open.next;
            open.next += 1;
            let Some(child) = nth(&open.runs, pickle, at) else {
                let (id, weight) = (open.id, open.weight);
                way.pop();
                met.entry(id).and_modify(|met| met.weight = Some(weight));
                if let Some(above) = way.last_mut() {
                    above.weight = above.weight.saturating_add(weight);
                }
                continue;
            };
            if !pickle.is_container(child) {
                open.weight = open.weight.saturating_add(1);
                continue;
            }
            if let Some(known) = met.get_mut(&child) {
                known.again = true;
                let weight = known.weight.unwrap_or(u32::MAX);
                known.holds_itself |= known.weight.is_none();
                open.weight = open.weight.saturating_add(weight.min(SMALL));
                continue;
            }
            if is_shared(child) {
                met.insert(
                    child,
                    Met { home: (open.id, at), weight: None, again: false, holds_itself: false },
                );
            }
            way.push(Open::new(pickle, child));
        }
        met.retain(|_, met| met.again);
        Ok(Shared { met })
    }

    /// Where a value is at home (in which value, and at which place in it), if that is not this place of this value.
    pub(super) fn elsewhere(&self, id: Id, parent: Id, at: u64) -> Option<(Id, u64)> {
        self.met.get(&id).map(|met| met.home).filter(|home| *home != (parent, at))
    }

    /// Whether too much lies below a shared value for it to be shown again, or it holds itself.
    pub(super) fn is_large(&self, id: Id) -> bool {
        self.met
            .get(&id)
            .is_some_and(|met| met.holds_itself || met.weight.is_none_or(|weight| weight > SMALL))
    }

    /// The name of a value where it is at home.
    pub(super) fn name(&self, pickle: &Pickle, (parent, at): (Id, u64)) -> Option<String> {
        let mut n = at;
        for run in &pickle.view(parent).runs {
            match n.checked_sub(run.count()) {
                Some(rest) => n = rest,
                // The root may be a part of a list.
                None if pickle.root() == Some(parent) && matches!(run, Run::Items(_)) => {
                    return Some(n.saturating_add(pickle.facts.base).to_string());
                }
                None => return run.child(pickle, n).map(|(name, _)| name),
            }
        }
        None
    }
}

/// One bit for each value: whether it is held by more than one, or by one more than once.
fn often(task: &Task, pickle: &Pickle) -> Result<Vec<u64>> {
    let words = pickle.len().div_ceil(64);
    let (mut once, mut twice) = (vec![0u64; words], vec![0u64; words]);
    for (n, id) in pickle.ids().enumerate() {
        if n.is_multiple_of(STEPS) {
            task.check()?;
        }
        pickle.held(id, &mut |child| {
            if !pickle.is_container(child) {
                return;
            }
            let (at, bit) = (child.0 as usize / 64, 1u64 << (child.0 % 64));
            if let (Some(once), Some(twice)) = (once.get_mut(at), twice.get_mut(at)) {
                *twice |= *once & bit;
                *once |= bit;
            }
        });
    }
    Ok(twice)
}

fn is_set(bits: &[u64], id: Id) -> bool {
    bits.get(id.0 as usize / 64).is_some_and(|word| word & 1 << (id.0 % 64) != 0)
}

/// The n-th of what lies in these stretches, one after the other.
fn nth(runs: &[Run<'_>], pickle: &Pickle, mut n: u64) -> Option<Id> {
    for run in runs {
        match n.checked_sub(run.count()) {
            Some(rest) => n = rest,
            None => return run.id(pickle, n),
        }
    }
    None
}

impl Pickle {
    /// All values that a value is made of.
    fn held(&self, id: Id, take: &mut impl FnMut(Id)) {
        match self.value(id) {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
                items.iter().copied().for_each(take);
            }
            Value::Dict(entries) => entries.iter().for_each(|(key, value)| {
                take(*key);
                take(*value);
            }),
            Value::Object(object) => {
                take(object.arguments);
                object.named.into_iter().chain(object.state).for_each(&mut *take);
                object.items.iter().copied().for_each(&mut *take);
                object.pairs.iter().for_each(|(key, value)| {
                    take(*key);
                    take(*value);
                });
            }
            Value::Persistent(inner) => take(*inner),
            _ => {}
        }
    }
}
