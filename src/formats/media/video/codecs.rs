//! Names of codecs, as ffmpeg has them, and what the decoder has to know of each.

use crate::bytes::numbers::be;
use crate::engines::ffmpeg::Coding;

/// The codec of a QuickTime or MPEG-4 sample description.
pub(super) fn of_description(kind: &[u8; 4], object: Option<u8>) -> String {
    let known = match kind {
        b"avc1" | b"avc2" | b"avc3" | b"avc4" | b"dva1" | b"dvav" => "h264",
        b"hvc1" | b"hev1" | b"dvh1" | b"dvhe" => "hevc",
        b"vvc1" | b"vvi1" => "vvc",
        b"av01" => "av1",
        b"vp08" => "vp8",
        b"vp09" => "vp9",
        b"apch" | b"apcn" | b"apcs" | b"apco" | b"ap4h" | b"ap4x" => "prores",
        b"jpeg" | b"mjpa" | b"mjpb" => "mjpeg",
        b"s263" | b"h263" => "h263",
        b"png " => "png",
        b"raw " => "rawvideo",
        b"mp4v" | b"mp4a" => match object {
            Some(0x20) => "mpeg4",
            Some(0x40 | 0x66..=0x68) => "aac",
            Some(0x60..=0x65) => "mpeg2video",
            Some(0x6a) => "mpeg1video",
            Some(0x69 | 0x6b) => "mp3",
            Some(0x6c) => "mjpeg",
            Some(0xa5) => "ac3",
            Some(0xad) => "opus",
            _ if kind == b"mp4v" => "mpeg4",
            _ => "aac",
        },
        b"ac-3" => "ac3",
        b"ec-3" => "eac3",
        b"Opus" => "opus",
        b"fLaC" => "flac",
        b"alac" => "alac",
        b".mp3" => "mp3",
        b"sowt" => "pcm_s16le",
        b"twos" => "pcm_s16be",
        b"lpcm" | b"ipcm" | b"in24" | b"in32" | b"fl32" | b"fl64" => "pcm",
        b"ulaw" => "pcm_mulaw",
        b"alaw" => "pcm_alaw",
        b"tx3g" => "mov_text",
        b"wvtt" => "webvtt",
        b"stpp" => "ttml",
        b"text" => "text",
        _ => return kind.iter().map(|byte| char::from(*byte)).collect::<String>().trim_end().to_owned(),
    };
    known.to_owned()
}

/// The codec of a name in Matroska.
pub(super) fn of_matroska(id: &str) -> String {
    let known = match id {
        "V_MPEG4/ISO/AVC" => "h264",
        "V_MPEGH/ISO/HEVC" => "hevc",
        "V_MPEGI/ISO/VVC" => "vvc",
        "V_AV1" => "av1",
        "V_VP8" => "vp8",
        "V_VP9" => "vp9",
        "V_MPEG1" => "mpeg1video",
        "V_MPEG2" => "mpeg2video",
        "V_MPEG4/ISO/SP" | "V_MPEG4/ISO/ASP" | "V_MPEG4/ISO/AP" => "mpeg4",
        "V_MJPEG" => "mjpeg",
        "V_FFV1" => "ffv1",
        "V_PRORES" => "prores",
        "V_THEORA" => "theora",
        "V_UNCOMPRESSED" => "rawvideo",
        "A_OPUS" => "opus",
        "A_VORBIS" => "vorbis",
        "A_FLAC" => "flac",
        "A_MPEG/L3" => "mp3",
        "A_MPEG/L2" => "mp2",
        "A_AC3" => "ac3",
        "A_EAC3" => "eac3",
        "A_DTS" => "dts",
        "A_PCM/INT/LIT" | "A_PCM/INT/BIG" => "pcm",
        "A_PCM/FLOAT/IEEE" => "pcm_f32le",
        "S_TEXT/UTF8" => "subrip",
        "S_TEXT/ASS" | "S_TEXT/SSA" => "ass",
        "S_TEXT/WEBVTT" => "webvtt",
        "S_HDMV/PGS" => "hdmv_pgs_subtitle",
        "S_VOBSUB" => "dvd_subtitle",
        _ if id.starts_with("A_AAC") => "aac",
        _ => return id.to_owned(),
    };
    known.to_owned()
}

