//! The header: `@relation`, and `@attribute NAME TYPE` for each column.

use super::cells::{Cell, cells, quoted};
use super::date::Pattern;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::records::lines::Lines;
use crate::engines::records::{Framing, Window};

/// The most columns.
const COLUMNS: usize = 1 << 17;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What its values are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Integer,
    Text,
    /// One of these.
    Nominal(Vec<String>),
    /// Dates; `None` where the pattern has letters that are not read, and the text is shown.
    Date(Option<Pattern>),
    /// Rows of a table of its own, as their text.
    Relational,
}

/// What stands before the rows.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) relation: String,
    pub(super) attributes: Vec<Attribute>,
    /// The comments before all else.
    pub(super) description: String,
    /// Where the rows begin.
    pub(super) end: u64,
}

/// A line without comments and spaces around it; comments begin a line.
fn plain(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('%')).then(|| text.to_owned())
}

/// The word that a line begins with, in small letters, and the rest.
fn keyword(line: &str) -> (String, &str) {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    (word.to_ascii_lowercase(), rest.trim())
}

/// A name, which may stand in quotes, and what follows it.
fn name(text: &str) -> Option<(String, &str)> {
    if text.starts_with(['"', '\'']) {
        let (name, rest) = quoted(text)?;
        return Some((name, rest.trim()));
    }
    let end = text.find(|char: char| char.is_whitespace() || char == '{').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    Some((name.to_owned(), rest.trim()))
}

fn kind(text: &str) -> std::result::Result<Kind, &'static str> {
    if let Some(classes) = text.strip_prefix('{') {
        let classes = classes.trim_end().strip_suffix('}').ok_or("its classes have no closing brace")?;
        let all = cells(classes)?.into_iter().map(Cell::into_text).collect();
        return Ok(Kind::Nominal(all));
    }
    let (word, rest) = keyword(text);
    Ok(match word.as_str() {
        "numeric" | "real" => Kind::Number,
        "integer" => Kind::Integer,
        "string" => Kind::Text,
        "relational" => Kind::Relational,
        "date" if rest.is_empty() => Kind::Date(Pattern::new("yyyy-MM-dd'T'HH:mm:ss")),
        "date" => Kind::Date(Pattern::new(&name(rest).map_or(String::new(), |(pattern, _)| pattern))),
        _ => {
            return Err(
                "its type is none of numeric, real, integer, string, date, relational or classes in braces",
            );
        }
    })
}

impl Header {
    /// Reads it.
    ///
    /// # Errors
    /// `Malformed` where it cannot be read, or has no `@data`; failures to read.
    pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
        let (mut window, lines) = (Window::new(task, source), Lines { is_none: |_| false });
        let (mut header, mut at) = (Header::default(), 0_u64);
        // How deep it is within the attributes of relational ones.
        let mut inside: Vec<String> = Vec::new();
        while let Some(frame) = lines.frame(&mut window, at)? {
            limits::check(frame.end, limits::HEADER, "the header of an ARFF file")?;
            task.check()?;
            let length = (frame.span.end - frame.span.start) as usize;
            let line = window.get(frame.span.start, length)?;
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            if header.relation.is_empty()
                && header.attributes.is_empty()
                && header.description.len() < 1 << 16
            {
                let text = String::from_utf8_lossy(line);
                if let Some(comment) = text.trim().strip_prefix('%') {
                    header.description.push_str(comment.trim());
                    header.description.push('\n');
                }
            }
            let wrong = |what: &str| Error::malformed(format!("ARFF: {what}")).at(frame.span.start);
            if let Some(text) = plain(line) {
                let (word, rest) = keyword(&text);
                match word.as_str() {
                    "@relation" => header.relation = name(rest).map_or(String::new(), |(name, _)| name),
                    "@data" => {
                        header.end = frame.end;
                        return if header.attributes.is_empty() {
                            Err(wrong("it has no attributes"))
                        } else {
                            Ok(header)
                        };
                    }
                    "@attribute" => header.attribute(rest, &mut inside).map_err(|what| wrong(&what))?,
                    "@end" => {
                        inside.pop();
                    }
                    _ => {
                        return Err(wrong(&format!(
                            "{word:?} is none of @relation, @attribute, @end and @data"
                        )));
                    }
                }
            }
            at = frame.end;
        }
        Err(Error::malformed("ARFF: there is no @data; it may be cut off").at(at))
    }

    fn attribute(&mut self, rest: &str, inside: &mut Vec<String>) -> std::result::Result<(), String> {
        let (name, rest) = name(rest).ok_or("the name of an attribute has no closing quote")?;
        let kind = kind(rest).map_err(|what| format!("attribute {name:?}: {what}"))?;
        let is_nested = !inside.is_empty();
        if kind == Kind::Relational {
            if inside.len() >= limits::DEPTH {
                return Err("relational attributes lie too deep in each other".to_owned());
            }
            inside.push(name.clone());
        }
        if is_nested {
            return Ok(());
        }
        if self.attributes.len() >= COLUMNS {
            return Err(format!("there are more than {COLUMNS} attributes"));
        }
        self.attributes.push(Attribute { name, kind });
        Ok(())
    }
}
