//! The tensors of a model, whatever file holds them: all arrays of numbers below a node, and a table of them with a row
//! each. What only a pass over the elements tells is read when a column of it is.

pub mod groups;
pub mod treemap;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::packed_bytes;
use crate::data::content::table::{self, Columns};
use crate::data::content::{Array, Content, Rows, Table};
use crate::data::node::Node;
use crate::data::open;
use crate::data::stats::tensor::{TensorStats, has_tensor_stats, tensor};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A tensor of a model.
#[derive(Clone)]
pub struct Tensor {
    /// Its path below the node whose tensors they are.
    pub path: String,
    /// Its elements.
    pub array: Arc<dyn Array>,
    /// Its node.
    pub node: Arc<Node>,
}

impl Tensor {
    /// How many elements it has.
    pub fn parameters(&self) -> u64 {
        limits::elements(self.array.shape()).unwrap_or(u64::MAX)
    }

    /// How many bytes it has in its file, or when its elements lie packed, where that is not known.
    pub fn bytes(&self) -> u64 {
        let packed = || packed_bytes(self.parameters(), self.array.dtype()).unwrap_or(u64::MAX);
        self.array.facts().bytes_stored.unwrap_or_else(packed)
    }

    /// The module that it belongs to: its path without the last part.
    pub fn module(&self) -> &str {
        self.path.rsplit_once(['.', '/']).map_or("", |(module, _)| module)
    }

    /// The number of its layer: the first part of its path that is one.
    pub fn layer(&self) -> Option<u64> {
        self.path.split(['.', '/']).find_map(|part| part.parse().ok())
    }
}

/// What is wrong with the places of values below a node, where a node is.
pub struct Misplaced {
    /// Its path.
    pub path: String,
    /// What is wrong.
    pub error: Error,
}

/// The tensors below a node, and the nodes that have problems.
#[derive(Default)]
pub struct Tensors {
    /// All arrays of numbers, in the order of the tree.
    pub all: Vec<Tensor>,
    /// Nodes that could not be read, or not wholly.
    pub problems: Vec<Misplaced>,
}

impl Tensors {
    /// Those at and below `node`, whose own path is `path`. Parts of a table or a picture are no tensors, and what is made
    /// of other tensors below the node counts once. Of a model's folder those in other files, such as the same weights in
    /// another format, are left out; of a folder that has no tensors of its own they are all there is.
    ///
    /// # Errors
    /// Those of reading the tree; `Limit` where there are more nodes than [`limits::WALKED`].
    pub fn below(task: &Task, node: &Arc<Node>, path: &str) -> Result<Self> {
        let mut found = Tensors::default();
        // What lies in files below, apart from what is the node's own; and the level of the file that is gone through.
        let (mut inside, mut file) = (Tensors::default(), None);
        let walked = open::walk_all(task, node, path, limits::DEPTH, &mut |node, path, level| {
            if node.derived && level > 0 {
                return Ok(false);
            }
            file = file.filter(|of| *of < level);
            if file.is_none() && level > 0 && !node.formats.is_empty() {
                file = Some(level);
            }
            let found = if file.is_some() { &mut inside } else { &mut found };
            if let Some(error) = &node.problem {
                found.problems.push(Misplaced { path: path.to_owned(), error: error.clone() });
            }
            match &node.content {
                Some(Content::Array(array)) if has_tensor_stats(array.dtype()) && !node.bare_dimension => {
                    found.all.push(Tensor {
                        path: path.to_owned(),
                        array: array.clone(),
                        node: node.clone(),
                    });
                    Ok(true)
                }
                None | Some(Content::Array(_) | Content::Graph(_)) => Ok(true),
                Some(Content::Table(_) | Content::Image(_) | Content::Text(_) | Content::Bytes(_)) => {
                    Ok(false)
                }
            }
        });
        if found.all.is_empty() {
            found.all = inside.all;
            found.problems.extend(inside.problems);
        }
        match walked.unless_cancelled()? {
            Err(error) if found.all.is_empty() => Err(error),
            Err(error) => {
                found.problems.push(Misplaced { path: path.to_owned(), error });
                Ok(found)
            }
            Ok(()) => Ok(found),
        }
    }
}

