//! What the job of an export does: it writes a plan, then opens the result and counts what is in it.

use std::path::Path;

use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::convert::{Check, Consent, Plan};
use gander::data::content::Rows;
use gander::data::format::Loss;

/// What an export wrote.
#[derive(Debug, Default)]
pub(crate) struct ExportOutcome {
    /// Bytes of the file, or of all files.
    pub(crate) bytes: u64,
    /// Rows of the table that was read back, where they are known.
    pub(crate) rows: Option<u64>,
    /// What came up while it was written.
    pub(crate) notes: Vec<Loss>,
    /// What was found when it was read back. That alone may be cancelled: the file is whole by then.
    pub(crate) check: Option<Check>,
}

impl ExportOutcome {
    /// What was written, in words.
    pub(crate) fn words(&self) -> String {
        let how = if self.check.is_some() { "Written and verified" } else { "Written, not verified" };
        let mut words = format!("{how}: {}", display::bytes(self.bytes));
        if let Some(rows) = self.rows {
            words.push_str(&format!(" · {}", display::plural(rows, "row")));
        }
        if let Some(check) = &self.check {
            words.push_str(&format!(" · {}", check.words()));
        }
        if !self.notes.is_empty() {
            words.push_str(&format!(" · {}", display::plural(self.notes.len() as u64, "remark")));
        }
        words
    }
}

/// Writes a plan, and reads the result back where that is wanted.
///
/// # Errors
/// Those of [`Plan::run`], after which there is no file; and where what was written cannot be read back, or is not what
/// was read.
pub(super) fn write(
    task: &Task,
    plan: &Plan,
    path: &Path,
    consent: Consent,
    verify: bool,
) -> Result<ExportOutcome> {
    let done = plan.run(task, path, consent)?;
    let rows = plan.rows.and_then(Rows::exact);
    let mut written = ExportOutcome { bytes: done.bytes, rows, notes: done.notes.clone(), check: None };
    if !verify {
        return Ok(written);
    }
    match plan.verify(task, path, &done) {
        Ok(Some(check)) if !check.is_equal() => {
            let what = format!("it was written, but is not what was read: {}", check.words());
            Err(Error::bug(what).in_file(path.display()))
        }
        Ok(check) => {
            written.check = check;
            Ok(written)
        }
        // Too late to leave nothing: the file is whole and has its name.
        Err(_) if task.is_cancelled() => Ok(written),
        Err(error) => {
            let what = format!("it was written, but cannot be read back: {}", error.message());
            Err(Error::io(what).in_file(path.display()))
        }
    }
}
