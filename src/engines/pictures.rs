//! Pictures of one size with their labels, as the small data sets have them that everybody begins with: an array of pictures,
//! and one of labels beside it, as one table.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt::column;
use crate::data::content::array::read;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Rows, Table};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, BinaryBuilder, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde_json::json;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of pictures of one step of a scan.
const STEP: u64 = 32 << 20;
/// The name of the column of pictures.
const IMAGE: &str = "image";
/// Where the library `datasets` notes the kinds of columns.
const FEATURES: &str = "huggingface";

/// One kind of label of the pictures.
#[derive(Clone)]
pub struct Labels {
    /// The name of the column.
    pub name: String,
    /// Numbers, one for each picture.
    pub values: Arc<dyn Array>,
    /// What the numbers mean, from 0 on; empty where nothing says so.
    pub classes: Vec<String>,
}

/// The table: a column for each kind of label, and the pictures, each as a file of Netpbm.
pub struct Pictures {
    /// Number, height, width, and 3 channels if there are any, of 8 bits.
    images: Arc<dyn Array>,
    labels: Vec<Labels>,
    rows: u64,
    schema: SchemaRef,
}

impl Pictures {
    /// Pictures with their labels; of as many as all have.
    ///
    /// # Errors
    /// `Unsupported` where these are no pictures or no labels of them.
    pub fn new(images: Arc<dyn Array>, labels: Vec<Labels>) -> Result<Pictures> {
        let is_picture =
            matches!(images.shape(), [_, _, _] | [_, _, _, 1 | 3]) && *images.dtype() == DType::U8;
        if !is_picture {
            let what = format!(
                "an array of {} of the shape {:?} is none of pictures",
                images.dtype(),
                images.shape()
            );
            return Err(Error::unsupported(what));
        }
        let mut rows = images.shape().first().copied().unwrap_or(0);
        let mut fields = Vec::new();
        let mut features = serde_json::Map::new();
        for of in &labels {
            let [count] = *of.values.shape() else {
                return Err(Error::unsupported(format!("labels of the shape {:?}", of.values.shape())));
            };
            rows = rows.min(count);
            let kind = column(of.values.dtype(), &[], &[], 0)?.data_type().clone();
            if !kind.is_integer() {
                return Err(Error::unsupported(format!("labels of the type {}", of.values.dtype())));
            }
            fields.push(Field::new(&of.name, kind, true));
            if !of.classes.is_empty() {
                features.insert(of.name.clone(), json!({"_type": "ClassLabel", "names": of.classes}));
            }
        }
        fields.push(Field::new(IMAGE, DataType::Binary, true));
        features.insert(IMAGE.to_owned(), json!({"_type": "Image"}));
        // As the library `datasets` notes it: so views know the names of the classes.
        let said = json!({"info": {"features": features}}).to_string();
        let metadata = HashMap::from([(FEATURES.to_owned(), said)]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(Pictures { images, labels, rows, schema })
    }

    /// With the features that the schema of such a table tells as an attribute, as other files have them.
    pub fn described(node: Node, table: &dyn Table) -> Node {
        let said = table.schema().metadata().get(FEATURES);
        match said.and_then(|said| serde_json::from_str::<serde_json::Value>(said).ok()) {
            Some(features) => node.attribute(FEATURES, features),
            None => node,
        }
    }

    /// Bytes of a picture.
    fn size(&self) -> u64 {
        self.images.shape().iter().skip(1).fold(1, |all: u64, side| all.saturating_mul(*side))
    }

    fn pictures(&self, task: &Task, rows: &Range<u64>) -> Result<ArrayRef> {
        let count = rows.end - rows.start;
        limits::check(self.size().saturating_mul(count), limits::CHUNK, "these pictures")?;
        let (height, width) = match *self.images.shape() {
            [_, height, width, ..] => (height, width),
            _ => (0, 0),
        };
        let kind = if self.images.shape().get(3) == Some(&3) { 6 } else { 5 };
        let mut region = Region::all(self.images.shape());
        if let Some(first) = region.0.first_mut() {
            *first = Span::range(rows.start, count);
        }
        let bytes = read(self.images.as_ref(), task, &region)?;
        let mut all = BinaryBuilder::new();
        let mut file = format!("P{kind}\n{width} {height}\n255\n").into_bytes();
        let head = file.len();
        for picture in bytes.chunks_exact(self.size().max(1) as usize) {
            file.truncate(head);
            file.extend_from_slice(picture);
            all.append_value(&file);
        }
        Ok(Arc::new(all.finish()))
    }
}

impl Table for Pictures {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let rows = cut(&rows, self.rows);
        let count = rows.end - rows.start;
        let one = |index: &usize| match self.labels.get(*index) {
            Some(of) => {
                let region = Region(vec![Span::range(rows.start, count)]);
                let bytes = read(of.values.as_ref(), task, &region)?;
                column(of.values.dtype(), &[], &bytes, count as usize)
            }
            None if *index == self.labels.len() => self.pictures(task, &rows),
            None => Err(Error::bug(format!("column {index} was asked for"))),
        };
        let made: Vec<ArrayRef> = columns.iter().map(one).collect::<Result<_>>()?;
        batch(&self.schema, columns, made, count as usize)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.size().max(1)).clamp(1, 1 << 16)
    }
}
