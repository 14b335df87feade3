//! An array of elements in blocks, which lie one after the other along its last dimension.

use super::{Block, Code, Quant, Quantised, StoredBlocks};
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::{ArrayFacts, MissingRegion, read};
use crate::data::dtype::{Blocks, DType, swap_bytes};
use crate::data::region::{Region, Span};
use std::ops::Range;

/// Bytes of blocks that are read at a time.
const PIECE: u64 = 256 << 10;

/// An array of blocks in a source, in C order. The last side is a whole number of blocks.
pub struct BlockArray {
    source: Source,
    offset: u64,
    kind: Blocks,
    dtype: DType,
    shape: Vec<u64>,
    big: bool,
    /// How many blocks it has.
    blocks: u64,
    /// How many of them are there, where the file is cut off.
    there: Option<u64>,
    facts: ArrayFacts,
}

/// Elements at equal distances in blocks that were read, and where they go.
struct Pick {
    first: usize,
    step: usize,
    count: usize,
    to: usize,
}

impl BlockArray {
    /// Blocks of `kind` at `offset` of `source`, whose numbers may be big-endian. Where the file is cut off, the blocks
    /// beyond its end fail when they are read; [`BlockArray::missing`] says so.
    ///
    /// # Errors
    /// `Malformed` where the last side is no whole number of blocks, and where the shape overflows.
    pub fn new(source: Source, offset: u64, kind: Blocks, shape: Vec<u64>, big: bool) -> Result<Self> {
        let (elements, side) = (limits::elements(&shape)?, shape.last().copied().unwrap_or(1));
        if side % kind.elements() as u64 != 0 {
            let (name, block) = (kind.name(), kind.elements());
            let what =
                format!("array: shape {shape:?} of {name}, whose rows are multiples of {block} elements");
            return Err(Error::malformed(what).at(offset));
        }
        let blocks = elements / kind.elements() as u64;
        let bytes = blocks.checked_mul(kind.bytes() as u64);
        let end = bytes.and_then(|bytes| bytes.checked_add(offset));
        let Some((bytes, end)) = bytes.zip(end) else {
            return Err(Error::malformed(format!("array: shape {shape:?} overflows 64 bits")).at(offset));
        };
        let len = source.known_len().filter(|len| end > *len);
        let there = len.map(|len| len.saturating_sub(offset) / kind.bytes() as u64);
        let stored = len.map_or(bytes, |len| len.saturating_sub(offset));
        let facts = ArrayFacts {
            bytes_stored: Some(stored),
            byte_order: (!kind.numbers().is_empty()).then_some(if big { "big" } else { "little" }),
            details: vec![(
                "block".to_owned(),
                format!("{} elements in {}", kind.elements(), display::plural(kind.bytes() as u64, "byte")),
            )],
            ..ArrayFacts::default()
        };
        let dtype = DType::Blocks(kind);
        Ok(BlockArray { source, offset, kind, dtype, shape, big, blocks, there, facts })
    }

    /// A further fact for the inspector.
    pub fn detail(mut self, name: &str, value: impl Into<String>) -> Self {
        self.facts.details.push((name.to_owned(), value.into()));
        self
    }

    /// Where it lies in the source, as far as it is there.
    pub fn span(&self) -> Range<u64> {
        let blocks = self.there.unwrap_or(self.blocks);
        self.offset..self.offset.saturating_add(blocks.saturating_mul(self.kind.bytes() as u64))
    }

    /// What is to be said where not all of its bytes are there.
    pub fn missing(&self) -> Option<Error> {
        let there = self.there?;
        let (shape, name, blocks) = (&self.shape, self.kind.name(), self.blocks);
        let what = format!(
            "array: shape {shape:?} of {name} needs {blocks} blocks, {there} are there; the file may be cut off"
        );
        Some(Error::malformed(what).at(self.offset))
    }

    /// Reads the blocks that hold `region`, piece by piece, and tells of each piece which elements are wanted.
    fn visit(
        &self,
        task: &Task,
        region: &Region,
        mut each: impl FnMut(&[u8], &Pick) -> Result<()>,
    ) -> Result<()> {
        region.check(&self.shape)?;
        if region.elements()? == 0 {
            return Ok(());
        }
        // Dimensions that are taken whole make longer runs; the one before them may be taken in part.
        let (mut run, mut outer) = (Span::range(0, 1), self.shape.len());
        let mut below = 1u64;
        while let Some((span, &len)) =
            outer.checked_sub(1).and_then(|axis| Some((region.0.get(axis)?, self.shape.get(axis)?)))
        {
            if below > 1 && span.step > 1 && span.count > 1 {
                break;
            }
            outer -= 1;
            run = Span {
                start: span.start * below,
                count: span.count * run.count,
                step: if below > 1 { 1 } else { span.step },
            };
            if span.count != len {
                break;
            }
            below *= len;
        }
        let inner: u64 = self.shape.iter().skip(outer).product();
        let counts: Vec<u64> = region.0.iter().take(outer).map(|span| span.count).collect();
        let mut buffer = Vec::new();
        for n in 0..counts.iter().product::<u64>() {
            let place = strides::unravel(n, &counts);
            let index: Vec<u64> =
                region.0.iter().zip(&place).map(|(span, place)| span.index(*place)).collect();
            let row = strides::ravel(&index, self.shape.get(..outer).unwrap_or_default());
            let run = Span { start: row * inner + run.start, ..run };
            self.run(task, run, (n * run.count) as usize, &mut buffer, &mut each)?;
        }
        Ok(())
    }

