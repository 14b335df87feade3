//! Writes Windows bitmaps: grey as 8 bits with a palette of greys, colours as 24 bits, colours with alpha as 32 bits
//! with masks (BITMAPV4HEADER). The last row comes first, as all readers take it.
//! <https://learn.microsoft.com/en-us/windows/win32/gdi/bitmap-structures>

use super::{Colours, FOLDER, FRAME, Holds, bands, folder_note, frame, image, is_folder};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ImageInfo, Kind, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, Options, Payload, Sink, WriteTo, Writer, note,
};
use crate::data::scan::put;

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    pictures: ArrayPictures { samples: &[Sample::U8], frames: false },
    options: &[FRAME, FOLDER, CHANNELS],
    check: |payload| {
        HOLDS.check(payload)?;
        Header::of(image(payload)?.info()).map(drop)
    },
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds = Holds {
    name: "BMP",
    colours: &[Colours::Grey, Colours::Rgb, Colours::Rgba],
    bits: 8,
    side: i32::MAX as u64,
    turned: false,
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let mut losses = HOLDS.losses(image.info(), options);
    if HOLDS.colours(image.info()).is_ok_and(Colours::is_grey) {
        // A palette of greys is one of colours, which is how readers show it.
        let what = "grey is written as a palette of 256 greys, which readers may show as red, green and blue";
        losses.push(note(LossKind::Type, what).if_any());
    }
    losses.extend(folder_note(options));
    losses
}

/// The layout of a file.
struct Header {
    colours: Colours,
    width: u32,
    height: u32,
    /// Bytes of a stored row: a multiple of four.
    row: usize,
    /// Where the pixels begin.
    start: u32,
    /// Bytes of the file.
    len: u32,
}

impl Header {
    fn of(info: &ImageInfo) -> Result<Self> {
        let (width, height) = HOLDS.sides(info)?;
        let colours = HOLDS.colours(info)?;
        let row = u64::from(width) * colours.channels() as u64;
        let row = row.next_multiple_of(4);
        let start: u32 = match colours {
            Colours::Grey => 14 + 40 + 4 * 256,
            Colours::Rgba => 14 + 108,
            _ => 14 + 40,
        };
        let len = row.saturating_mul(u64::from(height)).saturating_add(u64::from(start));
        let len = u32::try_from(len).map_err(|_| {
            Error::unsupported(format!(
                "BMP: a picture of {width} × {height} pixels; a file has at most 4 GiB"
            ))
        })?;
        Ok(Header { colours, width, height, row: row as usize, start, len })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = b"BM".to_vec();
        let mut number = |n: u32| out.extend_from_slice(&n.to_le_bytes());
        let is_masked = self.colours == Colours::Rgba;
        number(self.len);
        number(0);
        number(self.start);
        number(if is_masked { 108 } else { 40 });
        number(self.width);
        number(self.height);
        // One plane, and the bits of a pixel.
        number(1 | (self.colours.channels() as u32 * 8) << 16);
        number(if is_masked { 3 } else { 0 });
        number(self.len - self.start);
        // 72 pixels an inch.
        number(2835);
        number(2835);
        number(if self.colours == Colours::Grey { 256 } else { 0 });
        number(0);
        if is_masked {
            for mask in [0x00ff_0000_u32, 0x0000_ff00, 0x0000_00ff, 0xff00_0000] {
                number(mask);
            }
            // sRGB; the end points and gammas are not looked at then.
            number(u32::from_be_bytes(*b"sRGB"));
            (0..12).for_each(|_| number(0));
        }
        if self.colours == Colours::Grey {
            (0..256_u32).for_each(|n| number(n * 0x01_01_01));
        }
        out
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    write_frame(task, payload, frame(image(payload)?.info(), options)?, sink)
}

fn folder(task: &Task, payload: &Payload, _options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "bmp", files, &|task, frame, sink| write_frame(task, payload, frame, sink))
}

fn write_frame(task: &Task, payload: &Payload, frame: u64, sink: &mut dyn Sink) -> Result<()> {
    let image = image(payload)?;
    let header = Header::of(image.info())?;
    put(sink, &header.bytes())?;
    task.set_total(image.info().height);
    let mut out = Vec::new();
    bands(task, image.as_ref(), frame, (1, true), &mut |band| {
        let mut pixels = HOLDS.pixels(band)?;
        match header.colours {
            Colours::Rgb => pixels.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2)),
            Colours::Rgba => pixels.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2)),
            _ => {}
        }
        out.clear();
        let row = header.width as usize * header.colours.channels();
        for line in pixels.chunks_exact(row).rev() {
            out.extend_from_slice(line);
            out.resize(out.len().next_multiple_of(header.row), 0);
        }
        put(sink, &out)
    })
}
