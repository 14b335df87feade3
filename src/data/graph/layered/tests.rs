//! Graphs of one level, placed.

use super::*;
use proptest::prelude::*;

const SPACING: Spacing = Spacing { node_gap: 20.0, edge_gap: 10.0, layer_gap: 30.0 };

fn flat(sizes: Vec<[f32; 2]>, edges: &[(u32, u32)]) -> Flat {
    let edges =
        edges.iter().map(|(from, to)| FlatEdge { from: *from, to: *to, ..FlatEdge::default() }).collect();
    Flat { pins: vec![Pin::Free; sizes.len()], sizes, edges }
}

fn placed(flat: &Flat) -> PlacedFlat {
    place(&Task::new(), flat, &SPACING).unwrap()
}

/// No boxes overlap, all lie inside, and lines end at their boxes.
fn check(flat: &Flat, placed: &PlacedFlat) {
    let eps = 0.01 + placed.size[0].max(placed.size[1]) * 1e-6;
    let mut by_top: Vec<usize> = (0..flat.sizes.len()).collect();
    by_top.sort_by(|a, b| placed.at[*a][1].total_cmp(&placed.at[*b][1]));
    for (n, a) in by_top.iter().enumerate() {
        let ([x, y], [width, height]) = (placed.at[*a], flat.sizes[*a]);
        assert!(x >= -eps && y >= -eps && x + width <= placed.size[0] + eps, "{x} {y} {:?}", placed.size);
        assert!(y + height <= placed.size[1] + eps);
        for b in by_top[n + 1..].iter().take_while(|b| placed.at[**b][1] < y + height - eps) {
            let ([other, _], [other_width, _]) = (placed.at[*b], flat.sizes[*b]);
            assert!(other >= x + width - eps || x >= other + other_width - eps, "boxes {a} and {b} overlap");
        }
    }
    for (edge, line) in flat.edges.iter().zip(&placed.points) {
        assert!(line.len() >= 2);
        for (n, end) in [(edge.from, line[0]), (edge.to, line[line.len() - 1])] {
            let ([x, y], [width, height]) = (placed.at[n as usize], flat.sizes[n as usize]);
            let is_in = end[0] >= x - eps
                && end[0] <= x + width + eps
                && end[1] >= y - eps
                && end[1] <= y + height + eps;
            let is_inside =
                end[0] > x + eps && end[0] < x + width - eps && end[1] > y + eps && end[1] < y + height - eps;
            assert!(is_in && !is_inside, "an end at {end:?} of a box at {:?}", [x, y, width, height]);
        }
    }
}

#[test]
fn nothing_and_one_box_are_placed() {
    assert_eq!(placed(&Flat::default()).size, [0.0, 0.0]);
    let one = flat(vec![[50.0, 20.0]], &[]);
    assert_eq!((placed(&one).size, placed(&one).at), ([50.0, 20.0], vec![[0.0, 0.0]]));
    // A self-loop has its place beside the box.
    let own = flat(vec![[50.0, 20.0]], &[(0, 0)]);
    let result = placed(&own);
    check(&own, &result);
    assert!(result.points[0].iter().all(|[x, _]| *x <= result.size[0]) && result.points[0].len() == 4);
}

#[test]
fn a_chain_is_straight_and_in_order() {
    let chain = flat(vec![[80.0, 40.0]; 5], &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    let result = placed(&chain);
    check(&chain, &result);
    assert!(result.points.iter().all(|line| line.len() == 2 && line[0][0] == line[1][0]));
    assert_eq!(result.at.iter().map(|at| at[1]).collect::<Vec<_>>(), [0.0, 70.0, 140.0, 210.0, 280.0]);
}

#[test]
fn edges_are_as_short_as_can_be() {
    // Two ways of different length, and a box that only the last one takes: it is right above that.
    let two = flat(vec![[10.0, 10.0]; 6], &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (5, 4)]);
    let result = placed(&two);
    check(&two, &result);
    assert_eq!(result.at[5][1], result.at[3][1]);
}

