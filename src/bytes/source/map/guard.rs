//! The guard of maps whose files become shorter.
//!
//! Reading a mapped page beyond the file's end raises SIGBUS. A handler looks the address up in a
//! fixed, lock-free table of our maps; if it is ours, it puts zero pages over the rest of the map
//! and marks the map torn, which turns the read into an error. Other addresses go to the handler
//! that was there before. (mmap(2), sigaction(2); the table is fixed because a signal handler may
//! neither lock nor allocate.)

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A map's line in the table, if there was a free one.
pub(super) struct Guard(Option<&'static Line>);

impl Guard {
    /// Guards a map as long as this lives, which the map must, too.
    pub(super) fn new(map: &[u8]) -> Self {
        let start = map.as_ptr() as usize;
        let line = TABLE
            .iter()
            .find(|line| line.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        if let Some(line) = line {
            line.torn.store(false, Ordering::Relaxed);
            line.end.store(start + map.len(), Ordering::Relaxed);
            line.start.store(start, Ordering::Release);
        }
        Guard(line)
    }

    /// Whether something was read that is not there any more.
    pub(super) fn torn(&self) -> bool {
        self.0.is_some_and(|line| line.torn.load(Ordering::Relaxed))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(line) = self.0 {
            line.end.store(0, Ordering::Relaxed);
            line.start.store(0, Ordering::Release);
        }
    }
}

/// One map for the handler: `start` 0 is a free line, 1 one that is being filled.
struct Line {
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

static TABLE: [Line; 4096] =
    [const { Line { start: AtomicUsize::new(0), end: AtomicUsize::new(0), torn: AtomicBool::new(false) } };
        4096];

static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Bytes of a page: 4 KiB with most processors, 16 KiB with Apple's. Asked before a handler needs it.
static PAGE: AtomicUsize = AtomicUsize::new(1 << 12);

/// Installs the handler; to be called before anything is mapped.
pub(super) fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: sysconf(3) takes no pointers.
        if let Ok(page @ 1..) = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) {
            PAGE.store(page, Ordering::Relaxed);
        }
        // SAFETY: plain calls of sigaction(2) with zeroed, then filled structures; the handler only
        // reads atomics and calls mmap(2).
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut previous);
            let _ = PREVIOUS.set(previous);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

extern "C" fn on_bus_error(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid siginfo for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    for line in &TABLE {
        let (start, end) = (line.start.load(Ordering::Acquire), line.end.load(Ordering::Relaxed));
        if start > 1 && (start..end).contains(&address) {
            line.torn.store(true, Ordering::Relaxed);
            let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
            // SAFETY: replaces pages of our own read-only map by zero pages, which stay mapped until
            // the map is dropped; readers keep seeing valid memory.
            let done = unsafe {
                libc::mmap(
                    page as *mut libc::c_void,
                    end - page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if done != libc::MAP_FAILED {
                return;
            }
        }
    }
    // Not ours: give the signal back; the faulting instruction runs again and meets that handler.
    if let Some(previous) = PREVIOUS.get() {
        // SAFETY: restores what sigaction(2) itself gave us.
        unsafe { libc::sigaction(libc::SIGBUS, previous, std::ptr::null_mut()) };
    }
}
