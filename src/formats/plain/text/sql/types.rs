//! The types of columns in each dialect, and names.

use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use std::collections::HashSet;

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    DuckDb,
    SQLite,
    Postgres,
}

/// Bytes of a name, of which PostgreSQL drops more (its `NAMEDATALEN` less one).
const LONGEST: usize = 63;

impl Dialect {
    /// Names that the dialect tells apart, each once.
    pub(super) fn names<'a>(self, names: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut seen = HashSet::new();
        // Names in quotes have a case in PostgreSQL only.
        let key = |name: &str| if self == Dialect::Postgres { name.to_owned() } else { name.to_lowercase() };
        let cut = |name: &str, most: usize| -> String {
            let most = if self == Dialect::Postgres { most } else { usize::MAX };
            let ends = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= most);
            name.get(..ends.last().unwrap_or(0)).unwrap_or_default().to_owned()
        };
        let mut unique = |(n, name): (usize, &str)| {
            let name = if name.is_empty() { format!("column{n}") } else { name.replace('\0', "_") };
            let mut unique = cut(&name, LONGEST);
            for n in 2u64.. {
                if seen.insert(key(&unique)) {
                    break;
                }
                let tail = format!("_{n}");
                unique = cut(&name, LONGEST - tail.len()) + &tail;
            }
            unique
        };
        names.enumerate().map(&mut unique).collect()
    }
}

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The values of dictionaries and runs.
fn values(of: &DataType) -> &DataType {
    match of {
        DataType::Dictionary(_, inner) => values(inner),
        DataType::RunEndEncoded(_, inner) => values(inner.data_type()),
        other => other,
    }
}

