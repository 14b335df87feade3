//! Python pickles, read without Python: nothing in them is imported, called or built.
//!
//! A pickle is a program for a small stack machine that makes objects, and whose opcodes may ask for any
//! function of any installed module and call it. Here the machine runs with inert values: a name stays a name,
//! a call stays a note of what would be called with which arguments. So one walk gives both what the pickle
//! would import (and a verdict on it, by a list of what is known to make plain data) and the values in it as
//! far as they are plain.
//! <https://github.com/python/cpython/blob/main/Lib/pickletools.py>
//!
//! | part | what it does |
//! |---|---|
//! | `opcode` | all opcodes of the protocols 0 to 5, one after the other |
//! | `machine` | the stack, the memo, and the inert values: a [`Pickle`] |
//! | `names` | what is known to make plain data, and the [`Verdict`] |
//! | `text` | values as Python writes them |
//! | `ndarray` | NumPy's arrays in a pickle: their type, shape and elements |
//! | `tree` | values as nodes |

mod machine;
mod names;
mod ndarray;
mod opcode;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub use machine::{Id, Object, Pickle, Value};
pub use names::{Report, Verdict, examine};
pub use ndarray::{Elements, Ndarray};
pub use tree::node;

/// Whether bytes begin like a pickle of protocol 2 or later: its mark, and an opcode that can follow it.
pub fn is_binary(head: &[u8]) -> bool {
    let follows = |&op: &u8| op == 0x95 || b"]}(cNKMJG)UXCBq".contains(&op) || (0x80..0x99).contains(&op);
    matches!(head, [0x80, 2..=5, op, ..] if follows(op))
}
