//! Which Python names a pickle asks for, without loading it: a walk over its opcodes that keeps only the
//! texts which a name can be made of. <https://github.com/python/cpython/blob/main/Lib/pickletools.py>

use std::collections::{BTreeSet, HashMap};

/// Modules and names that make plain data; everything else could do anything.
const HARMLESS: &[(&str, &[&str])] = &[
    ("numpy.core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy._core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy.core.numeric", &["_frombuffer"]),
    ("numpy._core.numeric", &["_frombuffer"]),
    ("numpy", &["ndarray", "dtype"]),
    ("collections", &["OrderedDict", "deque", "Counter"]),
    ("datetime", &["datetime", "date", "time", "timedelta", "timezone"]),
    ("decimal", &["Decimal"]),
    ("fractions", &["Fraction"]),
    ("_codecs", &["encode"]),
    ("copyreg", &["_reconstructor"]),
    ("copy_reg", &["_reconstructor"]),
    ("builtins", BUILTINS),
    ("__builtin__", BUILTINS),
];
const BUILTINS: &[&str] = &[
    "object",
    "set",
    "frozenset",
    "complex",
    "bytearray",
    "list",
    "dict",
    "tuple",
    "int",
    "float",
    "str",
    "slice",
    "range",
];

/// Names that are listed.
const MOST: usize = 1_000;

/// What a walk over a pickle found.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// `os.system`, in alphabetical order; `?` where a name is put together while loading.
    pub(super) all: BTreeSet<String>,
    /// Those that are not known to be harmless.
    pub(super) unknown: BTreeSet<String>,
    /// Whether the walk came to the pickle's end mark.
    pub(super) whole: bool,
}

/// Walks over the opcodes of a pickle.
pub(super) fn names(bytes: &[u8]) -> Names {
    let mut walk = Walk { bytes, at: 0, names: Names::default(), texts: [None, None], memo: HashMap::new() };
    walk.names.whole = walk.run().is_some();
    walk.names
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    names: Names,
    /// The two values pushed last, where they are texts.
    texts: [Option<&'a str>; 2],
    memo: HashMap<u64, &'a str>,
}

impl<'a> Walk<'a> {
    /// To the end mark; `None` where it is missing or an opcode is unknown.
    fn run(&mut self) -> Option<()> {
        loop {
            let [opcode] = self.take(1)? else { return None };
            match opcode {
                b'.' => return Some(()),
                b'c' | b'i' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.found(Some(module), Some(name));
                    self.push(None);
                }
                0x93 => {
                    let [module, name] = self.texts;
                    self.found(module, name);
                    self.push(None);
                }
                // An extension registry's number stands for a name that only Python knows.
                0x82 => self.extension(1)?,
                0x83 => self.extension(2)?,
                0x84 => self.extension(4)?,
                // Texts.
                0x8c => self.text(1)?,
                b'X' => self.text(4)?,
                0x8d => self.text(8)?,
                b'U' => self.text(1)?,
                b'T' => self.text(4)?,
                b'V' => {
                    let line = self.line()?;
                    self.push(Some(line));
                }
                b'S' => {
                    let line = self.line()?;
                    self.push(line.get(1..line.len().saturating_sub(1)));
                }
                // The memo.
                0x94 => self.remember(self.memo.len() as u64),
                b'q' => {
                    let n = self.number(1)?;
                    self.remember(n);
                }
                b'r' => {
                    let n = self.number(4)?;
                    self.remember(n);
                }
                b'p' => {
                    let n = self.line()?.parse().ok()?;
                    self.remember(n);
                }
                b'h' => {
                    let n = self.number(1)?;
                    self.push(self.memo.get(&n).copied());
                }
                b'j' => {
                    let n = self.number(4)?;
                    self.push(self.memo.get(&n).copied());
                }
                b'g' => {
                    let n: u64 = self.line()?.parse().ok()?;
                    self.push(self.memo.get(&n).copied());
                }
                other => self.other(*other)?,
            }
        }
    }

    /// Opcodes that only matter for their length.
    fn other(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            // A frame and a protocol change nothing on the stack.
            0x95 => return self.take(8).map(drop),
            0x80 => return self.take(1).map(drop),
            b'F' | b'I' | b'L' | b'P' => drop(self.line()?),
            b'K' => drop(self.take(1)?),
            b'M' => drop(self.take(2)?),
            b'J' => drop(self.take(4)?),
            b'G' => drop(self.take(8)?),
            b'B' | 0x8b => self.skip(4)?,
            b'C' | 0x8a => self.skip(1)?,
            0x8e | 0x96 => self.skip(8)?,
            b'('
            | b'0'
            | b'1'
            | b'2'
            | b')'
            | b']'
            | b'}'
            | b'N'
            | b'Q'
            | b'R'
            | b'a'
            | b'b'
            | b'd'
            | b'e'
            | b'l'
            | b'o'
            | b's'
            | b't'
            | b'u'
            | 0x81
            | 0x85..=0x92
            | 0x97
            | 0x98 => {}
            _ => return None,
        }
        self.push(None);
        Some(())
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let part = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(part)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        let count = self.number(bytes)?;
        self.take(usize::try_from(count).ok()?).map(drop)
    }

    fn line(&mut self) -> Option<&'a str> {
        let rest = self.bytes.get(self.at..)?;
        let end = rest.iter().position(|&b| b == b'\n')?;
        self.at += end + 1;
        Some(std::str::from_utf8(rest.get(..end)?).unwrap_or("?").trim_end_matches('\r'))
    }

    fn text(&mut self, bytes: usize) -> Option<()> {
        let count = usize::try_from(self.number(bytes)?).ok()?;
        let text = self.take(count)?;
        self.push(std::str::from_utf8(text).ok());
        Some(())
    }

    fn push(&mut self, text: Option<&'a str>) {
        self.texts = [self.texts[1], text];
    }

    fn remember(&mut self, place: u64) {
        if let [_, Some(text)] = self.texts {
            self.memo.insert(place, text);
        } else {
            // Places are counted even where no text is kept.
            self.memo.insert(place, "?");
        }
    }

    fn extension(&mut self, bytes: usize) -> Option<()> {
        self.take(bytes)?;
        self.found(None, None);
        self.push(None);
        Some(())
    }

    fn found(&mut self, module: Option<&str>, name: Option<&str>) {
        let (module, name) = (module.unwrap_or("?"), name.unwrap_or("?"));
        if self.names.all.len() >= MOST {
            return;
        }
        let full = format!("{module}.{name}");
        if !HARMLESS.iter().any(|(m, names)| *m == module && names.contains(&name)) {
            self.names.unknown.insert(full.clone());
        }
        self.names.all.insert(full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_found_in_old_and_new_pickles() {
        let old = names(b"cos\nsystem\n(S'ls'\ntR.");
        assert!(old.whole && old.unknown.contains("os.system"));
        let new = names(b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x02ls\x94\x85R.");
        assert!(new.whole && new.unknown.contains("os.system"), "{new:?}");
        // The same, with its texts out of the memo.
        let memo = names(b"\x80\x04\x8c\x02os\x940\x8c\x06system\x940h\x00h\x01\x93.");
        assert!(memo.unknown.contains("os.system"), "{memo:?}");
        assert!(!names(b"\x80\x04\x8c\x02os\x8c\x06system2\x93.").unknown.is_empty());
        assert!(names(b"cnumpy\ndtype\n.").unknown.is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            names(&bytes);
        }
    }
}
