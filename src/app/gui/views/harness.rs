//! A bench for tests of views: one view in a harness with real jobs, and arrays that are slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use egui::{
    Event, Key, KeyboardShortcut, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, Vec2, vec2,
};
use egui_kittest::Harness;
use gander::bytes::error::{Error, Result};
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;
use gander::data::format::Options;
use gander::data::node::Node;
use gander::data::region::Region;
use gander::jobs::Jobs;

use super::{Action, Mappings, Request, Status, Target, View, ViewCx, Workspace};
use crate::gui::{commands, theme};

/// A view, the node that it is about and what it said.
pub(super) struct ViewHarness<V: View + ?Sized = dyn View> {
    pub(super) view: Box<V>,
    pub(super) target: Option<Target>,
    pub(super) jobs: Jobs,
    pub(super) status: Status,
    pub(super) actions: Vec<Action>,
    pub(super) workspace: Workspace,
    /// How long the view took to draw, each frame.
    pub(super) frames: Vec<Duration>,
}

/// The median and the longest of the times that frames took, without the first, which makes the fonts. They
/// are printed too: `cargo test --release --bin gander slow -- --nocapture --test-threads 1` measures them.
pub(super) fn frame_times(frames: &[Duration]) -> (Duration, Duration) {
    let mut times = frames[1..].to_vec();
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{} frames: median {median:.1?}, longest {longest:.1?}", times.len());
    (median, longest)
}

pub(super) const SIZE: Vec2 = vec2(900.0, 600.0);

/// A node with this content, in a document of one byte.
pub(super) fn target(name: &str, content: Content) -> Target {
    let document =
        gander::formats::open_source(&Task::new(), &Source::memory("bench", vec![0]), &Options::default());
    let node = Arc::new(Node::new(name, "array").content(content));
    Target { file: 1, document: Arc::new(document.unwrap()), path: name.to_owned(), node }
}

/// A harness around the view of this content.
pub(super) fn bench(name: &str, content: Content) -> Harness<'static, ViewHarness> {
    bench_with(name, content, Mappings::default())
}

/// A harness around the view of a node without content.
pub(super) fn bench_of(node: Arc<Node>) -> Harness<'static, ViewHarness> {
    let target = Target { node, ..target("a", Content::Bytes(Source::memory("a", vec![0]))) };
    around(ViewHarness::new(super::node_view(&target), target))
}

/// A harness around a view of this node.
pub(super) fn bench_view(view: Box<dyn View>, target: Target) -> Harness<'static, ViewHarness> {
    around(ViewHarness::new(view, target))
}

/// The same, where arrays were looked at before.
pub(super) fn bench_with(name: &str, content: Content, mappings: Mappings) -> Harness<'static, ViewHarness> {
    let target = target(name, content);
    let workspace = Workspace { mappings, ..Workspace::default() };
    around(ViewHarness { workspace, ..ViewHarness::new(super::node_view(&target), target) })
}

/// A harness around a view.
fn around(view: ViewHarness) -> Harness<'static, ViewHarness> {
    Harness::builder()
        .with_size(SIZE)
        .with_step_dt(1.0 / 60.0)
        .with_context_setup(theme::apply)
        .allow_missing_glyphs()
        .build_ui_state(ViewHarness::frame, view)
}

impl<V: View + ?Sized> ViewHarness<V> {
    /// A view that is looked at for the first time.
    pub(super) fn new(view: Box<V>, target: impl Into<Option<Target>>) -> Self {
        ViewHarness {
            view,
            target: target.into(),
            jobs: Jobs::new(|| {}),
            status: Status::default(),
            actions: Vec::new(),
            workspace: Workspace::default(),
            frames: Vec::new(),
        }
    }

    /// The view, and what it may see and say.
    fn parts(&mut self) -> (&mut V, ViewCx<'_>) {
        let cx = ViewCx {
            jobs: &self.jobs,
            target: self.target.as_ref(),
            status: &mut self.status,
            actions: &mut self.actions,
            workspace: &mut self.workspace,
            active: true,
            focus: self.frames.is_empty(),
        };
        (self.view.as_mut(), cx)
    }

    /// Draws the view below its toolbar.
    pub(super) fn frame(ui: &mut egui::Ui, bench: &mut Self) {
        let started = Instant::now();
        let (view, mut cx) = bench.parts();
        let pressed = match view.takes_keys(ui) {
            true => commands::pressed_of(ui.ctx(), &view.commands()),
            false => Vec::new(),
        };
        for at in pressed {
            view.run(at, &mut cx);
        }
        ui.horizontal(|ui| view.toolbar(ui, &mut cx));
        view.ui(ui, &mut cx);
        bench.frames.push(started.elapsed());
    }

