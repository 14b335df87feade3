//! Opus in Ogg (RFC 7845): packets that Symphonia finds, decoded by `opus-decoder` (RFC 6716 and 8251). Samples have
//! 48 kHz whatever the sound was recorded with; the first ones, which only warm the decoder up, are dropped.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use opus_decoder::OpusMultistreamDecoder;
use symphonia::core::audio::{
    AsGenericAudioBufferRef, AudioBuffer, AudioMut, AudioSpec, GenericAudioBufferRef,
};
use symphonia::core::codecs::CodecInfo;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, FinalizeResult};
use symphonia::core::errors::{Result as Decoded, decode_error};
use symphonia::core::packet::PacketRef;

/// Frames a second.
const RATE: u32 = 48_000;
/// A packet has at most 120 ms.
const FRAMES: usize = 5_760;

/// What the identification header says (RFC 7845, 5.1).
struct Header {
    channels: usize,
    /// Frames before the first one that is heard.
    skip: u64,
    /// What samples are multiplied by.
    gain: f32,
    streams: usize,
    coupled: usize,
    mapping: Vec<u8>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let short = || Error::malformed("the header of Opus is cut off");
        let byte = |at: usize| bytes.get(at).copied().ok_or_else(short);
        let channels = usize::from(byte(9)?);
        let skip = le::<u16>(bytes, 10).ok_or_else(short)?;
        let gain = le::<i16>(bytes, 16).ok_or_else(short)?;
        let (streams, coupled, mapping) = match byte(18)? {
            0 if channels == 0 || channels > 2 => {
                let what = format!("the header of Opus says {channels} channels, its mapping has one or two");
                return Err(Error::malformed(what));
            }
            0 => (1, channels - 1, (0..channels as u8).collect()),
            _ => {
                let mapping = bytes.get(21..21 + channels).ok_or_else(short)?.to_vec();
                (usize::from(byte(19)?), usize::from(byte(20)?), mapping)
            }
        };
        let gain = 10f32.powf(f32::from(gain) / (20.0 * 256.0));
        Ok(Header { channels, skip: skip.into(), gain, streams, coupled, mapping })
    }
}

/// The decoder of one stream.
pub(super) struct OpusDecoder {
    header: Header,
    decoder: OpusMultistreamDecoder,
    params: AudioCodecParameters,
    /// Decoded samples of a packet, interleaved.
    samples: Vec<f32>,
    buffer: AudioBuffer<f32>,
}

impl OpusDecoder {
    /// The decoder of a track.
    ///
    /// # Errors
    /// `Malformed` where the header does not describe streams.
    pub(super) fn new(params: &AudioCodecParameters) -> Result<Self> {
        let header = Header::parse(params.extra_data.as_deref().unwrap_or_default())?;
        let Header { channels, streams, coupled, mapping, .. } = &header;
        let decoder = OpusMultistreamDecoder::new(RATE, *channels, *streams, *coupled, mapping)
            .map_err(|error| Error::malformed(format!("the header of Opus: {error}")))?;
        let known = params.channels.clone().filter(|known| known.count() == *channels);
        let known = known.ok_or_else(|| Error::malformed(format!("Opus of {channels} channels")))?;
        let samples = vec![0.0; channels * FRAMES];
        let buffer = AudioBuffer::new(AudioSpec::new(RATE, known), FRAMES);
        Ok(OpusDecoder { header, decoder, params: params.clone(), samples, buffer })
    }

    /// Frames of the stream that are not heard.
    pub(super) fn skip(&self) -> u64 {
        self.header.skip
    }
}

impl AudioDecoder for OpusDecoder {
    fn reset(&mut self) {
        self.decoder.reset();
    }

    fn codec_info(&self) -> &CodecInfo {
        &CodecInfo { short_name: "opus", long_name: "Opus", profiles: &[] }
    }

    fn codec_params(&self) -> &AudioCodecParameters {
        &self.params
    }

    fn decode_ref(&mut self, packet: &PacketRef<'_>) -> Decoded<GenericAudioBufferRef<'_>> {
        self.buffer.clear();
        let channels = self.header.channels;
        let Ok(frames) = self.decoder.decode_float(packet.data, &mut self.samples, false) else {
            return decode_error("opus: a broken packet");
        };
        let frames = frames.min(FRAMES);
        self.buffer.render_uninit(Some(frames));
        for channel in 0..channels {
            let samples = self.samples.iter().skip(channel).step_by(channels.max(1));
            let plane = self.buffer.plane_mut(channel).into_iter().flatten();
            plane.zip(samples).for_each(|(place, sample)| *place = sample * self.header.gain);
        }
        // Time stamps count from the first frame of all.
        let before = self.header.skip.saturating_sub(u64::try_from(packet.pts.get()).unwrap_or(0));
        let start = usize::try_from(before).unwrap_or(frames).min(frames);
        let end = usize::try_from(packet.trim_end.get()).unwrap_or(frames).min(frames - start);
        self.buffer.trim(start, end);
        Ok(self.buffer.as_generic_audio_buffer_ref())
    }

    fn finalize(&mut self) -> FinalizeResult {
        FinalizeResult::default()
    }

    fn last_decoded(&self) -> GenericAudioBufferRef<'_> {
        self.buffer.as_generic_audio_buffer_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_describe_streams() {
        let stereo = b"OpusHead\x01\x02\x38\x01\x80\xbb\0\0\0\0\0";
        let header = Header::parse(stereo).unwrap();
        assert_eq!((header.channels, header.skip, header.gain), (2, 312, 1.0));
        assert_eq!((header.streams, header.coupled, header.mapping), (1, 1, vec![0, 1]));
        // Six decibels less.
        let quiet = Header::parse(b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\xfa\0").unwrap();
        assert!((quiet.gain - 0.501).abs() < 0.001, "{}", quiet.gain);
        let six =
            Header::parse(b"OpusHead\x01\x06\0\0\x80\xbb\0\0\0\0\x01\x04\x02\0\x04\x01\x02\x03\x05").unwrap();
        assert_eq!((six.streams, six.coupled, six.mapping), (4, 2, vec![0, 4, 1, 2, 3, 5]));
        for cut in 0..stereo.len() {
            assert!(Header::parse(&stereo[..cut]).is_err());
        }
        assert!(Header::parse(b"OpusHead\x01\x03\x38\x01\x80\xbb\0\0\0\0\0").is_err());
    }
}
