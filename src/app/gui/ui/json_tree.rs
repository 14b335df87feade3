//! A JSON value as a tree: its members are looked up where they stand in its text when they are unfolded, only the rows
//! in sight are drawn, long lists fold into ranges, everything can be copied. The cell inspector, attributes and the
//! record view share it.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use egui::{Align2, Color32, FontId, Role, Sense, Ui, WidgetInfo, pos2};
use gander::bytes::display::count;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{List, paint_elided};
use crate::gui::icons::Icon;
use crate::gui::theme::{Theme, body_font, icon_family, mono_font, size, space};
use crate::gui::ui::json::{self, Json, Levels, Part};

/// Of more members each thousand folds into a range.
const MEMBERS: usize = 10_000;
/// Members of the smallest range, and the most ranges that stand below each other.
const RANGE: usize = 1_000;
/// Values of so many bytes are unfolded and copied at once, longer ones by a job.
const SOON: usize = 128 << 10;
/// Characters of a text that are shown.
const SHOWN: usize = 400;

/// The state of a tree: what is unfolded.
#[derive(Default)]
pub(crate) struct JsonTree {
    list: List,
    /// The value that the rows are of.
    of: Option<Arc<Json>>,
    /// Counts up with each value.
    version: u64,
    levels: Levels,
    open: HashSet<Place>,
    rows: Vec<Row>,
    selected: Option<usize>,
    /// Containers whose members are being looked up.
    wanted: Vec<Range<usize>>,
    members: Slot<(u64, usize), Vec<Part>>,
    /// What is to be copied as soon as it is made.
    copying: Option<Range<usize>>,
    copied: Slot<(u64, usize), String>,
}

/// What a row is of; values are told apart by where they begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The outermost value.
    Root,
    /// A member of the container that begins at a byte, by its number.
    Member(usize, usize),
    /// Some members of it.
    Members(usize, Range<usize>),
    /// Members that are being looked up.
    Waiting(usize),
}

struct Row {
    depth: usize,
    place: Place,
}

/// A row as it is drawn.
struct Drawn {
    depth: usize,
    name: String,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Folded,
    Unfolded,
    Text,
    Number,
    Null,
    More,
}

