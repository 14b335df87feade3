//! ML programs: the blocks of functions as graphs. Constants are no nodes: settings are attributes of the operations
//! that take them, weights are values with the path of their array. Blocks in operations (`cond`, `while_loop`) are
//! bodies.
//! <https://apple.github.io/coremltools/docs-guides/source/model-intermediate-language.html>

use super::constexpr::Constexpr;
use super::types::{self, Type};
use super::value::{Constant, Context};
use super::{Leaf, label};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, ValueId, scope};
use crate::data::node::Node;
use crate::engines::modules::Names;
use crate::engines::protobuf::{Field, Part};
use crate::engines::tensorflow::messages::entry;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep blocks may lie in blocks.
const DEPTH: usize = 24;
/// The group of constants that stand in the program itself.
const CONSTANTS: &str = "constants";
/// What operations begin with that make constants of others.
const MAKES_CONSTANTS: &str = "constexpr_";

/// A constant of a function and where it stands in the document.
struct Known {
    constant: Arc<Constant>,
    setting: Option<Attribute>,
    /// The path of its array; `None` of a setting that nobody asked for as a value.
    path: Option<Arc<str>>,
}

/// A function as it is made.
pub(super) struct Function<'a> {
    task: &'a Task,
    context: Arc<Context>,
    /// What the paths of its constants begin with.
    prefix: String,
    /// The weights: from files, and made of others.
    pub(super) leaves: Vec<Leaf>,
    /// Those in the program itself.
    pub(super) constants: Vec<Leaf>,
    names: Names,
    inline: Names,
    known: HashMap<String, Known>,
    /// What the function says of itself.
    pub(super) attributes: Vec<(String, String)>,
    /// The blocks for other sets of operations.
    pub(super) others: Vec<(String, Graph)>,
    /// The first thing that is wrong with it.
    pub(super) problem: Option<Error>,
}

/// What goes into an operation.
enum Argument {
    /// A value by its name.
    Name(String),
    /// A constant that stands there.
    Value(Box<Constant>),
}

/// An operation as the file has it.
#[derive(Default)]
struct RawOperation<'a> {
    kind: String,
    inputs: Vec<(String, Vec<Argument>)>,
    outputs: Vec<(String, Type)>,
    blocks: Vec<Part<'a>>,
    attributes: Vec<(String, Constant)>,
}

impl<'a> RawOperation<'a> {
    fn parse(part: Part<'a>) -> Result<RawOperation<'a>> {
        let mut raw = RawOperation::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => raw.kind = value.text(),
                2 => {
                    let (key, argument) = entry(value.part())?;
                    let mut given = Vec::new();
                    for field in argument.fields() {
                        let field = field?;
                        if field.number != 1 {
                            continue;
                        }
                        for field in field.value.fields() {
                            match field? {
                                Field { number: 1, value, .. } => given.push(Argument::Name(value.text())),
                                Field { number: 2, value, .. } => {
                                    given.push(Argument::Value(Box::new(Constant::parse(value.part())?)));
                                }
                                _ => {}
                            }
                        }
                    }
                    raw.inputs.push((key.text(), given));
                }
                3 => raw.outputs.push(named(value.part())?),
                4 => raw.blocks.push(value.part()),
                5 => {
                    let (key, value) = entry(value.part())?;
                    raw.attributes.push((key.text(), Constant::parse(value.part())?));
                }
                _ => {}
            }
        }
        // A map has no order of its own.
        raw.inputs.sort_by(|(a, _), (b, _)| a.cmp(b));
        raw.attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(raw)
    }
}

/// A `NamedValueType`.
fn named(part: Part) -> Result<(String, Type)> {
    let (mut name, mut kind) = (String::new(), Type::default());
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => name = value.text(),
            Field { number: 2, value, .. } => kind = types::parse(value.part())?,
            _ => {}
        }
    }
    Ok((name, kind))
}

/// The names of the blocks of an operation.
fn body_name(kind: &str, n: usize) -> String {
    match (kind, n) {
        ("cond", 0) => "true".to_owned(),
        ("cond", 1) => "false".to_owned(),
        ("while_loop", 0) => "cond".to_owned(),
        ("while_loop", 1) => "body".to_owned(),
        _ => format!("block {n}"),
    }
}

