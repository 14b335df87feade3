//! What the table formats make of Arrow's types: the type that a column is cast to before it is written, which is the
//! one that it is read as again, and what is lost on the way.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::data::format::{Loss, LossKind, loss, note};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use std::collections::HashSet;
use std::sync::Arc;

/// Which types a table format has beside those that all have.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Integers of 8 and 16 bits.
    pub small: bool,
    /// Times of day.
    pub times: bool,
    /// Bytes of a fixed size.
    pub fixed: bool,
    /// Whether names that differ in their case only are the same.
    pub folds_case: bool,
}

/// A type as a table format keeps it.
pub struct Stored {
    /// The type.
    pub data_type: DataType,
    /// What values lose.
    pub lost: Vec<(LossKind, &'static str)>,
}

impl From<DataType> for Stored {
    fn from(data_type: DataType) -> Self {
        Stored { data_type, lost: Vec::new() }
    }
}

impl Stored {
    fn text(what: &'static str) -> Self {
        Stored { data_type: DataType::Utf8, lost: vec![(LossKind::Type, what)] }
    }

    fn is_text(&self) -> bool {
        self.lost.iter().any(|(kind, _)| *kind == LossKind::Type)
    }

    /// Something around it.
    fn inside(self, around: impl FnOnce(DataType) -> DataType) -> Self {
        // Arrow casts no union or interval inside of something: the whole becomes text.
        let data_type = if self.is_text() { DataType::Utf8 } else { around(self.data_type) };
        Stored { data_type, lost: self.lost }
    }
}

impl Rules {
    /// The type that a column of this type is written as, and read as.
    pub fn stored(&self, data_type: &DataType) -> Stored {
        use DataType as D;
        match data_type {
            D::Int8 | D::Int16 if !self.small => D::Int32.into(),
            D::UInt8 if self.small => D::Int16.into(),
            D::UInt8 | D::UInt16 => D::Int32.into(),
            D::UInt32 => D::Int64.into(),
            D::UInt64 => D::Decimal128(20, 0).into(),
            D::Float16 => D::Float32.into(),
            // A column of nothing but nulls.
            D::Null | D::Utf8 | D::LargeUtf8 | D::Utf8View => D::Utf8.into(),
            D::FixedSizeBinary(size) if self.fixed && *size > 0 => D::FixedSizeBinary(*size).into(),
            D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => D::Binary.into(),
            D::Date64 => D::Date32.into(),
            D::Time32(_) | D::Time64(_) if !self.times => Stored::text("the time of day is kept as text"),
            D::Time64(TimeUnit::Nanosecond) => Stored {
                data_type: D::Time64(TimeUnit::Microsecond),
                lost: vec![(LossKind::Precision, "nanoseconds become microseconds")],
            },
            D::Time32(_) | D::Time64(_) => D::Time64(TimeUnit::Microsecond).into(),
            D::Timestamp(unit, zone) => timestamp(*unit, zone.as_deref()),
            D::Decimal32(digits, scale)
            | D::Decimal64(digits, scale)
            | D::Decimal128(digits, scale)
            | D::Decimal256(digits, scale) => decimal(*digits, *scale),
            D::Duration(_) => Stored::text("the duration is kept as text"),
            D::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
                Stored::text("the interval is kept as text")
            }
            D::Union(_, _) => Stored::text("the union is kept as text"),
            D::Dictionary(_, values) => self.stored(values),
            D::RunEndEncoded(_, values) => self.stored(values.data_type()),
            D::List(item)
            | D::LargeList(item)
            | D::ListView(item)
            | D::LargeListView(item)
            | D::FixedSizeList(item, _) => {
                let nullable = is_nullable(item);
                let list = |of| D::List(Arc::new(Field::new("element", of, nullable)));
                self.stored(item.data_type()).inside(list)
            }
            D::Struct(fields) => self.record(fields),
            D::Map(entries, _) => self.map(entries),
            other => other.clone().into(),
        }
    }

    fn record(&self, fields: &Fields) -> Stored {
        if fields.is_empty() {
            return Stored::text("a struct without fields is kept as text");
        }
        let (mut inner, mut lost) = (Vec::new(), Vec::new());
        for field in fields {
            let stored = self.stored(field.data_type());
            inner.push(Arc::new(Field::new(field.name(), stored.data_type, is_nullable(field))));
            lost.extend(stored.lost);
        }
        let data_type = DataType::Struct(inner.into());
        Stored { data_type: data_type.clone(), lost }.inside(|_| data_type)
    }

