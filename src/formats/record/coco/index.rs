//! The images of a document, and which annotations are of which image.

use super::Lists;
use super::annotation::{self, Category, Image};
use crate::bytes::cache::Reservation;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::engines::annotations::{Annotated, ImageRow};
use crate::engines::json::{Document, Walk};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The most images and annotations that are kept.
const IMAGES: usize = 1 << 24;
const ANNOTATIONS: usize = 1 << 25;
/// Images that are listed when the document is opened.
const FIRST: u64 = 2_000;
/// Bytes that are read at once where elements follow each other.
const PIECE: usize = 1 << 20;
/// Bytes that are read where they lie apart.
const NEAR: usize = 4 << 10;
/// The longest element.
const ELEMENT: u64 = 256 << 20;
/// Elements between two looks at the task.
const CHECK: u64 = 4_096;

/// Where an annotation is, and the image that it is of.
#[derive(Clone, Copy, Debug)]
struct Place {
    image: i64,
    start: u64,
    len: u32,
}

/// What is known once the annotations were gone over.
struct Index {
    /// By image, of one image in the order of the file.
    places: Vec<Place>,
    categories: HashMap<i64, Category>,
    _kept: Reservation,
}

#[derive(Default)]
struct Listed {
    images: Vec<Image>,
    /// Elements that were passed.
    passed: u64,
}

/// The images.
pub(super) struct Images {
    document: Arc<Document>,
    lists: Lists,
    listed: Mutex<Listed>,
    known: AtomicU64,
    ended: AtomicBool,
    index: OnceLock<Index>,
    /// One makes the index, the others wait for it.
    making: Mutex<()>,
    prefixes: OnceLock<(String, Option<String>)>,
}

/// The texts of elements, read ahead.
struct Elements<'a> {
    task: &'a Task,
    document: &'a Document,
    start: u64,
    bytes: Bytes,
    /// Bytes that are read at once.
    piece: usize,
}

impl<'a> Elements<'a> {
    fn new(task: &'a Task, document: &'a Document, piece: usize) -> Self {
        Elements { task, document, start: 0, bytes: Bytes::new(), piece }
    }

    fn text(&mut self, span: &Range<u64>) -> Result<std::borrow::Cow<'_, str>> {
        let len = limits::check(span.end.saturating_sub(span.start), ELEMENT, "an element of the document")?;
        let within = |start: u64, have: usize| {
            let from = usize::try_from(span.start.checked_sub(start)?).ok()?;
            (from.checked_add(len)? <= have).then_some(from)
        };
        let from = match within(self.start, self.bytes.len()) {
            Some(from) => from,
            None => {
                self.bytes = self.document.source().read_up_to(self.task, span.start, len.max(self.piece))?;
                self.start = span.start;
                0
            }
        };
        let bytes = self.bytes.get(from..from + len);
        let bytes =
            bytes.ok_or_else(|| Error::malformed("JSON: an element ends behind the file").at(span.start))?;
        Ok(String::from_utf8_lossy(bytes))
    }
}

impl Images {
    pub(super) fn new(document: Arc<Document>, lists: Lists) -> Result<Images> {
        Ok(Images {
            document,
            lists,
            listed: Mutex::default(),
            known: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            index: OnceLock::new(),
            making: Mutex::new(()),
            prefixes: OnceLock::new(),
        })
    }

    /// What stands before the names of pictures and of masks.
    pub(super) fn lie_in(&self, pictures: String, masks: Option<String>) {
        let _ = self.prefixes.set((pictures, masks));
    }

    /// The names of some of the pictures.
    pub(super) fn names(&self, task: &Task) -> Result<Vec<String>> {
        self.list(task, FIRST)?;
        let listed = self.listed.lock();
        Ok(listed.images.iter().filter_map(|image| image.file.clone()).take(4).collect())
    }

