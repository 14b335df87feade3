//! How processes end on Unix: by a signal, or with a status. signal(7).

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a process ended, in words.
pub(super) fn ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGSEGV | libc::SIGBUS), _) => {
            "it touched memory that it has not (a segmentation fault)".to_owned()
        }
        (Some(libc::SIGABRT), _) => "it gave up (abort)".to_owned(),
        (Some(libc::SIGSYS), _) => "it did something that no reader may do".to_owned(),
        (Some(libc::SIGILL | libc::SIGFPE | libc::SIGTRAP), _) => {
            "it met an instruction that failed".to_owned()
        }
        (Some(libc::SIGKILL), _) => "it was ended from outside, perhaps for want of memory".to_owned(),
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(code)) => format!("it ended with status {code}"),
        (None, None) => "it ended".to_owned(),
    }
}
