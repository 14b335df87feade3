//! Linux.
//!
//! - *Landlock*: it opens for reading what is, or lies below, the files and folders that it was told, and nothing else; it makes,
//!   changes and removes no file, and has no network.
//! - *seccomp*: it may call what the list below has; what starts programs or processes, opens sockets or looks into other
//!   processes ends it at once.
//! - *no new privileges*, and limits of the system on memory and open files.
//!
//! <https://docs.kernel.org/userspace-api/landlock.html>, seccomp(2), setrlimit(2).

use super::{Level, bound};
use crate::worker::limits;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::Resource;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

/// Shuts this process in.
pub(super) fn enter(folders: &[PathBuf], memory: u64) -> Result<Level, Box<dyn Error>> {
    bound(Resource::Core, 0)?;
    bound(Resource::Data, memory)?;
    bound(Resource::Nofile, limits::FILES)?;
    let bounded = files(folders)?;
    for program in calls(bounded)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(if bounded { Level::Files } else { Level::Calls })
}

/// Bounds which files can be opened; whether the system can.
fn files(folders: &[PathBuf]) -> Result<bool, landlock::RulesetError> {
    let abi = ABI::V6;
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?;
    for folder in folders {
        // What is not there, or not for this user, nobody can open.
        if let Ok(place) = PathFd::new(folder) {
            ruleset = ruleset.add_rule(PathBeneath::new(place, read))?;
        }
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// What reading, computing and answering take. What is not here is answered with *not permitted*.
const ALLOWED: &[libc::c_long] = &[
    // bytes
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_ftruncate,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_dup,
    // what a file is
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    // memory
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    // threads and signals of its own
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // time, numbers
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    // the channel
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

/// What no reader has a reason for: it ends the process.
const FATAL: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kill,
    libc::SYS_mount,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The programs that look at each call: what ends the process, what there is not, and what is permitted.
fn calls(files_are_bounded: bool) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let masked = |argument: u8, mask: u64, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask), value)
    };
    let only = |condition: SeccompCondition| SeccompRule::new(vec![condition]);
    let thread = libc::CLONE_THREAD as u64;

    let mut fatal: BTreeMap<i64, Vec<SeccompRule>> = FATAL.iter().map(|call| (*call, Vec::new())).collect();
    // A clone that is no thread is a process.
    fatal.insert(libc::SYS_clone, vec![only(masked(0, thread, 0)?)?]);

    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    allowed.insert(libc::SYS_clone, vec![only(masked(0, thread, thread)?)?]);
    let writes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u64;
    allowed.insert(libc::SYS_openat, vec![only(masked(2, writes, 0)?)?]);
    #[cfg(target_arch = "x86_64")]
    allowed.insert(libc::SYS_open, vec![only(masked(1, writes, 0)?)?]);
    // Its flags lie in memory, where no program of this sort looks; Landlock does.
    if files_are_bounded {
        allowed.insert(libc::SYS_openat2, Vec::new());
    }
    let own = u64::from(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
    allowed.insert(libc::SYS_tgkill, vec![only(masked(0, u64::MAX, own)?)?]);
    let name = |option: libc::c_int| only(masked(0, u64::MAX, option as u64)?);
    allowed.insert(libc::SYS_prctl, vec![name(libc::PR_SET_NAME)?, name(libc::PR_GET_NAME)?]);
    // Limits of its own are looked at, not set.
    allowed.insert(libc::SYS_prlimit64, vec![only(masked(2, u64::MAX, 0)?)?]);

    // The new way to make a thread has its flags in memory, too: the library takes the old one where there is none.
    let missing: BTreeMap<i64, Vec<SeccompRule>> = [(libc::SYS_clone3, Vec::new())].into();
    let no_such_call = SeccompAction::Errno(libc::ENOSYS as u32);
    allowed.insert(libc::SYS_clone3, Vec::new());

    let not_permitted = SeccompAction::Errno(libc::EPERM as u32);
    [
        SeccompFilter::new(fatal, SeccompAction::Allow, SeccompAction::KillProcess, arch)?,
        SeccompFilter::new(missing, SeccompAction::Allow, no_such_call, arch)?,
        SeccompFilter::new(allowed, not_permitted, SeccompAction::Allow, arch)?,
    ]
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}
