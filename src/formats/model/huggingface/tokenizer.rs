//! The vocabulary of a tokenizer as a table: of `tokenizer.json`, `vocab.json` with `merges.txt`, `vocab.txt`, a
//! SentencePiece model, or tiktoken's ranks.
//! <https://huggingface.co/docs/tokenizers/api/models>, <https://github.com/openai/tiktoken>

use super::{file, has, read_all, read_json, sentencepiece};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Entry;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::node::Node;
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use base64::Engine as _;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";
/// Names of SentencePiece models.
const PIECES: &[&str] =
    &["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "source.spm"];
/// Entries of the configuration that are no facts of the tokenizer alone, or too long to stand among them.
const LONG: &[&str] = &["chat_template", "added_tokens_decoder"];

/// A token.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Token {
    pub(super) id: i64,
    pub(super) text: String,
    pub(super) score: Option<f64>,
    /// The word for its kind; empty where there are no kinds.
    pub(super) kind: &'static str,
    pub(super) special: bool,
}

/// The file that a vocabulary is in.
fn vocabulary(entries: &[Entry]) -> Option<String> {
    let named = |name: &&str| has(entries, name);
    let first = [TOKENIZER, "vocab.json", "vocab.txt"].into_iter().find(named);
    let first = first.or_else(|| PIECES.iter().copied().find(named));
    let ranks = || entries.iter().find(|entry| !entry.is_folder && entry.name.ends_with(".tiktoken"));
    first.map(str::to_owned).or_else(|| ranks().map(|entry| entry.name.clone()))
}

/// Whether a folder has a tokenizer.
pub(super) fn has_own(entries: &[Entry]) -> bool {
    has(entries, CONFIG) && vocabulary(entries).is_some() || has(entries, TOKENIZER)
}

/// Whether a folder is a tokenizer's for sure, without a model.
pub(super) fn is_alone(entries: &[Entry]) -> bool {
    has(entries, CONFIG) && vocabulary(entries).is_some()
}

/// The node of the tokenizer of a folder, which is read when somebody looks into it.
pub(super) fn node(folder: &Path, entries: &[Entry]) -> Option<Node> {
    let name = vocabulary(entries)?;
    let read = Files {
        folder: folder.to_owned(),
        name,
        config: has(entries, CONFIG),
        merges: has(entries, "merges.txt"),
    };
    Some(Node::deferred("tokenizer", "tokenizer", move |task| read.node(task)))
}

/// Where a tokenizer is.
struct Files {
    folder: PathBuf,
    name: String,
    config: bool,
    merges: bool,
}

/// What a tokenizer consists of.
#[derive(Default)]
struct Tokenizer {
    kind: Option<String>,
    tokens: Vec<Token>,
    merges: Vec<(String, String)>,
    added: Vec<Added>,
    /// The types of its steps: normalizer, pre_tokenizer, post_processor, decoder.
    steps: Vec<(String, String)>,
}

impl Files {
    fn node(&self, task: &Task) -> Result<Node> {
        let source = file(task, &self.folder, &self.name)?;
        let bytes = read_all(task, &source)?;
        let mut tokenizer = match self.name.as_str() {
            TOKENIZER => whole(&bytes)?,
            "vocab.json" => {
                Tokenizer { kind: Some("BPE".to_owned()), tokens: of_map(&bytes)?, ..Tokenizer::default() }
            }
            "vocab.txt" => Tokenizer {
                kind: Some("WordPiece".to_owned()),
                tokens: of_lines(&bytes),
                ..Tokenizer::default()
            },
            name if name.ends_with(".tiktoken") => {
                Tokenizer { kind: Some("BPE".to_owned()), tokens: of_ranks(&bytes)?, ..Tokenizer::default() }
            }
            _ => {
                let (tokens, kind) = sentencepiece::pieces(task, &bytes)?;
                Tokenizer { kind: kind.map(str::to_owned), tokens, ..Tokenizer::default() }
            }
        };
        task.check()?;
        if tokenizer.merges.is_empty() && self.merges && self.name != TOKENIZER {
            let text = read_all(task, &file(task, &self.folder, "merges.txt")?)?;
            tokenizer.merges = of_merges(&text);
        }
        let mut node = tokenizer.node()?.read_as("file", self.name.as_str());
        if self.config {
            let config = file(task, &self.folder, CONFIG).and_then(|source| read_json(task, &source));
            match config.unless_cancelled()? {
                Ok(Json::Object(config)) => {
                    let shown = config.into_iter().filter(|(name, _)| !LONG.contains(&name.as_str()));
                    node.attributes.extend(shown.take(200).map(|(name, value)| (name, value.into())));
                }
                Ok(_) => node.remarks.push(format!("{CONFIG}: it is no object")),
                Err(error) => node.remarks.push(error.message()),
            }
        }
        Ok(node)
    }
}

