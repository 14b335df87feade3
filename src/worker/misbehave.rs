//! A reader that does what no reader may, for tests: each of these is to end as an error, and with nothing left behind.
//! It is asked for by the option `misbehave` when a document is opened; `later:…` misbehaves at the first call after that.
//! Release builds have none of it.

use super::channel::Channel;
use super::server::channel;
use crate::bytes::error::{Error, Result};
use crate::data::format::Options;
use parking_lot::Mutex;

/// What is done at the next call.
static LATER: Mutex<Option<String>> = Mutex::new(None);

/// Does what the option says.
pub(super) fn at_opening(options: &Options) -> Result<()> {
    let Some(how) = options.get("misbehave") else { return Ok(()) };
    match how.strip_prefix("later:") {
        Some(how) => {
            *LATER.lock() = Some(how.to_owned());
            Ok(())
        }
        None => misbehave(how),
    }
}

/// Does what was put off.
pub(super) fn at_call() {
    let how = LATER.lock().clone();
    if let Some(how) = how {
        let _ = misbehave(&how);
    }
}

#[allow(clippy::disallowed_methods, reason = "it does what is not allowed")]
fn misbehave(how: &str) -> Result<()> {
    match how {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(3),
        "stack" => {
            deep(0);
            Ok(())
        }
        "loop" => loop {
            std::hint::black_box(());
        },
        "sleep" => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        "memory" => memory(),
        "files" => files(),
        "temporary" => temporaries(),
        "answer" => answer(),
        "write" => Ok(std::fs::write("misbehaved", b"x")?),
        "remove" => Ok(std::fs::remove_file("victim")?),
        "read" => std::fs::read("/etc/passwd").map(drop).map_err(Into::into),
        "socket" => Ok(std::net::TcpStream::connect(("127.0.0.1", 9)).map(drop)?),
        "execute" => Ok(std::process::Command::new("/bin/true").spawn().map(drop)?),
        // SAFETY: it is a system call whose answer is a number; the process ends with it.
        "fork" => match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error().into()),
            _ => Ok(()),
        },
        "segfault" => {
            // SAFETY: none: it reads what is not there, and ends with it.
            let read = unsafe { std::ptr::without_provenance::<u8>(8).read_volatile() };
            Err(Error::bug(format!("read {read}")))
        }
        _ => garbage(how),
    }
}

/// The channel.
fn here() -> Result<&'static Channel> {
    channel().ok_or_else(|| Error::bug("no channel"))
}

/// Uses up the stack.
fn deep(level: u64) -> u64 {
    let frame = std::hint::black_box([level; 64]);
    if level == u64::MAX { 0 } else { deep(level + 1) + frame.iter().sum::<u64>() }
}

/// Asks for 100 GB, a gigabyte at a time, and writes to all of it.
fn memory() -> Result<()> {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..100 {
        let mut block = vec![0u8; 1 << 30];
        block.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        held.push(std::hint::black_box(block));
    }
    Err(Error::bug(format!("there is memory for {} GB", held.len())))
}

/// Holds as many files as there can be.
fn files() -> Result<()> {
    let mut held = Vec::new();
    for _ in 0..=super::limits::FILES {
        held.push(rustix::io::dup(std::io::stderr()).map_err(std::io::Error::from)?);
    }
    Err(Error::bug(format!("there are {} files", held.len())))
}

/// Asks for as many temporary files as there can be.
fn temporaries() -> Result<()> {
    let mut held = Vec::new();
    for _ in 0..=super::limits::FILES {
        held.push(crate::bytes::stream::temporary("a test")?);
    }
    Err(Error::bug(format!("there are {} temporary files", held.len())))
}

/// Sends an answer that is longer than any may be, of bytes that take no memory.
fn answer() -> Result<()> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let memory = rustix::fs::memfd_create("long", MemfdFlags::ALLOW_SEALING).map_err(std::io::Error::from)?;
    let len = super::limits::ANSWER + 1;
    rustix::fs::ftruncate(&memory, len).map_err(std::io::Error::from)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&memory, seals).map_err(std::io::Error::from)?;
    Ok(here()?.send_memory(&memory, len)?)
}

/// Answers that make no sense: `garbage:N` by a seed.
fn garbage(how: &str) -> Result<()> {
    let seed = how.strip_prefix("garbage:").and_then(|seed| seed.parse::<u64>().ok());
    let mut seed = seed.ok_or_else(|| Error::unsupported(format!("misbehave={how}: nobody does that")))?;
    let mut next = || {
        seed = crate::data::content::sample::mixed(seed);
        seed
    };
    let length = next() % 300;
    // An answer to the request that opens, or to the first one after it; then anything.
    let mut bytes = vec![0u8; 9];
    if let Some(id) = bytes.get_mut(1) {
        *id = (next() % 2) as u8;
    }
    bytes.extend((0..length).map(|_| (next() % 256) as u8));
    for _ in 0..3 {
        here()?.send(&bytes, &[], true)?;
    }
    Ok(())
}
