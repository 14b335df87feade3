//! ffmpeg as a child process, for the pixels of frames and nothing else: it is given one coded track on its standard input,
//! in Matroska that was written here ([`packet`]), and gives raw pixels on its standard output.
//!
//! It opens no file: the only protocol that it may use is that of its own pipes, and the only container the one that is
//! written here, whatever the video was. On Linux it runs without a network, with bounds on memory and time, and ends
//! with the program. A frame that nobody waits for any more ends it.

#[cfg(unix)]
#[path = "ffmpeg/polled.rs"]
mod pipes;
#[cfg(windows)]
#[path = "ffmpeg/threaded.rs"]
mod pipes;
mod remux;

pub use remux::{Coding, header, packet};

use crate::bytes::error::{Error, Result};
use crate::bytes::starter;
use crate::bytes::task::Task;
use pipes::{PipeReader, PipeWriter};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

/// The program, in the search path of the system.
const PROGRAM: &str = "ffmpeg";
/// Bytes of memory that it may take,
#[cfg(target_os = "linux")]
const MEMORY: u64 = 4 << 30;
/// and seconds of processor time for one seek.
#[cfg(target_os = "linux")]
const SECONDS: u64 = 600;
/// Bytes of its messages that are kept.
const MESSAGES: usize = 4_096;
/// How colours are made of fewer samples than there are pixels, where one picture has time for more than the nearest.
const STILL: [&str; 2] = ["-sws_flags", "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"];
/// The time between two looks at whether somebody still waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether the program is there; asked once.
static THERE: LazyLock<bool> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder| folder.join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION).is_file())
});

/// Whether pixels can be had.
pub fn is_there() -> bool {
    *THERE
}

/// What is said where it is not.
pub fn missing() -> Error {
    Error::unsupported(
        "frames are decoded by ffmpeg, which is not installed; the package ffmpeg brings it. All else of the video is read without it",
    )
}

/// What pixels are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Frames of a video, as fast as they come.
    Frames,
    /// One picture, with its colours interpolated.
    Still,
}

/// The pipes of a decoder that runs: its input, its output, its messages.
pub(crate) type Pipes = [pipes::Pipe; 3];

/// Starts decoders for a process that may start no program.
type Elsewhere = fn(Purpose, &str) -> Result<Pipes>;
static ELSEWHERE: OnceLock<Elsewhere> = OnceLock::new();

/// From now on decoders are asked for rather than started: this process may not start any.
pub(crate) fn start_by(elsewhere: Elsewhere) {
    let _ = ELSEWHERE.set(elsewhere);
}

/// Starts the program: what it is told is fixed, but for how it gives pixels (`rgb24`, `rgb48le`).
///
/// # Errors
/// `Unsupported` where the program is not there, and for any other word.
pub(crate) fn begin(purpose: Purpose, layout: &str) -> Result<(Child, Pipes)> {
    let is_word = layout.len() <= 16 && layout.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_word {
        return Err(Error::unsupported(format!("pixels as {layout:?}")));
    }
    if !is_there() {
        return Err(missing());
    }
    let mut command = Command::new(PROGRAM);
    command
        .args(["-nostdin", "-hide_banner", "-loglevel", "error", "-threads", "2"])
        .args(["-protocol_whitelist", "pipe", "-format_whitelist", "matroska,webm", "-f", "matroska"])
        .args(["-probesize", "32768", "-analyzeduration", "0", "-i", "pipe:0"])
        .args(["-map", "0:v:0", "-an", "-sn", "-dn"])
        .args(if purpose == Purpose::Still { &STILL[..] } else { &[] })
        .args(["-f", "rawvideo", "-pix_fmt", layout, "pipe:1"])
        // Settings of the user are not the video's.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("AV_LOG_FORCE_NOCOLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    confine(&mut command);
    let started = starter::on_its_thread(move || command.spawn()).flatten();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing(),
        _ => Error::io(format!("ffmpeg cannot be started: {error}")),
    })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    match pipes {
        (Some(stdin), Some(stdout), Some(stderr)) => {
            Ok((child, [stdin.into(), stdout.into(), stderr.into()]))
        }
        _ => Err(Error::bug("ffmpeg without its pipes")),
    }
}

