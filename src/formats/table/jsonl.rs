//! JSON Lines: one JSON value a line (<https://jsonlines.org/>, <https://github.com/ndjson/ndjson-spec>).
//!
//! Objects become rows of named columns, other values a column `value`. Columns and types are read
//! off a sample — the beginning, and some places all over a long file — and never enforced: scalars are
//! delivered as their text, objects and lists as the JSON that stands in the file, and the type that they fit
//! is the field's metadata. What has no column — fields that come up elsewhere, lines that are no JSON —
//! stands in a last column `…`. Lines that are no JSON are counted as they are met. CR ends lines where what
//! stands before it is JSON for itself.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Growth, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, Target};
use crate::data::json::token as text;
use crate::data::node::{Findings, Node};
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::{Ends, Paged, Rules, TextTable, encoding};
use crate::engines::json::late_fields::LateFields;
use crate::engines::json::record::{self, Columns, Parsed, REST, Sample};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    targets: &[Target::new(
        "jsonl",
        "JSON Lines",
        &["jsonl", "ndjson", "jsonl.gz", "ndjson.gz", "jsonl.zst", "ndjson.zst"],
        &crate::engines::json::write::WRITER,
    )],
    extensions: &["jsonl", "ndjson", "jsonlines"],
    mime: &["application/jsonl", "application/x-ndjson"],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("jsonl", "JSON Lines", open)
};

/// Bytes of the beginning that are looked at.
const HEAD: usize = 512 << 10;
/// The most, where the first lines are very long.
const HEAD_MOST: usize = 32 << 20;
/// Bytes that are looked at in each of so many other places, the last of them at the end.
const PLACE: u64 = 64 << 10;
const PLACES: u64 = 4;

/// Pieces between CRs that tell whether these end lines.
const VOTES: usize = 100;

/// Whether a line holds nothing but white space.
fn is_blank(line: &[u8]) -> bool {
    text::space(line) == line.len()
}

fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() || !encoding::is_plausible(&head.first) {
        return Match::No;
    }
    let begins = head.first.iter().find(|b| !b.is_ascii_whitespace());
    if head.has_extension(FORMAT.extensions) {
        // Any JSON value may stand on a line; a table of commas would begin otherwise.
        return if begins.is_some() { Match::Yes } else { Match::No };
    }
    if begins != Some(&b'{') {
        return Match::No;
    }
    // Two lines that are objects, whole each: no other format looks like that.
    let ends = ends(&head.first);
    let mut lines = ends.split(&head.first).filter(|l| !is_blank(l));
    let mut is_object = || {
        lines.next().is_some_and(|l| is_ended(ends, l) && matches!(record::parse(l), Ok(Parsed::Object(_))))
    };
    if is_object() && is_object() { Match::Yes } else { Match::No }
}

/// Whether a line is there up to its end.
fn is_ended(ends: Ends, line: &[u8]) -> bool {
    line.last().is_some_and(|byte| ends.contains(*byte))
}

/// What ends the lines of `bytes`. A CR is white space within a JSON value, so that one without an LF ends a line
/// only if the pieces between are values themselves.
fn ends(bytes: &[u8]) -> Ends {
    let (mut pieces, mut values) = (0, 0);
    for line in Ends::LineFeed.split(bytes) {
        let text = Ends::Any.strip(line);
        if !text.contains(&b'\r') {
            continue;
        }
        for piece in Ends::Any.split(text).filter(|piece| !is_blank(piece)).take(VOTES) {
            pieces += 1;
            values += usize::from(record::parse(piece).is_ok());
        }
        if pieces >= VOTES {
            break;
        }
    }
    if values * 2 > pieces { Ends::Any } else { Ends::LineFeed }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let first = source.read_up_to(task, 0, 64)?;
    let mut detected = encoding::detect(&first);
    if detected.mark == 0 && !detected.encoding.is_wide() {
        // JSON is UTF-8 where no mark says otherwise (RFC 8259, section 8.1).
        detected.encoding = encoding_rs::UTF_8.into();
    }
    let (view, start, _) = encoding::ascii_view(source, detected)?;
    let mut size = HEAD;
    let (bytes, whole, ends) = loop {
        let bytes = view.read_up_to(task, start, size)?;
        let whole = bytes.len() < size;
        let ends = ends(&bytes);
        if whole || size >= HEAD_MOST || ends.split(&bytes).nth(10).is_some() {
            break (bytes, whole, ends);
        }
        size *= 8;
    };
    let (mut sample, spaces) = take(&bytes, whole, ends);
    let seen = start + bytes.len() as u64;
    let foreign = detected.encoding != encoding_rs::UTF_8.into();
    let met = Arc::new(LateFields::new(if whole { u64::MAX } else { start + sample.bytes }, foreign));
    if !whole {
        look_around(opening.task, &view, seen, ends, &mut sample, &met)?;
    }
    sample.end();
    let rules = Rules { ends, quote: None, delimiter: 0, padded: false, runs: false, blanks: false, spaces };
    let rows = Paged::new(view, rules, start, 0, sample.row_bytes(), sample.rows());
    let table = TextTable::new(rows, Columns::new(rules, &sample, met.clone()));
    if whole {
        table.count(task)?;
    }
    let mut node = Node::new(source.name(), "table");
    if foreign {
        node = node.read_as("encoding", detected.encoding.name());
    }
    node.remarks = remarks(&sample);
    Ok(node.content(Content::Table(Arc::new(table))).findings(Arc::new(LateFieldRemarks(met))))
}

