//! An array of the hierarchy as content: its chunks behind the engine for chunked arrays, its facts, its
//! axes with the coordinates that lie beside it.

use super::chunks::{Stored, innermost};
use super::meta::ArrayMeta;
use super::uneven::Uneven;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::chunked::Chunked;
use crate::data::content::array::Axis;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::node::Value;
use crate::data::region::Region;
use crate::engines::keys::Store;
use arrow::array::ArrayRef;
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::sync::Arc;

/// An array whose values cannot be had: what it is is shown all the same.
struct Unreadable {
    dtype: DType,
    shape: Vec<u64>,
    facts: ArrayFacts,
    error: Error,
}

impl Array for Unreadable {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(self.error.clone())
    }

    fn column(&self, _task: &Task, _region: &Region) -> Result<ArrayRef> {
        Err(self.error.clone())
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// What the metadata say of an array, for the inspector.
pub(super) fn facts(meta: &ArrayMeta) -> ArrayFacts {
    let list = |sides: &[u64]| sides.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let mut details = vec![
        ("Zarr format".to_owned(), meta.version.to_string()),
        ("data type".to_owned(), meta.element.word.clone()),
        ("fill value".to_owned(), meta.fill_text.clone()),
    ];
    let mut chunks = meta.chunk.clone();
    if let Ok(chain) = &meta.chain {
        let (inner, per_key) = innermost(chain);
        if chain.shard().is_some() {
            details.push(("shards".to_owned(), list(&chain.shape)));
            details.push(("chunks in a shard".to_owned(), list(&per_key)));
            chunks.clone_from(&inner.shape);
        }
    }
    if meta.version == 2 {
        details.push(("order".to_owned(), if meta.fortran { "F" } else { "C" }.to_owned()));
    }
    details.push(("chunk keys".to_owned(), meta.keys.key(&vec![0; meta.shape.len()])));
    ArrayFacts {
        chunks: Some(chunks).filter(|_| meta.edges.is_none()),
        codecs: meta.codecs.clone(),
        byte_order: meta.byte_order,
        details,
        axes: named_axes(&meta.dimensions),
        ..ArrayFacts::default()
    }
}

/// Axes that are known by name only.
fn named_axes(dimensions: &[String]) -> Vec<Axis> {
    dimensions.iter().map(|name| Axis { name: name.clone(), ..Axis::default() }).collect()
}

/// The array at `path` as content, with these facts; and the error where its values cannot be had.
pub(super) fn content(
    store: &Arc<Store>,
    path: &str,
    meta: ArrayMeta,
    facts: ArrayFacts,
) -> Result<(Arc<dyn Array>, Option<Error>)> {
    let ArrayMeta { shape, element, keys, chain, fill, fill_row, edges, codec_list: codecs, .. } = meta;
    let unreadable = |error: Error, shape: Vec<u64>, dtype: DType, facts: ArrayFacts| {
        let array = Unreadable { dtype, shape, facts, error: error.clone() };
        (Arc::new(array) as Arc<dyn Array>, Some(error))
    };
    let chain = match chain {
        Ok(chain) => chain,
        Err(error) => return Ok(unreadable(error, shape, element.dtype, facts)),
    };
    let size = element.size() as usize;
    let fill = if fill.is_empty() { vec![0; size] } else { fill };
    if let Some(edges) = edges {
        if element.is_variable() {
            return Err(Error::unsupported("chunks of different sizes with elements of any size"));
        }
        let (store, path, chains, dtype) =
            (store.clone(), path.to_owned(), Mutex::default(), element.dtype.clone());
        let (grid, one) = (edges.clone(), fill.clone());
        let words = facts.codecs.clone();
        let chunks = Uneven { store, path, keys, codecs, words, element, edges, fill, chains };
        let array = Chunked::uneven(dtype, shape, grid, one, Arc::new(chunks))?;
        return Ok((Arc::new(array.facts(facts)), None));
    }
    let inner = innermost(&chain).0.shape.clone();
    let stored =
        Stored::new(store.clone(), path.to_owned(), keys, chain, fill.clone(), &shape, facts.codecs.clone());
    let mut array = Chunked::new(element.dtype, shape, inner, fill, Arc::new(stored))?.facts(facts);
    if let Some(row) = fill_row {
        array = array.fill_column(row);
    }
    Ok((Arc::new(array), None))
}

/// A node's attributes.
pub(super) fn attributes(object: &super::json::Object) -> Vec<(String, Value)> {
    object.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect()
}

/// What the climate and forecast conventions say of an array; `lookup` gives the arrays beside it.
pub(super) fn describe(
    name: &str,
    meta: &ArrayMeta,
    facts: &mut ArrayFacts,
    lookup: &dyn Fn(&str) -> Option<cf::Found>,
) {
    let mut attributes = attributes(&meta.attributes);
    // xarray keeps the value for *missing* of version 2 in the array's own fill value.
    let by_xarray = meta.attributes.contains_key("_ARRAY_DIMENSIONS");
    if meta.version == 2
        && by_xarray
        && !meta.attributes.contains_key("_FillValue")
        && meta.element.dtype.is_real()
    {
        let fill = meta.fill_text.parse::<f64>().ok().filter(|fill| fill.is_finite());
        attributes.extend(fill.map(|fill| ("_FillValue".to_owned(), Value::Json(Json::from(fill)))));
    }
    let variable = cf::Variable {
        name,
        attributes: &attributes,
        dtype: &meta.element.dtype,
        dimensions: &meta.dimensions,
        shape: &meta.shape,
    };
    cf::describe(variable, lookup).add_to(facts);
}
