//! The small pictures that are in memory: read, decoded and reduced by a job, the newest request first. Bounded by bytes,
//! but what was drawn last is never dropped.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef};
use egui::{ColorImage, Context, TextureFilter, TextureOptions};
use gander::bytes::cache::Reservation;
use gander::bytes::error::{Error, Result, UnlessCancelled};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::data::content::table::read_each;
use gander::data::media::regions::Region;
use gander::data::media::shapes;
use gander::data::media::{
    Boxes, KeyPoints, LabelColumn, MediaColumn, Picture, Place, Preview, ThumbnailStore, payload, thumbnail,
};
use gander::jobs::{JobSpec, Jobs, Slot};
use parking_lot::Mutex;

use crate::gui::texture::Texture;

/// Bytes of pictures that are kept.
const KEPT: usize = 192 << 20;
/// Rows that are read at once.
const STEP: u64 = 12;
/// So many decode at the same time at most.
const THREADS: usize = 4;
/// A frame hands pictures to the graphics card for so long at most.
const UPLOAD: Duration = Duration::from_millis(4);
/// A request that is younger than this is let go on while some of its rows are in sight.
const PATIENCE: Duration = Duration::from_millis(80);
/// Bytes of pictures that are kept on disk.
const STORED: u64 = 512 << 20;

/// Pictures on disk, in the folder for what can be made again.
static STORE: LazyLock<Option<ThumbnailStore>> = LazyLock::new(|| {
    let folders = directories::ProjectDirs::from("", "", "gander")?;
    Some(ThumbnailStore::new(&folders.cache_dir().join("thumbnails"), STORED))
});

/// The longest label and caption, in characters.
const WORDS: usize = 200;

/// What is asked of each row.
#[derive(Clone, PartialEq)]
pub(super) struct ThumbRequest {
    /// The column of media.
    pub(super) column: MediaColumn,
    /// The column that says what is on it.
    pub(super) label: Option<LabelColumn>,
    /// The column of a text on it.
    pub(super) caption: Option<usize>,
    pub(super) boxes: Option<Boxes>,
    pub(super) key_points: Option<KeyPoints>,
    /// The column of masks.
    pub(super) mask: Option<MediaColumn>,
    /// The longer side of pictures, in pixels.
    pub(super) side: u32,
    /// Whether pictures are kept on disk.
    pub(super) keep: bool,
}

