//! What is wrong with the tensors of a model, in lines: the worst above the table of parameters, all of them in a view of
//! their own. A click goes to the element.

use egui::{Align2, Color32, FontId, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::health::{Finding, Severity};

use super::{Listed, Pass};
use crate::gui::theme::{self, Theme, body_font, mono_small_font, size, small_font, space};
use crate::gui::ui::{paint_elided, rows};

/// Findings above the table of parameters.
const FEW: usize = 4;
/// Seconds after which a pass is said to have taken them.
const WAITED: f64 = 3.0;
/// The height of a line.
const LINE: f32 = size::ROW;

/// What was clicked.
pub(super) enum Clicked {
    /// A finding: the tensor's path, and the element.
    Go(String, Option<Vec<u64>>),
    /// All findings are to be shown.
    All,
    /// The pass is to begin, or to begin anew.
    Begin,
}

/// The colour of a severity.
fn color(theme: &Theme, severity: Severity) -> Color32 {
    match severity {
        Severity::Error => theme.bad,
        Severity::Warning => theme.warn,
        Severity::Note => theme.dim,
    }
}

/// The worst findings, and how far the pass is.
pub(super) fn summary(ui: &mut Ui, listed: &Listed, pass: &Pass) -> Option<Clicked> {
    let mut clicked = None;
    egui::Frame::new().inner_margin(egui::Margin::symmetric(space::S3 as i8, space::S2 as i8)).show(
        ui,
        |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            clicked = head(ui, listed, pass);
            let Pass::Ended(examined) = pass else { return };
            let findings = &examined.health.findings;
            for finding in findings.iter().take(FEW) {
                if line(ui, finding) {
                    clicked = Some(Clicked::Go(finding.path.clone(), finding.first.clone()));
                }
            }
            if findings.len() > FEW {
                let more = format!("{} more…", display::count((findings.len() - FEW) as u64));
                if ui.link(more).clicked() {
                    clicked = Some(Clicked::All);
                }
            }
        },
    );
    let line = ui.min_rect();
    ui.painter().hline(line.x_range(), line.bottom(), Theme::of(ui).hairline());
    clicked
}

/// All findings.
pub(super) fn all(ui: &mut Ui, listed: &Listed, pass: &Pass) -> Option<Clicked> {
    let mut clicked = None;
    let margin = egui::Margin::symmetric(space::S3 as i8, space::S2 as i8);
    egui::Frame::new().inner_margin(margin).show(ui, |ui| {
        clicked = head(ui, listed, pass);
        ui.add_space(space::S2);
        let Pass::Ended(examined) = pass else { return };
        let findings = &examined.health.findings;
        if findings.is_empty() {
            let words = "No NaN, no infinity, no odd norm, nothing dead, double or out of place.";
            theme::empty_state(ui, crate::gui::icons::Icon::Good, "Nothing was found", words);
            return;
        }
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            rows::ui(ui, findings.len(), LINE, |ui, n| {
                let Some(finding) = findings.get(n) else { return };
                if line(ui, finding) {
                    clicked = Some(Clicked::Go(finding.path.clone(), finding.first.clone()));
                }
            });
        });
    });
    clicked
}

/// How many findings of each severity there are, and of how many tensors.
fn head(ui: &mut Ui, listed: &Listed, pass: &Pass) -> Option<Clicked> {
    let theme = Theme::of(ui);
    let mut clicked = None;
    let tensors = display::plural(listed.parameters.tensors().len() as u64, "tensor");
    let bytes = display::bytes(listed.bytes);
    ui.horizontal(|ui| {
        ui.set_min_height(LINE);
        ui.label(theme::heading(theme, "Health"));
        match pass {
            Pass::Waits => {
                ui.label(theme::dim(theme, format!("not looked at yet: {tensors}, {bytes}")));
                if theme::button(ui, "Look at all values").clicked() {
                    clicked = Some(Clicked::Begin);
                }
            }
            Pass::Runs(progress) => {
                let share = theme::percent(*progress);
                ui.label(theme::dim(theme, format!("looking at {tensors}, {bytes} {share}")));
            }
            Pass::Stopped(words) => {
                ui.label(egui::RichText::new(words).color(theme.warn));
                if theme::button(ui, "Look again").clicked() {
                    clicked = Some(Clicked::Begin);
                }
            }
            Pass::Ended(examined) => {
                let health = &examined.health;
                for severity in [Severity::Error, Severity::Warning, Severity::Note] {
                    let count = health.count(severity);
                    if count > 0 {
                        let words = display::plural(count as u64, severity.word());
                        ui.label(egui::RichText::new(words).color(color(theme, severity)));
                    }
                }
                if health.findings.is_empty() {
                    ui.label(egui::RichText::new("nothing was found").color(theme.good));
                }
                let seconds = examined.took.as_secs_f64();
                // How long it took is worth a word where somebody waited.
                let took = if seconds >= WAITED { format!(" in {seconds:.1} s") } else { String::new() };
                let words = format!("{tensors} · {bytes}{took} · exact");
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    ui.add(egui::Label::new(theme::dim(theme, words)).truncate());
                });
            }
        }
    });
    clicked
}

/// As much of the end of a path as there is room for, in points: it tells tensors apart.
fn end_of(ui: &Ui, path: &str, width: f32) -> String {
    let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&mono_small_font(), '0')).max(1.0);
    let (room, count) = ((width / letter) as usize, path.chars().count());
    if count <= room {
        return path.to_owned();
    }
    let end: String = path.chars().skip(count - room.saturating_sub(1)).collect();
    format!("…{end}")
}

/// One finding; true if it was clicked.
fn line(ui: &mut Ui, finding: &Finding) -> bool {
    let theme = Theme::of(ui);
    let severity = finding.check.severity();
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::click());
    let is_of_tensor = !finding.path.is_empty();
    let place = finding.first.as_ref().map(|index| format!("first at {index:?}")).unwrap_or_default();
    response.widget_info(|| {
        let words = format!("{}: {} {} {place}", severity.word(), finding.message, finding.path);
        WidgetInfo::labeled(Role::Button, is_of_tensor, words)
    });
    if is_of_tensor && (response.hovered() || response.has_focus()) {
        ui.painter().rect_filled(rect, f32::from(size::CORNER), theme.bg3);
    }
    let painter = ui.painter();
    let middle = rect.center().y;
    painter.circle_filled(pos2(rect.left() + 6.0, middle), 4.5, color(theme, severity));
    let mut left = rect.left() + 16.0;
    let mut cell = |text: &str, font: FontId, color: Color32, width: f32| {
        let shown: String = text.chars().take(500).map(|c| if c.is_control() { ' ' } else { c }).collect();
        paint_elided(painter, pos2(left, middle), Align2::LEFT_CENTER, &shown, font, color, width);
        left += width + space::S2;
    };
    let wide = rect.width() - 16.0 - 70.0 - 30.0 - 4.0 * space::S2;
    cell(severity.word(), body_font(), color(theme, severity), 70.0);
    cell(&finding.message, body_font(), theme.text, wide * 0.38);
    let path = end_of(ui, &finding.path, wide * 0.4);
    cell(&path, mono_small_font(), theme.text, wide * 0.4);
    cell(&place, mono_small_font(), theme.dim, wide * 0.22);
    if is_of_tensor {
        cell("go", small_font(), theme.accent, 30.0);
    }
    let response = response.on_hover_ui(|ui| {
        ui.label(&finding.message);
        ui.label(theme::mono(finding.path.as_str()));
    });
    is_of_tensor && response.clicked()
}
