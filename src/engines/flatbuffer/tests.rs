use super::*;
use crate::bytes::error::ErrorKind;
use proptest::prelude::*;

/// What a table is to hold, by slot.
#[derive(Clone, Debug)]
enum Made {
    Nothing,
    Number(u32),
    Text(String),
    Numbers(Vec<i64>),
    Table(Vec<Made>),
    Tables(Vec<Vec<Made>>),
}

fn word(out: &mut Vec<u8>, value: usize) {
    out.extend((value as u32).to_le_bytes());
}

/// Where the offset at `at` leads is the end.
fn lead(out: &mut [u8], at: usize) {
    let offset = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&offset.to_le_bytes());
}

/// Writes a table, its list of fields before it and what it holds behind it.
fn table(out: &mut Vec<u8>, at: Option<usize>, fields: &[Made]) {
    let begin = out.len();
    let size = 4 + fields.len() * 2;
    out.extend((size as u16).to_le_bytes());
    out.extend((4 + fields.len() as u16 * 4).to_le_bytes());
    for (n, field) in fields.iter().enumerate() {
        let inside = if matches!(field, Made::Nothing) { 0 } else { 4 + n as u16 * 4 };
        out.extend(inside.to_le_bytes());
    }
    if let Some(at) = at {
        lead(out, at);
    }
    let back = out.len() - begin;
    word(out, back);
    let first = out.len();
    for field in fields {
        word(out, if let Made::Number(number) = field { *number as usize } else { 0 });
    }
    for (n, field) in fields.iter().enumerate() {
        let at = first + n * 4;
        match field {
            Made::Nothing | Made::Number(_) => {}
            Made::Text(text) => {
                lead(out, at);
                word(out, text.len());
                out.extend(text.as_bytes());
            }
            Made::Numbers(numbers) => {
                lead(out, at);
                word(out, numbers.len());
                numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
            }
            Made::Table(fields) => table(out, Some(at), fields),
            Made::Tables(tables) => {
                lead(out, at);
                word(out, tables.len());
                let places = out.len();
                tables.iter().for_each(|_| word(out, 0));
                tables.iter().enumerate().for_each(|(n, fields)| table(out, Some(places + n * 4), fields));
            }
        }
    }
}

fn encode(fields: &[Made]) -> Vec<u8> {
    let mut out = vec![0; 4];
    table(&mut out, Some(0), fields);
    out
}

fn same(table: &Table, fields: &[Made]) -> bool {
    fields.iter().enumerate().all(|(slot, field)| match field {
        Made::Nothing => !table.has(slot) && table.text(slot).unwrap().is_none(),
        Made::Number(number) => table.number::<u32>(slot, 7).unwrap() == *number,
        Made::Text(text) => table.text(slot).unwrap().as_ref() == Some(text),
        Made::Numbers(numbers) => table.numbers::<i64>(slot).unwrap() == *numbers,
        Made::Table(fields) => same(&table.table(slot).unwrap().unwrap(), fields),
        Made::Tables(tables) => {
            let vector = table.tables(slot).unwrap();
            let each = |(n, fields): (usize, &Vec<Made>)| same(&vector.table(n).unwrap(), fields);
            vector.len() == tables.len()
                && tables.iter().enumerate().all(each)
                && vector.table(tables.len()).is_err()
        }
    }) && table.number::<u32>(fields.len(), 7).unwrap() == 7
}

/// Takes everything for everything, a few levels deep.
fn walk(table: &Table, depth: usize) -> Result<()> {
    for slot in 0..6 {
        let _ = (
            table.number::<u64>(slot, 0),
            table.flag(slot, true),
            table.text(slot),
            table.numbers::<i16>(slot),
        );
        if let Ok(Some(vector)) = table.vector(slot, 3) {
            assert_eq!(vector.bytes().len() as u64, vector.span().end - vector.span().start);
        }
        if depth == 0 {
            continue;
        }
        if let Ok(Some(inner)) = table.table(slot) {
            walk(&inner, depth - 1)?;
        }
        if let Ok(vector) = table.tables(slot) {
            for n in 0..vector.len().min(20) {
                match vector.table(n) {
                    Ok(inner) => walk(&inner, depth - 1)?,
                    Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Malformed),
                }
            }
        }
    }
    Ok(())
}

fn tables() -> impl Strategy<Value = Vec<Made>> {
    let leaf = prop_oneof![
        Just(Made::Nothing),
        any::<u32>().prop_map(Made::Number),
        "[a-zäß]{0,9}".prop_map(Made::Text),
        prop::collection::vec(any::<i64>(), 0..5).prop_map(Made::Numbers),
    ];
    let field = leaf.prop_recursive(3, 30, 4, |inner| {
        let fields = prop::collection::vec(inner, 0..5);
        prop_oneof![
            fields.clone().prop_map(Made::Table),
            prop::collection::vec(fields, 0..4).prop_map(Made::Tables),
        ]
    });
    prop::collection::vec(field, 0..6)
}

proptest! {
    #[test]
    fn what_was_encoded_is_read(fields in tables()) {
        let bytes = encode(&fields);
        let buffer = Buffer::new(&bytes);
        prop_assert!(same(&buffer.root().unwrap(), &fields));
    }

    #[test]
    fn mutated_bytes_end(fields in tables(), cut in any::<prop::sample::Index>(),
                         flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9)) {
        let mut bytes = encode(&fields);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let buffer = Buffer::new(&bytes);
        if let Ok(root) = buffer.root() {
            let _ = walk(&root, 2);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(0u8..20, 0..200)) {
        let buffer = Buffer::new(&bytes);
        if let Ok(root) = buffer.root() {
            let _ = walk(&root, 1);
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let whole = encode(&[Made::Text("goose".to_owned()), Made::Number(3)]);
    let error = |change: &[(usize, u8)], slot: usize| {
        let mut bytes = whole.clone();
        change.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        let buffer = Buffer::new(&bytes);
        let said = buffer.root().and_then(|root| root.text(slot)).unwrap_err();
        (said.what().to_owned(), said.offset())
    };
    // The list of fields lies at 4, the table at 12, its text at 24.
    assert_eq!(
        error(&[(0, 0)], 0),
        ("an offset leads out of the file, which may be cut off".to_owned(), Some(0))
    );
    assert!(error(&[(12, 99)], 0).0.contains("list of a table's fields lies out of the file"));
    assert!(error(&[(4, 3)], 0).0.contains("list of a table's fields is none"));
    assert!(error(&[(6, 99)], 0).0.contains("a table reaches beyond the end"));
    assert_eq!(error(&[(8, 99)], 0), ("field 0 lies outside of its table".to_owned(), Some(12)));
    assert_eq!(error(&[(24, 99)], 0).1, Some(28));
}

#[test]
fn what_is_shared_counts_each_time() {
    let fields = [Made::Tables(vec![vec![Made::Number(1)]; 2]), Made::Text("goose".repeat(1000))];
    let bytes = encode(&fields);
    let buffer = Buffer::new(&bytes);
    let root = buffer.root().unwrap();
    let tables = root.tables(0).unwrap();
    let error = (0..TABLES).find_map(|_| tables.table(1).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let error = (0..=ITEMS / 5000).find_map(|_| root.text(1).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
}
