//! FLAC (RFC 9639): its cue sheet, and what one is that cannot be read.

use super::vorbis_comments;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Chapter;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::pieces::patched;
use crate::engines::sounds;
use std::ops::Range;

/// Blocks of metadata that are gone through.
const BLOCKS: usize = 1_000;

/// Blocks of metadata with the rate and sizes of blocks (8.2), with comments (8.6), and with a cue sheet (8.7).
const STREAM_INFO: u32 = 0;
const COMMENTS: u32 = 4;
const CUE_SHEET: u32 = 5;
/// A block that says nothing (8.3).
const PADDING: u8 = 1;
/// Bytes of a cue sheet before its tracks, of a track before its points, and of a point.
const SHEET: usize = 396;
const TRACK: usize = 36;
const POINT: usize = 12;

/// Opens it; one that its decoder takes for damaged may be of before FLAC 1.2.0, or have metadata that are wrong.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let blocks = blocks(task, source)?;
    let mut chapters = cue_sheet(task, source, &blocks)?;
    if chapters.is_empty()
        && let Some((_, body)) = blocks.iter().find(|(kind, _)| *kind == COMMENTS)
    {
        let block = source.read_up_to(task, body.start, (body.end - body.start) as usize)?;
        chapters = vorbis_comments::chapters(&block);
    }
    let known = sounds::TrackHints { chapters: Chapter::in_order(chapters), ..Default::default() };
    let read = |hidden: fn(u32) -> bool| {
        sounds::node(task, &without(task, source, &blocks, hidden)?, crate::formats::ALL, &known)
    };
    match read(|kind| kind == CUE_SHEET) {
        Err(error) if error.kind() == ErrorKind::Malformed => {
            if is_old(task, source, &blocks)? {
                let what = "FLAC: blocks of changing sizes whose headers count samples but say that they count blocks, as \
                            streams before FLAC 1.2.0 do, are not decoded";
                return Ok(sounds::refused(source, Error::unsupported(what)));
            }
            // Its sound may be whole.
            let node = read(|kind| kind != STREAM_INFO).unless_cancelled()?;
            node.map_or(Err(error.clone()), |node| Ok(node.problem(error)))
        }
        other => other,
    }
}

/// The blocks of metadata: their kind, and where their bodies lie (8.1).
fn blocks(task: &Task, source: &Source) -> Result<Vec<(u32, Range<u64>)>> {
    let mut found = Vec::new();
    let mut at = 4;
    while found.len() < BLOCKS
        && let Some(word) = be::<u32>(&source.read_up_to(task, at, 4)?, 0)
    {
        let start = at + 4;
        at = start + u64::from(word & 0x00ff_ffff);
        found.push((word >> 24 & 0x7f, start..at));
        if word >> 31 == 1 {
            break;
        }
    }
    Ok(found)
}

/// The file with padding for some kinds of blocks: its decoder would not read sounds whose metadata are wrong.
fn without(
    task: &Task,
    source: &Source,
    blocks: &[(u32, Range<u64>)],
    hidden: fn(u32) -> bool,
) -> Result<Source> {
    let mut patches = Vec::new();
    for (_, body) in blocks.iter().filter(|(kind, _)| hidden(*kind)) {
        let at = body.start - 4;
        let flag = source.read_up_to(task, at, 1)?.first().copied().unwrap_or(0) & 0x80;
        patches.push((at, vec![flag | PADDING]));
    }
    if patches.is_empty() { Ok(source.clone()) } else { patched(source, patches) }
}

/// Whether sizes of blocks change by the first block of metadata (8.2), and not by the first frame (9.1.1).
fn is_old(task: &Task, source: &Source, blocks: &[(u32, Range<u64>)]) -> Result<bool> {
    let (Some((STREAM_INFO, info)), Some((_, last))) = (blocks.first(), blocks.last()) else {
        return Ok(false);
    };
    let sizes = be::<u32>(&source.read_up_to(task, info.start, 4)?, 0).unwrap_or(0);
    let changes = sizes >> 16 != sizes & 0xffff;
    Ok(changes && source.read_up_to(task, last.end, 2)?.as_ref() == [0xff, 0xf8])
}

