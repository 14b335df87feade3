//! ZIP archives that are one document of some application rather than a collection of files: told
//! from the name of the first member and the names that stand at the archive's end.

use crate::sniff::Head;

/// What this ZIP archive is, if it is a document; `None` for plain archives and for other files.
pub fn zip_document(head: &Head) -> Option<&'static str> {
    let name = first_name(&head.first)?;
    let listed = |name: &str| {
        [&head.first, &head.last].iter().any(|part| memchr::memmem::find(part, name.as_bytes()).is_some())
    };
    if name == b"mimetype" {
        return open_document(&head.first);
    }
    let office = [&b"[Content_Types].xml"[..], b"_rels/", b"docProps/", b"xl/", b"word/", b"ppt/"];
    if office.iter().any(|start| name.starts_with(start)) {
        return [
            ("xl/workbook.bin", "an Excel binary workbook (XLSB)"),
            ("xl/", "an Excel workbook (XLSX)"),
            ("word/", "a Word document (DOCX)"),
            ("ppt/", "a PowerPoint presentation (PPTX)"),
        ]
        .into_iter()
        .find_map(|(part, what)| listed(part).then_some(what));
    }
    let torch = [&b"/data.pkl"[..], b"/.format_version", b"/.storage_alignment", b"/byteorder"];
    if torch.iter().any(|end| name.ends_with(end)) {
        let script = listed("/constants.pkl") || listed("/code/");
        return Some(if script { "a TorchScript archive" } else { "a PyTorch checkpoint" });
    }
    if name.ends_with(b"/constants.pkl") || name.ends_with(b"/version") && listed("/data.pkl") {
        return Some("a TorchScript archive");
    }
    if listed("model.weights.h5") && listed("config.json") {
        return Some("a Keras model");
    }
    None
}

/// OpenDocument and EPUB say what they are in their first member, uncompressed.
fn open_document(first: &[u8]) -> Option<&'static str> {
    let text = first.get(38..)?;
    [
        ("application/epub+zip", "an EPUB book"),
        ("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (ODS)"),
        ("application/vnd.oasis.opendocument.text", "an OpenDocument text (ODT)"),
        ("application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (ODP)"),
    ]
    .into_iter()
    .find_map(|(mime, what)| text.starts_with(mime.as_bytes()).then_some(what))
}

/// The name in the first local header.
fn first_name(first: &[u8]) -> Option<&[u8]> {
    if !first.starts_with(b"PK\x03\x04") {
        return None;
    }
    let len = first.get(26..28)?;
    let len = usize::from(*len.first()?) | usize::from(*len.last()?) << 8;
    first.get(30..30 + len)
}
