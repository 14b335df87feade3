use super::*;
use crate::bytes::source::Source;
use crate::data::cell;
use crate::data::content::{Rows, Table};
use crate::data::format::Options;

fn fixture(name: &str) -> Result<Arc<Node>> {
    let path = format!("{}/fixtures/sqlite/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).map(|document| document.root)
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
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    columns.join(", ")
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
            .shown_attributes()
            .any(|(name, to)| name == "foreign key user_id" && to.to_string() == "users.id")
    );
    assert_eq!(
        child(&root, "orders/by_user").shown_attributes().next().unwrap().1.to_string(),
        "user_id, amount"
    );
    let expected =
        "0¦0¦1¦xxx⏎1¦2¦2.5¦xxx⏎2¦4¦three¦xxx⏎3¦6¦0x04ff¦xxx⏎4¦8¦∅¦xxx⏎5¦10¦9223372036854775807¦xxx";
    assert_eq!(cells(table(&orders).as_ref(), 0..6), expected);
    assert_eq!(cells(table(&child(&root, "totals")).as_ref(), 0..1).split('¦').count(), 2);
    assert!(root.problem.is_none() && root.shown_attributes().any(|(name, _)| name == "application_id"));
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
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
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

/// A database of two tables with deep trees, with the rows of each: by row number, some of them with large
/// values, and by a primary key.
fn deep() -> (Vec<u8>, Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA page_size = 512; PRAGMA journal_mode = OFF; \
         CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB); CREATE INDEX by_a ON t (a); \
         CREATE TABLE k (k TEXT, n INT, v, PRIMARY KEY (k, n)) WITHOUT ROWID; BEGIN",
    )
    .unwrap();
    for n in 0..2000i64 {
        let blob = (n % 100 == 7).then(|| vec![n as u8; 1800]);
        db.execute("INSERT INTO t VALUES (?, ?, ?)", (n * 3 - 1000, format!("row {n}"), blob)).unwrap();
        if n % 2 == 0 {
            let key = format!("key {:02} {}", n % 40, "x".repeat((n % 7 * 30) as usize));
            db.execute("INSERT INTO k VALUES (?, ?, ?)", (key, n, n as f64 / 4.0)).unwrap();
        }
    }
    db.execute_batch("COMMIT").unwrap();
    drop(db);
    let bytes = std::fs::read(&path).unwrap();
    let root = opened(bytes.clone()).unwrap();
    let rows = |name: &str| all_rows(table(&child(&root, name)).as_ref());
    let (t, k) = (rows("t"), rows("k"));
    assert_eq!((t.len(), k.len()), (2000, 1000));
    (bytes, t, k)
}

fn opened(bytes: Vec<u8>) -> Result<Arc<Node>> {
    let source = Source::memory("deep.db", bytes);
    crate::formats::open_source(&Task::new(), &source, &Options::default()).map(|document| document.root)
}

fn all_rows(table: &dyn Table) -> Vec<String> {
    let total = table.count(&Task::new()).unwrap();
    let mut rows = Vec::new();
    for from in (0..total).step_by(300) {
        let text = cells(table, from..(from + 300).min(total));
        rows.extend(text.split('⏎').map(str::to_owned));
    }
    assert_eq!(rows.len() as u64, total);
    rows
}

/// Whether `some` are among `all`, in this order.
fn among(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|row| all.any(|other| other == row))
}

fn without_page(bytes: &[u8], page: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[(page - 1) * 512..page * 512].fill(0);
    bytes
}

#[test]
fn rows_around_any_damaged_page_are_read_and_the_page_is_named() {
    let (bytes, t, k) = deep();
    let (mut in_t, mut in_k) = (0, 0);
    // Page 1 is the schema, 2 to 4 are roots.
    for page in (5..bytes.len() / 512).step_by(7) {
        // Zeros in the last page of a long value cannot be told from a value of zeros.
        let (kind, next) = (bytes[(page - 1) * 512], &bytes[(page - 1) * 512..][..4]);
        if !matches!(kind, 2 | 5 | 10 | 13) && next == [0; 4] {
            continue;
        }
        let root = opened(without_page(&bytes, page)).unwrap();
        for (name, all, hit) in [("t", &t, &mut in_t), ("k", &k, &mut in_k)] {
            let node = child(&root, name);
            let rows = all_rows(table(&node).as_ref());
            assert!(among(&rows, all), "page {page}, {name}");
            let problem = node.problem.as_ref().map(|problem| problem.to_string());
            assert_eq!(rows.len() < all.len(), problem.is_some(), "page {page}, {name}: {problem:?}");
            let Some(problem) = problem else { continue };
            let place = format!("page {page} at byte {}: ", (page - 1) * 512);
            assert!(problem.contains(&place), "{name}: {problem}");
            assert!(rows.last() == all.last() || rows.first() == all.first(), "page {page}, {name}");
            *hit += 1;
        }
    }
    assert!(in_t > 5 && in_k > 5, "{in_t} and {in_k}");
}

