//! Chunks encoded by the zarrs crate, with the codecs that an array's document names.

use crate::bytes::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use serde_json::Value as Json;
use std::num::NonZeroU64;
use zarrs::array::{
    ArrayBytes, ArrayBytesOffsets, ArrayToBytesCodecTraits, CodecChain, CodecOptions, DataType, FillValue,
    data_type,
};
use zarrs::metadata::v3::MetadataV3;

/// What elements are to codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// So many bytes each, little-endian already: no codec here asks more of numbers.
    Bytes(usize),
    /// Texts of any length.
    Texts,
    /// Byte strings of any length.
    Binaries,
}

/// The codecs of chunks of one shape.
pub(super) struct Encoder {
    chain: CodecChain,
    shape: Vec<NonZeroU64>,
    dtype: DataType,
    fill: FillValue,
    options: CodecOptions,
}

impl Encoder {
    /// Of chunks of `shape`, whose `codecs` stand as in a `zarr.json`.
    ///
    /// # Errors
    /// `Bug` for codecs that are none, and for a chunk without elements.
    pub(super) fn new(codecs: &[Json], shape: &[u64], elements: Elements) -> Result<Self> {
        let wrong = |e: String| Error::bug(format!("zarr: codecs that cannot be written: {e}"));
        let codec = |codec: &Json| serde_json::from_value::<MetadataV3>(codec.clone());
        let codecs: Vec<MetadataV3> =
            codecs.iter().map(codec).collect::<Result<_, _>>().map_err(|e| wrong(e.to_string()))?;
        let shape: Option<Vec<NonZeroU64>> = shape.iter().map(|&side| NonZeroU64::new(side)).collect();
        let (dtype, fill) = match elements {
            Elements::Bytes(size) => (data_type::raw_bits(size), FillValue::new(vec![0; size])),
            Elements::Texts => (data_type::string(), FillValue::new(Vec::new())),
            Elements::Binaries => (data_type::bytes(), FillValue::new(Vec::new())),
        };
        Ok(Encoder {
            chain: CodecChain::from_metadata(&codecs).map_err(|e| wrong(e.to_string()))?,
            shape: shape.ok_or_else(|| wrong("a chunk without elements".to_owned()))?,
            dtype,
            fill,
            // Chunks are encoded side by side already.
            options: CodecOptions::default().with_concurrent_target(1),
        })
    }

    /// The elements of a chunk, in C order.
    ///
    /// # Errors
    /// Those of the codecs.
    pub(super) fn encode(&self, elements: Vec<u8>) -> Result<Vec<u8>> {
        self.run(ArrayBytes::new_flen(elements))
    }

    /// The same for elements without a size: `cells` says which row of the column each is; nulls and `None` are empty.
    ///
    /// # Errors
    /// Those of the codecs; `Bug` for a column of something else.
    pub(super) fn encode_column(&self, column: &ArrayRef, cells: &[Option<usize>]) -> Result<Vec<u8>> {
        let (texts, bytes) = (column.as_string_opt::<i32>(), column.as_binary_opt::<i32>());
        let value = |row: usize| -> Option<&[u8]> {
            match (texts, bytes) {
                _ if row >= column.len() || column.is_null(row) => None,
                (Some(texts), _) => Some(texts.value(row).as_bytes()),
                (_, Some(bytes)) => Some(bytes.value(row)),
                _ => None,
            }
        };
        let (mut values, mut offsets) = (Vec::new(), Vec::with_capacity(cells.len() + 1));
        offsets.push(0);
        for cell in cells {
            values.extend_from_slice(cell.and_then(value).unwrap_or_default());
            offsets.push(values.len());
        }
        let wrong = |e: &dyn std::fmt::Display| Error::bug(format!("zarr: offsets of elements: {e}"));
        let offsets = ArrayBytesOffsets::new(offsets).map_err(|e| wrong(&e))?;
        self.run(ArrayBytes::new_vlen(values, offsets).map_err(|e| wrong(&e))?)
    }

    fn run(&self, elements: ArrayBytes) -> Result<Vec<u8>> {
        let encoded = self.chain.encode(elements, &self.shape, &self.dtype, &self.fill, &self.options);
        Ok(encoded.map_err(|e| Error::limit(format!("zarr: a chunk cannot be encoded: {e}")))?.into_owned())
    }
}
