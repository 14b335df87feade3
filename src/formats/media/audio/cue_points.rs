//! Places of a WAV that have a name: their frames stand in the chunk `cue `, names and lengths in a list of the kind `adtl`.
//! <https://www.recordingblogs.com/wiki/cue-chunk-of-a-wave-file>

use super::pcm::Marker;
use crate::bytes::numbers::ordered;
use crate::engines::time_spans::CHAPTERS;

/// Bytes of a place.
const PLACE: usize = 24;

/// What is found of them.
#[derive(Default)]
pub(super) struct CuePoints {
    /// Numbers and frames.
    places: Vec<(u32, u32)>,
    names: Vec<(u32, String)>,
    lengths: Vec<(u32, u32)>,
}

impl CuePoints {
    /// What the chunk `cue ` says.
    pub(super) fn places(&mut self, bytes: &[u8], big: bool) {
        let number = |at: usize| ordered::<u32>(big, bytes, at);
        let count = number(0).map_or(0, |count| (count as usize).min(CHAPTERS));
        let places = (0..count).map(|n| 4 + n * PLACE);
        self.places.extend(places.map_while(|at| Some((number(at)?, number(at + 20)?))));
    }

    /// What a list says, if it is of names.
    pub(super) fn texts(&mut self, bytes: &[u8], big: bool) {
        if !bytes.starts_with(b"adtl") {
            return;
        }
        let number = |at: usize| ordered::<u32>(big, bytes, at);
        let mut at = 4usize;
        while let (Some(kind), Some(size), Some(id)) = (bytes.get(at..at + 4), number(at + 4), number(at + 8))
            && self.names.len().max(self.lengths.len()) < CHAPTERS
        {
            let end = (at + 8).saturating_add(size as usize);
            match kind {
                b"labl" => {
                    let name = bytes.get(at + 12..end.min(bytes.len())).unwrap_or_default();
                    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                    self.names.push((id, String::from_utf8_lossy(name).into_owned()));
                }
                b"ltxt" => self.lengths.extend(number(at + 12).filter(|length| *length > 0).map(|n| (id, n))),
                _ => {}
            }
            at = end + size as usize % 2;
        }
    }

    /// All places, with the names and lengths that the same numbers have.
    pub(super) fn all(&self) -> Vec<Marker> {
        let names: std::collections::HashMap<u32, &String> =
            self.names.iter().map(|(id, name)| (*id, name)).collect();
        let lengths: std::collections::HashMap<u32, u32> = self.lengths.iter().copied().collect();
        let mark = |(id, frame): &(u32, u32)| Marker {
            start: (*frame).into(),
            length: lengths.get(id).map(|length| u64::from(*length)),
            title: names.get(id).map(|name| (*name).clone()).unwrap_or_default(),
        };
        self.places.iter().map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_names_of_their_numbers() {
        let place = |id: u32, frame: u32| {
            [id.to_le_bytes(), [0; 4], *b"data", [0; 4], [0; 4], frame.to_le_bytes()].concat()
        };
        let cue = [2u32.to_le_bytes().to_vec(), place(7, 4_000), place(1, 0)].concat();
        let chunk = |kind: &[u8], id: u32, rest: &[u8]| {
            let size = (4 + rest.len()) as u32;
            let mut chunk = [kind, &size.to_le_bytes(), &id.to_le_bytes(), rest].concat();
            chunk.resize(chunk.len().next_multiple_of(2), 0);
            chunk
        };
        let list = [
            b"adtl".to_vec(),
            chunk(b"labl", 7, b"Verse\0"),
            chunk(b"note", 7, b"a note"),
            chunk(b"ltxt", 7, &[0xd0, 7, 0, 0, b'r', b'g', b'n', b' ', 0, 0, 0, 0, 0, 0, 0, 0]),
            chunk(b"labl", 1, b"Start"),
        ]
        .concat();
        let read = |cue: &[u8], list: &[u8]| {
            let mut marks = CuePoints::default();
            marks.texts(list, false);
            marks.places(cue, false);
            marks.all()
        };
        let verse = Marker { start: 4_000, length: Some(2_000), title: "Verse".to_owned() };
        let start = Marker { start: 0, length: None, title: "Start".to_owned() };
        assert_eq!(read(&cue, &list), [verse, start]);
        for len in 0..list.len() {
            assert_eq!(read(&cue, &list[..len]).len(), 2);
            assert!(read(&cue[..len.min(cue.len())], &list).len() <= 2);
        }
    }
}
