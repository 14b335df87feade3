//! What the columns of a training set are for: which one is the key of a sample, its payload, its label, its split.

use super::columns::{Flat, Form, Leaf, flat, is_file};
use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options, Payload};
use crate::data::media::features::{self, Feature};
use crate::data::media::{self, LabelColumn, sound};
use std::sync::Arc;

/// The option that names the column of keys.
pub const KEY: OptionSpec = OptionSpec::new(
    "key",
    "The column of keys; auto: key or __key__, else the path of the payload, else the number of the row",
)
.default("auto");
/// The option that names the column of payloads.
pub const PAYLOAD: OptionSpec = OptionSpec::new(
    "payload",
    "The column of payloads; auto: pictures or sounds as the schema says, else the first column of bytes",
)
.default("auto");
/// The option that names the column of labels.
pub const LABEL: OptionSpec = OptionSpec::new(
    "label",
    "The column of labels; auto: classes as the schema says, else label, class, target and the like; none",
)
.default("auto");

/// The option that says whether files become payloads where a table only names them.
pub const FILES: OptionSpec = OptionSpec::new(
    "files",
    "Whether the files that a column of paths names are put in, or the paths stay texts",
)
.one_of("embed", &["embed", "paths"]);

/// Names of columns of keys, of payloads and of splits.
const KEYS: [&str; 2] = ["key", "__key__"];
const PAYLOADS: [&str; 12] =
    ["payload", "image", "img", "jpg", "jpeg", "png", "webp", "picture", "audio", "wav", "data", "bytes"];
const SPLITS: [&str; 3] = ["split", "__split__", "split.txt"];

/// The columns of a table, structs opened, and what some of them are for.
pub struct Roles {
    /// The columns.
    pub columns: Vec<Flat>,
    /// That of keys, by its place among them.
    pub key: Option<usize>,
    /// That of the paths of the payloads, which stands in for keys.
    pub path: Option<usize>,
    /// That of payloads.
    pub payload: Option<usize>,
    /// That of labels.
    pub label: Option<usize>,
    /// The names of the classes that labels count, from 0 on; empty where labels stand for themselves.
    pub names: Arc<[String]>,
    /// That of the names of classes as texts, where only it knows them.
    pub class: Option<usize>,
    /// That of splits.
    pub split: Option<usize>,
}

/// Whether a column is called as one of the names of classes: `label/text`, `class_name`.
fn is_class_text(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_label = |part: &str| ["label", "class", "category", "cls"].contains(&part);
    match name.rsplit_once(['/', '.', '_']) {
        Some((before, "text" | "name")) => before.rsplit(['/', '.', '_']).next().is_some_and(is_label),
        _ => false,
    }
}

