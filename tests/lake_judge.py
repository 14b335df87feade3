#!/usr/bin/env python3
"""Reads Delta Lake and Iceberg tables that Gander wrote with their reference libraries and compares them with the source.

    lake_judge.py GANDER SOURCE...

Each source (a file, or a folder of files of tables) becomes a table of both formats, is read by deltalake and polars, and
by PyIceberg and polars, and compared: names, rows, every value of columns of which Gander says no serious loss. Then the
same rows are added, and there must be twice as many; and the same again with partitions by the first column that can have
some. Prints every mismatch, then counts. Exit status 1 if anything differs. Needs deltalake, pyiceberg, polars, pyarrow.
"""

import collections
import json
import random
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from read_back import plain_values, same_value

warnings.filterwarnings("ignore")
SUFFIXES = {".parquet", ".arrow", ".arrows", ".feather", ".csv", ".tsv", ".jsonl", ".avro", ".orc"}
MOST = 60_000


def gander(binary, *words):
    done = subprocess.run([binary, "convert", *map(str, words), "--allow-loss", "--json"], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return None, (done.stderr or done.stdout).strip()[:300]
    return json.loads(done.stdout), None


def by_deltalake(path):
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(str(path))
    # Its dataset knows nothing of column mapping, its queries do.
    if "delta.columnMapping.mode" not in table.metadata().configuration:
        return table.to_pyarrow_table()
    return pa.table(QueryBuilder().register("t", table).execute("select * from t").read_all())


def by_polars_delta(path):
    import polars

    return polars.scan_delta(str(path)).collect().to_arrow()


def newest(path):
    return max((path / "metadata").glob("v*.metadata.json"), key=lambda file: int(re.findall(r"\d+", file.name)[0]))


def by_pyiceberg(path):
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(newest(path))).scan().to_arrow()


def by_polars_iceberg(path):
    import polars

    return polars.scan_iceberg(str(newest(path))).collect().to_arrow()


READERS = {
    "delta": {"deltalake": by_deltalake, "polars": by_polars_delta},
    "iceberg": {"pyiceberg": by_pyiceberg, "polars": by_polars_iceberg},
}


def halves(table):
    """Halves as the singles that they become."""
    for n, field in enumerate(table.schema):
        if pa.types.is_float16(field.type):
            table = table.set_column(n, field.name, table.column(n).cast(pa.float32()))
    return table


def source_table(binary, path, folder):
    """What the source holds, as Parquet by Gander, which other tests judge."""
    out = folder / "source.parquet"
    out.unlink(missing_ok=True)
    done, wrong = gander(binary, path, out)
    if done is None:
        return None
    return halves(pq.ParquetFile(out).read())


def key(value):
    return repr(value)


def compare(source, table, lost, renamed, ordered, times):
    if table.num_rows != source.num_rows * times:
        yield f"{table.num_rows} rows, not {source.num_rows * times}"
        return
    names = [renamed.get(name, name) for name in source.column_names]
    # Of several columns of one name it shows which of them is meant only here.
    if names != table.column_names and len(set(source.column_names)) == len(source.column_names):
        yield f"columns {table.column_names}, not {names}"
        return
    for n, name in enumerate(source.column_names):
        if name in lost:
            continue
        from_values, values = plain_values(source.column(n)) * times, plain_values(table.column(n))
        if not ordered:
            from_values, values = sorted(from_values, key=key), sorted(values, key=key)
        wrong = [i for i, (a, b) in enumerate(zip(from_values, values)) if not same_value(a, b)]
        if wrong:
            i = wrong[0]
            yield f"column {name!r}: {len(wrong)} values differ, row {i}: {values[i]!r}, not {from_values[i]!r}"


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    binary, sources = sys.argv[1], []
    for name in map(Path, sys.argv[2:]):
        sources += sorted(file for file in name.rglob("*") if file.suffix in SUFFIXES and file.stat().st_size < 1 << 20 and "malformed" not in file.parts) if name.is_dir() else [name]
    counts, failed = collections.Counter(), False
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        for number, path in enumerate(sources):
            source = source_table(binary, path, place)
            if source is None or source.num_rows > MOST or len(source.column_names) > 300:
                counts["sources left out"] += 1
                continue
            counts["sources"] += 1
            for id, readers in READERS.items():
                for kind in ("plain", "added", "partitioned"):
                    out = place / f"{number}-{kind if kind != 'added' else 'plain'}.{id}"
                    words = [path, out, "--to", id]
                    if kind == "added":
                        words.append("--append")
                    if kind == "partitioned":
                        plain = [f.name for f in source.schema if not pa.types.is_nested(f.type) and not pa.types.is_floating(f.type) and "," not in f.name and source.column(f.name).num_chunks and len(set(map(key, plain_values(source.column(f.name))))) <= 200] if len(set(source.column_names)) == len(source.column_names) else []
                        if len(source.column_names) < 2 or not plain:
                            continue
                        words += ["-o", f"partition_by={random.Random(number).choice(plain)}"]
                    done, wrong = gander(binary, *words)
                    if done is None:
                        counts[f"{id} {kind} refused"] += 1
                        if "unsupported" not in wrong:
                            print(f"{path} as {id} {kind}: {wrong}")
                        if kind == "plain":
                            break
                        continue
                    lost = {loss["subject"] for loss in done["losses"] if loss["serious"] and loss["kind"] != "name" and loss["subject"]}
                    renamed = {loss["subject"]: loss["message"].removeprefix("it is called ") for loss in done["losses"] if loss["kind"] == "name"}
                    for reader, read in readers.items():
                        try:
                            wrong = list(compare(source, halves(read(out)), lost, renamed, kind == "plain", 1 + (kind == "added")))
                        except BaseException as error:  # whatever a library throws is a finding about the table
                            wrong = [f"{type(error).__name__}: {str(error)[:300]}"]
                        counts[f"{id} {kind} by {reader}: " + ("differs" if wrong else "equal")] += 1
                        for line in wrong[:3]:
                            failed = True
                            print(f"{path} as {id} {kind} by {reader}: {line}")
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
