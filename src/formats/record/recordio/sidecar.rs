//! What lies beside a file: `NAME.idx`, with a line `KEY<tab>PLACE` for each record, and `NAME.lst`, with a line
//! `ID<tab>LABEL<tab>…<tab>FILE` for each file that a record was made of.

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::records::container::Problems;
use std::collections::HashMap;

/// The largest of them that is read, in bytes.
const LARGEST: u64 = 32 << 20;

/// What they say.
#[derive(Default)]
pub(super) struct Sidecars {
    /// The keys of records by where their frames begin.
    pub(super) keys: Option<HashMap<u64, String>>,
    /// The files of records by their numbers.
    pub(super) files: Option<HashMap<u64, String>>,
}

impl Sidecars {
    /// Reads what is there; what is wrong with it is said among `problems`.
    pub(super) fn read(task: &Task, source: &Source, problems: &Problems) -> Result<Sidecars> {
        let Some((stem, "rec")) = source.name().rsplit_once('.') else { return Ok(Sidecars::default()) };
        let mut side = Sidecars::default();
        if let Some(text) = text(task, source, &format!("{stem}.idx"), problems)? {
            side.keys = Some(keys(&text, &format!("{stem}.idx"), source.known_len(), problems));
        }
        if let Some(text) = text(task, source, &format!("{stem}.lst"), problems)? {
            side.files = Some(files(&text)).filter(|files| !files.is_empty());
        }
        Ok(side)
    }
}

/// The text of a file beside another, if it is there and not too long.
fn text(task: &Task, source: &Source, name: &str, problems: &Problems) -> Result<Option<String>> {
    let Ok(file) = source.sibling(task, name).unless_cancelled()? else { return Ok(None) };
    match file.known_len() {
        Some(len) if len <= LARGEST => {
            let read = file.read(task, 0..len).unless_cancelled()?;
            Ok(read.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        }
        Some(len) => {
            problems.remark(format!("{name} has {} and is not read", display::bytes(len)));
            Ok(None)
        }
        None => Ok(None),
    }
}

fn keys(text: &str, name: &str, len: Option<u64>, problems: &Problems) -> HashMap<u64, String> {
    let (mut keys, mut wrong, mut first) = (HashMap::new(), 0_u64, None);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = line.split_once('\t').and_then(|(key, at)| Some((key, at.trim().parse::<u64>().ok()?)));
        match place.filter(|(_, at)| len.is_none_or(|len| *at < len)) {
            Some((key, at)) => drop(keys.insert(at, key.to_owned())),
            None => {
                wrong += 1;
                first.get_or_insert(n + 1);
            }
        }
    }
    if let Some(first) = first {
        let lines = display::plural(wrong, "line");
        problems.add(Error::malformed(format!(
            "index {name}: {lines} that name no place in the file, the first is line {first}"
        )));
    }
    keys
}

fn files(text: &str) -> HashMap<u64, String> {
    let file = |line: &str| {
        let (id, rest) = line.split_once('\t')?;
        Some((id.trim().parse().ok()?, rest.rsplit('\t').next()?.to_owned()))
    };
    text.lines().filter_map(file).collect()
}
