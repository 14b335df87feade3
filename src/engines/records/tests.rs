use super::tfrecord::{TfRecords, masked, record};
use super::*;
use crate::bytes::error::ErrorKind;
use proptest::prelude::*;

/// A file as TensorFlow writes it, and where each record begins.
fn written(records: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for bytes in records {
        places.push(out.len() as u64);
        let len = (bytes.len() as u64).to_le_bytes();
        out.extend(len);
        out.extend(masked(&len).to_le_bytes());
        out.extend(bytes);
        out.extend(masked(bytes).to_le_bytes());
    }
    (out, places)
}

/// The index of all of a file, found in steps of `most` frames, and what was wrong on the way.
fn found(source: &Source, most: usize) -> (Index, Vec<Error>) {
    let (task, mut index, mut errors) = (Task::new(), Index::new(0), Vec::new());
    while !index.ended() {
        errors.extend(index.extend(&task, source, &TfRecords, most, u64::MAX).err());
    }
    (index, errors)
}

fn records(source: &Source, index: &Index, range: Range<u64>) -> Vec<Vec<u8>> {
    let task = Task::new();
    let frames = index.frames_of(&task, source, &TfRecords, range.clone()).unwrap();
    let first = frames.first().map_or(range.start, |placed| placed.first);
    assert!(frames.iter().enumerate().all(|(n, placed)| placed.first == first + n as u64));
    frames.iter().map(|placed| record(&task, source, &placed.frame).unwrap().to_vec()).collect()
}

/// What TensorFlow's own writer gives for the record `abc`: the constants are from its C++.
#[test]
fn the_mask_is_tensorflows() {
    // The length 24, as an event file begins.
    assert_eq!(masked(&24u64.to_le_bytes()), u32::from_le_bytes([0xa3, 0x7f, 0x4b, 0x22]));
    assert_eq!(tfrecord::length(b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22"), Some(24));
    assert_eq!(tfrecord::length(b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x23"), None);
    assert_eq!(tfrecord::length(b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b"), None);
}

proptest! {
    #[test]
    fn all_records_are_found_in_any_steps(
        all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..60), most in 1usize..20,
        start in 0u64..70, count in 0u64..70,
    ) {
        let source = Source::memory("a", written(&all).0);
        let (index, errors) = found(&source, most);
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(index.records(), all.len() as u64);
        let wanted: Vec<Vec<u8>> = all.iter().skip(start as usize).take(count as usize).cloned().collect();
        prop_assert_eq!(records(&source, &index, start..start + count), wanted);
    }

    /// A changed byte costs the record that it is in, and is named with a place in it.
    #[test]
    fn a_broken_byte_costs_one_record(
        all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..20), at: prop::sample::Index, by in 1u8..,
    ) {
        let (mut bytes, places) = written(&all);
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let broken = places.partition_point(|place| *place <= at as u64) - 1;
        let source = Source::memory("a", bytes);
        let (index, errors) = found(&source, 1000);
        let task = Task::new();
        let mut good = Vec::new();
        let mut bad = errors.clone();
        for placed in index.frames_of(&task, &source, &TfRecords, 0..u64::MAX).unwrap() {
            match record(&task, &source, &placed.frame) {
                Ok(record) => good.push(record.to_vec()),
                Err(error) => bad.push(error),
            }
        }
        let mut wanted = all.clone();
        wanted.remove(broken);
        prop_assert_eq!(good, wanted);
        prop_assert_eq!(bad.len(), 1);
        prop_assert_eq!(bad[0].kind(), ErrorKind::Malformed);
        let place = bad[0].offset().unwrap();
        prop_assert!(place == places[broken] || place == places[broken] + 12, "{} {:?}", place, places);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..60) {
        found(&Source::memory("a", bytes), 1000);
        let (mut whole, _) = written(&[vec![1; 20], vec![2; 20]]);
        let there = whole.len() - cut.min(whole.len());
        whole.truncate(there);
        let (index, errors) = found(&Source::memory("a", whole), 1000);
        prop_assert_eq!(index.records(), (there / 36) as u64);
        prop_assert_eq!(errors.len(), usize::from(there % 36 != 0));
    }
}

/// A record of eight bytes with its checksum looks like the head of a record that is longer than all: it is none.
#[test]
fn eight_bytes_and_their_checksum_are_no_head() {
    for (at, by) in [(0, 1), (7, 1), (8, 1), (11, 242)] {
        let all =
            [vec![1; 35], vec![208, 215, 164, 91, 103, 27, 218, 184], vec![2; 31], vec![3; 8], vec![4; 5]];
        let (mut bytes, places) = written(&all);
        bytes[places[1] as usize + at] ^= by;
        let source = Source::memory("a", bytes);
        let (index, errors) = found(&source, 1000);
        assert_eq!(errors.len(), 1);
        assert_eq!(records(&source, &index, 0..u64::MAX), [&all[..1], &all[2..]].concat());
    }
}

/// More frames than are kept: the others are found from those that are.
#[test]
fn the_index_of_very_many_records_stays_small() {
    let all: Vec<Vec<u8>> = (0..300_000u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let (bytes, places) = written(&all);
    let source = Source::memory("a", bytes);
    let (index, errors) = found(&source, usize::MAX);
    assert!(errors.is_empty());
    let (kept, every) = index.kept();
    assert!(kept.len() <= Index::KEPT && every == 8, "{} {every}", kept.len());
    assert!(kept.iter().enumerate().all(|(n, placed)| placed.first == n as u64 * every));
    assert!(kept.iter().all(|placed| placed.frame.span.start == places[placed.first as usize] + 12));
    for range in [0..3, 7..9, 123_456..123_460, 299_998..400_000, 5..5] {
        let wanted = range.clone().filter(|n| *n < 300_000).map(|n| (n as u32).to_le_bytes().to_vec());
        assert_eq!(records(&source, &index, range.clone()), wanted.collect::<Vec<_>>(), "{range:?}");
    }
}

#[test]
fn finding_stops_and_goes_on() {
    let (bytes, _) = written(&vec![vec![5; 7]; 5000]);
    let source = Source::memory("a", bytes);
    let task = Task::new();
    let mut index = Index::new(0);
    index.extend(&task, &source, &TfRecords, 10, u64::MAX).unwrap();
    assert_eq!((index.records(), index.ended(), index.seen()), (10, false, 230));
    index.extend(&task, &source, &TfRecords, usize::MAX, 100).unwrap();
    assert_eq!((index.records(), index.ended()), (100, false));
    let stopped = Task::new();
    stopped.cancel();
    let error = index.extend(&stopped, &source, &TfRecords, usize::MAX, u64::MAX).unwrap_err();
    assert!(error.is_cancelled() && !index.ended());
    index.extend(&task, &source, &TfRecords, usize::MAX, u64::MAX).unwrap();
    assert_eq!((index.records(), index.ended()), (5000, true));
}
