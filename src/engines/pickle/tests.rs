use super::*;
use crate::bytes::error::Error;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{self, Plain};
use crate::data::dtype::DType;
use crate::data::region::Region;
use arrow::array::AsArray;
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;

fn read(bytes: &[u8]) -> Pickle {
    Pickle::read(&Task::new(), &Bytes::copy_from_slice(bytes), 0).unwrap()
}

fn repr(bytes: &[u8]) -> String {
    let pickle = read(bytes);
    assert!(pickle.fault().is_none(), "{:?}", pickle.fault());
    pickle.repr(pickle.root().unwrap())
}

fn report(bytes: &[u8]) -> Report {
    examine(&Task::new(), &Bytes::copy_from_slice(bytes)).unwrap()
}

/// Pickles that Python made, by name: `pickles.txt` has a name, a protocol and the bytes in
/// hexadecimal a line.
fn made(name: &str) -> Vec<(u8, Vec<u8>)> {
    let all =
        include_str!("../../../fixtures/opcodes/pickles.txt").lines().filter(|line| !line.starts_with('#'));
    let found: Vec<(u8, Vec<u8>)> = all
        .filter_map(|line| {
            let [word, protocol, hex] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let byte = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).unwrap();
            (word == name).then(|| (protocol.parse().unwrap(), (0..hex.len()).step_by(2).map(byte).collect()))
        })
        .collect();
    assert!(!found.is_empty(), "{name}");
    found
}

#[test]
fn plain_values_of_every_protocol() {
    for (protocol, bytes) in made("plain") {
        let expected = "{'none': None, 'yes': True, 'no': False, 'ints': [0, 255, 65535, -1, 2147483648, \
                        18446744073709551616, -170141183460469231731687303715884105729], 'floats': [1.5, -0.0, \
                        1e+100, 3.0], 'text': \"it's é€𝄞\", 'bytes': b'\\x00\\xff', 'tuples': ((), (1,), (1, 2), \
                        (1, 2, 3), (1, 2, 3, 4)), 'nested': {'a': [{}, []]}}";
        assert_eq!(repr(&bytes), expected, "protocol {protocol}");
        assert_eq!(report(&bytes).verdict, Verdict::Safe, "protocol {protocol}");
    }
    for (protocol, bytes) in made("sets") {
        let text = repr(&bytes);
        let of_new = ["{1}", "frozenset({2})", "bytearray(b'x')"];
        let of_old = ["set([1])", "frozenset([2])", "bytearray("];
        assert!((0..3).all(|n| text.contains(of_new[n]) || text.contains(of_old[n])), "{protocol}: {text}");
        assert!(text.contains("2024-02-29T12:30:15.000007") && text.contains("Decimal('1.50')"), "{text}");
        assert_eq!(report(&bytes).verdict, Verdict::Safe, "protocol {protocol}");
    }
}

#[test]
fn opcodes_across_the_end_of_a_frame_may_hide_code() {
    let framed = |len: u64, body: &[u8]| {
        let mut bytes = b"\x80\x04\x95".to_vec();
        bytes.extend(len.to_le_bytes());
        bytes.extend(body);
        report(&bytes)
    };
    assert_eq!(framed(4, b"\x8c\x01a.").verdict, Verdict::Safe);
    assert_eq!(framed(3, b"NNN0N0.").verdict, Verdict::Safe, "more opcodes follow the frame");
    let torn = framed(2, b"\x8c\x01a.");
    assert_eq!((torn.verdict, torn.suspects.contains("?")), (Verdict::Dangerous, true));
    let mut within = b"\x95".to_vec();
    within.extend(1u64.to_le_bytes());
    within.extend(b"N.");
    assert_eq!(framed(30, &within).verdict, Verdict::Dangerous, "a frame in a frame");
    // What pickle writes: large data stand between frames.
    let mut large = b"\x80\x04\x95".to_vec();
    large.extend(2u64.to_le_bytes());
    large.extend(b"]\x94");
    large.extend(b"B\x02\0\0\0xya.");
    assert_eq!(report(&large).verdict, Verdict::Safe);
}

