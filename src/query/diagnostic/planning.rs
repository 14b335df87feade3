//! What the planner refuses: the statement is looked through for what is wrong by itself, and then for the innermost
//! expression that cannot be planned.

use super::{Located, Scope, SqlDiagnostic, arguments, first, nearest, sentence, values};
use crate::bytes::display::arrow_type;
use crate::query::{Engine, statement::one};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{DFSchema, DataFusionError};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::ExprSchemable;
use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, Function, GroupByExpr, LimitClause, OrderByKind, Query, Select, SelectItem, SetExpr,
    Spanned, Statement, Value, Visit, Visitor,
};
use std::ops::ControlFlow;

/// The longest statement whose expressions are planned one by one, in bytes.
const LONG: usize = 16 << 10;

/// What is wrong with a statement that the planner refuses; `None` where it is not found.
pub(super) fn diagnosed(scope: &Scope<'_>, session: &SessionState) -> Option<SqlDiagnostic> {
    let statement = one(scope.sql).ok()?;
    let mut clauses = Clauses { scope, session, found: None };
    let _ = statement.visit(&mut clauses);
    let found = unknown_function(&statement)
        .or(clauses.found)
        .or_else(|| substring(&statement))
        .or_else(|| values::field(scope, &statement))
        .or_else(|| unfit(scope, session, &statement));
    found.map(|(message, span)| SqlDiagnostic::new(message).over(scope.sql, span))
}

/// A function that there is not.
fn unknown_function(statement: &Statement) -> Option<Located> {
    let known = Engine::functions();
    first(statement, |expr| {
        let Expr::Function(call) = expr else { return None };
        let name = call.name.to_string();
        let folded = name.to_lowercase();
        if known.binary_search(&folded).is_ok() || folded == "unnest" {
            return None;
        }
        let near = nearest(&folded, known.iter().map(String::as_str));
        let advice = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Some((format!("there is no function {name}{advice}"), call.name.span()))
    })
}

/// `substr(text)`.
fn substring(statement: &Statement) -> Option<Located> {
    first(statement, |expr| match expr {
        Expr::Substring { substring_from: None, substring_for: None, .. } => {
            let what = "substr takes a text and where to begin, and how many letters: substr(text, 2, 3)";
            Some((what.to_owned(), expr.span()))
        }
        _ => None,
    })
}

/// Looks for what clauses cannot have.
struct Clauses<'a> {
    scope: &'a Scope<'a>,
    session: &'a SessionState,
    found: Option<Located>,
}

impl Visitor for Clauses<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.found = limit(query).or_else(|| self.order(query));
        self.found.as_ref().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let aggregate = select.selection.as_ref().and_then(|condition| self.aggregate(condition));
        self.found = aggregate.or_else(|| self.condition(select)).or_else(|| self.ungrouped(select));
        self.found.as_ref().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
    }
}

/// `LIMIT 'x'`.
fn limit(query: &Query) -> Option<Located> {
    let (limit, offset) = match query.limit_clause.as_ref()? {
        LimitClause::LimitOffset { limit, offset, .. } => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        LimitClause::OffsetCommaLimit { offset, limit } => (Some(limit), Some(offset)),
    };
    let wrong = |expr: &&Expr| match expr {
        Expr::Value(value) => !matches!(value.value, Value::Number(..) | Value::Null | Value::Placeholder(_)),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        _ => false,
    };
    [("LIMIT", limit), ("OFFSET", offset)].into_iter().find_map(|(word, given)| {
        let expr = given.filter(wrong)?;
        Some((format!("{word} takes a whole number, not {expr}"), expr.span()))
    })
}

