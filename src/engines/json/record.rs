//! Records of JSON — lines of their own or elements of an array — as rows: fields go to columns by their
//! names, nothing is converted. Every column is text; what its cells fit is its field's `inferred` type.

use super::late_fields::LateFields;
use super::shape::Shape;
use crate::bytes::display;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::data::content::table;
pub use crate::data::json::{Fields, Parsed, cell, elements, object, parse};
use crate::data::json::{Member, members};
use crate::engines::delimited::texts::Texts;
use crate::engines::delimited::{Gather, RecordSchema, Records, Rules, Step, paged};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The name of the column for what has no column.
pub const REST: &str = "…";
/// The name of the column for records that are no objects.
pub const VALUE: &str = "value";

/// The fields of an object in which those of the object `inner` stand in its place; names that the outer one
/// may have keep `inner.` before them.
pub fn flattened<'a>(fields: Fields<'a>, inner: &str) -> Fields<'a> {
    let mut flat = Vec::with_capacity(fields.len() + 8);
    for (name, raw) in fields {
        match object(raw).filter(|_| name == inner) {
            None => flat.push((name, raw)),
            Some(below) => flat.extend(below.into_iter().map(|(name, raw)| {
                let taken = matches!(name.as_ref(), "type" | "id" | "bbox" | "geometry" | "properties");
                (if taken { Cow::Owned(format!("{inner}.{name}")) } else { name }, raw)
            })),
        }
    }
    flat
}

/// Where records are in a piece of text.
pub trait Split: Clone + Send + Sync {
    /// Finds the record at `at`, as [`Records::split`] does; `found` gets its place.
    fn split(&mut self, bytes: &[u8], at: usize, last: bool, found: &mut Range<usize>) -> Step;
}

impl Split for Rules {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool, found: &mut Range<usize>) -> Step {
        paged::line(self, bytes, at, last, found)
    }
}

/// How the fields of records become columns.
pub struct Columns<S> {
    columns: table::Columns,
    split: S,
    places: Arc<Places>,
    met: Arc<LateFields>,
}

/// Where values go.
struct Places {
    /// Columns of fields by name.
    by_name: HashMap<String, usize>,
    /// The names of these columns, by their numbers.
    names: Vec<String>,
    /// How many columns take the elements of lists; 0 for none.
    listed: usize,
    /// The object whose fields stand in its place.
    inner: Option<String>,
    /// The column of records that are no objects.
    value: Option<usize>,
    /// The column of what has no other.
    rest: Option<usize>,
}

impl<S: Split> Columns<S> {
    /// The columns of a sample; what is odd about the records that are read is kept in `met`.
    pub fn new(split: S, sample: &Sample, met: Arc<LateFields>) -> Self {
        let mut fields: Vec<_> = sample
            .shape
            .fields
            .iter()
            .map(|(name, shape)| table::Columns::text(name, shape.data_type()))
            .collect();
        let listed = if sample.by_place { fields.len() } else { 0 };
        let objects = sample.objects > 0;
        let value = (!objects && listed == 0 && sample.others > 0 && !fields.is_empty()).then_some(0);
        let names = sample.shape.fields.iter().enumerate().filter(|_| objects);
        let by_name = names.map(|(i, (name, _))| (name.clone(), i)).collect();
        let names = sample.shape.fields.iter().filter(|_| objects).map(|(name, _)| name.clone()).collect();
        // A sample that is everything needs no place for what comes later.
        let mixed = objects && sample.others > 0;
        let rest = !sample.whole || sample.bad > 0 || mixed || sample.overlong || fields.is_empty();
        let rest = (rest && !sample.bare).then(|| {
            fields.push(table::Columns::text(REST, DataType::Utf8));
            fields.len() - 1
        });
        let inner = sample.inner.clone();
        let places = Arc::new(Places { by_name, names, listed, inner, value, rest });
        Columns { columns: fields.into_iter().collect(), split, places, met }
    }
}

impl<S: Split> RecordSchema for Columns<S> {
    type Cells = Cells<S>;

    fn columns(&self) -> &table::Columns {
        &self.columns
    }

