//! What is kept of decoded bytes, and the one budget that all of it shares.
//!
//! A [`Cache`] keeps values by key, up to a share of its own. All caches together keep no more than their [`Budget`]
//! allows; the one of the process is [`DECODED`]. Bytes that are kept in another way, because they cannot be made
//! anew while somebody uses them, are counted by [`Reservation`], and caches have what these leave.
//!
//! A value enters a cache as *new*; a second use makes it *proven*. New ones go first, down to a quarter of what may
//! be kept, and of each kind those that were used longest ago: a pass over a large file, which uses each value once,
//! pushes out its own. What goes is dropped by the cache alone; whoever uses it still has it.
//!
//! A look into a cache takes its own lock and reads the budget's clock. Only what brings the budget over its bound
//! looks at all caches, and makes an eighth of it free at once.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// The budget of the process for decoded bytes, 2 GB unless [`Budget::allow`] says otherwise.
pub static DECODED: Budget = Budget::new(2_000_000_000);

/// What several caches may keep together.
pub struct Budget {
    most: AtomicUsize,
    used: AtomicUsize,
    /// How much of it is in use and cannot be dropped.
    reserved: AtomicUsize,
    clock: AtomicU64,
    members: Mutex<Members>,
    /// Held by the one thread that makes room.
    shrinking: Mutex<()>,
}

/// The caches that ever kept something.
struct Members {
    list: Vec<Weak<dyn Member>>,
    /// With so many, those that are gone are left out.
    crowded: usize,
}

/// A cache, whatever it keeps.
trait Member: Send + Sync {
    /// Adds what is kept.
    fn ages(&self, ages: &mut Ages);
    /// Drops what was used last at or before a time; how many bytes that were.
    fn drop_old(&self, until: Until) -> usize;
}

/// When entries were used last, and their sizes.
#[derive(Default)]
struct Ages {
    new: Vec<(u64, usize)>,
    proven: Vec<(u64, usize)>,
}

/// The times at or before which entries go.
#[derive(Clone, Copy, Default)]
struct Until {
    new: u64,
    proven: u64,
}

impl Ages {
    /// The times that make `wanted` bytes free, of new entries at first only what they have beyond `spare`.
    fn until(mut self, wanted: usize, spare: usize) -> Until {
        let new: usize = self.new.iter().map(|(_, bytes)| bytes).sum();
        self.new.sort_unstable();
        self.proven.sort_unstable();
        let (first, freed) = oldest(&self.new, wanted.min(new.saturating_sub(spare)));
        let (proven, more) = oldest(&self.proven, wanted.saturating_sub(freed));
        let left = wanted.saturating_sub(freed).saturating_sub(more);
        let new = if left == 0 { first } else { oldest(&self.new, freed.saturating_add(left)).0 };
        Until { new, proven }
    }
}

/// The time until which entries have `wanted` bytes, and how many these are.
fn oldest(sorted: &[(u64, usize)], wanted: usize) -> (u64, usize) {
    let (mut until, mut freed) = (0, 0);
    for &(used, bytes) in sorted {
        // What was used at the same time goes together.
        if freed >= wanted && used != until {
            break;
        }
        (until, freed) = (used, freed + bytes);
    }
    (until, freed)
}

impl Budget {
    /// A budget of `most` bytes, or of whatever its caches count.
    pub const fn new(most: usize) -> Budget {
        Budget {
            most: AtomicUsize::new(most),
            used: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            clock: AtomicU64::new(1),
            members: Mutex::new(Members { list: Vec::new(), crowded: 64 }),
            shrinking: Mutex::new(()),
        }
    }

    /// How much may be kept.
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// How much is kept now.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// How much of it is in use and cannot be dropped.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    /// Allows another `most`; what is beyond it goes at once.
    pub fn allow(&self, most: usize) {
        self.most.store(most, Relaxed);
        self.shrink();
    }

