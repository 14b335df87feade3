//! Where values lie: the bytes at the place that is told of a cell or an element, decoded as it says, are what is shown
//! of it; and from its first byte one comes back to it. Over the fixtures, and over files made at random.

use arrow::array::{Array as _, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use gander::data::cell;
use gander::data::content::{Array, Content, Table, array};
use gander::data::dtype::{ByteOrder, DType};
use gander::data::format::Options;
use gander::data::location::{self, BytePlace, Location};
use gander::data::node::{Node, Value};
use gander::data::open::walk;
use gander::data::region::{Region, Span};
use gander::{Document, Source, Task};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod differences;
mod made;

/// Places of a table or array that are looked at.
const PLACES: u64 = 12;

/// Notes what does not hold, so that one run tells all of it.
macro_rules! holds {
    ($seen:expr, $holds:expr, $($what:tt)*) => {
        if !$holds {
            $seen.wrong.push(format!($($what)*));
        }
    };
}

/// What was found out of a document.
#[derive(Default, Debug)]
struct Seen {
    /// What does not hold.
    wrong: Vec<String>,
    /// Values whose bytes were decoded and compared.
    compared: u64,
    /// Of these, those that lie in the file as they are.
    plain: u64,
    /// Those that the file holds no bytes of.
    absent: u64,
    /// Bytes that led back to their cell or element.
    back: u64,
    /// Attributes whose bytes were decoded and compared.
    attributes: u64,
    /// Places that were told without where in the unit the value stands.
    units: u64,
    /// Values that lie in a heap, which were compared there.
    heaps: u64,
    /// Values that are made of several parts, which were put together and compared.
    parts: u64,
}

/// Numbers that look random, and are the same each time.
fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below.max(1)
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Looks at some places of every table and array of a document.
fn look(document: &Document, seed: u64) -> Seen {
    let (task, mut seen, mut next) = (Task::new(), Seen::default(), numbers(seed));
    let mut visit = |node: &Arc<Node>, path: &str, _: usize| {
        let what = format!("{} {path}", document.source.name());
        match &node.content {
            Some(Content::Table(table)) => {
                let encoding = encoding(node, document);
                let rows = table.count(&task).unwrap_or(0);
                let columns = table.schema().fields().len();
                for _ in 0..PLACES.min(rows * columns as u64) {
                    let place = (next(rows), next(columns as u64) as usize);
                    cell_of(&task, document, path, table.as_ref(), place, encoding, &what, &mut seen);
                }
            }
            Some(Content::Array(array)) => {
                let elements: u64 = array.shape().iter().product();
                for _ in 0..PLACES.min(elements) {
                    let index: Vec<u64> = array.shape().iter().map(|side| next(*side)).collect();
                    element_of(&task, document, path, array.as_ref(), &index, &what, &mut seen);
                }
            }
            _ => {}
        }
        if let Some(places) = &node.places
            && let Some(location) = places.location(&task).unwrap()
            && let Ok(bytes) = location.value(&task)
        {
            member(&task, node, &location, &bytes.unwrap(), &mut seen);
        }
        attributes(&task, node, &what, &mut seen);
        Ok(true)
    };
    walk(&task, &document.root, "", 8, &mut visit).unwrap();
    seen
}

/// The encoding of a text, where the reader says one.
fn encoding(node: &Node, document: &Document) -> &'static encoding_rs::Encoding {
    let said = node.reader.iter().chain(&document.root.reader).find(|(name, _)| name == "encoding");
    let label = match said {
        Some((_, Value::Text(text))) => text.as_str(),
        _ => "UTF-8",
    };
    match encoding_rs::Encoding::for_label(label.as_bytes()) {
        // Wide ones are seen as UTF-8.
        Some(found) if !label.to_ascii_uppercase().starts_with("UTF") => found,
        _ => encoding_rs::UTF_8,
    }
}

