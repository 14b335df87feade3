//! Frames of AV1, by rav1d, which is dav1d in Rust with dav1d's interface in C. This is the only place that speaks it.
//! <https://aomediacodec.github.io/av1-spec/>

use super::picture::check_pixels;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use rav1d::include::dav1d::data::Dav1dData;
use rav1d::include::dav1d::dav1d::{Dav1dContext, Dav1dLogger, Dav1dSettings};
use rav1d::include::dav1d::picture::Dav1dPicture;
use rav1d::src::lib::{
    dav1d_close, dav1d_data_create, dav1d_data_unref, dav1d_default_settings, dav1d_get_picture, dav1d_open,
    dav1d_picture_unref, dav1d_send_data,
};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Pixels of one frame.
const PIXELS: u32 = 256 << 20;

/// A decoded frame: luminance, and blue and red differences where it has colours, of 8 to 12 bits in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) bits: u32,
    /// Pixels across and down that share a sample of colour; `None` without colours.
    pub(super) subsampling: Option<(usize, usize)>,
    pub(super) planes: [Vec<u16>; 3],
    /// Matrix of the colours (H.273) and whether samples use the full range.
    pub(super) matrix: u32,
    pub(super) full_range: bool,
}

/// A decoder of one stream.
pub(super) struct Decoder(Option<Dav1dContext>);

// SAFETY: the context is a counted pointer to a decoder that locks its own state; nothing of it belongs to one thread.
unsafe impl Send for Decoder {}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the context is one that `dav1d_open` gave and that was not closed; closing takes it.
        unsafe { dav1d_close(Some(NonNull::from(&mut self.0))) }
    }
}

impl Decoder {
    /// A decoder that works in the thread that asks.
    pub(super) fn new() -> Result<Self> {
        let mut settings = MaybeUninit::<Dav1dSettings>::uninit();
        let place = NonNull::from(&mut settings).cast::<Dav1dSettings>();
        // SAFETY: the place is that of settings, which are written as a whole.
        unsafe { dav1d_default_settings(place) };
        // SAFETY: they were just written.
        let mut settings = unsafe { settings.assume_init() };
        settings.n_threads = 1;
        settings.max_frame_delay = 1;
        settings.frame_size_limit = PIXELS;
        // SAFETY: a logger that calls nothing.
        settings.logger = unsafe { Dav1dLogger::new(None, None) };
        let mut context = None;
        // SAFETY: both places are valid for the call.
        let result =
            unsafe { dav1d_open(Some(NonNull::from(&mut context)), Some(NonNull::from(&mut settings))) };
        match result.0 {
            0 => Ok(Decoder(context)),
            code => Err(Error::limit(format!("AV1: no decoder could be made ({code})"))),
        }
    }

    /// Decodes one temporal unit: the frames that it gives.
    ///
    /// # Errors
    /// `Malformed` for damage; `Cancelled`.
    pub(super) fn decode(&mut self, task: &Task, unit: &[u8]) -> Result<Vec<Frame>> {
        if unit.is_empty() {
            return Err(Error::malformed("AV1: a frame without bytes"));
        }
        limits::check(unit.len() as u64, limits::CHUNK, "a frame of AV1")?;
        let mut data = Dav1dData::default();
        // SAFETY: the place is valid; a buffer of this many bytes is made.
        let buffer = unsafe { dav1d_data_create(Some(NonNull::from(&mut data)), unit.len()) };
        let Some(buffer) = NonNull::new(buffer) else {
            return Err(Error::limit("AV1: no memory for a frame"));
        };
        // SAFETY: the buffer has as many bytes as the unit and is not shared yet.
        unsafe { buffer.as_ptr().copy_from_nonoverlapping(unit.as_ptr(), unit.len()) };
        let mut frames = Vec::new();
        let result = self.run(task, &mut data, &mut frames);
        // SAFETY: data that were not taken are given back; of those that were nothing is left.
        unsafe { dav1d_data_unref(Some(NonNull::from(&mut data))) };
        result.map(|()| frames)
    }

    fn run(&mut self, task: &Task, data: &mut Dav1dData, frames: &mut Vec<Frame>) -> Result<()> {
        const AGAIN: i32 = -libc::EAGAIN;
        let mut sent = false;
        loop {
            task.check()?;
            if !sent {
                // SAFETY: the context is open and the data are valid.
                let code = unsafe { dav1d_send_data(self.0, Some(NonNull::from(&mut *data))) }.0;
                match code {
                    0 => sent = data.sz == 0,
                    AGAIN => {}
                    code => return Err(Error::malformed(format!("AV1: a frame cannot be decoded ({code})"))),
                }
            }
            let mut picture = Dav1dPicture::default();
            // SAFETY: the context is open and the place is valid.
            let code = unsafe { dav1d_get_picture(self.0, Some(NonNull::from(&mut picture))) }.0;
            match code {
                0 => {
                    let frame = copy(&picture);
                    // SAFETY: the picture is one that the decoder gave, and is not used again.
                    unsafe { dav1d_picture_unref(Some(NonNull::from(&mut picture))) };
                    frames.push(frame?);
                }
                AGAIN if sent => return Ok(()),
                AGAIN => {}
                code => return Err(Error::malformed(format!("AV1: a frame cannot be decoded ({code})"))),
            }
        }
    }
}

/// The samples of a picture.
fn copy(picture: &Dav1dPicture) -> Result<Frame> {
    let (width, height) = (picture.p.w.max(0) as usize, picture.p.h.max(0) as usize);
    check_pixels(width as u64, height as u64)?;
    let bits = picture.p.bpc.max(8) as u32;
    let subsampling = match picture.p.layout {
        rav1d::include::dav1d::headers::DAV1D_PIXEL_LAYOUT_I400 => None,
        rav1d::include::dav1d::headers::DAV1D_PIXEL_LAYOUT_I420 => Some((2, 2)),
        rav1d::include::dav1d::headers::DAV1D_PIXEL_LAYOUT_I422 => Some((2, 1)),
        _ => Some((1, 1)),
    };
    let (matrix, full_range) = match picture.seq_hdr {
        // SAFETY: the header belongs to the picture, which is held.
        Some(header) => unsafe { (header.as_ref().mtrx, header.as_ref().color_range != 0) },
        None => (2, false),
    };
    let mut frame =
        Frame { width, height, bits, subsampling, planes: Default::default(), matrix, full_range };
    let [luma, chroma] = picture.stride;
    for (n, plane) in frame.planes.iter_mut().enumerate() {
        let (across, down) = match (n, subsampling) {
            (0, _) => (width, height),
            (_, Some((h, v))) => (width.div_ceil(h), height.div_ceil(v)),
            (_, None) => break,
        };
        let stride = if n == 0 { luma } else { chroma };
        let Some(start) = picture.data.get(n).copied().flatten() else { break };
        let mut samples = Vec::new();
        samples
            .try_reserve_exact(across * down)
            .map_err(|_| Error::limit("AV1: no memory for the samples of a frame"))?;
        for row in 0..down as isize {
            // SAFETY: the picture has `down` rows of `across` samples in this plane, `stride` bytes apart; of more than 8
            // bits each takes two bytes, which are aligned.
            unsafe {
                let line = start.as_ptr().cast::<u8>().offset(row * stride);
                if bits == 8 {
                    samples
                        .extend(std::slice::from_raw_parts(line, across).iter().map(|byte| u16::from(*byte)));
                } else {
                    samples.extend_from_slice(std::slice::from_raw_parts(line.cast::<u16>(), across));
                }
            }
        }
        *plane = samples;
    }
    Ok(frame)
}
