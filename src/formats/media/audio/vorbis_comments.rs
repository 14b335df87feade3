//! Chapters in the comments of FLAC: `CHAPTER001=00:01:30.250` and `CHAPTER001NAME=…`, by their numbers.
//!
//! - Comments: <https://www.xiph.org/vorbis/doc/v-comment.html>, RFC 9639, 8.6
//! - Chapters: <https://wiki.xiph.org/Chapter_Extension>

use crate::bytes::numbers::le;
use crate::data::content::array::Chapter;
use std::collections::BTreeMap;

/// The chapters of a block of comments: the vendor's text, then each comment, their lengths before them.
pub(super) fn chapters(block: &[u8]) -> Vec<Chapter> {
    let mut comments = ChapterComments::default();
    let text = |at: usize| {
        let start = at.checked_add(4)?;
        let end = start.checked_add(le::<u32>(block, at)? as usize)?;
        Some((block.get(start..end)?, end))
    };
    let Some((_, mut at)) = text(0) else { return Vec::new() };
    at += 4;
    while let Some((comment, end)) = text(at) {
        if let Some((key, value)) = std::str::from_utf8(comment).ok().and_then(|text| text.split_once('=')) {
            let _ = comments.take(key, value);
        }
        at = end;
    }
    comments.chapters()
}

/// What is found of them: when each begins, and its title.
#[derive(Default)]
struct ChapterComments {
    found: BTreeMap<u16, (Option<f64>, String)>,
}

impl ChapterComments {
    /// Takes what a comment says of a chapter; others say nothing.
    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        let (word, rest) = key.split_at_checked(7)?;
        let (digits, rest) = rest.split_at_checked(3)?;
        let number = digits.parse::<u16>().ok().filter(|_| word.eq_ignore_ascii_case("chapter"))?;
        match rest {
            "" => self.found.entry(number).or_default().0 = Some(seconds(value)?),
            _ if rest.eq_ignore_ascii_case("name") => {
                self.found.entry(number).or_default().1 = value.to_owned();
            }
            _ => return None,
        }
        Some(())
    }

    fn chapters(self) -> Vec<Chapter> {
        let begun = self.found.into_values().filter_map(|(start, title)| Some((start?, title)));
        begun.map(|(start, title)| Chapter { start, end: None, title }).collect()
    }
}

/// Hours, minutes and seconds with their fraction.
fn seconds(text: &str) -> Option<f64> {
    let mut parts = text.trim().split(':');
    let mut next = |most: f64| parts.next()?.parse::<f64>().ok().filter(|part| (0.0..most).contains(part));
    let all = next(1e6)? * 3_600.0 + next(60.0)? * 60.0 + next(60.0)?;
    parts.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_stand_in_comments() {
        let mut comments = ChapterComments::default();
        let all = [
            ("CHAPTER002", "01:00:02.500", true),
            ("chapter002name", "The second", true),
            ("CHAPTER001NAME", "The first", true),
            ("CHAPTER001", "00:00:00.000", true),
            ("CHAPTER003NAME", "without a time", true),
            ("CHAPTER004", "later", false),
            ("CHAPTER005URL", "https://example.org", false),
            ("CHAPTERS", "4", false),
            ("CHAPTÉR01", "00:00:00.000", false),
            ("TITLE", "00:00:00.000", false),
        ];
        for (key, value, is_part) in all {
            assert_eq!(comments.take(key, value).is_some(), is_part, "{key}");
        }
        let found = comments.chapters();
        let found: Vec<(f64, &str)> =
            found.iter().map(|chapter| (chapter.start, chapter.title.as_str())).collect();
        assert_eq!(found, [(0.0, "The first"), (3_602.5, "The second")]);
    }

    #[test]
    fn times_have_three_parts() {
        assert_eq!(seconds("00:01:30.25"), Some(90.25));
        for wrong in ["", "1:2", "1:2:3:4", "00:60:00", "00:00:60", "-1:00:00", "x:00:00", "nan:00:00"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn blocks_hold_any_number_of_comments() {
        let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        let list = ["CHAPTER001=00:00:01.500", "TITLE=A book", "no comment", "CHAPTER001NAME=Zürs"];
        let block = [text("vendor"), 4u32.to_le_bytes().to_vec(), list.map(text).concat()].concat();
        let found = chapters(&block);
        let found: Vec<(f64, &str)> =
            found.iter().map(|chapter| (chapter.start, chapter.title.as_str())).collect();
        assert_eq!(found, [(1.5, "Zürs")]);
        for len in 0..block.len() {
            assert!(chapters(&block[..len]).len() <= 1);
        }
        assert!(chapters(&[0xff; 64]).is_empty());
    }
}
