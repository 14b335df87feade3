//! What the beginning of a compound file (OLE) tells: which application's document it is.

use crate::bytes::archive::compound;

/// What kind of document a compound file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Document {
    /// Records of BIFF.
    Workbook,
    /// A document of any newer kind behind a password.
    Encrypted,
    Word,
    PowerPoint,
    OutlookMessage,
    /// Another application's, or one whose directory is beyond the beginning.
    Unknown,
}

/// The names of streams, and what has them.
const STREAMS: [(&str, Document); 6] = [
    ("Workbook", Document::Workbook),
    ("Book", Document::Workbook),
    ("EncryptedPackage", Document::Encrypted),
    ("WordDocument", Document::Word),
    ("PowerPoint Document", Document::PowerPoint),
    ("__properties_version1.0", Document::OutlookMessage),
];

impl Document {
    /// What it is, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Document::Workbook => "an Excel workbook (XLS)",
            Document::Encrypted => "an encrypted Office document",
            Document::Word => "a Word document (DOC)",
            Document::PowerPoint => "a PowerPoint presentation (PPT)",
            Document::OutlookMessage => "an Outlook message (MSG)",
            Document::Unknown => "an old Microsoft Office document (OLE)",
        }
    }

    /// Of the first bytes of a file; `None` where it is no compound file.
    pub(super) fn of(first: &[u8]) -> Option<Document> {
        if !first.starts_with(compound::MAGIC) {
            return None;
        }
        let names = STREAMS.map(|(name, _)| name);
        let (mut found, whole) = compound::listed(first, &names).unwrap_or_default();
        if found.is_empty() && !whole {
            // The directory may lie beyond these bytes; then what is there of it tells.
            let wide = |name: &str| -> Vec<u8> { name.bytes().flat_map(|letter| [letter, 0]).collect() };
            let is_there = |name: &&str| memchr::memmem::find(first, &wide(name)).is_some();
            // `Book` may be a part of any name.
            found = names.into_iter().filter(|name| *name != "Book").filter(is_there).collect();
        }
        let kind = STREAMS.iter().find(|(name, _)| found.contains(name));
        Some(kind.map_or(Document::Unknown, |(_, kind)| *kind))
    }
}
