#!/usr/bin/env python3
"""Ends conversions in the middle and looks at what is left: a full disk, a broken one, a kill, an interrupt, a folder or source
that goes.

    faults.py GANDER [--kills N] [--to parquet,npy,...] [--isolate]

Makes a table and an array, and converts them by one writer of each kind. After each fault the target has to be what it was
before, byte for byte, or whole (it verifies), the error has to be a sentence, and the next start has to take away what a
killed one left. The full disk is a tmpfs of its own, for which the script has to be root; without that it is left out and
said. The broken disk is a library that is loaded before the system's own (Linux, with a C compiler): writes to the file that is
being made fail with EIO, each time after more bytes. Exit status 1 if anything else is found.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TABLES = ["parquet", "arrow", "csv", "jsonl", "avro", "sqlite", "xlsx", "tfrecord", "webdataset", "lmdb", "delta", "iceberg"]
ARRAYS = ["npy", "npz", "safetensors", "hdf5", "zarr", "netcdf4", "netcdf3", "n5", "mat", "nifti", "fits", "gguf", "tiff", "bloscpack"]


# write, pwrite and fsync that fail with EIO once so many bytes were written to what has `.gander-` in its path.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
static long long written;
static int broken(int fd, size_t count) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0) return 0;
    path[len] = 0;
    if (!strstr(path, ".gander-")) return 0;
    const char *after = getenv("FAULT_AFTER");
    if (!after) return 0;
    if (__atomic_add_fetch(&written, count, __ATOMIC_SEQ_CST) <= atoll(after)) return 0;
    errno = EIO;
    return 1;
}
#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *from, size_t count) {
    REAL(write);
    return broken(fd, count) ? -1 : real(fd, from, count);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    size_t sum = 0;
    for (int n = 0; n < count; n++) sum += parts[n].iov_len;
    return broken(fd, sum) ? -1 : real(fd, parts, count);
}
ssize_t pwrite64(int fd, const void *from, size_t count, long at) {
    REAL(pwrite64);
    return broken(fd, count) ? -1 : real(fd, from, count, at);
}
ssize_t pwrite(int fd, const void *from, size_t count, long at) {
    REAL(pwrite);
    return broken(fd, count) ? -1 : real(fd, from, count, at);
}
int fsync(int fd) {
    REAL(fsync);
    return broken(fd, 1) ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(fdatasync);
    return broken(fd, 1) ? -1 : real(fd);
}
"""


def shim(folder):
    """The library, or none where it cannot be built."""
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    built = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True)
    return library if built.returncode == 0 else None


def broken_disk(case, library, problems):
    """Writes fail after so many bytes; how many of these conversions failed."""
    if library is None:
        return "left out"
    failed = 0
    for after in [0, 1, 100, 5_000, 20_000, 100_000, 1_000_000]:
        case.prepare()
        case.before = None
        if is_file_target(case):
            case.out.write_bytes(b"what was there before")
            case.before = b"what was there before"
        child = case.start({"LD_PRELOAD": str(library), "FAULT_AFTER": str(after)})
        _, words = child.communicate()
        expected = "before" if case.before is not None else "none"
        if child.returncode == 0:
            if not case.whole():
                problems.append(f"{case.out.name}: a success on a broken disk that is not whole")
            continue
        failed += 1
        if child.returncode != 1 or not words.strip():
            problems.append(f"{case.out.name}: status {child.returncode} on a broken disk, {words!r}")
        if case.state() != expected:
            problems.append(f"{case.out.name}: {case.state()} on a broken disk, not {expected}")
        if left(case.out.parent):
            problems.append(f"{case.out.name}: litter on a broken disk: {left(case.out.parent)}")
    case.before = None
    case.prepare()
    if failed == 0:
        problems.append(f"{case.out.name}: no write failed on the broken disk")
    return f"{failed} said"


def make(folder):
    table, array = folder / "long.csv", folder / "long.npy"
    with table.open("w") as out:
        out.write("n,x,t\n")
        for n in range(300_000):
            out.write(f"{n},{n * 7 % 1000}.25,text number {n % 977}\n")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2000, 2000), }"
    header += b" " * (117 - len(header)) + b"\n"
    with array.open("wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for row in range(2000):
            out.write(b"".join(((row * 31 + column * 17) % 977).to_bytes(2, "little") + b"\x80\x3f" for column in range(2000)))
    return table, array


# Further words of each conversion.
MORE = []


class Case:
    def __init__(self, gander, source, target, place):
        self.out = place / f"out.{target}"
        self.words = [gander, "convert", str(source), str(self.out), "--to", target, "--allow-loss", "--overwrite", "--no-verify", *MORE]
        self.before = None

    def prepare(self):
        if self.out.is_dir():
            shutil.rmtree(self.out)
        elif self.out.exists():
            self.out.unlink()

    def start(self, more=None):
        around = {**os.environ, **(more or {})}
        return subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=around)

    def state(self):
        """'none', 'before', or 'new'."""
        if not self.out.exists():
            return "none"
        if self.before is not None and self.out.is_file() and self.out.read_bytes() == self.before:
            return "before"
        return "new"

    def whole(self):
        """Whether what is there is read from end to end."""
        done = subprocess.run([self.words[0], "stats", str(self.out), "--json"], capture_output=True, text=True)
        return done.returncode == 0


