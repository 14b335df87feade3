//! GIF 87a and 89a. <https://www.w3.org/Graphics/GIF/spec-gif89a.txt>
//!
//! Opening walks the blocks and counts frames without decoding them; the `gif` crate decodes.

use super::picture::{self, Codec, Header, Player, blank, bytes_at, latin1};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use ::gif::{ColorOutput, DecodeOptions, DisposalMethod, MemoryLimit};
use bytes::Bytes;
use std::io::{BufRead, Cursor, Read};
use std::num::NonZeroU64;

/// Characters of comments that are kept, of all comments together.
const COMMENTS: usize = 1 << 20;

/// Walks the blocks.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut walk = Walk { reader: source.reader(task), seen: Seen::default() };
    let Some((width, height)) = walk.screen()? else {
        return Err(Error::malformed("GIF: its screen descriptor is cut off").at(6));
    };
    (walk.seen.header.info.width, walk.seen.header.info.height) = (width.into(), height.into());
    if walk.blocks(task)?.is_none() {
        let what = "GIF: it ends before its end mark; the file may be cut off";
        walk.seen.header.problem = Some(Error::malformed(what).at(walk.reader.position()));
    }
    let mut seen = walk.seen;
    if seen.frames == 0 {
        return Err(Error::malformed("GIF: it has no picture"));
    }
    let alpha = seen.see_through;
    let info = &mut seen.header.info;
    (info.channels, info.bits, info.sample, info.alpha) = (3 + u32::from(alpha), 8, Sample::U8, alpha);
    info.frames = seen.frames;
    picture::node(source, seen.header, Gif { alpha })
}

#[derive(Default)]
struct Seen {
    header: Header,
    frames: u64,
    see_through: bool,
    /// Of the graphic control before the next picture.
    transparent: bool,
    disposal: u8,
    comments: usize,
    milliseconds: u64,
    /// The delay that the last graphic control said, for the next picture.
    delay: u32,
}

struct Walk {
    reader: Reader,
    seen: Seen,
}

/// `None` where the file ends.
type Found<T> = Result<Option<T>>;

