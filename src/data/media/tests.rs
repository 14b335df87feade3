use super::*;
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::stats::media::{classes, structure};
use crate::formats::ALL;
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{Float64Type, Int64Type, Schema};
use std::io::Cursor;

/// A picture of these sides, red at the left and blue at the right.
fn encoded(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
    let picture = image::RgbImage::from_fn(width, height, |x, _| {
        image::Rgb(if x < width / 2 { [255, 0, 0] } else { [0, 0, 255] })
    });
    let mut out = Vec::new();
    picture.write_to(&mut Cursor::new(&mut out), format).unwrap();
    out
}

fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, image::ImageFormat::Png)
}

/// Cells as `datasets` writes its images.
fn images(payloads: Vec<Option<Vec<u8>>>) -> ArrayRef {
    let nulls = NullBuffer::from(payloads.iter().map(Option::is_some).collect::<Vec<_>>());
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter(payloads.iter().map(Option::as_deref)));
    let path: ArrayRef = Arc::new(StringArray::from_iter(payloads.iter().map(|_| Some("a/b.png"))));
    let fields: Vec<Field> =
        vec![Field::new("bytes", DataType::Binary, true), Field::new("path", DataType::Utf8, true)];
    Arc::new(StructArray::new(fields.into(), vec![bytes, path], Some(nulls)))
}

fn table(columns: Vec<(&str, ArrayRef)>, said: Option<&str>) -> MemoryTable {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let metadata = said.map(|said| ("huggingface".to_owned(), said.to_owned())).into_iter().collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    MemoryTable::new(RecordBatch::try_new(schema, arrays).unwrap())
}

fn nowhere() -> Place {
    Place::of(&Source::memory("a", vec![0]), "")
}

fn found(table: &MemoryTable) -> Media {
    find(&Task::new(), ALL, table, &[], &nowhere()).unwrap()
}

const SAID: &str = r#"{"info": {"features": {
    "picture": {"_type": "Image"},
    "objects": {"feature": {"bbox": {"feature": {"dtype": "float32", "_type": "Value"}, "length": 4, "_type": "Sequence"},
        "category": {"names": ["wheel", "door"], "_type": "ClassLabel"}}, "_type": "Sequence"},
    "label": {"names": ["cat", "dog", "goose"], "_type": "ClassLabel"}}}}"#;

/// Boxes of a row as a struct of lists: four numbers each, and classes.
fn objects(rows: &[&[([f64; 4], i64)]]) -> ArrayRef {
    let boxes: Vec<Option<Vec<Option<f64>>>> =
        rows.iter().flat_map(|row| row.iter().map(|(four, _)| Some(four.map(Some).to_vec()))).collect();
    let boxes = ListArray::from_iter_primitive::<Float64Type, _, _>(boxes);
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| row.len()));
    let item = Arc::new(Field::new("item", boxes.data_type().clone(), true));
    let boxes: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::new(boxes), None));
    let labels = rows.iter().map(|row| Some(row.iter().map(|(_, class)| Some(*class)).collect::<Vec<_>>()));
    let labels: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(labels));
    let fields: Vec<Field> = vec![
        Field::new("bbox", boxes.data_type().clone(), true),
        Field::new("category", labels.data_type().clone(), true),
    ];
    Arc::new(StructArray::new(fields.into(), vec![boxes, labels], None))
}