def left(place):
    return [path.name for path in place.iterdir() if ".gander-" in path.name]


def kills(case, place, count, seconds, problems):
    ended = whole = 0
    for n in range(count):
        case.prepare()
        case.before = None
        if n % 2:
            case.out.write_bytes(b"what was there before")
            case.before = b"what was there before"
            if not is_file_target(case):
                case.prepare()
                case.before = None
        child = case.start()
        time.sleep(random.uniform(0, seconds * 1.1))
        child.send_signal(signal.SIGKILL if n % 3 else signal.SIGINT)
        _, words = child.communicate()
        state = case.state()
        expected = "before" if case.before is not None else "none"
        if child.returncode == 0 or state == "new":
            if state == "new" and not case.whole():
                problems.append(f"{case.out.name}: a target that is neither old nor whole after a kill")
            whole += 1
        elif state != expected:
            problems.append(f"{case.out.name}: {state} after a kill, not {expected}")
        else:
            ended += 1
    # The next start takes away what is left, for whatever target it is.
    subprocess.run([case.words[0], "convert", case.words[2], str(place / "next.csv"), "--to", "npy" if case.words[2].endswith("npy") else "csv", "--overwrite", "--no-verify", "--allow-loss"], capture_output=True)
    if left(place):
        problems.append(f"{case.out.name}: litter after the next start: {left(place)}")
    return ended, whole


FOLDERS = {"zarr", "n5", "webdataset_shards", "delta", "iceberg", "npy-folder"}


def is_file_target(case):
    return case.out.suffix.lstrip(".") not in FOLDERS


def full_disk(gander, source, target, problems):
    with tempfile.TemporaryDirectory() as place:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", place], capture_output=True).returncode:
            return "left out"
        try:
            case = Case(gander, source, target, Path(place))
            if is_file_target(case):
                case.out.write_bytes(b"what was there before")
                case.before = b"what was there before"
            child = case.start()
            _, words = child.communicate()
            expected = "before" if case.before is not None else "none"
            if child.returncode == 0:
                return "fits"
            if case.state() != expected:
                problems.append(f"{target}: {case.state()} on a full disk, not {expected}")
            if "full" not in words and "left" not in words:
                problems.append(f"{target}: a full disk is said as {words.strip()!r}")
            if left(Path(place)):
                problems.append(f"{target}: litter on a full disk: {left(Path(place))}")
            return "said"
        finally:
            subprocess.run(["umount", place])


def vanishing(gander, source, target, place, seconds, problems):
    """The folder of the target goes; the source is cut."""
    folder = place / "goes"
    folder.mkdir()
    case = Case(gander, source, target, folder)
    child = case.start()
    time.sleep(seconds * 0.4)
    shutil.rmtree(folder, ignore_errors=True)
    _, words = child.communicate()
    if child.returncode not in (0, 1) or (child.returncode == 1 and not words.strip()):
        problems.append(f"{target}: the folder went, and it said {words!r} with status {child.returncode}")
    shutil.rmtree(folder, ignore_errors=True)
    copy = place / f"cut{source.suffix}"
    shutil.copy(source, copy)
    case = Case(gander, copy, target, place)
    case.prepare()
    child = case.start()
    time.sleep(seconds * 0.4)
    os.truncate(copy, 1000)
    _, words = child.communicate()
    if child.returncode == 0:
        if not case.whole():
            problems.append(f"{target}: the source was cut, and what was written is not whole")
    elif child.returncode != 1 or case.out.exists() or not words.strip():
        problems.append(f"{target}: the source was cut: status {child.returncode}, target {case.state()}, {words!r}")
    case.prepare()
    copy.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gander")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--to", default="")
    parser.add_argument("--isolate", action="store_true")
    options = parser.parse_args()
    MORE.extend(["--isolate"] if options.isolate else [])
    wanted = options.to.split(",") if options.to else TABLES + ARRAYS
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table, array = make(place)
        library = shim(place)
        for target in wanted:
            source = table if target in TABLES else array
            case = Case(options.gander, source, target, place)
            case.prepare()
            started = time.time()
            child = case.start()
            _, words = child.communicate()
            seconds = time.time() - started
            if child.returncode:
                print(f"{target}: {words.strip()[:200]}")
                problems.append(f"{target}: it is not written at all")
                continue
            ended, whole = kills(case, place, options.kills, seconds, problems)
            disk = full_disk(options.gander, source, target, problems)
            broken = broken_disk(case, library, problems)
            vanishing(options.gander, source, target, place, seconds, problems)
            print(f"{target}: {seconds:.2f} s; {ended} ended in the middle, {whole} were whole; full disk: {disk}; broken disk: {broken}", flush=True)
            case.prepare()
    for problem in problems:
        print("PROBLEM", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
