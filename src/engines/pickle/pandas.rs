//! pandas' frames, series and indexes as tables. A frame keeps columns of one type together in blocks, one row of a
//! block a column; a manager knows which block holds which columns. The manager's form has changed with pandas' versions
//! 0.14, 1.3 and 3; all of them are read.
//! <https://github.com/pandas-dev/pandas/blob/main/pandas/core/internals/managers.py>

mod arrow;
mod column;

use self::column::Column;
use super::content::array_of;
use super::machine::{Id, Object, Pickle, Value};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Rows, Table, TableFacts};
use ::arrow::array::RecordBatch;
use ::arrow::datatypes::{Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// The most columns of a frame.
const COLUMNS: u64 = 1 << 20;

/// Columns of one length.
struct Frame {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: u64,
    class: String,
}

/// The table that a value is; `None` where it is none of pandas' objects.
pub(super) fn of(pickle: &Arc<Pickle>, id: Id) -> Option<Result<Arc<dyn Table>>> {
    let Value::Object(object) = pickle.value(id) else { return None };
    let class = pickle.type_name(id);
    let name =
        class.strip_prefix("pandas.").map(|rest| rest.rsplit('.').next().unwrap_or(rest).to_owned())?;
    let frame = Reader { pickle };
    let columns = match name.as_str() {
        "DataFrame" => frame.frame(id)?,
        "Series" | "TimeSeries" => frame.series(id)?,
        _ if pickle.is(object.class, &INDEXES, pickle.global(object.class)?.1) => frame.index(id, "value")?,
        _ => vec![("value".to_owned(), frame.values(id, None)?)],
    };
    Some(Frame::new(columns, class).map(|frame| Arc::new(frame) as Arc<dyn Table>))
}

/// Modules with the functions that make indexes.
const INDEXES: [&str; 4] = [
    "pandas.core.indexes.base",
    "pandas.core.indexes.datetimes",
    "pandas.core.indexes.period",
    "pandas.indexes.base",
];

/// Finds the columns.
#[derive(Clone, Copy)]
struct Reader<'a> {
    pickle: &'a Arc<Pickle>,
}

type Named = (String, Column);