    fn map(&self, entries: &FieldRef) -> Stored {
        let DataType::Struct(fields) = entries.data_type() else {
            return Stored::text("the map is kept as text");
        };
        let [key, value] = fields.iter().as_slice() else {
            return Stored::text("the map is kept as text");
        };
        let of_key = self.stored(key.data_type());
        if of_key.is_text() {
            return of_key;
        }
        let mut stored = self.stored(value.data_type());
        stored.lost.extend(of_key.lost);
        let nullable = is_nullable(value);
        stored.inside(|of| {
            let pair = vec![Field::new("key", of_key.data_type, false), Field::new("value", of, nullable)];
            super::super::map(pair)
        })
    }

    /// What is lost of a table of these columns in a table format of this name.
    pub fn losses(&self, fields: &Fields, format: &str) -> Vec<Loss> {
        let mut losses = Vec::new();
        for (field, name) in fields.iter().zip(self.names(fields)) {
            if *field.name() != name {
                let what = format!("it is called {name}");
                losses.push(loss(LossKind::Name, what).of(field.name()).called(name));
            }
            let stored = self.stored(field.data_type());
            for (kind, what) in &stored.lost {
                let loss = loss(*kind, *what).of(field.name());
                losses.push(if *kind == LossKind::Precision { loss.if_any() } else { loss });
            }
            // What a reader gives back is not the same type, though the same values.
            if !stored.is_text() && &stored.data_type != field.data_type() {
                let what = format!("it is read as {}", display::arrow_type(&stored.data_type));
                let note = note(LossKind::Type, what).of(field.name());
                // Of texts, lists and structs it may be the names of types and of members only.
                losses.push(if is_other(field.data_type(), &stored.data_type) {
                    note
                } else {
                    note.if_any()
                });
            }
            if *field.data_type() == DataType::Null && !field.is_nullable() {
                losses.push(note(LossKind::Null, "the column may have nulls").of(field.name()));
            }
            if field.metadata().keys().any(|key| !key.starts_with("PARQUET:")) {
                let what = format!("{format} does not keep what the column's metadata say of it");
                losses.push(note(LossKind::Metadata, what).of(field.name()).if_any());
            }
        }
        losses
    }

    /// Names of columns, each once.
    pub fn names(&self, fields: &Fields) -> Vec<String> {
        let mut seen = HashSet::new();
        let unique = |field: &FieldRef| {
            let name = if field.name().is_empty() { "column" } else { field.name() };
            let mut unique = name.to_owned();
            for n in 2u64.. {
                if seen.insert(self.folded(&unique)) {
                    break;
                }
                unique = format!("{name}_{n}");
            }
            unique
        };
        fields.iter().map(unique).collect()
    }

    fn folded(&self, name: &str) -> String {
        if self.folds_case { name.to_lowercase() } else { name.to_owned() }
    }

    /// Whether a table format can hold columns of these types.
    ///
    /// # Errors
    /// `Unsupported` where there is no column, or members of a struct have no names of their own.
    pub fn check(&self, fields: &Fields, format: &str) -> Result<()> {
        if fields.is_empty() {
            return Err(Error::unsupported(format!("a table without columns as {format}")));
        }
        fields.iter().try_for_each(|field| {
            self.check_members(&self.stored(field.data_type()).data_type, format)
                .map_err(|e| e.in_node(field.name()))
        })
    }

