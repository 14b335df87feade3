//! What quantised weights stand for: `scale × (stored - zero) + offset`, or a value of a table, with parameters that
//! belong to blocks along every axis. The length of a block is that of the axis over that of the parameters' axis.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::{ArrayFacts, read};
use crate::data::quantised::{Code, MadeArray, Quant, Recipe};
use crate::data::region::{Region, Span};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most bytes of parameters.
const PARAMETERS: u64 = 256 << 20;

/// What is done with the stored integers.
#[derive(Clone)]
pub(super) enum Rule {
    /// `scale × (stored - zero) + offset`.
    Linear { scale: Arc<dyn Array>, zero: Option<Arc<dyn Array>>, offset: Option<Arc<dyn Array>> },
    /// A table's entry. The table has an axis of entries behind the axes of blocks.
    Table(Arc<dyn Array>),
}

/// The parameters as numbers.
struct Loaded {
    scale: Vec<f32>,
    zero: Vec<f32>,
    offset: Vec<f32>,
}

/// Elements of stored integers and their parameters.
pub(super) struct Stands {
    /// The integers: in one dimension.
    stored: Arc<dyn Array>,
    shape: Vec<u64>,
    rule: Rule,
    /// Lengths of the axes of the parameters: as many as the shape has.
    blocks: Vec<u64>,
    /// Bits of a stored integer.
    bits: u32,
    loaded: OnceLock<Loaded>,
}

/// All numbers of an array.
pub(super) fn numbers(task: &Task, array: &dyn Array) -> Result<Vec<f64>> {
    limits::check(limits::bytes(array.shape(), array.dtype().size())?, PARAMETERS, "parameters")?;
    let bytes = read(array, task, &Region::all(array.shape()))?;
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    Ok(values)
}

impl Stands {
    /// An array of what `stored`, a list of integers, stands for in `shape`.
    ///
    /// # Errors
    /// `Malformed` where the parameters do not fit.
    pub(super) fn array(
        stored: Arc<dyn Array>,
        shape: Vec<u64>,
        rule: Rule,
        blocks: Vec<u64>,
        bits: u32,
        details: Vec<(String, String)>,
    ) -> Result<MadeArray> {
        let wrong = |what: String| Err(Error::malformed(format!("quantised weights: {what}")));
        let elements = limits::elements(&shape)?;
        if stored.shape() != [elements] {
            return wrong(format!("shape {shape:?} and {:?} stored integers", stored.shape()));
        }
        let fits = shape.len() == blocks.len()
            && shape.iter().zip(&blocks).all(|(side, count)| *count > 0 && (side % count == 0 || *side == 0));
        if !fits {
            return wrong(format!("parameters of shape {blocks:?} for values of shape {shape:?}"));
        }
        let needed = limits::elements(&blocks)?;
        let parts: Vec<(&Arc<dyn Array>, u64)> = match &rule {
            Rule::Linear { scale, zero, offset } => {
                let all = [Some(scale), zero.as_ref(), offset.as_ref()];
                all.into_iter().flatten().map(|part| (part, needed)).collect()
            }
            Rule::Table(table) => vec![(table, needed)],
        };
        for (part, needed) in parts {
            let there = limits::elements(part.shape())?;
            if there < needed || there == 0 {
                return wrong(format!("{there} parameters, {needed} are needed"));
            }
        }
        let stored_bytes = stored.facts().bytes_stored;
        let facts = ArrayFacts { details, bytes_stored: stored_bytes, ..ArrayFacts::default() };
        let recipe = Stands { stored, shape: shape.clone(), rule, blocks, bits, loaded: OnceLock::new() };
        Ok(MadeArray::new(shape, recipe, facts))
    }

    fn loaded(&self, task: &Task) -> Result<&Loaded> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let list = |array: &Arc<dyn Array>| -> Result<Vec<f32>> {
            Ok(numbers(task, array.as_ref())?.into_iter().map(|value| value as f32).collect())
        };
        let maybe = |array: &Option<Arc<dyn Array>>| array.as_ref().map_or(Ok(Vec::new()), list);
        let loaded = match &self.rule {
            Rule::Linear { scale, zero, offset } => {
                Loaded { scale: list(scale)?, zero: maybe(zero)?, offset: maybe(offset)? }
            }
            Rule::Table(table) => Loaded { scale: list(table)?, zero: Vec::new(), offset: Vec::new() },
        };
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// The stored integers of some elements, by their places in C order.
    fn levels(&self, task: &Task, range: Range<u64>) -> Result<Vec<f64>> {
        let count = range.end.saturating_sub(range.start);
        let bytes = read(self.stored.as_ref(), task, &Region(vec![Span::range(range.start, count)]))?;
        let mut levels = Vec::new();
        self.stored.dtype().decode(&bytes, &mut levels);
        Ok(levels)
    }

    fn quant(&self, loaded: &Loaded, level: f64, block: usize, entries: usize) -> Quant {
        let get = |list: &[f32], n: usize| list.get(n).copied();
        match self.rule {
            Rule::Linear { .. } => Quant {
                level: (level - f64::from(get(&loaded.zero, block).unwrap_or(0.0))) as f32,
                scale: get(&loaded.scale, block).unwrap_or(f32::NAN),
                offset: get(&loaded.offset, block),
            },
            Rule::Table(_) => {
                let entry = level as usize;
                let inside = (entry < entries).then(|| block * entries + entry);
                let level = inside.and_then(|at| get(&loaded.scale, at)).unwrap_or(f32::NAN);
                Quant { level, scale: 1.0, offset: None }
            }
        }
    }
}

impl Recipe for Stands {
    fn quants(&self, task: &Task, rows: Range<u64>, columns: Range<u64>) -> Result<Vec<Quant>> {
        let loaded = self.loaded(task)?;
        let width = self.shape.last().copied().unwrap_or(1);
        let lead = self.shape.get(..self.shape.len().saturating_sub(1)).unwrap_or_default();
        let all: u64 = self.blocks.iter().product();
        let entries = loaded.scale.len() / usize::try_from(all.max(1)).unwrap_or(usize::MAX);
        let last = self.blocks.last().copied().unwrap_or(1);
        let side = (width / last.max(1)).max(1);
        let mut out = Vec::new();
        for row in rows {
            let index = strides::unravel(row, lead);
            let block = index.iter().zip(lead).zip(&self.blocks).fold(0u64, |n, ((at, side), count)| {
                n.wrapping_mul(*count).wrapping_add(at / (side / (*count).max(1)).max(1))
            });
            let start = row.saturating_mul(width);
            let levels = self.levels(task, start + columns.start..start + columns.end)?;
            for (column, level) in columns.clone().zip(levels) {
                let place = block.wrapping_mul(last).wrapping_add(column / side);
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                out.push(self.quant(loaded, level, place, entries));
            }
        }
        Ok(out)
    }

    fn code(&self, task: &Task, row: u64, column: u64) -> Result<Option<Code>> {
        if self.bits > 16 {
            return Ok(None);
        }
        let at = row.saturating_mul(self.shape.last().copied().unwrap_or(1)).saturating_add(column);
        let level = self.levels(task, at..at + 1)?.first().copied().unwrap_or(0.0);
        let value = (level as i64 as u32) & ((1 << self.bits) - 1);
        Ok(Some(Code { value, bits: self.bits }))
    }
}