/// A decoder that runs.
pub struct Decoder {
    /// The process, where this one started it.
    child: Option<Child>,
    stdin: Option<PipeWriter>,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    /// Says when there is something to do.
    readiness: pipes::Readiness,
    /// Bytes that wait to be written.
    input: VecDeque<u8>,
    /// Bytes of one frame.
    size: usize,
    messages: Vec<u8>,
}

impl Decoder {
    /// Starts one that gives pixels as `layout` (`rgb24`, `rgb48le`), `size` bytes a frame.
    ///
    /// # Errors
    /// `Unsupported` where the program is not there.
    pub fn start(layout: &str, size: usize) -> Result<Self> {
        Self::of(Purpose::Frames, layout, size)
    }

    /// The same for pictures that each stand alone, with their colours interpolated.
    ///
    /// # Errors
    /// As [`start`](Decoder::start).
    pub fn start_stills(layout: &str, size: usize) -> Result<Self> {
        Self::of(Purpose::Still, layout, size)
    }

    fn of(purpose: Purpose, layout: &str, size: usize) -> Result<Self> {
        let (child, [stdin, stdout, stderr]) = match ELSEWHERE.get() {
            Some(start) => (None, start(purpose, layout)?),
            None => {
                let (child, pipes) = begin(purpose, layout)?;
                (Some(child), pipes)
            }
        };
        let failed = |error: std::io::Error| Error::io(format!("the pipes of ffmpeg: {error}"));
        let readiness = pipes::Readiness::default();
        let stdin = Some(PipeWriter::new(stdin, &readiness).map_err(failed)?);
        let stdout = Some(PipeReader::new(stdout, &readiness).map_err(failed)?);
        let stderr = Some(PipeReader::new(stderr, &readiness).map_err(failed)?);
        let (input, messages) = (VecDeque::new(), Vec::new());
        Ok(Decoder { child, stdin, stdout, stderr, readiness, input, size, messages })
    }

    /// Bytes that go in first.
    pub fn put(&mut self, bytes: Vec<u8>) {
        self.input.extend(bytes);
    }

