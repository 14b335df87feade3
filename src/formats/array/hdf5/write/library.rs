//! libhdf5 behind a small safe surface: what the writer needs of it. Every handle is closed when it is
//! dropped, every call holds the library's one lock, every failure becomes an error with the library's words.
//!
//! <https://support.hdfgroup.org/documentation/hdf5/latest/_r_m.html>

use super::room;
use crate::bytes::error::{Error, Result};
use crate::bytes::system;
use hdf5::globals as g;
use hdf5_sys::h5::hsize_t;
use hdf5_sys::h5f::H5F_libver_t;
use hdf5_sys::h5i::{H5Idec_ref, H5Iget_file_id, hid_t};
use hdf5_sys::{h5a, h5d, h5f, h5g, h5l, h5p, h5r, h5s, h5t, h5z};
use std::ffi::CString;
use std::path::Path;

/// "The default" and "everything" in most calls.
const DEFAULT: hid_t = 0;

/// Anything that the library gave a number to.
pub(super) struct Handle(hid_t);

impl Drop for Handle {
    fn drop(&mut self) {
        hdf5::sync::sync(|| {
            // SAFETY: the number came from the library and is given back once.
            unsafe { H5Idec_ref(self.0) }
        });
    }
}

/// Runs a call under the lock; a negative answer is a failure, told with the innermost words of the library.
fn handle(what: &str, call: impl FnOnce() -> hid_t) -> Result<Handle> {
    hdf5::sync::sync(|| match call() {
        id if id >= 0 => Ok(Handle(id)),
        _ => Err(Error::io(failed(what))),
    })
}

/// [`handle`] for an answer that is none but "done".
fn done(what: &str, call: impl FnOnce() -> i32) -> Result<()> {
    hdf5::sync::sync(|| if call() >= 0 { Ok(()) } else { Err(Error::io(failed(what))) })
}

/// [`handle`] for a datatype: what the library will not make of a type is no failure of the disk.
fn datatype(call: impl FnOnce() -> hid_t) -> Result<Type> {
    hdf5::sync::sync(|| match call() {
        id if id >= 0 => Ok(Type(Handle(id))),
        _ => Err(Error::unsupported(failed(TYPE))),
    })
}

/// [`done`] for a datatype.
fn described(what: &str, call: impl FnOnce() -> i32) -> Result<()> {
    hdf5::sync::sync(|| if call() >= 0 { Ok(()) } else { Err(Error::unsupported(failed(what))) })
}

/// What failed, and why.
fn failed(what: &str) -> String {
    let said = hdf5::Error::query().ok();
    let said = said.map(|error| error.to_string()).filter(|text| !text.is_empty());
    // The cause stands in the system's error number where a write failed.
    let full = std::io::Error::last_os_error();
    let full = if full.kind() == std::io::ErrorKind::StorageFull { ": the disk is full" } else { "" };
    format!("{what}{full} ({})", said.as_deref().unwrap_or("libhdf5 does not say why"))
}

/// The most bytes of a message in an object header: its size is a 16-bit number (specification, IV.A.1).
const MESSAGE: usize = 65_535;

/// A dataset that was refused, because its type's description does not fit into an object header if that is so.
fn refused(error: Error, datatype: &Type) -> Error {
    let mut size = 0;
    // SAFETY: a live handle; without a buffer the call only counts.
    let counted =
        hdf5::sync::sync(|| unsafe { h5t::H5Tencode(datatype.0.0, std::ptr::null_mut(), &raw mut size) });
    match counted >= 0 && size > MESSAGE {
        true => Error::unsupported(format!(
            "{}; layout=columns gives each column its own dataset",
            error.message()
        )),
        false => error,
    }
}

fn name(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::unsupported(format!("the name {text:?} has a zero character")))
}

/// A file that is being written.
pub(super) struct File {
    handle: Handle,
    /// Whether the order in which things were made is kept.
    ordered: bool,
}

/// How a file is made.
pub(super) struct Creation {
    /// The oldest and the newest version of the library whose structures are used.
    pub(super) versions: (H5F_libver_t, H5F_libver_t),
    /// Whether the order in which links and attributes were made is kept.
    pub(super) ordered: bool,
    /// Bytes that are left to others before the file begins: 0, or a power of two from 512 on.
    pub(super) user_block: u64,
}

