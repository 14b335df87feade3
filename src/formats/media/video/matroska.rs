//! Matroska and WebM (RFC 9559): elements of EBML (RFC 8794) with a number and a length each. Frames are blocks in clusters,
//! whose heads are walked; their bytes are read when they are decoded.

use super::frames::{PACKETS, Packet, Track};
use super::{Movie, Sound, Subtitles, codecs, colours, picture};
use crate::bytes::codec::decompress::prefix;
use crate::bytes::codec::inflater::Inflater;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be_unsigned;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Chapter;
use crate::data::content::{Content, Rect};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::ffmpeg::Coding;
use crate::engines::pieces::patched;
use bytes::Bytes;
use std::ops::Range;

/// Elements that are walked.
const ELEMENTS: usize = 60_000_000;
/// Tracks of one file.
const TRACKS: usize = 1_000;
/// A value is not read beyond so many bytes.
const VALUE: u64 = 1 << 20;
/// Elements that are hidden from the decoder of sounds.
const HIDDEN: usize = 1_000;
/// Cues of one track that are read.
const CUES: usize = 100_000;

/// An element: its number, and where it and its body lie.
#[derive(Clone, Debug)]
struct Element {
    id: u32,
    start: u64,
    body: Range<u64>,
    /// Whether its length is not written.
    open: bool,
    /// Whether it says that it is longer than its parent.
    is_cut: bool,
}

/// A number of EBML of up to eight bytes; the value without its mark, whether all bits are set, and its width.
fn number(bytes: &[u8], keep_mark: bool) -> Option<(u64, bool, usize)> {
    let first = *bytes.first()?;
    let width = first.leading_zeros() as usize + 1;
    if width > 8 {
        return None;
    }
    let whole = be_unsigned(bytes.get(..width)?);
    let mark = 1u64 << (7 * width);
    let value = whole & (mark - 1);
    Some((if keep_mark { whole } else { value }, value == mark - 1, width))
}

/// The element at `at`.
fn element(task: &Task, source: &Source, at: u64, end: u64) -> Result<Option<Element>> {
    if at + 2 > end {
        return Ok(None);
    }
    let head = source.read_up_to(task, at, 12)?;
    let Some((id, _, id_width)) = number(&head, true).filter(|(.., width)| *width <= 4) else {
        return Ok(None);
    };
    let Some((len, open, len_width)) = number(head.get(id_width..).unwrap_or_default(), false) else {
        return Ok(None);
    };
    let start = at + (id_width + len_width) as u64;
    let stop = if open { end } else { start.saturating_add(len) };
    let body = start.min(end)..stop.min(end);
    Ok(Some(Element { id: id as u32, start: at, body, open, is_cut: stop > end }))
}

/// The elements in a range.
fn list(task: &Task, source: &Source, range: Range<u64>) -> Result<Vec<Element>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while let Some(one) = element(task, source, at, range.end)? {
        if found.len().is_multiple_of(1_024) {
            task.check()?;
        }
        if found.len() > 1 << 20 {
            return Err(Error::limit("Matroska: more than a million elements beside each other").at(at));
        }
        at = one.body.end;
        found.push(one);
    }
    Ok(found)
}

/// Values of an element.
struct Values<'a> {
    task: &'a Task,
    source: &'a Source,
}

impl Values<'_> {
    fn bytes(&self, one: &Element, most: u64) -> Result<Bytes> {
        let len = (one.body.end - one.body.start).min(most);
        self.source.read_up_to(self.task, one.body.start, len as usize)
    }

    fn unsigned(&self, one: &Element) -> Result<u64> {
        Ok(be_unsigned(&self.bytes(one, 8)?))
    }

    fn float(&self, one: &Element) -> Result<f64> {
        let bytes = self.bytes(one, 8)?;
        Ok(match bytes.len() {
            4 => f32::from_bits(be_unsigned(&bytes) as u32).into(),
            8 => f64::from_bits(be_unsigned(&bytes)),
            _ => 0.0,
        })
    }

    fn text(&self, one: &Element) -> Result<String> {
        let bytes = self.bytes(one, VALUE)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    fn list(&self, one: &Element) -> Result<Vec<Element>> {
        list(self.task, self.source, one.body.clone())
    }
}

