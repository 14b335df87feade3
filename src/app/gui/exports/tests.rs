//! The queue with work that ends when a test says so.

use std::sync::atomic::{AtomicBool, Ordering};

use gander::convert::Target as FileType;
use gander::data::format::Options;

use super::batch::Counts;
use super::*;

/// Lets work go that waits for it.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Work that ends when the gate is open or it is cancelled.
    fn work(&self) -> Work {
        let gate = self.0.clone();
        Box::new(move |task| {
            task.set_total(4);
            task.advance(1)?;
            while !gate.load(Ordering::Relaxed) {
                task.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(ExportOutcome { bytes: 10, rows: Some(2), ..ExportOutcome::default() })
        })
    }
}

fn exports() -> Exports {
    Exports::new(&Jobs::new(|| {}))
}

fn add(exports: &Exports, name: &str, work: Work) -> u64 {
    exports.add(PathBuf::from(name), None, work)
}

/// What the states of all of them are called.
fn states(exports: &Exports) -> Vec<&'static str> {
    let name = |entry: &Entry| match &entry.state {
        State::Waiting => "waiting",
        State::Running(..) if entry.is_stopping() => "stopping",
        State::Running(..) => "running",
        State::Done(_) => "done",
        State::Failed(_) => "failed",
        State::Cancelled => "cancelled",
    };
    exports.list().iter().map(name).collect()
}

