//! The options of the built-in operators: the tables of the schema's unions `BuiltinOptions` and `BuiltinOptions2` as
//! descriptions of their fields, in the order of their slots.

use Kind::*;

/// A field: its name and what it holds.
pub(super) type Field = (&'static str, Kind);

/// What a field holds, with the value where it is not in the file, unless that is zero or nothing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// It is no longer used and only takes a slot.
    Passed,
    Int(i32),
    Long,
    Float,
    Bool(bool),
    Text,
    Ints,
    Longs,
    Floats,
    Bools,
    /// Bytes, where there are any.
    Bytes,
    /// The type of a tensor.
    Type(i8),
    /// The type of a tensor, which means something only where it is set.
    TypeWhereSet,
    /// One of these names, by its number in a byte.
    Name(&'static [&'static str]),
    /// One of these names, by its number in four bytes.
    WideName(&'static [&'static str]),
    /// Several of these names, each by its number in four bytes.
    Names(&'static [&'static str]),
    /// The number of a subgraph.
    Graph,
    /// Numbers of subgraphs.
    Graphs,
}

const PADDING: &[&str] = &["SAME", "VALID"];
const ACTIVATION_FUNCTION_TYPE: &[&str] = &["NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"];
const LSH_PROJECTION_TYPE: &[&str] = &["UNKNOWN", "SPARSE", "DENSE"];
const FULLY_CONNECTED_OPTIONS_WEIGHTS_FORMAT: &[&str] = &["DEFAULT", "SHUFFLED4x16INT8"];
const LSTM_KERNEL_TYPE: &[&str] = &["FULL", "BASIC"];
const COMBINER_TYPE: &[&str] = &["SUM", "MEAN", "SQRTN"];
const MIRROR_PAD_MODE: &[&str] = &["REFLECT", "SYMMETRIC"];
const STABLEHLO_PRECISION_CONFIG: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];
#[rustfmt::skip]
const STABLEHLO_COMPARISON_DIRECTION: &[&str] = &[
    "STABLEHLO_COMPARISON_DIRECTION_EQ", "STABLEHLO_COMPARISON_DIRECTION_NE", "STABLEHLO_COMPARISON_DIRECTION_GE",
    "STABLEHLO_COMPARISON_DIRECTION_GT", "STABLEHLO_COMPARISON_DIRECTION_LE", "STABLEHLO_COMPARISON_DIRECTION_LT",
];
#[rustfmt::skip]
const STABLEHLO_COMPARISON_TYPE: &[&str] = &[
    "STABLEHLO_COMPARISON_TYPE_NOTYPE", "STABLEHLO_COMPARISON_TYPE_FLOAT",
    "STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER", "STABLEHLO_COMPARISON_TYPE_SIGNED",
    "STABLEHLO_COMPARISON_TYPE_UNSIGNED",
];
const RNG_ALGORITHM: &[&str] = &["DEFAULT", "PHILOX", "THREEFRY"];
const REDUCE_WINDOW_FUNCTION: &[&str] = &["UNSUPPORTED", "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"];
const CUSTOM_OPTIONS_FORMAT: &[&str] = &["FLEXBUFFERS"];

