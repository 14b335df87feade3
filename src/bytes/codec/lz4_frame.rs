//! LZ4 frames (LZ4 Frame Format 1.6.4), the old "legacy" frames with them.

use super::checksum::{Xxh32, xxhash32};
use super::decompress::{Begin, Decompressor, State, Step};
use super::zstd;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use lz4_flex::block;

/// The magic number of a frame.
pub const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// The magic number of a legacy frame.
pub const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// How far back a block may refer.
const WINDOW: usize = 64 << 10;
/// The size of a legacy frame's blocks.
const LEGACY_BLOCK: usize = 8 << 20;

/// Decompresses all frames.
#[derive(Default)]
pub struct Lz4 {
    frame: u64,
    header: Header,
    /// What came before, for blocks that refer there.
    window: Vec<u8>,
    /// A block that did not fit the output, and which part of it was not handed out.
    block: Vec<u8>,
    left: std::ops::Range<usize>,
    made: u64,
}

/// What a frame's header says.
#[derive(Default)]
struct Header {
    legacy: bool,
    linked: bool,
    block_checksum: bool,
    block_size: usize,
    content_size: Option<u64>,
    content: Option<Xxh32>,
}

/// What stands at the start of the input.
enum Next<'a> {
    /// A block, with its length in the input.
    Block { data: &'a [u8], plain: bool, len: usize },
    /// Less than is needed, or the end.
    Other(State),
}

impl Lz4 {
    /// Finds the next block of a modern frame, or its end.
    fn modern<'a>(&self, input: &mut &'a [u8]) -> Result<Next<'a>> {
        let Some(size) = le::<u32>(input, 0) else { return Ok(Next::Other(State::More(4))) };
        if size == 0 {
            return Ok(Next::Other(self.end(input)));
        }
        let (plain, len) = (size >> 31 == 1, (size & 0x7fff_ffff) as usize);
        if len > self.header.block_size {
            return Err(Error::malformed(format!(
                "a block of {len} bytes, where its header allows {}",
                self.header.block_size
            )));
        }
        let whole = 4 + len + if self.header.block_checksum { 4 } else { 0 };
        let (Some(data), true) = (input.get(4..4 + len), input.len() >= whole) else {
            return Ok(Next::Other(State::More(whole)));
        };
        if self.header.block_checksum && le::<u32>(input, 4 + len) != Some(xxhash32(data, 0)) {
            return Err(Error::malformed("a block's checksum does not match"));
        }
        Ok(Next::Block { data, plain, len: whole })
    }

    /// The end of a modern frame: checksum and size of its content. Both are damage that does not
    /// stop the next frame.
    fn end(&self, input: &mut &[u8]) -> State {
        let (frame, mut problem, mut len) = (self.frame, None, 4);
        if let Some(content) = &self.header.content {
            let Some(stored) = le::<u32>(input, 4) else { return State::More(8) };
            len = 8;
            if stored != content.digest() {
                let what = format!("LZ4 frame {frame}: the checksum of its content does not match");
                problem = Some((Error::malformed(what), 4));
            }
        }
        *input = input.get(len..).unwrap_or_default();
        if let Some(size) = self.header.content_size.filter(|&size| size != self.made) {
            let what =
                format!("LZ4 frame {frame}: it says that it holds {size} bytes, it holds {}", self.made);
            problem = problem.or(Some((Error::malformed(what), 0)));
        }
        State::End(problem)
    }

    /// Finds the next block of a legacy frame; another magic number or the end of the file ends it.
    fn legacy<'a>(input: &mut &'a [u8], last: bool) -> Result<Next<'a>> {
        let Some(magic) = input.first_chunk::<4>() else {
            let is_end = input.is_empty() && last;
            return Ok(Next::Other(if is_end { State::End(None) } else { State::More(4) }));
        };
        if *magic == MAGIC || *magic == LEGACY || zstd::is_skippable(*magic) {
            return Ok(Next::Other(State::End(None)));
        }
        let len = u32::from_le_bytes(*magic) as usize;
        if len > LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16 {
            return Err(Error::malformed(format!("a block of {len} bytes, the limit is 8 MiB")));
        }
        Ok(match input.get(4..4 + len) {
            Some(data) => Next::Block { data, plain: false, len: 4 + len },
            None => Next::Other(State::More(4 + len)),
        })
    }

    /// Decompresses a block, into `out` where all of it fits there; how many bytes of that it filled.
    fn decompress(&mut self, data: &[u8], plain: bool, out: &mut [u8]) -> Result<usize> {
        let size = self.header.block_size;
        let fits = out.len() >= size;
        let to = if fits {
            out.get_mut(..size).unwrap_or_default()
        } else {
            self.block.resize(size, 0);
            &mut self.block
        };
        let made = match to.get_mut(..data.len()).filter(|_| plain) {
            Some(to) => {
                to.copy_from_slice(data);
                Ok(data.len())
            }
            None if self.window.is_empty() => block::decompress_into(data, to),
            None => block::decompress_into_with_dict(data, to, &self.window),
        };
        let made = made.map_err(|error| Error::malformed(format!("a block is damaged: {error}")))?;
        let new = to.get(..made).unwrap_or_default();
        self.made += made as u64;
        if let Some(content) = &mut self.header.content {
            content.update(new);
        }
        if self.header.linked {
            let kept = WINDOW.saturating_sub(made).min(self.window.len());
            self.window.drain(..self.window.len() - kept);
            self.window.extend_from_slice(new.get(made.saturating_sub(WINDOW)..).unwrap_or_default());
        }
        self.left = if fits { 0..0 } else { 0..made };
        Ok(if fits { made } else { 0 })
    }
}

