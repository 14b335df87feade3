//! Images by number as a table; their objects and categories as tables of their own.

use super::object::{self, Field, Object};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{MemoryTable, batch, project};
use crate::data::content::{Content, Rows, Table};
use crate::data::media::features::with_classes;
use crate::data::node::Node;
use arrow::array::{ArrayRef, BinaryBuilder, Int64Builder, ListBuilder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field as ArrowField, Schema, SchemaRef};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Images that are read at once where all are gone through.
const STEP: u64 = 1_024;
/// The most objects in the table of all of them.
const OBJECTS: usize = 1 << 22;

/// An image and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct ImageRow {
    /// Its number in the file.
    pub id: Option<i64>,
    /// Its file, as a path in the folder of the data set.
    pub image: Option<String>,
    /// The bytes of its file, where they are in that of the annotations.
    pub bytes: Option<bytes::Bytes>,
    /// Its class.
    pub label: Option<String>,
    /// The set that it belongs to: train, val, test.
    pub split: Option<String>,
    /// Columns.
    pub width: Option<i64>,
    /// Rows.
    pub height: Option<i64>,
    /// A picture that says of each pixel what it is.
    pub mask: Option<String>,
    /// A second one of that sort: which object it belongs to.
    pub instances: Option<String>,
    /// Sentences on it.
    pub captions: Vec<String>,
    /// What is on it.
    pub objects: Vec<Object>,
    /// What is wrong with its annotation.
    pub problem: Option<String>,
}

/// The columns that a table of images may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Column {
    Id,
    Image,
    /// The picture itself, in the file of the annotations.
    Bytes,
    Label,
    Split,
    Width,
    Height,
    /// The mask of classes, under this name.
    Mask(&'static str),
    /// The mask of objects, under this name.
    Instances(&'static str),
    Captions,
    Objects,
    Problem,
}

impl Column {
    fn arrow(self, fields: &[Field], boxes: &str) -> ArrowField {
        let text = |name: &str| ArrowField::new(name, DataType::Utf8, true);
        let number = |name: &str| ArrowField::new(name, DataType::Int64, true);
        match self {
            Column::Id => number("id"),
            Column::Image => text("image"),
            Column::Bytes => ArrowField::new("image_data", DataType::Binary, true),
            Column::Label => text("label"),
            Column::Split => text("split"),
            Column::Width => number("width"),
            Column::Height => number("height"),
            Column::Mask(name) | Column::Instances(name) => text(name),
            Column::Captions => {
                let item = Arc::new(ArrowField::new("item", DataType::Utf8, true));
                ArrowField::new("captions", DataType::List(item), true)
            }
            Column::Objects => object::column_field(fields, boxes),
            Column::Problem => text("problem"),
        }
    }

    /// Whether only what is said of the objects tells it.
    fn wants_objects(self) -> bool {
        matches!(
            self,
            Column::Objects | Column::Captions | Column::Mask(_) | Column::Instances(_) | Column::Problem
        )
    }

    fn of(self, rows: &mut [ImageRow], fields: &[Field]) -> ArrayRef {
        let text = |get: fn(&ImageRow) -> Option<&str>| -> ArrayRef {
            let mut made = StringBuilder::new();
            rows.iter().for_each(|row| made.append_option(get(row)));
            Arc::new(made.finish())
        };
        let number = |get: fn(&ImageRow) -> Option<i64>| -> ArrayRef {
            let mut made = Int64Builder::new();
            rows.iter().for_each(|row| made.append_option(get(row)));
            Arc::new(made.finish())
        };
        match self {
            Column::Id => number(|row| row.id),
            Column::Width => number(|row| row.width),
            Column::Height => number(|row| row.height),
            Column::Image => text(|row| row.image.as_deref()),
            Column::Label => text(|row| row.label.as_deref()),
            Column::Split => text(|row| row.split.as_deref()),
            Column::Mask(_) => text(|row| row.mask.as_deref()),
            Column::Instances(_) => text(|row| row.instances.as_deref()),
            Column::Problem => text(|row| row.problem.as_deref()),
            Column::Bytes => {
                let mut made = BinaryBuilder::new();
                rows.iter().for_each(|row| made.append_option(row.bytes.as_deref()));
                Arc::new(made.finish())
            }
            Column::Captions => {
                let mut made = ListBuilder::new(StringBuilder::new());
                for row in rows.iter() {
                    row.captions.iter().for_each(|caption| made.values().append_value(caption));
                    made.append(!row.captions.is_empty());
                }
                Arc::new(made.finish())
            }
            Column::Objects => {
                let lengths = rows.iter().map(|row| row.objects.len()).collect();
                let all: Vec<Object> =
                    rows.iter_mut().flat_map(|row| std::mem::take(&mut row.objects)).collect();
                object::lists(fields, &all, lengths)
            }
        }
    }
}

/// Images by number.
pub trait Annotated: Send + Sync + 'static {
    /// How many there are, as far as that is known now. Waits for nobody.
    fn rows(&self) -> Rows;

    /// Whether the sizes of images stand beside the objects, and are read with them.
    fn sizes_are_annotations(&self) -> bool {
        false
    }

    /// Counts them.
    ///
    /// # Errors
    /// Those of reading.
    fn count(&self, task: &Task) -> Result<u64>;

    /// The images `range`, cut to what is there; what is said of their objects, captions and masks only where that is
    /// asked for. What is wrong with one image is said in its row.
    ///
    /// # Errors
    /// `Cancelled`; those of reading.
    fn images(&self, task: &Task, range: Range<u64>, objects: bool) -> Result<Vec<ImageRow>>;
}

