//! The view of a sound: its waveform at any zoom, its spectrogram, one cursor and one selection through both, its chapters,
//! and an overview below. Samples as numbers are a mode of their own, which is the view of the array.
//!
//! The waveform is drawn from a pyramid of least and largest samples that a job makes in the background ([`Peaks`], which
//! are kept on disk by choice: [`waveform_cache`]), and from the samples themselves where one zooms in further than that reaches. What is
//! selected, or all from the cursor on, is played by a [`player`].

mod chapters;
mod controls;
mod draw;
mod player;
#[cfg(test)]
mod tests;
mod waveform_cache;

use std::ops::Range;
use std::sync::Arc;

use egui::{Key, Rect, Sense, Ui, UiBuilder, Vec2, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::content::Array;
use gander::data::format::Data;
use gander::data::plane::Slice;
use gander::data::plane::color::ColorMap;
use gander::data::region::Span;
use gander::data::sound::{self, Levels, Peak, Peaks, Spectrogram, Spectrum};
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::array::options;
use super::keys::{SOUND_KEYS, SoundCommand};
use super::{
    Request, Target, View, ViewCommand, ViewCx, ZOOM_FIT, ZOOM_IN, ZOOM_OUT, labels, restored, run, saved,
};
use crate::gui::commands::{ALT, Label};
use crate::gui::icons::Icon;
use crate::gui::texture::Texture;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::keys;
use chapters::{CHAPTERS, Chapters};
use player::Player;
use waveform_cache::WaveformKey;

/// Frames that are read as they are, instead of from the pyramid.
const FINE: f64 = 4_000_000.0;
/// Columns of a spectrogram.
const COLUMNS: usize = 1_024;
/// Room at the left for what channels and frequencies are called, in points.
const LEFT: f32 = 48.0;
/// Heights of the times, of the line of controls and of the overview, in points.
const TIMES: f32 = 22.0;
const CONTROLS: f32 = 36.0;
const OVERVIEW: f32 = 44.0;
/// Height of the line that says how loud it is.
const LEVELS: f32 = 22.0;
/// The options of the spectrogram beside each other; with less room they are a menu.
const OPTIONS: f32 = 900.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    Wave,
    Spectrogram,
    #[default]
    Both,
    Samples,
}

const MODES: [(Mode, &str); 4] = [
    (Mode::Wave, "Wave"),
    (Mode::Spectrogram, "Spectrogram"),
    (Mode::Both, "Both"),
    (Mode::Samples, "Samples"),
];

/// Decibels of the darkest colour.
const FLOORS: [f32; 4] = [-60.0, -90.0, -120.0, -140.0];
/// How much of a window the next one covers; one window a column.
const OVERLAPS: [Option<f32>; 5] = [None, Some(0.0), Some(0.5), Some(0.75), Some(0.875)];
/// Frames of a window.
const WINDOWS: [usize; 6] = [256, 512, 1_024, 2_048, 4_096, 8_192];
/// Colours of spectrograms.
const MAPS: [&str; 5] = ["inferno", "magma", "viridis", "cividis", "grey"];

/// What a spectrogram is of and how it looks.
#[derive(Clone, Copy, PartialEq)]
struct SpectrogramKey {
    start: u64,
    end: u64,
    columns: usize,
    how: Spectrum,
    map: ColorMap,
    floor: f32,
}

/// A spectrogram as a picture.
struct PaintedSpectrogram {
    id: u64,
    values: Spectrogram,
    image: Arc<egui::ColorImage>,
    key: SpectrogramKey,
}

/// The view of `array`, the content of `target`, which is a sound.
pub(crate) fn make(target: &Target, array: &Arc<dyn Array>) -> Box<dyn View> {
    Box::new(AudioView::new(target, array))
}

struct AudioView {
    array: Arc<dyn Array>,
    name: String,
    rate: f64,
    channels: usize,
    frames: u64,
    mode: Mode,
    look: Look,
    /// Frames in sight.
    sight: Range<f64>,
    cursor: Option<u64>,
    selection: Option<Range<u64>>,
    /// Where a drag that selects began.
    dragged: Option<u64>,
    peaks: Slot<(), Peaks>,
    fine: Slot<(u64, u64, usize), Vec<Vec<Peak>>>,
    spectrogram: Slot<SpectrogramKey, PaintedSpectrogram>,
    texture: Option<(u64, Texture)>,
    levels: Slot<(), Levels>,
    samples: Box<dyn View>,
    chapters: Chapters,
    /// What is played, from its start until it is stopped.
    player: Option<Player>,
    /// What plays.
    device: player::Open,
    /// Why nothing is played.
    playback_error: Option<String>,
    key_of_waveform: WaveformKey,
    /// Done when the pyramid is on disk.
    is_kept: Slot<(), ()>,
}