/// Attributes that are one number each.
fn attributes(task: &Task, node: &Node, what: &str, seen: &mut Seen) {
    let Some(places) = &node.places else { return };
    for (name, value) in &node.attributes {
        let (Some(dtype), Value::Json(json)) = (node.attribute_types.get(name), value) else { continue };
        let (Some(shown), Some(location)) = (json.as_f64(), places.attribute(task, name).unwrap()) else {
            continue;
        };
        let mut bytes = location.value(task).unwrap().unwrap().to_vec();
        if bytes.len() as u64 != dtype.size() {
            continue;
        }
        if location.encoding.as_ref().is_some_and(|said| said.contains("big-endian")) {
            ByteOrder::Big.to_little(dtype, &mut bytes).unwrap();
        }
        let mut values = Vec::new();
        dtype.decode(&bytes, &mut values);
        let same = values == [shown]
            || *dtype == DType::F32 && values == [f64::from(shown as f32)]
            || values.iter().all(|value| cell::float32(*value as f32) == shown.to_string());
        holds!(seen, same, "{what}, attribute {name}: {values:?} {shown} {location:?}");
        seen.attributes += 1;
    }
}

/// A member of an archive decodes to what is opened of it.
fn member(task: &Task, node: &Node, location: &Location, bytes: &[u8], seen: &mut Seen) {
    if let Some(Content::Bytes(source)) = &node.content {
        let len = source.len(task).unwrap();
        assert_eq!(&source.read(task, 0..len).unwrap()[..], bytes, "{}", node.name);
    }
    let header = &location.parts[0].location;
    assert!(header.source.read(task, header.range.clone()).unwrap().starts_with(b"PK\x03\x04"));
    seen.compared += 1;
}

#[allow(clippy::too_many_arguments)]
fn cell_of(
    task: &Task,
    document: &Document,
    path: &str,
    table: &dyn Table,
    (row, column): (u64, usize),
    encoding: &'static encoding_rs::Encoding,
    what: &str,
    seen: &mut Seen,
) {
    let what = format!("{what}, row {row}, column {column}");
    let Ok(shown) = table.read(task, row..row + 1, &[column]) else { return };
    let Some(location) = table.location(task, row, column).unwrap_or_else(|e| panic!("{what}: {e}")) else {
        return;
    };
    let values = shown.column(0);
    if location.absent {
        // A value that was added to all rows later lies in the schema.
        let is_added = location.unit == "cell payload" && location.encoding.is_none();
        let is_fill = location.unit.contains("chunk");
        let is_null = cell::text(values, 0).is_none();
        holds!(seen, is_null || is_added || is_fill, "{what}: it is there {location:?}");
        seen.absent += 1;
        return;
    }
    let Some(bytes) = location.value(task).unwrap_or_else(|e| panic!("{what}: {e} {location:?}")) else {
        seen.units += 1;
        return;
    };
    if let Some(shown) = cell::text(values, 0).filter(|_| values.data_type() == &DataType::Utf8)
        && heap(task, &location, &shown, &what, seen)
    {
        return;
    }
    if let Some(same) = differences::same(task, table, (row, column), &location, &bytes, values) {
        holds!(seen, same, "{what}: it is not made of its parts {location:?} {bytes:?}");
        (seen.compared, seen.parts) = (seen.compared + 1, seen.parts + 1);
        return;
    }
    let other = ["global heap", "time of"];
    if location.encoding.as_ref().is_some_and(|said| other.iter().any(|word| said.contains(word))) {
        seen.units += 1;
        return;
    }
    let decoded = decoded(task, &location, &bytes, values, encoding, document.format.id);
    let shown = cell::text(values, 0).map(|text| comparable(values, text));
    holds!(seen, decoded == shown, "{what}: {decoded:?} is not {shown:?} {location:?} {bytes:?}");
    seen.compared += 1;
    let Some(exact) = location.exact().filter(|exact| !exact.is_empty()) else { return };
    seen.plain += 1;
    let byte = BytePlace::new(&location.source, exact.start);
    let Some(found) = location::find(task, &document.root, &byte).unwrap() else { return };
    let Some(owner) = found.owner else { return };
    // Two nodes may share bytes; the first one is told.
    if found.path != path {
        return;
    }
    if owner.exact {
        holds!(seen, owner.cell == Some((row, Some(column))), "{what}: back to {owner:?}");
        seen.back += 1;
    } else {
        holds!(seen, owner.cell.is_some_and(|(first, _)| first <= row), "{what}: back to {owner:?}");
    }
}

