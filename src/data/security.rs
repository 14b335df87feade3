//! What code a file would run when the program that it is made for loads it. Gander runs none.

use crate::bytes::display::harmless;
use crate::bytes::error::Error;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// What a pickle could do to somebody who loads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It asks for nothing but what is known to make plain data.
    #[default]
    Safe,
    /// It asks for classes of libraries or of the program itself, or its end was not seen.
    Unusual,
    /// It asks for something that could do anything.
    Dangerous,
}

impl Verdict {
    /// The word in JSON (`CLI.md`).
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Safe => "safe",
            Verdict::Unusual => "unusual",
            Verdict::Dangerous => "dangerous",
        }
    }
}

/// What was found in one pickle or several.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What would be imported, `os.system`, in alphabetical order; `?` for what is put together while loading.
    pub globals: BTreeSet<String>,
    /// Those that made the verdict what it is.
    pub suspects: BTreeSet<String>,
    /// Of each name that is not known to make plain data what it would do, in a sentence.
    pub effects: BTreeMap<String, &'static str>,
    /// What would be called, as a call: `os.system('echo quack')`; the first ones.
    pub calls: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why not everything was looked at, if so.
    pub fault: Option<Error>,
}

/// Characters of a name or a call that a report shows.
const SHOWN: usize = 2_000;

impl Verdict {
    /// The verdict in words for people.
    pub fn title(self) -> &'static str {
        match self {
            Verdict::Safe => "Nothing outside the allow-list",
            Verdict::Unusual => "Unusual: loading it runs code of others",
            Verdict::Dangerous => "Dangerous to load",
        }
    }
}

impl Report {
    /// What a name would do, where it is not known to make plain data.
    pub fn effect(&self, name: &str) -> Option<&'static str> {
        self.effects.get(name).copied()
    }

    /// Its names: those that made the verdict first, then what else is not known to make plain data, then the others.
    pub fn ranked(&self) -> Vec<&str> {
        let rank = |name: &&str| match (self.suspects.contains(*name), self.effects.contains_key(*name)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        // What hides in data was named nowhere.
        let all: BTreeSet<&str> =
            self.globals.iter().chain(self.effects.keys()).map(String::as_str).collect();
        let mut names: Vec<&str> = all.into_iter().collect();
        names.sort_by_key(rank);
        names
    }

    /// The report as text for people, a line each; what could turn or hide its letters is made visible.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict.title());
        if let Some(fault) = &self.fault {
            text.push_str(&format!(
                "Not everything was looked at: {}\n",
                harmless(&fault.to_string(), SHOWN)
            ));
        }
        if !self.calls.is_empty() {
            text.push_str("\nIt would call\n");
            self.calls.iter().for_each(|call| text.push_str(&format!("  {}\n", harmless(call, SHOWN))));
        }
        let names = self.ranked();
        if !names.is_empty() {
            text.push_str("\nIt asks for\n");
        }
        for name in names {
            let effect = self.effect(name).unwrap_or("makes plain data");
            text.push_str(&format!("  {} {effect}\n", harmless(name, SHOWN)));
        }
        text.push_str("\nNothing of it was run to find this out.\n");
        text
    }

    /// The same for programs: names and calls exactly as the file has them.
    pub fn json(&self) -> serde_json::Value {
        let name = |name: &str| {
            let effect = self.effect(name);
            json!({ "name": name, "effect": effect, "suspect": self.suspects.contains(name) })
        };
        json!({
            "verdict": self.verdict.word(),
            "calls": self.calls,
            "globals": self.ranked().into_iter().map(name).collect::<Vec<_>>(),
            "incomplete": self.fault.as_ref().map(Error::to_string),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report { verdict: Verdict::Dangerous, ..Report::default() };
        for name in ["collections.OrderedDict", "os.system", "a.B\u{202e}gpj"] {
            report.globals.insert(name.to_owned());
        }
        report.suspects.insert("os.system".to_owned());
        report.effects.insert("os.system".to_owned(), "runs programs on the machine");
        report.effects.insert("a.B\u{202e}gpj".to_owned(), "runs code of a class of a library");
        report.calls.push("os.system('echo\nquack')".to_owned());
        report
    }

    #[test]
    fn a_text_is_harmless_and_the_worst_stands_first() {
        let report = report();
        assert_eq!(report.ranked(), ["os.system", "a.B\u{202e}gpj", "collections.OrderedDict"]);
        let text = report.text();
        assert!(
            text.starts_with("Dangerous to load\n") && text.contains("os.system runs programs"),
            "{text}"
        );
        assert!(text.contains("  os.system('echo\u{fffd}quack')\n"), "{text}");
        assert!(!text.contains('\u{202e}') && text.contains("a.B\u{fffd}gpj"));
        assert!(text.contains("collections.OrderedDict makes plain data"));
    }

    #[test]
    fn json_has_what_the_file_has() {
        let json = report().json();
        assert_eq!(json["verdict"], "dangerous");
        let first = json!({"name": "os.system", "effect": "runs programs on the machine", "suspect": true});
        assert_eq!((&json["globals"][0], &json["globals"][2]["effect"]), (&first, &serde_json::Value::Null));
        assert_eq!(json["globals"][1]["name"], "a.B\u{202e}gpj");
        assert_eq!(json["calls"][0], "os.system('echo\nquack')");
    }
}
