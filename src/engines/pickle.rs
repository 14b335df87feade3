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
//! | `detect` | whether bytes are a pickle |
//! | `file` | a file of pickles as a tree |
//! | `below` | what all pickles in an archive would run |
//! | `large` | a huge pickle as a tree: values are made as somebody looks |
//! | `skim`, `quick`, `walk` | where each value lies, by the opcodes alone; what a large value holds |
//! | `piece` | the machine on a part of a huge pickle |
//! | `front`, `ground` | the walk over all opcodes of a huge pickle: its names; its memo, by which parts can be run alone |
//! | `late` | what of a large file is found after it was opened |
//! | `frame` | whether opcodes lie across the ends of frames |
//! | `opcode` | all opcodes of the protocols 0 to 5, one after the other |
//! | `machine` | the stack, the memo, and the inert values: a [`Pickle`] |
//! | `inline` | joblib's arrays between the opcodes |
//! | `names` | what is known to make plain data, and the [`Verdict`] |
//! | `effects` | what everything else would do, in a sentence |
//! | `torch` | of that what is PyTorch's |
//! | `text` | values as Python writes them |
//! | `ndarray` | NumPy's arrays in a pickle: their type, shape and elements |
//! | `stdlib` | objects of Python's own library as the values that they stand for |
//! | `pandas`, `sparse` | frames, series and indexes as tables; SciPy's matrices |
//! | `content` | what is shown as more than a tree |
//! | `resolve` | what persistent ids and classes become, as a [`Resolver`] knows it |
//! | `view` | what a value is for people: type, value, fields |
//! | `shared` | values that are held more than once, or hold themselves |
//! | `tree` | values as nodes |

mod below;
mod child_scan;
mod common_opcodes;
mod content;
mod deferred;
mod detect;
mod effects;
mod file;
mod frame;
mod huge;
mod inline;
mod large;
mod machine;
mod names;
mod ndarray;
mod opcode;
mod opcode_scan;
mod pandas;
mod piece;
mod resolve;
mod shared;
mod span_stack;
mod sparse;
mod stdlib;
#[cfg(test)]
mod tests;
mod text;
mod torch;
mod tree;
mod view;

pub use below::below;
pub use detect::{Beginning, beginning, disguised};
pub use file::{Knows, open};
pub use inline::Side;
pub use machine::{Id, Object, Pickle, Value};
pub use names::{Report, Verdict, examine, examined};
pub use ndarray::{Elements, Ndarray};
pub use resolve::{Numpy, Resolved, Resolver};
pub use text::unquote;
pub use tree::{Values, node, node_of};

/// Opcodes that take nothing from the stack: what a pickle may begin with.
const BEGINS: &[u8] = b"(]})NIJKLMFGSTUVXBCPc\x82\x83\x84\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96\x97";

/// Whether a file is a pickle of protocol 2 or later, by its first bytes and its last one, where that is known without
/// reading all of it. It begins with its mark and its protocol, then a frame, which is sign enough; or opcodes up to
/// its end mark, which stands among the first bytes or is the last one.
pub fn is_pickle(first: &[u8], last: Option<u8>) -> bool {
    match first {
        [0x80, 4..=5, 0x95, ..] => true,
        [0x80, 2..=5, next, ..] if BEGINS.contains(next) => {
            let mut opcodes = opcode::Opcodes { bytes: first, at: 2 };
            loop {
                match opcodes.next() {
                    Ok(opcode::Op::Stop) => return true,
                    Ok(_) => {}
                    Err(opcode::End::Cut) => return last == Some(b'.'),
                    Err(opcode::End::Unknown(_)) => return false,
                }
            }
        }
        _ => false,
    }
}