impl Clauses<'_> {
    fn is_aggregate(&self, call: &Function) -> bool {
        let name = call.name.to_string().to_lowercase();
        call.over.is_none() && self.session.aggregate_functions().contains_key(&name)
    }

    /// `ORDER BY 5` of fewer columns.
    fn order(&self, query: &Query) -> Option<Located> {
        let OrderByKind::Expressions(keys) = &query.order_by.as_ref()?.kind else { return None };
        let SetExpr::Select(select) = query.body.as_ref() else { return None };
        let is_one =
            |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        let columns = match select.projection.as_slice() {
            [SelectItem::Wildcard(_)] => match self.scope.schemas {
                [table] => table.fields().len(),
                _ => return None,
            },
            items => items.iter().all(is_one).then_some(items.len())?,
        };
        keys.iter().find_map(|key| {
            let Expr::Value(value) = &key.expr else { return None };
            let Value::Number(number, _) = &value.value else { return None };
            let number: usize = number.to_string().parse().ok()?;
            let what = format!("there is no column {number} to order by; the result has {columns}");
            (number == 0 || number > columns).then(|| (what, key.expr.span()))
        })
    }

    fn aggregate(&self, condition: &Expr) -> Option<Located> {
        first(condition, |expr| match expr {
            Expr::Function(call) if self.is_aggregate(call) => {
                let what =
                    format!("{} is of many rows, WHERE looks at one: conditions on it stand", call.name);
                Some((format!("{what} in HAVING, behind GROUP BY"), expr.span()))
            }
            _ => None,
        })
    }

    /// `WHERE name`.
    fn condition(&self, select: &Select) -> Option<Located> {
        select.selection.iter().chain(&select.having).find_map(|condition| {
            let column = self.scope.column(condition)?;
            let what = format!("a condition is true or false; {} is of type", column.name());
            let is_wrong = *column.data_type() != DataType::Boolean;
            is_wrong.then(|| (format!("{what} {}", arrow_type(column.data_type())), condition.span()))
        })
    }

    /// A column beside aggregates that is not grouped by.
    fn ungrouped(&self, select: &Select) -> Option<Located> {
        let GroupByExpr::Expressions(groups, _) = &select.group_by else { return None };
        // Groups by number or by another name are the engine's to know.
        let is_plain = |expr: &Expr| self.scope.column(expr).is_some();
        if !groups.iter().all(is_plain) {
            return None;
        }
        let items = || {
            select.projection.iter().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                _ => None,
            })
        };
        let calls = |expr: &Expr| {
            first(expr, |part| matches!(part, Expr::Function(call) if self.is_aggregate(call)).then_some(()))
        };
        if groups.is_empty() && items().all(|item| calls(item).is_none()) {
            return None;
        }
        let grouped = |expr: &Expr| {
            let name = self.scope.column(expr).map(|field| field.name());
            groups.iter().any(|group| self.scope.column(group).map(|field| field.name()) == name)
        };
        let item = items().find(|item| is_plain(item) && !grouped(item))?;
        let name = self.scope.column(item)?.name();
        let what = format!("{name:?} has to stand in GROUP BY or in an aggregate function, as max(…)");
        Some((what, item.span()))
    }
}

/// The innermost expression that cannot be planned while all its parts can, in the engine's words.
fn unfit(scope: &Scope<'_>, session: &SessionState, statement: &Statement) -> Option<Located> {
    if scope.sql.len() > LONG {
        return None;
    }
    let fields: Vec<_> = scope.schemas.iter().flat_map(|schema| schema.fields().iter().cloned()).collect();
    let names = crate::query::names::unique(fields.iter().map(|field| field.name().as_str()));
    let fields: Vec<_> =
        fields.iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name)).collect();
    let schema = DFSchema::try_from(Schema::new(fields)).ok()?;
    let mut parts = Parts { session, schema, open: vec![true] };
    statement.visit(&mut parts).break_value()
}

/// Plans each expression behind its parts.
struct Parts<'a> {
    session: &'a SessionState,
    schema: DFSchema,
    /// For each expression that is being visited, whether all its parts so far could be planned.
    open: Vec<bool>,
}

impl Parts<'_> {
    fn planned(&self, expr: &Expr) -> Result<DataType, DataFusionError> {
        let expr = ExprWithAlias { expr: expr.clone(), alias: None };
        let planned = self.session.create_logical_expr_from_sql_expr(expr, &self.schema)?;
        planned.get_type(&self.schema)
    }

    /// A function and the types of its arguments, and what it takes.
    fn call(&self, call: &Function) -> Option<String> {
        let name = call.name.to_string().to_lowercase();
        let signature = match self.session.scalar_functions().get(&name) {
            Some(function) => function.signature(),
            None => self.session.aggregate_functions().get(&name)?.signature(),
        };
        let types = arguments(call).map(|expr| Some(self.planned(expr).ok()?.to_string()));
        let types = types.collect::<Option<Vec<_>>>()?.join(", ");
        let takes = signature.type_signature.to_string_repr_with_names(signature.parameter_names.as_deref());
        let takes: Vec<String> = takes.iter().take(6).map(|takes| format!("{name}({takes})")).collect();
        Some(format!("no function fits {name}({types}); there is {}", takes.join(", ")))
    }
}

impl Visitor for Parts<'_> {
    type Break = Located;

    fn pre_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<Located> {
        self.open.push(true);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Located> {
        let whole = self.open.pop().unwrap_or(false);
        let is_name = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let planned = if whole { self.planned(expr).map(|_| ()).map_err(Some) } else { Err(None) };
        match planned {
            Err(Some(error)) if !is_name && !has_query(expr) => {
                let call = if let Expr::Function(call) = expr { self.call(call) } else { None };
                return ControlFlow::Break((
                    call.unwrap_or_else(|| sentence(error.find_root())),
                    expr.span(),
                ));
            }
            Err(_) => {
                if let Some(above) = self.open.last_mut() {
                    *above = false;
                }
            }
            Ok(()) => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression has a query in it, which cannot be planned by itself.
fn has_query(expr: &Expr) -> bool {
    first(expr, |part| {
        matches!(part, Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. }).then_some(())
    })
    .is_some()
}
