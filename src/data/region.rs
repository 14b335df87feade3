//! `Region`: which elements of an array — start, count and step for each dimension — and its text
//! in NumPy's slice notation (`3, :, ::2`, `-5:`; the command line's `A..B..S` means the same).

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use std::ops::Range;

/// The elements `start, start+step, …` (`count` of them) along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// The first index.
    pub start: u64,
    /// How many.
    pub count: u64,
    /// The distance between two, at least 1.
    pub step: u64,
}

impl Span {
    /// All of a dimension.
    pub fn all(len: u64) -> Self {
        Span { start: 0, count: len, step: 1 }
    }

    /// `count` indices from `start`.
    pub fn range(start: u64, count: u64) -> Self {
        Span { start, count, step: 1 }
    }

    /// The index of the n-th element.
    pub fn index(&self, n: u64) -> u64 {
        self.start + n * self.step
    }

    /// One beyond the last index; `start` when empty. Saturates.
    pub fn end(&self) -> u64 {
        match self.count {
            0 => self.start,
            n => (n - 1).saturating_mul(self.step).saturating_add(self.start).saturating_add(1),
        }
    }

    /// The span `wanted` of this span.
    pub fn part(&self, wanted: &Span) -> Span {
        Span {
            start: self.start + wanted.start * self.step,
            count: wanted.count,
            step: wanted.step.saturating_mul(self.step).max(1),
        }
    }

    /// How many of its elements have an index below `end`.
    fn below(&self, end: u64) -> u64 {
        end.saturating_sub(self.start).div_ceil(self.step.max(1)).min(self.count)
    }

    /// The places in this span of the indices from the first to the last one of `there`; `None` where it has none of
    /// them.
    pub fn holding(&self, there: &Span) -> Option<Span> {
        let (first, end) = (self.below(there.start), self.below(there.end()));
        (first < end).then(|| Span::range(first, end - first))
    }
}

/// A span for each dimension. A scalar has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region(pub Vec<Span>);

impl Region {
    /// Everything of `shape`.
    pub fn all(shape: &[u64]) -> Self {
        Region(shape.iter().map(|&len| Span::all(len)).collect())
    }

    /// What the part at `index` of a grid of parts of the sides `side` holds of `shape`.
    pub fn of_part(index: &[u64], side: &[u64], shape: &[u64]) -> Self {
        let span = |((at, side), len): ((&u64, &u64), &u64)| {
            let start = at.saturating_mul(*side).min(*len);
            Span::range(start, (*side).min(len - start))
        };
        Region(index.iter().zip(side).zip(shape).map(span).collect())
    }

