use std::path::Path;

use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::content::array::Plain;
use gander::data::dtype::DType;
use gander::data::format::Options;
use gander::data::node::Node;

use super::*;
use crate::gui::views::harness::{ViewHarness, settle};

fn harness(document: gander::data::open::Document) -> Harness<'static, ViewHarness> {
    let node = document.root.clone();
    let target = Target { file: 1, document: Arc::new(document), path: String::new(), node };
    let builder = Harness::builder().with_size(vec2(1800.0, 700.0)).with_step_dt(1.0 / 60.0);
    let builder = builder.with_context_setup(theme::apply).allow_missing_glyphs();
    let mut harness = builder.build_ui_state(ViewHarness::frame, ViewHarness::new(make(&target), target));
    settle(&mut harness);
    harness
}

/// A model of four layers with seven tensors each.
fn showcase() -> Harness<'static, ViewHarness> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/showcase/weights.safetensors");
    harness(gander::open(&Task::new(), &path, &Options::default()).unwrap())
}

/// Two matrices, of which one has elements that are no numbers.
fn broken() -> Harness<'static, ViewHarness> {
    let leaf = |name: &str, bad: bool| {
        let values = (0..64).map(|n| if bad && n > 60 { f32::NAN } else { (n % 7) as f32 - 3.0 });
        let bytes: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
        let plain = Plain::new(Source::memory(name, bytes), 0, DType::F32, vec![8, 8]).unwrap();
        Node::new(name, "tensor").content(Content::Array(Arc::new(plain)))
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/showcase/weights.safetensors");
    let mut document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
    let module = |name: &str, bad: bool| {
        let leaves = vec![leaf("weight", bad), leaf("bias", false)];
        Node::new(name, "module").separator(".").listed(leaves)
    };
    let root = Node::new("m", "file").separator("").listed(vec![module("good", false), module("bad", true)]);
    document.root = Arc::new(root);
    harness(document)
}

/// What stands in a column, from top to bottom.
fn column(harness: &Harness<'_, ViewHarness>, name: &str) -> Vec<String> {
    let begins = format!("{name}, ");
    let cells = harness.query_all_by(|node| {
        node.role() == Role::GridCell && node.label().is_some_and(|label| label.starts_with(&begins))
    });
    let mut cells: Vec<_> = cells.map(|cell| (cell.rect().top(), cell.value().unwrap_or_default())).collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    cells.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn groups_fold_and_sum_up() {
    let mut harness = broken();
    assert_eq!(column(&harness, "tensor"), ["good", "weight", "bias", "bad", "weight", "bias"]);
    assert_eq!(column(&harness, "parameters")[..2], ["128", "64"]);
    assert_eq!(
        column(&harness, "NaN"),
        ["0", "0", "0", "3", "3", "0"],
        "groups have the sums of what is in them"
    );
    assert!(harness.state().status.facts.starts_with("4 tensors · 256 parameters"));
    let name = |harness: &Harness<'_, ViewHarness>, text: &str| {
        let cells = harness.query_all_by(|node| node.role() == Role::GridCell);
        cells.filter(|cell| cell.value().as_deref() == Some(text)).map(|cell| cell.rect().center()).next()
    };
    let at = name(&harness, "good").unwrap();
    harness.hover_at(at);
    harness.step();
    harness.drag_at(at);
    harness.drop_at(at);
    settle(&mut harness);
    assert_eq!(column(&harness, "tensor"), ["good", "bad", "weight", "bias"]);
    // The column of what is wrong, most first.
    harness.get_by_role_and_label(Role::ColumnHeader, "NaN").click_accesskit();
    settle(&mut harness);
    assert_eq!(column(&harness, "tensor"), ["bad", "weight", "bias", "good"]);
}

#[test]
fn a_finding_leads_to_its_element() {
    let mut harness = broken();
    let line = harness.get_by(|node| node.label().is_some_and(|label| label.starts_with("error: 3 NaN")));
    line.click_accesskit();
    settle(&mut harness);
    let actions = &harness.state().actions;
    let shown = actions
        .iter()
        .any(|action| matches!(action, Action::Show(to, Where::Kept) if to.path.ends_with("bad.weight")));
    let asked = |action: &Action| matches!(action, Action::Ask(Request::Element(index)) if *index == [7, 5]);
    assert!(shown && actions.iter().any(asked));
}

#[test]
fn tensors_are_kept_by_name_and_by_what_is_wrong() {
    let mut harness = broken();
    assert!(harness.state_mut().ask(&Request::Find));
    settle(&mut harness);
    harness.event(egui::Event::Text("GOOD".to_owned()));
    settle(&mut harness);
    assert_eq!(column(&harness, "tensor"), ["good", "weight", "bias"]);
    harness.key_press(egui::Key::Escape);
    settle(&mut harness);
    harness.get_by_label("Which tensors are shown: All tensors").click();
    settle(&mut harness);
    harness.get_by_label("With NaN or ±Inf").click();
    settle(&mut harness);
    assert_eq!(column(&harness, "tensor"), ["bad", "weight"]);
}

#[test]
fn a_plain_table_does_what_tables_do() {
    let mut harness = showcase();
    harness.get_by_label("How tensors are grouped: By module").click();
    settle(&mut harness);
    harness.get_by_label("Plain table").click();
    settle(&mut harness);
    assert_eq!(column(&harness, "layer")[..2], ["0", "0"]);
    let (words, _) =
        harness.state().view.export().unwrap_or_else(|| ("whole".to_owned(), parameters(&harness)));
    assert!(!words.is_empty());
    let kept = harness.state().view.save();
    assert_eq!(kept["arrangement"], "Table");
}

fn parameters(harness: &Harness<'_, ViewHarness>) -> Data {
    let target = harness.state().target.clone().unwrap();
    let found = Tensors::below(&Task::new(), &target.node, "").unwrap();
    Data::Table(Arc::new(Parameters::new(found.all)))
}

#[test]
fn modes_are_kept_by_a_session() {
    let mut harness = showcase();
    for (label, mode) in [("Health", "Health"), ("Contents", "Contents"), ("Parameters", "Parameters")] {
        harness.get_by_role_and_label(Role::RadioButton, label).click();
        settle(&mut harness);
        let kept = harness.state().view.save();
        assert_eq!(kept["mode"], mode);
        let mut other = Model::default();
        other.restore(&kept);
        let again = other.save();
        for part in ["mode", "arrangement", "kept", "find", "treemap", "part"] {
            assert_eq!(again[part], kept[part], "{part}");
        }
    }
    // In Parameters again: the whole table can be exported, beside the tensors.
    assert!(harness.state().view.export().is_none());
    let (words, data) = harness.state().view.other_parts().pop().unwrap();
    let Data::Table(table) = data else { panic!("{words} is no table") };
    assert_eq!(gander::data::content::Table::rows(table.as_ref()).exact(), Some(28));
}

#[test]
fn other_groups_begin_with_their_contents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/npz/stored.npz");
    let harness = harness(gander::open(&Task::new(), &path, &Options::default()).unwrap());
    assert_eq!(harness.state().view.save()["mode"], "Contents");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/npz");
    let document = gander::open(&Task::new(), &folder, &Options::default()).unwrap();
    let target =
        Target { file: 1, path: String::new(), node: document.root.clone(), document: Arc::new(document) };
    assert!(make(&target).save().get("mode").is_none(), "of a folder nothing is opened to see what is in it");
}
