//! *Export…*: what is written, as which file type, with which options; what the result will hold and what it
//! will not; where it goes. Nothing is written before all of that was seen.

mod batch;
mod form;
mod keep;
mod run;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{RichText, Ui};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::convert::{self, Consent, Item, NamedFiles, Plan, Selection, Target as FileType};
use gander::data::content::Content;
use gander::data::format::{Attributes, Data, Options};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{head, room};
use crate::gui::commands::Action;
use crate::gui::exports::Exports;
use crate::gui::target::{ExportSource, Repeat, ShownExport};
use crate::gui::theme::{self, Theme, space};
use crate::gui::views::Target;
pub(crate) use batch::Batch;
pub(super) use form::row;

/// What a plan was made for.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    choice: Choice,
    file_type: &'static str,
    options: Options,
    rows: String,
    columns: String,
    slice: String,
}

/// Which of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The part that the view has selected, filtered or cut.
    Part,
    /// Another part that there is.
    Other(usize),
    /// All of the node.
    Whole,
    /// All of the file in which the node lies.
    File,
    /// The nth picture of what is shown.
    Picture(usize),
}

/// What the form comes to.
struct Formed {
    plan: Arc<Plan>,
    /// Whether it may be run.
    ready: bool,
    /// What is to be agreed to first.
    missing: Option<&'static str>,
}

/// The state of the dialog.
pub(crate) struct Export {
    /// The node; `None` for what is no node, a query's result.
    target: Option<Target>,
    /// What it is called.
    name: String,
    /// What the view has selected, filtered or cut: words for it, and the data.
    part: Option<(String, Data)>,
    /// Other parts that there are.
    others: Vec<(String, Data)>,
    /// How a recipe says that part.
    repeat: Option<Repeat>,
    /// Pictures of what is shown.
    pictures: Vec<(String, Data)>,
    choice: Choice,
    items: Slot<Choice, Vec<Item>>,
    types: Slot<Choice, Vec<&'static FileType>>,
    file_type: Option<&'static FileType>,
    /// The one that a person chose, by its id: it stays when something else is written.
    own_type: Option<&'static str>,
    options: Options,
    rows: String,
    columns: String,
    slice: String,
    plan: Slot<Wanted, Plan>,
    path: String,
    /// Whether the person wrote the path; else it follows the file type.
    own_path: bool,
    exists: Slot<PathBuf, bool>,
    /// Whether another export writes that file.
    taken: bool,
    consent: Consent,
    /// Whether to read back what was written; by its size where nobody said it.
    verify: Option<bool>,
    keep: keep::Keep,
    /// The plan whose losses were shown last.
    considered: Option<Arc<Plan>>,
    /// The number of the export that was started.
    started: Option<u64>,
}

impl Export {
    pub(super) fn new(what: ExportSource) -> Self {
        let shown = match what {
            ExportSource::Node(target, part) => {
                let name = node_name(&target).to_owned();
                let pictures = Vec::new();
                let target = Some(target);
                let others = Vec::new();
                ShownExport { target, name, part, others, repeat: None, pictures, pictures_first: false }
            }
            ExportSource::Shown(shown) => {
                let name = shown.target.as_ref().map_or(shown.name.as_str(), node_name).to_owned();
                ShownExport { name, ..*shown }
            }
        };
        let ShownExport { target, name, part, others, repeat, pictures, pictures_first } = shown;
        Export {
            choice: match (pictures_first && !pictures.is_empty(), part.is_some()) {
                (true, _) => Choice::Picture(0),
                (false, true) => Choice::Part,
                (false, false) => Choice::Whole,
            },
            target,
            name,
            part,
            others,
            repeat,
            pictures,
            items: Slot::default(),
            types: Slot::default(),
            file_type: None,
            own_type: None,
            options: Options::default(),
            rows: String::new(),
            columns: String::new(),
            slice: String::new(),
            plan: Slot::default(),
            path: String::new(),
            own_path: false,
            exists: Slot::default(),
            taken: false,
            consent: Consent::default(),
            verify: None,
            keep: keep::Keep::default(),
            considered: None,
            started: None,
        }
    }

