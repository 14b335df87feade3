//! The file of the settings: what is read from it, and what is written into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gander::data::plane::color::ColorMap;
use gander::jobs::{Jobs, Priority};
use parking_lot::Mutex;
use toml_edit::{Document, DocumentMut, Item, Table, TableLike, Value};

use super::{DIGITS, MEMORY, Problem, SCALES, Settings, Word};
use crate::gui::number_format::NumberFormat;

/// So many lines that are no TOML are left out before the rest is given up.
const BROKEN: usize = 100;

/// A line of the table of keys.
struct Key {
    /// The table that it stands in; empty for the beginning of the file.
    table: &'static str,
    name: &'static str,
    /// Takes the value, or says what it should be.
    take: fn(&mut Settings, &Item) -> Result<(), String>,
    /// The value as it is written.
    give: fn(&Settings) -> Value,
}

/// Takes a word.
fn word<T: Word>(item: &Item) -> Result<T, String> {
    let all = || T::ALL.iter().map(|(_, id, _)| format!("\"{id}\"")).collect::<Vec<_>>().join(", ");
    item.as_str().and_then(T::by_id).ok_or_else(|| format!("it is one of {}", all()))
}

/// Takes a number within bounds.
fn number(item: &Item, bounds: std::ops::RangeInclusive<f64>) -> Result<f64, String> {
    let number = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
    let words = || format!("it is a number from {} to {}", bounds.start(), bounds.end());
    number.filter(|number| bounds.contains(number)).ok_or_else(words)
}

/// Takes a number format: a word, or how many digits stand behind the point.
fn format_of(item: &Item) -> Result<NumberFormat, String> {
    match (item.as_str(), item.as_integer()) {
        (Some("exact"), _) => Ok(NumberFormat::Exact),
        (Some("thousands"), _) => Ok(NumberFormat::Thousands),
        (Some("scientific"), _) => Ok(NumberFormat::Scientific),
        (_, Some(digits @ 0..=DIGITS)) => Ok(NumberFormat::Digits(digits as u8)),
        _ => Err(format!(
            "it is \"exact\", \"thousands\", \"scientific\" or how many digits, from 0 to {DIGITS}"
        )),
    }
}

fn format_value(format: NumberFormat) -> Value {
    match format {
        NumberFormat::Exact => "exact".into(),
        NumberFormat::Thousands => "thousands".into(),
        NumberFormat::Scientific => "scientific".into(),
        NumberFormat::Digits(digits) => i64::from(digits).into(),
    }
}

/// Takes the name of a colour map of one of the two kinds.
fn map(item: &Item, diverges: bool) -> Result<ColorMap, String> {
    let fits = |map: &ColorMap| map.diverges() == diverges;
    let all = || {
        let names: Vec<String> =
            ColorMap::all().filter(fits).map(|map| format!("\"{}\"", map.name())).collect();
        format!("it is one of {}", names.join(", "))
    };
    item.as_str().and_then(ColorMap::named).filter(fits).ok_or_else(all)
}

