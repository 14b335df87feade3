//! What loading a file would run, before anybody loads it: the banner above a view, the section of the inspector.

use std::sync::Arc;

use egui::{Align, Color32, Frame, Label, Layout, Margin, Ui};
use gander::bytes::display::{self, harmless};
use gander::data::node::Node;
use gander::data::security::{Report, Verdict};
use gander::engines::pickle;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::commands::Action;
use super::icons::Icon;
use super::target::Target;
use super::theme::{self, Theme, size, space};
use super::ui::{paint_elided, rows};

/// Formats of files that hold files, whose pickles say nothing of themselves at the root.
const ARCHIVES: [&str; 4] = ["zip", "tar", "npz", "gzip"];
/// Characters of a name that are drawn.
pub(super) const NAME: usize = 300;
/// Names that the inspector lists; the report has all.
const LISTED: usize = 12;

/// What the pickles in the file that a tab shows would run.
#[derive(Default)]
pub(crate) struct Danger {
    below: Slot<usize, Option<Arc<Report>>>,
}

/// The colour and the sign of a verdict; `None` for one that nobody need see.
pub(super) fn mark(theme: &Theme, verdict: Verdict) -> Option<(Color32, Icon)> {
    match verdict {
        Verdict::Safe => None,
        Verdict::Unusual => Some((theme.warn, Icon::Warning)),
        Verdict::Dangerous => Some((theme.bad, Icon::Problem)),
    }
}

impl Danger {
    /// The worst report of what is shown: that of the node, or of its file; and whose it is.
    pub(crate) fn of(&self, target: &Target) -> Option<(String, Arc<Report>)> {
        let file = target.document.source.name();
        let own = target.node.security_now().map(|report| (target.title(), report));
        let root = &target.document.root;
        let below = || self.below.peek(&key(root)).ready().and_then(|report| report.as_ref().clone());
        let all = root.security_now().or_else(below).map(|report| (file, report));
        let worst = match (own, all) {
            (Some(own), Some(all)) if all.1.verdict > own.1.verdict => Some(all),
            (Some(own), _) => Some(own),
            (None, all) => all,
        };
        worst.map(|(name, report)| (name.to_owned(), report))
    }

    /// Draws the banner where there is something to say. Archives are looked through for it by a job.
    pub(crate) fn banner(&self, ui: &mut Ui, jobs: &Jobs, target: &Target, actions: &mut Vec<Action>) {
        let root = &target.document.root;
        if root.security.is_none() && ARCHIVES.contains(&target.document.format.id) {
            let (of, title) =
                (root.clone(), format!("looking for code in {}", target.document.source.name()));
            let _ = self.below.get(jobs, &key(root), JobSpec::scan(title), move |task| {
                Ok(pickle::below(task, &of)?.map(Arc::new))
            });
        }
        let Some((name, report)) = self.of(target) else { return };
        let theme = Theme::of(ui);
        let Some((color, icon)) = mark(theme, report.verdict) else { return };
        let frame = Frame::new().fill(theme.tint(color)).inner_margin(Margin::symmetric(12, 3));
        frame.show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.set_min_width(ui.available_width());
                ui.label(theme::icon(icon).color(color));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let button = theme::button(ui, "Report…");
                    if button.on_hover_text("What loading it would run, in full").clicked() {
                        actions.push(Action::Security(name.clone(), report.clone()));
                    }
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        let title = egui::RichText::new(report.verdict.title()).family(theme::semi_bold());
                        ui.label(title.color(color));
                        let words = harmless(&report.sentence(), NAME);
                        ui.add(Label::new(words.as_str()).truncate());
                    });
                });
            });
        });
    }
}

/// A document by the address of its root, which the target keeps alive.
fn key(root: &Arc<Node>) -> usize {
    Arc::as_ptr(root) as usize
}

/// The section of the inspector.
pub(super) fn section(ui: &mut Ui, name: &str, report: &Arc<Report>, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    theme::section_head(ui, "Security", None);
    ui.add_space(space::S2);
    let (color, icon) = mark(theme, report.verdict).unwrap_or((theme.good, Icon::Info));
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = space::S1;
        ui.label(theme::icon(icon).color(color));
        ui.label(egui::RichText::new(report.verdict.title()).family(theme::semi_bold()).color(color));
    });
    ui.add_space(space::S1);
    if let Some(fault) = &report.fault {
        let words = format!("Not everything was looked at: {}", harmless(&fault.to_string(), NAME));
        ui.label(egui::RichText::new(words).color(theme.warn));
        ui.add_space(space::S1);
    }
    let ranked = report.ranked();
    let names: Vec<&str> = ranked.iter().copied().filter(|name| report.effect(name).is_some()).collect();
    for call in report.calls.iter().take(3) {
        ui.add(Label::new(theme::mono(harmless(call, NAME))).truncate());
    }
    for name in names.iter().take(LISTED) {
        effect(ui, report, name);
    }
    if names.len() > LISTED {
        let more = display::plural((names.len() - LISTED) as u64, "more name");
        ui.label(theme::dim(theme, format!("and {more}")));
    }
    let plain = ranked.len() - names.len();
    if plain > 0 {
        ui.label(theme::dim(
            theme,
            format!("{} that only make plain data", display::plural(plain as u64, "name")),
        ));
    }
    ui.add_space(space::S2);
    if theme::button(ui, "Report…").clicked() {
        actions.push(Action::Security(name.to_owned(), report.clone()));
    }
}

/// A name and what it would do.
fn effect(ui: &mut Ui, report: &Report, name: &str) {
    let theme = Theme::of(ui);
    let color = if report.suspects.contains(name) {
        mark(theme, report.verdict).map_or(theme.text, |(color, _)| color)
    } else {
        theme.text
    };
    ui.add(Label::new(theme::mono(harmless(name, NAME)).color(color)).truncate());
    if let Some(effect) = report.effect(name) {
        ui.add(Label::new(theme::dim(theme, effect)).wrap());
    }
}

/// All names of a report in rows: the name, what it would do.
pub(super) fn names(ui: &mut Ui, report: &Report, names: &[String]) {
    let theme = Theme::of(ui);
    let suspect = mark(theme, report.verdict).map_or(theme.text, |(color, _)| color);
    rows::ui(ui, names.len(), size::ROW, |ui, n| {
        let Some(name) = names.get(n) else { return };
        let (rect, response) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), size::ROW), egui::Sense::hover());
        let (shown, effect) = (harmless(name, NAME), report.effect(name).unwrap_or("makes plain data"));
        let spoken = format!("{shown} {effect}");
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
        let color = match (report.suspects.contains(name), report.effect(name)) {
            (true, _) => suspect,
            (false, Some(_)) => theme.text,
            (false, None) => theme.dim,
        };
        let half = (rect.width() * 0.45).max(120.0);
        let (left, align) = (rect.left_center(), egui::Align2::LEFT_CENTER);
        let font = theme::mono_font();
        let drawn = paint_elided(ui.painter(), left, align, &shown, font, color, half - space::S3);
        let at = egui::pos2((rect.left() + half).max(drawn.right() + space::S3), rect.center().y);
        let room = rect.right() - at.x;
        paint_elided(ui.painter(), at, align, effect, theme::body_font(), theme.dim, room);
        response.on_hover_text(spoken);
    });
}