impl Default for Creation {
    fn default() -> Self {
        let versions = (H5F_libver_t::H5F_LIBVER_EARLIEST, LATEST);
        Creation { versions, ordered: false, user_block: 0 }
    }
}

/// The newest version that the library knows.
pub(super) const LATEST: H5F_libver_t = h5f::H5F_LIBVER_LATEST;
/// The order of creation is kept, and indexed.
const IN_ORDER: u32 = h5p::H5P_CRT_ORDER_TRACKED | h5p::H5P_CRT_ORDER_INDEXED;

impl File {
    /// Makes the file at `path` anew. It stays unlocked: the caller holds a lock of its own on it.
    pub(super) fn create(path: &Path, how: &Creation) -> Result<Self> {
        let what = "HDF5: the file could not be made";
        let bytes = CString::new(system::name_bytes(path.as_os_str())).map_err(|_| Error::io(what))?;
        let access = properties(*g::H5P_FILE_ACCESS)?;
        // SAFETY: live handles and a text that ends with zero.
        done(what, || unsafe { h5p::H5Pset_file_locking(access.0, 0, 1) })?;
        // SAFETY: as above.
        done(what, || unsafe {
            h5p::H5Pset_fclose_degree(access.0, h5f::H5F_close_degree_t::H5F_CLOSE_STRONG)
        })?;
        let create = properties(*g::H5P_FILE_CREATE)?;
        // SAFETY: live handles and plain numbers.
        done(what, || unsafe {
            let mut ok = h5p::H5Pset_libver_bounds(access.0, how.versions.0, how.versions.1)
                .min(h5p::H5Pset_userblock(create.0, how.user_block));
            if how.ordered {
                ok = ok
                    .min(h5p::H5Pset_link_creation_order(create.0, IN_ORDER))
                    .min(h5p::H5Pset_attr_creation_order(create.0, IN_ORDER));
            }
            ok
        })?;
        // SAFETY: as above.
        let file = handle(what, || unsafe {
            h5f::H5Fcreate(bytes.as_ptr(), h5f::H5F_ACC_TRUNC, create.0, access.0)
        })?;
        Ok(File { handle: file, ordered: how.ordered })
    }

    /// Writes what is still in memory. Closing alone would not tell of a full disk.
    pub(super) fn finish(self) -> Result<()> {
        let what = "HDF5: the file could not be finished";
        // SAFETY: a live handle.
        done(what, || unsafe { h5f::H5Fflush(self.handle.0, h5f::H5F_scope_t::H5F_SCOPE_LOCAL) })?;
        if let Some((file, _)) = descriptor(&self.handle, what)? {
            // SAFETY: the file is open until the end of this function.
            unsafe { room::release(file) };
        }
        Ok(())
    }

    /// A dataset at `path`, whose groups are made on the way.
    pub(super) fn dataset(
        &self,
        path: &str,
        datatype: &Type,
        shape: &[u64],
        storage: &Storage,
    ) -> Result<Dataset> {
        let what = format!("HDF5: {path:?} could not be made");
        if let (true, Some((above, _))) = (self.ordered, path.rsplit_once('/')) {
            self.group(above)?;
        }
        let path = name(path)?;
        let space = growing(shape, &storage.unlimited)?;
        let links = properties(*g::H5P_LINK_CREATE)?;
        let create = properties(*g::H5P_DATASET_CREATE)?;
        done(&what, || {
            // SAFETY: live handles; the chunk shape is as long as its rank says.
            unsafe {
                let mut ok = h5p::H5Pset_create_intermediate_group(links.0, 1)
                    .min(h5p::H5Pset_char_encoding(links.0, h5t::H5T_cset_t::H5T_CSET_UTF8))
                    .min(h5p::H5Pset_obj_track_times(create.0, 0));
                if let Some(chunk) = &storage.chunk {
                    let chunk: Vec<hsize_t> = chunk.clone();
                    ok = ok.min(h5p::H5Pset_chunk(create.0, chunk.len() as i32, chunk.as_ptr()));
                    if storage.whole {
                        let never = h5d::H5D_fill_time_t::H5D_FILL_TIME_NEVER;
                        ok = ok.min(h5p::H5Pset_fill_time(create.0, never));
                    }
                    if storage.filters.shuffle {
                        ok = ok.min(h5p::H5Pset_shuffle(create.0));
                    }
                    ok = ok.min(match storage.filters.compression {
                        Compression::None => 0,
                        Compression::Gzip(level) => h5p::H5Pset_deflate(create.0, level),
                        // Optional, so that the library makes a dataset of what it cannot compress itself.
                        Compression::Zstd(level) => {
                            h5p::H5Pset_filter(create.0, ZSTD, h5z::H5Z_FLAG_OPTIONAL, 1, &raw const level)
                        }
                    });
                    if storage.filters.fletcher32 {
                        ok = ok.min(h5p::H5Pset_fletcher32(create.0));
                    }
                }
                if self.ordered {
                    ok = ok.min(h5p::H5Pset_attr_creation_order(create.0, IN_ORDER));
                }
                ok
            }
        })?;
        // SAFETY: live handles and a text that ends with zero.
        let dataset = handle(&what, || unsafe {
            h5d::H5Dcreate2(self.handle.0, path.as_ptr(), datatype.0.0, space.0, links.0, create.0, DEFAULT)
        });
        Ok(Dataset(dataset.map_err(|error| refused(error, datatype))?))
    }

