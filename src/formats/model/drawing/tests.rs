//! Drawings of made graphs.