impl Tokenizer {
    fn node(mut self) -> Result<Node> {
        let by_id: HashMap<i64, usize> =
            self.tokens.iter().enumerate().map(|(n, token)| (token.id, n)).collect();
        for added in &self.added {
            match by_id.get(&added.id).and_then(|n| self.tokens.get_mut(*n)) {
                Some(token) => (token.kind, token.special) = ("added", added.special),
                None => self.tokens.push(Token {
                    id: added.id,
                    text: added.content.clone(),
                    score: None,
                    kind: "added",
                    special: added.special,
                }),
            }
        }
        self.tokens.sort_by_key(|token| token.id);
        let count = self.tokens.len();
        let mut node = Node::new("tokenizer", "tokenizer").attribute("tokens", count.to_string());
        if let Some(kind) = self.kind {
            node = node.attribute("type", kind);
        }
        for (step, kind) in self.steps {
            node = node.attribute(step, kind);
        }
        let mut children = vec![tokens(&self.tokens)?];
        if !self.merges.is_empty() {
            let rank: ArrayRef = Arc::new((0..self.merges.len() as i64).map(Some).collect::<Int64Array>());
            let side = |of: fn(&(String, String)) -> &String| -> ArrayRef {
                Arc::new(self.merges.iter().map(|merge| Some(of(merge))).collect::<StringArray>())
            };
            let columns =
                vec![("rank", rank), ("left", side(|merge| &merge.0)), ("right", side(|merge| &merge.1))];
            children.push(table("merges", columns)?);
        }
        if !self.added.is_empty() {
            children.push(added(&self.added)?);
        }
        Ok(node.listed(children))
    }
}

fn table(name: &str, columns: Vec<(&str, ArrayRef)>) -> Result<Node> {
    let table = MemoryTable::new(RecordBatch::try_from_iter(columns)?);
    Ok(Node::new(name, "table").content(Content::Table(Arc::new(table))))
}

/// The vocabulary: a column for what any token has.
fn tokens(tokens: &[Token]) -> Result<Node> {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(tokens.iter().map(|token| Some(token.id)).collect::<Int64Array>())),
        ("token", Arc::new(tokens.iter().map(|token| Some(token.text.as_str())).collect::<StringArray>())),
    ];
    if tokens.iter().any(|token| token.score.is_some()) {
        columns.push(("score", Arc::new(tokens.iter().map(|token| token.score).collect::<Float64Array>())));
    }
    if tokens.iter().any(|token| !token.kind.is_empty()) {
        let kinds = tokens.iter().map(|token| Some(token.kind).filter(|kind| !kind.is_empty()));
        columns.push(("kind", Arc::new(kinds.collect::<StringArray>())));
        columns.push((
            "special",
            Arc::new(tokens.iter().map(|token| Some(token.special)).collect::<BooleanArray>()),
        ));
    }
    table("vocabulary", columns)
}

fn added(added: &[Added]) -> Result<Node> {
    let flag = |of: fn(&Added) -> bool| -> ArrayRef {
        Arc::new(added.iter().map(|token| Some(of(token))).collect::<BooleanArray>())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(added.iter().map(|token| Some(token.id)).collect::<Int64Array>())),
        ("token", Arc::new(added.iter().map(|token| Some(token.content.as_str())).collect::<StringArray>())),
        ("special", flag(|token| token.special)),
        ("single_word", flag(|token| token.single_word)),
        ("lstrip", flag(|token| token.lstrip)),
        ("rstrip", flag(|token| token.rstrip)),
        ("normalized", flag(|token| token.normalized)),
    ];
    table("added_tokens", columns)
}

/// A token that stands beside the vocabulary.
#[derive(serde::Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Added {
    id: i64,
    content: String,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

/// A `tokenizer.json`, as far as it is shown.
#[derive(serde::Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    #[serde(default)]
    normalizer: Step,
    #[serde(default)]
    pre_tokenizer: Step,
    #[serde(default)]
    post_processor: Step,
    #[serde(default)]
    decoder: Step,
    model: Model,
}

#[derive(serde::Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    vocab: Vocab,
    #[serde(default)]
    merges: Vec<Merge>,
}

/// The type of a step, those of a sequence one after the other.
#[derive(Default)]
struct Step(String);

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        fn kind(json: &Json, depth: u32) -> String {
            let own = json.get("type").and_then(Json::as_str).unwrap_or_default();
            let inner = ["normalizers", "pretokenizers", "processors", "decoders"];
            let inner = inner.iter().find_map(|name| json.get(*name)?.as_array()).filter(|_| depth < 8);
            match inner {
                Some(inner) => inner.iter().map(|step| kind(step, depth + 1)).collect::<Vec<_>>().join(", "),
                None => own.to_owned(),
            }
        }
        Json::deserialize(from).map(|json| Step(kind(&json, 0)))
    }
}