/// What rows tell when they are read.
struct LateFieldRemarks(Arc<LateFields>);

impl Findings for LateFieldRemarks {
    /// A line that is no JSON hides nothing.
    fn problem(&self) -> Option<Error> {
        None
    }

    fn remarks(&self) -> Vec<String> {
        self.0.remarks("line")
    }
}

/// Adds lines from some places behind byte `from` to a sample: fields and types that come up late.
fn look_around(
    task: &Task,
    view: &Source,
    from: u64,
    ends: Ends,
    sample: &mut Sample,
    met: &LateFields,
) -> Result<()> {
    let Some(len) = view.known_len().filter(|_| view.is_random_access()) else { return Ok(()) };
    let rest = len.saturating_sub(from);
    for n in 1..=PLACES {
        let at = (from + (u128::from(rest) * u128::from(n) / u128::from(PLACES)) as u64)
            .saturating_sub(PLACE)
            .max(from);
        let bytes = view.read_up_to(task, at, PLACE as usize)?;
        let at_end = at + bytes.len() as u64 >= len;
        // The first line has begun before.
        let Some(first) = ends.find(&bytes) else { continue };
        let mut place = first + 1;
        for line in ends.split(bytes.get(place..).unwrap_or_default()) {
            if (is_ended(ends, line) || at_end) && !is_blank(line) {
                sample.see_at(ends.strip(line), at + place as u64, met);
            }
            place += line.len();
        }
    }
    Ok(())
}

fn remarks(sample: &Sample) -> Vec<String> {
    let mut remarks = Vec::new();
    let among = if sample.whole { "" } else { " of the first ones" };
    if !sample.whole {
        let lines = display::plural(sample.rows(), "line");
        remarks.push(format!(
            "the columns and their types are those of a sample of {lines}; other fields stand in the column {REST}"
        ));
    }
    if let Some((line, error)) = &sample.first_bad {
        let lines = display::plural(sample.bad, "line");
        remarks.push(format!("{lines}{among} cannot be read as JSON; the first is line {line}: {error}"));
    }
    if sample.bad == 0 && sample.others > 0 && sample.objects > 0 {
        let lines = display::plural(sample.others, "line");
        remarks.push(format!("{lines} without an object; their values stand in the column {REST}"));
    }
    remarks.extend(sample.twice_remark("line", among));
    remarks.extend(sample.mixed_remark(among));
    remarks
}

/// What the first lines tell before [`Sample::end`], and whether there is one of nothing but spaces.
fn take(bytes: &[u8], whole: bool, ends: Ends) -> (Sample, bool) {
    let (mut sample, mut spaces) = (Sample { whole, ..Sample::default() }, false);
    for (n, text) in ends.split(bytes).enumerate() {
        if !is_ended(ends, text) && !whole && n > 0 {
            break;
        }
        if is_blank(text) {
            spaces |= !matches!(text, b"\n" | b"\r\n" | b"\r" | b"");
            continue;
        }
        sample.see(ends.strip(text), n as u64 + 1);
    }
    (sample, spaces)
}

#[cfg(test)]
mod tests;
