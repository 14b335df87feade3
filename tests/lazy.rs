//! Opening reads headers: of a gigabyte of each format, less than a megabyte.
//!
//! The documents exist only as what they begin with, what they end with, and what is repeated in between, so that
//! every byte that is asked for is counted. A format that is not here says why in [`NOT_HERE`]; one that must read more
//! in [`READ_MORE`].

use crate::fixtures::root;
use gander::Task;
use gander::bytes::error::Result;
use gander::bytes::source::{ReadAt, Source};
use gander::data::content::Content;
use gander::data::format::Options;
use gander::data::region::{Region, Span};
use gander::formats::{ALL, FORMATS};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SIZE: u64 = 1 << 30;
const AT_MOST: u64 = 1 << 20;

/// Formats that have no file of a gigabyte.
const NOT_HERE: &[(&str, &str)] = &[
    ("jp2", "its decoder gets the whole file, up to a limit"),
    ("jxl", "its decoder gets the whole file, up to a limit"),
    ("svg", "a text read as a whole, up to a limit"),
    ("mpegts", "nothing in the file says where frames are: its packets are gone through"),
    ("dicom_series", "a folder"),
    ("dot", "written, not read"),
    ("mermaid", "written, not read"),
    ("mlir", "a text read as a whole, up to a limit; weights stand in other files"),
    ("flac", "its frames are numbered, so that no pattern of them is a file; its own test says what is read"),
    ("safetensors_sharded", "a folder"),
    ("gguf_split", "a folder"),
    ("huggingface", "a folder"),
    ("training_run", "a folder"),
    (
        "tensorboard",
        "its tags are known when all records were gone through; its own test says what opening reads",
    ),
    ("mxnet_symbol", "a JSON document read as a whole, up to a limit; the weights are a file of their own"),
    ("openvino", "an XML document read as a whole, up to a limit; the weights are a file of their own"),
    ("pmml", "where its models and lists lie is known when all of it was gone through, in one pass"),
    (
        "tf_checkpoint",
        "a folder, or told by its last bytes, which of streams such as these are not looked at",
    ),
    ("torch_distributed", "a folder"),
    ("pytorch_sharded", "a folder"),
    ("pickleshare", "a folder"),
    ("mlpackage", "a folder"),
    ("tfjs", "its description is read as a whole up to a limit; the weights lie in other files"),
    ("delta", "a folder"),
    ("iceberg", "a folder"),
    ("dataset", "a folder"),
    ("tfrecord_set", "a folder"),
    ("voc", "a folder"),
    ("yolo", "a folder"),
    ("labelme_set", "a folder"),
    ("image_folder", "a folder"),
    ("hf_dataset", "a folder"),
    ("labelme", "one picture's shapes, read as a whole up to a limit"),
    ("webdataset_set", "a folder"),
    ("cifar_set", "a folder"),
    ("idx_set", "a folder"),
    ("zarr", "a folder"),
    ("n5", "a folder"),
    ("folder", "a folder"),
    ("sqlite", "SQLite opens the file by its path and reads the pages of the schema"),
    ("known", "nothing but the first bytes of such a file is read at all"),
];

const DECOMPRESSED: &str = "the first 8 MB are decompressed, so that a small damaged file says so at once";

/// Formats whose opening reads more than [`AT_MOST`], and what for.
const READ_MORE: &[(&str, &str)] = &[
    ("pickle", "its machine gets the whole stream, of a mapped file a slice of the map"),
    ("joblib", "its pickle is read as any other"),
    ("onnx", "its messages are walked in the whole file, of a mapped one in a slice of the map"),
    ("tf_graphdef", "its messages are walked as ONNX's"),
    ("tf_savedmodel", "its messages are walked as ONNX's"),
    ("tflite", "its tables are read in the whole file, of a mapped one in a slice of the map"),
    ("jpeg", "its decoder gets the whole file, of a mapped one as a slice of the map"),
    ("gzip", DECOMPRESSED),
    ("zstd", DECOMPRESSED),
    ("bzip2", DECOMPRESSED),
    ("xz", DECOMPRESSED),
    ("lz4", DECOMPRESSED),
    ("zlib", DECOMPRESSED),
    ("coreml", "its message is walked through, of a mapped file a slice of the map"),
    ("coco", "the first two thousand images are listed, and the lists looked for behind them"),
    ("webdataset", "the headers of the first members, and what lies between those of small ones"),
    ("json", "the first hundred elements are found in steps of a megabyte"),
];