#[test]
fn images_labels_and_boxes_of_a_data_set() {
    let picture = images(vec![Some(png(100, 50)), Some(png(40, 80)), None]);
    // As COCO has them: of corners the first would end beyond the picture.
    let objects = objects(&[&[([60.0, 10.0, 30.0, 40.0], 1), ([0.0, 0.0, 10.0, 5.0], 0)], &[], &[]]);
    let label: ArrayRef = Arc::new(Int64Array::from(vec![2, 1, -1]));
    let table = table(vec![("picture", picture), ("objects", objects), ("label", label)], Some(SAID));
    let media = found(&table);
    let column = MediaColumn {
        column: 0,
        kind: MediaKind::Image,
        held: Held::Struct { bytes: Some(0), path: Some(1) },
    };
    assert_eq!(media.columns, std::slice::from_ref(&column));
    let batch = table.read(&Task::new(), 0..3, &[0, 1, 2]).unwrap();
    let label = &media.labels[0];
    let names: Vec<_> = (0..3).map(|row| label.text(batch.column(2).as_ref(), row)).collect();
    assert_eq!(names, [Some("goose".to_owned()), Some("dog".to_owned()), Some("-1".to_owned())]);
    let boxes = media.boxes.clone().unwrap();
    assert_eq!(
        (boxes.format, boxes.normalised, boxes.columns.as_slice()),
        (BoxFormat::Xywh, false, &[1][..])
    );
    let regions = boxes.of(&[batch.column(1).clone()], 0, (100, 50));
    let seen: Vec<_> = regions.iter().map(|region| (region.corners, region.label.as_deref())).collect();
    assert_eq!(seen[0], ([0.6, 0.2, 0.9, 1.0], Some("door")));
    assert_eq!(seen[1], ([0.0, 0.0, 0.1, 0.1], Some("wheel")));
    let payload = payload::payload(&Task::new(), &column, batch.column(0).as_ref(), 1, &nowhere()).unwrap();
    let Some(Payload::File(source)) = payload else { panic!("no file") };
    assert_eq!(source.name(), "b.png");
    assert!(
        payload::payload(&Task::new(), &column, batch.column(0).as_ref(), 2, &nowhere()).unwrap().is_none()
    );
}

#[test]
fn the_order_of_boxes_is_told_by_pictures() {
    let settle = |all: &[[f64; 4]], size| {
        let picture = images(all.iter().map(|_| Some(png(size, size))).collect());
        let rows = all.iter().map(|four| Some(four.map(Some).to_vec()));
        let boxes: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
        let boxes = found(&table(vec![("picture", picture), ("bbox", boxes)], None)).boxes.unwrap();
        (boxes.format, boxes.normalised)
    };
    assert_eq!(settle(&[[60.0, 60.0, 90.0, 99.0], [1.0, 2.0, 3.0, 4.0]], 100), (BoxFormat::Xyxy, false));
    assert_eq!(settle(&[[60.0, 60.0, 30.0, 39.0], [1.0, 2.0, 3.0, 4.0]], 100), (BoxFormat::Xywh, false));
    assert_eq!(settle(&[[0.6, 0.6, 0.9, 0.99], [0.1, 0.2, 0.3, 0.4]], 100), (BoxFormat::Xyxy, true));
    assert_eq!(settle(&[[0.6, 0.6, 0.3, 0.39], [0.5, 0.2, 0.1, 0.1]], 100), (BoxFormat::Xywh, true));
    // Around its middle each lies within the picture, and from its middle on it does not.
    assert_eq!(settle(&[[0.8, 0.8, 0.4, 0.4], [0.2, 0.5, 0.4, 1.0]], 100), (BoxFormat::Cxcywh, true));
}

#[test]
fn four_columns_of_sides_and_structs_are_boxes() {
    let lists = |values: [f64; 2]| -> ArrayRef {
        let rows = values.map(|value| Some(vec![Some(value)]));
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
    };
    let names = [
        "image/object/bbox/ymin",
        "image/object/bbox/xmin",
        "image/object/bbox/ymax",
        "image/object/bbox/xmax",
    ];
    let values = [[0.1, 0.0], [0.2, 0.0], [0.3, 0.5], [0.4, 0.5]];
    let mut columns: Vec<(&str, ArrayRef)> =
        names.into_iter().zip(values).map(|(name, values)| (name, lists(values))).collect();
    columns.push(("image/encoded", Arc::new(BinaryArray::from_iter_values([png(10, 10), png(10, 10)]))));
    let table = table(columns, None);
    let boxes = found(&table).boxes.unwrap();
    assert_eq!((boxes.columns.as_slice(), boxes.normalised), (&[1, 0, 3, 2][..], true));
    let batch = table.read(&Task::new(), 0..2, &boxes.columns).unwrap();
    let regions = boxes.of(batch.columns(), 0, (10, 10));
    assert_eq!(regions[0].corners, [0.2, 0.1, 0.4, 0.3]);
}

