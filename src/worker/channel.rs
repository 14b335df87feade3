//! Messages between two processes over a pair of sockets that keep their bounds (`SOCK_SEQPACKET`). Short ones lie in
//! the socket; longer ones in sealed memory without a name, whose descriptor is passed along: what was checked cannot be changed
//! by the sender afterwards.

use super::limits;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{sealed, sealed_bytes};
use arrow::buffer::Buffer;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// The most descriptors of one message.
const DESCRIPTORS: usize = 8;

/// A message that was received.
pub(super) struct Message {
    pub(super) bytes: Buffer,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// Two ends.
pub(super) fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message, whole or not at all; waits for room where `wait` says so.
pub(super) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
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
    all.extend_from_slice(descriptors);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !all.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(std::io::Error::other("too many descriptors in one message"));
    }
    let parts = [IoSlice::new(&head), IoSlice::new(body)];
    let flags = if wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
    loop {
        match sendmsg(socket.as_fd(), &parts, &mut control, flags) {
            Err(Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

/// Sends a message that lies in memory, of which it says how long it is.
#[cfg(debug_assertions)]
pub(super) fn send_memory(socket: impl AsFd, memory: &OwnedFd, len: u64) -> std::io::Result<()> {
    let passed = [memory.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&passed));
    let len = len.to_le_bytes();
    sendmsg(socket.as_fd(), &[IoSlice::new(&[1]), IoSlice::new(&len)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A buffer that messages are received in.
pub(super) struct Receiver(Vec<u8>);

impl Receiver {
    pub(super) fn new() -> Self {
        Receiver(vec![0; limits::INLINE])
    }

    /// Waits for a message; `None` where the other end is gone.
    ///
    /// # Errors
    /// `Crashed` for what is no message of ours.
    pub(super) fn receive(&mut self, socket: impl AsFd) -> Result<Option<Message>> {
        let mut head = [0u8; 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            // The first byte tells where the others are.
            let mut parts = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut self.0)];
            match recvmsg(socket.as_fd(), &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
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

fn wrong(what: &str) -> Error {
    super::wire::wrong(what)
}

/// The bytes of memory that was passed along.
fn mapped(memory: &OwnedFd, len: u64) -> Result<Buffer> {
    if len > limits::ANSWER {
        return Err(Error::limit(format!("an answer of {len} bytes; the limit is {}", limits::ANSWER)));
    }
    sealed_bytes(memory, len).map(Buffer::from).map_err(|error| wrong(error.what()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};

    #[test]
    fn messages_arrive_as_they_were_sent_with_what_was_passed_along() {
        let (here, there) = pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"passed").unwrap();
        let mut receiver = Receiver::new();
        for len in [0, 1, limits::INLINE, limits::INLINE + 1, 3 << 20] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            send(&here, &bytes, &[file.as_fd()], true).unwrap();
            let message = receiver.receive(&there).unwrap().unwrap();
            assert!(message.bytes.as_slice() == bytes, "{len}");
            let [passed] = <[OwnedFd; 1]>::try_from(message.descriptors).unwrap();
            let (mut passed, mut text) = (std::fs::File::from(passed), String::new());
            passed.seek(SeekFrom::Start(0)).unwrap();
            passed.read_to_string(&mut text).unwrap();
            assert_eq!(text, "passed");
        }
        drop(here);
        assert!(receiver.receive(&there).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let (here, there) = pair().unwrap();
        let mut receiver = Receiver::new();
        // A length without memory, of another length than the memory, and in a file that is none.
        let file = tempfile::tempfile().unwrap();
        let memory = sealed(b"short").unwrap();
        let raw = |head: u8, len: u64, passed: Option<BorrowedFd<'_>>| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let passed: Vec<BorrowedFd<'_>> = passed.into_iter().collect();
            if !passed.is_empty() {
                assert!(control.push(SendAncillaryMessage::ScmRights(&passed)));
            }
            let len = len.to_le_bytes();
            sendmsg(&here, &[IoSlice::new(&[head]), IoSlice::new(&len)], &mut control, SendFlags::empty())
                .unwrap();
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
}