    /// The group at `path`; it and those above it are made where they are not there.
    pub(super) fn group(&self, path: &str) -> Result<Group> {
        let what = format!("HDF5: the group {path:?} could not be made");
        let create = properties(*g::H5P_GROUP_CREATE)?;
        if self.ordered {
            // SAFETY: a live handle.
            done(&what, || unsafe {
                h5p::H5Pset_link_creation_order(create.0, IN_ORDER)
                    .min(h5p::H5Pset_attr_creation_order(create.0, IN_ORDER))
            })?;
        }
        let links = properties(*g::H5P_LINK_CREATE)?;
        // SAFETY: as above.
        done(&what, || unsafe { h5p::H5Pset_char_encoding(links.0, h5t::H5T_cset_t::H5T_CSET_UTF8) })?;
        let mut at = 0;
        let mut group = None;
        for part in path.split('/') {
            at += part.len() + 1;
            let path = name(path.get(..at - 1).unwrap_or(path))?;
            // SAFETY: live handles and a text that ends with zero.
            let there = hdf5::sync::sync(|| unsafe { h5l::H5Lexists(self.handle.0, path.as_ptr(), DEFAULT) });
            // SAFETY: as above.
            group = Some(handle(&what, || unsafe {
                match there > 0 {
                    true => h5g::H5Gopen2(self.handle.0, path.as_ptr(), DEFAULT),
                    false => h5g::H5Gcreate2(self.handle.0, path.as_ptr(), links.0, create.0, DEFAULT),
                }
            })?);
        }
        group.map(Group).ok_or_else(|| Error::bug("a group without a path"))
    }

    /// What refers to the object at `path`.
    pub(super) fn reference(&self, path: &str) -> Result<Reference> {
        let what = format!("HDF5: nothing can refer to {path:?}");
        let path = name(path)?;
        let mut reference: Reference = 0;
        // SAFETY: live handles, a text that ends with zero, and room for one reference.
        done(&what, || unsafe {
            let to = (&raw mut reference).cast();
            h5r::H5Rcreate(to, self.handle.0, path.as_ptr(), h5r::H5R_type_t::H5R_OBJECT1, -1)
        })?;
        Ok(reference)
    }
}

/// A group.
pub(super) struct Group(Handle);

/// What refers to an object of the file.
pub(super) type Reference = h5r::hobj_ref_t;

/// The descriptor of the file that an object is in, and its size; `None` where it is no file of the system.
fn descriptor(object: &Handle, what: &str) -> Result<Option<(i32, u64)>> {
    // SAFETY: a live handle.
    let file = handle(what, || unsafe { H5Iget_file_id(object.0) })?;
    let (mut size, mut place) = (0, std::ptr::null_mut());
    // SAFETY: a live handle, and places for a size and a pointer.
    done(what, || unsafe {
        h5f::H5Fget_filesize(file.0, &raw mut size).min(h5f::H5Fget_vfd_handle(
            file.0,
            DEFAULT,
            &raw mut place,
        ))
    })?;
    // SAFETY: the driver for files of the system, which every file here has, gives the place of its descriptor.
    Ok((!place.is_null()).then(|| (unsafe { *place.cast::<i32>() }, size)))
}