#[test]
fn getattr_is_plain_for_time_zones_alone() {
    const ZONE: &[u8] = b"\x80\x02cbuiltins\ngetattr\nq\0czoneinfo\nZoneInfo\nX\x09\0\0\0_unpickle\x86R";
    let with = |more: &[u8]| report(&[ZONE, more].concat());
    let zone = with(b"X\x03\0\0\0UTCK\x01\x86R.");
    assert_ne!(zone.verdict, Verdict::Dangerous, "{zone:?}");
    assert!(zone.globals.contains("builtins.getattr"));
    // The same function, called for something else, or handed on.
    for more in [&b"0h\0cdatetime\ndatetime\nX\x03\0\0\0now\x86R."[..], b"0]h\0a.", b"0h\0."] {
        assert_eq!(with(more).verdict, Verdict::Dangerous, "{more:?}");
    }
}

#[test]
fn values_that_hold_themselves_or_each_other_often() {
    for (_, bytes) in made("recursive") {
        assert_eq!(repr(&bytes), "[1, …]");
    }
    // Each list holds the one before twice: 2^40 in all.
    let mut laughs = b"\x80\x04]\x94".to_vec();
    for n in 0..40u8 {
        laughs.extend([b']', 0x94, b'(', b'h', n, b'h', n, b'e']);
    }
    laughs.push(b'.');
    assert!(repr(&laughs).len() < 3 << 20);
    let mut deep = vec![b']'; 100_000];
    deep.extend(vec![b'a'; 99_999]);
    deep.push(b'.');
    assert!(repr(&deep).starts_with("[[[[") && repr(&deep).contains('…'));
}

#[test]
fn a_brief_is_the_beginning_of_the_whole() {
    let long = "é𝄞".repeat(1000);
    let mut text = b"\x80\x04X".to_vec();
    text.extend((long.len() as u32).to_le_bytes());
    text.extend(long.as_bytes());
    // The text, and a tuple of it.
    let mut all = vec![[text.as_slice(), b"."].concat(), [text.as_slice(), b"\x85."].concat()];
    for name in ["plain", "sets", "recursive", "objects", "system", "classes", "records", "matrix"] {
        all.extend(made(name).into_iter().map(|(_, bytes)| bytes));
    }
    for bytes in all {
        let pickle = read(&bytes);
        let root = pickle.root().unwrap();
        let whole = pickle.show(root);
        for most in [0, 1, 2, 3, 7, 50, 200, 5000] {
            let expected = match whole.char_indices().nth(most) {
                Some((at, _)) => format!("{}…", &whole[..at]),
                None => whole.clone(),
            };
            assert_eq!(pickle.brief(root, most), expected);
        }
    }
}

#[test]
fn a_long_value_may_be_every_key() {
    // A tuple of one long text, which is a key a hundred thousand times: to write all of it each time takes minutes.
    let mut bytes = b"\x80\x04}(X\0\0\x10\0".to_vec();
    bytes.extend(vec![b'x'; 1 << 20]);
    bytes.extend(b"\x85\x94N");
    for _ in 0..100_000 {
        bytes.extend(b"h\0N");
    }
    bytes.extend(b"u.");
    let task = Task::new();
    let node = node(&task, "x", &Bytes::from(bytes), Numpy).unwrap();
    assert_eq!(node.child_count(), Some(100_001));
    let name = format!("('{}…", "x".repeat(198));
    let last = node.child_page(&task, 99_999..200_000).unwrap();
    assert_eq!(last.iter().map(|node| &node.name).collect::<Vec<_>>(), [&name, &name]);
    assert_eq!(node.child_page(&task, 0..u64::MAX).unwrap().len() as u64, crate::bytes::limits::LISTED);
    assert!(node.child_page(&task, 200_000..200_001).unwrap().is_empty());
}

#[test]
fn texts_that_are_too_long_together_are_an_error() {
    let pickle = read(b"\x80\x04](\x8c\x05goose\x94h\0h\0Ne.");
    let Value::List(items) = pickle.value(pickle.root().unwrap()) else { panic!("no list") };
    let texts = super::ndarray::texts(&pickle, items, 15).unwrap();
    assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("goose"), Some("goose"), Some("goose"), None]);
    let error = super::ndarray::texts(&pickle, items, 14).unwrap_err();
    let said = "over a limit: the text of these objects would take 15 bytes, the limit is 14";
    assert_eq!(error.message(), said);
    // Numbers of more than one part, one digit each.
    let count = (1u64 << 20) + 3;
    let digits = arrow::array::UInt8Array::from_iter_values((0..count).map(|n| (n % 10) as u8));
    let digits: arrow::array::ArrayRef = std::sync::Arc::new(digits);
    let texts = super::ndarray::numbers(&digits, count).unwrap();
    assert_eq!(texts.as_string::<i32>().value(1_048_578), "8");
    assert!(super::ndarray::numbers(&digits, count - 1).is_err());
}

