use super::*;
use crate::data::content::graph::{Builder, Port};

fn shape(text: &str) -> Vec<Dimension> {
    let length = |part: &str| match (part.parse(), part) {
        (Ok(length), _) => Dimension::Fixed(length),
        (_, "?") => Dimension::Open,
        (_, name) => Dimension::Named(name.into()),
    };
    text.split_whitespace().map(length).collect()
}

/// A graph of one node; what it takes that has no weight is handed in.
fn one(operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute)]) -> Macs {
    let mut builder = Builder::new("g");
    let mut node = Operation { operator: operator.into(), ..Operation::default() };
    for (n, lengths) in inputs.iter().enumerate() {
        let id = builder.value(&n.to_string()).unwrap();
        builder.describe(id).unwrap().shape = Some(shape(lengths));
        if n == 0 {
            builder.input(id);
        }
        node.inputs.push(Port::of(id));
    }
    let id = builder.value("out").unwrap();
    builder.describe(id).unwrap().shape = Some(shape(output));
    node.outputs.push(Port::of(id));
    node.attributes = attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    builder.node(node).unwrap();
    macs(&builder.finish())
}

#[test]
fn convolutions_of_each_format_cost_the_same() {
    let expected = 112 * 112 * 64 * 3 * 7 * 7;
    for (operator, inputs, output) in [
        ("Conv", ["1 3 224 224", "64 3 7 7"], "1 64 112 112"),
        ("aten::conv2d", ["1 3 224 224", "64 3 7 7"], "1 64 112 112"),
        ("torch.ops.aten.convolution.default", ["1 3 224 224", "64 3 7 7"], "1 64 112 112"),
        ("CONV_2D", ["1 224 224 3", "64 7 7 3"], "1 112 112 64"),
        ("Conv2D", ["1 224 224 3", "7 7 3 64"], "1 112 112 64"),
        ("Convolution", ["1 3 224 224", "64 3 7 7"], "1 64 112 112"),
    ] {
        assert_eq!(one(operator, &inputs, output, &[]).nodes, [Some(expected)], "{operator}");
    }
    let depthwise = 56 * 56 * 32 * 9;
    for (operator, inputs, output) in [
        ("Conv", ["1 32 56 56", "32 1 3 3"], "1 32 56 56"),
        ("DEPTHWISE_CONV_2D", ["1 56 56 32", "1 3 3 32"], "1 56 56 32"),
        ("DepthwiseConv2dNative", ["1 56 56 32", "3 3 32 1"], "1 56 56 32"),
        ("GroupConvolution", ["1 32 56 56", "32 1 1 3 3"], "1 32 56 56"),
    ] {
        assert_eq!(one(operator, &inputs, output, &[]).nodes, [Some(depthwise)], "{operator}");
    }
    // Transposed: every input element meets every weight of its channel.
    let up = 8 * 5 * 5 * 4 * 2 * 2;
    assert_eq!(one("ConvTranspose", &["1 8 5 5", "8 4 2 2"], "1 4 10 10", &[]).sum(), up);
    assert_eq!(one("TRANSPOSE_CONV", &["4", "4 2 2 8", "1 5 5 8"], "1 10 10 4", &[]).sum(), up);
    let transposed = [("transposed", Attribute::Int(1))];
    assert_eq!(one("aten::_convolution", &["1 8 5 5", "8 4 2 2"], "1 4 10 10", &transposed).sum(), up);
}

#[test]
fn products_of_matrices_cost_rows_times_columns_times_what_is_between() {
    let turned = [("transA", Attribute::Int(1))];
    assert_eq!(one("Gemm", &["20 10", "20 30"], "10 30", &turned).sum(), 6_000);
    assert_eq!(one("MatMul", &["2 12 10 20", "2 12 20 30"], "2 12 10 30", &[]).sum(), 144_000);
    assert_eq!(
        one("BATCH_MATMUL", &["2 20 10", "2 20 30"], "2 10 30", &[("adj_x", Attribute::Int(1))]).sum(),
        12_000
    );
    assert_eq!(one("FULLY_CONNECTED", &["1 20", "30 20"], "1 30", &[]).sum(), 600);
    assert_eq!(one("aten.addmm.default", &["30", "10 20", "20 30"], "10 30", &[]).sum(), 6_000);
    // Four gates, each with 3 weights of the input and 5 of the state.
    assert_eq!(one("LSTM", &["7 2 3", "1 20 3", "1 20 5"], "7 1 2 5", &[]).sum(), 7 * 2 * 4 * 5 * (3 + 5));
    let equation = |text: &str| [("equation", Attribute::Text(text.to_owned()))];
    assert_eq!(one("Einsum", &["2 3 4", "2 4 5"], "2 3 5", &equation("bij, bjk -> bik")).sum(), 120);
    assert_eq!(one("Einsum", &["2 3 4", "4 5"], "2 3 5", &equation("...j,jk->...k")).nodes, [None]);
    let attention =
        one("aten::scaled_dot_product_attention", &["1 2 10 8", "1 2 12 8", "1 2 12 6"], "1 2 10 6", &[]);
    assert_eq!(attention.sum(), 2 * 10 * 12 * (8 + 6));
}

