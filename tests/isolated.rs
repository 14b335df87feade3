//! Readers in processes of their own: what they say is what readers say here, and whatever they do ends there.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Fields};
use gander::bytes::error::ErrorKind;
use gander::data::content::{Content, Kind, Rect};
use gander::data::format::Options;
use gander::data::node::Node;
use gander::data::open::walk;
use gander::data::region::{Region, Span};
use gander::data::stats::tensor::tensor;
use gander::data::stats::{self, Binning, summary};
use gander::worker::{self, Limits};
use gander::{Document, Error, Task};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nodes of a document that are compared.
const NODES: usize = 60;

fn limits() -> Limits {
    Limits { program: PathBuf::from(env!("CARGO_BIN_EXE_gander")), ..Limits::default() }
}

/// The fixtures of all formats, each with the folder of its format.
fn fixtures() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut out = Vec::new();
    for format in gander::formats::FORMATS {
        let folder = root.join(format.id);
        for inside in ["", "malformed"] {
            let Ok(entries) = std::fs::read_dir(folder.join(inside)) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !name.ends_with(".py") && !matches!(&*name, "malformed" | "golden.txt" | "__pycache__") {
                    out.push((folder.clone(), path));
                }
            }
        }
    }
    out.sort();
    out
}

/// The fields of a schema, without what is only the writer's: numbers of dictionaries, the order of metadata.
fn fields(list: &Fields) -> String {
    let one = |field: &FieldRef| {
        let metadata: BTreeMap<_, _> = field.metadata().iter().collect();
        let inner = match field.data_type() {
            DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
                format!("list of {}", fields(&Fields::from(vec![inner.clone()])))
            }
            DataType::Struct(inner) => format!("struct {}", fields(inner)),
            DataType::Map(inner, _) => format!("map {}", fields(&Fields::from(vec![inner.clone()]))),
            other => format!("{other:?}"),
        };
        format!("{:?} {inner} {} {metadata:?}", field.name(), field.is_nullable())
    };
    list.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A batch, column by column.
fn batch(batch: RecordBatch) -> (String, Vec<ArrayRef>, usize) {
    (fields(batch.schema().fields()), batch.columns().to_vec(), batch.num_rows())
}

fn said<T: std::fmt::Debug>(out: &mut String, what: &str, result: Result<T, Error>) {
    let _ = match result {
        Ok(value) => writeln!(out, "  {what}: {value:?}"),
        Err(error) => writeln!(out, "  {what}: {error:?}"),
    };
}

