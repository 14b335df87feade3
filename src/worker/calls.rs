//! What is asked of a worker: opening, and one call for each method of the traits that reads.

use super::wire::{Wire, choice, record};
use crate::data::content::Rect;
use crate::data::format::Options;
use crate::data::region::Region;
use crate::data::stats::{Binning, TableStats};
use std::ops::Range;
use std::path::PathBuf;

/// What a worker opens.
#[derive(Clone)]
pub(super) enum Spec {
    /// A file or folder.
    Path(PathBuf),
    /// A part of a file.
    Part { path: PathBuf, range: Range<u64>, name: String },
    /// Several files that are one table.
    Several(Vec<PathBuf>),
    /// Bytes that are sent along.
    Bytes { name: String, bytes: bytes::Bytes },
}

choice!(Spec { 0 Path(path); 1 Part { path, range, name }; 2 Bytes { name, bytes }; 3 Several(paths); });

/// What the bounds of a worker are, and what it opens: its first message.
pub(super) struct Opening {
    pub(super) spec: Spec,
    pub(super) options: Options,
    /// Bytes of data that the process may hold.
    pub(super) memory: u64,
    /// Bytes of decoded data that its caches may keep: as many as those of this process.
    pub(super) cached: u64,
    /// The files and folders that it may open, and what lies below them.
    pub(super) folders: Vec<PathBuf>,
}

record!(Opening { spec, options, memory, cached, folders });

/// A byte of a file, to ask what it belongs to.
pub(super) enum Place {
    /// Of the file that the document is.
    Document { offset: u64 },
    /// Of another one.
    Path { path: PathBuf, offset: u64 },
    /// Of bytes that the worker makes.
    Kept { request: u64, ordinal: u32, offset: u64 },
    /// Of none that it knows.
    Unknown,
}

choice!(Place {
    0 Document { offset }; 1 Path { path, offset }; 2 Kept { request, ordinal, offset }; 3 Unknown;
});

/// A call of a method. What is answered is what the method gives.
pub(super) enum Call {
    TableRead { rows: Range<u64>, columns: Vec<usize> },
    TableCount,
    TableTail { count: u64, columns: Vec<usize> },
    TableScanStep { at: u64 },
    TableEqualRows { at: u64 },
    TableSample { most: u64 },
    TableReadHeaders { most: usize },
    TableFacts,
    TableStatistics { column: usize },
    TableLayout,
    TableRowRanges { columns: Vec<usize>, parts: Vec<bool> },
    TableParts { columns: Vec<usize> },
    TableWithParts { parts: Vec<bool> },
    TableLocation { row: u64, column: usize },
    TableOwner { byte: Place },
    TableStats { columns: Vec<usize> },
    TableSummaries { columns: Vec<usize>, exact: bool },
    TableHistograms { columns: Vec<usize>, stats: TableStats, binning: Binning },
    ArrayRead { region: Region },
    ArrayUnstored { region: Region },
    ArrayStored,
    ArrayLocation { index: Vec<u64> },
    ArrayOwner { byte: Place },
    ArrayStorage,
    ArrayVerbatim,
    ArrayFacts,
    ArrayColumn { region: Region },
    ArrayReadLenient { region: Region },
    ArrayLayout,
    ArrayPrefetch { region: Region },
    ArrayChecksummed,
    ArrayStats { bins: Option<usize>, lenient: bool },
    ArrayTensor,
    QuantisedQuants { region: Region },
    QuantisedBlocks,
    QuantisedBlock { index: Vec<u64> },
    QuantisedCode { index: Vec<u64> },
    WorldAt { index: Vec<u64> },
    ImageRead { frame: u64, level: u32, rect: Rect },
    ImageReduced { frame: u64, width: u64, height: u64 },
    ImageStored { frame: u64, rect: Rect },
    ImageUnstoredRows { frame: u64, y: u64 },
    TextBeginnings { range: Range<u64> },
    TextEach { start: u64, longest: usize },
    TextCount,
    TextCharacters,
    TextRead { range: Range<u64> },
    ListingPage { range: Range<u64> },
    ListingSoon { range: Range<u64> },
    ListingMeasure,
    ListingResolve,
    ListingFind { name: String },
    FindingsFinish,
    PlacesLocation,
    PlacesAttribute { name: String },
    PlacesOwner { byte: Place },
    StatisticsAll,
    VersionsName { n: usize },
    VersionsAbout { n: usize },
    SourceLen,
    SourceRead { offset: u64, count: usize },
    SourceOpen { options: Options },
    LocationDecoded,
}

