//! Outlines of made graphs.

use super::*;
use crate::data::content::graph::{Builder, Port};

/// A graph of nodes by group and by the weights that they take, each of 10 elements.
fn graph(nodes: &[(&str, &str)]) -> Graph {
    let mut builder = Builder::new("g");
    for (group, weight) in nodes {
        let mut inputs = Vec::new();
        if !weight.is_empty() {
            let value = builder.value(weight).unwrap();
            let described = builder.describe(value).unwrap();
            (described.weight, described.elements) = (Some((*weight).into()), Some(10));
            inputs.push(Port::of(value));
        }
        builder.node(Operation { group: (*group).into(), inputs, ..Operation::default() }).unwrap();
    }
    builder.finish()
}

fn names(outline: &Outline) -> Vec<(&str, &str, u32, u64, u64)> {
    let groups = outline.groups().iter();
    groups.map(|g| (g.name.as_ref(), g.path.as_ref(), g.depth, g.nodes_below, g.parameters_below)).collect()
}

#[test]
fn groups_are_a_tree_and_chains_are_one() {
    let graph = graph(&[("a/b/c", "w"), ("a/b/d", ""), ("", "v"), ("a/b/c", ""), ("e", "")]);
    let outline = Outline::of(&Task::new(), &graph).unwrap();
    let expected = [
        ("", "", 0, 5, 20),
        ("a/b", "a/b", 1, 3, 10),
        ("c", "a/b/c", 2, 2, 10),
        ("d", "a/b/d", 2, 1, 0),
        ("e", "e", 1, 1, 0),
    ];
    assert_eq!(names(&outline), expected);
    assert_eq!(outline.group_of(3), outline.find("a/b/c").unwrap());
    let mut open = BTreeSet::new();
    outline.reveal(1, &mut open);
    assert_eq!(open, BTreeSet::from([outline.find("a/b").unwrap(), outline.find("a/b/d").unwrap()]));
    assert!(!outline.is_derived());
}

#[test]
fn groups_of_weights_are_taken_where_they_are_sure() {
    let nodes = [
        ("", "a.0.weight"),
        ("", ""),
        ("", "a.1.weight"),
        ("", ""),
        ("", "b.weight"),
        ("", "c.weight"),
        ("", "b.bias"),
    ];
    let outline = Outline::of(&Task::new(), &graph(&nodes)).unwrap();
    assert!(outline.is_derived());
    let path = |node: u32| outline.group(outline.group_of(node)).unwrap().path.to_string();
    // Between two modules of `a` a node without weights is in `a`; `b` comes back after `c`, so it is no group.
    let expected = ["a/0", "a", "a/1", "", "", "c", ""];
    assert_eq!((0..7).map(path).collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_opened_first_fits() {
    let paths: Vec<String> = (0..10).flat_map(|a| (0..9).map(move |b| format!("g{a}/h{}", b % 3))).collect();
    let nodes: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
    let outline = Outline::of(&Task::new(), &graph(&nodes)).unwrap();
    assert!(outline.first_open(10).is_empty());
    assert_eq!(outline.first_open(16).len(), 2);
    assert_eq!(outline.first_open(10_000), outline.all());
    // A single group around everything is opened in any case.
    let one = Outline::of(&Task::new(), &graph(&[("a", ""); 50])).unwrap();
    assert_eq!(one.first_open(10), one.all());
}

#[test]
fn hostile_groups_end() {
    let deep = "a/".repeat(100_000);
    let long = "x".repeat(1 << 20);
    let outline =
        Outline::of(&Task::new(), &graph(&[(&deep, ""), (&long, ""), ("//", ""), ("/a//b/", "")])).unwrap();
    assert!(outline.groups().iter().all(|group| group.depth <= DEEPEST as u32));
    assert_eq!(outline.group_of(2), GroupId::TOP);
    let empty = Outline::of(&Task::new(), &Graph::default()).unwrap();
    assert_eq!((empty.groups().len(), empty.first_open(30).len()), (1, 0));
}
