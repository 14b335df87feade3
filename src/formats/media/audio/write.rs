//! What the writers of sounds share: which arrays are sounds, and how many frames a second they have.

pub(super) mod flac;
pub(super) mod wav;

use crate::bytes::error::{Error, Result};
use crate::data::content::array::Sound;
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, loss, note};
use crate::data::node::Value;

/// Frames a second.
const RATE: OptionSpec = OptionSpec::new(
    "rate",
    "Frames a second; without it what the sound says, or an attribute of it (rate, sample_rate, sr)",
);
/// Attributes that say the rate.
const RATES: [&str; 6] = ["rate", "sample_rate", "samplerate", "sampling_rate", "sr", "fs"];
/// What is written where nothing says the rate.
const USUAL: u32 = 44_100;
/// An array of which nobody says that it is a sound has at most so many channels.
const CHANNELS: u64 = 32;

/// What is known of a sound that is to be written.
struct Told {
    dtype: DType,
    frames: u64,
    channels: u64,
    /// What the array says of itself as a sound.
    sound: Option<Sound>,
    is_plain: bool,
}

impl Told {
    /// That of the array of a payload: frames, or frames × channels.
    ///
    /// # Errors
    /// `Unsupported` for other shapes.
    fn of(payload: &Payload) -> Result<Self> {
        let array = payload.array()?;
        let sound = array.facts().sound;
        let most = if sound.is_some() { u64::from(u16::MAX) } else { CHANNELS };
        let (frames, channels) = match *array.shape() {
            [frames] => (frames, 1),
            [frames, channels] if (1..=most).contains(&channels) => (frames, channels),
            _ => {
                let shape = array.shape();
                let what = format!(
                    "an array of shape {shape:?} is no sound: that is frames, or frames × 1 to {most} channels"
                );
                return Err(Error::unsupported(what));
            }
        };
        let is_plain = array.shape().len() == 1;
        Ok(Told { dtype: array.dtype().clone(), frames, channels, sound, is_plain })
    }

    /// Bits of whole samples: that many they may have, and where nothing else is known all of their type.
    fn full(&self) -> u32 {
        let own = self.dtype.size() as u32 * 8;
        self.sound.as_ref().map_or(own, |sound| sound.full).clamp(1, own.max(1))
    }

    /// Frames a second, and whether anything says them.
    ///
    /// # Errors
    /// `Unsupported` for an option that is no number.
    fn rate(&self, payload: &Payload, options: &Options) -> Result<(u32, bool)> {
        if options.get(RATE.name).is_some_and(|text| !text.is_empty()) {
            return Ok((options.number(&RATE, "it is a whole number above 0", |n| *n > 0)?, true));
        }
        let own = self.sound.as_ref().map(|sound| sound.rate).filter(|rate| *rate > 0);
        let number = |value: &Value| -> Option<u32> {
            match value {
                Value::Text(text) => text.trim().parse().ok(),
                Value::Json(json) => json.as_u64().and_then(|n| n.try_into().ok()).or_else(|| {
                    json.as_f64().filter(|n| n.fract() == 0.0 && *n <= f64::from(u32::MAX)).map(|n| n as u32)
                }),
            }
        };
        let said = || RATES.iter().find_map(|name| number(payload.attributes.get(name)?));
        let known = own.or_else(|| said().filter(|rate| *rate > 0));
        Ok((known.unwrap_or(USUAL), known.is_some()))
    }

    /// What is said of arrays that were no sounds, of their rate, and of rates that are asked for.
    fn losses(&self, payload: &Payload, options: &Options) -> Vec<Loss> {
        let mut losses = Vec::new();
        // A rate that is none stops the writer.
        let Ok((rate, is_known)) = self.rate(payload, options) else { return losses };
        match &self.sound {
            Some(sound) if sound.rate != rate => {
                let what = format!("the sound says {} frames a second, {rate} are written", sound.rate);
                losses.push(note(LossKind::Scale, what).if_any());
            }
            Some(_) => {}
            None if is_known => {
                let what = format!("the array becomes a sound of {rate} frames a second");
                losses.push(note(LossKind::Type, what));
            }
            None => {
                let what = format!(
                    "the array becomes a sound of {rate} frames a second, which nothing says (rate=N says it)"
                );
                losses.push(loss(LossKind::Type, what));
            }
        }
        if self.is_plain {
            losses.push(note(LossKind::Type, "the array becomes one channel"));
        }
        losses
    }

    /// What is said where whole samples have fewer bits than those of the file.
    fn quieter(&self, bits: u32) -> Option<Loss> {
        let full = self.full();
        let what = format!(
            "samples of {full} bits are written as the same numbers of {bits} bits: the sound is quieter"
        );
        (full < bits && !self.dtype.is_float()).then(|| loss(LossKind::Scale, what).if_any())
    }
}
