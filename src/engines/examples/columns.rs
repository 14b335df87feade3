//! The columns that features become.

use super::REST;
use super::build::ExampleBuilder;
use super::survey::{FeatureSummary, Survey};
use super::wire::Kind;
use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result};
use crate::engines::records::container::{Builder, Columns, Problems};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What is known of features from elsewhere: a data set that says what its fields are.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The names of features whose bytes are no text, whatever they look like.
    pub bytes: HashSet<String>,
    /// Metadata of the schema.
    pub metadata: HashMap<String, String>,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Int64,
    Float,
    Bytes,
    Text,
    /// Lists of several kinds: each as the JSON of its message.
    Json,
    /// Nothing was ever set.
    Null,
}

impl Cell {
    fn of(met: &FeatureSummary, hints: &Hints) -> Cell {
        match met.kind {
            _ if met.mixed => Cell::Json,
            Some(Kind::Int64) => Cell::Int64,
            Some(Kind::Float) => Cell::Float,
            Some(Kind::Bytes) if met.is_text() && !hints.bytes.contains(&text(&met.name)) => Cell::Text,
            Some(Kind::Bytes) => Cell::Bytes,
            None => Cell::Null,
        }
    }

    /// The kind of list that its values are of.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Cell::Int64 => Some(Kind::Int64),
            Cell::Float => Some(Kind::Float),
            Cell::Bytes | Cell::Text => Some(Kind::Bytes),
            Cell::Json | Cell::Null => None,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Cell::Int64 => DataType::Int64,
            Cell::Float => DataType::Float32,
            Cell::Bytes => DataType::Binary,
            Cell::Text | Cell::Json => DataType::Utf8,
            Cell::Null => DataType::Null,
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) cell: Cell,
    /// How many lists lie around a value: none of single values, two of the lists of a `SequenceExample`.
    pub(super) depth: usize,
    /// Whether it is one of the lists of a `SequenceExample`.
    pub(super) is_list: bool,
}

/// Features as columns.
pub struct ExampleColumns {
    schema: SchemaRef,
    pub(super) columns: Vec<Column>,
    /// The places of columns by what their features are called: those of a context, and the lists.
    pub(super) places: [HashMap<Vec<u8>, usize>; 2],
    /// The column of what no other one takes; there is none where all records were looked at.
    pub(super) rest: Option<usize>,
    pub(super) problems: Arc<Problems>,
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl ExampleColumns {
    /// The columns that a survey tells of. `complete`: it looked at all records. What is wrong with records is said among
    /// `problems`.
    pub fn new(survey: &Survey, complete: bool, hints: &Hints, problems: Arc<Problems>) -> Self {
        let mut met: Vec<&FeatureSummary> = survey.features.iter().collect();
        // The order of maps in messages means nothing, and changes from record to record.
        met.sort_by(|a, b| {
            a.is_list.cmp(&b.is_list).then_with(|| natural_order(&text(&a.name), &text(&b.name)))
        });
        let (mut fields, mut columns, mut used) = (Vec::new(), Vec::new(), HashSet::new());
        let mut places = [HashMap::new(), HashMap::new()];
        for met in met {
            let cell = Cell::of(met, hints);
            let depth = match (cell, met.is_list) {
                (Cell::Json | Cell::Null, _) => 0,
                (_, true) => 2,
                (_, false) => usize::from(!met.single),
            };
            let mut name = text(&met.name);
            while !used.insert(name.clone()) {
                name.push_str(if met.is_list { " (list)" } else { " (2)" });
            }
            let mut data_type = cell.data_type();
            for _ in 0..depth {
                data_type = DataType::new_list(data_type, true);
            }
            let [plain, lists] = &mut places;
            let names = if met.is_list { lists } else { plain };
            names.insert(met.name.clone(), columns.len());
            fields.push(Field::new(name, data_type, true));
            columns.push(Column { cell, depth, is_list: met.is_list });
        }
        let rest = (!complete || survey.too_many).then_some(columns.len());
        if rest.is_some() {
            fields.push(Field::new(REST, DataType::Utf8, true));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, hints.metadata.clone()));
        ExampleColumns { schema, columns, places, rest, problems }
    }

    /// Whether there is a column for what has no other.
    pub fn has_rest(&self) -> bool {
        self.rest.is_some()
    }
}

impl Columns for ExampleColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        !columns.is_empty()
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        match columns.iter().find(|column| **column >= self.schema.fields().len()) {
            Some(column) => Err(Error::bug(format!("column {column} was asked for"))),
            None => Ok(Box::new(ExampleBuilder::new(self, columns))),
        }
    }
}
