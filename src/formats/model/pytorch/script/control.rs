//! Statements: what they bind, and branches and loops as nodes with bodies.

use super::constant::Constant;
use super::make::{Bound, Draft, Flow, Maker, PRIM, RESULT, Type, Want};
use super::syntax::{Expression, Function, Name, Statement};
use crate::bytes::error::Result;
use crate::data::content::graph::{Attribute, Operation, Port, ValueId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Operators that change a list which they take first.
const CHANGING: [&str; 9] =
    ["append", "extend", "insert", "_set_item", "pop", "remove", "clear", "reverse", "Delete"];

impl Maker<'_> {
    /// Goes through a function with these arguments, the names of its parameters bound to them; its result.
    pub(super) fn run(&mut self, function: &Arc<Function>, given: Vec<Bound>) -> Result<Bound> {
        self.push_frame();
        let made = self.run_bound(function, given);
        let result = self.pop_frame();
        made?;
        let result = result.unwrap_or(Bound::Constant(Constant::None));
        self.typed(&result, function.returns.as_ref());
        Ok(result)
    }

    fn run_bound(&mut self, function: &Arc<Function>, given: Vec<Bound>) -> Result<()> {
        for (parameter, bound) in function.parameters.iter().zip(given) {
            self.typed(&bound, parameter.annotation.as_ref());
            self.bind(parameter.name.clone(), bound)?;
        }
        self.block(&function.body)
    }

    pub(super) fn block(&mut self, statements: &[Statement]) -> Result<()> {
        self.deeper(|maker| statements.iter().try_for_each(|statement| maker.statement(statement)))
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Assign { targets, annotation, value, unpacks } => {
                self.assign(targets, annotation.as_ref(), value, *unpacks)
            }
            Statement::Expression(expression) => self.evaluate(expression, Want::Nothing).map(drop),
            Statement::If { condition, then, other } => self.branch(condition, then, other),
            Statement::While { condition, body } => {
                let first = self.evaluate(condition, Want::One("condition"))?;
                let name = if let Expression::Name(name) = condition { Some(name.clone()) } else { None };
                self.repeat(("condition", first), (name, true), body)
            }
            Statement::For { target, over, body } => self.count(target, over, body),
            Statement::With { context, target, body } => {
                let context = self.evaluate(context, Want::One(""))?;
                let entered = [(None, context.clone())];
                let result = self.operator(PRIM, "Enter", &entered, Want::One("context"), None)?;
                if let Some(Expression::Name(name)) = target {
                    self.bind(name.clone(), result)?;
                }
                self.block(body)?;
                self.operator(PRIM, "Exit", &entered, Want::Nothing, None).map(drop)
            }
            Statement::Return(value) => {
                let value = match value {
                    Some(value) => self.evaluate(value, Want::One(""))?,
                    None => Bound::Constant(Constant::None),
                };
                self.bind(RESULT.into(), value)
            }
            Statement::Define(function) => self.bind(function.name.clone(), Bound::Local(function.clone())),
        }
    }

    fn assign(
        &mut self,
        targets: &[Expression],
        annotation: Option<&Expression>,
        value: &Expression,
        unpacks: bool,
    ) -> Result<()> {
        let name = |target: &'_ Expression| match target {
            Expression::Name(name) => name.clone(),
            _ => "".into(),
        };
        if let ([target], false) = (targets, unpacks) {
            let name = name(target);
            let bound = self.evaluate(value, Want::One(&name))?;
            let bound = match bound {
                // A list that has a name may be changed under it.
                Bound::List(_) => Bound::Flow(self.materialised(bound, &name)?),
                Bound::Constant(Constant::List(items)) if items.is_empty() => {
                    Bound::Flow(self.materialised(Bound::List(Arc::new([])), &name)?)
                }
                other => other,
            };
            self.typed(&bound, annotation);
            return self.put(target, bound);
        }
        let names: Vec<Name> = targets.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let value = self.evaluate(value, Want::Many(&names))?;
        let parts = self.parts(value, &names)?;
        targets.iter().zip(parts).try_for_each(|(target, part)| self.put(target, part))
    }

    /// So many parts of something that is taken apart.
    fn parts(&mut self, value: Bound, names: &[&str]) -> Result<Vec<Bound>> {
        match &value {
            Bound::Tuple(items, _) | Bound::List(items) if items.len() == names.len() => {
                return Ok(items.to_vec());
            }
            Bound::Constant(Constant::Tuple(items) | Constant::List(items)) if items.len() == names.len() => {
                return Ok(items.iter().cloned().map(Bound::Constant).collect());
            }
            _ => {}
        }
        let of = if let Bound::Flow(flow) = &value { self.type_of(*flow) } else { None };
        let is_list = of.as_ref().is_some_and(|of| of.generic("List").is_some());
        let operator = if is_list { "ListUnpack" } else { "TupleUnpack" };
        let made = self.operator(PRIM, operator, &[(None, value)], Want::Many(names), None)?;
        let Bound::Tuple(parts, _) = made else { return Ok(vec![made]) };
        if let Some(of) = of {
            for (n, part) in parts.iter().enumerate() {
                let inner = match (of.generic("Tuple"), of.generic("List")) {
                    (Some(items), _) => items.get(n),
                    (_, Some(items)) => items.first(),
                    _ => None,
                };
                self.typed(part, inner);
            }
        }
        Ok(parts.to_vec())
    }

    /// Puts something where an assignment says.
    fn put(&mut self, target: &Expression, bound: Bound) -> Result<()> {
        match target {
            Expression::Name(name) => self.bind(name.clone(), bound),
            Expression::Attribute(object, name) => {
                let object = self.evaluate(object, Want::One(""))?;
                let mut node = self.operation(PRIM, "SetAttr");
                node.attributes.push((self.text("name"), Attribute::Text(name.to_string())));
                self.argument(&mut node, "object", &object)?;
                self.argument(&mut node, "value", &bound)?;
                self.node(node)
            }
            Expression::Index(list, index) => {
                let list = self.evaluate(list, Want::One(""))?;
                let index = self.evaluate(index, Want::One(""))?;
                let arguments = [(None, list), (None, index), (None, bound)];
                self.operator("aten", "_set_item", &arguments, Want::Nothing, None).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Before an operator that changes a list: a name that stands for one which is known gets a value that flows.
    pub(super) fn changed(&mut self, operator: &str, first: Option<&Expression>) -> Result<()> {
        if CHANGING.contains(&operator)
            && let Some(Expression::Name(name)) = first
            && let Some(bound @ Bound::Constant(Constant::List(items))) = self.bound(name).cloned().as_ref()
        {
            let list = Bound::List(items.iter().cloned().map(Bound::Constant).collect());
            let _ = bound;
            let flow = self.materialised(list, name)?;
            self.bind(name.clone(), Bound::Flow(flow))?;
        }
        Ok(())
    }

    fn branch(&mut self, condition: &Expression, then: &[Statement], other: &[Statement]) -> Result<()> {
        let condition = self.evaluate(condition, Want::One("condition"))?;
        let (then, bound_then) = self.body("then", then)?;
        let (other, bound_other) = self.body("else", other)?;
        let merged = self.merged(&bound_then, &bound_other);
        let mut outputs = Vec::new();
        let mut graphs = Vec::new();
        for (name, draft, bound) in [("then", then, bound_then), ("else", other, bound_other)] {
            self.resume(draft);
            let bound: HashMap<Name, Bound> = bound.into_iter().collect();
            let mut types = Vec::new();
            for output in &merged {
                let own = bound.get(output).cloned();
                let value = own.or_else(|| self.bound(output).cloned());
                let flow = self.materialised(value.unwrap_or(Bound::Constant(Constant::None)), output)?;
                let id = self.local(flow)?;
                self.output(id);
                types.push(self.type_of(flow));
            }
            outputs.push(types);
            graphs.push((name, self.end()?));
        }
        let mut node = self.operation(PRIM, "If");
        node.name = self.unique_name("if");
        self.argument(&mut node, "condition", &condition)?;
        self.bodies(&mut node, graphs)?;
        for (n, name) in merged.into_iter().enumerate() {
            let of = outputs.iter().find_map(|types: &Vec<Type>| types.get(n).cloned().flatten());
            let shown = if &*name == RESULT { "result" } else { &name };
            let flow = self.flow(shown, of);
            node.outputs.push(Port::of(self.local(flow)?));
            self.bind(name, Bound::Flow(flow))?;
        }
        self.node(node)
    }

    /// The names that both branches bind, or that one does and that were bound before.
    fn merged(&self, then: &[(Name, Bound)], other: &[(Name, Bound)]) -> Vec<Name> {
        let both: HashSet<&Name> = other.iter().map(|(name, _)| name).collect();
        let known: HashSet<&Name> = then.iter().map(|(name, _)| name).collect();
        let stays = |name: &Name, there: &HashSet<&Name>| there.contains(name) || self.bound(name).is_some();
        let mut merged: Vec<Name> =
            then.iter().map(|(name, _)| name).filter(|name| stays(name, &both)).cloned().collect();
        let more = other.iter().map(|(name, _)| name).filter(|name| !known.contains(name));
        merged.extend(more.filter(|name| self.bound(name).is_some()).cloned());
        merged
    }

    /// Goes through a branch: its graph, without outputs yet, and what it binds.
    fn body(&mut self, name: &str, statements: &[Statement]) -> Result<(Draft, Vec<(Name, Bound)>)> {
        self.begin(name);
        self.open_body()?;
        self.block(statements)?;
        let bound = self.close_body()?;
        Ok((self.end()?, bound))
    }

    /// Adds bodies to a node: their graphs, and what they take from around them as inputs of the node.
    fn bodies(&mut self, node: &mut Operation, drafts: Vec<(&str, Draft)>) -> Result<()> {
        let mut known: HashSet<ValueId> = node.inputs.iter().filter_map(|port| port.value).collect();
        for (name, draft) in drafts {
            let captured: Vec<Flow> = draft.captured().to_vec();
            let graph = draft.finish();
            let name = self.text(name);
            let what = crate::bytes::display::plural(graph.nodes().len() as u64, "node");
            node.attributes.push((name.clone(), Attribute::Graph(format!("graph of {what}"))));
            node.subgraphs.push((name, Arc::new(graph)));
            for flow in captured {
                let id = self.local(flow)?;
                if known.insert(id) {
                    node.inputs.push(Port::of(id));
                }
            }
        }
        Ok(())
    }

    fn unique_name(&mut self, word: &str) -> Arc<str> {
        let flow = self.flow(word, None);
        self.name_of(flow)
    }

    /// `for i in range(n)`; other things that are gone through are taken by their elements.
    fn count(&mut self, target: &Expression, over: &Expression, body: &[Statement]) -> Result<()> {
        let (name, first) = match over {
            Expression::Call(callee, arguments) => match (&**callee, arguments.as_slice()) {
                (Expression::Name(name), [count]) if &**name == "range" => ("max_trip_count", &count.value),
                _ => ("over", over),
            },
            _ => ("over", over),
        };
        let first = self.evaluate(first, Want::One(""))?;
        let target = if let Expression::Name(name) = target { Some(name.clone()) } else { None };
        self.repeat((name, first), (target, false), body)
    }

    /// A loop. `counter` is the name that it counts in, or, of one with a condition, that of the condition.
    fn repeat(
        &mut self,
        first: (&str, Bound),
        (counter, has_condition): (Option<Name>, bool),
        body: &[Statement],
    ) -> Result<()> {
        let mut assigned = Vec::new();
        names(body, &mut HashSet::new(), &mut assigned);
        assigned.retain(|name| self.bound(name).is_some() && Some(name) != counter.as_ref());
        let mut node = self.operation(PRIM, "Loop");
        node.name = self.unique_name("loop");
        self.argument(&mut node, first.0, &first.1)?;
        let mut carried = Vec::new();
        for name in assigned {
            let Some(bound) = self.bound(&name).cloned() else { continue };
            let flow = self.materialised(bound, &name)?;
            let value = Some(self.local(flow)?);
            node.inputs.push(Port { name: self.text(&name), value, is_control: false });
            carried.push((name, self.type_of(flow)));
        }
        self.begin("body");
        self.open_body()?;
        let counter = counter.unwrap_or_else(|| "i".into());
        let word = if has_condition { "bool" } else { "int" };
        let inner = std::iter::once((counter.clone(), Some(Arc::new(Expression::Name(word.into())))));
        for (name, of) in inner.chain(carried.iter().cloned()) {
            let flow = self.flow(&name, of);
            let id = self.local(flow)?;
            self.input(id);
            self.bind(name, Bound::Flow(flow))?;
        }
        self.block(body)?;
        let bound: HashMap<Name, Bound> = self.close_body()?.into_iter().collect();
        let wanted =
            has_condition.then_some(&counter).into_iter().chain(carried.iter().map(|(name, _)| name));
        for name in wanted {
            let value = bound.get(name).cloned();
            let flow = self.materialised(value.unwrap_or(Bound::Constant(Constant::None)), name)?;
            let id = self.local(flow)?;
            self.output(id);
        }
        let draft = self.end()?;
        self.bodies(&mut node, vec![("body", draft)])?;
        for (name, of) in carried {
            let flow = self.flow(&name, of);
            node.outputs.push(Port::of(self.local(flow)?));
            self.bind(name, Bound::Flow(flow))?;
        }
        self.node(node)
    }

    /// What runs beside: a node with the graph of a function that takes what it needs from around it.
    pub(super) fn fork(&mut self, function: &Arc<Function>, want: Want<'_>) -> Result<Bound> {
        self.begin("Subgraph");
        self.open_body()?;
        self.block(&function.body)?;
        let bound = self.close_body()?;
        if let Some((_, result)) = bound.into_iter().find(|(name, _)| &**name == RESULT) {
            let flow = self.materialised(result, "")?;
            let id = self.local(flow)?;
            self.output(id);
        }
        let draft = self.end()?;
        let mut node = self.operation(PRIM, "fork");
        node.name = self.unique_name("fork");
        self.bodies(&mut node, vec![("Subgraph", draft)])?;
        self.made(node, want, None)
    }
}

/// The names that statements bind, each once.
fn names(statements: &[Statement], known: &mut HashSet<Name>, to: &mut Vec<Name>) {
    for statement in statements {
        match statement {
            Statement::Assign { targets, .. } => {
                for target in targets {
                    if let Expression::Name(name) = target
                        && known.insert(name.clone())
                    {
                        to.push(name.clone());
                    }
                }
            }
            Statement::If { then, other, .. } => {
                names(then, known, to);
                names(other, known, to);
            }
            Statement::While { body, .. } | Statement::For { body, .. } | Statement::With { body, .. } => {
                names(body, known, to);
            }
            _ => {}
        }
    }
}
