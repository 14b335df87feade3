//! The names that may complete a word of a statement.

use std::ops::Range;

use gander::query::{Engine, Registered, quoted};

use super::code::{self, Piece};

/// Names that are offered at once.
const OFFERED: usize = 12;
/// Words before which a table is named.
const BEFORE_TABLES: [&str; 4] = ["FROM", "JOIN", "DESCRIBE", "INTO"];

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Column,
    Table,
    Function,
    Keyword,
}

/// A name that is offered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// What is written.
    pub(super) text: String,
    /// What stands beside it: the type of a column, the table that it is of.
    pub(super) note: String,
    pub(super) what: What,
}

/// The letters before the cursor that a name may complete.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// The byte where they begin.
    pub(super) start: usize,
    pub(super) text: String,
    /// The table's name before a dot.
    pub(super) of: Option<String>,
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The word before a place (in bytes); it may be empty behind a dot. None within texts and comments.
pub(super) fn word_before(text: &str, at: usize) -> Option<Word> {
    let before = text.get(..at)?;
    let within = code::pieces(text).into_iter().find(|(range, _)| range.start < at && at <= range.end);
    if within.is_some_and(|(range, piece)| {
        let inside = at < range.end || !text[range].ends_with('\'');
        piece == Piece::Comment || piece == Piece::Text && inside
    }) {
        return None;
    }
    let start = before
        .rfind(|c: char| !is_letter(c))
        .map_or(0, |p| p + before[p..].chars().next().map_or(0, char::len_utf8));
    let word = before.get(start..)?;
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let of = before.get(..start)?.strip_suffix('.').and_then(|rest| match rest.strip_suffix('"') {
        Some(inner) => inner.rfind('"').map(|open| inner[open + 1..].to_owned()),
        None => {
            let from = rest
                .rfind(|c: char| !is_letter(c))
                .map_or(0, |p| p + rest[p..].chars().next().map_or(0, char::len_utf8));
            rest.get(from..).map(str::to_owned)
        }
    });
    let of = of.filter(|of| !of.is_empty());
    (!word.is_empty() || of.is_some()).then(|| Word { start, text: word.to_owned(), of })
}

/// The tables that a statement names, each with the word by which it calls it.
fn named<'a>(statement: &str, known: &'a [Registered]) -> Vec<(String, &'a Registered)> {
    let plain = |text: &str| text.trim_matches('"').to_owned();
    let words: Vec<(&str, Piece)> = code::pieces(statement)
        .into_iter()
        .map(|(range, piece)| (&statement[range], piece))
        .filter(|(text, piece)| !text.trim().is_empty() && *piece != Piece::Comment)
        .collect();
    let mut out: Vec<(String, &Registered)> = Vec::new();
    for (n, (text, piece)) in words.iter().enumerate() {
        let name = plain(text);
        let Some(table) = known.iter().find(|table| same(&table.name, &name)) else { continue };
        if *piece == Piece::Keyword || *piece == Piece::Text {
            continue;
        }
        let next = words.get(n + 1).filter(|(text, _)| text.eq_ignore_ascii_case("AS"));
        let alias = words.get(n + if next.is_some() { 2 } else { 1 });
        let alias = alias
            .filter(|(text, piece)| *piece == Piece::Other && text.starts_with(|c| is_letter(c) || c == '"'));
        if let Some((alias, _)) = alias {
            out.push((plain(alias), table));
        }
        out.push((name, table));
    }
    out
}

/// Whether a table is meant by a name: letters' case and what no plain word can hold do not count.
fn same(table: &str, name: &str) -> bool {
    let plain = |c: char| if is_letter(c) { c.to_ascii_lowercase() } else { '_' };
    table.chars().map(plain).eq(name.chars().map(plain))
}

/// A name as a statement writes it: in quotes where it is no plain word.
fn written(name: &str) -> String {
    let plain = name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain && !code::is_keyword(name) { name.to_owned() } else { quoted(name) }
}

/// What may stand at a word of `text`, the best first.
pub(super) fn choices(text: &str, statement: Range<usize>, word: &Word, known: &[Registered]) -> Vec<Choice> {
    let own = text.get(statement.clone()).unwrap_or(text);
    let named = named(own, known);
    let wanted = word.text.to_lowercase();
    let mut found = Found { wanted: &wanted, out: Vec::new() };
    if let Some(of) = &word.of {
        let table = named.iter().find(|(name, _)| same(name, of)).map(|(_, table)| *table);
        let table = table.or_else(|| known.iter().find(|table| same(&table.name, of)));
        found.columns(table.into_iter(), false);
        return found.out;
    }
    let before = text.get(statement.start..word.start).unwrap_or_default();
    let mut pieces = code::pieces(before).into_iter().rev();
    let last =
        pieces.find(|(range, piece)| *piece != Piece::Comment && !before[range.clone()].trim().is_empty());
    let last = last.map_or("", |(range, _)| &before[range]);
    if BEFORE_TABLES.iter().any(|keyword| last.eq_ignore_ascii_case(keyword)) {
        found.tables(known);
        return found.out;
    }
    let mut mentioned: Vec<&Registered> = Vec::new();
    for (_, table) in &named {
        if !mentioned.iter().any(|other| std::ptr::eq(*other, *table)) {
            mentioned.push(table);
        }
    }
    let all = mentioned.is_empty();
    let several = if all { known.len() > 1 } else { mentioned.len() > 1 };
    match all {
        true => found.columns(known.iter(), several),
        false => found.columns(mentioned.into_iter(), several),
    }
    for (name, table) in &named {
        found.push(written(name), name, format!("{} rows", table.rows), What::Table);
    }
    if wanted.chars().count() >= 2 {
        found.keywords(&word.text);
        found.functions();
        if all {
            found.tables(known);
        }
    }
    found.out
}

