//! Views: what a tab shows of one node. One file a kind of content; [`make`] matches over them.
//!
//! A view answers from memory and never waits: what it lacks it asks of [`gander::jobs::Slot`]s or
//! of `Jobs`, and draws what it has. It lives as long as its tab, so its fields are the state that a
//! person expects to find again: slice, zoom, sort, filter.

pub(crate) mod array;
mod audio;
#[cfg(test)]
mod comparison;
mod curves;
mod gallery;
mod graph;
pub(crate) mod group;
#[cfg(test)]
mod harness;
mod hex;
pub(crate) mod image;
pub(crate) mod keys;
mod model;
pub(crate) mod record;
pub(crate) mod references;
pub(crate) mod sql;
mod stored;
mod table;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Key, Ui};
use gander::data::content::Content;
use gander::data::format::Data;
use gander::data::node::Node;
use gander::data::open::Document;
use gander::jobs::Jobs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::commands::{ALT, Action, Label};
use super::icons::Icon;
use super::settings::Preferences;
pub(crate) use super::target::{QueryStart, Request, Subject, TabContent, Target};
use super::target::{Repeat, StoredValue};

/// What a view may see and say while it draws.
pub(crate) struct ViewCx<'a> {
    /// Workers for everything that blocks.
    pub(crate) jobs: &'a Jobs,
    /// The node that the view is about; `None` for a query's results, which are no node of a file.
    pub(crate) target: Option<&'a Target>,
    /// The left of the status bar.
    pub(crate) status: &'a mut Status,
    /// What is to be done after this frame.
    pub(crate) actions: &'a mut Vec<Action>,
    /// What all views share.
    pub(crate) workspace: &'a mut Workspace,
    /// Whether this is the tab that keys and commands go to, and nothing stands over it.
    pub(crate) active: bool,
    /// Whether it takes the keyboard now: its tab was chosen.
    pub(crate) focus: bool,
}

impl ViewCx<'_> {
    /// The name of what the view is about, for the titles of jobs and the status bar.
    pub(crate) fn title(&self) -> &str {
        self.target.map_or("", Target::title)
    }
}

/// What all views share, from tab to tab.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The documents that are open.
    pub(crate) documents: Vec<Arc<Document>>,
    /// The SQL statements that were run.
    pub(crate) statements: sql::Statements,
    /// How arrays of a shape were last looked at.
    pub(crate) mappings: Mappings,
    /// Whether views of arrays of the same shape are looked at together, and what they have in common.
    pub(crate) link: bool,
    pub(crate) linked: Option<array::Linked>,
    /// Whether the right of a body stands at the left, as radiologists look at it.
    pub(crate) radiological: bool,
    /// What views begin with where nobody chose something else.
    pub(crate) preferences: Preferences,
    /// The tensor that others are compared with.
    pub(crate) reference: Option<model::compare::Reference>,
}

/// The words at the left of the status bar. Only the active tab's are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// What is under the cursor, with its full index and exact value: `images[17, 4, 9] = 253`.
    pub(crate) under: String,
    /// What the view shows as a whole: `4096×4096 bfloat16 · 33.6 MB`, or sums of the selection.
    pub(crate) facts: String,
}

/// How arrays of each shape were last looked at, so that arrays of the same shape keep it when one steps from one to the
/// next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(HashMap<Vec<u64>, array::PlaneSettings>);

impl Mappings {
    /// How arrays of this shape were last looked at.
    pub(crate) fn get(&self, shape: &[u64]) -> Option<&array::PlaneSettings> {
        self.0.get(shape)
    }

    /// The axes of rows and columns of arrays of this shape, and where each axis stands.
    pub(crate) fn plane(&self, shape: &[u64]) -> Option<(usize, usize, Vec<u64>)> {
        let mapping = &self.get(shape)?.mapping;
        let at = (0..shape.len()).map(|axis| mapping.position(axis)).collect();
        Some((mapping.rows()?, mapping.columns()?, at))
    }

    /// Keeps how arrays of this shape are looked at.
    pub(crate) fn set(&mut self, shape: &[u64], look: array::PlaneSettings) {
        self.0.insert(shape.to_vec(), look);
    }
}

/// A command of a view: what it is called, and what it does; that says whether it means something now.
struct ViewCommand<V> {
    label: Label,
    run: fn(&mut V, &mut ViewCx<'_>) -> bool,
}

impl<V: 'static> ViewCommand<V> {
    const fn new(label: Label, run: fn(&mut V, &mut ViewCx<'_>) -> bool) -> Self {
        ViewCommand { label, run }
    }
}

/// How a picture is to be zoomed by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zoom {
    In,
    Out,
    /// All in sight.
    Fit,
}

