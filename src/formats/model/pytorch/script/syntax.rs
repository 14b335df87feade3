//! The program of a TorchScript module as its source says it: modules of functions and classes, statements,
//! expressions.

use std::sync::Arc;

/// A name; equal ones of a file share their memory.
pub(super) type Name = Arc<str>;

/// What one file of code defines.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) classes: Vec<Class>,
    pub(super) functions: Vec<Arc<Function>>,
    /// Names of attributes that are assigned to somewhere.
    pub(super) assigned: Vec<Name>,
}

/// A class.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: Name,
    /// What it is derived from: `Module`, `NamedTuple`, `Enum`, `Interface`.
    pub(super) base: Option<Name>,
    /// Its attributes, or the fields of a named tuple, with their types.
    pub(super) fields: Vec<(Name, Expression)>,
    /// What stands in the class itself: `eps : Final[float] = 1e-05`, the members of an enumeration.
    pub(super) constants: Vec<(Name, Expression)>,
    pub(super) methods: Vec<Arc<Function>>,
}

/// A function or a method.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) parameters: Vec<Parameter>,
    pub(super) returns: Option<Expression>,
    pub(super) body: Vec<Statement>,
}

/// A parameter of a function.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: Name,
    pub(super) annotation: Option<Expression>,
    pub(super) default: Option<Expression>,
}

/// A statement. What says nothing to a graph (`pass`) is left out.
#[derive(Debug)]
pub(super) enum Statement {
    /// `a = …`, `a, b = …`; `a, b, = …` where it takes a tuple or a list apart.
    Assign {
        targets: Vec<Expression>,
        annotation: Option<Expression>,
        value: Expression,
        unpacks: bool,
    },
    /// An expression for what it does.
    Expression(Expression),
    If {
        condition: Expression,
        then: Vec<Statement>,
        other: Vec<Statement>,
    },
    While {
        condition: Expression,
        body: Vec<Statement>,
    },
    For {
        target: Expression,
        over: Expression,
        body: Vec<Statement>,
    },
    With {
        context: Expression,
        target: Option<Expression>,
        body: Vec<Statement>,
    },
    Return(Option<Expression>),
    /// A function in a function: what a fork runs, a closure.
    Define(Arc<Function>),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Name(Name),
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A number that is neither: complex, or larger.
    Number(Name),
    Text(Arc<str>),
    Attribute(Arc<Expression>, Name),
    Call(Arc<Expression>, Vec<Argument>),
    Index(Arc<Expression>, Arc<Expression>),
    /// Beginning, end, step of an index.
    Slice([Option<Arc<Expression>>; 3]),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    /// An operator of Python's, which today's files have as calls, by the name of the operator that it stands for.
    Operator(&'static str, Vec<Expression>),
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    pub(super) name: Option<Name>,
    pub(super) value: Expression,
}

impl Expression {
    /// The dotted name that it is: `torch.nn.Linear` as its parts, the first one first.
    pub(super) fn dotted(&self) -> Option<Vec<&Name>> {
        let mut parts = Vec::new();
        let mut at = self;
        loop {
            match at {
                Expression::Name(name) => {
                    parts.push(name);
                    parts.reverse();
                    return Some(parts);
                }
                Expression::Attribute(base, name) => {
                    parts.push(name);
                    at = base;
                }
                _ => return None,
            }
        }
    }

    /// It as a type is written: `List[Tensor]`, of dotted names the last part.
    pub(super) fn type_text(&self) -> String {
        match self {
            Expression::Name(name) | Expression::Attribute(_, name) => name.to_string(),
            Expression::Index(base, index) => format!("{}[{}]", base.type_text(), index.type_text()),
            Expression::Tuple(items) | Expression::List(items) => {
                items.iter().map(Expression::type_text).collect::<Vec<_>>().join(", ")
            }
            Expression::None => "None".to_owned(),
            Expression::Text(text) => text.to_string(),
            _ => "?".to_owned(),
        }
    }

    /// The parameters of a generic type of this name: `T` of `List[T]`.
    pub(super) fn generic(&self, name: &str) -> Option<&[Expression]> {
        let Expression::Index(base, index) = self else { return None };
        let (Expression::Name(known) | Expression::Attribute(_, known)) = &**base else { return None };
        if &**known != name {
            return None;
        }
        Some(match &**index {
            Expression::Tuple(items) => items,
            one => std::slice::from_ref(one),
        })
    }
}
