#!/usr/bin/env python3
"""Runs the queries of ClickBench and TPC-H by Gander, DataFusion and DuckDB, turn by turn.

    queries.py [--data benches/data] [--only hits,tpch] [--repeat 3] [--out benches/README.md]

The data come from make_tables.py, the queries are in sql/. DataFusion is the release that Gander is built
on, by its own Python package with its own defaults. Each round starts a process an engine, which runs all
queries in turn over the same Parquet files and fetches every result; each number is the median of the
rounds. Every engine must find as many rows.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from measure import machine, program, seconds, write

HERE = Path(__file__).resolve().parent
TEXT = """
import sys, time
statements = [s for s in open({sql!r}).read().split(';\\n') if s.strip()]
for statement in statements:
    name, began = statement.split('\\n')[0][3:], time.perf_counter()
    rows = run(statement)
    print('seconds', name, time.perf_counter() - began, rows, flush=True)
"""
DUCKDB = """
import duckdb
base = duckdb.connect()
for name, path in {tables!r}: base.execute(f"create view {{name}} as from read_parquet('{{path}}')")
def run(statement): return base.execute(statement).to_arrow_table().num_rows
"""
DATAFUSION = """
import datafusion
context = datafusion.SessionContext()
for name, path in {tables!r}: context.register_parquet(name, path)
def run(statement): return sum(batch.num_rows for batch in context.sql(statement).collect())
"""


def commands(sql, tables):
    """The command of each engine."""
    of = lambda engine: [sys.executable, "-c", (engine + TEXT).format(sql=str(sql), tables=tables)]
    return {
        "gander": [program("one"), "queries", sql, *[path for _, path in tables]],
        "datafusion": of(DATAFUSION),
        "duckdb": of(DUCKDB),
    }


def measured(sql, tables, repeat):
    """{engine: {query: [seconds]}}, and the rows that each found."""
    times, rows = {}, {}
    for round_number in range(repeat + 1):
        for engine, command in commands(sql, tables).items():
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            for line in [line for line in done.stdout.splitlines() if line.startswith("seconds")]:
                _, name, took, found = line.split()
                rows.setdefault(name, {})[engine] = int(found)
                if round_number:
                    times.setdefault(engine, {}).setdefault(name, []).append(float(took))
            if done.returncode:
                print(f"{engine}: {done.stderr.strip().splitlines()[-1][:300]}", file=sys.stderr)
        print(f"{sql.stem}: round {round_number} of {repeat}", file=sys.stderr)
    return times, rows


def table(title, times, rows):
    out = [f"### {title}", "", "| query | gander | datafusion | duckdb | gander : datafusion | gander : duckdb |", "|---|--:|--:|--:|--:|--:|"]
    middle = {engine: {name: statistics.median(each) for name, each in names.items()} for engine, names in times.items()}
    engines = [engine for engine in ("gander", "datafusion", "duckdb") if engine in middle]
    if len(engines) < 3:
        return [*out[:2], f"Only {', '.join(engines)} ran.", ""]
    shared = [name for name in middle["gander"] if all(name in names for names in middle.values())]
    lines = [(name, {engine: names[name] for engine, names in middle.items()}) for name in shared]
    lines.append(("all", {engine: sum(names[name] for name in shared) for engine, names in middle.items()}))
    for name, each in lines:
        other = "" if len(set(rows.get(name, {"": 0}).values())) == 1 else " (rows differ)"
        ratio = lambda peer: f"{each['gander'] / each[peer]:.2f}"
        out.append(f"| {name}{other} | {' | '.join(seconds([each[e]] * 3) for e in engines)} | {ratio('datafusion')} | {ratio('duckdb')} |")
    return [*out, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--only", default="hits,tpch")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = machine(arguments.repeat)
    for name in arguments.only.split(","):
        found = [arguments.data / "hits.parquet"] if name == "hits" else sorted((arguments.data / "tpch").glob("*.parquet"))
        tables = [(path.stem, str(path.resolve())) for path in found]
        title = {"hits": "ClickBench's queries, 10 M rows", "tpch": "TPC-H, scale factor 1"}[name]
        lines += table(title, *measured(HERE / "sql" / f"{name}.sql", tables, arguments.repeat))
    write(arguments.out, lines, "queries")


if __name__ == "__main__":
    main()
