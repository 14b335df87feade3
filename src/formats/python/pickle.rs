//! Pickles: Python objects of every protocol, one or several in a file, read without Python: nothing in them is
//! imported, called or built. See [`engines::pickle`](crate::engines::pickle).
//! <https://docs.python.org/3/library/pickle.html>

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::pickle::{self, Numpy};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["pkl", "pickle", "pck", "pcl", "p", "pkl2", "dill", "cloudpickle"],
    mime: &["application/x-pickle"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Array, Kind::Table],
    disguised: Some(|task, source, head| pickle::disguised(task, source, &head.first)),
    ..Format::new("pickle", "Python pickle", open)
};

/// Opcodes that can be followed; a name that says so does where they break off.
fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() {
        return Match::No;
    }
    let beginning = pickle::beginning(&head.first, head.len, head.last.last().copied());
    let named = || head.has_extension(FORMAT.extensions) || head.has_extension(&["joblib"]);
    if beginning.sure || beginning.likely && named() { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let knows: pickle::Knows = Arc::new(|| Box::new(Numpy));
    pickle::open(opening.task, opening.source, &knows)
}