#[test]
fn lines_of_a_planar_graph_do_not_cross() {
    // A complete binary tree, its leaves in a mixed order of numbers.
    let edges: Vec<(u32, u32)> = (1..127u32).map(|n| ((n - 1) / 2 * 64 % 127, n * 64 % 127)).collect();
    let tree = flat(vec![[30.0, 10.0]; 127], &edges);
    let result = placed(&tree);
    check(&tree, &result);
    let side =
        |a: [f32; 2], b: [f32; 2], c: [f32; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let pieces: Vec<_> =
        result.points.iter().flat_map(|line| line.windows(2).map(|p| (p[0], p[1]))).collect();
    for (n, (a, b)) in pieces.iter().enumerate() {
        for (c, d) in &pieces[n + 1..] {
            let apart = |p: f32, q: f32| p * q < -0.1;
            let crosses =
                apart(side(*a, *b, *c), side(*a, *b, *d)) && apart(side(*c, *d, *a), side(*c, *d, *b));
            assert!(!crosses, "{a:?} {b:?} and {c:?} {d:?}");
        }
    }
}

#[test]
fn cycles_are_broken_and_their_lines_keep_their_direction() {
    let ring = flat(vec![[40.0, 20.0]; 4], &[(0, 1), (1, 2), (2, 3), (3, 0), (2, 1)]);
    let result = placed(&ring);
    check(&ring, &result);
    let (first, last) = (result.points[3][0], *result.points[3].last().unwrap());
    assert!(first[1] > last[1], "from the last box up to the first");
}

#[test]
fn lines_meet_boxes_where_they_have_to() {
    let mut wide = flat(vec![[300.0, 100.0], [40.0, 20.0], [40.0, 20.0]], &[(0, 1), (0, 2), (1, 0)]);
    for (edge, at) in wide.edges.iter_mut().zip([250.0, 40.0, 0.0]) {
        edge.from_at = (edge.from == 0).then_some(at);
        edge.to_at = (edge.to == 0).then_some(130.0);
        edge.trunk = at as u64;
    }
    let result = placed(&wide);
    check(&wide, &result);
    let left = result.at[0][0];
    assert_eq!((result.points[0][0], result.points[1][0]), ([left + 250.0, 100.0], [left + 40.0, 100.0]));
    // Box 2 lies on the left, as its line leaves on the left.
    assert!(result.at[2][0] < result.at[1][0]);
    // The one that goes back is led around to the upper border.
    assert_eq!(result.points[2].last().unwrap()[1], 0.0);
}

#[test]
fn ports_are_first_and_last() {
    let mut ports = flat(
        vec![[1.0, 0.0], [50.0, 20.0], [50.0, 20.0], [1.0, 0.0], [50.0, 20.0]],
        &[(0, 2), (1, 2), (1, 3), (4, 4)],
    );
    (ports.pins[0], ports.pins[3]) = (Pin::First, Pin::Last);
    let result = placed(&ports);
    check(&ports, &result);
    let top = |n: usize| result.at[n][1];
    assert!(top(0) < top(1) && top(2) < top(3) && top(1) < top(2));
}

#[test]
fn long_chains_wide_rows_and_long_ways_end_soon() {
    let begin = std::time::Instant::now();
    let chain = |count: u32| -> Vec<(u32, u32)> { (1..count).map(|n| (n - 1, n)).collect() };
    let count = 20_000u32;
    // All take what the first makes: long lines beside a long chain.
    let all: Vec<(u32, u32)> = (2..count).map(|n| (0, n)).chain(chain(count)).collect();
    // A long way back.
    let back: Vec<(u32, u32)> = chain(count).into_iter().chain([(count - 1, 0)]).collect();
    let star: Vec<(u32, u32)> = (1..count).map(|n| (n, 0)).collect();
    for (count, edges) in
        [(100_000, chain(100_000)), (count, all), (count, back), (count, star), (count, Vec::new())]
    {
        let large = flat(vec![[80.0, 40.0]; count as usize], &edges);
        let result = placed(&large);
        assert_eq!(result.points.len(), edges.len());
        assert!(result.at.iter().flatten().all(|x| x.is_finite()));
    }
    assert!(begin.elapsed().as_secs() < 240, "{:?}", begin.elapsed());
}

#[test]
fn work_that_is_cancelled_ends() {
    let task = Task::new();
    task.cancel();
    let chain = flat(vec![[10.0, 10.0]; 10], &[(0, 1), (1, 2)]);
    assert!(place(&task, &chain, &SPACING).unwrap_err().is_cancelled());
    let beyond = flat(vec![[10.0, 10.0]], &[(0, 1)]);
    assert!(place(&Task::new(), &beyond, &SPACING).is_err());
}

#[test]
fn curves_go_through_all_points() {
    let line = [[0.0, 0.0], [0.0, 10.0], [20.0, 30.0]];
    let curve = curve(&line, false);
    assert_eq!(curve.len(), 7);
    assert_eq!([curve[0], curve[3], curve[6]], line);
    assert_eq!((curve[4], curve[5]), ([0.0, 20.0], [20.0, 20.0]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_graph_is_placed_the_same_each_time_and_without_overlaps(
        sizes in proptest::collection::vec((1.0f32..300.0, 1.0f32..200.0), 1..40),
        ends in proptest::collection::vec((0u32..40, 0u32..40, 0u64..3, any::<bool>()), 0..90),
        port in 0usize..80,
    ) {
        let count = sizes.len() as u32;
        let mut graph = flat(sizes.into_iter().map(|(x, y)| [x, y]).collect(), &[]);
        for (from, to, trunk, is_fixed) in ends {
            let (from, to) = (from % count, to % count);
            let at = |n: u32| is_fixed.then(|| graph.sizes[n as usize][0] * (0.2 + 0.3 * trunk as f32));
            graph.edges.push(FlatEdge { from, to, from_at: at(from), to_at: at(to), trunk });
        }
        // Ports have lines on one side only.
        if let Some(pin) = graph.pins.get_mut(port) {
            *pin = Pin::First;
            graph.sizes[port] = [1.0, 0.0];
            graph.edges.retain(|edge| edge.to as usize != port);
            graph.edges.iter_mut().filter(|e| e.from as usize == port).for_each(|e| e.from_at = None);
        }
        let result = placed(&graph);
        check(&graph, &result);
        let again = placed(&graph);
        prop_assert_eq!(&result.points, &again.points);
        prop_assert_eq!(&result.at, &again.at);
    }
}
