//! The objects of Python that a model was made of, as a tree: layers, variables, functions, by the names of the
//! attributes that hold them. One that is held by several stands where it is met first, nearest to the root; elsewhere
//! its path stands.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/trackable_object_graph.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/saved_object_graph.proto>

use super::{attribute, messages, types};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::node::{Listing, Node, page_of};
use crate::engines::protobuf::{Field, Part};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The most names of a path that is told.
const LONGEST: usize = 64;

/// An object.
#[derive(Debug, Default)]
struct Object {
    /// What it is.
    label: &'static str,
    /// What is said of it.
    about: Vec<(&'static str, String)>,
    /// What it holds: names, and the numbers of objects.
    children: Vec<(String, usize)>,
    /// Of those, which stand below it.
    own: Vec<bool>,
    /// Where it stands: the object above, and its name there.
    above: Option<(usize, String)>,
}

/// All objects; the first is the root.
#[derive(Debug, Default)]
pub struct Objects {
    objects: Vec<Object>,
    /// Full names of variables, and the keys of their tensors in the checkpoint; `None` for a name of several.
    keys: HashMap<String, Option<String>>,
}

impl Objects {
    /// Reads a `SavedObjectGraph`.
    ///
    /// # Errors
    /// `Malformed`; `Cancelled`.
    pub fn saved(task: &Task, part: Part) -> Result<Objects> {
        let mut all = Objects::default();
        for field in part.fields() {
            task.check()?;
            let Field { number, value, .. } = field?;
            if number == 1 {
                all.objects.push(saved_object(value.part())?);
            }
        }
        all.placed();
        Ok(all)
    }

    /// Reads a `TrackableObjectGraph`, which a checkpoint holds.
    ///
    /// # Errors
    /// `Malformed`; `Cancelled`.
    pub fn trackable(task: &Task, part: Part) -> Result<Objects> {
        let mut all = Objects::default();
        for field in part.fields() {
            task.check()?;
            let Field { number, value, .. } = field?;
            if number == 1 {
                let object = all.trackable_object(value.part())?;
                all.objects.push(object);
            }
        }
        all.placed();
        Ok(all)
    }

    fn trackable_object(&mut self, part: Part) -> Result<Object> {
        let mut object = Object { label: "object", ..Object::default() };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => object.children.push(reference(value.part(), (1, 2))?),
                2 => {
                    let (mut name, mut key) = (String::new(), String::new());
                    for field in value.fields() {
                        match field? {
                            Field { number: 2, value, .. } => name = value.text(),
                            Field { number: 3, value, .. } => key = value.text(),
                            _ => {}
                        }
                    }
                    object.label = "variable";
                    if !name.is_empty() {
                        object.about.push(("full_name", name.clone()));
                        let known = self.keys.entry(name).or_insert_with(|| Some(key.clone()));
                        known.take_if(|known| *known != key);
                    }
                    object.about.push(("checkpoint_key", key));
                }
                3 => {
                    let (name, number) = reference(value.part(), (3, 2))?;
                    object.about.push(("slot", format!("{name} (object {number})")));
                }
                _ => {}
            }
        }
        Ok(object)
    }

    /// Finds where each object stands: breadth first from the root.
    fn placed(&mut self) {
        let mut met = vec![false; self.objects.len()];
        let mut waiting = VecDeque::from([0]);
        if let Some(root) = met.first_mut() {
            *root = true;
        }
        while let Some(n) = waiting.pop_front() {
            let Some(object) = self.objects.get(n) else { continue };
            let children = object.children.clone();
            let mut own = Vec::with_capacity(children.len());
            for (name, child) in children {
                let is_new = met.get_mut(child).is_some_and(|met| !std::mem::replace(met, true));
                own.push(is_new);
                if is_new {
                    if let Some(child) = self.objects.get_mut(child) {
                        child.above = Some((n, name));
                    }
                    waiting.push_back(child);
                }
            }
            if let Some(object) = self.objects.get_mut(n) {
                object.own = own;
            }
        }
    }

    /// Where an object stands, from the root: `layers/0/kernel`.
    fn path(&self, n: usize) -> String {
        let (mut names, mut at) = (Vec::new(), n);
        while let Some((above, name)) = self.objects.get(at).and_then(|object| object.above.as_ref()) {
            if names.len() == LONGEST {
                names.push("…");
                break;
            }
            names.push(name.as_str());
            at = *above;
        }
        names.reverse();
        names.join("/")
    }

    /// Full names of variables, each of one variable alone, and the keys of their tensors in the checkpoint.
    pub fn keys(&self) -> impl Iterator<Item = (&String, &String)> {
        self.keys.iter().filter_map(|(name, key)| Some((name, key.as_ref()?)))
    }

    /// The tree of all objects; `None` where there are none.
    pub fn tree(self, name: &str) -> Option<Node> {
        let count = self.objects.len();
        let node = node(&Arc::new(self), 0, name)?;
        Some(node.read_as("objects", count.to_string()))
    }
}

