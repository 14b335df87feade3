//! What several formats are read and written by, and that is no format itself.
//!
//! | room | what is in it |
//! |---|---|
//! | [`delimited`] | where lines and records of text end; rows of text by range |
//! | [`html`](mod@html) | pages with tables that stand alone |
//! | [`json`](mod@json) | JSON of any size: strings and brackets by SIMD, a sparse index, children, records |
//! | [`attributes`] | attributes of arrays: numbers in their type, lists, texts |
//! | [`netcdf`](mod@netcdf) | what NetCDF of any version holds of a payload: dimensions, variables, names, types |
//! | [`variables`] | the arrays, fields and columns of a payload, each as a variable of its own |
//! | [`annotations`](mod@annotations) | pictures with boxes, masks and key points on them; the pictures of a folder |
//! | [`boxes`](mod@boxes) | boxes of the ISO base media file format, which MP4, QuickTime and AVIF are made of |
//! | [`isobmff`](mod@isobmff) | what those boxes say: items of HEIF, movies with their tracks and samples |
//! | [`sounds`](mod@sounds) | sounds that are decoded packet by packet |
//! | [`svg`](mod@svg) | drawings in SVG as pictures |
//! | [`ffmpeg`](mod@ffmpeg) | frames of coded pictures, by a process of its own |
//! | [`examples`](mod@examples) | TensorFlow's examples: features of records as typed columns |
//! | [`flatbuffer`](mod@flatbuffer) | FlatBuffers: tables, vectors and texts that point to each other, checked |
//! | [`ggml`](mod@ggml) | types, tensors and vocabularies of GGUF and what was before it |
//! | [`msgpack`](mod@msgpack) | MessagePack: tokens, values as text, objects as columns, cells as values |
//! | [`pickle`](mod@pickle) | Python pickles: what is in them and what they would run, without Python |
//! | [`picture_metadata`](mod@picture_metadata) | EXIF, XMP, IPTC and ICC profiles as trees |
//! | [`pieces`](mod@pieces) | bytes that lie in pieces, as a source |
//! | [`pictures`](mod@pictures) | pictures of one size with their labels, as a table |
//! | [`protobuf`](mod@protobuf) | Protocol Buffers' wire format: fields with their places, unknown messages too |
//! | [`records`](mod@records) | records in frames: an index of them of bounded size; containers of records; TFRecord, RecordIO |
//! | [`samples`](mod@samples) | rows of a table as samples of a training set, for writers of record containers |
//! | [`trees`](mod@trees) | decision trees that follow each other in a file, as one table |
//! | [`ubjson`](mod@ubjson) | UBJSON: values with their places, stepped over without reading them |
//! | [`tfevents`](mod@tfevents) | event files of training runs: values by tag, tables of one and of several runs |
//! | [`xml`](mod@xml) | XML texts as trees of elements |
//! | [`yaml`](mod@yaml) | YAML texts as trees of values, with PyYAML's scalars |
//! | [`modules`](mod@modules) | tensors with dotted names as a tree of modules |
//! | [`shards`](mod@shards) | models that are cut into files with an index |
//! | [`joined`](mod@joined) | the children of a node among others |
//! | [`multifile`] | tables whose rows lie in many files: with the same schema, or with one in metadata |
//! | [`parquet_write`] | rows as row groups of Parquet files |
//! | [`avro`](mod@avro) | Avro's bytes, and the container around records, for who writes them |
//! | [`numpy`], [`matlab`](mod@matlab) | the header of an NPY array; how MATLAB counts |
//! | [`members`] | where the members of a ZIP archive lie in it |
//! | [`operators`](mod@operators) | what operators of graphs do, in the words of who defines them |
//! | [`headers`](mod@headers) | what headers keep of attributes and dimensions |
//! | [`widen`](mod@widen) | numbers for formats that have only some of the types |
//! | [`archive`](mod@archive) | the members of an archive as a tree |
//! | [`bits`](mod@bits), [`late_array`](mod@late_array) | numbers of a few bits in bytes; arrays that are made when somebody looks |
//! | [`blosc`](mod@blosc) | what writers of Blosc chunks may be told |
//! | [`keys`] | stores of keys and bytes: a folder or a ZIP archive of metadata documents and chunks |

pub mod annotations;
pub mod archive;
pub mod attributes;
pub mod avro;
pub mod bits;
pub mod blosc;
pub mod bodies;
pub mod boxes;
pub mod delimited;
pub mod examples;
pub mod ffmpeg;
pub mod flatbuffer;
pub mod ggml;
pub mod headers;
pub mod html;
pub mod isobmff;
pub mod joined;
pub mod json;
pub mod keys;
pub mod late_array;
pub mod matlab;
pub mod members;
pub mod modules;
pub mod msgpack;
pub mod multifile;
pub mod netcdf;
pub mod numpy;
pub mod operators;
pub mod parquet_write;
pub mod pickle;
pub mod picture_metadata;
pub mod pictures;
pub mod pieces;
pub mod protobuf;
pub mod records;
pub mod samples;
pub mod shards;
pub mod sounds;
pub mod svg;
pub mod tensorflow;
pub mod tfevents;
pub mod time_spans;
pub mod trees;
pub mod ubjson;
pub mod variables;
pub mod widen;
pub mod xml;
pub mod yaml;
