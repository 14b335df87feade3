//! What a worker may take, in one table with the reasons. What a *file* may demand of its reader is
//! [`bytes::limits`](crate::bytes::limits), in whatever process that reads.

use std::time::Duration;

/// Bytes of a message that lie in the message itself, on Linux; longer ones are in memory that is passed along. A message has
/// to fit into the buffer of a socket, of which the usual size is 208 KB.
#[cfg(any(test, target_os = "linux"))]
pub(super) const INLINE: usize = 64 << 10;

/// Bytes of one answer: the largest read that a view or a command may ask for, and room for what is said beside it.
pub(super) const ANSWER: u64 = crate::bytes::limits::READ + (256 << 20);

/// Bytes of private memory of one worker, stacks and heap: an answer, the copy that it is sent from, what its caches keep
/// (2 GB unless the window allows less), and a decoder's own. Maps of files do not count. Set by
/// [`Limits::memory`](super::Limits).
pub(super) const MEMORY: u64 = 8 << 30;

/// At most this share of the machine's memory, in percent: the window and other programs live, too.
pub(super) const SHARE: u64 = 75;

/// How long a request may run without a word of progress: a decoder that loops says none, a slow disk does sooner or
/// later. Set by [`Limits::silence`](super::Limits).
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// How long a worker has to end a request that was cancelled; who cancelled it does not wait for that. Readers look at
/// their task at each chunk, which takes a few milliseconds; a machine under load is given more.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long what is asked by code that has no task may take: facts that were read already.
pub(super) const PROMPT: Duration = Duration::from_secs(5);

/// How long a thread that draws waits for such: about a frame.
pub(super) const FRAME: Duration = Duration::from_millis(10);

/// How long it asks a worker nothing after one that took longer.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// How long a worker may leave a message in its channel. It does nothing but take messages with that thread.
pub(super) const TAKEN: Duration = Duration::from_secs(5);

/// How long a process that has closed its end of the channel may take to end: the system writes back what it has.
pub(super) const ENDING: Duration = Duration::from_secs(2);

/// Decoded bytes that a worker keeps more or less before it says so again.
pub(super) const KEPT: usize = 1 << 20;

/// How often a worker says how far it is.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Requests that a worker works on at the same time; more of them wait. The window asks with as many threads at most.
pub(super) const THREADS: usize = 64;

/// Open files of a worker: the parts of a data set and temporary files, one descriptor each.
pub(super) const FILES: u64 = 4_096;

/// Programs that decode video for one worker at the same time: one a track that is looked at, and one that waits for the next
/// jump.
pub(super) const DECODERS: usize = 8;

/// What is looked at for changes at each tick, of all that may change.
pub(super) const WATCHED: usize = 2_000;

/// What was found of nodes, looked at after each answer; the rest at each tick.
pub(super) const FOUND: usize = 64;

/// Bytes of what a worker says before it dies, as the run-time system does when a stack overflows.
pub(super) const LAST_WORDS: usize = 16 << 10;

/// Files of a folder that are let in one by one, where all of the folder would be too much: the home folder.
pub(super) const FOLDER: usize = 4_096;

/// Files that a document may not read and that are named, so that somebody may allow it.
pub(super) const REFUSED: usize = 100;

/// Bytes of a source that is no file, to be sent to a worker: a cell of a table, a member of an archive.
pub(super) const SENT: u64 = crate::bytes::limits::CHUNK;
