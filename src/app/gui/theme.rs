//! Every colour, size and space of the window, in its dark and its light form, and the small
//! widgets that all rooms share. No other module writes a colour or a font size.

mod widgets;

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{
    Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, FontTweak, Margin, RichText,
    Shadow, Stroke, Style, TextStyle, Ui, Visuals, vec2,
};

use super::icons::Icon;
pub(crate) use widgets::{
    Severity, button, cancelled, cancelled_line, chip, empty_offer, empty_state, form, icon_button,
    is_form_open, open_form, pending, primary_button, problem_banner, section_head, segmented,
};

/// Heights, widths and corners, in points.
pub(crate) mod size {
    /// A row of a grid, a tree or a list.
    pub(crate) const ROW: f32 = 24.0;
    /// How far a tree row moves right with each level.
    pub(crate) const TREE_INDENT: f32 = 14.0;
    /// The bar with the menus, and the tab bar.
    pub(crate) const BAR: f32 = 34.0;
    /// The bar above a view, with its controls.
    pub(crate) const TOOLBAR: f32 = 38.0;
    /// The bar at the bottom of the window.
    pub(crate) const STATUS_BAR: f32 = 26.0;
    /// Buttons, chips and input lines.
    pub(crate) const CONTROL: f32 = 26.0;
    /// The explorer when the window is new.
    pub(crate) const EXPLORER: f32 = 268.0;
    /// The inspector when the window is new.
    pub(crate) const INSPECTOR: f32 = 304.0;
    /// Corners of buttons and fields.
    pub(crate) const CORNER: u8 = 5;
    /// Corners of windows, menus and tool tips.
    pub(crate) const CORNER_LARGE: u8 = 6;
    /// The track of the grid's own scroll bars.
    pub(crate) const SCROLL_BAR: f32 = 12.0;
    /// The least length of a scroll bar's thumb.
    pub(crate) const SCROLL_THUMB: f32 = 28.0;
    /// A section head.
    pub(crate) const TEXT_HEAD: f32 = 11.0;
    /// Everything that is not a value.
    pub(crate) const TEXT: f32 = 13.0;
    /// Values.
    pub(crate) const TEXT_MONO: f32 = 12.0;
    /// Units, types, notes beside a name.
    pub(crate) const TEXT_SMALL: f32 = 11.0;
}

/// Spaces, in steps of four points.
pub(crate) mod space {
    /// Between things that belong together.
    pub(crate) const S1: f32 = 4.0;
    /// Between controls.
    pub(crate) const S2: f32 = 8.0;
    /// Inside panels.
    pub(crate) const S3: f32 = 12.0;
    /// Between sections.
    pub(crate) const S4: f32 = 16.0;
    /// Around an empty view.
    pub(crate) const S6: f32 = 24.0;
    /// Left and right of a value in a cell.
    pub(crate) const CELL: f32 = 10.0;
}

/// The colours of one of the two themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    /// Whether this is the dark one.
    pub(crate) dark: bool,
    /// Bars.
    pub bg0: Color32,
    /// Panels, grid headers.
    pub bg1: Color32,
    /// Content.
    pub bg2: Color32,
    /// Raised: buttons, hovered rows, placeholders.
    pub bg3: Color32,
    /// Hairlines.
    pub(crate) line: Color32,
    /// Values and names.
    pub(crate) text: Color32,
    /// Labels.
    pub(crate) dim: Color32,
    /// Units and row numbers; never alone for meaning.
    pub(crate) faint: Color32,
    /// Focus, links, the primary button.
    pub(crate) accent: Color32,
    /// Text on the accent colour.
    pub(crate) on_accent: Color32,
    /// The selected row of a tree or list.
    pub(crate) selection: Color32,
    /// Exact, fine.
    pub(crate) good: Color32,
    /// A remark.
    pub(crate) warn: Color32,
    /// A problem; NaN in text.
    pub(crate) bad: Color32,
    /// Text values.
    pub(crate) string: Color32,
    /// Missing values, set in italics.
    pub(crate) null: Color32,
}

