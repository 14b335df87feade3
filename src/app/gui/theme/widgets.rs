//! The small widgets every room shares. Each has a name a screen reader can say.

use egui::{
    Align, Button, Color32, CornerRadius, Frame, Label, Layout, Margin, Rect, Response, RichText, Role,
    Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, vec2,
};

use super::{Icon, Theme, body_font, dim, heading, icon, semi_bold, size, small_font, space};

/// The one button of a bar or dialog that does what the person came for.
pub(crate) fn primary_button(ui: &mut Ui, text: &str) -> Response {
    let theme = Theme::of(ui);
    let label = RichText::new(text).color(theme.on_accent).family(semi_bold());
    padded(ui, Button::new(label).fill(theme.accent).stroke(Stroke::NONE))
}

/// An ordinary button.
pub(crate) fn button(ui: &mut Ui, text: &str) -> Response {
    padded(ui, Button::new(text))
}

/// Buttons with words have a little more room at their sides than menu rows.
fn padded(ui: &mut Ui, button: Button<'_>) -> Response {
    let before = std::mem::replace(&mut ui.spacing_mut().button_padding.x, space::S3 - 2.0);
    let response = ui.add(button.min_size(vec2(0.0, size::CONTROL)));
    ui.spacing_mut().button_padding.x = before;
    response
}

/// A frameless button that shows only an icon; `name` is its tool tip and its accessible name.
pub(crate) fn icon_button(ui: &mut Ui, glyph: Icon, name: &str) -> Response {
    let color = Theme::of(ui).dim;
    let button = Button::new(icon(glyph).color(color)).frame_when_inactive(false);
    let response = ui.add(button.min_size(vec2(size::ROW, size::ROW)));
    let enabled = response.enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, name));
    response.on_hover_text(name)
}

/// What was done with a [`chip`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ChipResponse {
    /// The words were clicked: edit it.
    pub(crate) clicked: bool,
    /// The cross was clicked: remove it.
    pub(crate) removed: bool,
    /// Where it stands.
    pub(crate) place: Option<Rect>,
}

/// A rounded label such as a filter (`fare ≥ 3.00 ✕`): a name, a value in the accent colour (may be
/// empty), and a cross if it can be removed.
pub(crate) fn chip(ui: &mut Ui, name: &str, value: &str, removable: bool) -> ChipResponse {
    let theme = Theme::of(ui);
    let mut result = ChipResponse::default();
    let frame = Frame::new()
        .fill(theme.bg1)
        .stroke(theme.hairline())
        .corner_radius(CornerRadius::same((size::CONTROL / 2.0) as u8))
        .inner_margin(Margin::symmetric(10, 0));
    let shown = frame.show(ui, |ui| {
        ui.set_height(size::CONTROL - 2.0);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S1;
            let mut job = egui::text::LayoutJob::default();
            let format = |color| egui::TextFormat { font_id: body_font(), color, ..Default::default() };
            job.append(name, 0.0, format(theme.text));
            if !value.is_empty() {
                job.append(value, space::S1, format(theme.accent));
            }
            let words = ui.add(Label::new(job).sense(Sense::click()));
            let spoken = format!("{name} {value}");
            words.widget_info(|| WidgetInfo::labeled(Role::Button, true, spoken.trim()));
            result.clicked = words.clicked();
            if removable {
                let cross = Label::new(icon(Icon::Close).size(size::TEXT_MONO).color(theme.dim));
                let cross = ui.add(cross.sense(Sense::click()));
                let spoken = format!("Remove {}", spoken.trim());
                cross.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
                result.removed = cross.on_hover_text("Remove").clicked();
            }
        });
    });
    result.place = Some(shown.response.rect);
    result
}

/// A row of joined buttons of which one is on (`Numbers | Heat map | Image`). Arrow keys move
/// within it. True if `current` changed.
pub(crate) fn segmented<T: PartialEq + Copy>(
    ui: &mut Ui,
    name: &str,
    current: &mut T,
    options: &[(T, &str)],
) -> bool {
    let theme = Theme::of(ui);
    let before = *current;
    let galleys: Vec<_> = options
        .iter()
        .map(|(value, text)| {
            let color = if *value == *current { theme.text } else { theme.dim };
            ui.painter().layout_no_wrap((*text).to_owned(), body_font(), color)
        })
        .collect();
    let widths: Vec<f32> = galleys.iter().map(|galley| galley.size().x + 2.0 * (space::S3 - 1.0)).collect();
    let (rect, _) = ui.allocate_exact_size(vec2(widths.iter().sum::<f32>(), size::CONTROL), Sense::hover());
    let corner = CornerRadius::same(size::CORNER);
    ui.painter().rect_filled(rect, corner, theme.bg1);
    let group = ui.new_child(UiBuilder::new().max_rect(rect).accessibility_label(name));
    let mut left = rect.left();
    for (index, ((value, text), galley)) in options.iter().zip(galleys).enumerate() {
        let part =
            egui::Rect::from_min_size(egui::pos2(left, rect.top()), vec2(widths[index], rect.height()));
        left = part.right();
        let response = group.interact(part, group.unique_id().with(index), Sense::click());
        let on = *value == before;
        response.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, on, *text));
        if on || response.hovered() {
            let fill = if on { theme.bg3 } else { theme.bg2 };
            ui.painter().rect_filled(part.shrink(1.0), corner, fill);
        }
        if index > 0 {
            ui.painter().vline(part.left(), part.y_range(), theme.hairline());
        }
        if response.has_focus() {
            ui.painter().rect_stroke(part, corner, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
        }
        let at = part.center() - galley.size() / 2.0;
        ui.painter().galley(at.round_to_pixels(ui), galley, theme.text);
        if response.clicked() {
            *current = *value;
        }
    }
    ui.painter().rect_stroke(rect, corner, theme.hairline(), StrokeKind::Inside);
    *current != before
}

