//! Videos: MP4 and QuickTime, Matroska and WebM, AVI, MPEG transport streams; and HEIC, which is a frame of HEVC.
//!
//! Tracks, codecs, key frames, times, rotation, colour, chapters and subtitles are read here, at once and without a decoder.
//! A video is a picture of many frames with [`ImageInfo::video`](crate::data::content::ImageInfo::video); its pixels are
//! decoded by a child process ([`ffmpeg`](crate::engines::ffmpeg)) that is given coded packets and nothing else. Tracks of
//! sound are children.
//!
//! - MP4: ISO 14496-12 and 14; QuickTime: <https://developer.apple.com/documentation/quicktime-file-format>
//! - Matroska: RFC 9559; WebM: <https://www.webmproject.org/docs/container/>
//! - AVI: <https://learn.microsoft.com/windows/win32/directshow/avi-riff-file-reference>
//! - MPEG-TS: ISO 13818-1

mod avi;
mod bitstream;
mod codecs;
mod frames;
mod matroska;
mod mp4;
mod mpegts;
mod still;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Chapter;
use crate::data::content::{Content, Image, Kind};
use crate::data::format::{Format, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match};
use crate::engines::picture_metadata::Blocks;
use crate::engines::{isobmff, sounds, time_spans};
use crate::formats::ALL;
use frames::{Frames, Track};
use std::ops::Range;
use std::sync::Arc;

/// What containers of video hold.
const READS: &[Kind] = &[Kind::Image, Kind::Array, Kind::Table, Kind::Group];

/// MP4, QuickTime and their kin.
pub static MP4: Format = Format {
    extensions: &["mp4", "m4v", "mov", "qt", "3gp", "3g2", "mj2", "f4v", "ismv"],
    mime: &["video/mp4", "video/quicktime", "video/3gpp"],
    sniff: Some(sniff_mp4),
    reads: READS,
    ..Format::new("mp4", "MPEG-4 or QuickTime video", mp4::open)
};

/// HEIF whose pictures are HEVC.
pub static HEIC: Format = Format {
    extensions: &["heic", "heif", "heics", "hif"],
    mime: &["image/heic", "image/heif"],
    sniff: Some(sniff_heic),
    reads: READS,
    ..Format::new("heic", "HEIC", mp4::open_heic)
};

/// Matroska and WebM.
pub static MATROSKA: Format = Format {
    extensions: &["mkv", "webm", "mka", "mks", "mk3d"],
    mime: &["video/x-matroska", "video/webm"],
    magic: &[Magic::at(0, b"\x1a\x45\xdf\xa3")],
    reads: READS,
    ..Format::new("matroska", "Matroska or WebM video", matroska::open)
};

/// AVI.
pub static AVI: Format = Format {
    extensions: &["avi", "divx"],
    mime: &["video/x-msvideo"],
    magic: &[Magic::at(8, b"AVI ")],
    sniff: Some(|head| match head.starts_with(b"RIFF") && head.first.get(8..12) == Some(b"AVI ") {
        true => Match::Yes,
        false => Match::No,
    }),
    reads: READS,
    ..Format::new("avi", "AVI video", avi::open)
};

/// MPEG transport streams.
pub static MPEG_TS: Format = Format {
    extensions: &["ts", "m2ts", "mts", "m2t"],
    mime: &["video/mp2t"],
    sniff: Some(mpegts::sniff),
    reads: READS,
    ..Format::new("mpegts", "MPEG transport stream", mpegts::open)
};

/// A file type box, or one of the boxes that files of QuickTime begin with.
fn sniff_mp4(head: &Head) -> Match {
    let kind = head.first.get(4..8);
    match kind {
        Some(b"ftyp") => Match::Yes,
        Some(b"moov" | b"styp") => Match::Yes,
        Some(b"mdat" | b"wide" | b"free" | b"skip" | b"moof" | b"sidx")
            if head.has_extension(MP4.extensions) =>
        {
            Match::Yes
        }
        _ => Match::No,
    }
}

/// Brands of HEVC, and of HEIF in general where none of AV1 is named.
fn sniff_heic(head: &Head) -> Match {
    let is_heic = isobmff::brands(&head.first).any(|brand| {
        matches!(brand, b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"mif1" | b"msf1")
    });
    if is_heic { Match::Yes } else { Match::No }
}