/// A colour of a picture of values.
pub(crate) fn picture_color([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

const DARK: Theme = Theme {
    dark: true,
    bg0: rgb(0x16181c),
    bg1: rgb(0x1c1f24),
    bg2: rgb(0x23272e),
    bg3: rgb(0x2c313a),
    line: rgb(0x30353f),
    text: rgb(0xd7dae0),
    dim: rgb(0x8b93a1),
    faint: rgb(0x5c6370),
    accent: rgb(0x5aa2f7),
    // White on this blue has a contrast of 2.6; near-black has 7.
    on_accent: rgb(0x0e1116),
    selection: rgb(0x2a4365),
    good: rgb(0x6cc08b),
    warn: rgb(0xe2b45a),
    bad: rgb(0xea6a6a),
    string: rgb(0xa9c991),
    null: rgb(0x6b7280),
};

const LIGHT: Theme = Theme {
    dark: false,
    bg0: rgb(0xeceef1),
    bg1: rgb(0xf7f8fa),
    bg2: rgb(0xffffff),
    bg3: rgb(0xe7eaef),
    line: rgb(0xd6dae1),
    text: rgb(0x23272e),
    dim: rgb(0x626b7a),
    faint: rgb(0x99a1ae),
    accent: rgb(0x1f6fd1),
    on_accent: rgb(0xffffff),
    selection: rgb(0xcfe2fb),
    good: rgb(0x23864c),
    warn: rgb(0xa86f08),
    bad: rgb(0xc73a3a),
    string: rgb(0x3d7a2c),
    null: rgb(0x9aa2af),
};

impl Theme {
    /// The dark theme.
    pub(crate) const fn dark() -> &'static Theme {
        &DARK
    }

    /// The light theme.
    pub(crate) const fn light() -> &'static Theme {
        &LIGHT
    }

    /// The theme that is on in `ui`.
    pub(crate) fn of(ui: &Ui) -> &'static Theme {
        if ui.visuals().dark_mode { &DARK } else { &LIGHT }
    }

    /// The theme that is on in `ctx`, where there is no `Ui`.
    pub(crate) fn of_context(ctx: &egui::Context) -> &'static Theme {
        if ctx.theme() == egui::Theme::Dark { &DARK } else { &LIGHT }
    }

    /// The colour of the nth of a few things that have no order: apart for the colour-blind too.
    pub(crate) fn category(&self, n: usize) -> Color32 {
        const ON_DARK: [Color32; 8] = [
            rgb(0x5aa2f7),
            rgb(0xe69f00),
            rgb(0x3cc49a),
            rgb(0xe07fb2),
            rgb(0xf0e442),
            rgb(0xe8703a),
            rgb(0xb9a3ff),
            rgb(0xb0b7c3),
        ];
        const ON_LIGHT: [Color32; 8] = [
            rgb(0x1f6fd1),
            rgb(0xc77700),
            rgb(0x00805b),
            rgb(0xb0407f),
            rgb(0x7f7400),
            rgb(0xc4410c),
            rgb(0x6b4fc8),
            rgb(0x5d6675),
        ];
        if self.dark { ON_DARK[n % 8] } else { ON_LIGHT[n % 8] }
    }

    /// A hairline.
    pub(crate) fn hairline(&self) -> Stroke {
        Stroke::new(1.0, self.line)
    }

    /// The background of selected cells and of the cursor's row: a breath of the accent colour
    /// over the content, so that the text colours keep their contrast.
    pub(crate) fn selected_cell(&self) -> Color32 {
        self.bg2.lerp_to_gamma(self.accent, if self.dark { 0.16 } else { 0.1 })
    }

    /// The background of a text that was looked for.
    pub(crate) fn found(&self) -> Color32 {
        self.tint(self.warn).lerp_to_gamma(self.warn, 0.25)
    }

    /// The background of a problem, as [`problem_banner`] paints it.
    pub(crate) fn tint(&self, color: Color32) -> Color32 {
        self.bg1.lerp_to_gamma(color, if self.dark { 0.14 } else { 0.13 })
    }
}

/// Inter semi-bold.
pub(crate) fn semi_bold() -> FontFamily {
    FontFamily::Name("semi-bold".into())
}

/// Inter italic.
pub(crate) fn italic() -> FontFamily {
    FontFamily::Name("italic".into())
}

/// The icons alone.
pub(crate) fn icon_family() -> FontFamily {
    FontFamily::Name("icons".into())
}

/// Inter 13: text.
pub(crate) fn body_font() -> FontId {
    FontId::new(size::TEXT, FontFamily::Proportional)
}

/// Inter italic 13: null values, the preview tab.
pub(crate) fn italic_font() -> FontId {
    FontId::new(size::TEXT, italic())
}

/// Inter 11: notes beside a name.
pub(crate) fn small_font() -> FontId {
    FontId::new(size::TEXT_SMALL, FontFamily::Proportional)
}

/// JetBrains Mono 12: values.
pub(crate) fn mono_font() -> FontId {
    FontId::new(size::TEXT_MONO, FontFamily::Monospace)
}

/// JetBrains Mono 11: types, row counts.
pub(crate) fn mono_small_font() -> FontId {
    FontId::new(size::TEXT_SMALL, FontFamily::Monospace)
}

