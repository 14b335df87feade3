//! Kinds of operators, which have a colour each, whatever framework names them.

/// A kind of operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What most of the weights and of the work is in: convolutions, matrix products, recurrent layers, attention.
    Product,
    /// Normalisation, by batch or layer.
    Normalisation,
    /// Activation functions.
    Activation,
    /// Pooling and reductions.
    Pooling,
    /// Arithmetic, comparisons and functions of single elements.
    Elementwise,
    /// Shapes, places of elements and types: nothing is computed.
    Shape,
    /// Branches, loops, calls, sequences.
    Control,
    /// Anything else.
    Other,
}

impl Kind {
    /// All kinds, in the order of a legend.
    pub const ALL: [Kind; 8] = [
        Kind::Product,
        Kind::Normalisation,
        Kind::Activation,
        Kind::Pooling,
        Kind::Elementwise,
        Kind::Shape,
        Kind::Control,
        Kind::Other,
    ];

    /// Its name in a legend.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Product => "convolution, product",
            Kind::Normalisation => "normalisation",
            Kind::Activation => "activation",
            Kind::Pooling => "pooling, reduction",
            Kind::Elementwise => "elementwise",
            Kind::Shape => "shape",
            Kind::Control => "control",
            Kind::Other => "other",
        }
    }

    /// Its colour as 0xRRGGBB, on a dark or a light ground. All hold 3:1 against it.
    pub fn colour(self, is_dark: bool) -> u32 {
        let (dark, light) = match self {
            Kind::Product => (0x5aa2f7, 0x1f6fd1),
            Kind::Normalisation => (0xe2b45a, 0xa86f08),
            Kind::Activation => (0x3cc49a, 0x00805b),
            Kind::Pooling => (0xb9a3ff, 0x6b4fc8),
            Kind::Elementwise => (0xea6a6a, 0xc73a3a),
            Kind::Shape => (0x8b93a1, 0x626b7a),
            Kind::Control => (0xe07fb2, 0xb0407f),
            Kind::Other => (0xb0b7c3, 0x5d6675),
        };
        if is_dark { dark } else { light }
    }
}

/// Names that are not told by what is in them, in lower case without `_`.
const EXACT: &[(&str, Kind)] = &[
    ("mm", Kind::Product),
    ("bmm", Kind::Product),
    ("addmm", Kind::Product),
    ("gru", Kind::Product),
    ("rnn", Kind::Product),
    ("dot", Kind::Product),
    ("svdf", Kind::Product),
    ("lrn", Kind::Normalisation),
    ("elu", Kind::Activation),
    ("erf", Kind::Elementwise),
    ("if", Kind::Control),
    ("loop", Kind::Control),
    ("scan", Kind::Control),
    ("while", Kind::Control),
    ("switch", Kind::Control),
    ("merge", Kind::Control),
    ("enter", Kind::Control),
    ("exit", Kind::Control),
    ("noop", Kind::Control),
    ("nextiteration", Kind::Control),
    ("loopcond", Kind::Control),
    ("identity", Kind::Shape),
    ("shape", Kind::Shape),
    ("size", Kind::Shape),
    ("rank", Kind::Shape),
    ("pad", Kind::Shape),
    ("tile", Kind::Shape),
    ("view", Kind::Shape),
    ("pack", Kind::Shape),
    ("unpack", Kind::Shape),
    ("stack", Kind::Shape),
    ("add", Kind::Elementwise),
    ("addn", Kind::Elementwise),
    ("addv2", Kind::Elementwise),
    ("sub", Kind::Elementwise),
    ("mul", Kind::Elementwise),
    ("div", Kind::Elementwise),
    ("pow", Kind::Elementwise),
    ("exp", Kind::Elementwise),
    ("log", Kind::Elementwise),
    ("neg", Kind::Elementwise),
    ("abs", Kind::Elementwise),
    ("mod", Kind::Elementwise),
    ("and", Kind::Elementwise),
    ("or", Kind::Elementwise),
    ("not", Kind::Elementwise),
    ("xor", Kind::Elementwise),
    ("min", Kind::Elementwise),
    ("max", Kind::Elementwise),
    ("sin", Kind::Elementwise),
    ("cos", Kind::Elementwise),
    ("tan", Kind::Elementwise),
    ("sum", Kind::Pooling),
    ("mean", Kind::Pooling),
    ("all", Kind::Pooling),
    ("any", Kind::Pooling),
];

