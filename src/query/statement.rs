//! From text to a statement that only reads, with its names bound to tables and files.

use super::Engine;
use super::catalog::Entry;
use super::diagnostic::{Failure, SqlDiagnostic, parsed, tokens};
use super::names::{DefinedNames, Names, Settle, name_columns};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::content::Table;
use crate::data::content::table::MemoryTable;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::sql::sqlparser::ast::*;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The most operators of one statement: expressions are walked by recursion.
const OPERATORS: usize = 5_000;
/// The longest statement, in bytes.
const LONG: usize = 4 << 20;

/// A table that a statement reads.
pub(super) struct Bound {
    /// The name in the rewritten statement.
    pub(super) name: String,
    pub(super) table: Arc<dyn Table>,
    pub(super) typed: Option<Arc<Typed>>,
    /// Where it came from, to remember what its columns turn out to be.
    pub(super) entry: Option<Entry>,
}

/// A statement that can be planned.
pub(super) struct Parsed {
    pub(super) statement: Statement,
    pub(super) tables: Vec<Bound>,
}

/// Parses, checks and binds; to the one table `only` where it is given.
pub(super) fn parse(
    engine: &Engine,
    task: &Task,
    sql: &str,
    only: Option<&Arc<dyn Table>>,
) -> Result<Parsed, Failure> {
    let mut statement = one(sql)?;
    if let Some(parsed) = listing(engine, task, &statement, sql)? {
        return Ok(parsed);
    }
    only_reads(&statement, sql)?;
    let mut made = DefinedNames::default();
    let _ = statement.visit(&mut made);
    // Before names are bound: the result's columns are called as they were written.
    if only.is_none()
        && let Statement::Query(query) = &mut statement
    {
        name_columns(query);
    }
    let mut binder = Binder { engine, task, sql, ctes: made.ctes, tables: Vec::new(), only };
    if let ControlFlow::Break(failure) = VisitMut::visit(&mut statement, &mut binder) {
        return Err(*failure);
    }
    let mut names = Names::default();
    for bound in &binder.tables {
        names.add_fields(super::provider::plain_schema(bound.table.schema()).fields());
        names.add(&bound.name);
    }
    made.aliases.iter().chain(&binder.ctes).for_each(|name| names.add(name));
    let _ = VisitMut::visit(&mut statement, &mut Settle(&names));
    Ok(Parsed { statement, tables: binder.tables })
}

/// The one statement of a text; a semicolon may end it.
pub(super) fn one(sql: &str) -> Result<Statement, SqlDiagnostic> {
    if sql.len() > LONG {
        return Err(SqlDiagnostic::new("the statement is longer than 4 MiB"));
    }
    let tokens = tokens(sql)?;
    let operator = |token: &Token| match token {
        Token::Word(word) => {
            matches!(
                word.keyword,
                Keyword::AND | Keyword::OR | Keyword::UNION | Keyword::JOIN | Keyword::CASE
            )
        }
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::StringConcat | Token::Period => true,
        _ => false,
    };
    if tokens.iter().filter(|t| operator(&t.token)).count() > OPERATORS {
        return Err(SqlDiagnostic::new(format!("the statement has more than {OPERATORS} operators")));
    }
    let mut statements = parsed(sql, &tokens, |parser| parser.parse_statements())?;
    match statements.len() {
        1 => Ok(statements.remove(0)),
        0 => Err(SqlDiagnostic::new("there is no statement")),
        n => Err(SqlDiagnostic::new(format!("there are {n} statements; one runs at a time"))),
    }
}