impl ThumbRequest {
    /// The columns of the table that are read, each once.
    fn columns(&self) -> Vec<usize> {
        let mut columns = vec![self.column.column];
        columns.extend(self.label.as_ref().map(|label| label.column));
        columns.extend(self.caption);
        columns.extend(self.boxes.iter().flat_map(|boxes| boxes.columns.iter().copied()));
        columns.extend(self.key_points.map(|points| points.column));
        columns.extend(self.mask.as_ref().map(|mask| mask.column));
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// What a job makes of a row.
struct TileContent {
    preview: Result<Option<Preview>>,
    mask: Option<Picture>,
    /// The shapes of regions.
    shapes: Option<Picture>,
    label: Option<String>,
    caption: Option<String>,
    regions: Vec<Region>,
    points: Vec<[f64; 2]>,
}

/// A row that is ready to draw.
pub(super) struct Thumb {
    pub(super) picture: Option<Texture>,
    pub(super) mask: Option<Texture>,
    pub(super) shapes: Option<Texture>,
    /// What the payload is; why there is no picture.
    pub(super) words: String,
    pub(super) failed: bool,
    /// Only a part of it could be decoded.
    pub(super) partial: bool,
    /// Bytes of the payload.
    pub(super) bytes: u64,
    pub(super) label: Option<String>,
    pub(super) caption: Option<String>,
    pub(super) regions: Vec<Region>,
    pub(super) points: Vec<[f64; 2]>,
    kept: usize,
    used: u64,
}

/// What a job is asked for: which rows of which look.
type Key = (u64, Range<u64>);

/// What jobs have made and no frame has taken yet, with the look that it was made for.
type Inbox = Arc<Mutex<Vec<(u64, u64, TileContent)>>>;

/// The pictures of one table.
#[derive(Default)]
pub(super) struct Thumbs {
    /// The table, and what is asked.
    look: Option<(Arc<dyn Table>, ThumbRequest)>,
    /// Counts up with each look.
    version: u64,
    kept: HashMap<u64, Thumb>,
    bytes: usize,
    reservation: Reservation,
    frame: u64,
    slot: Slot<Key, ()>,
    asked: Option<(Key, Instant)>,
    inbox: Inbox,
}

impl Thumbs {
    /// The row, if it is in memory.
    pub(super) fn get(&self, row: u64) -> Option<&Thumb> {
        self.kept.get(&row)
    }

    /// The table, and what is shown of its rows.
    pub(super) fn look(&self) -> Option<(&Arc<dyn Table>, &ThumbRequest)> {
        self.look.as_ref().map(|(table, ask)| (table, ask))
    }

    /// Reads what is missing of the rows in sight, and behind them of as many again. Called once a frame.
    pub(super) fn want(
        &mut self,
        context: &Context,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        ask: &ThumbRequest,
        place: &Place,
        sight: Range<u64>,
    ) {
        self.frame += 1;
        let same = |(known, look): &(Arc<dyn Table>, ThumbRequest)| Arc::ptr_eq(known, table) && look == ask;
        if !self.look.as_ref().is_some_and(same) {
            self.look = Some((table.clone(), ask.clone()));
            self.version += 1;
            self.kept.clear();
            (self.bytes, self.asked) = (0, None);
            self.reservation.set(0);
        }
        self.take(context);
        for row in sight.clone() {
            if let Some(thumb) = self.kept.get_mut(&row) {
                thumb.used = self.frame;
            }
        }
        let Some(range) = self.missing(table, &sight) else { return };
        if let Some(key) = self.next(range, &sight) {
            self.ask(jobs, table, ask, place, key);
        }
    }

    /// The rows that are to be made next, those in sight first.
    fn missing(&self, table: &Arc<dyn Table>, sight: &Range<u64>) -> Option<Range<u64>> {
        let lacking = |range: Range<u64>| {
            let mut rows = range.filter(|row| !self.kept.contains_key(row));
            let first = rows.next()?;
            Some(first..rows.next_back().unwrap_or(first) + 1)
        };
        let ahead = sight.end..(sight.end + (sight.end - sight.start)).min(table.rows().number());
        lacking(sight.clone()).or_else(|| if self.bytes < KEPT / 2 { lacking(ahead) } else { None })
    }

    /// What the job is asked for: what it was, while that is still wanted.
    fn next(&self, range: Range<u64>, sight: &Range<u64>) -> Option<Key> {
        if let Some((key, since)) = &self.asked
            && self.slot.peek(key).runs()
        {
            let covers = key.1.start <= range.start && range.end <= key.1.end;
            let touches = key.1.start < sight.end && sight.start < key.1.end;
            if covers || touches && since.elapsed() < PATIENCE {
                return None;
            }
        }
        Some((self.version, range))
    }

    fn ask(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, ask: &ThumbRequest, place: &Place, key: Key) {
        if self.asked.as_ref().is_none_or(|(known, _)| *known != key) {
            self.asked = Some((key.clone(), Instant::now()));
        }
        let (table, ask, place, inbox) = (table.clone(), ask.clone(), place.clone(), self.inbox.clone());
        let (version, rows) = key.clone();
        let title =
            || JobSpec::view(format!("pictures of rows {}–{}", key.1.start, key.1.end.saturating_sub(1)));
        let shown = self.slot.ask(jobs, &key, title, move |task, partial| {
            make(task, table.as_ref(), &ask, &place, rows, &mut |row, made| {
                inbox.lock().push((version, row, made));
                partial.show(());
            })
        });
        if let Some(error) = shown.error.filter(|error| !error.is_cancelled()) {
            for row in key.1.clone() {
                let bytes = &mut self.bytes;
                self.kept.entry(row).or_insert_with(|| {
                    let thumb = Thumb::failed(&error);
                    *bytes += thumb.kept;
                    thumb
                });
            }
        }
    }

    /// Takes what jobs have made, as much as fits into a frame.
    fn take(&mut self, context: &Context) {
        let started = Instant::now();
        let made = std::mem::take(&mut *self.inbox.lock());
        let mut made = made.into_iter();
        for (version, row, one) in made.by_ref() {
            if version != self.version {
                continue;
            }
            let thumb = Thumb { used: self.frame, ..Thumb::new(context, one) };
            self.bytes += thumb.kept;
            if let Some(old) = self.kept.insert(row, thumb) {
                self.bytes -= old.kept;
            }
            if started.elapsed() > UPLOAD {
                context.request_repaint();
                break;
            }
        }
        let left: Vec<_> = made.collect();
        if !left.is_empty() {
            let mut inbox = self.inbox.lock();
            inbox.splice(0..0, left);
        }
        if self.bytes > KEPT {
            self.shrink();
        }
        self.reservation.set(self.bytes);
    }

    fn shrink(&mut self) {
        let mut ages: Vec<(u64, u64)> = self.kept.iter().map(|(row, thumb)| (thumb.used, *row)).collect();
        ages.sort_unstable();
        for (used, row) in ages {
            if self.bytes <= KEPT / 4 * 3 || used + 1 >= self.frame {
                break;
            }
            if let Some(thumb) = self.kept.remove(&row) {
                self.bytes -= thumb.kept;
            }
        }
    }
}

impl Thumb {
    fn failed(error: &Error) -> Thumb {
        Thumb {
            picture: None,
            mask: None,
            shapes: None,
            words: error.to_string(),
            failed: true,
            partial: false,
            bytes: 0,
            label: None,
            caption: None,
            regions: Vec::new(),
            points: Vec::new(),
            kept: 256,
            used: 0,
        }
    }

    fn new(context: &Context, made: TileContent) -> Thumb {
        let mut thumb = match made.preview {
            Err(error) => Thumb::failed(&error),
            Ok(None) => Thumb { failed: false, words: "nothing".to_owned(), ..Thumb::failed(&Error::io("")) },
            Ok(Some(preview)) => Thumb {
                failed: false,
                partial: preview.problem.is_some(),
                words: match preview.problem {
                    Some(problem) => format!("{} · {problem}", preview.words),
                    None => preview.words,
                },
                bytes: preview.bytes,
                kept: preview.picture.as_ref().map_or(256, |picture| picture.rgba.len()),
                picture: preview.picture.map(|picture| texture(context, &picture)),
                ..Thumb::failed(&Error::io(""))
            },
        };
        thumb.kept += made.mask.as_ref().map_or(0, |mask| mask.rgba.len());
        thumb.kept += made.shapes.as_ref().map_or(0, |shapes| shapes.rgba.len());
        thumb.mask = made.mask.map(|mask| texture(context, &mask));
        thumb.shapes = made.shapes.map(|shapes| texture(context, &shapes));
        (thumb.label, thumb.caption) = (made.label, made.caption);
        (thumb.regions, thumb.points) = (made.regions, made.points);
        thumb
    }
}

/// A picture on the graphics card. Small ones show their pixels when they are enlarged.
fn texture(context: &Context, picture: &Picture) -> Texture {
    let image = ColorImage::from_rgba_unmultiplied([picture.width, picture.height], &picture.rgba);
    let small = picture.width.max(picture.height) <= 48;
    let magnification = if small { TextureFilter::Nearest } else { TextureFilter::Linear };
    let options = TextureOptions { magnification, ..TextureOptions::LINEAR };
    Texture::new(context, "thumbnail", &Arc::new(image), options)
}

/// Reads rows and makes pictures of them, one by one.
fn make(
    task: &Task,
    table: &dyn Table,
    ask: &ThumbRequest,
    place: &Place,
    rows: Range<u64>,
    each: &mut (dyn FnMut(u64, TileContent) + Send),
) -> Result<()> {
    let columns = ask.columns();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(THREADS));
    let each = Mutex::new(each);
    for start in rows.clone().step_by(STEP as usize) {
        task.check()?;
        let end = rows.end.min(start + STEP);
        let arrays = read_each(table, task, start..end, &columns)?;
        let there = arrays.iter().flatten().map(|array| array.len()).max().unwrap_or(0);
        let there = there.max(if arrays.iter().any(Result::is_err) { (end - start) as usize } else { 0 });
        let of = |column: usize| {
            let at = columns.iter().position(|known| *known == column)?;
            arrays.get(at)
        };
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        // Threads of their own: passes over all rows keep those that everybody shares busy for long.
        let work = || loop {
            let row = next.fetch_add(1, Relaxed);
            if row >= there {
                return;
            }
            match task.check().and_then(|()| one(task, ask, place, &of, row)) {
                Ok(made) => (each.lock())(start + row as u64, made),
                Err(error) => {
                    *failed.lock() = Some(error);
                    return next.store(there, Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Where none can be started this one does it all.
                drop(std::thread::Builder::new().spawn_scoped(scope, work));
            }
            work();
        });
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
    }
    Ok(())
}

/// What there is of one row.
fn one<'a>(
    task: &Task,
    ask: &ThumbRequest,
    place: &Place,
    of: &impl Fn(usize) -> Option<&'a Result<ArrayRef>>,
    row: usize,
) -> Result<TileContent> {
    let preview = |column: &MediaColumn| -> Result<Option<Preview>> {
        let array = match of(column.column) {
            Some(Ok(array)) => array,
            Some(Err(error)) => return Err(error.clone()),
            None => return Ok(None),
        };
        match payload::payload(task, column, array.as_ref(), row, place)? {
            Some(payload) => match STORE.as_ref().filter(|_| ask.keep) {
                Some(store) => store.thumbnail(task, gander::formats::ALL, &payload, ask.side).map(Some),
                None => thumbnail(task, gander::formats::ALL, &payload, ask.side).map(Some),
            },
            None => Ok(None),
        }
    };
    let there =
        |column: usize| of(column).and_then(|array| array.as_ref().ok()).filter(|array| row < array.len());
    let text = |column: usize| {
        let text = cell::shown(there(column)?.as_ref(), row)?;
        Some(text.chars().take(WORDS).map(|c| if c.is_control() { ' ' } else { c }).collect())
    };
    let shown = preview(&ask.column).unless_cancelled()?;
    let size = shown.as_ref().ok().and_then(|shown| shown.as_ref()?.size);
    let mask = match &ask.mask {
        Some(mask) => preview(mask).unless_cancelled()?.ok().flatten().and_then(|mask| mask.picture),
        None => None,
    };
    let regions = ask.boxes.as_ref().zip(size).map(|(boxes, size)| {
        let arrays: Option<Vec<ArrayRef>> = boxes.columns.iter().map(|n| there(*n).cloned()).collect();
        boxes.of(&arrays.unwrap_or_default(), row, size)
    });
    let points =
        ask.key_points.zip(size).and_then(|(points, size)| Some(points.of(there(points.column)?, row, size)));
    let regions = regions.unwrap_or_default();
    let picture = shown.as_ref().ok().and_then(|shown| shown.as_ref()?.picture.as_ref());
    let shapes = picture.and_then(|picture| shapes::layer(&regions, picture.width, picture.height));
    Ok(TileContent {
        shapes,
        preview: shown,
        mask: mask.map(overlay),
        label: ask.label.as_ref().and_then(|label| label.text(there(label.column)?.as_ref(), row)),
        caption: ask.caption.and_then(text),
        regions,
        points: points.unwrap_or_default(),
    })
}

/// A mask as a layer of colours: nothing where it is black, a colour of its own for each other value.
fn overlay(mut mask: Picture) -> Picture {
    for pixel in mask.rgba.as_chunks_mut::<4>().0 {
        let [r, g, b, a] = *pixel;
        if (r, g, b) == (0, 0, 0) || a == 0 {
            *pixel = [0; 4];
        } else if r == g && g == b {
            // Values lie close to each other, and colours should not.
            let turn = gander::data::content::sample::mixed(u64::from(r)) % 360;
            let [r, g, b] = gander::data::plane::color::ColorMap::named("turbo")
                .unwrap_or_default()
                .at(turn as f64 / 360.0);
            *pixel = [r, g, b, 140];
        } else {
            *pixel = [r, g, b, 140];
        }
    }
    mask
}