/// What names have in them, the first that fits.
const WITHIN: &[(&str, Kind)] = &[
    ("conv", Kind::Product),
    ("matmul", Kind::Product),
    ("matrixmultiply", Kind::Product),
    ("gemm", Kind::Product),
    ("innerproduct", Kind::Product),
    ("fullyconnected", Kind::Product),
    ("dense", Kind::Product),
    ("lstm", Kind::Product),
    ("einsum", Kind::Product),
    ("attention", Kind::Product),
    ("linear", Kind::Product),
    ("regressor", Kind::Product),
    ("classifier", Kind::Product),
    ("treeensemble", Kind::Product),
    ("norm", Kind::Normalisation),
    ("scaler", Kind::Normalisation),
    ("relu", Kind::Activation),
    ("gelu", Kind::Activation),
    ("selu", Kind::Activation),
    ("sigmoid", Kind::Activation),
    ("softmax", Kind::Activation),
    ("softplus", Kind::Activation),
    ("softsign", Kind::Activation),
    ("tanh", Kind::Activation),
    ("swish", Kind::Activation),
    ("silu", Kind::Activation),
    ("mish", Kind::Activation),
    ("logistic", Kind::Activation),
    ("activation", Kind::Activation),
    ("hardmax", Kind::Activation),
    ("pool", Kind::Pooling),
    ("reduce", Kind::Pooling),
    ("argmax", Kind::Pooling),
    ("argmin", Kind::Pooling),
    ("topk", Kind::Pooling),
    ("reshape", Kind::Shape),
    ("transpose", Kind::Shape),
    ("permute", Kind::Shape),
    ("flatten", Kind::Shape),
    ("squeeze", Kind::Shape),
    ("expanddims", Kind::Shape),
    ("concat", Kind::Shape),
    ("split", Kind::Shape),
    ("slice", Kind::Shape),
    ("gather", Kind::Shape),
    ("scatter", Kind::Shape),
    ("expand", Kind::Shape),
    ("broadcast", Kind::Shape),
    ("cast", Kind::Shape),
    ("convert", Kind::Shape),
    ("shapeof", Kind::Shape),
    ("resize", Kind::Shape),
    ("upsample", Kind::Shape),
    ("space", Kind::Shape),
    ("depthto", Kind::Shape),
    ("embedding", Kind::Shape),
    ("onehot", Kind::Shape),
    ("pad", Kind::Shape),
    ("quantize", Kind::Shape),
    ("dropout", Kind::Shape),
    ("partitionedcall", Kind::Control),
    ("sequence", Kind::Control),
    ("optional", Kind::Control),
    ("assert", Kind::Control),
    ("variable", Kind::Control),
    ("varhandle", Kind::Control),
    ("multiply", Kind::Elementwise),
    ("subtract", Kind::Elementwise),
    ("divide", Kind::Elementwise),
    ("elemwise", Kind::Elementwise),
    ("eltwise", Kind::Elementwise),
    ("maximum", Kind::Elementwise),
    ("minimum", Kind::Elementwise),
    ("sqrt", Kind::Elementwise),
    ("square", Kind::Elementwise),
    ("reciprocal", Kind::Elementwise),
    ("equal", Kind::Elementwise),
    ("greater", Kind::Elementwise),
    ("less", Kind::Elementwise),
    ("logical", Kind::Elementwise),
    ("bitwise", Kind::Elementwise),
    ("bias", Kind::Elementwise),
    ("clip", Kind::Elementwise),
    ("clamp", Kind::Elementwise),
    ("where", Kind::Elementwise),
    ("select", Kind::Elementwise),
    ("floor", Kind::Elementwise),
    ("ceil", Kind::Elementwise),
    ("round", Kind::Elementwise),
    ("sign", Kind::Elementwise),
];

/// The kind of an operator, by its name in any framework: `Conv`, `CONV_2D`, `aten.conv2d.default`.
pub fn kind(operator: &str) -> Kind {
    // Names of operators are short; what is longer is a fault of the file.
    let name: String = operator.chars().take(200).collect();
    let name = name.rsplit("::").next().unwrap_or_default();
    let name = match name.strip_prefix("aten.") {
        Some(name) => name.split('.').next().unwrap_or_default(),
        None => name,
    };
    let name: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    let exact = EXACT.iter().find(|(known, _)| *known == name);
    let within = || WITHIN.iter().find(|(part, _)| name.contains(part));
    exact.or_else(within).map_or(Kind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_all_frameworks_have_their_kind() {
        let expected = [
            (Kind::Product, ["Conv", "CONV_2D", "aten.addmm.default", "BatchMatMulV2", "aten::conv2d"]),
            (
                Kind::Normalisation,
                ["BatchNormalization", "LRN", "FusedBatchNormV3", "BatchNorm", "LayerNormalization"],
            ),
            (Kind::Activation, ["Relu", "LOGISTIC", "LeakyReLU", "Softmax", "aten.tanh.default"]),
            (Kind::Pooling, ["MaxPool", "MAX_POOL_2D", "ReduceMean", "Mean", "GlobalAveragePool"]),
            (Kind::Elementwise, ["Add", "AddV2", "elemwise_add", "Multiply", "BiasAdd"]),
            (Kind::Shape, ["Reshape", "RESHAPE", "Concat", "StridedSlice", "Identity"]),
            (Kind::Control, ["If", "Loop", "StatefulPartitionedCall", "SequenceAt", "Switch"]),
            (Kind::Other, ["NonMaxSuppression2", "", "Foo", "Unique", "Placeholder"]),
        ];
        for (expected, names) in expected {
            for name in names {
                assert_eq!(kind(name), expected, "{name}");
            }
        }
    }
}
