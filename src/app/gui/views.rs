//! Views: what a tab shows of one node. One file a kind of content; [`make`] matches over them.
//!
//! A view answers from memory and never waits: what it lacks it asks of [`gander::jobs::Slot`]s or
//! of `Jobs`, and draws what it has. It lives as long as its tab, so its fields are the state that a
//! person expects to find again: slice, zoom, sort, filter.

pub(crate) mod array;
#[cfg(test)]
mod bench;
mod canvas;
pub(crate) mod follow;
pub(crate) mod group;
mod hex;
pub(crate) mod image;
mod record;
pub(crate) mod sql;
mod table;
mod text;
pub(crate) mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use egui::Ui;
use gander::data::content::Content;
use gander::data::format::{Data, Format, Options};
use gander::data::node::Node;
use gander::data::open::Document;
use gander::jobs::Jobs;
use serde_json::Value;

use super::commands::Action;

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

/// What a view may see and say while it draws.
pub(crate) struct ViewCx<'a> {
    /// Workers for everything that blocks.
    pub(crate) jobs: &'a Jobs,
    /// What the view is about.
    pub(crate) target: &'a Target,
    /// The left of the status bar.
    pub(crate) status: &'a mut Status,
    /// What is to be done after this frame.
    pub(crate) actions: &'a mut Vec<Action>,
    /// How arrays of a shape were last looked at.
    pub(crate) mappings: &'a mut Mappings,
    /// Whether this is the tab that keys and commands go to, and nothing stands over it.
    pub(crate) active: bool,
    /// Whether it takes the keyboard now: its tab was chosen.
    pub(crate) focus: bool,
}

/// The words at the left of the status bar. Only the active tab's are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// What is under the cursor, with its full index and exact value: `images[17, 4, 9] = 253`.
    pub(crate) under: String,
    /// What the view shows as a whole: `4096×4096 bfloat16 · 33.6 MB`, or sums of the selection.
    pub(crate) facts: String,
}

/// The dimension mapping of each shape, so that arrays of the same shape keep it when one steps from
/// one to the next. The array view alone knows what is in the values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(HashMap<Vec<u64>, Value>);

impl Mappings {
    /// What was kept for arrays of this shape.
    pub(crate) fn get(&self, shape: &[u64]) -> Option<&Value> {
        self.0.get(shape)
    }

    /// The axes of rows and columns of arrays of this shape, and where each axis stands.
    pub(crate) fn plane(&self, shape: &[u64]) -> Option<(usize, usize, Vec<u64>)> {
        let mapping = self.get(shape)?.get("mapping")?;
        let axis =
            |name: &str| Some(mapping.get(name)?.as_u64()? as usize).filter(|axis| *axis < shape.len());
        let at: Option<Vec<u64>> = mapping.get("at")?.as_array()?.iter().map(Value::as_u64).collect();
        Some((axis("rows")?, axis("columns")?, at.filter(|at| at.len() == shape.len())?))
    }

    /// Keeps how arrays of this shape are looked at.
    pub(crate) fn set(&mut self, shape: &[u64], mapping: Value) {
        self.0.insert(shape.to_vec(), mapping);
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

/// What one tab shows of one node.
pub(crate) trait View {
    /// Draws the left part of the bar above the view (34 points high, laid out left to right): the
    /// modes and their options. The tab draws *Export…* at its right end.
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// Draws the view into all that is left of `ui`, takes its input, fills in `cx.status`.
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// Does what a command asks; false where it means nothing here.
    fn request(&mut self, _request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        false
    }

    /// The path and the node that it shows from now on instead of its target, said once: another version of
    /// the same table.
    fn stepped(&mut self) -> Option<(String, Arc<Node>)> {
        None
    }

    /// What the inspector should tell about.
    fn subject(&self) -> Subject {
        Subject::Node
    }

    /// What *Export…* would write if it is not the node itself (a selection, a filtered table, a
    /// slice): words for it, and the data.
    fn export(&self) -> Option<(String, Data)> {
        None
    }

    /// WHERE and ORDER BY of what is shown, where a query of it should begin with them.
    fn clauses(&self) -> Option<String> {
        None
    }

    /// Whether there is something to export although the node itself has nothing.
    fn has_part(&self) -> bool {
        false
    }

    /// What the session keeps of this view (slice, zoom, sort); null for nothing.
    fn keep(&self) -> Value {
        Value::Null
    }

    /// Takes what an earlier session kept. What does not fit is left out.
    fn restore(&mut self, _kept: &Value) {}
}

/// The view of a node.
pub(crate) fn make(target: &Target) -> Box<dyn View> {
    if target.node.label == sql::LABEL {
        return sql::make(target);
    }
    match &target.node.content {
        Some(Content::Array(array)) => array::make(target, array),
        Some(Content::Image(image)) => image::make(target, image),
        None if target.node.has_children() => group::make(),
        Some(Content::Table(table)) => table::make(target, table),
        Some(Content::Text(text)) => text::make(target, text),
        Some(Content::Bytes(source)) => hex::make(target, source),
        None => record::make(target),
    }
}

#[cfg(test)]
mod tests {
    mod wide;

    use std::io::Write as _;

    use gander::bytes::source::Source;
    use gander::bytes::task::Task;
    use gander::formats::open_source;

    use super::*;

    #[test]
    fn a_file_in_a_folder_has_options_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["a.csv", "sub/b.csv"] {
            std::fs::write(folder.path().join(name), "x;y,z\n1;2,3\n4;5,6\n").unwrap();
        }
        std::fs::write(folder.path().join("notes.md"), "one\n").unwrap();
        let target = |options: &Options, path: &str| {
            let document = Arc::new(gander::open(&Task::new(), folder.path(), options).unwrap());
            let node = document.root.find(&Task::new(), path).unwrap().unwrap();
            Target { file: 1, document, path: path.to_owned(), node }
        };
        let columns = |target: &Target| match &target.node.content {
            Some(Content::Table(table)) => table.schema().fields().len(),
            _ => panic!("{} is no table", target.path),
        };
        let paths = ["/a.csv", "/sub/b.csv"];
        let [usual, _] = paths.map(|path| columns(&target(&Options::default(), path)));
        for (path, other) in [(paths[0], paths[1]), (paths[1], paths[0])] {
            let before = target(&Options::default(), path);
            assert_eq!(before.reader().map(|format| format.id), Some("csv"));
            for (delimiter, names) in [(";", 2), ("|", 1)] {
                let mut own = before.options();
                own.set("delimiter", delimiter);
                let options = before.with_options(own.clone());
                let after = target(&options, path);
                assert_eq!((columns(&after), after.options()), (names, own));
                assert_eq!(columns(&target(&options, other)), usual, "{path} alone has them");
            }
        }
    }

    #[test]
    fn a_compressed_table_has_the_options_of_what_is_inside() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"a;b\n1,5;2\n").unwrap();
        let packed = packed.finish().unwrap();
        let target = |name: &str, bytes: Vec<u8>| {
            let source = Source::memory(name, bytes);
            let document = Arc::new(open_source(&Task::new(), &source, &Options::default()).unwrap());
            Target { file: 1, path: String::new(), node: document.root.clone(), document }
        };
        let id = |target: &Target| target.reader().map(|format| format.id);
        let whole = target("x.csv.gz", packed);
        assert_eq!((whole.document.format.id, id(&whole)), ("gzip", Some("csv")));
        assert_eq!(id(&target("x.csv", b"a;b\n1;2\n".to_vec())), Some("csv"));
    }
}
