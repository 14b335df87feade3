//! The small form in which a condition is made: which column, what is asked of it, with which value.

use std::sync::Arc;

use arrow::datatypes::{DataType, Fields};
use egui::{ComboBox, Key, Popup, PopupCloseBehavior, Rect, ScrollArea, TextEdit, Ui};
use gander::data::content::Table;
use gander::data::infer;
use gander::jobs::Jobs;
use gander::query::{Condition, Test};

use super::super::column_search::{ColumnSearch, MatchingColumns};
use super::super::column_summaries::Frequent;
use super::list::{self, Values};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::rows;

/// The most that an opened list takes, in points; longer ones scroll.
const LIST: f32 = 360.0;

/// What can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ask {
    #[default]
    Equals,
    Differs,
    AtLeast,
    AtMost,
    Between,
    Contains,
    Starts,
    Ends,
    Matches,
    In,
    Null,
    NotNull,
    Nan,
    Number,
    Length,
    Has,
}

impl Ask {
    fn words(self) -> &'static str {
        match self {
            Ask::Equals => "is",
            Ask::Differs => "is not",
            Ask::AtLeast => "at least",
            Ask::AtMost => "at most",
            Ask::Between => "between",
            Ask::Contains => "contains",
            Ask::Starts => "starts with",
            Ask::Ends => "ends with",
            Ask::Matches => "matches (regex)",
            Ask::In => "is one of",
            Ask::Null => "is null",
            Ask::NotNull => "is not null",
            Ask::Nan => "is NaN",
            Ask::Number => "is a number",
            Ask::Length => "has elements",
            Ask::Has => "has the element",
        }
    }

    /// How many values it needs.
    fn values(self) -> usize {
        match self {
            Ask::Null | Ask::NotNull | Ask::Nan | Ask::Number => 0,
            Ask::Between | Ask::Length => 2,
            _ => 1,
        }
    }

    /// What can be asked of values of a type.
    fn of(data_type: &DataType) -> Vec<Ask> {
        let nothing = [Ask::Null, Ask::NotNull];
        let mut all = match data_type {
            DataType::Dictionary(_, inner) => return Ask::of(inner),
            DataType::RunEndEncoded(_, inner) => return Ask::of(inner.data_type()),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => vec![
                Ask::Contains,
                Ask::Equals,
                Ask::Differs,
                Ask::Starts,
                Ask::Ends,
                Ask::Matches,
                Ask::In,
                Ask::Between,
            ],
            DataType::Boolean => vec![Ask::Equals],
            DataType::Float16 | DataType::Float32 | DataType::Float64 => vec![
                Ask::AtLeast,
                Ask::AtMost,
                Ask::Between,
                Ask::Equals,
                Ask::Differs,
                Ask::In,
                Ask::Nan,
                Ask::Number,
            ],
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => vec![Ask::Length, Ask::Has],
            DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) | DataType::Null => Vec::new(),
            _ => vec![Ask::AtLeast, Ask::AtMost, Ask::Between, Ask::Equals, Ask::Differs, Ask::In],
        };
        all.extend(nothing);
        all
    }
}

/// A condition while it is made.
#[derive(Default)]
pub(super) struct Draft {
    /// The chip that is edited; none for a new one.
    at: Option<usize>,
    column: Option<usize>,
    /// Names of fields from the column's structs inwards.
    fields: Vec<String>,
    find: String,
    ask: Ask,
    first: String,
    second: String,
    /// The popup is to be opened.
    open: bool,
    /// What is asked first is what one usually asks of such a column.
    is_fresh: bool,
    focus: bool,
    /// A condition from a chip, whose column is to be found.
    from: Option<Condition>,
    values: Values,
    /// Where the form stands, where it was not asked for by its button.
    anchor: Option<Rect>,
    named: ColumnSearch,
}

/// The height of a row of a list.
fn row_height(ui: &Ui) -> f32 {
    let text = ui.text_style_height(&egui::TextStyle::Button) + 2.0 * ui.spacing().button_padding.y;
    text.max(ui.spacing().interact_size.y)
}