    /// Takes a path that was chosen in the desktop's dialog.
    pub(super) fn save_as(&mut self, path: &Path) {
        self.path = path.display().to_string();
        self.own_path = true;
        self.consent.overwrite = false;
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        exports: &Exports,
        actions: &mut Vec<Action>,
    ) -> bool {
        room(ui, 640.0, 660.0);
        let close = head(ui, "Export");
        if let Some(id) = self.started {
            let answer = run::ui(ui, exports, id, actions);
            if answer == run::Answer::Back {
                self.started = None;
                // What is there may have changed meanwhile.
                self.exists.clear();
            }
            return close || answer == run::Answer::Close;
        }
        let mut described = None;
        // A small window scrolls the form; where it goes and what can be done stays in sight below it.
        let lossy = self.considered.as_ref().is_some_and(|plan| plan.is_lossy());
        let foot = if lossy { 320.0 } else { 290.0 };
        // Of those the rows below the form, where the dialog is as high as it gets.
        let below = foot - 125.0;
        let height = ui.ctx().content_rect().height() - foot;
        let height = height.min(ui.available_height() - below).max(120.0);
        egui::ScrollArea::vertical().id_salt("form").max_height(height).auto_shrink([false, true]).show(
            ui,
            |ui| {
                described = self.form(ui, jobs);
            },
        );
        ui.add_space(space::S2);
        let formed = described.and_then(|(file_type, plan)| {
            let free = self.place(ui, jobs, file_type, actions);
            Some(self.settled(ui, exports, plan?, free))
        });
        ui.add_space(space::S3);
        let theme = Theme::of(ui);
        let mut stop = false;
        ui.horizontal(|ui| {
            let go = ui.add_enabled_ui(formed.as_ref().is_some_and(|formed| formed.ready), |ui| {
                theme::primary_button(ui, "Export")
            });
            stop = theme::button(ui, "Cancel").clicked();
            if let Some(words) = formed.as_ref().and_then(|formed| formed.missing) {
                ui.label(RichText::new(words).color(theme.warn));
            }
            let ready = formed.as_ref().is_some_and(|formed| formed.ready);
            if let Some(formed) = formed.filter(|_| go.inner.clicked()) {
                let path = PathBuf::from(&self.path);
                let verify = self.verify.unwrap_or_else(|| is_small(&formed.plan));
                self.started = Some(exports.write(formed.plan, path, self.consent, verify));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                self.save_recipe(ui, ready, actions);
            });
        });
        close || stop
    }

    /// What is exported and how; the format that was chosen, and the plan once it is made.
    fn form(&mut self, ui: &mut Ui, jobs: &Jobs) -> Option<(&'static FileType, Option<Arc<Plan>>)> {
        self.what(ui);
        let items = self.gathered(ui, jobs)?;
        let types = self.writable(ui, jobs, &items)?;
        self.choose_type(ui, &types, &items);
        self.preset(ui, jobs, &types);
        let file_type = self.file_type?;
        form::values(ui, file_type, &items, &mut self.options);
        form::layout(ui, file_type, &items, &mut self.options);
        form::options(ui, file_type, file_type.options_for(&items), &mut self.options);
        self.selection(ui, &items);
        let plan = self.planned(ui, jobs, &items, file_type);
        if let Some(plan) = &plan {
            let reveal = self.reconsider(plan);
            form::outline(ui, plan);
            form::losses(ui, plan, reveal);
        }
        Some((file_type, plan))
    }

    /// Whether what is written is verified; what the form comes to. `free`: whether nothing stands in the way at the
    /// place, once that is known.
    fn settled(&mut self, ui: &mut Ui, exports: &Exports, plan: Arc<Plan>, free: Option<bool>) -> Formed {
        form::row(ui, "", |ui| {
            let mut verify = self.verify.unwrap_or_else(|| is_small(&plan));
            let words = "Verify: read it back and compare every value";
            let tick = ui.checkbox(&mut verify, words).on_hover_text("On by itself below 1 GB");
            if tick.changed() {
                self.verify = Some(verify);
            }
        });
        if plan.is_lossy() {
            form::row(ui, "", |ui| {
                let words = "Write it anyway: the values named above change or get lost";
                ui.checkbox(&mut self.consent.lose, words);
            });
        }
        let agreed = !plan.is_lossy() || self.consent.lose;
        let taken = exports.is_target(Path::new(&self.path));
        if std::mem::replace(&mut self.taken, taken) && !taken {
            // It was written meanwhile, perhaps.
            self.exists.clear();
        }
        let missing = match (agreed, free) {
            _ if taken => Some("Another export writes this file"),
            (false, _) => Some("Values would be lost: agree to it first"),
            (true, Some(false)) => Some("The file exists: agree to replace it above"),
            _ => None,
        };
        Formed { plan, ready: agreed && !taken && free == Some(true), missing }
    }

    /// Consent is to the losses that were named; where others are named it is asked for anew. Whether values get lost
    /// by this plan that did not by the one before.
    fn reconsider(&mut self, plan: &Arc<Plan>) -> bool {
        let before = self.considered.replace(plan.clone());
        let Some(before) = before.filter(|before| !Arc::ptr_eq(before, plan)) else { return false };
        let serious =
            |plan: &'_ Plan| plan.losses.iter().filter(|loss| loss.serious).cloned().collect::<Vec<_>>();
        let is_new = serious(&before) != serious(plan);
        if is_new {
            self.consent.lose = false;
        }
        is_new && plan.is_lossy()
    }

    /// What there is to choose from: the choice, words for it, and how much that is.
    fn choices(&self) -> Vec<(Choice, String, String)> {
        let is_whole = |target: &&Target| target.node.content.is_some() || target.node.has_children();
        let mut choices = Vec::new();
        choices.extend(self.part.as_ref().map(|(words, data)| (Choice::Part, words.clone(), how_much(data))));
        let others = self.others.iter().enumerate();
        choices.extend(others.map(|(n, (words, data))| (Choice::Other(n), words.clone(), how_much(data))));
        if let Some(target) = self.target.as_ref().filter(is_whole) {
            let file = target.document.source.name();
            let is_root = target.path.is_empty();
            let words =
                if is_root { format!("all of {file}") } else { format!("this node: {}", target.path) };
            choices.push((Choice::Whole, words, how_much_of(target)));
            if !is_root {
                // How many nodes that are is known once they were gathered.
                let nodes = self.items.peek(&Choice::File).ready().map(|items| items.len() as u64);
                let how_many = nodes.map_or(String::new(), |nodes| display::plural(nodes, "node"));
                choices.push((Choice::File, format!("all of {file}"), how_many));
            }
        }
        let pictures = self.pictures.iter().enumerate();
        choices
            .extend(pictures.map(|(n, (words, data))| (Choice::Picture(n), words.clone(), how_much(data))));
        choices
    }

    /// Which part: what the view has selected, filtered or cut, all of the node, or of the file.
    fn what(&mut self, ui: &mut Ui) {
        let choices = self.choices();
        let before = self.choice;
        match choices.as_slice() {
            [] | [_] => form::row(ui, "What", |ui| {
                let Some((choice, words, more)) = choices.first() else { return };
                let address = self.target.as_ref().map(Target::address).filter(|_| *choice == Choice::Whole);
                let shown = address.as_ref().unwrap_or(words);
                let color = Theme::of(ui).text;
                let room = (ui.available_width() - 150.0).max(100.0);
                ui.scope(|ui| {
                    ui.set_max_width(room);
                    ui.add(egui::Label::new(theme::mono(shown).color(color)).truncate()).on_hover_text(shown);
                });
                ui.label(theme::dim(Theme::of(ui), more));
            }),
            _ => form::column(ui, "What", |ui| {
                for (choice, words, more) in &choices {
                    ui.horizontal(|ui| {
                        ui.radio_value(&mut self.choice, *choice, words);
                        ui.label(theme::dim(Theme::of(ui), more));
                    });
                }
            }),
        }
        if before != self.choice {
            self.file_type = None;
            self.consent.lose = false;
        }
    }

    /// The contents to write.
    fn gathered(&self, ui: &mut Ui, jobs: &Jobs) -> Option<Arc<Vec<Item>>> {
        let target = self.target.clone();
        let part = match self.choice {
            Choice::Part => self.part.clone(),
            Choice::Other(n) => self.others.get(n).cloned(),
            Choice::Whole | Choice::File => None,
            Choice::Picture(n) => self.pictures.get(n).cloned(),
        };
        let (name, is_file) = (stem(&self.name), self.choice == Choice::File);
        let shown = self.items.get(
            jobs,
            &self.choice,
            JobSpec::scan("gathering what to export"),
            move |task| match (part, target) {
                (Some((_, data)), target) => part_items(task, name, data, target.as_ref()),
                (None, Some(target)) if is_file => {
                    convert::gather(task, &target.document.source, &target.document.root, "")
                }
                (None, Some(target)) => {
                    convert::gather(task, &target.document.source, &target.node, &target.path)
                }
                (None, None) => Ok(Vec::new()),
            },
        );
        let value = shown.ready();
        if let Some(error) = shown.error {
            form::problem(ui, "This cannot be exported", &error.to_string());
        } else if value.is_none() {
            ui.label(theme::dim(Theme::of(ui), "Looking at what there is…"));
        }
        value
    }

    /// The file types that can hold it.
    fn writable(
        &self,
        ui: &mut Ui,
        jobs: &Jobs,
        items: &Arc<Vec<Item>>,
    ) -> Option<Arc<Vec<&'static FileType>>> {
        let all = items.clone();
        let shown = self.types.get(jobs, &self.choice, JobSpec::view("finding file types"), move |_| {
            Ok(convert::targets(&all))
        });
        let types = shown.ready()?;
        if types.is_empty() {
            form::problem(ui, "No file type can hold this", "Choose a part of it in the explorer.");
            return None;
        }
        Some(types)
    }

    fn choose_type(&mut self, ui: &mut Ui, types: &[&'static FileType], items: &[Item]) {
        if self.file_type.is_none() {
            let own = types.iter().find(|file_type| Some(file_type.id) == self.own_type);
            self.file_type = own.copied().or_else(|| self.likely(types, items));
        }
        let mut chosen = self.file_type.map_or("", |file_type| file_type.id);
        form::formats(ui, types, usual(self.choice, items), |ui, file_type| {
            let response = ui.selectable_label(chosen == file_type.id, file_type.name);
            if response.on_hover_text(file_type.extensions.join(", ")).clicked() {
                chosen = file_type.id;
            }
        });
        if self.file_type.is_none_or(|file_type| file_type.id != chosen) {
            self.file_type = types.iter().copied().find(|file_type| file_type.id == chosen);
            self.own_type = self.file_type.map(|file_type| file_type.id);
            self.options = Options::default();
            self.consent = Consent::default();
        }
    }

    /// What most people want of such content, in another format than the file has already: that is what conversions
    /// are for.
    fn likely(&self, types: &[&'static FileType], items: &[Item]) -> Option<&'static FileType> {
        let own =
            self.target.as_ref().filter(|_| self.part.is_none()).map(|target| target.document.format.id);
        // A picture of something stays a picture.
        let usual = usual(self.choice, items);
        let find = |id: &&str| types.iter().find(|file_type| file_type.id == *id && Some(*id) != own);
        let other = usual.iter().find_map(find);
        let other = other.or_else(|| types.iter().find(|file_type| Some(file_type.id) != own));
        other.or(types.first()).copied()
    }

    /// Rows and columns of a table, a slice of an array.
    fn selection(&mut self, ui: &mut Ui, items: &[Item]) {
        if self.choice != Choice::Whole {
            return;
        }
        let [item] = items else { return };
        match &item.content {
            Content::Table(_) | Content::Graph(_) => {
                form::text(ui, "Rows", "all; or from:to, as 0:1000", &mut self.rows);
                form::text(ui, "Columns", "all; or names with commas between", &mut self.columns);
            }
            Content::Array(_) | Content::Image(_) => {
                form::text(ui, "Slice", "all; or as in NumPy: 0:10, :, ::2", &mut self.slice);
            }
            Content::Text(_) | Content::Bytes(_) => {}
        }
    }

    fn planned(
        &self,
        ui: &mut Ui,
        jobs: &Jobs,
        items: &Arc<Vec<Item>>,
        file_type: &'static FileType,
    ) -> Option<Arc<Plan>> {
        let selection = match parse(&self.rows, &self.columns, &self.slice) {
            Ok(selection) => selection,
            Err(words) => {
                form::problem(ui, "Rows", &words);
                return None;
            }
        };
        let wanted = Wanted {
            choice: self.choice,
            file_type: file_type.id,
            options: self.options.clone(),
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            slice: self.slice.clone(),
        };
        let (items, options) = (items.clone(), self.options.clone());
        let shown = self.plan.get(jobs, &wanted, JobSpec::view(""), move |_| {
            convert::plan(&items, file_type, &options, &selection)
        });
        if let Some(error) = shown.error {
            form::problem(ui, "This does not fit", &error.to_string());
            return None;
        }
        shown.ready()
    }

    /// Says where the name promises another format than the one that is written.
    fn say_ending(&mut self, ui: &mut Ui, file_type: &FileType) {
        let wrong = other_ending(&self.path, file_type).map(str::to_owned);
        let (Some(wrong), Some(right)) = (wrong, file_type.extensions.first()) else {
            return;
        };
        form::row(ui, "", |ui| {
            let words = format!("The name ends in .{wrong}, what is written is {}.", file_type.name);
            ui.label(RichText::new(words).color(Theme::of(ui).warn));
            if theme::button(ui, &format!("Use .{right}")).clicked() {
                let stem = self.path.len().saturating_sub(wrong.len());
                self.path = format!("{}{right}", self.path.get(..stem).unwrap_or_default());
                self.own_path = true;
                self.consent.overwrite = false;
            }
        });
    }

    /// Where to; whether a file may be written there, if that is known.
    fn place(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        file_type: &FileType,
        actions: &mut Vec<Action>,
    ) -> Option<bool> {
        if !self.own_path {
            self.path = suggested(self.target.as_ref(), &self.name, file_type);
        }
        let mut path = self.path.clone();
        form::row(ui, "To", |ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if theme::button(ui, "Choose…").clicked() {
                    actions.push(Action::AskSave(PathBuf::from(&path)));
                }
                let edit = egui::TextEdit::singleline(&mut path).font(theme::mono_font());
                let edit =
                    ui.add(edit.desired_width(ui.available_width()).margin(egui::Margin::symmetric(8, 5)));
                edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "To"));
            });
        });
        if path != self.path {
            self.path = path;
            self.own_path = true;
            self.consent.overwrite = false;
        }
        self.say_ending(ui, file_type);
        let path = PathBuf::from(&self.path);
        let asked = path.clone();
        let shown =
            self.exists.get(jobs, &path, JobSpec::view(""), move |_| Ok(asked.symlink_metadata().is_ok()));
        let exists = shown.ready().map(|exists| *exists);
        if exists == Some(true) {
            form::row(ui, "", |ui| {
                let words = RichText::new("This file exists: replace it").color(Theme::of(ui).warn);
                ui.checkbox(&mut self.consent.overwrite, words);
            });
        }
        if self.path.trim().is_empty() {
            return None;
        }
        exists.map(|exists| !exists || self.consent.overwrite)
    }
}

