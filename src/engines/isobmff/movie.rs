//! Movies: tracks with what they hold and where their samples lie, in tables (ISO 14496-12, 8) or in [`fragments`]; their
//! [`texts`].

mod fragments;
mod texts;

use super::Samples;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Chapter;
use crate::engines::boxes::{Atom, find};
use bytes::Bytes;
use std::ops::Range;

/// Tracks of one movie.
const TRACKS: usize = 1_000;
/// Samples of one track.
const SAMPLES: u64 = 8_000_000;
/// A text is not read beyond so many bytes.
const TEXT: u64 = 64 << 10;

/// A movie.
#[derive(Clone, Debug, Default)]
pub struct Movie {
    /// Parts of a second in which it counts.
    pub timescale: u32,
    /// How long it is in them; 0 where only its fragments tell.
    pub duration: u64,
    /// Its tracks.
    pub tracks: Vec<Track>,
    /// Titles and other texts.
    pub texts: Vec<(String, String)>,
    /// Chapters, in the order of time.
    pub chapters: Vec<Chapter>,
    /// Where pictures lie that stand for it, each a file of its own.
    pub covers: Vec<Range<u64>>,
    /// Whether samples may lie in fragments.
    pub is_fragmented: bool,
}

/// A track.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Its number.
    pub id: u32,
    /// What it is: `vide`, `soun`, `text`, `sbtl`, `subt`, `pict`.
    pub handler: [u8; 4],
    /// What its samples are coded as: `avc1`, `mp4a`.
    pub coding: [u8; 4],
    /// Parts of a second in which it counts.
    pub timescale: u32,
    /// How long it is in them.
    pub duration: u64,
    /// Pixels, as the description of its samples has them.
    pub width: u64,
    /// See `width`.
    pub height: u64,
    /// How it is turned to be shown: quarters clockwise.
    pub quarters: u8,
    /// Channels of sound,
    pub channels: u16,
    /// frames of it in a second,
    pub rate: u32,
    /// and bits of a sample.
    pub bits: u16,
    /// Three letters of ISO 639-2.
    pub language: String,
    /// Its name, if it has one.
    pub name: String,
    /// Primaries, transfer, matrix by their numbers in H.273, and whether samples use the full range.
    pub colours: Option<(u16, u16, u16, bool)>,
    /// How wide a pixel is, in its height.
    pub aspect: Option<(u32, u32)>,
    /// The boxes of the description of its samples that configure decoders.
    pub configuration: Vec<([u8; 4], Bytes)>,
    /// Where in its time what is shown begins, and seconds of nothing before it.
    pub edit: (i64, f64),
    /// Tracks that it refers to, by kind.
    pub references: Vec<([u8; 4], Vec<u32>)>,
    tables: Vec<Atom>,
    /// Defaults of its samples in fragments: duration, size, flags.
    defaults: (u32, u32, u32),
}

fn malformed(what: impl std::fmt::Display, at: u64) -> Error {
    Error::malformed(format!("MPEG-4: {what}")).at(at)
}

impl Movie {
    /// Reads the box *moov*.
    ///
    /// # Errors
    /// Those of reading; `Limit` for too many tracks.
    pub fn read(task: &Task, source: &Source, movie: &Atom) -> Result<Self> {
        let parts = movie.children(task, source, 0)?;
        let mut found = Movie::default();
        if let Some(header) = find(&parts, b"mvhd") {
            let bytes = source.read_up_to(task, header.body.start, 40)?;
            (found.timescale, found.duration) = times(&bytes);
        }
        for one in &parts {
            task.check()?;
            match &one.kind {
                b"trak" => {
                    if found.tracks.len() >= TRACKS {
                        return Err(Error::limit(format!("MPEG-4: more than {TRACKS} tracks")).at(one.start));
                    }
                    found.tracks.push(Track::read(task, source, one, found.timescale)?);
                }
                b"mvex" => {
                    found.is_fragmented = true;
                    for trex in one.children(task, source, 0)? {
                        let bytes = source.read_up_to(task, trex.body.start, 24)?;
                        let number = |at: usize| be::<u32>(&bytes, at).unwrap_or(0);
                        let track = found.tracks.iter_mut().find(|track| track.id == number(4));
                        if let (b"trex", Some(track)) = (&trex.kind, track) {
                            track.defaults = (number(12), number(16), number(20));
                        }
                    }
                }
                b"udta" => texts::user_data(task, source, one, &mut found)?,
                b"meta" => texts::item_list(task, source, one, &mut found)?,
                _ => {}
            }
        }
        if found.chapters.is_empty() {
            found.chapters = found.chapter_track(task, source)?;
        }
        Ok(found)
    }