/// What is in a node, its first values, and where they lie.
fn content(task: &Task, content: &Content, out: &mut String) {
    match content {
        Content::Table(table) => {
            let columns = table.schema().fields().len();
            let inferred: Vec<_> = (0..columns).map(|n| table.inferred(n)).collect();
            let metadata: BTreeMap<_, _> = table.schema().metadata().iter().collect();
            let schema = fields(table.schema().fields());
            let _ = writeln!(out, "  {schema} {metadata:?} {inferred:?} {:?}", table.facts());
            let all: Vec<usize> = (0..columns).collect();
            said(out, "rows", table.read(task, 0..3, &all).map(batch));
            said(out, "count", table.count(task));
            said(out, "tail", table.tail(task, 2, &all).map(|(first, rows)| (first, batch(rows))));
            said(out, "place", table.location(task, 0, 0).map(|place| place.map(|place| place.range)));
            let _ = writeln!(out, "  {:?} {:?}", table.layout(), table.statistics(0));
            said(out, "ranges", table.row_ranges(task, &all, &[]));
        }
        Content::Array(array) => {
            let mut facts = array.facts();
            facts.world = None;
            let _ = writeln!(out, "  {:?} {:?} {facts:?}", array.dtype(), array.shape());
            let first = Region(array.shape().iter().map(|len| Span::range(0, (*len).min(3))).collect());
            said(out, "elements", gander::data::content::array::read_lenient(array.as_ref(), task, &first));
            said(out, "column", array.column(task, &first));
            said(out, "layout", array.layout(task));
            said(out, "stored", array.stored(task));
            let index = vec![0; array.shape().len()];
            if !array.shape().contains(&0) {
                said(out, "place", array.location(task, &index).map(|place| place.map(|place| place.range)));
            }
            if let Some(quantised) = array.quantised() {
                said(out, "quants", quantised.quants(task, &first));
            }
        }
        Content::Image(image) => {
            let _ = writeln!(out, "  {:?}", image.info());
            let rect = Rect { x: 0, y: 0, width: 8, height: 8 };
            said(out, "pixels", image.read(task, 0, 0, rect));
            said(out, "stored", image.stored(task, 0, rect));
        }
        Content::Text(text) => {
            let _ = writeln!(out, "  {} {:?}", text.encoding(), text.lines());
            said(out, "lines", text.read(task, 0..4));
            said(out, "count", text.count(task));
            let mut last = None;
            said(
                out,
                "each",
                text.each(task, 1, 64, &mut |n, line| {
                    last = Some((n, line));
                    Ok(n < 9_000)
                }),
            );
            let _ = writeln!(out, "  {last:?}");
        }
        Content::Graph(graph) => {
            // Bodies may be shared, so that all of them would be more than there is room for.
            let nodes: Vec<_> = graph.nodes().iter().take(50).collect();
            let heads = nodes
                .iter()
                .map(|node| (&node.name, &node.operator, &node.inputs, &node.outputs, &node.attributes));
            let bodies =
                nodes.iter().flat_map(|node| &node.subgraphs).map(|(name, body)| (name, body.operators()));
            let edges: Vec<_> = graph.edges().take(200).collect();
            let _ = writeln!(
                out,
                "  {} {:?} {:?} {:?}",
                graph.name,
                graph.inputs,
                graph.outputs,
                graph.operators()
            );
            let _ =
                writeln!(out, "  {:?} {:?} {edges:?}", heads.collect::<Vec<_>>(), bodies.collect::<Vec<_>>());
            let _ = writeln!(out, "  {:?}", graph.values().iter().take(100).collect::<Vec<_>>());
        }
        Content::Bytes(source) => {
            let _ = writeln!(out, "  {} {:?}", source.name(), source.known_len());
            said(out, "bytes", source.read_up_to(task, 0, 64));
            said(out, "length", source.len(task));
        }
    }
}

/// What a document says, and the first values of its first nodes.
fn described(task: &Task, opened: Result<Document, Error>) -> String {
    let mut out = String::new();
    let document = match opened {
        Ok(document) => document,
        Err(error) => return format!("{error:?}"),
    };
    let _ = writeln!(
        out,
        "{} {:?} {} {:?}",
        document.format.id, document.remarks, document.broken_promise, document.options
    );
    let mut seen = 0;
    let mut visit = |node: &Arc<Node>, path: &str, _: usize| {
        seen += 1;
        let attributes: Vec<_> = node.shown_attributes().collect();
        let _ = writeln!(
            out,
            "{path} {} {:?} {:?} {:?} {:?} {attributes:?} {:?} {:?} {:?} {:?}",
            node.label,
            node.type_name,
            node.length,
            node.value,
            node.scalar,
            node.attribute_types,
            node.span,
            node.presentation,
            node.start
        );
        if let Some(inner) = &node.content {
            content(task, inner, &mut out);
        }
        if let Some(places) = &node.places {
            said(&mut out, "location", places.location(task).map(|place| place.map(|place| place.range)));
        }
        if let Some(timeline) = &node.timeline {
            let name = timeline.versions.count().checked_sub(1).map(|n| timeline.versions.name(n));
            let _ = writeln!(out, "  {:?} {name:?}", timeline.versions.current());
            said(&mut out, "first", timeline.versions.about(task, 0));
        }
        if let Some(findings) = &node.findings {
            said(&mut out, "finish", findings.finish(task));
        }
        let _ = writeln!(
            out,
            "  {:?} {:?} {:?}",
            node.problem_now(),
            node.remarks_now(),
            node.security_now().map(|r| r.json())
        );
        Ok(seen < NODES)
    };
    let walked = walk(task, &document.root, "", 6, &mut visit);
    said(&mut out, "walk", walked);
    out
}

/// A number as far as the order of its sums does not matter.
fn about(number: Option<f64>) -> String {
    number.map_or("none".to_owned(), |number| format!("{number:.6e}"))
}