/// The text of a cell as [`decoded`] gives it.
fn comparable(values: &ArrayRef, text: String) -> String {
    match values.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            cell::binary(values, 0).map_or(text, cell::hex)
        }
        _ => text,
    }
}

/// The cell that the bytes of its place are.
fn decoded(
    task: &Task,
    location: &Location,
    bytes: &[u8],
    values: &ArrayRef,
    encoding: &'static encoding_rs::Encoding,
    format: &str,
) -> Option<String> {
    let said = location.encoding.clone().unwrap_or_default();
    match location.unit {
        "record" if format.starts_with("json") || json_like(location, bytes, values) => json(bytes),
        "record" => {
            let shown = cell::text(values, 0);
            let plain = encoding.decode(bytes).0.into_owned();
            // Where no quotes are read, they are text.
            if Some(&plain) == shown.as_ref() { shown } else { csv(bytes, encoding) }
        }
        "cell" | "cell payload" => {
            let text = sqlite(&said, bytes)?;
            // Whole numbers of a column of floats are stored as integers.
            let shown = cell::text(values, 0);
            match text.parse().map(cell::float64) {
                Ok(float) if Some(&float) == shown.as_ref() => shown,
                _ => Some(text),
            }
        }
        "page" | "buffer" | "column chunk" | "record batch" => {
            let entry = location.parts.iter().find(|part| part.what == "dictionary entry");
            if let Some(entry) = entry {
                let inner = entry.location.value(task).unwrap().unwrap();
                let dictionary = values.as_any_dictionary_opt();
                let values = match dictionary {
                    Some(keys) => {
                        let key = keys.normalized_keys()[0];
                        keys.values().slice(key, 1)
                    }
                    None => values.clone(),
                };
                return typed(&entry.location, &inner, &values);
            }
            typed(location, bytes, values)
        }
        // Records of an array.
        _ => typed(location, bytes, values),
    }
}

fn json_like(location: &Location, bytes: &[u8], values: &ArrayRef) -> bool {
    let name = location.source.name();
    let is_json = [".json", ".jsonl", ".ndjson", ".geojson"].iter().any(|ending| name.ends_with(ending));
    is_json && values.data_type() == &DataType::Utf8 && !bytes.is_empty()
}

/// A JSON value as a cell: texts without quotes, null as none, all else as it stands.
fn json(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).unwrap();
    match text {
        "null" => None,
        text if text.starts_with('"') => Some(serde_json::from_str(text).unwrap()),
        text => Some(text.to_owned()),
    }
}

/// A field of a CSV: quotes around it are none of its text, doubled ones are one.
fn csv(bytes: &[u8], encoding: &'static encoding_rs::Encoding) -> Option<String> {
    let (text, _, _) = encoding.decode(bytes);
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let text = match quote {
        // What stands behind the closing quote belongs to the text.
        Some(quote) if text.len() > 1 => {
            let (mut out, mut rest) = (String::new(), text[1..].chars().peekable());
            let mut open = true;
            while let Some(c) = rest.next() {
                match c == quote && open {
                    true if rest.peek() == Some(&quote) => {
                        rest.next();
                        out.push(quote);
                    }
                    true => open = false,
                    false => out.push(c),
                }
            }
            out
        }
        _ => text.into_owned(),
    };
    Some(text).filter(|_| !bytes.is_empty())
}

