use super::*;
use crate::bytes::source::Source;
use crate::engines::pickle::{Numpy, Verdict};
use bytes::Bytes;
use proptest::prelude::*;

fn knows() -> Knows {
    Arc::new(|| Box::new(Numpy))
}

/// The tree of a pickle that is made by parts, values of more than `small` opcodes by their parts again.
fn by_parts(bytes: &[u8], small: u64) -> Arc<Node> {
    let bytes = Bytes::copy_from_slice(bytes);
    let huge = HugePickle::new(&Source::memory("x", bytes.clone()), &bytes, 0);
    let maker = Maker { small, ..Maker::new(huge, knows()) };
    Arc::new(maker.root(&Task::new(), "x").unwrap().unwrap())
}

/// The same of one that is made whole.
fn whole(bytes: &[u8]) -> Arc<Node> {
    Arc::new(crate::engines::pickle::node(&Task::new(), "x", &Bytes::copy_from_slice(bytes), Numpy).unwrap())
}

/// A line for each node: its level, name, type and value.
fn lines(node: &Arc<Node>, level: usize, out: &mut Vec<String>) {
    let task = Task::new();
    let node = node.resolved(&task).unwrap();
    out.push(format!("{level} {} {} {:?}", node.name, node.word(), node.value));
    if level < 12 {
        for child in node.child_page(&task, 0..10_000).unwrap() {
            lines(&child, level + 1, out);
        }
    }
}

fn tree(node: &Arc<Node>) -> Vec<String> {
    let mut out = Vec::new();
    lines(node, 0, &mut out);
    // A container that holds something says its length when it was walked through; an empty one its value.
    let empty = ["[]", "{}", "()", "frozenset({})", "frozenset()"].map(|text| format!(" Some({text:?})"));
    let plain = |line: &String| empty.iter().fold(line.clone(), |line, empty| line.replace(empty, " None"));
    out.iter().map(plain).collect()
}

/// Values as Python has them.
#[derive(Clone, Debug)]
enum Made {
    Int(u8),
    Text(String),
    List(Vec<Made>),
    Tuple(Vec<Made>),
    Dict(Vec<(u8, Made)>),
    Frozen(Vec<u8>),
    Instance(Vec<(String, Made)>),
    /// One that was written before, by its number.
    Again(usize),
}

/// Writes pickles as Python does, in batches of three.
struct Writer {
    out: Vec<u8>,
    memo: usize,
    written: Vec<usize>,
    old: bool,
    class: Option<usize>,
}

impl Writer {
    fn put(&mut self) -> usize {
        match self.old {
            true => self.out.extend([b"r".as_slice(), &(self.memo as u32).to_le_bytes()].concat()),
            false => self.out.push(0x94),
        }
        self.memo += 1;
        self.memo - 1
    }

