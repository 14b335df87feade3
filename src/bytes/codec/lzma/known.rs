//! What the first bytes of xz and lzma files tell.

use super::Lzma;
use crate::bytes::codec::decompress::{Decompressor, State};
use crate::bytes::error::{Error, Result};

/// How many filters the data of the first block went through before LZMA2; 0 where there is no block, or its
/// header is none.
///
/// # Errors
/// `Unsupported` for a filter that is none of the format's (section 5.3 of its specification).
pub fn filters(head: &[u8]) -> Result<usize> {
    let Some(block) = head.get(12..) else { return Ok(0) };
    let Some((&[size, flags], mut rest)) = block.split_first_chunk() else { return Ok(0) };
    if size == 0 {
        return Ok(0);
    }
    rest = rest.get(..4 * usize::from(size)).unwrap_or(rest);
    for bit in [0x40, 0x80] {
        if flags & bit != 0 {
            number(&mut rest);
        }
    }
    let count = usize::from(flags & 3);
    for _ in 0..=count {
        let (Some(id), Some(size)) = (number(&mut rest), number(&mut rest)) else { return Ok(0) };
        if !matches!(id, 3..=11 | 0x21) {
            return Err(Error::unsupported(format!("xz stream: the filter {id:#x}")).at(12));
        }
        rest = rest.get(usize::try_from(size).unwrap_or(usize::MAX)..).unwrap_or_default();
    }
    Ok(count)
}

/// Takes an integer of seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for n in 0..9 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Bytes that must decode for an lzma file to be known without its extension, and how many are tried.
const SURE: usize = 4 << 10;
const TRIED: usize = 64 << 10;

/// Whether these bytes, the start of a file or with `whole` all of it, are an lzma file: `Some(true)` where the
/// header is one that encoders write and the data decode as far as they are looked at, `Some(false)` where they
/// may be one, which the extension has to say.
///
/// The format has no magic number, and a decoder takes zeros for zeros: arrays and label images that are mostly
/// zero are headers with data that decode. So it is asked too whether the data look compressed.
pub fn begins_as_lzma(head: &[u8], whole: bool) -> Option<bool> {
    let (&[properties, a, b, c, d, ref size @ ..], rest) = head.split_first_chunk::<13>()?;
    let (dictionary, size) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(*size));
    let unknown = size == u64::MAX;
    // The range coder's first byte is always zero; encoders know no larger files.
    if properties >= 225 || !(unknown || size < 1 << 48) || rest.first().is_some_and(|byte| *byte != 0) {
        return None;
    }
    // 2^n or 2^n + 2^(n-1).
    let usual = dictionary >= 1 << 12
        && (dictionary.count_ones() == 1
            || dictionary.count_ones() == 2 && dictionary & (dictionary >> 1) != 0
            || dictionary == u32::MAX);
    // These limits are those of `xz` for files whose name it does not know. Its bits of context (lc + lp) are at
    // most 4; no bits of any kind are what an array begins with, not what an encoder writes.
    let context = properties % 9 + properties / 9 % 5;
    let usual = usual && properties != 0 && context <= 4 && (unknown || size < 1 << 38);
    match trial_decode(head, whole) {
        // Damaged data behind such a header are still what their name says.
        None => usual.then_some(false),
        Some(TrialDecode { taken, made, ended }) => {
            let data = rest.get(..taken.saturating_sub(13)).unwrap_or_default();
            let enough = if ended { whole && taken >= head.len() } else { made.len() >= SURE };
            let same = made.iter().all(|byte| made.first() == Some(byte));
            Some(usual && enough && !same && is_dense(data))
        }
    }
}

/// What the first bytes of an lzma file decode to.
struct TrialDecode {
    /// Bytes that were taken, with the header.
    taken: usize,
    made: Vec<u8>,
    /// Whether the stream ends there.
    ended: bool,
}

/// Decodes the first bytes of an lzma file; `None` where they are none.
fn trial_decode(head: &[u8], whole: bool) -> Option<TrialDecode> {
    // What is looked at reaches back no farther than this, so no large dictionary is needed; twice as far, since
    // the decoder runs ahead of what it hands out.
    let mut start = head.to_vec();
    start.get_mut(1..5)?.copy_from_slice(&(2 * TRIED as u32).to_le_bytes());
    let mut stream = Lzma::alone();
    let (mut out, mut len, mut ended, mut rest) = (vec![0; TRIED], 0, false, start.as_slice());
    while len < TRIED && !ended {
        let given = rest.len();
        let step = stream.step(&mut rest, out.get_mut(len..)?, whole).ok()?;
        len += step.made;
        ended = matches!(step.state, State::End(_));
        if rest.len() == given && step.made == 0 {
            break;
        }
    }
    out.truncate(len);
    Some(TrialDecode { taken: start.len() - rest.len(), made: out, ended })
}

