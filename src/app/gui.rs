//! The window: what a person sees and does. Nothing in here reads a file: what blocks runs as a job, and what it gives
//! comes through a [`gander::jobs::Slot`], which ends the job when nobody waits for it any more.
//!
//! # Rooms
//! Each uses only those before it.
//!
//! 1. [`icons`], the glyphs.
//! 2. [`theme`], colours, sizes, spaces and small widgets.
//! 3. [`texture`], pictures in the memory of the graphics card.
//! 4. [`timings`], when the first frames were drawn.
//! 5. [`fonts`], characters of fonts of the system; [`ui`], what several views share: lists, trees, the canvas, drop-downs, splitters, tabs, cut and long texts, JSON.
//! 6. [`grid`], rows and columns of cells, as many as there are.
//! 7. [`facts`], a node in a few words.
//! 8. [`search`], nodes by name, dtype, shape and kind.
//! 9. [`watch`], files that somebody else changes.
//! 10. [`files`], those that are open.
//! 11. [`samples`], files that come with the program.
//! 12. [`target`], what a tab is about and what can be asked of it.
//! 13. [`number_format`], how numbers are written.
//! 14. [`settings`], what a person prefers.
//! 15. [`commands`], everything that the window can be asked to do.
//! 16. [`security`], what loading a file would run, in words; [`exports`], those that wait, run or have ended.
//! 17. [`session`], what is kept from one run to the next.
//! 18. [`snippets`], a node as code that loads it.
//! 19. [`node_menu`], what can be done with a node, as lines of a context menu.
//! 20. [`views`], what a tab shows: a folder or file for each kind of content.
//! 21. [`status`], the bar at the bottom.
//! 22. [`inspector`], [`explorer`], right and left of the window.
//! 23. [`tabs`], the middle.
//! 24. [`drop`](mod@drop), [`start`], [`dialogs`], [`palette`]: what lies over them, or stands where nothing is open.
//! 25. [`offscreen`], frames that are drawn without a window.
//! 26. [`app`], what holds them together.
//!
//! # Adding something
//! - A command of the window: a line of the table in [`commands`]; the compiler then asks [`app`] (`act.rs`) for its arm.
//!   Menu, palette, keys and the list under F1 come from the table.
//! - A command of a view: a line of the view's own `COMMANDS` ([`views`], `ViewCommand`), with what it does; a view without
//!   commands gets the table and the two methods that hand it out, as in `views/text.rs`. An icon that is not in [`icons`]
//!   is cut into the font by `assets/make_fonts.py`.
//! - A dialog: its file under `dialogs`, and a variant of `Dialog` there; the compiler asks for its name and its drawing.
//! - What a tab shows: a variant of `TabContent` in [`target`]; the compiler asks for its nodes, its view
//!   (`views::make`) and what a session keeps. A view of one more kind of content: an arm of `views::node_view`.
//!
//! # Tests
//! Each room has its own; `app/tests` has those of the whole window in a harness without a screen. Twelve pictures of it
//! stand in `tests/snapshots`. Where the look changes on purpose, `UPDATE_SNAPSHOTS=1 cargo test --bin gander snapshots`
//! writes those that differ anew; look at them before they are committed. A comparison that fails leaves `NAME.new.png` and
//! `NAME.diff.png` beside the picture.

mod app;
mod commands;
mod dialogs;
mod drop;
mod explorer;
mod exports;
mod facts;
mod files;
mod fonts;
pub(crate) mod grid;
pub(crate) mod icons;
mod inspector;
mod node_menu;
pub(crate) mod number_format;
mod offscreen;
mod palette;
mod samples;
mod search;
mod security;
mod session;
mod settings;
mod snippets;
mod start;
mod status;
mod tabs;
mod target;
mod texture;
pub(crate) mod theme;
mod timings;
mod ui;
mod views;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, anyhow};
use eframe::Renderer;
use egui::{IconData, ViewportBuilder};
use gander::jobs::Jobs;
use parking_lot::Mutex;