/// How a spectrogram looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Look {
    mel: bool,
    window: usize,
    map: String,
    floor: f32,
    channel: Option<usize>,
    /// How much windows of the spectrogram overlap; `None` for one a column.
    overlap: Option<f32>,
    /// Whether the pyramid of the waveform is kept on disk.
    keep: bool,
    /// Whether what is played begins anew when it ends.
    repeat: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look {
            mel: true,
            window: 1_024,
            map: "inferno".to_owned(),
            floor: -90.0,
            channel: None,
            overlap: None,
            keep: false,
            repeat: false,
        }
    }
}

impl AudioView {
    fn new(target: &Target, array: &Arc<dyn Array>) -> Self {
        let (frames, channels) = sound::sides(array.as_ref());
        let sound = array.facts().sound.unwrap_or_default();
        let rate = sound.rate.max(1);
        AudioView {
            array: array.clone(),
            name: target.title().to_owned(),
            rate: rate.into(),
            channels,
            frames,
            mode: Mode::default(),
            look: Look::default(),
            sight: 0.0..(frames.max(1) as f64),
            cursor: None,
            selection: None,
            dragged: None,
            peaks: Slot::default(),
            fine: Slot::default(),
            spectrogram: Slot::default(),
            texture: None,
            levels: Slot::default(),
            samples: super::array::make(target, array),
            chapters: Chapters::new(&sound.chapters, rate.into(), frames),
            player: None,
            device: player::default_device(),
            playback_error: None,
            key_of_waveform: WaveformKey::of(target),
            is_kept: Slot::default(),
        }
    }

    /// Frames in sight, at least a few.
    fn see(&mut self, sight: Range<f64>) {
        let all = self.frames.max(1) as f64;
        let length = (sight.end - sight.start).clamp(16.0_f64.min(all), all);
        let start = sight.start.clamp(0.0, all - length);
        self.sight = start..start + length;
    }

    /// Frames in sight become `factor` times as many, about a frame.
    fn zoom(&mut self, factor: f64, about: f64) {
        let (left, right) = (about - self.sight.start, self.sight.end - about);
        self.see(about - left * factor..about + right * factor);
    }

    fn middle(&self) -> f64 {
        (self.sight.start + self.sight.end) / 2.0
    }

    /// Hours, minutes and seconds of a frame.
    fn clock(&self, frame: f64) -> String {
        clock(frame / self.rate, (self.sight.end - self.sight.start) / self.rate)
    }

    /// The frame at a place across.
    fn frame_at(&self, rect: Rect, x: f32) -> f64 {
        let share = f64::from((x - rect.left()) / rect.width().max(1.0));
        self.sight.start + share * (self.sight.end - self.sight.start)
    }

    /// Where a frame stands across.
    fn place_of(&self, rect: Rect, frame: f64) -> f32 {
        let share = (frame - self.sight.start) / (self.sight.end - self.sight.start);
        rect.left() + share as f32 * rect.width()
    }

    /// Wheel, drags and clicks over the pictures.
    fn input(&mut self, ui: &Ui, rect: Rect, response: &egui::Response) {
        let (scroll, zoom, shift, pointer) = ui.input(|input| {
            (
                input.smooth_scroll_delta(),
                input.zoom_delta(),
                input.modifiers.shift,
                input.pointer.hover_pos(),
            )
        });
        if let Some(at) = pointer.filter(|_| response.hovered()) {
            let about = self.frame_at(rect, at.x);
            let length = self.sight.end - self.sight.start;
            if zoom != 1.0 {
                self.zoom(1.0 / f64::from(zoom), about);
            } else if scroll.y != 0.0 && !shift {
                self.zoom((-f64::from(scroll.y) / 200.0).exp(), about);
            }
            let across = if shift { scroll.x + scroll.y } else { scroll.x };
            if across != 0.0 {
                let by = f64::from(across / rect.width().max(1.0)) * length;
                self.see(self.sight.start - by..self.sight.end - by);
            }
        }
        let Some(at) = response.interact_pointer_pos() else {
            self.dragged = None;
            return;
        };
        let last = self.frames.saturating_sub(1) as f64;
        let frame = self.frame_at(rect, at.x).clamp(0.0, last) as u64;
        if response.clicked() {
            self.selection = None;
            self.go(frame);
        } else if response.dragged_by(egui::PointerButton::Primary) {
            let from = *self.dragged.get_or_insert(frame);
            self.selection = Some(from.min(frame)..from.max(frame) + 1);
        }
    }

