//! Two pipes, on Windows. The one to the worker is its standard input; the number of the other one's handle is the first that
//! comes through it, since what else writes to a standard output must not be taken for messages. Handles are made in the
//! worker by the process that started it, and their numbers come after the head of their message.
//! <https://learn.microsoft.com/en-us/windows/win32/api/handleapi/nf-handleapi-duplicatehandle>

use super::{Descriptor, Message, frames, wrong};
use crate::bytes::error::Result;
use crate::worker::limits;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind, IsTerminal, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Bytes that wait to be taken, on either way; one message may be longer.
const WAITING: usize = 1 << 20;

/// An end of a channel. A thread reads for it, since a pipe cannot be waited for with a limit; one writes for it where that
/// must have a limit, too.
pub(in crate::worker) struct Channel {
    input: Arc<Queue<Message>>,
    output: Output,
}

enum Output {
    /// That of a worker: whoever sends waits until it is taken.
    Plain(Mutex<File>),
    /// That to a worker, which may take nothing any more; and its process.
    Bounded { queue: Arc<Queue<Vec<u8>>>, process: OwnedHandle },
}

/// What receives messages.
pub(in crate::worker) struct Receiver(());

impl Channel {
    /// Starts a process, with a channel to it.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::worker) fn start(mut command: Command) -> std::io::Result<(Channel, Child)> {
        let (there, to) = pipe()?;
        let (from, back): (PipeReader, PipeWriter) = pipe()?;
        let mut child = command.stdin(Stdio::from(there)).stdout(Stdio::null()).spawn()?;
        let begun = || -> std::io::Result<Channel> {
            let process = child.as_handle().try_clone_to_owned()?;
            let mut to = File::from(OwnedHandle::from(to));
            to.write_all(&copied_into(&process, back.as_handle())?.to_le_bytes())?;
            drop(back);
            let queue = Queue::written_to(to)?;
            let input = Queue::read_from(File::from(OwnedHandle::from(from)), false)?;
            Ok(Channel { input, output: Output::Bounded { queue, process } })
        };
        match begun() {
            Ok(channel) => Ok((channel, child)),
            Err(error) => {
                let _ = child.kill();
                Err(error)
            }
        }
    }

    /// That of the process that started this one; `None` where there is none. To be asked for once.
    pub(in crate::worker) fn inherited() -> Option<Channel> {
        let input = std::io::stdin();
        if input.is_terminal() {
            return None;
        }
        let mut input = File::from(input.as_handle().try_clone_to_owned().ok()?);
        let mut number = [0; 8];
        input.read_exact(&mut number).ok()?;
        let output = Mutex::new(File::from(taken(u64::from_le_bytes(number))));
        Some(Channel { input: Queue::read_from(input, true).ok()?, output: Output::Plain(output) })
    }

    /// Sends a message; without `wait` only where nobody else sends.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` where there is no room, `TimedOut` where there was none for a while.
    pub(in crate::worker) fn send(
        &self,
        bytes: &[u8],
        descriptors: &[Descriptor],
        wait: bool,
    ) -> std::io::Result<()> {
        let mut message = frames::head(bytes, descriptors.len())?.to_vec();
        match &self.output {
            Output::Plain(output) => {
                let mut output = match wait {
                    true => output.lock(),
                    false => output.try_lock().ok_or(ErrorKind::WouldBlock)?,
                };
                // A worker passes nothing on.
                if !descriptors.is_empty() {
                    return Err(ErrorKind::Unsupported.into());
                }
                output.write_all(&message)?;
                output.write_all(bytes)
            }
            Output::Bounded { queue, process } => {
                for descriptor in descriptors {
                    message.extend(copied_into(process, descriptor.as_handle())?.to_le_bytes());
                }
                message.extend_from_slice(bytes);
                let length = message.len();
                queue.put(message, length, if wait { limits::TAKEN } else { Duration::ZERO })
            }
        }
    }

    /// Waits until there is something to receive, which may be the end, for as long as is said; whether there is.
    pub(in crate::worker) fn wait(&self, most: Option<Duration>) -> bool {
        self.input.wait(most)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // The threads end with that, or with the process at the other end.
        self.input.end(Ok(()));
        if let Output::Bounded { queue, .. } = &self.output {
            queue.end(Ok(()));
        }
    }
}