/// How much a part is, where its words do not say so.
fn how_much(data: &Data) -> String {
    match data {
        Data::Arrays(arrays) => match arrays.as_slice() {
            [(_, array)] => display::shape(array.shape()),
            several => display::plural(several.len() as u64, "array"),
        },
        Data::Tables(tables) => display::plural(tables.len() as u64, "table"),
        Data::Image(image) => {
            let info = image.info();
            format!("{} × {} pixels", info.width, info.height)
        }
        Data::Table(_) | Data::Graph(_) | Data::Bytes(_) => String::new(),
    }
}

/// How much a whole node is.
fn how_much_of(target: &Target) -> String {
    match &target.node.content {
        Some(Content::Table(table)) => {
            let columns = display::plural(table.schema().fields().len() as u64, "column");
            match table.rows().exact() {
                Some(rows) => format!("{}, {columns}", display::plural(rows, "row")),
                None => columns,
            }
        }
        Some(Content::Array(array)) => format!("{} {}", display::shape(array.shape()), array.dtype()),
        Some(Content::Image(image)) => how_much(&Data::Image(image.clone())),
        _ => String::new(),
    }
}

/// The ending of a name where it is none of the format's.
fn other_ending<'a>(path: &'a str, file_type: &FileType) -> Option<&'a str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    let low = name.to_lowercase();
    let fits = |extension: &&str| low.strip_suffix(*extension).is_some_and(|stem| stem.ends_with('.'));
    let is_ending = !stem.is_empty() && !ending.is_empty() && ending.chars().all(char::is_alphanumeric);
    (is_ending && !file_type.extensions.iter().any(fits)).then_some(ending)
}

