//! The view of an image.

use std::sync::Arc;

use gander::content::Image;

use super::{Details, Target, View};

/// The view of `image`, the content of `target`.
pub(crate) fn make(_target: &Target, _image: &Arc<dyn Image>) -> Box<dyn View> {
    Box::new(Details)
}