impl Receiver {
    pub(in crate::worker) fn new() -> Self {
        Receiver(())
    }

    /// Takes the next message, and waits for it; `None` where the other end is gone.
    ///
    /// # Errors
    /// `Crashed` for what is no message of ours.
    pub(in crate::worker) fn receive(&mut self, channel: &Channel) -> Result<Option<Message>> {
        channel.input.take()
    }
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
fn taken(number: u64) -> OwnedHandle {
    let number = usize::try_from(number).unwrap_or_default();
    // SAFETY: the process that started this one made it for it, and tells its number once.
    unsafe { OwnedHandle::from_raw_handle(std::ptr::without_provenance_mut(number)) }
}

/// What waits between a thread and whoever takes from it or gives to it.
struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    items: VecDeque<(T, usize)>,
    /// Bytes of them.
    bytes: usize,
    /// How it ended, once it did.
    end: Option<Result<()>>,
}

impl<T: Send + 'static> Queue<T> {
    fn new() -> Arc<Self> {
        let state = State { items: VecDeque::new(), bytes: 0, end: None };
        Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Puts an item, where there is room within this time.
    fn put(&self, item: T, bytes: usize, most: Duration) -> std::io::Result<()> {
        let mut state = self.state.lock();
        let is_full = |state: &mut State<T>| {
            state.end.is_none() && !state.items.is_empty() && state.bytes + bytes > WAITING
        };
        self.changed.wait_while_for(&mut state, is_full, most);
        if state.end.is_some() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if is_full(&mut state) {
            return Err(if most.is_zero() { ErrorKind::WouldBlock } else { ErrorKind::TimedOut }.into());
        }
        state.bytes += bytes;
        state.items.push_back((item, bytes));
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the first item; `None` at the end.
    fn take(&self) -> Result<Option<T>> {
        self.wait(None);
        let mut state = self.state.lock();
        let Some((item, bytes)) = state.items.pop_front() else {
            return state.end.clone().unwrap_or(Ok(())).map(|()| None);
        };
        state.bytes -= bytes;
        self.changed.notify_all();
        Ok(Some(item))
    }

    /// Waits for an item or the end.
    fn wait(&self, most: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        let is_empty = |state: &mut State<T>| state.items.is_empty() && state.end.is_none();
        match most {
            Some(most) => drop(self.changed.wait_while_for(&mut state, is_empty, most)),
            None => self.changed.wait_while(&mut state, is_empty),
        }
        !is_empty(&mut state)
    }

    fn end(&self, how: Result<()>) {
        self.state.lock().end.get_or_insert(how);
        self.changed.notify_all();
    }
}

impl Queue<Vec<u8>> {
    /// What is put into it is written to a pipe.
    fn written_to(mut to: File) -> std::io::Result<Arc<Self>> {
        let queue: Arc<Queue<Vec<u8>>> = Queue::new();
        let from = queue.clone();
        let work = move || {
            while let Ok(Some(message)) = from.take() {
                if to.write_all(&message).is_err() {
                    return from.end(Ok(()));
                }
            }
        };
        std::thread::Builder::new().name("worker's input".to_owned()).spawn(work)?;
        Ok(queue)
    }
}

impl Queue<Message> {
    /// What a pipe says is put into it. Only a worker is given handles.
    fn read_from(mut from: File, takes_handles: bool) -> std::io::Result<Arc<Self>> {
        let queue: Arc<Queue<Message>> = Queue::new();
        let to = queue.clone();
        let work = move || {
            loop {
                match read(&mut from, takes_handles) {
                    Ok(Some(message)) => {
                        let length = message.bytes.len();
                        if to.put(message, length, Duration::MAX).is_err() {
                            return;
                        }
                    }
                    Ok(None) => return to.end(Ok(())),
                    Err(error) => return to.end(Err(error)),
                }
            }
        };
        std::thread::Builder::new().name("worker's output".to_owned()).spawn(work)?;
        Ok(queue)
    }
}

/// One message.
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
        descriptors.push(taken(u64::from_le_bytes(number)));
    }
    Ok(frames::body(from, length)?.map(|bytes| Message { bytes, descriptors }))
}
