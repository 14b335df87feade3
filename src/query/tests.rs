//! The engine on tables in memory and on files.

use super::*;
use crate::bytes::error::Error;
use crate::data::cell;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Rows, TableFacts};
use arrow::array::*;
use arrow::datatypes::*;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

fn engine() -> Engine {
    let settings = Settings { memory: 64 << 20, threads: 2, ..Settings::default() };
    Engine::new(settings, vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()])
}

fn table() -> Arc<dyn Table> {
    let decimals = Decimal128Array::from(vec![Some(250), None, Some(-125), Some(0), Some(99_999)]);
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in [Some(vec!["a", "b"]), None, Some(vec![]), Some(vec!["c"]), Some(vec!["a"])] {
        match row {
            Some(words) => tags.append_value(words.into_iter().map(Some)),
            None => tags.append_null(),
        }
    }
    let point = StructArray::from(vec![
        (
            Arc::new(Field::new("x", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("Name", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["p", "q", "r", "s", "t"])),
        ),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4, i64::MAX]))),
        (
            "Price",
            Arc::new(Float64Array::from(vec![Some(0.1), Some(f64::NAN), None, Some(-2.5), Some(1e300)])),
        ),
        ("name", Arc::new(StringArray::from(vec![Some("red"), Some("it's"), None, Some(""), Some("Grün")]))),
        ("d", Arc::new(decimals.with_precision_and_scale(8, 2).unwrap())),
        (
            "t",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(0),
                Some(1),
                None,
                Some(-1),
                Some(1_700_000_000_123_456),
            ])),
        ),
        ("tags", Arc::new(tags.finish())),
        ("point", Arc::new(point)),
    ];
    Arc::new(MemoryTable::new(
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap(),
    ))
}

fn with_table() -> Engine {
    let engine = engine();
    engine.add_table("My Table", table());
    engine
}

/// The cells of an answer, row by row.
fn cells(answer: &dyn Table) -> Vec<Vec<Option<String>>> {
    let task = Task::new();
    let columns: Vec<usize> = (0..answer.schema().fields().len()).collect();
    let rows = answer.count(&task).unwrap();
    let batch = answer.read(&task, 0..rows, &columns).unwrap();
    (0..batch.num_rows())
        .map(|row| batch.columns().iter().map(|c| cell::text(c.as_ref(), row)).collect())
        .collect()
}

fn ask(engine: &Engine, sql: &str) -> Vec<Vec<Option<String>>> {
    let answer = engine.run(&Task::new(), sql, |_| {}).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    cells(answer.as_ref())
}

fn texts(engine: &Engine, sql: &str) -> Vec<String> {
    let line = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "null".to_owned())).collect::<Vec<_>>().join(" ")
    };
    ask(engine, sql).into_iter().map(line).collect()
}

fn mistake(engine: &Engine, sql: &str) -> SqlDiagnostic {
    match engine.run(&Task::new(), sql, |_| {}) {
        Err(Failure::Sql(mistake)) => *mistake,
        Err(Failure::Run(error)) => panic!("{sql}: no mistake of the statement but {error}"),
        Ok(_) => panic!("{sql}: it runs"),
    }
}

#[test]
fn names_in_any_case_and_in_quotes() {
    let engine = with_table();
    for from in ["\"My Table\"", "My_Table", "my_table", "MY_TABLE"] {
        assert_eq!(texts(&engine, &format!("SELECT ID, price FROM {from} WHERE iD = 1")), ["1 0.1"]);
    }
    assert_eq!(texts(&engine, "SELECT m.id FROM my_table m WHERE M.NAME = 'red'"), ["1"]);
    assert_eq!(texts(&engine, "SELECT my_table.id FROM my_table LIMIT 1"), ["1"]);
    assert_eq!(texts(&engine, "SELECT point['x'], point.name FROM my_table LIMIT 1"), ["1 p"]);
    assert_eq!(
        texts(
            &engine,
            "WITH Small AS (SELECT id AS Key FROM my_table WHERE id < 3) SELECT key FROM small ORDER BY KEY DESC"
        ),
        ["2", "1"]
    );
    let names: Vec<String> = engine
        .run(
            &Task::new(),
            "SELECT sum(id), count(*), id % 2 AS odd, 1, id, id FROM my_table WHERE id < 5 GROUP BY id",
            |_| {},
        )
        .unwrap()
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    assert_eq!(names, ["sum(id)", "count(*)", "odd", "1", "id", "id_2"]);
}

