//! Arrays whose chunks differ in size (the chunk grid `rectilinear`).
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>

use super::chain::{self, Chain};
use super::chunks::key_of;
use super::dtype::{self, Element};
use super::meta::Keys;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::chunked::{ChunkPlace, Chunks};
use crate::data::location::{BytePlace, Location};
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
    /// The same in words.
    pub(super) words: Vec<String>,
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

    /// The shape of a chunk.
    fn shape(&self, index: &[u64]) -> Vec<u64> {
        let side = |(edges, at): (&Vec<u64>, &u64)| {
            let edge = |n: u64| edges.get(n as usize).copied().unwrap_or(0);
            edge(at.saturating_add(1)).saturating_sub(edge(*at))
        };
        self.edges.iter().zip(index).map(side).collect()
    }
}

impl Chunks for Uneven {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let Some(stored) = self.store.load(task, &self.key(index), limits::CHUNK)? else { return Ok(None) };
        let shape = self.shape(index);
        dtype::chunk_bytes(&self.element, &shape)?;
        self.chain(&shape)?.decode(stored, &self.fill).map(Some)
    }

    fn place(&self, task: &Task, index: &[u64]) -> Result<Option<ChunkPlace>> {
        let (key, element) = (self.key(index), self.fill.len() as u64);
        let Some(source) = self.store.source(task, &key)? else {
            let unit = Location::new(Source::memory(key.as_str(), Bytes::new()), 0..0, "chunk", key).absent();
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        };
        let all = 0..source.len(task)?;
        let unit = Location::new(source, all, "chunk", key);
        let shape = self.shape(index);
        dtype::chunk_bytes(&self.element, &shape)?;
        let chain = self.chain(&shape)?;
        if chain.is_verbatim() {
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        }
        let fill = self.fill.clone();
        let unit = unit.decoded_by(self.words.clone(), move |_, bytes| chain.decode(bytes, &fill));
        Ok(Some(ChunkPlace { unit, element, cut: false }))
    }

    fn chunk_of(&self, _task: &Task, byte: &BytePlace) -> Result<Option<Vec<u64>>> {
        let index = key_of(&self.store, &self.path, &self.keys, self.edges.len(), byte);
        let inside = |index: &Vec<u64>| {
            index.iter().zip(&self.edges).all(|(at, edges)| at.saturating_add(1) < edges.len() as u64)
        };
        Ok(index.filter(inside))
    }

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.store.stored(task, &self.key(index))?.is_none())
    }
}
