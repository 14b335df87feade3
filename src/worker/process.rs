//! Processes of workers: started and buried by one thread, which lives as long as the program. (A worker ends with the
//! thread that started it, so that none is left behind whatever happens to the program.)

use super::channel;
use super::limits;
use crate::bytes::error::{Error, Result};
use parking_lot::Mutex;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// The argument that makes the program a worker.
pub const ARGUMENT: &str = "--worker";

/// A process that was started, and not waited for.
enum Child {
    Started(std::process::Child),
    Forked(Pid),
}

impl Child {
    fn kill(&self) {
        // It was not waited for yet, so the number is its own.
        if let Some(id) = self.id() {
            let _ = kill_process(id, Signal::KILL);
        }
    }

    fn id(&self) -> Option<Pid> {
        match self {
            Child::Started(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw),
            Child::Forked(id) => Some(*id),
        }
    }

    /// Whether it has ended, and only waits to be waited for.
    fn is_ending(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.id().is_none_or(|id| !matches!(waitid(WaitId::Pid(id), look), Ok(None)))
    }

    fn wait(self) -> Option<ExitStatus> {
        match self {
            Child::Started(mut child) => child.wait().ok(),
            Child::Forked(id) => {
                let (_, status) = rustix::process::waitpid(Some(id), WaitOptions::empty()).ok()??;
                Some(ExitStatus::from_raw(status.as_raw()))
            }
        }
    }
}

/// A worker's process, and the end of its channel.
pub(super) struct Process {
    socket: OwnedFd,
    child: Mutex<Option<Child>>,
    /// What it says before it dies.
    words: OwnedFd,
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
                    Order::Bury(child) => {
                        child.kill();
                        child.wait();
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
    let (here, there) = channel::pair().map_err(failed)?;
    let words = last_words().map_err(failed)?;
    // A worker that takes nothing must not make anybody wait for ever.
    rustix::net::sockopt::set_socket_timeout(&here, rustix::net::sockopt::Timeout::Send, Some(limits::TAKEN))
        .map_err(|error| failed(error.into()))?;
    let child = Command::new(program)
        .arg(ARGUMENT)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| {
            [
                "LANG",
                "PATH",
                "RUST_BACKTRACE",
                "RAYON_NUM_THREADS",
                "TZ",
                "LD_LIBRARY_PATH",
                "HDF5_PLUGIN_PATH",
            ]
            .iter()
            .any(|kept| name == kept)
        }))
        .stdin(Stdio::from(there))
        .stdout(Stdio::null())
        .stderr(Stdio::from(words.try_clone().map_err(failed)?))
        .spawn()
        .map_err(failed)?;
    Ok(Process { socket: here, child: Mutex::new(Some(Child::Started(child))), words })
}

/// Makes the worker of the first document from this very process, before there is a second thread: that takes less time
/// than starting the program again. Nothing happens where the system cannot; the worker is started then when it is needed.
pub fn fork_first() {
    let Ok((here, there)) = channel::pair() else { return };
    let Ok(words) = last_words() else { return };
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if !is_alone {
        return;
    }
    // SAFETY: there is one thread, so the copy of this process has all of what it needs, and no lock is held.
    match unsafe { libc::fork() } {
        0 => {
            drop(here);
            let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null");
            let outputs = [(there.as_raw_fd(), 0), (words.as_raw_fd(), 2)];
            let silent = nothing.as_ref().map(|nothing| (nothing.as_raw_fd(), 1));
            for (from, to) in outputs.into_iter().chain(silent.ok()) {
                // SAFETY: plain duplication of descriptors that are open.
                unsafe { libc::dup2(from, to) };
            }
            drop((there, words, nothing));
            exit_with(super::serve());
        }
        id => {
            let Some(id) = Pid::from_raw(id).filter(|_| id > 0) else { return };
            let child = Mutex::new(Some(Child::Forked(id)));
            super::spare::put(PathBuf::from(super::PROGRAM), Process { socket: here, child, words });
        }
    }
}

/// Ends a process that was forked: what it has of the other one's is left alone.
fn exit_with(code: ExitCode) -> ! {
    let code = i32::from(code != ExitCode::SUCCESS);
    // SAFETY: ends the process without running anything of the other one's.
    unsafe { libc::_exit(code) }
}

/// Memory of a fixed size that a process writes to when it dies.
fn last_words() -> std::io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create("gander", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&memory, limits::LAST_WORDS)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(memory)
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
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Its number, until it was waited for.
    pub(super) fn id(&self) -> Option<u32> {
        let id = self.child.lock().as_ref().and_then(Child::id)?;
        u32::try_from(id.as_raw_nonzero().get()).ok()
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        if let Some(child) = self.child.lock().as_ref() {
            child.kill();
        }
    }

    /// Ends it; nobody will ask how.
    pub(super) fn bury(&self) {
        if let Some(child) = self.child.lock().take() {
            child.kill();
            let _ = keeper().send(Order::Bury(child));
        }
    }

    /// How a process ended that is known to be ending, in words; waits for that.
    pub(super) fn end(&self) -> String {
        // What has closed its end is ending, and says by what; only what cannot end is ended.
        let status = self.child.lock().take().and_then(|child| {
            let since = Instant::now();
            while !child.is_ending() && since.elapsed() < limits::ENDING {
                std::thread::sleep(Duration::from_millis(1));
            }
            child.kill();
            child.wait()
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
        let mut bytes = vec![0; limits::LAST_WORDS as usize];
        let count = rustix::io::pread(self.words.as_fd(), &mut bytes[..], 0).unwrap_or(0);
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
        text.trim_end_matches('\0').to_owned()
    }
}

/// How a process ended.
fn ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGSEGV | libc::SIGBUS), _) => {
            "it touched memory that it has not (a segmentation fault)".to_owned()
        }
        (Some(libc::SIGABRT), _) => "it gave up (abort)".to_owned(),
        (Some(libc::SIGSYS), _) => "it did something that no reader may do".to_owned(),
        (Some(libc::SIGILL | libc::SIGFPE | libc::SIGTRAP), _) => {
            "it met an instruction that failed".to_owned()
        }
        (Some(libc::SIGKILL), _) => "it was ended from outside, perhaps for want of memory".to_owned(),
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(code)) => format!("it ended with status {code}"),
        (None, None) => "it ended".to_owned(),
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without its taker the system buries it when the program ends.
        self.bury();
    }
}