#[test]
fn nulls_nan_decimals_times_and_nested_values() {
    let engine = with_table();
    assert_eq!(
        texts(&engine, "SELECT id FROM my_table ORDER BY price"),
        ["4", "1", "9223372036854775807", "2", "3"]
    );
    assert_eq!(
        texts(&engine, "SELECT id FROM my_table ORDER BY price DESC"),
        ["2", "9223372036854775807", "1", "4", "3"]
    );
    assert_eq!(
        texts(&engine, "SELECT count(price), count(*) FROM my_table WHERE NOT isnan(price) OR price IS NULL"),
        ["3 4"]
    );
    assert_eq!(
        texts(&engine, "SELECT sum(d), avg(d), d * 2 FROM my_table WHERE id = 1 GROUP BY d"),
        ["2.50 2.500000 5.00"]
    );
    assert_eq!(
        texts(&engine, "SELECT t FROM my_table WHERE t > TIMESTAMP '2000-01-01'"),
        ["2023-11-14T22:13:20.123456"]
    );
    assert_eq!(
        texts(&engine, "SELECT name FROM my_table WHERE name = 'it''s' OR name IS NULL"),
        ["it's", "null"]
    );
    assert_eq!(
        texts(&engine, "SELECT id FROM my_table WHERE array_has(tags, 'a')"),
        ["1", "9223372036854775807"]
    );
    assert_eq!(
        texts(&engine, "SELECT id, array_length(tags) FROM my_table WHERE id <= 2"),
        ["1 2", "2 null"]
    );
    assert_eq!(texts(&engine, "SELECT max(id), min(name) FROM my_table"), ["9223372036854775807 "]);
    assert_eq!(texts(&engine, "VALUES (1, 'a'), (2, NULL)"), ["1 a", "2 null"]);
}

#[test]
fn mistakes_are_sentences_with_their_place() {
    let engine = with_table();
    let wrong = mistake(&engine, "SELECT id\nFROM my_table\nWHERE prise > 1");
    assert_eq!(wrong.place.as_ref().map(|p| (p.line, p.column)), Some((3, 7)), "{wrong}");
    assert!(wrong.message.contains("did you mean \"Price\"?"), "{wrong}");
    assert!(wrong.context.ends_with("WHERE prise > 1\n      ^^^^^"), "{}", wrong.context);
    let wrong = mistake(&engine, "SELEC id FROM my_table");
    assert_eq!(wrong.place.as_ref().map(|p| (p.line, p.column)), Some((1, 1)), "{wrong}");
    let wrong = mistake(&engine, "SELECT id FROM my_tabel");
    assert!(wrong.message.contains("did you mean") && wrong.place.unwrap().column == 16, "{}", wrong.message);
    let wrong = mistake(&engine, "SELECT id FROM my_table WHERE (id > 1");
    assert!(wrong.message.contains("ends where"), "{wrong}");
    let wrong = mistake(&engine, "SELECT nosuch(id) FROM my_table");
    assert!(wrong.place.is_some_and(|p| p.column == 8), "{}", wrong.message);
    assert!(mistake(&engine, "SELECT 'open FROM my_table").message.to_lowercase().contains("string"));
    assert!(mistake(&engine, "").message.contains("no statement"));
    assert!(mistake(&engine, "SELECT 1; SELECT 2").message.contains("one runs at a time"));
    let deep = format!("SELECT {}1{}", "(".repeat(200), ")".repeat(200));
    assert!(mistake(&engine, &deep).message.contains("nests deeper"));
    let long = format!("SELECT id FROM my_table WHERE {}", vec!["id = 1"; 6_000].join(" OR "));
    assert!(mistake(&engine, &long).message.contains("operators"));
    let broad = format!("SELECT id FROM my_table WHERE {}", vec!["id = 1"; 2_000].join(" OR "));
    assert_eq!(texts(&engine, &broad), ["1"]);
}