impl JsonTree {
    /// Draws `json` into all that is left of `ui`.
    pub(crate) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, json: &Arc<Json>) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, json)) {
            self.take(json);
        }
        self.take_members(jobs, json);
        self.take_copy(ui, jobs, json);
        let mut list = std::mem::take(&mut self.list);
        let (mut clicked, mut copy) = (None, None);
        list.ui(ui, "Value as a tree", self.rows.len() as u64, size::ROW - 3.0, |ui, at, index| {
            let Some(row) = self.rows.get(index as usize) else { return };
            let drawn = self.drawn(json, row);
            let response = drawn.ui(ui, at, &row.place, self.selected == Some(index as usize));
            if response.clicked() {
                clicked = Some(index as usize);
            }
            response.context_menu(|ui| {
                if ui.button("Copy value").clicked() {
                    copy = self.part(json, &row.place).map(|part| part.value.clone());
                    ui.close();
                }
                if ui.button("Copy path").clicked() {
                    ui.ctx().copy_text(self.pointer(json, index as usize));
                    ui.close();
                }
            });
        });
        self.list = list;
        if let Some(copy) = copy {
            self.copied.clear();
            self.copying = Some(copy);
            ui.ctx().request_repaint();
        }
        if let Some(index) = clicked {
            self.selected = Some(index);
            self.toggle(json, index);
        }
    }

    /// Shows another value, with as much unfolded as stays on a page.
    fn take(&mut self, json: &Arc<Json>) {
        self.of = Some(json.clone());
        self.version += 1;
        (self.selected, self.copying) = (None, None);
        self.wanted.clear();
        self.open.clear();
        self.levels = json.first.clone();
        self.list.scroll_to(0);
        if json.first.contains_key(&json.root.value.start) {
            self.open.insert(Place::Root);
        }
        // Below a level that fills a page nothing is unfolded.
        for (container, parts) in json.first.iter().filter(|(_, parts)| parts.len() <= json::FIRST) {
            let opened =
                parts.iter().enumerate().filter(|(_, part)| json.first.contains_key(&part.value.start));
            self.open.extend(opened.map(|(n, _)| Place::Member(*container, n)));
        }
        self.collect(json);
    }

    /// Takes the members that a job looked up.
    fn take_members(&mut self, jobs: &Jobs, json: &Arc<Json>) {
        let Some(container) = self.wanted.first().cloned() else { return };
        let source = json.clone();
        let key = (self.version, container.start);
        let at = container.start;
        let shown = self.members.get(jobs, &key, JobSpec::once("unfolding a value"), move |task| {
            json::parts(Some(task), &source.text, container)
        });
        if let Some(parts) = shown.ready() {
            self.levels.insert(at, parts);
        } else if shown.error.is_some() {
            // Stopped by hand it folds again.
            let folded = |place: &Place| self.part(json, place).is_some_and(|part| part.value.start == at);
            let places: Vec<Place> = self.open.iter().filter(|place| folded(place)).cloned().collect();
            for place in &places {
                self.open.remove(place);
            }
            self.members.clear();
        } else {
            return;
        }
        self.wanted.remove(0);
        self.collect(json);
    }

    /// Copies what was asked for, once it is there.
    fn take_copy(&mut self, ui: &Ui, jobs: &Jobs, json: &Arc<Json>) {
        let Some(range) = self.copying.clone() else { return };
        let text = |json: &Json, task: Option<&Task>, range: Range<usize>| {
            json::plain(task, json.text.get(range).unwrap_or_default())
        };
        if range.len() <= SOON {
            self.copying = None;
            ui.ctx().copy_text(text(json, None, range).unwrap_or_default());
            return;
        }
        let (source, key) = (json.clone(), (self.version, range.start));
        let shown = self
            .copied
            .get(jobs, &key, JobSpec::once("copying a value"), move |task| text(&source, Some(task), range));
        if let Some(copied) = shown.ready() {
            ui.ctx().copy_text(String::clone(&copied));
            self.copied.clear();
        }
        if !shown.runs() {
            self.copying = None;
        }
    }

    /// Unfolds a row, or folds it.
    fn toggle(&mut self, json: &Arc<Json>, index: usize) {
        let Some(place) = self.rows.get(index).map(|row| row.place.clone()) else { return };
        let container = match &place {
            Place::Members(..) => None,
            other => match self.part(json, other) {
                Some(part) if part.members > 0 => Some(part.value.clone()),
                _ => return,
            },
        };
        if !self.open.remove(&place) {
            self.open.insert(place);
            if let Some(container) = container
                && !self.levels.contains_key(&container.start)
            {
                if container.len() <= SOON {
                    let parts = json::parts(None, &json.text, container.clone());
                    self.levels.insert(container.start, Arc::new(parts.unwrap_or_default()));
                } else if !self.wanted.contains(&container) {
                    self.wanted.push(container);
                }
            }
        }
        self.collect(json);
    }

    /// The value of a row.
    fn part<'a>(&'a self, json: &'a Json, place: &Place) -> Option<&'a Part> {
        match place {
            Place::Root => Some(&json.root),
            Place::Member(container, n) => self.levels.get(container)?.get(*n),
            Place::Members(..) | Place::Waiting(_) => None,
        }
    }

    /// Makes the rows of what is unfolded.
    fn collect(&mut self, json: &Arc<Json>) {
        let mut rows = Vec::new();
        self.value_rows(json, Place::Root, 0, &mut rows);
        self.rows = rows;
    }

    fn value_rows(&self, json: &Json, place: Place, depth: usize, rows: &mut Vec<Row>) {
        let below = self.part(json, &place).filter(|part| part.members > 0).map(|part| part.value.start);
        let open = below.filter(|_| depth < limits::DEPTH && self.open.contains(&place));
        rows.push(Row { depth, place });
        let Some(container) = open else { return };
        match self.levels.get(&container) {
            Some(parts) => self.member_rows(json, container, 0..parts.len(), depth + 1, rows),
            None => rows.push(Row { depth: depth + 1, place: Place::Waiting(container) }),
        }
    }

    fn member_rows(
        &self,
        json: &Json,
        container: usize,
        members: Range<usize>,
        depth: usize,
        rows: &mut Vec<Row>,
    ) {
        if members.len() <= MEMBERS {
            members.for_each(|n| self.value_rows(json, Place::Member(container, n), depth, rows));
            return;
        }
        let mut size = RANGE;
        while members.len().div_ceil(size) > RANGE {
            size *= RANGE;
        }
        for start in members.clone().step_by(size) {
            let some = start..(start + size).min(members.end);
            let place = Place::Members(container, some.clone());
            let open = self.open.contains(&place);
            rows.push(Row { depth, place });
            if open {
                self.member_rows(json, container, some, depth + 1, rows);
            }
        }
    }

    /// The words of a row.
    fn drawn(&self, json: &Json, row: &Row) -> Drawn {
        let of = |range: &Range<usize>| json.text.get(range.clone()).unwrap_or_default();
        let folds = |open| if open { Kind::Unfolded } else { Kind::Folded };
        let name = |container: &usize, n: usize, most| {
            let part = self.levels.get(container).and_then(|parts| parts.get(n));
            part.filter(|part| !part.name.is_empty()).map(|part| json::string(of(&part.name), most))
        };
        let (name, text, kind) = match &row.place {
            Place::Waiting(_) => (String::new(), "…".to_owned(), Kind::More),
            Place::Members(container, some) => {
                let last = some.end.saturating_sub(1);
                let ends = format!("{} … {}", count(some.start as u64), count(last as u64));
                let names = name(container, some.start, 40).zip(name(container, last, 40));
                let names = names.map_or(String::new(), |(first, last)| format!("{first} … {last}"));
                (ends, names, folds(self.open.contains(&row.place)))
            }
            place => {
                let Some(part) = self.part(json, place) else { return Drawn::nothing(row.depth) };
                let name = match place {
                    Place::Member(container, n) => name(container, *n, 120).unwrap_or_else(|| n.to_string()),
                    _ => String::new(),
                };
                let value = of(&part.value);
                let members = count(part.members as u64);
                let cut = |value: &str| value.chars().take(SHOWN).collect();
                let (text, kind) = match value.as_bytes().first() {
                    Some(b'[') => (format!("[{members}]"), folds(self.open.contains(place))),
                    Some(b'{') => (format!("{{{members}}}"), folds(self.open.contains(place))),
                    Some(b'"') => (json::string(value, SHOWN), Kind::Text),
                    Some(b'n') => ("null".to_owned(), Kind::Null),
                    _ => (cut(value), Kind::Number),
                };
                (name, text, kind)
            }
        };
        Drawn { depth: row.depth, name, text, kind }
    }

    /// The place of a row's value, as a JSON pointer (RFC 6901).
    fn pointer(&self, json: &Json, index: usize) -> String {
        let mut steps = Vec::new();
        let mut depth = usize::MAX;
        for row in self.rows.get(..=index).unwrap_or_default().iter().rev() {
            if row.depth >= depth {
                continue;
            }
            depth = row.depth;
            if let Place::Member(container, n) = &row.place {
                let part = self.levels.get(container).and_then(|parts| parts.get(*n));
                let quoted = part.and_then(|part| json.text.get(part.name.clone())).unwrap_or_default();
                let name = if quoted.is_empty() { n.to_string() } else { json::string(quoted, usize::MAX) };
                steps.push(name.replace('~', "~0").replace('/', "~1"));
            }
        }
        steps.iter().rev().map(|step| format!("/{step}")).collect()
    }
}