    /// The cursor goes to a frame; what is played goes on from there.
    fn go(&mut self, frame: u64) {
        self.cursor = Some(frame.min(self.frames.saturating_sub(1)));
        if self.player.is_some() {
            self.play_from_cursor();
        }
    }

    /// The frame under the pointer, or the cursor's.
    fn under(&self, ui: &Ui, rect: Rect) -> Option<u64> {
        let pointer = ui.input(|input| input.pointer.hover_pos()).filter(|at| rect.contains(*at));
        pointer
            .map(|at| self.frame_at(rect, at.x).max(0.0) as u64)
            .filter(|at| *at < self.frames)
            .or(self.cursor)
    }

    /// What stands in the status bar of a frame.
    fn tell(&self, ui: &Ui, rect: Rect, cx: &mut ViewCx<'_>) {
        let seconds = self.frames as f64 / self.rate;
        cx.status.facts = format!(
            "{} · {} Hz · {} · {}",
            clock(seconds, seconds),
            display::count(self.rate as u64),
            display::plural(self.channels as u64, "channel"),
            display::plural(self.frames, "frame"),
        );
        if let Some(frame) = self.under(ui, rect) {
            let mut words = vec![self.clock(frame as f64), format!("frame {}", display::count(frame))];
            if let Some(painted) = self.spectrogram.peek(&self.key(rect)).value
                && let Some(pointer) = ui.input(|input| input.pointer.hover_pos())
                && let Some((hertz, decibels)) = painted.at(frame, pointer, self.parts(rect).1)
            {
                words.push(format!("{} · {decibels:.0} dB", hertz_words(hertz)));
            }
            cx.status.under = words.join(" · ");
        }
    }

    /// Where the waveforms and the spectrogram stand.
    fn parts(&self, rect: Rect) -> (Option<Rect>, Option<Rect>) {
        match self.mode {
            Mode::Wave => (Some(rect), None),
            Mode::Spectrogram => (None, Some(rect)),
            _ => {
                let split = rect.top() + rect.height() * 0.52;
                let upper = Rect::from_min_max(rect.min, pos2(rect.right(), split - space::S1));
                (Some(upper), Some(Rect::from_min_max(pos2(rect.left(), split + space::S1), rect.max)))
            }
        }
    }

    fn key(&self, rect: Rect) -> SpectrogramKey {
        let columns = (rect.width().max(16.0) as usize).min(COLUMNS);
        let how = Spectrum {
            window: self.look.window,
            overlap: self.look.overlap,
            channel: self.look.channel.filter(|channel| *channel < self.channels),
            mel: self.look.mel.then_some(128),
        };
        SpectrogramKey {
            start: self.sight.start.max(0.0) as u64,
            end: (self.sight.end.ceil() as u64).min(self.frames),
            columns,
            how,
            map: ColorMap::named(&self.look.map).or(ColorMap::named("inferno")).unwrap_or_default(),
            floor: self.look.floor,
        }
    }

