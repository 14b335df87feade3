//! What is known to make plain data, and the verdict on everything else.
//!
//! Lists of what is dangerous have always had gaps, so this one is of what is not: names that only hold data.
//! Classes of libraries that are not on it are *unusual*; functions that are not on it, and whatever else Python
//! itself brings, could do anything: *dangerous*.

use super::effects;
use super::inline::hidden;
use super::machine::{Id, Pickle, Value};
use crate::bytes::display::harmless;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
pub use crate::data::security::{Report, Verdict};
use bytes::Bytes;

/// Names that are kept.
const NAMES: usize = 10_000;
/// Pickles one after the other that are looked into.
const PICKLES: usize = 100_000;
/// Calls that are listed, and characters of each.
pub(super) const CALLS: usize = 100;
pub(super) const CALL: usize = 300;
/// Characters of a name in a sentence.
const NAME: usize = 200;
/// How deep pickles in pickles are looked into.
const NESTED: usize = 4;

impl Report {
    /// What one pickle would import.
    pub fn of(pickle: &Pickle) -> Report {
        let mut report = Report::default();
        for (module, name) in pickle.globals() {
            let plain = is_getattr(module, name) && only_zones(pickle);
            if plain { report.name(full(module, name)) } else { report.add(module, name) }
        }
        for id in &pickle.facts.tampered {
            let (module, name) = pickle.global(*id).unwrap_or_default();
            report.changed(module, name);
        }
        if pickle.facts.torn.is_some() {
            report.torn();
        }
        if pickle.has_hidden_wrappers() {
            report.wrapped();
        }
        report.called(pickle);
        if let Some(fault) = pickle.fault() {
            report.incomplete(fault.clone());
        }
        report
    }

    /// One name that is asked for.
    pub fn add(&mut self, module: &str, name: &str) {
        let (verdict, effect) = judge(module, name);
        let full = full(module, name);
        self.name(full.clone());
        if verdict != Verdict::Safe {
            self.suspect(full, verdict, effect);
        }
    }

    fn name(&mut self, full: String) {
        if self.globals.len() < NAMES {
            self.globals.insert(full);
        }
    }

    /// An opcode lies across the end of a frame.
    pub(super) fn torn(&mut self) {
        self.suspect("?".to_owned(), Verdict::Dangerous, effects::HIDES);
    }

    /// An array's wrapper is not made as joblib makes it.
    pub(super) fn wrapped(&mut self) {
        self.suspect(super::inline::WRAPPER.to_owned(), Verdict::Dangerous, effects::WRAPS);
    }

    /// Something that is imported is changed in place.
    pub(super) fn changed(&mut self, module: &str, name: &str) {
        self.suspect(full(module, name), Verdict::Dangerous, effects::CHANGES);
    }

    fn suspect(&mut self, full: String, verdict: Verdict, effect: &'static str) {
        if verdict > self.verdict {
            self.verdict = verdict;
            self.suspects.clear();
        }
        if self.effects.len() < NAMES {
            self.effects.insert(full.clone(), effect);
        }
        if verdict == self.verdict && self.suspects.len() < NAMES {
            self.suspects.insert(full);
        }
    }

    /// Calls of what is not known to make plain data.
    fn called(&mut self, pickle: &Pickle) {
        if self.effects.is_empty() {
            return;
        }
        let calls = pickle.ids().filter(|id| {
            let Value::Object(object) = pickle.value(*id) else { return false };
            pickle.global(object.class).is_none_or(|(module, name)| judge(module, name).0 != Verdict::Safe)
        });
        for id in calls.take(CALLS) {
            self.calls.push(pickle.brief(id, CALL));
        }
    }

    /// Not everything was looked at, for this reason.
    pub fn incomplete(&mut self, why: Error) {
        self.fault.get_or_insert(why);
        self.verdict = self.verdict.max(Verdict::Unusual);
    }

    /// Adds what was found elsewhere.
    pub fn merge(&mut self, other: Report) {
        if other.verdict > self.verdict {
            self.suspects.clear();
        }
        if other.verdict >= self.verdict {
            self.suspects.extend(other.suspects);
        }
        self.verdict = self.verdict.max(other.verdict);
        self.globals.extend(other.globals);
        self.effects.extend(other.effects);
        let room = CALLS.saturating_sub(self.calls.len());
        self.calls.extend(other.calls.into_iter().take(room));
        self.fault = self.fault.take().or(other.fault);
    }