/// Makes sure that the file of an object has room for so many bytes more. While it converts elements of any length the
/// library does not survive that a write fails, so a lack of room has to be found before.
fn reserve(object: &Handle, bytes: u64) -> Result<()> {
    let what = "HDF5: elements could not be written";
    let Some((file, size)) = descriptor(object, what)? else { return Ok(()) };
    // SAFETY: the descriptor is open as long as the file is, and that has an object of ours.
    unsafe { room::reserve(file, size.saturating_add(bytes)) }
        .map_err(|error| Error::io(format!("{what}: {}", error.message())))
}

/// The most that elements of any length take in a file: those of them that are so long together, each with a head of 16
/// bytes filled up to 8, in collections of 4,096 bytes or more (specification, III.E) whose last bytes stay empty, and
/// what refers to them.
fn room_of(references: usize, held: u64) -> u64 {
    (held + 3 * references as u64) * 2 + (1 << 16)
}

/// Anything that has attributes.
pub(super) trait Described {
    /// Its handle.
    fn handle(&self) -> &Handle;

    /// Whether it has an attribute of this name.
    fn has(&self, text: &str) -> Result<bool> {
        let text = name(text)?;
        // SAFETY: a live handle and a text that ends with zero.
        Ok(hdf5::sync::sync(|| unsafe { h5a::H5Aexists(self.handle().0, text.as_ptr()) }) > 0)
    }

    /// Writes an attribute whose elements point to so many bytes in memory ([`Described::attribute`]).
    ///
    /// # Safety
    /// As there.
    unsafe fn attribute_of(
        &self,
        text: &str,
        datatype: &Type,
        shape: &[u64],
        (bytes, held): (&[u8], u64),
    ) -> Result<()> {
        reserve(self.handle(), room_of(bytes.len(), held))?;
        // SAFETY: the function's own.
        unsafe { self.attribute(text, datatype, Some(shape), bytes) }
    }

    /// Writes an attribute; a shape of `None` is a scalar.
    ///
    /// # Safety
    /// Elements of types with places in memory must point to texts that end with zero, or to as many elements
    /// as they say.
    unsafe fn attribute(
        &self,
        text: &str,
        datatype: &Type,
        shape: Option<&[u64]>,
        bytes: &[u8],
    ) -> Result<()> {
        let what = format!("HDF5: the attribute {text:?} could not be written");
        let text = name(text)?;
        let space = space(shape.unwrap_or_default())?;
        let need = shape.unwrap_or_default().iter().product::<u64>().saturating_mul(datatype.size() as u64);
        if need != bytes.len() as u64 {
            return Err(Error::bug(format!("{} bytes for an attribute of {need}", bytes.len())));
        }
        // SAFETY: live handles and a text that ends with zero.
        let attribute = handle(&what, || unsafe {
            h5a::H5Acreate2(self.handle().0, text.as_ptr(), datatype.0.0, space.0, DEFAULT, DEFAULT)
        })?;
        // SAFETY: the buffer holds as many elements as the shape has; see the function's own.
        done(&what, || unsafe { h5a::H5Awrite(attribute.0, datatype.0.0, bytes.as_ptr().cast()) })
    }

    /// Writes an attribute without a value, which is NetCDF's empty text.
    fn empty_attribute(&self, text: &str) -> Result<()> {
        let what = format!("HDF5: the attribute {text:?} could not be written");
        let text = name(text)?;
        // SAFETY: a class of the library's own.
        let space = handle(&what, || unsafe { h5s::H5Screate(h5s::H5S_class_t::H5S_NULL) })?;
        let datatype = Type::text(1, false)?;
        // SAFETY: live handles and a text that ends with zero.
        handle(&what, || unsafe {
            h5a::H5Acreate2(self.handle().0, text.as_ptr(), datatype.0.0, space.0, DEFAULT, DEFAULT)
        })
        .map(drop)
    }
}

