//! The window: what a person sees and does. Nothing in here reads a file: what blocks runs as a job.

mod app;
mod commands;
mod dialogs;
mod drop;
mod explorer;
mod facts;
mod files;
#[allow(dead_code, unused_imports, reason = "a vocabulary: not every word is used in every build")]
pub(crate) mod grid;
#[allow(dead_code, reason = "a vocabulary: not every icon is used in every build")]
pub(crate) mod icons;
mod inspector;
mod list;
mod palette;
mod search;
mod session;
mod snippets;
mod start;
mod status;
mod tabs;
#[allow(dead_code, unused_imports, reason = "a vocabulary: not every word is used in every build")]
pub(crate) mod theme;
mod views;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use eframe::Renderer;
use egui::{IconData, ViewportBuilder};

use session::Session;

/// What draws the window if nothing else is said. glow needs less memory than wgpu.
pub const RENDERER: Renderer = Renderer::Glow;

/// How the window starts.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What draws: glow (OpenGL) or wgpu (Vulkan, Metal, Direct3D). The other one is tried if it fails.
    pub renderer: Option<Renderer>,
}

impl Options {
    /// Takes `glow` or `wgpu`, as in `--renderer` and `GANDER_RENDERER`.
    pub fn renderer(word: &str) -> anyhow::Result<Renderer> {
        match word {
            "glow" => Ok(Renderer::Glow),
            "wgpu" => Ok(Renderer::Wgpu),
            other => Err(anyhow!("--renderer {other}: it is glow or wgpu")),
        }
    }
}

/// Opens the window on these files and folders; returns when it was closed.
///
/// # Errors
/// Where there is no display, or neither renderer starts.
pub fn run(files: Vec<PathBuf>, options: Options) -> anyhow::Result<()> {
    let session = Session::load();
    let from_environment = std::env::var("GANDER_RENDERER").ok();
    let from_environment = from_environment.and_then(|word| Options::renderer(&word).ok());
    let first = options.renderer.or(from_environment).unwrap_or(RENDERER);
    let second = if first == Renderer::Glow { Renderer::Wgpu } else { Renderer::Glow };
    let started = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    match start(first, &files, &session, &started) {
        Ok(()) => Ok(()),
        // A window that was open and failed later is not opened a second time.
        Err(error) if started.load(std::sync::atomic::Ordering::Relaxed) => Err(error),
        Err(error) => start(second, &files, &session, &started)
            .with_context(|| format!("neither renderer starts; {first} said: {error:#}")),
    }
}

fn start(
    renderer: Renderer,
    files: &[PathBuf],
    session: &Session,
    started: &std::sync::Arc<std::sync::atomic::AtomicBool>,
) -> anyhow::Result<()> {
    let (width, height) = session.window.unwrap_or((1400.0, 900.0));
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
    let (files, session, started) = (files.to_vec(), session.clone(), started.clone());
    let make: eframe::AppCreator<'_> = Box::new(move |creation| {
        started.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(Box::new(app::App::new(&creation.egui_ctx, files, session)))
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