/// The columns of the table of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Module,
    Layer,
    Dtype,
    Shape,
    Parameters,
    Bytes,
    Share,
    File,
    Offset,
    Min,
    Max,
    Mean,
    Std,
    Norm,
    Nan,
    Infinite,
    Zeros,
}

impl Column {
    const ALL: [Column; 18] = [
        Column::Name,
        Column::Module,
        Column::Layer,
        Column::Dtype,
        Column::Shape,
        Column::Parameters,
        Column::Bytes,
        Column::Share,
        Column::File,
        Column::Offset,
        Column::Min,
        Column::Max,
        Column::Mean,
        Column::Std,
        Column::Norm,
        Column::Nan,
        Column::Infinite,
        Column::Zeros,
    ];

    /// Its name in the schema.
    fn name(self) -> &'static str {
        match self {
            Column::Name => "name",
            Column::Module => "module",
            Column::Layer => "layer",
            Column::Dtype => "dtype",
            Column::Shape => "shape",
            Column::Parameters => "parameters",
            Column::Bytes => "bytes",
            Column::Share => "share",
            Column::File => "file",
            Column::Offset => "offset",
            Column::Min => "min",
            Column::Max => "max",
            Column::Mean => "mean",
            Column::Std => "std",
            Column::Norm => "norm",
            Column::Nan => "nan",
            Column::Infinite => "inf",
            Column::Zeros => "zeros",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Column::Name | Column::Module | Column::Dtype | Column::Shape | Column::File => DataType::Utf8,
            Column::Layer | Column::Parameters | Column::Bytes | Column::Offset => DataType::UInt64,
            Column::Nan | Column::Infinite | Column::Zeros => DataType::UInt64,
            Column::Share | Column::Min | Column::Max | Column::Mean | Column::Std | Column::Norm => {
                DataType::Float64
            }
        }
    }

    /// Whether its values come from a pass over the elements.
    fn is_scanned(self) -> bool {
        matches!(
            self,
            Column::Min
                | Column::Max
                | Column::Mean
                | Column::Std
                | Column::Norm
                | Column::Nan
                | Column::Infinite
                | Column::Zeros
        )
    }
}

/// What a pass told of a tensor.
type Scanned = Option<Result<Arc<TensorStats>>>;

/// The tensors of a model as a table. What passes over their elements tell is kept, and shared by its clones.
#[derive(Clone)]
pub struct Parameters {
    tensors: Arc<Vec<Tensor>>,
    columns: Columns,
    total: u64,
    scanned: Arc<Vec<Mutex<Scanned>>>,
    /// How many passes were made.
    passes: Arc<AtomicUsize>,
}

