//! A page of a TIFF: what its directory says of size, samples, and where strips or tiles lie.

use super::fax::Scheme;
use super::ifd::{Directory, Field, Order};
use super::lerc::Around;
use super::old_jpeg::Tables;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Sample;

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lzw,
    PackBits,
    Deflate,
    Zstd,
    Lzma,
    Jpeg,
    /// The JPEG of TIFF 6.0 itself, which Technical Note 2 gave up.
    OldJpeg,
    /// CCITT run lengths, groups 3 and 4.
    Fax(Scheme),
    Webp,
    Jpeg2000,
    JpegXl,
    /// SGI's logarithmic luminance and colour: by run lengths in bytes of equal weight, or 24 bits a pixel.
    LogLuv {
        packed: bool,
    },
    /// ThunderScan's differences of 4 bits.
    Thunder,
    /// Esri's LERC, with something around it.
    Lerc(Around),
    Other(u64),
}

impl Compression {
    /// `options` are those of group 3, `around` what stands around LERC.
    fn of(code: u64, options: u64, around: u64) -> Self {
        match code {
            1 => Compression::None,
            2 => Compression::Fax(Scheme::Runs),
            3 => Compression::Fax(Scheme::Group3 { two_dimensional: options & 1 == 1 }),
            4 => Compression::Fax(Scheme::Group4),
            5 => Compression::Lzw,
            6 => Compression::OldJpeg,
            7 | 99 => Compression::Jpeg,
            8 | 32946 => Compression::Deflate,
            32809 => Compression::Thunder,
            32773 => Compression::PackBits,
            33003 | 33004 | 33005 | 34712 => Compression::Jpeg2000,
            34676 => Compression::LogLuv { packed: false },
            34677 => Compression::LogLuv { packed: true },
            34887 => Compression::Lerc(Around::of(around)),
            34925 => Compression::Lzma,
            50000 | 34926 => Compression::Zstd,
            50001 | 34927 => Compression::Webp,
            50002 | 52546 => Compression::JpegXl,
            other => Compression::Other(other),
        }
    }

    /// Its name.
    pub(super) fn words(self) -> String {
        let known = match self {
            Compression::None => "none",
            Compression::Lzw => "LZW",
            Compression::PackBits => "PackBits",
            Compression::Thunder => "ThunderScan",
            Compression::Deflate => "deflate",
            Compression::Zstd => "zstd",
            Compression::Lzma => "LZMA",
            Compression::Jpeg => "JPEG",
            Compression::Fax(Scheme::Runs) => "CCITT run lengths",
            Compression::Fax(Scheme::Group3 { .. }) => "CCITT fax, group 3",
            Compression::Fax(Scheme::Group4) => "CCITT fax, group 4",
            Compression::OldJpeg => "old-style JPEG",
            Compression::LogLuv { .. } => "SGI LogLuv",
            Compression::Jpeg2000 => "JPEG 2000",
            Compression::Webp => "WebP",
            Compression::JpegXl => "JPEG XL",
            Compression::Lerc(Around::Nothing | Around::Other(_)) => "LERC",
            Compression::Lerc(Around::Deflate) => "LERC and deflate",
            Compression::Lerc(Around::Zstd) => "LERC and zstd",
            Compression::Other(34892) => "lossy JPEG of DNG",
            Compression::Other(code) => return format!("compression {code}"),
        };
        known.to_owned()
    }
}

/// What samples are made of stored bits beside taking them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    /// Floats of a sign, 7 bits of exponent and 16 of fraction.
    Float24,
    /// Real and imaginary part as whole numbers of half of the bits.
    ComplexInteger,
    /// Luminance and colour as [`Compression::LogLuv`] has them.
    LogLuv,
}

/// What YCbCr is made of, and which codes stand for black and white (TIFF 6.0, section 21).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chroma {
    /// Shares of red, green and blue in luminance.
    coefficients: [f64; 3],
    /// Codes of black and white of luminance, and of zero and full colour of each difference.
    reference: [f64; 6],
}