/// A row of a list from which one is chosen; whether it was clicked.
fn choice(ui: &mut Ui, chosen: bool, words: &str) -> bool {
    let button = egui::Button::selectable(chosen, words).truncate();
    ui.add(button.min_size(egui::vec2(0.0, row_height(ui)))).clicked()
}

/// The type at a field inside a type, and the fields that can be chosen at each level, where the last one may stay as a
/// whole.
fn inside(data_type: &DataType, fields: &[String]) -> (DataType, Vec<Fields>) {
    let (mut data_type, mut levels) = (data_type.clone(), Vec::new());
    while let DataType::Struct(all) = &data_type {
        levels.push(all.clone());
        let chosen = fields.get(levels.len() - 1).and_then(|name| all.iter().find(|f| f.name() == name));
        let Some(chosen) = chosen else { break };
        data_type = chosen.data_type().clone();
    }
    (data_type, levels)
}

impl Draft {
    /// Opens the form for a new condition on a column, at a place.
    pub(super) fn begin(&mut self, column: usize, anchor: Rect) {
        *self = Draft {
            column: Some(column),
            open: true,
            is_fresh: true,
            focus: true,
            anchor: Some(anchor),
            ..Draft::default()
        };
    }

    /// Opens the form on an existing condition, at its chip.
    pub(super) fn edit(&mut self, at: usize, condition: &Condition, chip: Rect) {
        *self = Draft {
            at: Some(at),
            open: true,
            focus: true,
            anchor: Some(chip),
            fields: condition.fields.clone(),
            from: Some(condition.clone()),
            ..Draft::default()
        };
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let count = |value: &Option<u64>| value.map_or(String::new(), |n| n.to_string());
        (self.ask, self.first, self.second) = match &condition.test {
            Test::Equals(v) => (Ask::Equals, v.clone(), String::new()),
            Test::Differs(v) => (Ask::Differs, v.clone(), String::new()),
            Test::In(values) => (Ask::In, list::write(values), String::new()),
            Test::Contains { text, .. } => (Ask::Contains, text.clone(), String::new()),
            Test::Starts(v) => (Ask::Starts, v.clone(), String::new()),
            Test::Ends(v) => (Ask::Ends, v.clone(), String::new()),
            Test::Matches(v) => (Ask::Matches, v.clone(), String::new()),
            Test::Between { low, high: None, .. } => (Ask::AtLeast, text(low), String::new()),
            Test::Between { low: None, high, .. } => (Ask::AtMost, text(high), String::new()),
            Test::Between { low, high, .. } => (Ask::Between, text(low), text(high)),
            Test::Null => (Ask::Null, String::new(), String::new()),
            Test::NotNull => (Ask::NotNull, String::new(), String::new()),
            Test::Nan => (Ask::Nan, String::new(), String::new()),
            Test::NotNan => (Ask::Number, String::new(), String::new()),
            Test::Length(low, high) => (Ask::Length, count(low), count(high)),
            Test::Has(v) => (Ask::Has, v.clone(), String::new()),
        };
    }