#[test]
fn damage_that_is_met_later_is_gone_around() {
    let (bytes, t, _) = deep();
    let task = Task::new();
    // A leaf in the middle.
    let leaf = (5..bytes.len() / 512).filter(|page| bytes[(page - 1) * 512] == 13).nth(70).unwrap();
    let bytes = without_page(&bytes, leaf);
    let source = Source::memory("deep.db", bytes.clone());
    let database = Arc::new(Database::open(&task, &source, &bytes[..100]).unwrap());
    let objects = database.with(&task, schema).unwrap();
    let object = objects.iter().find(|object| object.name == "t").unwrap();
    let open = || {
        let (columns, key) = database.with(&task, |db| described(db, object, Relation::Table)).unwrap();
        let told = TableSchema { name: "t".to_owned(), columns, key, root: Some(object.root as u32) };
        SqlTable::open(&task, database.clone(), told, Look::First).unwrap()
    };
    let counted = open();
    assert!(counted.problem().is_none() && matches!(counted.rows(), Rows::About { .. }));
    let rows = all_rows(&counted);
    assert!(rows.len() < t.len() && among(&rows, &t) && rows.last() == t.last());
    let named = counted.problem().unwrap();
    assert_eq!(named.offset(), Some((leaf as u64 - 1) * 512));
    assert!(named.to_string().contains("are lost"), "{named}");
    assert_eq!(counted.facts().details.len(), 1);
    // Without a count before, and from the end.
    let read = open();
    assert_eq!(read.read(&task, 0..2000, &[0]).unwrap().num_rows(), rows.len());
    let tailed = open();
    assert_eq!(tailed.tail(&task, 1999, &[0]).unwrap().1.num_rows(), rows.len().min(1999));
}

#[test]
fn a_database_that_is_cut_off_shows_what_is_left() {
    let (bytes, t, _) = deep();
    let root = opened(bytes[..bytes.len() * 2 / 3 / 512 * 512].to_vec()).unwrap();
    assert!(root.problem.as_ref().unwrap().to_string().contains("bytes that its header says"));
    let node = child(&root, "t");
    let rows = all_rows(table(&node).as_ref());
    assert!(rows.len() > 200 && rows.len() < t.len() && among(&rows, &t), "{}", rows.len());
    assert!(node.problem.as_ref().unwrap().to_string().contains("beyond the end of the file"));
}

#[test]
fn pages_of_a_log_are_those_that_are_walked() {
    let task = Task::new();
    let path = format!("{}/fixtures/sqlite/logged.sqlite", env!("CARGO_MANIFEST_DIR"));
    let source = Source::open(&task, path.as_ref()).unwrap();
    let database = Database::open(&task, &source, &source.read_up_to(&task, 0, 100).unwrap()).unwrap();
    let found = btree::walk(&task, &database.pages(&task).unwrap(), 2, None).unwrap();
    assert_eq!((found.rows, found.damage.len(), found.marks.len()), (5, 0, 1));
}

#[test]
fn a_row_lies_where_it_does_also_before_all_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.sqlite");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)").unwrap();
    for n in 0..500 {
        database.execute("INSERT INTO t VALUES (?, ?)", (2 * n, format!("name {n}"))).unwrap();
    }
    drop(database);
    let task = Task::new();
    let open = || {
        let document = crate::formats::open(&task, &path, &Options::default()).unwrap();
        table(&child(&document.root, "t"))
    };
    let location = open().location(&task, 77, 1).unwrap().unwrap();
    assert_eq!(location.value(&task).unwrap().unwrap(), &b"name 77"[..]);
    let byte = crate::data::location::BytePlace::new(&location.source, location.exact().unwrap().start);
    let owner = open().owner(&task, &byte).unwrap().unwrap();
    assert_eq!((owner.cell, owner.exact), (Some((77, Some(1))), true));
}
