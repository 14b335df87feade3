//! Ogg: pages of several logical streams that take turns. What each stream holds is told by the first bytes of its first
//! page; those of all streams stand before any other page.
//!
//! - Pages: RFC 3533, section 6
//! - First bytes by codec: RFC 5334, section 4, and <https://wiki.xiph.org/MIMETypesCodecs>

use crate::bytes::error::{Error, Result};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::sounds;

/// First pages are looked for in so many bytes: each has one packet, which is short.
const HEAD: usize = 64 << 10;
/// A page begins with so many bytes before its table of segments.
const PAGE: usize = 27;

/// What the first packet of a stream begins with, the codec, and whether it is sound that is read.
const CODECS: [(&[u8], &str, bool); 14] = [
    (b"\x01vorbis", "vorbis", true),
    (b"OpusHead", "opus", true),
    (b"\x7fFLAC", "flac", true),
    (b"fLaC", "flac without its mapping", false),
    (b"Speex   ", "speex", false),
    (b"CELT    ", "celt", false),
    (b"PCM     ", "pcm", false),
    (b"\x80theora", "theora", false),
    (b"OVP80", "vp8", false),
    (b"BBCD", "dirac", false),
    (b"\x01video", "ogm video", false),
    (b"\x80kate", "kate", false),
    (b"CMML", "cmml", false),
    (b"fishead\0", "skeleton", false),
];

/// Opens an Ogg file.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let streams = streams(&source.read_up_to(task, 0, HEAD)?);
    let others: Vec<&str> =
        streams.iter().flatten().filter(|(_, is_read)| !is_read).map(|(codec, _)| *codec).collect();
    if !others.is_empty() && others.len() == streams.len() {
        let what = format!("an Ogg file without sound that is read: {}", others.join(", "));
        return Ok(sounds::refused(source, Error::unsupported(what)));
    }
    let mut node = sounds::node(task, source, crate::formats::ALL, &sounds::TrackHints::default())?;
    if !others.is_empty() {
        node.remarks.push(format!("not shown, since it is no sound that is read: {}", others.join(", ")));
    }
    Ok(node)
}

/// The codec of each logical stream by its first page, and whether it is sound that is read; `None` where it is not known.
fn streams(head: &[u8]) -> Vec<Option<(&'static str, bool)>> {
    let mut found = Vec::new();
    let mut left = head;
    // Version 0, the flag of a first page; the last byte of the header counts the segments.
    while let Some((header, rest)) = left.split_at_checked(PAGE)
        && let [b'O', b'g', b'g', b'S', 0, flags, .., segments] = header
        && flags & 2 != 0
        && let Some((sizes, rest)) = rest.split_at_checked(usize::from(*segments))
        && let Some((packet, rest)) = rest.split_at_checked(sizes.iter().map(|size| usize::from(*size)).sum())
    {
        let known = CODECS.iter().find(|(first, ..)| packet.starts_with(first));
        found.push(known.map(|(_, codec, is_read)| (*codec, *is_read)));
        left = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(flags: u8, packet: &[u8]) -> Vec<u8> {
        let mut page = b"OggS\0".to_vec();
        page.push(flags);
        page.extend([0; 20]);
        page.extend([1, packet.len() as u8]);
        page.extend(packet);
        page
    }

    #[test]
    fn streams_are_told_by_their_first_pages() {
        let all =
            [page(2, b"\x80theora..."), page(2, b"\x01vorbis..."), page(2, b"what"), page(0, b"OpusHead")]
                .concat();
        let expected = [Some(("theora", false)), Some(("vorbis", true)), None];
        assert_eq!(streams(&all), expected);
        for len in 0..all.len() {
            assert!(expected.starts_with(&streams(&all[..len])), "cut to {len} bytes");
        }
    }
}
