//! Expressions that look at a task, and slow ones that are evaluated a few rows at a time.

use super::{Done, Watch, stopped};
use crate::data::cell;
use crate::query::diagnostic::{Cause, ExpressionError};
use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, LikeExpr};
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
pub(super) fn watched(inner: Expression, watch: &Watch) -> Expression {
    Arc::new(Watched { inner, watch: watch.clone(), rows: None })
}

/// The expression, where calls of functions and patterns look at their task every few rows, and what can fail leaves
/// behind why; none where there is neither in it.
pub(super) fn slow(expression: &Expression, watch: &Watch) -> Option<Expression> {
    exchanged(expression, watch, |part| part.downcast_ref::<CastExpr>().is_some())
}

/// The same for the condition of a scan of a table with this schema. Casts of numbers stay as they are: row groups
/// are left out by them.
pub(super) fn of_scan(expression: &Expression, watch: &Watch, schema: &Schema) -> Option<Expression> {
    let casts_text = |part: &Expression| {
        let cast = part.downcast_ref::<CastExpr>();
        cast.and_then(|cast| cast.expr().data_type(schema).ok()).is_some_and(|from| from.is_string())
    };
    exchanged(expression, watch, casts_text)
}

/// The expression with parts that are watched: slow ones, arithmetic, and `casts`.
fn exchanged(
    expression: &Expression,
    watch: &Watch,
    casts: impl Fn(&Expression) -> bool,
) -> Option<Expression> {
    let exchange = |part: Expression| {
        let rows = is_slow(&part).then(|| Arc::new(AtomicUsize::new(FIRST)));
        let arithmetic = |binary: &BinaryExpr| {
            matches!(
                binary.op(),
                Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
            )
        };
        let fails = || part.downcast_ref::<BinaryExpr>().is_some_and(arithmetic) || casts(&part);
        Ok::<_, DataFusionError>(match rows.is_some() || fails() {
            true => {
                let watched = Watched { inner: part, watch: watch.clone(), rows };
                Transformed::yes(Arc::new(watched) as Expression)
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
    watch: Watch,
    /// How many rows it is evaluated for at once; none where that is any number.
    rows: Option<Arc<AtomicUsize>>,
}

impl Watched {
    /// What the expression, which failed for a batch, could not do.
    fn cause(&self, batch: &RecordBatch) -> Cause {
        if let Some(cast) = self.inner.downcast_ref::<CastExpr>() {
            let column = cast.expr().downcast_ref::<Column>().map(|column| column.name().to_owned());
            let to = cast.cast_type().clone();
            return Cause::Cast { column, value: unfit(cast, batch), to: Some(to) };
        }
        if let Some(function) = self.inner.downcast_ref::<ScalarFunctionExpr>() {
            let function = function.fun();
            let names = function.aliases().iter().map(String::as_str).chain([function.name()]);
            return Cause::Call(names.map(str::to_lowercase).collect());
        }
        match self.inner.downcast_ref::<BinaryExpr>() {
            Some(binary) if !is_slow(&self.inner) => Cause::Overflow(Some(*binary.op())),
            _ => Cause::Other,
        }
    }

    /// The values of all rows, a few rows at a time.
    fn by_parts(&self, batch: &RecordBatch, rows: &AtomicUsize) -> Done<ColumnarValue> {
        let count = batch.num_rows();
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut from = 0;
        while from < count {
            stopped(&self.watch)?;
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

/// The first value that a cast cannot take.
fn unfit(cast: &CastExpr, batch: &RecordBatch) -> Option<String> {
    let values = cast.expr().evaluate(batch).ok()?.into_array(batch.num_rows()).ok()?;
    let options = CastOptions { safe: true, ..cast.cast_options().clone() };
    let found = cast_with_options(&values, cast.cast_type(), &options).ok()?;
    let row = (0..values.len()).find(|&row| values.is_valid(row) && found.is_null(row))?;
    cell::text(values.as_ref(), row)
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
        let found = match &self.rows {
            Some(rows) if batch.num_rows() > 0 => self.by_parts(batch, rows),
            _ => {
                stopped(&self.watch)?;
                self.inner.evaluate(batch)
            }
        };
        if let Err(error) = &found
            && !self.watch.task.is_cancelled()
        {
            // Of expressions in expressions the inner ones come first.
            self.watch.failed.get_or_init(|| ExpressionError::new(self.cause(batch), error));
        }
        found
    }

    fn children(&self) -> Vec<&Expression> {
        self.inner.children()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expression>) -> Done<Expression> {
        let inner = self.inner.clone().with_new_children(children)?;
        Ok(Arc::new(Watched { inner, watch: self.watch.clone(), rows: self.rows.clone() }))
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
