//! The toolbar of the array view: modes, and the options of each. Where the bar is narrow the modes
//! fold into one menu and the options into another.

use egui::{DragValue, Rect, Sense, Ui, vec2};
use gander::bytes::display::{self, brief};
use gander::data::axes::PlaneHeadings;
use gander::data::numbers::{ComplexPart, NonFinite};
use gander::data::plane::color::{
    ColorMap, ColorRange, HeatMapSpec, ImageSpec, Norm, RangeScope, usual_window,
};
use gander::data::plane::{Mapping, Slice, ValueSummary};

use super::ArrayView;
use super::Mode;
use super::slice_image::SliceImage;
use super::upright::{Upright, upright_choices, upright_words};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::canvas::{Camera, Cells};
use crate::gui::ui::{drop_down, drop_form, spin_button};

/// From here on the modes stand side by side.
const WIDE: f32 = 480.0;
/// What the options of a mode need.
const ROOM: f32 = 340.0;

/// Draws the toolbar.
pub(super) fn toolbar(view: &mut ArrayView, ui: &mut Ui) {
    ui.spacing_mut().item_spacing.x = space::S2;
    let modes = view.modes();
    if view.drawable() {
        if ui.available_width() >= WIDE {
            theme::segmented(ui, "View", &mut view.mode, &modes);
        } else {
            drop_down(ui, view.mode.word(), "View", |ui| {
                for &(mode, word) in &modes {
                    if ui.selectable_label(view.mode == mode, word).clicked() {
                        view.mode = mode;
                        ui.close();
                    }
                }
            });
        }
    } else {
        ui.label(theme::dim(Theme::of(ui), "Values"));
    }
    ui.add_space(space::S1);
    let narrow = ui.available_width() < ROOM;
    if !narrow {
        seen(view, ui);
    }
    match view.mode {
        Mode::Heat | Mode::Volume if narrow => folded(ui, |ui| {
            seen(view, ui);
            heat(view, ui);
        }),
        Mode::Image if narrow => folded(ui, |ui| {
            seen(view, ui);
            image(view, ui);
        }),
        Mode::Histogram if narrow => folded(ui, |ui| {
            seen(view, ui);
            histogram(view, ui);
        }),
        Mode::Numbers if narrow && !view.has_options() => {}
        Mode::Numbers if narrow => folded(ui, |ui| {
            seen(view, ui);
            view.numbers.toolbar(ui, &*view.array);
        }),
        Mode::Line if narrow => folded(ui, |ui| {
            seen(view, ui);
            line(view, ui);
        }),
        Mode::Heat | Mode::Volume => heat(view, ui),
        Mode::Image => image(view, ui),
        Mode::Numbers => view.numbers.toolbar(ui, &*view.array),
        Mode::Line => line(view, ui),
        Mode::Histogram => histogram(view, ui),
    }
    match view.mode {
        Mode::Heat => non_finite_buttons(view, ui),
        _ => next_menu(view, ui),
    }
}

/// The way to the next value that is no number or stands for nothing, from the element that is framed.
fn next_menu(view: &mut ArrayView, ui: &mut Ui) {
    let sought = view.sought();
    let Some(first) = sought.first().filter(|_| ui.available_width() >= 64.0) else { return };
    let mut chosen = None;
    drop_down(ui, first.word(), "Next and previous of such values", |ui| {
        for kind in &sought {
            for (word, forward) in [("Next", true), ("Previous", false)] {
                if ui.button(format!("{word} {}", kind.word())).clicked() {
                    chosen = Some((kind.clone(), forward));
                    ui.close();
                }
            }
        }
    });
    if let Some((kind, forward)) = chosen {
        view.next(kind, forward);
    }
}

