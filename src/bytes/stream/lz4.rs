//! LZ4 frames (LZ4 Frame Format 1.6.4), the old "legacy" frames with them.

use super::{Codec, Feed, Notes, zstd};
use crate::bytes::codec::checksum::{self, XxHash32};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use lz4_flex::block;
use std::hash::Hasher;

/// The magic number of a frame.
pub const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// The magic number of a legacy frame.
pub const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// How far back a block may refer.
const WINDOW: usize = 64 << 10;
/// The size of a legacy frame's blocks.
const LEGACY_BLOCK: usize = 8 << 20;

/// Decodes all frames.
pub struct Lz4 {
    frames: u64,
    frame: Frame,
    /// The current block, decoded, and how much of it was handed out. Before it stand up to 64 kB
    /// of what came before, for blocks that refer there.
    block: Vec<u8>,
    given: usize,
    notes: Notes,
}

enum Frame {
    Between,
    Modern(Header),
    Legacy,
    Done,
}

/// What a frame's header says.
struct Header {
    linked: bool,
    block_checksum: bool,
    block_size: usize,
    content_size: Option<u64>,
    content: Option<XxHash32>,
    made: u64,
}

impl Lz4 {
    /// A decoder at the start.
    pub fn new() -> Self {
        Lz4 { frames: 0, frame: Frame::Between, block: Vec::new(), given: 0, notes: Notes::default() }
    }

