//! Pipes of which no read and no write waits.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Result, Write};
use std::time::Duration;

/// The end of a pipe that is ours.
pub(crate) type Pipe = std::os::fd::OwnedFd;

/// Says when a pipe can be used. The system does.
#[derive(Default)]
pub(super) struct Readiness(());

impl Readiness {
    /// Waits until there is something to read, or room to write, a while at most.
    pub(super) fn wait(
        &self,
        output: Option<&PipeReader>,
        input: Option<&PipeWriter>,
        most: Duration,
    ) -> Result<()> {
        let output = output.map(|pipe| PollFd::new(&pipe.0, PollFlags::IN));
        let input = input.map(|pipe| PollFd::new(&pipe.0, PollFlags::OUT));
        let mut pipes: Vec<PollFd<'_>> = output.into_iter().chain(input).collect();
        let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut pipes, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn unblocked(pipe: Pipe) -> Result<File> {
    let flags = rustix::fs::fcntl_getfl(&pipe)?;
    rustix::fs::fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
    Ok(File::from(pipe))
}

/// What is written to.
pub(super) struct PipeWriter(File);

impl PipeWriter {
    pub(super) fn new(pipe: Pipe, _: &Readiness) -> Result<Self> {
        unblocked(pipe).map(PipeWriter)
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

/// What is read from.
pub(super) struct PipeReader(File);

impl PipeReader {
    pub(super) fn new(pipe: Pipe, _: &Readiness) -> Result<Self> {
        unblocked(pipe).map(PipeReader)
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.0.read(out)
    }
}