/// Which field of structured elements, and whether values are what is stored or what that stands for.
fn seen(view: &mut ArrayView, ui: &mut Ui) {
    if !view.field_view.fields.is_empty() {
        let names: Vec<String> = view.field_view.fields.iter().map(|field| field.name.clone()).collect();
        let text =
            view.field_view.field.and_then(|n| names.get(n).cloned()).unwrap_or("all fields".to_owned());
        let mut chosen = view.field_view.field;
        drop_down(ui, &short(&text), "Field", |ui| {
            ui.set_max_width(320.0);
            egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                if ui.selectable_label(chosen.is_none(), "all fields").clicked() {
                    chosen = None;
                    ui.close();
                }
                for (n, name) in names.iter().enumerate() {
                    if ui.selectable_label(chosen == Some(n), name).clicked() {
                        chosen = Some(n);
                        ui.close();
                    }
                }
            });
        });
        view.choose_field(chosen);
    }
    let Some(scaling) = view.field_view.scaling.clone() else { return };
    let words = |stored| if stored { "stored values" } else { "scaled values" };
    let mut stored = view.field_view.stored;
    drop_down(ui, words(stored), "Scale, offset and missing values", |ui| {
        for choice in [false, true] {
            if ui.selectable_label(stored == choice, words(choice)).clicked() {
                stored = choice;
                ui.close();
            }
        }
        ui.separator();
        ui.label(theme::dim(Theme::of(ui), scaling.to_string()));
    });
    view.choose_stored(stored);
}

fn short(text: &str) -> String {
    if text.chars().count() <= 24 { text.to_owned() } else { text.chars().take(23).chain(['…']).collect() }
}

/// The options behind one button.
pub(in super::super) fn folded(ui: &mut Ui, options: impl FnOnce(&mut Ui)) {
    let button = egui::Button::new(theme::icon(Icon::Sliders)).min_size(vec2(size::CONTROL, size::CONTROL));
    let config = egui::containers::menu::MenuConfig::new()
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (response, _) = egui::containers::menu::MenuButton::from_button(button).config(config).ui(ui, |ui| {
        ui.set_min_width(150.0);
        options(ui);
    });
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Options"));
    response.on_hover_text("Options");
}

/// The right end of the mapper's bar.
pub(in super::super) fn zoom(
    ui: &mut Ui,
    pictured: &mut SliceImage,
    slice: &Slice,
    turning: bool,
    facing: PlaneHeadings,
    upright: &mut Upright,
) {
    let theme = Theme::of(ui);
    if theme::icon_button(ui, Icon::Fit, "All in sight").clicked() {
        pictured.camera.fit = true;
    }
    let camera = &mut pictured.camera;
    if let Some(cells) = cells_menu(ui, camera.cells, camera.sides) {
        camera.choose(cells);
    }
    if turning || facing.is_known() {
        turn_menu(ui, camera, facing, upright);
    }
    let one = egui::Button::new(theme::dim(theme, "1:1")).frame_when_inactive(false);
    if ui.add(one).on_hover_text("An element is a pixel of the screen").clicked() {
        pictured.life_size();
    }
    let words = pictured.zoom_words(slice);
    // The axes at the left go before.
    if ui.available_width() > 400.0 + 7.0 * words.chars().count() as f32 {
        ui.label(theme::dim(theme, words));
    }
    if facing.is_known() {
        upright_words(ui, facing, *upright, 300.0);
    }
}

/// The switch by which views of arrays of the same shape are looked at together.
pub(super) fn link(ui: &mut Ui, linked: &mut bool) {
    if !*linked && ui.available_width() < 420.0 {
        return;
    }
    let words = "Views of arrays of the same shape go together: slice, zoom, cursor and colours";
    let button = ui.selectable_label(*linked, theme::dim(Theme::of(ui), "Link"));
    *linked ^= button.on_hover_text(words).clicked();
}

