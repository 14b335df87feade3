//! What the attributes of a dataset and the datasets beside it say of its axes and values: HDF5's dimension
//! scales (<https://support.hdfgroup.org/documentation/hdf5/latest/_h5_d_s__u_g.html>), which NetCDF-4 is
//! made of, NeXus' signals with axes, and the conventions of [`crate::data::cf`].

use super::attribute;
use super::data;
use super::file_index::{FileIndex, Place};
use super::object::Object;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cf::{self, Described, Found, Variable};
use crate::data::content::Array;
use crate::data::content::array::Axis;
use crate::data::node::Value;
use serde_json::Value as Json;
use std::sync::Arc;

/// How NetCDF marks a dimension that has no variable.
pub const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
/// The objects of a group that are looked at for the number of a NetCDF dimension.
const LOOKED_AT: u64 = 256;

/// A dataset as its neighbours see it.
pub struct Seen<'a> {
    /// Its file.
    pub book: &'a Arc<FileIndex>,
    /// The groups that it lies in, its own first.
    pub groups: &'a [u64],
    /// Its name.
    pub name: &'a str,
    /// Its attributes.
    pub attributes: &'a [(String, Value)],
    /// Its values.
    pub array: &'a Arc<dyn Array>,
    /// The names that its group has for its axes (NeXus); else empty.
    pub axes: &'a [String],
}

/// Attributes that lie in another dataset, with its values.
pub struct Scale {
    pub(super) attributes: Vec<(String, Value)>,
    array: Arc<dyn Array>,
    /// Its array holds the file's index, which must not hold it in turn: both would stay for ever.
    pub(super) holds_index: bool,
}

/// The array with all that is said of its axes, unit and values.
///
/// # Errors
/// Only a cancellation.
pub fn described(task: &Task, seen: &Seen<'_>) -> Result<Arc<dyn Array>> {
    if seen.attributes.is_empty() && seen.axes.is_empty() {
        return Ok(seen.array.clone());
    }
    task.check()?;
    let attributes: Vec<_> = seen.attributes.iter().map(|(n, v)| (n.clone(), single(v))).collect();
    let (names, paths) = seen.dimensions(task, &attributes);
    let shape = seen.array.shape().to_vec();
    let dtype = cf::stored_type(&attributes, seen.array.dtype());
    let variable = Variable {
        name: seen.name,
        attributes: &attributes,
        dtype: &dtype,
        dimensions: &names,
        shape: &shape,
    };
    let lookup = |name: &str| {
        let path =
            names.iter().zip(&paths).find(|(known, _)| *known == name).and_then(|(_, path)| path.as_ref());
        seen.scale(task, path.map_or(name, String::as_str))
    };
    let told = cf::describe(variable, &lookup);
    task.check()?;
    Ok(data::with_type(seen.array.clone(), dtype.clone(), |facts| {
        let values = std::mem::take(&mut facts.value_names);
        let Described { unit, times, axes, scaling, value_names } = told;
        facts.unit = unit;
        facts.times = times;
        facts.axes = axes;
        facts.scaling = scaling;
        facts.value_names = if value_names.is_empty() { values } else { value_names };
    }))
}

