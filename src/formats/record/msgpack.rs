//! MessagePack: JSON's values and a few more as bytes, one object or a stream of them.
//! <https://github.com/msgpack/msgpack/blob/master/spec.md>, with texts that are bytes as before there was a type for bytes.
//!
//! One object is a tree, whose containers are listed when somebody looks into them; a stream is a table where its objects
//! have keys in common. Arrays as Flax and msgpack-numpy write them are slices of the file. Nothing is decoded as a whole.

mod arrays;
mod objects;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Growth, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::msgpack::token::{self, Wrong};
use crate::engines::msgpack::{ObjectColumns, Token};
use crate::engines::records::Window;
use crate::engines::records::container::{self, Container, RecordTable};
use objects::Objects;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["msgpack", "mpk", "mp", "msgpk"],
    mime: &["application/vnd.msgpack", "application/msgpack"],
    sniff: Some(sniff),
    targets: &[Target::new("msgpack", "MessagePack", &["msgpack", "mpk"], &write::WRITER)],
    reads: &[Kind::Group, Kind::Table, Kind::Array, Kind::Text, Kind::Bytes],
    ..Format::new("msgpack", "MessagePack", open)
};

/// The descriptor of Flax's checkpoints.
pub static FLAX: Format = Format {
    extensions: &["msgpack"],
    sniff: Some(sniff_flax),
    reads: &[Kind::Group, Kind::Array],
    holds_weights: true,
    ..Format::new("flax", "Flax checkpoint (MessagePack)", open)
};

/// Values of the first object that are passed when the file is opened. What has more is taken for the only one.
const PASSED: u64 = 1 << 18;
/// A stream up to this many bytes is gone through when it is opened, so that what is wrong with it is said at once.
const CHECKED: u64 = 8 << 20;
/// Values that are sign enough where the end of a file without a telling name is not seen.
const MANY: u64 = 8;

/// What is seen of a head: whether all of it is values, how many, and how many of them stand at the top.
struct Seen {
    right: bool,
    whole: bool,
    values: u64,
    tops: u64,
}

/// Goes over the beginning of a file.
fn look(head: &Head, mut each: impl FnMut(Token, usize, &[u8])) -> Seen {
    let bytes = &head.first;
    let (mut at, mut open) = (0, Vec::new());
    let mut seen = Seen { right: true, whole: false, values: 0, tops: 0 };
    while at < bytes.len() {
        while open.last() == Some(&0_u64) {
            open.pop();
        }
        match open.last_mut() {
            Some(left) => *left -= 1,
            None => seen.tops += 1,
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let (found, length) = match token::token(rest) {
            Ok(found) => found,
            Err(wrong) => {
                seen.right = wrong == Wrong::Short && head.len != Some(bytes.len() as u64);
                return seen;
            }
        };
        let behind = (at + length) as u64;
        let need = found.body().max(found.values());
        if head.len.is_some_and(|len| need > len.saturating_sub(behind)) || open.len() > token::DEPTH {
            seen.right = false;
            return seen;
        }
        let body = rest.get(length..).unwrap_or_default();
        each(found, open.len(), body.get(..found.body() as usize).unwrap_or(body));
        seen.values += 1;
        if found.values() > 0 {
            open.push(found.values());
        }
        at = at.saturating_add(length).saturating_add(usize::try_from(found.body()).unwrap_or(usize::MAX));
    }
    seen.whole = at == bytes.len() && open.iter().all(|left| *left == 0);
    seen
}

fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() {
        return Match::No;
    }
    let (mut small, mut keys, mut is_top_map) = (0, 0, false);
    let seen = look(head, |found, depth, _| {
        small += u64::from(matches!(found, Token::Uint(0..=127)));
        keys += u64::from(depth > 0 && matches!(found, Token::Str(_)));
        is_top_map |= depth == 0 && matches!(found, Token::Map(1..));
    });
    if head.has_extension(FORMAT.extensions) {
        // Letters are small integers too.
        let is_text = head.is_text() && seen.tops > 4 && small == seen.values;
        return if is_text { Match::No } else { Match::Yes };
    }
    // Without a name only maps of names, which little else looks like.
    let is_seen = seen.whole && head.len == Some(head.first.len() as u64) && seen.values > 2;
    let sure = seen.right && is_top_map && keys > 0 && !head.is_text() && (is_seen || seen.values >= MANY);
    if sure && begins_with_name(&head.first) { Match::Yes } else { Match::No }
}

