//! Objects of Python's own library, and of NumPy where they are no arrays, as the values that they stand for.
//! <https://docs.python.org/3/library/index.html>

use super::machine::{Id, Object, Pickle, Value};
use super::ndarray::scalar_text;
use super::view::{Run, SHOWN, View};
use std::borrow::Cow;
use std::fmt::Write;

/// Functions of Python's own that pickles name.
const FUNCTIONS: &str = "abs all any ascii bin callable chr delattr dir divmod eval exec format getattr globals hasattr \
    hash hex id input isinstance issubclass iter len locals max min next oct open ord pow print repr round setattr \
    sorted sum vars __import__ compile breakpoint execfile apply cmp coerce intern reduce reload unichr";

/// What a name stands for, in Python's word: a type, a function.
pub(super) fn kind_of_name(global: Option<(&str, &str)>) -> &'static str {
    let Some((module, name)) = global else { return "object" };
    let word = name.rsplit('.').next().unwrap_or(name);
    match module {
        "builtins" | "__builtin__" if FUNCTIONS.split_ascii_whitespace().any(|known| known == word) => {
            "builtin_function_or_method"
        }
        "builtins" | "__builtin__" => "type",
        _ if word.trim_start_matches('_').starts_with(|c: char| c.is_ascii_uppercase()) => "type",
        "numpy" | "collections" | "datetime" => "type",
        _ => "function",
    }
}

fn scalar(label: impl Into<Cow<'static, str>>, value: String) -> View<'static> {
    View { label: label.into(), value: Some(value), length: None, runs: Vec::new(), notes: Vec::new() }
}

fn container<'a>(label: &'static str, runs: Vec<Run<'a>>) -> View<'a> {
    let length = Some(runs.iter().map(Run::count).sum());
    View { label: Cow::Borrowed(label), value: None, length, runs, notes: Vec::new() }
}

/// The object as what it stands for; `None` where it is none of these.
pub(super) fn view<'a>(pickle: &'a Pickle, id: Id, object: &'a Object) -> Option<View<'a>> {
    if let Some(bytes) = pickle.encoded_start(id, SHOWN) {
        let _ = bytes;
        return Some(scalar("bytes", pickle.brief(id, SHOWN)));
    }
    let (module, name) = pickle.global(pickle.rebuilt(object).unwrap_or(object.class))?;
    let arguments = pickle.tuple(object.arguments).unwrap_or_default();
    match module {
        "builtins" | "__builtin__" => builtin(pickle, id, object, name, arguments),
        "collections" => collection(pickle, object, name, arguments),
        "types" if name == "SimpleNamespace" => namespace(pickle, object),
        "datetime" | "decimal" | "fractions" | "uuid" | "pathlib" | "pathlib._local" => {
            let text = text(pickle, object)?;
            Some(scalar(pickle.type_name(id), text))
        }
        "numpy" if name == "dtype" => {
            let text = pickle.described(id).map(|described| described.dtype.to_string());
            let label = text.as_deref().and_then(|text| dtype_class(pickle, text));
            let text = text.unwrap_or_else(|| pickle.brief(id, SHOWN));
            Some(scalar(label.unwrap_or(Cow::Borrowed("numpy.dtype")), text))
        }
        "numpy.core.multiarray" | "numpy._core.multiarray" if name == "scalar" => {
            let [dtype, data, ..] = arguments else { return None };
            let described = pickle.described(*dtype)?;
            let label = format!("numpy.{}", scalar_class(&described.dtype.to_string()));
            Some(scalar(label, scalar_text(&described, &pickle.data(*data)?)?))
        }
        _ if module.starts_with("numpy.random") || module == "mtrand" => {
            random(pickle, object, name, arguments)
        }
        _ => None,
    }
}

fn builtin<'a>(
    pickle: &'a Pickle,
    id: Id,
    object: &'a Object,
    name: &str,
    arguments: &'a [Id],
) -> Option<View<'a>> {
    let label = match name {
        "set" => "set",
        "frozenset" => "frozenset",
        "list" => "list",
        "tuple" => "tuple",
        "dict" => "dict",
        _ => {
            let label = match name {
                "bytearray" => "bytearray",
                "complex" => "complex",
                "range" | "xrange" => "range",
                "slice" => "slice",
                _ => return None,
            };
            return Some(scalar(label, pickle.brief(id, SHOWN)));
        }
    };
    let mut runs = Vec::new();
    match arguments.first().map(|first| (*first, pickle.value(*first))) {
        Some((_, Value::Dict(entries))) => runs.push(Run::Entries(entries)),
        Some((first, _)) => {
            let items = pickle.items_of(first)?;
            runs.push(if label == "dict" { Run::Pairs(items) } else { Run::Items(items) });
        }
        None => {}
    }
    runs.extend([Run::Items(&object.items), Run::Entries(&object.pairs)]);
    Some(container(label, runs))
}

