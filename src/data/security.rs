//! What code a file would run when the program that it is made for loads it. Gander runs none.

use crate::bytes::error::Error;
use std::collections::{BTreeMap, BTreeSet};

/// What a pickle could do to somebody who loads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It asks for nothing but what is known to make plain data.
    #[default]
    Safe,
    /// It asks for classes of libraries or of the program itself, or its end was not seen.
    Unusual,
    /// It asks for something that could do anything.
    Dangerous,
}

impl Verdict {
    /// The word in JSON (`CLI.md`).
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Safe => "safe",
            Verdict::Unusual => "unusual",
            Verdict::Dangerous => "dangerous",
        }
    }
}

/// What was found in one pickle or several.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What would be imported, `os.system`, in alphabetical order; `?` for what is put together while loading.
    pub globals: BTreeSet<String>,
    /// Those that made the verdict what it is.
    pub suspects: BTreeSet<String>,
    /// Of each name that is not known to make plain data what it would do, in a sentence.
    pub effects: BTreeMap<String, &'static str>,
    /// What would be called, as a call: `os.system('echo quack')`; the first ones.
    pub calls: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why not everything was looked at, if so.
    pub fault: Option<Error>,
}
