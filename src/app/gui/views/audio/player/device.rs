//! The system's device for sound, by `cpal`.

use std::time::Duration;

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{
    BufferSize, Device, ErrorKind, FromSample, SampleFormat, SizedSample, StreamConfig, SupportedStreamConfig,
};
use gander::bytes::error::{Error, Result};

use super::{SampleQueue, Stream};

const NONE: &str = "this computer has no device for sound";
/// Longer than this no device says that it waits.
const DELAY: Duration = Duration::from_secs(2);

impl Stream for cpal::Stream {}

/// Opens the system's usual device.
pub(super) fn open(
    rate: f64,
    channels: usize,
    start: &mut dyn FnMut(f64, usize) -> SampleQueue,
) -> Result<Box<dyn Stream>> {
    let device = cpal::default_host().default_output_device();
    let device = device.ok_or_else(|| Error::io(NONE))?;
    let supported = suited(&device, rate, channels)?;
    let config = StreamConfig {
        channels: supported.channels(),
        sample_rate: supported.sample_rate(),
        buffer_size: BufferSize::Default,
    };
    let feed = start(f64::from(config.sample_rate), usize::from(config.channels));
    let stream = match supported.sample_format() {
        SampleFormat::F32 => stream::<f32>(&device, config, feed),
        SampleFormat::F64 => stream::<f64>(&device, config, feed),
        SampleFormat::I8 => stream::<i8>(&device, config, feed),
        SampleFormat::I16 => stream::<i16>(&device, config, feed),
        SampleFormat::I32 => stream::<i32>(&device, config, feed),
        SampleFormat::U8 => stream::<u8>(&device, config, feed),
        SampleFormat::U16 => stream::<u16>(&device, config, feed),
        SampleFormat::U32 => stream::<u32>(&device, config, feed),
        other => Err(Error::unsupported(format!("a device for sound that takes samples as {other} alone"))),
    }?;
    stream.play().map_err(|error| failed(&error))?;
    Ok(Box::new(stream))
}

/// What a device can do that is nearest to a sound: its rate and channels, floats before integers; else the device's own.
fn suited(device: &Device, rate: f64, channels: usize) -> Result<SupportedStreamConfig> {
    const FORMATS: [SampleFormat; 4] =
        [SampleFormat::F32, SampleFormat::I32, SampleFormat::I16, SampleFormat::U8];
    let wanted = rate.round() as u32;
    let all = device.supported_output_configs().map_err(|error| failed(&error))?;
    let best = all
        .filter_map(|range| {
            let format = FORMATS.iter().position(|one| *one == range.sample_format())?;
            let distance = usize::from(range.channels()).abs_diff(channels.clamp(1, 2));
            Some(((distance, format), range.try_with_sample_rate(wanted)?))
        })
        .min_by_key(|(order, _)| *order);
    match best {
        Some((_, config)) => Ok(config),
        None => device.default_output_config().map_err(|error| failed(&error)),
    }
}

fn stream<T: SizedSample + FromSample<f32>>(
    device: &Device,
    config: StreamConfig,
    mut feed: SampleQueue,
) -> Result<cpal::Stream> {
    let mut buffer = Vec::new();
    let fails = feed.fails();
    let fill = move |out: &mut [T], info: &cpal::OutputCallbackInfo| {
        let times = info.timestamp();
        buffer.resize(out.len(), 0.0);
        feed.fill(&mut buffer, times.playback.saturating_duration_since(times.callback).min(DELAY));
        for (place, sample) in out.iter_mut().zip(&buffer) {
            *place = T::from_sample(*sample);
        }
    };
    let failing = move |error: cpal::Error| match error.kind() {
        // It goes on by itself.
        ErrorKind::Xrun | ErrorKind::RealtimeDenied | ErrorKind::DeviceChanged => {}
        _ => fails(failed(&error)),
    };
    device.build_output_stream(config, fill, failing, None).map_err(|error| failed(&error))
}

fn failed(error: &cpal::Error) -> Error {
    // Some systems name a usual device although there is none.
    if matches!(error.kind(), ErrorKind::DeviceNotAvailable | ErrorKind::HostUnavailable) {
        return Error::io(NONE);
    }
    Error::io(format!("the device for sound: {error}"))
}
