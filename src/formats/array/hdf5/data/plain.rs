//! Elements that lie one after the other, and elements that are all the same.

use super::super::datatype::{Class, Datatype};
use super::super::file::File;
use super::column::{Places, sequence_place};
use super::deliver::Delivery;
use super::{Names, Opened};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{MissingRegion, Stored};
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, FieldPlace, Location, Owner, Part};
use crate::data::region::Region;
use arrow::array::{ArrayRef, UInt64Array, new_null_array};
use arrow::compute::take;
use bytes::Bytes;
use std::sync::Arc;

/// The elements of an array type, however deep it is; other types as they are.
pub(super) fn element(datatype: &Datatype) -> &Datatype {
    let mut datatype = datatype;
    while let Class::Array { base, .. } = &datatype.class {
        datatype = base;
    }
    datatype
}

/// A place of elements of a type, with where their fields stand in them, and the way to what lies in a heap.
pub(super) fn described(mut location: Location, datatype: &Datatype, file: &File) -> Location {
    match &datatype.class {
        Class::Compound(members) => {
            let place = |member: &super::super::datatype::Member| {
                let start = member.offset;
                let bytes = start..start.saturating_add(member.datatype.size);
                let word = Delivery::new(&member.datatype).map_or_else(|_| String::new(), |way| way.word());
                let encoding = match &element(&member.datatype).class {
                    Class::Vlen(_) => HEAP.to_owned(),
                    // Its bits are the writer's own: PyTables has microseconds and seconds there.
                    Class::Time { precision, .. } => format!("time of {precision} bits"),
                    _ => word,
                };
                FieldPlace { bytes, encoding }
            };
            location.fields = members.iter().map(place).collect();
            for (n, member) in members.iter().enumerate() {
                location = leading(location, n, &member.datatype, file);
            }
            location
        }
        Class::Vlen(_) => leading(location, 0, datatype, file).encoding(HEAP),
        _ => location,
    }
}

/// With the way to the heap, where the field `field` is the place of a sequence.
fn leading(location: Location, field: usize, datatype: &Datatype, file: &File) -> Location {
    let Class::Vlen(vlen) = &datatype.class else { return location };
    let (base, file) = (vlen.base.size.max(1), file.clone());
    location.leads(field, move |task, element| {
        let found = sequence_place(task, &file, element, base)?;
        Ok(found.map(|location| Part { what: "global heap object", location }))
    })
}

/// What stands in an element whose value lies in a heap.
const HEAP: &str = "length, and the place in a global heap";

/// The array of elements that lie in `source` from `start`, and what is to be said where it ends before them.
/// Elements that are not there fail when they are read; what is read by columns ends with the last row that is
/// there.
///
/// # Errors
/// `Malformed` where shape and type overflow.
pub(super) fn open(
    source: Source,
    start: u64,
    datatype: &Datatype,
    (way, mut shape): (Delivery, Vec<u64>),
    mut facts: ArrayFacts,
    (file, names): (&File, Arc<dyn Names>),
) -> Result<Opened> {
    let size = u32::try_from(way.stored())
        .map_err(|_| Error::limit(format!("elements of {} bytes", way.stored())))?;
    let mut raw = array::Plain::cut(source.clone(), start, DType::Void(size), shape.clone())?;
    let problem = raw.missing();
    let is_table = shape.len() == 1 && matches!(datatype.class, Class::Compound(_));
    if let (Some(there), Some((rows, inner))) = (raw.there(), shape.split_first_mut())
        && (is_table || way.dtype.is_variable())
    {
        *rows = there.checked_div(limits::elements(inner)?).unwrap_or(0).min(*rows);
        raw = array::Plain::cut(source, start, DType::Void(size), shape)?;
    }
    facts.bytes_stored = raw.facts().bytes_stored;
    let datatype = Arc::new(element(datatype).clone());
    let array = Plain { raw, way, datatype, facts, file: file.clone(), names };
    Ok(Opened { array: Arc::new(array), problem })
}

