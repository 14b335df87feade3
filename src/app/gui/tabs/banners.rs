//! What is said above a view of its file: that it changed, that its reader crashed, that it names what its reader may not read.

use std::path::Path;

use egui::Ui;
use gander::bytes::display;
use gander::bytes::error::Error;

use crate::gui::commands::Action;
use crate::gui::files::Files;
use crate::gui::theme::{self, Severity};
use crate::gui::ui::banner;
use crate::gui::watch::Change;
use crate::isolation;

/// All that is to be said of a file; `name` is that of the tab.
pub(super) fn of_file(ui: &mut Ui, name: &str, file: u64, files: &Files, actions: &mut Vec<Action>) {
    let Some(open) = files.get(file) else { return };
    if let Some(change) = open.change.filter(|change| *change != Change::Grown) {
        changed(ui, name, file, change, actions);
    }
    let Some(document) = open.document() else { return };
    if let Some(error) = isolation::crash_of(&document.source) {
        crashed(ui, file, &error, actions);
    } else if let [first, others @ ..] = isolation::refused_folders(&document.source).as_slice() {
        refused(ui, file, first, others.len(), actions);
    }
}

/// Says that somebody else changed the file, and offers to open it anew.
fn changed(ui: &mut Ui, name: &str, file: u64, change: Change, actions: &mut Vec<Action>) {
    let words = match change {
        // It is opened again by itself, and then it is none.
        Change::Grown => "has grown and is read again.",
        Change::Changed => "has changed on disk since it was opened. What is shown may be old or broken.",
        Change::Gone => "is not there any more. What is in memory can still be looked at.",
    };
    banner(ui, Severity::Remark, &format!("{name} {words}"), |ui| {
        if change == Change::Changed && theme::button(ui, "Reload").on_hover_text("F5").clicked() {
            actions.push(Action::Reload(file));
        }
    });
}

/// Says that the reader of a file crashed, and what can be done. Other files go on.
fn crashed(ui: &mut Ui, file: u64, error: &Error, actions: &mut Vec<Action>) {
    banner(ui, Severity::Problem, &error.message(), |ui| {
        if theme::button(ui, "Show its bytes").clicked() {
            actions.push(Action::OpenAs(file, "bytes"));
        }
        if theme::button(ui, "Open again").on_hover_text("F5").clicked() {
            actions.push(Action::Reload(file));
        }
    });
}

/// Says that a file names what lies in a folder that its reader may not read, and asks whether it may.
fn refused(ui: &mut Ui, file: u64, folder: &Path, others: usize, actions: &mut Vec<Action>) {
    let more = match others {
        0 => String::new(),
        _ => format!(" and in {}", display::plural(others as u64, "other folder")),
    };
    let words = format!("It names files in {}{more}, which its reader may not read.", folder.display());
    let hover =
        format!("Readers may read {} until the window is closed; the file is opened again", folder.display());
    banner(ui, Severity::Remark, &words, |ui| {
        if theme::button(ui, "Read that folder too").on_hover_text(hover).clicked() {
            actions.push(Action::AllowFolder(file, folder.to_owned()));
        }
    });
}

#[cfg(test)]
mod tests {
    use egui::vec2;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    /// What is pressed of a banner, and what that asks for.
    fn pressed(name: &str, draw: fn(&mut Ui, &mut Vec<Action>)) -> Vec<Action> {
        let builder = Harness::builder().with_size(vec2(360.0, 60.0)).with_context_setup(theme::apply);
        let mut harness = builder.build_ui_state(draw, Vec::new());
        harness.step();
        harness.get_by_label(name).click();
        harness.step();
        harness.step();
        std::mem::take(harness.state_mut())
    }

    #[test]
    fn a_reader_that_crashed_is_started_again_or_the_bytes_are_shown() {
        let draw: fn(&mut Ui, &mut Vec<Action>) = |ui, actions| {
            let words = "the reader of a file with a very long name crashed twice: segmentation fault; the file stays closed";
            crashed(ui, 7, &Error::crashed(words), actions);
        };
        assert!(matches!(pressed("Open again", draw)[..], [Action::Reload(7)]));
        assert!(matches!(pressed("Show its bytes", draw)[..], [Action::OpenAs(7, "bytes")]));
    }

    #[test]
    fn a_folder_is_read_where_that_is_allowed() {
        let all = pressed("Read that folder too", |ui, actions| {
            refused(ui, 7, "/data/images".as_ref(), 2, actions)
        });
        assert!(matches!(&all[..], [Action::AllowFolder(7, folder)] if folder == Path::new("/data/images")));
    }

    #[test]
    fn a_file_that_changed_is_opened_anew_and_one_that_is_gone_is_not() {
        let all = pressed("Reload", |ui, actions| changed(ui, "a.csv", 7, Change::Changed, actions));
        assert!(matches!(all[..], [Action::Reload(7)]));
        let draw = |ui: &mut Ui| changed(ui, "a.csv", 7, Change::Gone, &mut Vec::new());
        let harness =
            Harness::builder().with_size(vec2(360.0, 60.0)).with_context_setup(theme::apply).build_ui(draw);
        assert!(harness.query_by_label("Reload").is_none());
    }
}