    /// The shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        self.0.iter().map(|span| span.count).collect()
    }

    /// The first index of each dimension.
    pub fn start(&self) -> Vec<u64> {
        self.0.iter().map(|span| span.start).collect()
    }

    /// How many elements.
    pub fn elements(&self) -> Result<u64> {
        limits::elements(&self.shape())
    }

    /// Whether every span lies in `shape` and the ranks agree.
    pub fn check(&self, shape: &[u64]) -> Result<()> {
        let inside = self.0.len() == shape.len()
            && self.0.iter().zip(shape).all(|(s, &len)| s.step > 0 && (s.count == 0 || s.end() <= len));
        if inside { Ok(()) } else { Err(Error::bug(format!("region {:?} of shape {shape:?}", self.0))) }
    }

    /// Boxes (spans without steps) that hold all of `boxes` and have no element in common: those that overlap become
    /// one around both. `None` for so many that comparing them would be work.
    pub fn apart(mut boxes: Vec<Region>) -> Option<Vec<Region>> {
        /// Comparing is quadratic.
        const MOST: usize = 1 << 10;
        boxes.retain(|region| region.0.iter().all(|span| span.count > 0));
        if boxes.len() > MOST {
            return None;
        }
        let mut apart: Vec<Region> = Vec::new();
        while let Some(mut region) = boxes.pop() {
            // One that grew may overlap those that it did not before.
            while let Some(at) = apart.iter().position(|other| other.overlaps(&region)) {
                region = region.around(&apart.swap_remove(at));
            }
            apart.push(region);
        }
        Some(apart)
    }

    /// Whether two boxes have an element in common.
    fn overlaps(&self, other: &Region) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.start < b.end() && b.start < a.end())
    }

    /// The smallest box around two.
    fn around(&self, other: &Region) -> Region {
        let both = |(a, b): (&Span, &Span)| {
            let start = a.start.min(b.start);
            Span::range(start, a.end().max(b.end()) - start)
        };
        Region(self.0.iter().zip(&other.0).map(both).collect())
    }

    /// Splits the region where only the first `there` elements of `shape` exist, in the order of `axes`, the slowest
    /// first: the parts that are there and those that are not, as indices of the result.
    pub fn divided(&self, shape: &[u64], there: u64, axes: &[usize]) -> Vec<(Region, bool)> {
        let sides: Vec<(Span, u64)> = self.0.iter().copied().zip(shape.iter().copied()).collect();
        let stored: Vec<(Span, u64)> = axes.iter().filter_map(|&axis| sides.get(axis).copied()).collect();
        let mut parts = Vec::new();
        divide(&stored, there, &mut Vec::new(), &mut parts);
        let back = |spans: Vec<Span>| {
            let mut each: Vec<(usize, Span)> = axes.iter().copied().zip(spans).collect();
            each.sort_by_key(|(axis, _)| *axis);
            Region(each.into_iter().map(|(_, span)| span).collect())
        };
        parts.into_iter().map(|(spans, is_there)| (back(spans), is_there)).collect()
    }

    /// Reads NumPy's notation: an index, `a:b`, `a:b:s`, `...`, negative numbers from the end; `..`
    /// may stand for `:`. Fewer items than dimensions mean all of the rest. Indices keep their
    /// dimension with one element; which they are is the second result.
    pub fn parse(text: &str, shape: &[u64]) -> Result<(Region, Vec<bool>)> {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']');
        let mut items: Vec<&str> =
            if text.trim().is_empty() { vec![] } else { text.split(',').map(str::trim).collect() };
        if items.last() == Some(&"") {
            items.pop();
        }
        if let Some(at) = items.iter().position(|item| *item == "...") {
            let missing = (shape.len() + 1).saturating_sub(items.len());
            items.splice(at..=at, std::iter::repeat_n(":", missing));
        }
        if items.len() > shape.len() {
            return Err(Error::unsupported(format!(
                "{} indices for {} dimensions",
                items.len(),
                shape.len()
            )));
        }
        let mut spans = Vec::with_capacity(shape.len());
        let mut single = Vec::with_capacity(shape.len());
        for (axis, &len) in shape.iter().enumerate() {
            let item = items.get(axis).copied().unwrap_or(":");
            let (span, one) = parse_span(item, len).ok_or_else(|| {
                let words = format!("slice {item:?} of {len} elements (axis {axis})");
                match goes_back(item) {
                    true => Error::unsupported(format!("{words}: a step is at least 1, slices go forwards")),
                    false => Error::unsupported(words),
                }
            })?;
            spans.push(span);
            single.push(one);
        }
        Ok((Region(spans), single))
    }

    /// NumPy's notation for this region of `shape`; dimensions marked in `single` as an index.
    pub fn text(&self, shape: &[u64], single: &[bool]) -> String {
        let mut items = Vec::with_capacity(self.0.len());
        for (axis, span) in self.0.iter().enumerate() {
            let len = shape.get(axis).copied().unwrap_or(0);
            if single.get(axis).copied().unwrap_or(false) {
                items.push(span.start.to_string());
                continue;
            }
            let mut item = String::new();
            if span.start > 0 {
                item.push_str(&span.start.to_string());
            }
            item.push(':');
            let reaches_end = span.end().saturating_add(span.step) > len;
            if !reaches_end || span.count == 0 {
                item.push_str(&span.end().to_string());
            }
            if span.step > 1 {
                item.push_str(&format!(":{}", span.step));
            }
            items.push(item);
        }
        items.join(", ")
    }
}

/// Whether an item is one of NumPy's with a step below 1, as `::-1`.
fn goes_back(item: &str) -> bool {
    let step = item.splitn(3, ':').nth(2).and_then(|step| step.trim().parse::<i128>().ok());
    step.is_some_and(|step| step < 1)
}

