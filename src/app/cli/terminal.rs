//! What a terminal is given. Names and values of files may hold sequences that move its cursor, rename its window or type
//! for the user (ECMA-48, 5.3 and 5.4: they begin with control characters): there a character of the kind is drawn as
//! U+FFFD. Pipes and files get what is in the file.
//!
//! <https://ecma-international.org/publications-and-standards/standards/ecma-48/>

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{IsTerminal, Write};

/// Prints a line on stderr as `eprintln!` does, harmless where that is a terminal.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::cli::terminal::said(format_args!($($words)*))
    };
}
pub(crate) use say;

/// What [`say`] does.
pub(crate) fn said(words: Arguments<'_>) {
    let line = format!("{words}\n");
    let stderr = std::io::stderr();
    let line = if stderr.is_terminal() { without_controls(&line) } else { Cow::Borrowed(line.as_str()) };
    // Nobody is left who could be told that it cannot be said.
    let _ = stderr.lock().write_all(line.as_bytes());
}

/// Writes text to standard output, harmless where that is a terminal.
///
/// # Errors
/// Of the operating system.
pub(super) fn print(text: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        stdout.write_all(without_controls(&String::from_utf8_lossy(text)).as_bytes())?;
    } else {
        stdout.write_all(text)?;
    }
    stdout.flush()
}

/// A text without control characters, ends of lines and tabs aside.
fn without_controls(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    match text.contains(is_harmful) {
        true => Cow::Owned(text.replace(is_harmful, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_drawn_instead() {
        let text = "a\tb\r\n\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{7f} naïve 🪿\n";
        let drawn = "a\tb\u{fffd}\n\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}31m\u{fffd} naïve 🪿\n";
        assert_eq!(without_controls(text), drawn);
        assert!(matches!(without_controls("plain\n\ttext"), Cow::Borrowed(_)));
    }
}
