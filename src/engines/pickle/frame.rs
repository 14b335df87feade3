//! Frames: from protocol 4 on opcodes stand in them, which tells readers how much to fetch. Writers never let an opcode lie
//! across the end of one. Readers differ in what such a one means: the one in C of Python skips what it had fetched, so
//! that code may hide in what others take for data.

use super::opcode::Op;

/// The frame that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    end: u64,
}

impl Frame {
    /// Its end, where that lies behind `at`.
    pub(super) fn end_after(&self, at: u64) -> Option<u64> {
        (at < self.end).then_some(self.end)
    }

    /// Takes the opcode from `at` to `next`: whether it lies across the end of its frame, or is a frame within another.
    pub(super) fn is_torn(&mut self, op: &Op, at: u64, next: u64) -> bool {
        let within = at < self.end;
        if let Op::Frame(len) = op {
            self.end = next.saturating_add(*len);
            return within;
        }
        within && self.end < next
    }
}