/// Refuses what writes, defines or sets something.
fn only_reads(statement: &Statement, sql: &str) -> Result<(), SqlDiagnostic> {
    struct Writes(Option<String>);
    impl Visitor for Writes {
        type Break = ();

        fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
            let harmless = matches!(statement, Statement::Query(_) | Statement::Explain { .. });
            if harmless {
                return ControlFlow::Continue(());
            }
            let text = statement.to_string();
            self.0 = text.split_whitespace().next().map(str::to_owned);
            ControlFlow::Break(())
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            if select.into.is_none() {
                return ControlFlow::Continue(());
            }
            self.0 = Some("INTO".to_owned());
            ControlFlow::Break(())
        }

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            if query.locks.is_empty() {
                return ControlFlow::Continue(());
            }
            self.0 = Some("FOR".to_owned());
            ControlFlow::Break(())
        }
    }
    let mut writes = Writes(None);
    let _ = statement.visit(&mut writes);
    let Some(word) = writes.0 else { return Ok(()) };
    let what = format!(
        "{word} is not run here: statements only read (SELECT, WITH, VALUES, EXPLAIN, DESCRIBE, SHOW TABLES)"
    );
    Err(SqlDiagnostic::new(what).at_word(sql, &word))
}

/// SHOW TABLES, SHOW FUNCTIONS, DESCRIBE and SHOW COLUMNS, as a query of a table that is made here.
fn listing(
    engine: &Engine,
    task: &Task,
    statement: &Statement,
    sql: &str,
) -> Result<Option<Parsed>, Failure> {
    let batch = match statement {
        Statement::ShowTables { .. } => {
            let known = engine.tables();
            let columns: Vec<String> = known.iter().map(|t| t.columns.len().to_string()).collect();
            let rows: Vec<String> = known.iter().map(|t| t.rows.to_string()).collect();
            let names = known.into_iter().map(|t| t.name).collect();
            texts([("table", names), ("rows", rows), ("columns", columns)])?
        }
        Statement::ShowFunctions { .. } => texts([("function", Engine::functions().to_vec())])?,
        Statement::ExplainTable { table_name, .. } => described(engine, task, table_name, sql)?,
        Statement::ShowColumns { show_options, .. } => {
            match show_options.show_in.as_ref().and_then(|place| place.parent_name.as_ref()) {
                Some(name) => described(engine, task, name, sql)?,
                None => return Err(SqlDiagnostic::new("SHOW COLUMNS FROM which table?").into()),
            }
        }
        _ => return Ok(None),
    };
    let name = "listing".to_owned();
    let statement = one(&format!("SELECT * FROM {name}"))?;
    let bound = Bound { name, table: Arc::new(MemoryTable::new(batch)), typed: None, entry: None };
    Ok(Some(Parsed { statement, tables: vec![bound] }))
}

fn described(engine: &Engine, task: &Task, name: &ObjectName, sql: &str) -> Result<RecordBatch, Failure> {
    let (text, quoted) = written(name);
    let entry = engine.catalog.lookup(task, &text, quoted).map_err(|f| placed(f, sql, name))?;
    let (table, _) = entry.typed();
    let schema = super::provider::plain_schema(table.schema());
    let each = |make: &dyn Fn(&arrow::datatypes::Field) -> String| -> Vec<String> {
        schema.fields().iter().map(|f| make(f)).collect()
    };
    let batch = texts([
        ("column", each(&|f| f.name().clone())),
        ("type", each(&|f| crate::bytes::display::arrow_type(f.data_type()))),
        ("nullable", each(&|f| if f.is_nullable() { "yes" } else { "no" }.to_owned())),
    ])?;
    Ok(batch)
}