/// How cells are shaped: as large as the axes say, where these differ (`sides`), square, or as there is room.
pub(super) fn cells_menu(ui: &mut Ui, chosen: Cells, sides: [f64; 2]) -> Option<Cells> {
    let least = sides[0].min(sides[1]);
    let words = sides.map(|side| brief(side / least));
    let choices = if sides[0] == sides[1] {
        vec![(Cells::True, "Square cells".to_owned())]
    } else {
        let sized = format!("True size, {} : {}", words[0], words[1]);
        vec![(Cells::True, sized), (Cells::Square, "Square cells".to_owned())]
    };
    let choices = choices.into_iter().chain([(Cells::Fill, "Fill the view".to_owned())]);
    let button = egui::Button::new(theme::icon(Icon::Module).color(Theme::of(ui).dim))
        .frame_when_inactive(false)
        .min_size(vec2(size::ROW, size::ROW));
    let mut picked = None;
    let (response, _) = egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
        for (cells, words) in choices {
            // Where axes say nothing, square and true are the same.
            let now =
                cells == chosen || sides[0] == sides[1] && cells == Cells::True && chosen != Cells::Fill;
            if ui.selectable_label(now, words).clicked() {
                picked = Some(cells);
                ui.close();
            }
        }
    });
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Shape of the cells"));
    response.on_hover_text("Shape of the cells");
    picked
}

/// Flips and turns behind one button.
fn turn_menu(ui: &mut Ui, camera: &mut Camera, facing: PlaneHeadings, upright: &mut Upright) {
    let before = camera.turn;
    let button = egui::Button::new(theme::icon(Icon::FlipHorizontal).color(Theme::of(ui).dim))
        .frame_when_inactive(false)
        .min_size(vec2(size::ROW, size::ROW));
    let (response, _) = egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
        let turn = &mut camera.turn;
        if facing.is_known() {
            if upright_choices(ui, facing, upright) {
                *turn = Default::default();
            }
            ui.separator();
        }
        if ui.button("Flip left and right").clicked() {
            turn.flip_horizontal();
        }
        if ui.button("Flip top and bottom").clicked() {
            turn.flip_vertical();
        }
        if ui.button("Turn left").clicked() {
            turn.back();
        }
        if ui.button("Turn right").clicked() {
            turn.clockwise();
        }
        if !facing.is_known() && ui.button("As stored").clicked() {
            *turn = Default::default();
        }
    });
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Flip and turn"));
    response.on_hover_text("Flip and turn");
    if before != camera.turn {
        camera.fit = true;
    }
}

fn heat(view: &mut ArrayView, ui: &mut Ui) {
    let (sequential, diverging) = view.maps;
    let choice = &mut view.choice;
    drop_down(ui, choice.map.name(), "Colour map", |ui| {
        if let Some(map) = map_menu(ui, Some(choice.map)) {
            choice.map = map;
            choice.centred = map.diverges() && choice.norm != Norm::Log;
        }
    });
    drop_down(ui, choice.norm.word(), "Scale of the colours", |ui| {
        for (curve, word) in Norm::ALL {
            if ui.selectable_label(choice.norm == curve, word).clicked() {
                choice.norm = curve;
                ui.close();
            }
        }
        ui.separator();
        let centre = egui::Checkbox::new(&mut choice.centred, "Zero in the middle");
        let is_changed = ui.add_enabled(choice.norm != Norm::Log, centre).changed();
        // Colours that nobody chose go with it.
        let (from, to) = if choice.centred { (sequential, diverging) } else { (diverging, sequential) };
        if is_changed && choice.map == from {
            choice.map = to;
        }
    });
    part_menu(view, ui);
    if view.mode == Mode::Volume {
        view.volume.toolbar(ui, &view.mapping, &view.dims.coordinates);
    }
    let pictured = if view.mode == Mode::Volume { view.volume.first() } else { &view.heat };
    let summary = match view.choice.scope {
        RangeScope::Array => view.whole.known(view.choice.part),
        RangeScope::Slice => None,
    };
    let summary = summary.or_else(|| pictured.known(&view.mapping.slice(false), view.choice.part));
    let window = view.window;
    let (choice, scanning) = (&mut view.choice, view.whole.state());
    let words = match choice.scope {
        RangeScope::Array if !scanning.is_empty() => format!("{} of all: {scanning}", choice.range.words()),
        RangeScope::Array if !matches!(choice.range, ColorRange::Hand(..)) => {
            format!("{} of all", choice.range.words())
        }
        _ => choice.range.words(),
    };
    let mut again = false;
    drop_form(ui, &short(&words), "Range of the colours", |ui| {
        let is_given = matches!(choice.range, ColorRange::Hand(..));
        if let Some(scope) = scope_choices(ui, (!is_given).then_some(choice.scope)) {
            choice.scope = scope;
            choice.range = if is_given { ColorRange::MinMax } else { choice.range };
            again = scope == RangeScope::Array;
        }
        range_menu(ui, choice, summary.as_deref(), window)
    });
    if again {
        view.whole.retry();
    }
    if view.mode == Mode::Heat {
        let shown = view.heat.shows_norms();
        let button = ui.selectable_label(shown, "Norms");
        if button.on_hover_text("The norms of rows and columns, beside the heat map").clicked() {
            view.heat.show_norms(!shown);
        }
    }
}

