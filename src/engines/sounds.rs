//! Sounds that are decoded packet by packet ([`packets`]), whatever file they are in; what an array says that is a sound.

mod flac32;
mod opus;
mod packets;

pub use packets::{TrackHints, node, refused, track};

use crate::data::content::ArrayFacts;
use crate::data::content::array::{Axis, Sound};

/// The facts of an array that is a sound.
pub fn facts(sound: &Sound) -> ArrayFacts {
    let step = (sound.rate > 0).then(|| (0.0, 1.0 / f64::from(sound.rate)));
    let time = Axis {
        name: "time".to_owned(),
        unit: step.map(|_| "s".to_owned()),
        regular: step,
        ..Axis::default()
    };
    let channel = Axis { name: "channel".to_owned(), ..Axis::default() };
    ArrayFacts { axes: vec![time, channel], sound: Some(sound.clone()), ..ArrayFacts::default() }
}
