//! A worker that is a copy of this process: Linux. fork(2).

use super::stderr::CapturedStderr;
use super::{Child, Process};
use crate::worker::channel::Channel;
use parking_lot::Mutex;
use rustix::process::{Pid, WaitOptions};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// As [`super::fork_first`].
pub(super) fn fork_first() {
    let Ok((here, there)) = Channel::pair() else { return };
    let Ok((stderr, _)) = CapturedStderr::new() else { return };
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if !is_alone {
        return;
    }
    // SAFETY: there is one thread, so the copy of this process has all of what it needs, and no lock is held.
    match unsafe { libc::fork() } {
        0 => {
            drop(here);
            let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null");
            let outputs = [(there.as_raw_fd(), 0), (stderr.descriptor(), 2)];
            let silent = nothing.as_ref().map(|nothing| (nothing.as_raw_fd(), 1));
            for (from, to) in outputs.into_iter().chain(silent.ok()) {
                // SAFETY: plain duplication of descriptors that are open.
                unsafe { libc::dup2(from, to) };
            }
            drop((there, stderr, nothing));
            exit_with(crate::worker::serve());
        }
        id => {
            let Some(id) = Pid::from_raw(id).filter(|_| id > 0) else { return };
            let child = Mutex::new(Some(Child::Forked(id)));
            crate::worker::spare::put(crate::worker::program(), Process { channel: here, child, stderr });
        }
    }
}

/// Ends a process that was forked: what it has of the other one's is left alone.
fn exit_with(code: ExitCode) -> ! {
    let code = i32::from(code != ExitCode::SUCCESS);
    // SAFETY: ends the process without running anything of the other one's.
    unsafe { libc::_exit(code) }
}

/// How a copy ended, once it has.
pub(super) fn try_wait(id: Pid) -> std::io::Result<Option<ExitStatus>> {
    let status = rustix::process::waitpid(Some(id), WaitOptions::NOHANG)?;
    Ok(status.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
}