    /// Draws the button and, when it is open, the form. A condition that is ready, and the chip that it
    /// replaces.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
    ) -> Option<(Option<usize>, Condition)> {
        if let Some(from) = self.from.take() {
            self.column =
                gander::query::column_names(table.schema()).iter().position(|name| *name == from.column);
        }
        let words = "Add filter";
        let label =
            egui::Button::new(theme::icon_text(Icon::Filter, words)).min_size(egui::vec2(0.0, size::CONTROL));
        let button = ui.add(label);
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, words));
        if button.clicked() {
            *self = Draft { focus: true, column: self.column, ..Draft::default() };
        }
        if std::mem::take(&mut self.open) {
            theme::open_form(&button);
        }
        let mut made = None;
        // No menu: its lists and fields have frames.
        let popup = Popup::from_response(&button).width(330.0);
        let popup = match self.anchor {
            Some(anchor) => popup.anchor(anchor),
            None => popup,
        };
        theme::form(popup, &button, |ui| made = self.form(ui, jobs, table));
        made
    }

    fn form(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
    ) -> Option<(Option<usize>, Condition)> {
        let chosen = self.column_ui(ui, jobs, table)?;
        let data_type = self.field_ui(ui, table, chosen)?;
        let asks = Ask::of(&data_type);
        if std::mem::take(&mut self.is_fresh) {
            let usual =
                if data_type.is_numeric() || data_type.is_temporal() { Ask::Between } else { Ask::Contains };
            self.ask = usual;
        }
        if !asks.contains(&self.ask) {
            self.ask = asks.first().copied().unwrap_or(Ask::NotNull);
        }
        let mut done = false;
        ui.add_space(space::S1);
        ui.horizontal(|ui| {
            let combo = ComboBox::from_id_salt("filter test")
                .selected_text(self.ask.words())
                .width(120.0)
                .height(LIST);
            let response = combo.show_ui(ui, |ui| {
                for ask in asks {
                    ui.selectable_value(&mut self.ask, ask, ask.words());
                }
            });
            response.response.on_hover_text("Test");
            let known = self.known(jobs, table, chosen);
            done |= self.values(ui, &data_type, known.and_then(|known| known.ends.clone()));
        });
        if self.fields.is_empty() {
            self.check_list(ui, jobs, (table, chosen), &data_type);
        }
        ui.add_space(space::S2);
        ui.horizontal(|ui| {
            let words = if self.at.is_some() { "Change" } else { "Add" };
            done |= theme::primary_button(ui, words).clicked();
            if theme::button(ui, "Cancel").clicked() {
                ui.close();
            }
        });
        let test = done.then(|| self.test(&data_type)).flatten()?;
        ui.close();
        // Columns of one name are told apart as the queries do it.
        let column = gander::query::column_names(table.schema()).get(chosen).cloned()?;
        let fields = self.fields.clone();
        Some((self.at.take(), Condition { column, fields, test }))
    }

    /// What is known of the values that are asked.
    fn known(&self, jobs: &Jobs, table: &Arc<dyn Table>, column: usize) -> Option<Arc<Frequent>> {
        if self.fields.is_empty() { self.values.get(jobs, (table, column)) } else { None }
    }

    /// The values of the column to be ticked, whatever is asked so far: a tick asks for a list of values.
    fn check_list(&mut self, ui: &mut Ui, jobs: &Jobs, of: (&Arc<dyn Table>, usize), data_type: &DataType) {
        self.values.say_cancelled(ui, jobs, of);
        let Some(known) = self.values.get(jobs, of) else { return };
        if known.values.is_empty() || !Ask::of(data_type).contains(&Ask::In) {
            return;
        }
        let is_list = self.ask == Ask::In && !self.first.trim().is_empty();
        let mut items = if is_list { list::read(&self.first) } else { Vec::new() };
        if list::check_list(ui, &known, &mut items) {
            (self.ask, self.first) = (Ask::In, list::write(&items));
        }
    }

    /// The choice of the column.
    fn column_ui(&mut self, ui: &mut Ui, jobs: &Jobs, table: &Arc<dyn Table>) -> Option<usize> {
        let theme = Theme::of(ui);
        let fields = table.schema().fields().clone();
        let at = self.column.filter(|at| *at < fields.len()).unwrap_or(0);
        let field = fields.get(at)?;
        let mut chosen = at;
        ui.horizontal(|ui| {
            let combo = ComboBox::from_id_salt("filter column").selected_text(field.name()).width(190.0);
            // The field in the list is clicked too.
            let combo = combo.height(LIST).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
            let response = combo.show_ui(ui, |ui| {
                let field = ui.add(TextEdit::singleline(&mut self.find).hint_text("Find a column"));
                field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find a column"));
                let fits = self.named.get(jobs, table.schema(), &self.find);
                ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
                    let count = fits.as_ref().map_or(0, MatchingColumns::len);
                    let height = row_height(ui);
                    rows::ui(ui, count, height, |ui, row| {
                        let index = fits.as_ref().and_then(|fits| fits.get(row));
                        let Some((index, field)) = index.and_then(|n| Some((n, fields.get(n)?))) else {
                            return;
                        };
                        if choice(ui, index == chosen, field.name()) {
                            chosen = index;
                            ui.close();
                        }
                    });
                });
            });
            response.response.on_hover_text("Column");
            ui.label(theme::dim(theme, gander::bytes::display::short_arrow_type(table.column_type(at), 60)));
        });
        if chosen != at {
            self.fields.clear();
        }
        if chosen != at || self.column.is_none() {
            self.column = Some(chosen);
            self.focus = true;
        }
        Some(chosen)
    }

    /// The choice of a field inside a struct; the type of what is asked.
    fn field_ui(&mut self, ui: &mut Ui, table: &Arc<dyn Table>, column: usize) -> Option<DataType> {
        let data_type =
            infer::inferred(table.as_ref(), column).unwrap_or_else(|| table.column_type(column).clone());
        let (_, levels) = inside(&data_type, &self.fields);
        for (level, all) in levels.iter().enumerate() {
            let is_there = |name: &&String| all.iter().any(|field| field.name() == *name);
            let before = self.fields.get(level).filter(is_there).cloned();
            let mut name = before.clone();
            let shown = name.clone().unwrap_or_else(|| "as a whole".to_owned());
            let combo = ComboBox::from_id_salt(("filter field", level))
                .selected_text(shown)
                .width(190.0)
                .height(LIST);
            let response = combo.show_ui(ui, |ui| {
                ui.selectable_value(&mut name, None, "as a whole");
                let height = row_height(ui);
                rows::ui(ui, all.len(), height, |ui, row| {
                    let Some(field) = all.get(row) else { return };
                    let is_it = name.as_deref() == Some(field.name());
                    if choice(ui, is_it, field.name()) {
                        name = Some(field.name().clone());
                        ui.close();
                    }
                });
            });
            response.response.on_hover_text("Field");
            if name != before {
                self.fields.truncate(level);
                self.fields.extend(name);
                self.focus = true;
            }
        }
        let (data_type, levels) = inside(&data_type, &self.fields);
        // What is not there (any more) is not asked.
        self.fields.truncate(levels.len() - usize::from(matches!(data_type, DataType::Struct(_))));
        Some(data_type)
    }

    /// The fields for values; whether Enter was pressed in one.
    fn values(&mut self, ui: &mut Ui, data_type: &DataType, ends: Option<(String, String)>) -> bool {
        let ends = ends.filter(|_| data_type.is_numeric());
        let of_end = |end: fn(&(String, String)) -> &String| {
            ends.as_ref().map(end).filter(|end| end.len() <= 12).cloned()
        };
        let (low, high) = (of_end(|ends| &ends.0), of_end(|ends| &ends.1));
        let hint = match (self.ask, data_type) {
            (Ask::In, _) => "a, \"b, c\", null",
            (Ask::Length, _) => "from",
            // What is there tells what can be asked.
            (Ask::Between | Ask::AtLeast, _) if low.is_some() => low.as_deref().unwrap_or_default(),
            (Ask::AtMost, _) if high.is_some() => high.as_deref().unwrap_or_default(),
            (_, DataType::Boolean) => "true",
            (_, DataType::Date32 | DataType::Date64) => "2024-01-31",
            (_, DataType::Timestamp(..)) => "2024-01-31T12:00",
            (_, DataType::Time32(_) | DataType::Time64(_)) => "12:00:00",
            _ => "value",
        };
        let mut entered = false;
        for n in 0..self.ask.values() {
            let to = high.as_deref().filter(|_| self.ask == Ask::Between).unwrap_or("to");
            let (text, hint) = if n == 0 { (&mut self.first, hint) } else { (&mut self.second, to) };
            let width = if self.ask.values() == 2 { 80.0 } else { 168.0 };
            let field = TextEdit::singleline(text).hint_text(hint).desired_width(width);
            let field = ui.add(field.margin(egui::Margin::symmetric(8, 5)));
            field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter value"));
            if n == 0 && std::mem::take(&mut self.focus) {
                field.request_focus();
            }
            entered |= field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        }
        entered
    }

    /// The test that was made, if its values are there.
    fn test(&self, data_type: &DataType) -> Option<Test> {
        let text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        // Blanks mean something in texts only.
        let trimmed = |value: &str| if text { value.to_owned() } else { value.trim().to_owned() };
        let (first, second) = (trimmed(&self.first), trimmed(&self.second));
        let some = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let count = |value: &str| value.trim().parse::<u64>().ok();
        Some(match self.ask {
            Ask::Null => Test::Null,
            Ask::NotNull => Test::NotNull,
            Ask::Nan => Test::Nan,
            Ask::Number => Test::NotNan,
            Ask::Length => {
                let (low, high) = (count(&first), count(&second));
                low.or(high)?;
                Test::Length(low, high)
            }
            Ask::Equals if text => Test::Equals(first),
            Ask::Differs if text => Test::Differs(first),
            Ask::Between => {
                some(&first).or_else(|| some(&second))?;
                Test::Between { low: some(&first), high: some(&second), closed: true }
            }
            _ if first.is_empty() => return None,
            Ask::Equals => Test::Equals(first),
            Ask::Differs => Test::Differs(first),
            Ask::AtLeast => Test::Between { low: Some(first), high: None, closed: true },
            Ask::AtMost => Test::Between { low: None, high: Some(first), closed: true },
            Ask::Contains => Test::Contains { text: first, fold: true },
            Ask::Starts => Test::Starts(first),
            Ask::Ends => Test::Ends(first),
            Ask::Matches => Test::Matches(first),
            Ask::Has => Test::Has(first),
            Ask::In => Test::In(list::read(&first)),
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn fields_of_structs_are_asked_by_their_own_type() {
        let city = DataType::Struct(vec![Field::new("name", DataType::Utf8, true)].into());
        let fields = vec![Field::new("city", city.clone(), true), Field::new("n", DataType::Int64, true)];
        let whole = DataType::Struct(fields.into());
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let (data_type, levels) = inside(&whole, &names);
            (data_type, levels.len())
        };
        assert_eq!(of(&[]), (whole.clone(), 1));
        assert_eq!(of(&["n"]), (DataType::Int64, 1));
        assert_eq!(of(&["city"]), (city, 2));
        assert_eq!(of(&["city", "name"]), (DataType::Utf8, 2));
        assert_eq!(of(&["gone", "name"]), (whole.clone(), 1));
        let condition = Condition {
            fields: vec!["city".into(), "name".into()],
            ..Condition::new("c", Test::Starts("P".into()))
        };
        let mut draft = Draft::default();
        draft.edit(0, &condition, Rect::NOTHING);
        assert_eq!((draft.fields.clone(), condition.place()), (condition.fields, "c.city.name".to_owned()));
    }

    #[test]
    fn a_chip_opens_as_what_it_is() {
        let tests = [
            Test::Equals("a".into()),
            Test::Differs("a".into()),
            Test::In(vec![Some("a".into()), None]),
            Test::In(vec![Some("Paris, Texas".into()), Some("null".into())]),
            Test::Contains { text: "a b".into(), fold: true },
            Test::Starts("a".into()),
            Test::Ends("a".into()),
            Test::Matches("a+".into()),
            Test::Between { low: Some("a".into()), high: Some("b".into()), closed: true },
            Test::Null,
            Test::NotNull,
        ];
        for test in tests {
            let mut draft = Draft::default();
            draft.edit(3, &Condition::new("c", test.clone()), Rect::NOTHING);
            assert_eq!(draft.test(&DataType::Utf8), Some(test));
        }
        let numbers = [
            Test::Between { low: Some("1".into()), high: None, closed: true },
            Test::Between { low: None, high: Some("2".into()), closed: true },
            Test::Nan,
            Test::NotNan,
        ];
        for test in numbers {
            let mut draft = Draft::default();
            draft.edit(0, &Condition::new("c", test.clone()), Rect::NOTHING);
            assert_eq!(draft.test(&DataType::Float64), Some(test));
        }
        let empty = Draft { ask: Ask::AtLeast, first: " ".to_owned(), ..Draft::default() };
        assert_eq!(empty.test(&DataType::Int64), None);
    }
}
