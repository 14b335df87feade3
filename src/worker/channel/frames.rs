//! Messages in a stream of bytes: before each is its head, how long it is (eight bytes) and how many descriptors come with it
//! (one).

use super::{DESCRIPTORS, too_long, wrong};
use crate::bytes::error::Result;
use crate::worker::limits;
use arrow::buffer::Buffer;
use std::io::{Error, ErrorKind, Read};

/// Bytes of a head.
pub(super) const HEAD: usize = 9;

/// Bytes that room is made for at first; then as many more as there are.
const PIECE: u64 = 1 << 20;

/// The head of a message.
pub(super) fn head(bytes: &[u8], descriptors: usize) -> std::io::Result<[u8; HEAD]> {
    if descriptors > DESCRIPTORS {
        return Err(super::too_many());
    }
    let mut head = [descriptors as u8; HEAD];
    if let Some(length) = head.first_chunk_mut() {
        *length = (bytes.len() as u64).to_le_bytes();
    }
    Ok(head)
}

/// How long a message is, and how many descriptors come with it.
///
/// # Errors
/// `Crashed` for what is no head, `Limit` for what is too long.
pub(super) fn parts(head: [u8; HEAD]) -> Result<(u64, usize)> {
    let [length @ .., descriptors] = head;
    let (length, descriptors) = (u64::from_le_bytes(length), usize::from(descriptors));
    match descriptors <= DESCRIPTORS {
        _ if length > limits::ANSWER => Err(too_long(length)),
        true => Ok((length, descriptors)),
        false => Err(wrong("a message with too many descriptors")),
    }
}

/// The bytes of a message, `None` where the stream ends before.
///
/// # Errors
/// `Crashed` where it stops, and where there is no memory for it.
pub(super) fn body(from: &mut impl Read, length: u64) -> Result<Option<Buffer>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        // Room is made as bytes come, not as they are promised.
        let read = bytes.len() as u64;
        let piece = read.max(PIECE).min(length - read);
        bytes.try_reserve_exact(piece as usize).map_err(|_| wrong("there is no memory for a message"))?;
        match from.by_ref().take(piece).read_to_end(&mut bytes) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if is_end(&error) => return Ok(None),
            Err(_) => return Err(wrong("a message is cut")),
        }
    }
    Ok(Some(Buffer::from_vec(bytes)))
}

/// Whether an error says that the other end is gone.
pub(super) fn is_end(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_make_no_sense_are_refused() {
        assert_eq!(parts(head(b"three", 3).unwrap()).unwrap(), (5, 3));
        assert!(head(b"", DESCRIPTORS + 1).is_err());
        assert!(parts([u8::MAX; HEAD]).is_err());
        let mut many = head(b"", 0).unwrap();
        many[HEAD - 1] = 1 + DESCRIPTORS as u8;
        assert!(parts(many).is_err());
    }

    #[test]
    fn a_body_is_read_whole_or_not_at_all() {
        let bytes: Vec<u8> = (0..PIECE + 5).map(|n| n as u8).collect();
        let whole = body(&mut &bytes[..], bytes.len() as u64).unwrap().unwrap();
        assert!(whole.as_slice() == bytes);
        assert!(body(&mut &bytes[..], limits::ANSWER).unwrap().is_none());
        assert!(body(&mut &bytes[..], 0).unwrap().unwrap().is_empty());
    }
}