    /// Titles of the track of texts that another track names as its chapters.
    fn chapter_track(&self, task: &Task, source: &Source) -> Result<Vec<Chapter>> {
        let named = self.tracks.iter().flat_map(|track| &track.references).find(|(kind, _)| kind == b"chap");
        let id = named.and_then(|(_, ids)| ids.first());
        let Some(track) = id.and_then(|id| self.tracks.iter().find(|track| track.id == *id)) else {
            return Ok(Vec::new());
        };
        let Ok(samples) = track.samples(task, source).unless_cancelled()? else { return Ok(Vec::new()) };
        let mut chapters = Vec::new();
        for (place, time) in samples.places.iter().zip(samples.times()).take(10_000) {
            let bytes = source.read_up_to(task, place.start, (place.end - place.start).min(TEXT) as usize)?;
            let len = usize::from(be::<u16>(&bytes, 0).unwrap_or(0));
            let text = bytes.get(2..(2 + len).min(bytes.len())).unwrap_or_default();
            let title = String::from_utf8_lossy(text).into_owned();
            let start = time as f64 / f64::from(track.timescale.max(1));
            chapters.push(Chapter { start, end: None, title });
        }
        Ok(chapters)
    }

    /// The samples of a track: of its tables, and of the fragments that follow.
    ///
    /// # Errors
    /// As [`Track::samples`].
    pub fn samples(&self, task: &Task, source: &Source, track: &Track, top: &[Atom]) -> Result<Samples> {
        let mut samples = track.samples(task, source)?;
        if !self.is_fragmented {
            return Ok(samples);
        }
        let mut first = samples.places.is_empty();
        for one in top.iter().filter(|one| one.kind == *b"moof") {
            task.check()?;
            for part in one.children(task, source, 0)? {
                if part.kind == *b"traf" {
                    fragments::fragment(task, source, track, one, &part, &mut samples, &mut first)?;
                }
            }
        }
        Ok(samples)
    }
}

/// Timescale and duration of a header of a movie or of media.
fn times(bytes: &[u8]) -> (u32, u64) {
    match bytes.first() {
        Some(1) => (be(bytes, 20).unwrap_or(0), be(bytes, 24).unwrap_or(0)),
        _ => {
            (be(bytes, 12).unwrap_or(0), be::<u32>(bytes, 16).filter(|n| *n != u32::MAX).unwrap_or(0).into())
        }
    }
}

impl Track {
    fn read(task: &Task, source: &Source, one: &Atom, movie_scale: u32) -> Result<Self> {
        let mut track = Track::default();
        let parts = one.children(task, source, 0)?;
        if let Some(header) = find(&parts, b"tkhd") {
            let bytes = source.read_up_to(task, header.body.start, 96)?;
            let shift = if bytes.first() == Some(&1) { 12 } else { 0 };
            track.id = be(&bytes, 12 + shift * 2 / 3).unwrap_or(0);
            let matrix = 40 + shift;
            let number = |n: usize| be::<i32>(&bytes, matrix + n * 4).unwrap_or(0);
            track.quarters =
                match (number(0).signum(), number(1).signum(), number(3).signum(), number(4).signum()) {
                    (0, 1, -1, 0) => 1,
                    (-1, 0, 0, -1) => 2,
                    (0, -1, 1, 0) => 3,
                    _ => 0,
                };
            track.width = u64::from(be::<u32>(&bytes, 76 + shift).unwrap_or(0) >> 16);
            track.height = u64::from(be::<u32>(&bytes, 80 + shift).unwrap_or(0) >> 16);
        }
        if let Some(references) = find(&parts, b"tref") {
            for reference in references.children(task, source, 0)? {
                let bytes = reference.read(task, source)?;
                let ids = bytes.as_chunks::<4>().0.iter().map(|id| u32::from_be_bytes(*id)).collect();
                track.references.push((reference.kind, ids));
            }
        }
        if let Some(edits) = find(&parts, b"edts") {
            let below = edits.children(task, source, 0)?;
            if let Some(list) = find(&below, b"elst") {
                track.edit = edit(&source.read_up_to(task, list.body.start, 1 << 16)?, movie_scale);
            }
        }
        if let Some(data) = find(&parts, b"udta") {
            let below = data.children(task, source, 0)?;
            if let Some(name) = find(&below, b"name") {
                let bytes = name.read(task, source)?;
                track.name = String::from_utf8_lossy(&bytes).trim_matches('\0').to_owned();
            }
        }
        let Some(media) = find(&parts, b"mdia") else { return Ok(track) };
        track.media(task, source, media)?;
        Ok(track)
    }