fn texts<const N: usize>(columns: [(&str, Vec<String>); N]) -> Result<RecordBatch> {
    let columns = columns.map(|(name, cells)| (name, Arc::new(StringArray::from(cells)) as ArrayRef));
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// A name as one text, and whether it is in single quotes: a path.
fn written(name: &ObjectName) -> (String, bool) {
    let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    let quoted = matches!(parts.as_slice(), [one] if one.quote_style == Some('\''));
    (parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."), quoted)
}

/// A mistake about a name, at the name.
fn placed(failure: Failure, sql: &str, name: &ObjectName) -> Failure {
    match failure {
        Failure::Sql(mistake) if mistake.place.is_none() => {
            let start = name.0.first().and_then(ObjectNamePart::as_ident).map(|ident| ident.span.start);
            match start {
                Some(start) if start.line > 0 => mistake.at(sql, start.line, start.column).into(),
                _ => Failure::Sql(mistake),
            }
        }
        other => other,
    }
}

/// Binds the names behind FROM and JOIN.
struct Binder<'a> {
    engine: &'a Engine,
    task: &'a Task,
    sql: &'a str,
    ctes: Vec<String>,
    tables: Vec<Bound>,
    only: Option<&'a Arc<dyn Table>>,
}

impl VisitorMut for Binder<'_> {
    type Break = Box<Failure>;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Box<Failure>> {
        let TableFactor::Table { name, alias, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        match self.bind(name) {
            Err(failure) => ControlFlow::Break(Box::new(placed(failure, self.sql, name))),
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some((bound, shown))) => {
                if alias.is_none() && shown != bound {
                    *alias = Some(TableAlias {
                        explicit: true,
                        name: Ident::with_quote('"', shown),
                        columns: Vec::new(),
                        at: None,
                    });
                }
                let span = name.0.first().and_then(ObjectNamePart::as_ident).map(|ident| ident.span);
                let mut ident = Ident::with_quote('"', bound);
                ident.span = span.unwrap_or(ident.span);
                *name = ObjectName::from(ident);
                ControlFlow::Continue(())
            }
        }
    }
}

impl Binder<'_> {
    /// The name that a table gets in the statement and the one by which its columns are qualified; `None`
    /// for what the statement itself defines.
    fn bind(&mut self, name: &mut ObjectName) -> Result<Option<(String, String)>, Failure> {
        let (text, quoted) = written(name);
        if !quoted && let [ObjectNamePart::Identifier(ident)] = name.0.as_mut_slice() {
            let cte = self.ctes.iter().find(|cte| **cte == ident.value);
            let cte = cte.or_else(|| {
                let free = ident.quote_style.is_none();
                self.ctes.iter().find(|cte| free && cte.eq_ignore_ascii_case(&ident.value))
            });
            if let Some(cte) = cte {
                ident.value.clone_from(cte);
                return Ok(None);
            }
        }
        if let Some(table) = self.only {
            if text != "table" {
                return Err(SqlDiagnostic::new(format!(
                    "a filter asks of its own table only, not of {text:?}"
                ))
                .into());
            }
            if self.tables.is_empty() {
                let name = text.clone();
                self.tables.push(Bound { name, table: table.clone(), typed: None, entry: None });
            }
            return Ok(Some((text.clone(), text)));
        }
        let entry = self.engine.catalog.lookup(self.task, &text, quoted)?;
        let same = |b: &&Bound| {
            b.entry.as_ref().is_some_and(|e| Arc::ptr_eq(&e.type_overrides, &entry.type_overrides))
        };
        if let Some(bound) = self.tables.iter().find(same) {
            return Ok(Some((bound.name.clone(), entry.name)));
        }
        let taken =
            |name: &str| self.tables.iter().any(|b| b.name == name) || self.ctes.iter().any(|c| c == name);
        let internal = super::names::free(&entry.name, taken);
        let (table, typed) = entry.typed();
        let shown = entry.name.clone();
        self.tables.push(Bound { name: internal.clone(), table, typed, entry: Some(entry) });
        // Qualified by the word that the statement uses, where it is one.
        let shown = match (quoted, name.0.last()) {
            (false, Some(ObjectNamePart::Identifier(ident)))
                if name.0.len() == 1 || text.ends_with(&ident.value) =>
            {
                if self.engine.catalog.find(&text).is_some() { ident.value.clone() } else { shown }
            }
            _ => shown,
        };
        Ok(Some((internal, shown)))
    }
}