    /// Lists images until so many are known, or all.
    fn list(&self, task: &Task, until: u64) -> Result<()> {
        if self.ended.load(Ordering::Acquire) || self.known.load(Ordering::Acquire) >= until {
            return Ok(());
        }
        let Some(list) = &self.lists.images else { return Ok(()) };
        let mut listed = self.listed.lock();
        let mut walk = Walk::new(task, &self.document, list.start, listed.passed)?;
        while walk.position() < listed.passed && walk.next()?.is_some() {}
        let mut elements = Elements::new(task, &self.document, PIECE);
        while (listed.images.len() as u64) < until {
            if listed.passed.is_multiple_of(CHECK) {
                task.check()?;
            }
            // What breaks the list ends it; the document says so.
            let Ok(Some(child)) = walk.next().unless_cancelled()? else {
                self.ended.store(true, Ordering::Release);
                break;
            };
            listed.passed += 1;
            if let Some(image) = annotation::image(&elements.text(&child.span)?) {
                limits::check(listed.images.len() as u64, IMAGES as u64, "the list of images")?;
                listed.images.push(image);
            }
        }
        self.known.store(listed.images.len() as u64, Ordering::Release);
        Ok(())
    }

    /// The annotations by image; gone over once.
    fn index(&self, task: &Task) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let _one = self.making.lock();
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let lists = match self.lists.whole {
            true => self.lists.clone(),
            false => Lists::find(task, &self.document, false)?,
        };
        let mut places = Vec::new();
        if let Some(list) = &lists.annotations {
            task.set_total(list.end.saturating_sub(list.start));
            let mut walk = Walk::new(task, &self.document, list.start, 0)?;
            let mut elements = Elements::new(task, &self.document, PIECE);
            while let Ok(Some(child)) = walk.next().unless_cancelled()? {
                if child.index.is_multiple_of(CHECK) {
                    task.check()?;
                    task.reached(child.span.start.saturating_sub(list.start));
                }
                let len = u32::try_from(child.span.end - child.span.start).unwrap_or(u32::MAX);
                if let Some(image) = annotation::image_of(&elements.text(&child.span)?) {
                    limits::check(places.len() as u64, ANNOTATIONS as u64, "the list of annotations")?;
                    places.push(Place { image, start: child.span.start, len });
                }
            }
        }
        places.sort_by_key(|place| place.image);
        places.shrink_to_fit();
        let categories = match &lists.categories {
            Some(list) => {
                limits::check(list.end.saturating_sub(list.start), limits::HEADER, "the list of categories")?;
                let bytes = self.document.source().read(task, list.clone())?;
                annotation::categories(&String::from_utf8_lossy(&bytes))
            }
            None => HashMap::new(),
        };
        let kept = Reservation::new(places.len() * size_of::<Place>());
        Ok(self.index.get_or_init(|| Index { places, categories, _kept: kept }))
    }

    /// What is said of an image.
    fn annotate(
        &self,
        elements: &mut Elements<'_>,
        index: &Index,
        key: i64,
        row: &mut ImageRow,
    ) -> Result<()> {
        let first = index.places.partition_point(|place| place.image < key);
        let own = index.places.iter().skip(first).take_while(|place| place.image == key);
        for place in own {
            let text = elements.text(&(place.start..place.start + u64::from(place.len)))?;
            let Some(found) = annotation::annotation(&text, &index.categories) else { continue };
            row.objects.extend(found.objects);
            row.captions.extend(found.caption);
            if let Some(file) = found.file {
                let before = self.prefixes.get().and_then(|(_, masks)| masks.as_deref()).unwrap_or_default();
                row.mask = Some(format!("{before}{file}"));
            }
        }
        Ok(())
    }
}

impl Annotated for Images {
    fn rows(&self) -> Rows {
        let known = self.known.load(Ordering::Acquire);
        if self.ended.load(Ordering::Acquire) { Rows::Exact(known) } else { Rows::AtLeast(known) }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.list(task, u64::MAX)?;
        Ok(self.known.load(Ordering::Acquire))
    }

    fn images(&self, task: &Task, range: Range<u64>, objects: bool) -> Result<Vec<ImageRow>> {
        self.list(task, range.end)?;
        let chosen: Vec<Image> = {
            let listed = self.listed.lock();
            let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(listed.images.len());
            let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
            listed.images.get(start..end).unwrap_or_default().to_vec()
        };
        let index = if objects { Some(self.index(task)?) } else { None };
        let prefix = self.prefixes.get().map_or("", |(pictures, _)| pictures.as_str());
        let mut elements = Elements::new(task, &self.document, NEAR);
        let mut rows = Vec::with_capacity(chosen.len());
        for image in chosen {
            task.check()?;
            let mut row = ImageRow {
                id: image.id,
                image: image.file.map(|file| format!("{prefix}{file}")),
                width: image.width,
                height: image.height,
                ..ImageRow::default()
            };
            if let Some(index) = index {
                self.annotate(&mut elements, index, image.key, &mut row)?;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}