/// Whether a map comes first, and its first key is a text without control characters: random bytes are maps as often as
/// one in fifteen, but seldom of names.
fn begins_with_name(bytes: &[u8]) -> bool {
    let Ok((Token::Map(1..), start)) = token::token(bytes) else { return false };
    let key = bytes.get(start..).unwrap_or_default();
    let Ok((Token::Str(length @ 1..), start)) = token::token(key) else { return false };
    let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
    let text = key.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
    text.is_some_and(|text| !text.chars().any(char::is_control))
}

/// A map with an extension that is an array.
fn sniff_flax(head: &Head) -> Match {
    if head.is_folder || !matches!(token::token(&head.first), Ok((Token::Map(1..), _))) {
        return Match::No;
    }
    let mut arrays = 0_u64;
    let seen = look(head, |found, depth, body| {
        let is_list = matches!(token::token(body), Ok((Token::Array(3), _)))
            && matches!(token::token(body.get(1..).unwrap_or_default()), Ok((Token::Array(_), _)));
        arrays += u64::from(depth > 0 && matches!(found, Token::Ext(arrays::ARRAY, _)) && is_list);
    });
    if seen.right && arrays > 0 { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut window = Window::new(task, source);
    let (top, body) = token::read(&mut window, 0)?;
    let mut budget = PASSED;
    let end = match token::skip(&mut window, 0, &mut budget).unless_cancelled()? {
        Ok(end) => end,
        Err(error) if top.values() == 0 => return Err(error),
        Err(error) => {
            let node = one(task, source, top, body, u64::MAX)?;
            return Ok(node.problem(error));
        }
    };
    let Some(end) = end else { return one(task, source, top, body, u64::MAX) };
    if window.get(end, 1)?.is_empty() {
        return one(task, source, top, body, end);
    }
    // What follows is another object, or none.
    budget = PASSED;
    match token::skip(&mut window, end, &mut budget).unless_cancelled()? {
        Ok(_) => stream(task, source),
        Err(error) => Ok(one(task, source, top, body, end)?.problem(error)),
    }
}

/// The only object.
fn one(task: &Task, source: &Source, top: Token, body: u64, end: u64) -> Result<Node> {
    let node = tree::node(task, source, source.name(), 0, end, 0)?;
    if top.values() == 0 {
        // A file in a value is opened at once.
        return Ok((*Arc::new(node).resolved(task)?).clone());
    }
    if node.content.is_some() || node.length.is_none() {
        return Ok(node);
    }
    let Token::Array(count) = top else { return Ok(node) };
    let objects = Arc::new(Objects::of(source.clone(), body, count, false, 0));
    let container: Arc<dyn Container> = objects.clone();
    match ObjectColumns::find(task, &container, false).unless_cancelled()? {
        Ok(Some(columns)) => {
            let table = RecordTable::new(objects.clone(), columns);
            let node = node.lazy(objects::Below(objects.clone())).findings(objects.problems().clone());
            Ok(node.content(Content::Table(Arc::new(table))).parts())
        }
        Ok(None) => Ok(node),
        Err(error) => Ok(node.problem(error)),
    }
}

/// Objects one after the other.
fn stream(task: &Task, source: &Source) -> Result<Node> {
    let objects = Arc::new(Objects::stream(source.clone()));
    let container: Arc<dyn Container> = objects.clone();
    let columns = ObjectColumns::find(task, &container, true)?;
    let columns = columns.ok_or_else(|| Error::bug("a stream without columns"))?;
    if source.known_len().is_some_and(|len| len <= CHECKED) {
        objects.measure(task)?;
    }
    let mut node =
        container::node(Node::new(source.name(), "stream"), &objects).lazy(objects::Below(objects.clone()));
    node.length = objects.rows().exact();
    Ok(node.content(Content::Table(Arc::new(RecordTable::new(objects, columns)))))
}
