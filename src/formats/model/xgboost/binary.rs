//! The binary format of XGBoost before version 3.1: the structures of the library as they lay in memory, little-endian.
//! Four letters `binf` may stand first; then parameters of 136 bytes, the names of the objective and of the booster, and the
//! booster itself. A tree is its parameters (148 bytes), its nodes (20 bytes each) and their statistics (16 bytes each).
//! Names of features are not in it. The layout is that of `LearnerModelParamLegacy`, `GBTreeModelParam`, `TreeParam`,
//! `RegTree::Node` and `RTreeNodeStat` in <https://github.com/dmlc/xgboost/tree/release_2.1.0/src>.

use super::model::{Model, Weights};
use super::tree::{Nodes, Place, integers};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::DType;
use crate::engines::records::Window;
use crate::engines::ubjson;
use serde_json::{Map, Value};
use std::ops::Range;

const MARK: &[u8] = b"binf";
const LEARNER: u64 = 136;
const GBTREE: u64 = 160;
const GBLINEAR: u64 = 136;
const TREE: u64 = 148;
const NODE: u64 = 20;
const STATS: u64 = 16;
/// The longest text.
const TEXT: u64 = 16 << 20;
/// The most attributes.
const ATTRIBUTES: u64 = 1 << 16;

/// Whether a file that begins so is a model: parameters that can be, and the names of an objective and a booster.
pub(super) fn is_one(first: &[u8]) -> bool {
    let bytes = first.strip_prefix(MARK).unwrap_or(first);
    let flag = |at: usize| le::<u32>(bytes, at).is_some_and(|flag| flag <= 1);
    let name = |at: usize| -> Option<(&[u8], usize)> {
        let len = usize::try_from(le::<u64>(bytes, at)?).ok().filter(|len| (1..=64).contains(len))?;
        Some((bytes.get(at + 8..at + 8 + len)?, at + 8 + len))
    };
    let names = || {
        let (objective, at) = name(LEARNER as usize)?;
        let is_name = objective.iter().all(|byte| byte.is_ascii_alphanumeric() || b":_".contains(byte));
        let (booster, _) = name(at)?;
        Some(is_name && [&b"gbtree"[..], b"gblinear", b"dart"].contains(&booster))
    };
    le::<f32>(bytes, 0).is_some_and(f32::is_finite) && flag(12) && flag(16) && names() == Some(true)
}

/// Goes over a file.
struct Cursor<'a> {
    window: Window<'a>,
    at: u64,
}

impl Cursor<'_> {
    fn take(&mut self, len: u64, what: &str) -> Result<Vec<u8>> {
        let size = limits::check(len, TEXT, what)?;
        let bytes = self.window.get(self.at, size)?.to_vec();
        if bytes.len() < size {
            return Err(Error::malformed(format!("{what}: the file ends inside of it")).at(self.at));
        }
        self.at += len;
        Ok(bytes)
    }

    fn length(&mut self, what: &str) -> Result<u64> {
        let bytes = self.take(8, what)?;
        Ok(le(&bytes, 0).unwrap_or(0))
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let len = self.length(what)?;
        Ok(String::from_utf8_lossy(&self.take(len, what)?).into_owned())
    }

    /// Steps over `len` bytes, which must be there; where they begin.
    fn pass(&mut self, len: u64, what: &str) -> Result<u64> {
        let ends = || Error::malformed(format!("{what}: the file ends inside of it")).at(self.at);
        let end = self.at.checked_add(len).ok_or_else(ends)?;
        if self.window.known_len().is_some_and(|known| end > known) {
            return Err(ends());
        }
        Ok(std::mem::replace(&mut self.at, end))
    }
}

/// The model in a source.
///
/// # Errors
/// `Malformed` where the parameters are not whole.
pub(super) fn open(task: &Task, source: &Source) -> Result<Model> {
    let mut cursor = Cursor { window: Window::new(task, source), at: 0 };
    if cursor.window.get(0, MARK.len())? == MARK {
        cursor.at = MARK.len() as u64;
    }
    let param = cursor.take(LEARNER, "parameters")?;
    let (objective, booster) = (cursor.text("objective")?, cursor.text("booster")?);
    let number = |at: usize| le::<u32>(&param, at).unwrap_or(0);
    let mut model = Model::empty(source);
    let base = le::<f32>(&param, 0).unwrap_or(0.0);
    let (major, minor) = (number(20), number(24));
    model.version = (major > 0).then(|| format!("{major}.{minor}"));
    let params = [
        ("base_score", crate::data::cell::float32(base)),
        ("num_feature", number(4).to_string()),
        ("num_class", number(8).to_string()),
        ("num_target", number(28).max(1).to_string()),
    ];
    let params: Map<String, Value> =
        params.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    model.learner.insert("learner_model_param".to_owned(), params.into());
    model.learner.insert("objective".to_owned(), serde_json::json!({ "name": objective }));
    model.booster.insert("name".to_owned(), booster.as_str().into());
    let read = body(&mut cursor, &booster, number(12) == 1, &mut model);
    model.problem = read.unless_cancelled()?.err();
    Ok(model)
}

