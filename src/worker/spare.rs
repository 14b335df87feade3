//! A worker that was started before anybody needs it: starting a process takes longer than reading a small file.

use super::process::Process;
use crate::bytes::error::Result;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};

static SPARE: Mutex<Option<(PathBuf, Process)>> = Mutex::new(None);
/// Whether the next one is started as soon as one is taken.
static KEPT: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A worker that has opened nothing yet.
///
/// # Errors
/// `Crashed` where none can be started.
pub(super) fn take(program: &Path) -> Result<Process> {
    let spare = SPARE.lock().take();
    let process = match spare {
        Some((of, process)) if of == program => process,
        _ => Process::start(program.to_owned())?,
    };
    if KEPT.lock().is_some() {
        prepare();
    }
    Ok(process)
}

/// A worker that is ready.
#[cfg(target_os = "linux")]
pub(super) fn put(program: PathBuf, process: Process) {
    *SPARE.lock() = Some((program, process));
}

/// Ends the one that is ready.
pub(super) fn drop_it() {
    drop(SPARE.lock().take());
}

/// From now on one worker waits for the next document.
pub(super) fn keep(program: &Path) {
    *KEPT.lock() = Some(program.to_owned());
    prepare();
}

/// Starts the spare in a thread of its own; without one the next document waits a little longer.
fn prepare() {
    let work = || {
        let Some(program) = KEPT.lock().clone() else { return };
        if let Ok(process) = Process::start(program.clone()) {
            *SPARE.lock() = Some((program, process));
        }
    };
    let _ = std::thread::Builder::new().name("spare worker".to_owned()).spawn(work);
}
