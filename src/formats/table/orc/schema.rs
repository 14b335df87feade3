//! Types: the footer's list as a tree, and what each is in Arrow.
//!
//! Specification: <https://orc.apache.org/specification/ORCv1/#type-information>.

use super::tail::{Tail, Type};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use arrow::datatypes::{DataType, Field, Fields, TimeUnit, UnionFields, UnionMode};
use std::sync::Arc;

/// Decimals of Hive 0.11 state no precision; they have as many digits as there can be,
const HIVE_PRECISION: u8 = 38;
/// and this many of them after the point.
pub(super) const HIVE_SCALE: i8 = 18;
/// What the only column is called where the root is no struct.
const ONLY: &str = "value";

/// What values a type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Byte,
    /// Integers of 16, 32 or 64 bits.
    Integer,
    Float,
    Double,
    Text,
    Binary,
    Timestamp,
    /// Moments: no time zone of a writer changes them.
    Instant,
    Date,
    Decimal,
    Struct,
    List,
    Map,
    Union,
}

/// A type and what lies below.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Its number, which streams are listed under.
    pub(super) id: u32,
    pub(super) kind: Kind,
    pub(super) dtype: DataType,
    pub(super) children: Vec<Plan>,
}

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) fields: Vec<Field>,
    pub(super) plans: Vec<Plan>,
    /// Whether they are the children of a struct, which is then type 0.
    pub(super) in_struct: bool,
}

/// Makes the tree; `unit` says what times of a type are counted in.
///
/// # Errors
/// `Malformed` where the list is no tree, `Unsupported` for unknown kinds, `Limit` for too deep a nesting.
pub(super) fn columns(tail: &Tail, unit: &mut dyn FnMut(u32) -> Result<TimeUnit>) -> Result<Columns> {
    let root = tail.types.first().ok_or_else(|| wrong("it has no types"))?;
    if root.kind != STRUCT {
        let plan = plan(tail, 0, 0, unit)?;
        let fields = vec![Field::new(ONLY, plan.dtype.clone(), true)];
        return Ok(Columns { fields, plans: vec![plan], in_struct: false });
    }
    let plans = below(tail, root, 0, 0, unit)?;
    let field = |(n, plan): (usize, &Plan)| Field::new(name(root, n), plan.dtype.clone(), true);
    let fields = plans.iter().enumerate().map(field).collect();
    Ok(Columns { fields, plans, in_struct: true })
}

/// The numbers of kinds that are asked for by name.
const STRUCT: u64 = 12;

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::malformed(format!("ORC footer: {what}"))
}

/// The name of a struct's field; older writers of nameless ones number them.
fn name(of: &Type, child: usize) -> String {
    of.names.get(child).cloned().unwrap_or_else(|| format!("_col{child}"))
}

/// The types below one.
fn below(
    tail: &Tail,
    of: &Type,
    id: u32,
    depth: usize,
    unit: &mut dyn FnMut(u32) -> Result<TimeUnit>,
) -> Result<Vec<Plan>> {
    let mut plans = Vec::with_capacity(of.children.len());
    // The list is in the order of a walk: whatever is below has a higher number, and each has one parent.
    let mut last = id;
    for &child in &of.children {
        if child <= last {
            return Err(wrong(format!("type {child} is listed below type {id}, before or twice")));
        }
        last = child;
        let plan = plan(tail, child, depth + 1, unit)?;
        last = last.max(furthest(&plan));
        plans.push(plan);
    }
    Ok(plans)
}

/// The highest number in a tree.
fn furthest(plan: &Plan) -> u32 {
    plan.children.last().map_or(plan.id, furthest)
}

