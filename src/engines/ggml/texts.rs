//! Lists of texts behind their lengths, read by range: the tokens of a vocabulary. Of a list only the place of every
//! so-many-th text is kept.

use super::Cursor;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Rows, Table};
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, Float32Array, RecordBatch, StringArray, StringBuilder, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Of how many texts one is remembered.
const STEP: u64 = 256;

/// Texts one behind the other.
#[derive(Clone)]
pub struct Texts {
    source: Source,
    big: bool,
    /// Bytes of a length, and of what stands behind each text.
    width: u64,
    trailer: u64,
    count: u64,
    marks: Arc<[u64]>,
}

impl Texts {
    /// Goes over a list; the cursor is behind it then.
    ///
    /// # Errors
    /// `Malformed` where the file ends before the list does.
    pub fn skip(cursor: &mut Cursor, source: &Source, count: u64, width: u64, trailer: u64) -> Result<Self> {
        let marks = cursor.skip_texts(count, width, trailer, STEP)?.into();
        Ok(Texts { source: source.clone(), big: cursor.big, width, trailer, count, marks })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Hands over the texts of a range, and what stands behind each.
    ///
    /// # Errors
    /// Those of reading.
    pub fn each(
        &self,
        task: &Task,
        range: Range<u64>,
        mut text: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let range = cut(&range, self.count);
        let Some(&mark) = self.marks.get((range.start / STEP) as usize) else { return Ok(()) };
        let mut cursor = Cursor::new(task, &self.source, mark, self.big);
        cursor.skip_texts(range.start % STEP, self.width, self.trailer, STEP)?;
        for n in range {
            if n % STEP == 0 {
                task.check()?;
            }
            let bytes = cursor.bytes(self.width)?;
            let behind = cursor.take(self.trailer)?;
            text(&bytes, &behind)?;
        }
        Ok(())
    }
}

/// A column of a vocabulary beside its texts.
enum Column {
    /// The number of the row.
    Number,
    /// The texts.
    Text,
    /// A float32 behind each text.
    Behind,
    /// Numbers that lie elsewhere, one for each row.
    Scores(Arc<dyn Array>),
    /// Numbers of kinds, which have names.
    Kinds(Arc<dyn Array>, &'static [&'static str]),
}

/// Texts as a table, with numbers beside them.
pub struct Vocabulary {
    texts: Texts,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl Vocabulary {
    /// A table of one column of this name.
    pub fn new(texts: Texts, name: &str) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8, false)]));
        Vocabulary { texts, columns: vec![Column::Text], schema }
    }

    fn with(mut self, field: Field, column: Column, first: bool) -> Self {
        let mut fields: Vec<_> = self.schema.fields().iter().cloned().collect();
        let at = if first { 0 } else { fields.len() };
        fields.insert(at, Arc::new(field));
        self.columns.insert(at, column);
        self.schema = Arc::new(Schema::new(fields));
        self
    }

    /// With the number of each text before it.
    pub fn numbered(self) -> Self {
        self.with(Field::new("id", DataType::UInt64, false), Column::Number, true)
    }

    /// With the float32 that stands behind each text.
    pub fn scored(self) -> Self {
        self.with(Field::new("score", DataType::Float32, false), Column::Behind, false)
    }

    /// With a column of other numbers: an array of one dimension. Where it is too short, its end is null.
    pub fn scores(self, scores: Arc<dyn Array>) -> Self {
        self.with(Field::new("score", DataType::Float32, true), Column::Scores(scores), false)
    }

    /// With a column of kinds, by their names.
    pub fn kinds(self, kinds: Arc<dyn Array>, names: &'static [&'static str]) -> Self {
        self.with(Field::new("type", DataType::Utf8, true), Column::Kinds(kinds, names), false)
    }

    /// The texts of some rows, and the numbers behind them.
    fn texts(&self, task: &Task, rows: &Range<u64>) -> Result<(StringArray, Float32Array)> {
        let (mut texts, mut behind, mut size) = (StringBuilder::new(), Vec::new(), 0u64);
        self.texts.each(task, rows.clone(), |text, after| {
            size += text.len() as u64;
            limits::check(size, limits::CHUNK, "these texts")?;
            texts.append_value(String::from_utf8_lossy(text));
            let big = self.texts.big;
            behind.push(crate::bytes::numbers::ordered::<f32>(big, after, 0).unwrap_or(f32::NAN));
            Ok(())
        })?;
        Ok((texts.finish(), behind.into()))
    }
}

/// Numbers of some rows of an array of one dimension; none where it ends.
fn numbers(task: &Task, array: &dyn Array, rows: &Range<u64>) -> Result<Vec<Option<f64>>> {
    let there = cut(rows, array.shape().first().copied().unwrap_or(0));
    let count = there.end - there.start;
    let bytes = read(array, task, &Region(vec![Span::range(there.start, count)]))?;
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    let mut out: Vec<Option<f64>> = values.into_iter().map(Some).collect();
    out.resize((rows.end - rows.start) as usize, None);
    Ok(out)
}

impl Table for Vocabulary {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.texts.count)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.texts.count);
        let wanted =
            |column: &usize| matches!(self.columns.get(*column), Some(Column::Text | Column::Behind));
        let texts = match columns.iter().any(wanted) {
            true => Some(self.texts(task, &rows)?),
            false => None,
        };
        let mut out: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for column in columns {
            out.push(match (self.columns.get(*column), &texts) {
                (Some(Column::Text), Some((texts, _))) => Arc::new(texts.clone()),
                (Some(Column::Behind), Some((_, behind))) => Arc::new(behind.clone()),
                (Some(Column::Scores(array)), _) => {
                    let scores = numbers(task, array.as_ref(), &rows)?;
                    let scores = scores.into_iter().map(|score| score.map(|score| score as f32));
                    Arc::new(scores.collect::<Float32Array>())
                }
                (Some(Column::Kinds(array, names)), _) => {
                    let word = |kind: f64| match names.get(kind as usize).filter(|_| kind >= 0.0) {
                        Some(name) => (*name).to_owned(),
                        None => kind.to_string(),
                    };
                    let kinds = numbers(task, array.as_ref(), &rows)?;
                    Arc::new(kinds.into_iter().map(|kind| kind.map(word)).collect::<StringArray>())
                }
                _ => Arc::new(UInt64Array::from_iter_values(rows.clone())),
            });
        }
        batch(&self.schema, columns, out, (rows.end - rows.start) as usize)
    }
}
