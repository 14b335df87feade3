//! Characters that the fonts of the program do not have: Chinese, Japanese and Korean ones come from a font of the
//! system, which is looked for and read by a job when the first of them is drawn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::epaint::ClippedShape;
use egui::{Context, Id, LayerId, Rect, Shape};
use gander::jobs::{Jobs, Priority};
use parking_lot::Mutex;

use super::theme;

/// Fonts that have them, by the beginnings of their files' names, the best first.
const KNOWN: [&str; 20] = [
    "notosanscjk",
    "notosanssc",
    "notosansjp",
    "notosanskr",
    "notosanstc",
    "sourcehansans",
    "wqy-microhei",
    "wqy-zenhei",
    "droidsansfallback",
    "pingfang",
    "hiragino sans gb",
    "hiraginosansgb",
    "stheiti",
    "applesdgothicneo",
    "msyh",
    "yugoth",
    "malgun",
    "simsun",
    "msgothic",
    "arial unicode",
];
/// How deep folders are looked into, and how many files at most.
const DEEP: usize = 5;
const FILES: usize = 20_000;
/// A larger file is no font.
const LARGEST: u64 = 128 << 20;

/// What a job found: the bytes of a font, or nothing.
type Found = Arc<Mutex<Option<Option<Vec<u8>>>>>;

/// Whether a font of the system is needed, looked for, or there.
#[derive(Default)]
pub(crate) enum SystemFont {
    /// Nothing was drawn that needs it.
    #[default]
    Unneeded,
    /// A job looks for it.
    Awaited(Found),
    /// There is none, and nothing was drawn that is surely a text of such characters.
    Missing,
    /// It is there, or it was said that there is none.
    Settled,
}

/// Says that what is drawn there in this frame is what bytes would say if they were a text: nobody is told that a font is
/// missing because of it.
pub(crate) fn is_guessed(ctx: &Context, place: Rect) {
    ctx.data_mut(|data| data.get_temp_mut_or_default::<Guessed>(Id::NULL).0.push(place));
}

/// The places of a frame where that is so.
#[derive(Clone, Default)]
struct Guessed(Vec<Rect>);

impl SystemFont {
    /// At the end of a frame; words to say where there is no such font.
    pub(crate) fn step(&mut self, ctx: &Context, jobs: &Jobs) -> Option<&'static str> {
        let guessed = ctx.data_mut(|data| data.remove_temp::<Guessed>(Id::NULL)).unwrap_or_default();
        match self {
            SystemFont::Unneeded if is_needed(ctx, &Guessed::default()) => {
                let (found, wake) = (Found::default(), ctx.clone());
                *self = SystemFont::Awaited(found.clone());
                jobs.run("", Priority::Background, move |_| {
                    *found.lock() = Some(read(&folders()));
                    wake.request_repaint();
                });
                None
            }
            SystemFont::Awaited(found) => {
                let font = found.lock().take()?;
                match font {
                    Some(font) => {
                        theme::add_font(ctx, font);
                        *self = SystemFont::Settled;
                    }
                    None => {
                        *self = SystemFont::Missing;
                        ctx.request_repaint();
                    }
                }
                None
            }
            SystemFont::Missing if is_needed(ctx, &guessed) => {
                *self = SystemFont::Settled;
                Some(
                    "No font of this system has Chinese, Japanese or Korean characters: boxes stand for them",
                )
            }
            SystemFont::Unneeded | SystemFont::Missing | SystemFont::Settled => None,
        }
    }
}

/// Whether something of this frame has such characters, but for what stands in these places.
fn is_needed(ctx: &Context, guessed: &Guessed) -> bool {
    let layers: Vec<LayerId> = ctx.memory(|memory| memory.layer_ids().collect());
    ctx.graphics(|graphics| {
        let layers = layers.into_iter().chain([LayerId::background()]);
        layers
            .filter_map(|layer| graphics.get(layer))
            .any(|list| list.all_entries().any(|clipped| needs(clipped, guessed)))
    })
}

/// Whether a shape has words in characters that the program's fonts do not have.
fn needs(clipped: &ClippedShape, guessed: &Guessed) -> bool {
    let is_guess = |place: &Rect| place.contains(clipped.shape.visual_bounding_rect().center());
    has_missing(&clipped.shape) && !guessed.0.iter().any(is_guess)
}

