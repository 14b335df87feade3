use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use gander::data::content::Content;
use gander::data::content::graph::{Builder, Dimension, Graph, Operation, Port};

use super::*;
use crate::gui::ui::keys;
use crate::gui::views::harness::{ViewHarness, bench, settle};
use crate::gui::views::keys::GRAPH_KEYS;

/// Two blocks of three nodes each between an input and an output: `x → [conv → norm → relu] → [conv → norm → relu] → y`.
fn blocks() -> Graph {
    let mut builder = Builder::new("blocks");
    let mut flows = builder.value("x").unwrap();
    builder.input(flows);
    for block in 0..2 {
        for operator in ["Conv", "BatchNormalization", "Relu"] {
            let out = builder.value(&format!("{operator}_{block}_out")).unwrap();
            let value = builder.describe(out).unwrap();
            value.shape = Some(vec![Dimension::Named("N".into()), Dimension::Fixed(8 + block)]);
            let mut inputs = vec![Port::of(flows)];
            if operator == "Conv" {
                let weight = builder.value(&format!("block{block}.conv.weight")).unwrap();
                let value = builder.describe(weight).unwrap();
                (value.weight, value.elements) = (Some("w".into()), Some(100));
                inputs.push(Port::of(weight));
            }
            builder
                .node(Operation {
                    name: format!("/block{block}/{operator}").into(),
                    operator: operator.into(),
                    group: format!("block{block}").into(),
                    inputs,
                    outputs: vec![Port::of(out)],
                    ..Operation::default()
                })
                .unwrap();
            flows = out;
        }
    }
    builder.output(flows);
    builder.finish()
}

/// A node with a body of one node.
fn branch() -> Graph {
    let mut inner = Builder::new("then");
    let out = inner.value("z").unwrap();
    inner
        .node(Operation { operator: "Sin".into(), outputs: vec![Port::of(out)], ..Operation::default() })
        .unwrap();
    inner.output(out);
    let mut builder = Builder::new("main");
    let [x, y] = ["x", "y"].map(|name| builder.value(name).unwrap());
    builder.input(x);
    builder.output(y);
    builder
        .node(Operation {
            name: "choice".into(),
            operator: "If".into(),
            inputs: vec![Port::of(x)],
            outputs: vec![Port::of(y)],
            subgraphs: vec![("then_branch".into(), Arc::new(inner.finish()))],
            ..Operation::default()
        })
        .unwrap();
    builder.finish()
}

/// Three groups beside each other, all in one group: `x → Split → [a | b | c] → Concat → y`.
fn beside() -> Graph {
    let mut builder = Builder::new("beside");
    let [x, parted, y] = ["x", "parted", "y"].map(|name| builder.value(name).unwrap());
    let (mut steps, mut ends) = (vec![("Split", "all".to_owned(), vec![x], parted)], Vec::new());
    for part in ["a", "b", "c"] {
        let [inside, end] = ["inside", "end"].map(|name| builder.value(&format!("{part}.{name}")).unwrap());
        let group = format!("all/{part}");
        steps.push(("Relu", group.clone(), vec![parted], inside));
        steps.push(("Sigmoid", group, vec![inside], end));
        ends.push(end);
    }
    steps.push(("Concat", "all".to_owned(), ends, y));
    builder.input(x);
    for (operator, group, inputs, output) in steps {
        builder
            .node(Operation {
                name: format!("/{group}/{operator}").into(),
                operator: operator.into(),
                group: group.into(),
                inputs: inputs.into_iter().map(Port::of).collect(),
                outputs: vec![Port::of(output)],
                ..Operation::default()
            })
            .unwrap();
    }
    builder.output(y);
    builder.finish()
}

fn shown(graph: Graph) -> Harness<'static, ViewHarness<GraphView>> {
    let graph = Arc::new(graph);
    let target = crate::gui::views::harness::target("g", Content::Graph(graph.clone()));
    let view = ViewHarness::new(Box::new(GraphView::new(&graph)), target);
    let mut harness = Harness::builder()
        .with_size(crate::gui::views::harness::SIZE)
        .with_step_dt(1.0 / 60.0)
        .with_context_setup(theme::apply)
        .allow_missing_glyphs()
        .build_ui_state(ViewHarness::frame, view);
    calm(&mut harness);
    harness
}

