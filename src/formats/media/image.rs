//! Pictures: PNG, JPEG, WebP, GIF, BMP, TIFF, PNM, QOI, Radiance HDR, OpenEXR, ICO, TGA, AVIF, JPEG 2000, JPEG XL and
//! DICOM.
//!
//! Opening walks headers and metadata; pixels are decoded when they are read, one frame at a time,
//! and the frames decoded last are kept within a bound ([`picture`]). Each format's file names its
//! specification. Pixels stay as they are stored: EXIF orientation, gamma and colour profiles are
//! told, not applied.

mod avif;
mod dicom;
mod exif;
mod exr;
mod generic;
mod gif;
mod ico;
mod jpeg;
mod jpeg2000;
mod jpegls;
mod jxl;
mod pfm;
mod picture;
mod png;
mod tga;
mod tiff;
mod webp;
mod write;

use crate::bytes::numbers::le;
use crate::data::content::Kind;
use crate::data::format::{Format, Target};
use crate::data::sniff::{Head, Magic, Match};

const IMAGE: &[Kind] = &[Kind::Image];

/// Portable Network Graphics, still and animated.
pub static PNG: Format = Format {
    extensions: &["png", "apng"],
    mime: &["image/png", "image/apng"],
    magic: &[Magic::at(0, b"\x89PNG\r\n\x1a\n")],
    reads: IMAGE,
    targets: &[
        Target::new("png", "PNG", &["png"], &write::png::WRITER),
        Target {
            presets: &[("folder", "yes")],
            ..Target::new("png-folder", "Folder of PNGs", &["pngs"], &write::png::WRITER)
        },
    ],
    ..Format::new("png", "PNG", png::open)
};

/// JPEG: baseline, extended and progressive with 8-bit samples.
pub static JPEG: Format = Format {
    extensions: &["jpg", "jpeg", "jpe", "jfif"],
    mime: &["image/jpeg"],
    magic: &[Magic::at(0, b"\xff\xd8\xff")],
    reads: IMAGE,
    targets: &[Target::new("jpeg", "JPEG", &["jpg", "jpeg"], &write::jpeg::WRITER)],
    ..Format::new("jpeg", "JPEG", jpeg::open)
};

/// WebP: lossy, lossless, with alpha, animated.
pub static WEBP: Format = Format {
    extensions: &["webp"],
    mime: &["image/webp"],
    sniff: Some(sniff_webp),
    reads: IMAGE,
    targets: &[Target::new("webp", "WebP", &["webp"], &write::webp::WRITER)],
    ..Format::new("webp", "WebP", webp::open)
};

/// GIF, still and animated.
pub static GIF: Format = Format {
    extensions: &["gif"],
    mime: &["image/gif"],
    magic: &[Magic::at(0, b"GIF87a"), Magic::at(0, b"GIF89a")],
    reads: IMAGE,
    ..Format::new("gif", "GIF", gif::open)
};

/// Windows bitmaps.
pub static BMP: Format = Format {
    extensions: &["bmp", "dib"],
    mime: &["image/bmp"],
    sniff: Some(sniff_bmp),
    reads: IMAGE,
    targets: &[Target::new("bmp", "BMP", &["bmp", "dib"], &write::bmp::WRITER)],
    ..Format::new("bmp", "BMP", generic::open_bmp)
};

/// TIFF and BigTIFF.
pub static TIFF: Format = Format {
    extensions: &["tif", "tiff", "btf", "tf8"],
    mime: &["image/tiff"],
    magic: &[
        Magic::at(0, b"II*\0"),
        Magic::at(0, b"MM\0*"),
        Magic::at(0, b"II+\0\x08\0\0\0"),
        Magic::at(0, b"MM\0+\0\x08\0\0"),
    ],
    reads: IMAGE,
    targets: &[
        Target::new("tiff", "TIFF", &["tif", "tiff", "btf"], &tiff::write::WRITER),
        Target {
            presets: &[("folder", "yes")],
            ..Target::new("tiff-folder", "Folder of TIFFs", &["tiffs"], &tiff::write::WRITER)
        },
    ],
    ..Format::new("tiff", "TIFF", tiff::open)
};