/// Lets [`segmented`] and others place text on whole pixels.
trait RoundToPixels {
    fn round_to_pixels(self, ui: &Ui) -> Self;
}

impl RoundToPixels for egui::Pos2 {
    fn round_to_pixels(self, ui: &Ui) -> Self {
        egui::emath::GuiRounding::round_to_pixels(self, ui.pixels_per_point())
    }
}

/// The head of a section of a panel, with an optional note behind it (`STATISTICS exact`).
pub(crate) fn section_head(ui: &mut Ui, text: &str, note: Option<(&str, Color32)>) -> Response {
    let theme = Theme::of(ui);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::S1;
        let head = ui.label(heading(theme, text));
        let spoken = text.to_owned();
        head.widget_info(|| WidgetInfo::labeled(Role::Label, true, &spoken));
        if let Some((note, color)) = note {
            ui.label(RichText::new(note).font(small_font()).color(color));
        }
    })
    .response
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Worth knowing.
    Info,
    /// Odd, but readable.
    Remark,
    /// Something could not be read or is wrong.
    Problem,
}

/// What was done with a [`problem_banner`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Banner {
    /// The line whose `go` link was clicked.
    pub(crate) go: Option<usize>,
}

/// A tinted box with a head and lines of words; a line may carry a link that goes to the place.
pub(crate) fn problem_banner(
    ui: &mut Ui,
    severity: Severity,
    title: &str,
    lines: &[(&str, Option<&str>)],
) -> Banner {
    let theme = Theme::of(ui);
    let (color, glyph) = match severity {
        Severity::Info => (theme.accent, Icon::Info),
        Severity::Remark => (theme.warn, Icon::Warning),
        Severity::Problem => (theme.bad, Icon::Problem),
    };
    let mut banner = Banner::default();
    let margin = Margin::symmetric(space::S3 as i8, space::S2 as i8);
    Frame::new().fill(theme.tint(color)).inner_margin(margin).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        ui.spacing_mut().interact_size.y = 18.0;
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = space::S1;
            ui.label(icon(glyph).color(color));
            let head = ui.label(heading(theme, title).color(color));
            let spoken = title.to_owned();
            head.widget_info(|| WidgetInfo::labeled(Role::Label, true, &spoken));
        });
        for (index, (words, link)) in lines.iter().enumerate() {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = space::S1;
                ui.label(RichText::new(*words).color(theme.text));
                if let Some(link) = link
                    && ui.link(*link).clicked()
                {
                    banner.go = Some(index);
                }
            });
        }
    });
    banner
}

/// Says what a view waits for, in its middle; only after 150 ms, so that what comes at once
/// does not flash. Give each place its own `id`.
pub(crate) fn pending(ui: &mut Ui, id: egui::Id, what: &str) {
    const PATIENCE: f64 = 0.15;
    let (now, pass) = (ui.input(|input| input.time), ui.ctx().cumulative_pass_nr());
    let since = ui.data_mut(|data| {
        let entry = data.get_temp_mut_or_insert_with(id, || (now, pass));
        if pass > entry.1 + 1 {
            // It was not shown in between, so this is another wait.
            entry.0 = now;
        }
        entry.1 = pass;
        entry.0
    });
    let left = PATIENCE - (now - since);
    if left > 0.0 {
        ui.ctx().request_repaint_after_secs(left as f32);
        return;
    }
    let theme = Theme::of(ui);
    middle(ui, 64.0, |ui| {
        ui.label(icon(Icon::Hourglass).size(24.0).color(theme.faint));
        ui.label(dim(theme, what));
    });
}

/// Says in the middle of a view that there is nothing here and why.
pub(crate) fn empty_state(ui: &mut Ui, glyph: Icon, title: &str, words: &str) {
    let theme = Theme::of(ui);
    middle(ui, 96.0, |ui| {
        ui.label(icon(glyph).size(28.0).color(theme.faint));
        ui.add_space(space::S1);
        ui.label(RichText::new(title).family(semi_bold()).color(theme.text));
        if !words.is_empty() {
            ui.label(dim(theme, words));
        }
    });
}

