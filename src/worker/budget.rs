//! The one budget for decoded bytes ([`DECODED`]) that workers share with this process: each tells with its answers how much
//! it keeps. Where all of it is more than may be kept, those give back whose documents were used longest ago.

use super::calls::Request;
use super::connection::Connection;
use crate::bytes::cache::DECODED;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The workers that there are, and some that are gone.
static ALL: Mutex<Vec<Weak<Connection>>> = Mutex::new(Vec::new());
/// Counts what is asked of all of them.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// What all of them keep.
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// What one worker keeps.
#[derive(Default)]
pub(super) struct Share {
    bytes: AtomicU64,
    /// When it was asked for something last, by [`CLOCK`].
    used: AtomicU64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.keeps(0);
    }
}

impl Share {
    /// From now on it keeps so many bytes; those before.
    pub(super) fn keeps(&self, bytes: u64) -> u64 {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        TOTAL.fetch_add(bytes, Ordering::Relaxed);
        TOTAL.fetch_sub(before, Ordering::Relaxed);
        before
    }

    /// Something is asked of it.
    pub(super) fn touch(&self) {
        self.used.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// From now on this worker counts.
pub(super) fn enter(connection: &Arc<Connection>) {
    let mut all = ALL.lock();
    all.retain(|one| one.strong_count() > 0);
    all.push(Arc::downgrade(connection));
}

/// Decoded bytes that workers keep.
pub fn kept() -> u64 {
    TOTAL.load(Ordering::Relaxed)
}

/// The numbers of the processes that have a document.
pub fn processes() -> Vec<u32> {
    living().iter().filter_map(|one| one.process_id()).collect()
}

/// Tells all workers how much may be kept, after that of this process was changed.
pub fn tell_budget() {
    let most = DECODED.most() as u64;
    living().iter().for_each(|one| one.send_soon(&Request::Keep { most, now: most }));
    make_room();
}

/// A worker says how much it keeps.
pub(super) fn note(connection: &Connection, bytes: u64) {
    // It is believed as far as it may.
    connection.share.keeps(bytes.min(DECODED.most() as u64));
    make_room();
}

fn living() -> Vec<Arc<Connection>> {
    ALL.lock().iter().filter_map(Weak::upgrade).filter(|one| !one.is_dead()).collect()
}

/// Has those give back that were used longest ago, as far as more is kept than may be.
fn make_room() {
    let (most, here) = (DECODED.most() as u64, DECODED.used() as u64);
    if kept().saturating_add(here) <= most {
        return;
    }
    let mut all = living();
    all.sort_by_key(|one| one.share.used.load(Ordering::Relaxed));
    let sizes: Vec<u64> = all.iter().map(|one| one.share.bytes.load(Ordering::Relaxed)).collect();
    for (one, now) in all.iter().zip(rests(&sizes, most.saturating_sub(here))) {
        if now < one.share.keeps(now) {
            one.send_soon(&Request::Keep { most, now });
        }
    }
}

/// What each of these keeps, the one that was used longest ago first, so that all of it is `most` at most.
fn rests(sizes: &[u64], most: u64) -> Vec<u64> {
    let total = sizes.iter().copied().fold(0, u64::saturating_add);
    let mut excess = total.saturating_sub(most);
    let rest = |size: &u64| {
        let gone = excess.min(*size);
        excess -= gone;
        size - gone
    };
    sizes.iter().map(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_used_longest_ago_give_back() {
        assert_eq!(rests(&[5, 7, 9], 21), [5, 7, 9]);
        assert_eq!(rests(&[5, 7, 9], 20), [4, 7, 9]);
        assert_eq!(rests(&[5, 7, 9], 10), [0, 1, 9]);
        assert_eq!(rests(&[5, 7, 9], 0), [0, 0, 0]);
        assert_eq!(rests(&[], 3), [0; 0]);
    }
}
