//! The document of a model in JSON or UBJSON: an object `learner` with the booster, the objective, names of features, and the
//! `version`. All that is small is read; where the trees begin is noted. Their end is looked for in small files only: of a
//! large one what follows the trees is found from the end of the file.

use super::model::{Model, Weights};
use super::tree::{Place, XgbTrees};
use super::{Syntax, text};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::DType;
use crate::engines::records::Window;
use crate::engines::ubjson;
use serde_json::{Map, Value};

/// A file up to this many bytes is gone through when it is opened.
pub(super) const WHOLE: u64 = 8 << 20;
/// Bytes at the end of a large file in which what follows the trees is looked for.
const TAIL: u64 = 4 << 20;

/// Objects on the way to the trees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Learner,
    Booster,
    /// The booster of trees inside DART's.
    Inner,
    Model,
}

/// What was found.
#[derive(Default)]
struct Found {
    root: Map<String, Value>,
    learner: Map<String, Value>,
    booster: Map<String, Value>,
    model: Map<String, Value>,
    /// Where the first tree begins, and how many there are where that is said.
    trees: Option<(u64, Option<u64>)>,
    /// The weights of a linear model, where they lie together.
    weights: Option<ubjson::Numbers>,
}

/// Goes over a document.
struct Reader<'a> {
    window: Window<'a>,
    syntax: Syntax,
    is_large: bool,
    found: Found,
}

/// The model in a source.
///
/// # Errors
/// `Malformed` where there is no learner.
pub(super) fn open(task: &Task, source: &Source, syntax: Syntax) -> Result<Model> {
    open_within(task, source, syntax, WHOLE)
}

/// The same, where a file of more than `most` bytes is not gone through.
pub(super) fn open_within(task: &Task, source: &Source, syntax: Syntax, most: u64) -> Result<Model> {
    let is_large = source.known_len().is_none_or(|len| len > most);
    let mut reader = Reader { window: Window::new(task, source), syntax, is_large, found: Found::default() };
    let mut problem = None;
    match reader.object(0, Level::Root).unless_cancelled()? {
        Ok(Some(_)) => {}
        Ok(None) => problem = reader.tail(task, source)?,
        Err(error) if reader.found.trees.is_none() && reader.found.learner.is_empty() => return Err(error),
        Err(error) => problem = Some(error),
    }
    if reader.found.learner.is_empty() && reader.found.booster.is_empty() && reader.found.trees.is_none() {
        return Err(Error::malformed("model: it has no learner"));
    }
    Ok(made(source, syntax, reader.found, problem))
}

