//! Arrays of Python objects: a pickle behind the header, whose plain values are shown and which is never loaded.

use super::Header;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::chunked::{Chunked, Chunks};
use crate::data::content::{Content, Layout};
use crate::data::dtype::{DType, Variable};
use crate::data::node::Node;
use crate::engines::pickle::{self, Pickle};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of a pickle that are looked at for names when the file is opened.
const LOOKED_AT: u64 = 16 << 20;

/// The node of an array of objects.
pub(super) fn node(task: &Task, source: &Source, header: Header) -> Result<Node> {
    let mut node = Node::new("", "array").remark(
        "the elements are Python objects in a pickle: plain values are shown as Python writes them, and nothing is \
         loaded",
    );
    if let DType::Struct(_) = header.described.dtype {
        node = node.read_as("dtype", spelled(&header.described.dtype));
    }
    node.remarks.extend(header.remarks);
    let len = source.len(task)?;
    node.span = Some(header.data..len);
    if len <= header.data {
        node.problem = Some(Error::malformed("array: its pickle is missing").at(header.data));
        return Ok(node.read_as("shape", serde_json::Value::from(header.shape)));
    }
    let head = source.read_up_to(task, header.data, (len - header.data).min(LOOKED_AT) as usize)?;
    let mut report = pickle::examine(task, &head)?;
    if len - header.data <= LOOKED_AT
        && let Some(fault) = report.fault.take()
    {
        node.problem = Some(fault.of("array"));
    }
    let dtype = DType::Variable(Arc::new(Variable {
        word: "object".to_owned(),
        arrow: DataType::Utf8,
        reference: false,
    }));
    let chunk = header.shape.iter().map(|side| (*side).max(1)).collect();
    let objects = Objects { source: source.clone(), start: header.data, len: len - header.data };
    let array = Chunked::new(dtype, header.shape, chunk, Vec::new(), Arc::new(objects))?;
    Ok(node.content(Content::Array(Arc::new(array))).python(report))
}

/// The pickle as the one chunk of the array.
struct Objects {
    source: Source,
    start: u64,
    len: u64,
}

impl Chunks for Objects {
    fn chunk(&self, _: &Task, _: &[u64]) -> Result<Option<Bytes>> {
        Err(Error::bug("bytes were asked of elements without a size"))
    }

    fn column(&self, task: &Task, _: &[u64]) -> Result<Option<ArrayRef>> {
        limits::check(self.len, limits::CHUNK, "the pickle")?;
        let bytes = self.source.read(task, self.start..self.start + self.len)?;
        Pickle::read(task, &bytes, 0)?.cells().map(Some).map_err(|error| error.at(self.start))
    }

    fn layout(&self, _: &Task) -> Result<Layout> {
        Ok(Layout::default())
    }
}

/// The type of an array of objects, or the fields of records with some.
fn spelled(dtype: &DType) -> String {
    match dtype {
        DType::Struct(record) => {
            let fields: Vec<String> =
                record.fields.iter().map(|f| format!("{}: {}", f.name, spelled(&f.dtype))).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DType::Void(_) => "object".to_owned(),
        other => other.to_string(),
    }
}
