//! The schema: elements in depth-first order, made such that each type and annotation fits.
//!
//! Annotations that do not fit their type are left out: the values are shown as they are stored. So are those
//! that a later version may know. Definition:
//! <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md>.

use super::thrift::*;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use std::borrow::Cow;

/// The most remarks about single elements.
const REMARKS: usize = 20;

const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;

// Numbers of physical types,
const INT32: i64 = 1;
const INT64: i64 = 2;
const BYTES: i64 = 6;
const FIXED: i64 = 7;
// of converted types,
const MAP: i64 = 1;
const MAP_KEY_VALUE: i64 = 2;
const LIST_OF: i64 = 3;
const DECIMAL: i64 = 5;
const INTERVAL: i64 = 21;
// and of fields of the union of logical types.
const LOGICAL_MAP: i64 = 2;
const LOGICAL_LIST: i64 = 3;
const VARIANT: i64 = 16;

/// An element; numbers as the format gives them.
#[derive(Default)]
struct Element<'a> {
    physical: Option<i64>,
    length: Option<i64>,
    repetition: Option<i64>,
    name: Cow<'a, str>,
    children: Option<i64>,
    converted: Option<i64>,
    scale: Option<i64>,
    precision: Option<i64>,
    id: Option<i64>,
    logical: Option<Logical<'a>>,
}

/// A logical type: the number of the union's field, and what is in it.
#[derive(Clone, Debug, PartialEq)]
struct Logical<'a> {
    id: i64,
    numbers: [Option<i64>; 2],
    flags: [Option<bool>; 2],
    text: Option<&'a [u8]>,
    /// The field of the union that is a time's unit.
    unit: Option<i64>,
}

/// Copies the list of elements, and gives the number of columns.
///
/// # Errors
/// `Malformed` where the elements are no tree, `Limit` where it nests too deeply.
pub(super) fn copy(thrift: &mut Thrift, out: &mut Vec<u8>, remarks: &mut Vec<String>) -> Result<u64> {
    let (count, kind) = thrift.list()?;
    if kind != STRUCT && count > 0 {
        return Err(Error::malformed("footer: the schema is no list of elements"));
    }
    let mut elements = Vec::new();
    for _ in 0..count {
        elements.push(element(thrift)?);
    }
    check(&elements)?;
    let mut tree = Tree { elements, remarks };
    let mut at = 0;
    while at < tree.elements.len() {
        at = tree.mend(at)?;
    }
    put_list(out, tree.elements.len() as u64, STRUCT);
    tree.elements.iter().for_each(|element| element.put(out));
    Ok(tree.elements.iter().skip(1).filter(|element| element.physical.is_some()).count() as u64)
}

/// Checks the counts of children, which lead to memory and to recursion.
fn check(elements: &[Element]) -> Result<()> {
    let count = elements.len() as u64;
    let mut open: Vec<u64> = Vec::new();
    for (n, element) in elements.iter().enumerate() {
        let children = u64::try_from(element.children.unwrap_or(0))
            .map_err(|_| Error::malformed("footer: a negative count of schema children"))?;
        let left = count - 1 - n as u64;
        if children > left {
            let what = format!("footer: a schema element claims {children} children, {left} elements follow");
            return Err(Error::malformed(what));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > limits::DEPTH {
            return Err(Error::limit(format!("the schema nests deeper than {} levels", limits::DEPTH)));
        }
    }
    Ok(())
}

fn element<'a>(thrift: &mut Thrift<'a>) -> Result<Element<'a>> {
    let mut element = Element::default();
    let mut id = 0;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (4, BINARY) => element.name = String::from_utf8_lossy(thrift.binary()?),
            (10, STRUCT) => element.logical = logical(thrift)?,
            (1..=9, BYTE..=I64) => {
                let value = Some(thrift.integer(kind)?).filter(|value| i32::try_from(*value).is_ok());
                match id {
                    1 => element.physical = value,
                    2 => element.length = value,
                    3 => element.repetition = value,
                    5 => element.children = value,
                    6 => element.converted = value,
                    7 => element.scale = value,
                    8 => element.precision = value,
                    9 => element.id = value,
                    _ => {}
                }
            }
            _ => thrift.skip(kind, 0)?,
        }
    }
    Ok(element)
}

