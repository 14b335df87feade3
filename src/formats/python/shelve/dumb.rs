//! `dbm.dumb`: `x.dir` has a line for each key with the place of its value in `x.dat`, `x.bak` is what `x.dir` was before.
//! <https://github.com/python/cpython/blob/main/Lib/dbm/dumb.py>

use super::{Database, ENTRIES, Entry, Pieces, Place};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::sniff::Head;
use crate::engines::pickle::unquote;
use bytes::Bytes;
use std::collections::HashMap;

/// The names of its lists of keys.
const NAMES: [&str; 2] = ["dir", "bak"];

/// Whether the name is one of theirs, and the lines are what they should be. The values alone tell nothing.
pub(super) fn is(head: &Head) -> bool {
    if !head.has_extension(&NAMES) {
        return false;
    }
    // The last line may be cut, and others damaged.
    let lines = head.first.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let good: Vec<bool> = lines.map(|text| line(text).is_some()).collect();
    good.first() == Some(&true) && good.iter().filter(|good| **good).count() * 2 > good.len()
}

/// `'key', (0, 29)`: the key, and where its value lies.
fn line(text: &[u8]) -> Option<(Vec<u8>, std::ops::Range<u64>)> {
    let at = memchr::memmem::rfind(text, b", (")?;
    let (key, place) = text.split_at(at);
    let quoted = matches!(key, [b'\'', .., b'\''] | [b'"', .., b'"']) && key.len() > 1;
    let key = quoted.then_some(key).or_else(|| key.strip_prefix(b"b"))?;
    let place = std::str::from_utf8(place).ok()?.trim_end();
    let (start, size) = place.strip_prefix(", (")?.strip_suffix(')')?.split_once(", ")?;
    // Python 2 writes an `L` behind long ones.
    let number = |text: &str| text.trim_end_matches('L').parse::<u64>().ok();
    let start = number(start)?;
    Some((unquote(key), start..start.checked_add(number(size)?)?))
}

pub(super) fn read(task: &Task, source: &Source) -> Result<Database> {
    let stem = source.name().rsplit_once('.').map_or(source.name(), |(stem, _)| stem);
    let beside = |extension: &str| source.sibling(task, &format!("{stem}.{extension}"));
    // The list as it is now, wherever one came from.
    let list = beside("dir").unwrap_or_else(|_| source.clone());
    let len = list.len(task)?;
    let lines = list.read(task, 0..limits::check(len, limits::HEADER, "the list of keys")? as u64)?;
    let mut problem = None;
    let values = match beside("dat") {
        Ok(values) => values,
        Err(error) => {
            problem = Some(error.of("values"));
            Source::memory("values", Bytes::new())
        }
    };
    let there = values.len(task)?;
    let (mut entries, mut known): (Vec<Entry>, HashMap<Bytes, usize>) = (Vec::new(), HashMap::new());
    let mut at = 0u64;
    for text in lines.split(|b| *b == b'\n') {
        if entries.len().is_multiple_of(1 << 14) {
            task.check()?;
        }
        let here = at;
        at += text.len() as u64 + 1;
        if text.is_empty() {
            continue;
        }
        let Some((key, range)) = line(text) else {
            // Not one line of a list: the name meant something else.
            if entries.is_empty() {
                return Err(Error::other_format(""));
            }
            problem.get_or_insert(Error::malformed("keys: a line that is no key and place").at(here));
            continue;
        };
        if range.end > there {
            let what = format!(
                "key {:?}: its value ends at byte {}, the file at {there}",
                super::name(&key),
                range.end
            );
            problem.get_or_insert(Error::malformed(what).at(here));
            continue;
        }
        limits::check(entries.len() as u64, ENTRIES, "the keys")?;
        let key = Bytes::from(key);
        match known.get(&key).and_then(|n| entries.get_mut(*n)) {
            // A key that was written again has a line each time.
            Some(entry) => entry.value = Place::At(range),
            None => {
                known.insert(key.clone(), entries.len());
                entries.push(Entry { key, value: Place::At(range) });
            }
        }
    }
    Ok(Database { library: "dbm.dumb", entries, values: Box::new(Pieces(values)), problem })
}
