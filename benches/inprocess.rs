//! Timings inside the process, at the library: what a view waits for.
//!
//! `cargo bench --bench inprocess -- FOLDER` (or `GANDER_BENCH_DATA=FOLDER`) with the files that
//! `make_data.py` made; those that are not there are left out. Prints `name seconds who` lines, which
//! `run.py --inprocess FILE` puts into its report. Each number is a median; of random pages the worst is
//! printed, too. Copies in memory of the same bytes are the yardstick of scans.

use gander::data::content::{Array, Content, Table};
use gander::data::format::Options;
use gander::data::node::Node;
use gander::{Document, Error, Result, Source, Task};
use rayon::prelude::*;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Rows of a page: what fills a screen.
const PAGE: u64 = 100;
/// How many random pages are read.
const PAGES: u64 = 20;
/// How often short things are repeated.
const REPEAT: usize = 9;

fn main() {
    // Cargo hands its own flags on; the folder is the one argument that is none.
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = given.or_else(|| std::env::var("GANDER_BENCH_DATA").ok());
    let folder = PathBuf::from(folder.unwrap_or_else(|| "benches/data".to_owned()));
    println!("# in the process, data in {}", folder.display());
    type Group = (&'static str, fn(&Path) -> Result<()>);
    let groups: [Group; 9] = [
        ("trips.parquet", parquet),
        ("trips.arrow", arrow),
        ("trips.csv", csv),
        ("text.csv.gz", csv_gz),
        ("model_13gb.safetensors", safetensors),
        ("big.npy", npy),
        ("big.npy", copies),
        ("objects.pkl", objects),
        ("forest.pmml", forest),
    ];
    let mut failed = false;
    if let Err(error) = codecs() {
        failed = true;
        eprintln!("codecs: {error}");
    }
    for (file, group) in groups {
        let path = folder.join(file);
        if !path.exists() {
            println!("# left out: {file} is not there");
            continue;
        }
        if let Err(error) = group(&path) {
            failed = true;
            eprintln!("{file}: {error}");
        }
    }
    std::process::exit(i32::from(failed));
}

fn seconds<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let value = black_box(work()?);
    Ok((start.elapsed().as_secs_f64(), value))
}

fn report(name: &str, seconds: f64) {
    println!("{name} {seconds:.6} gander");
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Decoding 64 MB of float32 in one thread, in chunks of a megabyte that were shuffled and compressed; and the
/// same through the engine of chunks, on all cores.
fn codecs() -> Result<()> {
    use gander::bytes::codec::{bitshuffle, checksum, deflate, lz4, shuffle, zstd};
    const CHUNK: usize = 1 << 20;
    let value = |i: u32| ((f64::from(i) * 1e-4).sin() * 4000.0).round() as f32 / 8.0;
    let bytes: Vec<u8> = (0..16 << 20).flat_map(|i| value(i).to_le_bytes()).collect();
    let shuffled: Vec<Vec<u8>> = bytes.par_chunks(CHUNK).map(|part| shuffle::shuffle(part, 4)).collect();
    type Decode = fn(&[u8]) -> Result<Vec<u8>>;
    let timed = |name: &str, chunks: &[Vec<u8>], decode: Decode| -> Result<()> {
        let run = || chunks.iter().try_for_each(|chunk| decode(chunk).map(|out| drop(black_box(out))));
        let times = (0..5).map(|_| seconds(run).map(|(time, ())| time)).collect::<Result<Vec<f64>>>()?;
        report(&format!("codec/{name}"), median(times));
        Ok(())
    };
    let packed = |pack: fn(&[u8]) -> std::io::Result<Vec<u8>>| {
        shuffled.par_iter().map(|chunk| pack(chunk)).collect::<std::io::Result<Vec<_>>>().map_err(Error::from)
    };
    let zlib = packed(|chunk| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(4));
        std::io::Write::write_all(&mut out, chunk)?;
        out.finish()
    })?;
    timed("unshuffle", &shuffled, |chunk| Ok(shuffle::unshuffle(chunk, 4)))?;
    timed("unshuffle bits", &shuffled, |chunk| {
        let mut out = vec![0; chunk.len()];
        bitshuffle::unshuffle_bits(chunk, 4, &mut out, &mut Vec::new());
        Ok(out)
    })?;
    timed("inflate", &zlib, |chunk| deflate::zlib(chunk, CHUNK))?;
    timed("zstd", &packed(|chunk| ::zstd::bulk::compress(chunk, 3))?, |chunk| zstd::decode(chunk, CHUNK))?;
    let lz4_blocks = packed(|chunk| Ok(lz4_flex::block::compress(chunk)))?;
    timed("lz4", &lz4_blocks, |chunk| lz4::block(chunk, CHUNK))?;
    timed("crc32c", &shuffled, |chunk| Ok(checksum::crc32c(chunk).to_le_bytes().to_vec()))?;
    timed("fletcher32", &shuffled, |chunk| Ok(checksum::fletcher32(chunk).to_le_bytes().to_vec()))?;
    engine(zlib)
}

