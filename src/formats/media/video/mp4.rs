//! MP4, QuickTime and HEIC: movies and items in boxes.

use super::frames::{PACKETS, Packet, Track};
use super::{Movie, Sound, Subtitles, codecs, colours, still};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rect;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::boxes::{Atom, find};
use crate::engines::isobmff::movie::{self, Movie as Boxes};
use crate::engines::isobmff::{self, Meta, Property};
use crate::engines::picture_metadata::Blocks;
use bytes::Bytes;
use std::sync::Arc;

/// Cues of one track that are read.
const CUES: usize = 100_000;

/// Reads the boxes.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let top = isobmff::top(task, source)?;
    let mut movie = Movie { problem: cut(&top), ..Movie::default() };
    if let Some(brand) = isobmff::brands(&opening.head.first).next() {
        let brand = String::from_utf8_lossy(brand).trim_end().to_owned();
        movie.details.push(("major brand".to_owned(), brand));
    }
    let Some(moov) = find(&top, b"moov") else {
        let what = "MPEG-4: the file has no box moov, which says what is in it; it may be cut off or a part of another";
        return Err(movie.problem.take().unwrap_or_else(|| Error::malformed(what)));
    };
    let boxes = Boxes::read(task, source, moov)?;
    let scale = f64::from(boxes.timescale.max(1));
    let seconds = (boxes.duration > 0).then(|| boxes.duration as f64 / scale);
    let mut number = 0;
    let named = |track: &movie::Track| {
        let of = boxes.tracks.iter().flat_map(|track| &track.references);
        of.filter(|(kind, _)| kind == b"chap").any(|(_, ids)| ids.contains(&track.id))
    };
    for track in &boxes.tracks {
        task.check()?;
        match &track.handler {
            b"vide" | b"auxv" | b"pict" => {
                let read = pictures(task, source, &boxes, track, &top, seconds);
                let (pictures, problem) = read?;
                movie.problem = movie.problem.or(problem);
                movie.videos.push((pictures, track.name.clone(), track.language.clone()));
            }
            b"soun" => {
                movie.sounds.push(sound(track, number));
                number += 1;
            }
            b"text" | b"sbtl" | b"subt" | b"clcp" if !named(track) => {
                movie.subtitles.push(subtitles(task, source, &boxes, track, &top)?);
            }
            _ => {}
        }
    }
    if boxes.is_fragmented {
        movie.details.push((
            "fragments".to_owned(),
            top.iter().filter(|one| one.kind == *b"moof").count().to_string(),
        ));
    }
    movie.chapters = boxes.chapters;
    movie.covers = boxes.covers;
    movie.texts = boxes.texts;
    movie.node(task, source)
}

/// The first box that reaches beyond the file.
fn cut(top: &[Atom]) -> Option<Error> {
    let one = top.iter().find(|one| one.is_cut)?;
    let what = format!("MPEG-4: the box {} reaches beyond the file; it may be cut off", one.name());
    Some(Error::malformed(what).at(one.start))
}

