//! Calls: operators become nodes, functions and methods are laid out in their place.

use super::constant::Constant;
use super::evaluate::{item_type, qualified};
use super::make::{ATEN, Bound, Maker, PRIM, Type, Want};
use super::syntax::{Argument, Expression, Function, Name};
use crate::bytes::error::Result;
use crate::data::content::graph::Attribute;
use std::collections::HashMap;
use std::sync::Arc;

/// Arguments with the names that they are given.
type Given = Vec<(Option<Name>, Bound)>;

impl Maker<'_> {
    /// A call.
    pub(super) fn call(
        &mut self,
        callee: &Expression,
        arguments: &[Argument],
        want: Want<'_>,
    ) -> Result<Bound> {
        if let Some(parts) = self.unbound(callee) {
            let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
            return self.call_named(&parts, arguments, want);
        }
        match callee {
            Expression::Attribute(object, method) => {
                let object = self.evaluate(object, Want::One(""))?;
                let given = self.given(arguments)?;
                self.method(object, method, given, want)
            }
            other => {
                let function = self.evaluate(other, Want::One(""))?;
                let given = self.given(arguments)?;
                match function {
                    Bound::Named(name) => self.function(&name, given, want),
                    Bound::Local(function) => {
                        let bound = self.in_order(&function, None, given)?;
                        self.run(&function, bound)
                    }
                    other => {
                        let mut all = vec![(None, other)];
                        all.extend(given);
                        self.operator(PRIM, "CallFunction", &all, want, None)
                    }
                }
            }
        }
    }

    fn given(&mut self, arguments: &[Argument]) -> Result<Given> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push((argument.name.clone(), self.evaluate(&argument.value, Want::One(""))?));
        }
        Ok(given)
    }

    /// A call of a dotted name: an operator, a function of the file, a word of the language.
    fn call_named(&mut self, parts: &[&str], arguments: &[Argument], want: Want<'_>) -> Result<Bound> {
        match parts {
            ["torch" | "aten", "device"] => self.text_of("device", arguments),
            ["torch" | "aten", rest @ ..] | ["ops", "aten", rest @ ..] if !rest.is_empty() => {
                self.call_operator(ATEN, rest.last().unwrap_or(&""), arguments, want)
            }
            ["ops", domain, rest @ ..] if !rest.is_empty() => {
                self.call_operator(domain, &rest.join("."), arguments, want)
            }
            ["__torch__", middle @ .., "__new__"] => {
                let class = format!("__torch__.{}", middle.join("."));
                let mut node = self.operation(PRIM, "CreateObject");
                node.attributes.push((self.text("class"), Attribute::Text(class.clone())));
                self.made(node, want, Some(Arc::new(Expression::Name(class.into()))))
            }
            ["__torch__", ..] => {
                let given = self.given(arguments)?;
                self.function(&parts.join("."), given, want)
            }
            [word] => self.word(word, arguments, want),
            _ => {
                self.call_operator(parts.first().unwrap_or(&""), parts.last().unwrap_or(&""), arguments, want)
            }
        }
    }

    fn call_operator(
        &mut self,
        domain: &str,
        operator: &str,
        arguments: &[Argument],
        want: Want<'_>,
    ) -> Result<Bound> {
        self.changed(operator, arguments.first().map(|argument| &argument.value))?;
        let given = self.given(arguments)?;
        let of = self.result_type(operator, &given);
        self.operator(domain, operator, &given, want, of)
    }

    /// The type of what comes out of an operator on containers.
    fn result_type(&mut self, operator: &str, given: &Given) -> Type {
        let Some((_, Bound::Flow(first))) = given.first() else { return None };
        let of = self.type_of(*first)?;
        let list = |items: Expression| {
            let list = Arc::new(Expression::Name("List".into()));
            Some(Arc::new(Expression::Index(list, Arc::new(items))))
        };
        match operator {
            "__getitem__" | "get" | "pop" => {
                let index = given.get(1).map(|(_, index)| index.clone());
                item_type(&of, &index.unwrap_or(Bound::Constant(Constant::None)))
            }
            "_unwrap_optional" => of.generic("Optional")?.first().cloned().map(Arc::new),
            "slice" | "copy" | "list" | "sorted" | "add" | "mul" if of.generic("List").is_some() => Some(of),
            "keys" => list(of.generic("Dict")?.first()?.clone()),
            "values" => list(of.generic("Dict")?.get(1)?.clone()),
            "items" => {
                let tuple = Arc::new(Expression::Name("Tuple".into()));
                let pair = Arc::new(Expression::Tuple(of.generic("Dict")?.to_vec()));
                list(Expression::Index(tuple, pair))
            }
            _ => None,
        }
    }

    fn text_of(&mut self, word: &str, arguments: &[Argument]) -> Result<Bound> {
        let given = self.given(arguments)?;
        let texts = given.iter().map(|(_, bound)| match bound {
            Bound::Constant(constant) => constant.to_string(),
            _ => "…".to_owned(),
        });
        let text = format!("{word}({})", texts.collect::<Vec<_>>().join(", "));
        Ok(Bound::Constant(Constant::Other(text.into())))
    }

    /// A call of a word of the language.
    fn word(&mut self, word: &str, arguments: &[Argument], want: Want<'_>) -> Result<Bound> {
        let first = arguments.first().map(|argument| &argument.value);
        let second = arguments.get(1).map(|argument| &argument.value);
        match (word, first, second) {
            ("annotate", Some(of), Some(value)) => self.annotate(of, value, want),
            ("unchecked_cast", Some(of), Some(value)) => {
                let value = self.evaluate(value, Want::One(""))?;
                self.cast(value, of, want)
            }
            ("uninitialized", Some(of), None) => {
                self.operator(PRIM, "Uninitialized", &[], want, Some(Arc::new(of.clone())))
            }
            ("getattr", Some(object), Some(Expression::Text(name))) => {
                let object = self.evaluate(object, Want::One(""))?;
                self.attribute(&object, name, want)
            }
            ("isinstance", Some(value), Some(of)) => {
                let value = self.evaluate(value, Want::One(""))?;
                let types = Bound::Constant(Constant::Other(of.type_text().into()));
                self.operator(PRIM, "isinstance", &[(None, value), (Some("types".into()), types)], want, None)
            }
            ("fork", Some(Expression::Name(name)), None) => match self.bound(name).cloned() {
                Some(Bound::Local(function)) => self.fork(&function, want),
                _ => self.call_operator(PRIM, word, arguments, want),
            },
            ("float", Some(Expression::Text(text)), None) => Ok(match text.parse() {
                Ok(value) => Bound::Constant(Constant::Float(value)),
                Err(_) => Bound::Constant(Constant::Other(text.clone())),
            }),
            ("int", ..) => self.call_operator(ATEN, "Int", arguments, want),
            ("float", ..) => self.call_operator(ATEN, "Float", arguments, want),
            ("bool", ..) => self.call_operator(ATEN, "Bool", arguments, want),
            ("complex", ..) => self.call_operator(ATEN, "Complex", arguments, want),
            ("print", ..) => self.call_operator(PRIM, "Print", arguments, want),
            ("min" | "max" | "abs" | "range" | "rangelist" | "zip" | "enumerate", ..) => {
                self.call_operator(PRIM, word, arguments, want)
            }
            _ => self.call_operator(ATEN, word, arguments, want),
        }
    }

    /// `annotate(T, value)`: a list or dict with its type, a tensor as a number, `tolist`.
    fn annotate(&mut self, of: &Expression, value: &Expression, want: Want<'_>) -> Result<Bound> {
        if let Expression::Call(callee, arguments) = value
            && let (Expression::Attribute(tensor, method), []) = (&**callee, arguments.as_slice())
            && &**method == "tolist"
        {
            let tensor = self.evaluate(tensor, Want::One(""))?;
            return self.operator(PRIM, "tolist", &[(None, tensor)], want, Some(Arc::new(of.clone())));
        }
        let bound = self.evaluate(value, want)?;
        let implicit = match of {
            Expression::Name(name) => match &**name {
                "int" => Some("IntImplicit"),
                "float" => Some("FloatImplicit"),
                "number" | "Scalar" => Some("ScalarImplicit"),
                _ => None,
            },
            _ => None,
        };
        let is_plain = matches!(value, Expression::Name(_) | Expression::Call(..) | Expression::Index(..));
        match (&bound, implicit) {
            (Bound::Flow(_), Some(operator)) if is_plain => {
                self.operator(ATEN, operator, &[(None, bound)], want, Some(Arc::new(of.clone())))
            }
            (Bound::Flow(_), _) => {
                self.typed(&bound, Some(of));
                Ok(bound)
            }
            // A list that will be changed has to flow with its type.
            (Bound::Constant(Constant::List(items)), _) if items.is_empty() => {
                let name = if let Want::One(name) = want { name } else { "" };
                let flow = self.materialised(Bound::List(Arc::new([])), name)?;
                self.typed(&Bound::Flow(flow), Some(of));
                Ok(Bound::Flow(flow))
            }
            _ => Ok(bound),
        }
    }

    /// Something that is known to be of a type from here on.
    fn cast(&mut self, value: Bound, of: &Expression, want: Want<'_>) -> Result<Bound> {
        match &value {
            Bound::Flow(flow) => {
                let known = self.type_of(*flow);
                // A tensor that may be missing is the same tensor.
                if known.is_none() || known.as_ref().is_some_and(|known| known.type_text() == of.type_text())
                {
                    self.typed(&value, Some(of));
                    return Ok(value);
                }
                self.operator(PRIM, "unchecked_cast", &[(None, value)], want, Some(Arc::new(of.clone())))
            }
            // Code for values that are not there in this file.
            Bound::Constant(Constant::None) => {
                self.operator(PRIM, "unchecked_cast", &[(None, value)], want, Some(Arc::new(of.clone())))
            }
            _ => Ok(value),
        }
    }

    /// A method of something.
    fn method(&mut self, object: Bound, method: &Name, given: Given, want: Want<'_>) -> Result<Bound> {
        let (class, group) = match &object {
            Bound::Object(instance) => (Some(instance.class.to_string()), Some(instance.group.clone())),
            Bound::Flow(flow) => (self.type_of(*flow).as_deref().and_then(qualified), None),
            Bound::Tuple(_, Some(class)) => (Some(class.to_string()), None),
            _ => (None, None),
        };
        if let Some(class) = class
            && let Some(found) = self.library.class(self.task, &class)?
            && let Some(function) = found.method(method)
            && found
                .class()
                .is_some_and(|class| !class.base.as_deref().is_some_and(|base| base.ends_with("Interface")))
        {
            let name = format!("{class}.{method}").into();
            let group = group.or_else(|| self.groups.last().cloned()).unwrap_or_default();
            let bound = self.in_order(&function, Some(object), given)?;
            return self.lay_out(name, &function, (bound, group), want);
        }
        let mut node = self.operation(PRIM, "CallMethod");
        node.attributes.push((self.text("name"), Attribute::Text(method.to_string())));
        self.argument(&mut node, "self", &object)?;
        for (n, (name, bound)) in given.iter().enumerate() {
            let name = name.as_ref().map_or_else(|| n.to_string(), |name| name.to_string());
            self.argument(&mut node, &name, bound)?;
        }
        self.made(node, want, None)
    }

    /// A function of the file, or a class that is called.
    fn function(&mut self, name: &str, given: Given, want: Want<'_>) -> Result<Bound> {
        if let Some(function) = self.library.function(self.task, name)? {
            let group = self.groups.last().cloned().unwrap_or_default();
            let bound = self.in_order(&function, None, given)?;
            return self.lay_out(name.into(), &function, (bound, group), want);
        }
        if let Some(class) = self.library.class(self.task, name)?
            && class.class().is_some_and(|class| class.base.as_deref() == Some("NamedTuple"))
        {
            let items = given.into_iter().map(|(_, bound)| bound).collect();
            return Ok(Bound::Tuple(items, Some(name.into())));
        }
        let mut node = self.operation(PRIM, "CallFunction");
        node.attributes.push((self.text("name"), Attribute::Text(name.to_owned())));
        for (n, (name, bound)) in given.iter().enumerate() {
            let name = name.as_ref().map_or_else(|| n.to_string(), |name| name.to_string());
            self.argument(&mut node, &name, bound)?;
        }
        self.made(node, want, None)
    }

    /// What each parameter of a function is given, with the values that stand for what is not.
    fn in_order(
        &mut self,
        function: &Arc<Function>,
        this: Option<Bound>,
        given: Given,
    ) -> Result<Vec<Bound>> {
        let mut bound: Vec<Option<Bound>> = vec![None; function.parameters.len()];
        let first = usize::from(this.is_some());
        let has_names = given.iter().any(|(name, _)| name.is_some());
        let parameters = function.parameters.iter().filter(|_| has_names);
        let places: HashMap<&Name, usize> = parameters.map(|parameter| &parameter.name).zip(0..).collect();
        if let Some(place) = bound.first_mut() {
            *place = this;
        }
        for (n, (name, value)) in given.into_iter().enumerate() {
            let value = match value {
                Bound::List(_) => Bound::Flow(self.materialised(value, "")?),
                other => other,
            };
            let place = match name {
                Some(name) => places.get(&name).copied(),
                None => Some(n + first),
            };
            if let Some(place) = place.and_then(|place| bound.get_mut(place)) {
                *place = Some(value);
            }
        }
        let mut all = Vec::with_capacity(bound.len());
        for (bound, parameter) in bound.into_iter().zip(&function.parameters) {
            all.push(match (bound, &parameter.default) {
                (Some(bound), _) => bound,
                (None, Some(default)) => self.evaluate(default, Want::One(""))?,
                (None, None) => Bound::Constant(Constant::None),
            });
        }
        Ok(all)
    }

    /// Goes through a function in the place of its call. One that calls itself, and those for which there is no room left,
    /// stand as nodes with graphs of their own.
    fn lay_out(
        &mut self,
        name: Arc<str>,
        function: &Arc<Function>,
        (given, group): (Vec<Bound>, Arc<str>),
        want: Want<'_>,
    ) -> Result<Bound> {
        let size = match self.sizes.get(&name) {
            Some(size) => *size,
            None => {
                let size = 1 + statements(&function.body);
                self.sizes.insert(name.clone(), size);
                size
            }
        };
        if !self.has_room() || size > self.left || self.calling.contains(&name) {
            return self.apart(name, function, &given, want);
        }
        self.left -= size;
        self.calling.push(name);
        self.groups.push(group);
        let made = self.deeper(|maker| maker.run(function, given));
        self.groups.pop();
        self.calling.pop();
        made
    }

    /// A call as a node.
    fn apart(
        &mut self,
        name: Arc<str>,
        function: &Arc<Function>,
        given: &[Bound],
        want: Want<'_>,
    ) -> Result<Bound> {
        let (domain, operator) = name.rsplit_once('.').unwrap_or(("", &name));
        let mut node = self.operation(domain, operator);
        node.function = Some(format!("{}/{name}", super::FUNCTIONS).into());
        for (parameter, bound) in function.parameters.iter().zip(given) {
            self.argument(&mut node, &parameter.name, bound)?;
        }
        if self.apart.len() < super::APART && !self.apart.contains(&name) {
            self.apart.push(name.clone());
        }
        self.made(node, want, function.returns.clone().map(Arc::new))
    }
}

/// How many statements there are, those of bodies included.
fn statements(body: &[super::syntax::Statement]) -> u64 {
    use super::syntax::Statement;
    let inner = |statement: &Statement| match statement {
        Statement::If { then, other, .. } => statements(then) + statements(other),
        Statement::While { body, .. } | Statement::For { body, .. } | Statement::With { body, .. } => {
            statements(body)
        }
        _ => 0,
    };
    body.len() as u64 + body.iter().map(inner).sum::<u64>()
}
