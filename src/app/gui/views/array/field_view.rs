//! The array as it is looked at: one field of structured elements or all of it, stored or scaled values.

use std::sync::Arc;

use gander::data::adapt::{FieldArray, FieldPath, scaled};
use gander::data::axes::AxisCoordinates;
use gander::data::content::Array;
use gander::data::content::array::Scaling;
use gander::data::dtype::DType;
use gander::data::node::Node;
use serde::{Deserialize, Serialize};

/// What of an array is looked at.
pub(super) struct FieldView {
    whole: Arc<dyn Array>,
    node: Arc<Node>,
    /// The fields of structured elements.
    pub(super) fields: Vec<FieldPath>,
    /// The one that is seen alone.
    pub(super) field: Option<usize>,
    /// What stored values stand for, if that is another number.
    pub(super) scaling: Option<Scaling>,
    /// Whether they are seen as they are stored all the same.
    pub(super) stored: bool,
}

impl FieldView {
    /// Scaled values, and of structured elements all fields.
    pub(super) fn new(array: &Arc<dyn Array>, node: &Arc<Node>) -> Self {
        let scaling = array.facts().scaling.filter(|_| array.dtype().is_real());
        let fields = FieldPath::all(array.dtype());
        // Integers that f64 cannot hold stay as they are, unless somebody wants the missing ones marked.
        let exact = matches!(array.dtype(), DType::I64 | DType::U64);
        let stored = exact && scaling.as_ref().is_some_and(Scaling::is_identity);
        FieldView { whole: array.clone(), node: node.clone(), fields, field: None, scaling, stored }
    }

    /// The field that is seen alone.
    pub(super) fn chosen(&self) -> Option<&FieldPath> {
        self.fields.get(self.field?)
    }

    /// The array, or the field, as it is stored.
    pub(super) fn stored_array(&self) -> Arc<dyn Array> {
        match self.chosen() {
            Some(field) => Arc::new(FieldArray::new(self.whole.clone(), field.clone())),
            None => self.whole.clone(),
        }
    }

    /// The array as it is seen.
    pub(super) fn array(&self) -> Arc<dyn Array> {
        let array = self.stored_array();
        match self.scaling.clone().filter(|_| !self.stored) {
            Some(scaling) => match scaled(array.clone(), scaling) {
                Some(scaled) => Arc::new(scaled),
                None => array,
            },
            None => array,
        }
    }

    /// What its indices and values mean. The unit is that of what is meant, not of what is stored.
    pub(super) fn coordinates(&self, array: &dyn Array) -> AxisCoordinates {
        let mut facts = array.facts();
        let Some(scaling) = &self.scaling else {
            return AxisCoordinates::of(&self.node, facts, array.shape().len());
        };
        if self.stored && !scaling.is_identity() {
            facts.unit = None;
        }
        let mut coordinates = AxisCoordinates::of(&self.node, facts, array.shape().len());
        coordinates.whole = !self.stored && scaling.is_identity() && !self.whole.dtype().is_float();
        coordinates
    }

    /// For the session.
    pub(super) fn state(&self) -> FieldState {
        FieldState { field: self.chosen().map(|field| field.name.clone()), stored: Some(self.stored) }
    }

    /// What [`FieldView::state`] gave; true if the array is seen otherwise now.
    pub(super) fn restore(&mut self, state: &FieldState) -> bool {
        let before = (self.field, self.stored);
        let name = state.field.as_ref();
        self.field = name.and_then(|name| self.fields.iter().position(|field| field.name == *name));
        self.stored = state.stored.unwrap_or(self.stored);
        before != (self.field, self.stored)
    }
}

/// The black and white that the file asks for, where they are of the values of this array as they are.
pub(super) fn window(array: &dyn Array) -> Option<(f64, f64)> {
    let facts = array.facts();
    let fits = |low: f64, high: f64| low.is_finite() && high.is_finite() && low < high;
    facts.window.filter(|(low, high)| facts.scaling.is_none() && fits(*low, *high))
}

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FieldState {
    field: Option<String>,
    stored: Option<bool>,
}
