//! Notices that an open file was changed or removed by somebody else. A thread looks at sizes and times every
//! other second and wakes the window only if something is new.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use gander::Source;
use gander::jobs::Jobs;
use parking_lot::{Condvar, Mutex};

/// What happened to a file since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Its size or time is another one.
    Changed,
    /// It was written to as its format allows while it is read; what was there is there.
    Grown,
    /// It is not there any more.
    Gone,
}

/// Size and time of the last change; `None` where the file is not there.
type Stamp = Option<(u64, Option<SystemTime>)>;

#[derive(Default)]
struct Followed {
    stamp: Option<Stamp>,
    change: Option<Change>,
    /// The file as it was opened, where it may grow.
    source: Option<Source>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<HashMap<PathBuf, Followed>>,
    nudge: Condvar,
}

/// The files that are watched.
pub(crate) struct Watch(Arc<Shared>);

const EVERY: Duration = Duration::from_secs(2);

impl Watch {
    /// Starts the thread; it ends with this value.
    pub(crate) fn new(jobs: &Jobs) -> Self {
        let shared = Arc::new(Shared::default());
        let (weak, jobs) = (Arc::downgrade(&shared), jobs.clone());
        // Without the thread nothing is noticed, and F5 still works.
        let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(move || look(&weak, &jobs));
        Watch(shared)
    }

    /// Watches a file from now on, as it is now.
    pub(crate) fn follow(&self, path: &Path) {
        self.0.files.lock().insert(path.to_owned(), Followed::default());
        self.0.nudge.notify_one();
    }

    /// Looks whether a file grows that was opened as this one.
    pub(crate) fn opened(&self, path: &Path, source: &Source) {
        if let Some(followed) = self.0.files.lock().get_mut(path) {
            followed.source = Some(source.clone());
        }
    }

    /// Watches it no more.
    pub(crate) fn forget(&self, path: &Path) {
        self.0.files.lock().remove(path);
    }

    /// What happened to a file.
    pub(crate) fn change(&self, path: &Path) -> Option<Change> {
        self.0.files.lock().get(path).and_then(|followed| followed.change)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.nudge.notify_one();
    }
}

fn look(shared: &Weak<Shared>, jobs: &Jobs) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let paths: Vec<PathBuf> = shared.files.lock().keys().cloned().collect();
        let mut news = false;
        for path in paths {
            // A network folder may take its time here; nothing waits for it.
            let stamp = stamp(&path);
            let source = shared.files.lock().get(&path).and_then(|followed| followed.source.clone());
            let has_grown = source.as_ref().is_some_and(Source::has_grown);
            if let Some(followed) = shared.files.lock().get_mut(&path) {
                // It may be another one by now.
                let is_same = |known: &Source| source.as_ref().is_some_and(|source| source.is(known));
                let has_grown = has_grown && followed.source.as_ref().is_some_and(is_same);
                news |= followed.take(stamp, has_grown);
            }
        }
        if news {
            jobs.wake();
        }
        let mut files = shared.files.lock();
        shared.nudge.wait_for(&mut files, EVERY);
        drop(files);
    }
}

impl Followed {
    /// Compares with how it was; true if there is news.
    fn take(&mut self, now: Stamp, has_grown: bool) -> bool {
        if has_grown && self.change != Some(Change::Changed) {
            return self.change.replace(Change::Grown) != Some(Change::Grown);
        }
        let Some(then) = self.stamp else {
            self.stamp = Some(now);
            return false;
        };
        let change = match (then, now) {
            (Some(_), None) => Some(Change::Gone),
            _ if then == now => None,
            _ => Some(Change::Changed),
        };
        // Once changed, a file stays so until it is opened anew.
        let change = change.or(self.change.filter(|change| *change == Change::Changed));
        std::mem::replace(&mut self.change, change) != change
    }
}

fn stamp(path: &Path) -> Stamp {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.len(), facts.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_and_stays() {
        let at = |bytes| Some((bytes, Some(SystemTime::UNIX_EPOCH)));
        let mut file = Followed::default();
        assert!(!file.take(at(1), false));
        assert!(!file.take(at(1), false));
        assert!(file.take(None, false));
        assert_eq!(file.change, Some(Change::Gone));
        assert!(file.take(at(2), false));
        assert!(!file.take(at(1), false));
        assert_eq!(file.change, Some(Change::Changed));
        let mut file = Followed::default();
        assert!(!file.take(at(1), false));
        assert!(file.take(at(2), true));
        assert!(!file.take(at(3), true));
        assert_eq!(file.change, Some(Change::Grown));
        assert!(file.take(at(2), false));
        assert_eq!(file.change, Some(Change::Changed));
    }
}