/// Frames until the jobs are done.
fn calm(harness: &mut Harness<'_, ViewHarness<GraphView>>) {
    let mut calm = 0;
    for _ in 0..20_000 {
        harness.step();
        calm = if harness.state().jobs.list().is_empty() { calm + 1 } else { 0 };
        if calm == 4 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("the jobs do not end");
}

/// What the boxes in sight are called, from top to bottom.
fn spoken(harness: &Harness<'_, ViewHarness<GraphView>>) -> Vec<String> {
    let boxes = harness.query_all_by(|node| node.role() == Role::Button && node.toggled().is_some());
    let mut boxes: Vec<_> =
        boxes.map(|node| (node.rect().top(), node.accesskit_node().label().unwrap_or_default())).collect();
    boxes.sort_by(|a, b| a.0.total_cmp(&b.0));
    boxes.into_iter().map(|(_, words)| words).collect()
}

fn rect(harness: &Harness<'_, ViewHarness<GraphView>>, begins: &str) -> Rect {
    let is = |label: Option<String>| label.is_some_and(|label| label.starts_with(begins));
    let all = harness.query_all_by(|node| node.role() == Role::Button && node.toggled().is_some());
    let first = all.filter(|node| is(node.accesskit_node().label())).map(|node| node.rect());
    first.min_by(|a, b| a.top().total_cmp(&b.top())).unwrap()
}

fn close_all(harness: &mut Harness<'_, ViewHarness<GraphView>>) {
    assert!(harness.state_mut().run("Close all groups of the graph"));
    calm(harness);
}

#[test]
fn groups_open_in_place() {
    let mut harness = shown(blocks());
    assert_eq!(spoken(&harness).len(), 10, "a small graph is open at first: {:?}", spoken(&harness));
    close_all(&mut harness);
    let closed = ["x, input", "block0, closed group of 3 nodes", "block1, closed group of 3 nodes"];
    assert_eq!(spoken(&harness)[..3], closed);
    let before = rect(&harness, "block1");
    harness.hover_at(before.center());
    harness.step();
    for _ in 0..2 {
        harness.drag_at(before.center());
        harness.drop_at(before.center());
    }
    calm(&mut harness);
    let after = rect(&harness, "block1, open group of 3 nodes");
    assert!((after.left_top() - before.left_top()).length() < 1.0, "{before} {after}");
    let words = spoken(&harness);
    assert!(words.iter().any(|words| words.starts_with("Conv")), "{words:?}");
}

#[test]
fn what_is_found_is_opened_selected_and_shown() {
    let mut harness = shown(blocks());
    close_all(&mut harness);
    assert!(harness.state_mut().ask(&Request::Find));
    harness.step();
    let field = harness.get_by_role_and_label(Role::TextInput, "Find a node or tensor");
    assert!(field.is_focused());
    field.type_text("relu_1 [n,9]");
    calm(&mut harness);
    let found = harness.state().view.search.found();
    assert_eq!(found.map(|found| found.nodes.clone()), Some(vec![5]));
    harness.get_by_label("1 found");
    harness.key_press(Key::Enter);
    calm(&mut harness);
    harness.get_by_label("1 of 1");
    assert_eq!(harness.state().view.shown.selected, Some(Item::Node(5)));
    let place = GraphPlace { bodies: Vec::new(), part: GraphPart::Node(5) };
    assert_eq!(harness.state().view.subject(), Subject::Graph(place));
    let words = spoken(&harness);
    assert!(words.iter().any(|words| words == "block1, open group of 3 nodes"), "{words:?}");
    assert!(words.iter().any(|words| words == "block0, closed group of 3 nodes"), "{words:?}");
}

#[test]
fn ways_lead_from_the_input_and_to_the_output() {
    let mut harness = shown(blocks());
    harness.state_mut().view.shown.selected = Some(Item::Node(3));
    calm(&mut harness);
    let way = |harness: &Harness<'_, ViewHarness<GraphView>>| {
        let view = &harness.state().view;
        let scene = view.shown.scene.clone().unwrap();
        let key = (Arc::as_ptr(&scene) as usize, Item::Node(3), view.ways);
        let way = view.shown.way.peek(&key).ready().unwrap();
        (way.before, way.after, way.edges.iter().filter(|is| **is).count())
    };
    // x → 0 → 1 → 2 → 3 → 4 → 5 → y
    assert_eq!(way(&harness), (3, 0, 4));
    harness.state_mut().view.ways = Ways::After;
    calm(&mut harness);
    assert_eq!(way(&harness), (0, 2, 3));
    harness.state_mut().view.ways = Ways::Both;
    calm(&mut harness);
    assert_eq!(way(&harness), (3, 2, 7));
    harness.state_mut().view.ways = Ways::Own;
    calm(&mut harness);
    assert_eq!(way(&harness), (0, 0, 2));
}

#[test]
fn arrows_follow_the_edges() {
    let mut harness = shown(blocks());
    let at = rect(&harness, "Conv").center();
    harness.hover_at(at);
    harness.drag_at(at);
    harness.drop_at(at);
    calm(&mut harness);
    assert_eq!(harness.state().view.shown.selected, Some(Item::Node(0)));
    harness.key_press(Key::ArrowDown);
    harness.step();
    assert_eq!(harness.state().view.shown.selected, Some(Item::Node(1)));
    harness.key_press(Key::ArrowUp);
    harness.step();
    harness.key_press(Key::ArrowUp);
    harness.step();
    assert!(matches!(harness.state().view.shown.selected, Some(Item::Input(_))));
    harness.key_press(Key::ArrowDown);
    harness.step();
    harness.key_press(Key::Backspace);
    calm(&mut harness);
    let words = spoken(&harness);
    assert!(words.contains(&"block0, closed group of 3 nodes".to_owned()), "{words:?}");
    harness.key_press(Key::Enter);
    calm(&mut harness);
    let words = spoken(&harness);
    assert!(words.contains(&"block0, open group of 3 nodes".to_owned()), "{words:?}");
    harness.key_press(Key::Escape);
    harness.step();
    assert_eq!(harness.state().view.shown.selected, None);
}

