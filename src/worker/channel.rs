//! The channel between two processes: messages that arrive whole and in order, with descriptors of open files that are
//! passed along. How it is made differs between systems, what it does not.

#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
use packets as system;

#[cfg(any(test, not(target_os = "linux")))]
mod frames;
#[cfg(all(unix, any(test, not(target_os = "linux"))))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "for its tests alone"))]
mod stream;
#[cfg(any(test, not(target_os = "linux")))]
mod threads;
#[cfg(all(unix, not(target_os = "linux")))]
use stream as system;

#[cfg(windows)]
mod pipes;
#[cfg(windows)]
use pipes as system;

pub(super) use system::{Channel, Receiver, inherited, start};

use crate::bytes::error::Error;
use arrow::buffer::Buffer;

/// An open file, a pipe, or memory: what the system knows it by.
#[cfg(unix)]
pub(super) type Descriptor = std::os::fd::OwnedFd;
/// An open file or a pipe: what the system knows it by.
#[cfg(windows)]
pub(super) type Descriptor = std::os::windows::io::OwnedHandle;

/// The most descriptors of one message.
const DESCRIPTORS: usize = 8;

/// A message that was received.
pub(super) struct Message {
    pub(super) bytes: Buffer,
    pub(super) descriptors: Vec<Descriptor>,
}

fn wrong(what: &str) -> Error {
    super::wire::wrong(what)
}

/// What is said where a message has more than [`DESCRIPTORS`].
fn too_many() -> std::io::Error {
    std::io::Error::other("too many descriptors in one message")
}

/// The limit of a message is passed.
fn too_long(len: u64) -> Error {
    let most = super::limits::ANSWER;
    Error::limit(format!("an answer of {len} bytes; the limit is {most}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};

    /// Messages of many lengths, each with a file: what `send` sends is what it says was received.
    pub(super) fn messages_arrive_as_they_were_sent(mut send: impl FnMut(&[u8], &[Descriptor]) -> Message) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"passed").unwrap();
        let inline = crate::worker::limits::INLINE;
        for len in [0, 1, inline, inline + 1, 3 << 20] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let message = send(&bytes, &[file.try_clone().unwrap().into()]);
            assert!(message.bytes.as_slice() == bytes, "{len}");
            let [passed] = <[Descriptor; 1]>::try_from(message.descriptors).unwrap();
            let (mut passed, mut text) = (File::from(passed), String::new());
            passed.seek(SeekFrom::Start(0)).unwrap();
            passed.read_to_string(&mut text).unwrap();
            assert_eq!(text, "passed");
        }
    }
}
