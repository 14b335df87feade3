//! Which features the records of a file have, as a sample of them tells.

use super::wire::{self, Feature, Kind, Message};
use crate::bytes::error::Result;
use crate::engines::protobuf::Part;
use std::collections::HashMap;

/// The most features that become columns: names come from the file.
const COLUMNS: usize = 10_000;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What the records are, `None` as long as none was looked at that has features.
    message: Option<Message>,
    /// Records that were looked at.
    pub records: u64,
    /// Those that are no such message.
    pub strangers: u64,
    /// In the order in which they were met.
    pub(super) features: Vec<FeatureSummary>,
    by_name: HashMap<(bool, Vec<u8>), usize>,
    /// Whether there are more features than can be columns.
    pub(super) too_many: bool,
}

/// What is known of a feature.
#[derive(Clone, Debug)]
pub(super) struct FeatureSummary {
    pub(super) name: Vec<u8>,
    pub(super) is_list: bool,
    /// The kind of list; `None` where it was never set.
    pub(super) kind: Option<Kind>,
    /// Whether there were several kinds.
    pub(super) mixed: bool,
    /// Whether there was exactly one value each time.
    pub(super) single: bool,
    /// Whether all bytes are text that can be printed,
    printable: bool,
    /// and whether there were any at all.
    filled: bool,
}

impl FeatureSummary {
    /// Whether its bytes are texts. Bytes that happen to be UTF-8 — a few zeros, small numbers — are none.
    pub(super) fn is_text(&self) -> bool {
        self.kind == Some(Kind::Bytes) && self.printable && self.filled
    }

    fn take(&mut self, part: Part) -> Result<()> {
        let feature = Feature::parse(part)?;
        let Some(kind) = feature.kind else { return Ok(()) };
        self.mixed |= self.kind.replace(kind).is_some_and(|before| before != kind);
        let mut count = 0_u64;
        match kind {
            Kind::Int64 => feature.integers(|_| count += 1)?,
            Kind::Float => feature.floats(|_| count += 1)?,
            Kind::Bytes => feature.bytes(|part| {
                count += 1;
                self.filled |= !part.bytes().is_empty();
                self.printable = self.printable && is_printable(part.bytes());
            })?,
        }
        self.single &= count == 1;
        Ok(())
    }
}

/// Whether bytes are a text that people wrote.
pub(super) fn is_printable(bytes: &[u8]) -> bool {
    let strange = |byte: &u8| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 12 | 27) || *byte == 127;
    !bytes.iter().any(strange) && simdutf8::basic::from_utf8(bytes).is_ok()
}

impl Survey {
    /// Looks at a record.
    pub fn add(&mut self, record: &[u8]) {
        self.records += 1;
        let Some((message, count)) = wire::recognise(record) else {
            self.strangers += 1;
            return;
        };
        // A `SequenceExample` without lists is an `Example` too.
        if count > 0 && self.message != Some(Message::Sequence) {
            self.message = Some(message);
        }
        let taken = wire::features(Part::decoded(record), |named| {
            let Some(met) = self.met(named.is_list, named.name) else { return Ok(()) };
            if !named.is_list {
                return met.take(named.part);
            }
            for feature in wire::listed(named.part) {
                met.take(feature?)?;
            }
            Ok(())
        });
        self.strangers += u64::from(taken.is_err());
    }

    fn met(&mut self, is_list: bool, name: &[u8]) -> Option<&mut FeatureSummary> {
        // Most records have the same features in the same order, few of them: no key is made to look.
        let known = self.features.iter().take(32).position(|met| met.name == name && met.is_list == is_list);
        let known = known.or_else(|| match self.features.len() {
            ..=32 => None,
            _ => self.by_name.get(&(is_list, name.to_vec())).copied(),
        });
        let place = match known {
            Some(place) => place,
            None if self.features.len() >= COLUMNS => {
                self.too_many = true;
                return None;
            }
            None => {
                let (kind, mixed, single, printable, filled) = (None, false, true, true, false);
                let name = name.to_vec();
                self.by_name.insert((is_list, name.clone()), self.features.len());
                self.features.push(FeatureSummary { name, is_list, kind, mixed, single, printable, filled });
                self.features.len() - 1
            }
        };
        self.features.get_mut(place)
    }

    /// What the records are: what all but few of them are, `None` where they are something else.
    pub fn message(&self) -> Option<Message> {
        self.message.filter(|_| crate::engines::records::container::is_few(self.strangers, self.records))
    }
}
