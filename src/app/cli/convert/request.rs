//! What a conversion is to do: the arguments, with those of a recipe or a preset where they say nothing.

use super::super::{OpenArgs, Stop, named_value, range, words};
use super::Args;
use gander::Task;
use gander::convert::recipe::{Presets, Recipe};
use gander::convert::{self, Consent, Selection, TARGETS, Target};
use gander::data::format::Options;
use std::path::Path;

/// A conversion as it was asked for.
pub(super) struct Request {
    /// Files, folders, patterns and nodes.
    pub(super) sources: Vec<String>,
    /// SQL over the sources, whose result is written.
    pub(super) query: Option<String>,
    /// The file to write, the folder for a file each, or `-`.
    pub(super) out: String,
    /// Whether that is a folder for a file each.
    pub(super) is_folder: bool,
    pub(super) target: &'static Target,
    pub(super) options: Options,
    pub(super) selection: Selection,
    pub(super) opening: OpenArgs,
    pub(super) allow_loss: bool,
    pub(super) overwrite: bool,
    /// Whether to add to what is there.
    pub(super) append: bool,
    /// Whether to read back; by the size where nothing is said.
    pub(super) verify: Option<bool>,
    pub(super) dry_run: bool,
    pub(super) json: bool,
}

impl Request {
    /// The request that the arguments make.
    ///
    /// # Errors
    /// Wrong arguments; a recipe that cannot be read.
    pub(super) fn of(task: &Task, args: &Args) -> Result<Self, Stop> {
        let recipe = match (&args.recipe, &args.preset) {
            (Some(path), _) => Recipe::read(task, Path::new(path))?,
            (None, Some(name)) => Presets::of_user()
                .ok_or_else(|| Stop::Usage("--preset: there is no folder for presets here".to_owned()))?
                .get(task, name)
                .map_err(|error| Stop::Usage(format!("--preset {name}: {}", words(&error))))?,
            (None, None) => Recipe::default(),
        };
        let (sources, out) = places(&args.paths, &recipe)?;
        // What is added to says itself what it is.
        let open = || gander::open(task, Path::new(&out), &Options::default()).ok();
        let there = args.append.then(open).flatten().map(|document| document.format.id);
        let to = args.to.as_deref().or(there).or(recipe.to.as_deref());
        let target = target(to, &out).map_err(Stop::Usage)?;
        let mut options = recipe.writer_options();
        for item in &args.option {
            let (name, value) = named_value("-o", item).map_err(Stop::Usage)?;
            options.set(name, value);
        }
        if let Some(values) = &args.values {
            options.set(convert::VALUES.name, values.as_str());
        }
        if let Some(dtype) = &args.dtype {
            options.set(convert::DTYPE.name, dtype_name(dtype));
        }
        if let Some(kind) = &args.quantize {
            options.set("quantize", kind.to_ascii_lowercase());
        }
        target.check(&options).map_err(|error| Stop::Usage(format!("-o {}", words(&error))))?;
        let rows = args.rows.as_deref().or(recipe.rows.as_deref());
        let slice = args.slice.as_deref().or(recipe.slice.as_deref());
        slice.map_or(Ok(()), super::super::is_slice).map_err(Stop::Usage)?;
        let selection = Selection {
            rows: rows.map(range).transpose().map_err(Stop::Usage)?,
            columns: args.columns.clone().or(recipe.columns),
            slice: slice.map(str::to_owned),
        };
        let mut opening = OpenArgs { with: args.opening.with.clone(), raw: args.opening.raw.clone() };
        opening.with.splice(0..0, recipe.open.iter().map(|(name, value)| format!("{name}={value}")));
        let is_folder = !args.append && is_folder(&out, target, &options);
        if out == "-" && args.json {
            return Err(Stop::Usage("--json: standard output is where the result goes".to_owned()));
        }
        Ok(Request {
            sources,
            query: args.query.clone().or(recipe.query),
            is_folder,
            out,
            target,
            options,
            selection,
            opening,
            allow_loss: args.allow_loss || recipe.allow_loss,
            overwrite: args.overwrite || recipe.overwrite,
            append: args.append,
            verify: match (args.verify, args.no_verify) {
                (_, true) => Some(false),
                (true, _) => Some(true),
                (false, false) => recipe.verify,
            },
            dry_run: args.dry_run,
            json: args.json,
        })
    }