/// What passes over all of a table or an array tell.
fn passes(task: &Task, content: &Content, out: &mut String) {
    match content {
        Content::Table(table) => {
            let all: Vec<usize> = (0..table.schema().fields().len()).collect();
            let found = stats::table(table.as_ref(), task, &all);
            let histograms = found
                .as_ref()
                .map_err(Error::clone)
                .and_then(|found| stats::histograms(table.as_ref(), task, &all, found, Binning::AtMost(7)));
            said(out, "histograms", histograms);
            let one = |column: Result<stats::ColumnStats, Error>| {
                column
                    .map(|c| (c.name, c.nulls, c.nan, c.inf, c.min, c.max, c.distinct, c.unfit, about(c.sum)))
            };
            said(
                out,
                "stats",
                found.map(|all| (all.rows, all.columns.into_iter().map(one).collect::<Vec<_>>())),
            );
            for exact in [false, true] {
                let found = match exact {
                    true => summary::exact(table.as_ref(), task, &all),
                    false => summary::sampled(table.as_ref(), task, &all),
                };
                let one = |column: Result<summary::Summary, Error>| {
                    column.map(|c| {
                        (
                            c.nulls,
                            c.zeros,
                            c.min,
                            c.max,
                            c.top,
                            c.distinct,
                            c.lengths,
                            c.same_as,
                            about(c.std),
                        )
                    })
                };
                said(
                    out,
                    "summary",
                    found.map(|all| (all.depth, all.columns.into_iter().map(one).collect::<Vec<_>>())),
                );
            }
        }
        Content::Array(array) => {
            let found = stats::readable(array.as_ref(), task, Some(7));
            let found = found.map(|a| {
                (a.count, a.nan, a.zeros, a.min, a.max, a.crc32, about(a.std), a.histogram.map(|h| h.counts))
            });
            said(out, "stats", found);
            // Elements that are not stored are gone through, too.
            let elements = array.shape().iter().try_fold(1u64, |product, side| product.checked_mul(*side));
            if elements.is_none_or(|elements| elements > 1 << 20) {
                return;
            }
            said(
                out,
                "tensor",
                tensor(array.as_ref(), task).map(|t| (t.count, t.zeros, t.min, t.max, t.hash, about(t.norm))),
            );
        }
        _ => {}
    }
}

/// The first line that is another one.
fn difference(here: &str, there: &str) -> String {
    let at = here.lines().zip(there.lines()).position(|(a, b)| a != b);
    let at = at.unwrap_or_else(|| here.lines().count().min(there.lines().count()));
    let line = |text: &str| text.lines().nth(at).map(|line| line.chars().take(600).collect::<String>());
    format!("line {at}:\n  here  {:?}\n  there {:?}", line(here), line(there))
}

