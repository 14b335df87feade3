//! XML as trees of elements, by quick-xml. <https://www.w3.org/TR/xml/>
//!
//! Nothing outside of the text is ever read: a document type is passed over. Of the entities that it declares itself only
//! those that are plain texts are put in, up to a bounded length; references to others, and to entities that hold
//! references, stay as they stand and are counted, so that a text of entities of entities grows no larger than it is.

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;
use std::collections::HashMap;

/// The longest text that is taken as a whole, in bytes.
pub const LONGEST: u64 = 64 << 20;
/// The most elements of a text.
const ELEMENTS: usize = 4 << 20;
/// The most bytes that entities add.
const ADDED: usize = 1 << 20;
/// Elements between two looks at the task.
const CHECK: usize = 4_096;

/// An element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// Its name, with the prefix of its namespace.
    pub name: String,
    /// Its attributes in order, namespaces among them.
    pub attributes: Vec<(String, String)>,
    /// The text in it, without that of its elements; of white space alone none.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
    /// The line that it begins in, from 1 on.
    pub line: usize,
}

impl Element {
    /// The first element in it of this name, whatever its prefix.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.local_name() == name)
    }

    /// All elements in it of this name, whatever their prefix.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.local_name() == name)
    }

    /// The text of the first element of this name; `None` where that has none.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }

    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Its name without the prefix of its namespace.
    pub fn local_name(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// Whether it has nothing but text.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty() && self.attributes.is_empty()
    }

    /// As JSON: a text, or an object of attributes (`@name`), elements and text (`#text`); elements that stand there
    /// several times are an array.
    pub fn json(&self) -> serde_json::Value {
        use serde_json::Value;
        if self.is_leaf() {
            return Value::String(self.text.clone());
        }
        let mut object = serde_json::Map::new();
        for (name, value) in &self.attributes {
            object.insert(format!("@{name}"), Value::String(value.clone()));
        }
        for child in &self.children {
            match object.get_mut(&child.name) {
                None => drop(object.insert(child.name.clone(), child.json())),
                Some(Value::Array(all)) => all.push(child.json()),
                Some(one) => *one = Value::Array(vec![one.take(), child.json()]),
            }
        }
        if !self.text.trim().is_empty() {
            object.insert("#text".to_owned(), Value::String(self.text.clone()));
        }
        Value::Object(object)
    }
}

/// What a text holds.
#[derive(Debug, Default)]
pub struct Xml {
    /// Its element, as far as that was read.
    pub root: Option<Element>,
    /// What is wrong with it.
    pub problem: Option<Error>,
    /// References that stay as they are.
    pub kept: u64,
}

/// The encoding of a text that begins so, and how many bytes of a mark come first: by the mark, by zeros, by the declaration.
pub fn encoding(head: &[u8]) -> (&'static Encoding, usize) {
    if let Some(found) = Encoding::for_bom(head) {
        return found;
    }
    match head {
        [0, b'<', ..] => return (UTF_16BE, 0),
        [b'<', 0, ..] => return (UTF_16LE, 0),
        _ => {}
    }
    let declaration = head.split(|&byte| byte == b'>').next().unwrap_or_default();
    let label = memchr::memmem::find(declaration, b"encoding").and_then(|at| {
        let rest = declaration.get(at + 8..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let quote = rest.first().filter(|&&quote| quote == b'"' || quote == b'\'')?;
        rest.get(1..)?.split(|byte| byte == quote).next()
    });
    // It can be read as bytes, so it is not in 16 bits, whatever it says.
    let named = label.and_then(Encoding::for_label).filter(|named| ![UTF_16LE, UTF_16BE].contains(named));
    (named.unwrap_or(UTF_8), 0)
}

/// The text of these bytes.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, mark) = encoding(bytes);
    encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0
}

/// The name of the first element of a text, without its prefix; `None` where it is not seen, though all before it is
/// XML; empty where this is no XML.
pub fn root_name(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    if !rest.starts_with('<') {
        return Some("");
    }
    loop {
        let end = match rest.get(..2)? {
            "<?" => "?>",
            "<!" if rest.starts_with("<!--") => "-->",
            "<!" => match (rest.find('['), rest.find('>')?) {
                (Some(inner), end) if inner < end => "]>",
                _ => ">",
            },
            _ => break,
        };
        rest = rest.split_once(end)?.1.trim_start();
        if rest.is_empty() {
            return None;
        }
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
    name.get(..end).map(|name| name.rsplit(':').next().unwrap_or_default())
}

/// The elements of a text, and what is wrong with it.
///
/// # Errors
/// `Cancelled`.
pub fn parse(task: &Task, text: &str) -> Result<Xml> {
    let mut reader = quick_xml::Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = true;
    config.expand_empty_elements = true;
    let mut loader = Loader { text, ..Loader::default() };
    loop {
        if loader.elements.is_multiple_of(CHECK) {
            task.check()?;
        }
        let event = reader.read_event();
        let at = reader.buffer_position();
        let taken = match event {
            Ok(Event::Eof) => break,
            Ok(event) => loader.take(event, at),
            Err(error) => Err(loader.wrong(reader.error_position(), &error.to_string())),
        };
        if let Err(error) = taken {
            loader.xml.problem = Some(error);
            break;
        }
    }
    Ok(loader.finish())
}

#[derive(Default)]
struct Loader<'a> {
    text: &'a str,
    xml: Xml,
    open: Vec<Element>,
    elements: usize,
    entities: HashMap<String, String>,
    added: usize,
    /// A place whose line is known, so that lines are counted once.
    known: (usize, usize),
}

