//! YAML texts as trees of values. <https://yaml.org/spec/1.2.2/>
//!
//! Plain scalars are what PyYAML, and with it most of what machine learning writes, takes them for: YAML 1.1's types
//! (<https://yaml.org/type/>), with `yes` and `no`, octal `010` and numbers to the base of 60. An alias is the value that it
//! names and no copy of it, so that a text of aliases to aliases takes no more memory than its own length; merge keys
//! (`<<`) stay in the tree and are followed by [`Yaml::members`].

mod scalar;
#[cfg(test)]
mod tests;

pub use scalar::Scalar;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The longest text that is taken as a whole, in bytes.
pub const LONGEST: u64 = 64 << 20;
/// The most values of a text.
const VALUES: usize = 8 << 20;
/// The most mappings that are merged into one; a mapping that merges itself has no end.
const MERGES: usize = 256;
/// Events between two looks at the task.
const CHECK: usize = 4_096;

/// The number of a value in its text.
pub type Place = u32;

/// A value.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub value: Value,
    /// Its tag, where it has one: `!!set`, `!custom`.
    pub tag: Option<String>,
    /// The line that it begins in, from 1 on.
    pub line: usize,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text, and whether it stood there without quotes: then it may be a number.
    Scalar(String, bool),
    /// Values in order.
    Sequence(Vec<Place>),
    /// Keys and values in order.
    Mapping(Vec<(Place, Place)>),
    /// An alias of the value there, which is none itself.
    Alias(Place),
}

/// A text of YAML.
#[derive(Clone, Debug, Default)]
pub struct Yaml {
    items: Vec<Item>,
    /// The values of its documents.
    pub documents: Vec<Place>,
    /// How many aliases there are.
    aliases: usize,
}

/// A container that is open.
struct Open {
    place: Place,
    key: Option<Place>,
}

#[derive(Default)]
struct Loader {
    yaml: Yaml,
    open: Vec<Open>,
    anchors: HashMap<usize, Place>,
}

impl Yaml {
    /// The values of a text, and what is wrong with it behind them.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn load(task: &Task, text: &str) -> Result<(Yaml, Option<Error>)> {
        let mut loader = Loader::default();
        let mut parser = Parser::new_from_str(text);
        let mut seen = 0_usize;
        while let Some(event) = parser.next_event() {
            seen += 1;
            if seen.is_multiple_of(CHECK) {
                task.check()?;
            }
            let taken = match event {
                Ok((event, span)) => loader.take(event, span.start),
                Err(error) => Err(at(error.marker(), error.info())),
            };
            if let Err(error) = taken {
                return Ok((loader.yaml, Some(error)));
            }
        }
        Ok((loader.yaml, None))
    }

    /// How many values stand in the text.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no value in it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The value at a place; the one that it stands for, where it is an alias.
    pub fn item(&self, place: Place) -> Option<&Item> {
        let item = self.items.get(place as usize)?;
        match item.value {
            Value::Alias(named) => self.items.get(named as usize),
            _ => Some(item),
        }
    }

    /// Whether an alias stands at a place.
    pub fn is_alias(&self, place: Place) -> bool {
        matches!(self.items.get(place as usize), Some(Item { value: Value::Alias(_), .. }))
    }

    /// Whether there are more than so many values, each alias counted with all that it stands for.
    pub fn is_larger_than(&self, most: u64) -> bool {
        if self.aliases == 0 {
            return self.items.len() as u64 > most;
        }
        let mut left = most;
        let mut open: Vec<Place> = self.documents.clone();
        while let Some(place) = open.pop() {
            let Some(rest) = left.checked_sub(1) else { return true };
            left = rest;
            match self.item(place).map(|item| &item.value) {
                Some(Value::Sequence(all)) => open.extend(all),
                Some(Value::Mapping(all)) => open.extend(all.iter().map(|(_, value)| *value)),
                _ => {}
            }
            if open.len() as u64 > most {
                return true;
            }
        }
        false
    }

    /// What a scalar is; `None` for a container.
    pub fn scalar(&self, place: Place) -> Option<Scalar> {
        let item = self.item(place)?;
        match &item.value {
            Value::Scalar(text, plain) => Some(Scalar::of(text, *plain, item.tag.as_deref())),
            _ => None,
        }
    }

    /// The text of a key.
    pub fn key(&self, place: Place) -> String {
        match self.item(place).map(|item| &item.value) {
            Some(Value::Scalar(text, _)) => text.clone(),
            _ => self.json(place, 64).map_or_else(|| "?".to_owned(), |json| json.to_string()),
        }
    }

    /// The members of a mapping by name, with those that its merge keys add; `None` where it is none.
    pub fn members(&self, place: Place) -> Option<Vec<(String, Place)>> {
        let (mut found, mut left) = (Vec::new(), MERGES);
        self.gather(place, &mut found, &mut left)?;
        Some(found)
    }

    fn gather(&self, place: Place, found: &mut Vec<(String, Place)>, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        let Value::Mapping(pairs) = &self.item(place)?.value else { return None };
        let (mut merged, mut known) = (Vec::new(), HashSet::new());
        for (key, value) in pairs {
            let is_merge = matches!(self.item(*key).map(|key| &key.value), Some(Value::Scalar(name, true)) if name == "<<");
            match is_merge {
                true => merged.push(*value),
                false => found.push((self.key(*key), *value)),
            }
        }
        for value in merged {
            let all = match &self.item(value)?.value {
                Value::Sequence(all) => all.clone(),
                _ => vec![value],
            };
            for other in all {
                let mut more = Vec::new();
                self.gather(other, &mut more, left);
                if known.is_empty() {
                    known.extend(found.iter().map(|(name, _)| name.clone()));
                }
                // What the mapping itself says goes before.
                more.retain(|(name, _)| !known.contains(name));
                known.extend(more.iter().map(|(name, _)| name.clone()));
                found.append(&mut more);
            }
        }
        Some(())
    }

    /// The value of a member of a mapping.
    pub fn get(&self, place: Place, name: &str) -> Option<Place> {
        self.members(place)?.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A value as JSON; `None` where it has more than `most` values.
    pub fn json(&self, place: Place, most: usize) -> Option<serde_json::Value> {
        let mut left = most;
        self.as_json(place, 0, &mut left)
    }

    fn as_json(&self, place: Place, depth: usize, left: &mut usize) -> Option<serde_json::Value> {
        *left = left.checked_sub(1)?;
        if depth > limits::DEPTH {
            return None;
        }
        Some(match &self.item(place)?.value {
            Value::Alias(_) => return None,
            Value::Scalar(..) => self.scalar(place)?.json(),
            Value::Sequence(all) => {
                let all = all.iter().map(|item| self.as_json(*item, depth + 1, left));
                serde_json::Value::Array(all.collect::<Option<_>>()?)
            }
            Value::Mapping(_) => {
                let members = self.members(place)?.into_iter();
                let members =
                    members.map(|(name, value)| Some((name, self.as_json(value, depth + 1, left)?)));
                serde_json::Value::Object(members.collect::<Option<_>>()?)
            }
        })
    }
}

