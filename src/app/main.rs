//! The application.

#[cfg(feature = "gui")]
mod gui;

fn main() {}
