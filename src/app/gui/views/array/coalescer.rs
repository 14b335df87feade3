//! What is asked for while a slider moves faster than slices can be read: a request that was begun is finished
//! and shown before the newest one is begun, else nothing new would be seen until the slider stands still.

use egui::Context;

/// How long a request is waited for while another one is already wanted, in seconds.
const HOLD: f64 = 0.4;
/// After so long without an answer it is clear that what is shown is old, in seconds.
const PATIENCE: f64 = 0.25;

/// Lets a request end before the next one begins, so that a slider that moves shows pictures on the way.
pub(super) struct Coalescer<K> {
    /// What is being made, and since when, in the time of the frames.
    asked: Option<(K, f64)>,
    /// Since when what is shown is not what was asked for.
    waiting: Option<f64>,
}

impl<K> Default for Coalescer<K> {
    fn default() -> Self {
        Coalescer { asked: None, waiting: None }
    }
}

impl<K: Clone + PartialEq> Coalescer<K> {
    /// What to ask for now: what is `wanted`, or what was before it while that comes and differs only in where
    /// a slider stands. `there` says whether a request was answered.
    pub(super) fn next(
        &mut self,
        ctx: &Context,
        wanted: &K,
        alike: impl Fn(&K) -> bool,
        there: impl Fn(&K) -> bool,
    ) -> K {
        let now = ctx.input(|input| input.time);
        if let Some((asked, since)) = &self.asked {
            let left = HOLD - (now - since);
            if asked == wanted || alike(asked) && left > 0.0 && !there(asked) {
                if asked != wanted {
                    ctx.request_repaint_after_secs(left as f32);
                }
                return asked.clone();
            }
        }
        self.asked = Some((wanted.clone(), now));
        wanted.clone()
    }

    /// What was asked for is shown.
    pub(super) fn arrived(&mut self) {
        self.waiting = None;
    }

    /// Whether what is shown has been old for so long that it should look old. `there` says whether the answer
    /// to the last request is shown.
    pub(super) fn is_late(&mut self, ctx: &Context, there: bool) -> bool {
        if there {
            self.arrived();
            return false;
        }
        let now = ctx.input(|input| input.time);
        let left = PATIENCE - (now - *self.waiting.get_or_insert(now));
        if left > 0.0 {
            ctx.request_repaint_after_secs(left as f32);
        }
        left <= 0.0
    }
}
