//! Sounds in MPEG-4 (ISO 14496-12): their chapters are those of a movie, a list or a track of texts that another names.

use crate::bytes::error::{Result, UnlessCancelled};
use crate::data::content::array::Chapter;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::boxes::find;
use crate::engines::isobmff::{self, movie::Movie};
use crate::engines::sounds::{self, TrackHints};

/// Opens it. Chapters that cannot be read are none: the sound is there without them.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let top = isobmff::top(task, source).unless_cancelled()?.unwrap_or_default();
    let movie = match find(&top, b"moov") {
        Some(moov) => Movie::read(task, source, moov).unless_cancelled()?.unwrap_or_default(),
        None => Movie::default(),
    };
    let known = TrackHints { chapters: Chapter::in_order(movie.chapters), ..TrackHints::default() };
    sounds::node(task, source, crate::formats::ALL, &known)
}