/// A document that is made as it is read: how it begins, a pattern that is repeated, how it ends.
struct Document {
    id: &'static str,
    name: &'static str,
    head: Vec<u8>,
    fill: Vec<u8>,
    tail: Vec<u8>,
}

struct Counted {
    document: Document,
    len: u64,
    read: Arc<AtomicU64>,
}

impl ReadAt for Counted {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn len(&self, _: &Task) -> Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, _: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let Document { head, fill, tail, .. } = &self.document;
        let (start, end) = (head.len() as u64, self.len - tail.len() as u64);
        let count = (self.len.saturating_sub(offset) as usize).min(out.len());
        if let [byte] = fill[..]
            && offset >= start
            && offset + count as u64 <= end
        {
            out[..count].fill(byte);
            self.read.fetch_add(count as u64, Ordering::Relaxed);
            return Ok(count);
        }
        for (at, byte) in (offset..).zip(&mut out[..count]) {
            *byte = match at {
                _ if at < start => head[at as usize],
                _ if at >= end => tail[(at - end) as usize],
                _ => fill[((at - start) % fill.len() as u64) as usize],
            };
        }
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The document of a gigabyte, whole repetitions of its pattern.
fn counted(document: Document) -> (Counted, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let around = (document.head.len() + document.tail.len()) as u64;
    let fill = document.fill.len() as u64;
    let len = around + (SIZE - around).div_ceil(fill) * fill;
    (Counted { document, len, read: read.clone() }, read)
}

fn fixture(path: &str) -> Vec<u8> {
    let path = root().join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file of zeros behind what is made by hand.
fn zeros(id: &'static str, name: &'static str, head: Vec<u8>) -> Document {
    Document { id, name, head, fill: vec![0], tail: Vec::new() }
}

/// A fixture with nothing but zeros behind it.
fn longer(id: &'static str, path: &'static str) -> Document {
    zeros(id, path.rsplit('/').next().unwrap(), fixture(path))
}

/// A fixture with zeros behind it, which what stands behind this name says are its own.
fn patched(id: &'static str, path: &'static str, name: &[u8], size: &[u8]) -> Document {
    let mut file = fixture(path);
    let at = file.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
    file[at..at + size.len()].copy_from_slice(size);
    zeros(id, path.rsplit('/').next().unwrap(), file)
}

/// A fixture with a hole in front of its last bytes, which say by their distance from the end where they are.
fn hollow(id: &'static str, path: &'static str, tail: impl Fn(&[u8]) -> usize) -> Document {
    let mut head = fixture(path);
    let tail = head.split_off(head.len() - tail(&head));
    Document { id, name: path.rsplit('/').next().unwrap(), head, fill: vec![0], tail }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Parquet: the footer, its length and the magic.
fn parquet_tail(file: &[u8]) -> usize {
    number(&file[file.len() - 8..file.len() - 4]) + 8
}

/// Arrow files: the same with a longer magic.
fn arrow_tail(file: &[u8]) -> usize {
    number(&file[file.len() - 10..file.len() - 6]) + 10
}

/// ORC: statistics, footer and postscript; the lengths are the fields 1 and 5 of the postscript.
fn orc_tail(file: &[u8]) -> usize {
    let length = usize::from(file[file.len() - 1]);
    let mut rest = &file[file.len() - 1 - length..file.len() - 1];
    let varint = |rest: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, others) = rest.split_first().unwrap();
            *rest = others;
            value |= usize::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    };
    let mut tail = length + 1;
    while !rest.is_empty() {
        let tag = varint(&mut rest);
        let value = varint(&mut rest);
        if tag & 7 == 2 {
            rest = &rest[value..];
        } else if [1, 5].contains(&(tag >> 3)) {
            tail += value;
        }
    }
    tail
}

/// ZIP: the hole lies between the last member and the central directory, whose new place the end record tells.
fn zip(id: &'static str, path: &'static str) -> Document {
    let mut head = fixture(path);
    let end = head.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    let directory = number(&head[end + 16..end + 20]);
    let mut tail = head.split_off(directory);
    let place = (SIZE - tail.len() as u64) as u32;
    tail[end - directory + 16..end - directory + 20].copy_from_slice(&place.to_le_bytes());
    Document { id, name: path.rsplit('/').next().unwrap(), head, fill: vec![0], tail }
}

/// A fixture that is repeated: compressed members, frames and streams may follow each other.
fn repeated(id: &'static str, path: &'static str) -> Document {
    Document { fill: fixture(path), head: Vec::new(), ..longer(id, path) }
}

/// An Avro file whose first block is repeated.
fn avro() -> Document {
    let mut head = fixture("avro/codec_deflate.avro");
    let sync = head.split_off(head.len() - 16);
    let mut ends = head.windows(16).enumerate().filter(|(_, bytes)| *bytes == sync).map(|(at, _)| at + 16);
    let start = ends.next().unwrap();
    let end = ends.next().unwrap_or(head.len());
    let mut fill = head[start..end].to_vec();
    if end == head.len() {
        fill.extend_from_slice(&sync);
    }
    head.truncate(start);
    Document { id: "avro", name: "large.avro", head, fill, tail: Vec::new() }
}

/// Blocks of text that are stored as they are.
fn zlib() -> Document {
    let text = b"The quick brown fox jumps over the lazy dog.\n".repeat(1_000);
    let length = text.len() as u16;
    let fill = bytes(&[&[0], &length.to_le_bytes(), &(!length).to_le_bytes(), &text]);
    Document {
        id: "zlib",
        name: "large.txt.zz",
        head: vec![0x78, 1],
        fill,
        tail: vec![1, 0, 0, 255, 255, 0, 0, 0, 1],
    }
}

/// A text that goes on in the same manner.
fn text(id: &'static str, name: &'static str, head: &str, fill: &str, tail: &str) -> Document {
    let (head, fill, tail) = (head.into(), fill.into(), tail.into());
    Document { id, name, head, fill, tail }
}

/// Pieces of a binary header behind each other.
fn bytes(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.concat()
}

fn padded(mut bytes: Vec<u8>, len: usize, with: u8) -> Vec<u8> {
    bytes.resize(len, with);
    bytes
}

fn npy() -> Vec<u8> {
    let dict = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (268435456,), }");
    bytes(&[b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes(), dict.as_bytes()])
}

