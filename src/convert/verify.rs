//! Verification: what was written is opened again and every value compared with the one that it was written from.
//!
//! A difference is an error unless the loss report has named it: values of another type are compared by what they say,
//! and where a column or array was said to change, it is counted apart. Both sides are read in steps of some megabytes.

mod cells;
mod elements;

use super::{Done, Plan, gather};
use crate::bytes::display;
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayTable, ArrayView, ImageArray};
use crate::data::content::{Array, Content, Table};
use crate::data::format::{Data, Format, Loss, LossKind};
use crate::engines::variables::Reversed;
use crate::formats::{self, FORMATS};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Results up to this many bytes are read back where nobody says otherwise.
pub const VERIFIED: u64 = 1 << 30;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Columns, arrays, pictures and other parts of which every value is the same.
    pub parts: u64,
    /// The values in them.
    pub values: u64,
    /// Parts whose values changed as the loss report says.
    pub changed: Vec<String>,
    /// What differs although nothing was said of it, as sentences.
    pub differing: Vec<String>,
}

impl Check {
    /// Whether nothing differs but what was reported.
    pub fn is_equal(&self) -> bool {
        self.differing.is_empty()
    }

    /// What was compared, as a phrase: `12 parts, 1,204 values: all equal`.
    pub fn words(&self) -> String {
        let mut words = format!(
            "{}, {}: all equal",
            display::plural(self.parts, "part"),
            display::plural(self.values, "value")
        );
        if !self.changed.is_empty() {
            words += &format!("; {} changed as reported", display::plural(self.changed.len() as u64, "part"));
        }
        match self.differing.first() {
            None => words,
            Some(first) => {
                let more = self.differing.len() - 1;
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                format!("{first}{more}")
            }
        }
    }

    /// Takes in how a part compares that the report may have named.
    fn take(&mut self, part: &str, found: Outcome, told: bool) {
        match found {
            Outcome::Equal(values) => {
                self.parts += 1;
                self.values += values;
            }
            Outcome::Differs(_) if told => self.changed.push(part.to_owned()),
            Outcome::Differs(what) => self.differing.push(match part {
                "" => what,
                part => format!("{part}: {what}"),
            }),
        }
    }
}

/// How one part compares.
enum Outcome {
    /// All of so many values are the same.
    Equal(u64),
    /// What differs first.
    Differs(String),
}

impl Plan {
    /// Opens what a run wrote to `path` and compares every value with the source's. `None` where no reader gives
    /// back what was written (a picture of a table in HTML).
    ///
    /// # Errors
    /// Those of reading either side; what was written and cannot be opened is an error too.
    pub fn verify(&self, task: &Task, path: &Path, done: &Done) -> Result<Option<Check>> {
        let Some(format) = self.reader() else { return Ok(None) };
        let built = self.build(Some(task), &done.type_overrides)?;
        // The drawing of a graph gives back a picture.
        if matches!(built.payload.data, Data::Graph(_)) {
            return Ok(None);
        }
        if is_without_values(&built.payload.data, task)? {
            return Ok(Some(Check::default()));
        }
        task.set_message("reading it back");
        task.set_total(0);
        let source = Source::open(task, path)?;
        let mut reading = (self.target.writer.reading)(&self.options);
        reading.set("format", format.id);
        let named = |error: Error| error.in_file(path.display());
        let opened = formats::open_source(task, &source, &reading).map_err(named)?;
        if let Some(problem) = &opened.root.problem {
            return Err(problem.clone().in_file(path.display()));
        }
        let told = Told { losses: self.losses.iter().chain(&built.losses).chain(&done.notes).collect() };
        let mut check = Check::default();
        let back: Vec<(String, Content)> = match gather(task, &opened.source, &opened.root, "") {
            Ok(items) => items.into_iter().map(|item| (item.name, item.content)).collect(),
            Err(error) if error.is_cancelled() => return Err(error),
            // It opens, as nothing that has rows or elements.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(named(error)),
        };
        let compared = match &built.payload.data {
            Data::Table(table) => self.table(task, "", table, back.as_slice(), &told, &mut check)?,
            Data::Tables(tables) => {
                let mut any = false;
                for (name, table) in tables {
                    any |= self.one_of(task, (name, table), &back, &told, &mut check)?;
                }
                any
            }
            Data::Arrays(arrays) => arrays_with(task, arrays, &back, &told, &mut check)?,
            Data::Image(image) => {
                let samples: Arc<dyn Array> = Arc::new(ImageArray::new(image.clone()));
                let only = [(String::new(), samples)];
                arrays_with(task, &only, &back, &told, &mut check)?
            }
            Data::Graph(_) => false,
            Data::Bytes(bytes) => match back.as_slice() {
                [(_, Content::Bytes(other))] => {
                    check.take("", elements::bytes(task, bytes, other)?, false);
                    true
                }
                _ => false,
            },
        };
        Ok(compared.then_some(check))
    }

