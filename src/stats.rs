//! One-pass statistics.
