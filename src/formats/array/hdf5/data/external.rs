//! Contiguous data in other files. They are read only where they lie in the folder of the HDF5 file itself:
//! a file that names another one must not make Gander show what its sender could not see. All others are named.

use super::super::message::ExternalSlot;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The pieces one after the other as one source of `bytes` bytes, and what is wrong with them.
///
/// # Errors
/// `Limit` for files inside each other.
pub(super) fn open(beside: &Source, slots: Vec<ExternalSlot>, bytes: u64) -> Result<(Source, Option<Error>)> {
    let outside: Vec<&str> =
        slots.iter().map(|slot| slot.name.as_str()).filter(|name| !is_inside(name)).collect();
    let problem = (!outside.is_empty()).then(|| {
        Error::unsupported(format!(
            "its data lies in {}, outside of this file's folder; it is not read",
            outside.join(", ")
        ))
    });
    let files = Mutex::new(HashMap::new());
    let pieces = Pieces { beside: beside.clone(), slots, bytes, files };
    Ok((beside.stream("external data", Arc::new(pieces))?, problem))
}

/// Whether a name stays in the folder, by its look; links are looked at when the file is opened.
fn is_inside(name: &str) -> bool {
    use std::path::{Component, Path};
    !name.is_empty()
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

struct Pieces {
    beside: Source,
    slots: Vec<ExternalSlot>,
    /// What the dataset needs.
    bytes: u64,
    /// The files that were opened so far.
    files: Mutex<HashMap<usize, Source>>,
}

impl Pieces {
    fn file(&self, task: &Task, n: usize, slot: &ExternalSlot) -> Result<Source> {
        if let Some(file) = self.files.lock().get(&n) {
            return Ok(file.clone());
        }
        if !is_inside(&slot.name) {
            return Err(Error::unsupported(format!(
                "data in {:?}, outside of this file's folder; it is not read",
                slot.name
            )));
        }
        let file = self.beside.sibling(task, &slot.name)?;
        self.files.lock().insert(n, file.clone());
        Ok(file)
    }
}

impl ReadAt for Pieces {
    fn known_len(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.bytes)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let want = self.bytes.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut out = out.get_mut(..want).unwrap_or_default();
        let (mut at, mut start) = (offset, 0u64);
        for (n, slot) in self.slots.iter().enumerate() {
            if out.is_empty() {
                break;
            }
            let end = slot.size.map_or(u64::MAX, |size| start.saturating_add(size));
            if at < end {
                let part = (end - at).min(out.len() as u64) as usize;
                let (now, later) = out.split_at_mut(part);
                let file = self.file(task, n, slot)?;
                let from = slot.offset.saturating_add(at - start);
                // Beyond the end of the file are zeros, as libhdf5 has it.
                let there = file.len(task)?.saturating_sub(from).min(now.len() as u64) as usize;
                let (here, behind) = now.split_at_mut(there);
                file.read_into(task, from, here)?;
                behind.fill(0);
                at = at.saturating_add(part as u64);
                out = later;
            }
            start = end;
        }
        out.fill(0);
        Ok(want)
    }
}
