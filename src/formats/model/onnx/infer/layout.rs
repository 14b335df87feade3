//! Operators that move elements: shapes change, values do not.

use super::{Item, Output, Shape, Step, broadcast, fixed, place, places};
use crate::data::content::graph::Dimension;
use Dimension::{Fixed, Named, Open};
use std::sync::Arc;

impl Step<'_> {
    /// `None` for other operators.
    pub(super) fn laid_out(&self, operator: &str) -> Option<Vec<Output>> {
        let one = |shape: Option<Shape>| vec![Output { dtype: self.dtype(0), shape, literal: None }];
        Some(match operator {
            "Flatten" => one(self.flatten()),
            "Reshape" => one(self.reshape()),
            "Transpose" => one(self.transpose()),
            "Concat" => one(self.concat()),
            "Squeeze" => one(self.squeeze()),
            "Unsqueeze" => one(self.unsqueeze()),
            "Gather" => one(self.gather()),
            "GatherElements" => one(self.shape(1)),
            "GatherND" => one(self.gather_nd()),
            "Split" => self.split(),
            "Slice" => one(self.slice()),
            "Expand" => one(self.expand()),
            "Pad" => one(self.pad()),
            "CenterCropPad" => one(self.crop()),
            "Tile" => one(self.tile()),
            "Compress" => one(self.some()),
            "Unique" => {
                let shape = if self.int("axis").is_some() { self.some() } else { Some(vec![Open]) };
                let mut outputs = one(shape);
                outputs.extend((0..3).map(|_| Output::of("int64", Some(vec![Open]))));
                outputs
            }
            "TopK" => self.top(),
            _ => return None,
        })
    }

    fn flatten(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axis = self.int("axis").unwrap_or(1);
        let axis = if axis < 0 { axis.checked_add(shape.len() as i64)? } else { axis };
        let (before, after) = shape.split_at_checked(usize::try_from(axis).ok()?)?;
        Some(vec![product(before), product(after)])
    }

    fn reshape(&self) -> Option<Shape> {
        let from = self.shape(0);
        let wanted: Vec<Item> = match (self.ints("shape"), self.literal(1)) {
            (Some(lengths), _) => lengths.into_iter().map(Item::Number).collect(),
            (None, Some(literal)) => literal.items,
            (None, None) => return self.spelled(1),
        };
        let keeps = self.int("allowzero").unwrap_or(0) == 0;
        let mut shape = Shape::new();
        for (n, length) in wanted.iter().enumerate() {
            shape.push(match length {
                Item::Number(0) if keeps => {
                    from.as_ref().and_then(|from| from.get(n).cloned()).unwrap_or(Open)
                }
                length => length.length(),
            });
        }
        // The length that is left to be concluded.
        if let (Some(place), Some(from)) =
            (wanted.iter().position(|length| *length == Item::Number(-1)), from)
        {
            let others: Shape =
                shape.iter().enumerate().filter(|(n, _)| *n != place).map(|(_, own)| own.clone()).collect();
            if let Some(length) = shape.get_mut(place) {
                *length = quotient(&from, &others);
            }
        }
        Some(shape)
    }

    fn transpose(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        match self.ints("perm") {
            None => Some(shape.into_iter().rev().collect()),
            Some(order) if order.len() == shape.len() => {
                order.iter().map(|axis| shape.get(usize::try_from(*axis).ok()?).cloned()).collect()
            }
            Some(_) => None,
        }
    }

    fn concat(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let axis = place(self.int("axis").unwrap_or(1), shape.len())?;
        for input in 1..self.node.inputs.len() {
            let next = self.shape(input)?;
            if next.len() != shape.len() {
                return None;
            }
            for (n, (length, next)) in shape.iter_mut().zip(next).enumerate() {
                *length = match (&*length, next) {
                    (Fixed(a), Fixed(b)) if n == axis => Fixed(a.checked_add(b)?),
                    _ if n == axis => Open,
                    (Fixed(a), _) => Fixed(*a),
                    (_, Fixed(b)) => Fixed(b),
                    (a, b) if *a == b => b,
                    _ => Open,
                };
            }
        }
        Some(shape)
    }

    fn squeeze(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axes = match self.numbers("axes", 1).ok()? {
            Some(axes) => places(&axes, shape.len())?,
            // Without axes all lengths of one go: they must all be known.
            None if shape.iter().all(|length| matches!(length, Fixed(_))) => {
                (0..shape.len()).filter(|n| shape.get(*n) == Some(&Fixed(1))).collect()
            }
            None => return None,
        };
        let kept = shape.into_iter().enumerate().filter(|(n, _)| !axes.contains(n));
        Some(kept.map(|(_, length)| length).collect())
    }

    fn unsqueeze(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axes = self.numbers("axes", 1).ok()??;
        let rank = shape.len() + axes.len();
        let axes = places(&axes, rank)?;
        let mut rest = shape.into_iter();
        (0..rank).map(|n| if axes.contains(&n) { Some(Fixed(1)) } else { rest.next() }).collect()
    }

    fn gather(&self) -> Option<Shape> {
        let (shape, indices) = (self.shape(0)?, self.shape(1)?);
        let axis = place(self.int("axis").unwrap_or(0), shape.len())?;
        let (before, after) = shape.split_at_checked(axis)?;
        Some([before, &indices, after.get(1..)?].concat())
    }

    fn gather_nd(&self) -> Option<Shape> {
        let (shape, indices) = (self.shape(0)?, self.shape(1)?);
        let batch = usize::try_from(self.int("batch_dims").unwrap_or(0)).ok()?;
        let (Fixed(depth), places) = indices.split_last()? else { return None };
        let behind = batch.checked_add(usize::try_from(*depth).ok()?)?;
        Some([places, shape.get(behind..)?].concat())
    }

    fn split(&self) -> Vec<Output> {
        let dtype = self.dtype(0);
        let count = self.node.outputs.len();
        let shapes = || -> Option<Vec<Shape>> {
            let shape = self.shape(0)?;
            let axis = place(self.int("axis").unwrap_or(0), shape.len())?;
            let lengths: Vec<Dimension> = match (self.numbers("split", 1), shape.get(axis)?) {
                (Ok(Some(lengths)), _) => lengths.into_iter().map(fixed).collect(),
                (Ok(None), Fixed(all)) => {
                    let part = all.div_ceil((count as u64).max(1));
                    let part_at = |n: u64| Fixed(part.min(all.saturating_sub(n.saturating_mul(part))));
                    (0..count as u64).map(part_at).collect()
                }
                _ => vec![Open; count],
            };
            let with = |length: Dimension| {
                let mut shape = shape.clone();
                shape.get_mut(axis).map(|place| *place = length)?;
                Some(shape)
            };
            lengths.into_iter().take(count).map(with).collect()
        };
        let shapes = shapes().unwrap_or_default();
        let output = |n: usize| Output { dtype: dtype.clone(), shape: shapes.get(n).cloned(), literal: None };
        (0..count).map(output).collect()
    }

    fn expand(&self) -> Option<Shape> {
        Some(broadcast(&self.shape(0)?, &self.spelled(1)?))
    }

    /// What is added before and behind, of all axes or of those that are named.
    fn pad(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let Ok(Some(pads)) = self.numbers("pads", 1) else { return super::open(shape.len() as u64) };
        let axes = match self.numbers("", 3) {
            Ok(Some(axes)) => places(&axes, shape.len())?,
            Ok(None) => (0..shape.len()).collect(),
            Err(()) => return super::open(shape.len() as u64),
        };
        for (n, axis) in axes.iter().enumerate() {
            let more = pads.get(n)?.checked_add(*pads.get(n + axes.len())?)?;
            let length = shape.get_mut(*axis)?;
            *length = match &*length {
                Fixed(length) => fixed(i64::try_from(*length).ok()?.checked_add(more)?),
                length if more == 0 => length.clone(),
                _ => Open,
            };
        }
        Some(shape)
    }

    fn crop(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let axes = match self.ints("axes") {
            Some(axes) => places(&axes, shape.len())?,
            None => (0..shape.len()).collect(),
        };
        let wanted = self.literal(1);
        for (n, axis) in axes.iter().enumerate() {
            let length = wanted.as_ref().and_then(|wanted| wanted.items.get(n)).map_or(Open, Item::length);
            *shape.get_mut(*axis)? = length;
        }
        Some(shape)
    }

    fn tile(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let times = self.literal(1);
        let each = shape.into_iter().enumerate().map(|(n, length)| {
            let times = times.as_ref().and_then(|times| times.items.get(n)).and_then(Item::number);
            match (length, times) {
                (length, Some(1)) => Some(length),
                (Fixed(length), Some(times)) => Some(Fixed(length.checked_mul(u64::try_from(times).ok()?)?)),
                _ => Some(Open),
            }
        });
        each.collect()
    }

    /// As many along an axis as are chosen.
    fn some(&self) -> Option<Shape> {
        let Some(axis) = self.int("axis") else { return Some(vec![Open]) };
        let mut shape = self.shape(0)?;
        let axis = place(axis, shape.len())?;
        *shape.get_mut(axis)? = Open;
        Some(shape)
    }

    /// Values and their indices.
    fn top(&self) -> Vec<Output> {
        let shape = || {
            let mut shape = self.shape(0)?;
            let axis = place(self.int("axis").unwrap_or(-1), shape.len())?;
            let count = self.int("k").or_else(|| self.literal(1)?.number());
            *shape.get_mut(axis)? = count.map_or(Open, fixed);
            Some(shape)
        };
        let shape = shape();
        vec![Output { dtype: self.dtype(0), shape: shape.clone(), literal: None }, Output::of("int64", shape)]
    }

    /// Axes that are cut are known where begin, end and step are.
    fn slice(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let rank = shape.len();
        let bounds = |attribute: &str, input: usize| match self.ints(attribute) {
            Some(values) => Some(values.into_iter().map(Item::Number).collect::<Vec<_>>()),
            None => Some(self.literal(input)?.items),
        };
        let (starts, ends) = (bounds("starts", 1), bounds("ends", 2));
        let (axes, steps) = (self.numbers("axes", 3), self.numbers("", 4));
        let axes = match axes {
            Ok(Some(axes)) => places(&axes, rank)?,
            Ok(None) => (0..starts.as_ref().or(ends.as_ref()).map_or(rank, Vec::len).min(rank)).collect(),
            // Any of them may be cut.
            Err(()) => return super::open(rank as u64),
        };
        for (n, axis) in axes.into_iter().enumerate() {
            let bound = |list: &Option<Vec<Item>>| list.as_ref()?.get(n)?.number();
            let step = match &steps {
                Ok(Some(steps)) => steps.get(n).copied(),
                Ok(None) => Some(1),
                Err(()) => None,
            };
            let length = shape.get_mut(axis)?;
            *length = match (&*length, bound(&starts), bound(&ends), step) {
                // All of it, however long it is.
                (length, Some(0), Some(FAR..), Some(1)) => length.clone(),
                (Fixed(all), Some(start), Some(end), Some(step)) => {
                    fixed(cut(i64::try_from(*all).ok()?, start, end, step)?)
                }
                _ => Open,
            };
        }
        Some(shape)
    }
}