fn line(view: &mut ArrayView, ui: &mut Ui) {
    let slice = view.slice();
    part_menu(view, ui);
    let along = view.lines.toolbar(ui, &slice, &view.mapping, &view.dims.coordinates);
    if let Some(axis) = along {
        view.line_along(axis);
    }
}

fn histogram(view: &mut ArrayView, ui: &mut Ui) {
    part_menu(view, ui);
    view.histogram.toolbar(ui);
}

/// For complex numbers: which part of them.
fn part_menu(view: &mut ArrayView, ui: &mut Ui) {
    if !view.array.dtype().is_complex() {
        return;
    }
    let choice = &mut view.choice;
    drop_down(ui, choice.part.word(), "ComplexPart of the complex numbers", |ui| {
        for (part, word) in ComplexPart::ALL {
            if ui.selectable_label(choice.part == part, word).clicked() {
                choice.part = part;
                // Angles go round, and so do these colours.
                let round = ColorMap::named("sinebow").unwrap_or_default();
                match part {
                    ComplexPart::Phase if choice.map == ColorMap::default() => choice.map = round,
                    ComplexPart::Phase => {}
                    _ if choice.map == round => choice.map = ColorMap::default(),
                    _ => {}
                }
                ui.close();
            }
        }
    });
}

/// Grey, or the colours of a map for pictures of one channel.
pub(in super::super) fn false_colours(ui: &mut Ui, map: &mut Option<ColorMap>) {
    drop_down(ui, map.map_or("grey", ColorMap::name), "False colours", |ui| {
        if ui.selectable_label(map.is_none(), "grey").clicked() {
            *map = None;
            ui.close();
        }
        ui.separator();
        egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
            if let Some(chosen) = map_menu(ui, *map) {
                *map = Some(chosen);
            }
        });
    });
}

/// All maps in their groups; the one that was chosen.
fn map_menu(ui: &mut Ui, shown: Option<ColorMap>) -> Option<ColorMap> {
    let mut chosen = None;
    let mut group = "";
    for map in ColorMap::all() {
        if std::mem::replace(&mut group, map.group()) != map.group() {
            ui.label(egui::RichText::new(map.group()).font(theme::small_font()).color(Theme::of(ui).dim));
        }
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(64.0, 12.0), Sense::hover());
            swatch(ui, rect, map);
            if ui.selectable_label(shown == Some(map), map.name()).clicked() {
                chosen = Some(map);
                ui.close();
            }
        });
    }
    chosen
}

fn swatch(ui: &Ui, rect: Rect, map: ColorMap) {
    const STEPS: usize = 32;
    let width = rect.width() / STEPS as f32;
    let mut mesh = egui::Mesh::default();
    for n in 0..STEPS {
        let at = rect.min + vec2(n as f32 * width, 0.0);
        let part = Rect::from_min_size(at, vec2(width, rect.height()));
        mesh.add_colored_rect(part, theme::picture_color(map.at(n as f64 / (STEPS - 1) as f64)));
    }
    ui.painter().add(egui::Shape::mesh(mesh));
}

