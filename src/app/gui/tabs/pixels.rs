//! A picture of one pixel an element on its way to the clipboard: read by a job.

use std::sync::Arc;

use egui::{ColorImage, Context};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::{Image, Rect};
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::commands::Action;

/// The most pixels that are put on the clipboard.
const MOST: u64 = 1 << 24;
/// Rows that are read at a time.
const ROWS: u64 = 256;

/// A picture that is being read.
pub(super) struct PixelsCopy {
    image: Arc<dyn Image>,
    slot: Slot<(), ColorImage>,
}

impl PixelsCopy {
    /// Of this picture, 8-bit RGBA.
    ///
    /// # Errors
    /// What is to be said where it is too large.
    pub(super) fn new(image: Arc<dyn Image>) -> std::result::Result<Self, String> {
        let (width, height) = (image.info().width, image.info().height);
        if width.saturating_mul(height) > MOST {
            let side = display::count;
            return Err(format!(
                "The picture has {} × {} pixels, too many for the clipboard: export it instead",
                side(width),
                side(height)
            ));
        }
        Ok(PixelsCopy { image, slot: Slot::default() })
    }

    /// In each frame; what is to be said at its end.
    pub(super) fn step(&self, ctx: &Context, jobs: &Jobs) -> Option<Action> {
        let image = self.image.clone();
        let shown = self
            .slot
            .get(jobs, &(), JobSpec::once("copying a picture"), move |task| pixels(image.as_ref(), task));
        let words = match (shown.ready(), shown.error) {
            (Some(picture), _) => {
                let [width, height] = picture.size;
                ctx.copy_image(picture.as_ref().clone());
                format!("Copied the picture, {width} × {height} pixels, one an element")
            }
            (None, Some(error)) if error.is_cancelled() => "The picture was not copied".to_owned(),
            (None, Some(error)) => format!("The picture was not copied: {}", error.message()),
            (None, None) => return None,
        };
        Some(Action::Notice(words))
    }
}

/// All of a picture.
fn pixels(image: &dyn Image, task: &Task) -> Result<ColorImage> {
    let (width, height) = (image.info().width, image.info().height);
    let mut data = Vec::new();
    for y in (0..height).step_by(ROWS as usize) {
        let rect = Rect { x: 0, y, width, height: ROWS.min(height - y) };
        data.extend(image.read(task, 0, 0, rect)?.data);
        task.check()?;
    }
    Ok(ColorImage::from_rgba_unmultiplied([width as usize, height as usize], &data))
}
