//! Counts, extremes and checksums against those of the whole.

use super::*;
use crate::bytes::source::Source;
use crate::data::content::array::{MissingRegion, Plain};
use crate::data::region::Span;

fn stats(values: &[f32], bins: Option<usize>) -> ArrayStats {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let crc = crc32fast::hash(&bytes);
    let plain = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![values.len() as u64]).unwrap();
    let stats = array(&plain, &Task::new(), bins).unwrap();
    assert_eq!(stats.crc32, crc);
    stats
}

#[test]
fn what_is_not_finite_is_counted_and_left_out() {
    let s = stats(&[1.0, f32::NAN, 0.0, f32::INFINITY, -3.0, f32::NEG_INFINITY, 2.0], Some(5));
    assert_eq!((s.count, s.nan, s.inf, s.zeros), (7, 1, 2, 1));
    assert_eq!(
        (s.min.as_deref(), s.max.as_deref(), s.sum, s.mean),
        (Some("-3.0"), Some("2.0"), Some(0.0), Some(0.0))
    );
    assert!((s.std.unwrap() - 3.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(s.histogram.unwrap().counts, [1, 0, 0, 1, 2]);
    let empty = stats(&[], None);
    assert_eq!((empty.count, empty.min, empty.mean), (0, None, None));
}

#[test]
fn scaled_values_have_statistics_of_their_own() {
    let bytes: Vec<u8> = [-1i16, 100, 300, -99, 2000].iter().flat_map(|v| v.to_le_bytes()).collect();
    let scaling = Scaling { scale: 0.5, offset: 10.0, fill: vec![-99.0], valid: Some((-10.0, 1000.0)) };
    let facts = crate::data::content::ArrayFacts { scaling: Some(scaling), ..Default::default() };
    let plain = Plain::new(Source::memory("a", bytes), 0, DType::I16, vec![5]).unwrap().with_facts(facts);
    let s = array(&plain, &Task::new(), None).unwrap();
    assert_eq!((s.min.as_deref(), s.max.as_deref()), (Some("-99"), Some("2000")));
    let scaled = s.scaled.unwrap();
    assert_eq!((scaled.missing, scaled.min, scaled.max), (2, Some(9.5), Some(160.0)));
    assert_eq!((scaled.sum, scaled.mean), (Some(229.5), Some(76.5)));
}

/// Six rows of four, of which the second chunk of two rows is broken.
struct Broken(Plain);

impl Array for Broken {
    fn dtype(&self) -> &DType {
        self.0.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
        Err(Error::malformed("chunk 1: its checksum is wrong"))
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        self.0.read(task, region, out)?;
        let rows = region.0[0];
        let lost = (0..rows.count).filter(|&n| (2..4).contains(&rows.index(n)));
        let gap = |n| MissingRegion {
            part: Region(vec![Span::range(n, 1), Span::all(region.0[1].count)]),
            error: Error::malformed("chunk 1: its checksum is wrong"),
        };
        Ok(lost.map(gap).collect())
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_hides_nothing_else() {
    let bytes: Vec<u8> = (0..24u8).collect();
    let broken = Broken(Plain::new(Source::memory("a", bytes), 0, DType::U8, vec![6, 4]).unwrap());
    assert!(array(&broken, &Task::new(), None).is_err());
    let s = readable(&broken, &Task::new(), Some(2)).unwrap();
    assert_eq!((s.count, s.min.as_deref(), s.max.as_deref()), (16, Some("0"), Some("23")));
    assert_eq!(s.sum, Some((0..8).chain(16..24).sum::<u32>() as f64));
    assert_eq!(s.histogram.unwrap().counts, [8, 8]);
    let unread = s.unread.unwrap();
    assert_eq!(unread.count, 8);
    assert!(unread.to_string().contains("8 elements could not be read: "), "{unread}");
    let mut unread = None;
    let rows = Region(vec![Span::range(1, 2), Span::range(1, 2)]);
    let left = readable_elements(&broken, &Task::new(), &rows, &mut unread).unwrap();
    assert_eq!((left, unread.unwrap().count), (vec![5, 6], 2));
    let lost = Region(vec![Span::range(2, 2), Span::all(4)]);
    let none = readable_elements(&broken, &Task::new(), &lost, &mut None).unwrap();
    assert!(none.is_empty());
}

/// As `Plain`, but it says that only some regions are stored, and shows no other to a reader.
struct Few {
    dtype: DType,
    shape: Vec<u64>,
    stored: Vec<Region>,
}

impl Array for Few {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let inside = |stored: &Region| {
            stored.0.iter().zip(&region.0).all(|(s, r)| s.start <= r.start && r.end() <= s.end())
        };
        assert!(self.stored.iter().any(inside), "{region:?} is not stored");
        out.iter_mut().enumerate().for_each(|(n, byte)| *byte = n as u8 | 1);
        Ok(())
    }

    fn stored(&self, _: &Task) -> Result<Option<Stored>> {
        let element = Some(vec![7; self.dtype.size() as usize]);
        Ok(Some(Stored { regions: self.stored.clone(), element, row: None }))
    }
}

#[test]
fn what_is_not_stored_is_counted_without_a_pass() {
    let few = |shape: &[u64], stored: &[&[(u64, u64)]]| Few {
        dtype: DType::U8,
        shape: shape.to_vec(),
        stored: stored
            .iter()
            .map(|spans| Region(spans.iter().map(|&(a, n)| Span::range(a, n)).collect()))
            .collect(),
    };
    // Small enough to compare with all of it.
    let small = few(&[3, 1 << 26], &[&[(1, 1), (5, 4)], &[(2, 1), (1 << 20, 3)]]);
    let mut all = vec![7u8; 3 << 26];
    all[(1 << 26) + 5..][..4].copy_from_slice(&[1, 1, 3, 3]);
    all[(2 << 26) + (1 << 20)..][..3].copy_from_slice(&[1, 1, 3]);
    let s = array(&small, &Task::new(), Some(2)).unwrap();
    let sum: u64 = all.iter().map(|&b| u64::from(b)).sum();
    assert_eq!((s.count, s.crc32, s.sum), (3 << 26, crc32fast::hash(&all), Some(sum as f64)));
    assert_eq!((s.min.as_deref(), s.max.as_deref()), (Some("1"), Some("7")));
    assert_eq!(s.histogram.unwrap().counts, [7, (3 << 26) - 7]);
    // As many as 64 bits count.
    let vast = few(&[1 << 31, 1 << 32], &[&[(9, 1), (1 << 31, 8)]]);
    let began = std::time::Instant::now();
    let s = readable(&vast, &Task::new(), Some(3)).unwrap();
    assert_eq!((s.count, s.max.as_deref(), s.zeros), (1 << 63, Some("7"), 0));
    assert!(s.std.is_some_and(|std| std < 1e-6) && began.elapsed().as_secs() < 5);
}

#[test]
fn texts_that_are_not_stored_are_counted_without_a_pass() {
    use crate::data::dtype::Variable;
    use arrow::array::{ArrayRef, StringArray};
    struct Words(DType, Vec<u64>, Vec<Region>);
    impl Array for Words {
        fn dtype(&self) -> &DType {
            &self.0
        }
        fn shape(&self) -> &[u64] {
            &self.1
        }
        fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
            Err(Error::bug("texts have no bytes"))
        }
        fn column(&self, _: &Task, region: &Region) -> Result<ArrayRef> {
            let first = region.0[1].start;
            Ok(Arc::new(StringArray::from_iter_values(
                (0..region.elements()?).map(|n| format!("word {}", first + n)),
            )))
        }
        fn stored(&self, _: &Task) -> Result<Option<Stored>> {
            let row: ArrayRef = Arc::new(StringArray::from(vec!["none"]));
            Ok(Some(Stored { regions: self.2.clone(), element: None, row: Some(row) }))
        }
    }
    use std::sync::Arc;
    let kind =
        Variable { word: "string".to_owned(), arrow: arrow::datatypes::DataType::Utf8, reference: false };
    let region = |row, start, count| Region(vec![Span::range(row, 2), Span::range(start, count)]);
    let words = |shape: [u64; 2]| {
        Words(DType::Variable(Arc::new(kind.clone())), shape.to_vec(), vec![region(1, 3, 2), region(1, 0, 1)])
    };
    let mut text = Vec::new();
    for row in 0..3 {
        for column in 0..2_000_000 {
            let word = format!("word {column}");
            let there = row > 0 && [0, 3, 4].contains(&column);
            text.extend_from_slice(if there { word.as_bytes() } else { b"none" });
            text.push(0);
        }
    }
    let s = array(&words([3, 2_000_000]), &Task::new(), None).unwrap();
    assert_eq!((s.count, s.crc32), (6_000_000, crc32fast::hash(&text)));
    assert_eq!(array(&words([3, 1 << 61]), &Task::new(), None).unwrap().count, 3 << 61);
}

#[test]
fn pieces_add_up_over_many_megabytes() {
    let values: Vec<f32> = (0..1_000_003).map(|i| i as f32).collect();
    let s = stats(&values, None);
    assert_eq!((s.count, s.sum.unwrap()), (1_000_003, (0..1_000_003u64).sum::<u64>() as f64));
    assert!((s.std.unwrap() / (1_000_003f64 / 12f64.sqrt()) - 1.0).abs() < 1e-6);
}

#[test]
fn elements_under_a_byte_are_summed_across_pieces() {
    let bytes: Vec<u8> = (0..3 * 400_001u64).map(|n| (n * 7 % 251) as u8).collect();
    let dtype = DType::Mini(crate::data::dtype::Mini::F4E2M1);
    let plain = Plain::new(Source::memory("a", bytes.clone()), 0, dtype, vec![800_002, 3]).unwrap();
    assert_eq!(array(&plain, &Task::new(), None).unwrap().crc32, crc32fast::hash(&bytes));
}

#[test]
fn integers_beyond_the_reach_of_f64_are_exact() {
    let bytes: Vec<u8> = [u64::MAX, 1 << 53].iter().flat_map(|v| v.to_le_bytes()).collect();
    let plain = Plain::new(Source::memory("a", bytes), 0, DType::U64, vec![2]).unwrap();
    let s = array(&plain, &Task::new(), None).unwrap();
    assert_eq!((s.min.unwrap(), s.max.unwrap()), ("9007199254740992".into(), "18446744073709551615".into()));
}
