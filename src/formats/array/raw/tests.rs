use super::*;
use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::region::Region;
use crate::formats::open_source;
use proptest::prelude::*;

fn opened(name: &str, bytes: Vec<u8>, layout: &[(&str, &str)]) -> Result<Arc<Node>> {
    let mut options = Options::default();
    for (name, value) in layout {
        options.set(name, *value);
    }
    if !layout.is_empty() {
        options.set("format", "raw");
    }
    Ok(open_source(&Task::new(), &Source::memory(name, bytes), &options)?.root)
}

fn array_of(node: &Node) -> Arc<dyn Array> {
    let Some(Content::Array(array)) = &node.content else { panic!("{:?}", node.problem) };
    array.clone()
}

fn values(node: &Node) -> Vec<f64> {
    let array = array_of(node);
    let mut out = Vec::new();
    array.dtype().decode(&read(&*array, &Task::new(), &Region::all(array.shape())).unwrap(), &mut out);
    out
}

#[test]
fn names_and_sizes_are_guessed() {
    let guess = |name: &str, len: u64| Layout::guess(name, len).map(|l| (l.dtype.to_string(), l.shape));
    let some = |dtype: &str, shape: &[u64]| Some((dtype.to_owned(), shape.to_vec()));
    assert_eq!(guess("depth_640x480_f32.raw", 640 * 480 * 4), some("float32", &[480, 640]));
    assert_eq!(guess("frame-8x4.rgb", 96), some("uint8", &[4, 8, 3]));
    assert_eq!(guess("8x4.rgba", 128), some("uint8", &[4, 8, 4]));
    assert_eq!(guess("ct_16x8x4_int16be.raw", 1024), some("int16", &[4, 8, 16]));
    assert!(Layout::guess("ct_16x8x4_int16be.raw", 1024).unwrap().big);
    assert_eq!(guess("scan_8x4.bin", 64), some("uint16", &[4, 8]));
    for (name, len) in
        [("8x4.raw", 33), ("8x4_f32.raw", 64), ("notes.raw", 64), ("8x4_f32.txt", 128), ("8x4.raw", 0)]
    {
        assert_eq!(guess(name, len), None, "{name} {len}");
    }
    let node = opened("x_4x2_u2.raw", (0..16).collect(), &[]).unwrap();
    assert_eq!(array_of(&node).shape(), [2, 4]);
    assert!(node.remarks[0].contains("[2, 4]"));
}

#[test]
fn told_layouts() {
    let bytes: Vec<u8> = (0..26).collect();
    let node = opened("a", bytes.clone(), &[("dtype", ">u2"), ("shape", "2x?"), ("offset", "2")]).unwrap();
    assert_eq!(values(&node)[..2], [515.0, 1029.0]);
    assert_eq!(array_of(&node).shape(), [2, 6]);
    let padded =
        opened("a", bytes.clone(), &[("shape", "?,3"), ("row-padding", "2"), ("offset", "1")]).unwrap();
    assert_eq!(array_of(&padded).shape(), [5, 3]);
    assert_eq!(values(&padded)[3..7], [6.0, 7.0, 8.0, 11.0]);
    let odd =
        opened("a", bytes.clone(), &[("dtype", "u16"), ("shape", "3x2"), ("row-padding", "3")]).unwrap();
    assert_eq!(values(&odd)[2..4], [2055.0, 2569.0].map(|n: f64| n));
    let turned = opened("a", bytes, &[("shape", "2x3"), ("order", "F"), ("row-padding", "1")]).unwrap();
    assert_eq!(values(&turned), [0.0, 3.0, 6.0, 1.0, 4.0, 7.0]);
    assert!(turned.remarks[0].contains("18 bytes follow"), "{:?}", turned.remarks);
}

