//! An end of a channel whose messages lie in a stream of bytes: threads read and write it, since only whole messages can be
//! waited for with a limit.

use super::{Descriptor, Message, frames};
use crate::bytes::error::Result;
use crate::worker::limits;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of messages that were read and that nobody has taken yet; one message may be longer.
const WAITING: usize = 1 << 20;

/// Bytes that each of them counts for beside its own.
const EACH: usize = 512;

/// Messages that may wait before one that is sent without waiting.
const BEFORE: u64 = 16;

/// What is written: a message, and what is passed along.
type Outgoing = (Vec<u8>, Vec<Descriptor>);

/// An end of a channel.
pub(in crate::worker) struct Channel {
    input: Arc<Input>,
    output: Arc<Output>,
}

/// What receives messages.
pub(in crate::worker) struct Receiver(());

impl Channel {
    /// That which is read and written so: `read` gives a message, or nothing where the other end is gone; `write` takes one, its
    /// head first. Who sends from a worker waits for as long as it takes, who sends to one does not.
    ///
    /// # Errors
    /// Where there are no threads.
    pub(super) fn new(
        is_worker: bool,
        read: impl FnMut() -> Result<Option<Message>> + Send + 'static,
        write: impl FnMut(Vec<u8>, Vec<Descriptor>) -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<Self> {
        let output = Output::new((!is_worker).then_some(limits::TAKEN), write)?;
        let input = Input::new(read).inspect_err(|_| output.end())?;
        Ok(Channel { input, output })
    }

    /// Sends a message; without `wait` only where there is room now.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` where others are before it, `TimedOut` where it is not written in time, `BrokenPipe`
    /// where nothing is any more.
    pub(in crate::worker) fn send(
        &self,
        bytes: &[u8],
        descriptors: &[Descriptor],
        wait: bool,
    ) -> std::io::Result<()> {
        let mut message = frames::head(bytes, descriptors.len())?.to_vec();
        message.extend_from_slice(bytes);
        let copies = descriptors.iter().map(Descriptor::try_clone).collect::<std::io::Result<_>>()?;
        self.output.send(message, copies, wait)
    }

    /// Waits until there is something to receive, which may be the end, for as long as is said; whether there is.
    pub(in crate::worker) fn wait(&self, most: Option<Duration>) -> bool {
        self.input.wait(most)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.input.end(Ok(()));
        self.output.end();
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

/// Messages that a thread reads.
struct Input {
    state: Mutex<InputState>,
    changed: Condvar,
}

#[derive(Default)]
struct InputState {
    messages: VecDeque<Message>,
    bytes: usize,
    /// How it ended, once it did.
    end: Option<Result<()>>,
}

impl Input {
    /// Takes what `read` gives until it gives nothing more.
    fn new(mut read: impl FnMut() -> Result<Option<Message>> + Send + 'static) -> std::io::Result<Arc<Self>> {
        let input = Arc::new(Input { state: Mutex::default(), changed: Condvar::new() });
        let to = input.clone();
        let work = move || {
            let end = loop {
                let message = match read() {
                    Ok(Some(message)) => message,
                    other => break other.map(drop),
                };
                if !to.put(message) {
                    break Ok(());
                }
            };
            to.end(end);
        };
        std::thread::Builder::new().name("channel's input".to_owned()).spawn(work)?;
        Ok(input)
    }

    /// Puts a message, once there is room for it; not after the end.
    fn put(&self, message: Message) -> bool {
        let bytes = message.bytes.len() + EACH;
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| {
            state.end.is_none() && !state.messages.is_empty() && state.bytes + bytes > WAITING
        });
        if state.end.is_some() {
            return false;
        }
        state.bytes += bytes;
        state.messages.push_back(message);
        self.changed.notify_all();
        true
    }

    /// Takes the next message, and waits for it; `None` at the end, or what ended it.
    fn take(&self) -> Result<Option<Message>> {
        self.wait(None);
        let mut state = self.state.lock();
        let Some(message) = state.messages.pop_front() else {
            return state.end.clone().unwrap_or(Ok(())).map(|()| None);
        };
        state.bytes = state.bytes.saturating_sub(message.bytes.len() + EACH);
        self.changed.notify_all();
        Ok(Some(message))
    }

    /// Waits for a message or the end, for as long as is said; whether there is one.
    fn wait(&self, most: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        let is_empty = |state: &mut InputState| state.messages.is_empty() && state.end.is_none();
        match most {
            Some(most) => drop(self.changed.wait_while_for(&mut state, is_empty, most)),
            None => self.changed.wait_while(&mut state, is_empty),
        }
        !is_empty(&mut state)
    }

    /// Ends it; its thread ends with the next message, or with what it reads from.
    fn end(&self, how: Result<()>) {
        self.state.lock().end.get_or_insert(how);
        self.changed.notify_all();
    }
}

/// Messages that a thread writes.
struct Output {
    state: Mutex<OutputState>,
    changed: Condvar,
    /// How long somebody waits for a message to be written.
    most: Option<Duration>,
}

#[derive(Default)]
struct OutputState {
    messages: VecDeque<Outgoing>,
    /// How many were put, and how many were written.
    put: u64,
    written: u64,
    is_over: bool,
}

impl Output {
    /// Gives what is sent to `write` until that fails. Whoever waits for a message to be written waits `most`, or for as long
    /// as it takes.
    fn new(
        most: Option<Duration>,
        mut write: impl FnMut(Vec<u8>, Vec<Descriptor>) -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<Arc<Self>> {
        let output = Arc::new(Output { state: Mutex::default(), changed: Condvar::new(), most });
        let from = output.clone();
        let work = move || {
            while let Some((message, descriptors)) = from.next() {
                if write(message, descriptors).is_err() {
                    break;
                }
                from.state.lock().written += 1;
                from.changed.notify_all();
            }
            from.end();
        };
        std::thread::Builder::new().name("channel's output".to_owned()).spawn(work)?;
        Ok(output)
    }

    /// The next message to write; `None` at the end.
    fn next(&self) -> Option<Outgoing> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.messages.is_empty() && !state.is_over);
        state.messages.pop_front()
    }

    /// Sends a message, and waits until it is written; without `wait` only where few others are before it, and not for that.
    fn send(&self, message: Vec<u8>, descriptors: Vec<Descriptor>, wait: bool) -> std::io::Result<()> {
        let mut state = self.state.lock();
        if state.is_over {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if !wait && state.put - state.written >= BEFORE {
            return Err(ErrorKind::WouldBlock.into());
        }
        state.put += 1;
        let mine = state.put;
        state.messages.push_back((message, descriptors));
        self.changed.notify_all();
        if !wait {
            return Ok(());
        }
        let waits = |state: &mut OutputState| state.written < mine && !state.is_over;
        match self.most {
            Some(most) => drop(self.changed.wait_while_for(&mut state, waits, most)),
            None => self.changed.wait_while(&mut state, waits),
        }
        match state.written >= mine {
            true => Ok(()),
            false if state.is_over => Err(ErrorKind::BrokenPipe.into()),
            false => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// Ends it; its thread ends when what it writes is taken, or nobody can take it any more.
    fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::Error;
    use arrow::buffer::Buffer;
    use std::sync::mpsc::channel;

    fn message(len: usize) -> Message {
        Message { bytes: Buffer::from_vec(vec![1u8; len]), descriptors: Vec::new() }
    }

    #[test]
    fn what_nobody_takes_is_read_up_to_a_bound() {
        let (sender, read) = channel();
        let mut left = 10_000;
        let input = Input::new(move || {
            left -= 1;
            let _ = sender.send(());
            Ok((left > 0).then(|| message(0)))
        })
        .unwrap();
        while input.state.lock().bytes + EACH <= WAITING {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        // One more waits for room.
        assert!(read.try_iter().count() <= WAITING / EACH + 1);
        let taken = std::iter::from_fn(|| input.take().unwrap()).count();
        assert_eq!(taken, 9_999);
        assert!(input.wait(Some(Duration::ZERO)) && input.take().unwrap().is_none());
    }

    #[test]
    fn an_input_ends_with_what_it_reads_or_with_whoever_takes() {
        let mut first = true;
        let input = Input::new(move || match std::mem::take(&mut first) {
            true => Ok(Some(message(3))),
            false => Err(Error::crashed("wrong")),
        })
        .unwrap();
        assert_eq!(input.take().unwrap().unwrap().bytes.len(), 3);
        assert!(input.take().is_err() && input.take().is_err());

        let (sender, ended) = channel::<()>();
        let input = Input::new(move || {
            let _ = &sender;
            Ok(Some(message(WAITING)))
        })
        .unwrap();
        input.end(Ok(()));
        // The thread is gone, and what it held.
        assert!(ended.recv().is_err());
    }

    #[test]
    fn who_sends_waits_for_a_while_and_who_does_not_wait_is_told() {
        let (taken, list) = channel::<Vec<u8>>();
        let (go, gate) = channel::<()>();
        let output = Output::new(Some(Duration::from_millis(50)), move |bytes, _| {
            gate.recv().map_err(std::io::Error::other)?;
            taken.send(bytes).map_err(std::io::Error::other)
        })
        .unwrap();
        let kind = |sent: std::io::Result<()>| sent.map_err(|error| error.kind());
        assert_eq!(kind(output.send(vec![1], vec![], true)), Err(ErrorKind::TimedOut));
        for n in 1..BEFORE {
            assert_eq!(kind(output.send(vec![n as u8], vec![], false)), Ok(()));
        }
        assert_eq!(kind(output.send(vec![2], vec![], false)), Err(ErrorKind::WouldBlock));
        for _ in 0..BEFORE {
            go.send(()).unwrap();
            assert!(list.recv().unwrap().len() == 1);
        }
        go.send(()).unwrap();
        assert_eq!(kind(output.send(vec![3], vec![], true)), Ok(()));
        assert_eq!(list.recv().unwrap(), [3]);
        drop(go);
        assert_eq!(kind(output.send(vec![4], vec![], true)), Err(ErrorKind::BrokenPipe));
        assert_eq!(kind(output.send(vec![5], vec![], false)), Err(ErrorKind::BrokenPipe));
    }
}
