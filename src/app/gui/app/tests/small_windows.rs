//! Small windows: what stands beside each other does not lie upon each other, and what is higher than the window scrolls.

use super::*;

/// Half of a small screen.
const SMALL: egui::Vec2 = vec2(500.0, 350.0);

fn small(name: &str) -> (tempfile::TempDir, Harness<'static, Window>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, "x,y\n1,2\n4,5\n").unwrap();
    let harness = window_of(&[&path], Session::default(), SMALL);
    (folder, harness)
}

/// Where the button of this name is.
fn place(harness: &Harness<'_, Window>, name: &str) -> egui::Rect {
    harness.get_by_role_and_label(Role::Button, name).rect()
}

#[test]
fn the_bar_of_a_view_has_its_place_beside_the_explorer() {
    let (_folder, harness) = small("a.csv");
    let bar = ["Filter and sort rows", "More", "Export…"].map(|name| place(&harness, name));
    assert!(bar.iter().all(|rect| rect.right() <= SMALL.x), "{bar:?}");
    assert!(bar[0].right() <= bar[1].left() && bar[1].right() <= bar[2].left(), "{bar:?}");
}

#[test]
fn a_form_that_is_higher_than_the_window_scrolls() {
    let (_folder, mut harness) = small("a.csv");
    click(&mut harness, Role::Button, "More");
    let rest = |harness: &Harness<'_, Window>| place(harness, "Read anew").bottom();
    assert!(rest(&harness) > SMALL.y, "the window is high enough: {}", rest(&harness));
    // Beside the options, which scroll by themselves.
    let at = place(&harness, "Go to the last row").center();
    harness.event(egui::Event::PointerMoved(at));
    for _ in 0..40 {
        wheel(&mut harness, -200.0);
        settle(&mut harness);
    }
    assert!(rest(&harness) <= SMALL.y, "{}", rest(&harness));
}

#[test]
fn a_tab_with_a_long_name_keeps_its_cross_in_sight() {
    let name = format!("{}.csv", "measurements_of_the_year_".repeat(4));
    let (_folder, harness) = small(&name);
    let is_cross = |label: String| label.starts_with("Close measurements");
    let cross =
        harness.query_all_by(|node| node.role() == Role::Button && node.label().is_some_and(is_cross));
    let cross = cross.map(|node| node.rect()).next().unwrap();
    let split = harness.get_by_label_contains("Split to the side").rect();
    assert!(cross.right() <= split.left(), "{cross:?} {split:?}");
}
