//! What the pickles of an array of Python objects would import.

use super::chain::Core;
use super::items::Items;
use super::meta::ArrayMeta;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::engines::keys::{Store, join};
use crate::engines::pickle::{self, Report};

/// Stored bytes, and chunks, that are looked at when the array is opened.
const BYTES: u64 = 16 << 20;
const CHUNKS: u64 = 256;

/// What the pickles in the chunks of an array would import, as far as they are looked at; `None` for arrays
/// without pickles.
///
/// # Errors
/// A cancellation only; what else is wrong with a chunk is said when it is read.
pub(super) fn report(task: &Task, store: &Store, path: &str, meta: &ArrayMeta) -> Result<Option<Report>> {
    let Ok(chain) = &meta.chain else { return Ok(None) };
    if !matches!(chain.items(), Some(Items::Pickle)) {
        return Ok(None);
    }
    let mut report = Report::default();
    let part = |why: &str| Error::limit(format!("{why}; the others are not loaded either"));
    if !matches!(chain.core, Core::Items(_)) || meta.edges.is_some() {
        report.incomplete(part("pickles in shards were not looked into"));
        return Ok(Some(report));
    }
    let grid = strides::counts(&meta.shape, &meta.chunk);
    let count = limits::elements(&grid).unwrap_or(u64::MAX);
    let mut bytes = 0;
    for n in 0..count {
        task.check()?;
        if n >= CHUNKS || bytes > BYTES {
            report.incomplete(part(&format!("the pickles of {n} of {count} chunks were looked into")));
            break;
        }
        let key = join(path, &meta.keys.key(&strides::unravel(n, &grid)));
        let found = store.load(task, &key, BYTES).and_then(|stored| match stored {
            Some(stored) => {
                bytes += stored.len() as u64;
                pickle::examine(task, &chain.unwrap(stored)?).map(Some)
            }
            None => Ok(None),
        });
        match found.unless_cancelled()? {
            Ok(found) => found.into_iter().for_each(|found| report.merge(found)),
            Err(error) => report.incomplete(error.of(&format!("chunk {key}"))),
        }
    }
    Ok(Some(report))
}
