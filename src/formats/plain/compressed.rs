//! Compressed wrappers: `data.csv.gz` opens as the table that is inside.
//!
//! gzip (RFC 1952), zlib (RFC 1950), Zstandard (RFC 8878), bzip2, xz and LZMA, LZ4 frames.

use crate::content::Content;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::open::open_source;
use crate::sniff::{self, Head, Magic, Match};
use crate::source::ReadAt;
use crate::stream::{Codec, Notes, Spooled, deflate, gzip};
use std::sync::Arc;

/// How many decoded bytes are looked at when opening; damage within them is shown at once.
const CHECKED: u64 = 8 << 20;

/// The descriptor.
pub static GZIP: Format = Format {
    extensions: &["gz", "tgz", "gzip"],
    mime: &["application/gzip"],
    magic: &[Magic::at(0, &[0x1f, 0x8b, 8])],
    ..Format::new("gzip", "gzip", open_gzip)
};
/// The descriptor.
pub static ZSTD: Format = Format { extensions: &[], sniff: Some(never), ..Format::new("zstd", "ZSTD", open) };
/// The descriptor.
pub static BZIP2: Format =
    Format { extensions: &[], sniff: Some(never), ..Format::new("bzip2", "BZIP2", open) };
/// The descriptor.
pub static XZ: Format = Format { extensions: &[], sniff: Some(never), ..Format::new("xz", "XZ", open) };
/// The descriptor.
pub static LZ4: Format = Format { extensions: &[], sniff: Some(never), ..Format::new("lz4", "LZ4", open) };
/// The descriptor.
pub static ZLIB: Format = Format {
    extensions: &["zz", "zlib"],
    mime: &["application/zlib"],
    sniff: Some(sniff_zlib),
    ..Format::new("zlib", "zlib", open_zlib)
};

fn never(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}

/// Two bytes are a weak sign (`x^` is text), so some of what follows must inflate.
fn sniff_zlib(head: &Head) -> Match {
    let &[cmf, flg, ..] = &*head.first else { return Match::No };
    if cmf & 15 != 8 || cmf >> 4 > 7 {
        return Match::No;
    }
    let holds = (u32::from(cmf) * 256 + u32::from(flg)) % 31 == 0;
    let mut out = [0; 512];
    let mut inflate = flate2::Decompress::new(true);
    let start = head.first.get(..2048.min(head.first.len())).unwrap_or_default();
    let good = inflate.decompress(start, &mut out, flate2::FlushDecompress::None).is_ok();
    if holds && good { Match::Yes } else { Match::Maybe }
}

fn open_gzip(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "gzip", || Box::new(gzip::Gzip::new()))
}

fn open_zlib(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "zlib", || Box::new(deflate::Zlib::new()))
}

/// Opens what a codec decodes.
fn open_spooled(
    opening: &Opening,
    word: &'static str,
    codec: impl Fn() -> Box<dyn Codec> + Send + Sync + 'static,
) -> Result<Node> {
    let stream = Arc::new(Spooled::new(opening.source.clone(), 0, Box::new(move || Ok(codec()))));
    stream.ahead(opening.task, CHECKED)?;
    let notes = stream.tell();
    open_inner(opening, word, stream, notes.unwrap_or_default())
}

/// Opens what is inside and lends it the wrapper's name.
fn open_inner(opening: &Opening, word: &'static str, stream: Arc<dyn ReadAt>, notes: Notes) -> Result<Node> {
    let source = opening.source;
    // Nothing could be decoded: the wrapper's own error says more than what an empty inside would.
    if let Some(problem) = &notes.problem
        && stream.known_len() == Some(0)
    {
        return Err(problem.clone());
    }
    let inner = source.stream(inner_name(source.name(), &opening.head.first), stream)?;
    let mut options = opening.options.clone();
    options.0.remove("format");
    let mut node = match open_source(opening.task, &inner, &options) {
        Ok(document) => {
            let mut node = (*document.root).clone();
            node.remarks.extend(document.remarks);
            node.attributes.insert(0, ("format".to_owned(), document.format.name.into()));
            node
        }
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => {
            let bytes = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported);
            let node = Node::new(source.name(), "file").problem(error);
            if bytes { node.content(Content::Bytes(inner)) } else { node }
        }
    };
    node.attributes.insert(0, ("compression".to_owned(), word.into()));
    if let Some(problem) = notes.problem {
        node.problem = Some(problem);
    }
    node.remarks.extend(notes.remarks);
    // Places inside the decoded stream are none in the file.
    node.span = None;
    Ok(node)
}

/// The name without the wrapper's extension; `.tgz` and its like become `.tar`.
fn inner_name(name: &str, _head: &[u8]) -> String {
    const TARS: [&str; 6] = ["tgz", "tbz", "tbz2", "txz", "tzst", "tlz4"];
    match name.rsplit_once('.') {
        Some((stem, _)) if sniff::has_extension(name, &TARS) => format!("{stem}.tar"),
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}
