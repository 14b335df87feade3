//! Any region of any chunking is what the whole array gives.

use super::*;
use crate::data::dtype::Variable;
use arrow::array::{Array as _, StringArray, StringViewArray};
use proptest::prelude::*;
use std::sync::atomic::AtomicUsize;

/// Element `n` (in C order) of the test array is `n`, as u16; some chunks are missing or broken.
struct Counted {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// Edge chunks are cut, not padded.
    cut: bool,
    missing: Option<u64>,
    broken: Option<u64>,
    calls: AtomicUsize,
}

impl Counted {
    fn new(shape: &[u64], chunk: &[u64]) -> Self {
        let (shape, chunk) = (shape.to_vec(), chunk.to_vec());
        Counted { shape, chunk, cut: false, missing: None, broken: None, calls: AtomicUsize::new(0) }
    }

    /// The elements of a chunk, -1 for padding.
    fn elements(&self, index: &[u64]) -> Vec<i64> {
        let mut all = vec![0i64];
        for ((len, side), at) in self.shape.iter().zip(&self.chunk).zip(index) {
            let start = at * side;
            let end = if self.cut { (start + side).min(*len) } else { start + side };
            all = all
                .iter()
                .flat_map(|&flat| {
                    (start..end)
                        .map(move |i| if flat < 0 || i >= *len { -1 } else { flat * *len as i64 + i as i64 })
                })
                .collect();
        }
        all
    }

    fn array(self) -> (Chunked, Arc<Counted>) {
        let (shape, chunk, counted) = (self.shape.clone(), self.chunk.clone(), Arc::new(self));
        let array = Chunked::new(DType::U16, shape, chunk, vec![0x39, 0x30], counted.clone()).unwrap();
        (array, counted)
    }
}

impl Chunks for Counted {
    fn chunk(&self, _: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let first = index.iter().sum();
        if self.broken == Some(first) {
            return Err(Error::malformed("data: broken"));
        }
        if self.missing == Some(first) {
            return Ok(None);
        }
        Ok(Some(
            self.elements(index).iter().flat_map(|&n| (n as u16).to_le_bytes()).collect::<Vec<_>>().into(),
        ))
    }

    fn column(&self, _: &Task, index: &[u64]) -> Result<Option<ArrayRef>> {
        if self.missing == Some(index.iter().sum()) {
            return Ok(None);
        }
        let texts = self.elements(index).into_iter().map(|n| n.to_string());
        Ok(Some(Arc::new(StringArray::from_iter_values(texts))))
    }
}

/// The flat places of a region, and for each whether its chunk has the coordinate sum `sum`.
fn places(shape: &[u64], chunk: &[u64], region: &Region, sum: Option<u64>) -> Vec<(u64, bool)> {
    let mut all = vec![(0u64, 0u64)];
    for ((len, side), span) in shape.iter().zip(chunk).zip(&region.0) {
        all = all
            .iter()
            .flat_map(|&(flat, at)| {
                (0..span.count).map(move |n| (flat * len + span.index(n), at + span.index(n) / side))
            })
            .collect();
    }
    all.into_iter().map(|(flat, at)| (flat, Some(at) == sum)).collect()
}

fn region_of(dims: &[(u64, u64, u64, u64, u64)]) -> Region {
    Region(
        dims.iter()
            .map(|&(len, _, start, count, step)| {
                let start = start.min(len);
                Span { start, count: count.min(len - start).div_ceil(step), step }
            })
            .collect(),
    )
}

