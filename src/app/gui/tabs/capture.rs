//! What a tab shows, as a picture: the drawing as SVG, and as it is seen on the screen. The latter is told by the window
//! a frame or two later; an export waits for it that long.

use std::sync::Arc;

use egui::mutex::Mutex;
use egui::{ColorImage, Context, Rect, ScreenshotCallback, ViewportCommand};
use gander::bytes::error::Result;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::{self, Image, ImageInfo, Pixels, Sample};
use gander::data::format::Data;

/// How many frames a picture of the screen is waited for: one to let menus go, the others to take it.
const FRAMES: u8 = 5;

/// What is done with a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The export dialog opens, with pictures among what can be written.
    Export,
    /// The same, beginning with the pictures.
    ExportPicture,
    /// It goes to the clipboard.
    Copy,
}

/// A picture that is being taken.
pub(super) struct Capture {
    pub(super) purpose: Purpose,
    /// The drawing, once its frame was drawn.
    svg: Option<Source>,
    shot: Arc<Mutex<Option<ColorImage>>>,
    frames: u8,
}

impl Capture {
    /// Of the next frame.
    pub(super) fn new(purpose: Purpose) -> Self {
        Capture { purpose, svg: None, shot: Arc::default(), frames: FRAMES }
    }

    /// Whether the drawing is to be taken in this frame.
    pub(super) fn wants_svg(&self) -> bool {
        self.svg.is_none() && self.purpose != Purpose::Copy
    }

    /// Takes the drawing.
    pub(super) fn take_svg(&mut self, svg: Source) {
        self.svg = Some(svg);
    }

    /// At the end of each frame; true when there is nothing more to wait for.
    pub(super) fn step(&mut self, ctx: &Context, area: Rect) -> bool {
        // The menu by which it was asked for is gone in the second frame.
        if self.frames == FRAMES - 1 {
            let (shot, wake, points) = (self.shot.clone(), ctx.clone(), ctx.pixels_per_point());
            let take = ScreenshotCallback::new(move |picture: Arc<ColorImage>| {
                *shot.lock() = cut(&picture, area, points);
                wake.request_repaint();
            });
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(take));
        }
        self.frames = self.frames.saturating_sub(1);
        ctx.request_repaint();
        self.frames == 0 || self.shot.lock().is_some()
    }

    /// As it is seen on the screen, if that came.
    pub(super) fn seen(&self) -> Option<ColorImage> {
        self.shot.lock().clone()
    }

    /// What can be written: the drawing, and as it is seen.
    pub(super) fn pictures(&self) -> Vec<(String, Data)> {
        let drawing = self.svg.clone().map(|svg| ("the drawing, as SVG".to_owned(), Data::Bytes(svg)));
        let seen = self.seen().map(|picture| {
            let picture: Arc<dyn Image> = Arc::new(Shot::new(picture));
            ("as seen, as a picture".to_owned(), Data::Image(picture))
        });
        drawing.into_iter().chain(seen).collect()
    }
}

/// The part of a picture of the whole window that lies at `area`.
fn cut(picture: &ColorImage, area: Rect, points: f32) -> Option<ColorImage> {
    let [width, height] = picture.size;
    let pixel = |at: f32, most: usize| ((at * points).round().max(0.0) as usize).min(most);
    let (left, right) = (pixel(area.left(), width), pixel(area.right(), width));
    let (top, bottom) = (pixel(area.top(), height), pixel(area.bottom(), height));
    (right > left && bottom > top)
        .then(|| picture.region_by_pixels([left, top], [right - left, bottom - top]))
}

/// A picture of the screen as an image.
struct Shot {
    picture: ColorImage,
    info: ImageInfo,
}

impl Shot {
    fn new(picture: ColorImage) -> Self {
        let [width, height] = picture.size.map(|side| side as u64);
        let info = ImageInfo {
            width,
            height,
            channels: 3,
            bits: 8,
            sample: Sample::U8,
            frames: 1,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        Shot { picture, info }
    }
}

impl Image for Shot {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, _task: &Task, _frame: u64, _level: u32, rect: content::Rect) -> Result<Pixels> {
        let rect = rect.cut(self.info.width, self.info.height);
        let rows = self.picture.pixels.chunks(self.picture.width().max(1));
        let rows = rows.skip(rect.y as usize).take(rect.height as usize);
        let row = |row: &[egui::Color32]| {
            let part = row.iter().skip(rect.x as usize).take(rect.width as usize);
            part.flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b()]).collect::<Vec<u8>>()
        };
        let data = rows.flat_map(row).collect();
        let (width, height, sample) = (rect.width, rect.height, Sample::U8);
        Ok(Pixels { width, height, channels: 3, sample, alpha: false, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Color32, pos2, vec2};

    #[test]
    fn the_part_of_the_tab_is_cut_out_of_the_window() {
        let pixels = (0..20 * 10).map(|n| Color32::from_gray(n as u8)).collect();
        let window = ColorImage::new([20, 10], pixels);
        let part = cut(&window, Rect::from_min_size(pos2(2.0, 1.0), vec2(3.0, 2.0)), 2.0).unwrap();
        assert_eq!((part.size, part.pixels[0]), ([6, 4], Color32::from_gray(2 * 20 + 4)));
        assert!(cut(&window, Rect::from_min_size(pos2(50.0, 1.0), vec2(3.0, 2.0)), 1.0).is_none());
        let shot = Shot::new(part);
        let all = shot.read(&Task::new(), 0, 0, content::Rect { x: 5, y: 3, width: 9, height: 9 }).unwrap();
        assert_eq!((all.width, all.height, all.data), (1, 1, vec![109; 3]));
    }
}
