//! Queries: SQL over anything that is a table, by DataFusion; filters, sorting and summaries made of it.
//!
//! ```text
//! text ─▶ statement (parsed, read-only?, names bound to tables and files) ─▶ plan ─▶ QueryResult: a Table
//! ```
//! An [`Engine`] knows tables by name; a file that a statement names in quotes is opened the same way as
//! any other. Each table is a [`provider`] over our own trait; a plain Parquet file goes to DataFusion's
//! reader, which skips row groups and pages by their statistics, with our bytes under it. The result is an
//! [`QueryResult`]: a table that grows while the query runs and is kept in a file without a name.
//!
//! This is the only room that knows DataFusion and runs an asynchronous runtime. Nothing here writes, and
//! nothing goes to the network. The engine: <https://datafusion.apache.org/user-guide/sql/>.

mod catalog;
mod cell_text;
mod clauses;
mod diagnostic;
mod filter;
mod filtered;
mod glob;
mod names;
mod parquet;
pub mod pivot;
mod plan;
mod provider;
mod pruning;
mod pushdown_guard;
mod result;
mod spill;
mod split;
mod statement;
mod steps;
mod stop;
mod streaming_filter;
mod threads;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod true_tests;

pub use catalog::{Registered, name_of, stem, table_name};
pub use clauses::{Clauses, clauses};
pub use diagnostic::{Failure, Place, SqlDiagnostic};
pub use filter::{Condition, Filter, Order, Sort, Test, identifier, quoted, text_literal};
pub use filtered::{Filtered, containing, containing_sql, filtered};
pub use result::QueryResult;
pub use spill::remove_spilled;
pub use split::{statement_at, statements};
pub use steps::Step;
pub use threads::settled;

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::content::Table;
use crate::data::node::Node;
use crate::data::open::Document;
use catalog::{Catalog, TypeOverrides};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, TrackConsumersPool};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// What a query may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of memory for sorting, joining and grouping; beyond it they go to temporary files.
    pub memory: usize,
    /// Bytes of temporary files for that.
    pub spill: u64,
    /// Bytes that a result may take on disk.
    pub result: u64,
    /// How many threads work on one query.
    pub threads: usize,
}

impl Default for Settings {
    /// A quarter of the machine's memory, at most 4 GiB; all processors.
    fn default() -> Self {
        let bytes = crate::bytes::system::memory() / 4;
        Settings {
            memory: bytes.clamp(64 << 20, 4 << 30) as usize,
            spill: 64 << 30,
            result: 64 << 30,
            threads: std::thread::available_parallelism().map_or(2, usize::from).min(64),
        }
    }
}

/// Tables by name, and what runs statements over them. Shared by the threads of a program.
pub struct Engine {
    settings: Settings,
    pool: Arc<dyn MemoryPool>,
    catalog: Catalog,
}

impl Engine {
    /// An engine without tables. Relative paths in statements begin at one of `folders`, the first that
    /// has such a file.
    pub fn new(settings: Settings, folders: Vec<PathBuf>) -> Self {
        let top = NonZeroUsize::new(3).unwrap_or(NonZeroUsize::MIN);
        let pool = Arc::new(TrackConsumersPool::new(FairSpillPool::new(settings.memory), top));
        Engine { settings, pool, catalog: Catalog::new(folders) }
    }

    /// Makes a table known; the name that it got (another one where `name` is taken).
    pub fn add_table(&self, name: &str, table: Arc<dyn Table>) -> String {
        self.catalog.add(name, table, &[])
    }

    /// Makes the tables of a document known: the one that it is, by the stem of its name, or those that
    /// are in it, as `stem_name` and `stem.name`. Their names.
    ///
    /// # Errors
    /// `Unsupported` where there is no table in it; else what opening its nodes gives.
    pub fn add_document(&self, task: &Task, document: &Document) -> Result<Vec<String>> {
        self.catalog.add_document(task, document)
    }

    /// Forgets a table.
    pub fn remove(&self, name: &str) {
        self.catalog.remove(name);
    }

    /// All tables, in the order in which they were added.
    pub fn tables(&self) -> Vec<Registered> {
        self.catalog.known()
    }

    /// The nodes of the files that the last statement named itself, with what it calls them: what is wrong with them is
    /// wrong with the result, too ([`Node::problem_now`]).
    pub fn named_nodes(&self) -> Vec<(String, Arc<Node>)> {
        self.catalog.named_nodes()
    }

    /// The names of all functions, sorted.
    pub fn functions() -> &'static [String] {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        NAMES.get_or_init(plan::functions)
    }

    /// Starts a statement. Its result grows while it runs; dropping it ends it.
    ///
    /// # Errors
    /// A mistake in the statement, with its place; what opening the files that it names gives.
    pub fn start(&self, task: &Task, sql: &str) -> Result<Arc<QueryResult>, Failure> {
        task.check()?;
        let planned = plan::prepare(self, task, sql, None)?;
        Ok(Arc::new(QueryResult::start(planned, &self.settings)?))
    }

    /// Starts a statement over the one table `"table"`.
    fn start_over(
        &self,
        task: &Task,
        sql: &str,
        only: plan::Only<'_>,
        guessed: Option<(TypeOverrides, Arc<Typed>)>,
    ) -> Result<QueryResult, Failure> {
        task.check()?;
        let mut planned = plan::prepare(self, task, sql, Some(only))?;
        planned.guessed.extend(guessed);
        Ok(QueryResult::start(planned, &self.settings)?)
    }

    /// Runs a statement to its end. `shown` gets the growing result. Where a text file's column turns out
    /// not to be of the type that its first rows let guess, the statement runs anew with a wider type.
    ///
    /// # Errors
    /// As [`Engine::start`], and what goes wrong while it runs.
    pub fn run(
        &self,
        task: &Task,
        sql: &str,
        mut shown: impl FnMut(&Arc<QueryResult>),
    ) -> Result<Arc<QueryResult>, Failure> {
        // Files that other statements named may have changed.
        self.catalog.forget_visited();
        loop {
            let answer = self.start(task, sql)?;
            shown(&answer);
            match answer.wait(task) {
                Ok(()) => return Ok(answer),
                Err(error) if !error.is_cancelled() && answer.widen() => {}
                Err(error) => return Err(answer.failure().unwrap_or_else(|| error.into())),
            }
        }
    }
}

/// The stack of threads that walk expressions.
const STACK: usize = 64 << 20;

/// The names by which statements and filters call the columns of a table: those in the file, but all
/// different and none empty.
pub fn column_names(schema: &arrow::datatypes::SchemaRef) -> Vec<String> {
    names::unique(schema.fields().iter().map(|field| field.name().as_str()))
}