impl<'a> Reader<'a> {
    fn object(self, id: Id) -> Option<&'a Object> {
        match self.pickle.value(id) {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    fn number(self, id: Id) -> Option<i64> {
        match self.pickle.value(id) {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The axes of a manager, and its blocks: their values, and which columns these are.
    fn manager(self, id: Id) -> Option<(Vec<Id>, Vec<(Id, Option<Id>)>)> {
        let object = self.object(id)?;
        let arguments = self.pickle.tuple(object.arguments).unwrap_or_default();
        if let [blocks, axes] = arguments {
            let blocks = match self.pickle.items_of(*blocks) {
                Some(blocks) => blocks.to_vec(),
                None => vec![*blocks],
            };
            let axes = self.pickle.items_of(*axes).map_or_else(|| vec![*axes], <[Id]>::to_vec);
            let block = |block: &Id| {
                let arguments = self.pickle.tuple(self.object(*block)?.arguments)?;
                Some((*arguments.first()?, arguments.get(1).copied()))
            };
            return Some((axes, blocks.iter().map(block).collect::<Option<_>>()?));
        }
        let state = self.pickle.tuple(object.state?)?;
        if let Some(newer) = state.get(3).and_then(|versions| self.pickle.entry(*versions, "0.14.1")) {
            let axes = self.pickle.items_of(self.pickle.entry(newer, "axes")?)?.to_vec();
            let blocks = self.pickle.items_of(self.pickle.entry(newer, "blocks")?)?;
            let block = |block: &Id| {
                Some((self.pickle.entry(*block, "values")?, self.pickle.entry(*block, "mgr_locs")))
            };
            return Some((axes, blocks.iter().map(block).collect::<Option<_>>()?));
        }
        let [axes, values, ..] = state else { return None };
        let axes = self.pickle.items_of(*axes)?.to_vec();
        Some((axes, self.pickle.items_of(*values)?.iter().map(|values| (*values, None)).collect()))
    }

    /// The places that a slice or an array of numbers names, of `count` columns.
    fn places(self, id: Id, count: u64) -> Option<Vec<u64>> {
        if let Some(array) = array_of(self.pickle, id) {
            let bytes = column::all_bytes(&array.ok()?)?;
            return Some(
                bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect(),
            );
        }
        if let Some(items) = self.pickle.items_of(id) {
            return items.iter().map(|item| u64::try_from(self.number(*item)?).ok()).collect();
        }
        let object =
            self.object(id).filter(|o| self.pickle.is(o.class, &["builtins", "__builtin__"], "slice"))?;
        let [start, stop, step] = *self.pickle.tuple(object.arguments)?.first_chunk()?;
        let start = u64::try_from(self.number(start).unwrap_or(0)).ok()?;
        let step = usize::try_from(self.number(step).unwrap_or(1)).ok().filter(|step| *step > 0)?;
        let stop = self.number(stop).map_or(Some(count), |stop| u64::try_from(stop).ok())?.min(count);
        Some((start..stop).step_by(step).collect())
    }

    fn frame(self, id: Id) -> Option<Vec<Named>> {
        let manager = ["_mgr", "_data"].into_iter().find_map(|name| self.pickle.field(id, name))?;
        let (axes, blocks) = self.manager(manager)?;
        let [items, rows] = *axes.first_chunk()?;
        let names = self.names(items)?;
        let mut columns: Vec<Option<Named>> = names.iter().map(|_| None).collect();
        for (values, places) in blocks {
            let count = names.len() as u64;
            let places = match places {
                Some(places) => self.places(places, count)?,
                None => (0..count).collect(),
            };
            for (row, place) in places.into_iter().enumerate() {
                let place = usize::try_from(place).ok()?;
                let (Some(name), Some(slot)) = (names.get(place), columns.get_mut(place)) else { continue };
                if let Some(column) = self.values(values, Some(row as u64)) {
                    *slot = Some((name.clone(), column));
                }
            }
        }
        let mut all = self.shown_index(rows);
        all.extend(columns.into_iter().flatten());
        Some(all)
    }

    fn series(self, id: Id) -> Option<Vec<Named>> {
        let manager = ["_mgr", "_data"].into_iter().find_map(|name| self.pickle.field(id, name))?;
        let (axes, blocks) = self.manager(manager)?;
        let name = ["_name", "name"].into_iter().find_map(|name| self.pickle.field(id, name));
        let name = name.filter(|name| !matches!(self.pickle.value(*name), Value::None));
        let name =
            name.map_or_else(|| "value".to_owned(), |name| self.pickle.brief(name, super::view::SHOWN));
        let mut all = self.shown_index(*axes.first()?);
        all.push((name, self.values(blocks.first()?.0, None)?));
        Some(all)
    }

    /// The index of a frame as columns; none for rows that are only numbered.
    fn shown_index(self, id: Id) -> Vec<Named> {
        let plain = self.index_parts(id).is_some_and(|parts| {
            let number = |name| self.pickle.entry(parts, name).and_then(|id| self.number(id));
            (number("start"), number("step")) == (Some(0), Some(1))
        });
        if plain { Vec::new() } else { self.index(id, "index").unwrap_or_default() }
    }

    /// What the function that makes an index is given by name.
    fn index_parts(self, id: Id) -> Option<Id> {
        let object = self.object(id)?;
        let parts = *self.pickle.tuple(object.arguments)?.get(1)?;
        matches!(self.pickle.value(parts), Value::Dict(_)).then_some(parts)
    }

    /// The columns of an index: one, or one a level.
    fn index(self, id: Id, otherwise: &str) -> Option<Vec<Named>> {
        let parts = self.index_parts(id)?;
        let part = |name: &str| {
            self.pickle.entry(parts, name).filter(|id| !matches!(self.pickle.value(*id), Value::None))
        };
        let named = |name: Option<Id>| name.map(|name| self.pickle.brief(name, super::view::SHOWN));
        if let Some(levels) = part("levels") {
            let levels = self.pickle.items_of(levels)?;
            let codes = self.pickle.items_of(part("codes").or_else(|| part("labels"))?)?;
            let names = part("names").and_then(|names| self.pickle.items_of(names)).unwrap_or_default();
            let level = |(n, (level, codes)): (usize, (&Id, &Id))| {
                let name = names.get(n).filter(|name| !matches!(self.pickle.value(**name), Value::None));
                let name = named(name.copied()).unwrap_or_else(|| format!("level{n}"));
                let (_, values) = self.index(*level, "")?.into_iter().next()?;
                let codes = array_of(self.pickle, *codes)?.ok()?;
                Some((name, Column::coded(Column::Part(codes, None), values)))
            };
            return levels.iter().zip(codes).enumerate().map(level).collect();
        }
        let name = named(part("name")).unwrap_or_else(|| otherwise.to_owned());
        if let (Some(start), Some(stop)) = (part("start"), part("stop")) {
            let step = part("step").and_then(|step| self.number(step)).unwrap_or(1);
            let (start, stop) = (self.number(start)?, self.number(stop)?);
            return Some(vec![(name, Column::Range { start, step, rows: steps(start, stop, step)? })]);
        }
        let zone = part("tz").and_then(|zone| self.zone(zone));
        let column = match part("data") {
            Some(data) => self.values(data, None)?,
            None => self.interval(part("left")?, part("right")?, part("closed"))?,
        };
        Some(vec![(name, column.zoned(zone))])
    }

    /// The labels of an index as texts.
    fn names(self, id: Id) -> Option<Vec<String>> {
        let levels: Vec<_> = self.index(id, "")?;
        let rows = levels.first()?.1.rows()?;
        limits::check(rows, COLUMNS, "columns of a frame").ok()?;
        let task = Task::new();
        let texts = |(_, column): &Named| column.texts(self.pickle, &task, 0..rows).ok();
        let levels: Vec<Vec<String>> = levels.iter().map(texts).collect::<Option<_>>()?;
        let one = |row: usize| {
            let parts: Vec<&str> =
                levels.iter().filter_map(|level| level.get(row)).map(String::as_str).collect();
            if let [one] = parts.as_slice() { (*one).to_owned() } else { format!("({})", parts.join(", ")) }
        };
        Some((0..usize::try_from(rows).ok()?).map(one).collect())
    }

    /// The values of a block or an extension array; of a block of several columns the one of this number.
    fn values(self, id: Id, row: Option<u64>) -> Option<Column> {
        if let Some(array) = array_of(self.pickle, id) {
            return Column::of_array(self.pickle, id, array.ok()?, row);
        }
        let object = self.object(id)?;
        if let Some(column) = arrow::column(self.pickle, id) {
            return Some(column);
        }
        // An index may hold another one.
        if self.index_parts(id).is_some() {
            return self.index(id, "")?.into_iter().next().map(|(_, column)| column);
        }
        let class = self.pickle.type_name(id);
        let class = class.rsplit('.').next().unwrap_or(&class).to_owned();
        let field = |names: &[&str]| names.iter().find_map(|name| self.pickle.field(id, name));
        // `NDArrayBacked`: a type, an array, other fields.
        let backed = object
            .state
            .and_then(|state| self.pickle.tuple(state))
            .filter(|state| state.get(1).is_some_and(|second| array_of(self.pickle, *second).is_some()));
        let dtype = backed.and_then(|state| state.first().copied()).or_else(|| field(&["_dtype"]));
        let inner = backed
            .and_then(|state| state.get(1).copied())
            .or_else(|| field(&["_ndarray", "_data", "_codes", "_pa_array"]));
        match class.as_str() {
            "Categorical" => {
                let categories = dtype.and_then(|dtype| self.pickle.field(dtype, "categories"));
                let categories = categories.or_else(|| field(&["_categories", "_levels"]))?;
                let (_, values) = self.index(categories, "")?.into_iter().next()?;
                let codes = array_of(self.pickle, inner?)?.ok()?;
                Some(Column::coded(Column::Part(codes, None), values))
            }
            "IntervalArray" => self.interval(field(&["_left"])?, field(&["_right"])?, field(&["_closed"])),
            "PeriodArray" => {
                let ordinals = self.plain_values(inner?, row)?;
                let unit = dtype.and_then(|dtype| self.frequency(dtype)).unwrap_or_default();
                Some(Column::period(ordinals, &unit))
            }
            "DatetimeArray" | "TimedeltaArray" => {
                let zone =
                    dtype.and_then(|dtype| self.pickle.field(dtype, "tz")).and_then(|tz| self.zone(tz));
                Some(self.values(inner?, row)?.zoned(zone))
            }
            _ => {
                let values = self.plain_values(inner?, row)?;
                match field(&["_mask"]).and_then(|mask| array_of(self.pickle, mask)) {
                    Some(mask) => Some(Column::Masked(Box::new(values), mask.ok()?)),
                    None => Some(values),
                }
            }
        }
    }

    /// Values that are an array.
    fn plain_values(self, id: Id, row: Option<u64>) -> Option<Column> {
        Column::of_array(self.pickle, id, array_of(self.pickle, id)?.ok()?, row)
    }

    fn interval(self, left: Id, right: Id, closed: Option<Id>) -> Option<Column> {
        let side =
            |id| self.plain_values(id, None).or_else(|| Some(self.index(id, "")?.into_iter().next()?.1));
        let closed = closed.and_then(|closed| self.pickle.text(closed)).unwrap_or("right");
        Some(Column::Interval(Box::new([side(left)?, side(right)?]), closed.to_owned()))
    }

    /// The class of the offset that periods are counted in, or its word (`M`, `Q-DEC`).
    fn frequency(self, dtype: Id) -> Option<String> {
        let first = *self.pickle.tuple(self.object(dtype)?.arguments)?.first()?;
        if let Some(word) = self.pickle.text(first) {
            return Some(word.trim_start_matches("period[").trim_end_matches(']').to_owned());
        }
        let class = self.pickle.type_name(first);
        Some(class.rsplit('.').next().unwrap_or(&class).to_owned())
    }

    /// The name of a time zone: of pytz, zoneinfo, dateutil or datetime.
    fn zone(self, id: Id) -> Option<String> {
        let object = self.object(id)?;
        let first = self.pickle.tuple(object.arguments)?.first().copied();
        match first {
            Some(first) => {
                self.pickle.text(first).map(str::to_owned).or_else(|| super::stdlib::zone(self.pickle, first))
            }
            None => Some("UTC".to_owned()),
        }
    }
}

/// How many numbers a range has.
fn steps(start: i64, stop: i64, step: i64) -> Option<u64> {
    let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
    if step == 0 {
        return None;
    }
    let span = if step > 0 { stop - start } else { start - stop };
    u64::try_from(span.max(0)).ok().map(|span| span.div_ceil(step.unsigned_abs() as u64))
}

impl Frame {
    fn new(columns: Vec<Named>, class: String) -> Result<Self> {
        limits::check(columns.len() as u64, COLUMNS, "columns of a frame")?;
        let rows = columns.first().and_then(|(_, column)| column.rows()).unwrap_or(0);
        let (mut fields, mut kept) = (Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
        for (name, column) in columns {
            if column.rows() != Some(rows) {
                return Err(Error::malformed(format!("frame: column {name:?} is not as long as others")));
            }
            fields.push(Field::new(name, column.kind()?, true));
            kept.push(column);
        }
        Ok(Frame { schema: Arc::new(Schema::new(fields)), columns: kept, rows, class })
    }
}

impl Table for Frame {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.rows);
        let read = |n: &usize| {
            task.check()?;
            let column =
                self.columns.get(*n).ok_or_else(|| Error::bug(format!("column {n} was asked for")))?;
            column.read(task, rows.clone())
        };
        let arrays = columns.iter().map(read).collect::<Result<_>>()?;
        batch(&self.schema, columns, arrays, (rows.end - rows.start) as usize)
    }

    fn facts(&self) -> TableFacts {
        TableFacts { details: vec![("class".to_owned(), self.class.clone())], ..TableFacts::default() }
    }
}

/// All elements of a small array.
fn whole(array: &Arc<dyn Array>) -> Result<Vec<u8>> {
    let region = crate::data::region::Region::all(array.shape());
    crate::data::content::array::read(array.as_ref(), &Task::new(), &region)
}
