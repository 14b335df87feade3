//! The parser of the source that TorchScript is saved as, and of what earlier versions wrote.
//! <https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/frontend/parser.cpp> has its grammar,
//! <https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/serialization/python_print.cpp> writes it.

use super::lex::{Lexer, Token};
use super::syntax::{Argument, Class, Code, Expression, Function, Name, Parameter, Statement};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How deep expressions may lie in each other. Files have long ones in pieces.
const DEPTH: u32 = 96;
/// How deep blocks may.
const BLOCKS: u32 = 48;
/// Statements between looks at the task.
const STEPS: u32 = 1 << 10;

/// An expression, and how deep others lie in it.
struct Deep {
    expression: Expression,
    depth: u32,
}

struct Parser<'a> {
    task: &'a Task,
    lexer: Lexer<'a>,
    token: Token<'a>,
    names: HashMap<&'a str, Name>,
    assigned: HashSet<Name>,
    /// Expressions, and blocks, that are open.
    depth: u32,
    blocks: u32,
    statements: u32,
}

/// Parses a file of code.
///
/// # Errors
/// `Malformed` with the line, `Limit`, `Cancelled`.
pub(super) fn parse(task: &Task, text: &str) -> Result<Code> {
    let mut parser = Parser {
        task,
        lexer: Lexer::new(text),
        token: Token::End,
        names: HashMap::new(),
        assigned: HashSet::new(),
        depth: 0,
        blocks: 0,
        statements: 0,
    };
    parser.advance()?;
    let mut code = Code::default();
    while parser.token != Token::End {
        match parser.token {
            Token::Name("class") => code.classes.push(parser.class()?),
            Token::Name("def") => code.functions.push(Arc::new(parser.function()?)),
            Token::Line => parser.advance()?,
            // What the first versions begin with: `op_version_set = 1`.
            _ => parser.statement(&mut Vec::new())?,
        }
    }
    code.assigned = parser.assigned.into_iter().collect();
    Ok(code)
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn is(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(known) if *known == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name) if *name == word)
    }

    fn take(&mut self, sign: &str) -> Result<bool> {
        let is = self.is(sign);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn take_word(&mut self, word: &str) -> Result<bool> {
        let is = self.is_word(word);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn need(&mut self, sign: &'static str) -> Result<()> {
        if self.take(sign)? { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match &self.token {
            Token::Name(name) | Token::Number(name) => {
                format!("{:?}", name.chars().take(40).collect::<String>())
            }
            Token::Text(_) => "a text".to_owned(),
            Token::Sign(sign) => format!("{sign:?}"),
            Token::Line => "the end of a line".to_owned(),
            Token::Indent | Token::Dedent => "another indent".to_owned(),
            Token::End => "the end".to_owned(),
        };
        self.lexer.wrong(format!("{found} where {wanted} should be"))
    }

    fn limit(&self, what: &str) -> Error {
        let most = if what == "blocks" { BLOCKS } else { DEPTH };
        Error::limit(format!("code: line {}: {what} more than {most} deep in each other", self.lexer.line))
    }

    fn shared(&mut self, name: &'a str) -> Name {
        self.names.entry(name).or_insert_with(|| name.into()).clone()
    }

    fn name(&mut self) -> Result<Name> {
        let Token::Name(name) = self.token else { return Err(self.unexpected("a name")) };
        let name = self.shared(name);
        self.advance()?;
        Ok(name)
    }

    fn class(&mut self) -> Result<Class> {
        self.advance()?;
        let name = self.name()?;
        let mut base = None;
        if self.take("(")? {
            while !self.take(")")? {
                let parent = self.expression()?;
                if let Some(last) = parent.dotted().and_then(|parts| parts.last().copied().cloned()) {
                    base.get_or_insert(last);
                }
                self.take(",")?;
            }
        }
        let mut class = Class { name, base, fields: Vec::new(), constants: Vec::new(), methods: Vec::new() };
        self.need(":")?;
        let mut others = Vec::new();
        self.block_of(|parser| {
            if parser.is_word("def") {
                class.methods.push(Arc::new(parser.function()?));
                return Ok(());
            }
            parser.member(&mut class, &mut others)
        })?;
        Ok(class)
    }

    /// A line in a class that is no method: a field with its type, a value, an annotation of a name that is no
    /// identifier: `__annotations__["0"] = …`.
    fn member(&mut self, class: &mut Class, others: &mut Vec<Statement>) -> Result<()> {
        let target = self.expression()?;
        match &target {
            Expression::Name(name) if self.take(":")? => {
                let annotation = self.expression()?;
                if self.take("=")? {
                    let value = self.expressions()?;
                    class.constants.push((name.clone(), value));
                } else {
                    class.fields.push((name.clone(), annotation));
                }
            }
            Expression::Name(name) if self.take("=")? => {
                let value = self.expressions()?;
                class.constants.push((name.clone(), value));
            }
            Expression::Index(_, key) if self.take("=")? => {
                let annotation = self.expression()?;
                if let Expression::Text(key) = &**key {
                    class.fields.push((key.clone(), annotation));
                }
            }
            _ => self.rest_of_statement(target, others)?,
        }
        self.end_of_line()
    }

    fn function(&mut self) -> Result<Function> {
        self.advance()?;
        let name = self.name()?;
        self.need("(")?;
        let mut parameters = Vec::new();
        while !self.take(")")? {
            if self.take("*")? {
                self.take(",")?;
                continue;
            }
            let name = self.name()?;
            let annotation = if self.take(":")? { Some(self.expression()?) } else { None };
            let default = if self.take("=")? { Some(self.expression()?) } else { None };
            parameters.push(Parameter { name, annotation, default });
            if !self.take(",")? && !self.is(")") {
                return Err(self.unexpected("\",\" or \")\""));
            }
        }
        let returns = if self.take("->")? { Some(self.expression()?) } else { None };
        self.need(":")?;
        let body = self.block()?;
        Ok(Function { name, parameters, returns, body })
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        let mut body = Vec::new();
        self.block_of(|parser| parser.statement(&mut body))?;
        body.shrink_to_fit();
        Ok(body)
    }

    /// Lines of a block, which may stand behind the colon.
    fn block_of(&mut self, mut line: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.blocks += 1;
        if self.blocks > BLOCKS {
            return Err(self.limit("blocks"));
        }
        if self.token == Token::Line {
            while self.token == Token::Line {
                self.advance()?;
            }
            // Without an indent the block is empty: a function of an interface is written so.
            if self.token == Token::Indent {
                self.advance()?;
                while self.token != Token::Dedent {
                    match self.token {
                        Token::End => break,
                        Token::Line => self.advance()?,
                        // Deeper than the block before it: what an interface writes behind its methods.
                        Token::Indent => return Err(self.unexpected("a statement")),
                        _ => line(self)?,
                    }
                }
                if self.token == Token::Dedent {
                    self.advance()?;
                }
            }
        } else {
            line(self)?;
        }
        self.blocks -= 1;
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<()> {
        match self.token {
            Token::Line => self.advance(),
            Token::Sign(";") => self.advance(),
            Token::End | Token::Dedent => Ok(()),
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    fn statement(&mut self, to: &mut Vec<Statement>) -> Result<()> {
        self.statements = self.statements.wrapping_add(1);
        if self.statements.is_multiple_of(STEPS) {
            self.task.check()?;
        }
        let Token::Name(word) = self.token else {
            let target = self.expressions()?;
            self.rest_of_statement(target, to)?;
            return self.end_of_line();
        };
        match word {
            "pass" | "break" | "continue" => self.advance()?,
            "return" => {
                self.advance()?;
                let is_alone = matches!(self.token, Token::Line | Token::End | Token::Dedent);
                let value = if is_alone { None } else { Some(self.expressions()?) };
                to.push(Statement::Return(value));
            }
            "raise" | "assert" => {
                self.advance()?;
                let name = if word == "raise" { "RaiseException" } else { "assert" };
                let value = self.expressions()?;
                to.push(Statement::Expression(Expression::Operator(name, vec![value])));
            }
            "if" => return self.conditional(to),
            "while" => {
                self.advance()?;
                let condition = self.expression()?;
                self.need(":")?;
                let body = self.block()?;
                to.push(Statement::While { condition, body });
                return Ok(());
            }
            "for" => {
                self.advance()?;
                let target = self.targets()?;
                if !self.take_word("in")? {
                    return Err(self.unexpected("\"in\""));
                }
                let over = self.expression()?;
                self.need(":")?;
                let body = self.block()?;
                to.push(Statement::For { target, over, body });
                return Ok(());
            }
            "with" => {
                self.advance()?;
                let context = self.expression()?;
                let target = if self.take_word("as")? { Some(self.expression()?) } else { None };
                self.need(":")?;
                let body = self.block()?;
                to.push(Statement::With { context, target, body });
                return Ok(());
            }
            "def" => {
                to.push(Statement::Define(Arc::new(self.function()?)));
                return Ok(());
            }
            _ => {
                let target = self.expressions()?;
                self.rest_of_statement(target, to)?;
            }
        }
        self.end_of_line()
    }

    fn conditional(&mut self, to: &mut Vec<Statement>) -> Result<()> {
        self.advance()?;
        let condition = self.expression()?;
        self.need(":")?;
        let then = self.block()?;
        let mut other = Vec::new();
        if self.is_word("elif") {
            self.blocks += 1;
            if self.blocks > BLOCKS {
                return Err(self.limit("blocks"));
            }
            self.conditional(&mut other)?;
            self.blocks -= 1;
        } else if self.take_word("else")? {
            self.need(":")?;
            other = self.block()?;
        }
        to.push(Statement::If { condition, then, other });
        Ok(())
    }

    /// Names before `in`, which belongs to no comparison here.
    fn targets(&mut self) -> Result<Expression> {
        let mut names = vec![Expression::Name(self.name()?)];
        while self.take(",")? {
            names.push(Expression::Name(self.name()?));
        }
        match <[Expression; 1]>::try_from(names) {
            Ok([name]) => Ok(name),
            Err(names) => Ok(Expression::Tuple(names)),
        }
    }

    /// What stands behind the first expression of a statement.
    fn rest_of_statement(&mut self, target: Expression, to: &mut Vec<Statement>) -> Result<()> {
        let annotation = if self.take(":")? { Some(self.expression()?) } else { None };
        let together = [
            ("+=", "add_"),
            ("-=", "sub_"),
            ("*=", "mul_"),
            ("/=", "div_"),
            ("%=", "remainder"),
            ("|=", "__or__"),
            ("&=", "__and__"),
            ("^=", "__xor__"),
        ];
        if let Some((sign, name)) = together.into_iter().find(|(sign, _)| self.is(sign)) {
            self.need(sign)?;
            let value = self.expressions()?;
            let value = Expression::Operator(name, vec![target.clone(), value]);
            to.push(Statement::Assign { targets: vec![target], annotation, value, unpacks: false });
            return Ok(());
        }
        if !self.take("=")? {
            // A name with its type alone says nothing.
            if annotation.is_none() {
                to.push(Statement::Expression(target));
            }
            return Ok(());
        }
        let mut value = self.expressions()?;
        let mut all = vec![target];
        while self.take("=")? {
            all.push(std::mem::replace(&mut value, Expression::None));
            value = self.expressions()?;
        }
        for target in all.into_iter().rev() {
            self.note(&target);
            let (targets, unpacks) = match target {
                Expression::Tuple(items) | Expression::List(items) => (items, true),
                one => (vec![one], false),
            };
            let (annotation, value) = (annotation.clone(), value.clone());
            to.push(Statement::Assign { targets, annotation, value, unpacks });
        }
        Ok(())
    }

    /// Keeps the names of attributes that are assigned to.
    fn note(&mut self, target: &Expression) {
        match target {
            Expression::Attribute(_, name) => {
                self.assigned.insert(name.clone());
            }
            Expression::Tuple(items) => {
                for item in items {
                    if let Expression::Attribute(_, name) = item {
                        self.assigned.insert(name.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Expressions with commas between them are a tuple.
    fn expressions(&mut self) -> Result<Expression> {
        let first = self.expression()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(",")? {
            if matches!(self.token, Token::Line | Token::End | Token::Sign("=" | ")")) {
                break;
            }
            items.push(self.expression()?);
        }
        Ok(Expression::Tuple(items))
    }

    fn expression(&mut self) -> Result<Expression> {
        Ok(self.deep()?.expression)
    }

    /// An expression with all its operators.
    fn deep(&mut self) -> Result<Deep> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.limit("expressions"));
        }
        let value = self.binary(0)?;
        let value = if self.is_word("if") {
            self.advance()?;
            let condition = self.binary(0)?;
            if !self.take_word("else")? {
                return Err(self.unexpected("\"else\""));
            }
            let other = self.deep()?;
            self.operator("where", vec![condition, value, other])?
        } else {
            value
        };
        self.depth -= 1;
        Ok(value)
    }

    fn operator(&self, name: &'static str, parts: Vec<Deep>) -> Result<Deep> {
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let parts = parts.into_iter().map(|part| part.expression).collect();
        self.made(Expression::Operator(name, parts), depth)
    }

    /// An expression around others of this depth.
    fn made(&self, expression: Expression, depth: u32) -> Result<Deep> {
        if depth >= DEPTH {
            return Err(self.limit("expressions"));
        }
        Ok(Deep { expression, depth: depth + 1 })
    }

    /// The operator at the token, how strong it binds, and what it is called.
    fn infix(&self) -> Option<(u8, &'static str)> {
        Some(match &self.token {
            Token::Name("or") => (0, "__or__"),
            Token::Name("and") => (1, "__and__"),
            Token::Name("is") => (2, "__is__"),
            Token::Name("in") => (2, "__contains__"),
            Token::Sign(sign) => match *sign {
                "<" => (2, "lt"),
                ">" => (2, "gt"),
                "<=" => (2, "le"),
                ">=" => (2, "ge"),
                "==" => (2, "eq"),
                "!=" => (2, "ne"),
                "|" => (3, "__or__"),
                "^" => (4, "__xor__"),
                "&" => (5, "__and__"),
                "<<" => (6, "__lshift__"),
                ">>" => (6, "__rshift__"),
                "+" => (7, "add"),
                "-" => (7, "sub"),
                "*" => (8, "mul"),
                "/" => (8, "div"),
                "//" => (8, "floordiv"),
                "%" => (8, "remainder"),
                "@" => (8, "matmul"),
                "**" => (9, "pow"),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn binary(&mut self, least: u8) -> Result<Deep> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.limit("expressions"));
        }
        let mut left = self.unary()?;
        while let Some((strength, mut name)) = self.infix().filter(|(strength, _)| *strength >= least) {
            self.advance()?;
            if name == "__is__" && self.take_word("not")? {
                name = "__isnot__";
            }
            let right = self.binary(strength + 1)?;
            left = self.operator(name, vec![left, right])?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Deep> {
        let name = match &self.token {
            Token::Sign("-") => "neg",
            Token::Sign("+") => "+",
            Token::Sign("~") => "bitwise_not",
            Token::Name("not") => "__not__",
            _ => return self.postfix(),
        };
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.limit("expressions"));
        }
        self.advance()?;
        let value = self.unary()?;
        self.depth -= 1;
        Ok(match (name, value.expression) {
            ("neg", Expression::Int(value)) => {
                Deep { expression: Expression::Int(value.wrapping_neg()), depth: 1 }
            }
            ("neg", Expression::Float(value)) => Deep { expression: Expression::Float(-value), depth: 1 },
            ("+", expression) => Deep { expression, depth: value.depth },
            (_, expression) => self.operator(name, vec![Deep { expression, depth: value.depth }])?,
        })
    }

    /// Attributes, calls and indices behind a value.
    fn postfix(&mut self) -> Result<Deep> {
        let mut value = self.atom()?;
        loop {
            let depth = value.depth;
            if self.take(".")? {
                let name = self.name()?;
                value = self.made(Expression::Attribute(Arc::new(value.expression), name), depth)?;
            } else if self.take("(")? {
                let (arguments, inner) = self.arguments()?;
                let call = Expression::Call(Arc::new(value.expression), arguments);
                value = self.made(call, depth.max(inner))?;
            } else if self.take("[")? {
                let index = self.index()?;
                let inner = index.depth;
                let index = Expression::Index(Arc::new(value.expression), Arc::new(index.expression));
                value = self.made(index, depth.max(inner))?;
            } else {
                return Ok(value);
            }
        }
    }

    fn arguments(&mut self) -> Result<(Vec<Argument>, u32)> {
        let (mut arguments, mut depth) = (Vec::new(), 0);
        while !self.take(")")? {
            let mut value = self.deep()?;
            let mut name = None;
            if let Expression::Name(known) = &value.expression
                && self.is("=")
            {
                name = Some(known.clone());
                self.advance()?;
                value = self.deep()?;
            }
            depth = depth.max(value.depth);
            arguments.push(Argument { name, value: value.expression });
            if !self.take(",")? && !self.is(")") {
                return Err(self.unexpected("\",\" or \")\""));
            }
        }
        Ok((arguments, depth))
    }

    /// What stands between brackets behind a value.
    fn index(&mut self) -> Result<Deep> {
        let (mut items, mut depth) = (Vec::new(), 0);
        loop {
            if self.take("]")? {
                break;
            }
            let mut parts = [None, None, None];
            let mut is_slice = false;
            let mut at = 0;
            loop {
                if self.is(":") {
                    self.advance()?;
                    is_slice = true;
                    at += 1;
                } else if matches!(self.token, Token::Sign("," | "]")) || at > 2 {
                    break;
                } else {
                    let part = self.deep()?;
                    depth = depth.max(part.depth);
                    if let Some(place) = parts.get_mut(at) {
                        *place = Some(part.expression);
                    }
                    if !self.is(":") {
                        break;
                    }
                }
            }
            let [first, ..] = &mut parts;
            items.push(match (is_slice, first.take()) {
                (false, Some(item)) => item,
                (false, None) => return Err(self.unexpected("an index")),
                (true, first) => {
                    let [_, end, step] = parts;
                    Expression::Slice([first, end, step].map(|part| part.map(Arc::new)))
                }
            });
            if !self.take(",")? && !self.is("]") {
                return Err(self.unexpected("\",\" or \"]\""));
            }
        }
        match <[Expression; 1]>::try_from(items) {
            Ok([expression]) => Ok(Deep { expression, depth: depth + 1 }),
            Err(items) => self.made(Expression::Tuple(items), depth),
        }
    }

    fn atom(&mut self) -> Result<Deep> {
        let expression = match std::mem::replace(&mut self.token, Token::End) {
            Token::Name(name) => match name {
                "None" => Expression::None,
                "True" => Expression::Bool(true),
                "False" => Expression::Bool(false),
                "inf" => Expression::Float(f64::INFINITY),
                "nan" => Expression::Float(f64::NAN),
                name => Expression::Name(self.shared(name)),
            },
            Token::Number(number) => self.number(number)?,
            Token::Text(mut text) => {
                self.advance()?;
                // Texts side by side are one.
                while let Token::Text(more) = &self.token {
                    text.push_str(more);
                    self.advance()?;
                }
                return Ok(Deep { expression: Expression::Text(text.into()), depth: 1 });
            }
            Token::Sign("...") => Expression::Text("...".into()),
            Token::Sign(sign @ ("(" | "[" | "{")) => {
                self.advance()?;
                return self.bracketed(sign);
            }
            other => {
                self.token = other;
                return Err(self.unexpected("a value"));
            }
        };
        self.advance()?;
        Ok(Deep { expression, depth: 1 })
    }

    fn number(&mut self, text: &'a str) -> Result<Expression> {
        let plain: String = text.chars().filter(|c| *c != '_').collect();
        if let Ok(value) = plain.parse::<i64>() {
            return Ok(Expression::Int(value));
        }
        let radix = plain.get(..2).map(str::to_ascii_lowercase);
        let radix = match radix.as_deref() {
            Some("0x") => 16,
            Some("0o") => 8,
            Some("0b") => 2,
            _ => 0,
        };
        if radix > 0
            && let Ok(value) = i64::from_str_radix(plain.get(2..).unwrap_or_default(), radix)
        {
            return Ok(Expression::Int(value));
        }
        let is_float = plain.contains(['.', 'e', 'E']);
        match plain.parse::<f64>() {
            Ok(value) if is_float => Ok(Expression::Float(value)),
            Ok(_) => Ok(Expression::Number(self.shared(text))),
            Err(_) if plain.ends_with(['j', 'J']) => Ok(Expression::Number(self.shared(text))),
            Err(_) => Err(self.lexer.wrong("a number that is none")),
        }
    }

    /// A tuple, a list, a dict, or a value in parentheses.
    fn bracketed(&mut self, open: &str) -> Result<Deep> {
        let close = match open {
            "(" => ")",
            "[" => "]",
            _ => "}",
        };
        let (mut items, mut pairs, mut depth, mut has_comma) = (Vec::new(), Vec::new(), 0, false);
        while !self.take(close)? {
            let item = self.deep()?;
            depth = depth.max(item.depth);
            if open == "{" && self.take(":")? {
                let value = self.deep()?;
                depth = depth.max(value.depth);
                pairs.push((item.expression, value.expression));
            } else {
                items.push(item.expression);
            }
            if self.take(",")? {
                has_comma = true;
            } else if !self.is(close) {
                return Err(self.unexpected("\",\" or the end of brackets"));
            }
        }
        match open {
            "(" if items.len() == 1 && !has_comma => {
                let expression = items.pop().unwrap_or(Expression::None);
                Ok(Deep { expression, depth })
            }
            "(" => self.made(Expression::Tuple(items), depth),
            "[" => self.made(Expression::List(items), depth),
            _ => self.made(Expression::Dict(pairs), depth),
        }
    }
}
