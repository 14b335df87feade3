//! The chunks of an array: from grid coordinates to keys, through shards, to decoded elements.
//!
//! A sharded array is seen as one of its innermost chunks. Of a shard in the store only the index and the
//! wanted inner chunks are read; shards that were opened lately stay open with their index.

use super::chain::{Chain, Core, Sharding, beyond};
use super::meta::Keys;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::{ChunkPlace, Chunks};
use crate::data::content::{Block, Layout};
use crate::data::location::{BytePlace, Location};
use crate::engines::keys::{Store, join};
use arrow::array::ArrayRef;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What opened shards may take: each counts at least as `SHARD`, so that few files are open.
const SHARDS: usize = 64 << 20;
const SHARD: usize = 256 << 10;
/// The most blocks of a layout.
const BLOCKS: u64 = 1 << 18;

/// The chunks of one array in its store.
pub(super) struct Stored {
    store: Arc<Store>,
    /// The path of the array.
    path: String,
    keys: Keys,
    chain: Arc<Chain>,
    /// One delivered element.
    fill: Vec<u8>,
    /// Innermost chunks in a key along each dimension; all ones without shards.
    per_key: Vec<u64>,
    /// Innermost chunks along each dimension of the array.
    grid: Vec<u64>,
    shards: Cache<Vec<u64>, Option<Arc<Shard>>>,
    /// What the codecs of the innermost chunks are called, in the order of writing.
    codecs: Vec<String>,
}

/// An opened shard: where its bytes are, and where its inner chunks lie in it.
struct Shard {
    source: Source,
    range: Range<u64>,
    /// How many of its bytes are kept in memory: all, where it is compressed as a whole.
    memory: usize,
    entries: Vec<Option<(u64, u64)>>,
}

/// The chain of the innermost chunks that can be read alone, and how many of them lie in a key.
pub(super) fn innermost(chain: &Chain) -> (&Chain, Vec<u64>) {
    let mut counts = vec![1u64; chain.shape.len()];
    let mut chain = chain;
    while let Some(shard) = chain.shard() {
        counts.iter_mut().zip(&shard.counts).for_each(|(all, more)| *all = all.saturating_mul(*more));
        chain = &shard.inner;
    }
    (chain, counts)
}

impl Stored {
    /// The chunks of the array at `path`, of the shape `shape`.
    pub(super) fn new(
        store: Arc<Store>,
        path: String,
        keys: Keys,
        chain: Chain,
        fill: Vec<u8>,
        shape: &[u64],
        codecs: Vec<String>,
    ) -> Self {
        let (inner, per_key) = innermost(&chain);
        let grid = strides::counts(shape, &inner.shape);
        Stored {
            store,
            path,
            keys,
            chain: Arc::new(chain),
            fill,
            per_key,
            grid,
            shards: Cache::new(SHARDS),
            codecs,
        }
    }

    /// The stored bytes of an innermost chunk and what decodes them; `None` where they are not there.
    fn stored(&self, task: &Task, index: &[u64]) -> Result<Option<(Bytes, &Chain)>> {
        let Some(first) = self.chain.shard() else {
            let key = join(&self.path, &self.keys.key(&self.outer(index)));
            return Ok(self.store.load(task, &key, limits::CHUNK)?.map(|bytes| (bytes, &*self.chain)));
        };
        let Some((source, range, chain)) = self.inner_place(task, index, first)? else { return Ok(None) };
        limits::check(range.end - range.start, limits::CHUNK, "a stored chunk")?;
        Ok(Some((source.read(task, range)?, chain)))
    }

    /// The numbers of the key that an innermost chunk lies in.
    fn outer(&self, index: &[u64]) -> Vec<u64> {
        index.iter().zip(&self.per_key).map(|(at, per)| at / per).collect()
    }

