//! JPEG as TIFF 6.0 itself had it (section 22), before Technical Note 2: a stream of its own somewhere in the file, or
//! tables in fields with scans in strips. A stream is put together from them.

use super::super::jpeg;
use super::ifd::Order;
use super::page::Page;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Rect, Sample};

/// What fields say of a page in this compression.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Where a stream begins, and how long it is.
    pub(super) stream: Option<(u64, u64)>,
    /// Where tables of quantisation and of codes lie, one a component.
    pub(super) quantisation: Vec<u64>,
    pub(super) dc: Vec<u64>,
    pub(super) ac: Vec<u64>,
    pub(super) restart: u64,
}

/// The samples of a page, as RGB where it has colours.
pub(super) fn decode(
    task: &Task,
    source: &Source,
    order: Order,
    page: &Page,
    partial: bool,
) -> Result<Vec<u8>> {
    let bytes = stream(task, source, order, page)?;
    let mut pixels = jpeg::samples(task, &bytes, partial)?;
    if u64::from(pixels.channels) != page.channels || pixels.width < page.width || pixels.sample != Sample::U8
    {
        let what = format!(
            "TIFF: a JPEG of {} × {} × {} stands where {} × {} × {} pixels should",
            pixels.width, pixels.height, pixels.channels, page.width, page.height, page.channels
        );
        return Err(Error::malformed(what));
    }
    if page.photometric == 6 && page.channels == 3 {
        let samples = pixels.data.as_chunks_mut::<3>().0.iter_mut();
        match page.chroma {
            Some(chroma) => samples.for_each(|pixel| chroma.to_rgb(pixel)),
            None => samples.for_each(jpeg::to_rgb),
        }
    }
    let mut data = pixels.crop(Rect::all(page.width, page.height)).data;
    let most = limits::bytes(&[page.width, page.height, page.channels], 1)?;
    data.resize(limits::check(most, limits::CHUNK, "a page")?, 0);
    Ok(data)
}

fn stream(task: &Task, source: &Source, order: Order, page: &Page) -> Result<Vec<u8>> {
    let tables = page.old_jpeg.clone().unwrap_or_default();
    let len = source.len(task)?;
    if let Some((at, count)) = tables.stream {
        let end = if count == 0 { len } else { at.saturating_add(count).min(len) };
        let whole = source.read(task, at.min(end)..end)?;
        let has = |marker: u8| memchr::memmem::find(&whole, &[0xff, marker]).is_some();
        if whole.starts_with(&[0xff, 0xd8]) && has(0xda) {
            // Writers count too few bytes; what follows does no harm.
            let rest = if count > 0 { source.read(task, end..len)? } else { bytes::Bytes::new() };
            return Ok([whole.as_ref(), &rest].concat());
        }
        if whole.starts_with(&[0xff, 0xd8]) {
            // Headers alone: scans lie in the strips.
            let scans = strips(task, source, order, page)?;
            return Ok([whole.as_ref(), &start_of_scan(page), &scans, &[0xff, 0xd9]].concat());
        }
    }
    let mut out = vec![0xff, 0xd8];
    for (n, at) in tables.quantisation.iter().enumerate() {
        let table = source.read(task, *at..at.saturating_add(64))?;
        out.extend([0xff, 0xdb, 0, 67, n as u8]);
        out.extend_from_slice(&table);
    }
    out.extend(frame(page)?);
    for (kind, places) in [(0u8, &tables.dc), (0x10, &tables.ac)] {
        for (n, at) in places.iter().enumerate() {
            let counts = source.read(task, *at..at.saturating_add(16))?;
            let values: u64 = counts.iter().map(|count| u64::from(*count)).sum();
            let values = source.read(task, at + 16..(at + 16).saturating_add(values))?;
            let size = (19 + values.len()) as u16;
            out.extend([0xff, 0xc4]);
            out.extend(size.to_be_bytes());
            out.push(kind | n as u8);
            out.extend_from_slice(&counts);
            out.extend_from_slice(&values);
        }
    }
    if tables.restart > 0 {
        out.extend([0xff, 0xdd, 0, 4]);
        out.extend((tables.restart as u16).to_be_bytes());
    }
    out.extend(start_of_scan(page));
    out.extend(strips(task, source, order, page)?);
    out.extend([0xff, 0xd9]);
    Ok(out)
}

fn frame(page: &Page) -> Result<Vec<u8>> {
    let side = |side: u64| {
        u16::try_from(side).map_err(|_| Error::limit("TIFF: a JPEG with sides of more than 65535"))
    };
    let channels = page.channels.min(4) as u8;
    let mut out = vec![0xff, 0xc0, 0, 8 + 3 * channels, 8];
    out.extend(side(page.height)?.to_be_bytes());
    out.extend(side(page.width)?.to_be_bytes());
    out.push(channels);
    for n in 0..channels {
        let (h, v) = if n == 0 && channels == 3 { page.subsampling } else { (1, 1) };
        out.extend([n + 1, ((h & 15) << 4 | v & 15) as u8, n]);
    }
    Ok(out)
}

fn start_of_scan(page: &Page) -> Vec<u8> {
    let channels = page.channels.min(4) as u8;
    let mut out = vec![0xff, 0xda, 0, 6 + 2 * channels, channels];
    for n in 0..channels {
        out.extend([n + 1, n << 4 | n]);
    }
    out.extend([0, 63, 0]);
    out
}

/// The bytes of all strips.
fn strips(task: &Task, source: &Source, order: Order, page: &Page) -> Result<Vec<u8>> {
    let places = super::places(task, source, order, page)?;
    let whole = places.iter().fold(0u64, |all, (_, count)| all.saturating_add(*count));
    limits::check(whole, limits::CHUNK, "the strips of a page")?;
    let mut out = Vec::new();
    for (at, count) in places {
        task.check()?;
        out.extend_from_slice(&source.read_up_to(task, at, count as usize)?);
    }
    Ok(out)
}