impl Drawn {
    fn nothing(depth: usize) -> Self {
        Drawn { depth, name: String::new(), text: String::new(), kind: Kind::More }
    }

    fn color(&self, theme: &Theme) -> (FontId, Color32) {
        match self.kind {
            Kind::Text => (mono_font(), theme.string),
            Kind::Number => (mono_font(), theme.text),
            Kind::Null => (crate::gui::theme::italic_font(), theme.null),
            Kind::Folded | Kind::Unfolded | Kind::More => (mono_font(), theme.dim),
        }
    }

    fn ui(&self, ui: &Ui, place: egui::Rect, of: &Place, selected: bool) -> egui::Response {
        let theme = Theme::of(ui);
        let response = ui.interact(place, ui.unique_id().with(("row", of)), Sense::click());
        let spoken = format!("{} {}", self.name, self.text);
        response.widget_info(|| WidgetInfo::labeled(Role::TreeItem, true, spoken.trim()));
        if selected || response.hovered() {
            let color = if selected { theme.selection } else { theme.bg3 };
            ui.painter().rect_filled(place, 0.0, color);
        }
        let mut x = place.left() + space::S2 + self.depth as f32 * size::TREE_INDENT;
        let middle = place.center().y;
        let caret = match self.kind {
            Kind::Folded => Some(Icon::CaretRight),
            Kind::Unfolded => Some(Icon::CaretDown),
            _ => None,
        };
        if let Some(caret) = caret {
            let font = FontId::new(11.0, icon_family());
            ui.painter().text(pos2(x, middle), Align2::LEFT_CENTER, caret.glyph(), font, theme.dim);
        }
        x += 16.0;
        if !self.name.is_empty() {
            let name: String = self.name.chars().take(120).collect();
            let drawn = ui.painter().text(pos2(x, middle), Align2::LEFT_CENTER, name, body_font(), theme.dim);
            x = drawn.right() + space::S2;
        }
        let (font, color) = self.color(theme);
        let text: String = self.text.chars().map(|c| if c.is_control() { '↵' } else { c }).collect();
        let room = (place.right() - x - space::S2).max(20.0);
        paint_elided(ui.painter(), pos2(x, middle), Align2::LEFT_CENTER, &text, font, color, room);
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tree(value: &Value) -> (JsonTree, Arc<Json>) {
        let json = Arc::new(Json::of(&Task::new(), value).unwrap().unwrap());
        let mut tree = JsonTree::default();
        tree.take(&json);
        (tree, json)
    }

    fn words(tree: &JsonTree, json: &Json) -> Vec<String> {
        let rows = tree.rows.iter().map(|row| tree.drawn(json, row));
        rows.map(|row| format!("{} {}", row.name, row.text).trim().to_owned()).collect()
    }

    #[test]
    fn pointers_lead_back_to_their_values() {
        let value = json!({"a/b": [1, {"~c": "x\"\n"}], "d": null, "e": []});
        let (tree, json) = tree(&value);
        assert_eq!(words(&tree, &json), ["{3}", "a/b [2]", "0 1", "1 {1}", "~c x\"", "d null", "e [0]"]);
        for (index, row) in tree.rows.iter().enumerate() {
            let part = tree.part(&json, &row.place).unwrap();
            let own: Value = serde_json::from_str(&json.text[part.value.clone()]).unwrap();
            assert_eq!(value.pointer(&tree.pointer(&json, index)), Some(&own), "row {index}");
        }
    }

    #[test]
    fn a_long_list_starts_folded_below_the_top() {
        let (mut tree, json) = tree(&json!({"ids": vec![0; 5000], "name": "n"}));
        assert_eq!(tree.rows.len(), 3);
        tree.toggle(&json, 1);
        assert_eq!(tree.rows.len(), 5003);
        tree.toggle(&json, 1);
        assert_eq!(tree.rows.len(), 3);
    }

    #[test]
    fn every_member_of_a_million_can_be_unfolded() {
        let (mut tree, json) = tree(&json!((0..1_000_000).collect::<Vec<u32>>()));
        assert_eq!(tree.rows.len(), 1001, "the list and its ranges");
        let last = tree.rows.len() - 1;
        assert_eq!(words(&tree, &json)[last], "999,000 … 999,999");
        tree.toggle(&json, last);
        assert_eq!(tree.rows.len(), 2001);
        assert_eq!(words(&tree, &json)[2000], "999999 999999");
        assert_eq!(tree.pointer(&json, 2000), "/999999");
    }

    #[test]
    fn names_of_an_object_stand_at_its_ranges() {
        let fields = (0..100_000).map(|n| (format!("field_{n}"), json!(n)));
        let (mut tree, json) = tree(&Value::Object(fields.collect()));
        assert_eq!(tree.rows.len(), 101);
        assert_eq!(words(&tree, &json)[2], "1,000 … 1,999 field_1000 … field_1999");
        tree.toggle(&json, 100);
        assert_eq!(words(&tree, &json)[1100], "field_99999 99999");
    }

    #[test]
    fn what_is_long_is_unfolded_by_a_job() {
        let long = vec!["x".repeat(1000); 1000];
        let (mut tree, json) = tree(&json!({"long": long, "short": [1]}));
        let jobs = Jobs::new(|| {});
        tree.toggle(&json, 1);
        assert_eq!(words(&tree, &json)[2], "…", "nothing of it is looked up in the frame");
        let started = std::time::Instant::now();
        while !tree.wanted.is_empty() {
            assert!(started.elapsed().as_secs() < 60);
            tree.take_members(&jobs, &json);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(tree.rows.len(), 1004);
    }
}