#[test]
fn mistakes_that_show_late_have_their_place_too() {
    let engine = with_table();
    let cases = [
        ("SELECT id FROM my_table WHERE id > 1 AND name > 3", "name > 3", " of the text column name cannot"),
        ("SELECT id FROM my_table WHERE id > 'abc'", "'abc'", "cannot be read as int64"),
        ("SELECT id FROM my_table WHERE t > 'abc'", "'abc'", "'abc'"),
        ("SELECT CAST(name AS INT) FROM my_table", "name", " cannot be read as int32"),
        ("SELECT id, 1 / (id - 1) FROM my_table", "id - 1", "divide by zero"),
        ("SELECT id % 0 FROM my_table", "0", "divide by zero"),
        ("SELECT id FROM my_table WHERE id > 0 AND sum(id) > 1", "sum(id", "in HAVING"),
        ("SELECT s.name.x FROM my_table s", "s.name.x", "name is of type string and has no field \"x\""),
        ("SELECT id FROM my_table LIMIT 'x'", "'x'", "LIMIT takes a whole number"),
        ("SELECT substr(name) FROM my_table", "name", "substr takes"),
        ("SELECT id FROM my_table WHERE name", "name", "a condition is true or false"),
        ("SELECT id FROM my_table ORDER BY 5", "5", "no column 5"),
        ("SELECT (SELECT id FROM my_table)", "SELECT id FROM my_table", "several rows"),
        ("SELECT regexp_like(name, '(') FROM my_table", "'('", "unclosed group"),
    ];
    for (sql, at, said) in cases {
        let wrong = mistake(&engine, sql);
        assert!(wrong.message.contains(said), "{sql}: {}", wrong.message);
        assert!(!wrong.message.contains(" { "), "{sql}: {}", wrong.message);
        let place = wrong.place.unwrap_or_else(|| panic!("{sql}: no place: {}", wrong.message));
        assert!(sql[place.bytes.clone()].starts_with(at), "{sql}: {}", &sql[place.bytes]);
    }
    let part = "fixtures/parquet/parts_drift/part-0.parquet";
    for (condition, at) in [("a > 3", "a > 3"), ("1 / (id - 1) > 2", "id - 1")] {
        let sql = format!("SELECT id FROM '{part}' WHERE {condition}");
        let wrong = mistake(&engine, &sql);
        let place = wrong.place.unwrap_or_else(|| panic!("{sql}: no place: {}", wrong.message));
        assert_eq!(&sql[place.bytes], at, "{}", wrong.message);
    }
    let two = mistake(&engine, "SELECT id\nFROM my_table\nWHERE name BETWEEN 1\nAND 3");
    assert_eq!(two.place.map(|p| (p.line, p.column)), Some((3, 7)));
    assert!(texts(&engine, "SELECT id FROM my_table WHERE TRY_CAST(name AS INT) > 3").is_empty());
}

#[test]
fn nothing_is_written_defined_or_set() {
    let engine = with_table();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.csv");
    let copy = format!("COPY my_table TO '{}'", file.display());
    let external = format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{}'", file.display());
    let statements = [
        "INSERT INTO my_table VALUES (1)",
        "DELETE FROM my_table",
        "UPDATE my_table SET id = 1",
        "DROP TABLE my_table",
        "CREATE TABLE x AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "SET datafusion.execution.batch_size = 1",
        "SELECT * INTO x FROM my_table",
        "EXPLAIN INSERT INTO my_table VALUES (1)",
        "TRUNCATE TABLE my_table",
        "WITH w AS (DELETE FROM my_table) SELECT 1",
        &copy,
        &external,
        "ATTACH 'x' AS y",
        "USE x",
        "BEGIN",
    ];
    for sql in statements {
        let failure = engine.run(&Task::new(), sql, |_| {}).err().unwrap_or_else(|| panic!("{sql} runs"));
        assert!(matches!(failure, Failure::Sql(_)), "{sql}: {failure}");
    }
    assert!(!file.exists());
    for sql in ["SELECT * FROM 'https://example.com/x.parquet'", "SELECT * FROM 's3://bucket/x.parquet'"] {
        let failure = engine.run(&Task::new(), sql, |_| {}).err().unwrap();
        assert!(failure.to_string().contains("not from a network"), "{failure}");
    }
}

#[test]
fn lists_of_tables_and_columns() {
    let engine = with_table();
    assert_eq!(texts(&engine, "SHOW TABLES"), ["My Table 5 7"]);
    let columns = texts(&engine, "DESCRIBE my_table");
    assert_eq!(columns[0], "id int64 yes");
    assert_eq!(columns.len(), 7);
    assert!(ask(&engine, "SHOW FUNCTIONS").len() > 200);
    let plan = texts(&engine, "EXPLAIN SELECT id FROM my_table WHERE id > 3").join("\n");
    assert!(plan.contains("TableScan: rows=5, columns=[id]"), "{plan}");
    let known = &engine.tables()[0];
    assert_eq!((known.name.as_str(), known.columns[1].0.as_str()), ("My Table", "Price"));
}

/// A table of the numbers from 0 on, each read of which takes a while.
struct Slow {
    rows: u64,
    pause: Duration,
    counted: bool,
    schema: SchemaRef,
}

impl Slow {
    #[allow(clippy::new_ret_no_self)]
    fn new(rows: u64, pause: Duration, counted: bool) -> Arc<dyn Table> {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        Arc::new(Slow { rows, pause, counted, schema })
    }
}