#[test]
fn what_does_not_fit_is_said() {
    let bytes = vec![0u8; 20];
    let error = |layout: &[(&str, &str)]| opened("a", bytes.clone(), layout).err().unwrap().message();
    assert!(error(&[("dtype", "q4")]).contains("types are"));
    assert!(error(&[("shape", "2xtwo")]).contains("480x640x3"));
    assert!(error(&[("shape", "?x?")]).contains("480x640x3"));
    assert!(error(&[("offset", "-1")]).contains("number of bytes"));
    assert!(error(&[("order", "Z")]).contains("C, F"));
    let cut = opened("a", bytes.clone(), &[("shape", "4x6")]).unwrap();
    assert_eq!(array_of(&cut).shape(), [3, 6]);
    assert!(cut.problem.as_ref().unwrap().message().contains("24 bytes"));
    assert!(opened("a", bytes, &[("shape", "99999999999x99999999999x9")]).is_err());
}

#[test]
fn a_layout_says_itself_as_options() {
    let layout =
        Layout { dtype: DType::F32, shape: vec![3, 2], fortran: true, offset: 4, padding: 2, big: true };
    assert_eq!(Layout::parse(&layout.options(), 999).unwrap(), layout);
}

proptest! {
    #[test]
    fn padded_rows_are_those_of_a_strided_view(
        shape in prop::collection::vec(1u64..5, 1..4), padding in 0u64..5, offset in 0u64..4, fortran: bool, big: bool,
    ) {
        let layout = Layout { dtype: DType::U16, shape: shape.clone(), fortran, offset, padding, big };
        let len = layout.end().unwrap() + padding % 2;
        let bytes: Vec<u8> = (0..len).map(|n| (n * 37 % 251) as u8).collect();
        let node = {
            let source = Source::memory("a", bytes.clone());
            open_source(&Task::new(), &source, &layout.options()).unwrap().root
        };
        let got = values(&node);
        let (step, _) = layout.rows().unwrap();
        let total: u64 = shape.iter().product();
        let expected: Vec<f64> = (0..total).map(|flat| {
            let mut rest = flat;
            let mut index = vec![0u64; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let order: Vec<usize> = if fortran { (0..shape.len()).rev().collect() } else { (0..shape.len()).collect() };
            let (&fast, slow) = order.split_last().unwrap();
            let row = slow.iter().fold(0, |row, &axis| row * shape[axis] + index[axis]);
            let at = (offset + row * step + 2 * index[fast]) as usize;
            let pair = [bytes[at], bytes[at + 1]];
            f64::from(if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
        }).collect();
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn a_dialog_begins_with_the_type_that_the_ending_says() {
    let begin = |name: &str, len: u64| Layout::begin(name, len).map(|l| (l.dtype.to_string(), l.shape));
    assert_eq!(begin("weights.f32", 4_002), Some(("float32".to_owned(), vec![1_000])));
    assert_eq!(begin("x.double", 80), Some(("float64".to_owned(), vec![10])));
    assert_eq!(begin("layer_f16.bin", 80), Some(("float16".to_owned(), vec![40])));
    assert_eq!(begin("frame_16x8.rgb", 384), Some(("uint8".to_owned(), vec![8, 16, 3])));
    assert_eq!(begin("a_long_run.bin", 80), None);
    assert!(Layout::begin("ct.i16be", 8).unwrap().big);
}

#[test]
fn a_dialog_begins_behind_the_header_that_the_name_leaves_room_for() {
    let begin =
        |name: &str, len: u64| Layout::begin(name, len).map(|l| (l.dtype.to_string(), l.shape, l.offset));
    let volume = |dtype: &str, offset| Some((dtype.to_owned(), vec![4, 10, 20], offset));
    assert_eq!(begin("head_20x10x4.bin", 4 * 800 + 512), volume("float32", 512));
    assert_eq!(begin("head_20x10x4.bin", 2 * 800 + 3), volume("uint16", 3));
    assert_eq!(begin("head_20x10x4_i16.raw", 2 * 800 + 900), volume("int16", 900));
    // Too small for what it says: nothing is known.
    assert_eq!(begin("head_20x10x4.bin", 799), None);
    assert_eq!(begin("head_99999999999x99999999999.bin", 799), None);
}