/// Elements one after the other.
struct Plain {
    /// The elements as stored.
    raw: array::Plain,
    way: Delivery,
    datatype: Arc<Datatype>,
    facts: ArrayFacts,
    file: File,
    names: Arc<dyn Names>,
}

impl Plain {
    /// Stored elements into a buffer for as many delivered ones.
    fn delivered(&self, stored: Vec<u8>, out: &mut [u8]) -> Result<()> {
        let delivered = self.way.deliver(stored.into())?;
        if delivered.len() != out.len() {
            return Err(Error::bug(format!("{} bytes were delivered of {}", delivered.len(), out.len())));
        }
        out.copy_from_slice(&delivered);
        Ok(())
    }
}

impl Array for Plain {
    fn dtype(&self) -> &DType {
        &self.way.dtype
    }

    fn shape(&self) -> &[u64] {
        self.raw.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if self.way.is_same() {
            return self.raw.read(task, region, out);
        }
        // Elements without a size have no bytes: `column` gives them.
        if self.way.dtype.is_variable() {
            return Ok(());
        }
        self.delivered(array::read(&self.raw, task, region)?, out)
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        if self.way.is_same() {
            return self.raw.read_lenient(task, region, out);
        }
        if self.way.dtype.is_variable() {
            return Ok(Vec::new());
        }
        let bytes = limits::bytes(&region.shape(), self.raw.dtype().size())?;
        let mut stored = limits::zeroed(limits::check(bytes, limits::READ, "this part")?, "the array")?;
        let gaps = self.raw.read_lenient(task, region, &mut stored)?;
        self.delivered(stored, out)?;
        Ok(gaps)
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        if !self.way.dtype.is_variable() {
            return array::column_of_bytes(self, task, region);
        }
        let count = limits::check(region.elements()?, limits::READ, "elements of this part")?;
        let stored = array::read(&self.raw, task, region)?;
        let places = Places { task, file: &self.file, names: self.names.as_ref() };
        places.column(&self.datatype, &stored, count)
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        let Some(location) = self.raw.location(task, index)? else { return Ok(None) };
        let location = self.way.described(location).called("contiguous data");
        described(location, &self.datatype, &self.file).followed(task).map(Some)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let Some(owner) = self.raw.owner(task, byte)? else { return Ok(None) };
        let unit = self.way.described(owner.unit.clone()).called("contiguous data");
        Ok(Some(Owner { unit, ..owner }))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// Elements that are all the same: of a dataset that was never written.
pub(super) struct Constant {
    dtype: DType,
    shape: Vec<u64>,
    value: Bytes,
    column: Option<ArrayRef>,
    facts: ArrayFacts,
}

impl Constant {
    /// An array of one delivered element, `value`, or one row of a column.
    pub(super) fn new(
        dtype: DType,
        shape: Vec<u64>,
        value: Vec<u8>,
        column: Option<ArrayRef>,
        facts: ArrayFacts,
    ) -> Result<Self> {
        if !dtype.is_variable() && value.len() as u64 != dtype.size() {
            return Err(Error::bug(format!("a fill value of {} bytes for {dtype}", value.len())));
        }
        Ok(Constant { dtype, shape, value: value.into(), column, facts })
    }
}

impl Array for Constant {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, out: &mut [u8]) -> Result<()> {
        strides::fill(out, &self.value);
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let DType::Variable(kind) = &self.dtype else { return array::column_of_bytes(self, task, region) };
        let count = limits::check(region.elements()?, limits::READ / 16, "elements of this part")?;
        match &self.column {
            Some(column) => Ok(take(column.as_ref(), &UInt64Array::from(vec![0; count]), None)?),
            None => Ok(new_null_array(&kind.arrow, count)),
        }
    }

    fn unstored(&self, _task: &Task, _region: &Region) -> Result<Option<Vec<u8>>> {
        Ok((!self.dtype.is_variable()).then(|| self.value.to_vec()))
    }

    fn stored(&self, _task: &Task) -> Result<Option<Stored>> {
        let element = (!self.dtype.is_variable()).then(|| self.value.to_vec());
        Ok(Some(Stored { regions: Vec::new(), element, row: self.column.clone() }))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}
