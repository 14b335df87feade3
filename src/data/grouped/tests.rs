use super::*;
use crate::bytes::source::Source;
use crate::data::content::array::{Plain, read};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use proptest::prelude::*;
use std::collections::HashMap;

/// A group in memory.
#[derive(Default)]
struct Made(HashMap<String, Arc<dyn Array>>);

impl Made {
    fn with(mut self, name: &str, dtype: DType, bytes: Vec<u8>) -> Self {
        let count = bytes.len() as u64 / dtype.size();
        let plain = Plain::new(Source::memory(name, bytes), 0, dtype, vec![count]).unwrap();
        self.0.insert(name.to_owned(), Arc::new(plain));
        self
    }
}

impl Members for Made {
    fn find(&self, _: &Task, path: &str) -> Result<Option<Found>> {
        Ok(self.0.get(path).map(|array| Found { attributes: Vec::new(), array: Some(array.clone()) }))
    }
}

fn attributes(list: &[(&str, serde_json::Value)]) -> Vec<(String, Value)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect()
}

/// A dense matrix as CSR or CSC.
fn packed(dense: &[Vec<i16>], columns: usize, by_rows: bool) -> Made {
    let (mut data, mut indices, mut ends) = (Vec::new(), Vec::new(), vec![0i64]);
    let column = |column: usize| dense.iter().map(|row| row[column]).collect();
    let lines: Vec<Vec<i16>> = if by_rows { dense.to_vec() } else { (0..columns).map(column).collect() };
    for line in lines {
        for (other, value) in line.into_iter().enumerate() {
            if value != 0 {
                data.extend(value.to_le_bytes());
                indices.extend((other as i32).to_le_bytes());
            }
        }
        ends.push(indices.len() as i64 / 4);
    }
    let ends = ends.into_iter().flat_map(i64::to_le_bytes).collect();
    Made::default().with("data", DType::I16, data).with("indices", DType::I32, indices).with(
        "indptr",
        DType::I64,
        ends,
    )
}

fn matrix(members: &Made, word: &str, rows: usize, columns: usize) -> Result<Arc<dyn Array>> {
    let said = attributes(&[("encoding-type", word.into()), ("shape", serde_json::json!([rows, columns]))]);
    match content(&Task::new(), members, &said)? {
        Some((Content::Array(array), _)) => Ok(array),
        _ => panic!("no array"),
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let task = Task::new();
    let dense = vec![vec![1, 0, 2], vec![0, 3, 0]];
    assert!(matrix(&packed(&dense, 3, true), "csr_matrix", 3, 3).is_err());
    assert!(matrix(&packed(&dense, 3, true), "csc_matrix", 2, 3).is_err());
    assert!(matrix(&Made::default(), "csr_matrix", 2, 3).is_err());
    assert!(
        content(&task, &Made::default(), &attributes(&[("encoding-type", "dict".into())])).unwrap().is_none()
    );
    // An index beyond the columns, and rows that begin beyond the next.
    let narrow = matrix(&packed(&dense, 3, true), "csr_matrix", 2, 2).unwrap();
    let said = read(&*narrow, &task, &Region::all(&[2, 2])).unwrap_err();
    assert!(said.message().contains("index 2 of 2"), "{said}");
    let ends: Vec<u8> = [0i64, 9, 3].into_iter().flat_map(i64::to_le_bytes).collect();
    let lying = packed(&dense, 3, true).with("indptr", DType::I64, ends);
    let lying = matrix(&lying, "csr_matrix", 2, 3).unwrap();
    assert!(read(&*lying, &task, &Region::all(&[2, 3])).is_err());
    let negative: Vec<u8> = [0i64, -1, 3].into_iter().flat_map(i64::to_le_bytes).collect();
    let lying =
        matrix(&packed(&dense, 3, true).with("indptr", DType::I64, negative), "csr_matrix", 2, 3).unwrap();
    assert!(read(&*lying, &task, &Region::all(&[2, 3])).is_err());
}

#[test]
fn a_broken_column_hides_no_other() {
    let members = Made::default()
        .with("_index", DType::I32, vec![1, 0, 0, 0, 2, 0, 0, 0])
        .with("short", DType::U8, vec![1])
        .with("good", DType::U8, vec![7, 8]);
    let said = attributes(&[
        ("encoding-type", "dataframe".into()),
        ("_index", "_index".into()),
        ("column-order", serde_json::json!(["gone", "short", "good"])),
    ]);
    let Some((Content::Table(table), remarks)) = content(&Task::new(), &members, &said).unwrap() else {
        panic!()
    };
    let names: Vec<_> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["_index", "good"]);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
}

#[test]
fn attributes_of_pandas_alone_make_no_frame() {
    let said = attributes(&[("pandas_type", "frame".into()), ("nblocks", 1.into())]);
    let columns = Made::default().with("a", DType::U8, vec![7, 8]);
    assert!(content(&Task::new(), &columns, &said).unwrap().is_none());
    // A part of the layout does, and what is missing of it is said.
    let part = columns.with("axis0", DType::U8, vec![1]);
    assert!(content(&Task::new(), &part, &said).is_err());
}

proptest! {
    #[test]
    fn every_region_is_that_of_the_dense_matrix(
        (rows, columns) in (1usize..9, 1usize..9), seed in prop::collection::vec(-2i16..3, 64), by_rows: bool,
        (first, step) in ((0usize..9, 0usize..9), (1u64..4, 1u64..4)), (a, b) in (0usize..9, 0usize..9),
    ) {
        let dense: Vec<Vec<i16>> =
            (0..rows).map(|r| (0..columns).map(|c| seed[r * 8 % 64 + c % 8].max(0)).collect()).collect();
        let word = if by_rows { "csr_matrix" } else { "csc_matrix" };
        let matrix = matrix(&packed(&dense, columns, by_rows), word, rows, columns).unwrap();
        let span = |len: usize, first: usize, step: u64, last: usize| {
            let start = first.min(len);
            let end = (start + last).min(len);
            Span { start: start as u64, count: ((end - start) as u64).div_ceil(step), step }
        };
        let region = Region(vec![span(rows, first.0, step.0, a), span(columns, first.1, step.1, b)]);
        let got = read(&*matrix, &Task::new(), &region).unwrap();
        let places = |span: &Span| (0..span.count).map(|n| span.index(n) as usize).collect::<Vec<_>>();
        let mut expected = Vec::new();
        for r in places(&region.0[0]) {
            for c in places(&region.0[1]) {
                expected.extend(dense[r][c].to_le_bytes());
            }
        }
        prop_assert_eq!(got, expected);
    }
}
