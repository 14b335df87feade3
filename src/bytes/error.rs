//! The library's one error: what went wrong, of which class, and where.
//!
//! The class tells a program what to do; the sentence tells a person. The place is filled in on
//! the way up: a parser knows the byte, the caller the node, the outermost the file.

use std::fmt;

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The operating system refused or failed: no such file, no permission, changed under us.
    Io,
    /// The bytes are not what their format demands.
    Malformed,
    /// Recognised, well-formed as far as seen, but of a kind that Gander does not read or write.
    Unsupported,
    /// A size or depth over what `limits` allows.
    Limit,
    /// What only looked like this format at its begin, or from outside, is of another one: opening asks the next.
    OtherFormat,
    /// The user or a newer request cancelled the work.
    Cancelled,
    /// A mistake in Gander (a caught panic, a broken invariant).
    Bug,
    /// The process that read the file died, or was ended.
    Crashed,
    /// The file refers to another one, outside of its own folder, which its reader may not open.
    Refused,
}

impl ErrorKind {
    /// The word used in JSON (`CLI.md`).
    pub fn word(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::Malformed => "malformed",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Limit => "limit",
            ErrorKind::OtherFormat => "other format",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Bug => "bug",
            ErrorKind::Crashed => "crashed",
            ErrorKind::Refused => "refused",
        }
    }
}

/// What is wrong with the places of values in their files, where a reader can tell it from other damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defect {
    /// The file ends before the values do.
    Truncated,
    /// Values share bytes that belong to one of them only.
    Overlap,
    /// Files that belong together are missing or disagree.
    Shards,
}

/// What went wrong and where. One pointer wide, so that results stay small.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    defect: Option<Defect>,
    message: String,
    at: Option<u64>,
    node: Option<String>,
    file: Option<String>,
}

impl Error {
    /// An error of this class, whose message is worded as that of the class.
    pub(crate) fn of_kind(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, message)
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            defect: None,
            message: message.into(),
            at: None,
            node: None,
            file: None,
        }))
    }

    /// The operating system failed; `message` says in doing what.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// The bytes break their format's rules. `message` continues the word "malformed":
    /// `"header: shape is negative"`.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Something real that Gander cannot read or write. `message` names it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Another format's source; `remark` says of what it only looked like one, or nothing.
    pub fn other_format(remark: impl Into<String>) -> Self {
        Self::new(ErrorKind::OtherFormat, remark)
    }

    /// More than `limits` allows. `message` names the thing, its size and the limit.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// The work was cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }

    /// A broken invariant of our own.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, message)
    }

    /// The process that read the file died. `message` is a sentence about it.
    pub fn crashed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Crashed, message)
    }

    /// A file that the reader may not open. `message` is a sentence about it.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Says first which part it is of: "chunk [3, 0]: …". A cancellation is of none.
    pub fn of(mut self, part: &str) -> Self {
        if !self.is_cancelled() {
            self.0.message = format!("{part}: {}", self.0.message);
        }
        self
    }

    /// Says what is wrong with the places of values.
    pub fn with_defect(mut self, defect: Defect) -> Self {
        self.0.defect = Some(defect);
        self
    }

    /// What is wrong with the places of values, where it is that.
    pub fn defect(&self) -> Option<Defect> {
        self.0.defect
    }

    /// Adds the byte offset in the file, unless an inner place is known already.
    pub fn at(mut self, offset: u64) -> Self {
        self.0.at.get_or_insert(offset);
        self
    }

    /// Adds the path of the node, unless an inner one is known already or it is a cancellation.
    pub fn in_node(mut self, node: &str) -> Self {
        if !node.is_empty() && !self.is_cancelled() {
            self.0.node.get_or_insert_with(|| node.to_owned());
        }
        self
    }

    /// Adds the file's path, unless it is known already.
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.0.file.get_or_insert_with(|| file.to_string());
        self
    }

    /// The class.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether this is the answer to a cancellation rather than a failure.
    pub fn is_cancelled(&self) -> bool {
        self.0.kind == ErrorKind::Cancelled
    }

    /// The byte offset, where it is known.
    pub fn offset(&self) -> Option<u64> {
        self.0.at
    }

    /// The path of the node, where it is known.
    pub(crate) fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The file's path, where it is known.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// What is wrong, without class and place: to be part of another error's words.
    pub fn what(&self) -> &str {
        &self.0.message
    }

    /// The sentence without the file's name: class, what, node and byte.
    pub fn message(&self) -> String {
        let inner = &*self.0;
        let mut text = match inner.kind {
            ErrorKind::Malformed => format!("malformed {}", inner.message),
            ErrorKind::Unsupported => format!("unsupported: {}", inner.message),
            ErrorKind::Limit => format!("over a limit: {}", inner.message),
            ErrorKind::Bug => format!("a mistake in Gander: {}", inner.message),
            ErrorKind::Io
            | ErrorKind::Cancelled
            | ErrorKind::OtherFormat
            | ErrorKind::Crashed
            | ErrorKind::Refused => inner.message.clone(),
        };
        if let Some(node) = &inner.node {
            text = format!("{node}: {text}");
        }
        if let Some(at) = inner.at {
            text.push_str(&format!(" (at byte {at})"));
        }
        text
    }
}

/// For what goes on, or says a remark, where something failed.
pub trait UnlessCancelled<T> {
    /// A cancellation as the outer error, which ends the caller with `?`; any other failure as the inner one.
    fn unless_cancelled(self) -> Result<Result<T>>;
}

impl<T> UnlessCancelled<T> for Result<T> {
    fn unless_cancelled(self) -> Result<Result<T>> {
        match self {
            Err(error) if error.is_cancelled() => Err(error),
            other => Ok(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.0.file {
            write!(f, "{file}: ")?;
        }
        f.write_str(&self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}: {self})", self.0.kind.word())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        // A reader of ours that ran inside a `std::io::Read` hands its own error through.
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(error) => Error::io(sentence(&error)),
        }
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        std::io::Error::other(error)
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        use arrow::error::ArrowError as A;
        match error {
            A::IoError(_, io) => io.into(),
            A::NotYetImplemented(what) => Error::unsupported(what),
            A::MemoryError(what) => Error::limit(what),
            A::ExternalError(inner) => inside(inner, "data"),
            other => Error::malformed(format!("data: {other}")),
        }
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError as P;
        match error {
            P::NYI(what) => Error::unsupported(what),
            P::External(inner) => inside(inner, "Parquet data"),
            P::General(what) | P::ArrowError(what) => Error::malformed(format!("Parquet data: {what}")),
            other => Error::malformed(format!("Parquet data: {other}")),
        }
    }
}

/// The error inside another library's: ours, the operating system's, or a word about `what`.
fn inside(inner: Box<dyn std::error::Error + Send + Sync>, what: &str) -> Error {
    match inner.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => (*io).into(),
            Err(other) => Error::malformed(format!("{what}: {other}")),
        },
    }
}

/// An operating-system error in words, without Rust's "(os error 2)".
fn sentence(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "input or output failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_file_and_place() {
        let error = Error::malformed("header: shape is negative").at(61).in_file("x.npy");
        assert_eq!(error.to_string(), "x.npy: malformed header: shape is negative (at byte 61)");
    }

    #[test]
    fn the_innermost_place_wins() {
        let error = Error::malformed("page").at(7).at(99).in_node("a").in_node("b");
        assert_eq!(error.message(), "a: malformed page (at byte 7)");
    }

    #[test]
    fn our_error_survives_a_trip_through_io() {
        let io: std::io::Error = Error::cancelled().into();
        assert!(Error::from(io).is_cancelled());
    }
}