/// Inter semi-bold 13: letters at the edges of pictures.
pub(crate) fn edge_font() -> FontId {
    FontId::new(size::TEXT, semi_bold())
}

/// Inter semi-bold 11: section heads.
pub(crate) fn heading_font() -> FontId {
    FontId::new(size::TEXT_HEAD, semi_bold())
}

/// A section head: semi-bold, letter-spaced, in capitals.
pub(crate) fn heading(theme: &Theme, text: &str) -> RichText {
    RichText::new(text.to_uppercase()).font(heading_font()).extra_letter_spacing(0.8).color(theme.dim)
}

/// A value in mono.
pub(crate) fn mono(text: impl Into<String>) -> RichText {
    RichText::new(text).font(mono_font())
}

/// How far a job is, as words behind others; nothing where it does not know.
pub(crate) fn percent(share: Option<f32>) -> String {
    share.map_or(String::new(), |share| format!(" {:.0} %", share.min(1.0) * 100.0))
}

/// Text in the colour of labels.
pub(crate) fn dim(theme: &Theme, text: impl Into<String>) -> RichText {
    RichText::new(text).color(theme.dim)
}

/// An icon as text, in the colour of what is around it.
pub(crate) fn icon(icon: Icon) -> RichText {
    RichText::new(icon.glyph().to_string()).font(FontId::new(size::TEXT + 2.0, icon_family()))
}

/// An icon, then words, for menu rows, tabs and buttons; the words take the widget's colour.
pub(crate) fn icon_text(icon: Icon, text: &str) -> LayoutJob {
    let mut job = LayoutJob::default();
    let format = |font| TextFormat { font_id: font, color: Color32::PLACEHOLDER, ..Default::default() };
    job.append(&icon.glyph().to_string(), 0.0, format(FontId::new(size::TEXT + 2.0, icon_family())));
    job.append(text, space::S2, format(body_font()));
    job
}

/// Gives `ctx` the fonts, the sizes and both themes. Once, when the window opens.
pub(crate) fn apply(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    for (theme, kind) in [(&DARK, egui::Theme::Dark), (&LIGHT, egui::Theme::Light)] {
        ctx.set_style_of(kind, style(theme));
    }
}

/// Takes a font of the system for characters that no other has.
pub(crate) fn add_font(ctx: &egui::Context, bytes: Vec<u8>) {
    const NAME: &str = "of the system";
    let mut fonts = fonts();
    fonts.font_data.insert(NAME.to_owned(), Arc::new(FontData::from_owned(bytes)));
    fonts.families.values_mut().for_each(|names| names.push(NAME.to_owned()));
    ctx.set_fonts(fonts);
}

fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let files: [(&str, &'static [u8]); 5] = [
        ("Inter", include_bytes!("../../../assets/fonts/Inter-Regular.ttf")),
        ("Inter SemiBold", include_bytes!("../../../assets/fonts/Inter-SemiBold.ttf")),
        ("Inter Italic", include_bytes!("../../../assets/fonts/Inter-Italic.ttf")),
        ("JetBrains Mono", include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf")),
        ("Phosphor", include_bytes!("../../../assets/icons/Phosphor.ttf")),
    ];
    for (name, bytes) in files {
        let mut data = FontData::from_static(bytes);
        if name == "Phosphor" {
            // Its glyphs stand on the base line; text of the same size hangs a little below.
            data = data.tweak(FontTweak { y_offset_factor: 0.02, ..Default::default() });
        }
        fonts.font_data.insert(name.to_owned(), Arc::new(data));
    }
    let others = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let families = [
        (FontFamily::Proportional, "Inter"),
        (FontFamily::Monospace, "JetBrains Mono"),
        (semi_bold(), "Inter SemiBold"),
        (italic(), "Inter Italic"),
        (icon_family(), "Phosphor"),
    ];
    for (family, first) in families {
        // Whatever the family, a missing character comes from Inter, the icons, then egui's own.
        let mut names = vec![first.to_owned()];
        let rest = ["Inter", "Phosphor"].map(str::to_owned).into_iter().chain(others.iter().cloned());
        names.extend(rest.filter(|name| name != first));
        fonts.families.insert(family, names);
    }
    fonts
}

fn style(theme: &Theme) -> Style {
    let mut style = Style { visuals: visuals(theme), animation_time: 0.1, ..Default::default() };
    style.text_styles = BTreeMap::from([
        (TextStyle::Small, small_font()),
        (TextStyle::Body, body_font()),
        (TextStyle::Button, body_font()),
        (TextStyle::Heading, FontId::new(16.0, semi_bold())),
        (TextStyle::Monospace, mono_font()),
    ]);
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(space::S2, space::S1);
    spacing.button_padding = vec2(space::S2, space::S1);
    spacing.interact_size = vec2(size::ROW, size::ROW);
    spacing.indent = size::TREE_INDENT;
    spacing.window_margin = Margin::same(space::S3 as i8);
    spacing.menu_margin = Margin::same(space::S1 as i8);
    spacing.combo_width = 80.0;
    spacing.tooltip_width = 480.0;
    spacing.scroll = egui::style::ScrollStyle { bar_width: 8.0, ..egui::style::ScrollStyle::floating() };
    style.interaction.tooltip_delay = 0.4;
    style.interaction.selectable_labels = false;
    style
}

fn visuals(theme: &Theme) -> Visuals {
    let mut visuals = if theme.dark { Visuals::dark() } else { Visuals::light() };
    let shadow = Shadow {
        offset: [0, 6],
        blur: 18,
        spread: 0,
        color: Color32::from_black_alpha(if theme.dark { 110 } else { 40 }),
    };
    visuals.panel_fill = theme.bg1;
    visuals.window_fill = theme.bg1;
    visuals.window_stroke = theme.hairline();
    visuals.window_shadow = shadow;
    visuals.popup_shadow = shadow;
    visuals.window_corner_radius = CornerRadius::same(size::CORNER_LARGE);
    visuals.menu_corner_radius = CornerRadius::same(size::CORNER_LARGE);
    visuals.extreme_bg_color = theme.bg2;
    visuals.text_edit_bg_color = Some(theme.bg2);
    visuals.code_bg_color = theme.bg3;
    visuals.faint_bg_color = theme.bg3;
    visuals.hyperlink_color = theme.accent;
    visuals.warn_fg_color = theme.warn;
    visuals.error_fg_color = theme.bad;
    visuals.weak_text_color = Some(theme.dim);
    visuals.selection.bg_fill = theme.selection;
    visuals.selection.stroke = Stroke::new(1.0, if theme.dark { theme.text } else { theme.accent });
    visuals.text_cursor.stroke = Stroke::new(1.5, theme.accent);
    visuals.slider_trailing_fill = true;
    visuals.indent_has_left_vline = false;
    let corner_radius = CornerRadius::same(size::CORNER);
    let widgets = &mut visuals.widgets;
    for (widget, fill, edge, text) in [
        (&mut widgets.noninteractive, theme.bg1, theme.line, theme.text),
        (&mut widgets.inactive, theme.bg3, theme.line, theme.text),
        (&mut widgets.hovered, theme.bg3.lerp_to_gamma(theme.text, 0.06), theme.faint, theme.text),
        (&mut widgets.active, theme.bg3.lerp_to_gamma(theme.text, 0.12), theme.accent, theme.text),
        (&mut widgets.open, theme.bg3, theme.line, theme.text),
    ] {
        widget.bg_fill = fill;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = Stroke::new(1.0, edge);
        widget.fg_stroke = Stroke::new(1.0, text);
        widget.corner_radius = corner_radius;
        widget.expansion = 0.0;
    }
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast as WCAG 2.2 defines them.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let luminance = |color: Color32| {
            let linear = |byte: u8| {
                let value = f32::from(byte) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// What WCAG AA asks of text.
    const AA: f32 = 4.5;

    #[test]
    fn text_is_readable_on_every_background() {
        for theme in [&DARK, &LIGHT] {
            let check = |color: Color32, background: Color32| {
                let ratio = contrast(color, background);
                assert!(ratio >= AA, "{color:?} on {background:?}: {ratio:.2}");
            };
            for background in [theme.bg0, theme.bg1, theme.bg2] {
                for color in [theme.text, theme.dim] {
                    check(color, background);
                }
            }
            for background in [theme.bg2, theme.selected_cell()] {
                for color in [theme.text, theme.string] {
                    check(color, background);
                }
                assert!(contrast(theme.text, theme.found()) >= AA);
                // These are never alone for meaning: the words say it too.
                for color in [theme.good, theme.warn, theme.bad] {
                    assert!(contrast(color, background) >= 3.0);
                }
            }
            check(theme.text, theme.selection);
            check(theme.on_accent, theme.accent);
        }
    }

    #[test]
    fn every_icon_is_in_the_font() {
        let ctx = egui::Context::default();
        apply(&ctx);
        let mut missing = Vec::new();
        let mut output = ctx.run_ui(Default::default(), |ui| {
            let font = FontId::new(16.0, icon_family());
            missing = Icon::ALL
                .iter()
                .filter(|icon| !ui.fonts_mut(|fonts| fonts.has_glyph(&font, icon.glyph())))
                .collect();
        });
        output.textures_delta.clear();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
