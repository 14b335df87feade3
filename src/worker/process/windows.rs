//! How processes end on Windows: with a status, which is that of the exception where there was one.
//! <https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55>

use std::os::windows::process::CommandExt;
use std::process::{Command, ExitStatus};
use windows_sys::Win32::Foundation::{
    NTSTATUS, STATUS_ACCESS_VIOLATION, STATUS_COMMITMENT_LIMIT, STATUS_FATAL_APP_EXIT,
    STATUS_HEAP_CORRUPTION, STATUS_ILLEGAL_INSTRUCTION, STATUS_IN_PAGE_ERROR, STATUS_INTEGER_DIVIDE_BY_ZERO,
    STATUS_NO_MEMORY, STATUS_STACK_BUFFER_OVERRUN, STATUS_STACK_OVERFLOW,
};
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// The status of a process that another one ended,
const ENDED: i32 = 1;
/// and of one that the C library's abort() ended.
const ABORTED: i32 = 3;

/// How a process ended, in words.
pub(super) fn ended(status: ExitStatus) -> String {
    let Some(code) = status.code() else { return "it ended".to_owned() };
    let status: NTSTATUS = code;
    match status {
        STATUS_ACCESS_VIOLATION | STATUS_IN_PAGE_ERROR => {
            "it touched memory that it has not (an access violation)".to_owned()
        }
        STATUS_STACK_OVERFLOW => "it used up its stack".to_owned(),
        STATUS_NO_MEMORY | STATUS_COMMITMENT_LIMIT => "it asked for more memory than it may have".to_owned(),
        // What abort() ends a process with.
        STATUS_STACK_BUFFER_OVERRUN | STATUS_FATAL_APP_EXIT | ABORTED => "it gave up (abort)".to_owned(),
        STATUS_HEAP_CORRUPTION => "it wrote to memory that it has not".to_owned(),
        STATUS_ILLEGAL_INSTRUCTION | STATUS_INTEGER_DIVIDE_BY_ZERO => {
            "it met an instruction that failed".to_owned()
        }
        ENDED => "it was ended from outside, or gave up".to_owned(),
        _ if code < 0 => format!("it ended with status {code:#010x}"),
        _ => format!("it ended with status {code}"),
    }
}

/// No console opens for it.
pub(super) fn has_no_window(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}
