//! Arrays whose chunks differ in size (the chunk grid `rectilinear`).
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>

use super::chain::{self, Chain};
use super::dtype::{self, Element};
use super::meta::Keys;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::chunked::Chunks;
use crate::engines::keys::{Store, join};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The chunks. Their codecs depend on the shape of a chunk, so there is a chain for each shape.
pub(super) struct Uneven {
    pub(super) store: Arc<Store>,
    /// The path of the array.
    pub(super) path: String,
    pub(super) keys: Keys,
    pub(super) codecs: Value,
    pub(super) element: Element,
    /// Where chunks begin along each dimension, and the end of the last.
    pub(super) edges: Vec<Vec<u64>>,
    /// One delivered element.
    pub(super) fill: Vec<u8>,
    pub(super) chains: Mutex<HashMap<Vec<u64>, Arc<Chain>>>,
}

impl Uneven {
    fn key(&self, index: &[u64]) -> String {
        join(&self.path, &self.keys.key(index))
    }

    fn chain(&self, shape: &[u64]) -> Result<Arc<Chain>> {
        if let Some(chain) = self.chains.lock().get(shape) {
            return Ok(chain.clone());
        }
        let chain = Arc::new(chain::of_v3(&self.codecs, &self.element, shape).chain?);
        self.chains.lock().insert(shape.to_vec(), chain.clone());
        Ok(chain)
    }
}

impl Chunks for Uneven {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let Some(stored) = self.store.load(task, &self.key(index), limits::CHUNK)? else { return Ok(None) };
        let side = |(edges, at): (&Vec<u64>, &u64)| {
            let edge = |n: u64| edges.get(n as usize).copied().unwrap_or(0);
            edge(at.saturating_add(1)).saturating_sub(edge(*at))
        };
        let shape: Vec<u64> = self.edges.iter().zip(index).map(side).collect();
        dtype::chunk_bytes(&self.element, &shape)?;
        self.chain(&shape)?.decode(stored, &self.fill).map(Some)
    }

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.store.stored(task, &self.key(index))?.is_none())
    }
}
