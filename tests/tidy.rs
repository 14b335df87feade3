//! Rules of the house that no compiler checks.

use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut std::fs::File::open(&path).unwrap(), &mut text).unwrap();
                out.push((path, text));
            }
        }
    }
    let mut out = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut out);
    out
}

/// A file without the tests at its end.
fn production(text: &str) -> &str {
    let tests = ["mod tests {", "pub(super) mod tests {", "pub(crate) mod tests {"];
    let code = |module: &&str| text.split_once(&format!("#[cfg(test)]\n{module}")).map(|(code, _)| code);
    tests.iter().find_map(code).unwrap_or(text)
}

#[test]
fn the_library_does_not_know_egui() {
    for (path, text) in sources("src") {
        if !path.to_string_lossy().contains("/src/app/") {
            assert!(!text.contains("use egui") && !text.contains("egui::"), "{}", path.display());
        }
    }
}

/// The layers in their order, as `lib.rs` lists them.
fn layers() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let section = text.split("//! # Layers\n").nth(1).unwrap().split("//! #").next().unwrap();
    let item = |line: &str| {
        let (number, rest) = line.strip_prefix("//! ")?.split_once(". [`")?;
        number.parse::<u32>().ok()?;
        Some(rest.split('`').next()?.to_owned())
    };
    section.lines().filter_map(item).collect()
}

/// The files of the library with their modules (`["formats", "array", "npy"]`) and their code: without comments, and
/// without tests, which may use whatever they like.
fn library() -> Vec<(Vec<String>, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out = Vec::new();
    for (path, text) in sources("src") {
        let relative = path.strip_prefix(&root).unwrap().with_extension("");
        let modules: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_test = modules.iter().any(|name| name == "tests" || name == "testing" || name == "made");
        if modules[0] == "app" || modules[0] == "lib" || is_test {
            continue;
        }
        let code = production(&text);
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        out.push((modules, code.join("\n")));
    }
    out
}