impl Chroma {
    /// What the fields say; `None` where it is what JPEG has.
    fn read(task: &Task, source: &Source, order: Order, directory: &Directory) -> Result<Option<Self>> {
        const USUAL: Chroma = Chroma {
            coefficients: [0.299, 0.587, 0.114],
            reference: [0.0, 255.0, 128.0, 255.0, 128.0, 255.0],
        };
        let floats = |tag: u16| match directory.field(tag) {
            Some(field) => {
                field.floats(task, source, order).unless_cancelled().map(Result::unwrap_or_default)
            }
            None => Ok(Vec::new()),
        };
        let (coefficients, reference) = (floats(529)?, floats(532)?);
        let is_fit = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let read = Chroma {
            coefficients: match coefficients.first_chunk() {
                Some(known) if is_fit(known) && known[1] > 0.0 => *known,
                _ => USUAL.coefficients,
            },
            reference: match reference.first_chunk() {
                Some(known) if is_fit(known) => *known,
                _ => USUAL.reference,
            },
        };
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);
        let is_usual =
            near(&read.coefficients, &USUAL.coefficients) && near(&read.reference, &USUAL.reference);
        Ok((!is_usual).then_some(read))
    }

    /// A pixel as red, green and blue.
    pub(super) fn to_rgb(self, pixel: &mut [u8; 3]) {
        let [black, white, ref blue @ .., _, _] = self.reference;
        let red: [f64; 2] = [self.reference[4], self.reference[5]];
        let measured = |code: u8, [zero, full]: [f64; 2], most: f64| {
            let span = if full == zero { 1.0 } else { full - zero };
            (f64::from(code) - zero) * most / span
        };
        let y = measured(pixel[0], [black, white], 255.0);
        let (cb, cr) = (measured(pixel[1], *blue, 127.0), measured(pixel[2], red, 127.0));
        let [of_red, of_green, of_blue] = self.coefficients;
        let r = y + cr * (2.0 - 2.0 * of_red);
        let b = y + cb * (2.0 - 2.0 * of_blue);
        let g = (y - of_red * r - of_blue * b) / of_green;
        *pixel = [r, g, b].map(|value| value.round().clamp(0.0, 255.0) as u8);
    }
}

/// A page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) width: u64,
    pub(super) height: u64,
    /// Of each stored sample.
    pub(super) bits: u16,
    /// Of each stored sample of a pixel, where they differ: `bits` is then what they are widened to.
    pub(super) mixed: Vec<u16>,
    pub(super) sample: Sample,
    /// Samples of each pixel.
    pub(super) channels: u64,
    pub(super) photometric: u64,
    pub(super) compression: Compression,
    pub(super) predictor: u64,
    pub(super) planar: bool,
    pub(super) reversed_bits: bool,
    /// The kinds of the samples beyond the colours.
    pub(super) extra: Vec<u64>,
    pub(super) tiled: bool,
    /// Columns and rows of a chunk.
    pub(super) chunk: (u64, u64),
    pub(super) offsets: Option<Field>,
    pub(super) counts: Option<Field>,
    /// Red, green and blue of each index, one colour after the other.
    pub(super) palette: Option<Vec<u64>>,
    pub(super) jpeg_tables: Option<bytes::Bytes>,
    /// Chroma subsampling of YCbCr.
    pub(super) subsampling: (u64, u64),
    /// What YCbCr is made of and measured by, where that is not as usual.
    pub(super) chroma: Option<Chroma>,
    /// Where the pixels lie behind those of the directory: a stack of ImageJ has one directory.
    pub(super) shift: u64,
    /// Bits a sample are packed as floats of 24, or as pairs of whole numbers that are complex.
    pub(super) packing: Packing,
    /// Where the tables of old-style JPEG lie.
    pub(super) old_jpeg: Option<Tables>,
    /// Whether this is a mask of the page before.
    pub(super) mask: bool,
    /// Whether this is a smaller version of another page.
    pub(super) reduced: bool,
    /// Why the pixels cannot be read.
    pub(super) refusal: Option<Error>,
}

/// The field of tiles or of strips, the other one where it is the only one there.
fn either(directory: &Directory, tiled: bool, tiles: u16, strips: u16) -> Option<Field> {
    let (own, other) = if tiled { (tiles, strips) } else { (strips, tiles) };
    directory.field(own).or_else(|| directory.field(other)).cloned()
}