fn collection<'a>(
    pickle: &'a Pickle,
    object: &'a Object,
    name: &str,
    arguments: &'a [Id],
) -> Option<View<'a>> {
    let label = match name {
        "OrderedDict" => "collections.OrderedDict",
        "defaultdict" => "collections.defaultdict",
        "Counter" => "collections.Counter",
        "deque" => "collections.deque",
        _ => return None,
    };
    let (mut runs, mut notes) = (Vec::new(), Vec::new());
    let held = match (name, arguments) {
        ("defaultdict", [factory, rest @ ..]) => {
            notes.push(("default factory", pickle.brief(*factory, SHOWN)));
            rest.first()
        }
        ("deque", [items, longest, ..]) => {
            notes.push(("maxlen", pickle.brief(*longest, SHOWN)));
            Some(items)
        }
        (_, other) => other.first(),
    };
    match held.map(|held| (*held, pickle.value(*held))) {
        Some((_, Value::Dict(entries))) => runs.push(Run::Entries(entries)),
        Some((held, _)) => {
            let items = pickle.items_of(held)?;
            runs.push(if name == "deque" { Run::Items(items) } else { Run::Pairs(items) });
        }
        None => {}
    }
    runs.extend([Run::Items(&object.items), Run::Entries(&object.pairs)]);
    let mut view = container(label, runs);
    // Fields of the object itself, which hardly any has.
    if let Some(Value::Dict(entries)) = object.state.map(|state| pickle.value(state)) {
        view.runs.push(Run::Entries(entries));
    }
    view.notes = notes;
    Some(view)
}

fn namespace<'a>(pickle: &'a Pickle, object: &'a Object) -> Option<View<'a>> {
    let Value::Dict(entries) = pickle.value(object.state?) else { return None };
    let mut view = container("types.SimpleNamespace", vec![Run::Entries(entries)]);
    view.length = None;
    Some(view)
}

/// NumPy's generators of random numbers, by the names of their classes.
fn random<'a>(pickle: &'a Pickle, object: &'a Object, name: &str, arguments: &'a [Id]) -> Option<View<'a>> {
    let mut label = match name {
        "__RandomState_ctor" | "__randomstate_ctor" => Cow::Borrowed("numpy.random.mtrand.RandomState"),
        "__generator_ctor" => Cow::Borrowed("numpy.random._generator.Generator"),
        "__bit_generator_ctor" => Cow::Borrowed("numpy.random.bit_generator.BitGenerator"),
        _ => return None,
    };
    if name == "__bit_generator_ctor"
        && let Some(first) = arguments.first()
    {
        label = match pickle.global(*first) {
            Some((module, class)) => format!("{module}.{class}").into(),
            None => format!("numpy.random.{}", pickle.text(*first)?).into(),
        };
    }
    let mut view = container("", vec![]);
    (view.label, view.length) = (label, None);
    let generator = (name != "__bit_generator_ctor").then(|| arguments.first()).flatten();
    if let Some(first) = generator.filter(|first| matches!(pickle.value(**first), Value::Object(_))) {
        view.runs.push(Run::Named("bit_generator", *first));
    }
    match object.state.map(|state| (state, pickle.value(state))) {
        Some((_, Value::Dict(entries))) => view.runs.push(Run::Entries(entries)),
        Some((state, _)) => view.runs.push(Run::Named("state", state)),
        None => {}
    }
    Some(view)
}

/// What NumPy 2 calls the class of a type; before, and for records, there was one for all.
fn dtype_class(pickle: &Pickle, text: &str) -> Option<Cow<'static, str>> {
    if !pickle.globals().iter().any(|(module, _)| module.starts_with("numpy._core")) {
        return None;
    }
    let (word, bits) =
        text.split_at(text.find(|c: char| c.is_ascii_digit() || c == '[').unwrap_or(text.len()));
    let word = match word {
        "int" => "Int",
        "uint" => "UInt",
        "float" => "Float",
        "complex" => "Complex",
        "bool" => return Some(Cow::Borrowed("numpy.dtypes.BoolDType")),
        "str" => return Some(Cow::Borrowed("numpy.dtypes.StrDType")),
        "bytes" => return Some(Cow::Borrowed("numpy.dtypes.BytesDType")),
        "datetime" => return Some(Cow::Borrowed("numpy.dtypes.DateTime64DType")),
        "timedelta" => return Some(Cow::Borrowed("numpy.dtypes.TimeDelta64DType")),
        _ => return None,
    };
    Some(format!("numpy.dtypes.{word}{bits}DType").into())
}