/// Of the slice or of the whole array, `now` the one that counts: what was chosen.
fn scope_choices(ui: &mut Ui, now: Option<RangeScope>) -> Option<RangeScope> {
    let mut picked = None;
    for (scope, words, more) in [
        (RangeScope::Slice, "of this slice", "Colours fit the slice that is shown"),
        (
            RangeScope::Array,
            "of the whole array",
            "The same colours in every slice. Looks at every element once.",
        ),
    ] {
        if ui.selectable_label(now == Some(scope), words).on_hover_text(more).clicked() {
            picked = Some(scope);
            ui.close();
        }
    }
    ui.separator();
    picked
}

fn range_menu(
    ui: &mut Ui,
    choice: &mut HeatMapSpec,
    summary: Option<&ValueSummary>,
    window: Option<(f64, f64)>,
) {
    if let Some((low, high)) = window {
        let of_file = ColorRange::Hand(low, high);
        let words = format!("{}, as the file asks", of_file.words());
        if ui.selectable_label(choice.range == of_file, words).clicked() {
            choice.range = of_file;
            ui.close();
        }
    }
    let fixed = [
        ColorRange::MinMax,
        ColorRange::Percent(0.1),
        ColorRange::Percent(1.0),
        ColorRange::Percent(2.0),
        ColorRange::Percent(5.0),
    ];
    for range in fixed {
        if ui.selectable_label(choice.range == range, range.words()).clicked() {
            choice.range = range;
            ui.close();
        }
    }
    ui.horizontal(|ui| {
        let mut share = if let ColorRange::Percent(share) = choice.range { share } else { 1.0 };
        ui.label("without");
        let drag = DragValue::new(&mut share).range(0.0..=49.0).speed(0.05).max_decimals(3).suffix(" %");
        let response = ui.add(drag);
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::drag_value(true, share);
            info.label = Some("Percent left out at either end".to_owned());
            info
        });
        ui.label("at either end");
        if response.changed() {
            choice.range = ColorRange::Percent(share);
        }
    });
    ui.separator();
    let now = summary.map_or((0.0, 1.0), |summary| {
        let scale = choice.scale(summary);
        (scale.low, scale.high)
    });
    let (mut low, mut high) = match choice.range {
        ColorRange::Hand(low, high) => (low, high),
        _ => now,
    };
    let speed = ((now.1 - now.0).abs() / 200.0).max(1e-9);
    ui.horizontal(|ui| {
        let mut changed = false;
        for (name, end) in [("Lowest value", &mut low), ("Highest value", &mut high)] {
            let drag = DragValue::new(end).speed(speed).max_decimals(9);
            changed |= spin_button(ui, name, drag).changed();
        }
        if changed {
            choice.range = ColorRange::Hand(low, high);
        }
    });
    if ui.button("Keep as it is now").on_hover_text("The same colours for every slice").clicked() {
        choice.range = ColorRange::Hand(now.0, now.1);
        ui.close();
    }
}

/// How many values are not finite, and the way from one to the next.
fn non_finite_buttons(view: &mut ArrayView, ui: &mut Ui) {
    if view.missing().is_some() {
        next_menu(view, ui);
    }
    if !view.may_be_non_finite() {
        return;
    }
    let slice = view.mapping.slice(false);
    let part = view.choice.part;
    let theme = Theme::of(ui);
    let Some(summary) = view.heat.summary(&slice, part) else {
        scan_button(view, ui, &slice);
        return;
    };
    let more = view.mapping.others(false).iter().any(|&axis| view.mapping.shape()[axis] > 1);
    for kind in NonFinite::ALL {
        let (count, name) = (summary.non_finite[kind as usize], kind.word());
        // NaN may also be in other slices; a search for infinities is not worth its place.
        let worth = count > 0 || (more && kind == NonFinite::Nan);
        if !worth || ui.available_width() < 84.0 {
            continue;
        }
        ui.spacing_mut().item_spacing.x = 2.0;
        let text = format!("{name} {}", display::short_count(count));
        let color = if count > 0 { theme.bad } else { theme.dim };
        let label = ui.label(egui::RichText::new(text).color(color));
        let words = (display::count(count), display::count(summary.count));
        label.on_hover_text(format!("{} of {} elements of this slice", words.0, words.1));
        for (glyph, word, forward) in [(Icon::CaretLeft, "Previous", false), (Icon::CaretRight, "Next", true)]
        {
            if theme::icon_button(ui, glyph, &format!("{word} {name}")).clicked() {
                view.next(kind.into(), forward);
            }
        }
        ui.add_space(space::S2);
    }
}