    fn media(&mut self, task: &Task, source: &Source, media: &Atom) -> Result<()> {
        let parts = media.children(task, source, 0)?;
        if let Some(header) = find(&parts, b"mdhd") {
            let bytes = source.read_up_to(task, header.body.start, 40)?;
            (self.timescale, self.duration) = times(&bytes);
            let at = if bytes.first() == Some(&1) { 32 } else { 20 };
            let code = be::<u16>(&bytes, at).unwrap_or(0);
            let letter = |shift: u32| char::from(0x60 + (code >> shift & 31) as u8);
            if code >= 0x400 && code != 0x7fff {
                self.language = [10, 5, 0].into_iter().map(letter).collect();
            }
        }
        if let Some(handler) = find(&parts, b"hdlr") {
            let bytes = source.read_up_to(task, handler.body.start, 12)?;
            self.handler = bytes.get(8..12).and_then(|kind| kind.first_chunk().copied()).unwrap_or_default();
        }
        let Some(info) = find(&parts, b"minf") else { return Ok(()) };
        let below = info.children(task, source, 0)?;
        let Some(table) = find(&below, b"stbl") else { return Ok(()) };
        self.tables = table.children(task, source, 0)?;
        let Some(descriptions) = find(&self.tables, b"stsd").cloned() else { return Ok(()) };
        match descriptions.children(task, source, 8)?.first() {
            Some(entry) => self.describe(task, source, entry),
            None => Ok(()),
        }
    }

    /// What the first description of its samples says.
    fn describe(&mut self, task: &Task, source: &Source, entry: &Atom) -> Result<()> {
        self.coding = entry.kind;
        let bytes = source.read_up_to(task, entry.body.start, 80)?;
        let skip = match &self.handler {
            b"vide" | b"pict" | b"auxv" => {
                let side = |at: usize| be::<u16>(&bytes, at).map(u64::from).filter(|side| *side > 0);
                self.width = side(24).unwrap_or(self.width);
                self.height = side(26).unwrap_or(self.height);
                78
            }
            b"soun" => {
                let number = |at: usize| be::<u16>(&bytes, at).unwrap_or(0);
                (self.channels, self.bits, self.rate) = (number(16), number(18), number(24).into());
                match number(8) {
                    1 => 44,
                    2 => {
                        let rate = f64::from_bits(be::<u64>(&bytes, 32).unwrap_or(0));
                        self.rate = rate.clamp(0.0, 4e9).round() as u32;
                        self.channels = be::<u32>(&bytes, 40).unwrap_or(0).min(u32::from(u16::MAX)) as u16;
                        self.bits = be::<u32>(&bytes, 48).unwrap_or(0).min(u32::from(u16::MAX)) as u16;
                        64
                    }
                    _ => 28,
                }
            }
            _ => return Ok(()),
        };
        let Ok(parts) = entry.children(task, source, skip).unless_cancelled()? else { return Ok(()) };
        for part in parts {
            let bytes = source.read_up_to(
                task,
                part.body.start,
                (part.body.end - part.body.start).min(4_096) as usize,
            )?;
            match &part.kind {
                b"colr" => {
                    let number = |at: usize| be::<u16>(&bytes, at).unwrap_or(2);
                    let full = bytes.get(10).is_some_and(|flags| flags & 0x80 != 0);
                    if matches!(bytes.get(..4), Some(b"nclx" | b"nclc")) {
                        self.colours = Some((number(4), number(6), number(8), full));
                    }
                }
                b"pasp" => self.aspect = be(&bytes, 0).zip(be(&bytes, 4)),
                _ => self.configuration.push((part.kind, bytes)),
            }
        }
        Ok(())
    }