/// Every key of the file.
static KEYS: &[Key] = &[
    Key {
        table: "",
        name: "theme",
        take: |all, item| {
            all.theme = word(item)?;
            Ok(())
        },
        give: |all| all.theme.id().into(),
    },
    Key {
        table: "",
        name: "scale",
        take: |all, item| {
            let bounds = f64::from(*SCALES.start())..=f64::from(*SCALES.end());
            all.scale = number(item, bounds)? as f32;
            Ok(())
        },
        // Two digits are all that can be told apart.
        give: |all| ((f64::from(all.scale) * 100.0).round() / 100.0).into(),
    },
    Key {
        table: "",
        name: "memory_gb",
        take: |all, item| {
            all.memory = number(item, MEMORY)?;
            Ok(())
        },
        give: |all| all.memory.into(),
    },
    Key {
        table: "",
        name: "isolate",
        take: |all, item| {
            all.isolate = item.as_bool().ok_or("it is true or false")?;
            Ok(())
        },
        give: |all| all.isolate.into(),
    },
    Key {
        table: "",
        name: "numbers",
        take: |all, item| {
            all.preferences.numbers = format_of(item)?;
            Ok(())
        },
        give: |all| format_value(all.preferences.numbers),
    },
    Key {
        table: "views",
        name: "table",
        take: |all, item| {
            all.preferences.table = word(item)?;
            Ok(())
        },
        give: |all| all.preferences.table.id().into(),
    },
    Key {
        table: "views",
        name: "array",
        take: |all, item| {
            all.preferences.array = word(item)?;
            Ok(())
        },
        give: |all| all.preferences.array.id().into(),
    },
    Key {
        table: "views",
        name: "model",
        take: |all, item| {
            all.preferences.model = word(item)?;
            Ok(())
        },
        give: |all| all.preferences.model.id().into(),
    },
    Key {
        table: "views",
        name: "image",
        take: |all, item| {
            all.preferences.image = word(item)?;
            Ok(())
        },
        give: |all| all.preferences.image.id().into(),
    },
    Key {
        table: "colors",
        name: "sequential",
        take: |all, item| {
            all.preferences.sequential = map(item, false)?;
            Ok(())
        },
        give: |all| all.preferences.sequential.name().into(),
    },
    Key {
        table: "colors",
        name: "diverging",
        take: |all, item| {
            all.preferences.diverging = map(item, true)?;
            Ok(())
        },
        give: |all| all.preferences.diverging.name().into(),
    },
];

/// The line of a byte, the first is 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The settings of a file, and what of it does not count: a line that is no TOML, a value that a key cannot have. The
/// rest counts all the same. Keys that nobody knows are of another version and no problem.
pub(super) fn read(text: &str) -> (Settings, Vec<Problem>) {
    let mut text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    let mut problems = Vec::new();
    let mut settings = Settings::default();
    let document = loop {
        match Document::parse(text.clone()) {
            Ok(document) => break document,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start).min(text.len());
                let line = line_of(&text, at);
                let words = error.message().lines().next().unwrap_or_default().to_owned();
                let gone = problems.iter().any(|problem: &Problem| problem.line == line);
                problems.push(Problem { line, words });
                // A line that is empty already cannot be what is wrong.
                if gone || problems.len() >= BROKEN {
                    return (settings, problems);
                }
                text = without(&text, line);
            }
        }
    };
    for key in KEYS {
        let Some(item) = find(document.as_table(), key) else { continue };
        if let Err(words) = (key.take)(&mut settings, item) {
            let line = item.span().map_or(1, |span| line_of(&text, span.start));
            problems.push(Problem { line, words: format!("{}: {words}", key.name) });
        }
    }
    problems.sort_by_key(|problem| problem.line);
    (settings, problems)
}

/// A text with one of its lines made empty.
fn without(text: &str, line: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(at, words)| if at + 1 == line { "\n" } else { words }).collect()
}

fn find<'a>(document: &'a Table, key: &Key) -> Option<&'a Item> {
    match key.table {
        "" => document.get(key.name),
        table => document.get(table)?.as_table_like()?.get(key.name),
    }
}

/// The text with what differs between two settings; everything else stays byte for byte.
///
/// # Errors
/// Where a line is no TOML: what is to be changed cannot be told from it then.
pub(super) fn written(text: &str, before: &Settings, after: &Settings) -> Result<String, Problem> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| Problem {
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        words: error.message().lines().next().unwrap_or_default().to_owned(),
    })?;
    for key in KEYS {
        let (was, is) = ((key.give)(before), (key.give)(after));
        if was.to_string() == is.to_string() {
            continue;
        }
        let root = document.as_table_mut();
        let table: Option<&mut dyn TableLike> = match key.table {
            "" => Some(root),
            table => root.entry(table).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut(),
        };
        // Something else of that name is the user's own.
        let Some(table) = table else { continue };
        match table.get_mut(key.name).and_then(Item::as_value_mut) {
            Some(value) => {
                let decor = value.decor().clone();
                *value = is;
                *value.decor_mut() = decor;
            }
            None => drop(table.insert(key.name, Item::Value(is))),
        }
    }
    Ok(document.to_string())
}

