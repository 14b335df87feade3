//! Processes of workers: started and buried by one thread, which lives as long as the program. (On Linux a worker ends with
//! the thread that started it, so that none is left behind whatever happens to the program; elsewhere it ends when its
//! channel does.)

#[cfg(target_os = "linux")]
mod fork;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix::ended;
#[cfg(windows)]
use windows::ended;

use super::channel::Channel;
use super::limits;
use crate::bytes::error::{Error, Result};
use crate::bytes::system;
use parking_lot::Mutex;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
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

    /// How it ended, once it has; waits for that within a time.
    fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        let since = Instant::now();
        loop {
            let status = match self {
                Child::Started(child) => child.try_wait().ok()?,
                #[cfg(target_os = "linux")]
                Child::Forked(id) => fork::try_wait(*id)?,
            };
            if status.is_some() || since.elapsed() > most {
                return status;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A worker's process, and the end of its channel.
pub(super) struct Process {
    channel: Channel,
    child: Mutex<Option<Child>>,
    /// What it says before it dies.
    words: File,
}

enum Order {
    Start(PathBuf, Sender<Result<Process>>),
    Bury(Child),
}

/// The thread that starts and buries.
fn keeper() -> &'static Sender<Order> {
    static KEEPER: OnceLock<Sender<Order>> = OnceLock::new();
    KEEPER.get_or_init(|| {
        let (orders, list) = channel::<Order>();
        let work = move || {
            for order in list {
                match order {
                    Order::Start(program, answer) => {
                        let _ = answer.send(start(&program));
                    }
                    Order::Bury(mut child) => {
                        child.kill();
                        child.wait(Duration::MAX);
                    }
                }
            }
        };
        // Where no thread can be started, orders have no taker, and whoever gives one is told.
        let _ = std::thread::Builder::new().name("workers".to_owned()).spawn(work);
        orders
    })
}

fn start(program: &PathBuf) -> Result<Process> {
    let failed =
        |error: std::io::Error| Error::crashed(format!("a reader's process cannot be started: {error}"));
    let words = last_words().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .arg(ARGUMENT)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| ENVIRONMENT.iter().any(|kept| name == kept)))
        .stderr(Stdio::from(words.try_clone().map_err(failed)?));
    #[cfg(windows)]
    windows::has_no_window(&mut command);
    let (channel, child) = Channel::start(command).map_err(failed)?;
    Ok(Process { channel, child: Mutex::new(Some(Child::Started(child))), words })
}

/// Makes the worker of the first document from this very process, before there is a second thread: that takes less time
/// than starting the program again. Nothing happens where the system cannot; the worker is started then when it is needed.
pub fn fork_first() {
    #[cfg(target_os = "linux")]
    fork::fork_first();
}

/// Memory of a fixed size that a process writes to when it dies.
#[cfg(target_os = "linux")]
fn last_words() -> std::io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let memory = rustix::fs::memfd_create("gander", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&memory, limits::LAST_WORDS)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(memory.into())
}

/// A file that a process writes to when it dies.
#[cfg(not(target_os = "linux"))]
fn last_words() -> std::io::Result<File> {
    crate::bytes::stream::temporary("a reader's last words").map_err(std::io::Error::other)
}

impl Process {
    /// Starts a worker.
    ///
    /// # Errors
    /// `Crashed` where the system cannot.
    pub(super) fn start(program: PathBuf) -> Result<Process> {
        let (answer, started) = channel();
        let nobody = || Error::crashed("a reader's process cannot be started: there is no thread for it");
        keeper().send(Order::Start(program, answer)).map_err(|_| nobody())?;
        started.recv().map_err(|_| nobody())?
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
    pub(super) fn bury(&self) {
        if let Some(mut child) = self.child.lock().take() {
            child.kill();
            let _ = keeper().send(Order::Bury(child));
        }
    }

    /// How a process ended that is known to be ending, in words; waits for that.
    pub(super) fn end(&self) -> String {
        // What has closed its end is ending, and says by what; only what cannot end is ended.
        let status = self.child.lock().take().and_then(|mut child| {
            child.wait(limits::ENDING).or_else(|| {
                child.kill();
                child.wait(Duration::MAX)
            })
        });
        let words = self.said();
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

    /// What it said at the end.
    fn said(&self) -> String {
        let mut bytes = Vec::with_capacity(limits::LAST_WORDS as usize);
        let _ = system::read_more(&self.words, &mut bytes, 0);
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without its taker the system buries it when the program ends.
        self.bury();
    }
}
