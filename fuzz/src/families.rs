//! The formats of one file, by what their readers share; a fuzz target takes one family.

/// The family's name, which is its target's, and the ids of its formats. The order is part of a seed: new ones at the end.
pub const FAMILIES: &[(&str, &[&str])] = &[
    (
        "tables",
        &[
            "parquet", "arrow", "feather", "avro", "orc", "sqlite", "xlsx", "csv", "json", "jsonl", "xml",
            "yaml", "arff", "pcd",
        ],
    ),
    (
        "arrays",
        &[
            "hdf5",
            "netcdf4",
            "mat73",
            "mat",
            "netcdf3",
            "npy",
            "npz",
            "nifti",
            "mgh",
            "fits",
            "idx",
            "bloscpack",
        ],
    ),
    (
        "models",
        &[
            "onnx",
            "tflite",
            "tf_graphdef",
            "safetensors",
            "gguf",
            "ggml",
            "mxnet_params",
            "mxnet_symbol",
            "coreml",
            "openvino",
            "pmml",
            "keras",
            "catboost",
            "xgboost",
            "lightgbm",
            "mlir",
            "tfjs",
            "svg",
            "dot",
            "mermaid",
        ],
    ),
    ("python", &["pickle", "joblib", "pytorch", "torchscript", "torch_export", "shelve"]),
    (
        "records",
        &[
            "tfrecord",
            "recordio",
            "lmdb",
            "ffcv",
            "msgpack",
            "flax",
            "tensorboard",
            "webdataset",
            "libsvm",
            "coco",
            "labelme",
            "cifar",
        ],
    ),
    (
        "images",
        &[
            "png", "jpeg", "webp", "gif", "bmp", "tiff", "dicom", "ppm", "qoi", "hdr", "exr", "jp2", "jxl",
            "ico", "tga",
        ],
    ),
    ("sounds", &["wav", "w64", "aiff", "au", "caf", "flac", "ogg", "m4a", "mp3"]),
    ("videos", &["mp4", "matroska", "avi", "mpegts", "heic", "avif"]),
    ("containers", &["zip", "tar", "gzip", "zstd", "bzip2", "xz", "lz4", "zlib", "text", "bytes"]),
];

/// The formats of a family.
pub fn formats(family: &str) -> &'static [&'static str] {
    FAMILIES.iter().find(|(name, _)| *name == family).map_or(&[], |(_, formats)| formats)
}

/// The first byte of an input: the format's place in its family; behind the last one the content decides.
pub fn selector(family: &str, format: &str) -> Option<u8> {
    formats(family).iter().position(|id| *id == format).and_then(|at| u8::try_from(at).ok())
}
