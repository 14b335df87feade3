//! Pipes of which no read and no write waits: a thread does it for each, where the system waits for a pipe or not at all.

use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The end of a pipe that is ours.
pub(crate) type Pipe = std::os::windows::io::OwnedHandle;

/// Bytes that go at once between a thread and who waits for it,
const PIECE: usize = 64 << 10;
/// and how many such pieces may wait.
const WAITING: usize = 16;

/// Says when a pipe can be used: its thread has said so.
#[derive(Clone, Default)]
pub(super) struct Readiness(Arc<(Mutex<bool>, Condvar)>);

impl Readiness {
    /// Waits until there is something to read, or room to write, a while at most.
    pub(super) fn wait(&self, _: Option<&PipeReader>, _: Option<&PipeWriter>, most: Duration) -> Result<()> {
        let (ready, condition) = &*self.0;
        let guard = ready.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(guard, most, |ready| !*ready);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        Ok(())
    }

    fn notify(&self) {
        let (ready, condition) = &*self.0;
        *ready.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }
}

/// What is written to.
pub(super) struct PipeWriter(SyncSender<Vec<u8>>);

impl PipeWriter {
    pub(super) fn new(pipe: Pipe, readiness: &Readiness) -> Result<Self> {
        let (sender, pieces) = sync_channel::<Vec<u8>>(WAITING);
        let (mut pipe, readiness) = (File::from(pipe), readiness.clone());
        let work = move || {
            while let Ok(piece) = pieces.recv() {
                if pipe.write_all(&piece).is_err() {
                    break;
                }
                readiness.notify();
            }
            // Who writes once more is told that nobody reads.
            drop(pieces);
            readiness.notify();
        };
        std::thread::Builder::new().name("decoder's input".to_owned()).spawn(work)?;
        Ok(PipeWriter(sender))
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        match self.0.try_send(piece.to_vec()) {
            Ok(()) => Ok(piece.len()),
            Err(TrySendError::Full(_)) => Err(ErrorKind::WouldBlock.into()),
            Err(TrySendError::Disconnected(_)) => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What is read from.
pub(super) struct PipeReader {
    pieces: Receiver<Result<Vec<u8>>>,
    /// What was not taken of the last piece.
    rest: std::io::Cursor<Vec<u8>>,
}

impl PipeReader {
    pub(super) fn new(pipe: Pipe, readiness: &Readiness) -> Result<Self> {
        let (sender, pieces) = sync_channel(WAITING);
        let (mut pipe, readiness) = (File::from(pipe), readiness.clone());
        let work = move || {
            let mut piece = vec![0; PIECE];
            loop {
                let read = match pipe.read(&mut piece) {
                    // Its end is that of the channel.
                    Ok(0) => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    read => read.map(|n| piece.get(..n).unwrap_or_default().to_vec()),
                };
                let was_error = read.is_err();
                if sender.send(read).is_err() || was_error {
                    break;
                }
                readiness.notify();
            }
            drop(sender);
            readiness.notify();
        };
        std::thread::Builder::new().name("decoder's output".to_owned()).spawn(work)?;
        Ok(PipeReader { pieces, rest: std::io::Cursor::default() })
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let is_empty = self.rest.position() >= self.rest.get_ref().len() as u64;
        if is_empty {
            match self.pieces.try_recv() {
                Ok(piece) => self.rest = std::io::Cursor::new(piece?),
                Err(TryRecvError::Empty) => return Err(ErrorKind::WouldBlock.into()),
                Err(TryRecvError::Disconnected) => return Ok(0),
            }
        }
        self.rest.read(out)
    }
}
