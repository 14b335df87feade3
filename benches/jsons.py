#!/usr/bin/env python3
"""Measures JSON and JSON Lines beside jq, simdjson, DuckDB and Polars, in one run, turn by turn.

    jsons.py [--gander target/release/gander] [--data benches/data] [--only array,object,lines]
            [--repeat 5] [--out benches/README.md]

Needs jq, and a Python that has what benches/requirements.txt lists. The data (3 GB) are made in the data
folder where they are not there: an array of objects that nest three deep, an object around two such arrays,
and the same objects a line each. measure.py says how things are measured. `jsons.py --make DIR` only makes
them.
"""

import random
import sys
from pathlib import Path

from measure import Case, main, peer

SIZE = 1_000_000_000
WORDS = "the gradient of a loss says \\\"where\\\" to go, not {how far}: [small] steps // big batches, São Paulo é\\n".split()


def records():
    """Objects as text, three levels deep; the same ones every time."""
    rng = random.Random(7)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(3, 20))) for _ in range(997)]
    number = 0
    while True:
        boxes = ",".join(
            f'{{"label":"{rng.choice(WORDS[:4])}","at":[{rng.random():.4f},{rng.random():.4f}],"sure":{rng.random():.3f}}}'
            for _ in range(rng.randrange(4))
        )
        yield (
            f'{{"id":{number},"text":"{texts[number % 997]}","ok":{"true" if number % 3 else "false"},'
            f'"meta":{{"source":"web/{number % 71}","time":{{"at":{1_600_000_000 + number},"zone":null}}}},"boxes":[{boxes}]}}'
        )
        number += 1


def make(folder):
    """Writes what is missing."""
    wanted = {
        "big.json": (["["], ",\n", ["]\n"], 1),
        "wrapped.json": (['{"info":{"year":2024},"train":[', '],"test":['], ",", ['],"license":"CC0"}\n'], 2),
        "big.jsonl": ([""], "\n", ["\n"], 1),
    }
    for name, (heads, between, tail, parts) in wanted.items():
        path = folder / name
        if path.exists():
            continue
        print(f"making {path}", file=sys.stderr)
        with open(path.with_suffix(".part"), "w", encoding="utf-8") as out:
            source = records()
            for part, head in enumerate(heads, 1):
                out.write(head)
                first = True
                while out.tell() < SIZE * part // parts:
                    block = between.join(next(source) for _ in range(20_000))
                    out.write(block if first else between + block)
                    first = False
            out.write(tail[0])
        path.with_suffix(".part").rename(path)


def duck(group, what, path, query, **options):
    big = f"read_json('{path}', maximum_object_size = 2000000000)" if path.suffix == ".json" else f"read_json('{path}')"
    return peer(group, what, "duckdb", "import duckdb", f'duckdb.sql("{query.format(big)}").fetchall()', **options)


def array_cases(gander, data):
    path, group = data / "big.json", "1 GB JSON: an array of objects that nest three deep"
    size = path.stat().st_size
    load = f"d = simdjson.Parser().load({str(path)!r})"
    first = "limit(1000; fromstream(1|truncate_stream(inputs)))"
    return [
        Case(group, "first level, 1,000 objects", "gander", [gander, "tree", path, "--depth", "1", "--json"]),
        Case(group, "first 1,000 objects with all that is in them", "gander", [gander, "tree", path, "--json"]),
        Case(group, "first 1,000 objects with all that is in them", "jq --stream", ["jq", "-cn", "--stream", first, path]),
        Case(group, "first 1,000 rows", "gander", [gander, "show", path, "--rows", "0..1000", "--json"]),
        duck(group, "first 1,000 rows", path, "from {} limit 1000"),
        Case(group, "last 100 rows, index of all", "gander", [gander, "show", path, "--rows", "-100..", "--json"], work=size),
        peer(group, "last object, whole read", "pysimdjson", "import simdjson", f"{load}\nd[-1].as_dict()", work=size),
        Case(group, "last object, whole read", "jq", ["jq", "-c", ".[-1]", path], work=size),
        duck(group, "number of rows", path, "select count(*) from {}", work=size),
        peer(group, "whole read", "python json", "import json", f"len(json.load(open({str(path)!r}, 'rb')))", work=size),
        Case(group, "an average of all rows by SQL", "gander", [gander, "query", "select count(*) as n, avg(id) as mean from big", path, "--json"], work=size),
        duck(group, "an average of all rows by SQL", path, "select count(*) as n, avg(id) as mean from {}", work=size),
    ]


def object_cases(gander, data):
    path, group = data / "wrapped.json", "1 GB JSON: an object around two arrays"
    size = path.stat().st_size
    load = f"d = simdjson.Parser().load({str(path)!r})"
    return [
        Case(group, "names and kinds of all members, index of all", "gander", [gander, "tree", path, "--depth", "1", "--json"], work=size),
        peer(group, "names of all members, whole read", "pysimdjson", "import simdjson", f"{load}\nlist(d.keys())", work=size),
        Case(group, "names of all members, whole read", "jq", ["jq", "-c", "keys", path], work=size),
        Case(group, "10 rows of the second array, index of all", "gander", [gander, "show", f"{path}#/test", "--rows", "1000000..1000010", "--json"], work=size),
    ]


def lines_cases(gander, data):
    path, group = data / "big.jsonl", "1 GB JSON Lines"
    size = path.stat().st_size
    return [
        Case(group, "first 100 rows", "gander", [gander, "show", path, "--rows", "0..100", "--json"]),
        duck(group, "first 100 rows", path, "from {} limit 100"),
        peer(group, "first 100 rows", "polars (lazy)", "import polars as pl", f"pl.scan_ndjson({str(path)!r}).head(100).collect()"),
        Case(group, "last row", "gander", [gander, "show", path, "--rows", "-1..", "--json"]),
        Case(group, "last row", "tail -n 1", ["tail", "-n", "1", path]),
        Case(group, "100 rows at 3,000,000, index of all", "gander", [gander, "show", path, "--rows", "3000000..3000100", "--json"], work=size),
        duck(group, "number of rows", path, "select count(*) from {}", work=size),
        peer(group, "number of rows", "polars", "import polars as pl", f"pl.scan_ndjson({str(path)!r}).select(pl.len()).collect(engine='streaming')", work=size),
        Case(group, "number of rows", "jq", ["jq", "-n", "reduce inputs as $line (0; . + 1)", path], work=size),
        Case(group, "lines of the file", "wc -l", ["wc", "-l", path], work=size),
    ]


GROUPS = {
    "array": (array_cases, "big.json"),
    "object": (object_cases, "wrapped.json"),
    "lines": (lines_cases, "big.jsonl"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]))
    else:
        main(GROUPS, __doc__, "json")
