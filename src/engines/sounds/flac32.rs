//! FLAC of 32 bits a sample (RFC 9639): packets that Symphonia finds, decoded by `flac-codec`. The difference of two channels
//! has 33 bits there (section 4.2), for which Symphonia's own decoder has no room: it gives other values.

use crate::bytes::error::{Error, Result};
use flac_codec::metadata::{Streaminfo, read_block};
use flac_codec::stream::{ChannelAssignment, Frame, SubframeWidth};
use symphonia::core::audio::{
    AsGenericAudioBufferRef, AudioBuffer, AudioMut, AudioSpec, GenericAudioBufferRef,
};
use symphonia::core::codecs::CodecInfo;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, FinalizeResult};
use symphonia::core::errors::{Result as Decoded, decode_error};
use symphonia::core::packet::PacketRef;

/// Bits a sample from which on the decoder is this one.
pub(super) const BITS: u32 = 32;
/// Samples of a channel that a block has at most (section 9.1.1).
const BLOCK: usize = 1 << 16;
/// The size of STREAMINFO in bytes (section 8.2).
const STREAMINFO: usize = 34;

/// The decoder of one stream.
pub(super) struct WideFlacDecoder {
    info: Streaminfo,
    params: AudioCodecParameters,
    buffer: AudioBuffer<i32>,
}

impl WideFlacDecoder {
    /// The decoder of a track.
    ///
    /// # Errors
    /// `Malformed` where STREAMINFO is not there or contradicts the container.
    pub(super) fn new(params: &AudioCodecParameters) -> Result<Self> {
        let broken = || Error::malformed("the header of FLAC is not one");
        let extra = params.extra_data.as_deref().unwrap_or_default();
        let info = info(extra.get(..STREAMINFO).ok_or_else(broken)?).ok_or_else(broken)?;
        let known = params.channels.clone().filter(|known| known.count() == usize::from(info.channels.get()));
        let spec = AudioSpec::new(info.sample_rate, known.ok_or_else(broken)?);
        Ok(WideFlacDecoder { info, params: params.clone(), buffer: AudioBuffer::new(spec, BLOCK) })
    }
}

/// STREAMINFO, as the only block of a file.
fn info(bytes: &[u8]) -> Option<Streaminfo> {
    let file = [b"fLaC\x80\0\0\x22", bytes].concat();
    read_block(file.as_slice()).ok().flatten()
}

/// The samples of a packet's channels.
fn channels(frame: &Frame) -> Option<Vec<Vec<i64>>> {
    let decoded = |subframe: &SubframeWidth| match subframe {
        SubframeWidth::Common(samples) => samples.decode().map(i64::from).collect::<Vec<_>>(),
        SubframeWidth::Wide(samples) => samples.decode().collect(),
    };
    let mut all: Vec<Vec<i64>> = frame.subframes.iter().map(decoded).collect();
    let assignment = frame.header.channel_assignment;
    if matches!(assignment, ChannelAssignment::Independent(_)) {
        return Some(all);
    }
    let [first, second] = all.as_mut_slice() else { return None };
    for (a, b) in first.iter_mut().zip(second) {
        (*a, *b) = match assignment {
            ChannelAssignment::LeftSide => (*a, *a - *b),
            ChannelAssignment::SideRight => (*a + *b, *b),
            // The sum lost its last bit, which is that of the difference.
            ChannelAssignment::MidSide => {
                let sum = 2 * *a + (*b & 1);
                ((sum + *b) / 2, (sum - *b) / 2)
            }
            ChannelAssignment::Independent(_) => (*a, *b),
        };
    }
    Some(all)
}

impl AudioDecoder for WideFlacDecoder {
    fn reset(&mut self) {
        // Packets know nothing of each other.
    }

    fn codec_info(&self) -> &CodecInfo {
        &CodecInfo { short_name: "flac", long_name: "Free Lossless Audio Codec", profiles: &[] }
    }

    fn codec_params(&self) -> &AudioCodecParameters {
        &self.params
    }

    fn decode_ref(&mut self, packet: &PacketRef<'_>) -> Decoded<GenericAudioBufferRef<'_>> {
        self.buffer.clear();
        let frame = Frame::read(&mut &packet.data[..], &self.info).ok();
        let Some(all) = frame.and_then(|frame| channels(&frame)) else {
            return decode_error("flac: a broken packet");
        };
        let frames = all.first().map_or(0, Vec::len).min(BLOCK);
        self.buffer.render_uninit(Some(frames));
        for (channel, samples) in all.iter().enumerate() {
            let plane = self.buffer.plane_mut(channel).into_iter().flatten();
            // What a whole file cannot hold is a broken one's.
            plane.zip(samples).for_each(|(place, sample)| *place = *sample as i32);
        }
        Ok(self.buffer.as_generic_audio_buffer_ref())
    }

    fn finalize(&mut self) -> FinalizeResult {
        FinalizeResult::default()
    }

    fn last_decoded(&self) -> GenericAudioBufferRef<'_> {
        self.buffer.as_generic_audio_buffer_ref()
    }
}