#[test]
fn every_fixture_says_there_what_it_says_here() {
    let task = Task::new();
    let only = std::env::var("GANDER_FIXTURES").unwrap_or_default();
    let cases: Vec<_> =
        fixtures().into_iter().filter(|(_, path)| path.to_string_lossy().contains(&only)).collect();
    let wrong: Vec<String> = cases
        .par_iter()
        .filter_map(|(folder, path)| {
            let here = described(&task, gander::open(&task, path, &Options::default()));
            // Some name files beside their folder.
            let limits = Limits { reads: vec![folder.clone()], ..limits() };
            let there = described(&task, worker::open(&task, path, &Options::default(), &limits));
            (here != there).then(|| format!("{}, {}", path.display(), difference(&here, &there)))
        })
        .collect();
    assert!(cases.len() > 1 && wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn passes_tell_there_what_they_tell_here() {
    let task = Task::new();
    let told = |opened: Result<Document, Error>| {
        let mut out = String::new();
        let Ok(document) = opened else { return out };
        let mut seen = 0;
        let walked = walk(&task, &document.root, "", 6, &mut |node: &Arc<Node>, path: &str, _: usize| {
            seen += 1;
            let _ = writeln!(out, "{path}");
            node.content.iter().for_each(|content| passes(&task, content, &mut out));
            Ok(seen < 12)
        });
        said(&mut out, "walk", walked);
        out
    };
    // Rows and elements of which statistics are made in a moment.
    let is_small = |path: &Path| path.metadata().is_ok_and(|about| about.is_file() && about.len() < 200_000);
    let cases: Vec<_> = fixtures().into_iter().filter(|(_, path)| is_small(path)).collect();
    let wrong: Vec<String> = cases
        .par_iter()
        .filter_map(|(folder, path)| {
            let here = told(gander::open(&task, path, &Options::default()));
            let limits = Limits { reads: vec![folder.clone()], ..limits() };
            let there = told(worker::open(&task, path, &Options::default(), &limits));
            (here != there).then(|| format!("{}, {}", path.display(), difference(&here, &there)))
        })
        .collect();
    assert!(
        cases.len() > 500 && wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// A small file in a folder of its own, with another one beside it.
fn small(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("victim"), b"whole").unwrap();
    let path = folder.join("small.csv");
    std::fs::write(&path, b"a,b\n1,2\n3,4\n").unwrap();
    path
}

fn misbehaving(how: &str) -> Options {
    let mut options = Options::default();
    options.set("misbehave", how);
    options
}

/// The processes that this one has started and not waited for.
fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let list = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    list.map(|line| line.split_whitespace().count()).sum()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether a misbehaving reader never ends by itself.
fn is_endless(how: &str) -> bool {
    ["loop", "sleep"].contains(&how)
}

/// What a misbehaving reader ends as, at opening and at the first read after it.
fn ends(path: &Path, how: &str, limits: &Limits) -> [Error; 2] {
    let task = Task::new();
    let opened = worker::open(&task, path, &misbehaving(how), limits);
    let opening = opened.map(|document| document.format.id).unwrap_err();
    let later = misbehaving(&format!("later:{how}"));
    let opened = (0..20).find_map(|_| match worker::open(&task, path, &later, limits) {
        Ok(document) => Some(document),
        // A busy machine may not give it a processor in time for its first words.
        Err(error) if is_endless(how) && error.to_string().contains("no sign of progress") => None,
        Err(error) => panic!("{how}: {error}"),
    });
    let later = opened.unwrap();
    let Some(Content::Table(table)) = &later.root.content else { panic!("no table") };
    let reading = table.read(&task, 0..2, &[0]).unwrap_err();
    // It stays closed.
    assert_eq!(table.read(&task, 0..2, &[0]).unwrap_err(), reading);
    [opening, reading]
}

#[test]
fn whatever_a_reader_does_ends_as_an_error() {
    // In a process of its own, whose descriptors and children are those of this test alone.
    if std::env::var_os("GANDER_ALONE").is_none() {
        let name = "isolated::whatever_a_reader_does_ends_as_an_error";
        let alone = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env("GANDER_ALONE", "1")
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&alone.stdout).into_owned() + &String::from_utf8_lossy(&alone.stderr);
        assert!(alone.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    misbehave_in_rounds();
}

fn misbehave_in_rounds() {
    let rounds = std::env::var("GANDER_WORKER_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder.path().join("set"));
    let memory = if rounds > 1 { 256 << 20 } else { 1 << 30 };
    // Only what never ends by itself is ended soon: a busy machine may keep the others from a processor for as long.
    let patient = Limits { silence: Duration::from_secs(10), memory, ..limits() };
    let strict =
        Limits { silence: Duration::from_millis(if rounds > 1 { 300 } else { 1_000 }), ..patient.clone() };
    let kinds = [
        ("abort", "abort"),
        ("exit", "status 3"),
        ("stack", "stack"),
        ("loop", "no sign of progress"),
        ("sleep", "no sign of progress"),
        ("memory", "memory"),
        ("socket", "no reader may do"),
        ("execute", "no reader may do"),
        ("fork", "no reader may do"),
        ("segfault", "segmentation fault"),
    ];
    let before = (children(), descriptors());
    let mut early = None;
    for round in 0..rounds {
        std::thread::scope(|scope| {
            for (how, words) in kinds {
                let (path, limits) = (&path, if is_endless(how) { &strict } else { &patient });
                scope.spawn(move || {
                    let since = Instant::now();
                    for error in ends(path, how, limits) {
                        assert_eq!(error.kind(), ErrorKind::Crashed, "{how}: {error}");
                        assert!(error.to_string().contains(words), "{how}: {error}");
                    }
                    assert!(since.elapsed() < Duration::from_secs(30), "{how} took {:?}", since.elapsed());
                });
            }
        });
        if round % 50 == 49 {
            let memory = crate::memory::memory("self", "RssAnon:");
            let early = *early.get_or_insert(memory);
            let (rounds, children, descriptors) = (round + 1, children(), descriptors());
            println!("{rounds} rounds: {children} children, {descriptors} descriptors, {} kB", memory >> 10);
            assert!(memory < early + (16 << 20), "{early} bytes became {memory}");
        }
        for seed in 0..20 {
            let how = format!("garbage:{}", round * 20 + seed);
            let task = Task::new();
            let opened = worker::open(&task, &path, &misbehaving(&how), &strict);
            let Err(error) = opened else { panic!("{how} was believed") };
            assert!(matches!(error.kind(), ErrorKind::Crashed | ErrorKind::Bug), "{how}: {error:?}");
        }
    }
    // These come once, and some take a while to get where the limit is.
    for (how, kind) in [("write", ErrorKind::Io), ("remove", ErrorKind::Io), ("read", ErrorKind::Io)] {
        let error = worker::open(&Task::new(), &path, &misbehaving(how), &patient).err().unwrap();
        assert_eq!(error.kind(), kind, "{how}: {error}");
    }
    for (how, kind, words) in [
        ("files", ErrorKind::Io, "open files"),
        ("temporary", ErrorKind::Limit, "open and temporary files"),
        ("answer", ErrorKind::Crashed, "the limit is"),
    ] {
        let error = worker::open(&Task::new(), &path, &misbehaving(how), &patient).err().unwrap();
        assert!(error.kind() == kind && error.to_string().contains(words), "{how}: {error:?}");
    }
    what_does_not_stop_is_ended(&path);
    assert_eq!(std::fs::read(path.with_file_name("victim")).unwrap(), b"whole");
    assert!(!Path::new("misbehaved").exists());
    // Those that ended are waited for by a thread of their own.
    let since = Instant::now();
    while (children(), descriptors()) > before && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = (children(), descriptors());
    assert!(after.0 <= before.0 && after.1 <= before.1 + 4, "{before:?} became {after:?}");
    one_death_is_survived(&path);
}

/// A worker that goes on with what was cancelled is ended.
fn what_does_not_stop_is_ended(path: &Path) {
    let before = children();
    let opened = worker::open(&Task::new(), path, &misbehaving("later:loop"), &limits()).unwrap();
    let Some(Content::Table(table)) = &opened.root.content else { panic!("no table") };
    let task = Task::new();
    std::thread::scope(|scope| {
        let read = scope.spawn(|| table.read(&task, 0..2, &[0]));
        std::thread::sleep(Duration::from_millis(100));
        assert!(children() > before);
        task.cancel();
        assert!(read.join().unwrap().unwrap_err().is_cancelled());
    });
    let since = Instant::now();
    while children() > before && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(children() <= before, "{} readers after {:?}", children(), since.elapsed());
}

/// The workers of this process, ended from outside as the system does for want of memory.
fn kill_children() {
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in list.split_whitespace().filter_map(|child| child.parse().ok()) {
            let child = rustix::process::Pid::from_raw(child).unwrap();
            rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        }
    }
}

/// What was made by a worker that died is made again by the next one, however it was come by.
fn one_death_is_survived(path: &Path) {
    let task = Task::new();
    let document = worker::open(&task, path, &Options::default(), &limits()).unwrap();
    let Some(Content::Table(table)) = &document.root.content else { panic!("no table") };
    let whole = table.read(&task, 0..2, &[0, 1]).unwrap();
    kill_children();
    assert_eq!(table.read(&task, 0..2, &[0, 1]).unwrap(), whole);
    // A member of an archive: a child of a page, what it really is, and its content.
    let zip = archive();
    let document = worker::open(&task, &zip, &Options::default(), &limits()).unwrap();
    let members = |root: &Arc<Node>| {
        let page = root.child_page(&task, 0..20).unwrap();
        let each = |node: &Arc<Node>| {
            let mut out = String::new();
            let node = node.resolved(&task).unwrap();
            if let Some(inner) = &node.content {
                content(&task, inner, &mut out);
            }
            (node.name.clone(), out)
        };
        page.iter().map(each).collect::<Vec<_>>()
    };
    let page = document.root.child_page(&task, 0..20).unwrap();
    let before = members(&document.root);
    kill_children();
    let resolved: Vec<String> = page.iter().map(|node| node.resolved(&task).unwrap().name.clone()).collect();
    assert_eq!(resolved, before.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    assert_eq!(members(&document.root), before);
    // The second death closes it.
    kill_children();
    let error = page.iter().find_map(|node| node.resolved(&task).unwrap().problem.clone()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Crashed, "{error}");
    let crash = worker::crash_of(&document.source).unwrap();
    assert_eq!((crash.kind(), crash.what()), (error.kind(), error.what()));
    // Opened anew it is there again.
    let again = worker::open(&task, &zip, &Options::default(), &limits()).unwrap();
    assert_eq!(members(&again.root), before);
    assert!(worker::crash_of(&again.source).is_none());
}

#[test]
fn what_is_cancelled_is_answered_at_once_and_the_next_request_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder.path().join("set"));
    let opened = worker::open(&Task::new(), &path, &misbehaving("later:sleep"), &limits()).unwrap();
    let Some(Content::Table(table)) = opened.root.content.clone() else { panic!("no table") };
    let task = Task::new();
    let stopper = task.clone();
    let waiting = std::thread::scope(|scope| {
        let read = scope.spawn(|| table.read(&task, 0..2, &[0]));
        std::thread::sleep(Duration::from_millis(200));
        let since = Instant::now();
        stopper.cancel();
        let error = read.join().unwrap().unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        since.elapsed()
    });
    assert!(waiting < Duration::from_millis(100), "{waiting:?}");
}

#[test]
fn a_file_outside_of_the_folder_is_refused_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set");
    small(&set);
    let list = set.join("annotations");
    std::fs::create_dir(&list).unwrap();
    let path = list.join("instances.json");
    std::fs::create_dir(set.join("images")).unwrap();
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/png/rgb8.png"),
        set.join("images/one.png"),
    )
    .ok();
    std::fs::write(
        &path,
        r#"{"images":[{"id":1,"file_name":"one.png","width":4,"height":4}],
            "annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[0,0,2,2],"area":4,"iscrowd":0}],
            "categories":[{"id":1,"name":"duck"}]}"#,
    )
    .unwrap();
    let task = Task::new();
    let remarks =
        |limits: &Limits| worker::open(&task, &path, &Options::default(), limits).unwrap().remarks.join("\n");
    let refused = remarks(&limits());
    assert!(refused.contains("outside of its folder") && refused.contains("--reads"), "{refused}");
    let allowed = remarks(&Limits { reads: vec![set.clone()], ..limits() });
    assert!(!allowed.contains("outside"), "{allowed}");
}