    fn pictures(&mut self, ui: &mut Ui, rect: Rect, cx: &mut ViewCx<'_>) {
        let (waves, spectrum) = self.parts(rect);
        if let Some(place) = spectrum {
            self.draw_spectrogram(ui, place, cx);
        }
        if let Some(place) = waves {
            self.draw_waves(ui, place, cx);
            self.draw_levels(ui, place);
        }
        self.draw_marks(ui, rect);
        let id = ui.scope_id().with("pictures");
        let response = ui.interact(rect, id, Sense::click_and_drag());
        let words = match &self.selection {
            Some(range) => format!(
                "sound {}, selection of {}",
                self.name,
                display::plural(range.end - range.start, "frame")
            ),
            None => format!("sound {}", self.name),
        };
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, &words));
        crate::gui::node_menu::picture(&response, false, cx.actions);
        self.input(ui, rect, &response);
    }

    /// What a channel is called.
    fn channel_name(&self, n: usize) -> String {
        match (self.channels, n) {
            (2, 0) => "L".to_owned(),
            (2, _) => "R".to_owned(),
            _ => (n + 1).to_string(),
        }
    }

    /// The whole sound, with what is in sight; a drag moves that.
    fn overview(&mut self, ui: &mut Ui, rect: Rect) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(rect, f32::from(size::CORNER), theme.bg1);
        if let Some(peaks) = self.peaks.peek(&()).so_far() {
            let columns = rect.width().max(1.0) as usize;
            let all: Vec<Vec<Peak>> = (0..self.channels.min(2))
                .map(|channel| peaks.columns(channel, 0.0..self.frames as f64, columns))
                .collect();
            draw::overview(ui, rect, &all);
        }
        let all = self.frames.max(1) as f64;
        let at = |frame: f64| rect.left() + (frame / all) as f32 * rect.width();
        let seen = Rect::from_min_max(
            pos2(at(self.sight.start), rect.top()),
            pos2(at(self.sight.end).max(at(self.sight.start) + 2.0), rect.bottom()),
        );
        ui.painter().rect_filled(seen, 0.0, theme.accent.gamma_multiply(0.25));
        ui.painter().rect_stroke(seen, 0.0, (1.0, theme.accent), egui::StrokeKind::Inside);
        let response = ui.interact(rect, ui.scope_id().with("overview"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::ScrollBar, true, "the whole sound"));
        if let Some(pointer) = response.interact_pointer_pos() {
            let middle = f64::from((pointer.x - rect.left()) / rect.width().max(1.0)) * all;
            let half = (self.sight.end - self.sight.start) / 2.0;
            self.see(middle - half..middle + half);
        }
    }

    /// The line that says how loud it is.
    fn levels_line(&self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let shown = self.levels.peek(&());
        let words = match &shown.error {
            Some(error) => format!("levels: {}", error.message()),
            None if shown.ready().is_none() => {
                format!("measuring levels{}", theme::percent(shown.progress()))
            }
            None => {
                let lines = self.level_lines();
                lines
                    .into_iter()
                    .map(|(name, value)| format!("{name} {value}"))
                    .collect::<Vec<_>>()
                    .join(" · ")
            }
        };
        let label = egui::Label::new(theme::dim(theme, &words).font(theme::small_font())).truncate();
        ui.add(label).on_hover_text(words);
    }

    /// How loud it is, once a pass over it said so.
    fn level_lines(&self) -> Vec<(&'static str, String)> {
        let Some(levels) = self.levels.peek(&()).ready() else { return Vec::new() };
        let decibels = |value: f64| {
            if value > 0.0 { format!("{:.1} dBFS", 20.0 * value.log10()) } else { "−∞ dBFS".to_owned() }
        };
        let each = |values: &[f64]| {
            values.iter().take(8).map(|value| decibels(*value)).collect::<Vec<_>>().join(", ")
        };
        let peaks: Vec<f64> = levels.peaks.iter().map(|peak| f64::from(*peak)).collect();
        let mut lines = vec![("peak", each(&peaks)), ("RMS", each(&levels.rms))];
        let said = |value: Option<f64>, unit: &str| {
            value.map_or("–".to_owned(), |value| format!("{value:.1} {unit}"))
        };
        lines.push(("loudness", said(levels.loudness, "LUFS")));
        lines.push(("loudness range", said(levels.range, "LU")));
        lines.push(("true peak", said(levels.true_peak, "dBTP")));
        lines.push(("clipped", display::plural(levels.clipped_frames, "frame")));
        let silent = levels.silent_frames as f64 * 100.0 / self.frames.max(1) as f64;
        lines.push(("silence", format!("{silent:.1} %")));
        let offset = levels
            .offsets
            .iter()
            .fold(0f64, |most, offset| if offset.abs() > most.abs() { *offset } else { most });
        lines.push(("DC offset", format!("{offset:.5}")));
        lines
    }
}

impl PaintedSpectrogram {
    /// Frequency and decibels at a place.
    fn at(&self, frame: u64, pointer: egui::Pos2, place: Option<Rect>) -> Option<(f32, f32)> {
        let place = place.filter(|place| place.contains(pointer))?;
        let span = self.key.end.saturating_sub(self.key.start).max(1);
        let column = (frame.checked_sub(self.key.start)? * self.values.columns as u64 / span) as usize;
        let share = (place.bottom() - pointer.y) / place.height().max(1.0);
        let row = ((share * self.values.rows as f32) as usize).min(self.values.rows.saturating_sub(1));
        Some((*self.values.frequencies.get(row)?, self.values.at(column, row)?))
    }
}