/// What the zooms of pictures are called.
const ZOOM_IN: Label = Label::new("Zoom into the picture", Icon::ZoomIn).keys(ALT, Key::Plus).apart();
const ZOOM_OUT: Label = Label::new("Zoom out of the picture", Icon::ZoomOut).keys(ALT, Key::Minus);
const ZOOM_FIT: Label = Label::new("Fit the picture", Icon::Fit).keys(ALT, Key::Num0);

/// What the commands of a view are called.
fn labels<V>(commands: &'static [ViewCommand<V>]) -> Vec<&'static Label> {
    commands.iter().map(|command| &command.label).collect()
}

/// Does the command at a place of a view's table.
fn run<V>(commands: &[ViewCommand<V>], at: usize, view: &mut V, cx: &mut ViewCx<'_>) -> bool {
    commands.get(at).is_some_and(|command| (command.run)(view, cx))
}

/// The state of a view as the session keeps it; null where it cannot be written.
fn saved(state: &impl Serialize) -> Value {
    serde_json::to_value(state).unwrap_or_default()
}

/// The state that a session kept; the usual one where that is of another version.
fn restored<T: DeserializeOwned + Default>(kept: &Value) -> T {
    T::deserialize(kept).unwrap_or_default()
}

/// What one tab shows of one node.
pub(crate) trait View {
    /// Draws the left part of the bar above the view (34 points high, laid out left to right): the
    /// modes and their options. The tab draws *Export…* at its right end.
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// Draws the view into all that is left of `ui`, takes its input, fills in `cx.status`.
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// Its own commands, in the order of the menu.
    fn commands(&self) -> Vec<&'static Label>;

    /// Does the command at a place of [`View::commands`]; false where it means nothing now.
    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool;

    /// Whether keys mean its commands: nothing is being typed.
    fn takes_keys(&self, ui: &Ui) -> bool {
        !ui.ctx().text_edit_focused()
    }

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

    /// The value under the cursor, where it may be told where in the file that lies.
    fn value(&self) -> Option<StoredValue> {
        None
    }

    /// What the inspector tells of a view that is about no node: names and values.
    fn details(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What *Export…* would write if it is not the node itself (a selection, a filtered table, a
    /// slice): words for it, and the data.
    fn export(&self) -> Option<(String, Data)> {
        None
    }

    /// Other parts that *Export…* offers beside that: the filtered table while cells of it are selected.
    fn other_parts(&self) -> Vec<(String, Data)> {
        Vec::new()
    }

    /// How a recipe says what [`View::export`] gives; `None` where it cannot.
    fn repeat(&self) -> Option<Repeat> {
        None
    }

    /// Pictures of what is shown, each with words for it, which *Export…* writes as well.
    fn pictures(&self) -> Vec<(String, Data)> {
        Vec::new()
    }

    /// Whether it is drawn of lines, shapes and words, which an SVG can hold.
    fn is_drawing(&self) -> bool {
        false
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
    fn save(&self) -> Value {
        Value::Null
    }

    /// Begins as a person prefers; asked before anything is drawn or restored.
    fn prefer(&mut self, _preferences: &Preferences) {}

    /// Takes what an earlier session kept. What does not fit is left out.
    fn restore(&mut self, _kept: &Value) {}
}

/// The view of what a tab shows. `targets` are its nodes, in the order of [`TabContent::nodes`]; `start` is what a new
/// query begins with.
///
/// `None` where those are not as many as the content names.
pub(crate) fn make(content: &TabContent, targets: &[Target], start: QueryStart) -> Option<Box<dyn View>> {
    match content {
        TabContent::Node(_) => targets.first().map(node_view),
        TabContent::Query(_) => Some(sql::make(start)),
        TabContent::Bytes(of) => targets.first().map(|target| stored::make(target, of)),
        #[cfg(test)]
        TabContent::Comparison(_) => {
            let [one, other] = targets else { return None };
            Some(Box::new(comparison::Comparison::new([one, other])))
        }
    }
}

/// The view of a node.
pub(crate) fn node_view(target: &Target) -> Box<dyn View> {
    match &target.node.content {
        Some(Content::Array(array)) if array.facts().sound.is_some() => audio::make(target, array),
        Some(Content::Array(array)) => array::make(target, array),
        Some(Content::Image(image)) => image::make(target, image),
        None | Some(Content::Graph(_)) if target.node.has_children() => model::make(target),
        Some(Content::Table(table)) => match &target.node.presentation {
            Some(presentation) => curves::make(target, table, presentation),
            None => table::make(target, table),
        },
        Some(Content::Text(text)) => text::make(target, text),
        Some(Content::Graph(graph)) => graph::make(graph),
        Some(Content::Bytes(source)) => hex::make(target, source),
        None => record::make(target),
    }
}

#[cfg(test)]
mod tests {
    mod wide;

    use gander::data::format::Options;
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
