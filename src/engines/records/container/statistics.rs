//! What one pass over all payloads of a container tells.

use super::Container;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::node::NodeStatistics;
use std::sync::Arc;

/// Bytes of payloads that are gone through in one step.
const STEP: u64 = 32 << 20;
/// The most records of one step.
const MOST: u64 = 1 << 16;

/// Statistics of kind `records`: how many there are, their bytes, and the CRC-32 of all payloads one after the other; in
/// containers with keys over each key, a zero byte and the payload. Records that cannot be read are left out.
pub struct Payloads<C>(pub Arc<C>);

impl<C: Container> NodeStatistics for Payloads<C> {
    fn kind(&self) -> &'static str {
        "records"
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        let (mut records, mut bytes, mut crc32) = (0_u64, 0_u64, crc32fast::Hasher::new());
        let total = self.0.source().known_len();
        if let Some(total) = total {
            task.set_total(total);
        }
        let mut at = 0;
        loop {
            task.check()?;
            let step = (STEP / self.0.average().max(1)).clamp(1, MOST);
            let found = self.0.records(task, at..at.saturating_add(step))?;
            let Some(last) = found.last() else { break };
            at = last.number.saturating_add(1);
            if let Some(total) = total {
                task.reached(last.span.end.min(total));
            }
            self.0.read(task, &found, &mut |record, payload| {
                match payload.unless_cancelled()? {
                    Ok(payload) => {
                        records += 1;
                        bytes += payload.len() as u64;
                        if let Some(key) = record.key.as_ref().filter(|_| self.0.has_keys()) {
                            crc32.update(key);
                            crc32.update(&[0]);
                        }
                        crc32.update(payload);
                    }
                    Err(error) => self.0.problems().add(error),
                }
                Ok(())
            })?;
        }
        Ok(vec![("records", records.into()), ("bytes", bytes.into()), ("crc32", crc32.finalize().into())])
    }
}
