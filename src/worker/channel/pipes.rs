//! Two pipes, on Windows. The one to the worker is its standard input; the number of the other one's handle is the first that
//! comes through it, since what else writes to a standard output must not be taken for messages. Handles are made in the
//! worker by the process that started it, and their numbers come after the head of their message.
//! <https://learn.microsoft.com/en-us/windows/win32/api/handleapi/nf-handleapi-duplicatehandle>

pub(in crate::worker) use super::threads::{Channel, Receiver};

use super::{Descriptor, Message, frames, wrong};
use crate::bytes::error::Result;
use std::fs::File;
use std::io::{Error, Read, Write, pipe};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command, Stdio};
use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Starts a process, with a channel to it.
///
/// # Errors
/// What the system says.
pub(in crate::worker) fn start(mut command: Command) -> std::io::Result<(Channel, Child)> {
    let (there, to) = pipe()?;
    let (from, back) = pipe()?;
    let mut child = command.stdin(Stdio::from(there)).stdout(Stdio::null()).spawn()?;
    let begun = || -> std::io::Result<Channel> {
        let process = child.as_handle().try_clone_to_owned()?;
        let mut to = File::from(OwnedHandle::from(to));
        to.write_all(&copied_into(&process, back.as_handle())?.to_le_bytes())?;
        drop(back);
        channel(File::from(OwnedHandle::from(from)), to, Some(process))
    };
    match begun() {
        Ok(channel) => Ok((channel, child)),
        Err(error) => {
            let _ = child.kill();
            Err(error)
        }
    }
}

/// The channel to the process that started this one; `None` where there is none. To be asked for once.
pub(in crate::worker) fn inherited() -> Option<Channel> {
    let mut from = File::from(std::io::stdin().as_handle().try_clone_to_owned().ok()?);
    // SAFETY: an open handle.
    if unsafe { GetFileType(from.as_raw_handle()) } != FILE_TYPE_PIPE {
        return None;
    }
    let mut number = [0; 8];
    from.read_exact(&mut number).ok()?;
    channel(from, File::from(taken(u64::from_le_bytes(number))?), None).ok()
}

/// A channel to a process, or from a worker.
fn channel(mut from: File, mut to: File, process: Option<OwnedHandle>) -> std::io::Result<Channel> {
    let is_worker = process.is_none();
    let write = move |bytes: Vec<u8>, handles: Vec<_>| write(&mut to, &bytes, &handles, process.as_ref());
    Channel::new(is_worker, move || read(&mut from, is_worker), write)
}

/// A handle of this process in another one: its number there.
fn copied_into(process: &OwnedHandle, handle: BorrowedHandle<'_>) -> std::io::Result<u64> {
    let mut copy = std::ptr::null_mut();
    // SAFETY: open handles, and a place for one.
    let done = unsafe {
        DuplicateHandle(
            GetCurrentProcess(),
            handle.as_raw_handle(),
            process.as_raw_handle(),
            &raw mut copy,
            0,
            0,
            DUPLICATE_SAME_ACCESS,
        )
    };
    if done != 0 { Ok(copy as usize as u64) } else { Err(Error::last_os_error()) }
}

/// A handle that was made in this process, by its number.
fn taken(number: u64) -> Option<OwnedHandle> {
    let number = usize::try_from(number).ok().filter(|number| *number != 0)?;
    // SAFETY: the process that started this one made it for it, and tells its number once.
    Some(unsafe { OwnedHandle::from_raw_handle(std::ptr::without_provenance_mut(number)) })
}

/// Writes a message, with what is passed along to a process.
fn write(
    to: &mut File,
    message: &[u8],
    descriptors: &[Descriptor],
    process: Option<&OwnedHandle>,
) -> std::io::Result<()> {
    let (head, bytes) = message.split_at_checked(frames::HEAD).unwrap_or((message, &[]));
    let mut head = head.to_vec();
    for descriptor in descriptors {
        let nobody = || Error::other("a worker passes nothing on");
        let number = copied_into(process.ok_or_else(nobody)?, descriptor.as_handle())?;
        head.extend(number.to_le_bytes());
    }
    to.write_all(&head)?;
    to.write_all(bytes)
}

/// Reads a message; `None` where the other end is gone. Only a worker takes handles.
fn read(from: &mut File, takes_handles: bool) -> Result<Option<Message>> {
    let mut head = [0; frames::HEAD];
    match from.read_exact(&mut head) {
        Err(error) if frames::is_end(&error) => return Ok(None),
        done => done.map_err(|error| wrong(&error.to_string()))?,
    }
    let (length, count) = frames::parts(head)?;
    if count > 0 && !takes_handles {
        return Err(wrong("a message with handles"));
    }
    let mut descriptors = Vec::new();
    for _ in 0..count {
        let mut number = [0; 8];
        from.read_exact(&mut number).map_err(|error| wrong(&error.to_string()))?;
        let handle = taken(u64::from_le_bytes(number));
        descriptors.push(handle.ok_or_else(|| wrong("a message without its handles"))?);
    }
    Ok(frames::body(from, length)?.map(|bytes| Message { bytes, descriptors }))
}
