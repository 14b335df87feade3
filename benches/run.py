#!/usr/bin/env python3
"""Measures Gander's command line beside its peers, in one run, turn by turn.

    run.py [--gander target/release/gander] [--data benches/data] [--only csv,parquet]
           [--repeat 5] [--inprocess FILE] [--out benches/README.md]

Run it with a Python that has what benches/requirements.txt lists, in a virtual environment
outside the checkout. The data come from make_data.py. Each case is a process of its own,
start included, for Gander and for the peers; the peers also report the time inside the
process, without the interpreter's start and the imports, because theirs are libraries.
Each round runs every case of a group once, so that a slow minute hits all of them.
A median of fewer than three rounds is marked.

Memory is the kernel's own count while the process runs: VmHWM (the peak of everything
resident), and the highest RssAnon (the process's own) and RssFile (mapped files, which the
kernel may drop) that were seen. A process shorter than a sample has none, and says so.
glogg (from Debian) runs without a display; its time ends when its log says that the index
is there.

--inprocess FILE: lines `name seconds` (and optionally `name seconds peer`) printed by a
`cargo bench` binary; they become a table of their own below the others.
--out FILE: the tables replace what stands between the two marker comments in it.
"""

import argparse
import os
import platform
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
TIMEOUT = 900
# Without a display, without the settings of whoever runs this; its log says when it is done.
GLOGG = ["env", "QT_QPA_PLATFORM=offscreen", "XDG_CONFIG_HOME=/tmp/gander-bench-glogg", "glogg", "-dd"]
MIB = 1 << 20


@dataclass
class Case:
    """One line of a table: a command, or a snippet of Python for a peer library."""

    group: str
    what: str
    who: str
    command: list = None
    code: str = None
    work: float = None  # bytes that are gone through, for a speed
    until: bytes = b""  # for a program with a window: it is done when it has printed this
    walls: list = field(default_factory=list)
    inner: list = field(default_factory=list)
    anon: int = 0
    mapped: int = 0
    peak: int = 0
    error: str = ""


def peer(group, what, who, setup, code, **options):
    """`setup` (imports) is not timed inside the process, `code` is."""
    text = f"import time\n{setup}\n_t = time.perf_counter()\n{code}\nprint('seconds', time.perf_counter() - _t)\n"
    return Case(group, what, who, code=text, **options)


def csv_cases(gander, data):
    path = data / "trips.csv"
    size = path.stat().st_size
    group = "2 GB CSV, 20 M rows"
    return [
        Case(group, "first 100 rows", "gander", [gander, "show", path, "--rows", "0..100", "--json"]),
        peer(group, "first 100 rows", "polars (lazy)", "import polars as pl", f"pl.scan_csv({str(path)!r}).head(100).collect()"),
        peer(group, "first 100 rows", "duckdb", "import duckdb", f"duckdb.sql(\"from read_csv('{path}') limit 100\").fetchall()"),
        Case(group, "last 100 rows", "gander", [gander, "show", path, "--rows", "-100..", "--json"]),
        Case(group, "100 rows at 13,456,789, index of all", "gander", [gander, "show", path, "--rows", "13456789..13456889", "--json"], work=size),
        peer(group, "last 100 rows, whole read", "polars", "import polars as pl", f"pl.scan_csv({str(path)!r}).tail(100).collect(engine='streaming')", work=size),
        peer(group, "number of rows", "duckdb", "import duckdb", f"duckdb.sql(\"select count(*) from read_csv('{path}')\").fetchall()", work=size),
        Case(group, "lines of the file", "wc -l", ["wc", "-l", path], work=size),
        Case(group, "index of lines, in its window", "glogg", GLOGG + [path], work=size, until=b"indexingFinished: 1"),
    ]


def parquet_cases(gander, data):
    out = []
    for name, index in [("trips.parquet", "page index"), ("trips_no_index.parquet", "no page index")]:
        path, group = data / name, f"Parquet, 20 M x 7, zstd, {index}"
        if not path.exists():
            continue
        for what, first in [("first 100 rows", 0), ("100 rows at 13,456,789", 13_456_789)]:
            query = f"from read_parquet('{path}') limit 100 offset {first}"
            out += [
                Case(group, what, "gander", [gander, "show", path, "--rows", f"{first}..{first + 100}", "--json"]),
                peer(group, what, "duckdb", "import duckdb", f'duckdb.sql("{query}").fetchall()'),
                peer(group, what, "polars", "import polars as pl", f"pl.scan_parquet({str(path)!r}).slice({first}, 100).collect()"),
                peer(group, what, "pyarrow", "import pyarrow.parquet as pq", f"f = pq.ParquetFile({str(path)!r})\nf.read_row_group({first // 1_000_000}).slice({first % 1_000_000}, 100).to_pylist()"),
            ]
    return out


