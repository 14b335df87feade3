//! The header: lines of a keyword and its values, up to `DATA`.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::{DType, Field, Record};
use crate::data::node::Value;

/// The longest header, in bytes: real ones have some hundred.
const LONGEST: usize = 16 << 20;
/// Bytes of it that are read at first.
const USUAL: usize = 16 << 10;
/// The largest point, in bytes.
const POINT: u64 = 16 << 20;
/// The name of fields that only fill space.
const PADDING: &str = "_";

/// How the points are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Lines of text.
    Ascii,
    /// Packed records, little-endian.
    Binary,
    /// One column after the other, compressed as a whole.
    Compressed,
}

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    /// The fields, without padding, and the bytes of one point, with it.
    pub(super) record: Record,
    /// For each field, which value of a line is its first.
    pub(super) values: Vec<u64>,
    /// Values of a line.
    pub(super) line: u64,
    /// How many points there should be.
    pub(super) points: u64,
    pub(super) data: Data,
    /// Where the points begin.
    pub(super) start: u64,
    pub(super) attributes: Vec<(String, Value)>,
    pub(super) remarks: Vec<String>,
    pub(super) problem: Option<Error>,
}

/// A line of the header.
#[derive(Debug)]
struct Entry {
    key: String,
    values: Vec<String>,
    at: u64,
}

/// Reads the header.
pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
    let mut size = USUAL;
    loop {
        let bytes = source.read_up_to(task, 0, size)?;
        let whole = bytes.len() < size;
        match entries(task, &bytes, whole)? {
            Some((entries, start)) => return interpret(&Entries(entries), start),
            None if whole => {
                let what = "header: it has no DATA line; the file may be cut off";
                return Err(Error::malformed(what).at(bytes.len() as u64));
            }
            None if size >= LONGEST => {
                return Err(Error::limit(format!("a header of more than {LONGEST} bytes")).at(0));
            }
            None => size *= 8,
        }
    }
}

/// The lines up to `DATA`, and where it ends; `None` where `bytes` end before. `whole` says that the file
/// ends with them.
fn entries(task: &Task, bytes: &[u8], whole: bool) -> Result<Option<(Vec<Entry>, u64)>> {
    let (mut entries, mut at) = (Vec::new(), 0u64);
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        task.check()?;
        if !line.ends_with(b"\n") && !whole {
            return Ok(None);
        }
        let begin = at;
        at += line.len() as u64;
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let mut words = text.split_ascii_whitespace().map(str::to_owned);
        let key = words.next().unwrap_or_default();
        if !key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
            let word: String = key.chars().take(20).collect();
            let what = format!("header: a line begins with {word:?}, and no DATA line came before");
            return Err(Error::malformed(what).at(begin));
        }
        let last = key == "DATA";
        entries.push(Entry { key, values: words.collect(), at: begin });
        if last {
            return Ok(Some((entries, at)));
        }
    }
    Ok(None)
}

/// The lines of a header, `DATA` among them.
struct Entries(Vec<Entry>);

impl Entries {
    /// The entry of this keyword; the last one where it stands twice.
    fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().rev().find(|entry| entry.key == key)
    }

    /// The one value of an entry as a number of things.
    fn number(&self, key: &str) -> Result<Option<u64>> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        match entry.values.as_slice() {
            [one] => one.parse().map(Some).map_err(|_| entry.wrong(format!("{one:?} is no count"))),
            values => Err(entry.wrong(format!("it has {} values, not one", values.len()))),
        }
    }

    /// The values of an entry, one for each of `fields`; `None` where there is no such entry.
    fn each(&self, key: &str, fields: usize) -> Result<Option<&Entry>> {
        match self.get(key) {
            Some(entry) if entry.values.len() != fields => {
                Err(entry.wrong(format!("it has {} values for {fields} fields", entry.values.len())))
            }
            entry => Ok(entry),
        }
    }
}

impl Entry {
    fn wrong(&self, what: String) -> Error {
        Error::malformed(format!("header: {}: {what}", self.key)).at(self.at)
    }

    fn value(&self, n: usize) -> &str {
        self.values.get(n).map_or("", String::as_str)
    }
}

