//! What all picture formats share: the [`Image`] over a codec with its decoded frames,
//! and the way from a header to a node.

use crate::bytes::cache::{Cache, Reservation};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::node::{Node, Value};
use crate::engines::picture_metadata::{self, Blocks};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of decoded frames that a picture keeps. The frame read last is kept whatever its size, so that a picture shown
/// by tiles is decoded once.
const KEPT: usize = 256 << 20;
/// Animations whose decoder is kept at its place, so that playing on does not start again.
const WAITING: usize = 4;
/// Bytes of an animation's canvas: it is held by what composes it, and once more as the frame that is shown.
const CANVAS: u64 = 384 << 20;

/// What a format's headers told.
#[derive(Default)]
pub(super) struct Header {
    pub(super) info: ImageInfo,
    pub(super) attributes: Vec<(String, Value)>,
    pub(super) remarks: Vec<String>,
    /// Why a part of the pixels will be missing: the rest is decoded, and stays zero where it ends.
    pub(super) problem: Option<Error>,
    /// EXIF, XMP, IPTC and a profile as they stand in the file.
    pub(super) blocks: Blocks,
}

impl Header {
    /// A line for the inspector.
    pub(super) fn detail(&mut self, name: &str, value: impl Into<String>) {
        self.info.details.push((name.to_owned(), value.into()));
    }

    /// A profile, by its name.
    pub(super) fn profile(&mut self, profile: Bytes) {
        let name = picture_metadata::description(&profile).unwrap_or_else(|| "damaged".to_owned());
        self.detail("ICC profile", name);
        self.info.profile = Arc::from(profile.as_ref());
        self.blocks.profile = Some(profile);
    }

    /// An XMP packet.
    pub(super) fn xmp(&mut self, packet: &[u8]) {
        self.attribute("XMP", String::from_utf8_lossy(packet).into_owned());
        self.blocks.xmp.push(Bytes::copy_from_slice(packet));
    }

    /// Something the file says of itself.
    pub(super) fn attribute(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.attributes.push((name.into(), value.into()));
    }
}

/// Decodes frames of one file.
pub(super) trait Codec: Send + Sync {
    /// All pixels of one frame. `partial` asks for what there is of a file that is known to be cut.
    fn frame(&self, task: &Task, source: &Source, frame: u64, partial: bool) -> Result<Pixels>;

    /// For animations whose frames build on each other: frames from the first on. `None` for files
    /// whose frames stand alone.
    fn play(&self, _task: &Task, _source: &Source, _partial: bool) -> Result<Option<Box<dyn Player>>> {
        Ok(None)
    }

    /// Only the pixels of `rect`, where the codec can do with less than the frame.
    fn region(&self, _task: &Task, _source: &Source, _frame: u64, _rect: Rect) -> Result<Option<Pixels>> {
        Ok(None)
    }

    /// The pixels of `rect` at a level above the full resolution.
    fn level(&self, _task: &Task, _source: &Source, frame: u64, level: u32, _rect: Rect) -> Result<Pixels> {
        Err(Error::bug(format!("frame {frame} at level {level} was asked for")))
    }

    /// As [`Image::reduced`].
    fn reduced(
        &self,
        _task: &Task,
        _source: &Source,
        _frame: u64,
        _sides: (u64, u64),
        _partial: bool,
    ) -> Result<Option<Pixels>> {
        Ok(None)
    }

    /// The samples of `rect` as the file holds them, where `frame` makes other ones of them.
    fn stored(&self, _task: &Task, _source: &Source, _frame: u64, _rect: Rect) -> Result<Option<Pixels>> {
        Ok(None)
    }

    /// As [`Image::unstored_rows`].
    fn unstored_rows(&self, _task: &Task, _source: &Source, _frame: u64, _y: u64) -> Result<u64> {
        Ok(0)
    }

    /// The size of one frame, where frames differ.
    fn size(&self, _frame: u64) -> Option<(u64, u64)> {
        None
    }
}

/// Composes the frames of an animation one after the other.
pub(super) trait Player: Send {
    /// The next whole picture.
    fn next(&mut self, task: &Task) -> Result<Pixels>;
}

/// A picture in a file.
struct Picture {
    id: u64,
    source: Source,
    info: ImageInfo,
    codec: Box<dyn Codec>,
    partial: bool,
    /// Decoded frames by their numbers.
    frames: Cache<u64, Arc<Pixels>>,
}

/// The node of a picture.
pub(super) fn node(source: &Source, header: Header, codec: impl Codec + 'static) -> Result<Node> {
    let mut info = header.info;
    if info.width == 0 || info.height == 0 {
        let size = format!("{} × {}", info.width, info.height);
        return Err(Error::malformed(format!("header: an image of {size} pixels")));
    }
    if info.levels.is_empty() {
        info.levels = vec![(info.width, info.height)];
    }
    info.frames = info.frames.max(1);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let picture = Picture {
        id: NEXT.fetch_add(1, Ordering::Relaxed),
        source: source.clone(),
        info,
        codec: Box::new(codec),
        partial: header.problem.is_some(),
        frames: Cache::with_last(KEPT),
    };
    let mut node = Node::new(source.name(), "image").content(Content::Image(Arc::new(picture)));
    node.attributes = header.attributes;
    node.remarks = header.remarks;
    node.problem = header.problem;
    Ok(header.blocks.below(node, Vec::new()))
}

