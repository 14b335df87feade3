//! Any content to any writer that accepts its kind.