#[test]
fn labels_are_found_by_their_names() {
    let picture: ArrayRef = Arc::new(BinaryArray::from_iter_values([png(4, 4)]));
    let words = |word: &str| -> ArrayRef { Arc::new(StringArray::from(vec![word])) };
    let number: ArrayRef = Arc::new(Int64Array::from(vec![3]));
    let columns = vec![
        ("image/encoded", picture),
        ("image/width", number.clone()),
        ("image/class/label", number.clone()),
        ("image/class/text", words("goose")),
        ("text", words("a bird")),
        ("split", words("train")),
    ];
    let media = found(&table(columns, None));
    let labels: Vec<usize> = media.labels.iter().map(|label| label.column).collect();
    assert_eq!(labels, [3, 2]);
    assert_eq!(media.captions, [3, 4, 5]);
}

#[test]
fn lists_of_lists_are_arrays() {
    let rows = [[1.0f32, 2.0, 3.0], [4.0, 5.0, f32::NAN]];
    let flat: Vec<f32> = rows.iter().flatten().copied().collect();
    let inner = FixedSizeListArray::new(
        Arc::new(Field::new("item", DataType::Float32, true)),
        3,
        Arc::new(Float32Array::from(flat.clone())),
        None,
    );
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let outer = ListArray::new(item, OffsetBuffer::from_lengths([2]), Arc::new(inner), None);
    let column = MediaColumn { column: 0, kind: MediaKind::Array, held: Held::Elements };
    let task = Task::new();
    let Some(Payload::Array(array)) = payload::payload(&task, &column, &outer, 0, &nowhere()).unwrap() else {
        panic!("no array")
    };
    assert_eq!((array.shape(), array.dtype().to_string().as_str()), (&[2, 3][..], "float32"));
    let all = crate::data::region::Region::all(array.shape());
    let bytes = crate::data::content::array::read(array.as_ref(), &task, &all).unwrap();
    let expected: Vec<u8> = flat.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(bytes, expected);
    let preview = thumbnail(&task, ALL, &Payload::Array(array), 64).unwrap();
    let picture = preview.picture.unwrap();
    assert_eq!((picture.width, picture.height, preview.words.as_str()), (3, 2, "float32 2×3"));
    // The least is dark, and what is no number has a colour of its own.
    assert_eq!((&picture.rgba[..3], &picture.rgba[20..23]), (&[68, 1, 84][..], &[255, 43, 214][..]));
    let ragged = vec![Some(vec![Some(1), Some(2)]), Some(vec![Some(3)])];
    let ragged = ListArray::from_iter_primitive::<Int64Type, _, _>(ragged);
    let item = Arc::new(Field::new("item", ragged.data_type().clone(), true));
    let ragged = ListArray::new(item, OffsetBuffer::from_lengths([2]), Arc::new(ragged), None);
    assert!(payload::payload(&task, &column, &ragged, 0, &nowhere()).is_err());
}