pub(crate) use app::render;
use files::{Files, Named};
use session::Session;
use settings::{Problem, Settings, SettingsFile, ThemeChoice, Word as _};

/// What draws the window if nothing else is said. glow needs less memory than wgpu.
pub(crate) const RENDERER: Renderer = Renderer::Glow;

/// How the window starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// What draws: glow (OpenGL) or wgpu (Vulkan, Metal, Direct3D). The other one is tried if it fails.
    pub(crate) renderer: Option<Renderer>,
    /// Save a picture of the window here once nothing moves, and close it.
    pub(crate) screenshot: Option<PathBuf>,
    /// The window's size in points.
    pub(crate) size: Option<(f32, f32)>,
    /// `light`, `dark` or `system`, in place of what the session says.
    pub(crate) theme: Option<String>,
    /// Start without the last session.
    pub(crate) new: bool,
    /// Read files here, whatever the settings say.
    pub(crate) no_isolate: bool,
}

impl Options {
    /// Takes `glow` or `wgpu`, as in `--renderer` and `GANDER_RENDERER`.
    pub(crate) fn renderer(word: &str) -> anyhow::Result<Renderer> {
        match word {
            "glow" => Ok(Renderer::Glow),
            "wgpu" => Ok(Renderer::Wgpu),
            other => Err(anyhow!("--renderer {other}: it is glow or wgpu")),
        }
    }
}

/// Wakes the window from other threads, once it is there.
#[derive(Clone, Default)]
struct Waker(Arc<OnceLock<egui::Context>>);

impl Waker {
    fn set(&self, ctx: &egui::Context) {
        // A second renderer that is tried has another context, but then the first was never set.
        let _ = self.0.set(ctx.clone());
    }

    /// Threads that wake the window when what they do is done.
    fn jobs(&self) -> Jobs {
        let waker = self.clone();
        Jobs::new(move || waker.wake())
    }

    fn wake(&self) {
        if let Some(ctx) = self.0.get() {
            ctx.request_repaint();
        }
    }
}

/// What begins before the window is there: the files that were named are read meanwhile.
pub(crate) struct Launch {
    jobs: Jobs,
    files: Files,
    /// The files that were named on the command line, and of each the node that was named with it.
    named: Vec<Named>,
    session: Session,
    settings: (SettingsFile, Settings, Vec<Problem>),
    /// The theme that was asked for on the command line, in place of that of the settings.
    theme: Option<ThemeChoice>,
    waker: Waker,
    screenshot: Option<PathBuf>,
}

impl Launch {
    fn new(paths: &[PathBuf], options: &Options) -> Self {
        let waker = Waker::default();
        let jobs = waker.jobs();
        let settings = if options.screenshot.is_some() { Default::default() } else { SettingsFile::load() };
        if settings.1.isolate && !options.no_isolate && !crate::isolation::is_on() {
            // Before the first file is opened.
            crate::isolation::start(&[]);
        } else if !crate::isolation::is_on() {
            crate::isolation::unprepare();
        }
        let mut session = if options.screenshot.is_some() { Session::default() } else { Session::load() };
        let mut files = Files::default();
        files.remember(&session.raw);
        let named = files.open_named(paths);
        files.poll(&jobs);
        let theme = options.theme.as_deref().map(|word| ThemeChoice::by_id(word).unwrap_or_default());
        if options.new {
            session.tabs.clear();
            session.split = None;
            session.unfolded.clear();
        }
        let screenshot = options.screenshot.clone();
        Launch { jobs, files, named, session, settings, theme, waker, screenshot }
    }