/// The tokens of a model: a map of ids, or a list of tokens with their scores.
#[derive(Default)]
struct Vocab(Vec<Token>);

impl<'de> Deserialize<'de> for Vocab {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Tokens;
        impl<'de> Visitor<'de> for Tokens {
            type Value = Vocab;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of tokens to ids, or a list of tokens with scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocab, A::Error> {
                let mut tokens = Vec::new();
                while let Some((text, id)) = map.next_entry::<String, i64>()? {
                    tokens.push(Token { id, text, ..Token::default() });
                }
                Ok(Vocab(tokens))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vocab, A::Error> {
                let mut tokens = Vec::new();
                while let Some((text, score)) = list.next_element::<(String, f64)>()? {
                    let id = tokens.len() as i64;
                    tokens.push(Token { id, text, score: Some(score), ..Token::default() });
                }
                Ok(Vocab(tokens))
            }
        }
        from.deserialize_any(Tokens)
    }
}

/// Two tokens that become one: a text with a space between them, or a list.
struct Merge(String, String);

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = Merge;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("two tokens")
            }

            fn visit_str<E>(self, text: &str) -> Result<Merge, E> {
                let (left, right) = text.split_once(' ').unwrap_or((text, ""));
                Ok(Merge(left.to_owned(), right.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Merge, A::Error> {
                let left = list.next_element()?.unwrap_or_default();
                let right = list.next_element()?.unwrap_or_default();
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Merge(left, right))
            }
        }
        from.deserialize_any(Pair)
    }
}

/// A tokenizer of the library *tokenizers*.
fn whole(bytes: &[u8]) -> Result<Tokenizer> {
    let file: File =
        serde_json::from_slice(bytes).map_err(|error| Error::malformed(format!("{TOKENIZER}: {error}")))?;
    let steps = [
        ("normalizer", file.normalizer),
        ("pre_tokenizer", file.pre_tokenizer),
        ("post_processor", file.post_processor),
        ("decoder", file.decoder),
    ];
    let named = steps.into_iter().filter(|(_, step)| !step.0.is_empty());
    // Files of the first versions do not say what they are.
    let is_scored = file.model.vocab.0.first().is_some_and(|token| token.score.is_some());
    let guessed = || match (is_scored, file.model.merges.is_empty()) {
        (true, _) => "Unigram".to_owned(),
        (false, false) => "BPE".to_owned(),
        (false, true) => "WordLevel".to_owned(),
    };
    Ok(Tokenizer {
        kind: Some(file.model.kind.clone().unwrap_or_else(guessed)),
        tokens: file.model.vocab.0,
        merges: file.model.merges.into_iter().map(|merge| (merge.0, merge.1)).collect(),
        added: file.added_tokens,
        steps: named.map(|(name, step)| (name.to_owned(), step.0)).collect(),
    })
}

/// The tokens of a `vocab.json`.
fn of_map(bytes: &[u8]) -> Result<Vec<Token>> {
    let vocab: Vocab =
        serde_json::from_slice(bytes).map_err(|error| Error::malformed(format!("vocab.json: {error}")))?;
    Ok(vocab.0)
}

/// The tokens of a `vocab.txt`: one a line.
fn of_lines(bytes: &[u8]) -> Vec<Token> {
    let text = String::from_utf8_lossy(bytes);
    let line = |(n, line): (usize, &str)| Token { id: n as i64, text: line.to_owned(), ..Token::default() };
    text.lines().enumerate().map(line).collect()
}

/// The merges of a `merges.txt`: two tokens a line, after a line that says the version.
fn of_merges(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate().filter(|(n, line)| !(*n == 0 && line.starts_with("#version")));
    let merge = |(_, line): (usize, &str)| {
        line.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned()))
    };
    lines.filter_map(merge).collect()
}

/// The tokens of tiktoken's ranks: Base64 of the bytes and the rank, one a line. What is no text is shown as bytes.
fn of_ranks(bytes: &[u8]) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    for (n, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let wrong = || Error::malformed(format!("ranks: line {} is no token with its rank", n + 1));
        let text = std::str::from_utf8(line).map_err(|_| wrong())?;
        let (token, rank) = text.split_once(' ').ok_or_else(wrong)?;
        let token = base64::engine::general_purpose::STANDARD.decode(token).map_err(|_| wrong())?;
        let id = rank.trim().parse().map_err(|_| wrong())?;
        let text = String::from_utf8(token).unwrap_or_else(|error| crate::data::cell::hex(error.as_bytes()));
        tokens.push(Token { id, text, ..Token::default() });
    }
    Ok(tokens)
}
