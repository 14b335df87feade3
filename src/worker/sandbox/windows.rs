//! Windows: a *job* of one process, which starts no other one, takes a bounded amount of memory, and ends without asking
//! anybody when it fails. <https://learn.microsoft.com/en-us/windows/win32/procthread/job-objects>

use super::Level;
use crate::bytes::system::done;
use std::io::{Error, Result};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_PROCESS_MEMORY,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Shuts this process in. What it opens is bounded by the library.
pub(super) fn enter(_folders: &[PathBuf], memory: u64) -> Result<Level> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_ACTIVE_PROCESS
        | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        | JOB_OBJECT_LIMIT_PROCESS_MEMORY;
    limits.BasicLimitInformation.ActiveProcessLimit = 1;
    limits.ProcessMemoryLimit = usize::try_from(memory).unwrap_or(usize::MAX);
    let length = size_of_val(&limits) as u32;
    // SAFETY: a job without a name and with the usual rights.
    let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    if job.is_null() {
        return Err(Error::last_os_error());
    }
    // SAFETY: it was made just now, and nobody else has it. The process keeps the job when this is closed.
    let job = unsafe { OwnedHandle::from_raw_handle(job) };
    let kind = JobObjectExtendedLimitInformation;
    // SAFETY: an open job, and a structure of the kind and the length that are said, which lives.
    done(unsafe { SetInformationJobObject(job.as_raw_handle(), kind, (&raw const limits).cast(), length) })?;
    // SAFETY: an open job, and this very process.
    done(unsafe { AssignProcessToJobObject(job.as_raw_handle(), GetCurrentProcess()) })?;
    Ok(Level::Job)
}
