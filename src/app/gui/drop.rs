//! Files that are dragged onto the window: what a drop will do shows while they hover. The left half opens,
//! the right half converts.

mod pointer;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use egui::{Align2, Context, FontId, Id, LayerId, Order, Pos2, Rect, StrokeKind, pos2};

use super::commands::Action;
use super::icons::Icon;
use super::theme::{self, Theme, size, space};
use super::ui::paint_elided;

/// The state of a drag onto the window.
#[derive(Default)]
pub(crate) struct Drop {
    /// What was dropped and waits for a word about where.
    dropped: Option<(Vec<PathBuf>, Instant)>,
    pointer: pointer::Pointer,
    /// Where the pointer was last, since the drag began.
    at: Option<Pos2>,
}

/// X11 and Wayland tell of a drop first and then of where the pointer is; if nothing comes, it is opened.
const WAIT: Duration = Duration::from_millis(300);

impl Drop {
    /// Takes what was dropped.
    pub(crate) fn take(&mut self, ctx: &Context) -> Vec<Action> {
        let paths: Vec<PathBuf> = ctx.input(|input| {
            let files = input.raw.dropped_files.iter();
            files.map(|file| file.path().to_owned()).collect()
        });
        if !paths.is_empty() {
            let old = self.dropped.take().map(|(paths, _)| paths).unwrap_or_default();
            self.dropped = Some((old.into_iter().chain(paths).collect(), Instant::now()));
        }
        self.look(ctx);
        let Some((_, since)) = &self.dropped else { return Vec::new() };
        let left = WAIT.saturating_sub(since.elapsed());
        if self.at.is_none() && !left.is_zero() {
            ctx.request_repaint_after(left);
            return Vec::new();
        }
        let Some((paths, _)) = self.dropped.take() else { return Vec::new() };
        let middle = ctx.content_rect().center().x;
        let right = self.at.take().is_some_and(|at| at.x > middle);
        if right { vec![Action::Convert(paths)] } else { vec![Action::Open(paths)] }
    }

    /// Finds out where the pointer is while something hovers or was dropped.
    fn look(&mut self, ctx: &Context) {
        let hovers = ctx.input(|input| !input.raw.hovered_files.is_empty());
        if !hovers && self.dropped.is_none() {
            self.at = None;
            return;
        }
        let moved = ctx.input(|input| {
            let events = input.raw.events.iter().rev();
            events.into_iter().find_map(|event| match event {
                egui::Event::PointerMoved(at) => Some(*at),
                _ => None,
            })
        });
        self.at = self.pointer.ask(ctx).or(moved).or(self.at);
        if hovers {
            // No events tell of the way of the pointer during a drag.
            ctx.request_repaint_after(Duration::from_millis(60));
        }
    }

    /// Draws the zones while files hover.
    pub(crate) fn ui(&self, ctx: &Context) {
        let hovered = ctx.input(|input| input.raw.hovered_files.clone());
        if hovered.is_empty() {
            return;
        }
        let theme = Theme::of_context(ctx);
        let painter = ctx.layer_painter(LayerId::new(Order::Foreground, Id::unique("drop zone")));
        let all = ctx.content_rect();
        painter.rect_filled(all, 0.0, theme.bg0.gamma_multiply(0.88));
        let names: Vec<String> = hovered
            .iter()
            .filter_map(|file| Some(file.path.as_ref()?.file_name()?.to_string_lossy().into_owned()))
            .collect();
        let what = match names.as_slice() {
            [] => gander::bytes::display::plural(hovered.len() as u64, "file"),
            [one] => one.clone(),
            [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        };
        let at = self.at;
        let half = |left: bool| {
            let (from, to) = if left { (all.left(), all.center().x) } else { (all.center().x, all.right()) };
            Rect::from_min_max(pos2(from, all.top()), pos2(to, all.bottom())).shrink(space::S4)
        };
        for (left, icon, title, words) in [
            (true, Icon::FolderOpen, "Open", "Look inside. The file is not changed."),
            (false, Icon::Export, "Convert…", "Write it in another format. The file is not changed."),
        ] {
            let rect = half(left);
            let over = at.is_some_and(|at| (at.x <= all.center().x) == left);
            let edge = if over { theme.accent } else { theme.faint };
            let fill = if over { theme.selected_cell() } else { theme.bg1 };
            painter.rect(rect, size::CORNER_LARGE, fill, egui::Stroke::new(2.0, edge), StrokeKind::Inside);
            let put = |y: f32, text: String, font: FontId, color| {
                let at = pos2(rect.center().x, rect.center().y + y);
                let room = rect.width() - space::S6;
                paint_elided(&painter, at, Align2::CENTER_CENTER, &text, font, color, room);
            };
            put(-44.0, icon.to_string(), FontId::new(36.0, theme::icon_family()), edge);
            put(0.0, title.to_owned(), FontId::new(18.0, theme::semi_bold()), theme.text);
            put(26.0, words.to_owned(), theme::body_font(), theme.dim);
            put(50.0, what.clone(), theme::mono_font(), theme.dim);
        }
    }
}