/// The tracks of a cue sheet, as chapters: each begins at its first point of index 1, and the last one ends where the
/// lead-out begins.
fn cue_sheet(task: &Task, source: &Source, blocks: &[(u32, Range<u64>)]) -> Result<Vec<Chapter>> {
    let body = |wanted: u32| blocks.iter().find(|(kind, _)| *kind == wanted).map(|(_, body)| body.clone());
    let (Some(info), Some(sheet)) = (body(STREAM_INFO), body(CUE_SHEET)) else { return Ok(Vec::new()) };
    let rate = be::<u32>(&source.read_up_to(task, info.start + 10, 4)?, 0).unwrap_or(0) >> 12;
    let bytes = source.read_up_to(task, sheet.start, (sheet.end - sheet.start) as usize)?;
    let seconds = |frame: u64| frame as f64 / f64::from(rate.max(1));
    let (mut found, mut at) = (Vec::<Chapter>::new(), SHEET);
    while let (Some(begin), Some(number), Some(points)) =
        (be::<u64>(&bytes, at), bytes.get(at + 8), bytes.get(at + TRACK - 1))
    {
        let points = at + TRACK..at + TRACK + usize::from(*points) * POINT;
        // The lead-out has this number on a CD, and the other one elsewhere.
        let is_end = matches!(number, 170 | 255);
        let first = points.clone().step_by(POINT).find(|point| bytes.get(point + 8) == Some(&1));
        let start = begin.saturating_add(first.and_then(|point| be(&bytes, point)).unwrap_or(0));
        match found.last_mut().filter(|_| is_end) {
            Some(last) => last.end = Some(seconds(begin)),
            None if is_end => {}
            None => {
                found.push(Chapter { start: seconds(start), end: None, title: format!("track {number}") });
            }
        }
        at = points.end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_hide_their_changing_blocks_are_told() {
        let stream = |sizes: [u8; 4], sync: u8| {
            let info = [&b"fLaC\0\0\0\x22"[..], &sizes, &[0; 30]].concat();
            let bytes = [&info[..], &[0x84, 0, 0, 2, 7, 7], &[0xff, sync, 0x79, 0xa8]].concat();
            let (task, source) = (Task::new(), Source::memory("old.flac", bytes));
            is_old(&task, &source, &blocks(&task, &source).unwrap()).unwrap()
        };
        assert!(stream([2, 0x40, 0x12, 0], 0xf8));
        assert!(!stream([2, 0x40, 0x12, 0], 0xf9));
        assert!(!stream([0x12, 0, 0x12, 0], 0xf8));
    }

    #[test]
    fn cue_sheets_are_chapters() {
        let track = |begin: u64, number: u8, points: &[(u64, u8)]| {
            let mut track = begin.to_be_bytes().to_vec();
            track.push(number);
            track.extend([0; 26]);
            track.push(points.len() as u8);
            for (offset, index) in points {
                track.extend(offset.to_be_bytes());
                track.extend([*index, 0, 0, 0]);
            }
            track
        };
        let tracks =
            [track(0, 1, &[(0, 1)]), track(44_100, 2, &[(0, 0), (22_050, 1)]), track(132_300, 170, &[])];
        let sheet = [vec![0; SHEET - 1], vec![3], tracks.concat()].concat();
        let mut bytes = b"fLaC\0\0\0\x22".to_vec();
        bytes.extend([0; 10]);
        bytes.extend((44_100u32 << 12).to_be_bytes());
        bytes.extend([0; 20]);
        bytes.extend((0x8500_0000u32 + sheet.len() as u32).to_be_bytes());
        bytes.extend(&sheet);
        for len in 0..=bytes.len() {
            let source = Source::memory("cd.flac", bytes.get(..len).unwrap().to_vec());
            let task = Task::new();
            let found = cue_sheet(&task, &source, &blocks(&task, &source).unwrap()).unwrap();
            assert!(found.len() <= 2);
            if len == bytes.len() {
                let found: Vec<_> =
                    found.iter().map(|one| (one.start, one.end, one.title.as_str())).collect();
                assert_eq!(found, [(0.0, None, "track 1"), (1.5, Some(3.0), "track 2")]);
            }
        }
    }
}
