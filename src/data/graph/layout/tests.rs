//! Layouts of made graphs.

use super::*;
use crate::data::content::graph::{Builder, Operation, Port};
use proptest::prelude::*;

fn measure(item: Item) -> [f32; 2] {
    match item {
        Item::Node(number) => [60.0 + (number % 5) as f32 * 20.0, 40.0],
        Item::Group(_) => [120.0, 48.0],
        Item::Input(_) | Item::Output(_) => [80.0, 32.0],
    }
}

/// A graph of nodes by their groups and edges; the first node takes the input, the last one makes the output.
fn graph(groups: &[&str], edges: &[(u32, u32)]) -> Graph {
    let mut builder = Builder::new("g");
    let outputs: Vec<_> = (0..groups.len()).map(|n| builder.value(&format!("v{n}")).unwrap()).collect();
    let input = builder.value("x").unwrap();
    builder.input(input);
    for (n, group) in groups.iter().enumerate() {
        let mut inputs: Vec<Port> = edges
            .iter()
            .filter(|edge| edge.1 as usize == n)
            .map(|edge| Port::of(outputs[edge.0 as usize]))
            .collect();
        if n == 0 {
            inputs.push(Port::of(input));
        }
        let outputs = vec![Port::of(outputs[n])];
        builder.node(Operation { group: (*group).into(), inputs, outputs, ..Operation::default() }).unwrap();
    }
    if let Some(last) = outputs.last() {
        builder.output(*last);
    }
    builder.finish()
}

fn check(layout: &Layout) {
    let eps = 0.01 + layout.size[0].max(layout.size[1]) * 1e-5;
    for (n, a) in layout.boxes.iter().enumerate() {
        assert_eq!(layout.find(a.item), Some(n));
        if let Some(parent) = a.parent {
            assert!(parent < n && layout.boxes[parent].is_open);
            let (inner, outer) = (a.rect, layout.boxes[parent].rect);
            assert!(inner.x >= outer.x - eps && inner.x + inner.width <= outer.x + outer.width + eps);
            assert!(inner.y >= outer.y - eps && inner.y + inner.height <= outer.y + outer.height + eps);
        }
        for b in layout.boxes[n + 1..].iter().filter(|b| b.parent == a.parent) {
            let (a, b) = (a.rect, b.rect);
            let is_beside = a.x + a.width <= b.x + eps || b.x + b.width <= a.x + eps;
            assert!(is_beside || a.y + a.height <= b.y + eps || b.y + b.height <= a.y + eps, "{a:?} {b:?}");
        }
    }
    for edge in &layout.edges {
        for (end, point) in [(edge.from, edge.points[0]), (edge.to, edge.points[edge.points.len() - 1])] {
            let rect = layout.boxes[end].rect;
            assert!(!layout.boxes[end].is_open);
            assert!(point[0] >= rect.x - eps && point[0] <= rect.x + rect.width + eps, "{point:?} {rect:?}");
            assert!(point[1] >= rect.y - eps && point[1] <= rect.y + rect.height + eps, "{point:?} {rect:?}");
        }
        assert!(!edge.values.is_empty());
    }
}

#[test]
fn an_open_group_holds_its_nodes_and_lines_go_through_its_border() {
    let graph = graph(&["", "a", "a", "b", ""], &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]);
    let task = Task::new();
    let outline = Outline::of(&task, &graph).unwrap();
    let closed = layout(&task, &graph, &outline, &BTreeSet::new(), &measure).unwrap();
    check(&closed);
    // The input, two nodes, two groups, the output.
    assert_eq!((closed.boxes.len(), closed.edges.len()), (6, 6));
    let a = outline.find("a").unwrap();
    let opened = layout(&task, &graph, &outline, &BTreeSet::from([a]), &measure).unwrap();
    check(&opened);
    assert_eq!((opened.boxes.len(), opened.edges.len()), (8, 7));
    assert_eq!(opened.find_node(&outline, 1), opened.find(Item::Node(1)));
    assert_eq!(opened.find_node(&outline, 3), opened.find(Item::Group(outline.find("b").unwrap())));
    let moved = opened.moved(&closed, Item::Group(a)).unwrap();
    let rect = |layout: &Layout| layout.boxes[layout.find(Item::Group(a)).unwrap()].rect;
    assert_eq!(moved, [rect(&opened).x - rect(&closed).x, rect(&opened).y - rect(&closed).y]);
    // The line from node 0 to node 1 passes the upper border of the group.
    let line = opened.edges.iter().find(|edge| opened.boxes[edge.to].item == Item::Node(1)).unwrap();
    assert!(line.points.iter().any(|point| (point[1] - rect(&opened).y).abs() < 0.1), "{:?}", line.points);
}

