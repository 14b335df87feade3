//! The inflater (RFC 1951, RFC 1950). It can stop between blocks and go on from there later: two abilities of zlib
//! that random access needs and flate2 does not hand through. The only unsafe code of the codecs.

use super::decompress::{Begin, Decompressor, State, Step};
use crate::bytes::error::{Error, Result};
use libz_rs_sys as z;
use std::ffi::CStr;

/// The most that a window can hold: how far back deflate refers.
pub const WINDOW: usize = 32 << 10;

/// An inflater of deflate data, with zlib's wrapper or without.
pub struct Inflater {
    stream: Box<z::z_stream>,
    zlib: bool,
    /// Whether the next step stops at the end of the current block.
    pub stop: bool,
}

// SAFETY: the raw pointers in a z_stream lead to the inflater's own heap memory; those to input and
// output are null except during a call (see `run`). Nothing in it belongs to a thread, and every use
// takes `&mut self`.
unsafe impl Send for Inflater {}

/// What one call of [`Inflater::run`] did.
pub(super) struct Run {
    pub(super) taken: usize,
    pub(super) made: usize,
    /// zlib's answer.
    status: i32,
}

impl Run {
    /// Whether the end of the data was reached.
    pub(super) fn is_end(&self) -> bool {
        self.status == z::Z_STREAM_END
    }
}

/// zlib's parameter for the wrapper; negative for none.
fn window_bits(zlib: bool) -> i32 {
    if zlib { 15 } else { -15 }
}

impl Inflater {
    /// An inflater at the start of its data.
    pub fn new(zlib: bool) -> Result<Self> {
        let mut stream = Box::<z::z_stream>::default();
        let size = std::mem::size_of::<z::z_stream>() as i32;
        // SAFETY: the stream is alive and borrowed by this call alone; version and size are those of the
        // library that this is compiled against.
        let status = unsafe { z::inflateInit2_(&mut *stream, window_bits(zlib), z::zlibVersion(), size) };
        made(status, Inflater { stream, zlib, stop: false })
    }

    /// Begins with new data.
    pub(super) fn reset(&mut self, zlib: bool) {
        self.zlib = zlib;
        // SAFETY: `new` initialised the stream. The call fails for uninitialised ones only.
        let _ = unsafe { z::inflateReset2(&mut *self.stream, window_bits(zlib)) };
    }

    /// Goes to a place between two blocks: `window` is what came out before it (up to 32 KB), `bits` the
    /// number of bits of `byte`, its highest, that belong to the next block.
    pub fn resume(&mut self, window: &[u8], bits: u8, byte: u8) -> Result<()> {
        self.reset(self.zlib);
        let bad = |_| Error::bug("an inflater does not take its place");
        let value = if (1..8).contains(&bits) { i32::from(byte >> (8 - bits)) } else { 0 };
        if bits > 0 {
            // SAFETY: the stream is initialised; at most 7 bits are given.
            ok(unsafe { z::inflatePrime(&mut *self.stream, i32::from(bits.min(7)), value) }).map_err(bad)?;
        }
        let window = window.get(window.len().saturating_sub(WINDOW)..).unwrap_or_default();
        if !window.is_empty() {
            // SAFETY: the stream is initialised; the slice outlives the call, which copies it.
            ok(unsafe { z::inflateSetDictionary(&mut *self.stream, window.as_ptr(), window.len() as u32) })
                .map_err(bad)?;
        }
        Ok(())
    }

    /// A second inflater that stands at the same place, also in the middle of a block.
    pub fn copy(&mut self) -> Result<Self> {
        let mut stream = Box::<z::z_stream>::default();
        // The library refuses a source without an output, even of no bytes.
        let mut nowhere = 0u8;
        self.stream.next_out = &raw mut nowhere;
        // SAFETY: the source is initialised and at rest, its output has room for no byte; the target is
        // alive, owns nothing yet, and is given memory of its own.
        let status = unsafe { z::inflateCopy(&mut *stream, &*self.stream) };
        self.stream.next_out = std::ptr::null_mut();
        stream.next_out = std::ptr::null_mut();
        made(status, Inflater { stream, zlib: self.zlib, stop: false })
    }

    /// Inflates all of `input` into `out` in one call, which is the fastest.
    pub(super) fn finish(&mut self, input: &[u8], out: &mut [u8]) -> Run {
        self.run(input, out, z::Z_FINISH)
    }

    fn run(&mut self, input: &[u8], out: &mut [u8], flush: i32) -> Run {
        let (given, room) = (input.len().min(1 << 31), out.len().min(1 << 31));
        let stream = &mut *self.stream;
        stream.next_in = input.as_ptr();
        stream.avail_in = given as u32;
        stream.next_out = out.as_mut_ptr();
        stream.avail_out = room as u32;
        // SAFETY: input and output are live slices of at least the lengths given, they do not overlap
        // (one is borrowed mutably), and the stream is initialised and borrowed by this call alone.
        let status = unsafe { z::inflate(stream, flush) };
        let (taken, made) = (given - stream.avail_in as usize, room - stream.avail_out as usize);
        stream.next_in = std::ptr::null();
        stream.avail_in = 0;
        stream.next_out = std::ptr::null_mut();
        stream.avail_out = 0;
        Run { taken, made, status }
    }

    /// What is wrong, in zlib's words; nothing where it could go on.
    pub(super) fn check(&self, run: &Run) -> Result<()> {
        match run.status {
            z::Z_OK | z::Z_BUF_ERROR | z::Z_STREAM_END => Ok(()),
            z::Z_MEM_ERROR => Err(Error::limit("no memory for an inflater")),
            z::Z_NEED_DICT => {
                Err(Error::unsupported("compressed against a dictionary that is not in the file"))
            }
            _ if self.stream.msg.is_null() => Err(Error::malformed("not valid deflate")),
            // SAFETY: `msg` is a string of the library that ends with a zero byte.
            _ => Err(Error::malformed(unsafe { CStr::from_ptr(self.stream.msg) }.to_string_lossy())),
        }
    }
}

impl Decompressor for Inflater {
    fn begin(&mut self, _head: &[u8], number: u64) -> Result<Begin> {
        if number > 1 {
            return Ok(if self.zlib { Begin::Other("zlib") } else { Begin::End });
        }
        self.reset(self.zlib);
        Ok(Begin::Frame(0))
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], _last: bool) -> Result<Step> {
        let run = self.run(input, out, if self.stop { z::Z_BLOCK } else { z::Z_NO_FLUSH });
        *input = input.get(run.taken..).unwrap_or_default();
        self.check(&run)?;
        // 128: at the end of a block; 64: in the last one.
        let between = self.stop && self.stream.data_type & 0xc0 == 0x80;
        let state = match run.is_end() {
            true => State::End(None),
            false if between => State::Block((self.stream.data_type & 0x3f) as u8),
            false => State::More(1),
        };
        Ok(Step { made: run.made, state })
    }

    fn name(&self) -> String {
        if self.zlib { "zlib stream".to_owned() } else { "deflate data".to_owned() }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: `new` initialised the stream, and it is ended once.
        let _ = unsafe { z::inflateEnd(&mut *self.stream) };
    }
}

fn ok(status: i32) -> Result<(), i32> {
    if status == z::Z_OK { Ok(()) } else { Err(status) }
}

/// The inflater, if its stream was made. One that was not has nothing to end.
fn made(status: i32, inflater: Inflater) -> Result<Inflater> {
    ok(status).map(|()| inflater).map_err(|_| Error::limit("no memory for an inflater"))
}
