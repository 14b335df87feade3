//! Ctrl+C: the first one stops the work as a window's *Stop* does, so that temporary files go; a second one ends the
//! program at once, whatever it does.

use gander::Task;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The work that an interrupt stops.
static TASK: OnceLock<Task> = OnceLock::new();

/// Lets the first interrupt cancel the task.
pub(crate) fn stops(task: &Task) {
    if TASK.set(task.clone()).is_ok() {
        install();
    }
}

#[cfg(unix)]
extern "C" fn on_interrupt(_signal: libc::c_int) {
    // Loads and stores of atomics only, which a signal handler may do (signal-safety(7)).
    if let Some(task) = TASK.get() {
        task.cancel();
    }
}

#[cfg(unix)]
fn install() {
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

/// Called on a thread of its own. Whether the interrupt was dealt with: the second one is not, which ends the program.
#[cfg(windows)]
unsafe extern "system" fn on_interrupt(event: u32) -> windows_sys::core::BOOL {
    use windows_sys::Win32::System::Console::CTRL_C_EVENT;
    match TASK.get() {
        Some(task) if event == CTRL_C_EVENT && !task.is_cancelled() => {
            task.cancel();
            1
        }
        _ => 0,
    }
}

#[cfg(windows)]
fn install() {
    // SAFETY: the handler is there as long as the program is, and only touches atomics.
    unsafe { windows_sys::Win32::System::Console::SetConsoleCtrlHandler(Some(on_interrupt), 1) };
}

/// The number of the signal SIGINT, everywhere.
const SIGINT: u8 = 2;

/// The exit status of a command that an interrupt ended, as a shell has it: 128 and the signal's number.
pub(crate) fn status() -> ExitCode {
    ExitCode::from(128 + SIGINT)
}