    /// The next frame; `more` gives bytes to decode, and none at the end. `None` where no frame follows.
    ///
    /// # Errors
    /// `Cancelled`; `Malformed` with the program's own words where it gives up.
    pub fn frame(
        &mut self,
        task: &Task,
        more: &mut dyn FnMut() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Vec<u8>>> {
        let mut frame = crate::bytes::limits::zeroed(self.size, "a frame")?;
        let mut filled = 0;
        let mut chunk = vec![0; 64 << 10];
        loop {
            task.check()?;
            if self.input.is_empty() && self.stdin.is_some() {
                match more()? {
                    Some(bytes) => self.input.extend(bytes),
                    // The end of the input lets it give what it still holds.
                    None => self.stdin = None,
                }
            }
            self.wait()?;
            self.write()?;
            if let Some(pipe) = &mut self.stderr {
                while let Ok(n @ 1..) = pipe.read(&mut chunk) {
                    let room = MESSAGES.saturating_sub(self.messages.len());
                    self.messages.extend_from_slice(chunk.get(..n.min(room)).unwrap_or_default());
                }
            }
            let Some(pipe) = &mut self.stdout else { return Ok(None) };
            while let Some(rest) = frame.get_mut(filled..) {
                match pipe.read(rest) {
                    Ok(0) if filled == 0 => return self.ended(),
                    Ok(0) => return self.ended().and(Ok(None)),
                    Ok(n) => filled += n,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(Error::io(format!("ffmpeg: {error}"))),
                }
                if filled == self.size {
                    return Ok(Some(frame));
                }
            }
        }
    }

    /// Waits until a pipe can be used, a while at most.
    fn wait(&self) -> Result<()> {
        let stdin = self.stdin.as_ref().filter(|_| !self.input.is_empty());
        let waited = self.readiness.wait(self.stdout.as_ref(), stdin, PATIENCE);
        waited.map_err(|error| Error::io(format!("ffmpeg: {error}")))
    }

    fn write(&mut self) -> Result<()> {
        while let Some(pipe) = &mut self.stdin {
            let (bytes, _) = self.input.as_slices();
            if bytes.is_empty() {
                break;
            }
            match pipe.write(bytes) {
                Ok(n) => drop(self.input.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It has ended; what it said is told where its output ends.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.stdin = None,
                Err(error) => return Err(Error::io(format!("ffmpeg: {error}"))),
            }
        }
        Ok(())
    }

    /// What there is to say where its output ends.
    fn ended(&mut self) -> Result<Option<Vec<u8>>> {
        let status = self.child.as_mut().map(Child::wait).transpose();
        let status = status.map_err(|error| Error::io(format!("ffmpeg: {error}")))?;
        let words = String::from_utf8_lossy(&self.messages);
        let words = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        // Which of its parts says so, and where it lies in memory, tells nobody anything.
        let words = words.split_once("] ").map_or(words, |(_, words)| words).trim();
        #[cfg(unix)]
        if let Some(signal) = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status))
        {
            return Err(Error::limit(format!("ffmpeg was ended by signal {signal}")));
        }
        // Of one that another process started only its words are known.
        match status.is_some_and(|status| status.success()) || words.is_empty() {
            true => Ok(None),
            false => Err(Error::malformed(format!("ffmpeg: {words}"))),
        }
    }

    /// The number of the process.
    #[cfg(test)]
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // One that has ended already cannot be ended again; both ways it is waited for, so that nothing of it stays.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Bounds on what the program may do.
#[cfg(target_os = "linux")]
fn confine(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let bounds = || {
        let bound = |what: libc::__rlimit_resource_t, most: u64| {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: a call to the system with a structure that lives.
            unsafe { libc::setrlimit(what, &limit) }
        };
        // SAFETY: calls to the system alone, which are allowed between fork and exec. Without rights to a network of its
        // own the program still has none to use: its protocols are named.
        unsafe {
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET);
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            // Last, since new rights clear it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        bound(libc::RLIMIT_AS, MEMORY);
        bound(libc::RLIMIT_CPU, SECONDS);
        bound(libc::RLIMIT_FSIZE, 0);
        bound(libc::RLIMIT_CORE, 0);
        Ok(())
    };
    // SAFETY: the closure only makes calls to the system and allocates nothing.
    unsafe { command.pre_exec(bounds) };
}

/// No window of its own; what its libraries are found by, which is no setting of the user.
#[cfg(windows)]
fn confine(command: &mut Command) {
    use std::os::windows::process::CommandExt;
    use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;
    const ROOT: &str = "SystemRoot";
    command.creation_flags(CREATE_NO_WINDOW).env(ROOT, std::env::var_os(ROOT).unwrap_or_default());
}

#[cfg(not(any(target_os = "linux", windows)))]
fn confine(_command: &mut Command) {}

/// The pixels of one coded picture that stands alone.
///
/// # Errors
/// As [`Decoder::frame`]; `Malformed` where no picture comes out.
pub fn still(task: &Task, coding: &Coding, data: &[u8], layout: &str, size: u64) -> Result<Vec<u8>> {
    let size = crate::bytes::limits::check(size, crate::bytes::limits::CHUNK, "a frame")?;
    let mut decoder = Decoder::start_stills(layout, size)?;
    decoder.put(header(coding));
    decoder.put(packet(data, 0, true));
    let none = || Error::malformed("the decoder gives no picture");
    decoder.frame(task, &mut || Ok(None))?.ok_or_else(none)
}
