//! XGBoost models: boosted trees or a boosted linear model, as `Booster.save_model` writes them — JSON, the same in UBJSON,
//! and the binary format that version 3.1 gave up.
//! <https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html>, with the JSON's schema in
//! <https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html#json-schema>.
//!
//! | part | what it does |
//! |---|---|
//! | [`document`] | JSON and UBJSON: all but the trees, which it only finds |
//! | `text` | the JSON of it, without an index |
//! | [`binary`] | the old format |
//! | [`tree`] | one tree, whatever it was written as, and its rows |
//! | [`model`] | the nodes: metadata, trees, importance of features, weights |
//!
//! The trees are one table with the columns of `Booster.trees_to_dataframe`, read by pages (see [`crate::engines::trees`]);
//! the gain of a leaf, which there is its value, stands in a column of its own. Thresholds of integer features are those
//! of the file, not rounded up. Below the table each tree is a graph, which is made when somebody looks at it.

pub mod binary;
pub mod document;
pub mod model;
mod text;
pub mod tree;

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["ubj", "xgb", "json"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Array, Kind::Graph],
    ..Format::new("xgboost", "XGBoost model", open)
};

/// How a model is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// UBJSON.
    Ubjson,
}

/// How the model that begins so is written; `None` where this is none that is written as either.
fn syntax(head: &Head) -> Option<Syntax> {
    let ubjson = [&b"{L\0\0\0\0\0\0\0\x07learner{"[..], b"{i\x07learner{", b"{U\x07learner{"];
    if ubjson.iter().any(|begin| head.starts_with(begin)) {
        return Some(Syntax::Ubjson);
    }
    let json = head.json().filter(|json| json.names.iter().any(|name| name == "learner"))?;
    let has = |part: &[u8], name: &str| memchr::memmem::find(part, name.as_bytes()).is_some();
    // The version comes last; of a stream the end is not seen, and a file that is cut off has lost it.
    let is_lost = || head.last.is_empty() || !head.last.trim_ascii_end().ends_with(b"}");
    let version = json.names.iter().any(|name| name == "version")
        || !json.is_whole && (has(&head.last, "\"version\"") || is_lost());
    let parts = ["\"gradient_booster\"", "\"learner_model_param\"", "\"feature_names\"", "\"attributes\""];
    (version && parts.iter().any(|part| has(&head.first, part))).then_some(Syntax::Json)
}

fn sniff(head: &Head) -> Match {
    let is_one = !head.is_folder && (syntax(head).is_some() || binary::is_one(&head.first));
    if is_one { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let model = match syntax(opening.head) {
        Some(syntax) => document::open(opening.task, opening.source, syntax)?,
        None => binary::open(opening.task, opening.source)?,
    };
    model.node(opening.task)
}

#[cfg(test)]
mod tests;
