//! What the window can be asked to do: one table that menus, keys, the palette and the help share.

use std::path::PathBuf;

use egui::{Context, Key, KeyboardShortcut, Modifiers};
use gander::data::format::{Data, Options};

use super::icons::Icon;
use super::target::{Request, Target};

/// Something to be done after this frame, by whoever draws.
pub(crate) enum Action {
    /// Do a command of the table.
    Do(Cmd),
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
    /// Show a new SQL query that begins with this node's table and these clauses, WHERE and ORDER BY.
    Query(Target, String),
    /// A tab for this statement, beside what is shown.
    Statement(Target, String),
    /// Show a file in the system's file manager.
    Reveal(PathBuf),
    /// Pass this to the active view.
    Ask(Request),
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
    /// Open the export dialog for this node, or for a part of it with words for what it is.
    Export(Target, Option<(String, Data)>),
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

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "COMMANDS says what each does")]
pub(crate) enum Cmd {
    OpenFile,
    OpenFolder,
    OpenPath,
    OpenRaw,
    Reload,
    Export,
    Convert,
    CloseTab,
    CloseFile,
    CloseAll,
    Quit,
    CopyPath,
    CopyPython,
    CopyCommand,
    Find,
    FilterExplorer,
    GoToAnything,
    Commands,
    GoTo,
    Explorer,
    Inspector,
    NextTab,
    PreviousTab,
    KeepTab,
    Split,
    ZoomIn,
    ZoomOut,
    ZoomReset,
    FullScreen,
    ThemeSystem,
    ThemeLight,
    ThemeDark,
    ThemeToggle,
    ViewZoomIn,
    ViewZoomOut,
    ViewFit,
    CancelJobs,
    EarlierVersion,
    LaterVersion,
    Sql,
    Keys,
    About,
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

/// A line of the table.
pub(crate) struct Command {
    pub(crate) id: Cmd,
    pub(crate) menu: Menu,
    /// The words, as in the menu.
    pub(crate) words: &'static str,
    pub(crate) icon: Icon,
    pub(crate) keys: Option<KeyboardShortcut>,
    /// Whether a line stands above it in the menu.
    pub(crate) apart: bool,
    /// Whether it needs an open tab.
    pub(crate) needs_tab: bool,
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL_ALT: Modifiers = Modifiers { alt: true, ..Modifiers::COMMAND };
const ALT: Modifiers = Modifiers::ALT;

const fn command(id: Cmd, menu: Menu, words: &'static str, icon: Icon) -> Command {
    Command { id, menu, words, icon, keys: None, apart: false, needs_tab: false }
}

impl Command {
    const fn keys(mut self, modifiers: Modifiers, key: Key) -> Self {
        self.keys = Some(KeyboardShortcut::new(modifiers, key));
        self
    }

    const fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    const fn tab(mut self) -> Self {
        self.needs_tab = true;
        self
    }