impl Page {
    /// Reads what a directory says.
    ///
    /// # Errors
    /// Where there is no size.
    pub(super) fn read(task: &Task, source: &Source, order: Order, directory: &Directory) -> Result<Page> {
        let numbers = |tag: u16| match directory.field(tag) {
            Some(field) => field.numbers(task, source, order).map(Some),
            None => Ok(None),
        };
        let one = |tag: u16, default: u64| {
            numbers(tag).map(|list| list.and_then(|list| list.first().copied()).unwrap_or(default))
        };
        let (width, height) = (one(256, 0)?, one(257, 0)?);
        if width == 0 || height == 0 {
            let what = format!("TIFF: a page of {width} × {height} pixels");
            return Err(Error::malformed(what).at(directory.at));
        }
        let bits = numbers(258)?.unwrap_or_else(|| vec![1]);
        let format = one(339, 1)?;
        let lerc = numbers(50674)?.and_then(|list| list.get(1).copied());
        let compression = Compression::of(one(259, 1)?, one(292, 0)?, lerc.unwrap_or(0));
        let tiled = directory.field(322).is_some();
        let chunk = match tiled {
            true => (one(322, 0)?, one(323, 0)?),
            false => (width, one(278, height)?.clamp(1, height)),
        };
        let first = bits.first().copied().unwrap_or(1);
        let channels = one(277, 1)?;
        let sampling = numbers(530)?.unwrap_or_else(|| vec![2, 2]);
        let mut page = Page {
            width,
            height,
            bits: first.min(u64::from(u16::MAX)) as u16,
            mixed: Vec::new(),
            sample: Sample::U8,
            channels,
            photometric: one(262, 1)?,
            compression,
            predictor: one(317, 1)?,
            planar: one(284, 1)? == 2 && channels > 1,
            reversed_bits: one(266, 1)? == 2,
            extra: numbers(338)?.unwrap_or_default(),
            tiled,
            chunk,
            // Some writers give the places of tiles in the fields of strips, and readers take either.
            offsets: either(directory, tiled, 324, 273),
            counts: either(directory, tiled, 325, 279),
            palette: numbers(320)?,
            jpeg_tables: match directory.field(347) {
                Some(field) => Some(field.raw(task, source)?),
                None => None,
            },
            subsampling: (sampling.first().copied().unwrap_or(1), sampling.get(1).copied().unwrap_or(1)),
            chroma: Chroma::read(task, source, order, directory)?,
            shift: 0,
            packing: Packing::Plain,
            old_jpeg: None,
            // The old field of the same has 2 for smaller versions.
            reduced: one(254, 0)? & 1 == 1 || one(255, 0)? == 2,
            mask: one(254, 0)? & 4 == 4,
            refusal: None,
        };
        if compression == Compression::OldJpeg {
            // One stream for the page, whatever strips it is cut into.
            (page.tiled, page.chunk) = (false, (width, height));
            let stream = one(513, 0)?;
            page.old_jpeg = Some(Tables {
                stream: (stream > 0).then_some((stream, one(514, 0)?)),
                quantisation: numbers(519)?.unwrap_or_default(),
                dc: numbers(520)?.unwrap_or_default(),
                ac: numbers(521)?.unwrap_or_default(),
                restart: one(515, 0)?,
            });
        }
        page.refusal = page.judge(&bits, format).err().map(|error| error.at(directory.at));
        Ok(page)
    }

