//! A member of a ZIP archive, as the directory describes it.

/// One member, as the directory describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, with `/` between folders; as in the file otherwise (it may climb out: never join it
    /// to a path of the disk).
    pub name: String,
    /// How it is compressed.
    pub method: Method,
    /// Whether it is encrypted: its bytes cannot be had.
    pub encrypted: bool,
    /// Bytes in the archive.
    pub stored: u64,
    /// Bytes when inflated, as the directory says.
    pub size: u64,
    /// The CRC-32 of the inflated bytes.
    pub crc: u32,
    /// When it was modified, as MS-DOS date and time (see [`Member::modified`]).
    pub stamp: u32,
    /// Unix permissions and file type, where the archive was made on such a system.
    pub mode: Option<u32>,
    /// The member's comment.
    pub comment: Box<str>,
    /// Where its local header is, from the start of the source.
    pub header: u64,
}

impl Member {
    /// When it was modified, local time without a zone: `2024-01-31T12:00:02`; `None` where the
    /// stored date is no date.
    pub fn modified(&self) -> Option<String> {
        date_time((self.stamp >> 16) as u16, self.stamp as u16)
    }

    /// Whether it is a folder: its name ends in a slash.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    /// Whether it is a symbolic link; its bytes are the target then.
    pub fn is_link(&self) -> bool {
        self.mode.is_some_and(|mode| mode & 0o170_000 == 0o120_000)
    }
}

/// How a member is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Stored,
    Deflate,
    Bzip2,
    Lzma,
    Zstd,
    Xz,
    /// One that is not read, by its number.
    Other(u16),
}

impl Method {
    /// The method of a number in the directory.
    pub fn new(number: u16) -> Self {
        match number {
            0 => Method::Stored,
            8 => Method::Deflate,
            12 => Method::Bzip2,
            14 => Method::Lzma,
            20 | 93 => Method::Zstd,
            95 => Method::Xz,
            other => Method::Other(other),
        }
    }

    /// Its name in words: `deflate`.
    pub fn name(self) -> String {
        match self {
            Method::Stored => "stored".to_owned(),
            Method::Deflate => "deflate".to_owned(),
            Method::Bzip2 => "bzip2".to_owned(),
            Method::Lzma => "lzma".to_owned(),
            Method::Zstd => "zstd".to_owned(),
            Method::Xz => "xz".to_owned(),
            Method::Other(1) => "shrink".to_owned(),
            Method::Other(6) => "implode".to_owned(),
            Method::Other(9) => "deflate64".to_owned(),
            Method::Other(98) => "ppmd".to_owned(),
            Method::Other(number) => format!("method {number}"),
        }
    }
}

/// MS-DOS date and time as ISO 8601.
fn date_time(date: u16, time: u16) -> Option<String> {
    let (year, month, day) = (1980 + (date >> 9), date >> 5 & 15, date & 31);
    let (hour, minute, second) = (time >> 11, time >> 5 & 63, (time & 31) * 2);
    let real = (1..=12).contains(&month) && day > 0 && hour < 24 && minute < 60 && second < 60;
    real.then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}
