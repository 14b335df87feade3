//! The files of a group of weights, one after the other. One that is missing hides those that lie in it alone.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use std::ops::Range;
use std::sync::Arc;

/// Files that cannot be read which are named; others are told by the weights in them.
const NAMED: usize = 20;

/// A file of a group.
#[derive(Clone)]
struct Shard {
    name: String,
    /// Where it begins in the group, and how long it is.
    start: u64,
    len: u64,
    file: Result<Source>,
}

/// The files of a group.
#[derive(Clone)]
pub(super) struct Shards {
    shards: Arc<[Shard]>,
    /// All bytes.
    pub(super) len: u64,
}

impl Shards {
    /// The files of these names beside the model. `needed` is how many bytes the weights of the group take, where
    /// that is known: it tells how long a missing file is. Also what is wrong with the files.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn open(
        task: &Task,
        model: &Source,
        names: &[String],
        needed: Option<u64>,
    ) -> Result<(Shards, Vec<Error>)> {
        let mut files = Vec::new();
        let mut problems = Vec::new();
        for name in names {
            task.check()?;
            let opened = model.sibling(task, name).and_then(|file| match file.is_folder() {
                true => Err(Error::malformed("it is a folder")),
                false => Ok(file),
            });
            if let Err(error) = &opened
                && problems.len() < NAMED
            {
                problems.push(error.clone().of(&format!("shard {name}")));
            }
            files.push((name.clone(), opened));
        }
        // The converter makes all but the last of a length.
        let known = |file: &Result<Source>| file.as_ref().ok().and_then(Source::known_len);
        let missing = files.iter().filter(|(_, file)| file.is_err()).count();
        let there: u64 = files.iter().filter_map(|(_, file)| known(file)).fold(0, u64::saturating_add);
        let before_last = files.len().saturating_sub(1);
        let usual = files.iter().take(before_last).find_map(|(_, file)| known(file));
        let mut left = needed.map(|needed| needed.saturating_sub(there));
        let mut start = 0u64;
        let mut shards = Vec::new();
        for (n, (name, file)) in files.into_iter().enumerate() {
            let len = match (known(&file), left, usual) {
                (Some(len), ..) => len,
                (None, Some(left), _) if missing == 1 => left,
                (None, Some(left), Some(usual)) if n < before_last => usual.min(left),
                (None, Some(left), _) => left,
                (None, None, usual) => usual.unwrap_or(0),
            };
            if file.is_err() {
                left = left.map(|left| left.saturating_sub(len));
            }
            shards.push(Shard { name, start, len, file });
            start = start.saturating_add(len);
        }
        Ok((Shards { shards: shards.into(), len: start }, problems))
    }

    /// The files that a part of the group lies in.
    fn parts(&self, span: &Range<u64>) -> impl Iterator<Item = &Shard> {
        let first = self.shards.partition_point(|shard| shard.start.saturating_add(shard.len) <= span.start);
        let all = self.shards.get(first..).unwrap_or_default().iter();
        let end = span.end;
        all.take_while(move |shard| shard.start < end)
    }

    /// A part of the group: a slice of a file where it lies in one.
    ///
    /// # Errors
    /// `Malformed` where the files end before it, or why the file cannot be read.
    pub(super) fn part(&self, model: &Source, name: &str, span: Range<u64>) -> Result<Source> {
        if span.end > self.len || span.start > span.end {
            let what =
                format!("bytes {} to {} of its group, whose files have {}", span.start, span.end, self.len);
            return Err(Error::malformed(what));
        }
        let parts: Vec<&Shard> = self.parts(&span).collect();
        for shard in &parts {
            shard.file.clone().map_err(|error| error.of(&format!("shard {}", shard.name)))?;
        }
        if let [Shard { file: Ok(file), start, .. }] = parts.as_slice() {
            return file.member(name, span.start - start..span.end - start);
        }
        if span.is_empty() {
            return Ok(Source::memory(name, Vec::new()));
        }
        model.stream(name, Arc::new(Sharded { shards: self.clone(), span }))
    }
}

/// A part of a group that lies in several files.
struct Sharded {
    shards: Shards,
    span: Range<u64>,
}

impl ReadAt for Sharded {
    fn known_len(&self) -> Option<u64> {
        Some(self.span.end - self.span.start)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.span.end - self.span.start)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let start = self.span.start.saturating_add(offset);
        let end = start.saturating_add(out.len() as u64).min(self.span.end);
        let mut done = 0;
        for shard in self.shards.parts(&(start..end)) {
            task.check()?;
            let from = start.max(shard.start);
            let to = end.min(shard.start.saturating_add(shard.len));
            let len = to.saturating_sub(from) as usize;
            let Some(out) = out.get_mut(done..done + len) else { break };
            let file = shard.file.clone().map_err(|error| error.of(&format!("shard {}", shard.name)))?;
            file.read_into(task, from - shard.start, out)?;
            done += len;
        }
        Ok(done)
    }
}