/// The members of the union `BuiltinOptions`, from number 1 on.
#[rustfmt::skip]
pub(super) const FIRST: &[&[Field]] = &[
    // Conv2DOptions
    &[("padding", Name(PADDING)), ("stride_w", Int(0)), ("stride_h", Int(0)),
      ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("dilation_w_factor", Int(1)),
      ("dilation_h_factor", Int(1)), ("quantized_bias_type", TypeWhereSet)],
    // DepthwiseConv2DOptions
    &[("padding", Name(PADDING)), ("stride_w", Int(0)), ("stride_h", Int(0)), ("depth_multiplier", Int(0)),
      ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("dilation_w_factor", Int(1)),
      ("dilation_h_factor", Int(1))],
    // ConcatEmbeddingsOptions
    &[("num_channels", Int(0)), ("num_columns_per_channel", Ints), ("embedding_dim_per_channel", Ints)],
    &[("type", Name(LSH_PROJECTION_TYPE))], // LSHProjectionOptions
    // Pool2DOptions
    &[("padding", Name(PADDING)), ("stride_w", Int(0)), ("stride_h", Int(0)), ("filter_width", Int(0)),
      ("filter_height", Int(0)), ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE))],
    // SVDFOptions
    &[("rank", Int(0)), ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)),
      ("asymmetric_quantize_inputs", Bool(false))],
    // RNNOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("asymmetric_quantize_inputs", Bool(false))],
    // FullyConnectedOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)),
      ("weights_format", Name(FULLY_CONNECTED_OPTIONS_WEIGHTS_FORMAT)), ("keep_num_dims", Bool(false)),
      ("asymmetric_quantize_inputs", Bool(false)), ("quantized_bias_type", TypeWhereSet), ("quant_spec", Bytes)],
    &[("beta", Float)], // SoftmaxOptions
    &[("axis", Int(0)), ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE))], // ConcatenationOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("pot_scale_int16", Bool(true))], // AddOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE))], // L2NormOptions
    &[("radius", Int(0)), ("bias", Float), ("alpha", Float), ("beta", Float)], // LocalResponseNormalizationOptions
    // LSTMOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("cell_clip", Float), ("proj_clip", Float),
      ("kernel_type", Name(LSTM_KERNEL_TYPE)), ("asymmetric_quantize_inputs", Bool(false))],
    // ResizeBilinearOptions
    &[("new_height", Passed), ("new_width", Passed), ("align_corners", Bool(false)),
      ("half_pixel_centers", Bool(false))],
    &[("subgraph", Graph)], // CallOptions
    &[("new_shape", Ints)], // ReshapeOptions
    &[("ngram_size", Int(0)), ("max_skip_size", Int(0)), ("include_all_ngrams", Bool(false))], // SkipGramOptions
    &[("block_size", Int(0))], // SpaceToDepthOptions
    &[("combiner", Name(COMBINER_TYPE))], // EmbeddingLookupSparseOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE))], // MulOptions
    &[], // PadOptions
    &[("axis", Int(0)), ("batch_dims", Int(0))], // GatherOptions
    &[], // BatchToSpaceNDOptions
    &[], // SpaceToBatchNDOptions
    &[], // TransposeOptions
    &[("keep_dims", Bool(false))], // ReducerOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("pot_scale_int16", Bool(true))], // SubOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE))], // DivOptions
    &[("squeeze_dims", Ints)], // SqueezeOptions
    // SequenceRNNOptions
    &[("time_major", Bool(false)), ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)),
      ("asymmetric_quantize_inputs", Bool(false))],
    // StridedSliceOptions
    &[("begin_mask", Int(0)), ("end_mask", Int(0)), ("ellipsis_mask", Int(0)), ("new_axis_mask", Int(0)),
      ("shrink_axis_mask", Int(0)), ("offset", Bool(false))],
    &[], // ExpOptions
    &[], // TopKV2Options
    &[("num_splits", Int(0))], // SplitOptions
    &[], // LogSoftmaxOptions
    &[("in_data_type", Type(0)), ("out_data_type", Type(0))], // CastOptions
    &[], // DequantizeOptions
    &[], // MaximumMinimumOptions
    &[("output_type", Type(0))], // ArgMaxOptions
    &[], // LessOptions
    &[], // NegOptions
    &[], // PadV2Options
    &[], // GreaterOptions
    &[], // GreaterEqualOptions
    &[], // LessEqualOptions
    &[], // SelectOptions
    &[], // SliceOptions
    // TransposeConvOptions
    &[("padding", Name(PADDING)), ("stride_w", Int(0)), ("stride_h", Int(0)),
      ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("quantized_bias_type", TypeWhereSet)],
    &[("validate_indices", Bool(false))], // SparseToDenseOptions
    &[], // TileOptions
    &[], // ExpandDimsOptions
    &[], // EqualOptions
    &[], // NotEqualOptions
    &[("out_type", Type(0))], // ShapeOptions
    &[], // PowOptions
    &[("output_type", Type(0))], // ArgMinOptions
    &[("min", Float), ("max", Float), ("num_bits", Int(0)), ("narrow_range", Bool(false))], // FakeQuantOptions
    &[("values_count", Int(0)), ("axis", Int(0))], // PackOptions
    &[], // LogicalOrOptions
    &[("axis", Int(0))], // OneHotOptions
    &[], // LogicalAndOptions
    &[], // LogicalNotOptions
    &[("num", Int(0)), ("axis", Int(0))], // UnpackOptions
    &[], // FloorDivOptions
    &[], // SquareOptions
    &[], // ZerosLikeOptions
    &[], // FillOptions
    // BidirectionalSequenceLSTMOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("cell_clip", Float), ("proj_clip", Float),
      ("merge_outputs", Bool(false)), ("time_major", Bool(true)), ("asymmetric_quantize_inputs", Bool(false))],
    // BidirectionalSequenceRNNOptions
    &[("time_major", Bool(false)), ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)),
      ("merge_outputs", Bool(false)), ("asymmetric_quantize_inputs", Bool(false))],
    // UnidirectionalSequenceLSTMOptions
    &[("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("cell_clip", Float), ("proj_clip", Float),
      ("time_major", Bool(false)), ("asymmetric_quantize_inputs", Bool(false)),
      ("diagonal_recurrent_tensors", Bool(false))],
    &[], // FloorModOptions
    &[], // RangeOptions
    &[("align_corners", Bool(false)), ("half_pixel_centers", Bool(false))], // ResizeNearestNeighborOptions
    &[("alpha", Float)], // LeakyReluOptions
    &[], // SquaredDifferenceOptions
    &[("mode", Name(MIRROR_PAD_MODE))], // MirrorPadOptions
    &[], // AbsOptions
    &[("num_splits", Int(0))], // SplitVOptions
    &[("idx_out_type", Type(2))], // UniqueOptions
    &[], // ReverseV2Options
    &[], // AddNOptions
    &[], // GatherNdOptions
    &[], // CosOptions
    &[], // WhereOptions
    &[], // RankOptions
    &[("seq_dim", Int(0)), ("batch_dim", Int(0))], // ReverseSequenceOptions
    &[], // MatrixDiagOptions
    &[], // QuantizeOptions
    &[], // MatrixSetDiagOptions
    &[], // HardSwishOptions
    &[("then_subgraph_index", Graph), ("else_subgraph_index", Graph)], // IfOptions
    &[("cond_subgraph_index", Graph), ("body_subgraph_index", Graph)], // WhileOptions
    &[("block_size", Int(0))], // DepthToSpaceOptions
    &[], // NonMaxSuppressionV4Options
    &[], // NonMaxSuppressionV5Options
    &[], // ScatterNdOptions
    &[], // SelectV2Options
    &[], // DensifyOptions
    &[], // SegmentSumOptions
    // BatchMatMulOptions
    &[("adj_x", Bool(false)), ("adj_y", Bool(false)), ("asymmetric_quantize_inputs", Bool(false))],
    &[("exclusive", Bool(false)), ("reverse", Bool(false))], // CumsumOptions
    &[("init_subgraph_index", Graph)], // CallOnceOptions
    &[], // BroadcastToOptions
    &[], // Rfft2dOptions
    // Conv3DOptions
    &[("padding", Name(PADDING)), ("stride_d", Int(0)), ("stride_w", Int(0)), ("stride_h", Int(0)),
      ("fused_activation_function", Name(ACTIVATION_FUNCTION_TYPE)), ("dilation_d_factor", Int(1)),
      ("dilation_w_factor", Int(1)), ("dilation_h_factor", Int(1))],
    &[("table_id", Int(0)), ("key_dtype", Type(0)), ("value_dtype", Type(0))], // HashtableOptions
    &[], // HashtableFindOptions
    &[], // HashtableImportOptions
    &[], // HashtableSizeOptions
    &[("container", Text), ("shared_name", Text)], // VarHandleOptions
    &[], // ReadVariableOptions
    &[], // AssignVariableOptions
    &[("seed", Long), ("seed2", Long)], // RandomOptions
    &[("boundaries", Floats)], // BucketizeOptions
    &[("approximate", Bool(false))], // GeluOptions
    &[], // DynamicUpdateSliceOptions
    &[], // UnsortedSegmentProdOptions
    &[], // UnsortedSegmentMaxOptions
    &[], // UnsortedSegmentMinOptions
    &[], // UnsortedSegmentSumOptions
    &[], // ATan2Options
    &[], // SignOptions
    &[], // BitcastOptions
    &[], // BitwiseXorOptions
    &[], // RightShiftOptions
];

