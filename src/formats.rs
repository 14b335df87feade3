//! The ordered list of formats. Order means something: the first sure match wins, and the last two
//! accept anything.
//!
//! Adding a format: see the head of the crate. Here it has two lines.

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::{Format, Formats, Options};
use crate::data::open::{self, Document};
use crate::data::sniff::{self, Head, Verdict};
use crate::engines::multifile;
use std::path::{Path, PathBuf};

/// Formats of tables.
pub mod table {
    pub mod arff;
    pub mod arrow;
    pub mod avro;
    pub mod csv;
    pub mod dataset;
    pub mod delta;
    pub mod hf_dataset;
    pub mod iceberg;
    pub mod json;
    pub mod jsonl;
    pub mod orc;
    pub mod parquet;
    pub mod pcd;
    pub mod sqlite;
    pub mod xlsx;
    pub mod xml;
    pub mod yaml;
}

/// Formats of arrays.
pub mod array {
    pub mod bloscpack;
    pub mod fits;
    pub mod hdf5;
    pub mod idx;
    pub mod mat;
    pub mod n5;
    pub mod netcdf3;
    pub mod nifti;
    pub mod npy;
    pub mod npz;
    pub mod raw;
    #[cfg(test)]
    mod testing;
    pub mod zarr;
}

/// Formats of models.
pub mod model {
    pub mod catboost;
    pub mod coreml;
    pub mod drawing;
    pub mod ggml;
    pub mod gguf;
    pub mod huggingface;
    pub mod keras;
    pub mod lightgbm;
    pub mod mlir;
    pub mod mxnet_params;
    pub mod mxnet_symbol;
    pub mod onnx;
    pub mod openvino;
    pub mod pmml;
    pub mod pytorch;
    pub mod safetensors;
    pub mod tf_checkpoint;
    pub mod tf_graphdef;
    pub mod tf_savedmodel;
    pub mod tfjs;
    pub mod tflite;
    pub mod training_run;
    pub mod xgboost;
}

/// Python's objects.
pub mod python {
    pub mod joblib;
    pub mod pickle;
    pub mod shelve;
}

/// Formats of records.
pub mod record {
    pub mod cifar;
    pub mod coco;
    pub mod ffcv;
    pub mod image_folder;
    pub mod labelme;
    pub mod libsvm;
    pub mod lmdb;
    pub mod msgpack;
    pub mod recordio;
    pub mod tensorboard;
    pub mod tfrecord;
    pub mod voc;
    pub mod webdataset;
    pub mod yolo;
}

/// Formats of pictures, sound and video.
pub mod media {
    pub mod audio;
    pub mod image;
    pub mod video;
}

/// Containers and what opens anything.
pub mod plain {
    pub mod bytes;
    pub mod compressed;
    pub mod folder;
    pub mod known;
    pub mod tar;
    pub mod text;
    pub mod zip;
}

