//! The view in a harness: what was found comes into sight, down and across, also deep in a long line.

use gander::bytes::task::Task;
use std::time::{Duration, Instant};

use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::source::Source;
use gander::data::content::Content;
use gander::data::format::Options;
use gander::engines::delimited::PlainText;
use gander::formats::open_source;

use super::*;
use crate::gui::views::harness;

type ViewHarness = harness::ViewHarness<TextView>;

fn show(text: String) -> Harness<'static, ViewHarness> {
    let text = Arc::new(PlainText::new(Source::memory("t", text), encoding_rs::UTF_8));
    let target = harness::target("t", Content::Text(text.clone()));
    let bench = ViewHarness::new(Box::new(TextView::new("t", text)), target);
    let builder = Harness::builder().with_size(vec2(900.0, 600.0)).with_step_dt(1.0 / 60.0);
    let builder = builder.with_context_setup(crate::gui::theme::apply).allow_missing_glyphs();
    builder.build_ui_state(ViewHarness::frame, bench)
}

/// Frames until it is so.
fn until(harness: &mut Harness<'static, ViewHarness>, what: impl Fn(&ViewHarness) -> bool) {
    let started = Instant::now();
    while !what(harness.state()) {
        assert!(started.elapsed() < Duration::from_secs(20), "it did not come: {:?}", harness.state().status);
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A stretch of three characters.
fn stretch(line: u64, character: usize) -> (Place, Place) {
    (Place { line, character }, Place { line, character: character + 3 })
}

/// Goes to a stretch as to something that was found; where it stands on the screen then, of how much.
fn go_to(harness: &mut Harness<'static, ViewHarness>, found: (Place, Place)) {
    harness.state_mut().view.go_to = Some(found);
    harness.step();
    until(harness, |b| b.view.reveal.is_none());
    (0..3).for_each(|_| harness.step());
}

#[test]
fn what_is_found_right_of_the_edge_is_scrolled_to() {
    let mut harness = show(format!("short\n{}\nshort\n", "x".repeat(3000)));
    until(&mut harness, |b| b.view.lines.is_there(1));
    go_to(&mut harness, stretch(1, 2500));
    let left = harness.state().view.left;
    assert!(left > 1000.0, "{left}");
    // What is in sight moves nothing; the beginning of a line is shown from its beginning.
    go_to(&mut harness, stretch(1, 2510));
    assert_eq!(harness.state().view.left, left);
    go_to(&mut harness, stretch(0, 1));
    assert_eq!(harness.state().view.left, 0.0);
}

#[test]
fn a_line_is_scrolled_across_as_far_as_is_needed() {
    assert_eq!(across(0.0, 300.0, 100.0, 200.0), 0.0);
    assert_eq!(across(0.0, 300.0, 290.0, 320.0), 190.0);
    assert_eq!(across(500.0, 300.0, 20.0, 40.0), 0.0);
}

#[test]
fn every_part_of_a_line_of_megabytes_comes_into_sight() {
    let mut harness = show("abcdefghi ".repeat(300_000));
    until(&mut harness, |b| b.view.lines.is_there(0));
    for wrap in [false, true] {
        harness.state_mut().view.wrap = wrap;
        for character in [2_000_000, 100, 2_999_990] {
            go_to(&mut harness, stretch(0, character));
            let piece = harness.state().view.lines.piece(0).unwrap();
            assert!((piece.start..piece.end).contains(&character), "{character}: {piece:?}");
            let first = ["a", "b", "c", "d", "e", "f", "g", "h", "i", " "][piece.start % 10];
            assert!(piece.text.starts_with(first), "{character}");
        }
    }
    // The rest of the line is a click away, and so is all of it.
    go_to(&mut harness, stretch(0, 0));
    harness.get_by_label("Next part of the long line").click();
    until(&mut harness, |b| b.view.lines.piece(0).is_some_and(|piece| piece.start > 0));
    assert!(harness.state().view.lines.piece(0).unwrap().text.starts_with(|c: char| c.is_alphabetic()));
    harness.get_by_label("Read the whole line").click();
    until(&mut harness, |b| b.actions.iter().any(|action| matches!(action, Action::Read(..))));
    let read = harness.state().actions.iter().find_map(|action| match action {
        Action::Read(title, text) => Some((title.clone(), text.len())),
        _ => None,
    });
    assert_eq!(read, Some(("t: line 1".to_owned(), 3_000_000)));
}

#[test]
fn one_wrapped_line_can_be_scrolled_to_its_end() {
    let mut harness = show("abcdefghi ".repeat(6_000));
    harness.state_mut().view.wrap = true;
    until(&mut harness, |b| b.view.lines.is_there(0));
    (0..3).for_each(|_| harness.step());
    for _ in 0..30 {
        harness.key_press(Key::PageDown);
        harness.step();
    }
    let top = harness.state().view.top;
    assert!(top.row == 0 && top.fraction > 0.9, "{top:?}");
    // As many steps back as it takes, by rows and not by lines.
    harness.key_press(Key::PageUp);
    harness.step();
    let back = harness.state().view.top;
    assert!(back.fraction < top.fraction && back.fraction > 0.5, "{back:?}");
}

#[test]
fn the_encoding_can_be_said() {
    let source = Source::memory("x.txt", b"plain words, one caf\xe9\nand more\n".to_vec());
    let document = Arc::new(open_source(&Task::new(), &source, &Options::default()).unwrap());
    let node = document.root.clone();
    let Some(Content::Text(text)) = node.content.clone() else { panic!("it is a text") };
    let target = Target { file: 3, document, path: String::new(), node };
    let bench = harness::ViewHarness::<dyn View>::new(make(&target, &text), target);
    let builder = Harness::builder().with_size(vec2(900.0, 600.0)).with_step_dt(1.0 / 60.0);
    let builder = builder.with_context_setup(crate::gui::theme::apply);
    let mut harness = builder.build_ui_state(harness::ViewHarness::frame, bench);
    harness.step();
    harness.get_by_label("The encoding of the text: windows-1252").click();
    harness.step();
    harness.step();
    harness.get_by_label("koi8-r").click();
    harness.step();
    harness.step();
    let said = harness.state().actions.iter().find_map(|action| match action {
        Action::Reopen(file, options) => Some((*file, options.get("encoding").map(str::to_owned))),
        _ => None,
    });
    assert_eq!(said, Some((3, Some("koi8-r".to_owned()))));
}

#[test]
fn every_key_of_texts_works_and_no_other() {
    let line = "a line that is wider than the view ".repeat(20);
    let mut harness = show(format!("{line}\n").repeat(500));
    until(&mut harness, |b| b.view.lines.is_there(0));
    let state = |harness: &Harness<'_, ViewHarness>| {
        let bench = harness.state();
        let view = &bench.view;
        format!("{:?} {} {:?} {}", view.top, view.left, view.selection(), bench.actions.len())
    };
    // In the middle of the text and of its lines, with some of it selected and the keyboard in it.
    let stand = |harness: &mut Harness<'_, ViewHarness>| {
        let view = &mut harness.state_mut().view;
        (view.anchor, view.cursor) = stretch(210, 40);
        (view.top, view.left) = (RowPosition { row: 200, fraction: 0.0 }, 300.0);
        harness.get_by_role_and_label(egui::accesskit::Role::Document, "t").focus();
        harness::settle(harness);
    };
    harness::check_keys(&mut harness, &keys::shortcuts(TEXT_KEYS), stand, state);
}