impl Decompressor for Lz4 {
    fn head(&self) -> usize {
        // At most: magic, flags, block descriptor, content size, dictionary, checksum.
        19
    }

    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin> {
        self.frame = number;
        let (header, len) = match head.first_chunk::<4>() {
            Some(&MAGIC) => header(head, number)?,
            Some(&LEGACY) => (Header { legacy: true, block_size: LEGACY_BLOCK, ..Header::default() }, 4),
            _ => match zstd::skippable(head) {
                Some(len) => return len.map(Begin::Skip).ok_or_else(|| cut(number)),
                None if number == 1 => return Err(Error::malformed("LZ4 stream: there is no frame")),
                None => return Ok(Begin::Other("LZ4")),
            },
        };
        (self.header, self.made, self.left) = (header, 0, 0..0);
        self.window.clear();
        self.block.clear();
        Ok(Begin::Frame(len))
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], last: bool) -> Result<Step> {
        let mut made = 0;
        if self.left.is_empty() {
            let next = if self.header.legacy { Self::legacy(input, last)? } else { self.modern(input)? };
            let (data, plain, len) = match next {
                Next::Block { data, plain, len } => (data, plain, len),
                Next::Other(state) => return Ok(Step { made, state }),
            };
            made = self.decompress(data, plain, out)?;
            *input = input.get(len..).unwrap_or_default();
        }
        let left = self.block.get(self.left.clone()).unwrap_or_default();
        let n = left.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), left.get(..n)) {
            to.copy_from_slice(from);
            self.left.start += n;
        }
        Ok(Step { made: made + n, state: State::More(1) })
    }

    fn name(&self) -> String {
        format!("LZ4 frame {}", self.frame)
    }

    fn cut(&self) -> String {
        format!("{}: it ends early", self.name())
    }
}

/// Reads a frame's header; also says its length.
fn header(bytes: &[u8], frame: u64) -> Result<(Header, usize)> {
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
    if (xxhash32(described, 0) >> 8) as u8 != check {
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
    let header = Header {
        legacy: false,
        linked: flags & 32 == 0,
        block_checksum: flags & 16 != 0,
        block_size,
        content_size: content_size.and_then(|b| b.try_into().ok()).map(u64::from_le_bytes),
        content: (flags & 4 != 0).then(|| Xxh32::new(0)),
    };
    Ok((header, end + 1))
}

fn cut(frame: u64) -> Error {
    Error::malformed(format!("LZ4 frame {frame}: it ends early; the file may be cut off"))
}
