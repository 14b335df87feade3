//! Trees: a node a `split`, named by the fields that the nodes below it look at, or a `leaf`, named by its score. An edge leads
//! from a node to each of those below it; it is named by the predicate of the lower one, and says where missing values go.
//! Read element by element, so that neither depth nor length of a tree matters. <https://dmg.org/pmml/v4-4-1/TreeModel.html>

use super::{GraphBuilder, about, scalar};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Operation, Port, ValueId};
use crate::engines::trees::drawing::{LEAF, SPLIT};
use crate::engines::xml::Element;
use crate::formats::model::pmml::outline::{Bounded, DEPTH, attributes, unescaped};
use crate::formats::model::pmml::{Document, terms, texts};
use quick_xml::events::{BytesStart, Event};
use std::sync::Arc;

/// The most nodes of a tree that is drawn.
const NODES: usize = 1 << 18;
/// Events between two looks at the task.
const CHECK: u64 = 4_096;
/// Fields that the name of a node tells.
const FIELDS: usize = 3;

/// A node that is not closed yet.
#[derive(Default)]
struct Open {
    /// Its number.
    node: usize,
    /// The edge that leads to it.
    edge: Option<ValueId>,
    /// The fields that the nodes below it look at, up to [`FIELDS`] and one.
    fields: Vec<String>,
    /// The nodes below it that have an `id`, with their edges, where one of them may be the default.
    children: Vec<(String, ValueId)>,
    /// The `id` of that one.
    default: Option<String>,
}

/// Nodes of a tree on the way to a graph.
#[derive(Default)]
struct Walk {
    nodes: Vec<Operation>,
    open: Vec<Open>,
    /// Elements of the innermost node that are open: no nodes.
    inner: Vec<Element>,
    /// Whether a record without a value goes where a node says.
    has_defaults: bool,
    split: Arc<str>,
    leaf: Arc<str>,
}

/// Draws the tree of a model of the outline; gives what ends it early.
///
/// # Errors
/// `Cancelled`, and those of reading.
pub(super) fn draw(
    task: &Task,
    document: &Document,
    model: u32,
    made: &mut GraphBuilder,
) -> Result<Option<Error>> {
    let Some(span) =
        document.child(model, "Node").and_then(|node| document.entry(node)).map(|entry| entry.span.clone())
    else {
        return Ok(None);
    };
    let mut reader = quick_xml::Reader::from_reader(Bounded::new(task, &document.text, span.start)?);
    reader.config_mut().check_end_names = true;
    reader.config_mut().expand_empty_elements = true;
    let has_defaults = document.attribute(model, "missingValueStrategy") == Some("defaultChild");
    let mut walk = Walk { has_defaults, split: SPLIT.into(), leaf: LEAF.into(), ..Walk::default() };
    let (mut buffer, mut events, mut problem) = (Vec::new(), 0_u64, None);
    while span.start.saturating_add(reader.buffer_position()) < span.end {
        buffer.clear();
        reader.get_mut().go_on();
        let event = reader.read_event_into(&mut buffer);
        events += 1;
        if events.is_multiple_of(CHECK) || event.is_err() {
            task.check()?;
        }
        let taken = match event {
            Ok(Event::Eof) => break,
            Ok(event) => walk.take(&event, made),
            Err(error) => Err(Error::malformed(format!("XML: {error}"))),
        };
        if let Err(error) = taken {
            let at = span.start.saturating_add(reader.buffer_position());
            problem = Some(error.of("tree").at(at));
            break;
        }
    }
    while let Some(open) = walk.open.pop() {
        walk.finish(open, made);
    }
    for node in walk.nodes {
        made.builder.node(node)?;
    }
    Ok(problem)
}