    /// The verdict for people: what it would run, and what that means.
    pub fn sentence(&self) -> String {
        let list: Vec<String> = self.suspects.iter().map(|name| harmless(name, NAME)).take(8).collect();
        let more = self.suspects.len().saturating_sub(list.len());
        let list = match more {
            0 => list.join(", "),
            more => format!("{} and {more} more", list.join(", ")),
        };
        let first = self.suspects.iter().find_map(|name| Some((name, self.effects.get(name)?)));
        let meaning =
            first.map_or_else(String::new, |(name, effect)| format!(" ({} {effect})", harmless(name, NAME)));
        match self.verdict {
            Verdict::Safe => "nothing outside the allow-list of what makes plain data".to_owned(),
            Verdict::Unusual if list.is_empty() => "not all of it could be looked into".to_owned(),
            Verdict::Unusual => format!("loading it would run code of {list}"),
            Verdict::Dangerous => format!("loading it would run {list}: dangerous{meaning}"),
        }
    }

    /// The same as the error of a node, where it is dangerous.
    pub fn problem(&self, what: &str) -> Option<Error> {
        (self.verdict == Verdict::Dangerous)
            .then(|| Error::unsupported(format!("{what}: {}; nothing of it is run here", self.sentence())))
    }
}

/// `os.system`; a name without a module stands alone.
fn full(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") }
}

fn is_getattr(module: &str, name: &str) -> bool {
    matches!(module, "builtins" | "__builtin__") && name == "getattr"
}

/// Whether `getattr` is asked for nothing but what makes time zones, as `zoneinfo` writes them:
/// `getattr(zoneinfo.ZoneInfo, '_unpickle')`. Where it stands anywhere else, anything could be done with it.
fn only_zones(pickle: &Pickle) -> bool {
    let is = |id: &Id| pickle.global(*id).is_some_and(|(module, name)| is_getattr(module, name));
    let zone = |arguments: Id| match pickle.tuple(arguments) {
        Some([class, name]) => {
            pickle.is(*class, &["zoneinfo"], "ZoneInfo") && pickle.text(*name) == Some("_unpickle")
        }
        _ => false,
    };
    let any = |ids: &[Id]| ids.iter().any(is);
    let any_pair = |pairs: &[(Id, Id)]| pairs.iter().any(|(key, value)| is(key) || is(value));
    let stands = |id: Id| match pickle.value(id) {
        Value::List(ids) | Value::Tuple(ids) | Value::Set(ids) | Value::FrozenSet(ids) => any(ids),
        Value::Dict(pairs) => any_pair(pairs),
        Value::Persistent(id) => is(id),
        Value::Object(object) => {
            let beside = [object.named, object.state].into_iter().flatten();
            let called = is(&object.class) && (!zone(object.arguments) || beside.clone().next().is_some());
            called || beside.clone().any(|id| is(&id)) || any(&object.items) || any_pair(&object.pairs)
        }
        _ => false,
    };
    let called = |id: Id| matches!(pickle.value(id), Value::Object(object) if is(&object.class));
    pickle.ids().any(called) && !pickle.root().is_some_and(|root| is(&root)) && !pickle.ids().any(stands)
}

/// What all pickles in `bytes`, one after the other, would import. What follows the last one and is none is
/// left alone.
///
/// # Errors
/// `Cancelled`.
pub fn examine(task: &Task, bytes: &Bytes) -> Result<Report> {
    let (mut report, mut at) = (Report::default(), 0);
    for n in 0.. {
        if n > 0 && at >= bytes.len() {
            break;
        }
        if n == PICKLES {
            report.incomplete(
                Error::limit(format!("{PICKLES} pickles were looked into; more follow")).at(at as u64),
            );
            break;
        }
        let pickle = Pickle::read(task, bytes, at)?;
        let whole = pickle.root().is_some();
        // Bytes behind the last pickle are no pickle without an end; but what they name is listed.
        if n == 0 || whole || !pickle.globals().is_empty() {
            report.merge(examined(task, &pickle, at, 0)?);
        }
        at = pickle.end();
        if !whole {
            break;
        }
    }
    Ok(report)
}

/// What one pickle that was read from byte `start` on would import, what hides in its arrays, and what pickles in the
/// arguments of its calls would.
///
/// # Errors
/// `Cancelled`.
pub fn examined(task: &Task, pickle: &Pickle, start: usize, depth: usize) -> Result<Report> {
    let mut report = Report::of(pickle);
    for (module, name) in hidden(task, pickle, start)? {
        report.add(&module, &name);
    }
    if report.verdict != Verdict::Safe {
        report.merge(inner(task, pickle, depth)?);
    }
    Ok(report)
}

