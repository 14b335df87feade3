//! Which format is it? Formats see one shared [`Head`] — name, length, first and last bytes, a
//! folder's entries — and answer `No`, `Maybe` or `Yes`. Content beats the extension.

pub mod compound;
pub mod json;
pub mod zip;

use crate::bytes::error::Result;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::format::{Format, Formats};
use bytes::Bytes;
use std::sync::OnceLock;

/// How many bytes of the beginning a sniffer sees.
pub const FIRST: usize = 16 << 10;
/// How many bytes of the end a sniffer sees.
pub const LAST: usize = 4 << 10;

/// Bytes at a fixed place.
#[derive(Debug)]
pub struct Magic {
    offset: usize,
    bytes: &'static [u8],
}

impl Magic {
    /// `bytes` at `offset` from the start.
    pub const fn at(offset: usize, bytes: &'static [u8]) -> Self {
        Magic { offset, bytes }
    }

    /// Whether the head has them.
    pub fn matches(&self, head: &Head) -> bool {
        head.first.get(self.offset..self.offset + self.bytes.len()) == Some(self.bytes)
    }
}

/// A sniffer's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// Not this format.
    No,
    /// Could be, if the extension says so.
    Maybe,
    /// This format, whatever the extension says.
    Yes,
}

/// What sniffers see of a source.
pub struct Head {
    /// The file's name.
    pub name: String,
    /// The length, if it is known without work.
    pub len: Option<u64>,
    /// Up to [`FIRST`] bytes of the start.
    pub first: Bytes,
    /// Up to [`LAST`] bytes of the end; empty where the length is not known or the whole would have
    /// to be inflated for them.
    pub last: Bytes,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// The folder's entries, in natural order.
    pub entries: Vec<Entry>,
    /// The formats that it may have.
    formats: Formats,
    zip: OnceLock<Option<zip::Peek>>,
    compound: OnceLock<Option<compound::Document>>,
    json: OnceLock<Option<json::Beginning>>,
}

impl Head {
    /// Reads the head of a source that may have one of these formats.
    pub fn read(task: &Task, source: &Source, formats: Formats) -> Result<Head> {
        let mut head = Head {
            name: source.name().to_owned(),
            len: source.known_len(),
            first: Bytes::new(),
            last: Bytes::new(),
            is_folder: source.is_folder(),
            entries: Vec::new(),
            formats,
            zip: OnceLock::new(),
            compound: OnceLock::new(),
            json: OnceLock::new(),
        };
        if head.is_folder {
            head.entries = source.entries(task)?;
        } else {
            head.first = source.read_up_to(task, 0, FIRST)?;
            if let Some(len) = head.len
                && source.is_random_access()
            {
                head.last = source.read_up_to(task, len.saturating_sub(LAST as u64), LAST)?;
            }
        }
        Ok(head)
    }

    /// What is seen of it as a ZIP archive; looked at once. `None` where it does not begin with a member.
    pub fn zip(&self) -> Option<&zip::Peek> {
        self.zip.get_or_init(|| zip::Peek::of(self)).as_ref()
    }

    /// What it is as a compound file (OLE); looked at once. `None` where it is none.
    pub fn compound(&self) -> Option<compound::Document> {
        *self.compound.get_or_init(|| compound::Document::of(&self.first))
    }

    /// What is seen of it as JSON; looked at once. `None` where it does not begin with an object or an array that is
    /// right as far as it is seen.
    pub fn json(&self) -> Option<&json::Beginning> {
        self.json.get_or_init(|| json::beginning(&self.first)).as_ref()
    }