impl Walk {
    fn take(&mut self, event: &Event<'_>, made: &mut GraphBuilder) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(tag, made),
            Event::End(_) => {
                self.close(made);
                Ok(())
            }
            Event::Text(text) => {
                if let Some(element) = self.inner.last_mut() {
                    element.text.push_str(&unescaped(text.as_ref()));
                }
                Ok(())
            }
            Event::GeneralRef(name) => {
                if let Some(element) = self.inner.last_mut() {
                    let name: &str = name.as_ref();
                    element.text.push_str(&unescaped(&format!("&{name};")));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, made: &mut GraphBuilder) -> Result<()> {
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let attributes = attributes(tag)?;
        if name != "Node" || !self.inner.is_empty() {
            if self.inner.len() >= limits::DEPTH {
                return Err(Error::limit(format!("elements more than {} deep in a node", limits::DEPTH)));
            }
            self.inner.push(Element { name: name.to_owned(), attributes, ..Element::default() });
            return Ok(());
        }
        if self.nodes.len() >= NODES || self.open.len() >= DEPTH {
            let what =
                format!("a tree of more than {NODES} nodes or {DEPTH} levels is drawn as far as there");
            return Err(Error::limit(what));
        }
        let mut open = Open { node: self.nodes.len(), ..Open::default() };
        let of = |name: &str| {
            let found = attributes.iter().find(|(known, _)| self.has_defaults && known == name);
            found.map(|(_, value)| value.clone())
        };
        open.default = of("defaultChild");
        if let Some(parent) = self.open.last_mut() {
            let edge = made.between("")?;
            open.edge = Some(edge);
            parent.children.extend(of("id").map(|id| (id, edge)));
            if let Some(above) = self.nodes.get_mut(parent.node) {
                above.outputs.push(Port::of(edge));
            }
        }
        self.nodes.push(Operation {
            inputs: open.edge.map(Port::of).into_iter().collect(),
            attributes: about(&attributes, &[]),
            ..Operation::default()
        });
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, made: &mut GraphBuilder) {
        let Some(element) = self.inner.pop() else {
            if let Some(open) = self.open.pop() {
                self.finish(open, made);
            }
            return;
        };
        if let Some(above) = self.inner.last_mut() {
            above.children.push(element);
            return;
        }
        let [.., open] = self.open.as_slice() else { return };
        let (edge, Some(node)) = (open.edge, self.nodes.get_mut(open.node)) else { return };
        let name = element.local_name();
        if terms::is_predicate(name) {
            let said = texts::predicate(&element);
            if let Some(value) = edge.and_then(|edge| made.builder.describe(edge)) {
                value.name = texts::short(&said).into();
            }
            node.attributes.insert(0, ("predicate".into(), Attribute::Text(said)));
            if let [.., parent, _] = self.open.as_mut_slice() {
                for field in super::fields(&element) {
                    if parent.fields.len() <= FIELDS && !parent.fields.iter().any(|known| known == field) {
                        parent.fields.push(field.to_owned());
                    }
                }
            }
        } else if name == "ScoreDistribution" {
            let value = element.attribute("value").unwrap_or_default();
            let count = element.attribute("recordCount").or_else(|| element.attribute("probability"));
            let named = format!("records of {value}");
            node.attributes.push((named.into(), scalar(count.unwrap_or_default())));
        } else {
            let text = texts::cell(&[&element]).unwrap_or_default();
            node.attributes.push((name.into(), Attribute::Text(text)));
        }
    }

    /// Names a node all of whose children are known, and the edge to the one that takes missing values.
    fn finish(&mut self, open: Open, made: &mut GraphBuilder) {
        let Some(node) = self.nodes.get_mut(open.node) else { return };
        let default = open.children.iter().find(|(id, _)| open.default.as_ref() == Some(id));
        if let Some(edge) = default.and_then(|(_, edge)| made.builder.describe(*edge)) {
            edge.name = format!("{}, missing", edge.name).into();
        }
        let is_leaf = node.outputs.is_empty();
        node.operator = if is_leaf { self.leaf.clone() } else { self.split.clone() };
        let mut fields = open.fields;
        if fields.len() > FIELDS {
            fields.truncate(FIELDS);
            fields.push("…".to_owned());
        }
        let of = |name: &str| node.attributes.iter().find(|(known, _)| known.as_ref() == name);
        let said =
            if is_leaf { of("score").map(|(_, score)| score.to_string()) } else { Some(fields.join(", ")) };
        let said = said.filter(|said| !said.is_empty());
        let id = || of("id").map(|(_, id)| id.to_string()).unwrap_or_default();
        node.name = said.unwrap_or_else(id).into();
    }
}
