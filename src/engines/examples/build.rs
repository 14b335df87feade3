//! Records into columns.

use super::columns::{Cell, Column, ExampleColumns};
use super::wire::{self, Feature, Kind, Named};
use crate::bytes::error::{Error, Result};
use crate::engines::protobuf::Part;
use crate::engines::records::container::{Builder, Record};
use arrow::array::{
    Array, ArrayBuilder, ArrayRef, BinaryBuilder, Float32Builder, Int64Builder, ListArray, NullArray,
    StringBuilder,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use base64::Engine;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The most values that a read may give, of all its records: numbers take more room in memory than in a file.
const VALUES: usize = 1 << 28;

/// The columns that are being made.
pub(super) struct ExampleBuilder<'a> {
    of: &'a ExampleColumns,
    /// The columns that were asked for, each once.
    made: Vec<(usize, ColumnBuilder)>,
    /// In the order in which they were asked for.
    order: Vec<usize>,
    /// The place in `made` of each column.
    wanted: Vec<Option<usize>>,
    rest: Option<StringBuilder>,
    rows: usize,
}

/// What a record has for each column that is made.
type Slots<'r> = Vec<Option<Part<'r>>>;

impl<'a> ExampleBuilder<'a> {
    pub(super) fn new(of: &'a ExampleColumns, columns: &[usize]) -> Self {
        let mut wanted = vec![None; of.columns.len()];
        let mut made = Vec::new();
        for &column in columns {
            if let (Some(spec), Some(place)) = (of.columns.get(column), wanted.get_mut(column))
                && place.is_none()
            {
                *place = Some(made.len());
                made.push((column, ColumnBuilder::new(spec)));
            }
        }
        let rest = of.rest.filter(|rest| columns.contains(rest)).map(|_| StringBuilder::new());
        ExampleBuilder { of, made, order: columns.to_vec(), wanted, rest, rows: 0 }
    }

    /// Takes in a whole record; what is wrong with it.
    fn record(&mut self, part: Part) -> Result<()> {
        let mut slots: Slots = vec![None; self.made.len()];
        let mut rest: Vec<Named> = Vec::new();
        let of = self.of;
        let foreign = wire::features(part, |named| {
            let [plain, lists] = &of.places;
            let places = if named.is_list { lists } else { plain };
            match places.get(named.name) {
                None => rest.push(named),
                Some(column) => {
                    let place = self.wanted.get(*column).copied().flatten();
                    if let Some(slot) = place.and_then(|place| slots.get_mut(place)) {
                        *slot = Some(named.part);
                    } else if self.rest.is_some() {
                        // Whether it fits its column has to be known for the rest.
                        rest.push(named);
                    }
                }
            }
            Ok(())
        })?;
        if foreign {
            of.problems.remark("some records have fields that an example has not; those are not shown");
        }
        let mut unfit: Vec<Named> = Vec::new();
        for ((column, made), slot) in self.made.iter_mut().zip(&slots) {
            let fits = made.add(*slot)?;
            if let (false, Some(part), Some(spec)) = (fits, slot, of.columns.get(*column)) {
                let [plain, lists] = &of.places;
                let names = if spec.is_list { lists } else { plain };
                let name = names.iter().find(|(_, place)| *place == column).map_or(&[][..], |(name, _)| name);
                unfit.push(Named { name, is_list: spec.is_list, part: *part });
            }
        }
        if !unfit.is_empty() {
            self.remark(&unfit);
        }
        if self.rest.is_some() {
            let text = self.rest_of(rest, unfit)?;
            if let Some(rest) = &mut self.rest {
                rest.append_option(text);
            }
        }
        Ok(())
    }

    fn remark(&self, unfit: &[Named]) {
        let names: Vec<_> = unfit.iter().take(5).map(|named| String::from_utf8_lossy(named.name)).collect();
        self.of.problems.remark(format!(
            "some records have values of {} that are not of the type of its column, which a sample of the records told; \
             they stand in the column {}; with the option columns=all all records are looked at first",
            names.join(", "),
            super::REST
        ));
    }

    /// The JSON of the features that no column has.
    fn rest_of<'r>(&self, others: Vec<Named<'r>>, unfit: Vec<Named<'r>>) -> Result<Option<String>> {
        let mut features: Map<String, Json> = Map::new();
        for named in others.into_iter().chain(unfit) {
            let [plain, lists] = &self.of.places;
            let places = if named.is_list { lists } else { plain };
            let place = places.get(named.name);
            // Of columns that are not made it is found out now.
            let column = place.and_then(|column| self.of.columns.get(*column));
            let is_made = place.is_some_and(|column| self.wanted.get(*column).copied().flatten().is_some());
            let fits = !is_made
                && match column {
                    Some(column) => ColumnBuilder::new(column).add(Some(named.part))?,
                    None => false,
                };
            let name = String::from_utf8_lossy(named.name).into_owned();
            match fits {
                // Of those of one name the last one counts.
                true => drop(features.remove(&name)),
                false => drop(features.insert(name, json_of(named)?)),
            }
        }
        Ok((!features.is_empty()).then(|| Json::Object(features).to_string()))
    }
}