#[track_caller]
fn until(exports: &Exports, wanted: &[&str]) {
    for _ in 0..2_000 {
        if states(exports) == wanted {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{:?} never became {wanted:?}", states(exports));
}

#[test]
fn two_run_at_a_time_and_those_after_them_in_order() {
    let exports = exports();
    let gates: Vec<Gate> = (0..4).map(|_| Gate::default()).collect();
    for (n, gate) in gates.iter().enumerate() {
        add(&exports, &format!("{n}.csv"), gate.work());
    }
    assert_eq!(states(&exports), ["running", "running", "waiting", "waiting"]);
    // A long one holds up nobody as long as the other place is free.
    gates[1].open();
    until(&exports, &["running", "done", "running", "waiting"]);
    gates[2].open();
    until(&exports, &["running", "done", "done", "running"]);
    gates[3].open();
    gates[0].open();
    until(&exports, &["done", "done", "done", "done"]);
    assert!(!exports.is_busy());
    let State::Done(written) = &exports.list()[0].state else { panic!("it was not written") };
    assert_eq!(written.words(), "Written, not verified: 10 B · 2 rows");
}

#[test]
fn one_that_waits_may_be_started_by_hand() {
    let exports = exports();
    let gate = Gate::default();
    let ids: Vec<u64> = (0..3).map(|n| add(&exports, &format!("{n}.csv"), gate.work())).collect();
    assert_eq!(states(&exports), ["running", "running", "waiting"]);
    exports.start_now(ids[2]);
    until(&exports, &["running", "running", "running"]);
    gate.open();
    until(&exports, &["done", "done", "done"]);
}

#[test]
fn what_is_cancelled_says_so_and_makes_room() {
    let exports = exports();
    let (deaf, gate, begun) = (Gate::default(), Gate::default(), Arc::new(AtomicBool::new(false)));
    // Work that does not look up until its gate is open, as a slow read does.
    let hears = deaf.0.clone();
    let slow: Work = Box::new(move |task| {
        while !hears.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        task.check()?;
        Ok(ExportOutcome::default())
    });
    let first = add(&exports, "slow.csv", slow);
    add(&exports, "long.csv", gate.work());
    let seen = begun.clone();
    let third = add(
        &exports,
        "never.csv",
        Box::new(move |_| {
            seen.store(true, Ordering::Relaxed);
            Ok(ExportOutcome::default())
        }),
    );
    add(&exports, "next.csv", gate.work());
    exports.cancel(third);
    assert_eq!(states(&exports), ["running", "running", "cancelled", "waiting"]);
    // The place of one that is stopping is free, but it has not ended before its job has.
    exports.cancel(first);
    assert_eq!(states(&exports), ["stopping", "running", "cancelled", "running"]);
    deaf.open();
    until(&exports, &["cancelled", "running", "cancelled", "running"]);
    gate.open();
    until(&exports, &["cancelled", "done", "cancelled", "done"]);
    assert!(!begun.load(Ordering::Relaxed), "what was cancelled before its turn never begins");
    let cancelled = exports.get(first).unwrap();
    assert!(!cancelled.is_bad() && cancelled.words().starts_with("Cancelled"), "{}", cancelled.words());
}

#[test]
fn what_fails_or_panics_holds_up_nobody() {
    let exports = exports();
    let failed = add(&exports, "a.csv", Box::new(|_| Err(Error::io("the disk is full"))));
    add(&exports, "b.csv", Box::new(|_| panic!("boom")));
    let gate = Gate::default();
    gate.open();
    add(&exports, "c.csv", gate.work());
    until(&exports, &["failed", "failed", "done"]);
    assert_eq!(exports.get(failed).unwrap().words(), "the disk is full");
    assert!(exports.list()[1].words().contains("boom"));
}

#[test]
fn the_end_of_the_window_ends_them() {
    let jobs = Jobs::new(|| {});
    let exports = Exports::new(&jobs);
    let never = Gate::default();
    for n in 0..3 {
        add(&exports, &format!("{n}.csv"), never.work());
    }
    exports.end_all(Duration::from_secs(10));
    assert_eq!(states(&exports), ["cancelled", "cancelled", "cancelled"]);
    for n in 0..3 {
        add(&exports, &format!("{n}.csv"), never.work());
    }
    drop(exports);
    for _ in 0..2_000 {
        if jobs.list().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("jobs outlive the window");
}

#[test]
fn the_list_forgets_the_oldest_that_have_ended() {
    let exports = exports();
    let (open, never) = (Gate::default(), Gate::default());
    open.open();
    let long = add(&exports, "long.csv", never.work());
    for n in 0..KEPT + 5 {
        let id = add(&exports, &format!("{n}.csv"), open.work());
        while !exports.get(id).unwrap().state.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(exports.list().len() <= KEPT + 2);
    assert!(exports.is_target(Path::new("long.csv")) && !exports.is_target(Path::new("3.csv")));
    exports.remove(long);
    exports.clear();
    assert_eq!(states(&exports), ["running"], "neither takes away what runs");
}

#[test]
fn a_summary_says_what_is_new() {
    let exports = exports();
    assert_eq!(exports.summary(), None);
    let said = || exports.summary().map(|summary| (summary.words, summary.tone)).unwrap();
    let gates: Vec<Gate> = (0..3).map(|_| Gate::default()).collect();
    add(&exports, "out/a.csv", gates[0].work());
    while exports.summary().unwrap().fraction.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(said(), ("Exporting a.csv 25 %".to_owned(), Tone::Busy));
    add(&exports, "out/b.csv", gates[1].work());
    add(&exports, "out/c.csv", gates[2].work());
    assert_eq!(said(), ("2 exports · a.csv 25 % · 1 waiting".to_owned(), Tone::Busy));
    gates.iter().for_each(Gate::open);
    until(&exports, &["done", "done", "done"]);
    assert_eq!(said(), ("3 exports have ended".to_owned(), Tone::Good));
    exports.mark(|_| true);
    assert_eq!(said(), ("3 exports".to_owned(), Tone::Calm));
    let failed = add(&exports, "out/d.csv", Box::new(|_| Err(Error::io("no"))));
    until(&exports, &["done", "done", "done", "failed"]);
    assert_eq!(said(), ("Export failed: d.csv".to_owned(), Tone::Bad));
    exports.mark_seen(failed);
    assert_eq!(said().1, Tone::Calm);
    let never = Gate::default();
    let stopped = add(&exports, "out/e.csv", never.work());
    exports.cancel(stopped);
    until(&exports, &["done", "done", "done", "failed", "cancelled"]);
    assert_eq!(said(), ("Cancelled: e.csv".to_owned(), Tone::Calm));
    assert_eq!(short("a_rather_long_name_of_a_file_that_nobody_reads.parquet").chars().count(), NAME);
}

#[test]
fn a_window_closes_when_its_exports_have_ended() {
    let ctx = egui::Context::default();
    let shown = |leave: &mut Leave, exports: &Exports| {
        let mut close = false;
        ctx.run_ui(egui::RawInput::default(), |ui| close |= leave.ui(ui.ctx(), exports))
            .textures_delta
            .clear();
        close
    };
    let exports = exports();
    let mut leave = Leave::default();
    assert!(leave.may_close(&exports) && !leave.is_open());
    let gate = Gate::default();
    let first = add(&exports, "a.csv", gate.work());
    assert!(!leave.may_close(&exports) && leave == Leave::Asks);
    leave = Leave::Waits(vec![first]);
    assert!(!leave.may_close(&exports) && leave == Leave::Waits(vec![first]), "it is asked once");
    assert!(!shown(&mut leave, &exports) && leave.is_open());
    gate.open();
    until(&exports, &["done"]);
    assert!(shown(&mut leave, &exports) && leave.may_close(&exports));
    // One that failed keeps the window open for once, also where its dialog says so already.
    let failed = add(&exports, "b.csv", Box::new(|_| Err(Error::io("no"))));
    until(&exports, &["done", "failed"]);
    exports.mark_seen(failed);
    leave = Leave::Waits(vec![failed]);
    assert!(!shown(&mut leave, &exports) && leave == Leave::Stay);
    assert!(leave.may_close(&exports));
    // What failed before it was waited for does not.
    leave = Leave::Waits(vec![first]);
    assert!(shown(&mut leave, &exports));
}

#[test]
fn a_file_that_fails_does_not_stop_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.csv", "b.parquet", "c.csv"].map(|name| folder.path().join(name));
    std::fs::write(&files[0], "x,y\n1,2\n").unwrap();
    std::fs::write(&files[1], "PAR1 and no more than that PAR1").unwrap();
    std::fs::write(&files[2], "x,y\n3,4\n").unwrap();
    let exports = exports();
    let (id, progress) = exports.convert(Conversion {
        files: files.into(),
        file_type: FileType::by_id("jsonl").unwrap(),
        options: Options::default(),
        folder: folder.path().to_owned(),
        consent: Consent::default(),
        verify: None,
    });
    until(&exports, &["done"]);
    assert_eq!(progress.counts(), Counts { all: 3, written: 2, failed: 1 });
    assert_eq!(std::fs::read_to_string(folder.path().join("a.jsonl")).unwrap(), "{\"x\":1,\"y\":2}\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("c.jsonl")).unwrap(), "{\"x\":3,\"y\":4}\n");
    assert!(matches!(progress.line(1), Line::Failed(why) if why.contains("malformed")));
    let entry = exports.get(id).unwrap();
    assert!(entry.is_bad() && entry.name() == "3 files");
    let summary = exports.summary().unwrap();
    assert_eq!(summary.words, "2 of 3 were written, 1 failed");
    assert_eq!(summary.tone, Tone::Bad);
}