/// One variable of 32-bit floats along one dimension (the specification's grammar, 64-bit offsets).
fn netcdf3() -> Vec<u8> {
    let be = |n: u32| n.to_be_bytes();
    let name = bytes(&[&be(1), b"x\0\0\0"]);
    let dimension = bytes(&[&be(10), &be(1), &name, &be(1 << 28)]);
    let place = 8u64 + dimension.len() as u64 + 8 + 8 + 8 + 4 + 4 + 8 + 4 + 4 + 8;
    let variable = bytes(&[
        &be(11),
        &be(1),
        &name,
        &be(1),
        &be(0),
        &be(0),
        &be(0),
        &be(5),
        &be(1 << 30),
        &place.to_be_bytes(),
    ]);
    bytes(&[b"CDF\x02", &be(0), &dimension, &be(0), &be(0), &variable])
}

/// One matrix of doubles, not compressed.
fn mat() -> Vec<u8> {
    let le = |n: u32| n.to_le_bytes();
    let head = padded(b"MATLAB 5.0 MAT-file".to_vec(), 124, b' ');
    let count = 1u32 << 27;
    let flags = bytes(&[&le(6), &le(8), &le(6), &le(0)]);
    let shape = bytes(&[&le(5), &le(8), &le(count), &le(1)]);
    let name = bytes(&[&le(1), &le(1), b"x\0\0\0\0\0\0\0"]);
    let values = bytes(&[&le(9), &le(count * 8 - 256)]);
    let inside = (flags.len() + shape.len() + name.len() + values.len()) as u32 + count * 8 - 256;
    bytes(&[&head, b"\x00\x01IM", &le(14), &le(inside), &flags, &shape, &name, &values])
}