impl Table for Slow {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        if self.counted { Rows::Exact(self.rows) } else { Rows::About { rows: self.rows + 7, known: 100 } }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let until = Instant::now() + self.pause;
        while Instant::now() < until {
            task.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        let rows = crate::data::content::table::cut(&rows, self.rows);
        let all: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|n| n as i64)));
        let len = all.len();
        crate::data::content::table::batch(
            &self.schema,
            columns,
            columns.iter().map(|_| all.clone()).collect(),
            len,
        )
    }

    fn count(&self, _task: &Task) -> Result<u64> {
        Ok(self.rows)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        1_000
    }

    fn facts(&self) -> TableFacts {
        TableFacts::default()
    }
}

#[test]
fn rows_keep_the_order_of_their_table() {
    let engine = engine();
    engine.add_table("n", Slow::new(250_000, Duration::ZERO, true));
    let numbers = |sql: &str| -> Vec<i64> {
        ask(&engine, sql).into_iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(numbers("SELECT n FROM n"), (0..250_000).collect::<Vec<_>>());
    assert_eq!(
        numbers("SELECT n + 1 FROM n WHERE n % 3 = 0"),
        (0..250_000).step_by(3).map(|n| n + 1).collect::<Vec<_>>()
    );
    assert_eq!(
        numbers("SELECT n FROM n WHERE n >= 124990 LIMIT 20 OFFSET 3"),
        (124_993..125_013).collect::<Vec<_>>()
    );
    assert_eq!(numbers("SELECT n FROM n LIMIT 7"), (0..7).collect::<Vec<_>>());
    assert_eq!(numbers("SELECT n FROM n OFFSET 249995"), (249_995..250_000).collect::<Vec<_>>());
    assert_eq!(numbers("SELECT n FROM n LIMIT 0"), Vec::<i64>::new());
    assert_eq!(texts(&engine, "SELECT count(*), sum(n), max(n) FROM n"), ["250000 31249875000 249999"]);
}

#[test]
fn a_table_that_is_not_counted_is_read_to_its_end() {
    let engine = engine();
    engine.add_table("n", Slow::new(5_321, Duration::ZERO, false));
    assert_eq!(texts(&engine, "SELECT count(*), sum(n) FROM n"), ["5321 14153860"]);
    assert_eq!(texts(&engine, "SELECT n FROM n LIMIT 2"), ["0", "1"]);
    assert_eq!(ask(&engine, "SELECT n FROM n LIMIT 200").len(), 200);
}

#[test]
fn first_rows_come_while_it_runs_and_cancelling_is_quick() {
    let engine = engine();
    engine.add_table("n", Slow::new(10_000_000, Duration::from_millis(30), true));
    let answer = engine.start(&Task::new(), "SELECT n FROM n WHERE n % 2 = 0").unwrap();
    answer.wait_for(&Task::new(), 100).unwrap();
    assert!(matches!(answer.rows(), Rows::AtLeast(rows) if rows >= 100));
    let first = answer.read(&Task::new(), 0..3, &[0]).unwrap();
    assert_eq!(first.column(0).as_primitive::<Int64Type>().values(), &[0, 2, 4]);
    let task = Task::new();
    let (cancelled, waits) = (task.clone(), answer.clone());
    let thread = std::thread::spawn(move || waits.wait(&cancelled).err().map(|e| e.is_cancelled()));
    std::thread::sleep(Duration::from_millis(30));
    let asked = Instant::now();
    task.cancel();
    assert_eq!(thread.join().unwrap(), Some(true));
    assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
    // What was being read may still come.
    let is_idle = |_| {
        let there = answer.rows().number();
        std::thread::sleep(Duration::from_millis(150));
        answer.rows().number() == there
    };
    assert!((0..6).any(is_idle), "it runs on");
}

#[test]
fn few_hits_are_there_as_soon_as_they_are_found() {
    let engine = engine();
    engine.add_table("n", Slow::new(10_000_000, Duration::from_millis(5), true));
    let answer = engine.start(&Task::new(), "SELECT n + 1 FROM n WHERE n % 5000 = 3").unwrap();
    answer.wait_for(&Task::new(), 2).unwrap();
    assert!(answer.ended().is_none(), "most of the table is still to be read");
    let steps = answer.steps();
    assert!(steps.iter().any(|step| step.name == "Filter" && step.rows >= Some(2)), "{steps:?}");
    answer.cancel();
    assert_eq!(
        texts(&engine, "SELECT n + 1 FROM n WHERE n % 5000 = 3 LIMIT 3 OFFSET 1"),
        ["5004", "10004", "15004"]
    );
}

#[test]
fn a_sort_that_does_not_fit_into_memory_goes_to_disk() {
    let settings = Settings { memory: 32 << 20, threads: 2, ..Settings::default() };
    let engine = Engine::new(settings, Vec::new());
    engine.add_table("n", Slow::new(2_000_000, Duration::ZERO, true));
    let answer = engine
        .run(&Task::new(), "SELECT (n * 7919) % 2000003 AS k, n, n + 1 AS m FROM n ORDER BY k", |_| {})
        .unwrap();
    assert_eq!(answer.rows(), Rows::Exact(2_000_000));
    let keys = answer.read(&Task::new(), 0..2_000_000, &[0]).unwrap();
    let keys = keys.column(0).as_primitive::<Int64Type>().values().to_vec();
    assert!(keys.windows(2).all(|w| w[0] <= w[1]));
}

#[test]
fn files_are_named_in_quotes() {
    let engine = engine();
    let count = |from: &str| texts(&engine, &format!("SELECT count(*) FROM {from}"));
    assert_eq!(count("'fixtures/parquet/parts/part-0.parquet'"), ["10"]);
    assert_eq!(count("'fixtures/parquet/parts/*.parquet'"), ["20"]);
    assert_eq!(count("'fixtures/parquet/parts'"), ["20"]);
    assert!(mistake(&engine, "SELECT 1 FROM 'fixtures/no/*.parquet'").message.contains("no file matches"));
}

#[test]
fn results_can_be_queried_again() {
    let engine = with_table();
    let answer =
        engine.run(&Task::new(), "SELECT id, price AS p FROM my_table WHERE id < 5", |_| {}).unwrap();
    engine.add_table("result", answer);
    assert_eq!(texts(&engine, "SELECT count(*), max(id) FROM result"), ["4 4"]);
    engine.remove("result");
    assert!(mistake(&engine, "SELECT * FROM result").message.contains("no table"));
}

#[test]
fn a_filtered_table_keeps_its_row_numbers() {
    let (engine, task) = (engine(), Task::new());
    let table = table();
    let filter = Filter {
        conditions: vec![Condition::new(
            "id",
            Test::Between { low: Some("2".into()), high: None, closed: true },
        )],
        expression: "name IS NOT NULL".to_owned(),
    };
    let sort = [Sort::by("Price", Order::Descending)];
    let found = filtered(&engine, &task, &table, &filter, &sort).unwrap();
    assert_eq!(found.count(&task).unwrap(), 3);
    assert_eq!(found.numbers(&task, 0..3).unwrap(), [1, 4, 3]);
    assert_eq!(found.schema(), table.schema());
    let ids: Vec<_> = cells(&found).into_iter().map(|row| row[0].clone().unwrap()).collect();
    assert_eq!(ids, ["2", "9223372036854775807", "4"]);
    let tests = [
        (Condition::new("name", Test::Contains { text: "RÜ".into(), fold: true }), vec![4]),
        (Condition::new("name", Test::In(vec![Some("red".into()), None])), vec![0, 2]),
        (Condition::new("name", Test::Starts("i".into())), vec![1]),
        (Condition::new("name", Test::Matches("^.{3,4}$".into())), vec![0, 1, 4]),
        (Condition::new("Price", Test::Nan), vec![1]),
        (Condition::new("Price", Test::NotNan), vec![0, 3, 4]),
        (Condition::new("Price", Test::Equals("0.1".into())), vec![0]),
        (Condition::new("d", Test::Equals("-1.25".into())), vec![2]),
        (
            Condition::new(
                "d",
                Test::Between { low: Some("0".into()), high: Some("3".into()), closed: true },
            ),
            vec![0, 3],
        ),
        (
            Condition::new(
                "t",
                Test::Between { low: None, high: Some("1970-01-01T00:00:00".into()), closed: false },
            ),
            vec![3],
        ),
        (Condition::new("tags", Test::Length(Some(1), None)), vec![0, 3, 4]),
        (Condition::new("tags", Test::Length(Some(0), Some(0))), vec![2]),
        (Condition::new("tags", Test::Has("a".into())), vec![0, 4]),
        (Condition::new("tags", Test::Null), vec![1]),
        (Condition::new("id", Test::Differs("1".into())), vec![1, 2, 3, 4]),
        (
            Condition { column: "point".into(), fields: vec!["x".into()], test: Test::Equals("3".into()) },
            vec![2],
        ),
    ];
    for (condition, rows) in tests {
        let filter = Filter { conditions: vec![condition.clone()], expression: String::new() };
        let found = filtered(&engine, &task, &table, &filter, &[]);
        let found = found.unwrap_or_else(|failure| panic!("{}: {failure}", condition.words()));
        let count = found.count(&task).unwrap_or_else(|e| panic!("{}: {e}", condition.words()));
        assert_eq!(found.numbers(&task, 0..count).unwrap(), rows, "{}", condition.words());
    }
    let wrong = Filter { conditions: Vec::new(), expression: "id >".to_owned() };
    assert!(matches!(filtered(&engine, &task, &table, &wrong, &[]), Err(Failure::Sql(_))));
}

#[test]
fn texts_are_compared_as_what_they_were_guessed_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // Longer than what is looked at for the guess; the odd cell stands between the places of the sample.
    let cell = |i: u64| if i == 61_000 { "x".to_owned() } else { (200_000 - i).to_string() };
    let rows: String = (0..200_000).map(|i| format!("{},{}.10\n", cell(i), i % 20)).collect();
    std::fs::write(&path, format!("n,code\n{rows}")).unwrap();
    let (engine, task) = (engine(), Task::new());
    let document = crate::open(&task, &path, &crate::data::format::Options::default()).unwrap();
    let table = crate::data::open::table_of(&document).unwrap();
    let filter = Filter {
        conditions: vec![Condition::new("code", Test::Equals("7.1".into()))],
        expression: String::new(),
    };
    let sort = [Sort::by("n", Order::Ascending)];
    let mut found = filtered(&engine, &task, &table, &filter, &sort).unwrap();
    // A cell of n is no number: the first try says so, the second one takes texts.
    assert!(found.count(&task).is_err() && found.again());
    found = filtered(&engine, &task, &table, &filter, &sort).unwrap();
    assert_eq!(found.count(&task).unwrap(), 10_000);
    let shown = found.read(&task, 0..1, &[1]).unwrap();
    assert_eq!(cell::text(shown.column(0).as_ref(), 0).as_deref(), Some("7.10"), "texts stay as they stand");
    engine.add_document(&task, &document).unwrap();
    assert_eq!(texts(&engine, "SELECT count(*), max(n), max(code) FROM t"), ["200000 x 19.1"]);
}