#[test]
fn what_a_link_leads_to_is_what_may_be_allowed() {
    let root = tempfile::tempdir().unwrap();
    let (set, elsewhere) = (root.path().join("set"), root.path().join("elsewhere"));
    small(&set);
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("far.csv"), "a\n1\n").unwrap();
    std::os::unix::fs::symlink(elsewhere.join("far.csv"), set.join("link.csv")).unwrap();
    let task = Task::new();
    let document = worker::open(&task, &set, &Options::default(), &limits()).unwrap();
    let children = document.root.child_page(&task, 0..10).unwrap();
    let resolved = children.iter().map(|child| child.resolved(&task));
    let problems = resolved.filter(|node| node.as_ref().is_ok_and(|node| node.problem.is_some())).count();
    assert_eq!(problems, 1);
    assert_eq!(worker::refused_to(&document.source), [elsewhere.canonicalize().unwrap()]);
}

/// An archive among the fixtures.
fn archive() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/zip");
    let all = std::fs::read_dir(root).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|extension| extension == "zip")).min().unwrap()
}

#[test]
fn an_archive_and_what_lies_in_it_come_from_one_worker() {
    let task = Task::new();
    let document = worker::open(&task, &archive(), &Options::default(), &limits()).unwrap();
    let mut kinds = Vec::new();
    walk(&task, &document.root, "", 3, &mut |node, _, _| {
        kinds.push(node.kind());
        Ok(true)
    })
    .unwrap();
    assert!(kinds.iter().any(|kind| *kind != Kind::Group), "{kinds:?}");
}

