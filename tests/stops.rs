//! A stopped query stops: ten kinds of statements over data made here are stopped while they run. Within a second the
//! process is idle, within five its memory is back, and the next query answers at its usual speed. The same where what
//! shows the result is closed (every second time), and for Ctrl+C on the command line.
//!
//! Each kind runs in a process of its own, so that what it uses is its own: the test starts itself again. With
//! `GANDER_STOP_TIMES=10` each is stopped so many times, with `GANDER_STOP_AFTER=5` after so many seconds of its work; `GANDER_STOP_MEGABYTES=400` makes the files larger, for a
//! program that reads faster than one without optimisation. `cargo test --test main stops -- --nocapture` prints what
//! was measured.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use gander::query::{Engine, Settings};
use gander::{Error, Task};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What each kind asks for; `DIR` is the folder of the files.
const KINDS: [(&str, &str); 13] = [
    ("cross", "SELECT sum((a.value * b.value) % 7) FROM range(0, 3000000) a CROSS JOIN range(0, 3000000) b"),
    ("inequality", "SELECT count(*) FROM range(0, 3000000) a JOIN range(0, 3000000) b ON a.value < b.value"),
    // Nothing is ever handed on.
    ("nothing", "SELECT * FROM range(0, 3000000) a JOIN range(0, 3000000) b ON a.value > b.value + 5000000"),
    (
        "semijoin",
        "SELECT count(*) FROM range(0, 3000000) a WHERE a.value % 1 IN (SELECT b.value % 1 FROM range(0, 3000000) b)
         AND EXISTS (SELECT 1 FROM range(0, 3000000) c WHERE c.value % 1 = a.value % 1 AND c.value < a.value - 4000000)",
    ),
    (
        "aggregate",
        "SELECT max(m) FROM (SELECT value % 1999999 AS k, median(value) AS m, count(DISTINCT value) AS d
         FROM range(0, 200000000) GROUP BY 1)",
    ),
    ("window", "SELECT max(m) FROM (SELECT median(value) OVER (ORDER BY value) AS m FROM range(0, 3000000))"),
    ("nth", "SELECT nth_value(value, 1500000) OVER (ORDER BY value) AS m, sum(value) OVER (ORDER BY value DESC
             ROWS BETWEEN 1000000 PRECEDING AND 1000000 FOLLOWING) AS s FROM range(0, 60000000)"),
    ("sort", "SELECT value, (value * 7919) % 1000003 AS k FROM range(0, 200000000) ORDER BY k"),
    (
        "recursion",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 2000000000)
         SELECT count(*) FROM r",
    ),
    ("regex", "SELECT count(*) FROM 'DIR/texts.parquet' WHERE regexp_like(text, '(a|e)[a-z ]{5,60}(x|y|z){3}q$')"),
    ("json", "SELECT count(DISTINCT text), sum(length(replace(text, 'a', 'b'))) FROM 'DIR/rows.ndjson'"),
    ("delta", "SELECT text, count(*) FROM 'DIR/delta' WHERE text ~ '[aeiou]{2}.*(lo|um).*[xyz]{2}' GROUP BY text"),
    ("csv", "SELECT text, count(*) FROM 'DIR/part-*.csv' GROUP BY text ORDER BY 2 DESC"),
];

/// When a query is stopped, in seconds of processor time that it used: on a machine that does other things, too, it would
/// else not have come far.
const STOP: f64 = 1.0;
/// What an idle process may use of a processor.
const IDLE: f64 = 0.1;
/// How soon it is idle. A step that was begun is ended: the table of a join's keys, the sorting of what a spill
/// holds. Without optimisation, as the engine is built for tests, these take twenty times as long.
const SOON: Duration = Duration::from_millis(if cfg!(debug_assertions) { 8_000 } else { 1_000 });

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A text that looks like words, the same for the same number.
fn text(n: u64) -> String {
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::new();
    for _ in 0..12 {
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            out.push(char::from(b"bdlmnrst"[(state % 8) as usize]));
            out.push(char::from(b"aeiou"[(state >> 8) as usize % 5]));
        }
        out.push(' ');
    }
    let _ = write!(out, "{n}");
    out
}

fn parquet(path: &Path, rows: std::ops::Range<u64>) {
    let batch = |first: u64| {
        let rows = first..(first + 50_000).min(rows.end);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|n| n as i64)));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.map(text)));
        RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap()
    };
    let file = std::fs::File::create(path).unwrap();
    let first = batch(rows.start);
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, first.schema(), None).unwrap();
    for start in rows.clone().step_by(50_000) {
        writer.write(&batch(start)).unwrap();
    }
    writer.close().unwrap();
}

