//! What is kept from one run to the next: recent files, open tabs, sizes. One JSON file in the
//! user's configuration folder, read and written by jobs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// How many recent files are kept.
const RECENT: usize = 30;

/// A file that was open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Recent {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// When it was opened last, in seconds since 1970.
    pub(crate) when: u64,
    /// Its size in bytes; `None` for folders.
    pub(crate) bytes: Option<u64>,
    /// The name of its format.
    pub(crate) format: String,
}

/// What a tab showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeptContent {
    /// A node: the file, and the node's path in it.
    Node(PathBuf, String),
    /// SQL statements, by the number of the query.
    Query(u64),
}

impl Default for KeptContent {
    fn default() -> Self {
        KeptContent::Node(PathBuf::new(), String::new())
    }
}

/// An open tab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tab {
    /// What it showed.
    pub(crate) content: KeptContent,
    /// The words on the tab.
    pub(crate) name: String,
    /// Whether it is the preview.
    pub(crate) preview: bool,
    /// The group of tabs, from the left.
    pub(crate) group: usize,
    /// Whether it is the open one of its group.
    pub(crate) open: bool,
    /// Whether it is the active one.
    pub(crate) active: bool,
    /// What its view keeps.
    pub(crate) view: Value,
}

/// How the groups of tabs stand beside and below each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Split {
    /// A group, by its number.
    Group(usize),
    /// Parts from left to right, with their shares of the room.
    Beside(Vec<(f32, Split)>),
    /// Parts from top to bottom.
    Below(Vec<(f32, Split)>),
}

/// Everything that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Session {
    /// Newest first.
    pub(crate) recent: Vec<Recent>,
    /// From left to right.
    #[serde(deserialize_with = "known_tabs")]
    pub(crate) tabs: Vec<Tab>,
    /// How their groups stand.
    pub(crate) split: Option<Split>,
    /// The nodes that are unfolded, as (file, path).
    pub(crate) unfolded: Vec<(PathBuf, String)>,
    /// The SQL statements that were run, the newest first.
    pub(crate) statements: Vec<String>,
    /// By which options files are opened that were told how they are to be read: raw arrays, tables in texts.
    pub(crate) raw: Vec<(PathBuf, BTreeMap<String, String>)>,
    /// Whether the explorer shows, and how wide it is.
    pub(crate) explorer: (bool, f32),
    /// Whether the inspector shows, and how wide it is.
    pub(crate) inspector: (bool, f32),
    /// The window's size in points.
    pub(crate) window: Option<(f32, f32)>,
}

impl Default for Session {
    fn default() -> Self {
        use super::theme::size;
        Session {
            recent: Vec::new(),
            tabs: Vec::new(),
            split: None,
            unfolded: Vec::new(),
            statements: Vec::new(),
            raw: Vec::new(),
            explorer: (true, size::EXPLORER),
            inspector: (true, size::INSPECTOR),
            window: None,
        }
    }
}

/// The tabs of a session without those that only another version of the program knows.
fn known_tabs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Tab>, D::Error> {
    let all = Vec::<Value>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|tab| Tab::deserialize(tab).ok()).collect())
}

impl Session {
    /// Where the session lies. Tests have none: they must not touch that of whoever runs them.
    pub(crate) fn path() -> Option<PathBuf> {
        if cfg!(test) {
            return None;
        }
        let folders = directories::ProjectDirs::from("", "", "gander")?;
        Some(folders.config_dir().join("session.json"))
    }

    /// Reads the last session; an absent or broken file is none. Small and local: it is read once,
    /// before the window opens.
    #[allow(clippy::disallowed_methods, reason = "its own small file, not the user's data")]
    pub(crate) fn load() -> Self {
        let text = Self::path().and_then(|path| std::fs::read(path).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Writes the session whole or not at all.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let Some(path) = Self::path() else { return Ok(()) };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let new = path.with_extension("json.new");
        std::fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(new, path)
    }

    /// Puts a file on top of the recent ones.
    pub(crate) fn remember(&mut self, path: &Path, bytes: Option<u64>, format: &str) {
        self.recent.retain(|recent| recent.path != path);
        let new = Recent { path: path.to_owned(), when: now(), bytes, format: format.to_owned() };
        self.recent.insert(0, new);
        self.recent.truncate(RECENT);
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// How long ago, in words.
pub(crate) fn ago(then: u64, now: u64) -> String {
    let seconds = now.saturating_sub(then);
    let words = |n: u64, unit: &str| format!("{} ago", gander::bytes::display::plural(n, unit));
    match seconds {
        0..=59 => "just now".to_owned(),
        60..=3_599 => words(seconds / 60, "minute"),
        3_600..=86_399 => words(seconds / 3_600, "hour"),
        86_400..=172_799 => "yesterday".to_owned(),
        172_800..=2_591_999 => words(seconds / 86_400, "day"),
        2_592_000..=31_535_999 => words(seconds / 2_592_000, "month"),
        _ => words(seconds / 31_536_000, "year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        let words = [(0, "just now"), (60, "1 minute ago"), (7_200, "2 hours ago"), (100_000, "yesterday")];
        for (seconds, expected) in words {
            assert_eq!(ago(1_000_000, 1_000_000 + seconds), expected);
        }
        assert_eq!(ago(5, 0), "just now");
    }

    #[test]
    fn a_session_survives_what_it_does_not_know() {
        let text = r#"{"theme": "dark", "later": 1, "tabs": [{"content": {"later": 1}}, {"content": {"query": 2}}]}"#;
        let session: Session = serde_json::from_str(text).unwrap();
        let contents: Vec<&KeptContent> = session.tabs.iter().map(|tab| &tab.content).collect();
        assert_eq!(contents, [&KeptContent::Query(2)]);
        let mut session = Session::default();
        for n in 0..40 {
            session.remember(Path::new(&format!("/f{}", n % 35)), Some(n), "CSV");
        }
        assert_eq!(session.recent.len(), RECENT);
        assert_eq!(session.recent[0].path, Path::new("/f4"));
        let text = serde_json::to_string(&session).unwrap();
        assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), session);
    }
}
