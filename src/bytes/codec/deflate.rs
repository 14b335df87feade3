//! Deflate (RFC 1951) of whole buffers: with zlib's wrapper (RFC 1950), with gzip's (RFC 1952), or bare.

use super::{cut_off, cut_to, room, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use std::cell::RefCell;

/// No deflate stream gives more bytes for one.
const RATIO: usize = 1032;

/// A zlib stream; its Adler-32 is checked. Bytes after it are ignored.
///
/// # Errors
/// `Malformed` for damage, a stream that is cut off, or more than `most` bytes; `Unsupported` for a preset
/// dictionary.
pub fn zlib(input: &[u8], most: usize) -> Result<Vec<u8>> {
    inflate(input, true, most, "zlib data").map(|(out, _)| out)
}

/// A deflate stream without a wrapper.
///
/// # Errors
/// As [`zlib`].
pub fn raw(input: &[u8], most: usize) -> Result<Vec<u8>> {
    inflate(input, false, most, "deflate data").map(|(out, _)| out)
}

/// All members of a gzip file; CRC and length of each are checked. Bytes after them that begin no member are
/// ignored, as gzip does.
///
/// # Errors
/// As [`zlib`].
pub fn gzip(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = input;
    loop {
        let Some(head) = gzip_header(rest) else {
            if out.is_empty() && rest.len() == input.len() {
                return Err(Error::malformed("gzip data: there is no gzip header"));
            }
            return Ok(out);
        };
        let body = rest.get(head..).ok_or_else(|| cut_off("gzip data"))?;
        let (part, used) = inflate(body, false, most - out.len(), "gzip data")?;
        let (crc, len) = (le::<u32>(body, used), le::<u32>(body, used + 4));
        let (Some(crc), Some(len)) = (crc, len) else { return Err(cut_off("gzip data")) };
        if crc != crc32fast::hash(&part) || len != part.len() as u32 {
            return Err(Error::malformed("gzip data: its CRC-32 or length does not match"));
        }
        if out.is_empty() {
            out = part;
        } else {
            out.extend_from_slice(&part);
        }
        rest = body.get(used + 8..).unwrap_or_default();
        if !rest.starts_with(&[0x1f, 0x8b]) {
            return Ok(out);
        }
    }
}

/// The length of a member's header; `None` where there is none.
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    let [0x1f, 0x8b, 8, flags, ..] = bytes else { return None };
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(le::<u16>(bytes, at)?);
    }
    // A name and a comment, each with a zero at its end.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += 1 + memchr::memchr(0, bytes.get(at..)?)?;
        }
    }
    Some(if flags & 2 != 0 { at + 2 } else { at })
}

thread_local! {
    /// The decoder's tables are large; a pass over many chunks makes them once a thread.
    static DECODER: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// A zlib stream into `out`'s first bytes; returns how many it gave.
///
/// # Errors
/// As [`zlib`].
pub fn zlib_into(input: &[u8], out: &mut [u8]) -> Result<usize> {
    let (status, _, made) = run(input, true, out);
    match status {
        Ok(Status::StreamEnd) => Ok(made),
        // It may end exactly where the room does; the checksum is then left out of account.
        Ok(_) if made == out.len() => Ok(made),
        other => Err(failed(other, "zlib data")),
    }
}

fn run(input: &[u8], zlib: bool, out: &mut [u8]) -> (Result<Status, DecompressError>, usize, usize) {
    DECODER.with_borrow_mut(|decoder| {
        decoder.reset(zlib);
        let status = decoder.decompress(input, out, FlushDecompress::Finish);
        (status, decoder.total_in() as usize, decoder.total_out() as usize)
    })
}

/// Inflates in one go; also says how many bytes of the input that took.
fn inflate(input: &[u8], zlib: bool, most: usize, what: &str) -> Result<(Vec<u8>, usize)> {
    let mut out = room(input.len(), RATIO, most, what)?;
    let (status, taken, made) = run(input, zlib, &mut out);
    match status {
        _ if made > most => Err(too_much(what, most)),
        Ok(Status::StreamEnd) => Ok((cut_to(out, made), taken)),
        Ok(_) if made == out.len() => Err(too_much(what, made - 1)),
        other => Err(failed(other, what)),
    }
}

/// What a status that is no end means.
fn failed(status: Result<Status, DecompressError>, what: &str) -> Error {
    match status {
        Ok(_) => cut_off(what),
        Err(error) if error.needs_dictionary().is_some() => {
            Error::unsupported(format!("{what}: compressed against a dictionary that is not in the file"))
        }
        Err(error) => Error::malformed(format!("{what}: {}", error.message().unwrap_or("not deflate"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(level: u32) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let data: Vec<u8> = (0..50_000u32).map(|n| ((n * n) >> 7) as u8).collect();
        let mut zlib = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::new(level));
        zlib.write_all(&data).unwrap();
        let mut gzip = flate2::GzBuilder::new()
            .filename("a")
            .comment("b")
            .extra(vec![1, 2])
            .write(vec![], flate2::Compression::new(level));
        gzip.write_all(&data).unwrap();
        (data, zlib.finish().unwrap(), gzip.finish().unwrap())
    }

    #[test]
    fn all_three_wrappers() {
        for level in [0, 1, 9] {
            let (data, z, g) = packed(level);
            assert_eq!(zlib(&z, data.len()).unwrap(), data);
            assert_eq!(zlib(&z, usize::MAX / 2).unwrap(), data);
            assert_eq!(raw(&z[2..z.len() - 4], data.len()).unwrap(), data);
            assert_eq!(gzip(&g, data.len()).unwrap(), data);
            let twice = [g.clone(), g.clone(), vec![0; 9]].concat();
            assert_eq!(gzip(&twice, data.len() * 2).unwrap(), data.repeat(2));
        }
    }

    #[test]
    fn damage_and_bombs_are_errors() {
        let (data, z, g) = packed(6);
        assert!(zlib(&z, data.len() - 1).unwrap_err().message().contains("more than"));
        assert!(gzip(&[g.clone(), g.clone()].concat(), data.len() + 5).is_err());
        for cut in [0, 1, 5, z.len() / 2, z.len() - 1] {
            assert!(zlib(&z[..cut], data.len()).is_err(), "{cut}");
            assert!(gzip(&g[..cut], data.len()).is_err(), "{cut}");
        }
        let mut wrong = z.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert!(zlib(&wrong, data.len()).is_err(), "its checksum");
        assert!(gzip(b"\x1f\x8b\x08\x08name without end", 10).is_err());
    }
}
