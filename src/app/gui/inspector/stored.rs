//! Where the value under the cursor lies in its file: offset, length, unit, codecs; and the way to its bytes.

use egui::Ui;
use gander::bytes::display;
use gander::data::location::{Location, Part};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::section;
use crate::gui::commands::Action;
use crate::gui::target::{BytesOf, StoredValue, Target};
use crate::gui::theme::{self, space};
use crate::gui::ui::key_value;

/// The section.
#[derive(Default)]
pub(super) struct Stored {
    found: Slot<StoredValue, Option<Told>>,
}

/// What is said of a place.
struct Told {
    lines: Vec<(&'static str, String)>,
    /// Other bytes that the value is made of.
    parts: Vec<(String, String)>,
    /// Whether there is a decoded unit to look at beside the file.
    decoded: bool,
}

impl Told {
    fn of(location: &Location) -> Self {
        let (source, unit) = location.base(location.range.clone());
        let mut lines = vec![("File", source.name().to_owned())];
        let length = |range: &std::ops::Range<u64>| display::plural(range.end - range.start, "byte");
        if let Some(packed) = location.outer() {
            lines.push(("Decompressed from", format!("{}, {}", packed.codec, packed.source.name())));
        }
        match location.exact().map(|exact| location.base(exact).1) {
            Some(exact) => {
                lines.push(("Offset", format!("0x{:x}", exact.start)));
                lines.push(("Length", length(&exact)));
            }
            None if location.absent => lines.push(("Value", "no bytes of its own".to_owned())),
            None => {}
        }
        lines.push(("Unit", format!("{} {}", location.unit, location.name).trim_end().to_owned()));
        lines.push(("Unit at", format!("0x{:x}, {}", unit.start, length(&unit))));
        if !location.codecs.is_empty() {
            lines.push(("Codecs", location.codecs.join(", ")));
        }
        if let Some(encoding) = location.encoding.as_ref().filter(|encoding| !encoding.is_empty()) {
            lines.push(("Encoding", encoding.clone()));
        }
        if let Some(within) = location.within.as_ref().filter(|_| !location.is_plain()) {
            let bytes = &within.bytes;
            lines.push(("Decoded at", format!("0x{:x}, {}", bytes.start, length(bytes))));
        }
        if let Some(bits) = location.within.as_ref().and_then(|within| within.bits.as_ref()) {
            lines.push(("Bits", format!("{} to {}", bits.start, bits.end)));
        }
        let mut parts: Vec<(String, String)> = Vec::new();
        for (n, part) in location.parts.iter().enumerate() {
            // Those that are called alike are told once.
            let is_known = |other: &Part| other.what == part.what;
            if location.parts.iter().take(n).any(is_known) {
                continue;
            }
            let words = match (&part.location.within, part.location.is_beside(location)) {
                (Some(within), true) if !location.is_plain() => {
                    format!("decoded at 0x{:x}, {}", within.bytes.start, length(&within.bytes))
                }
                _ => {
                    let (_, range) = part.location.base(part.location.shown());
                    format!("at 0x{:x}, {}", range.start, length(&range))
                }
            };
            let name = part.what.chars().take(1).flat_map(char::to_uppercase);
            parts.push((name.chain(part.what.chars().skip(1)).collect(), words));
        }
        Told { lines, parts, decoded: !location.is_plain() }
    }
}

impl Stored {
    /// Draws it, where a value is under the cursor and its format tells where it lies.
    pub(super) fn ui(
        &self,
        ui: &mut Ui,
        jobs: &Jobs,
        target: &Target,
        value: Option<&StoredValue>,
        actions: &mut Vec<Action>,
    ) {
        let Some(value) = value else { return };
        let asked = value.clone();
        let shown = self.found.get(jobs, value, JobSpec::view("finding where a value lies"), move |task| {
            Ok(asked.location(task)?.as_ref().map(Told::of))
        });
        let Some(told) = shown.ready() else { return };
        let Some(told) = told.as_ref() else { return };
        section(ui, "Stored", |ui| {
            theme::section_head(ui, "Stored", Some((&value.what, theme::Theme::of(ui).dim)));
            ui.add_space(space::S2);
            for (name, words) in &told.lines {
                key_value(ui, name, words);
            }
            for (name, words) in &told.parts {
                key_value(ui, name, words);
            }
            ui.add_space(space::S2);
            ui.horizontal(|ui| {
                let mut show = |ui: &mut Ui, words: &str, decoded: bool| {
                    if theme::button(ui, words).clicked() {
                        let (node, value) = (target.place(), value.clone());
                        actions.push(Action::ShowBytes(BytesOf { node, value, decoded }));
                    }
                };
                show(ui, "Show bytes", false);
                if told.decoded {
                    show(ui, "Show decoded bytes", true);
                }
            });
        });
    }
}
