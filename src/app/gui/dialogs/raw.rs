//! *Open as raw array*: what the elements of a file without a header are, and what that would give.

use std::path::PathBuf;

use egui::{ComboBox, TextEdit, Ui};
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::bytes::limits;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::{Content, array};
use gander::data::format::{OptionSpec, Options};
use gander::data::numbers::element_text;
use gander::data::region::{Region, Span};
use gander::formats::array::raw::{FORMAT, Layout, OPTIONS};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{head, height_left, room};
use crate::gui::commands::Action;
use crate::gui::theme::{self, Severity, Theme, size, space};

/// The types that are offered; others may be typed.
const TYPES: [&str; 15] = [
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
];
/// The width of the names at the left.
const NAMES: f32 = 108.0;
/// The width of the fields.
const FIELDS: f32 = 200.0;

/// The state of the dialog.
pub(crate) struct OpenRaw {
    /// The number of the file among the open ones.
    file: u64,
    path: PathBuf,
    name: String,
    options: Options,
    /// Whether nothing was told yet, so that the name may say something.
    guess: bool,
    len: Slot<(), u64>,
    /// The first elements as they would be read.
    values: Slot<Options, String>,
}

impl OpenRaw {
    /// For an open file and what it is opened with now.
    pub(super) fn new(file: u64, path: PathBuf, now: &Options) -> Self {
        let told = now.get("format") == Some(FORMAT.id);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let options = if told { now.clone() } else { Options::default() };
        OpenRaw { file, path, name, options, guess: !told, len: Slot::default(), values: Slot::default() }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, actions: &mut Vec<Action>) -> bool {
        room(ui, 620.0, 480.0);
        let close = head(ui, &format!("Open {} as raw array", self.name));
        let list = egui::Popup::is_any_open(ui.ctx());
        let path = self.path.clone();
        let shown =
            self.len.get(jobs, &(), JobSpec::view(""), move |task| Source::open(task, &path)?.len(task));
        let len = shown.ready().map(|len| *len);
        if let (true, Some(len)) = (self.guess, len) {
            self.guess = false;
            if let Some(layout) = Layout::begin(&self.name, len) {
                self.options = layout.options();
            }
        }
        // In a low window the lines scroll, so that the title and the button stay in it.
        let lines =
            egui::ScrollArea::vertical().max_height(height_left(ui, 170.0)).auto_shrink([false, true]);
        let result = lines.show(ui, |ui| self.lines(ui, jobs, len, shown.error)).inner;
        ui.add_space(space::S2);
        // Of a list or a button Enter is a click.
        let free = !list && ui.memory(|memory| memory.focused().is_none()) || ui.ctx().text_edit_focused();
        let enter = free && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let can = result.is_ok() && len.is_some();
        let clicked = ui.add_enabled_ui(can, |ui| theme::primary_button(ui, "Open").clicked()).inner;
        if can && (clicked || enter) {
            let mut options = self.options.clone();
            options.set("format", FORMAT.id);
            actions.push(Action::Reopen(self.file, options));
            return true;
        }
        close
    }

    /// The options, and below them what they would give, which is returned.
    fn lines(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        len: Option<u64>,
        error: Option<Error>,
    ) -> Result<String, String> {
        for spec in OPTIONS {
            self.line(ui, spec);
        }
        ui.add_space(space::S2);
        let result = match (len, error) {
            (Some(len), _) => preview(&self.options, len),
            (None, Some(error)) => Err(error.to_string()),
            (None, None) => Ok("reading the file's size".to_owned()),
        };
        let theme = Theme::of(ui);
        // As high with an error as without, so that the button stays where it is.
        let (area, _) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), 6.0 * size::ROW), egui::Sense::hover());
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(area).id_salt("preview"));
        match &result {
            Ok(words) => {
                child.label(theme::mono(words.as_str()).color(theme.text));
                if len.is_some() {
                    self.first_values(&mut child, jobs);
                }
            }
            Err(words) => {
                theme::problem_banner(&mut child, Severity::Problem, "This does not fit", &[(words, None)]);
            }
        }
        result
    }

    /// The first elements, as these options read them.
    fn first_values(&self, ui: &mut Ui, jobs: &Jobs) {
        let (path, options) = (self.path.clone(), self.options.clone());
        let shown = self.values.get(jobs, &self.options, JobSpec::view(""), move |task| {
            let source = Source::open(task, &path)?;
            first_values(task, &source, &options)
        });
        let theme = Theme::of(ui);
        let words = match (shown.so_far(), &shown.error) {
            (Some(words), _) => (*words).clone(),
            (None, Some(error)) => error.message(),
            (None, None) => "…".to_owned(),
        };
        for line in words.lines() {
            ui.add(egui::Label::new(theme::mono(line).color(theme.dim)).truncate());
        }
    }

    /// A line for one option.
    fn line(&mut self, ui: &mut Ui, spec: &OptionSpec) {
        let mut value = self.options.get(spec.name).unwrap_or(spec.default).to_owned();
        let before = value.clone();
        let choices: &[&str] = if spec.name == "dtype" { &TYPES } else { spec.values };
        ui.horizontal(|ui| {
            let theme = Theme::of(ui);
            let (place, _) = ui.allocate_exact_size(egui::vec2(NAMES, size::CONTROL), egui::Sense::hover());
            let at = egui::pos2(place.left(), place.center().y);
            ui.painter().text(at, egui::Align2::LEFT_CENTER, label(spec.name), theme::body_font(), theme.dim);
            if choices.is_empty() {
                let edit = TextEdit::singleline(&mut value).font(theme::mono_font()).desired_width(FIELDS);
                let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
                edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, label(spec.name)));
            } else {
                let combo = ComboBox::from_id_salt(spec.name).selected_text(&value).width(FIELDS);
                combo.show_ui(ui, |ui| {
                    for choice in choices {
                        ui.selectable_value(&mut value, (*choice).to_owned(), *choice);
                    }
                });
            }
            ui.add(egui::Label::new(theme::dim(theme, hint(spec))).truncate()).on_hover_text(spec.help);
        });
        if value != before {
            self.options.set(spec.name, value);
        }
    }
}

