//! The columns whose names have some words: looked for by a job where there are many, and not in every frame.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use gander::jobs::{JobSpec, Jobs, Slot};

/// Of so many columns the names are looked through at once.
const SOON: usize = 2_000;

/// The last search, and what it found.
#[derive(Default)]
pub(super) struct ColumnSearch {
    found: Option<Found>,
    slot: Slot<(usize, String), Vec<usize>>,
}

/// The columns that fit some words.
struct Found {
    /// It is kept, so that no other one gets its address.
    schema: SchemaRef,
    wanted: String,
    columns: Arc<Vec<usize>>,
}

/// Columns that fit.
#[derive(Clone, Debug)]
pub(super) enum MatchingColumns {
    /// The first so many: all of them.
    All(usize),
    /// These.
    Some(Arc<Vec<usize>>),
}

impl MatchingColumns {
    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            MatchingColumns::All(count) => *count,
            MatchingColumns::Some(columns) => columns.len(),
        }
    }

    /// One of them, by its number among them.
    pub(super) fn get(&self, at: usize) -> Option<usize> {
        match self {
            MatchingColumns::All(count) => (at < *count).then_some(at),
            MatchingColumns::Some(columns) => columns.get(at).copied(),
        }
    }
}

fn with(schema: &Schema, wanted: &str) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    let found = fields.filter(|(_, field)| field.name().to_lowercase().contains(wanted));
    found.map(|(column, _)| column).collect()
}

impl ColumnSearch {
    /// The columns of a table whose names have these words, whatever their case. While a job looks for them, those of the
    /// words before; `None` where there are none yet.
    pub(super) fn get(&mut self, jobs: &Jobs, schema: &SchemaRef, words: &str) -> Option<MatchingColumns> {
        let count = schema.fields().len();
        if words.is_empty() {
            return Some(MatchingColumns::All(count));
        }
        let wanted = words.to_lowercase();
        let same = |found: &Found| Arc::ptr_eq(&found.schema, schema);
        if !self.found.as_ref().is_some_and(|found| same(found) && found.wanted == wanted) {
            let columns = match count <= SOON {
                true => Some(Arc::new(with(schema, &wanted))),
                false => {
                    let (source, words) = (schema.clone(), wanted.clone());
                    let key = (Arc::as_ptr(schema) as usize, wanted.clone());
                    self.slot.get(jobs, &key, JobSpec::view(""), move |_| Ok(with(&source, &words))).ready()
                }
            };
            if let Some(columns) = columns {
                self.found = Some(Found { schema: schema.clone(), wanted, columns });
            }
        }
        let found = self.found.as_ref().filter(|found| same(found));
        found.map(|found| MatchingColumns::Some(found.columns.clone()))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn of_a_hundred_thousand_columns_a_job_finds_those_that_fit() {
        let field = |n: usize| Field::new(format!("Column {n}"), DataType::Int64, true);
        let schema = Arc::new(Schema::new((0..100_000).map(field).collect::<Vec<_>>()));
        let (mut named, jobs) = (ColumnSearch::default(), Jobs::new(|| {}));
        assert_eq!(named.get(&jobs, &schema, "").map(|fits| fits.len()), Some(100_000));
        assert!(named.get(&jobs, &schema, "N 9999").is_none(), "nothing is searched in the frame");
        let started = std::time::Instant::now();
        let fits = loop {
            assert!(started.elapsed().as_secs() < 60);
            match named.get(&jobs, &schema, "N 9999") {
                Some(fits) => break fits,
                None => std::thread::sleep(std::time::Duration::from_millis(2)),
            }
        };
        assert_eq!(
            (fits.len(), fits.get(0), fits.get(10), fits.get(11)),
            (11, Some(9999), Some(99_999), None)
        );
        assert_eq!(
            named.get(&jobs, &schema, "nothing").map(|fits| fits.len()),
            Some(11),
            "those before stay"
        );
    }
}