/// What a decoded frame takes, about.
fn frame_bytes(info: &ImageInfo) -> usize {
    let pixel = u64::from(info.channels).saturating_mul(info.sample.size() as u64);
    let bytes = info.width.saturating_mul(info.height).saturating_mul(pixel);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Image for Picture {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        task.check()?;
        if frame >= self.info.frames || level as usize >= self.info.levels.len() {
            return Err(Error::bug(format!("frame {frame} at level {level} was asked for")));
        }
        if level > 0 {
            let (width, height) = self.info.levels.get(level as usize).copied().unwrap_or_default();
            let rect = rect.cut(width, height);
            return crate::bytes::guard::catch_decoder_panic("the picture", || {
                self.codec.level(task, &self.source, frame, level, rect)
            });
        }
        let (width, height) = self.codec.size(frame).unwrap_or((self.info.width, self.info.height));
        let rect = rect.cut(width, height);
        let all = rect == Rect::all(width, height);
        if let Some(pixels) = self.frames.get(&frame) {
            return Ok(if all { (*pixels).clone() } else { pixels.crop(rect) });
        }
        if !all && let Some(pixels) = self.codec.region(task, &self.source, frame, rect)? {
            return Ok(pixels);
        }
        check_pixels(width, height)?;
        let pixels = Arc::new(self.decode(task, frame)?);
        self.frames.put(frame, pixels.clone(), pixels.data.len());
        Ok(if all { (*pixels).clone() } else { pixels.crop(rect) })
    }

    fn reduced(&self, task: &Task, frame: u64, width: u64, height: u64) -> Result<Option<Pixels>> {
        task.check()?;
        if self.frames.peek(&frame).is_some() {
            return Ok(None);
        }
        crate::bytes::guard::catch_decoder_panic("the picture", || {
            self.codec.reduced(task, &self.source, frame, (width, height), self.partial)
        })
    }

    fn stored(&self, task: &Task, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        task.check()?;
        let (width, height) = self.codec.size(frame).unwrap_or((self.info.width, self.info.height));
        crate::bytes::guard::guarded(|| self.codec.stored(task, &self.source, frame, rect.cut(width, height)))
    }

    fn unstored_rows(&self, task: &Task, frame: u64, y: u64) -> Result<u64> {
        task.check()?;
        self.codec.unstored_rows(task, &self.source, frame, y)
    }
}

impl Picture {
    fn decode(&self, task: &Task, frame: u64) -> Result<Pixels> {
        // Decoders of other people's may panic on what breaks their format's rules.
        let decoded =
            crate::bytes::guard::catch_decoder_panic("the picture", || match self.play(task, frame)? {
                Some(pixels) => Ok(pixels),
                None => self.codec.frame(task, &self.source, frame, self.partial),
            });
        task.check()?;
        decoded
    }

    /// Plays up to `frame`, from where an earlier read stopped if that lies before it.
    fn play(&self, task: &Task, frame: u64) -> Result<Option<Pixels>> {
        let (mut player, mut at) = match waiting(self.id, frame) {
            Some(kept) => kept,
            None => match self.codec.play(task, &self.source, self.partial)? {
                Some(player) if self.info.frames > 1 => {
                    check_canvas(self.info.width, self.info.height, self.info.channels)?;
                    (player, 0)
                }
                Some(player) => (player, 0),
                None => return Ok(None),
            },
        };
        loop {
            task.check()?;
            let pixels = player.next(task)?;
            if at == frame {
                self.keep(at + 1, player);
                return Ok(Some(pixels));
            }
            at += 1;
        }
    }
}

impl Picture {
    /// Lets a player wait for whoever plays on.
    fn keep(&self, next: u64, player: Box<dyn Player>) {
        let canvas = Reservation::new(frame_bytes(&self.info));
        let mut players = PLAYERS.lock();
        players.retain(|waiting| waiting.id != self.id);
        players.push_back(Waiting { id: self.id, next, player, _canvas: canvas });
        if players.len() > WAITING {
            players.pop_front();
        }
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        PLAYERS.lock().retain(|waiting| waiting.id != self.id);
    }
}

/// A player that stands before a frame of a picture.
struct Waiting {
    id: u64,
    next: u64,
    player: Box<dyn Player>,
    /// What it composes frames on.
    _canvas: Reservation,
}

/// The players of all pictures, the ones used last at the back.
static PLAYERS: Mutex<VecDeque<Waiting>> = Mutex::new(VecDeque::new());

/// The player of a picture that has not passed a frame yet, and the frame that it gives next.
fn waiting(id: u64, frame: u64) -> Option<(Box<dyn Player>, u64)> {
    let mut players = PLAYERS.lock();
    let at = players.iter().position(|waiting| waiting.id == id && waiting.next <= frame)?;
    players.remove(at).map(|waiting| (waiting.player, waiting.next))
}

/// Refuses pictures with more pixels than are decoded at once.
pub(super) fn check_pixels(width: u64, height: u64) -> Result<()> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= limits::PIXELS => Ok(()),
        _ => {
            let most = limits::PIXELS;
            Err(Error::limit(format!("an image of {width} × {height} pixels, the limit is {most} pixels")))
        }
    }
}

/// Refuses animations whose canvas, with so many channels of a byte, would take too much memory.
pub(super) fn check_canvas(width: u64, height: u64, channels: u32) -> Result<()> {
    let bytes = limits::bytes(&[width, height], channels.into())?;
    limits::check(bytes, CANVAS, "the canvas of the animation").map(drop)
}

/// Empty pixels: zeros, allocated within the limits.
pub(super) fn blank(width: u64, height: u64, channels: u32, sample: Sample, alpha: bool) -> Result<Pixels> {
    check_pixels(width, height)?;
    let bytes = limits::bytes(&[width, height, u64::from(channels)], sample.size() as u64)?;
    let data = limits::buffer(bytes, "the decoded image")?;
    Ok(Pixels { width, height, channels, sample, alpha, data })
}

/// The bytes at `offset`, as an array.
pub(super) fn bytes_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

/// Bytes of a text in ISO 8859-1, whose bytes are the first characters of Unicode.
pub(super) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| char::from(b)).collect()
}