fn parse_span(item: &str, len: u64) -> Option<(Span, bool)> {
    let separator = if item.contains(':') {
        ":"
    } else if item.contains("..") {
        ".."
    } else {
        ""
    };
    let place = |text: &str, default: u64| -> Option<u64> {
        match text.trim() {
            "" => Some(default),
            text => match text.parse::<i128>().ok()? {
                n if n < 0 => Some((len as i128 + n).max(0) as u64),
                n => Some((n.min(len as i128)) as u64),
            },
        }
    };
    if separator.is_empty() {
        let n = item.parse::<i128>().ok()?;
        let index = u64::try_from(if n < 0 { n + len as i128 } else { n }).ok().filter(|&i| i < len)?;
        return Some((Span::range(index, 1), true));
    }
    let mut parts = item.split(separator);
    let start = place(parts.next()?, 0)?;
    let end = place(parts.next()?, len)?;
    let step = match parts.next().map(str::trim) {
        None | Some("") => 1,
        Some(step) => step.parse::<u64>().ok().filter(|&s| s > 0)?,
    };
    if parts.next().is_some() {
        return None;
    }
    Some((Span { start, count: end.saturating_sub(start).div_ceil(step), step }, false))
}

/// See [`Region::divided`]: `axes` are those that are left, the slowest first, `outer` the chosen indices of
/// those before them, and `there` what is there of the elements below these.
fn divide(axes: &[(Span, u64)], there: u64, outer: &mut Vec<Span>, parts: &mut Vec<(Vec<Span>, bool)>) {
    let Some(((span, _), inner)) = axes.split_first() else {
        parts.push((outer.clone(), there > 0));
        return;
    };
    let whole = |outer: &[Span], range: Span| -> Vec<Span> {
        let all = inner.iter().map(|(span, _)| Span::all(span.count));
        outer.iter().copied().chain([range]).chain(all).collect()
    };
    let below = inner.iter().fold(1u64, |all, (_, side)| all.saturating_mul(*side)).max(1);
    let (rows, rest) = (there / below, there % below);
    let mut count = span.below(rows);
    if count > 0 {
        parts.push((whole(outer, Span::range(0, count)), true));
    }
    if rest > 0 && count < span.count && span.index(count) == rows {
        outer.push(Span::range(count, 1));
        divide(inner, rest, outer, parts);
        outer.pop();
        count += 1;
    }
    if count < span.count {
        parts.push((whole(outer, Span::range(count, span.count - count)), false));
    }
}

/// The elements `range` of `shape`, counted in C order (cut to those that are there), as regions each contiguous in C
/// order, all together in C order: at most two a dimension.
pub fn runs(shape: &[u64], range: Range<u64>) -> Vec<Region> {
    fn add(shape: &[u64], range: Range<u64>, before: &[Span], out: &mut Vec<Region>) {
        let Some((_, rest)) = shape.split_first() else {
            return out.push(Region(before.to_vec()));
        };
        let inner = rest.iter().product::<u64>().max(1);
        let with = |span: Span| -> Vec<Span> { before.iter().copied().chain([span]).collect() };
        let (first, last) = (range.start / inner, range.end / inner);
        let (head, tail) = (range.start % inner, range.end % inner);
        if head > 0 {
            let end = if first == last { tail } else { inner };
            add(rest, head..end, &with(Span::range(first, 1)), out);
            if first == last {
                return;
            }
        }
        let whole = first + u64::from(head > 0)..last;
        if whole.start < whole.end {
            let mut spans = with(Span::range(whole.start, whole.end - whole.start));
            spans.extend(rest.iter().map(|&len| Span::all(len)));
            out.push(Region(spans));
        }
        if tail > 0 {
            add(rest, 0..tail, &with(Span::range(last, 1)), out);
        }
    }
    // A shape whose elements cannot be counted has none that could be read.
    let total = limits::elements(shape).unwrap_or(0);
    let (start, end) = (range.start.min(total), range.end.min(total));
    let mut out = Vec::new();
    if start < end {
        add(shape, start..end, &[], &mut out);
    }
    out
}

/// Splits `shape` into regions of at most `most` elements (at least one row of the last axis when
/// that is longer, cut along it), each contiguous in C order, all together in C order.
pub fn pieces(shape: &[u64], most: u64) -> Pieces {
    let most = most.max(1);
    let empty = shape.contains(&0);
    // The first axis from which on everything fits into one piece.
    let mut inner = 1u64;
    let mut axis = shape.len();
    for &len in shape.iter().rev() {
        let more = inner.saturating_mul(len);
        if more > most {
            break;
        }
        (inner, axis) = (more, axis - 1);
    }
    let step = if axis == 0 { 1 } else { (most / inner.max(1)).max(1) };
    Pieces { shape: shape.to_vec(), axis, step, next: (!empty).then(|| vec![0; axis]) }
}

/// See [`pieces`].
pub struct Pieces {
    shape: Vec<u64>,
    axis: usize,
    step: u64,
    next: Option<Vec<u64>>,
}

impl Iterator for Pieces {
    type Item = Region;

