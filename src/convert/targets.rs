//! The file types that can be written.

use super::values;
use crate::bytes::error::{Error, Result};
use crate::data::content::Kind;
use crate::data::format::{OptionSpec, Options, Writer};
use crate::data::sniff;
use crate::engines::json::write as json;
use crate::formats::{array, media, model, plain, table};
use std::path::Path;

/// A file type that can be written: a writer and what is set for it from the start.
pub struct Target {
    /// The short name on the command line.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// File name endings that mean it, the usual one first.
    pub extensions: &'static [&'static str],
    /// The writer.
    pub writer: &'static Writer,
    /// Options that this type has set.
    pub presets: &'static [(&'static str, &'static str)],
    /// Whether the result is a folder of files, which takes what the writer would put into a ZIP archive.
    pub folder: bool,
}

/// Every file type that can be written.
pub static TARGETS: &[Target] = &[
    target("parquet", "Parquet", &["parquet", "pq"], &table::parquet::write::WRITER, &[]),
    target("arrow", "Arrow IPC file", &["arrow", "feather", "ipc"], &table::arrow::write::WRITER, &[]),
    target(
        "arrow-stream",
        "Arrow IPC stream",
        &["arrows"],
        &table::arrow::write::WRITER,
        &[("container", "stream")],
    ),
    target("csv", "CSV", &["csv"], &table::csv::write::WRITER, &[]),
    target("tsv", "TSV", &["tsv", "tab"], &table::csv::write::WRITER, &[("delimiter", "tab")]),
    target("jsonl", "JSON Lines", &["jsonl", "ndjson"], &json::WRITER, &[]),
    target("json", "JSON", &["json"], &json::ARRAY, &[]),
    target("npy", "NumPy array", &["npy"], &array::npy::write::WRITER, &[]),
    target("hdf5", "HDF5", &["h5", "hdf5"], &array::hdf5::write::WRITER, &[]),
    target("npz", "NumPy archive", &["npz"], &array::npz::write::WRITER, &[]),
    target("safetensors", "safetensors", &["safetensors"], &model::safetensors::write::WRITER, &[]),
    Target { folder: true, ..target("zarr", "Zarr", &["zarr"], &array::zarr::write::WRITER, &[]) },
    target("zarr-zip", "Zarr in a ZIP archive", &["zarr.zip"], &array::zarr::write::WRITER, &[]),
    target("png", "PNG", &["png"], &media::image::write::WRITER, &[]),
    target("raw", "Raw bytes", &["bin", "raw", "dat"], &plain::bytes::write::WRITER, &[]),
];

const fn target(
    id: &'static str,
    name: &'static str,
    extensions: &'static [&'static str],
    writer: &'static Writer,
    presets: &'static [(&'static str, &'static str)],
) -> Target {
    Target { id, name, extensions, writer, presets, folder: false }
}

impl Target {
    /// The target of this id.
    pub fn by_id(id: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.id == id)
    }

    /// The target that a file name means.
    pub fn of_path(path: &Path) -> Option<&'static Target> {
        let name = path.file_name()?.to_str()?;
        TARGETS.iter().find(|target| sniff::has_extension(name, target.extensions))
    }

    /// Its options, in the order of a dialog.
    pub fn options(&self) -> &'static [OptionSpec] {
        self.writer.options
    }

    /// What an option holds if nobody sets it.
    pub fn default_of(&self, spec: &OptionSpec) -> &'static str {
        self.presets.iter().find(|(name, _)| *name == spec.name).map_or(spec.default, |(_, value)| value)
    }

    /// The kinds of content that it takes, those among them that are adapted first.
    pub fn takes(&self) -> Vec<Kind> {
        let accepts = |kind: Kind| self.writer.accepts.contains(&kind);
        let all = [Kind::Table, Kind::Array, Kind::Image, Kind::Text, Kind::Bytes];
        let fits = |kind: &Kind| match kind {
            Kind::Table => accepts(Kind::Table) || accepts(Kind::Array) && !accepts(Kind::Bytes),
            Kind::Array => accepts(Kind::Array) || accepts(Kind::Table) || accepts(Kind::Image),
            Kind::Image => accepts(Kind::Image) || accepts(Kind::Array),
            Kind::Text | Kind::Bytes => accepts(Kind::Bytes),
            Kind::Group => false,
        };
        all.into_iter().filter(fits).collect()
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
        for name in all.0.keys() {
            let mut specs = self.options().iter().chain([&values::VALUES]);
            let Some(spec) = specs.find(|spec| spec.name == name) else {
                let names: Vec<&str> = self.options().iter().map(|spec| spec.name).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let what = format!("{name}: {} has no option of this name; it has {has}", self.name);
                return Err(Error::unsupported(what));
            };
            all.choice(spec)?;
        }
        Ok(all)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.id)
    }
}
