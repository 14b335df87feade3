//! The strip below a video: key frames from its beginning to its end, small; a click goes to one.

use std::sync::Arc;

use egui::{Color32, ColorImage, Rect, Sense, TextureOptions, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::image::Rect as Area;
use gander::data::content::{Image, Pixels};
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::texture::Texture;
use crate::gui::theme::{Theme, space};

/// Height of the strip, in points.
pub(super) const HEIGHT: f32 = 56.0;
/// Pixels of a small picture, across.
const WIDE: u64 = 128;
/// Small pictures, at most.
const MOST: u64 = 12;
/// Frames of a video that is decoded from its beginning to its end for them.
const SHORT: u64 = 500;

/// A frame, small.
#[derive(Clone)]
struct Thumb {
    frame: u64,
    image: Arc<ColorImage>,
}

/// The state of the strip.
#[derive(Default)]
pub(super) struct Strip {
    thumbs: Slot<(), Vec<Thumb>>,
    textures: Vec<(u64, Texture)>,
}

/// Whether a picture has a strip: a video of several frames that can be decoded here.
pub(super) fn has_strip(image: &dyn Image) -> bool {
    let info = image.info();
    info.frames > 1 && info.video.as_ref().is_some_and(|video| video.can_decode && !video.keys.is_empty())
}

/// Key frames at about even distances; of a short video any frames.
fn chosen(image: &dyn Image) -> Vec<u64> {
    let info = image.info();
    let Some(video) = &info.video else { return Vec::new() };
    let count = MOST.min(info.frames);
    let near = |frame: u64| {
        let after = video.keys.partition_point(|key| *key <= frame);
        video.keys.get(after.saturating_sub(1)).copied()
    };
    let even = |n: u64| n * info.frames / count;
    let mut frames: Vec<u64> = (0..count).filter_map(|n| near(even(n))).collect();
    frames.dedup();
    // Of a short video with few of them all frames are decoded soon.
    if (frames.len() as u64) < count / 2 && info.frames <= SHORT {
        frames = (0..count).map(even).collect();
    }
    frames
}

/// A frame, small.
fn small(pixels: &Pixels) -> ColorImage {
    let rgb = pixels.to_rgb8();
    let width = WIDE.min(pixels.width).max(1);
    let height = (pixels.height * width / pixels.width.max(1)).max(1);
    let mut out = Vec::with_capacity((width * height) as usize);
    for y in 0..height {
        for x in 0..width {
            let at = (y * pixels.height / height * pixels.width + x * pixels.width / width) as usize * 3;
            out.push(match rgb.get(at..at + 3) {
                Some(&[red, green, blue]) => Color32::from_rgb(red, green, blue),
                _ => Color32::BLACK,
            });
        }
    }
    ColorImage::new([width as usize, height as usize], out)
}

fn read(image: &dyn Image, task: &Task, frame: u64) -> Result<Thumb> {
    let pixels = image.read(task, frame, 0, Area::all(u64::MAX, u64::MAX))?;
    Ok(Thumb { frame, image: Arc::new(small(&pixels)) })
}

impl Strip {
    /// Draws the strip; the frame that was chosen in it.
    pub(super) fn ui(
        &mut self,
        ui: &Ui,
        rect: Rect,
        image: &Arc<dyn Image>,
        jobs: &Jobs,
        current: u64,
    ) -> Option<u64> {
        let theme = Theme::of(ui);
        let of = image.clone();
        let shown = self.thumbs.ask(
            jobs,
            &(),
            || JobSpec::scan("small pictures of the video"),
            move |task, partial| {
                let mut thumbs = Vec::new();
                for frame in chosen(of.as_ref()) {
                    thumbs.push(read(of.as_ref(), task, frame)?);
                    partial.show(thumbs.clone());
                }
                Ok(thumbs)
            },
        );
        let thumbs = shown.so_far()?;
        for thumb in thumbs.iter().skip(self.textures.len()) {
            let texture = Texture::new(ui.ctx(), "small picture", &thumb.image, TextureOptions::LINEAR);
            self.textures.push((thumb.frame, texture));
        }
        let frames = image.info().frames;
        let count = self::chosen(image.as_ref()).len().max(1) as f32;
        let width = (rect.width() - space::S1 * (count - 1.0)) / count;
        let mut chosen = None;
        for (n, (frame, texture)) in self.textures.iter().enumerate() {
            let left = rect.left() + n as f32 * (width + space::S1);
            let cell = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
            let size = texture.size();
            let scale = (cell.width() / size.x).min(cell.height() / size.y);
            let place = Rect::from_center_size(cell.center(), size * scale);
            texture.paint(ui.painter(), place);
            let next = self.textures.get(n + 1).map_or(frames, |(frame, _)| *frame);
            if (*frame..next).contains(&current) {
                ui.painter().rect_stroke(place, 2.0, (2.0, theme.accent), egui::StrokeKind::Inside);
            }
            let response = ui.interact(cell, ui.scope_id().with(("small picture", n)), Sense::click());
            response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("frame {frame}")));
            if response.on_hover_text(format!("frame {frame}")).clicked() {
                chosen = Some(*frame);
            }
        }
        chosen
    }
}
