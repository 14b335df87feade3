#!/usr/bin/env python3
"""Measures tables beside SQLite's OFFSET, DuckDB, polars and DataFusion, in one run, turn by turn.

    tables.py [--gander …] [--data benches/data] [--only sqlite,sort] [--repeat 5] [--out benches/README.md]

The data come from make_data.py and make_tables.py; measure.py says how things are measured.
"""

import tempfile
from pathlib import Path

from measure import Case, main, peer, program

MEMORY = 512


def sqlite_cases(gander, data):
    path, group = data / "rows_10m.sqlite", "SQLite, 10 M rows x 7"
    last = 9_999_900
    read = f"import sqlite3\nb = sqlite3.connect('file:{path}?mode=ro', uri=True)"
    return [
        Case(group, "last 100 rows", "gander", [program("one"), "page", path, "/trips", str(last)]),
        Case(group, "last 100 rows", "gander, command line", [gander, "show", f"{path}#trips", "--rows", f"{last}..", "--json"]),
        peer(group, "last 100 rows", "sqlite, OFFSET", read, f"b.execute('select * from trips limit 100 offset {last}').fetchall()"),
        Case(group, "100 rows in the middle", "gander", [program("one"), "page", path, "/trips", "5000000"]),
        peer(group, "100 rows in the middle", "sqlite, OFFSET", read, "b.execute('select * from trips limit 100 offset 5000000').fetchall()"),
    ]


def sort_cases(gander, data):
    path, group = data / "sort_100m.parquet", f"Sort of 100 M rows, {MEMORY} MB of memory"
    into = Path(tempfile.gettempdir()) / "gander-bench-sorted"
    sql = "select * from sort_100m order by key"
    duckdb = f"import duckdb\nb = duckdb.connect()\nb.execute(\"set memory_limit = '{MEMORY}MB'; set temp_directory = '{into}.tmp'\")"
    copy = f"b.execute(\"copy (select * from '{path}' order by key) to '{into}.peer.parquet' (format parquet, compression zstd)\")"
    datafusion = f"import datafusion as d\nr = d.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool({MEMORY << 20})\nc = d.SessionContext(d.SessionConfig(), r)\nc.register_parquet('sort_100m', {str(path)!r})"
    return [
        Case(group, "into Parquet, zstd", "gander", ["sh", "-c", f"rm -f '{into}.parquet'; exec '{gander}' query '{sql}' '{path}' --memory {MEMORY} -o '{into}.parquet'"]),
        peer(group, "into Parquet, zstd", "duckdb", duckdb, copy),
        peer(group, "into Parquet, zstd", "datafusion", datafusion, f"c.sql('{sql}').write_parquet('{into}.df.parquet', compression='zstd', compression_level=3)"),
    ]


def summary_cases(gander, data):
    path, group = data / "trips.parquet", "Summary of 20 M x 7, Parquet"
    return [
        Case(group, "first numbers", "gander", [program("one"), "first-summary", path]),
        Case(group, "exact, all columns", "gander", [program("one"), "summary", path]),
        peer(group, "exact, all columns", "duckdb, SUMMARIZE", "import duckdb", f"duckdb.sql(\"summarize from '{path}'\").fetchall()"),
        peer(group, "exact, all columns", "polars, describe", "import polars as pl", f"pl.scan_parquet({str(path)!r}).describe()"),
    ]


GROUPS = {
    "sqlite": (sqlite_cases, "rows_10m.sqlite"),
    "sort": (sort_cases, "sort_100m.parquet"),
    "summary": (summary_cases, "trips.parquet"),
}


if __name__ == "__main__":
    main(GROUPS, __doc__, Path(__file__).stem)