    /// A box that configures decoders.
    pub fn configured(&self, kind: &[u8; 4]) -> Option<&Bytes> {
        self.configuration.iter().find(|(known, _)| known == kind).map(|(_, bytes)| bytes)
    }

    /// How many samples its tables name, without reading more than a header.
    ///
    /// # Errors
    /// Those of reading.
    pub fn sample_count(&self, task: &Task, source: &Source) -> Result<u64> {
        let table = find(&self.tables, b"stsz").or(find(&self.tables, b"stz2"));
        let Some(table) = table else { return Ok(0) };
        Ok(be::<u32>(&source.read_up_to(task, table.body.start, 12)?, 8).unwrap_or(0).into())
    }

    /// The samples that its tables name.
    ///
    /// # Errors
    /// `Malformed` for tables that are cut off; `Limit` for too many samples.
    pub fn samples(&self, task: &Task, source: &Source) -> Result<Samples> {
        let table = |kind: &[u8; 4]| find(&self.tables, kind).map(|one| one.read(task, source)).transpose();
        let sizes = self.sizes(task, source)?;
        let count = sizes.len();
        let mut samples = Samples::default();
        let pairs = |bytes: &Bytes, width: usize| -> Vec<Vec<u32>> {
            let rows = bytes.get(8..).unwrap_or_default().chunks_exact(width * 4);
            let listed = be::<u32>(bytes, 4).unwrap_or(0) as usize;
            let row = |row: &[u8]| row.as_chunks::<4>().0.iter().map(|n| u32::from_be_bytes(*n)).collect();
            rows.take(listed).map(row).collect()
        };
        if let Some(bytes) = table(b"stts")? {
            for row in pairs(&bytes, 2) {
                let &[times, duration] = row.as_slice() else { continue };
                let times = (times as usize).min(count - samples.durations.len());
                samples.durations.extend(std::iter::repeat_n(duration, times));
            }
        }
        samples.durations.resize(count, 0);
        if let Some(bytes) = table(b"ctts")? {
            for row in pairs(&bytes, 2) {
                let &[times, shift] = row.as_slice() else { continue };
                let times = (times as usize).min(count - samples.shifts.len());
                samples.shifts.extend(std::iter::repeat_n(shift as i32, times));
            }
            samples.shifts.resize(count, 0);
        }
        if let Some(bytes) = table(b"stss")? {
            samples.keys = vec![false; count];
            for row in pairs(&bytes, 1) {
                let number = row.first().and_then(|number| number.checked_sub(1)).unwrap_or(u32::MAX);
                if let Some(place) = samples.keys.get_mut(number as usize) {
                    *place = true;
                }
            }
        }
        let chunks: Vec<u64> = match (table(b"stco")?, table(b"co64")?) {
            (Some(bytes), _) => {
                pairs(&bytes, 1).iter().filter_map(|row| row.first().copied().map(u64::from)).collect()
            }
            (None, Some(bytes)) => bytes
                .get(8..)
                .unwrap_or_default()
                .as_chunks::<8>()
                .0
                .iter()
                .map(|at| u64::from_be_bytes(*at))
                .collect(),
            (None, None) => Vec::new(),
        };
        let runs = table(b"stsc")?.map(|bytes| pairs(&bytes, 3)).unwrap_or_default();
        samples.places = placed(&sizes, &chunks, &runs);
        if samples.places.len() < count {
            let at = self.tables.first().map_or(0, |one| one.start);
            let what = format!("{count} samples are listed, places of {} are", samples.places.len());
            return Err(malformed(what, at));
        }
        Ok(samples)
    }

