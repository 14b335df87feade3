//! An object on a picture, and a column of lists of such.

use crate::data::media::regions::BOXES_KEY;
use crate::data::media::shapes::RunLengths;
use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListArray, ListBuilder, StringBuilder,
    StructArray, StructBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, Fields};
use std::sync::Arc;

/// What a format may say of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// Its number in the file.
    pub id: Option<i64>,
    /// The number of its class.
    pub category_id: Option<i64>,
    /// Its class.
    pub category: Option<String>,
    /// Its box, in the order that the column says.
    pub bbox: Option<[f64; 4]>,
    /// Pixels.
    pub area: Option<f64>,
    /// Whether it stands for many objects.
    pub is_crowd: Option<bool>,
    /// Outlines: x, y, x, y …
    pub segmentation: Vec<Vec<f64>>,
    /// Its pixels.
    pub mask: Option<RunLengths>,
    /// x, y and whether it is there (0), hidden (1) or seen (2) of each key point.
    pub key_points: Vec<f64>,
    /// Which key points are joined by lines, counted from 1 on, two numbers each.
    pub skeleton: Arc<[i64]>,
    /// How it is drawn: polygon, rectangle, point.
    pub shape: Option<String>,
    /// What else: a pose, a group, a description.
    pub note: Option<String>,
    /// Whether it goes beyond the picture.
    pub truncated: Option<bool>,
    /// Whether it is hard to see.
    pub difficult: Option<bool>,
    /// Whether something is before it.
    pub occluded: Option<bool>,
}

impl Object {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let points = self.segmentation.iter().map(Vec::len).sum::<usize>() + self.key_points.len();
        let runs = self.mask.as_ref().map_or(0, |mask| mask.lengths().count());
        (size_of::<Object>() + 8 * (points + runs)) as u64
    }
}

/// The fields that objects of a format have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Id,
    CategoryId,
    Category,
    Bbox,
    Area,
    IsCrowd,
    Segmentation,
    Mask,
    KeyPoints,
    Skeleton,
    Shape,
    Note(&'static str),
    Truncated,
    Difficult,
    Occluded,
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(ArrowField::new("item", item, true)))
}

/// COCO's size and counts of a mask.
fn mask_fields() -> Fields {
    let size = ArrowField::new("size", list(DataType::Int64), true);
    vec![size, ArrowField::new("counts", DataType::Utf8, true)].into()
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Field::Id => "id",
            Field::CategoryId => "category_id",
            Field::Category => "category",
            Field::Bbox => "bbox",
            Field::Area => "area",
            Field::IsCrowd => "iscrowd",
            Field::Segmentation => "segmentation",
            Field::Mask => "rle",
            Field::KeyPoints => "keypoints",
            Field::Skeleton => "skeleton",
            Field::Shape => "shape_type",
            Field::Note(name) => name,
            Field::Truncated => "truncated",
            Field::Difficult => "difficult",
            Field::Occluded => "occluded",
        }
    }

    fn arrow(self) -> ArrowField {
        let kind = match self {
            Field::Id | Field::CategoryId => DataType::Int64,
            Field::Category | Field::Shape | Field::Note(_) => DataType::Utf8,
            Field::Bbox | Field::KeyPoints => list(DataType::Float64),
            Field::Area => DataType::Float64,
            Field::IsCrowd | Field::Truncated | Field::Difficult | Field::Occluded => DataType::Boolean,
            Field::Segmentation => list(list(DataType::Float64)),
            Field::Mask => DataType::Struct(mask_fields()),
            Field::Skeleton => list(DataType::Int64),
        };
        ArrowField::new(self.name(), kind, true)
    }

    /// The values of this field of objects.
    fn column<'a>(self, objects: impl Iterator<Item = &'a Object>) -> ArrayRef {
        match self {
            Field::Id => integers(objects.map(|object| object.id)),
            Field::CategoryId => integers(objects.map(|object| object.category_id)),
            Field::Category => texts(objects.map(|object| object.category.as_deref())),
            Field::Shape => texts(objects.map(|object| object.shape.as_deref())),
            Field::Note(_) => texts(objects.map(|object| object.note.as_deref())),
            Field::Bbox => numbers(objects.map(|object| object.bbox.as_ref().map(<[f64; 4]>::as_slice))),
            Field::KeyPoints => {
                let there =
                    |object: &'a Object| Some(object.key_points.as_slice()).filter(|all| !all.is_empty());
                numbers(objects.map(there))
            }
            Field::Area => {
                let mut made = Float64Builder::new();
                objects.for_each(|object| made.append_option(object.area));
                Arc::new(made.finish())
            }
            Field::IsCrowd => flags(objects.map(|object| object.is_crowd)),
            Field::Truncated => flags(objects.map(|object| object.truncated)),
            Field::Difficult => flags(objects.map(|object| object.difficult)),
            Field::Occluded => flags(objects.map(|object| object.occluded)),
            Field::Segmentation => polygons(objects),
            Field::Mask => masks(objects),
            Field::Skeleton => {
                let mut made = ListBuilder::new(Int64Builder::new());
                for object in objects {
                    made.values().append_slice(&object.skeleton);
                    made.append(!object.skeleton.is_empty());
                }
                Arc::new(made.finish())
            }
        }
    }
}

