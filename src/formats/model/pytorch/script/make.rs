//! Makes graphs of functions: what flows, the graph that is being made and those around it, its nodes.

use super::constant::Constant;
use super::library::{Library, Store};
use super::schemas;
use super::syntax::{Expression, Function, Name};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, Value, ValueId};
use crate::engines::pickle::Id;
use std::collections::HashMap;
use std::sync::Arc;

/// The most nodes of a graph with its bodies.
const NODES: usize = 1 << 19;
/// How deep calls, blocks and expressions may be open in each other.
const DEPTH: u32 = 240;
/// The namespace of operators on tensors, and that of the language.
pub(super) const ATEN: &str = "aten";
pub(super) const PRIM: &str = "prim";

/// Something that flows, by its number in [`Maker::flows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flow(u32);

/// A type as it is written.
pub(super) type Type = Option<Arc<Expression>>;

/// What is known of something that flows.
struct Known {
    value: Value,
    of: Type,
    /// The graph that it is made in.
    draft: u32,
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Bound {
    Flow(Flow),
    Constant(Constant),
    /// An object of the file.
    Object(Arc<Instance>),
    /// A tuple, with the qualified name of its class where it has named fields.
    Tuple(Arc<[Bound]>, Option<Arc<str>>),
    /// A list that stands where it is used.
    List(Arc<[Bound]>),
    /// A function or a class by its qualified name.
    Named(Arc<str>),
    /// A function of a function.
    Local(Arc<Function>),
}

/// An object of the file.
pub(super) struct Instance {
    pub(super) store: Store,
    pub(super) id: Id,
    /// The qualified name of its class.
    pub(super) class: Arc<str>,
    /// Its path in the document; empty for the root.
    pub(super) path: Arc<str>,
    /// Its path as a group of nodes.
    pub(super) group: Arc<str>,
}

/// A graph that is being made.
pub(super) struct Draft {
    builder: Builder,
    /// The values that it has by now.
    local: HashMap<Flow, ValueId>,
    /// What it takes from the graphs around it, in the order in which it does.
    captured: Vec<Flow>,
    number: u32,
}

/// The names of a function that is being gone through.
#[derive(Default)]
pub(super) struct Frame {
    names: HashMap<Name, Bound>,
    /// What names stood for before, for each body that is open.
    logs: Vec<Vec<(Name, Option<Bound>)>>,
}

/// How many results are wanted, and what they are called.
#[derive(Clone, Copy)]
pub(super) enum Want<'a> {
    Nothing,
    /// One, called so; empty where it has no name.
    One(&'a str),
    Many(&'a [&'a str]),
}

impl Want<'_> {
    fn names(&self) -> Vec<&str> {
        match self {
            Want::Nothing => Vec::new(),
            Want::One(name) => vec![name],
            Want::Many(names) => names.to_vec(),
        }
    }
}

/// Makes the graph of a function.
pub(super) struct Maker<'a> {
    pub(super) task: &'a Task,
    pub(super) library: &'a Library,
    flows: Vec<Known>,
    drafts: Vec<Draft>,
    drafts_made: u32,
    frames: Vec<Frame>,
    /// How often names of values were used.
    names: HashMap<String, u32>,
    texts: HashMap<String, Arc<str>>,
    weights: HashMap<Arc<str>, Flow>,
    pub(super) attributes: HashMap<(Store, Id), Arc<HashMap<String, Id>>>,
    /// The groups that nodes lie in now, the innermost last.
    pub(super) groups: Vec<Arc<str>>,
    /// The functions that are being gone through.
    pub(super) calling: Vec<Arc<str>>,
    /// Functions that stand as nodes, to be drawn by themselves.
    pub(super) apart: Vec<Arc<str>>,
    /// How many statements functions have.
    pub(super) sizes: HashMap<Arc<str>, u64>,
    /// Statements that may still be laid out in place of calls.
    pub(super) left: u64,
    depth: u32,
    nodes: usize,
}

impl<'a> Maker<'a> {
    /// `left` is how many statements may be laid out in place of calls.
    pub(super) fn new(task: &'a Task, library: &'a Library, left: u64) -> Self {
        Maker {
            task,
            library,
            flows: Vec::new(),
            drafts: Vec::new(),
            drafts_made: 0,
            frames: Vec::new(),
            names: HashMap::new(),
            texts: HashMap::new(),
            weights: HashMap::new(),
            attributes: HashMap::new(),
            groups: vec!["".into()],
            calling: Vec::new(),
            apart: Vec::new(),
            sizes: HashMap::new(),
            left,
            depth: 0,
            nodes: 0,
        }
    }

