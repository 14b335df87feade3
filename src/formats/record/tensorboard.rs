//! TensorBoard's event files (`events.out.tfevents.*`): what one writer reported of a training run.
//! <https://github.com/tensorflow/tensorboard/blob/master/docs/design/README.md>. The messages and tables are made in
//! [`crate::engines::tfevents`]; a folder with such files is a training run, which is another format.

use crate::bytes::error::Result;
use crate::bytes::source::Growth;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::records::tfrecord::{self, HEAD};
use crate::engines::tfevents;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["tfevents"],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table, Kind::Array, Kind::Image, Kind::Bytes],
    ..Format::new("tensorboard", "TensorBoard event file", open)
};

/// A record that is an event; where the first one is damaged, the name and what begins no text.
fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    if tfevents::begins(&head.first) {
        return Match::Yes;
    }
    let is_named = tfevents::is_event_file(&head.name) && !head.first.is_empty() && !head.is_text();
    // What is compressed is a file of its own.
    let is_framed = tfrecord::length(&head.first).is_some() || head.first.get(HEAD) == Some(&0x09);
    if is_named && (is_framed || head.first.len() < HEAD) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    tfevents::run(task, crate::formats::ALL, Node::new(source.name(), "run"), vec![source.clone()])
}
