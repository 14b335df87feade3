//! A second reader: libhdf5, for datasets whose filters Gander lacks but for which there is a plugin on this
//! machine (`HDF5_PLUGIN_PATH`). It opens the file by its path, read-only and unlocked, gives numbers only, and
//! does one thing at a time, since the library has one lock.
//!
//! Without plugins libhdf5 can no more than our own reader, and is not asked: a file alone never leads there.

use super::data::Names;
use crate::content::array::Gap;
use crate::content::{Array, ArrayFacts, Layout};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::region::Region;
use crate::task::Task;
use arrow::array::ArrayRef;
use hdf5::{Hyperslab, SliceOrIndex};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where libhdf5 looks for plugins if nobody says otherwise.
const PLUGINS: &str = "/usr/local/hdf5/lib/plugin";

/// Whether libhdf5 may know filters that Gander does not.
pub(super) fn may_help() -> bool {
    let named = std::env::var_os("HDF5_PLUGIN_PATH").is_some_and(|path| !path.is_empty());
    named || Path::new(PLUGINS).is_dir()
}

/// An array that asks libhdf5 for what its own reader says it cannot do.
pub(super) struct Second {
    pub(super) inner: Arc<dyn Array>,
    /// The file on disk.
    pub(super) file: PathBuf,
    /// The dataset's object header, whose path is looked for when it is needed.
    pub(super) address: u64,
    pub(super) names: Arc<dyn Names>,
}

impl Array for Second {
    fn dtype(&self) -> &DType {
        self.inner.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        match self.inner.read(task, region, out) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let Some(path) = self.names.path(task, self.address) else { return Err(error) };
                // What the first reader says is what the user can do something about.
                read(task, &self.file, &path, (self.dtype(), self.shape()), region, out)
                    .map_err(|second| if second.is_cancelled() { second } else { error })
            }
            done => done,
        }
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        match self.dtype().is_variable() {
            true => self.inner.column(task, region),
            false => crate::content::array::column_of_bytes(self, task, region),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<Gap>> {
        match self.read(task, region, out) {
            Err(error) if error.is_cancelled() => Err(error),
            Err(_) => self.inner.read_lenient(task, region, out),
            Ok(()) => Ok(Vec::new()),
        }
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        self.inner.unstored(task, region)
    }

    fn facts(&self) -> ArrayFacts {
        self.inner.facts()
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        self.inner.layout(task)
    }
}

/// Reads a part of a dataset of numbers by libhdf5.
///
/// # Errors
/// `Unsupported` for other types and where libhdf5 cannot read it either.
pub(super) fn read(
    task: &Task,
    file: &Path,
    dataset: &str,
    (dtype, shape): (&DType, &[u64]),
    region: &Region,
    out: &mut [u8],
) -> Result<()> {
    region.check(shape)?;
    let failed = |error: hdf5::Error| Error::unsupported(format!("libhdf5 cannot read it either: {error}"));
    let open = hdf5::File::with_options().with_fapl(|access| access.file_locking(false)).open(file);
    let dataset = open.and_then(|file| file.dataset(dataset)).map_err(failed)?;
    let there: Vec<u64> = dataset.shape().iter().map(|&side| side as u64).collect();
    if there != shape {
        return Err(Error::unsupported(format!("libhdf5 says that its shape is {there:?}")));
    }
    task.check()?;
    let slab = |span: &crate::region::Span| SliceOrIndex::SliceCount {
        start: span.start as usize,
        step: span.step as usize,
        count: span.count as usize,
        block: 1,
    };
    let selection: Vec<SliceOrIndex> = region.0.iter().map(slab).collect();
    macro_rules! numbers {
        ($ty:ty) => {{
            let values: ndarray::ArrayD<$ty> = match shape.is_empty() {
                true => dataset.read_dyn().map_err(failed)?,
                false => dataset.read_slice(Hyperslab::new(selection)).map_err(failed)?,
            };
            for (to, value) in out.chunks_exact_mut(size_of::<$ty>()).zip(values.iter()) {
                to.copy_from_slice(&value.to_le_bytes());
            }
        }};
    }
    match dtype {
        DType::I8 => numbers!(i8),
        DType::I16 => numbers!(i16),
        DType::I32 => numbers!(i32),
        DType::I64 => numbers!(i64),
        DType::U8 => numbers!(u8),
        DType::U16 => numbers!(u16),
        DType::U32 => numbers!(u32),
        DType::U64 => numbers!(u64),
        DType::F32 => numbers!(f32),
        DType::F64 => numbers!(f64),
        other => return Err(Error::unsupported(format!("elements of {other} through libhdf5"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libhdf5_gives_any_part_of_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let file = hdf5::File::create(&path).unwrap();
        let values: Vec<i16> = (0..60).collect();
        let dataset = file.new_dataset::<i16>().shape([6, 10]).chunk([4, 4]).create("group/x").unwrap();
        dataset.write_raw(&values).unwrap();
        drop((dataset, file));
        let shape = [6, 10];
        let (region, _) = Region::parse("1::2, 3:6", &shape).unwrap();
        let mut out = vec![0; 18];
        let read_as = |dtype: DType, shape: &[u64], out: &mut [u8]| {
            read(&Task::new(), &path, "/group/x", (&dtype, shape), &region, out)
        };
        read_as(DType::I16, &shape, &mut out).unwrap();
        let got: Vec<i16> = out.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
        assert_eq!(got, [13, 14, 15, 33, 34, 35, 53, 54, 55]);
        // Another type than the file's is converted, another shape is refused.
        read_as(DType::I8, &shape, &mut out[..9]).unwrap();
        assert_eq!(out[..9], [13, 14, 15, 33, 34, 35, 53, 54, 55]);
        assert!(read_as(DType::I16, &[60, 10], &mut out).is_err());
        assert!(read_as(DType::Bool, &shape, &mut out).is_err());
    }
}
