//! Samples that lie in a file one after the other: integers and floats as they are, integers of odd widths widened,
//! A-law and µ-law (ITU-T G.711, <https://www.itu.int/rec/T-REC-G.711>) as the 16-bit numbers that they stand for.

use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Chapter, Plain, Sound, read};
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::{Region, Span};
use crate::engines::sounds::facts;
use crate::engines::time_spans;
use std::ops::Range;
use std::sync::Arc;

/// How one sample is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Integers about zero.
    Signed,
    /// Integers about the middle of their range.
    Unsigned,
    /// IEEE floats.
    Float,
    /// G.711 A-law.
    ALaw,
    /// G.711 µ-law.
    MuLaw,
}

/// Samples of a file, as its header describes them.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    pub(super) coding: Coding,
    pub(super) rate: u32,
    pub(super) channels: u64,
    /// Bits of a sample, as the header says.
    pub(super) bits: u32,
    /// Bytes of a sample in the file.
    pub(super) width: u64,
    pub(super) big: bool,
    /// Where they lie, as the header says; the end may be beyond the file.
    pub(super) data: Range<u64>,
    /// How many frames the header says there are.
    pub(super) frames: Option<u64>,
    /// Parts that have a title.
    pub(super) markers: Vec<Marker>,
}

/// A place in a sound that has a title: frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Marker {
    pub(super) start: u64,
    pub(super) length: Option<u64>,
    pub(super) title: String,
}

/// Marks as chapters of a sound of this rate.
pub(super) fn chapters(markers: &[Marker], rate: u32) -> Arc<[Chapter]> {
    let seconds = |frame: u64| frame as f64 / f64::from(rate.max(1));
    let chapter = |mark: &Marker| Chapter {
        start: seconds(mark.start),
        end: mark.length.map(|length| seconds(mark.start.saturating_add(length))),
        title: mark.title.clone(),
    };
    Chapter::in_order(markers.iter().map(chapter).collect())
}

impl Samples {
    /// The node of the sound, with what is wrong with it.
    ///
    /// # Errors
    /// `Malformed` without channels; `Unsupported` for samples of a width that is not known.
    pub(super) fn node(&self, task: &Task, source: &Source) -> Result<Node> {
        if self.channels == 0 {
            return Err(Error::malformed("the sound has no channels").at(0));
        }
        let dtype = self.dtype()?;
        let block = self.width.checked_mul(self.channels).filter(|block| *block > 0);
        let block = block.ok_or_else(|| Error::malformed("a frame has more bytes than can be"))?;
        let len = match source.known_len() {
            Some(len) => len,
            None => source.len(task)?,
        };
        let end = self.data.end.min(len);
        let there = end.saturating_sub(self.data.start);
        let mut frames = there / block;
        let mut node = Node::new("", "audio");
        if self.data.end > len {
            let said = self.data.end.saturating_sub(self.data.start);
            let what =
                format!("the samples should take {said} bytes, {there} are there; the file may be cut off");
            let problem = Error::malformed(what).with_defect(Defect::Truncated).at(self.data.start);
            node.problem = Some(problem);
        } else if let Some(said) = self.frames.filter(|said| *said != frames) {
            node.remarks.push(format!("the header says {said} frames, there are {frames}"));
            frames = frames.min(if said == 0 { frames } else { said });
        }
        if there % block != 0 && node.problem.is_none() {
            node.remarks.push(format!("{} bytes at the end are no whole frame", there % block));
        }
        if self.rate == 0 {
            node.remarks.push("the header says a rate of 0".to_owned());
        }
        let sound = self.sound();
        let facts = facts(&sound);
        // Samples that lie beyond the file are none, wherever that is.
        let start = if frames == 0 { self.data.start.min(len) } else { self.data.start };
        let array = self.array(source, start, dtype, frames, facts)?;
        let node = node.span(self.data.start..end.max(self.data.start)).content(Content::Array(array));
        time_spans::with_chapters(node, &sound.chapters)
    }

    /// The type of the elements.
    fn dtype(&self) -> Result<DType> {
        Ok(match (self.coding, self.width) {
            (Coding::ALaw | Coding::MuLaw, 1) => DType::I16,
            (Coding::Unsigned, 1) => DType::U8,
            (Coding::Signed, 1) => DType::I8,
            (Coding::Signed, 2) => DType::I16,
            (Coding::Signed, 3 | 4) => DType::I32,
            (Coding::Signed, 5..=8) => DType::I64,
            (Coding::Float, 4) => DType::F32,
            (Coding::Float, 8) => DType::F64,
            (coding, width) => {
                let what = format!("samples of {width} bytes ({coding:?}), which nothing is known of");
                return Err(Error::unsupported(what));
            }
        })
    }

    /// What is known of the sound.
    fn sound(&self) -> Sound {
        let end = match (self.width, self.big) {
            (1, _) => "",
            (_, true) => "be",
            (_, false) => "le",
        };
        let width = self.width * 8;
        let codec = match self.coding {
            Coding::Signed => format!("pcm_s{width}{end}"),
            Coding::Unsigned => format!("pcm_u{width}"),
            Coding::Float => format!("pcm_f{width}{end}"),
            Coding::ALaw => "pcm_alaw".to_owned(),
            Coding::MuLaw => "pcm_mulaw".to_owned(),
        };
        let full = match self.coding {
            Coding::ALaw | Coding::MuLaw => 16,
            // Samples of fewer bits than their bytes have lie at the upper end; in one byte too many at the lower one.
            _ if self.bits > 0 && u64::from(self.bits).div_ceil(8) < self.width => self.bits,
            _ => (width as u32).clamp(1, 64),
        };
        Sound {
            codec,
            rate: self.rate,
            bits: Some(self.bits),
            full,
            chapters: chapters(&self.markers, self.rate),
        }
    }

