//! AU: a header of big-endian numbers, a text, the samples.

use super::pcm::{Coding, Samples};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::data::format::Opening;
use crate::data::node::Node;

/// The text is not read beyond so many bytes.
const TEXT: u64 = 64 << 10;

/// Opens an AU.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let head = source.read_up_to(task, 0, 24)?;
    let number = |n: usize| {
        let short = || Error::malformed("the header is cut off").at(n as u64 * 4);
        be::<u32>(&head, n * 4).ok_or_else(short)
    };
    let (start, size, code) = (u64::from(number(1)?), number(2)?, number(3)?);
    let (rate, channels) = (number(4)?, u64::from(number(5)?));
    let (coding, width) = match code {
        1 => (Coding::MuLaw, 1),
        2..=5 => (Coding::Signed, u64::from(code) - 1),
        6 => (Coding::Float, 4),
        7 => (Coding::Float, 8),
        27 => (Coding::ALaw, 1),
        other => return Err(Error::unsupported(format!("an AU sound with samples of code {other}")).at(12)),
    };
    let len = source.len(task)?;
    // A size of all ones: it was not known when the header was written.
    let end = if size == u32::MAX { len.max(start) } else { start.saturating_add(size.into()) };
    let samples = Samples {
        coding,
        rate,
        channels,
        bits: width as u32 * 8,
        width,
        big: true,
        data: start..end,
        frames: None,
        markers: Vec::new(),
    };
    let mut node = samples.node(task, source)?;
    if start > 24 {
        let text = source.read_up_to(task, 24, (start - 24).min(TEXT) as usize)?;
        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
        if !text.is_empty() {
            node = node.attribute("annotation", text);
        }
    }
    Ok(node)
}
