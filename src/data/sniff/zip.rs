//! What the beginning and the end of a ZIP archive tell: names of its members, and whether it is one document of some
//! application rather than a collection of files.

use super::Head;
use crate::bytes::archive::zip;

/// The names that are seen of an archive, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// The name of the member that stands first in the file.
    pub first: String,
    /// The names of the directory's entries that stand in the end of the file.
    pub listed: Vec<String>,
    /// What it is, if it is a document.
    pub document: Option<Document>,
}

impl Peek {
    /// Of a file that begins with a member; `None` for others.
    pub(super) fn of(head: &Head) -> Option<Peek> {
        let first = zip::first_member(&head.first)?;
        let listed = zip::listed_names(&head.last);
        Some(Peek { document: document(head, &first), first: first.name, listed })
    }

    /// All names that are seen.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.first).chain(&self.listed).map(String::as_str)
    }
}

/// What kind of document an archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Document {
    Xlsx,
    Xlsb,
    Docx,
    Pptx,
    Ods,
    Odt,
    Odp,
    Epub,
    Keras,
}

impl Document {
    /// What it is, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Document::Xlsx => "an Excel workbook (XLSX)",
            Document::Xlsb => "an Excel binary workbook (XLSB)",
            Document::Docx => "a Word document (DOCX)",
            Document::Pptx => "a PowerPoint presentation (PPTX)",
            Document::Ods => "an OpenDocument spreadsheet (ODS)",
            Document::Odt => "an OpenDocument text (ODT)",
            Document::Odp => "an OpenDocument presentation (ODP)",
            Document::Epub => "an EPUB book",
            Document::Keras => "a Keras model",
        }
    }
}

/// The most bytes of a first member that are looked at.
const TEXT: usize = 256 << 10;

/// What the archive is, if it is a document; `None` for plain archives.
fn document(head: &Head, first: &zip::FirstMember<'_>) -> Option<Document> {
    let name = first.name.replace('\\', "/").to_ascii_lowercase();
    let listed = |name: &str| {
        [&head.first, &head.last].iter().any(|part| memchr::memmem::find(part, name.as_bytes()).is_some())
    };
    // Of one that is cut off by the head there is the begin.
    let text = |first: &zip::FirstMember<'_>| first.inflated(TEXT);
    match name.as_str() {
        "mimetype" => return open_document(&text(first)?),
        "[content_types].xml" => {
            if let Some(found) = text(first).and_then(|text| typed(&text)) {
                return Some(found);
            }
        }
        _ => {}
    }
    office(head, &name, listed).or_else(|| {
        let is_keras = listed("model.weights.h5") && listed("config.json");
        is_keras.then_some(Document::Keras)
    })
}

/// An Office document by the names of its members, of which the first is `name`.
fn office(head: &Head, name: &str, listed: impl Fn(&str) -> bool) -> Option<Document> {
    let starts = ["[content_types].xml", "_rels/", "docprops/", "xl/", "word/", "ppt/", "customxml/"];
    let is_package = starts.iter().any(|start| name.starts_with(start)) || listed("[Content_Types].xml");
    let parts = [
        (&["xl/workbook.bin", "xl\\workbook.bin"][..], Document::Xlsb),
        (
            &["xl/workbook.", "xl\\workbook.", "xl/worksheets/", "xl\\worksheets\\", "xl/styles.xml"],
            Document::Xlsx,
        ),
        (&["word/", "word\\"], Document::Docx),
        (&["ppt/", "ppt\\"], Document::Pptx),
        // Three letters may come by chance, but not often.
        (&["xl/", "xl\\"], Document::Xlsx),
    ];
    if is_package
        && let Some((_, found)) = parts.iter().find(|(names, _)| names.iter().any(|name| listed(name)))
    {
        return Some(*found);
    }
    // The extension says what to look for where the parts have names of their own.
    let excel = ["xlsx", "xlsm", "xlsb", "xltx", "xltm", "xlam"];
    if head.has_extension(&excel) && (is_package || listed("workbook.")) {
        return Some(Document::Xlsx);
    }
    (head.has_extension(&["ods", "ots"]) && listed("content.xml")).then_some(Document::Ods)
}

/// OpenDocument and EPUB say what they are in their first member.
fn open_document(text: &[u8]) -> Option<Document> {
    [
        (&b"application/epub+zip"[..], Document::Epub),
        (b"application/vnd.oasis.opendocument.spreadsheet", Document::Ods),
        (b"application/vnd.oasis.opendocument.text", Document::Odt),
        (b"application/vnd.oasis.opendocument.presentation", Document::Odp),
    ]
    .into_iter()
    .find_map(|(mime, what)| text.starts_with(mime).then_some(what))
}

/// An Office document by the types of its parts, in any encoding of Unicode.
fn typed(text: &[u8]) -> Option<Document> {
    let letters: Vec<u8> = text.iter().filter(|byte| **byte != 0).map(u8::to_ascii_lowercase).collect();
    let has = |of: &str| memchr::memmem::find(&letters, of.as_bytes()).is_some();
    [
        ("ms-excel.sheet.binary.macroenabled.main", Document::Xlsb),
        ("wordprocessingml.document.main", Document::Docx),
        ("wordprocessingml.template.main", Document::Docx),
        ("presentationml.presentation.main", Document::Pptx),
        ("presentationml.slideshow.main", Document::Pptx),
        ("spreadsheetml.sheet.main", Document::Xlsx),
        ("spreadsheetml.template.main", Document::Xlsx),
        ("ms-excel.sheet.macroenabled.main", Document::Xlsx),
        ("ms-excel.template.macroenabled.main", Document::Xlsx),
        ("ms-excel.addin.macroenabled.main", Document::Xlsx),
    ]
    .into_iter()
    .find_map(|(of, what)| has(of).then_some(what))
}