impl Described for File {
    fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Described for Group {
    fn handle(&self) -> &Handle {
        &self.0
    }
}

impl Described for Dataset {
    fn handle(&self) -> &Handle {
        &self.0
    }
}

/// What chunks are compressed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compression {
    #[default]
    None,
    /// Deflate of this level.
    Gzip(u32),
    /// Zstandard of this level, the registered filter 32015.
    Zstd(u32),
}

/// The number that is registered for Zstandard: <https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md>
const ZSTD: i32 = 32_015;

/// What chunks go through, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filters {
    pub(super) shuffle: bool,
    pub(super) compression: Compression,
    pub(super) fletcher32: bool,
}

/// How a dataset is stored: in one piece, or in chunks with filters.
#[derive(Clone, Default)]
pub(super) struct Storage {
    pub(super) chunk: Option<Vec<u64>>,
    pub(super) filters: Filters,
    /// Every element will be written, none holds a place in memory: no fill values are needed.
    pub(super) whole: bool,
    /// For each dimension whether it can grow; none where it is empty.
    pub(super) unlimited: Vec<bool>,
}

/// A dataset that is being written.
pub(super) struct Dataset(Handle);

impl Dataset {
    /// Writes the elements from `start` on, `count` along each dimension. `bytes` hold them as the type says;
    /// places in memory that they point to must be alive.
    ///
    /// # Safety
    /// Elements of types with places in memory must point to texts that end with zero, or to as many elements
    /// as they say.
    pub(super) unsafe fn write(
        &self,
        datatype: &Type,
        start: &[u64],
        count: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let what = "HDF5: elements could not be written";
        let need = count.iter().product::<u64>().saturating_mul(datatype.size() as u64);
        if need != bytes.len() as u64 || start.len() != count.len() {
            return Err(Error::bug(format!("{} bytes for {count:?} elements", bytes.len())));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let memory = space(count)?;
        // SAFETY: a live handle.
        let file = handle(what, || unsafe { h5d::H5Dget_space(self.0.0) })?;
        if !start.is_empty() {
            // SAFETY: as many numbers as the dataset has dimensions; missing ones are null.
            done(what, || unsafe {
                let set = h5s::H5S_seloper_t::H5S_SELECT_SET;
                h5s::H5Sselect_hyperslab(
                    file.0,
                    set,
                    start.as_ptr(),
                    std::ptr::null(),
                    count.as_ptr(),
                    std::ptr::null(),
                )
            })?;
        }
        // SAFETY: the buffer holds as many elements of the type as are selected; see the function's own.
        done(what, || unsafe {
            h5d::H5Dwrite(self.0.0, datatype.0.0, memory.0, file.0, DEFAULT, bytes.as_ptr().cast())
        })
    }

    /// Writes elements that point to so many bytes in memory ([`Dataset::write`]).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn write_of(
        &self,
        datatype: &Type,
        start: &[u64],
        count: &[u64],
        (bytes, held): (&[u8], u64),
    ) -> Result<()> {
        reserve(&self.0, room_of(bytes.len(), held))?;
        // SAFETY: the function's own.
        unsafe { self.write(datatype, start, count, bytes) }
    }

    /// Writes one chunk whose filters were applied already.
    pub(super) fn write_chunk(&self, start: &[u64], bytes: &[u8]) -> Result<()> {
        // SAFETY: as many numbers as the dataset has dimensions (it was made with them), and a live buffer.
        done("HDF5: a chunk could not be written", || unsafe {
            h5d::H5Dwrite_chunk(self.0.0, DEFAULT, 0, start.as_ptr(), bytes.len(), bytes.as_ptr().cast())
        })
    }
}

fn properties(class: hid_t) -> Result<Handle> {
    // SAFETY: a class of the library's own.
    handle("HDF5: no property list could be made", || unsafe { h5p::H5Pcreate(class) })
}

/// A dataspace some of whose dimensions can grow.
fn growing(shape: &[u64], unlimited: &[bool]) -> Result<Handle> {
    if shape.len() != unlimited.len() || !unlimited.contains(&true) {
        return space(shape);
    }
    let most: Vec<hsize_t> = shape
        .iter()
        .zip(unlimited)
        .map(|(len, grows)| if *grows { h5s::H5S_UNLIMITED } else { *len })
        .collect();
    // SAFETY: as many numbers as the rank says, twice.
    handle("HDF5: no dataspace could be made", || unsafe {
        h5s::H5Screate_simple(shape.len() as i32, shape.as_ptr(), most.as_ptr())
    })
}