impl Reader<'_> {
    /// Reads the object at `at`; where it ends, or `None` where the trees were come to and are too many.
    fn object(&mut self, mut at: u64, level: Level) -> Result<Option<u64>> {
        let mut members = match self.syntax {
            Syntax::Ubjson => match ubjson::Members::of(&mut self.window, &mut at)? {
                Some(members) => members,
                None => return Err(Error::malformed("model: an object is expected").at(at)),
            },
            Syntax::Json => {
                at = text::space(&mut self.window, at)?;
                // A byte order mark may stand before it.
                if level == Level::Root && at == 0 && self.window.get(0, 3)? == b"\xef\xbb\xbf" {
                    at = 3;
                }
                if text::peek(&mut self.window, at)? != Some(b'{') {
                    return Err(Error::malformed("model: an object is expected").at(at));
                }
                at += 1;
                ubjson::Members::within()
            }
        };
        while let Some(name) = self.next(&mut members, &mut at)? {
            match self.member(&name, at, level)? {
                Some(end) => at = end,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn next(&mut self, members: &mut ubjson::Members, at: &mut u64) -> Result<Option<String>> {
        match self.syntax {
            Syntax::Json => text::member(&mut self.window, at),
            Syntax::Ubjson => members.next(&mut self.window, at),
        }
    }

    /// Takes in a member whose value is at `at`; where that ends, `None` as [`Reader::object`].
    fn member(&mut self, name: &str, at: u64, level: Level) -> Result<Option<u64>> {
        let below = match (level, name) {
            (Level::Root, "learner") => Level::Learner,
            (Level::Learner, "gradient_booster") => Level::Booster,
            (Level::Booster, "gbtree") => Level::Inner,
            (Level::Booster | Level::Inner, "model") => Level::Model,
            (Level::Model, "trees") => return self.trees(at),
            (Level::Model, "weights") if self.syntax == Syntax::Ubjson => {
                self.found.weights = ubjson::array(&mut self.window, at)?;
                return match self.found.weights {
                    Some(_) => ubjson::skip(&mut self.window, at).map(Some),
                    None => self.value(name, at, level).map(Some),
                };
            }
            _ => return self.value(name, at, level).map(Some),
        };
        self.object(at, below)
    }

    /// Takes in a plain member.
    fn value(&mut self, name: &str, at: u64, level: Level) -> Result<u64> {
        let (value, end) = match self.syntax {
            Syntax::Json => text::value(&mut self.window, at)?,
            Syntax::Ubjson => ubjson::value(&mut self.window, at)?,
        };
        let map = match level {
            Level::Root => &mut self.found.root,
            Level::Learner => &mut self.found.learner,
            Level::Booster => &mut self.found.booster,
            // DART's own name is the booster's.
            Level::Inner => return Ok(end),
            Level::Model => &mut self.found.model,
        };
        map.insert(name.to_owned(), value);
        Ok(end)
    }

    /// Notes where the trees begin.
    fn trees(&mut self, at: u64) -> Result<Option<u64>> {
        let first = match self.syntax {
            Syntax::Ubjson => ubjson::elements(&mut self.window, at)?,
            Syntax::Json if text::peek(&mut self.window, at)? == Some(b'[') => Some((at + 1, None)),
            Syntax::Json => None,
        };
        self.found.trees = first;
        if first.is_some() && self.is_large {
            return Ok(None);
        }
        match self.syntax {
            Syntax::Json => text::skip(&mut self.window, at).map(Some),
            Syntax::Ubjson => ubjson::skip(&mut self.window, at).map(Some),
        }
    }

    /// Reads what stands behind the trees of a large model, from the end of the file; a problem where that is not found.
    fn tail(&mut self, task: &Task, source: &Source) -> Result<Option<Error>> {
        let lost = || Error::malformed("model: what follows the trees is not found at the end of the file");
        let Some(len) = source.known_len().filter(|_| source.is_random_access()) else { return Ok(None) };
        let start = len.saturating_sub(TAIL).max(self.found.trees.map_or(0, |(at, _)| at));
        let bytes = source.read(task, start..len)?;
        if let Some(at) = self.named(&bytes, "weight_drop", start)? {
            self.value("weight_drop", at, Level::Booster)?;
            self.found.booster.insert("name".to_owned(), "dart".into());
        }
        let Some(at) = self.named(&bytes, "learner_model_param", start)? else { return Ok(Some(lost())) };
        let read = self.rest(at);
        Ok(read.unless_cancelled()?.err())
    }

    /// The learner's members from the value at `at` on, and the root's.
    fn rest(&mut self, at: u64) -> Result<()> {
        let mut at = self.value("learner_model_param", at, Level::Learner)?;
        for level in [Level::Learner, Level::Root] {
            let mut members = ubjson::Members::within();
            while let Some(name) = self.next(&mut members, &mut at)? {
                at = self.value(&name, at, level)?;
            }
        }
        Ok(())
    }

    /// Where the value of the last member of this name begins in the end of the file, which begins at `start`.
    fn named(&mut self, bytes: &[u8], name: &str, start: u64) -> Result<Option<u64>> {
        let Some(at) = memchr::memmem::rfind(bytes, name.as_bytes()) else { return Ok(None) };
        let behind = start + (at + name.len()) as u64;
        if self.syntax == Syntax::Ubjson {
            let count = name.len() as u8;
            let before = bytes.get(..at).unwrap_or_default();
            let is_name = before.ends_with(&[b'i', count])
                || before.ends_with(&[b'U', count])
                || before.ends_with(&[b'L', 0, 0, 0, 0, 0, 0, 0, count]);
            return Ok(is_name.then_some(behind));
        }
        let colon = text::space(&mut self.window, behind + 1)?;
        let is_name = text::peek(&mut self.window, colon)? == Some(b':');
        if is_name { text::space(&mut self.window, colon + 1).map(Some) } else { Ok(None) }
    }
}

/// The model of what was found.
fn made(source: &Source, syntax: Syntax, mut found: Found, problem: Option<Error>) -> Model {
    let numbers = |value: Option<Value>| -> Vec<f64> {
        let list = value.and_then(|value| value.as_array().cloned()).unwrap_or_default();
        list.iter().map(|item| item.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let texts = |value: Option<Value>| -> Vec<String> {
        let text = |item: Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        value.and_then(|value| value.as_array().cloned()).unwrap_or_default().into_iter().map(text).collect()
    };
    let groups: Vec<i64> =
        numbers(found.model.remove("tree_info")).into_iter().map(|group| group as i64).collect();
    let weights = match found.weights {
        Some(numbers) => Some(Weights::Placed(numbers)),
        None => found.model.remove("weights").map(|value| Weights::Read(numbers(Some(value)), DType::F32)),
    };
    let promised = found.model.get("gbtree_model_param").and_then(|param| integer(param.get("num_trees")?));
    let count = found.trees.and_then(|(_, count)| count).or(promised);
    let version = found.root.remove("version").map(|version| {
        let parts = numbers(Some(version));
        parts.iter().map(|part| part.to_string()).collect::<Vec<_>>().join(".")
    });
    let drop = numbers(found.booster.remove("weight_drop"));
    Model {
        source: source.clone(),
        names: texts(found.learner.remove("feature_names")),
        types: texts(found.learner.remove("feature_types")),
        version,
        trees: found.trees.map(|(at, _)| (at, count, XgbTrees::place(syntax))),
        groups,
        weight_drop: drop,
        weights,
        learner: found.learner,
        booster: found.booster,
        model: found.model,
        remarks: Vec::new(),
        problem,
    }
}

/// A whole number that may be a text: XGBoost writes parameters as such.
pub(super) fn integer(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

impl XgbTrees {
    /// How trees in a document are found.
    fn place(syntax: Syntax) -> Place {
        match syntax {
            Syntax::Json => Place::Json,
            Syntax::Ubjson => Place::Ubjson,
        }
    }
}
