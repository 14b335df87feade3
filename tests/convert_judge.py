#!/usr/bin/env python3
"""Converts every table and array below some folders and compares statistics of source and result.

    convert_judge.py GANDER FOLDER... [--to parquet,csv,...] [--most BYTES] [--jobs N]

For each data node of each file that opens, and each target: `gander convert --allow-loss --verify`, then `gander stats` of
what was written. Statistics that differ, and of which the loss report says nothing, are mismatches. Prints each of them and
the counts; exit status 1 if there is any.
"""

import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TARGETS = ["parquet", "arrow", "csv", "npy", "safetensors", "hdf5", "zarr"]
VALUES = {"type", "null", "nan", "zone", "precision", "nesting", "scale", "order"}


def run(*args, timeout=120):
    if any("\0" in str(arg) for arg in args):
        return None, None, "its name has a null character, which no command line can hold"
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, None, f"timed out after {timeout} s"
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    try:
        return done.returncode, json.loads(lines[-1]) if lines else None, done.stderr.strip()
    except ValueError:
        return done.returncode, None, done.stdout[:200] + done.stderr[:200]


def close(a, b):
    """Whether two numbers of a statistic say the same: sums may be added in another order."""
    if a == b or a is None or b is None:
        return a == b or (a in (None, {}) and b in (None, {}))
    try:
        x, y = float(a), float(b)
    except (TypeError, ValueError):
        return str(a) == str(b)
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or abs(x - y) <= 1e-9 * max(abs(x), abs(y))


def said(losses, subject):
    """Whether the report says that values of this column (or of all) may differ."""
    return any(loss["kind"] in VALUES and loss["subject"] in ("", subject) and not (loss["possible"] and not loss["subject"] and not loss["serious"]) for loss in losses)


def compare(source, result, losses, texts, dictionaries, big):
    """What differs and was not said."""
    if "error" in source or "error" in result:
        return [] if "error" in source else [f"the result: {result['error']}"]
    if source["kind"] == "table" and result["kind"] == "table":
        if source["rows"] != result["rows"]:
            yield f"{result['rows']} rows, not {source['rows']}"
        renamed = any(loss["kind"] == "name" for loss in losses)
        names = [column["name"] for column in result["columns"]]
        others = {column["name"]: column for column in result["columns"] if names.count(column["name"]) == 1}
        for place, column in enumerate(source["columns"]):
            name = column["name"]
            other = others.get(name)
            if other is None and (renamed or name in names) and place < len(result["columns"]):
                other = result["columns"][place]
            if other is None:
                if not said(losses, name) and not any(loss["subject"] == name for loss in losses):
                    yield f"column {name!r} is gone"
                continue
            # Text has no types: which numbers its cells are depends on the reader, not which of them are alike.
            keys = ("nulls", "distinct") if texts else ("nulls", "nan", "inf", "min", "max", "sum", "mean")
            # A null in a dictionary's values is no null of the column (Arrow's validity), but one of the column that is written.
            if column["name"] in dictionaries:
                keys = tuple(key for key in keys if key not in ("nulls", "distinct"))
            if column.get("distinct") is None:
                keys = tuple(key for key in keys if key != "distinct")
            for key in keys:
                if key in column and key in other and not close(column[key], other[key]) and not said(losses, name):
                    yield f"column {name!r}: {key} {other[key]!r}, not {column[key]!r}"
        return
    if source["kind"] == "array" and result["kind"] == "array":
        for key in ("count", "nan", "inf", "zeros", "min", "max", "mean", "std", "sum", "crc32"):
            # The sum is of bytes as they are stored, and what is written is little-endian.
            if key == "crc32" and big:
                continue
            if key in source and key in result and not close(source[key], result[key]) and not said(losses, ""):
                yield f"{key} {result[key]!r}, not {source[key]!r}"


def layout_of(gander, source):
    """Names of the columns that are dictionaries, and whether numbers are stored with the high byte first."""
    _, tree, _ = run(gander, "tree", source.partition("#")[0], "--json")
    columns = []

    def walk(value):
        if isinstance(value, dict):
            if str(value.get("type", "")).startswith("dictionary<"):
                columns.append(value.get("name"))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(tree)
    return columns, '"byte_order": "big"' in json.dumps(tree)


def one(gander, path, node, stats, target, most):
    """('equal' | 'unfit' | 'refused', …) and what differs."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        out = Path(folder) / "out"
        source = f"{path}#{node}" if node else str(path)
        code, report, words = run(gander, "convert", source, str(out), "--to", target, "--allow-loss", "--verify", "--json")
        if code is None:
            return "slow", [words]
        if code == 2 or report is None or "error" in report:
            kind = (report or {}).get("error", {}).get("kind", "")
            return ("unfit" if kind == "unsupported" else "refused", [words] if kind not in ("unsupported",) else [])
        written = report["written"][0]
        wrong = []
        if written["verified"] is False:
            wrong += [f"not verified: {found}" for found in written["check"]["differing"]]
        code, found, words = run(gander, "stats", str(out), "--json", *(["--with", "format=csv"] if target == "csv" else []))
        if found is None:
            return "mismatch", [f"the result gives no statistics: {words}"]
        nodes = [entry for entry in found.get("nodes", []) if entry["kind"] in ("table", "array")]
        if len(nodes) == 1:
            wrong += list(compare(stats, nodes[0], report["losses"], target == "csv", *layout_of(gander, source)))
        return ("mismatch" if wrong else "equal"), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gander")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--to", default=",".join(TARGETS))
    parser.add_argument("--most", type=int, default=4 << 20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=6, help="nodes of a file at most")
    options = parser.parse_args()
    files = [path for folder in options.folders for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size <= options.most and path.suffix not in (".py", ".txt")]
    counts, work = Counter(), []

    def look(path):
        code, found, words = run(options.gander, "stats", str(path), "--json", timeout=60)
        nodes = (found or {}).get("nodes", [])
        return path, [entry for entry in nodes if entry.get("kind") in ("table", "array") and "error" not in entry][: options.nodes]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, nodes in pool.map(look, files):
            work += [(path, entry["path"], entry, target) for entry in nodes for target in options.to.split(",")]
        jobs = {pool.submit(one, options.gander, path, node, stats, target, options.most): (path, node, target) for path, node, stats, target in work}
        for job in concurrent.futures.as_completed(jobs):
            path, node, target = jobs[job]
            word, wrong = job.result()
            counts[target, word] += 1
            if word not in ("equal", "unfit"):
                print(f"{word}: {path}#{node} as {target}: {'; '.join(wrong)[:400]}", flush=True)
    for target in options.to.split(","):
        print(target, {word: count for (of, word), count in sorted(counts.items()) if of == target})
    return 1 if any(word == "mismatch" for _, word in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
