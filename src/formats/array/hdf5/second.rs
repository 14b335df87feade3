//! A second reader: libhdf5, for datasets whose filters Gander lacks but for which there is a plugin on this
//! machine (`HDF5_PLUGIN_PATH`). It opens the file by its path, read-only and unlocked, gives elements as they are stored,
//! and does one thing at a time, since the library has one lock.
//!
//! Without plugins libhdf5 can no more than our own reader, and is not asked: a file alone never leads there.

use super::data::{Delivery, Names};
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::{MissingRegion, Stored};
use crate::data::content::{Array, ArrayFacts, Layout};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::Region;
use arrow::array::ArrayRef;
use hdf5::filters::Filter;
use hdf5::{Dataspace, Hyperslab, SliceOrIndex};
use hdf5_sys::h5d::H5Dread;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where libhdf5 looks for plugins if nobody says otherwise.
const PLUGINS: &str = "/usr/local/hdf5/lib/plugin";

/// Whether libhdf5 may know filters that Gander does not, for elements that it can give.
pub(super) fn may_help(way: &Delivery) -> bool {
    if way.dtype.is_variable() || !way.dims.is_empty() {
        return false;
    }
    let named = std::env::var_os("HDF5_PLUGIN_PATH").is_some_and(|path| !path.is_empty());
    named || Path::new(PLUGINS).is_dir()
}

/// Whether libhdf5 has all of these filters, plugins included.
pub(super) fn has_filters(ids: impl IntoIterator<Item = u16>) -> bool {
    ids.into_iter().all(|id| Filter::get_info(id.into()).decode_enabled)
}

/// An array that asks libhdf5 for what its own reader says it cannot do.
pub(super) struct Second {
    pub(super) inner: Arc<dyn Array>,
    /// How stored elements become those of `inner`.
    pub(super) way: Delivery,
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
                read(task, &self.file, &path, (&self.way, self.shape()), region, out)
                    .map_err(|second| if second.is_cancelled() { second } else { error })
            }
            done => done,
        }
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        match self.dtype().is_variable() {
            true => self.inner.column(task, region),
            false => crate::data::content::array::column_of_bytes(self, task, region),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        match self.read(task, region, out).unless_cancelled()? {
            Err(_) => self.inner.read_lenient(task, region, out),
            Ok(()) => Ok(Vec::new()),
        }
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        self.inner.unstored(task, region)
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        self.inner.stored(task)
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        self.inner.location(task, index)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.inner.owner(task, byte)
    }

    fn facts(&self) -> ArrayFacts {
        self.inner.facts()
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        self.inner.layout(task)
    }
}