    fn next(&mut self) -> Option<Region> {
        let index = self.next.take()?;
        let mut spans = Vec::with_capacity(self.shape.len());
        for (axis, &len) in self.shape.iter().enumerate() {
            spans.push(match index.get(axis) {
                Some(&at) if axis + 1 < self.axis => Span::range(at, 1),
                Some(&at) => Span::range(at, self.step.min(len - at)),
                None => Span::all(len),
            });
        }
        let (mut after, mut step) = (index, self.step);
        let more = after.iter_mut().zip(&self.shape).rev().any(|(at, &len)| {
            *at += std::mem::replace(&mut step, 1);
            let inside = *at < len;
            if !inside {
                *at = 0;
            }
            inside
        });
        self.next = more.then_some(after);
        Some(Region(spans))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_that_overlap_become_one() {
        let of = |spans: &[(u64, u64)]| Region(spans.iter().map(|&(a, n)| Span::range(a, n)).collect());
        let mut apart = Region::apart(vec![
            of(&[(0, 2), (0, 2)]),
            of(&[(1, 4), (1, 4)]),
            of(&[(4, 3), (0, 1)]),
            of(&[(9, 0), (0, 9)]),
            of(&[(8, 1), (0, 9)]),
        ])
        .unwrap();
        apart.sort_by_key(|region| region.0[0].start);
        assert_eq!(apart, [of(&[(0, 7), (0, 5)]), of(&[(8, 1), (0, 9)])]);
        assert_eq!(Region::apart(vec![Region(vec![]), Region(vec![])]).unwrap(), [Region(vec![])]);
    }
    use proptest::prelude::*;

    #[test]
    fn numpy_notation() {
        let (region, single) = Region::parse("3, :, ::2", &[10, 4, 5]).unwrap();
        assert_eq!(region.0, [Span::range(3, 1), Span::all(4), Span { start: 0, count: 3, step: 2 }]);
        assert_eq!(single, [true, false, false]);
        assert_eq!(region.text(&[10, 4, 5], &single), "3, :, ::2");
        let (region, _) = Region::parse("..., -2:", &[10, 4, 5]).unwrap();
        assert_eq!(region.0[2], Span::range(3, 2));
        let (region, _) = Region::parse("-1,1..3", &[10, 4]).unwrap();
        assert_eq!(region.0, [Span::range(9, 1), Span::range(1, 2)]);
        for wrong in ["10", "1:2:0", "a", "1,2,3", "1:2:3:4"] {
            assert!(Region::parse(wrong, &[10, 4]).is_err(), "{wrong}");
        }
        let words = |text: &str| Region::parse(text, &[10, 4]).unwrap_err().to_string();
        assert!(
            words("::-1").contains("\"::-1\" of 10 elements (axis 0): a step is at least 1"),
            "{}",
            words("::-1")
        );
        assert!(words("1, 3:0:-2").contains("slices go forwards"), "{}", words("1, 3:0:-2"));
        assert!(!words("a:b").contains("step"), "{}", words("a:b"));
    }

    proptest! {
        #[test]
        fn runs_are_the_elements_of_a_range(shape in prop::collection::vec(0u64..5, 0..4), a in 0u64..70, b in 0u64..70) {
            let total = limits::elements(&shape).unwrap();
            let mut seen = Vec::new();
            let parts = runs(&shape, a.min(b)..a.max(b));
            prop_assert!(parts.len() <= shape.len().max(1) * 2);
            for part in parts {
                part.check(&shape).unwrap();
                let first = part.0.iter().zip(&shape).fold(0, |flat, (span, len)| flat * len + span.start);
                seen.extend(first..first + part.elements().unwrap());
            }
            prop_assert_eq!(seen, (a.min(b).min(total)..a.max(b).min(total)).collect::<Vec<_>>());
        }

        #[test]
        fn pieces_cover_everything_once_in_c_order(shape in prop::collection::vec(0u64..6, 0..4), most in 1u64..40) {
            let mut seen = Vec::new();
            for piece in pieces(&shape, most) {
                piece.check(&shape).unwrap();
                let first = piece.0.iter().zip(&shape).fold(0, |flat, (span, len)| flat * len + span.start);
                let count = piece.elements().unwrap();
                prop_assert!(count <= most || shape.last().is_none());
                seen.extend(first..first + count);
            }
            let total = limits::elements(&shape).unwrap();
            prop_assert_eq!(seen, (0..total).collect::<Vec<_>>());
        }
    }
}
