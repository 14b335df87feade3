//! Widgets that several rooms share.

pub(crate) mod json;
pub(crate) mod long_text;
pub(crate) mod rows;