choice!(Call {
    0 TableRead { rows, columns }; 1 TableCount; 2 TableTail { count, columns }; 3 TableScanStep { at };
    4 TableEqualRows { at }; 5 TableSample { most }; 6 TableReadHeaders { most }; 7 TableFacts;
    8 TableStatistics { column }; 9 TableLayout; 10 TableRowRanges { columns, parts }; 11 TableParts { columns };
    12 TableWithParts { parts }; 13 TableLocation { row, column }; 14 TableOwner { byte }; 15 TableStats { columns };
    16 TableSummaries { columns, exact }; 17 TableHistograms { columns, stats, binning };
    20 ArrayRead { region }; 21 ArrayUnstored { region }; 22 ArrayStored; 23 ArrayLocation { index };
    24 ArrayOwner { byte }; 25 ArrayStorage; 26 ArrayVerbatim; 27 ArrayFacts; 28 ArrayColumn { region };
    29 ArrayReadLenient { region }; 30 ArrayLayout; 31 ArrayPrefetch { region }; 32 ArrayChecksummed;
    33 ArrayStats { bins, lenient }; 34 ArrayTensor;
    40 QuantisedQuants { region }; 41 QuantisedBlocks; 42 QuantisedBlock { index }; 43 QuantisedCode { index };
    50 WorldAt { index };
    60 ImageRead { frame, level, rect }; 61 ImageReduced { frame, width, height }; 62 ImageStored { frame, rect };
    63 ImageUnstoredRows { frame, y };
    70 TextBeginnings { range }; 71 TextEach { start, longest }; 72 TextCount; 73 TextCharacters; 74 TextRead { range };
    80 ListingPage { range }; 81 ListingSoon { range }; 82 ListingMeasure; 83 ListingResolve; 84 ListingFind { name };
    90 FindingsFinish;
    100 PlacesLocation; 101 PlacesAttribute { name }; 102 PlacesOwner { byte };
    110 StatisticsAll;
    120 VersionsName { n }; 121 VersionsAbout { n };
    130 SourceLen; 131 SourceRead { offset, count }; 132 SourceOpen { options };
    140 LocationDecoded;
});

/// How urgent a request is: of those that wait the first of the most urgent ones is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// What somebody waits for to see it.
    Seen,
    /// Passes over everything, and what is read ahead.
    Background,
}

choice!(Priority { 0 Seen; 1 Background; });

impl Call {
    /// How urgent it is.
    pub(super) fn priority(&self) -> Priority {
        match self {
            Call::TableCount
            | Call::TableReadHeaders { .. }
            | Call::TableStats { .. }
            | Call::TableSummaries { exact: true, .. }
            | Call::TableHistograms { .. }
            | Call::ArrayStats { .. }
            | Call::ArrayTensor
            | Call::ArrayPrefetch { .. }
            | Call::TextCount
            | Call::TextCharacters
            | Call::ListingMeasure
            | Call::FindingsFinish
            | Call::StatisticsAll => Priority::Background,
            _ => Priority::Seen,
        }
    }
}

/// A message to a worker.
pub(super) enum Request {
    /// Opens the document.
    Open { id: u64, opening: Box<Opening> },
    /// Calls a method of what was kept.
    Call { id: u64, request: u64, ordinal: u32, budget: u64, priority: Priority, call: Box<Call> },
    /// Nobody waits for the answer any more.
    Cancel { id: u64 },
    /// Nobody has these any more.
    Release { keys: Vec<(u64, u32)> },
    /// What was asked for: descriptors are passed along, or why there are none.
    Given { ask: u64, error: Option<crate::bytes::error::Error> },
    /// So many decoded bytes may be kept, and no more than these of those that are kept now.
    Keep { most: u64, now: u64 },
}

choice!(Request {
    0 Open { id, opening };
    1 Call { id, request, ordinal, budget, priority, call };
    2 Cancel { id };
    3 Release { keys };
    4 Given { ask, error };
    5 Keep { most, now };
});

/// What a worker asks for.
pub(super) enum Wanted {
    /// A temporary file, for what is named.
    Temporary(String),
    /// A decoder of video: whether one picture is wanted with its colours interpolated, and the layout of its pixels.
    Decoder(bool, String),
}

choice!(Wanted { 0 Temporary(what); 1 Decoder(is_still, layout); });

/// What begins a message from a worker.
pub(super) enum Event {
    /// The answer to a request; what it is follows.
    Done { id: u64 },
    /// There is none, for this reason.
    Failed { id: u64, error: crate::bytes::error::Error },
    /// How far a request is.
    Progress { id: u64, done: u64, total: u64, message: String },
    /// What is known now of something that was kept.
    State { request: u64, ordinal: u32, state: super::objects::State },
    /// Something is needed that the worker may not make.
    Ask { ask: u64, wanted: Wanted },
    /// The document names these, which the worker may not open.
    Refused { paths: Vec<PathBuf> },
    /// So many decoded bytes are kept now, of which so many are in use; whether that was asked for.
    Kept { bytes: u64, reserved: u64, asked: bool },
}

choice!(Event {
    0 Done { id };
    1 Failed { id, error };
    2 Progress { id, done, total, message };
    3 State { request, ordinal, state };
    4 Ask { ask, wanted };
    5 Refused { paths };
    6 Kept { bytes, reserved, asked };
});

/// What a worker says of a document that it opened.
pub(super) struct Opened {
    /// How well the process is shut in.
    pub(super) level: super::sandbox::Level,
    pub(super) format: &'static crate::data::format::Format,
    /// The length of the bytes, so that both processes speak of the same.
    pub(super) length: Option<u64>,
    pub(super) remarks: Vec<String>,
    pub(super) broken_promise: bool,
    pub(super) options: Options,
    pub(super) root: crate::data::node::Node,
}

record!(Opened { level, format, length, remarks, broken_promise, options, root });

impl Request {
    /// The bytes of a [`Request::Call`] up to the call itself, which follows them.
    pub(super) fn head(id: u64, key: super::objects::Key, budget: u64, priority: Priority) -> Vec<u8> {
        use super::wire::Out;
        let mut out = Out::new(None);
        out.bytes.push(CALL);
        (id, key.0, key.1, budget).put(&mut out);
        priority.put(&mut out);
        out.bytes
    }
}

/// The tag of [`Request::Call`].
const CALL: u8 = 1;
