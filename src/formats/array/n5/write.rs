//! Writes N5: a folder for each group and array with `attributes.json`, blocks in folders that their coordinates name,
//! from the fastest dimension on. Blocks are big-endian, cut at the array's edge; those of zeros alone are left out,
//! which is what a block that is not there holds. <https://github.com/saalfeldlab/n5#file-system-specification>

use super::DOCUMENT;
use super::attributes::{RESERVED, VERSION};
use crate::bytes::codec::blosc::encode as blosc;
use crate::bytes::codec::compress::Compressor;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::chunked::write::{chunk_of, each_chunk};
use crate::data::content::{Array, Kind, array};
use crate::data::dtype::{ByteOrder, DType};
use crate::data::format::{
    Attributes, Files, Loss, LossKind, Metadata, OptionSpec, Options, Payload, WriteTo, Writer,
};
use crate::data::format::{loss, note};
use crate::data::region::Region;
use crate::data::scan::array_bytes;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

const COMPRESSION: OptionSpec = OptionSpec::new("compression", "How blocks are compressed")
    .one_of("gzip", &["gzip", "zstd", "bzip2", "lz4", "xz", "blosc", "raw"]);
const LEVEL: OptionSpec = OptionSpec::new(
    "level",
    "How hard the compression tries: gzip 0 to 9, zstd -7 to 22, bzip2 1 to 9, xz 0 to 9, blosc (LZ4, shuffled) 0 to 9; auto: 6, 3, 9, 6, 5",
)
.default("auto");
const CHUNKS: OptionSpec = OptionSpec::new(
    "chunks",
    "The shape of a block (100,100), for arrays of as many dimensions; auto: that of the source's chunks, or about 1 MB",
)
.default("auto");

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    options: &[COMPRESSION, LEVEL, CHUNKS],
    check,
    write: WriteTo::Folder(write),
    ..Writer::new(&[Kind::Array], losses, |_, _, _, _| Err(Error::bug("N5 is a folder")))
};

/// The version of the format that files say: all of it that is used here is as old.
const WRITTEN: &str = "2.0.0";
/// Bytes of a block of lz4-java's stream, its own default.
const LZ4: usize = 64 << 10;
/// The attributes that say where an array's elements lie in space.
const SPACE: [&str; 7] =
    ["axes", "units", "resolution", "pixelResolution", "offset", "scales", "downsamplingFactors"];

/// The type that N5 keeps elements as; `None` for those that it has none for.
fn stored(dtype: &DType) -> Option<DType> {
    Some(match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => dtype.clone(),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => dtype.clone(),
        DType::F32 | DType::F64 => dtype.clone(),
        DType::Bool => DType::U8,
        DType::F16 | DType::BF16 | DType::Mini(_) | DType::Blocks(_) => DType::F32,
        _ => return None,
    })
}

fn unsupported(dtype: &DType) -> Error {
    Error::unsupported(format!("N5 has no type for elements of {dtype}"))
}

/// Refuses what has no array of a type that N5 has.
fn check(payload: &Payload) -> Result<()> {
    let arrays = payload.arrays()?;
    match arrays.first() {
        Some((_, first)) if arrays.iter().all(|(_, array)| stored(array.dtype()).is_none()) => {
            Err(unsupported(first.dtype()))
        }
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut names = BTreeSet::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        names.insert(name.as_str());
        let dtype = array.dtype();
        let Some(kept) = stored(dtype) else {
            let what = format!("it is left out: {}", unsupported(dtype).what());
            losses.push(loss(LossKind::Type, what).at(name));
            continue;
        };
        if kept != *dtype {
            losses.push(
                note(LossKind::Type, format!("N5 has no {dtype}: it becomes {kept}, exactly")).at(name),
            );
        }
        if array.shape().is_empty() {
            let what = "N5 has no single values: it becomes an array of one";
            losses.push(note(LossKind::Type, what).at(name));
        }
        let own = payload.parts.get(name).cloned().unwrap_or_default();
        for (key, _) in own.list.iter().filter(|(key, _)| RESERVED.contains(&key.as_str())) {
            let what = "N5 describes the array itself by it: the attribute is left out";
            losses.push(note(LossKind::Attribute, what).at(name).of(key));
        }
        space_losses(name, array.as_ref(), &own, &mut losses);
        meaning_losses(name, array.as_ref(), &mut losses);
    }
    let is_array = |name: &str| names.contains(name);
    for (name, own) in payload.parts.iter().filter(|(name, _)| !is_array(name)) {
        let is_read = own.list.iter().any(|(key, _)| SPACE.contains(&key.as_str()));
        if is_read {
            let what = "readers take the names and distances of dimensions from its attributes";
            losses.push(note(LossKind::Name, what).at(name).if_any());
        }
    }
    if payload.attributes.get(VERSION).is_some() {
        let what = "N5 keeps its own version there: the attribute is left out";
        losses.push(note(LossKind::Attribute, what).of(VERSION));
    }
    losses
}