fn space(shape: &[u64]) -> Result<Handle> {
    // SAFETY: as many numbers as the rank says.
    handle("HDF5: no dataspace could be made", || unsafe {
        match shape.is_empty() {
            true => h5s::H5Screate(h5s::H5S_class_t::H5S_SCALAR),
            false => h5s::H5Screate_simple(shape.len() as i32, shape.as_ptr(), std::ptr::null()),
        }
    })
}

/// A datatype.
pub(super) struct Type(Handle);

/// Where the parts of a float lie: sign, exponent and its bits, mantissa and its bits, bias.
pub(super) struct Layout {
    pub(super) precision: usize,
    pub(super) exponent_bits: usize,
    pub(super) mantissa_bits: usize,
    /// Whether the first bit of the mantissa is stored.
    pub(super) explicit: bool,
}

const TYPE: &str = "HDF5: no datatype could be made";

impl Type {
    fn copy(id: hid_t) -> Result<Self> {
        // SAFETY: a type of the library's own.
        datatype(|| unsafe { h5t::H5Tcopy(id) })
    }

    /// A little-endian integer of 1, 2, 4 or 8 bytes.
    pub(super) fn integer(size: usize, is_signed: bool) -> Result<Self> {
        Self::copy(match (size, is_signed) {
            (1, true) => *g::H5T_STD_I8LE,
            (2, true) => *g::H5T_STD_I16LE,
            (4, true) => *g::H5T_STD_I32LE,
            (8, true) => *g::H5T_STD_I64LE,
            (1, false) => *g::H5T_STD_U8LE,
            (2, false) => *g::H5T_STD_U16LE,
            (4, false) => *g::H5T_STD_U32LE,
            (8, false) => *g::H5T_STD_U64LE,
            _ => return Err(Error::bug(format!("an integer of {size} bytes"))),
        })
    }

    /// A little-endian float of `size` bytes.
    pub(super) fn float(size: usize, layout: &Layout) -> Result<Self> {
        let kind = Self::copy(*g::H5T_IEEE_F64LE)?;
        let Layout { precision, exponent_bits, mantissa_bits, explicit } = *layout;
        let bias = (1usize << (exponent_bits - 1)) - 1;
        let norm = match explicit {
            true => h5t::H5T_norm_t::H5T_NORM_NONE,
            false => h5t::H5T_norm_t::H5T_NORM_IMPLIED,
        };
        let fields = (precision - 1, mantissa_bits, exponent_bits, 0, mantissa_bits);
        described(TYPE, || {
            // SAFETY: a live handle of our own. A type may only grow before its fields are set, and shrink after.
            unsafe {
                let mut ok = 0;
                if size > 8 {
                    ok = ok
                        .min(h5t::H5Tset_size(kind.0.0, size))
                        .min(h5t::H5Tset_precision(kind.0.0, precision));
                }
                ok = ok
                    .min(h5t::H5Tset_fields(kind.0.0, fields.0, fields.1, fields.2, fields.3, fields.4))
                    .min(h5t::H5Tset_ebias(kind.0.0, bias))
                    .min(h5t::H5Tset_norm(kind.0.0, norm));
                if size <= 8 {
                    ok = ok
                        .min(h5t::H5Tset_precision(kind.0.0, precision))
                        .min(h5t::H5Tset_size(kind.0.0, size));
                }
                ok
            }
        })?;
        Ok(kind)
    }

    /// Booleans as h5py writes them: an enumeration of FALSE and TRUE.
    pub(super) fn bool() -> Result<Self> {
        // SAFETY: a type of the library's own.
        let kind = datatype(|| unsafe { h5t::H5Tenum_create(*g::H5T_STD_I8LE) })?;
        for (text, value) in [("FALSE", 0i8), ("TRUE", 1)] {
            let text = name(text)?;
            // SAFETY: a value of the enumeration's base type.
            described(TYPE, || unsafe {
                h5t::H5Tenum_insert(kind.0.0, text.as_ptr(), (&raw const value).cast())
            })?;
        }
        Ok(kind)
    }