    /// The keys in words, for menus and the help.
    pub(crate) fn keys_text(&self, ctx: &Context) -> String {
        self.keys.map_or(String::new(), |keys| ctx.format_shortcut(&keys))
    }
}

/// Every command.
pub(crate) static COMMANDS: &[Command] = &[
    command(Cmd::OpenFile, Menu::File, "Open file…", Icon::File).keys(CTRL, Key::O),
    command(Cmd::OpenFolder, Menu::File, "Open folder…", Icon::Folder).keys(CTRL_SHIFT, Key::O),
    command(Cmd::OpenPath, Menu::File, "Open by path…", Icon::Terminal).keys(CTRL, Key::L),
    command(Cmd::OpenRaw, Menu::File, "Open as raw array…", Icon::Array).keys(CTRL_SHIFT, Key::R).tab(),
    command(Cmd::Reload, Menu::File, "Reload", Icon::Reload).keys(NONE, Key::F5).apart().tab(),
    command(Cmd::Export, Menu::File, "Export…", Icon::Export).keys(CTRL, Key::E).tab(),
    command(Cmd::Convert, Menu::File, "Convert files…", Icon::Swap).keys(CTRL_SHIFT, Key::E),
    command(Cmd::CloseTab, Menu::File, "Close tab", Icon::Close).keys(CTRL, Key::W).apart().tab(),
    command(Cmd::CloseFile, Menu::File, "Close file", Icon::Close).keys(CTRL_SHIFT, Key::W).tab(),
    command(Cmd::CloseAll, Menu::File, "Close all files", Icon::Close).keys(CTRL_ALT, Key::W),
    command(Cmd::Quit, Menu::File, "Quit", Icon::Close).keys(CTRL, Key::Q).apart(),
    command(Cmd::CopyPath, Menu::Edit, "Copy path of node", Icon::Copy).keys(ALT, Key::C).tab(),
    command(Cmd::CopyPython, Menu::Edit, "Copy as Python", Icon::Code).keys(ALT, Key::P).tab(),
    command(Cmd::CopyCommand, Menu::Edit, "Copy as command line", Icon::Terminal).keys(ALT, Key::L).tab(),
    command(Cmd::Find, Menu::Edit, "Find in view", Icon::Search).keys(CTRL, Key::F).apart().tab(),
    command(Cmd::FilterExplorer, Menu::Edit, "Filter the explorer", Icon::Filter).keys(CTRL_SHIFT, Key::F),
    command(Cmd::GoToAnything, Menu::View, "Go to anything…", Icon::Search).keys(CTRL, Key::P),
    command(Cmd::Commands, Menu::View, "All commands…", Icon::Command).keys(CTRL_SHIFT, Key::P),
    command(Cmd::Explorer, Menu::View, "Explorer", Icon::Sidebar).keys(CTRL, Key::B).apart(),
    command(Cmd::Inspector, Menu::View, "Inspector", Icon::Info).keys(CTRL, Key::I),
    command(Cmd::NextTab, Menu::View, "Next tab", Icon::CaretRight).keys(CTRL, Key::Tab).apart().tab(),
    command(Cmd::PreviousTab, Menu::View, "Previous tab", Icon::CaretLeft).keys(CTRL_SHIFT, Key::Tab).tab(),
    command(Cmd::KeepTab, Menu::View, "Keep tab", Icon::Pin).keys(CTRL, Key::K).tab(),
    command(Cmd::Split, Menu::View, "Split to the side", Icon::SplitRight).keys(CTRL, Key::Backslash).tab(),
    command(Cmd::ZoomIn, Menu::View, "Larger text", Icon::ZoomIn).keys(CTRL, Key::Plus).apart(),
    command(Cmd::ZoomOut, Menu::View, "Smaller text", Icon::ZoomOut).keys(CTRL, Key::Minus),
    command(Cmd::ZoomReset, Menu::View, "Usual text size", Icon::Fit).keys(CTRL, Key::Num0),
    command(Cmd::FullScreen, Menu::View, "Full screen", Icon::Fit).keys(NONE, Key::F11),
    command(Cmd::ThemeSystem, Menu::View, "Theme: as the system", Icon::Contrast)
        .keys(CTRL_ALT, Key::Num1)
        .apart(),
    command(Cmd::ThemeLight, Menu::View, "Theme: light", Icon::Sun).keys(CTRL_ALT, Key::Num2),
    command(Cmd::ThemeDark, Menu::View, "Theme: dark", Icon::Moon).keys(CTRL_ALT, Key::Num3),
    command(Cmd::ThemeToggle, Menu::View, "Theme: the other one", Icon::Contrast).keys(CTRL_SHIFT, Key::T),
    command(Cmd::Sql, Menu::Data, "New SQL query", Icon::Database).keys(CTRL_SHIFT, Key::Q).tab(),
    command(Cmd::GoTo, Menu::Data, "Go to row or element…", Icon::Target).keys(CTRL, Key::G).tab(),
    command(Cmd::EarlierVersion, Menu::Data, "Earlier version of the table", Icon::CaretLeft)
        .keys(ALT, Key::Comma)
        .tab(),
    command(Cmd::LaterVersion, Menu::Data, "Later version of the table", Icon::CaretRight)
        .keys(ALT, Key::Period)
        .tab(),
    command(Cmd::ViewZoomIn, Menu::Data, "Zoom into the picture", Icon::ZoomIn)
        .keys(ALT, Key::Plus)
        .apart()
        .tab(),
    command(Cmd::ViewZoomOut, Menu::Data, "Zoom out of the picture", Icon::ZoomOut)
        .keys(ALT, Key::Minus)
        .tab(),
    command(Cmd::ViewFit, Menu::Data, "Fit the picture", Icon::Fit).keys(ALT, Key::Num0).tab(),
    command(Cmd::CancelJobs, Menu::Data, "Cancel all jobs", Icon::Stop).keys(CTRL, Key::Period).apart(),
    command(Cmd::Keys, Menu::Help, "Keys", Icon::Keyboard).keys(NONE, Key::F1),
    command(Cmd::About, Menu::Help, "About Gander", Icon::Info).keys(SHIFT, Key::F1),
];

/// The line of a command.
pub(crate) fn get(id: Cmd) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.id == id)
}

