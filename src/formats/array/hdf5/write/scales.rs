//! Dimension scales: the names of dimensions and the coordinates along them, as HDF5 keeps them and NetCDF-4
//! is made of them. A dimension that has no array of its name becomes one without values, as NetCDF does it.
//! <https://support.hdfgroup.org/documentation/hdf5/latest/_h5_d_s__u_g.html>,
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_4_spec>

use super::WrittenArray;
use super::attributes;
use super::library::{Dataset, Described, File, Reference, Storage, Type};
use crate::bytes::error::Result;
use crate::data::content::Array;
use std::collections::{BTreeMap, BTreeSet};

/// How NetCDF marks a dimension that has no variable.
pub(super) const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable.";

/// How often scales of several dimensions that are none after all are looked for; then no array of several is one.
const ROUNDS: usize = 8;

/// Which scale each dimension of an array has.
struct Attached {
    /// The array's number.
    array: usize,
    /// For each dimension the path of its scale; none where an array that lies along others has its name.
    scales: Vec<Option<String>>,
    /// The name of each dimension.
    names: Vec<String>,
    /// It is the scale of its own first dimension, and has others.
    is_scale: bool,
}

/// Everything that is known of the scales of a file.
#[derive(Default)]
struct Scales {
    /// Arrays that are scales, by path.
    own: BTreeMap<String, usize>,
    /// Dimensions without values: path and length.
    bare: BTreeMap<String, u64>,
    attached: Vec<Attached>,
}

/// Writes the scales of all arrays.
pub(super) fn write(file: &File, made: &[WrittenArray<'_>]) -> Result<()> {
    let scales = Scales::of(made);
    let mut references: BTreeMap<&str, Vec<(Reference, u32)>> = BTreeMap::new();
    let mut bare = Vec::new();
    for (path, len) in &scales.bare {
        let dataset = file.dataset(path, &Type::integer(1, true)?, &[*len], &Storage::default())?;
        mark(&dataset, &format!("{NO_VARIABLE}{len:10}"))?;
        bare.push((path.as_str(), dataset));
    }
    for (path, number) in &scales.own {
        if let Some(made) = made.get(*number) {
            mark(&made.dataset, last(path))?;
        }
    }
    let known = scales.own.iter().filter_map(|(path, n)| Some((path.as_str(), &made.get(*n)?.dataset)));
    let all: BTreeMap<&str, &Dataset> = known.chain(bare.iter().map(|(path, set)| (*path, set))).collect();
    // NetCDF numbers its dimensions.
    let numbers: BTreeMap<&str, i32> = all.keys().copied().zip(0..).collect();
    for (path, dataset) in &all {
        let number = numbers.get(path).copied().unwrap_or_default();
        attributes::numbers_of(*dataset, "_Netcdf4Dimid", &[number], false)?;
    }
    for attached in &scales.attached {
        let Some(array) = made.get(attached.array) else { continue };
        if attached.is_scale {
            // A scale has no scales.
            let number = |path: &Option<String>| path.as_deref().and_then(|path| numbers.get(path).copied());
            let list: Vec<i32> = attached.scales.iter().filter_map(number).collect();
            attributes::numbers_of(&array.dataset, "_Netcdf4Coordinates", &list, true)?;
            continue;
        }
        let own = file.reference(&array.path)?;
        for (dimension, scale) in (0u32..).zip(&attached.scales).filter(|_| attached.is_whole()) {
            if let Some(scale) = scale {
                references.entry(scale).or_default().push((own, dimension));
            }
        }
        attached.write(file, &array.dataset)?;
    }
    references.iter().try_for_each(|(path, list)| match all.get(path) {
        Some(dataset) => refer(dataset, list),
        None => Ok(()),
    })
}

/// Makes a dataset a scale.
pub(super) fn mark(dataset: &Dataset, name: &str) -> Result<()> {
    for (attribute, text) in [("CLASS", "DIMENSION_SCALE"), ("NAME", name)] {
        // A scale may have another name than its dataset.
        if !dataset.has(attribute)? {
            attributes::text(dataset, attribute, text)?;
        }
    }
    Ok(())
}

/// Writes down whose scale it is.
pub(super) fn refer(dataset: &Dataset, list: &[(Reference, u32)]) -> Result<()> {
    let members = [
        ("dataset".to_owned(), 0, Type::reference()?),
        ("dimension".to_owned(), size_of::<Reference>(), Type::integer(4, false)?),
    ];
    let size = size_of::<Reference>() + 8;
    let datatype = Type::record(size, &members)?;
    let mut bytes = Vec::with_capacity(list.len() * size);
    for (reference, dimension) in list {
        bytes.extend(reference.to_ne_bytes());
        bytes.extend(dimension.to_le_bytes());
        bytes.extend([0; 4]);
    }
    // SAFETY: a reference is a number, no place in memory.
    unsafe { dataset.attribute("REFERENCE_LIST", &datatype, Some(&[list.len() as u64]), &bytes) }
}

/// Writes down which scale each dimension of a dataset has, by the paths of these.
pub(super) fn attach(file: &File, dataset: &Dataset, scales: &[Option<String>]) -> Result<()> {
    if scales.iter().all(Option::is_none) {
        return Ok(());
    }
    let one = |scale: &Option<String>| scale.as_ref().map(|path| file.reference(path)).transpose();
    let references: Vec<Option<Reference>> = scales.iter().map(one).collect::<Result<_>>()?;
    let mut bytes = Vec::new();
    for reference in &references {
        let place = reference.as_ref().map_or(0, |reference| std::ptr::from_ref(reference) as usize);
        bytes.extend(usize::from(reference.is_some()).to_ne_bytes());
        bytes.extend(place.to_ne_bytes());
    }
    let datatype = Type::reference()?.list()?;
    // SAFETY: each element says one or none and points to so many references, which are alive.
    unsafe {
        let held = size_of_val(references.as_slice()) as u64;
        dataset.attribute_of("DIMENSION_LIST", &datatype, &[scales.len() as u64], (&bytes, held))
    }
}

impl Attached {
    /// Whether every dimension has a scale.
    fn is_whole(&self) -> bool {
        self.scales.iter().all(Option::is_some)
    }

    /// NetCDF's libraries open no file in which an array has scales for some dimensions only: then all are labels,
    /// by which Gander finds the coordinates too.
    fn write(&self, file: &File, dataset: &Dataset) -> Result<()> {
        match self.is_whole() {
            true => attach(file, dataset, &self.scales),
            false => attributes::texts(dataset, "DIMENSION_LABELS", &self.names),
        }
    }
}

/// What others look at to find out whether an array is the scale of a dimension.
struct Shape<'a> {
    sides: &'a [u64],
    /// The names of its dimensions; none where nothing is said of them.
    names: Vec<String>,
}