    /// Whether the name ends in one of these extensions (without dot, lower case).
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        has_extension(&self.name, extensions)
    }

    /// Whether the name promises a format that is known by its magic.
    pub fn has_binary_name(&self) -> bool {
        self.formats.0.iter().any(|format| !format.magic.is_empty() && self.has_extension(format.extensions))
    }

    /// Whether the file starts with these bytes.
    pub fn starts_with(&self, bytes: &[u8]) -> bool {
        self.first.starts_with(bytes)
    }

    /// Whether the file ends with these bytes.
    pub fn ends_with(&self, bytes: &[u8]) -> bool {
        self.last.ends_with(bytes)
    }

    /// Whether the start reads as text of some encoding: no control characters but tab, line ends,
    /// form feed and escape — or a byte order mark of UTF-16 or UTF-32.
    pub fn is_text(&self) -> bool {
        if self.first.starts_with(&[0xff, 0xfe]) || self.first.starts_with(&[0xfe, 0xff]) {
            return self.first.len() >= 2;
        }
        if self.first.starts_with(&[0, 0, 0xfe, 0xff]) {
            return self.first.len().is_multiple_of(4);
        }
        let control = |b: &u8| *b < 32 && !matches!(*b, b'\t' | b'\n' | b'\r' | 12 | 27) || *b == 127;
        // A stray control byte in many text bytes is tolerated: dumps have them.
        let strange = self.first.iter().filter(|b| control(b)).count();
        !self.first.is_empty() && strange * 500 <= self.first.len() && !self.first.starts_with(&[0])
    }
}

/// Whether `name` ends in one of these extensions.
pub fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let name = name.to_lowercase();
    extensions.iter().any(|e| name.strip_suffix(e).is_some_and(|stem| stem.ends_with('.')))
}

/// The format of a source, and what there is to remark about the choice.
pub struct Verdict {
    /// The format.
    pub format: &'static Format,
    /// `the extension says .csv, the content is HDF5`.
    pub remark: Option<String>,
    /// The extension promises a format whose magic is absent: the file is damaged or misnamed, and
    /// was opened as what it looks like.
    pub broken_promise: bool,
}

/// Decides: a sure match in the order of the formats, then a possible one with its extension. The last two, text and
/// bytes, take anything. Those in `others` were asked already, and it is none of them.
pub fn detect(head: &Head, formats: Formats, others: &[&'static Format]) -> Option<Verdict> {
    // The first sure answer ends the questions: those at the end of the list look at the text itself.
    let mut possible: Vec<&'static Format> = Vec::new();
    for format in formats.0.iter().copied().filter(|format| others.iter().all(|other| other.id != format.id))
    {
        match ask(format, head) {
            Match::Yes => return Some(remark(head, format, formats)),
            Match::Maybe => possible.push(format),
            Match::No => {}
        }
    }
    let named = possible.iter().find(|f| head.has_extension(f.extensions));
    let open_to_all = || possible.iter().find(|f| f.extensions.is_empty());
    let last = formats.0.last().filter(|last| others.iter().all(|other| other.id != last.id));
    let format = named.or_else(open_to_all).or(last)?;
    Some(remark(head, format, formats))
}

fn ask(format: &Format, head: &Head) -> Match {
    match format.sniff {
        Some(sniff) => sniff(head),
        None if head.is_folder => Match::No,
        None if format.magic.iter().any(|m| m.matches(head)) => Match::Yes,
        None => Match::No,
    }
}

/// Compares the choice with what the name promises.
fn remark(head: &Head, format: &'static Format, formats: Formats) -> Verdict {
    let promised = formats.0.iter().find(|f| head.has_extension(f.extensions));
    let (mut remark, mut broken_promise) = (None, false);
    if let Some(promised) = promised
        && promised.id != format.id
        && !head.has_extension(format.extensions)
        && !head.is_folder
    {
        let extension = head.name.rsplit('.').next().unwrap_or_default();
        broken_promise = !promised.magic.is_empty() && format.takes_any;
        remark = Some(if broken_promise {
            let opened = if formats.0.last().is_some_and(|last| std::ptr::eq(*last, format)) {
                "shown as bytes".to_owned()
            } else {
                format!("opened as {}", format.name)
            };
            format!("the extension says .{extension}, but the content is not {}; {opened}", promised.name)
        } else {
            format!("the extension says .{extension}, the content is {}", format.name)
        });
    }
    Verdict { format, remark, broken_promise }
}
