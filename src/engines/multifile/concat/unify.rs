//! One schema for tables whose schemas differ a little, and the differences in words.

use super::rest;
use crate::bytes::display::arrow_type;
use crate::data::content::table::Columns;
use crate::engines::json::record::REST;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use std::collections::HashSet;
use std::sync::Arc;

/// How many differences of one part are named.
const NAMED: usize = 8;

/// The common schema: the columns of `base`, as wide as all `schemas` need that fit, and the constants.
/// A constant that has a column's name takes its place. `all` says that no further parts will come.
pub(super) fn schema(base: &Columns, tables: &[Columns], constants: &[FieldRef], all: bool) -> Columns {
    let mut columns: Vec<(FieldRef, Option<DataType>)> = Vec::with_capacity(base.schema.fields().len());
    for (n, (field, inferred)) in base.iter().enumerate() {
        if let Some(constant) = constants.iter().find(|c| c.name() == field.name()) {
            columns.push((constant.clone(), None));
            continue;
        }
        let (mut merged, mut inferred) = (field.as_ref().clone(), inferred.cloned());
        for theirs in tables {
            let taken = vec![false; theirs.schema.fields().len()];
            let place = find(&theirs.schema, field.name(), n, &taken);
            let Some((place, other)) = place.map(|place| (place, theirs.schema.field(place))) else {
                merged.set_nullable(true);
                continue;
            };
            if let Some(wide) = types(merged.data_type(), other.data_type()) {
                let nullable = merged.is_nullable() || other.is_nullable();
                merged = merged.with_data_type(wide).with_nullable(nullable);
                inferred = inferred.map(|ours| common_inferred(ours, theirs.inferred(place)));
            }
        }
        // Parts that were not seen yet may have nulls.
        merged.set_nullable(merged.is_nullable() || !all);
        columns.push((Arc::new(merged), inferred));
    }
    for constant in constants {
        if !columns.iter().any(|(field, _)| field.name() == constant.name()) {
            columns.push((constant.clone(), None));
        }
    }
    Columns::from(Arc::new(Schema::new_with_metadata(Fields::empty(), base.schema.metadata().clone())))
        .and(columns)
}

/// The columns that the first of `tables` does not have; what has no column of its own comes last. Without `all`
/// only this one, which would be lost without a word.
pub(super) fn additional(base: &Columns, tables: &[Columns], all: bool) -> Vec<(FieldRef, Option<DataType>)> {
    let mut more: Vec<(FieldRef, Option<DataType>)> = Vec::new();
    for theirs in tables {
        for (n, (field, inferred)) in theirs.iter().enumerate() {
            let is = |known: &FieldRef| known.name() == field.name();
            let is_known = base.schema.fields().iter().any(is) || more.iter().any(|(known, _)| is(known));
            if !is_known && (all || rest::is_rest(theirs, n)) {
                let field = field.as_ref().clone().with_nullable(true);
                more.push((Arc::new(field), inferred.cloned()));
            }
        }
    }
    more.sort_by_key(|(field, _)| field.name() == REST);
    more
}

/// Whether tables that are merged to the columns `wide` have little in common: no table has all of these, and
/// some table has less than three quarters of them.
pub(super) fn is_scattered(wide: &Columns, tables: &[Columns]) -> bool {
    let total = wide.schema.fields().len();
    let names: HashSet<&str> = wide.schema.fields().iter().map(|field| field.name().as_str()).collect();
    let own = |table: &Columns| {
        let theirs: HashSet<&str> = table.schema.fields().iter().map(|field| field.name().as_str()).collect();
        theirs.intersection(&names).count()
    };
    let counts = || tables.iter().map(own);
    let distinct = names.len();
    counts().max().is_some_and(|most| most < distinct) && counts().any(|count| count * 4 < total * 3)
}

/// The type of texts that were inferred to be `ours` here and perhaps another there.
fn common_inferred(ours: DataType, theirs: Option<&DataType>) -> DataType {
    match theirs {
        Some(theirs) if *theirs == ours => ours,
        Some(theirs) if ours.is_numeric() && theirs.is_numeric() => DataType::Float64,
        Some(_) => DataType::Utf8,
        None => ours,
    }
}