    fn sizes(&self, task: &Task, source: &Source) -> Result<Vec<u32>> {
        let Some(table) = find(&self.tables, b"stsz").or(find(&self.tables, b"stz2")) else {
            return Ok(Vec::new());
        };
        let head = source.read_up_to(task, table.body.start, 12)?;
        let short = || malformed("the sizes of its samples are cut off", table.start);
        let (size, count) = (be::<u32>(&head, 4).ok_or_else(short)?, be::<u32>(&head, 8).ok_or_else(short)?);
        if u64::from(count) > SAMPLES {
            return Err(
                Error::limit(format!("MPEG-4: {count} samples, the limit is {SAMPLES}")).at(table.start)
            );
        }
        if table.kind == *b"stsz" && size > 0 {
            // Of one size there may be more than the file has bytes.
            let most = source.len(task)? / u64::from(size) + 1;
            return match u64::from(count) <= most {
                true => Ok(vec![size; count as usize]),
                false => Err(malformed(
                    format!("{count} samples of {size} bytes are more than the file"),
                    table.start,
                )),
            };
        }
        let width = if table.kind == *b"stsz" { 32 } else { size & 0xff };
        let bytes = table.read(task, source)?;
        let body = bytes.get(12..).unwrap_or_default();
        let most = body.len() as u64 * 8 / u64::from(width.max(1));
        limits::check(u64::from(count), most, "the list of samples").map_err(|_| short())?;
        Ok(match width {
            32 => {
                body.as_chunks::<4>().0.iter().take(count as usize).map(|n| u32::from_be_bytes(*n)).collect()
            }
            16 => body
                .as_chunks::<2>()
                .0
                .iter()
                .take(count as usize)
                .map(|n| u16::from_be_bytes(*n).into())
                .collect(),
            8 => body.iter().take(count as usize).map(|n| u32::from(*n)).collect(),
            4 => body.iter().flat_map(|n| [n >> 4, n & 15]).take(count as usize).map(u32::from).collect(),
            _ => return Err(short()),
        })
    }
}

/// Where samples lie: in chunks, of which runs say how many samples each has.
fn placed(sizes: &[u32], chunks: &[u64], runs: &[Vec<u32>]) -> Vec<std::ops::Range<u64>> {
    let mut places = Vec::with_capacity(sizes.len());
    let mut sizes = sizes.iter();
    for (n, run) in runs.iter().enumerate() {
        let &[first, each, _] = run.as_slice() else { continue };
        let last =
            runs.get(n + 1).and_then(|next| next.first()).map_or(chunks.len(), |next| *next as usize - 1);
        let first = (first as usize).saturating_sub(1);
        for start in chunks.get(first..last.min(chunks.len())).unwrap_or_default() {
            let mut at = *start;
            for _ in 0..each {
                let Some(size) = sizes.next() else { return places };
                let end = at.saturating_add((*size).into());
                places.push(at..end);
                at = end;
            }
        }
    }
    places
}

/// Where what is shown begins, and the seconds of nothing before it.
fn edit(bytes: &[u8], movie_scale: u32) -> (i64, f64) {
    let wide = bytes.first() == Some(&1);
    let width = if wide { 20 } else { 12 };
    let mut empty = 0.0;
    for row in bytes.get(8..).unwrap_or_default().chunks_exact(width) {
        let (duration, start) = match wide {
            true => (be::<u64>(row, 0).unwrap_or(0), be::<i64>(row, 8).unwrap_or(0)),
            false => (be::<u32>(row, 0).unwrap_or(0).into(), be::<i32>(row, 4).unwrap_or(0).into()),
        };
        if start >= 0 {
            return (start, empty);
        }
        empty += duration as f64 / f64::from(movie_scale.max(1));
    }
    (0, empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_in_chunks() {
        let runs = [vec![1, 2, 1], vec![2, 1, 1]];
        let places = placed(&[10, 20, 30, 40], &[100, 1_000, 2_000], &runs);
        assert_eq!(places, [100..110, 110..130, 1_000..1_030, 2_000..2_040]);
        // Fewer chunks than samples need.
        assert_eq!(placed(&[10, 20, 30], &[100], &[vec![1, 2, 1]]).len(), 2);
    }

    #[test]
    fn an_edit_begins_behind_an_empty_one() {
        let list = [
            &[0, 0, 0, 0, 0, 0, 0, 2][..],
            &500u32.to_be_bytes(),
            &(-1i32).to_be_bytes(),
            &[0, 1, 0, 0],
            &1_000u32.to_be_bytes(),
            &80i32.to_be_bytes(),
            &[0, 1, 0, 0],
        ]
        .concat();
        assert_eq!(edit(&list, 1_000), (80, 0.5));
    }
}
