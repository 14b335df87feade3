//! The file types that can be written.

use super::items::Item;
use super::{layout, values};
use crate::bytes::error::{Error, Result};
use crate::data::content::Kind;
pub use crate::data::format::Target;
use crate::data::format::{OptionSpec, Options};
use crate::data::sniff;
use crate::formats::FORMATS;
use std::path::Path;
use std::sync::LazyLock;

/// Every file type that can be written, as the formats list them: tables first, then arrays, pictures, bytes.
pub static TARGETS: LazyLock<Vec<&'static Target>> = LazyLock::new(|| {
    let mut all: Vec<&Target> = FORMATS.iter().flat_map(|format| format.targets).collect();
    let accepts = |target: &Target, kind| target.writer.accepts.contains(&kind);
    all.sort_by_key(|target| match () {
        () if accepts(target, Kind::Table) && !accepts(target, Kind::Array) => 0,
        () if accepts(target, Kind::Array) && !accepts(target, Kind::Bytes) => 1,
        () if accepts(target, Kind::Image) => 2,
        () => 3,
    });
    all
});

impl Target {
    /// The target of this id.
    pub fn by_id(id: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.id == id).copied()
    }

    /// The target that a file name means: of several the one with the longest extension, then the first.
    pub fn of_path(path: &Path) -> Option<&'static Target> {
        let name = path.file_name()?.to_str()?;
        let longest = |target: &Target| {
            let fits = |extension: &&&str| sniff::has_extension(name, &[**extension]);
            target.extensions.iter().filter(fits).map(|extension| extension.len()).max()
        };
        TARGETS
            .iter()
            .copied()
            .rev()
            .max_by_key(|target| longest(target))
            .filter(|target| longest(target).is_some())
    }

    /// Its options, in the order of a dialog.
    pub fn options(&self) -> &'static [OptionSpec] {
        self.writer.options
    }

    /// Those of its options that change how these items are written, in the same order.
    pub fn options_for(&self, items: &[Item]) -> impl Iterator<Item = &'static OptionSpec> {
        let kinds: Vec<Kind> = items.iter().map(|item| item.content.kind()).collect();
        self.options()
            .iter()
            .filter(move |spec| spec.kinds.is_empty() || spec.kinds.iter().any(|kind| kinds.contains(kind)))
    }

    /// The options that are not the writer's own but those of how content gets to it.
    pub fn common(&self) -> impl Iterator<Item = &'static OptionSpec> {
        let layout = layout::is_known(self).then_some(&layout::LAYOUT);
        std::iter::once(&values::VALUES).chain(layout).chain(self.array_options())
    }

    /// What an option holds if nobody sets it.
    pub fn default_of(&self, spec: &OptionSpec) -> &'static str {
        self.presets.iter().find(|(name, _)| *name == spec.name).map_or(spec.default, |(_, value)| value)
    }

    /// The kinds of content that it takes, those among them that are adapted first.
    pub fn takes(&self) -> Vec<Kind> {
        let accepts = |kind: Kind| self.writer.accepts.contains(&kind);
        let fits = |kind: &Kind| match kind {
            Kind::Table | Kind::Graph => {
                accepts(Kind::Table)
                    || accepts(Kind::Array) && !accepts(Kind::Bytes)
                    || *kind == Kind::Graph && accepts(Kind::Graph)
            }
            Kind::Array => accepts(Kind::Array) || accepts(Kind::Table) || accepts(Kind::Image),
            Kind::Image => accepts(Kind::Image) || accepts(Kind::Array),
            Kind::Text | Kind::Bytes => accepts(Kind::Bytes),
            Kind::Group => false,
        };
        Kind::ALL.iter().copied().filter(fits).collect()
    }

    /// Whether the writer has these options, and those of their values that it lists.
    ///
    /// # Errors
    /// `Unsupported`, with what it has.
    pub fn check(&self, options: &Options) -> Result<()> {
        self.settled(options).map(drop)
    }

    /// `options` with the presets; an error for a name or value that the writer has not.
    pub(super) fn settled(&self, options: &Options) -> Result<Options> {
        let mut all = options.clone();
        for (name, value) in self.presets {
            if all.get(name).is_none() {
                all.set(name, *value);
            }
        }
        for (name, value) in &all.0 {
            // One may have the name of an option that all have; what is set tells which of them is meant.
            let specs = self.options().iter().chain(self.common());
            let mut specs = specs.filter(|spec| spec.name == name).peekable();
            let Some(first) = specs.peek().copied() else {
                let names: Vec<&str> = self.options().iter().map(|spec| spec.name).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let what = format!("{name}: {} has no option of this name; it has {has}", self.name);
                return Err(Error::unsupported(what));
            };
            let fits = |spec: &OptionSpec| spec.values.is_empty() || spec.values.contains(&value.as_str());
            if !specs.any(fits) {
                all.choice(first)?;
            }
        }
        Ok(all)
    }
}
