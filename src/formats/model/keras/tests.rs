use super::*;
use crate::data::content::Content;
use crate::data::open::{self, walk};
use crate::engines::trees::testing::{row, table};
use std::path::Path;

fn opened(name: &str) -> open::Document {
    let path = format!("{}/fixtures/keras/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

/// The layers of the root's table with their classes.
fn layers(document: &open::Document) -> Vec<(String, String)> {
    let batch = table(&document.root, "layers");
    let text = |n: usize, name: &str| row(&batch, n)[name].as_str().unwrap().to_owned();
    (0..batch.num_rows()).map(|n| (text(n, "layer"), text(n, "class"))).collect()
}

/// The paths of all arrays, in the order of the tree.
fn arrays(document: &open::Document) -> Vec<String> {
    let mut paths = Vec::new();
    walk(&Task::new(), &document.root, "", 12, &mut |node, path, _| {
        if let Some(Content::Array(_)) = &node.content {
            paths.push(path.to_owned());
        }
        Ok(true)
    })
    .unwrap();
    paths
}

#[test]
fn layers_are_a_table_in_every_container() {
    let archive = opened("functional.keras");
    assert_eq!((archive.format.id, archive.root.label), ("keras", "Keras model"));
    let names: Vec<String> = layers(&archive).into_iter().map(|(name, _)| name).collect();
    let inner: Vec<&String> = names.iter().filter(|name| name.starts_with("inner/")).collect();
    assert_eq!(inner.len(), 3, "{names:?}");
    assert_eq!([names[0].as_str(), &names[1], &names[2]], ["image", "zeta", "alpha"]);
    let legacy = opened("functional.h5");
    assert_eq!((legacy.format.id, layers(&legacy)), ("hdf5", layers(&archive)));
    assert_eq!(layers(&opened("sequential.keras"))[1].1, "Embedding");
}

#[test]
fn weights_stand_in_the_order_of_the_layers() {
    let places = |name: &str, before: &str| -> Vec<usize> {
        let all = arrays(&opened(name));
        let first =
            |layer: &str| all.iter().position(|path| path.contains(layer) && path.starts_with(before));
        if name.ends_with("keras") {
            ["/conv2d/", "/batch_normalization/", "/dense/", "/dense_1/"].map(|l| first(l).unwrap()).to_vec()
        } else {
            ["/zeta/", "/alpha/", "/probs/", "/reg/"].map(|layer| first(layer).unwrap()).to_vec()
        }
    };
    for (name, before) in
        [("functional.keras", "model.weights.h5/layers"), ("functional.h5", "/model_weights")]
    {
        let places = places(name, before);
        assert!(places.is_sorted(), "{name}: {places:?}");
    }
    let document = opened("functional.keras");
    let kernel = document.root.find(&Task::new(), "model.weights.h5/layers/conv2d/vars/0").unwrap().unwrap();
    let Some(Content::Array(array)) = &kernel.content else { panic!("no array") };
    assert_eq!(array.shape(), [3, 3, 1, 2]);
}

#[test]
fn metadata_are_attributes() {
    let document = opened("functional.keras");
    let says =
        |name: &str| document.root.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_string());
    assert_eq!(says("class_name").as_deref(), Some("Functional"));
    assert_eq!(says("name").as_deref(), Some("two_heads"));
    assert!(says("keras_version").unwrap().starts_with("3."));
    assert!(says("compile_config").unwrap().contains("SGD"));
}

#[test]
fn a_damaged_part_leaves_the_others() {
    let says = |name: &str| {
        let document = opened(&format!("malformed/{name}.keras"));
        assert_eq!(document.format.id, "keras", "{name}");
        let problem = document.root.problem.as_ref().map(Error::message).unwrap_or_default();
        (problem, document.root.remarks.join(" "), arrays(&document).len())
    };
    let (problem, _, found) = says("config_broken");
    assert!(problem.contains("config.json") && found > 8, "{problem}, {found}");
    let (problem, remarks, found) = says("config_missing");
    assert!(
        problem.is_empty() && remarks.contains("no config.json") && found > 8,
        "{problem} {remarks} {found}"
    );
    assert!(says("config_a_list").2 > 8);
    let whole = says("cut_in_weights");
    assert!(!whole.0.is_empty(), "{whole:?}");
    let weights = opened("malformed/weights_broken.keras");
    assert_eq!(layers(&weights).len(), layers(&opened("functional.keras")).len());
}
