//! A table of a text format with values of the types that were inferred: what statistics and copies are made of.

use super::{ColumnMap, MappedTable};
use crate::bytes::error::Result;
use crate::data::content::{ColumnStatistics, Table};
use crate::data::infer;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Columns of text as values of their inferred types; cells that do not fit are null, and counted. ([`super::Typed`] ends
/// at such a cell, so that its column can be taken as a wider type.)
pub type LenientTyped = MappedTable<Lenient>;

/// The types that were inferred, where they were.
pub struct Lenient {
    kinds: Vec<Option<DataType>>,
    unfit: AtomicU64,
}

impl LenientTyped {
    /// `table` with typed columns; those that have types of their own stay.
    pub fn lenient(table: Arc<dyn Table>) -> Self {
        let fields = table.schema().fields();
        let kinds: Vec<_> = (0..fields.len()).map(|column| infer::inferred(table.as_ref(), column)).collect();
        let typed = fields.iter().zip(&kinds).map(|(field, kind)| match kind {
            Some(kind) => Arc::new(field.as_ref().clone().with_data_type(kind.clone()).with_nullable(true)),
            None => field.clone(),
        });
        let typed: Vec<Arc<Field>> = typed.collect();
        let schema = Arc::new(Schema::new_with_metadata(typed, table.schema().metadata().clone()));
        MappedTable::new(table, schema, Lenient { kinds, unfit: AtomicU64::new(0) })
    }

    /// How many cells of all that were read did not fit.
    pub fn unfit(&self) -> u64 {
        self.map.unfit.load(Ordering::Relaxed)
    }
}

impl ColumnMap for Lenient {
    fn changes(&self, column: usize) -> bool {
        self.kinds.get(column).is_some_and(Option::is_some)
    }

    fn map(&self, cells: &ArrayRef, _: usize, field: &Field) -> Result<ArrayRef> {
        let (values, unfit) = infer::values(cells, Some(field.data_type()));
        self.unfit.fetch_add(unfit, Ordering::Relaxed);
        Ok(values)
    }

    fn known(&self, found: ColumnStatistics, field: &Field) -> ColumnStatistics {
        ColumnStatistics::unknown(field.data_type(), found.min.len())
    }
}