/// The formats that most people want of such content, by their ids.
fn usual(choice: Choice, items: &[Item]) -> &'static [&'static str] {
    match (choice, items) {
        (Choice::Picture(_), _) => &["png"],
        (_, [only]) => match &only.content {
            Content::Table(_) => &["parquet", "csv"],
            Content::Graph(_) => &["svg", "parquet", "csv"],
            Content::Array(array) if array.facts().sound.is_some() => &["wav", "npy"],
            Content::Array(_) => &["npy", "npz"],
            Content::Image(_) => &["png", "tiff"],
            Content::Text(_) | Content::Bytes(_) => &["raw"],
        },
        (_, several) => match several.iter().all(|item| matches!(item.content, Content::Table(_))) {
            true => &["xlsx", "sqlite"],
            false => &["npz", "hdf5", "safetensors", "gguf"],
        },
    }
}

/// Whether what a plan writes is read back where nobody said otherwise.
fn is_small(plan: &Plan) -> bool {
    plan.bytes.is_none_or(|bytes| bytes <= convert::VERIFIED)
}

/// What a view of a node gave, as items. Rows name the same files as those of the whole.
fn part_items(task: &Task, name: String, data: Data, target: Option<&Target>) -> Result<Vec<Item>> {
    let Some(Target { document, path, node, .. }) = target else {
        return Ok(items_of(name, data, Attributes::default()));
    };
    let files = match &data {
        Data::Table(_) => NamedFiles::find(task, &document.source, path, node)?,
        _ => None,
    };
    let items = items_of(name, data, Attributes::of(node));
    let problem = convert::unread(node);
    Ok(items
        .into_iter()
        .map(|item| Item { files: files.clone(), problem: problem.clone(), ..item })
        .collect())
}