/// The files that a kind reads.
fn make(kind: &str, folder: &Path) {
    let rows = number("GANDER_STOP_MEGABYTES", 100) as u64 * 10_000;
    match kind {
        "regex" => parquet(&folder.join("texts.parquet"), 0..rows * 2),
        "json" => {
            let mut out = BufWriter::new(std::fs::File::create(folder.join("rows.ndjson")).unwrap());
            (0..rows).for_each(|n| writeln!(out, "{{\"id\":{n},\"text\":\"{}\"}}", text(n)).unwrap());
        }
        "csv" => {
            for part in 0..4 {
                let file = std::fs::File::create(folder.join(format!("part-{part}.csv"))).unwrap();
                let mut out = BufWriter::new(file);
                writeln!(out, "id,text").unwrap();
                (part * rows / 4..(part + 1) * rows / 4)
                    .for_each(|n| writeln!(out, "{n},{}", text(n)).unwrap());
            }
        }
        "delta" => {
            let table = folder.join("delta");
            std::fs::create_dir_all(table.join("_delta_log")).unwrap();
            let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"text\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}"#;
            let mut log = format!(
                "{{\"protocol\":{{\"minReaderVersion\":1,\"minWriterVersion\":2}}}}\n{{\"metaData\":{{\"id\":\"x\",\
                 \"format\":{{\"provider\":\"parquet\",\"options\":{{}}}},\"schemaString\":\"{schema}\",\
                 \"partitionColumns\":[],\"configuration\":{{}}}}}}\n"
            );
            for part in 0..4 {
                let path = table.join(format!("{part}.parquet"));
                parquet(&path, part * rows / 2..(part + 1) * rows / 2);
                let bytes = std::fs::metadata(&path).unwrap().len();
                let _ = writeln!(
                    log,
                    "{{\"add\":{{\"path\":\"{part}.parquet\",\"partitionValues\":{{}},\"size\":{bytes},\
                     \"modificationTime\":0,\"dataChange\":true}}}}"
                );
            }
            std::fs::write(table.join("_delta_log/00000000000000000000.json"), log).unwrap();
        }
        _ => {}
    }
}

/// Seconds of processor time that this process used.
fn used() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

/// Bytes of memory that this process has.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// The allocator gives back what lies idle: how much that is depends on which threads met.
fn trim() {
    // SAFETY: malloc_trim(3) takes no pointers.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// How long the query takes that follows.
fn usual(engine: &Engine) -> Duration {
    let begun = Instant::now();
    let sql = "SELECT sum(value), count(DISTINCT value % 1000) FROM range(0, 400000)";
    engine.run(&Task::new(), sql, |_| {}).unwrap();
    begun.elapsed()
}

/// Starts a statement and stops it; nothing where it ended before.
fn stopped(engine: &Engine, sql: &str, after: f64) -> Result<(), f64> {
    let (task, mut shown) = (Task::new(), None);
    let begun = used();
    let ended = std::thread::scope(|scope| {
        let stop = task.clone();
        let shown = &mut shown;
        let work = move || engine.run(&task, sql, |answer| *shown = Some(answer.clone())).map(drop);
        let runs = scope.spawn(work);
        while used() - begun < after && !runs.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.cancel();
        let asked = Instant::now();
        let ended = runs.join().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?} until it said so", asked.elapsed());
        ended
    });
    match ended {
        Ok(()) => return Err(used() - begun),
        Err(failure) => assert!(Error::from(failure).is_cancelled(), "a stop is no failure"),
    }
    // As the window does: what is there of the result stays on screen.
    let answer = shown.expect("it began");
    assert!(answer.ended().is_some_and(|end| end.is_err_and(|error| error.is_cancelled())));
    idle_soon();
    drop(answer);
    Ok(())
}

/// Starts a statement and drops what it gives, as a closed tab does; nothing where it ended before.
fn closed(engine: &Engine, sql: &str, after: f64) -> Result<(), f64> {
    let answer = engine.start(&Task::new(), sql).unwrap();
    let begun = used();
    while used() - begun < after && answer.ended().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    if answer.ended().is_some() {
        return Err(used() - begun);
    }
    drop(answer);
    idle_soon();
    Ok(())
}

