//! Trees: a node each, with the predicate that leads to it; an edge leads from a node to those below it. Read element by
//! element, so that neither depth nor length of a tree matters. <https://dmg.org/pmml/v4-4-1/TreeModel.html>

use super::{Made, about, scalar};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Operation, Port, ValueId};
use crate::engines::xml::Element;
use crate::formats::model::pmml::outline::{Bounded, DEPTH, attributes, unescaped};
use crate::formats::model::pmml::{Document, terms, texts};
use quick_xml::events::{BytesStart, Event};

/// The most nodes of a tree that is drawn.
const NODES: usize = 1 << 20;
/// Events between two looks at the task.
const CHECK: u64 = 4_096;

/// Nodes of a tree on the way to a graph.
#[derive(Default)]
struct Walk {
    nodes: Vec<Operation>,
    /// The nodes that are open.
    open: Vec<usize>,
    /// Elements of the innermost node that are open: no nodes.
    inner: Vec<Element>,
    /// What the parent of a node hands down, by node.
    values: Vec<Option<ValueId>>,
}

/// Draws the tree of a model of the outline; gives what ends it early.
///
/// # Errors
/// `Cancelled`, and those of reading.
pub(super) fn draw(task: &Task, document: &Document, model: u32, made: &mut Made) -> Result<Option<Error>> {
    let Some(span) =
        document.child(model, "Node").and_then(|node| document.entry(node)).map(|entry| entry.span.clone())
    else {
        return Ok(None);
    };
    let mut reader = quick_xml::Reader::from_reader(Bounded::new(task, &document.text, span.start)?);
    reader.config_mut().check_end_names = true;
    reader.config_mut().expand_empty_elements = true;
    let (mut walk, mut buffer, mut events, mut problem) = (Walk::default(), Vec::new(), 0_u64, None);
    // Fields of the schema reach the root.
    let fields: Vec<Port> = made.active.iter().copied().map(Port::of).collect();
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
            Ok(event) => walk.take(&event, made, &fields),
            Err(error) => Err(Error::malformed(format!("XML: {error}"))),
        };
        if let Err(error) = taken {
            let at = span.start.saturating_add(reader.buffer_position());
            problem = Some(error.of("tree").at(at));
            break;
        }
    }
    for node in walk.nodes {
        made.builder.node(node)?;
    }
    Ok(problem)
}

impl Walk {
    fn take(&mut self, event: &Event<'_>, made: &mut Made, fields: &[Port]) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(tag, made, fields),
            Event::End(_) => {
                self.close();
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

    fn start(&mut self, tag: &BytesStart<'_>, made: &mut Made, fields: &[Port]) -> Result<()> {
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
        let id = attributes.iter().find(|(name, _)| name == "id").map(|(_, value)| value.as_str());
        let id = id.map_or_else(|| self.nodes.len().to_string(), str::to_owned);
        let inputs = match self.open.last().copied() {
            None => fields.to_vec(),
            Some(parent) => vec![Port::of(self.value(parent, made)?)],
        };
        self.open.push(self.nodes.len());
        self.values.push(None);
        self.nodes.push(Operation {
            name: id.into(),
            operator: "Node".into(),
            inputs,
            attributes: about(&attributes, &["id"]),
            ..Operation::default()
        });
        Ok(())
    }

    /// What a node hands to those below it; made with the first of them.
    fn value(&mut self, node: usize, made: &mut Made) -> Result<ValueId> {
        if let Some(known) = self.values.get(node).copied().flatten() {
            return Ok(known);
        }
        let name = self.nodes.get(node).map(|node| node.name.clone()).unwrap_or_default();
        let value = made.between(&name)?;
        if let Some(place) = self.values.get_mut(node) {
            *place = Some(value);
        }
        if let Some(node) = self.nodes.get_mut(node) {
            node.outputs.push(Port::of(value));
        }
        Ok(value)
    }

    fn close(&mut self) {
        let Some(element) = self.inner.pop() else {
            self.open.pop();
            return;
        };
        if let Some(above) = self.inner.last_mut() {
            above.children.push(element);
            return;
        }
        let Some(node) = self.open.last().and_then(|node| self.nodes.get_mut(*node)) else { return };
        let name = element.local_name();
        if terms::is_predicate(name) {
            node.attributes.insert(0, ("predicate".into(), Attribute::Text(texts::predicate(&element))));
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
}
