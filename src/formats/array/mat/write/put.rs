//! Elements as they are written: a tag with type and length, the data, zeros up to a multiple of eight bytes.

use crate::bytes::error::{Error, Result};

/// Where bytes go.
pub(super) type Out<'a> = dyn FnMut(&[u8]) -> Result<()> + Send + 'a;

/// The types of elements.
pub(super) const INT8: u32 = 1;
pub(super) const INT32: u32 = 5;
pub(super) const UINT32: u32 = 6;
pub(super) const UTF8: u32 = 16;
pub(super) const UTF16: u32 = 17;

/// A tag.
///
/// # Errors
/// `Limit` for a length of more than 32 bits.
pub(super) fn head(kind: u32, bytes: u64) -> Result<[u8; 8]> {
    let bytes =
        u32::try_from(bytes).map_err(|_| Error::limit(format!("MATLAB: an element of {bytes} bytes")))?;
    Ok(std::array::from_fn(|n| {
        let word = if n < 4 { kind } else { bytes };
        (word >> (8 * (n % 4))) as u8
    }))
}

/// Zeros behind so many bytes.
pub(super) fn padding(bytes: u64) -> &'static [u8] {
    const ZEROS: [u8; 7] = [0; 7];
    ZEROS.get(..(bytes.wrapping_neg() % 8) as usize).unwrap_or_default()
}

/// Bytes of an element with its tag.
pub(super) fn whole(bytes: u64) -> u64 {
    bytes.saturating_add(8).next_multiple_of(8)
}

/// A short element.
pub(super) fn element(kind: u32, data: &[u8], out: &mut Out<'_>) -> Result<()> {
    let len = data.len() as u64;
    out(&head(kind, len)?)?;
    out(data)?;
    out(padding(len))
}

/// What a matrix element begins with: flags, sides and name.
pub(super) struct MatrixHead<'a> {
    pub class: u8,
    pub complex: bool,
    pub logical: bool,
    pub shape: &'a [u64],
    pub name: &'a str,
}

impl MatrixHead<'_> {
    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        whole(8) + whole(4 * self.shape.len() as u64) + whole(self.name.len() as u64)
    }

    /// Writes the tag of an element with `rest` bytes behind this head, and the head.
    ///
    /// # Errors
    /// `Limit` for sides of more than 31 bits; those of writing.
    pub(super) fn put(&self, rest: u64, out: &mut Out<'_>) -> Result<()> {
        out(&head(super::super::element::MATRIX, self.bytes().saturating_add(rest))?)?;
        let flags = u32::from(self.class) | u32::from(self.complex) << 11 | u32::from(self.logical) << 9;
        element(UINT32, &[flags.to_le_bytes(), [0; 4]].concat(), out)?;
        let mut sides = Vec::new();
        for side in self.shape {
            let side = i32::try_from(*side).map_err(|_| Error::limit(format!("MATLAB: a side of {side}")))?;
            sides.extend(side.to_le_bytes());
        }
        element(INT32, &sides, out)?;
        element(INT8, self.name.as_bytes(), out)
    }
}
