//! Which records of a file are looked at to tell what they are.

use super::{EAGER, Records};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::engines::examples::Survey;
use crate::engines::records::container::Container;
use crate::engines::records::tfrecord;
use std::sync::Arc;

/// Files of which all records are looked at, by their bytes.
const SMALL: u64 = 1 << 20;
/// Payload bytes of the first records of others that are looked at,
const FIRST: u64 = 256 << 10;
/// and the most and the fewest of them.
const RECORDS: u64 = 1_024;
const FEWEST: usize = 4;
/// Places all over the rest of the file from where some records are looked at, and how far a place is looked around.
const PLACES: u64 = 7;
const AROUND: u64 = 32 << 10;
const MOST: u64 = 1 << 20;
/// Records at each place.
const THERE: usize = 8;
/// Records of a step where all are looked at.
const STEP: u64 = 1_024;

/// Looks at a sample of the records, or at all; and whether those were all.
pub(super) fn survey(task: &Task, records: &Arc<Records>, all: bool) -> Result<(Survey, bool)> {
    let mut survey = Survey::default();
    if all {
        if let Some(len) = records.source().known_len() {
            task.set_total(len);
        }
        let mut at = 0;
        loop {
            let step = records.records(task, at..at + STEP)?;
            let Some(last) = step.last() else { break };
            at = last.number + 1;
            records.read(task, &step, &mut |_, payload| {
                match payload {
                    Ok(bytes) => survey.add(bytes),
                    Err(error) => records.problems().add(error),
                }
                Ok(())
            })?;
        }
        return Ok((survey, true));
    }
    let complete = look(task, records, &mut survey)?;
    Ok((survey, complete))
}

/// Looks at a sample of the records; whether those were all.
pub(super) fn look(task: &Task, records: &Records, survey: &mut Survey) -> Result<bool> {
    let small = records.source().known_len().is_some_and(|len| len <= SMALL);
    let (most, enough) = if small { (u64::MAX, u64::MAX) } else { (RECORDS, FIRST) };
    records.extend(task, if small { u64::MAX } else { EAGER }, usize::MAX)?;
    let first = records.records(task, 0..records.rows().known().min(most))?;
    let (mut bytes, mut taken) = (0, 0);
    for record in &first {
        if taken >= FEWEST && bytes > enough {
            break;
        }
        (bytes, taken) = (bytes + record.len, taken + 1);
    }
    records.read(task, first.get(..taken).unwrap_or_default(), &mut |_, payload| {
        match payload {
            Ok(bytes) => survey.add(bytes),
            Err(error) => records.problems().add(error),
        }
        Ok(())
    })?;
    if matches!(records.rows(), Rows::Exact(count) if count == taken as u64) {
        return Ok(true);
    }
    if survey.message().is_some() {
        spread(task, records, survey)?;
    }
    Ok(false)
}

/// Looks at some records all over the file, where that can be had without reading all before them.
fn spread(task: &Task, records: &Records, survey: &mut Survey) -> Result<()> {
    let source = records.source();
    let Some(len) = source.known_len().filter(|_| source.is_random_access()) else { return Ok(()) };
    let around = records.average().saturating_mul(4).clamp(AROUND, MOST) as usize;
    for n in 1..=PLACES {
        let part = source.read_up_to(task, len / (PLACES + 1) * n, around)?;
        tfrecord::within(&part, THERE, |bytes| survey.add(bytes));
    }
    // And the last ones.
    let part = source.read_up_to(task, len.saturating_sub(around as u64), around)?;
    tfrecord::within(&part, usize::MAX, |bytes| survey.add(bytes));
    Ok(())
}
