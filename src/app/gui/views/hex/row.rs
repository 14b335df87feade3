//! Where offsets, hexadecimal digits and characters stand in a row of bytes.

use std::ops::Range;

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, Pos2, Rect, Ui, pos2};

use super::marks::{self, Mark};
use crate::gui::theme::{Theme, mono_font, space};

/// Bytes in a row.
pub(crate) const ROW: u64 = 16;
/// The height of a row, in points.
pub(crate) const HEIGHT: f32 = 20.0;

/// What is marked among the bytes.
pub(super) struct Marked<'a> {
    /// Those that are selected.
    pub(super) selected: &'a Range<u64>,
    /// The one that the cursor is at.
    pub(super) cursor: u64,
    /// Fields that are painted.
    pub(super) marks: &'a [Mark],
}

/// The places of the columns.
pub(super) struct Columns {
    advance: f32,
    digits: usize,
    /// Bytes in a row.
    pub(super) across: u64,
}

impl Columns {
    /// For bytes of a length, `across` in a row.
    pub(super) fn new(ui: &Ui, len: u64, across: u64) -> Self {
        let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&mono_font(), '0'));
        let digits = format!("{:x}", len.saturating_sub(1)).len().max(8);
        Columns { advance, digits, across }
    }

    fn hex_left(&self) -> f32 {
        space::S3 + (self.digits as f32 + 3.0) * self.advance
    }

    /// Where the digits of a byte begin; a gap is after eight.
    fn hex_at(&self, byte: u64) -> f32 {
        self.hex_left() + (byte as f32 * 3.0 + if byte >= 8 { 1.0 } else { 0.0 }) * self.advance
    }

    fn text_left(&self) -> f32 {
        self.hex_at(self.across - 1) + 5.0 * self.advance
    }

    /// How wide a row is.
    pub(super) fn width(&self) -> f32 {
        self.text_left() + self.across as f32 * self.advance + space::S2
    }

    /// The byte of the row at a distance from the left edge.
    pub(super) fn byte_at(&self, x: f32) -> Option<u64> {
        if x >= self.text_left() - self.advance {
            let byte = ((x - self.text_left()) / self.advance).clamp(0.0, (self.across - 1) as f32);
            return Some(byte as u64);
        }
        let left = self.hex_left() - self.advance;
        (x >= left)
            .then(|| (0..self.across).rev().find(|&byte| x >= self.hex_at(byte) - self.advance).unwrap_or(0))
    }

    /// The line above the rows.
    pub(super) fn head(&self, ui: &Ui, place: Rect, theme: &Theme) {
        ui.painter().rect_filled(place, 0.0, theme.bg1);
        ui.painter().hline(place.x_range(), place.bottom() - 0.5, theme.hairline());
        let middle = place.center().y;
        let put = |x: f32, text: String| {
            let at = pos2(place.left() + x, middle);
            ui.painter().text(at, egui::Align2::LEFT_CENTER, text, mono_font(), theme.dim);
        };
        put(space::S3, "offset".to_owned());
        for byte in 0..self.across {
            put(self.hex_at(byte), format!("{byte:02x}"));
        }
        put(self.text_left(), "characters".to_owned());
    }

    /// One row.
    pub(super) fn row(
        &self,
        ui: &Ui,
        place: Rect,
        start: u64,
        bytes: &[u8],
        &Marked { selected, cursor, marks }: &Marked<'_>,
    ) {
        let theme = Theme::of(ui);
        let middle = place.center().y;
        let digits = self.digits;
        let offset = format!("{start:0digits$x}");
        let color = if (start..start + self.across).contains(&cursor) { theme.text } else { theme.dim };
        let at = pos2(place.left() + space::S3, middle);
        ui.painter().text(at, egui::Align2::LEFT_CENTER, offset, mono_font(), color);
        for (index, _) in bytes.iter().enumerate() {
            let byte = start + index as u64;
            if let Some(color) = marks::color(marks, byte, theme) {
                for rect in self.places(place, index as u64) {
                    ui.painter().rect_filled(rect, 0.0, color);
                }
            }
            if selected.contains(&byte) {
                self.mark(ui, place, index as u64, byte == cursor, theme);
            }
        }
        let mut hex = LayoutJob::default();
        let mut text = LayoutJob::default();
        for (index, &byte) in bytes.iter().enumerate() {
            let gap = if index == 8 {
                "  "
            } else if index > 0 {
                " "
            } else {
                ""
            };
            append(&mut hex, &format!("{gap}{byte:02x}"), color_of(byte, theme));
            let shown = if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '·' };
            append(&mut text, shown.encode_utf8(&mut [0; 4]), color_of(byte, theme));
        }
        put(ui, hex, pos2(place.left() + self.hex_left(), middle));
        put(ui, text, pos2(place.left() + self.text_left(), middle));
    }

    /// Where a byte of the row stands among the digits and among the characters.
    fn places(&self, place: Rect, byte: u64) -> [Rect; 2] {
        let left = place.left() + self.hex_at(byte) - self.advance * 0.5;
        let hex =
            Rect::from_min_max(pos2(left, place.top()), pos2(left + 3.0 * self.advance, place.bottom()));
        let left = place.left() + self.text_left() + byte as f32 * self.advance;
        let text = Rect::from_min_max(pos2(left, place.top()), pos2(left + self.advance, place.bottom()));
        [hex, text]
    }

    fn mark(&self, ui: &Ui, place: Rect, byte: u64, cursor: bool, theme: &Theme) {
        for rect in self.places(place, byte) {
            ui.painter().rect_filled(rect, 0.0, theme.selection);
            if cursor {
                let stroke = egui::Stroke::new(1.0, theme.accent);
                ui.painter().rect_stroke(rect, 2.0, stroke, egui::StrokeKind::Inside);
            }
        }
    }
}

/// A row as it is read out: its digits, and its characters where it has any.
pub(super) fn spoken(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let printable = |byte: &u8| (0x20..0x7f).contains(byte);
    let text: String =
        bytes.iter().map(|byte| if printable(byte) { char::from(*byte) } else { '·' }).collect();
    match bytes.iter().any(printable) {
        true => format!("{}, {text}", digits.join(" ")),
        false => digits.join(" "),
    }
}

/// Zeros step back, printable characters come forward.
fn color_of(byte: u8, theme: &Theme) -> Color32 {
    match byte {
        0 => theme.faint,
        0x20..0x7f => theme.text,
        _ => theme.dim,
    }
}

fn append(job: &mut LayoutJob, text: &str, color: Color32) {
    job.append(text, 0.0, TextFormat { font_id: mono_font(), color, ..Default::default() });
}

fn put(ui: &Ui, job: LayoutJob, at: Pos2) {
    let galley = ui.painter().layout_job(job);
    let at = pos2(at.x, at.y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, Theme::of(ui).text);
}

/// A row without a selection, for places that only show bytes.
pub(crate) fn plain_row(ui: &Ui, place: Rect, start: u64, bytes: &[u8]) {
    let columns = Columns::new(ui, start.saturating_add(ROW), ROW);
    columns.row(ui, place, start, bytes, &Marked { selected: &(0..0), cursor: u64::MAX, marks: &[] });
}
