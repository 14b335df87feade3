//! What a view that goes through slices shows: the value of the slice that is wanted, or of one before it while a slider
//! moves faster than slices can be read; values that were looked at, or will be.

use std::hash::Hash;
use std::sync::Arc;

use egui::Context;
use gander::bytes::cache::Cache;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::plane::{Slice, Window};
use gander::jobs::{JobSpec, Jobs, Partial, Shown, Slot};

use super::coalescer::Coalescer;
use super::prefetcher::Prefetcher;

/// Bytes of values that are kept.
const KEPT: usize = 16 << 20;

/// What is asked of a slice.
pub(super) trait SliceKey: Clone + Eq + Hash + Send + Sync + 'static {
    /// The slice.
    fn slice(&self) -> &Slice;

    /// The same of another slice.
    fn of(&self, slice: &Slice) -> Self;

    /// Whether `other` differs only in where sliders stand.
    fn is_alike(&self, other: &Self) -> bool {
        let dims = |slice: &Slice| (slice.rows, slice.columns, slice.height(), slice.width());
        dims(self.slice()) == dims(other.slice()) && other.of(self.slice()) == *self
    }
}

/// What was read of a slice.
pub(super) trait SliceValue: Send + Sync + 'static {
    /// Its size in bytes; `None` where a part could not be read, so that it is read again.
    fn kept_bytes(&self) -> Option<usize>;
}

/// Asks for the values of slices: one request at a time, what was read is kept, the next slice is read ahead.
pub(super) struct Loader<K: SliceKey, V: SliceValue> {
    slot: Slot<K, V>,
    coalescer: Coalescer<K>,
    ahead: Prefetcher,
    kept: Arc<Cache<K, Arc<V>>>,
    /// The slice of what is on the screen.
    shown: Option<Slice>,
}

/// What there is of what was asked for.
pub(super) struct Loaded<V> {
    /// Whether what is read, or was, is what is wanted.
    pub(super) is_wanted: bool,
    /// What came of it.
    pub(super) state: Shown<V>,
    /// Whether what is shown has been old for so long that it should look old.
    pub(super) is_late: bool,
}

impl<V> Loaded<V> {
    /// The value that is wanted, or what there is of it, or an older one.
    pub(super) fn value(&self) -> Option<Arc<V>> {
        self.state.so_far().or_else(|| self.state.value.clone())
    }

    /// Whether all of what is wanted is there.
    pub(super) fn is_there(&self) -> bool {
        self.is_wanted && self.state.fresh
    }
}

impl<K: SliceKey, V: SliceValue> Default for Loader<K, V> {
    fn default() -> Self {
        Loader {
            slot: Slot::default(),
            coalescer: Coalescer::default(),
            ahead: Prefetcher::default(),
            kept: Arc::new(Cache::new(KEPT)),
            shown: None,
        }
    }
}

impl<K: SliceKey, V: SliceValue> Loader<K, V> {
    /// Asks for what is wanted as `spec` says. `read` reads it, and shows what it has on the way.
    pub(super) fn want(
        &mut self,
        ctx: &Context,
        jobs: &Jobs,
        wanted: &K,
        spec: JobSpec,
        read: impl FnOnce(&K, &Task, &Partial<'_, V>) -> Result<V> + Send + 'static,
    ) -> Loaded<V> {
        let answered = |key: &K| self.slot.peek(key).answer().is_some();
        let key = self.coalescer.next(ctx, wanted, |other| wanted.is_alike(other), answered);
        let (kept, asked) = (self.kept.clone(), key.clone());
        let state = self.slot.ask_shared(
            jobs,
            &key,
            || spec,
            move |task, partial| kept_or_read(&kept, &asked, |key| read(key, task, partial)),
        );
        let there = state.so_far().is_some();
        if there || state.error.is_some() {
            self.shown = Some(key.slice().clone());
        }
        let is_late = self.coalescer.is_late(ctx, there);
        Loaded { is_wanted: key == *wanted, state, is_late }
    }

    /// Reads the slices that will probably come next, once what is wanted is `there`. `window` is what is read of each.
    pub(super) fn read_ahead(
        &mut self,
        jobs: &Jobs,
        array: &Arc<dyn Array>,
        wanted: &K,
        window: Window,
        there: bool,
        read: impl Fn(&K, &dyn Array, &Task) -> Result<V> + Send + 'static,
    ) {
        let (kept, like) = (self.kept.clone(), wanted.clone());
        self.ahead.follow_with(jobs, array, wanted.slice(), window, there, move |array, task, slice| {
            kept_or_read(&kept, &like.of(slice), |key| read(key, array, task)).map(drop)
        });
    }

    /// The slice of what is on the screen.
    pub(super) fn shown(&self) -> Option<&Slice> {
        self.shown.as_ref()
    }

    /// Forgets what came of the last request, so that it is asked anew.
    pub(super) fn retry(&self) {
        self.slot.clear();
    }

    /// Stops reading.
    pub(super) fn stop(&self) {
        self.slot.cancel();
        self.ahead.stop();
    }

    /// Forgets everything: the array is another one now.
    pub(super) fn clear(&mut self) {
        *self = Loader::default();
    }
}

/// What is kept, or what is read now and kept from then on.
fn kept_or_read<K: SliceKey, V: SliceValue>(
    kept: &Cache<K, Arc<V>>,
    key: &K,
    read: impl FnOnce(&K) -> Result<V>,
) -> Result<Arc<V>> {
    if let Some(value) = kept.get(key) {
        return Ok(value);
    }
    let value = Arc::new(read(key)?);
    if let Some(bytes) = value.kept_bytes() {
        kept.put(key.clone(), value.clone(), bytes);
    }
    Ok(value)
}
