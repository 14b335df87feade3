//! `gander render`: the view of a node as a picture.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gander::Task;
use gander::data::format::Options;

/// Arguments of `gander render`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file, or one node of it: PATH#NODE
    pub(crate) target: String,
    /// Where the picture goes; it is a PNG
    #[arg(short, long, value_name = "OUT.png")]
    out: PathBuf,
    /// Its width in pixels; the height is three quarters of it, where WIDTHxHEIGHT does not say another one
    #[arg(long, value_name = "N", value_parser = size, default_value = "1200")]
    size: (u32, u32),
    /// The view's colours
    #[arg(long, value_parser = ["light", "dark"], default_value = "light")]
    theme: String,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// A picture to be made.
#[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "for what draws"))]
pub(crate) struct Picture {
    /// The file, with the node behind a `#`.
    pub(crate) target: PathBuf,
    /// The file alone.
    pub(crate) file: PathBuf,
    /// How it is opened.
    pub(crate) options: Options,
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
    /// Dark colours instead of light ones.
    pub(crate) dark: bool,
    /// Where it goes, as PNG.
    pub(crate) to: PathBuf,
}

/// Smaller views show nothing.
const LEAST: u32 = 64;
/// Larger ones take gigabytes.
const MOST: u32 = 16_384;

fn size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse::<u32>().map_err(|_| "it is written as 1200 or 1200x900".to_owned());
    let (width, height) = match text.split_once('x') {
        Some((width, height)) => (side(width)?, side(height)?),
        None => side(text).map(|width| (width, (width / 4).saturating_mul(3).max(LEAST)))?,
    };
    match (LEAST..=MOST).contains(&width) && (LEAST..=MOST).contains(&height) {
        true => Ok((width, height)),
        false => Err(format!("each side is between {LEAST} and {MOST} pixels")),
    }
}

/// Runs the command; `draw` makes the picture.
pub(crate) fn run(args: &Args, draw: fn(&Picture) -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    if !args.out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        return Ok(super::usage(format!("--out {}: the picture is a PNG", args.out.display())));
    }
    let (file, _) = super::split_target(&args.target);
    let path = file.display().to_string();
    let document = match super::open(&Task::new(), &args.target, &args.opening) {
        Ok((document, ..)) => document,
        Err(stop) => return stop.say(&path, false),
    };
    if let Some(error) = super::refused(&document) {
        return super::failed(error, &path, false);
    }
    let picture = Picture {
        target: Path::new(&args.target).to_owned(),
        file,
        options: document.options.clone(),
        size: args.size,
        dark: args.theme == "dark",
        to: args.out.clone(),
    };
    draw(&picture)?;
    Ok(super::status(&document))
}