impl<'a> Shape<'a> {
    fn of(array: &'a dyn Array) -> Self {
        let axes = array.facts().axes;
        let is_named = axes.len() == array.shape().len() && axes.iter().any(|axis| !axis.name.is_empty());
        let names = if is_named { axes.into_iter().map(|axis| axis.name).collect() } else { Vec::new() };
        Shape { sides: array.shape(), names }
    }

    /// Whether an array that is called so lies along the dimension of its name.
    fn is_along(&self, name: &str) -> bool {
        self.names.first().is_some_and(|first| first == name)
    }
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Scales {
    fn of(made: &[WrittenArray<'_>]) -> Self {
        let shapes: Vec<Shape<'_>> = made.iter().map(|made| Shape::of(made.array)).collect();
        let by_path: BTreeMap<&str, &Shape<'_>> =
            made.iter().map(|made| made.path.as_str()).zip(&shapes).collect();
        // Arrays that a scale of several dimensions cannot be, since one of these is no scale's.
        let mut refused = BTreeSet::new();
        let mut round = 0;
        loop {
            let is_own = |number: usize, path: &str, shape: &Shape<'_>| {
                let is_simple = shape.sides.len() == 1 || round < ROUNDS && !refused.contains(&number);
                is_simple && shape.is_along(last(path))
            };
            let own = made.iter().zip(&shapes).enumerate();
            let own = own.filter(|(number, (made, shape))| is_own(*number, &made.path, shape));
            let own: BTreeMap<String, usize> =
                own.map(|(number, (made, _))| (made.path.clone(), number)).collect();
            let scales = Scales::along(made, &by_path, own);
            let halves = scales.attached.iter().filter(|one| one.is_scale && !one.is_whole());
            let before = refused.len();
            refused.extend(halves.map(|one| one.array));
            if refused.len() == before {
                return scales;
            }
            round += 1;
        }
    }

    /// The scales of all dimensions, where these arrays are scales of their own.
    fn along(
        made: &[WrittenArray<'_>],
        shapes: &BTreeMap<&str, &Shape<'_>>,
        own: BTreeMap<String, usize>,
    ) -> Self {
        let mut scales = Scales { own, ..Scales::default() };
        for (number, array) in made.iter().enumerate() {
            let is_scale = scales.own.contains_key(&array.path);
            let names = shapes.get(array.path.as_str()).map_or(&[][..], |shape| &shape.names);
            if names.is_empty() || is_scale && names.len() == 1 {
                continue;
            }
            let mut attached =
                Attached { array: number, scales: Vec::new(), names: names.to_vec(), is_scale };
            for (name, len) in names.iter().zip(array.array.shape()) {
                attached.scales.push(scales.scale(shapes, &array.path, name, *len));
            }
            scales.attached.push(attached);
        }
        // What others lie along is a scale, also where nothing is said of its own dimension.
        for (number, array) in made.iter().enumerate() {
            let whole = scales.attached.iter().filter(|attached| attached.is_whole());
            if whole.flat_map(|attached| &attached.scales).flatten().any(|path| *path == array.path) {
                scales.own.insert(array.path.clone(), number);
            }
        }
        scales
    }

    /// The path of the scale of the dimension `name` of the array at `path`: in its group, else in those above.
    fn scale(
        &mut self,
        shapes: &BTreeMap<&str, &Shape<'_>>,
        path: &str,
        name: &str,
        len: u64,
    ) -> Option<String> {
        if name.is_empty() || name.contains(['/', '\0']) || name == "." {
            return None;
        }
        let join = |group: &str| if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        let own = path.rsplit_once('/').map_or("", |(group, _)| group);
        let mut group = own;
        loop {
            let at = join(group);
            let is_scale = shapes.get(at.as_str()).map(|shape| {
                // What lies along another dimension is none.
                let is_one = shape.sides.len() == 1 && shape.names.is_empty();
                shape.sides.first() == Some(&len) && (is_one || self.own.contains_key(&at))
            });
            let is_bare = self.bare.get(&at).map(|known| *known == len);
            match is_scale.or(is_bare) {
                Some(true) => return Some(at),
                // Nearer than any other, and not of this length.
                Some(false) => return None,
                None if group.is_empty() => break,
                None => group = group.rsplit_once('/').map_or("", |(above, _)| above),
            }
        }
        let at = join(own);
        let below = format!("{at}/");
        // A group of this name leaves no place for it.
        if shapes.range(below.as_str()..).next().is_some_and(|(path, _)| path.starts_with(&below)) {
            return None;
        }
        self.bare.insert(at.clone(), len);
        Some(at)
    }
}
