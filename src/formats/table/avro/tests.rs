use super::*;
use crate::bytes::source::Source;
use crate::data::format::Options;
use crate::formats::open_source;
use arrow::datatypes::{DataType, Field, Schema};

fn table(bytes: Vec<u8>) -> Result<Arc<dyn Table>> {
    let task = Task::new();
    let document = open_source(&task, &Source::memory("a.avro", bytes), &Options::default())?;
    match &document.root.content {
        Some(Content::Table(table)) => Ok(table.clone()),
        _ => panic!("no table"),
    }
}

/// Zig-zag.
fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    let mut out = Vec::new();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

fn text(text: &str) -> Vec<u8> {
    [long(text.len() as i64), text.as_bytes().to_vec()].concat()
}

/// A file with these blocks of (count, records).
fn file(schema: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([long(1), text("avro.schema"), text(schema), long(0)].concat());
    out.extend([7; 16]);
    for (count, records) in blocks {
        out.extend([long(*count), long(records.len() as i64), records.clone(), vec![7; 16]].concat());
    }
    out
}

fn cells(table: &dyn Table, rows: Range<u64>) -> Vec<Vec<Option<String>>> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &columns).unwrap();
    let row = |n: usize| batch.columns().iter().map(|c| crate::data::cell::text(c, n)).collect();
    (0..batch.num_rows()).map(row).collect()
}

#[test]
fn rows_of_several_blocks_and_single_columns() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"s","type":["null","string"]},{"name":"n","type":"long"}]}"#;
    let one = [long(1), text("a"), long(-3)].concat();
    let two = [long(0), long(1 << 40)].concat();
    let bytes = file(schema, &[(2, [one.clone(), two.clone()].concat()), (1, two)]);
    let table = table(bytes).unwrap();
    assert_eq!(table.rows(), Rows::Exact(3));
    let big = Some((1i64 << 40).to_string());
    assert_eq!(cells(&*table, 0..2), [vec![Some("a".into()), Some("-3".into())], vec![None, big.clone()]]);
    assert_eq!(cells(&*table, 1..9), [vec![None, big.clone()], vec![None, big.clone()]]);
    let batch = table.read(&Task::new(), 0..3, &[1]).unwrap();
    assert_eq!(crate::data::cell::text(batch.column(0), 2), big);
}

#[test]
fn types_within_themselves_are_json() {
    let schema = r#"{"type":"record","name":"n","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","n"]}]}"#;
    let records = [long(1), long(1), long(2), long(1), long(3), long(0)].concat();
    let table = table(file(schema, &[(1, records)])).unwrap();
    let got = cells(&*table, 0..1);
    let inner: Json = serde_json::from_str(got[0][1].as_ref().unwrap()).unwrap();
    assert_eq!(inner["next"]["v"], "3");
    assert_eq!(inner["next"]["next"], Json::Null);
}

#[test]
fn unions_of_several_types_keep_them() {
    let table = table(file(
        r#"["int","string","null"]"#,
        &[(3, [long(1), text("x"), long(0), long(7), long(2)].concat())],
    ));
    let got = cells(&*table.unwrap(), 0..3);
    assert_eq!(got, [[Some("x".to_owned())], [Some("7".to_owned())], [None]]);
}

#[test]
fn decimals_have_any_length() {
    let schema = r#"{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}"#;
    let records = [long(1), vec![0xff], long(3), vec![1, 0, 0]].concat();
    let got = cells(&*table(file(schema, &[(2, records)])).unwrap(), 0..2);
    assert_eq!(got, [[Some("-0.01".to_owned())], [Some("655.36".to_owned())]]);
}

#[test]
fn a_file_that_is_cut_off_gives_what_is_whole() {
    let schema = r#""long""#;
    let mut bytes = file(schema, &[(2, [long(5), long(6)].concat()), (1, long(7))]);
    bytes.truncate(bytes.len() - 3);
    let task = Task::new();
    let document = open_source(&task, &Source::memory("a.avro", bytes), &Options::default()).unwrap();
    assert!(document.root.problem.as_ref().unwrap().to_string().contains("cut off"));
    let Some(Content::Table(table)) = &document.root.content else { panic!() };
    assert_eq!(cells(&**table, 0..9), [[Some("5".to_owned())], [Some("6".to_owned())]]);
}

