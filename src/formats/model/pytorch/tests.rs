use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::data::security::Verdict;
use crate::formats::open_source;
use proptest::prelude::*;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/pytorch/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("no {path:?}"))
}

/// Type, shape and bytes of an array.
fn values(node: &Node) -> std::result::Result<(String, Vec<u64>, Vec<u8>), String> {
    match (&node.content, &node.problem) {
        (Some(Content::Array(array)), None) => {
            let bytes = read(&**array, &Task::new(), &Region::all(array.shape())).map_err(|e| e.message())?;
            Ok((array.facts().type_name(array.dtype()), array.shape().to_vec(), bytes))
        }
        (_, Some(problem)) => Err(problem.message()),
        _ => Err("no array".to_owned()),
    }
}

fn floats(document: &Document, path: &str) -> Vec<f32> {
    let (_, _, bytes) = values(&node(document, path)).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn said(node: &Node, name: &str) -> Option<String> {
    node.reader.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string())
}

fn detail(node: &Node, name: &str) -> Option<String> {
    let Some(Content::Array(array)) = &node.content else { return None };
    array.facts().details.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// Every tensor of every fixture has the type, the shape and the bytes that torch reads.
#[test]
fn every_tensor_is_as_torch_reads_it() {
    let text = std::fs::read(format!("{FIXTURES}expected.json")).unwrap();
    let expected: serde_json::Map<String, Json> = serde_json::from_slice(&text).unwrap();
    let mut count = 0;
    for (file, tensors) in &expected {
        let document = opened(file).unwrap();
        for (path, facts) in tensors.as_object().unwrap() {
            let got = values(&node(&document, path)).unwrap_or_else(|why| panic!("{file}#{path}: {why}"));
            let facts = facts.as_str().unwrap();
            // Two floats of 4 bits are one element to torch, and have no bytes of their own here.
            if got.0 == "float4_e2m1fn_x2" {
                assert_eq!((got.1.as_slice(), got.2.len()), (&[2, 3, 2][..], 12));
                assert!(facts.starts_with("float4_e2m1fn_x2 [2, 3] "));
                continue;
            }
            let got = format!("{} {:?} {}", got.0, got.1, crc32fast::hash(&got.2));
            assert_eq!(got, facts, "{file}#{path}");
            count += 1;
        }
    }
    assert!(expected.len() >= 20 && count > 200, "{} files, {count} tensors", expected.len());
}

#[test]
fn formats_are_told_apart_whatever_they_are_called() {
    let id = |name: &str| opened(name).unwrap().format.id;
    for name in
        ["state_dict.pth", "legacy_views.pt", "tar.pt", "renamed.jpg", "lightning.ckpt", "protocol_4.pt"]
    {
        assert_eq!(id(name), "pytorch", "{name}");
    }
    for name in ["traced.pt", "scripted.pt", "frozen.pt", "lite.ptl"] {
        assert_eq!(id(&format!("../torchscript/{name}")), "torchscript", "{name}");
    }
    assert_eq!(id("../torch_export/small.pt2"), "torch_export");
    assert_eq!(id("../pytorch_sharded/two"), "pytorch_sharded");
    assert_eq!(id("../torch_distributed/pieces"), "torch_distributed");
    let other = open_source(
        &Task::new(),
        &Source::memory("x.bin", &b"no model, some text\n"[..]),
        &Options::default(),
    );
    assert_eq!(other.unwrap().format.id, "text");
    let npz = std::fs::read(format!("{FIXTURES}../npz/stored.npz")).unwrap();
    let other = open_source(&Task::new(), &Source::memory("x.pt", npz), &Options::default()).unwrap();
    assert_ne!(other.format.id, "pytorch", "an archive without a pickle is none of PyTorch's");
}

#[test]
fn sparse_tensors_are_read_as_what_they_stand_for() {
    let document = opened("sparse.pt").unwrap();
    let dense = [0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 0.0, 5.0, 6.0, 0.0];
    for layout in ["coo", "hybrid", "csr", "csc", "bsr", "bsc"] {
        assert_eq!(floats(&document, &format!("/{layout}")), dense, "{layout}");
    }
    assert_eq!(floats(&document, "/twice"), [0.0, 5.0, 0.0, 0.0], "values at one place are added");
    assert_eq!(floats(&document, "/empty"), [0.0; 6]);
    assert_eq!(node(&document, "/csr/crow_indices").label, "torch.Tensor");
    // Parts of it: every other column of the last rows.
    let Some(Content::Array(array)) = &node(&document, "/bsr").content.clone() else { panic!() };
    let mut region = Region::all(array.shape());
    (region.0[0].start, region.0[0].count) = (2, 2);
    (region.0[1].start, region.0[1].count, region.0[1].step) = (1, 2, 2);
    let bytes = read(&**array, &Task::new(), &region).unwrap();
    let part: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!(part, [0.0, 4.0, 5.0, 0.0]);
}

#[test]
fn quantised_tensors_say_what_they_stand_for() {
    let document = opened("quantised.pt").unwrap();
    let Some(Content::Array(array)) = &node(&document, "/tensor_i8").content.clone() else { panic!() };
    let (dtype, _, stored) = values(&node(&document, "/tensor_i8")).unwrap();
    assert_eq!((dtype.as_str(), stored[..3].to_vec()), ("qint8", vec![3, 8, (-7i8) as u8]));
    let scaling = array.facts().scaling.unwrap();
    assert_eq!((scaling.apply(8.0), scaling.apply(3.0)), (0.5, 0.0));
    let values: Vec<f32> = floats(&document, "/channel/dequantised");
    let wanted = [0.0, 0.5, -1.0, 1.6, 2.0, -2.4];
    assert!(values.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{values:?}");
    let (dtype, shape, packed) = self::values(&node(&document, "/channel_4x2")).unwrap();
    assert_eq!((dtype.as_str(), shape), ("quint4x2", vec![3, 4]));
    assert_eq!(packed, [7, 3, 1, 1, 5, 3, 2, 4, 4, 3, 3, 5]);
}

#[test]
fn what_shares_a_storage_says_so() {
    let document = opened("tied.pt").unwrap();
    let embed = node(&document, "embed.weight");
    let shared = detail(&embed, "storage shared by").unwrap();
    assert_eq!(shared, "embed.weight, head.weight, head.bias");
    assert!(detail(&embed, "storage").unwrap().starts_with("data/0"));
    let views = opened("views.pt").unwrap();
    let part = node(&views, "/strided");
    assert_eq!(detail(&part, "strides").as_deref(), Some("[12, 2]"));
    assert_eq!(detail(&node(&views, "/row"), "storage offset").as_deref(), Some("6"));
    assert_eq!(node(&views, "/parameter").label, "torch.nn.Parameter");
    assert_eq!(detail(&node(&views, "/frozen"), "requires grad").as_deref(), Some("false"));
    assert_eq!(detail(&node(&views, "/wants_grad"), "requires grad").as_deref(), Some("true"));
}

#[test]
fn modules_are_opened_by_their_parts() {
    for name in ["module.pt", "legacy_module.pt"] {
        let document = opened(name).unwrap();
        let root = &document.root;
        assert_eq!((root.label, said(root, "type").as_deref()), ("module", Some("__main__.Net")), "{name}");
        let norm = node(&document, "layers.0.norm");
        let (_, shape, _) = values(&node(&document, "layers.0.norm.weight")).unwrap();
        assert_eq!((norm.label, shape), ("module", vec![8]), "{name}");
        assert_eq!(node(&document, "width").value.as_deref(), Some("4"), "{name}");
        assert_eq!(node(&document, "head.in_features").value.as_deref(), Some("4"), "{name}");
    }
    let document = opened("lightning.ckpt").unwrap();
    assert_eq!(node(&document, "/epoch").value.as_deref(), Some("3"));
    assert_eq!(node(&document, "/optimizer_states/0/param_groups/1/lr").value.as_deref(), Some("0.1"));
    assert_eq!(values(&node(&document, "/numpy")).unwrap().2, [0, 0, 1, 0, 2, 0]);
    assert_eq!(node(&document, "/storage").label, "torch.UntypedStorage");
    assert_eq!(values(&node(&document, "/storage")).unwrap().2, [0, 0, 1, 0, 2, 0, 3, 0]);
}

#[test]
fn tensors_without_elements_and_in_others() {
    let document = opened("meta.pt").unwrap();
    let big = node(&document, "/big");
    assert_eq!(said(&big, "shape").as_deref(), Some("[1048576, 1048576]"));
    assert!(big.content.is_none() && big.remarks[0].contains("no bytes"));
    let document = opened("nested.pt").unwrap();
    assert_eq!(floats(&document, "/strided/0"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(values(&node(&document, "/strided/1")).unwrap().1, [3, 2]);
    assert_eq!(floats(&document, "/jagged/values"), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    let document = opened("subclass.pt").unwrap();
    assert_eq!(said(&node(&document, "/tagged"), "type").as_deref(), Some("__main__.Tagged"));
    assert_eq!(node(&document, "/tagged/note").value.as_deref(), Some("kept beside it"));
    assert_eq!(floats(&document, "/wrapped/inner"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(node(&document, "/parameter").label, "torch.nn.Parameter");
}

#[test]
fn pieces_are_put_together() {
    let document = opened("../torch_distributed/pieces").unwrap();
    let Some(Content::Array(array)) = &node(&document, "w").content.clone() else { panic!() };
    let mut region = Region::all(array.shape());
    (region.0[0].start, region.0[0].count, region.0[0].step) = (1, 2, 2);
    (region.0[1].start, region.0[1].count) = (3, 3);
    let bytes = read(&**array, &Task::new(), &region).unwrap();
    let part: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
    assert_eq!(part, [10, 11, 12, 24, 25, 26]);
    assert_eq!(detail(&node(&document, "w"), "pieces").as_deref(), Some("4"));
    // What a missing file had is told, and its neighbours are read.
    let document = opened("../torch_distributed/piece_missing").unwrap();
    let w = node(&document, "w");
    assert!(w.problem.as_ref().unwrap().message().contains("__1_0.distcp, which is missing"));
    let Some(Content::Array(array)) = &w.content else { panic!() };
    let mut out = vec![1; 35 * 8];
    let gaps = array.read_lenient(&Task::new(), &Region::all(array.shape()), &mut out).unwrap();
    assert_eq!(gaps.iter().map(|gap| gap.part.elements().unwrap()).sum::<u64>(), 15);
    assert_eq!(out[8..16], [1, 0, 0, 0, 0, 0, 0, 0]);
    let document = opened("../torch_distributed/plain").unwrap();
    assert_eq!(node(&document, "step").value.as_deref(), Some("7"));
    assert_eq!(values(&node(&document, "notes.1.b")).unwrap().1, [3]);
}

#[test]
fn scripts_have_their_constants_and_their_code() {
    let document = opened("../torchscript/frozen.pt").unwrap();
    assert_eq!(values(&node(&document, "constants/0")).unwrap().1, [3, 4]);
    let document = opened("../torchscript/scripted.pt").unwrap();
    let code = node(&document, "code/__torch__/torch/nn/functional.py");
    assert!(matches!(code.content, Some(Content::Text(_))));
    assert_eq!(document.root.security.as_ref().unwrap().verdict, Verdict::Unusual);
}

#[test]
fn shards_are_one_model_from_any_file() {
    let folder = opened("../pytorch_sharded/two").unwrap();
    let wanted = values(&node(&folder, "layers.1.up.weight")).unwrap();
    for file in ["pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"] {
        let document = opened(&format!("../pytorch_sharded/two/{file}")).unwrap();
        assert_eq!(values(&node(&document, "layers.1.up.weight")).unwrap(), wanted, "{file}");
    }
    let document = opened("../pytorch_sharded/shard_missing").unwrap();
    let gone = values(&node(&document, "head.weight")).unwrap_err();
    assert!(gone.contains("pytorch_model-00002-of-00002.bin, which is missing"), "{gone}");
    assert!(values(&node(&document, "head.bias")).is_ok());
}

#[test]
fn what_would_be_run_is_told_of_every_container() {
    for name in ["evil.pt", "evil_legacy.pt", "evil_no_directory.pt"] {
        let document = opened(&format!("malformed/{name}")).unwrap();
        let report = document.root.security.clone().unwrap();
        assert_eq!(report.verdict, Verdict::Dangerous, "{name}");
        assert!(report.globals.iter().any(|global| global.ends_with(".exec")), "{name}");
        assert_eq!(floats(&document, "/x"), [1.0, 1.0], "{name}: the tensor beside it");
    }
    for name in
        ["state_dict.pth", "views.pt", "sparse.pt", "quantised.pt", "dtypes.pt", "legacy_views.pt", "tar.pt"]
    {
        let report = opened(name).unwrap().root.security.clone().unwrap();
        assert_eq!(report.verdict, Verdict::Safe, "{name}: {:?}", report.suspects);
    }
    let report = opened("../torch_distributed/plain").unwrap().root.security.clone().unwrap();
    assert_eq!(report.verdict, Verdict::Safe, "{:?}", report.suspects);
}

#[test]
fn what_is_wrong_is_told_and_the_rest_is_read() {
    let says = |name: &str, path: &str| {
        let document = opened(&format!("malformed/{name}")).unwrap();
        values(&node(&document, path)).unwrap_err()
    };
    assert!(says("stride_beyond.pt", "").contains("reaches beyond its storage, which has 6 elements"));
    assert!(says("shape_negative.pt", "").contains("its shape is not of whole numbers"));
    assert!(says("shape_huge.pt", "").contains("overflows 64 bits"));
    assert!(says("strides_too_few.pt", "").contains("1 strides for the shape [2, 3]"));
    assert!(says("storage_type_unknown.pt", "").contains("FooStorage"));
    assert!(says("pickle_cut.pth", "").contains("before its end mark"));
    let document = opened("malformed/storage_missing.pth").unwrap();
    let mut missing = 0;
    let mut good = 0;
    let mut look = |name: &str, document: &Document| {
        crate::data::open::walk(&Task::new(), &document.root, "", 100, &mut |node, _, _| {
            match (&node.problem, &node.content) {
                (Some(problem), _) if problem.message().contains(name) => missing += 1,
                (None, Some(Content::Array(_))) => good += 1,
                _ => {}
            }
            Ok(true)
        })
        .unwrap();
    };
    look("data/3 is not in the file", &document);
    look("are there; the file may be cut off", &opened("malformed/storage_short.pth").unwrap());
    assert_eq!((missing, good), (2, 40));
    for name in ["cut_in_half.pth", "cut_no_directory.pth", "legacy_cut_in_storages.pth"] {
        let document = opened(&format!("malformed/{name}")).unwrap();
        assert!(document.root.problem.is_some(), "{name}");
        assert!(
            values(&node(&document, "layers.0.down.weight")).is_ok() || name == "cut_in_half.pth",
            "{name}"
        );
    }
    for name in ["cut_head.pth", "legacy_magic_only.pth"] {
        assert!(opened(&format!("malformed/{name}")).is_err(), "{name}");
    }
    assert!(opened("malformed/cycle.pt").is_ok());
}

/// Opens bytes and reads all that is there.
fn read_all(name: &str, bytes: Vec<u8>) {
    let task = Task::new();
    let Ok(document) = open_source(&task, &Source::memory(name, bytes), &Options::default()) else { return };
    let _ = crate::data::open::walk(&task, &document.root, "", 12, &mut |node, _, _| {
        if let Some(Content::Array(array)) = &node.content {
            let small = array.shape().iter().try_fold(1u64, |all, side| all.checked_mul(*side));
            if small.is_some_and(|elements| elements < 10_000) && !array.dtype().is_variable() {
                let _ = read(&**array, &task, &Region::all(array.shape()));
            }
        }
        Ok(true)
    });
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        file in prop::sample::select(vec![
            "views.pt", "sparse.pt", "quantised.pt", "nested.pt", "subclass.pt", "legacy_views.pt", "tar.pt", "list.pt",
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = std::fs::read(format!("{FIXTURES}{file}")).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_all(file, bytes);
    }
}