/// A track of sound.
#[derive(Clone, Debug, Default)]
struct Sound {
    codec: String,
    channels: u64,
    rate: u64,
    bits: u64,
    name: String,
    language: String,
    /// Its number among the tracks of sound, where the decoder of sounds reads this container.
    number: Option<usize>,
    /// Its packets as a file of sound, where that decoder does not; or the container as that decoder reads it.
    source: Option<Source>,
    /// About how long it is, where the container does not say it of each track.
    seconds: Option<f64>,
}

/// A track of texts: begin and end in seconds, and the text.
#[derive(Clone, Debug, Default)]
struct Subtitles {
    codec: String,
    name: String,
    language: String,
    cues: Vec<(f64, f64, String)>,
}

/// What a container holds.
#[derive(Default)]
struct Movie {
    /// A picture that is the file's, where it is no track.
    picture: Option<Node>,
    /// EXIF, XMP and a profile.
    blocks: Blocks,
    videos: Vec<(Track, String, String)>,
    sounds: Vec<Sound>,
    subtitles: Vec<Subtitles>,
    chapters: Vec<Chapter>,
    /// Where pictures lie that stand for it, each a file of its own.
    covers: Vec<Range<u64>>,
    texts: Vec<(String, String)>,
    /// Files in the container: a name and its bytes.
    attachments: Vec<Node>,
    details: Vec<(String, String)>,
    remarks: Vec<String>,
    problem: Option<Error>,
}

/// Refuses frames that are too large to be decoded.
fn check_size(width: u64, height: u64) -> Result<()> {
    match width.checked_mul(height) {
        Some(pixels @ 1..) if pixels <= limits::PIXELS / 4 => Ok(()),
        _ => Err(Error::limit(format!("a video of {width} × {height} pixels"))),
    }
}

impl Movie {
    /// The node of a file: its first track of pictures, with all others below it.
    fn node(mut self, task: &Task, source: &Source) -> Result<Node> {
        let mut children = Vec::new();
        let mut root = self.picture.take();
        for (n, (track, name, language)) in std::mem::take(&mut self.videos).into_iter().enumerate() {
            let quarters = track.quarters;
            let known = track.coding.is_some();
            let codec = track.codec.clone();
            let frames = Frames::new(source, track);
            let seconds = frames.info().video.as_ref().and_then(|video| video.seconds);
            let mut node =
                Node::new(title("video", n, &name), "video").content(Content::Image(Arc::new(frames)));
            if !known {
                let what = format!("frames coded as {codec} are not decoded");
                node.remarks.push(what);
            }
            if quarters > 0 {
                let turn = format!("rotated by {}° clockwise", u32::from(quarters) * 90);
                node.reader.push(("rotation".to_owned(), turn.into()));
            }
            if let Some(seconds) = seconds {
                node.reader.push(("duration".to_owned(), clock(seconds).into()));
            }
            described(&mut node, &language);
            match root {
                None => root = Some(node),
                Some(_) => children.push(node),
            }
        }
        let chapters = Chapter::in_order(std::mem::take(&mut self.chapters));
        for (n, sound) in self.sounds.iter().enumerate() {
            let node = sound.node(task, source, n, &chapters)?;
            match root {
                // A file of sounds is the first one.
                None if self.videos.is_empty() => root = Some(node),
                _ => children.push(node),
            }
        }
        for (n, subtitles) in std::mem::take(&mut self.subtitles).into_iter().enumerate() {
            children.push(subtitles.node(n)?);
        }
        children.extend(time_spans::chapters_node(&chapters)?);
        for (n, place) in self.covers.iter().enumerate() {
            let name = if n == 0 { "cover".to_owned() } else { format!("cover {}", n + 1) };
            children.push(picture(source, name, "picture", place)?);
        }
        children.append(&mut self.attachments);
        children.extend(self.blocks.nodes());
        // A file of one track is that track.
        let mut root = match (root, children.len()) {
            (Some(root), _) => root,
            (None, 1) => children.remove(0),
            (None, 0) if self.problem.is_none() => {
                return Err(Error::malformed("the file has no track"));
            }
            (None, _) => Node::new("", "file"),
        };
        root.name = source.name().to_owned();
        for (name, text) in self.texts {
            root = root.attribute(name, text);
        }
        root.reader.extend(self.details.into_iter().map(|(name, value)| (name, value.into())));
        root.remarks.extend(self.remarks);
        root.problem = root.problem.or(self.problem);
        Ok(if children.is_empty() { root } else { root.listed(children) })
    }
}

