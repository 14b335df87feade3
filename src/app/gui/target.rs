//! What tabs, views and commands are about: a node of an open file, and what can be asked of its view.

use std::sync::Arc;

use gander::data::format::{Format, Options};
use gander::data::node::Node;
use gander::data::open::Document;

/// Formats that hand options on to the files in them.
const PASSING: [&str; 9] = ["gzip", "zstd", "bzip2", "xz", "lz4", "zlib", "zip", "tar", "folder"];

/// What a view is about: a node of an open file. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Target {
    /// The number of the open file, unique in this process.
    pub(crate) file: u64,
    /// The open file.
    pub(crate) document: Arc<Document>,
    /// The node's path in it; empty for the root.
    pub(crate) path: String,
    /// The node, resolved: what it really is.
    pub(crate) node: Arc<Node>,
}

impl Target {
    /// The node's name, as on its tab. In models names repeat in every module, which goes along.
    pub(crate) fn title(&self) -> &str {
        let name = &self.node.name;
        let above = self.path.strip_suffix(name.as_str()).and_then(|path| path.strip_suffix('.'));
        let Some(above) = above else { return name };
        let start = above.rfind('.').map_or(0, |dot| dot + 1);
        self.path.get(start..).unwrap_or(name)
    }

    /// The words on its tab: a version goes with the name of its table.
    pub(crate) fn tab_words(&self) -> String {
        if self.node.timeline.as_ref().is_none_or(|timeline| timeline.at.is_none()) {
            return self.title().to_owned();
        }
        let above = self.path.strip_suffix(self.node.name.as_str()).unwrap_or_default().trim_end_matches('/');
        let table = above.rsplit('/').next().filter(|name| !name.is_empty());
        let table = table.unwrap_or_else(|| self.document.source.name());
        format!("{table} · {}", self.node.name.replacen('=', " ", 1))
    }

    /// The format that reads it and takes [`Target::options`]: the document's own, that of what a compressed
    /// file holds, or that of a file in an archive or a folder. `None` for a part of a file.
    pub(crate) fn reader(&self) -> Option<&'static Format> {
        let own = self.document.format;
        if self.path.is_empty() && !own.options.is_empty() {
            return Some(own);
        }
        if !PASSING.contains(&own.id) {
            return None;
        }
        // A wrapper in a wrapper says so before what it holds.
        self.node.formats.last().copied()
    }

    /// What its file is opened with.
    pub(crate) fn options(&self) -> Options {
        let options = &self.document.options;
        if self.path.is_empty() { options.clone() } else { options.below(self.inner_path()) }
    }

    /// What the document is to be opened with so that its file is with these.
    pub(crate) fn with_options(&self, own: Options) -> Options {
        if self.path.is_empty() {
            return own;
        }
        let mut all = self.document.options.clone();
        let prefix = format!("{}:", self.inner_path());
        all.0.retain(|name, _| !name.starts_with(&prefix));
        own.0.into_iter().for_each(|(name, value)| all.set(&format!("{prefix}{name}"), value));
        all
    }

    fn inner_path(&self) -> &str {
        self.path.trim_start_matches('/')
    }

    /// `FILE#NODE`, as on the command line.
    pub(crate) fn address(&self) -> String {
        let source = &self.document.source;
        let file = source.path().map_or_else(|| source.name().to_owned(), |path| path.display().to_string());
        if self.path.is_empty() { file } else { format!("{file}#{}", self.path) }
    }
}

/// What a command or another room asks of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Go to a row (`:123`), an element (`3, 17`) or a byte, as the person typed it.
    GoTo(String),
    /// Put the cursor into the field that finds something in the view.
    Find,
    /// Go to this column (tables).
    Column(usize),
    /// Go to an earlier (negative) or later version, where the format keeps them (tables).
    Version(i64),
    /// Go to this element (arrays): its full index.
    Element(Vec<u64>),
    /// Larger: heat maps and images zoom; others do nothing.
    ZoomIn,
    /// Smaller.
    ZoomOut,
    /// All in sight.
    ZoomFit,
}

/// What of the target the inspector should tell about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// The node as a whole.
    #[default]
    Node,
    /// One column of a table, by its index.
    Column(usize),
}