    /// On one node, as nobody has set anything: the file is opened by its options.
    fn of(
        target: &Path,
        (file, options): (&Path, &gander::data::format::Options),
        theme: ThemeChoice,
    ) -> Self {
        let waker = Waker::default();
        let jobs = waker.jobs();
        let mut files = Files::default();
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        files.remember(&[(file, options.0.clone())]);
        let named = files.open_named(&[target.to_owned()]);
        files.poll(&jobs);
        let (session, settings) = (Session::default(), Default::default());
        Launch { jobs, files, named, session, settings, theme: Some(theme), waker, screenshot: None }
    }
}

/// Opens the window on these files and folders; returns when it was closed.
///
/// # Errors
/// Where there is no display, or neither renderer starts.
pub(crate) fn run(files: Vec<PathBuf>, options: Options) -> anyhow::Result<()> {
    if !has_display() {
        return Err(anyhow!(
            "gander: there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set); \
             `gander show FILE` prints here, `xvfb-run gander --screenshot OUT.png FILE` makes a picture"
        ));
    }
    let launch = Launch::new(&files, &options);
    let size = options.size.or(launch.session.window).unwrap_or((1400.0, 900.0));
    let launch = Arc::new(Mutex::new(Some(launch)));
    let from_environment = std::env::var("GANDER_RENDERER").ok();
    let from_environment = from_environment.and_then(|word| Options::renderer(&word).ok());
    let first = options.renderer.or(from_environment).unwrap_or(RENDERER);
    let second = if first == Renderer::Glow { Renderer::Wgpu } else { Renderer::Glow };
    let started = Arc::new(AtomicBool::new(false));
    match start(first, size, &launch, &started) {
        Ok(()) => Ok(()),
        // A window that was open and failed later is not opened a second time.
        Err(error) if started.load(Ordering::Relaxed) => Err(error),
        Err(error) => start(second, size, &launch, &started)
            .with_context(|| format!("neither renderer starts; {first} said: {error:#}")),
    }
}

/// Whether a window can be opened at all. Only X11 and Wayland say so beforehand.
fn has_display() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(all(unix, not(target_os = "macos")))
        || set("DISPLAY")
        || set("WAYLAND_DISPLAY")
        || set("WAYLAND_SOCKET")
}

fn start(
    renderer: Renderer,
    (width, height): (f32, f32),
    launch: &Arc<Mutex<Option<Launch>>>,
    started: &Arc<AtomicBool>,
) -> anyhow::Result<()> {
    let viewport = ViewportBuilder::default()
        .with_title("Gander")
        .with_app_id("gander")
        .with_inner_size([width, height])
        .with_min_inner_size([640.0, 420.0])
        .with_drag_and_drop(true)
        .with_icon(window_icon());
    let native = eframe::NativeOptions {
        viewport,
        renderer,
        persist_window: false,
        multisampling: 0,
        ..eframe::NativeOptions::default()
    };
    let (launch, started) = (launch.clone(), started.clone());
    let make: eframe::AppCreator<'_> = Box::new(move |creation| {
        started.store(true, Ordering::Relaxed);
        let launch = launch.lock().take().ok_or("the window was opened twice")?;
        Ok(Box::new(app::App::new(&creation.egui_ctx, launch)))
    });
    eframe::run_native("gander", native, make).map_err(|error| anyhow!("the window does not open: {error}"))
}

/// The window's icon, drawn here: a table of which one cell is looked at.
fn window_icon() -> IconData {
    const SIDE: usize = 64;
    let mut rgba = Vec::with_capacity(SIDE * SIDE * 4);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let (column, row) = (x / 16, y / 16);
            let line = x % 16 == 0 || y % 16 == 0;
            let color: [u8; 4] = match (line, column, row) {
                (true, _, _) => [0x16, 0x18, 0x1c, 0xff],
                (false, 2, 1) => [0x5a, 0xa2, 0xf7, 0xff],
                (false, _, 0) => [0x5c, 0x63, 0x70, 0xff],
                _ => [0xd7, 0xda, 0xe0, 0xff],
            };
            rgba.extend(color);
        }
    }
    IconData { rgba, width: SIDE as u32, height: SIDE as u32 }
}
