//! Numbered pieces of work on all cores, whose results are taken in order: how an index is built faster than
//! one core reads.

use crate::bytes::error::{Error, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Results that came, and whose turn it is.
struct Waiting<T, F> {
    done: BTreeMap<usize, T>,
    next: usize,
    take: F,
}

/// Does the pieces `0..count` by `work` (which gets a buffer to use again) on every core, this thread's
/// included, and gives their results to `take`, first to last. Ends early where `take` says false.
///
/// # Errors
/// The first one of `work` or `take`; pieces that were begun are finished, no more are taken.
pub fn run<T: Send>(
    count: usize,
    work: impl Fn(usize, &mut Vec<u8>) -> Result<T> + Sync,
    take: impl FnMut(T) -> Result<bool> + Send,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let waiting = Mutex::new(Waiting { done: BTreeMap::new(), next: 0, take });
    let one = |buffer: &mut Vec<u8>| -> Result<bool> {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= count || stopped.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let result = work(n, buffer)?;
        let mut waiting = waiting.lock();
        waiting.done.insert(n, result);
        loop {
            let turn = waiting.next;
            if stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let Some(result) = waiting.done.remove(&turn) else { return Ok(true) };
            waiting.next += 1;
            let taken = (waiting.take)(result);
            if !matches!(taken, Ok(true)) {
                stopped.store(true, Ordering::Relaxed);
                return taken;
            }
        }
    };
    let worker = || -> Result<()> {
        let mut buffer = Vec::new();
        loop {
            match one(&mut buffer) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    stopped.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(count);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(worker)).collect();
        let mine = worker();
        let join = |other: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            other.join().unwrap_or_else(|_| Err(Error::bug("the index's worker panicked")))
        };
        others.into_iter().map(join).fold(mine, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_there_are_enough() {
        let seen = |enough: usize| {
            let mut seen = Vec::new();
            let work = |n: usize, buffer: &mut Vec<u8>| {
                // Early pieces take longer.
                std::thread::sleep(std::time::Duration::from_micros(200_u64.saturating_sub(n as u64)));
                buffer.push(0);
                Ok(n)
            };
            let take = |n| {
                seen.push(n);
                Ok(n + 1 < enough)
            };
            run(300, work, take).unwrap();
            seen
        };
        assert_eq!(seen(usize::MAX), (0..300).collect::<Vec<_>>());
        assert_eq!(seen(70), (0..70).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_it_and_nothing_behind_it_is_taken() {
        let mut last = None;
        let work = |n: usize, _: &mut Vec<u8>| if n == 50 { Err(Error::malformed("x")) } else { Ok(n) };
        let take = |n| {
            last = Some(n);
            Ok(true)
        };
        assert!(run(300, work, take).is_err());
        assert!(last.is_none_or(|n| n < 50));
        assert!(run(0, |_, _| Ok(()), |()| Ok(true)).is_ok());
    }
}
