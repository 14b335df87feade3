//! Values as nodes: scalars with their text, arrays and maps with children that are found when somebody looks.

use super::arrays::{self, Numpy};
use super::objects::{Below, Objects};
use crate::bytes::display;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::engines::delimited::PlainText;
use crate::engines::msgpack::text;
use crate::engines::msgpack::token::{self, Token};
use crate::engines::records::Window;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a text that stand in the tree.
const SHOWN: u64 = 240;
/// Bytes of a value that are shown beside it rather than opened.
const SMALL: u64 = 32;
/// How deep values are opened.
const DEEP: usize = 256;

/// The value at `at` as a node; `end` is where it ends, as far as that is known.
///
/// # Errors
/// `Cancelled`; what is wrong with its head.
pub(super) fn node(
    task: &Task,
    source: &Source,
    name: &str,
    at: u64,
    end: u64,
    depth: usize,
) -> Result<Node> {
    let mut window = Window::new(task, source);
    let (found, body) = token::read(&mut window, at)?;
    let mut node = match found {
        Token::Array(count) => container(source, name, found, body, count, depth),
        Token::Map(count) => match arrays::numpy(&mut window, body, count) {
            Some(Numpy::Array(array)) => array.node(source, name),
            Some(Numpy::Complex(text)) => Node::new(name, "complex").value(text),
            Some(Numpy::Objects(place)) => file(source, name, "numpy.ndarray", place),
            None => match arrays::chunked(&mut window, body, count) {
                Some(chunks) => chunks.node(source, name),
                None => container(source, name, found, body, count, depth),
            },
        },
        Token::Ext(kind, len) => extension(&mut window, name, kind, body, len)?,
        Token::Str(len) => string(&mut window, name, body, len)?,
        Token::Bin(len) if len > SMALL => file(source, name, "bin", body..body + len),
        scalar => {
            let bytes = window.get(body, scalar.body() as usize)?;
            let text = text::scalar(scalar, bytes).unwrap_or_default();
            Node::new(name, scalar.word()).value(text)
        }
    };
    if node.span.is_none() && source.path().is_some() && end > at && end != u64::MAX {
        node.span = Some(at..end);
    }
    Ok(node)
}

fn container(source: &Source, name: &str, found: Token, start: u64, count: u64, depth: usize) -> Node {
    let mut node = Node::new(name, found.word());
    node.length = Some(count);
    if count == 0 {
        return node;
    }
    if depth >= DEEP {
        return node.remark(format!("values more than {DEEP} deep are not opened"));
    }
    let is_map = matches!(found, Token::Map(_));
    let objects = Arc::new(Objects::of(source.clone(), start, count, is_map, depth));
    let problems = crate::engines::records::container::Container::problems(&*objects).clone();
    node.lazy(Below(objects)).findings(problems)
}

/// Bytes that are opened as what they are when somebody looks.
fn file(source: &Source, name: &str, label: &'static str, place: Range<u64>) -> Node {
    let (source, own) = (source.clone(), name.to_owned());
    let span = place.clone();
    let node = crate::formats::ALL
        .nested(name, label, Options::default(), move |_| source.member(&own, place.clone()));
    node.span(span)
}

fn string(window: &mut Window<'_>, name: &str, body: u64, len: u64) -> Result<Node> {
    let source = window.source;
    let shown = window.get(body, len.min(SHOWN) as usize)?;
    let text = match std::str::from_utf8(shown) {
        Ok(text) => text,
        // Cut within a character.
        Err(error) if len > SHOWN && error.valid_up_to() + 4 > shown.len() => {
            std::str::from_utf8(shown.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        // Before there was a type for bytes, texts were bytes too.
        Err(_) if len > SMALL => return Ok(file(source, name, "raw", body..body + len)),
        Err(_) => return Ok(Node::new(name, "raw").value(crate::data::cell::hex(shown))),
    };
    if len <= SHOWN {
        return Ok(Node::new(name, "str").value(text));
    }
    let node = Node::new(name, "str").value(format!("{text}… ({})", display::bytes(len)));
    let whole = source.member(name, body..body + len)?;
    Ok(node.content(Content::Text(Arc::new(PlainText::new(whole, encoding_rs::UTF_8)))))
}

fn extension(window: &mut Window<'_>, name: &str, kind: i8, body: u64, len: u64) -> Result<Node> {
    let source = window.source;
    if matches!(kind, arrays::ARRAY | arrays::SCALAR)
        && let Some(array) = arrays::flax(window, body)
    {
        return Ok(array.node(source, name));
    }
    if kind == arrays::COMPLEX
        && let Some(text) = complex(window, body)
    {
        return Ok(Node::new(name, "complex").value(text));
    }
    let found = Token::Ext(kind, len);
    let node = match len {
        0..=SMALL => {
            let bytes = window.get(body, len as usize)?;
            Node::new(name, found.word()).value(text::scalar(found, bytes).unwrap_or_default())
        }
        _ => file(source, name, "ext", body..body + len),
    };
    Ok(if kind == -1 { node } else { node.read_as("type", kind.to_string()) })
}

/// A complex number: a list of its parts.
fn complex(window: &mut Window<'_>, body: u64) -> Option<String> {
    let (Token::Array(2), mut at) = token::read(window, body).ok()? else { return None };
    let mut parts = Vec::new();
    for _ in 0..2 {
        let (found, behind) = token::read(window, at).ok()?;
        parts.push(text::scalar(found, &[]).filter(|_| found.body() == 0)?);
        at = behind;
    }
    let (real, imaginary) = (parts.first()?, parts.get(1)?);
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    Some(format!("{real}{sign}{imaginary}j"))
}
