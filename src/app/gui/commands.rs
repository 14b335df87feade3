//! What the window can be asked to do: one table that menus, keys, the palette and the help share. What a view can be
//! asked to do it publishes itself, by labels of the same kind.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Context, Key, KeyboardShortcut, Modifiers};
use gander::convert::recipe::Recipe;
use gander::data::format::Options;
use gander::data::security::Report;

use super::icons::Icon;
use super::settings::Settings;
use super::target::{BytesOf, ExportSource, QueryStart, Request, Target};

/// Something to be done after this frame, by whoever draws.
pub(crate) enum Action {
    /// Do a command of the table.
    Do(CommandId),
    /// Open files and folders.
    Open(Vec<PathBuf>),
    /// Open the files that come with the program.
    Samples,
    /// Ask for a file and open it.
    OpenFileDialog,
    /// Open all files anew.
    ReloadAll,
    /// Open a file anew.
    Reload(u64),
    /// Let readers read this folder from now on, and open a file anew that names what lies in it.
    AllowFolder(u64, PathBuf),
    /// Open a file anew as another format, by the format's id.
    OpenAs(u64, &'static str),
    /// Open a file anew with these options (a CSV's delimiter).
    Reopen(u64, Options),
    /// Close a file and its tabs.
    Close(u64),
    /// Show a file's root in a tab, also while it opens or when it failed.
    ShowFile(u64),
    /// Show a node in a tab.
    Show(Target, Where),
    /// Show the bytes behind a value.
    ShowBytes(BytesOf),
    /// Show a new SQL query that begins like this.
    Query(QueryStart),
    /// Show a file in the system's file manager.
    Reveal(PathBuf),
    /// Pass this to the active view.
    Ask(Request),
    /// Do a command of the active view, by its place among those that it publishes.
    ViewCommand(usize),
    /// Put this text on the clipboard.
    Copy(String),
    /// Show a long text in full, under a title.
    Read(String, String),
    /// Ask for a file to write to, beginning with this one.
    AskSave(PathBuf),
    /// Ask for a folder to write to.
    AskFolder,
    /// Open the dialog that converts many files.
    Convert(Vec<PathBuf>),
    /// Open the export dialog for this.
    Export(ExportSource),
    /// Write a recipe to a file of this name, or one beside it where that exists.
    SaveRecipe(Box<Recipe>, PathBuf),
    /// Show what loading something would run: its name, and the report.
    Security(String, Arc<Report>),
    /// Take these settings and keep them.
    Settings(Box<Settings>),
    /// Say this at the bottom of the window for a while.
    Notice(String),
}

/// In which tab a node is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// The one preview tab (in italics), which the next preview replaces.
    Preview,
    /// A tab of its own that stays.
    Kept,
    /// A kept tab beside the active one.
    Side,
}

/// The menu under which a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Menu {
    File,
    Edit,
    View,
    Data,
    Help,
}

impl Menu {
    /// All of them, in their order.
    pub(crate) const ALL: [Menu; 5] = [Menu::File, Menu::Edit, Menu::View, Menu::Data, Menu::Help];

    /// The word in the menu bar.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Menu::File => "File",
            Menu::Edit => "Edit",
            Menu::View => "View",
            Menu::Data => "Data",
            Menu::Help => "Help",
        }
    }
}

/// What a command is called, and its keys: one of the window's or of a view.
#[derive(Debug)]
pub(crate) struct Label {
    /// The words, as in the menu.
    pub(crate) words: &'static str,
    pub(crate) icon: Icon,
    pub(crate) keys: Option<KeyboardShortcut>,
    /// Whether a line stands above it in the menu.
    pub(crate) apart: bool,
}

impl Label {
    /// Without keys.
    pub(crate) const fn new(words: &'static str, icon: Icon) -> Self {
        Label { words, icon, keys: None, apart: false }
    }

    /// With these keys. With Control, Alt or Shift, since letters alone are typed.
    pub(crate) const fn keys(mut self, modifiers: Modifiers, key: Key) -> Self {
        self.keys = Some(KeyboardShortcut::new(modifiers, key));
        self
    }

    /// With a line above it.
    pub(crate) const fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// The keys in words, for menus, tips and the help.
    pub(crate) fn keys_text(&self, ctx: &Context) -> String {
        self.keys.map_or(String::new(), |keys| ctx.format_shortcut(&keys))
    }

    /// The words with the keys behind them, for tips.
    pub(crate) fn tip(&self, ctx: &Context) -> String {
        match self.keys {
            Some(_) => format!("{} ({})", self.words, self.keys_text(ctx)),
            None => self.words.to_owned(),
        }
    }
}