impl Loader<'_> {
    fn line(&mut self, at: u64) -> usize {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.text.len());
        let (from, line) = if at >= self.known.0 { self.known } else { (0, 0) };
        let between = self.text.as_bytes().get(from..at).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', between).count();
        self.known = (at, line);
        line + 1
    }

    fn wrong(&mut self, at: u64, what: &str) -> Error {
        let line = self.line(at);
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.text.len());
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
        Error::malformed(format!("XML: line {line}, column {column}: {what}"))
    }

    fn take(&mut self, event: Event<'_>, at: u64) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(&tag, at),
            Event::End(_) => {
                self.close();
                Ok(())
            }
            Event::Text(text) => self.add(&text.xml10_content(), at),
            Event::CData(text) => self.add(&text.xml10_content(), at),
            Event::GeneralRef(name) => {
                let text = match name.resolve_char_ref() {
                    Ok(Some(letter)) => letter.to_string(),
                    _ => self.referred(name.as_ref()),
                };
                self.add(&text, at)
            }
            Event::DocType(text) => {
                self.declare(text.as_ref());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, at: u64) -> Result<()> {
        self.elements += 1;
        if self.open.is_empty() && self.xml.root.is_some() {
            return Err(self.wrong(at, "a second element stands behind the first one"));
        }
        if self.open.len() >= limits::DEPTH || self.elements > ELEMENTS {
            let line = self.line(at);
            let what = match self.elements > ELEMENTS {
                true => format!("more than {ELEMENTS} elements"),
                false => format!("elements more than {} deep", limits::DEPTH),
            };
            return Err(Error::limit(format!("XML: line {line}: {what}")));
        }
        let mut element =
            Element { name: tag.name().as_ref().to_owned(), line: self.line(at), ..Element::default() };
        for attribute in tag.attributes() {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => return Err(self.wrong(at, &error.to_string())),
            };
            let value = self.unescaped(&attribute.value);
            element.attributes.push((attribute.key.as_ref().to_owned(), value));
        }
        self.open.push(element);
        Ok(())
    }

    fn close(&mut self) {
        let Some(mut element) = self.open.pop() else { return };
        if element.text.trim().is_empty() {
            element.text.clear();
        } else if !element.children.is_empty() {
            element.text = element.text.trim().to_owned();
        }
        match self.open.last_mut() {
            Some(above) => above.children.push(element),
            None => self.xml.root = Some(element),
        }
    }

    fn add(&mut self, text: &str, at: u64) -> Result<()> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().trim_start_matches('\u{feff}').is_empty() => {}
            None => return Err(self.wrong(at, "a text stands outside of all elements")),
        }
        Ok(())
    }

    /// What a reference stands for; itself where that is not known, or too much.
    fn referred(&mut self, name: &str) -> String {
        if let Some(known) = quick_xml::escape::resolve_xml_entity(name) {
            return known.to_owned();
        }
        if let Some(value) = self.entities.get(name)
            && self.added + value.len() <= ADDED
        {
            self.added += value.len();
            return value.clone();
        }
        self.xml.kept += 1;
        format!("&{name};")
    }

    fn unescaped(&mut self, value: &str) -> String {
        let mut out = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once('&') {
            out.push_str(before);
            let Some((name, behind)) = after.split_once(';') else {
                out.push('&');
                rest = after;
                continue;
            };
            match character(name) {
                Some(letter) => out.push(letter),
                None => out.push_str(&self.referred(name)),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// The entities of a document type that are plain texts: `<!ENTITY name "text">`.
    fn declare(&mut self, text: &str) {
        for part in text.split("<!ENTITY").skip(1).take(limits::LISTED as usize) {
            let mut words = part.trim_start().splitn(2, char::is_whitespace);
            let (Some(name), Some(rest)) = (words.next(), words.next()) else { continue };
            let rest = rest.trim_start();
            let Some(quote) = rest.chars().next().filter(|quote| ['"', '\''].contains(quote)) else {
                continue;
            };
            let value = rest.get(1..).and_then(|rest| rest.split(quote).next()).unwrap_or_default();
            if name != "%" && !value.contains(['&', '%', '<']) {
                self.entities.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
    }

    fn finish(mut self) -> Xml {
        if let Some(inner) = self.open.last().map(|element| (element.name.clone(), element.line))
            && self.xml.problem.is_none()
        {
            let (name, line) = inner;
            let what = format!("XML: it ends within the element {name:?} of line {line}");
            self.xml.problem = Some(Error::malformed(what));
        }
        while !self.open.is_empty() {
            self.close();
        }
        if self.xml.root.is_none() && self.xml.problem.is_none() {
            self.xml.problem = Some(Error::malformed("XML: there is no element"));
        }
        self.xml
    }
}

/// The character of a reference by number: `#65`, `#x41`.
fn character(name: &str) -> Option<char> {
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32)
}
