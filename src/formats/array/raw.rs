//! Raw arrays: elements without a header. What they are is told by the user — type, shape, order, what stands
//! before them and behind each row — or guessed from the file's name and size
//! (`depth_640x480_f32.raw`, `frame_1920x1080.rgb`).
//!
//! In a name the sides stand as in pictures, width first; in the option `shape` as in NumPy, the slowest first.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, OptionSpec, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, has_extension};
use std::sync::Arc;

const DTYPE: OptionSpec = OptionSpec::new(
    "dtype",
    "The type of the elements, as NumPy says it or short: float32, f32, uint8, u8, >i2, bf16, c64",
)
.default("uint8");
const SHAPE: OptionSpec = OptionSpec::new(
    "shape",
    "The length of each dimension, the slowest first: 480x640x3; one may be ?, what the file has",
)
.default("?");
const ORDER: OptionSpec =
    OptionSpec::new("order", "Which dimension is the fastest in the file: the last one (C) or the first (F)")
        .one_of("C", &["C", "F"]);
const OFFSET: OptionSpec =
    OptionSpec::new("offset", "How many bytes stand before the first element").default("0");
const PADDING: OptionSpec =
    OptionSpec::new("row-padding", "How many bytes stand behind each row of the fastest dimension")
        .default("0");
const BYTE_ORDER: OptionSpec = OptionSpec::new(
    "byte-order",
    "Which byte of an element comes first, the lowest (little) or the highest (big)",
)
.one_of("little", &["little", "big"]);

/// What can be said of a raw array.
pub const OPTIONS: &[OptionSpec] = &[DTYPE, SHAPE, ORDER, OFFSET, PADDING, BYTE_ORDER];

/// Endings under which raw arrays are looked for by name; some tell the type as well.
const ENDINGS: [&str; 22] = [
    "raw", "bin", "dat", "data", "rgb", "rgba", "bgr", "bgra", "gray", "grey", "y8", "y16", "u8", "u16",
    "i16", "i32", "f16", "f32", "f64", "float", "vol", "img",
];

/// The descriptor.
pub static FORMAT: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Array],
    options: OPTIONS,
    ..Format::new("raw", "Raw array", open)
};

fn sniff(head: &Head) -> Match {
    let guess = head.len.and_then(|len| Layout::guess(&head.name, len));
    // Text under such a name is text.
    if guess.is_some() && !head.is_folder && !head.is_text() { Match::Yes } else { Match::No }
}

/// How the elements lie in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Their type.
    pub dtype: DType,
    /// The lengths of the dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// Whether the first dimension is the fastest.
    pub fortran: bool,
    /// Bytes before the first element.
    pub offset: u64,
    /// Bytes behind each row of the fastest dimension.
    pub padding: u64,
    /// Whether the highest byte of an element comes first.
    pub big: bool,
}

impl Layout {
    /// The layout that options say, in a file of `len` bytes.
    ///
    /// # Errors
    /// `Unsupported` with what is wrong with an option.
    pub fn parse(options: &Options, len: u64) -> Result<Self> {
        let number = |spec| options.number(spec, "it is a number of bytes", |_: &u64| true);
        let (dtype, is_marked_big) = dtype(options.choice(&DTYPE)?)?;
        let mut layout = Layout {
            dtype,
            shape: Vec::new(),
            fortran: options.choice(&ORDER)? == "F",
            offset: number(&OFFSET)?,
            padding: number(&PADDING)?,
            big: options.choice(&BYTE_ORDER)? == "big" || is_marked_big,
        };
        layout.shape = shape(options.choice(&SHAPE)?)?.resolve(&layout, len)?;
        limits::bytes(&layout.shape, layout.dtype.size())?;
        Ok(layout)
    }

