//! Gander's library: opens any machine-learning data or model file lazily and gives it out by ranges.
//!
//! It knows formats and nothing of windows. The application on top of it (`src/app`: the window and the
//! command line `gander`) knows windows and nothing of formats.
//!
//! # The picture
//! ```text
//! path ─▶ Source ─▶ sniff ─▶ Format.open ─▶ Node tree ─▶ Content ─▶ view | command | writer
//!           ▲                                              │
//!           └───────────── bytes inside other bytes ◀──────┘
//! ```
//! A path becomes a [`Source`] (a mapped file, a slice, a decompressed stream, a folder). [`sniff`] shows
//! its head to every [`format::Format`] in [`formats::FORMATS`] and takes the first that is sure. The
//! format's `open` reads headers and gives a tree of [`node::Node`]s: names, attributes, problems, and
//! [`content::Content`] — a table, an array, an image, a text, bytes. Content reads values by range, with
//! a [`Task`] in hand. What is inside another file goes back through `Source` and the same door,
//! [`open::nested`].
//!
//! # Code map
//! | room | what is in it |
//! |---|---|
//! | [`source`] | the only place that opens and maps files; identity checks; the guard against shrinking files |
//! | [`sniff`], [`open`] | which format is it; from a source to a [`Document`]; walking the tree |
//! | [`format`](mod@format) | `Format`: a descriptor, as a value; `Writer`, `Options`, `Payload`, `Loss` |
//! | [`formats`] | the ordered list, and one file or folder a format |
//! | [`guard`](mod@guard) | a panic in a reader is an error with its place: around all that a format hands out |
//! | [`node`], [`content`] | the tree; the traits `Table`, `Array`, `Image` and the struct `Text` |
//! | [`dtype`], [`region`], [`cell`] | element types; which elements; exact texts of values |
//! | [`cf`] | times as counts since a date, in the calendars of climate models |
//! | [`adapt`] | one content as another: records as a table, elements as a column, a slice, a cast |
//! | [`lines`] | where lines and records of text end; rows of text by range |
//! | [`json`](mod@json) | JSON of any size: strings and brackets by SIMD, a sparse index, children, records |
//! | [`chunked`](mod@chunked) | arrays in chunks: formats decode one, the engine does regions, cores and the cache |
//! | [`codec`] | what turns a chunk's stored bytes into its elements: compression, filters, checksums |
//! | [`container`], [`stream`] | archives and compressed streams, for the formats that are made of them |
//! | [`concat`](mod@concat), [`cache`] | several tables as one; decoded blocks that a second look finds again |
//! | [`grouped`] | tables and sparse matrices whose parts are arrays of one group, in any format |
//! | [`pickle`](mod@pickle) | Python pickles: what is in them and what they would run, without Python |
//! | [`lake`] | tables whose rows lie in many files and whose schema stands in metadata |
//! | [`stats`] | one pass over an array or a table |
//! | [`convert`], [`write`](mod@write), [`output`] | any content to any writer that accepts its kind; the writers; files that are whole or not there |
//! | [`query`](mod@query) | SQL, filters, sorting: a result is a table again; the only room with an asynchronous runtime |
//! | [`task`], [`jobs`] | permission to block; worker threads and the slots that views ask |
//! | [`limits`], [`error`], [`display`] | what a file may demand; the one error; numbers for people |
//!
//! # Adding a format
//! 1. `src/formats/<kind>/<id>.rs`: the module's head says what the format is and links its
//!    specification; `pub static FORMAT: Format = Format { extensions, magic, reads, ..Format::new(id,
//!    name, open) }`; `fn open(&Opening) -> Result<Node>` reads the header, checks every size through
//!    [`limits`], and returns a `Node` with content. Where magic alone does not tell, set `sniff`, which is
//!    then asked instead of `magic`. Content that is made already:
//!    - plain elements: [`content::array::Plain`];
//!    - rows of fixed fields: a `Plain` of [`dtype::DType::Struct`] in an [`adapt::ArrayTable`];
//!    - lines of text: [`lines::Paged`] finds the rows, `Records` (with [`lines::paged::line`]) keeps them;
//!    - columns: [`adapt::column`] makes each, [`content::table::batch`] the batch;
//!    - rows in memory: [`content::table::MemoryTable`].
//!
//!    Else implement `Table` or `Array` (three or four methods). Where the header can be read but not all
//!    of the values are there, show those that are and set the node's problem; an `Err` from `open` is for
//!    a header that cannot be read.
//! 2. Two lines in `formats.rs`: the module, and its place in the order (a format with magic or a sure
//!    `sniff` stands before the containers).
//! 3. `fixtures/<id>/` with cases, a `malformed/` folder and the `make.py` that made them. The tests loop
//!    over them (`tests/fixtures.rs`): nothing else is to be written for recognition, truncation and bit
//!    flips. That the values are right, and what is said of each malformed file, is the module's own test.
//! 4. A line in `CHANGELOG.md`; README's table: `GANDER_BLESS=1 cargo test --test main readme`.
//!
//! # Invariants
//! 1. The library does not know egui; formats do not know each other.
//! 2. Only [`source`] opens files for reading and maps memory.
//! 3. Opening reads headers, never values; reading takes a range and gives owned data.
//! 4. Whatever can touch bytes takes a [`Task`]; code that draws never has one.
//! 5. Sizes, counts and offsets from a file go through [`limits`] before anything is allocated.
//! 6. An [`Error`] has a class, a sentence and a place; a partial tree beats an error; a broken node
//!    never hides its neighbours.
//! 7. Arrays deliver little-endian elements in C order, whatever the file does.
//! 8. Kinds of content are a closed enum, matched exhaustively; formats are an open, ordered list.
//! 9. Values are exact: texts come from [`cell`], nothing is rounded on the way.
//! 10. Detection is pure and sees only a [`sniff::Head`]; content beats the extension.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read their fixtures whole"))]

pub mod bytes;
pub mod convert;
pub mod data;
pub mod engines;
pub mod formats;
pub mod jobs;
pub mod query;

pub use bytes::error::{Error, ErrorKind, Result};
pub use bytes::source::Source;
pub use bytes::task::Task;
pub use data::open::Document;
pub use formats::open;
