//! Outlines of made graphs.