#[test]
fn an_open_batch_counts_as_one_and_other_open_lengths_as_unknown() {
    for open in ["N", "?"] {
        let found = one("Conv", &[&format!("{open} 3 8 8"), "4 3 3 3"], &format!("{open} 4 6 6"), &[]);
        assert_eq!(found, Macs { nodes: vec![Some(4 * 36 * 27)], is_per_sample: true });
    }
    assert_eq!(one("Conv", &["1 3 H 8", "4 3 3 3"], "1 4 ? 6", &[]).nodes, [None]);
    assert_eq!(one("MatMul", &["N 10", "10 N"], "N N", &[]).nodes, [None]);
    // An exporter's own name for the batch behind a node.
    let turned = [("transB", Attribute::Int(1))];
    assert_eq!(one("Gemm", &["N 10", "4 10"], "Gemm_0 4", &turned).sum(), 40);
    assert_eq!(one("MatMul", &["N S 10", "10 4"], "N S 4", &[]).nodes, [None]);
    let full = u64::MAX.to_string();
    assert_eq!(one("MatMul", &[&format!("{full} 2"), "2 2"], &format!("{full} 2"), &[]).nodes, [None]);
}

#[test]
fn what_only_moves_or_maps_is_free_and_what_is_unknown_is_not() {
    for operator in [
        "Relu",
        "RELU6",
        "aten::relu_",
        "MAX_POOL_2D",
        "AveragePool",
        "Concat",
        "CONCATENATION",
        "FusedBatchNormV3",
    ] {
        let found = one(operator, &["1 4"], "1 4", &[]);
        assert_eq!((found.nodes.as_slice(), found.is_per_sample), (&[Some(0)][..], false), "{operator}");
    }
    let found = one("Mystery", &["1 4"], "1 4", &[]);
    assert_eq!((found.sum(), found.unknown()), (0, 1));
}

/// A product whose output has no shape in the file.
#[test]
fn a_product_is_counted_from_what_goes_in() {
    let mut builder = Builder::new("g");
    let mut node = Operation { operator: "MatMul".into(), ..Operation::default() };
    for (name, lengths) in [("x", "? 4"), ("w", "4 3")] {
        let id = builder.value(name).unwrap();
        builder.describe(id).unwrap().shape = Some(shape(lengths));
        node.inputs.push(Port::of(id));
    }
    builder.input(node.inputs.first().unwrap().value.unwrap());
    node.outputs.push(Port::of(builder.value("y").unwrap()));
    builder.node(node).unwrap();
    assert_eq!(macs(&builder.finish()), Macs { nodes: vec![Some(12)], is_per_sample: true });
}

/// Between nodes an open first dimension stays the batch only where nothing is folded into it.
#[test]
fn an_open_length_is_followed_through_the_graph() {
    let mut builder = Builder::new("g");
    let mut add = |name: &str, lengths: &str| {
        let id = builder.value(name).unwrap();
        builder.describe(id).unwrap().shape = Some(shape(lengths));
        id
    };
    let x = add("x", "? 4 6");
    let [flat, folded, weight] = [add("flat", "? 24"), add("folded", "? 6"), add("weight", "24 5")];
    let [small, dense, wrong] = [add("small", "6 5"), add("dense", "? 5"), add("wrong", "? 5")];
    builder.input(x);
    let node = |operator: &str, inputs: &[ValueId], output: ValueId| Operation {
        operator: operator.into(),
        inputs: inputs.iter().map(|id| Port::of(*id)).collect(),
        outputs: vec![Port::of(output)],
        ..Operation::default()
    };
    builder.node(node("Reshape", &[x], flat)).unwrap();
    builder.node(node("Reshape", &[x], folded)).unwrap();
    builder.node(node("MatMul", &[flat, weight], dense)).unwrap();
    builder.node(node("MatMul", &[folded, small], wrong)).unwrap();
    assert_eq!(macs(&builder.finish()).nodes, [Some(0), Some(0), Some(120), None]);
}