/// The table of images.
pub struct ImageTable<A> {
    /// Where the rows come from.
    pub images: Arc<A>,
    columns: Vec<Column>,
    fields: Vec<Field>,
    schema: SchemaRef,
}

impl<A: Annotated> ImageTable<A> {
    /// The images with these columns; objects have these fields, and boxes that are written as `boxes` says
    /// ([`BOXES_KEY`](crate::data::media::regions::BOXES_KEY)).
    pub fn new(images: Arc<A>, columns: Vec<Column>, fields: Vec<Field>, boxes: &str) -> Self {
        let arrow: Vec<ArrowField> = columns.iter().map(|column| column.arrow(&fields, boxes)).collect();
        ImageTable { images, columns, fields, schema: Arc::new(Schema::new(arrow)) }
    }

    /// With the names that labels have, in the order in which classes are counted.
    pub fn classes(self, names: &[String]) -> Self {
        let field = |(field, column): (&Arc<ArrowField>, &Column)| match column {
            Column::Label => Arc::new(with_classes(field.as_ref().clone(), names)),
            _ => field.clone(),
        };
        let arrow: Vec<_> = self.schema.fields().iter().zip(&self.columns).map(field).collect();
        ImageTable { schema: Arc::new(Schema::new(arrow)), ..self }
    }
}

impl<A: Annotated> Table for ImageTable<A> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.images.rows()
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.images.count(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        STEP
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        project(&self.schema, columns)?;
        let wanted: Vec<Column> = columns.iter().filter_map(|n| self.columns.get(*n).copied()).collect();
        let sized = |column: &Column| matches!(column, Column::Width | Column::Height | Column::Bytes);
        let objects = wanted
            .iter()
            .any(|column| column.wants_objects() || sized(column) && self.images.sizes_are_annotations());
        let mut rows = self.images.images(task, rows, objects)?;
        // A column may be asked for twice, and objects are taken out of the rows.
        let mut made: HashMap<usize, ArrayRef> = HashMap::new();
        for (n, column) in columns.iter().zip(&wanted) {
            made.entry(*n).or_insert_with(|| column.of(&mut rows, &self.fields));
        }
        let arrays = columns.iter().filter_map(|n| made.get(n).cloned()).collect();
        batch(&self.schema, columns, arrays, rows.len())
    }
}

/// Goes through all images with their objects.
fn each_image(
    task: &Task,
    images: &dyn Annotated,
    mut take: impl FnMut(u64, ImageRow) -> Result<()>,
) -> Result<()> {
    let total = images.count(task)?;
    task.set_total(total);
    let mut at = 0;
    while at < total {
        task.check()?;
        let rows = images.images(task, at..at.saturating_add(STEP).min(total), true)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            take(at, row)?;
            at += 1;
        }
        task.reached(at);
    }
    Ok(())
}

