use super::*;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::open::{Document, table_of};

/// A folder with these files; pictures are what their names say.
fn folder(files: &[&str]) -> (tempfile::TempDir, Document) {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let (name, text) = file.split_once('=').unwrap_or((file, "x"));
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let document = crate::formats::open(&Task::new(), folder.path(), &Options::default()).unwrap();
    (folder, document)
}

fn rows(document: &Document) -> Vec<String> {
    let table = table_of(document).unwrap();
    let total = table.count(&Task::new()).unwrap();
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..total, &all).unwrap();
    let cell = |row| move |column| cell::text(column, row).unwrap_or_else(|| "null".to_owned());
    (0..batch.num_rows())
        .map(|row| batch.columns().iter().map(|c| cell(row)(c.as_ref())).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn classes_and_splits() {
    let (_folder, document) = folder(&["goose/2.png", "goose/10.png", "duck/1.jpg", "README.md"]);
    assert_eq!(document.format.id, "image_folder");
    assert_eq!(rows(&document), ["duck/1.jpg duck", "goose/2.png goose", "goose/10.png goose"]);
    assert_eq!(document.root.child_count(), Some(3));
    let (_folder, document) =
        folder(&["train/goose/1.png", "train/duck/1.png", "val/goose/3.png", "test/9.png"]);
    let expected = [
        "test/9.png null test",
        "train/duck/1.png duck train",
        "train/goose/1.png goose train",
        "val/goose/3.png goose val",
    ];
    assert_eq!(rows(&document), expected);
}

#[test]
fn metadata_says_more() {
    let csv = "train/metadata.csv=file_name,caption,size\n1.png,a goose,3\nsub/2.png,,4\n";
    let (_folder, document) = folder(&[csv, "train/1.png", "train/sub/2.png", "README.md"]);
    assert_eq!(rows(&document), ["train/1.png a goose 3 train", "train/sub/2.png null 4 train"]);
    let csv = "train/metadata.csv=file_name,caption,size\n1.png,a goose,3\n2.png,,4\n";
    let (_folder, document) = folder(&[csv, "train/1.png", "train/2.png"]);
    assert_eq!(document.format.id, "image_folder");
    assert_eq!(rows(&document), ["train/1.png a goose 3 train", "train/2.png null 4 train"]);
    let lines = "metadata.jsonl={\"file_name\": \"a.png\", \"text\": \"one\"}\n{\"file_name\": \"b.png\", \"text\": \"two\"}\n";
    let (_folder, document) = folder(&[lines, "a.png", "b.png"]);
    assert_eq!(rows(&document), ["a.png one", "b.png two"]);
    let names = table_of(&document).unwrap().described();
    assert_eq!(names[0].0, "image");
}

#[test]
fn other_folders_stay_folders() {
    let trees: [&[&str]; 9] = [
        &["a.png", "b.png"],
        &["goose/1.png"],
        &["goose/1.png", "duck/1.txt", "duck/2.txt"],
        &["images/1.png", "masks/1.png"],
        &["goose/1.png", "duck/a/1.png"],
        &["goose/1.png", "duck/1.png", "3.png"],
        &["src/main.rs", "doc/1.png"],
        &["train/1.txt", "test/1.txt"],
        &["metadata.csv=a,b\n1,2\n", "1.png"],
    ];
    for tree in trees {
        let (_folder, document) = folder(tree);
        assert_eq!(document.format.id, "folder", "{tree:?}");
    }
}