/// Looks at every element of a slice that is too large to do so unasked.
fn scan_button(view: &mut ArrayView, ui: &mut Ui, slice: &Slice) {
    let known = view.heat.known(slice, view.choice.part).is_some();
    if !known || view.heat.unasked(&view.array, slice) || ui.available_width() < 80.0 {
        return;
    }
    if view.heat.scanning(slice) {
        ui.label(theme::dim(Theme::of(ui), "Scanning…"));
        return;
    }
    let words = "Colours come from a sample. Look at every element of this slice: exact range, NaN and Inf.";
    if theme::button(ui, "Scan").on_hover_text(words).clicked() {
        view.heat.scan(slice);
    }
}

fn image(view: &mut ArrayView, ui: &mut Ui) {
    layout_menu(ui, &mut view.mapping, &mut view.photo);
    let depth = view.mapping.slice(true).depth() as usize;
    if depth > 1 {
        channel_menu(ui, &mut view.photo, depth);
    }
    let known = view.image.known(&view.mapping.slice(true), ComplexPart::Magnitude);
    let known = match view.photo.scope {
        RangeScope::Array => view.whole.known(ComplexPart::Magnitude).or(known),
        RangeScope::Slice => known,
    };
    let scanning = view.whole.state().to_owned();
    let (photo, dtype) = (&mut view.photo, view.array.dtype());
    let again = window_menu(ui, photo, dtype, known.as_deref(), Some(&scanning));
    if again {
        view.whole.retry();
    }
    turns(ui, &mut view.image.camera);
}

/// Flips and turns.
pub(in super::super) fn turns(ui: &mut Ui, camera: &mut Camera) {
    let before = camera.turn;
    let turn = &mut camera.turn;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        if theme::icon_button(ui, Icon::FlipHorizontal, "Flip left and right").clicked() {
            turn.flip_horizontal();
        }
        if theme::icon_button(ui, Icon::FlipVertical, "Flip top and bottom").clicked() {
            turn.flip_vertical();
        }
        if theme::icon_button(ui, Icon::Undo, "Turn left").clicked() {
            turn.back();
        }
        if theme::icon_button(ui, Icon::Reload, "Turn right").clicked() {
            turn.clockwise();
        }
    });
    if before != camera.turn {
        camera.fit = true;
    }
}

/// Which axis holds the channels, in the words of the field.
fn layout_menu(ui: &mut Ui, mapping: &mut Mapping, photo: &mut ImageSpec) {
    /// More channels than this are slices, not colours.
    const MOST: u64 = 16;
    let shape = mapping.shape().to_vec();
    let word = |axis: Option<usize>| match axis {
        None => "grey".to_owned(),
        Some(axis) if axis + 1 == shape.len() => "HWC".to_owned(),
        Some(axis) if axis + 3 == shape.len() => "CHW".to_owned(),
        Some(axis) => format!("channels: axis {axis}"),
    };
    let few = |axis: &usize| (2..=MOST).contains(&shape[*axis]);
    let choices: Vec<Option<usize>> =
        std::iter::once(None).chain((0..shape.len()).filter(few).map(Some)).collect();
    if choices.len() < 2 || shape.len() < 3 {
        return;
    }
    drop_down(ui, &word(mapping.channels()), "Layout of the image", |ui| {
        for axis in choices {
            if ui.selectable_label(mapping.channels() == axis, word(axis)).clicked() {
                mapping.set_channels(axis);
                photo.channel = None;
                ui.close();
            }
        }
    });
}

