//! Data, whatever file holds them: the tree of nodes, the traits of their content, types, regions and values; what every
//! format says of itself; adapters, conventions and statistics that work on any content. No format is known here.
//!
//! | room | what is in it |
//! |---|---|
//! | [`node`], [`content`] | the tree; the traits `Table`, `Array`, `Image`, `Text` |
//! | [`infer`], [`json`](mod@json), [`security`] | types that columns of text fit; JSON texts in cells; what code a file would run |
//! | [`dtype`], [`region`], [`cell`] | element types and byte orders; which elements; exact texts of values |
//! | [`format`](mod@format), [`sniff`] | `Format`: a descriptor, as a value, and a list of them; `Writer`, `Options`, `Payload`, `Loss`; which format is it |
//! | [`open`](mod@open) | from a source to a [`open::Document`], by a list of formats that is handed on; walking the tree |
//! | [`guard`](mod@guard) | a panic in a reader is an error with its place: around all that a format hands out |
//! | [`chunked`](mod@chunked) | arrays in chunks: formats decode one, the engine does regions, cores and the cache |
//! | [`location`] | where a value lies in the bytes of a file, and what a byte belongs to |
//! | [`quantised`] | blocks of few bits that share scales: their values, and what these are made of |
//! | [`adapt`] | one content as another: records as a table, elements as a column, a slice, a field, scaled values, a cast |
//! | [`numbers`], [`axes`], [`plane`] | elements as f64; what indices stand for; two-dimensional slices: tiles, envelopes, search for NaN, pictures |
//! | [`cf`], [`grouped`] | conventions: scaling, axes, times and calendars; tables and sparse matrices whose parts are arrays of one group |
//! | [`parameters`](mod@parameters), [`health`](mod@health) | the tensors of a model as a table; what is wrong with them |
//! | [`graph`] | graphs to look at: groups, a layout, what is written into boxes |
//! | [`media`] | pictures, sounds and arrays in the cells of tables; what else of a row says something about them |
//! | [`sound`](mod@sound) | sounds to look at: peaks at any zoom, spectrograms, loudness |
//! | [`names`](mod@names) | names that a target can have, no two alike |
//! | [`keras`](mod@keras) | a convention: the layers of a Keras model, from the configuration that several formats hold |
//! | [`curves`] | what a training run logs by tag and step: reading, smoothing, points of a picture |
//! | [`stats`], [`scan`](mod@scan), [`column_order`] | one pass over an array or a table; reading all of either in steps; an array with the first index fastest |

pub mod adapt;
pub mod axes;
pub mod cell;
pub mod cf;
pub mod chunked;
pub mod column_order;
pub mod content;
pub mod curves;
pub mod dtype;
pub mod format;
pub mod graph;
pub mod grouped;
pub mod guard;
pub mod health;
pub mod infer;
pub mod json;
pub mod keras;
pub mod location;
pub mod media;
pub mod names;
pub mod node;
pub mod numbers;
pub mod open;
pub mod parameters;
pub mod plane;
pub mod quantised;
pub mod region;
pub mod scan;
pub mod security;
pub mod sniff;
pub mod sound;
pub mod stats;
