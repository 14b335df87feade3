//! The schema of a table that is written (specification, *Schemas and Data Types*, *Appendix C*).

use super::RULES;
use crate::bytes::error::{Error, Result};
use crate::engines::multifile::lake::write::{Column, Layout, check_layout};
use crate::engines::multifile::lake::{FIELD_ID, map};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of a new table.
pub(super) struct Made {
    pub(super) layout: Layout,
    /// The schema as it stands in the metadata.
    pub(super) json: Json,
    /// The largest number of a field.
    pub(super) last_id: i32,
}

fn with_id(field: Field, id: i32) -> Field {
    field.with_metadata(HashMap::from([(FIELD_ID.to_owned(), id.to_string())]))
}

/// The layout of a table in which partition columns stand in files, too.
fn laid_out(columns: Vec<Column>, partition: Vec<usize>) -> Layout {
    Layout { columns, partition, keeps_partition: true, folder: "data/" }
}

impl Made {
    /// Columns of these names and of the types that these fields are kept as.
    pub(super) fn new(fields: &Fields, names: &[String], partition: Vec<usize>) -> Result<Made> {
        let mut made = Made { layout: laid_out(Vec::new(), partition), json: Json::Null, last_id: 0 };
        // Numbers of columns come before those of what is in them.
        made.last_id = i32::try_from(fields.len()).map_err(|_| Error::limit("too many columns"))?;
        let mut list = Vec::new();
        for (n, (field, name)) in fields.iter().zip(names).enumerate() {
            let nullable = field.is_nullable() || *field.data_type() == DataType::Null;
            let (data_type, json) = made.data_type(&RULES.stored(field.data_type()).data_type)?;
            let id = n as i32 + 1;
            list.push(json!({ "id": id, "name": name, "required": !nullable, "type": json }));
            let field = Arc::new(with_id(Field::new(name, data_type, nullable), id));
            made.layout.columns.push(Column { from: Some(n), name: name.clone(), field });
        }
        made.json = json!({ "type": "struct", "schema-id": 0, "fields": list });
        Ok(made)
    }

    fn next(&mut self) -> i32 {
        self.last_id += 1;
        self.last_id
    }

    fn data_type(&mut self, data_type: &DataType) -> Result<(DataType, Json)> {
        Ok(match data_type {
            DataType::Struct(fields) => {
                let (mut made, mut list) = (Vec::<FieldRef>::new(), Vec::new());
                for field in fields {
                    let id = self.next();
                    let (inner, json) = self.data_type(field.data_type())?;
                    let (name, nullable) = (field.name(), field.is_nullable());
                    list.push(json!({ "id": id, "name": name, "required": !nullable, "type": json }));
                    made.push(Arc::new(with_id(Field::new(name, inner, nullable), id)));
                }
                (DataType::Struct(made.into()), json!({ "type": "struct", "fields": list }))
            }
            DataType::List(item) => {
                let id = self.next();
                let (inner, json) = self.data_type(item.data_type())?;
                let nullable = item.is_nullable();
                let list = DataType::List(Arc::new(with_id(Field::new("element", inner, nullable), id)));
                let json = json!({ "type": "list", "element-id": id, "element-required": !nullable, "element": json });
                (list, json)
            }
            DataType::Map(entries, _) => {
                let DataType::Struct(pair) = entries.data_type() else {
                    return Err(Error::bug("a map of no pairs"));
                };
                let [key, value] = pair.iter().as_slice() else {
                    return Err(Error::bug("a map of no pairs"));
                };
                let (key_id, value_id, nullable) = (self.next(), self.next(), value.is_nullable());
                let (of_key, key_json) = self.data_type(key.data_type())?;
                let (of_value, value_json) = self.data_type(value.data_type())?;
                let both = vec![
                    with_id(Field::new("key", of_key, false), key_id),
                    with_id(Field::new("value", of_value, nullable), value_id),
                ];
                let json = json!({
                    "type": "map", "key-id": key_id, "key": key_json, "value-id": value_id,
                    "value-required": !nullable, "value": value_json,
                });
                (map(both), json)
            }
            plain => (plain.clone(), json!(word(plain)?)),
        })
    }
}

/// The word for a type without members.
pub(super) fn word(data_type: &DataType) -> Result<String> {
    Ok(match data_type {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "long".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Time64(_) => "time".to_owned(),
        DataType::Timestamp(_, None) => "timestamp".to_owned(),
        DataType::Timestamp(_, Some(_)) => "timestamptz".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::Binary => "binary".to_owned(),
        DataType::FixedSizeBinary(size) => format!("fixed[{size}]"),
        DataType::Decimal128(digits, scale) => format!("decimal({digits}, {scale})"),
        other => return Err(Error::bug(format!("an Iceberg table has no {other}"))),
    })
}

/// A field of a table that is there as it is in files: with its number and nothing else.
fn plain(field: &Field) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| plain(field)).collect()),
        DataType::List(item) => DataType::List(plain(item)),
        DataType::Map(entries, sorted) => DataType::Map(plain(entries), *sorted),
        other => other.clone(),
    };
    let id = field.metadata().get(FIELD_ID).map(|id| (FIELD_ID.to_owned(), id.clone()));
    let made = Field::new(field.name(), data_type, field.is_nullable());
    Arc::new(made.with_metadata(id.into_iter().collect()))
}

/// The columns of a table that is there, of rows of these fields.
///
/// # Errors
/// `Unsupported` where they do not fit: with a column that is not there, is of another type, or has no nulls.
pub(super) fn layout(table: &Schema, given: &Fields, partition: Vec<usize>) -> Result<Layout> {
    let names = RULES.names(given);
    let column = |field: &FieldRef| Column {
        from: names.iter().position(|name| name == field.name()),
        name: field.name().clone(),
        field: plain(field),
    };
    let layout = laid_out(table.fields().iter().map(column).collect(), partition);
    check_layout(&RULES, table, given, &names, &layout)?;
    Ok(layout)
}
