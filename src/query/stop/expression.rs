//! Expressions that look at a task, and slow ones that are evaluated a few rows at a time.

use super::{Done, stopped};
use crate::bytes::task::Task;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, LikeExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

type Expression = Arc<dyn PhysicalExpr>;

/// Rows that a slow expression is first evaluated for at once.
const FIRST: usize = 256;
/// About how long that should take.
const LONG: Duration = Duration::from_millis(20);

/// An expression that is not evaluated any more once its task is cancelled.
pub(super) fn watched(inner: Expression, task: &Task) -> Expression {
    Arc::new(Watched { inner, task: task.clone(), rows: None })
}

/// The expression, where calls of functions and patterns look at their task every few rows; none where there are
/// none of these in it.
pub(super) fn slow(expression: &Expression, task: &Task) -> Option<Expression> {
    let exchange = |part: Expression| {
        Ok::<_, DataFusionError>(match is_slow(&part) {
            true => {
                let rows = Some(Arc::new(AtomicUsize::new(FIRST)));
                Transformed::yes(Arc::new(Watched { inner: part, task: task.clone(), rows }) as Expression)
            }
            false => Transformed::no(part),
        })
    };
    let done = expression.clone().transform_up(exchange).ok()?;
    done.transformed.then_some(done.data)
}

/// Whether a row may take long: a pattern in a long text.
fn is_slow(expression: &Expression) -> bool {
    let patterns = |operator: &Operator| {
        matches!(
            operator,
            Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch
                | Operator::LikeMatch
                | Operator::ILikeMatch
                | Operator::NotLikeMatch
                | Operator::NotILikeMatch
        )
    };
    expression.downcast_ref::<ScalarFunctionExpr>().is_some()
        || expression.downcast_ref::<LikeExpr>().is_some_and(|like| prefix(like).is_none())
        || expression.downcast_ref::<BinaryExpr>().is_some_and(|binary| patterns(binary.op()))
}

/// The text that a pattern only begins with: a scan can leave out row groups for it, and it is quick.
fn prefix(like: &LikeExpr) -> Option<()> {
    let pattern = like.pattern().downcast_ref::<datafusion::physical_expr::expressions::Literal>()?;
    let text = pattern.value().try_as_str()??;
    text.strip_suffix('%').filter(|text| !text.contains(['%', '_'])).map(drop)
}

/// An expression that looks at its task.
struct Watched {
    inner: Expression,
    task: Task,
    /// How many rows it is evaluated for at once; none where that is any number.
    rows: Option<Arc<AtomicUsize>>,
}

impl Watched {
    /// The values of all rows, a few rows at a time.
    fn by_parts(&self, batch: &RecordBatch, rows: &AtomicUsize) -> Done<ColumnarValue> {
        let count = batch.num_rows();
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut from = 0;
        while from < count {
            stopped(&self.task)?;
            let len = rows.load(Ordering::Relaxed).clamp(1, count - from);
            let begun = Instant::now();
            let found = match len == count {
                true => self.inner.evaluate(batch)?,
                false => ColumnarValue::Array(self.inner.evaluate(&batch.slice(from, len))?.into_array(len)?),
            };
            let took = begun.elapsed();
            if took < LONG / 4 {
                rows.store(len.saturating_mul(2).max(rows.load(Ordering::Relaxed)), Ordering::Relaxed);
            } else if took > LONG * 2 {
                rows.store((len / 2).max(1), Ordering::Relaxed);
            }
            match found {
                whole if len == count => return Ok(whole),
                ColumnarValue::Array(part) => parts.push(part),
                ColumnarValue::Scalar(_) => return internal_err!("a part is no array"),
            }
            from += len;
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(arrow::compute::concat(&parts)?))
    }
}

impl PhysicalExpr for Watched {
    fn data_type(&self, schema: &Schema) -> Done<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Done<bool> {
        self.inner.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Done<FieldRef> {
        self.inner.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Done<ColumnarValue> {
        match &self.rows {
            Some(rows) if batch.num_rows() > 0 => self.by_parts(batch, rows),
            _ => {
                stopped(&self.task)?;
                self.inner.evaluate(batch)
            }
        }
    }

    fn children(&self) -> Vec<&Expression> {
        self.inner.children()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expression>) -> Done<Expression> {
        let inner = self.inner.clone().with_new_children(children)?;
        Ok(Arc::new(Watched { inner, task: self.task.clone(), rows: self.rows.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }

    fn is_volatile_node(&self) -> bool {
        self.inner.is_volatile_node()
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}
