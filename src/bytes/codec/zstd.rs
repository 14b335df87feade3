//! Zstandard (RFC 8878): frames one after the other, with skippable ones between them.

use super::decompress::{Begin, Decompressor, State, Step};
use super::{cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode as Code;
use ::zstd::zstd_safe::{DCtx, ErrorCode, InBuffer, OutBuffer, ResetDirective, WriteBuf, get_error_name};
use std::cell::RefCell;

/// The magic number of a frame.
pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// All frames of `input` in one call.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes; `Unsupported` for a dictionary that is not there.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let most_bytes = (most as u64).min(limits::CHUNK) as usize;
    let mut out = Vec::new();
    // Only asked for, not touched: what is not written takes no memory.
    out.try_reserve_exact(most_bytes)
        .map_err(|_| Error::limit(format!("Zstandard data: no memory for {most_bytes} bytes")))?;
    let made = run(input, &mut out, None, most)?;
    Ok(cut_to(out, made))
}

/// All frames of `input` into `out`'s first bytes, perhaps compressed against a dictionary; returns how many they gave.
///
/// # Errors
/// As [`decode`].
pub fn decode_into(input: &[u8], out: &mut [u8], dictionary: Option<&[u8]>) -> Result<usize> {
    let most = out.len();
    run(input, out, dictionary, most)
}

fn run<B: WriteBuf + ?Sized>(
    input: &[u8],
    out: &mut B,
    dictionary: Option<&[u8]>,
    most: usize,
) -> Result<usize> {
    DECODER.with_borrow_mut(|kept| {
        let decoder = match kept {
            Some(decoder) => decoder,
            None => kept.insert(context()?),
        };
        let made = match dictionary {
            Some(dictionary) => decoder.decompress_using_dict(out, input, dictionary),
            None => decoder.decompress(out, input),
        };
        made.map_err(|code| match is(code, Code::ZSTD_error_dstSize_tooSmall) {
            true => too_much("Zstandard data", most),
            false => failed(code).of("Zstandard data"),
        })
    })
}

fn context() -> Result<DCtx<'static>> {
    DCtx::try_create().ok_or_else(|| Error::limit("no memory for a Zstandard decoder"))
}

/// Whether the library's number of an error, which is negative, stands for this one.
fn is(number: ErrorCode, code: Code) -> bool {
    0usize.wrapping_sub(number) == code as usize
}

/// The library's error in our words.
fn failed(number: ErrorCode) -> Error {
    let dictionary = [Code::ZSTD_error_dictionary_wrong, Code::ZSTD_error_dictionary_corrupted]
        .map(|code| is(number, code));
    if is(number, Code::ZSTD_error_frameParameter_windowTooLarge) {
        Error::limit("its window is larger than 128 MiB")
    } else if dictionary.contains(&true) {
        Error::unsupported("compressed against a dictionary that is not in the file")
    } else {
        Error::malformed(get_error_name(number).to_lowercase())
    }
}

/// How long the skippable frame is that begins with these bytes (LZ4 has the same ones), and `None` where its length
/// is not there; or that there is none.
pub fn skippable(head: &[u8]) -> Option<Option<u64>> {
    let magic = head.first_chunk::<4>().filter(|magic| is_skippable(**magic));
    magic.map(|_| crate::bytes::numbers::le::<u32>(head, 4).map(|len| u64::from(len) + 8))
}

/// Whether these four bytes begin a skippable frame.
pub fn is_skippable(magic: [u8; 4]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// Decompresses all frames.
pub struct Zstd {
    decoder: DCtx<'static>,
    frame: u64,
}

impl Zstd {
    /// A decompressor at the start.
    pub fn new() -> Result<Self> {
        Ok(Zstd { decoder: context()?, frame: 0 })
    }
}

impl Decompressor for Zstd {
    fn head(&self) -> usize {
        8
    }

    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin> {
        self.frame = number;
        if head.starts_with(&MAGIC) {
            let _ = self.decoder.reset(ResetDirective::SessionOnly);
            return Ok(Begin::Frame(0));
        }
        match skippable(head) {
            Some(Some(len)) => Ok(Begin::Skip(len)),
            Some(None) => Err(Error::malformed(format!("{}; the file may be cut off", self.cut()))),
            None if head.is_empty() => Ok(Begin::End),
            None if number == 1 => Err(Error::malformed("Zstandard stream: there is no frame")),
            None => Ok(Begin::Other("Zstandard")),
        }
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], _last: bool) -> Result<Step> {
        let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
        let hint = self.decoder.decompress_stream(&mut to, &mut from).map_err(failed)?;
        let (taken, made) = (from.pos(), to.pos());
        *input = input.get(taken..).unwrap_or_default();
        Ok(Step { made, state: if hint == 0 { State::End(None) } else { State::More(1) } })
    }

    fn name(&self) -> String {
        format!("Zstandard frame {}", self.frame)
    }

    fn cut(&self) -> String {
        "Zstandard stream: it ends in the middle of a frame".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_with_and_without_a_size() {
        let data: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
        let sized = ::zstd::bulk::compress(&data, 3).unwrap();
        let streamed = ::zstd::stream::encode_all(data.as_slice(), 3).unwrap();
        for frame in [&sized, &streamed] {
            assert_eq!(decode(frame, data.len()).unwrap(), data);
            assert_eq!(decode(frame, 10 << 20).unwrap(), data);
            assert!(decode(frame, data.len() - 1).unwrap_err().message().contains("more than"));
            assert!(decode(&frame[..frame.len() / 2], data.len()).is_err());
        }
        assert_eq!(decode(&[sized, streamed].concat(), data.len() * 2).unwrap(), data.repeat(2));
        assert!(decode(b"nonsense", 10).is_err());
    }
}
