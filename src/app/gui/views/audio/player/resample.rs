//! Samples in another rate: curves through four neighbours (Catmull and Rom's), block after block.

/// Makes samples of one rate those of another.
pub(super) struct Resampler {
    /// Frames that are read for one that is made.
    ratio: f64,
    channels: usize,
    /// The last frames of the block before.
    tail: Vec<f32>,
    /// Where the next frame lies, counted from the first of `tail`.
    at: f64,
}

impl Resampler {
    pub(super) fn new(ratio: f64, channels: usize) -> Self {
        // One frame of silence before the first.
        Resampler { ratio, channels, tail: vec![0.0; channels], at: 1.0 }
    }

    /// The frames that can be made now; the last ones wait for what follows them.
    pub(super) fn block(&mut self, samples: Vec<f32>) -> Vec<f32> {
        if (self.ratio - 1.0).abs() < 1e-9 {
            return samples;
        }
        self.tail.extend(samples);
        let frames = self.tail.len() / self.channels.max(1);
        let mut out = Vec::new();
        while self.at + 2.0 < frames as f64 {
            let (index, part) = (self.at.floor() as usize, self.at.fract() as f32);
            for channel in 0..self.channels {
                let sample = |n: usize| {
                    let place = (index + n).saturating_sub(1) * self.channels + channel;
                    self.tail.get(place).copied().unwrap_or(0.0)
                };
                out.push(curve([sample(0), sample(1), sample(2), sample(3)], part));
            }
            self.at += self.ratio;
        }
        let used = (self.at.floor() as usize).saturating_sub(1).min(frames);
        self.tail.drain(..used * self.channels);
        self.at -= used as f64;
        out
    }
}

/// The curve between the second and the third of four values.
fn curve([a, b, c, d]: [f32; 4], at: f32) -> f32 {
    let cubic = 0.5 * (d - a) + 1.5 * (b - c);
    let square = a - 2.5 * b + 2.0 * c - 0.5 * d;
    ((cubic * at + square) * at + 0.5 * (c - a)) * at + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_stays_a_tone_across_blocks() {
        for (from, to) in [(44_100.0, 48_000.0), (48_000.0, 44_100.0), (8_000.0, 48_000.0)] {
            let sine = |n: f64, rate: f64| (n / rate * 220.0 * std::f64::consts::TAU).sin() as f32;
            let frames: Vec<f32> = (0..8_000).flat_map(|n| [sine(n.into(), from), 0.25]).collect();
            let mut resampler = Resampler::new(from / to, 2);
            let made: Vec<f32> =
                frames.chunks(2 * 333).flat_map(|block| resampler.block(block.to_vec())).collect();
            let (made_frames, expected) = (made.len() / 2, (8_000.0 * to / from) as usize);
            assert!(made_frames <= expected && made_frames + 16 > expected, "{made_frames} of {expected}");
            for (n, frame) in made.chunks(2).enumerate().skip(16) {
                assert!((frame[0] - sine(n as f64, to)).abs() < 0.01, "frame {n}: {}", frame[0]);
                assert!((frame[1] - 0.25).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn the_same_rate_changes_nothing() {
        assert_eq!(Resampler::new(1.0, 2).block(vec![0.1, 0.2, 0.3, 0.4]), [0.1, 0.2, 0.3, 0.4]);
    }
}