#[derive(Default)]
struct Tracked {
    number: u64,
    kind: u64,
    codec: String,
    private: Vec<u8>,
    name: String,
    language: String,
    width: u64,
    height: u64,
    /// Rows and columns that are not shown: at the top, bottom, left and right.
    crop: [u64; 4],
    channels: u64,
    rate: f64,
    bits: u64,
    colours: [Option<u64>; 4],
    rotation: f64,
    /// Bytes that were taken off the start of each packet.
    stripped: Vec<u8>,
    /// Whether packets are compressed otherwise, or encrypted.
    packed: bool,
    zlib: bool,
    duration: f64,
    packets: Vec<Packet>,
    durations: Vec<u64>,
}

#[derive(Default)]
struct File {
    scale: f64,
    duration: Option<f64>,
    tracks: Vec<Tracked>,
    movie: Movie,
    walked: usize,
    /// What the decoder of sounds does not need to see.
    hidden: Vec<Element>,
}

/// Walks the segment.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let values = Values { task, source };
    let len = source.len(task)?;
    let mut file = File { scale: 1e6, ..File::default() };
    let head = element(task, source, 0, len)?;
    let head = head.ok_or_else(|| Error::malformed("Matroska: its header is cut off"))?;
    for one in values.list(&head)? {
        if one.id == 0x4282 {
            file.movie.details.push(("document type".to_owned(), values.text(&one)?));
        }
    }
    let segment = element(task, source, head.body.end, len)?.filter(|one| one.id == 0x1853_8067);
    let segment = segment.ok_or_else(|| Error::malformed("Matroska: it has no segment").at(head.body.end))?;
    if segment.is_cut {
        let what = "Matroska: its segment reaches beyond the file; it may be cut off";
        file.movie.problem = Some(Error::malformed(what).with_defect(Defect::Truncated).at(len));
    }
    file.segment(&values, segment.body)?;
    if file.tracks.is_empty() {
        return Err(file
            .movie
            .problem
            .take()
            .unwrap_or_else(|| Error::malformed("Matroska: it has no track")));
    }
    file.node(task, source)
}