    /// A layout that fits a file's name and its length exactly.
    pub fn guess(name: &str, len: u64) -> Option<Self> {
        if len == 0 || !has_extension(name, &ENDINGS) {
            return None;
        }
        let name = name.to_lowercase();
        let words: Vec<&str> =
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let mut sides = words.iter().rev().find_map(|word| sides_of(word))?;
        let marked = words.iter().rev().find_map(|word| type_of(word));
        let colours = words.iter().rev().find_map(|word| match *word {
            "rgb" | "bgr" | "rgb24" | "bgr24" => Some(3),
            "rgba" | "bgra" | "rgba32" => Some(4),
            _ => None,
        });
        // Width stands first in a name, and is the fastest.
        sides.reverse();
        let pixels = limits::elements(&sides).ok().filter(|pixels| *pixels > 0)?;
        let each = len.checked_div(pixels).filter(|each| each.checked_mul(pixels) == Some(len))?;
        let (dtype, big) = match (&marked, colours) {
            (Some((dtype, big)), _) => (dtype.clone(), *big),
            (None, Some(count)) => (if each == 2 * count { DType::U16 } else { DType::U8 }, false),
            (None, None) => (if each == 2 { DType::U16 } else { DType::U8 }, false),
        };
        let channels = each.checked_div(dtype.size()).filter(|n| n * dtype.size() == each)?;
        let fits = match (colours, &marked) {
            (Some(count), _) => channels == count,
            (None, Some(_)) => channels <= 4,
            (None, None) => channels == 1 || channels == 3,
        };
        if channels > 1 {
            sides.push(channels);
        }
        let shape = sides;
        (fits && channels > 0).then_some(Layout { dtype, shape, fortran: false, offset: 0, padding: 0, big })
    }

    /// What a dialog begins with: a layout that fits, else the sides that the name says behind a header, else
    /// one dimension of the type that the name's ending (or a word of it) says. `None` where it says nothing.
    pub fn begin(name: &str, len: u64) -> Option<Self> {
        if let Some(guess) = Self::guess(name, len) {
            return Some(guess);
        }
        let name = name.to_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let sides = words.clone().rev().find_map(sides_of);
        // Words like `long` and `half` mean much else; only at the end they are types.
        let mut words = words.rev();
        let ending = words.next().and_then(type_of);
        let said = |word: &str| type_of(word).filter(|_| word.ends_with(|c: char| c.is_ascii_digit()));
        let told = ending.or_else(|| words.find_map(said));
        if let Some(layout) = sides.and_then(|sides| Self::headed(told.clone(), sides, len)) {
            return Some(layout);
        }
        let (dtype, big) = told?;
        let shape = vec![len.checked_div(dtype.size())?];
        Some(Layout { dtype, shape, fortran: false, offset: 0, padding: 0, big })
    }

    /// An array of these sides, width first, at the end of a file: what is too much for it stands before it.
    fn headed(told: Option<(DType, bool)>, mut sides: Vec<u64>, len: u64) -> Option<Self> {
        sides.reverse();
        let count = limits::elements(&sides).ok().filter(|count| *count > 0)?;
        let (dtype, big) = match told {
            Some(told) => told,
            // As many bytes for each as there is room for.
            None => match len / count {
                8.. => (DType::F64, false),
                4.. => (DType::F32, false),
                2.. => (DType::U16, false),
                _ => (DType::U8, false),
            },
        };
        let offset = len.checked_sub(limits::bytes(&sides, dtype.size()).ok()?)?;
        Some(Layout { dtype, shape: sides, fortran: false, offset, padding: 0, big })
    }

    /// Bytes from one row of the fastest dimension to the next, and how many rows there are.
    fn rows(&self) -> Result<(u64, u64)> {
        let fastest = if self.fortran { self.shape.first() } else { self.shape.last() };
        let row = limits::bytes(&[fastest.copied().unwrap_or(1)], self.dtype.size())?;
        let step =
            row.checked_add(self.padding).ok_or_else(|| Error::unsupported("a row of more than 64 bits"))?;
        let rows = limits::elements(&self.shape)?.checked_div(fastest.copied().unwrap_or(1)).unwrap_or(0);
        Ok((step, rows))
    }

    /// Where the last element ends.
    ///
    /// # Errors
    /// `Unsupported` where that is beyond 64 bits.
    pub fn end(&self) -> Result<u64> {
        let (step, rows) = self.rows()?;
        let bytes = rows.checked_mul(step).map(|bytes| if rows > 0 { bytes - self.padding } else { 0 });
        let end = bytes.and_then(|bytes| bytes.checked_add(self.offset));
        end.ok_or_else(|| Error::unsupported(format!("shape {:?} overflows 64 bits", self.shape)))
    }

    /// How many of a file's `len` bytes stand behind the array. Padding behind the last row belongs to it.
    ///
    /// # Errors
    /// Those of [`Layout::end`].
    pub fn left_over(&self, len: u64) -> Result<u64> {
        let rest = len.saturating_sub(self.end()?);
        Ok(if rest == self.padding { 0 } else { rest })
    }