#[test]
fn texts_name_files_of_the_folder_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("set/pictures")).unwrap();
    std::fs::write(folder.path().join("outside.png"), png(3, 3)).unwrap();
    std::fs::write(folder.path().join("set/pictures/one.png"), png(6, 2)).unwrap();
    let manifest = folder.path().join("set/list.csv");
    std::fs::write(&manifest, "a\n").unwrap();
    let task = Task::new();
    let one = folder.path().join("set/pictures/one.png").display().to_string();
    let beyond = folder.path().join("outside.png").display().to_string();
    let source = Source::open(&task, &manifest).unwrap();
    let open = Source::open(&task, folder.path()).unwrap();
    for place in [Place::of(&source, ""), Place::of(&open, "/set/list.csv")] {
        let there = |name: &str| place.open(&task, name).unwrap().is_some();
        assert!(there("pictures/one.png") && there("./pictures/one.png") && there("pictures\\one.png"));
        assert!(there(&one) && there(&format!("file://{one}")));
        assert!(
            !there("../outside.png") && !there("http://a/b.png") && !there("pictures") && !there("no.png")
        );
    }
    assert!(Place::of(&source, "").open(&task, &beyond).unwrap().is_none());
    for (second, columns, captions) in [("two", vec![], vec![0, 1]), ("one", vec![(0, Held::Path)], vec![1])]
    {
        let names = vec!["pictures/one.png".to_owned(), format!("pictures/{second}.png")];
        let note: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let table =
            table(vec![("file", Arc::new(StringArray::from(names)) as ArrayRef), ("note", note)], None);
        let media = find(&task, ALL, &table, &[], &Place::of(&source, "")).unwrap();
        let found: Vec<_> = media.columns.iter().map(|column| (column.column, column.held.clone())).collect();
        assert_eq!((found, media.captions), (columns, captions), "half of them is not most");
    }
}

#[test]
fn a_cell_is_opened_by_its_path() {
    let task = Task::new();
    let picture = images(vec![Some(png(6, 2)), None]);
    let table = Arc::new(table(vec![("a[0].b", picture)], None));
    let source = Source::memory("a", vec![0]);
    let leaf = crate::data::node::Node::new("t.parquet", "table").content(Content::Table(table));
    let root = Arc::new(crate::data::node::Node::new("f", "folder").separator("/").listed(vec![leaf]));
    let at = |path: &str| payload::at(&task, ALL, &source, &root, path).unwrap();
    let node = at("/t.parquet[0].a[0].b").unwrap();
    let Some(Content::Image(image)) = &node.content else { panic!("no image") };
    assert_eq!((image.info().width, node.name.as_str()), (6, "[0].a[0].b"));
    assert!(at("/t.parquet[1].a[0].b").is_none() && at("/t.parquet[9].a[0].b").is_none());
    assert!(at("/t.parquet[0].no").is_none() && at("/u[0].a").is_none());
}

#[test]
fn small_pictures_are_means_the_right_way_up() {
    let task = Task::new();
    let file = |bytes: Vec<u8>| Payload::File(Source::memory("value", bytes));
    let preview = thumbnail(&task, ALL, &file(png(40, 20)), 10).unwrap();
    assert_eq!((preview.size, preview.words.as_str()), (Some((40, 20)), "PNG 40×20"));
    let picture = preview.picture.unwrap();
    assert_eq!((picture.width, picture.height), (10, 5));
    assert_eq!(
        (&picture.rgba[16..20], &picture.rgba[20..24]),
        (&[255, 0, 0, 255][..], &[0, 0, 255, 255][..])
    );
    let small = thumbnail(&task, ALL, &file(png(4, 2)), 64).unwrap().picture.unwrap();
    assert_eq!((small.width, small.height), (4, 2));
    // What there is of one that is cut off is shown, and that it is cut off.
    let cut = thumbnail(&task, ALL, &file(png(40, 20)[..60].to_vec()), 10).unwrap();
    assert!(cut.picture.is_some() && cut.problem.is_some() && preview.problem.is_none());
    assert!(thumbnail(&task, ALL, &file(png(40, 20)[..20].to_vec()), 10).is_err());
    assert!(thumbnail(&task, ALL, &file(b"RIFF\x24\0\0\0WAVEfmt ".to_vec()), 10).is_err());
}