#[test]
fn what_would_be_called_is_named() {
    for (protocol, bytes) in made("system") {
        let report = report(&bytes);
        assert_eq!(report.verdict, Verdict::Dangerous, "protocol {protocol}");
        assert!(report.globals.contains("posix.system"), "{report:?}");
        assert_eq!(repr(&bytes), "posix.system('echo quack')");
    }
    for (_, bytes) in made("evil_inside") {
        let report = report(&bytes);
        let suspects: Vec<_> = report.suspects.iter().map(String::as_str).collect();
        assert!(matches!(suspects[..], ["builtins.eval" | "__builtin__.eval"]), "{suspects:?}");
    }
    for (_, bytes) in made("classes") {
        let report = report(&bytes);
        assert_eq!(report.verdict, Verdict::Unusual, "{report:?}");
        assert!(report.globals.contains("__main__.Goose"));
    }
}

#[test]
fn names_are_found_however_they_are_hidden() {
    let evil: [&[u8]; 12] = [
        b"cos\nsystem\n(S'ls'\ntR.",
        b"(S'ls'\nios\nsystem\n.",
        b"(cos\nsystem\nS'ls'\no.",
        b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x02ls\x94\x85R.",
        // Texts out of the memo, by each way into it and out of it.
        b"\x80\x04\x8c\x02os\x940\x8c\x06system\x940h\x00h\x01\x93.",
        b"\x80\x04X\x02\0\0\0osq\x050X\x06\0\0\0systemr\x06\0\0\x000j\x05\0\0\0g6\n\x93.",
        b"Vos\np300\n0V\\u0073ystem\np7\n0g300\ng7\n\x93.",
        // Duplicated, below a mark that is taken away again, in a text of Python 2.
        b"\x80\x04U\x02os2(0U\x06system\x930.",
        b"\x80\x04\x8c\x02os\x8c\x06system(N1\x93.",
        // Behind something that Python stops at, or may stop at.
        b"\x80\x02R\x8c\x02os\x8c\x06system\x93.",
        b"F1_0\nIabc\ncos\nsystem\n.",
        // A second pickle behind the first.
        b"\x80\x04N.\x80\x04cos\nsystem\n)R.",
    ];
    for bytes in evil {
        let report = report(bytes);
        let said = String::from_utf8_lossy(bytes);
        assert_eq!(report.verdict, Verdict::Dangerous, "{said}: {report:?}");
        assert!(report.suspects.contains("os.system"), "{said}: {report:?}");
    }
    // A name that is put together while loading could be anything.
    assert!(report(b"\x80\x04cdecimal\nDecimal\n)R\x8c\x06system\x93.").suspects.contains("?.system"));
}