/// The codec of a four-character code of Video for Windows.
pub(super) fn of_fourcc(code: [u8; 4]) -> String {
    let known = match &code.map(|byte| byte.to_ascii_uppercase()) {
        b"H264" | b"X264" | b"AVC1" | b"DAVC" => "h264",
        b"HEVC" | b"H265" | b"HVC1" => "hevc",
        b"MJPG" | b"JPEG" | b"AVRN" => "mjpeg",
        b"XVID" | b"DIVX" | b"DX50" | b"MP4V" | b"FMP4" => "mpeg4",
        b"DIV3" | b"MP43" => "msmpeg4v3",
        b"MPG1" => "mpeg1video",
        b"MPG2" | b"MPEG" => "mpeg2video",
        b"FFV1" => "ffv1",
        b"HFYU" => "huffyuv",
        b"VP80" => "vp8",
        b"VP90" => "vp9",
        b"AV01" => "av1",
        b"\0\0\0\0" | b"DIB " => "rawvideo",
        other => return other.iter().map(|byte| char::from(*byte)).collect(),
    };
    known.to_owned()
}

/// What the decoder has to know of a codec by its name, with what configures it; `None` for codecs that have no name
/// of their own in Matroska.
pub(super) fn coding(codec: &str, private: &[u8], sides: (u64, u64)) -> Option<Coding> {
    let id = match codec {
        "h264" => "V_MPEG4/ISO/AVC",
        "hevc" => "V_MPEGH/ISO/HEVC",
        "av1" => "V_AV1",
        "vp8" => "V_VP8",
        "vp9" => "V_VP9",
        "mpeg4" => "V_MPEG4/ISO/ASP",
        "mpeg2video" => "V_MPEG2",
        "mpeg1video" => "V_MPEG1",
        "mjpeg" => "V_MJPEG",
        "prores" => "V_PRORES",
        "ffv1" => "V_FFV1",
        "theora" => "V_THEORA",
        _ => return None,
    };
    Some(Coding { id: id.to_owned(), private: private.to_vec(), width: sides.0, height: sides.1 })
}

/// What a descriptor of an elementary stream says (ISO 14496-1, 7.2.6.5): the type of the object, and what configures its
/// decoder.
pub(super) fn elementary(bytes: &[u8]) -> (Option<u8>, Vec<u8>) {
    let mut rest = bytes.get(4..).unwrap_or_default();
    let mut object = None;
    // Descriptors lie in each other: stream, decoder, what is specific to it.
    for _ in 0..8 {
        let Some((&tag, after)) = rest.split_first() else { break };
        let (mut len, mut used) = (0usize, 0);
        for byte in after.iter().take(4) {
            len = len << 7 | usize::from(byte & 0x7f);
            used += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let body = after.get(used..).unwrap_or_default();
        match tag {
            3 => {
                let flags = body.get(2).copied().unwrap_or(0);
                let mut skip = 3 + if flags & 0x80 != 0 { 2 } else { 0 };
                if flags & 0x40 != 0 {
                    skip += 1 + usize::from(body.get(skip).copied().unwrap_or(0));
                }
                skip += if flags & 0x20 != 0 { 2 } else { 0 };
                rest = body.get(skip..).unwrap_or_default();
            }
            4 => {
                object = body.first().copied();
                rest = body.get(13..).unwrap_or_default();
            }
            5 => return (object, body.get(..len.min(body.len())).unwrap_or_default().to_vec()),
            _ => rest = body.get(len..).unwrap_or_default(),
        }
    }
    (object, Vec::new())
}

/// Bits of a sample, as what configures a decoder says; 8 where it does not.
pub(super) fn bits(codec: &str, private: &[u8]) -> u32 {
    let at = |n: usize| private.get(n).copied().unwrap_or(0);
    match codec {
        "av1" => match at(2) & 0x60 {
            0x60 => 12,
            0x40 => 10,
            _ => 8,
        },
        "hevc" if private.len() > 17 => u32::from(at(17) & 7) + 8,
        // The profiles of more than 8 bits.
        "h264" => match at(1) {
            110 | 122 | 244 => {
                // Behind the sets of parameters stand the depths.
                let mut place = 6;
                for _ in 0..at(5) & 31 {
                    place += 2 + usize::from(be::<u16>(private, place).unwrap_or(0));
                }
                let count = at(place);
                place += 1;
                for _ in 0..count {
                    place += 2 + usize::from(be::<u16>(private, place).unwrap_or(0));
                }
                match private.get(place + 1) {
                    Some(depth) => u32::from(depth & 7) + 8,
                    None if at(1) == 110 || at(1) == 122 => 10,
                    None => 8,
                }
            }
            _ => 8,
        },
        "vp9" => u32::from(at(6) >> 4).clamp(8, 12),
        "prores" => 10,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_lie_in_each_other() {
        let bytes = b"\0\0\0\0\x03\x80\x80\x80\x22\0\x01\0\x04\x80\x80\x80\x14\x40\x15\0\0\0\0\0\0\0\0\0\0\0\x05\x80\x80\x80\x02\x12\x10";
        assert_eq!(elementary(bytes), (Some(0x40), vec![0x12, 0x10]));
        assert_eq!(of_description(b"mp4a", Some(0x40)), "aac");
        assert_eq!(elementary(b""), (None, Vec::new()));
    }
}
