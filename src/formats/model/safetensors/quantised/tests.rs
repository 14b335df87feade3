use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::{Region, Span};
use proptest::prelude::*;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/quantised/safetensors/");

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap()
}

/// Label, shape and values of all arrays, by path.
fn arrays(document: &Document) -> Vec<(String, &'static str, Vec<u64>, Result<Vec<f32>, String>)> {
    let task = Task::new();
    let mut found = Vec::new();
    crate::data::open::walk(&task, &document.root, "", 100, &mut |node, path, _| {
        match (&node.content, &node.problem) {
            (Some(Content::Array(array)), _) => {
                let values = read(&**array, &task, &Region::all(array.shape())).map(|bytes| {
                    let mut values = Vec::new();
                    array.dtype().decode(&bytes, &mut values);
                    values.into_iter().map(|value| value as f32).collect()
                });
                let values = values.map_err(|error| error.message());
                found.push((path.to_owned(), node.label, array.shape().to_vec(), values));
            }
            (None, Some(problem)) => {
                found.push((path.to_owned(), node.label, Vec::new(), Err(problem.message())));
            }
            _ => {}
        }
        Ok(true)
    })
    .unwrap();
    found
}

/// Each expected tensor of a file is the one that is made, to the bit; how many there are.
fn check(name: &str, labels: &[&str]) -> usize {
    let document = opened(name);
    assert!(document.root.problem.is_none(), "{name}: {:?}", document.root.problem);
    let all = arrays(&document);
    let made: Vec<_> = all.iter().filter(|found| !matches!(found.1, "tensor")).collect();
    assert!(
        made.iter().all(|found| labels.contains(&found.1)),
        "{name}: {:?}",
        made.iter().map(|m| m.1).collect::<Vec<_>>()
    );
    let mut compared = 0;
    for (path, _, shape, wanted) in all.iter().filter(|found| found.0.starts_with("expected.")) {
        let path = path.strip_prefix("expected.").unwrap();
        let (_, _, got_shape, got) =
            made.iter().find(|found| found.0 == path).unwrap_or_else(|| panic!("{name}: {path}"));
        assert_eq!(got_shape, shape, "{name}: {path}");
        let (got, wanted) = (got.as_ref().unwrap(), wanted.as_ref().unwrap());
        for (n, (got, wanted)) in got.iter().zip(wanted).enumerate() {
            let same = got.to_bits() == wanted.to_bits()
                || got.is_nan() && wanted.is_nan()
                || *got == 0.0 && *wanted == 0.0;
            assert!(same, "{name}: {path}: element {n} is {got}, not {wanted}");
        }
        assert!(got.len() == wanted.len() && !got.is_empty());
        compared += 1;
    }
    assert_eq!(compared, made.len(), "{name}");
    compared
}

#[test]
fn every_layout_has_the_values_of_its_definition() {
    let files: [(&str, &[&str], usize); 22] = [
        ("gptq_2.safetensors", &["GPTQ"], 1),
        ("gptq_3.safetensors", &["GPTQ"], 1),
        ("gptq_4.safetensors", &["GPTQ"], 1),
        ("gptq_8.safetensors", &["GPTQ"], 1),
        ("gptq_v2/model.safetensors", &["GPTQ"], 1),
        ("awq.safetensors", &["AWQ"], 1),
        ("bnb_nf4.safetensors", &["bitsandbytes NF4"], 1),
        ("bnb_fp4.safetensors", &["bitsandbytes FP4"], 1),
        ("bnb_nf4_nested.safetensors", &["bitsandbytes NF4"], 1),
        ("bnb_int8.safetensors", &["bitsandbytes int8"], 1),
        ("ct_pack_3.safetensors", &["compressed-tensors"], 1),
        ("ct_pack_4.safetensors", &["compressed-tensors"], 1),
        ("ct_pack_4_zero.safetensors", &["compressed-tensors"], 1),
        ("ct_pack_8.safetensors", &["compressed-tensors"], 1),
        ("ct_int.safetensors", &["compressed-tensors"], 1),
        ("fp8_blocks.safetensors", &["FP8 with scales"], 1),
        ("fp8_scales.safetensors", &["FP8 with scales", "MXFP8"], 7),
        ("nvfp4_modelopt.safetensors", &["NVFP4"], 1),
        ("nvfp4_ct.safetensors", &["NVFP4"], 1),
        ("mxfp4_ct.safetensors", &["MXFP4"], 1),
        ("mxfp4_gpt_oss.safetensors", &["MXFP4"], 1),
        ("torchao.safetensors", &["torchao"], 2),
    ];
    for (name, labels, count) in files {
        assert_eq!(check(name, labels), count, "{name}");
    }
}