/// A union of one field; `None` where there is none or several.
fn logical<'a>(thrift: &mut Thrift<'a>) -> Result<Option<Logical<'a>>> {
    let (mut id, mut found) = (0, Vec::new());
    while let Some(kind) = thrift.field(&mut id)? {
        if kind != STRUCT {
            thrift.skip(kind, 0)?;
            continue;
        }
        let mut logical = Logical { id, numbers: [None; 2], flags: [None; 2], text: None, unit: None };
        let mut inner = 0;
        while let Some(kind) = thrift.field(&mut inner)? {
            let slot = usize::try_from(inner - 1).unwrap_or(usize::MAX);
            match kind {
                TRUE | FALSE => {
                    if let Some(flag) = logical.flags.get_mut(slot) {
                        *flag = Some(kind == TRUE);
                    }
                }
                BYTE..=I64 => {
                    let value = thrift.integer(kind)?;
                    if let Some(number) = logical.numbers.get_mut(slot) {
                        *number = Some(value).filter(|value| i32::try_from(*value).is_ok());
                    }
                }
                BINARY => logical.text = Some(thrift.binary()?),
                STRUCT if inner == 2 => {
                    let mut unit = 0;
                    while let Some(kind) = thrift.field(&mut unit)? {
                        thrift.skip(kind, 0)?;
                        logical.unit = Some(unit);
                    }
                }
                other => thrift.skip(other, 0)?,
            }
        }
        found.push(logical);
    }
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// Whether a decimal fits its type: its digits, and its scale.
fn is_decimal(physical: i64, length: i64, precision: Option<i64>, scale: i64) -> bool {
    let most = match physical {
        INT32 => 9,
        INT64 => 18,
        BYTES => 76,
        // The digits of the largest number in so many bytes.
        FIXED if length > 0 => ((length as f64 * 8.0 - 1.0) * 2f64.log10()).floor().min(76.0) as i64,
        _ => return false,
    };
    precision.is_some_and(|digits| (1..=most).contains(&digits) && (0..=digits).contains(&scale))
}

impl Logical<'_> {
    /// Whether a column of this physical type and length can have it.
    fn fits(&self, physical: i64, length: i64) -> bool {
        let [first, second] = self.numbers;
        match self.id {
            // text, enum, JSON, BSON, geometry, geography
            1 | 4 | 12 | 13 | 17 | 18 => physical == BYTES,
            5 => first.is_some_and(|scale| is_decimal(physical, length, second, scale)),
            6 => physical == INT32,
            7 => match (self.unit, self.flags) {
                (Some(1), [Some(_), _]) => physical == INT32,
                (Some(2 | 3), [Some(_), _]) => physical == INT64,
                _ => false,
            },
            8 => physical == INT64 && matches!((self.unit, self.flags), (Some(1..=3), [Some(_), _])),
            10 => match (first, self.flags) {
                (Some(8 | 16 | 32), [_, Some(_)]) => physical == INT32,
                (Some(64), [_, Some(_)]) => physical == INT64,
                _ => false,
            },
            11 => true,
            14 => physical == FIXED && length == 16,
            15 => physical == FIXED && length == 2,
            _ => false,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_field(out, self.id, &mut 0, STRUCT);
        let ([first, second], mut last) = (self.numbers, 0);
        let mut number = |out: &mut Vec<u8>, id: i64, value: Option<i64>| {
            if let Some(value) = value {
                put_field(out, id, &mut last, I32);
                put_integer(out, value);
            }
        };
        match self.id {
            5 => {
                number(out, 1, first);
                number(out, 2, second);
            }
            7 | 8 => {
                put_field(out, 1, &mut last, if self.flags[0] == Some(true) { TRUE } else { FALSE });
                put_field(out, 2, &mut last, STRUCT);
                put_field(out, self.unit.unwrap_or(1), &mut 0, STRUCT);
                out.extend([0, 0]);
            }
            10 | VARIANT => {
                if let Some(value) = first {
                    put_field(out, 1, &mut last, BYTE);
                    out.push(value as u8);
                }
                if self.id == 10 {
                    put_field(out, 2, &mut last, if self.flags[1] == Some(true) { TRUE } else { FALSE });
                }
            }
            17 | 18 => {
                if let Some(text) = self.text {
                    put_field(out, 1, &mut last, BINARY);
                    put_binary(out, String::from_utf8_lossy(text).as_bytes());
                }
                if let Some(value) = second.filter(|_| self.id == 18) {
                    put_field(out, 2, &mut last, I32);
                    put_integer(out, value);
                }
            }
            _ => {}
        }
        out.extend([0, 0]);
    }
}

