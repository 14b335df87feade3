//! The header of 348 bytes (Analyze 7.5 and NIfTI-1) or 540 bytes (NIfTI-2), in either byte order, and the
//! extensions behind it.

use super::affine::Affine;
use super::record;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{Number, ordered};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::{DType, Long};
use std::ops::Range;

/// Bytes of the longest header.
pub(super) const LONGEST: usize = 540;
/// What rounding leaves of a quaternion's real part that is nothing, in each version's numbers (as nibabel).
const LEAST: f64 = 3.0 * f32::EPSILON as f64;
const LEAST_2: f64 = 3.0 * f64::EPSILON;
/// More extensions than these are not listed.
const EXTENSIONS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Analyze,
    One,
    Two,
}

/// What the header says.
pub(super) struct Header {
    pub version: Version,
    pub big: bool,
    /// Whether the values follow in the same file.
    pub single: bool,
    /// The lengths of the dimensions, the fastest first.
    pub shape: Vec<u64>,
    /// The distance of neighbours along each dimension.
    pub zooms: Vec<f64>,
    pub datatype: i16,
    /// Where the values begin.
    pub offset: u64,
    pub slope: f64,
    pub intercept: f64,
    pub units: i32,
    pub time_offset: f64,
    pub intent: i32,
    /// Texts, by the specification's names.
    pub texts: Vec<(&'static str, String)>,
    /// Numbers that are shown where they are not zero.
    pub numbers: Vec<(&'static str, f64)>,
    pub remarks: Vec<String>,
    sform: Option<Affine>,
    qform: Option<Affine>,
    /// The voxel at the origin, counted from 1, as SPM writes it into Analyze headers.
    origin: [f64; 3],
}

/// Numbers of one byte order.
struct Bytes<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Bytes<'_> {
    /// The number at `at`, 0 beyond the end.
    fn get<N: Number>(&self, at: usize) -> N {
        ordered(self.big, self.bytes, at).unwrap_or_default()
    }

    fn f32(&self, at: usize) -> f64 {
        f64::from(self.get::<f32>(at))
    }

    /// By its shortest text, for people: 0.1 stays 0.1.
    fn shown(&self, at: usize) -> f64 {
        crate::data::cell::float32(self.get(at)).parse().unwrap_or(f64::NAN)
    }

    fn text(&self, at: usize, len: usize) -> String {
        let bytes = self.bytes.get(at..at + len).unwrap_or_default();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().to_owned()
    }
}

impl Header {
    /// Reads the first [`LONGEST`] bytes of a file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let size = bytes.first_chunk::<4>().copied().unwrap_or_default();
        let (little, large) = (u32::from_le_bytes(size), u32::from_be_bytes(size));
        let (big, size) = match (little, large) {
            (348 | 540, _) => (false, little),
            (_, 348 | 540) => (true, large),
            _ if bytes.get(344..347).is_some_and(|magic| magic == b"n+1" || magic == b"ni1") => {
                // The size is damaged; the number of dimensions tells the byte order.
                (!(1..=7).contains(&Bytes { bytes, big: false }.get::<i16>(40)), 348)
            }
            _ => return Err(Error::malformed("header: its size is neither 348 nor 540")),
        };
        if (bytes.len() as u64) < u64::from(size) {
            let what = format!("header: it ends after {} of {size} bytes", bytes.len());
            return Err(Error::malformed(what).at(bytes.len() as u64));
        }
        let damaged = little != size && large != size;
        let bytes = Bytes { bytes, big };
        let mut header = if size == 540 { Self::two(&bytes)? } else { Self::one(&bytes)? };
        if damaged {
            header.remarks.push(format!("the header gives its size as {little}; it is taken for {size}"));
        }
        Ok(header)
    }

