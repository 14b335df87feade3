//! The view of an array.

use std::sync::Arc;

use gander::content::Array;

use super::{Details, Target, View};

/// The view of `array`, the content of `target`.
pub(crate) fn make(_target: &Target, _array: &Arc<dyn Array>) -> Box<dyn View> {
    Box::new(Details)
}