#[test]
fn sounds_are_waveforms() {
    // Silence, then a wave from one end to the other.
    let samples: Vec<u8> = (0..8000).map(|n| if n < 4000 { 128 } else { [0, 255][n % 2] }).collect();
    let mut wav =
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data".to_vec();
    wav.extend((samples.len() as u32).to_le_bytes());
    wav.extend(samples);
    let preview = thumbnail(&Task::new(), ALL, &Payload::File(Source::memory("a", wav)), 20).unwrap();
    assert_eq!((preview.words.as_str(), preview.problem), ("WAV 1.00 s · 8000 Hz", None));
    let picture = preview.picture.unwrap();
    assert_eq!((picture.width, picture.height), (20, 10));
    let painted = |x: usize| (0..10).filter(|y| picture.rgba[(y * 20 + x) * 4 + 3] > 0).count();
    assert_eq!((0..20).map(painted).collect::<Vec<_>>(), [[1; 10], [10; 10]].concat());
}

#[test]
fn a_large_jpeg_is_decoded_with_fewer_pixels() {
    let task = Task::new();
    let jpeg = encoded(640, 480, image::ImageFormat::Jpeg);
    let document =
        crate::formats::open_source(&task, &Source::memory("a.jpg", jpeg.clone()), &Default::default());
    let Some(Content::Image(image)) = &document.unwrap().root.content else { panic!("no image") };
    let reduced = image.reduced(&task, 0, 40, 30).unwrap().unwrap();
    assert_eq!((reduced.width, reduced.height, reduced.channels), (80, 60, 3));
    assert!(image.reduced(&task, 0, 400, 300).unwrap().is_none());
    let payload = Payload::File(Source::memory("a.jpg", jpeg));
    let picture = thumbnail(&task, ALL, &payload, 40).unwrap().picture.unwrap();
    assert_eq!((picture.width, picture.height), (40, 30));
    let near = |at: usize, expected: [u8; 3]| {
        picture.rgba[at * 4..at * 4 + 3]
            .iter()
            .zip(expected)
            .all(|(value, wanted)| value.abs_diff(wanted) < 12)
    };
    assert!(near(45, [254, 0, 0]) && near(75, [0, 0, 254]), "{:?}", &picture.rgba[..8]);
}

#[test]
fn what_a_pass_over_payloads_finds() {
    let task = Task::new();
    let mut broken = png(9, 9);
    let at = broken.windows(4).position(|four| four == b"IDAT").unwrap();
    broken[at + 6..at + 10].fill(0xff);
    let picture = images(vec![
        Some(png(8, 4)),
        None,
        Some(png(8, 4)),
        Some(broken),
        Some(vec![1, 2, 3]),
        Some(png(20, 10)),
    ]);
    let label: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(1), Some(2), None, Some(7), Some(2)]));
    let table = table(vec![("picture", picture), ("label", label)], Some(SAID));
    let media = found(&table);
    let found = structure(&task, ALL, &table, &media, &media.columns[0], &nowhere()).unwrap();
    assert_eq!((found.rows, found.absent, found.undecodable, found.duplicates), (6, 1, 2, 1));
    assert_eq!(found.first_undecodable.as_ref().unwrap().0, 3);
    assert_eq!(found.first_duplicate, Some((2, 0)));
    assert_eq!(found.sizes, [((8, 4), 2), ((9, 9), 1), ((20, 10), 1)]);
    assert_eq!(found.missing, [("picture".to_owned(), 1), ("label".to_owned(), 1)]);
    let counted = classes(&task, &table, &media.labels[0], None).unwrap();
    let seen: Vec<_> = counted.counts.iter().map(|(_, name, count)| (name.as_str(), *count)).collect();
    assert_eq!(seen, [("goose", 3), ("7", 1), ("dog", 1), ("null", 1)]);
    assert!(counted.exact && counted.rows == 6);
}
