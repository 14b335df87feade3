//! A file driven through a decompressor: frames one after the other, errors with their places in the file.

use super::{Codec, Failure, Feed, Notes};
use crate::bytes::codec::decompress::{Begin, Decompressor, State};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;

/// Decodes all frames of a file.
pub struct Frames<D> {
    pub(super) decoder: D,
    /// How many frames began.
    pub(super) number: u64,
    pub(super) stage: Stage,
    /// How many bytes of input the decompressor wants.
    wants: usize,
    notes: Notes,
    /// Whether to stop at the next place where decoding can begin.
    pub(super) stop: bool,
    /// The place that was asked for.
    pub(super) place: Option<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Between,
    Inside,
    Done,
}

/// A place where decoding can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A frame's header, at this byte. What came before is not needed.
    Header(u64),
    /// The start of a block, of which `bits` bits are the highest of the byte before `at`. The 32 KB
    /// that came out before are needed.
    Block { at: u64, bits: u8 },
    /// Inside a block, before this byte. The decoder's own state is needed.
    Inside(u64),
}

impl<D: Decompressor> Frames<D> {
    /// A decoder at the start.
    pub fn new(decoder: D) -> Self {
        Frames {
            decoder,
            number: 0,
            stage: Stage::Between,
            wants: 1,
            notes: Notes::default(),
            stop: false,
            place: None,
        }
    }

    /// Goes to the next frame's data, or finds that there are no more.
    fn next(&mut self, task: &Task, feed: &mut Feed) -> Result<(), Failure> {
        let start = feed.at();
        let head = feed.peek(task, self.decoder.head())?;
        match self.decoder.begin(head, self.number + 1).map_err(|e| Failure::Damaged(e.at(start)))? {
            Begin::Frame(header) => {
                feed.skip(header as u64);
                self.number += 1;
                (self.stage, self.wants) = (Stage::Inside, 1);
                if std::mem::take(&mut self.stop) {
                    self.place = Some(Place::Header(start));
                }
            }
            Begin::Skip(len) => {
                // The last byte must be there.
                feed.skip(len - 1);
                if feed.chunk(task)?.is_empty() {
                    let len = len - 8;
                    let what = format!(
                        "skippable frame: its {len} bytes reach beyond the end; the file may be cut off"
                    );
                    return Err(Failure::Cut(Error::malformed(what).at(start)));
                }
                feed.skip(1);
            }
            Begin::Other(name) => {
                if !feed.only_zeros_left(task)? {
                    self.notes.remarks.push(format!(
                        "bytes after byte {start} do not belong to the {name} stream and are ignored"
                    ));
                }
                self.stage = Stage::Done;
            }
            Begin::End => self.stage = Stage::Done,
        }
        Ok(())
    }

    /// Decompresses some of a frame's data; 0 bytes do not mean its end.
    fn inside(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize, Failure> {
        let mut input = feed.peek(task, self.wants)?;
        let (given, last) = (input.len(), input.len() < self.wants);
        let step = self.decoder.step(&mut input, out, last);
        let taken = given - input.len();
        feed.skip(taken as u64);
        let step = step.map_err(|error| Failure::Damaged(error.of(&self.decoder.name()).at(feed.at())))?;
        self.wants = 1;
        match step.state {
            State::More(_) if step.made > 0 => {}
            State::More(wants) => {
                // Neither more input nor room helps.
                if taken == 0 && (last || wants <= given) {
                    let what = format!("{}; the file may be cut off", self.decoder.cut());
                    return Err(Failure::Cut(Error::malformed(what).at(feed.at())));
                }
                self.wants = wants;
            }
            State::Block(bits) => {
                self.stop = false;
                self.place = Some(Place::Block { at: feed.at() - u64::from(bits / 8), bits: bits % 8 });
            }
            State::End(problem) => {
                self.stage = Stage::Between;
                if let Some((problem, back)) = problem {
                    self.notes.blame(problem.at(feed.at() - back));
                }
            }
        }
        Ok(step.made)
    }
}

impl<D: Decompressor> Codec for Frames<D> {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            let made = match self.stage {
                Stage::Between => self.next(task, feed).map(|()| 0),
                Stage::Inside => self.inside(task, feed, out),
                Stage::Done => return Ok(0),
            }?;
            if made > 0 || self.place.is_some() {
                return Ok(made);
            }
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