fn has_missing(shape: &Shape) -> bool {
    match shape {
        Shape::Text(text) => text.galley.job.text.chars().any(is_cjk),
        Shape::Vec(shapes) => shapes.iter().any(has_missing),
        _ => false,
    }
}

/// Han, kana, hangul, and their punctuation.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
        || matches!(c, '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3134f}')
}

/// Where systems keep their fonts.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [
        "/usr/share/fonts",
        "/usr/local/share/fonts",
        "/run/host/fonts",
        "/System/Library/Fonts",
        "/Library/Fonts",
        "C:\\Windows\\Fonts",
    ]
    .map(PathBuf::from)
    .to_vec();
    if let Some(home) = std::env::var_os("HOME").map(PathBuf::from) {
        folders.extend([".local/share/fonts", ".fonts", "Library/Fonts"].map(|path| home.join(path)));
    }
    folders
}

/// The bytes of the best font in these folders.
#[allow(clippy::disallowed_methods, reason = "the system's own fonts, in a job")]
fn read(folders: &[PathBuf]) -> Option<Vec<u8>> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| list(folder, DEEP, &mut files));
    let rank = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let is_font = [".ttf", ".otf", ".ttc"].iter().any(|ending| name.ends_with(ending));
        let rank = KNOWN.iter().position(|known| name.starts_with(known)).filter(|_| is_font)?;
        // The usual weight first.
        Some((rank, !name.contains("regular") && name.contains('-'), name))
    };
    let mut fonts: Vec<_> = files.into_iter().filter_map(|path| Some((rank(&path)?, path))).collect();
    fonts.sort();
    let small = |path: &Path| std::fs::metadata(path).is_ok_and(|facts| facts.len() <= LARGEST);
    let is_font = |bytes: &Vec<u8>| {
        [&b"ttcf"[..], b"OTTO", b"true", &[0, 1, 0, 0]].iter().any(|magic| bytes.starts_with(magic))
    };
    fonts
        .into_iter()
        .filter(|(_, path)| small(path))
        .find_map(|(_, path)| std::fs::read(path).ok().filter(is_font))
}

/// The files in a folder and in those within it.
#[allow(clippy::disallowed_methods, reason = "the system's own fonts, in a job")]
fn list(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if files.len() >= FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && deep > 0 => list(&entry.path(), deep - 1, files),
            Ok(kind) if kind.is_dir() => {}
            _ => files.push(entry.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_font_is_taken_and_what_is_none_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("truetype/x");
        std::fs::create_dir_all(&deep).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(deep.join(name), bytes).unwrap();
        let found = || read(&[folder.path().to_owned(), folder.path().join("missing")]);
        write("DejaVuSans.ttf", &[0, 1, 0, 0, 9]);
        assert_eq!(found(), None);
        write("wqy-zenhei.ttc", b"ttcf zenhei");
        assert_eq!(found().unwrap(), b"ttcf zenhei");
        write("NotoSansCJK-Bold.ttc", b"ttcf bold");
        write("NotoSansCJK-Regular.ttc", b"ttcf regular");
        assert_eq!(found().unwrap(), b"ttcf regular");
        // A text that is called like a font.
        write("NotoSansCJK-Regular.ttc", b"<html>");
        assert_eq!(found().unwrap(), b"ttcf bold");
    }

    #[test]
    fn only_characters_that_are_missing_ask_for_it() {
        assert!("数据 データ 데이터，".chars().filter(|c| *c != ' ').all(is_cjk));
        assert!(!"Größe α → ±Inf ↓ … ×".chars().any(is_cjk));
        let ctx = Context::default();
        let shapes = |text: &str| {
            let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
                ui.label(text);
            });
            output.textures_delta.clear();
            output.shapes
        };
        let needed = |text: &str, guessed: Vec<Rect>| {
            shapes(text).iter().any(|clipped| needs(clipped, &Guessed(guessed.clone())))
        };
        assert!(needed("列 1", Vec::new()) && !needed("column 1", Vec::new()));
        // What bytes would say as a text is none yet.
        assert!(!needed("列 1", vec![Rect::EVERYTHING]) && needed("列 1", vec![Rect::NOTHING]));
    }
}
