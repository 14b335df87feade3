//! How a sound is drawn: waveforms, the spectrogram as a picture, times, marks.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use egui::{Align2, ColorImage, Mesh, Rect, Stroke, TextureOptions, Ui, pos2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::sound::{self, Peak, Spectrogram};
use gander::jobs::JobSpec;

use super::{AudioView, FINE, PaintedSpectrogram, SpectrogramKey, hertz_words};
use crate::gui::icons::Icon;
use crate::gui::texture::Texture;
use crate::gui::theme::{self, Theme, mono_small_font, picture_color, space};
use crate::gui::views::ViewCx;

/// How high marks of clipped samples are, in points.
const CLIPPED: f32 = 5.0;
/// Frequencies that are written beside a spectrogram, in hertz.
const MARKED: [f32; 9] = [80.0, 250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 22_000.0];

impl AudioView {
    /// Least and largest samples of each channel, a column for each point across.
    fn columns(&self, rect: Rect, cx: &ViewCx<'_>) -> Option<Vec<Vec<Peak>>> {
        let count = rect.width().max(1.0) as usize;
        let length = self.sight.end - self.sight.start;
        let peaks = self.peaks.peek(&()).so_far();
        if let Some(peaks) = peaks.filter(|peaks| peaks.reaches(length / count as f64)) {
            let channel = |channel| peaks.columns(channel, self.sight.clone(), count);
            return Some((0..self.channels).map(channel).collect());
        }
        if length > FINE {
            return None;
        }
        let key = (self.sight.start.max(0.0) as u64, (self.sight.end.ceil() as u64).min(self.frames), count);
        let array = self.array.clone();
        let shown = self.fine.get(cx.jobs, &key, JobSpec::view("reading samples"), move |task| {
            of_samples(array.as_ref(), task, key.0..key.1, count)
        });
        shown.value.as_deref().cloned()
    }

    pub(super) fn draw_waves(&self, ui: &Ui, rect: Rect, cx: &ViewCx<'_>) {
        let theme = Theme::of(ui);
        let shown = self.channels.clamp(1, 16);
        let height = rect.height() / shown as f32;
        let Some(columns) = self.columns(rect, cx) else {
            if let Some(error) = self.peaks.peek(&()).error.or(self.fine.peek(&(0, 0, 0)).error) {
                let words = error.to_string();
                ui.painter().text(rect.center(), Align2::CENTER_CENTER, words, theme::body_font(), theme.bad);
            } else {
                let words = "Reading the sound…";
                ui.painter().text(rect.center(), Align2::CENTER_CENTER, words, theme::body_font(), theme.dim);
            }
            return;
        };
        for (channel, columns) in columns.iter().enumerate().take(shown) {
            let top = rect.top() + channel as f32 * height;
            let lane =
                Rect::from_min_max(pos2(rect.left(), top), pos2(rect.right(), top + height)).shrink(2.0);
            let name = self.channel_name(channel);
            let place = pos2(rect.left() - space::S2, lane.center().y);
            ui.painter().text(place, Align2::RIGHT_CENTER, name, mono_small_font(), theme.dim);
            wave(ui, lane, columns, theme);
        }
    }

    pub(super) fn draw_spectrogram(&mut self, ui: &Ui, rect: Rect, cx: &ViewCx<'_>) {
        let theme = Theme::of(ui);
        let key = self.key(rect);
        let array = self.array.clone();
        let title = format!("spectrogram of {}", self.name);
        let shown = self.spectrogram.get(cx.jobs, &key, JobSpec::view(title), move |task| {
            let frames = key.start..key.end;
            let values = Spectrogram::of(array.as_ref(), task, frames, key.columns, key.how)?;
            Ok(painted(values, key))
        });
        let Some(made) = shown.value else {
            ui.painter().rect_filled(rect, 0.0, theme.bg1);
            let (words, color) = match &shown.error {
                Some(error) => (error.to_string(), theme.bad),
                None => ("Spectrogram…".to_owned(), theme.dim),
            };
            ui.painter().text(rect.center(), Align2::CENTER_CENTER, words, theme::body_font(), color);
            return;
        };
        let is_new = self.texture.as_ref().is_none_or(|(id, _)| *id != made.id);
        if is_new {
            let texture = Texture::new(ui.ctx(), "spectrogram", &made.image, TextureOptions::LINEAR);
            self.texture = Some((made.id, texture));
        }
        if let Some((_, texture)) = &self.texture {
            // One that was made for another stretch stands where that is until the new one comes.
            let left = self.place_of(rect, made.key.start as f64);
            let right = self.place_of(rect, made.key.end as f64);
            let place =
                Rect::from_min_max(pos2(left, rect.top()), pos2(right.max(left + 1.0), rect.bottom()));
            texture.paint(&ui.painter().with_clip_rect(rect), place);
        }
        frequencies(ui, rect, &made.values);
    }