    /// NIfTI-1 and Analyze.
    fn one(b: &Bytes<'_>) -> Result<Self> {
        let magic = b.bytes.get(344..347).unwrap_or_default();
        let (version, single) = match magic {
            b"n+1" => (Version::One, true),
            b"ni1" => (Version::One, false),
            _ => (Version::Analyze, false),
        };
        let sides: Vec<i64> = (0..8).map(|n| i64::from(b.get::<i16>(40 + 2 * n))).collect();
        let zooms: Vec<f64> = (0..8).map(|n| b.f32(76 + 4 * n)).collect();
        let mut remarks = Vec::new();
        let shape = shape(&sides, i64::from(b.get::<i32>(140 + 4)), &mut remarks)?;
        let offset = b.f32(108);
        let nifti = version == Version::One;
        let row = |at: usize| [b.f32(at), b.f32(at + 4), b.f32(at + 8), b.f32(at + 12)];
        let mut header = Header {
            version,
            big: b.big,
            single,
            shape,
            zooms: Vec::new(),
            datatype: b.get::<i16>(70),
            offset: place(offset, single, 352.0)?,
            slope: b.f32(112),
            intercept: if nifti { b.f32(116) } else { 0.0 },
            units: if nifti { i32::from(*b.bytes.get(123).unwrap_or(&0)) } else { 0 },
            time_offset: if nifti { b.f32(136) } else { 0.0 },
            intent: if nifti { i32::from(b.get::<i16>(68)) } else { 0 },
            texts: vec![("descrip", b.text(148, 80)), ("aux_file", b.text(228, 24))],
            numbers: vec![("cal_min", b.shown(128)), ("cal_max", b.shown(124))],
            remarks,
            sform: None,
            qform: None,
            origin: if nifti { [0.0; 3] } else { [0, 1, 2].map(|n| f64::from(b.get::<i16>(253 + 2 * n))) },
        };
        if nifti {
            header.texts.push(("intent_name", b.text(328, 16)));
            let more = [
                ("intent_p1", b.shown(56)),
                ("intent_p2", b.shown(60)),
                ("intent_p3", b.shown(64)),
                ("slice_duration", b.shown(132)),
                ("toffset", b.shown(136)),
                ("slice_start", f64::from(b.get::<i16>(74))),
                ("slice_end", f64::from(b.get::<i16>(120))),
                ("slice_code", f64::from(*b.bytes.get(122).unwrap_or(&0))),
                ("dim_info", f64::from(*b.bytes.get(39).unwrap_or(&0))),
                ("qform_code", f64::from(b.get::<i16>(252))),
                ("sform_code", f64::from(b.get::<i16>(254))),
            ];
            header.numbers.extend(more);
            header.sform = (b.get::<i16>(254) > 0).then(|| Affine([row(280), row(296), row(312)]));
            let turn = [b.f32(256), b.f32(260), b.f32(264)];
            let shift = [b.f32(268), b.f32(272), b.f32(276)];
            header.qform = (b.get::<i16>(252) > 0).then(|| quaternion(turn, &zooms, shift, LEAST));
        }
        header.zooms = zooms.iter().skip(1).take(header.shape.len()).copied().collect();
        Ok(header)
    }

    fn two(b: &Bytes<'_>) -> Result<Self> {
        let single = b.bytes.get(4..7) != Some(b"ni2");
        let sides: Vec<i64> = (0..8).map(|n| b.get::<i64>(16 + 8 * n)).collect();
        let zooms: Vec<f64> = (0..8).map(|n| b.get::<f64>(104 + 8 * n)).collect();
        let mut remarks = Vec::new();
        let shape = shape(&sides, 0, &mut remarks)?;
        let row = |at: usize| {
            [b.get::<f64>(at), b.get::<f64>(at + 8), b.get::<f64>(at + 16), b.get::<f64>(at + 24)]
        };
        let turn = [b.get::<f64>(352), b.get::<f64>(360), b.get::<f64>(368)];
        let shift = [b.get::<f64>(376), b.get::<f64>(384), b.get::<f64>(392)];
        Ok(Header {
            version: Version::Two,
            big: b.big,
            single,
            zooms: zooms.iter().skip(1).take(shape.len()).copied().collect(),
            shape,
            datatype: b.get::<i16>(12),
            offset: place(b.get::<i64>(168) as f64, single, 544.0)?,
            slope: b.get::<f64>(176),
            intercept: b.get::<f64>(184),
            units: b.get::<i32>(500),
            time_offset: b.get::<f64>(216),
            intent: b.get::<i32>(504),
            texts: vec![
                ("descrip", b.text(240, 80)),
                ("aux_file", b.text(320, 24)),
                ("intent_name", b.text(508, 16)),
            ],
            numbers: vec![
                ("cal_min", b.get::<f64>(200)),
                ("cal_max", b.get::<f64>(192)),
                ("intent_p1", b.get::<f64>(80)),
                ("intent_p2", b.get::<f64>(88)),
                ("intent_p3", b.get::<f64>(96)),
                ("slice_duration", b.get::<f64>(208)),
                ("toffset", b.get::<f64>(216)),
                ("slice_start", b.get::<i64>(224) as f64),
                ("slice_end", b.get::<i64>(232) as f64),
                ("slice_code", f64::from(b.get::<i32>(496))),
                ("dim_info", f64::from(*b.bytes.get(524).unwrap_or(&0))),
                ("qform_code", f64::from(b.get::<i32>(344))),
                ("sform_code", f64::from(b.get::<i32>(348))),
            ],
            remarks,
            sform: (b.get::<i32>(348) > 0).then(|| Affine([row(400), row(432), row(464)])),
            qform: (b.get::<i32>(344) > 0).then(|| quaternion(turn, &zooms, shift, LEAST_2)),
            origin: [0.0; 3],
        })
    }

