//! The range of the values of a whole array, so that colours mean the same in every slice: found by a pass over all of
//! it, which runs when it is asked for.

use std::sync::Arc;

use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::numbers::ComplexPart;
use gander::data::plane::ValueSummary;
use gander::data::plane::color::{HeatMapSpec, ImageSpec, RangeScope};
use gander::jobs::{JobSpec, Slot};

use super::super::ViewCx;

/// What is known of all values.
#[derive(Default)]
pub(super) struct WholeRange {
    found: Slot<ComplexPart, ValueSummary>,
    known: Option<(ComplexPart, Arc<ValueSummary>)>,
    /// How far the pass is, in words; empty where none runs.
    state: String,
}

impl WholeRange {
    /// Asks for it where the colours need it.
    pub(super) fn update(
        &mut self,
        cx: &ViewCx<'_>,
        array: &Arc<dyn Array>,
        (scope, part): (RangeScope, ComplexPart),
        title: &str,
    ) {
        self.state.clear();
        if scope != RangeScope::Array || self.of(part).is_some() {
            return;
        }
        let array = array.clone();
        let spec = JobSpec::scan(format!("the range of all of {title}"));
        let shown =
            self.found.get(cx.jobs, &part, spec, move |task| ValueSummary::of_array(&*array, task, part));
        match (shown.ready(), &shown.error) {
            (Some(summary), _) => self.known = Some((part, summary)),
            (None, Some(error)) if error.is_cancelled() => self.state = "stopped".to_owned(),
            (None, Some(error)) => self.state = error.message(),
            (None, None) => {
                let share =
                    shown.progress().map_or(String::new(), |share| format!(" {:.0} %", share * 100.0));
                self.state = format!("scanning{share}");
            }
        }
    }

    fn of(&self, part: ComplexPart) -> Option<&Arc<ValueSummary>> {
        self.known.as_ref().filter(|(known, _)| *known == part).map(|(_, summary)| summary)
    }

    /// The colours with the range of the array, where that is wanted and known; those of the slice until then.
    pub(super) fn applied(&self, choice: HeatMapSpec) -> HeatMapSpec {
        match self.of(choice.part).filter(|_| choice.scope == RangeScope::Array) {
            Some(summary) => choice.fixed(summary),
            None => choice,
        }
    }

    /// The black and white of an image of the array, in the same way.
    pub(super) fn applied_to_image(&self, photo: ImageSpec, dtype: &DType) -> ImageSpec {
        match self.of(ComplexPart::Magnitude).filter(|_| photo.scope == RangeScope::Array) {
            Some(summary) => photo.fixed(dtype, summary),
            None => photo,
        }
    }

    /// What is known of all values.
    pub(super) fn known(&self, part: ComplexPart) -> Option<Arc<ValueSummary>> {
        self.of(part).cloned()
    }

    /// How far it is, in words; empty where nothing is to be waited for.
    pub(super) fn state(&self) -> &str {
        &self.state
    }

    /// Begins anew what was stopped.
    pub(super) fn retry(&mut self) {
        self.found.clear();
    }

    /// Stops the pass.
    pub(super) fn stop(&self) {
        self.found.cancel();
    }

    /// Forgets everything: the array is another one now.
    pub(super) fn clear(&mut self) {
        self.found.clear();
        self.known = None;
    }
}