#[test]
fn a_stream_that_is_too_long_for_memory_is_kept_in_a_file_that_was_asked_for() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.bin.gz");
    let bytes: Vec<u8> = (0..3_000_000u64).flat_map(|n| (n * n).to_le_bytes()).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let task = Task::new();
    let mut options = Options::default();
    options.set("long.bin:format", "bytes");
    let document = worker::open(&task, &path, &Options::default(), &limits()).unwrap();
    let mut node = document.root.clone();
    if node.content.is_none() {
        node = node.child_page(&task, 0..1).unwrap().remove(0).resolved(&task).unwrap();
    }
    let source = match &node.content {
        Some(Content::Bytes(source)) => source.clone(),
        Some(Content::Array(array)) => {
            // It may be taken for numbers; their bytes are the same.
            let all = Region::all(array.shape());
            let read = gander::data::content::array::read(array.as_ref(), &task, &all).unwrap();
            assert!(read == bytes);
            return;
        }
        _ => panic!("{}: neither bytes nor numbers", node.word()),
    };
    assert_eq!(source.len(&task).unwrap(), bytes.len() as u64);
    for at in [0, 9 << 20, bytes.len() as u64 - 100] {
        let end = (at + (1 << 20)).min(bytes.len() as u64);
        assert!(source.read(&task, at..end).unwrap() == bytes[at as usize..end as usize], "{at}");
    }
}