/// Says in the middle of what is left of `ui` that nothing is there, and offers what changes that; whether it is
/// wanted.
pub(crate) fn empty_offer(ui: &mut Ui, glyph: Icon, title: &str, offer: &str) -> bool {
    empty_state(ui, glyph, title, "");
    ui.add_space(space::S2);
    ui.vertical_centered(|ui| button(ui, offer).clicked()).inner
}

/// Says in the middle of what is left of `ui` that the user cancelled something. True once it is to run again.
pub(crate) fn cancelled(ui: &mut Ui, words: &str) -> bool {
    empty_state(ui, Icon::Stop, CANCELLED, words);
    ui.vertical_centered(|ui| button(ui, RUN_AGAIN).clicked()).inner
}

/// The same in one line.
pub(crate) fn cancelled_line(ui: &mut Ui) -> bool {
    ui.horizontal(|ui| {
        ui.label(dim(Theme::of(ui), format!("{CANCELLED} ·")));
        ui.link(RUN_AGAIN).clicked()
    })
    .inner
}

/// What stands for work that the user cancelled, and what starts it anew.
const CANCELLED: &str = "Cancelled";
const RUN_AGAIN: &str = "Run again";

/// Lays `contents`, about `height` high, in the middle of what is left of `ui`.
fn middle(ui: &mut Ui, height: f32, contents: impl FnOnce(&mut Ui)) {
    ui.vertical_centered(|ui| {
        ui.add_space(((ui.available_height() - height) / 2.0).max(0.0));
        contents(ui);
    });
}

/// A form in a popup of a button. egui remembers one open popup only, so a list that opens inside an ordinary
/// popup would close it; a form stands until Escape, a click elsewhere while no list is open, or `ui.close()`.
pub(crate) fn form<R>(
    popup: egui::Popup<'_>,
    button: &Response,
    content: impl FnOnce(&mut Ui) -> R,
) -> Option<R> {
    use egui::PopupCloseBehavior::{CloseOnClickOutside, IgnoreClicks};
    let ctx = &button.ctx;
    let (id, now) = (form_id(button), ctx.cumulative_pass_nr());
    // Open is what was drawn in the pass before: a form of a view that went goes with it.
    let mut open = ctx.data(|data| data.get_temp::<u64>(id)).is_some_and(|last| last + 1 >= now);
    if button.clicked() {
        open = !open;
    }
    let (was, list) = (open, egui::Popup::is_any_open(ctx));
    let close = if list { IgnoreClicks } else { CloseOnClickOutside };
    let shown = popup.close_behavior(close).open_bool(&mut open).show(content);
    // Escape closes a list in it first.
    open |= was && list && ctx.input(|input| input.key_pressed(egui::Key::Escape));
    if open {
        ctx.data_mut(|data| {
            data.insert_temp(id, now);
            data.insert_temp(any_form(), now);
        });
    } else {
        ctx.data_mut(|data| data.remove::<u64>(id));
    }
    shown.map(|shown| shown.inner)
}

/// Opens the form of a button that is drawn in this pass.
pub(crate) fn open_form(button: &Response) {
    let now = button.ctx.cumulative_pass_nr();
    button.ctx.data_mut(|data| data.insert_temp(form_id(button), now));
}

/// Whether a form stands.
pub(crate) fn is_form_open(ctx: &egui::Context) -> bool {
    let now = ctx.cumulative_pass_nr();
    ctx.data(|data| data.get_temp::<u64>(any_form())).is_some_and(|last| last + 1 >= now)
}

fn any_form() -> egui::Id {
    egui::Id::unique("any form")
}

fn form_id(button: &Response) -> egui::Id {
    button.id.with("form")
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[derive(Default)]
    struct Seen {
        mode: u8,
        removed: bool,
        go: Option<usize>,
        pressed: usize,
    }

    fn panel(ui: &mut Ui, seen: &mut Seen) {
        segmented(ui, "View", &mut seen.mode, &[(0, "Numbers"), (1, "Heat map")]);
        seen.removed |= chip(ui, "fare", "≥ 3.00", true).removed;
        seen.pressed += usize::from(icon_button(ui, Icon::Reload, "Reload").clicked());
        seen.pressed += usize::from(primary_button(ui, "Export…").clicked());
        section_head(ui, "Statistics", Some(("exact", Theme::of(ui).good)));
        let lines = [("3 NaN", Some("go")), ("row 88 is all zero", Some("go there"))];
        let banner = problem_banner(ui, Severity::Problem, "Health", &lines);
        seen.go = banner.go.or(seen.go);
    }

    #[test]
    fn the_shared_widgets_can_be_found_by_name_and_answer() {
        // The harness also checks that every widget has a name.
        let mut harness = Harness::builder()
            .with_context_setup(crate::gui::theme::apply)
            .build_ui_state(panel, Seen::default());
        for name in ["Heat map", "Remove fare ≥ 3.00", "Reload", "Export…", "go there"] {
            harness.get_by_label(name).click();
            harness.run();
        }
        let seen = harness.state();
        assert_eq!((seen.mode, seen.removed, seen.go, seen.pressed), (1, true, Some(1), 2));
        harness.get_by_label("Statistics");
    }
}
