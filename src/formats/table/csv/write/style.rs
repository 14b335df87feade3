//! How cells are written as delimited text: what stands between them and around them.

use super::{DECIMAL, DELIMITER, ESCAPE, LINES, NULL, QUOTE, QUOTE_CHAR};
use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::data::format::Options;
use crate::engines::json::column_text::{Appended, ColumnText};
use crate::engines::json::value_text::{NotFinite, hex, value};
use arrow::array::AsArray;
use arrow::datatypes::DataType;

/// Which cells stand in quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    /// Those that would be read otherwise without.
    Necessary,
    /// All that are not null.
    All,
    /// All but numbers and truth values.
    Texts,
    /// None.
    Never,
}

/// What keeps a cell from being written.
pub(super) type Refusal = &'static str;

/// How cells are written.
pub(super) struct Style {
    pub(super) delimiter: Vec<u8>,
    quote: Vec<u8>,
    escape: Option<Vec<u8>>,
    quoting: Quoting,
    null: String,
    pub(super) end: &'static [u8],
    /// A line of one empty cell would be a blank line, which readers skip.
    lone: bool,
    /// Whether a comma stands for the point of a number.
    comma: bool,
    /// Whether numbers, truth values and times have no character that means something here.
    is_safe: bool,
    /// The first bytes of the delimiter, the quote and the escape.
    special: [u8; 3],
}

/// The characters of numbers, truth values and times.
const PLAIN: &[u8] = b"0123456789+-.:ETZaefilnrstu";

impl Style {
    pub(super) fn of(options: &Options, columns: usize) -> Result<Self> {
        let delimiter = delimiter(options.get(DELIMITER.name).unwrap_or(DELIMITER.default))?;
        let quote = single(QUOTE_CHAR.name, options.get(QUOTE_CHAR.name).unwrap_or(QUOTE_CHAR.default))?;
        let escape = match options.get(ESCAPE.name).unwrap_or_default() {
            "" | "none" => None,
            "backslash" => Some(b"\\".to_vec()),
            text => Some(single(ESCAPE.name, text)?),
        };
        let quoting = match options.choice(&QUOTE)? {
            "all" => Quoting::All,
            "texts" => Quoting::Texts,
            "none" => Quoting::Never,
            _ => Quoting::Necessary,
        };
        let end: &[u8] = match options.choice(&LINES)? {
            "crlf" => b"\r\n",
            "cr" => b"\r",
            _ => b"\n",
        };
        if delimiter == quote || escape.as_ref() == Some(&delimiter) {
            return Err(Error::unsupported("the delimiter, the quote and the escape are the same character"));
        }
        let first = |text: &[u8]| text.first().copied().unwrap_or_default();
        let special = [first(&delimiter), first(&quote), escape.as_deref().map_or(first(&delimiter), first)];
        let comma = options.choice(&DECIMAL)? == "comma";
        let is_safe = special.iter().all(|byte| !(PLAIN.contains(byte) || comma && *byte == b','));
        let null = options.get(NULL.name).unwrap_or(NULL.default).to_owned();
        let lone = columns == 1;
        let style = Style { delimiter, quote, escape, quoting, null, end, lone, comma, is_safe, special };
        if style.is_special(style.null.as_bytes()) && !style.null.is_empty() {
            return Err(Error::unsupported(format!("null={:?}: it would have to be quoted", style.null)));
        }
        Ok(style)
    }

    /// Whether a text means something else where it stands without quotes.
    fn is_special(&self, text: &[u8]) -> bool {
        // A `#` may be taken for a comment; spaces at the ends may be trimmed.
        let first = matches!(text.first(), None | Some(b'#' | b' ' | b'\t' | 0xef));
        first || text.last() == Some(&b' ') || self.breaks(text)
    }

    /// Whether a text has a character that ends a cell or begins a quote.
    #[inline]
    fn breaks(&self, text: &[u8]) -> bool {
        let [delimiter, quote, escape] = self.special;
        // Without a way out, so that many bytes are looked at at once.
        let any = |any: bool, b: &u8| {
            any | (*b == delimiter) | (*b == quote) | (*b == escape) | (*b == b'\n') | (*b == b'\r')
        };
        text.iter().fold(false, any)
    }

    /// Appends a text, in quotes where they are needed.
    #[inline]
    pub(super) fn text(&self, text: &str, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match self.quoting {
            Quoting::Never => return self.bare(text, out),
            Quoting::Necessary if !self.is_special(text.as_bytes()) && text != self.null => {
                out.extend_from_slice(text.as_bytes());
            }
            _ => self.quoted(text, out),
        }
        Ok(())
    }

