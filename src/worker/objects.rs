//! What a worker keeps for the other process: everything that reads, under the number of the request that made it and
//! its place in the answer.

use super::wire::{Out, choice};
use crate::bytes::error::Error;
use crate::bytes::source::Source;
use crate::data::content::array::World;
use crate::data::content::{Array, Image, Rows, Table, Text};
use crate::data::location::Location;
use crate::data::node::{Findings, Listing, NodeStatistics, Places, Versions};
use crate::data::security::Report;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Something that reads.
pub(super) enum Object {
    Table(Arc<dyn Table>),
    Array(Arc<dyn Array>),
    Image(Arc<dyn Image>),
    Text(Arc<dyn Text>),
    Listing(Arc<dyn Listing>),
    Findings(Arc<dyn Findings>),
    Places(Arc<dyn Places>),
    Statistics(Arc<dyn NodeStatistics>),
    Versions(Arc<dyn Versions>),
    World(Arc<dyn World>),
    Source(Source),
    Location(Box<Location>),
}

/// What is known of it at once and may become more while it reads.
#[derive(Clone)]
pub(super) enum State {
    /// Nothing of that sort.
    None,
    /// The rows of a table, the lines of a text.
    Rows(Rows),
    /// The children of a node.
    Children { count: Option<u64>, at_least: u64 },
    /// What was found.
    Found { problem: Option<Error>, remarks: Vec<String>, security: Option<Arc<Report>> },
    /// The length of bytes.
    Length(Option<u64>),
}

choice!(State {
    0 None;
    1 Rows(rows);
    2 Children { count, at_least };
    3 Found { problem, remarks, security };
    4 Length(bytes);
});

impl Object {
    /// What is known of it now.
    pub(super) fn state(&self) -> State {
        match self {
            Object::Table(table) => State::Rows(table.rows()),
            Object::Text(text) => State::Rows(text.lines()),
            Object::Listing(list) => State::Children { count: list.count(), at_least: list.at_least() },
            Object::Findings(findings) => State::Found {
                problem: findings.problem(),
                remarks: findings.remarks(),
                security: findings.security(),
            },
            Object::Source(source) => State::Length(source.known_len()),
            Object::Array(_)
            | Object::Image(_)
            | Object::Places(_)
            | Object::Statistics(_)
            | Object::Versions(_)
            | Object::World(_)
            | Object::Location(_) => State::None,
        }
    }
}

impl State {
    /// Whether it stays as it is.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            State::None
                | State::Rows(Rows::Exact(_))
                | State::Children { count: Some(_), .. }
                | State::Length(Some(_))
        )
    }
}

/// The number of a request, and a place in its answer.
pub(super) type Key = (u64, u32);

/// What is kept, and what the other process was last told of what changes.
pub(super) struct Registry {
    document: Source,
    objects: Mutex<HashMap<Key, Arc<Object>>>,
    told: Mutex<HashMap<Key, Told>>,
}

/// What the other process was told.
struct Told {
    /// The state as it was sent.
    bytes: Vec<u8>,
    /// Whether it is of what was found.
    finds: bool,
}

impl Registry {
    pub(super) fn new(document: Source) -> Self {
        Registry { document, objects: Mutex::default(), told: Mutex::default() }
    }

    pub(super) fn document(&self) -> &Source {
        &self.document
    }

    /// What was kept under a key.
    pub(super) fn get(&self, key: Key) -> Option<Arc<Object>> {
        self.objects.lock().get(&key).cloned()
    }

    pub(super) fn release(&self, keys: &[Key]) {
        let mut gone = Vec::new();
        {
            let (mut objects, mut told) = (self.objects.lock(), self.told.lock());
            for key in keys {
                told.remove(key);
                gone.extend(objects.remove(key));
            }
        }
        // Dropped without the locks: what goes may be large.
        drop(gone);
    }

    /// Notes what the other process knows of an object.
    fn watch(&self, key: Key, state: &State) {
        if !state.is_final() {
            let told = Told { bytes: Out::plain(state), finds: matches!(state, State::Found { .. }) };
            self.told.lock().insert(key, told);
        }
    }

    /// What has changed of an object since the other process was told.
    pub(super) fn news_of(&self, key: Key) -> Option<State> {
        if !self.told.lock().contains_key(&key) {
            return None;
        }
        let state = self.get(key)?.state();
        let bytes = Out::plain(&state);
        let mut told = self.told.lock();
        let known = told.get_mut(&key)?;
        if known.bytes == bytes {
            return None;
        }
        known.bytes = bytes;
        if state.is_final() {
            told.remove(&key);
        }
        Some(state)
    }

    /// What was told last of an object did not arrive.
    pub(super) fn tell_again(&self, key: Key) {
        let Some(object) = self.get(key) else { return };
        let finds = matches!(*object, Object::Findings(_));
        self.told.lock().insert(key, Told { bytes: Vec::new(), finds });
    }

    /// What has changed with an answer about `key`: of that itself, and of what was found, which is said of a node while
    /// its table is read.
    pub(super) fn news_after(&self, key: Key, most: usize) -> Vec<(Key, State)> {
        let found: Vec<Key> = {
            let told = self.told.lock();
            told.iter().filter(|(_, told)| told.finds).map(|(key, _)| *key).take(most).collect()
        };
        std::iter::once(key).chain(found).filter_map(|key| Some((key, self.news_of(key)?))).collect()
    }

    /// Up to `most` of those that may change.
    pub(super) fn watched(&self, most: usize) -> Vec<Key> {
        self.told.lock().keys().take(most).copied().collect()
    }
}

/// Keeps what one answer names.
pub(super) struct Keeper<'a> {
    registry: &'a Registry,
    request: u64,
    next: u32,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(registry: &'a Registry, request: u64) -> Self {
        Keeper { registry, request, next: 0 }
    }

    /// The bytes of the document.
    pub(super) fn document(&self) -> &Source {
        &self.registry.document
    }

    /// Keeps an object, whose state is sent along; its place in the answer.
    pub(super) fn keep(&mut self, object: Object, state: &State) -> u32 {
        let key = (self.request, self.next);
        self.next += 1;
        self.registry.watch(key, state);
        self.registry.objects.lock().insert(key, Arc::new(object));
        key.1
    }
}