    /// The type of the values.
    pub(super) fn dtype(&self) -> Result<DType> {
        Ok(match self.datatype {
            2 => DType::U8,
            4 => DType::I16,
            8 => DType::I32,
            16 => DType::F32,
            32 => DType::C64,
            64 => DType::F64,
            128 => record(&["R", "G", "B"], DType::U8),
            256 => DType::I8,
            512 => DType::U16,
            768 => DType::U32,
            1024 => DType::I64,
            1280 => DType::U64,
            1536 => DType::Long(Long::X87(16)),
            1792 => DType::C128,
            2048 => record(&["real", "imaginary"], DType::Long(Long::X87(16))),
            2304 => record(&["R", "G", "B", "A"], DType::U8),
            1 => return Err(Error::unsupported("a volume of single bits; no writer of them is known")),
            other => return Err(Error::malformed(format!("header: {other} is no type of NIfTI")).at(70)),
        })
    }

    /// The matrix that holds: of the standard space, else of the scanner, else of the voxels' lengths.
    pub(super) fn affine(&self) -> Affine {
        self.sform.or(self.qform).unwrap_or_else(|| {
            let side = |n: usize| self.shape.get(n).copied().unwrap_or(1) as f64;
            let zoom = |n: usize| self.zooms.get(n).copied().unwrap_or(1.0);
            let sides = [side(0), side(1), side(2)];
            let given = self.origin.iter().any(|n| *n != 0.0)
                && self.origin.iter().zip(sides).all(|(n, side)| *n > -side && *n < 2.0 * side);
            let middle =
                if given { self.origin.map(|n| n - 1.0) } else { sides.map(|side| (side - 1.0) / 2.0) };
            Affine::of_zooms(middle, [zoom(0), zoom(1), zoom(2)])
        })
    }

    /// The matrix of the scanner, where that of the standard space holds and is another one.
    pub(super) fn other(&self) -> Option<Affine> {
        let (Some(sform), Some(qform)) = (self.sform, self.qform) else { return None };
        let pairs = || sform.0.iter().flatten().zip(qform.0.iter().flatten());
        let largest = pairs().fold(0f64, |most, (a, _)| most.max(a.abs()));
        pairs().any(|(a, b)| (a - b).abs() > 1e-3 * largest.max(1e-9)).then_some(qform)
    }

    /// Whether it says where its voxels lie in space.
    pub(super) fn is_placed(&self) -> bool {
        self.sform.is_some() || self.qform.is_some()
    }

    pub(super) fn affine_from(&self) -> &'static str {
        match (&self.sform, &self.qform) {
            (Some(_), _) => "sform",
            (None, Some(_)) => "qform",
            (None, None) => "zooms",
        }
    }

    pub(super) fn unit_of_space(&self) -> Option<&'static str> {
        match self.units & 7 {
            1 => Some("m"),
            2 => Some("mm"),
            3 => Some("µm"),
            _ => None,
        }
    }

    pub(super) fn unit_of_time(&self) -> Option<&'static str> {
        match self.units & 0x38 {
            8 => Some("s"),
            16 => Some("ms"),
            24 => Some("µs"),
            32 => Some("Hz"),
            40 => Some("ppm"),
            48 => Some("rad/s"),
            _ => None,
        }
    }
}

fn quaternion(turn: [f64; 3], zooms: &[f64], shift: [f64; 3], least: f64) -> Affine {
    let zoom = |n: usize| zooms.get(n).copied().unwrap_or(1.0);
    let flip = if zoom(0) < 0.0 { -1.0 } else { 1.0 };
    Affine::of_quaternion(turn, [zoom(1), zoom(2), zoom(3)], shift, flip, least)
}