    /// How much may be kept by now: what is in use leaves caches an eighth at least.
    fn allowed(&self) -> usize {
        let most = self.most();
        most.max(self.reserved.load(Relaxed).saturating_add(most / 8))
    }

    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }

    fn enter(&self, member: Weak<dyn Member>) {
        let mut members = self.members.lock();
        if members.list.len() >= members.crowded {
            members.list.retain(|member| member.strong_count() > 0);
            members.crowded = (members.list.len() * 2).max(64);
        }
        members.list.push(member);
    }

    /// Makes room, if more is kept than may be.
    fn shrink(&self) {
        // Who comes while another makes room does not wait for it: that one looks again.
        while self.used() > self.allowed() && self.make_room() {}
    }

    /// Drops what was used longest ago in all caches; whether there was something to drop.
    fn make_room(&self) -> bool {
        let Some(_one) = self.shrinking.try_lock() else { return false };
        let members: Vec<Arc<dyn Member>> =
            self.members.lock().list.iter().filter_map(Weak::upgrade).collect();
        let mut ages = Ages::default();
        members.iter().for_each(|member| member.ages(&mut ages));
        let most = self.allowed();
        let until = ages.until(self.used().saturating_sub(most - most / 8), most / 4);
        members.iter().map(|member| member.drop_old(until)).sum::<usize>() > 0
    }
}

/// Bytes in the budget of the process that are in use for as long as this lives.
#[derive(Debug, Default)]
pub struct Reservation(usize);

impl Reservation {
    /// Counts `bytes`.
    pub fn new(bytes: usize) -> Reservation {
        let mut reservation = Reservation(0);
        reservation.set(bytes);
        reservation
    }

    /// Counts `bytes` instead of those before.
    pub fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.0, bytes);
        DECODED.reserved.fetch_add(bytes, Relaxed);
        DECODED.reserved.fetch_sub(before, Relaxed);
        DECODED.add(bytes);
        DECODED.give_back(before);
        if bytes > before {
            DECODED.shrink();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        DECODED.reserved.fetch_sub(self.0, Relaxed);
        DECODED.give_back(self.0);
    }
}

/// Values by key, at most so many bytes of them; dropped with the cache, which gives its bytes back.
pub struct Cache<K: 'static, V: 'static>(Arc<Shelf<K, V>>);

struct Shelf<K, V> {
    budget: &'static Budget,
    limit: usize,
    policy: Policy,
    inner: Mutex<Inner<K, V>>,
}

/// Which values a cache keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// Those of up to half of the limit.
    Plain,
    /// Those of up to a quarter; new ones have at most a third of the limit.
    Passing,
    /// All; the one that was used last stays, whatever the budget says.
    Last,
}

struct Inner<K, V> {
    entries: HashMap<K, Entry<V>>,
    bytes: usize,
    /// How many of them are of new entries.
    new: usize,
    is_member: bool,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
    proven: bool,
}

impl<K, V> Cache<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    /// A cache of at most `limit` decoded bytes.
    pub fn new(limit: usize) -> Self {
        Cache::within(&DECODED, limit)
    }

    /// A cache of at most `limit` in `budget`, in what this counts.
    pub fn within(budget: &'static Budget, limit: usize) -> Self {
        Cache::made(budget, limit, Policy::Plain)
    }

    /// A cache that passes over a whole file go through: values that were used once have at most a third of it, so
    /// that a pass does not fill the memory for nothing.
    pub fn passing(limit: usize) -> Self {
        Cache::made(&DECODED, limit, Policy::Passing)
    }

    /// A cache that keeps the value that came last whatever its size, alone where it is larger than `limit`.
    pub fn with_last(limit: usize) -> Self {
        Cache::made(&DECODED, limit, Policy::Last)
    }

    fn made(budget: &'static Budget, limit: usize, policy: Policy) -> Self {
        let inner = Inner { entries: HashMap::new(), bytes: 0, new: 0, is_member: false };
        Cache(Arc::new(Shelf { budget, limit, policy, inner: Mutex::new(inner) }))
    }

    /// The value of a key, if it is still there.
    pub fn get(&self, key: &K) -> Option<V> {
        let now = self.0.budget.clock.load(Relaxed);
        let mut inner = self.0.inner.lock();
        let entry = inner.entries.get_mut(key)?;
        entry.used = now;
        let first = (!std::mem::replace(&mut entry.proven, true)).then_some(entry.bytes);
        let value = entry.value.clone();
        inner.new -= first.unwrap_or(0);
        Some(value)
    }

    /// Keeps a value of `bytes` bytes. One that is larger than half of the cache (a quarter, where passes go through
    /// it), or than three quarters of the budget, is not kept.
    pub fn put(&self, key: K, value: V, bytes: usize) {
        let shelf = &*self.0;
        let budget = shelf.budget;
        let fits = match shelf.policy {
            Policy::Plain => bytes <= shelf.limit / 2,
            Policy::Passing => bytes <= shelf.limit / 4,
            Policy::Last => true,
        };
        if !fits || !shelf.pinned() && bytes > budget.most() / 4 * 3 {
            return;
        }
        // Counted before others can see and drop it.
        budget.add(bytes);
        let used = budget.clock.fetch_add(1, Relaxed) + 1;
        let mut gone;
        let enters = {
            let mut inner = shelf.inner.lock();
            let old = inner.remove(&key);
            let proven = old.as_ref().is_some_and(|old| old.proven);
            gone = inner.make_room(shelf, bytes);
            gone.extend(old);
            inner.entries.insert(key, Entry { value, bytes, used, proven });
            inner.bytes += bytes;
            inner.new += if proven { 0 } else { bytes };
            !std::mem::replace(&mut inner.is_member, true)
        };
        if enters {
            budget.enter(Arc::downgrade(&self.0) as Weak<dyn Member>);
        }
        budget.give_back(gone.iter().map(|entry| entry.bytes).sum());
        drop(gone);
        budget.shrink();
    }

    /// The value of a key, if it is still there; this does not count as a use.
    pub fn peek(&self, key: &K) -> Option<V> {
        self.0.inner.lock().entries.get(key).map(|entry| entry.value.clone())
    }

    /// How many bytes are kept now.
    pub fn bytes(&self) -> usize {
        self.0.inner.lock().bytes
    }
}