/// A track of pictures, and what is wrong with its samples.
fn pictures(
    task: &Task,
    source: &Source,
    boxes: &Boxes,
    track: &movie::Track,
    top: &[Atom],
    seconds: Option<f64>,
) -> Result<(Track, Option<Error>)> {
    let (samples, problem) = match boxes.samples(task, source, track, top).unless_cancelled()? {
        Ok(samples) => (samples, None),
        Err(error) => (isobmff::Samples::default(), Some(error)),
    };
    let (object, specific) =
        track.configured(b"esds").map(|bytes| codecs::elementary(bytes)).unwrap_or_default();
    let codec = codecs::of_description(&track.coding, object);
    let private = match codec.as_str() {
        "h264" => track.configured(b"avcC").map(|bytes| bytes.to_vec()),
        "hevc" => track.configured(b"hvcC").map(|bytes| bytes.to_vec()),
        "av1" => track.configured(b"av1C").map(|bytes| bytes.to_vec()),
        "vp9" => track.configured(b"vpcC").map(|bytes| bytes.to_vec()),
        "prores" => Some(track.coding.to_vec()),
        _ => Some(specific),
    }
    .unwrap_or_default();
    // What configures VP9 in MP4 is no part of the stream.
    let handed = if codec == "vp9" { &[][..] } else { &private };
    let mut out = Track {
        coding: codecs::coding(&codec, handed, (track.width, track.height)),
        bits: codecs::bits(&codec, &private),
        codec,
        timescale: f64::from(track.timescale.max(1)),
        width: track.width,
        height: track.height,
        quarters: track.quarters,
        ..Track::default()
    };
    if samples.places.len() > PACKETS {
        return Err(Error::limit(format!("MPEG-4: more than {PACKETS} frames")));
    }
    let times = samples.times();
    let packet = |(n, place): (usize, &std::ops::Range<u64>)| Packet {
        place: place.clone(),
        time: times.get(n).copied().unwrap_or(0).saturating_sub(track.edit.0),
        key: samples.is_key(n),
        hidden: place.is_empty(),
    };
    out.packets = samples.places.iter().enumerate().map(packet).collect();
    let own = samples.duration() as f64 / out.timescale;
    out.seconds = if own > 0.0 { Some(own) } else { seconds };
    if let Some((primaries, transfer, matrix, full)) = track.colours {
        let words = colours(primaries.into(), transfer.into(), matrix.into());
        out.details.push(("colours".to_owned(), words));
        out.details.push(("range".to_owned(), if full { "full" } else { "limited" }.to_owned()));
    }
    if let Some((across, down)) = track.aspect.filter(|(across, down)| across != down) {
        out.details.push(("pixel aspect".to_owned(), format!("{across}:{down}")));
    }
    let name: String = track.coding.iter().map(|byte| char::from(*byte)).collect();
    out.details.push(("sample description".to_owned(), name));
    Ok((out, problem))
}

fn sound(track: &movie::Track, number: usize) -> Sound {
    let (object, _) = track.configured(b"esds").map(|bytes| codecs::elementary(bytes)).unwrap_or_default();
    Sound {
        codec: codecs::of_description(&track.coding, object),
        channels: track.channels.into(),
        rate: track.rate.into(),
        bits: track.bits.into(),
        name: track.name.clone(),
        language: track.language.clone(),
        number: Some(number),
        ..Sound::default()
    }
}

/// Texts of a track: a length and characters each.
fn subtitles(
    task: &Task,
    source: &Source,
    boxes: &Boxes,
    track: &movie::Track,
    top: &[Atom],
) -> Result<Subtitles> {
    let codec = codecs::of_description(&track.coding, None);
    let mut out =
        Subtitles { name: track.name.clone(), language: track.language.clone(), codec, cues: Vec::new() };
    if !matches!(&track.coding, b"tx3g" | b"text") {
        return Ok(out);
    }
    let Ok(samples) = boxes.samples(task, source, track, top).unless_cancelled()? else { return Ok(out) };
    let scale = f64::from(track.timescale.max(1));
    for ((place, time), duration) in
        samples.places.iter().zip(samples.times()).zip(&samples.durations).take(CUES)
    {
        task.check()?;
        let len = (place.end - place.start).min(64 << 10) as usize;
        let bytes = source.read_up_to(task, place.start, len)?;
        let len = usize::from(be::<u16>(&bytes, 0).unwrap_or(0));
        let text = String::from_utf8_lossy(bytes.get(2..(2 + len).min(bytes.len())).unwrap_or_default())
            .into_owned();
        if !text.is_empty() {
            let begin = time as f64 / scale;
            out.cues.push((begin, begin + f64::from(*duration) / scale, text));
        }
    }
    Ok(out)
}