#[test]
fn large_values_are_read_where_they_are_looked_at() {
    let (engine, task) = (engine(), Task::new());
    let wide: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..500).map(|i| vec![i as u8; 10_000])));
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).rev()));
    let table: Arc<dyn Table> =
        Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("id", ids), ("picture", wide)]).unwrap()));
    let sort = [Sort::by("id", Order::Ascending)];
    let filter = Filter { conditions: Vec::new(), expression: "id % 100 = 0".to_owned() };
    let found = filtered(&engine, &task, &table, &filter, &sort).unwrap();
    assert_eq!(found.count(&task).unwrap(), 5);
    assert_eq!(found.answer().schema().fields().len(), 1, "only numbers of rows are kept");
    let read = found.read(&task, 1..3, &[0, 1]).unwrap();
    assert_eq!(read.column(0).as_primitive::<Int32Type>().values(), &[100, 200]);
    assert_eq!(read.column(1).as_binary::<i32>().value(0), vec![(399 % 256) as u8; 10_000]);
}

#[test]
fn a_broken_column_only_hurts_those_who_ask_for_it() {
    struct Broken(Arc<dyn Table>);
    impl Table for Broken {
        fn schema(&self) -> &SchemaRef {
            self.0.schema()
        }
        fn rows(&self) -> Rows {
            self.0.rows()
        }
        fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            match columns.contains(&1) {
                true => Err(Error::malformed("page: it is broken").at(77)),
                false => self.0.read(task, rows, columns),
            }
        }
    }
    let engine = engine();
    engine.add_table("t", Arc::new(Broken(table())));
    assert_eq!(texts(&engine, "SELECT count(*), max(name) FROM t"), ["5 red"]);
    let failure = engine.run(&Task::new(), "SELECT price FROM t", |_| {}).err().unwrap();
    assert_eq!(failure.to_string(), "malformed page: it is broken (at byte 77)");
    let failure = engine.run(&Task::new(), "SELECT 1 / (id - 1) FROM t", |_| {}).err().unwrap();
    assert!(failure.to_string().to_lowercase().contains("divide by zero"), "{failure}");
}