fn nifti() -> Vec<u8> {
    let mut head = vec![0u8; 352];
    head[..4].copy_from_slice(&348u32.to_le_bytes());
    for (at, side) in [3u16, 1024, 1024, 256, 1, 1, 1, 1].into_iter().enumerate() {
        head[40 + 2 * at..42 + 2 * at].copy_from_slice(&side.to_le_bytes());
    }
    head[70] = 16; // float32
    head[72] = 32;
    head[108..112].copy_from_slice(&352f32.to_le_bytes());
    head[344..347].copy_from_slice(b"n+1");
    head
}

fn mgh() -> Vec<u8> {
    let numbers = [1i32, 1024, 1024, 256, 1, 3, 0].map(i32::to_be_bytes).concat();
    padded(numbers, 284, 0)
}

fn fits() -> Vec<u8> {
    let cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                  -32",
        "NAXIS   =                    2",
        "NAXIS1  =                16384",
        "NAXIS2  =                16384",
        "END",
    ];
    let text: String = cards.iter().map(|card| format!("{card:<80}")).collect();
    padded(text.into_bytes(), 2880, b' ')
}

fn safetensors() -> Vec<u8> {
    let json = r#"{"x":{"dtype":"F32","shape":[268435456],"data_offsets":[0,1073741824]}}"#;
    bytes(&[&(json.len() as u64).to_le_bytes(), json.as_bytes()])
}

fn gguf() -> Vec<u8> {
    let count = |n: u64| n.to_le_bytes();
    let version = 3u32.to_le_bytes();
    let tensor = bytes(&[&count(1), b"x", &1u32.to_le_bytes(), &count((1 << 28) - 24), &[0; 12]]);
    padded(bytes(&[b"GGUF", &version, &count(1), &count(0), &tensor]), 32, 0)
}

fn ggml() -> Vec<u8> {
    let numbers = |all: &[u32]| all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let tensor = numbers(&[1, 1, 0, (1 << 28) - 16]);
    padded(bytes(&[b"tjgg", &numbers(&[3, 0, 32, 256, 4, 1, 8, 0]), &tensor, b"x"]), 32, 0)
}

/// One array of 32-bit floats, and its name behind it (version 2: dense, one dimension, on a processor).
fn mxnet() -> Document {
    let (le, long) = (|n: u32| n.to_le_bytes(), |n: u64| n.to_le_bytes());
    let tail = bytes(&[&long(1), &long(5), b"arg:x"]);
    let start = 8 * 3 + 4 * 3 + 8 + 4 * 3;
    let values = (SIZE - start - tail.len() as u64) / 4;
    let shape = bytes(&[&le(0xf993_fac9), &le(0), &le(1), &long(values)]);
    // The elements are multiples of four bytes: what is left over is a longer name.
    let left = (SIZE - start - values * 4) as usize;
    let name = padded(b"arg:x".to_vec(), left - 16, b'x');
    let tail = bytes(&[&long(1), &long(name.len() as u64), &name]);
    let head = bytes(&[&long(0x112), &long(0), &long(1), &shape, &le(1), &le(0), &le(0)]);
    Document { id: "mxnet_params", name: "large.params", head, fill: vec![0], tail }
}

/// A number of Protocol Buffers, seven bits a byte.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field of bytes or of a message.
fn field(number: u8, inside: &[u8]) -> Vec<u8> {
    bytes(&[&[number << 3 | 2], &varint(inside.len() as u64), inside])
}

