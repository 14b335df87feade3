//! A layer of a picture: a window of a slice that is read and painted by one job and drawn as one texture. A
//! heat map has two: an overview, and what is in sight. While a large window is read its layer shows what
//! there is so far ([`tiles`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use egui::{Color32, ColorImage, Ui};
use gander::bytes::cache::Cache;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::numbers::ComplexPart;
use gander::data::plane::color::{RenderSpec, Rendering};
use gander::data::plane::tiles;
use gander::data::plane::{Plane, Slice, ValueSummary, Window};
use gander::jobs::{JobSpec, Jobs, Partial, Slot};

use crate::gui::ui::canvas::{Painted, Viewport};

/// Which plane of an array: which slice, which part of it, seen as what.
pub(crate) type PlaneKey = (Slice, Window, ComplexPart);

/// The most bytes of planes that one picture keeps; all of them share the budget of decoded bytes.
const KEPT: usize = 192 << 20;

/// Planes of one array that were looked at or will be: a slider that goes back and forth finds them here. They go when
/// nobody shows the array any more.
#[derive(Clone)]
pub(crate) struct Planes(Arc<Cache<PlaneKey, Arc<Plane>>>);

impl Default for Planes {
    fn default() -> Self {
        Planes(Arc::new(Cache::new(KEPT)))
    }
}

impl Planes {
    /// The plane, if it is in memory.
    pub(super) fn get(&self, key: &PlaneKey) -> Option<Arc<Plane>> {
        self.0.get(key)
    }

    /// Keeps a plane that is whole.
    pub(super) fn put(&self, key: PlaneKey, plane: &Arc<Plane>) {
        if plane.is_whole() {
            let bytes = plane.raw.len() + plane.summary.sample.len() * 8 + plane.summary.places.len() * 24;
            self.0.put(key, plane.clone(), bytes);
        }
    }
}

/// A painted plane.
#[derive(Clone)]
struct Picture {
    id: u64,
    plane: Arc<Plane>,
    rendering: Rendering,
    image: Arc<ColorImage>,
}

impl Picture {
    fn new(plane: Arc<Plane>, rendering: Rendering) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let pixels = rendering.paint(&plane);
        let size = [pixels.width as usize, pixels.height as usize];
        let image = Arc::new(ColorImage::from_rgba_unmultiplied(size, &pixels.data));
        Picture { id: NEXT.fetch_add(1, Ordering::Relaxed), plane, rendering, image }
    }
}

/// The picture of a plane, coarse first.
#[derive(Default)]
pub(crate) struct Layer {
    pictures: Slot<PlaneKey, Picture>,
    /// The same plane in other colours.
    repainted: Slot<(u64, Rendering), Picture>,
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
    pub(crate) planes: &'a Planes,
    pub(crate) style: &'a RenderSpec,
    /// What is known of the whole slice, if it was looked at.
    pub(crate) summary: Option<&'a Arc<ValueSummary>>,
}

impl Wanted<'_> {
    fn ask(&self, slot: &Slot<PlaneKey, Picture>, jobs: &Jobs) -> gander::jobs::Shown<Picture> {
        let maker = Maker {
            array: self.array.clone(),
            key: self.key.clone(),
            planes: self.planes.clone(),
            style: *self.style,
            summary: self.summary.cloned(),
        };
        slot.ask(
            jobs,
            &self.key,
            || JobSpec::once(self.title.to_owned()),
            move |task, partial| maker.make(task, partial),
        )
    }
}

/// What a job needs to make a picture.
struct Maker {
    array: Arc<dyn Array>,
    key: PlaneKey,
    planes: Planes,
    style: RenderSpec,
    summary: Option<Arc<ValueSummary>>,
}

impl Maker {
    fn picture(&self, plane: Arc<Plane>) -> Picture {
        let summary = self.summary.as_ref().unwrap_or(&plane.summary);
        let rendering = self.style.resolve(&*self.array, summary);
        Picture::new(plane, rendering)
    }

    fn make(&self, task: &Task, partial: &Partial<'_, Picture>) -> Result<Picture> {
        if let Some(plane) = self.planes.get(&self.key) {
            return Ok(self.picture(plane));
        }
        let (slice, window, part) = &self.key;
        let mut publish = |plane: Plane| partial.show(self.picture(Arc::new(plane)));
        let plane = Arc::new(tiles::read(&*self.array, task, slice, *window, *part, &mut publish)?);
        self.planes.put(self.key.clone(), &plane);
        Ok(self.picture(plane))
    }
}

impl Layer {
    /// Asks for what is missing and takes what came.
    pub(crate) fn update(&mut self, ui: &Ui, jobs: &Jobs, wanted: &Wanted<'_>) -> State {
        let (slice, ..) = &wanted.key;
        let asked = wanted.ask(&self.pictures, jobs);
        let made = asked.so_far();
        // Where somebody stopped it, what there is stays.
        let mut state = State { plane: None, error: asked.error };
        let Some(mut picture) = made else {
            // A window beside the one that is there: it stays until the new one comes.
            state.plane = self.of(slice).cloned();
            return state;
        };
        state.plane = Some(picture.plane.clone());
        state.error = state.error.or_else(|| picture.plane.error.clone());
        let summary = wanted.summary.unwrap_or(&picture.plane.summary);
        let rendering = wanted.style.resolve(&**wanted.array, summary);
        if rendering != picture.rendering {
            let (plane, key) = (picture.plane.clone(), (picture.plane.id, rendering));
            let other = self.repainted.get(jobs, &key, JobSpec::view(wanted.title.to_owned()), move |_| {
                Ok(Picture::new(plane, rendering))
            });
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
    pub(crate) fn draw(&self, ui: &Ui, sight: &Viewport, slice: &Slice) -> bool {
        let fits = self.of(slice).is_some();
        if fits {
            self.painted.draw(ui, sight, Color32::WHITE);
        }
        fits
    }

    /// Draws a slice of the same size that was here before; dimmed once it is clear that the new one
    /// takes its time.
    pub(crate) fn draw_old(&self, ui: &Ui, sight: &Viewport, dimmed: bool) {
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
        self.painted.clear();
        self.shown = None;
    }
}
