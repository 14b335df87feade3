//! The members of a tar, found from header to header through a window, and the samples that their names make of them.

use crate::bytes::archive::tar::{self, BLOCK, Block, Kind, Said, Step};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::engines::records::Window;

/// Extended headers that one member may have.
const EXTENDED: usize = 16;
/// What a good header is looked for in at a time, and what two such pieces share.
const OVERLAP: usize = BLOCK as usize;

/// A member, and where its headers and its data are.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) path: Box<str>,
    pub(super) kind: Kind,
    /// Where the first of its headers begins.
    pub(super) begin: u64,
    pub(super) data: u64,
    pub(super) size: u64,
    /// Where the next member begins.
    pub(super) end: u64,
    /// Why it cannot be read.
    pub(super) problem: Option<Error>,
}

impl Member {
    /// The sample that it is part of, and the field that it is there; `None` where it is none of a sample.
    pub(super) fn place(&self) -> Option<(&str, &str)> {
        matches!(self.kind, Kind::File | Kind::Sparse).then(|| split(&self.path)).flatten()
    }
}

/// The key and the field of a path, as the library `webdataset` splits it: at the first dot of the last part. `None` for what
/// it passes by: names without a dot, or with one before all else, and metadata (`__NAME__`); and for what macOS
/// leaves in archives.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let first = path.split('/').next().unwrap_or_default();
    if first.len() >= 4 && first.starts_with("__") && first.ends_with("__") || first == "__MACOSX" {
        return None;
    }
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    let last = path.get(name..)?;
    match last.find('.')? {
        0 if last.starts_with("._") => None,
        // The expression `^((?:.*/|)[^.]+)[.]([^/]*)$` takes the folder for the key then, if there is no dot in it.
        0 => {
            let folder = path.get(..name)?.strip_suffix('/')?;
            let part = folder.rsplit('/').next().unwrap_or_default();
            (!part.contains('.')).then_some((path.get(..name)?, last.get(1..)?))
        }
        dot => Some((path.get(..name + dot)?, last.get(dot + 1..)?)),
    }
}

/// The member whose headers begin at `at`; `None` where the archive ends there.
///
/// # Errors
/// `Cancelled`; failures to read; `Malformed` where there is no header.
pub(super) fn member(window: &mut Window, at: u64) -> Result<Option<Member>> {
    let (mut said, mut place) = (Said::default(), at);
    for _ in 0..EXTENDED {
        let bytes = window.get(place, BLOCK as usize)?;
        let Some(block) = bytes.first_chunk::<{ BLOCK as usize }>().copied() else {
            let is_end = bytes.is_empty() && place == at;
            return if is_end { Ok(None) } else { Err(cut(place)) };
        };
        let (step, kind) = Step::new(&block);
        match kind {
            Block::Zeros => {
                let next = window.get(place.saturating_add(BLOCK), BLOCK as usize)?;
                // A single one is a mistake that GNU tar forgives, too.
                if next.len() < BLOCK as usize || next.iter().all(|&byte| byte == 0) {
                    return Ok(None);
                }
                place = place.saturating_add(BLOCK);
            }
            Block::Damaged(why) => {
                let name = step.name();
                let what = if name.is_empty() { "a member".to_owned() } else { format!("member {name:?}") };
                return Err(Error::malformed(format!("WebDataset: {what}: {why}")).at(place));
            }
            Block::Skipped(size) => place = tar::after(place.saturating_add(BLOCK), size),
            Block::Extended(size) => {
                let data = place.saturating_add(BLOCK);
                let length = limits::check(size, tar::LONGEST_EXTENDED, "an extended header of a tar")
                    .map_err(|error| error.at(place))?;
                let bytes = window.get(data, length)?;
                if bytes.len() < length {
                    return Err(cut(place));
                }
                step.extend(bytes, &mut said);
                place = tar::after(data, size);
            }
            Block::Member(size) => {
                let data = place.saturating_add(BLOCK);
                let (found, end) = step.member(said, data, size);
                return of_header(window, at, found, end).map(Some);
            }
        }
    }
    Err(Error::malformed(format!("WebDataset: more than {EXTENDED} headers before a member")).at(at))
}

fn cut(at: u64) -> Error {
    Error::malformed("WebDataset: the archive ends in the middle of a header; it may be cut off").at(at)
}

/// A member of which the header was read.
fn of_header(window: &mut Window, begin: u64, found: tar::Member, end: Option<u64>) -> Result<Member> {
    let tar::Member { path, kind, mut data, size, .. } = found;
    let header = data.saturating_sub(BLOCK);
    let end = match end {
        Some(end) => end,
        // A list of holes goes on in blocks of its own.
        None => {
            loop {
                window.task.check()?;
                let Some(&more) = window.get(data, BLOCK as usize)?.get(504) else { break };
                data = data.saturating_add(BLOCK);
                if more == 0 {
                    break;
                }
            }
            tar::after(data, size)
        }
    };
    let mut member = Member { path, kind, begin, data, size, end, problem: None };
    if kind == Kind::Sparse {
        let what = format!("WebDataset: member {:?} is sparse: its holes were left out", member.path);
        member.problem = Some(Error::unsupported(what).at(header));
    }
    if let Some(len) = window.known_len()
        && data.checked_add(size).is_none_or(|end| end > len)
    {
        let what = format!(
            "WebDataset: member {:?}: its {size} bytes reach beyond the end of the archive, which may be cut off",
            member.path
        );
        member.problem = Some(Error::malformed(what).at(header));
        // Either the size is wrong or the file is cut off; what follows tells which.
        member.end = next_header(window, data)?.unwrap_or(len);
    }
    Ok(member)
}

/// The first good header at `from` or behind it, not far from it.
pub(super) fn next_header(window: &mut Window, from: u64) -> Result<Option<u64>> {
    window.search(from, OVERLAP, |part, _| Ok(header_in(part)))
}

/// The first good header in a part of the file that begins at a block.
pub(super) fn header_in(part: &[u8]) -> Option<usize> {
    let blocks = part.chunks_exact(BLOCK as usize);
    let at = blocks.enumerate().find(|(_, block)| tar::has_magic(block) && tar::has_good_checksum(block));
    at.map(|(n, _)| n * BLOCK as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `webdataset.tariterators` makes of names, but for those of macOS.
    #[test]
    fn names_are_split_as_the_library_does() {
        for (path, expected) in [
            ("a/b/000.seg.png", Some(("a/b/000", "seg.png"))),
            ("000.png", Some(("000", "png"))),
            ("./a.b/000.cls", Some(("./a.b/000", "cls"))),
            ("a.", Some(("a", ""))),
            ("a", None),
            ("a.b/c", None),
            (".hidden", None),
            ("dir/.hidden.txt", Some(("dir/", "hidden.txt"))),
            ("d.r/.hidden", None),
            ("./.hidden", None),
            ("/.x", Some(("/", "x"))),
            ("__meta__", None),
            ("__meta__/a.txt", None),
            ("__x/a.txt", Some(("__x/a", "txt"))),
            ("a/__b__.txt", Some(("a/__b__", "txt"))),
            ("a/__meta__/b.txt", Some(("a/__meta__/b", "txt"))),
            ("", None),
            ("._a.jpg", None),
            ("d/._a.jpg", None),
            ("__MACOSX/a.jpg", None),
        ] {
            assert_eq!(split(path), expected, "{path}");
        }
    }
}
