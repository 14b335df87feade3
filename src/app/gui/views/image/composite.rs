//! Channels that frames go through, laid over each other: which of them, and in which colours.

use std::sync::Arc;

use egui::Ui;
use gander::Result;
use gander::data::adapt::Composite;
use gander::data::content::image::FrameChannel;
use gander::data::content::{Image, ImageInfo};

use crate::gui::theme::{self, Theme};
use crate::gui::ui::drop_form;

/// So many channels are laid over each other without being asked for: each is decoded for one picture.
const TOGETHER: usize = 8;

/// What the view keeps of channels.
#[derive(Default)]
pub(super) struct Channels {
    list: Vec<FrameChannel>,
    /// Whether they are laid over each other.
    pub(super) on: bool,
    /// The channel of the frame that was in sight last.
    seen: Option<usize>,
    /// Counts what was changed, so that what was made of them before is not shown.
    version: u64,
}

impl Channels {
    /// Those of a picture: together at first where the file describes a few of them, since microscopes mean them so.
    pub(super) fn new(info: &ImageInfo) -> Self {
        let list = Composite::channels(info);
        let on = info.frame_channels.len() > 1 && list.len() <= TOGETHER;
        Channels { list, on, seen: None, version: 1 }
    }

    /// Takes the channel that the frame in sight is of: one that was gone to is shown alone.
    pub(super) fn see(&mut self, channel: Option<usize>) {
        let before = std::mem::replace(&mut self.seen, channel);
        self.on &= before.is_none() || before == channel;
    }

    /// Puts back whether they are laid over each other.
    pub(super) fn restore(&mut self, on: bool) {
        (self.on, self.seen) = (on, None);
    }

    /// Whether the picture has any.
    pub(super) fn are_there(&self) -> bool {
        !self.list.is_empty()
    }

    /// What a composite is known by; zero where there is none.
    pub(super) fn key(&self) -> u64 {
        if self.on && self.are_there() { self.version } else { 0 }
    }

    /// The composite of a picture.
    ///
    /// # Errors
    /// As [`Composite::new`].
    pub(super) fn of(list: Vec<FrameChannel>, image: Arc<dyn Image>) -> Result<Arc<dyn Image>> {
        Ok(Arc::new(Composite::new(image, list)?))
    }

    /// The channels as they are now.
    pub(super) fn list(&self) -> Vec<FrameChannel> {
        self.list.clone()
    }

    /// The switch, and behind a button the channels.
    pub(super) fn toolbar(&mut self, ui: &mut Ui) {
        if !self.are_there() {
            return;
        }
        let button = ui.selectable_label(self.on, theme::dim(Theme::of(ui), "Composite"));
        let words = "Channels laid over each other in their colours, or one at a time";
        self.on ^= button.on_hover_text(words).clicked();
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