#[test]
fn every_key_of_graphs_works_and_no_other() {
    let mut harness = shown(beside());
    let part = |harness: &Harness<'_, ViewHarness<GraphView>>, path: &str| {
        let shown = &harness.state().view.shown;
        let of = shown.outlined.peek(&false).ready().unwrap();
        let is = |group: &GroupId| of.outline.group(*group).is_some_and(|group| &*group.path == path);
        let groups =
            shown.scene.iter().flat_map(|scene| &scene.layout.boxes).filter_map(|one| match one.item {
                Item::Group(group) => Some(group),
                _ => None,
            });
        groups.into_iter().find(is).unwrap()
    };
    let (all, middle) = (part(&harness, "all"), part(&harness, "all/b"));
    let open = BTreeSet::from([all]);
    harness.state_mut().view.shown.open = Some(open.clone());
    calm(&mut harness);
    // Closer than all in sight, so that it can be fitted.
    (0..3).for_each(|_| assert!(harness.state_mut().view.zoom(Some(1.1))));
    let camera = harness.state().view.camera;
    let state = |harness: &Harness<'_, ViewHarness<GraphView>>| {
        let view = &harness.state().view;
        format!("{} {:?}", view.save(), view.shown.selected)
    };
    // On a closed group that has others on every side, inside an open one.
    let stand = |harness: &mut Harness<'_, ViewHarness<GraphView>>| {
        let view = &mut harness.state_mut().view;
        (view.camera, view.shown.open, view.shown.anchor) = (camera, Some(open.clone()), None);
        view.shown.selected = Some(Item::Group(middle));
        harness.get_by_label("Graph of 8 nodes").focus();
        calm(harness);
        let view = &mut harness.state_mut().view;
        (view.camera, view.shown.selected) = (camera, Some(Item::Group(middle)));
    };
    let table = keys::shortcuts(GRAPH_KEYS);
    crate::gui::views::harness::check_keys(&mut harness, &table, stand, state);
}

#[test]
fn bodies_are_graphs_of_their_own() {
    let mut harness = shown(branch());
    harness.state_mut().view.shown.selected = Some(Item::Node(0));
    assert!(harness.state_mut().view.act(Some(Item::Node(0))));
    calm(&mut harness);
    let words = spoken(&harness);
    assert!(words[0].starts_with("Sin"), "{words:?}");
    harness.get_by_label("choice.then_branch");
    harness.get_by_label("main").click_accesskit();
    calm(&mut harness);
    assert!(spoken(&harness).iter().any(|words| words.starts_with("If")));
}

#[test]
fn tables_hold_nodes_and_edges() {
    let mut harness = shown(blocks());
    assert!(harness.state().view.is_drawing() && harness.state().view.export().is_none());
    assert!(harness.state_mut().run("Show the edges as a table"));
    calm(&mut harness);
    let (_, data) = harness.state().view.export().unwrap();
    let Data::Table(table) = data else { panic!("edges are a table") };
    assert_eq!(table.rows().to_string(), "7");
    assert!(!harness.state().view.is_drawing());
}

#[test]
fn the_session_keeps_what_is_open() {
    let mut harness = shown(blocks());
    close_all(&mut harness);
    let kept = harness.state().view.save();
    let graph = Arc::new(blocks());
    let mut again = GraphView::new(&graph);
    again.restore(&kept);
    *harness.state_mut().view = again;
    calm(&mut harness);
    assert_eq!(spoken(&harness).len(), 4);
}

#[test]
fn an_empty_graph_says_so() {
    let mut harness = bench("g", Content::Graph(Arc::new(Builder::new("").finish())));
    settle(&mut harness);
    harness.get_by_label("An empty graph");
}

#[test]
fn slow_frames_of_ten_thousand_boxes() {
    let mut builder = Builder::new("wide");
    let mut before: Vec<ValueId> = (0..100).map(|n| builder.value(&format!("x{n}")).unwrap()).collect();
    for layer in 0..100 {
        let made: Vec<ValueId> = (0..100).map(|n| builder.value(&format!("v{layer}_{n}")).unwrap()).collect();
        for n in 0..100 {
            let inputs = vec![Port::of(before[n]), Port::of(before[(n * 7 + layer) % 100])];
            let outputs = vec![Port::of(made[n])];
            builder
                .node(Operation { operator: "Add".into(), inputs, outputs, ..Operation::default() })
                .unwrap();
        }
        before = made;
    }
    let mut harness = shown(builder.finish());
    harness.state_mut().view.camera.fit = true;
    harness.state_mut().frames.clear();
    for _ in 0..30 {
        harness.step();
    }
    assert!(harness.state().view.shown.scene.as_ref().unwrap().layout.boxes.len() >= 10_000);
    crate::gui::views::harness::frame_times(&harness.state().frames);
}