    /// The format that reads what the target writes.
    fn reader(&self) -> Option<&'static Format> {
        // A format that is written only gives nothing back.
        let writes = |format: &&&'static Format| {
            format.targets.iter().any(|t| t.id == self.target.id) && !format.reads.is_empty()
        };
        FORMATS.iter().find(writes).copied()
    }

    /// One of several tables, by its name or what it was said to be called.
    fn one_of(
        &self,
        task: &Task,
        (name, table): (&str, &Arc<dyn Table>),
        back: &[(String, Content)],
        told: &Told<'_>,
        check: &mut Check,
    ) -> Result<bool> {
        let renamed = told.called(name, "");
        let found = back.iter().find(|(other, _)| other == renamed.unwrap_or(name));
        match found {
            Some(found) => self.table(task, name, table, std::slice::from_ref(found), told, check),
            None => {
                let what = Outcome::Differs("the table is not in what was written".to_owned());
                check.take(name, what, renamed.is_some() || told.values_of(name, ""));
                Ok(true)
            }
        }
    }

    fn table(
        &self,
        task: &Task,
        path: &str,
        from: &Arc<dyn Table>,
        back: &[(String, Content)],
        told: &Told<'_>,
        check: &mut Check,
    ) -> Result<bool> {
        let [(_, content)] = back else { return Ok(false) };
        let to: Arc<dyn Table> = match content {
            Content::Table(table) => table.clone(),
            Content::Array(array) => match ArrayTable::new("", upright(task, from, array)?) {
                Ok(table) => Arc::new(table),
                Err(_) => return Ok(false),
            },
            Content::Image(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_) => return Ok(false),
        };
        let null = self.options.get("null").unwrap_or_default();
        let how = cells::How { path, null, texts: self.target.writer.texts };
        cells::compare(task, from, &to, &how, told, check)?;
        Ok(true)
    }
}

/// The column of a table with its rows first, where it became an array that has them last.
fn upright(task: &Task, table: &Arc<dyn Table>, array: &Arc<dyn Array>) -> Result<Arc<dyn Array>> {
    let rows = table.count(task)?;
    let [first, .., last] = array.shape() else { return Ok(array.clone()) };
    if *first == rows || *last != rows || table.schema().fields().len() != 1 {
        return Ok(array.clone());
    }
    let turned: Arc<dyn Array> = Arc::new(Reversed::new(array.clone()));
    Ok(match turned.shape() {
        // A column of single values has but one side in the table.
        [_, 1] => Arc::new(ArrayView::parse(turned, ":, 0")?),
        _ => turned,
    })
}

/// Whether there is nothing to compare: no rows, no elements.
fn is_without_values(data: &Data, task: &Task) -> Result<bool> {
    Ok(match data {
        Data::Table(table) => table.schema().fields().is_empty() || table.count(task)? == 0,
        Data::Arrays(arrays) => arrays.iter().all(|(_, array)| array.shape().contains(&0)),
        Data::Tables(_) | Data::Image(_) | Data::Graph(_) | Data::Bytes(_) => false,
    })
}

/// Arrays and what was read back, by the names that they were given; one alone is compared whatever it is called. False where nothing that can be
/// compared came back.
fn arrays_with(
    task: &Task,
    arrays: &[(String, Arc<dyn Array>)],
    back: &[(String, Content)],
    told: &Told<'_>,
    check: &mut Check,
) -> Result<bool> {
    let is_data = |content: &Content| !matches!(content, Content::Text(_));
    if !back.iter().any(|(_, content)| is_data(content)) {
        return Ok(false);
    }
    let renamed = told.any_of(LossKind::Name);
    let is_its = |((name, _), (other, _)): (&(String, Arc<dyn Array>), &(String, Content))| {
        name == other || told.is_called(name, "", other)
    };
    // Names may stand there twice.
    let in_order = arrays.len() == back.len() && arrays.iter().zip(back).all(is_its);
    let mut used = BTreeSet::new();
    for (place, (name, array)) in arrays.iter().enumerate() {
        task.check()?;
        let by_name = || {
            let called = || back.iter().position(|(other, _)| told.is_called(name, "", other));
            let same = || back.iter().position(|(other, _)| other == name);
            // The first of several of one name keeps it, where the target has it.
            let is_twice = arrays.iter().filter(|(other, _)| other == name).count() > 1;
            let at = match is_twice {
                true => same().filter(|at| !used.contains(at)).or_else(called),
                false => called().or_else(same),
            };
            at.and_then(|at| Some((at, back.get(at)?)))
        };
        let found = match (arrays, back) {
            ([_], [only]) => Some((0, only)),
            _ if in_order => back.get(place).map(|found| (place, found)),
            // What the target calls otherwise is still there, at its place.
            _ if renamed && arrays.len() == back.len() => {
                by_name().or_else(|| Some((place, back.get(place)?)))
            }
            _ => by_name(),
        };
        used.extend(found.map(|(at, _)| at));
        let found = found.map(|(_, found)| found);
        let part = if arrays.len() == 1 { "" } else { name.as_str() };
        let is_told = told.values_of(name, "") || found.is_none() && renamed;
        let outcome = match found {
            None => Outcome::Differs("it is not in what was written".to_owned()),
            Some((_, Content::Table(table))) => match ArrayTable::new("", array.clone()) {
                Ok(from) => {
                    let from: Arc<dyn Table> = Arc::new(from);
                    let how = cells::How { path: name, null: "", texts: false };
                    cells::compare(task, &from, table, &how, told, check)?;
                    continue;
                }
                Err(error) => Outcome::Differs(error.message()),
            },
            Some((_, content)) => one_array(task, array, content, is_told)?,
        };
        check.take(part, outcome, is_told);
    }
    Ok(true)
}

