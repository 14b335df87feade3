//! What a value is for people: the name of its type, a value in one line where it has one, and what it holds. Objects
//! of Python's own library are shown as the values that they stand for, those of other classes by their fields.

use super::machine::{Id, Object, Pickle, Value};
use super::ndarray::{Found, Stored};
use super::stdlib;
use std::borrow::Cow;

/// Characters of a value beside its node.
pub(super) const SHOWN: usize = 200;
/// Calls in calls that give their argument back.
const GIVEN_BACK: usize = 64;
/// Arguments of a call that are written beside it as well.
const ARGUMENTS: usize = 16;

/// A value for people.
pub(super) struct View<'a> {
    /// The name of its type: `dict`, `numpy.float64`, `sklearn.svm._classes.SVC`.
    pub(super) label: Cow<'static, str>,
    /// The value in one line, where that says something.
    pub(super) value: Option<String>,
    /// How much it holds, where it is a container.
    pub(super) length: Option<u64>,
    /// What it holds.
    pub(super) runs: Vec<Run<'a>>,
    /// Further words: name and text.
    pub(super) notes: Vec<(&'static str, String)>,
}

/// A stretch of what a value holds. The names are not made here: many values may hold the same million entries.
pub(super) enum Run<'a> {
    /// Named by their numbers, the first one by this.
    Items(&'a [Id]),
    /// Named by their keys.
    Entries(&'a [(Id, Id)]),
    /// Pairs of keys and values as lists or tuples of two.
    Pairs(&'a [Id]),
    /// One with a name.
    Named(&'static str, Id),
}

impl Run<'_> {
    pub(super) fn count(&self) -> u64 {
        match self {
            Run::Items(items) | Run::Pairs(items) => items.len() as u64,
            Run::Entries(entries) => entries.len() as u64,
            Run::Named(..) => 1,
        }
    }

    /// The n-th value.
    pub(super) fn id(&self, pickle: &Pickle, n: u64) -> Option<Id> {
        let n = usize::try_from(n).ok()?;
        match self {
            Run::Items(items) => items.get(n).copied(),
            Run::Entries(entries) => entries.get(n).map(|(_, value)| *value),
            Run::Pairs(pairs) => {
                pairs.get(n).map(|pair| pickle.pair(*pair).map_or(*pair, |(_, value)| value))
            }
            Run::Named(_, id) => Some(*id),
        }
    }

    /// Name and value of the n-th.
    pub(super) fn child(&self, pickle: &Pickle, n: u64) -> Option<(String, Id)> {
        let id = self.id(pickle, n)?;
        let key = match self {
            Run::Items(_) => None,
            Run::Entries(entries) => entries.get(n as usize).map(|(key, _)| *key),
            Run::Pairs(pairs) => pickle.pair(*pairs.get(n as usize)?).map(|(key, _)| key),
            Run::Named(name, _) => return Some(((*name).to_owned(), id)),
        };
        Some((key.map_or_else(|| n.to_string(), |key| pickle.key(key)), id))
    }
}

impl Pickle {
    /// A list, tuple or set as its items.
    pub(super) fn items_of(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
                Some(items)
            }
            _ => None,
        }
    }

    /// A key as a name. Texts of Python 2 that are no ASCII are UTF-8 or, as Python 3 may read them, Latin-1.
    pub(super) fn key(&self, id: Id) -> String {
        match self.value(id) {
            Value::Bytes(piece) if self.facts.old_texts.contains(&id) => {
                let bytes = self.bytes(*piece);
                let first = bytes.get(..SHOWN).unwrap_or(bytes);
                match std::str::from_utf8(bytes) {
                    Ok(text) => text.chars().take(SHOWN).collect(),
                    Err(_) => first.iter().map(|b| char::from(*b)).collect(),
                }
            }
            _ => self.brief(id, SHOWN),
        }
    }

    /// A list or tuple of two.
    pub(super) fn pair(&self, id: Id) -> Option<(Id, Id)> {
        match self.items_of(id)? {
            [key, value] => Some((*key, *value)),
            _ => None,
        }
    }

    /// An entry of the state of an object, by its name.
    pub(super) fn field(&self, id: Id, name: &str) -> Option<Id> {
        let Value::Object(object) = self.value(id) else { return None };
        self.state_entry(object.state?, name)
    }

    fn state_entry(&self, state: Id, name: &str) -> Option<Id> {
        match self.value(state) {
            Value::Dict(_) => self.entry(state, name),
            Value::Tuple(parts) => parts.iter().take(3).find_map(|part| self.entry(*part, name)),
            _ => None,
        }
    }

    /// Whether a value holds others.
    pub(super) fn is_container(&self, id: Id) -> bool {
        match self.value(id) {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
                !items.is_empty()
            }
            Value::Dict(entries) => !entries.is_empty(),
            Value::Object(_) => true,
            _ => false,
        }
    }

    /// What a value is.
    pub(super) fn view(&self, id: Id) -> View<'_> {
        let value = self.value(id);
        let label = value.builtin().map(Cow::Borrowed);
        let runs = match value {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
                vec![Run::Items(items)]
            }
            Value::Dict(entries) => vec![Run::Entries(entries)],
            Value::Object(object) => return self.object_view(id, object),
            _ => Vec::new(),
        };
        let length = (!runs.is_empty()).then(|| runs.iter().map(Run::count).sum());
        let value_text = (length.unwrap_or(0) == 0).then(|| self.brief(id, SHOWN));
        let label = match value {
            Value::Bytes(_) if self.facts.old_texts.contains(&id) => Cow::Borrowed("str"),
            Value::Global(_) => Cow::Borrowed(stdlib::kind_of_name(self.global(id))),
            _ => label.unwrap_or_else(|| self.type_name(id).into()),
        };
        View { label, value: value_text, length, runs, notes: Vec::new() }
    }

    /// What an object is.
    fn object_view<'a>(&'a self, id: Id, object: &'a Object) -> View<'a> {
        if let Some(view) = stdlib::view(self, id, object) {
            return view;
        }
        if let Some(found) = self.found(id) {
            return self.array_view(id, object, &found);
        }
        let mut view = View {
            label: self.type_name(id).into(),
            value: None,
            length: None,
            runs: vec![Run::Entries(&object.pairs), Run::Items(&object.items)],
            notes: Vec::new(),
        };
        let (arguments, rebuilt) = self.arguments(object);
        let filled = !object.pairs.is_empty() || !object.items.is_empty();
        if !arguments.is_empty() {
            view.runs.push(Run::Items(arguments));
        }
        if let Some(named) = object.named {
            view.runs.push(match self.value(named) {
                Value::Dict(entries) => Run::Entries(entries),
                _ => Run::Named("keywords", named),
            });
        }
        // A tuple, a list, a dict of a class of its own.
        if object.state.is_none() {
            let held = if filled { object.pairs.len() + object.items.len() } else { arguments.len() };
            view.length = Some(held as u64).filter(|held| *held > 0);
        }
        if let Some(state) = object.state {
            self.state_runs(state, &mut view.runs);
        }
        let bare = !filled && object.state.is_none() && arguments.len() <= ARGUMENTS && !rebuilt;
        if bare || view.runs.iter().all(|run| run.count() == 0) {
            view.value = Some(self.brief(id, SHOWN));
        }
        if self.facts.instances.contains(&id) {
            // So Python 2 names the type of all of these.
            view.notes.push(("class", view.label.clone().into_owned()));
            view.value.get_or_insert_with(|| view.label.clone().into_owned());
            view.label = Cow::Borrowed("instance");
        }
        view
    }

    /// What an array is: its elements below it where they are objects.
    fn array_view<'a>(&'a self, id: Id, object: &'a Object, found: &Found) -> View<'a> {
        let label = self.type_of(object).into();
        let mut view = View { label, value: None, length: None, runs: Vec::new(), notes: Vec::new() };
        if let Some((_, Some(fill))) = self.mask(id) {
            view.runs.push(Run::Named("fill_value", fill));
        }
        if let Stored::Objects(list) = found.stored
            && let Value::List(items) = self.value(list)
        {
            view.runs.push(Run::Items(items));
        }
        view
    }

    /// The fields that a state fills an object with: a dict, or a pair of dicts of which the second is for slots.
    fn state_runs<'a>(&'a self, state: Id, runs: &mut Vec<Run<'a>>) {
        match self.value(state) {
            Value::Dict(entries) => runs.push(Run::Entries(entries)),
            Value::Tuple(parts) if parts.len() == 2 && parts.iter().all(|part| self.is_fields(*part)) => {
                for part in parts {
                    if let Value::Dict(entries) = self.value(*part) {
                        runs.push(Run::Entries(entries));
                    }
                }
            }
            Value::None => {}
            _ => runs.push(Run::Named("state", state)),
        }
    }

    fn is_fields(&self, id: Id) -> bool {
        matches!(self.value(id), Value::None | Value::Dict(_))
    }

    /// The arguments of a call that say something, and whether those that only name the class were left out.
    fn arguments(&self, object: &Object) -> (&[Id], bool) {
        let Some(arguments) = self.tuple(object.arguments) else { return (&[], false) };
        let Some(class) = self.rebuilt(object) else { return (arguments, false) };
        if self.is(object.class, &["copyreg", "copy_reg"], "_reconstructor") {
            // The class, the type below it, and a value of that type.
            return match arguments {
                [_, _, value] => (self.items_of(*value).unwrap_or(&[]), true),
                _ => (&[], true),
            };
        }
        let rest = if arguments.first() == Some(&class) {
            arguments.get(1..).unwrap_or_default()
        } else {
            arguments
        };
        // Checksums of the class.
        let told = rest.iter().filter(|id| !matches!(self.value(**id), Value::Int(_) | Value::None)).count();
        (if told == 0 { &[] } else { rest }, true)
    }

    /// The class that a function is given to make an object of: its first argument, where the function is one of those
    /// that do no more.
    pub(super) fn rebuilt(&self, object: &Object) -> Option<Id> {
        let (_, name) = self.global(object.class)?;
        let known = matches!(
            name,
            "_reconstruct"
                | "_mareconstruct"
                | "_reconstructor"
                | "_new_Index"
                | "_new_DatetimeIndex"
                | "_new_PeriodIndex"
                | "__newobj__"
        );
        let known = known || name.starts_with("__pyx_unpickle_");
        let first = *self.tuple(object.arguments).filter(|_| known)?.first()?;
        self.global(first).map(|_| first)
    }

    /// What a function that gives its argument back was given, where that is something of a module: what is done to the
    /// object that the call seems to make is done to that.
    pub(super) fn given_back(&self, id: Id) -> Option<Id> {
        let mut id = id;
        for _ in 0..GIVEN_BACK {
            match self.value(id) {
                Value::Global(_) => return Some(id),
                Value::Object(object) => {
                    let place = match self.global(object.class)? {
                        ("torch.jit._pickle", "restore_type_tag") => 0,
                        (module, "scalar") if module.starts_with("numpy") => 1,
                        _ => return None,
                    };
                    id = *self.tuple(object.arguments)?.get(place)?;
                }
                _ => return None,
            }
        }
        None
    }
}
