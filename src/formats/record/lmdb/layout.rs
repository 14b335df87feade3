//! How the numbers of a store lie in its file: of which width and byte order, in which version of the format.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::ordered;

/// The mark of a meta page.
const MAGIC: u32 = 0xbeef_c0de;
/// The bit of a page's flags that says *meta page*.
const META: u16 = 0x08;
/// Pages have a power of two of bytes within these.
const PAGES: std::ops::RangeInclusive<u32> = 256..=65_536;

/// The widths, the byte order and the version of a file: those of the machine that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether page numbers and sizes have eight bytes, not four.
    pub(super) wide: bool,
    /// Whether the highest byte comes first.
    pub(super) big: bool,
    /// The version of the format: 1 (LMDB 0.9) or 3 (LMDB 1.0).
    pub(super) version: u32,
}

/// What a file says of one of its databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Db {
    /// Of the first database the size of a page; else that of the keys of pages without nodes.
    pub(super) pad: u32,
    /// How keys and values are compared.
    pub(super) flags: u16,
    /// Levels of pages.
    pub(super) depth: u16,
    /// Pages with branches, with entries, and with large values.
    pub(super) pages: [u64; 3],
    /// How many pairs of keys and values it has.
    pub(super) entries: u64,
    /// Its first page; `None` where it is empty.
    pub(super) root: Option<u64>,
}

/// What a meta page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// The size of a page.
    pub(super) page: u32,
    /// What the whole may grow to, in bytes.
    pub(super) map: u64,
    /// Flags of the whole.
    pub(super) flags: u16,
    /// The unnamed database.
    pub(super) main: Db,
    /// The last page in use.
    pub(super) last: u64,
    /// The number of the transaction that wrote it.
    pub(super) txn: u64,
}

impl Layout {
    /// The layout of a file whose first bytes are `first`: by the first meta page, or by the second where that is
    /// damaged and near. `None` where there is none.
    pub(super) fn find(first: &[u8]) -> Option<Layout> {
        let starts = std::iter::once(0).chain((8..=13).map(|power| 1 << power));
        starts.into_iter().find_map(|start| Layout::at(first.get(start..)?))
    }

    /// The layout of a meta page.
    fn at(page: &[u8]) -> Option<Layout> {
        let layouts = [(true, 1), (false, 1), (true, 3), (false, 3)];
        let each = layouts
            .into_iter()
            .flat_map(|(wide, version)| [false, true].map(|big| Layout { wide, big, version }));
        each.into_iter().find(|layout| layout.is_meta(page))
    }

    /// Whether a page begins as a meta page of this layout.
    pub(super) fn is_meta(self, page: &[u8]) -> bool {
        let header = self.header();
        self.u32(page, header) == Some(MAGIC)
            && self.u32(page, header + 4) == Some(self.version)
            && self.u16(page, header - 6).is_some_and(|flags| flags & META != 0)
    }

    /// Bytes of a page number.
    pub(super) fn word(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// Bytes of a page's header: its number, in version 3 its transaction, then what its nodes take.
    pub(super) fn header(self) -> usize {
        self.word() * if self.version == 3 { 2 } else { 1 } + 8
    }

    /// From where the places of nodes in a page are counted.
    pub(super) fn base(self) -> usize {
        if self.version == 3 { self.header() } else { 0 }
    }

    /// Bytes of the record of a database.
    pub(super) fn record(self) -> usize {
        8 + 5 * self.word()
    }

    /// Bytes of a meta page that say something.
    pub(super) fn meta(self) -> usize {
        self.header() + 8 + 4 * self.word() + 2 * self.record()
    }

    /// Two bytes as a number.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        ordered(self.big, bytes, at)
    }

    /// Four bytes as a number.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        ordered(self.big, bytes, at)
    }

    /// As many bytes as a page number has.
    pub(super) fn number(self, bytes: &[u8], at: usize) -> Option<u64> {
        match self.wide {
            true => ordered(self.big, bytes, at),
            false => self.u32(bytes, at).map(u64::from),
        }
    }

    /// The number of a page; `None` where it says *none*.
    fn page_number(self, number: u64) -> Option<u64> {
        let none = if self.wide { u64::MAX } else { u64::from(u32::MAX) };
        (number != none).then_some(number)
    }

    /// The record of a database at `at`.
    pub(super) fn db(self, bytes: &[u8], at: usize) -> Option<Db> {
        let word = |n: usize| self.number(bytes, at + 8 + n * self.word());
        Some(Db {
            pad: self.u32(bytes, at)?,
            flags: self.u16(bytes, at + 4)?,
            depth: self.u16(bytes, at + 6)?,
            pages: [word(0)?, word(1)?, word(2)?],
            entries: word(3)?,
            root: self.page_number(word(4)?),
        })
    }

    /// What a meta page says that begins with `page`.
    ///
    /// # Errors
    /// `Malformed` where it is none.
    pub(super) fn read_meta(self, page: &[u8]) -> Result<Meta> {
        if !self.is_meta(page) {
            return Err(Error::malformed("LMDB: a meta page does not have the mark of one"));
        }
        let header = self.header();
        let dbs = header + 8 + 2 * self.word();
        let behind = dbs + 2 * self.record();
        let all = || {
            let free = self.db(page, dbs)?;
            Some(Meta {
                page: free.pad,
                map: self.number(page, header + 8 + self.word())?,
                flags: free.flags,
                main: self.db(page, dbs + self.record())?,
                last: self.number(page, behind)?,
                txn: self.number(page, behind + self.word())?,
            })
        };
        let meta = all().ok_or_else(|| Error::malformed("LMDB: a meta page is cut off"))?;
        match meta.page.is_power_of_two() && PAGES.contains(&meta.page) {
            true => Ok(meta),
            false => Err(Error::malformed(format!("LMDB: pages of {} bytes", meta.page))),
        }
    }
}

/// Flags of a database.
impl Db {
    /// Keys are compared from their ends.
    pub(super) const REVERSE_KEY: u16 = 0x02;
    /// A key may have several values, in order.
    pub(super) const DUP_SORT: u16 = 0x04;
    /// Keys are integers of the machine.
    pub(super) const INTEGER_KEY: u16 = 0x08;
    /// The values of a key are all of one size.
    pub(super) const DUP_FIXED: u16 = 0x10;
    /// The values are integers of the machine.
    pub(super) const INTEGER_DUP: u16 = 0x20;
    /// Values are compared from their ends.
    pub(super) const REVERSE_DUP: u16 = 0x40;

    /// Whether a flag is set.
    pub(super) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The names of the flags that are set, as the library spells them.
    pub(super) fn flag_names(&self) -> Vec<&'static str> {
        let names = [
            (Self::REVERSE_KEY, "reversekey"),
            (Self::DUP_SORT, "dupsort"),
            (Self::INTEGER_KEY, "integerkey"),
            (Self::DUP_FIXED, "dupfixed"),
            (Self::INTEGER_DUP, "integerdup"),
            (Self::REVERSE_DUP, "reversedup"),
        ];
        names.into_iter().filter(|(flag, _)| self.is(*flag)).map(|(_, name)| name).collect()
    }
}