/// What is said of the names and distances of an array's dimensions.
fn space_losses(name: &str, array: &dyn Array, own: &Attributes, losses: &mut Vec<Loss>) {
    let axes = array.facts().axes;
    let named: Vec<&str> =
        axes.iter().map(|axis| axis.name.as_str()).filter(|name| !name.is_empty()).collect();
    let added = space(array, own);
    for (key, _) in &added {
        let what = "the attribute is added: it says the names or distances of the dimensions";
        losses.push(note(LossKind::Attribute, what).at(name).of(*key));
    }
    if added.is_empty() && !named.is_empty() && axes.len() == array.shape().len() {
        // Which they are where the array was N5's before.
        let what = format!("the names of its dimensions are not kept ({})", named.join(", "));
        losses.push(note(LossKind::Name, what).at(name).if_any());
    } else if own.list.iter().any(|(key, _)| SPACE.contains(&key.as_str())) {
        let what = "readers take the names and distances of its dimensions from its attributes";
        losses.push(note(LossKind::Name, what).at(name).if_any());
    }
}

/// What is said of what an array's elements stand for, of which N5 knows nothing: attributes that say it are kept, and
/// readers do not apply them.
fn meaning_losses(name: &str, array: &dyn Array, losses: &mut Vec<Loss>) {
    let facts = array.facts();
    if facts.scaling.is_some() {
        let what = "stored numbers are written; N5's readers do not know what they stand for (values=shown writes that)";
        losses.push(loss(LossKind::Scale, what).at(name));
    }
    let listed = facts.axes.iter().filter(|axis| axis.coordinate.is_some());
    let listed: Vec<&str> = listed.map(|axis| axis.name.as_str()).collect();
    if !listed.is_empty() {
        let listed = listed.join(", ");
        let what =
            format!("N5 does not say which arrays are the coordinates along its dimensions ({listed})");
        losses.push(note(LossKind::Scale, what).at(name).if_any());
    }
    if !facts.value_names.is_empty() {
        losses.push(note(LossKind::Name, "the names of its values are not kept").at(name));
    }
}

/// The attributes that say the names, units and distances of an array's dimensions, fastest first; none where its own
/// attributes say something of them.
fn space(array: &dyn Array, own: &Attributes) -> Vec<(&'static str, Json)> {
    let axes = array.facts().axes;
    let is_whole = axes.len() == array.shape().len() && axes.iter().all(|axis| !axis.name.is_empty());
    if axes.is_empty() || !is_whole || own.list.iter().any(|(key, _)| SPACE.contains(&key.as_str())) {
        return Vec::new();
    }
    let mut all = vec![("axes", axes.iter().rev().map(|axis| Json::from(axis.name.as_str())).collect())];
    if axes.iter().any(|axis| axis.unit.is_some()) {
        let unit = |unit: &Option<String>| Json::from(unit.as_deref().unwrap_or_default());
        all.push(("units", axes.iter().rev().map(|axis| unit(&axis.unit)).collect()));
    }
    if let Some(regular) = axes.iter().rev().map(|axis| axis.regular).collect::<Option<Vec<_>>>() {
        all.push(("resolution", regular.iter().map(|(_, step)| Json::from(*step)).collect()));
        all.push(("offset", regular.iter().map(|(start, _)| Json::from(*start)).collect()));
    }
    all
}

