//! The samples of a track: where each lies, how long it stands, when it is shown, which ones can be decoded alone.

use std::ops::Range;

/// The samples of a track in the order of decoding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Where each lies in the file.
    pub places: Vec<Range<u64>>,
    /// How long each stands, in the time of the track.
    pub durations: Vec<u32>,
    /// How much later than it is decoded each is shown; empty where none is.
    pub shifts: Vec<i32>,
    /// Which can be decoded alone; empty where all can.
    pub keys: Vec<bool>,
    /// When the first one is decoded.
    pub start: u64,
}

impl Samples {
    /// When each is shown, in the time of the track.
    pub fn times(&self) -> Vec<i64> {
        let mut at = self.start as i64;
        let mut times = Vec::with_capacity(self.durations.len());
        for (n, duration) in self.durations.iter().enumerate() {
            times.push(at.saturating_add(self.shifts.get(n).copied().unwrap_or(0).into()));
            at = at.saturating_add((*duration).into());
        }
        times
    }

    /// Whether a sample can be decoded alone.
    pub fn is_key(&self, n: usize) -> bool {
        self.keys.get(n).copied().unwrap_or(self.keys.is_empty())
    }

    /// The length of all, in the time of the track.
    pub fn duration(&self) -> u64 {
        self.durations.iter().map(|duration| u64::from(*duration)).sum()
    }
}