/// A value of a record of SQLite, by its serial type.
fn sqlite(said: &str, bytes: &[u8]) -> Option<String> {
    if said == "varint" {
        let (number, last) = bytes.split_at(bytes.len().min(8));
        let seven = number.iter().fold(0i64, |n, b| n << 7 | i64::from(b & 0x7f));
        return Some(last.first().map_or(seven, |b| seven << 8 | i64::from(*b)).to_string());
    }
    let kind: u64 = said.strip_prefix("serial type ")?.split(',').next()?.parse().ok()?;
    Some(match kind {
        1..=6 => {
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1i64 };
            bytes.iter().fold(sign, |n, b| n << 8 | i64::from(*b)).to_string()
        }
        7 => cell::float64(f64::from_be_bytes(bytes.try_into().unwrap())),
        8 | 9 => (kind - 8).to_string(),
        n if n % 2 == 0 => cell::hex(bytes),
        _ if said.contains("UTF-16LE") => encoding_rs::UTF_16LE.decode(bytes).0.into_owned(),
        _ if said.contains("UTF-16BE") => encoding_rs::UTF_16BE.decode(bytes).0.into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// A value of an Arrow type, of its bytes alone.
fn typed(location: &Location, bytes: &[u8], values: &ArrayRef) -> Option<String> {
    let within = location.within.as_ref().unwrap();
    let big = location.encoding.as_ref().is_some_and(|said| said.contains("big-endian"));
    let mut bytes = bytes.to_vec();
    match values.data_type() {
        DataType::Boolean => {
            let bits = within.bits.clone().unwrap_or(0..bytes.len() as u64 * 8);
            let moved = gander::data::location::Within { bytes: 0..bytes.len() as u64, bits: Some(bits) };
            return Some((moved.number(&bytes)? != 0).to_string());
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            return Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned());
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => return Some(cell::hex(&bytes)),
        _ => {}
    }
    // Numbers of any width: of what is shown the bytes must be those at the place, in its order, or their low ones.
    let Some(width) = values.data_type().primitive_width() else { return cell::text(values, 0) };
    if big {
        bytes.reverse();
    }
    let data = values.to_data();
    let shown = &data.buffers()[0].as_slice()[data.offset() * width..][..width];
    let same = bytes.len().min(width);
    // Decimals are big-endian in Parquet, times of 96 bits are another number, and the unit of a time may be one.
    let other = matches!(
        values.data_type(),
        DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
            | DataType::Timestamp(..)
            | DataType::Interval(_)
            | DataType::Date64
            | DataType::Float64
            | DataType::Float32
    );
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    if shown[..same] == bytes[..same] || other && (bytes.len() != width || shown[..same] == reversed[..same])
    {
        return cell::text(values, 0);
    }
    Some(format!("{shown:?} is not {bytes:?}"))
}

fn element_of(
    task: &Task,
    document: &Document,
    path: &str,
    array: &dyn Array,
    index: &[u64],
    what: &str,
    seen: &mut Seen,
) {
    let what = format!("{what}, element {index:?}");
    let one = Region(index.iter().map(|at| Span::range(*at, 1)).collect());
    let Some(location) = array.location(task, index).unwrap_or_else(|e| panic!("{what}: {e}")) else {
        return;
    };
    if array.dtype().is_variable() {
        let column = array.column(task, &one).ok().filter(|column| column.data_type() == &DataType::Utf8);
        let shown = column.and_then(|column| cell::text(&column, 0));
        if !shown.is_some_and(|shown| heap(task, &location, &shown, &what, seen)) {
            seen.units += 1;
        }
        return;
    }
    let Ok(shown) = array::read(array, task, &one) else { return };
    if location.absent {
        let fill = array.unstored(task, &one).unwrap();
        holds!(seen, fill.is_some_and(|fill| fill == shown), "{what}: it is no fill value");
        seen.absent += 1;
        return;
    }
    let Some(bytes) = location.value(task).unwrap_or_else(|e| panic!("{what}: {e} {location:?}")) else {
        seen.units += 1;
        return;
    };
    // Of bits beside their padding the fixture is called so.
    let is_padded = path.contains("_in_");
    let same = same_element(&location, &bytes, array.dtype(), &shown).filter(|_| !is_padded);
    let Some(same) = same else {
        seen.units += 1;
        return;
    };
    holds!(seen, same, "{what}: {bytes:?} {shown:?} {location:?}");
    seen.compared += 1;
    let Some(exact) = location.exact().filter(|exact| !exact.is_empty()) else { return };
    seen.plain += 1;
    let byte = BytePlace::new(&location.source, exact.start);
    let Some(found) = location::find(task, &document.root, &byte).unwrap() else { return };
    let Some(owner) = found.owner else { return };
    // Two nodes may share bytes; the first one is told.
    if owner.exact && found.path == path && array.dtype().bits() >= 8 {
        holds!(seen, owner.element.as_deref() == Some(index), "{what}: back to {owner:?}");
        seen.back += 1;
    }
}

/// Compares a text with the bytes in the heap that its own lead to; false where they lead to none.
fn heap(task: &Task, location: &Location, shown: &str, what: &str, seen: &mut Seen) -> bool {
    let Some(object) = location.parts.iter().find(|part| part.what == "global heap object") else {
        return false;
    };
    let bytes = object.location.value(task).unwrap().unwrap();
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let is_plain = object.location.exact().is_some();
    holds!(seen, is_plain && text.trim_end_matches('\0') == shown, "{what}: {text:?} is not {shown:?}");
    (seen.compared, seen.heaps) = (seen.compared + 1, seen.heaps + 1);
    true
}

/// Whether stored bytes are an element as it is delivered; `None` where it is stored in another width.
fn same_element(location: &Location, bytes: &[u8], dtype: &DType, shown: &[u8]) -> Option<bool> {
    let within = location.within.as_ref().unwrap();
    if let Some(bits) = &within.bits {
        let moved = gander::data::location::Within { bytes: 0..bytes.len() as u64, bits: Some(bits.clone()) };
        return Some(moved.number(bytes) == Some(u64::from(shown[0])));
    }
    // Texts are delivered without their padding.
    if matches!(dtype, DType::Str(_) | DType::Bytes(_)) {
        let trimmed =
            |bytes: &[u8]| bytes.len() - bytes.iter().rev().take_while(|b| matches!(b, 0 | b' ')).count();
        if bytes[..trimmed(bytes)] == shown[..trimmed(shown)] {
            return Some(true);
        }
    }
    if bytes.len() != shown.len() {
        return None;
    }
    let big = location.encoding.as_ref().is_some_and(|said| said.contains("big-endian"));
    let mut turned = bytes.to_vec();
    ByteOrder::Big.to_little(dtype, &mut turned).unwrap();
    // Fields of a record have orders of their own.
    let fields = dtype.record().is_some() && {
        let sorted = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.sort_unstable();
            bytes
        };
        sorted(bytes) == sorted(shown)
    };
    let is_true = |byte: &u8| *byte != 0;
    let bools = *dtype == DType::Bool && bytes.iter().map(is_true).eq(shown.iter().map(is_true));
    Some(bytes == shown || big && turned == shown || fields || bools)
}

/// Every fixture of these folders, the malformed ones aside.
fn of_fixtures(folders: &[&str], seed: u64) -> Seen {
    let mut all = Seen::default();
    for folder in folders {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(fixture(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|path| !["malformed", "golden.txt", "make.py"].iter().any(|name| path.ends_with(name)));
        files.sort();
        for path in files {
            let Ok(document) = gander::open(&Task::new(), &path, &Options::default()) else { continue };
            let seen = look(&document, seed);
            all.compared += seen.compared;
            all.plain += seen.plain;
            all.absent += seen.absent;
            all.back += seen.back;
            all.units += seen.units;
            all.attributes += seen.attributes;
            all.heaps += seen.heaps;
            all.parts += seen.parts;
            all.wrong.extend(seen.wrong);
        }
    }
    let wrong = all.wrong.join("\n");
    println!("{folders:?}: {:?}\n{wrong}", Seen { wrong: Vec::new(), ..all });
    assert!(wrong.is_empty(), "{wrong}");
    Seen { wrong: Vec::new(), ..all }
}

#[test]
fn values_of_arrays_lie_where_it_is_told() {
    let seen = of_fixtures(&["npy", "npz"], 1);
    assert!(seen.compared > 300 && seen.plain > 300 && seen.back > 100, "{seen:?}");
    let seen = of_fixtures(&["safetensors"], 2);
    assert!(seen.compared > 200 && seen.back > 100, "{seen:?}");
}

#[test]
fn values_of_hdf5_and_zarr_lie_where_it_is_told() {
    let seen = of_fixtures(&["hdf5", "netcdf4"], 3);
    assert!(
        seen.compared > 400 && seen.plain > 200 && seen.compared > seen.plain && seen.back > 100,
        "{seen:?}"
    );
    assert!(seen.absent > 0 && seen.attributes > 5 && seen.heaps > 8, "{seen:?}");
    let seen = of_fixtures(&["zarr"], 4);
    assert!(seen.compared > 100, "{seen:?}");
}

#[test]
fn cells_of_texts_lie_where_it_is_told() {
    let seen = of_fixtures(&["csv"], 5);
    assert!(seen.compared > 300 && seen.back > 200, "{seen:?}");
    let seen = of_fixtures(&["jsonl", "json", "gzip"], 6);
    assert!(seen.compared > 150 && seen.back > 80, "{seen:?}");
}

#[test]
fn cells_of_parquet_and_arrow_lie_where_it_is_told() {
    let seen = of_fixtures(&["parquet"], 7);
    assert!(seen.compared > 200 && seen.absent > 5 && seen.units > 5, "{seen:?}");
    let seen = of_fixtures(&["arrow", "feather"], 8);
    assert!(seen.compared > 150 && seen.plain > 80 && seen.back > 20, "{seen:?}");
}

#[test]
fn cells_of_sqlite_and_members_of_archives_lie_where_it_is_told() {
    let seen = of_fixtures(&["sqlite"], 9);
    assert!(seen.compared > 40 && seen.back > 30, "{seen:?}");
    let seen = of_fixtures(&["zip"], 10);
    assert!(seen.compared > 40, "{seen:?}");
}

/// A table of numbers and texts, with nulls.
fn rows() -> impl Strategy<Value = Vec<(Option<i64>, Option<String>)>> {
    let text = prop::option::of("[a-c\"', \\n]{0,9}");
    let number = prop::option::of(prop_oneof![any::<i64>(), 0i64..5]);
    prop::collection::vec((number, text), 1..300)
}

fn batch(rows: &[(Option<i64>, Option<String>)]) -> RecordBatch {
    let schema =
        Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)]);
    let numbers: Int64Array = rows.iter().map(|row| row.0).collect();
    let texts: StringArray = rows.iter().map(|row| row.1.clone()).collect();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