    /// Where an innermost chunk lies in its shard, and what decodes it; `None` where it is not there.
    fn inner_place<'a>(
        &'a self,
        task: &Task,
        index: &[u64],
        first: &'a Sharding,
    ) -> Result<Option<(Source, Range<u64>, &'a Chain)>> {
        let mut at = self.outer(index);
        let Some(mut shard) = self.outer_shard(task, &at, first)? else { return Ok(None) };
        let (mut sharding, mut per) = (first, self.per_key.clone());
        loop {
            // Innermost chunks in each chunk of this level.
            per.iter_mut().zip(&sharding.counts).for_each(|(per, count)| *per /= (*count).max(1));
            let steps = index.iter().zip(&per).zip(&sharding.counts);
            let inside: Vec<u64> = steps.map(|((at, per), count)| at / per % count).collect();
            let Some(range) = shard.place(strides::ravel(&inside, &sharding.counts))? else {
                return Ok(None);
            };
            let Some(next) = sharding.inner.shard() else {
                return Ok(Some((shard.source.clone(), range, &sharding.inner)));
            };
            at.extend(inside);
            let chain = &sharding.inner;
            let source = shard.source.clone();
            let open =
                |task: &Task| opened(task, chain, next, source, range).map(|shard| Some(Arc::new(shard)));
            let Some(inner) = self.kept(task, at.clone(), open)? else { return Ok(None) };
            (shard, sharding) = (inner, next);
        }
    }

    /// The numbers of the key whose file a byte is of.
    fn key_of(&self, byte: &BytePlace) -> Option<Vec<u64>> {
        let index = key_of(&self.store, &self.path, &self.keys, self.grid.len(), byte)?;
        let inside = index
            .iter()
            .zip(&self.per_key)
            .zip(&self.grid)
            .all(|((at, per), count)| at.checked_mul(*per).is_some_and(|at| at < *count));
        inside.then_some(index)
    }

    /// The shard of a key, opened.
    fn outer_shard(&self, task: &Task, outer: &[u64], sharding: &Sharding) -> Result<Option<Arc<Shard>>> {
        let key = join(&self.path, &self.keys.key(outer));
        self.kept(task, outer.to_vec(), |task| {
            let Some(source) = self.store.source(task, &key)? else { return Ok(None) };
            let all = 0..source.len(task)?;
            opened(task, &self.chain, sharding, source, all).map(|shard| Some(Arc::new(shard)))
        })
    }

    /// The numbers of the keys that the store holds, at most `most`.
    fn keys_there(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        let prefix = self.keys.prefix().filter(|_| !self.keys.is_flat() && !self.grid.is_empty());
        let prefix = prefix.map_or(String::new(), String::from);
        let levels = if self.keys.is_flat() { 1 } else { self.grid.len() };
        let found = self.store.chunks(task, &join(&self.path, &prefix), levels, most)?;
        let index = |key: &String| self.keys.index(&join(&prefix, key));
        let whole = |index: &Vec<u64>| index.len() == self.grid.len();
        Ok(found.map(|keys| keys.iter().filter_map(index).filter(whole).collect()))
    }

    /// An opened shard from the cache, or opened now.
    fn kept(
        &self,
        task: &Task,
        key: Vec<u64>,
        open: impl FnOnce(&Task) -> Result<Option<Arc<Shard>>>,
    ) -> Result<Option<Arc<Shard>>> {
        if let Some(kept) = self.shards.get(&key) {
            return Ok(kept);
        }
        let shard = open(task)?;
        let memory = shard.as_ref().map_or(0, |shard| shard.entries.len() * 24 + shard.memory);
        self.shards.put(key, shard.clone(), memory.max(SHARD));
        Ok(shard)
    }
}

impl Shard {
    /// Where the n-th inner chunk lies in the source; `None` where it is missing.
    fn place(&self, n: u64) -> Result<Option<Range<u64>>> {
        let entry = usize::try_from(n).ok().and_then(|n| self.entries.get(n));
        let entry = entry.ok_or_else(|| Error::bug("an inner chunk outside of its shard"))?;
        let Some((offset, len)) = *entry else { return Ok(None) };
        let (start, size) = (self.range.start, self.range.end - self.range.start);
        let end = offset.checked_add(len).filter(|&end| end <= size);
        end.map(|end| Some(start + offset..start + end)).ok_or_else(|| beyond(n as usize, offset, len, size))
    }
}

/// Reads the index of a shard; where the shard as a whole is compressed, all of it.
fn opened(
    task: &Task,
    chain: &Chain,
    sharding: &Sharding,
    source: Source,
    range: Range<u64>,
) -> Result<Shard> {
    let (source, range, memory) = match chain.is_bare() {
        true => (source, range, 0),
        false => {
            limits::check(range.end - range.start, limits::CHUNK, "a stored shard")?;
            let bytes = chain.unwrap(source.read(task, range)?)?;
            let len = bytes.len();
            (Source::memory("a shard", bytes), 0..len as u64, len)
        }
    };
    let place = sharding.index_place(range.end - range.start)?;
    let entries = sharding.entries(source.read(task, range.start + place.start..range.start + place.end)?)?;
    Ok(Shard { source, range, memory, entries })
}

/// The numbers of the key whose file a byte is of: a chunk of the array at `path` of so many dimensions.
pub(super) fn key_of(
    store: &Store,
    path: &str,
    keys: &Keys,
    dimensions: usize,
    byte: &BytePlace,
) -> Option<Vec<u64>> {
    // The key is the end of the path, as many parts as a key of this array has.
    let parts = keys.key(&vec![0; dimensions]).split('/').count();
    let file = byte.path()?;
    let names: Vec<&str> = file.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    let key = names.get(names.len().checked_sub(parts)?..)?.join("/");
    let index = keys.index(&key).filter(|index| index.len() == dimensions)?;
    let place = store.real(&join(path, &key))?;
    (place == file || place.canonicalize().ok() == file.canonicalize().ok()).then_some(index)
}

