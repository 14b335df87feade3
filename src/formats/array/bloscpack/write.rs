//! Writes Bloscpack as its own library writes a NumPy array: header, what the array is as JSON, the places of the
//! chunks, the chunks with a checksum behind each.
//! <https://github.com/Blosc/bloscpack/blob/master/header_rfc.rst>

use super::header::{Check, HEADER, JSON, MAGIC, VERSION};
use crate::bytes::codec::blosc::encode::{Settings, encode};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements, put};
use crate::engines::blosc::{CNAME, SHUFFLE, codec, shuffle};
use crate::engines::numpy::{descr, losses_of};
use rayon::prelude::*;
use serde_json::json;
use std::io::SeekFrom;

const LEVEL: OptionSpec = OptionSpec::new("level", "How hard it tries: 0 stores, 9 is small")
    .one_of("7", &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
const CHUNK_SIZE: OptionSpec =
    OptionSpec::new("chunk_size", "Bytes of a chunk (512K, 1M, 1G), as many whole elements as they hold")
        .default("1M");
const CHECKSUM: OptionSpec = OptionSpec::new("checksum", "What stands behind each chunk to check it by")
    .one_of("adler32", &["adler32", "crc32", "sha256", "sha512", "none"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[CNAME, LEVEL, SHUFFLE, CHUNK_SIZE, CHECKSUM],
    check: |payload| payload.array().and_then(|array| descr(array.dtype())).map(drop),
    ..Writer::new(&[Kind::Array], losses, write)
};

/// Bytes that are encoded together, at least.
const TOGETHER: usize = 8 << 20;
/// The most bytes of a chunk: its lengths are 32 bits with a sign.
const MOST: u64 = (limits::CHUNK - 1) & !0xffff;

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    if let Ok(array) = payload.array() {
        losses_of("", "", array.dtype(), &mut losses);
    }
    losses
}

/// What was set, for elements of `size` bytes.
struct Setup {
    blosc: Settings,
    chunk: usize,
    check: Check,
}

impl Setup {
    fn of(options: &Options, size: u64) -> Result<Self> {
        let blosc = Settings {
            codec: codec(options)?,
            level: options.choice(&LEVEL)?.parse().unwrap_or(7),
            shuffle: shuffle(options)?,
            typesize: usize::try_from(size).ok().filter(|size| (1..=255).contains(size)).unwrap_or(1),
        };
        let text = options.get(CHUNK_SIZE.name).unwrap_or(CHUNK_SIZE.default);
        let wrong = || {
            let name = CHUNK_SIZE.name;
            Error::unsupported(format!("{name}={text}: it is a number of bytes up to 1G (512K, 1M)"))
        };
        let asked = bytes_of(text).filter(|bytes| (1..=limits::CHUNK).contains(bytes)).ok_or_else(wrong)?;
        let size = size.max(1);
        let chunk = (asked.min(MOST) / size).max(1) * size;
        let chunk = limits::check(chunk, MOST, "a chunk")?;
        Ok(Setup {
            blosc,
            chunk,
            check: Check::of_word(options.choice(&CHECKSUM)?).unwrap_or(Check::Adler32),
        })
    }
}

/// A number of bytes with a suffix, as Bloscpack's command has them.
fn bytes_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().last()? {
        (at, letter) if letter.is_ascii_alphabetic() => {
            let unit: u64 = match letter.to_ascii_uppercase() {
                'B' => 1,
                'K' => 1 << 10,
                'M' => 1 << 20,
                'G' => 1 << 30,
                _ => return None,
            };
            (text.get(..at)?, unit)
        }
        _ => (text, 1),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let array = payload.array()?;
    let (dtype, shape) = (array.dtype(), array.shape());
    let setup = Setup::of(options, dtype.size())?;
    let total = array_bytes(array.as_ref())?;
    task.set_total(total);
    let chunk = (setup.chunk as u64).min(total);
    let count = if total == 0 { 0 } else { total.div_ceil(chunk) };
    let last = total - count.saturating_sub(1) * chunk;
    put(sink, &header(&setup, chunk, last, count)?)?;
    let described = json!({"dtype": descr(dtype)?, "shape": shape, "order": "C", "container": "numpy"});
    let metadata = metadata(&described.to_string())?;
    put(sink, &metadata)?;
    let table = HEADER + metadata.len() as u64;
    let room = limits::check(limits::bytes(&[count], 8)?, limits::CHUNK, "the places of the chunks")?;
    put(sink, &vec![0; room])?;
    let mut places = Vec::with_capacity(room);
    let mut at = table + room as u64;
    let mut pending: Vec<u8> = Vec::new();
    let mut flush = |bytes: &[u8]| -> Result<()> {
        let made: Vec<Vec<u8>> =
            bytes.par_chunks(setup.chunk).map(|part| packed(part, &setup)).collect::<Result<_>>()?;
        for bytes in made {
            places.extend(at.to_le_bytes());
            at += bytes.len() as u64;
            put(sink, &bytes)?;
        }
        Ok(())
    };
    let together = TOGETHER.div_ceil(setup.chunk).max(rayon::current_num_threads()) * setup.chunk;
    elements(task, array.as_ref(), &mut |bytes| {
        pending.extend_from_slice(bytes);
        while pending.len() >= together {
            let rest = pending.split_off(together);
            flush(&pending)?;
            pending = rest;
        }
        Ok(())
    })?;
    flush(&pending)?;
    sink.seek(SeekFrom::Start(table))?;
    put(sink, &places)?;
    sink.seek(SeekFrom::End(0))?;
    Ok(())
}

/// A chunk and its checksum.
fn packed(bytes: &[u8], setup: &Setup) -> Result<Vec<u8>> {
    let mut out = encode(bytes, &setup.blosc)?;
    let digest = setup.check.of(&out).unwrap_or_default();
    out.extend(digest);
    Ok(out)
}

/// The header: the places of the chunks are listed, metadata are there, no chunks are to be appended.
fn header(setup: &Setup, chunk: u64, last: u64, count: u64) -> Result<Vec<u8>> {
    let side = |bytes: u64| limits::check(bytes, i32::MAX as u64, "a chunk").map(|bytes| bytes as u32);
    let mut out = MAGIC.to_vec();
    out.extend([VERSION, 1 | 2, setup.check.code(), setup.blosc.typesize as u8]);
    out.extend(side(chunk)?.to_le_bytes());
    out.extend(side(last)?.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    Ok(out)
}

/// The metadata with their own header and a checksum.
fn metadata(text: &str) -> Result<Vec<u8>> {
    let size = limits::check(text.len() as u64, limits::HEADER, "the metadata")? as u32;
    let mut out = JSON.to_vec();
    // No options, a checksum, no compression of any level.
    out.extend([0, Check::Adler32.code(), 0, 0]);
    // Their size, the room for them, their stored size.
    (0..3).for_each(|_| out.extend(size.to_le_bytes()));
    out.extend([0; 8]);
    out.extend_from_slice(text.as_bytes());
    out.extend(Check::Adler32.of(text.as_bytes()).unwrap_or_default());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::{Plain, read};
    use crate::data::content::{Array, Content};
    use crate::data::dtype::{DType, Field, Record};
    use crate::data::format::Data;
    use crate::data::region::Region;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn there_and_back(
        dtype: &DType,
        shape: &[u64],
        bytes: &[u8],
        set: &[(&str, &str)],
    ) -> Result<Arc<dyn Array>> {
        let task = Task::new();
        let plain = Plain::new(Source::memory("a", bytes.to_vec()), 0, dtype.clone(), shape.to_vec())?;
        let arrays: Vec<(String, Arc<dyn Array>)> = vec![("a".to_owned(), Arc::new(plain))];
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        let mut out = std::io::Cursor::new(Vec::new());
        write(&task, &Payload::plain(Data::Arrays(arrays)), &options, &mut out)?;
        let source = Source::memory("a.blp", out.into_inner());
        let document = crate::formats::open_source(&task, &source, &Options::default())?;
        assert_eq!(document.format.id, "bloscpack");
        assert!(document.root.problem.is_none() && document.root.attributes.is_empty());
        match &document.root.content {
            Some(Content::Array(array)) => Ok(array.clone()),
            _ => panic!("no array"),
        }
    }

    #[test]
    fn sizes_in_words() {
        let sizes = ["512", "512B", "2k", "1M", "1 G"].map(bytes_of);
        assert_eq!(sizes, [Some(512), Some(512), Some(2048), Some(1 << 20), Some(1 << 30)]);
        assert!(["", "x", "1T", "-1", "1.5M"].map(bytes_of).iter().all(Option::is_none));
        for (name, value) in [("chunk_size", "0"), ("chunk_size", "2G"), ("level", "11"), ("cname", "lz4hc")]
        {
            assert!(there_and_back(&DType::U8, &[3], b"abc", &[(name, value)]).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn records_with_gaps() {
        let field = |name: &str, dtype: DType, shape: &[u64], offset: u64| Field {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            offset,
        };
        let fields = vec![field("it's", DType::I16, &[], 0), field("größe", DType::F32, &[2], 4)];
        let dtype = DType::Struct(Arc::new(Record { fields, size: 16 }));
        let bytes: Vec<u8> = (0..160).collect();
        let array = there_and_back(&dtype, &[10], &bytes, &[("chunk_size", "50")]).unwrap();
        assert_eq!(array.dtype(), &dtype);
        assert_eq!(read(array.as_ref(), &Task::new(), &Region::all(&[10])).unwrap(), bytes);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            shape in prop::collection::vec(0u64..9, 0..4), chunk in 1u64..400,
            dtype in prop::sample::select(vec![DType::Bool, DType::I16, DType::F64, DType::C128, DType::Str(3), DType::Bytes(300)]),
            cname in prop::sample::select(CNAME.values.to_vec()), shuffle in prop::sample::select(SHUFFLE.values.to_vec()),
            checksum in prop::sample::select(CHECKSUM.values.to_vec()),
        ) {
            let len = dtype.size() * shape.iter().product::<u64>();
            let bytes: Vec<u8> = (0..len).map(|n| (n / 5 % 2) as u8).collect();
            let chunk = chunk.to_string();
            let set = [("chunk_size", chunk.as_str()), ("cname", cname), ("shuffle", shuffle), ("checksum", checksum)];
            let array = there_and_back(&dtype, &shape, &bytes, &set).unwrap();
            prop_assert_eq!((array.dtype(), array.shape()), (&dtype, shape.as_slice()));
            prop_assert_eq!(read(array.as_ref(), &Task::new(), &Region::all(&shape)).unwrap(), bytes);
        }
    }
}
