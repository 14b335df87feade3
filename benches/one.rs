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
//! viewports FILE              20 windows of 1,200 × 800 pixels at random places of a picture: the time of one
//! picture FILE                opens a picture and paints all of it in up to 1,024 samples each way, as the window does;
//!                             `first-picture` until something of it is on the screen
//! waveform FILE               opens a sound and makes the pyramid of its waveform; `first-waveform` until it is seen at all
//! spectrogram FILE            the mel spectrogram of its first minute in 1,024 columns
//! frames FILE                 10 frames at random places of a video: the time of one; `keys` the key frames before them
//! volume FOLDER               opens a folder of slices and reads the first volume
//! queries SQL FILE…           each statement of a file on its own line: `seconds NAME X`
//! ```

use gander::data::adapt::FrameArray;
use gander::data::content::{Array, Content, Image, Rect, Table};
use gander::data::format::Options;
use gander::data::graph::layered::{self, Flat, FlatEdge, Pin, Spacing};
use gander::data::node::Node;
use gander::data::parameters::{Parameters, Tensors};
use gander::data::plane::color::{ImageSpec, RenderSpec};
use gander::data::plane::{Mapping, Plane, tiles};
use gander::data::region::{Region, Span};
use gander::data::sound::{Peaks, Spectrogram, Spectrum};
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
        ["viewports", file] => viewports(file),
        ["picture", file] => picture(file, false),
        ["first-picture", file] => picture(file, true),
        ["waveform", file] => waveform(file, false),
        ["first-waveform", file] => waveform(file, true),
        ["spectrogram", file] => spectrogram(file),
        ["frames", file] => frames(file, false),
        ["keys", file] => frames(file, true),
        ["volume", folder] => volume(folder),
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

/// The first node at or below this one whose content `wanted` takes.
fn content<T>(node: &Node, wanted: &dyn Fn(&Content) -> Option<T>) -> Result<Option<T>> {
    if let Some(found) = node.content.as_ref().and_then(wanted) {
        return Ok(Some(found));
    }
    let task = Task::new();
    for child in node.child_page(&task, 0..100)? {
        if let Some(found) = content(child.resolved(&task)?.as_ref(), wanted)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn image(file: &str) -> Result<Arc<dyn Image>> {
    let image = |content: &Content| match content {
        Content::Image(image) => Some(image.clone()),
        _ => None,
    };
    content(&open(file)?.root, &image)?.ok_or_else(|| Error::bug("no picture is in the file"))
}

fn first_array(file: &str) -> Result<Arc<dyn Array>> {
    let array = |content: &Content| match content {
        Content::Array(array) => Some(array.clone()),
        _ => None,
    };
    content(&open(file)?.root, &array)?.ok_or_else(|| Error::bug("no array is in the file"))
}

fn viewports(file: &str) -> Result<()> {
    const SIZE: (u64, u64) = (1_200, 800);
    let image = image(file)?;
    let info = image.info();
    let task = Task::new();
    let began = Instant::now();
    for n in 1..=SLICES {
        let (x, y) = (place(n + 100, info.width - SIZE.0), place(n + 200, info.height - SIZE.1));
        let rect = Rect { x, y, width: SIZE.0, height: SIZE.1 };
        std::hint::black_box(image.read(&task, 0, 0, rect)?);
    }
    println!("seconds {:.6}", began.elapsed().as_secs_f64() / SLICES as f64);
    Ok(())
}

fn picture(file: &str, first: bool) -> Result<()> {
    let began = Instant::now();
    let task = Task::new();
    let image = image(file)?;
    let frame = FrameArray::read(image, &task, 0)?;
    let slice = Mapping::picture(frame.shape()).slice(true);
    let style = RenderSpec::Image(ImageSpec::default());
    let paint = |plane: &Plane| {
        std::hint::black_box(style.resolve(&frame, &plane.summary).paint(plane));
    };
    let mut shown = None;
    let mut publish = |plane: Plane| {
        paint(&plane);
        shown.get_or_insert_with(|| began.elapsed());
    };
    let window = slice.coarse(1_024);
    let plane = tiles::read(&frame, &task, &slice, window, style.part(), &mut publish)?;
    paint(&plane);
    let whole = began.elapsed();
    println!("seconds {:.6}", shown.filter(|_| first).unwrap_or(whole).as_secs_f64());
    Ok(())
}

fn waveform(file: &str, first: bool) -> Result<()> {
    let began = Instant::now();
    let sound = first_array(file)?;
    let frames = sound.shape().first().copied().unwrap_or(0) as f64;
    let mut shown = None;
    let mut show = |peaks: &Peaks| {
        std::hint::black_box(peaks.columns(0, 0.0..frames, 1_200));
        shown.get_or_insert_with(|| began.elapsed());
    };
    let peaks = Peaks::build(sound.as_ref(), &Task::new(), &mut show)?;
    show(&peaks);
    let whole = began.elapsed();
    println!("seconds {:.6}", shown.filter(|_| first).unwrap_or(whole).as_secs_f64());
    Ok(())
}

fn spectrogram(file: &str) -> Result<()> {
    let sound = first_array(file)?;
    let minute = sound.facts().sound.map_or(0, |sound| u64::from(sound.rate) * 60);
    let began = Instant::now();
    let made = Spectrogram::of(sound.as_ref(), &Task::new(), 0..minute, 1_024, Spectrum::default())?;
    report(began);
    if made.columns == 1_024 { Ok(()) } else { Err(Error::bug("a spectrogram of other columns")) }
}

/// Frames after jumps in an open video, as somebody makes them who looks for a place: a few a second.
fn frames(file: &str, keys: bool) -> Result<()> {
    const JUMPS: u64 = 10;
    /// By the first ones it is known that somebody jumps.
    const FIRST: u64 = 3;
    const LOOKED_AT: Duration = Duration::from_millis(250);
    let task = Task::new();
    let mut taken = Duration::ZERO;
    let video = image(file)?;
    let info = video.info();
    for n in (JUMPS + 1..=JUMPS + FIRST).chain(1..=JUMPS) {
        std::thread::sleep(LOOKED_AT);
        let mut number = place(n, info.frames);
        if keys && let Some(video) = &info.video {
            let after = video.keys.partition_point(|key| *key <= number);
            number = after.checked_sub(1).and_then(|at| video.keys.get(at)).copied().unwrap_or(0);
        }
        let began = Instant::now();
        std::hint::black_box(video.read(&task, number, 0, Rect::all(info.width, info.height))?);
        if n <= JUMPS {
            taken += began.elapsed();
        }
    }
    println!("seconds {:.6}", taken.as_secs_f64() / JUMPS as f64);
    Ok(())
}

fn volume(folder: &str) -> Result<()> {
    let began = Instant::now();
    let array = first_array(folder)?;
    let region = Region::all(array.shape());
    let mut out = vec![0u8; (region.elements()? * array.dtype().size()) as usize];
    array.read(&Task::new(), &region, &mut out)?;
    report(began);
    std::hint::black_box(&out);
    Ok(())
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
