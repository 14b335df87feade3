//! The schema of a table that is written (PROTOCOL.md, *Schema Serialization Format*, *Column Mapping*).

use super::{MAPPING, RULES};
use crate::bytes::error::{Error, Result};
use crate::data::format::Options;
use crate::engines::multifile::lake::write::{Column, Layout};
use crate::engines::multifile::lake::{FIELD_ID, PHYSICAL_NAME, map};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// What names of columns in files must not have, unless they are called otherwise there.
const SPECIAL: &[char] = &[' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

/// The columns of a new table.
pub(super) struct Made {
    pub(super) layout: Layout,
    /// The schema as it stands in the log.
    pub(super) json: Json,
    /// Whether there are times without a zone.
    pub(super) has_ntz: bool,
    /// The largest number of a field, where they have some.
    pub(super) last_id: i64,
    mapped: bool,
}

impl Made {
    /// Columns of these names and of the types that these fields are kept as.
    pub(super) fn new(
        fields: &Fields,
        names: &[String],
        partition: Vec<usize>,
        options: &Options,
    ) -> Result<Made> {
        let stored = |field: &FieldRef| RULES.stored(field.data_type()).data_type;
        let types: Vec<DataType> = fields.iter().map(stored).collect();
        let mapped = match options.choice(&MAPPING)? {
            "auto" => !mapped(fields, options).is_empty(),
            word => word == "name",
        };
        let layout = Layout { columns: Vec::new(), partition, keeps_partition: false, folder: "" };
        let mut made = Made { layout, json: Json::Null, has_ntz: false, last_id: 0, mapped };
        let mut list = Vec::new();
        for (n, ((field, name), data_type)) in fields.iter().zip(names).zip(&types).enumerate() {
            let nullable = field.is_nullable() || *field.data_type() == DataType::Null;
            let (field, json) = made.field(name, data_type, nullable)?;
            made.layout.columns.push(Column { from: Some(n), name: name.clone(), field });
            list.push(json);
        }
        made.json = json!({ "type": "struct", "fields": list });
        Ok(made)
    }

    /// Whether columns have other names in files.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// A field as it is in files, and as it stands in the log.
    fn field(&mut self, name: &str, data_type: &DataType, nullable: bool) -> Result<(FieldRef, Json)> {
        let (mut metadata, mut ids, mut physical) = (json!({}), HashMap::new(), name.to_owned());
        if self.mapped {
            self.last_id += 1;
            physical = format!("col-{}", crate::engines::multifile::lake::write::uuid()?);
            metadata = json!({ "delta.columnMapping.id": self.last_id, PHYSICAL_NAME: physical });
            ids.insert(FIELD_ID.to_owned(), self.last_id.to_string());
        }
        let (data_type, json) = self.data_type(data_type)?;
        let field = Field::new(physical, data_type, nullable).with_metadata(ids);
        Ok((
            Arc::new(field),
            json!({ "name": name, "type": json, "nullable": nullable, "metadata": metadata }),
        ))
    }

    fn data_type(&mut self, data_type: &DataType) -> Result<(DataType, Json)> {
        Ok(match data_type {
            DataType::Struct(fields) => {
                let each = fields.iter().map(|of| self.field(of.name(), of.data_type(), of.is_nullable()));
                let (fields, list): (Vec<FieldRef>, Vec<Json>) =
                    each.collect::<Result<Vec<_>>>()?.into_iter().unzip();
                (DataType::Struct(fields.into()), json!({ "type": "struct", "fields": list }))
            }
            DataType::List(item) => {
                let (inner, json) = self.data_type(item.data_type())?;
                let list = DataType::List(Arc::new(item.as_ref().clone().with_data_type(inner)));
                (list, json!({ "type": "array", "elementType": json, "containsNull": item.is_nullable() }))
            }
            DataType::Map(entries, _) => {
                let DataType::Struct(pair) = entries.data_type() else {
                    return Err(Error::bug("a map of no pairs"));
                };
                let [key, value] = pair.iter().as_slice() else {
                    return Err(Error::bug("a map of no pairs"));
                };
                let (of_key, key_json) = self.data_type(key.data_type())?;
                let (of_value, value_json) = self.data_type(value.data_type())?;
                let both = vec![
                    Field::new("key", of_key, false),
                    Field::new("value", of_value, value.is_nullable()),
                ];
                let json = json!({
                    "type": "map", "keyType": key_json, "valueType": value_json,
                    "valueContainsNull": value.is_nullable(),
                });
                (map(both), json)
            }
            plain => {
                self.has_ntz |= matches!(plain, DataType::Timestamp(_, None));
                (plain.clone(), json!(word(plain)?))
            }
        })
    }
}

/// The columns whose names, or those of members, ask for other ones in files, if that is looked at.
pub(super) fn mapped<'a>(fields: &'a Fields, options: &Options) -> Vec<&'a str> {
    let is_special = |name: &str| name.contains(SPECIAL);
    let asks = |field: &&FieldRef| {
        let is_looked_at = options.get(MAPPING.name).unwrap_or(MAPPING.default) == MAPPING.default;
        is_looked_at
            && (is_special(field.name())
                || has_member(&RULES.stored(field.data_type()).data_type, &is_special))
    };
    fields.iter().filter(asks).map(|field| field.name().as_str()).collect()
}