/// Hours, minutes and seconds; with thousandths where little is in sight.
fn clock(seconds: f64, span: f64) -> String {
    let whole = seconds.max(0.0);
    let (hours, minutes, rest) = ((whole / 3_600.0).floor(), (whole % 3_600.0 / 60.0).floor(), whole % 60.0);
    let rest = if span < 60.0 { format!("{rest:06.3}") } else { format!("{:02}", rest.floor()) };
    if hours > 0.0 { format!("{hours}:{minutes:02}:{rest}") } else { format!("{minutes}:{rest}") }
}

fn hertz_words(hertz: f32) -> String {
    if hertz >= 1_000.0 { format!("{:.2} kHz", hertz / 1_000.0) } else { format!("{hertz:.0} Hz") }
}

const COMMANDS: &[ViewCommand<AudioView>] = &[
    ViewCommand::new(Label::new("Show waveform", Icon::LineChart).keys(ALT, Key::Num1), |view, _| {
        view.show(Mode::Wave)
    }),
    ViewCommand::new(Label::new("Show spectrogram", Icon::Image).keys(ALT, Key::Num2), |view, _| {
        view.show(Mode::Spectrogram)
    }),
    ViewCommand::new(
        Label::new("Show waveform and spectrogram", Icon::Rows).keys(ALT, Key::Num3),
        |view, _| view.show(Mode::Both),
    ),
    ViewCommand::new(Label::new("Show samples", Icon::Hash).keys(ALT, Key::Num4), |view, _| {
        view.show(Mode::Samples)
    }),
    ViewCommand::new(ZOOM_IN, |view, _| view.zoomed(0.5)),
    ViewCommand::new(ZOOM_OUT, |view, _| view.zoomed(2.0)),
    ViewCommand::new(ZOOM_FIT, |view, _| {
        view.see(0.0..view.frames as f64);
        true
    }),
    ViewCommand::new(Label::new("Play or stop", Icon::Play).apart(), |view, _| {
        view.mode != Mode::Samples && view.toggle_playing()
    }),
    ViewCommand::new(Label::new("Next chapter", Icon::CaretRight), |view, _| view.chapter(1)),
    ViewCommand::new(Label::new("Previous chapter", Icon::CaretLeft), |view, _| view.chapter(-1)),
    ViewCommand::new(Label::new("Next clipped place", Icon::CaretRight).apart(), |view, _| {
        view.next(|levels| &levels.clipped)
    }),
    ViewCommand::new(Label::new("Next silence", Icon::CaretRight), |view, _| {
        view.next(|levels| &levels.silent)
    }),
];

impl AudioView {
    fn keys(&mut self, ui: &Ui) {
        // Elsewhere they mean something else.
        if ui.ctx().text_edit_focused() || ui.memory(|memory| memory.focused().is_some()) {
            return;
        }
        for command in keys::pressed(ui, SOUND_KEYS) {
            match command {
                SoundCommand::Play => self.toggle_playing(),
                SoundCommand::Chapter(by) => self.chapter(by),
            };
        }
    }

