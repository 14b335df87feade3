//! Where a conversion writes to: a file, a folder, or what is there already.

use super::Target;
use super::output::{self, Output};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::format::{Options, Payload, WriteAdditions, WriteFile, WriteFiles, WriteTo};
use std::path::Path;

/// Where a conversion writes to.
pub(super) enum Destination {
    File(Output, WriteFile),
    Folder(output::Folder, WriteFiles),
    Addition(output::Addition, WriteAdditions),
}

impl Destination {
    pub(super) fn create(target: &Target, options: &Options, path: &Path, overwrite: bool) -> Result<Self> {
        let write = target.writer.write;
        Ok(match write {
            WriteTo::Either { folder, .. } if write.is_folder(options) => {
                Destination::Folder(output::Folder::create(path)?, folder)
            }
            WriteTo::File(file) | WriteTo::Either { file, .. } => {
                Destination::File(Output::create(path, overwrite)?, file)
            }
            WriteTo::Folder(write) => Destination::Folder(output::Folder::create(path)?, write),
        })
    }

    pub(super) fn write(&mut self, task: &Task, payload: &Payload, options: &Options) -> Result<()> {
        match self {
            Destination::File(file, write) => write(task, payload, options, file),
            Destination::Folder(folder, write) => write(task, payload, options, folder),
            Destination::Addition(folder, write) => write(task, payload, options, folder),
        }
    }

    pub(super) fn restart(&mut self) -> Result<()> {
        match self {
            Destination::File(file, _) => file.restart(),
            Destination::Folder(folder, _) => folder.restart(),
            Destination::Addition(folder, _) => folder.restart(),
        }
    }

    pub(super) fn commit(self) -> Result<u64> {
        match self {
            Destination::File(file, _) => file.commit(),
            Destination::Folder(folder, _) => folder.commit(),
            Destination::Addition(folder, _) => folder.finish(),
        }
    }
}
