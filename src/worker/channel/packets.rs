//! A pair of sockets that keep the bounds of messages (`SOCK_SEQPACKET`): Linux. Short ones lie in the socket; longer ones
//! in sealed memory without a name, whose descriptor is passed along: what was checked cannot be changed by the sender
//! afterwards. unix(7), recvmsg(2).

use super::{DESCRIPTORS, Descriptor, Message, too_long, wrong};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{sealed, sealed_bytes};
use crate::worker::limits;
use arrow::buffer::Buffer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An end of a channel.
pub(in crate::worker) struct Channel(OwnedFd);

/// Starts a process, with a channel to it.
///
/// # Errors
/// What the system says.
pub(in crate::worker) fn start(mut command: Command) -> std::io::Result<(Channel, Child)> {
    let (here, there) = Channel::pair()?;
    let child = command.stdin(Stdio::from(there)).stdout(Stdio::null()).spawn()?;
    Ok((here, child))
}

/// The channel to the process that started this one, which is where other programs have their input; `None` where there is
/// none. To be asked for once.
pub(in crate::worker) fn inherited() -> Option<Channel> {
    let kind = sockopt::socket_type(std::io::stdin());
    // SAFETY: nothing else here reads the standard input.
    kind.is_ok_and(|kind| kind == SocketType::SEQPACKET).then(|| Channel(unsafe { OwnedFd::from_raw_fd(0) }))
}

impl Channel {
    /// Two ends: of this process, and of another one.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::worker) fn pair() -> std::io::Result<(Channel, OwnedFd)> {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // A worker that takes nothing must not make anybody wait for ever.
        sockopt::set_socket_timeout(&here, Timeout::Send, Some(limits::TAKEN))?;
        Ok((Channel(here), there))
    }

    /// Sends a message, whole or not at all; waits for room where `wait` says so.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::worker) fn send(
        &self,
        bytes: &[u8],
        descriptors: &[Descriptor],
        wait: bool,
    ) -> std::io::Result<()> {
        let mut all: Vec<BorrowedFd<'_>> = Vec::with_capacity(descriptors.len() + 1);
        let head = [u8::from(bytes.len() > limits::INLINE)];
        let length = (bytes.len() as u64).to_le_bytes();
        let memory;
        let body = if bytes.len() > limits::INLINE {
            memory = sealed(bytes)?;
            all.push(memory.as_fd());
            &length[..]
        } else {
            bytes
        };
        all.extend(descriptors.iter().map(AsFd::as_fd));
        self.send_parts(&head, body, &all, wait)
    }

    /// Sends a message that lies in memory, of which it says how long it is.
    #[cfg(debug_assertions)]
    pub(in crate::worker) fn send_memory(&self, memory: &OwnedFd, len: u64) -> std::io::Result<()> {
        self.send_parts(&[1], &len.to_le_bytes(), &[memory.as_fd()], true)
    }

    fn send_parts(
        &self,
        head: &[u8],
        body: &[u8],
        passed: &[BorrowedFd<'_>],
        wait: bool,
    ) -> std::io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !passed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(passed)) {
            return Err(super::too_many());
        }
        let parts = [IoSlice::new(head), IoSlice::new(body)];
        let flags = if wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        loop {
            match sendmsg(&self.0, &parts, &mut control, flags) {
                Err(Errno::INTR) => {}
                sent => return Ok(sent.map(drop)?),
            }
        }
    }

    /// Waits until there is something to receive, which may be the end, for as long as is said; whether there is.
    pub(in crate::worker) fn wait(&self, most: Option<Duration>) -> bool {
        let most = most.map(|most| Timespec {
            tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        matches!(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], most.as_ref()), Ok(1..))
    }
}

/// A buffer that messages are received in.
pub(in crate::worker) struct Receiver(Vec<u8>);

impl Receiver {
    pub(in crate::worker) fn new() -> Self {
        Receiver(vec![0; limits::INLINE])
    }

    /// Waits for a message; `None` where the other end is gone.
    ///
    /// # Errors
    /// `Crashed` for what is no message of ours.
    pub(in crate::worker) fn receive(&mut self, channel: &Channel) -> Result<Option<Message>> {
        let mut head = [0u8; 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            // The first byte tells where the others are.
            let mut parts = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut self.0)];
            match recvmsg(&channel.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(None),
                Err(error) => return Err(Error::crashed(std::io::Error::from(error).to_string())),
                Ok(received) => break received,
            }
        };
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(list) = message {
                descriptors.extend(list);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        if received.flags.contains(ReturnFlags::TRUNC) {
            return Err(wrong("a message is too long"));
        }
        // Where no more files can be open here, whoever waits for them is told that there are none.
        if received.flags.contains(ReturnFlags::CTRUNC) {
            descriptors.clear();
        }
        let body = self.0.get(..received.bytes - 1).unwrap_or_default();
        match head {
            [0] => Ok(Some(Message { bytes: Buffer::from_vec(body.to_vec()), descriptors })),
            [1] => {
                let len = body.first_chunk().map(|len| u64::from_le_bytes(*len));
                let len = len.filter(|_| !descriptors.is_empty()).ok_or_else(|| wrong("a message is cut"))?;
                let memory = descriptors.remove(0);
                Ok(Some(Message { bytes: mapped(&memory, len)?, descriptors }))
            }
            _ => Err(wrong("a message of no kind")),
        }
    }
}

/// The bytes of memory that was passed along.
fn mapped(memory: &OwnedFd, len: u64) -> Result<Buffer> {
    if len > limits::ANSWER {
        return Err(too_long(len));
    }
    sealed_bytes(memory, len).map(Buffer::from).map_err(|error| wrong(error.what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_refused() {
        let (here, there) = Channel::pair().unwrap();
        let there = Channel(there);
        let mut receiver = Receiver::new();
        // A length without memory, of another length than the memory, and in a file that is none.
        let file = tempfile::tempfile().unwrap();
        let memory = sealed(b"short").unwrap();
        let raw = |head: u8, len: u64, passed: Option<BorrowedFd<'_>>| {
            let passed: Vec<BorrowedFd<'_>> = passed.into_iter().collect();
            here.send_parts(&[head], &len.to_le_bytes(), &passed, true).unwrap();
        };
        for (head, len, passed) in [
            (1, 5, None),
            (1, 6, Some(memory.as_fd())),
            (1, 5, Some(file.as_fd())),
            (1, u64::MAX, Some(memory.as_fd())),
            (7, 0, None),
        ] {
            raw(head, len, passed);
            assert!(receiver.receive(&there).is_err(), "{head} {len}");
        }
        raw(1, 5, Some(memory.as_fd()));
        assert_eq!(receiver.receive(&there).unwrap().unwrap().bytes.as_slice(), b"short");
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (here, there) = Channel::pair().unwrap();
        let there = Channel(there);
        let mut receiver = Receiver::new();
        let one = |bytes: &[u8], passed: &[OwnedFd]| {
            here.send(bytes, passed, true).unwrap();
            receiver.receive(&there).unwrap().unwrap()
        };
        super::super::tests::messages_arrive_as_they_were_sent(one);
        assert!(!there.wait(Some(Duration::ZERO)));
        drop(here);
        assert!(there.wait(None) && receiver.receive(&there).unwrap().is_none());
    }
}
