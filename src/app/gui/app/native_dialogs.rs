//! Questions to the desktop that take a while: its file dialog, its file manager. They run on threads of
//! their own, because they wait for a person.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use gander::convert::recipe::Recipe;
use gander::jobs::{Jobs, Priority};
use parking_lot::Mutex;
use rfd::AsyncFileDialog;

use crate::gui::samples;

/// What came back.
pub(crate) enum Answer {
    /// These were chosen.
    Chosen(Vec<PathBuf>),
    /// The desktop has no file dialog.
    NoDialog,
    /// These are to be converted.
    Sources(Vec<PathBuf>),
    /// A file or folder to write to.
    Place(PathBuf),
    /// The desktop has no dialog for one.
    NoPlace,
    /// It worked, in words.
    Said(String),
    /// It did not work, in words.
    Failed(String),
}

/// The questions that run.
pub(super) struct NativeDialogs {
    answers: Arc<Mutex<Vec<Answer>>>,
    jobs: Jobs,
}

/// What is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choose {
    Files,
    Folders,
    /// Files to convert.
    Sources,
}

/// A dialog that is gone within this time was never there: no person is that quick.
const AT_ONCE: Duration = Duration::from_millis(400);

impl NativeDialogs {
    pub(super) fn new(jobs: &Jobs) -> Self {
        NativeDialogs { answers: Arc::default(), jobs: jobs.clone() }
    }

    /// What has come back.
    pub(super) fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut self.answers.lock())
    }

    /// Opens the desktop's file dialog.
    pub(super) fn choose(&self, what: Choose) {
        let dialog = AsyncFileDialog::new();
        let (answers, jobs) = (self.answers.clone(), self.jobs.clone());
        let since = Instant::now();
        // The dialog is made on this thread, as macOS wants it, and waited for on another one.
        let files = (what != Choose::Folders).then(|| {
            let title = if what == Choose::Files { "Open files" } else { "Convert files" };
            dialog.clone().set_title(title).pick_files()
        });
        let folders = (what == Choose::Folders).then(|| dialog.set_title("Open folders").pick_folders());
        let wait = move || {
            let chosen = files.and_then(wait_for).or_else(|| folders.and_then(wait_for));
            let answer = match chosen {
                Some(chosen) => {
                    let paths = chosen.iter().map(|file| file.path().to_owned()).collect();
                    if what == Choose::Sources { Answer::Sources(paths) } else { Answer::Chosen(paths) }
                }
                None if since.elapsed() < AT_ONCE && what == Choose::Sources => Answer::Failed(
                    "This desktop offers no file dialog; drop the files on the right half".to_owned(),
                ),
                None if since.elapsed() < AT_ONCE => Answer::NoDialog,
                None => return,
            };
            answers.lock().push(answer);
            jobs.wake();
        };
        if std::thread::Builder::new().name("file dialog".to_owned()).spawn(wait).is_err() {
            self.answers.lock().push(Answer::NoDialog);
        }
    }

    /// Asks for a file to write to (beginning with one), or for a folder.
    pub(super) fn choose_place(&self, file: Option<&Path>) {
        let mut dialog = AsyncFileDialog::new();
        if let Some(file) = file {
            if let Some(name) = file.file_name() {
                dialog = dialog.set_file_name(name.to_string_lossy());
            }
            if let Some(folder) = file.parent().filter(|folder| folder.is_absolute()) {
                dialog = dialog.set_directory(folder);
            }
        }
        let (answers, jobs, since) = (self.answers.clone(), self.jobs.clone(), Instant::now());
        let to_file = file.is_some().then(|| dialog.clone().set_title("Export to").save_file());
        let to_folder = file.is_none().then(|| dialog.set_title("Convert into").pick_folder());
        let wait = move || {
            let chosen = to_file.and_then(wait_for).or_else(|| to_folder.and_then(wait_for));
            let answer = match chosen {
                Some(chosen) => Answer::Place(chosen.path().to_owned()),
                None if since.elapsed() < AT_ONCE => Answer::NoPlace,
                None => return,
            };
            answers.lock().push(answer);
            jobs.wake();
        };
        if std::thread::Builder::new().name("file dialog".to_owned()).spawn(wait).is_err() {
            self.answers.lock().push(Answer::NoPlace);
        }
    }

    /// Writes the samples and opens them.
    pub(super) fn samples(&self) {
        let answers = self.answers.clone();
        self.jobs.run("writing the samples", Priority::View, move |_| {
            let answer = match samples::write() {
                Ok(paths) => Answer::Chosen(paths),
                Err(error) => Answer::Failed(format!("The samples cannot be written: {error}")),
            };
            answers.lock().push(answer);
        });
    }

    /// Writes a recipe to a file of this name, or to one beside it where that exists.
    pub(super) fn save_recipe(&self, recipe: Recipe, path: PathBuf) {
        let answers = self.answers.clone();
        self.jobs.run("saving the recipe", Priority::View, move |_| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let names = (1u32..100).map(|n| match n {
                1 => path.clone(),
                _ => path.with_file_name(format!("{stem}_{n}.toml")),
            });
            let free = names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.clone());
            let answer = match recipe.save(&free, false) {
                Ok(()) => Answer::Said(format!("Saved: gander convert --recipe {}", free.display())),
                Err(error) => Answer::Failed(format!("The recipe was not saved: {error}")),
            };
            answers.lock().push(answer);
        });
    }

    /// Shows a file in the file manager, or opens an address in the browser.
    pub(super) fn reveal(&self, path: &Path) {
        let path = path.to_owned();
        let (answers, jobs) = (self.answers.clone(), self.jobs.clone());
        let start = move || {
            if let Err(error) = reveal(&path) {
                answers.lock().push(Answer::Failed(format!("The file manager does not start: {error}")));
                jobs.wake();
            }
        };
        let _ = std::thread::Builder::new().name("file manager".to_owned()).spawn(start);
    }
}

fn reveal(path: &Path) -> std::io::Result<()> {
    let null = std::process::Stdio::null;
    file_manager(path).stdin(null()).stdout(null()).stderr(null()).spawn()?.wait()?;
    Ok(())
}

/// What shows a file among those around it.
#[cfg(target_os = "macos")]
fn file_manager(path: &Path) -> Command {
    let mut command = Command::new("open");
    command.arg("-R").arg(path);
    command
}

/// The same. Its own quotes: it does not take an argument that is quoted as a whole.
#[cfg(windows)]
fn file_manager(path: &Path) -> Command {
    use std::os::windows::process::CommandExt;
    let mut command = Command::new("explorer");
    command.raw_arg(format!("/select,\"{}\"", path.display()));
    command
}

/// What shows a folder.
#[cfg(not(any(target_os = "macos", windows)))]
fn file_manager(path: &Path) -> Command {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let mut command = Command::new("xdg-open");
    command.arg(folder);
    command
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