    fn cells(&self, columns: &[usize]) -> Result<Cells<S>> {
        let mut wanted = vec![Vec::new(); self.columns.schema.fields().len()];
        for (slot, &column) in columns.iter().enumerate() {
            if let Some(slots) = wanted.get_mut(column) {
                slots.push(slot);
            }
        }
        Ok(Cells {
            places: self.places.clone(),
            split: self.split.clone(),
            named: vec![0; wanted.len()],
            wanted,
            met: self.met.clone(),
            base: 0,
            row: columns.iter().map(|_| Cell::Null).collect(),
            texts: columns.iter().map(|_| Texts::default()).collect(),
            members: Vec::new(),
            usual: Vec::new(),
            record: 0..0,
            rows: 0,
            bytes: 0,
        })
    }
}

/// A cell of the row that is being filled.
enum Cell {
    Null,
    /// A text that stands in the record, from one byte to another.
    At(usize, usize),
    Made(String),
}

/// The cells of the asked columns, as they are gathered.
pub struct Cells<S> {
    places: Arc<Places>,
    split: S,
    /// For each column of the table, where it was asked for.
    wanted: Vec<Vec<usize>>,
    met: Arc<LateFields>,
    /// The last row, from 1, that had a field for each column of the table.
    named: Vec<usize>,
    /// The place of the bytes that records are found in.
    base: u64,
    /// The row that is being filled.
    row: Vec<Cell>,
    texts: Vec<Texts>,
    /// The members of the record, where it is an object.
    members: Vec<Member>,
    /// The column of the n-th member of the record before: most records are alike.
    usual: Vec<usize>,
    /// The record that was found last.
    record: Range<usize>,
    rows: usize,
    bytes: u64,
}

impl<S: Split> Records for Cells<S> {
    fn begin(&mut self, place: u64) {
        self.base = place;
    }

    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        self.split.split(bytes, at, last, &mut self.record)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let text = bytes.get(self.record.clone()).unwrap_or_default();
        if !self.row.is_empty() && !self.usual(text) {
            self.record(text);
        }
        for (texts, cell) in self.texts.iter_mut().zip(&mut self.row) {
            match std::mem::replace(cell, Cell::Null) {
                Cell::Null => texts.push_null(),
                Cell::At(start, end) => {
                    self.bytes += (end - start) as u64;
                    texts.push(text.get(start..end).unwrap_or_default());
                }
                Cell::Made(made) => {
                    self.bytes += made.len() as u64;
                    texts.push(made.as_bytes());
                }
            }
        }
        self.rows += 1;
        limits::check(self.bytes, limits::READ - 1, "the text of these rows").map(|_| ())
    }

    fn fit(&self, _bytes: &[u8], _at: usize) -> f64 {
        1.0
    }
}

impl<S: Split> Gather for Cells<S> {
    fn finish(self) -> Result<(Vec<ArrayRef>, usize)> {
        let array = |texts: Texts| texts.finish(encoding_rs::UTF_8);
        Ok((self.texts.into_iter().map(array).collect(), self.rows))
    }

    fn record(&self, _bytes: &[u8]) -> Option<Range<usize>> {
        Some(self.record.clone())
    }

    /// The value as it stands in the record; of what is put together for the last column nothing is told.
    fn field(&self, bytes: &[u8], column: usize) -> Option<Range<usize>> {
        let record = bytes.get(self.record.clone())?;
        let places = &self.places;
        let place = |raw: &str| {
            // Where the text was decoded anew it is no part of the record.
            let start = (raw.as_ptr() as usize).checked_sub(record.as_ptr() as usize)?;
            let end = start.checked_add(raw.len()).filter(|end| *end <= record.len())?;
            Some(self.record.start + start..self.record.start + end)
        };
        match parse(record) {
            Ok(Parsed::Object(fields)) => {
                let fields = match &places.inner {
                    Some(inner) => flattened(fields, inner),
                    None => fields,
                };
                let found =
                    fields.iter().rev().find(|(name, _)| places.by_name.get(name.as_ref()) == Some(&column));
                place(found?.1)
            }
            Ok(Parsed::Other(raw)) if places.listed > 0 && raw.starts_with('[') => {
                let elements = elements(raw)?;
                place(elements.get(column).filter(|_| column < places.listed)?)
            }
            Ok(Parsed::Other(raw)) => place(raw).filter(|_| places.value.or(places.rest) == Some(column)),
            Err(_) => None,
        }
    }
}