/// The column `name`, which stands at `place` in the common schema: there if it does, else anywhere
/// that is not `taken`.
pub(super) fn find(schema: &SchemaRef, name: &str, place: usize, taken: &[bool]) -> Option<usize> {
    let is = |n: usize| {
        schema.fields().get(n).is_some_and(|f| f.name() == name) && !taken.get(n).copied().unwrap_or(true)
    };
    if is(place) { Some(place) } else { (0..schema.fields().len()).find(|&n| is(n)) }
}

/// A type that holds the values of both; `None` where there is none.
pub(super) fn types(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as D;
    if are_alike(a, b) {
        return Some(a.clone());
    }
    if let Some(number) = numbers(a, b) {
        return Some(number);
    }
    match (a, b) {
        (D::Null, other) | (other, D::Null) => Some(other.clone()),
        (D::Dictionary(_, x), D::Dictionary(_, y)) => types(x, y),
        (D::Dictionary(_, x), y) | (y, D::Dictionary(_, x)) => types(x, y),
        (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Utf8 | D::LargeUtf8 | D::Utf8View) => {
            Some(if *a == D::Utf8 { b.clone() } else { a.clone() })
        }
        (D::Binary | D::LargeBinary | D::BinaryView, D::Binary | D::LargeBinary | D::BinaryView) => {
            Some(if *a == D::Binary { b.clone() } else { a.clone() })
        }
        (D::Date32, D::Date64) | (D::Date64, D::Date32) => Some(D::Date64),
        (D::Timestamp(x, zone), D::Timestamp(y, other)) if zone == other => {
            Some(D::Timestamp(finer(x, y), zone.clone()))
        }
        (D::Decimal128(p, s), D::Decimal128(q, t)) => {
            let scale = *s.max(t);
            let whole = (i16::from(*p) - i16::from(*s)).max(i16::from(*q) - i16::from(*t));
            let digits = u8::try_from(whole + i16::from(scale)).ok()?;
            if digits <= 38 {
                Some(D::Decimal128(digits, scale))
            } else {
                (digits <= 76).then_some(D::Decimal256(digits, scale))
            }
        }
        _ => None,
    }
}

/// Whether values of both types are the same but for what else schemas say of their fields. Fields of structs are
/// those of the same name; items of lists, keys and values of maps have other names with other writers.
fn are_alike(a: &DataType, b: &DataType) -> bool {
    use DataType as D;
    match (a, b) {
        (D::List(a), D::List(b))
        | (D::LargeList(a), D::LargeList(b))
        | (D::ListView(a), D::ListView(b))
        | (D::LargeListView(a), D::LargeListView(b)) => is_same(a, b),
        (D::FixedSizeList(a, len), D::FixedSizeList(b, other)) => len == other && is_same(a, b),
        (D::Struct(a), D::Struct(b)) => are_same_fields(a, b),
        (D::Map(a, sorted), D::Map(b, other)) => match (a.data_type(), b.data_type()) {
            (D::Struct(pair), D::Struct(theirs)) => {
                let pairs = pair.len() == theirs.len() && pair.iter().zip(theirs).all(|(a, b)| is_same(a, b));
                pairs && sorted == other && a.is_nullable() == b.is_nullable()
            }
            _ => a == b,
        },
        (D::Dictionary(keys, a), D::Dictionary(other, b)) => keys == other && are_alike(a, b),
        (D::RunEndEncoded(ends, a), D::RunEndEncoded(other, b)) => {
            ends.data_type() == other.data_type() && is_same(a, b)
        }
        _ => a == b,
    }
}

/// The same of two fields, whatever their names.
fn is_same(a: &Field, b: &Field) -> bool {
    a.is_nullable() == b.is_nullable() && are_alike(a.data_type(), b.data_type())
}