/// Reads the items of a HEIF: each that is coded in HEVC is a picture of one frame.
pub(super) fn open_heic(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let top = isobmff::top(task, source)?;
    let Some(meta) = find(&top, b"meta") else {
        // Sequences are movies.
        return open(opening);
    };
    let meta = Meta::read(task, source, meta)?;
    let mut movie = Movie { problem: cut(&top), ..Movie::default() };
    let primary = meta.primary.unwrap_or(0);
    // The tiles of a grid are no pictures of their own.
    let mut tiles = std::collections::BTreeSet::new();
    if meta.kind(primary) == Some(*b"grid") {
        match still::node(source, &meta, primary) {
            Ok(node) => {
                movie.picture = Some(node);
                tiles.extend(meta.references(primary, b"dimg"));
            }
            Err(error) => movie.remarks.push(format!("the tiles are shown one by one: {}", error.message())),
        }
    }
    let mut ids: Vec<(u32, [u8; 4])> = meta
        .items()
        .filter(|(id, _)| !tiles.contains(id))
        .filter(|(_, kind)| matches!(kind, b"hvc1" | b"hev1" | b"avc1" | b"av01" | b"jpeg"))
        .collect();
    ids.sort_by_key(|(id, _)| (*id != primary, *id));
    for (id, kind) in ids.iter().take(1_000) {
        let size = meta.properties(*id).find_map(|property| match property {
            Property::Size(width, height) => Some((u64::from(*width), u64::from(*height))),
            _ => None,
        });
        let (Some((width, height)), Ok(places)) = (size, meta.places(*id)) else { continue };
        let codec = codecs::of_description(kind, None);
        let configuration = meta.properties(*id).find_map(|property| match property {
            Property::Configuration(bytes) => Some(bytes.to_vec()),
            _ => None,
        });
        let private = configuration.unwrap_or_default();
        let mut places = places.into_iter();
        let mut track = Track {
            coding: codecs::coding(&codec, &private, (width, height)),
            bits: codecs::bits(&codec, &private),
            codec,
            timescale: 1.0,
            width,
            height,
            packets: vec![Packet { place: places.next().unwrap_or(0..0), key: true, ..Packet::default() }],
            ..Track::default()
        };
        let more: Vec<_> = places.collect();
        if !more.is_empty() {
            track.more.insert(0, more);
        }
        let turns = meta.properties(*id).find_map(|property| match property {
            Property::Rotation(quarters) => Some(*quarters),
            _ => None,
        });
        track.shown = meta.properties(*id).find_map(|property| match property {
            Property::Aperture(fractions) => {
                let (x, y, width, height) = isobmff::aperture(fractions, (track.width, track.height))?;
                Some(Rect { x, y, width, height })
            }
            _ => None,
        });
        track.profile = profile(&meta, *id).map(|bytes| Arc::from(bytes.as_ref())).unwrap_or_default();
        // HEIF turns counter-clockwise.
        track.quarters = (4 - turns.unwrap_or(0) % 4) % 4;
        let name = if *id == primary { "primary item" } else { "item" };
        movie.videos.push((track, format!("{name} {id}"), String::new()));
    }
    blocks(task, source, &meta, primary, &mut movie.blocks)?;
    if movie.videos.is_empty() && movie.picture.is_none() {
        return Err(Error::unsupported("HEIF: none of its items is coded in HEVC, AVC, AV1 or JPEG"));
    }
    movie.node(task, source)
}

/// EXIF and XMP among the items, and the profile of the picture.
fn blocks(task: &Task, source: &Source, meta: &Meta, primary: u32, out: &mut Blocks) -> Result<()> {
    for (id, kind) in meta.items().filter(|(_, kind)| matches!(kind, b"Exif" | b"mime")) {
        let Ok(places) = meta.places(id) else { continue };
        let read = isobmff::joined(task, source, &places, limits::HEADER).unless_cancelled()?;
        let Ok(bytes) = read else { continue };
        if &kind == b"mime" {
            if memchr::memmem::find(&bytes, b"rdf:RDF").is_some() {
                out.xmp.push(bytes);
            }
            continue;
        }
        // Four bytes say where the TIFF header is.
        let skip = be::<u32>(&bytes, 0).unwrap_or(0) as usize;
        let start = skip.saturating_add(4).min(bytes.len());
        out.exif.get_or_insert_with(|| bytes.slice(start..));
    }
    out.profile = profile(meta, primary);
    Ok(())
}

/// The ICC profile of an item.
fn profile(meta: &Meta, id: u32) -> Option<Bytes> {
    meta.properties(id).find_map(|property| match property {
        Property::Profile(bytes) => Some(bytes.clone()),
        _ => None,
    })
}