    /// The same of elements at equal distances in C order, the first of which goes to `to`.
    fn run(
        &self,
        task: &Task,
        run: Span,
        to: usize,
        buffer: &mut Vec<u8>,
        each: &mut impl FnMut(&[u8], &Pick) -> Result<()>,
    ) -> Result<()> {
        let (elements, bytes) = (self.kind.elements() as u64, self.kind.bytes() as u64);
        let most = (PIECE / bytes).max(1);
        let mut done = 0;
        while done < run.count {
            let start = run.index(done);
            let first = start / elements;
            let last = (run.index(run.count - 1) / elements).min(first + most - 1);
            if self.there.is_some_and(|there| last >= there) {
                return Err(self
                    .missing()
                    .unwrap_or_else(|| Error::bug("blocks that are there are missing")));
            }
            let end = (last + 1) * elements;
            let count = (end - start).div_ceil(run.step.max(1)).min(run.count - done);
            buffer.resize(((last + 1 - first) * bytes) as usize, 0);
            self.source.read_into(task, self.offset + first * bytes, buffer)?;
            self.turn(buffer);
            let pick = Pick {
                first: (start - first * elements) as usize,
                step: run.step.max(1) as usize,
                count: count as usize,
                to: to + done as usize,
            };
            each(buffer, &pick)?;
            done += count;
        }
        Ok(())
    }

    /// Turns the numbers of big-endian blocks.
    fn turn(&self, bytes: &mut [u8]) {
        if self.big {
            turn(self.kind, bytes);
        }
    }
}

/// Turns the numbers of blocks from the one byte order to the other.
pub fn turn(kind: Blocks, blocks: &mut [u8]) {
    for block in blocks.chunks_exact_mut(kind.bytes()) {
        for &(at, count, size) in kind.numbers() {
            swap_bytes(block.get_mut(at..at + count * size).unwrap_or_default(), size);
        }
    }
}

impl Array for BlockArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let short = || Error::bug("an array was asked for less than its region");
        let mut values = Vec::new();
        self.visit(task, region, |bytes, pick| {
            let all = bytes.len() / self.kind.bytes() * self.kind.elements();
            let to = out.get_mut(pick.to * 4..(pick.to + pick.count) * 4).ok_or_else(short)?;
            if (pick.first, pick.step, pick.count) == (0, 1, all) {
                super::decode(self.kind, bytes, to);
                return Ok(());
            }
            values.resize(all * 4, 0);
            super::decode(self.kind, bytes, &mut values);
            let picked = values.as_chunks::<4>().0.iter().skip(pick.first).step_by(pick.step);
            to.as_chunks_mut::<4>().0.iter_mut().zip(picked).for_each(|(to, value)| *to = *value);
            Ok(())
        })
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let (Some(there), Some(error)) = (self.there, self.missing()) else {
            self.read(task, region, out)?;
            return Ok(Vec::new());
        };
        region.check(&self.shape)?;
        out.fill(0);
        let (whole, axes) = (region.shape(), strides::c_order(self.shape.len()));
        let mut gaps = Vec::new();
        for (part, is_there) in region.divided(&self.shape, there * self.kind.elements() as u64, &axes) {
            if is_there {
                let inner = region.0.iter().zip(&part.0).map(|(outer, part)| outer.part(part)).collect();
                let bytes = read(self, task, &Region(inner))?;
                strides::paste(&bytes, &part.shape(), out, &whole, &part.start(), 4);
            } else {
                gaps.push(MissingRegion { part, error: error.clone() });
            }
        }
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn quantised(&self) -> Option<&dyn Quantised> {
        Some(self)
    }

    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        Some((self.source.clone(), self.span()))
    }
}

impl Quantised for BlockArray {
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>> {
        let size = size_of::<Quant>() as u64;
        let count = limits::check(limits::bytes(&region.shape(), size)?, limits::READ, "this part")?;
        let mut out = Vec::with_capacity(count / size as usize);
        self.visit(task, region, |bytes, pick| {
            let all = super::quants(self.kind, bytes);
            out.extend(all.into_iter().skip(pick.first).step_by(pick.step).take(pick.count));
            Ok(())
        })?;
        Ok(out)
    }

    fn block(&self, task: &Task, index: &[u64]) -> Result<Option<Block>> {
        let spans = index.iter().map(|at| Span::range(*at, 1)).collect();
        Region(spans).check(&self.shape)?;
        let (elements, bytes) = (self.kind.elements() as u64, self.kind.bytes() as u64);
        let number = strides::ravel(index, &self.shape) / elements;
        let start = self.offset + number * bytes;
        let span = start..start + bytes;
        let stored = self.source.read(task, span.clone())?.to_vec();
        Ok(Some(Block { span, bytes: stored, elements: number * elements..(number + 1) * elements }))
    }

    fn blocks(&self) -> Option<StoredBlocks> {
        let (source, span) = (self.source.clone(), self.span());
        self.there.is_none().then_some(StoredBlocks { source, span, big: self.big })
    }

    fn code(&self, task: &Task, index: &[u64]) -> Result<Option<Code>> {
        let Some(mut block) = self.block(task, index)? else { return Ok(None) };
        self.turn(&mut block.bytes);
        let within = strides::ravel(index, &self.shape) - block.elements.start;
        Ok(super::codes::code(self.kind, &block.bytes, within as usize))
    }
}