impl Walk {
    fn bytes<const N: usize>(&mut self) -> Found<[u8; N]> {
        let mut out = [0; N];
        match self.reader.read_exact(&mut out) {
            Ok(()) => Ok(Some(out)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn skip(&mut self, mut count: usize) -> Found<()> {
        while count > 0 {
            let available = self.reader.fill_buf()?.len();
            if available == 0 {
                return Ok(None);
            }
            let step = available.min(count);
            self.reader.consume(step);
            count -= step;
        }
        Ok(Some(()))
    }

    fn screen(&mut self) -> Found<(u16, u16)> {
        let Some([_, _, _, a, b, c, w0, w1, h0, h1, flags, ..]) = self.bytes::<13>()? else {
            return Ok(None);
        };
        let header = &mut self.seen.header;
        header.detail("version", format!("{}{}{}", char::from(a), char::from(b), char::from(c)));
        let size = (u16::from_le_bytes([w0, w1]), u16::from_le_bytes([h0, h1]));
        if flags & 0x80 == 0 {
            header.detail("global palette", "none");
            return Ok(Some(size));
        }
        let colours = 2usize << (flags & 7);
        header.detail("global palette", format!("{colours} colours"));
        Ok(self.skip(colours * 3)?.map(|()| size))
    }

    /// Walks to the end mark.
    fn blocks(&mut self, task: &Task) -> Found<()> {
        loop {
            task.check()?;
            let Some([kind]) = self.bytes()? else { return Ok(None) };
            let found = match kind {
                0x2c => self.picture()?,
                0x21 => self.extension()?,
                0x3b => {
                    let seconds = self.seen.milliseconds as f64 / 1000.0;
                    if self.seen.frames > 1 {
                        self.seen.header.detail("duration", format!("{seconds} s"));
                    }
                    return Ok(Some(()));
                }
                0 => Some(()),
                other => {
                    let at = self.reader.position().saturating_sub(1);
                    let what = format!("GIF: a block of the unknown kind {other:#04x}");
                    self.seen.header.problem = Some(Error::malformed(what).at(at));
                    return Ok(Some(()));
                }
            };
            if found.is_none() {
                return Ok(None);
            }
        }
    }

    fn picture(&mut self) -> Found<()> {
        let Some([x0, x1, y0, y1, w0, w1, h0, h1, flags]) = self.bytes()? else { return Ok(None) };
        let seen = &mut self.seen;
        let place = [[x0, x1], [y0, y1], [w0, w1], [h0, h1]].map(|b| u64::from(u16::from_le_bytes(b)));
        let [x, y, width, height] = place;
        if seen.frames == 0 {
            let info = &mut seen.header.info;
            // Files without a screen size take the first picture's.
            if info.width == 0 || info.height == 0 {
                (info.width, info.height) = (width, height);
            }
            let whole = x == 0 && y == 0 && width >= info.width && height >= info.height;
            seen.see_through = seen.transparent || !whole;
            seen.header.detail("interlaced", if flags & 0x40 != 0 { "yes" } else { "no" });
        } else if seen.disposal == 2 {
            // Cleared places show what is behind the picture.
            seen.see_through = true;
        }
        let palette = if flags & 0x80 != 0 { (2usize << (flags & 7)) * 3 } else { 0 };
        if self.skip(palette + 1)?.is_none() || self.sub_blocks(|_| {})?.is_none() {
            // A picture whose head is there counts: what there is of it can be shown.
            self.seen.count();
            return Ok(None);
        }
        self.seen.count();
        self.seen.disposal = self.seen.disposal_next();
        Ok(Some(()))
    }

    fn extension(&mut self) -> Found<()> {
        let Some([label]) = self.bytes()? else { return Ok(None) };
        let mut data = Vec::new();
        let keep = matches!(label, 0xf9 | 0xfe | 0xff);
        let room = COMMENTS.saturating_sub(self.seen.comments);
        let found = self.sub_blocks(|block| {
            if keep && data.len() < room.max(1024) {
                data.extend_from_slice(block);
            }
        })?;
        self.seen.extension(label, &data);
        Ok(found)
    }

    /// Walks sub-blocks up to the empty one.
    fn sub_blocks(&mut self, mut each: impl FnMut(&[u8])) -> Found<()> {
        let mut block = [0; 255];
        loop {
            let Some([len]) = self.bytes()? else { return Ok(None) };
            if len == 0 {
                return Ok(Some(()));
            }
            let Some(part) = block.get_mut(..usize::from(len)) else { return Ok(None) };
            match self.reader.read_exact(part) {
                Ok(()) => each(part),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Seen {
    /// The disposal that the control before this picture asked for.
    fn disposal_next(&mut self) -> u8 {
        let disposal = self.disposal;
        self.transparent = false;
        disposal
    }

    /// Counts a picture, with how long it stands.
    fn count(&mut self) {
        /// Of so many the times are kept.
        const TIMED: usize = 1 << 20;
        self.frames += 1;
        let delay = std::mem::take(&mut self.delay);
        let times = &mut self.header.info.frame_times;
        if times.len() < TIMED {
            times.push(delay);
        }
    }

    fn extension(&mut self, label: u8, data: &[u8]) {
        match label {
            0xf9 => {
                let flags = data.first().copied().unwrap_or_default();
                self.transparent = flags & 1 != 0;
                self.disposal = flags >> 2 & 7;
                self.delay = bytes_at(data, 1).map_or(0, |b| u32::from(u16::from_le_bytes(b)) * 10);
                self.milliseconds += u64::from(self.delay);
            }
            0xfe => {
                self.comments += data.len();
                let text = String::from_utf8(data.to_vec()).unwrap_or_else(|_| latin1(data));
                self.header.attribute("comment", text);
            }
            0xff if data.starts_with(b"NETSCAPE2.0") || data.starts_with(b"ANIMEXTS1.0") => {
                if let Some(times) = bytes_at(data, 12).map(u16::from_le_bytes) {
                    let words = if times == 0 { "for ever".to_owned() } else { format!("{times} times") };
                    self.header.detail("repeats", words);
                }
            }
            0xff => {
                let name = latin1(data.get(..data.len().min(11)).unwrap_or_default());
                self.header.attribute("application", name.trim_end_matches('\0'));
            }
            _ => {}
        }
    }
}

struct Gif {
    alpha: bool,
}

impl Codec for Gif {
    fn frame(&self, _task: &Task, _source: &Source, _frame: u64, _partial: bool) -> Result<Pixels> {
        Err(Error::bug("a GIF is read by its player"))
    }

    fn play(&self, task: &Task, source: &Source, partial: bool) -> Result<Option<Box<dyn Player>>> {
        let bytes = source.read(task, 0..source.len(task)?)?;
        let mut options = DecodeOptions::new();
        options.set_color_output(ColorOutput::Indexed);
        options.allow_unknown_blocks(true);
        if let Some(most) = NonZeroU64::new(limits::CHUNK) {
            options.set_memory_limit(MemoryLimit::Bytes(most));
        }
        let decoder = options.read_info(Cursor::new(bytes)).map_err(refused)?;
        Ok(Some(Box::new(Animation { decoder, alpha: self.alpha, partial, canvas: None, before: None })))
    }
}

/// A GIF at some frame. The canvas is RGBA.
struct Animation {
    decoder: ::gif::Decoder<Cursor<Bytes>>,
    alpha: bool,
    partial: bool,
    canvas: Option<Pixels>,
    /// What the next frame undoes first: the frame's place, and what was there if it comes back.
    before: Option<(Place, Option<Vec<u8>>)>,
}

#[derive(Clone, Copy)]
struct Place {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Player for Animation {
    fn next(&mut self, task: &Task) -> Result<Pixels> {
        let frame = self.decoder.next_frame_info().map_err(refused)?;
        let frame = frame.ok_or_else(|| Error::malformed("GIF: it has fewer frames than blocks of them"))?;
        let place = Place {
            left: frame.left.into(),
            top: frame.top.into(),
            width: frame.width.into(),
            height: frame.height.into(),
        };
        let (disposal, transparent, local) = (frame.dispose, frame.transparent, frame.palette.clone());
        let mut indices = limits::buffer(place.width as u64 * place.height as u64, "the decoded frame")?;
        let decoded = self.decoder.read_into_buffer(&mut indices);
        task.check()?;
        if let Err(error) = decoded
            && !self.partial
        {
            return Err(refused(error));
        }
        let mut canvas = match self.canvas.take() {
            Some(canvas) => canvas,
            None => {
                let (mut width, mut height) = (self.decoder.width().into(), self.decoder.height().into());
                if width == 0 || height == 0 {
                    (width, height) = (place.width as u64, place.height as u64);
                }
                blank(width, height, 4, Sample::U8, true)?
            }
        };
        match self.before.take() {
            Some((_, Some(saved))) => canvas.data = saved,
            Some((place, None)) => each_row(&mut canvas, place, |row, _| row.fill(0)),
            None => {}
        }
        self.before = match disposal {
            DisposalMethod::Background => Some((place, None)),
            DisposalMethod::Previous => Some((place, Some(canvas.data.clone()))),
            _ => None,
        };
        let palette = local.as_deref().or(self.decoder.global_palette()).unwrap_or_default();
        each_row(&mut canvas, place, |row, y| {
            let line = indices.get(y * place.width..).unwrap_or_default();
            for (pixel, &index) in row.as_chunks_mut::<4>().0.iter_mut().zip(line) {
                let [r, g, b] = bytes_at(palette, usize::from(index) * 3).unwrap_or_default();
                if Some(index) != transparent {
                    *pixel = [r, g, b, 255];
                } else if pixel[3] == 0 {
                    // Nothing is seen here; the colour stays what the palette says.
                    *pixel = [r, g, b, 0];
                }
            }
        });
        let shown = if self.alpha { canvas.clone() } else { opaque(&canvas) };
        self.canvas = Some(canvas);
        Ok(shown)
    }
}

/// Visits the canvas' part of each row of a frame; the row's number is the frame's.
fn each_row(canvas: &mut Pixels, place: Place, mut visit: impl FnMut(&mut [u8], usize)) {
    let width = canvas.width as usize;
    let (left, right) = (place.left.min(width) * 4, (place.left + place.width).min(width) * 4);
    let lines = canvas.data.chunks_exact_mut(width.max(1) * 4).skip(place.top).take(place.height);
    for (y, line) in lines.enumerate() {
        if let Some(part) = line.get_mut(left..right) {
            visit(part, y);
        }
    }
}

fn opaque(canvas: &Pixels) -> Pixels {
    let data = canvas.data.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
    Pixels { channels: 3, alpha: false, data, ..*canvas }
}

fn refused(error: ::gif::DecodingError) -> Error {
    match error {
        ::gif::DecodingError::Io(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::malformed("GIF: its pixels end too early")
        }
        ::gif::DecodingError::Io(io) => io.into(),
        other => Error::malformed(format!("GIF: {other}")),
    }
}
