//! Expressions: what they stand for, and the nodes that they make on the way.

use super::constant::Constant;
use super::library::{Store, Stored};
use super::make::{ATEN, Bound, Flow, Instance, Maker, PRIM, Type, Want};
use super::syntax::{Expression, Name};
use crate::bytes::error::Result;
use crate::data::content::graph::Attribute;
use std::collections::HashMap;
use std::sync::Arc;

impl Maker<'_> {
    /// What an expression stands for.
    pub(super) fn evaluate(&mut self, expression: &Expression, want: Want<'_>) -> Result<Bound> {
        self.deeper(|maker| maker.evaluated(expression, want))
    }

    fn evaluated(&mut self, expression: &Expression, want: Want<'_>) -> Result<Bound> {
        if let Some(constant) = Constant::literal(expression) {
            return Ok(Bound::Constant(constant));
        }
        match expression {
            Expression::Name(name) => Ok(match self.bound(name) {
                Some(bound) => bound.clone(),
                None => Bound::Constant(Constant::Other(name.clone())),
            }),
            Expression::Attribute(object, name) => {
                if let Some(parts) = self.unbound(expression) {
                    return self.named(&parts);
                }
                let object = self.evaluate(object, Want::One(""))?;
                self.attribute(&object, name, want)
            }
            Expression::Call(callee, arguments) => self.call(callee, arguments, want),
            Expression::Index(object, index) => {
                let object = self.evaluate(object, Want::One(""))?;
                self.index(object, index, want)
            }
            Expression::List(items) => self.items(items, |items| Constant::List(items.into()), Bound::List),
            Expression::Tuple(items) => {
                self.items(items, |items| Constant::Tuple(items.into()), |items| Bound::Tuple(items, None))
            }
            Expression::Dict(pairs) => self.dict(pairs, want),
            Expression::Slice(_) => Ok(Bound::Constant(Constant::Other(":".into()))),
            Expression::Operator(name, parts) => {
                let mut arguments = Vec::new();
                for part in parts {
                    arguments.push((None, self.evaluate(part, Want::One(""))?));
                }
                let domain = if *name == "RaiseException" { PRIM } else { ATEN };
                self.operator(domain, name, &arguments, want, None)
            }
            _ => Ok(Bound::Constant(Constant::None)),
        }
    }

    /// The parts of a dotted name whose first one stands for nothing here: a module's.
    pub(super) fn unbound(&self, expression: &Expression) -> Option<Vec<Name>> {
        let parts = expression.dotted()?;
        let is_bound = parts.first().is_none_or(|first| self.bound(first).is_some());
        (!is_bound).then(|| parts.into_iter().cloned().collect())
    }

    /// A name of a module: a constant of the file, a function, a member of an enumeration.
    fn named(&mut self, parts: &[Name]) -> Result<Bound> {
        let whole = parts.join(".");
        if let [first, number] = parts
            && &**first == "CONSTANTS"
        {
            let number = number.strip_prefix('c').and_then(|number| number.parse().ok());
            let Some((id, path)) = number.and_then(|number| self.library.constant(number)) else {
                return Ok(Bound::Constant(Constant::Other(whole.into())));
            };
            return Ok(self.known_value(Store::Constants, id, &path.into(), &"".into()));
        }
        if let Some((class, _)) = whole.rsplit_once('.')
            && self.library.class(self.task, class)?.is_some()
        {
            return Ok(Bound::Constant(Constant::Other(whole.into())));
        }
        Ok(match parts.first() {
            Some(first) if &**first == "__torch__" => Bound::Named(whole.into()),
            _ => Bound::Constant(Constant::Other(whole.into())),
        })
    }

    /// What a value of a pickle is in a graph.
    fn known_value(
        &mut self,
        store: Store,
        id: crate::engines::pickle::Id,
        path: &Arc<str>,
        group: &Arc<str>,
    ) -> Bound {
        match self.library.stored(store, id) {
            Stored::Tensor(described) => Bound::Flow(self.weight(path, *described)),
            Stored::Constant(constant) => Bound::Constant(constant),
            Stored::Object(class) => {
                let (path, group) = (path.clone(), group.clone());
                Bound::Object(Arc::new(Instance { store, id, class: class.into(), path, group }))
            }
            Stored::Other => Bound::Constant(Constant::Other(path.clone())),
        }
    }

    /// An attribute of something.
    pub(super) fn attribute(&mut self, object: &Bound, name: &Name, want: Want<'_>) -> Result<Bound> {
        match object {
            Bound::Object(instance) => self.attribute_of(instance, name, want),
            Bound::Tuple(items, Some(class)) => {
                let class = self.library.class(self.task, class)?;
                let place = class.as_ref().and_then(|class| class.field(name));
                match place.and_then(|(place, _)| items.get(place)) {
                    Some(item) => Ok(item.clone()),
                    None => self.get(object, name, want, None),
                }
            }
            Bound::Flow(flow) => {
                let of = self.type_of(*flow);
                let of = self.field(of.as_deref(), name)?;
                self.get(object, name, want, of)
            }
            _ => self.get(object, name, want, None),
        }
    }

    /// The type of a field of something of this type.
    fn field(&mut self, of: Option<&Expression>, name: &str) -> Result<Type> {
        let Some(class) = of.and_then(qualified) else { return Ok(None) };
        let class = self.library.class(self.task, &class)?;
        let found = class.as_ref().and_then(|class| class.field(name));
        Ok(found.map(|(_, of)| Arc::new(of.clone())))
    }

    /// A node that takes an attribute.
    fn get(&mut self, object: &Bound, name: &Name, want: Want<'_>, of: Type) -> Result<Bound> {
        let operator = match &**name {
            "value" if of.is_none() => "EnumValue",
            "name" if of.is_none() => "EnumName",
            _ => "GetAttr",
        };
        let mut node = self.operation(PRIM, operator);
        node.attributes.push((self.text("name"), Attribute::Text(name.to_string())));
        self.argument(&mut node, "object", object)?;
        let want = if let Want::One("") = want { Want::One(name) } else { want };
        self.made(node, want, of)
    }

    fn attributes_of(&mut self, instance: &Instance) -> Arc<HashMap<String, crate::engines::pickle::Id>> {
        let key = (instance.store, instance.id);
        if let Some(known) = self.attributes.get(&key) {
            return known.clone();
        }
        let attributes = Arc::new(self.library.attributes(instance.store, instance.id));
        self.attributes.insert(key, attributes.clone());
        attributes
    }

    fn attribute_of(&mut self, instance: &Arc<Instance>, name: &Name, want: Want<'_>) -> Result<Bound> {
        let class = self.library.class(self.task, &instance.class)?;
        let object = Bound::Object(instance.clone());
        let Some(id) = self.attributes_of(instance).get(&**name).copied() else {
            let constant = class.as_ref().and_then(|class| class.class()).and_then(|class| {
                class.constants.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            });
            return match constant {
                Some(value) => self.evaluate(&value, want),
                None => self.get(&object, name, want, None),
            };
        };
        let (path, group) = match (&*instance.path, instance.store) {
            ("", _) => (name.clone(), name.clone()),
            (path, Store::Data) => {
                (format!("{path}.{name}").into(), format!("{}/{name}", instance.group).into())
            }
            (path, Store::Constants) => (format!("{path}/{name}").into(), instance.group.clone()),
        };
        match self.known_value(instance.store, id, &path, &group) {
            Bound::Constant(_) if class.as_ref().is_some_and(|class| class.assigns(name)) => {
                let of = self.field(Some(&Expression::Name(instance.class.clone())), name)?;
                self.get(&object, name, want, of)
            }
            // Lists and dicts of tensors are looked into when the program runs.
            Bound::Constant(Constant::Other(_)) => {
                let of = self.field(Some(&Expression::Name(instance.class.clone())), name)?;
                self.get(&object, name, want, of)
            }
            known => Ok(known),
        }
    }

    /// Items: a constant where all of them are.
    fn items(
        &mut self,
        items: &[Expression],
        constant: impl FnOnce(Vec<Constant>) -> Constant,
        bound: impl FnOnce(Arc<[Bound]>) -> Bound,
    ) -> Result<Bound> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            all.push(self.evaluate(item, Want::One(""))?);
        }
        let constants = all.iter().map(|item| match item {
            Bound::Constant(constant) => Some(constant.clone()),
            _ => None,
        });
        Ok(match constants.collect::<Option<Vec<_>>>() {
            Some(constants) => Bound::Constant(constant(constants)),
            None => bound(all.into()),
        })
    }

    fn dict(&mut self, pairs: &[(Expression, Expression)], want: Want<'_>) -> Result<Bound> {
        let mut node = self.operation(PRIM, "DictConstruct");
        for (n, (key, value)) in pairs.iter().enumerate() {
            let key = self.evaluate(key, Want::One(""))?;
            let value = self.evaluate(value, Want::One(""))?;
            let name = match &key {
                Bound::Constant(Constant::Text(text)) => text.to_string(),
                Bound::Constant(other) => other.to_string(),
                _ => {
                    self.argument(&mut node, &format!("key {n}"), &key)?;
                    n.to_string()
                }
            };
            self.argument(&mut node, &name, &value)?;
        }
        let want = if let Want::Nothing = want { Want::One("") } else { want };
        self.made(node, want, None)
    }

    /// An item, or a part.
    fn index(&mut self, object: Bound, index: &Expression, want: Want<'_>) -> Result<Bound> {
        if let Expression::Slice(parts) = index {
            return self.slice(object, parts, want);
        }
        let index = self.evaluate(index, Want::One(""))?;
        if let Bound::Constant(Constant::Int(place)) = index {
            // Items of tuples are known; lists may have been changed.
            let found = match &object {
                Bound::Tuple(items, _) => at(items, place).cloned(),
                Bound::Constant(Constant::Tuple(items)) => at(items, place).cloned().map(Bound::Constant),
                _ => None,
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let of = if let Bound::Flow(flow) = &object { self.type_of(*flow) } else { None };
        let is_object = matches!(object, Bound::Object(_));
        let (domain, operator) = match self.is_tuple(of.as_deref())? {
            _ if is_object => (PRIM, "ModuleContainerIndex"),
            true => (PRIM, "TupleIndex"),
            false => (ATEN, "__getitem__"),
        };
        let of = of.and_then(|of| item_type(&of, &index));
        let want = if let Want::One("") = want { Want::One("item") } else { want };
        self.operator(domain, operator, &[(None, object), (None, index)], want, of)
    }

    /// Whether a type is a tuple, with named fields or without.
    fn is_tuple(&mut self, of: Option<&Expression>) -> Result<bool> {
        let Some(of) = of else { return Ok(false) };
        if of.generic("Tuple").is_some() {
            return Ok(true);
        }
        let Some(class) = qualified(of) else { return Ok(false) };
        let class = self.library.class(self.task, &class)?;
        let base = class.as_ref().and_then(|class| class.class()).and_then(|class| class.base.clone());
        Ok(base.is_some_and(|base| &*base == "NamedTuple"))
    }

    fn slice(
        &mut self,
        object: Bound,
        parts: &[Option<Arc<Expression>>; 3],
        want: Want<'_>,
    ) -> Result<Bound> {
        let mut arguments = vec![(None, object)];
        let mut places = Vec::new();
        for part in parts {
            let value = match part {
                Some(part) => self.evaluate(part, Want::One(""))?,
                None => Bound::Constant(Constant::None),
            };
            places.push(if let Bound::Constant(Constant::Int(place)) = &value { Some(*place) } else { None });
            arguments.push((None, value));
        }
        if let (Some((_, Bound::Tuple(items, _))), [first, end, None]) =
            (arguments.first(), places.as_slice())
        {
            let len = items.len() as i64;
            let place = |place: i64| (if place < 0 { place + len } else { place }).clamp(0, len) as usize;
            let (first, end) = (place(first.unwrap_or(0)), place(end.unwrap_or(len)));
            return Ok(Bound::Tuple(items.get(first..end).unwrap_or_default().into(), None));
        }
        let is_flow = |(_, bound): &(_, Bound)| match bound {
            Bound::Flow(flow) => Some(*flow),
            _ => None,
        };
        let of = arguments.first().and_then(is_flow).and_then(|flow: Flow| self.type_of(flow));
        let (domain, operator) = match self.is_tuple(of.as_deref())? {
            true => (PRIM, "TupleSlice"),
            false => (ATEN, "slice"),
        };
        self.operator(domain, operator, &arguments, want, of.filter(|_| operator == "slice"))
    }
}

/// The item at a place, from the end where it is negative.
fn at<T>(items: &[T], place: i64) -> Option<&T> {
    let place = if place < 0 { place.checked_add(items.len() as i64)? } else { place };
    items.get(usize::try_from(place).ok()?)
}

/// The qualified name of a class that a type is.
pub(super) fn qualified(of: &Expression) -> Option<String> {
    if let Some([inner]) = of.generic("Optional") {
        return qualified(inner);
    }
    let parts = of.dotted()?;
    let first = parts.first()?;
    first.starts_with("__torch__").then(|| parts.iter().map(|part| &***part).collect::<Vec<_>>().join("."))
}

/// The type of an item of a container of this type.
pub(super) fn item_type(of: &Expression, index: &Bound) -> Type {
    let item = match (of.generic("List"), of.generic("Dict"), of.generic("Tuple"), index) {
        (Some(items), ..) => items.first(),
        (_, Some(items), ..) => items.get(1),
        (_, _, Some(items), Bound::Constant(Constant::Int(place))) => at(items, *place),
        _ => None,
    };
    item.cloned().map(Arc::new)
}