/// A line of the table.
pub(crate) struct Command {
    pub(crate) id: CommandId,
    pub(crate) menu: Menu,
    pub(crate) label: Label,
    /// Whether it needs an open tab.
    pub(crate) needs_tab: bool,
}

pub(crate) const CTRL: Modifiers = Modifiers::COMMAND;
pub(crate) const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL_ALT: Modifiers = Modifiers { alt: true, ..Modifiers::COMMAND };
const CTRL_ALT_SHIFT: Modifiers = Modifiers { shift: true, ..CTRL_ALT };
pub(crate) const ALT: Modifiers = Modifiers::ALT;

const fn command(id: CommandId, menu: Menu, words: &'static str, icon: Icon) -> Command {
    Command { id, menu, label: Label::new(words, icon), needs_tab: false }
}

impl Command {
    const fn keys(mut self, modifiers: Modifiers, key: Key) -> Self {
        self.label.keys = Some(KeyboardShortcut::new(modifiers, key));
        self
    }

    const fn apart(mut self) -> Self {
        self.label.apart = true;
        self
    }

    const fn tab(mut self) -> Self {
        self.needs_tab = true;
        self
    }
}

/// Declares the commands, and the table with a line for each: what is not in the table is no command.
macro_rules! commands {
    ($($menu:ident { $($id:ident $words:literal $icon:ident $(.$set:ident($($value:expr),*))*;)* })*) => {
        /// A command. Who does them ([`super::app`]) matches all of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "COMMANDS says what each does")]
        pub(crate) enum CommandId {
            $($($id,)*)*
        }

        /// Every command, in the order of the menus.
        pub(crate) static COMMANDS: &[Command] =
            &[$($(command(CommandId::$id, Menu::$menu, $words, Icon::$icon)$(.$set($($value),*))*,)*)*];
    };
}

commands! {
    File {
        OpenFile "Open file…" File .keys(CTRL, Key::O);
        OpenFolder "Open folder…" Folder .keys(CTRL_SHIFT, Key::O);
        OpenPath "Open by path…" Terminal .keys(CTRL, Key::L);
        OpenRaw "Open as raw array…" Array .keys(CTRL_SHIFT, Key::R).tab();
        Reload "Reload" Reload .keys(NONE, Key::F5).apart().tab();
        Export "Export…" Export .keys(CTRL, Key::E).tab();
        ExportPicture "Export the picture…" Image .keys(CTRL_ALT, Key::E).tab();
        Convert "Convert files…" Swap .keys(CTRL_SHIFT, Key::E);
        CloseTab "Close tab" Close .keys(CTRL, Key::W).apart().tab();
        CloseFile "Close file" Close .keys(CTRL_SHIFT, Key::W).tab();
        CloseAll "Close all files" Close .keys(CTRL_ALT, Key::W);
        Quit "Quit" Close .keys(CTRL, Key::Q).apart();
    }
    Edit {
        CopyPath "Copy path of node" Copy .keys(ALT, Key::C).tab();
        CopyPython "Copy as Python" Code .keys(ALT, Key::P).tab();
        CopyCommand "Copy as command line" Terminal .keys(ALT, Key::L).tab();
        CopyPicture "Copy the picture as seen" Image .keys(CTRL_ALT, Key::C).tab();
        CopyPixels "Copy the picture, one pixel an element" Image .keys(CTRL_ALT_SHIFT, Key::C).tab();
        Find "Find in view" Search .keys(CTRL, Key::F).apart().tab();
        FilterExplorer "Filter the explorer" Filter .keys(CTRL_SHIFT, Key::F);
        Settings "Settings…" Sliders .keys(CTRL, Key::Comma).apart();
    }
    View {
        GoToAnything "Go to anything…" Search .keys(CTRL, Key::P);
        Commands "All commands…" Command .keys(CTRL_SHIFT, Key::P);
        Explorer "Explorer" Sidebar .keys(CTRL, Key::B).apart();
        Inspector "Inspector" Info .keys(CTRL, Key::I);
        NextTab "Next tab" CaretRight .keys(CTRL, Key::Tab).apart().tab();
        PreviousTab "Previous tab" CaretLeft .keys(CTRL_SHIFT, Key::Tab).tab();
        KeepTab "Keep tab" Pin .keys(CTRL, Key::K).tab();
        Split "Split to the side" SplitRight .keys(CTRL, Key::Backslash).tab();
        ZoomIn "Larger text" ZoomIn .keys(CTRL, Key::Plus).apart();
        ZoomOut "Smaller text" ZoomOut .keys(CTRL, Key::Minus);
        ZoomReset "Usual text size" Fit .keys(CTRL, Key::Num0);
        FullScreen "Full screen" Fit .keys(NONE, Key::F11);
        ThemeSystem "Theme: as the system" Contrast .keys(CTRL_ALT, Key::Num1).apart();
        ThemeLight "Theme: light" Sun .keys(CTRL_ALT, Key::Num2);
        ThemeDark "Theme: dark" Moon .keys(CTRL_ALT, Key::Num3);
        ThemeToggle "Theme: the other one" Contrast .keys(CTRL_SHIFT, Key::T);
    }
    Data {
        Sql "New SQL query" Database .keys(CTRL_SHIFT, Key::Q);
        GoTo "Go to row or element…" Target .keys(CTRL, Key::G).tab();
        Security "What loading it would run…" Warning .keys(CTRL_ALT, Key::R).tab();
        CancelJobs "Cancel all jobs" Stop .keys(CTRL, Key::Period).apart();
    }
    Help {
        Keys "Keys" Keyboard .keys(NONE, Key::F1);
        About "About Gander" Info .keys(SHIFT, Key::F1);
    }
}

