//! What is kept of an export: presets, by which a file type and its options are chosen again, and recipes, which repeat
//! all of it.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{ComboBox, Ui};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::convert::Target as FileType;
use gander::convert::recipe::{Presets, Recipe};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{Choice, Export, form, parse};
use crate::gui::commands::Action;
use crate::gui::target::{Repeat, Target};
use crate::gui::theme::{self, Theme};

/// The presets that there are, and the one that is being named.
#[derive(Default)]
pub(super) struct Keep {
    listed: Slot<u64, Vec<(String, Recipe)>>,
    /// How often they changed here.
    changes: u64,
    /// The name of the one that was chosen.
    chosen: Option<String>,
    /// The name under which what is set is to be kept, while it is typed.
    name: Option<String>,
    saved: Slot<(u64, String, Recipe), ()>,
    saving: Option<(u64, String, Recipe)>,
}

/// All presets of the user.
fn listed(task: &Task) -> Result<Vec<(String, Recipe)>> {
    let Some(presets) = Presets::of_user() else { return Ok(Vec::new()) };
    // One that cannot be read hides no other.
    Ok(presets
        .names()
        .into_iter()
        .filter_map(|name| Some((name.clone(), presets.get(task, &name).ok()?)))
        .collect())
}

fn kept(name: &str, recipe: &Recipe) -> Result<()> {
    let presets = Presets::of_user().ok_or_else(|| Error::io("there is no folder for presets here"))?;
    presets.save(name, recipe)
}

impl Export {
    /// Chooses file type and options by a preset, or keeps those that are set as one.
    pub(super) fn preset(&mut self, ui: &mut Ui, jobs: &Jobs, types: &[&'static FileType]) {
        if let Some(saving) = self.keep.saving.clone() {
            let (_, name, recipe) = saving.clone();
            let shown = self.keep.saved.get(jobs, &saving, JobSpec::view(""), move |_| kept(&name, &recipe));
            if let Some(error) = &shown.error {
                form::problem(ui, "The preset was not saved", &error.to_string());
            } else if shown.ready().is_some() {
                self.keep.chosen = Some(saving.1);
                self.keep.changes += 1;
                self.keep.saving = None;
            }
        }
        let all = self.keep.listed.get(jobs, &self.keep.changes, JobSpec::view(""), listed).ready();
        let all: Arc<Vec<(String, Recipe)>> = all.unwrap_or_default();
        let fits = |recipe: &Recipe| {
            types.iter().find(|file_type| Some(file_type.id) == recipe.to.as_deref()).copied()
        };
        let mut wanted = None;
        form::row(ui, "Preset", |ui| {
            if let Some(name) = &mut self.keep.name {
                let edit = egui::TextEdit::singleline(name).hint_text("name").desired_width(160.0);
                let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
                edit.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Name of the preset")
                });
                let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
                let keep = theme::button(ui, "Keep").clicked() || entered;
                let stop = theme::button(ui, "Do not").clicked();
                if keep && !name.trim().is_empty() {
                    wanted = Some(name.trim().to_owned());
                }
                if keep || stop {
                    self.keep.name = None;
                }
                return;
            }
            let shown = self.keep.chosen.clone().unwrap_or_else(|| "none".to_owned());
            let mut taken = None;
            ComboBox::from_id_salt("preset").selected_text(&shown).width(160.0).show_ui(ui, |ui| {
                for (name, recipe) in all.iter().filter(|(_, recipe)| fits(recipe).is_some()) {
                    if ui.selectable_label(shown == *name, name).clicked() {
                        taken = Some((name.clone(), recipe.clone()));
                    }
                }
                if all.is_empty() {
                    ui.label(theme::dim(Theme::of(ui), "none was saved yet"));
                }
            });
            if let Some((name, recipe)) = taken {
                self.file_type = fits(&recipe);
                self.options = recipe.writer_options();
                self.verify = recipe.verify;
                self.consent.lose = false;
                self.keep.chosen = Some(name);
            }
            if theme::button(ui, "Save as preset…")
                .on_hover_text("Keep this format and its options under a name")
                .clicked()
            {
                self.keep.name = Some(String::new());
            }
        });
        if let (Some(name), Some(file_type)) = (wanted, self.file_type) {
            let recipe =
                Recipe { verify: self.verify, ..Recipe::of(file_type, &self.options, &Default::default()) };
            self.keep.saving = Some((self.keep.changes, name, recipe));
        }
    }

    /// *Save as recipe…*, where what is exported can be said in one.
    pub(super) fn save_recipe(&self, ui: &mut Ui, ready: bool, actions: &mut Vec<Action>) {
        let recipe = self.recipe();
        let button =
            ui.add_enabled_ui(ready && recipe.is_some(), |ui| theme::button(ui, "Save as recipe…")).inner;
        let words = "A file by which `gander convert --recipe` repeats this export";
        let button = button.on_hover_text(words).on_disabled_hover_text(match (ready, &recipe) {
            (false, _) => "What is missing above comes first",
            _ => "A recipe can say whole nodes, filters, slices and queries, but not this part",
        });
        if let Some(recipe) = recipe.filter(|_| button.clicked()) {
            let path = PathBuf::from(&self.path).with_extension("toml");
            actions.push(Action::SaveRecipe(Box::new(recipe), path));
        }
    }

    /// What repeats this export from the command line; `None` for parts that cannot be said.
    fn recipe(&self) -> Option<Recipe> {
        let file_type = self.file_type?;
        let base = |selection| Recipe {
            out: Some(self.path.clone()),
            allow_loss: self.consent.lose,
            overwrite: self.consent.overwrite,
            verify: self.verify,
            ..Recipe::of(file_type, &self.options, &selection)
        };
        let of_target = |target: &Target| target.document.source.path().map(|_| target.address());
        let source = self.target.as_ref().and_then(of_target);
        let open =
            || self.target.as_ref().map(|target| target.document.options.0.clone()).unwrap_or_default();
        let whole =
            |selection| Some(Recipe { sources: vec![source.clone()?], open: open(), ..base(selection) });
        match (self.choice, &self.repeat) {
            (Choice::Whole, _) => whole(parse(&self.rows, &self.columns, &self.slice).ok()?),
            (Choice::Part, Some(Repeat::Selection(selection))) => whole(selection.clone()),
            (Choice::Part, Some(Repeat::Clauses(clauses))) => {
                let target = self.target.as_ref()?;
                let table = gander::query::table_name(target.document.source.name(), &target.path);
                let query = Some(format!("SELECT * FROM \"{}\" {clauses}", table.replace('"', "\"\"")));
                Some(Recipe { query, ..whole(Default::default())? })
            }
            (Choice::Part, Some(Repeat::Query(sql, sources))) => Some(Recipe {
                sources: sources.to_vec(),
                query: Some(sql.clone()),
                ..base(Default::default())
            }),
            (Choice::File, _) => {
                let file = self.target.as_ref()?.document.source.path()?.display().to_string();
                Some(Recipe { sources: vec![file], open: open(), ..base(Default::default()) })
            }
            (Choice::Part, None) | (Choice::Other(_) | Choice::Picture(_), _) => None,
        }
    }
}
