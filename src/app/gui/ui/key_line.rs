//! Keys that mean something where the keyboard is, in words.

/// A line of the list of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyLine {
    /// The keys, or what is done with the mouse.
    pub(crate) keys: &'static str,
    /// What they do.
    pub(crate) words: &'static str,
}

impl KeyLine {
    /// These keys do that.
    pub(crate) const fn new(keys: &'static str, words: &'static str) -> Self {
        KeyLine { keys, words }
    }
}
