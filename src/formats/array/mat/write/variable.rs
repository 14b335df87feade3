//! What arrays become: numbers of a class, characters, cells of texts, structs of the fields of records.

use super::put::{MatrixHead, Out, head, padding, whole};
use super::texts::{self, CELL, CHAR, Coded, Fixed, Loose};
use super::{LARGEST, names, too_large};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt::{FieldArray, FieldPath, MappedArray, PartsArray};
use crate::data::column_order::elements_by_columns;
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, note};
use crate::engines::widen::{widen, widened};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The class of structs.
const STRUCT: u8 = 2;
/// The most fields of records: more are not listed.
const FIELDS: usize = 499;
/// The longest text of a matrix of characters that a reader gives as texts of a fixed width.
const WIDEST: u32 = 4096;

/// The types that MATLAB has classes for: the class, the type of the element, the type.
const CLASSES: [(u8, u32, DType); 13] = [
    (9, 2, DType::Bool),
    (8, 1, DType::I8),
    (9, 2, DType::U8),
    (10, 3, DType::I16),
    (11, 4, DType::U16),
    (12, 5, DType::I32),
    (13, 6, DType::U32),
    (14, 12, DType::I64),
    (15, 13, DType::U64),
    (7, 7, DType::F32),
    (6, 9, DType::F64),
    (7, 7, DType::C64),
    (6, 9, DType::C128),
];

/// What was set of how arrays are shaped.
#[derive(Clone, Debug, Default)]
pub(super) struct Shaping {
    /// One dimension becomes a column instead of a row.
    pub is_column: bool,
    /// Whether texts become cells; `None`: those of any length do.
    pub texts: Option<bool>,
}

impl Shaping {
    /// The sides in MATLAB, which are two at least.
    fn sides(&self, shape: &[u64]) -> Vec<u64> {
        match shape {
            [] => vec![1, 1],
            [len] if self.is_column => vec![*len, 1],
            [len] => vec![1, *len],
            more => more.to_vec(),
        }
    }
}

/// One variable, or a field of a struct.
pub(super) struct Variable {
    shape: Vec<u64>,
    kind: Kind,
    /// What of the array does not stay.
    pub losses: Vec<Loss>,
}

enum Kind {
    /// Numbers of a class, stored as elements of a type; of complex ones each part.
    Numbers { class: u8, stored: u32, array: Arc<dyn Array> },
    /// Texts of a fixed width; `loose` where the width is not known yet.
    Chars { array: Arc<dyn Array>, coded: Coded, loose: bool },
    /// Texts, and the bytes of their cells.
    Cells { array: Arc<dyn Array>, bytes: u64 },
    /// Fields by name.
    Struct(Vec<(String, Variable)>),
}

impl Variable {
    /// What an array becomes.
    ///
    /// # Errors
    /// `Unsupported` for what MATLAB has nothing for, and for what is too large.
    pub(super) fn plan(array: &Arc<dyn Array>, shaping: &Shaping) -> Result<Variable> {
        let mut losses = Vec::new();
        let kind = Self::kind(array, shaping, &mut losses)?;
        let (text_width, shape) = match &kind {
            Kind::Struct(_) => (None, vec![1, 1]),
            Kind::Chars { array, .. } => (Some(array.dtype().size() / 4), array.shape().to_vec()),
            Kind::Numbers { array, .. } => (None, shaping.sides(array.shape())),
            Kind::Cells { array, .. } => (None, shaping.sides(array.shape())),
        };
        let shape = match text_width {
            None => shape,
            // One text is one row, several are the rows of a matrix.
            Some(width) if shape.is_empty() => vec![1, width],
            Some(width) => shape.iter().copied().chain([width]).collect(),
        };
        if let Some(side) = shape.iter().find(|side| **side > i32::MAX as u64) {
            return Err(Error::unsupported(format!("a side of {side}: MATLAB counts to 2147483647")));
        }
        let is_text = matches!(kind, Kind::Chars { .. });
        let rank = array.shape().len();
        if rank == 0 && !matches!(kind, Kind::Struct(_)) {
            losses.push(note(LossKind::Type, "a single value becomes a matrix of 1 × 1"));
        } else if rank == 1 && !is_text && matches!(kind, Kind::Numbers { .. } | Kind::Cells { .. }) {
            let becomes = if shaping.is_column { "column, N × 1" } else { "row, 1 × N" };
            losses.push(note(LossKind::Type, format!("its one dimension becomes a {becomes}")));
        }
        let variable = Variable { shape, kind, losses };
        let bytes = variable.least()?;
        if bytes >= LARGEST { Err(too_large(array, bytes)) } else { Ok(variable) }
    }