fn plan(tail: &Tail, id: u32, depth: usize, unit: &mut dyn FnMut(u32) -> Result<TimeUnit>) -> Result<Plan> {
    if depth > limits::DEPTH {
        return Err(Error::limit(format!("the schema nests deeper than {} levels", limits::DEPTH)));
    }
    let of = tail.types.get(id as usize).ok_or_else(|| wrong(format!("there is no type {id}")))?;
    let children = below(tail, of, id, depth, unit)?;
    let (kind, dtype) = arrow_type(of, &children, &mut || unit(id))?;
    Ok(Plan { id, kind, dtype, children })
}

fn arrow_type(
    of: &Type,
    children: &[Plan],
    unit: &mut dyn FnMut() -> Result<TimeUnit>,
) -> Result<(Kind, DataType)> {
    let children_of = |wanted: usize, what: &str| match children.len() == wanted {
        true => Ok(()),
        false => Err(wrong(format!("a {what} with {} types below it", children.len()))),
    };
    let child = |n: usize| children.get(n).map(|c| c.dtype.clone()).ok_or_else(|| wrong("a type is missing"));
    Ok(match of.kind {
        0 => (Kind::Boolean, DataType::Boolean),
        1 => (Kind::Byte, DataType::Int8),
        2 => (Kind::Integer, DataType::Int16),
        3 => (Kind::Integer, DataType::Int32),
        4 => (Kind::Integer, DataType::Int64),
        5 => (Kind::Float, DataType::Float32),
        6 => (Kind::Double, DataType::Float64),
        // text, varchar, char
        7 | 16 | 17 => (Kind::Text, DataType::Utf8),
        // 19 and 20 are geometry and geography, in well-known binary
        8 | 19 | 20 => (Kind::Binary, DataType::Binary),
        9 => (Kind::Timestamp, DataType::Timestamp(unit()?, None)),
        10 => {
            children_of(1, "list")?;
            (Kind::List, DataType::new_list(child(0)?, true))
        }
        11 => {
            children_of(2, "map")?;
            let pair = vec![Field::new("keys", child(0)?, false), Field::new("values", child(1)?, true)];
            let entries = Field::new("entries", DataType::Struct(pair.into()), false);
            (Kind::Map, DataType::Map(Arc::new(entries), false))
        }
        STRUCT => {
            let field = |(n, plan): (usize, &Plan)| Field::new(name(of, n), plan.dtype.clone(), true);
            (Kind::Struct, DataType::Struct(children.iter().enumerate().map(field).collect::<Fields>()))
        }
        13 => (Kind::Union, union(children)?),
        14 => (Kind::Decimal, decimal(of)?),
        15 => (Kind::Date, DataType::Date32),
        18 => (Kind::Instant, DataType::Timestamp(unit()?, Some("UTC".into()))),
        other => return Err(Error::unsupported(format!("ORC type number {other}"))),
    })
}

fn decimal(of: &Type) -> Result<DataType> {
    if of.precision == 0 {
        return Ok(DataType::Decimal128(HIVE_PRECISION, HIVE_SCALE));
    }
    let fits = || {
        let precision = u8::try_from(of.precision).ok().filter(|digits| *digits <= HIVE_PRECISION)?;
        let scale = i8::try_from(of.scale).ok().filter(|scale| *scale as u8 <= precision)?;
        Some(DataType::Decimal128(precision, scale))
    };
    let (digits, scale) = (of.precision, of.scale);
    fits().ok_or_else(|| wrong(format!("a decimal of {digits} digits and scale {scale}")))
}

fn union(children: &[Plan]) -> Result<DataType> {
    if children.is_empty() {
        return Err(wrong("a union of no types"));
    }
    let ids: Option<Vec<i8>> = (0..children.len()).map(|n| i8::try_from(n).ok()).collect();
    let ids = ids.ok_or_else(|| Error::unsupported(format!("a union of {} types", children.len())))?;
    let field = |(n, plan): (usize, &Plan)| Field::new(format!("_union_{n}"), plan.dtype.clone(), true);
    let fields = UnionFields::try_new(ids, children.iter().enumerate().map(field))?;
    Ok(DataType::Union(fields, UnionMode::Sparse))
}