/// Messages in each other whose innermost field are zeros up to the end: what stands before each of them, and its number.
fn messages(id: &'static str, name: &'static str, levels: &[(&[u8], u8)]) -> Document {
    let mut head = Vec::new();
    for (before, number) in levels {
        head.extend_from_slice(before);
        head.push(number << 3 | 2);
        // Every length is of five bytes.
        head.extend(varint(SIZE - head.len() as u64 - 5));
    }
    zeros(id, name, head)
}

/// One tensor of bytes (`onnx.proto`).
fn onnx() -> Document {
    let tensor = bytes(&[&[0x08], &varint(SIZE - 64), &[0x10, 2], &field(8, b"x")]);
    // Fields that are not known fill the file up to the tensor's 64 bytes.
    let model = [0x08, 8];
    let inside = model.len() + tensor.len() + 3 * 6;
    let fill = field(14, &vec![0; 64 - inside - 2]);
    messages("onnx", "large.onnx", &[(&model, 7), (&fill, 5), (&tensor, 9)])
}

/// A constant of bytes in a graph (`graph.proto`, `tensor.proto`), in the messages around it.
fn tensorflow(id: &'static str, name: &'static str, around: &[(&[u8], u8)]) -> Document {
    let dtype = field(5, &bytes(&[&field(1, b"dtype"), &field(2, &[0x30, 4])]));
    let node = bytes(&[&field(1, b"x"), &field(2, b"Const"), &dtype]);
    let shape = |length: u64| field(2, &field(2, &bytes(&[&[0x08], &varint(length)])));
    let levels = |length| {
        let tensor = bytes(&[&[0x08, 4], &shape(length)]);
        let inside = [(&[][..], 1), (&node, 5), (&field(1, b"value"), 2), (&[], 8), (&tensor, 4)];
        messages(id, name, &[around, &inside].concat())
    };
    // As many bytes as are left over behind the head, which is as long whatever their number is.
    let head = levels(SIZE - 1).head.len() as u64;
    levels(SIZE - head)
}

/// A pickle of one long byte string (protocol 4, BINBYTES8).
fn pickle(id: &'static str, name: &'static str) -> Document {
    let head = bytes(&[b"\x80\x04\x8e", &(SIZE - 12).to_le_bytes()]);
    Document { id, name, head, fill: vec![0], tail: b".".to_vec() }
}

/// A model of LightGBM's whose first tree is repeated.
fn lightgbm() -> Document {
    let whole = String::from_utf8(fixture("lightgbm/regression.txt")).unwrap();
    let (head, rest) = whole.split_once("Tree=0").unwrap();
    let (trees, tail) = rest.split_once("end of trees").unwrap();
    let fill = format!("Tree=0{}", trees.split("Tree=").next().unwrap());
    text("lightgbm", "large.txt", head, &fill, &format!("\n\nend of trees{tail}"))
}

/// MPEG-4 whose description follows the samples.
fn m4a() -> Document {
    let mut document = longer("m4a", "m4a/aac.m4a");
    let at = |name: &[u8]| document.head.windows(4).position(|bytes| bytes == name).unwrap() - 4;
    let (samples, description) = (at(b"mdat"), at(b"moov"));
    assert!(samples < description);
    document.tail = document.head.split_off(description);
    let size = SIZE as usize - samples - document.tail.len();
    document.head[samples..samples + 4].copy_from_slice(&(size as u32).to_be_bytes());
    document
}

/// FLAC (RFC 9639) of frames of 65,535 × 2 samples that are not compressed: a ramp.
fn flac(frames: u32) -> Vec<u8> {
    let checksum = |bytes: &[u8], bits: u32, polynomial: u32| {
        let step = |sum: u32, _| if sum >> (bits - 1) & 1 == 1 { sum << 1 ^ polynomial } else { sum << 1 };
        bytes.iter().fold(0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte) << (bits - 8), step))
    };
    let mut file = b"fLaC\x80\0\0\x22\xff\xff\xff\xff\0\0\0\0\0\0".to_vec();
    // 44,100 Hz in 20 bits, two channels, 16 bits a sample, frames in 36 bits; no checksum of all.
    file.extend((44_100_u64 << 44 | 1 << 41 | 15 << 36 | (u64::from(frames) * 65_535)).to_be_bytes());
    file.extend([0; 16]);
    for frame in 0..frames {
        let mut bytes = vec![0xff, 0xf8, 0x79, 0x18, u8::try_from(frame).unwrap(), 0xff, 0xfe];
        bytes.push(checksum(&bytes, 8, 0x07) as u8);
        for _ in 0..2 {
            bytes.push(0x02);
            bytes.extend((0..65_535_u32).flat_map(|n| (n as u16).to_be_bytes()));
        }
        let sum = checksum(&bytes, 16, 0x8005) as u16;
        bytes.extend(sum.to_be_bytes());
        file.extend(bytes);
    }
    file
}