    fn kind(array: &Arc<dyn Array>, shaping: &Shaping, losses: &mut Vec<Loss>) -> Result<Kind> {
        let mut say = |what: &str| losses.push(note(LossKind::Type, what));
        match array.dtype() {
            DType::Bytes(width) | DType::Str(width) => {
                let array = match array.dtype() {
                    DType::Bytes(_) => {
                        say("bytes become characters (Latin-1)");
                        characters(array.clone(), *width)
                    }
                    _ => array.clone(),
                };
                if shaping.texts == Some(true) {
                    say("its texts become a cell array");
                    return Ok(Kind::Cells { array: Arc::new(Loose::new(array)), bytes: 0 });
                }
                let what = "texts that are shorter than the longest are filled with blanks";
                losses.push(note(LossKind::Type, what).if_any());
                if *width == 0 || *width > WIDEST {
                    losses.push(note(LossKind::Type, "its texts are of another width when they are read"));
                }
                Ok(Kind::Chars { array, coded: Coded::default(), loose: false })
            }
            DType::Variable(kind) if is_record(&kind.arrow) => Self::record(array, shaping, losses),
            DType::Variable(kind) => {
                if !crate::data::adapt::is_text(&kind.arrow) {
                    say("its elements become texts");
                }
                if shaping.texts == Some(false) {
                    say("texts become a matrix of characters, filled with blanks");
                    return Ok(Kind::Chars { array: array.clone(), coded: Coded::default(), loose: true });
                }
                say("its texts become a cell array");
                Ok(Kind::Cells { array: array.clone(), bytes: 0 })
            }
            DType::Void(size) if *size > 0 => {
                say("its opaque bytes become uint8 along a last dimension");
                let array = Arc::new(PartsArray::all(array.clone(), DType::U8));
                Ok(Kind::Numbers { class: 9, stored: 2, array })
            }
            DType::Struct(record) if !record.fields.is_empty() => Self::record(array, shaping, losses),
            dtype => {
                let has = CLASSES.map(|(_, _, dtype)| dtype);
                let Some((to, lost)) = widened(dtype, &has) else {
                    return Err(Error::unsupported(format!("MATLAB has no {dtype}")));
                };
                losses.extend(lost);
                let known = CLASSES
                    .iter()
                    .find(|(_, _, known)| *known == to)
                    .map(|(class, stored, _)| (*class, *stored));
                let (class, stored) = known.ok_or_else(|| Error::bug(format!("{to} has no class")))?;
                Ok(Kind::Numbers { class, stored, array: widen(array.clone(), &to) })
            }
        }
    }

    /// Records as a struct of arrays.
    fn record(array: &Arc<dyn Array>, shaping: &Shaping, losses: &mut Vec<Loss>) -> Result<Kind> {
        let fields = FieldPath::all(array.dtype());
        if fields.len() > FIELDS {
            return Err(Error::unsupported(format!("records of more than {FIELDS} fields")));
        }
        losses.push(note(LossKind::Type, "its records become a struct of an array for each field"));
        let names = names::valid(fields.iter().map(|field| field.name.as_str()));
        let mut planned = Vec::new();
        for (field, name) in fields.into_iter().zip(names) {
            if field.name != name {
                let renamed = note(LossKind::Name, format!("it is called {name}")).called(&name);
                losses.push(renamed.of(&field.name));
            }
            let own = field.name.clone();
            let one: Arc<dyn Array> = Arc::new(FieldArray::new(array.clone(), field));
            let mut variable = Variable::plan(&one, shaping).map_err(|error| error.in_node(&own))?;
            losses.extend(variable.losses.drain(..).map(|loss| loss.of(&own)));
            planned.push((name, variable));
        }
        Ok(Kind::Struct(planned))
    }

    /// The work that it is, in bytes or texts.
    pub(super) fn work(&self) -> u64 {
        let bytes = |array: &Arc<dyn Array>| limits::bytes(array.shape(), array.dtype().size()).unwrap_or(0);
        match &self.kind {
            Kind::Numbers { array, .. } => bytes(array),
            Kind::Chars { array, .. } => bytes(array).saturating_mul(2),
            Kind::Cells { array, .. } => limits::elements(array.shape()).unwrap_or(0).saturating_mul(2),
            Kind::Struct(fields) => {
                fields.iter().fold(0, |total: u64, (_, field)| total.saturating_add(field.work()))
            }
        }
    }

    /// The bytes that it takes at least, before texts were measured.
    fn least(&self) -> Result<u64> {
        let elements = limits::elements(&self.shape)?;
        Ok(match &self.kind {
            Kind::Numbers { array, .. } => limits::bytes(&self.shape, array.dtype().size())?,
            Kind::Chars { .. } => elements.saturating_mul(2),
            Kind::Cells { .. } => elements.saturating_mul(56),
            Kind::Struct(fields) => {
                let mut total = 0u64;
                for (_, field) in fields {
                    total = total.saturating_add(field.least()?);
                }
                total
            }
        })
    }