/// What pickles in the arguments of a pickle's calls would import.
///
/// # Errors
/// `Cancelled`.
pub(super) fn inner(task: &Task, pickle: &Pickle, depth: usize) -> Result<Report> {
    let mut report = Report::default();
    if depth >= NESTED {
        return Ok(report);
    }
    for id in pickle.ids() {
        let Value::Object(object) = pickle.value(id) else { continue };
        let plain = |(module, name)| judge(module, name).0 == Verdict::Safe;
        if pickle.global(object.class).is_some_and(plain) {
            continue;
        }
        let Some(arguments) = pickle.tuple(object.arguments) else { continue };
        for argument in arguments.iter().take(CALLS) {
            let bytes = match pickle.value(*argument) {
                Value::Bytes(piece) | Value::ByteArray(piece) => pickle.shared(*piece),
                _ => match pickle.encoded(*argument) {
                    Some(bytes) => Bytes::from(bytes),
                    None => continue,
                },
            };
            if super::is_pickle(&bytes, bytes.last().copied()) {
                let inner = Pickle::read(task, &bytes, 0)?;
                report.merge(examined(task, &inner, 0, depth + 1)?);
            }
        }
    }
    Ok(report)
}

/// Modules and names in them that make plain data and do nothing else, whatever their arguments are.
const PLAIN: &[(&str, &str)] = &[
    (
        "builtins __builtin__",
        "object set frozenset complex bytearray bytes len list dict tuple int long float bool str unicode \
         slice range xrange NoneType Ellipsis NotImplemented",
    ),
    ("numpy.core.multiarray numpy._core.multiarray numpy.core._multiarray_umath", "_reconstruct scalar"),
    ("numpy.core.numeric numpy._core.numeric", "_frombuffer"),
    (
        "numpy",
        "ndarray dtype matrix recarray record bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 \
         float16 float32 float64 complex64 complex128 str_ bytes_ void datetime64 timedelta64",
    ),
    ("numpy.ma.core numpy.ma", "_mareconstruct MaskedArray"),
    ("numpy.matrixlib.defmatrix", "matrix"),
    ("numpy.rec numpy.core.records", "recarray record"),
    ("numpy.random", "__RandomState_ctor __randomstate_ctor"),
    ("numpy.dtypes", "StringDType"),
    ("numpy.random._pickle", "__randomstate_ctor __generator_ctor __bit_generator_ctor"),
    ("numpy.random._mt19937 numpy.random._pcg64", "MT19937 PCG64"),
    ("collections", "OrderedDict defaultdict deque Counter UserDict UserList ChainMap"),
    ("datetime", "datetime date time timedelta timezone"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("uuid", "UUID"),
    ("types", "SimpleNamespace"),
    ("pathlib", "PurePosixPath PureWindowsPath PosixPath WindowsPath"),
    ("_codecs", "encode"),
    ("copyreg copy_reg", "_reconstructor"),
    (
        "torch._utils",
        "_rebuild_tensor _rebuild_tensor_v2 _rebuild_parameter _rebuild_sparse_tensor \
         _rebuild_device_tensor_from_numpy _rebuild_qtensor _rebuild_meta_tensor_no_storage",
    ),
    (
        "torch",
        "FloatStorage DoubleStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage \
         CharStorage ByteStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage Size device float32 \
         float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool Tensor",
    ),
    ("torch.storage", "UntypedStorage TypedStorage"),
    ("torch.nn.parameter", "Parameter"),
    ("torch._tensor", "_rebuild_from_type_v2"),
    ("joblib.numpy_pickle sklearn.externals.joblib.numpy_pickle", "NumpyArrayWrapper"),
];

/// Functions of theirs that only rebuild what was taken apart.
const REBUILD: &[(&str, &str)] = &[
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.datetimes", "_new_DatetimeIndex"),
    ("pandas.core.indexes.period", "_new_PeriodIndex"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked"),
    ("pandas._libs.interval", "__pyx_unpickle_IntervalMixin"),
    ("pandas._libs.tslibs.period", "__pyx_unpickle_PeriodMixin _unpickle_period"),
    ("pandas._libs.tslibs.timestamps", "_unpickle_timestamp"),
    ("pandas._libs.tslibs.timedeltas", "_timedelta_unpickle"),
    ("pandas._libs.tslibs.nattype", "_nat_unpickle __nat_unpickle"),
    ("sklearn._loss._loss", "__pyx_unpickle_CyHalfBinomialLoss __pyx_unpickle_CyHalfSquaredError"),
    ("ml_dtypes", "bfloat16 float8_e4m3fn float8_e5m2 int4 uint4"),
    ("joblib.numpy_pickle", "NDArrayWrapper ZNDArrayWrapper"),
    ("joblib.numpy_pickle_compat", "NDArrayWrapper ZNDArrayWrapper"),
    ("sklearn.externals.joblib.numpy_pickle", "NDArrayWrapper ZNDArrayWrapper"),
    ("sklearn.externals.joblib.numpy_pickle_compat", "NDArrayWrapper ZNDArrayWrapper"),
    ("pytz", "_p _UTC"),
    ("zoneinfo", "ZoneInfo"),
    ("pyarrow.lib", "_restore_array type_for_alias py_buffer chunked_array timestamp"),
];

/// Whether a name is known to make plain data.
pub(super) fn is_plain(module: &str, name: &str) -> bool {
    judge(module, name).0 == Verdict::Safe
}

/// The verdict on one name, and what it would do.
fn judge(module: &str, name: &str) -> (Verdict, &'static str) {
    let is_in = |list: &str, word: &str| list.split_ascii_whitespace().any(|known| known == word);
    if PLAIN
        .iter()
        .chain(super::torch::PLAIN)
        .any(|(modules, names)| is_in(modules, module) && is_in(names, name))
    {
        return (Verdict::Safe, "");
    }
    // A number of a registry that is empty unless a program filled it.
    if module == "copyreg" && name.starts_with("extension ") {
        return (Verdict::Unusual, effects::REGISTERED);
    }
    let sparse =
        module.starts_with("scipy.sparse.") && (name.ends_with("_matrix") || name.ends_with("_array"));
    let rebuilds = sparse && name.len() <= 10 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        || REBUILD.iter().any(|(m, names)| *m == module && is_in(names, name));
    // What the program that loads it defines itself is not in the pickle.
    let own = module == "__main__" && !name.contains('.') || super::torch::is_script(module);
    if own {
        return (Verdict::Unusual, effects::OWN);
    }
    if rebuilds {
        return (Verdict::Unusual, effects::CLASS);
    }
    match effects::of(module, name) {
        Some(effect) => (Verdict::Dangerous, effect),
        None if is_third_party(module) && is_class(name) => (Verdict::Unusual, effects::CLASS),
        None if is_third_party(module) => (Verdict::Dangerous, effects::FUNCTION),
        None => (Verdict::Dangerous, effects::PYTHON),
    }
}

/// Whether a name is spelled as a class: one word that begins with a capital letter.
fn is_class(name: &str) -> bool {
    let bare = name.trim_start_matches('_');
    bare.starts_with(|c: char| c.is_ascii_uppercase()) && bare.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a module is surely not Python's own.
fn is_third_party(module: &str) -> bool {
    let top = module.split('.').next().unwrap_or_default();
    let words = !top.is_empty() && top.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    words && !top.starts_with('_') && !STANDARD.split(' ').any(|known| known == top)
}

/// What Python itself brings, of both its versions, and what is installed with it.
const STANDARD: &str = "\
    BaseHTTPServer Bastion CGIHTTPServer ConfigParser Cookie DocXMLRPCServer HTMLParser MimeWriter Queue \
    SimpleHTTPServer SimpleXMLRPCServer SocketServer StringIO Tkinter UserDict UserList UserString abc aifc \
    antigravity anydbm argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii \
    binhex bisect builtins bz2 cPickle cProfile cStringIO calendar cgi cgitb chunk cloudpickle cmath cmd \
    code codecs codeop collections colorsys commands compileall compiler concurrent configparser contextlib \
    contextvars cookielib copy copy_reg copyreg crypt csv ctypes curses dataclasses datetime dbhash dbm \
    decimal difflib dill dis distutils dl doctest dumbdbm dummy_threading email encodings ensurepip enum \
    errno exceptions faulthandler fcntl filecmp fileinput fnmatch formatter fpformat fractions ftplib \
    functools future_builtins gc gdbm genericpath getopt getpass gettext glob graphlib grp gzip hashlib \
    heapq hmac hotshot html htmlentitydefs htmllib http httplib idlelib imaplib imghdr imp importlib imputil \
    inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma macpath mailbox \
    mailcap marshal math md5 mhlib mimetypes mimify mmap modulefinder msilib msvcrt multifile \
    multiprocessing mutex netrc new nis nntplib nt ntpath nturl2path numbers opcode operator optparse os \
    os2emxpath ossaudiodev parser pathlib pdb pickle pickletools pip pipes pkg_resources pkgutil platform \
    plistlib popen2 poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data \
    pyexpat queue quopri random re readline repr reprlib resource rfc822 rlcompleter robotparser runpy sched \
    secrets select selectors sets setuptools sgmllib sha shelve shlex shutil signal site smtpd smtplib \
    sndhdr socket socketserver spwd sqlite3 sre sre_compile sre_constants sre_parse ssl stat statistics \
    statvfs string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile \
    telnetlib tempfile termios test textwrap this thread threading time timeit tkinter toaiff token tokenize \
    tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib \
    urllib2 urlparse user uu uuid venv warnings wave weakref webbrowser wheel whichdb winreg winsound \
    wsgiref xdrlib xml xmlrpc xmlrpclib zipapp zipfile zipimport zlib zoneinfo";
