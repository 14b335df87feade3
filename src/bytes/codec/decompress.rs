//! The one interface of all decompressors. Who has the bytes drives them: [`prefix`] and [`whole`] over buffers,
//! [`crate::bytes::stream`] over files.

use super::{cut_off, cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// A decompressor, which is given input and room for output in any pieces.
///
/// Compressed data are frames one after the other (gzip calls them members, bzip2 streams). Of each the driver asks
/// first what [`begin`](Decompressor::begin)s there, and then for [`step`](Decompressor::step)s until its end.
pub trait Decompressor: Send {
    /// How many bytes [`begin`](Decompressor::begin) looks at.
    fn head(&self) -> usize {
        0
    }

    /// What stands where frame `number` (from 1) may begin; makes ready for it. `head` is shorter than
    /// [`head`](Decompressor::head) only at the end of the data.
    ///
    /// # Errors
    /// Whole sentences, without a place: that of `head` is meant.
    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin>;

    /// Decompresses from the start of `input`, which then begins where it stopped, into the start of `out`, which is
    /// not empty. `last` says that nothing follows `input`.
    ///
    /// # Errors
    /// What is wrong, without the frame's name; the place is where `input` begins then.
    fn step(&mut self, input: &mut &[u8], out: &mut [u8], last: bool) -> Result<Step>;

    /// What errors in a file call the frame.
    fn name(&self) -> String;

    /// That the data end within the frame, in a sentence.
    fn cut(&self) -> String {
        format!("{}: it ends in the middle of its data", self.name())
    }
}

/// What stands where a frame may begin.
pub enum Begin {
    /// A frame, whose header of so many bytes was read.
    Frame(usize),
    /// So many bytes that mean nothing.
    Skip(u64),
    /// Something that is not of the format of this name.
    Other(&'static str),
    /// Nothing that concerns the decompressor.
    End,
}

/// What one step did.
pub struct Step {
    /// Bytes of output.
    pub made: usize,
    /// How it goes on.
    pub state: State,
}

/// How decompressing goes on.
pub enum State {
    /// With room for output or more input, of which it takes no fewer bytes than these.
    More(usize),
    /// It stopped between two blocks, as it was asked to; so many bits of the bytes that it used, their last ones,
    /// belong to the second.
    Block(u8),
    /// The frame is over. What a check found in a sentence, and how many bytes before the end that stands.
    End(Option<(Error, u64)>),
}

/// Bytes of output that are asked for at once for each byte of input; what is not used of them takes no memory.
const RATIO: usize = 1032;

/// All frames of `input`, at most `most` bytes; what is behind them is ignored.
///
/// # Errors
/// `Malformed` for more than that and for an early end, and those of the decompressor; they begin with `what`.
pub fn whole(decoder: &mut dyn Decompressor, input: &[u8], most: usize, what: &str) -> Result<Vec<u8>> {
    let (out, end) = prefix(decoder, input, most.saturating_add(1), what);
    end?;
    if out.len() > most { Err(too_much(what, most)) } else { Ok(out) }
}

/// The first bytes that come out of `input`, at most `most`, and what went wrong before.
pub fn prefix(
    decoder: &mut dyn Decompressor,
    input: &[u8],
    most: usize,
    what: &str,
) -> (Vec<u8>, Result<()>) {
    let mut out = Output { bytes: Vec::new(), made: 0, most };
    let end = out.fill(decoder, input, what);
    (cut_to(out.bytes, out.made), end)
}

struct Output {
    bytes: Vec<u8>,
    made: usize,
    most: usize,
}

impl Output {
    /// Decompresses frames until there are no more of them or enough bytes.
    fn fill(&mut self, decoder: &mut dyn Decompressor, input: &[u8], what: &str) -> Result<()> {
        let (mut rest, mut number) = (input, 0);
        let after = |rest: &[u8], n: u64| usize::try_from(n).ok().filter(|n| *n <= rest.len());
        loop {
            let (header, is_frame) = match decoder.begin(rest, number + 1)? {
                Begin::Frame(len) => (len as u64, true),
                Begin::Skip(len) => (len, false),
                Begin::Other(_) | Begin::End => return Ok(()),
            };
            let header = after(rest, header).ok_or_else(|| cut_off(what))?;
            rest = rest.get(header..).unwrap_or_default();
            if is_frame {
                number += 1;
                if !self.frame(decoder, &mut rest, what)? {
                    return Ok(());
                }
            }
        }
    }

    /// Decompresses one frame; whether it ended.
    fn frame(&mut self, decoder: &mut dyn Decompressor, rest: &mut &[u8], what: &str) -> Result<bool> {
        loop {
            if self.made == self.bytes.len() && !self.grow(rest.len(), what)? {
                return Ok(false);
            }
            let given = rest.len();
            let room = self.bytes.get_mut(self.made..).unwrap_or_default();
            let step = decoder.step(rest, room, true).map_err(|error| error.of(what))?;
            self.made += step.made;
            match step.state {
                State::End(problem) => return problem.map_or(Ok(true), |(problem, _)| Err(problem)),
                _ if step.made == 0 && rest.len() == given => return Err(cut_off(what)),
                _ => {}
            }
        }
    }

    /// Makes room; whether any is allowed.
    fn grow(&mut self, input: usize, what: &str) -> Result<bool> {
        if self.made >= self.most {
            return Ok(false);
        }
        let more = match self.made {
            0 => input.saturating_mul(RATIO).saturating_add(64).min(limits::CHUNK as usize),
            made => made,
        };
        let len = self.made.saturating_add(more).min(self.most);
        limits::check(len as u64, limits::CHUNK + 1, what)?;
        if self.made == 0 {
            self.bytes = limits::zeroed(len, what)?;
        } else {
            self.bytes.resize(len, 0);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::codec::{
        bzip2::Bzip2, gzip::Gzip, inflater::Inflater, lz4_frame::Lz4, lzma::Lzma, zstd::Zstd,
    };

    /// A decompressor of each kind and files that it reads.
    fn cases() -> Vec<(Box<dyn Decompressor>, Vec<u8>)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let decoder = |name: &str| -> Box<dyn Decompressor> {
            match name.rsplit('.').next().unwrap() {
                "gz" => Box::new(Gzip::new(None).unwrap()),
                "zz" => Box::new(Inflater::new(true).unwrap()),
                "zst" => Box::new(Zstd::new().unwrap()),
                "bz2" => Box::new(Bzip2::default()),
                "lz4" => Box::new(Lz4::default()),
                "lzma" => Box::new(Lzma::alone()),
                _ => Box::new(Lzma::xz()),
            }
        };
        let names = [
            "gzip/members_3.txt.gz",
            "gzip/name_and_comment.gz",
            "zlib/level_9.txt.zz",
            "zstd/frames_3.txt.zst",
            "zstd/skippable_first.txt.zst",
            "bzip2/streams_3.txt.bz2",
            "xz/streams_3.txt.xz",
            "xz/old_lzma.txt.lzma",
            "lz4/checksums.txt.lz4",
            "lz4/legacy.txt.lz4",
            "lz4/skippable_first.txt.lz4",
        ];
        names.iter().map(|name| (decoder(name), std::fs::read(folder.join(name)).unwrap())).collect()
    }

    /// What comes out where input is given by `given` bytes or as many as are wanted, with room for three.
    fn by_pieces(decoder: &mut dyn Decompressor, mut rest: &[u8], given: usize) -> Vec<u8> {
        let (mut out, mut room, mut number) = (Vec::new(), [0; 3], 1);
        loop {
            let head = &rest[..rest.len().min(decoder.head())];
            match decoder.begin(head, number).unwrap() {
                Begin::Frame(len) => rest = &rest[len..],
                Begin::Skip(len) => {
                    rest = &rest[len as usize..];
                    continue;
                }
                Begin::Other(_) | Begin::End => return out,
            }
            let mut wants = 1;
            loop {
                let piece = wants.max(given).min(rest.len());
                let mut input = &rest[..piece];
                let step = decoder.step(&mut input, &mut room, piece < wants).unwrap();
                rest = &rest[piece - input.len()..];
                out.extend_from_slice(&room[..step.made]);
                match step.state {
                    State::End(problem) => break assert!(problem.is_none()),
                    State::More(more) => wants = more,
                    State::Block(_) => panic!("nobody asked for blocks"),
                }
            }
            number += 1;
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        let mut text = Vec::new();
        for (mut decoder, file) in cases() {
            let all = whole(decoder.as_mut(), &file, 1 << 20, "x").unwrap();
            if text.is_empty() {
                text.clone_from(&all);
            }
            assert!(all == text && text.len() > 100, "{}", decoder.name());
            for given in [1, 7, 1 << 20] {
                let (mut decoder, file) = cases().into_iter().find(|(_, other)| *other == file).unwrap();
                assert!(by_pieces(decoder.as_mut(), &file, given) == all, "{}, {given}", decoder.name());
            }
        }
    }

    #[test]
    fn bounds_and_early_ends() {
        for (mut decoder, file) in cases() {
            let len = whole(decoder.as_mut(), &file, 1 << 20, "x").unwrap().len();
            let fresh = || cases().into_iter().find(|(_, other)| *other == file).unwrap().0;
            let error = whole(fresh().as_mut(), &file, len - 1, "x").unwrap_err();
            assert!(error.message().contains("more than"), "{error}");
            let (bytes, end) = prefix(fresh().as_mut(), &file, len - 1, "x");
            assert_eq!((bytes.len(), end), (len - 1, Ok(())));
            // So many bytes of each file end within its first frame.
            let (bytes, end) = prefix(fresh().as_mut(), &file[..50], 1 << 20, "x");
            assert!(bytes.len() < len && end.is_err(), "{}", decoder.name());
        }
    }
}
