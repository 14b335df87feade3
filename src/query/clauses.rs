//! What a filter and a sort are in a statement: WHERE and ORDER BY, written and read again.

use super::diagnostic::{SqlDiagnostic, parsed, tokens};
use super::filter::{Filter, Order, Sort};
use super::split::skipped;
use arrow::datatypes::Schema;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, OrderByExpr};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace};
use std::ops::Range;

/// What stands behind the table in a statement, for columns of these types: WHERE and ORDER BY, each on lines
/// of its own; empty where nothing is asked.
pub fn clauses(filter: &Filter, sort: &[Sort], schema: &Schema) -> String {
    let mut lines = Vec::new();
    lines.extend(filter.sql(schema).map(|condition| format!("WHERE {condition}")));
    if !sort.is_empty() {
        let keys: Vec<String> = sort.iter().map(Sort::sql).collect();
        lines.push(format!("ORDER BY {}", keys.join(", ")));
    }
    lines.join("\n")
}

/// WHERE and ORDER BY as a person wrote them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clauses {
    /// What stands behind WHERE; empty for nothing.
    pub condition: String,
    /// What stands behind ORDER BY.
    pub sort: Vec<Sort>,
}

impl Clauses {
    /// Reads them, either may be missing; for columns of these names. The condition is not looked into.
    ///
    /// # Errors
    /// Text before them, and keys that are no expressions, with the place.
    pub fn parse(text: &str, names: &[String]) -> Result<Clauses, SqlDiagnostic> {
        let words = words(text);
        let is = |word: &Range<usize>, what: &str| {
            text.get(word.clone()).is_some_and(|word| word.eq_ignore_ascii_case(what))
        };
        let order = words.array_windows().find(|[first, second]| is(first, "ORDER") && is(second, "BY"));
        let (end, keys) = order.map_or((text.len(), text.len()), |[first, second]| (first.start, second.end));
        let start = match words.first() {
            Some(first) if is(first, "WHERE") => first.end,
            _ if text.get(..end).is_none_or(|before| before.trim().is_empty()) => end,
            _ => return Err(SqlDiagnostic::new("it begins with WHERE or ORDER BY").at(text, 1, 1)),
        };
        let condition = text.get(start..end).unwrap_or_default().trim().to_owned();
        let written = text.get(keys..).unwrap_or_default();
        let sort = match order {
            Some(_) => parsed_keys(written, names).map_err(|diagnostic| diagnostic.within(text, keys))?,
            None => Vec::new(),
        };
        Ok(Clauses { condition, sort })
    }
}

/// The keys of a sort.
fn parsed_keys(text: &str, names: &[String]) -> Result<Vec<Sort>, SqlDiagnostic> {
    let keys = parsed(text, &tokens(text)?, |parser| {
        let keys = parser.parse_comma_separated(Parser::parse_order_by_expr)?;
        parser.expect_token(&Token::EOF)?;
        Ok(keys)
    })?;
    Ok(keys.into_iter().map(|key| sort_of(key, names)).collect())
}

/// A key: a column by the name that it really has, or an expression.
fn sort_of(key: OrderByExpr, names: &[String]) -> Sort {
    let column = match &key.expr {
        Expr::Identifier(ident) => {
            let exact = names.iter().find(|name| **name == ident.value);
            let free = ident.quote_style.is_none();
            exact.or_else(|| names.iter().find(|name| free && name.eq_ignore_ascii_case(&ident.value)))
        }
        _ => None,
    };
    let order = if key.options.asc == Some(false) { Order::Descending } else { Order::Ascending };
    let nulls_first = key.options.nulls_first.unwrap_or_default();
    let expression = column.is_none();
    Sort { column: column.cloned().unwrap_or_else(|| key.expr.to_string()), order, nulls_first, expression }
}

/// Whether a condition has parts of which one is enough, so that it falls apart beside others without brackets;
/// `None` where it may have a comment, or cannot be read.
pub(super) fn alternatives(condition: &str) -> Option<bool> {
    let found = tokens(condition).ok()?;
    let is_comment = |token: &Token| matches!(token, Token::Whitespace(Whitespace::SingleLineComment { .. }));
    if found.iter().any(|token| is_comment(&token.token)) {
        return None;
    }
    let expression = parsed(condition, &found, |parser| {
        let expression = parser.parse_expr()?;
        parser.expect_token(&Token::EOF)?;
        Ok(expression)
    });
    let loose = |op: &BinaryOperator| matches!(op, BinaryOperator::Or | BinaryOperator::Xor);
    Some(matches!(expression.ok()?, Expr::BinaryOp { op, .. } if loose(&op)))
}

/// Where the words stand that lie in no quotes, comments and brackets.
fn words(text: &str) -> Vec<Range<usize>> {
    let (mut out, mut at, mut depth): (Vec<Range<usize>>, usize, usize) = (Vec::new(), 0, 0);
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let long = match skipped(rest) {
            Some((long, _)) => long.max(1),
            None if in_word(first) => rest.find(|c: char| !in_word(c)).unwrap_or(rest.len()),
            None => first.len_utf8(),
        };
        match first {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && in_word(first) => out.push(at..at + long),
            _ => {}
        }
        at += long;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::filter::{Condition, Test};
    use super::*;
    use arrow::datatypes::{DataType, Field};

    fn read(text: &str) -> Result<Clauses, SqlDiagnostic> {
        Clauses::parse(text, &["price".to_owned(), "Name".to_owned()])
    }

    #[test]
    fn what_is_written_is_read_again() {
        let schema = Schema::new(vec![Field::new("price", DataType::Int64, true)]);
        let conditions = vec![Condition::new("price", Test::Equals("3".into()))];
        let filter = Filter { conditions, expression: "\"Name\" <> 'ORDER BY' -- x".into() };
        let sort = vec![
            Sort::by("Name", Order::Descending),
            Sort { expression: true, nulls_first: true, ..Sort::by("abs(price)", Order::Ascending) },
        ];
        let text = clauses(&filter, &sort, &schema);
        let found = read(&text).unwrap();
        assert_eq!(Some(found.condition), filter.sql(&schema));
        assert_eq!(found.sort, sort);
        assert_eq!(clauses(&Filter::default(), &[], &schema), "");
    }

    #[test]
    fn words_in_brackets_and_quotes_are_no_clauses() {
        let found =
            read("where rank() OVER (ORDER BY price) < 3 and \"ORDER\" = 1\norder by NAME, price desc")
                .unwrap();
        assert_eq!(found.condition, "rank() OVER (ORDER BY price) < 3 and \"ORDER\" = 1");
        let keys: Vec<&str> = found.sort.iter().map(|key| key.column.as_str()).collect();
        assert_eq!(keys, ["Name", "price"]);
        assert!(found.sort.iter().all(|key| !key.expression) && found.sort[1].order == Order::Descending);
        assert_eq!(read(" ").unwrap(), Clauses::default());
    }

    #[test]
    fn mistakes_have_a_place_in_the_whole_text() {
        let mistake = read("WHERE price > 1\nORDER BY price LIMIT 3").unwrap_err();
        let place = mistake.place.unwrap();
        assert_eq!((place.line, place.column), (2, 16), "{}", mistake.message);
        assert!(read("price > 1").unwrap_err().message.contains("WHERE"));
    }
}
