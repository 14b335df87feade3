//! What may come true of losses that depend on values: a plan reads none, so it names NaN wherever there are floats. Before
//! somebody is asked to agree to that, the values are looked at.

use super::{Overrides, Plan};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::TableView;
use crate::data::content::Table;
use crate::data::format::{Data, Loss, LossKind, Payload};
use crate::data::scan::scan;
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A serious loss that comes true only where there is NaN.
fn is_open(loss: &Loss) -> bool {
    loss.serious && loss.possible && loss.kind == LossKind::Nan
}

impl Plan {
    /// Takes back what is said of NaN where there is none, if nothing else would have to be agreed to. Reads the columns
    /// of floats once; values that cannot be read leave the plan as it is.
    ///
    /// # Errors
    /// A cancellation.
    pub fn look(&mut self, task: &Task) -> Result<()> {
        let mut serious = self.losses.iter().filter(|loss| loss.serious).peekable();
        if serious.peek().is_none() || !serious.all(is_open) {
            return Ok(());
        }
        match self.columns_with_nan(task) {
            Ok(Some(found)) => {
                let comes_true = |loss: &Loss| {
                    let is_there = |(path, column): &(String, String)| {
                        (loss.path.is_empty() || loss.path == *path)
                            && (loss.subject.is_empty() || loss.subject == *column)
                    };
                    !is_open(loss) || found.iter().any(is_there)
                };
                let (kept, unfounded) = self.losses.drain(..).partition(comes_true);
                (self.losses, self.unfounded) = (kept, unfounded);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.is_cancelled() => Err(error),
            // It is told when it is written.
            Err(_) => Ok(()),
        }
    }

    /// The columns in which there is, or may be, NaN, with their tables; `None` for what is no table.
    fn columns_with_nan(&self, task: &Task) -> Result<Option<BTreeSet<(String, String)>>> {
        // Columns of text that do not keep their types are text when they are written.
        let overrides = match self.build(Some(task), &Overrides::new())?.typed.is_empty() {
            false => self.settle(task, Overrides::new())?,
            true => Overrides::new(),
        };
        of_payload(task, &self.build(Some(task), &overrides)?.payload)
    }
}

fn of_payload(task: &Task, payload: &Payload) -> Result<Option<BTreeSet<(String, String)>>> {
    let mut found = BTreeSet::new();
    let mut add = |name: &str, table: &Arc<dyn Table>| -> Result<()> {
        found.extend(of_table(task, table)?.into_iter().map(|column| (name.to_owned(), column)));
        Ok(())
    };
    match &payload.data {
        Data::Table(table) => add("", table)?,
        Data::Tables(tables) => tables.iter().try_for_each(|(name, table)| add(name, table))?,
        Data::Arrays(_) | Data::Image(_) | Data::Graph(_) | Data::Bytes(_) => return Ok(None),
    }
    Ok(Some(found))
}

/// Whether floats lie somewhere within a column.
fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => holds_floats(values),
        DataType::RunEndEncoded(_, values) => holds_floats(values.data_type()),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| holds_floats(field.data_type())),
        other => other.is_floating() || other.is_nested(),
    }
}

/// The names of a table's columns with NaN. Floats behind keys, in unions, lists and structs are not looked at: there may be.
fn of_table(task: &Task, table: &Arc<dyn Table>) -> Result<BTreeSet<String>> {
    let schema = table.schema();
    let fields = schema.fields();
    let (plain, other): (Vec<usize>, Vec<usize>) = (0..fields.len())
        .filter(|n| fields.get(*n).is_some_and(|field| holds_floats(field.data_type())))
        .partition(|n| fields.get(*n).is_some_and(|field| field.data_type().is_floating()));
    let name = |n: &usize| fields.get(*n).map(|field| field.name().clone());
    let mut found: BTreeSet<String> = other.iter().filter_map(name).collect();
    if plain.is_empty() {
        return Ok(found);
    }
    let view = TableView::new(table.clone(), 0..u64::MAX, plain.clone())?;
    let seen: Mutex<BTreeSet<usize>> = Mutex::default();
    scan(
        task,
        &view,
        |batch: RecordBatch| {
            for (column, n) in batch.columns().iter().zip(&plain) {
                // One is enough.
                if !seen.lock().contains(n) && has_nan(column)? {
                    seen.lock().insert(*n);
                }
            }
            Ok(())
        },
        |()| Ok(()),
    )?;
    found.extend(seen.into_inner().iter().filter_map(name));
    Ok(found)
}

fn has_nan(column: &ArrayRef) -> Result<bool> {
    let column = cast(column, &DataType::Float64)?;
    let numbers = column.as_primitive_opt::<Float64Type>();
    Ok(numbers.is_some_and(|numbers| numbers.iter().flatten().any(f64::is_nan)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{Consent, Item, Selection, Target, plan};
    use crate::data::content::Content;
    use crate::data::content::table::MemoryTable;
    use crate::data::format::{Attributes, Options};
    use arrow::array::{Float32Array, Float64Array};

    #[test]
    fn nan_is_a_loss_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        for (number, is_lossy) in [(f64::INFINITY, false), (f64::NAN, true)] {
            let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(number)]));
            let y: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]));
            let batch = RecordBatch::try_from_iter([("x", x), ("y", y)]).unwrap();
            let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
            let item = Item::new("t", Content::Table(table), Attributes::default());
            let target = Target::by_id("sqlite").unwrap();
            let mut plan = plan(&[item], target, &Options::default(), &Selection::default()).unwrap();
            assert!(plan.is_lossy());
            plan.look(&Task::new()).unwrap();
            let serious = plan.losses.iter().filter(|loss| loss.serious);
            let subjects: Vec<&str> = serious.map(|loss| loss.subject.as_str()).collect();
            assert_eq!(subjects, if is_lossy { vec!["x"] } else { vec![] });
            let done =
                plan.run(&Task::new(), &folder.path().join(format!("{is_lossy}.db")), Consent::default());
            assert_eq!(done.is_err(), is_lossy, "{:?}", done.err());
        }
    }
}