/// The lengths of the dimensions. Sides that do not fit into 16 bits are spelled as FreeSurfer does.
fn shape(sides: &[i64], hidden: i64, remarks: &mut Vec<String>) -> Result<Vec<u64>> {
    let rank = sides.first().copied().unwrap_or(0);
    if !(0..=7).contains(&rank) {
        return Err(Error::malformed(format!("header: {rank} dimensions; there are at most 7")).at(40));
    }
    let sides = sides.get(1..=rank as usize).unwrap_or_default();
    let freesurfer: Option<Vec<i64>> = match sides {
        [-1, 1, 1, rest @ ..] => Some([&[hidden, 1, 1], rest].concat()),
        [27307, 1, 6, rest @ ..] => Some([&[163_842, 1, 1], rest].concat()),
        _ => None,
    };
    if freesurfer.is_some() {
        remarks.push("the number of vertices is spelled as FreeSurfer does".to_owned());
    }
    let side = |side: &i64| {
        u64::try_from(*side).map_err(|_| Error::malformed(format!("header: a side of {side}")).at(42))
    };
    let sides: Vec<u64> = freesurfer.as_deref().unwrap_or(sides).iter().map(side).collect::<Result<_>>()?;
    crate::bytes::limits::elements(&sides).map_err(|error| error.at(40))?;
    Ok(if sides.is_empty() { vec![0] } else { sides })
}

/// Where values begin. A single file that says nothing begins behind header and extension flag.
fn place(offset: f64, single: bool, least: f64) -> Result<u64> {
    if !offset.is_finite() || offset < 0.0 || offset >= 2f64.powi(60) {
        return Err(Error::malformed(format!("header: the values begin at byte {offset}")).at(108));
    }
    Ok(if single && offset == 0.0 { least } else { offset } as u64)
}

/// The codes and places of the extensions between the header and `end`.
pub(super) fn extensions(
    task: &Task,
    source: &Source,
    header: &Header,
    end: u64,
) -> Result<Vec<(i32, Range<u64>)>> {
    let start = if header.version == Version::Two { 540 } else { 348 };
    let flag = source.read_up_to(task, start, 4)?;
    let mut list = Vec::new();
    if header.version == Version::Analyze || flag.first().copied().unwrap_or(0) == 0 {
        return Ok(list);
    }
    let mut at = start + 4;
    while at + 8 <= end && list.len() < EXTENSIONS {
        let head = source.read_up_to(task, at, 8)?;
        if head.len() < 8 {
            break;
        }
        let numbers = Bytes { bytes: &head, big: header.big };
        let (size, code) = (numbers.get::<i32>(0), numbers.get::<i32>(4));
        let next = u64::try_from(size).ok().and_then(|size| at.checked_add(size));
        let Some(next) = next.filter(|next| *next >= at + 8 && *next <= end) else {
            return Err(Error::malformed(format!("extension: a size of {size} bytes")).at(at));
        };
        list.push((code, at + 8..next));
        at = next;
    }
    Ok(list)
}

/// What an extension's code means.
pub(super) fn extension(code: i32) -> String {
    let name = match code {
        0 => "unknown",
        2 => "DICOM",
        4 => "AFNI",
        6 => "comment",
        8 => "XCEDE",
        10 => "JIM dimension information",
        12 => "workflow forward",
        14 => "FreeSurfer",
        16 => "pickled Python",
        18 => "MIND identification",
        20 => "b-value",
        22 => "spherical direction",
        24 => "DT component",
        26 => "spherical harmonics order",
        30 => "Voxbo",
        32 => "Caret",
        34 => "CIFTI",
        40 => "eval",
        42 => "MATLAB",
        44 => "Quantiphyse",
        46 => "MRS (JSON)",
        _ => return code.to_string(),
    };
    format!("{code}: {name}")
}

/// What an intent code means.
pub(super) fn intent(code: i32) -> String {
    let name = match code {
        2 => "correlation",
        3 => "t test",
        4 => "F test",
        5 => "z score",
        6 => "chi²",
        7 => "beta",
        8 => "binomial",
        9 => "gamma",
        10 => "Poisson",
        11 => "normal",
        22 => "p value",
        23 => "log p value",
        24 => "log10 p value",
        1001 => "estimate",
        1002 => "label",
        1003 => "neuro names",
        1004 => "matrix",
        1005 => "symmetric matrix",
        1006 => "displacement vector",
        1007 => "vector",
        1008 => "point set",
        1009 => "triangle",
        1010 => "quaternion",
        1011 => "dimensionless",
        2001 => "time series",
        2002 => "node index",
        2003 => "RGB vector",
        2004 => "RGBA vector",
        2005 => "shape",
        3001 => "CIFTI dense connectivity",
        3002 => "CIFTI dense time series",
        3006 => "CIFTI dense scalars",
        3007 => "CIFTI dense labels",
        _ => return code.to_string(),
    };
    format!("{code}: {name}")
}
