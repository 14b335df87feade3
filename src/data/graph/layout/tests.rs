//! Layouts of made graphs.
