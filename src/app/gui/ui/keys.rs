//! Keys that mean something where the keyboard is: tables that those obey who have it, and that the list under F1 shows.

use egui::{Event, Key, Modifiers, Ui};

/// A line of the list of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyLine {
    /// The keys, or what is done with the mouse.
    pub(crate) keys: &'static str,
    /// What they do.
    pub(crate) words: &'static str,
}

impl KeyLine {
    /// These keys do that.
    pub(crate) const fn new(keys: &'static str, words: &'static str) -> Self {
        KeyLine { keys, words }
    }
}

/// A key with its modifiers, and what it means.
pub(crate) type Meaning<C> = (Modifiers, Key, C);

/// Keys that belong together: in words, and what each of them means.
pub(crate) struct Keys<C: 'static> {
    pub(crate) line: KeyLine,
    pub(crate) meanings: &'static [Meaning<C>],
}

impl<C: Copy + 'static> Keys<C> {
    /// `keys` in words do what `words` say; what each of them means.
    pub(crate) const fn new(
        keys: &'static str,
        words: &'static str,
        meanings: &'static [Meaning<C>],
    ) -> Self {
        Keys { line: KeyLine::new(keys, words), meanings }
    }
}

/// The table in words.
pub(crate) fn lines<C>(table: &'static [Keys<C>]) -> Vec<&'static KeyLine> {
    table.iter().map(|keys| &keys.line).collect()
}

/// Every key of a table.
#[cfg(test)]
pub(crate) fn shortcuts<C>(table: &'static [Keys<C>]) -> Vec<egui::KeyboardShortcut> {
    let all = table.iter().flat_map(|keys| keys.meanings);
    all.map(|(modifiers, key, _)| egui::KeyboardShortcut::new(*modifiers, *key)).collect()
}

/// What a key means by a table, with exactly these modifiers.
pub(crate) fn meaning<C: Copy>(table: &'static [Keys<C>], key: Key, modifiers: Modifiers) -> Option<C> {
    let is = |wanted: &Modifiers| {
        (wanted.command, wanted.shift, wanted.alt) == (modifiers.command, modifiers.shift, modifiers.alt)
    };
    let mut all = table.iter().flat_map(|keys| keys.meanings);
    all.find(|(wanted, of, _)| *of == key && is(wanted)).map(|(_, _, meaning)| *meaning)
}

/// What an event means by a table. The desktop says *copy* in place of its keys.
fn of_event<C: Copy>(table: &'static [Keys<C>], event: &Event) -> Option<C> {
    match event {
        Event::Copy => meaning(table, Key::C, Modifiers::COMMAND),
        Event::Key { key, pressed: true, modifiers, .. } => meaning(table, *key, *modifiers),
        _ => None,
    }
}

/// What the keys mean that were pressed, in their order; others may ask for them, too.
pub(crate) fn pressed<C: Copy>(ui: &Ui, table: &'static [Keys<C>]) -> Vec<C> {
    ui.input(|input| input.events.iter().filter_map(|event| of_event(table, event)).collect())
}

/// The same, and nobody else gets them; nor the letters as a text.
pub(crate) fn taken<C: Copy>(ui: &Ui, table: &'static [Keys<C>]) -> Vec<C> {
    let mut found = Vec::new();
    ui.input_mut(|input| {
        input.events.retain(|event| {
            let meaning = of_event(table, event);
            found.extend(meaning);
            meaning.is_none()
        });
        if !found.is_empty() {
            input.events.retain(|event| !matches!(event, Event::Text(_)));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: &[Keys<u8>] = &[
        Keys::new(
            "A, Shift+A",
            "one and two",
            &[(Modifiers::NONE, Key::A, 1), (Modifiers::SHIFT, Key::A, 2)],
        ),
        Keys::new("Ctrl+C", "three", &[(Modifiers::COMMAND, Key::C, 3)]),
    ];

    #[test]
    fn a_key_means_what_its_modifiers_say() {
        let given = Modifiers { ctrl: true, ..Modifiers::COMMAND };
        assert_eq!(meaning(TABLE, Key::A, Modifiers::NONE), Some(1));
        assert_eq!(meaning(TABLE, Key::A, Modifiers::SHIFT), Some(2));
        assert_eq!(meaning(TABLE, Key::A, Modifiers::ALT), None);
        assert_eq!((meaning(TABLE, Key::C, given), of_event(TABLE, &Event::Copy)), (Some(3), Some(3)));
        assert_eq!(shortcuts(TABLE).len(), 3);
        assert_eq!(lines(TABLE).iter().map(|line| line.words).collect::<Vec<_>>(), ["one and two", "three"]);
    }
}
