use crate::bytes::error::{ErrorKind, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::array::read;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::data::security::Verdict;
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/pickle/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

fn find(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

/// The values of an array as numbers.
fn numbers(node: &Node) -> (String, Vec<u64>, Vec<f64>) {
    let Some(Content::Array(array)) = &node.content else { panic!("{}: {:?}", node.name, node.problem) };
    let bytes = read(&**array, &Task::new(), &Region::all(array.shape())).unwrap();
    let mut out = Vec::new();
    array.dtype().decode(&bytes, &mut out);
    (array.dtype().to_string(), array.shape().to_vec(), out)
}

/// The columns of a table: name, type and cells.
fn columns(node: &Node) -> Vec<(String, String, Vec<Option<String>>)> {
    let Some(Content::Table(table)) = &node.content else { panic!("{}: {:?}", node.name, node.problem) };
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..100, &all).unwrap();
    let kind = |n| crate::bytes::display::arrow_type((table.as_ref() as &dyn Table).column_type(n));
    let cells = |n: usize| (0..batch.num_rows()).map(|row| cell::text(batch.column(n), row)).collect();
    all.iter().map(|&n| (batch.schema().field(n).name().clone(), kind(n), cells(n))).collect()
}

#[test]
fn every_protocol_has_the_same_values() {
    for protocol in 0..6 {
        let document = opened(&format!("plain_p{protocol}.pkl")).unwrap();
        assert_eq!((document.format.id, document.root.problem.is_none()), ("pickle", true), "{protocol}");
        let security = document.root.security.clone().unwrap();
        assert_eq!(security.verdict, Verdict::Safe, "{protocol}: {security:?}");
        let node = |path: &str| find(&document.root, path);
        let value = |path: &str| (node(path).word().to_owned(), node(path).value.clone().unwrap_or_default());
        let is = |path: &str, kind: &str, text: &str| {
            assert_eq!(value(path), (kind.to_owned(), text.to_owned()), "{path} of protocol {protocol}");
        };
        is("none", "NoneType", "None");
        is("int", "int", "-7");
        is("large", "int", "1180591620717411303424");
        is("float", "float", "0.1");
        is("nan", "float", "nan");
        is("text", "str", "tëxt 東京");
        is("bytes", "bytes", "b'\\x00\\xffraw'");
        is("list/1/1/0", "int", "3");
        is("complex", "complex", "(1+2j)");
        is("set/0", "int", "1");
        is("frozenset/0", "int", "2");
        assert_eq!(node("range").word(), "range", "{protocol}");
        assert!(value("range").1.contains("(3, 9, 2)"), "{protocol}: {:?}", value("range"));
        assert_eq!(node("set").length, Some(1));
        assert_eq!(document.root.length, Some(19));
        // What is held twice stands at both places; what holds itself is not opened again.
        is("shared/1/2", "int", "3");
        let again = node("recursive/self");
        assert_eq!((again.child_count(), again.length), (Some(0), Some(2)));
        assert!(again.value.as_deref().is_some_and(|value| value.contains("same object as \"recursive\"")));
    }
}

#[test]
fn objects_of_the_standard_library_are_values() {
    for protocol in [0, 2, 4, 5] {
        let document = opened(&format!("stdlib_p{protocol}.pickle")).unwrap();
        let value = |path: &str| {
            let node = find(&document.root, path);
            (node.word().to_owned(), node.value.clone().unwrap_or_default())
        };
        let is = |path: &str, kind: &str, text: &str| {
            assert_eq!(value(path), (kind.to_owned(), text.to_owned()), "{path} of protocol {protocol}");
        };
        is("datetime", "datetime.datetime", "2024-02-29T12:30:15.000007+02:00");
        is("date", "datetime.date", "2024-02-29");
        is("time", "datetime.time", "23:59:01");
        is("timedelta", "datetime.timedelta", "-1 day, 0:00:05.000006");
        is("decimal", "decimal.Decimal", "1.50");
        is("fraction", "fractions.Fraction", "3/4");
        is("path", "pathlib.PurePosixPath", "/a/b");
        is("uuid", "uuid.UUID", "00000000-0000-0000-0000-000000001234");
        is("namespace/a", "int", "1");
        is("ordered/a", "int", "2");
        is("default/k/0", "int", "1");
        is("deque/1", "int", "2");
        is("counter/a", "int", "2");
        let lengths =
            ["ordered", "default", "deque", "counter"].map(|path| find(&document.root, path).length);
        assert_eq!(lengths, [Some(2), Some(1), Some(2), Some(2)], "{protocol}");
        let security = document.root.security.clone().unwrap();
        assert_eq!(security.verdict, Verdict::Safe, "{protocol}: {security:?}");
    }
}

#[test]
fn classes_are_shown_by_name_with_their_fields() {
    for protocol in [0, 2, 4, 5] {
        let document = opened(&format!("classes_p{protocol}.pkl")).unwrap();
        let node = |path: &str| find(&document.root, path);
        assert_eq!((node("point").word(), node("point").length), ("__main__.Point", Some(2)), "{protocol}");
        assert_eq!(node("point/1").value.as_deref(), Some("2"));
        assert_eq!(node("goose").word(), "__main__.Goose", "{protocol}");
        assert_eq!(node("goose/wings").value.as_deref(), Some("2"));
        assert_eq!(node("class").word(), "type");
        assert_eq!(node("function").word(), "builtin_function_or_method");
        if protocol > 1 {
            assert_eq!(node("slotted/b").value.as_deref(), Some("two"), "{protocol}");
        }
        let security = document.root.security.clone().unwrap();
        assert_eq!(security.verdict, Verdict::Unusual);
        assert!(security.effects.get("__main__.Goose").is_some_and(|effect| effect.contains("class")));
    }
    let old = opened("python2_classes.pkl").unwrap();
    assert_eq!(find(&old.root, "0").word(), "instance");
    assert_eq!(find(&old.root, "0/a").value.as_deref(), Some("1"));
    let text = opened("python2_text.pkl").unwrap();
    let names: Vec<String> =
        text.root.child_page(&Task::new(), 0..9).unwrap().iter().map(|node| node.name.clone()).collect();
    assert_eq!(names, ["byté", "uni"]);
    assert_eq!(find(&text.root, "byté").word(), "str");
}

#[test]
fn arrays_of_every_kind() {
    let strings = |name: &str| name.to_owned();
    for protocol in [0, 2, 4, 5] {
        let document = opened(&format!("arrays_p{protocol}.pkl")).unwrap();
        let node = |path: &str| find(&document.root, path);
        assert_eq!(
            numbers(&node("f8")),
            (strings("float64"), vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
            "{protocol}"
        );
        let fortran = numbers(&node("fortran"));
        assert_eq!(fortran, (strings("int32"), vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), "{protocol}");
        assert_eq!(numbers(&node("big")), (strings("float32"), vec![2], vec![1.5, -2.0]), "{protocol}");
        assert_eq!(numbers(&node("bool")).2, [1.0, 0.0]);
        assert_eq!(numbers(&node("matrix")), (strings("int64"), vec![1, 2], vec![1.0, 2.0]));
        assert_eq!(node("matrix").word(), "numpy.matrix");
        assert_eq!(numbers(&node("empty")).1, [0, 3]);
        assert_eq!(numbers(&node("zero_dimensions")), (strings("int64"), vec![], vec![7.0]), "{protocol}");
        assert_eq!(numbers(&node("masked/data")).2, [1.0, 2.0, 3.0], "{protocol}");
        assert_eq!(
            numbers(&node("masked/mask")),
            (strings("bool"), vec![3], vec![0.0, 1.0, 0.0]),
            "{protocol}"
        );
        let Some(Content::Array(time)) = &node("time").content else { panic!("{protocol}") };
        assert_eq!(time.dtype().to_string(), "datetime64[ms]", "{protocol}");
        let some = |text: &str| Some(text.to_owned());
        let records = columns(&node("records"));
        assert_eq!(
            records[1],
            (strings("x"), strings("double"), vec![some("2.5"), some("4.5")]),
            "{protocol}"
        );
        assert_eq!(columns(&node("gaps"))[1].2, [some("2.5")], "{protocol}");
        assert_eq!(columns(&node("nested"))[0].2.len(), 1, "{protocol}");
        assert_eq!(node("objects/2/0").value.as_deref(), Some("1"), "{protocol}");
        assert_eq!((node("scalar").word(), node("scalar").value.as_deref()), ("numpy.float32", Some("1.5")));
        assert_eq!(node("dtype").word(), "numpy.dtypes.Int16DType");
        assert_eq!(document.root.security.as_ref().unwrap().verdict, Verdict::Safe, "{protocol}");
    }
}

#[test]
fn frames_are_tables() {
    let some = |text: &str| Some(text.to_owned());
    for protocol in [2, 5] {
        let document = opened(&format!("frame_p{protocol}.pkl")).unwrap();
        assert_eq!(document.root.word(), "pandas.DataFrame");
        let columns = columns(&document.root);
        let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["i", "f", "s", "b", "t", "c", "f2"], "{protocol}");
        assert_eq!(columns[0].2, [some("0"), some("1"), some("2"), some("3")]);
        assert_eq!(columns[1].2[..3], [some("0.5"), some("nan"), some("2.5")]);
        assert_eq!(columns[2].2, [some("a"), some("b"), None, some("d")]);
        assert_eq!(columns[3].2[1], some("false"));
        assert_eq!(columns[4].2[1], some("2024-03-01T00:00:00"));
        assert_eq!(columns[5].2, [some("x"), some("y"), some("x"), None]);
        assert_eq!(columns[6].2[3], some("0.75"));
    }
    let types = opened("frame_types.pkl").unwrap();
    let columns_of = columns(&types.root);
    let column = |name: &str| columns_of.iter().find(|(n, ..)| n == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(column("I").2, [some("1"), None]);
    assert_eq!(column("B").2, [some("true"), None]);
    assert_eq!(column("p").2, [some("2024-02"), some("2024-03")]);
    assert_eq!(column("v").2, [some("(0, 1]"), some("(1, 2]")]);
    assert_eq!(column("z").2[1], some("2024-01-02T00:00:00+00:00"));
    assert_eq!(column("o").2, [some("{'a': 1}"), some("x")]);
    let indexed = columns(&opened("frame_index.pkl").unwrap().root);
    let names: Vec<&str> = indexed.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["c", "i", "f", "f2"]);
    assert_eq!((&indexed[0].2[1], &indexed[1].2[3]), (&some("y"), &some("3")));
    let series = opened("series.pkl").unwrap();
    assert_eq!((series.root.word(), columns(&series.root)[0].0.as_str()), ("pandas.Series", "f"));
    let index = columns(&opened("index.pkl").unwrap().root);
    assert_eq!(index[0], ("letters".to_owned(), index[0].1.clone(), vec![some("a"), some("b")]));
}

#[test]
fn models_and_sparse_matrices_have_their_fields() {
    let model = opened("model.pkl").unwrap();
    assert_eq!(model.root.word(), "sklearn.pipeline.Pipeline");
    let weights = numbers(&find(&model.root, "steps/1/1/coef_"));
    assert_eq!((weights.0.as_str(), weights.1.as_slice()), ("float64", &[1, 2][..]));
    assert_eq!(model.root.security.as_ref().unwrap().verdict, Verdict::Unusual);
    let sparse = opened("csr.pkl").unwrap();
    assert_eq!(numbers(&sparse.root).2, [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    assert_eq!(numbers(&find(&sparse.root, "indptr")).2, [0.0, 1.0, 2.0, 3.0]);
    let coordinates = opened("coo.pkl").unwrap();
    assert_eq!(numbers(&find(&coordinates.root, "data")).2, [1.0, 2.0, 3.0]);
}

#[test]
fn several_in_a_file_and_what_follows() {
    let document = opened("several").unwrap();
    assert_eq!((document.format.id, document.root.child_count()), ("pickle", Some(3)));
    assert_eq!(find(&document.root, "0/a").value.as_deref(), Some("1"));
    assert_eq!(find(&document.root, "2").value.as_deref(), Some("three"));
    let followed = opened("followed.pkl").unwrap();
    assert!(followed.root.remarks.iter().any(|remark| remark.contains("follow at byte")));
    assert_eq!(followed.root.child_count(), Some(2));
    let outside = opened("buffers_outside.pkl").unwrap();
    assert!(outside.root.remarks.iter().any(|remark| remark.contains("not in the file")));
    for name in [
        "wrapped.pkl.gz",
        "wrapped_zlib",
        "wrapped.pkl.bz2",
        "wrapped.pkl.xz",
        "wrapped.pkl.lzma",
        "wrapped.pkl.lz4",
        "wrapped.pkl.zst",
    ] {
        let document = opened(name).unwrap();
        assert_eq!(document.root.formats.last().map(|format| format.id), Some("pickle"), "{name}");
        assert_eq!(find(&document.root, "2/three").value.as_deref(), Some("3.0"), "{name}");
    }
    let chunk = opened("wrapped_blosc").unwrap();
    assert_eq!(chunk.root.formats.last().map(|format| format.id), Some("pickle"));
    assert_eq!(find(&chunk.root, "19/2/three").value.as_deref(), Some("3.0"));
}

#[test]
fn every_malformed_file_says_so() {
    let mut seen = 0;
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        seen += 1;
        let document = match crate::open(&Task::new(), &entry.path(), &Options::default()) {
            Ok(document) => document,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Bug, "{name}: {error}");
                continue;
            }
        };
        let mut worst = None;
        let mut wrong = document.root.problem.is_some();
        let mut visit = |node: &Arc<Node>, _: &str, _: usize| {
            let node = node.resolved(&Task::new())?;
            worst = worst.max(node.security.as_ref().map(|report| report.verdict));
            wrong |= node.problem.is_some() || !node.remarks.is_empty();
            Ok(true)
        };
        crate::data::open::walk(&Task::new(), &document.root, "", 8, &mut visit).unwrap();
        if name.starts_with("evil") {
            let least = if name.contains("build") { Verdict::Unusual } else { Verdict::Dangerous };
            assert!(worst >= Some(least), "{name}: {worst:?}");
        }
        assert!(wrong || matches!(name.as_str(), "laughs.pkl" | "deep.pkl" | "protocol_99.pkl"), "{name}");
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn what_would_happen_is_told() {
    let document = opened("malformed/evil_in_bytes.pkl").unwrap();
    let report = document.root.security.clone().unwrap();
    assert_eq!(report.effects.get("posix.system"), Some(&"runs programs on the machine"));
    assert!(report.effects.get("_pickle.loads").is_some_and(|effect| effect.contains("loads another")));
    assert!(report.calls.iter().any(|call| call == "posix.system('echo quack')"), "{:?}", report.calls);
    assert!(report.sentence().contains("dangerous (_pickle.loads loads another file"));
}

/// `posix.system('true')` in protocol 0, as `pickle.loads` would run it.
const SYSTEM: &[u8] = b"cposix\nsystem\n(S'true'\ntR.";

/// The format that bytes are opened as, and the verdict on them.
fn verdict(name: &str, bytes: Vec<u8>) -> (&'static str, Option<Verdict>) {
    let source = crate::Source::memory(name, bytes);
    let document = crate::formats::ALL.open_source(&Task::new(), &source, &Options::default()).unwrap();
    (document.format.id, document.root.security.as_ref().map(|report| report.verdict))
}

#[test]
fn what_is_a_pickle_too_is_seen() {
    let dangerous = Some(Verdict::Dangerous);
    // `G` and the next eight bytes are a float to pickle.
    let gif = [b"GIF89a\x01\x00\x01".as_slice(), b"0", SYSTEM].concat();
    assert_eq!(verdict("a.pkl", gif.clone()).1, dangerous);
    assert_eq!(verdict("a.gif", gif).1, dangerous);
    // In front of an archive.
    let zip = std::fs::read(format!("{FIXTURES}../zip/deflated.zip")).unwrap();
    assert_eq!(verdict("a.pt", [SYSTEM, &zip].concat()).1, dangerous);
    assert_eq!(verdict("a.zip", [SYSTEM, &zip].concat()).1, dangerous);
    // With other bytes behind it, under any name.
    for name in ["a.pt", "a.bin", "a.sav", "a", "a.html", "a.csv"] {
        assert_eq!(verdict(name, [SYSTEM, b"\x00\x01\x02 and more of it\n"].concat()).1, dangerous, "{name}");
    }
    // What text and pictures are is not touched.
    assert_eq!(verdict("a.txt", b"cos and sin\nsystem\n(or so)\ntR.\n".to_vec()).1, None);
}

#[test]
fn numbers_that_only_python_reads_hide_nothing() {
    for start in ["I0x10\n0", "I1_000\n0", "L 5L\n0", "L+5L\n0", "F1_0.5\n0", "I1\np1_0\n0", "I1\0\n0"] {
        let bytes = [start.as_bytes(), SYSTEM].concat();
        assert_eq!(verdict("a.pkl", bytes).1, Some(Verdict::Dangerous), "{start:?}");
    }
}