/// What the lines mean.
fn interpret(entries: &Entries, start: u64) -> Result<Header> {
    let missing = |what: &str| Error::malformed(format!("header: it has no {what}")).at(start);
    let data = entries.get("DATA").ok_or_else(|| missing("DATA"))?;
    let data = match data.value(0) {
        "ascii" => Data::Ascii,
        "binary" => Data::Binary,
        "binary_compressed" => Data::Compressed,
        other => return Err(Error::unsupported(format!("PCD points stored as {other:?}")).at(data.at)),
    };
    let sides = (entries.number("WIDTH")?, entries.number("HEIGHT")?);
    let grid = match sides {
        (Some(width), height) => Some(limits::elements(&[width, height.unwrap_or(1)])?),
        (None, _) => None,
    };
    let points = entries.number("POINTS")?.or(grid).ok_or_else(|| missing("POINTS"))?;
    let mut header = Header {
        record: Record { fields: Vec::new(), size: 0 },
        values: Vec::new(),
        line: 0,
        points,
        data,
        start,
        attributes: Vec::new(),
        remarks: Vec::new(),
        problem: None,
    };
    fields(entries, &mut header)?;
    if let (Some(grid), Some(at)) = (grid, entries.get("WIDTH"))
        && grid != points
    {
        let what = format!("WIDTH × HEIGHT are {grid} points, POINTS says {points}");
        header.problem = Some(at.wrong(what));
    }
    for entry in &entries.0 {
        match entry.key.as_str() {
            "FIELDS" | "COLUMNS" | "SIZE" | "TYPE" | "COUNT" => {}
            "VIEWPOINT"
                if entry.values.len() != 7 || entry.values.iter().any(|v| v.parse::<f64>().is_err()) =>
            {
                header.remarks.push("VIEWPOINT is not seven numbers".to_owned());
                header.attributes.push((entry.key.clone(), entry.values.join(" ").into()));
            }
            _ => header.attributes.push((entry.key.clone(), entry.values.join(" ").into())),
        }
    }
    Ok(header)
}

/// The fields, their types and places. Files of version .5 have no TYPE: floats of four bytes.
fn fields(entries: &Entries, header: &mut Header) -> Result<()> {
    let names = entries.get("FIELDS").or_else(|| entries.get("COLUMNS")).filter(|e| !e.values.is_empty());
    let names = names.ok_or_else(|| Error::malformed("header: it has no FIELDS").at(header.start))?;
    let total = names.values.len();
    let (sizes, types) = (entries.each("SIZE", total)?, entries.each("TYPE", total)?);
    let counts = entries.each("COUNT", total)?;
    let mut padding = 0;
    for (n, name) in names.values.iter().enumerate() {
        let dtype = dtype(sizes.map_or("4", |e| e.value(n)), types.map_or("F", |e| e.value(n)));
        let dtype = dtype.ok_or_else(|| {
            let words = (types.map_or("F", |e| e.value(n)), sizes.map_or("4", |e| e.value(n)));
            let what =
                format!("field {name:?} is of TYPE {} and SIZE {}, which PCD has not", words.0, words.1);
            types.or(sizes).unwrap_or(names).wrong(what)
        })?;
        let count = match counts {
            Some(entry) => entry
                .value(n)
                .parse::<u64>()
                .ok()
                .filter(|&count| count > 0)
                .ok_or_else(|| entry.wrong(format!("field {name:?} has {:?} values", entry.value(n))))?,
            None => 1,
        };
        let shape = if count == 1 { Vec::new() } else { vec![count] };
        let field = Field { name: name.clone(), dtype, shape, offset: header.record.size };
        let bytes = field.bytes().map_err(|e| e.at(names.at))?;
        let size = header.record.size.saturating_add(bytes);
        limits::check(size, POINT, "a point").map_err(|e| e.at(counts.unwrap_or(names).at))?;
        header.record.size = size;
        if name == PADDING {
            padding += bytes;
        } else {
            if (name == "rgb" || name == "rgba") && field.dtype == DType::F32 {
                header.remarks.push(format!("{name} holds the bytes of a colour in the bits of a float32"));
            }
            header.record.fields.push(field);
            header.values.push(header.line);
        }
        header.line += count;
    }
    if padding > 0 {
        header.remarks.push(format!("{padding} bytes of each point are padding (fields named _), left out"));
    }
    Ok(())
}

fn dtype(size: &str, kind: &str) -> Option<DType> {
    Some(match (kind, size) {
        ("I", "1") => DType::I8,
        ("I", "2") => DType::I16,
        ("I", "4") => DType::I32,
        ("I", "8") => DType::I64,
        ("U", "1") => DType::U8,
        ("U", "2") => DType::U16,
        ("U", "4") => DType::U32,
        ("U", "8") => DType::U64,
        ("F", "4") => DType::F32,
        ("F", "8") => DType::F64,
        _ => return None,
    })
}
