//! PyTorch's names in pickles that make plain data: what rebuilds tensors, the types of storages and elements, and the
//! records of distributed checkpoints.
//! <https://github.com/pytorch/pytorch/blob/main/torch/_weights_only_unpickler.py>

/// Modules and names in them that make plain data and do nothing else, whatever their arguments are.
pub(super) const PLAIN: &[(&str, &str)] = &[
    (
        "torch._utils",
        "_rebuild_tensor_v3 _rebuild_sparse_csr_tensor _rebuild_nested_tensor _rebuild_parameter_with_state \
         _rebuild_wrapper_subclass _rebuild_device_tensor_from_cpu_tensor _rebuild_xla_tensor",
    ),
    (
        "torch",
        "QInt8Storage QUInt8Storage QInt32Storage QUInt4x2Storage QUInt2x4Storage ComplexHalfStorage \
         FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor \
         ByteTensor BoolTensor complex32 complex64 complex128 chalf cfloat cdouble half float double short int \
         long uint16 uint32 uint64 qint8 quint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 \
         float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 \
         uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 \
         strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged \
         per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric \
         per_channel_affine_float_qparams contiguous_format channels_last channels_last_3d preserve_format",
    ),
    (
        "torch.cuda",
        "FloatStorage DoubleStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage \
         ByteStorage BoolStorage",
    ),
    ("torch.serialization", "_get_layout"),
    ("torch.storage", "_UntypedStorage _TypedStorage"),
    (
        "torch.jit._pickle",
        "build_intlist build_doublelist build_boollist build_tensorlist build_tensor_from_id restore_type_tag",
    ),
    (
        "torch.distributed.checkpoint.metadata",
        "Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata MetadataIndex TensorProperties \
         StorageMeta _MEM_FORMAT_ENCODING",
    ),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo _StoragePrefix"),
    ("torch.nested._internal.nested_tensor", "_rebuild_njt NestedTensor"),
    // What modules and training scripts keep beside tensors.
    (
        "torch.nn.functional",
        "relu relu6 gelu silu mish elu selu leaky_relu softplus softmax log_softmax tanh sigmoid",
    ),
    ("torch._C._nn", "gelu"),
    ("torch.torch_version", "TorchVersion"),
    ("argparse", "Namespace"),
];

/// Whether a name is that of a class of a TorchScript archive: its code lies in the archive and is run by PyTorch's own
/// interpreter.
pub(super) fn is_script(module: &str) -> bool {
    module == "__torch__" || module.starts_with("__torch__.")
}