#[test]
fn layers_use_only_those_before_them() {
    let layers = layers();
    assert!(layers.len() > 5, "{layers:?}");
    let place = |name: &str| layers.iter().position(|layer| layer == name);
    let mut wrong = Vec::new();
    for (modules, code) in library() {
        let own = place(&modules[0]).unwrap_or_else(|| panic!("{} is in no layer", modules[0]));
        for used in code.split("crate::").skip(1) {
            let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if place(&name).is_none_or(|used| used > own) {
                wrong.push(format!("{}: crate::{name}", modules.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_format_knows_another() {
    let mut wrong = Vec::new();
    for (modules, code) in
        library().iter().filter(|(modules, _)| modules[0] == "formats" && modules.len() > 2)
    {
        let of = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
        for used in code.split("crate::formats::").skip(1) {
            let path: String =
                used.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
            let is_kind =
                ["array", "media", "model", "plain", "record", "table"].contains(&of(&path)[0].as_str());
            if is_kind && of(&path).get(..2) != modules.get(1..3) {
                wrong.push(format!("{}: {path}", modules.join("::")));
            }
        }
        // A path upwards that leaves the format.
        let up = "super::".repeat(modules.len() - 2);
        wrong.extend(code.contains(&up).then(|| format!("{}: {up}", modules.join("::"))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rooms of the window in their order, as `gui.rs` lists them: those of one line do not know each other.
fn rooms() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app/gui.rs")).unwrap();
    let section = text.split("//! # Rooms\n").nth(1).unwrap();
    let names = |line: &str| {
        let (_, rest) = line.strip_prefix("//! ")?.split_once(". [`")?;
        let linked = rest.split("[`").filter_map(|part| Some(part.split_once('`')?.0.to_owned()));
        Some(linked.collect())
    };
    section.lines().take_while(|line| line.starts_with("//!")).filter_map(names).collect()
}

#[test]
fn rooms_of_the_window_use_only_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app/gui");
    let rooms = rooms();
    let place = |name: &str| rooms.iter().position(|line| line.iter().any(|room| room == name));
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (path, text) in sources("src/app/gui") {
        let relative = path.strip_prefix(&root).unwrap().with_extension("");
        let modules: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if modules.iter().any(|name| name == "tests" || name == "harness") {
            continue;
        }
        let own = place(&modules[0]).unwrap_or_else(|| panic!("{} is in no line of gui.rs", modules[0]));
        // What is above the room is the window itself.
        let up = "super::".repeat(modules.len());
        let code: Vec<&str> =
            production(&text).lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n").replace("crate::gui::", &up);
        for used in code.split(&up).skip(1) {
            let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(other) = place(&name) else { continue };
            seen += 1;
            let fits = other < own || name == modules[0];
            wrong.extend((!fits).then(|| format!("{}: {name}", modules.join("::"))));
        }
    }
    assert!(seen > 200 && wrong.is_empty(), "{seen}: {}", wrong.join("\n"));
}

#[test]
fn the_window_makes_no_tasks() {
    for (path, text) in sources("src/app") {
        if path.to_string_lossy().contains("/gui/")
            && !path.ends_with("tests.rs")
            && !path.to_string_lossy().contains("/tests/")
            && !path.ends_with("harness.rs")
        {
            let code = production(&text);
            assert!(!code.contains("Task::new("), "{} may not block", path.display());
        }
    }
}

#[test]
fn only_source_maps_and_opens() {
    for (path, text) in sources("src") {
        let name = path.to_string_lossy().into_owned();
        let room = ["/source/", "/source.rs", "/bytes/system/", "/app/", "/output.rs", "/output/"]
            .iter()
            .any(|room| name.contains(room));
        if !room {
            let code = production(&text);
            assert!(!code.contains("File::open(") && !code.contains("Mmap"), "{name} opens files");
        }
    }
}

/// A texture beyond the driver's limit ends the program: one place keeps to it.
#[test]
fn only_the_texture_room_makes_textures() {
    let makers = ["load_texture(", "tex_manager(", "RetainedImage"];
    for (path, text) in sources("src/app") {
        let makes = makers.iter().any(|maker| text.contains(maker));
        assert_eq!(makes, path.ends_with("gui/texture.rs"), "{} makes textures", path.display());
    }
}

#[test]
fn rooms_stay_small() {
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        assert!(lines <= 800, "{}: {lines} lines", path.display());
    }
}

#[test]
fn formats_are_listed_once_and_well_named() {
    let mut ids = std::collections::HashSet::new();
    for format in gander::formats::FORMATS {
        assert!(ids.insert(format.id), "{} is listed twice", format.id);
        assert!(
            format.extensions.iter().all(|e| *e == e.to_lowercase() && !e.starts_with('.')),
            "{}",
            format.id
        );
    }
    assert_eq!(gander::formats::FORMATS.last().unwrap().id, "bytes", "bytes opens anything and stands last");
}

/// The functions of a file as (name, lines), found by rustfmt's indentation.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    let mut open: Vec<(String, usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let code = line.trim_start();
        if open.last().is_some_and(|(_, _, end)| line == end.as_str())
            && let Some((name, start, _)) = open.pop()
        {
            out.push((name, number - start + 1));
        }
        let head = code.split('(').next().unwrap_or_default();
        if let Some(at) = head.find("fn ")
            && (at == 0 || head[..at].ends_with(' '))
            && !code.starts_with("//")
            && !code.ends_with(';')
            && !code.ends_with('}')
        {
            let name = head[at + 3..].split('<').next().unwrap_or_default().to_owned();
            open.push((name, number, format!("{indent}}}")));
        }
    }
    out
}

#[test]
fn functions_stay_small() {
    let mut long = Vec::new();
    for (path, text) in sources("src") {
        let all = functions(&text);
        assert!(
            all.len() * 4
                >= text.lines().filter(|line| line.starts_with("    fn ") && line.ends_with('{')).count(),
            "{}: the counter is lost",
            path.display()
        );
        long.extend(
            all.into_iter()
                .filter(|(_, lines)| *lines > 80)
                .map(|(name, lines)| format!("{}: {name} has {lines} lines", path.display())),
        );
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// README's table of formats, from the list itself.
fn format_table() -> String {
    let mut out = String::from("| id | format | extensions | reads | writes |\n|---|---|---|---|---|\n");
    for format in gander::formats::FORMATS {
        let words = |kinds: &[gander::data::content::Kind]| {
            kinds.iter().map(|k| k.word()).collect::<Vec<_>>().join(", ")
        };
        let extensions: Vec<String> = format.extensions.iter().map(|e| format!("`.{e}`")).collect();
        let writes = format.targets.first().map_or(String::new(), |target| words(target.writer.accepts));
        out += &format!(
            "| `{}` | {} | {} | {} | {writes} |\n",
            format.id,
            format.name,
            extensions.join(" "),
            words(format.reads)
        );
    }
    out
}

/// With `GANDER_BLESS=1` the table is written, else compared.
#[test]
fn readme_has_the_table_of_formats() {
    const START: &str = "<!-- formats: made from the list; GANDER_BLESS=1 cargo test readme -->\n";
    const END: &str = "<!-- end of formats -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find(START).expect("the mark before the table") + START.len();
    let end = text.find(END).expect("the mark after the table");
    if std::env::var_os("GANDER_BLESS").is_some() {
        std::fs::write(&path, format!("{}{}{}", &text[..start], format_table(), &text[end..])).unwrap();
        return;
    }
    assert!(text[start..end] == format_table(), "README's table is old: GANDER_BLESS=1 cargo test readme");
}