/// A long sound is opened by its header and first frame, and its end is read without what lies before.
#[test]
fn the_end_of_a_long_sound_is_sought() {
    let task = Task::new();
    let (head, read) = (flac(100), Arc::new(AtomicU64::new(0)));
    let len = head.len() as u64;
    let document = Document { id: "flac", name: "long.flac", head, fill: vec![0], tail: Vec::new() };
    let counted = Counted { document, len, read: read.clone() };
    let source = Source::memory("long.flac", Vec::new()).stream("long.flac", Arc::new(counted)).unwrap();
    let opened = ALL.open_source(&task, &source, &Options::default()).unwrap();
    let Some(Content::Array(array)) = &opened.root.content else { panic!("a sound is an array") };
    assert_eq!(array.shape(), [6_553_500, 2]);
    assert!(read.swap(0, Ordering::Relaxed) < AT_MOST, "more than {AT_MOST} bytes are read to open it");
    let last = Region(vec![Span::range(6_553_490, 10), Span::all(2)]);
    let bytes = gander::data::content::array::read(array.as_ref(), &task, &last).unwrap();
    let samples: Vec<i16> =
        bytes.chunks_exact(4).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    assert_eq!(samples, (-11..-1).collect::<Vec<i16>>());
    let read = read.load(Ordering::Relaxed);
    assert!(read < len / 4, "{read} of {len} bytes are read for ten frames");
}

fn png() -> Document {
    let header = bytes(&[b"IHDR", &16384u32.to_be_bytes(), &16384u32.to_be_bytes(), &[8, 6, 0, 0, 0]]);
    let mut sum = flate2::Crc::new();
    sum.update(&header);
    let data = (SIZE as u32 - 57).to_be_bytes();
    let head = bytes(&[
        b"\x89PNG\r\n\x1a\n",
        &13u32.to_be_bytes(),
        &header,
        &sum.sum().to_be_bytes(),
        &data,
        b"IDAT",
    ]);
    let tail = b"\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82".to_vec();
    Document { id: "png", name: "large.png", head, fill: vec![0], tail }
}

/// A network of one layer, whose weights take the rest of the file.
fn coreml() -> Vec<u8> {
    let mut head = b"\x08\x04\x12\x09\x0a\x07\x0a\x01x\x1a\x02\x2a\x00".to_vec();
    // The network, its layer with a name, what it is, its weights, their floats: a key, and a length of five bytes.
    let levels: [(&[u8], &[u8]); 5] = [
        (b"\xa2\x1f", b""),
        (b"\x0a", b"\x0a\x02fc"),
        (b"\xe2\x08", b""),
        (b"\xa2\x01", b""),
        (b"\x0a", b""),
    ];
    for (key, first) in levels {
        head.extend(key);
        let rest = SIZE - head.len() as u64 - 5;
        head.extend((0..5).map(|n| (rest >> (7 * n) & 0x7f) as u8 | if n < 4 { 0x80 } else { 0 }));
        head.extend(first);
    }
    head
}

fn bmp() -> Vec<u8> {
    let le = |n: u32| n.to_le_bytes();
    bytes(&[
        b"BM",
        &le(SIZE as u32),
        &le(0),
        &le(54),
        &le(40),
        &le(16384),
        &le(21840),
        b"\x01\0\x18\0",
        &[0; 24],
    ])
}

