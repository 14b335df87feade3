//! `gander render`: the view of one node, without the rooms around it, drawn into memory until nothing moves.

use std::time::{Duration, Instant};

use egui::{CentralPanel, ColorImage, Frame, Pos2, RawInput, Rect, Ui, Vec2, ViewportId};

use super::App;
use super::screenshot::{Rest, save};
use crate::cli::render::Picture;
use crate::gui::Launch;
use crate::gui::offscreen::Offscreen;
use crate::gui::settings::ThemeChoice;
use crate::gui::theme::Theme;

/// Between two frames jobs read.
const PAUSE: Duration = Duration::from_millis(8);

/// Draws the view and writes the picture.
///
/// # Errors
/// Where nothing draws here, the picture is larger than what draws can do, or it cannot be written.
pub(crate) fn render(wanted: &Picture) -> anyhow::Result<()> {
    let offscreen = Offscreen::new()?;
    let longest = offscreen.longest();
    let (width, height) = wanted.size;
    anyhow::ensure!(
        width.max(height) as usize <= longest,
        "--size: a picture has at most {longest} pixels a side here"
    );
    let picture = drawn(wanted, &offscreen)?;
    save(&wanted.to, &picture).map_err(|error| anyhow::anyhow!("{}: {error}", wanted.to.display()))
}

fn drawn(wanted: &Picture, offscreen: &Offscreen) -> anyhow::Result<ColorImage> {
    let theme = if wanted.dark { ThemeChoice::Dark } else { ThemeChoice::Light };
    let launch = Launch::of(&wanted.target, (&wanted.file, &wanted.options), theme);
    let size = Vec2::new(wanted.size.0 as f32, wanted.size.1 as f32);
    let ctx = egui::Context::default();
    let mut app = App::new(&ctx, launch);
    let started = Instant::now();
    let mut rest = Rest::new();
    loop {
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            max_texture_side: Some(offscreen.longest()),
            time: Some(started.elapsed().as_secs_f64()),
            focused: false,
            ..RawInput::default()
        };
        if let Some(viewport) = input.viewports.get_mut(&ViewportId::ROOT) {
            viewport.native_pixels_per_point = Some(1.0);
        }
        let mut output = ctx.run_ui(input, |ui| app.view_frame(ui));
        offscreen.textures(&mut output.textures_delta);
        if rest.is_reached(&app.jobs) {
            return offscreen.draw(&ctx, output);
        }
        std::thread::sleep(PAUSE);
    }
}

impl App {
    /// One frame of the active tab alone.
    fn view_frame(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.poll(&ctx);
        let fill = Theme::of(ui).bg2;
        CentralPanel::no_frame().frame(Frame::new().fill(fill)).show(ui, |ui| {
            let (tabs, cx) = self.tabs_cx(false);
            tabs.active_ui(ui, cx);
        });
        for action in std::mem::take(&mut self.actions) {
            self.act(&ctx, action);
        }
        let _ = self.system_font.step(&ctx, &self.jobs);
    }
}