impl File {
    fn segment(&mut self, values: &Values<'_>, range: Range<u64>) -> Result<()> {
        let mut at = range.start;
        while let Some(one) = element(values.task, values.source, at, range.end)? {
            self.count(at)?;
            at = one.body.end;
            if matches!(one.id, 0x1043_a770 | 0x1254_c367 | 0x1941_a469) && self.hidden.len() < HIDDEN {
                self.hidden.push(one.clone());
            }
            match one.id {
                0x1549_a966 => self.info(values, &one)?,
                0x1654_ae6b => self.all_tracks(values, &one)?,
                0x1f43_b675 => at = self.cluster(values, &one)?,
                0x1043_a770 => self.chapters(values, &one)?,
                0x1254_c367 => self.tags(values, &one)?,
                0x1941_a469 => self.attachments(values, &one)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn count(&mut self, at: u64) -> Result<()> {
        self.walked += 1;
        match self.walked > ELEMENTS {
            true => Err(Error::limit(format!("Matroska: more than {ELEMENTS} elements")).at(at)),
            false => Ok(()),
        }
    }

    fn info(&mut self, values: &Values<'_>, info: &Element) -> Result<()> {
        for one in values.list(info)? {
            match one.id {
                0x2a_d7b1 => self.scale = values.unsigned(&one)?.max(1) as f64,
                0x4489 => self.duration = Some(values.float(&one)?),
                0x7ba9 => self.movie.texts.push(("title".to_owned(), values.text(&one)?)),
                0x4d80 => self.movie.texts.push(("muxing application".to_owned(), values.text(&one)?)),
                0x5741 => self.movie.texts.push(("writing application".to_owned(), values.text(&one)?)),
                _ => {}
            }
        }
        Ok(())
    }

    fn all_tracks(&mut self, values: &Values<'_>, tracks: &Element) -> Result<()> {
        for one in values.list(tracks)?.iter().filter(|one| one.id == 0xae) {
            if self.tracks.len() >= TRACKS {
                return Err(Error::limit(format!("Matroska: more than {TRACKS} tracks")).at(one.body.start));
            }
            self.tracks.push(Tracked::read(values, one)?);
        }
        Ok(())
    }

    /// The blocks of a cluster; where it ends.
    fn cluster(&mut self, values: &Values<'_>, cluster: &Element) -> Result<u64> {
        let (mut at, end) = (cluster.body.start, cluster.body.end);
        let mut time = 0i64;
        values.task.check()?;
        while let Some(one) = element(values.task, values.source, at, end)? {
            self.count(at)?;
            // A cluster whose length is not written ends where another of its kind begins.
            if cluster.open && one.id > 0x0fff_ffff {
                return Ok(at);
            }
            at = one.body.end;
            match one.id {
                0xe7 => time = values.unsigned(&one)?.min(i64::MAX as u64) as i64,
                0xa3 => self.block(values, &one, time, None, None)?,
                0xa0 => {
                    let parts = values.list(&one)?;
                    let refers = parts.iter().any(|part| part.id == 0xfb);
                    let length = parts.iter().find(|part| part.id == 0x9b).map(|part| values.unsigned(part));
                    let length = length.transpose()?;
                    for block in parts.iter().filter(|part| part.id == 0xa1) {
                        self.block(values, block, time, Some(!refers), length)?;
                    }
                }
                _ => {}
            }
            if one.is_cut && self.movie.problem.is_none() {
                let what = "Matroska: a block reaches beyond the file; it may be cut off";
                let problem = Error::malformed(what).with_defect(Defect::Truncated).at(one.body.start);
                self.movie.problem = Some(problem);
            }
        }
        Ok(end)
    }

    fn block(
        &mut self,
        values: &Values<'_>,
        block: &Element,
        time: i64,
        key: Option<bool>,
        length: Option<u64>,
    ) -> Result<()> {
        let head = values.bytes(block, 16)?;
        let Some((number, _, width)) = number(&head, false) else { return Ok(()) };
        let Some(&[a, b, flags]) = head.get(width..).and_then(|rest| rest.first_chunk()) else {
            return Ok(());
        };
        let Some(track) = self.tracks.iter_mut().find(|track| track.number == number) else { return Ok(()) };
        // Sound is read by another.
        if track.kind == 2 {
            return Ok(());
        }
        if track.packets.len() >= PACKETS {
            return Err(Error::limit(format!("Matroska: more than {PACKETS} frames")).at(block.body.start));
        }
        let time = time.saturating_add(i16::from_be_bytes([a, b]).into());
        let start = (block.body.start + width as u64 + 3).min(block.body.end);
        // Several frames in one block: only sound has them in practice; they are taken as one.
        let key = key.unwrap_or(flags & 0x80 != 0);
        let hidden = flags & 0x08 != 0;
        track.packets.push(Packet { place: start..block.body.end, time, key, hidden });
        track.durations.push(length.unwrap_or(0));
        Ok(())
    }

    fn chapters(&mut self, values: &Values<'_>, chapters: &Element) -> Result<()> {
        for edition in values.list(chapters)?.iter().filter(|one| one.id == 0x45b9) {
            for atom in values.list(edition)?.iter().filter(|one| one.id == 0xb6).take(10_000) {
                let mut chapter = Chapter::default();
                for one in values.list(atom)? {
                    match one.id {
                        0x91 => chapter.start = values.unsigned(&one)? as f64 / 1e9,
                        0x92 => chapter.end = Some(values.unsigned(&one)? as f64 / 1e9),
                        0x80 => {
                            for part in values.list(&one)?.iter().filter(|part| part.id == 0x85) {
                                chapter.title = values.text(part)?;
                            }
                        }
                        _ => {}
                    }
                }
                self.movie.chapters.push(chapter);
            }
        }
        Ok(())
    }

    fn tags(&mut self, values: &Values<'_>, tags: &Element) -> Result<()> {
        for tag in values.list(tags)?.iter().filter(|one| one.id == 0x7373).take(1_000) {
            let parts = values.list(tag)?;
            // Those of a track are not the file's.
            let targets =
                parts.iter().find(|one| one.id == 0x63c0).map(|one| values.list(one)).transpose()?;
            if targets.is_some_and(|parts| parts.iter().any(|one| one.id == 0x63c5)) {
                continue;
            }
            for simple in parts.iter().filter(|one| one.id == 0x67c8) {
                let (mut name, mut text) = (String::new(), String::new());
                for one in values.list(simple)? {
                    match one.id {
                        0x45a3 => name = values.text(&one)?.to_lowercase(),
                        0x4487 => text = values.text(&one)?,
                        _ => {}
                    }
                }
                if !name.is_empty() {
                    self.movie.texts.push((name, text));
                }
            }
        }
        Ok(())
    }

    fn attachments(&mut self, values: &Values<'_>, attachments: &Element) -> Result<()> {
        for file in values.list(attachments)?.iter().filter(|one| one.id == 0x61a7).take(1_000) {
            let (mut name, mut kind, mut data) = (String::new(), String::new(), None);
            for one in values.list(file)? {
                match one.id {
                    0x466e => name = values.text(&one)?,
                    0x4660 => kind = values.text(&one)?,
                    0x465c => data = Some(one.body),
                    _ => {}
                }
            }
            if let Some(data) = data.clone().filter(|_| kind.starts_with("image/")) {
                self.movie.attachments.push(picture(values.source, name, "attachment", &data)?);
            } else if let Some(data) = data {
                let member = values.source.member(name.clone(), data.clone())?;
                let node = Node::new(name, "attachment").content(Content::Bytes(member)).span(data);
                self.movie.attachments.push(node);
            }
        }
        Ok(())
    }

    fn node(self, task: &Task, source: &Source) -> Result<Node> {
        let File { scale, duration, tracks, mut movie, hidden, .. } = self;
        let of_sounds = without(source, &hidden)?;
        let seconds = duration.map(|duration| duration * scale / 1e9).filter(|seconds| seconds.is_finite());
        let mut sounds = 0;
        for track in tracks {
            match track.kind {
                1 => {
                    let (name, language) = (track.name.clone(), track.language.clone());
                    movie.videos.push((track.pictures(scale, seconds), name, language));
                }
                2 => {
                    movie.sounds.push(Sound {
                        codec: codecs::of_matroska(&track.codec),
                        channels: track.channels.max(1),
                        rate: track.rate.clamp(0.0, 1e9) as u64,
                        bits: track.bits,
                        name: track.name,
                        language: track.language,
                        number: Some(sounds),
                        source: Some(of_sounds.clone()),
                        seconds,
                    });
                    sounds += 1;
                }
                17 => movie.subtitles.push(track.subtitles(task, source, scale)?),
                _ => {}
            }
        }
        movie.node(task, source)
    }
}

/// The file with other elements void (RFC 8794, 11.3.2): the decoder of sounds takes optional parts of chapters for
/// required ones, and would read attachments each time that it begins.
fn without(source: &Source, hidden: &[Element]) -> Result<Source> {
    let void = |one: &Element| {
        let len = one.body.end - one.start;
        // A length of up to eight bytes stands in the place of the element's own number and length.
        let width = (one.body.start - one.start - 1).min(8);
        let size = (1 << (7 * width)) | (len - 1 - width);
        let bytes = size.to_be_bytes().into_iter().skip(8 - width as usize);
        (one.start, std::iter::once(0xec).chain(bytes).collect())
    };
    let patches: Vec<(u64, Vec<u8>)> =
        hidden.iter().filter(|one| !one.open && !one.is_cut).map(void).collect();
    if patches.is_empty() { Ok(source.clone()) } else { patched(source, patches) }
}

impl Tracked {
    fn read(values: &Values<'_>, entry: &Element) -> Result<Self> {
        let mut track = Tracked { language: "eng".to_owned(), ..Tracked::default() };
        for one in values.list(entry)? {
            match one.id {
                0xd7 => track.number = values.unsigned(&one)?,
                0x83 => track.kind = values.unsigned(&one)?,
                0x86 => track.codec = values.text(&one)?,
                0x63a2 => track.private = values.bytes(&one, VALUE)?.to_vec(),
                0x536e => track.name = values.text(&one)?,
                0x22_b59c => track.language = values.text(&one)?,
                0x22_b59d => track.language = values.text(&one)?,
                0x23_e383 => track.duration = values.unsigned(&one)? as f64,
                0xe0 => track.video(values, &one)?,
                0xe1 => {
                    for part in values.list(&one)? {
                        match part.id {
                            0xb5 => track.rate = values.float(&part)?,
                            0x9f => track.channels = values.unsigned(&part)?,
                            0x6264 => track.bits = values.unsigned(&part)?,
                            _ => {}
                        }
                    }
                }
                0x6d80 => track.encodings(values, &one)?,
                _ => {}
            }
        }
        Ok(track)
    }

    fn video(&mut self, values: &Values<'_>, video: &Element) -> Result<()> {
        for one in values.list(video)? {
            match one.id {
                0xb0 => self.width = values.unsigned(&one)?,
                0xba => self.height = values.unsigned(&one)?,
                0x55b0 => {
                    for part in values.list(&one)? {
                        let place = match part.id {
                            0x55bb => 0,
                            0x55ba => 1,
                            0x55b1 => 2,
                            0x55b9 => 3,
                            _ => continue,
                        };
                        let value = values.unsigned(&part)?;
                        self.colours.iter_mut().skip(place).take(1).for_each(|place| *place = Some(value));
                    }
                }
                0x7670 => {
                    for part in values.list(&one)?.iter().filter(|part| part.id == 0x7675) {
                        self.rotation = values.float(part)?;
                    }
                }
                0x54aa | 0x54bb | 0x54cc | 0x54dd => {
                    let place = match one.id {
                        0x54bb => 0,
                        0x54aa => 1,
                        0x54cc => 2,
                        _ => 3,
                    };
                    let value = values.unsigned(&one)?;
                    self.crop.iter_mut().skip(place).take(1).for_each(|place| *place = value);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn encodings(&mut self, values: &Values<'_>, encodings: &Element) -> Result<()> {
        for encoding in values.list(encodings)?.iter().filter(|one| one.id == 0x6240) {
            let parts = values.list(encoding)?;
            if parts.iter().any(|one| one.id == 0x5035) {
                self.packed = true;
            }
            for compression in parts.iter().filter(|one| one.id == 0x5034) {
                let (mut kind, mut settings) = (0, Vec::new());
                for one in values.list(compression)? {
                    match one.id {
                        0x4254 => kind = values.unsigned(&one)?,
                        0x4255 => settings = values.bytes(&one, VALUE)?.to_vec(),
                        _ => {}
                    }
                }
                match kind {
                    3 => self.stripped = settings,
                    0 => self.zlib = true,
                    _ => self.packed = true,
                }
            }
        }
        Ok(())
    }

    fn pictures(self, scale: f64, seconds: Option<f64>) -> Track {
        let codec = codecs::of_matroska(&self.codec);
        let mut codec_id = self.codec.clone();
        if codec_id == "V_MS/VFW/FOURCC"
            && let Some(code) = self.private.get(16..20).and_then(|code| code.first_chunk())
        {
            codec_id = codecs::of_fourcc(*code);
        }
        let named = if codec_id == self.codec { codec } else { codec_id };
        let bits = codecs::bits(&named, &self.private);
        let coding = Coding { id: self.codec, private: self.private, width: self.width, height: self.height };
        let mut track = Track {
            codec: named,
            coding: Some(coding).filter(|_| !self.packed && !self.zlib),
            packets: self.packets,
            before: self.stripped,
            timescale: 1e9 / scale,
            width: self.width,
            height: self.height,
            bits,
            seconds,
            quarters: quarters(self.rotation),
            ..Track::default()
        };
        let [top, bottom, left, right] = self.crop;
        if self.crop != [0; 4] {
            let rest = |side: u64, a: u64, b: u64| side.saturating_sub(a.saturating_add(b));
            let (width, height) = (rest(track.width, left, right), rest(track.height, top, bottom));
            track.shown = Some(Rect { x: left, y: top, width, height });
        }
        if let [Some(primaries), transfer, matrix, _] = self.colours {
            let words = colours(primaries, transfer.unwrap_or(2), matrix.unwrap_or(2));
            track.details.push(("colours".to_owned(), words));
        }
        if let Some(range @ 1..=2) = self.colours[3] {
            track.details.push(("range".to_owned(), if range == 2 { "full" } else { "limited" }.to_owned()));
        }
        if self.packed || self.zlib {
            track.details.push(("packets".to_owned(), "compressed or encrypted".to_owned()));
        }
        track
    }

    fn subtitles(self, task: &Task, source: &Source, scale: f64) -> Result<Subtitles> {
        let codec = codecs::of_matroska(&self.codec);
        let mut out = Subtitles { codec, name: self.name, language: self.language, cues: Vec::new() };
        if !self.codec.starts_with("S_TEXT/") || self.packed {
            return Ok(out);
        }
        let is_ass = matches!(self.codec.as_str(), "S_TEXT/ASS" | "S_TEXT/SSA");
        for (packet, length) in self.packets.iter().zip(&self.durations).take(CUES) {
            task.check()?;
            let len = (packet.place.end - packet.place.start).min(64 << 10);
            let mut bytes = source.read_up_to(task, packet.place.start, len as usize)?;
            if self.zlib {
                let most = limits::HEADER as usize / CUES;
                bytes = prefix(&mut Inflater::new(true)?, &bytes, most, "a subtitle").0.into();
            }
            let text = [self.stripped.as_slice(), &bytes].concat();
            let mut text = String::from_utf8_lossy(&text).into_owned();
            if is_ass {
                // Behind eight fields stands the text.
                text = text.splitn(9, ',').nth(8).unwrap_or_default().replace("\\N", "\n");
            }
            let begin = packet.time as f64 * scale / 1e9;
            let length = if *length > 0 { *length as f64 * scale } else { self.duration };
            out.cues.push((begin, begin + length / 1e9, text));
        }
        Ok(out)
    }
}

/// Quarters clockwise of a roll in degrees, counter-clockwise.
fn quarters(roll: f64) -> u8 {
    let turns = (-roll / 90.0).round().rem_euclid(4.0);
    if turns.is_finite() { turns as u8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_widths() {
        assert_eq!(number(&[0x81], false), Some((1, false, 1)));
        assert_eq!(number(&[0xff], false), Some((127, true, 1)));
        assert_eq!(number(&[0x40, 0x7f], false), Some((127, false, 2)));
        assert_eq!(number(&[0x1a, 0x45, 0xdf, 0xa3], true), Some((0x1a45_dfa3, false, 4)));
        assert_eq!(number(&[0], false), None);
        assert_eq!(number(&[0x10, 0], false), None);
    }

    #[test]
    fn rolls_are_quarters() {
        assert_eq!([quarters(0.0), quarters(90.0), quarters(-90.0), quarters(180.0)], [0, 3, 1, 2]);
        assert_eq!(quarters(f64::NAN), 0);
    }
}