/// Netpbm: bitmaps, grey maps, pixmaps and PAM, as text and as bytes; PFM floats.
pub static PNM: Format = Format {
    extensions: &["ppm", "pgm", "pbm", "pnm", "pam", "pfm"],
    mime: &["image/x-portable-anymap", "image/x-portable-pixmap"],
    sniff: Some(sniff_pnm),
    reads: IMAGE,
    targets: &[
        Target::new("ppm", "PPM", &["ppm", "pnm"], &write::pnm::PPM),
        Target::new("pgm", "PGM", &["pgm"], &write::pnm::PGM),
        Target::new("pam", "PAM", &["pam"], &write::pnm::PAM),
        Target::new("pfm", "PFM", &["pfm"], &write::pnm::PFM),
    ],
    ..Format::new("ppm", "PNM", generic::open_pnm)
};

/// The Quite OK Image format.
pub static QOI: Format = Format {
    extensions: &["qoi"],
    mime: &["image/qoi"],
    magic: &[Magic::at(0, b"qoif")],
    reads: IMAGE,
    ..Format::new("qoi", "QOI", generic::open_qoi)
};

/// Radiance RGBE.
pub static HDR: Format = Format {
    extensions: &["hdr", "pic"],
    mime: &["image/vnd.radiance"],
    magic: &[Magic::at(0, b"#?RADIANCE"), Magic::at(0, b"#?RGBE")],
    reads: IMAGE,
    ..Format::new("hdr", "Radiance HDR", generic::open_hdr)
};

/// OpenEXR.
pub static EXR: Format = Format {
    extensions: &["exr"],
    mime: &["image/x-exr"],
    magic: &[Magic::at(0, b"\x76\x2f\x31\x01")],
    reads: IMAGE,
    targets: &[Target::new("exr", "OpenEXR", &["exr"], &write::exr::WRITER)],
    ..Format::new("exr", "OpenEXR", exr::open)
};

/// AVIF: still pictures of AV1 and sequences of them.
pub static AVIF: Format = Format {
    extensions: &["avif", "avifs"],
    mime: &["image/avif"],
    sniff: Some(avif::sniff),
    reads: IMAGE,
    targets: &[Target::new("avif", "AVIF", &["avif"], &write::avif::WRITER)],
    ..Format::new("avif", "AVIF", avif::open)
};

/// JPEG 2000: JP2 files and code streams.
pub static JPEG_2000: Format = Format {
    extensions: &["jp2", "j2k", "j2c", "jpc", "jpf", "jpx", "jph"],
    mime: &["image/jp2", "image/jpx"],
    magic: &[Magic::at(0, b"\0\0\0\x0cjP  \r\n\x87\n"), Magic::at(0, b"\xff\x4f\xff\x51")],
    reads: IMAGE,
    ..Format::new("jp2", "JPEG 2000", jpeg2000::open)
};

/// JPEG XL, still and animated.
pub static JPEG_XL: Format = Format {
    extensions: &["jxl"],
    mime: &["image/jxl"],
    magic: &[Magic::at(0, b"\0\0\0\x0cJXL \r\n\x87\n"), Magic::at(0, b"\xff\x0a")],
    reads: IMAGE,
    ..Format::new("jxl", "JPEG XL", jxl::open)
};

/// DICOM objects.
pub static DICOM: Format = Format {
    extensions: &["dcm", "dicom", "dic", "ima"],
    mime: &["application/dicom"],
    magic: &[Magic::at(128, b"DICM")],
    sniff: Some(dicom::sniff),
    reads: &[Kind::Image, Kind::Group],
    ..Format::new("dicom", "DICOM", dicom::open)
};

/// A folder of DICOM objects: the slices of each series as a volume.
pub static DICOM_SERIES: Format = Format {
    sniff: Some(dicom::sniff_series),
    reads: &[Kind::Array, Kind::Group],
    ..Format::new("dicom_series", "DICOM series", dicom::open_series)
};

/// Windows icons and cursors.
pub static ICO: Format = Format {
    extensions: &["ico", "cur"],
    mime: &["image/vnd.microsoft.icon"],
    sniff: Some(sniff_ico),
    reads: IMAGE,
    ..Format::new("ico", "ICO", ico::open)
};

/// Truevision TGA.
pub static TGA: Format = Format {
    extensions: &["tga", "tpic", "icb", "vda", "vst"],
    mime: &["image/x-tga"],
    sniff: Some(sniff_tga),
    reads: IMAGE,
    ..Format::new("tga", "TGA", tga::open)
};

