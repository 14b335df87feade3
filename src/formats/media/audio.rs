//! Sounds: WAV (also RF64, BW64 and RIFX), Sony Wave64, AIFF and AIFC, Sun AU, Apple's CAF, FLAC, Ogg, MP3 and M4A.
//!
//! A sound is an array of frames by channels with [`ArrayFacts::sound`](crate::data::content::ArrayFacts). Samples that
//! lie uncompressed in the file are read from where they lie (`pcm`), so that a part of an hour reads its own bytes
//! only. Others are decoded by packets from the nearest place that can be sought (`packets`).
//!
//! - WAV: <https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html>, RF64: EBU Tech 3306
//! - AIFF: <https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/AIFF/AIFF.html>
//! - AU: <https://pubs.opengroup.org/external/auformat.html>
//! - CAF: <https://developer.apple.com/library/archive/documentation/MusicAudio/Reference/CAFSpec/>
//! - FLAC: RFC 9639; Ogg: RFC 3533; Opus: RFC 6716, RFC 7845; MP3: ISO 11172-3; M4A: ISO 14496-12

mod adpcm;
mod aiff;
mod au;
mod caf;
mod cue_points;
mod flac;
mod m4a;
mod ogg;
mod pcm;
mod riff;
mod vorbis_comments;
mod write;

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::media::sound;
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match};
use crate::engines::sounds;

/// WAV, also in its forms of 64 bits (RF64, BW64) and of big-endian numbers (RIFX).
pub static WAV: Format = Format {
    extensions: &["wav", "wave", "bwf", "rf64"],
    mime: &["audio/x-wav", "audio/vnd.wave"],
    magic: &[Magic::at(8, b"WAVE")],
    sniff: Some(|head| yes(riff::is_wav(head))),
    reads: &[Kind::Array],
    targets: &[Target::new("wav", "WAV sound", &["wav", "rf64"], &write::wav::WRITER)],
    ..Format::new("wav", "WAV sound", riff::open)
};

/// Sony Wave64: chunks as those of WAV, with GUIDs and sizes of 64 bits.
pub static W64: Format = Format {
    extensions: &["w64"],
    mime: &["audio/x-w64"],
    magic: &[Magic::at(0, b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0")],
    reads: &[Kind::Array],
    ..Format::new("w64", "Wave64 sound", riff::open_w64)
};

/// AIFF and AIFC.
pub static AIFF: Format = Format {
    extensions: &["aiff", "aif", "aifc"],
    mime: &["audio/x-aiff"],
    magic: &[Magic::at(8, b"AIFF"), Magic::at(8, b"AIFC")],
    sniff: Some(|head| yes(aiff::is_aiff(head))),
    reads: &[Kind::Array],
    ..Format::new("aiff", "AIFF sound", aiff::open)
};

/// Sun's and NeXT's audio.
pub static AU: Format = Format {
    extensions: &["au", "snd"],
    mime: &["audio/basic"],
    magic: &[Magic::at(0, b".snd")],
    reads: &[Kind::Array],
    ..Format::new("au", "AU sound", au::open)
};

/// Apple's Core Audio Format.
pub static CAF: Format = Format {
    extensions: &["caf"],
    mime: &["audio/x-caf"],
    magic: &[Magic::at(0, b"caff\0\x01")],
    reads: &[Kind::Array],
    ..Format::new("caf", "Core Audio sound", caf::open)
};

/// FLAC.
pub static FLAC: Format = Format {
    extensions: &["flac"],
    mime: &["audio/flac"],
    magic: &[Magic::at(0, b"fLaC")],
    reads: &[Kind::Array],
    targets: &[Target::new("flac", "FLAC sound", &["flac"], &write::flac::WRITER)],
    ..Format::new("flac", "FLAC sound", flac::open)
};

/// Ogg with Vorbis, Opus or FLAC.
pub static OGG: Format = Format {
    extensions: &["ogg", "oga", "opus"],
    mime: &["audio/ogg"],
    magic: &[Magic::at(0, b"OggS")],
    reads: &[Kind::Array],
    ..Format::new("ogg", "Ogg sound", ogg::open)
};

/// MPEG-4 with AAC or Apple Lossless.
pub static M4A: Format = Format {
    extensions: &["m4a", "m4b"],
    mime: &["audio/mp4"],
    magic: &[Magic::at(4, b"ftypM4A"), Magic::at(4, b"ftypM4B")],
    reads: &[Kind::Array],
    ..Format::new("m4a", "MPEG-4 sound", m4a::open)
};

/// MPEG audio of layer 3.
pub static MP3: Format = Format {
    extensions: &["mp3"],
    mime: &["audio/mpeg"],
    sniff: Some(mp3),
    reads: &[Kind::Array],
    ..Format::new("mp3", "MP3 sound", packed)
};

fn yes(sure: bool) -> Match {
    if sure { Match::Yes } else { Match::No }
}

/// One frame has a weak sign, which its name must confirm; two frames one after the other and tags of ID3 a strong one.
fn mp3(head: &Head) -> Match {
    match sound(&head.first) {
        Some("MP3") if head.first.starts_with(b"ID3") || follows(&head.first) => Match::Yes,
        Some("MP3") => Match::Maybe,
        _ => Match::No,
    }
}

/// Bit rates of layer 3 in kbit/s, by their number: of MPEG 1, and of MPEG 2 and 2.5 (ISO 11172-3 and 13818-3, 2.4.2.3).
const BIT_RATES: [[usize; 14]; 2] = [
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// Whether behind the first frame of MPEG audio of layer 3 stands another one of its kind.
fn follows(bytes: &[u8]) -> bool {
    let [_, kind, rates, ..] = bytes else { return false };
    let half = usize::from(kind & 0x08 == 0);
    let bit_rate =
        BIT_RATES.get(half).and_then(|rates_of| rates_of.get(usize::from(rates >> 4).checked_sub(1)?));
    let rate = [44_100, 48_000, 32_000].get(usize::from(rates >> 2 & 3));
    let (Some(bit_rate), Some(rate), 0x02) = (bit_rate, rate, kind & 0x06) else { return false };
    // MPEG 2 halves the rate of samples, 2.5 quarters it.
    let rate = rate >> (half + usize::from(kind & 0x18 == 0));
    let length = (144 >> half) * bit_rate * 1000 / rate + usize::from(rates >> 1 & 1);
    // All of the second byte but the protection by a checksum.
    matches!(bytes.get(length..), Some([0xff, next, ..]) if (next ^ kind) & 0xfe == 0)
}

/// A sound that is decoded by packets.
fn packed(opening: &Opening) -> Result<Node> {
    sounds::node(opening.task, opening.source, crate::formats::ALL, &sounds::TrackHints::default())
}
