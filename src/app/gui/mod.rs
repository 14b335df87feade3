//! The window: what a person sees and does. Nothing in here reads a file.

#[allow(dead_code, reason = "the vocabulary of the views")]
pub(crate) mod commands;
#[allow(dead_code, unused_imports, reason = "a vocabulary: not every word is used in every build")]
pub(crate) mod grid;
#[allow(dead_code, reason = "a vocabulary: not every icon is used in every build")]
pub(crate) mod icons;
#[allow(dead_code, unused_imports, reason = "a vocabulary: not every word is used in every build")]
pub(crate) mod theme;
#[allow(dead_code, reason = "the vocabulary of the views")]
pub(crate) mod views;