impl Element<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        let mut last = 0;
        let number = |out: &mut Vec<u8>, id: i64, value: Option<i64>, last: &mut i64| {
            if let Some(value) = value {
                put_field(out, id, last, I32);
                put_integer(out, value);
            }
        };
        number(out, 1, self.physical, &mut last);
        number(out, 2, self.length, &mut last);
        number(out, 3, self.repetition, &mut last);
        put_field(out, 4, &mut last, BINARY);
        put_binary(out, self.name.as_bytes());
        number(out, 5, self.children, &mut last);
        number(out, 6, self.converted, &mut last);
        number(out, 7, self.scale, &mut last);
        number(out, 8, self.precision, &mut last);
        number(out, 9, self.id, &mut last);
        if let Some(logical) = &self.logical {
            put_field(out, 10, &mut last, STRUCT);
            logical.put(out);
        }
        out.push(0);
    }

    fn is_repeated(&self) -> bool {
        self.repetition == Some(REPEATED)
    }
}

struct Tree<'a, 'b> {
    elements: Vec<Element<'a>>,
    remarks: &'b mut Vec<String>,
}

impl Tree<'_, '_> {
    /// Mends the element at `at` and those below it; gives the place behind them.
    fn mend(&mut self, at: usize) -> Result<usize> {
        let element = self
            .elements
            .get_mut(at)
            .ok_or_else(|| Error::malformed("the schema says more elements than it has"))?;
        // All elements but the root have one; as a number of the definition, a missing one is the first.
        if at > 0 && !element.repetition.is_some_and(|n| (REQUIRED..=REPEATED).contains(&n)) {
            element.repetition = Some(REQUIRED);
        }
        let count = element.children.unwrap_or(0);
        if count == 0 && element.physical.is_some() {
            return self.leaf(at);
        }
        element.physical = None;
        let mut children = Vec::new();
        let mut next = at + 1;
        for _ in 0..count {
            children.push(next);
            next = self.mend(next)?;
        }
        self.group(at, &children);
        let inserted = self.wrapped(at, &children);
        Ok(next + usize::from(inserted))
    }

