//! What a FLAC (RFC 9639) is that cannot be read.

use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::sounds;

/// Blocks of metadata that are gone through.
const BLOCKS: usize = 1_000;

/// Opens it; one that its decoder takes for damaged may be of before FLAC 1.2.0.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    match sounds::node(opening.task, opening.source) {
        Err(error) if error.kind() == ErrorKind::Malformed && is_old(opening.task, opening.source)? => {
            let what = "FLAC: blocks of changing sizes whose headers count samples but say that they count blocks, as streams \
                        before FLAC 1.2.0 do, are not decoded";
            Ok(sounds::refused(opening.source, Error::unsupported(what)))
        }
        other => other,
    }
}

/// Whether sizes of blocks change by the first block of metadata (RFC 9639, 8.2), and not by the first frame (9.1.1).
fn is_old(task: &Task, source: &Source) -> Result<bool> {
    let mut at = 4;
    for n in 0..BLOCKS {
        let head = source.read_up_to(task, at, 8)?;
        let (Some(word), Some(sizes)) = (be::<u32>(&head, 0), be::<u32>(&head, 4)) else { break };
        if n == 0 && (word >> 24 & 0x7f != 0 || sizes >> 16 == sizes & 0xffff) {
            break;
        }
        at += 4 + u64::from(word & 0x00ff_ffff);
        if word >> 31 == 1 {
            return Ok(source.read_up_to(task, at, 2)?.as_ref() == [0xff, 0xf8]);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_hide_their_changing_blocks_are_told() {
        let stream = |sizes: [u8; 4], sync: u8| {
            let info = [&b"fLaC\0\0\0\x22"[..], &sizes, &[0; 30]].concat();
            let bytes = [&info[..], &[0x84, 0, 0, 2, 7, 7], &[0xff, sync, 0x79, 0xa8]].concat();
            is_old(&Task::new(), &Source::memory("old.flac", bytes)).unwrap()
        };
        assert!(stream([2, 0x40, 0x12, 0], 0xf8));
        assert!(!stream([2, 0x40, 0x12, 0], 0xf9));
        assert!(!stream([0x12, 0, 0x12, 0], 0xf8));
    }
}