    fn get(&mut self, place: usize) {
        self.out.push(b'j');
        self.out.extend((place as u32).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.out.push(b'X');
        self.out.extend((text.len() as u32).to_le_bytes());
        self.out.extend(text.as_bytes());
        let place = self.put();
        self.written.push(place);
    }

    fn batches<T>(&mut self, items: &[T], one: u8, many: u8, mut each: impl FnMut(&mut Self, &T)) {
        for batch in items.chunks(3) {
            match batch {
                [item] => {
                    each(self, item);
                    self.out.push(one);
                }
                _ => {
                    self.out.push(b'(');
                    batch.iter().for_each(|item| each(self, item));
                    self.out.push(many);
                }
            }
        }
    }

    fn value(&mut self, made: &Made) {
        let place = match made {
            Made::Int(number) => return self.out.extend([b'K', *number]),
            Made::Text(text) => return self.text(text),
            Made::Again(n) => match self.written.get(n % self.written.len().max(1)).copied() {
                Some(place) => return self.get(place),
                None => return self.out.push(b'N'),
            },
            Made::List(items) => {
                self.out.push(b']');
                let place = self.put();
                self.batches(items, b'a', b'e', |writer, item| writer.value(item));
                place
            }
            Made::Dict(entries) => {
                self.out.push(b'}');
                let place = self.put();
                self.batches(entries, b's', b'u', |writer, (key, value)| {
                    writer.out.extend([b'K', *key]);
                    writer.value(value);
                });
                place
            }
            Made::Tuple(items) if items.is_empty() => return self.out.push(b')'),
            Made::Tuple(items) => {
                if items.len() > 3 {
                    self.out.push(b'(');
                }
                items.iter().for_each(|item| self.value(item));
                self.out.push([b't', 0x85, 0x86, 0x87].get(items.len()).copied().unwrap_or(b't'));
                self.put()
            }
            Made::Frozen(items) => {
                self.out.push(b'(');
                items.iter().for_each(|item| self.out.extend([b'K', *item]));
                self.out.push(0x91);
                self.put()
            }
            Made::Instance(fields) => {
                match self.class {
                    Some(class) => self.get(class),
                    None => {
                        self.out.extend(b"c__main__\nGoose\n");
                        self.class = Some(self.put());
                    }
                }
                self.out.extend(b")\x81");
                let place = self.put();
                self.out.push(b'}');
                self.put();
                self.batches(fields, b's', b'u', |writer, (name, value)| {
                    writer.text(name);
                    writer.value(value);
                });
                self.out.push(b'b');
                place
            }
        };
        self.written.push(place);
    }
}

fn pickled(made: &Made, old: bool) -> Vec<u8> {
    let out = vec![0x80, if old { 2 } else { 4 }];
    let mut writer = Writer { out, memo: 0, written: Vec::new(), old, class: None };
    writer.value(made);
    writer.out.push(b'.');
    writer.out
}

fn any_value() -> impl Strategy<Value = Made> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(Made::Int),
        "[a-z]{0,6}".prop_map(Made::Text),
        (0usize..100).prop_map(Made::Again),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Made::Frozen),
    ];
    leaf.prop_recursive(5, 120, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Made::List),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Made::Tuple),
            prop::collection::vec((any::<u8>(), inner.clone()), 0..8).prop_map(Made::Dict),
            prop::collection::vec(("[a-z]{1,3}", inner), 1..5).prop_map(Made::Instance),
        ]
    })
}

