//! Tables against each other, rows in their order.

use super::{Check, Outcome, Told};
use crate::bytes::display;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use crate::data::format::LossKind;
use crate::data::scan::read_rows;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::Field;
use rayon::prelude::*;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// The cells of a step, about.
const CELLS: u64 = 1 << 19;
/// The longest text of a cell in a message, in characters.
const SHOWN: usize = 40;

/// Columns of two tables that belong together, and how they compare so far.
struct Pair {
    name: String,
    /// Their indices in either table.
    from: usize,
    to: usize,
    differs: Option<String>,
}

/// How two tables are compared.
pub(super) struct How<'a> {
    /// What the table is called among several.
    pub(super) path: &'a str,
    /// The text that stands for null.
    pub(super) null: &'a str,
    /// Whether texts are all that is there.
    pub(super) texts: bool,
}

/// Compares all rows.
pub(super) fn compare(
    task: &Task,
    from: &Arc<dyn Table>,
    to: &Arc<dyn Table>,
    how: &How<'_>,
    told: &Told<'_>,
    check: &mut Check,
) -> Result<()> {
    let (all, rows) = (from.count(task)?, to.count(task)?);
    if rows < all && told.any_of(LossKind::Null) && is_blank(task, from, rows..all)? {
        check.changed.push(format!("{} of nothing but nulls at the end", display::plural(all - rows, "row")));
    } else if rows != all {
        let what = format!("{} were read back, not {}", display::plural(rows, "row"), display::count(all));
        check.differing.push(what);
        return Ok(());
    }
    let mut pairs = pairs(from.as_ref(), to.as_ref(), how.path, told, check);
    task.set_total(rows);
    let width = pairs.len().max(1) as u64;
    let step = (CELLS / width).clamp(64, 65_536);
    let mut at = 0;
    while at < rows && pairs.iter().any(|pair| pair.differs.is_none()) {
        let live: Vec<usize> =
            (0..pairs.len()).filter(|n| pairs.get(*n).is_some_and(|pair| pair.differs.is_none())).collect();
        let starts =
            (0..rayon::current_num_threads() as u64).map(|n| at + n * step).filter(|start| *start < rows);
        let steps: Vec<Range<u64>> = starts.map(|start| start..(start + step).min(rows)).collect();
        let look = |rows: &Range<u64>| one_step(task, from, to, &pairs, &live, rows, (how.null, how.texts));
        let found: Vec<Vec<(usize, String)>> = steps.par_iter().map(look).collect::<Result<_>>()?;
        for (n, what) in found.into_iter().flatten() {
            if let Some(pair) = pairs.get_mut(n) {
                pair.differs.get_or_insert(what);
            }
        }
        let end = steps.last().map_or(rows, |last| last.end);
        task.advance(end - at)?;
        at = end;
    }
    for pair in pairs {
        let outcome = pair.differs.map_or(Outcome::Equal(rows), Outcome::Differs);
        // What is said of a column without a name looks like what is said of all of them.
        let is_nameless = pair.name.is_empty() && told.may_change(how.path);
        check.take(&pair.name, outcome, told.values_of(how.path, &pair.name) || is_nameless);
    }
    Ok(())
}