/// The members of the union `BuiltinOptions2`, from number 1 on.
#[rustfmt::skip]
pub(super) const SECOND: &[&[Field]] = &[
    &[("dimension", Long)], // StablehloConcatenateOptions
    &[("broadcast_dimensions", Longs)], // StablehloBroadcastInDimOptions
    &[("start_indices", Longs), ("limit_indices", Longs), ("strides", Longs)], // StablehloSliceOptions
    // StablehloConvolutionOptions
    &[("window_strides", Longs), ("padding", Longs), ("lhs_dilation", Longs), ("rhs_dilation", Longs),
      ("window_reversal", Bools), ("input_batch_dimension", Long), ("input_feature_dimension", Long),
      ("input_spatial_dimensions", Longs), ("kernel_input_feature_dimension", Long),
      ("kernel_output_feature_dimension", Long), ("kernel_spatial_dimensions", Longs),
      ("output_batch_dimension", Long), ("output_feature_dimension", Long), ("output_spatial_dimensions", Longs),
      ("feature_group_count", Long), ("batch_group_count", Long),
      ("precision_config", Names(STABLEHLO_PRECISION_CONFIG))],
    // StablehloCustomCallOptions
    &[("call_target_name", Text), ("has_side_effect", Bool(false)), ("backend_config", Text), ("api_version", Int(0)),
      ("called_computations", Graphs), ("custom_attributes", Bytes)],
    &[("dimensions", Longs), ("body_subgraph_index", Graph)], // StablehloReduceOptions
    // StablehloScatterOptions
    &[("indices_are_sorted", Bool(false)), ("update_window_dims", Longs), ("inserted_window_dims", Longs),
      ("scatter_dims_to_operand_dims", Longs), ("index_vector_dim", Long), ("unique_indices", Bool(false)),
      ("update_computation_subgraph_index", Graph)],
    // StablehloCompareOptions
    &[("comparison_direction", WideName(STABLEHLO_COMPARISON_DIRECTION)),
      ("compare_type", WideName(STABLEHLO_COMPARISON_TYPE))],
    &[("slice_sizes", Longs)], // StablehloDynamicSliceOptions
    &[("edge_padding_low", Longs), ("edge_padding_high", Longs), ("interior_padding", Longs)], // StablehloPadOptions
    &[("iota_dimension", Long)], // StablehloIotaOptions
    // StablehloDotGeneralOptions
    &[("lhs_batching_dimensions", Longs), ("rhs_batching_dimensions", Longs), ("lhs_contracting_dimensions", Longs),
      ("rhs_contracting_dimensions", Longs), ("precision_config", Names(STABLEHLO_PRECISION_CONFIG))],
    // StablehloReduceWindowOptions
    &[("window_dimensions", Longs), ("window_strides", Longs), ("base_dilations", Longs), ("window_dilations", Longs),
      ("padding", Longs), ("body_subgraph_index", Graph)],
    &[("dimension", Long), ("is_stable", Bool(false)), ("comparator_subgraph_index", Graph)], // StablehloSortOptions
    &[("cond_subgraph_index", Graph), ("body_subgraph_index", Graph)], // StablehloWhileOptions
    // StablehloGatherOptions
    &[("offset_dims", Longs), ("collapsed_slice_dims", Longs), ("start_index_map", Longs), ("index_vector_dim", Long),
      ("slice_sizes", Longs), ("indices_are_sorted", Bool(false))],
    &[("permutation", Longs)], // StablehloTransposeOptions
    &[], // DilateOptions
    &[("algorithm", Name(RNG_ALGORITHM))], // StablehloRngBitGeneratorOptions
    &[("reduce_function", WideName(REDUCE_WINDOW_FUNCTION))], // ReduceWindowOptions
    // StableHLOCompositeOptions
    &[("name", Text), ("decomposition_subgraph_index", Graph), ("composite_attributes", Bytes),
      ("composite_attributes_format", Name(CUSTOM_OPTIONS_FORMAT)), ("version", Int(0))],
    &[], // StablehloShiftLeftOptions
    &[("branch_subgraph_indices", Graphs)], // StablehloCaseOptions
];