/// Values of which each may be shown by parts.
fn any_container() -> impl Strategy<Value = Made> {
    let values = || prop::collection::vec(any_value(), 1..12);
    prop_oneof![
        values().prop_map(Made::List),
        values().prop_map(Made::Tuple),
        values().prop_map(|all| Made::Dict(all.into_iter().enumerate().map(|(n, v)| (n as u8, v)).collect())),
        values().prop_map(|all| {
            Made::Instance(all.into_iter().enumerate().map(|(n, v)| (format!("f{n}"), v)).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What is read by parts is what is read whole, however small the parts are.
    #[test]
    fn parts_are_those_of_the_whole(made in any_container(), old: bool, small in 1u64..40, from in 0u64..12) {
        let bytes = pickled(&made, old);
        let (all, parts) = (whole(&bytes), by_parts(&bytes, small));
        prop_assert_eq!(tree(&all), tree(&parts));
        let task = Task::new();
        // From any child on, and one by its name.
        let fresh = by_parts(&bytes, small);
        let names = |node: &Arc<Node>, range| -> Vec<String> {
            node.child_page(&task, range).unwrap().iter().map(|node| node.name.clone()).collect()
        };
        prop_assert_eq!(names(&all, from..from + 3), names(&fresh, from..from + 3));
        if let Some(last) = names(&all, 0..100).last() {
            prop_assert_eq!(&fresh.find(&task, &format!("/{last}")).unwrap().unwrap().name, last);
        }
        // What would be imported is the same.
        let report = crate::engines::pickle::examine(&task, &Bytes::from(bytes.clone())).unwrap();
        let found = reported(&bytes);
        // A call is listed before it is known what the object is filled with.
        prop_assert_eq!(report.calls.len(), found.calls.len());
        prop_assert_eq!((report.verdict, report.globals), (found.verdict, found.globals));
    }

    /// Damaged ones make no reader panic, and what they hold is found in a bounded time.
    #[test]
    fn damaged_ones_do_not_make_it_panic(made in any_container(), at: prop::sample::Index, byte: u8, small in 1u64..20) {
        let mut bytes = pickled(&made, false);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let source = Bytes::from(bytes.clone());
        let huge = HugePickle::new(&Source::memory("x", source.clone()), &source, 0);
        let maker = Maker { small, ..Maker::new(huge, knows()) };
        if let Some(node) = maker.root(&Task::new(), "x").unwrap() {
            tree(&Arc::new(node));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// What the machine would import from damaged ones, the walk over their opcodes names too.
    #[test]
    fn the_walk_names_what_damaged_ones_import(made in any_container(), at: prop::sample::Index, byte: u8) {
        let mut bytes = pickled(&made, false);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let source = Bytes::from(bytes.clone());
        let report = crate::engines::pickle::examine(&Task::new(), &source).unwrap();
        let found = reported(&bytes);
        prop_assert!(report.globals.iter().all(|name| found.globals.contains(name) || found.globals.contains("?.?")),
            "{:?} {:?}", report, found);
        prop_assert!(found.verdict >= report.verdict.min(Verdict::Unusual), "{:?} {:?}", report, found);
    }
}

/// A pickle that ends without a value hides nothing of what follows it.
#[test]
fn what_follows_an_early_end_is_looked_into() {
    let found = reported(b"\x80\x02.\x80\x02cos\nsystem\n.");
    assert!(found.globals.iter().any(|name| name == "os.system"), "{found:?}");
}

/// What the walks over all opcodes of all pickles find.
fn reported(bytes: &[u8]) -> crate::engines::pickle::Report {
    let bytes = Bytes::copy_from_slice(bytes);
    let (mut report, mut at) = (crate::engines::pickle::Report::default(), 0);
    loop {
        let huge = HugePickle::new(&Source::memory("x", bytes.clone()), &bytes, at);
        assert!(huge.told().report.globals.is_empty());
        huge.ensure(&Task::new(), u64::MAX).unwrap();
        let told = huge.told();
        // What follows is looked into for its names.
        if at == 0 || told.whole || !told.report.globals.is_empty() {
            report.merge(crate::engines::pickle::Report::clone(&told.report));
        }
        at = told.at;
        if !told.whole || at >= bytes.len() as u64 {
            return report;
        }
    }
}

/// All hostile pickles that are known are no better when they are only walked over.
#[test]
fn the_walk_finds_what_the_machine_finds() {
    let all = include_str!("../../../../fixtures/opcodes/hostile.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    for line in all {
        let (name, hex) = line.split_once(' ').unwrap();
        let byte = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let report = crate::engines::pickle::examine(&Task::new(), &Bytes::from(bytes.clone())).unwrap();
        let found = reported(&bytes);
        assert!(found.verdict >= report.verdict, "{name}: {report:?} {found:?}");
        if bytes.first() == Some(&0x80) && found.fault.is_none() {
            assert!(found.globals.is_superset(&report.globals), "{name}: {report:?} {found:?}");
        }
    }
}

/// A list of two references to a list of two references, 200 times; and each of them in a list of its own.
#[test]
fn references_stay_references() {
    let mut bytes = b"\x80\x04]\x94(".to_vec();
    for n in 0..200u32 {
        bytes.extend(b"]\x94(");
        match n {
            0 => bytes.extend(b"K\x01K\x02"),
            _ => (0..2).for_each(|_| bytes.extend([b"j".as_slice(), &n.to_le_bytes()].concat())),
        }
        bytes.push(b'e');
    }
    bytes.extend(b"e.");
    let root = by_parts(&bytes, 2);
    let task = Task::new();
    let page = root.child_page(&task, 0..1000).unwrap();
    assert_eq!(page.len(), 200);
    // Down one side: each is there once more, or says where it is.
    let (mut node, mut depth) = (page[199].clone(), 0);
    while let Some(below) = node.child_page(&task, 0..2).unwrap().first() {
        (node, depth) = (below.clone(), depth + 1);
    }
    assert!((20..=200).contains(&depth), "{depth}");
}

#[test]
fn what_holds_itself_says_so() {
    // a = []; a.append([1, a]); a.append(2)
    let bytes = b"\x80\x04]\x94(]\x94(K\x01h\x00eK\x02e.";
    let root = by_parts(bytes, 3);
    let inner = root.child_page(&Task::new(), 0..2).unwrap().remove(0);
    let again = inner.child_page(&Task::new(), 0..2).unwrap().remove(1);
    assert_eq!(again.value.as_deref(), Some("(the same object as the one at byte 2)"));
    assert_eq!(again.child_count(), Some(0));
}

/// A million lists, each in the other; lengths of 2^63; a frame that is longer than the file; a memo out of order.
#[test]
fn hostile_shapes_are_held() {
    let task = Task::new();
    let deep =
        |lists: usize| [b"\x80\x04".as_slice(), &vec![b']'; lists], &vec![b'a'; lists - 1], b"."].concat();
    let root = by_parts(&deep(20_000), 1 << 10);
    let (mut node, mut depth) = (root, 0);
    while let Some(below) = node.child_page(&task, 0..2).unwrap().first() {
        (node, depth) = (below.clone(), depth + 1);
        if depth > 100 {
            break;
        }
    }
    assert!((64..=66).contains(&depth), "{depth}");
    let root = by_parts(&deep(1_000_000), 1 << 10);
    assert_eq!(root.child_page(&task, 0..2).unwrap().len(), 1);
    assert!(reported(&deep(1_000_000)).fault.is_none());
    for long in [b"\x8d".as_slice(), b"\x8e", b"\x96"] {
        let bytes = [b"\x80\x04](K\x01".as_slice(), long, &(1u64 << 63).to_le_bytes(), b"e."].concat();
        let root = by_parts(&bytes, 1);
        assert_eq!(root.child_page(&task, 0..9).unwrap().len(), 1);
        assert!(reported(&bytes).fault.is_some());
    }
    let framed = b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f](K\x01K\x02e.";
    assert_eq!(by_parts(framed, 1).child_page(&task, 0..9).unwrap().len(), 2);
    // Names that are taken from places which were filled twice are not known.
    let twice = b"\x80\x02](X\x0b\x00\x00\x00collectionsq\x00X\x0b\x00\x00\x00OrderedDictq\x01X\x02\x00\x00\x00osq\x00\
        X\x06\x00\x00\x00systemq\x01h\x00h\x01\x93)Re.";
    assert_eq!(reported(twice).verdict, Verdict::Dangerous);
}

/// Opcodes across the end of a frame may hide code: neither loop misses them.
#[test]
fn torn_frames_are_found_in_either_loop() {
    let framed = |len: u64| {
        let mut bytes = b"\x80\x04\x95".to_vec();
        bytes.extend(len.to_le_bytes());
        bytes.extend(b"](");
        for n in 0..1000u32 {
            bytes.extend(b"J");
            bytes.extend(n.to_le_bytes());
        }
        bytes.extend(b"e.");
        bytes
    };
    for len in [2, 7, 5 * 1000 + 2, 5 * 1000 + 4] {
        assert_eq!(reported(&framed(len)).verdict, Verdict::Safe, "{len}");
    }
    for len in [3, 6, 5 * 700 + 3, 5 * 999 + 4] {
        let found = reported(&framed(len));
        assert_eq!((found.verdict, found.suspects.contains("?")), (Verdict::Dangerous, true), "{len}");
    }
    let mut within = framed(5 * 1000 + 2);
    within.splice(11..11, b"\x95\x01\0\0\0\0\0\0\0".iter().copied());
    assert_eq!(reported(&within).verdict, Verdict::Dangerous, "a frame in a frame");
}
