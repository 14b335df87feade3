//! A pair of sockets that are streams of bytes, where the system has none that keep the bounds of messages: macOS. (Linux
//! has it for its tests.) Descriptors come with the head of their message. unix(4), recvmsg(2).

use super::{DESCRIPTORS, Descriptor, Message, frames, wrong};
use crate::bytes::error::Result;
use crate::worker::limits;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, FdFlags};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bytes that may lie between the two ends; the usual size is 8 KB.
const BETWEEN: usize = 256 << 10;

/// An end of a channel.
pub(in crate::worker) struct Channel {
    socket: UnixStream,
    /// One message after the other.
    sending: Mutex<()>,
}

/// What receives messages.
pub(in crate::worker) struct Receiver(());

impl Channel {
    fn of(socket: OwnedFd) -> Self {
        Channel { socket: socket.into(), sending: Mutex::new(()) }
    }

    /// Starts a process, with a channel to it.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::worker) fn start(mut command: Command) -> std::io::Result<(Channel, Child)> {
        let (here, there) = pair()?;
        let child = command.stdin(Stdio::from(there)).stdout(Stdio::null()).spawn()?;
        Ok((here, child))
    }

    /// That of the process that started this one, which is where other programs have their input; `None` where there is
    /// none. To be asked for once.
    pub(in crate::worker) fn inherited() -> Option<Channel> {
        let kind = sockopt::socket_type(std::io::stdin());
        // SAFETY: nothing else here reads the standard input.
        kind.is_ok_and(|kind| kind == SocketType::STREAM)
            .then(|| Channel::of(unsafe { OwnedFd::from_raw_fd(0) }))
    }

    /// Sends a message; without `wait` only where there is room now.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` where there is no room.
    pub(in crate::worker) fn send(
        &self,
        bytes: &[u8],
        descriptors: &[Descriptor],
        wait: bool,
    ) -> std::io::Result<()> {
        let head = frames::head(bytes, descriptors.len())?;
        let all: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        let _one = self.sending.lock();
        if !wait && !self.is(PollFlags::OUT, Some(Duration::ZERO)) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !all.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&all)) {
            return Err(super::too_many());
        }
        let sent = loop {
            match sendmsg(&self.socket, &[IoSlice::new(&head)], &mut control, SendFlags::empty()) {
                Err(Errno::INTR) => {}
                sent => break sent?,
            }
        };
        (&self.socket).write_all(head.get(sent..).unwrap_or_default())?;
        (&self.socket).write_all(bytes)
    }

    /// Waits until there is something to receive, which may be the end, for as long as is said; whether there is.
    pub(in crate::worker) fn wait(&self, most: Option<Duration>) -> bool {
        self.is(PollFlags::IN, most)
    }

    fn is(&self, what: PollFlags, most: Option<Duration>) -> bool {
        let most = most.map(|most| Timespec {
            tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        matches!(poll(&mut [PollFd::new(&self.socket, what)], most.as_ref()), Ok(1..))
    }
}

/// Two ends: of this process, where nothing is waited for longer than the other one may take, and of another one.
fn pair() -> std::io::Result<(Channel, OwnedFd)> {
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    for end in [&here, &there] {
        rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
        sockopt::set_socket_send_buffer_size(end, BETWEEN)?;
        sockopt::set_socket_recv_buffer_size(end, BETWEEN)?;
    }
    for way in [Timeout::Send, Timeout::Recv] {
        sockopt::set_socket_timeout(&here, way, Some(limits::TAKEN))?;
    }
    Ok((Channel::of(here), there))
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
        let (mut head, mut filled) = ([0; frames::HEAD], 0);
        let mut descriptors = Vec::new();
        while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match received(&channel.socket, rest, &mut descriptors) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(None),
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(wrong(&std::io::Error::from(error).to_string())),
            }
        }
        let (length, count) = frames::parts(head)?;
        if descriptors.len() > count {
            return Err(wrong("a message with other descriptors than it says"));
        }
        // Where no more files can be open here, whoever waits for them is told that there are none.
        if descriptors.len() < count {
            descriptors.clear();
        }
        let body = frames::body(&mut &channel.socket, length)?;
        Ok(body.map(|bytes| Message { bytes, descriptors }))
    }
}

/// Some bytes of a head, and the descriptors that come with them.
fn received(
    socket: &UnixStream,
    out: &mut [u8],
    descriptors: &mut Vec<Descriptor>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count = recvmsg(socket, &mut [IoSliceMut::new(out)], &mut control, RecvFlags::empty())?.bytes;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(list) = message {
            descriptors.extend(list);
        }
    }
    for descriptor in descriptors.iter() {
        rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (here, there) = pair().unwrap();
        let there = Channel::of(there);
        std::thread::scope(|scope| {
            super::super::tests::messages_arrive_as_they_were_sent(|bytes, passed| {
                // More than lies between the ends.
                let sent = scope.spawn(|| Receiver::new().receive(&there).unwrap().unwrap());
                here.send(bytes, passed, true).unwrap();
                sent.join().unwrap()
            });
        });
        assert!(!there.wait(Some(Duration::ZERO)));
        // Where nobody takes anything, what may be left out is.
        while here.send(&[0; 1 << 10], &[], false).is_ok() {}
        assert!(there.wait(Some(Duration::ZERO)));
        drop(here);
        while Receiver::new().receive(&there).unwrap().is_some() {}
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let received = |bytes: &[u8]| {
            let (here, there) = pair().unwrap();
            (&here.socket).write_all(bytes).unwrap();
            drop(here);
            Receiver::new().receive(&Channel::of(there))
        };
        assert!(received(&[u8::MAX; frames::HEAD]).is_err());
        // A head that is cut, or whose body is, comes from one that ended.
        for cut in [3, frames::HEAD + 2] {
            let mut bytes = frames::head(b"four", 0).unwrap().to_vec();
            bytes.extend_from_slice(b"four");
            assert!(received(&bytes[..cut]).unwrap().is_none());
        }
    }
}
