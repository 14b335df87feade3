//! Operations: what generic and pretty forms have in common. A line begins one; brackets, regions and the words that go on
//! with one (`do {`) belong to it.

use super::lex::{Kind, Lexer, Token};
use super::types::describe;
use super::words::{attribute, locations, place, region_name, result_types, said, short, unquoted};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, scope};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How deep regions may lie in regions, and brackets in brackets.
const DEPTH: usize = 64;
/// Words that go on with an operation on another line.
const GOES_ON: [&str; 6] = ["cond", "do", "else", "reducer", "then", "after"];
/// What ends a region: what it takes comes out of it.
const ENDS: [&str; 2] = ["return", "yield"];
const FUNCTIONS: [&str; 3] = ["func.func", "func", "stablehlo.func"];

/// What a file has.
#[derive(Default)]
pub(super) struct Program {
    /// The name of the module.
    pub(super) name: Option<String>,
    /// Its attributes.
    pub(super) attributes: Vec<(Arc<str>, Attribute)>,
    /// Its functions by name, in their order.
    pub(super) functions: Vec<(String, Graph)>,
}

/// A region that is being read.
struct Region {
    builder: Builder,
    /// What it takes from around it, each once.
    taken: Vec<String>,
    known: HashSet<String>,
}

/// What was read of an operation.
#[derive(Default)]
struct ParsedOperation {
    results: Vec<(String, u64)>,
    name: String,
    operands: Vec<String>,
    /// Values that it defines for its regions, with their types.
    arguments: Vec<(String, String)>,
    attributes: Vec<(Arc<str>, Attribute)>,
    words: Vec<String>,
    symbol: Option<String>,
    types: String,
    location: Option<String>,
    regions: Vec<Graph>,
    taken: Vec<String>,
}