def arrow_cases(gander, data):
    path, group = data / "trips.arrow", "Arrow IPC file, 20 M x 7"
    out = []
    for what, first in [("first 100 rows", 0), ("100 rows at 13,456,789", 13_456_789)]:
        read = f"f = pa.ipc.open_file(pa.memory_map({str(path)!r}))\nf.get_batch({first // 100_000}).slice({first % 100_000}, 100).to_pylist()"
        out += [
            Case(group, what, "gander", [gander, "show", path, "--rows", f"{first}..{first + 100}", "--json"]),
            peer(group, what, "pyarrow", "import pyarrow as pa", read),
        ]
    return out


def npy_cases(gander, data):
    path, group = data / "big.npy", "NPY, 2 GB of float32"
    size = path.stat().st_size
    copy = f"a = np.load({str(path)!r})\nb = np.empty_like(a)\nb.fill(0)"
    sums = f"a = np.load({str(path)!r}, mmap_mode='r').reshape(-1)\nfor i in range(0, a.size, 1 << 22):\n    c = a[i:i + (1 << 22)]\n    n = np.isnan(c).sum(); c.min(); c.max(); d = c.sum(dtype='f8'); c.std(dtype='f8')"
    return [
        Case(group, "open, shape and type", "gander", [gander, "tree", path, "--json"]),
        peer(group, "open, shape and type", "numpy", "import numpy as np", f"np.load({str(path)!r}, mmap_mode='r').shape"),
        Case(group, "100 rows at 400,000", "gander", [gander, "show", path, "--slice", "400000..400100", "--json"]),
        peer(group, "100 rows at 400,000", "numpy", "import numpy as np", f"np.load({str(path)!r}, mmap_mode='r')[400000:400100].tolist()"),
        Case(group, "statistics of all", "gander", [gander, "stats", path, "--json"], work=size),
        peer(group, "statistics of all", "numpy, by blocks", "import numpy as np", sums, work=size),
        peer(group, "copy in memory", "memcpy (numpy)", f"import numpy as np\n{copy}", "np.copyto(b, a)", work=size),
    ]


def safetensors_cases(gander, data):
    path, group = data / "model_13gb.safetensors", "safetensors, 13 GB, 288 tensors (a hole in the file)"
    name = "model.layers.17.mlp.down_proj.weight"
    size = 4096 * 11008 * 2
    opened = f"f = safe_open({str(path)!r}, 'numpy')\nn = list(f.keys())"
    return [
        Case(group, "open, list of tensors", "gander", [gander, "tree", path, "--json"]),
        peer(group, "open, list of tensors", "safetensors", "import safetensors.numpy\nfrom safetensors import safe_open", opened),
        peer(group, "open, all shapes", "safetensors", "import safetensors.numpy\nfrom safetensors import safe_open", opened + "\n[f.get_slice(k).get_shape() for k in n]"),
        Case(group, "statistics of one tensor", "gander", [gander, "stats", f"{path}#{name}", "--json"], work=size),
    ]


def gzip_cases(gander, data):
    path, group = data / "text.csv.gz", "1 GB of text in a .csv.gz"
    size = 1_000_000_000
    rows = [gander, "show", path, "--rows"]
    indexed = f"f = igz.IndexedGzipFile({str(path)!r})\nf.build_full_index()"
    rapid = "f = rapidgzip.open({!r}, parallelization={})\n{}"
    return [
        Case(group, "first 100 rows", "gander", [*rows, "0..100", "--json"]),
        Case(group, "last 100 rows, index of all", "gander", [*rows, "-100..", "--json"], work=size),
        peer(group, "index of all", "indexed_gzip", "import indexed_gzip as igz", indexed, work=size),
        peer(group, "random page after the index", "indexed_gzip", f"import indexed_gzip as igz\n{indexed}", "f.seek(731_000_000)\nf.read(20_000)"),
        peer(group, "index of all, one core", "rapidgzip", "import rapidgzip", rapid.format(str(path), 1, "f.block_offsets()\nf.close()"), work=size),
        peer(group, "index of all, every core", "rapidgzip", "import rapidgzip", rapid.format(str(path), 0, "f.block_offsets()\nf.close()"), work=size),
        peer(group, "random page after the index", "rapidgzip", "import rapidgzip\n" + rapid.format(str(path), 0, "f.block_offsets()"), "f.seek(731_000_000)\nf.read(20_000)\nf.close()"),
        Case(group, "all of it", "gzip -dc", ["sh", "-c", f"exec gzip -dc '{path}' > /dev/null"], work=size),
    ]


