//! What stays in memory: many open tables share one budget of decoded bytes, and of a folder of many files few are opened
//! before somebody reads their rows.
//!
//! The budget is tried in a process of its own, since it is the process' own: the test starts itself again. What
//! `benches/README.md` says of memory is measured by it, too: `GANDER_MEMORY_FILES` names a folder whose files are opened
//! instead of those that are made here, `GANDER_MEMORY_TABLES` says how many tables are open at once,
//! `GANDER_MEMORY_STOPS` at how many places each is read and `GANDER_MEMORY_MEGABYTES` what they may keep; `cargo test --test main memory -- --nocapture` prints what was measured.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use gander::bytes::cache::DECODED;
use gander::data::content::{Rows, Table};
use gander::data::format::Options;
use gander::data::open::table_of;
use gander::{Document, Task};
use parquet::arrow::ArrowWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Set in a process that this test started.
const CHILD: &str = "GANDER_MEMORY_CHILD";
/// What a process has beside what it keeps: the program itself, what one read works with.
const BESIDE: usize = 300 << 20;
/// The same of a process that only reads.
const READER: usize = 32 << 20;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The memory of those that read for this process, without what is mapped of the program and of files, in bytes.
fn readers() -> usize {
    #[cfg(target_os = "linux")]
    return gander::worker::processes().iter().map(|id| memory(&id.to_string(), "RssAnon:")).sum();
    #[cfg(not(target_os = "linux"))]
    0
}

/// The memory of a process, mapped files included, in bytes.
fn resident(process: &str) -> usize {
    memory(process, "VmRSS:")
}

/// What the system says of a process under this name, in bytes.
pub(crate) fn memory(process: &str, what: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() << 10
}

/// Rows of numbers and texts from `first` on.
fn rows(first: i64, count: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((first..first + count).map(|n| n * 7_919)));
    let texts = (first..first + count).map(|n| format!("row {n} of the table {}", n % 1_013));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap()
}

fn parquet(first: i64, count: i64) -> Vec<u8> {
    let batch = rows(first, count);
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A Parquet file and an Arrow file with compressed buffers, of a few megabytes each once they are decoded.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (one, other) = (folder.join("a.parquet"), folder.join("b.arrow"));
    std::fs::write(&one, parquet(0, 100_000)).unwrap();
    let batches = [rows(0, 50_000), rows(50_000, 50_000)];
    let options = arrow::ipc::writer::IpcWriteOptions::default()
        .try_with_compression(Some(arrow::ipc::CompressionType::LZ4_FRAME))
        .unwrap();
    let file = std::fs::File::create(&other).unwrap();
    let mut writer =
        arrow::ipc::writer::FileWriter::try_new_with_options(file, &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    vec![one, other]
}

/// Opens tables and scrolls through all of them, twice; `apart`, where each is read in a process of its own.
fn scroll(apart: bool) {
    let made = tempfile::tempdir().unwrap();
    let files = match std::env::var_os("GANDER_MEMORY_FILES") {
        Some(folder) => std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect(),
        None => files(made.path()),
    };
    let most = number("GANDER_MEMORY_MEGABYTES", 24) * 1_000_000;
    DECODED.allow(most);
    #[cfg(target_os = "linux")]
    if apart {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_gander"));
        gander::worker::isolate(gander::worker::Limits { program, ..Default::default() });
    }
    let task = Task::new();
    let open = |path: &PathBuf| gander::open(&task, path, &Options::default()).unwrap();
    let (count, stops) = (number("GANDER_MEMORY_TABLES", 16), number("GANDER_MEMORY_STOPS", 20) as u64);
    let documents: Vec<Document> = files.iter().cycle().take(count).map(open).collect();
    let tables: Vec<Arc<dyn Table>> = documents.iter().map(|document| table_of(document).unwrap()).collect();
    let (mut peak, mut kept, mut slowest) = (0, 0, 0.0f64);
    for _ in 0..2 {
        for stop in 0..stops {
            for table in &tables {
                let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
                let at = table.count(&task).unwrap() * stop / stops;
                let begun = Instant::now();
                let read = table.read(&task, at..at + 100, &columns).unwrap();
                slowest = slowest.max(begun.elapsed().as_secs_f64());
                assert!(read.num_rows() > 0);
                // Other processes give back a moment later.
                let begun = Instant::now();
                while apart && used() > most && begun.elapsed() < Duration::from_secs(10) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                assert!(used() <= most, "{} of {most} bytes", used());
                kept = kept.max(used());
            }
            peak = peak.max(resident("self") + readers());
        }
    }
    println!(
        "{count} tables: at most {} MB kept of {}, resident {} MB, slowest read {:.0} ms",
        kept / 1_000_000,
        most / 1_000_000,
        peak / 1_000_000,
        slowest * 1e3
    );
    assert!(kept > most / 2, "{kept} bytes: the budget was never needed");
    let beside = if apart { count * READER } else { BESIDE };
    assert!(peak < most + beside, "{} MB are resident", peak >> 20);
    drop((tables, documents));
    let begun = Instant::now();
    while apart && used() > 0 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(used(), 0, "what closed tables keep");
}

/// What is kept of decoded bytes, here and in the processes that read.
fn used() -> usize {
    #[cfg(target_os = "linux")]
    return DECODED.used() + gander::worker::kept() as usize;
    #[cfg(not(target_os = "linux"))]
    DECODED.used()
}

#[test]
fn many_tables_share_one_budget() {
    in_a_process_of_its_own("many_tables_share_one_budget", || scroll(false));
}

#[cfg(target_os = "linux")]
#[test]
fn processes_that_read_share_one_budget() {
    in_a_process_of_its_own("processes_that_read_share_one_budget", || scroll(true));
}

fn in_a_process_of_its_own(test: &str, work: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return work();
    }
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("memory::{test}"), "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&out.stdout);
    lines.lines().filter(|line| line.contains(" tables: ")).for_each(|line| println!("{line}"));
    assert!(out.status.success(), "{lines}{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn of_a_folder_of_many_files_few_are_opened_for_the_first_rows() {
    let folder = tempfile::tempdir().unwrap();
    let good = parquet(0, 5);
    for n in 0..2_000 {
        // Whoever opens these finds that they are no Parquet files.
        let bytes: &[u8] = if (33..=91).contains(&n) { b"PAR1 cut off" } else { &good };
        std::fs::write(folder.path().join(format!("part-{n:04}.parquet")), bytes).unwrap();
    }
    let task = Task::new();
    let document = gander::open(&task, folder.path(), &Options::default()).unwrap();
    let remarks = document.root.remarks.join("\n");
    assert!(!remarks.contains("left out"), "{remarks}");
    assert!(remarks.contains("64 of the 2,000 files"), "{remarks}");
    let table = table_of(&document).unwrap();
    assert_eq!(table.rows(), Rows::AtLeast(32 * 5));
    assert_eq!(table.read(&task, 0..100, &[0, 1]).unwrap().num_rows(), 100);
    assert_eq!(table.rows(), Rows::AtLeast(32 * 5), "no more files were opened");
    // What they are comes out where all are asked for.
    table.read_headers(&task, 10_000).unwrap();
    assert_eq!(table.rows(), Rows::Exact((2_000 - 59) * 5));
    let details = table.facts().details;
    assert!(details.contains(&("parts left out".to_owned(), "59".to_owned())), "{details:?}");
    let last = table.read(&task, 1_940 * 5..1_941 * 5, &[0]).unwrap();
    assert_eq!(last.num_rows(), 5);
}