    /// The layout as options, for the command line and for the next time.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        let sides: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        options.set("format", FORMAT.id);
        options.set(DTYPE.name, self.dtype.to_string());
        options.set(SHAPE.name, sides.join("x"));
        options.set(ORDER.name, if self.fortran { "F" } else { "C" });
        options.set(OFFSET.name, self.offset.to_string());
        options.set(PADDING.name, self.padding.to_string());
        options.set(BYTE_ORDER.name, if self.big { "big" } else { "little" });
        options
    }
}

/// Sides, of which one may be open.
struct Sides(Vec<Option<u64>>);

fn shape(text: &str) -> Result<Sides> {
    let wrong = || {
        Error::unsupported(format!("shape={text}: it is written as 480x640x3, with ? for what the file has"))
    };
    let text = text.trim().trim_matches(['(', ')', '[', ']']).trim_end_matches(',');
    let side = |side: &str| match side.trim() {
        "?" | "-1" | "*" => Ok(None),
        side => side.parse::<u64>().map(Some).map_err(|_| wrong()),
    };
    if text.trim().is_empty() {
        return Ok(Sides(Vec::new()));
    }
    let sides: Vec<Option<u64>> = text.split(['x', 'X', ',', '×']).map(side).collect::<Result<_>>()?;
    if sides.iter().filter(|side| side.is_none()).count() > 1 || sides.len() > 64 {
        return Err(wrong());
    }
    Ok(Sides(sides))
}

impl Sides {
    /// The open side is as long as the file allows.
    fn resolve(&self, layout: &Layout, len: u64) -> Result<Vec<u64>> {
        let known: Vec<u64> = self.0.iter().map(|side| side.unwrap_or(1)).collect();
        let Some(open) = self.0.iter().position(Option::is_none) else { return Ok(known) };
        let there = len.saturating_sub(layout.offset);
        let fastest = if layout.fortran { 0 } else { known.len().saturating_sub(1) };
        let one = Layout { shape: known.clone(), ..layout.clone() };
        let count = if open == fastest {
            let rows = limits::elements(&known)?.max(1);
            (there / rows).saturating_sub(if rows > 1 { layout.padding } else { 0 })
                / layout.dtype.size().max(1)
        } else {
            let (step, rows) = one.rows()?;
            // Behind the last row there may be no padding.
            there.saturating_add(layout.padding).checked_div(step.saturating_mul(rows.max(1))).unwrap_or(0)
        };
        let mut shape = known;
        if let Some(side) = shape.get_mut(open) {
            *side = count;
        }
        Ok(shape)
    }
}

/// A type by one of its names, and whether the name says that it is big-endian.
fn dtype(text: &str) -> Result<(DType, bool)> {
    let word = text.trim();
    let (big, word) = match word.strip_prefix('>') {
        Some(rest) => (true, rest),
        None => (false, word.trim_start_matches(['<', '|', '='])),
    };
    let found = type_of(&word.to_lowercase()).map(|(dtype, marked)| (dtype, marked || big));
    found.ok_or_else(|| {
        Error::unsupported(format!("dtype={text}: types are float32, float64, float16, bfloat16, int8 to int64, uint8 to uint64, bool, complex64, complex128"))
    })
}

/// A type by its name in lower case: NumPy's, short, or C's; `be` behind it is big-endian.
fn type_of(word: &str) -> Option<(DType, bool)> {
    let (plain, big) = match word.strip_suffix("be") {
        Some(plain) => (plain, true),
        // `double` and `single` end so by themselves.
        None if matches!(word, "double" | "single") => (word, false),
        None => (word.strip_suffix("le").unwrap_or(word), false),
    };
    let dtype = match plain {
        "bool" | "b1" => DType::Bool,
        "u8" | "uint8" | "uchar" | "byte" | "u1" | "y8" => DType::U8,
        "i8" | "int8" | "s8" | "i1" => DType::I8,
        "u16" | "uint16" | "ushort" | "u2" | "y16" => DType::U16,
        "i16" | "int16" | "short" | "s16" | "i2" => DType::I16,
        "u32" | "uint32" | "uint" | "u4" => DType::U32,
        "i32" | "int32" | "int" | "s32" | "i4" => DType::I32,
        "u64" | "uint64" => DType::U64,
        "i64" | "int64" | "s64" | "long" => DType::I64,
        "f16" | "float16" | "fp16" | "half" | "f2" => DType::F16,
        "bf16" | "bfloat16" => DType::BF16,
        "f32" | "float32" | "fp32" | "float" | "single" | "f4" => DType::F32,
        "f64" | "float64" | "fp64" | "double" => DType::F64,
        "c64" | "complex64" | "cf32" => DType::C64,
        "c128" | "complex128" | "cf64" => DType::C128,
        _ => return None,
    };
    Some((dtype, big))
}

