//! Samples of tracks in fragments (ISO 14496-12, 8.8), which have no tables.

use super::{SAMPLES, Track, malformed};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{be, be_unsigned};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::boxes::{Atom, find};
use crate::engines::isobmff::Samples;

/// Appends the samples of a fragment that are a track's.
pub(super) fn fragment(
    task: &Task,
    source: &Source,
    track: &Track,
    moof: &Atom,
    traf: &Atom,
    samples: &mut Samples,
    first: &mut bool,
) -> Result<()> {
    let parts = traf.children(task, source, 0)?;
    let Some(header) = find(&parts, b"tfhd") else { return Ok(()) };
    let bytes = source.read_up_to(task, header.body.start, 40)?;
    if be::<u32>(&bytes, 4) != Some(track.id) {
        return Ok(());
    }
    let flags = be::<u32>(&bytes, 0).unwrap_or(0) & 0xff_ffff;
    let mut at = 8;
    let mut optional = |bit: u32, width: usize| {
        (flags & bit != 0).then(|| {
            let part = bytes.get(at..at + width).unwrap_or_default();
            at += width;
            be_unsigned(part)
        })
    };
    let base = optional(1, 8).unwrap_or(moof.start);
    optional(2, 4);
    let duration = optional(8, 4).map_or(track.defaults.0, |n| n as u32);
    let size = optional(0x10, 4).map_or(track.defaults.1, |n| n as u32);
    let usual = optional(0x20, 4).map_or(track.defaults.2, |n| n as u32);
    if *first && let Some(decoded) = find(&parts, b"tfdt") {
        let bytes = source.read_up_to(task, decoded.body.start, 12)?;
        samples.start = match bytes.first() {
            Some(1) => be(&bytes, 4).unwrap_or(0),
            _ => be::<u32>(&bytes, 4).unwrap_or(0).into(),
        };
    }
    *first = false;
    // Marks of keys and shifts begin where the first fragment has them.
    if samples.keys.is_empty() {
        samples.keys = vec![true; samples.places.len()];
    }
    samples.shifts.resize(samples.places.len(), 0);
    let mut place = base;
    for run in parts.iter().filter(|part| part.kind == *b"trun") {
        let usual = Usual { base, duration, size, marks: usual };
        place = self::run(task, source, run, usual, place, samples)?;
    }
    Ok(())
}

/// What samples of a fragment are where a run does not say it.
struct Usual {
    base: u64,
    duration: u32,
    size: u32,
    marks: u32,
}

/// Appends the samples of a run that begins at `place`; where the next one begins.
fn run(
    task: &Task,
    source: &Source,
    run: &Atom,
    usual: Usual,
    mut place: u64,
    samples: &mut Samples,
) -> Result<u64> {
    let bytes = run.read(task, source)?;
    let flags = be::<u32>(&bytes, 0).unwrap_or(0);
    let count = u64::from(be::<u32>(&bytes, 4).unwrap_or(0));
    let version = bytes.first().copied().unwrap_or(0);
    if samples.places.len() as u64 + count > SAMPLES {
        return Err(Error::limit(format!("MPEG-4: more than {SAMPLES} samples")).at(run.start));
    }
    let mut at = 8;
    let mut next = |bit: u32| {
        (flags & bit != 0).then(|| {
            let number = be::<u32>(&bytes, at);
            at += 4;
            number
        })
    };
    if let Some(Some(offset)) = next(1) {
        place = usual.base.saturating_add_signed((offset as i32).into());
    }
    let first_flags = next(4).flatten();
    for n in 0..count {
        let (duration, size) =
            (next(0x100).unwrap_or(Some(usual.duration)), next(0x200).unwrap_or(Some(usual.size)));
        let marks = next(0x400).unwrap_or(Some(usual.marks));
        let shift = next(0x800).unwrap_or(Some(0));
        let (Some(duration), Some(size), Some(mut marks), Some(shift)) = (duration, size, marks, shift)
        else {
            return Err(malformed("a run of samples is cut off", run.start));
        };
        if n == 0
            && let Some(flags) = first_flags
        {
            marks = flags;
        }
        let end = place.saturating_add(size.into());
        samples.places.push(place..end);
        samples.durations.push(duration);
        samples.shifts.push(if version == 0 { shift.min(i32::MAX as u32) as i32 } else { shift as i32 });
        // The bit that says that it is no sync sample.
        samples.keys.push(marks & 0x1_0000 == 0);
        place = end;
    }
    Ok(place)
}