/// Whether there is nothing in these rows but nulls and empty texts.
fn is_blank(task: &Task, table: &Arc<dyn Table>, rows: Range<u64>) -> Result<bool> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let step = (CELLS / columns.len().max(1) as u64).max(1);
    for start in rows.clone().step_by(step as usize) {
        let batch = read_rows(table.as_ref(), task, start..(start + step).min(rows.end), &columns)?;
        let blank = |column: &ArrayRef| {
            (0..column.len()).all(|row| cell::text(column.as_ref(), row).is_none_or(|text| text.is_empty()))
        };
        if !batch.columns().iter().all(blank) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Which columns belong together: those at the same place where all of them have the names that they were given, else
/// those of the same name, else those at the same place that are said to be renamed.
fn pairs(from: &dyn Table, to: &dyn Table, path: &str, told: &Told<'_>, check: &mut Check) -> Vec<Pair> {
    let (ours, theirs) = (from.schema().fields(), to.schema().fields());
    let renamed = told.renamed(path);
    let mut pairs = Vec::new();
    let is_its = |(ours, theirs): (&Arc<Field>, &Arc<Field>)| {
        theirs.name() == ours.name() || told.is_called(path, ours.name(), theirs.name())
    };
    let is_ours = |name: &String| ours.iter().any(|field| field.name() == name);
    // Names may stand there twice.
    let in_order = ours.len() == theirs.len() && ours.iter().zip(theirs).all(is_its);
    for (n, field) in ours.iter().enumerate() {
        let name = field.name().clone();
        if in_order {
            pairs.push(Pair { name, from: n, to: n, differs: None });
            continue;
        }
        let same_place = theirs.get(n).filter(|other| other.name() == field.name()).map(|_| n);
        let elsewhere = || theirs.iter().position(|other| other.name() == field.name());
        let is_renamed = renamed.contains(name.as_str()) || renamed.contains("");
        let by_order = is_renamed && !told.has_names(path);
        let by_place = || {
            let other = theirs.get(n).filter(|_| by_order && ours.len() == theirs.len())?;
            (!is_ours(other.name())).then_some(n)
        };
        // Of several of one name where names are told apart by nothing else the last one is there.
        let is_hidden = is_renamed && ours.iter().skip(n + 1).any(|other| *other.name() == name);
        if is_hidden && ours.len() != theirs.len() {
            check.take(&name, Outcome::Differs("another column has its name".to_owned()), true);
            continue;
        }
        match same_place.or_else(elsewhere).or_else(by_place) {
            Some(to) => pairs.push(Pair { name, from: n, to, differs: None }),
            None => {
                let what = Outcome::Differs("the column is not in what was written".to_owned());
                check.take(&name, what, is_renamed || told.values_of(path, &name));
            }
        }
    }
    pairs
}

/// The columns that differ in a step, and how.
fn one_step(
    task: &Task,
    from: &Arc<dyn Table>,
    to: &Arc<dyn Table>,
    pairs: &[Pair],
    live: &[usize],
    rows: &Range<u64>,
    (null, texts): (&str, bool),
) -> Result<Vec<(usize, String)>> {
    let chosen: Vec<&Pair> = live.iter().filter_map(|n| pairs.get(*n)).collect();
    let of =
        |table: &Arc<dyn Table>, columns: Vec<usize>| read_rows(table.as_ref(), task, rows.clone(), &columns);
    let (ours, theirs) = rayon::join(
        || of(from, chosen.iter().map(|pair| pair.from).collect()),
        || of(to, chosen.iter().map(|pair| pair.to).collect()),
    );
    let (ours, theirs) = (ours?, theirs?);
    let columns = live.iter().zip(ours.columns().iter().zip(theirs.columns()));
    let look = |(n, (a, b)): (&usize, (&ArrayRef, &ArrayRef))| {
        let row = first_difference(a, b, null, texts)?;
        let word = |array: &ArrayRef| match cell::text(array.as_ref(), row) {
            None => "null".to_owned(),
            Some(text) => format!("{:?}", text.chars().take(SHOWN).collect::<String>()),
        };
        Some((*n, format!("row {} is {}, not {}", rows.start + row as u64, word(b), word(a))))
    };
    Ok(columns.filter_map(look).collect())
}

/// The first row in which two columns do not say the same.
fn first_difference(a: &ArrayRef, b: &ArrayRef, null: &str, texts: bool) -> Option<usize> {
    if a.data_type() == b.data_type() && a == b {
        return None;
    }
    if a.data_type() != b.data_type()
        && !texts
        && let Ok(same) = cast(b, a.data_type())
        && same.null_count() == b.null_count()
        && &same == a
        // Nothing that the cast itself made the same: it has to lead back.
        && cast(&same, b.data_type()).is_ok_and(|again| &again == b)
    {
        return None;
    }
    (0..a.len()).find(|row| {
        let (from, to) = (whole_text(a, *row), whole_text(b, *row));
        if same_text(from.as_deref(), to.as_deref()) {
            return false;
        }
        // In text a null is what stands for it, and so is an empty cell.
        let blank =
            |text: &Option<String>| text.as_deref().is_none_or(|text| text.is_empty() || text == null);
        !(texts && blank(&from) && blank(&to))
    })
}

/// A cell as text, and bytes to their end.
fn whole_text(array: &ArrayRef, row: usize) -> Option<String> {
    match cell::binary(array.as_ref(), row).filter(|_| array.is_valid(row)) {
        Some(bytes) => Some(bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))),
        None => cell::text(array.as_ref(), row),
    }
}