fn sniff_webp(head: &Head) -> Match {
    match head.starts_with(b"RIFF") && head.first.get(8..12) == Some(b"WEBP") {
        true => Match::Yes,
        false => Match::No,
    }
}

/// "BM" alone would take any text that starts so: the size of the second header must be one of the
/// known ones, and the pixels lie behind the headers. A bitmap as Windows' clipboard has it begins with that
/// second header, which says one plane, a depth and how the pixels are compressed.
fn sniff_bmp(head: &Head) -> Match {
    let known = |size: u32| matches!(size, 12 | 16 | 40 | 52 | 56 | 64 | 108 | 124);
    let number = |at: usize| le::<u32>(&head.first, at);
    if head.starts_with(b"BM") {
        return if number(14).is_some_and(known) { Match::Yes } else { Match::Maybe };
    }
    let (Some(size), Some(planes), Some(compression)) = (number(0), number(12), number(16)) else {
        return Match::No;
    };
    let (planes, depth) = (planes & 0xffff, planes >> 16);
    let sides = number(4).zip(number(8)).is_some_and(|(width, height)| {
        (1..1 << 16).contains(&width) && (1..1 << 16).contains(&(height as i32).unsigned_abs())
    });
    let usual = matches!(size, 40 | 52 | 56 | 108 | 124) && compression <= 6 && sides;
    match usual && planes == 1 && matches!(depth, 1 | 2 | 4 | 8 | 16 | 24 | 32) {
        true => Match::Yes,
        false if known(size) && head.has_extension(&["dib"]) => Match::Maybe,
        false => Match::No,
    }
}

/// `P1` to `P7`, `Pf` or `PF`, then white space, then a number or a comment (PAM: a keyword).
fn sniff_pnm(head: &Head) -> Match {
    let Some(&[b'P', kind, space, ..]) = head.first.get(..4) else { return Match::No };
    if !space.is_ascii_whitespace() {
        return Match::No;
    }
    let rest = head.first.get(2..).unwrap_or_default().trim_ascii_start();
    let first = rest.first().copied().unwrap_or_default();
    match kind {
        b'1'..=b'6' | b'f' | b'F' if first.is_ascii_digit() || first == b'#' => Match::Yes,
        b'7' if rest.starts_with(b"WIDTH") || rest.starts_with(b"HEIGHT") || first == b'#' => Match::Yes,
        b'7' => Match::Maybe,
        _ => Match::No,
    }
}

/// Two zeros, the type, and entries whose reserved byte is zero and whose first picture lies in the
/// file behind the directory.
fn sniff_ico(head: &Head) -> Match {
    let Some(&[0, 0, kind @ (1 | 2), 0, low, high]) = head.first.get(..6) else { return Match::No };
    let count = u64::from(u16::from_le_bytes([low, high]));
    let Some(entry) = head.first.get(6..22) else { return Match::Maybe };
    let [size, offset] = [8, 12].map(|at| le::<u32>(entry, at).map(u64::from));
    let (Some(size), Some(offset)) = (size, offset) else {
        return Match::Maybe;
    };
    let behind = offset >= 6 + 16 * count;
    let inside = head.len.is_none_or(|len| offset.saturating_add(size) <= len);
    let reserved = entry.get(3) == Some(&0);
    match kind > 0 && count > 0 && behind && inside && reserved && size > 0 {
        true => Match::Yes,
        false => Match::Maybe,
    }
}

/// TGA has no magic at its start: a header of possible values, and the extension, must do. The
/// footer of version 2 is a sure sign.
fn sniff_tga(head: &Head) -> Match {
    if head.ends_with(b"TRUEVISION-XFILE.\0") {
        return Match::Yes;
    }
    let Some(h) = head.first.first_chunk::<18>() else { return Match::No };
    let (map, kind, depth, flags) = (h[1], h[2], h[16], h[17]);
    let pairs = matches!((map, kind), (0 | 1, 1 | 9) | (0 | 1, 2 | 3 | 10 | 11));
    let depths = matches!(depth, 8 | 15 | 16 | 24 | 32);
    match map <= 1 && pairs && depths && flags & 0xc0 == 0 {
        true => Match::Maybe,
        false => Match::No,
    }
}
