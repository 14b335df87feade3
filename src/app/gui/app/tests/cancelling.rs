//! *Cancel all jobs* in the whole window: what is in sight comes all the same, long work waits to be asked for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use gander::jobs::Priority;

/// More than there are workers of one kind.
const WORKERS: usize = 70;

/// Gives every worker something to do until it is cancelled, so that what is asked for waits.
fn occupy(harness: &Harness<'_, Window>, priority: Priority) {
    let jobs = &harness.state().app().jobs;
    let busy = Arc::new(AtomicUsize::new(0));
    for _ in 0..WORKERS {
        let busy = busy.clone();
        jobs.run("", priority, move |task| {
            busy.fetch_add(1, Ordering::Relaxed);
            while task.check().is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
    let started = Instant::now();
    while busy.load(Ordering::Relaxed) < 5 && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a job of this name is there, cancels all, and waits until nothing runs.
fn cancel_while(harness: &mut Harness<'_, Window>, title: &str) {
    let started = Instant::now();
    while !harness.state().app().jobs.list().iter().any(|job| job.title.starts_with(title)) {
        assert!(started.elapsed() < Duration::from_secs(20), "no job {title:?}");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Period);
    settle(harness);
}

#[test]
fn a_folder_whose_listing_was_cancelled_is_listed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for n in 0..450 {
        std::fs::write(inner.join(format!("{n}.txt")), "text").unwrap();
    }
    std::fs::write(folder.path().join("last.csv"), "x\n1\n").unwrap();
    let mut harness = window(&[folder.path()]);
    let row = |harness: &Harness<'_, Window>, name: &str| {
        let is_named = |label: String| label.starts_with(name);
        let found = harness
            .query_all_by(|node| node.role() == Role::TreeItem && node.label().is_some_and(is_named))
            .next();
        found.map(|node| node.rect().center())
    };
    let at = row(&harness, "inner").unwrap();
    occupy(&harness, Priority::View);
    for event in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::NONE);
        harness.hover_at(at);
        harness.event(egui::Event::PointerButton { pos: at, button, pressed: event, modifiers });
    }
    harness.step();
    harness.key_press(Key::ArrowRight);
    // It is looked into, then listed: every job is asked for by what is in sight.
    cancel_while(&mut harness, "looking into inner");
    assert!(row(&harness, "0.txt").is_some());
    // Nothing was cut: the last one stands behind all of them, and what lies below the folder too.
    harness
        .get_by(|node| node.role() == Role::TreeItem && node.label().is_some_and(|l| l.starts_with("inner")))
        .click();
    settle(&mut harness);
    press(&mut harness, Modifiers::NONE, Key::End);
    assert!(row(&harness, "449.txt").is_some(), "{:?}", labels(&harness, Role::TreeItem));
    assert!(row(&harness, "last.csv").is_some());
}

#[test]
fn a_count_that_was_cancelled_waits_until_it_is_asked_for_again() {
    let mut harness = window(&[&fixture("npy/matrix_normal.npy")]);
    occupy(&harness, Priority::View);
    harness.key_press_modifiers(Modifiers::ALT, Key::Num5);
    cancel_while(&mut harness, "counting");
    let said = |harness: &Harness<'_, Window>| harness.query_by_label("The counting was stopped.").is_some();
    for _ in 0..10 {
        harness.step();
        assert!(said(&harness) && harness.state().app().jobs.list().is_empty(), "it restarts by itself");
    }
    click(&mut harness, Role::Button, "Try again");
    assert!(!said(&harness));
}

#[test]
fn a_search_that_was_cancelled_says_so_and_runs_again() {
    let mut harness = window(&[&fixture("showcase/weights.safetensors")]);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    occupy(&harness, Priority::Background);
    harness.event(egui::Event::Text("query".to_owned()));
    cancel_while(&mut harness, "searching");
    for _ in 0..10 {
        harness.step();
        assert!(harness.query_by_label("Cancelled ·").is_some());
        assert!(harness.state().app().jobs.list().is_empty(), "it restarts by itself");
    }
    harness.get_by_label("Run again").click();
    settle(&mut harness);
    assert!(harness.query_by_label("8 fit").is_some());
}

#[test]
fn a_reload_that_was_cancelled_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x,y\n1,2\n").unwrap();
    let mut harness = window(&[&path]);
    occupy(&harness, Priority::View);
    harness.key_press(Key::F5);
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Period);
    settle(&mut harness);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "y").is_some());
    std::fs::write(&path, "x,z\n1,2\n").unwrap();
    harness.key_press(Key::F5);
    settle(&mut harness);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "z").is_some());
}
