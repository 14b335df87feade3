//! All curves of a table: a plot for each tag on a page that scrolls, or one of them alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use egui::{Rect, ScrollArea, Slider, TextEdit, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::data::content::Table;
use gander::data::curves::plot::Across;
use gander::data::curves::{self, CurveColumns, Curves};
use gander::jobs::{JobSpec, Slot};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::legend;
use super::plot::{TagPlot, Wanted};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{drop_down, drop_form};
use crate::gui::views::ViewCx;

/// The least width of a plot on the page, and its height with its title.
const WIDTH: f32 = 340.0;
const HEIGHT: f32 = 232.0;
/// The width of the list of runs, on pages that are so wide.
const LEGEND: f32 = 184.0;
const ROOMY: f32 = 640.0;
/// Narrower bars have their options in a menu.
const NARROW: f32 = 640.0;
/// The most that smoothing can be set to.
const MOST: f64 = 0.99;
/// The most memory that a typed pattern may take.
const PATTERN: usize = 1 << 20;

/// What a session keeps, and what the toolbar sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PageState {
    across: Along,
    /// Whether heights are logarithms.
    log: bool,
    /// The weight of smoothing.
    smoothing: f64,
    /// Whether outliers are ignored where heights are scaled.
    ignore_outliers: bool,
    /// The pattern that tags are to fit.
    tags: String,
    /// Runs that are hidden.
    hidden: BTreeSet<String>,
    /// The tag that is shown alone.
    alone: Option<String>,
    /// What of x is in sight, by tag.
    sights: BTreeMap<String, (f64, f64)>,
}

/// What runs along x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Along {
    #[default]
    Step,
    Relative,
    Wall,
}

impl Default for PageState {
    fn default() -> Self {
        PageState {
            across: Along::default(),
            log: false,
            // As in TensorBoard.
            smoothing: 0.6,
            ignore_outliers: true,
            tags: String::new(),
            hidden: BTreeSet::new(),
            alone: None,
            sights: BTreeMap::new(),
        }
    }
}

/// The page.
pub(super) struct Page {
    table: Arc<dyn Table>,
    columns: CurveColumns,
    state: PageState,
    curves: Slot<(), Curves>,
    plots: HashMap<String, TagPlot>,
    /// The pattern as it was typed, and what it became.
    pattern: Option<(String, Result<Regex, String>)>,
    /// Which tags fit, of which curves and pattern.
    fitting: Option<(usize, String, Vec<usize>)>,
    focus_find: bool,
    /// Whether values have times, once that is known.
    timed: bool,
    frame: u64,
}

impl Page {
    pub(super) fn new(table: Arc<dyn Table>, columns: CurveColumns) -> Self {
        Page {
            table,
            columns,
            state: PageState::default(),
            curves: Slot::default(),
            plots: HashMap::new(),
            pattern: None,
            fitting: None,
            focus_find: false,
            timed: true,
            frame: 0,
        }
    }

    /// Everything along x in sight.
    pub(super) fn fit(&mut self) {
        self.state.sights.clear();
    }

    /// Puts the cursor into the field for tags.
    pub(super) fn find(&mut self) {
        self.focus_find = true;
    }

    pub(super) fn state(&self) -> PageState {
        self.state.clone()
    }

    pub(super) fn restore(&mut self, mut state: PageState) {
        let is_sound = |(left, right): &(f64, f64)| left < right && (right - left).is_finite();
        state.sights.retain(|_, sight| is_sound(sight));
        state.smoothing = if state.smoothing.is_finite() { state.smoothing.clamp(0.0, MOST) } else { 0.0 };
        self.state = state;
    }

    pub(super) fn toolbar(&mut self, ui: &mut Ui) {
        ui.spacing_mut().item_spacing.x = space::S2;
        if self.state.alone.is_some() && theme::button(ui, "All tags").clicked() {
            self.state.alone = None;
        }
        if ui.available_width() < NARROW {
            drop_form(ui, "Options", "Axes, smoothing and tags", |ui| {
                ui.set_min_width(260.0);
                self.options(ui);
                self.filter(ui);
            });
        } else {
            self.options(ui);
            self.filter(ui);
        }
    }

    fn options(&mut self, ui: &mut Ui) {
        let across = [(Along::Step, "Step"), (Along::Relative, "Relative time"), (Along::Wall, "Wall time")];
        let words =
            across.iter().find(|(along, _)| *along == self.state.across).map_or("", |(_, words)| words);
        if self.timed {
            drop_down(ui, words, "Along x", |ui| {
                for (along, words) in across {
                    if ui.selectable_label(along == self.state.across, words).clicked() {
                        self.state.across = along;
                        // Places on another axis are others.
                        self.state.sights.clear();
                        ui.close();
                    }
                }
            });
        }
        ui.horizontal(|ui| {
            ui.spacing_mut().slider_width = 84.0;
            ui.label(theme::dim(Theme::of(ui), "Smoothing"));
            let slider = Slider::new(&mut self.state.smoothing, 0.0..=MOST).fixed_decimals(2).step_by(0.01);
            ui.add(slider)
                .on_hover_text("Exponential moving average without bias at its beginning, as in TensorBoard");
        });
        ui.checkbox(&mut self.state.log, "log y").on_hover_text("Heights by their logarithm");
        ui.checkbox(&mut self.state.ignore_outliers, "ignore outliers")
            .on_hover_text("Scale heights without the lowest and the highest 5 % of the values");
    }

