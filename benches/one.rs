//! One timing a process, for the scripts that set it beside a peer's: `one TASK FILE [MORE…]` prints
//! `seconds X` for the work itself, without the start and the opening of the file.
//!
//! ```text
//! full FILE NODE [THREADS]    the whole array into memory
//! slices FILE NODE            20 slices of 256 × 256 elements at random places
//! neighbours FILE NODE        the slices beside those, each right after it (the same chunks)
//! children FILE NODE          opens the file and lists the first 100 children
//! summary FILE                the exact summary of all columns; `first-summary` what is there at first
//! page FILE NODE FIRST        opens the file and reads 100 rows
//! count FILE NODE             opens the file and counts its rows to the end
//! last FILE NODE              opens the file and reads its last 100 rows
//! parameters FILE             statistics and content hashes of all tensors
//! copy FILE                   a copy in memory of as many bytes, by all threads
//! layout FROM TO              lays out the graphs of a folder, as layout/graphs.py writes them
//! queries SQL FILE…           each statement of a file on its own line: `seconds NAME X`
//! ```

use gander::data::content::{Array, Content, Table};
use gander::data::format::Options;
use gander::data::graph::layered::{self, Flat, FlatEdge, Pin, Spacing};
use gander::data::node::Node;
use gander::data::parameters::{Parameters, Tensors};
use gander::data::region::{Region, Span};
use gander::data::stats::summary;
use gander::query::{Engine, Settings};
use gander::{Document, Error, Result, Task};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The side of a slice, and how many are read.
const SIDE: u64 = 256;
const SLICES: u64 = 20;

fn main() -> std::process::ExitCode {
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let done = match given.as_slice() {
        ["full", file, node, threads @ ..] => full(file, node, threads.first().copied()),
        ["slices", file, node] => slices(file, node, false),
        ["neighbours", file, node] => slices(file, node, true),
        ["children", file, node] => children(file, node),
        ["summary", file] => summaries(file, true),
        ["first-summary", file] => summaries(file, false),
        ["page", file, node, first] => page(file, node, first),
        ["count", file, node] => count(file, node),
        ["last", file, node] => last(file, node),
        ["parameters", file] => parameters(file),
        ["copy", file] => copy(file),
        ["layout", from, to] => layouts(Path::new(from), Path::new(to)),
        ["queries", statements, files @ ..] => queries(statements, files),
        // `cargo bench` starts every bench; this one has nothing to do alone.
        _ => Ok(()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn report(began: Instant) {
    println!("seconds {:.6}", began.elapsed().as_secs_f64());
}

fn open(file: &str) -> Result<Document> {
    gander::open(&Task::new(), Path::new(file), &Options::default())
}

fn node(file: &str, path: &str) -> Result<Arc<Node>> {
    let task = Task::new();
    let found = open(file)?.root.find(&task, path)?;
    found.ok_or_else(|| Error::bug(format!("{path} is not there")))?.resolved(&task)
}

fn array(file: &str, path: &str) -> Result<Arc<dyn Array>> {
    match &node(file, path)?.content {
        Some(Content::Array(array)) => Ok(array.clone()),
        _ => Err(Error::bug("the node is no array")),
    }
}

fn table(node: &Node) -> Result<Arc<dyn Table>> {
    match &node.content {
        Some(Content::Table(table)) => Ok(table.clone()),
        _ => Err(Error::bug("the node is no table")),
    }
}

fn full(file: &str, path: &str, threads: Option<&str>) -> Result<()> {
    let array = array(file, path)?;
    let region = Region::all(array.shape());
    let bytes = (region.elements()? * array.dtype().size()) as usize;
    let read = || -> Result<()> {
        let began = Instant::now();
        let mut out = vec![0u8; bytes];
        array.read(&Task::new(), &region, &mut out)?;
        report(began);
        std::hint::black_box(&out);
        Ok(())
    };
    match threads.and_then(|text| text.parse().ok()) {
        None => read(),
        Some(count) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
            pool.map_err(|error| Error::bug(error.to_string()))?.install(read)
        }
    }
}

fn parameters(file: &str) -> Result<()> {
    let task = Task::new();
    let root = open(file)?.root;
    let parameters = Parameters::new(Tensors::below(&task, &root, "")?.all);
    let began = Instant::now();
    let hashes: Vec<u128> = (0..parameters.tensors().len())
        .into_par_iter()
        .map(|n| Ok(parameters.stats(&task, n)?.hash))
        .collect::<Result<_>>()?;
    report(began);
    std::hint::black_box(&hashes);
    Ok(())
}

fn copy(file: &str) -> Result<()> {
    let len = std::fs::metadata(file).map_err(|error| Error::io(error.to_string()))?.len() as usize;
    // Both are written once, so that the copy does not wait for fresh pages.
    let (from, mut to) = (vec![3u8; len], vec![1u8; len]);
    let began = Instant::now();
    to.par_chunks_mut(1 << 24).zip(from.par_chunks(1 << 24)).for_each(|(to, from)| to.copy_from_slice(from));
    report(began);
    std::hint::black_box(&to);
    Ok(())
}

/// The n-th place below `end`, the same in the scripts of the peers.
fn place(n: u64, end: u64) -> u64 {
    n.wrapping_mul(2_654_435_761) % end
}

/// Slices at random places of the last two dimensions; with `beside`, each one's neighbour along the first
/// dimension right after it, which alone counts.
fn slices(file: &str, path: &str, beside: bool) -> Result<()> {
    let array = array(file, path)?;
    let [planes, rows, columns] = *array.shape() else {
        return Err(Error::bug("an array of three dimensions is expected"));
    };
    let task = Task::new();
    let mut out = vec![0u8; (SIDE * SIDE * array.dtype().size()) as usize];
    let mut read = |n: u64, plane: u64| {
        let one = |start, count| Span { start, count, step: 1 };
        let row = place(n + 100, rows - SIDE);
        let column = place(n + 200, columns - SIDE);
        array.read(&task, &Region(vec![one(plane, 1), one(row, SIDE), one(column, SIDE)]), &mut out)
    };
    // Chunks are 16 planes deep; the plane is the first of its chunk, so that the next one lies in it.
    let plane = |n: u64| place(n, planes / 16) * 16;
    let mut taken = Duration::ZERO;
    for n in 1..=SLICES {
        let mut began = Instant::now();
        read(n, plane(n))?;
        if beside {
            began = Instant::now();
            read(n, plane(n) + 1)?;
        }
        taken += began.elapsed();
    }
    println!("seconds {:.6}", taken.as_secs_f64());
    Ok(())
}

fn children(file: &str, path: &str) -> Result<()> {
    let began = Instant::now();
    let there = node(file, path)?.child_page(&Task::new(), 0..100)?;
    report(began);
    if there.is_empty() { Err(Error::unsupported("a node without children")) } else { Ok(()) }
}

fn summaries(file: &str, exact: bool) -> Result<()> {
    let began = Instant::now();
    let table = table(&open(file)?.root)?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let task = Task::new();
    if !exact {
        // The first numbers: what the file itself says.
        let known = columns.iter().filter(|column| table.statistics(**column).is_some()).count();
        report(began);
        return if known > 0 { Ok(()) } else { Err(Error::bug("the file says nothing")) };
    }
    let found = summary::exact(table.as_ref(), &task, &columns)?;
    report(began);
    found.columns.into_iter().try_for_each(|column| column.map(drop))
}

fn page(file: &str, path: &str, first: &str) -> Result<()> {
    let first: u64 = first.parse().map_err(|_| Error::bug("a row is expected"))?;
    let began = Instant::now();
    let table = table(node(file, path)?.as_ref())?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), first..first + 100, &columns)?;
    report(began);
    if batch.num_rows() == 100 { Ok(()) } else { Err(Error::bug(format!("{} rows", batch.num_rows()))) }
}