    fn check_members(&self, data_type: &DataType, format: &str) -> Result<()> {
        match data_type {
            DataType::Struct(fields) => {
                let mut seen = HashSet::new();
                for field in fields {
                    if field.name().is_empty() || !seen.insert(self.folded(field.name())) {
                        let what =
                            if field.name().is_empty() { "without a name" } else { "of the same name" };
                        return Err(Error::unsupported(format!("{format} has no members {what}")));
                    }
                    self.check_members(field.data_type(), format)?;
                }
                Ok(())
            }
            DataType::List(item) => self.check_members(item.data_type(), format),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) => {
                    pair.iter().try_for_each(|field| self.check_members(field.data_type(), format))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn is_nullable(field: &Field) -> bool {
    field.is_nullable() || *field.data_type() == DataType::Null
}

fn timestamp(unit: TimeUnit, zone: Option<&str>) -> Stored {
    let mut lost = Vec::new();
    if unit == TimeUnit::Nanosecond {
        lost.push((LossKind::Precision, "nanoseconds become microseconds"));
    }
    if zone.is_some_and(|zone| !matches!(zone, "UTC" | "+00:00" | "Z" | "Etc/UTC")) {
        lost.push((LossKind::Zone, "the time zone is lost, the moments stay: they are in UTC"));
    }
    Stored { data_type: DataType::Timestamp(TimeUnit::Microsecond, zone.map(|_| "UTC".into())), lost }
}

fn decimal(digits: u8, scale: i8) -> Stored {
    match u8::try_from(scale) {
        Ok(places) if places <= digits && digits <= 38 => DataType::Decimal128(digits, scale).into(),
        Ok(places) if places <= digits => Stored::text("a decimal of more than 38 digits is kept as text"),
        _ => Stored::text("a decimal of such a scale is kept as text"),
    }
}

/// Whether values of one type are words for values of another one.
fn is_other(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match from {
        D::LargeUtf8 | D::Utf8View | D::LargeBinary | D::BinaryView => false,
        D::Dictionary(_, _) | D::RunEndEncoded(_, _) => false,
        D::Timestamp(TimeUnit::Microsecond, Some(_)) => false,
        D::Decimal32(_, _) | D::Decimal64(_, _) | D::Decimal256(_, _) => false,
        _ => !from.is_nested() && from != to,
    }
}

/// Whether values of one of the stored types can be those of another one without a loss: a table's column may be wider.
pub fn fits(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (D::Int8, D::Int16 | D::Int32 | D::Int64)
        | (D::Int16, D::Int32 | D::Int64)
        | (D::Int32, D::Int64 | D::Float64)
        | (D::Int8 | D::Int16, D::Float32 | D::Float64)
        | (D::Float32, D::Float64) => true,
        (D::Decimal128(p, s), D::Decimal128(q, t)) => {
            s <= t && i16::from(*p) - i16::from(*s) <= i16::from(*q) - i16::from(*t)
        }
        (from, D::Decimal128(p, s)) if from.is_integer() => {
            let digits = match from {
                D::Int8 => 3,
                D::Int16 => 5,
                D::Int32 => 10,
                _ => 19,
            };
            digits <= i16::from(*p) - i16::from(*s)
        }
        (D::Date32, D::Timestamp(_, None)) => true,
        (D::List(a), D::List(b)) => fits_field(a, b),
        (D::Map(a, _), D::Map(b, _)) => match (a.data_type(), b.data_type()) {
            (D::Struct(a), D::Struct(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| fits_field(a, b))
            }
            _ => false,
        },
        (D::Struct(a), D::Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name() == b.name() && fits_field(a, b))
        }
        (from, to) => from == to,
    }
}

fn fits_field(from: &Field, to: &Field) -> bool {
    (to.is_nullable() || !from.is_nullable()) && fits(from.data_type(), to.data_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { small: false, times: true, fixed: true, folds_case: true };

    #[test]
    fn names_are_unique() {
        let fields: Fields = ["a", "A", "", "a_2", "a"]
            .map(|name| Field::new(name, DataType::Int32, true))
            .into_iter()
            .collect();
        assert_eq!(RULES.names(&fields), ["a", "A_2", "column", "a_2_2", "a_3"]);
        let exact = Rules { folds_case: false, ..RULES };
        assert_eq!(exact.names(&fields), ["a", "A", "column", "a_2", "a_3"]);
    }

    #[test]
    fn wider_columns_take_narrower_values() {
        use DataType as D;
        assert!(fits(&D::Int32, &D::Int64) && !fits(&D::Int64, &D::Int32) && !fits(&D::Int64, &D::Float64));
        assert!(fits(&D::Decimal128(9, 2), &D::Decimal128(11, 4)));
        assert!(!fits(&D::Decimal128(9, 2), &D::Decimal128(10, 4)));
        assert!(fits(&D::Int64, &D::Decimal128(20, 0)) && !fits(&D::Int64, &D::Decimal128(20, 2)));
        let list = |of: D, nullable| D::List(Arc::new(Field::new("element", of, nullable)));
        assert!(fits(&list(D::Int32, false), &list(D::Int64, true)));
        assert!(!fits(&list(D::Int32, true), &list(D::Int64, false)));
    }
}
