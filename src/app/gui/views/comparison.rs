//! A tab of two nodes: the view of each, side by side.

use egui::{Rect, Ui, UiBuilder, pos2};
use gander::data::format::Data;

use super::{Label, Request, Target, View, ViewCx, node_view};

/// The nodes and their views.
pub(super) struct Comparison([(Target, Box<dyn View>); 2]);

impl Comparison {
    pub(super) fn new(targets: [&Target; 2]) -> Self {
        Comparison(targets.map(|target| (target.clone(), node_view(target))))
    }
}

impl View for Comparison {
    fn toolbar(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        for (target, _) in &self.0 {
            ui.label(target.title());
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let whole = ui.available_rect_before_wrap();
        let middle = whole.center().x;
        let left = Rect::from_min_max(whole.min, pos2(middle, whole.bottom()));
        let right = Rect::from_min_max(pos2(middle, whole.top()), whole.max);
        for (at, ((target, view), place)) in self.0.iter_mut().zip([left, right]).enumerate() {
            let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt(at));
            child.shrink_clip_rect(place);
            let mut cx = ViewCx {
                jobs: cx.jobs,
                target: Some(target),
                status: cx.status,
                actions: cx.actions,
                workspace: cx.workspace,
                active: cx.active && at == 0,
                focus: cx.focus && at == 0,
            };
            view.ui(&mut child, &mut cx);
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        Vec::new()
    }

    fn run(&mut self, _at: usize, _cx: &mut ViewCx<'_>) -> bool {
        false
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        self.0.iter_mut().map(|(_, view)| view.request(request, cx)).fold(false, |any, done| any | done)
    }

    fn export(&self) -> Option<(String, Data)> {
        None
    }
}
