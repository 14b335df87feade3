//! A window that stays open for days: files come and go, and nothing of them stays.
//!
//! The program tells its allocator before its first thread to keep little (`gander::bytes::cache::keep_little`); here the
//! same is said by `MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=16777216 MALLOC_MMAP_THRESHOLD_=8388608`. What each thread keeps
//! for its next allocation counts as allocated, unless `GLIBC_TUNABLES=glibc.malloc.tcache_count=0` forbids it. Without
//! egui's own assertions, which remember all widgets: `--config profile.dev.package.egui.debug-assertions=false`.
//! `GANDER_SOAK_PROGRAM=FILE` names a `gander` whose processes read the files, as they do for the window by default.

use std::collections::BTreeMap;

use egui_kittest::TestRenderer;

use super::*;

/// Files of every sort below a folder, in an order that is the same each time.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.metadata() {
                Ok(about) if about.is_dir() => folders.push(path),
                Ok(about) if about.len() < 4 << 20 => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files.sort_by_cached_key(|path| xxhash(path));
    files
}

fn xxhash(path: &Path) -> u64 {
    xxhash_rust::xxh3::xxh3_64(path.as_os_str().as_encoded_bytes())
}

/// Bytes of this process that are in memory and its own, and its open descriptors.
fn held() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kilobytes << 10, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Processes of this one that have ended, or run still.
fn children() -> (usize, usize) {
    let mine = std::process::id().to_string();
    let states = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut words = stat.rsplit(')').next()?.split_whitespace();
        let state = words.next()?.to_owned();
        (words.next()? == mine).then_some(state)
    });
    let (ended, running): (Vec<_>, Vec<_>) = states.partition(|state| state == "Z");
    (ended.len(), running.len())
}

/// Bytes that are allocated, without what lies idle between them.
fn allocated() -> usize {
    // SAFETY: mallinfo2(3) takes no pointers.
    let all = unsafe { libc::mallinfo2() };
    all.uordblks + all.hblkhd
}

/// Takes the textures as a graphics card does. The harness' own renderer keeps each change of each texture until a picture
/// is asked for, and in these tests none is.
struct NullRenderer;

impl TestRenderer for NullRenderer {
    fn handle_delta(&mut self, delta: &mut egui::TexturesDelta) {
        delta.clear();
    }

    fn render(&mut self, _: &egui::Context, _: &egui::FullOutput) -> Result<image::RgbaImage, String> {
        Err("nothing is drawn here".to_owned())
    }
}

/// Opens a file, looks at it from top to bottom, filters and looks for something, and closes it.
fn visit(harness: &mut Harness<'static, Window>, path: &Path) {
    let ctx = harness.ctx.clone();
    harness.state_mut().app.as_mut().unwrap().actions.push(Action::Open(vec![path.to_owned()]));
    calm(harness);
    harness.event(egui::Event::PointerMoved(egui::pos2(600.0, 400.0)));
    for delta in [-600.0, -60_000.0, 900.0] {
        wheel(harness, delta);
        calm(harness);
    }
    harness.key_press_modifiers(Modifiers::COMMAND, Key::F);
    harness.step();
    harness.event(egui::Event::Text("1".to_owned()));
    calm(harness);
    harness.key_press(Key::Escape);
    harness.step();
    let app = harness.state_mut().app.as_mut().unwrap();
    let all: Vec<u64> = app.files.iter().map(|file| file.id).collect();
    all.into_iter().for_each(|id| app.close_file(&ctx, id));
    calm(harness);
}

/// Frames until nothing is under way, or for so long that somebody would go on.
fn calm(harness: &mut Harness<'static, Window>) {
    let started = Instant::now();
    let mut calm = 0;
    while calm < 2 && started.elapsed() < Duration::from_secs(4) {
        harness.step();
        calm = if harness.state().app().jobs.list().is_empty() { calm + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `GANDER_SOAK=10000 GANDER_SOAK_FILES=FOLDER` opens so many files of a folder, and prints what is held meanwhile.
#[test]
fn files_that_come_and_go_leave_nothing() {
    let count = std::env::var("GANDER_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(40usize);
    let folder = std::env::var_os("GANDER_SOAK_FILES").map_or_else(|| fixture(""), PathBuf::from);
    let files = files_below(&folder);
    if let Some(program) = std::env::var_os("GANDER_SOAK_PROGRAM").map(PathBuf::from) {
        gander::worker::isolate(gander::worker::Limits { program, ..Default::default() });
    }
    let mut harness = started(builder(vec2(1200.0, 800.0)).renderer(NullRenderer), Window::default());
    let mut seen: BTreeMap<usize, (u64, usize)> = BTreeMap::new();
    for (n, path) in files.iter().cycle().take(count).enumerate() {
        let before = gander::bytes::cache::DECODED.used();
        visit(&mut harness, path);
        let after = gander::bytes::cache::DECODED.used();
        if count > 100 && after > before {
            println!("{before} bytes decoded became {after} by {}", path.display());
        }
        if n % 100 == 99 || n + 1 == count {
            let (memory, descriptors) = held();
            seen.insert(n + 1, (memory, descriptors));
            if count > 100 {
                let decoded = gander::bytes::cache::DECODED.used() >> 20;
                let states = harness.ctx.memory(|memory| memory.data.len());
                let [width, height] = harness.ctx.fonts(|fonts| fonts.font_image_size());
                println!(
                    "{:>6} files: {:>5} MB, {} kB of them allocated, {decoded} MB decoded, {descriptors} descriptors, \
                     {states} states, {:?} processes ended and running, glyphs on {width} x {height} pixels",
                    n + 1,
                    memory >> 20,
                    allocated() >> 10,
                    children()
                );
            }
        }
    }
    let app = harness.state().app();
    assert!(app.files.iter().next().is_none() && app.tabs.is_empty());
    // Other tests of this process have files of their own: only a long run, which is alone, can tell what is held.
    if count < 1_000 {
        return;
    }
    let at = |n: usize| *seen.range(n..).next().or_else(|| seen.iter().next_back()).unwrap().1;
    let ((early, few), (late, many)) = (at(500), at(count));
    let decoded = gander::bytes::cache::DECODED.used();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(children().0, 0, "processes that nobody asked how they ended");
    assert!(decoded < 1 << 20, "{decoded} bytes are kept of files that are closed");
    assert!(many <= few + 8, "{few} descriptors became {many}");
    assert!(late <= early + (early / 5).max(64 << 20), "{early} bytes became {late}");
}
