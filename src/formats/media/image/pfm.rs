//! PFM: portable float maps, grey (`Pf`) or RGB (`PF`), the bottom row first.
//! <https://netpbm.sourceforge.net/doc/pfm.html>

use super::picture::{self, Codec, Header, blank, check_pixels};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Rect, Sample};
use crate::data::dtype::swap_bytes;
use crate::data::format::Opening;
use crate::data::node::Node;

/// Bytes in which the header ends.
const HEADER: usize = 4096;

/// Reads the three lines of the header.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let bytes = source.read_up_to(task, 0, HEADER)?;
    let (words, data) = words(&bytes)?;
    let channels = if words.first() == Some(&"PF") { 3 } else { 1 };
    let wrong = |what: &str| Error::malformed(format!("PFM header: {what}"));
    let side = |n: usize| words.get(n).and_then(|word| word.parse::<u64>().ok());
    let (width, height) = side(1).zip(side(2)).ok_or_else(|| wrong("its width and height are no numbers"))?;
    let scale = words.get(3).and_then(|word| word.parse::<f64>().ok());
    let scale =
        scale.filter(|s| s.is_finite() && *s != 0.0).ok_or_else(|| wrong("its scale is no number"))?;
    let mut header = Header::default();
    header.detail("scale", scale.abs().to_string());
    header.detail("byte order", if scale < 0.0 { "little" } else { "big" });
    let info = &mut header.info;
    (info.width, info.height, info.channels) = (width, height, channels);
    (info.bits, info.sample) = (32, Sample::F32);
    let bytes = crate::bytes::limits::bytes(&[width, height, channels.into()], 4)?;
    if let Some(len) = source.known_len()
        && data.checked_add(bytes).is_none_or(|end| end > len)
    {
        let what =
            format!("PFM: it needs {bytes} bytes of pixels, {} are there; it may be cut off", len - data);
        header.problem = Some(Error::malformed(what).at(data));
    }
    picture::node(source, header, Pfm { width, height, channels, data, big_endian: scale > 0.0 })
}

/// The four words of the header, and where the pixels begin: behind one white space.
fn words(bytes: &[u8]) -> Result<(Vec<&str>, u64)> {
    let (mut words, mut at) = (Vec::new(), 0);
    while words.len() < 4 {
        let rest = bytes.get(at..).unwrap_or_default();
        let start = rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len());
        let word = rest.get(start..).unwrap_or_default();
        let Some(end) = word.iter().position(u8::is_ascii_whitespace) else {
            return Err(Error::malformed("PFM header: it does not end").at(at as u64));
        };
        let text = word.get(..end).and_then(|word| std::str::from_utf8(word).ok());
        words.push(text.ok_or_else(|| Error::malformed("PFM header: it is no text").at(at as u64))?);
        at += start + end;
    }
    Ok((words, at as u64 + 1))
}

struct Pfm {
    width: u64,
    height: u64,
    channels: u32,
    data: u64,
    big_endian: bool,
}

impl Pfm {
    fn samples(&self, task: &Task, source: &Source, rect: Rect, partial: bool) -> Result<Pixels> {
        check_pixels(rect.width, rect.height)?;
        let mut pixels = blank(rect.width, rect.height, self.channels, Sample::F32, false)?;
        let pixel = u64::from(self.channels) * 4;
        let len = (rect.width * pixel) as usize;
        for (n, line) in pixels.data.chunks_exact_mut(len.max(1)).enumerate() {
            task.check()?;
            let from_bottom = self.height - 1 - (rect.y + n as u64);
            let at = self.data + (from_bottom * self.width + rect.x) * pixel;
            let stored = source.read_up_to(task, at, len)?;
            if stored.len() < len && !partial {
                return Err(Error::malformed("PFM: its pixels end too early").at(at));
            }
            if let Some(line) = line.get_mut(..stored.len()) {
                line.copy_from_slice(&stored);
            }
        }
        if self.big_endian {
            swap_bytes(&mut pixels.data, 4);
        }
        Ok(pixels)
    }
}

impl Codec for Pfm {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        self.samples(task, source, Rect::all(self.width, self.height), partial)
    }

    fn region(&self, task: &Task, source: &Source, _frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        self.samples(task, source, rect, false).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Content;
    use crate::data::format::Options;
    use crate::formats::open_source;

    #[test]
    fn rows_come_from_the_bottom() {
        for (scale, big) in [("-1.0", false), ("1.0", true)] {
            let mut bytes = format!("Pf\n2 2\n{scale}\n").into_bytes();
            for value in [3f32, 4.0, 1.0, 2.0] {
                bytes.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
            }
            let task = Task::new();
            let document = open_source(&task, &Source::memory("x.pfm", bytes), &Options::default()).unwrap();
            let Some(Content::Image(image)) = &document.root.content else { panic!() };
            let pixels = image.read(&task, 0, 0, Rect::all(2, 2)).unwrap();
            let all: Vec<f64> = (0..4).filter_map(|n| pixels.sample(n % 2, n / 2, 0)).collect();
            assert_eq!(all, [1.0, 2.0, 3.0, 4.0]);
        }
    }
}
