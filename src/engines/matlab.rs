//! What MATLAB's files of any version share: how places are written, how cells and structs hold what is in them, and
//! what variables may be called.

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::node::{Children, Listing, Node, page_of};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// What follows a name in the path of what lies below it: `s.a`, `c{1}`, `s(2)`.
pub const BOUNDARIES: &[char] = &['.', '{', '(', '/'];

/// The place of an element in MATLAB's notation: `3`, or `2,1` where there are rows and columns.
pub fn place(index: u64, shape: &[u64]) -> String {
    if shape.iter().filter(|side| **side != 1).count() < 2 {
        return (index + 1).to_string();
    }
    // The first dimension is the fastest.
    let sides: Vec<u64> = shape.iter().rev().copied().collect();
    let places = strides::unravel(index, &sides);
    places.iter().rev().map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(",")
}

/// Children that are made of their numbers when they are looked at.
struct CachedChildren<F> {
    count: u64,
    make: F,
    nodes: Mutex<HashMap<u64, Arc<Node>>>,
}

impl<F: Fn(&Task, u64) -> Result<Node> + Send + Sync> Listing for CachedChildren<F> {
    fn boundaries(&self) -> &'static [char] {
        BOUNDARIES
    }

    fn count(&self) -> Option<u64> {
        Some(self.count)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |index| {
            if let Some(node) = self.nodes.lock().get(&index) {
                return Ok(Some(node.clone()));
            }
            let node = Arc::new((self.make)(task, index)?);
            let mut nodes = self.nodes.lock();
            if nodes.len() as u64 >= limits::LISTED {
                nodes.clear();
            }
            Ok(Some(nodes.entry(index).or_insert(node).clone()))
        })
    }
}

fn made(count: u64, make: impl Fn(&Task, u64) -> Result<Node> + Send + Sync + 'static) -> Children {
    Children::Lazy(Arc::new(CachedChildren { count, make, nodes: Mutex::default() }))
}

/// The cells of a cell array; `cell` makes one of its name and its number.
pub fn cells(
    shape: Vec<u64>,
    cell: impl Fn(&Task, String, u64) -> Result<Node> + Send + Sync + 'static,
) -> Children {
    let count = limits::elements(&shape).unwrap_or(0);
    made(count, move |task, n| cell(task, format!("{{{}}}", place(n, &shape)), n))
}

/// The fields of one struct; `field` makes one of its name and its number.
pub fn fields(
    names: Arc<[String]>,
    field: impl Fn(&Task, String, u64) -> Result<Node> + Send + Sync + 'static,
) -> Children {
    made(names.len() as u64, move |task, n| {
        field(task, names.get(n as usize).cloned().unwrap_or_default(), n)
    })
}

/// The structs of an array; `field` makes a field of its name, its struct's number and its own.
pub fn structs(
    shape: Vec<u64>,
    names: Arc<[String]>,
    field: impl Fn(&Task, String, u64, u64) -> Result<Node> + Send + Sync + 'static,
) -> Children {
    let (count, field) = (limits::elements(&shape).unwrap_or(0), Arc::new(field));
    made(count, move |_, n| {
        let field = field.clone();
        let children = fields(names.clone(), move |task, name, own| field(task, name, n, own));
        let node = Node::new(format!("({})", place(n, &shape)), "struct").separator(".");
        Ok(Node { children, ..node })
    })
}

/// The most characters of a name: MATLAB's `namelengthmax`.
const LONGEST: usize = 63;
/// The words that are no names: MATLAB's `iskeyword`.
const KEYWORDS: [&str; 20] = [
    "break",
    "case",
    "catch",
    "classdef",
    "continue",
    "else",
    "elseif",
    "end",
    "for",
    "function",
    "global",
    "if",
    "otherwise",
    "parfor",
    "persistent",
    "return",
    "spmd",
    "switch",
    "try",
    "while",
];

/// A name as MATLAB's variables and fields have it: a letter, then letters, digits and underscores; the same where it is
/// one. <https://www.mathworks.com/help/matlab/ref/matlab.lang.makevalidname.html>
pub fn variable_name(name: &str) -> String {
    let replaced = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
    let out: String = replaced.collect();
    let is_word = KEYWORDS.contains(&out.as_str());
    let starts = out.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let out = if starts && !is_word { out } else { format!("x{out}") };
    out.chars().take(LONGEST).collect()
}

/// Names for variables beside each other: valid, and no two the same.
pub fn variable_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    names.into_iter().map(|name| free_name(&mut taken, name)).collect()
}

/// A valid name that is not among those that are taken, which it is then.
pub fn free_name(taken: &mut HashSet<String>, name: &str) -> String {
    let first = variable_name(name);
    let numbered = (2u64..).map(|n| {
        let end = format!("_{n}");
        let start: String = first.chars().take(LONGEST - end.len().min(LONGEST)).collect();
        start + &end
    });
    let mut all = std::iter::once(first.clone()).chain(numbered);
    all.find(|name| taken.insert(name.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_matlab() {
        for (name, wanted) in [
            ("a_1", "a_1"),
            ("1a", "x1a"),
            ("_a", "x_a"),
            ("a b", "a_b"),
            ("end", "xend"),
            ("", "x"),
            ("é", "x_"),
        ] {
            assert_eq!(variable_name(name), wanted);
        }
        assert_eq!(variable_names(["a b", "a_b", "a.b"]), ["a_b", "a_b_2", "a_b_3"]);
        let long = "n".repeat(80);
        let names = variable_names([long.as_str(), long.as_str()]);
        assert_eq!((names[0].len(), names[1].len(), names[1].ends_with("_2")), (63, 63, true));
    }
}