#[test]
fn patterns_keep_the_columns_of_partitions() {
    let folder = tempfile::tempdir().unwrap();
    for (year, text) in [(2023, "n\n1\n2\n"), (2024, "n\n3\n")] {
        let path = folder.path().join(format!("year={year}"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a.csv"), text).unwrap();
    }
    let engine = engine();
    let sql = format!(
        "SELECT year + 1, sum(n) FROM '{}/**/*.csv' GROUP BY year ORDER BY 1",
        folder.path().display()
    );
    assert_eq!(texts(&engine, &sql), ["2024 3", "2025 3"]);
    let one = format!("SELECT year, n FROM '{}/year=2024/*.csv'", folder.path().display());
    assert_eq!(texts(&engine, &one), ["2024 3"]);
}

#[test]
fn tables_beside_a_table_have_names() {
    let (engine, task) = (engine(), Task::new());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let open = |name: &str| crate::open(&task, &Path::new(root).join(name), &Default::default()).unwrap();
    assert_eq!(
        engine.add_document(&task, &open("delta/versions")).unwrap(),
        ["versions", "versions_history", "versions_files"]
    );
    assert_eq!(texts(&engine, "SELECT count(*) FROM versions"), ["3"]);
    assert_eq!(texts(&engine, "SELECT operation FROM versions_history WHERE version = 2"), ["DELETE"]);
    assert_eq!(texts(&engine, "SELECT count(*) FROM \"versions.files\" WHERE state = 'in the table'"), ["1"]);
    let here = format!("SELECT count(*) FROM '{root}/delta/versions#version=0'");
    assert_eq!(texts(&engine, &here), ["6"]);
    // The files of a folder are its rows, not tables of their own.
    assert_eq!(engine.add_document(&task, &open("parquet/parts")).unwrap(), ["parts"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    let coco = r#"{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"id": 7, "image_id": 1}, {"id": 8, "image_id": 1}], "categories": [{"id": 1, "name": "goose"}]}"#;
    std::fs::write(&path, coco).unwrap();
    let document = crate::open(&task, &path, &Default::default()).unwrap();
    engine.add_document(&task, &document).unwrap();
    let joined = "SELECT count(*) FROM c_annotations a JOIN c_images i ON i.id = a.image_id";
    assert_eq!(texts(&engine, joined), ["2"]);
    // A node whose name the file's ends with.
    let arrays = folder.path().join("my_labels");
    std::fs::copy(Path::new(root).join("npz/stored.npz"), &arrays).unwrap();
    let count = |path: &Path| texts(&engine, &format!("SELECT count(*) FROM '{}#labels'", path.display()));
    assert_eq!(count(&arrays), count(&Path::new(root).join("npz/stored.npz")));
}

fn add_lines(engine: &Engine, name: &str, lines: &str) {
    let source = crate::bytes::source::Source::memory(format!("{name}.jsonl"), lines.to_owned());
    let document = crate::formats::open_source(&Task::new(), &source, &Default::default()).unwrap();
    engine.add_document(&Task::new(), &document).unwrap();
}

#[test]
fn lists_and_objects_of_json_are_lists_and_structs() {
    let engine = engine();
    add_lines(
        &engine,
        "a",
        "{\"st\":{\"a\":0,\"b\":\"x\"},\"lst\":[1.5,2],\"due\":\"2024-01-31\"}\n{\"st\":{\"a\":7},\"lst\":[],\"due\":null}\n",
    );
    assert_eq!(
        texts(&engine, "SELECT st['a'] + 1, st['b'], lst[2], due FROM a"),
        ["1 x 2.0 2024-01-31", "8 null null null"]
    );
    assert_eq!(texts(&engine, "SELECT sum(st['a']), max(array_length(lst)) FROM a"), ["7 2"]);
    assert_eq!(texts(&engine, "SELECT due + INTERVAL '1 day' FROM a LIMIT 1"), ["2024-02-01"]);
    // A cell behind the sample that does not fit: the column is what stands in the file.
    let line = "{\"id\":1,\"st\":{\"a\":0}}\n";
    let mut lines = line.repeat(60_000);
    lines.insert_str(26_000 * line.len(), "{\"id\":2,\"st\":{\"a\":0,\"late\":1}}\n");
    add_lines(&engine, "b", &lines);
    assert_eq!(texts(&engine, "SELECT st FROM b WHERE id = 2"), ["{\"a\":0,\"late\":1}"]);
}

#[test]
fn a_text_is_found_in_whatever_shows_it() {
    let (engine, task, table) = (engine(), Task::new(), table());
    for (column, text, rows) in [
        (0, "2", vec![1, 4]),
        (1, "1E300", vec![4]),
        (2, "GRÜ", vec![4]),
        (5, "\"B\"", vec![0]),
        (6, "\"q\"", vec![1]),
    ] {
        let filter = containing(table.as_ref(), &[column], text);
        let found = filtered(&engine, &task, &table, &filter, &[]).unwrap();
        let count = found.count(&task).unwrap();
        assert_eq!(found.numbers(&task, 0..count).unwrap(), rows, "{text}");
    }
    // The same condition in a statement of one's own.
    let condition = containing_sql(table.schema(), &[5, 6], "\"C\"");
    let sql = format!("SELECT id FROM \"My Table\" WHERE {condition}");
    assert_eq!(texts(&with_table(), &sql), ["4"]);
    assert!(Engine::functions().iter().any(|name| name == "cell_text"));
}

#[test]
fn a_mistake_of_a_filter_has_its_place_in_what_was_written() {
    let (engine, task, table) = (engine(), Task::new(), table());
    let filter = Filter { conditions: Vec::new(), expression: "id > 1\nAND nme = 'x'".to_owned() };
    let key = Sort { expression: true, ..Sort::by("id +", Order::Ascending) };
    for (filter, sort, line, start) in [
        (filter, vec![], 2, "WHERE id > 1\nAND ".len()),
        (Filter::default(), vec![key], 1, "ORDER BY id +".len()),
    ] {
        let text = clauses(&filter, &sort, table.schema());
        let Err(Failure::Sql(mistake)) = filtered(&engine, &task, &table, &filter, &sort) else {
            panic!("{text}: it runs")
        };
        let place = mistake.place.clone().unwrap_or_else(|| panic!("{text}: no place: {mistake}"));
        assert_eq!((place.line, place.bytes.start), (line, start), "{text}: {mistake}");
    }
    // A key may be an expression.
    let key = Sort { expression: true, ..Sort::by("id % 3", Order::Descending) };
    let found = filtered(&engine, &task, &table, &Filter::default(), &[key]).unwrap();
    assert_eq!(found.count(&task).unwrap(), 5);
    assert_eq!(found.numbers(&task, 0..5).unwrap(), [1, 0, 3, 4, 2]);
}

#[test]
fn a_node_of_a_document_is_called_as_the_engine_calls_it() {
    use crate::data::content::Content;
    use crate::data::node::Node;
    let task = Task::new();
    let document = |name: &str, root: Node| {
        let source = crate::bytes::source::Source::memory("data.csv", b"a,b\n1,2\n".to_vec());
        let opened = crate::formats::open_source(&task, &source, &Default::default()).unwrap();
        let source = crate::bytes::source::Source::memory(name, vec![1u8]);
        Arc::new(Document { source, root: Arc::new(root), ..opened })
    };
    let leaf = |name: &str| Node::new(name, "table").content(Content::Table(table()));
    let versioned = leaf("data.csv").listed(vec![leaf("version=0")]);
    let parts = Node::new("data.zip", "file").listed(vec![leaf("x.csv"), leaf("x")]);
    let all = [
        document("data.csv", leaf("data.csv")),
        document("data.csv", versioned),
        document("data.zip", parts),
    ];
    let engine = engine();
    all.iter().for_each(|document| drop(engine.add_document(&task, document).unwrap()));
    let names: Vec<String> = engine.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["data", "data_2", "data_version=0", "data_x", "data_x_2"]);
    let asked = |at: usize, path: &str| name_of(&task, &all, &all[at], path).unwrap();
    let places = [(0, ""), (1, ""), (2, "/x.csv"), (2, "/x"), (2, "")];
    let found = places.map(|(at, path)| asked(at, path).unwrap());
    assert_eq!(found, ["data", "data_2", "data_x", "data_x_2", "data_x"]);
    assert_eq!(asked(1, "/version=0").as_deref(), Some("data_version=0"), "tables beside a table have names");
}

#[test]
fn a_condition_on_one_side_of_a_join_drops_no_rows_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.parquet");
    let made = |k: Vec<i64>, s: Vec<&str>| {
        let columns: Vec<(&str, ArrayRef)> =
            vec![("k", Arc::new(Int64Array::from(k))), ("s", Arc::new(StringArray::from(s)))];
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap()
    };
    let two = made(vec![1, 2, 3, 4], vec!["red", "blue", "red", "green"]);
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(file, two.schema(), None).unwrap();
    writer.write(&two).unwrap();
    writer.close().unwrap();
    let engine = engine();
    engine.add_table("one", Arc::new(MemoryTable::new(made(vec![4, 5], vec!["red", "red"]))));
    let from = format!("one a RIGHT JOIN '{}' b ON a.k = b.k", path.display());
    let sql = format!("SELECT count(*), max(b.s) FROM {from} WHERE (a.s = 'red') IS NOT TRUE");
    assert_eq!(texts(&engine, &sql), ["3 red"]);
    let sql = format!("SELECT count(*), max(a.s) FROM {from} WHERE b.s = 'red'");
    assert_eq!(texts(&engine, &sql), ["2 null"]);
}