#[test]
fn the_list_is_of_what_is_known() {
    let verdict = |module: &str, name: &str| report(format!("c{module}\n{name}\n.").as_bytes()).verdict;
    for (module, name) in [
        ("numpy", "dtype"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("collections", "OrderedDict"),
        ("builtins", "set"),
        ("torch._utils", "_rebuild_tensor_v2"),
        ("_codecs", "encode"),
    ] {
        assert_eq!(verdict(module, name), Verdict::Safe, "{module}.{name}");
    }
    for (module, name) in [
        ("sklearn.svm._classes", "SVC"),
        ("__main__", "Point"),
        ("pandas.core.indexes.base", "_new_Index"),
        ("my_own.module", "Thing"),
    ] {
        assert_eq!(verdict(module, name), Verdict::Unusual, "{module}.{name}");
    }
    for (module, name) in [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("subprocess", "Popen"),
        ("ctypes", "CDLL"),
        ("_operator", "attrgetter"),
        ("torch.utils.collect_env", "run"),
        ("numpy.f2py.crackfortran", "getlincoef"),
        ("idlelib.debugobj", "ObjectTreeItem.SetText"),
        ("numpy", "dtype.newbyteorder"),
        ("", ""),
        ("numpy\r", "dtype"),
        ("my_own.module", "function"),
        ("numpy.distutils.ccompiler", "CCompiler_spawn"),
        ("pip._internal", "Main"),
    ] {
        assert_eq!(verdict(module, name), Verdict::Dangerous, "{module}.{name}");
    }
}

#[test]
fn what_is_broken_is_said_and_what_was_seen_is_kept() {
    for bytes in [&b"\x80\x04cos\nsystem\n"[..], b"\x80\x04cos\nsystem\n\xff."] {
        let report = report(bytes);
        assert!(report.fault.is_some() && report.suspects.contains("os.system"), "{report:?}");
    }
    for bytes in [
        &b"\x80\x04"[..],
        b"\x80\x04]",
        b"\x80\x02X\xff\xff\xff\xffab",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80\x02T\xfb\xff\xff\xffabc.",
        b"\x80\x02h\x07.",
        b"R.",
        b".",
        b"\x80\x02t.",
    ] {
        let report = report(bytes);
        assert!(report.fault.is_some(), "{bytes:?}");
        assert_eq!(report.verdict, Verdict::Unusual, "{bytes:?}");
    }
}

#[test]
fn numpy_arrays_are_understood() {
    for (protocol, bytes) in made("matrix") {
        let pickle = read(&bytes);
        let array = Ndarray::of(&pickle, pickle.root().unwrap()).unwrap_or_else(|| panic!("{protocol}"));
        assert_eq!((array.shape.as_slice(), array.fortran), (&[2, 3][..], false));
        let texts = array.texts(&pickle).unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4", "5"], "{protocol}");
        assert!(array.plain("x").is_ok());
        assert_eq!(report(&bytes).verdict, Verdict::Safe);
    }
    for (protocol, bytes) in made("big_endian") {
        let texts = read(&bytes).cells().unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().collect();
        assert_eq!(texts, ["1.5", "-2.0"], "{protocol}");
    }
    for (protocol, bytes) in made("objects") {
        let texts = read(&bytes).cells().unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("goose"), None, Some("[1, 2.5]"), Some("b'\\x01'")], "{protocol}");
    }
    for (_, bytes) in made("records") {
        let pickle = read(&bytes);
        let array = Ndarray::of(&pickle, pickle.root().unwrap()).unwrap();
        assert_eq!(array.described.dtype.to_string(), "struct<n: int32, x: float64>");
    }
}

#[test]
fn values_are_a_tree() {
    let (_, bytes) = made("plain").pop().unwrap();
    let task = Task::new();
    let node = std::sync::Arc::new(node(&task, "x", &Bytes::from(bytes), Numpy).unwrap());
    assert_eq!((node.label, node.child_count()), ("dict", Some(9)));
    let find = |path: &str| node.find(&task, path).unwrap().unwrap();
    assert_eq!(find("/nested/a").label, "list");
    assert_eq!(find("/ints/3").value.as_deref(), Some("-1"));
    assert_eq!(find("/text").value.as_deref(), Some("it's é€𝄞"));
    assert_eq!(node.security.as_ref().unwrap().verdict, Verdict::Safe);
}

/// PyTorch's tensors as far as these tests need them: a storage of numbers behind each persistent id.
struct Storages;

