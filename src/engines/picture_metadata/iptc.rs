//! IPTC's Information Interchange Model, version 4: data sets, one after the other.
//! <https://www.iptc.org/std/IIM/4.2/specification/IIMV4.2.pdf>

use crate::bytes::error::{Error, Result};
use crate::data::node::{Node, Value};
use bytes::Bytes;

/// Data sets that are listed.
const MOST: usize = 4_096;

/// What data sets are called, by record and number.
const NAMES: [(u8, u8, &str); 36] = [
    (1, 0, "envelope version"),
    (1, 90, "character set"),
    (2, 0, "version"),
    (2, 3, "object type"),
    (2, 5, "object name"),
    (2, 7, "edit status"),
    (2, 10, "urgency"),
    (2, 12, "subject"),
    (2, 15, "category"),
    (2, 20, "supplemental category"),
    (2, 22, "fixture identifier"),
    (2, 25, "keywords"),
    (2, 30, "release date"),
    (2, 35, "release time"),
    (2, 40, "special instructions"),
    (2, 55, "date created"),
    (2, 60, "time created"),
    (2, 62, "digital creation date"),
    (2, 63, "digital creation time"),
    (2, 65, "originating program"),
    (2, 70, "program version"),
    (2, 80, "by-line"),
    (2, 85, "by-line title"),
    (2, 90, "city"),
    (2, 92, "sublocation"),
    (2, 95, "province or state"),
    (2, 100, "country code"),
    (2, 101, "country"),
    (2, 103, "original transmission reference"),
    (2, 105, "headline"),
    (2, 110, "credit"),
    (2, 115, "source"),
    (2, 116, "copyright notice"),
    (2, 118, "contact"),
    (2, 120, "caption"),
    (2, 122, "writer"),
];

/// The data sets as attributes.
pub(super) fn node(block: &Bytes) -> Result<Node> {
    let mut node = Node::new("IPTC", "metadata");
    let mut utf8 = false;
    let mut rest = block.as_ref();
    let mut count = 0;
    while let [0x1c, record, number, high, low, after @ ..] = rest {
        // A length whose highest bit is set is that of a longer length.
        let (len, after) = match u16::from_be_bytes([*high, *low]) {
            short @ 0..0x8000 => (usize::from(short), after),
            long => {
                let width = usize::from(long & 0x7fff).min(8);
                let wide = crate::bytes::numbers::be_unsigned(after.get(..width).unwrap_or_default());
                (usize::try_from(wide).unwrap_or(usize::MAX), after.get(width..).unwrap_or_default())
            }
        };
        let Some(value) = after.get(..len) else {
            node.remarks.push(format!("the data set {record}:{number} is cut off"));
            break;
        };
        if count == MOST {
            node.remarks.push(format!("only the first {MOST} data sets are shown"));
            break;
        }
        count += 1;
        utf8 |= (*record, *number) == (1, 90) && value == b"\x1b%G";
        put(&mut node, *record, *number, value, utf8);
        rest = after.get(len..).unwrap_or_default();
    }
    if count == 0 {
        return Err(Error::malformed("IPTC: it begins with no data set"));
    }
    Ok(node)
}

/// Takes a data set: one that is repeated becomes a list.
fn put(node: &mut Node, record: u8, number: u8, value: &[u8], utf8: bool) {
    let known = NAMES.iter().find(|(r, n, _)| (*r, *n) == (record, number));
    let name = known.map_or_else(|| format!("{record}:{number:03}"), |(.., name)| (*name).to_owned());
    let text = match (record, number, value) {
        (1 | 2, 0, [high, low]) => u16::from_be_bytes([*high, *low]).to_string(),
        (1, 90, b"\x1b%G") => "UTF-8".to_owned(),
        _ if utf8 => String::from_utf8_lossy(value).into_owned(),
        // Writers use it without saying so, too.
        _ => match std::str::from_utf8(value) {
            Ok(text) => text.to_owned(),
            Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    match node.attributes.iter_mut().find(|(known, _)| *known == name) {
        Some((_, Value::Json(serde_json::Value::Array(list)))) => list.push(text.into()),
        Some((_, value)) => {
            let first = match value {
                Value::Text(first) => first.as_str().into(),
                Value::Json(first) => first.clone(),
            };
            *value = Value::Json(vec![first, text.into()].into());
        }
        None => node.attributes.push((name, text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_data_sets_are_lists() {
        let block = b"\x1c\x01\x5a\0\x03\x1b%G\x1c\x02\0\0\x02\0\x04\x1c\x02\x19\0\x03sea\x1c\x02\x19\0\x05caf\xc3\xa9\x1c\x02\x05\0\x04Dusk";
        let node = node(&Bytes::from_static(block)).unwrap();
        let text: Vec<String> = node
            .attributes
            .iter()
            .map(|(name, value)| match value {
                Value::Text(text) => format!("{name}={text}"),
                Value::Json(json) => format!("{name}={json}"),
            })
            .collect();
        assert_eq!(
            text,
            ["character set=UTF-8", "version=4", r#"keywords=["sea","café"]"#, "object name=Dusk"]
        );
        assert!(node.remarks.is_empty());
    }

    #[test]
    fn a_data_set_that_is_cut_off_is_told() {
        let node = node(&Bytes::from_static(b"\x1c\x02\x05\0\x01a\x1c\x02\x69\0\x20Head")).unwrap();
        assert_eq!(node.remarks, ["the data set 2:105 is cut off"]);
        assert!(super::node(&Bytes::from_static(b"8BIM")).is_err());
    }
}