    /// Where it is silent and where samples are clipped, over the waveforms.
    pub(super) fn draw_levels(&self, ui: &Ui, rect: Rect) {
        let theme = Theme::of(ui);
        let Some(levels) = self.levels.peek(&()).ready() else { return };
        let painter = ui.painter().with_clip_rect(rect);
        for place in self.in_sight(rect, &levels.silent) {
            painter.rect_filled(place, 0.0, theme.dim.gamma_multiply(0.2));
        }
        for place in self.in_sight(rect, &levels.clipped) {
            let edges = [rect.top(), rect.bottom() - CLIPPED];
            for top in edges {
                let mark = Rect::from_min_size(pos2(place.left(), top), egui::vec2(place.width(), CLIPPED));
                painter.rect_filled(mark, 0.0, theme.bad);
            }
        }
    }

    /// The places of stretches of frames that are in sight, one a point across at most.
    fn in_sight(&self, rect: Rect, stretches: &[Range<u64>]) -> Vec<Rect> {
        let first = stretches.partition_point(|range| (range.end as f64) <= self.sight.start);
        let mut places: Vec<Rect> = Vec::new();
        for range in stretches.iter().skip(first).take_while(|range| (range.start as f64) < self.sight.end) {
            let left = self.place_of(rect, range.start as f64).max(rect.left());
            let right = self.place_of(rect, range.end as f64).clamp(left + 1.0, rect.right().max(left + 1.0));
            match places.last_mut().filter(|last| left < last.right()) {
                Some(last) => last.max.x = last.right().max(right),
                None => places.push(Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()))),
            }
        }
        places
    }

    /// Cursor and selection through all pictures.
    pub(super) fn draw_marks(&self, ui: &Ui, rect: Rect) {
        let theme = Theme::of(ui);
        let painter = ui.painter().with_clip_rect(rect);
        if let Some(range) = &self.selection {
            let left = self.place_of(rect, range.start as f64);
            let right = self.place_of(rect, range.end as f64).max(left + 1.0);
            let place = Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()));
            // The sound is seen through it.
            painter.rect_filled(place, 0.0, theme.accent.gamma_multiply(0.25));
            for x in [left, right] {
                painter.vline(x, rect.y_range(), Stroke::new(1.0, theme.accent));
            }
        }
        if let Some(cursor) = self.cursor {
            painter.vline(self.place_of(rect, cursor as f64), rect.y_range(), Stroke::new(1.5, theme.text));
        }
        if let Some(error) = self.peaks.peek(&()).error {
            let words = format!("{} {}", Icon::Warning.glyph(), error.message());
            let place = rect.left_top() + egui::vec2(space::S2, space::S2);
            painter.text(place, Align2::LEFT_TOP, words, theme::small_font(), theme.warn);
        }
    }
}

/// Least and largest samples of each channel in equal parts of a stretch.
fn of_samples(array: &dyn Array, task: &Task, frames: Range<u64>, count: usize) -> Result<Vec<Vec<Peak>>> {
    let (_, channels) = sound::sides(array);
    let read = sound::samples(array, task, frames.clone())?;
    let length = (frames.end - frames.start).max(1) as f64;
    let part = |channel: usize, n: usize| {
        let from = (n as f64 * length / count as f64) as usize;
        let to = (((n + 1) as f64 * length / count as f64).ceil() as usize).max(from + 1);
        let mut peak = Peak::NONE;
        let mut sum = 0f32;
        for frame in from..to {
            let Some(sample) = read.get(frame * channels + channel).filter(|sample| sample.is_finite())
            else {
                continue;
            };
            peak.low = peak.low.min(*sample);
            peak.high = peak.high.max(*sample);
            sum += sample * sample;
        }
        peak.square = sum / (to - from) as f32;
        peak
    };
    Ok((0..channels).map(|channel| (0..count).map(|n| part(channel, n)).collect()).collect())
}

