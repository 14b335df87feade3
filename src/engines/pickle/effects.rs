//! What names that are not known to make plain data would do, in a sentence. The list only explains: whatever is not
//! on it and not on the list of plain names is no less suspect.

/// A registry of the loading program.
pub(super) const REGISTERED: &str = "is what the loading program registered under a number";
/// Classes of the loading program.
pub(super) const OWN: &str = "runs code of a class of the loading program";
/// Classes of libraries.
pub(super) const CLASS: &str = "runs code of a class of a library";
/// Functions of libraries.
pub(super) const FUNCTION: &str = "calls a function of a library that could do anything";
/// Parts of Python.
pub(super) const PYTHON: &str = "is a part of Python that is not known to make plain data";
/// Something imported is changed.
pub(super) const CHANGES: &str = "is changed in place for the whole program";
/// Opcodes that lie across the end of a frame.
pub(super) const HIDES: &str = "stands for code that may hide in data across the end of a frame, which versions of Python read differently";

/// joblib's wrappers around arrays, made in a way that joblib does not.
pub(super) const WRAPS: &str =
    "stands for an array whose bytes hold code for who loads it without joblib: joblib does not make it so";

const COMMANDS: &str = "runs programs on the machine";
const CODE: &str = "runs Python code that it is given";
const IMPORTS: &str = "imports, and so runs, a module";
const FILES: &str = "opens, writes or removes files";
const NETWORK: &str = "talks to other machines";
const LOADS: &str = "loads another file or pickle, which could do anything";
const REACHES: &str = "reaches for an attribute by its name: a way to any function";
const CALLS: &str = "calls a function that it is given";
const INSTALLS: &str = "installs packages";
const PROCESS: &str = "ends or changes the running program";
const MEMORY: &str = "reads and writes memory past Python";
const BROWSER: &str = "opens a web browser";
const COMPILES: &str = "compiles and runs native code";
const DEBUGS: &str = "runs code under a debugger or profiler";

/// Modules with what is in them, names (`*`: all of them), and what these do. The first line that fits holds.
const LINES: &[(&str, &str, &str)] = &[
    ("builtins __builtin__", "eval exec execfile compile", CODE),
    ("builtins __builtin__", "__import__ reload", IMPORTS),
    ("builtins __builtin__", "open file input raw_input", FILES),
    ("builtins __builtin__", "getattr setattr delattr vars globals locals dir type super hasattr", REACHES),
    ("builtins __builtin__", "map filter apply reduce sorted min max callable next iter", CALLS),
    ("builtins __builtin__", "exit quit breakpoint help", PROCESS),
    ("operator _operator", "attrgetter itemgetter methodcaller getitem", REACHES),
    ("operator _operator", "*", CALLS),
    ("functools _functools itertools", "*", CALLS),
    (
        "os posix nt",
        "system popen popen2 popen3 popen4 startfile posix_spawn posix_spawnp fork forkpty",
        COMMANDS,
    ),
    ("os posix nt", "execl execle execlp execlpe execv execve execvp execvpe", COMMANDS),
    ("os posix nt", "spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe", COMMANDS),
    ("os posix nt", "_exit abort kill killpg putenv unsetenv chdir setuid", PROCESS),
    ("os posix nt shutil pathlib tempfile glob fileinput posixpath ntpath genericpath", "*", FILES),
    ("subprocess _posixsubprocess commands popen2 pty pexpect sh plumbum invoke fabric", "*", COMMANDS),
    ("asyncio.subprocess asyncio.unix_events multiprocessing concurrent.futures platform", "*", COMMANDS),
    ("distutils setuptools numpy.distutils numpy.f2py cffi", "*", COMPILES),
    ("torch._inductor torch.utils.cpp_extension torch._dynamo triton numba", "*", COMPILES),
    ("pip _pip ensurepip venv easy_install", "*", INSTALLS),
    ("importlib imp pkgutil zipimport pydoc runpy test.support pkg_resources modulefinder", "*", IMPORTS),
    ("code codeop timeit types idlelib lib2to3 doctest ast dis IPython cloudpickle dill asyncio", "*", CODE),
    ("pandas.eval pandas.core.computation numexpr sympy jinja2 mako", "*", CODE),
    ("torch._dynamo torch.fx torch.jit.unsupported_tensor_ops torch.package", "*", CODE),
    ("bdb pdb cProfile profile trace traceback hotshot pstats torch.utils.bottleneck", "*", DEBUGS),
    ("io _io _pyio codecs zipfile tarfile gzip bz2 lzma mmap logging linecache", "*", FILES),
    ("sqlite3 dbm _dbm _gdbm anydbm dumbdbm dbhash gdbm", "*", FILES),
    ("pickle _pickle cPickle pickletools marshal shelve joblib", "*", LOADS),
    ("copyreg copy_reg", "*", CALLS),
    ("numpy", "load loadtxt genfromtxt fromfile memmap lib.npyio.load", LOADS),
    ("numpy.lib numpy.ctypeslib", "*", LOADS),
    ("pandas", "read_pickle read_csv read_hdf read_sql", LOADS),
    (
        "pandas.io torch.serialization torch.hub torch.jit.load tensorflow.keras.models keras.models",
        "*",
        LOADS,
    ),
    ("torch", "load jit.load hub.load", LOADS),
    (
        "socket _socket ssl http httplib urllib urllib2 ftplib smtplib smtpd poplib imaplib nntplib",
        "*",
        NETWORK,
    ),
    ("telnetlib xmlrpc xmlrpclib socketserver SocketServer asyncore asynchat BaseHTTPServer", "*", NETWORK),
    ("requests aiohttp httpx urllib3 websocket websockets tornado twisted paramiko boto boto3", "*", NETWORK),
    ("botocore zmq pycurl grpc flask werkzeug django s3fs gcsfs fsspec smart_open", "*", NETWORK),
    ("webbrowser antigravity", "*", BROWSER),
    ("sys signal atexit threading _thread thread gc inspect warnings sched faulthandler site", "*", PROCESS),
    ("ctypes _ctypes torch._C._cuda", "*", MEMORY),
    ("uuid", "_get_command_stdout _popen getnode", COMMANDS),
];

/// What a name would do, where that is on the list. A module stands for those within it.
pub(super) fn of(module: &str, name: &str) -> Option<&'static str> {
    let is_in = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let within = |list: &str| {
        let below = |known: &str| {
            module.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        list.split(' ').any(below)
    };
    // `getattr` of protocol 4: `builtins`, `eval.__call__`.
    let first = name.split('.').next().unwrap_or(name);
    let found = LINES.iter().find(|(modules, names, _)| {
        within(modules) && (*names == "*" || is_in(names, name) || is_in(names, first))
    });
    let dotted = name.contains('.').then_some(REACHES);
    found.map(|(_, _, effect)| *effect).or(dotted)
}