/// The elements of a list.
pub(super) fn element(of: &DataType) -> Option<&Field> {
    match of {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// Whether all members of a struct have names that tell them apart.
fn are_named(fields: &Fields) -> bool {
    let mut seen = HashSet::new();
    let mut fits = |name: &str| !name.is_empty() && !name.contains('\0') && seen.insert(name.to_lowercase());
    !fields.is_empty() && fields.iter().all(|field| fits(field.name()))
}

/// Whether nested values become JSON.
pub(super) fn is_json(dialect: Dialect, of: &DataType) -> bool {
    let of = values(of);
    if !of.is_nested() {
        return false;
    }
    match (dialect, of) {
        (Dialect::SQLite, _) | (_, DataType::Union(_, _)) => true,
        // Its arrays have one length at each depth, and its records types with names.
        (Dialect::Postgres, _) => element(of).is_none_or(|item| values(item.data_type()).is_nested()),
        (Dialect::DuckDb, DataType::FixedSizeList(_, 0)) => true,
        (Dialect::DuckDb, DataType::Struct(fields)) => {
            !are_named(fields) || fields.iter().any(|field| is_json(dialect, field.data_type()))
        }
        (Dialect::DuckDb, DataType::Map(entries, _)) => match entries.data_type() {
            DataType::Struct(pair) => pair.iter().any(|field| is_json(dialect, field.data_type())),
            _ => true,
        },
        (Dialect::DuckDb, _) => element(of).is_none_or(|item| is_json(dialect, item.data_type())),
    }
}

/// The type of a column. Empty for one of SQLite that takes anything as it is.
pub(super) fn declared(dialect: Dialect, of: &DataType) -> String {
    let of = values(of);
    if is_json(dialect, of) {
        return if dialect == Dialect::SQLite { "TEXT" } else { "JSON" }.to_owned();
    }
    match dialect {
        Dialect::DuckDb => duckdb(of),
        Dialect::SQLite => sqlite(of).to_owned(),
        Dialect::Postgres => postgres(of),
    }
}

fn duckdb(of: &DataType) -> String {
    use DataType as D;
    let nested = |of: &DataType| declared(Dialect::DuckDb, of);
    match of {
        D::FixedSizeList(item, count) => return format!("{}[{count}]", nested(item.data_type())),
        D::Struct(fields) => {
            let member = |field: &std::sync::Arc<Field>| {
                format!("{} {}", quoted(field.name()), nested(field.data_type()))
            };
            return format!("STRUCT({})", fields.iter().map(member).collect::<Vec<_>>().join(", "));
        }
        D::Map(entries, _) => {
            let D::Struct(pair) = entries.data_type() else { return "JSON".to_owned() };
            let all: Vec<String> = pair.iter().map(|field| nested(field.data_type())).collect();
            return format!("MAP({})", all.join(", "));
        }
        D::Decimal32(digits, scale)
        | D::Decimal64(digits, scale)
        | D::Decimal128(digits, scale)
        | D::Decimal256(digits, scale) => {
            return decimal(*digits, *scale, 38);
        }
        other => {
            if let Some(item) = element(other) {
                return format!("{}[]", nested(item.data_type()));
            }
        }
    }
    match of {
        D::Boolean => "BOOLEAN",
        D::Int8 => "TINYINT",
        D::Int16 => "SMALLINT",
        D::Int32 => "INTEGER",
        D::Int64 => "BIGINT",
        D::UInt8 => "UTINYINT",
        D::UInt16 => "USMALLINT",
        D::UInt32 => "UINTEGER",
        D::UInt64 => "UBIGINT",
        D::Float16 | D::Float32 => "FLOAT",
        D::Float64 => "DOUBLE",
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => "BLOB",
        D::Date32 | D::Date64 => "DATE",
        D::Timestamp(_, Some(_)) => "TIMESTAMPTZ",
        D::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S",
        D::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS",
        D::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP",
        D::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS",
        D::Time32(_) | D::Time64(_) => "TIME",
        D::Duration(_) | D::Interval(_) => "INTERVAL",
        _ => "VARCHAR",
    }
    .to_owned()
}

/// A decimal; text where the dialect has none of so many digits.
fn decimal(digits: u8, scale: i8, most: u8) -> String {
    let text = if most == 38 { "VARCHAR" } else { "NUMERIC" };
    match u8::try_from(scale) {
        Ok(scale) if scale <= digits && digits <= most => {
            format!("{}({digits}, {scale})", if most == 38 { "DECIMAL" } else { "NUMERIC" })
        }
        _ => text.to_owned(),
    }
}

fn sqlite(of: &DataType) -> &'static str {
    use DataType as D;
    match of {
        D::UInt64 | D::Null => "",
        D::Boolean => "BOOLEAN",
        of if of.is_integer() => "INTEGER",
        of if of.is_floating() => "REAL",
        of if of.is_binary() => "BLOB",
        D::FixedSizeBinary(_) => "BLOB",
        _ => "TEXT",
    }
}

fn postgres(of: &DataType) -> String {
    use DataType as D;
    match of {
        D::Decimal32(digits, scale)
        | D::Decimal64(digits, scale)
        | D::Decimal128(digits, scale)
        | D::Decimal256(digits, scale) => {
            return decimal(*digits, *scale, 76);
        }
        other => {
            if let Some(item) = element(other) {
                return format!("{}[]", declared(Dialect::Postgres, item.data_type()));
            }
        }
    }
    match of {
        D::Boolean => "BOOLEAN",
        D::Int8 | D::Int16 | D::UInt8 => "SMALLINT",
        D::Int32 | D::UInt16 => "INTEGER",
        D::Int64 | D::UInt32 => "BIGINT",
        D::UInt64 => "NUMERIC(20, 0)",
        D::Float16 | D::Float32 => "REAL",
        D::Float64 => "DOUBLE PRECISION",
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => "BYTEA",
        D::Date32 | D::Date64 => "DATE",
        D::Timestamp(_, Some(_)) => "TIMESTAMPTZ",
        D::Timestamp(_, None) => "TIMESTAMP",
        D::Time32(_) | D::Time64(_) => "TIME",
        D::Duration(_) | D::Interval(_) => "INTERVAL",
        _ => "TEXT",
    }
    .to_owned()
}

/// Whether the type of a column holds the same values and no others.
pub(super) fn is_kept(dialect: Dialect, of: &DataType) -> bool {
    use DataType as D;
    let narrow = matches!(
        of,
        D::Int32 | D::Int64 | D::Float32 | D::Float64 | D::Boolean | D::Utf8 | D::Binary | D::Date32
    );
    match dialect {
        Dialect::SQLite => matches!(of, D::Int64 | D::Float64 | D::Utf8 | D::Binary),
        Dialect::Postgres => {
            narrow
                || matches!(
                    of,
                    D::Int16 | D::Timestamp(TimeUnit::Microsecond, _) | D::Time64(TimeUnit::Microsecond)
                )
        }
        Dialect::DuckDb => {
            let inner = |field: &Field| is_kept(dialect, field.data_type());
            match of {
                D::Int8 | D::Int16 | D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => true,
                D::Timestamp(_, None)
                | D::Timestamp(TimeUnit::Microsecond, _)
                | D::Time64(TimeUnit::Microsecond) => true,
                D::Decimal128(digits, scale) => (0..=*digits as i8).contains(scale),
                D::List(item) | D::FixedSizeList(item, _) => !is_json(dialect, of) && inner(item),
                D::Struct(fields) => !is_json(dialect, of) && fields.iter().all(|field| inner(field)),
                D::Map(entries, _) => !is_json(dialect, of) && inner(entries),
                _ => narrow,
            }
        }
    }
}
