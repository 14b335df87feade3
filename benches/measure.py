"""What the benchmark scripts share: cases, how one is run and its memory watched, tables of medians.

A case is a process of its own, start included, for Gander and for the peers; one whose last line is
`seconds X` also reports the time inside the process, without the start, the imports and the preparation.
Each round runs every case of a group once, so that a slow minute hits all of them. A case that takes very
long is run once only. A median of fewer than three rounds is marked.

Memory is the kernel's own count while the process runs: VmHWM (the peak of everything resident), and the
highest RssAnon (the process's own) and RssFile (mapped files, which the kernel may drop) that were seen.
A process shorter than a sample has none, and says so.
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

TIMEOUT = 900
LONG = 15  # seconds; a case that takes longer is run once only
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


def program(bench):
    """The newest optimised build of a bench of that name, which times one thing a process."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).resolve().parent.parent / "target")) / "release/deps"
    built = [path for path in folder.glob(f"{bench}-*") if not path.suffix]
    if not built:
        sys.exit(f"{bench}: not built; `cargo bench --bench {bench} --no-run` does")
    return max(built, key=lambda path: path.stat().st_mtime)


def make(made, description):
    """The command line of a script that makes data: {name: function of the path}; skips what exists."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent / "data")
    parser.add_argument("--only", default=",".join(made))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.only.split(","):
        path = given.folder / name
        if path.exists():
            continue
        started = time.time()
        part = path.with_name(path.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.unlink(missing_ok=True)
        made[name](part)
        part.rename(path)
        print(f"{name}: {time.time() - started:.0f} s", file=sys.stderr)


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
        if last[:1] == ["seconds"]:
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
    """The table of what a bench binary printed: `name seconds who` a line; names may have spaces."""
    rows = ["### Inside the process", "", "| task | program | time |", "|---|---|--:|"]
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, time, who = line.rsplit(maxsplit=2)
            rows.append(f"| {name} | {who} | {seconds([float(time)] * 3)} |")
        except ValueError:
            sys.exit(f"{path}:{number}: not `name seconds who`: {line}")
    return [*rows, ""]


def machine(repeat):
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.machine())
    total = int(Path("/proc/meminfo").read_text().split()[1]) / MIB
    return [f"{model}, {os.cpu_count()} cores, {total:.0f} GiB; {platform.system()} {platform.release()}. Median of {repeat} rounds, files in the page cache.", ""]


def write(path, lines, section):
    """Prints the lines, or puts them between the two markers of that section in a Markdown file."""
    text = "\n".join(lines)
    if path is None:
        print(text)
        return
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    old = path.read_text() if path.exists() else f"# Measurements\n\n{begin}\n{end}\n"
    if begin not in old or end not in old:
        sys.exit(f"{path}: has no `{begin}` and `{end}`")
    before, rest = old.split(begin, 1)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end, 1)[1]}")


def is_long(case):
    return bool(case.walls) and case.walls[0] > LONG


def measured(groups, arguments, gander):
    """Runs the chosen groups ({name: (cases of (gander, data), needed file)}); their cases with numbers."""
    names = arguments.only.split(",") if arguments.only else list(groups)
    unknown = [name for name in names if name not in groups]
    if unknown:
        sys.exit(f"no such group: {', '.join(unknown)}")
    cases = []
    for name in names:
        make, needs = groups[name]
        if not (arguments.data / needs).exists():
            print(f"{name}: left out, {arguments.data / needs} is not there", file=sys.stderr)
            continue
        group = [case for case in make(gander, arguments.data.resolve()) if not (arguments.peers_only and case.who == "gander")]
        cases += group
        # One round that is not counted fills the page cache.
        for round_number in range(arguments.repeat + 1):
            for case in group:
                if not case.error and not is_long(case):
                    run(case)
            if round_number == 0 and arguments.repeat > 0:
                for case in group:
                    if not is_long(case):
                        case.walls.clear()
                        case.inner.clear()
            print(f"{name}: round {round_number} of {arguments.repeat}", file=sys.stderr)
    return cases


def main(groups, description, section):
    """The command line of a benchmark script over `groups`, whose tables are that section of a file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--gander", type=Path, default=here.parent / "target/release/gander")
    parser.add_argument("--data", type=Path, default=here / "data")
    parser.add_argument("--only", help=f"of {', '.join(groups)}")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers-only", action="store_true", help="without Gander")
    parser.add_argument("--inprocess", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    gander = arguments.gander.resolve()
    if not arguments.peers_only and not shutil.which(gander):
        sys.exit(f"{gander}: not there; build it, or name another with --gander")
    # Read first: a mistake in it must not cost the rounds.
    inside = inprocess(arguments.inprocess) if arguments.inprocess else []
    lines = machine(arguments.repeat) + table(measured(groups, arguments, gander))
    write(arguments.out, lines + inside, section)
