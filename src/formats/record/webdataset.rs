//! WebDataset: training sets as tar archives. Members whose names are equal up to the first dot of the last part are one
//! sample; what follows that dot is the name of a field. <https://github.com/webdataset/webdataset>; how names are split and
//! which members are passed by is that of `tariterators.py` there.
//!
//! Nothing says that a tar is one. It is taken for one by how its first members group: most keys have several fields, or
//! all of them the same one, of the kinds that payloads have. With `format=tar` it opens as an archive, and any tar as a
//! data set with `format=webdataset`.
//!
//! The library takes members of one key only as long as they follow each other. Archives whose members are in another order
//! are put together by key here, and that is said. Fields are columns, found in the first samples and in some from all
//! over the file.

mod member;
mod samples;
mod set;
mod survey;
mod table;
#[cfg(test)]
mod tests;

use crate::bytes::archive::tar;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Growth;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::records::container::{self, Container};
use crate::engines::samples::webdataset::WRITER;
use samples::Shard;
use std::sync::Arc;
use survey::Survey;
use table::{Form, SampleTable};

pub use set::SET;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["tar"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Image, Kind::Array, Kind::Text, Kind::Bytes],
    targets: &[Target::new("webdataset", "WebDataset", &["tar", "tar.gz", "tgz", "tar.zst"], &WRITER)],
    ..Format::new("webdataset", "WebDataset", open)
};

/// Samples that are looked for when an archive is opened.
const EAGER: u64 = 256;

/// The first block is a header of a tar.
fn sniff(head: &Head) -> Match {
    let Some(first) = head.first.get(..512).filter(|_| !head.is_folder) else { return Match::No };
    let is_tar = tar::has_magic(first) || first.first() != Some(&0) && tar::has_good_checksum(first);
    if is_tar { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let survey = Survey::of(task, source)?;
    let is_asked = opening.options.get("format") == Some(FORMAT.id);
    let is_one = survey.is_dataset() || is_asked && survey.has_samples();
    if !is_one {
        return Err(Error::other_format(""));
    }
    let shard = Arc::new(Shard::new(source.clone(), survey.apart()));
    match survey.apart() {
        // All of it was seen already.
        Some(_) if survey.complete => drop(shard.measure(task)?),
        _ => shard.begin(task, EAGER)?,
    }
    let form = Arc::new(Form::new(&survey));
    let mut node =
        Node::new(source.name(), "file").read_as("fields", survey.names().collect::<Vec<_>>().join(", "));
    if survey.apart().is_some() {
        node = node.remark(
            "the members of a sample do not follow each other: they are put together by their keys here; \
             the library webdataset takes them for several samples",
        );
    }
    let table = SampleTable { shard: shard.clone(), form };
    let node = node.content(Content::Table(Arc::new(table)));
    Ok(container::node(node, &shard))
}
