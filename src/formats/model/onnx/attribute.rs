//! `AttributeProto`: what a node says of itself.

use super::types;
use crate::bytes::error::Result;
use crate::data::content::graph::Attribute;
use crate::engines::protobuf::{Field, Part, Value as Wire};

/// The fields of an `AttributeProto`.
#[derive(Default)]
pub(super) struct AttributeProto<'a> {
    pub(super) name: String,
    kind: u64,
    float: Option<f64>,
    int: Option<i64>,
    text: Option<String>,
    floats: Vec<f64>,
    ints: Vec<i64>,
    texts: Vec<String>,
    pub(super) tensors: Vec<Part<'a>>,
    pub(super) graphs: Vec<Part<'a>>,
    /// The attribute of the function around it that it is.
    pub(super) reference: Option<String>,
    types: Vec<String>,
}

impl<'a> AttributeProto<'a> {
    /// Reads the fields; tensors and graphs are left as they are.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn parse(part: Part<'a>) -> Result<Self> {
        let mut proto = AttributeProto::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => proto.name = value.text(),
                (2, Wire::Fixed32(bytes)) => proto.float = Some(shortest(bytes)),
                (3, value) => proto.int = Some(value.uint() as i64),
                (4, value) => proto.text = Some(value.text()),
                (5 | 10, value) => proto.tensors.push(value.part()),
                (6 | 11, value) => proto.graphs.push(value.part()),
                (7, Wire::Fixed32(bytes)) => proto.floats.push(shortest(bytes)),
                (7, value) => {
                    proto.floats.extend(value.part().bytes().as_chunks::<4>().0.iter().map(|b| shortest(*b)))
                }
                (8, Wire::Bytes(part)) => {
                    for value in part.varints() {
                        proto.ints.push(value? as i64);
                    }
                }
                (8, value) => proto.ints.push(value.uint() as i64),
                (9, value) => proto.texts.push(value.text()),
                (14 | 15, value) => {
                    proto.types.push(types::parse(value.part())?.dtype.unwrap_or_default().to_string());
                }
                (20, value) => proto.kind = value.uint(),
                (21, value) => proto.reference = Some(value.text()).filter(|name| !name.is_empty()),
                _ => {}
            }
        }
        Ok(proto)
    }

    /// What it holds, but for tensors and graphs. Files without a kind are older than it: what is set counts then.
    pub(super) fn value(self) -> Option<Attribute> {
        if let Some(name) = self.reference {
            return Some(Attribute::Text(format!("the function's {name}")));
        }
        Some(match self.kind {
            1 => Attribute::Float(self.float.unwrap_or(0.0)),
            2 => Attribute::Int(self.int.unwrap_or(0)),
            3 => Attribute::Text(self.text.unwrap_or_default()),
            6 => Attribute::Floats(self.floats),
            7 => Attribute::Ints(self.ints),
            8 => Attribute::Texts(self.texts),
            _ if !self.types.is_empty() => Attribute::Texts(self.types),
            4 | 5 | 9 | 10 => return None,
            _ => match (self.float, self.int, self.text) {
                (Some(value), _, _) => Attribute::Float(value),
                (_, Some(value), _) => Attribute::Int(value),
                (_, _, Some(text)) => Attribute::Text(text),
                _ if !self.floats.is_empty() => Attribute::Floats(self.floats),
                _ if !self.texts.is_empty() => Attribute::Texts(self.texts),
                _ if !self.ints.is_empty() => Attribute::Ints(self.ints),
                _ => return None,
            },
        })
    }
}

/// A float of 32 bits as the shortest number of 64 that reads the same: 0.1 rather than 0.10000000149.
fn shortest(bytes: [u8; 4]) -> f64 {
    let value = f32::from_le_bytes(bytes);
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}
