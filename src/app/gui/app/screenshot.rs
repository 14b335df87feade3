//! `--screenshot FILE.png`: the window is drawn until nothing moves, saved as a picture, and closed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, ScreenshotCallback, ViewportCommand};
use gander::jobs::Jobs;

/// A picture that was asked for.
pub(super) struct Screenshot {
    file: PathBuf,
    rest: Rest,
    asked: bool,
    done: Arc<AtomicBool>,
}

/// How long all must be quiet before the picture is taken: views show that they wait only after a while.
const QUIET: Duration = Duration::from_millis(350);
/// A window that never comes to rest is pictured anyway.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether what is drawn has come to rest.
pub(super) struct Rest {
    started: Instant,
    /// Since when no job runs.
    quiet: Option<Instant>,
}

impl Rest {
    pub(super) fn new() -> Self {
        Rest { started: Instant::now(), quiet: None }
    }

    /// To be asked after each frame.
    pub(super) fn is_reached(&mut self, jobs: &Jobs) -> bool {
        match jobs.list().is_empty() {
            true => drop(self.quiet.get_or_insert_with(Instant::now)),
            false => self.quiet = None,
        }
        self.quiet.is_some_and(|since| since.elapsed() > QUIET) || self.started.elapsed() > PATIENCE
    }
}

impl Screenshot {
    pub(super) fn new(file: PathBuf) -> Self {
        Screenshot { file, rest: Rest::new(), asked: false, done: Arc::default() }
    }

    /// Looks whether it is time, at the end of each frame.
    pub(super) fn step(&mut self, ctx: &Context, jobs: &Jobs) {
        if self.done.load(Ordering::Relaxed) {
            ctx.send_viewport_cmd(ViewportCommand::Close);
            return;
        }
        ctx.request_repaint_after(Duration::from_millis(50));
        if self.rest.is_reached(jobs) && !self.asked {
            self.asked = true;
            let (file, done, wake) = (self.file.clone(), self.done.clone(), ctx.clone());
            let take = ScreenshotCallback::new(move |picture| {
                match save(&file, &picture) {
                    Ok(()) => println!("{}", file.display()),
                    Err(error) => eprintln!("{}: {error}", file.display()),
                }
                done.store(true, Ordering::Relaxed);
                wake.request_repaint();
            });
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(take));
        }
    }
}

/// Writes a picture of the window as PNG.
pub(super) fn save(file: &Path, picture: &ColorImage) -> Result<(), image::ImageError> {
    let [width, height] = picture.size.map(|side| side as u32);
    let bytes: Vec<u8> = picture.pixels.iter().flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b()]).collect();
    image::save_buffer_with_format(
        file,
        &bytes,
        width,
        height,
        image::ColorType::Rgb8,
        image::ImageFormat::Png,
    )
}
