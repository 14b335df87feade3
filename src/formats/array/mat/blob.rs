//! The bytes that elements lie in: the file, or a compressed variable of it.

use crate::bytes::codec::inflater::Inflater;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::stream::{Codec, Frames, Spooled};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many compressed variables of a file keep what was inflated of them.
const KEPT: usize = 16;

/// Where the bytes of an element are.
#[derive(Clone)]
pub(super) enum Blob {
    /// In the file itself.
    File(Source),
    /// In the variable whose zlib stream begins at this byte.
    Packed(Arc<Packs>, u64),
}

impl Blob {
    pub(super) fn source(&self) -> Result<Source> {
        match self {
            Blob::File(source) => Ok(source.clone()),
            Blob::Packed(packs, at) => packs.open(*at),
        }
    }
}

/// The compressed variables of a file. Those that were read longest ago give up their bytes first.
pub(super) struct Packs {
    source: Source,
    kept: Mutex<VecDeque<(u64, Source)>>,
}

impl Packs {
    pub(super) fn new(source: Source) -> Arc<Self> {
        Arc::new(Packs { source, kept: Mutex::default() })
    }

    pub(super) fn blob(self: &Arc<Self>, at: u64) -> Blob {
        Blob::Packed(self.clone(), at)
    }

    fn open(&self, at: u64) -> Result<Source> {
        let mut kept = self.kept.lock();
        let found = kept.iter().position(|(place, _)| *place == at).and_then(|n| kept.remove(n));
        let entry = match found {
            Some(entry) => entry,
            None => {
                let make = || Ok(Box::new(Frames::new(Inflater::new(true)?)) as Box<dyn Codec>);
                let stream = Spooled::new(self.source.clone(), at, Box::new(make)).deflated();
                (at, self.source.stream("variable", Arc::new(stream))?)
            }
        };
        let source = entry.1.clone();
        kept.push_back(entry);
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(source)
    }
}