/// `640x480` or `64x64x32`, with whatever letters around: `w640x480`.
fn sides_of(word: &str) -> Option<Vec<u64>> {
    let sides: Option<Vec<u64>> = word.split('x').map(|side| side.parse().ok().filter(|n| *n > 0)).collect();
    sides.filter(|sides| (2..=6).contains(&sides.len()))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source, options) = (opening.task, opening.source, opening.options);
    let told = OPTIONS.iter().any(|spec| options.get(spec.name).is_some());
    let len = source.len(task)?;
    let guess = Layout::guess(source.name(), len).filter(|_| !told);
    let mut layout = match guess.clone() {
        Some(guess) => guess,
        None => Layout::parse(options, len)?,
    };
    let mut node = Node::new("", "array");
    if guess.is_some() {
        node.remarks.push(format!(
            "a guess from its name and size: {} of shape {:?}; another layout can be given (Open as raw array…, --raw)",
            layout.dtype, layout.shape
        ));
    }
    let end = layout.end()?;
    if end > len {
        let what = format!(
            "array: shape {:?} of {} needs {} bytes from byte {}, {} are there",
            layout.shape,
            layout.dtype,
            end - layout.offset,
            layout.offset,
            len.saturating_sub(layout.offset)
        );
        let error = Error::malformed(what).at(layout.offset);
        cut(&mut layout, len)?;
        node.problem = Some(error);
        if layout.shape.contains(&0) {
            return Ok(node.content(Content::Bytes(source.clone())));
        }
    } else if layout.left_over(len)? > 0 {
        node.remarks.push(format!("{} bytes follow the array", len - end));
    }
    node.span = Some(layout.offset..layout.end()?);
    node.content = Some(Content::Array(array(source.clone(), layout)?));
    Ok(node)
}

/// Cuts the slowest dimension down to what `len` bytes hold.
fn cut(layout: &mut Layout, len: u64) -> Result<()> {
    let slowest = if layout.fortran { layout.shape.len().saturating_sub(1) } else { 0 };
    let mut sides: Vec<Option<u64>> = layout.shape.iter().copied().map(Some).collect();
    match sides.get_mut(slowest) {
        Some(side) => *side = None,
        None => return Err(Error::malformed("array: there is no element in the file").at(layout.offset)),
    }
    let most = layout.shape.get(slowest).copied().unwrap_or(0);
    layout.shape = Sides(sides).resolve(layout, len)?;
    if let Some(side) = layout.shape.get_mut(slowest) {
        *side = (*side).min(most);
    }
    Ok(())
}

fn array(source: Source, layout: Layout) -> Result<Arc<dyn Array>> {
    let Layout { dtype, shape, offset, .. } = layout;
    if layout.padding == 0 {
        let plain = Plain::new(source, offset, dtype, shape)?;
        return Ok(Arc::new(plain.fortran(layout.fortran).big_endian(layout.big)));
    }
    let mut axes = strides::c_order(shape.len());
    if layout.fortran {
        axes.reverse();
    }
    // The rows of the fastest dimension lie apart; the others are dense in them.
    let (size, fastest) = (dtype.size(), axes.pop());
    let row = limits::bytes(&[fastest.and_then(|axis| shape.get(axis).copied()).unwrap_or(1)], size)?;
    let mut strides = strides::dense(&shape, &axes, row.saturating_add(layout.padding));
    if let Some(stride) = fastest.and_then(|axis| strides.get_mut(axis)) {
        *stride = size;
    }
    let plain = Plain::strided(source, offset, dtype, shape, strides)?.big_endian(layout.big);
    Ok(Arc::new(plain.detail("row padding", format!("{} bytes", layout.padding))))
}

#[cfg(test)]
mod tests;