    /// Leaves the annotation of a group out that its children do not fit.
    fn group(&mut self, at: usize, children: &[usize]) {
        let Some(element) = self.elements.get(at) else { return };
        let logical = element.logical.as_ref().map(|logical| logical.id);
        let wanted = match (logical, element.converted) {
            (Some(LOGICAL_LIST), _) | (None, Some(LIST_OF)) => LIST_OF,
            (Some(LOGICAL_MAP), _) | (None, Some(MAP | MAP_KEY_VALUE)) => MAP,
            (Some(VARIANT), _) => VARIANT,
            _ => 0,
        };
        let fits = match wanted {
            LIST_OF => self.is_list(children),
            MAP => self.is_map(children),
            VARIANT => true,
            _ => false,
        };
        // Repeated groups of old writers name themselves after what is around them: no fault.
        let repeated = element.is_repeated();
        if wanted != 0 && !fits && !repeated && at > 0 {
            self.remark(at);
        }
        if let Some(element) = self.elements.get_mut(at) {
            if !fits || at == 0 {
                (element.logical, element.converted) = (None, None);
            } else {
                element.converted = Some(wanted).filter(|&n| n != VARIANT);
            }
            (element.scale, element.precision, element.length) = (None, None, None);
        }
        // What is repeated is a list already, unless it is the middle of one or of a map.
        let is_middle = fits && wanted != VARIANT && !repeated && at > 0;
        for &child in children.iter().filter(|_| !is_middle) {
            if let Some(child) =
                self.elements.get_mut(child).filter(|c| c.is_repeated() && c.physical.is_none())
            {
                (child.logical, child.converted) = (None, None);
            }
        }
    }

    /// A list of maps of two levels, as Avro's writer makes it: its element is the repeated map itself. A
    /// level between, which is always there and counts for nothing, makes it a list of three. Whether one
    /// was put there.
    fn wrapped(&mut self, at: usize, children: &[usize]) -> bool {
        let is_list = |element: &Element| element.converted == Some(LIST_OF) && !element.is_repeated();
        let [child] = children else { return false };
        if !self.elements.get(at).is_some_and(is_list) {
            return false;
        }
        let map = self.elements.get_mut(*child).filter(|map| map.converted == Some(MAP) && map.is_repeated());
        let Some(map) = map else { return false };
        let inner = Element {
            repetition: Some(REQUIRED),
            name: std::mem::replace(&mut map.name, Cow::Borrowed("list")),
            children: map.children.replace(1),
            converted: map.converted.take(),
            logical: map.logical.take(),
            ..Element::default()
        };
        self.elements.insert(child + 1, inner);
        true
    }

    /// Whether these are what is below a list: one repeated element.
    fn is_list(&self, children: &[usize]) -> bool {
        matches!(children, [only] if self.elements.get(*only).is_some_and(Element::is_repeated))
    }

    /// Whether these are what is below a map: one repeated group of a key and a value, or of keys alone.
    fn is_map(&self, children: &[usize]) -> bool {
        let [only] = children else { return false };
        let Some(pair) = self.elements.get(*only).filter(|pair| pair.is_repeated()) else { return false };
        let single = |at: usize| self.elements.get(at).is_some_and(|element| !element.is_repeated());
        match pair.children {
            Some(1) => single(only + 1),
            Some(2) => single(only + 1) && single(self.behind(only + 1)),
            _ => false,
        }
    }

    /// The place behind an element and what is below it.
    fn behind(&self, at: usize) -> usize {
        let (mut left, mut at) = (1, at);
        while left > 0 && at < self.elements.len() {
            left += self.elements.get(at).and_then(|element| element.children).unwrap_or(0) - 1;
            at += 1;
        }
        at
    }