/// An option's name as words.
fn label(name: &str) -> &str {
    match name {
        "dtype" => "Type",
        "shape" => "Shape",
        "order" => "Order",
        "offset" => "Offset",
        "row-padding" => "Row padding",
        "byte-order" => "Byte order",
        other => other,
    }
}

/// A few words beside a field; all of them are in its tool tip.
fn hint(spec: &OptionSpec) -> &'static str {
    match spec.name {
        "dtype" => "of one element",
        "shape" => "slowest first: 480x640x3; ? is what is left",
        "order" => "C: the last dimension is the fastest",
        "offset" => "bytes before the first element",
        "row-padding" => "bytes behind each row",
        "byte-order" => "the lowest byte first, or the highest",
        _ => spec.help,
    }
}

/// The first rows of the array that options make of a file, a line each.
fn first_values(task: &Task, source: &Source, options: &Options) -> gander::Result<String> {
    const ROWS: u64 = 3;
    const COLUMNS: u64 = 12;
    let mut told = options.clone();
    told.set("format", FORMAT.id);
    let document = gander::formats::open_source(task, source, &told)?;
    let Some(Content::Array(array)) = &document.root.content else { return Ok(String::new()) };
    let shape = array.shape();
    let part = |(axis, len): (usize, &u64)| match shape.len() - axis {
        1 => Span::range(0, COLUMNS.min(*len)),
        2 => Span::range(0, ROWS.min(*len)),
        _ => Span::range(0, 1.min(*len)),
    };
    let region = Region(shape.iter().enumerate().map(part).collect());
    let bytes = array::read(&**array, task, &region)?;
    let size = array.dtype().size().max(1) as usize;
    let row = shape.last().map_or(1, |len| COLUMNS.min(*len)).max(1) as usize;
    let more = if shape.last().is_some_and(|len| *len > COLUMNS) { " …" } else { "" };
    let line = |row: &[u8]| {
        let texts = row.chunks_exact(size).map(|bytes| element_text(array.dtype(), bytes));
        texts.collect::<Vec<_>>().join("  ") + more
    };
    Ok(bytes.chunks(size * row).map(line).collect::<Vec<_>>().join("\n"))
}

/// What the options would give of a file of `len` bytes, or what is wrong with them.
fn preview(options: &Options, len: u64) -> Result<String, String> {
    let layout = Layout::parse(options, len).map_err(|error| error.message())?;
    let end = layout.end().map_err(|error| error.message())?;
    let sides: Vec<String> = layout.shape.iter().map(|side| display::count(*side)).collect();
    let elements = limits::elements(&layout.shape).map_err(|error| error.message())?;
    if elements == 0 {
        return Err("there is no element in it".to_owned());
    }
    if end > len {
        return Err(format!(
            "{} of {} would end at byte {}; the file has {}",
            layout.dtype,
            sides.join(" × "),
            display::count(end),
            display::plural(len, "byte"),
        ));
    }
    let rest = match layout.left_over(len).map_err(|error| error.message())? {
        0 => "all of the file".to_owned(),
        rest => format!("{} left over", display::plural(rest, "byte")),
    };
    Ok(format!("{} {}\n{} elements, {rest}", layout.dtype, sides.join(" × "), display::count(elements)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)], len: u64) -> Result<String, String> {
        let mut options = Options::default();
        pairs.iter().for_each(|(name, value)| options.set(name, *value));
        preview(&options, len)
    }

    #[test]
    fn the_first_values_are_read_as_it_is_told() {
        let source = Source::memory("a", vec![9, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
        let first = |pairs: &[(&str, &str)]| {
            let mut options = Options::default();
            pairs.iter().for_each(|(name, value)| options.set(name, *value));
            first_values(&Task::new(), &source, &options).unwrap()
        };
        assert_eq!(first(&[("dtype", "uint16"), ("shape", "2x3"), ("offset", "1")]), "1  2  3\n4  5  6");
        assert_eq!(first(&[]), "9  1  0  2  0  3  0  4  0  5  0  6 …");
    }

    #[test]
    fn the_preview_says_what_would_come() {
        let words = told(&[("dtype", "float32"), ("shape", "2x?"), ("offset", "4")], 30).unwrap();
        assert_eq!(words, "float32 2 × 3\n6 elements, 2 bytes left over");
        assert!(told(&[], 5).unwrap().contains("uint8 5"));
        let padded = told(&[("shape", "2x3"), ("row-padding", "2")], 10).unwrap();
        assert_eq!(padded, "uint8 2 × 3\n6 elements, all of the file");
        assert!(told(&[("shape", "3x3")], 5).unwrap_err().contains("the file has 5 bytes"));
        assert!(told(&[("shape", "three")], 5).unwrap_err().contains("480x640x3"));
        assert!(told(&[("offset", "9")], 5).unwrap_err().contains("no element"));
    }
}
