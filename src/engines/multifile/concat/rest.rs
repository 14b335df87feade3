//! Fields that have no column in their part. The columns of a JSON file are those of a sample; what else a
//! record has stands as an object in the column [`REST`]. Where other parts have a column for such a field, its
//! values are taken out of these objects, and the common table's [`REST`] has what is left of them.

use super::Origin;
use crate::bytes::error::{Error, Result};
use crate::data::content::table::Columns;
use crate::engines::json::record::{self, Fields, Parsed, REST};
use arrow::array::{ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Whether a column is one of rests: by its name, and it is text whose type was inferred.
pub(super) fn is_rest(columns: &Columns, place: usize) -> bool {
    let field = columns.schema.fields().get(place);
    let is_named = field.is_some_and(|field| field.name() == REST && *field.data_type() == DataType::Utf8);
    is_named && columns.inferred(place).is_some()
}

/// The place of a part's rests, if a column `field` of the common schema can be taken out of them: it is text, as
/// all columns of JSON are.
pub(super) fn source(theirs: &Columns, field: &Field) -> Option<usize> {
    let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let place = (0..theirs.schema.fields().len()).find(|&place| is_rest(theirs, place))?;
    (is_text && field.name() != REST).then_some(place)
}

/// The columns among `asked` that come out of a part's rests, as text by their numbers in the common schema: its
/// fields, and the rests without these. `theirs` are the part's columns, `read` gives those that were read.
pub(super) fn columns(
    schema: &Schema,
    theirs: &Schema,
    origins: &[Origin],
    asked: &[usize],
    read: impl Fn(usize) -> Result<ArrayRef>,
) -> Result<HashMap<usize, ArrayRef>> {
    let place = origins.iter().find_map(|origin| match origin {
        Origin::Field(place) => Some(*place),
        _ => None,
    });
    let Some(place) = place else { return Ok(HashMap::new()) };
    let is_field = |n: usize| matches!(origins.get(n), Some(Origin::Field(_)));
    let is_left = |n: usize| matches!(origins.get(n), Some(Origin::Rest(_)));
    if !asked.iter().any(|&n| is_field(n) || is_left(n)) {
        return Ok(HashMap::new());
    }
    let name = |n: usize| schema.fields().get(n).map_or("", |field| field.name().as_str());
    let fields = (0..schema.fields().len()).filter(|&n| is_field(n));
    let mut slots: HashMap<&str, Option<usize>> = fields.map(|n| (name(n), None)).collect();
    let mut count = 0;
    for &n in asked.iter().filter(|n| is_field(**n)) {
        if let Some(slot) = slots.get_mut(name(n))
            && slot.is_none()
        {
            *slot = Some(count);
            count += 1;
        }
    }
    let own = theirs.fields().iter().enumerate().filter(|(n, _)| *n != place);
    let own: HashSet<&str> = own.map(|(_, field)| field.name().as_str()).collect();
    let array = read(place)?;
    let rests = array.as_string_opt::<i32>().ok_or_else(|| Error::bug("rests that are no text"))?;
    let (values, left) = split(rests, &own, &slots, count);
    let column = |&n: &usize| {
        if is_left(n) {
            return Some((n, left.clone()));
        }
        let slot = slots.get(name(n)).copied().flatten().filter(|_| is_field(n))?;
        Some((n, values.get(slot)?.clone()))
    };
    Ok(asked.iter().filter_map(column).collect())
}

/// The values of the fields of `slots` that have a number there, of which there are `count`, and the rests without
/// any of the fields of `slots`. `own` are the names of the part's columns.
fn split(
    rests: &StringArray,
    own: &HashSet<&str>,
    slots: &HashMap<&str, Option<usize>>,
    count: usize,
) -> (Vec<ArrayRef>, ArrayRef) {
    let mut values: Vec<StringBuilder> = (0..count).map(|_| StringBuilder::new()).collect();
    let mut others = StringBuilder::new();
    let mut row: Vec<Option<Cow<'_, str>>> = vec![None; count];
    for text in rests.iter() {
        let fields = text.and_then(|text| object(text, own)).unwrap_or_default();
        let has_any = fields.iter().any(|(name, _)| slots.contains_key(&**name));
        // Of a field that stands twice the last counts, as in a column of its own.
        for &(ref name, raw) in &fields {
            if let Some(Some(slot)) = slots.get(&**name)
                && let Some(cell) = row.get_mut(*slot)
            {
                *cell = record::cell(raw);
            }
        }
        for (builder, cell) in values.iter_mut().zip(&mut row) {
            builder.append_option(cell.take());
        }
        let rest: Option<Cow<'_, str>> = match has_any {
            true => left(&fields, slots).map(Cow::Owned),
            false => text.map(Cow::Borrowed),
        };
        others.append_option(rest);
    }
    let others: ArrayRef = Arc::new(others.finish());
    (values.into_iter().map(|mut builder| Arc::new(builder.finish()) as ArrayRef).collect(), others)
}

/// The fields of a rest; `None` for other texts. Those stand in the column too: values that are no objects, and
/// records that cannot be read, which may look like objects but have fields that the part has columns for.
fn object<'a>(text: &'a str, own: &HashSet<&str>) -> Option<Fields<'a>> {
    if !text.starts_with('{') {
        return None;
    }
    match record::parse(text.as_bytes()) {
        Ok(Parsed::Object(fields)) if fields.iter().all(|(name, _)| !own.contains(&**name)) => Some(fields),
        _ => None,
    }
}

/// A rest without the fields of `slots`, written as it was; `None` where nothing is left.
fn left(fields: &Fields<'_>, slots: &HashMap<&str, Option<usize>>) -> Option<String> {
    let others = fields.iter().filter(|(name, _)| !slots.contains_key(&**name));
    let pair = |(name, raw): &(Cow<'_, str>, &str)| format!("{}:{raw}", serde_json::Value::from(&**name));
    let pairs: Vec<String> = others.map(pair).collect();
    (!pairs.is_empty()).then(|| format!("{{{}}}", pairs.join(",")))
}