/// The same without files.
fn items_of(name: String, data: Data, attributes: Attributes) -> Vec<Item> {
    let one = |content| vec![Item::new(name.clone(), content, attributes.clone())];
    match data {
        Data::Table(table) => one(Content::Table(table)),
        Data::Image(image) => one(Content::Image(image)),
        Data::Graph(graph) => one(Content::Graph(graph)),
        Data::Bytes(source) => one(Content::Bytes(source)),
        Data::Tables(tables) => tables
            .into_iter()
            .map(|(name, table)| Item::new(name, Content::Table(table), attributes.clone()))
            .collect(),
        Data::Arrays(arrays) => arrays
            .into_iter()
            .map(|(name, array)| Item::new(name, Content::Array(array), attributes.clone()))
            .collect(),
    }
}

/// The name of the node, or of the file without its extension.
fn node_name(target: &Target) -> &str {
    let name = target.node.name.as_str();
    if target.path.is_empty() { name.rsplit_once('.').map_or(name, |(stem, _)| stem) } else { name }
}

/// A name without what the name of a file cannot have.
fn stem(name: &str) -> String {
    let safe = |c: char| if c.is_control() || "/\\:*?\"<>|".contains(c) { '_' } else { c };
    let name: String = name.chars().take(120).map(safe).collect();
    if name.is_empty() { "export".to_owned() } else { name }
}