fn title(kind: &str, n: usize, name: &str) -> String {
    if name.is_empty() { format!("{kind} {}", n + 1) } else { format!("{kind} {} ({name})", n + 1) }
}

/// The node of a file of pictures in the container, opened when somebody looks at it.
fn picture(source: &Source, name: String, label: &'static str, place: &Range<u64>) -> Result<Node> {
    let member = source.member(name.clone(), place.clone())?;
    let node = ALL.nested(name, label, Options::default(), move |_| Ok(member.clone()));
    Ok(node.span(place.clone()))
}

fn described(node: &mut Node, language: &str) {
    if !language.is_empty() && language != "und" {
        node.reader.push(("language".to_owned(), language.into()));
    }
}

/// Hours, minutes and seconds.
fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0);
    let (hours, minutes) = ((whole / 3_600.0).floor(), (whole % 3_600.0 / 60.0).floor());
    let rest = whole % 60.0;
    if hours > 0.0 { format!("{hours}:{minutes:02}:{rest:06.3}") } else { format!("{minutes}:{rest:06.3}") }
}

impl Sound {
    fn node(&self, task: &Task, source: &Source, n: usize, chapters: &Arc<[Chapter]>) -> Result<Node> {
        let named = title("audio", n, &self.name);
        let known = sounds::TrackHints { seconds: self.seconds, chapters: chapters.clone() };
        let read = match (self.number, &self.source) {
            (Some(number), own) => {
                sounds::track(task, own.as_ref().unwrap_or(source), number, &known).unless_cancelled()?
            }
            (None, Some(own)) => sounds::track(task, own, 0, &known).unless_cancelled()?,
            (None, None) => Err(Error::unsupported("sound in this container is not decoded")),
        };
        let mut node = match read {
            Ok(node) => node,
            Err(error) => Node::new("", "audio").problem(error),
        };
        if node.kind() != Kind::Array {
            // What is not decoded has no content of its own: its bytes lie among others.
            node.content = None;
            node.label = "audio";
            node = node.attribute("codec", self.codec.clone());
            for (name, value) in [("channels", self.channels), ("rate", self.rate), ("bits", self.bits)] {
                if value > 0 {
                    node = node.attribute(name, value.to_string());
                }
            }
        }
        node.name = named;
        // Texts of the container stand at its root.
        if node.kind() == Kind::Array {
            node.attributes.clear();
        }
        described(&mut node, &self.language);
        Ok(node)
    }
}

impl Subtitles {
    fn node(self, n: usize) -> Result<Node> {
        let mut node = Node::new(title("subtitles", n, &self.name), "subtitles");
        if self.cues.is_empty() {
            node = node.attribute("codec", self.codec);
        } else {
            node.reader.push(("codec".to_owned(), self.codec.into()));
            let cues = self.cues.iter().map(|(begin, end, text)| (*begin, Some(*end), text.as_str()));
            node = node.content(time_spans::table(cues)?);
        }
        described(&mut node, &self.language);
        Ok(node)
    }
}

/// What numbers of H.273 say of colours.
fn colours(primaries: u64, transfer: u64, matrix: u64) -> String {
    let name = |n: u64, known: &[(u64, &str)]| {
        known
            .iter()
            .find(|(code, _)| *code == n)
            .map_or_else(|| n.to_string(), |(_, name)| (*name).to_owned())
    };
    let primaries = name(
        primaries,
        &[
            (1, "BT.709"),
            (2, "not said"),
            (5, "BT.601 (625)"),
            (6, "BT.601 (525)"),
            (9, "BT.2020"),
            (12, "Display P3"),
        ],
    );
    let transfer = name(
        transfer,
        &[
            (1, "BT.709"),
            (2, "not said"),
            (6, "BT.601"),
            (8, "linear"),
            (13, "sRGB"),
            (14, "BT.2020"),
            (16, "PQ"),
            (18, "HLG"),
        ],
    );
    let matrix = name(
        matrix,
        &[
            (0, "identity"),
            (1, "BT.709"),
            (2, "not said"),
            (5, "BT.601 (625)"),
            (6, "BT.601 (525)"),
            (9, "BT.2020"),
        ],
    );
    format!("primaries {primaries}, transfer {transfer}, matrix {matrix}")
}

#[cfg(test)]
mod tests;
