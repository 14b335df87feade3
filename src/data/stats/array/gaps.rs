//! Elements without those that could not be read.

use crate::data::content::array::MissingRegion;
use crate::data::region::{Region, Span};

/// Takes those elements out of `bytes` that lie in gaps, and says how many they were; `bytes` are the elements of
/// `region`, of `size` bytes each. It costs as much as these and those in the gaps, however many gaps there are.
pub(super) fn take_out(bytes: &mut Vec<u8>, size: u64, region: &Region, gaps: &[MissingRegion]) -> u64 {
    if gaps.is_empty() {
        return 0;
    }
    let (shape, size) = (region.shape(), (size as usize).max(1));
    let mut lost = vec![false; bytes.len() / size];
    for gap in gaps {
        mark(&mut lost, &shape, &gap.part.0);
    }
    let (mut from, mut to, mut count) = (0, 0, 0);
    for run in lost.chunk_by(|a, b| a == b) {
        let len = run.len() * size;
        if run.first() == Some(&true) {
            count += run.len() as u64;
        } else {
            bytes.copy_within(from..from + len, to);
            to += len;
        }
        from += len;
    }
    bytes.truncate(to);
    count
}

/// Marks a part of the elements of `shape`, run by run: along the last axis, or more where a gap has all of it.
fn mark(lost: &mut [bool], shape: &[u64], part: &[Span]) {
    let (Some((&len, inner)), Some((span, parts))) = (shape.split_first(), part.split_first()) else {
        return lost.fill(true);
    };
    // Elements below one index of this axis.
    let below = lost.len() / (len as usize).max(1);
    let (start, end) = (span.start.min(len) as usize, span.end().min(len) as usize);
    let lost = lost.get_mut(start * below..end * below).unwrap_or_default();
    if inner.iter().zip(parts).all(|(&len, part)| part.start == 0 && part.end() >= len) {
        return lost.fill(true);
    }
    lost.chunks_exact_mut(below.max(1)).for_each(|lost| mark(lost, inner, parts));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::Error;

    fn gap(spans: &[(u64, u64)]) -> MissingRegion {
        let part = Region(spans.iter().map(|&(start, count)| Span::range(start, count)).collect());
        MissingRegion { part, error: Error::io("the disk is gone") }
    }

    #[test]
    fn gaps_may_overlap_and_have_whole_axes() {
        let shape = [3u64, 4, 5];
        let all: Vec<u8> = (0..60).flat_map(|n| [n, 100]).collect();
        for gaps in [
            vec![],
            vec![gap(&[(0, 3), (0, 4), (0, 5)])],
            vec![gap(&[(1, 1), (0, 4), (0, 5)]), gap(&[(1, 2), (3, 1), (4, 1)])],
            vec![
                gap(&[(0, 2), (1, 2), (0, 5)]),
                gap(&[(0, 3), (0, 4), (2, 1)]),
                gap(&[(2, 1), (3, 1), (3, 2)]),
            ],
        ] {
            let within = |at: [u64; 3]| {
                let holds = |gap: &MissingRegion| {
                    gap.part.0.iter().zip(at).all(|(s, at)| at >= s.start && at < s.end())
                };
                gaps.iter().any(holds)
            };
            let left = (0..60u64).filter(|n| !within([n / 20, n / 5 % 4, n % 5]));
            let left: Vec<u8> = left.flat_map(|n| [n as u8, 100]).collect();
            let mut bytes = all.clone();
            let lost = take_out(&mut bytes, 2, &Region::all(&shape), &gaps);
            assert_eq!((&bytes, lost as usize), (&left, 60 - left.len() / 2));
        }
    }

    #[test]
    fn a_scalar_may_be_the_gap() {
        let mut bytes = vec![1, 2];
        assert_eq!((take_out(&mut bytes, 2, &Region(vec![]), &[gap(&[])]), bytes.len()), (1, 0));
    }

    #[test]
    fn ten_thousand_gaps_in_a_million_elements_are_no_work() {
        let gaps: Vec<MissingRegion> = (0..10_000).map(|n| gap(&[(n / 10, 1), (n % 10 * 100, 50)])).collect();
        let mut bytes = vec![0; 1_000_000];
        let lost = take_out(&mut bytes, 1, &Region::all(&[1000, 1000]), &gaps);
        assert_eq!((lost, bytes.len()), (500_000, 500_000));
    }
}
