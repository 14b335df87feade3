//! What egui keeps of tabs that are closed.

use super::*;

/// How many states egui keeps.
fn states(harness: &Harness<'_, Window>) -> usize {
    harness.ctx.data(|data| data.len())
}

/// Opens a file, looks for something in it, and scrolls.
fn visit(harness: &mut Harness<'_, Window>, path: &Path) {
    harness.state_mut().app.as_mut().unwrap().actions.push(Action::Open(vec![path.to_owned()]));
    settle(harness);
    harness.event(egui::Event::PointerMoved(egui::pos2(600.0, 400.0)));
    wheel(harness, -600.0);
    settle(harness);
    press(harness, Modifiers::COMMAND, Key::F);
    write(harness, "1");
    press(harness, Modifiers::NONE, Key::Escape);
}

#[test]
fn the_states_of_a_tab_go_with_it() {
    let mut harness = window(&[]);
    let paths =
        ["showcase/people.csv", "showcase/field.npy", "showcase/photo.png", "showcase/weights.safetensors"];
    let mut before = Vec::new();
    for _ in 0..3 {
        for name in paths {
            visit(&mut harness, &fixture(name));
            press(&mut harness, Modifiers::COMMAND | Modifiers::ALT, Key::W);
            assert!(harness.state().app().tabs.is_empty());
        }
        before.push(states(&harness));
    }
    // Without it each of the four files leaves three or more; what the window itself has may come late.
    assert!(before[2] < before[1] + 8, "{before:?}");
}

#[test]
fn the_states_of_other_tabs_stay() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    press(&mut harness, Modifiers::COMMAND, Key::F);
    write(&mut harness, "Oslo");
    let of_one = states(&harness);
    visit(&mut harness, &fixture("showcase/photo.png"));
    press(&mut harness, Modifiers::COMMAND, Key::W);
    assert_eq!(shown(&harness), "people.csv");
    assert!(states(&harness) >= of_one, "{} of {of_one}", states(&harness));
}
