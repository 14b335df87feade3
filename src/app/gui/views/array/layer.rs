//! A layer of a picture: a window of a slice that is read and painted by one job and drawn as one texture. A
//! heat map has two: an overview, and what is in sight. While a large window is read its layer shows what
//! there is so far ([`super::mosaic`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use egui::{Color32, ColorImage, Ui};
use gander::bytes::cache::Cache;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::jobs::{Jobs, Slot};
use parking_lot::Mutex;

use super::super::canvas::{Painted, Sight};
use super::color::{Choice, Photo, Scale, photograph, usual_window};
use super::mosaic;
use super::slice::{Slice, Window};
use super::values::{Part, Plane, Survey};

/// Which plane: of which picture's array, which slice, which part of it, seen as what.
pub(crate) type PlaneKey = (u64, Slice, Window, Part);

/// Planes that were looked at or will be: a slider that goes back and forth finds them here. One cache for
/// all views, so that many tabs do not add up.
static PLANES: LazyLock<Cache<PlaneKey, Arc<Plane>>> = LazyLock::new(|| Cache::new(192 << 20));

/// The plane, if it is in memory.
pub(super) fn in_memory(key: &PlaneKey) -> Option<Arc<Plane>> {
    PLANES.get(key)
}

/// Keeps a plane that is whole.
pub(super) fn keep(key: PlaneKey, plane: &Arc<Plane>) {
    if plane.is_whole() {
        let bytes = plane.raw.len() + plane.survey.sample.len() * 8 + plane.survey.places.len() * 24;
        PLANES.put(key, plane.clone(), bytes);
    }
}

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
        let mut image = match self {
            Paint::Heat(scale, part) => scale.paint(plane, *part),
            Paint::Photo(photo, window) => photograph(plane, *photo, *window),
        };
        let width = image.width();
        for hole in &plane.holes {
            let (left, right) = (hole.columns.start as usize, hole.columns.end() as usize);
            for row in hole.rows.start as usize..hole.rows.end() as usize {
                for column in left..right {
                    let striped = (row + column) % 6 < 2;
                    image.pixels[row * width + column] =
                        if striped { Color32::from_gray(128) } else { Color32::TRANSPARENT };
                }
            }
        }
        image
    }
}

/// A painted plane.
#[derive(Clone)]
struct Picture {
    id: u64,
    plane: Arc<Plane>,
    paint: Paint,
    image: Arc<ColorImage>,
}

impl Picture {
    fn new(plane: Arc<Plane>, paint: Paint) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let image = Arc::new(paint.image(&plane));
        Picture { id: NEXT.fetch_add(1, Ordering::Relaxed), plane, paint, image }
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Layer {
    pictures: Slot<PlaneKey, Picture>,
    /// What there is of the picture that is being made.
    partial: Partial,
    /// The same plane in other colours.
    repainted: Slot<(u64, Paint), Picture>,
    painted: Painted,
    /// The plane of the texture.
    shown: Option<Arc<Plane>>,
}

/// How far a layer is.
pub(crate) struct State {
    /// The newest plane of the slice that was asked for, perhaps in part.
    pub(crate) plane: Option<Arc<Plane>>,
    /// Why it cannot be.
    pub(crate) error: Option<Error>,
}

/// What a layer shows.
pub(crate) struct Wanted<'a> {
    pub(crate) array: &'a Arc<dyn Array>,
    /// The words for the status bar.
    pub(crate) title: &'a str,
    pub(crate) key: PlaneKey,
    pub(crate) style: &'a Style,
    /// What is known of the whole slice, if it was looked at.
    pub(crate) survey: Option<&'a Arc<Survey>>,
}

impl Wanted<'_> {
    fn ask(
        &self,
        slot: &Slot<PlaneKey, Picture>,
        jobs: &Jobs,
        partial: &Partial,
    ) -> gander::jobs::Shown<Picture> {
        let maker = Maker {
            array: self.array.clone(),
            key: self.key.clone(),
            style: *self.style,
            survey: self.survey.cloned(),
            partial: partial.clone(),
            jobs: jobs.clone(),
        };
        slot.get(jobs, &self.key, self.title, move |task| maker.make(task))
    }
}

type Partial = Arc<Mutex<Option<(PlaneKey, Arc<Picture>)>>>;

/// What a job needs to make a picture.
struct Maker {
    array: Arc<dyn Array>,
    key: PlaneKey,
    style: Style,
    survey: Option<Arc<Survey>>,
    partial: Partial,
    jobs: Jobs,
}

