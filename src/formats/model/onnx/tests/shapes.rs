//! Shapes and values that are concluded, of graphs that are written here as their messages.

use super::*;
use crate::bytes::source::Source;
use crate::formats::open_source;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(number: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(payload.len() as u64, &mut out);
    out.extend(payload);
    out
}

fn number(field: u64, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(field << 3, &mut out);
    varint(value as u64, &mut out);
    out
}

/// `x: N 3 8`: a value that is handed in, of float32.
fn input(text: &str) -> Vec<u8> {
    let (name, lengths) = text.split_once(':').unwrap();
    let dims = lengths.split_whitespace().flat_map(|length| {
        field(
            1,
            &match length.parse::<i64>() {
                Ok(length) => number(1, length),
                Err(_) => field(2, length.as_bytes()),
            },
        )
    });
    let shape = field(2, &dims.collect::<Vec<u8>>());
    let kind = field(1, &[number(1, 1), shape].concat());
    field(11, &[field(1, name.as_bytes()), field(2, &kind)].concat())
}

/// `shape: 2 -1`: whole numbers in one dimension.
fn tensor(text: &str) -> Vec<u8> {
    let (name, numbers) = text.split_once(':').unwrap();
    let numbers: Vec<i64> = numbers.split_whitespace().map(|own| own.parse().unwrap()).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|own| own.to_le_bytes()).collect();
    field(
        5,
        &[number(1, numbers.len() as i64), number(2, 7), field(8, name.as_bytes()), field(9, &bytes)]
            .concat(),
    )
}

/// `y = Concat(a, b) axis=0 perm=1,0`: a node with attributes that are whole numbers, or lists where there is a comma.
fn node(text: &str) -> Vec<u8> {
    let (outputs, rest) = text.split_once(" = ").unwrap();
    let (operator, rest) = rest.split_once('(').unwrap();
    let (inputs, attributes) = rest.split_once(')').unwrap();
    let names = |list: &str, number: u64| -> Vec<u8> {
        list.split(',')
            .filter(|_| !list.is_empty())
            .flat_map(|name| field(number, name.trim().as_bytes()))
            .collect()
    };
    let attribute = |text: &str| {
        let (name, value) = text.split_once('=').unwrap();
        let value = match value.contains(',') {
            true => {
                let items = value.split(',').filter(|own| !own.is_empty());
                let items: Vec<u8> = items.flat_map(|own| number(8, own.parse().unwrap())).collect();
                [items, number(20, 7)].concat()
            }
            false => [number(3, value.parse().unwrap()), number(20, 2)].concat(),
        };
        field(5, &[field(1, name.as_bytes()), value].concat())
    };
    let attributes: Vec<u8> = attributes.split_whitespace().flat_map(attribute).collect();
    let named = field(4, operator.as_bytes());
    field(1, &[names(inputs, 1), names(outputs, 2), named, attributes].concat())
}

/// The shape of every value of a graph, by its name.
fn shapes(inputs: &[&str], tensors: &[&str], nodes: &[&str]) -> impl Fn(&str) -> String {
    let fields = nodes.iter().map(|own| node(own)).chain(tensors.iter().map(|own| tensor(own)));
    let graph: Vec<u8> = fields.chain(inputs.iter().map(|own| input(own))).flatten().collect();
    let source = Source::memory("model.onnx", [number(1, 9), field(7, &graph)].concat());
    let document = open_source(&Task::new(), &source, &Options::default()).unwrap();
    let graph = super::graph(&document);
    move |name| {
        let value = graph.values().iter().find(|value| &*value.name == name).unwrap();
        format!("{} {}", value.dtype.as_deref().unwrap_or("?"), value.shape_text().unwrap_or_default())
    }
}

#[test]
fn a_shape_that_is_calculated_is_the_shape() {
    // As PyTorch flattens: the batch by its name, the rest by what is left.
    let of = shapes(
        &["x:N 12 4 8"],
        &["zero: 0", "one: 1", "two: 2", "rest: -1", "three: 3"],
        &[
            "s = Shape(x)",
            "n = Slice(s, zero, one)",
            "w = Slice(s, three, rest)",
            "flat = Concat(n, rest) axis=0",
            "y = Reshape(x, flat)",
            "twelve = Gather(s, one)",
            "twice = Mul(twelve, two)",
            "half = Div(twice, two)",
            "target = Concat(n, twice, two, rest) axis=0",
            "z = Reshape(x, target)",
            "p = ReduceProd(target) axes=0, keepdims=1",
            "e = Expand(x, s)",
            "both = Shape(x) start=1 end=3",
            "c = ConstantOfShape(both)",
        ],
    );
    assert_eq!(of("s"), "int64 [4]");
    assert_eq!(of("y"), "float32 [N, 384]");
    assert_eq!(of("z"), "float32 [N, 24, 2, 8]");
    assert_eq!(of("e"), "float32 [N, 12, 4, 8]");
    assert_eq!(of("c"), "float32 [12, 4]");
}

