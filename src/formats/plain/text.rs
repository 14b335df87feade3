//! Plain text: lines in any encoding, of any length and number. What no stricter format claims and
//! what reads as text opens here. (The encodings: <https://encoding.spec.whatwg.org/>.)
//!
//! Tables are written as texts that other programs read as such: [`markdown`], [`html`], [`sql`].

mod html;
mod markdown;
mod pages;
mod sql;

use crate::bytes::error::Result;
use crate::bytes::source::Growth;
use crate::data::content::{Content, Kind, Text};
use crate::data::format::{Format, Opening, OptionSpec, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::PlainText;
use crate::engines::delimited::encoding;
use std::sync::Arc;

/// Which encoding.
const ENCODING: OptionSpec = OptionSpec::new(
    "encoding",
    "how characters are stored: utf-8, utf-16le, utf-32le, windows-1252, shift_jis …",
)
.default("auto");

/// The descriptor. Second to last in the list.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &[
        "txt", "text", "log", "md", "names", "xml", "yaml", "yml", "toml", "ini", "cfg", "conf", "html",
        "htm", "py", "r", "rs", "sh", "sql", "tex", "rst", "srt", "vtt",
    ],
    mime: &["text/plain"],
    sniff: Some(sniff),
    takes_any: true,
    reads: &[Kind::Text],
    options: &[ENCODING],
    targets: &[
        Target::new("sql", "SQL text", &["sql"], &sql::WRITER),
        Target::new("markdown", "Markdown", &["md", "markdown"], &markdown::WRITER),
        Target::new("html", "HTML page", &["html", "htm"], &html::WRITER),
    ],
    ..Format::new("text", "Text", open)
};

/// Bytes that tell the encoding.
const SAMPLE: usize = 256 << 10;
/// A text up to this many bytes is counted at once.
const COUNTED: u64 = 4 << 20;

fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() || !encoding::is_plausible(&head.first) {
        return Match::No;
    }
    let named = head.has_extension(FORMAT.extensions);
    if named || head.is_text() && is_likely(&head.first) { Match::Yes } else { Match::No }
}

/// Whether bytes of unknown origin are text: any are letters of some old encoding, so these need
/// plain ones among them.
fn is_likely(bytes: &[u8]) -> bool {
    let plain = bytes.iter().filter(|b| b.is_ascii()).count();
    encoding::detect(bytes).encoding.name().starts_with("utf-") || plain * 4 >= bytes.len()
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let sample = source.read_up_to(task, 0, SAMPLE)?;
    let detected = encoding::choose(Some(opening.options.choice(&ENCODING)?), &sample)?;
    let text = PlainText::new(source.clone(), detected.encoding);
    let mut node = Node::new(source.name(), "text");
    if detected.mark > 0 {
        node = node.read_as("byte order mark", "yes");
    }
    if source.known_len().is_some_and(|len| len <= COUNTED) {
        text.count(task)?;
    }
    Ok(node.content(Content::Text(Arc::new(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::task::Task;
    use crate::data::format::Options;

    fn fixture(name: &str) -> (String, Vec<String>) {
        let path = format!("{}/fixtures/text/{name}", env!("CARGO_MANIFEST_DIR"));
        let document = crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
        assert_eq!(
            (document.format.id, document.remarks.len()),
            ("text", 0),
            "{name} {:?}",
            document.remarks
        );
        let Some(Content::Text(text)) = &document.root.content else { panic!("{name}: no text") };
        let lines = text.read(&Task::new(), 0..u64::MAX).unwrap();
        assert_eq!(text.lines().exact(), Some(lines.len() as u64), "{name}");
        (text.encoding(), lines)
    }

    #[test]
    fn one_text_in_every_encoding() {
        let (encoding, lines) = fixture("utf8.txt");
        assert_eq!(encoding, "utf-8");
        for (name, expected) in [
            ("utf8_bom.txt", "utf-8"),
            ("utf16le_bom.txt", "utf-16le"),
            ("utf16be_bom.txt", "utf-16be"),
            ("utf32le_bom.txt", "utf-32le"),
            ("utf32be_bom.txt", "utf-32be"),
            ("crlf.txt", "utf-8"),
        ] {
            assert_eq!(fixture(name), (expected.to_owned(), lines.clone()), "{name}");
        }
        assert_eq!(fixture("latin_1.txt").0, "windows-1252");
        let western = fixture("latin_1.txt").1;
        assert_eq!(fixture("utf32le.txt"), ("utf-32le".to_owned(), western.clone()));
        assert_eq!(fixture("utf32be.txt"), ("utf-32be".to_owned(), western));
    }

    #[test]
    fn every_fixture_opens() {
        let folder = format!("{}/fixtures/text", env!("CARGO_MANIFEST_DIR"));
        for part in ["", "malformed/"] {
            for entry in std::fs::read_dir(format!("{folder}/{part}")).unwrap().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.path().is_file() && name != "make.py" {
                    assert!(!fixture(&format!("{part}{name}")).1.is_empty());
                }
            }
        }
        assert_eq!(fixture("carriage_returns.txt").1, ["an old", "mac", "file"]);
        assert_eq!(fixture("progress.log").1, ["begin", " 10 %", " 20 %", "100 %", "done"]);
        assert_eq!(fixture("mixed_endings.txt").1, ["unix", "dos", "mac", "end"]);
        assert_eq!(fixture("no_final_newline.txt").1.last().unwrap(), "third has no end");
        assert_eq!(fixture("malformed/utf8_cut.txt").1, ["fine", "ends in half a \u{fffd}"]);
    }
}