#[test]
fn opening_a_group_leaves_the_inside_of_others_as_it_is() {
    let graph = graph(&["a", "a", "a", "b", "b", "b"], &[(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]);
    let task = Task::new();
    let outline = Outline::of(&task, &graph).unwrap();
    let [a, b] = ["a", "b"].map(|path| outline.find(path).unwrap());
    let mut layouts = Layouts::default();
    let mut of = |open: &[GroupId]| {
        let open = open.iter().copied().collect();
        layouts.layout(&task, &graph, &outline, &open, &measure).unwrap()
    };
    let (one, both) = (of(&[a]), of(&[a, b]));
    check(&both);
    let inside = |layout: &Layout| -> Vec<[f32; 2]> {
        let group = layout.boxes[layout.find(Item::Group(a)).unwrap()].rect;
        let nodes = (0..3).map(|n| layout.boxes[layout.find(Item::Node(n)).unwrap()].rect);
        nodes.map(|rect| [rect.x - group.x, rect.y - group.y]).collect()
    };
    for (before, after) in inside(&one).iter().zip(inside(&both)) {
        assert!((before[0] - after[0]).abs() < 0.01 && (before[1] - after[1]).abs() < 0.01);
    }
    let fresh = layout(&task, &graph, &outline, &BTreeSet::from([a, b]), &measure).unwrap();
    assert_eq!((fresh.boxes, fresh.edges), (both.boxes, both.edges));
}

#[test]
fn nothing_has_no_size_of_its_own_and_directions_turn() {
    let task = Task::new();
    let empty = Graph::default();
    let outline = Outline::of(&task, &empty).unwrap();
    assert!(layout(&task, &empty, &outline, &BTreeSet::new(), &measure).unwrap().boxes.is_empty());
    let graph = graph(&["a", "a", ""], &[(0, 1), (1, 2)]);
    let outline = Outline::of(&task, &graph).unwrap();
    let mut right = Layouts::new(Settings { direction: Direction::Right, ..Settings::default() });
    let right = right.layout(&task, &graph, &outline, &outline.all(), &measure).unwrap();
    check(&right);
    assert!(right.size[0] > right.size[1]);
    let x = |n: u32| right.boxes[right.find(Item::Node(n)).unwrap()].rect.x;
    assert!(x(0) < x(1) && x(1) < x(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_graph_is_laid_out_as_far_as_it_is_open(
        groups in proptest::collection::vec(0usize..8, 1..30),
        ends in proptest::collection::vec((0u32..30, 0u32..30), 0..60),
        open in proptest::collection::vec(any::<bool>(), 16),
        is_right: bool,
    ) {
        const PATHS: [&str; 8] = ["", "a", "a/b", "a/b/c", "a/d", "e", "e/f", "g"];
        let count = groups.len() as u32;
        let groups: Vec<&str> = groups.into_iter().map(|n| PATHS[n]).collect();
        let edges: Vec<(u32, u32)> = ends.into_iter().map(|(a, b)| (a % count, b % count)).collect();
        let graph = graph(&groups, &edges);
        let task = Task::new();
        let outline = Outline::of(&task, &graph).unwrap();
        let open = outline.all().into_iter().zip(open).filter(|(_, open)| *open).map(|(id, _)| id).collect();
        let direction = if is_right { Direction::Right } else { Direction::Down };
        let mut layouts = Layouts::new(Settings { direction, ..Settings::default() });
        let made = layouts.layout(&task, &graph, &outline, &open, &measure).unwrap();
        check(&made);
        for node in 0..count {
            prop_assert!(made.find_node(&outline, node).is_some());
        }
    }
}