/// Whether bytes may come from a range coder, which makes all of them about equally often: no byte, zero above
/// all, is more than a quarter of them, with a few more for what begins and ends a stream.
fn is_dense(data: &[u8]) -> bool {
    let mut counts = [0usize; 256];
    for byte in data {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    counts.iter().all(|count| *count <= data.len() / 4 + 2)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use lzma_rust2::filter::FilterConfig;
    use proptest::prelude::*;
    use std::io::Write;

    /// Text and, every so often, calls and jumps as programs have them.
    pub(crate) fn program() -> Vec<u8> {
        let part = |n: u32| {
            [&[0xe8][..], &(n * 64).to_le_bytes(), &[0xeb, 0x00, 0x40, n as u8], b"a goose "].concat()
        };
        (0..5_000).flat_map(part).collect()
    }

    pub(crate) fn packed(data: &[u8], filters: Vec<FilterConfig>) -> Vec<u8> {
        let mut options = lzma_rust2::XzOptions::with_preset(1);
        options.filters = filters;
        let mut writer = lzma_rust2::XzWriter::new(vec![], options).unwrap();
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn unknown_filters_are_unsupported() {
        let mut file = packed(b"a goose", vec![FilterConfig::new_delta(4)]);
        assert_eq!(file[14], 3);
        file[14] = 0x40;
        assert_eq!(filters(&file).unwrap_err().kind(), crate::bytes::error::ErrorKind::Unsupported);
        assert_eq!((filters(b"").unwrap(), filters(&file[..15]).unwrap()), (0, 0));
    }

    /// What a decoder takes for a header, in front of an array or a label image that is mostly zero.
    fn sparse() -> impl Strategy<Value = Vec<u8>> {
        let properties = prop_oneof![Just(93u8), any::<u8>()];
        let value = prop_oneof![5 => Just(0u8), 1 => any::<u8>()];
        let run = (prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 1usize..2_000);
        let runs = prop::collection::vec(run, 0..20);
        (properties, 12u32..32, 0usize..300, prop::collection::vec(value, 0..200), runs, 1usize..8).prop_map(
            |(properties, power, zeros, values, runs, width)| {
                let mut bytes = vec![properties];
                bytes.extend((1u32 << power).to_le_bytes());
                bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend(std::iter::repeat_n(0, zeros));
                // A value stands in the lowest byte of its element.
                let element = |value: u8| std::iter::once(value).chain(std::iter::repeat_n(0, width));
                bytes.extend(values.into_iter().flat_map(element));
                bytes.extend(runs.into_iter().flat_map(|(value, len)| std::iter::repeat_n(value, len)));
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn arrays_of_many_zeros_are_no_lzma(file in sparse(), whole: bool) {
            prop_assert_ne!(begins_as_lzma(&file, whole), Some(true));
        }

        #[test]
        fn what_encoders_write_is_lzma(
            data in prop::collection::vec(0u8..20, 2..9_000),
            options in (0u32..=4, 0u32..=4, 1u32..=4, 12u32..20),
            known: bool,
        ) {
            let (lc, lp, pb, power) = options;
            prop_assume!(lc + lp <= 4 && data.iter().any(|byte| *byte != data[0]));
            let mut options = lzma_rust2::LzmaOptions::with_preset(1);
            (options.lc, options.lp, options.pb, options.dict_size) = (lc, lp, pb, 1 << power);
            let len = known.then_some(data.len() as u64);
            let mut writer = lzma_rust2::LzmaWriter::new_use_header(vec![], &options, len).unwrap();
            writer.write_all(&data).unwrap();
            let file = writer.finish().unwrap();
            prop_assert_eq!(begins_as_lzma(&file, true), Some(true));
        }

        #[test]
        fn any_bytes_may_be_asked(file in prop::collection::vec(any::<u8>(), 0..100), whole: bool) {
            begins_as_lzma(&file, whole);
        }
    }

    #[test]
    fn lzma_is_known_by_what_decodes() {
        let write = |size: u32, known: bool| {
            let mut options = lzma_rust2::LzmaOptions::with_preset(3);
            options.dict_size = size;
            let data = program();
            let len = known.then_some(data.len() as u64);
            let mut writer = lzma_rust2::LzmaWriter::new_use_header(vec![], &options, len).unwrap();
            writer.write_all(&data).unwrap();
            writer.finish().unwrap()
        };
        for size in [4_096, 1 << 16, 3 << 19, 1 << 23] {
            for known in [true, false] {
                let file = write(size, known);
                assert_eq!(begins_as_lzma(&file, true), Some(true), "{size} {known}");
                assert_eq!(
                    begins_as_lzma(&file[..3_000.min(file.len())], false),
                    Some(true),
                    "{size} {known}"
                );
                assert_eq!(begins_as_lzma(&file[..20], true), Some(false), "{size} {known}");
            }
        }
        let odd = write(5_000_000, true);
        assert_eq!(begins_as_lzma(&odd, true), Some(false));
        for other in
            [&[0; 400][..], b"PK\x03\x04 and so on, a text of some length", &[0x5d, 0, 0, 0x80, 0, 1, 2, 3]]
        {
            assert_ne!(begins_as_lzma(other, true), Some(true));
        }
        // Zeros decode to zeros, and a few values among them to others.
        let mut labels: Vec<u8> = [93u32, 1, 2, 0].iter().flat_map(|label| label.to_le_bytes()).collect();
        labels.resize(1_000, 0);
        assert_eq!(begins_as_lzma(&labels, false), Some(false));
        for at in (20..900).step_by(20).chain(900..1_000) {
            let mut labels = labels.clone();
            labels[at] = 3;
            assert_ne!(begins_as_lzma(&labels, false), Some(true), "{at}");
        }
        let noise: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let file = [&write(1 << 20, false)[..14], &noise].concat();
        assert_ne!(begins_as_lzma(&file, true), Some(true));
    }
}