    /// Reads texts to know how long they are.
    ///
    /// # Errors
    /// Those of reading; `Unsupported` where the variable is too large.
    pub(super) fn measure(&mut self, task: &Task) -> Result<()> {
        match &mut self.kind {
            Kind::Numbers { .. } => {}
            Kind::Chars { array, coded, loose } => {
                if *loose {
                    let width = texts::widest(task, array.as_ref())?;
                    *array = Arc::new(Fixed::new(array.clone(), width));
                    if let Some(side) = self.shape.last_mut() {
                        *side = u64::from(width);
                    }
                    *loose = false;
                }
                *coded = texts::measure_chars(task, array.as_ref())?;
            }
            Kind::Cells { array, bytes } => *bytes = texts::measure_cells(task, array.as_ref())?,
            Kind::Struct(fields) => {
                for (_, field) in fields {
                    field.measure(task)?;
                }
            }
        }
        let bytes = self.rest();
        if bytes >= LARGEST {
            return Err(Error::unsupported(format!(
                "it takes {bytes} bytes: a variable of these MAT-files is below 2147483648 (2 GiB)"
            )));
        }
        Ok(())
    }

    /// Bytes behind the head of its matrix element.
    fn rest(&self) -> u64 {
        match &self.kind {
            Kind::Numbers { array, .. } => {
                let parts = if array.dtype().is_complex() { 2 } else { 1 };
                let bytes = limits::bytes(&self.shape, array.dtype().size() / parts).unwrap_or(u64::MAX);
                whole(bytes).saturating_mul(parts)
            }
            Kind::Chars { coded, .. } => whole(coded.bytes),
            Kind::Cells { bytes, .. } => *bytes,
            Kind::Struct(fields) => {
                let names = 8 + whole((fields.len() * name_length(fields)) as u64);
                fields.iter().fold(names, |total, (_, field)| {
                    total.saturating_add(8 + field.head("").bytes()).saturating_add(field.rest())
                })
            }
        }
    }

    fn head<'a>(&'a self, name: &'a str) -> MatrixHead<'a> {
        let (class, complex, logical) = match &self.kind {
            Kind::Numbers { class, array, .. } => {
                (*class, array.dtype().is_complex(), *array.dtype() == DType::Bool)
            }
            Kind::Chars { .. } => (CHAR, false, false),
            Kind::Cells { .. } => (CELL, false, false),
            Kind::Struct(_) => (STRUCT, false, false),
        };
        MatrixHead { class, complex, logical, shape: &self.shape, name }
    }

    /// Writes its element.
    ///
    /// # Errors
    /// Those of reading and of `out`.
    pub(super) fn put(&self, task: &Task, name: &str, out: &mut Out<'_>) -> Result<()> {
        self.head(name).put(self.rest(), out)?;
        match &self.kind {
            Kind::Numbers { stored, array, .. } => {
                let part = match array.dtype() {
                    DType::C64 => DType::F32,
                    DType::C128 => DType::F64,
                    _ => return numbers(task, *stored, array.as_ref(), out),
                };
                for n in 0..2 {
                    let half = PartsArray::only(array.clone(), part.clone(), n);
                    numbers(task, *stored, &half, out)?;
                }
                Ok(())
            }
            Kind::Chars { array, coded, .. } => texts::put_chars(task, array, *coded, out),
            Kind::Cells { array, .. } => texts::put_cells(task, array.as_ref(), out),
            Kind::Struct(fields) => {
                let length = name_length(fields);
                // The length of names is in its tag itself.
                out(&(4u32 << 16 | super::put::INT32).to_le_bytes())?;
                out(&(length as u32).to_le_bytes())?;
                let mut list = Vec::with_capacity(fields.len() * length);
                for (name, _) in fields {
                    let end = list.len() + length;
                    list.extend_from_slice(name.as_bytes());
                    list.resize(end, 0);
                }
                super::put::element(super::put::INT8, &list, out)?;
                fields.iter().try_for_each(|(_, field)| field.put(task, "", out))
            }
        }
    }
}

/// Bytes of a field's name in the list of them.
fn name_length(fields: &[(String, Variable)]) -> usize {
    if fields.iter().any(|(name, _)| name.len() > 31) { 64 } else { 32 }
}

/// Whether elements are records, each of whose fields is an array.
fn is_record(arrow: &DataType) -> bool {
    matches!(arrow, DataType::Struct(fields) if !fields.is_empty())
}

/// Bytes of a fixed width as characters.
fn characters(array: Arc<dyn Array>, width: u32) -> Arc<dyn Array> {
    let mapped = MappedArray::new(array, DType::Str(width), |facts| facts.word = None);
    Arc::new(mapped.converted(|raw, out| {
        let places = out.as_chunks_mut::<4>().0.iter_mut();
        places.zip(raw).for_each(|(to, byte)| *to = u32::from(*byte).to_le_bytes());
        Ok(())
    }))
}

/// An element of numbers, in column order.
fn numbers(task: &Task, stored: u32, array: &dyn Array, out: &mut Out<'_>) -> Result<()> {
    let bytes = limits::bytes(array.shape(), array.dtype().size())?;
    out(&head(stored, bytes)?)?;
    elements_by_columns(task, array, &mut |part| out(part))?;
    out(padding(bytes))
}
