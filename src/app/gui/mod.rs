//! The window: what a person sees and does. Nothing in here reads a file.

pub mod grid;
pub mod icons;
pub mod theme;
