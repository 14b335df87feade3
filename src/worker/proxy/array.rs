//! Arrays.

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, MissingRegion, Plain, Stored, World};
use crate::data::content::{Array, Layout};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::quantised::{Block, Code, Quant, Quantised, StoredBlocks};
use crate::data::region::Region;
use crate::data::stats::ArrayStats;
use crate::data::stats::passes::ArrayPasses;
use crate::data::stats::tensor::TensorStats;
use crate::worker::calls::Call;
use crate::worker::link::Handle;
use crate::worker::wire::{In, Out, Wire, is_in_a_file, wrong};
use arrow::array::ArrayRef;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// An array in a worker.
pub(in crate::worker) struct RemoteArray {
    handle: Arc<Handle>,
    dtype: DType,
    shape: Vec<u64>,
    is_quantised: bool,
    /// The elements where they lie in a file as they are delivered: they are read here.
    plain: Option<Plain>,
    /// Where the elements lie in one piece, as they are, and what its checksum goes over.
    storage: Told,
    verbatim: Told,
    checksummed: Told,
    facts: Mutex<Option<ArrayFacts>>,
}

/// Bytes in a file, or that there are none; `None` where they are to be asked for, since they are the worker's.
type Told = Option<Option<(Source, Range<u64>)>>;

/// What can be told of bytes.
fn told(bytes: Option<(Source, Range<u64>)>) -> Told {
    match bytes {
        Some((source, _)) if !is_in_a_file(&source) => None,
        other => Some(other),
    }
}

impl RemoteArray {
    /// What was told, or is asked for now.
    fn known(&self, told: &Told, call: &Call) -> Option<(Source, Range<u64>)> {
        told.clone().unwrap_or_else(|| self.handle.known(None, call))
    }

    pub(in crate::worker) fn describe(array: &dyn Array, out: &mut Out<'_>) {
        array.dtype().put(out);
        array.shape().to_vec().put(out);
        array.quantised().is_some().put(out);
        for bytes in [array.storage(), array.verbatim(), array.checksummed()] {
            told(bytes).put(out);
        }
        // An axis may have a coordinate whose axis it is.
        let facts = (out.coordinates == 0).then(|| array.facts());
        out.coordinates += 1;
        facts.put(out);
        out.coordinates -= 1;
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        let (dtype, shape) = (DType::read(from)?, Vec::<u64>::read(from)?);
        let is_quantised = bool::read(from)?;
        let (storage, verbatim, checksummed): (Told, Told, Told) = Wire::read(from)?;
        let plain = verbatim.clone().flatten().and_then(|(source, range)| {
            let plain = Plain::new(source, range.start, dtype.clone(), shape.clone()).ok()?;
            plain.verbatim().filter(|(_, bytes)| *bytes == range).map(|_| plain)
        });
        let facts = Mutex::new(Option::<ArrayFacts>::read(from)?);
        Ok(RemoteArray { handle, dtype, shape, is_quantised, plain, storage, verbatim, checksummed, facts })
    }
}