impl Chunks for Stored {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let Some((bytes, chain)) = self.stored(task, index)? else { return Ok(None) };
        task.check()?;
        chain.decode(bytes, &self.fill).map(Some)
    }

    fn column(&self, task: &Task, index: &[u64]) -> Result<Option<ArrayRef>> {
        let Some((bytes, chain)) = self.stored(task, index)? else { return Ok(None) };
        task.check()?;
        chain.column(task, bytes).map(Some)
    }

    fn place(&self, task: &Task, index: &[u64]) -> Result<Option<ChunkPlace>> {
        let key = join(&self.path, &self.keys.key(&self.outer(index)));
        let found = match self.chain.shard() {
            Some(first) => self.inner_place(task, index, first)?.map(|(source, range, _)| (source, range)),
            None => match self.store.source(task, &key)? {
                Some(source) => {
                    let all = 0..source.len(task)?;
                    Some((source, all))
                }
                None => None,
            },
        };
        let (inner, _) = innermost(&self.chain);
        let word = if self.chain.shard().is_some() { "inner chunk" } else { "chunk" };
        let element = if matches!(inner.core, Core::Items(_)) { 0 } else { self.fill.len() as u64 };
        let Some((source, range)) = found else {
            let unit = Location::new(Source::memory(key.as_str(), Bytes::new()), 0..0, word, key).absent();
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        };
        let name = if self.chain.shard().is_some() { format!("{key} {index:?}") } else { key };
        let mut unit = Location::new(source, range, word, name);
        if !inner.is_verbatim() {
            let (chain, fill) = (self.chain.clone(), self.fill.clone());
            let decode = move |_: &Task, bytes| {
                let inner = innermost(&chain).0;
                if matches!(inner.core, Core::Items(_)) {
                    inner.unwrap(bytes)
                } else {
                    inner.decode(bytes, &fill)
                }
            };
            unit = unit.decoded_by(self.codecs.clone(), decode);
        }
        Ok(Some(ChunkPlace { unit, element, cut: false }))
    }

    fn chunk_of(&self, task: &Task, byte: &BytePlace) -> Result<Option<Vec<u64>>> {
        let Some(outer) = self.key_of(byte) else { return Ok(None) };
        let Some(first) = self.chain.shard() else { return Ok(Some(outer)) };
        let Some(shard) = self.outer_shard(task, &outer, first)? else { return Ok(None) };
        // Of shards in shards, the first chunk of the one that holds the byte.
        let inner: Vec<u64> =
            self.per_key.iter().zip(&first.counts).map(|(per, count)| per / (*count).max(1)).collect();
        for n in 0..shard.entries.len() as u64 {
            let Some(range) = shard.place(n)? else { continue };
            if byte.within(&shard.source, &range).is_some() {
                let inside = strides::unravel(n, &first.counts);
                let at = |((outer, per), (inside, inner)): ((&u64, &u64), (&u64, &u64))| {
                    outer.saturating_mul(*per).saturating_add(inside.saturating_mul(*inner))
                };
                return Ok(Some(
                    outer.iter().zip(&self.per_key).zip(inside.iter().zip(&inner)).map(at).collect(),
                ));
            }
        }
        Ok(None)
    }

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.store.stored(task, &join(&self.path, &self.keys.key(&self.outer(index))))?.is_none())
    }

    fn stored(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        let Some(keys) = self.keys_there(task, most)? else { return Ok(None) };
        let Some(sharding) = self.chain.shard() else { return Ok(Some(keys)) };
        let nested = sharding.inner.shard().is_some();
        let mut all = Vec::new();
        for outer in keys {
            let there: Box<dyn Fn(u64) -> bool> = match nested {
                // Of shards in shards only the outer ones are told.
                true => Box::new(|_| true),
                false => match self.outer_shard(task, &outer, sharding)? {
                    Some(shard) => {
                        Box::new(move |n| shard.entries.get(n as usize).is_none_or(Option::is_some))
                    }
                    None => continue,
                },
            };
            for n in 0..limits::elements(&self.per_key)? {
                if !there(n) {
                    continue;
                }
                if all.len() >= most {
                    return Ok(None);
                }
                let inside = strides::unravel(n, &self.per_key);
                let places = outer.iter().zip(&self.per_key).zip(inside);
                let index = places.map(|((at, per), n)| at.saturating_mul(*per).saturating_add(n)).collect();
                all.push(index);
            }
        }
        Ok(Some(all))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let unit = if self.chain.shard().is_some() { "shard" } else { "chunk" };
        let raw = limits::bytes(&self.chain.shape, self.fill.len() as u64).unwrap_or(0);
        let elements = limits::elements(&self.chain.shape).unwrap_or(0);
        let grid = strides::counts(&self.grid, &self.per_key);
        // Keys side by side are listed at once; others are looked up one by one.
        let few = limits::elements(&grid)? <= BLOCKS;
        let files = (self.keys.is_flat() && few).then(|| self.store.files(task, &self.path)).transpose()?;
        let files: Option<HashMap<String, u64>> = files.map(|files| files.into_iter().collect());
        Layout::of_grid(task, unit, grid, BLOCKS, |n, index| {
            let key = self.keys.key(index);
            let stored = match &files {
                Some(files) => files.get(&key).copied(),
                None => self.store.stored(task, &join(&self.path, &key))?,
            };
            Ok(Block {
                name: key,
                first: n.saturating_mul(elements),
                count: elements,
                stored: stored.unwrap_or(0),
                raw,
                missing: stored.is_none(),
            })
        })
    }
}