/// Whether two cells say the same: equal texts, equal numbers, the same lists and objects, a day and its midnight.
pub(super) fn same_text(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    a == b
        || number(a).zip(number(b)).is_some_and(|(a, b)| a == b)
        || is_midnight(a, b)
        || is_midnight(b, a)
        || is_truth(a, b)
        || is_truth(b, a)
        || is_hexadecimal(a, b)
        || is_hexadecimal(b, a)
        || nested(a).is_some_and(|a| nested(b).is_some_and(|b| same_json(&a, &b)))
}

/// A number, as exactly as can be compared.
#[derive(PartialEq)]
enum Number {
    Whole(i128),
    Real(u64),
}

fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i128>() {
        return Some(Number::Whole(whole));
    }
    let first = text.bytes().find(|byte| !matches!(byte, b'-' | b'+'))?;
    if !first.is_ascii_digit()
        && first != b'.'
        && !matches!(text, "nan" | "inf" | "-inf" | "NaN" | "Infinity" | "-Infinity")
    {
        return None;
    }
    // More digits than a double holds say more than it does.
    if text.bytes().filter(u8::is_ascii_digit).count() > 17 {
        return None;
    }
    let real: f64 = text.parse().ok()?;
    Some(match real.fract() == 0.0 && real.abs() < 9e15 && (real != 0.0 || real.is_sign_positive()) {
        true => Number::Whole(real as i128),
        false if real.is_nan() => Number::Real(f64::NAN.to_bits()),
        false => Number::Real(real.to_bits()),
    })
}

/// Whether one is a day and the other its first moment.
fn is_midnight(day: &str, time: &str) -> bool {
    time.strip_prefix(day).is_some_and(|rest| rest == "T00:00:00" || rest == "T00:00:00+00:00")
}

fn is_truth(word: &str, number: &str) -> bool {
    matches!((word, number), ("true", "1") | ("false", "0"))
}

/// Whether one spells bytes and the other is a list of the same numbers.
fn is_hexadecimal(bytes: &str, list: &str) -> bool {
    let Some(digits) = bytes.strip_prefix("0x") else { return false };
    let Some(Json::Array(list)) = nested(list) else { return false };
    let number = |json: &Json| match json {
        Json::String(text) => text.parse::<u8>().ok(),
        other => other.as_u64().and_then(|number| u8::try_from(number).ok()),
    };
    let pairs = (0..list.len()).map(|n| digits.get(2 * n..2 * n + 2));
    let spelled = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    digits.len() == 2 * list.len()
        && spelled.zip(&list).all(|(byte, json)| byte.is_some() && byte == number(json))
}

/// The lists and objects that a text spells.
fn nested(text: &str) -> Option<Json> {
    let json: Json = text.starts_with(['[', '{']).then(|| serde_json::from_str(text).ok())??;
    Some(json)
}

/// Whether two spell the same, numbers as numbers or as texts.
fn same_json(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same_json(a, b)))
        }
        (Json::Null, Json::Null) => true,
        (Json::Array(_) | Json::Object(_) | Json::Null, _)
        | (_, Json::Array(_) | Json::Object(_) | Json::Null) => false,
        (a, b) => {
            let text = |json: &Json| match json {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            same_text(Some(&text(a)), Some(&text(b)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::same_text;

    #[test]
    fn cells_that_say_the_same() {
        let same = |a: &str, b: &str| same_text(Some(a), Some(b));
        for (a, b) in [
            ("1", "1.0"),
            ("-3", "-3.0"),
            ("1e3", "1000"),
            ("nan", "NaN"),
            ("2024-01-31", "2024-01-31T00:00:00"),
            ("true", "1"),
            (r#"["1", "x"]"#, r#"[1,"x"]"#),
            (r#"{"a": "0.1"}"#, r#"{"a":0.1}"#),
        ] {
            assert!(same(a, b) && same(b, a), "{a} and {b}");
        }
        for (a, b) in [
            ("9007199254740993", "9007199254740992.0"),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000002"),
            ("-0.0", "0"),
            ("x", "X"),
            ("1", ""),
            ("123456789012345678.5", "123456789012345678.25"),
            (r#"["1"]"#, r#"["1", null]"#),
            ("2024-01-31", "2024-01-31T00:00:01"),
        ] {
            assert!(!same(a, b) && !same(b, a), "{a} and {b}");
        }
        assert!(same_text(None, None) && !same_text(None, Some("")));
    }
}
