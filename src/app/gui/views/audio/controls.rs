//! What can be set and done: the options of the spectrogram, and the line below the pictures, which plays.

use egui::Ui;
use gander::bytes::display;
use gander::data::plane::color::ColorMap;

use super::player::{Playback, Player};
use super::{AudioView, FLOORS, MAPS, Mode, OVERLAPS, WINDOWS};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::drop_down;

impl AudioView {
    pub(super) fn options(&mut self, ui: &mut Ui) {
        if self.mode != Mode::Wave {
            self.spectrogram_options(ui);
        }
        let words =
            "The waveform of a long sound takes a while to make: kept, it is there at once the next time";
        ui.checkbox(&mut self.look.keep, "Keep waveform on disk").on_hover_text(words);
    }

    fn spectrogram_options(&mut self, ui: &mut Ui) {
        let scale = if self.look.mel { "mel" } else { "linear" };
        drop_down(ui, scale, "Scale of frequencies", |ui| {
            for (mel, word) in [(true, "mel"), (false, "linear")] {
                ui.selectable_value(&mut self.look.mel, mel, word);
            }
        });
        drop_down(ui, &format!("window {}", self.look.window), "Frames of a window", |ui| {
            for window in WINDOWS {
                ui.selectable_value(&mut self.look.window, window, window.to_string());
            }
        });
        let words = |overlap: Option<f32>| match overlap {
            None => "overlap fits".to_owned(),
            Some(share) => format!("overlap {} %", share * 100.0),
        };
        drop_down(ui, &words(self.look.overlap), "How much of a window the next one covers", |ui| {
            for overlap in OVERLAPS {
                ui.selectable_value(&mut self.look.overlap, overlap, words(overlap));
            }
        });
        drop_down(ui, &self.look.map.clone(), "Colours", |ui| {
            for name in MAPS.into_iter().filter(|name| ColorMap::named(name).is_some()) {
                ui.selectable_value(&mut self.look.map, name.to_owned(), name);
            }
        });
        drop_down(ui, &format!("{} … 0 dB", self.look.floor), "Decibels of the darkest colour", |ui| {
            for floor in FLOORS {
                ui.selectable_value(&mut self.look.floor, floor, format!("{floor} … 0 dB"));
            }
        });
        if self.channels > 1 {
            let name =
                |channel: Option<usize>| channel.map_or("all channels".to_owned(), |n| self.channel_name(n));
            let shown = name(self.look.channel);
            let names: Vec<(Option<usize>, String)> = std::iter::once(None)
                .chain((0..self.channels.min(64)).map(Some))
                .map(|channel| (channel, name(channel)))
                .collect();
            drop_down(ui, &shown, "Channel of the spectrogram", |ui| {
                for (channel, word) in names {
                    ui.selectable_value(&mut self.look.channel, channel, word);
                }
            });
        }
    }

    /// The line below the pictures: playing, cursor and selection.
    pub(super) fn controls(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = space::S2;
            if theme::button(ui, "Begin").on_hover_text("The cursor goes to the first frame").clicked() {
                self.go(0);
                let length = self.sight.end - self.sight.start;
                self.see(0.0..length);
            }
            let (icon, word) = match self.player {
                Some(_) => (Icon::Pause, "Stop"),
                None => (Icon::Play, "Play"),
            };
            let button = theme::icon_button(ui, icon, word);
            if button
                .on_hover_text(format!("{word} (Space): the selection, or all from the cursor on"))
                .clicked()
            {
                self.toggle_playing();
            }
            if ui.toggle_value(&mut self.look.repeat, "Loop").on_hover_text("Begin anew at the end").changed()
                && let Some(player) = &self.player
            {
                player.repeat(self.look.repeat);
            }
            let at = self.cursor.unwrap_or(0);
            ui.label(theme::mono(self.clock(at as f64)));
            if let Some(words) = &self.playback_error {
                let words = format!("{} {words}", Icon::Warning.glyph());
                let label = egui::Label::new(theme::dim(theme, &words).color(theme.warn)).truncate();
                ui.add(label).on_hover_text(words);
            } else if let Some(range) = self.selection.clone() {
                let count = range.end - range.start;
                let words = format!(
                    "selection {} – {} · {:.3} s · {}",
                    self.clock(range.start as f64),
                    self.clock(range.end as f64),
                    count as f64 / self.rate,
                    display::plural(count, "frame")
                );
                ui.label(theme::dim(theme, words));
                if theme::button(ui, "Zoom to selection").clicked() {
                    self.see(range.start as f64..range.end as f64);
                }
                if theme::button(ui, "Clear").clicked() {
                    self.selection = None;
                }
            } else {
                let words = "drag to select, click to set the cursor, wheel to zoom";
                ui.add(egui::Label::new(theme::dim(theme, words)).truncate());
            }
        });
    }

    /// Plays what is selected, or all from the cursor on; stops what is played.
    pub(super) fn toggle_playing(&mut self) -> bool {
        if self.player.take().is_none() {
            self.play_from_cursor();
        }
        true
    }

    /// Begins to play at the cursor; at the start, where it stands at the end of what is played.
    pub(super) fn play_from_cursor(&mut self) {
        self.playback_error = None;
        let range = self.selection.clone().unwrap_or(0..self.frames);
        let cursor = self.cursor.filter(|cursor| range.contains(cursor) && cursor + 1 < range.end);
        let playback = Playback {
            array: self.array.clone(),
            rate: self.rate,
            from: cursor.unwrap_or(range.start),
            range,
            repeat: self.look.repeat,
        };
        self.player = Some(Player::start(playback, self.device));
    }

    /// The cursor is where what is played is, and stays in sight.
    pub(super) fn follow(&mut self, ui: &Ui) {
        let Some(player) = &self.player else { return };
        if player.is_ended() {
            self.playback_error =
                player.error().map(|error| format!("Nothing is played: {}", error.message()));
            self.player = None;
            return;
        }
        if let Some(frame) = player.frame(self.rate) {
            let frame = frame.min(self.frames.saturating_sub(1));
            let was = self.cursor.replace(frame);
            let (start, end) = (self.sight.start, self.sight.end);
            // Who looks elsewhere is left there; a cursor that leaves the edge turns the page.
            let was_seen = was.is_none_or(|was| (start..end).contains(&(was as f64)));
            if was_seen && !(start..end).contains(&(frame as f64)) && self.mode != Mode::Samples {
                self.see(frame as f64..frame as f64 + (end - start));
            }
        }
        // Where the frame is told next.
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(33));
    }
}