/// An array and what it became; `is_told`: the report says that its values, or its dimensions, are others.
fn one_array(task: &Task, array: &Arc<dyn Array>, content: &Content, is_told: bool) -> Result<Outcome> {
    match content {
        Content::Array(other) => match elements::compare(task, array, other)? {
            // MATLAB has the first dimension where others have the last one.
            Outcome::Differs(what) if is_told && array.shape().len() > 1 => {
                let turned: Arc<dyn Array> = Arc::new(Reversed::new(other.clone()));
                Ok(match elements::compare(task, array, &turned)? {
                    Outcome::Differs(_) => Outcome::Differs(what),
                    equal => equal,
                })
            }
            outcome => Ok(outcome),
        },
        Content::Image(image) => {
            let samples: Arc<dyn Array> = Arc::new(ImageArray::new(image.clone()));
            elements::of_pictures(task, array, &samples)
        }
        Content::Bytes(source) => elements::with_bytes(task, array.as_ref(), source),
        Content::Table(_) | Content::Text(_) | Content::Graph(_) => {
            Ok(Outcome::Differs(format!("it became a {}", content.kind().word())))
        }
    }
}

/// What the loss report says of values.
struct Told<'a> {
    losses: Vec<&'a Loss>,
}

impl Told<'_> {
    /// Whether it says that values of this array, or of this column, may not be the same.
    fn values_of(&self, path: &str, subject: &str) -> bool {
        use LossKind as K;
        let is_of = |loss: &&&Loss| {
            (loss.path.is_empty() || loss.path == path) && (loss.subject.is_empty() || loss.subject == subject)
                // What is said of everything and comes true only for some values says too little, unless somebody
                // agreed to it.
                && !(loss.possible && !loss.serious && loss.subject.is_empty() && loss.path.is_empty())
        };
        let of_values = |loss: &Loss| match loss.kind {
            K::Type | K::Null | K::Nan | K::Zone | K::Precision | K::Nesting | K::Scale | K::Order => true,
            K::Attribute | K::Name | K::Chunks | K::Metadata | K::Missing => false,
        };
        self.losses.iter().filter(is_of).any(|loss| of_values(loss))
    }

    /// What a table, an array or a column of it is called in the result, if that is another name.
    fn called(&self, path: &str, subject: &str) -> Option<&str> {
        let of = |loss: &&&Loss| loss.path == path && loss.subject == subject && loss.called.is_some();
        self.losses.iter().find(of).and_then(|loss| loss.called.as_deref())
    }

    /// Whether this is another name that it gets; several may have had one name.
    fn is_called(&self, path: &str, subject: &str, name: &str) -> bool {
        let of = |loss: &&&Loss| loss.path == path && loss.subject == subject;
        self.losses.iter().filter(of).any(|loss| loss.called.as_deref() == Some(name))
    }

    /// Whether the new names of what this table has are known.
    fn has_names(&self, path: &str) -> bool {
        self.losses.iter().any(|loss| loss.path == path && loss.called.is_some())
    }

    /// Whether it says anything of values that may come true for some of them.
    fn may_change(&self, path: &str) -> bool {
        self.losses.iter().any(|loss| loss.path == path && loss.possible && loss.kind == LossKind::Null)
    }

    fn any_of(&self, kind: LossKind) -> bool {
        self.losses.iter().any(|loss| loss.kind == kind)
    }

    /// The columns of which names are said to change.
    fn renamed(&self, path: &str) -> BTreeSet<&str> {
        let is_of =
            |loss: &&&Loss| loss.kind == LossKind::Name && (loss.path.is_empty() || loss.path == path);
        let renamed = self.losses.iter().filter(is_of);
        renamed.map(|loss| loss.subject.as_str()).collect()
    }
}
