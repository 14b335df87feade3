use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::data::security::Verdict;
use std::path::Path;
use std::sync::Arc;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/joblib/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn find(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn numbers(node: &Node) -> (Vec<u64>, Vec<f64>) {
    let Some(Content::Array(array)) = &node.content else { panic!("{}: {:?}", node.name, node.problem) };
    let bytes = read(&**array, &Task::new(), &Region::all(array.shape())).unwrap();
    let mut out = Vec::new();
    array.dtype().decode(&bytes, &mut out);
    (array.shape().to_vec(), out)
}

#[test]
fn arrays_between_the_opcodes() {
    let expected = numbers(&find(&opened("side.pkl").root, "beside"));
    assert_eq!((expected.0.as_slice(), expected.1.len()), (&[6, 5][..], 30));
    let names = ["plain", "protocol_2", "zlib", "gzip", "bz2", "lzma", "xz", "lz4"]
        .map(|name| format!("{name}.joblib"));
    for name in names.iter().map(String::as_str).chain(["whole.pkl"]) {
        let document = opened(name);
        let id = document.root.formats.last().map_or(document.format.id, |format| format.id);
        assert_eq!(id, "joblib", "{name}");
        let node = |path: &str| find(&document.root, path);
        assert_eq!(numbers(&node("values")), expected, "{name}");
        assert_eq!(numbers(&node("fortran")), (vec![2, 5], expected.1[..10].to_vec()), "{name}");
        assert_eq!(numbers(&node("ints")).1, [0.0, 1.0, 2.0], "{name}");
        assert_eq!(node("name").value.as_deref(), Some("goose"), "{name}");
        assert_eq!(node("objects/2/b").value.as_deref(), Some("1"), "{name}");
        assert!(matches!(node("records").content, Some(Content::Table(_))), "{name}");
        assert_eq!(numbers(&node("empty")).0, [0], "{name}");
        assert_eq!(node("matrix").word(), "numpy.matrix", "{name}");
        assert_eq!(document.root.security.as_ref().unwrap().verdict, Verdict::Safe, "{name}");
        assert!(document.root.problem.is_none(), "{name}: {:?}", document.root.problem);
    }
    assert_eq!(numbers(&opened("by_extension.pkl.gz").root), expected);
    assert_eq!(find(&opened("no_arrays.joblib").root, "1").value.as_deref(), Some("two"));
    let scaler = opened("scaler.joblib");
    assert_eq!(scaler.root.word(), "sklearn.preprocessing._data.StandardScaler");
    assert_eq!(numbers(&find(&scaler.root, "mean_")).0, [5]);
}

#[test]
fn arrays_beside_the_pickle() {
    let document = opened("side.pkl");
    assert_eq!(document.format.id, "joblib");
    let (beside, compressed) = (find(&document.root, "beside"), find(&document.root, "compressed"));
    assert_eq!(numbers(&beside), numbers(&compressed));
    assert_eq!(document.root.security.as_ref().unwrap().verdict, Verdict::Unusual);
    // Files that are not there, or lie outside of the folder.
    let missing = opened("malformed/side_missing.pkl");
    for name in ["0", "1"] {
        assert!(find(&missing.root, name).problem.is_some(), "{name}");
    }
}

#[test]
fn damage_is_said() {
    let cut = opened("malformed/cut_in_array.joblib");
    assert!(cut.root.problem.is_some() && cut.root.child_count() > Some(0));
    assert!(opened("malformed/zfile_length.pkl").root.problem.is_some());
    // What joblib takes for elements is run by who loads the file with pickle.
    let evil = opened("malformed/evil_in_elements.joblib");
    let report = evil.root.security.clone().unwrap();
    assert!(report.verdict == Verdict::Dangerous && report.suspects.contains("os.system"), "{report:?}");
    assert_eq!(numbers(&find(&evil.root, "0")).0, [29]);
}
