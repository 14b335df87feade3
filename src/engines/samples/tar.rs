//! Members of a tar archive as bytes. A name that is longer than the old header has room for, or not ASCII, stands in a
//! header of its own. <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13>

/// What headers and members are filled up to.
const BLOCK: usize = 512;
/// Bytes that the header has for a name.
const NAME: usize = 100;

/// What ends an archive.
pub(super) const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// A header: of a file, or of what says more of the next one.
fn header(name: &[u8], size: usize, kind: u8, out: &mut Vec<u8>) {
    let mut block = [0_u8; BLOCK];
    let mut set = |at: usize, bytes: &[u8]| {
        for (to, from) in block.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    set(0, name.get(..NAME).unwrap_or(name));
    set(100, b"0000444\0");
    set(108, b"0000000\0");
    set(116, b"0000000\0");
    set(124, format!("{size:011o}\0").as_bytes());
    set(136, b"00000000000\0");
    set(148, b"        ");
    set(156, &[kind]);
    set(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    for (to, from) in block.iter_mut().skip(148).zip(sum.as_bytes()) {
        *to = *from;
    }
    out.extend(block);
}

/// Appends a file.
pub(super) fn append(name: &str, bytes: &[u8], out: &mut Vec<u8>) {
    if name.len() > NAME || !name.is_ascii() {
        let record = record("path", name);
        header(b"././@PaxHeader", record.len(), b'x', out);
        out.extend_from_slice(&record);
        fill(out, record.len());
    }
    header(name.as_bytes(), bytes.len(), b'0', out);
    out.extend_from_slice(bytes);
    fill(out, bytes.len());
}

fn fill(out: &mut Vec<u8>, len: usize) {
    out.extend(std::iter::repeat_n(0, len.next_multiple_of(BLOCK) - len));
}

/// A record of a header of its own: its length, which counts itself, a keyword and a value.
fn record(keyword: &str, value: &str) -> Vec<u8> {
    let rest = keyword.len() + value.len() + 3;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    format!("{len} {keyword}={value}\n").into_bytes()
}