    fn next_frame(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        let start = feed.at();
        let peeked = feed.peek(task, 8)?;
        let len = peeked.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        match peeked.first_chunk::<4>() {
            Some(&MAGIC) => {
                self.frames += 1;
                self.frame = Frame::Modern(header(task, feed, self.frames).map_err(|e| e.at(start))?);
                self.forget();
            }
            Some(&LEGACY) => {
                self.frames += 1;
                feed.skip(4);
                self.frame = Frame::Legacy;
                self.forget();
            }
            Some(&magic) if zstd::is_skippable(magic) => {
                let len = len.ok_or_else(|| cut(self.frames + 1).at(start))?;
                zstd::skip(task, feed, u64::from(len))?;
            }
            _ if self.frames == 0 => return Err(Error::malformed("LZ4 stream: there is no frame").at(start)),
            _ => {
                if !feed.only_zeros_left(task)? {
                    self.notes.remarks.push(format!(
                        "bytes after byte {start} do not belong to the LZ4 stream and are ignored"
                    ));
                }
                self.frame = Frame::Done;
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.block.clear();
        self.given = 0;
    }

    /// Decodes the next block of a modern frame, or its end.
    fn modern(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        let Frame::Modern(header) = &mut self.frame else { return Ok(()) };
        let (start, frame) = (feed.at(), self.frames);
        let size = peek_u32(task, feed)?.ok_or_else(|| cut(frame).at(start))?;
        if size == 0 {
            feed.skip(4);
            return self.end(task, feed);
        }
        let (plain, len) = (size >> 31 == 1, (size & 0x7fff_ffff) as usize);
        if len > header.block_size {
            return Err(Error::malformed(format!(
                "LZ4 frame {frame}: a block of {len} bytes, where its header allows {}",
                header.block_size
            ))
            .at(start));
        }
        let check = if header.block_checksum { 4 } else { 0 };
        let bytes = feed.peek(task, 4 + len + check)?;
        let data = bytes.get(4..4 + len).ok_or_else(|| cut(frame).at(start))?;
        if header.block_checksum {
            let stored = bytes.get(4 + len..4 + len + 4).ok_or_else(|| cut(frame).at(start))?;
            if stored != xxh32(data).to_le_bytes() {
                return Err(Error::malformed(format!(
                    "LZ4 frame {frame}: a block's checksum does not match"
                ))
                .at(start));
            }
        }
        let keep = if header.linked { self.block.len().min(WINDOW) } else { 0 };
        self.block.drain(..self.block.len() - keep);
        self.given = keep;
        if plain {
            self.block.extend_from_slice(data);
        } else {
            let window = self.block.clone();
            self.block.resize(keep + header.block_size, 0);
            let to = self.block.get_mut(keep..).unwrap_or_default();
            let made = block::decompress_into_with_dict(data, to, &window).map_err(|error| {
                Error::malformed(format!("LZ4 frame {frame}: a block is damaged: {error}")).at(start)
            })?;
            self.block.truncate(keep + made);
        }
        let made = self.block.get(keep..).unwrap_or_default();
        header.made += made.len() as u64;
        if let Some(content) = &mut header.content {
            content.write(made);
        }
        feed.skip((4 + len + check) as u64);
        Ok(())
    }

    /// The end of a modern frame: size and checksum of its content. Both are damage that does not
    /// stop the next frame.
    fn end(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        let frame = self.frames;
        let Frame::Modern(header) = std::mem::replace(&mut self.frame, Frame::Between) else { return Ok(()) };
        if let Some(content) = &header.content {
            let place = feed.at();
            let stored = feed.take::<4>(task)?.ok_or_else(|| cut(frame).at(place))?;
            if u32::from_le_bytes(stored) != content.finish_32() {
                self.notes.blame(
                    Error::malformed(format!(
                        "LZ4 frame {frame}: the checksum of its content does not match"
                    ))
                    .at(place),
                );
            }
        }
        if let Some(size) = header.content_size.filter(|&size| size != header.made) {
            self.notes.blame(
                Error::malformed(format!(
                    "LZ4 frame {frame}: it says that it holds {size} bytes, it holds {}",
                    header.made
                ))
                .at(feed.at()),
            );
        }
        Ok(())
    }

    /// Decodes the next block of a legacy frame; another magic number or the end of the file ends it.
    fn legacy(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        let (start, frame) = (feed.at(), self.frames);
        if feed.is_at_end(task)? {
            self.frame = Frame::Done;
            return Ok(());
        }
        let size = peek_u32(task, feed)?.ok_or_else(|| cut(frame).at(start))?;
        let magic = size.to_le_bytes();
        if magic == MAGIC || magic == LEGACY || zstd::is_skippable(magic) {
            self.frame = Frame::Between;
            return Ok(());
        }
        let len = size as usize;
        if len > LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16 {
            return Err(Error::malformed(format!(
                "LZ4 frame {frame}: a block of {len} bytes, the limit is 8 MiB"
            ))
            .at(start));
        }
        let data = feed.peek(task, 4 + len)?.get(4..4 + len).ok_or_else(|| cut(frame).at(start))?;
        self.block.resize(LEGACY_BLOCK, 0);
        let made = block::decompress_into(data, &mut self.block).map_err(|error| {
            Error::malformed(format!("LZ4 frame {frame}: a block is damaged: {error}")).at(start)
        })?;
        self.block.truncate(made);
        self.given = 0;
        feed.skip(4 + len as u64);
        Ok(())
    }
}

impl Default for Lz4 {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Lz4 {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            let left = self.block.get(self.given..).unwrap_or_default();
            if !left.is_empty() {
                let n = left.len().min(out.len());
                if let (Some(to), Some(from)) = (out.get_mut(..n), left.get(..n)) {
                    to.copy_from_slice(from);
                }
                self.given += n;
                return Ok(n);
            }
            match self.frame {
                Frame::Between => self.next_frame(task, feed)?,
                Frame::Modern(_) => self.modern(task, feed)?,
                Frame::Legacy => self.legacy(task, feed)?,
                Frame::Done => return Ok(0),
            }
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

/// Reads a frame's header.
fn header(task: &Task, feed: &mut Feed, frame: u64) -> Result<Header> {
    // At most: magic, flags, block descriptor, content size, dictionary, checksum.
    let bytes = feed.peek(task, 19)?;
    let &[_, _, _, _, flags, descriptor, ..] = bytes else { return Err(cut(frame)) };
    if flags >> 6 != 1 {
        return Err(Error::unsupported(format!("LZ4 frame {frame}: version {} of the format", flags >> 6)));
    }
    if flags & 1 != 0 {
        return Err(Error::unsupported(format!(
            "LZ4 frame {frame}: compressed against a dictionary that is not in the file"
        )));
    }
    let end = if flags & 8 != 0 { 14 } else { 6 };
    let described = bytes.get(4..end).ok_or_else(|| cut(frame))?;
    let check = *bytes.get(end).ok_or_else(|| cut(frame))?;
    if (xxh32(described) >> 8) as u8 != check {
        return Err(Error::malformed(format!(
            "LZ4 frame {frame}: the checksum of its header does not match"
        )));
    }
    let block_size = match descriptor >> 4 & 7 {
        size @ 4..=7 => 1usize << (8 + 2 * size),
        other => {
            return Err(Error::malformed(format!("LZ4 frame {frame}: block size {other} is not defined")));
        }
    };
    let content_size = bytes.get(6..14).filter(|_| flags & 8 != 0);
    let content_size = content_size.and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    feed.skip(end as u64 + 1);
    Ok(Header {
        linked: flags & 32 == 0,
        block_checksum: flags & 16 != 0,
        block_size,
        content_size,
        content: (flags & 4 != 0).then(|| XxHash32::with_seed(0)),
        made: 0,
    })
}

fn peek_u32(task: &Task, feed: &mut Feed) -> Result<Option<u32>> {
    Ok(feed.peek(task, 4)?.first_chunk::<4>().map(|&b| u32::from_le_bytes(b)))
}

fn cut(frame: u64) -> Error {
    Error::malformed(format!("LZ4 frame {frame}: it ends early; the file may be cut off"))
}

fn xxh32(bytes: &[u8]) -> u32 {
    checksum::xxhash32(bytes, 0)
}
