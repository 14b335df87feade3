//! A pair of sockets that are streams of bytes, where the system has none that keep the bounds of messages: macOS. (Linux
//! has it for its tests.) Descriptors come with the head of their message, and only to a worker. unix(4), recvmsg(2).

pub(in crate::worker) use super::threads::{Channel, Receiver};

use super::{DESCRIPTORS, Descriptor, Message, frames, wrong};
use crate::bytes::error::Result;
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, FdFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair, sockopt,
};
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

/// Bytes that may lie between the two ends; the usual size is 8 KB.
const BETWEEN: usize = 256 << 10;

/// Starts a process, with a channel to it.
///
/// # Errors
/// What the system says.
pub(in crate::worker) fn start(mut command: Command) -> std::io::Result<(Channel, Child)> {
    let (here, there) = pair()?;
    let here = channel(here, false)?;
    let child = command.stdin(Stdio::from(there)).stdout(Stdio::null()).spawn()?;
    Ok((here, child))
}

/// The channel to the process that started this one, which is where other programs have their input; `None` where there is
/// none. To be asked for once.
pub(in crate::worker) fn inherited() -> Option<Channel> {
    let kind = sockopt::socket_type(std::io::stdin());
    if !kind.is_ok_and(|kind| kind == SocketType::STREAM) {
        return None;
    }
    // SAFETY: nothing else here reads the standard input.
    channel(unsafe { OwnedFd::from_raw_fd(0) }, true).ok()
}

fn channel(socket: OwnedFd, is_worker: bool) -> std::io::Result<Channel> {
    let (from, to) = (UnixStream::from(socket.try_clone()?), UnixStream::from(socket));
    let write = move |bytes: Vec<u8>, descriptors: Vec<_>| write(&to, &bytes, &descriptors);
    Channel::new(is_worker, move || read(&from, is_worker), write)
}

/// Two ends.
fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    for end in [&here, &there] {
        rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
        sockopt::set_socket_send_buffer_size(end, BETWEEN)?;
        sockopt::set_socket_recv_buffer_size(end, BETWEEN)?;
    }
    Ok((here, there))
}

/// Writes a message, whose head is the first that is written, with what is passed along.
fn write(mut to: &UnixStream, message: &[u8], descriptors: &[Descriptor]) -> std::io::Result<()> {
    let all: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !all.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(super::too_many());
    }
    let head = message.get(..frames::HEAD).unwrap_or(message);
    let sent = loop {
        match sendmsg(to, &[IoSlice::new(head)], &mut control, SendFlags::empty()) {
            Err(Errno::INTR) => {}
            sent => break sent?,
        }
    };
    to.write_all(message.get(sent..).unwrap_or_default())
}

/// Reads a message; `None` where the other end is gone. Only a worker takes descriptors: without room for them the system
/// closes those of others.
fn read(mut from: &UnixStream, takes_descriptors: bool) -> Result<Option<Message>> {
    let (mut head, mut filled) = ([0; frames::HEAD], 0);
    let mut descriptors = Vec::new();
    while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match received(from, rest, takes_descriptors.then_some(&mut descriptors)) {
            Ok(0) | Err(Errno::CONNRESET) => return Ok(None),
            Ok(count) => filled += count,
            // Where no more files can be open here macOS says so, and leaves the bytes: they are read again.
            Err(Errno::INTR | Errno::MSGSIZE) => {}
            Err(error) => return Err(wrong(&std::io::Error::from(error).to_string())),
        }
    }
    let (length, count) = frames::parts(head)?;
    if count > 0 && !takes_descriptors {
        return Err(wrong("a message with descriptors"));
    }
    if descriptors.len() > count {
        return Err(wrong("a message with other descriptors than it says"));
    }
    // Where they did not fit whoever waits for them is told that there are none.
    if descriptors.len() < count {
        descriptors.clear();
    }
    Ok(frames::body(&mut from, length)?.map(|bytes| Message { bytes, descriptors }))
}

/// Some bytes of a head, and the descriptors that come with them.
fn received(
    from: &UnixStream,
    out: &mut [u8],
    descriptors: Option<&mut Vec<Descriptor>>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = match descriptors.is_some() {
        true => RecvAncillaryBuffer::new(&mut space),
        false => RecvAncillaryBuffer::default(),
    };
    let count = recvmsg(from, &mut [IoSliceMut::new(out)], &mut control, RecvFlags::empty())?.bytes;
    let Some(descriptors) = descriptors else { return Ok(count) };
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
    use std::time::Duration;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (here, there) = pair().unwrap();
        let (here, there) = (channel(here, false).unwrap(), channel(there, true).unwrap());
        let mut receiver = Receiver::new();
        super::super::tests::messages_arrive_as_they_were_sent(|bytes, passed| {
            here.send(bytes, passed, true).unwrap();
            receiver.receive(&there).unwrap().unwrap()
        });
        assert!(!there.wait(Some(Duration::ZERO)));
        // A worker passes nothing on.
        let file = tempfile::tempfile().unwrap().into();
        there.send(b"with a file", &[file], true).unwrap();
        assert!(receiver.receive(&here).is_err());
        drop(here);
        assert!(receiver.receive(&there).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let mut receiver = Receiver::new();
        let mut received = |bytes: &[u8]| {
            let (here, there) = pair().unwrap();
            UnixStream::from(here).write_all(bytes).unwrap();
            receiver.receive(&channel(there, false).unwrap())
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
