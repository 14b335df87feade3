//! pcodec of numcodecs: numbers in the standalone form of Pco.
//! <https://github.com/pcodec/pcodec/blob/main/docs/format.md>

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::data::dtype::DType;
use bytemuck::Pod;
use pco::ChunkConfig;
use pco::data_types::Number;
use pco::errors::PcoResult;
use pco::standalone::{simple_compress, simple_decompress_into};

/// Whether numbers of a type are stored so.
pub(super) fn holds(dtype: &DType) -> bool {
    decoder(dtype).is_some()
}

/// All numbers of the type, at most `most` bytes of them.
///
/// # Errors
/// `Malformed` for damage, numbers of another type and for more than `most` bytes.
pub(super) fn decode(input: &[u8], dtype: &DType, most: usize) -> Result<Vec<u8>> {
    let decode = decoder(dtype).ok_or_else(|| Error::bug(format!("pcodec of {dtype}")))?;
    catch_decoder_panic("pcodec data", || decode(input, most))
}

type Decode = fn(&[u8], usize) -> Result<Vec<u8>>;

fn decoder(dtype: &DType) -> Option<Decode> {
    Some(match dtype {
        DType::I16 => numbers::<i16>,
        DType::I32 => numbers::<i32>,
        DType::I64 => numbers::<i64>,
        DType::U16 => numbers::<u16>,
        DType::U32 => numbers::<u32>,
        DType::U64 => numbers::<u64>,
        DType::F16 => numbers::<half::f16>,
        DType::F32 => numbers::<f32>,
        DType::F64 => numbers::<f64>,
        _ => return None,
    })
}

fn numbers<T: Number + Pod>(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let count = most / size_of::<T>();
    let mut out: Vec<T> = Vec::new();
    out.try_reserve_exact(count).map_err(|_| Error::limit(format!("no memory for {count} numbers")))?;
    out.resize(count, T::zeroed());
    let done = simple_decompress_into(input, &mut out)
        .map_err(|error| Error::malformed(format!("pcodec data: {error}")))?;
    if !done.finished {
        return Err(Error::malformed(format!(
            "pcodec data: more than the {count} numbers that belong there"
        )));
    }
    out.truncate(done.n_processed);
    Ok(bytemuck::cast_slice(&out).to_vec())
}

/// Numbers of the type in the same form, with a level from 0 to 12.
///
/// # Errors
/// `Bug` for numbers of another type, `Limit` where they cannot be encoded.
pub(super) fn encode(input: &[u8], dtype: &DType, level: u8) -> Result<Vec<u8>> {
    let config = ChunkConfig::default().with_compression_level(level.into());
    let encode: fn(&[u8], &ChunkConfig) -> PcoResult<Vec<u8>> = match dtype {
        DType::I16 => packed::<i16>,
        DType::I32 => packed::<i32>,
        DType::I64 => packed::<i64>,
        DType::U16 => packed::<u16>,
        DType::U32 => packed::<u32>,
        DType::U64 => packed::<u64>,
        DType::F16 => packed::<half::f16>,
        DType::F32 => packed::<f32>,
        DType::F64 => packed::<f64>,
        _ => return Err(Error::bug(format!("pcodec of {dtype}"))),
    };
    encode(input, &config).map_err(|error| Error::limit(format!("pcodec data: {error}")))
}

fn packed<T: Number + Pod>(input: &[u8], config: &ChunkConfig) -> PcoResult<Vec<u8>> {
    simple_compress(&bytemuck::pod_collect_to_vec::<u8, T>(input), config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_bounds() {
        let numbers: Vec<f32> = (0..1000).map(|n| (n as f32 / 7.0).round()).collect();
        let packed = pco::standalone::simple_compress(&numbers, &pco::ChunkConfig::default()).unwrap();
        let bytes: Vec<u8> = bytemuck::cast_slice(&numbers).to_vec();
        assert_eq!(decode(&packed, &DType::F32, bytes.len()).unwrap(), bytes);
        let own = encode(&bytes, &DType::F32, 8).unwrap();
        assert_eq!(decode(&own, &DType::F32, bytes.len()).unwrap(), bytes);
        assert!(decode(&packed, &DType::F32, bytes.len() - 4).unwrap_err().message().contains("more than"));
        assert!(decode(&packed, &DType::I32, bytes.len()).is_err(), "of another type");
        for cut in [0, 3, 7, packed.len() / 2, packed.len() - 1] {
            assert!(decode(&packed[..cut], &DType::F32, bytes.len()).is_err(), "{cut}");
        }
        assert!(!holds(&DType::Bool) && !holds(&DType::C64));
    }
}
