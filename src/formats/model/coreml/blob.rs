//! Files of weights beside ML programs: a header, then for each weight a block of metadata and its bytes, each at a
//! multiple of 64 bytes. A program names the place of the metadata.
//! <https://github.com/apple/coremltools/blob/main/mlmodel/src/MILBlob/Blob/StorageFormat.hpp>

use super::types;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::collections::HashMap;

/// What the path of a file begins with that lies beside the model.
const BESIDE: &str = "@model_path/";
/// Bytes of the header, and of a block of metadata.
const HEADER: usize = 64;
const METADATA: usize = 64;
/// What a block of metadata begins with.
const SENTINEL: u32 = 0xdead_beef;
/// The version of the format that is read.
const VERSION: u32 = 2;

/// The types of blobs by their numbers, as programs number them.
const TYPES: &[(u32, u64)] = &[
    (1, 10),
    (2, 11),
    (3, 31),
    (4, 21),
    (5, 13),
    (6, 22),
    (7, 32),
    (8, 25),
    (9, 37),
    (10, 36),
    (11, 35),
    (12, 39),
    (13, 38),
    (14, 23),
    (15, 33),
    (16, 40),
    (17, 41),
];

/// The files beside a model, each opened once.
pub(super) struct Blobs {
    model: Source,
    files: Mutex<HashMap<String, Result<Source>>>,
}

impl Blobs {
    /// Those beside this model.
    pub(super) fn new(model: Source) -> Self {
        Blobs { model, files: Mutex::default() }
    }

    /// A file, whose header is looked at.
    fn file(&self, task: &Task, name: &str) -> Result<Source> {
        if let Some(known) = self.files.lock().get(name) {
            return known.clone();
        }
        let found = self.opened(task, name).map_err(|error| error.of(name));
        if !found.as_ref().is_err_and(Error::is_cancelled) {
            self.files.lock().insert(name.to_owned(), found.clone());
        }
        found
    }

    fn opened(&self, task: &Task, name: &str) -> Result<Source> {
        let file = self.model.sibling(task, name.strip_prefix(BESIDE).unwrap_or(name))?;
        let header = file.read_up_to(task, 0, HEADER)?;
        match le::<u32>(&header, 4) {
            Some(VERSION) if header.len() == HEADER => Ok(file),
            Some(version) if header.len() == HEADER => {
                Err(Error::unsupported(format!("a file of weights of version {version}")))
            }
            _ => Err(Error::malformed("a file of weights without its header")),
        }
    }

    /// The bytes of a weight whose metadata lie at `offset`; `code` is the type that the program says.
    pub(super) fn bytes(&self, task: &Task, name: &str, offset: u64, code: u64) -> Result<Source> {
        let file = self.file(task, name)?;
        let metadata = file.read_up_to(task, offset, METADATA)?;
        let wrong = |what: String| Error::malformed(what).at(offset).of(name);
        let number = |at: usize| le::<u32>(&metadata, at);
        let long = |at: usize| le::<u64>(&metadata, at);
        let (Some(sentinel), Some(kind), Some(size), Some(start)) = (number(0), number(4), long(8), long(16))
        else {
            return Err(wrong(format!("metadata of a weight lie at {offset}, behind the end")));
        };
        if sentinel != SENTINEL {
            return Err(wrong("no metadata of a weight begin here".to_owned()));
        }
        let known = TYPES.iter().find(|(number, _)| *number == kind).map(|(_, code)| *code);
        // Truth values are bytes in the file.
        let agrees = known == Some(code) || code == types::BOOL && known == Some(types::UINT8);
        if !agrees {
            let (told, stored) =
                (types::word(code), known.map_or_else(|| format!("type {kind}"), types::word));
            return Err(wrong(format!("the program says {told}, the file of weights {stored}")));
        }
        let len = file.len(task)?;
        let end = start.checked_add(size).filter(|end| *end <= len);
        let end = end.ok_or_else(|| wrong(format!("{size} bytes at {start}, the file has {len}")))?;
        file.member(file.name(), start..end)
    }
}
