//! Recipes: a conversion as a TOML file that repeats it, and presets, which are recipes without sources.
//! <https://toml.io/en/v1.0.0>
//!
//! ```toml
//! sources = ["trips.csv", "more/*.csv"]
//! to = "parquet"
//! out = "converted/"
//! columns = ["id", "fare"]
//!
//! [options]
//! compression = "zstd"
//! ```
//! Paths are relative to the folder that the recipe lies in.

use super::items::Selection;
use super::output::Output;
use super::targets::Target;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The longest recipe in bytes.
const LONGEST: u64 = 1 << 20;

/// A conversion that can be repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Files, folders, patterns and nodes (`PATH#NODE`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// SQL over the sources, each a table named after its stem; its result is what is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The id of the target; without it the extension of `out` decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The file to write, or the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// Rows `A..B` of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// Columns of a table, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// A slice of an array, in NumPy's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Whether it writes although values get lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_loss: bool,
    /// Whether it replaces files that exist.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// Whether what was written is read back and compared; by its size where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
    /// What the sources are opened with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<String, String>,
    /// Options of the writer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl Recipe {
    /// What a target, its options and a selection come to.
    pub fn of(target: &Target, options: &Options, selection: &Selection) -> Self {
        let rows = selection.rows.as_ref().map(|rows| match rows.end {
            u64::MAX => format!("{}..", rows.start),
            end => format!("{}..{end}", rows.start),
        });
        Recipe {
            to: Some(target.id.to_owned()),
            rows,
            columns: selection.columns.clone(),
            slice: selection.slice.clone(),
            options: options.0.clone(),
            ..Recipe::default()
        }
    }

    /// Reads one from a file; its paths are relative to that file's folder then.
    ///
    /// # Errors
    /// `Io`; `Malformed` with the place where it is no recipe.
    pub fn read(task: &Task, path: &Path) -> Result<Self> {
        let named = |error: Error| error.in_file(path.display());
        let source = Source::open(task, path)?;
        let len = source.len(task).map_err(named)?;
        if len > LONGEST {
            return Err(named(Error::limit("a recipe is no longer than 1 MiB")));
        }
        let bytes = source.read(task, 0..limits::check(len, LONGEST, "the recipe")? as u64).map_err(named)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| named(Error::malformed("a recipe is UTF-8 text")))?;
        let mut recipe = Recipe::parse(text).map_err(named)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let within = |path: &String| folder.join(path).to_string_lossy().into_owned();
        recipe.sources = recipe.sources.iter().map(within).collect();
        recipe.out = recipe.out.as_ref().map(within);
        Ok(recipe)
    }

    /// A recipe from its text.
    ///
    /// # Errors
    /// `Malformed`, with what is wrong and where.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let message = error.message().trim_end_matches('.').to_owned();
            match error.span() {
                Some(span) => Error::malformed(message).at(span.start as u64),
                None => Error::malformed(message),
            }
        })
    }

    /// Its text.
    ///
    /// # Errors
    /// None that a recipe can have.
    pub fn text(&self) -> Result<String> {
        let body = toml::to_string_pretty(self).map_err(|error| Error::bug(error.to_string()))?;
        Ok(format!("# gander convert --recipe FILE\n{body}"))
    }

    /// Writes it to a file, whole or not at all; paths below the file's folder become relative to it.
    ///
    /// # Errors
    /// Those of [`Output`].
    pub fn save(&self, path: &Path, overwrite: bool) -> Result<()> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = whole.parent().map(Path::to_owned).unwrap_or_default();
        let within = |path: &String| match Path::new(path).strip_prefix(&folder) {
            Ok(rest) if !folder.as_os_str().is_empty() => rest.to_string_lossy().into_owned(),
            _ => path.clone(),
        };
        let sources = self.sources.iter().map(within).collect();
        let recipe = Recipe { sources, out: self.out.as_ref().map(within), ..self.clone() };
        let mut output = Output::create(path, overwrite)?;
        output.write_all(recipe.text()?.as_bytes())?;
        output.commit().map(drop)
    }

    /// The options of the writer.
    pub fn writer_options(&self) -> Options {
        Options(self.options.clone())
    }
}

/// Presets: recipes by name in a folder of their own.
#[derive(Clone, Debug)]
pub struct Presets(PathBuf);

impl Presets {
    /// Those in this folder, which need not be there yet.
    pub fn new(folder: PathBuf) -> Self {
        Presets(folder)
    }

