//! Columns by the keyboard alone: sort, width, order, freezing, hiding, and their menu.

use super::*;

const ALT_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::ALT };

/// The columns from left to right.
fn order(harness: &Harness<'_, Bench>) -> Vec<usize> {
    harness.state().grid.columns_at(0..10)
}

#[test]
fn columns_are_sorted_sized_moved_frozen_and_hidden_by_keys() {
    let mut harness = bench(100, 5);
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    press(&mut harness, Modifiers::NONE, Key::ArrowRight);
    assert_eq!(harness.state().grid.cursor(), Some(CellAt { row: 0, column: 1 }));
    press(&mut harness, Modifiers::ALT, Key::S);
    assert_eq!(harness.state().header, Some(HeaderClick { column: 1, shift: false }));
    press(&mut harness, ALT_SHIFT, Key::S);
    assert_eq!(harness.state().header, Some(HeaderClick { column: 1, shift: true }));
    let width = |harness: &Harness<'_, Bench>| harness.state().grid.widths()[1].1;
    let before = width(&harness);
    press(&mut harness, Modifiers::ALT, Key::ArrowRight);
    assert!(width(&harness) > before);
    press(&mut harness, Modifiers::ALT, Key::ArrowLeft);
    assert_eq!(width(&harness), before);
    assert_eq!(harness.state().grid.cursor(), Some(CellAt { row: 0, column: 1 }), "the cursor stays");
    press(&mut harness, Modifiers::ALT, Key::A);
    assert!(width(&harness) > 0.0);
    press(&mut harness, ALT_SHIFT, Key::ArrowRight);
    assert_eq!(order(&harness), [0, 2, 1, 3, 4]);
    press(&mut harness, ALT_SHIFT, Key::ArrowLeft);
    press(&mut harness, ALT_SHIFT, Key::ArrowLeft);
    press(&mut harness, ALT_SHIFT, Key::ArrowLeft);
    assert_eq!(order(&harness), [1, 0, 2, 3, 4], "no further than the edge");
    assert_eq!(harness.state().grid.cursor(), Some(CellAt { row: 0, column: 1 }), "it goes with the column");
    press(&mut harness, Modifiers::NONE, Key::End);
    press(&mut harness, Modifiers::ALT, Key::Z);
    assert_eq!(
        (order(&harness), harness.state().grid.layout().frozen.clone()),
        (vec![4, 1, 0, 2, 3], vec![4])
    );
    press(&mut harness, Modifiers::ALT, Key::Z);
    assert!(harness.state().grid.layout().frozen.is_empty());
    press(&mut harness, Modifiers::ALT, Key::H);
    assert_eq!(order(&harness), [1, 0, 2, 3]);
    assert!(harness.state().grid.cursor().is_some());
    press(&mut harness, ALT_SHIFT, Key::H);
    assert_eq!(order(&harness).len(), 5);
}

#[test]
fn the_menus_are_walked_and_give_the_keyboard_back() {
    let mut harness = bench(100, 5);
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    for (modifiers, key, menu) in
        [(Modifiers::ALT, Key::ArrowDown, "Column menu"), (Modifiers::SHIFT, Key::F10, "Cell menu")]
    {
        press(&mut harness, modifiers, key);
        harness.run_steps(4);
        let focused = harness.query_all_by(|node| node.is_focused()).next().unwrap();
        let name = focused.accesskit_node().label().unwrap_or_default();
        assert!(["Copy name", "Inspect value"].contains(&name.as_str()), "{menu}: {name} has the keyboard");
        press(&mut harness, Modifiers::NONE, Key::Escape);
        harness.run_steps(4);
        assert!(harness.query_by_label("Freeze column").is_none(), "{menu} is closed");
        press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    }
    assert_eq!(
        harness.state().grid.cursor(),
        Some(CellAt { row: 2, column: 0 }),
        "the grid has the keys again"
    );
    // A row is chosen by Enter.
    press(&mut harness, Modifiers::ALT, Key::ArrowDown);
    harness.run_steps(4);
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(harness.state().name.as_deref(), Some("c0"));
}

#[test]
fn no_key_of_the_grid_means_two_things_or_what_a_command_means() {
    let keys = crate::gui::ui::keys::shortcuts(keys::KEYS);
    for (at, one) in keys.iter().enumerate() {
        assert!(!keys[at + 1..].contains(one), "{one:?}");
        let taken = crate::gui::commands::COMMANDS.iter().find(|command| command.label.keys == Some(*one));
        assert!(taken.is_none(), "{one:?} is {}", taken.unwrap().label.words);
    }
}