/// Reads a part of a dataset by libhdf5: its elements as they are stored, delivered as our own reader does it.
///
/// # Errors
/// `Unsupported` for elements of any length, for types that are arrays, and where libhdf5 cannot read it
/// either.
pub(super) fn read(
    task: &Task,
    file: &Path,
    dataset: &str,
    (way, shape): (&Delivery, &[u64]),
    region: &Region,
    out: &mut [u8],
) -> Result<()> {
    region.check(shape)?;
    if way.dtype.is_variable() || !way.dims.is_empty() {
        return Err(Error::unsupported(format!("elements of {} through libhdf5", way.dtype)));
    }
    if out.is_empty() {
        return Ok(());
    }
    let failed = |error: hdf5::Error| Error::unsupported(format!("libhdf5 cannot read it either: {error}"));
    let open = hdf5::File::with_options().with_fapl(|access| access.file_locking(false)).open(file);
    let dataset = open.and_then(|file| file.dataset(dataset)).map_err(failed)?;
    let there: Vec<u64> = dataset.shape().iter().map(|&side| side as u64).collect();
    let datatype = dataset.dtype().map_err(failed)?;
    if there != shape || datatype.size() != way.stored() {
        let size = datatype.size();
        return Err(Error::unsupported(format!(
            "libhdf5 says that it is {there:?} elements of {size} bytes"
        )));
    }
    task.check()?;
    let slab = |span: &crate::data::region::Span| SliceOrIndex::SliceCount {
        start: span.start as usize,
        step: span.step as usize,
        count: span.count as usize,
        block: 1,
    };
    let (mut there, mut here) = (dataset.space().map_err(failed)?, None);
    if !shape.is_empty() {
        let selection: Vec<SliceOrIndex> = region.0.iter().map(slab).collect();
        there = there.select(Hyperslab::new(selection)).map_err(failed)?;
        let sides: Vec<usize> = region.shape().iter().map(|side| *side as usize).collect();
        here = Some(Dataspace::try_new(sides).map_err(failed)?);
    }
    let bytes = limits::bytes(&region.shape(), way.stored() as u64)?;
    let mut stored = limits::zeroed(limits::check(bytes, limits::READ, "this part")?, "this part")?;
    let (space, memory) = (there.id(), here.as_ref().map_or(there.id(), |here| here.id()));
    let status = hdf5::sync::sync(|| {
        // SAFETY: the buffer has as many bytes as the selection has elements of the file's own type, which
        // was checked to have no places of a heap in it; all numbers are those of open objects.
        unsafe { H5Dread(dataset.id(), datatype.id(), memory, space, 0, stored.as_mut_ptr().cast()) }
    });
    if status < 0 {
        let said = hdf5::Error::query().map_or_else(|_| "it does not say why".to_owned(), |e| e.to_string());
        return Err(Error::unsupported(format!("libhdf5 cannot read it either: {said}")));
    }
    let delivered = way.deliver(stored.into())?;
    if delivered.len() != out.len() {
        return Err(Error::bug(format!("{} bytes were delivered of {}", delivered.len(), out.len())));
    }
    out.copy_from_slice(&delivered);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::conventions::Flavour;
    use super::super::file_index::FileIndex;
    use super::super::object::Object;
    use super::*;
    use crate::bytes::source::Source;

    /// How the elements of a dataset are delivered.
    fn way(path: &Path, dataset: &str) -> Delivery {
        let task = Task::new();
        let book = FileIndex::open(&task, &Source::open(&task, path).unwrap(), Flavour::Plain).unwrap();
        let place = book.follow(&task, book.root(), dataset).unwrap().unwrap();
        let object = Object::read(book.file(), &task, place.address).unwrap();
        Delivery::new(&object.dataset(book.file(), &task).unwrap().datatype).unwrap()
    }

    #[test]
    fn libhdf5_gives_any_part_of_elements_of_any_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let file = hdf5::File::create(&path).unwrap();
        let values: Vec<i16> = (0..60).collect();
        let dataset = file.new_dataset::<i16>().shape([6, 10]).chunk([4, 4]).create("group/x").unwrap();
        dataset.write_raw(&values).unwrap();
        let flags = file.new_dataset::<bool>().shape([4]).create("flags").unwrap();
        flags.write_raw(&[true, false, true, true]).unwrap();
        let one = file.new_dataset::<f32>().shape(()).create("one").unwrap();
        one.write_scalar(&1.5f32).unwrap();
        drop((dataset, flags, one, file));
        let task = Task::new();
        let shape = [6, 10];
        let (region, _) = Region::parse("1::2, 3:6", &shape).unwrap();
        let mut out = vec![0; 18];
        let x = way(&path, "/group/x");
        read(&task, &path, "/group/x", (&x, &shape), &region, &mut out).unwrap();
        let got: Vec<i16> = out.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
        assert_eq!(got, [13, 14, 15, 33, 34, 35, 53, 54, 55]);
        let mut out = vec![9; 2];
        let (region, _) = Region::parse("1:3", &[4]).unwrap();
        read(&task, &path, "/flags", (&way(&path, "/flags"), &[4]), &region, &mut out).unwrap();
        assert_eq!(out, [0, 1]);
        let mut out = vec![0; 4];
        read(&task, &path, "/one", (&way(&path, "/one"), &[]), &Region(Vec::new()), &mut out).unwrap();
        assert_eq!(out, 1.5f32.to_le_bytes());
        // Another shape or another size than the file's is refused.
        let (region, mut out) = (Region::all(&[60, 10]), vec![0; 1200]);
        assert!(read(&task, &path, "/group/x", (&x, &[60, 10]), &region, &mut out).is_err());
        let (region, mut out) = (Region::all(&[4]), vec![0; 8]);
        assert!(read(&task, &path, "/flags", (&x, &[4]), &region, &mut out).is_err());
    }

    #[test]
    fn it_is_known_which_filters_libhdf5_has() {
        assert!(has_filters([1, 2]) && !has_filters([1, 65_000]));
    }
}
