//! Where an element ends, found without a look at what is in it but where tags begin and end: the nodes of a tree are most of
//! what a document holds. Whether names fit and attributes are right is seen when somebody looks into the element.

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use memchr::memmem;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Bytes that are at hand behind a place, if the text has so many.
const AHEAD: usize = 16;

/// A text from any place on.
struct Scan<'a> {
    task: &'a Task,
    source: &'a Source,
    chunk: Bytes,
    /// Where the chunk begins.
    start: u64,
}

impl Scan<'_> {
    /// The bytes from `at` on: at least [`AHEAD`] of them, or all that there are.
    fn rest(&mut self, at: u64) -> Result<&[u8]> {
        let inside = at.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let left = inside.and_then(|skip| self.chunk.len().checked_sub(skip)).unwrap_or(0);
        if left < AHEAD {
            self.task.reached(at);
            self.chunk = self.source.read_up_to(self.task, at, CHUNK)?;
            self.start = at;
        }
        Ok(self.chunk.get((at - self.start) as usize..).unwrap_or_default())
    }

    /// The place behind the next of these letters, of which there are at most [`AHEAD`].
    fn behind(&mut self, mut at: u64, letters: &[u8]) -> Result<Option<u64>> {
        loop {
            let bytes = self.rest(at)?;
            if let Some(found) = memmem::find(bytes, letters) {
                return Ok(Some(at + (found + letters.len()) as u64));
            }
            if bytes.len() < AHEAD {
                return Ok(None);
            }
            at += (bytes.len() - (letters.len() - 1)) as u64;
        }
    }

    /// The place of the next `<`.
    fn tag(&mut self, mut at: u64) -> Result<Option<u64>> {
        loop {
            let bytes = self.rest(at)?;
            match memchr::memchr(b'<', bytes) {
                Some(found) => return Ok(Some(at + found as u64)),
                None if bytes.is_empty() => return Ok(None),
                None => at += bytes.len() as u64,
            }
        }
    }

    /// The place behind the tag that `at` lies in, and whether it is one of an empty element. A `>` may stand in quotes.
    fn tag_end(&mut self, mut at: u64) -> Result<Option<(u64, bool)>> {
        let begin = at;
        loop {
            let bytes = self.rest(at)?;
            let Some(found) = memchr::memchr3(b'>', b'"', b'\'', bytes) else {
                if bytes.is_empty() {
                    return Ok(None);
                }
                at += bytes.len() as u64;
                continue;
            };
            let letter = bytes.get(found).copied().unwrap_or_default();
            let before = found.checked_sub(1).and_then(|before| bytes.get(before)).copied();
            at += found as u64 + 1;
            if letter != b'>' {
                let Some(behind) = self.behind(at, &[letter])? else { return Ok(None) };
                at = behind;
                continue;
            }
            let before = match before {
                None if at - 1 > begin => self.source.read(self.task, at - 2..at - 1)?.first().copied(),
                before => before,
            };
            return Ok(Some((at, before == Some(b'/'))));
        }
    }
}

/// The place of the end tag of the element that `at` lies in, right behind its start tag; `None` where there is none, where
/// something else is wrong before it, or where elements lie more than `depth` deep in each other.
///
/// # Errors
/// Those of reading; `Cancelled`.
pub(super) fn end_tag(task: &Task, source: &Source, mut at: u64, depth: usize) -> Result<Option<u64>> {
    let mut scan = Scan { task, source, chunk: Bytes::new(), start: at };
    let mut open = 0usize;
    while let Some(tag) = scan.tag(at)? {
        let ahead: Vec<u8> = scan.rest(tag)?.iter().take(AHEAD).copied().collect();
        let behind = match ahead.get(1..).unwrap_or_default() {
            [b'/', ..] if open == 0 => return Ok(Some(tag)),
            [b'/', ..] => {
                open -= 1;
                scan.behind(tag, b">")?
            }
            [b'!', b'-', b'-', ..] => scan.behind(tag + 4, b"-->")?,
            [b'?', ..] => scan.behind(tag, b"?>")?,
            rest if rest.starts_with(b"![CDATA[") => scan.behind(tag, b"]]>")?,
            [] | [b'!', ..] => None,
            _ => match scan.tag_end(tag + 1)? {
                Some((behind, true)) => Some(behind),
                Some((behind, false)) if open < depth => {
                    open += 1;
                    Some(behind)
                }
                _ => None,
            },
        };
        match behind {
            Some(behind) => at = behind,
            None => return Ok(None),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str, depth: usize) -> Option<usize> {
        let source = Source::memory("a", text.as_bytes().to_vec());
        end_tag(&Task::new(), &source, 3, depth).unwrap().map(|end| end as usize)
    }

    #[test]
    fn ends_of_elements_are_found() {
        let inner = "text <b c='>' d=\"/>'<\"/><e f=\"a/\">x</e><!-- </a> <a> --><![CDATA[</a>]]><?p </a> ?><g><g/></g>";
        let text = format!("<a>{inner}</a><a></a>");
        assert_eq!(end(&text, 9), Some(3 + inner.len()));
        assert_eq!(end("<a></a>", 0), Some(3));
        let broken =
            ["<a><b><c/></b", "<a><b x='", "<a><b/>text", "<a><!ELEMENT b></a>", "<a><!-- </a>", "<a><"];
        assert!(broken.iter().all(|text| end(text, 9).is_none()));
        assert_eq!((end("<a><b><c></c></b></a>", 1), end("<a><b></b></a>", 1)), (None, Some(10)));
    }

    /// Wherever a chunk ends.
    #[test]
    fn chunks_end_anywhere() {
        for pad in (CHUNK - 70)..(CHUNK + 4) {
            let inner = format!("{}<b c='>'/><e>x</e><!-- </a> --><g><g /></g>", "x".repeat(pad));
            let text = format!("<a>{inner}</a>");
            assert_eq!(end(&text, 9), Some(3 + inner.len()), "{pad}");
        }
    }
}