/// All channels as colours, or one of them in grey.
pub(in super::super) fn channel_menu(ui: &mut Ui, photo: &mut ImageSpec, depth: usize) {
    const NAMES: [&str; 4] = ["red", "green", "blue", "alpha"];
    let name = |n: usize| match depth {
        2 => ["grey", "alpha"].get(n).map_or(String::new(), |name| (*name).to_owned()),
        3 | 4 => NAMES.get(n).map_or(String::new(), |name| (*name).to_owned()),
        _ => format!("channel {n}"),
    };
    let all = if depth == 2 {
        "grey + alpha"
    } else if depth == 4 {
        "RGBA"
    } else {
        "RGB"
    };
    let text = photo.channel.map_or(all.to_owned(), name);
    drop_down(ui, &text, "Channels", |ui| {
        if ui.selectable_label(photo.channel.is_none(), all).clicked() {
            photo.channel = None;
        }
        for n in 0..depth {
            if ui.selectable_label(photo.channel == Some(n), name(n)).clicked() {
                photo.channel = Some(n);
            }
        }
    });
}

/// Which value is black and which is white. With `scanning`, how far a pass over the whole array is in words, they may be
/// those of all of it; true if that was chosen.
pub(in super::super) fn window_menu(
    ui: &mut Ui,
    photo: &mut ImageSpec,
    dtype: &gander::data::dtype::DType,
    summary: Option<&ValueSummary>,
    scanning: Option<&str>,
) -> bool {
    let usual = summary.map_or((0.0, 1.0), |summary| usual_window(dtype, summary));
    let ends = summary.and_then(|summary| summary.percentile(0.01).zip(summary.percentile(0.99)));
    let text = match (photo.window, photo.scope, scanning) {
        (Some((low, high)), ..) => ColorRange::Hand(low, high).words(),
        (None, RangeScope::Array, Some("")) => "auto of all".to_owned(),
        (None, RangeScope::Array, Some(state)) => format!("auto of all: {state}"),
        _ => "auto".to_owned(),
    };
    let mut again = false;
    drop_form(ui, &short(&text), "Black and white: window and level", |ui| {
        if scanning.is_some() {
            let is_given = photo.window.is_some();
            if let Some(scope) = scope_choices(ui, (!is_given).then_some(photo.scope)) {
                (photo.scope, photo.window) = (scope, None);
                again = scope == RangeScope::Array;
            }
        }
        window_choice(ui, &mut photo.window, usual, summary.and_then(|summary| summary.range), ends);
    });
    again
}

/// The windows of a menu: usual, all values, without the extreme ones, by hand as level and width.
pub(in super::super) fn window_choice(
    ui: &mut Ui,
    window: &mut Option<(f64, f64)>,
    usual: (f64, f64),
    range: Option<(f64, f64)>,
    percent: Option<(f64, f64)>,
) {
    let auto = format!("auto ({})", ColorRange::Hand(usual.0, usual.1).words());
    if ui.selectable_label(window.is_none(), auto).clicked() {
        *window = None;
        ui.close();
    }
    for (name, ends) in [("min–max", range), ("1–99 %", percent)] {
        if let Some(ends) = ends
            && ui.selectable_label(*window == Some(ends), name).clicked()
        {
            *window = Some(ends);
            ui.close();
        }
    }
    ui.separator();
    let (low, high) = window.unwrap_or(usual);
    let (mut level, mut width) = ((low + high) / 2.0, high - low);
    let span = (usual.1 - usual.0).abs().max(f64::MIN_POSITIVE);
    let mut changed = false;
    ui.horizontal(|ui| {
        for (name, number) in [("level", &mut level), ("window", &mut width)] {
            ui.label(name);
            let drag = DragValue::new(number).speed(span / 200.0).max_decimals(6);
            changed |= spin_button(ui, name, drag).changed();
        }
    });
    if changed {
        let half = width.abs().max(span * 1e-6) / 2.0;
        *window = Some((level - half, level + half));
    }
    if ui.button("Keep as it is now").on_hover_text("The same black and white for every slice").clicked() {
        *window = Some((low, high));
        ui.close();
    }
}