#[test]
fn parts_that_do_not_go_together_are_a_problem_of_one_node() {
    for name in ["gptq_shapes", "fp8_shapes", "gptq_groups", "nf4_shape"] {
        let all = arrays(&opened(&format!("wrong/{name}.safetensors")));
        let (stored, made): (Vec<_>, Vec<_>) = all.iter().partition(|found| found.1 == "tensor");
        assert!(stored.len() >= 2 && stored.iter().all(|found| found.3.is_ok()), "{name}");
        assert!(made.len() == 1 && made[0].3.is_err(), "{name}: {made:?}");
    }
}

proptest! {
    #[test]
    fn any_region_is_a_part_of_the_whole(
        (a, b, step) in (0u64..32, 0u64..33, 1u64..5), (c, d, wide) in (0u64..96, 0u64..97, 1u64..40), file in 0usize..3,
    ) {
        let name = ["gptq_3.safetensors", "awq.safetensors", "bnb_nf4_nested.safetensors"][file];
        let path = ["layers.0.q.weight", "q.weight", "w.weight.dequantized"][file];
        let (document, task) = (opened(name), Task::new());
        let node = document.root.find(&task, path).unwrap().unwrap();
        let Some(Content::Array(array)) = &node.content else { panic!() };
        let span = |start: u64, count: u64, step: u64, len: u64| {
            let start = start % len;
            Span { start, count: count.min((len - start).div_ceil(step)), step }
        };
        let (rows, columns) = (array.shape()[0], array.shape()[1]);
        let region = Region(vec![span(a, b, step, rows), span(c, d, wide, columns)]);
        let all = read(&**array, &task, &Region::all(array.shape())).unwrap();
        let place = |n: u64, m: u64| ((region.0[0].index(n) * columns + region.0[1].index(m)) * 4) as usize;
        let wanted: Vec<u8> = (0..region.0[0].count)
            .flat_map(|n| (0..region.0[1].count).map(move |m| (n, m)))
            .flat_map(|(n, m)| all[place(n, m)..][..4].to_vec())
            .collect();
        prop_assert_eq!(&read(&**array, &task, &region).unwrap(), &wanted);
        let quants = array.quantised().unwrap().quants(&task, &region).unwrap();
        let made: Vec<u8> = quants.iter().flat_map(|quant| quant.value().to_le_bytes()).collect();
        prop_assert_eq!(made, wanted);
    }
}

/// Neighbours that share a scale and a zero point differ in their levels as they do in their stored bits; the levels of
/// nf4 are those of its table.
#[test]
fn each_element_has_its_stored_bits() {
    let task = Task::new();
    let files = [
        ("gptq_3.safetensors", "layers.0.q.weight", 3),
        ("awq.safetensors", "q.weight", 4),
        ("bnb_nf4_nested.safetensors", "w.weight.dequantized", 4),
    ];
    for (file, path, bits) in files {
        let document = opened(file);
        let node = document.root.find(&task, path).unwrap().unwrap();
        let Some(Content::Array(array)) = &node.content else { panic!() };
        let quantised = array.quantised().unwrap();
        let (rows, columns) = (array.shape()[0].min(9), array.shape()[1].min(40));
        let region = Region(vec![Span::range(0, rows), Span::range(0, columns)]);
        let quants = quantised.quants(&task, &region).unwrap();
        let mut seen = std::collections::HashMap::new();
        for (n, quant) in quants.iter().enumerate() {
            let index = [n as u64 / columns, n as u64 % columns];
            let code = quantised.code(&task, &index).unwrap().unwrap();
            assert!(code.bits == bits && code.value < 1 << bits, "{file} {index:?}: {code:?}");
            if file.starts_with("bnb") {
                let level = seen.entry(code.value).or_insert(quant.level);
                assert_eq!(*level, quant.level, "{file} {index:?}");
            } else {
                // Of one scale there is one zero point here.
                let zero = code.value as f32 - quant.level;
                let known = seen.entry(quant.scale.to_bits()).or_insert(zero);
                assert_eq!(*known, zero, "{file} {index:?}");
            }
        }
        assert!(seen.len() > 1, "{file}");
        assert!(quantised.code(&task, &[array.shape()[0], 0]).is_err(), "{file}");
    }
}

proptest! {
    #[test]
    fn no_header_makes_it_panic(file in 0usize..4, changes in prop::collection::vec((0usize..900, any::<u8>()), 1..4)) {
        let name = ["gptq_4", "bnb_nf4_nested", "ct_pack_4_zero", "fp8_scales"][file];
        let mut bytes = std::fs::read(format!("{FIXTURES}{name}.safetensors")).unwrap();
        for (at, value) in changes {
            bytes[8 + at] = value;
        }
        let source = crate::Source::memory("x.safetensors", bytes);
        match crate::formats::open_source(&Task::new(), &source, &Options::default()) {
            Ok(document) => drop(arrays(&document)),
            Err(error) => prop_assert_ne!(error.kind(), ErrorKind::Bug),
        }
    }
}