    /// Text of a fixed number of bytes, filled up with zeros.
    pub(super) fn text(size: usize, utf8: bool) -> Result<Self> {
        let kind = Self::copy(*g::H5T_C_S1)?;
        kind.string(size, h5t::H5T_str_t::H5T_STR_NULLPAD, utf8)?;
        Ok(kind)
    }

    /// Text that ends with zero, as the library's own attributes are.
    pub(super) fn ended_text(size: usize, utf8: bool) -> Result<Self> {
        let kind = Self::copy(*g::H5T_C_S1)?;
        kind.string(size, h5t::H5T_str_t::H5T_STR_NULLTERM, utf8)?;
        Ok(kind)
    }

    /// UTF-8 text of any length; in memory a pointer to text that ends with zero.
    pub(super) fn texts() -> Result<Self> {
        let kind = Self::copy(*g::H5T_C_S1)?;
        kind.string(h5t::H5T_VARIABLE, h5t::H5T_str_t::H5T_STR_NULLTERM, true)?;
        Ok(kind)
    }

    fn string(&self, size: usize, padding: h5t::H5T_str_t, utf8: bool) -> Result<()> {
        let set = if utf8 { h5t::H5T_cset_t::H5T_CSET_UTF8 } else { h5t::H5T_cset_t::H5T_CSET_ASCII };
        // SAFETY: a live handle of our own.
        described(TYPE, || unsafe {
            h5t::H5Tset_size(self.0.0, size)
                .min(h5t::H5Tset_strpad(self.0.0, padding))
                .min(h5t::H5Tset_cset(self.0.0, set))
        })
    }

    /// Sequences of bytes; in memory a length and a pointer.
    pub(super) fn byte_lists() -> Result<Self> {
        // SAFETY: a type of the library's own.
        datatype(|| unsafe { h5t::H5Tvlen_create(*g::H5T_STD_U8LE) })
    }

    /// What refers to objects.
    pub(super) fn reference() -> Result<Self> {
        Self::copy(*g::H5T_STD_REF_OBJ)
    }

    /// Sequences of this type; in memory a length and a pointer.
    pub(super) fn list(&self) -> Result<Self> {
        // SAFETY: a live handle.
        datatype(|| unsafe { h5t::H5Tvlen_create(self.0.0) })
    }

    /// Opaque bytes with a tag.
    pub(super) fn opaque(size: usize, tag: &str) -> Result<Self> {
        let tag = name(tag)?;
        // SAFETY: plain numbers; then a live handle and a text that ends with zero.
        let kind = datatype(|| unsafe { h5t::H5Tcreate(h5t::H5T_class_t::H5T_OPAQUE, size) })?;
        // SAFETY: as above.
        described(TYPE, || unsafe { h5t::H5Tset_tag(kind.0.0, tag.as_ptr()) })?;
        Ok(kind)
    }

    /// An array of a fixed shape.
    pub(super) fn array(&self, shape: &[u64]) -> Result<Self> {
        // SAFETY: as many numbers as the rank says.
        datatype(|| unsafe { h5t::H5Tarray_create2(self.0.0, shape.len() as u32, shape.as_ptr()) })
    }

    /// A record of `size` bytes with these members: name, where it starts, type.
    pub(super) fn record(size: usize, members: &[(String, usize, Type)]) -> Result<Self> {
        // SAFETY: plain numbers.
        let kind = datatype(|| unsafe { h5t::H5Tcreate(h5t::H5T_class_t::H5T_COMPOUND, size) })?;
        for (text, offset, member) in members {
            let what = format!("HDF5: the member {text:?} could not be made");
            let text = name(text)?;
            // SAFETY: live handles and a text that ends with zero; the library checks the offset.
            described(&what, || unsafe { h5t::H5Tinsert(kind.0.0, text.as_ptr(), *offset, member.0.0) })?;
        }
        Ok(kind)
    }

    /// Bytes of one element in memory.
    pub(super) fn size(&self) -> usize {
        // SAFETY: a live handle.
        hdf5::sync::sync(|| unsafe { h5t::H5Tget_size(self.0.0) })
    }
}
