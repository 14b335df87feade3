//! Ctrl+C: the first one stops the work as a window's *Stop* does, so that temporary files go; a second one ends the
//! program at once, whatever it does.

use gander::Task;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The work that an interrupt stops.
static TASK: OnceLock<Task> = OnceLock::new();

extern "C" fn on_interrupt(_signal: libc::c_int) {
    // Loads and stores of atomics only, which a signal handler may do (signal-safety(7)).
    if let Some(task) = TASK.get() {
        task.cancel();
    }
}

/// Lets the first interrupt cancel the task.
pub(crate) fn stops(task: &Task) {
    if TASK.set(task.clone()).is_err() {
        return;
    }
    let handler: extern "C" fn(libc::c_int) = on_interrupt;
    // SAFETY: the handler only touches atomics; the structure is one that sigaction(2) fills in and takes, and its
    // flags put the default back before the handler runs.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
    }
}

/// The exit status of a command that an interrupt ended, as a shell has it: 128 and the signal's number.
pub(crate) fn status() -> ExitCode {
    ExitCode::from(128 + libc::SIGINT as u8)
}