/// The class of a scalar of a type.
fn scalar_class(text: &str) -> String {
    let word = text.split(['[', '<']).next().unwrap_or(text);
    match word {
        "str" | "bytes" | "void" => format!("{word}_"),
        "struct" => "void".to_owned(),
        // Its name since NumPy 2, and `bool_` before.
        other => other.to_owned(),
    }
}

/// Dates, times, decimals, fractions, paths and identifiers as Python writes them.
pub(super) fn text(pickle: &Pickle, object: &Object) -> Option<String> {
    let (module, name) = pickle.global(pickle.rebuilt(object).unwrap_or(object.class))?;
    let arguments = pickle.tuple(object.arguments).unwrap_or_default();
    let number = |at: usize| match arguments.get(at).map(|id| pickle.value(*id)) {
        Some(Value::Int(number)) => Some(*number),
        Some(Value::Float(number)) => Some(*number as i64),
        _ => None,
    };
    match (module, name) {
        ("datetime", "date" | "datetime") => super::text::date(pickle, object),
        ("datetime", "time") => super::text::clock(pickle, object),
        ("datetime", "timedelta") => Some(span(number(0)?, number(1).unwrap_or(0), number(2).unwrap_or(0))),
        ("datetime", "timezone") => {
            let offset = *arguments.first()?;
            Some(zone(pickle, offset).unwrap_or_else(|| pickle.brief(offset, SHOWN)))
        }
        ("decimal", "Decimal") => Some(pickle.brief(*arguments.first()?, SHOWN)),
        ("fractions", "Fraction") => {
            let parts: Vec<String> = arguments.iter().take(2).map(|id| pickle.brief(*id, SHOWN)).collect();
            Some(parts.join("/")).filter(|text| !text.is_empty())
        }
        ("uuid", "UUID") => {
            let Value::Dict(entries) = pickle.value(object.state?) else { return None };
            let (_, number) = entries.iter().find(|(key, _)| pickle.text(*key) == Some("int"))?;
            uuid(&pickle.brief(*number, SHOWN))
        }
        (_, "Path" | "PosixPath" | "WindowsPath" | "PurePath" | "PurePosixPath" | "PureWindowsPath") => {
            let parts: Vec<&str> = arguments.iter().filter_map(|id| pickle.text(*id)).collect();
            let (mark, root) = if name.contains("Windows") { ("\\", "\\") } else { ("/", "/") };
            let mut text = String::new();
            for part in parts {
                if !text.is_empty() && !text.ends_with(root) {
                    text.push_str(mark);
                }
                text.push_str(part);
            }
            Some(if text.is_empty() { ".".to_owned() } else { text })
        }
        _ => None,
    }
}

/// `timedelta` as Python's `str` has it: `-1 day, 23:59:59.5`.
fn span(days: i64, seconds: i64, micros: i64) -> String {
    let mut text = match days {
        0 => String::new(),
        1 | -1 => format!("{days} day, "),
        _ => format!("{days} days, "),
    };
    let _ = write!(text, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if micros != 0 {
        let _ = write!(text, ".{micros:06}");
    }
    text
}

/// An offset from UTC, which is a timedelta: `+02:00`.
pub(super) fn zone(pickle: &Pickle, id: Id) -> Option<String> {
    let Value::Object(object) = pickle.value(id) else { return None };
    let part = |at: usize| match pickle.value(*pickle.tuple(object.arguments)?.get(at)?) {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    if !pickle.is(object.class, &["datetime"], "timedelta") {
        return None;
    }
    let seconds = part(0)?.checked_mul(86_400)?.checked_add(part(1).unwrap_or(0))?;
    let (sign, all) = if seconds < 0 { ('-', seconds.checked_neg()?) } else { ('+', seconds) };
    Some(format!("{sign}{:02}:{:02}", all / 3600, all / 60 % 60))
}

/// 128 bits, written in decimal digits, as an identifier.
fn uuid(digits: &str) -> Option<String> {
    let number: u128 = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Some([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}
