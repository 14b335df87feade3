//! Fields of a footer that their writer numbered on its own: Dremio puts lists where the format has since
//! put the length of a bloom filter. Readers made from the format's Thrift definition skip a field of an
//! unexpected type; the crate takes its number at its word. Such fields are left out for it.

use super::footer::{I32, I64, LIST, STRUCT, Thrift};
use crate::error::Result;

/// Which struct of the footer is copied.
#[derive(Clone, Copy)]
enum Level {
    File,
    RowGroup,
    Chunk,
    Column,
}

/// The footer without the fields of column metadata whose type is not the format's.
pub(super) fn without(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut thrift = Thrift::new(bytes);
    let mut out = Vec::with_capacity(bytes.len());
    copy(&mut thrift, &mut out, Level::File)?;
    Ok(out)
}

/// Whether field `id` of column metadata may have this type (parquet.thrift, ColumnMetaData).
fn fits(id: i64, kind: u8) -> bool {
    match id {
        14 => kind == I64,
        15 => kind == I32,
        16 | 17 => kind == STRUCT,
        _ => true,
    }
}

fn copy(thrift: &mut Thrift<'_>, out: &mut Vec<u8>, level: Level) -> Result<()> {
    let (mut id, mut last) = (0, 0);
    loop {
        let Some(kind) = thrift.field(&mut id)? else {
            out.push(0);
            return Ok(());
        };
        let start = thrift.at;
        let inner = match (level, id, kind) {
            (Level::File, 4, LIST) => Some(Level::RowGroup),
            (Level::RowGroup, 1, LIST) => Some(Level::Chunk),
            (Level::Chunk, 3, STRUCT) => Some(Level::Column),
            _ => None,
        };
        if matches!(level, Level::Column) && !fits(id, kind) {
            thrift.skip(kind, 0)?;
            continue;
        }
        header(out, id, &mut last, kind);
        match inner {
            Some(inner) if kind == LIST => {
                let (count, element) = thrift.list()?;
                out.extend_from_slice(thrift.bytes.get(start..thrift.at).unwrap_or_default());
                for _ in 0..count {
                    match element {
                        STRUCT => copy(thrift, out, inner)?,
                        other => {
                            let start = thrift.at;
                            thrift.skip_element(other, 0)?;
                            out.extend_from_slice(thrift.bytes.get(start..thrift.at).unwrap_or_default());
                        }
                    }
                }
            }
            Some(inner) => copy(thrift, out, inner)?,
            None => raw(thrift, out, kind)?,
        }
    }
}

fn raw(thrift: &mut Thrift<'_>, out: &mut Vec<u8>, kind: u8) -> Result<()> {
    let start = thrift.at;
    thrift.skip(kind, 0)?;
    out.extend_from_slice(thrift.bytes.get(start..thrift.at).unwrap_or_default());
    Ok(())
}

/// A field's header: its number as the distance from the last one, or in full.
fn header(out: &mut Vec<u8>, id: i64, last: &mut i64, kind: u8) {
    match id.checked_sub(*last).and_then(|gap| u8::try_from(gap).ok()) {
        Some(gap @ 1..=15) => out.push(gap << 4 | kind),
        _ => {
            out.push(kind);
            let mut left = (id << 1 ^ id >> 63) as u64;
            while left >= 0x80 {
                out.push(left as u8 | 0x80);
                left >>= 7;
            }
            out.push(left as u8);
        }
    }
    *last = id;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FileMetaData {4: [RowGroup {1: [ColumnChunk {3: ColumnMetaData {13: [], …}}]}]}.
    fn footer(column: &[u8]) -> Vec<u8> {
        let mut out = vec![0x49, 0x1c, 0x19, 0x1c, 0x3c];
        out.extend_from_slice(column);
        out.extend([0, 0, 0]);
        out
    }

    #[test]
    fn a_list_in_place_of_a_length_is_left_out() {
        // 13: empty list of structs, 15: a list of one i32, 16: an empty struct
        let odd = footer(&[0xd9, 0x0c, 0x29, 0x15, 0x02, 0x1c, 0x00, 0x00]);
        let plain = footer(&[0xd9, 0x0c, 0x3c, 0x00, 0x00]);
        assert_eq!(without(&odd).unwrap(), plain);
        assert_eq!(without(&plain).unwrap(), plain);
    }

    #[test]
    fn real_footers_stay_as_they_are() {
        for name in ["all_types", "row_groups_5", "wide_60"] {
            let path = format!("{}/fixtures/parquet/{name}.parquet", env!("CARGO_MANIFEST_DIR"));
            let file = std::fs::read(path).unwrap();
            let size = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
            let footer = &file[file.len() - 8 - size..file.len() - 8];
            assert_eq!(without(footer).unwrap(), footer, "{name}");
        }
    }

    #[test]
    fn a_cut_footer_is_an_error() {
        let whole = footer(&[0xd9, 0x0c, 0x00]);
        for cut in 0..whole.len() {
            assert!(without(&whole[..cut]).is_err(), "{cut}");
        }
    }
}
