//! Element types (`TensorProto.DataType`) and the types of values (`TypeProto`).

use crate::bytes::error::{Error, Result};
use crate::data::content::graph::Dimension;
use crate::data::dtype::{DType, Mini};
use crate::engines::protobuf::{Field, Part};
use std::sync::Arc;

/// How deep types may lie in types: a sequence of maps of sequences.
const DEPTH: usize = 16;

/// How elements of a type are stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    /// The type that is delivered.
    pub(super) dtype: DType,
    /// The field's own name, where NumPy has none.
    pub(super) word: Option<&'static str>,
    /// Bits of one element in the file.
    pub(super) bits: u32,
}

/// The element type of a code; `None` for texts and codes that are not known.
pub(super) fn element(code: u64) -> Option<Element> {
    let plain = |dtype: DType| Element { bits: dtype.bits() as u32, dtype, word: None };
    let few = |dtype, word, bits| Element { dtype, word: Some(word), bits };
    Some(match code {
        1 => plain(DType::F32),
        2 => plain(DType::U8),
        3 => plain(DType::I8),
        4 => plain(DType::U16),
        5 => plain(DType::I16),
        6 => plain(DType::I32),
        7 => plain(DType::I64),
        9 => plain(DType::Bool),
        10 => plain(DType::F16),
        11 => plain(DType::F64),
        12 => plain(DType::U32),
        13 => plain(DType::U64),
        14 => plain(DType::C64),
        15 => plain(DType::C128),
        16 => plain(DType::BF16),
        17 => plain(DType::Mini(Mini::F8E4M3FN)),
        18 => plain(DType::Mini(Mini::F8E4M3FNUZ)),
        19 => plain(DType::Mini(Mini::F8E5M2)),
        20 => plain(DType::Mini(Mini::F8E5M2FNUZ)),
        21 => few(DType::U8, "uint4", 4),
        22 => few(DType::I8, "int4", 4),
        23 => few(DType::Mini(Mini::F4E2M1), "float4_e2m1fn", 4),
        24 => plain(DType::Mini(Mini::F8E8M0)),
        25 => few(DType::U8, "uint2", 2),
        26 => few(DType::I8, "int2", 2),
        _ => return None,
    })
}

/// The name of an element type.
pub(super) fn name(code: u64) -> String {
    match (element(code), code) {
        (Some(Element { word: Some(word), .. }), _) => word.to_owned(),
        (Some(Element { dtype, .. }), _) => dtype.to_string(),
        (None, 8) => "str".to_owned(),
        (None, 0) => "undefined".to_owned(),
        (None, code) => format!("type {code}"),
    }
}

/// What a `TypeProto` says: the type's name, and the shape of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    pub(super) dtype: Option<Arc<str>>,
    pub(super) shape: Option<Vec<Dimension>>,
}

/// Reads a `TypeProto`.
pub(super) fn parse(part: Part) -> Result<Type> {
    inner(part, 0)
}

fn inner(part: Part, depth: usize) -> Result<Type> {
    if depth > DEPTH {
        return Err(Error::limit(format!("types more than {DEPTH} deep")));
    }
    let mut found = Type::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let within = |wrapper: &str, wanted: u32| -> Result<Option<Arc<str>>> {
            let mut name = String::new();
            for field in value.fields() {
                let field = field?;
                if field.number == wanted {
                    name = inner(field.value.part(), depth + 1)?.dtype.unwrap_or_default().to_string();
                }
            }
            Ok(Some(format!("{wrapper}({name})").into()))
        };
        match number {
            1 | 8 => {
                let (code, shape) = tensor(value.part())?;
                let plain = name(code);
                let dtype = if number == 8 { format!("sparse({plain})") } else { plain };
                found = Type { dtype: Some(dtype.into()), shape };
            }
            4 => found.dtype = within("sequence", 1)?,
            9 => found.dtype = within("optional", 1)?,
            5 => found.dtype = Some(map(value.part(), depth)?),
            7 => found.dtype = Some("opaque".into()),
            _ => {}
        }
    }
    Ok(found)
}

fn map(part: Part, depth: usize) -> Result<Arc<str>> {
    let (mut key, mut value) = (0, String::new());
    for field in part.fields() {
        let field = field?;
        match field.number {
            1 => key = field.value.uint(),
            2 => value = inner(field.value.part(), depth + 1)?.dtype.unwrap_or_default().to_string(),
            _ => {}
        }
    }
    Ok(format!("map({}, {value})", name(key)).into())
}

fn tensor(part: Part) -> Result<(u64, Option<Vec<Dimension>>)> {
    let (mut code, mut shape) = (0, None);
    for field in part.fields() {
        let field = field?;
        match field.number {
            1 => code = field.value.uint(),
            2 => shape = Some(lengths(field.value.part())?),
            _ => {}
        }
    }
    Ok((code, shape))
}

/// A `TensorShapeProto`.
fn lengths(part: Part) -> Result<Vec<Dimension>> {
    let mut shape = Vec::new();
    for field in part.fields() {
        let field = field?;
        if field.number != 1 {
            continue;
        }
        let mut length = Dimension::Open;
        for field in field.value.fields() {
            let field = field?;
            match field.number {
                // Below zero is another spelling of open.
                1 => {
                    length = i64::try_from(field.value.uint())
                        .map_or(Dimension::Open, |n| Dimension::Fixed(n as u64))
                }
                2 if !field.value.part().bytes().is_empty() => {
                    length = Dimension::Named(field.value.text().into());
                }
                _ => {}
            }
        }
        shape.push(length);
    }
    Ok(shape)
}
