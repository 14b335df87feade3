//! IMA ADPCM as WAV has it: blocks that each begin with a sample and a step for each channel, then 4 bits a sample. A block is
//! found by its number, so that any part is read alone. Sums are those of the recommendation: shifted parts of a step.
//! <https://www.cs.columbia.edu/~hgs/audio/dvi/IMA_ADPCM.pdf>

use super::riff::Layout;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{Array, ArrayFacts, Chapter, Sound};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::Region;
use crate::engines::sounds::facts;
use crate::engines::time_spans;
use std::ops::Range;
use std::sync::Arc;

/// Steps of the scale.
const STEPS: [i32; 89] = [
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88,
    97, 107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658,
    724, 796, 876, 963, 1_060, 1_166, 1_282, 1_411, 1_552, 1_707, 1_878, 2_066, 2_272, 2_499, 2_749, 3_024,
    3_327, 3_660, 4_026, 4_428, 4_871, 5_358, 5_894, 6_484, 7_132, 7_845, 8_630, 9_493, 10_442, 11_487,
    12_635, 13_899, 15_289, 16_818, 18_500, 20_350, 22_385, 24_623, 27_086, 29_794, 32_767,
];
/// How the place in the scale moves, by the size of a code.
const MOVES: [i32; 8] = [-1, -1, -1, -1, 2, 4, 6, 8];

/// The node of a sound whose blocks lie in `data`.
///
/// # Errors
/// `Malformed` for blocks that hold no sample.
pub(super) fn node(
    task: &Task,
    source: &Source,
    layout: &Layout,
    data: Range<u64>,
    chapters: Arc<[Chapter]>,
) -> Result<Node> {
    let (block, channels) = (u64::from(layout.block), u64::from(layout.channels));
    if channels == 0 || block < 4 * channels {
        let what = format!("blocks of {block} bytes hold no sample of {channels} channels");
        return Err(Error::malformed(what).at(12));
    }
    let each = (block - 4 * channels) * 2 / channels + 1;
    let end = data.end.min(source.len(task)?).max(data.start);
    let frames = (end - data.start) / block * each;
    let mut node = Node::new("", "audio").span(data.start..end);
    if data.end > end {
        let (said, there) = (data.end - data.start, end - data.start);
        let what =
            format!("the samples should take {said} bytes, {there} are there; the file may be cut off");
        node.problem = Some(Error::malformed(what).with_defect(Defect::Truncated).at(data.start));
    } else if !(end - data.start).is_multiple_of(block) {
        node.remarks.push(format!("{} bytes at the end are no whole block", (end - data.start) % block));
    }
    let sound = Sound {
        codec: "adpcm_ima_wav".to_owned(),
        rate: layout.rate,
        bits: Some(layout.bits.into()),
        full: 16,
        chapters: chapters.clone(),
    };
    let facts = ArrayFacts {
        codecs: vec![sound.codec.clone()],
        bytes_stored: Some(end - data.start),
        ..facts(&sound)
    };
    let array =
        Ima { source: source.clone(), start: data.start, block, each, shape: vec![frames, channels], facts };
    time_spans::with_chapters(node.content(Content::Array(Arc::new(array))), &chapters)
}

struct Ima {
    source: Source,
    start: u64,
    /// Bytes of a block,
    block: u64,
    /// and frames in it.
    each: u64,
    shape: Vec<u64>,
    facts: ArrayFacts,
}

/// A channel on its way through a block.
#[derive(Clone, Copy, Default)]
struct State {
    sample: i32,
    place: i32,
}

impl State {
    fn next(&mut self, code: u8) -> i16 {
        let step = STEPS.get(self.place as usize).copied().unwrap_or(7);
        let mut difference = step >> 3;
        for (bit, part) in [(1, step >> 2), (2, step >> 1), (4, step)] {
            difference += if code & bit != 0 { part } else { 0 };
        }
        let difference = if code & 8 != 0 { -difference } else { difference };
        self.sample = (self.sample + difference).clamp(i16::MIN.into(), i16::MAX.into());
        self.place = (self.place + MOVES.get(usize::from(code & 7)).copied().unwrap_or(0)).clamp(0, 88);
        self.sample as i16
    }
}

/// The samples of a block, channels together.
fn decode(block: &[u8], channels: usize, each: usize) -> Vec<i16> {
    let mut out = vec![0i16; each * channels];
    let (heads, body) = block.split_at_checked(4 * channels).unwrap_or((block, &[]));
    for (channel, head) in heads.as_chunks::<4>().0.iter().enumerate() {
        let sample = i32::from(i16::from_le_bytes([head[0], head[1]]));
        let mut state = State { sample, place: i32::from(head[2]).clamp(0, 88) };
        let mut places = out.iter_mut().skip(channel).step_by(channels);
        if let Some(first) = places.next() {
            *first = state.sample as i16;
        }
        // Four bytes of each channel in turn, the lower half of a byte first.
        let words = body.as_chunks::<4>().0.iter().skip(channel).step_by(channels);
        let codes = words.flatten().flat_map(|byte| [byte & 15, byte >> 4]);
        places.zip(codes).for_each(|(place, code)| *place = state.next(code));
    }
    out
}

impl Array for Ima {
    fn dtype(&self) -> &DType {
        &DType::I16
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let [frames, channels] = region.0.as_slice() else {
            return Err(Error::bug("a sound has frames and channels"));
        };
        let all = self.shape.get(1).copied().unwrap_or(1) as usize;
        let mut places = out.as_chunks_mut::<2>().0.iter_mut();
        let mut held: Option<(u64, Vec<i16>)> = None;
        for n in 0..frames.count {
            let frame = frames.index(n);
            let number = frame / self.each;
            let samples = match &held {
                Some((at, samples)) if *at == number => samples,
                _ => {
                    task.check()?;
                    let from = self.start + number * self.block;
                    let block = self.source.read(task, from..from + self.block)?;
                    &held.insert((number, decode(&block, all, self.each as usize))).1
                }
            };
            let start = (frame % self.each) as usize * all;
            for c in 0..channels.count {
                let sample = samples.get(start + channels.index(c) as usize).copied().unwrap_or(0);
                if let Some(place) = places.next() {
                    *place = sample.to_le_bytes();
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_move_the_sample_and_the_step() {
        let mut state = State { sample: 0, place: 0 };
        // The largest step up: 7/8 + 7/4 + 7/2 + 7, each cut to a whole number.
        assert_eq!(state.next(7), 11);
        assert_eq!(state.place, 8);
        assert_eq!(state.next(15), 11 - 30);
        let mut top = State { sample: 32_700, place: 88 };
        assert_eq!(top.next(7), i16::MAX);
    }

    #[test]
    fn a_block_has_its_first_sample_as_it_is() {
        let block = [0x10, 0x27, 0, 0, 0x70, 0, 0, 0];
        let samples = decode(&block, 1, 9);
        assert_eq!(samples[..3], [10_000, 10_000, 10_011]);
    }
}