    fn filter(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let wrong = self.pattern.as_ref().and_then(|(_, made)| made.as_ref().err().cloned());
        let edit = TextEdit::singleline(&mut self.state.tags)
            .hint_text("tags: loss|acc")
            .font(theme::mono_font())
            .desired_width(120.0)
            .margin(vec2(6.0, 4.0))
            .text_color(if wrong.is_some() { theme.bad } else { theme.text });
        let response = ui.add(edit);
        let typed = self.state.tags.clone();
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::text_edit(true, &typed, &typed, "");
            info.label = Some("Tags that fit this regular expression".to_owned());
            info
        });
        if std::mem::take(&mut self.focus_find) {
            response.request_focus();
        }
        response
            .on_hover_text(wrong.unwrap_or_else(|| "A regular expression that tags are to fit".to_owned()));
    }

    /// What a plot looks like now.
    fn wanted(&self, curves: &Arc<Curves>) -> Wanted {
        let hidden = |run: &usize| curves.runs.get(*run).is_some_and(|run| self.state.hidden.contains(run));
        Wanted {
            curves: curves.clone(),
            across: match self.state.across {
                Along::Relative if self.timed => Across::Relative,
                Along::Wall if self.timed => Across::Wall,
                _ => Across::Step,
            },
            log: self.state.log,
            weight: self.state.smoothing,
            ignore_outliers: self.state.ignore_outliers,
            hidden: (0..curves.runs.len()).filter(hidden).collect(),
        }
    }

    /// The tags that fit the pattern; all where it is none.
    fn fitting(&mut self, curves: &Arc<Curves>) -> Vec<usize> {
        if self.pattern.as_ref().is_none_or(|(typed, _)| *typed != self.state.tags) {
            let made = RegexBuilder::new(&self.state.tags).case_insensitive(true).size_limit(PATTERN).build();
            let made = made.map_err(|error| format!("This is no regular expression: {error}"));
            self.pattern = Some((self.state.tags.clone(), made));
        }
        let made = Arc::as_ptr(curves) as usize;
        let is_known = |known: &&(usize, String, Vec<usize>)| (known.0, &known.1) == (made, &self.state.tags);
        if let Some(known) = self.fitting.as_ref().filter(is_known) {
            return known.2.clone();
        }
        let pattern = self.pattern.as_ref().and_then(|(_, made)| made.as_ref().ok());
        let fits = |name: &str| pattern.is_none_or(|pattern| pattern.is_match(name));
        let tags = curves.tags.iter().enumerate().filter(|(_, tag)| fits(&tag.name)).map(|(n, _)| n);
        let tags: Vec<usize> = tags.collect();
        self.fitting = Some((made, self.state.tags.clone(), tags.clone()));
        tags
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (table, columns, title) =
            (self.table.clone(), self.columns.clone(), format!("reading curves of {}", cx.title()));
        let shown = self.curves.ask(
            cx.jobs,
            &(),
            || JobSpec::scan(title),
            move |task, partial| curves::read(task, &*table, &columns, &mut |some| partial.show(some)),
        );
        let (progress, error) = (shown.progress(), shown.error.clone());
        let Some(curves) = shown.so_far() else {
            match error {
                Some(error) if error.is_cancelled() => {
                    if theme::cancelled(ui, "") {
                        self.curves.clear();
                    }
                }
                Some(error) => {
                    let words = error.to_string();
                    theme::empty_state(ui, Icon::Problem, "The curves could not be read", &words);
                }
                None => theme::pending(ui, ui.unique_id().with("curves"), "Reading the curves…"),
            }
            return;
        };
        self.timed = curves.timed;
        let tags = self.fitting(&curves);
        self.say(cx, &curves, &tags, progress);
        let area = ui.available_rect_before_wrap();
        let area = self.head(ui, area, &curves, error.as_ref());
        if curves.tags.is_empty() {
            let mut child = ui.new_child(UiBuilder::new().max_rect(area));
            theme::empty_state(
                &mut child,
                Icon::LineChart,
                "There are no values",
                "Nothing was logged here.",
            );
            return;
        }
        let area = self.legend(ui, area, &curves);
        let mut child = ui.new_child(UiBuilder::new().max_rect(area).id_salt("plots"));
        child.shrink_clip_rect(area);
        self.frame += 1;
        self.plots_ui(&mut child, cx, &curves, &tags);
        let frame = self.frame;
        self.plots.retain(|_, plot| plot.seen + 1 >= frame);
    }

    /// What the status bar says of all.
    fn say(&self, cx: &mut ViewCx<'_>, curves: &Curves, tags: &[usize], progress: Option<f32>) {
        let all = display::plural(curves.tags.len() as u64, "tag");
        let tags = match tags.len() == curves.tags.len() {
            true => all,
            false => format!("{} of {all}", tags.len()),
        };
        let rows = display::plural(curves.rows, "value");
        let reading =
            if curves.whole { String::new() } else { format!(" · reading{}", theme::percent(progress)) };
        let runs = match curves.runs.len() {
            0 | 1 => String::new(),
            many => format!(" · {}", display::plural(many as u64, "run")),
        };
        cx.status.facts = format!("{tags}{runs} · {rows}{reading}");
    }

    /// What should be known of the curves as a whole, in a line.
    fn head(&mut self, ui: &mut Ui, area: Rect, curves: &Curves, error: Option<&Error>) -> Rect {
        let theme = Theme::of(ui);
        let mut words = Vec::new();
        if curves.left_out > 0 {
            words.push(format!(
                "{} of more tags and runs than are kept are left out",
                display::plural(curves.left_out, "value")
            ));
        }
        match error {
            Some(error) if error.is_cancelled() => {
                words.push("reading was cancelled; this is a part".to_owned())
            }
            Some(error) => words.push(format!("the rest could not be read: {error}")),
            None => {}
        }
        if words.is_empty() {
            return area;
        }
        let at = pos2(area.left() + space::S3, area.top() + space::S2);
        let color = if error.is_some() { theme.bad } else { theme.warn };
        let room = area.width() - 2.0 * space::S3;
        crate::gui::ui::paint_elided(
            ui.painter(),
            at,
            egui::Align2::LEFT_TOP,
            &words.join(" · "),
            theme::small_font(),
            color,
            room,
        );
        Rect::from_min_max(area.min + vec2(0.0, 22.0), area.max)
    }

    /// Draws the runs at the left where there are several.
    fn legend(&mut self, ui: &mut Ui, area: Rect, curves: &Curves) -> Rect {
        if curves.runs.len() < 2 {
            return area;
        }
        let theme = Theme::of(ui);
        let wide = if area.width() >= ROOMY { LEGEND } else { (area.width() * 0.28).min(LEGEND) };
        let place = Rect::from_min_max(area.min, pos2(area.left() + wide, area.bottom()));
        ui.painter().vline(place.right(), place.y_range(), theme.hairline());
        let inner = place.shrink2(vec2(space::S2, space::S2));
        let mut child = ui.new_child(UiBuilder::new().max_rect(inner).id_salt("legend"));
        child.shrink_clip_rect(inner);
        legend::ui(&mut child, &curves.runs, &mut self.state.hidden);
        Rect::from_min_max(pos2(place.right() + 1.0, area.top()), area.max)
    }

    fn plots_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, curves: &Arc<Curves>, tags: &[usize]) {
        let wanted = self.wanted(curves);
        let alone = self.state.alone.clone();
        let alone = alone.and_then(|name| tags.iter().copied().find(|n| named(curves, *n) == name));
        let one = alone.or(if let [one] = tags { Some(*one) } else { None });
        let area = ui.available_rect_before_wrap();
        if let Some(tag) = one {
            self.plot(ui, cx, area, &wanted, tag, true);
            return;
        }
        if tags.is_empty() {
            theme::empty_state(ui, Icon::LineChart, "No tag fits", "Another expression may.");
            return;
        }
        let across = ((area.width() / WIDTH) as usize).clamp(1, 6).min(tags.len());
        let lines = tags.len().div_ceil(across);
        ui.spacing_mut().item_spacing.y = 0.0;
        ScrollArea::vertical().id_salt("page").auto_shrink(false).show_rows(ui, HEIGHT, lines, |ui, rows| {
            for row in rows {
                let (line, _) =
                    ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), egui::Sense::hover());
                let wide = line.width() / across as f32;
                for (n, tag) in tags.iter().skip(row * across).take(across).enumerate() {
                    let left = line.left() + wide * n as f32;
                    let place = Rect::from_min_size(pos2(left, line.top()), vec2(wide, HEIGHT));
                    self.plot(ui, cx, place, &wanted, *tag, false);
                }
            }
        });
    }

    /// Draws the plot of one tag into a place.
    fn plot(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        place: Rect,
        wanted: &Wanted,
        tag: usize,
        large: bool,
    ) {
        let name = named(&wanted.curves, tag);
        let inner = place.shrink2(vec2(space::S3, space::S1));
        let builder = UiBuilder::new().max_rect(inner).id_salt(("plot", &name));
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(inner);
        let plot = self.plots.entry(name.clone()).or_default();
        plot.seen = self.frame;
        let mut sight = self.state.sights.get(&name).copied();
        let asked = plot.ui(&mut child, cx, wanted, tag, &mut sight, large);
        match sight {
            Some(sight) => self.state.sights.insert(name.clone(), sight),
            None => self.state.sights.remove(&name),
        };
        if asked {
            self.state.alone = if self.state.alone.is_some() { None } else { Some(name) };
        }
        if !large {
            let right = place.right_bottom() - vec2(0.0, size::CORNER as f32);
            ui.painter().hline(place.left() + space::S2..=right.x, place.bottom(), Theme::of(ui).hairline());
        }
    }
}

fn named(curves: &Curves, tag: usize) -> String {
    curves.tags.get(tag).map_or(String::new(), |tag| tag.name.clone())
}
