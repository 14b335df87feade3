//! What the job of an export does: it writes a plan, then opens the result and counts what is in it.

use std::path::Path;

use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::convert::{Consent, Plan};
use gander::data::content::{Content, Rows};
use gander::data::format::{Loss, Options};

/// What an export wrote.
#[derive(Debug, Default)]
pub(crate) struct ExportOutcome {
    /// Bytes of the file, or of all files.
    pub(crate) bytes: u64,
    /// Rows of the table that was read back, where they are known.
    pub(crate) rows: Option<u64>,
    /// What came up while it was written.
    pub(crate) notes: Vec<Loss>,
    /// Whether it was read back. That alone may be cancelled: the file is whole by then.
    pub(crate) is_checked: bool,
}

impl ExportOutcome {
    /// What was written, in words.
    pub(crate) fn words(&self) -> String {
        let how = if self.is_checked { "Written and read back" } else { "Written, not read back" };
        let mut words = format!("{how}: {}", display::bytes(self.bytes));
        if let Some(rows) = self.rows {
            words.push_str(&format!(" · {}", display::plural(rows, "row")));
        }
        if !self.notes.is_empty() {
            words.push_str(&format!(" · {}", display::plural(self.notes.len() as u64, "remark")));
        }
        words
    }
}

/// Writes a plan and reads the result back.
///
/// # Errors
/// Those of [`Plan::run`], after which there is no file; and where what was written cannot be read back.
pub(super) fn write(task: &Task, plan: &Plan, path: &Path, consent: Consent) -> Result<ExportOutcome> {
    let done = plan.run(task, path, consent)?;
    task.set_message("reading it back");
    let mut written = ExportOutcome { bytes: done.bytes, notes: done.notes, ..ExportOutcome::default() };
    match read_back(task, plan, path) {
        Ok(rows) => {
            written.rows = rows;
            written.is_checked = true;
        }
        // Too late to leave nothing: the file is whole and has its name.
        Err(_) if task.is_cancelled() => {}
        Err(error) => {
            let what = format!("it was written, but cannot be read back: {}", error.message());
            return Err(Error::io(what).in_file(path.display()));
        }
    }
    Ok(written)
}

/// Opens what was written; the rows of a table, where they are known.
fn read_back(task: &Task, plan: &Plan, path: &Path) -> Result<Option<u64>> {
    let document = gander::open(task, path, &Options::default())?;
    if let Some(problem) = &document.root.problem {
        return Err(problem.clone());
    }
    let Some(Content::Table(table)) = &document.root.content else { return Ok(None) };
    let Some(wanted) = plan.rows.and_then(Rows::exact) else { return Ok(table.rows().exact()) };
    let found = table.count(task)?;
    if found != wanted {
        return Err(Error::bug(format!("the file has {found} rows where {wanted} were written")));
    }
    Ok(Some(found))
}
