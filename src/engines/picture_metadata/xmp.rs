//! XMP (ISO 16684-1): properties of a resource in RDF. Plain ones and lists of such are attributes, structures are nodes.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::node::Node;
use crate::engines::xml::{self, Element};
use bytes::Bytes;

/// Structures in each other.
const DEPTH: usize = 16;

/// The tree of some packets, whose properties come one after the other.
pub(super) fn node(task: &Task, packets: &[Bytes]) -> Result<Node> {
    let mut root = Node::new("XMP", "metadata");
    let mut children = Vec::new();
    for packet in packets {
        task.check()?;
        let text = xml::decoded(packet);
        let parsed = xml::parse(task, text.trim_end_matches('\0')).map_err(|error| {
            if error.is_cancelled() { error } else { Error::malformed(format!("XMP: {}", error.message())) }
        })?;
        let Some(top) = parsed.root else { continue };
        let rdf = if top.local_name() == "RDF" { Some(&top) } else { top.child("RDF") };
        let Some(rdf) = rdf else {
            root.remarks.push("an XMP packet without RDF".to_owned());
            continue;
        };
        for described in rdf.all("Description") {
            properties(described, &mut root, &mut children, 0);
        }
    }
    Ok(root.listed(children))
}

/// Puts the properties of a description or structure into `node`, and structures into `children`.
fn properties(of: &Element, node: &mut Node, children: &mut Vec<Node>, depth: usize) {
    for (name, value) in &of.attributes {
        let is_syntax = name.starts_with("xmlns") || name.starts_with("rdf:") || name.starts_with("xml:");
        if !is_syntax {
            node.attributes.push((name.clone(), value.as_str().into()));
        }
    }
    for property in &of.children {
        match value(property) {
            Some(value) => node.attributes.push((property.name.clone(), value.into())),
            None if depth < DEPTH => children.push(structure(property, depth + 1)),
            None => node.remarks.push(format!("{} is too deep to be shown", property.name)),
        }
    }
}

/// A plain value, or a list of such as JSON.
fn value(property: &Element) -> Option<serde_json::Value> {
    let has_own = property.attributes.iter().any(|(name, _)| {
        !name.starts_with("xmlns") && !name.starts_with("xml:") && !matches!(name.as_str(), "rdf:resource")
    });
    if property.children.is_empty() {
        if has_own {
            return None;
        }
        let text = property.attribute("rdf:resource").unwrap_or(property.text.trim());
        return Some(text.into());
    }
    let (list, kind) = list(property)?;
    let plain: Vec<serde_json::Value> =
        list.iter().filter(|item| item.children.is_empty()).map(|item| item.text.trim().into()).collect();
    if plain.len() < list.len() || list.iter().any(|item| has_fields(item)) {
        return None;
    }
    match (kind, plain.as_slice()) {
        // Alternatives are one text in several languages.
        ("Alt", [one]) => Some(one.clone()),
        _ => Some(plain.into()),
    }
}

/// Whether an item has the fields of a structure as attributes.
fn has_fields(item: &Element) -> bool {
    item.attributes.iter().any(|(name, _)| !name.starts_with("xml") && !name.starts_with("rdf:"))
}

/// The items of an array, and its kind.
fn list(property: &Element) -> Option<(Vec<&Element>, &str)> {
    let array = property.children.first().filter(|_| property.children.len() == 1)?;
    let kind = array.local_name();
    matches!(kind, "Bag" | "Seq" | "Alt").then(|| (array.all("li").collect(), kind))
}

/// A structure, or an array of structures.
fn structure(property: &Element, depth: usize) -> Node {
    let mut node = Node::new(property.name.clone(), "structure");
    let mut children = Vec::new();
    match list(property) {
        Some((items, _)) if depth < DEPTH => {
            for (n, item) in items.into_iter().enumerate() {
                let mut one = structure(item, depth + 1);
                one.name = n.to_string();
                if one.attributes.is_empty() && item.children.is_empty() {
                    one.attributes.push(("value".to_owned(), item.text.trim().into()));
                }
                children.push(one);
            }
        }
        Some(_) => node.remarks.push("its items are too deep to be shown".to_owned()),
        None => {
            // A structure stands in the property itself, or in a description within it.
            let inner = property.child("Description").filter(|_| property.children.len() == 1);
            properties(inner.unwrap_or(property), &mut node, &mut children, depth);
        }
    }
    if children.is_empty() { node } else { node.listed(children) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::node::Value;
    use std::sync::Arc;

    #[test]
    fn properties_lists_and_structures() {
        let text = br#"<?xpacket begin='' id='x'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='r' xmlns:dc='d' xmlns:tiff='t' xmlns:a='a'>
            <rdf:Description rdf:about='' tiff:Make='Canon'>
              <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Dusk</rdf:li></rdf:Alt></dc:title>
              <dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>sky</rdf:li></rdf:Bag></dc:subject>
              <a:flash rdf:parseType='Resource'><a:fired>True</a:fired></a:flash>
              <a:history><rdf:Seq><rdf:li a:action='saved'/><rdf:li rdf:parseType='Resource'><a:action>made</a:action></rdf:li></rdf:Seq></a:history>
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>"#;
        let task = Task::new();
        let node = Arc::new(node(&task, &[Bytes::from_static(text)]).unwrap());
        let said = |node: &Node, name: &str| {
            node.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| match value {
                Value::Text(text) => text.clone(),
                Value::Json(json) => json.to_string(),
            })
        };
        assert_eq!(said(&node, "tiff:Make").as_deref(), Some("Canon"));
        assert_eq!(said(&node, "dc:title").as_deref(), Some("Dusk"));
        assert_eq!(said(&node, "dc:subject").as_deref(), Some(r#"["sea","sky"]"#));
        let below = |path: &str| node.find(&task, path).unwrap().unwrap();
        assert_eq!(said(&below("/a:flash"), "a:fired").as_deref(), Some("True"));
        assert_eq!(said(&below("/a:history/0"), "a:action").as_deref(), Some("saved"));
        assert_eq!(said(&below("/a:history/1"), "a:action").as_deref(), Some("made"));
    }
}
