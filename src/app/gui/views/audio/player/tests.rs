//! Playing to a device that keeps what it was given.

use super::*;
use gander::bytes::source::Source;
use gander::data::content::ArrayFacts;
use gander::data::content::array::{Plain, Sound};
use gander::data::dtype::DType;
use gander::data::region::Region;
use std::sync::atomic::AtomicU64;

/// What devices of this thread's tests were given.
static HEARD: Mutex<Vec<f32>> = Mutex::new(Vec::new());
thread_local! {
    /// What plays in views of this thread.
    pub(crate) static CHOSEN: std::cell::Cell<Option<Open>> = const { std::cell::Cell::new(None) };
}

/// One test plays at a time.
pub(crate) static TURN: Mutex<()> = Mutex::new(());

struct Recorder {
    stop: Arc<AtomicBool>,
}

impl Stream for Recorder {}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A device of twice the rate and two channels that takes 10 ms of it every millisecond.
pub(crate) fn recorder(
    rate: f64,
    _: usize,
    start: &mut dyn FnMut(f64, usize) -> SampleQueue,
) -> Result<Box<dyn Stream>> {
    let mut feed = start(rate * 2.0, 2);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    HEARD.lock().clear();
    std::thread::spawn(move || {
        let mut buffer = vec![0.0; (rate * 2.0 * 0.01) as usize * 2];
        while !stopped.load(Ordering::Relaxed) {
            feed.fill(&mut buffer, Duration::ZERO);
            HEARD.lock().extend_from_slice(&buffer);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    Ok(Box::new(Recorder { stop }))
}

/// A device that plays what is there at once.
fn silent(_: f64, _: usize, start: &mut dyn FnMut(f64, usize) -> SampleQueue) -> Result<Box<dyn Stream>> {
    let mut feed = start(48_000.0, 1);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            feed.fill(&mut [0.0; 4_800], Duration::ZERO);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    Ok(Box::new(Recorder { stop }))
}

/// An array that knows the most bytes that were asked for at once.
struct CountedArray(Arc<dyn Array>, AtomicU64);

impl Array for CountedArray {
    fn dtype(&self) -> &DType {
        self.0.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    fn facts(&self) -> ArrayFacts {
        self.0.facts()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.1.fetch_max(out.len() as u64, Ordering::Relaxed);
        self.0.read(task, region, out)
    }
}

/// No device.
pub(crate) fn none(
    _: f64,
    _: usize,
    _: &mut dyn FnMut(f64, usize) -> SampleQueue,
) -> Result<Box<dyn Stream>> {
    Err(Error::io("this computer has no device for sound"))
}

/// A sound of one channel whose samples rise from 0 to 1.
fn ramp(frames: u64) -> Playback {
    let bytes: Vec<u8> = (0..frames).flat_map(|n| (n as f32 / frames as f32).to_le_bytes()).collect();
    let sound = Sound { rate: 1_000, full: 32, ..Sound::default() };
    let facts = ArrayFacts { sound: Some(sound), ..ArrayFacts::default() };
    let plain = Plain::new(Source::memory("ramp", bytes), 0, DType::F32, vec![frames, 1]).unwrap();
    Playback {
        array: Arc::new(plain.with_facts(facts)),
        rate: 1_000.0,
        range: 0..frames,
        from: 0,
        repeat: false,
    }
}

fn ended(player: &Player) {
    let begun = Instant::now();
    while !player.is_ended() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on playing");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_part_is_heard_once_on_all_channels() {
    let _turn = TURN.lock();
    let playback = Playback { range: 1_000..3_000, from: 1_500, ..ramp(4_000) };
    let player = Player::start(playback, recorder);
    ended(&player);
    assert!(player.error().is_none());
    let heard = HEARD.lock().clone();
    let sounds: Vec<&[f32]> = heard.chunks(2).filter(|frame| frame[0] > 0.0).collect();
    // Frames 1,500 to 3,000 of a device that has twice as many.
    assert!((2_990..=3_000).contains(&sounds.len()), "{}", sounds.len());
    assert!(sounds.iter().all(|frame| frame[0] == frame[1]));
    let steady = sounds.windows(2).skip(8).all(|pair| (pair[1][0] - pair[0][0] - 0.000_125).abs() < 1e-4);
    assert!(steady, "samples are missing or twice there");
    let frame = player.frame(0.0).unwrap();
    assert!((2_800..=3_000).contains(&frame), "{frame}");
}

#[test]
fn a_loop_begins_anew_until_it_is_stopped() {
    let _turn = TURN.lock();
    let player = Player::start(Playback { repeat: true, ..ramp(300) }, recorder);
    let falls = || {
        let heard = HEARD.lock();
        let first = |frame: Option<&f32>| frame.copied().unwrap_or(0.0);
        let frames: Vec<f32> = heard.chunks(2).map(|frame| first(frame.first())).collect();
        frames.windows(2).filter(|pair| matches!(pair, [a, b] if *b < a - 0.3)).count()
    };
    let begun = Instant::now();
    while falls() < 3 {
        assert!(!player.is_ended() && begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    player.repeat(false);
    ended(&player);
}

#[test]
fn a_rate_that_cannot_be_reads_little_at_a_time() {
    let _turn = TURN.lock();
    let playback = Playback { rate: 4e9, ..ramp(3_000_000) };
    let counted = CountedArray(playback.array.clone(), AtomicU64::new(0));
    let array = Arc::new(counted);
    let player = Player::start(Playback { array: array.clone(), ..playback }, silent);
    ended(&player);
    assert!(player.error().is_none());
    assert_eq!(array.1.load(Ordering::Relaxed), SAMPLES * 4);
}

#[test]
fn another_sound_ends_the_first_one() {
    let _turn = TURN.lock();
    let first = Player::start(Playback { repeat: true, ..ramp(4_000) }, recorder);
    let second = Player::start(Playback { repeat: true, ..ramp(4_000) }, recorder);
    assert!(first.is_ended() && !second.is_ended());
    drop(second);
}

#[test]
fn without_a_device_there_is_a_sentence() {
    let _turn = TURN.lock();
    let player = Player::start(ramp(10), none);
    ended(&player);
    assert_eq!(player.error().unwrap().message(), "this computer has no device for sound");
}

#[test]
fn channels_go_to_those_of_the_device() {
    assert_eq!(mixed(&[0.1, 0.2], 1, 2), [0.1, 0.1, 0.2, 0.2]);
    assert_eq!(mixed(&[0.5, f32::NAN, 2.0, -2.0], 2, 2), [0.5, 0.0, 1.0, -1.0]);
    assert_eq!(mixed(&[0.5, 0.25, 0.0, 0.75], 4, 2), [0.25, 0.5]);
    assert_eq!(mixed(&[0.5, 0.25], 2, 1), [0.375]);
    assert_eq!(mixed(&[0.5, 0.25], 2, 4), [0.5, 0.25, 0.0, 0.0]);
}
