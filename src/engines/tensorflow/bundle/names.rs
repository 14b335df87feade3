//! How the files of a checkpoint are called: `model.ckpt-5.index`, `model.ckpt-5.data-00000-of-00001`,
//! `model.ckpt-5.meta`.

use crate::bytes::source::Entry;

/// What a file of a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// The table.
    Index,
    /// The n-th file of values of so many.
    Data(u64, u64),
    /// The graph.
    Meta,
}

/// The checkpoint that a file belongs to by its name, and what it is of it.
pub fn file_of(name: &str) -> Option<(&str, File)> {
    if let Some(prefix) = name.strip_suffix(".index") {
        return Some((prefix, File::Index));
    }
    if let Some(prefix) = name.strip_suffix(".meta") {
        return Some((prefix, File::Meta));
    }
    let (prefix, rest) = name.rsplit_once(".data-")?;
    let (n, count) = rest.split_once("-of-")?;
    let digits = |text: &str| {
        let fits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok()).flatten()
    };
    Some((prefix, File::Data(digits(n)?, digits(count)?)))
}

/// The checkpoints of a folder: those that have a table and values.
pub fn prefixes(entries: &[Entry]) -> Vec<&str> {
    let files = || entries.iter().filter(|entry| !entry.is_folder).filter_map(|entry| file_of(&entry.name));
    let mut with_values: Vec<&str> =
        files().filter(|(_, file)| matches!(file, File::Data(..))).map(|(prefix, _)| prefix).collect();
    with_values.sort_unstable();
    let tables = files().filter(|(_, file)| *file == File::Index).map(|(prefix, _)| prefix);
    tables.filter(|prefix| with_values.binary_search(prefix).is_ok()).collect()
}