/// Whether structs have the same fields, in whatever order: Arrow's cast finds them by their names where all of
/// these are there, and takes them as they come where one is not.
fn are_same_fields(a: &Fields, b: &Fields) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.iter().zip(b).all(|(a, b)| a.name() == b.name()) {
        return a.iter().zip(b).all(|(a, b)| is_same(a, b));
    }
    // Of fields of one name only the order tells which is which.
    let names: HashSet<&str> = a.iter().map(|field| field.name().as_str()).collect();
    let is_there = |field: &FieldRef| b.find(field.name()).is_some_and(|(_, other)| is_same(field, other));
    names.len() == a.len() && a.iter().all(is_there)
}

fn finer(a: &TimeUnit, b: &TimeUnit) -> TimeUnit {
    *a.max(b)
}

/// Of two number types, one that holds both.
fn numbers(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as D;
    if !(a.is_integer() || a.is_floating()) || !(b.is_integer() || b.is_floating()) {
        return None;
    }
    let bits = |t: &D| t.primitive_width().unwrap_or(8) * 8;
    if a.is_floating() || b.is_floating() {
        // An integer beside a float has to fit its mantissa; beyond 2^53 it does not.
        let need = |t: &D| match (t.is_floating(), bits(t)) {
            (true, bits) => bits,
            (false, 8) => 16,
            (false, 16) => 32,
            (false, _) => 64,
        };
        return Some(match need(a).max(need(b)) {
            16 => D::Float16,
            32 => D::Float32,
            _ => D::Float64,
        });
    }
    let signed = |t: &D| t.is_signed_integer();
    match (signed(a), signed(b)) {
        (true, true) | (false, false) => Some(if bits(a) >= bits(b) { a.clone() } else { b.clone() }),
        (a_signed, _) => {
            let (with, without) = if a_signed { (bits(a), bits(b)) } else { (bits(b), bits(a)) };
            match with.max(without * 2) {
                16 => Some(D::Int16),
                32 => Some(D::Int32),
                64 => Some(D::Int64),
                _ => None,
            }
        }
    }
}

/// How a part differs from the first one.
pub(super) struct Difference {
    /// In words.
    pub(super) text: String,
    /// Whether it has columns that are not in the table.
    pub(super) hides: bool,
}

/// How the columns of `theirs` differ from those of `base`, the first part, in words; `common` is what
/// the table has. `None` where they do not.
pub(super) fn difference(
    base: &Columns,
    theirs: &Columns,
    common: &SchemaRef,
    fits: bool,
) -> Option<Difference> {
    let (mut words, mut hides) = (Vec::new(), false);
    let mut taken = vec![false; theirs.schema.fields().len()];
    for (n, (field, inferred)) in base.iter().enumerate() {
        let Some(place) = find(&theirs.schema, field.name(), n, &taken) else {
            if rest::source(theirs, field).is_some() {
                let name = field.name();
                words.push(format!(
                    "{name} is missing, but taken from the column {REST} where a record has it"
                ));
            } else if field.name() != REST {
                words.push(format!("{} is missing", field.name()));
            }
            continue;
        };
        if let Some(taken) = taken.get_mut(place) {
            *taken = true;
        }
        let other = theirs.schema.field(place);
        if !are_alike(field.data_type(), other.data_type()) {
            let read_as = match common.fields().get(n) {
                Some(common) if fits && common.data_type() == field.data_type() => "",
                Some(common) if fits => &format!(", both are read as {}", arrow_type(common.data_type())),
                _ => "",
            };
            words.push(format!(
                "{} is {} instead of {}{read_as}",
                field.name(),
                arrow_type(theirs.inferred(place).unwrap_or(other.data_type())),
                arrow_type(inferred.unwrap_or(field.data_type()))
            ));
        }
    }
    for (field, _) in theirs.schema.fields().iter().zip(&taken).filter(|(_, taken)| !**taken) {
        if field.name() != REST {
            let shown = common.fields().iter().any(|common| common.name() == field.name());
            hides |= !(shown && fits);
            let but = if shown && fits { "" } else { " and not shown" };
            words.push(format!("{} is additional{but}", field.name()));
        }
    }
    if words.is_empty() {
        return None;
    }
    let more = words.len().saturating_sub(NAMED);
    words.truncate(NAMED);
    let mut text = words.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    if !fits {
        text.push_str("; it is left out of the table");
    }
    Some(Difference { text, hides })
}