impl Roles {
    /// Finds them in a table, as its schema and the options tell.
    ///
    /// # Errors
    /// `Unsupported` for an option that names no column.
    pub fn find(payload: &Payload, options: &Options, separator: char) -> Result<Roles> {
        let schema = payload.table()?.schema().clone();
        let columns = flat(&schema, separator);
        let attributes = &payload.attributes.list;
        let said = features::of(&schema, attributes);
        let named = |spec: &OptionSpec| -> Result<Option<usize>> {
            match options.get(spec.name) {
                None | Some("auto" | "none") => Ok(None),
                Some(name) => columns.iter().position(|flat| flat.name == name).map(Some).ok_or_else(|| {
                    Error::unsupported(format!("{}={name}: there is no column of this name", spec.name))
                }),
            }
        };
        let is = |flat: &Flat, leaves: &[Leaf]| matches!(Form::of(&flat.data_type), Form::Single(leaf) if leaves.contains(&leaf));
        let by_name = |names: &[&str], leaves: &[Leaf]| {
            let one = |name: &&str| {
                columns.iter().position(|flat| flat.name.eq_ignore_ascii_case(name) && is(flat, leaves))
            };
            names.iter().find_map(one)
        };
        let key = named(&KEY)?.or_else(|| by_name(&KEYS, &[Leaf::Text, Leaf::Int, Leaf::Uint]));
        let stated = || {
            columns.iter().position(|flat| {
                let name = schema.fields().get(flat.column).map_or("", |field| field.name());
                let media = matches!(features::named(&said, name), Some(Feature::Image | Feature::Audio));
                media && is(flat, &[Leaf::Bytes])
            })
        };
        let files = || {
            columns.iter().position(|flat| {
                let top = schema.fields().get(flat.column);
                top.is_some_and(|field| is_file(field.data_type())) && is(flat, &[Leaf::Bytes])
            })
        };
        let payload = named(&PAYLOAD)?
            .or_else(stated)
            .or_else(files)
            .or_else(|| by_name(&PAYLOADS, &[Leaf::Bytes]))
            .or_else(|| {
                (0..columns.len()).find(|at| {
                    columns.get(*at).is_some_and(|flat| is(flat, &[Leaf::Bytes])) && Some(*at) != key
                })
            });
        // The path that lies in a struct with the payload.
        let path = payload.and_then(|payload| {
            let own = columns.get(payload)?.column;
            let struct_field = schema.fields().get(own)?;
            let is_path = |flat: &Flat| flat.column == own && is(flat, &[Leaf::Text]);
            columns.iter().position(is_path).filter(|_| is_file(struct_field.data_type()))
        });
        let labels = match options.get(LABEL.name) {
            Some("none") => Vec::new(),
            _ => media::labels_of(&schema, attributes),
        };
        let place = |column: usize| columns.iter().position(|flat| flat.column == column);
        let chosen = named(&LABEL)?;
        let found = match chosen {
            Some(at) => labels.iter().find(|label| place(label.column) == Some(at)),
            None => {
                // Texts that say what the numbers beside them mean are no labels of their own.
                let is_text = |label: &&LabelColumn| {
                    place(label.column)
                        .and_then(|at| columns.get(at))
                        .is_some_and(|flat| is_class_text(&flat.name))
                };
                let free = || labels.iter().filter(|label| place(label.column) != key);
                free().find(|label| !is_text(label)).or_else(|| free().next())
            }
        };
        let label = chosen.or_else(|| found.and_then(|label| place(label.column)));
        let names = found.map(|label| label.names.clone()).unwrap_or_default();
        let split = by_name(&SPLITS, &[Leaf::Text]);
        let is_class = |flat: &Flat| is_class_text(&flat.name) && is(flat, &[Leaf::Text]);
        let class = columns.iter().position(is_class).filter(|at| names.is_empty() && Some(*at) != label);
        let class = class.filter(|_| label.is_some());
        Ok(Roles { columns, key, path, payload, label, names, class, split })
    }

    /// The column at a place.
    pub fn column(&self, at: Option<usize>) -> Option<&Flat> {
        self.columns.get(at?)
    }

    /// The columns that are none of these.
    pub fn others<'a>(&'a self, these: &'a [Option<usize>]) -> impl Iterator<Item = (usize, &'a Flat)> {
        self.columns.iter().enumerate().filter(move |(at, _)| !these.contains(&Some(*at)))
    }
}

/// The extension of a file with these bytes; `None` where they are none that is known.
pub fn extension(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 16] = [
        (b"\xff\xd8\xff", "jpg"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"GIF8", "gif"),
        (b"BM", "bmp"),
        (b"II*\0", "tif"),
        (b"MM\0*", "tif"),
        (b"qoif", "qoi"),
        (b"v/1\x01", "exr"),
        (b"\x93NUMPY", "npy"),
        (b"PK\x03\x04", "zip"),
        (b"\x80\x02", "pickle"),
        (b"\x80\x03", "pickle"),
        (b"\x80\x04", "pickle"),
        (b"\x80\x05", "pickle"),
        (b"P6\n", "ppm"),
        (b"P5\n", "pgm"),
    ];
    let begins = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, extension)| *extension);
    if begins.is_some() {
        return begins;
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("webp");
    }
    if bytes.get(4..8) == Some(b"ftyp") && sound(bytes).is_none() {
        return Some("mp4");
    }
    match sound(bytes)? {
        "WAV" => Some("wav"),
        "FLAC" => Some("flac"),
        "Ogg" => Some("ogg"),
        "MP3" => Some("mp3"),
        "AIFF" => Some("aiff"),
        "AU" => Some("au"),
        "M4A" => Some("m4a"),
        _ => None,
    }
}