impl<S> Cells<S> {
    /// Takes a record that is an object all of whose members have a column, as nearly all are; `false`, and nothing
    /// taken, for others.
    fn usual(&mut self, record: &[u8]) -> bool {
        let places = self.places.clone();
        let Ok(text) = simdutf8::basic::from_utf8(record) else { return false };
        if places.inner.is_some() || !members(text, &mut self.members) {
            return false;
        }
        let all = std::mem::take(&mut self.members);
        self.usual.resize(all.len().max(self.usual.len()), usize::MAX);
        let mut is_usual = true;
        for (member, usual) in all.iter().zip(&mut self.usual) {
            let name = text.get(member.name.0..member.name.1).unwrap_or_default();
            if places.names.get(*usual).is_some_and(|known| known == name) {
                continue;
            }
            let found = if name.contains('\\') { None } else { places.by_name.get(name) };
            match found {
                Some(column) => *usual = *column,
                None => {
                    is_usual = false;
                    break;
                }
            }
        }
        if is_usual {
            let columns = std::mem::take(&mut self.usual);
            for (member, &column) in all.iter().zip(&columns) {
                self.member(text, member, column);
            }
            self.usual = columns;
        }
        self.members = all;
        is_usual
    }

    /// Takes a member of a column.
    fn member(&mut self, text: &str, member: &Member, column: usize) {
        let row = self.rows + 1;
        if let Some(last) = self.named.get_mut(column)
            && std::mem::replace(last, row) == row
        {
            let name = text.get(member.name.0..member.name.1).unwrap_or_default();
            self.met.twice(self.base + self.record.start as u64, name);
        }
        let Some(slots) = self.wanted.get(column).filter(|slots| !slots.is_empty()) else { return };
        let (start, end) = member.value;
        let raw = text.get(start..end).unwrap_or_default();
        for &slot in slots {
            let Some(place) = self.row.get_mut(slot) else { continue };
            *place = match cell(raw) {
                None => Cell::Null,
                Some(Cow::Borrowed(inner)) if inner.len() == raw.len() => Cell::At(start, end),
                Some(Cow::Borrowed(_)) => Cell::At(start + 1, end - 1),
                Some(Cow::Owned(made)) => Cell::Made(made),
            };
        }
    }

    fn record(&mut self, text: &[u8]) {
        let places = self.places.clone();
        match parse(text) {
            Ok(Parsed::Object(fields)) => match &places.inner {
                Some(inner) => self.object(&flattened(fields, inner)),
                None => self.object(&fields),
            },
            Ok(Parsed::Other(raw)) if places.listed > 0 && raw.starts_with('[') => {
                let elements = elements(raw).unwrap_or_default();
                for (column, raw) in elements.iter().take(places.listed).enumerate() {
                    self.set(Some(column), cell(raw));
                }
                if let Some(over) = elements.get(places.listed..).filter(|over| !over.is_empty()) {
                    self.set(places.rest, Some(Cow::Owned(format!("[{}]", over.join(",")))));
                }
            }
            Ok(Parsed::Other(raw)) => self.set(places.value.or(places.rest), cell(raw)),
            Err(why) => {
                self.met.bad(self.base + self.record.start as u64, &why);
                let text = String::from_utf8_lossy(text.trim_ascii_end());
                self.set(places.rest.or(places.value), Some(text));
            }
        }
    }