impl Builder for ExampleBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        let read = payload.map(|bytes| self.record(Part::new(bytes, record.span.start)));
        if let Some(Err(error)) = read {
            if error.is_cancelled() {
                return Err(error);
            }
            let error = error.of(&format!("record {}", record.number)).at(record.span.start);
            self.of.problems.add(error);
        }
        // What a record does not tell, or did not come to tell, is null.
        for (_, made) in &mut self.made {
            made.fill(self.rows);
            if made.values() > VALUES {
                return Err(Error::limit(format!("a read of more than {VALUES} values of one column")));
            }
        }
        if let Some(rest) = &mut self.rest
            && rest.len() < self.rows
        {
            rest.append_null();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let mut made = Vec::new();
        for (column, builder) in std::mem::take(&mut self.made) {
            made.push((column, builder.finish()?));
        }
        let rest: Option<ArrayRef> = self.rest.take().map(|mut rest| Arc::new(rest.finish()) as ArrayRef);
        let array = |column: &usize| {
            let found = made.iter().find(|(place, _)| place == column).map(|(_, array)| array.clone());
            let found = found.or_else(|| rest.clone().filter(|_| self.of.rest == Some(*column)));
            found.ok_or_else(|| Error::bug(format!("column {column} was asked for")))
        };
        self.order.iter().map(array).collect()
    }
}

/// The values of a column, without the lists around them.
enum Leaf {
    Int64(Int64Builder),
    Float(Float32Builder),
    Bytes(BinaryBuilder),
    Text(StringBuilder),
    Null(usize),
}

/// Lists around values.
struct ListOffsets {
    offsets: Vec<i32>,
    valid: Vec<bool>,
}

/// A column that is being made.
struct ColumnBuilder {
    cell: Cell,
    is_list: bool,
    leaf: Leaf,
    /// From the outermost to the innermost.
    lists: Vec<ListOffsets>,
}

impl ColumnBuilder {
    fn new(column: &Column) -> Self {
        let leaf = match column.cell {
            Cell::Int64 => Leaf::Int64(Int64Builder::new()),
            Cell::Float => Leaf::Float(Float32Builder::new()),
            Cell::Bytes => Leaf::Bytes(BinaryBuilder::new()),
            Cell::Text | Cell::Json => Leaf::Text(StringBuilder::new()),
            Cell::Null => Leaf::Null(0),
        };
        let lists = (0..column.depth).map(|_| ListOffsets { offsets: vec![0], valid: Vec::new() }).collect();
        ColumnBuilder { cell: column.cell, is_list: column.is_list, leaf, lists }
    }

    fn values(&self) -> usize {
        match &self.leaf {
            Leaf::Int64(builder) => builder.len(),
            Leaf::Float(builder) => builder.len(),
            Leaf::Bytes(builder) => builder.len(),
            Leaf::Text(builder) => builder.len(),
            Leaf::Null(rows) => *rows,
        }
    }

    fn rows(&self) -> usize {
        self.lists.first().map_or_else(|| self.values(), |outer| outer.valid.len())
    }

    /// Adds a row where there are fewer than so many.
    fn fill(&mut self, rows: usize) {
        if self.rows() < rows {
            self.null();
        }
    }

    fn null(&mut self) {
        match self.lists.first_mut() {
            Some(outer) => {
                let end = outer.offsets.last().copied().unwrap_or(0);
                outer.offsets.push(end);
                outer.valid.push(false);
            }
            None => match &mut self.leaf {
                Leaf::Int64(builder) => builder.append_null(),
                Leaf::Float(builder) => builder.append_null(),
                Leaf::Bytes(builder) => builder.append_null(),
                Leaf::Text(builder) => builder.append_null(),
                Leaf::Null(rows) => *rows += 1,
            },
        }
    }

    /// Adds a row: the feature of a record, if it has one. Whether it fits; a null stands for one that does not.
    fn add(&mut self, part: Option<Part>) -> Result<bool> {
        let Some(part) = part else {
            self.null();
            return Ok(true);
        };
        if self.cell == Cell::Json {
            let json = json_of(Named { name: &[], is_list: self.is_list, part })?;
            if let Leaf::Text(builder) = &mut self.leaf {
                builder
                    .append_option((!json.as_object().is_some_and(Map::is_empty)).then(|| json.to_string()));
            }
            return Ok(true);
        }
        if self.cell == Cell::Null {
            self.null();
            return match self.is_list {
                true => Ok(wire::listed(part).try_fold(true, |all, one| {
                    Ok::<bool, Error>(all && Feature::parse(one?)?.kind.is_none())
                })?),
                false => Ok(Feature::parse(part)?.kind.is_none()),
            };
        }
        if self.is_list { self.add_list(part) } else { self.add_feature(&Feature::parse(part)?) }
    }

    /// Adds a row of a feature that is a list of its own or a single value.
    fn add_feature(&mut self, feature: &Feature) -> Result<bool> {
        let fits = self.fits(feature)? && (!self.lists.is_empty() || feature.count()? == 1);
        if !fits || feature.kind.is_none() {
            self.null();
            return Ok(fits || feature.kind.is_none());
        }
        self.leaf(feature)?;
        self.close(0)?;
        Ok(true)
    }