/// A waveform: least to largest faint, the root of the mean square strong.
fn wave(ui: &Ui, lane: Rect, columns: &[Peak], theme: &Theme) {
    let middle = lane.center().y;
    let half = lane.height() / 2.0;
    let width = lane.width() / columns.len().max(1) as f32;
    let mut mesh = Mesh::default();
    let faint = theme.accent.gamma_multiply(0.45);
    for (n, peak) in columns.iter().enumerate().filter(|(_, peak)| !peak.is_none()) {
        let x = lane.left() + n as f32 * width;
        let y = |value: f32| middle - value.clamp(-1.0, 1.0) * half;
        let column = |high: f32, low: f32| {
            let (top, bottom) = (y(high), y(low));
            Rect::from_min_max(pos2(x, top.min(bottom - 1.0)), pos2(x + width.max(1.0), bottom))
        };
        mesh.add_colored_rect(column(peak.high, peak.low), faint);
        let rms = peak.rms();
        let (high, low) = (rms.min(peak.high), (-rms).max(peak.low));
        if high > low {
            mesh.add_colored_rect(column(high, low), theme.accent);
        }
    }
    ui.painter().add(mesh);
    ui.painter().hline(lane.x_range(), middle, theme.hairline());
}

/// The whole sound in one lane.
pub(super) fn overview(ui: &Ui, rect: Rect, channels: &[Vec<Peak>]) {
    let theme = Theme::of(ui);
    let count = channels.iter().map(Vec::len).max().unwrap_or(0);
    let joined: Vec<Peak> = (0..count)
        .map(|n| {
            channels.iter().filter_map(|columns| columns.get(n)).fold(Peak::NONE, |whole, peak| Peak {
                low: whole.low.min(peak.low),
                high: whole.high.max(peak.high),
                square: whole.square.max(peak.square),
            })
        })
        .collect();
    wave(ui, rect.shrink(2.0), &joined, theme);
}

/// A spectrogram as a picture, the lowest frequency at the bottom.
fn painted(values: Spectrogram, key: SpectrogramKey) -> PaintedSpectrogram {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let size = [values.columns.max(1), values.rows.max(1)];
    let mut pixels = Vec::with_capacity(size[0] * size[1]);
    for row in (0..size[1]).rev() {
        for column in 0..size[0] {
            let decibels = values.at(column, row).unwrap_or(key.floor);
            let place = ((decibels - key.floor) / -key.floor).clamp(0.0, 1.0);
            pixels.push(picture_color(key.map.at(place.into())));
        }
    }
    let image = Arc::new(ColorImage::new(size, pixels));
    PaintedSpectrogram { id: NEXT.fetch_add(1, Ordering::Relaxed), values, image, key }
}

fn frequencies(ui: &Ui, rect: Rect, values: &Spectrogram) {
    let theme = Theme::of(ui);
    let mut last = f32::INFINITY;
    for hertz in MARKED {
        let row = values.frequencies.partition_point(|known| *known < hertz);
        if row >= values.rows {
            break;
        }
        let y = rect.bottom() - (row as f32 + 0.5) / values.rows as f32 * rect.height();
        if last - y < 14.0 {
            continue;
        }
        last = y;
        let place = pos2(rect.left() - space::S2, y);
        ui.painter().text(place, Align2::RIGHT_CENTER, short(hertz), mono_small_font(), theme.dim);
    }
}

fn short(hertz: f32) -> String {
    if hertz >= 1_000.0 {
        format!("{}k", hertz / 1_000.0)
    } else {
        hertz_words(hertz).trim_end_matches(" Hz").to_owned()
    }
}

/// Times below the pictures, at even distances.
pub(super) fn times(
    ui: &Ui,
    rect: Rect,
    height: f32,
    sight: &Range<f64>,
    rate: f64,
    words: impl Fn(f64) -> String,
) {
    const STEPS: [f64; 22] = [
        0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0,
        300.0, 600.0, 1_800.0, 3_600.0, 7_200.0,
    ];
    let theme = Theme::of(ui);
    let seconds = (sight.end - sight.start) / rate;
    let most = (rect.width() / 96.0).max(1.0);
    let step = STEPS.into_iter().find(|step| seconds / step <= f64::from(most)).unwrap_or(seconds.max(1.0));
    let first = (sight.start / rate / step).ceil() as i64;
    let last = (sight.end / rate / step).floor() as i64;
    for n in first..=last.min(first + 1_000) {
        let frame = n as f64 * step * rate;
        let x = rect.left() + ((frame - sight.start) / (sight.end - sight.start)) as f32 * rect.width();
        let galley = ui.painter().layout_no_wrap(words(frame), mono_small_font(), theme.dim);
        // The last one stands only where there is room for all of it.
        if x + galley.size().x <= rect.right() + 4.0 {
            let place = pos2(x, rect.bottom() + (height - galley.size().y) / 2.0);
            ui.painter().galley(place, galley, theme.dim);
        }
        ui.painter().vline(x, rect.bottom()..=rect.bottom() + 4.0, theme.hairline());
    }
}