/// The line of a command.
pub(crate) fn get(id: CommandId) -> &'static Command {
    // The table has them in the order of the enumeration.
    &COMMANDS[id as usize]
}

/// The commands whose keys were pressed.
pub(crate) fn pressed(ctx: &Context) -> Vec<CommandId> {
    let labels: Vec<&Label> = COMMANDS.iter().map(|command| &command.label).collect();
    let out: Vec<CommandId> = pressed_of(ctx, &labels).into_iter().map(|at| COMMANDS[at].id).collect();
    out
}

/// The places of those whose keys were pressed, which nobody else gets then. Those with Shift and Alt are asked first, then
/// those with one of them: the shorter ones fit too.
pub(crate) fn pressed_of(ctx: &Context, labels: &[&Label]) -> Vec<usize> {
    let keyed = |more: u8| {
        labels.iter().enumerate().filter_map(move |(at, label)| {
            let keys = label.keys?;
            let own = u8::from(keys.modifiers.shift) + u8::from(keys.modifiers.alt);
            (own == more).then_some((at, keys))
        })
    };
    ctx.input_mut(|input| {
        let mut out = Vec::new();
        for (at, keys) in [2, 1, 0].into_iter().flat_map(keyed) {
            // Plus without Shift is the other sign of its key.
            let plain = keys.logical_key == Key::Plus && input.consume_key(keys.modifiers, Key::Equals);
            if plain || input.consume_shortcut(&keys) {
                out.push(at);
                // With Alt the letter comes as a text, too.
                if input.modifiers.alt {
                    input.events.retain(|event| !matches!(event, egui::Event::Text(_)));
                }
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_keys_or_words() {
        for (index, command) in COMMANDS.iter().enumerate() {
            for other in &COMMANDS[index + 1..] {
                assert_ne!(command.label.words, other.label.words);
                assert!(
                    command.label.keys.is_none() || command.label.keys != other.label.keys,
                    "{}",
                    command.label.words
                );
                assert_ne!(command.id, other.id);
            }
            assert_eq!(get(command.id).id, command.id);
        }
    }

    #[test]
    fn keys_with_more_modifiers_win() {
        for (modifiers, key, expected) in [
            (CTRL, Key::W, CommandId::CloseTab),
            (CTRL_SHIFT, Key::W, CommandId::CloseFile),
            (CTRL_ALT, Key::W, CommandId::CloseAll),
            (CTRL_ALT, Key::C, CommandId::CopyPicture),
            (CTRL_ALT_SHIFT, Key::C, CommandId::CopyPixels),
        ] {
            let ctx = Context::default();
            let modifiers = Modifiers { ctrl: true, ..modifiers };
            let key = egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
            let input = egui::RawInput { events: vec![key], ..egui::RawInput::default() };
            let mut found = Vec::new();
            ctx.run_ui(input, |ui| found.extend(pressed(ui.ctx()))).textures_delta.clear();
            assert_eq!(found, [expected]);
        }
    }

    #[test]
    fn nothing_saves_over_the_users_data() {
        let save = KeyboardShortcut::new(CTRL, Key::S);
        assert!(COMMANDS.iter().all(|command| command.label.keys != Some(save)));
    }
}