fn opened(folder: &Path, name: &str, bytes: &[u8]) -> Document {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    gander::open(&Task::new(), &path, &Options::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn cells_of_any_table_lie_where_it_is_told(
        rows in rows(), codec in 0u8..4, encoding in 0usize..3, dictionary: bool, second: bool, seed: u64,
    ) {
        use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
        let folder = tempfile::tempdir().unwrap();
        let batch = batch(&rows);
        let codec = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(GzipLevel::default()), Compression::ZSTD(ZstdLevel::default())][usize::from(codec)];
        let version = if second { parquet::file::properties::WriterVersion::PARQUET_2_0 } else { parquet::file::properties::WriterVersion::PARQUET_1_0 };
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_compression(codec).set_dictionary_enabled(dictionary).set_writer_version(version)
            .set_column_encoding("n".into(), [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT][encoding])
            .set_column_encoding("s".into(), [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY][encoding])
            .set_data_page_row_count_limit(40).set_write_batch_size(20).set_max_row_group_row_count(Some(150)).build();
        let mut bytes = Vec::new();
        let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let seen = look(&opened(folder.path(), "t.parquet", &bytes), seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert!(seen.compared + seen.absent == PLACES.min(rows.len() as u64 * 2), "{seen:?}");

        let options = arrow::ipc::writer::IpcWriteOptions::default()
            .try_with_compression(second.then_some(arrow::ipc::CompressionType::ZSTD)).unwrap();
        let mut bytes = Vec::new();
        let mut writer = arrow::ipc::writer::FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        for start in (0..batch.num_rows()).step_by(70) {
            writer.write(&batch.slice(start, 70.min(batch.num_rows() - start))).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        let seen = look(&opened(folder.path(), "t.arrow", &bytes), seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert!(seen.compared + seen.absent == PLACES.min(rows.len() as u64 * 2), "{seen:?}");

        let mut lines = String::new();
        for (number, text) in &rows {
            lines.push_str(&format!("{}\n", serde_json::json!({ "n": number, "s": text })));
        }
        let seen = look(&opened(folder.path(), "t.jsonl", lines.as_bytes()), seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert_eq!(seen.compared, PLACES.min(rows.len() as u64 * 2));
        let mut lines = "n,s,end\n".to_owned();
        for (number, text) in &rows {
            let text = text.as_ref().map_or(String::new(), |text| format!("\"{}\"", text.replace('"', "\"\"")));
            lines.push_str(&format!("{},{text},x\n", number.map_or(String::new(), |n| n.to_string())));
        }
        let seen = look(&opened(folder.path(), "t.csv", lines.as_bytes()), seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert_eq!(seen.compared, PLACES.min(rows.len() as u64 * 3));
    }

    #[test]
    fn cells_of_any_database_lie_where_it_is_told(rows in rows(), long in 0usize..9000, seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.sqlite");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, n, s TEXT, b BLOB, r REAL)").unwrap();
        for (row, (number, text)) in rows.iter().enumerate() {
            let blob = vec![row as u8; long * usize::from(row % 7 == 0)];
            let real = row as f64 / 3.0;
            database.execute("INSERT INTO t (n, s, b, r) VALUES (?, ?, ?, ?)", (number, text, blob, real)).unwrap();
        }
        database.execute_batch("ALTER TABLE t ADD COLUMN late DEFAULT 7; DELETE FROM t WHERE id % 5 = 3").unwrap();
        drop(database);
        let document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
        let left = rows.len() as u64 - (rows.len() as u64 + 2) / 5;
        let seen = look(&document, seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert!(seen.compared + seen.absent == PLACES.min(left * 6), "{seen:?}");
        // What lies in the page as it is leads back to its cell.
        prop_assert_eq!(seen.back, seen.plain, "{:?}", seen);
    }

    #[test]
    fn elements_of_any_dataset_lie_where_it_is_told(
        shape in prop::collection::vec(1usize..20, 1..4), chunk in prop::collection::vec(1usize..8, 3), gzip: bool, shuffle: bool, seed: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.h5");
        let file = ::hdf5::File::create(&path).unwrap();
        let count = shape.iter().product::<usize>();
        let values: Vec<i32> = (0..count as i32).map(|n| n * 7 - 3).collect();
        let chunk: Vec<usize> = shape.iter().zip(&chunk).map(|(side, chunk)| (*side).min(*chunk)).collect();
        let mut builder = file.new_dataset_builder().chunk(chunk);
        if shuffle {
            builder = builder.shuffle();
        }
        if gzip {
            builder = builder.deflate(4);
        }
        let dataset = builder.empty::<i32>().shape(shape.clone()).create("x").unwrap();
        dataset.write_raw(&values).unwrap();
        drop((dataset, file));
        let document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
        let seen = look(&document, seed);
        prop_assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
        prop_assert_eq!(seen.compared, PLACES.min(count as u64));
        prop_assert_eq!(seen.plain > 0, !gzip && !shuffle);
        prop_assert_eq!(seen.back, seen.plain);

        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::I32, shape.clone(), &bytes).unwrap();
        let bytes = safetensors::serialize([("a.x", &view), ("b", &view)], None).unwrap();
        let seen = look(&opened(folder.path(), "t.safetensors", &bytes), seed);
        prop_assert_eq!((seen.compared, seen.back), (2 * PLACES.min(count as u64), 2 * PLACES.min(count as u64)));
    }
}

/// A cell of a table that is sorted lies where its row of the file does.
#[test]
fn rows_in_another_order_lie_where_they_are_in_the_file() {
    let source = Source::memory("t.csv", "a,b\n3,x\n1,y\n2,z\n");
    let document = gander::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    let Some(Content::Table(table)) = &document.root.content else { panic!("no table") };
    let chosen = gander::data::adapt::ChosenRows::new(table.clone(), [2]);
    let task = Task::new();
    let location = chosen.location(&task, 0, 1).unwrap().unwrap();
    assert_eq!(location.value(&task).unwrap().unwrap(), &b"z"[..]);
    assert_eq!(location.exact(), Some(14..15));
    let view = gander::data::adapt::TableView::new(table.clone(), 1..3, vec![1, 0]).unwrap();
    let location = view.location(&task, 0, 1).unwrap().unwrap();
    assert_eq!(location.value(&task).unwrap().unwrap(), &b"1"[..]);
}

/// Of damaged files an error may come, and nothing else: no panic, which the guard would say is one.
#[test]
fn damaged_files_give_errors_at_most() {
    let (task, mut next, mut asked) = (Task::new(), numbers(11), 0u64);
    let sound = |result: gander::Result<()>, path: &Path| {
        let is_bug = result.as_ref().is_err_and(|error| error.kind() == gander::ErrorKind::Bug);
        assert!(!is_bug, "{}: {result:?}", path.display());
    };
    let folders = [
        "npy",
        "npz",
        "safetensors",
        "hdf5",
        "zarr",
        "csv",
        "json",
        "jsonl",
        "parquet",
        "arrow",
        "sqlite",
        "zip",
    ];
    for folder in folders {
        for entry in std::fs::read_dir(fixture(folder).join("malformed")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(document) = gander::open(&task, &path, &Options::default()) else { continue };
            let mut visit = |node: &Arc<Node>, _: &str, _: usize| {
                for _ in 0..PLACES {
                    let found = match &node.content {
                        Some(Content::Table(table)) => {
                            let (rows, columns) =
                                (table.rows().number(), table.schema().fields().len() as u64);
                            table.location(&task, next(rows.min(1_000)), next(columns) as usize)
                        }
                        Some(Content::Array(array)) if !array.shape().contains(&0) => {
                            let index: Vec<u64> = array.shape().iter().map(|side| next(*side)).collect();
                            array.location(&task, &index)
                        }
                        _ => break,
                    };
                    asked += 1;
                    let read = found.and_then(|found| found.map_or(Ok(None), |found| found.value(&task)));
                    sound(read.map(drop), &path);
                    if !document.source.is_folder() {
                        let at = next(document.source.known_len().unwrap_or(1));
                        let byte = BytePlace::new(&document.source, at);
                        sound(location::find(&task, &document.root, &byte).map(drop), &path);
                    }
                }
                Ok(true)
            };
            drop(walk(&task, &document.root, "", 6, &mut visit));
        }
    }
    assert!(asked > 200, "{asked}");
}
