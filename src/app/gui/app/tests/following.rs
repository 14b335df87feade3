//! Files that another program writes to while they are open.

use super::*;
use std::io::Write;

/// Frames until words stand in the window.
#[track_caller]
fn until(harness: &mut Harness<'_, Window>, words: &str) {
    let started = Instant::now();
    while harness.query_all_by_label_contains(words).next().is_none() {
        assert!(started.elapsed() < Duration::from_secs(30), "it never said: {words}");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn rows_that_are_appended_appear_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    std::fs::write(&path, "step,loss\n1,0.5\n2,0.4\n3,0.3\n").unwrap();
    let mut harness = window(&[&path]);
    until(&mut harness, "3 rows");
    let append = |text: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append("4,0.25\n5,0.2\n");
    until(&mut harness, "5 rows");
    settle(&mut harness);
    assert!(harness.query_all_by_label_contains("has changed on disk").next().is_none());
    append("6,0.1\n");
    until(&mut harness, "6 rows");
    settle(&mut harness);
    // What was there is another thing now: that is said, and nothing is read anew by itself.
    std::fs::write(&path, "step,loss\n9,0.5\n9,0.4\n9,0.3\n9,0.3\n9,0.3\n9,0.3\n9,0.3\n9,0.3\n").unwrap();
    until(&mut harness, "has changed on disk");
    settle(&mut harness);
    assert!(harness.query_all_by_label_contains("has changed on disk").next().is_some());
}

/// A store that lies in a folder, as LMDB makes them: its file is watched, not the folder.
#[test]
fn what_is_written_to_a_store_in_a_folder_appears_by_itself() {
    let fixture = |name: &str| std::fs::read(Path::new("fixtures/lmdb").join(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let data = store.join("data.mdb");
    std::fs::write(&data, fixture("datum/data.mdb")).unwrap();
    let mut harness = window(&[&store]);
    until(&mut harness, "10 rows");
    let mut file = std::fs::OpenOptions::new().write(true).open(&data).unwrap();
    file.write_all(&fixture("many.lmdb")).unwrap();
    drop(file);
    until(&mut harness, "100 rows");
}