def convert_cases(gander, data):
    """What Gander writes: compared by hand with read_back.py, timed here."""
    path, group = data / "trips.parquet", "Conversion of 20 M rows"
    text = data / "trips.csv"
    into = Path(tempfile.gettempdir()) / "gander-bench-out"
    return [
        Case(group, "CSV to Parquet, zstd", "gander", ["sh", "-c", f"rm -f '{into}.parquet'; exec '{gander}' convert '{text}' '{into}.parquet'"]),
        peer(group, "CSV to Parquet, zstd", "duckdb", "import duckdb", f"duckdb.sql(\"copy (from read_csv('{text}')) to '{into}.peer.parquet' (format parquet, compression zstd)\")"),
        peer(group, "CSV to Parquet, zstd", "polars", "import polars as pl", f"pl.scan_csv({str(text)!r}, try_parse_dates=True).sink_parquet('{into}.peer.parquet', compression='zstd')"),
        Case(group, "Parquet to Arrow IPC", "gander", ["sh", "-c", f"rm -f '{into}.arrow'; exec '{gander}' convert '{path}' '{into}.arrow'"]),
        Case(group, "Parquet to CSV", "gander", ["sh", "-c", f"rm -f '{into}.csv'; exec '{gander}' convert '{path}' '{into}.csv'"]),
        peer(group, "Parquet to Arrow IPC", "polars", "import polars as pl", f"pl.scan_parquet({str(path)!r}).sink_ipc('{into}.peer.arrow')"),
        peer(group, "Parquet to CSV", "duckdb", "import duckdb", f"duckdb.sql(\"copy (from read_parquet('{path}')) to '{into}.peer.csv'\")"),
    ]


GROUPS = {
    "csv": (csv_cases, "trips.csv"),
    "parquet": (parquet_cases, "trips.parquet"),
    "arrow": (arrow_cases, "trips.arrow"),
    "npy": (npy_cases, "big.npy"),
    "safetensors": (safetensors_cases, "model_13gb.safetensors"),
    "gzip": (gzip_cases, "text.csv.gz"),
    "convert": (convert_cases, "trips.parquet"),
}