#[test]
fn blocks_behind_a_broken_one_are_read() {
    let block = |n: i64| (2, [long(n), long(n + 1)].concat());
    let bytes = file(r#""long""#, &[block(1), block(10), block(20), block(30)]);
    let size = 2 + 2 + 16;
    // The count, the size and the sync marker of the second block, and the size of the last one.
    for (places, wanted) in [
        (vec![0], vec![1, 2, 20, 21, 30, 31]),
        (vec![1], vec![1, 2, 20, 21, 30, 31]),
        (vec![10], vec![1, 2, 30, 31]),
        (vec![1, 2 * size + 1], vec![1, 2, 20, 21]),
    ] {
        let mut bytes = bytes.clone();
        let second = bytes.len() - 3 * size;
        places.iter().for_each(|at| bytes[second + at] = 0x7f);
        let document =
            open_source(&Task::new(), &Source::memory("a.avro", bytes), &Options::default()).unwrap();
        let problem = document.root.problem.as_ref().unwrap();
        assert_eq!(problem.offset(), Some(second as u64), "{places:?}: {problem}");
        assert_eq!(document.root.remarks.len(), places.len() - 1, "{:?}", document.root.remarks);
        let Some(Content::Table(table)) = &document.root.content else { panic!() };
        assert_eq!(table.rows(), Rows::Exact(wanted.len() as u64));
        let wanted: Vec<Vec<Option<String>>> =
            wanted.iter().map(|n: &i64| vec![Some(n.to_string())]).collect();
        assert_eq!(cells(&**table, 0..99), wanted, "{places:?}");
    }
}

#[test]
fn hostile_counts_end_soon() {
    let nulls = table(file(r#""null""#, &[(i64::MAX, vec![])])).unwrap();
    // Nulls take no bytes: there may be any number of them. Numbers take some.
    let all = nulls.read(&Task::new(), 0..i64::MAX as u64, &[0]).unwrap();
    assert_eq!(
        (all.num_rows() as u64, all.column(0).logical_null_count() as u64),
        (i64::MAX as u64, i64::MAX as u64)
    );
    assert!(table(file(r#""long""#, &[(1 << 50, long(7))])).is_ok_and(|table| table.rows().number() == 0));
    let items = table(file(r#"{"type":"array","items":"null"}"#, &[(1, [long(1 << 40), long(0)].concat())]));
    assert!(items.unwrap().read(&Task::new(), 0..1, &[0]).is_err());
    assert!(table(file(r#"{"type":"record","name":"r","fields":[{"name":"a","type":"x"}]}"#, &[])).is_err());
}

/// What is written of these columns, opened again.
fn written(columns: Vec<(&str, arrow::array::ArrayRef)>, fields: &[Field]) -> (Vec<u8>, Arc<dyn Table>) {
    use crate::data::content::table::MemoryTable;
    use crate::data::format::{Data, Payload, WriteTo};
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = arrow::array::RecordBatch::try_new(schema, arrays).unwrap();
    let payload = Payload::plain(Data::Table(Arc::new(MemoryTable::new(batch))));
    let mut out = std::io::Cursor::new(Vec::new());
    let WriteTo::File(write) = write::WRITER.write else { panic!() };
    write(&Task::new(), &payload, &Options::default(), &mut out).unwrap();
    let bytes = out.into_inner();
    (bytes.clone(), table(bytes).unwrap())
}

#[test]
fn maps_of_any_keys_and_uuids_come_back() {
    use arrow::array::{FixedSizeBinaryArray, Int64Builder, MapBuilder, StringBuilder};
    let mut map = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
    for (key, value) in [(7, Some("x")), (-1, None)] {
        map.keys().append_value(key);
        map.values().append_option(value);
    }
    map.append(true).unwrap();
    map.append(false).unwrap();
    let map: arrow::array::ArrayRef = Arc::new(map.finish());
    let ids = FixedSizeBinaryArray::try_from_iter([[7u8; 16], [0; 16]].iter()).unwrap();
    let uuid = Field::new("id", DataType::FixedSizeBinary(16), false)
        .with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into());
    let fields = [Field::new("m", map.data_type().clone(), true), uuid];
    let (bytes, table) = written(vec![("m", map), ("id", Arc::new(ids))], &fields);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("\"logicalType\":\"map\"") && text.contains("\"logicalType\":\"uuid\""), "{text}");
    let DataType::Map(entries, _) = table.schema().field(0).data_type() else { panic!("no map") };
    let DataType::Struct(pair) = entries.data_type() else { panic!() };
    assert_eq!(*pair[0].data_type(), DataType::Int64);
    let name = table.schema().field(1).metadata().get("ARROW:extension:name").cloned();
    assert_eq!(name.as_deref(), Some("arrow.uuid"));
    let read = cells(&*table, 0..2);
    assert_eq!(read[0][0].as_deref(), Some(r#"[["7","x"],["-1",null]]"#));
    assert_eq!(
        (read[1][0].as_deref(), read[0][1].as_deref()),
        (None, Some("0x07070707070707070707070707070707"))
    );
}