/// Every format, in the order in which they are asked.
pub static FORMATS: &[&Format] = &[
    // folders that are one thing
    &model::coreml::FORMAT,
    &model::tf_savedmodel::FORMAT,
    &model::tf_checkpoint::FORMAT,
    &model::coreml::PACKAGE,
    &model::training_run::FORMAT,
    &model::huggingface::FORMAT,
    &model::safetensors::SHARDED,
    &model::gguf::SPLIT,
    &model::pytorch::DISTRIBUTED,
    &model::pytorch::SHARDED,
    &table::delta::FORMAT,
    &table::iceberg::FORMAT,
    &record::tfrecord::SET,
    &record::voc::FORMAT,
    &record::yolo::FORMAT,
    &record::labelme::SET,
    &table::hf_dataset::FORMAT,
    &record::webdataset::SET,
    &record::cifar::SET,
    &array::idx::SET,
    &table::dataset::FORMAT,
    &array::zarr::FORMAT,
    &array::n5::FORMAT,
    &python::shelve::STORE,
    &media::image::DICOM_SERIES,
    &record::image_folder::FORMAT,
    // by magic
    &table::parquet::FORMAT,
    &table::arrow::FORMAT,
    &table::arrow::FEATHER,
    // before MATLAB 7.3, so that .mat means it where nothing else is said
    &array::mat::FORMAT,
    &array::hdf5::NETCDF4,
    &array::hdf5::MATLAB,
    &array::hdf5::FORMAT,
    &table::avro::FORMAT,
    &table::orc::FORMAT,
    &array::npy::FORMAT,
    &array::bloscpack::FORMAT,
    &array::npz::FORMAT,
    &array::netcdf3::FORMAT,
    &array::nifti::FORMAT,
    &array::nifti::MGH,
    &array::fits::FORMAT,
    &array::idx::FORMAT,
    &model::safetensors::FORMAT,
    &model::pytorch::SCRIPT,
    &model::pytorch::EXPORTED,
    &model::pytorch::FORMAT,
    &model::gguf::FORMAT,
    &model::ggml::FORMAT,
    &model::mxnet_params::FORMAT,
    &model::onnx::FORMAT,
    &model::tfjs::FORMAT,
    &model::mxnet_symbol::FORMAT,
    &model::pmml::FORMAT,
    &model::openvino::FORMAT,
    &model::mlir::FORMAT,
    &model::tflite::FORMAT,
    &model::tf_graphdef::FORMAT,
    &model::keras::FORMAT,
    &model::catboost::FORMAT,
    &model::xgboost::FORMAT,
    &model::lightgbm::FORMAT,
    &record::tensorboard::FORMAT,
    &record::tfrecord::FORMAT,
    &record::recordio::FORMAT,
    &record::lmdb::FORMAT,
    &record::ffcv::FORMAT,
    &table::pcd::FORMAT,
    &table::arff::FORMAT,
    &python::shelve::FORMAT,
    &table::sqlite::FORMAT,
    &table::xlsx::FORMAT,
    // with a TIFF before its magic, as some writers have it
    &media::image::DICOM,
    &media::image::PNG,
    &media::image::JPEG,
    &media::image::WEBP,
    &media::image::GIF,
    &media::image::BMP,
    &media::image::TIFF,
    &media::image::PNM,
    &media::image::QOI,
    &media::image::HDR,
    &media::image::EXR,
    &media::image::AVIF,
    &media::image::JPEG_2000,
    &media::image::JPEG_XL,
    &media::image::ICO,
    &media::image::TGA,
    &model::drawing::SVG,
    &model::drawing::DOT,
    &model::drawing::MERMAID,
    &media::audio::WAV,
    &media::audio::W64,
    &media::audio::AIFF,
    &media::audio::AU,
    &media::audio::CAF,
    &media::audio::FLAC,
    &media::audio::OGG,
    &media::audio::M4A,
    &media::audio::MP3,
    &media::video::HEIC,
    &media::video::MP4,
    &media::video::MATROSKA,
    &media::video::AVI,
    &media::video::MPEG_TS,
    &python::joblib::FORMAT,
    &python::pickle::FORMAT,
    // containers
    &plain::compressed::GZIP,
    &plain::compressed::ZSTD,
    &plain::compressed::BZIP2,
    &plain::compressed::XZ,
    &plain::compressed::LZ4,
    &plain::compressed::ZLIB,
    &plain::zip::FORMAT,
    &record::webdataset::FORMAT,
    &plain::tar::FORMAT,
    &record::msgpack::FLAX,
    &record::msgpack::FORMAT,
    // recognised, but not read
    &plain::known::FORMAT,
    // elements without a header, told by name and size
    &record::cifar::FORMAT,
    &array::raw::FORMAT,
    // text, from the strict to the loose
    &record::libsvm::FORMAT,
    &table::jsonl::FORMAT,
    &record::coco::FORMAT,
    &record::labelme::FORMAT,
    &table::json::FORMAT,
    &table::xml::FORMAT,
    &table::yaml::FORMAT,
    &table::csv::FORMAT,
    &plain::folder::FORMAT,
    &plain::text::FORMAT,
    &plain::bytes::FORMAT,
];

/// The same for who opens with them.
pub static ALL: Formats = Formats(FORMATS);

/// The format of this id.
pub fn by_id(id: &str) -> Option<&'static Format> {
    ALL.by_id(id)
}

/// What is seen of a source before it is known what it is.
///
/// # Errors
/// Those of reading.
pub fn head(task: &Task, source: &Source) -> Result<Head> {
    Head::read(task, source, ALL)
}

/// The format that a source seems to have; [`open`] may find that it has another one.
pub fn detect(head: &Head) -> Verdict {
    let otherwise = || Verdict { format: &plain::bytes::FORMAT, remark: None, broken_promise: false };
    sniff::detect(head, ALL, &[]).unwrap_or_else(otherwise)
}

/// Opens a path, as [`Formats::open`].
///
/// # Errors
/// As there.
pub fn open(task: &Task, path: &Path, options: &Options) -> Result<Document> {
    ALL.open(task, path, options)
}

/// Opens a source, as [`Formats::open_source`].
///
/// # Errors
/// As there.
pub fn open_source(task: &Task, source: &Source, options: &Options) -> Result<Document> {
    ALL.open_source(task, source, options)
}

/// Opens several files as one table, as [`multifile::together`].
///
/// # Errors
/// As there.
pub fn together(task: &Task, paths: &[PathBuf]) -> Result<Document> {
    let elsewhere = open::together_elsewhere(task, paths);
    elsewhere.unwrap_or_else(|| multifile::together(ALL, task, paths))
}