/// Whether a struct in it has a member of such a name.
fn has_member(data_type: &DataType, is: &impl Fn(&str) -> bool) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            fields.iter().any(|field| is(field.name()) || has_member(field.data_type(), is))
        }
        DataType::List(item) => has_member(item.data_type(), is),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => pair.iter().any(|field| has_member(field.data_type(), is)),
            _ => false,
        },
        _ => false,
    }
}

/// The word for a type without members.
fn word(data_type: &DataType) -> Result<String> {
    Ok(match data_type {
        DataType::Utf8 => "string".to_owned(),
        DataType::Int64 => "long".to_owned(),
        DataType::Int32 => "integer".to_owned(),
        DataType::Int16 => "short".to_owned(),
        DataType::Int8 => "byte".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        DataType::Binary => "binary".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(_, Some(_)) => "timestamp".to_owned(),
        DataType::Timestamp(_, None) => "timestamp_ntz".to_owned(),
        DataType::Decimal128(digits, scale) => format!("decimal({digits},{scale})"),
        other => return Err(Error::bug(format!("a Delta table has no {other}"))),
    })
}

/// A field of a table that is there as it is in files: under the name and the number that the schema has for it.
pub(super) fn physical(field: &Field) -> FieldRef {
    let name = field.metadata().get(PHYSICAL_NAME).unwrap_or(field.name());
    let id = field.metadata().get(FIELD_ID).map(|id| (FIELD_ID.to_owned(), id.clone()));
    let made = Field::new(name, physical_type(field.data_type()), field.is_nullable());
    Arc::new(made.with_metadata(id.into_iter().collect()))
}

fn physical_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| physical(field)).collect()),
        DataType::List(item) => DataType::List(physical(item)),
        DataType::Map(entries, sorted) => DataType::Map(physical(entries), *sorted),
        other => other.clone(),
    }
}

/// The columns of a table that is there, of rows of these fields.
///
/// # Errors
/// `Unsupported` where they do not fit: with a column that is not there, is of another type, or has no nulls.
pub(super) fn layout(table: &Schema, given: &Fields, partition: Vec<usize>) -> Result<Layout> {
    let names = RULES.names(given);
    let mut columns = Vec::new();
    for field in table.fields() {
        let from = names.iter().position(|name| name.to_lowercase() == field.name().to_lowercase());
        columns.push(Column { from, name: field.name().clone(), field: physical(field) });
    }
    let layout = Layout { columns, partition, keeps_partition: false, folder: "" };
    crate::engines::multifile::lake::write::check_layout(&RULES, table, given, &names, &layout)?;
    Ok(layout)
}