/// One array on its way.
struct Job<'a> {
    name: &'a str,
    array: &'a Arc<dyn Array>,
    /// Slowest first, of one dimension at least.
    shape: Vec<u64>,
    block: Vec<u64>,
    dtype: DType,
    compressor: Compressor,
}

fn write(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let compressor = compressor(options)?;
    let (mut total, mut jobs) = (0u64, Vec::new());
    for (name, array) in payload.arrays()? {
        check_name(name)?;
        let Some(dtype) = stored(array.dtype()) else { continue };
        let block = chunk_of(array.as_ref(), dtype.size(), &CHUNKS, options)?;
        let at_least_one = |sides: Vec<u64>| if sides.is_empty() { vec![1] } else { sides };
        let (shape, block) = (at_least_one(array.shape().to_vec()), at_least_one(block));
        let fits = block.iter().all(|side| *side <= i32::MAX as u64) && shape.len() <= usize::from(u16::MAX);
        if !fits {
            return Err(Error::limit(format!("N5: a block of {block:?}")).in_node(name));
        }
        total = total.saturating_add(array_bytes(array.as_ref())?);
        let compressor = sized(compressor, dtype.size());
        jobs.push(Job { name, array, shape, block, dtype, compressor });
    }
    if let (true, Some((_, first))) = (jobs.is_empty(), payload.arrays()?.first()) {
        return Err(unsupported(first.dtype()));
    }
    task.set_total(total);
    documents(payload, &jobs, files)?;
    for job in &jobs {
        task.set_message(job.name.to_owned());
        job.run(task, files).map_err(|e| e.in_node(job.name))?;
    }
    Ok(())
}

/// Names become folders.
fn check_name(name: &str) -> Result<()> {
    let fits = |part: &str| {
        // Hidden folders are no nodes.
        !part.is_empty() && !part.starts_with('.') && part != DOCUMENT && !part.contains(['\\', '\0'])
    };
    match name.split('/').all(fits) && name.len() < 4096 {
        true => Ok(()),
        false => Err(Error::unsupported(format!("n5: the name {name:?} is no path of folders"))),
    }
}

/// Writes the documents of the root, of all groups and of all arrays.
fn documents(payload: &Payload, jobs: &[Job<'_>], files: &mut dyn Files) -> Result<()> {
    let groups = payload.groups(jobs.iter().map(|job| job.name))?;
    let mut root = spelled(&payload.attributes);
    root.remove(VERSION);
    root.shift_insert(0, VERSION.to_owned(), json!(WRITTEN));
    put(files, "", root)?;
    for group in groups {
        check_name(group)?;
        put(files, group, payload.parts.get(group).map(spelled).unwrap_or_default())?;
    }
    let none = Attributes::default();
    jobs.iter()
        .try_for_each(|job| put(files, job.name, job.document(payload.parts.get(job.name).unwrap_or(&none))))
}

fn put(files: &mut dyn Files, path: &str, document: Map<String, Json>) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(&Json::Object(document))
        .map_err(|e| Error::bug(format!("attributes that are no JSON: {e}")))?;
    files.put(&crate::engines::keys::join(path, DOCUMENT), &bytes)
}

fn spelled(attributes: &Attributes) -> Map<String, Json> {
    attributes.list.iter().map(|(name, value)| (name.clone(), attributes.exact(name, value))).collect()
}

/// What blocks are compressed by, for elements of a byte.
fn compressor(options: &Options) -> Result<Compressor> {
    let level = |usual: i32, range: RangeInclusive<i32>| options.within(&LEVEL, usual, range);
    Ok(match options.choice(&COMPRESSION)? {
        "zstd" => Compressor::Zstd(level(3, -7..=22)?),
        "bzip2" => Compressor::Bzip2(level(9, 1..=9)?.unsigned_abs()),
        "lz4" => Compressor::Lz4Java(LZ4),
        "xz" => Compressor::Xz(level(6, 0..=9)?.unsigned_abs()),
        "blosc" => Compressor::Blosc(blosc::Settings {
            codec: blosc::Codec::Lz4,
            level: level(5, 0..=9)? as u8,
            shuffle: blosc::Shuffle::Byte,
            typesize: 1,
        }),
        "raw" => Compressor::None,
        _ => Compressor::Gzip(level(6, 0..=9)?.unsigned_abs()),
    })
}

