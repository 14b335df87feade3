//! CAF: big-endian chunks with sizes of 64 bits; `desc` says what the samples of `data` are.

use super::pcm::{Coding, Samples};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::sounds;

/// A file has no more chunks than so many that are looked at.
const CHUNKS: usize = 10_000;

/// Opens a CAF.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let (mut layout, mut data) = (None, None);
    let mut at = 8u64;
    for _ in 0..CHUNKS {
        task.check()?;
        let head = source.read_up_to(task, at, 12)?;
        let (Some(name), Some(size)) = (head.get(..4), be::<u64>(&head, 4)) else { break };
        let start = at.saturating_add(12);
        let end = match name {
            // A size of -1: up to the end of the file.
            b"data" if size == u64::MAX => source.len(task)?.max(start),
            _ => start.saturating_add(size),
        };
        match name {
            b"desc" => layout = Some(source.read_up_to(task, start, 32)?),
            // The first four bytes count edits.
            b"data" if data.is_none() => {
                data = Some(start.saturating_add(4)..end.max(start.saturating_add(4)))
            }
            _ => {}
        }
        at = end;
    }
    let missing = |what: &str| Error::malformed(format!("the file has no chunk {what}")).at(8);
    let layout = layout.ok_or_else(|| missing("that describes the samples"))?;
    let data = data.ok_or_else(|| missing("of samples"))?;
    let number = |at: usize| {
        be::<u32>(&layout, at)
            .ok_or_else(|| Error::malformed("the description of the samples is cut off").at(8))
    };
    let rate = be::<f64>(&layout, 0).unwrap_or(0.0).round() as u32;
    let (flags, block, channels, bits) = (number(12)?, number(16)?, number(24)?, number(28)?);
    let (coding, width) = match layout.get(8..12) {
        Some(b"lpcm") => {
            let width = u64::from(block).checked_div(channels.into()).unwrap_or(0);
            (if flags & 1 == 0 { Coding::Signed } else { Coding::Float }, width)
        }
        Some(b"alaw") => (Coding::ALaw, 1),
        Some(b"ulaw") => (Coding::MuLaw, 1),
        _ => return sounds::node(task, source, crate::formats::ALL, &sounds::TrackHints::default()),
    };
    let (channels, big) = (u64::from(channels), flags & 2 == 0);
    Samples { coding, rate, channels, bits, width, big, data, frames: None, markers: Vec::new() }
        .node(task, source)
}