    /// The graph of a function. `this` is what it is a method of.
    ///
    /// # Errors
    /// `Limit`, `Cancelled`.
    pub(super) fn graph(
        &mut self,
        name: &str,
        function: &Arc<Function>,
        this: Option<Bound>,
    ) -> Result<Graph> {
        self.begin(name);
        let mut given = Vec::new();
        let is_method = this.is_some();
        given.extend(this);
        for parameter in function.parameters.iter().skip(usize::from(is_method)) {
            let of = parameter.annotation.clone().map(Arc::new);
            let flow = self.flow(&parameter.name, of);
            let id = self.local(flow)?;
            self.input(id);
            given.push(Bound::Flow(flow));
        }
        let result = self.run(function, given)?;
        for flow in self.leaving(result)? {
            let id = self.local(flow)?;
            self.output(id);
        }
        let draft = self.end()?;
        Ok(draft.builder.finish())
    }

    /// The parts of a result, tuples taken apart.
    fn leaving(&mut self, result: Bound) -> Result<Vec<Flow>> {
        match result {
            Bound::Constant(Constant::None) => Ok(Vec::new()),
            Bound::Tuple(items, _) | Bound::List(items) => {
                let mut all = Vec::new();
                for item in items.iter() {
                    match item {
                        Bound::Tuple(..) | Bound::List(_) => {
                            let item = item.clone();
                            all.extend(self.deeper(|maker| maker.leaving(item))?);
                        }
                        other => all.push(self.materialised(other.clone(), "")?),
                    }
                }
                Ok(all)
            }
            other => Ok(vec![self.materialised(other, "")?]),
        }
    }

