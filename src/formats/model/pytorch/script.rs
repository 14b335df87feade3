//! TorchScript's code as graphs: `code/` has the source of a module's methods in a subset of Python, which is parsed and
//! gone through without being run. Calls of functions and of methods are laid out in their place, as
//! `ScriptModule.inlined_graph` has them; the modules on the way are the groups of nodes. Branches and loops are nodes
//! with bodies. <https://docs.pytorch.org/docs/stable/jit_language_reference.html>
//!
//! | part | what it does |
//! |---|---|
//! | `lex`, `parse`, `syntax` | the source |
//! | `library` | the files of code, the objects and constants of the pickles |
//! | `constant` | values that are known |
//! | `make`, `evaluate`, `call`, `control` | the graph: nodes, expressions, calls, statements |
//! | `schemas` | the names of operators' arguments |

mod call;
mod constant;
mod control;
mod evaluate;
mod lex;
mod library;
mod make;
mod parse;
mod schemas;
mod syntax;

#[cfg(test)]
mod tests;

use super::archive::Container;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::Graph;
use crate::data::node::Node;
use crate::engines::bodies;
use crate::engines::pickle::Values;
use library::{Library, Store, Stored};
use make::{Bound, Instance, Maker};
use std::sync::Arc;
use syntax::Function;

/// The group of the methods that are not the main one.
const METHODS: &str = "methods";
/// The group of the functions that are not laid out in their place.
const FUNCTIONS: &str = "functions";
/// The main method.
const FORWARD: &str = "forward";
/// Statements that are laid out in a graph in place of calls.
const STATEMENTS: u64 = 1 << 17;
/// The most functions that get graphs of their own.
const APART: usize = 64;

/// What is drawn of a module.
#[derive(Default)]
pub(super) struct Drawn {
    /// The graph of `forward`.
    pub(super) graph: Option<Arc<Graph>>,
    /// Methods, bodies, functions.
    pub(super) after: Vec<Arc<Node>>,
    /// What could not be drawn, and why.
    pub(super) remark: Option<String>,
}

/// Draws a module from its code.
///
/// # Errors
/// `Cancelled`. What else is wrong is told in the remark.
pub(super) fn draw(
    task: &Task,
    container: Container,
    values: Values,
    constants: Option<Values>,
) -> Result<Drawn> {
    let library = Arc::new(Library::new(container, values, constants));
    let mut drawn = Drawn::default();
    if let Err(error) = module(task, &library, &mut drawn).unless_cancelled()? {
        drawn.remark = Some(format!("its graph could not be drawn: {}", error.message()));
    }
    if let Some(error) = library.problem() {
        drawn
            .remark
            .get_or_insert_with(|| format!("some of its code could not be read: {}", error.message()));
    }
    Ok(drawn)
}

/// The root of the file, where it is an object.
fn this(library: &Library) -> Option<Arc<Instance>> {
    let id = library.pickle(Store::Data)?.root()?;
    let Stored::Object(class) = library.stored(Store::Data, id) else { return None };
    let (class, path, group) = (class.into(), "".into(), "".into());
    Some(Arc::new(Instance { store: Store::Data, id, class, path, group }))
}

fn module(task: &Task, library: &Arc<Library>, drawn: &mut Drawn) -> Result<()> {
    let Some(this) = this(library) else { return Ok(()) };
    let Some(class) = library.class(task, &this.class)? else { return Ok(()) };
    let methods = class.class().map(|class| class.methods.clone()).unwrap_or_default();
    let others = methods.iter().filter(|method| &*method.name != FORWARD);
    let nodes: Vec<Node> = others.map(|method| method_node(library, &this, method)).collect();
    if !nodes.is_empty() {
        drawn.after.push(Arc::new(Node::new(METHODS, "group").listed(nodes)));
    }
    let Some(forward) = class.method(FORWARD) else { return Ok(()) };
    let mut maker = Maker::new(task, library, STATEMENTS);
    maker.calling.push(format!("{}.{FORWARD}", this.class).into());
    let graph = Arc::new(maker.graph(FORWARD, &forward, Some(Bound::Object(this.clone())))?);
    if let Some(group) = bodies::node(&graph) {
        drawn.after.push(Arc::new(group));
    }
    drawn.graph = Some(graph);
    let functions = functions(task, library, maker.apart)?;
    if !functions.is_empty() {
        drawn.after.push(Arc::new(Node::new(FUNCTIONS, "group").listed(functions)));
    }
    Ok(())
}

/// A method, drawn when somebody looks at it.
fn method_node(library: &Arc<Library>, this: &Arc<Instance>, method: &Arc<Function>) -> Node {
    let (library, this, method) = (library.clone(), this.clone(), method.clone());
    let name = method.name.to_string();
    Node::deferred(name.clone(), "method", move |task| {
        let mut maker = Maker::new(task, &library, STATEMENTS);
        maker.calling.push(format!("{}.{name}", this.class).into());
        let graph = maker.graph(&name, &method, Some(Bound::Object(this.clone())))?;
        Ok(graph_node(&name, "method", graph))
    })
}

/// A node with a graph, and its bodies below it.
fn graph_node(name: &str, label: &'static str, graph: Graph) -> Node {
    let graph = Arc::new(graph);
    let below: Vec<Node> = bodies::node(&graph).into_iter().collect();
    let node = Node::new(name, label).content(Content::Graph(graph));
    if below.is_empty() { node } else { node.listed(below) }
}

/// The functions that stand as nodes in a graph, and those that stand so in theirs.
fn functions(task: &Task, library: &Library, mut names: Vec<Arc<str>>) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while let Some(name) = names.get(at).filter(|_| at < APART).cloned() {
        at += 1;
        let mut maker = Maker::new(task, library, STATEMENTS >> 7);
        maker.calling.push(name.clone());
        let made = match function(task, library, &name)? {
            Some(function) => maker.graph(&name, &function, None).unless_cancelled()?,
            None => continue,
        };
        nodes.push(match made {
            Ok(graph) => graph_node(&name, "function", graph),
            Err(error) => Node::new(&*name, "function").problem(error),
        });
        for more in maker.apart {
            if !names.contains(&more) {
                names.push(more);
            }
        }
    }
    Ok(nodes)
}

/// A function, or a method of a class, by its qualified name.
fn function(task: &Task, library: &Library, name: &str) -> Result<Option<Arc<Function>>> {
    if let Some(function) = library.function(task, name)? {
        return Ok(Some(function));
    }
    let Some((class, method)) = name.rsplit_once('.') else { return Ok(None) };
    Ok(library.class(task, class)?.and_then(|class| class.method(method)))
}
