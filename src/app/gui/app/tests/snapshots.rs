//! Pictures of the whole window, compared with those in `tests/snapshots`: what a person sees moves only where somebody
//! means it to. `UPDATE_SNAPSHOTS=1 cargo test --bin gander snapshots` writes those that differ anew; look at them before
//! they are committed.
//!
//! They hold no times, no paths of a machine and no progress; what measures this run (memory, seconds) is covered. Where
//! the system offers no adapter to draw with, nothing is compared, and the tests say so; with `CI` set they fail then.

use std::panic::catch_unwind;
use std::sync::OnceLock;

use egui::{Rect, pos2};
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{SnapshotOptions, try_image_snapshot_options};

use super::*;
use crate::gui::session::{Recent, now};
use crate::gui::settings::ThemeChoice;

const SIZE: egui::Vec2 = vec2(1100.0, 700.0);
/// What pixels may differ by between renderers, in egui_kittest's measure of colours (its own default is 0.6), and how
/// many may differ by more: edges of glyphs and curves; an icon or a line that moved has more.
const THRESHOLD: f32 = 1.0;
const FAILED_PIXELS: usize = 40;
/// The room of the memory in use, at the right of the status bar.
const MEMORY: f32 = 150.0;
/// The width of the word that stands before what a pass took.
const STATISTICS: f32 = 72.0;
/// The height of the memory in use, with the margin that the harness leaves around the window.
const MEMORY_HEIGHT: f32 = 34.0;

/// Whether there is something to draw with.
fn can_draw() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let Err(panic) = catch_unwind(|| drop(WgpuTestRenderer::new())) else { return true };
        let words = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        let none = words.to_lowercase().contains("adapter");
        assert!(none && std::env::var_os("CI").is_none(), "the window cannot be drawn: {words}");
        eprintln!("NOT COMPARED: there is no graphics adapter here (mesa-vulkan-drivers has one): {words}");
        false
    })
}

/// A window in this theme.
fn themed(paths: &[&str], theme: ThemeChoice) -> Harness<'static, Window> {
    let paths: Vec<PathBuf> = paths.iter().map(|name| fixture(name)).collect();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let settings = Settings { theme, ..Settings::default() };
    window_with(&paths, Session::default(), settings, SIZE)
}

/// Seconds that something took.
fn is_time(label: &str) -> bool {
    let last = label.rsplit(" · ").next().unwrap_or_default();
    last.strip_suffix(" s").or_else(|| last.strip_suffix(" ms")).is_some_and(|n| n.parse::<f64>().is_ok())
}

/// Compares the window, once nothing moves any more, with the picture of this name.
fn compare(mut harness: Harness<'_, Window>, name: &str) {
    harness.ctx.all_styles_mut(|style| style.visuals.text_cursor.blink = false);
    harness.remove_cursor();
    settle(&mut harness);
    // What fades or slides comes to its end.
    (0..40).for_each(|_| harness.step());
    settle(&mut harness);
    let times: Vec<Rect> = harness
        .query_all_by(|node| node.label().is_some_and(|label| is_time(&label)))
        .map(|node| node.rect().expand(2.0))
        .collect();
    let end = SIZE.to_pos2();
    let memory = Rect::from_min_max(pos2(end.x - MEMORY, end.y - MEMORY_HEIGHT), end);
    // A pass that took long says how long, beside the head of the section.
    let head = harness.query_all_by_label("Statistics").next();
    let pass = head.map(|node| node.rect()).map(|rect| {
        let left = pos2(rect.left() + STATISTICS, rect.top());
        Rect::from_min_max(left, pos2(end.x - theme::space::S6, rect.bottom()))
    });
    times.into_iter().chain(pass).chain([memory]).for_each(|rect| harness.mask(rect));
    if !can_draw() {
        return;
    }
    let mut image = harness.render().unwrap();
    // The margin around the window is transparent, which the pictures do not keep.
    image.pixels_mut().for_each(|pixel| pixel.0[3] = u8::MAX);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let options =
        SnapshotOptions::new().threshold(THRESHOLD).max_failed_pixels(FAILED_PIXELS).output_path(&folder);
    if let Err(error) = try_image_snapshot_options(&image, name, &options) {
        panic!("{error}");
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let _ = std::fs::remove_file(folder.join(format!("{name}.old.png")));
        shrink(&folder.join(format!("{name}.png")));
    }
}

