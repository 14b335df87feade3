use super::*;
use crate::cell;
use crate::content::{Rows, Table};
use crate::format::Options;
use crate::source::Source;

fn fixture(name: &str) -> Result<Arc<Node>> {
    let path = format!("{}/fixtures/sqlite/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open::open(&Task::new(), path.as_ref(), &Options::default()).map(|document| document.root)
}

fn child(root: &Arc<Node>, name: &str) -> Arc<Node> {
    root.find(&Task::new(), &format!("/{name}")).unwrap().unwrap()
}

fn table(node: &Node) -> Arc<dyn Table> {
    match &node.content {
        Some(Content::Table(table)) => table.clone(),
        _ => panic!("{}: {:?}", node.name, node.problem),
    }
}

fn cells(table: &dyn Table, rows: std::ops::Range<u64>) -> String {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &all).unwrap();
    let cell = |row, c: &arrow::array::ArrayRef| cell::text(c.as_ref(), row).unwrap_or("∅".into());
    let row = |row| batch.columns().iter().map(|c| cell(row, c)).collect::<Vec<_>>().join("¦");
    (0..batch.num_rows()).map(row).collect::<Vec<_>>().join("⏎")
}

fn columns(table: &dyn Table) -> String {
    let fields = table.schema().fields();
    fields.iter().map(|f| format!("{}: {}", f.name(), display::column_type(f))).collect::<Vec<_>>().join(", ")
}

#[test]
fn tables_views_and_what_belongs_to_them() {
    let root = fixture("shop.sqlite").unwrap();
    let names: Vec<String> = root
        .child_page(&Task::new(), 0..9)
        .unwrap()
        .iter()
        .map(|n| format!("{} {}", n.label, n.name))
        .collect();
    assert_eq!(names, ["table users", "table orders", "view totals"]);
    let users = child(&root, "users");
    assert_eq!(
        columns(table(&users).as_ref()),
        "id: int64, name: string, score: double, photo: binary, joined: date32[day]"
    );
    assert_eq!(cells(table(&users).as_ref(), 1..2), "2¦goose 1 é¦0.25¦0x00¦2024-01-02");
    assert_eq!(child(&root, "users/keep").label, "trigger");
    let orders = child(&root, "orders");
    assert!(
        orders
            .attributes
            .iter()
            .any(|(name, to)| name == "foreign key user_id" && to.to_string() == "users.id")
    );
    assert_eq!(child(&root, "orders/by_user").attributes[0].1.to_string(), "user_id, amount");
    let expected =
        "0¦0¦1¦xxx⏎1¦2¦2.5¦xxx⏎2¦4¦three¦xxx⏎3¦6¦0x04ff¦xxx⏎4¦8¦∅¦xxx⏎5¦10¦9223372036854775807¦xxx";
    assert_eq!(cells(table(&orders).as_ref(), 0..6), expected);
    assert_eq!(cells(table(&child(&root, "totals")).as_ref(), 0..1).split('¦').count(), 2);
    assert!(root.problem.is_none() && root.attributes.iter().any(|(name, _)| name == "application_id"));
}

#[test]
fn every_kind_of_table() {
    let root = fixture("kinds.db").unwrap();
    let of = |name: &str| table(&child(&root, name));
    assert_eq!(columns(of("strict_one").as_ref()), "i: int64, r: double, t: string, b: binary, a: string");
    assert_eq!(cells(of("strict_one").as_ref(), 0..2), "1¦2.5¦x¦0x00ff¦any⏎∅¦∅¦∅¦∅¦7");
    assert_eq!(cells(of("odd name; --").as_ref(), 0..9), "1¦two¦three");
    assert_eq!(cells(of("generated").as_ref(), 0..9), "1¦2¦2⏎2¦4¦3");
    assert_eq!(cells(of("docs").as_ref(), 1..9), "a duck");
    assert_eq!(of("empty_one").rows(), Rows::Exact(0));
    let keyed = of("kv");
    assert_eq!(keyed.count(&Task::new()).unwrap(), 50);
    assert_eq!(cells(keyed.as_ref(), 0..2), "k0¦0¦0.0⏎k0¦10¦15.0");
    assert_eq!(cells(keyed.as_ref(), 49..60), "k9¦49¦73.5");
    let gaps = of("gaps");
    assert!(matches!(gaps.rows(), Rows::About { .. }));
    let (first, tail) = gaps.tail(&Task::new(), 2, &[0]).unwrap();
    assert_eq!((first, cell::text(tail.column(0).as_ref(), 1).unwrap()), (None, "821".to_owned()));
    assert_eq!(gaps.count(&Task::new()).unwrap(), 30);
    assert_eq!(cells(gaps.as_ref(), 28..29), "764¦row 28");
    assert_eq!(gaps.tail(&Task::new(), 2, &[0]).unwrap().0, Some(28));
}

#[test]
fn a_log_is_read_along_and_nothing_is_written() {
    let before =
        std::fs::read_dir(format!("{}/fixtures/sqlite", env!("CARGO_MANIFEST_DIR"))).unwrap().count();
    let root = fixture("logged.sqlite").unwrap();
    let rows = table(&child(&root, "t"));
    assert_eq!(rows.count(&Task::new()).unwrap(), 5);
    assert_eq!(cells(rows.as_ref(), 4..5), "4¦only in the log 4");
    assert!(root.remarks[0].contains("write-ahead log"));
    drop((root, rows));
    let after = std::fs::read_dir(format!("{}/fixtures/sqlite", env!("CARGO_MANIFEST_DIR"))).unwrap().count();
    assert_eq!(before, after);
    assert_eq!(cells(table(&child(&fixture("utf16.sqlite3").unwrap(), "t")).as_ref(), 0..9), "naïve 😀⏎東京");
}

#[test]
fn a_database_in_memory_opens_like_one_on_disk() {
    let path = format!("{}/fixtures/sqlite/shop.sqlite", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let source = Source::memory("inner.db", bytes);
    let document = crate::open::open_source(&Task::new(), &source, &Options::default()).unwrap();
    assert_eq!(table(&child(&document.root, "users")).count(&Task::new()).unwrap(), 40);
    let cancelled = Task::new();
    cancelled.cancel();
    assert!(table(&child(&document.root, "orders")).read(&cancelled, 0..9, &[0]).unwrap_err().is_cancelled());
}

#[test]
fn damage_is_named_and_hides_no_neighbours() {
    for (name, words) in [
        ("header_only", "header: it has 16 of 100 bytes"),
        ("page_size", "a page size of 3"),
        ("schema_page", "malformed"),
    ] {
        let error = fixture(&format!("malformed/{name}.sqlite")).err().unwrap().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    let root = fixture("malformed/zeroed_page.sqlite").unwrap();
    let problem = root.problem.as_ref().unwrap().to_string();
    assert!(problem.starts_with("malformed pages: "), "{problem}");
    assert!(table(&child(&root, "users")).read(&Task::new(), 0..3, &[0]).unwrap().num_rows() == 3);
}