/// From here on an end means the end of the axis, as exporters write it.
const FAR: i64 = i32::MAX as i64;

/// How many indices a slice takes, by NumPy's rules.
pub(super) fn cut(length: i64, start: i64, end: i64, step: i64) -> Option<i64> {
    let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
    match step {
        1.. => {
            let (start, end) = (from_end(start).clamp(0, length), from_end(end).clamp(0, length));
            Some((end - start).max(0).div_euclid(step) + i64::from((end - start).max(0) % step != 0))
        }
        ..0 => {
            let last = length.checked_sub(1)?;
            let (start, end) = (from_end(start).clamp(-1, last), from_end(end).clamp(-1, last));
            let (count, step) = ((start - end).max(0), step.checked_neg()?);
            Some(count / step + i64::from(count % step != 0))
        }
        0 => None,
    }
}

/// The product of the fixed lengths, and the names of the others; `None` where one has none.
fn factors(lengths: &[Dimension]) -> Option<(u64, Vec<Arc<str>>)> {
    let (mut product, mut names) = (1u64, Vec::new());
    for length in lengths {
        match length {
            Fixed(length) => product = product.checked_mul(*length)?,
            Named(name) => names.push(name.clone()),
            Open => return None,
        }
    }
    Some((product, names))
}

/// The product of lengths: a number, or one length that keeps its name.
fn product(lengths: &[Dimension]) -> Dimension {
    match factors(lengths) {
        // A zero makes it none, whatever the others are.
        Some((0, _)) => Fixed(0),
        Some((product, names)) => of_factors(product, &names),
        None => Open,
    }
}

fn of_factors(product: u64, names: &[Arc<str>]) -> Dimension {
    match (product, names) {
        (product, []) => Fixed(product),
        (1, [name]) => Named(name.clone()),
        _ => Open,
    }
}

/// What is left of all lengths behind some of them.
fn quotient(all: &[Dimension], some: &[Dimension]) -> Dimension {
    let (Some((all, mut names)), Some((part, others))) = (factors(all), factors(some)) else { return Open };
    for other in others {
        match names.iter().position(|name| *name == other) {
            Some(at) => names.swap_remove(at),
            None => return Open,
        };
    }
    match all.checked_rem(part) {
        Some(0) => of_factors(all / part, &names),
        _ => Open,
    }
}
