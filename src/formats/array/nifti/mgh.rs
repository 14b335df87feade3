//! FreeSurfer's MGH: a big-endian header of 284 bytes, the values, and a footer of scan parameters.

use super::Values;
use super::affine::Affine;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::data::content::ArrayFacts;
use crate::data::content::array::Axis;
use crate::data::dtype::DType;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use serde_json::json;

/// Where the values begin.
const DATA: usize = 284;
/// Where the unused part of the header begins.
const UNUSED: usize = 90;

struct Header {
    /// Width, height, depth, frames.
    sides: [u64; 4],
    kind: u32,
    /// Whether the place in space is given.
    placed: bool,
    delta: [f64; 3],
    /// The directions of the three axes, one after the other, and the place of the middle.
    space: [f64; 12],
}

fn float(bytes: &[u8], at: usize) -> f64 {
    let value = be::<f32>(bytes, at).unwrap_or(0.0);
    crate::data::cell::float32(value).parse().unwrap_or(f64::NAN)
}

fn parse(bytes: &[u8]) -> Option<Header> {
    if bytes.len() < DATA || be::<u32>(bytes, 0)? != 1 || bytes.get(UNUSED..DATA)?.iter().any(|b| *b != 0) {
        return None;
    }
    let side =
        |n: usize| be::<u32>(bytes, 4 + 4 * n).filter(|side| (1..1 << 31).contains(side)).map(u64::from);
    let kind = be::<u32>(bytes, 20).filter(|kind| dtype(*kind).is_some())?;
    let placed = match bytes.get(28..30)? {
        [0, 0] => false,
        [0, 1] => true,
        _ => return None,
    };
    let delta = [0, 1, 2].map(|n| if placed { float(bytes, 30 + 4 * n) } else { 1.0 });
    // As nibabel.
    let mut space = [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0];
    if placed {
        space = std::array::from_fn(|n| float(bytes, 42 + 4 * n));
    }
    Some(Header { sides: [side(0)?, side(1)?, side(2)?, side(3)?], kind, placed, delta, space })
}

fn dtype(kind: u32) -> Option<DType> {
    Some(match kind {
        0 => DType::U8,
        1 => DType::I32,
        3 => DType::F32,
        4 => DType::I16,
        10 => DType::U16,
        _ => return None,
    })
}

/// There is no magic: a version, sides that make sense, and zeros where nothing is.
pub(super) fn sniff(head: &Head) -> Match {
    if parse(&head.first).is_some() { Match::Yes } else { Match::No }
}

pub(super) fn open(opening: &Opening) -> Result<Node> {
    let Some(header) = parse(&opening.head.first) else {
        return Err(Error::malformed("header: it is none of FreeSurfer's MGH"));
    };
    let dtype = dtype(header.kind).ok_or_else(|| Error::bug("a type that was known is not"))?;
    let mut shape = header.sides.to_vec();
    if header.sides[3] == 1 {
        shape.pop();
    }
    let affine = header.affine();
    let headings = affine.headings();
    let mut node = Node::new("", "volume")
        .attribute("zooms", json!(header.delta))
        .attribute("affine", json!(affine.rows()))
        .attribute("affine from", if header.placed { "header" } else { "FreeSurfer's usual directions" });
    let end = limits::bytes(&shape, dtype.size())?.checked_add(DATA as u64);
    if let Some(end) = end.filter(|_| opening.source.is_random_access()) {
        let footer = opening.source.read_up_to(opening.task, end, 20)?;
        for (n, name) in ["TR", "flip angle", "TE", "TI", "field of view"].into_iter().enumerate() {
            if footer.len() >= 4 * n + 4 && float(&footer, 4 * n) != 0.0 {
                node = node.attribute(name, json!(float(&footer, 4 * n)));
            }
        }
    }
    let axis = |n: usize| {
        let along = (n < 3).then(|| affine.along(n)).flatten();
        let (names, place) = along.map_or((["i", "j", "k", "t"], n), |(d, ..)| (["x", "y", "z", "z"], d));
        let name = names.get(place).copied().unwrap_or_default();
        let step = header.delta.get(n).copied().filter(|step| *step != 0.0);
        Axis {
            name: name.to_owned(),
            unit: (n < 3).then(|| "mm".to_owned()),
            regular: along.map(|(_, start, step)| (start, step)).or(step.map(|step| (0.0, step))),
            heading: headings.get(n).copied().flatten(),
            ..Axis::default()
        }
    };
    let facts = ArrayFacts { axes: (0..shape.len()).map(axis).collect(), ..ArrayFacts::default() };
    let values = Values { offset: DATA as u64, dtype, shape, big: true };
    values.fill(opening.source, facts, &mut node)?;
    Ok(node)
}

impl Header {
    /// The middle voxel lies at the given place.
    fn affine(&self) -> Affine {
        let [xr, xa, xs, yr, ya, ys, zr, za, zs, cr, ca, cs] = self.space;
        let [i, j, k] = self.delta;
        let row = |x: f64, y: f64, z: f64, centre: f64| {
            let steps = [x * i, y * j, z * k];
            let halves = self.sides.iter().map(|side| *side as f64 / 2.0);
            let middle: f64 = steps.iter().zip(halves).map(|(step, half)| step * half).sum();
            [steps[0], steps[1], steps[2], centre - middle]
        };
        Affine([row(xr, yr, zr, cr), row(xa, ya, za, ca), row(xs, ys, zs, cs)])
    }
}