    /// Leaves the annotation of a column out that its type does not fit.
    fn leaf(&mut self, at: usize) -> Result<usize> {
        let Some(element) = self.elements.get_mut(at) else { return Ok(at + 1) };
        let (physical, length) = (element.physical.unwrap_or(-1), element.length.unwrap_or(-1));
        let mut misfit = false;
        if let Some(logical) = &element.logical {
            if logical.fits(physical, length) {
                // The crate makes the converted type of it.
                let decimal = logical.id == 5;
                (element.scale, element.precision) = match logical.numbers {
                    [scale, precision] if decimal => (scale, precision),
                    _ => (None, None),
                };
                element.converted = None;
                return Ok(at + 1);
            }
            // Numbers beyond 18 are of later versions.
            misfit = logical.id <= 18;
            element.logical = None;
        }
        // A scale that is left out is none.
        let scale = element.scale.unwrap_or(0);
        let fits = match element.converted {
            None => true,
            // text, enum, JSON, BSON
            Some(0 | 4 | 19 | 20) => physical == BYTES,
            Some(DECIMAL) => is_decimal(physical, length, element.precision, scale),
            // dates, milliseconds of a day, integers up to 32 bits
            Some(6 | 7 | 11..=13 | 15..=17) => physical == INT32,
            // microseconds of a day, timestamps, integers of 64 bits
            Some(8..=10 | 14 | 18) => physical == INT64,
            Some(INTERVAL) => physical == FIXED && length == 12,
            // Numbers beyond are of drafts and of later versions.
            Some(other) => !(0..=INTERVAL).contains(&other),
        };
        let known = element.converted.is_some_and(|n| (0..=INTERVAL).contains(&n) && fits);
        element.converted = element.converted.filter(|_| known);
        let decimal = element.converted == Some(DECIMAL);
        element.scale = Some(scale).filter(|_| decimal);
        element.precision = element.precision.filter(|_| decimal);
        if !fits || (misfit && !known) {
            self.remark(at);
        }
        Ok(at + 1)
    }

