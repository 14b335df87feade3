//! Where the files of a table are: metadata may hold paths of the machine that wrote it.

use crate::error::{Error, Result};
use crate::source::Source;
use crate::task::Task;

/// Finds the files that a table's metadata names, always below the table's own folder.
#[derive(Clone)]
pub struct Places {
    root: Source,
    /// Where the table was when its metadata was written, without a slash at the end.
    location: Option<String>,
}

impl Places {
    /// Files of the table in the folder `root`, which was at `location` once.
    pub fn new(root: Source, location: Option<&str>) -> Self {
        Places {
            root,
            location: location
                .map(|text| without_scheme(text).trim_start_matches("./").trim_end_matches('/').to_owned()),
        }
    }

    /// The path below the table's folder of a path in the metadata: relative, absolute or a URI.
    ///
    /// # Errors
    /// `Unsupported` for a file that lay outside of the table's folder.
    pub fn relative(&self, path: &str) -> Result<String> {
        let plain = without_scheme(path).trim_start_matches("./");
        if let Some(location) = &self.location
            && let Some(rest) = plain.strip_prefix(location.as_str()).and_then(|rest| rest.strip_prefix('/'))
        {
            return Ok(rest.to_owned());
        }
        if !plain.starts_with('/') && !path.contains("://") {
            return Ok(plain.to_owned());
        }
        // The table was moved, or written by a path that its metadata does not have: what follows the
        // folder's name, else the folders that tables keep their files in.
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
        let places = Places::new(root.clone(), Some("s3://lake/wh/orders/"));
        let found = |path: &str| places.relative(path).ok();
        assert_eq!(found("s3://lake/wh/orders/data/a.parquet").as_deref(), Some("data/a.parquet"));
        assert_eq!(found("file:///old/orders/p=1/a.parquet").as_deref(), Some("p=1/a.parquet"));
        assert_eq!(found("/elsewhere/x/data/p=1/a.parquet").as_deref(), Some("data/p=1/a.parquet"));
        assert_eq!(found("a.parquet").as_deref(), Some("a.parquet"));
        assert_eq!(found("s3://other/a.parquet"), None);
        assert!(places.open(&Task::new(), "../secret").is_err());
        let near = Places::new(root, Some("./orders"));
        assert_eq!(near.relative("orders/data/a.parquet").unwrap(), "data/a.parquet");
    }
}