/// The node of a table of all objects, with the number of the row and the image of each, made when somebody looks.
pub fn objects_node<A: Annotated>(images: &Arc<A>, fields: &[Field], boxes: &'static str) -> Node {
    let (images, fields) = (images.clone(), fields.to_vec());
    Node::deferred("annotations", "table", move |task| {
        let (mut rows, mut names, mut all) = (Int64Builder::new(), StringBuilder::new(), Vec::new());
        let mut bytes = 0_u64;
        each_image(task, images.as_ref(), |number, row| {
            if all.len() + row.objects.len() > OBJECTS {
                return Err(Error::limit(format!(
                    "the table of all objects would have more than {OBJECTS} rows"
                )));
            }
            for object in row.objects {
                bytes = bytes.saturating_add(object.bytes());
                limits::check(bytes, limits::READ, "the table of all objects")?;
                rows.append_value(number.cast_signed());
                names.append_option(row.image.as_deref());
                all.push(object);
            }
            Ok(())
        })?;
        let mut schema = vec![
            Arc::new(ArrowField::new("row", DataType::Int64, false)),
            Arc::new(ArrowField::new("image", DataType::Utf8, true)),
        ];
        let stated = [(crate::data::media::regions::BOXES_KEY.to_owned(), boxes.to_owned())];
        schema.extend(object::fields(&fields).iter().map(|field| match field.name().as_str() {
            "bbox" => Arc::new(field.as_ref().clone().with_metadata(stated.clone().into())),
            _ => field.clone(),
        }));
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(rows.finish()), Arc::new(names.finish())];
        arrays.extend(object::columns(&fields, &all));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(schema)), arrays)?;
        limits::check(batch.get_array_memory_size() as u64, limits::READ, "the table of all objects")?;
        Ok(Node::new("annotations", "table").content(Content::Table(Arc::new(MemoryTable::new(batch)))))
    })
}

/// The node of a table of the categories, with how many objects and images have each; `known` are those that the
/// format lists itself.
pub fn categories_node<A: Annotated>(images: &Arc<A>, known: Vec<String>) -> Node {
    let images = images.clone();
    Node::deferred("categories", "table", move |task| {
        let mut counts: Vec<(String, i64, i64)> = known.iter().map(|name| (name.clone(), 0, 0)).collect();
        let mut places: HashMap<String, usize> = HashMap::new();
        known.iter().enumerate().for_each(|(n, name)| {
            places.entry(name.clone()).or_insert(n);
        });
        each_image(task, images.as_ref(), |_, row| {
            let mut seen = Vec::new();
            for name in row.objects.into_iter().filter_map(|object| object.category) {
                limits::check(counts.len() as u64, 1 << 20, "the table of categories")?;
                let at = *places.entry(name.clone()).or_insert(counts.len());
                if at == counts.len() {
                    counts.push((name, 0, 0));
                }
                let Some((_, objects, images)) = counts.get_mut(at) else { continue };
                *objects += 1;
                if !seen.contains(&at) {
                    seen.push(at);
                    *images += 1;
                }
            }
            Ok(())
        })?;
        let schema = Schema::new(vec![
            ArrowField::new("category", DataType::Utf8, false),
            ArrowField::new("objects", DataType::Int64, false),
            ArrowField::new("images", DataType::Int64, false),
        ]);
        let (mut names, mut objects, mut images) =
            (StringBuilder::new(), Int64Builder::new(), Int64Builder::new());
        for (name, of, on) in counts {
            names.append_value(name);
            objects.append_value(of);
            images.append_value(on);
        }
        let arrays: Vec<ArrayRef> =
            vec![Arc::new(names.finish()), Arc::new(objects.finish()), Arc::new(images.finish())];
        let batch = RecordBatch::try_new(Arc::new(schema), arrays)?;
        Ok(Node::new("categories", "table").content(Content::Table(Arc::new(MemoryTable::new(batch)))))
    })
}
