//! What `show` prints, passed on while the rest is read: as much is kept in memory as a step of the reading
//! makes, whatever the size of the whole.

use super::super::{json, terminal};
use gander::Error;
use serde_json::json;
use std::io::ErrorKind;

/// Bytes that are kept before any are printed. Until then an error can still take the place of all of them.
const BUFFERED: usize = 4 << 20;

/// Standard output behind a buffer.
#[derive(Default)]
pub(super) struct Out {
    buffer: Vec<u8>,
    begun: bool,
    closed: bool,
}

impl Out {
    /// Where text goes.
    pub(super) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Appends a text.
    pub(super) fn put(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Prints what is there where that is much.
    ///
    /// # Errors
    /// Of the operating system; `Cancelled` where nobody reads on, which [`Out::is_closed`] says then.
    pub(super) fn pass(&mut self) -> Result<(), Error> {
        if self.buffer.len() < BUFFERED {
            return Ok(());
        }
        self.print()
    }

    /// Prints all that is there.
    ///
    /// # Errors
    /// As [`Out::pass`].
    pub(super) fn print(&mut self) -> Result<(), Error> {
        self.begun = true;
        let printed = terminal::print(&self.buffer);
        self.buffer.clear();
        match printed {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Err(Error::cancelled())
            }
            other => Ok(other?),
        }
    }

    /// Whether a part is printed already.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether nobody reads what is printed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends an object of JSON that `members` were read for: with `tail`, or where a part is printed already with
    /// what stopped the rest, so that it is JSON all the same.
    ///
    /// # Errors
    /// That of `members`.
    pub(super) fn end_object(
        &mut self,
        members: Result<(), Error>,
        tail: impl FnOnce(&mut Self),
    ) -> Result<(), Error> {
        match &members {
            Ok(()) => {
                tail(self);
                self.put("}\n");
            }
            Err(error) if self.begun => self.put(&format!(",\"error\":{}}}\n", json!(json::error(error)))),
            Err(_) => {}
        }
        members
    }
}
