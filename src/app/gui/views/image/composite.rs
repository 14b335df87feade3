//! Channels that frames go through, laid over each other: which of them, and in which colours.

use std::sync::Arc;

use egui::Ui;
use gander::Result;
use gander::data::adapt::{ChannelWindows, Composite};
use gander::data::content::image::FrameChannel;
use gander::data::content::{Image, ImageInfo};

use crate::gui::theme::{self, Theme};
use crate::gui::ui::drop_form;

/// At most so many channels are laid over each other without being asked for: each is decoded for one picture.
const MOST_AT_FIRST: usize = 8;
/// And pictures of at most so many pixels, where there are no smaller versions to read instead.
const LARGEST_AT_FIRST: u64 = 16 << 20;

/// What the view keeps of channels.
#[derive(Default)]
pub(super) struct Channels {
    list: Vec<FrameChannel>,
    windows: ChannelWindows,
    /// Whether they are laid over each other.
    on: bool,
    /// Whether somebody chose that.
    is_chosen: bool,
    /// The channel of the frame that was in sight last.
    last: Option<usize>,
    /// Counts what was changed, so that what was made of them before is not shown.
    version: u64,
}

impl Channels {
    /// Those of a picture: together at first where the file describes a few of them, since microscopes mean them so.
    pub(super) fn new(info: &ImageInfo) -> Self {
        let list = Composite::channels(info);
        let is_light = info.levels.len() > 1 || info.width.saturating_mul(info.height) <= LARGEST_AT_FIRST;
        let is_described = info.frame_channels.len() > 1 && list.iter().any(|channel| channel.shown);
        let on = is_described && is_light && list.len() <= MOST_AT_FIRST;
        Channels { list, on, version: 1, ..Channels::default() }
    }

    /// Follows the frame in sight to its channel: who moves the slider to another one wants to look at that.
    pub(super) fn follow(&mut self, channel: Option<usize>) {
        let before = std::mem::replace(&mut self.last, channel);
        if before.is_some() && before != channel {
            self.choose(false);
        }
    }

    /// Whether they are laid over each other, as somebody chose it.
    pub(super) fn choose(&mut self, on: bool) {
        (self.on, self.is_chosen) = (on, true);
    }

    /// Whether they are laid over each other.
    pub(super) fn are_together(&self) -> bool {
        self.on && self.are_there()
    }

    /// Shows one alone where nobody asked for all of them, since they cannot be shown; false where somebody did.
    pub(super) fn give_up(&mut self) -> bool {
        let can = self.are_together() && !self.is_chosen;
        self.on &= !can;
        can
    }

    /// What a session keeps: what somebody chose.
    pub(super) fn kept(&self) -> Option<bool> {
        self.is_chosen.then_some(self.on)
    }

    /// Takes what a session kept.
    pub(super) fn restore(&mut self, kept: Option<bool>) {
        self.last = None;
        if let Some(on) = kept {
            self.choose(on);
        }
    }

    /// Whether the picture has any.
    pub(super) fn are_there(&self) -> bool {
        !self.list.is_empty()
    }

    /// What a composite is known by; zero where there is none.
    pub(super) fn key(&self) -> u64 {
        if self.are_together() { self.version } else { 0 }
    }

    /// Makes the composite of a picture, with the channels as they are now. Its errors are those of [`Composite::new`].
    pub(super) fn maker(&self) -> impl FnOnce(Arc<dyn Image>) -> Result<Arc<dyn Image>> + Send + use<> {
        let (list, windows) = (self.list.clone(), self.windows.clone());
        move |image| Ok(Arc::new(Composite::new(image, list, windows)?))
    }

    /// The switch, and behind a button the channels.
    pub(super) fn toolbar(&mut self, ui: &mut Ui) {
        if !self.are_there() {
            return;
        }
        let button = ui.selectable_label(self.on, theme::dim(Theme::of(ui), "Composite"));
        let words = "Channels laid over each other in their colours, or one at a time";
        if button.on_hover_text(words).clicked() {
            self.choose(!self.on);
        }
        if !self.on {
            return;
        }
        let shown = self.list.iter().filter(|channel| channel.shown).count();
        let text = format!("{shown} of {} channels", self.list.len());
        let before = self.list.clone();
        drop_form(ui, &text, "Channels and their colours", |ui| {
            egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                for (n, channel) in self.list.iter_mut().enumerate() {
                    ui.horizontal(|ui| {
                        let name = match channel.name.as_str() {
                            "" => format!("channel {n}"),
                            name => name.to_owned(),
                        };
                        let colour = channel.colour.get_or_insert([255; 3]);
                        let picker = ui.color_edit_button_srgb(colour);
                        picker.widget_info(|| {
                            let words = format!("Colour of {name}");
                            egui::WidgetInfo::labeled(egui::Role::Button, true, words)
                        });
                        ui.checkbox(&mut channel.shown, name);
                    });
                }
            });
        });
        if self.list != before {
            self.version += 1;
        }
    }
}
