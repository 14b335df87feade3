//! What is read from the file, what stays in it, and what is said of it.

use gander::data::plane::color::ColorMap;
use gander::jobs::Jobs;

use super::file::{read, written};
use super::*;

const TEXT: &str = "\
# mine
theme = \"dark\"   # at night
later = [1, 2]

scale = 1.5
numbers = 3

[views]
array = \"heat map\" # always
other = 1

[colors]
sequential = \"plasma\"
";

#[test]
fn what_the_file_says_is_taken() {
    let (settings, problems) = read(TEXT);
    assert_eq!(problems, []);
    assert_eq!((settings.theme, settings.scale, settings.memory), (ThemeChoice::Dark, 1.5, 2.0));
    let preferences = settings.preferences;
    assert_eq!((preferences.numbers, preferences.array), (NumberFormat::Digits(3), ArrayStart::Heat));
    assert_eq!(preferences.sequential, ColorMap::named("plasma").unwrap());
    assert_eq!(read(""), (Settings::default(), vec![]));
}

#[test]
fn an_error_is_said_with_its_line_and_the_rest_counts() {
    let text = "theme = \"blue\"\nscale = 9\nmemory_gb = 4\n= 3\nnumbers = \"thousands\"\n[views\n[colors]\ndiverging = \"viridis\"\n";
    let (settings, problems) = read(text);
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 2, 4, 6, 8], "{problems:?}");
    assert!(problems[0].to_string().starts_with("line 1: theme: it is one of \"system\""), "{problems:?}");
    assert_eq!((settings.memory, settings.preferences.numbers), (4.0, NumberFormat::Thousands));
    assert_eq!((settings.theme, settings.scale), (ThemeChoice::System, 1.0));
    for broken in ["[[[[", "a = '''\nb\nc", "\u{feff}theme = \"dark\"", "a.b = 1\na = 2\n", "views = 3"] {
        read(broken);
    }
}

#[test]
fn comments_and_unknown_keys_stay() {
    let (before, _) = read(TEXT);
    assert_eq!(written(TEXT, &before, &before).unwrap(), TEXT);
    let mut after = before.clone();
    after.theme = ThemeChoice::Light;
    after.memory = 8.0;
    after.preferences.array = ArrayStart::Usual;
    after.preferences.model = ModelStart::Health;
    let text = written(TEXT, &before, &after).unwrap();
    for line in [
        "# mine",
        "theme = \"light\"   # at night",
        "later = [1, 2]",
        "array = \"usual\" # always",
        "other = 1",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert_eq!(read(&text), (after.clone(), vec![]));
    // A value that cannot be meant stays until it is set, and nothing is written over what cannot be read.
    let wrong = "theme = \"blue\" # ?\n";
    let (base, _) = read(wrong);
    let scaled = Settings { scale: 2.0, ..base.clone() };
    assert!(written(wrong, &base, &scaled).unwrap().starts_with(wrong));
    assert_eq!(written("a = 1\n= 2\n", &base, &scaled).unwrap_err().line, 2);
    assert!(written("views = 3\n", &base, &after).unwrap().contains("views = 3"));
}

#[test]
fn every_key_comes_back() {
    let settings = Settings {
        theme: ThemeChoice::Light,
        scale: 1.3,
        memory: 0.5,
        isolate: false,
        preferences: Preferences {
            numbers: NumberFormat::Scientific,
            table: TableStart::Summary,
            array: ArrayStart::Line,
            model: ModelStart::Parameters,
            image: ImageStart::Histogram,
            sequential: ColorMap::named("turbo").unwrap(),
            diverging: ColorMap::all().filter(|map| map.diverges()).last().unwrap(),
        },
    };
    let text = written("", &Settings::default(), &settings).unwrap();
    assert_eq!(read(&text), (settings, vec![]), "{text}");
}

#[test]
fn changes_reach_the_file_and_what_changed_there_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/settings.toml");
    let (file, mut settings, problems) = SettingsFile::load_from(Some(path.clone()));
    assert_eq!((settings.clone(), problems), (Settings::default(), vec![]));
    settings.scale = 2.0;
    file.keep_now(&settings);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("# by hand\n{text}memory_gb = 7\n")).unwrap();
    settings.theme = ThemeChoice::Dark;
    let jobs = Jobs::new(|| {});
    file.keep(&jobs, &settings);
    while !jobs.list().is_empty() {
        std::thread::yield_now();
    }
    file.keep_now(&settings);
    let (_, again, problems) = SettingsFile::load_from(Some(path.clone()));
    assert_eq!(again, Settings { memory: 7.0, ..settings.clone() });
    assert_eq!(problems, []);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("# by hand\n"));
    std::fs::write(&path, "= broken\n").unwrap();
    file.keep_now(&Settings::default());
    assert!(file.take_failure().unwrap().contains("line 1"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "= broken\n", "it is not written over");
}