/// The same for elements of `size` bytes.
fn sized(compressor: Compressor, size: u64) -> Compressor {
    match compressor {
        Compressor::Blosc(settings) => {
            Compressor::Blosc(blosc::Settings { typesize: usize::try_from(size).unwrap_or(1), ..settings })
        }
        other => other,
    }
}

impl Job<'_> {
    fn document(&self, own: &Attributes) -> Map<String, Json> {
        let fastest_first = |sides: &[u64]| sides.iter().rev().copied().collect::<Vec<u64>>();
        let compression = match self.compressor {
            Compressor::Zstd(level) => json!({"type": "zstd", "level": level}),
            Compressor::Bzip2(level) => json!({"type": "bzip2", "blockSize": level}),
            Compressor::Lz4Java(block) => json!({"type": "lz4", "blockSize": block}),
            Compressor::Xz(level) => json!({"type": "xz", "preset": level}),
            Compressor::Gzip(level) => json!({"type": "gzip", "useZlib": false, "level": level}),
            Compressor::Blosc(settings) => {
                json!({"type": "blosc", "cname": "lz4", "clevel": settings.level, "shuffle": 1, "blocksize": 0})
            }
            Compressor::None | Compressor::Zlib(_) => json!({"type": "raw"}),
        };
        let mut document = Map::new();
        let mut say = |key: &str, value: Json| document.insert(key.to_owned(), value);
        say("dimensions", json!(fastest_first(&self.shape)));
        say("blockSize", json!(fastest_first(&self.block)));
        say("dataType", json!(self.dtype.to_string()));
        say("compression", compression);
        for (key, value) in space(self.array.as_ref(), own) {
            say(key, value);
        }
        document.extend(spelled(own).into_iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())));
        document
    }

    /// Writes all blocks.
    fn run(&self, task: &Task, files: &mut dyn Files) -> Result<()> {
        let is_single = self.array.shape().is_empty();
        let block: &[u64] = if is_single { &[] } else { &self.block };
        let made = |index: &[u64]| self.block(task, &Region::of_part(index, block, self.array.shape()));
        each_chunk(task, self.array.as_ref(), block, made, |index, bytes| {
            let Some(bytes) = bytes else { return Ok(()) };
            let index: &[u64] = if is_single { &[0] } else { index };
            let key = index.iter().rev().fold(self.name.to_owned(), |key, at| format!("{key}/{at}"));
            files.put(&key, &bytes)
        })
    }

    /// The bytes of the file of one block; `None` where it holds nothing but zeros.
    fn block(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        task.check()?;
        let mut bytes = array::read(self.array.as_ref(), task, region)?;
        if bytes.iter().all(|&byte| byte == 0) && self.zeros_are_zero() {
            return Ok(None);
        }
        let dtype = self.array.dtype();
        if *dtype != self.dtype && self.dtype == DType::F32 {
            let mut values = Vec::with_capacity(bytes.len());
            dtype.decode(&bytes, &mut values);
            bytes = values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
        }
        // Turning is its own way back.
        ByteOrder::Big.to_little(&self.dtype, &mut bytes)?;
        let sides = if region.0.is_empty() { vec![1] } else { region.shape() };
        let mut out = Vec::new();
        out.extend(0u16.to_be_bytes());
        out.extend((sides.len() as u16).to_be_bytes());
        for side in sides.iter().rev() {
            out.extend(
                limits::check(*side, i32::MAX as u64, "a block").map(|side| side as u32)?.to_be_bytes(),
            );
        }
        out.extend(self.compressor.compress(bytes)?);
        Ok(Some(out))
    }

    /// Whether elements of zero bytes are the number zero.
    fn zeros_are_zero(&self) -> bool {
        !matches!(self.array.dtype(), DType::Mini(kind) if kind.table().first() != Some(&0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::convert::{Consent, Item, Selection, Target, gather, plan};
    use crate::data::content::Content;
    use crate::data::content::array::Plain;
    use crate::data::node::Value;
    use proptest::prelude::*;

    fn plain(shape: &[u64], dtype: DType) -> Arc<dyn Array> {
        let count = dtype.size() * shape.iter().product::<u64>();
        let bytes: Vec<u8> = (0..count as u32)
            .map(|n| ((n / 3) % 113) as u8 % if dtype == DType::Bool { 2 } else { 255 })
            .collect();
        Arc::new(Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap())
    }

    /// Writes arrays and opens what was written.
    fn there_and_back(items: &[(&str, Arc<dyn Array>)], set: &[(&str, &str)]) -> Result<Vec<Item>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.n5");
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        let items: Vec<Item> = items
            .iter()
            .map(|(name, array)| {
                let attributes = vec![("unit".to_owned(), Value::from("K"))].into();
                Item::new(*name, Content::Array(array.clone()), attributes)
            })
            .collect();
        let target = Target::by_id("n5").unwrap();
        let consent = Consent { overwrite: false, lose: true };
        plan(&items, target, &options, &Selection::default())?.run(&Task::new(), &path, consent)?;
        let document = crate::open(&Task::new(), &path, &Options::default())?;
        assert_eq!(document.format.id, "n5");
        // Read while the folder is there.
        let back = gather(&Task::new(), &document.source, &document.root, "")?;
        Ok(back
            .into_iter()
            .map(|item| {
                let Content::Array(array) = &item.content else { panic!() };
                let bytes = array::read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
                let copy = Source::memory("a", bytes);
                let copy = Plain::new(copy, 0, array.dtype().clone(), array.shape().to_vec()).unwrap();
                Item { content: Content::Array(Arc::new(copy)), ..item }
            })
            .collect())
    }

    fn bytes(content: &Content) -> (DType, Vec<u64>, Vec<u8>) {
        let Content::Array(array) = content else { panic!() };
        let bytes = array::read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
        (array.dtype().clone(), array.shape().to_vec(), bytes)
    }

    #[test]
    fn groups_attributes_and_types_that_become_others() {
        let half = plain(&[4], DType::F16);
        let items = [
            ("a/x", plain(&[3, 2], DType::I16)),
            ("b", plain(&[], DType::F64)),
            ("c", plain(&[5], DType::Bool)),
            ("d", half),
        ];
        let back = there_and_back(&items, &[("chunks", "2,2")]).unwrap();
        let names: Vec<&str> = back.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["a/x", "b", "c", "d"]);
        assert!(back.iter().all(|item| item.attributes.get("unit") == Some(&Value::from("K"))));
        let types: Vec<_> =
            back.iter().map(|item| bytes(&item.content)).map(|(dtype, shape, _)| (dtype, shape)).collect();
        assert_eq!(
            types,
            [(DType::I16, vec![3, 2]), (DType::F64, vec![1]), (DType::U8, vec![5]), (DType::F32, vec![4])]
        );
        assert_eq!(bytes(&back[0].content).2, bytes(&Content::Array(items[0].1.clone())).2);
        for names in [["a", "a"], ["a", "a/b"], [".a", "b"], ["", "b"], ["attributes.json", "b"]] {
            let arrays = names.map(|name| (name, plain(&[3], DType::U8)));
            assert!(there_and_back(&arrays, &[]).is_err(), "{names:?}");
        }
        assert!(there_and_back(&[("a", plain(&[3], DType::C64))], &[]).is_err());
        assert!(there_and_back(&[("a", plain(&[3], DType::U8))], &[("level", "12")]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn what_is_written_is_read(
            shape in prop::collection::vec(0u64..9, 1..4), chunk in 1u64..7,
            dtype in prop::sample::select(vec![DType::U8, DType::I16, DType::U32, DType::I64, DType::F32, DType::F64]),
            compression in prop::sample::select(COMPRESSION.values.to_vec()),
        ) {
            let chunks = vec![chunk.to_string(); shape.len()].join(",");
            let from = plain(&shape, dtype);
            let back = there_and_back(&[("a", from.clone())], &[("chunks", &chunks), ("compression", compression)]).unwrap();
            prop_assert_eq!(bytes(&back[0].content), bytes(&Content::Array(from)));
        }
    }
}
