//! How far something is, on stderr, while it takes long.

use gander::Task;
use gander::bytes::display;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc;
use std::time::Duration;

/// Where nobody knows how much there is to do.
const OPEN: &str = "{spinner} {elapsed}  {wide_msg}";
/// Where that is known.
const KNOWN: &str = "{bar:40} {percent:>3} %  {elapsed}  {wide_msg}";

/// Characters of what is said beside it.
const MESSAGE: usize = 200;

/// Runs work with a bar on stderr, where that is a terminal.
pub(crate) fn with_progress<T>(task: &Task, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        scope.spawn(|| watch(task, wait));
        let result = work();
        drop(done);
        result
    })
}

/// Shows how far a task is until the other end of the channel is gone.
fn watch(task: &Task, wait: mpsc::Receiver<()>) {
    let bar = ProgressBar::new(0);
    let styles = [OPEN, KNOWN].map(ProgressStyle::with_template);
    while wait.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let (at, total) = task.progress();
        if let Ok(style) = &styles[usize::from(total > 0)] {
            bar.set_style(style.clone());
        }
        bar.set_length(total);
        bar.set_position(at);
        // Names in files may hold what moves a terminal's cursor.
        bar.set_message(display::harmless(&task.message(), MESSAGE));
    }
    bar.finish_and_clear();
}
