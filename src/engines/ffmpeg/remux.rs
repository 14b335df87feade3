//! One coded track as a stream of Matroska (RFC 9559), for the decoder: a header, then each packet in a cluster of its own.
//! Times are not the video's: each frame stands [`STEP`] milliseconds, so that the n-th frame that comes out is the n-th
//! that is shown.

/// Milliseconds that a frame stands.
const STEP: u64 = 40;

/// What the decoder has to know of a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coding {
    /// The codec's name in Matroska.
    pub id: String,
    /// What configures the decoder.
    pub private: Vec<u8>,
    /// Pixels of a coded row,
    pub width: u64,
    /// and rows.
    pub height: u64,
}

/// A number of EBML that says how long an element is.
fn size(len: u64) -> Vec<u8> {
    for width in 1..=8u32 {
        if len < (1u64 << (7 * width)) - 1 {
            let bytes = (len | 1u64 << (7 * width)).to_be_bytes();
            return bytes.get(8 - width as usize..).unwrap_or_default().to_vec();
        }
    }
    vec![0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
}

fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    [id, &size(body.len() as u64), body].concat()
}

fn number(id: &[u8], value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let from = bytes.iter().position(|byte| *byte != 0).unwrap_or(7);
    element(id, bytes.get(from..).unwrap_or_default())
}

/// The header of the stream.
pub fn header(coding: &Coding) -> Vec<u8> {
    let ebml = [
        number(b"\x42\x86", 1),
        number(b"\x42\xf7", 1),
        number(b"\x42\xf2", 4),
        number(b"\x42\xf3", 8),
        element(b"\x42\x82", b"matroska"),
        number(b"\x42\x87", 4),
        number(b"\x42\x85", 2),
    ]
    .concat();
    let info = number(b"\x2a\xd7\xb1", 1_000_000);
    let video = [number(b"\xb0", coding.width), number(b"\xba", coding.height)].concat();
    let mut track = [
        number(b"\xd7", 1),
        number(b"\x73\xc5", 1),
        number(b"\x83", 1),
        number(b"\x9c", 0),
        number(b"\x23\xe3\x83", STEP * 1_000_000),
        element(b"\x86", coding.id.as_bytes()),
        element(b"\xe0", &video),
    ]
    .concat();
    if !coding.private.is_empty() {
        track.extend(element(b"\x63\xa2", &coding.private));
    }
    let tracks = element(b"\xae", &track);
    [
        element(b"\x1a\x45\xdf\xa3", &ebml),
        // A segment whose length is not known.
        b"\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff".to_vec(),
        element(b"\x15\x49\xa9\x66", &info),
        element(b"\x16\x54\xae\x6b", &tracks),
    ]
    .concat()
}

/// A packet that is shown as the n-th frame.
pub fn packet(data: &[u8], shown: u64, key: bool) -> Vec<u8> {
    let mut block = vec![0x81, 0, 0, if key { 0x80 } else { 0 }];
    block.extend_from_slice(data);
    let cluster = [number(b"\xe7", shown.saturating_mul(STEP)), element(b"\xa3", &block)].concat();
    element(b"\x1f\x43\xb6\x75", &cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_short_as_they_can_be() {
        assert_eq!(size(0), [0x80]);
        assert_eq!(size(126), [0xfe]);
        assert_eq!(size(127), [0x40, 0x7f]);
        assert_eq!(size(1 << 20), [0x30, 0, 0]);
        assert_eq!(number(b"\xe7", 0), [0xe7, 0x81, 0]);
        assert_eq!(number(b"\xe7", 300), [0xe7, 0x82, 1, 0x2c]);
    }
}
