//! What can be done with a node, as lines of a context menu: of the explorer, of a list of nodes.

use egui::{Role, Ui, WidgetInfo};
use gander::data::content::Kind;

use super::commands::{Action, CommandId, Where};
use super::icons::Icon;
use super::snippets;
use super::target::{BytesOf, ExportSource, QueryStart, StoredValue, Target};
use super::theme;

/// The lines for a node.
pub(crate) fn ui(ui: &mut Ui, target: &Target, actions: &mut Vec<Action>) {
    if item(ui, Icon::OpenOutside, "Open in a new tab") {
        actions.push(Action::Show(target.clone(), Where::Kept));
    }
    if item(ui, Icon::SplitRight, "Open to the side") {
        actions.push(Action::Show(target.clone(), Where::Side));
    }
    if item(ui, Icon::Export, "Export…") {
        actions.push(Action::Export(ExportSource::Node(target.clone(), None)));
    }
    if target.node.kind() == Kind::Table && item(ui, Icon::Database, "Query with SQL") {
        actions.push(Action::Query(QueryStart::Table(target.clone(), String::new())));
    }
    if let Some(value) = StoredValue::node(&target.node)
        && item(ui, Icon::Binary, "Show bytes")
    {
        actions.push(Action::ShowBytes(BytesOf { node: target.place(), value, decoded: false }));
    }
    ui.separator();
    if item(ui, Icon::Copy, "Copy path") {
        actions.push(Action::Copy(target.address()));
    }
    if item(ui, Icon::Code, "Copy as Python") {
        actions.push(Action::Copy(snippets::python(target)));
    }
    if item(ui, Icon::Terminal, "Copy as command line") {
        actions.push(Action::Copy(snippets::command_line(target)));
    }
}

/// The menu of a picture or a plot: how it leaves the window. Of `elements` a pixel may stand for each.
pub(crate) fn picture(response: &egui::Response, elements: bool, actions: &mut Vec<Action>) {
    response.context_menu(|ui| {
        if item(ui, Icon::Copy, "Copy the picture as seen") {
            actions.push(Action::Do(CommandId::CopyPicture));
        }
        if elements && item(ui, Icon::Copy, "Copy the picture, one pixel an element") {
            actions.push(Action::Do(CommandId::CopyPixels));
        }
        if item(ui, Icon::Export, "Export the picture…") {
            actions.push(Action::Do(CommandId::ExportPicture));
        }
    });
}

/// A line; true if it was chosen, which closes the menu.
pub(crate) fn item(ui: &mut Ui, icon: Icon, words: &str) -> bool {
    let response = ui.button(theme::icon_text(icon, words));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, words));
    if response.clicked() {
        ui.close();
        return true;
    }
    false
}