    /// Finds the type of the samples, and what cannot be read.
    fn judge(&mut self, bits: &[u64], format: u64) -> Result<()> {
        let no = |what: String| Err(Error::unsupported(format!("TIFF: {what}")));
        self.mix(bits, format)?;
        self.sample = match (format, self.bits) {
            (1 | 4, 1..=8) => Sample::U8,
            (1 | 4, 9..=16) => Sample::U16,
            (1 | 4, 17..=32) => Sample::U32,
            (1 | 4, 64) => Sample::U64,
            (2, 2..=8) => Sample::I8,
            (2, 9..=16) => Sample::I16,
            (2, 17..=32) => Sample::I32,
            (2, 64) => Sample::I64,
            (3, 16) => Sample::F16,
            (3, 32) => Sample::F32,
            (3, 64) => Sample::F64,
            (6, 64) => Sample::C64,
            (6, 128) => Sample::C128,
            (3, 24) => Sample::F32,
            (5, 16 | 32) => Sample::C64,
            (5, 64) => Sample::C128,
            _ if matches!(self.compression, Compression::LogLuv { .. }) => Sample::F32,
            (format, bits) => {
                let kind = ["", "unsigned", "signed", "float", "untyped", "complex integer", "complex"];
                let kind = kind.get(format as usize).copied().unwrap_or("unknown");
                return no(format!("{kind} samples of {bits} bits"));
            }
        };
        self.packing = match (format, self.bits, self.compression) {
            (_, _, Compression::LogLuv { .. }) => Packing::LogLuv,
            (3, 24, _) => Packing::Float24,
            (5, ..) => Packing::ComplexInteger,
            _ => Packing::Plain,
        };
        if self.packing == Packing::LogLuv {
            self.sample = Sample::F32;
        }
        if self.channels == 0 || self.channels > 1 << 16 {
            return Err(Error::malformed(format!("TIFF: {} samples a pixel", self.channels)));
        }
        if self.chunk.0 == 0 || self.chunk.1 == 0 {
            return Err(Error::malformed(format!(
                "TIFF: tiles of {} × {} pixels",
                self.chunk.0, self.chunk.1
            )));
        }
        if let Compression::Other(_) | Compression::Lerc(Around::Other(_)) = self.compression {
            return no(format!("{}, as which its pixels are stored", self.compression.words()));
        }
        let whole = [8, 16, 32, 64].contains(&self.bits);
        match self.predictor {
            1 | 2 => {}
            3 if self.sample.is_float() && (whole || self.packing == Packing::Float24) => {}
            other => return no(format!("the predictor {other} with samples of {} bits", self.bits)),
        }
        if self.is_subsampled() {
            let (h, v) = self.subsampling;
            let fits = [1, 2, 4].contains(&h) && [1, 2, 4].contains(&v);
            if !fits || self.bits != 8 || self.channels != 3 || self.planar || self.predictor != 1 {
                return no(format!(
                    "YCbCr of {} bits with a sample of colour for {h} × {v} pixels",
                    self.bits
                ));
            }
        }
        let known = matches!((self.photometric, self.channels), (32844, 1) | (32845, 3));
        if self.packing == Packing::LogLuv && (!known || self.planar) {
            return no("SGI LogLuv of another kind than luminance or luminance with colour".to_owned());
        }
        if self.compression == Compression::Thunder && (self.bits != 4 || self.channels != 1) {
            return no("ThunderScan with other than 4 bits a pixel".to_owned());
        }
        let is_fax = matches!(self.compression, Compression::Fax(_));
        if is_fax && (self.bits != 1 || self.channels != 1 && !self.planar) {
            return no("CCITT fax with more than one bit a pixel".to_owned());
        }
        if self.offsets.is_none() && self.compression != Compression::OldJpeg {
            return Err(Error::malformed("TIFF: a page without the offsets of its strips or tiles"));
        }
        Ok(())
    }

    /// Takes note of samples of different bits in one pixel, as 5, 6 and 5.
    fn mix(&mut self, bits: &[u64], format: u64) -> Result<()> {
        let first = u64::from(self.bits);
        let Some(other) = bits.iter().find(|&&b| b != first) else { return Ok(()) };
        let packed = matches!(
            self.compression,
            Compression::None
                | Compression::Lzw
                | Compression::PackBits
                | Compression::Deflate
                | Compression::Zstd
                | Compression::Lzma
        );
        let short = bits.len() as u64 == self.channels && bits.iter().all(|b| (1..=16).contains(b));
        if !packed || !short || format != 1 || self.planar || self.predictor != 1 || self.photometric > 2 {
            let what = format!("TIFF: samples of {first} and {other} bits in one pixel");
            return Err(Error::unsupported(what));
        }
        self.mixed = bits.iter().map(|b| *b as u16).collect();
        self.bits = if bits.iter().all(|b| *b <= 8) { 8 } else { 16 };
        Ok(())
    }

    /// Whether several pixels share a sample of colour, outside of codecs that do that themselves.
    pub(super) fn is_subsampled(&self) -> bool {
        let own = matches!(
            self.compression,
            Compression::Jpeg
                | Compression::OldJpeg
                | Compression::Webp
                | Compression::Jpeg2000
                | Compression::JpegXl
        );
        self.photometric == 6 && !own && self.subsampling != (1, 1)
    }

    /// Whether the last sample of a pixel is its alpha.
    pub(super) fn alpha(&self) -> bool {
        matches!(self.extra.as_slice(), [1 | 2]) && self.channels == self.colours() + 1
    }

    /// Samples of each pixel that are colours.
    fn colours(&self) -> u64 {
        match self.photometric {
            2 | 6 | 8 => 3,
            5 => 4,
            _ => 1,
        }
    }

    /// Chunks across and down.
    pub(super) fn grid(&self) -> (u64, u64) {
        (self.width.div_ceil(self.chunk.0.max(1)), self.height.div_ceil(self.chunk.1.max(1)))
    }

    /// The photometric interpretation in words.
    pub(super) fn colour_words(&self) -> &'static str {
        match self.photometric {
            0 => "grey, white is zero",
            1 => "grey",
            2 => "RGB",
            3 => "palette",
            4 => "mask",
            5 => "CMYK",
            6 => "YCbCr",
            8 => "CIE L*a*b*",
            32803 => "colour filter array",
            32844 | 32845 => "LogLuv",
            34892 => "linear raw",
            _ => "unknown",
        }
    }
}