    fn show(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    fn zoomed(&mut self, factor: f64) -> bool {
        let about = self.cursor.map_or(self.middle(), |cursor| cursor as f64);
        let inside = self.sight.contains(&about);
        self.zoom(factor, if inside { about } else { self.middle() });
        true
    }

    /// Goes to the next of some places behind the cursor; to the first behind the last.
    fn next(&mut self, of: fn(&Levels) -> &[Range<u64>]) -> bool {
        let Some(levels) = self.levels.peek(&()).ready() else { return false };
        let places = of(&levels);
        let at = self.cursor.unwrap_or(0);
        let Some(found) = places.iter().find(|place| place.start > at).or(places.first()).cloned() else {
            return false;
        };
        self.cursor = Some(found.start);
        let half = (self.sight.end - self.sight.start) / 2.0;
        self.see(found.start as f64 - half..found.start as f64 + half);
        self.selection = Some(found);
        true
    }
}

impl View for AudioView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.x = space::S2;
        theme::segmented(ui, "View", &mut self.mode, &MODES);
        match self.mode {
            Mode::Samples => self.samples.toolbar(ui, cx),
            _ if ui.available_width() < OPTIONS => options::folded(ui, |ui| self.options(ui)),
            _ => self.options(ui),
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if self.mode == Mode::Samples {
            self.samples.ui(ui, cx);
            return;
        }
        let (array, of_levels) = (self.array.clone(), self.array.clone());
        let title = format!("waveform of {}", self.name);
        let key = self.key_of_waveform.clone();
        self.peaks.ask(
            cx.jobs,
            &(),
            || JobSpec::scan(title),
            move |task, partial| {
                waveform_cache::peaks(&key, array.as_ref(), task, &mut |part| partial.show(part.clone()))
            },
        );
        if self.look.keep
            && let Some(peaks) = self.peaks.peek(&()).ready()
        {
            let key = self.key_of_waveform.clone();
            let spec = JobSpec::scan("keeping the waveform");
            self.is_kept.get(cx.jobs, &(), spec, move |task| {
                waveform_cache::keep(&key, &peaks, task);
                Ok(())
            });
        }
        self.keys(ui);
        self.follow(ui);
        if self.peaks.peek(&()).ready().is_some() {
            let title = format!("levels of {}", self.name);
            self.levels.get(cx.jobs, &(), JobSpec::scan(title), move |task| {
                Levels::measure(of_levels.as_ref(), task)
            });
        }
        let rest = ui.available_rect_before_wrap().shrink2(vec2(space::S3, space::S2));
        let overview = Rect::from_min_max(pos2(rest.left(), rest.bottom() - OVERVIEW), rest.max);
        let controls = Rect::from_min_size(
            pos2(rest.left(), overview.top() - LEVELS - CONTROLS),
            Vec2::new(rest.width(), CONTROLS),
        );
        let levels =
            Rect::from_min_max(pos2(rest.left(), controls.bottom()), pos2(rest.right(), overview.top()));
        let chapters = if self.chapters.is_empty() { 0.0 } else { CHAPTERS };
        let pictures = Rect::from_min_max(
            pos2(rest.left() + LEFT, rest.top() + chapters),
            pos2(rest.right(), controls.top() - TIMES),
        );
        self.pictures(ui, pictures, cx);
        self.draw_chapters(ui, pictures);
        draw::times(ui, pictures, TIMES, &self.sight, self.rate, |frame| self.clock(frame));
        let mut line = ui.new_child(UiBuilder::new().max_rect(controls).id_salt("controls"));
        self.controls(&mut line);
        let mut line = ui.new_child(UiBuilder::new().max_rect(levels).id_salt("levels"));
        self.levels_line(&mut line);
        self.overview(ui, overview);
        self.tell(ui, pictures, cx);
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::GoTo(text) if self.mode != Mode::Samples => {
                let text = text.trim().trim_start_matches(':');
                let Ok(frame) = text.parse::<u64>() else { return false };
                if frame >= self.frames {
                    return false;
                }
                self.go(frame);
                let half = (self.sight.end - self.sight.start) / 2.0;
                self.see(frame as f64 - half..frame as f64 + half);
                true
            }
            request => self.mode == Mode::Samples && self.samples.request(request, cx),
        }
    }

    fn export(&self) -> Option<(String, Data)> {
        if self.mode == Mode::Samples {
            return self.samples.export();
        }
        let range = self.selection.clone()?;
        let mut spans = vec![Span::range(range.start, range.end - range.start)];
        spans.extend(self.array.shape().iter().skip(1).map(|side| Span::all(*side)));
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let part: Arc<dyn Array> = Arc::new(slice.view(self.array.clone()));
        let words = format!("the selected {}", display::plural(range.end - range.start, "frame"));
        Some((words, Data::Arrays(vec![(self.name.clone(), part)])))
    }

    fn is_drawing(&self) -> bool {
        self.mode != Mode::Samples
    }

    fn save(&self) -> Value {
        saved(&AudioState {
            mode: self.mode,
            look: self.look.clone(),
            sight: [self.sight.start, self.sight.end],
            cursor: self.cursor,
            selection: self.selection.clone().map(|range| [range.start, range.end]),
        })
    }

    fn restore(&mut self, kept: &Value) {
        let state: AudioState = restored(kept);
        self.mode = state.mode;
        let look = &state.look;
        if WINDOWS.contains(&look.window) && FLOORS.contains(&look.floor) && OVERLAPS.contains(&look.overlap)
        {
            self.look = state.look;
        }
        if let [start, end] = state.sight
            && start.is_finite()
            && end > start
        {
            self.see(start..end);
        }
        self.cursor = state.cursor.filter(|cursor| *cursor < self.frames);
        self.selection = state
            .selection
            .map(|[start, end]| start..end)
            .filter(|range| range.end <= self.frames && range.start < range.end);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct AudioState {
    mode: Mode,
    look: Look,
    sight: [f64; 2],
    cursor: Option<u64>,
    selection: Option<[u64; 2]>,
}