/// What the file holds and what it is to hold, each behind its own lock: the window never waits for the one that is held
/// while the file is written.
#[derive(Default)]
struct State {
    held: Mutex<Settings>,
    wanted: Mutex<Settings>,
    failed: Mutex<Option<String>>,
}

/// The file, which jobs write.
#[derive(Clone, Default)]
pub(crate) struct SettingsFile {
    path: Option<PathBuf>,
    state: Arc<State>,
}

impl SettingsFile {
    /// Where it lies. Tests have none: they must not touch that of whoever runs them.
    fn usual() -> Option<PathBuf> {
        let folders = if cfg!(test) { None } else { directories::ProjectDirs::from("", "", "gander") }?;
        Some(folders.config_dir().join("settings.toml"))
    }

    /// Reads the file of the user; an absent one holds nothing. Small and local: it is read once, before the window
    /// opens.
    pub(crate) fn load() -> (Self, Settings, Vec<Problem>) {
        Self::load_from(Self::usual())
    }

    /// The same with the file at another place.
    #[allow(clippy::disallowed_methods, reason = "its own small file, not the user's data")]
    pub(crate) fn load_from(path: Option<PathBuf>) -> (Self, Settings, Vec<Problem>) {
        let text = path.as_ref().map(std::fs::read);
        let (settings, problems) = match text {
            Some(Ok(text)) => read(&String::from_utf8_lossy(&text)),
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                (Settings::default(), vec![Problem { line: 1, words: format!("it cannot be read: {error}") }])
            }
            _ => (Settings::default(), Vec::new()),
        };
        let one = || Mutex::new(settings.clone());
        let state = State { held: one(), wanted: one(), failed: Mutex::default() };
        (SettingsFile { path, state: Arc::new(state) }, settings, problems)
    }

    /// Where the file lies; `None` where there is no folder for it.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes what differs, by a job.
    pub(crate) fn keep(&self, jobs: &Jobs, settings: &Settings) {
        let Some(path) = self.path.clone() else { return };
        if std::mem::replace(&mut *self.state.wanted.lock(), settings.clone()) == *settings {
            return;
        }
        let state = self.state.clone();
        // Of two that are asked for at once the first writes both.
        jobs.run("", Priority::Background, move |_| write(&path, &state));
    }

    /// Writes what differs at once: when the window is gone.
    pub(crate) fn keep_now(&self, settings: &Settings) {
        let Some(path) = &self.path else { return };
        *self.state.wanted.lock() = settings.clone();
        write(path, &self.state);
    }

    /// Why the last change could not be written, said once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.state.failed.lock().take()
    }
}

/// Writes what is wanted, whole or not at all.
fn write(path: &Path, state: &State) {
    let mut held = state.held.lock();
    let wanted = state.wanted.lock().clone();
    if *held == wanted {
        return;
    }
    match change(path, &held, &wanted) {
        Ok(()) => *held = wanted,
        Err(words) => *state.failed.lock() = Some(format!("The settings are not kept: {words}")),
    }
}

#[allow(clippy::disallowed_methods, reason = "its own small file, not the user's data")]
fn change(path: &Path, before: &Settings, after: &Settings) -> Result<(), String> {
    let io = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io(error)),
    };
    let text = written(&text, before, after).map_err(|problem| format!("{}, {problem}", path.display()))?;
    // Where it is a link, what that leads to is written.
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = real.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    let new = real.with_extension("toml.new");
    std::fs::write(&new, text).map_err(io)?;
    std::fs::rename(new, real).map_err(io)
}
