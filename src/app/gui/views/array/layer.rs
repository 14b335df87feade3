//! A layer of a picture: a window of a slice that is read by one job, painted by another and drawn as
//! one texture. A heat map has three: a coarse overview, a finer one, and what is in sight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use egui::{Color32, ColorImage, Ui};
use gander::content::Array;
use gander::error::Error;
use gander::jobs::{Jobs, Slot};

use super::super::canvas::{Painted, Sight};
use super::color::{Choice, Photo, Scale, photograph, usual_window};
use super::slice::{Slice, Window};
use super::values::{Part, Plane, Survey};

/// How a plane is made into colours: what a person chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Style {
    /// A colour map.
    Heat(Choice),
    /// An image.
    Photo(Photo),
}

impl Style {
    /// What of complex numbers is drawn.
    pub(crate) fn part(&self) -> Part {
        match self {
            Style::Heat(choice) => choice.part,
            Style::Photo(_) => Part::Magnitude,
        }
    }

    /// The paint for values of which this is known.
    pub(crate) fn paint(&self, array: &dyn Array, survey: &Survey) -> Paint {
        match self {
            Style::Heat(choice) => Paint::Heat(choice.scale(survey), choice.part),
            Style::Photo(photo) => {
                let window = photo.window.unwrap_or_else(|| usual_window(array.dtype(), survey));
                Paint::Photo(*photo, window)
            }
        }
    }
}

/// How a plane is made into colours, worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Paint {
    /// By a scale.
    Heat(Scale, Part),
    /// As an image with its black and white.
    Photo(Photo, (f64, f64)),
}

impl Paint {
    fn image(&self, plane: &Plane) -> ColorImage {
        match self {
            Paint::Heat(scale, part) => scale.paint(plane, *part),
            Paint::Photo(photo, window) => photograph(plane, *photo, *window),
        }
    }
}

/// A painted plane.
struct Picture {
    id: u64,
    plane: Arc<Plane>,
    image: Arc<ColorImage>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Layer {
    planes: Slot<(Slice, Window, Part), Plane>,
    pictures: Slot<(u64, Paint), Picture>,
    painted: Painted,
    /// The plane of the texture.
    shown: Option<Arc<Plane>>,
}

/// How far a layer is.
pub(crate) struct State {
    /// The newest plane of the slice that was asked for.
    pub(crate) plane: Option<Arc<Plane>>,
    /// Whether the window that was asked for is painted.
    pub(crate) ready: bool,
    /// Why it cannot be.
    pub(crate) error: Option<Error>,
}

/// What a layer shows.
pub(crate) struct Wanted<'a> {
    pub(crate) array: &'a Arc<dyn Array>,
    /// The words for the status bar.
    pub(crate) title: &'a str,
    pub(crate) slice: &'a Slice,
    pub(crate) window: Window,
    pub(crate) style: &'a Style,
    /// What is known of the whole slice, if it was looked at.
    pub(crate) survey: Option<&'a Survey>,
}

impl Layer {
    /// Asks for what is missing and takes what came.
    pub(crate) fn update(&mut self, ui: &Ui, jobs: &Jobs, wanted: &Wanted<'_>) -> State {
        let part = wanted.style.part();
        let key = (wanted.slice.clone(), wanted.window, part);
        let (array, slice, window) = (wanted.array.clone(), wanted.slice.clone(), wanted.window);
        let planes = self
            .planes
            .get(jobs, &key, wanted.title, move |task| Plane::read(&*array, task, &slice, window, part));
        let plane = planes.value.filter(|plane| plane.slice == *wanted.slice);
        let mut state = State { plane: plane.clone(), ready: false, error: planes.error };
        let Some(plane) = plane else { return state };
        let paint = wanted.style.paint(&**wanted.array, wanted.survey.unwrap_or(&plane.survey));
        let id = plane.id;
        let pictures = self.pictures.get(jobs, &(id, paint), wanted.title, move |_| {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            let image = Arc::new(paint.image(&plane));
            Ok(Picture { id: NEXT.fetch_add(1, Ordering::Relaxed), plane, image })
        });
        if let Some(picture) = pictures.value {
            self.painted.take(ui, picture.id, &picture.image, picture.plane.window.area());
            state.ready = planes.fresh && picture.plane.id == id;
            self.shown = Some(picture.plane.clone());
        }
        state.error = state.error.or(pictures.error);
        state
    }

    /// The plane of the texture, if it is of this slice.
    pub(crate) fn of(&self, slice: &Slice) -> Option<&Arc<Plane>> {
        self.shown.as_ref().filter(|plane| plane.slice == *slice)
    }

    /// Draws what is there of this slice. True if there is anything.
    pub(crate) fn draw(&self, ui: &Ui, sight: &Sight, slice: &Slice) -> bool {
        let fits = self.of(slice).is_some();
        if let (true, Some((texture, area))) = (fits, self.painted.get()) {
            sight.draw(ui, texture, area, Color32::WHITE);
        }
        fits
    }

    /// Draws a slice of the same size that was here before; dimmed once it is clear that the new one
    /// takes its time.
    pub(crate) fn draw_old(&self, ui: &Ui, sight: &Sight, dimmed: bool) {
        let same = self
            .shown
            .as_ref()
            .is_some_and(|plane| [plane.slice.width() as f64, plane.slice.height() as f64] == sight.size);
        if let (true, Some((texture, area))) = (same, self.painted.get()) {
            let tint = if dimmed { Color32::WHITE.gamma_multiply(0.4) } else { Color32::WHITE };
            sight.draw(ui, texture, area, tint);
        }
    }

    /// Stops reading.
    pub(crate) fn stop(&self) {
        self.planes.cancel();
        self.pictures.cancel();
    }

    /// Forgets everything, so that it is read anew.
    pub(crate) fn clear(&mut self) {
        self.planes.clear();
        self.pictures.clear();
        self.painted.clear();
        self.shown = None;
    }
}