    /// Goes a level down, or says that it is too deep.
    pub(super) fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH {
            return Err(Error::limit(format!(
                "code: calls and expressions more than {DEPTH} deep in each other"
            )));
        }
        self.depth += 1;
        let made = run(self);
        self.depth -= 1;
        made
    }

    /// Whether there is room for the parts of another call.
    pub(super) fn has_room(&self) -> bool {
        self.depth < DEPTH / 2
    }

    pub(super) fn begin(&mut self, name: &str) {
        self.drafts_made = self.drafts_made.saturating_add(1);
        self.drafts.push(Draft {
            builder: Builder::new(name),
            local: HashMap::new(),
            captured: Vec::new(),
            number: self.drafts_made,
        });
    }

    pub(super) fn end(&mut self) -> Result<Draft> {
        self.drafts.pop().ok_or_else(|| Error::bug("a graph that was not begun"))
    }

    /// Goes on with a graph.
    pub(super) fn resume(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }

    fn draft(&mut self) -> Result<&mut Draft> {
        self.drafts.last_mut().ok_or_else(|| Error::bug("no graph is being made"))
    }

    pub(super) fn input(&mut self, id: ValueId) {
        if let Some(draft) = self.drafts.last_mut() {
            draft.builder.input(id);
        }
    }

    pub(super) fn output(&mut self, id: ValueId) {
        if let Some(draft) = self.drafts.last_mut() {
            draft.builder.output(id);
        }
    }

    /// A shared text.
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(text.to_owned(), shared.clone());
        shared
    }

    /// A name that no other value has: `x`, `x.1`, `x.2`.
    fn unique(&mut self, name: &str) -> Arc<str> {
        let used = self.names.entry(name.to_owned()).or_insert(0);
        *used += 1;
        match *used {
            1 => name.into(),
            n => format!("{name}.{}", n - 1).into(),
        }
    }

    /// Something new that flows in the graph that is being made.
    pub(super) fn flow(&mut self, name: &str, of: Type) -> Flow {
        let name = self.unique(name);
        let text = of.as_ref().map(|of| of.type_text()).filter(|text| text != "Tensor");
        let dtype = text.map(|text| self.text(&text));
        self.known(Value { name, dtype, ..Value::default() }, of)
    }

    fn known(&mut self, value: Value, of: Type) -> Flow {
        let draft = self.drafts.last().map_or(0, |draft| draft.number);
        let flow = Flow(u32::try_from(self.flows.len()).unwrap_or(u32::MAX));
        self.flows.push(Known { value, of, draft });
        flow
    }

    /// A tensor of the file.
    pub(super) fn weight(&mut self, path: &Arc<str>, described: Value) -> Flow {
        if let Some(known) = self.weights.get(path) {
            return *known;
        }
        let value = Value { name: path.clone(), weight: Some(path.clone()), ..described };
        let flow = self.known(value, None);
        self.weights.insert(path.clone(), flow);
        flow
    }

    pub(super) fn type_of(&self, flow: Flow) -> Type {
        self.flows.get(flow.0 as usize).and_then(|known| known.of.clone())
    }

    pub(super) fn name_of(&self, flow: Flow) -> Arc<str> {
        self.flows.get(flow.0 as usize).map_or_else(|| "".into(), |known| known.value.name.clone())
    }

    /// Says what type something has, where that is not known.
    pub(super) fn typed(&mut self, bound: &Bound, of: Option<&Expression>) {
        if let (Bound::Flow(flow), Some(of)) = (bound, of)
            && let Some(known) = self.flows.get_mut(flow.0 as usize)
            && known.of.is_none()
        {
            known.of = Some(Arc::new(of.clone()));
        }
    }

    /// The value of what flows in the graph that is being made, which takes it from around where it is not its own.
    pub(super) fn local(&mut self, flow: Flow) -> Result<ValueId> {
        let draft = self.drafts.last_mut().ok_or_else(|| Error::bug("no graph is being made"))?;
        if let Some(id) = draft.local.get(&flow) {
            return Ok(*id);
        }
        let known =
            self.flows.get(flow.0 as usize).ok_or_else(|| Error::bug("a value that does not flow"))?;
        let id = draft.builder.unnamed(known.value.clone())?;
        draft.local.insert(flow, id);
        if known.draft != draft.number && known.value.weight.is_none() {
            draft.captured.push(flow);
        }
        Ok(id)
    }

    /// Adds a node to the graph that is being made.
    pub(super) fn node(&mut self, node: Operation) -> Result<()> {
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(Error::limit(format!("a graph of more than {NODES} nodes")));
        }
        if self.nodes.is_multiple_of(1 << 10) {
            self.task.check()?;
        }
        self.draft()?.builder.node(node)
    }

    /// A node without inputs and outputs yet.
    pub(super) fn operation(&mut self, domain: &str, operator: &str) -> Operation {
        Operation {
            operator: self.text(operator),
            domain: self.text(domain),
            group: self.groups.last().cloned().unwrap_or_default(),
            ..Operation::default()
        }
    }

    /// Adds what a node takes under a name: values as inputs, constants as attributes.
    pub(super) fn argument(&mut self, node: &mut Operation, name: &str, bound: &Bound) -> Result<()> {
        match bound {
            Bound::Flow(flow) => {
                let value = Some(self.local(*flow)?);
                node.inputs.push(Port { name: self.text(name), value, is_control: false });
            }
            // What is not given says nothing.
            Bound::Constant(Constant::None) => {}
            Bound::Constant(constant) => node.attributes.push((self.text(name), constant.attribute())),
            Bound::Tuple(items, _) | Bound::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    let name = format!("{name}[{n}]");
                    self.deeper(|maker| maker.argument(node, &name, item))?;
                }
            }
            Bound::Object(object) => {
                let text = if object.path.is_empty() { &object.class } else { &object.path };
                node.attributes.push((self.text(name), Attribute::Text(text.to_string())));
                for (n, value) in self.library.packed(object.store, object.id).into_iter().enumerate() {
                    let shown = format!("{} {}", value.dtype.as_deref().unwrap_or("tensor"), shape(&value));
                    let name = format!("{name}.{}", if n == 0 { "weight" } else { "bias" });
                    node.attributes.push((self.text(&name), Attribute::Text(shown)));
                }
            }
            Bound::Named(of) => node.attributes.push((self.text(name), Attribute::Text(of.to_string()))),
            Bound::Local(of) => node.attributes.push((self.text(name), Attribute::Text(of.name.to_string()))),
        }
        Ok(())
    }

    /// Adds a node of an operator; what comes out.
    pub(super) fn operator(
        &mut self,
        domain: &str,
        operator: &str,
        arguments: &[(Option<Name>, Bound)],
        want: Want<'_>,
        of: Type,
    ) -> Result<Bound> {
        let mut node = self.operation(domain, operator);
        let names = if domain == ATEN { schemas::arguments(operator, arguments.len()) } else { Vec::new() };
        for (n, (name, bound)) in arguments.iter().enumerate() {
            let name = match (name, names.get(n)) {
                (Some(name), _) => name.to_string(),
                (None, Some(name)) => (*name).to_owned(),
                (None, None) => n.to_string(),
            };
            self.argument(&mut node, &name, bound)?;
        }
        self.made(node, want, of)
    }

    /// Adds a node with the results that are wanted.
    pub(super) fn made(&mut self, mut node: Operation, want: Want<'_>, of: Type) -> Result<Bound> {
        let operator = node.operator.clone();
        let mut results = Vec::new();
        for name in want.names() {
            let name = if name.is_empty() { &*operator } else { name };
            let flow = self.flow(name, of.clone());
            let value = Some(self.local(flow)?);
            node.outputs.push(Port { value, ..Port::default() });
            results.push(Bound::Flow(flow));
        }
        self.node(node)?;
        Ok(match want {
            Want::One(_) => results.pop().unwrap_or(Bound::Constant(Constant::None)),
            _ => Bound::Tuple(results.into(), None),
        })
    }

    /// What something is as a value that flows: constants, tuples and lists get a node.
    pub(super) fn materialised(&mut self, bound: Bound, name: &str) -> Result<Flow> {
        let (operator, items) = match &bound {
            Bound::Flow(flow) => return Ok(*flow),
            Bound::Tuple(items, _) => ("TupleConstruct", Some(items.clone())),
            Bound::List(items) => ("ListConstruct", Some(items.clone())),
            Bound::Constant(Constant::List(items)) if items.is_empty() => ("ListConstruct", None),
            Bound::Object(_) => ("GetAttr", None),
            _ => ("Constant", None),
        };
        let mut node = self.operation(PRIM, operator);
        match items {
            Some(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.deeper(|maker| maker.argument(&mut node, &n.to_string(), item))?;
                }
            }
            None if operator == "ListConstruct" => {}
            None => self.argument(&mut node, "value", &bound)?,
        }
        if let Bound::Constant(Constant::None) = bound {
            node.attributes.push((self.text("value"), Attribute::Text("None".to_owned())));
        }
        let of = match &bound {
            Bound::Object(object) => Some(Arc::new(Expression::Name(object.class.clone()))),
            Bound::Tuple(_, Some(class)) => Some(Arc::new(Expression::Name(class.clone()))),
            _ => None,
        };
        match self.made(node, Want::One(name), of)? {
            Bound::Flow(flow) => Ok(flow),
            _ => Err(Error::bug("a node without its result")),
        }
    }

    pub(super) fn frame(&mut self) -> Result<&mut Frame> {
        self.frames.last_mut().ok_or_else(|| Error::bug("no function is gone through"))
    }

    pub(super) fn push_frame(&mut self) {
        self.frames.push(Frame::default());
    }

    pub(super) fn pop_frame(&mut self) -> Option<Bound> {
        self.frames.pop().and_then(|mut frame| frame.names.remove(RESULT))
    }

    pub(super) fn bound(&self, name: &str) -> Option<&Bound> {
        self.frames.last()?.names.get(name)
    }

    /// Lets a name stand for something.
    pub(super) fn bind(&mut self, name: Name, bound: Bound) -> Result<()> {
        let frame = self.frame()?;
        let before = frame.names.insert(name.clone(), bound);
        if let Some(log) = frame.logs.last_mut() {
            log.push((name, before));
        }
        Ok(())
    }

    /// Begins a body, whose names are forgotten at its end.
    pub(super) fn open_body(&mut self) -> Result<()> {
        self.frame()?.logs.push(Vec::new());
        Ok(())
    }

    /// Ends a body: what names stand for in it that were bound there, in the order in which they were.
    pub(super) fn close_body(&mut self) -> Result<Vec<(Name, Bound)>> {
        let frame = self.frame()?;
        let log = frame.logs.pop().unwrap_or_default();
        let mut last = Vec::new();
        for (name, before) in log.into_iter().rev() {
            // The latest binding comes first: the others have been taken back by then.
            let now = match before {
                Some(before) => frame.names.insert(name.clone(), before),
                None => frame.names.remove(&name),
            };
            last.push((name, now));
        }
        let mut known = std::collections::HashSet::new();
        let mut bound: Vec<(Name, Bound)> = Vec::new();
        for (name, now) in last {
            if known.insert(name.clone())
                && let Some(now) = now
            {
                bound.push((name, now));
            }
        }
        bound.reverse();
        Ok(bound)
    }
}

/// The name that a result is bound to.
pub(super) const RESULT: &str = "return";

/// The shape of a value as text.
fn shape(value: &Value) -> String {
    value.shape_text().unwrap_or_default()
}

impl Draft {
    /// What it takes from around.
    pub(super) fn captured(&self) -> &[Flow] {
        &self.captured
    }

    pub(super) fn finish(self) -> Graph {
        self.builder.finish()
    }
}
