//! Processes of workers: started on the thread that starts programs, and buried by one of their own. (On Linux a worker ends
//! with the thread that started it, so that none is left behind whatever happens to the program; elsewhere it ends when its
//! channel does.)

#[cfg(target_os = "linux")]
mod fork;
mod stderr;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use stderr::CapturedStderr;
#[cfg(unix)]
use unix::ended;
#[cfg(windows)]
use windows::ended;

use super::channel::{self, Channel};
use super::limits;
use crate::bytes::error::{Error, Result};
use crate::bytes::starter;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The argument that makes the program a worker.
pub const ARGUMENT: &str = "--worker";

/// What of this process' environment a worker has: how it speaks, where programs, libraries and filters are, what computes.
const ENVIRONMENT: [&str; 8] = [
    "LANG",
    "PATH",
    "RUST_BACKTRACE",
    "RAYON_NUM_THREADS",
    "TZ",
    "LD_LIBRARY_PATH",
    "HDF5_PLUGIN_PATH",
    "SystemRoot",
];

/// The time between two looks at processes that end.
const REAPING: Duration = Duration::from_millis(5);

/// A process that was started, and not waited for.
enum Child {
    Started(std::process::Child),
    #[cfg(target_os = "linux")]
    Forked(rustix::process::Pid),
}

impl Child {
    /// Ends it. It was not waited for yet, so its number is its own.
    fn kill(&mut self) {
        match self {
            Child::Started(child) => drop(child.kill()),
            #[cfg(target_os = "linux")]
            Child::Forked(id) => {
                let _ = rustix::process::kill_process(*id, rustix::process::Signal::KILL);
            }
        }
    }

    fn id(&self) -> u32 {
        match self {
            Child::Started(child) => child.id(),
            #[cfg(target_os = "linux")]
            Child::Forked(id) => id.as_raw_nonzero().get().unsigned_abs(),
        }
    }

    /// How it ended, once it has.
    fn has_ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        match self {
            Child::Started(child) => child.try_wait(),
            #[cfg(target_os = "linux")]
            Child::Forked(id) => fork::try_wait(*id),
        }
    }

    /// The same, waited for within a time.
    fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        let since = Instant::now();
        loop {
            match self.has_ended() {
                Ok(None) if since.elapsed() <= most => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended.ok().flatten(),
            }
        }
    }
}

/// A worker's process, and the end of its channel.
pub(super) struct Process {
    channel: Channel,
    child: Mutex<Option<Child>>,
    stderr: CapturedStderr,
}

/// The thread that waits for those that nobody asks of any more.
fn reaper() -> &'static Sender<Child> {
    static THREAD: OnceLock<Sender<Child>> = OnceLock::new();
    THREAD.get_or_init(|| {
        let (sender, list) = channel::<Child>();
        let work = move || {
            let mut ending: Vec<Child> = Vec::new();
            loop {
                // One that does not end keeps no other one from it.
                let pause = if ending.is_empty() { Duration::MAX } else { REAPING };
                match list.recv_timeout(pause) {
                    Ok(mut child) => {
                        child.kill();
                        ending.push(child);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                ending.retain_mut(|child| matches!(child.has_ended(), Ok(None)));
            }
        };
        let _ = std::thread::Builder::new().name("ended workers".to_owned()).spawn(work);
        sender
    })
}

fn start(program: &PathBuf) -> std::io::Result<Process> {
    let (stderr, input) = CapturedStderr::new()?;
    let mut command = Command::new(program);
    command
        .arg(ARGUMENT)
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .stderr(input);
    #[cfg(windows)]
    windows::has_no_window(&mut command);
    let (channel, child) = channel::start(command)?;
    Ok(Process { channel, child: Mutex::new(Some(Child::Started(child))), stderr })
}

/// Makes the worker of the first document from this very process, before there is a second thread: that takes less time
/// than starting the program again. Nothing happens where the system cannot; the worker is started then when it is needed.
pub fn fork_first() {
    #[cfg(target_os = "linux")]
    fork::fork_first();
}

impl Process {
    /// Starts a worker.
    ///
    /// # Errors
    /// `Crashed` where the system cannot.
    pub(super) fn start(program: PathBuf) -> Result<Process> {
        let started = starter::on_its_thread(move || start(&program)).flatten();
        started.map_err(|error| Error::crashed(format!("a reader's process cannot be started: {error}")))
    }

    /// Its channel.
    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Its number, until it was waited for.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.lock().as_ref().map(Child::id)
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        if let Some(child) = self.child.lock().as_mut() {
            child.kill();
        }
    }

    /// Ends it; nobody will ask how.
    pub(super) fn reap(&self) {
        if let Some(mut child) = self.child.lock().take() {
            child.kill();
            let _ = reaper().send(child);
        }
    }

    /// How a process ended that is known to be ending, in words; waits for that.
    pub(super) fn end(&self) -> String {
        // What has closed its end is ending, and says by what; only what cannot end is ended.
        let child = self.child.lock().take();
        let status = child.and_then(|mut child| {
            let ended = child.wait(limits::ENDING).or_else(|| {
                child.kill();
                child.wait(limits::ENDING)
            });
            if ended.is_none() {
                let _ = reaper().send(child);
            }
            ended
        });
        let words = self.stderr.text();
        let overflow = words
            .lines()
            .find(|line| line.contains("stack overflow") || line.contains("overflowed its stack"));
        let memory = words.lines().find(|line| line.starts_with("memory allocation of"));
        match (overflow, memory, status) {
            (Some(_), ..) => "it used up its stack".to_owned(),
            (_, Some(_), _) => "it asked for more memory than it may have".to_owned(),
            (.., Some(status)) => ended(status),
            _ => "it ended".to_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without the thread the system reaps it when the program ends.
        self.reap();
    }
}
