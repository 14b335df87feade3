//! What a movie says of itself: texts, chapters and covers of QuickTime and iTunes.
//! <https://developer.apple.com/documentation/quicktime-file-format/user_data_atoms>

use super::{Movie, TEXT};
use crate::bytes::error::Result;
use crate::bytes::numbers::{be, be_unsigned};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Chapter;
use crate::engines::boxes::{self, Atom, find};

/// Pictures of one movie that stand for it.
const COVERS: usize = 100;

/// Texts and chapters in the data of the user.
pub(super) fn user_data(task: &Task, source: &Source, one: &Atom, movie: &mut Movie) -> Result<()> {
    for part in one.children(task, source, 0)? {
        match &part.kind {
            b"meta" => item_list(task, source, &part, movie)?,
            b"chpl" => {
                let bytes = part.read(task, source)?;
                let mut at = 9;
                for _ in 0..bytes.get(8).copied().unwrap_or(0) {
                    let (Some(time), Some(len)) = (be::<u64>(&bytes, at), bytes.get(at + 8)) else { break };
                    let text = bytes.get(at + 9..at + 9 + usize::from(*len)).unwrap_or_default();
                    let title = String::from_utf8_lossy(text).into_owned();
                    movie.chapters.push(Chapter { start: time as f64 / 1e7, end: None, title });
                    at += 9 + usize::from(*len);
                }
            }
            // Texts of QuickTime: length, language, characters.
            kind if kind[0] == 0xa9 => {
                let bytes = source.read_up_to(task, part.body.start, TEXT as usize)?;
                let len = usize::from(be::<u16>(&bytes, 0).unwrap_or(0));
                let end = (4 + len).min((part.body.end - part.body.start) as usize).min(bytes.len());
                let text = String::from_utf8_lossy(bytes.get(4..end).unwrap_or_default()).into_owned();
                movie.texts.push((name(&part.kind), text));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Texts of iTunes.
pub(super) fn item_list(task: &Task, source: &Source, meta: &Atom, movie: &mut Movie) -> Result<()> {
    // The box has a version, except in QuickTime.
    let first = source.read_up_to(task, meta.body.start, 8)?;
    let skip = if first.get(4..8) == Some(b"hdlr") { 0 } else { 4 };
    let parts = meta.children(task, source, skip)?;
    let keys = match find(&parts, b"keys") {
        Some(keys) => boxes::list(task, source, (keys.body.start + 8).min(keys.body.end)..keys.body.end)?
            .iter()
            .map(|key| key.read(task, source).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            .collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let Some(list) = find(&parts, b"ilst") else { return Ok(()) };
    for item in list.children(task, source, 0)? {
        let below = item.children(task, source, 0)?;
        let Some(data) = find(&below, b"data") else { continue };
        if item.kind == *b"covr" {
            let datas = below.iter().filter(|part| part.kind == *b"data").map(|part| part.body.clone());
            movie.covers.extend(datas.map(|body| (body.start + 8).min(body.end)..body.end).take(COVERS));
            continue;
        }
        let len = (data.body.end - data.body.start).min(TEXT) as usize;
        let bytes = source.read_up_to(task, data.body.start, len)?;
        let (kind, value) = (be::<u32>(&bytes, 0).unwrap_or(0), bytes.get(8..).unwrap_or_default());
        let text = match kind {
            1 => String::from_utf8_lossy(value).into_owned(),
            21 | 0 if (1..=8).contains(&value.len()) => be_unsigned(value).to_string(),
            13 | 14 | 27 => format!("picture of {} bytes", data.body.end - data.body.start - 8),
            _ => continue,
        };
        let index = u32::from_be_bytes(item.kind).checked_sub(1).map(|n| n as usize);
        let key = index.and_then(|n| keys.get(n)).cloned().unwrap_or_else(|| name(&item.kind));
        movie.texts.push((key, text));
    }
    Ok(())
}

/// What the keys of texts are called in words.
fn name(kind: &[u8; 4]) -> String {
    let known = match &kind[1..] {
        b"nam" => "title",
        b"ART" => "artist",
        b"alb" => "album",
        b"day" => "date",
        b"gen" => "genre",
        b"cmt" => "comment",
        b"too" => "encoder",
        b"swr" => "software",
        b"cpy" => "copyright",
        b"wrt" => "composer",
        b"des" => "description",
        b"xyz" => "location",
        _ => "",
    };
    match known {
        "" => kind.iter().map(|byte| char::from(*byte)).collect(),
        known => known.to_owned(),
    }
}