fn tar() -> Vec<u8> {
    let mut head = padded(b"large.bin".to_vec(), 512, 0);
    head[100..108].copy_from_slice(b"0000644\0");
    head[124..136].copy_from_slice(b"07777776000\0");
    head[156] = b'0';
    head[257..265].copy_from_slice(b"ustar\x0000");
    head[148..156].copy_from_slice(b"        ");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head
}

fn documents() -> Vec<Document> {
    vec![
        hollow("parquet", "parquet/all_types.parquet", parquet_tail),
        hollow("arrow", "arrow/all_types.arrow", arrow_tail),
        hollow("feather", "feather/v1.feather", parquet_tail),
        hollow("orc", "orc/codec_zlib.orc", orc_tail),
        avro(),
        longer("netcdf4", "netcdf4/weather.nc"),
        longer("mat73", "mat73/whole.mat"),
        longer("hdf5", "hdf5/groups_latest.h5"),
        zeros("npy", "large.npy", npy()),
        zeros("idx", "large.idx", bytes(&[&[0, 0, 0x0d, 1], &(1u32 << 28).to_be_bytes()])),
        longer("bloscpack", "bloscpack/c.blp"),
        zip("npz", "npz/stored.npz"),
        zip("zip", "zip/deflated.zip"),
        zip("xlsx", "xlsx/birds.xlsx"),
        zeros("netcdf3", "large.nc", netcdf3()),
        zeros("mat", "large.mat", mat()),
        zeros("nifti", "large.nii", nifti()),
        zeros("mgh", "large.mgh", mgh()),
        zeros("fits", "large.fits", fits()),
        zeros("safetensors", "large.safetensors", safetensors()),
        zeros("gguf", "large.gguf", gguf()),
        zeros("ggml", "large.ggml", ggml()),
        zip("torchscript", "torchscript/scripted.pt"),
        zip("torch_export", "torch_export/small.pt2"),
        zip("pytorch", "pytorch/big_endian.pt"),
        mxnet(),
        onnx(),
        tensorflow("tf_graphdef", "large.pb", &[]),
        tensorflow(
            "tf_savedmodel",
            "saved_model.pb",
            &[(&[0x08, 1], 2), (&field(1, &field(4, b"serve")), 2)],
        ),
        longer("tflite", "tflite/plain.tflite"),
        pickle("pickle", "large.pkl"),
        pickle("joblib", "large.joblib"),
        longer("shelve", "shelve/gnu.gdbm"),
        zip("keras", "keras/sequential.keras"),
        zeros("coreml", "large.mlmodel", coreml()),
        longer("xgboost", "xgboost/old_gbtree.xgb"),
        longer("catboost", "catboost/numbers.cbm"),
        lightgbm(),
        longer("pcd", "pcd/fields_binary.pcd"),
        longer("lmdb", "lmdb/many.lmdb"),
        longer("ffcv", "ffcv/images.beton"),
        longer("flax", "flax/checkpoint.msgpack"),
        zeros("msgpack", "large.msgpack", vec![0xdd, 0x3f, 0xff, 0xff, 0xfb]),
        png(),
        longer("jpeg", "jpeg/comment.jpg"),
        longer("webp", "webp/lossy.webp"),
        longer("gif", "gif/still.gif"),
        zeros("bmp", "large.bmp", bmp()),
        longer("tiff", "tiff/codec_lzw.tif"),
        zeros("ppm", "large.ppm", b"P6\n16384 21845\n255\n".to_vec()),
        longer("qoi", "qoi/rgb.qoi"),
        longer("hdr", "hdr/flat.hdr"),
        longer("exr", "exr/codec_zip.exr"),
        longer("ico", "ico/one.ico"),
        longer("tga", "tga/rgb_24.tga"),
        longer("avif", "avif/rgb.avif"),
        patched("dicom", "dicom/explicit.dcm", b"\xe0\x7f\x10\x00OW\0\0", &(SIZE as u32).to_le_bytes()),
        longer("mp4", "mp4/h264.mp4"),
        longer("heic", "heic/rgb.heic"),
        longer("matroska", "matroska/vp9.webm"),
        longer("avi", "avi/mjpeg.avi"),
        repeated("tfrecord", "tfrecord/examples.tfrecord"),
        repeated("recordio", "recordio/labels.rec"),
        repeated("webdataset", "webdataset/no_end.tar"),
        repeated("gzip", "gzip/members_3.txt.gz"),
        repeated("zstd", "zstd/checksum.txt.zst"),
        repeated("bzip2", "bzip2/text.txt.bz2"),
        repeated("xz", "xz/check_crc32.txt.xz"),
        repeated("lz4", "lz4/checksums.txt.lz4"),
        zlib(),
        zeros("tar", "large.tar", tar()),
        zeros("raw", "large_16384x16384_f32.raw", Vec::new()),
        patched("wav", "wav/pcm_16.wav", b"data", &(SIZE as u32).to_le_bytes()),
        patched(
            "w64",
            "w64/pcm_16.w64",
            b"data\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a",
            &SIZE.to_le_bytes(),
        ),
        patched("aiff", "aiff/pcm_16.aiff", b"SSND", &(SIZE as u32).to_be_bytes()),
        patched("au", "au/pcm_16.au", b".snd\0\0\0\x18", &u32::MAX.to_be_bytes()),
        patched("caf", "caf/pcm_16.caf", b"data", &u64::MAX.to_be_bytes()),
        repeated("ogg", "ogg/vorbis.ogg"),
        m4a(),
        repeated("mp3", "mp3/layer_3.mp3"),
        zeros("cifar", "data_batch_1.bin", Vec::new()),
        text(
            "arff",
            "large.arff",
            "@relation r\n@attribute a numeric\n@attribute b {x, y}\n@data\n",
            "1.5, x\n",
            "",
        ),
        text("libsvm", "large.svm", "", "1 2:0.5 17:1\n", ""),
        text("jsonl", "large.jsonl", "", "{\"a\": 1, \"b\": [\"x\", 2]}\n", ""),
        text("json", "large.json", "[1", ", {\"a\": 1, \"b\": [\"x\", 2]}", "]"),
        text(
            "coco",
            "large_annotations.json",
            "{\"info\": {}, \"images\": [{\"id\": 1, \"file_name\": \"a.png\", \"width\": 4, \"height\": 3}], \
             \"annotations\": [{\"id\": 0, \"image_id\": 1}",
            ", {\"id\": 1, \"image_id\": 1, \"category_id\": 1, \"bbox\": [0, 0, 2, 1.5]}",
            "]}",
        ),
        text(
            "xml",
            "large.xml",
            "<?xml version='1.0'?>\n<rows>\n",
            "<row id='1'><name>goose</name></row>\n",
            "</rows>\n",
        ),
        text("yaml", "large.yaml", "rows:\n", "- {id: 1, name: goose}\n", ""),
        text("csv", "large.csv", "a,b,c\n", "1,2.5,three\n", ""),
        text("text", "large.txt", "", "The quick brown fox jumps over the lazy dog.\n", ""),
        zeros("bytes", "large.bin", vec![0xfe, 1, 2, 3]),
    ]
}

#[test]
fn a_gigabyte_opens_with_less_than_a_megabyte() {
    let task = Task::new();
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    for document in documents() {
        let (id, name) = (document.id, document.name);
        let (counted, read) = counted(document);
        let source = Source::memory(name, Vec::new()).stream(name, Arc::new(counted)).unwrap();
        let opened = ALL.open_source(&task, &source, &Options::default());
        let opened = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        opened.root.child_page(&task, 0..100).unwrap_or_else(|error| panic!("{name}: {error}"));
        let read = read.load(Ordering::Relaxed);
        let more = READ_MORE.iter().any(|(format, _)| *format == id);
        if opened.format.id != id || (read >= AT_MOST) != more {
            wrong.push(format!("{name}: {} bytes read as {}", read, opened.format.id));
        }
        seen.push(id);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let left: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    let left =
        left.into_iter().filter(|id| !seen.contains(id) && !NOT_HERE.iter().any(|(here, _)| here == id));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "formats without a document of a gigabyte");
}
