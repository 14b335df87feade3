//! The thread on which other programs are started. It lives as long as this one does: Linux ends those programs with the thread
//! that started them, and threads that read come and go. It is a single one, so that no program inherits a pipe that is being
//! made for another one where the system cannot make one that is not inherited (macOS).

use std::io::{Error, Result};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

type Work = Box<dyn FnOnce() + Send>;

/// Does something on the thread, and waits for what it gives.
///
/// # Errors
/// Where there is no thread.
pub(crate) fn on_its_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    static THREAD: OnceLock<Sender<Work>> = OnceLock::new();
    let begin = || {
        let (sender, list) = channel::<Work>();
        let run = move || list.into_iter().for_each(|work| work());
        // Where no thread can be started, work has no taker, and whoever brings it is told.
        let _ = std::thread::Builder::new().name("starter".to_owned()).spawn(run);
        sender
    };
    let nobody = || Error::other("there is no thread for it");
    let (answer, done) = channel();
    let work = Box::new(move || drop(answer.send(work())));
    THREAD.get_or_init(begin).send(work).map_err(|_| nobody())?;
    done.recv().map_err(|_| nobody())
}
