//! Where keys are written: a ZIP archive of members that are stored as they are. A folder is
//! [`crate::convert::output::Folder`].

use crate::bytes::archive::write::member;
use crate::bytes::error::Result;
use std::io::{Seek, Write};
use zip::ZipWriter;

/// A store that takes each key once.
pub trait Keys: Send {
    /// Writes the bytes of a key.
    ///
    /// # Errors
    /// Those of writing.
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()>;
}

impl<W: Write + Seek + Send> Keys for ZipWriter<W> {
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        member(self, key, false)?;
        Ok(self.write_all(bytes)?)
    }
}
