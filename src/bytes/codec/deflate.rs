//! Deflate (RFC 1951) of whole buffers in one call: bare, or with zlib's wrapper (RFC 1950).

use super::inflater::{Inflater, Run};
use super::{cut_off, cut_to, room, too_much};
use crate::bytes::error::{Error, Result};
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

thread_local! {
    /// The decoder's tables are large; a pass over many chunks makes them once a thread.
    static INFLATER: RefCell<Option<Inflater>> = const { RefCell::new(None) };
}

/// A zlib stream into `out`'s first bytes; returns how many it gave.
///
/// # Errors
/// As [`zlib`].
pub fn zlib_into(input: &[u8], out: &mut [u8]) -> Result<usize> {
    let (run, checked) = run(input, true, out)?;
    checked.map_err(|error| error.of("zlib data"))?;
    // It may end exactly where the room does; the checksum is then left out of account.
    if run.is_end() || run.made == out.len() { Ok(run.made) } else { Err(cut_off("zlib data")) }
}

/// One call of this thread's inflater, and what is wrong.
fn run(input: &[u8], zlib: bool, out: &mut [u8]) -> Result<(Run, Result<()>)> {
    INFLATER.with_borrow_mut(|kept| {
        let inflater = match kept {
            Some(inflater) => inflater,
            None => kept.insert(Inflater::new(zlib)?),
        };
        inflater.reset(zlib);
        let run = inflater.finish(input, out);
        let checked = inflater.check(&run);
        Ok((run, checked))
    })
}

/// Inflates in one go; also says how many bytes of the input that took.
pub(super) fn inflate(input: &[u8], zlib: bool, most: usize, what: &str) -> Result<(Vec<u8>, usize)> {
    let mut out = room(input.len(), RATIO, most, what)?;
    let (run, checked) = run(input, zlib, &mut out)?;
    if run.made > most {
        return Err(too_much(what, most));
    }
    checked.map_err(|error: Error| error.of(what))?;
    match run.is_end() {
        true => Ok((cut_to(out, run.made), run.taken)),
        false if run.made == out.len() => Err(too_much(what, run.made - 1)),
        false => Err(cut_off(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::gzip::gzip;
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
