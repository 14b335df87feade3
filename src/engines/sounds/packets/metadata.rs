//! What a sound says of itself beside its samples: texts, chapters and pictures.
//!
//! - ID3v2 with chapters: <https://id3.org/id3v2.4.0-frames>, <https://id3.org/id3v2-chapters-1.0>
//! - FLAC's pictures: RFC 9639, 8.8; chapters in comments of Ogg: <https://wiki.xiph.org/Chapter_Extension>

use super::stream::Stream;
use crate::bytes::source::Source;
use crate::data::content::array::Chapter;
use crate::data::format::{Formats, Options};
use crate::data::node::{Node, Value};
use crate::engines::time_spans::CHAPTERS;
use std::collections::HashMap;
use symphonia::core::meta::{
    ChapterGroup, ChapterGroupItem, RawValue, StandardTag, StandardVisualKey, Tag, Visual,
};
use symphonia::core::units::Time;

/// A text of the metadata is cut to so many characters.
const TEXT: usize = 4_000;
/// Pictures of one file.
const PICTURES: usize = 1_000;
/// Groups of chapters lie in one another no deeper.
const DEPTH: usize = 8;
/// What a picture begins with that is only an address (ID3v2.4, 4.14).
const ADDRESS: &str = "-->";

/// What keys of metadata are called in words.
const KEYS: [(&str, &str); 18] = [
    ("TIT2", "title"),
    ("TPE1", "artist"),
    ("TPE2", "album_artist"),
    ("TALB", "album"),
    ("TRCK", "track"),
    ("TDRC", "date"),
    ("TYER", "date"),
    ("TCON", "genre"),
    ("TCOP", "copyright"),
    ("COMM", "comment"),
    ("TSSE", "encoder"),
    ("\u{a9}nam", "title"),
    ("\u{a9}ART", "artist"),
    ("\u{a9}alb", "album"),
    ("\u{a9}day", "date"),
    ("\u{a9}gen", "genre"),
    ("\u{a9}cmt", "comment"),
    ("\u{a9}too", "encoder"),
];

/// What it says.
#[derive(Default)]
pub(super) struct Metadata {
    pub(super) attributes: Vec<(String, Value)>,
    pub(super) chapters: Vec<Chapter>,
    /// A node each, opened when somebody looks at it.
    pub(super) pictures: Vec<Node>,
    pub(super) remarks: Vec<String>,
}

impl Metadata {
    /// What the metadata say that were read so far.
    pub(super) fn read(stream: &mut Stream, formats: Formats) -> Self {
        let mut said = Metadata::default();
        if let Some(group) = stream.format.chapters() {
            said.group(group, DEPTH);
        }
        let mut metadata = stream.format.metadata();
        if let Some(revision) = metadata.skip_to_latest() {
            for tag in &revision.media.tags {
                if let Some(value) = text(tag) {
                    let known = KEYS.iter().find(|(key, _)| *key == tag.raw.key);
                    let key =
                        known.map_or_else(|| tag.raw.key.to_lowercase(), |(_, word)| (*word).to_owned());
                    said.attributes.push((key, Value::Text(value)));
                }
            }
            said.pictures(&revision.media.visuals, formats);
        }
        said
    }

    /// The chapters of a group, and of the groups in it.
    fn group(&mut self, group: &ChapterGroup, deeper: usize) {
        for item in &group.items {
            if self.chapters.len() >= CHAPTERS {
                self.remarks.push(format!("{CHAPTERS} chapters are shown, there are more"));
                return;
            }
            match item {
                ChapterGroupItem::Group(group) if deeper > 0 => self.group(group, deeper - 1),
                ChapterGroupItem::Group(_) => {}
                ChapterGroupItem::Chapter(chapter) => self.chapters.push(Chapter {
                    start: seconds(chapter.start_time),
                    end: chapter.end_time.map(seconds),
                    title: title(&chapter.tags),
                }),
            }
        }
    }

    fn pictures(&mut self, visuals: &[Visual], formats: Formats) {
        let mut names: HashMap<&str, usize> = HashMap::new();
        for visual in visuals.iter().take(PICTURES) {
            if visual.media_type.as_deref() == Some(ADDRESS) {
                let address: String = String::from_utf8_lossy(&visual.data).chars().take(TEXT).collect();
                self.remarks.push(format!("a picture is only an address, which is not followed: {address}"));
                continue;
            }
            let word = picture_word(visual.usage);
            let count = names.entry(word).or_default();
            *count += 1;
            let name = if *count == 1 { word.to_owned() } else { format!("{word} {count}") };
            let source = Source::memory(&*name, visual.data.to_vec());
            self.pictures
                .push(formats.nested(name, "picture", Options::default(), move |_| Ok(source.clone())));
        }
        if visuals.len() > PICTURES {
            self.remarks.push(format!("{PICTURES} of {} pictures are shown", visuals.len()));
        }
    }
}

/// Seconds: the number that is nearest to the decimal one, which adding whole seconds and parts of them is not.
fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// What a tag says, as a text; `None` for bytes.
fn text(tag: &Tag) -> Option<String> {
    Some(match &tag.raw.value {
        RawValue::String(text) => text.chars().take(TEXT).collect(),
        RawValue::StringList(list) => list.join("; ").chars().take(TEXT).collect(),
        RawValue::SignedInt(number) => number.to_string(),
        RawValue::UnsignedInt(number) => number.to_string(),
        RawValue::Float(number) => number.to_string(),
        RawValue::Boolean(flag) => flag.to_string(),
        _ => return None,
    })
}

/// What a chapter is called.
fn title(tags: &[Tag]) -> String {
    let title = tags.iter().find_map(|tag| match &tag.std {
        Some(StandardTag::ChapterTitle(title) | StandardTag::TrackTitle(title)) => Some(title),
        _ => None,
    });
    title.map(|title| title.chars().take(TEXT).collect()).unwrap_or_default()
}

/// What a picture shows, in a word.
fn picture_word(usage: Option<StandardVisualKey>) -> &'static str {
    use StandardVisualKey as Key;
    match usage {
        Some(Key::FileIcon | Key::OtherIcon) => "icon",
        Some(Key::FrontCover) => "cover",
        Some(Key::BackCover) => "back cover",
        Some(Key::Leaflet) => "leaflet",
        Some(Key::Media) => "medium",
        Some(Key::LeadArtistPerformerSoloist | Key::ArtistPerformer) => "artist",
        Some(Key::Conductor) => "conductor",
        Some(Key::BandOrchestra) => "band",
        Some(Key::Composer) => "composer",
        Some(Key::Lyricist) => "lyricist",
        Some(Key::RecordingLocation) => "place of recording",
        Some(Key::RecordingSession) => "recording",
        Some(Key::Performance) => "performance",
        Some(Key::ScreenCapture) => "screen",
        Some(Key::Illustration) => "illustration",
        Some(Key::BandArtistLogo) => "logo of the band",
        Some(Key::PublisherStudioLogo) => "logo of the publisher",
        _ => "picture",
    }
}