impl Parameters {
    /// A table of these tensors.
    pub fn new(tensors: Vec<Tensor>) -> Self {
        let field = |column: &Column| Field::new(column.name(), column.data_type(), true);
        let schema: SchemaRef = Arc::new(Schema::new(Column::ALL.iter().map(field).collect::<Vec<_>>()));
        Parameters {
            total: tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.parameters())),
            scanned: Arc::new(tensors.iter().map(|_| Mutex::default()).collect()),
            tensors: Arc::new(tensors),
            columns: schema.into(),
            passes: Arc::default(),
        }
    }

    /// The tensors, a row each.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The elements of all of them.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them were gone through: what is known changes with it.
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// What a pass over the nth has told, if there was one. Never waits for a pass that runs.
    pub fn known(&self, n: usize) -> Scanned {
        self.scanned.get(n)?.lock().clone()
    }

    /// What a pass over the nth tells; made now if there was none yet.
    ///
    /// # Errors
    /// Those of reading, which are kept; `Cancelled`.
    pub fn stats(&self, task: &Task, n: usize) -> Result<Arc<TensorStats>> {
        let (Some(place), Some(one)) = (self.scanned.get(n), self.tensors.get(n)) else {
            return Err(Error::bug(format!("no tensor {n}")));
        };
        if let Some(known) = &*place.lock() {
            return known.clone();
        }
        // Without the lock: a thread of the pool that waits for its parts may come here again.
        let made = tensor(&*one.array, task).map(Arc::new).map_err(|error| error.in_node(&one.path));
        let made = made.unless_cancelled()?;
        let mut place = place.lock();
        if place.is_none() {
            self.passes.fetch_add(1, Ordering::Relaxed);
        }
        place.get_or_insert(made).clone()
    }

    /// The names, types and shapes of some rows, and what is known of their storage.
    fn column(&self, task: &Task, rows: &Range<usize>, column: Column) -> Result<ArrayRef> {
        let tensors = self.tensors.get(rows.clone()).unwrap_or_default();
        let text = |of: &dyn Fn(&Tensor) -> Option<String>| -> ArrayRef {
            Arc::new(tensors.iter().map(of).collect::<StringArray>())
        };
        let count = |of: &dyn Fn(&Tensor) -> Option<u64>| -> ArrayRef {
            Arc::new(tensors.iter().map(of).collect::<UInt64Array>())
        };
        Ok(match column {
            Column::Name => text(&|tensor| Some(tensor.path.clone())),
            Column::Module => text(&|tensor| Some(tensor.module().to_owned())),
            Column::Layer => count(&Tensor::layer),
            Column::Dtype => text(&|tensor| Some(tensor.array.dtype().to_string())),
            Column::Shape => text(&|tensor| Some(shape_text(tensor.array.shape()))),
            Column::Parameters => count(&|tensor| Some(tensor.parameters())),
            Column::Bytes => count(&|tensor| Some(tensor.bytes())),
            Column::Share => {
                let share = |tensor: &Tensor| tensor.parameters() as f64 / self.total.max(1) as f64;
                Arc::new(tensors.iter().map(|tensor| Some(share(tensor))).collect::<Float64Array>())
            }
            Column::File => text(&|tensor| Some(tensor.array.storage()?.0.name().to_owned())),
            Column::Offset => count(&|tensor| Some(tensor.array.storage()?.1.start)),
            scanned => return self.scanned_column(task, rows, scanned),
        })
    }

    /// A column of which passes over the elements tell; null where a tensor cannot be read.
    fn scanned_column(&self, task: &Task, rows: &Range<usize>, column: Column) -> Result<ArrayRef> {
        // Several at a time: at the end of one not all cores have work.
        let each = |n| Ok(self.stats(task, n).unless_cancelled()?.ok());
        let all: Vec<Option<Arc<TensorStats>>> =
            rows.clone().into_par_iter().map(each).collect::<Result<_>>()?;
        let count = |of: &dyn Fn(&TensorStats) -> u64| -> ArrayRef {
            Arc::new(all.iter().map(|stats| Some(of(stats.as_ref()?))).collect::<UInt64Array>())
        };
        let number = |of: &dyn Fn(&TensorStats) -> Option<f64>| -> ArrayRef {
            Arc::new(all.iter().map(|stats| of(stats.as_ref()?)).collect::<Float64Array>())
        };
        Ok(match column {
            Column::Min => number(&|stats| stats.min),
            Column::Max => number(&|stats| stats.max),
            Column::Mean => number(&|stats| stats.mean),
            Column::Std => number(&|stats| stats.std),
            Column::Norm => number(&|stats| stats.norm),
            Column::Nan => count(&|stats| stats.nan),
            Column::Infinite => count(&|stats| stats.infinite),
            Column::Zeros => count(&|stats| stats.zeros),
            other => return Err(Error::bug(format!("{} is in no pass", other.name()))),
        })
    }
}

/// `4096×11008`; of a scalar nothing.
pub fn shape_text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

impl Table for Parameters {
    fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.tensors.len() as u64)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let rows = table::cut(&rows, self.tensors.len() as u64);
        let rows = rows.start as usize..rows.end as usize;
        let wanted: Vec<Column> = columns.iter().filter_map(|n| Column::ALL.get(*n).copied()).collect();
        if wanted.iter().any(|column| column.is_scanned()) {
            let bytes = self.tensors.get(rows.clone()).unwrap_or_default().iter().map(Tensor::bytes);
            task.set_total(bytes.fold(0, u64::saturating_add));
        }
        let values: Vec<ArrayRef> =
            wanted.iter().map(|column| self.column(task, &rows, *column)).collect::<Result<_>>()?;
        table::batch(self.schema(), columns, values, rows.len())
    }
}
