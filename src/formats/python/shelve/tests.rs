use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::data::security::Verdict;
use std::path::Path;
use std::sync::Arc;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/shelve/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn find(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn statistics(document: &Document) -> Vec<u64> {
    let all = document.root.statistics.as_ref().unwrap().statistics(&Task::new()).unwrap();
    all.iter().map(|(_, value)| value.as_u64().unwrap()).collect()
}

#[test]
fn one_shelf_by_every_library() {
    for name in ["dumb.dir", "dumb.bak", "gnu.gdbm", "berkeley.db"] {
        let document = opened(name);
        assert_eq!((document.format.id, document.root.child_count()), ("shelve", Some(6)), "{name}");
        assert_eq!(find(&document.root, "key3/l/2").value.as_deref(), Some("2"), "{name}");
        let again = find(&document.root, "key2").value.clone();
        assert_eq!(again.as_deref(), Some("written again, and longer than it was before"), "{name}");
        assert_eq!(find(&document.root, "ключ/1").value.as_deref(), Some("2"), "{name}");
        assert_eq!(document.root.security.as_ref().unwrap().verdict, Verdict::Safe, "{name}");
        assert!(document.root.problem.is_none(), "{name}: {:?}", document.root.problem);
        assert_eq!(statistics(&document)[0], 6, "{name}");
    }
    // The same bytes give the same sum, whatever wrote them.
    assert_eq!(statistics(&opened("dumb.dir")), statistics(&opened("gnu.gdbm")));
    let table = opened("table.sqlite_dbm");
    assert_eq!((table.format.id, table.root.child_count()), ("shelve", Some(7)));
    assert_eq!(find(&table.root, "key4/i").value.as_deref(), Some("4"));
}

#[test]
fn keys_and_values_of_any_bytes() {
    let raw = opened("raw.gdbm");
    let names: Vec<String> =
        raw.root.child_page(&Task::new(), 0..9).unwrap().iter().map(|node| node.name.clone()).collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().any(|name| name == "\\xff\\x00"), "{names:?}");
    assert_eq!(statistics(&raw)[..2], [3, 5005]);
    let long = opened("long.db");
    assert_eq!(statistics(&long)[..2], [2, 7505]);
}

#[test]
fn damage_is_said() {
    for name in ["cut.gdbm", "cut.db", "no_values.dir", "beyond.dir"] {
        let document = opened(&format!("malformed/{name}"));
        assert!(document.root.problem.is_some(), "{name}");
    }
    let beyond = opened("malformed/beyond.dir");
    assert_eq!(beyond.root.child_count(), Some(1));
    for name in ["bucket_tiny.gdbm", "page_odd.db"] {
        let path = format!("{}/fixtures/shelve/malformed/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(crate::open(&Task::new(), Path::new(&path), &Options::default()).is_err(), "{name}");
    }
}

#[test]
fn a_store_of_ipython_is_a_folder_of_pickles() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("autorestore");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("x"), b"\x80\x04K\x07.").unwrap();
    std::fs::write(folder.path().join("dhist"), b"\x80\x04]\x8c\x04/tmpa.").unwrap();
    let document = crate::open(&Task::new(), folder.path(), &Options::default()).unwrap();
    assert_eq!(document.format.id, "pickleshare");
    assert_eq!(find(&document.root, "autorestore/x").value.as_deref(), Some("7"));
    assert_eq!(find(&document.root, "dhist/0").value.as_deref(), Some("/tmp"));
}