/// A name beside the source that is not the source's own.
fn suggested(target: Option<&Target>, name: &str, file_type: &FileType) -> String {
    let source = target.and_then(|target| target.document.source.path());
    let folder = source.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    let ending = file_type.extensions.first().copied().unwrap_or("out");
    let stem = stem(name);
    let first = folder.join(format!("{stem}.{ending}"));
    if source == Some(first.as_path()) { folder.join(format!("{stem}_export.{ending}")) } else { first }
        .display()
        .to_string()
}

/// The selection that was typed.
fn parse(rows: &str, columns: &str, slice: &str) -> Result<Selection, String> {
    let mut selection = Selection::default();
    if !rows.trim().is_empty() {
        let (from, to) = rows.trim().split_once(':').ok_or("rows are written as from:to, such as 0:1000")?;
        let number = |text: &str, empty: u64| match text.trim().replace([',', '_'], "") {
            text if text.is_empty() => Ok(empty),
            text => text.parse().map_err(|_| format!("{text} is no row number")),
        };
        selection.rows = Some(number(from, 0)?..number(to, u64::MAX)?);
    }
    let names: Vec<String> =
        columns.split(',').map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect();
    selection.columns = Some(names).filter(|names| !names.is_empty());
    selection.slice = Some(slice.trim().to_owned()).filter(|slice| !slice.is_empty());
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_promises_another_format_is_seen() {
        let of = |id: &str| FileType::by_id(id).unwrap();
        assert_eq!(other_ending("/a.b/x.csv", of("parquet")), Some("csv"));
        assert_eq!(other_ending("/a.b/x.Parquet", of("parquet")), None);
        assert_eq!(other_ending("/a.b/x", of("parquet")), None);
        assert_eq!(other_ending("x.nii.gz", of("nifti")), None);
    }

    #[test]
    fn rows_and_columns_are_read_as_typed() {
        let selection = parse("1,000:2_000", "a, b ,", "").unwrap();
        assert_eq!(selection.rows, Some(1000..2000));
        assert_eq!(selection.columns, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(parse(":5", "", "").unwrap().rows, Some(0..5));
        assert!(parse("5", "", "").is_err());
        assert!(parse("a:b", "", "").unwrap_err().contains('a'));
    }
}