    /// Adds a row of a list of features.
    fn add_list(&mut self, part: Part) -> Result<bool> {
        let features: Vec<Feature> =
            wire::listed(part).map(|one| Feature::parse(one?)).collect::<Result<_>>()?;
        for feature in &features {
            if !self.fits(feature)? {
                self.null();
                return Ok(false);
            }
        }
        for feature in &features {
            self.leaf(feature)?;
            self.close(1)?;
            if feature.kind.is_none()
                && let Some(valid) = self.lists.get_mut(1).and_then(|inner| inner.valid.last_mut())
            {
                *valid = false;
            }
        }
        self.close(0)?;
        Ok(true)
    }

    /// Whether all values of a feature are of the column's type.
    fn fits(&self, feature: &Feature) -> Result<bool> {
        let Some(kind) = feature.kind else { return Ok(true) };
        if self.cell.kind() != Some(kind) {
            return Ok(false);
        }
        let mut fits = true;
        match (kind, self.cell) {
            (Kind::Bytes, Cell::Text) => feature.bytes(|part| {
                fits = fits && simdutf8::basic::from_utf8(part.bytes()).is_ok();
            })?,
            // That they can be read to their end is found out before any of them is taken.
            (Kind::Bytes, _) => feature.bytes(drop)?,
            (Kind::Int64, _) => feature.integers(drop)?,
            (Kind::Float, _) => feature.floats(drop)?,
        }
        Ok(fits)
    }

    /// Adds the values of a feature that fits.
    fn leaf(&mut self, feature: &Feature) -> Result<()> {
        match &mut self.leaf {
            Leaf::Int64(builder) => feature.integers(|value| builder.append_value(value)),
            Leaf::Float(builder) => feature.floats(|value| builder.append_value(value)),
            Leaf::Bytes(builder) => feature.bytes(|part| builder.append_value(part.bytes())),
            Leaf::Text(builder) => feature.bytes(|part| {
                if let Ok(text) = simdutf8::basic::from_utf8(part.bytes()) {
                    builder.append_value(text);
                }
            }),
            Leaf::Null(_) => Ok(()),
        }
    }

    /// Ends a list of this level, which has what was added since the last one.
    fn close(&mut self, level: usize) -> Result<()> {
        let inner = match self.lists.get(level + 1) {
            Some(inner) => inner.valid.len(),
            None => self.values(),
        };
        let end = i32::try_from(inner).map_err(|_| Error::limit("a list of more than 2^31 values"))?;
        if let Some(lists) = self.lists.get_mut(level) {
            lists.offsets.push(end);
            lists.valid.push(true);
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let mut array: ArrayRef = match self.leaf {
            Leaf::Int64(mut builder) => Arc::new(builder.finish()),
            Leaf::Float(mut builder) => Arc::new(builder.finish()),
            Leaf::Bytes(mut builder) => Arc::new(builder.finish()),
            Leaf::Text(mut builder) => Arc::new(builder.finish()),
            Leaf::Null(rows) => Arc::new(NullArray::new(rows)),
        };
        for lists in self.lists.into_iter().rev() {
            let DataType::List(field) = DataType::new_list(array.data_type().clone(), true) else {
                return Err(Error::bug("a list is no list"));
            };
            let nulls = NullBuffer::new(BooleanBuffer::from(lists.valid));
            let offsets = OffsetBuffer::new(lists.offsets.into());
            let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
            array = Arc::new(ListArray::try_new(field, offsets, array, nulls)?);
        }
        Ok(array)
    }
}

/// A feature, or a list of features, in the JSON that Protocol Buffers have for it:
/// <https://protobuf.dev/programming-guides/json/>.
pub(super) fn json_of(named: Named) -> Result<Json> {
    if named.is_list {
        let one = |part: Result<Part>| json_of(Named { is_list: false, name: &[], part: part? });
        let features: Vec<Json> = wire::listed(named.part).map(one).collect::<Result<_>>()?;
        return Ok(json!({ "feature": features }));
    }
    let feature = Feature::parse(named.part)?;
    let (mut values, name) = (
        Vec::new(),
        match feature.kind {
            Some(Kind::Bytes) => "bytesList",
            Some(Kind::Float) => "floatList",
            Some(Kind::Int64) => "int64List",
            None => return Ok(json!({})),
        },
    );
    match feature.kind {
        Some(Kind::Int64) => feature.integers(|value| values.push(value.to_string().into()))?,
        Some(Kind::Float) => feature.floats(|value| values.push(float(value)))?,
        _ => feature.bytes(|part| {
            values.push(base64::engine::general_purpose::STANDARD.encode(part.bytes()).into());
        })?,
    }
    Ok(json!({ name: { "value": values } }))
}

/// A float as JSON: the shortest number that reads back to it, or the word for what is none.
fn float(value: f32) -> Json {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f32::INFINITY => "Infinity".into(),
        f32::NEG_INFINITY => "-Infinity".into(),
        _ => value.to_string().parse().map_or(Json::Null, Json::Number),
    }
}