    /// Those of the user, in the desktop's folder for configuration; `None` where there is no such folder.
    pub fn of_user() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", "gander")?;
        Some(Presets(dirs.config_dir().join("presets")))
    }

    /// Their names in order.
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
        let name = |entry: std::fs::DirEntry| {
            Some(entry.file_name().to_str()?.strip_suffix(".toml").filter(|name| is_name(name))?.to_owned())
        };
        let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
        names.sort();
        names
    }

    /// The preset of a name.
    ///
    /// # Errors
    /// `Io` where there is none; `Malformed` where its file is no recipe.
    pub fn get(&self, task: &Task, name: &str) -> Result<Recipe> {
        if !is_name(name) || !self.path(name).exists() {
            let all = self.names();
            let has = if all.is_empty() {
                "none was saved".to_owned()
            } else {
                format!("there are {}", all.join(", "))
            };
            return Err(Error::io(format!("there is no preset {name:?}; {has}")));
        }
        let recipe = Recipe::read(task, &self.path(name))?;
        Ok(Recipe { sources: Vec::new(), out: None, ..recipe })
    }

    /// Keeps a recipe under a name, in place of one that has it: what is to be written and how, without sources.
    ///
    /// # Errors
    /// `Unsupported` for names that no file can have; those of writing.
    pub fn save(&self, name: &str, recipe: &Recipe) -> Result<()> {
        if !is_name(name) {
            return Err(Error::unsupported(format!(
                "{name:?} is no name of a preset: it has letters, digits, spaces, - and _"
            )));
        }
        std::fs::create_dir_all(&self.0)?;
        Recipe { sources: Vec::new(), out: None, ..recipe.clone() }.save(&self.path(name), true)
    }

    /// Removes one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(&self, name: &str) -> Result<()> {
        match is_name(name) {
            true => Ok(std::fs::remove_file(self.path(name))?),
            false => Ok(()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.toml"))
    }
}

/// Whether a preset may be called so: its file lies in the folder of presets and nowhere else.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '+');
    !name.trim().is_empty() && name.len() <= 100 && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            sources: vec!["a.csv".into(), "b.h5#/x".into()],
            to: Some("parquet".into()),
            out: Some("out.parquet".into()),
            rows: Some("0..10".into()),
            columns: Some(vec!["x y".into()]),
            options: [("compression".to_owned(), "zstd".to_owned())].into(),
            ..Recipe::default()
        }
    }

    #[test]
    fn a_recipe_is_read_as_it_was_written() {
        let text = recipe().text().unwrap();
        assert!(text.starts_with("# gander convert --recipe"), "{text}");
        assert_eq!(Recipe::parse(&text).unwrap(), recipe());
        assert_eq!(Recipe::parse("").unwrap(), Recipe::default());
    }

    #[test]
    fn what_is_no_recipe_is_said_with_its_place() {
        for text in ["to = 3", "quux = 1", "to = \"x\"\nto = \"y\"", "[options]\nlevel = 3", "rows = ["] {
            let error = Recipe::parse(text).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Malformed, "{text}");
        }
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let within = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let absolute =
            Recipe { sources: vec![within("a.csv")], out: Some(within("out.parquet")), ..recipe() };
        let path = folder.path().join("x.toml");
        absolute.save(&path, false).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("sources = [\"a.csv\"]") || text.contains("    \"a.csv\","), "{text}");
        assert_eq!(Recipe::read(&Task::new(), &path).unwrap(), absolute);
        assert!(absolute.save(&path, false).is_err());
    }

    #[test]
    fn presets_have_names_and_no_sources() {
        let folder = tempfile::tempdir().unwrap();
        let presets = Presets::new(folder.path().join("presets"));
        assert!(presets.names().is_empty());
        presets.save("small zstd", &recipe()).unwrap();
        assert_eq!(presets.names(), ["small zstd"]);
        let got = presets.get(&Task::new(), "small zstd").unwrap();
        assert_eq!((got.sources.len(), got.to.as_deref()), (0, Some("parquet")));
        assert!(presets.save("../x", &recipe()).is_err() && presets.get(&Task::new(), "../x").is_err());
        assert!(presets.get(&Task::new(), "none").unwrap_err().to_string().contains("small zstd"));
        presets.remove("small zstd").unwrap();
        assert!(presets.names().is_empty());
    }
}