#[test]
fn many_threads_read_through_one_worker() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let text: String = (0..20_000).map(|n| format!("{n},{}\n", n * 3)).collect();
    std::fs::write(&path, format!("a,b\n{text}")).unwrap();
    let task = Task::new();
    let here = gander::open(&task, &path, &Options::default()).unwrap();
    let there = worker::open(&task, &path, &Options::default(), &limits()).unwrap();
    let table = |document: &Document| match &document.root.content {
        Some(Content::Table(table)) => table.clone(),
        _ => panic!("no table"),
    };
    let (here, there) = (table(&here), table(&there));
    assert_eq!(there.count(&task).unwrap(), 20_000);
    std::thread::scope(|scope| {
        for thread in 0..12u64 {
            let (here, there, task) = (&here, &there, &task);
            scope.spawn(move || {
                for step in 0..20 {
                    let start = (thread * 1_543 + step * 977) % 19_000;
                    let rows = start..start + 200;
                    assert_eq!(
                        there.read(task, rows.clone(), &[1, 0]).unwrap(),
                        here.read(task, rows, &[1, 0]).unwrap()
                    );
                }
            });
        }
    });
}

/// What somebody else does to a file that is open.
const CHANGES: [(&str, fn(&Path)); 5] = [
    ("truncate", |path| {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(40).unwrap();
    }),
    ("append", |path| {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(&[0; 4_096]).unwrap();
    }),
    ("replace", |path| {
        let other = path.with_extension("other");
        std::fs::write(&other, vec![0; 4_096]).unwrap();
        std::fs::rename(&other, path).unwrap();
    }),
    ("unlink", |path| std::fs::remove_file(path).unwrap()),
    ("chmod", |path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }),
];

/// When it happens.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// It is open, and nothing was listed or read.
    Before,
    /// All was read once.
    After,
    /// While it is read again and again.
    During,
}

/// The first value that is neither the one that was there nor an error.
fn new_value<'a>(whole: &str, now: &'a str) -> Option<&'a str> {
    let were: HashSet<&str> = whole.lines().collect();
    let values = ["rows", "tail", "elements", "column", "pixels", "lines", "bytes"];
    let is_value = |line: &str| values.iter().any(|word| line.trim_start().starts_with(word));
    now.lines().filter(|line| !were.contains(line) && !line.contains("Error(")).find(|line| is_value(line))
}

/// Files of a format that are large enough to be cut.
fn some_files(id: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let Ok(entries) = std::fs::read_dir(root.join(id)) else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.retain(|path| path.metadata().is_ok_and(|meta| (200..300_000).contains(&meta.len())));
    files.retain(|path| !path.to_string_lossy().ends_with(".py") && !path.ends_with("golden.txt"));
    files.sort();
    files
}

#[test]
fn a_file_that_changes_gives_the_values_it_had_or_an_error_and_never_zeros() {
    let formats = [
        "npy",
        "parquet",
        "arrow",
        "hdf5",
        "csv",
        "safetensors",
        "gguf",
        "sqlite",
        "tiff",
        "avro",
        "orc",
        "zip",
        "npz",
        "png",
        "nifti",
        "fits",
        "pickle",
        "jsonl",
    ];
    let cases: Vec<(PathBuf, usize, Moment, bool)> = formats
        .iter()
        .flat_map(|id| some_files(id).into_iter().take(1))
        .flat_map(|file| (0..CHANGES.len()).map(move |change| (file.clone(), change)))
        .flat_map(|(file, change)| {
            let moments = [Moment::Before, Moment::After, Moment::During];
            moments.into_iter().flat_map(move |moment| {
                let file = file.clone();
                [false, true].map(move |apart| (file.clone(), change, moment, apart))
            })
        })
        .collect();
    let seen: Vec<bool> = cases
        .par_iter()
        .map(|(file, change, moment, apart)| changes_while_open(file, CHANGES[*change], *moment, *apart))
        .collect();
    let opened = seen.iter().filter(|opened| **opened).count();
    assert!(opened > 400, "{opened} of {}", seen.len());
}