/// Writes a picture as small as PNG allows: without the channel that is full everywhere.
fn shrink(path: &Path) {
    let image = image::open(path).unwrap().to_rgb8();
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), image.width(), image.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::Adaptive);
    encoder.write_header().unwrap().write_image_data(&image).unwrap();
}

#[test]
fn snapshots_of_a_table() {
    compare(themed(&["showcase/people.csv"], ThemeChoice::Light), "table");
}

#[test]
fn snapshots_of_a_filtered_table() {
    let mut harness = themed(&["showcase/people.csv"], ThemeChoice::Dark);
    click(&mut harness, Role::Button, "Filter and sort rows");
    click(&mut harness, Role::Button, "Add filter");
    click(&mut harness, Role::ComboBox, "Column");
    click(&mut harness, Role::Button, "name");
    click(&mut harness, Role::ComboBox, "Test");
    click(&mut harness, Role::Button, "starts with");
    harness.get_by_role_and_label(Role::TextInput, "Filter value").focus();
    harness.step();
    write(&mut harness, "A");
    click(&mut harness, Role::Button, "Add");
    harness.get_by_role_and_label(Role::ColumnHeader, "born").click_accesskit();
    settle(&mut harness);
    compare(harness, "filtered");
}

/// An array in one of its modes, by its key.
fn array(mode: Key, theme: ThemeChoice, name: &str) {
    let mut harness = themed(&["showcase/field.npy"], theme);
    press(&mut harness, Modifiers::ALT, mode);
    compare(harness, name);
}

#[test]
fn snapshots_of_numbers() {
    array(Key::Num1, ThemeChoice::Light, "numbers");
}

#[test]
fn snapshots_of_a_heat_map() {
    array(Key::Num2, ThemeChoice::Dark, "heat_map");
}

#[test]
fn snapshots_of_lines() {
    array(Key::Num4, ThemeChoice::Light, "lines");
}

#[test]
fn snapshots_of_a_histogram() {
    array(Key::Num5, ThemeChoice::Dark, "histogram");
}

#[test]
fn snapshots_of_an_image() {
    compare(themed(&["showcase/photo.png"], ThemeChoice::Light), "image");
}

#[test]
fn snapshots_of_a_text() {
    compare(themed(&["text/train.log"], ThemeChoice::Dark), "text");
}

#[test]
fn snapshots_of_bytes() {
    let mut harness = themed(&["showcase/photo.png"], ThemeChoice::Light);
    let id = harness.state().app().files.iter().next().unwrap().id;
    harness.state_mut().app.as_mut().unwrap().actions.push(Action::OpenAs(id, "bytes"));
    settle(&mut harness);
    compare(harness, "hex");
}

#[test]
fn snapshots_of_a_group() {
    compare(themed(&["showcase/weights.safetensors"], ThemeChoice::Dark), "group");
}

#[test]
fn snapshots_of_a_result_of_sql() {
    let mut harness = themed(&["showcase/people.csv"], ThemeChoice::Light);
    let sql =
        "SELECT city, count(*) AS people, avg(height_m) AS height\nFROM people\nGROUP BY city\nORDER BY city";
    let app = harness.state_mut().app.as_mut().unwrap();
    app.actions.push(Action::Query(QueryStart::Statement(sql.to_owned())));
    settle(&mut harness);
    press(&mut harness, Modifiers::COMMAND, Key::Enter);
    compare(harness, "sql");
}

#[test]
fn snapshots_of_the_start_page() {
    let recent = |path: &str, hours: u64, bytes| Recent {
        path: PathBuf::from(path),
        when: now() - 3_600 * hours - 60,
        bytes,
        format: String::new(),
    };
    let recent = vec![
        recent("/data/runs/weights.safetensors", 2, Some(9_412_000_000)),
        recent("/data/images", 30, None),
        recent("/data/tables/people.csv", 24 * 9, Some(5_559)),
    ];
    let session = Session { recent, ..Session::default() };
    let settings = Settings { theme: ThemeChoice::Dark, ..Settings::default() };
    compare(window_with(&[], session, settings, SIZE), "start");
}