    fn remark(&mut self, at: usize) {
        if self.remarks.len() < REMARKS
            && let Some(element) = self.elements.get(at)
        {
            let name = &element.name;
            self.remarks.push(format!("the annotation of {name:?} does not fit its type and is not used"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::{ConvertedType, LogicalType};
    use parquet::file::metadata::ParquetMetaDataReader;
    use parquet::schema::types::SchemaDescPtr;

    /// An element of these fields: numbers, and the name.
    fn element(fields: &[(i64, i64)], name: &str) -> Element<'static> {
        let get = |id: i64| fields.iter().find(|(n, _)| *n == id).map(|(_, value)| *value);
        Element {
            physical: get(1),
            length: get(2),
            repetition: get(3),
            name: Cow::Owned(name.to_owned()),
            children: get(5),
            converted: get(6),
            scale: get(7),
            precision: get(8),
            id: get(9),
            logical: None,
        }
    }

    /// What the crate makes of a footer with this schema, and the remarks.
    fn schema(elements: &[Element]) -> (SchemaDescPtr, Vec<String>) {
        // version 1; the schema; 0 rows; no row groups
        let mut bytes = vec![0x15, 2, 0x19];
        put_list(&mut bytes, elements.len() as u64, STRUCT);
        elements.iter().for_each(|element| element.put(&mut bytes));
        bytes.extend([0x16, 0, 0x19, 0x0c, 0]);
        let mut remarks = Vec::new();
        let corrected = super::super::repair::footer(&bytes, &mut remarks).unwrap().bytes;
        let metadata = ParquetMetaDataReader::decode_metadata(&corrected).unwrap();
        (metadata.file_metadata().schema_descr_ptr(), remarks)
    }

    #[test]
    fn what_is_left_out_has_the_definitions_default() {
        // No repetition anywhere; a decimal without its scale; a converted type that no version has.
        let (schema, remarks) = schema(&[
            element(&[(5, 3)], "root"),
            element(&[(1, INT64)], "plain"),
            element(&[(1, INT32), (3, 1), (6, DECIMAL), (8, 9)], "price"),
            element(&[(1, BYTES), (3, 1), (6, 24)], "odd"),
        ]);
        assert!(remarks.is_empty(), "{remarks:?}");
        let price = schema.column(1);
        assert_eq!((price.type_precision(), price.type_scale()), (9, 0));
        assert_eq!(price.converted_type(), ConvertedType::DECIMAL);
        assert_eq!(schema.column(2).converted_type(), ConvertedType::NONE);
        assert_eq!(schema.column(0).max_def_level(), 0);
    }

    #[test]
    fn annotations_that_do_not_fit_are_said_and_left_out() {
        let (schema, remarks) = schema(&[
            element(&[(5, 4)], "root"),
            element(&[(1, INT64), (3, 0), (6, 0)], "text in integers"),
            element(&[(1, INT32), (3, 0), (6, DECIMAL), (7, -1), (8, 5)], "negative scale"),
            element(&[(3, 1), (5, 1), (6, LIST_OF)], "no list"),
            element(&[(1, INT32), (3, 0)], "element"),
            element(&[(1, INT32), (3, 0), (6, MAP)], "no map"),
        ]);
        assert_eq!(remarks.len(), 4, "{remarks:?}");
        for leaf in 0..4 {
            assert_eq!(schema.column(leaf).converted_type(), ConvertedType::NONE, "{leaf}");
        }
    }

    #[test]
    fn a_repeated_map_is_a_list_of_pairs() {
        for converted in [MAP, MAP_KEY_VALUE] {
            let (schema, remarks) = schema(&[
                element(&[(5, 1)], "root"),
                element(&[(3, REPEATED), (5, 1), (6, converted)], "map"),
                element(&[(3, REPEATED), (5, 2)], "pair"),
                element(&[(1, INT32), (3, 0)], "key"),
                element(&[(1, INT32), (3, 1)], "value"),
            ]);
            assert!(remarks.is_empty());
            let arrow = parquet::arrow::parquet_to_arrow_schema(&schema, None).unwrap();
            assert!(matches!(arrow.field(0).data_type(), arrow::datatypes::DataType::List(_)), "{arrow}");
        }
    }

    #[test]
    fn a_list_of_maps_of_two_levels_is_a_list_of_maps() {
        let (schema, remarks) = schema(&[
            element(&[(5, 2)], "root"),
            element(&[(3, 1), (5, 1), (6, LIST_OF)], "maps"),
            element(&[(3, REPEATED), (5, 1), (6, MAP)], "array"),
            element(&[(3, REPEATED), (5, 2), (6, MAP_KEY_VALUE)], "map"),
            element(&[(1, BYTES), (3, 0), (6, 0)], "key"),
            element(&[(1, INT32), (3, 1)], "value"),
            element(&[(1, INT32), (3, 1)], "after"),
        ]);
        assert!(remarks.is_empty(), "{remarks:?}");
        let arrow = parquet::arrow::parquet_to_arrow_schema(&schema, None).unwrap();
        let arrow::datatypes::DataType::List(item) = arrow.field(0).data_type() else { panic!("{arrow}") };
        assert!(matches!(item.data_type(), arrow::datatypes::DataType::Map(_, _)), "{arrow}");
        assert_eq!((schema.column(1).max_rep_level(), schema.column(1).max_def_level()), (2, 4));
        assert_eq!(arrow.field(1).name(), "after");
    }

    #[test]
    fn a_logical_type_wins_over_a_converted_one_that_differs() {
        // Local times: older writers say microseconds since 1970, which are in UTC.
        let mut local = element(&[(1, INT64), (3, 0), (6, 10)], "t");
        local.logical = Some(Logical {
            id: 8,
            numbers: [None; 2],
            flags: [Some(false), None],
            text: None,
            unit: Some(2),
        });
        let (schema, remarks) = schema(&[element(&[(5, 1)], "root"), local]);
        assert!(remarks.is_empty());
        let LogicalType::Timestamp(of) = schema.column(0).logical_type_ref().unwrap().clone() else {
            panic!()
        };
        assert!(!of.is_adjusted_to_u_t_c);
    }

    #[test]
    fn hostile_counts_are_refused() {
        let elements = [element(&[(5, 1 << 30)], "root")];
        assert!(check(&elements).unwrap_err().to_string().contains("children"));
        let deep: Vec<Element> =
            (0..200).map(|_| element(&[(5, 1)], "x")).chain([element(&[], "y")]).collect();
        assert!(check(&deep).is_err());
    }
}