/// Whether it opened; fails where a value is another one.
fn changes_while_open(file: &Path, (what, change): (&str, fn(&Path)), moment: Moment, apart: bool) -> bool {
    let task = Task::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file.file_name().unwrap());
    std::fs::copy(file, &path).unwrap();
    let whole = described(&task, gander::open(&task, &path, &Options::default()));
    let opened = match apart {
        true => worker::open(&task, &path, &Options::default(), &limits()),
        false => gander::open(&task, &path, &Options::default()),
    };
    let Ok(document) = opened else { return false };
    let check = |now: &str| {
        let new = new_value(&whole, now);
        assert!(
            new.is_none(),
            "{what} {moment:?} of {}, apart: {apart}: {:.500}",
            file.display(),
            new.unwrap_or_default()
        );
    };
    match moment {
        Moment::Before => change(&path),
        Moment::After => {
            check(&described(&task, Ok(document.clone())));
            change(&path);
        }
        Moment::During => std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                change(&path);
            });
            for _ in 0..3 {
                check(&described(&task, Ok(document.clone())));
            }
        }),
    }
    check(&described(&task, Ok(document)));
    true
}

#[test]
fn a_file_that_changes_while_it_is_converted_gives_a_whole_target_or_none() {
    use gander::convert::{self, Consent, Selection, Target};
    let task = Task::new();
    let folder = tempfile::tempdir().unwrap();
    // A matrix, and a table of text, in every format that is written in one file.
    let values: Vec<u8> = (0..200_000u32).flat_map(|n| (n as f32 * 0.37).to_le_bytes()).collect();
    let matrix = folder.path().join("matrix.raw.npy");
    let mut header =
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (20000, 10), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    std::fs::write(&matrix, [header, values].concat()).unwrap();
    let items = |document: &Document| convert::gather(&task, &document.source, &document.root, "");
    let write = |document: &Document, id: &str, out: &Path| {
        let plan = convert::plan(
            &items(document)?,
            Target::by_id(id).unwrap(),
            &Options::default(),
            &Selection::default(),
        )?;
        let task = Task::new();
        plan.run(&task, out, Consent { overwrite: true, lose: true }).map(drop)
    };
    let source = gander::open(&task, &matrix, &Options::default()).unwrap();
    let (mut whole_ones, mut errors) = (0, 0);
    for id in [
        "npy",
        "npz",
        "safetensors",
        "hdf5",
        "parquet",
        "arrow",
        "csv",
        "jsonl",
        "avro",
        "sqlite",
        "tiff",
        "gguf",
        "netcdf3",
        "fits",
        "mat",
    ] {
        let made = folder.path().join(format!("made.{}", Target::by_id(id).unwrap().extensions[0]));
        write(&source, id, &made).unwrap();
        let to = if matches!(id, "csv" | "jsonl" | "avro" | "sqlite") { "parquet" } else { "npy" };
        let (expected, out) = (folder.path().join("expected"), folder.path().join("out"));
        write(&gander::open(&task, &made, &Options::default()).unwrap(), to, &expected).unwrap();
        let expected = std::fs::read(&expected).unwrap();
        for (n, (what, change)) in CHANGES.iter().enumerate() {
            for apart in [false, true] {
                let path =
                    folder.path().join(format!("{n}{apart}.{}", made.extension().unwrap().to_string_lossy()));
                std::fs::copy(&made, &path).unwrap();
                let opened = match apart {
                    true => worker::open(&task, &path, &Options::default(), &limits()),
                    false => gander::open(&task, &path, &Options::default()),
                };
                let document = opened.unwrap();
                let done = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(3 * n as u64));
                        change(&path);
                    });
                    write(&document, to, &out)
                });
                match done {
                    Ok(()) => {
                        whole_ones += 1;
                        assert!(
                            std::fs::read(&out).unwrap() == expected,
                            "{what} of {id}, apart: {apart}: another result"
                        );
                        std::fs::remove_file(&out).unwrap();
                    }
                    Err(error) => {
                        errors += 1;
                        assert!(!out.exists(), "{what} of {id}, apart: {apart}: {error}, and a target");
                    }
                }
            }
        }
    }
    assert!(whole_ones > 5 && errors > 5, "{whole_ones} whole, {errors} errors");
}