/// The commands whose keys were pressed. Those with Shift or Alt are asked first: the shorter ones fit too.
pub(crate) fn pressed(ctx: &Context) -> Vec<Cmd> {
    let mut out = Vec::new();
    let keyed = |more: bool| {
        COMMANDS.iter().filter(move |command| {
            command.keys.is_some_and(|keys| (keys.modifiers.shift || keys.modifiers.alt) == more)
        })
    };
    ctx.input_mut(|input| {
        for command in keyed(true).chain(keyed(false)) {
            if command.keys.is_some_and(|keys| input.consume_shortcut(&keys)) {
                out.push(command.id);
                // With Alt the letter comes as a text, too.
                if input.modifiers.alt {
                    input.events.retain(|event| !matches!(event, egui::Event::Text(_)));
                }
            }
        }
        // Plus without Shift.
        if input.consume_key(CTRL, Key::Equals) {
            out.push(Cmd::ZoomIn);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_keys_or_words() {
        for (index, command) in COMMANDS.iter().enumerate() {
            for other in &COMMANDS[index + 1..] {
                assert_ne!(command.words, other.words);
                assert!(command.keys.is_none() || command.keys != other.keys, "{}", command.words);
                assert_ne!(command.id, other.id);
            }
        }
    }

    #[test]
    fn keys_with_more_modifiers_win() {
        for (modifiers, expected) in
            [(CTRL, Cmd::CloseTab), (CTRL_SHIFT, Cmd::CloseFile), (CTRL_ALT, Cmd::CloseAll)]
        {
            let ctx = Context::default();
            let modifiers = Modifiers { ctrl: true, ..modifiers };
            let key =
                egui::Event::Key { key: Key::W, physical_key: None, pressed: true, repeat: false, modifiers };
            let input = egui::RawInput { events: vec![key], ..egui::RawInput::default() };
            let mut found = Vec::new();
            ctx.run_ui(input, |ui| found.extend(pressed(ui.ctx()))).textures_delta.clear();
            assert_eq!(found, [expected]);
        }
    }

    #[test]
    fn keys_of_the_views_reach_them() {
        // Alt with a digit chooses how an array is drawn.
        let digits = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];
        for key in digits.map(|key| KeyboardShortcut::new(ALT, key)) {
            assert!(COMMANDS.iter().all(|command| command.keys != Some(key)), "{key:?}");
        }
    }

    #[test]
    fn nothing_saves_over_the_users_data() {
        let save = KeyboardShortcut::new(CTRL, Key::S);
        assert!(COMMANDS.iter().all(|command| command.keys != Some(save)));
    }
}