impl Resolver for Storages {
    fn resolve(&self, pickle: &Pickle, id: Id, name: &str) -> Option<Result<Resolved, Error>> {
        let numbers = Source::memory(name, (10..16).flat_map(i16::to_le_bytes).collect::<Vec<u8>>());
        let array = |plain: Result<Plain, Error>| {
            Some(plain.map(|plain| Resolved { label: "tensor", content: Content::Array(Arc::new(plain)) }))
        };
        let number = |id: &Id| match pickle.value(*id) {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        match pickle.value(id) {
            Value::Persistent(key) => {
                let key = pickle.tuple(*key).and_then(|parts| parts.get(1)).copied().unwrap_or(*key);
                let key = pickle.text(key)?;
                assert_eq!(key, "numbers");
                array(Plain::new(numbers, 0, DType::I16, vec![6]))
            }
            Value::Object(object) if pickle.is(object.class, &["torch._utils"], "_rebuild_tensor_v2") => {
                let [storage, offset, shape, strides] = *pickle.tuple(object.arguments)?.first_chunk()?;
                assert!(matches!(pickle.value(storage), Value::Persistent(_)));
                let all = |id| pickle.tuple(id)?.iter().map(number).collect::<Option<Vec<u64>>>();
                let strides = all(strides)?.iter().map(|stride| stride * 2).collect();
                array(Plain::strided(numbers, number(&offset)? * 2, DType::I16, all(shape)?, strides))
            }
            // A class that is made without arguments and filled afterwards.
            Value::Object(object) if pickle.is(object.class, &["my"], "Array") => {
                let Value::Dict(entries) = pickle.value(object.state?) else { return None };
                let (_, values) = entries.iter().find(|(key, _)| pickle.text(*key) == Some("values"))?;
                let Value::Text(piece) = pickle.value(*values) else { return None };
                let source = Source::memory(name, pickle.shared(*piece));
                array(Plain::new(source, 0, DType::U8, vec![object.items.len() as u64]))
            }
            _ => None,
        }
    }
}

/// The values of the arrays below a node, by name.
fn arrays(bytes: &[u8]) -> Vec<(String, Vec<u64>, Vec<f64>)> {
    let task = Task::new();
    let node = node(&task, "x", &Bytes::copy_from_slice(bytes), Storages).unwrap();
    let values = |node: &Arc<crate::data::node::Node>| {
        let Some(Content::Array(array)) = &node.content else { panic!("{}: {:?}", node.name, node.problem) };
        assert_eq!(node.label, "tensor");
        let bytes = array::read(&**array, &task, &Region::all(array.shape())).unwrap();
        let mut out = Vec::new();
        array.dtype().decode(&bytes, &mut out);
        (node.name.clone(), array.shape().to_vec(), out)
    };
    node.child_page(&task, 0..10).unwrap().iter().map(values).collect()
}

#[test]
fn persistent_ids_and_classes_become_what_a_resolver_says() {
    for (protocol, bytes) in made("stored") {
        let all = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        let expected = [
            ("whole".to_owned(), vec![2, 3], all.to_vec()),
            ("turned".to_owned(), vec![3, 1], all[1..4].to_vec()),
            ("raw".to_owned(), vec![6], all.to_vec()),
        ];
        assert_eq!(arrays(&bytes), expected, "protocol {protocol}");
        assert_eq!(report(&bytes).verdict, Verdict::Safe, "protocol {protocol}");
        // Who does not know them shows the ids.
        assert!(repr(&bytes).contains(if protocol == 0 { "<persistent 'numbers'>" } else { "'cpu', 6" }));
    }
    let filled = b"\x80\x02](cmy\nArray\n)\x81}U\x06valuesU\x03\x01\x02\x03sb(NNNee.";
    assert_eq!(arrays(filled), [("0".to_owned(), vec![3], vec![1.0, 2.0, 3.0])]);
    // What a resolver fails at is told and shown as it is.
    let beyond = b"\x80\x02](ctorch._utils\n_rebuild_tensor_v2\n(U\x07numbersQK\x05K\x02\x85K\x01\x85tRe.";
    let root = node(&Task::new(), "x", &Bytes::copy_from_slice(beyond), Storages).unwrap();
    let child = root.child_page(&Task::new(), 0..1).unwrap().remove(0);
    assert!(child.problem.as_ref().is_some_and(|p| p.message().contains("beyond the file")));
    assert!(child.content.is_none() && child.label == "object");
}

/// Opcodes that may follow the protocol are those with which the machine can begin, and no others.
#[test]
fn a_pickle_is_what_the_machine_can_begin_with() {
    let arguments: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0\0\0\0", b"\0\0\0\0\0\0\0\0", b"1\n", b"a\nb\n"];
    let ends: [&[u8]; 4] = [b".", b"N.", b"t.", b"0N."];
    for opcode in 0..=255u8 {
        // The protocol again, and a buffer that becomes unwritable: they change nothing, and nobody begins so.
        if matches!(opcode, 0x80 | 0x98) {
            continue;
        }
        let runs =
            arguments.iter().flat_map(|argument| ends.map(|end| [argument, end].concat())).any(|rest| {
                let pickle = read(&[&[0x80, 4, opcode], rest.as_slice()].concat());
                pickle.root().is_some() && pickle.fault().is_none() && pickle.end() == 3 + rest.len()
            });
        for protocol in 2..=5 {
            assert_eq!(is_pickle(&[0x80, protocol, opcode], Some(b'.')), runs, "{opcode:#04x} {protocol}");
        }
        assert_eq!(is_pickle(&[0x80, 4, opcode], None), opcode == 0x95, "{opcode:#04x}");
        assert!(!is_pickle(&[0x80, 1, opcode], Some(b'.')) && !is_pickle(&[0x80, 6, opcode], Some(b'.')));
    }
}

proptest! {
    /// What the machine reads from its mark to its end is recognised.
    #[test]
    fn what_the_machine_reads_is_recognised(
        parts in prop::collection::vec(prop::sample::select(vec![
            &b"N"[..], b"]", b"(", b"K\x07", b"\x8c\x02os", b"\x8c\x01a", b"\x93", b"cos\nsystem\n", b"t", b"R", b"a",
            b"\x94", b"q\0", b"h\0", b"}", b"s", b"Pa\n", b"Q", b"\x95\0\0\0\0\0\0\0\0", b"\x85", b"0", b"2",
        ]), 0..6), protocol in 2u8..6,
    ) {
        let bytes = [&[0x80, protocol][..], &parts.concat(), b"."].concat();
        let pickle = read(&bytes);
        if pickle.root().is_some() && pickle.fault().is_none() {
            prop_assert!(is_pickle(&bytes, bytes.last().copied()), "{:?}", bytes);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let pickle = read(&bytes);
        if let Some(root) = pickle.root() {
            pickle.repr(root);
            let _ = pickle.cells();
        }
        report(&bytes);
    }

    /// Pickles that Python made, damaged in one place.
    #[test]
    fn damaged_pickles_do_not_make_it_panic(at in 0usize..400, value: u8, which in 0usize..5, n in 0usize..6) {
        let mut all = made(["plain", "sets", "objects", "records", "evil_inside"][which]);
        let (_, mut bytes) = all.remove(n % all.len());
        let len = bytes.len();
        bytes[at % len] = value;
        let pickle = read(&bytes);
        if let Some(root) = pickle.root() {
            pickle.repr(root);
            let _ = pickle.cells();
        }
        let _ = node(&Task::new(), "x", &Bytes::from(bytes), Numpy);
    }
}

/// Pickles that would do harm, by as many ways as there are (`hostile.py`).
#[test]
fn no_hostile_pickle_is_within_the_list() {
    let all =
        include_str!("../../../fixtures/opcodes/hostile.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut dangerous, mut count) = (0, 0);
    for line in all {
        let (name, hex) = line.split_once(' ').unwrap();
        let byte = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let report = report(&bytes);
        let asks = read(&bytes).persistent() > 0;
        assert!(report.verdict != Verdict::Safe || asks, "{name}: {report:?}");
        let beginning = beginning(&bytes, Some(bytes.len() as u64), bytes.last().copied());
        assert!(beginning.sure || beginning.likely, "{name}");
        dangerous += usize::from(report.verdict == Verdict::Dangerous);
        count += 1;
    }
    assert!(count > 180 && dangerous + 4 >= count, "{dangerous} of {count}");
}

#[test]
fn old_pickles_are_told_from_text() {
    let sure = |bytes: &[u8]| beginning(bytes, Some(bytes.len() as u64), bytes.last().copied()).sure;
    for name in ["plain", "sets", "recursive", "system", "classes", "matrix", "objects", "records", "stored"]
    {
        for (protocol, bytes) in made(name) {
            assert!(sure(&bytes), "{name} of protocol {protocol}");
        }
    }
    let texts: [&[u8]; 14] = [
        b"Victor was here.\nIt is late.\n.\n",
        b"I1\n.\nand more of it",
        b"N.\n",
        b"name,value\na,1\n",
        b"(lp0 is a list\n",
        b"L'ecole\nest finie\n.",
        b"cos\nsin\ntan\nexp\n",
        b"import os\nos.system('ls')\n",
        b"S'quoted'\nS'again'\nS'and again'\n",
        b"] this is markdown [",
        b"{\"a\": [1, 2]}",
        b"(a b c)\n(d e f)\n",
        b"0.1\n0.2\n0.3\n",
        b"X-Header: value\n",
    ];
    for text in texts {
        assert!(!sure(text), "{}", String::from_utf8_lossy(text));
    }
}

proptest! {
    #[test]
    fn words_are_no_pickle(words in prop::collection::vec("[A-Za-z.,(){}\\[\\]0-9]{1,8}[ \n]", 3..60)) {
        let text = words.concat();
        prop_assert!(!beginning(text.as_bytes(), Some(text.len() as u64), text.bytes().last()).sure, "{text:?}");
    }
}
