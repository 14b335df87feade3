//! Names in a statement, in whatever case, as the tables have them; names of a result's columns.
//!
//! A name without quotes that is there in exactly this case means that; else the one that differs in case
//! only. Names in quotes are taken as they stand.

use arrow::datatypes::{DataType, Fields};
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Names that are there.
#[derive(Default)]
pub(super) struct Names {
    exact: HashSet<String>,
    folded: HashMap<String, String>,
    /// Columns of structs, and the names of fields inside any.
    structs: HashSet<String>,
    fields: Option<Box<Names>>,
}

impl Names {
    pub(super) fn add(&mut self, name: &str) {
        if self.exact.insert(name.to_owned()) {
            self.folded.entry(name.to_lowercase()).or_insert_with(|| name.to_owned());
        }
    }

    /// Adds the names of columns, and of the fields inside them.
    pub(super) fn add_fields(&mut self, columns: &Fields) {
        for field in columns {
            self.add(field.name());
            if let Some(inner) = inside(field.data_type()) {
                self.structs.insert(field.name().clone());
                self.fields.get_or_insert_default().add_fields(inner);
            }
        }
    }

    /// The names of the fields behind a name: those of structs, where it is a column of them.
    fn behind(&self, first: &str) -> &Names {
        match &self.fields {
            Some(fields) if self.structs.contains(first) => fields,
            _ => self,
        }
    }

    fn settle(&self, ident: &mut Ident) {
        if ident.quote_style.is_some() || self.exact.contains(&ident.value) {
            return;
        }
        if let Some(name) = self.folded.get(&ident.value.to_lowercase()) {
            ident.value.clone_from(name);
        }
    }

    fn settle_all(&self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.settle(ident);
            }
        }
    }
}

/// The fields of a struct, or of the structs in a list.
fn inside(data_type: &DataType) -> Option<&Fields> {
    match data_type {
        DataType::Struct(fields) => Some(fields),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            inside(field.data_type())
        }
        _ => None,
    }
}

/// The names that a statement makes itself: of common table expressions, and by AS.
#[derive(Default)]
pub(super) struct DefinedNames {
    pub(super) ctes: Vec<String>,
    pub(super) aliases: Vec<String>,
}

impl Visitor for DefinedNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.ctes.push(cte.alias.name.value.clone());
            self.aliases.extend(cte.alias.columns.iter().map(|c| c.name.value.clone()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.aliases.push(alias.value.clone());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias,
            _ => &None,
        };
        if let Some(alias) = alias {
            self.aliases.push(alias.name.value.clone());
            self.aliases.extend(alias.columns.iter().map(|c| c.name.value.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// Puts every name without quotes into its real case.
pub(super) struct Settle<'a>(pub(super) &'a Names);

impl VisitorMut for Settle<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.0.settle(ident),
            Expr::CompoundIdentifier(parts) => {
                let mut names = self.0;
                for part in parts {
                    names.settle(part);
                    names = names.behind(&part.value);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    self.0.settle_all(name);
                    wildcard(self.0, options);
                }
                SelectItem::QualifiedWildcard(_, options) | SelectItem::Wildcard(options) => {
                    wildcard(self.0, options);
                }
                _ => {}
            }
        }
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            if let Some(JoinConstraint::Using(columns)) = constraint(&mut join.join_operator) {
                columns.iter_mut().for_each(|name| self.0.settle_all(name));
            }
        }
        ControlFlow::Continue(())
    }
}

fn wildcard(names: &Names, options: &mut WildcardAdditionalOptions) {
    match &mut options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => names.settle_all(name),
        Some(ExcludeSelectItem::Multiple(all)) => all.iter_mut().for_each(|name| names.settle_all(name)),
        None => {}
    }
    if let Some(except) = &mut options.opt_except {
        names.settle(&mut except.first_element);
        except.additional_elements.iter_mut().for_each(|ident| names.settle(ident));
    }
    if let Some(replace) = &mut options.opt_replace {
        replace.items.iter_mut().for_each(|item| names.settle(&mut item.column_name));
    }
}

fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::Semi(c)
        | JoinOperator::LeftSemi(c)
        | JoinOperator::RightSemi(c)
        | JoinOperator::Anti(c)
        | JoinOperator::LeftAnti(c)
        | JoinOperator::RightAnti(c) => Some(c),
        _ => None,
    }
}

/// The longest name that an expression gives its column.
const LONG: usize = 120;

/// Names the result's columns as the statement writes them (`sum(a)`, not the engine's `sum(t.a)`), and
/// those that would be called alike by numbers.
pub(super) fn name_columns(query: &mut Query) {
    let mut body = query.body.as_mut();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            SetExpr::Query(inner) if inner.with.is_none() => body = inner.body.as_mut(),
            _ => return,
        }
    };
    let mut taken: HashSet<String> = HashSet::new();
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            taken.insert(alias.value.to_lowercase());
        }
    }
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let (name, plain) = match &*expr {
            Expr::Identifier(ident) => (ident.value.clone(), true),
            Expr::CompoundIdentifier(parts) => {
                (parts.last().map(|p| p.value.clone()).unwrap_or_default(), parts.len() <= 2)
            }
            // A wildcard in a function of its own is spread into columns by the engine.
            Expr::QualifiedWildcard(..) | Expr::Wildcard(..) => continue,
            other => (other.to_string(), false),
        };
        if is_unnest(expr) {
            continue;
        }
        let name = match name.char_indices().nth(LONG) {
            Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
            None => name,
        };
        // Names without quotes may mean the same column in another case.
        let free = free(&name, |name| taken.contains(&name.to_lowercase()));
        if !plain || free != name {
            *item =
                SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', free.clone()) };
        }
        taken.insert(free.to_lowercase());
    }
}

/// `unnest` of a struct makes several columns, which cannot have one name.
fn is_unnest(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("unnest"))
}

/// `name`, or `name_2` and so on: the first that is not taken.
pub(super) fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(name) {
        return name.to_owned();
    }
    (2..).map(|n: u64| format!("{name}_{n}")).find(|name| !taken(name)).unwrap_or_default()
}

/// Names that are all different and none empty: the second `a` is `a_2`, a nameless one `column3`.
pub(super) fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let there: HashSet<&str> = names.iter().copied().collect();
    let mut taken: HashSet<String> = HashSet::with_capacity(names.len());
    let mut out = Vec::with_capacity(names.len());
    let mut next: HashMap<&str, u64> = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        let mut wanted = if name.is_empty() { format!("column{index}") } else { (*name).to_owned() };
        if taken.contains(&wanted) || (name.is_empty() && there.contains(wanted.as_str())) {
            // Counted on, so that many columns of one name do not look through all numbers each.
            let n = next.entry(name).or_insert(2);
            loop {
                wanted = format!("{name}_{n}");
                *n += 1;
                if !taken.contains(&wanted) && !there.contains(wanted.as_str()) {
                    break;
                }
            }
        }
        taken.insert(wanted.clone());
        out.push(wanted);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_name_are_told_apart() {
        let names = ["a", "a", "", "a_2", "a", "column2"];
        assert_eq!(unique(names.into_iter()), ["a", "a_3", "_2", "a_2", "a_4", "column2"]);
        assert_eq!(unique(["", "x", ""].into_iter()), ["column0", "x", "column2"]);
    }

    #[test]
    fn the_exact_name_wins_over_one_in_another_case() {
        let mut names = Names::default();
        ["Id", "id", "Price"].iter().for_each(|name| names.add(name));
        let settled = |text: &str| {
            let mut ident = Ident::new(text);
            names.settle(&mut ident);
            ident.value
        };
        assert_eq!(["id", "Id", "ID", "price", "other"].map(settled), ["id", "Id", "Id", "Price", "other"]);
        let mut quoted = Ident::with_quote('"', "price");
        names.settle(&mut quoted);
        assert_eq!(quoted.value, "price");
    }
}