    /// Appends a text in quotes.
    fn quoted(&self, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.quote);
        if !self.breaks(text.as_bytes()) {
            out.extend_from_slice(text.as_bytes());
        } else {
            let mut buffer = [0; 4];
            for c in text.chars() {
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                match &self.escape {
                    Some(escape) if bytes == self.quote || bytes == escape => out.extend_from_slice(escape),
                    None if bytes == self.quote => out.extend_from_slice(&self.quote),
                    _ => {}
                }
                out.extend_from_slice(bytes);
            }
        }
        out.extend_from_slice(&self.quote);
    }

    /// Appends a text without quotes: what would end the cell has the escape before it.
    fn bare(&self, text: &str, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if !self.breaks(text.as_bytes()) {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let mut buffer = [0; 4];
        for c in text.chars() {
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            let ends = bytes == self.delimiter || matches!(bytes, b"\n" | b"\r");
            match &self.escape {
                Some(escape) if ends || bytes == self.quote || bytes == escape => {
                    out.extend_from_slice(escape);
                }
                None if ends => return Err("it would have to be quoted, and quote=none has no quotes"),
                _ => {}
            }
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Appends one cell.
    #[inline]
    pub(super) fn cell(&self, column: &ColumnText, row: usize, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if column.is_null(row) {
            self.null(out);
            return Ok(());
        }
        if let Some(text) = column.text(row) {
            return self.text(text, out);
        }
        if self.is_safe && matches!(self.quoting, Quoting::Necessary | Quoting::Never) && !self.comma {
            let start = out.len();
            if column.append(row, out).is_some() {
                // A word that stands for null is quoted where it is a value.
                if !self.null.is_empty() && out.get(start..) == Some(self.null.as_bytes()) {
                    out.truncate(start);
                    let null = self.null.clone();
                    return self.text(&null, out);
                }
                return Ok(());
            }
        }
        self.other(column, row, out)
    }

    fn null(&self, out: &mut Vec<u8>) {
        if self.lone && self.null.is_empty() && self.quoting != Quoting::Never {
            out.extend_from_slice(&self.quote);
            out.extend_from_slice(&self.quote);
        } else {
            out.extend_from_slice(self.null.as_bytes());
        }
    }

    /// Appends a cell that is no text and has no quick way.
    fn other(&self, column: &ColumnText, row: usize, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let array = column.array;
        if let Some(union) = array.as_union_opt() {
            let value = union.value(row);
            return self.cell(&ColumnText::new(value.as_ref()), 0, out);
        }
        let mut text = Vec::new();
        if array.data_type().is_nested() && !matches!(array.data_type(), DataType::RunEndEncoded(_, _)) {
            value(array, row, NotFinite::Text, &mut text);
            let text = String::from_utf8_lossy(&text);
            // In quotes also where JSON's commas are no delimiters: readers guess by them.
            return match self.quoting {
                Quoting::Never => self.bare(&text, out),
                _ => {
                    self.quoted(&text, out);
                    Ok(())
                }
            };
        }
        let mut appended = column.append(row, &mut text);
        if appended.is_none() {
            text.clear();
            if column.number(row, &mut text) {
                appended = Some(Appended::Number);
            } else {
                match cell::binary(array, row) {
                    Some(bytes) => hex(bytes, &mut text),
                    None => text.extend(cell::text(array, row).unwrap_or_default().into_bytes()),
                }
            }
        }
        let is_number = matches!(appended, Some(Appended::Number));
        if self.comma && is_number && !array.data_type().is_integer() {
            text.iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b',');
        }
        let text = String::from_utf8_lossy(&text);
        let is_value = matches!(appended, Some(Appended::Number | Appended::NotFinite | Appended::Bool));
        if self.quoting == Quoting::Texts
            && is_value
            && !self.is_special(text.as_bytes())
            && text != self.null
        {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        self.text(&text, out)
    }
}

/// The delimiter that a word or a character is.
fn delimiter(text: &str) -> Result<Vec<u8>> {
    Ok(match text {
        "comma" => b",".to_vec(),
        "tab" | "\\t" => b"\t".to_vec(),
        "semicolon" => b";".to_vec(),
        "pipe" => b"|".to_vec(),
        "space" => b" ".to_vec(),
        other => single(DELIMITER.name, other)?,
    })
}

/// One character that is no line end.
fn single(name: &str, text: &str) -> Result<Vec<u8>> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if !matches!(c, '\n' | '\r') => Ok(text.as_bytes().to_vec()),
        _ => Err(Error::unsupported(format!("{name}={text}: it is one character"))),
    }
}