proptest! {
    #[test]
    fn any_region_of_any_grid(
        dims in prop::collection::vec((1u64..9, 1u64..6, 0u64..9, 0u64..9, 1u64..5), 0..4),
        cut: bool, missing in prop::option::of(0u64..4),
    ) {
        let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
        let chunk: Vec<u64> = dims.iter().map(|d| d.1).collect();
        let region = region_of(&dims);
        let (array, _) = Counted { cut, missing, ..Counted::new(&shape, &chunk) }.array();
        let bytes = array::read(&array, &Task::new(), &region).unwrap();
        let got: Vec<u64> = bytes.as_chunks::<2>().0.iter().map(|&b| u64::from(u16::from_le_bytes(b))).collect();
        let expected: Vec<u64> = places(&shape, &chunk, &region, missing).into_iter()
            .map(|(flat, gone)| if gone { 12345 } else { flat }).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn any_region_as_a_column(
        dims in prop::collection::vec((1u64..7, 1u64..5, 0u64..7, 0u64..7, 1u64..4), 0..3),
        cut: bool, missing in prop::option::of(0u64..3),
    ) {
        let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
        let chunk: Vec<u64> = dims.iter().map(|d| d.1).collect();
        let region = region_of(&dims);
        let counted = Counted { cut, missing, ..Counted::new(&shape, &chunk) };
        let array = Chunked::new(DType::text(), shape.clone(), chunk.clone(), vec![], Arc::new(counted)).unwrap();
        let column = array.column(&Task::new(), &region).unwrap();
        let texts = column.as_any().downcast_ref::<StringArray>().unwrap();
        let got: Vec<Option<String>> = texts.iter().map(|t| t.map(str::to_owned)).collect();
        let expected: Vec<Option<String>> = places(&shape, &chunk, &region, missing).into_iter()
            .map(|(flat, gone)| (!gone).then(|| flat.to_string())).collect();
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn a_chunk_is_decoded_once_while_it_is_kept() {
    let (array, counted) = Counted::new(&[100, 100], &[10, 10]).array();
    let task = Task::new();
    array.prefetch(&task, &Region(vec![Span::range(0, 20), Span::range(5, 10)]));
    assert_eq!(counted.calls.load(Ordering::Relaxed), 4);
    array::read(&array, &task, &Region(vec![Span::range(3, 10), Span::range(5, 10)])).unwrap();
    assert_eq!(counted.calls.load(Ordering::Relaxed), 4);
    array::read(&array, &task, &Region::all(&[100, 100])).unwrap();
    assert_eq!(counted.calls.load(Ordering::Relaxed), 100);
}

#[test]
fn a_broken_chunk_is_named_and_its_neighbours_are_read() {
    let (array, _) = Counted { broken: Some(1), ..Counted::new(&[6], &[2]) }.array();
    let (task, region) = (Task::new(), Region(vec![Span::range(1, 5)]));
    let error = array::read(&array, &task, &region).unwrap_err();
    assert_eq!(error.message(), "malformed chunk [1]: data: broken");
    let mut out = vec![0; 10];
    let gaps = array.read_lenient(&task, &region, &mut out).unwrap();
    assert_eq!(out, [1, 0, 0x39, 0x30, 0x39, 0x30, 4, 0, 5, 0]);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].part, Region(vec![Span::range(1, 2)]));
}

#[test]
fn of_too_many_broken_chunks_nothing_passes_for_data() {
    struct First;
    impl Chunks for First {
        fn chunk(&self, _: &Task, index: &[u64]) -> Result<Option<Bytes>> {
            match index {
                [0] => Ok(Some(vec![7, 0].into())),
                _ => Err(Error::malformed("data: broken")),
            }
        }
    }
    // One chunk more than can be listed, besides the one that is whole.
    let count = limits::LISTED + 2;
    let array = Chunked::new(DType::U16, vec![count], vec![1], vec![0x39, 0x30], Arc::new(First)).unwrap();
    let read = |count: u64| {
        let (region, mut out) = (Region::all(&[count]), vec![0; count as usize * 2]);
        let gaps = array.read_lenient(&Task::new(), &region, &mut out).unwrap();
        (gaps, out)
    };
    let (gaps, out) = read(count - 1);
    assert_eq!((gaps.len() as u64, &out[..4]), (limits::LISTED, &[7, 0, 0x39, 0x30][..]));
    assert_eq!(gaps[0].part, Region(vec![Span::range(1, 1)]));
    let (gaps, out) = read(count);
    assert_eq!((gaps.len(), &gaps[0].part), (1, &Region::all(&[count])));
    let said = gaps[0].error.message();
    let start = "malformed 10,001 chunks, too many to leave out one by one; the first: chunk [";
    assert!(said.starts_with(start) && said.ends_with("]: data: broken"), "{said}");
    assert!(out.as_chunks::<2>().0.iter().all(|element| *element == [0x39, 0x30]));
}

#[test]
fn wrong_lengths_types_and_cancellation_are_errors() {
    struct Wrong;
    impl Chunks for Wrong {
        fn chunk(&self, _: &Task, _: &[u64]) -> Result<Option<Bytes>> {
            Ok(Some(vec![0; 7].into()))
        }
        fn column(&self, _: &Task, _: &[u64]) -> Result<Option<ArrayRef>> {
            Ok(Some(Arc::new(StringViewArray::from_iter_values(["a", "b"]))))
        }
    }
    let array = Chunked::new(DType::U16, vec![4], vec![2], vec![], Arc::new(Wrong)).unwrap();
    let error = array::read(&array, &Task::new(), &Region::all(&[4])).unwrap_err();
    assert!(error.message().contains("decodes to 7 bytes"), "{error}");
    let task = Task::new();
    task.cancel();
    assert!(array::read(&array, &task, &Region::all(&[4])).unwrap_err().is_cancelled());
    let text = DType::Variable(Arc::new(Variable {
        word: "str".to_owned(),
        arrow: arrow::datatypes::DataType::Utf8,
        reference: false,
    }));
    let array = Chunked::new(text, vec![2], vec![2], vec![], Arc::new(Wrong)).unwrap();
    assert!(array.column(&Task::new(), &Region::all(&[2])).is_err());
    assert!(Chunked::new(DType::U16, vec![4], vec![2], vec![1], Arc::new(Wrong)).is_err());
}
