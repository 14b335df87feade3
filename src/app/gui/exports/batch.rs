//! Many files to one file type in one folder. What fails does not stop the rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gander::bytes::error::Result;
use gander::bytes::guard::guarded;
use gander::bytes::task::Task;
use gander::convert::{self, Check, Consent, Plan, Selection, Target as FileType};
use gander::data::format::Options;
use parking_lot::Mutex;

use super::write::{self, ExportOutcome};

/// What is to be done.
pub(crate) struct Conversion {
    pub(crate) files: Arc<[PathBuf]>,
    pub(crate) file_type: &'static FileType,
    pub(crate) options: Options,
    pub(crate) folder: PathBuf,
    pub(crate) consent: Consent,
    /// Whether to read back what was written; by its size where nobody said it.
    pub(crate) verify: Option<bool>,
}

/// How far a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its turn has not come.
    Waiting,
    /// It is being written.
    Running,
    /// It was written: bytes, and how many remarks there are on it.
    Done(u64, u64),
    /// It was not, and why.
    Failed(String),
    /// The user stopped the batch while it was being written.
    Cancelled,
}

/// How many files are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) all: usize,
    pub(crate) written: usize,
    pub(crate) failed: usize,
}

impl Counts {
    /// Them in words.
    pub(crate) fn words(self) -> String {
        let Counts { all, written, failed } = self;
        match failed {
            0 => format!("{written} of {all} were written"),
            _ => format!("{written} of {all} were written, {failed} failed"),
        }
    }
}

#[derive(Debug)]
struct Now {
    lines: Vec<Line>,
    counts: Counts,
    current: Option<usize>,
}

/// How far each file of a batch is: the job writes it, the window reads it.
#[derive(Debug)]
pub(crate) struct Progress {
    files: Arc<[PathBuf]>,
    /// What each of them becomes.
    places: Vec<PathBuf>,
    now: Mutex<Now>,
}

impl Progress {
    /// All of them wait.
    pub(super) fn new(files: Arc<[PathBuf]>, places: Vec<PathBuf>) -> Self {
        let counts = Counts { all: files.len(), ..Counts::default() };
        let now = Now { lines: vec![Line::Waiting; files.len()], counts, current: None };
        Progress { files, places, now: Mutex::new(now) }
    }

    /// Whether this file will be written, or was.
    pub(super) fn writes(&self, path: &Path) -> bool {
        self.places.iter().any(|place| place == path)
    }

    /// The sources.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// How far the nth file is.
    pub(crate) fn line(&self, index: usize) -> Line {
        self.now.lock().lines.get(index).cloned().unwrap_or(Line::Waiting)
    }

    /// How many are how far.
    pub(crate) fn counts(&self) -> Counts {
        self.now.lock().counts
    }

    /// The first files that failed, and why.
    pub(crate) fn failures(&self, most: usize) -> Vec<(String, String)> {
        let now = self.now.lock();
        if now.counts.failed == 0 {
            return Vec::new();
        }
        let failed = self.files.iter().zip(&now.lines).filter_map(|(file, line)| match line {
            Line::Failed(why) => Some((super::file_name(file), why.clone())),
            _ => None,
        });
        failed.take(most).collect()
    }

    /// The file that is being written, and which one it is.
    pub(super) fn current(&self) -> Option<String> {
        let index = self.now.lock().current?;
        let file = self.files.get(index)?;
        Some(format!("{} of {}: {}", index + 1, self.files.len(), super::file_name(file)))
    }

    /// The share that is done, 0 to 1; `part` is that of the file that is being written.
    pub(super) fn fraction(&self, part: Option<f32>) -> f32 {
        let now = self.now.lock();
        let done = (now.counts.written + now.counts.failed) as f32;
        let part = if now.current.is_some() { part.unwrap_or(0.0) } else { 0.0 };
        ((done + part) / now.counts.all.max(1) as f32).min(1.0)
    }

    fn set(&self, index: usize, line: Line) {
        let mut now = self.now.lock();
        now.counts.written += usize::from(matches!(line, Line::Done(..)));
        now.counts.failed += usize::from(matches!(line, Line::Failed(_)));
        now.current = (line == Line::Running).then_some(index);
        if let Some(place) = now.lines.get_mut(index) {
            *place = line;
        }
    }
}

impl Conversion {
    /// The files that the sources become; `taken` are those that others write.
    pub(super) fn places(&self, taken: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let files: Vec<(PathBuf, PathBuf)> =
            self.files.iter().map(|file| (file.clone(), PathBuf::new())).collect();
        convert::batch::places(&self.folder, &files, self.file_type, taken)
    }

    /// Converts one file after the other.
    ///
    /// # Errors
    /// Where it is cancelled; what was written by then stays.
    pub(super) fn run(&self, task: &Task, progress: &Progress) -> Result<ExportOutcome> {
        let mut all = ExportOutcome::default();
        let mut check = Check::default();
        for (index, (file, to)) in self.files.iter().zip(&progress.places).enumerate() {
            task.check()?;
            // The message of the file before says nothing of this one.
            task.set_message("");
            task.set_total(0);
            progress.set(index, Line::Running);
            let result = guarded(|| {
                let plan = plan_file(task, file, self.file_type, &self.options)?;
                let small = plan.bytes.is_none_or(|bytes| bytes <= convert::VERIFIED);
                let verify = self.verify.unwrap_or(small);
                let written = write::write(task, &plan, to, self.consent, verify)?;
                if let Some(own) = written.check {
                    check.parts += own.parts;
                    check.values += own.values;
                    check.changed.extend(own.changed);
                }
                Ok((written.bytes, (plan.losses.len() + written.notes.len()) as u64))
            });
            let line = match result {
                Ok((bytes, remarks)) => {
                    all.bytes += bytes;
                    Line::Done(bytes, remarks)
                }
                Err(_) if task.is_cancelled() => Line::Cancelled,
                Err(error) => Line::Failed(error.message()),
            };
            progress.set(index, line);
        }
        // A cancel during the last file is an error, too.
        if progress.counts().written + progress.counts().failed < self.files.len() {
            task.check()?;
        }
        all.check = Some(check).filter(|check| check.parts > 0);
        Ok(all)
    }
}

/// Opens a file and plans its conversion.
pub(crate) fn plan_file(
    task: &Task,
    file: &Path,
    file_type: &'static FileType,
    options: &Options,
) -> Result<Plan> {
    let document = gander::open(task, file, &Options::default())?;
    let items = convert::gather(task, &document.source, &document.root, "")?;
    convert::plan(&items, file_type, options, &Selection::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_each_file_once() {
        let progress =
            Progress::new(["a.csv", "b.csv", "c.csv", "d.csv"].map(PathBuf::from).into(), Vec::new());
        progress.set(0, Line::Running);
        assert_eq!(progress.current().as_deref(), Some("1 of 4: a.csv"));
        assert_eq!(progress.fraction(Some(0.5)), 0.125);
        progress.set(0, Line::Done(10, 0));
        // The share of a file that has ended is no part of the next one.
        assert_eq!(progress.fraction(Some(1.0)), 0.25);
        progress.set(1, Line::Running);
        progress.set(1, Line::Failed("it is broken".to_owned()));
        assert_eq!(progress.counts(), Counts { all: 4, written: 1, failed: 1 });
        assert_eq!(progress.counts().words(), "1 of 4 were written, 1 failed");
        assert_eq!(progress.failures(9), [("b.csv".to_owned(), "it is broken".to_owned())]);
        assert_eq!(
            (progress.line(1), progress.line(2)),
            (Line::Failed("it is broken".into()), Line::Waiting)
        );
    }
}
