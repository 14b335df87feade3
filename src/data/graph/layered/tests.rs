//! Graphs of one level, placed.
