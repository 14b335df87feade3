//! The chunks of an array: from grid coordinates to keys, through shards, to decoded elements.
//!
//! A sharded array is seen as one of its innermost chunks. Of a shard in the store only the index and the
//! wanted inner chunks are read; shards that were opened lately stay open with their index.

use super::chain::{Chain, Sharding, beyond};
use super::meta::Keys;
use super::store::{Store, join};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::chunked::Chunks;
use crate::data::content::{Block, Layout};
use arrow::array::ArrayRef;
use bytes::Bytes;
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
    chain: Chain,
    /// One delivered element.
    fill: Vec<u8>,
    /// Innermost chunks in a key along each dimension; all ones without shards.
    per_key: Vec<u64>,
    /// Innermost chunks along each dimension of the array.
    grid: Vec<u64>,
    shards: Cache<Vec<u64>, Option<Arc<Shard>>>,
}

/// An opened shard: its bytes and where its inner chunks lie.
struct Shard {
    bytes: Held,
    entries: Vec<Option<(u64, u64)>>,
}

/// Bytes in a source or in memory.
enum Held {
    Source(Source, Range<u64>),
    Memory(Bytes),
}

impl Held {
    fn len(&self) -> u64 {
        match self {
            Held::Source(_, range) => range.end - range.start,
            Held::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// A part that was checked to lie inside.
    fn read(&self, task: &Task, range: Range<u64>) -> Result<Bytes> {
        match self {
            Held::Source(source, whole) => {
                source.read(task, whole.start + range.start..whole.start + range.end)
            }
            Held::Memory(bytes) => {
                task.check()?;
                Ok(bytes.slice(range.start as usize..range.end as usize))
            }
        }
    }

    fn part(&self, range: Range<u64>) -> Held {
        match self {
            Held::Source(source, whole) => {
                Held::Source(source.clone(), whole.start + range.start..whole.start + range.end)
            }
            Held::Memory(bytes) => Held::Memory(bytes.slice(range.start as usize..range.end as usize)),
        }
    }
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
    ) -> Self {
        let (inner, per_key) = innermost(&chain);
        let grid = shape.iter().zip(&inner.shape).map(|(len, side)| len.div_ceil((*side).max(1))).collect();
        Stored { store, path, keys, chain, fill, per_key, grid, shards: Cache::new(SHARDS) }
    }

    /// The stored bytes of an innermost chunk and what decodes them; `None` where they are not there.
    fn stored(&self, task: &Task, index: &[u64]) -> Result<Option<(Bytes, &Chain)>> {
        let outer: Vec<u64> = index.iter().zip(&self.per_key).map(|(at, per)| at / per).collect();
        let key = join(&self.path, &self.keys.key(&outer));
        let Some(first) = self.chain.shard() else {
            return Ok(self.store.load(task, &key, limits::CHUNK)?.map(|bytes| (bytes, &self.chain)));
        };
        let mut at = outer;
        let Some(mut shard) = self.outer_shard(task, &at, first)? else { return Ok(None) };
        let (mut sharding, mut per) = (first, self.per_key.clone());
        loop {
            // Innermost chunks in each chunk of this level.
            per.iter_mut().zip(&sharding.counts).for_each(|(per, count)| *per /= (*count).max(1));
            let steps = index.iter().zip(&per).zip(&sharding.counts);
            let inside: Vec<u64> = steps.map(|((at, per), count)| at / per % count).collect();
            let number = inside.iter().zip(&sharding.counts).fold(0, |n, (at, count)| n * count + at);
            let Some(range) = shard.place(number)? else { return Ok(None) };
            let Some(next) = sharding.inner.shard() else {
                limits::check(range.end - range.start, limits::CHUNK, "a stored chunk")?;
                return Ok(Some((shard.bytes.read(task, range)?, &sharding.inner)));
            };
            at.extend(inside);
            let chain = &sharding.inner;
            let outer = shard.clone();
            let open = |task: &Task| {
                opened(task, chain, next, outer.bytes.part(range.clone())).map(|shard| Some(Arc::new(shard)))
            };
            let Some(inner) = self.kept(task, at.clone(), open)? else { return Ok(None) };
            (shard, sharding) = (inner, next);
        }
    }

    /// The shard of a key, opened.
    fn outer_shard(&self, task: &Task, outer: &[u64], sharding: &Sharding) -> Result<Option<Arc<Shard>>> {
        let key = join(&self.path, &self.keys.key(outer));
        self.kept(task, outer.to_vec(), |task| {
            let Some(source) = self.store.source(task, &key)? else { return Ok(None) };
            let held = Held::Source(source.clone(), 0..source.len(task)?);
            opened(task, &self.chain, sharding, held).map(|shard| Some(Arc::new(shard)))
        })
    }

    /// The numbers of the keys that the store holds, at most `most`.
    fn keys_there(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        let mut found = Vec::new();
        // Folders to look into, and how many numbers follow below them.
        let mut open = vec![(String::new(), if self.keys.is_flat() { 1 } else { self.grid.len() })];
        if let (Some(prefix), false, true) = (self.keys.prefix(), self.keys.is_flat(), !self.grid.is_empty())
        {
            open = vec![(prefix.to_string(), self.grid.len())];
        }
        while let Some((below, levels)) = open.pop() {
            let folder = if below.is_empty() { self.path.clone() } else { join(&self.path, &below) };
            let name =
                |name: &str| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            if levels > 1 {
                let folders = self.store.folders(task, &folder)?;
                let number = |folder: &&String| folder.bytes().all(|byte| byte.is_ascii_digit());
                open.extend(folders.iter().filter(number).map(|folder| (name(folder), levels - 1)));
            } else {
                let files = self.store.files(task, &folder)?;
                found.extend(files.iter().filter_map(|(file, _)| self.keys.index(&name(file))));
            }
            if found.len().max(open.len()) > most {
                return Ok(None);
            }
        }
        Ok(Some(found))
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
        let memory = shard.as_ref().map_or(0, |shard| {
            shard.entries.len() * 24
                + if matches!(shard.bytes, Held::Memory(_)) { shard.bytes.len() as usize } else { 0 }
        });
        self.shards.put(key, shard.clone(), memory.max(SHARD));
        Ok(shard)
    }

    /// The blocks of one key.
    fn blocks(&self, task: &Task, files: Option<&Files>, index: &[u64]) -> Result<Block> {
        let key = self.keys.key(index);
        let stored = match files {
            Some(files) => files.get(&key).copied(),
            None => self.store.stored(task, &join(&self.path, &key))?,
        };
        Ok(Block { name: key, stored: stored.unwrap_or(0), missing: stored.is_none(), ..Block::default() })
    }
}

type Files = std::collections::HashMap<String, u64>;

impl Shard {
    /// Where the n-th inner chunk lies; `None` where it is missing.
    fn place(&self, n: u64) -> Result<Option<Range<u64>>> {
        let entry = usize::try_from(n).ok().and_then(|n| self.entries.get(n));
        let entry = entry.ok_or_else(|| Error::bug("an inner chunk outside of its shard"))?;
        let Some((offset, len)) = *entry else { return Ok(None) };
        let end = offset.checked_add(len).filter(|&end| end <= self.bytes.len());
        end.map(|end| Some(offset..end)).ok_or_else(|| beyond(n as usize, offset, len, self.bytes.len()))
    }
}

/// Reads the index of a shard; where the shard as a whole is compressed, all of it.
fn opened(task: &Task, chain: &Chain, sharding: &Sharding, held: Held) -> Result<Shard> {
    let bytes = match chain.is_bare() {
        true => held,
        false => {
            let len = limits::check(held.len(), limits::CHUNK, "a stored shard")? as u64;
            Held::Memory(chain.unwrap(held.read(task, 0..len)?)?)
        }
    };
    let place = sharding.index_place(bytes.len())?;
    let entries = sharding.entries(bytes.read(task, place)?)?;
    Ok(Shard { bytes, entries })
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

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        let outer: Vec<u64> = index.iter().zip(&self.per_key).map(|(at, per)| at / per).collect();
        Ok(self.store.stored(task, &join(&self.path, &self.keys.key(&outer)))?.is_none())
    }