#[test]
fn open_lengths_that_are_calculated_with_stay_open() {
    let of = shapes(
        &["x:N 3 H"],
        &["two: 2", "zero: 0", "rest: -1"],
        &[
            "s = Shape(x)",
            "n = Gather(s, zero)",
            "double = Mul(n, two)",
            "target = Concat(double, rest) axis=0",
            "y = Reshape(x, target)",
            "f = Flatten(x) axis=2",
            "t = Tile(x, s)",
            "u = Reshape(x, x)",
        ],
    );
    assert_eq!(of("y"), "float32 [?, ?]");
    assert_eq!(of("f"), "float32 [?, H]");
    assert_eq!(of("t"), "float32 [?, 9, ?]");
    // The shape is that of three numbers, whatever they are.
    assert_eq!(of("u"), "float32 ");
}

#[test]
fn operators_that_choose_and_repeat() {
    let of = shapes(
        &["x:2 10 6", "i:4 1", "w:5 3 2 2", "v:2 5 7 7"],
        &[
            "k: 3",
            "zero: 0",
            "ten: 10",
            "three: 3",
            "ends: 5 4",
            "starts: 1 -1",
            "axes: 1 2",
            "steps: 2 -1",
            "sizes: 1 5 14 9",
        ],
        &[
            "a,b = TopK(x, k) axis=1",
            "c = GatherND(x, i)",
            "d = GatherElements(x, x)",
            "e = Slice(x, starts, ends, axes, steps)",
            "f = Range(zero, ten, three)",
            "g = NonZero(x)",
            "h = ConvTranspose(v, w) strides=2,2, group=1 output_padding=1,1,",
            "j = Resize(v, , , sizes)",
            "l = DepthToSpace(m) blocksize=2",
            "m = Concat(v, v, v, v) axis=1",
            "n = DepthToSpace(m) blocksize=2",
            "o = ArgMax(x) axis=-1 keepdims=0",
            "p,q = Split(x) axis=1",
            "r = ReduceMean(x) axes=1,2, keepdims=0",
            "s = OneHot(o, k, x) axis=0",
        ],
    );
    assert_eq!((of("a"), of("b")), ("float32 [2, 3, 6]".into(), "int64 [2, 3, 6]".into()));
    assert_eq!(of("c"), "float32 [4, 10, 6]");
    assert_eq!(of("d"), "float32 [2, 10, 6]");
    assert_eq!(of("e"), "float32 [2, 2, 1]");
    assert_eq!((of("f"), of("g")), ("int64 [4]".into(), "int64 [3, ?]".into()));
    assert_eq!(of("h"), "float32 [2, 3, 15, 15]");
    assert_eq!(of("j"), "float32 [1, 5, 14, 9]");
    // What is made later is not known yet.
    assert_eq!((of("l"), of("n")), ("? ".into(), "float32 [2, 5, 14, 14]".into()));
    assert_eq!(
        (of("o"), of("p"), of("q")),
        ("int64 [2, 10]".into(), "float32 [2, 5, 6]".into(), "float32 [2, 5, 6]".into())
    );
    assert_eq!((of("r"), of("s")), ("float32 [2]".into(), "float32 [3, 2, 10]".into()));
}

#[test]
fn hostile_graphs_end_within_limits() {
    // Ranks that double with every node, and lists that grow.
    let mut nodes = vec!["y0 = Unsqueeze(x) axes=0,1,2,3,4,5,6,7".to_owned(), "s0 = Shape(x)".to_owned()];
    for n in 0..40 {
        nodes.push(format!("y{} = Gather(y{n}, y{n}) axis=0", n + 1));
        nodes.push(format!("s{} = Concat(s{n}, s{n}) axis=0", n + 1));
    }
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let of = shapes(&["x:1 1"], &["bad: -9223372036854775808"], &nodes);
    assert_eq!(of("y40"), "float32 ");
    assert_eq!(of("s3"), "int64 [16]");
    let extreme = [
        "neg = Neg(bad)",
        "abs = Abs(bad)",
        "div = Div(bad, minus)",
        "cut = Slice(x, bad, bad, zero, bad)",
        "pad = Pad(x, bad)",
    ];
    let of = shapes(&["x:1 1"], &["bad: -9223372036854775808", "minus: -1", "zero: 0"], &extreme);
    assert_eq!((of("neg"), of("div")), ("int64 [1]".into(), "int64 [1]".into()));
}