/// Names that fit.
struct Found<'a> {
    wanted: &'a str,
    out: Vec<Choice>,
}

impl Found<'_> {
    /// Whether a name goes on what was typed.
    fn fits(&self, name: &str) -> bool {
        let mut letters = name.chars().flat_map(char::to_lowercase);
        self.wanted.chars().all(|wanted| letters.next() == Some(wanted)) && letters.next().is_some()
    }

    fn push(&mut self, text: String, name: &str, note: String, what: What) {
        if self.out.len() >= OFFERED || !self.fits(name) {
            return;
        }
        match self.out.iter_mut().find(|choice| choice.text == text) {
            // A column of several tables.
            Some(old) if old.what == what && !old.note.contains(&note) => old.note += &format!(", {note}"),
            Some(_) => {}
            None => self.out.push(Choice { text, note, what }),
        }
    }

    fn columns<'k>(&mut self, tables: impl Iterator<Item = &'k Registered>, several: bool) {
        for table in tables {
            // Of a hundred thousand columns few fit.
            for (name, data_type) in &table.columns {
                if self.out.len() >= OFFERED {
                    return;
                }
                if !self.fits(name) {
                    continue;
                }
                let note = match several {
                    true => table.name.clone(),
                    false => gander::bytes::display::short_arrow_type(data_type, 60),
                };
                self.push(written(name), name, note, What::Column);
            }
        }
    }

    fn tables(&mut self, known: &[Registered]) {
        for table in known {
            let note = format!("{} rows", table.rows);
            self.push(written(&table.name), &table.name, note, What::Table);
        }
    }

    /// In the case in which the word is written.
    fn keywords(&mut self, word: &str) {
        let small = word.chars().all(char::is_lowercase);
        for keyword in code::KEYWORDS {
            let text = if small { keyword.to_lowercase() } else { keyword.to_owned() };
            self.push(text, keyword, String::new(), What::Keyword);
        }
    }

    fn functions(&mut self) {
        for name in Engine::functions() {
            self.push(format!("{name}("), name, String::new(), What::Function);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use gander::data::content::Rows;

    use super::*;

    fn known() -> Vec<Registered> {
        let table = |name: &str, columns: &[&str]| Registered {
            name: name.to_owned(),
            columns: columns.iter().map(|c| ((*c).to_owned(), DataType::Int64)).collect(),
            rows: Rows::Exact(1),
        };
        vec![table("sales-1", &["sum total", "shop"]), table("zones", &["zone", "shop_name"])]
    }

    fn at(sql: &str) -> Vec<String> {
        let place = sql.find('|').unwrap();
        let text = sql.replace('|', "");
        let Some(word) = word_before(&text, place) else { return Vec::new() };
        choices(&text, 0..text.len(), &word, &known()).into_iter().map(|choice| choice.text).collect()
    }

    #[test]
    fn columns_of_the_named_tables_come_first() {
        assert_eq!(at("SELECT sh| FROM zones").first().map(String::as_str), Some("shop_name"));
        assert!(!at("SELECT sh| FROM zones").contains(&"shop".to_owned()));
        assert!(at("SELECT su|").contains(&"\"sum total\"".to_owned()));
        assert!(at("SELECT su|").contains(&"sum(".to_owned()));
    }

    #[test]
    fn behind_from_there_are_tables_and_behind_a_dot_columns() {
        assert_eq!(at("SELECT * FROM s|"), ["\"sales-1\""]);
        assert_eq!(at("select * from sales_1 as s join zones z on s.|"), ["\"sum total\"", "shop"]);
        assert_eq!(at("select z.z| from zones z"), ["zone"]);
        assert_eq!(at("SELECT \"sales-1\".sh|"), ["shop"]);
    }

    #[test]
    fn nothing_is_offered_in_texts_comments_and_numbers() {
        for sql in ["SELECT 'su|'", "SELECT 1 -- su|", "SELECT 1e|", "SELECT |", "SELECT /* su| */"] {
            assert_eq!(at(sql), Vec::<String>::new(), "{sql}");
        }
        assert_eq!(at("sel|"), ["select"]);
    }
}