/// Reads a file.
pub(super) struct Reader<'a> {
    task: &'a Task,
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// The names of locations by their short names.
    locations: HashMap<&'a str, &'a str>,
    regions: Vec<Region>,
    /// The types of values by name.
    types: HashMap<String, Arc<str>>,
    program: Program,
    operations: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(task: &'a Task, text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        Reader {
            task,
            lexer,
            token,
            locations: locations(text),
            regions: Vec::new(),
            types: HashMap::new(),
            program: Program::default(),
            operations: 0,
        }
    }

    /// Reads all operations of the file.
    ///
    /// # Errors
    /// `Malformed` with the line, `Limit`, `Cancelled`. What was read until then is there.
    pub(super) fn file(&mut self) -> Result<()> {
        self.regions.push(Region::new("top"));
        while self.token.kind != Kind::End {
            // Short names of attributes and types.
            if matches!(self.token.kind, Kind::Hash | Kind::Type) {
                self.skip_line();
                continue;
            }
            self.operation()?;
        }
        Ok(())
    }

    /// What was read. Operations outside of functions are one.
    pub(super) fn finish(mut self) -> Program {
        let top = if self.regions.is_empty() { None } else { Some(self.regions.swap_remove(0)) };
        let top = top.map(|region| region.builder.finish()).filter(|graph| !graph.nodes().is_empty());
        if let Some(top) = top.filter(|_| self.program.functions.is_empty()) {
            self.program.functions.push(("top".to_owned(), top));
        }
        self.program
    }

    fn advance(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.token, self.lexer.next())
    }

    fn take(&mut self, sign: u8) -> bool {
        let is = self.token.is(sign);
        if is {
            self.advance();
        }
        is
    }

    fn wrong(&self, what: &str) -> Error {
        let found: String = self.token.text.chars().take(40).collect();
        Error::malformed(format!("line {}: {found:?} where {what} should be", self.lexer.line(self.token.at)))
    }

    fn skip_line(&mut self) {
        let mut depth = 0usize;
        self.advance();
        while self.token.kind != Kind::End && (depth > 0 || !self.token.begins_line) {
            match self.token.kind {
                Kind::Sign(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Kind::Sign(b')' | b']' | b'}' | b'>') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
    }

    /// One operation, added to the region that is open.
    fn operation(&mut self) -> Result<()> {
        self.operations += 1;
        if self.operations.is_multiple_of(512) {
            self.task.check()?;
        }
        let mut draft = ParsedOperation::default();
        while self.token.kind == Kind::Value {
            let name = self.advance().text.to_owned();
            let mut count = 1;
            if self.take(b':') {
                count = self.advance().text.parse().unwrap_or(1);
            }
            draft.results.push((name, count));
            self.take(b',');
        }
        if !draft.results.is_empty() && !self.take(b'=') {
            return Err(self.wrong("\"=\""));
        }
        draft.name = match self.token.kind {
            Kind::Word => self.advance().text.to_owned(),
            Kind::Text => unquoted(self.advance().text),
            _ => return Err(self.wrong("an operation")),
        };
        // What was read of a function that is cut off is shown.
        let read = self.body(&mut draft);
        self.add(draft)?;
        read
    }

    /// What stands behind the name of an operation.
    fn body(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        let is_container = draft.name == "module" || draft.name == "builtin.module";
        loop {
            let goes_on = self.token.kind == Kind::Word && GOES_ON.contains(&self.token.text);
            let ends = self.token.begins_line && !goes_on && !self.token.is(b'{');
            if ends || matches!(self.token.kind, Kind::End | Kind::Block) || self.token.is(b'}') {
                return Ok(());
            }
            match self.token.kind {
                Kind::Value => self.value(draft)?,
                Kind::Symbol => {
                    let name = self.advance().text.trim_start_matches('@').trim_matches('"').to_owned();
                    match draft.symbol {
                        None => draft.symbol = Some(name),
                        Some(_) => draft.words.push(name),
                    }
                }
                Kind::Sign(b'{') => match self.is_region() {
                    true => self.region(draft, is_container)?,
                    false => self.dict(draft)?,
                },
                Kind::Sign(b'<') => {
                    self.advance();
                    match self.token.is(b'{') {
                        true => self.dict(draft)?,
                        false => {
                            let text = self.balanced(b'>')?;
                            draft.words.push(format!("<{text}"));
                        }
                    }
                    self.take(b'>');
                }
                Kind::Sign(b'(') => self.parentheses(draft, is_container)?,
                Kind::Sign(b'[') => {
                    let start = self.token.at;
                    self.nested_values(draft)?;
                    let text = self.lexer.source.get(start..self.end()).unwrap_or_default();
                    draft.words.push(short(text));
                }
                Kind::Sign(b':') => {
                    self.advance();
                    self.types_of(draft)?;
                }
                Kind::Arrow => {
                    self.types_of(draft)?;
                }
                Kind::Word if self.token.text == "loc" => self.location(draft)?,
                Kind::Word => self.word(draft)?,
                Kind::Text => {
                    let text = unquoted(self.advance().text);
                    draft.words.push(short(&text));
                }
                Kind::Sign(b',' | b'=') => {
                    self.advance();
                }
                _ => {
                    let text = self.literal()?;
                    draft.words.push(text);
                }
            }
        }
    }

    /// Where the token begins that was reached, without the blanks before it.
    fn end(&self) -> usize {
        let before = self.lexer.source.get(..self.token.at).unwrap_or_default();
        before.trim_end().len()
    }

    /// A value: one that is taken, or, before `=` and `:`, one that is defined for the regions.
    fn value(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        let name = self.advance().text.to_owned();
        if self.take(b'=') {
            draft.arguments.push((name, String::new()));
            return Ok(());
        }
        draft.operands.push(name);
        Ok(())
    }

    /// What stands between parentheses: values, values with their types, regions.
    fn parentheses(&mut self, draft: &mut ParsedOperation, is_container: bool) -> Result<()> {
        self.advance();
        let mut depth = 1usize;
        while depth > 0 {
            match self.token.kind {
                Kind::End => return Err(self.wrong("the end of parentheses")),
                Kind::Sign(b'(' | b'[') => {
                    depth += 1;
                    self.advance();
                }
                Kind::Sign(b')' | b']') => {
                    depth -= 1;
                    self.advance();
                }
                Kind::Value => {
                    let name = self.advance().text.to_owned();
                    if self.take(b':') {
                        let of = self.one_type()?;
                        draft.arguments.push((name, of));
                    } else if self.take(b'=') {
                        draft.arguments.push((name, String::new()));
                    } else {
                        draft.operands.push(name);
                    }
                }
                Kind::Sign(b'{') if self.is_region() => self.region(draft, is_container)?,
                Kind::Sign(b'{') => {
                    self.advance();
                    self.balanced(b'}')?;
                    self.take(b'}');
                }
                _ => {
                    self.advance();
                }
            }
        }
        Ok(())
    }

    /// Values in brackets, as `dynamic_slice` and others have them.
    fn nested_values(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::End => return Err(self.wrong("\"]\"")),
                Kind::Sign(b'[') => depth += 1,
                Kind::Sign(b']') => depth -= 1,
                Kind::Value => draft.operands.push(self.token.text.to_owned()),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Whether a brace begins a region: operations begin lines, entries of a dict have `=` behind their names.
    fn is_region(&self) -> bool {
        let mut ahead = self.lexer.clone();
        let first = ahead.next();
        if first.is(b'}') {
            return first.begins_line;
        }
        if matches!(first.kind, Kind::Value | Kind::Block) {
            return true;
        }
        let second = ahead.next();
        let is_entry = second.is(b'=') || second.is(b',') || second.is(b'}');
        matches!(first.kind, Kind::Word | Kind::Text) && !is_entry
    }

    /// A region in braces.
    fn region(&mut self, draft: &mut ParsedOperation, is_container: bool) -> Result<()> {
        self.advance();
        if is_container {
            while !self.take(b'}') {
                match self.token.kind {
                    Kind::End => return Err(self.wrong("the end of the module")),
                    Kind::Block => self.label(&mut Vec::new())?,
                    _ => self.operation_in_module()?,
                }
            }
            return Ok(());
        }
        if self.regions.len() >= DEPTH {
            return Err(Error::limit(format!("regions more than {DEPTH} deep in each other")));
        }
        self.regions.push(Region::new(draft.symbol.as_deref().unwrap_or("region")));
        // Those of a `while` have the types of the operation.
        let types = result_types(&draft.types, draft.arguments.len());
        for (n, (name, of)) in draft.arguments.iter().enumerate() {
            let of = if of.is_empty() { types.get(n).copied().unwrap_or_default() } else { of };
            self.argument(name, of)?;
        }
        let read = self.operations(draft);
        let Some(mut region) = self.regions.pop() else {
            return Err(Error::bug("a region that was not begun"));
        };
        draft.taken.append(&mut region.taken);
        draft.regions.push(region.builder.finish());
        read
    }

    /// Modules may lie in modules; how deep is bounded as of regions.
    fn operation_in_module(&mut self) -> Result<()> {
        self.regions.push(Region::new("module"));
        if self.regions.len() >= DEPTH {
            return Err(Error::limit(format!("modules more than {DEPTH} deep in each other")));
        }
        let read = self.operation();
        self.regions.pop();
        read
    }

    fn operations(&mut self, _draft: &ParsedOperation) -> Result<()> {
        let mut blocks = Vec::new();
        while !self.take(b'}') {
            match self.token.kind {
                Kind::End => return Err(self.wrong("the end of a region")),
                Kind::Block => {
                    self.label(&mut blocks)?;
                    for (name, of) in std::mem::take(&mut blocks) {
                        self.argument(&name, &of)?;
                    }
                }
                _ => self.operation()?,
            }
        }
        Ok(())
    }

    /// An argument of a block.
    fn argument(&mut self, name: &str, of: &str) -> Result<()> {
        self.typed(name, of);
        let Some(region) = self.regions.last_mut() else { return Ok(()) };
        let id = region.builder.value(name)?;
        region.known.insert(name.to_owned());
        if let Some(value) = region.builder.describe(id) {
            describe(value, of);
        }
        region.builder.input(id);
        Ok(())
    }

    fn typed(&mut self, name: &str, of: &str) {
        if !of.is_empty() {
            self.types.insert(name.to_owned(), of.into());
        }
    }

    /// `^bb0(%arg: type, …):`
    fn label(&mut self, to: &mut Vec<(String, String)>) -> Result<()> {
        self.advance();
        if self.take(b'(') {
            while !self.take(b')') {
                match self.token.kind {
                    Kind::End => return Err(self.wrong("\")\"")),
                    Kind::Value => {
                        let name = self.advance().text.to_owned();
                        let of = if self.take(b':') { self.one_type()? } else { String::new() };
                        to.push((name, of));
                    }
                    _ => {
                        self.advance();
                    }
                }
            }
        }
        self.take(b':');
        Ok(())
    }

    /// The text of one type, up to a comma or the end of brackets.
    fn one_type(&mut self) -> Result<String> {
        let start = self.token.at;
        let mut depth = 0usize;
        loop {
            let is_location = self.token.text == "loc";
            match self.token.kind {
                Kind::End => break,
                Kind::Word if is_location && depth == 0 => break,
                Kind::Sign(b'<' | b'(' | b'[') => depth += 1,
                Kind::Sign(b'{') if depth == 0 => break,
                Kind::Sign(b'>' | b')' | b']') if depth > 0 => depth -= 1,
                Kind::Sign(b')' | b']' | b'>' | b',' | b'=') if depth == 0 => break,
                _ => {}
            }
            self.advance();
        }
        let text = self.lexer.source.get(start..self.end().max(start)).unwrap_or_default();
        // Attributes and the location of an argument say nothing here.
        if self.token.is(b'{') {
            self.advance();
            self.balanced(b'}')?;
            self.take(b'}');
        }
        if self.token.text == "loc" {
            self.advance();
            if self.take(b'(') {
                self.balanced(b')')?;
                self.take(b')');
            }
        }
        Ok(text.trim().to_owned())
    }

    /// The text up to the sign that closes brackets which are open, which is not taken.
    fn balanced(&mut self, close: u8) -> Result<String> {
        let start = self.token.at;
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::End => return Err(self.wrong("the end of brackets")),
                Kind::Sign(sign) if sign == close && depth == 0 => break,
                Kind::Sign(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Kind::Sign(b')' | b']' | b'}' | b'>') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        Ok(self.lexer.source.get(start..self.end().max(start)).unwrap_or_default().to_owned())
    }

    /// Entries of a dict of attributes.
    fn dict(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        self.advance();
        while !self.take(b'}') {
            let name = match self.token.kind {
                Kind::Word => self.advance().text.to_owned(),
                Kind::Text => unquoted(self.advance().text),
                Kind::Sign(b',') => {
                    self.advance();
                    continue;
                }
                _ => return Err(self.wrong("the name of an attribute")),
            };
            let value = if self.take(b'=') { self.entry()? } else { "unit".to_owned() };
            if name == "sym_name" {
                draft.symbol = Some(value.trim_matches('"').to_owned());
            } else if name == "callee" {
                draft.symbol = Some(value.trim_start_matches('@').to_owned());
            }
            draft.attributes.push((name.as_str().into(), attribute(&value)));
        }
        Ok(())
    }

    /// The value of an entry: up to a comma or the end of the dict.
    fn entry(&mut self) -> Result<String> {
        let start = self.token.at;
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::End => return Err(self.wrong("the end of an attribute")),
                Kind::Sign(b',' | b'}') if depth == 0 => break,
                Kind::Sign(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Kind::Sign(b')' | b']' | b'}' | b'>') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        Ok(self.lexer.source.get(start..self.end().max(start)).unwrap_or_default().to_owned())
    }

    /// A word: the name of an attribute where `=` follows, else a keyword or a literal.
    fn word(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        if GOES_ON.contains(&self.token.text) {
            let next = self.lexer.clone().next();
            if self.token.begins_line || next.is(b'{') {
                self.advance();
                return Ok(());
            }
        }
        let mut ahead = self.lexer.clone();
        if !ahead.next().is(b'=') {
            if self.token.text == "attributes" {
                self.advance();
                return Ok(());
            }
            let text = self.literal()?;
            draft.words.push(text);
            return Ok(());
        }
        let name = self.advance().text;
        self.advance();
        let start = self.token.at;
        let mut depth = 0usize;
        // A value goes on to the next comma, to the attributes or to the types: `[1] x [0]`.
        loop {
            match self.token.kind {
                Kind::End => break,
                Kind::Sign(b',' | b':' | b'{') if depth == 0 && self.token.at > start => break,
                Kind::Sign(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Kind::Sign(b')' | b']' | b'}' | b'>') if depth == 0 => break,
                Kind::Sign(b')' | b']' | b'}' | b'>') => depth -= 1,
                Kind::Value if depth == 0 => break,
                _ if depth == 0 && self.token.begins_line => break,
                _ => {}
            }
            self.advance();
        }
        let text = self.lexer.source.get(start..self.end().max(start)).unwrap_or_default();
        draft.attributes.push((name.into(), attribute(text)));
        Ok(())
    }

    /// A literal with what belongs to it in angle brackets: `dense<[1, 2]>`.
    fn literal(&mut self) -> Result<String> {
        let start = self.token.at;
        self.advance();
        if self.token.is(b'<') && !self.token.begins_line {
            self.advance();
            self.balanced(b'>')?;
            self.take(b'>');
        }
        Ok(short(self.lexer.source.get(start..self.end().max(start)).unwrap_or_default()))
    }

    /// The types behind a colon, up to the end of the operation.
    fn types_of(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        let start = self.token.at;
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::End => break,
                _ if depth == 0 && self.token.begins_line => break,
                Kind::Word if depth == 0 && ["loc", "attributes"].contains(&self.token.text) => break,
                Kind::Sign(b'{') if depth == 0 => break,
                Kind::Sign(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Kind::Sign(b'}') if depth == 0 => break,
                Kind::Sign(b')' | b']' | b'}' | b'>') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        draft.types = self.lexer.source.get(start..self.end().max(start)).unwrap_or_default().to_owned();
        Ok(())
    }

    /// `loc(…)`: the name of the place, by which modules are told.
    fn location(&mut self, draft: &mut ParsedOperation) -> Result<()> {
        self.advance();
        if !self.take(b'(') {
            return Ok(());
        }
        let text = self.balanced(b')')?;
        self.take(b')');
        let named = match text.strip_prefix('"') {
            Some(_) => place(&text),
            None => self.locations.get(text.trim()).copied(),
        };
        draft.location = named.map(str::to_owned);
        Ok(())
    }

    /// Adds an operation to the region that is open; a function to the program.
    fn add(&mut self, mut draft: ParsedOperation) -> Result<()> {
        if draft.name == "module" || draft.name == "builtin.module" {
            self.program.name = self.program.name.take().or(draft.symbol);
            self.program.attributes.append(&mut draft.attributes);
            return Ok(());
        }
        if FUNCTIONS.contains(&draft.name.as_str()) {
            let name = draft.symbol.unwrap_or_default();
            // One without a body is defined elsewhere.
            let graph =
                if draft.regions.is_empty() { Graph::default() } else { draft.regions.swap_remove(0) };
            self.program.functions.push((name, graph));
            return Ok(());
        }
        let last = draft.name.rsplit('.').next().unwrap_or_default().to_owned();
        let mut operands = Vec::with_capacity(draft.operands.len());
        for name in &draft.operands {
            operands.push(Port::of(self.used(name)?));
        }
        if ENDS.contains(&last.as_str()) {
            let Some(region) = self.regions.last_mut() else { return Ok(()) };
            operands.iter().filter_map(|port| port.value).for_each(|id| region.builder.output(id));
            return Ok(());
        }
        // What the regions take from around them.
        let mut known: HashSet<&String> = draft.operands.iter().collect();
        for name in draft.taken.iter().filter(|name| known.insert(*name)) {
            let id = self.used(name)?;
            operands.push(Port::of(id));
        }
        // The dialect of functions leaves its name out.
        if draft.name == "call" {
            draft.name = "func.call".to_owned();
        }
        let (domain, operator) = match draft.name.split_once('.') {
            Some((domain, operator)) => (domain, operator),
            None => ("", draft.name.as_str()),
        };
        let mut node = Operation {
            operator: operator.into(),
            domain: domain.into(),
            group: draft.location.as_deref().map_or("", scope).into(),
            inputs: operands,
            attributes: draft.attributes,
            ..Operation::default()
        };
        said(&mut node, &last, draft.words, draft.symbol);
        let count = draft.regions.len();
        for (n, graph) in draft.regions.into_iter().enumerate() {
            let name: Arc<str> = region_name(&last, n, count).into();
            let what = crate::bytes::display::plural(graph.nodes().len() as u64, "node");
            node.attributes.push((name.clone(), Attribute::Graph(format!("graph of {what}"))));
            node.subgraphs.push((name, Arc::new(graph)));
        }
        self.results(&mut node, &draft.results, &draft.types)?;
        let Some(region) = self.regions.last_mut() else { return Ok(()) };
        region.builder.node(node)
    }

    /// A value that is taken, perhaps from around the region.
    fn used(&mut self, name: &str) -> Result<crate::data::content::graph::ValueId> {
        let of = self.types.get(name).cloned();
        let region = self.regions.last_mut().ok_or_else(|| Error::bug("no region is open"))?;
        let is_new = region.builder.known(name).is_none();
        let id = region.builder.value(name)?;
        if is_new {
            if let (Some(value), Some(of)) = (region.builder.describe(id), of) {
                describe(value, &of);
            }
            if !region.known.contains(name) {
                region.taken.push(name.to_owned());
            }
        }
        Ok(id)
    }

    fn results(&mut self, node: &mut Operation, results: &[(String, u64)], types: &str) -> Result<()> {
        /// The most results of one name: no operation has more.
        const RESULTS: u64 = 1 << 16;
        let mut names = Vec::new();
        for (name, count) in results {
            match count {
                1 => names.push(name.clone()),
                count => names.extend((0..(*count).min(RESULTS)).map(|n| format!("{name}#{n}"))),
            }
        }
        let types = result_types(types, names.len());
        for (name, of) in names.into_iter().zip(types.into_iter().map(Some).chain(std::iter::repeat(None))) {
            let of = of.unwrap_or_default();
            self.typed(&name, of);
            let Some(region) = self.regions.last_mut() else { continue };
            region.known.insert(name.clone());
            let id = region.builder.value(&name)?;
            if let Some(value) = region.builder.describe(id) {
                describe(value, of);
            }
            node.outputs.push(Port::of(id));
        }
        Ok(())
    }
}

impl Region {
    fn new(name: &str) -> Self {
        Region { builder: Builder::new(name), taken: Vec::new(), known: HashSet::new() }
    }
}