fn count(file: &str, path: &str) -> Result<()> {
    let began = Instant::now();
    let rows = table(node(file, path)?.as_ref())?.count(&Task::new())?;
    report(began);
    println!("rows {rows}");
    Ok(())
}

fn last(file: &str, path: &str) -> Result<()> {
    let began = Instant::now();
    let table = table(node(file, path)?.as_ref())?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let (_, batch) = table.tail(&Task::new(), 100, &columns)?;
    report(began);
    if batch.num_rows() == 100 { Ok(()) } else { Err(Error::bug(format!("{} rows", batch.num_rows()))) }
}

/// Each `{name, sizes, edges}` of a folder as `{name, ms, lines}` in the other, with the distances of layout/dagre.js.
#[allow(clippy::disallowed_methods, reason = "graphs and layouts are small texts")]
fn layouts(from: &Path, to: &Path) -> Result<()> {
    const SPACING: Spacing = Spacing { node_gap: 28.0, edge_gap: 14.0, layer_gap: 36.0 };
    #[derive(serde::Deserialize)]
    struct Graph {
        name: String,
        sizes: Vec<[f32; 2]>,
        edges: Vec<[u32; 2]>,
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let graph: Graph = serde_json::from_slice(&std::fs::read(&path)?)
            .map_err(|error| Error::malformed(format!("{}: {error}", path.display())))?;
        let edges =
            graph.edges.iter().map(|[from, to]| FlatEdge { from: *from, to: *to, ..FlatEdge::default() });
        let flat =
            Flat { pins: vec![Pin::Free; graph.sizes.len()], edges: edges.collect(), sizes: graph.sizes };
        let began = Instant::now();
        let placed = layered::place(&Task::new(), &flat, &SPACING)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let out = serde_json::json!({ "name": graph.name, "ms": ms, "lines": placed.points });
        std::fs::write(to.join(path.file_name().unwrap_or_default()), out.to_string())?;
    }
    Ok(())
}

/// Statements that end with `;` at the end of a line, named by a comment line `-- NAME` before each.
#[allow(clippy::disallowed_methods, reason = "the queries are a small text")]
fn queries(statements: &str, files: &[&str]) -> Result<()> {
    let text = std::fs::read_to_string(statements)?;
    let engine = Engine::new(Settings::default(), Vec::new());
    let task = Task::new();
    for file in files {
        engine.add_document(&task, &open(file)?)?;
    }
    for statement in text.split(";\n").filter(|part| !part.trim().is_empty()) {
        let name = statement.lines().find_map(|line| line.strip_prefix("-- ")).unwrap_or("query");
        let began = Instant::now();
        let answer = engine.run(&task, statement, |_| {});
        let answer = answer.map_err(|error| Error::bug(format!("{name}: {error:?}")))?;
        println!("seconds {name} {:.6} {}", began.elapsed().as_secs_f64(), answer.count(&task)?);
    }
    Ok(())
}