    fn array(
        &self,
        source: &Source,
        start: u64,
        dtype: DType,
        frames: u64,
        facts: ArrayFacts,
    ) -> Result<Arc<dyn Array>> {
        let shape = vec![frames, self.channels];
        let coding = match (self.coding, self.width) {
            (Coding::ALaw, _) => Packed::ALaw,
            (Coding::MuLaw, _) => Packed::MuLaw,
            (Coding::Signed, width @ (3 | 5..=7)) => Packed::Wide { width: width as usize, big: self.big },
            // Fewer bits than their bytes have, at the lower end: what is above them need not be their sign.
            (Coding::Signed, 4) if self.bits > 0 && self.bits <= 24 => {
                Packed::Wide { width: self.bits.div_ceil(8) as usize, big: self.big }
            }
            _ => {
                let plain = Plain::new(source.clone(), start, dtype, shape)?;
                return Ok(Arc::new(plain.big_endian(self.big).with_facts(facts)));
            }
        };
        let bytes = vec![frames, self.channels, self.width];
        let stored = Plain::new(source.clone(), start, DType::U8, bytes)?;
        let facts = ArrayFacts { bytes_stored: stored.facts().bytes_stored, ..facts };
        Ok(Arc::new(Unpacked { stored, coding, dtype, shape, facts }))
    }
}

/// What bytes stand for samples.
#[derive(Clone, Copy)]
enum Packed {
    /// Integers of so many bytes.
    Wide {
        width: usize,
        big: bool,
    },
    ALaw,
    MuLaw,
}

/// Samples that are other numbers than the bytes say.
struct Unpacked {
    /// The bytes: frames, channels, bytes of a sample.
    stored: Plain,
    coding: Packed,
    dtype: DType,
    shape: Vec<u64>,
    facts: ArrayFacts,
}

/// So many samples are turned at once.
const TURNED: u64 = 1 << 20;

impl Array for Unpacked {
    fn dtype(&self) -> &DType {
        &self.dtype
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
        let size = self.dtype.size() as usize;
        let width = self.stored.shape().last().copied().unwrap_or(1);
        let step = (TURNED / channels.count.max(1)).max(1);
        let mut out = out.chunks_exact_mut(size);
        let mut first = 0;
        while first < frames.count {
            task.check()?;
            let some = Span::range(first, step.min(frames.count - first));
            let part = Region(vec![frames.part(&some), *channels, Span::all(width)]);
            let bytes = read(&self.stored, task, &part)?;
            for (sample, place) in bytes.chunks_exact(width.max(1) as usize).zip(&mut out) {
                let value = self.coding.value(sample).to_le_bytes();
                place.copy_from_slice(value.get(..size).unwrap_or_default());
            }
            first += some.count;
        }
        Ok(())
    }
}

impl Packed {
    /// What the bytes of one sample stand for.
    fn value(self, sample: &[u8]) -> i64 {
        let first = sample.first().copied().unwrap_or(0);
        match self {
            Packed::ALaw => i64::from(a_law(first)),
            Packed::MuLaw => i64::from(mu_law(first)),
            Packed::Wide { width, big } => {
                let join = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
                let bits = if big {
                    sample.iter().skip(sample.len().saturating_sub(width)).fold(0, join)
                } else {
                    sample.iter().take(width).rev().fold(0, join)
                };
                let unused = 64u32.saturating_sub(width as u32 * 8);
                ((bits << unused) as i64) >> unused
            }
        }
    }
}

/// The number that a byte of A-law stands for, of 16 bits.
fn a_law(byte: u8) -> i16 {
    let code = byte ^ 0x55;
    let (exponent, mantissa) = ((code >> 4) & 7, i16::from(code & 15) << 4);
    let size = match exponent {
        0 => mantissa + 8,
        exponent => (mantissa + 0x108) << (exponent - 1),
    };
    if code & 0x80 == 0 { -size } else { size }
}

/// The number that a byte of µ-law stands for, of 16 bits.
fn mu_law(byte: u8) -> i16 {
    let code = !byte;
    let (exponent, mantissa) = ((code >> 4) & 7, i16::from(code & 15) << 3);
    let size = ((mantissa + 0x84) << exponent) - 0x84;
    if code & 0x80 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_samples_are_those_of_g711() {
        // The ends and the middle of both scales, as the tables of the recommendation have them, in 16 bits.
        assert_eq!((mu_law(0x00), mu_law(0x80), mu_law(0xff), mu_law(0x7f)), (-32124, 32124, 0, 0));
        assert_eq!((a_law(0xd5), a_law(0x55), a_law(0xaa), a_law(0x2a)), (8, -8, 32256, -32256));
    }

    #[test]
    fn odd_widths_keep_their_sign() {
        assert_eq!(Packed::Wide { width: 3, big: false }.value(&[0xff, 0xff, 0xff]), -1);
        assert_eq!(Packed::Wide { width: 3, big: false }.value(&[0xff, 0xff, 0xff, 0]), -1);
        assert_eq!(Packed::Wide { width: 3, big: true }.value(&[0x7f, 0xff, 0xfe]), 0x7f_fffe);
    }
}