def status(pid):
    """{field: bytes} of the memory lines of /proc/PID/status; empty when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.startswith(("VmHWM", "RssAnon", "RssFile")))
    return {key: int(value.split()[0]) * 1024 for key, value in pairs}


def run(case):
    """Runs one case once: its wall time, its inner time if it prints one, its memory."""
    command = [str(part) for part in case.command] if case.command else [sys.executable, "-c", case.code]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        try:
            child = subprocess.Popen(command, stdout=out, stderr=errors, stdin=subprocess.DEVNULL)
        except OSError as error:
            case.error = str(error)
            return
        # Waiting by a process descriptor wakes at once, so that the poll adds no time.
        ended = os.pidfd_open(child.pid)
        step, done = 0.002, False
        while not select.select([ended], [], [], step)[0]:
            memory = status(child.pid)
            case.anon = max(case.anon, memory.get("RssAnon", 0))
            case.mapped = max(case.mapped, memory.get("RssFile", 0))
            case.peak = max(case.peak, memory.get("VmHWM", 0))
            step = min(step * 1.2, 0.01)
            if case.until and case.until in os.pread(out.fileno(), MIB, 0) + os.pread(errors.fileno(), MIB, 0):
                done = True
                child.kill()
                break
            if time.perf_counter() - started > TIMEOUT:
                child.kill()
                case.error = f"stopped after {TIMEOUT} s"
                break
        wall = time.perf_counter() - started
        os.close(ended)
        child.wait()
        if case.until and not done:
            case.error = case.error or "ended before it was done"
            return
        if child.returncode != 0 and not done:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip().splitlines()
            case.error = case.error or (text[-1][:100] if text else f"exit status {child.returncode}")
            return
        case.walls.append(wall)
        out.seek(0, os.SEEK_END)
        out.seek(max(0, out.tell() - 200))
        last = out.read().decode(errors="replace").strip().rsplit("\n", 1)[-1].split()
        if case.code and last[:1] == ["seconds"]:
            case.inner.append(float(last[1]))


def seconds(values):
    if not values:
        return ""
    value = statistics.median(values)
    text = f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
    return text if len(values) >= 3 else f"{text} (n = {len(values)})"


def memory(value):
    return f"{value / MIB:.0f}" if value else "too short"


def table(cases):
    """Markdown tables, one a group."""
    out, groups = [], {}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    for name, members in groups.items():
        out += [f"### {name}", "", "| task | program | process, start included | inside the process | GB/s | peak MiB | own MiB | mapped MiB |", "|---|---|--:|--:|--:|--:|--:|--:|"]
        for case in members:
            if case.error:
                out.append(f"| {case.what} | {case.who} | failed: {case.error.replace('|', '/')} | | | | | |")
                continue
            best = case.inner or case.walls
            speed = f"{case.work / statistics.median(best) / 1e9:.2f}" if case.work and best else ""
            out.append(f"| {case.what} | {case.who} | {seconds(case.walls)} | {seconds(case.inner)} | {speed} | {memory(case.peak)} | {memory(case.anon)} | {memory(case.mapped)} |")
        out.append("")
    return out


def inprocess(path):
    """The table of what a bench binary printed: `name seconds [who]` a line."""
    rows = ["### Inside the process", "", "| task | program | time |", "|---|---|--:|"]
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        parts = line.split()
        if not parts or line.startswith("#"):
            continue
        try:
            rows.append(f"| {parts[0]} | {parts[2] if len(parts) > 2 else 'gander'} | {seconds([float(parts[1])] * 3)} |")
        except (IndexError, ValueError):
            sys.exit(f"{path}:{number}: not `name seconds`: {line}")
    return [*rows, ""]


def machine(repeat):
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.machine())
    total = int(Path("/proc/meminfo").read_text().split()[1]) / MIB
    return [f"{model}, {os.cpu_count()} cores, {total:.0f} GiB; {platform.system()} {platform.release()}. Median of {repeat} rounds, files in the page cache.", ""]


def write(path, lines):
    text = "\n".join(lines)
    if path is None:
        print(text)
        return
    old = path.read_text() if path.exists() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    if BEGIN not in old or END not in old:
        sys.exit(f"{path}: has no `{BEGIN}` and `{END}`")
    before, rest = old.split(BEGIN, 1)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--gander", type=Path, default=here.parent / "target/release/gander")
    parser.add_argument("--data", type=Path, default=here / "data")
    parser.add_argument("--only", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers-only", action="store_true", help="without Gander")
    parser.add_argument("--inprocess", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(GROUPS)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"no such group: {', '.join(unknown)}")
    gander = arguments.gander.resolve()
    if not arguments.peers_only and not shutil.which(gander):
        sys.exit(f"{gander}: not there; build it, or name another with --gander")
    cases = []
    for name in names:
        make, needs = GROUPS[name]
        if not (arguments.data / needs).exists():
            print(f"{name}: left out, {arguments.data / needs} is not there", file=sys.stderr)
            continue
        group = [case for case in make(gander, arguments.data.resolve()) if not (arguments.peers_only and case.who == "gander")]
        cases += group
        # One round that is not counted fills the page cache.
        for round_number in range(arguments.repeat + 1):
            for case in group:
                if not case.error:
                    run(case)
            if round_number == 0 and arguments.repeat > 0:
                for case in group:
                    case.walls.clear()
                    case.inner.clear()
            print(f"{name}: round {round_number} of {arguments.repeat}", file=sys.stderr)
    lines = machine(arguments.repeat) + table(cases)
    if arguments.inprocess:
        lines += inprocess(arguments.inprocess)
    write(arguments.out, lines)


if __name__ == "__main__":
    main()