fn integers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let mut made = Int64Builder::new();
    values.for_each(|value| made.append_option(value));
    Arc::new(made.finish())
}

fn flags(values: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    let mut made = BooleanBuilder::new();
    values.for_each(|value| made.append_option(value));
    Arc::new(made.finish())
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut made = StringBuilder::new();
    values.for_each(|value| made.append_option(value));
    Arc::new(made.finish())
}

fn numbers<'a>(values: impl Iterator<Item = Option<&'a [f64]>>) -> ArrayRef {
    let mut made = ListBuilder::new(Float64Builder::new());
    for value in values {
        made.values().append_slice(value.unwrap_or_default());
        made.append(value.is_some());
    }
    Arc::new(made.finish())
}

fn polygons<'a>(objects: impl Iterator<Item = &'a Object>) -> ArrayRef {
    let mut made = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for object in objects {
        for polygon in &object.segmentation {
            made.values().values().append_slice(polygon);
            made.values().append(true);
        }
        made.append(!object.segmentation.is_empty());
    }
    Arc::new(made.finish())
}

fn masks<'a>(objects: impl Iterator<Item = &'a Object>) -> ArrayRef {
    let fields = mask_fields();
    let mut made = StructBuilder::new(
        fields,
        vec![Box::new(ListBuilder::new(Int64Builder::new())), Box::new(StringBuilder::new())],
    );
    for object in objects {
        let mask = object.mask.as_ref();
        if let Some(size) = made.field_builder::<ListBuilder<Int64Builder>>(0) {
            let sides = mask.map(|mask| [i64::from(mask.height), i64::from(mask.width)]);
            size.values().append_slice(sides.as_ref().map_or(&[], <[i64; 2]>::as_slice));
            size.append(mask.is_some());
        }
        if let Some(counts) = made.field_builder::<StringBuilder>(1) {
            counts.append_option(mask.map(RunLengths::text));
        }
        made.append(mask.is_some());
    }
    Arc::new(made.finish())
}

/// The type of an object.
pub(super) fn fields(of: &[Field]) -> Fields {
    of.iter().map(|field| field.arrow()).collect()
}

/// The column of the objects of each image; `boxes` says how their boxes are written (see [`BOXES_KEY`]).
pub(super) fn column_field(of: &[Field], boxes: &str) -> ArrowField {
    let field = ArrowField::new("objects", list(DataType::Struct(fields(of))), false);
    field.with_metadata([(BOXES_KEY.to_owned(), boxes.to_owned())].into())
}

/// Objects, a column for each field.
pub(super) fn columns(of: &[Field], objects: &[Object]) -> Vec<ArrayRef> {
    of.iter().map(|field| field.column(objects.iter())).collect()
}

/// A list of objects for each image: `lengths` are how many each has.
pub(super) fn lists(of: &[Field], objects: &[Object], lengths: Vec<usize>) -> ArrayRef {
    let fields = fields(of);
    let all = StructArray::new(fields.clone(), columns(of, objects), None);
    let item = Arc::new(ArrowField::new("item", DataType::Struct(fields), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths), Arc::new(all), None))
}