    fn stored(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        let Some(keys) = self.keys_there(task, most)? else { return Ok(None) };
        let rank = self.grid.len();
        let Some(sharding) = self.chain.shard() else {
            return Ok(Some(keys.into_iter().filter(|index| index.len() == rank).collect()));
        };
        let nested = sharding.inner.shard().is_some();
        let mut all = Vec::new();
        for outer in keys.into_iter().filter(|index| index.len() == rank) {
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
                let mut index = vec![0; rank];
                let mut rest = n;
                for axis in (0..rank).rev() {
                    let per = self.per_key.get(axis).copied().unwrap_or(1).max(1);
                    if let (Some(at), Some(outer)) = (index.get_mut(axis), outer.get(axis)) {
                        *at = outer.saturating_mul(per).saturating_add(rest % per);
                    }
                    rest /= per;
                }
                all.push(index);
            }
        }
        Ok(Some(all))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let grid: Vec<u64> =
            self.grid.iter().zip(&self.per_key).map(|(all, per)| all.div_ceil(*per)).collect();
        let count = limits::elements(&grid)?;
        let unit = if self.chain.shard().is_some() { "shard" } else { "chunk" };
        Layout::check(unit, count, BLOCKS)?;
        // Keys side by side are listed at once; others are looked up one by one.
        let files: Option<Files> = match self.keys.is_flat() {
            true => Some(self.store.files(task, &self.path)?.into_iter().collect()),
            false => None,
        };
        let mut blocks = Vec::with_capacity(count as usize);
        let raw = limits::bytes(&self.chain.shape, self.fill.len() as u64).unwrap_or(0);
        let elements = limits::elements(&self.chain.shape).unwrap_or(0);
        for n in 0..count {
            let mut rest = n;
            let mut index: Vec<u64> = grid
                .iter()
                .rev()
                .map(|len| {
                    let at = rest % len;
                    rest /= len;
                    at
                })
                .collect();
            index.reverse();
            let block = self.blocks(task, files.as_ref(), &index)?;
            blocks.push(Block { first: n.saturating_mul(elements), count: elements, raw, ..block });
        }
        Ok(Layout { unit, blocks, grid })
    }
}