impl<'a> Function<'a> {
    /// A function whose constants have paths that begin with `prefix`.
    pub(super) fn new(task: &'a Task, context: Arc<Context>, prefix: &str) -> Self {
        Function {
            task,
            context,
            prefix: prefix.to_owned(),
            leaves: Vec::new(),
            constants: Vec::new(),
            names: Names::default(),
            inline: Names::default(),
            known: HashMap::new(),
            attributes: Vec::new(),
            others: Vec::new(),
            problem: None,
        }
    }

    /// The graph of the function: the block for the set of operations that it names.
    ///
    /// # Errors
    /// `Cancelled`, `Limit`.
    pub(super) fn graph(&mut self, name: &str, part: Part) -> Result<Graph> {
        let (mut inputs, mut opset, mut blocks) = (Vec::new(), String::new(), Vec::new());
        let mut read = || -> Result<()> {
            for field in part.fields() {
                let Field { number, value, .. } = field?;
                match number {
                    1 => inputs.push(named(value.part())?),
                    2 => opset = value.text(),
                    3 => {
                        let (key, block) = entry(value.part())?;
                        blocks.push((key.text(), block.part()));
                    }
                    4 => {
                        let (key, value) = entry(value.part())?;
                        let value =
                            Constant::parse(value.part())?.setting(self.task, &self.context.source)?;
                        if let Some(value) = value {
                            self.attributes.push((key.text(), value.to_string()));
                        }
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        let found = read().unless_cancelled()?;
        self.problem = self.problem.take().or(found.err());
        blocks.sort_by(|(a, _), (b, _)| a.cmp(b));
        let chosen = blocks.iter().position(|(key, _)| *key == opset);
        if !opset.is_empty() {
            self.attributes.insert(0, ("opset".to_owned(), opset));
        }
        let Some(chosen) = chosen.or((!blocks.is_empty()).then_some(0)) else {
            self.problem.get_or_insert_with(|| Error::malformed("a function without a block"));
            return Ok(Builder::new(name).finish());
        };
        let (_, first) = blocks.remove(chosen);
        let graph = self.block(name, &inputs, first, 0)?;
        for (key, block) in blocks {
            self.known.clear();
            let other = self.block(&key, &inputs, block, 0)?;
            self.others.push((key, other));
        }
        Ok(graph)
    }

    fn block(&mut self, name: &str, given: &[(String, Type)], part: Part, depth: usize) -> Result<Graph> {
        if depth > DEPTH {
            return Err(Error::limit(format!("blocks more than {DEPTH} deep in blocks")));
        }
        let mut builder = Builder::new(name);
        for (name, kind) in given {
            let id = typed(&mut builder, name, kind)?;
            builder.input(id);
        }
        let filled = self.fill(&mut builder, part, depth).unless_cancelled()?;
        if let Err(error) = filled {
            self.problem.get_or_insert(error);
        }
        Ok(builder.finish())
    }

    fn fill(&mut self, builder: &mut Builder, part: Part, depth: usize) -> Result<()> {
        let mut outputs = Vec::new();
        for (n, field) in part.fields().enumerate() {
            if n % 64 == 0 {
                self.task.check()?;
            }
            let Field { number, value, .. } = field?;
            match number {
                1 => {
                    let (name, kind) = named(value.part())?;
                    let id = typed(builder, &name, &kind)?;
                    builder.input(id);
                }
                2 => outputs.push(value.text()),
                3 => {
                    let done = self.operation(builder, value.part(), depth).unless_cancelled()?;
                    if let Err(error) = done {
                        self.problem.get_or_insert(error.of(&format!("operation {n}")));
                    }
                }
                _ => {}
            }
        }
        for name in outputs {
            let id = self.value(builder, &name)?;
            builder.output(id);
        }
        Ok(())
    }

    fn operation(&mut self, builder: &mut Builder, part: Part, depth: usize) -> Result<()> {
        let mut raw = RawOperation::parse(part)?;
        if raw.kind == "const" {
            return self.constant(raw);
        }
        if raw.kind.starts_with(MAKES_CONSTANTS) {
            return self.made(raw);
        }
        let mut operation = Operation { operator: raw.kind.as_str().into(), ..Operation::default() };
        let (task, source) = (self.task, self.context.source.clone());
        for (name, value) in raw.attributes {
            match value.setting(task, &source)? {
                Some(Attribute::Text(text)) if name == "name" => operation.name = text.into(),
                Some(value) => operation.attributes.push((name.into(), value)),
                None => operation.attributes.push((name.into(), Attribute::Text(value.kind.word.clone()))),
            }
        }
        operation.group = scope(&operation.name).into();
        let own = match (&*operation.name, raw.outputs.first()) {
            ("", Some((output, _))) => output.clone(),
            (name, _) => name.to_owned(),
        };
        for (parameter, given) in raw.inputs {
            let several = given.len() > 1;
            for (n, given) in given.into_iter().enumerate() {
                let port = if several { format!("{parameter}.{n}") } else { parameter.clone() };
                self.argument(builder, &mut operation, (&own, port), given)?;
            }
        }
        // What flows first, then weights.
        operation.inputs.sort_by_key(|port| {
            let value = port.value.and_then(|id| builder.describe(id));
            value.is_some_and(|value| value.weight.is_some())
        });
        for (name, kind) in &raw.outputs {
            let id = typed(builder, name, kind)?;
            operation.outputs.push(Port::of(id));
        }
        for (n, part) in std::mem::take(&mut raw.blocks).into_iter().enumerate() {
            let name = body_name(&raw.kind, n);
            let graph = self.block(&format!("{own}.{name}"), &[], part, depth + 1)?;
            let nodes = crate::bytes::display::plural(graph.nodes().len() as u64, "operation");
            operation.attributes.push((name.as_str().into(), Attribute::Graph(format!("block of {nodes}"))));
            operation.subgraphs.push((name.into(), Arc::new(graph)));
        }
        builder.node(operation)
    }

    /// A port of an operation, or an attribute where a setting is given.
    fn argument(
        &mut self,
        builder: &mut Builder,
        operation: &mut Operation,
        (own, port): (&str, String),
        given: Argument,
    ) -> Result<()> {
        let name = match given {
            Argument::Name(name) => name,
            Argument::Value(constant) => {
                let name = format!("{own}.{port}");
                self.know(&name, *constant, false)?;
                name
            }
        };
        if let Some(Known { setting: Some(setting), .. }) = self.known.get(&name) {
            operation.attributes.push((port.into(), setting.clone()));
            return Ok(());
        }
        let id = self.value(builder, &name)?;
        operation.inputs.push(Port { name: port.into(), ..Port::of(id) });
        Ok(())
    }

    /// The value of a name, with what is known of a constant.
    fn value(&mut self, builder: &mut Builder, name: &str) -> Result<ValueId> {
        let id = builder.value(name)?;
        if self.known.get(name).is_some_and(|known| known.path.is_none()) {
            self.listed(name);
        }
        if let (Some(known), Some(value)) = (self.known.get(name), builder.describe(id)) {
            value.dtype = Some(known.constant.kind.word.as_str().into());
            value.shape.clone_from(&known.constant.kind.shape);
            (value.weight, value.elements) = (known.path.clone(), known.constant.elements());
        }
        Ok(id)
    }

    /// A `const` operation.
    fn constant(&mut self, raw: RawOperation) -> Result<()> {
        let value = raw.attributes.into_iter().find(|(name, _)| name == "val").map(|(_, value)| value);
        let (Some(value), Some((name, _))) = (value, raw.outputs.first()) else {
            return Err(Error::malformed("a constant without a value or a name"));
        };
        self.know(name, value, false)
    }

    /// An operation that makes constants of others, which it has as inputs or as attributes.
    fn made(&mut self, raw: RawOperation) -> Result<()> {
        let Some((first, _)) = raw.outputs.first() else { return Ok(()) };
        let first = first.clone();
        let mut parameters = HashMap::new();
        for (name, mut given) in raw.inputs {
            let constant = match given.pop() {
                Some(Argument::Name(known)) => match self.known.get(&known) {
                    Some(known) => known.constant.clone(),
                    None => return Err(Error::malformed(format!("{}: {known} is no constant", raw.kind))),
                },
                Some(Argument::Value(constant)) => self.part(&first, &name, *constant),
                None => continue,
            };
            parameters.insert(name, constant);
        }
        for (name, constant) in raw.attributes.into_iter().filter(|(name, _)| name != "name") {
            let constant = self.part(&first, &name, constant);
            parameters.insert(name, constant);
        }
        let made = Arc::new(Constexpr::new(raw.kind, parameters)?);
        for (n, (name, kind)) in raw.outputs.into_iter().enumerate() {
            self.know(&name, Constant::made(kind, made.clone(), n), true)?;
        }
        Ok(())
    }

    /// A constant that stands in the operation that makes another of it: an array below that.
    fn part(&mut self, of: &str, name: &str, constant: Constant) -> Arc<Constant> {
        let constant = Arc::new(constant);
        let leaf = self.names.free(&format!("{of}.{name}"));
        self.leaves.push(leaf_of(leaf, label::STORED, constant.clone(), self.context.clone()));
        constant
    }

    /// Takes a constant down under its name. Weights from files and those that are made are arrays of the tree at
    /// once.
    fn know(&mut self, name: &str, constant: Constant, is_made: bool) -> Result<()> {
        let setting = match is_made || constant.is_blob() {
            true => None,
            false => constant.setting(self.task, &self.context.source)?,
        };
        let needs_array = setting.is_none();
        self.known.insert(name.to_owned(), Known { constant: Arc::new(constant), setting, path: None });
        if needs_array {
            self.listed(name);
        }
        Ok(())
    }

    /// Lists the array of a constant.
    fn listed(&mut self, name: &str) {
        let Some(known) = self.known.get_mut(name) else { return };
        let (constant, context) = (known.constant.clone(), self.context.clone());
        if constant.is_blob() || constant.maker().is_some() {
            let leaf = self.names.free(name);
            known.path = Some(format!("{}{leaf}", self.prefix).into());
            self.leaves.push(leaf_of(leaf, label::WEIGHT, constant, context));
        } else {
            let leaf = self.inline.free(name);
            known.path = Some(format!("{}{CONSTANTS}/{leaf}", self.prefix).into());
            self.constants.push(leaf_of(leaf, label::CONSTANT, constant, context));
        }
    }

    /// The constants that stand in the program itself, as a group.
    pub(super) fn group(&mut self) -> Option<Node> {
        let constants = std::mem::take(&mut self.constants);
        let nodes: Vec<Node> = constants.iter().map(Leaf::made).collect();
        (!nodes.is_empty()).then(|| Node::new(CONSTANTS, label::GROUP).listed(nodes))
    }
}

/// The value of a name with its type.
fn typed(builder: &mut Builder, name: &str, kind: &Type) -> Result<ValueId> {
    let id = builder.value(name)?;
    if let Some(value) = builder.describe(id) {
        value.dtype = Some(kind.word.as_str().into());
        value.shape.clone_from(&kind.shape);
    }
    Ok(id)
}

/// A constant as an array of the tree, which is looked for in its file when somebody looks at it.
fn leaf_of(name: String, label: &'static str, constant: Arc<Constant>, context: Arc<Context>) -> Leaf {
    Leaf::new(name, move |name| {
        let mut node = Node::new(name, label);
        node.derived = constant.maker().is_some();
        node.span = constant.span();
        for (name, value) in constant.details() {
            node = node.read_as(name, value);
        }
        let (constant, context, own) = (constant.clone(), context.clone(), node.clone());
        node.deferred_leaf(move |task| {
            let mut node = own.clone();
            (node.reader, node.children) = (Vec::new(), crate::data::node::Children::None);
            Ok(match constant.array(task, &context).unless_cancelled()? {
                Ok(array) => node.content(Content::Array(array)),
                Err(error) => node.problem(error),
            })
        })
    })
}
