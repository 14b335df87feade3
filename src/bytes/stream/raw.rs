//! Raw deflate (RFC 1951) that can stop between blocks and go on from there later: the two abilities of
//! zlib that random access needs and flate2 does not hand through. The only unsafe code of the streams.

use crate::bytes::error::{Error, Result};
use libz_rs_sys as z;
use std::ffi::CStr;

/// The most that a window can hold: how far back deflate refers.
pub(super) const WINDOW: usize = 32 << 10;

/// An inflater of raw deflate data.
pub(super) struct Raw(Box<z::z_stream>);

// SAFETY: the raw pointers in a z_stream lead to the inflater's own heap memory; those to input and
// output are null except during a call (see `inflate`). Nothing in it belongs to a thread, and every use
// takes `&mut self`.
unsafe impl Send for Raw {}

/// What one call of [`Raw::inflate`] did.
pub(super) struct Step {
    /// Bytes of input that were used.
    pub taken: usize,
    /// Bytes of output that were made.
    pub made: usize,
    /// The end of the deflate data was reached.
    pub end: bool,
    /// It stopped between two blocks, of which the second exists; so many bits of the used bytes, their
    /// last ones, belong to that one.
    pub between: Option<u8>,
}

impl Raw {
    /// An inflater at the start of its data.
    pub(super) fn new() -> Result<Self> {
        let mut stream = Box::<z::z_stream>::default();
        let size = std::mem::size_of::<z::z_stream>() as i32;
        // SAFETY: the stream is alive and borrowed by this call alone; version and size are those of the
        // library that this is compiled against. Negative bits: no zlib header.
        let status = unsafe { z::inflateInit2_(&mut *stream, -15, z::zlibVersion(), size) };
        if status == z::Z_OK { Ok(Raw(stream)) } else { Err(Error::limit("no memory for an inflater")) }
    }

    /// Begins with new data.
    pub(super) fn reset(&mut self) {
        // SAFETY: `new` initialised the stream. The call fails for uninitialised ones only.
        let _ = unsafe { z::inflateReset(&mut *self.0) };
    }

    /// Goes to a place between two blocks: `window` is what came out before it (up to 32 KB), `bits` the
    /// number of bits of `byte`, its highest, that belong to the next block.
    pub(super) fn resume(&mut self, window: &[u8], bits: u8, byte: u8) -> Result<()> {
        self.reset();
        let bad = |_| Error::bug("an inflater does not take its place");
        let value = if (1..8).contains(&bits) { i32::from(byte >> (8 - bits)) } else { 0 };
        if bits > 0 {
            // SAFETY: the stream is initialised; at most 7 bits are given.
            ok(unsafe { z::inflatePrime(&mut *self.0, i32::from(bits.min(7)), value) }).map_err(bad)?;
        }
        let window = window.get(window.len().saturating_sub(WINDOW)..).unwrap_or_default();
        if !window.is_empty() {
            // SAFETY: the stream is initialised; the slice outlives the call, which copies it.
            ok(unsafe { z::inflateSetDictionary(&mut *self.0, window.as_ptr(), window.len() as u32) })
                .map_err(bad)?;
        }
        Ok(())
    }

    /// A second inflater that stands at the same place, also in the middle of a block.
    pub(super) fn copy(&mut self) -> Result<Raw> {
        let mut stream = Box::<z::z_stream>::default();
        // The library refuses a source without an output, even of no bytes.
        let mut nowhere = 0u8;
        self.0.next_out = &raw mut nowhere;
        // SAFETY: the source is initialised and at rest, its output has room for no byte; the target is
        // alive, owns nothing yet, and is given memory of its own.
        let status = unsafe { z::inflateCopy(&mut *stream, &*self.0) };
        self.0.next_out = std::ptr::null_mut();
        stream.next_out = std::ptr::null_mut();
        if status == z::Z_OK { Ok(Raw(stream)) } else { Err(Error::limit("no memory for an inflater")) }
    }

    /// Inflates from `input` into `out`. With `stop`, no further than to the end of the current block.
    ///
    /// # Errors
    /// `Malformed` in zlib's words, without a place.
    pub(super) fn inflate(&mut self, input: &[u8], out: &mut [u8], stop: bool) -> Result<Step> {
        let (given, room) = (input.len().min(1 << 30), out.len().min(1 << 30));
        let stream = &mut *self.0;
        stream.next_in = input.as_ptr();
        stream.avail_in = given as u32;
        stream.next_out = out.as_mut_ptr();
        stream.avail_out = room as u32;
        let flush = if stop { z::Z_BLOCK } else { z::Z_NO_FLUSH };
        // SAFETY: input and output are live slices of at least the lengths given, they do not overlap
        // (one is borrowed mutably), and the stream is initialised and borrowed by this call alone.
        let status = unsafe { z::inflate(stream, flush) };
        let (taken, made) = (given - stream.avail_in as usize, room - stream.avail_out as usize);
        stream.next_in = std::ptr::null();
        stream.avail_in = 0;
        stream.next_out = std::ptr::null_mut();
        stream.avail_out = 0;
        match status {
            z::Z_OK | z::Z_BUF_ERROR | z::Z_STREAM_END => Ok(Step {
                taken,
                made,
                end: status == z::Z_STREAM_END,
                // 128: at the end of a block; 64: in the last one.
                between: (stream.data_type & 0xc0 == 0x80).then_some((stream.data_type & 0x3f) as u8),
            }),
            z::Z_MEM_ERROR => Err(Error::limit("no memory for an inflater")),
            _ => Err(Error::malformed(self.message())),
        }
    }

    fn message(&self) -> String {
        if self.0.msg.is_null() {
            return "not valid deflate".to_owned();
        }
        // SAFETY: `msg` is null or a string of the library that ends with a zero byte.
        unsafe { CStr::from_ptr(self.0.msg) }.to_string_lossy().into_owned()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: `new` initialised the stream, and it is ended once.
        let _ = unsafe { z::inflateEnd(&mut *self.0) };
    }
}

fn ok(status: i32) -> Result<(), i32> {
    if status == z::Z_OK { Ok(()) } else { Err(status) }
}