/// A number of an object and a name, in the fields of these numbers (name's last).
fn reference(part: Part, (id, name): (u32, u32)) -> Result<(String, usize)> {
    let (mut number, mut text) = (0, String::new());
    for field in part.fields() {
        let field = field?;
        if field.number == id {
            number = usize::try_from(field.value.uint()).unwrap_or(usize::MAX);
        } else if field.number == name {
            text = field.value.text();
        }
    }
    Ok((text, number))
}

/// The text of a field of a message.
fn text_of(part: Part, number: u32) -> String {
    let mut fields = part.fields().map_while(Result::ok);
    fields.find(|field| field.number == number).map_or(String::new(), |field| field.value.text())
}

fn saved_object(part: Part) -> Result<Object> {
    let mut object = Object { label: "object", ..Object::default() };
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let inner = value.part();
        match number {
            1 => object.children.push(reference(inner, (1, 2))?),
            4 => {
                object.about.push(("identifier", text_of(inner, 1)));
                let metadata = text_of(inner, 3);
                if !metadata.is_empty() {
                    object.about.push(("metadata", metadata));
                }
            }
            5 => object.label = "asset",
            6 => {
                object.label = "function";
                let names = inner.fields().map_while(Result::ok).filter(|field| field.number == 1);
                let names: Vec<String> = names.map(|field| field.value.text()).collect();
                object.about.push(("concrete_functions", names.join(", ")));
            }
            7 => variable(inner, &mut object)?,
            8 => {
                object.label = "function";
                object.about.push(("concrete_function", text_of(inner, 1)));
            }
            9 => {
                object.label = "constant";
                object.about.push(("operation", text_of(inner, 1)));
            }
            10 => object.label = "resource",
            12 => object.label = "captured tensor",
            13 => object.about.push(("registered_name", value.text())),
            _ => {}
        }
    }
    object.about.retain(|(_, text)| !text.is_empty());
    Ok(object)
}

fn variable(part: Part, object: &mut Object) -> Result<()> {
    object.label = "variable";
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => object.about.push(("dtype", types::word(value.uint()))),
            Field { number: 2, value, .. } => {
                let shape = messages::shape(value.part())?;
                object.about.push(("shape", attribute::shape_text(shape.as_deref())));
            }
            Field { number: 3, value, .. } => {
                object.about.push(("trainable", (value.uint() != 0).to_string()));
            }
            Field { number: 6, value, .. } => object.about.push(("name", value.text())),
            _ => {}
        }
    }
    Ok(())
}

/// The node of an object under a name.
fn node(all: &Arc<Objects>, n: usize, name: &str) -> Option<Node> {
    let object = all.objects.get(n)?;
    let mut node = Node::new(name, object.label);
    for (name, text) in &object.about {
        node = node.attribute(*name, text.as_str());
    }
    if object.children.is_empty() {
        return Some(node);
    }
    Some(node.lazy(Below { all: all.clone(), n }))
}

/// What an object holds.
struct Below {
    all: Arc<Objects>,
    n: usize,
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.all.objects.get(self.n).map_or(0, |object| object.children.len() as u64))
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let object = self.all.objects.get(self.n);
        page_of(task, range, self.count(), |k| {
            let child = object.and_then(|object| {
                let (name, child) = object.children.get(k as usize)?;
                if object.own.get(k as usize).copied().unwrap_or(false) {
                    return node(&self.all, *child, name);
                }
                let Some(other) = self.all.objects.get(*child) else {
                    let problem =
                        crate::bytes::error::Error::malformed(format!("there is no object {child}"));
                    return Some(Node::new(name.as_str(), "object").problem(problem));
                };
                Some(Node::new(name.as_str(), other.label).value(format!("is /{}", self.all.path(*child))))
            });
            Ok(child.map(Arc::new))
        })
    }
}