/// Reads the booster and what stands behind it.
fn body(cursor: &mut Cursor, booster: &str, has_attributes: bool, model: &mut Model) -> Result<()> {
    if booster == "gblinear" {
        let param = cursor.take(GBLINEAR, "linear model")?;
        let outputs = le::<i32>(&param, 4).unwrap_or(1).max(1).cast_unsigned();
        let count = cursor.length("weights")?;
        let start = cursor.pass(count.saturating_mul(4), "weights")?;
        model.model.insert("num_output_group".to_owned(), outputs.into());
        model.weights = Some(Weights::Little(ubjson::Numbers { dtype: DType::F32, start, count }));
    } else {
        trees(cursor, booster == "dart", model)?;
    }
    if has_attributes {
        let count = cursor.length("attributes")?;
        if count > ATTRIBUTES {
            return Err(
                Error::limit(format!("{count} attributes; up to {ATTRIBUTES} are read")).at(cursor.at)
            );
        }
        let mut attributes = Map::new();
        for _ in 0..count {
            let name = cursor.text("attribute")?;
            let value = cursor.text("attribute")?;
            if name == "objective" && value.starts_with('{') {
                // Since version 1.0 the objective's parameters stand here.
                if let Ok(parsed) = serde_json::from_str(&value) {
                    model.learner.insert(name, parsed);
                    continue;
                }
            }
            attributes.insert(name, value.into());
        }
        model.learner.insert("attributes".to_owned(), attributes.into());
    }
    Ok(())
}

fn trees(cursor: &mut Cursor, is_dart: bool, model: &mut Model) -> Result<()> {
    let param = cursor.take(GBTREE, "booster")?;
    let count = le::<i32>(&param, 0).unwrap_or(0);
    let count =
        u64::try_from(count).map_err(|_| Error::malformed(format!("booster: it has {count} trees")))?;
    let parallel = le::<i32>(&param, 4).unwrap_or(0).to_string();
    model.model.insert(
        "gbtree_model_param".to_owned(),
        serde_json::json!({
            "num_trees": count.to_string(), "num_parallel_tree": parallel,
        }),
    );
    let start = cursor.at;
    model.trees = Some((start, Some(count), Place::Binary(start)));
    for n in 0..count {
        if n % 1024 == 0 {
            cursor.window.task.check()?;
        }
        let found = next(&mut cursor.window, cursor.at, u64::MAX)?;
        let Some((span, _)) = found else { return Err(Error::bug("trees without an end")) };
        cursor.at = span.end;
        model.trees = Some((start, Some(count), Place::Binary(cursor.at)));
    }
    let bytes = cursor.take(count.saturating_mul(4), "the trees' outputs")?;
    model.groups = integers(&bytes, 0, 4, bytes.len() / 4);
    if is_dart && count > 0 {
        let len = cursor.length("the trees' weights")?;
        let bytes = cursor.take(len.saturating_mul(4), "the trees' weights")?;
        model.weight_drop = bytes.chunks_exact(4).filter_map(|x| le::<f32>(x, 0)).map(f64::from).collect();
    }
    Ok(())
}

/// The tree at `at` and its rows; none at `end`.
///
/// # Errors
/// `Malformed` where it is not whole.
pub(super) fn next(window: &mut Window, at: u64, end: u64) -> Result<Option<(Range<u64>, u64)>> {
    if at >= end {
        return Ok(None);
    }
    let param = window.get(at, TREE as usize)?;
    let number = |place: usize| le::<i32>(param, place).map(i64::from);
    let cut = || Error::malformed("tree: the file ends inside of it").at(at);
    let (nodes, deleted, width) =
        (number(4).ok_or_else(cut)?, number(8).ok_or_else(cut)?, number(20).ok_or_else(cut)?);
    let wrong = || Error::malformed(format!("tree: {nodes} nodes, {deleted} of them deleted")).at(at);
    let rows = u64::try_from(nodes - deleted).ok().filter(|rows| *rows > 0).ok_or_else(wrong)?;
    if deleted < 0 {
        return Err(wrong());
    }
    let mut behind = at + TREE + nodes.cast_unsigned() * (NODE + STATS);
    if width > 1 {
        let count = le::<u64>(window.get(behind, 8)?, 0).ok_or_else(cut)?;
        behind = count.checked_mul(4).and_then(|bytes| behind.checked_add(8 + bytes)).ok_or_else(cut)?;
    }
    if window.known_len().is_some_and(|len| behind > len) {
        return Err(cut());
    }
    Ok(Some((at..behind, rows)))
}

/// The nodes of a tree of these bytes.
pub(super) fn nodes(bytes: &[u8]) -> Result<Nodes> {
    let count = le::<i32>(bytes, 4).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let (first, stats) = (TREE as usize, TREE as usize + count.saturating_mul(NODE as usize));
    if bytes.len() < stats.saturating_add(count.saturating_mul(STATS as usize)) {
        return Err(Error::malformed("tree: its nodes are not all there"));
    }
    let floats = |start: usize, step: usize| -> Vec<f32> {
        (0..count).filter_map(|n| le::<f32>(bytes, start + n * step)).collect()
    };
    let node = NODE as usize;
    // The highest bit says where missing values go.
    let index: Vec<i64> =
        integers(bytes, first + 12, node, count).into_iter().map(|n| n & 0xffff_ffff).collect();
    let behind = stats + count * STATS as usize + 8;
    Ok(Nodes {
        left: integers(bytes, first + 4, node, count),
        right: integers(bytes, first + 8, node, count),
        features: index.iter().map(|index| index & 0x7fff_ffff).collect(),
        defaults: index.iter().map(|index| index >> 31).collect(),
        value: floats(first + 16, node),
        gain: floats(stats, STATS as usize),
        cover: floats(stats + 4, STATS as usize),
        vectors: bytes
            .get(behind..)
            .unwrap_or_default()
            .chunks_exact(4)
            .filter_map(|x| le::<f32>(x, 0))
            .collect(),
        ..Nodes::default()
    })
}