impl<K: Eq + Hash + Clone, V> Inner<K, V> {
    fn remove(&mut self, key: &K) -> Option<Entry<V>> {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        self.new -= if entry.proven { 0 } else { entry.bytes };
        Some(entry)
    }

    /// The entry that was used last.
    fn last(&self) -> Option<u64> {
        self.entries.values().map(|entry| entry.used).max()
    }

    /// Adds when its entries were used; without the last one, where that is pinned.
    fn ages(&self, ages: &mut Ages, pinned: bool) {
        let last = self.last().filter(|_| pinned);
        for entry in self.entries.values().filter(|entry| Some(entry.used) != last) {
            let list = if entry.proven { &mut ages.proven } else { &mut ages.new };
            list.push((entry.used, entry.bytes));
        }
    }

    /// Takes out old entries, where `bytes` more would be too many: down to half of what may be, so that this is rare.
    fn make_room(&mut self, shelf: &Shelf<K, V>, bytes: usize) -> Vec<Entry<V>> {
        let passing = match shelf.policy {
            Policy::Plain => shelf.limit,
            Policy::Passing => shelf.limit / 3,
            Policy::Last => usize::MAX,
        };
        let (wanted, spare) = if self.bytes.saturating_add(bytes) > shelf.limit {
            (self.bytes.saturating_sub((shelf.limit / 2).saturating_sub(bytes)), shelf.limit / 4)
        } else if self.new.saturating_add(bytes) > passing {
            (self.new.saturating_sub((passing / 2).saturating_sub(bytes)), 0)
        } else {
            return Vec::new();
        };
        let mut ages = Ages::default();
        self.ages(&mut ages, false);
        self.take_old(ages.until(wanted, spare), false)
    }

    fn take_old(&mut self, until: Until, pinned: bool) -> Vec<Entry<V>> {
        let last = self.last().filter(|_| pinned);
        let is_old = |entry: &Entry<V>| {
            entry.used <= if entry.proven { until.proven } else { until.new } && Some(entry.used) != last
        };
        let old: Vec<K> =
            self.entries.iter().filter(|(_, entry)| is_old(entry)).map(|(key, _)| key.clone()).collect();
        old.iter().filter_map(|key| self.remove(key)).collect()
    }
}

impl<K, V> Member for Shelf<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Send + 'static,
{
    fn ages(&self, ages: &mut Ages) {
        self.inner.lock().ages(ages, self.pinned());
    }

    fn drop_old(&self, until: Until) -> usize {
        let gone = self.inner.lock().take_old(until, self.pinned());
        let bytes = gone.iter().map(|entry| entry.bytes).sum();
        self.budget.give_back(bytes);
        bytes
    }
}

impl<K, V> Shelf<K, V> {
    /// Whether the entry that came last stays whatever the budget says.
    fn pinned(&self) -> bool {
        self.policy == Policy::Last
    }
}

impl<K, V> Drop for Shelf<K, V> {
    fn drop(&mut self) {
        self.budget.give_back(self.inner.get_mut().bytes);
    }
}

