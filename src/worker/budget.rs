//! The one budget for decoded bytes ([`DECODED`]) that workers share with this process. Each tells how much it keeps, and how
//! much of that is in use; where all of it is more than may be kept, those give back whose documents were used longest ago.

use super::calls::Request;
use super::connection::Connection;
use super::limits;
use crate::bytes::cache::DECODED;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The workers that live, and what each keeps. Held shortly, and by nobody who waits for anything.
static WORKERS: Mutex<Vec<Worker>> = Mutex::new(Vec::new());
/// Bytes that all of them keep.
static TOTAL: AtomicU64 = AtomicU64::new(0);
/// Counts what is asked of all of them.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// What one worker keeps.
struct Worker {
    connection: Weak<Connection>,
    /// When it was asked for something last, by [`CLOCK`].
    used: Arc<AtomicU64>,
    kept: Usage,
    /// What it was told may be kept in all.
    most: u64,
    shrinking: Shrinking,
}

/// Decoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// All that are kept.
    pub(super) bytes: u64,
    /// Of these, those in use, which cannot be given back.
    pub(super) reserved: u64,
}

/// Whether a worker gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shrinking {
    /// As far as is known it has something to give.
    Possible,
    /// It was asked to keep no more than this, and has not answered yet.
    Asked(u64),
    /// It has answered; what it keeps now stays, until it says something new.
    Done,
}

/// From now on a worker counts, which was told that it may keep `most` bytes when it was started; its clock.
pub(super) fn enter(connection: &Arc<Connection>, most: u64, used: &Arc<AtomicU64>) {
    touch(used);
    let worker = Worker {
        connection: Arc::downgrade(connection),
        used: used.clone(),
        kept: Usage::default(),
        most,
        shrinking: Shrinking::Possible,
    };
    WORKERS.lock().push(worker);
}

/// Something is asked of the worker of this clock.
pub(super) fn touch(used: &AtomicU64) {
    used.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
}

/// The worker of this clock has ended.
pub(super) fn leave(used: &Arc<AtomicU64>) {
    let mut workers = WORKERS.lock();
    workers.retain(|worker| !Arc::ptr_eq(&worker.used, used));
    count(&workers);
}

/// Decoded bytes that workers keep.
pub fn kept() -> u64 {
    TOTAL.load(Ordering::Relaxed)
}

/// The numbers of the processes that have a document.
pub fn processes() -> Vec<u32> {
    let living: Vec<_> = WORKERS.lock().iter().map(|worker| worker.connection.clone()).collect();
    living.iter().filter_map(|one| one.upgrade()?.process_id()).collect()
}

/// What the worker of this clock says of what it keeps; `asked`, where that is an answer.
pub(super) fn note(used: &Arc<AtomicU64>, kept: Usage, asked: bool) {
    let mut workers = WORKERS.lock();
    if let Some(worker) = workers.iter_mut().find(|worker| Arc::ptr_eq(&worker.used, used)) {
        // It is believed as far as it may take memory at all.
        let bytes = kept.bytes.min(limits::MEMORY);
        worker.kept = Usage { bytes, reserved: kept.reserved.min(bytes) };
        worker.shrinking = match (asked, worker.shrinking) {
            (true, _) => Shrinking::Done,
            (false, shrinking @ Shrinking::Asked(_)) => shrinking,
            (false, _) => Shrinking::Possible,
        };
    }
    count(&workers);
    drop(workers);
    make_room();
}

fn count(workers: &[Worker]) {
    let total = workers.iter().map(|worker| worker.kept.bytes).fold(0, u64::saturating_add);
    TOTAL.store(total, Ordering::Relaxed);
}

/// Has those give back that were used longest ago, as far as more is kept than may be; tells those that do not know it how
/// much that is. To be called when this process keeps more or may keep another amount; workers that say something call it.
pub fn make_room() {
    let most = DECODED.most() as u64;
    // Connections that are let go of end processes: after the lock.
    let mut asked = Vec::new();
    let mut workers = WORKERS.lock();
    if kept().saturating_add(DECODED.used() as u64) <= most
        && workers.iter().all(|worker| worker.most == most)
    {
        return;
    }
    workers.sort_by_key(|worker| worker.used.load(Ordering::Relaxed));
    let sizes: Vec<_> = workers.iter().map(|worker| (worker.kept, worker.shrinking)).collect();
    for (worker, now) in workers.iter_mut().zip(asks(&sizes, most.saturating_sub(DECODED.used() as u64))) {
        if now.is_none() && worker.most == most {
            continue;
        }
        let Some(connection) = worker.connection.upgrade() else { continue };
        // What does not arrive is asked again with the next word of anybody.
        if connection.send_soon(&Request::Keep { most, now: now.unwrap_or(most) }) {
            (worker.most, worker.shrinking) = (most, Shrinking::Asked(now.unwrap_or(worker.kept.bytes)));
        }
        asked.push(connection);
    }
    drop(workers);
    asked.iter().for_each(Connection::listen);
}

/// What each of these is asked to keep, if anything, the one that was used longest ago first, so that all of it is `most`.
fn asks(sizes: &[(Usage, Shrinking)], most: u64) -> Vec<Option<u64>> {
    let expected = |(kept, shrinking): &(Usage, Shrinking)| match shrinking {
        Shrinking::Asked(now) => kept.bytes.min(*now),
        _ => kept.bytes,
    };
    let total = sizes.iter().map(expected).fold(0, u64::saturating_add);
    let mut excess = total.saturating_sub(most);
    let ask = |(kept, shrinking): &(Usage, Shrinking)| {
        let gives = match shrinking {
            Shrinking::Possible => excess.min(kept.bytes - kept.reserved),
            _ => 0,
        };
        excess -= gives;
        (gives > 0).then(|| kept.bytes - gives)
    };
    sizes.iter().map(ask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_used_longest_ago_give_back_what_is_not_in_use() {
        let willing = |bytes, reserved| (Usage { bytes, reserved }, Shrinking::Possible);
        let three = [willing(5, 0), willing(7, 3), willing(9, 0)];
        assert_eq!(asks(&three, 21), [None, None, None]);
        assert_eq!(asks(&three, 20), [Some(4), None, None]);
        assert_eq!(asks(&three, 10), [Some(0), Some(3), Some(7)]);
        assert_eq!(asks(&three, 0), [Some(0), Some(3), Some(0)]);
        // Who was asked is not asked again, and counts as if it had done what it was asked for.
        let (asked, done) = ((three[0].0, Shrinking::Asked(1)), (three[1].0, Shrinking::Done));
        assert_eq!(asks(&[asked, done, three[2]], 17), [None, None, None]);
        assert_eq!(asks(&[asked, done, three[2]], 15), [None, None, Some(7)]);
    }
}