/// A whole read through the engine: inflate, unshuffle, copy.
fn engine(zlib: Vec<Vec<u8>>) -> Result<()> {
    use gander::bytes::codec::{deflate, shuffle};
    use gander::data::chunked::{Chunked, Chunks};
    use gander::data::region::Region;
    struct Zlib(Vec<Vec<u8>>);
    impl Chunks for Zlib {
        fn chunk(&self, _: &Task, index: &[u64]) -> Result<Option<bytes::Bytes>> {
            let number = (index[0] * 8 + index[1]) as usize;
            Ok(Some(shuffle::unshuffle(&deflate::zlib(&self.0[number], 1 << 20)?, 4).into()))
        }
    }
    let chunks = Arc::new(Zlib(zlib));
    let times = (0..5).map(|_| {
        // Another array each time, so that nothing is in the cache.
        let dtype = gander::data::dtype::DType::F32;
        let array = Chunked::new(dtype, vec![4096, 4096], vec![512, 512], vec![], chunks.clone())?;
        let read = || gander::data::content::array::read(&array, &Task::new(), &Region::all(&[4096, 4096]));
        seconds(read).map(|(time, _)| time)
    });
    report("chunked/read 64 MB of zlib and shuffle", median(times.collect::<Result<Vec<f64>>>()?));
    Ok(())
}

fn open(path: &Path) -> Result<Document> {
    gander::open(&Task::new(), path, &Options::default())
}

/// The median time of opening a file.
fn opening(name: &str, path: &Path) -> Result<()> {
    let times =
        (0..REPEAT).map(|_| seconds(|| open(path)).map(|(time, _)| time)).collect::<Result<Vec<f64>>>()?;
    report(&format!("{name}/open"), median(times));
    Ok(())
}

fn table(document: &Document) -> Result<Arc<dyn Table>> {
    match &document.root.content {
        Some(Content::Table(table)) => Ok(table.clone()),
        _ => Err(Error::bug("the file is no table")),
    }
}

fn page(table: &dyn Table, first: u64) -> Result<f64> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    Ok(seconds(|| table.read(&Task::new(), first..first + PAGE, &columns))?.0)
}

/// The n-th of places that are spread without order, below `rows`.
fn place(n: u64, rows: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % rows.saturating_sub(PAGE).max(1)
}

/// Random pages, each for the first time, and the same ones again.
fn random_pages(name: &str, table: &dyn Table, rows: u64) -> Result<()> {
    for round in ["random_page", "random_page_again"] {
        let times = (1..=PAGES).map(|n| page(table, place(n, rows))).collect::<Result<Vec<f64>>>()?;
        let worst = times.iter().copied().fold(0.0, f64::max);
        report(&format!("{name}/{round}"), median(times));
        report(&format!("{name}/{round}_worst"), worst);
    }
    let first = page(table, place(PAGES + 1, rows))?;
    report(&format!("{name}/page_first_look"), first);
    report(&format!("{name}/page_second_look"), page(table, place(PAGES + 1, rows))?);
    Ok(())
}

/// Opening and the first page together: what somebody waits for after a double-click.
fn first_page(name: &str, path: &Path) -> Result<()> {
    let once = || seconds(|| page(table(&open(path)?)?.as_ref(), 0)).map(|(time, _)| time);
    report(
        &format!("{name}/open_and_first_page"),
        median((0..REPEAT).map(|_| once()).collect::<Result<_>>()?),
    );
    Ok(())
}

fn parquet(path: &Path) -> Result<()> {
    opening("parquet", path)?;
    first_page("parquet", path)?;
    let table = table(&open(path)?)?;
    random_pages("parquet", table.as_ref(), table.rows().number())
}

fn arrow(path: &Path) -> Result<()> {
    opening("arrow", path)?;
    first_page("arrow", path)?;
    let table = table(&open(path)?)?;
    random_pages("arrow", table.as_ref(), table.count(&Task::new())?)
}

fn csv(path: &Path) -> Result<()> {
    opening("csv", path)?;
    first_page("csv", path)?;
    let document = open(path)?;
    let table = table(&document)?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    report("csv/tail", seconds(|| table.tail(&Task::new(), PAGE, &columns))?.0);
    let (time, rows) = seconds(|| table.count(&Task::new()))?;
    report("csv/index_of_all", time);
    random_pages("csv", table.as_ref(), rows)
}

