//! Texts that often stand for a missing value.

use crate::bytes::entry;
use crate::data::stats::sketch::short;

/// Texts that stand for nothing.
pub(super) const TEXTS: [&str; 20] = [
    "", " ", "-", "--", ".", "?", "#N/A", "N/A", "n/a", "NA", "na", "NaN", "nan", "NULL", "null", "Null",
    "None", "none", "NIL", "missing",
];
/// The same as numbers.
#[allow(clippy::indexing_slicing, reason = "counted up to the number of texts, when compiled")]
const CODES: [u64; TEXTS.len()] = {
    let mut codes = [0; TEXTS.len()];
    let mut n = 0;
    while n < codes.len() {
        codes[n] = code(TEXTS[n]);
        n += 1;
    }
    codes
};

/// A text of at most seven bytes as a number.
const fn code(text: &str) -> u64 {
    short(text.as_bytes()) | (text.len() as u64) << 56
}

/// The bytes that one of [`TEXTS`] begins with.
#[allow(clippy::indexing_slicing, reason = "counted up to the number of texts, when compiled")]
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut n = 0;
    while n < TEXTS.len() {
        if let [first, ..] = TEXTS[n].as_bytes() {
            begins[*first as usize] = true;
        }
        n += 1;
    }
    begins
};

/// Which of [`TEXTS`] a text is.
pub(super) fn slot(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.len() > 7 || bytes.first().is_some_and(|first| !*entry(&BEGINS, *first)) {
        return None;
    }
    let code = code(text);
    // All are compared, without a jump between them.
    let found = |found, (n, known): (usize, &u64)| if *known == code { n } else { found };
    let slot = CODES.iter().enumerate().fold(usize::MAX, found);
    (slot < CODES.len()).then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_place_and_no_other_has_one() {
        for (n, text) in TEXTS.iter().enumerate() {
            assert_eq!(slot(text), Some(n));
        }
        for text in ["0", "x", "nan ", "NaN\0", "\0", "missinG", "missing one"] {
            assert_eq!(slot(text), None, "{text}");
        }
    }
}
