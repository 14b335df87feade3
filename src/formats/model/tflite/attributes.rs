//! What an operator says of itself: its options, by their descriptions, and custom options as bytes.

use super::model::Model;
use super::options::{FIRST, Field, Kind, SECOND};
use super::tensor::type_name;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::Number;
use crate::data::content::graph::Attribute;
use crate::engines::flatbuffer::Table;
use std::sync::Arc;

/// The attributes of an operator, and the subgraphs among them.
#[derive(Default)]
pub(super) struct OperatorOptions {
    pub(super) attributes: Vec<(Arc<str>, Attribute)>,
    /// Names and numbers of the subgraphs that it runs.
    pub(super) bodies: Vec<(Arc<str>, i64)>,
}

/// Bytes that are shown of some that mean something only to whoever wrote them.
const SHOWN: usize = 64;

impl OperatorOptions {
    /// Reads what the table of an operator says.
    ///
    /// # Errors
    /// Of a part that cannot be read; what was read before stays.
    pub(super) fn read(&mut self, model: &Model, operator: &Table) -> Result<()> {
        for (slot, tables) in [(3, FIRST), (11, SECOND)] {
            let number: u8 = operator.number(slot, 0)?;
            let (Some(options), true) = (operator.table(slot + 1)?, number != 0) else { continue };
            match tables.get(usize::from(number) - 1) {
                Some(fields) => self.fields(&options, fields)?,
                None => self.say("builtin_options", Attribute::Text(format!("of the unknown kind {number}"))),
            }
        }
        if let Some(custom) = operator.vector(5, 1)? {
            let bytes = custom.bytes();
            self.say("custom_options", Attribute::Text(hexadecimal(bytes, bytes.len() as u64)));
        }
        let (at, size): (u64, u64) = (operator.number(9, 0)?, operator.number(10, 0)?);
        if at > 1 && size > 0 {
            let bytes = model.source.read(model.task, at..at.saturating_add(size.min(SHOWN as u64)))?;
            self.say("custom_options", Attribute::Text(hexadecimal(&bytes, size)));
        }
        Ok(())
    }

    pub(super) fn say(&mut self, name: &str, value: Attribute) {
        self.attributes.push((name.into(), value));
    }

    fn fields(&mut self, table: &Table, fields: &[Field]) -> Result<()> {
        for (slot, (name, kind)) in fields.iter().enumerate() {
            if let Some(value) = self.value(table, slot, name, kind).map_err(|error| error.of(name))? {
                self.say(name, value);
            }
        }
        Ok(())
    }

    /// The value of a field; `None` where it says nothing, or is a subgraph.
    fn value(&mut self, table: &Table, slot: usize, name: &str, kind: &Kind) -> Result<Option<Attribute>> {
        Ok(Some(match kind {
            Kind::Passed => return Ok(None),
            Kind::Int(default) => Attribute::Int(table.number::<i32>(slot, *default)?.into()),
            Kind::Long => Attribute::Int(table.number(slot, 0)?),
            Kind::Float => Attribute::Float(float(table.number(slot, 0.0)?)),
            Kind::Bool(default) => Attribute::Text(table.flag(slot, *default)?.to_string()),
            Kind::Text => Attribute::Text(table.text(slot)?.unwrap_or_default()),
            Kind::Ints => ints::<i32>(table, slot)?,
            Kind::Longs => ints::<i64>(table, slot)?,
            Kind::Floats => Attribute::Floats(table.numbers(slot)?.into_iter().map(float).collect()),
            Kind::Bools => {
                let flags = table.numbers::<u8>(slot)?;
                Attribute::Texts(flags.into_iter().map(|flag| (flag != 0).to_string()).collect())
            }
            Kind::Bytes => {
                let Some(bytes) = table.vector(slot, 1)? else { return Ok(None) };
                Attribute::Text(hexadecimal(bytes.bytes(), bytes.len() as u64))
            }
            Kind::Type(default) => Attribute::Text(type_name(table.number(slot, *default)?)),
            Kind::TypeWhereSet if !table.has(slot) => return Ok(None),
            Kind::TypeWhereSet => Attribute::Text(type_name(table.number(slot, 0)?)),
            Kind::Name(names) => Attribute::Text(named(names, table.number::<u8>(slot, 0)?.into())),
            Kind::WideName(names) => Attribute::Text(named(names, table.number(slot, 0)?)),
            Kind::Names(names) => {
                let numbers: Vec<u32> = table.numbers(slot)?;
                Attribute::Texts(numbers.into_iter().map(|number| named(names, number)).collect())
            }
            Kind::Graph => {
                self.bodies.push((name.into(), table.number::<i32>(slot, 0)?.into()));
                return Ok(None);
            }
            Kind::Graphs => {
                let numbers: Vec<i32> = table.numbers(slot)?;
                let named = |(n, number): (usize, i32)| (format!("{name}[{n}]").into(), number.into());
                self.bodies.extend(numbers.into_iter().enumerate().map(named));
                return Ok(None);
            }
        }))
    }
}

/// A float of 32 bits as the double of the same shortest text: 0.1 stays 0.1.
fn float(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

fn ints<N: Number + Into<i64>>(table: &Table, slot: usize) -> Result<Attribute> {
    Ok(Attribute::Ints(table.numbers::<N>(slot)?.into_iter().map(Into::into).collect()))
}

fn named(names: &[&str], number: u32) -> String {
    names.get(number as usize).map_or_else(|| format!("number {number}"), |name| (*name).to_owned())
}

/// Bytes as text, cut where they are many.
fn hexadecimal(bytes: &[u8], all: u64) -> String {
    use std::fmt::Write;
    let mut text = String::from("0x");
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    if all > SHOWN as u64 {
        let _ = write!(text, "... ({all} bytes)");
    }
    text
}

/// What is said of a number of something that is not there.
pub(super) fn not_there(what: &str, number: i64, count: usize) -> Error {
    Error::malformed(format!("{what} {number} is not there: there are {count}"))
}
