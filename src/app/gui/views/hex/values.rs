//! Bytes read as every number type, in both byte orders, as times and as text.

use chrono::DateTime;
use egui::{Align2, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::data::cell;
use gander::data::dtype::{DType, Mini};

use crate::gui::fonts;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{elided, paint_elided};

/// The height of a line: all types are in sight at once.
const HEIGHT: f32 = 17.0;
/// The width of the names.
const NAMES: f32 = 66.0;
/// The same where one value stands beside them.
const LONG_NAMES: f32 = 130.0;
/// The same where two of these stand in a line.
const PAIRED_NAMES: f32 = 96.0;
/// The room at the sides of a value.
const PADDING: f32 = 2.0;

/// A line of the table: the type, its value little-endian, its value big-endian (empty where the order
/// does not matter).
pub(super) type Line = (&'static str, String, String);

/// What the bytes say as numbers.
pub(super) fn numbers(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    macro_rules! line {
        ($name:literal, $ty:ty, $n:literal, $text:expr) => {
            if let Some(part) = bytes.first_chunk::<$n>() {
                let text: fn($ty) -> String = $text;
                let big = if $n > 1 { text(<$ty>::from_be_bytes(*part)) } else { String::new() };
                lines.push(($name, text(<$ty>::from_le_bytes(*part)), big));
            }
        };
    }
    line!("int8", i8, 1, |v| v.to_string());
    line!("uint8", u8, 1, |v| v.to_string());
    line!("int16", i16, 2, |v| v.to_string());
    line!("uint16", u16, 2, |v| v.to_string());
    line!("int32", i32, 4, |v| v.to_string());
    line!("uint32", u32, 4, |v| v.to_string());
    line!("int64", i64, 8, |v| v.to_string());
    line!("uint64", u64, 8, |v| v.to_string());
    line!("float16", half::f16, 2, cell::float16);
    line!("bfloat16", half::bf16, 2, cell::bfloat16);
    line!("float32", f32, 4, cell::float32);
    line!("float64", f64, 8, cell::float64);
    lines
}

/// What one byte says as every float of 8 bits, and its low bits as those of 6; of 4 bits there are two in it,
/// the low half first.
fn small_floats(byte: u8) -> Vec<(&'static str, String)> {
    let text = |kind: Mini, bits: u8| cell::element(&DType::Mini(kind), &[bits]);
    let value = |kind: Mini| match kind.bits() {
        4 => format!("{}, {}", text(kind, byte & 0x0f), text(kind, byte >> 4)),
        6 => text(kind, byte & 0x3f),
        _ => text(kind, byte),
    };
    Mini::ALL.into_iter().map(|kind| (kind.name(), value(kind))).collect()
}

/// What the bytes say as times since 1970.
pub(super) fn times(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let seconds = |v: i64| DateTime::from_timestamp(v, 0).map_or(String::new(), words);
    let millis = |v: i64| DateTime::from_timestamp_millis(v).map_or(String::new(), words);
    let nanos = |v: i64| words(DateTime::from_timestamp_nanos(v));
    if let Some(part) = bytes.first_chunk::<4>() {
        let text = |v: i32| seconds(i64::from(v));
        lines.push(("time 32 s", text(i32::from_le_bytes(*part)), text(i32::from_be_bytes(*part))));
    }
    if let Some(part) = bytes.first_chunk::<8>() {
        let (little, big) = (i64::from_le_bytes(*part), i64::from_be_bytes(*part));
        lines.push(("time 64 s", seconds(little), seconds(big)));
        lines.push(("time 64 ms", millis(little), millis(big)));
        lines.push(("time 64 ns", nanos(little), nanos(big)));
    }
    // Years far away are no dates.
    let near = |text: &String| !text.is_empty() && text.len() == 19;
    lines.retain(|(_, little, big)| near(little) || near(big));
    for (_, little, big) in &mut lines {
        [little, big].into_iter().filter(|text| !near(text)).for_each(String::clear);
    }
    lines
}

fn words(time: DateTime<chrono::Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// What the bytes say as text: UTF-8 as far as it goes, and UTF-16.
pub(super) fn texts(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let utf8 = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let end = units.iter().position(|&unit| unit == 0).unwrap_or(units.len());
    let utf16 = String::from_utf16_lossy(&units[..end]);
    let clean = |text: &str| text.chars().take(40).map(|c| if c.is_control() { '·' } else { c }).collect();
    vec![("UTF-8", clean(utf8)), ("UTF-16 LE", clean(&utf16))]
}

/// Draws the values of the bytes at `offset`.
pub(super) fn ui(ui: &mut Ui, offset: u64, bytes: &[u8]) {
    let theme = Theme::of(ui);
    let note = format!("at 0x{offset:x}");
    theme::section_head(ui, "Numbers", Some((&note, theme.dim)));
    head(ui, ["little-endian", "big-endian"]);
    for (name, little, big) in &numbers(bytes) {
        let orders = if big.is_empty() { ["", ""] } else { ["little-endian", "big-endian"] };
        line(ui, NAMES, name, &[(orders[0], little), (orders[1], big)]);
    }
    ui.add_space(theme::space::S3);
    if let Some(byte) = bytes.first() {
        theme::section_head(ui, "Byte", None);
        line(
            ui,
            NAMES,
            "bits, octal",
            &[("bits", &format!("{byte:08b}")), ("octal", &format!("{byte:03o}"))],
        );
        ui.add_space(theme::space::S3);
        theme::section_head(ui, "Small floats", None);
        for pair in small_floats(*byte).chunks(2) {
            two_in_a_line(ui, pair);
        }
    }
    let times = times(bytes);
    if !times.is_empty() {
        ui.add_space(theme::space::S3);
        theme::section_head(ui, "Times since 1970, UTC", None);
        for (name, little, big) in &times {
            for (value, order) in [(little, "little"), (big, "big")] {
                if !value.is_empty() {
                    line(ui, LONG_NAMES, &format!("{name}, {order}"), &[("", value)]);
                }
            }
        }
    }
    ui.add_space(theme::space::S3);
    theme::section_head(ui, "Text", None);
    let top = ui.cursor().min;
    for (name, text) in texts(bytes) {
        line(ui, LONG_NAMES, name, &[("", &text)]);
    }
    fonts::is_guessed(ui.ctx(), Rect::from_min_max(top, ui.min_rect().max));
}

/// What is said of a value besides the name of its line, and the value.
type Value<'a> = (&'a str, &'a str);

/// The heads of two columns of values.
fn head(ui: &mut Ui, words: [&str; 2]) {
    let theme = Theme::of(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let left = rect.left() + NAMES.min(rect.width() * 0.45);
    for (n, words) in words.into_iter().enumerate() {
        let right = left + (rect.right() - left) * (n + 1) as f32 / 2.0;
        let at = pos2(right - PADDING, rect.center().y);
        ui.painter().text(at, Align2::RIGHT_CENTER, words, theme::small_font(), theme.faint);
    }
}

/// A line of a name, for which there are `names` points, and values.
fn line(ui: &mut Ui, names: f32, name: &str, values: &[Value<'_>]) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    draw(ui, rect, names.min(rect.width() * 0.45), name, values);
}

/// A line of two names with a value each.
fn two_in_a_line(ui: &mut Ui, pair: &[(&'static str, String)]) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let (left, right) = rect.split_left_right_at_fraction(0.5);
    for ((name, value), place) in pair.iter().zip([left, right]) {
        draw(ui, place, PAIRED_NAMES.min(place.width() * 0.65), name, &[("", value)]);
    }
}

/// Draws a name, for which there are `names` points, and its values, of which empty ones leave their place free: several
/// end below each other, one begins beside its name. A click on a value copies it.
fn draw(ui: &mut Ui, rect: Rect, names: f32, name: &str, values: &[Value<'_>]) {
    let theme = Theme::of(ui);
    let painter = ui.painter().clone();
    let at = pos2(rect.left(), rect.center().y);
    let font = theme::small_font();
    paint_elided(&painter, at, Align2::LEFT_CENTER, name, font, theme.dim, names - space::S1);
    let left = rect.left() + names;
    let width = (rect.right() - left) / values.len().max(1) as f32;
    for (n, &(besides, value)) in values.iter().enumerate().filter(|(_, (_, value))| !value.is_empty()) {
        let place = Rect::from_min_size(pos2(left + n as f32 * width, rect.top()), vec2(width, HEIGHT));
        let response = ui.interact(place, ui.scope_id().with((name, n)), Sense::click());
        let comma = if besides.is_empty() { "" } else { ", " };
        let spoken = format!("{name}{comma}{besides}: {value}");
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
        if response.hovered() || response.has_focus() {
            painter.rect_filled(place, size::CORNER, theme.bg3);
        }
        if response.clicked() {
            ui.ctx().copy_text(value.to_owned());
        }
        response.on_hover_ui(|ui| {
            ui.label(theme::mono(value));
            ui.label(theme::dim(theme, "Click to copy"));
        });
        let inner = place.shrink2(vec2(PADDING, 0.0));
        let text = elided(&painter, value, theme::mono_small_font(), theme.text, inner.width());
        let x = if values.len() == 1 { inner.left() } else { inner.right() - text.size().x };
        let y = rect.center().y - text.size().y / 2.0;
        painter.galley(pos2(x, y).round(), text, theme.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_in_both_orders() {
        let lines = numbers(&[0x00, 0x00, 0x80, 0x3f, 0, 0, 0, 0]);
        let of = |name: &str| lines.iter().find(|line| line.0 == name).unwrap().clone();
        assert_eq!(of("float32"), ("float32", "1.0".into(), "4.6006e-41".into()));
        assert_eq!((of("uint16").1, of("int8").2), ("0".into(), String::new()));
        assert_eq!(numbers(&[7]).len(), 2, "types that do not fit are left out");
    }

    #[test]
    fn a_byte_is_read_as_every_small_float() {
        let of = |byte, name: &str| {
            let mut all = small_floats(byte).into_iter();
            all.find(|line| line.0 == name).unwrap().1
        };
        assert_eq!((of(0x7e, "float8_e4m3fn"), of(0x7c, "float8_e5m2")), ("448.0".into(), "inf".into()));
        assert_eq!((of(0x80, "float8_e5m2fnuz"), of(127, "float8_e8m0fnu")), ("nan".into(), "1.0".into()));
        assert_eq!(
            (of(0x97, "float4_e2m1fn"), of(0xdf, "float6_e2m3fn")),
            ("6.0, -0.5".into(), "7.5".into())
        );
        assert_eq!(small_floats(0).len(), Mini::ALL.len());
    }

    #[test]
    fn only_likely_times_are_shown() {
        let now = 1_700_000_000i64.to_le_bytes();
        let lines = times(&now);
        assert!(lines.iter().any(|line| line.1 == "2023-11-14 22:13:20"), "{lines:?}");
        assert_eq!(texts(b"abc\0def")[0].1, "abc");
    }
}
