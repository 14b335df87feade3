//! A ZIP archive of members that are stored as they are: one file for each key.

use crate::bytes::archive::write::member;
use crate::bytes::error::Result;
use crate::data::format::Files;
use std::io::{Seek, Write};
use zip::ZipWriter;

impl<W: Write + Seek + Send> Files for ZipWriter<W> {
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        member(self, key, false)?;
        Ok(self.write_all(bytes)?)
    }
}