    /// What the user agreed to.
    pub(super) fn consent(&self) -> Consent {
        Consent { overwrite: self.overwrite, lose: self.allow_loss }
    }

    /// The recipe that repeats it, wherever it is run.
    pub(super) fn recipe(&self) -> Recipe {
        let absolute = |path: &String| match std::path::absolute(path) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(_) => path.clone(),
        };
        let open = self.opening.with.iter().filter_map(|item| item.split_once('='));
        Recipe {
            sources: self.sources.iter().map(absolute).collect(),
            query: self.query.clone(),
            out: Some(match self.is_folder {
                true => format!("{}/", absolute(&self.out).trim_end_matches('/')),
                false => absolute(&self.out),
            }),
            allow_loss: self.allow_loss,
            overwrite: self.overwrite,
            verify: self.verify,
            open: open.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            ..Recipe::of(self.target, &self.options, &self.selection)
        }
    }
}

/// The sources and the result: of the arguments, else of the recipe. One argument beside a recipe that names its result is
/// a source.
fn places(paths: &[String], recipe: &Recipe) -> Result<(Vec<String>, String), Stop> {
    let missing = |what: &str| Stop::Usage(format!("{what}; gander convert PATH[#NODE]… OUT"));
    let (sources, out) = match (paths, &recipe.out) {
        ([], Some(out)) => (recipe.sources.clone(), out.clone()),
        ([one], Some(out)) if recipe.sources.is_empty() => (vec![one.clone()], out.clone()),
        ([out], _) if !recipe.sources.is_empty() => (recipe.sources.clone(), out.clone()),
        ([sources @ .., out], _) if !sources.is_empty() => (sources.to_vec(), out.clone()),
        _ => return Err(missing("the file to write is missing")),
    };
    match sources.is_empty() {
        true => Err(missing("what is to be converted is missing")),
        false => Ok((sources, out)),
    }
}

/// Whether the result is a folder for a file each: it ends with a slash, or is one already and not what the target itself
/// writes.
fn is_folder(out: &str, target: &Target, options: &Options) -> bool {
    let writes_folder = target.writer.write.is_folder(options);
    let has_ending = Target::of_path(Path::new(out)).is_some();
    let has_slash = out.ends_with('/') && !(writes_folder && has_ending);
    has_slash || Path::new(out).is_dir() && !(writes_folder || has_ending)
}

/// The target of this id, or else of the file's extension.
pub(crate) fn target(to: Option<&str>, out: &str) -> Result<&'static Target, String> {
    let ids = || TARGETS.iter().map(|t| t.id).collect::<Vec<_>>().join(", ");
    match to {
        Some(id) => Target::by_id(id)
            .ok_or_else(|| format!("--to {id}: there is no such writer; there are {}", ids())),
        None => Target::of_path(Path::new(out)).ok_or_else(|| {
            let why = match Path::new(out).extension() {
                Some(ending) => format!("nothing is written as .{}", ending.to_string_lossy()),
                None => "no extension says what to write".to_owned(),
            };
            format!("{out}: {why}; --to takes {}", ids())
        }),
    }
}

/// The name of a type, for which people have short ones too.
fn dtype_name(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let name = match text.as_str() {
        "bf16" => "bfloat16",
        "f16" | "fp16" | "half" => "float16",
        "f32" | "fp32" | "float" => "float32",
        "f64" | "fp64" | "double" => "float64",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        other => other,
    };
    name.to_owned()
}
