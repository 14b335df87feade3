use super::*;
use crate::bytes::source::Source;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::region::Span;
use proptest::prelude::*;

/// As many bytes as `fixtures/quantised/make.py` makes for random blocks.
fn random(count: usize) -> Vec<u8> {
    let mut state = 20_240_131u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(next).collect()
}

/// Random blocks of each kind with the values that the reference gave: equal bits, NaN apart.
#[test]
fn every_kind_has_the_values_of_the_reference() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/quantised/ggml.txt"));
    let text = text.unwrap();
    let random = random(400 * 292);
    for (kind, name, elements, size) in Blocks::ALL {
        let variant = [("Wide", "_wide"), ("Pairs", "_pairs")].into_iter();
        let variant = variant.filter(|(end, _)| format!("{kind:?}").ends_with(end)).map(|(_, name)| name);
        let name = format!("{name}{}", variant.collect::<String>());
        let line = text.lines().find(|line| line.split(' ').next() == Some(name.as_str()));
        let line: Vec<&str> = line.unwrap_or_else(|| panic!("{name}")).split(' ').collect();
        let count: usize = line[1].parse().unwrap();
        assert!(count >= 200, "{name}");
        let blocks = &random[..count * size];
        assert_eq!(format!("{:08x}", crc32fast::hash(blocks)), line[2], "{name}");
        let mut values = vec![0; count * elements * 4];
        decode(kind, blocks, &mut values);
        let made: Vec<u8> =
            quants(kind, blocks).iter().flat_map(|quant| quant.value().to_le_bytes()).collect();
        for got in [values, made] {
            let bits = |bytes: &[u8; 4]| match f32::from_le_bytes(*bytes) {
                value if value.is_nan() => 0x7fc0_0000,
                value => value.to_bits(),
            };
            let bits: Vec<u32> = got.as_chunks::<4>().0.iter().map(bits).collect();
            let first: Vec<String> = bits[..8].iter().map(|bits| format!("{bits:08x}")).collect();
            assert_eq!(first, line[4..], "{name}");
            let all: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            assert_eq!(format!("{:08x}", crc32fast::hash(&all)), line[3], "{name}");
        }
    }
}

fn array(kind: Blocks, shape: &[u64], big: bool) -> BlockArray {
    let blocks = shape.iter().product::<u64>() as usize / kind.elements();
    let bytes: Vec<u8> = (0..blocks * kind.bytes()).map(|n| (n * 37 % 61) as u8).collect();
    BlockArray::new(Source::memory("a", [vec![0; 3], bytes].concat()), 3, kind, shape.to_vec(), big).unwrap()
}

proptest! {
    #[test]
    fn any_region_is_a_part_of_the_whole(
        rows in prop::collection::vec((1u64..5, 0u64..5, 0u64..5, 1u64..4), 0..3),
        (start, count, step) in (0u64..96, 0u64..97, 1u64..40), whole: bool,
    ) {
        let mut shape: Vec<u64> = rows.iter().map(|row| row.0).collect();
        shape.push(96);
        let mut spans: Vec<Span> = rows.iter().map(|&(len, start, count, step)| {
            let start = start.min(len - 1);
            Span { start, count: count.min((len - start).div_ceil(step)), step }
        }).collect();
        spans.push(match whole {
            true => Span::all(96),
            false => Span { start, count: count.min((96 - start).div_ceil(step)), step },
        });
        let (array, task, region) = (array(Blocks::Q5_1, &shape, false), Task::new(), Region(spans));
        let all = read(&array, &task, &Region::all(&shape)).unwrap();
        let mut places = vec![0u64];
        for (span, len) in region.0.iter().zip(&shape) {
            places = places.iter().flat_map(|p| (0..span.count).map(move |n| p * len + span.index(n))).collect();
        }
        let wanted: Vec<u8> = places.iter().flat_map(|p| all[*p as usize * 4..][..4].to_vec()).collect();
        prop_assert_eq!(&read(&array, &task, &region).unwrap(), &wanted);
        let quants = array.quants(&task, &region).unwrap();
        let made: Vec<u8> = quants.iter().flat_map(|quant| quant.value().to_le_bytes()).collect();
        prop_assert_eq!(made, wanted);
    }
}

#[test]
fn large_arrays_are_read_in_pieces() {
    let array = array(Blocks::Q8_0, &[300, 3200], false);
    let all = read(&array, &Task::new(), &Region::all(array.shape())).unwrap();
    let last = Region(vec![Span::range(299, 1), Span::all(3200)]);
    assert_eq!(read(&array, &Task::new(), &last).unwrap(), all[299 * 3200 * 4..]);
    let block = array.block(&Task::new(), &[299, 3199]).unwrap().unwrap();
    assert_eq!((block.elements.end, block.span.end), (960_000, 3 + 30_000 * 34));
}

#[test]
fn big_endian_blocks_are_turned() {
    for (kind, name, ..) in Blocks::ALL {
        let shape = [2, 2 * kind.elements() as u64];
        let little = array(kind, &shape, false);
        let (source, span) = little.checksummed().unwrap();
        let mut bytes = source.read(&Task::new(), span).unwrap().to_vec();
        for block in bytes.chunks_exact_mut(kind.bytes()) {
            for &(at, count, size) in kind.numbers() {
                block[at..at + count * size].chunks_exact_mut(size).for_each(<[u8]>::reverse);
            }
        }
        let big = BlockArray::new(Source::memory("b", bytes), 0, kind, shape.to_vec(), true).unwrap();
        let all = |array: &BlockArray| read(array, &Task::new(), &Region::all(&shape)).unwrap();
        assert_eq!(all(&little), all(&big), "{name}");
    }
}

#[test]
fn a_file_that_is_cut_off_gives_what_is_there() {
    let stored = array(Blocks::Q4_0, &[4, 64], false);
    let (source, span) = stored.checksummed().unwrap();
    let cut = source.read(&Task::new(), span.start..span.start + 18 * 5 + 7).unwrap();
    let array = BlockArray::new(Source::memory("c", cut), 0, Blocks::Q4_0, vec![4, 64], false).unwrap();
    assert!(array.missing().unwrap().message().contains("8 blocks, 5 are there"));
    let (all, task) = (Region::all(&[4, 64]), Task::new());
    assert!(read(&array, &task, &all).is_err());
    let mut out = vec![1; 4 * 64 * 4];
    let gaps = array.read_lenient(&task, &all, &mut out).unwrap();
    let whole = read(&stored, &task, &all).unwrap();
    assert_eq!(out[..160 * 4], whole[..160 * 4]);
    assert_eq!(gaps.iter().map(|gap| gap.part.elements().unwrap()).sum::<u64>(), 96);
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let made = |shape: &[u64]| {
        BlockArray::new(Source::memory("a", vec![0; 100]), 0, Blocks::Q4_0, shape.to_vec(), false).map(|_| ())
    };
    assert!(made(&[]).is_err() && made(&[33]).is_err() && made(&[1 << 60, 32]).is_err());
    assert!(made(&[u64::MAX, u64::MAX, 32]).is_err() && made(&[0, 32]).is_ok());
}