    fn object(&mut self, fields: &[(Cow<'_, str>, &str)]) {
        let (mut rest, row) = (Vec::new(), self.rows + 1);
        for (name, raw) in fields {
            let Some(&column) = self.places.by_name.get(name.as_ref()) else {
                rest.push((name, raw));
                continue;
            };
            if let Some(last) = self.named.get_mut(column)
                && std::mem::replace(last, row) == row
            {
                self.met.twice(self.base + self.record.start as u64, name);
            }
            if self.is_wanted(column) {
                self.set(Some(column), cell(raw));
            }
        }
        if !rest.is_empty() && self.places.rest.is_some_and(|rest| self.is_wanted(rest)) {
            let pair = |(name, raw): &(&Cow<'_, str>, &&str)| {
                format!("{}:{raw}", serde_json::Value::from(name.as_ref()))
            };
            let pairs: Vec<String> = rest.iter().map(pair).collect();
            self.set(self.places.rest, Some(Cow::Owned(format!("{{{}}}", pairs.join(",")))));
        }
    }

    fn is_wanted(&self, column: usize) -> bool {
        self.wanted.get(column).is_some_and(|slots| !slots.is_empty())
    }

    fn set(&mut self, column: Option<usize>, cell: Option<Cow<'_, str>>) {
        let slots = column.and_then(|column| self.wanted.get(column));
        for &slot in slots.into_iter().flatten() {
            if let Some(place) = self.row.get_mut(slot) {
                *place = cell.as_deref().map_or(Cell::Null, |text| Cell::Made(text.to_owned()));
            }
        }
    }
}

/// What the first records tell.
#[derive(Default)]
pub struct Sample {
    /// The fields of objects, or of lists by place, or one column of values.
    pub shape: Shape,
    /// Records that are objects, other values, no JSON.
    pub objects: u64,
    #[allow(missing_docs)]
    pub others: u64,
    #[allow(missing_docs)]
    pub bad: u64,
    /// Number (from 1) and error of the first record that is no JSON.
    pub first_bad: Option<(u64, String)>,
    /// Records with a field whose name stands twice in them.
    pub twice: u64,
    /// Number and name of the first one.
    pub first_twice: Option<(u64, String)>,
    /// Whether these are all records.
    pub whole: bool,
    /// Whether lists are spread over columns by their places.
    pub by_place: bool,
    /// Whether a list has more elements than columns were made.
    pub overlong: bool,
    /// Whether there is to be no column for what has none.
    pub bare: bool,
    /// The object whose fields stand in its place.
    pub inner: Option<String>,
    /// Names of the columns that elements of lists are spread over, where they are known.
    pub names: Vec<String>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Records that are neither objects nor spread lists.
    pub values: Shape,
}

/// Names of columns that a sentence has.
const NAMED: usize = 6;
/// The most columns that elements of lists are spread over.
const WIDEST: usize = 1_000;

impl Sample {
    /// Takes one record into account; `number` is its line or place, from 1.
    pub fn see(&mut self, record: &[u8], number: u64) {
        match self.take(record) {
            Ok(Some(name)) => {
                self.twice += 1;
                self.first_twice.get_or_insert((number, name));
            }
            Ok(None) => {}
            Err(error) => {
                self.bad += 1;
                self.first_bad.get_or_insert((number, error));
            }
        }
    }

    /// The same of a record whose number is not known but its place.
    pub fn see_at(&mut self, record: &[u8], place: u64, met: &LateFields) {
        match self.take(record) {
            Ok(Some(name)) => met.twice(place, &name),
            Ok(None) => {}
            Err(error) => met.bad(place, &error),
        }
    }

    /// The name of a field that stands twice in it.
    fn take(&mut self, record: &[u8]) -> std::result::Result<Option<String>, String> {
        self.bytes += record.len() as u64 + 1;
        match parse(record)? {
            Parsed::Object(fields) => {
                self.objects += 1;
                let fields = match &self.inner {
                    Some(inner) => flattened(fields, inner),
                    None => fields,
                };
                self.shape.see_object(&fields, 0);
                return Ok(twice(&fields));
            }
            Parsed::Other(raw) => {
                self.others += 1;
                if self.by_place && raw.starts_with('[') {
                    let elements = elements(raw).unwrap_or_default();
                    self.overlong |= elements.len() > WIDEST;
                    let name = |n| self.names.get(n).cloned().unwrap_or_else(|| format!("column{n}"));
                    let names: Vec<String> = (0..elements.len().min(WIDEST)).map(name).collect();
                    let fields: Fields<'_> =
                        names.iter().zip(elements).map(|(n, raw)| (Cow::Borrowed(n.as_str()), raw)).collect();
                    self.shape.see_object(&fields, 0);
                } else {
                    self.values.see(raw, 0);
                }
            }
        }
        Ok(None)
    }

    /// A sentence about fields that stand twice; `record` is the word for a record, `among` says of which.
    pub fn twice_remark(&self, record: &str, among: &str) -> Option<String> {
        let (_, name) = self.first_twice.as_ref()?;
        let count = display::plural(self.twice, record);
        Some(format!(
            "{count}{among} with a field that stands twice, of which the last counts; the first: {name:?}"
        ))
    }

    /// A sentence about columns whose values are of several kinds; `among` says of which records.
    pub fn mixed_remark(&self, among: &str) -> Option<String> {
        let mixed = self.shape.fields.iter().filter(|(_, shape)| shape.is_mixed());
        let names: Vec<&str> = mixed.map(|(name, _)| name.as_str()).collect();
        let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let kinds = format!("values of several kinds{among} (numbers, texts, lists …) stand as text");
        (!names.is_empty()).then(|| format!("{shown}{more}: {kinds}"))
    }

    /// When all were seen: values that are no objects get their column.
    pub fn end(&mut self) {
        if self.objects == 0 && self.others > 0 && !self.by_place {
            self.shape.push(VALUE, std::mem::take(&mut self.values));
        }
    }

    /// How many records were seen.
    pub fn rows(&self) -> u64 {
        self.objects + self.others + self.bad
    }

    /// Bytes of an average one.
    pub fn row_bytes(&self) -> f64 {
        if self.rows() == 0 { 128.0 } else { self.bytes as f64 / self.rows() as f64 }
    }
}

/// The name of the first field that has the name of one before.
fn twice(fields: &Fields<'_>) -> Option<String> {
    let mut seen = HashSet::with_capacity(fields.len());
    fields.iter().find(|(name, _)| !seen.insert(name.as_ref())).map(|(name, _)| name.clone().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_stay_as_they_are_written() {
        let Ok(Parsed::Object(fields)) =
            parse(b" {\"a\\n\": 1.50, \"b\":[1, 2 ],\"c\":\"x\\\"\\u00e9\", \"a\\n\":null, \"n\": NaN,}\r\n")
        else {
            panic!()
        };
        let cells: Vec<(&str, Option<Cow<'_, str>>)> =
            fields.iter().map(|(name, raw)| (name.as_ref(), cell(raw))).collect();
        let text = |t: &'static str| Some(Cow::Borrowed(t));
        let expected = [
            ("a\n", text("1.50")),
            ("b", text("[1, 2 ]")),
            ("c", text("x\"é")),
            ("a\n", None),
            ("n", text("NaN")),
        ];
        assert_eq!(cells, expected);
        assert_eq!(cell("\"\\ud800\"").unwrap(), "\\ud800");
        assert_eq!(elements("[1, [2], \"]\" ]").unwrap(), ["1", "[2]", "\"]\""]);
        assert_eq!(elements("[]").unwrap().len(), 0);
    }

    #[test]
    fn members_are_the_fields() {
        let mut found = Vec::new();
        for record in [
            "{\"a\\n\": 1.50, \"b\":[1, {\"x\": 2} ],\"c\":\"x\\\"\\u00e9\", \"n\": NaN,}\r\n",
            "{}",
            " { \"a\" : null } // behind",
            "{\"a\":1} x",
            "{\"a\" 1}",
            "{\"a\":}",
            "{a:1}",
            "[1]",
            "",
            "{\"a\":1",
        ] {
            match parse(record.as_bytes()) {
                Ok(Parsed::Object(fields)) => {
                    assert!(members(record, &mut found), "{record}");
                    let raw: Vec<&str> = found.iter().map(|m| &record[m.value.0..m.value.1]).collect();
                    assert_eq!(raw, fields.iter().map(|(_, raw)| *raw).collect::<Vec<_>>());
                    let unescaped = |m: &Member| {
                        let alone = format!("{{\"{}\":0}}", &record[m.name.0..m.name.1]);
                        object(&alone).unwrap()[0].0.clone().into_owned()
                    };
                    let names: Vec<String> = found.iter().map(unescaped).collect();
                    assert_eq!(names, fields.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>());
                }
                _ => assert!(!members(record, &mut found), "{record}"),
            }
        }
    }

    #[test]
    fn wrong_records_say_where() {
        let error = |record: &[u8]| parse(record).err().unwrap();
        assert_eq!(error(b"{\"a\":\n"), "the text ends where a value is expected at character 7");
        assert_eq!(error(b"{\"a\":1} x"), "something stands behind the value at character 9");
        assert_eq!(error(b"\"\xff\""), "it is not UTF-8 at character 2");
        assert_eq!(error("{\"é\":01}".as_bytes()), "this is no number of JSON at character 6");
        assert!(parse(&b"[".repeat(1_000_000)).is_err());
        let deep = format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000));
        assert!(matches!(parse(deep.as_bytes()), Ok(Parsed::Other(_))));
    }

    proptest! {
        #[test]
        fn the_grammar_is_that_of_serde_json(text in "[\\[\\]{}:,\"a1 ]{0,14}") {
            // Commas before a closing bracket are read here.
            let strict = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            let trailing = text.replace(' ', "").contains(",]") || text.replace(' ', "").contains(",}");
            let ours = parse(text.as_bytes()).is_ok();
            prop_assert!(ours == strict || ours && trailing, "{text:?}: {ours}");
        }
    }
}