fn at(mark: &Marker, what: &str) -> Error {
    Error::malformed(format!("YAML: line {}, column {}: {what}", mark.line(), mark.col() + 1))
}

/// A tag in its short form.
fn tag_text(tag: &Tag) -> String {
    match tag.handle.as_str() {
        "tag:yaml.org,2002:" => format!("!!{}", tag.suffix),
        handle => format!("{handle}{}", tag.suffix),
    }
}

impl Loader {
    fn take(&mut self, event: Event<'_>, mark: Marker) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = Value::Scalar(text.into_owned(), style == ScalarStyle::Plain);
                let place = self.add(value, tag, &mark)?;
                self.name(anchor, place);
                self.put(place, &mark)
            }
            Event::SequenceStart(anchor, tag) => self.open(Value::Sequence(Vec::new()), anchor, tag, &mark),
            Event::MappingStart(anchor, tag) => self.open(Value::Mapping(Vec::new()), anchor, tag, &mark),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                Ok(())
            }
            Event::Alias(anchor) => {
                let place = self.anchors.get(&anchor).copied();
                let place =
                    place.ok_or_else(|| self::at(&mark, "an alias of nothing that was named before"))?;
                self.yaml.aliases += 1;
                let alias = self.add(Value::Alias(place), None, &mark)?;
                self.put(alias, &mark)
            }
            Event::DocumentStart(_) => {
                self.open.clear();
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn add(&mut self, value: Value, tag: Option<Cow<'_, Tag>>, mark: &Marker) -> Result<Place> {
        let place = self.yaml.items.len();
        if place >= VALUES {
            return Err(Error::limit(format!("YAML: line {}: more than {VALUES} values", mark.line())));
        }
        let tag = tag.map(|tag| tag_text(&tag));
        self.yaml.items.push(Item { value, tag, line: mark.line() });
        Ok(place as Place)
    }

    fn name(&mut self, anchor: usize, place: Place) {
        if anchor > 0 {
            self.anchors.insert(anchor, place);
        }
    }

    fn open(&mut self, value: Value, anchor: usize, tag: Option<Cow<'_, Tag>>, mark: &Marker) -> Result<()> {
        if self.open.len() >= limits::DEPTH {
            let what = format!("YAML: line {}: values more than {} deep", mark.line(), limits::DEPTH);
            return Err(Error::limit(what));
        }
        let place = self.add(value, tag, mark)?;
        self.name(anchor, place);
        self.put(place, mark)?;
        self.open.push(Open { place, key: None });
        Ok(())
    }

    /// Puts a value where it belongs: into the container that is open.
    fn put(&mut self, place: Place, mark: &Marker) -> Result<()> {
        let Some(open) = self.open.last_mut() else {
            self.yaml.documents.push(place);
            return Ok(());
        };
        match self.yaml.items.get_mut(open.place as usize).map(|item| &mut item.value) {
            Some(Value::Sequence(all)) => all.push(place),
            Some(Value::Mapping(pairs)) => match open.key.take() {
                None => open.key = Some(place),
                Some(key) => pairs.push((key, place)),
            },
            _ => return Err(self::at(mark, "a value in a scalar")),
        }
        Ok(())
    }
}