impl Array for RemoteArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        match &self.plain {
            Some(plain) => plain.read(task, region, out),
            None => self.handle.fill(task, &Call::ArrayRead { region: region.clone() }, out),
        }
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        if self.plain.is_some() {
            return Ok(None);
        }
        self.handle.call(task, &Call::ArrayUnstored { region: region.clone() })
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        let stored: Option<Stored> = self.handle.call(task, &Call::ArrayStored)?;
        let inside = |stored: &Stored| stored.regions.iter().all(|region| region.check(&self.shape).is_ok());
        match stored.as_ref().is_none_or(inside) {
            true => Ok(stored),
            false => Err(wrong("regions that lie outside of the array")),
        }
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        self.handle.call(task, &Call::ArrayLocation { index: index.to_vec() })
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.handle.call(task, &Call::ArrayOwner { byte: self.handle.link().place(byte) })
    }

    fn storage(&self) -> Option<(Source, Range<u64>)> {
        self.known(&self.storage, &Call::ArrayStorage)
    }

    fn verbatim(&self) -> Option<(Source, Range<u64>)> {
        self.known(&self.verbatim, &Call::ArrayVerbatim)
    }

    fn facts(&self) -> ArrayFacts {
        if let Some(facts) = &*self.facts.lock() {
            return facts.clone();
        }
        let asked: Option<ArrayFacts> = self.handle.prompt(&Call::ArrayFacts);
        if asked.is_some() {
            self.facts.lock().clone_from(&asked);
        }
        asked.unwrap_or_default()
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        if let Some(plain) = &self.plain {
            return plain.column(task, region);
        }
        let column: ArrayRef = self.handle.call(task, &Call::ArrayColumn { region: region.clone() })?;
        match column.len() as u64 == region.elements()? {
            true => Ok(column),
            false => Err(wrong("elements of another number than were asked for")),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        if let Some(plain) = &self.plain {
            return plain.read_lenient(task, region, out);
        }
        let gaps: Vec<MissingRegion> =
            self.handle.fill_after(task, &Call::ArrayReadLenient { region: region.clone() }, out)?;
        let shape = region.shape();
        match gaps.iter().all(|gap| gap.part.check(&shape).is_ok()) {
            true => Ok(gaps),
            false => Err(wrong("gaps outside of what was asked for")),
        }
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        self.handle.call(task, &Call::ArrayLayout)
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        if self.plain.is_none() {
            let _: Result<()> = self.handle.call(task, &Call::ArrayPrefetch { region: region.clone() });
        }
    }

    fn quantised(&self) -> Option<&dyn Quantised> {
        self.is_quantised.then_some(self)
    }

    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        self.known(&self.checksummed, &Call::ArrayChecksummed)
    }

    fn passes(&self) -> Option<&dyn ArrayPasses> {
        // Plain elements are read here.
        self.plain.is_none().then_some(self)
    }
}

impl ArrayPasses for RemoteArray {
    fn stats(&self, task: &Task, bins: Option<usize>, lenient: bool) -> Result<ArrayStats> {
        self.handle.call(task, &Call::ArrayStats { bins, lenient })
    }

    fn tensor(&self, task: &Task) -> Result<TensorStats> {
        self.handle.call(task, &Call::ArrayTensor)
    }
}

impl Quantised for RemoteArray {
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>> {
        self.handle.call(task, &Call::QuantisedQuants { region: region.clone() })
    }

    fn blocks(&self) -> Option<StoredBlocks> {
        self.handle.known(None, &Call::QuantisedBlocks)
    }

    fn block(&self, task: &Task, index: &[u64]) -> Result<Option<Block>> {
        self.handle.call(task, &Call::QuantisedBlock { index: index.to_vec() })
    }

    fn code(&self, task: &Task, index: &[u64]) -> Result<Option<Code>> {
        self.handle.call(task, &Call::QuantisedCode { index: index.to_vec() })
    }
}

/// Coordinates of whole indices, in a worker.
pub(in crate::worker) struct RemoteWorld {
    handle: Arc<Handle>,
    /// The last index, and what it stands for.
    last: Mutex<Option<(Vec<u64>, Vec<(String, f64, String)>)>>,
}

impl RemoteWorld {
    pub(in crate::worker) fn describe(_world: &dyn World, _out: &mut Out<'_>) {}

    pub(in crate::worker) fn described(handle: Arc<Handle>, _from: &mut In<'_>) -> Result<Self> {
        Ok(RemoteWorld { handle, last: Mutex::default() })
    }
}

impl std::fmt::Debug for RemoteWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteWorld").finish_non_exhaustive()
    }
}

impl World for RemoteWorld {
    fn at(&self, index: &[u64]) -> Vec<(String, f64, String)> {
        if let Some((of, known)) = &*self.last.lock()
            && of == index
        {
            return known.clone();
        }
        let at: Vec<(String, f64, String)> =
            self.handle.known(Vec::new(), &Call::WorldAt { index: index.to_vec() });
        *self.last.lock() = Some((index.to_vec(), at.clone()));
        at
    }
}