/// The process works no more, soon after now.
fn idle_soon() {
    let (begun, at_stop) = (Instant::now(), used());
    let mut last = at_stop;
    let mut busy = Duration::ZERO;
    while begun.elapsed() < 2 * SOON && begun.elapsed() < busy + Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(100));
        let now = used();
        if now - last > IDLE * 0.1 + 0.01 {
            busy = begun.elapsed();
        }
        last = now;
    }
    println!("    idle after {:.1} s, {:.2} s of processor time", busy.as_secs_f64(), last - at_stop);
    assert!(busy <= SOON + Duration::from_millis(50), "the process works on for {busy:?}");
}

/// One kind, as the only thing that its process does.
fn one(kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    make(kind, folder.path());
    let (_, sql) = KINDS.iter().find(|(name, _)| *name == kind).unwrap();
    let sql = sql.replace("DIR", folder.path().to_str().unwrap());
    let settings = Settings { memory: 256 << 20, threads: 2, ..Settings::default() };
    let engine = Engine::new(settings, Vec::new());
    let usual_time = (0..5).map(|_| usual(&engine)).min().unwrap();
    for round in 0..number("GANDER_STOP_TIMES", 2) {
        let mut after = number("GANDER_STOP_AFTER", STOP as usize) as f64;
        let ends = if round % 2 == 0 { stopped } else { closed };
        while let Err(took) = ends(&engine, &sql, after) {
            assert!(took > 0.06, "{kind} takes {took} s only");
            after = took / 3.0;
        }
        let next = usual(&engine);
        assert!(next < usual_time * 4 + Duration::from_millis(300), "{next:?} instead of {usual_time:?}");
        let begun = Instant::now();
        while memory() > MEMORY && begun.elapsed() < Duration::from_secs(4) {
            trim();
            std::thread::sleep(Duration::from_millis(50));
        }
        println!(
            "{kind} {round}: next query {:.0} ms (usually {:.0}), memory {} MB after {:.1} s more",
            next.as_secs_f64() * 1e3,
            usual_time.as_secs_f64() * 1e3,
            memory() >> 20,
            begun.elapsed().as_secs_f64()
        );
        assert!(memory() <= MEMORY, "{kind} keeps {} MB", memory() >> 20);
    }
    // The folder of a query goes with its threads, which end by themselves.
    let left = || -> Vec<PathBuf> {
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        all.map(|entry| entry.path()).filter(|path| is_spilled(path)).collect()
    };
    let begun = Instant::now();
    while !left().is_empty() && begun.elapsed() < Duration::from_secs(4) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = left();
    assert!(left.is_empty(), "temporary files are left: {left:?}");
}

/// What a process has beside its results: the program itself, caches of decoded blocks.
const MEMORY: u64 = 300 << 20;

fn is_spilled(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gander-query-"))
}

/// The name of the kind in a process that this test started.
const KIND: &str = "GANDER_STOP_KIND";

#[test]
fn a_stopped_query_stops() {
    if let Ok(kind) = std::env::var(KIND) {
        one(&kind);
        return;
    }
    let only = std::env::var("GANDER_STOP_ONLY").unwrap_or_default();
    let mut failed = Vec::new();
    for (kind, _) in KINDS.iter().filter(|(kind, _)| only.is_empty() || only.split(',').any(|o| o == *kind)) {
        let folder = tempfile::tempdir().unwrap();
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stops::a_stopped_query_stops", "--nocapture", "--test-threads=1"])
            .env(KIND, kind)
            .env("TMPDIR", folder.path())
            .output()
            .unwrap();
        let lines = String::from_utf8_lossy(&out.stdout);
        lines
            .lines()
            .filter(|line| line.contains(" ms (") || line.contains("idle"))
            .for_each(|l| println!("{l}"));
        if !out.status.success() {
            failed.push(format!("{kind}:\n{lines}{}", String::from_utf8_lossy(&out.stderr)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn an_interrupt_ends_the_command_and_leaves_nothing_behind() {
    for kind in ["nothing", "sort", "recursion"] {
        let folder = tempfile::tempdir().unwrap();
        let (_, sql) = KINDS.iter().find(|(name, _)| *name == kind).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gander"));
        command.args(["query", sql, "--memory", "256"]).env("TMPDIR", folder.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(3));
        assert!(child.try_wait().unwrap().is_none(), "{kind} ended before");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let asked = Instant::now();
        let status = child.wait().unwrap();
        let took = asked.elapsed();
        println!("{kind}: {status} after {:.2} s", took.as_secs_f64());
        assert!(took < Duration::from_secs(4), "{kind}: {took:?}");
        assert_eq!(status.code(), Some(130), "as a shell says it of an interrupted command");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "{kind} leaves {left:?}");
    }
}
