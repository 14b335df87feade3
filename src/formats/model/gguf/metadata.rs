//! Keys and values as attributes; long lists and the tokenizer as nodes.

use super::header::Header;
use super::value::Value;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::format::Encoded;
use crate::data::node::{self, Node};
use crate::engines::ggml::{Type, Vocabulary};
use std::sync::Arc;

const TOKENS: &str = "tokenizer.ggml.tokens";
const SCORES: &str = "tokenizer.ggml.scores";
const KINDS: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

/// The names of `llama_token_type`, by number.
const TOKEN_TYPES: &[&str] = &["undefined", "normal", "unknown", "control", "user_defined", "unused", "byte"];

/// What most tensors of a file are, by the number of `general.file_type`.
const FILE_TYPES: [(u64, &str); 36] = [
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K_S"),
    (12, "Q3_K_M"),
    (13, "Q3_K_L"),
    (14, "Q4_K_S"),
    (15, "Q4_K_M"),
    (16, "Q5_K_S"),
    (17, "Q5_K_M"),
    (18, "Q6_K"),
    (19, "IQ2_XXS"),
    (20, "IQ2_XS"),
    (21, "Q2_K_S"),
    (22, "IQ3_XS"),
    (23, "IQ3_XXS"),
    (24, "IQ1_S"),
    (25, "IQ4_NL"),
    (26, "IQ3_S"),
    (27, "IQ3_M"),
    (28, "IQ2_S"),
    (29, "IQ2_M"),
    (30, "IQ4_XS"),
    (31, "IQ1_M"),
    (32, "BF16"),
    (36, "TQ1_0"),
    (37, "TQ2_0"),
    (38, "MXFP4"),
    (39, "NVFP4"),
    (40, "Q1_0"),
    (1024, "guessed"),
];

/// Gives the root what the keys say.
pub(super) fn describe(root: &mut Node, source: &Source, header: &Header) {
    root.reader.push(("version".to_owned(), header.version.to_string().into()));
    root.reader.push(("byte order".to_owned(), if header.big { "big" } else { "little" }.into()));
    if let Some(alignment) = header.alignment {
        root.reader.push(("alignment".to_owned(), alignment.to_string().into()));
    }
    let kind = header.number("general.file_type");
    if let Some((_, name)) = FILE_TYPES.iter().find(|(number, _)| Some(*number) == kind) {
        root.reader.push(("mostly".to_owned(), (*name).into()));
    }
    for (name, value) in &header.values {
        let shown: node::Value = match value {
            Value::Number(number, dtype) => {
                root.attribute_types.insert(name.clone(), dtype.clone());
                number.clone().into()
            }
            Value::Text(text) => text.as_str().into(),
            Value::Numbers { short: Some(short), dtype, .. } => {
                root.attribute_types.insert(name.clone(), dtype.clone());
                node::Value::Json(short.clone())
            }
            Value::Texts { short: Some(short), .. } | Value::Nested(Some(short)) => {
                node::Value::Json(short.clone())
            }
            Value::Numbers { dtype, count, .. } => format!("list of {count} {dtype}").into(),
            Value::Texts { texts, .. } => format!("list of {} texts", texts.count()).into(),
            Value::Nested(None) => "lists of many values".into(),
        };
        if let Some(&at) = header.places.get(name) {
            let (source, big, version) = (source.clone(), header.big, header.version);
            let encoded = Encoded { format: super::FORMAT.id, source, at, big, version };
            root.attribute_places.insert(name.clone(), encoded);
        }
        root.attributes.push((name.clone(), shown));
    }
}

/// A node of values that are an attribute.
fn shown(name: &str, label: &'static str) -> Node {
    Node { shows_attributes: true, ..Node::new(name, label) }
}

/// The tokenizer, and the lists that are too long to be attributes.
pub(super) fn nodes(task: &Task, source: &Source, header: &Header) -> Result<Vec<Arc<Node>>> {
    task.check()?;
    let mut nodes = Vec::new();
    let mut tokenizer = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    if let Some(Value::Texts { texts, .. }) = header.get(TOKENS) {
        let mut tokens = Vocabulary::new(texts.clone(), "token").numbered();
        taken.push(TOKENS);
        for (key, is_kind) in [(SCORES, false), (KINDS, true)] {
            let Some(array) = header.get(key).map(|value| array(source, value, header.big)).transpose()?
            else {
                continue;
            };
            let Some(array) = array else { continue };
            taken.push(key);
            tokens = if is_kind { tokens.kinds(array, TOKEN_TYPES) } else { tokens.scores(array) };
        }
        tokenizer.push(shown("tokens", "vocabulary").content(Content::Table(Arc::new(tokens))));
    }
    if let Some(Value::Texts { texts, .. }) = header.get(MERGES) {
        taken.push(MERGES);
        let merges = Vocabulary::new(texts.clone(), "merge").numbered();
        tokenizer.push(shown("merges", "vocabulary").content(Content::Table(Arc::new(merges))));
    }
    if !tokenizer.is_empty() {
        nodes.push(Arc::new(Node::new("tokenizer", "tokenizer").listed(tokenizer)));
    }
    let mut lists = Vec::new();
    for (name, value) in &header.values {
        if taken.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::Texts { texts, short: None } => {
                let table = Vocabulary::new(texts.clone(), "value").numbered();
                lists.push(shown(name.as_str(), "list").content(Content::Table(Arc::new(table))));
            }
            Value::Numbers { short: None, .. } => {
                if let Some(array) = array(source, value, header.big)? {
                    lists.push(shown(name.as_str(), "list").content(Content::Array(array)));
                }
            }
            _ => {}
        }
    }
    if !lists.is_empty() {
        nodes.push(Arc::new(Node::new("metadata", "metadata").listed(lists)));
    }
    Ok(nodes)
}

/// A list of numbers as an array.
fn array(source: &Source, value: &Value, big: bool) -> Result<Option<Arc<dyn Array>>> {
    let Value::Numbers { dtype, at, count, .. } = value else { return Ok(None) };
    let big = big && *dtype != DType::Bool;
    let (array, _) = Type::Plain(dtype.clone()).array(source, *at, vec![*count], big, &[])?;
    Ok(Some(array))
}
