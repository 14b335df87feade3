//! Where the files of a table are: metadata may hold paths of the machine that wrote it.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::format::{Formats, Options};
use crate::data::open::table_of;
use parking_lot::Mutex;
use std::sync::Arc;

/// Finds the files that a table's metadata names, always below the table's own folder.
#[derive(Clone)]
pub struct Places {
    root: Source,
    /// The formats that its files may have.
    formats: Formats,
    /// Where the table was when its metadata was written, without a slash at the end.
    location: Option<String>,
    /// What stood before the path below the folder where a file was found last.
    before: Arc<Mutex<Option<String>>>,
}

/// The most folders that a path has.
const DEPTH: usize = 64;

impl Places {
    /// Files of the table in the folder `root`, which was at `location` once.
    pub fn new(root: Source, location: Option<&str>, formats: Formats) -> Self {
        Places {
            root,
            formats,
            location: location
                .map(|text| without_scheme(text).trim_start_matches("./").trim_end_matches('/').to_owned()),
            before: Arc::default(),
        }
    }

    /// The path below the table's folder of a path in the metadata: relative to that folder or to one around it,
    /// absolute, or a URI. A table that was moved is looked for where it is now: as much of the path's end as
    /// leads to a file.
    ///
    /// # Errors
    /// `Unsupported` for a file that lay outside of the table's folder.
    pub fn relative(&self, path: &str) -> Result<String> {
        // Written on Windows.
        let slashed = if path.contains('/') { path.to_owned() } else { path.replace('\\', "/") };
        let plain = without_scheme(&slashed).trim_start_matches("./");
        if let Some(location) = self.location.as_ref().filter(|location| !location.is_empty())
            && let Some(rest) = plain.strip_prefix(location.as_str()).and_then(|rest| rest.strip_prefix('/'))
        {
            return Ok(rest.to_owned());
        }
        // What came before the table's folder in another path most likely does in this one.
        let before = self.before.lock().clone();
        if let Some(rest) = before.as_ref().and_then(|before| plain.strip_prefix(before.as_str()))
            && self.has(rest)
        {
            return Ok(rest.to_owned());
        }
        let starts = std::iter::once(0).chain(plain.match_indices('/').map(|(at, _)| at + 1));
        let ends =
            starts.filter_map(|at| plain.get(at..).filter(|end| !end.is_empty() && !end.starts_with('/')));
        if let Some(found) = ends.take(DEPTH).find(|end| self.has(end)) {
            *self.before.lock() = plain.strip_suffix(found).map(str::to_owned);
            return Ok(found.to_owned());
        }
        self.lost(path, plain)
    }

    /// Whether there is such a file.
    fn has(&self, relative: &str) -> bool {
        self.root.size_of(relative).is_ok()
    }

    /// Where a file should be that is not there.
    fn lost(&self, path: &str, plain: &str) -> Result<String> {
        if !plain.starts_with('/') && !path.contains("://") {
            return Ok(plain.to_owned());
        }
        // Behind the folder's name, else in the folders that tables keep their files in.
        let name = self.root.name();
        let marks = [format!("/{name}/"), "/data/".to_owned(), "/metadata/".to_owned()];
        for (n, mark) in marks.iter().enumerate() {
            if let Some(at) = plain.rfind(mark.as_str()) {
                let from = if n == 0 { at + mark.len() } else { at + 1 };
                return Ok(plain.get(from..).unwrap_or_default().to_owned());
            }
        }
        Err(Error::unsupported(format!("file {path:?} lies outside of the table's folder")))
    }

    /// Opens a file by its path below the table's folder.
    ///
    /// # Errors
    /// `Io` where it is missing; `Malformed` for a path that leads out of the folder.
    pub fn open(&self, task: &Task, relative: &str) -> Result<Source> {
        self.root.child(task, relative)
    }

    /// The table in a file below the table's folder.
    ///
    /// # Errors
    /// Why it is none, or is not there.
    pub fn table(&self, task: &Task, relative: &str) -> Result<Arc<dyn Table>> {
        table_of(&self.formats.open_source(task, &self.open(task, relative)?, &Options::default())?)
    }

    /// The size in bytes of a file below the table's folder; nothing is opened.
    ///
    /// # Errors
    /// As [`Places::open`].
    pub fn size(&self, relative: &str) -> Result<u64> {
        self.root.size_of(relative)
    }

    /// The table's folder.
    pub fn root(&self) -> &Source {
        &self.root
    }
}

/// A path without `file://`, `s3://bucket` and the like.
fn without_scheme(path: &str) -> &str {
    match path.split_once("://") {
        Some(("file", rest)) => rest.strip_prefix("localhost").unwrap_or(rest),
        Some((_, rest)) => rest.find('/').map_or(rest, |at| rest.get(at..).unwrap_or_default()),
        None => path.strip_prefix("file:").unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_tables_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("orders");
        std::fs::create_dir(&root).unwrap();
        let root = Source::open(&Task::new(), &root).unwrap();
        let places = Places::new(root.clone(), Some("s3://lake/wh/orders/"), crate::formats::ALL);
        let found = |path: &str| places.relative(path).ok();
        assert_eq!(found("s3://lake/wh/orders/data/a.parquet").as_deref(), Some("data/a.parquet"));
        assert_eq!(found("file:///old/orders/p=1/a.parquet").as_deref(), Some("p=1/a.parquet"));
        assert_eq!(found("/elsewhere/x/data/p=1/a.parquet").as_deref(), Some("data/p=1/a.parquet"));
        assert_eq!(found("a.parquet").as_deref(), Some("a.parquet"));
        assert_eq!(found("s3://other/a.parquet"), None);
        assert!(places.open(&Task::new(), "../secret").is_err());
        let near = Places::new(root, Some("./orders"), crate::formats::ALL);
        assert_eq!(near.relative("orders/data/a.parquet").unwrap(), "data/a.parquet");
    }

    #[test]
    fn paths_are_relative_to_the_table_or_to_what_is_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        std::fs::create_dir_all(root.join("metadata")).unwrap();
        std::fs::create_dir_all(root.join("data/p=1")).unwrap();
        for name in ["metadata/m.avro", "data/p=1/a.parquet", "b.parquet"] {
            std::fs::write(root.join(name), b"x").unwrap();
        }
        let root = Source::open(&Task::new(), &root).unwrap();
        for location in [None, Some(""), Some("s3://lake/wh/data"), Some("C:\\wh\\data")] {
            let places = Places::new(root.clone(), location, crate::formats::ALL);
            let found = |path: &str| places.relative(path).unwrap();
            for before in [
                "",
                "./",
                "/",
                "data/",
                "wh/data/",
                "/old/wh/data/",
                "s3a://x/wh/data/",
                "file:/wh/data/",
                "file:///",
            ] {
                assert_eq!(found(&format!("{before}metadata/m.avro")), "metadata/m.avro", "{before}");
                assert_eq!(found(&format!("{before}data/p=1/a.parquet")), "data/p=1/a.parquet", "{before}");
                assert_eq!(found(&format!("{before}b.parquet")), "b.parquet", "{before}");
            }
            assert_eq!(found("C:\\wh\\data\\metadata\\m.avro"), "metadata/m.avro");
            assert_eq!(found("data/missing.parquet"), "data/missing.parquet");
        }
    }
}