    /// Asks the view.
    pub(super) fn ask(&mut self, request: &Request) -> bool {
        let (view, mut cx) = self.parts();
        view.request(request, &mut cx)
    }

    /// Does the command that is called so; false where it means nothing now.
    pub(super) fn run(&mut self, words: &str) -> bool {
        let (view, mut cx) = self.parts();
        let at = view.commands().iter().position(|label| label.words == words).unwrap();
        view.run(at, &mut cx)
    }
}

/// Frames until the jobs are done and what they brought is drawn.
pub(super) fn settle<V: View + ?Sized>(harness: &mut Harness<'_, ViewHarness<V>>) {
    let started = Instant::now();
    let mut calm = 0;
    while calm < 4 {
        assert!(started.elapsed() < Duration::from_secs(60), "the jobs do not end");
        harness.step();
        calm = if harness.state().jobs.list().is_empty() { calm + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Turns the wheel over a place.
pub(super) fn wheel(harness: &mut Harness<'_, ViewHarness>, at: Pos2, by: f32) {
    harness.hover_at(at);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, by),
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
    (0..20).for_each(|_| harness.step());
}

/// Presses and releases the button.
pub(super) fn click(harness: &mut Harness<'_, ViewHarness>, at: Pos2) {
    harness.hover_at(at);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    }
}

/// Presses every key with every modifier: those of `table` and of the view's commands change what `state` tells, and no
/// others do. `stand` brings the view to where all of them can, with the keyboard in it.
pub(super) fn check_keys<V: View + ?Sized>(
    harness: &mut Harness<'_, ViewHarness<V>>,
    table: &[KeyboardShortcut],
    stand: impl Fn(&mut Harness<'_, ViewHarness<V>>),
    state: impl Fn(&Harness<'_, ViewHarness<V>>) -> String,
) {
    let commands = harness.state().view.commands();
    let own: Vec<KeyboardShortcut> = commands.iter().filter_map(|label| label.keys).collect();
    let is_same = |one: &KeyboardShortcut, modifiers: Modifiers, key: Key| {
        let of = |modifiers: Modifiers| (modifiers.command, modifiers.shift, modifiers.alt);
        one.logical_key == key && of(one.modifiers) == of(modifiers)
    };
    let modifiers = [Modifiers::NONE, Modifiers::SHIFT, Modifiers::COMMAND, Modifiers::ALT];
    let (mut idle, mut secret) = (Vec::new(), Vec::new());
    // Tab leads out of the view.
    for key in Key::ALL.iter().copied().filter(|key| *key != Key::Tab) {
        for modifiers in modifiers {
            if own.iter().any(|one| is_same(one, modifiers, key) || key == Key::Equals) {
                continue;
            }
            stand(harness);
            let before = state(harness);
            harness.key_press_modifiers(modifiers, key);
            let is_listed = table.iter().any(|one| is_same(one, modifiers, key));
            // What is listed may take its time.
            let patience = if is_listed { 60 } else { 3 };
            let changed = (0..patience).any(|_| {
                harness.step();
                std::thread::sleep(Duration::from_millis(if is_listed { 2 } else { 0 }));
                state(harness) != before
            });
            match (is_listed, changed) {
                (true, false) => idle.push((modifiers, key)),
                (false, true) => secret.push((modifiers, key)),
                _ => {}
            }
        }
    }
    assert!(idle.is_empty() && secret.is_empty(), "do nothing: {idle:?}; are not in the table: {secret:?}");
}

/// Writes what is seen to a picture, dark and light, into the folder that `GANDER_PICTURES` names.
pub(super) fn picture(harness: &mut Harness<'_, ViewHarness>, name: &str) {
    let Some(folder) = std::env::var_os("GANDER_PICTURES") else { return };
    for (theme, word) in [(egui::Theme::Light, "light"), (egui::Theme::Dark, "dark")] {
        harness.ctx.set_theme(theme);
        settle(harness);
        let image = harness.render().unwrap();
        image.save(std::path::Path::new(&folder).join(format!("{name}_{word}.png"))).unwrap();
    }
}

/// An array whose reads take long, or fail.
pub(super) struct Slow {
    pub(super) array: Arc<dyn Array>,
    pub(super) delay: Duration,
    pub(super) reads: Arc<AtomicUsize>,
    /// Reads that were not stopped.
    pub(super) done: Arc<AtomicUsize>,
    pub(super) fails: bool,
}

impl Array for Slow {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        while started.elapsed() < self.delay {
            task.check()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.fails {
            return Err(Error::io("the disk is gone"));
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        self.array.read(task, region, out)
    }
}
