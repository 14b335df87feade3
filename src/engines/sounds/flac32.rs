//! FLAC of 32 bits a sample (RFC 9639): packets that Symphonia finds, decoded by `flac-codec`. The difference of two channels
//! has 33 bits there (section 4.2), for which Symphonia's own decoder has no room: it gives other values.

use crate::bytes::error::{Error, Result};
use flac_codec::metadata::{Streaminfo, read_block};
use flac_codec::stream::{ChannelAssignment, Frame, ResidualPartition, Residuals, Subframe, SubframeWidth};
use symphonia::core::audio::{
    AsGenericAudioBufferRef, AudioBuffer, AudioMut, AudioSpec, GenericAudioBufferRef,
};
use symphonia::core::codecs::CodecInfo;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, FinalizeResult};
use symphonia::core::errors::{Result as Decoded, decode_error};
use symphonia::core::packet::PacketRef;

/// Bits of the samples that are decoded here.
const BITS: u32 = 32;
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
    /// The decoder of a track; `None` where STREAMINFO, whatever the container says, has fewer bits, or is not there.
    ///
    /// # Errors
    /// `Malformed` where it contradicts the container.
    pub(super) fn new(params: &AudioCodecParameters) -> Result<Option<Self>> {
        let extra = params.extra_data.as_deref().unwrap_or_default();
        let Some(info) = extra.get(..STREAMINFO).and_then(info) else { return Ok(None) };
        if u32::from(info.bits_per_sample) != BITS {
            return Ok(None);
        }
        let known = params.channels.clone().filter(|known| known.count() == usize::from(info.channels.get()));
        let known = known
            .ok_or_else(|| Error::malformed("FLAC: its header has other channels than its container"))?;
        let spec = AudioSpec::new(info.sample_rate, known);
        Ok(Some(WideFlacDecoder { info, params: params.clone(), buffer: AudioBuffer::new(spec, BLOCK) }))
    }
}

/// STREAMINFO, as the only block of a file.
fn info(bytes: &[u8]) -> Option<Streaminfo> {
    let file = [b"fLaC\x80\0\0\x22", bytes].concat();
    read_block(file.as_slice()).ok().flatten()
}

/// Coefficients of the fixed predictors, by their order (section 9.2.5).
const FIXED: [&[i32]; 5] = [&[], &[1], &[2, -1], &[3, -3, 1], &[4, -6, 4, -1]];

/// The samples of a channel (section 9.2). The crate adds what was predicted in the width of the samples, which does not
/// hold what comes in between.
fn samples<I: Copy + Into<i64>>(subframe: &Subframe<I>) -> Vec<i64> {
    let wide = |samples: &[I]| samples.iter().map(|&sample| sample.into()).collect::<Vec<i64>>();
    let (mut samples, wasted) = match subframe {
        Subframe::Constant { sample, block_size, wasted_bps } => {
            (vec![(*sample).into(); usize::from(*block_size)], *wasted_bps)
        }
        Subframe::Verbatim { samples, wasted_bps } => (wide(samples), *wasted_bps),
        Subframe::Fixed { order, warm_up, residuals, wasted_bps } => {
            let coefficients = FIXED.get(usize::from(*order)).copied().unwrap_or_default();
            (predicted(wide(warm_up), &differences(residuals), coefficients, 0), *wasted_bps)
        }
        Subframe::Lpc { warm_up, coefficients, residuals, wasted_bps, shift, .. } => {
            (predicted(wide(warm_up), &differences(residuals), coefficients, *shift), *wasted_bps)
        }
    };
    samples.iter_mut().for_each(|sample| *sample = sample.wrapping_shl(wasted));
    samples
}

/// What follows the first samples, each predicted from those before it, and what it differs by.
fn predicted(mut samples: Vec<i64>, differences: &[i64], coefficients: &[i32], shift: u32) -> Vec<i64> {
    for difference in differences {
        let before = samples.iter().rev().zip(coefficients);
        let sum = before.fold(0i64, |sum, (&sample, &by)| sum.wrapping_add(sample.wrapping_mul(by.into())));
        samples.push(difference.wrapping_add(sum.wrapping_shr(shift)));
    }
    samples
}

fn differences<I: Copy + Into<i64>>(residuals: &Residuals<I>) -> Vec<i64> {
    fn of<const RICE: u32, I: Copy + Into<i64>>(parts: &[ResidualPartition<RICE, I>]) -> Vec<i64> {
        let of = |part: &ResidualPartition<RICE, I>| match part {
            ResidualPartition::Standard { residuals, .. } | ResidualPartition::Escaped { residuals, .. } => {
                residuals.iter().map(|&residual| residual.into()).collect()
            }
            ResidualPartition::Constant { partition_len } => vec![0; *partition_len],
        };
        parts.iter().flat_map(of).collect()
    }
    match residuals {
        Residuals::Method0 { partitions } => of(partitions),
        Residuals::Method1 { partitions } => of(partitions),
    }
}

/// The samples of a packet's channels.
fn channels(frame: &Frame) -> Option<Vec<Vec<i64>>> {
    let decoded = |subframe: &SubframeWidth| match subframe {
        SubframeWidth::Common(subframe) => samples(subframe),
        SubframeWidth::Wide(subframe) => samples(subframe),
    };
    let mut all: Vec<Vec<i64>> = frame.subframes.iter().map(decoded).collect();
    let assignment = frame.header.channel_assignment;
    if matches!(assignment, ChannelAssignment::Independent(_)) {
        return Some(all);
    }
    let [first, second] = all.as_mut_slice() else { return None };
    for (a, b) in first.iter_mut().zip(second) {
        (*a, *b) = match assignment {
            ChannelAssignment::LeftSide => (*a, a.wrapping_sub(*b)),
            ChannelAssignment::SideRight => (a.wrapping_add(*b), *b),
            // The sum lost its last bit, which is that of the difference.
            ChannelAssignment::MidSide => {
                let sum = a.wrapping_mul(2).wrapping_add(*b & 1);
                (sum.wrapping_add(*b) >> 1, sum.wrapping_sub(*b) >> 1)
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
