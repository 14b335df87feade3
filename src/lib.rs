//! Gander's library: opens any machine-learning data or model file lazily and gives it out by ranges.
//!
//! It knows formats and nothing of windows. The application on top of it (`src/app`: the window and the
//! command line `gander`) knows windows and nothing of formats.
//!
//! # The picture
//! ```text
//!                 application: window, command line
//!                    │              │           │
//!                    ▼              ▼           ▼
//!                 jobs          convert       query      what people do with data
//!                    │              │           │
//!                    └──────┬───────┴───────────┘
//!                           ▼
//!                        formats                         a folder each: reader, writer, tests; the ordered list
//!                           │
//!                           ▼
//!                        engines                         text, JSON, pickles, framed records, tables of many files
//!                           │
//!                           ▼
//!                         data                           nodes, content, types; adapters, conventions, statistics
//!                           │
//!                           ▼
//!                         bytes                          sources, compression, archives; tasks, limits, errors
//! ```
//! How a file comes to a view:
//! ```text
//! path ─▶ Source ─▶ sniff ─▶ Format.open ─▶ Node tree ─▶ Content ─▶ view | command | writer
//!           ▲                                              │
//!           └───────────── bytes inside other bytes ◀──────┘
//! ```
//! A path becomes a [`Source`] (a mapped file, a slice, a decompressed stream, a folder). Its head is shown to every
//! [`Format`](data::format::Format) in [`formats::FORMATS`], and the first that is sure is taken. The format's `open`
//! reads headers and gives a tree of [`Node`](data::node::Node)s: names, attributes, problems, and
//! [`Content`](data::content::Content) — a table, an array, an image, a text, bytes; or it answers that the source is
//! another's, and the next one is asked. Content reads values by range, with a [`Task`] in hand. What is inside another
//! file goes back through `Source` and the same door, [`Formats`](data::format::Formats), which whoever may find files
//! inside others is handed.
//!
//! # Layers
//! Each may use itself and those before it, never those behind it; a test holds the imports against this list. What is
//! in the rooms of a layer its head says.
//! 1. [`bytes`]: bytes and the permission to read them
//! 2. [`data`]: data, whatever file holds them
//! 3. [`engines`]: what several formats are read and written by
//! 4. [`formats`]: each format in a folder of its own; none knows another
//! 5. [`worker`]: files read in processes of their own, shut in; proxies that stand for what reads there
//! 6. [`query`]: SQL, filters, sorting; a result is a table again; the only room with an asynchronous runtime
//! 7. [`convert`]: any content to any writer that accepts its kind; files that are whole or not there
//! 8. [`jobs`]: worker threads and the slots that views ask
//!
//! # Adding a format
//! 1. `src/formats/<kind>/<id>.rs`: the module's head says what the format is and links its
//!    specification; `pub static FORMAT: Format = Format { extensions, magic, reads, ..Format::new(id,
//!    name, open) }`; `fn open(&Opening) -> Result<Node>` reads the header, checks every size through
//!    [`limits`](bytes::limits), and returns a `Node` with content. Where magic alone does not tell, set `sniff`, which is
//!    then asked instead of `magic`; it sees the name too, and the length where that is known. Content that is made already:
//!    - plain elements, in any order of axes and bytes: [`Plain`](data::content::array::Plain);
//!    - rows of fixed fields: a `Plain` of [`DType::Struct`](data::dtype::DType::Struct) in an [`ArrayTable`](data::adapt::ArrayTable);
//!    - records in frames, one after the other: an [`Index`](engines::records::Index) finds them;
//!    - messages of Protocol Buffers: [`protobuf`](engines::protobuf) walks them;
//!    - lines of text: [`Paged`](engines::delimited::Paged) finds the rows, `Records` (with [`line`](engines::delimited::paged::line)) keeps them;
//!    - columns: [`column`](data::adapt::column) makes each, [`batch`](data::content::table::batch) the batch;
//!    - rows in memory: [`MemoryTable`](data::content::table::MemoryTable).
//!
//!    Else implement `Table` or `Array` (three or four methods). Where the header can be read but not all
//!    of the values are there, show those that are and set the node's problem
//!    ([`Plain::within`](data::content::array::Plain::within) does both); an `Err` from `open` is for a header that cannot
//!    be read, or has nothing whole behind it. What follows the data is a remark. Compressed files and archives need
//!    nothing: their inside comes through the same door under its own name, as a source whose length may not be known
//!    yet.
//! 2. Where it is written: `targets: &[Target::new(id, name, extensions, &WRITER)]` with a
//!    [`Writer`](data::format::Writer). Its `write` takes the values in steps ([`elements`](data::scan::elements) of an
//!    array, [`scan`](fn@data::scan::scan) of a table) and gives them to [`put`](data::scan::put); `check` refuses what
//!    the format has no type for, or `losses` names it where the rest can still be written. What rows can be added to has
//!    an [`Append`](data::format::Append), too. The tests write every fixture
//!    of every format by every target and read it back.
//! 3. Two lines in `formats.rs`: the module, and its place in the order (a format with magic or a sure
//!    `sniff` stands before the containers).
//! 4. `fixtures/<id>/` with cases, a `malformed/` folder and the `make.py` that made them (`fixtures/support.py` cuts and
//!    patches; what it imports is in `fixtures/requirements.txt`). The tests loop
//!    over them (`tests/fixtures.rs`): nothing else is to be written for recognition, truncation and bit
//!    flips. That the values are right, and what is said of each malformed file, is the module's own test.
//! 5. What the command line says of each fixture: `GANDER_BLESS=1 cargo test --test main golden`, then read
//!    `fixtures/<id>/golden.txt`; README's table: `GANDER_BLESS=1 cargo test --test main readme`; a line in
//!    `CHANGELOG.md`.
//! 6. In the application one line: how Python loads such a file (`src/app/gui/snippets/load.rs`, by the format's id).
//!    Without it the snippet reads its bytes.
//!
//! # Fuzzing
//! `fuzz/` has a target for each family of readers (`fuzz/src/families.rs`): tables, arrays, models, python, records,
//! images, sounds, videos, containers. An input's first byte names the format of the family, the rest is the file. The
//! seeds are our fixtures:
//! ```text
//! mkdir -p fuzz/artifacts
//! GANDER_SEEDS=$PWD/fuzz/corpus cargo test --test main seeds_are_written -- --ignored
//! RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/instrumented cargo build -p gander-fuzz --bins
//! target/debug/tables fuzz/corpus/tables -artifact_prefix=fuzz/artifacts/ -max_total_time=600 -timeout=10 -rss_limit_mb=4096 -malloc_limit_mb=1024
//! ```
//! A panic in a reader, an answer that takes ten seconds, and a single allocation over a gigabyte are findings.
//! `-minimize_crash=1` makes an input small, and without its first byte it is a fixture for `malformed/`. Gander's own code
//! is instrumented and what it depends on is that of the daily build (`fuzz/instrumented`), so the targets are built in
//! minutes, by the stable compiler. No sanitizer of addresses: the readers are Rust
//! without `unsafe` but for maps, and it takes most of the speed.
//!
//! # Invariants
//! 1. The library does not know egui; formats do not know each other.
//! 2. Only [`source`](bytes::source) opens files for reading and maps memory; what systems do in ways of their own stands in
//!    `bytes::system`.
//! 3. Opening reads headers, never values; reading takes a range and gives owned data. (Single buffers over
//!    [`OWNED`](bytes::source::OWNED) bytes of a mapped file are views of its map: scans read such, nothing that is drawn.)
//! 4. Whatever can touch bytes takes a [`Task`]; code that draws never has one.
//! 5. Sizes, counts and offsets from a file go through [`limits`](bytes::limits) before anything is allocated.
//! 6. An [`Error`] has a class, a sentence and a place; a partial tree beats an error; a broken node
//!    never hides its neighbours.
//! 7. Arrays deliver little-endian elements in C order, whatever the file does.
//! 8. Kinds of content are a closed enum, matched exhaustively; formats are an open, ordered list.
//! 9. Values are exact: texts come from [`cell`](data::cell), nothing is rounded on the way.
//! 10. What is kept of decoded bytes is counted in one budget, [`DECODED`](bytes::cache::DECODED): in a
//!     [`Cache`](bytes::cache::Cache), or by [`Reservation`](bytes::cache::Reservation); what workers keep counts, too.
//! 11. Detection is pure and sees only a [`Head`](data::sniff::Head); content beats the extension.
//! 12. What reads may stand in another process ([`worker`]): the traits of [`data`] are all that others know of it, what
//!     they give is owned, and what is new in them crosses the border or does not compile.
//! 13. Nothing that a file holds makes a reader panic: outside of tests there is no `unwrap` and no index that is not
//!     checked (clippy's lints below); where one is allowed, the reason says why it holds.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read their fixtures whole"))]
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "what a hostile file leads to is an error or a value, no panic"
    )
)]

pub mod bytes;
pub mod convert;
pub mod data;
pub mod engines;
pub mod formats;
pub mod jobs;
pub mod query;
pub mod worker;

pub use bytes::error::{Error, ErrorKind, Result};
pub use bytes::source::Source;
pub use bytes::task::Task;
pub use data::open::Document;
pub use formats::open;
