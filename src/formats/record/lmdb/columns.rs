//! The entries of a database as rows: the key, and the value or what it holds.

use super::store::Store;
use super::values::{Datum, Keys, Kind};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::engines::records::container::{Builder, Columns, Container, Record, key_text};
use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float32Builder, Int32Builder, ListBuilder, StringBuilder,
    UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Value,
    Channels,
    Height,
    Width,
    Data,
    Label,
    Floats,
    Encoded,
}

/// The columns.
pub(super) struct EntryColumns {
    store: Arc<Store>,
    keys: Keys,
    schema: SchemaRef,
    of: Vec<Column>,
}

impl EntryColumns {
    /// The columns of a database whose keys are these.
    pub(super) fn new(store: &Arc<Store>, keys: Keys) -> EntryColumns {
        let key = match keys {
            Keys::Text => DataType::Utf8,
            Keys::Integer => DataType::UInt64,
            Keys::Bytes => DataType::Binary,
        };
        let mut all = vec![(Column::Key, Field::new("key", key, true))];
        let value = |data_type| (Column::Value, Field::new("value", data_type, true));
        match store.kind {
            Kind::Bytes | Kind::Maps => all.push(value(DataType::Binary)),
            Kind::Text => all.push(value(DataType::Utf8)),
            Kind::Integer => all.push(value(DataType::UInt64)),
            Kind::Datum => {
                let floats = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
                all.extend([
                    (Column::Channels, Field::new("channels", DataType::Int32, true)),
                    (Column::Height, Field::new("height", DataType::Int32, true)),
                    (Column::Width, Field::new("width", DataType::Int32, true)),
                    (Column::Data, Field::new("data", DataType::Binary, true)),
                    (Column::Label, Field::new("label", DataType::Int32, true)),
                    (Column::Floats, Field::new("float_data", floats, true)),
                    (Column::Encoded, Field::new("encoded", DataType::Boolean, true)),
                ]);
            }
        }
        let (of, fields): (Vec<Column>, Vec<Field>) = all.into_iter().unzip();
        EntryColumns { store: store.clone(), keys, schema: Arc::new(Schema::new(fields)), of }
    }
}

impl Columns for EntryColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| self.of.get(*column) != Some(&Column::Key))
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let none = || Error::bug(format!("column {column} was asked for"));
            let column = *self.of.get(*column).ok_or_else(none)?;
            Ok((column, self.made(column)))
        };
        let made: Vec<(Column, Made)> = columns.iter().map(made).collect::<Result<_>>()?;
        Ok(Box::new(EntryBuilder { columns: self, made }))
    }
}

impl EntryColumns {
    fn made(&self, column: Column) -> Made {
        match column {
            Column::Key => match self.keys {
                Keys::Text => Made::Text(StringBuilder::new()),
                Keys::Integer => Made::Unsigned(UInt64Builder::new()),
                Keys::Bytes => Made::Bytes(BinaryBuilder::new()),
            },
            Column::Value => match self.store.kind {
                Kind::Text => Made::Text(StringBuilder::new()),
                Kind::Integer => Made::Unsigned(UInt64Builder::new()),
                _ => Made::Bytes(BinaryBuilder::new()),
            },
            Column::Data => Made::Bytes(BinaryBuilder::new()),
            Column::Floats => Made::Floats(ListBuilder::new(Float32Builder::new())),
            Column::Encoded => Made::Truth(BooleanBuilder::new()),
            Column::Channels | Column::Height | Column::Width | Column::Label => {
                Made::Integer(Int32Builder::new())
            }
        }
    }

    fn says(&self, record: &Record, what: &str) {
        let name = self.store.name(record);
        let error = Error::malformed(format!("LMDB: entry {name:?}: {what}"));
        self.store.problems().add(error.at(record.span.start));
    }
}

struct EntryBuilder<'a> {
    columns: &'a EntryColumns,
    made: Vec<(Column, Made)>,
}

enum Made {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Unsigned(UInt64Builder),
    Integer(Int32Builder),
    Truth(BooleanBuilder),
    Floats(ListBuilder<Float32Builder>),
}

impl Builder for EntryBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        let columns = self.columns;
        let is_datum =
            columns.store.kind == Kind::Datum && self.made.iter().any(|(of, _)| *of != Column::Key);
        let datum = payload.filter(|_| is_datum).map(Datum::read);
        if let Some(None) = datum {
            columns.says(record, "it is no Datum as the others are");
        }
        let datum = datum.flatten();
        for (column, made) in &mut self.made {
            let bytes = match column {
                Column::Key => record.key.as_deref(),
                Column::Data => datum.as_ref().and_then(|datum| payload?.get(datum.data.clone()?)),
                _ => payload,
            };
            let length = bytes.map_or(0, |bytes| bytes.len() as u64);
            limits::check(length, limits::CHUNK, "a value")?;
            match made {
                Made::Text(texts) if *column == Column::Key => {
                    let key = bytes.unwrap_or_default();
                    if std::str::from_utf8(key).is_err() {
                        columns.says(record, "its key is no text; it is shown in hexadecimal");
                    }
                    match std::str::from_utf8(key) {
                        Ok(text) => texts.append_value(text),
                        Err(_) => texts.append_value(key_text(key)),
                    }
                }
                Made::Text(texts) => {
                    let text = bytes.and_then(|text| std::str::from_utf8(text).ok());
                    if text.is_none() && bytes.is_some() {
                        columns.says(record, "it is no text as those before it; it stands in no column");
                    }
                    texts.append_option(text);
                }
                Made::Bytes(all) => all.append_option(bytes),
                Made::Unsigned(numbers) => {
                    let number = bytes.and_then(|bytes| columns.store.integer(bytes));
                    if number.is_none() && bytes.is_some() {
                        columns.says(record, "it has another size than the integers before it");
                    }
                    numbers.append_option(number);
                }
                Made::Integer(numbers) => {
                    numbers.append_option(datum.as_ref().and_then(|datum| match column {
                        Column::Channels => datum.channels,
                        Column::Height => datum.height,
                        Column::Width => datum.width,
                        _ => datum.label,
                    }))
                }
                Made::Truth(truths) => truths.append_option(datum.as_ref().and_then(|datum| datum.encoded)),
                Made::Floats(lists) => match &datum {
                    Some(datum) => lists.append_value(datum.floats.iter().copied().map(Some)),
                    None => lists.append_null(),
                },
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let array = |(_, made): (Column, Made)| -> ArrayRef {
            match made {
                Made::Text(mut made) => Arc::new(made.finish()),
                Made::Bytes(mut made) => Arc::new(made.finish()),
                Made::Unsigned(mut made) => Arc::new(made.finish()),
                Made::Integer(mut made) => Arc::new(made.finish()),
                Made::Truth(mut made) => Arc::new(made.finish()),
                Made::Floats(mut made) => Arc::new(made.finish()),
            }
        };
        Ok(self.made.into_iter().map(array).collect())
    }
}