impl Maker {
    fn picture(&self, plane: Arc<Plane>) -> Picture {
        let survey = self.survey.as_ref().unwrap_or(&plane.survey);
        let paint = self.style.paint(&*self.array, survey);
        Picture::new(plane, paint)
    }

    fn so_far(&self) -> Option<Picture> {
        let partial = self.partial.lock();
        let (_, picture) = partial.as_ref().filter(|(key, _)| *key == self.key)?;
        Some(picture.as_ref().clone())
    }

    fn make(&self, task: &Task) -> Result<Picture> {
        if let Some(plane) = in_memory(&self.key) {
            return Ok(self.picture(plane));
        }
        let (_, slice, window, part) = &self.key;
        let mut publish = |plane: Plane| {
            let picture = Arc::new(self.picture(Arc::new(plane)));
            *self.partial.lock() = Some((self.key.clone(), picture));
            self.jobs.wake();
        };
        let read = mosaic::read(&*self.array, task, slice, *window, *part, &mut publish);
        let plane = match read {
            // Somebody stopped it: what there is stays.
            Err(error) if error.is_cancelled() => return self.so_far().ok_or(error),
            read => Arc::new(read?),
        };
        keep(self.key.clone(), &plane);
        Ok(self.picture(plane))
    }
}

impl Layer {
    /// Asks for what is missing and takes what came.
    pub(crate) fn update(&mut self, ui: &Ui, jobs: &Jobs, wanted: &Wanted<'_>) -> State {
        let (_, slice, ..) = &wanted.key;
        let asked = wanted.ask(&self.pictures, jobs, &self.partial);
        let partial = self.partial.lock().clone().filter(|(key, _)| *key == wanted.key).map(|(_, it)| it);
        let whole = asked.value.filter(|_| asked.fresh);
        if whole.is_some() {
            *self.partial.lock() = None;
        }
        let made = whole.or(partial);
        let mut state = State { plane: None, error: asked.error };
        let Some(mut picture) = made else {
            // A window beside the one that is there: it stays until the new one comes.
            state.plane = self.of(slice).cloned();
            return state;
        };
        state.plane = Some(picture.plane.clone());
        state.error = state.error.or_else(|| picture.plane.error.clone());
        let survey = wanted.survey.unwrap_or(&picture.plane.survey);
        let paint = wanted.style.paint(&**wanted.array, survey);
        if paint != picture.paint {
            let (plane, key) = (picture.plane.clone(), (picture.plane.id, paint));
            let other = self.repainted.get(jobs, &key, wanted.title, move |_| Ok(Picture::new(plane, paint)));
            match other.value.filter(|other| other.plane.id == key.0) {
                Some(other) => picture = other,
                // Something of the same slice is there: it stays until the new colours are.
                None if self.of(slice).is_some() => return state,
                None => {}
            }
        }
        self.painted.take(ui, picture.id, &picture.image, picture.plane.window.area());
        self.shown = Some(picture.plane.clone());
        state
    }

    /// The plane of the texture, if it is of this slice.
    pub(crate) fn of(&self, slice: &Slice) -> Option<&Arc<Plane>> {
        self.shown.as_ref().filter(|plane| plane.slice == *slice)
    }

    /// Whether the whole of this plane is on the screen.
    pub(crate) fn has(&self, slice: &Slice, window: &Window) -> bool {
        self.of(slice).is_some_and(|plane| plane.window == *window && plane.share >= 1.0)
    }

    /// Draws what is there of this slice. True if there is anything.
    pub(crate) fn draw(&self, ui: &Ui, sight: &Sight, slice: &Slice) -> bool {
        let fits = self.of(slice).is_some();
        if fits {
            self.painted.draw(ui, sight, Color32::WHITE);
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
        if same {
            let tint = if dimmed { Color32::WHITE.gamma_multiply(0.4) } else { Color32::WHITE };
            self.painted.draw(ui, sight, tint);
        }
    }

    /// Stops reading.
    pub(crate) fn stop(&self) {
        self.pictures.cancel();
        self.repainted.cancel();
    }

    /// Forgets everything, so that it is read anew.
    pub(crate) fn clear(&mut self) {
        self.pictures.clear();
        self.repainted.clear();
        *self.partial.lock() = None;
        self.painted.clear();
        self.shown = None;
    }
}
