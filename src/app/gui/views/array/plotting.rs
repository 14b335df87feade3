//! The look that all plots share: hairlines, small figures, nothing that moves by itself.

use egui_plot::{AxisHints, Plot};

use crate::gui::theme::{self, Theme};

/// A plot in the colours of the theme; `x` and `y` write the figures at the axes. Zoom is left to the
/// caller.
pub(crate) fn calm<'a>(
    plot: Plot<'a>,
    theme: &Theme,
    x: impl Fn(f64) -> String + 'a,
    y: impl Fn(f64) -> String + 'a,
) -> Plot<'a> {
    let styled =
        |hints: AxisHints<'a>| hints.tick_label_color(theme.dim).tick_label_font(theme::mono_small_font());
    plot.show_background(false)
        .allow_scroll(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .grid_color(theme.line)
        .grid_fade(0.0)
        .grid_spacing(egui::Rangef::new(20.0, 160.0))
        .label_formatter(|_| None)
        .cursor_color(theme.faint)
        .custom_x_axes(vec![styled(
            AxisHints::new_x()
                .label_spacing(egui::Rangef::new(28.0, 56.0))
                .formatter(move |mark, _| x(mark.value)),
        )])
        .custom_y_axes(vec![styled(
            AxisHints::new_y()
                .label_spacing(egui::Rangef::new(18.0, 30.0))
                .formatter(move |mark, _| y(mark.value)),
        )])
}