/// A value by itself where it is the only one of a list, as NetCDF stores all its numbers.
pub fn single(value: &Value) -> Value {
    match value {
        Value::Json(Json::Array(list)) => match list.as_slice() {
            [Json::Array(_) | Json::Object(_)] => value.clone(),
            [one] => one.clone().into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

fn find<'a>(attributes: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Seen<'_> {
    /// The name of each dimension, and the path of its scale where it has one.
    fn dimensions(&self, task: &Task, attributes: &[(String, Value)]) -> (Vec<String>, Vec<Option<String>>) {
        let rank = self.array.shape().len();
        let paths = self.listed(rank);
        let is_scale = cf::text(attributes, "CLASS").as_deref() == Some("DIMENSION_SCALE");
        if is_scale && paths.iter().all(Option::is_none) {
            let names = match rank {
                1 => vec![self.name.to_owned()],
                _ => self.numbered(task, attributes),
            };
            if names.len() == rank {
                return (names, vec![None; rank]);
            }
        }
        let labels: Vec<String> = match find(self.attributes, "DIMENSION_LABELS") {
            Some(Value::Json(Json::Array(list))) => {
                list.iter().map(|label| label.as_str().unwrap_or_default().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let name = |axis: usize| {
            let scale = paths.get(axis).and_then(|path| path.as_deref()).map(last);
            let given = self.axes.get(axis).map(String::as_str).filter(|name| *name != ".");
            let label = labels.get(axis).map(String::as_str).filter(|label| !label.is_empty());
            scale.or(given).or(label).unwrap_or_default().to_owned()
        };
        let names: Vec<String> = (0..rank).map(name).collect();
        if names.iter().all(String::is_empty) { (Vec::new(), Vec::new()) } else { (names, paths) }
    }

    /// The paths of the first scale of each dimension.
    fn listed(&self, rank: usize) -> Vec<Option<String>> {
        let list = match find(self.attributes, "DIMENSION_LIST") {
            Some(Value::Json(Json::Array(list))) if list.len() == rank => list.as_slice(),
            _ => &[],
        };
        let first = |scales: &Json| Some(scales.as_array()?.first()?.as_str()?.to_owned());
        (0..rank).map(|axis| list.get(axis).and_then(first)).collect()
    }

    /// NetCDF's coordinate variables of several dimensions name them by number; the scales beside them have
    /// these numbers.
    fn numbered(&self, task: &Task, attributes: &[(String, Value)]) -> Vec<String> {
        let wanted = cf::numbers(attributes, "_Netcdf4Coordinates");
        let mut names = vec![String::new(); wanted.len()];
        for group in self.groups {
            let Ok(Some(links)) = self.book.links(task, *group) else { continue };
            for link in links.page(task, 0..LOOKED_AT).unwrap_or_default() {
                let Some(scale) = self.book.scale(task, *group, &link.name) else { continue };
                // Variables along a dimension have its number too; its name is that of the scale.
                if cf::text(&scale.attributes, "CLASS").as_deref() != Some("DIMENSION_SCALE") {
                    continue;
                }
                let Some(number) = cf::numbers(&scale.attributes, "_Netcdf4Dimid").first().copied() else {
                    continue;
                };
                for (name, wanted) in names.iter_mut().zip(&wanted) {
                    if *wanted == number && name.is_empty() {
                        *name = link.name.to_string();
                    }
                }
            }
        }
        names
    }

    /// The dataset of a path or name, as the conventions look for it: in the own group, then in those above.
    fn scale(&self, task: &Task, path: &str) -> Option<Found> {
        let mut groups = self.groups.iter();
        let scale = groups.find_map(|group| self.book.scale(task, *group, path))?;
        let is_bare = cf::text(&scale.attributes, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE));
        (!is_bare).then(|| Found { attributes: scale.attributes.clone(), array: scale.array.clone() })
    }
}

impl Scale {
    /// Reads the dataset at a place; `None` where there is none.
    pub(super) fn read(task: &Task, place: &Place, name: &str) -> Option<Self> {
        let file = place.book.file();
        let object = Object::read(file, task, place.address).ok()?;
        let dataset = object.dataset(file, task).ok()?;
        let (found, _) = attribute::all(file, task, &object).ok()?;
        let names = place.book.names();
        let value = |a: attribute::Attribute| Some((a.value(file, task, names.as_ref()).ok()?.0, a.name));
        let named = found.into_iter().filter(|a| a.name != "REFERENCE_LIST").filter_map(value);
        let attributes: Vec<(String, Value)> = named.map(|(value, name)| (name, single(&value))).collect();
        let array = data::open(task, file, &dataset, names.clone()).ok()?.array;
        let holds_index = Arc::strong_count(&names) > 1;
        let dtype = cf::stored_type(&attributes, array.dtype());
        let array = if dtype == *array.dtype() { array } else { data::with_type(array, dtype, |_| {}) };
        // Its own axes only by name: else two datasets would describe each other without end.
        let axes = match (array.shape().len(), find(&attributes, "DIMENSION_LIST")) {
            (1, Some(Value::Json(Json::Array(list)))) => list.first().and_then(Json::as_array).cloned(),
            _ => None,
        };
        let own = axes.and_then(|scales| Some(last(scales.first()?.as_str()?).to_owned()));
        let axes = vec![Axis { name: own.unwrap_or_else(|| last(name).to_owned()), ..Axis::default() }];
        let array =
            if array.shape().len() == 1 { data::with_facts(array, |facts| facts.axes = axes) } else { array };
        Some(Scale { attributes, array, holds_index })
    }
}