fn csv_gz(path: &Path) -> Result<()> {
    opening("csv_gz", path)?;
    first_page("csv_gz", path)?;
    let document = open(path)?;
    let table = table(&document)?;
    let (time, rows) = seconds(|| table.count(&Task::new()))?;
    report("csv_gz/index_of_all", time);
    random_pages("csv_gz", table.as_ref(), rows)
}

fn safetensors(path: &Path) -> Result<()> {
    opening("safetensors", path)?;
    let document = open(path)?;
    let task = Task::new();
    let name = "model.layers.17.mlp.down_proj.weight";
    let find = || document.root.find(&task, name)?.ok_or_else(|| Error::bug("the tensor is not there"));
    let (time, node) = seconds(find)?;
    report("safetensors/find_tensor", time);
    report(
        "safetensors/stats_of_tensor",
        seconds(|| gander::data::stats::array(array(&node)?.as_ref(), &task, None))?.0,
    );
    Ok(())
}

/// A pickle of small objects: what opening and looking at its first values takes, a value in the midst, all its names.
fn objects(path: &Path) -> Result<()> {
    let task = Task::new();
    let first = || {
        let document = open(path)?;
        document.root.child_page(&task, 0..PAGE).map(drop)
    };
    let times = (0..REPEAT).map(|_| seconds(first).map(|(time, ())| time)).collect::<Result<Vec<f64>>>()?;
    report("pickle/first level", median(times));
    let document = open(path)?;
    let findings = document.root.findings.clone().ok_or_else(|| Error::bug("all of it was read at once"))?;
    report("pickle/all names", seconds(|| findings.finish(&task))?.0);
    report("pickle/count", seconds(|| document.root.child_page(&task, 40_000_000..40_000_100))?.0);
    report("pickle/page once more", seconds(|| document.root.child_page(&task, 30_000_000..30_000_100))?.0);
    Ok(())
}

/// A forest of many trees: what opening takes, and the graph of a tree in the midst.
fn forest(path: &Path) -> Result<()> {
    opening("pmml", path)?;
    let (document, task) = (open(path)?, Task::new());
    let tree = || {
        let path = "/MiningModel/Segmentation/Segment[2000]/TreeModel";
        let node = document.root.find(&task, path)?.ok_or_else(|| Error::bug("the tree is not there"))?;
        match &node.content {
            Some(Content::Graph(graph)) => Ok(graph.nodes().len()),
            _ => Err(Error::bug("the tree is no graph")),
        }
    };
    let (time, nodes) = seconds(tree)?;
    black_box(nodes);
    report("pmml/graph_of_a_tree", time);
    Ok(())
}

fn array(node: &Node) -> Result<Arc<dyn Array>> {
    match &node.content {
        Some(Content::Array(array)) => Ok(array.clone()),
        _ => Err(Error::bug("the node is no array")),
    }
}

fn npy(path: &Path) -> Result<()> {
    opening("npy", path)?;
    let document = open(path)?;
    let array = array(&document.root)?;
    let whole =
        || seconds(|| gander::data::stats::array(array.as_ref(), &Task::new(), None)).map(|(time, _)| time);
    // The first run fills the page cache.
    whole()?;
    report("npy/stats_of_all", median((0..3).map(|_| whole()).collect::<Result<_>>()?));
    Ok(())
}

/// Copies of the same bytes, by one thread and by all.
fn copies(path: &Path) -> Result<()> {
    let task = Task::new();
    let source = Source::open(&task, path)?;
    let len =
        usize::try_from(source.len(&task)?).map_err(|_| Error::limit("the file is too large to copy"))?;
    let mut from = vec![0u8; len];
    for (part, n) in from.chunks_mut(1 << 24).zip(0u64..) {
        source.read_into(&task, n << 24, part)?;
    }
    // Written once, so that the copy does not wait for fresh pages.
    let mut to = vec![1u8; len];
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        one.push(seconds(|| {
            to.copy_from_slice(&from);
            Ok(())
        })?);
        all.push(seconds(|| {
            to.par_chunks_mut(1 << 24)
                .zip(from.par_chunks(1 << 24))
                .for_each(|(to, from)| to.copy_from_slice(from));
            Ok(())
        })?);
        black_box(&to);
    }
    let middle = |times: Vec<(f64, ())>| median(times.into_iter().map(|(time, ())| time).collect());
    println!("npy/copy_one_thread {:.6} memcpy", middle(one));
    println!("npy/copy_all_threads {:.6} memcpy", middle(all));
    Ok(())
}