/// Tells the system's allocator to keep little of what is freed: a heap for each core instead of eight, and at the end
/// of each no more than some megabytes. By itself glibc keeps up to 64 MiB a heap once large buffers were freed, which
/// [`trim`] does not give back. To be called once, before there are threads.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const HEAPS: std::ops::RangeInclusive<usize> = 2..=8;
        const KEPT: libc::c_int = 16 << 20;
        /// Larger buffers are mappings of their own, which are gone when they are freed.
        const MAPPED: libc::c_int = 8 << 20;
        let cores = std::thread::available_parallelism().map_or(*HEAPS.start(), usize::from);
        let heaps = cores.clamp(*HEAPS.start(), *HEAPS.end()) as libc::c_int;
        // SAFETY: mallopt(3) takes no pointers; no other thread runs yet.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
            libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        }
    }
}

/// Gives freed memory back to the system: the allocator keeps what many threads freed in small pieces. Takes some
/// milliseconds; others that allocate may wait for it.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim(3) takes no pointers, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_go_and_the_bound_holds() {
        let cache = Cache::new(100);
        for key in 0..10 {
            cache.put(key, key * 2, 10);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.put(10, 20, 10);
        assert!(cache.bytes() <= 50);
        assert_eq!(cache.get(&0), Some(0), "it was used last");
        assert_eq!(cache.get(&1), None);
        cache.put(11, 0, 60);
        assert_eq!(cache.get(&11), None, "too large to keep");
    }

    #[test]
    fn a_pass_does_not_push_out_what_is_used() {
        let cache = Cache::passing(100_000);
        for key in 0..10 {
            cache.put(key, (), 1000);
            assert!(cache.get(&key).is_some());
        }
        for key in 100..1100 {
            cache.put(key, (), 5000);
            assert!(cache.bytes() <= 10_000 + 100_000 / 3);
        }
        assert!((0..10).all(|key| cache.get(&key).is_some()));
        assert!(cache.get(&100).is_none() && cache.get(&1099).is_some());
    }

    #[test]
    fn proven_values_leave_room_for_new_ones() {
        let cache = Cache::new(100_000);
        for key in 0..100 {
            cache.put(key, (), 1000);
            cache.get(&key);
        }
        cache.put(100, (), 20_000);
        assert!(cache.get(&100).is_some(), "new, but less than a quarter");
        assert!(cache.get(&99).is_some() && cache.get(&0).is_none());
        cache.put(101, (), 51_000);
        assert!(cache.get(&101).is_none(), "too large to keep");
    }

    #[test]
    fn the_last_value_is_kept_whatever_its_size() {
        let cache = Cache::with_last(100);
        for key in 0..5 {
            cache.put(key, (), 30);
        }
        assert!(cache.bytes() <= 100);
        for key in 5..8 {
            cache.put(key, (), 5000);
            assert!(cache.get(&key).is_some());
            assert_eq!(cache.bytes(), 5000);
        }
    }

    #[test]
    fn caches_share_a_budget_and_give_it_back() {
        static BUDGET: Budget = Budget::new(1000);
        let caches: Vec<Cache<u32, Arc<u32>>> = (0..40).map(|_| Cache::within(&BUDGET, 600)).collect();
        let first = Arc::new(7);
        caches[0].put(100, first.clone(), 100);
        for round in 0..5 {
            for (n, cache) in caches.iter().enumerate() {
                cache.put(round, Arc::new(n as u32), 20);
                assert!(BUDGET.used() <= 1000, "{}", BUDGET.used());
                assert_eq!(caches.iter().map(Cache::bytes).sum::<usize>(), BUDGET.used());
            }
        }
        // The oldest of all went, whichever cache it was in; who has it keeps it.
        assert!(caches[0].get(&100).is_none() && *first == 7 && Arc::strong_count(&first) == 1);
        assert!(caches[39].get(&4).is_some());
        BUDGET.allow(200);
        assert!(BUDGET.used() <= 200);
        drop(caches);
        assert_eq!(BUDGET.used(), 0);
    }

    #[test]
    fn what_is_used_again_outlives_passes_in_other_caches() {
        static BUDGET: Budget = Budget::new(1000);
        let (view, pass) = (Cache::within(&BUDGET, 1000), Cache::within(&BUDGET, 1000));
        for key in 0..5 {
            view.put(key, (), 100);
            view.get(&key);
        }
        (0..1000).for_each(|key| pass.put(key, (), 50));
        assert!((0..5).all(|key| view.get(&key).is_some()));
        assert!(pass.get(&999).is_some() && BUDGET.used() <= 1000);
    }
}
